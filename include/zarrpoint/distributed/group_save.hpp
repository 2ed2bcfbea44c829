// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/checkpoint/save_target.hpp>
#include <zarrpoint/codec/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/assemble_cells.hpp>
#include <zarrpoint/distributed/collectives.hpp>
#include <zarrpoint/distributed/plan_group_save.hpp>
#include <zarrpoint/distributed/plan_message.hpp>
#include <zarrpoint/distributed/prepare_state.hpp>
#include <zarrpoint/distributed/process_group.hpp>
#include <zarrpoint/distributed/state.hpp>
#include <zarrpoint/distributed/state_node.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/file_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json_writer.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

namespace detail {
template <class = void>
class group_save_operation;
}  // namespace detail

/// What a save of several processes did, as one of them sees it.
struct group_save_report {
  std::vector<std::string> warnings{};  ///< the same on all processes
  std::uint64_t cells = 0;              ///< objects of tensors that this process wrote
  std::uint64_t bytes = 0;              ///< of their elements, before the codecs
  bool plan_reused = false;             ///< by `group_save_options::plans`
  double blocking_seconds = 0;          ///< until the caller could go on
  double seconds = 0;                   ///< in all, the commit included
};

/// The plan of the last save of a process, see `group_save_options::plans`.
class plan_cache {
 private:
  template <class>
  friend class detail::group_save_operation;

  message description_;  ///< what the process brought
  strategy_id saver_;
  int ranks_ = 0, rank_ = 0;  // of how many, and which of them it was
  detail::process_part part_;
  std::vector<planned_array> arrays_;  // of rank 0
  std::shared_ptr<const detail::group_plan> plan_;
};

namespace detail {

/// A save of several processes, step by step: `begin` and `finish` are collective, `write` between
/// them is not, and may run in the background.
template <class>
class group_save_operation {
 public:
  /// Describe, plan, stage. With `copies` the caller may change its tensors afterwards.
  static result<std::unique_ptr<group_save_operation>> begin(const location& where,
                                                             const state& tree,
                                                             const process_group& group,
                                                             const group_save_options& options,
                                                             bool copies) {
    auto out = std::make_unique<group_save_operation>(where, group, options);
    ZARRPOINT_CHECK(out->plan(tree).at("save " + out->name_));
    ZARRPOINT_CHECK(out->stage(copies).at("save " + out->name_));
    out->report_.blocking_seconds = seconds_since(out->start_);
    return out;
  }

  group_save_operation(const location& where, const process_group& group,
                       const group_save_options& options)
      : where_(where), name_(where.name()), group_(group), options_(options) {
    group_.how = with_scratch(group_.how);
  }

  /// Encodes and writes what this process has to; a receipt for `finish`.
  result<message> write() const {
    // An exception of a strategy or a store becomes an error: the others wait for this process.
    return guarded([&] { return saver_.sharded_saver()->write(*job_, writes_); });
  }

  /// The commit, or on all processes the error of any.
  result<group_save_report> finish(result<message> receipt) {
    const any_communicator& ranks = group_.ranks;
    const auto run = [&]() -> result<void> {
      ZARRPOINT_CHECK(agree(ranks, receipt ? result<void>() : result<void>(receipt.failure())));
      ZARRPOINT_TRY(receipts, gather(ranks, std::move(*receipt)));
      // Collective: the commit itself happens on rank 0 alone.
      return tell(ranks.rank() == 0 ? commit(std::move(receipts)) : result<void>());
    };
    ZARRPOINT_CHECK(run().at("save " + name_));
    publication_.reset();
    report_.seconds = seconds_since(start_);
    return report_;
  }

  /// The tree that all write to: another one for each save, the same on all processes.
  const std::string& staged_name() const noexcept { return part_.staged_name; }

 private:
  bool is_root() const { return group_.ranks.rank() == 0; }

  /// What became of the commit, told by rank 0. Who does not hear of it does not know.
  result<void> tell(result<void> committed) const {
    result<message> status =
        committed ? result<message>(message{}) : result<message>(committed.failure());
    const auto told = broadcast_result(group_.ranks, std::move(status));
    if (told) return {};
    error failure = told.failure();
    if (failure.code != errc::unavailable || (is_root() && !committed)) return failure;
    failure.code = errc::outcome_unknown;
    failure.message += is_root() ? "; the checkpoint is committed, but others may not know"
                                 : "; whether the checkpoint is committed only opening it tells";
    return failure;
  }

