// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random ways to spread tensors over processes, for the tests of what plans with them.

#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace test_support {

using namespace zarrpoint;

using random_source = std::mt19937_64;

inline index_t pick(random_source& random, index_t least, index_t most) {
  return std::uniform_int_distribution<index_t>(least, most)(random);
}

inline shard_metadata irregular(std::string key, const dims& global, const box& part) {
  return {.key = std::move(key),
          .type = dtype_kind::int16,
          .local_shape = part.shape,
          .global_shape = global,
          .global_offset = part.offset};
}

/// Cuts `whole` in two again and again, at places of no grid.
inline void cut(random_source& random, const box& whole, int depth, std::vector<box>& out) {
  if (depth == 0 || whole.rank() == 0) {
    out.push_back(whole);
    return;
  }
  const auto axis =
      static_cast<std::size_t>(pick(random, 0, static_cast<index_t>(whole.rank()) - 1));
  const index_t at = pick(random, 0, whole.shape[axis]);
  box left = whole;
  box right = whole;
  left.shape[axis] = at;
  right.offset[axis] += at;
  right.shape[axis] -= at;
  cut(random, left, depth - 1, out);
  cut(random, right, depth - 1, out);
}

/// Shards of a random tensor that tile it, each with replicas.
inline std::vector<shard_metadata> random_tensor(random_source& random, const std::string& key) {
  const index_t rank = pick(random, 0, 3);
  std::vector<shard_metadata> out;
  const auto prepended = static_cast<std::size_t>(pick(random, 0, std::min<index_t>(rank, 1)));
  if (pick(random, 0, 1) == 0) {
    shard_metadata shard{.key = key, .type = dtype_kind::int16, .fragmentation = dims{}};
    shard.prepended_axes = prepended;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
      const index_t local = axis < prepended ? 1 : pick(random, 1, 3);
      const index_t fragments = pick(random, 1, 4);
      if (axis >= prepended) shard.local_shape.push_back(local);
      shard.global_shape.push_back(local * fragments);
      shard.fragmentation->push_back(fragments);
      shard.global_offset.push_back(0);
    }
    const write_grid grid{shard.global_shape, [&] {
                            dims cell(prepended, 1);
                            for (const index_t n : shard.local_shape) cell.push_back(n);
                            return cell;
                          }()};
    for (index_t i = 0; i < grid.cells().value(); ++i) {
      shard.global_offset = grid.cell(i).offset;
      out.push_back(shard);
    }
  } else {
    dims global;
    for (index_t axis = 0; axis < rank; ++axis) global.push_back(pick(random, 1, 9));
    std::vector<box> boxes;
    cut(random, box::whole(global), static_cast<int>(pick(random, 0, 4)), boxes);
    for (const box& one : boxes) out.push_back(irregular(key, global, one));
  }
  if (rank == static_cast<index_t>(prepended) || pick(random, 0, 1) == 0) return out;
  std::vector<shard_metadata> flat;
  for (const shard_metadata& one : out) {
    const index_t volume = element_count(one.local_shape).value();
    index_t start = 0;
    for (bool last = false; !last;) {
      last = pick(random, 0, 2) == 0;
      const index_t stop = last ? volume : pick(random, start, volume);
      flat.push_back(one);
      flat.back().range = flat_range{start, stop};
      start = stop;
    }
  }
  return flat;
}

/// A shard and the process that holds it.
struct gathered_shard {
  int rank = 0;
  shard_metadata shard;
};

/// The shards of all processes in a table.
inline result<detail::shard_table> make_shard_table(const std::vector<gathered_shard>& shards) {
  detail::shard_table out;
  for (const gathered_shard& one : shards) ZARRPOINT_CHECK(out.add(one.rank, one.shard));
  return out;
}

/// Gives shards and some replicas to random processes.
inline std::vector<gathered_shard> spread(random_source& random,
                                          const std::vector<shard_metadata>& shards, int ranks) {
  std::vector<gathered_shard> out;
  for (shard_metadata one : shards) {
    out.push_back({static_cast<int>(pick(random, 0, ranks - 1)), one});
    for (index_t copy = pick(random, 0, 2); copy > 0; --copy) {
      one.replica = {0, copy};
      out.push_back({static_cast<int>(pick(random, 0, ranks - 1)), one});
    }
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

}  // namespace test_support
