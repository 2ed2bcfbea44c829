// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/write/read_ahead.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <memory>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A box of a source as a source of its own.
class source_box final : public element_source {
 public:
  source_box(element_source& whole, const box& part);

  const tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override { return whole_.part_bytes(); }
  const void* lane() const noexcept override { return whole_.lane(); }
  double pin_seconds() const override { return whole_.pin_seconds(); }
  ZARRPOINT_NO_KEY result<std::unique_ptr<source_part>> begin(const box& part, bool wait) override;
  ZARRPOINT_NO_KEY result<owned_elements> read(const box& part, memory_resource& resource) override;

 private:
  box in_whole(box part) const;
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
  bool holds(bytes_view bytes) const noexcept;
};

/// Gives the inner chunks of a write their elements from a source. Neighbours are read together, as
/// many as a part of the source may hold, so that copies are large and many workers have something
/// to do in one part. An inner chunk that no part can hold is read alone.
class source_reader final : private read_ahead::parts {
 public:
  source_reader(element_source& from, const array_state& of, const box_plan& plan);

  /// The memory that the elements of an inner chunk take from the resource.
  std::size_t cost() const noexcept { return alone_ ? chunk_bytes_ : 0; }

  /// To be held for as long as an inner chunk is worked on.
  read_ahead::item claim(std::size_t i) { return {ahead_, i}; }

  /// Waits until `elements` need not wait for others that hold room in the source. A caller of this
  /// must hold no reservation of memory: others wait for one while they hold room.
  /// Errors: those of the source.
  result<void> wait_for_room(const read_ahead::item& claimed, const plan_item& item);

  /// The elements of an inner chunk, once they are there. Errors: those of the source.
  result<item_elements> elements(const read_ahead::item& claimed, const plan_item& item,
                                 memory_resource& resource);

 private:
  static constexpr std::size_t parts_ahead = 2;
  static constexpr std::size_t least_run = std::size_t{4} << 20;

  ZARRPOINT_NO_KEY item_run run_of(std::size_t i) const override;

  ZARRPOINT_NO_KEY result<std::unique_ptr<source_part>> begin(const item_run& run,
                                                              bool wait) override;

  element_source& from_;
  const array_state& of_;
  const box_plan& plan_;
  std::size_t chunk_bytes_ = 0;
  std::size_t run_bytes_ = 0;
  bool alone_ = false;
  read_ahead ahead_;  // the last: it ends before what it asks
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/write/impl/source_reader_impl.hpp>
#endif
