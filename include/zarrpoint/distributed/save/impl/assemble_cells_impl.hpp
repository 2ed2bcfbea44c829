// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<staged> stage_part(const sharded_tensor& shard, const box& part,
                                           memory_resource& resource) {
  ZARRPOINT_TRY(out, shard.stage(resource));
  const shard_metadata& about = shard.metadata();
  out.view = subview(with_prepended(out.view, about.prepended_axes),
                     selection(relative_to(about.global_box(), part)));
  return std::move(out);
}

ZARRPOINT_INLINE result<void> keep_elements(cell_write& of, const context& how) {
  memory_resource& resource = how.scratch->resource();
  const auto copy = [&]() -> result<tensor> {
    if (of.source) {
      ZARRPOINT_TRY(from, of.source(how));
      ZARRPOINT_TRY(out, tensor::make(from->spec(), resource));
      ZARRPOINT_CHECK(read_all(*from, out.mutable_view()));
      return std::move(out);
    }
    ZARRPOINT_TRY(there, of.stage(resource));
    ZARRPOINT_TRY(out, tensor::make(there.view.spec(), resource));
    copy_elements(out.mutable_view(), there.view);
    return std::move(out);
  };
  ZARRPOINT_TRY(copied, copy());
  auto kept = detail::make_counted<const tensor>(std::move(copied));
  of.stage = [kept = std::move(kept)](memory_resource&) -> result<staged> {
    return staged{kept->view(), {}};
  };
  of.source = {};
  return {};
}

ZARRPOINT_INLINE cell_assembler::cell_assembler(const process_part& part,
                                                std::span<const sharded_tensor> shards, int rank)
    : part_(part), shards_(shards), rank_(rank) {}

ZARRPOINT_INLINE result<std::vector<message>> cell_assembler::pieces(
    int ranks, const context& how, message_budget* counted) const {
  std::vector<message> out(static_cast<std::size_t>(ranks));
  // A shard of an irregular grid may be several cells, which one process writes.
  std::vector<bool> sent(shards_.size(), false);
  for (const planned_tensor& tensor : part_.plan.tensors) {
    for (const planned_cell& cell : part_.plan.cells_of(tensor)) {
      if (cell.writer == rank_) continue;
      for (const cell_source& source : part_.plan.sources_of(cell)) {
        if (source.shard < sent.size() && sent[source.shard]) continue;
        ZARRPOINT_TRY(shard, shard_of(source));
        if (tensor.type.is_variable())
          return error{errc::unsupported, "flat pieces of \"" + tensor.key +
                                              "\", whose elements have no fixed size, cannot be "
                                              "sent to another process"};
        if (cell.writer < 0 || cell.writer >= ranks)
          return error{errc::corrupt, "plan: there is no rank " + std::to_string(cell.writer)};
        sent[source.shard] = true;
        message& to = out[static_cast<std::size_t>(cell.writer)];
        const tensor_spec spec = shard->metadata().data_spec();
        ZARRPOINT_TRY(bytes, byte_count(spec));
        if (counted != nullptr) ZARRPOINT_CHECK(counted->count("what is sent", rank_, bytes));
        const std::size_t at = to.size();
        to.resize(at + bytes);
        ZARRPOINT_CHECK(shard->copy_to(dense_view(to.data() + at, spec), how));
      }
    }
  }
  return out;
}

ZARRPOINT_INLINE result<shard_writes> cell_assembler::assemble(std::span<const message> pieces,
                                                               const context& how,
                                                               const assembly_options& by) const {
  shard_writes out;
  std::vector<std::size_t> taken(pieces.size(), 0);
  for (std::size_t t = 0; t < part_.plan.tensors.size(); ++t) {
    const planned_tensor& tensor = part_.plan.tensors[t];
    array_writes writes{&part_.arrays[t], part_.puts_document[t], {}};
    joined_shards joined;
    for (const planned_cell& cell : part_.plan.cells_of(tensor)) {
      if (cell.writer != rank_) continue;
      cell_write write{tensor.grid.cell(cell.index), {}};
      const auto sources = part_.plan.sources_of(cell);
      if (sources.empty())
        return error{errc::corrupt, "plan: a cell of \"" + tensor.key + "\" has no source"};
      const bool may_be_piece = by.in_pieces && tensor.is_flat;
      ZARRPOINT_TRY(is_piece, may_be_piece ? take_piece(write, sources) : result<bool>(false));
      if (is_piece) {
        if (by.copies) ZARRPOINT_CHECK(keep_elements(write, how));
      } else if (tensor.is_flat) {
        ZARRPOINT_TRY(first, shard_of(sources.front()));
        ZARRPOINT_CHECK(check_part(*first, write.part));
        auto& whole = joined[sources.front().shard];
        if (whole == nullptr) {
          ZARRPOINT_TRY(made, join_pieces({tensor.type, first->metadata().local_shape}, sources,
                                          pieces, taken, how));
          whole = detail::make_counted<const zarrpoint::tensor>(std::move(made));
        }
        write.stage = part_of(whole, first->metadata(), write.part);
      } else {
        ZARRPOINT_TRY(shard, shard_of(sources.front()));
        ZARRPOINT_CHECK(check_part(*shard, write.part));
        write.stage = [shard = *shard, at = write.part](memory_resource& into) {
          return stage_part(shard, at, into);
        };
        if (!shard->host_accessible()) {
          write.source = [shard = *shard, at = write.part](const context& with) {
            return shard.source(with, &at);
          };
        }
        if (by.copies) ZARRPOINT_CHECK(keep_elements(write, how));
      }
      writes.cells.push_back(std::move(write));
    }
    if (writes.puts_document || !writes.cells.empty()) out.arrays.push_back(std::move(writes));
  }
  out.first_objects = part_.first_objects;
  return out;
}

