// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// The elements of a tensor of the caller's.
struct tensor_source {
  std::string name;
  std::function<result<staged>(memory_resource&)> stage;
  bool on_host = true;
  box at;                      ///< of the whole tensor
  std::size_t added_axes = 0;  ///< in front, which the elements have not
  std::uint64_t bytes = 0;
};

/// An item of this process, and its place.
struct item_to_write {
  archive_layout layout;
  std::size_t source = 0;  ///< of a tensor
  box part;                ///< of what the source has; none for a value
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::string name{};  ///< of a value; a tensor's is its source's
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

/// What a process writes.
struct placed_items {
  int rank = 0;
  std::span<const tensor_source> sources;
  std::span<const item_to_write> items;
  std::span<const std::uint64_t> sizes;  ///< of the files
};

/// Writes the items of a process to the files that they have their places in.
class item_writer {
 public:
  /// All stays the caller's.
  item_writer(const any_store& store, const placed_items& what, const context& how);

  /// Errors: those of staging and of writing, naming the leaf; `resource_limit`; `cancelled`.
  result<void> run();

 private:
  result<void> write_files(std::size_t first, std::size_t last);
  result<void> write_item(const item_to_write& item, const host_view& elements, blob_writer& to);

  const any_store& store_;
  const placed_items what_;
  const context& how_;
  progress_meter meter_;
};

}}}}  // namespace zarrpoint::v0::dcp::detail
