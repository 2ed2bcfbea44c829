// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::size_t shard_form::width() const noexcept {
  return rank() + (is_regular ? 0 : local_rank()) + replica_parts + (is_flat ? 2 : 0);
}

ZARRPOINT_INLINE void shard_table::reserve(std::size_t shards, std::size_t numbers) {
  records_.reserve(shards);
  numbers_.reserve(numbers);
}

ZARRPOINT_INLINE std::span<const index_t> shard_table::numbers(std::size_t i) const noexcept {
  return {numbers_.data() + records_[i].first, form(i).width()};
}

ZARRPOINT_INLINE std::span<const index_t> shard_table::offset(std::size_t i) const noexcept {
  return {numbers_.data() + records_[i].first, form(i).rank()};
}

ZARRPOINT_INLINE std::span<const index_t> shard_table::local_shape(std::size_t i) const noexcept {
  const shard_form& f = form(i);
  if (f.is_regular) return f.local_shape;
  return {numbers_.data() + records_[i].first + f.rank(), f.local_rank()};
}

ZARRPOINT_INLINE std::span<const index_t> shard_table::replica(std::size_t i) const noexcept {
  const shard_form& f = form(i);
  return numbers(i).subspan(f.rank() + (f.is_regular ? 0 : f.local_rank()), f.replica_parts);
}

ZARRPOINT_INLINE std::optional<flat_range> shard_table::range(std::size_t i) const noexcept {
  if (!form(i).is_flat) return std::nullopt;
  const std::span<const index_t> last = numbers(i).last(2);
  return flat_range{last[0], last[1]};
}

ZARRPOINT_INLINE bool shard_table::is_main(std::size_t i) const noexcept {
  const auto parts = replica(i);
  return std::all_of(parts.begin(), parts.end(), [](index_t part) { return part == 0; });
}

ZARRPOINT_INLINE bool shard_table::is_empty(std::size_t i) const noexcept {
  const auto shape = local_shape(i);
  const auto flat = range(i);
  return (flat && flat->stop <= flat->start) ||
         std::any_of(shape.begin(), shape.end(), [](index_t n) { return n <= 0; });
}

ZARRPOINT_INLINE index_t shard_table::extent(std::size_t i, std::size_t axis) const noexcept {
  const std::size_t prepended = form(i).prepended_axes;
  return axis < prepended ? 1 : local_shape(i)[axis - prepended];
}

ZARRPOINT_INLINE box shard_table::global_box(std::size_t i) const {
  box out{dims(offset(i)), dims(form(i).prepended_axes, 1)};
  for (const index_t n : local_shape(i)) out.shape.push_back(n);
  return out;
}

ZARRPOINT_INLINE result<shard_table> make_shard_table(std::span<const gathered_shard> shards) {
  shard_table out;
  for (const gathered_shard& one : shards) ZARRPOINT_CHECK(out.add(one.rank, one.shard));
  return out;
}

ZARRPOINT_INLINE std::size_t hash_of(const shard_form& form) noexcept {
  std::size_t h = std::hash<std::string_view>{}(form.key);
  const auto mix = [&](std::uint64_t x) {
    h ^= static_cast<std::size_t>(x) + 0x9e3779b97f4a7c15U + (h << 6) + (h >> 2);
  };
  for (const std::vector<index_t>* one :
       {&form.global_shape, &form.fragmentation, &form.local_shape}) {
    mix(one->size());
    for (const index_t n : *one) mix(static_cast<std::uint64_t>(n));
  }
  mix(static_cast<std::uint64_t>(form.type.kind()));
  mix(form.prepended_axes * 8 + (form.is_regular ? 4 : 0) + (form.is_flat ? 2 : 0) +
      (form.allow_shape_mismatch ? 1 : 0));
  mix(form.replica_parts);
  return h;
}

ZARRPOINT_INLINE key_order::key_order(const std::vector<shard_form>& all) : key_of(all.size()) {
  for (std::uint32_t i = 0; i < all.size(); ++i) forms.push_back(i);
  sort_by_text(forms, [&](std::uint32_t form) -> std::string_view { return all[form].key; });
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (i == 0 || all[forms[i]].key != all[forms[i - 1]].key) ++keys;
    key_of[forms[i]] = static_cast<std::uint32_t>(keys - 1);
  }
}

