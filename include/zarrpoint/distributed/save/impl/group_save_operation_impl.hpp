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
#include <zarrpoint/distributed/save/group_save_operation.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
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

ZARRPOINT_INLINE result<std::unique_ptr<group_save_operation>> group_save_operation::begin(
    const location& where, const state& tree, const process_group& group,
    const group_save_options& options, bool copies) {
  auto out = std::make_unique<group_save_operation>(where, group, options);
  ZARRPOINT_CHECK(out->plan(tree).at("save " + out->name_));
  ZARRPOINT_CHECK(out->stage(copies).at("save " + out->name_));
  out->report_.blocking_seconds = seconds_since(out->start_);
  return out;
}

ZARRPOINT_INLINE result<message> group_save_operation::write() const {
  // An exception of a strategy or a store becomes an error: the others wait for this process.
  return guarded([&] { return saver_.sharded_saver()->write(place_.job(), writes_); });
}

ZARRPOINT_INLINE result<group_save_report> group_save_operation::finish(result<message> receipt) {
  const any_communicator& ranks = group_.ranks;
  const auto run = [&]() -> result<void> {
    message_budget counted(group_.how);
    result<void> mine;
    if (!receipt)
      mine = receipt.failure();
    else
      mine = counted.count("the receipt", ranks.rank(), receipt->size());
    ZARRPOINT_CHECK(agree(ranks, std::move(mine)));
    commit_.give_receipt();
    ZARRPOINT_TRY(receipts, gather(ranks, std::move(*receipt)));
    // Collective: the commit itself happens on rank 0 alone.
    const auto commit_all = [&]() -> result<message> {
      ZARRPOINT_CHECK(counted.count("the receipt", receipts, 0));
      return commit(std::move(receipts));
    };
    ZARRPOINT_TRY(told, commit_.tell(is_root() ? guarded(commit_all) : result<message>(message{})));
    return is_root() || told.empty() ? result<void>() : read_report(told);
  };
  if (result<void> done = guarded(run); !done)
    return commit_.explain(std::move(done).failure(), name_).at("save " + name_);
  place_.close();
  report_.seconds = seconds_since(start_);
  return report_;
}

