// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To Zarr by the library's own `save`. What must be read or decoded first is staged when its turn
// comes: a file is a memory space that the host cannot touch, and staging copies from it.

#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/memory/resource.hpp>

#include "conversion.hpp"
#include "row_blocks.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace cli {

namespace {

/// Lets as many arrays be staged at a time as fit into a budget; one larger than all of it alone.
/// It is the memory resource, too, since only that learns when a staged array is done with.
class staging_budget final : public zp::memory_resource {
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
  /// Memory that was admitted before.
  void remember(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    staged_.emplace(memory, bytes);
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    return zp::default_resource().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = staged_.find(memory); at != staged_.end()) {
        used_ -= at->second;
        staged_.erase(at);
        changed_.notify_all();
      }
    }
    zp::default_resource().deallocate(memory, bytes, alignment);
  }

 private:
  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t used_ = 0;
  std::map<const void*, std::size_t> staged_;
};

/// An array that lies in a file.
struct stored_array {
  const source* from = nullptr;
  std::size_t index = 0;
  staging_budget* budget = nullptr;
  bool has_memory = false;  ///< the budget learns from the memory when the array is done with

  std::size_t bytes() const { return static_cast<std::size_t>(from->entries()[index].bytes()); }
};

/// Its turn to be staged, which ends with this object if no memory could be had.
class turn {
 public:
  turn() = default;
  explicit turn(stored_array* of) : of_(of) {}
  turn(const turn& other) : of_(other.of_) {}
  turn& operator=(const turn& other) {
    turn copy(other);
    std::swap(of_, copy.of_);
    std::swap(admitted_, copy.admitted_);
    return *this;
  }
  ~turn() {
    if (admitted_ && !of_->has_memory) of_->budget->give_back(of_->bytes());
  }

  void wait() const {
    if (of_ == nullptr || of_->bytes() == 0) return;
    of_->budget->admit(of_->bytes());
    admitted_ = true;
  }

 private:
  stored_array* of_ = nullptr;
  mutable bool admitted_ = false;
};

/// The memory space of such arrays.
struct file_space {
  using event = turn;
  static constexpr bool host_accessible = false;
  static constexpr const char* name = "file";

  stored_array* array = nullptr;

  zp::result<void> wait(const event& ready) const {
    ready.wait();
    return {};
  }
  /// Staging copies a dense array in one piece.
  zp::result<event> copy_to_host(zp::mutable_bytes to, const std::byte*) const {
    const entry& of = array->from->entries()[array->index];
    array->budget->remember(to.data(), to.size());
    array->has_memory = true;
    ZARRPOINT_CHECK(
        array->from->read(array->index, whole(of), zp::dense_view(to.data(), *of.spec)));
    return event{};
  }
  zp::result<event> copy_from_host(std::byte*, zp::bytes_view) const {
    return zp::error{zp::errc::unsupported, "an array in a file is read only"};
  }
  zp::result<void> pin(zp::mutable_bytes) const { return {}; }
  void unpin(zp::mutable_bytes) const {}
};
static_assert(zp::memory_space<file_space>);

class zarr_conversion {
 public:
  zarr_conversion(const conversion& what, std::size_t memory)
      : what_(what), budget_(memory / 2), stored_(what.arrays.size()) {}

  zp::result<void> run(const zp::save_options& options, zp::context how) {
    for (std::size_t i = 0; i < what_.arrays.size(); ++i) ZARRPOINT_CHECK(add(i));
    progress bar("convert");
    how.scratch = nullptr;
    how.resource = &budget_;
    how.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, how.limit.memory / 8);
    how.progress = [&](const zp::progress_event& event) {
      bar.set(event.item, event.bytes_done, event.bytes_total);
    };
    ZARRPOINT_CHECK(save(what_.out, std::span<const zp::leaf>(leaves_), options, how));
    return {};
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

zp::result<void> convert_to_zarr(const conversion& what, const zp::save_options& options,
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
  return zarr_conversion(what, how.limit.memory).run(options, how);
}

}  // namespace cli
