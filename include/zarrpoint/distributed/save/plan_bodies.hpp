// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

// -------------------------------------------------------------------------------- plan_message.hpp

ZARRPOINT_INLINE message encode_part(const process_part& part,
                                     std::span<const array_text* const> arrays) {
  wire_writer to;
  to.bytes(encode_plan(part.plan));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    to.number(arrays[i]->zarr_format);
    to.text(arrays[i]->document);
    to.flag(part.puts_document[i]);
  }
  to.number(part.first_objects.size());
  for (const object_id& grid : part.first_objects) {
    to.text(grid.key);
    to.shape(grid.global_shape);
  }
  to.number(part.warnings.size());
  for (const std::string& warning : part.warnings) to.text(warning);
  to.flag(part.exchanges);
  return std::move(to).take();
}

ZARRPOINT_INLINE result<process_part> decode_part(bytes_view from_root) {
  wire_reader from(from_root);
  process_part out;
  ZARRPOINT_TRY(plan, decode_plan(from.bytes()));
  out.plan = std::move(plan);
  for (const planned_tensor& tensor : out.plan.tensors) {
    const std::uint64_t format = from.limited(3);
    const std::string text = from.text();
    if (from.failed()) break;
    planned_array array{tensor, {}, {}};
    ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
    const auto parsed = format == 2 ? parse_array_v2(document, nullptr) : parse_array_v3(document);
    if (!parsed) return parsed.failure();
    array.metadata = *parsed;
    array.document = std::move(document);
    out.arrays.push_back(std::move(array));
    out.puts_document.push_back(from.flag());
  }
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    object_id grid{from.text(), {}, {}};
    grid.global_shape = from.shape();
    grid.global_offset = dims(grid.global_shape.rank(), 0);
    out.first_objects.push_back(std::move(grid));
  }
  for (std::size_t n = from.count(); n > 0 && !from.failed(); --n)
    out.warnings.push_back(from.text());
  out.exchanges = from.flag();
  ZARRPOINT_CHECK(from.finish());
  return out;
}

ZARRPOINT_INLINE result<message> scatter_result(const any_communicator& group,
                                                result<std::vector<message>> all) {
  std::vector<message> to_each(static_cast<std::size_t>(group.size()));
  if (group.rank() == 0) {
    for (std::size_t r = 0; r < to_each.size(); ++r) {
      to_each[r] = all ? std::move((*all)[r]) : pack_status(all.failure());
      to_each[r].push_back(all ? std::byte{0} : std::byte{1});
    }
  }
  ZARRPOINT_TRY(mine, scatter(group, std::move(to_each)));
  if (mine.empty()) return error{errc::corrupt, "rank 0 sent nothing"};
  const bool failed = mine.back() != std::byte{0};
  mine.pop_back();
  if (!failed) return std::move(mine);
  if (result<void> status = unpack_status(mine); !status) return std::move(status).failure();
  return error{errc::corrupt, "rank 0 failed without an error"};
}

// ----------------------------------------------------------------------------- plan_group_save.hpp

ZARRPOINT_INLINE result<group_plan> group_planner::plan(const described_states& states,
                                                        const json& common) const {
  group_plan out;
  if (options.validate) ZARRPOINT_CHECK(validate_sharding(states.shards, states.objects));
  std::vector<std::uint32_t> stored = main_shards(states.shards);
  if (options.fully_parallel) {
    ZARRPOINT_TRY(spread, detail::distribute(states.shards, {.group_of = options.groups}));
    stored = std::move(spread);
  }
  ZARRPOINT_TRY(planned, detail::plan_save(states.shards, stored));
  out.plan = std::move(planned);
  std::map<std::string_view, const gathered_object*> grids;
  for (const gathered_object& one : states.objects) {
    if (!one.is_main) continue;
    grids.emplace(one.id.key, &one);
    out.objects.push_back({one.id, one.rank});
  }
  ZARRPOINT_CHECK(sort_objects(out.objects));
  for (const auto& [key, one] : grids) {
    out.grids.push_back({one->id.key, one->id.global_shape, dims(one->id.global_shape.rank(), 0)});
    out.grid_writers.push_back(one->rank);
  }
  ZARRPOINT_CHECK(check_names(out));
  ZARRPOINT_TRY(warnings, compare_commons(states.commons, common));
  out.warnings = std::move(warnings);
  return out;
}

