// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>
#include <zarrpoint/distributed/save/strategy_format.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <functional>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------ commit_outcome.hpp

ZARRPOINT_INLINE void commit_outcome::give_receipt() noexcept {
  if (ranks_.rank() != 0) outcome_ = outcome::open;
}

ZARRPOINT_INLINE result<message> commit_outcome::tell(result<message> committed) {
  const bool is_root = ranks_.rank() == 0;
  message told;
  if (is_root) {
    if (committed) outcome_ = outcome::done;
    const auto pack = [&](bytes_view about) {
      return guarded([&]() -> result<message> {
        wire_writer to;
        to.flag(outcome_ == outcome::done);
        to.bytes(about);
        return std::move(to).take();
      });
    };
    auto packed = guarded([&] {
      return pack(committed                   ? bytes_view(*committed)
                  : outcome_ == outcome::done ? bytes_view()
                                              : bytes_view(pack_status(committed.failure())));
    });
    // A process without memory for the report still says whether there is a checkpoint. What says
    // nothing does not keep the others waiting.
    if (!packed && outcome_ == outcome::done) packed = pack({});
    if (packed) told = *std::move(packed);
  }
  const auto heard = broadcast(ranks_, std::move(told));
  if (is_root && outcome_ != outcome::done)
    return ranks_.size() == 1 ? error(committed.failure())
                              : error(committed.failure()).at(rank_list({0}));
  ZARRPOINT_CHECK(heard);
  wire_reader from(*heard);
  const bool is_committed = from.flag();
  const bytes_view about = from.bytes();
  ZARRPOINT_CHECK(from.finish().at("what rank 0 told of the commit"));
  if (!is_root) outcome_ = is_committed ? outcome::done : outcome::none;
  if (is_committed) return message(about.begin(), about.end());
  const result<void> status = unpack_status(about);
  if (!status) return error(status.failure()).at(rank_list({0}));
  return error{errc::corrupt, "rank 0 failed to commit without an error"};
}

ZARRPOINT_INLINE error commit_outcome::explain(error failure, std::string_view name) const {
  if (outcome_ == outcome::none) return failure;
  failure.code = errc::outcome_unknown;
  // Memory may be what there is none of: the code is what counts.
  static_cast<void>(guarded([&]() -> result<void> {
    if (outcome_ == outcome::open) {
      failure.message +=
          "; this process gave its receipt, so rank 0 may have committed the checkpoint: open ";
      failure.message.append(name).append(" to see which one is there");
    } else {
      failure.message += "; the checkpoint is committed";
      if (ranks_.rank() == 0) failure.message += ", but other ranks may not know it";
    }
    return {};
  }));
  return failure;
}

// ---------------------------------------------------------------------------- group_save_place.hpp

ZARRPOINT_INLINE result<any_store> open_staged(const stored_place& target, const std::string& name,
                                               bool sync) {
  // It came in a message, and must not lead anywhere else.
  const std::string path = target.store.describe(target.key);
  if (url::parse(path) && name.starts_with(".zarrpoint/")) {
    // In a store over a network it is a prefix beneath the target.
    ZARRPOINT_TRY(at, target.key.child(name));
    return beneath({target.store, std::move(at)});
  }
  const bool is_name = name.find('/') == name.npos && key_segment_fault(name) == nullptr;
  if (!is_name)
    return error{errc::corrupt, "what rank 0 planned: " + in_quotes(name) +
                                    " is not the name of a directory beside " + path};
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == path.npos ? "" : path.substr(0, slash + 1);
  ZARRPOINT_TRY(tree, file_store::open(parent + name, {.sync = sync}));
  return any_store(std::move(tree));
}

