// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A part of an object that is open, as an object of its own. The object outlives it.
class window_blob final : public blob {
 public:
  window_blob(const blob& base, const shard_entry& part) : base_(base), part_(part) {}

  std::uint64_t size() const noexcept override { return part_.size; }
  std::string name() const override { return base_.name(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    return base_.read(part_.offset + offset, into);
  }

 private:
  const blob& base_;
  const shard_entry part_;
};

/// A store of one object, which is a part of another: a shard within a shard.
class window_store {
 public:
  window_store(const blob& base, const shard_entry& part) : base_(&base), part_(part) {}

  result<std::unique_ptr<blob>> open(const store_key&) const {
    return detail::make_owned<blob, window_blob>(*base_, part_);
  }
  std::string describe(const store_key&) const { return base_->name(); }

 private:
  const blob* base_;
  shard_entry part_;
};

}}}  // namespace zarrpoint::v0::detail