ZARRPOINT_INLINE result<std::vector<message>> group_planner::parts_of(
    const group_plan& planned, std::span<const planned_array> arrays,
    const part_context& about) const {
  ZARRPOINT_TRY(plans, split_plan(planned.plan, about.ranks));
  std::map<std::string_view, array_text> by_key;
  std::map<std::string_view, int> putters;
  bool exchanges = false;
  for (const planned_array& array : arrays)
    by_key.emplace(array.tensor.key,
                   array_text{static_cast<std::uint64_t>(array.metadata.zarr_format),
                              dump_json(array.document, json_style::compact)});
  for (const planned_tensor& tensor : planned.plan.tensors) {
    const auto cells = planned.plan.cells_of(tensor);
    putters.emplace(tensor.key, cells.empty() ? 0 : cells.front().writer);
    for (const planned_cell& cell : cells) {
      for (const cell_source& source : planned.plan.sources_of(cell))
        exchanges = exchanges || source.rank != cell.writer;
    }
    if (cells.empty()) add_without_cells(plans.front(), tensor);
  }
  std::vector<message> out;
  for (int rank = 0; rank < about.ranks; ++rank) {
    process_part part;
    std::vector<const array_text*> texts;
    part.plan = std::move(plans[static_cast<std::size_t>(rank)]);
    for (const planned_tensor& tensor : part.plan.tensors) {
      texts.push_back(&by_key.at(tensor.key));
      part.puts_document.push_back(putters.at(tensor.key) == rank);
    }
    for (std::size_t i = 0; i < planned.grids.size(); ++i) {
      if (planned.grid_writers[i] == rank) part.first_objects.push_back(planned.grids[i]);
    }
    part.warnings = about.warnings;
    part.exchanges = exchanges;
    out.push_back(encode_part(part, texts));
  }
  return out;
}

ZARRPOINT_INLINE result<void> group_planner::check_attributes_of(const group_plan& planned,
                                                                 const any_strategy& saver) const {
  const json::object& given = options.storage.attributes_of;
  if (given.empty()) return {};
  std::vector<std::string_view> names;
  std::set<std::string_view> tensors;
  for (const planned_tensor& tensor : planned.plan.tensors) tensors.insert(tensor.key);
  names.assign(tensors.begin(), tensors.end());
  for (const object_id& grid : planned.grids) names.emplace_back(grid.key);
  sort_names(names);
  ZARRPOINT_TRY(groups, groups_of(names));
  ZARRPOINT_CHECK(attributes_of_groups(given, groups, names).transform([](const auto&) {}));
  if (saver.id() == strategy_id{std::string(zarr_saver::backend), zarr_saver::version}) return {};
  for (const json::member& one : given) {
    if (!tensors.contains(one.key))
      return error{errc::invalid_argument, "save_options: attributes_of " + in_quotes(one.key) +
                                               ": strategy " + to_string(saver) +
                                               " stores no attributes of groups and objects"};
  }
  return {};
}

ZARRPOINT_INLINE void group_planner::add_without_cells(zarrpoint::detail::save_plan& to,
                                                       planned_tensor tensor) {
  tensor.first_cell = static_cast<std::uint32_t>(to.cells.size());
  tensor.cells = 0;
  to.tensors.push_back(std::move(tensor));
}

ZARRPOINT_INLINE result<void> group_planner::sort_objects(std::vector<planned_object>& objects) {
  const auto is_before = [](const planned_object& a, const planned_object& b) {
    if (a.id.key != b.id.key) return a.id.key < b.id.key;
    const dims &x = a.id.global_offset, &y = b.id.global_offset;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  };
  sort_by(objects, is_before);
  const auto twice = std::adjacent_find(
      objects.begin(), objects.end(),
      [&](const planned_object& a, const planned_object& b) { return !is_before(a, b); });
  if (twice == objects.end()) return {};
  return error{errc::invalid_argument, "object " + in_quotes(unique_key(twice->id)) +
                                           " has a main replica on rank " +
                                           std::to_string(twice->writer) + " and another on rank " +
                                           std::to_string((twice + 1)->writer)};
}

