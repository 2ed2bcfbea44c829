// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// An object whose size is known when it is opened and whose bytes are made when they are first
/// read: a listing that asks for sizes makes nothing.
class delayed_blob final : public blob {
 public:
  using blob::read;
  /// Called once, under a lock. Its errors are those of `read` and `map`.
  using maker = std::function<result<mapping>()>;

  delayed_blob(std::uint64_t size, maker make, std::string name)
      : size_(size), make_(std::move(make)), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return size_; }
  std::string name() const override { return name_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    ZARRPOINT_TRY(made, map());
    if (!into.empty()) std::memcpy(into.data(), made.bytes().data() + offset, into.size());
    return {};
  }
  result<mapping> map() const override {
    const std::lock_guard lock(mutex_);
    if (made_) return *made_;
    ZARRPOINT_TRY(made, make_());
    if (made.bytes().size() != size_)
      return error{errc::corrupt, name_ + ": it has " + std::to_string(made.bytes().size()) +
                                      " bytes, and not " + std::to_string(size_)};
    made_ = made;
    return made;
  }

 private:
  const std::uint64_t size_;
  const maker make_;
  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::optional<mapping> made_;
};

}}}}  // namespace zarrpoint::v0::torch::detail
