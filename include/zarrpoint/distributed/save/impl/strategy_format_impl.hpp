// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/save/strategy_format.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_node.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> strategy_format::prepare() {
  ZARRPOINT_CHECK(check_groups(options_.groups, group_.ranks.size()));
  ZARRPOINT_TRY(saver, options_.sharded.resolve(strategy_action::save_sharded, group_.known));
  saver_ = std::move(saver);
  const strategy_choice companion(saver_.companion());
  ZARRPOINT_TRY(common, options_.common.value_or(companion).resolve(strategy_action::save_common,
                                                                    group_.known));
  common_saver_ = std::move(common);
  ZARRPOINT_TRY(attributes, sorted_attributes_of(options_.storage));
  options_.storage.attributes_of = std::move(attributes);
  ZARRPOINT_TRY(prepared, prepare_to_save(*tree_, options_.content_metadata));
  prepared_ = std::move(prepared);
  ZARRPOINT_TRY(common_node, to_node(prepared_.common));
  common_ = std::move(common_node);
  compared_ = options_.compared_common ? options_.compared_common(common_) : common_;
  shared_ = dump_json(compared_, json_style::compact);
  return check_loadable(options_.compared_common ? dump_json(common_, json_style::compact).size()
                                                 : shared_.size());
}

ZARRPOINT_INLINE result<message> strategy_format::describe(bool differs) {
  const bytes_view bytes = as_bytes(shared_);
  return describe_state(prepared_, differs ? message(bytes.begin(), bytes.end()) : message{});
}

ZARRPOINT_INLINE result<void> strategy_format::take_part(bytes_view part) {
  ZARRPOINT_TRY(decoded, decode_part(part));
  part_ = std::move(decoded);
  report_.warnings = part_.warnings;
  return {};
}

/// What is kept of a plan.
struct kept_strategy_plan {
  process_part part;
  std::vector<planned_array> arrays;  ///< of rank 0
  std::shared_ptr<const group_plan> plan;
};

ZARRPOINT_INLINE std::string strategy_format::plan_kind() const { return to_string(saver_); }

ZARRPOINT_INLINE std::shared_ptr<const void> strategy_format::keep_plan() const {
  return detail::make_counted<const kept_strategy_plan>(kept_strategy_plan{part_, arrays_, plan_});
}

ZARRPOINT_INLINE result<void> strategy_format::reuse(const std::shared_ptr<const void>& kept) {
  const auto& last = *static_cast<const kept_strategy_plan*>(kept.get());
  part_ = last.part;
  arrays_ = last.arrays;
  plan_ = last.plan;
  report_.warnings = part_.warnings;
  if (!is_root()) return {};
  ZARRPOINT_CHECK(place_.open());
  return place_.clear(report_);
}

ZARRPOINT_INLINE result<void> strategy_format::check_loadable(std::size_t common_bytes) const {
  const std::size_t most = group_.how.limit.metadata_bytes;
  if (common_bytes <= most) return {};
  return error{errc::resource_limit,
               "what all processes have in common takes " + std::to_string(common_bytes) +
                   " bytes as JSON, more than limits::metadata_bytes of " + std::to_string(most) +
                   "; large values belong in tensors or objects"};
}

