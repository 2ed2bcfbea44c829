// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE mapping::mapping(bytes_view bytes, std::shared_ptr<const void> owner)
    : bytes_(bytes), owner_(std::move(owner)) {}

ZARRPOINT_INLINE result<void> blob::read(std::span<const read_request> requests) const {
  return read_vectored(requests);
}

ZARRPOINT_INLINE result<mapping> blob::map() const {
  return error{errc::unsupported, "map " + name() + ": this store cannot map objects"};
}

ZARRPOINT_INLINE std::optional<blob_version> blob::version() const noexcept { return {}; }

ZARRPOINT_INLINE result<void> blob::read_vectored(std::span<const read_request> requests) const {
  for (const read_request& request : requests) ZARRPOINT_CHECK(read(request.offset, request.into));
  return {};
}

ZARRPOINT_INLINE result<void> blob::check_range(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset <= size() && bytes <= size() - offset) return {};
  return error{errc::out_of_range, "read " + name() + ": " + std::to_string(bytes) + " bytes at " +
                                       std::to_string(offset) + " reach beyond its size of " +
                                       std::to_string(size())};
}

ZARRPOINT_INLINE result<void> blob_writer::write_once(std::uint64_t offset, std::size_t gap,
                                                      bytes_view bytes) {
  static_cast<void>(gap);
  return write(offset, bytes);
}

ZARRPOINT_INLINE result<void> blob_writer::write_kept(std::uint64_t offset, std::size_t gap,
                                                      bytes_view bytes) {
  return write_once(offset, gap, bytes);
}

ZARRPOINT_INLINE result<void> blob_writer::reserve(std::uint64_t size) {
  static_cast<void>(size);
  return {};
}

ZARRPOINT_INLINE result<void> blob_writer::read(std::uint64_t offset, mutable_bytes into) const {
  static_cast<void>(offset), static_cast<void>(into);
  return error{errc::unsupported, "this store cannot read an object before it is finished"};
}

}}  // namespace zarrpoint::v0