ZARRPOINT_INLINE result<std::vector<std::string>> erase_own(const any_store& root,
                                                            const owned_paths& owned) {
  std::vector<std::string> kept;
  std::vector<store_key> open{store_key::root()};
  while (!open.empty()) {
    const store_key at = std::move(open.back());
    open.pop_back();
    ZARRPOINT_TRY(entries, root.list(at));
    for (const list_entry& entry : entries) {
      const auto key = at.child(entry.name);
      if (!key) continue;
      const std::string path(key->str());
      const path_owner owner = owned.owner_of(path);
      if (owner == path_owner::foreign) kept.push_back(entry.is_prefix ? path + "/" : path);
      if (owner == path_owner::mixed && entry.is_prefix) open.push_back(*key);
      if (owner != path_owner::own) continue;
      if (entry.is_prefix) ZARRPOINT_CHECK(root.erase_all(*key));
      ZARRPOINT_CHECK(root.erase(*key));
    }
  }
  sort_names(kept);
  return kept;
}

ZARRPOINT_INLINE result<stored_place> group_save_place::target() const {
  return location_access::to_write(where_, how_.sync, group_.how.stores);
}

/// A warning that nothing was kept.
ZARRPOINT_INLINE std::string removed_all(const place_rules& rules, const any_store& from) {
  return "all that lay with the old checkpoint was removed, and kept does not name it: " +
         (from.can_list() ? "nothing says which files are " + rules.rule().name + " (paths_of)"
                          : std::string("its store cannot list"));
}

ZARRPOINT_INLINE replace_rule group_save_place::rule() const {
  replace_rule out = rules_.rule();
  out.where = where_.name();
  out.overwrite = how_.overwrite;
  return out;
}

ZARRPOINT_INLINE result<void> group_save_place::open() {
  ZARRPOINT_TRY(target, this->target());
  ZARRPOINT_TRY(is_there, check_replace(target, rule(), rules_.look(beneath(target))));
  is_there_ = is_there;
  if (how_.overwrite) replaced_ = beneath(target);
  const bool alone = group_.ranks.size() == 1;
  if (target.store.can_publish()) {
    publish_options how = how_;
    how.by_many = !alone;
    how.observer = group_.how.observer;
    ZARRPOINT_TRY(staged, stage(target, how));
    if (alone || !staged->staged_name().empty()) {
      tree_ = std::move(staged);
      store_ = tree_->store();
      return {};
    }
  }
  if (!alone && location_access::is_path(where_))
    return error{errc::unsupported, "several processes can save to a directory only"};
  // A store that the processes share, being threads: in place, as `save` writes to a store that
  // cannot publish.
  store_ = beneath(target);
  return {};
}

ZARRPOINT_INLINE result<void> group_save_place::clear(save_summary& report) {
  if (tree_) return {};
  std::optional<std::vector<std::string>> old;
  if (is_there_ && store_->can_list()) {
    ZARRPOINT_TRY(paths, rules_.paths_of(*store_));
    old = std::move(paths);
  }
  ZARRPOINT_CHECK(rules_.erase_document(*store_));
  if (!is_there_) return {};
  // It may be of another layout, which must not show through.
  const auto erase = [&]() -> result<void> {
    if (!old) {
      ZARRPOINT_CHECK(store_->erase_all(store_key::root()));
      unnamed_ = removed_all(rules_, *store_);
      return {};
    }
    ZARRPOINT_TRY(kept, erase_own(*store_, {*std::move(old), {}}));
    report.kept = std::move(kept);
    return {};
  };
  const auto erased = erase();
  if (erased) return {};
  if (erased.failure().code != errc::unsupported) return erased.failure();
  // None without its document. What names another's must not vouch for new data.
  ZARRPOINT_TRY(stays, rules_.look(*store_));
  if (!stays.is_whole) return {};
  return error{errc::unsupported, rules_.rule().name +
                                      " is there, which its store can neither list nor erase at "
                                      "once; save to another place"};
}

ZARRPOINT_INLINE result<void> group_save_place::join(const std::string& staged_name) {
  ZARRPOINT_TRY(target, this->target());
  if (staged_name.empty()) {
    store_ = beneath(target);
    return {};
  }
  ZARRPOINT_TRY(tree, open_staged(target, staged_name, how_.sync));
  store_ = std::move(tree);
  return {};
}

