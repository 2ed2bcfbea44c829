// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arrays of a conversion as leaves. What must be read or decoded first is so when its turn
// comes. A file is a device, whose memory the host cannot touch, and whose arrays come from it in
// copies.

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/devices.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include "conversion.hpp"
#include "row_blocks.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cli {

/// Lets as many arrays be in memory at a time as fit into a budget; one larger than all of it
/// alone.
class staging_budget {
 public:
  explicit staging_budget(std::size_t limit) : limit_(limit) {}

  /// Waits until `bytes` may be staged. Each array that is staged is on its way to be written, and
  /// waits for nothing here, so that the wait ends.
  void admit(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return used_ == 0 || used_ + bytes <= limit_; });
    used_ += bytes;
  }
  /// The same without waiting. False where there is no room.
  bool try_admit(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (used_ != 0 && used_ + bytes > limit_) return false;
    used_ += bytes;
    return true;
  }
  std::size_t limit() const { return limit_; }
  void give_back(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    changed_.notify_all();
  }

  zp::memory_resource* memory = nullptr;  ///< what staged arrays lie in

 private:
  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t used_ = 0;
};

/// An array that lies in a file, on its way to a dtype.
struct stored_array {
  const source* from = nullptr;
  std::size_t index = 0;
  staging_budget* budget = nullptr;
  zp::dtype type{};
  zp::dims shape{};                     ///< as it is saved
  zp::box part{};                       ///< of the array: as many elements
  const std::byte* elements = nullptr;  ///< while it is staged: dense

  const entry& of() const { return from->entries()[index]; }
  zp::tensor_spec spec() const { return {type, shape}; }
  std::size_t bytes() const { return byte_count(spec()).value_or(PTRDIFF_MAX); }

  /// Elements of the source, of this dtype, row by row.
  zp::result<void> read(const zp::box& box, std::byte* to) const {
    if (type == of().spec->type)
      return from->read(index, box, zp::dense_view(to, {type, box.shape}));
    return for_each_block(*from, index, box,
                          [&](const zp::tensor& block, std::uint64_t first) -> zp::result<void> {
                            const zp::tensor_spec spec{type, block.shape()};
                            return zarrpoint::detail::cast_elements(
                                zp::dense_view(to + first * type.size(), spec), block.view());
                          });
  }
};

/// An array in memory, for as long as somebody writes it.
class staged_array {
 public:
  static zp::result<std::shared_ptr<staged_array>> read(stored_array& array) {
    array.budget->admit(array.bytes());
    const auto out = std::make_shared<staged_array>(array);  // gives back what was admitted
    ZARRPOINT_TRY(memory, zp::buffer::allocate(array.bytes(), *array.budget->memory));
    out->memory_ = std::move(memory);
    std::byte* const to = out->memory_.data();
    ZARRPOINT_CHECK(array.read(array.part, to));
    array.elements = to;
    return out;
  }

  explicit staged_array(stored_array& array) : array_(array) {}
  staged_array(const staged_array&) = delete;
  staged_array& operator=(const staged_array&) = delete;
  ~staged_array() {
    array_.elements = nullptr;
    memory_ = {};
    array_.budget->give_back(array_.bytes());
  }

 private:
  stored_array& array_;
  zp::buffer memory_;
};

/// An array's turn to be staged: from `begin` until the last copy of this is gone.
class turn {
 public:
  turn() = default;
  explicit turn(stored_array* of) : of_(of) {}

  zp::result<void> begin() const {
    if (of_ == nullptr || staged_ != nullptr) return {};
    ZARRPOINT_TRY(staged, staged_array::read(*of_));
    staged_ = std::move(staged);
    return {};
  }

 private:
  stored_array* of_ = nullptr;
  mutable std::shared_ptr<staged_array> staged_;
};

/// The memory space of such arrays: a device that has done all it was asked for at once, and of
/// which nothing but elements can be had. An address is an offset in the array, and 1 more.
struct file_space {
  using event = turn;
  static constexpr bool host_accessible = false;
  static constexpr const char* name = "file";

  stored_array* array = nullptr;

