// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// `count` chunks of one extent, one after another.
struct chunk_run {
  index_t extent = 1;
  index_t count = 1;

  friend bool operator==(const chunk_run&, const chunk_run&) = default;
};

/// The extents of the chunks along one axis of a rectilinear grid (zarr-extensions, chunk grid
/// "rectilinear").
class axis_edges {
 public:
  /// One chunk of the axis.
  struct chunk {
    index_t index = 0;
    index_t start = 0;
    index_t extent = 0;
  };

  axis_edges();
  // A copy shares; one that was moved from would have no lists.
  axis_edges(const axis_edges&) = default;
  axis_edges& operator=(const axis_edges&) = default;
  ~axis_edges() = default;
  /// `repeats`: the one run goes on for as long as the axis does, a bare integer in the metadata.
  axis_edges(std::vector<chunk_run> runs, bool repeats = false);

  const std::vector<chunk_run>& runs() const noexcept { return lists_->runs; }
  bool repeats() const noexcept { return repeats_; }
  /// Where the last chunk ends; of an axis that repeats, the first.
  index_t end() const noexcept { return end_; }
  /// How many chunks the runs have.
  index_t count() const noexcept { return count_; }

  /// The chunk that holds coordinate `at`, which is within the axis.
  chunk find(index_t at) const;
  /// Chunk `index`; one beyond the last has no extent.
  chunk at(index_t index) const;

  index_t largest() const;

  /// Whether extents are 1 or more and together reach the end of an axis of `length`. Errors:
  /// `corrupt`, `out_of_range`.
  result<void> check(index_t length) const;

  friend bool operator==(const axis_edges& a, const axis_edges& b) {
    return a.repeats_ == b.repeats_ && (a.lists_ == b.lists_ || a.runs() == b.runs());
  }

 private:
  static index_t add(index_t a, index_t b);
  static index_t multiply(index_t a, index_t b);

  struct lists {
    std::vector<chunk_run> runs;
    std::vector<chunk> firsts;  ///< the first chunk of each run
  };
  std::shared_ptr<const lists> lists_;  ///< never null; copies share what may be long
  index_t end_ = 0;
  index_t count_ = 0;
  bool repeats_ = false;
};

namespace detail {

/// `4`, or a list of extents and of `[extent, count]`.
result<axis_edges> parse_axis_edges(const json& value);

json axis_edges_to_json(const axis_edges& edges);

}  // namespace detail

/// How the coordinates of a chunk become its key below the array (Zarr v3 core, "Chunk key
/// encoding"). It is `c/0/1` or `c.0.1` by default, `0.1` or `0/1` in the way of Zarr v2.
struct chunk_key_encoding {
  enum class style : std::uint8_t {
    default_,  ///< `c`, then the coordinates; `c` alone for rank 0
    v2,        ///< the coordinates; `0` for rank 0
  };

  style kind = style::default_;
  char separator = '/';

  /// The key of the chunk at `index`, relative to the array.
  std::string key(const dims& index) const;

  /// The position that `key` is the key of, if it is one for `rank` axes.
  std::optional<dims> parse(std::string_view key, std::size_t rank) const;

  friend bool operator==(const chunk_key_encoding&, const chunk_key_encoding&) = default;
};

}}  // namespace zarrpoint::v0
