// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_state.hpp>
#include <zarrpoint/array/plan.hpp>
#include <zarrpoint/array/read_ahead.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// A box of a source as a source of its own.
class source_box final : public element_source {
 public:
  source_box(element_source& whole, const box& part)
      : whole_(whole), part_(part), spec_{whole.spec().type, part.shape} {}

  const tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override { return whole_.part_bytes(); }
  const void* lane() const noexcept override { return whole_.lane(); }
  double pin_seconds() const override { return whole_.pin_seconds(); }
  result<std::unique_ptr<source_part>> begin(const box& part, bool wait) override {
    return whole_.begin(in_whole(part), wait);
  }
  result<owned_elements> read(const box& part, memory_resource& resource) override {
    return whole_.read(in_whole(part), resource);
  }

 private:
  box in_whole(box part) const {
    for (std::size_t d = 0; d < part.rank(); ++d) part.offset[d] += part_.offset[d];
    return part;
  }
  element_source& whole_;
  const box part_;
  const tensor_spec spec_;
};

/// The elements of one inner chunk of a write, and what keeps them.
struct item_elements {
  host_view view;
  std::shared_ptr<const void> kept{};  ///< null: the caller does
  bytes_view memory{};                 ///< the elements are somewhere in it, if it is kept

  /// Whether these bytes are the elements themselves.
  bool holds(bytes_view bytes) const noexcept {
    const std::less<> before;
    return kept != nullptr && !before(bytes.data(), memory.data()) &&
           before(bytes.data(), memory.data() + memory.size());
  }
};

/// Gives the inner chunks of a write their elements from a source. Neighbours are read together, as
/// many as a part of the source may hold, so that copies are large and many workers have something
/// to do in one part. An inner chunk that no part can hold is read alone.
class source_reader final : private read_ahead::parts {
 public:
  source_reader(element_source& from, const array_state& of, const box_plan& plan)
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

  /// The memory that the elements of an inner chunk take from the resource.
  std::size_t cost() const noexcept { return alone_ ? chunk_bytes_ : 0; }

  /// To be held for as long as an inner chunk is worked on.
  read_ahead::item claim(std::size_t i) { return {ahead_, i}; }

  /// Waits until `elements` need not wait for others that hold room in the source. Who does this
  /// must hold no reservation of memory: there are those who wait for one while they hold room.
  /// Errors: those of the source.
  result<void> wait_for_room(const read_ahead::item& claimed, const plan_item& item) {
    if (alone_ || item.destination().empty()) return {};
    ZARRPOINT_CHECK(claimed.part());
    return {};
  }

  /// The elements of an inner chunk, once they are there. Errors: those of the source.
  result<item_elements> elements(const read_ahead::item& claimed, const plan_item& item,
                                 memory_resource& resource) {
    const box part = item.destination();
    if (part.empty())
      return item_elements{{nullptr, from_.spec().type, part.shape, part.shape, {}, {}}};
    if (alone_) {
      ZARRPOINT_TRY(read, from_.read(part, resource));
      const auto kept = std::make_shared<const buffer>(std::move(read.memory));
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

 private:
  static constexpr std::size_t parts_ahead = 2;
  static constexpr std::size_t least_run = std::size_t{4} << 20;

  item_run run_of(std::size_t i) const override {
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

  result<std::unique_ptr<source_part>> begin(const item_run& run, bool wait) override {
    const plan_item first = plan_.at(run.first);
    const plan_item last = plan_.at(run.first + run.count - 1);
    box part{first.at, last.at};
    for (std::size_t d = 0; d < part.rank(); ++d)
      part.shape[d] += last.within.shape[d] - first.at[d];
    return from_.begin(part, wait);
  }

  element_source& from_;
  const array_state& of_;
  const box_plan& plan_;
  std::size_t chunk_bytes_ = 0;
  std::size_t run_bytes_ = 0;
  bool alone_ = false;
  read_ahead ahead_;  // the last: it ends before what it asks
};

}  // namespace zarrpoint::inline v0::detail