  result<void> prepare(const state& tree) {
    ZARRPOINT_CHECK(check_groups(options_.groups, group_.ranks.size()));
    ZARRPOINT_TRY(saver, options_.sharded.resolve(strategy_action::save_sharded, group_.known));
    saver_ = std::move(saver);
    const strategy_choice companion(saver_.companion());
    ZARRPOINT_TRY(common, options_.common.value_or(companion).resolve(strategy_action::save_common,
                                                                      group_.known));
    common_saver_ = std::move(common);
    ZARRPOINT_TRY(prepared, prepare_to_save(tree, options_.content_metadata));
    prepared_ = std::move(prepared);
    ZARRPOINT_TRY(common_node, to_node(prepared_.common));
    common_ = std::move(common_node);
    return {};
  }

  /// One gather, one scatter: rank 0 plans for all.
  result<void> plan(const state& tree) {
    const any_communicator& ranks = group_.ranks;
    ZARRPOINT_CHECK(agree(ranks, guarded([&] { return prepare(tree); })));
    // What is common need not travel unless it differs.
    const std::string text = dump_json(common_, json_style::compact);
    const bytes_view mine = as_bytes(text);
    ZARRPOINT_CHECK(agree(ranks, check_loadable(text.size())));
    ZARRPOINT_TRY(of_root, broadcast(ranks, digest_of(mine)));
    message differing;
    if (of_root != digest_of(mine)) differing.assign(mine.begin(), mine.end());
    ZARRPOINT_TRY(described,
                  agree(ranks, guarded([&] { return describe_state(prepared_, differing); })));
    ZARRPOINT_TRY(known, is_known(described));
    if (known) return plan_again();
    message kept = options_.plans != nullptr ? described : message{};
    ZARRPOINT_TRY(all, gather(ranks, std::move(described)));
    result<std::vector<message>> parts = std::vector<message>{};
    // An exception of a strategy must not leave the others waiting.
    if (is_root()) parts = guarded([&] { return plan_all(all); });
    ZARRPOINT_TRY(part, scatter_result(ranks, std::move(parts)));
    const auto decode = [&]() -> result<void> {
      ZARRPOINT_TRY(decoded, decode_part(part));
      part_ = std::move(decoded);
      return join();
    };
    ZARRPOINT_CHECK(agree(ranks, guarded(decode)));
    if (options_.plans != nullptr) {
      plan_cache& cache = *options_.plans;
      cache.description_ = std::move(kept);
      cache.saver_ = saver_.id();
      cache.ranks_ = ranks.size();
      cache.rank_ = ranks.rank();
      cache.part_ = part_;
      cache.arrays_ = arrays_;
      cache.plan_ = plan_;
    }
    return {};
  }

  /// What is saved must be what a load within the same limits takes.
  result<void> check_loadable(std::size_t common_bytes) const {
    const std::size_t most = group_.how.limit.metadata_bytes;
    if (common_bytes <= most) return {};
    return error{errc::resource_limit,
                 "what all processes have in common takes " + std::to_string(common_bytes) +
                     " bytes as JSON, more than limits::metadata_bytes of " + std::to_string(most) +
                     "; large values belong in tensors or objects"};
  }

  /// Whether every process brings what it brought the last time.
  result<bool> is_known(const message& described) const {
    if (options_.plans == nullptr) return false;
    const plan_cache& kept = *options_.plans;
    const any_communicator& ranks = group_.ranks;
    const bool mine = !described.empty() && kept.description_ == described &&
                      kept.saver_ == saver_.id() && kept.ranks_ == ranks.size() &&
                      kept.rank_ == ranks.rank();
    // A process that missed a save has the plan of another, though it may bring the same.
    const bytes_view id = as_bytes(kept.part_.plan_id);
    ZARRPOINT_TRY(all, all_gather(ranks, mine ? message(id.begin(), id.end()) : message{}));
    return !all.front().empty() && std::all_of(all.begin(), all.end(), [&](const message& one) {
      return one == all.front();
    });
  }

