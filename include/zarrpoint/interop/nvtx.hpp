// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/progress.hpp>

#include <nvtx3/nvToolsExt.h>

#include <cstddef>

namespace zarrpoint { inline namespace v0 {

/// An observer that makes ranges of what it is told, in the domain "zarrpoint", which Nsight
/// Systems shows beside kernels and copies: `decode layers/0/w`, with the bytes as payload. Without
/// a profiler a range costs a few nanoseconds.
class nvtx_ranges final : public phase_observer {
 public:
  nvtx_ranges() : domain_(nvtxDomainCreateA("zarrpoint")) {}
  nvtx_ranges(const nvtx_ranges&) = delete;
  nvtx_ranges& operator=(const nvtx_ranges&) = delete;
  /// No range may be open.
  ~nvtx_ranges() { nvtxDomainDestroy(domain_); }

  void begin(const phase_event& what) noexcept override {
    // Names of leaves end nowhere: what does not fit is cut, at a whole character.
    char text[128];
    std::size_t size = 0;
    const auto append = [&](std::string_view more) {
      for (std::size_t i = 0; i < more.size() && size + 1 < sizeof text; ++i)
        text[size++] = more[i] == '\0' ? '?' : more[i];
      if (size + 1 < sizeof text) return;
      while (size > 0 && (static_cast<unsigned char>(text[size - 1]) & 0xc0) == 0x80) --size;
      if (size > 0 && static_cast<unsigned char>(text[size - 1]) >= 0xc0) --size;
    };
    append(name_of(what.what));
    append(" ");
    append(what.item);
    text[size] = '\0';
    nvtxEventAttributes_t range{};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.category = static_cast<std::uint32_t>(what.what) + 1;
    range.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    range.payload.ullValue = what.bytes;
    range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    range.message.ascii = text;
    nvtxDomainRangePushEx(domain_, &range);
  }

  void end(const phase_event&) noexcept override { nvtxDomainRangePop(domain_); }

 private:
  nvtxDomainHandle_t domain_;
};

}}  // namespace zarrpoint::v0