ZARRPOINT_INLINE std::uint64_t place_of(std::span<const index_t> offset,
                                        const shard_form& form) noexcept {
  std::uint64_t place = 0;
  for (std::size_t axis = 0; axis < form.rank(); ++axis)
    place = place * static_cast<std::uint64_t>(std::max<index_t>(form.global_shape[axis], 1)) +
            static_cast<std::uint64_t>(offset[axis]);
  return place;
}

ZARRPOINT_INLINE std::vector<sorted_shard> sort_shards(const shard_table& table,
                                                       const key_order& keys,
                                                       std::span<const std::uint32_t> chosen) {
  std::vector<sorted_shard> out;
  out.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    const auto range = table.range(i);
    out.push_back({keys.key_of[table.form_number(i)], i, place_of(table.offset(i), table.form(i)),
                   range ? range->start : 0});
  }
  if (!std::is_sorted(out.begin(), out.end())) std::sort(out.begin(), out.end());
  return out;
}

ZARRPOINT_INLINE std::uint32_t shard_table::intern(shard_form form) {
  const std::size_t hash = detail::hash_of(form);
  const auto [first, last] = found_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (forms_[it->second] == form) return it->second;
  }
  const auto number = static_cast<std::uint32_t>(forms_.size());
  found_.emplace(hash, number);
  forms_.push_back(std::move(form));
  return number;
}

ZARRPOINT_INLINE result<void> shard_table::append(int rank, std::uint32_t form,
                                                  std::span<const index_t> numbers) {
  if (rank < 0) return error{errc::invalid_argument, "process " + std::to_string(rank)};
  if (form >= forms_.size() || numbers.size() != forms_[form].width())
    return error{errc::invalid_argument, "a shard has the wrong number of values"};
  if (records_.size() >= UINT32_MAX)
    return error{errc::resource_limit, "2^32 shards or more in one plan"};
  records_.push_back({numbers_.size(), form, counts_[rank]++, rank});
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return {};
}

ZARRPOINT_INLINE result<void> shard_table::add(int rank, const shard_metadata& shard) {
  const std::size_t axes = shard.global_shape.rank();
  if (shard.global_offset.rank() != axes || shard.local_shape.rank() > axes ||
      shard.local_shape.rank() + shard.prepended_axes != axes ||
      (shard.fragmentation && shard.fragmentation->rank() != axes))
    return error{errc::invalid_argument,
                 "shard of \"" + shard.key + "\": its shapes and offset differ in rank"};
  const auto list = [](const dims& values) {
    return std::vector<index_t>(values.begin(), values.end());
  };
  shard_form form{.key = shard.key,
                  .type = shard.type,
                  .global_shape = list(shard.global_shape),
                  .fragmentation = {},
                  .local_shape = {},
                  .prepended_axes = shard.prepended_axes,
                  .replica_parts = shard.replica.parts().size(),
                  .is_regular = shard.is_regular(),
                  .is_flat = shard.range.has_value(),
                  .allow_shape_mismatch = shard.allow_shape_mismatch};
  if (shard.fragmentation) {
    form.fragmentation = list(*shard.fragmentation);
    form.local_shape = list(shard.local_shape);
  }
  std::vector<index_t> numbers = list(shard.global_offset);
  const auto put = [&](const auto& values) {
    numbers.insert(numbers.end(), values.begin(), values.end());
  };
  if (!form.is_regular) put(shard.local_shape);
  put(shard.replica.parts());
  if (shard.range) put(dims{shard.range->start, shard.range->stop});
  return append(rank, intern(std::move(form)), numbers);
}

ZARRPOINT_INLINE shard_metadata shard_table::metadata(std::size_t i) const {
  const shard_form& f = form(i);
  const auto parts = replica(i);
  shard_metadata out{.key = f.key,
                     .type = f.type,
                     .local_shape = dims(local_shape(i)),
                     .global_shape = dims(std::span<const index_t>(f.global_shape)),
                     .global_offset = dims(offset(i)),
                     .replica = replica_id(std::vector<index_t>(parts.begin(), parts.end())),
                     .prepended_axes = f.prepended_axes,
                     .allow_shape_mismatch = f.allow_shape_mismatch,
                     .range = range(i)};
  if (f.is_regular) out.fragmentation = dims(std::span<const index_t>(f.fragmentation));
  return out;
}

ZARRPOINT_INLINE std::vector<std::uint32_t> main_shards(const shard_table& table) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    if (table.is_main(i) && !table.is_empty(i)) out.push_back(i);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