ZARRPOINT_INLINE result<void> group_save_place::publish(
    const std::function<result<std::vector<std::string>>()>& paths, commit_outcome& commit,
    save_summary& report) {
  std::optional<owned_paths> owned;
  if (tree_ && replaced_ && !tree_->is_conditional()) {
    ZARRPOINT_TRY(target, this->target());
    const replace_rule rule = this->rule();
    // Of our layout the paths tell it, and without reading the document once more.
    const bool is_asked = rule.kind && *rule.kind != directory_kind::zarr;
    ZARRPOINT_TRY(seen,
                  check_still(target, rule,
                              is_asked ? rules_.look(*replaced_) : result<own_look>(own_look{})));
    const bool is_there = seen || !replaced_->can_list();
    std::optional<std::vector<std::string>> old;
    if (is_there) {
      ZARRPOINT_TRY(known, rules_.paths_of(*replaced_));
      old = std::move(known);
    }
    if (old) {
      ZARRPOINT_TRY(mine, paths());
      sort_names(mine);
      owned = {*std::move(old), std::move(mine)};
    } else if (is_there) {
      unnamed_ = removed_all(rules_, *replaced_);
    }
  }
  if (!unnamed_.empty()) report.warnings.push_back(unnamed_);
  if (tree_) ZARRPOINT_CHECK(detail::publish(*tree_, owned, report));
  commit.take_place();
  return {};
}

// ----------------------------------------------------------------------------- strategy_format.hpp

ZARRPOINT_INLINE replace_rule strategy_rules::rule() const {
  if (!saver().has_own_format()) return {{}, true, "a zarrpoint checkpoint", directory_kind::zarr};
  // Whatever else its files are called; but a load would take a checkpoint of ours for the whole.
  return {{},
          true,
          "a checkpoint of " + to_string(saver_),
          {},
          {directory_kind::megatron, directory_kind::orbax, directory_kind::dcp}};
}