ZARRPOINT_INLINE result<void> group_planner::check_names(const group_plan& planned) {
  std::vector<std::string_view> names{common_leaf};
  for (const planned_tensor& tensor : planned.plan.tensors) names.emplace_back(tensor.key);
  for (const object_id& grid : planned.grids) names.emplace_back(grid.key);
  return groups_of(names).transform([](const auto&) {});
}

ZARRPOINT_INLINE result<std::vector<std::string>> group_planner::compare_commons(
    std::span<const message> commons, const json& of_root) {
  std::vector<std::string> out;
  ZARRPOINT_TRY(root_state, state_from_json(of_root));
  for (std::size_t rank = 0; rank < commons.size(); ++rank) {
    if (commons[rank].empty()) continue;
    ZARRPOINT_TRY(other, parse_json(commons[rank]));
    ZARRPOINT_TRY(other_state, state_from_json(other));
    ZARRPOINT_TRY(differing, diff(root_state, other_state));
    std::string text = to_string(differing);
    if (text.ends_with('\n')) text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ';');
    out.push_back("the common state of rank " + std::to_string(rank) +
                  " differs from that of rank 0, which is stored: " + text);
  }
  return out;
}

ZARRPOINT_INLINE result<prepared_state> prepare_to_save(const state& tree, const json& content) {
  ZARRPOINT_TRY(expanded, apply_factories(tree));
  prepared_state out;
  // Local values are left where they are said to be common: that part of a tree is what a load
  // gives back, and positions in it count.
  ZARRPOINT_TRY(sharded, extract(expanded.tree, of_kind(state_kind::tensor, state_kind::object,
                                                        state_kind::local)));
  out.common = std::move(sharded.rest);
  ZARRPOINT_CHECK(for_each_leaf(sharded.matching, [&](const state& leaf) -> result<void> {
    if (const sharded_tensor* tensor = leaf.if_tensor()) {
      ZARRPOINT_CHECK(tensor->validate());
      if (!tensor->has_data()) return bad_shard(tensor->metadata(), "it has no value to save");
      out.tensors.push_back(*tensor);
    } else if (const sharded_object* object = leaf.if_object()) {
      ZARRPOINT_CHECK(object->validate());
      if (!object->has_data()) return bad_object(object->id(), "it has no value to save");
      out.objects.push_back(*object);
    }
    return {};
  }));
  if (!content.is_null()) {
    state::map* const members = out.common.if_map();
    if (members == nullptr)
      return error{errc::invalid_argument,
                   "content_metadata can be saved only if the state is a map"};
    ZARRPOINT_TRY(value, state_from_json(content));
    if (!members->emplace(std::string(content_member), std::move(value)).second)
      return error{errc::invalid_argument, "the state already has a member \"content_metadata\""};
  }
  return out;
}

ZARRPOINT_INLINE result<message> describe_state(const prepared_state& of,
                                                const message& common_if_it_differs) {
  std::vector<shard_metadata> shards;
  shards.reserve(of.tensors.size());
  for (const sharded_tensor& tensor : of.tensors) shards.push_back(tensor.metadata());
  ZARRPOINT_TRY(encoded, encode_shards(shards));
  wire_writer to;
  to.bytes(encoded);
  to.number(of.objects.size());
  for (const sharded_object& object : of.objects) {
    to.text(object.key());
    to.shape(object.global_shape());
    to.indexes(object.global_offset());
    to.flag(object.replica().is_main());
  }
  to.bytes(common_if_it_differs);
  return std::move(to).take();
}

