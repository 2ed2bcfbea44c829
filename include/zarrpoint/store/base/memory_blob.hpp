// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Bytes in memory as an object, which keeps what they lie in, as its mappings do.
class memory_blob final : public blob {
 public:
  using blob::read;
  memory_blob(mapping bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}
  /// Bytes that are shared with others.
  memory_blob(const std::shared_ptr<const std::vector<std::byte>>& bytes, std::string name)
      : memory_blob(mapping(*bytes, bytes), std::move(name)) {}
  memory_blob(std::vector<std::byte> bytes, std::string name)
      : memory_blob(detail::make_counted<const std::vector<std::byte>>(std::move(bytes)),
                    std::move(name)) {}

  std::uint64_t size() const noexcept override { return bytes_.bytes().size(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (!into.empty()) std::memcpy(into.data(), bytes_.bytes().data() + offset, into.size());
    return {};
  }
  result<mapping> map() const override { return bytes_; }
  std::string name() const override { return name_; }

 private:
  mapping bytes_;
  std::string name_;
};

}}}  // namespace zarrpoint::v0::detail