ZARRPOINT_INLINE result<own_look> strategy_rules::look(const any_store& root) const {
  ZARRPOINT_TRY(is_whole, saver().has_own_format() ? saver().is_checkpoint(root)
                                                   : holds_commit(root, how_.limit));
  return own_look{is_whole};
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::string>>> strategy_rules::paths_of(
    const any_store& root) const {
  if (!saver().has_own_format())
    return paths_to_replace(root, how_, true).transform([](auto paths) {
      return std::optional(std::move(paths));
    });
  ZARRPOINT_TRY(is_savers, saver().is_checkpoint(root));
  if (!is_savers) return std::optional(std::vector<std::string>());
  ZARRPOINT_TRY(paths, saver().paths_of(root));
  if (paths) sort_names(*paths);
  return std::move(paths);
}

ZARRPOINT_INLINE result<void> strategy_rules::erase_document(const any_store& root) const {
  return erase_root_document(root);
}

ZARRPOINT_INLINE save_job strategy_format::job() const {
  return {sharing_ ? any_store(*sharing_) : place_.store(), options_.storage, group_.how,
          group_.ranks.rank()};
}

ZARRPOINT_INLINE result<void> strategy_format::prepare() {
  ZARRPOINT_CHECK(check_groups(options_.groups, group_.ranks.size()));
  ZARRPOINT_TRY(saver, options_.sharded.resolve(strategy_action::save_sharded, known_));
  saver_ = std::move(saver);
  const strategy_choice companion(saver_.companion());
  ZARRPOINT_TRY(common,
                options_.common.value_or(companion).resolve(strategy_action::save_common, known_));
  common_saver_ = std::move(common);
  ZARRPOINT_TRY(attributes, sorted_attributes_of(options_.storage));
  options_.storage.attributes_of = std::move(attributes);
  ZARRPOINT_TRY(prepared, prepare_to_save(*tree_, options_.content_metadata));
  prepared_ = std::move(prepared);
  ZARRPOINT_TRY(common_json, to_json(prepared_.common));
  common_ = std::move(common_json);
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
  report.warnings = part_.warnings;
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
  report.warnings = part_.warnings;
  if (!group_.is_root()) return {};
  ZARRPOINT_CHECK(place_.open());
  return place_.clear(report);
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
  if (saver_.sharded_saver()->stores_whole_tensors()) ZARRPOINT_CHECK(join_cells(planned.plan));
  ZARRPOINT_CHECK(planner.check_attributes_of(planned, saver_));
  ZARRPOINT_CHECK(place_.open());
  const save_job job = this->job();
  for (const planned_tensor& tensor : planned.plan.tensors) {
    const std::string named = "save " + in_quotes(tensor.key);
    ZARRPOINT_TRY(metadata, saver_.sharded_saver()->layout(job, tensor).at(named));
    const json* own = find_sorted(options_.storage.attributes_of, tensor.key);
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
  ZARRPOINT_CHECK(common_saver_.common_saver()->check_plan(common_, arrays_));
  report.warnings = std::move(planned.warnings);
  std::vector<std::string_view> names;
  names.reserve(arrays_.size() + planned.grids.size());
  for (const planned_array& one : arrays_) names.emplace_back(one.tensor.key);
  for (const object_id& grid : planned.grids) names.emplace_back(grid.key);
  ZARRPOINT_CHECK(check_rules(options_.storage, names, report.warnings));
  if (saver_.sharded_saver()->stores_zarr()) {  // no reader of Zarr opens other layouts
    hidden_leaves hidden;
    for (const planned_array& one : arrays_)
      hidden.add(one.tensor.key, one.metadata.type, one.metadata.zarr_format);
    for (std::string& warning : hidden.warnings()) report.warnings.push_back(std::move(warning));
  }
  ZARRPOINT_TRY(parts, planner.parts_of(planned, arrays_, {group_.ranks.size(), report.warnings}));
  ZARRPOINT_CHECK(place_.clear(report));
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
  cell_copies kept(group_.how, options_.storage.device_copy);
  ZARRPOINT_TRY(mine, cell_assembler(part_, prepared_.tensors, group_.ranks.rank())
                          .assemble(pieces, group_.how,
                                    {copies ? &kept : nullptr,
                                     saver_.sharded_saver()->stores_flat_pieces()}));
  ZARRPOINT_CHECK(kept.finish(more_warnings));
  writes_ = std::move(mine);
  for (const sharded_object& object : prepared_.objects) {
    if (object.replica().is_main()) writes_.objects.push_back(object);
  }
  for (const array_writes& one : writes_.arrays) {
    report.cells += one.cells.size();
    for (const cell_write& cell : one.cells)
      report.bytes += byte_count(cell.piece ? dims{cell.piece->size()} : cell.part.shape,
                                 one.array->tensor.type.size())
                          .value_or(0);
  }
  return {};
}

ZARRPOINT_INLINE result<message> strategy_format::commit(std::vector<message> receipts,
                                                         commit_outcome& commit) {
  const save_job job = this->job();
  ZARRPOINT_TRY(common, common_saver_.common_saver()->save_common(job, common_));
  ZARRPOINT_CHECK(saver_.sharded_saver()->finish(
      job, {arrays_, plan_->grids, std::move(receipts), std::move(common), common_saver_.id(),
            plan_->plan.cells, plan_->objects}));
  const auto paths = [&]() -> result<std::vector<std::string>> {
    // In other layouts than ours the objects of a key may lie in a folder that others may use, too.
    if (saver_.sharded_saver()->has_own_format()) {
      ZARRPOINT_TRY(told, rules_.paths_of(job.store));
      if (told) return *std::move(told);
    }
    std::vector<std::string> out;
    out.reserve(arrays_.size() + plan_->grids.size());
    for (const planned_array& array : arrays_) out.push_back(array.tensor.key);
    for (const object_id& grid : plan_->grids) out.push_back(grid.key);
    return out;
  };
  ZARRPOINT_CHECK(place_.publish(paths, commit, report));
  save_report told;  // the rest is of each process
  told.kept = report.kept;
  told.warnings = report.warnings;
  return encode_report(told);
}

ZARRPOINT_INLINE result<message> strategy_format::write() {
  sharing_ =
      sharing_store::over(place_.store(), options_.storage.previous, group_.how, report.warnings);
  ZARRPOINT_TRY(receipt, saver_.sharded_saver()->write(job(), writes_));
  if (sharing_) report.shared_bytes = sharing_->shared_bytes();
  return std::move(receipt);
}

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------- group_save.hpp

ZARRPOINT_INLINE result<group_saver> save_by(const strategy_choice& sharded,
                                             const group_save_request& what,
                                             std::optional<strategy_choice> common) {
  group_save_options options = what.options;
  options.sharded = sharded;
  if (!options.common) options.common = std::move(common);
  return std::shared_ptr<detail::save_format>(
      detail::make_counted<detail::strategy_format>(what, std::move(options)));
}

namespace detail {

ZARRPOINT_INLINE result<prepared_state> prepare_without_objects(const group_save_request& what,
                                                                std::string_view format) {
  const auto lost = [&](const std::string& of) {
    return error{errc::unsupported,
                 std::string(format) + " has no place for " + of + "; leave it out"};
  };
  if (!what.options.content_metadata.is_null()) return lost("group_save_options::content_metadata");
  ZARRPOINT_TRY(out, prepare_to_save(what.tree, {}));
  if (!out.objects.empty())
    return lost("the object " + in_quotes(out.objects.front().unique_key()));
  return std::move(out);
}

/// A save that has not begun.
ZARRPOINT_INLINE result<std::shared_ptr<collective_save>> make_group_save(
    const location& where, const state& tree, const process_group& group,
    const group_save_options& options) {
  return guarded([&] {
    return collective_save::make(
        {.ranks = group.ranks,
         .how = group.how,
         .name = where.name(),
         .plans = options.storage.plans.get()},
        [&](const save_group& of) {
          const group_save_request what{where, tree, options, group.known, of};
          return options.storage.format ? options.storage.format.save_by_many(what)
                                        : save_by(options.sharded, what);
        });
  });
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, const state& tree,
                                          const process_group& group,
                                          const group_save_options& options) {
  return detail::run_save(group.ranks, detail::make_group_save(where, tree, group, options));
}

}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- save_protocol.hpp

/// What a `plan_cache` has of the last save.
struct last_plan {
  message description;  ///< what the process brought
  std::string kind;
  int ranks = 0, rank = 0;  ///< of how many, and which of them it was
  std::string id;           ///< another one for each plan that is made
  std::shared_ptr<const void> of_format;
};

ZARRPOINT_INLINE message digest_of_shared(std::string_view text) {
  wire_writer to;
  to.number(text.size());
  to.number(crc32c(as_bytes(text)));
  return std::move(to).take();
}

ZARRPOINT_INLINE error collective_save::explain(error failure) const {
  return guarded([&]() -> result<void> {
           return commit_.explain(std::move(failure), group_.name)
               .at(group_.action + " " + group_.name);
         })
      .failure();
}

ZARRPOINT_INLINE error give_up(const any_communicator& ranks, error failure) {
  // What `plan` exchanges first, so that all hear of it, and of several that fail say the same.
  result<void> agreed = guarded([&]() -> result<void> {
    if (!broadcast(ranks, message{})) return failure;
    return agree(ranks, result<void>(failure));
  });
  return agreed ? failure : std::move(agreed).failure();
}

ZARRPOINT_INLINE result<save_report> run_save(const any_communicator& ranks,
                                              result<std::shared_ptr<collective_save>> made) {
  if (!made) return give_up(ranks, std::move(made).failure());
  return (*made)->run();
}

ZARRPOINT_INLINE result<void> collective_save::begin(bool copies) {
  auto begun = guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(plan());
    return stage(copies);
  });
  if (!begun) return explain(std::move(begun).failure());
  blocked_seconds_ = seconds_since(start_);
  return {};
}