  friend bool operator==(const file_space&, const file_space&) = default;
  int device() const { return 0; }
  zp::result<void> wait(const event&) const { return {}; }
  zp::result<event> record() const { return event{}; }
  zp::result<bool> happened(const event&) const { return true; }
  /// Asked for before the first copy.
  zp::result<void> follow(const event& ready) const { return ready.begin(); }
  zp::result<void> copy_to_host(std::byte* to, const std::byte* from,
                                const zp::row_block& rows) const {
    const std::byte* const first = array->elements + (reinterpret_cast<std::uintptr_t>(from) - 1);
    for (std::size_t i = 0; i < rows.count; ++i)
      std::memcpy(to + i * rows.host_pitch, first + i * rows.device_pitch, rows.width);
    return {};
  }
  zp::result<void> check(const std::byte*, std::size_t) const { return {}; }
  zp::result<void> pin(zp::mutable_bytes) const { return {}; }
  void unpin(zp::mutable_bytes) const noexcept {}
  void drain() const noexcept {}

  zp::result<std::byte*> allocate(std::size_t) const { return read_only(); }
  void deallocate(std::byte*, std::size_t) const noexcept {}
  zp::result<void> copy_from_host(std::byte*, const std::byte*, const zp::row_block&) const {
    return read_only();
  }
  zp::result<void> copy_within(std::byte*, const std::byte*, std::size_t) const {
    return read_only();
  }
  zp::result<void> fill(std::byte*, std::byte, std::size_t) const { return read_only(); }

 private:
  static zp::error read_only() {
    return {zp::errc::unsupported, "an array in a file cannot be written"};
  }
};
static_assert(zp::device_space<file_space>);

/// An array that is larger than the budget, given to a writer in parts, each of which is read when
/// it is needed. Of one that is stored as a whole and not in pieces of a global tensor.
class piecewise_source final : public zp::element_source {
 public:
  explicit piecewise_source(const stored_array& array) : array_(array), spec_(array.spec()) {}

  const zp::tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override {
    return std::max(array_.budget->limit() / 4, spec_.type.size());
  }
  const void* lane() const noexcept override { return array_.budget; }
  double pin_seconds() const override { return 0; }
  zp::result<std::unique_ptr<zp::source_part>> begin(const zp::box& part, bool wait) override;
  zp::result<zp::owned_elements> read(const zp::box& part, zp::memory_resource& resource) override;

 private:
  const stored_array& array_;
  zp::tensor_spec spec_;
};

}  // namespace cli

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Of a file: what fits into the budget is read as a whole, and the rest in parts.
template <>
inline result<std::unique_ptr<element_source>> source_on_device<cli::file_space>(
    const tensor_view<cli::file_space>& view, const source_options& how) {
  const cli::stored_array& array = *view.space.array;
  if (array.bytes() > array.budget->limit() && array.shape == array.part.shape)
    return std::unique_ptr<element_source>(std::make_unique<cli::piecewise_source>(array));
  auto ring = ring_of(how.kept, view.space, how.resource, how.budget);
  return device_source<cli::file_space>::make(view, std::move(ring));
}

}}}  // namespace zarrpoint::v0::detail

namespace cli {

/// Of a conversion, which outlives it. The leaves borrow from it.
class stored_leaves {
 public:
  stored_leaves(const conversion& what, std::size_t memory) : what_(what), budget_(memory / 2) {}

  /// What arrays are staged in.
  void set_resource(zp::memory_resource& memory) { budget_.memory = &memory; }

  /// The array `i` of the conversion, as elements of `type`.
  zp::result<zp::leaf> make(std::size_t i, zp::dtype type);

  /// The same as a part of a global tensor, which the array is. Errors: `unsupported` for what has
  /// no tensors.
  zp::result<zp::sharded_tensor> shard(std::size_t i, zp::shard_metadata of);

 private:
  zp::tensor_view<file_space> view_of(stored_array array);

  const conversion& what_;
  staging_budget budget_;
  std::deque<stored_array> stored_;  // views lead to them
};

/// Refuses arrays that take more than half of `memory` while they are converted whole. Errors:
/// `resource_limit`.
zp::result<void> check_memory(const conversion& what, std::size_t memory);

}  // namespace cli
