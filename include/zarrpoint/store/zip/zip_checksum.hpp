// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The checksum of a member whose pieces are written in any order, and what they leave out.
class zip_checksum {
 public:
  void add(std::uint64_t offset, bytes_view bytes);

  /// The first range below `size` that nothing covers: empty if there is none.
  std::pair<std::uint64_t, std::uint64_t> hole(std::uint64_t size) const;
  /// Where the last piece ends.
  std::uint64_t end() const;
  /// Whether a byte was written twice: then `value` means nothing, but `hole` is right.
  bool overlaps() const;
  std::uint32_t value() const;

 private:
  struct piece {
    std::uint64_t end;
    std::uint32_t crc;
  };
  mutable std::mutex mutex_;
  std::map<std::uint64_t, piece> pieces_;
  bool overlaps_ = false;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/zip/impl/zip_checksum_impl.hpp>
#endif
