// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/plan/distribute.hpp>
#include <zarrpoint/distributed/plan/plan_save.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/state/state_diff.hpp>
#include <zarrpoint/distributed/state/state_node.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<group_plan> group_planner::plan(const described_states& states,
                                                        const node& common) const {
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
  const node::object& given = options.storage.attributes_of;
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
  for (const node::member& one : given) {
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
    std::span<const message> commons, const node& of_root) {
  std::vector<std::string> out;
  ZARRPOINT_TRY(root_state, state_from_node(of_root));
  for (std::size_t rank = 0; rank < commons.size(); ++rank) {
    if (commons[rank].empty()) continue;
    ZARRPOINT_TRY(other, parse_json(commons[rank]));
    ZARRPOINT_TRY(other_state, state_from_node(other));
    ZARRPOINT_TRY(differing, diff(root_state, other_state));
    std::string text = to_string(differing);
    if (text.ends_with('\n')) text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ';');
    out.push_back("the common state of rank " + std::to_string(rank) +
                  " differs from that of rank 0, which is stored: " + text);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