  /// The plan of the last time, for another tree.
  result<void> plan_again() {
    const plan_cache& cache = *options_.plans;
    part_ = cache.part_;
    arrays_ = cache.arrays_;
    plan_ = cache.plan_;
    report_.plan_reused = true;
    const auto open = [&]() -> result<message> {
      if (!is_root()) return message{};
      ZARRPOINT_CHECK(open_target());
      const std::string name = publication_ ? publication_->staged_name() : std::string();
      const bytes_view bytes = as_bytes(name);
      return message(bytes.begin(), bytes.end());
    };
    ZARRPOINT_TRY(name, broadcast_result(group_.ranks, guarded(open)));
    part_.staged_name = as_text(name);
    return agree(group_.ranks, guarded([&] { return join(); }));
  }

  static message digest_of(bytes_view text) {
    wire_writer to;
    to.number(text.size());
    to.number(crc32c(text));
    return std::move(to).take();
  }

  /// Rank 0: decides all, and makes the tree that all write to.
  result<std::vector<message>> plan_all(std::span<const message> described) {
    ZARRPOINT_TRY(states, read_descriptions(described));
    const group_planner planner{options_, group_.how.limit};
    ZARRPOINT_TRY(planned, planner.plan(states, common_));
    ZARRPOINT_CHECK(open_target());
    for (const planned_tensor& tensor : planned.plan.tensors) {
      ZARRPOINT_TRY(metadata, saver_.sharded_saver()->layout(*job_, tensor));
      ZARRPOINT_TRY(document, array_document(metadata));
      arrays_.push_back({tensor, std::move(metadata), std::move(document)});
    }
    report_.warnings = std::move(planned.warnings);
    const std::string staged = publication_ ? publication_->staged_name() : std::string();
    ZARRPOINT_TRY(parts,
                  planner.parts_of(planned, arrays_,
                                   {group_.ranks.size(), random_id(), staged, report_.warnings}));
    planned.plan.sources = std::vector<cell_source>();  // the commit needs the writers only
    plan_ = std::make_shared<const group_plan>(std::move(planned));
    return std::move(parts);
  }

  result<void> open_target() {
    const save_options& storage = options_.storage;
    ZARRPOINT_TRY(target, location_access::to_write(where_, storage.sync, group_.how.stores));
    ZARRPOINT_CHECK(check_target(target));
    const bool alone = group_.ranks.size() == 1;
    if (target.store.can_publish()) {
      ZARRPOINT_TRY(staged, target.store.stage(target.key, {.overwrite = storage.overwrite,
                                                            .sync = storage.sync}));
      if (alone || !staged->staged_name().empty()) {
        publication_ = std::move(staged);
        job_.emplace(save_job{publication_->store(), storage, group_.how});
        return {};
      }
    }
    if (!alone && location_access::is_path(where_))
      return error{errc::unsupported, "only a directory can be written by several processes"};
    // A store that the processes share, being threads: in place, as `save` writes to a store that
    // cannot publish.
    job_.emplace(save_job{beneath(target), storage, group_.how});
    ZARRPOINT_TRY(replaces, holds_checkpoint(job_->store));
    ZARRPOINT_CHECK(erase_root_document(job_->store));
    if (!replaces) return {};
    // It may be of another layout, which must not show through.
    const auto erased = job_->store.erase_all(store_key::root());
    if (erased || erased.failure().code == errc::unsupported) return {};
    return erased.failure();
  }

  /// Of a target that may be replaced, whether it is there.
  result<bool> holds_checkpoint(const any_store& root) const {
    for (const std::string_view name : {"zarr.json", ".zgroup", ".zattrs", ".zarray"}) {
      ZARRPOINT_TRY(key, store_key::parse(name));
      ZARRPOINT_TRY(document, root.open(key));
      if (document != nullptr) return true;
    }
    return saver_.sharded_saver()->is_checkpoint(root);
  }

