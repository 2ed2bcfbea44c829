// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

// What a process tells rank 0 of what it wrote in the layout torch_dist: objects by their unique
// keys, and then cells and flat pieces in the order of the plan.

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

class receipt_writer {
 public:
  explicit receipt_writer(std::size_t objects) { to_.number(objects); }

  void object(const std::string& name, const dcp::detail::item_to_write& item) {
    to_.text(name);
    put(item);
  }

  void cell(const dcp::detail::tensor_source& of, const std::optional<flat_range>& piece,
            const dcp::detail::item_to_write& item) {
    to_.text(of.name);
    to_.shape(of.at.offset);
    to_.flag(piece.has_value());
    if (piece) to_.index(piece->start);
    if (piece) to_.index(piece->stop);
    put(item);
  }

  message take() && { return std::move(to_).take(); }

 private:
  /// Rank 0 knows the names of the files.
  void put(const dcp::detail::item_to_write& item) {
    to_.number(item.file);
    to_.number(item.offset);
    to_.number(item.layout.size());
  }

  zarrpoint::detail::wire_writer to_;
};

/// The same, read.
class torch_dist_receipt {
 public:
  torch_dist_receipt(bytes_view receipt, std::size_t rank)
      : from_(receipt),
        rank_(static_cast<int>(rank)),
        called_("the receipt of rank " + std::to_string(rank)) {}

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
    dcp::stored_item item;
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

  result<dcp::stored_item> object(const std::string& name) {
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
  dcp::stored_item take_item() {
    const auto file = static_cast<std::size_t>(from_.number());
    const std::uint64_t offset = from_.number();
    return {dcp::detail::file_name(rank_, file), offset, from_.number(), {}, false};
  }

  static std::string cell_name(const std::string& key, const dims& offset) {
    return zarrpoint::detail::in_quotes(key) + " at " + to_string(offset);
  }

  error lacks(const std::string& what) const {
    return {errc::corrupt, called_ + " lacks " + what + ", which was planned"};
  }

  zarrpoint::detail::wire_reader from_;
  int rank_;
  std::string called_;
  std::map<std::string, dcp::stored_item, std::less<>> objects_;
};

}}}}  // namespace zarrpoint::v0::megatron::detail
