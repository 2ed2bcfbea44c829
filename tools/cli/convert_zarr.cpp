// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To Zarr by the library's own `save`, and the leaves for other saves. What must be read or decoded
// first is so when its turn comes: a file is a device, whose memory the host cannot touch, and
// whose arrays come from it in copies.

#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/devices.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include "conversion.hpp"
#include "row_blocks.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace cli {

namespace {

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

/// An array that lies in a file.
struct stored_array {
  const source* from = nullptr;
  std::size_t index = 0;
  staging_budget* budget = nullptr;
  const std::byte* elements = nullptr;  ///< while it is staged: dense

  const entry& of() const { return from->entries()[index]; }
  std::size_t bytes() const { return static_cast<std::size_t>(of().bytes()); }
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
    ZARRPOINT_CHECK(
        array.from->read(array.index, whole(array.of()), zp::dense_view(to, *array.of().spec)));
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

class leaf_conversion {
 public:
  leaf_conversion(const conversion& what, std::size_t memory)
      : what_(what), budget_(memory / 2), stored_(what.arrays.size()) {}

  zp::result<void> run(const leaf_saver& save, zp::context how) {
    for (std::size_t i = 0; i < what_.arrays.size(); ++i) ZARRPOINT_CHECK(add(i));
    for (const std::string& group : what_.empty_groups)
      leaves_.push_back(zp::leaf::empty_group(group));
    progress bar("convert");
    how.scratch = nullptr;
    how.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, how.limit.memory / 8);
    how = zp::with_scratch(std::move(how));
    budget_.memory = &how.scratch->resource();
    how.progress = [&](const zp::progress_event& event) {
      bar.set(event.item, event.bytes_done, event.bytes_total);
    };
    return save(leaves_, how);
  }

 private:
  zp::result<void> add(std::size_t i) {
    const converted& each = what_.arrays[i];
    const entry& array = what_.from.entries()[each.index];
    ZARRPOINT_TRY(lent, what_.from.lend(each.index));
    if (lent) {
      leaves_.emplace_back(each.name, *lent);
      return {};
    }
    if (array.spec->type.is_variable()) {  // strings live in host memory only
      ZARRPOINT_TRY(text, zp::tensor::make(*array.spec));
      ZARRPOINT_CHECK(what_.from.read(each.index, whole(array), text.mutable_view()));
      leaves_.emplace_back(each.name, std::move(text));
      return {};
    }
    stored_[i] = {&what_.from, each.index, &budget_};
    zp::tensor_view<file_space> view;
    view.data = reinterpret_cast<const std::byte*>(std::uintptr_t{1});
    view.type = array.spec->type;
    view.shape = array.spec->shape;
    view.strides = zp::row_major_strides(view.shape, view.type.size());
    view.space = {&stored_[i]};
    view.ready = turn(&stored_[i]);
    leaves_.emplace_back(each.name, view);
    return {};
  }

  const conversion& what_;
  staging_budget budget_;
  std::vector<stored_array> stored_;
  std::vector<zp::leaf> leaves_;
};

}  // namespace

zp::result<void> save_converted(const conversion& what, const leaf_saver& save,
                                const zp::context& how) {
  for (const converted& each : what.arrays) {
    const entry& array = what.from.entries()[each.index];
    ZARRPOINT_TRY(lent, what.from.lend(each.index));
    if (!lent && array.bytes() > how.limit.memory / 2)
      return zp::error{zp::errc::resource_limit,
                       "array \"" + escaped(array.name) + "\" takes " + byte_text(array.bytes()) +
                           " while it is converted, more than half of --memory, which is " +
                           byte_text(how.limit.memory)};
  }
  return leaf_conversion(what, how.limit.memory).run(save, how);
}

zp::result<void> convert_to_zarr(const conversion& what, const zp::save_options& options,
                                 const zp::context& how) {
  const auto save = [&](std::span<const zp::leaf> leaves, const zp::context& with) {
    return zp::save(what.out, leaves, options, with).transform([](const auto&) {});
  };
  return save_converted(what, save, how);
}

}  // namespace cli