ZARRPOINT_INLINE result<described_states> read_descriptions(std::span<const message> from_ranks) {
  described_states out;
  for (std::size_t rank = 0; rank < from_ranks.size(); ++rank) {
    wire_reader from(from_ranks[rank]);
    ZARRPOINT_CHECK(decode_shards(from.bytes(), static_cast<int>(rank), out.shards));
    for (std::size_t n = from.count(3); n > 0 && !from.failed(); --n) {
      gathered_object one{static_cast<int>(rank), {}, false};
      one.id.key = from.text();
      one.id.global_shape = from.shape();
      one.id.global_offset = from.indexes(one.id.global_shape.rank());
      one.is_main = from.flag();
      out.objects.push_back(std::move(one));
    }
    const bytes_view common = from.bytes();
    out.commons.emplace_back(common.begin(), common.end());
    ZARRPOINT_CHECK(from.finish().at("process " + std::to_string(rank)));
  }
  return out;
}

// ------------------------------------------------------------------------------ assemble_cells.hpp

ZARRPOINT_INLINE result<staged> stage_part(const sharded_tensor& shard, const box& part,
                                           memory_resource& resource) {
  ZARRPOINT_TRY(out, shard.stage(resource));
  const shard_metadata& about = shard.metadata();
  out.view = subview(with_prepended(out.view, about.prepended_axes),
                     selection(relative_to(about.global_box(), part)));
  return std::move(out);
}