ZARRPOINT_INLINE result<void> collective_save::plan() {
  const phase_scope plans(group_.how.observer, phase::plan, "save", 0);
  const any_communicator& ranks = group_.ranks;
  result<void> prepared = guarded([&] { return format_->prepare(); });
  const message mine = prepared ? digest_of_shared(format_->shared()) : message{};
  ZARRPOINT_TRY(of_root, broadcast(ranks, mine));
  // What is the same need not travel. A rank 0 that is not prepared fails the save below.
  const bool differs = !of_root.empty() && of_root != mine;
  message_budget counted(group_.how);
  const auto describe = [&]() -> result<message> {
    ZARRPOINT_CHECK(std::move(prepared));
    if (group_.how.stop.stop_requested()) return error{errc::cancelled, "stop was requested"};
    ZARRPOINT_TRY(out, format_->describe(differs));
    ZARRPOINT_CHECK(counted.count("the description", ranks.rank(), out.size()));
    return std::move(out);
  };
  ZARRPOINT_TRY(described, agree(ranks, guarded(describe)));
  ZARRPOINT_TRY(known, is_known(described));
  if (known) return plan_again();
  message kept = group_.plans != nullptr ? described : message{};
  ZARRPOINT_TRY(all, gather(ranks, std::move(described)));
  result<std::vector<message>> parts = std::vector<message>{};
  // What one has fails on all: none waits for a process that has given up.
  if (group_.is_root()) parts = guarded([&] { return plan_all(std::move(all), counted); });
  ZARRPOINT_TRY(part, scatter_result(ranks, std::move(parts)));
  ZARRPOINT_CHECK(agree(ranks, guarded([&]() -> result<void> {
                          if (!group_.is_root())
                            ZARRPOINT_CHECK(counted.count("the plan", ranks.rank(), part.size()));
                          return take(part);
                        })));
  if (group_.plans != nullptr)
    group_.plans->kept_ = detail::make_counted<const last_plan>(
        last_plan{std::move(kept), format_->plan_kind(), ranks.size(), ranks.rank(), plan_id_,
                  format_->keep_plan()});
  return {};
}

