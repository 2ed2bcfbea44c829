// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/shard/dcp_view.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE local_shards::local_shards(std::string key, std::vector<shard_metadata> shards)
    : key_(std::move(key)), shards_(std::move(shards)), by_offset_(shards_.size()) {}

ZARRPOINT_INLINE write_item write_item_of(const sharded_object& object) {
  return {{object.unique_key(), {}, {}}, write_item::kind::bytes, {}, {}};
}

ZARRPOINT_INLINE std::vector<box> local_shards::chunks() const {
  std::vector<box> out;
  out.reserve(shards_.size());
  for (const shard_metadata& shard : shards_) out.push_back(shard.global_box());
  return out;
}

ZARRPOINT_INLINE std::vector<write_item> local_shards::write_items() const {
  std::vector<write_item> out;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const shard_metadata& shard = shards_[i];
    const box chunk = shard.global_box();
    if (!shard.replica.is_main() || chunk.empty()) continue;
    out.push_back({{key_, shard.global_offset, i},
                   write_item::kind::shard,
                   chunk,
                   {shard.type, shard.global_shape}});
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE bool lies_before(const dims& a, const dims& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// Whether `shard` is of the tensor that `first` is of.
ZARRPOINT_INLINE result<void> check_same_tensor(const shard_metadata& shard,
                                                const shard_metadata& first) {
  if (shard.range)
    return error{errc::unsupported,
                 bad_shard(shard, "a flat range is not a box of the tensor").message};
  if (shard.type != first.type || shard.global_shape != first.global_shape)
    return bad_shard(shard, to_string(tensor_spec{shard.type, shard.global_shape}) +
                                " does not belong to the tensor " +
                                to_string(tensor_spec{first.type, first.global_shape}));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE bool local_shards::before(std::size_t a, std::size_t b) const {
  const dims& x = shards_[a].global_offset;
  const dims& y = shards_[b].global_offset;
  if (x != y) return detail::lies_before(x, y);
  const bool x_empty = shards_[a].global_box().empty();
  const bool y_empty = shards_[b].global_box().empty();
  return x_empty != y_empty ? y_empty : a < b;
}

ZARRPOINT_INLINE result<void> local_shards::check_duplicates() const {
  for (std::size_t i = 1; i < by_offset_.size(); ++i) {
    const shard_metadata& shard = shards_[by_offset_[i]];
    if (shard.global_offset == shards_[by_offset_[i - 1]].global_offset &&
        !shard.global_box().empty())
      return detail::bad_shard(
          shard, "two local shards have the offset " + to_string(shard.global_offset));
  }
  return {};
}

ZARRPOINT_INLINE result<local_shards> local_shards::make(std::string key,
                                                         std::vector<shard_metadata> shards) {
  for (const shard_metadata& shard : shards) {
    ZARRPOINT_CHECK(shard.check());
    if (shard.key != key) return detail::bad_shard(shard, "it is not a shard of \"" + key + "\"");
    ZARRPOINT_CHECK(detail::check_same_tensor(shard, shards.front()));
  }
  local_shards out(std::move(key), std::move(shards));
  std::iota(out.by_offset_.begin(), out.by_offset_.end(), std::size_t{0});
  detail::sort_by(out.by_offset_,
                  [&out](std::size_t a, std::size_t b) { return out.before(a, b); });
  ZARRPOINT_CHECK(out.check_duplicates());
  return out;
}

ZARRPOINT_INLINE result<std::size_t> local_shards::find(const metadata_index& index) const {
  const std::string name = "shards of \"" + key_ + "\": ";
  if (index.key != key_)
    return error{errc::invalid_argument, name + "looked up by the key \"" + index.key + "\""};
  if (shards_.empty()) return error{errc::out_of_range, name + "this process has none"};
  if (!index.offset) return error{errc::invalid_argument, name + "looked up without an offset"};
  if (index.hint && *index.hint < shards_.size()) {
    const shard_metadata& hinted = shards_[*index.hint];
    if (hinted.global_offset == *index.offset && !hinted.global_box().empty()) return *index.hint;
  }
  const auto at = std::lower_bound(by_offset_.begin(), by_offset_.end(), *index.offset,
                                   [this](std::size_t i, const dims& wanted) {
                                     return detail::lies_before(shards_[i].global_offset, wanted);
                                   });
  if (at == by_offset_.end() || shards_[*at].global_offset != *index.offset)
    return error{errc::not_found, name + "no shard has offset " + to_string(*index.offset)};
  return *at;
}

}}  // namespace zarrpoint::v0
