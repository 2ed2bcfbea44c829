// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a leaf on a device is read by an operation with this context, which has scratch memory.
source_options source_options_of(const context& how);

/// Copies what is saved as `name` on its device; false, with a warning, where that has no room or
/// cannot. Errors: those of the space.
result<bool> copy_on_device(element_source& from, std::string_view name,
                            std::vector<std::string>& warnings);

/// How long an operation pinned memory, by the lanes of its sources. Thread-safe.
class pin_times {
 public:
  /// To be told of a source when it is made and when it has been read.
  void note(const element_source& of);
  double seconds() const;

 private:
  struct times {
    double first, last;
  };
  mutable std::mutex mutex_;
  std::map<const void*, times> lanes_;
};

/// A leaf that lives on a device, after the caller's own memory is no longer needed; both are empty
/// for one that the host can read.
struct staged_leaf {
  std::optional<staged> in_host{};
  std::unique_ptr<element_source> on_device{};  ///< of a copy there

  /// What was staged, whatever became of the caller's tensor. Required: something was.
  tensor_spec spec() const { return in_host ? in_host->view.spec() : on_device->spec(); }
};

/// What `stage_leaves` made.
struct staged_leaves {
  std::vector<staged_leaf> leaves;  ///< by the index of the leaf
  std::vector<std::string> warnings;
  double pin_seconds = 0;
};

/// Copies leaves to the host in pieces of a slot at most; the devices take turns. Leaves of up to a
/// quarter of a slot share one with others of their stream, which is waited for once. All threads
/// copy on from the rings, several from one slot: there are fewer slots than threads, and a thread
/// alone is slower than the link.
class leaf_stager final : private read_ahead::parts {
 public:
  leaf_stager(std::span<const leaf> leaves, const context& how) : leaves_(leaves), how_(how) {}

  /// Makes room for a leaf. Errors: `resource_limit`.
  result<void> add(std::size_t index, std::unique_ptr<element_source> source, staged_leaf& into) {
    const tensor_spec& spec = source->spec();
    if (spec.type.size() > source->part_bytes()) return add_vast(*source, into);
    ZARRPOINT_TRY(bytes, byte_count(spec));
    ZARRPOINT_TRY(memory, buffer::allocate(bytes, how_.scratch->resource()));
    into.in_host.emplace();
    into.in_host->owned = std::move(memory);
    const mutable_host_view to = dense_view(into.in_host->owned.data(), spec);
    into.in_host->view = to;
    const std::size_t shared = source->joint_bytes();
    // What repeats elements is small on its way only.
    if (shared != 0 && shared >= bytes && shared <= source->part_bytes() / 4) {
      add_joint({index, std::move(source), {}, to}, shared);
      return {};
    }
    // A few pieces, so that one is copied on while the next is on its way.
    const std::size_t piece = std::min(source->part_bytes(), std::max(bytes / 4, least_piece));
    const auto grid = piece_grid::make(box::whole(spec.shape), dims(spec.shape.rank(), 1),
                                       spec.type.size(), piece);
    std::vector<piece_of>& lane = lanes_[source->lane()];
    for (std::size_t i = 0; i < grid.size(); ++i) lane.push_back({leaves_to_copy_.size(), i});
    leaves_to_copy_.push_back({index, std::move(source), grid, to});
    return {};
  }

  void note(pin_times& pinned) const {
    for (const one_leaf& of : leaves_to_copy_) pinned.note(*of.source);
  }

  /// Copies all that was added. Errors: those of the sources, naming the leaf; `resource_limit`.
  result<void> run() {
    std::size_t longest = 0;
    for (const auto& [name, lane] : lanes_) longest = std::max(longest, lane.size());
    for (std::size_t i = 0; i < longest; ++i) {
      for (const auto& [name, lane] : lanes_) {
        if (i < lane.size()) append(lane[i]);
      }
    }
    read_ahead ahead(*this, items_, parts_ahead);
    return parallel_for(
        how_.executor, items_,
        [&](std::size_t i) -> result<void> {
          const read_ahead::item claimed(ahead, i);
          const piece_of& piece = piece_with(i);
          if (piece.joint != none)
            return copy_joint(claimed, joints_[piece.joint], i - piece.items.first);
          const one_leaf& of = leaves_to_copy_[piece.leaf];
          auto copied = copy(claimed, of, {of.grid.at(piece.piece), i - piece.items.first});
          return copied ? std::move(copied) : std::move(copied).at(name_of(piece.leaf));
        },
        {.stop = how_.stop});
  }

 private:
  struct one_leaf {
    std::size_t index;
    std::unique_ptr<element_source> source;
    piece_grid grid;
    mutable_host_view to;
  };
  static constexpr std::size_t none = SIZE_MAX;
  struct piece_of {
    std::size_t leaf;  ///< in `leaves_to_copy_`
    std::size_t piece;
    std::size_t joint = none;  ///< in `joints_`, when it is several leaves
    item_run items{};
  };
  /// Whole leaves that share a slot.
  struct joint_leaves {
    std::vector<std::size_t> leaves{};  ///< in `leaves_to_copy_`
    std::vector<host_view> views{};     ///< where they are in the slot
    std::vector<std::size_t> shares{};  ///< the first leaf of each share
    std::size_t bytes = 0;
    std::size_t share_left = 0;  ///< room in the last share
  };
  struct share_of {
    box piece;
    std::size_t share;  ///< which of it
  };
  static constexpr std::size_t least_piece = std::size_t{4} << 20;
  static constexpr std::size_t parts_ahead = 12;  ///< with the one at hand some 48 MiB
  static constexpr std::size_t share_bytes = std::size_t{1} << 20;