  /// Refuses a target that is there and must not be replaced.
  result<void> check_target(const stored_place& target) const {
    const save_options& storage = options_.storage;
    ZARRPOINT_TRY(replaceable, saver_.sharded_saver()->is_checkpoint(beneath(target)));
    if (!replaceable) return detail::check_target(target, where_, storage, group_.how.limit);
    if (storage.overwrite) return {};
    return error{errc::already_exists,
                 where_.name() + " is there already, and save_options::overwrite is false"};
  }

  static any_store beneath(const stored_place& target) {
    return target.key.is_root() ? target.store : any_store(prefix_store(target.store, target.key));
  }

  /// The tree that rank 0 made.
  result<void> join() {
    report_.warnings = part_.warnings;
    if (is_root()) return {};
    const save_options& storage = options_.storage;
    ZARRPOINT_TRY(target, location_access::to_write(where_, storage.sync, group_.how.stores));
    if (part_.staged_name.empty()) {
      job_.emplace(save_job{beneath(target), storage, group_.how});
      return {};
    }
    const std::string path = target.store.describe(target.key);
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == path.npos ? "" : path.substr(0, slash + 1);
    ZARRPOINT_TRY(tree, file_store::open(parent + part_.staged_name, {.sync = storage.sync}));
    job_.emplace(save_job{std::move(tree), storage, group_.how});
    return {};
  }

  result<void> stage(bool copies) {
    const any_communicator& ranks = group_.ranks;
    const cell_assembler assembler(part_, prepared_.tensors, ranks.rank());
    std::vector<message> pieces(static_cast<std::size_t>(ranks.size()));
    if (part_.exchanges) {
      ZARRPOINT_TRY(
          outgoing,
          agree(ranks, guarded([&] { return assembler.pieces(ranks.size(), group_.how); })));
      ZARRPOINT_TRY(incoming, ranks.exchange(std::move(outgoing)));
      pieces = std::move(incoming);
    }
    ZARRPOINT_TRY(
        mine,
        agree(ranks, guarded([&] { return assembler.assemble(pieces, group_.how, copies); })));
    writes_ = std::move(mine);
    for (const sharded_object& object : prepared_.objects) {
      if (object.replica().is_main()) writes_.objects.push_back(object);
    }
    for (const array_writes& one : writes_.arrays) {
      report_.cells += one.cells.size();
      for (const cell_write& cell : one.cells)
        report_.bytes += byte_count(cell.part.shape, one.array->tensor.type.size()).value_or(0);
    }
    return {};
  }

  /// Rank 0: everything is written; metadata, and one rename.
  result<void> commit(std::vector<message> receipts) {
    return guarded([&]() -> result<void> {
      ZARRPOINT_TRY(common, common_saver_.common_saver()->save_common(*job_, common_));
      ZARRPOINT_CHECK(saver_.sharded_saver()->finish(
          *job_, {arrays_, plan_->grids, std::move(receipts), std::move(common), common_saver_.id(),
                  plan_->plan.cells, plan_->objects}));
      return publication_ ? publication_->commit() : result<void>();
    });
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  location where_;
  std::string name_;
  process_group group_;
  group_save_options options_;
  any_strategy saver_;
  any_strategy common_saver_;
  prepared_state prepared_;
  node common_;
  process_part part_;
  shard_writes writes_;
  std::optional<save_job> job_;
  group_save_report report_;
  // Of rank 0 alone:
  std::vector<planned_array> arrays_;
  std::shared_ptr<const group_plan> plan_;
  std::unique_ptr<publication> publication_;
};

}  // namespace detail

/// Saves the state of a group of processes as one checkpoint, in one step: until rank 0's last
/// rename the target is what it was before, whatever fails and whoever dies. Collective; `tree` is
/// what this process brings, and is not changed. Each shard is stored once, by one process, as an
/// object of its own.
///
/// Errors, the same on all processes: `invalid_argument`, `out_of_range`, `dtype_mismatch`,
/// `shape_mismatch` for shards that make no sense or do not tile their tensors, naming keys and
/// ranks; `unavailable` naming a process that is gone; and those of `save`.
result<group_save_report> save(const location& where, const state& tree, const process_group& group,
                               const group_save_options& options = {});

}  // namespace zarrpoint::inline v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/group_save_impl.hpp>
#endif
