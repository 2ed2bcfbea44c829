// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A tree that a save writes, whose objects are shared with those of another checkpoint where all
/// their bytes are the same. The digests of that one tell what is different without a read; what
/// may be the same is compared byte by byte. What the store cannot share is written.
class sharing_store {
 public:
  /// Objects of fewer bytes are written: to look at them would cost as much.
  static constexpr std::uint64_t least_bytes = 4096;

  /// Nothing, and a warning, where `previous` cannot be opened or is not a checkpoint of ours; and
  /// without one.
  static std::optional<sharing_store> over(any_store to, const std::optional<location>& previous,
                                           const context& how, std::vector<std::string>& warnings);

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<bool> erase(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;

  bool can_list() const;

  /// Of the objects that are shared.
  std::uint64_t shared_bytes() const;

 private:
  struct state;
  class writer;
  explicit sharing_store(std::shared_ptr<state> of) : state_(std::move(of)) {}

  std::shared_ptr<state> state_;
};

}}}  // namespace zarrpoint::v0::detail