ZARRPOINT_INLINE result<std::vector<message>> collective_save::plan_all(
    std::vector<message> described, message_budget& counted) {
  ZARRPOINT_CHECK(counted.count("the description", described, 0));
  ZARRPOINT_TRY(parts, format_->plan(std::move(described)));
  const std::string id = group_.plans != nullptr ? random_id() : std::string();
  for (message& part : parts) {
    wire_writer to;
    to.text(id);
    to.text(format_->staged_name());
    to.bytes(part);
    part = std::move(to).take();
  }
  ZARRPOINT_CHECK(counted.count("the plan", parts, -1));
  return std::move(parts);
}

ZARRPOINT_INLINE result<void> collective_save::take(bytes_view part) {
  wire_reader from(part);
  plan_id_ = from.text();
  staged_name_ = from.text();
  const bytes_view own = from.bytes();
  ZARRPOINT_CHECK(from.finish().at("what rank 0 planned"));
  ZARRPOINT_CHECK(format_->take_part(own));
  return group_.is_root() ? result<void>() : format_->join(staged_name_);
}

ZARRPOINT_INLINE result<bool> collective_save::is_known(const message& described) const {
  if (group_.plans == nullptr) return false;
  const last_plan* const kept = group_.plans->kept_.get();
  const any_communicator& ranks = group_.ranks;
  const bool mine = kept != nullptr && !described.empty() && kept->description == described &&
                    kept->kind == format_->plan_kind() && kept->ranks == ranks.size() &&
                    kept->rank == ranks.rank();
  // A process that missed a save has the plan of another, though it may bring the same.
  const bytes_view id = mine ? as_bytes(kept->id) : bytes_view();
  ZARRPOINT_TRY(all, all_gather(ranks, message(id.begin(), id.end())));
  return !all.front().empty() && std::all_of(all.begin(), all.end(), [&](const message& one) {
    return one == all.front();
  });
}

