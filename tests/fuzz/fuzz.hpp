// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the fuzz targets share. A target is `LLVMFuzzerTestOneInput`; whatever the bytes, the
// library must give a value or an error, within its limits, and what it accepts must be consistent.

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/codec/lists/all_codecs.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace fuzz {

namespace zp = zarrpoint;

/// Ends the process, which the fuzzer reports with the input.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// Every codec there is, inline, within budgets that an input of a few bytes must not pass.
inline zp::context bounded() {
  zp::context how;
  how.codecs = zp::all_codecs::table();
  how.limit = {.bytes_in_flight = std::size_t{8} << 20,
               .memory = std::size_t{64} << 20,
               .metadata_bytes = std::size_t{1} << 20,
               .max_inner_chunks = 4096};
  return how;
}

/// The input, taken from the front.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const std::byte*>(data), size) {}

  std::uint8_t byte() { return rest_.empty() ? std::uint8_t{0} : std::uint8_t(take(1)[0]); }
  /// At most `size` bytes.
  zp::bytes_view take(std::size_t size) {
    const zp::bytes_view out = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(out.size());
    return out;
  }
  zp::bytes_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  zp::bytes_view rest_;
};

inline zp::store_key key(std::string_view text) { return zp::store_key::parse(text).value(); }

}  // namespace fuzz
