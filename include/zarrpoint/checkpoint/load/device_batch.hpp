// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/device_read_leaf.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A load of many leaves into tensors on devices. Large ones are read as `device_read` does; others
/// of one stream share a slot of the ring, which is filled by as many threads as there are chunks.
/// From there each goes to its place by a copy of its own, but small ones by one copy together.
/// Where there are kernels, one of them knows where each belongs. All that was started is waited
/// for at the end only.
template <device_space Space>
class device_batch {
 public:
  explicit device_batch(const batch_request& in) : in_(in), how_(in.from.how()) {}

  result<void> run() {
    ZARRPOINT_CHECK(plan());
    left_.store(units_.size(), std::memory_order_relaxed);
    parallel_options how{.max_workers = workers_, .stop = how_.stop};
    result<void> status = parallel_for(
        how_.executor, units_.size(), [this](std::size_t i) { return start(units_[i]); }, how);
    for (unit& one : units_) {
      if (!one.done) continue;
      note(one, one.space.wait(*one.done), status);
    }
    check_decoded(status);
    for (const unit& one : units_) {
      if (!one.done) continue;
      for (const bound_target* target : one.targets) target->mark(true);
    }
    // Only now: what has no memory to be told must not leave copies under way.
    for (const unit& one : units_) {
      if (!one.done || in_.options.report == nullptr) continue;
      for (const bound_target* target : one.targets) {
        mutable_tensor_view<Space> there;
        if (target->table->peek(target->target, &there))
          in_.options.report->end(target->name, there.spec());
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
    std::shared_ptr<device_lanes<Space>> lanes;
    std::size_t bytes = 0;  ///< of a slot; 0 for a target that is read piece by piece
    std::optional<typename Space::event> done{};
    bool decoded = false;  ///< something of it by the lanes
  };

  /// The units of a device, and of each of its streams the one that may have room for more.
  struct device_units {
    int number;
    std::shared_ptr<ring> slots;
    std::shared_ptr<device_lanes<Space>> lanes{};
    std::vector<unit> units{};
    std::vector<std::size_t> open{};
  };

  /// A target in a slot, and what is copied from there.
  struct part {
    const bound_target* target;
    Space space;
    device_segment run{};   ///< `from` counts from the beginning of the slot
    bool is_apart = false;  ///< not read there after all
  };

  /// Small enough to be copied once more on the device rather than to be a copy of its own.
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
      // By the kernels of the first target that has some.
      if (has_kernels(view.space) && device->lanes == nullptr)
        device->lanes = detail::make_counted<device_lanes<Space>>(view.space);
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
    unit alone{{&target}, view.space, device.slots, device.lanes};
    if (bytes > device.slots->slot_bytes() / 4 || !is_dense(view)) {
      device.units.push_back(std::move(alone));
      return;
    }
    // What it takes of a slot: its bytes, and a line of the table.
    alone.bytes = aligned(bytes) + aligned(sizeof(device_segment));
    for (std::size_t& open : device.open) {
      unit& shared = device.units[open];
      if (!(shared.space == view.space)) continue;
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
    const std::size_t left = left_.fetch_sub(1, std::memory_order_relaxed);
    const auto workers = static_cast<unsigned>(std::max<std::size_t>(workers_ / left, 1));
    if (one.bytes == 0 || one.targets.size() == 1) return start_large(one, 0, workers);
    std::vector<const bound_target*> apart;
    ZARRPOINT_CHECK(start_shared(one, apart));
    for (const bound_target* target : apart) {
      one.targets.push_back(target);
      if (result<void> started = start_large(one, one.targets.size() - 1, workers); !started) {
        one.targets.pop_back();  // what `done` stands for is there
        return started;
      }
    }
    return {};
  }

  result<void> start_large(unit& one, std::size_t i, unsigned workers) {
    device_share<Space> share{workers, one.lanes.get()};
    result<void> started = start_apart(one, i, share);
    one.decoded |= share.decoded;
    return started;
  }

  result<void> start_apart(unit& one, std::size_t i, device_share<Space>& share,
                           progress_meter* meter = nullptr) {
    return checkpoint_access::with_target<Space>(
        in_, *one.targets[i],
        [&](const array& from, const mutable_tensor_view<Space>& into,
            read_options options) -> result<void> {
          if (meter != nullptr) options.meter = meter;
          ZARRPOINT_TRY(last, start_to_device(from, into, options, share));
          one.done = last;
          return {};
        });
  }

  /// Has the host read again what lanes decoded that found damage.
  void check_decoded(result<void>& status) {
    std::vector<std::pair<const device_lanes<Space>*, result<bool>>> known;
    for (unit& one : units_) {
      if (!one.done || !one.decoded) continue;
      auto found = std::find_if(known.begin(), known.end(),
                                [&](const auto& each) { return each.first == one.lanes.get(); });
      if (found == known.end())
        found = known.insert(found, {one.lanes.get(), one.lanes->found_damage()});
      const result<bool>& damaged = found->second;
      if (!damaged) {
        note(one, damaged.failure(), status);
      } else if (*damaged) {
        result<void> again = read_again(one);
        if (again) continue;
        one.done.reset();
        if (status) status = std::move(again);
      }
    }
  }

  result<void> read_again(unit& one) {
    progress_meter unseen(nullptr, "read", 0);
    for (std::size_t i = 0; i < one.targets.size(); ++i) {
      device_share<Space> by_the_host;
      ZARRPOINT_CHECK(start_apart(one, i, by_the_host, &unseen));
      ZARRPOINT_CHECK(named(one, one.space.wait(*one.done)));
    }
    return {};
  }

  /// Of a unit whose elements are not there after all.
  static void note(unit& one, result<void> happened, result<void>& status) {
    if (happened) return;
    one.done.reset();
    if (status) status = std::move(happened).at(name_of(one));
  }

  /// Brings the targets of a unit to the device by way of one slot. Those that the device has work
  /// with itself are left to `apart`.
  result<void> start_shared(unit& one, std::vector<const bound_target*>& apart) {
    ZARRPOINT_TRY(slot, named(one, one.slots->acquire()));
    std::size_t small_end = 0;
    std::vector<part> parts = divide(one, small_end);
    const auto read = [&](std::size_t i) { return read_part(parts[i], slot.bytes()); };
    ZARRPOINT_CHECK(parallel_for(how_.executor, parts.size(), read, {.stop = how_.stop}));
    slot.used_by(one.space);
    ZARRPOINT_CHECK(named(one, place(one.space, slot.bytes(), parts, small_end)));
    ZARRPOINT_TRY(last, named(one, one.space.record()));
    slot.release(last);
    one.done = last;
    one.targets.clear();
    for (const part& each : parts) (each.is_apart ? apart : one.targets).push_back(each.target);
    return {};
  }

  /// Gives each target of a unit its part of a slot: behind room for their table the small ones, up
  /// to `small_end`, then the others.
  std::vector<part> divide(const unit& one, std::size_t& small_end) const {
    std::vector<part> out;
    out.reserve(one.targets.size());
    for (const bound_target* target : one.targets) {
      mutable_tensor_view<Space> view;
      out.push_back({target, one.space});
      if (target->table->peek(target->target, &view)) out.back().run.bytes = bytes_of(view);
    }
    std::size_t used = aligned(out.size() * sizeof(device_segment));
    for (const bool is_small : {true, false}) {
      for (part& each : out) {
        if ((each.run.bytes <= small) != is_small) continue;
        each.run.from = used;
        used += aligned(static_cast<std::size_t>(each.run.bytes));
      }
      if (is_small) small_end = used;
    }
    return out;
  }

  result<void> read_part(part& one, mutable_bytes slot) const {
    return checkpoint_access::with_target<Space>(
        in_, *one.target,
        [&](const array& from, const mutable_tensor_view<Space>& into,
            const read_options& options) -> result<void> {
          if (one.run.bytes > small && device_read<Space>::computes(from, into)) {
            one.is_apart = true;
            return {};
          }
          ZARRPOINT_CHECK(one.space.check(into.data, static_cast<std::size_t>(one.run.bytes)));
          ZARRPOINT_CHECK(one.space.follow(into.ready));
          one.run.to = reinterpret_cast<std::uintptr_t>(into.data);
          return read_to_host(from, dense_view(slot.data() + one.run.from, into.spec()), options);
        });
  }

  /// Asks for the copies of all parts of a slot.
  static result<void> place(const Space& space, mutable_bytes slot, const std::vector<part>& parts,
                            std::size_t small_end) {
    ZARRPOINT_TRY(scattered, scatter(space, slot.first(small_end), parts));
    for (const part& one : parts) {
      const auto bytes = static_cast<std::size_t>(one.run.bytes);
      if (bytes == 0 || one.is_apart || (scattered && bytes <= small)) continue;
      ZARRPOINT_CHECK(space.copy_from_host(reinterpret_cast<std::byte*>(one.run.to),
                                           slot.data() + one.run.from, {.width = bytes}));
    }
    return {};
  }

  /// Brings the small parts together, with the table of where they go; false where it cannot.
  static result<bool> scatter([[maybe_unused]] const Space& space,
                              [[maybe_unused]] mutable_bytes slot,
                              [[maybe_unused]] const std::vector<part>& parts) {
    if constexpr (kernel_space<Space>) {
      std::vector<device_segment> table;
      for (const part& one : parts) {
        if (one.run.bytes != 0 && one.run.bytes <= small) table.push_back(one.run);
      }
      if (table.size() < 2 || !space.has_kernels()) return false;
      auto scratch = device_buffer<Space>::allocate(space, slot.size());
      if (!scratch) {
        // A device that is all but full has no room for it.
        if (scratch.failure().code == errc::resource_limit) return false;
        return std::move(scratch).failure();
      }
      std::byte* const at = scratch->data();
      for (device_segment& one : table) one.from += reinterpret_cast<std::uintptr_t>(at);
      std::memcpy(slot.data(), table.data(), table.size() * sizeof(device_segment));
      ZARRPOINT_CHECK(space.copy_from_host(at, slot.data(), {.width = slot.size()}));
      ZARRPOINT_CHECK(space.scatter(reinterpret_cast<const device_segment*>(at), table.size()));
      return true;
    } else {
      return false;
    }
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
  std::atomic<std::size_t> left_{0};  ///< units not begun yet
  unsigned workers_ = 0;
};

template <class Space>
result<void> load_device_batch(const batch_request& in) {
  return device_batch<Space>(in).run();
}

}}}  // namespace zarrpoint::v0::detail
