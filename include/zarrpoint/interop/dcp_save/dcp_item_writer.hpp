// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

// The one writer of `.distcp`: what a process writes, and what rank 0 makes of what all tell of it.

/// The elements of a tensor of the caller's, or a file that is made when it is written.
struct tensor_source {
  std::string name;
  std::function<result<staged>(memory_resource&)> stage;
  bool on_host = true;
  box at;                      ///< of the whole tensor
  std::size_t added_axes = 0;  ///< in front, which the elements have not
  std::uint64_t bytes = 0;
  /// Those of a device part by part; empty for others.
  std::function<result<std::unique_ptr<element_source>>(const context&)> source{};
};

inline constexpr std::size_t no_source = SIZE_MAX;

/// An item of this process, and its place.
struct item_to_write {
  archive_layout layout;
  std::size_t source = no_source;  ///< of its elements
  box part{};                      ///< of what the source has
  std::string name{};              ///< where there is no source
  std::optional<box> at{};         ///< of the tensor as it is stored; none of a value
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::size_t gap = 0;  ///< bytes before the offset that belong to no item
};

/// Linux lets one thread at a time write to a file, so that threads want several: each of so many
/// bytes, as small checkpoints gain nothing by them. It is the same everywhere, whatever
/// threads there are: the same leaves make the same bytes.
inline constexpr std::uint64_t worth_a_file = std::uint64_t{128} << 20;

/// Gives items their places. Up to `at_once` files take turns, the emptiest first; one that has
/// `file_bytes` is followed by another. Returns the sizes of the files.
std::vector<std::uint64_t> place_items(std::span<item_to_write> items, std::uint64_t file_bytes,
                                       std::size_t at_once);

/// `__0_1.distcp`.
std::string file_name(int rank, std::size_t file);

/// What a process writes, values first. All is the caller's.
struct process_items {
  int rank = 0;
  std::span<const tensor_source> sources;
  std::span<item_to_write> items;
  std::uint64_t file_bytes = 0;  ///< as of `place_items`
  std::size_t files_at_once = 1;
};

/// Gives the items of a process their places, and writes them; the receipt. Errors: those of
/// staging and of writing, naming the leaf; `resource_limit`; `cancelled`.
result<message> write_items(const any_store& store, const process_items& what, const context& how);

/// What all processes write.
struct planned_items {
  /// All but where the items are. A tensor of flat cells has the box of the whole cell for each of
  /// its pieces, of which only the writer knows more.
  metadata made;
  std::vector<int> writers;  ///< of its values, and then of the boxes of its tensors
};

/// Completes the metadata with what all processes tell, by rank; how many files each has. Of one
/// writer, receipts tell of the boxes in the order of the plan. Errors: `corrupt`, naming the
/// process, where a receipt tells of less, of more, or of other boxes than were planned.
result<std::vector<std::size_t>> read_receipts(planned_items& to,
                                               std::span<const message> receipts);

}}}}  // namespace zarrpoint::v0::dcp::detail