ZARRPOINT_INLINE result<void> cell_copies::add(cell_write& of, std::string_view key) {
  memory_resource& resource = how_.scratch->resource();
  std::unique_ptr<element_source> from;
  if (of.source) {
    ZARRPOINT_TRY(made, of.source(how_));
    from = std::move(made);
  }
  if (from != nullptr && on_devices_) {
    ZARRPOINT_TRY(is_copied, copy_on_device(*from, key, warnings_));
    if (is_copied) {
      auto held = detail::make_counted<std::unique_ptr<element_source>>(std::move(from));
      under_way_.emplace_back(key, held);
      of.reads_once = true;
      const auto check = [held, name = std::string(key)]() -> result<void> {
        if (*held != nullptr) return {};
        return error{errc::invalid_argument,
                     "the copy of " + in_quotes(name) +
                         " on its device was given up already: what reads once is asked for once"};
      };
      of.source = [held, check](const context&) -> result<std::unique_ptr<element_source>> {
        ZARRPOINT_CHECK(check());
        return std::move(*held);
      };
      of.stage = [held = std::move(held), check](memory_resource& into) -> result<staged> {
        ZARRPOINT_CHECK(check());
        ZARRPOINT_TRY(read, (*held)->read(box::whole((*held)->spec().shape), into));
        return staged{read.view, std::move(read.memory)};
      };
      return {};
    }
  }
  const auto copy = [&]() -> result<tensor> {
    if (from != nullptr) {
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

ZARRPOINT_INLINE result<void> cell_copies::finish(std::vector<std::string>& told) {
  for (const auto& [key, one] : under_way_)
    ZARRPOINT_CHECK((*one)->settle().at("save " + in_quotes(key)));
  under_way_.clear();
  for (std::string& warning : warnings_) told.push_back(std::move(warning));
  return {};
}

ZARRPOINT_INLINE cell_assembler::cell_assembler(const process_part& part,
                                                std::span<const sharded_tensor> shards, int rank)
    : part_(part), shards_(shards), rank_(rank) {}

/// Where in a message elements begin whose box ends at `at`: aligned for any of them.
constexpr std::size_t aligned_box(std::size_t at) noexcept { return (at + 15) / 16 * 16; }

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
          return error{errc::unsupported, "parts of \"" + tensor.key +
                                              "\", whose elements have no fixed size, cannot be "
                                              "sent to another process"};
        if (cell.writer < 0 || cell.writer >= ranks)
          return error{errc::corrupt, "plan: there is no rank " + std::to_string(cell.writer)};
        sent[source.shard] = true;
        message& to = out[static_cast<std::size_t>(cell.writer)];
        if (!tensor.is_flat) {  // which box it is
          wire_writer at;
          at.part(shard->metadata().global_box());
          const message box = std::move(at).take();
          to.insert(to.end(), box.begin(), box.end());
          to.resize(aligned_box(to.size()));
        }
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
  std::optional<message_budget> whole_tensors;  // beside the pieces, which are counted already
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
        if (by.copies != nullptr)
          ZARRPOINT_CHECK(by.copies->add(write, tensor.key).at("save " + in_quotes(tensor.key)));
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
      } else if (sources.size() > 1 || sources.front().rank != rank_) {
        ZARRPOINT_TRY(bytes, byte_count(tensor.grid.shape, memory_size(tensor.type)));
        if (!whole_tensors) whole_tensors.emplace(how);
        ZARRPOINT_CHECK(whole_tensors->count("a tensor in one piece", rank_, bytes));
        ZARRPOINT_TRY(made, join_boxes(tensor, sources, pieces, taken, how));
        write.stage = [whole = detail::make_counted<const zarrpoint::tensor>(std::move(made))](
                          memory_resource&) -> result<staged> {
          return staged{whole->view(), {}};
        };
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
        if (by.copies != nullptr)
          ZARRPOINT_CHECK(by.copies->add(write, tensor.key).at("save " + in_quotes(tensor.key)));
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
      return error{errc::corrupt, "plan: flat range " + to_string(range) +
                                      " reaches beyond a shard of " + std::to_string(room) +
                                      " elements"};
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

ZARRPOINT_INLINE result<tensor> cell_assembler::join_boxes(const planned_tensor& of,
                                                           std::span<const cell_source> sources,
                                                           std::span<const message> pieces,
                                                           std::vector<std::size_t>& taken,
                                                           const context& how) const {
  const dims& shape = of.grid.shape;
  if (of.type.is_variable())
    return error{errc::corrupt, "plan: elements of \"" + of.key + "\" have no fixed size"};
  memory_resource& resource = how.scratch->resource();
  ZARRPOINT_TRY(out, tensor::make({of.type, shape}, resource));
  index_t left = static_cast<index_t>(out.size());
  const auto take = [&](const box& at, const host_view& elements) -> result<void> {
    const auto count = element_count(at.shape);
    if (!count || *count > left || !selection(at).check(shape))
      return error{errc::corrupt, "plan: " + to_string(at) + " of \"" + of.key +
                                      "\" is not a part of its shape " + to_string(shape)};
    left -= *count;
    copy_elements(subview(out.mutable_view(), selection(at)), elements);
    return {};
  };
  for (const cell_source& source : sources) {
    if (source.rank == rank_) {
      ZARRPOINT_TRY(shard, shard_of(source));
      const box at = shard->metadata().global_box();
      ZARRPOINT_TRY(mine, stage_part(*shard, at, resource));
      ZARRPOINT_CHECK(take(at, mine.view));
      continue;
    }
    const auto from = static_cast<std::size_t>(source.rank);
    const bytes_view rest =
        from < pieces.size() ? bytes_view(pieces[from]).subspan(taken[from]) : bytes_view();
    wire_reader reader(rest);
    const box at = reader.part();
    const auto bytes = byte_count(at.shape, memory_size(of.type));
    const std::size_t all = reader.failed() ? 0 : pieces[from].size();
    const std::size_t begin = aligned_box(all - reader.rest());
    if (reader.failed() || begin > all || !bytes || *bytes > all - begin)
      return error{errc::corrupt, "rank " + std::to_string(source.rank) + " sent too little of \"" +
                                      of.key + "\""};
    const std::byte* const elements = pieces[from].data() + begin;
    ZARRPOINT_CHECK(take(at, dense_view(elements, tensor_spec{of.type, at.shape})));
    taken[from] = begin + *bytes;
  }
  if (left == 0) return std::move(out);
  return error{errc::corrupt, "plan: " + std::to_string(left) + " elements of \"" + of.key +
                                  "\" come from nobody"};
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/check_bodies.hpp>
#include <zarrpoint/distributed/state/bodies.hpp>
#include <zarrpoint/distributed/strategy/bodies.hpp>
#endif