ZARRPOINT_INLINE result<void> collective_save::plan_again() {
  is_reused_ = true;
  const auto reuse = [&] { return format_->reuse(group_.plans->kept_->of_format); };
  ZARRPOINT_TRY(name, broadcast_result(group_.ranks, guarded([&]() -> result<message> {
                                         if (!group_.is_root()) return message{};
                                         ZARRPOINT_CHECK(reuse());
                                         const std::string own = format_->staged_name();
                                         const bytes_view bytes = as_bytes(own);
                                         return message(bytes.begin(), bytes.end());
                                       })));
  staged_name_ = as_text(name);
  return agree(group_.ranks, guarded([&]() -> result<void> {
                 if (group_.is_root()) return {};
                 ZARRPOINT_CHECK(reuse());
                 return format_->join(staged_name_);
               }));
}

ZARRPOINT_INLINE result<void> collective_save::stage(bool copies) {
  const phase_scope stages(group_.how.observer, phase::stage, "save", 0);
  const any_communicator& ranks = group_.ranks;
  std::vector<message> pieces(static_cast<std::size_t>(ranks.size()));
  message_budget counted(group_.how);
  if (format_->exchanges()) {
    const auto to_send = [&] {
      message_budget sent(group_.how);
      return format_->pieces(sent);
    };
    ZARRPOINT_TRY(outgoing, agree(ranks, guarded(to_send)));
    ZARRPOINT_TRY(incoming, ranks.exchange(std::move(outgoing)));
    pieces = std::move(incoming);
  }
  return agree(ranks, guarded([&]() -> result<void> {
                 ZARRPOINT_CHECK(counted.count("what was sent", pieces, -1));
                 return format_->stage(std::move(pieces), copies);
               }));
}

ZARRPOINT_INLINE result<message> collective_save::write() {
  // An exception of a format or a store becomes an error: the others wait for this process.
  return guarded([&] { return format_->write(); });
}

ZARRPOINT_INLINE result<void> collective_save::commit(result<message> receipt) {
  const phase_scope commits(group_.how.observer, phase::commit, "save", 0);
  const any_communicator& ranks = group_.ranks;
  message_budget counted(group_.how);
  ZARRPOINT_CHECK(agree(ranks, receipt ? counted.count("the receipt", ranks.rank(), receipt->size())
                                       : result<void>(receipt.failure())));
  commit_.give_receipt();
  ZARRPOINT_TRY(receipts, gather(ranks, std::move(*receipt)));
  const auto commit_all = [&]() -> result<message> {
    ZARRPOINT_CHECK(counted.count("the receipt", receipts, 0));
    return format_->commit(std::move(receipts), commit_);
  };
  // Collective: the commit itself happens on rank 0 alone.
  ZARRPOINT_TRY(told,
                commit_.tell(group_.is_root() ? guarded(commit_all) : result<message>(message{})));
  return group_.is_root() || told.empty() ? result<void>() : decode_report(told, format_->report);
}

ZARRPOINT_INLINE result<save_report> collective_save::finish(result<message> receipt) {
  auto done = guarded([&] { return commit(std::move(receipt)); });
  if (!done) return explain(std::move(done).failure());
  save_report& out = format_->report;
  // The checkpoint is there, even if its report is not whole.
  static_cast<void>(guarded([&]() -> result<void> {
    for (std::string& one : format_->more_warnings) out.warnings.push_back(std::move(one));
    return {};
  }));
  out.plan_reused = is_reused_;
  out.blocked_seconds = blocked_seconds_;
  out.seconds = seconds_since(start_);
  return std::move(out);
}