ZARRPOINT_INLINE message group_save_operation::encode_report() const {
  wire_writer to;
  for (const auto* list : {&report_.kept, &report_.warnings}) {
    to.number(list->size());
    for (const std::string& one : *list) to.text(one);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> group_save_operation::read_report(bytes_view told) {
  wire_reader from(told);
  for (auto* list : {&report_.kept, &report_.warnings}) {
    list->resize(from.count());
    for (std::string& one : *list) one = from.text();
  }
  return from.finish();
}

ZARRPOINT_INLINE result<void> group_save_operation::prepare(const state& tree) {
  ZARRPOINT_CHECK(check_groups(options_.groups, group_.ranks.size()));
  ZARRPOINT_TRY(saver, options_.sharded.resolve(strategy_action::save_sharded, group_.known));
  saver_ = std::move(saver);
  const strategy_choice companion(saver_.companion());
  ZARRPOINT_TRY(common, options_.common.value_or(companion).resolve(strategy_action::save_common,
                                                                    group_.known));
  common_saver_ = std::move(common);
  ZARRPOINT_TRY(attributes, sorted_attributes_of(options_.storage));
  options_.storage.attributes_of = std::move(attributes);
  ZARRPOINT_TRY(prepared, prepare_to_save(tree, options_.content_metadata));
  prepared_ = std::move(prepared);
  ZARRPOINT_TRY(common_node, to_node(prepared_.common));
  common_ = std::move(common_node);
  compared_ = options_.compared_common ? options_.compared_common(common_) : common_;
  return {};
}

ZARRPOINT_INLINE result<void> group_save_operation::plan(const state& tree) {
  const any_communicator& ranks = group_.ranks;
  ZARRPOINT_CHECK(agree(ranks, guarded([&] { return prepare(tree); })));
  // What is common need not travel unless it differs.
  const std::string text = dump_json(compared_, json_style::compact);
  const bytes_view mine = as_bytes(text);
  const std::size_t common_bytes =
      options_.compared_common ? dump_json(common_, json_style::compact).size() : text.size();
  ZARRPOINT_CHECK(agree(ranks, check_loadable(common_bytes)));
  ZARRPOINT_TRY(of_root, broadcast(ranks, digest_of(mine)));
  message differing;
  if (of_root != digest_of(mine)) differing.assign(mine.begin(), mine.end());
  message_budget counted(group_.how);
  const auto describe = [&]() -> result<message> {
    ZARRPOINT_TRY(out, describe_state(prepared_, differing));
    ZARRPOINT_CHECK(counted.count("the description", ranks.rank(), out.size()));
    return std::move(out);
  };
  ZARRPOINT_TRY(described, agree(ranks, guarded(describe)));
  ZARRPOINT_TRY(known, is_known(described));
  if (known) return plan_again();
  message kept = options_.plans != nullptr ? described : message{};
  ZARRPOINT_TRY(all, gather(ranks, std::move(described)));
  result<std::vector<message>> parts = std::vector<message>{};
  // An exception of a strategy must not leave the others waiting.
  if (is_root()) parts = guarded([&] { return plan_all(all, counted); });
  ZARRPOINT_TRY(part, scatter_result(ranks, std::move(parts)));
  const auto decode = [&]() -> result<void> {
    if (!is_root()) ZARRPOINT_CHECK(counted.count("the plan", ranks.rank(), part.size()));
    ZARRPOINT_TRY(decoded, decode_part(part));
    part_ = std::move(decoded);
    report_.warnings = part_.warnings;
    return is_root() ? result<void>() : place_.join(part_.staged_name);
  };
  ZARRPOINT_CHECK(agree(ranks, guarded(decode)));
  if (options_.plans != nullptr) {
    options_.plans->kept_ = detail::make_counted<const kept_plan>(
        kept_plan{std::move(kept), saver_.id(), ranks.size(), ranks.rank(), part_, arrays_, plan_});
  }
  return {};
}

ZARRPOINT_INLINE result<void> group_save_operation::check_loadable(std::size_t common_bytes) const {
  const std::size_t most = group_.how.limit.metadata_bytes;
  if (common_bytes <= most) return {};
  return error{errc::resource_limit,
               "what all processes have in common takes " + std::to_string(common_bytes) +
                   " bytes as JSON, more than limits::metadata_bytes of " + std::to_string(most) +
                   "; large values belong in tensors or objects"};
}

ZARRPOINT_INLINE result<bool> group_save_operation::is_known(const message& described) const {
  if (options_.plans == nullptr) return false;
  const kept_plan* const kept = options_.plans->kept_.get();
  const any_communicator& ranks = group_.ranks;
  const bool mine = kept != nullptr && !described.empty() && kept->description == described &&
                    kept->saver == saver_.id() && kept->ranks == ranks.size() &&
                    kept->rank == ranks.rank();
  // A process that missed a save has the plan of another, though it may bring the same.
  const bytes_view id = mine ? as_bytes(kept->part.plan_id) : bytes_view();
  ZARRPOINT_TRY(all, all_gather(ranks, message(id.begin(), id.end())));
  return !all.front().empty() && std::all_of(all.begin(), all.end(), [&](const message& one) {
    return one == all.front();
  });
}

ZARRPOINT_INLINE result<void> group_save_operation::plan_again() {
  const kept_plan& kept = *options_.plans->kept_;
  part_ = kept.part;
  arrays_ = kept.arrays;
  plan_ = kept.plan;
  report_.plan_reused = true;
  const auto open = [&]() -> result<message> {
    if (!is_root()) return message{};
    ZARRPOINT_CHECK(place_.open());
    ZARRPOINT_CHECK(place_.clear(report_));
    const std::string name = place_.staged_name();
    const bytes_view bytes = as_bytes(name);
    return message(bytes.begin(), bytes.end());
  };
  ZARRPOINT_TRY(name, broadcast_result(group_.ranks, guarded(open)));
  part_.staged_name = as_text(name);
  report_.warnings = part_.warnings;
  return agree(group_.ranks, guarded([&]() -> result<void> {
                 return is_root() ? result<void>() : place_.join(part_.staged_name);
               }));
}

ZARRPOINT_INLINE message group_save_operation::digest_of(bytes_view text) {
  wire_writer to;
  to.number(text.size());
  to.number(crc32c(text));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<message>> group_save_operation::plan_all(
    std::span<const message> described, message_budget& counted) {
  ZARRPOINT_CHECK(counted.count("the description", described, 0));
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
  ZARRPOINT_TRY(parts, planner.parts_of(planned, arrays_,
                                        {group_.ranks.size(), random_id(), place_.staged_name(),
                                         report_.warnings}));
  ZARRPOINT_CHECK(counted.count("the plan", parts, -1));
  ZARRPOINT_CHECK(place_.clear(report_));
  planned.plan.sources = std::vector<cell_source>();  // the commit needs the writers only
  plan_ = detail::make_counted<const group_plan>(std::move(planned));
  return std::move(parts);
}

ZARRPOINT_INLINE result<void> group_save_operation::stage(bool copies) {
  const any_communicator& ranks = group_.ranks;
  const cell_assembler assembler(part_, prepared_.tensors, ranks.rank());
  std::vector<message> pieces(static_cast<std::size_t>(ranks.size()));
  message_budget counted(group_.how);
  if (part_.exchanges) {
    const auto to_send = [&]() -> result<std::vector<message>> {
      message_budget sent(group_.how);
      return assembler.pieces(ranks.size(), group_.how, &sent);
    };
    ZARRPOINT_TRY(outgoing, agree(ranks, guarded(to_send)));
    ZARRPOINT_TRY(incoming, ranks.exchange(std::move(outgoing)));
    pieces = std::move(incoming);
  }
  const auto assemble = [&]() -> result<shard_writes> {
    ZARRPOINT_CHECK(counted.count("what was sent", pieces, -1));
    return assembler.assemble(pieces, group_.how,
                              {copies, saver_.sharded_saver()->stores_flat_pieces()});
  };
  ZARRPOINT_TRY(mine, agree(ranks, guarded(assemble)));
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

ZARRPOINT_INLINE result<message> group_save_operation::commit(std::vector<message> receipts) {
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
  ZARRPOINT_CHECK(place_.publish(names, commit_, report_));
  return encode_report();
}

}}}  // namespace zarrpoint::v0::detail
