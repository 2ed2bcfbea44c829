// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace random_reshard_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// The shards of all tensors, by rank.
using sharding_of_all = std::vector<std::vector<shard_metadata>>;

struct global_tensor {
  std::string key;
  dtype type;
  dims shape;
  std::size_t prepended = 0;
};

/// Draws tensors and ways to spread them over processes: grids of equal shards, any other boxes,
/// flat pieces of both, copies.
class reshard_generator {
 public:
  explicit reshard_generator(std::uint64_t seed) : random_(seed) {}

  index_t below(index_t bound) {
    return static_cast<index_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  bool one_in(index_t n) { return below(n) == 0; }

  global_tensor tensor(int number) {
    constexpr std::array types{
        dtype_kind::bool_,       dtype_kind::int8,     dtype_kind::uint8,
        dtype_kind::int16,       dtype_kind::uint32,   dtype_kind::int64,
        dtype_kind::float16,     dtype_kind::bfloat16, dtype_kind::float8_e4m3fn,
        dtype_kind::float32,     dtype_kind::float64,  dtype_kind::complex64,
        dtype_kind::float8_e5m2, dtype_kind::float32,  dtype_kind::bfloat16,
        dtype_kind::complex128};
    constexpr std::array<index_t, 10> extents{1, 2, 3, 4, 5, 6, 7, 8, 12, 16};
    global_tensor out{"t" + std::to_string(number), types[random_() % types.size()], {}, 0};
    const auto rank = one_in(25) ? 0 : 1 + below(4);
    index_t volume = 1;
    for (index_t axis = 0; axis < rank; ++axis) {
      index_t extent = extents[random_() % extents.size()];
      while (volume * extent > 160) extent = 1 + below(3);
      if (volume * extent > 160) extent = 1;
      if (one_in(40)) extent = 0;
      volume = std::max<index_t>(volume * extent, 1);
      out.shape.push_back(extent);
    }
    // A layer, or a layer and an expert, that the local tensors know nothing of.
    if (rank > 1 && one_in(3))
      out.prepended = static_cast<std::size_t>(1 + below(std::min<index_t>(rank - 1, 2)));
    return out;
  }

  /// Some shards of a tensor that tile it, each with one main replica.
  void spread(const global_tensor& of, sharding_of_all& over) {
    switch (below(6)) {
      case 0: return replicated(of, over);
      case 1:
      case 2: return regular(of, over, false);
      case 3: return regular(of, over, !local_shape_is_scalar(of));
      case 4: return irregular(of, over, false);
      default: return irregular(of, over, !local_shape_is_scalar(of) && one_in(3));
    }
  }

 private:
  static bool local_shape_is_scalar(const global_tensor& of) {
    return of.shape.rank() == of.prepended;
  }

  shard_metadata describe(const global_tensor& of, const box& part) const {
    shard_metadata out{.key = of.key,
                       .type = of.type,
                       .local_shape = {},
                       .global_shape = of.shape,
                       .global_offset = part.offset};
    out.prepended_axes = of.prepended;
    for (std::size_t axis = of.prepended; axis < of.shape.rank(); ++axis)
      out.local_shape.push_back(part.shape[axis]);
    return out;
  }

  /// The main replica goes to one process, others to some more.
  void place(shard_metadata shard, sharding_of_all& over) {
    const auto ranks = static_cast<index_t>(over.size());
    const index_t main = below(ranks);
    shard.replica = one_in(2) ? replica_id{0} : replica_id{0, 0};
    over[static_cast<std::size_t>(main)].push_back(shard);
    for (index_t copy = one_in(3) ? 1 + below(2) : 0; copy > 0; --copy) {
      const index_t other = below(ranks);
      if (other == main) continue;
      shard.replica = replica_id{0, copy};
      over[static_cast<std::size_t>(other)].push_back(shard);
    }
  }

  void replicated(const global_tensor& of, sharding_of_all& over) {
    if (of.prepended != 0) return regular(of, over, false);
    shard_metadata shard = describe(of, box{dims(of.shape.rank(), 0), of.shape});
    shard.fragmentation = dims(of.shape.rank(), 1);
    const index_t main = below(static_cast<index_t>(over.size()));
    for (std::size_t rank = 0; rank < over.size(); ++rank) {
      shard.replica = static_cast<index_t>(rank) == main ? 0 : 1 + static_cast<index_t>(rank);
      over[rank].push_back(shard);
    }
  }

  /// A grid of equal boxes, or of flat pieces of those.
  void regular(const global_tensor& of, sharding_of_all& over, bool flat) {
    dims counts;
    dims cell;
    for (std::size_t axis = 0; axis < of.shape.rank(); ++axis) {
      const index_t extent = of.shape[axis];
      index_t count = 1 + below(std::min<index_t>(std::max<index_t>(extent, 1), 5));
      while (extent % count != 0) --count;
      if (axis < of.prepended) count = extent;
      counts.push_back(count);
      cell.push_back(count == 0 ? 1 : extent / count);
    }
    dims at(counts.rank(), 0);
    index_t cells = 1;
    for (const index_t count : counts) cells *= count;
    for (index_t n = 0; n < cells; ++n) {
      index_t rest = n;
      box part{at, cell};
      for (std::size_t axis = counts.rank(); axis-- > 0;) {
        part.offset[axis] = rest % counts[axis] * cell[axis];
        rest /= counts[axis];
      }
      shard_metadata shard = describe(of, part);
      // A fragmentation of no shards at all is not one.
      shard.fragmentation = counts;
      flat ? place_flat(shard, over) : place(std::move(shard), over);
    }
  }

  void place_flat(shard_metadata shard, sharding_of_all& over) {
    index_t volume = 1;
    for (const index_t extent : shard.local_shape) volume *= extent;
    std::vector<index_t> cuts{0, volume};
    for (index_t n = below(5); n > 0; --n) cuts.push_back(below(volume + 1));
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      shard.range = flat_range{cuts[i - 1], cuts[i]};
      place(shard, over);
    }
  }