ZARRPOINT_INLINE result<save_report> collective_save::run() {
  ZARRPOINT_CHECK(begin(false));
  ZARRPOINT_TRY(out, finish(write()));
  out.blocked_seconds = out.seconds;
  return std::move(out);
}

ZARRPOINT_INLINE message encode_report(const save_report& of) {
  wire_writer to;
  for (const auto* list : {&of.kept, &of.warnings, &of.files}) {
    to.number(list->size());
    for (const std::string& one : *list) to.text(one);
  }
  to.number(of.cells);
  to.number(of.leaves.size());
  for (const leaf_report& leaf : of.leaves) {
    to.text(leaf.name);
    to.type(leaf.stored.type);
    to.shape(leaf.stored.shape);
    to.number(leaf.bytes);
    to.number(leaf.stored_bytes);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> decode_report(bytes_view told, save_report& to) {
  wire_reader from(told);
  for (auto* list : {&to.kept, &to.warnings, &to.files}) {
    list->resize(from.count());
    for (std::string& one : *list) one = from.text();
  }
  const std::uint64_t cells = from.number();
  if (cells != 0) to.cells = cells;
  for (std::size_t n = from.count(5); n > 0 && !from.failed(); --n) {
    leaf_report& leaf = to.leaves.emplace_back();
    leaf.name = from.text();
    leaf.stored.type = from.type();
    leaf.stored.shape = from.shape();
    leaf.bytes = from.number();
    leaf.stored_bytes = from.number();
    to.bytes += leaf.bytes;
    to.stored_bytes += leaf.stored_bytes;
  }
  return from.finish();
}

// ---------------------------------------------------------------------------------- save_queue.hpp

ZARRPOINT_INLINE result<bool> are_ready(const any_communicator& ranks, const oldest_save& mine) {
  wire_writer to;
  to.number(mine.number);
  to.flag(mine.is_ready);
  to.text(mine.tree);
  ZARRPOINT_TRY(all, all_gather(ranks, std::move(to).take()));
  bool ready = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    wire_reader from(all[rank]);
    const std::uint64_t theirs = from.number();
    ready = from.flag() && ready;
    const std::string its_tree = from.text();
    ZARRPOINT_CHECK(from.finish());
    if (theirs != mine.number || its_tree != mine.tree)
      return error{errc::invalid_argument, "Unmatched async calls: rank " + std::to_string(rank) +
                                               " finalizes save " + std::to_string(theirs) +
                                               ", this process save " +
                                               std::to_string(mine.number) + " (0: none)"};
  }
  return ready;
}

ZARRPOINT_INLINE std::string after_commits(std::size_t saves) {
  if (saves == 0) return "finalize";
  return "finalize, after " + std::to_string(saves) +
         (saves == 1 ? " save was committed" : " saves were committed");
}

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------- async_saves.hpp

namespace detail {

ZARRPOINT_INLINE result<void> background_saves::begin(result<std::shared_ptr<collective_save>> made,
                                                      const any_communicator& ranks,
                                                      finalizer when_committed) {
  if (!made) return give_up(ranks, std::move(made).failure());
  ZARRPOINT_CHECK((*made)->begin(true));
  return guarded([&]() -> result<void> {
    queue_.add(*std::move(made), std::move(when_committed));
    return {};
  });
}

}  // namespace detail

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const state& tree,
                                                    const group_save_options& options,
                                                    finalizer when_committed) {
  return begin(detail::make_group_save(where, tree, group_, options), group_.ranks,
               std::move(when_committed));
}

ZARRPOINT_INLINE result<save_report> async_saves::save(const location& where, const state& tree,
                                                       const group_save_options& options) {
  ZARRPOINT_CHECK(schedule(where, tree, options));
  ZARRPOINT_TRY(reports, finalize());
  return std::move(reports.back());
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/plan_bodies.hpp>
#endif
