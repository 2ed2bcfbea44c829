// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

// What a process tells rank 0 of the items that it wrote: values and objects by their names, and
// then boxes of tensors in the order of the plan.

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

class receipt_writer {
 public:
  explicit receipt_writer(std::size_t objects) { to_.number(objects); }

  void object(const std::string& name, const item_to_write& item) {
    to_.text(name);
    put(item);
  }

  /// `offset`: where the box is that was planned, or the cell of the flat piece.
  void cell(const std::string& name, const dims& offset, const std::optional<flat_range>& piece,
            const item_to_write& item) {
    to_.text(name);
    to_.shape(offset);
    to_.flag(piece.has_value());
    if (piece) to_.index(piece->start);
    if (piece) to_.index(piece->stop);
    put(item);
  }

  message take() && { return std::move(to_).take(); }

 private:
  /// Rank 0 knows the names of the files.
  void put(const item_to_write& item) {
    to_.number(item.file);
    to_.number(item.offset);
    to_.number(item.layout.size());
  }

  zarrpoint::detail::wire_writer to_;
};

/// What the boxes of a tensor take in a file: most have one shape.
class item_sizes {
 public:
  explicit item_sizes(const dtype& type) : type_(type) {}

  result<std::uint64_t> of(const dims& shape) {
    if (bytes_ != 0 && shape == shape_) return bytes_;
    ZARRPOINT_TRY(layout, archive_layout::of_tensor({type_, shape}));
    shape_ = shape;
    return bytes_ = layout.size();
  }

 private:
  dtype type_;
  dims shape_{};
  std::uint64_t bytes_ = 0;
};

/// The same, read.
class item_receipt {
 public:
  item_receipt(bytes_view receipt, std::size_t rank)
      : from_(receipt),
        rank_(static_cast<int>(rank)),
        called_("the receipt of rank " + std::to_string(rank)) {}

  /// How many files were told of so far.
  std::size_t files() const noexcept { return files_; }

  /// What comes first. Errors: `corrupt` for an object that is there twice.
  result<void> read_objects() {
    for (std::size_t left = from_.count(); left != 0 && !from_.failed(); --left) {
      const std::string name = from_.text();
      if (!objects_.try_emplace(name, take_item()).second)
        return error{errc::corrupt,
                     called_ + " has " + zarrpoint::detail::in_quotes(name) + " twice"};
    }
    return {};
  }

  /// What comes next: where the flat piece is that a process wrote of a cell, or all of it.
  struct cell_item {
    std::optional<flat_range> piece;
    stored_item item;
  };

  /// Errors: `corrupt` where it does not come next.
  result<cell_item> cell(const std::string& key, const dims& offset) {
    const bool is_there = from_.rest() != 0 && from_.text() == key && from_.shape() == offset;
    cell_item out;
    if (is_there && from_.flag()) {
      const index_t start = from_.index();
      out.piece = flat_range{start, from_.index()};
    }
    if (is_there) out.item = take_item();
    if (!is_there || from_.failed()) return lacks(cell_name(key, offset));
    return out;
  }

  error another_size(const std::string& key, const dims& offset, std::uint64_t said,
                     std::uint64_t bytes) const {
    return {errc::corrupt, called_ + " says that " + cell_name(key, offset) + " takes " +
                               std::to_string(said) + " bytes, and not " + std::to_string(bytes)};
  }

  /// Where a piece does not begin at the end of the one before it, or the last one does not end
  /// with the cell. The plan's own ranges are gone by then.
  error another_piece(const std::string& key, const dims& offset, const flat_range& said) const {
    return {errc::corrupt, called_ + " says that of " + cell_name(key, offset) + " there is " +
                               to_string(said) +
                               ", which does not continue the pieces before it to the end"};
  }

  result<stored_item> object(const std::string& name) {
    const auto found = objects_.find(name);
    if (found == objects_.end()) return lacks(zarrpoint::detail::in_quotes(name));
    return std::move(objects_.extract(found).mapped());
  }

  /// Errors: `corrupt` for more than was planned.
  result<void> finish() const {
    ZARRPOINT_CHECK(from_.finish().at(called_));
    if (objects_.empty()) return {};
    return error{errc::corrupt, called_ + " has an object that was not planned: " +
                                    zarrpoint::detail::in_quotes(objects_.begin()->first)};
  }

 private:
  stored_item take_item() {
    const auto file = static_cast<std::size_t>(from_.number());
    if (!from_.failed() && file != SIZE_MAX) files_ = std::max(files_, file + 1);
    const std::uint64_t offset = from_.number();
    return {file_name(rank_, file), offset, from_.number(), {}, false};
  }

  static std::string cell_name(const std::string& key, const dims& offset) {
    return zarrpoint::detail::in_quotes(key) + " at " + to_string(offset);
  }

  error lacks(const std::string& what) const {
    return {errc::corrupt, called_ + " lacks " + what + ", which was planned"};
  }

  zarrpoint::detail::wire_reader from_;
  int rank_;
  std::size_t files_ = 0;
  std::string called_;
  std::map<std::string, stored_item, std::less<>> objects_;
};

}}}}  // namespace zarrpoint::v0::dcp::detail