ZARRPOINT_INLINE result<std::vector<message>> strategy_format::plan(
    std::vector<message> described) {
  ZARRPOINT_TRY(states, read_descriptions(described));
  const group_planner planner{options_, group_.how.limit};
  ZARRPOINT_TRY(planned, planner.plan(states, compared_));
  ZARRPOINT_CHECK(planner.check_attributes_of(planned, saver_));
  ZARRPOINT_CHECK(place_.open());
  for (const planned_tensor& tensor : planned.plan.tensors) {
    const std::string named = "save " + in_quotes(tensor.key);
    ZARRPOINT_TRY(metadata, saver_.sharded_saver()->layout(place_.job(), tensor).at(named));
    const node* own = find_sorted(options_.storage.attributes_of, tensor.key);
    if (own != nullptr && !own->is_null() && metadata.attributes.is_null())
      return error{errc::invalid_argument,
                   "strategy " + to_string(saver_) + " does not store save_options::attributes_of"}
          .at(named);
    ZARRPOINT_TRY(document, array_document(metadata).at(named));
    arrays_.push_back({tensor, std::move(metadata), std::move(document)});
  }
  if (saver_.sharded_saver()->stores_flat_pieces()) {
    split_pieces(planned.plan);
    for (std::size_t i = 0; i < arrays_.size(); ++i) arrays_[i].tensor = planned.plan.tensors[i];
  }
  ZARRPOINT_CHECK(saver_.sharded_saver()->check_plan(arrays_, planned.objects));
  report_.warnings = std::move(planned.warnings);
  if (saver_.sharded_saver()->stores_zarr()) {  // no reader of Zarr opens other layouts
    hidden_leaves hidden;
    for (const planned_array& one : arrays_)
      hidden.add(one.tensor.key, one.metadata.type, one.metadata.zarr_format);
    for (std::string& warning : hidden.warnings()) report_.warnings.push_back(std::move(warning));
  }
  ZARRPOINT_TRY(parts, planner.parts_of(planned, arrays_, {group_.ranks.size(), report_.warnings}));
  ZARRPOINT_CHECK(place_.clear(report_));
  planned.plan.sources = std::vector<cell_source>();  // the commit needs the writers only
  plan_ = detail::make_counted<const group_plan>(std::move(planned));
  return std::move(parts);
}

ZARRPOINT_INLINE result<std::vector<message>> strategy_format::pieces(
    message_budget& counted) const {
  return cell_assembler(part_, prepared_.tensors, group_.ranks.rank())
      .pieces(group_.ranks.size(), group_.how, &counted);
}

ZARRPOINT_INLINE result<void> strategy_format::stage(std::vector<message> pieces, bool copies) {
  ZARRPOINT_TRY(mine, cell_assembler(part_, prepared_.tensors, group_.ranks.rank())
                          .assemble(pieces, group_.how,
                                    {copies, saver_.sharded_saver()->stores_flat_pieces()}));
  writes_ = std::move(mine);
  for (const sharded_object& object : prepared_.objects) {
    if (object.replica().is_main()) writes_.objects.push_back(object);
  }
  for (const array_writes& one : writes_.arrays) {
    report_.cells += one.cells.size();
    for (const cell_write& cell : one.cells)
      report_.bytes += byte_count(cell.piece ? dims{cell.piece->size()} : cell.part.shape,
                                  one.array->tensor.type.size())
                           .value_or(0);
  }
  return {};
}

ZARRPOINT_INLINE result<message> strategy_format::commit(std::vector<message> receipts,
                                                         commit_outcome& commit) {
  ZARRPOINT_TRY(common, common_saver_.common_saver()->save_common(place_.job(), common_));
  ZARRPOINT_CHECK(saver_.sharded_saver()->finish(
      place_.job(), {arrays_, plan_->grids, std::move(receipts), std::move(common),
                     common_saver_.id(), plan_->plan.cells, plan_->objects}));
  const auto names = [&] {
    std::vector<std::string> out;
    out.reserve(arrays_.size() + plan_->grids.size());
    for (const planned_array& array : arrays_) out.push_back(array.tensor.key);
    for (const object_id& grid : plan_->grids) out.push_back(grid.key);
    return out;
  };
  ZARRPOINT_CHECK(place_.publish(names, commit, report_));
  return encode_lists({&report_.kept, &report_.warnings});
}

ZARRPOINT_INLINE result<message> strategy_format::write() {
  return saver_.sharded_saver()->write(place_.job(), writes_);
}

ZARRPOINT_INLINE result<void> strategy_format::take_report(bytes_view told) {
  return decode_lists(told, {&report_.kept, &report_.warnings});
}

ZARRPOINT_INLINE group_save_report strategy_format::report(const save_times& times) {
  report_.plan_reused = times.plan_reused;
  report_.blocked_seconds = times.blocked_seconds;
  report_.seconds = times.seconds;
  return report_;
}

ZARRPOINT_INLINE std::unique_ptr<group_save_operation> make_group_save(
    const location& where, const state& tree, const process_group& group,
    const group_save_options& options) {
  return std::make_unique<group_save_operation>(save_group{.ranks = group.ranks,
                                                           .how = group.how,
                                                           .name = where.name(),
                                                           .plans = options.plans.get()},
                                                where, tree, options, group.known);
}

}}}  // namespace zarrpoint::v0::detail
