// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Shards whose elements follow from their place in the global tensor, and worlds of ranks that save
// and load them: whatever the sharding, what is right is known.

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// Bits that a seed and a number decide (splitmix64).
constexpr std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U + number + 0x632be59bd9b4e019U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Calls `f(position in the local data, index in the global tensor)` for each element of a shard.
/// Elements beyond `stored` (as a rule the global shape) have index -1, or with `replicate` that of
/// the last one along each axis.
template <class F>
void for_each_element(const zp::shard_metadata& of, const zp::dims& stored, const F& f,
                      zp::shard_padding padding = zp::shard_padding::zeros) {
  const std::size_t lead = of.prepended_axes;
  zp::index_t count = 1;
  for (const zp::index_t extent : of.local_shape) count *= extent;
  const zp::flat_range range = of.range.value_or(zp::flat_range{0, count});
  std::vector<zp::index_t> at(of.global_shape.rank(), 0);
  for (zp::index_t n = range.start; n < range.stop; ++n) {
    zp::index_t rest = n;
    for (std::size_t axis = of.local_shape.rank(); axis-- > 0;) {
      at[axis + lead] = rest % of.local_shape[axis];
      rest /= of.local_shape[axis];
    }
    zp::index_t global = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < stored.rank(); ++axis) {
      zp::index_t place = of.global_offset[axis] + at[axis];
      if (padding == zp::shard_padding::replicate && stored[axis] > 0)
        place = std::min(place, stored[axis] - 1);
      inside = inside && place < stored[axis];
      global = global * stored[axis] + place;
    }
    f(n - range.start, inside ? global : -1);
  }
}

/// The values of a shard. The shard must pass `check`.
zp::tensor values_of(const zp::shard_metadata& of, std::uint64_t seed);

inline zp::sharded_tensor with_values(const zp::shard_metadata& of, std::uint64_t seed) {
  return zp::sharded<zp::tensor>::make(of, values_of(of, seed)).value();
}

/// A tensor of zeros to load into.
inline zp::sharded_tensor with_room(const zp::shard_metadata& of) {
  zp::tensor room = zp::tensor::make(of.data_spec()).value();
  std::fill_n(room.mutable_view().data, room.size() * zp::memory_size(of.type), std::byte{0x5a});
  return zp::sharded<zp::tensor>::make(of, std::move(room)).value();
}

/// What is wrong with a loaded shard; nothing if its bits are those of the global tensor that was
/// stored with shape `stored`, and beyond it what `padding` says.
std::string wrong_in(const zp::sharded_tensor& loaded, std::uint64_t seed, const zp::dims& stored,
                     zp::shard_padding padding = zp::shard_padding::zeros);
inline std::string wrong_in(const zp::sharded_tensor& loaded, std::uint64_t seed) {
  return wrong_in(loaded, seed, loaded.metadata().global_shape);
}

/// The group that a rank is in, which works on its own thread.
inline zp::process_group group_of(zp::any_communicator ranks) {
  zp::process_group out;
  out.ranks = std::move(ranks);
  out.how = zp::context{};
  return out;
}

/// "done", the error that all ranks have, or all that they say where they do not agree.
template <class T>
std::string outcome(const std::vector<zp::result<T>>& of) {
  std::set<std::string> different;
  std::string all;
  for (std::size_t rank = 0; rank < of.size(); ++rank) {
    const std::string text = of[rank] ? "done" : to_string(of[rank].failure());
    different.insert(text);
    all += (rank == 0 ? "rank " : "; rank ") + std::to_string(rank) + ": " + text;
  }
  return different.size() == 1 ? *different.begin() : all;
}

/// Saves what `state_of(rank)` gives.
template <class F>
std::string save_by(int ranks, const zp::location& where, const F& state_of,
                    const zp::group_save_options& options = {}) {
  return outcome(zp::thread_world::run(ranks, [&](const zp::thread_communicator& self) {
    return zp::save(where, state_of(self.rank()), group_of(self), options);
  }));
}

/// Loads what `request_of(rank)` asks for and hands each rank's report to `check(rank, report)`,
/// which says what is wrong with it.
template <class F, class C>
std::string load_by(int ranks, const zp::location& where, const F& request_of, const C& check,
                    const zp::group_load_options& options = {}) {
  return outcome(
      zp::thread_world::run(ranks, [&](const zp::thread_communicator& self) -> zp::result<void> {
        ZARRPOINT_TRY(report, zp::load(where, request_of(self.rank()), group_of(self), options));
        const std::string wrong = check(self.rank(), report);
        if (wrong.empty()) return {};
        return zp::error{zp::errc::corrupt, "wrong: " + wrong};
      }));
}

}  // namespace zarrpoint_test