  /// What threads copy of a piece, each one share at a time.
  static piece_grid shares_of(const one_leaf& of, const box& piece) {
    return piece_grid::make(box::whole(piece.shape), dims(piece.rank(), 1), of.to.type.size(),
                            share_bytes);
  }

  /// Puts a leaf into the open slot of its stream, or opens one.
  void add_joint(one_leaf one, std::size_t bytes) {
    const std::size_t leaf = leaves_to_copy_.size();
    leaves_to_copy_.push_back(std::move(one));
    element_source& source = *leaves_to_copy_.back().source;
    auto open = std::find_if(open_.begin(), open_.end(), [&](std::size_t i) {
      return source.joins(*leaves_to_copy_[joints_[i].leaves.front()].source);
    });
    if (open == open_.end()) open = open_.insert(open, none);
    if (*open == none || bytes > source.part_bytes() - joints_[*open].bytes) {
      *open = joints_.size();
      joints_.emplace_back();
      lanes_[source.lane()].push_back({leaf, 0, *open});
    }
    joint_leaves& into = joints_[*open];
    if (bytes > into.share_left) {
      into.shares.push_back(into.leaves.size());
      into.share_left = std::max(bytes, share_bytes);
    }
    into.share_left -= bytes;
    into.bytes += bytes;
    into.leaves.push_back(leaf);
    into.views.emplace_back();
  }

  std::string name_of(std::size_t leaf) const {
    return "save " + in_quotes(leaves_[leaves_to_copy_[leaf].index].name());
  }

  void append(piece_of piece) {
    const one_leaf& of = leaves_to_copy_[piece.leaf];
    piece.items = {items_, piece.joint != none ? joints_[piece.joint].shares.size()
                                               : shares_of(of, of.grid.at(piece.piece)).size()};
    items_ += piece.items.count;
    pieces_.push_back(piece);
  }
  const piece_of& piece_with(std::size_t item) const {
    const auto after = std::upper_bound(
        pieces_.begin(), pieces_.end(), item,
        [](std::size_t i, const piece_of& piece) { return i < piece.items.first; });
    return *std::prev(after);
  }

  /// One element of it is more than a slot holds.
  result<void> add_vast(element_source& source, staged_leaf& into) {
    ZARRPOINT_TRY(read, source.read(box::whole(source.spec().shape), how_.scratch->resource()));
    into.in_host.emplace(staged{read.view, std::move(read.memory)});
    return {};
  }

  item_run run_of(std::size_t i) const override { return piece_with(i).items; }
  result<std::unique_ptr<source_part>> begin(const item_run& run, bool wait) override {
    const piece_of& piece = piece_with(run.first);
    if (piece.joint != none) return begin_joint(joints_[piece.joint], wait);
    const one_leaf& of = leaves_to_copy_[piece.leaf];
    return of.source->begin(of.grid.at(piece.piece), wait);
  }
  result<std::unique_ptr<source_part>> begin_joint(joint_leaves& of, bool wait) {
    std::vector<element_source*> sources;
    sources.reserve(of.leaves.size());
    for (const std::size_t leaf : of.leaves) sources.push_back(leaves_to_copy_[leaf].source.get());
    joint_read all{sources, of.views};
    auto begun = sources.front()->begin_joint(all, wait);
    if (begun) return begun;
    return std::move(begun).at(name_of(of.leaves[all.asked % of.leaves.size()]));
  }

  static result<void> copy(const read_ahead::item& claimed, const one_leaf& of,
                           const share_of& at) {
    ZARRPOINT_TRY(part, claimed.part());
    ZARRPOINT_TRY(elements, part->wait());
    const box share = shares_of(of, at.piece).at(at.share);
    copy_elements(subview(subview(of.to, at.piece), share), subview(elements, share));
    return {};
  }

  /// Which of the copies failed is not known, if one did.
  result<void> copy_joint(const read_ahead::item& claimed, const joint_leaves& of,
                          std::size_t share) const {
    ZARRPOINT_TRY(part, claimed.part());
    if (auto there = part->wait(); !there) {
      std::string name = name_of(of.leaves.front());
      if (of.leaves.size() > 1) name += " and " + std::to_string(of.leaves.size() - 1) + " others";
      return std::move(there).at(name).failure();
    }
    const std::size_t end = share + 1 < of.shares.size() ? of.shares[share + 1] : of.leaves.size();
    for (std::size_t i = of.shares[share]; i < end; ++i)
      copy_elements(leaves_to_copy_[of.leaves[i]].to, of.views[i]);
    return {};
  }

  std::span<const leaf> leaves_;
  const context& how_;
  std::vector<joint_leaves> joints_;
  std::vector<std::size_t> open_;  // those that may have room, one for each stream
  std::vector<one_leaf> leaves_to_copy_;
  std::map<const void*, std::vector<piece_of>> lanes_;
  std::vector<piece_of> pieces_;  // in the order of their items
  std::size_t items_ = 0;
};

/// Copies what the host cannot read where it is: to the host, or with `save_options::device_copy`
/// on the device where there is room. When it returns the caller may do with his tensors what he
/// likes. Errors: those of the spaces and of the handlers, `resource_limit`, each naming the leaf.
result<staged_leaves> stage_leaves(std::span<const leaf> leaves, const save_options& options,
                                   const context& how);

}}}  // namespace zarrpoint::v0::detail