  /// Boxes cut in two again and again, some of them empty.
  void irregular(const global_tensor& of, sharding_of_all& over, bool flat) {
    std::vector<box> parts{box{dims(of.shape.rank(), 0), of.shape}};
    for (std::size_t axis = 0; axis < of.prepended; ++axis) cut_into_ones(parts, axis);
    for (index_t cuts = of.shape.rank() == of.prepended ? 0 : below(10); cuts > 0 && !parts.empty();
         --cuts) {
      const auto which = static_cast<std::size_t>(below(static_cast<index_t>(parts.size())));
      const std::size_t axis =
          of.prepended +
          static_cast<std::size_t>(below(static_cast<index_t>(of.shape.rank() - of.prepended)));
      box rest = parts[which];
      const index_t at = below(rest.shape[axis] + 1);
      parts[which].shape[axis] = at;
      rest.offset[axis] += at;
      rest.shape[axis] -= at;
      parts.push_back(rest);
    }
    for (const box& part : parts) {
      if (flat) {
        place_flat(describe(of, part), over);
      } else {
        place(describe(of, part), over);
      }
    }
  }

  static void cut_into_ones(std::vector<box>& parts, std::size_t axis) {
    std::vector<box> out;
    for (const box& part : parts) {
      for (index_t i = 0; i < part.shape[axis]; ++i) {
        box one = part;
        one.offset[axis] += i;
        one.shape[axis] = 1;
        out.push_back(one);
      }
    }
    parts = std::move(out);
  }

  std::mt19937_64 random_;
};

std::uint64_t seed_of(const std::string& key) { return std::hash<std::string>{}(key); }

state saved_state(const std::vector<shard_metadata>& shards) {
  state::list out;
  for (const shard_metadata& one : shards) out.emplace_back(with_values(one, seed_of(one.key)));
  return state{{"shards", std::move(out)}};
}

state requested_state(const std::vector<shard_metadata>& shards) {
  state::list out;
  for (const shard_metadata& one : shards)
    out.emplace_back(out.size() % 2 == 0 ? with_room(one) : sharded_tensor(one));
  return state{{"shards", std::move(out)}};
}

std::string wrong_with(const state& loaded, std::size_t shards) {
  std::size_t found = 0;
  std::string wrong;
  static_cast<void>(for_each_leaf(loaded, [&](const state& leaf) {
    const sharded_tensor* const one = leaf.if_tensor();
    if (one == nullptr) return;
    ++found;
    wrong += wrong_in(*one, seed_of(one->key()));
  }));
  return found == shards ? wrong : wrong + std::to_string(shards - found) + " shards are lost";
}

struct bounds {
  int least;
  int most;
};

/// Saves a few tensors on some ranks and loads them on others, in other shardings.
void check_world(std::uint64_t seed, int tensors, bounds saving, bounds loading) {
  CAPTURE(seed);
  reshard_generator draw(seed);
  const auto ranks = [&](bounds of) {
    return static_cast<std::size_t>(of.least + draw.below(of.most - of.least + 1));
  };
  std::vector<global_tensor> all;
  for (int i = 0; i < tensors; ++i) all.push_back(draw.tensor(i));
  sharding_of_all stored(ranks(saving));
  sharding_of_all wanted(ranks(loading));
  for (const global_tensor& one : all) {
    draw.spread(one, stored);
    draw.spread(one, wanted);
  }
  const memory_store store;
  group_save_options how;
  how.fully_parallel = draw.one_in(2);
  const group_load_options how_to_load{.read_once = draw.one_in(3)};
  const std::string saved = save_by(
      static_cast<int>(stored.size()), store,
      [&](int rank) { return saved_state(stored[static_cast<std::size_t>(rank)]); }, how);
  CHECK(saved == "done");
  if (saved != "done") return;
  const std::string loaded = load_by(
      static_cast<int>(wanted.size()), store,
      [&](int rank) { return requested_state(wanted[static_cast<std::size_t>(rank)]); },
      [&](int rank, const group_load_report& report) {
        return wrong_with(report.loaded, wanted[static_cast<std::size_t>(rank)].size());
      },
      how_to_load);
  CHECK(loaded == "done");
}

}  // namespace

// With ZARRPOINT_TEST_LONG, as in `tests/run.sh reshard`, it is all of them: 10,000 pairs.
TEST_CASE("reshard: random pairs of shardings are bit-equal") {
#if defined(ZARRPOINT_TEST_SANITIZED)  // some ten times as slow
  const std::uint64_t part = 20;
#else
  const std::uint64_t part = std::getenv("ZARRPOINT_TEST_LONG") != nullptr ? 1 : 5;
#endif
  // Ten tensors in each of 970 small worlds, each in two shardings of its own. What time it takes
  // are the ranks that load: each of them reads what there is; every tenth time they are more.
  for (std::uint64_t seed = 0; seed < 970; seed += part)
    check_world(seed, 10, {2, 6}, {2, seed / part % 10 == 0 ? 16 : 4});
  for (std::uint64_t seed = 10'000; seed < 10'015; seed += part)
    check_world(seed, 20, {16, 64}, {16, 64});
}

}  // namespace random_reshard_test
