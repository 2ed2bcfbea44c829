// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/batch_request.hpp>
#include <zarrpoint/checkpoint/read_leaf.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/memory/device_buffer.hpp>
#include <zarrpoint/memory/staging_ring.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0::detail {

/// Whether work for one may go on the stream of the other. Spaces that cannot be compared share a
/// device's first.
template <device_space Space>
bool same_stream(const Space& a, const Space& b) {
  if constexpr (std::equality_comparable<Space>) {
    return a == b;
  } else {
    return a.device() == b.device();
  }
}

/// A load of many leaves into tensors on devices. Large ones are read as `device_read` does; small
/// ones of one stream share a slot of the ring, and go from there by one copy, and one kernel that
/// knows where each belongs, or by a copy each where there are no kernels. All that was started is
/// waited for at the end only.
template <device_space Space>
class device_batch {
 public:
  explicit device_batch(const batch_request& in) : in_(in), how_(in.from.how()) {}

  result<void> run() {
    ZARRPOINT_CHECK(plan());
    parallel_options how{.max_workers = workers_, .stop = how_.stop};
    result<void> status = parallel_for(
        how_.executor, units_.size(), [this](std::size_t i) { return start(units_[i]); }, how);
    for (const unit& one : units_) {
      if (!one.done) continue;
      result<void> happened = one.space.wait(*one.done);
      if (happened) {
        for (const bound_target* target : one.targets) target->mark(true);
      } else if (status) {
        status = std::move(happened).at(name_of(one));
      }
    }
    return status;
  }

 private:
  using ring = staging_ring<Space>;

  /// Targets that one worker reads.
  struct unit {
    std::vector<const bound_target*> targets;
    Space space;
    std::shared_ptr<ring> slots;
    std::size_t bytes = 0;  ///< of a slot; 0 for a target that is read piece by piece
    std::optional<typename Space::event> done{};
  };

  /// The units of a device, and of each of its streams the one that may have room for more.
  struct device_units {
    int number;
    std::shared_ptr<ring> slots;
    std::vector<unit> units{};
    std::vector<std::size_t> open{};
  };

  static constexpr std::size_t small = std::size_t{256} << 10;
  static constexpr std::size_t alignment = 16;  ///< of a tensor in a slot

  static std::size_t aligned(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }
  static std::size_t bytes_of(const mutable_tensor_view<Space>& view) {
    return byte_count(view.shape, view.type.size()).value_or(SIZE_MAX);
  }

  /// Puts small targets together, and those of several devices in turns.
  result<void> plan() {
    std::vector<device_units> devices;
    for (const bound_target* target : in_.targets) {
      mutable_tensor_view<Space> view;
      if (!target->table->peek(target->target, &view))
        return checkpoint_access::with_target<Space>(in_, *target,
                                                     [](const auto&...) { return result<void>(); });
      const int number = view.space.device();
      auto device = std::find_if(devices.begin(), devices.end(),
                                 [&](const device_units& one) { return one.number == number; });
      if (device == devices.end())
        device = devices.insert(device, {number, ring_of(how_, view.space)});
      add(*device, *target, view);
    }
    std::size_t most = 0;
    for (const device_units& one : devices) {
      most = std::max(most, one.units.size());
      workers_ += static_cast<unsigned>(one.slots->slots());
    }
    for (std::size_t i = 0; i < most; ++i) {
      for (device_units& one : devices) {
        if (i < one.units.size()) units_.push_back(std::move(one.units[i]));
      }
    }
    return {};
  }

  void add(device_units& device, const bound_target& target,
           const mutable_tensor_view<Space>& view) const {
    const std::size_t bytes = bytes_of(view);
    unit alone{{&target}, view.space, device.slots};
    if (bytes > std::min(small, device.slots->slot_bytes() / 4) || !is_dense(view)) {
      device.units.push_back(std::move(alone));
      return;
    }
    // What it takes of a slot: its bytes, and a line of the table.
    alone.bytes = aligned(bytes) + aligned(sizeof(device_segment));
    for (std::size_t& open : device.open) {
      unit& shared = device.units[open];
      if (!same_stream(shared.space, view.space)) continue;
      if (alone.bytes <= device.slots->slot_bytes() - shared.bytes) {
        shared.targets.push_back(&target);
        shared.bytes += alone.bytes;
      } else {
        open = device.units.size();
        device.units.push_back(std::move(alone));
      }
      return;
    }
    device.open.push_back(device.units.size());
    device.units.push_back(std::move(alone));
  }

