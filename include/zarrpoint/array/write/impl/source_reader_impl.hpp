// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/write/read_ahead.hpp>
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE source_box::source_box(element_source& whole, const box& part)
    : whole_(whole), part_(part), spec_{whole.spec().type, part.shape} {}

ZARRPOINT_INLINE result<std::unique_ptr<source_part>> source_box::begin(const box& part,
                                                                        bool wait) {
  return whole_.begin(in_whole(part), wait);
}

ZARRPOINT_INLINE result<owned_elements> source_box::read(const box& part,
                                                         memory_resource& resource) {
  return whole_.read(in_whole(part), resource);
}

ZARRPOINT_INLINE box source_box::in_whole(box part) const {
  for (std::size_t d = 0; d < part.rank(); ++d) part.offset[d] += part_.offset[d];
  return part;
}

ZARRPOINT_INLINE bool item_elements::holds(bytes_view bytes) const noexcept {
  const std::less<> before;
  return kept != nullptr && !before(bytes.data(), memory.data()) &&
         before(bytes.data(), memory.data() + memory.size());
}

ZARRPOINT_INLINE source_reader::source_reader(element_source& from, const array_state& of,
                                              const box_plan& plan)
    : from_(from), of_(of), plan_(plan), ahead_(*this, plan.size(), parts_ahead) {
  const chunk_grid& grid = of.layout.grid();
  const dims& shape = from.spec().shape;
  chunk_bytes_ = memory_size(from.spec().type);
  for (std::size_t d = 0; d < shape.rank(); ++d)
    chunk_bytes_ *= static_cast<std::size_t>(std::min(grid.inner_shape[d], shape[d]));
  const std::size_t part = from.part_bytes();
  alone_ = chunk_bytes_ > part;
  // What is small is cut into a few parts, too: some are encoded while others are copied. What is
  // smaller than that is not: many of those are written at a time, and each part holds a slot.
  const std::size_t all = byte_count(from.spec()).value_or(0);
  run_bytes_ = std::min(part, std::max(all / (parts_ahead + 2), least_run));
}

ZARRPOINT_INLINE result<void> source_reader::wait_for_room(const read_ahead::item& claimed,
                                                           const plan_item& item) {
  if (alone_ || item.destination().empty()) return {};
  ZARRPOINT_CHECK(claimed.part());
  return {};
}

ZARRPOINT_INLINE result<item_elements> source_reader::elements(const read_ahead::item& claimed,
                                                               const plan_item& item,
                                                               memory_resource& resource) {
  const box part = item.destination();
  if (part.empty())
    return item_elements{{nullptr, from_.spec().type, part.shape, part.shape, {}, {}}};
  if (alone_) {
    ZARRPOINT_TRY(read, from_.read(part, resource));
    const auto kept = detail::make_counted<const buffer>(std::move(read.memory));
    return item_elements{read.view, kept, kept->bytes()};
  }
  ZARRPOINT_TRY(run, claimed.part());
  ZARRPOINT_TRY(elements, run->wait());
  box within = part;
  const dims first = plan_.at(claimed.run().first).at;
  for (std::size_t d = 0; d < part.rank(); ++d) within.offset[d] -= first[d];
  const bytes_view memory = run->memory();
  return item_elements{subview(elements, within), std::move(run), memory};
}

ZARRPOINT_INLINE item_run source_reader::run_of(std::size_t i) const {
  if (alone_) return {i, 1};
  const bool sharded = of_.sharded();
  const dims counts = plan_.counts_at(i, !sharded);
  const std::size_t begin = sharded ? plan_.at(i).object_first : 0;
  const std::size_t position = i - begin;
  // All along the last axes, as many as fit along the next one, one along those before.
  std::size_t inside = 1;
  std::size_t bytes = std::max<std::size_t>(chunk_bytes_, 1);
  for (std::size_t d = counts.rank(); d-- > 0;) {
    const auto count = static_cast<std::size_t>(counts[d]);
    const std::size_t room = std::max<std::size_t>(run_bytes_ / bytes, 1);
    if (count > room) {
      const std::size_t row = position - position % (inside * count);
      const std::size_t first = row + (position - row) / (inside * room) * (inside * room);
      return {begin + first, std::min(inside * room, row + inside * count - first)};
    }
    inside *= count;
    bytes *= count;
  }
  return {begin, inside};
}

ZARRPOINT_INLINE result<std::unique_ptr<source_part>> source_reader::begin(const item_run& run,
                                                                           bool wait) {
  const plan_item first = plan_.at(run.first);
  const plan_item last = plan_.at(run.first + run.count - 1);
  box part{first.at, last.at};
  for (std::size_t d = 0; d < part.rank(); ++d) part.shape[d] += last.within.shape[d] - first.at[d];
  return from_.begin(part, wait);
}

}}}  // namespace zarrpoint::v0::detail
