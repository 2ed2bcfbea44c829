// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<mapping> container_file::map() const {
  const std::lock_guard lock(mutex_);
  if (!mapped_) {
    ZARRPOINT_TRY(made, file_->map());
    mapped_ = std::move(made);
  }
  return *mapped_;
}

ZARRPOINT_INLINE result<void> range_blob::read(std::uint64_t offset, mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  return of_->file().read(begin_ + offset, into);
}

ZARRPOINT_INLINE result<mapping> range_blob::map() const {
  ZARRPOINT_TRY(whole, of_->map());
  if (whole.bytes().size() < begin_ + size_)
    return error{errc::corrupt, "map " + name_ + ": its file became shorter"};
  return mapping(
      whole.bytes().subspan(static_cast<std::size_t>(begin_), static_cast<std::size_t>(size_)),
      detail::make_counted<const mapping>(whole));
}

ZARRPOINT_INLINE result<void> range_blob::read_vectored(
    std::span<const read_request> requests) const {
  std::vector<read_request> moved(requests.begin(), requests.end());
  for (read_request& request : moved) {
    ZARRPOINT_CHECK(check_range(request.offset, request.into.size()));
    request.offset += begin_;
  }
  return of_->file().read(moved);
}

}}}  // namespace zarrpoint::v0::detail