  result<void> start(unit& one) {
    if (one.bytes == 0 || one.targets.size() == 1) return start_large(one);
    ZARRPOINT_TRY(slot, named(one, one.slots->acquire()));
    std::vector<device_segment> table(one.targets.size());
    std::size_t used = 0;
    ZARRPOINT_CHECK(read_small(one, slot.bytes(), table, used));
    slot.used_by(one.space);
    ZARRPOINT_CHECK(named(one, place(one.space, slot.bytes().first(used), table)));
    ZARRPOINT_TRY(last, named(one, one.space.record()));
    slot.release(last);
    one.done = last;
    return {};
  }

  result<void> start_large(unit& one) {
    const auto workers = static_cast<unsigned>(std::max<std::size_t>(workers_ / units_.size(), 1));
    return checkpoint_access::with_target<Space>(
        in_, *one.targets.front(),
        [&](const array& from, const mutable_tensor_view<Space>& into,
            const read_options& options) -> result<void> {
          ZARRPOINT_TRY(last, start_to_device(from, into, options, workers));
          one.done = last;
          return {};
        });
  }

  /// Reads the targets of a unit into a slot, behind room for their table, which is made, too.
  result<void> read_small(const unit& one, mutable_bytes slot, std::vector<device_segment>& table,
                          std::size_t& used) const {
    used = aligned(table.size() * sizeof(device_segment));
    for (std::size_t i = 0; i < table.size(); ++i) {
      mutable_tensor_view<Space> view;
      const bound_target& target = *one.targets[i];
      if (target.table->peek(target.target, &view)) table[i].bytes = bytes_of(view);
      table[i].from = used;
      used += aligned(table[i].bytes);
    }
    const auto read_one = [&](std::size_t i) {
      return checkpoint_access::with_target<Space>(
          in_, *one.targets[i],
          [&](const array& from, const mutable_tensor_view<Space>& into,
              const read_options& options) -> result<void> {
            ZARRPOINT_CHECK(one.space.check(into.data, table[i].bytes));
            ZARRPOINT_CHECK(one.space.follow(into.ready));
            table[i].to = reinterpret_cast<std::uintptr_t>(into.data);
            return read_to_host(from, dense_view(slot.data() + table[i].from, into.spec()),
                                options);
          });
    };
    return parallel_for(how_.executor, table.size(), read_one, {.stop = how_.stop});
  }

  /// Asks for the copies of what `table` says of a slot, counted from its beginning.
  static result<void> place(const Space& space, mutable_bytes slot,
                            std::vector<device_segment>& table) {
    if constexpr (kernel_space<Space>) {
      if (space.has_kernels()) {
        auto scratch = device_buffer<Space>::allocate(space, slot.size());
        if (scratch) return scatter(space, slot, table, scratch->data());
        // A device that is all but full has no room for it.
        if (scratch.failure().code != errc::resource_limit) return std::move(scratch).failure();
      }
    }
    for (const device_segment& one : table) {
      if (one.bytes == 0) continue;
      const auto bytes = static_cast<std::size_t>(one.bytes);
      ZARRPOINT_CHECK(space.copy_from_host(reinterpret_cast<std::byte*>(one.to),
                                           slot.data() + one.from, {.width = bytes}));
    }
    return {};
  }

  static result<void> scatter(const Space& space, mutable_bytes slot,
                              std::vector<device_segment>& table, std::byte* scratch) {
    for (device_segment& one : table) one.from += reinterpret_cast<std::uintptr_t>(scratch);
    std::memcpy(slot.data(), table.data(), table.size() * sizeof(device_segment));
    ZARRPOINT_CHECK(space.copy_from_host(scratch, slot.data(), {.width = slot.size()}));
    return space.scatter(reinterpret_cast<const device_segment*>(scratch), table.size());
  }

  static std::string name_of(const unit& one) {
    std::string text = "load " + in_quotes(one.targets.front()->name);
    if (one.targets.size() > 1)
      text += " and " + std::to_string(one.targets.size() - 1) + " others";
    return text;
  }
  template <class T>
  static result<T> named(const unit& one, result<T> status) {
    if (status) return status;
    return std::move(status).at(name_of(one));
  }

  const batch_request& in_;
  const context& how_;
  std::vector<unit> units_;
  unsigned workers_ = 0;
};

}  // namespace zarrpoint::inline v0::detail