ZARRPOINT_INLINE result<const sharded_tensor*> cell_assembler::shard_of(
    const cell_source& source) const {
  if (source.rank == rank_ && source.shard < shards_.size()) return &shards_[source.shard];
  return error{errc::corrupt, "plan: shard " + std::to_string(source.shard) + " of rank " +
                                  std::to_string(source.rank) + " is not here"};
}

ZARRPOINT_INLINE result<bool> cell_assembler::take_piece(
    cell_write& to, std::span<const cell_source> sources) const {
  if (sources.size() != 1) return false;
  ZARRPOINT_TRY(found, shard_of(sources.front()));
  const sharded_tensor& shard = *found;
  if (shard.metadata().global_box() != to.part) return false;
  if (shard.metadata().range != sources.front().range)
    return error{errc::corrupt,
                 "plan: a flat piece of \"" + shard.key() + "\" has another range than planned"};
  to.piece = sources.front().range;
  to.stage = [shard](memory_resource& into) { return shard.stage(into); };
  if (!shard.host_accessible())
    to.source = [shard](const context& with) { return shard.source(with); };
  return true;
}

ZARRPOINT_INLINE result<void> cell_assembler::check_part(const sharded_tensor& shard,
                                                         const box& part) {
  const box whole = shard.metadata().global_box();
  for (std::size_t i = 0; i < part.rank(); ++i) {
    if (whole.rank() != part.rank() || part.offset[i] < whole.offset[i] ||
        part.offset[i] + part.shape[i] > whole.offset[i] + whole.shape[i])
      return error{errc::corrupt, "plan: cell " + to_string(part) + " is not within the shard " +
                                      to_string(whole) + " of \"" + shard.key() + "\""};
  }
  return {};
}

ZARRPOINT_INLINE std::function<result<staged>(memory_resource&)> cell_assembler::part_of(
    std::shared_ptr<const tensor> whole, const shard_metadata& about, const box& part) {
  const host_view view = subview(with_prepended(whole->view(), about.prepended_axes),
                                 selection(relative_to(about.global_box(), part)));
  return [whole = std::move(whole), view](memory_resource&) -> result<staged> {
    return staged{view, {}};
  };
}

ZARRPOINT_INLINE result<tensor> cell_assembler::join_pieces(const tensor_spec& cell,
                                                            std::span<const cell_source> sources,
                                                            std::span<const message> pieces,
                                                            std::vector<std::size_t>& taken,
                                                            const context& how) const {
  ZARRPOINT_TRY(out, tensor::make(cell, how.scratch->resource()));
  const std::size_t size = memory_size(cell.type);
  const auto room = static_cast<index_t>(out.size());
  for (const cell_source& source : sources) {
    const flat_range range = source.range;
    if (range.start < 0 || range.stop < range.start || range.stop > room)
      return error{errc::corrupt, "plan: flat range " + to_string(range) + " of a shard of " +
                                      std::to_string(room) + " elements"};
    const mutable_host_view to =
        dense_view(out.mutable_view().data + range.start * static_cast<index_t>(size),
                   tensor_spec{cell.type, dims{range.size()}});
    if (source.rank == rank_) {
      ZARRPOINT_TRY(shard, shard_of(source));
      if (shard->metadata().data_spec() != to.spec())
        return error{errc::corrupt, "plan: a flat piece has another length than planned"};
      ZARRPOINT_CHECK(shard->copy_to(to, how));
      continue;
    }
    const auto from = static_cast<std::size_t>(source.rank);
    const std::size_t bytes = static_cast<std::size_t>(range.size()) * size;
    if (from >= pieces.size() || cell.type.is_variable() ||
        pieces[from].size() - taken[from] < bytes)
      return error{errc::corrupt,
                   "rank " + std::to_string(source.rank) + " sent too little of a flat range"};
    if (bytes != 0) std::memcpy(to.data, pieces[from].data() + taken[from], bytes);
    taken[from] += bytes;
  }
  return std::move(out);
}

}}}  // namespace zarrpoint::v0::detail
