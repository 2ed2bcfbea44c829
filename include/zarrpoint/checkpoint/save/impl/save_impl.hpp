// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Leaves, groups that may hold none, and what was staged of the leaves (by index; may be empty).
struct leaf_set {
  std::span<const leaf> leaves;
  std::span<const std::string> groups{};
  std::span<const staged_leaf> early{};
};

struct leaves_plan {
  std::vector<planned_leaf> leaves;
  std::set<std::string> groups;
  std::vector<std::string> empty_groups;  ///< those of `groups` that hold no leaf, sorted
  node::object group_attributes;          ///< sorted
  std::vector<std::string> warnings;
  std::uint64_t bytes = 0;

  /// The leaves, and the documents of groups that hold none; sorted.
  std::vector<std::string> taken_paths() const;
};

ZARRPOINT_INLINE std::vector<std::string> leaves_plan::taken_paths() const {
  std::vector<std::string> out;
  out.reserve(leaves.size());
  for (const planned_leaf& leaf : leaves) out.emplace_back(leaf.value->name());
  for (const std::string& group : empty_groups) {
    for (const char* document : {"/zarr.json", "/.zgroup", "/.zattrs"})
      out.push_back(group + document);
  }
  sort_names(out);
  return out;
}

/// What leaves are planned as, each layout once for all that have it.
class layout_table {
 public:
  /// What a leaf becomes.
  struct entry {
    layout_rules rules;
    tensor_spec spec;
    std::shared_ptr<const planned_form> form;
    std::vector<std::string> warnings;
    std::uint64_t bytes = 0;
  };

  explicit layout_table(int zarr_format) : zarr_format_(zarr_format) {}

  /// Stays until the next call. `attributes`: those of the leaf, or null.
  result<const entry*> get(const layout_rules& rules, const tensor_spec& spec,
                           const node* attributes) {
    if (attributes == nullptr) {
      for (const entry& one : entries_)
        if (one.rules == rules && one.spec == spec) return &one;
    }
    ZARRPOINT_TRY(layout, plan_layout(rules, spec, zarr_format_));
    if (zarr_format_ == 3 && is_one_object(layout.metadata)) layout.metadata.keys.separator = '.';
    if (attributes != nullptr) layout.metadata.attributes = *attributes;
    ZARRPOINT_TRY(bytes, byte_count(layout.metadata.spec()));
    entry& into = attributes != nullptr ? single_ : room();
    into = {rules, spec, make_counted<planned_form>(std::move(layout.metadata)),
            std::move(layout.warnings), bytes};
    return &into;
  }

  /// The same of one that is stored as another array is.
  result<const entry*> copy(const leaf_layout& of, const tensor_spec& spec, const node* own) {
    ZARRPOINT_TRY(as, copied_layout(of, spec, zarr_format_));
    if (own != nullptr) as.attributes = *own;
    if (single_.form != nullptr && single_.form->metadata() == as) return &single_;
    ZARRPOINT_TRY(bytes, byte_count(spec));
    single_ = {{}, spec, make_counted<planned_form>(std::move(as)), {}, bytes};
    return &single_;
  }

 private:
  /// Layers repeat what they have, which is not much; more would only be looked through.
  static constexpr std::size_t kept = 32;

  entry& room() {
    if (entries_.size() < kept) return entries_.emplace_back();
    return entries_[next_++ % kept];
  }

  /// Its one object then lies beside its metadata: a directory costs more than a file.
  static bool is_one_object(const array_metadata& of) {
    for (std::size_t i = 0; i < of.shape.rank(); ++i)
      if (of.shape[i] > of.chunk_shape[i]) return false;
    return true;
  }

  const int zarr_format_;
  std::vector<entry> entries_;
  std::size_t next_ = 0;
  entry single_;
};

/// Describe and plan: what every leaf becomes, without touching an element.
ZARRPOINT_INLINE result<leaves_plan> plan_leaves(const leaf_set& set, const save_options& options) {
  leaves_plan plan;
  std::vector<std::string_view> names;
  for (const leaf& value : set.leaves) names.emplace_back(value.name());
  // The root is there anyway.
  std::set<std::string> named(set.groups.begin(), set.groups.end());
  named.erase("");
  const std::vector<std::string> may_be_empty(named.begin(), named.end());
  ZARRPOINT_TRY(groups, groups_of(names, may_be_empty));
  plan.groups = std::move(groups);
  if (!may_be_empty.empty()) {
    ZARRPOINT_TRY(full, groups_of(names));
    std::set_difference(may_be_empty.begin(), may_be_empty.end(), full.begin(), full.end(),
                        std::back_inserter(plan.empty_groups));
  }
  ZARRPOINT_CHECK(check_attributes(options.attributes));
  ZARRPOINT_TRY(attributes, sorted_attributes_of(options));
  if (!attributes.empty()) {
    sort_names(names);
    ZARRPOINT_TRY(of_groups, attributes_of_groups(attributes, plan.groups, names));
    plan.group_attributes = std::move(of_groups);
  }
  plan.leaves.reserve(set.leaves.size());
  layout_table layouts(options.zarr_format);
  for (std::size_t i = 0; i < set.leaves.size(); ++i) {
    const leaf& value = set.leaves[i];
    const staged_leaf* const early =
        i < set.early.size() && !value.host_accessible() ? &set.early[i] : nullptr;
    const leaf_layout* const given = layout_of(options.layouts, value.name());
    const auto planned = [&]() -> result<const layout_table::entry*> {
      // The tensor of one that was staged early may be another by now, or be gone.
      ZARRPOINT_TRY(stored, early != nullptr ? result<tensor_spec>(early->spec()) : value.spec());
      if (const dtype* cast = last_set(options.rules, value.name(), &leaf_rule::cast)) {
        ZARRPOINT_CHECK(check_cast(stored.type, *cast));
        stored.type = *cast;
      }
      const node* const own = find_sorted(attributes, value.name());
      if (given != nullptr) return layouts.copy(*given, stored, own);
      return layouts.get(layout_rules_of(value.name(), options), stored, own);
    };
    auto layout = planned();
    if (!layout) return std::move(layout).failure().at("save " + in_quotes(value.name()));
    const layout_table::entry& of = **layout;
    for (const std::string& warning : of.warnings)
      plan.warnings.push_back(in_quotes(value.name()) + ": " + warning);
    plan.bytes += of.bytes;
    plan.leaves.push_back({&value, early, of.form, of.bytes});
    if (given == nullptr) continue;
    plan.leaves.back().elide_fill = given->elide_fill;
    plan.leaves.back().kind = given->kind;
  }
  hidden_leaves hidden;
  for (const planned_leaf& leaf : plan.leaves)
    hidden.add(leaf.value->name(), leaf.metadata().type, options.zarr_format);
  for (std::string& warning : hidden.warnings()) plan.warnings.push_back(std::move(warning));
  return plan;
}

/// Everything but the commit: arrays, groups, and the root's document last.
ZARRPOINT_INLINE result<save_report> write_checkpoint(const any_store& store,
                                                      const leaves_plan& plan,
                                                      const save_options& options,
                                                      const context& given) {
  const context how = with_scratch(given);
  commit_document document{.id = random_id(),
                           .leaves{},
                           .groups = plan.empty_groups,
                           .group_attributes = plan.group_attributes};
  save_report report;
  report.id = document.id;
  report.warnings = plan.warnings;
  progress_meter meter(how.progress, "save", plan.bytes);
  const write_options options_of_write{
      .elide_fill = options.elide_fill, .cast = true, .how = &how, .meter = &meter};

  ZARRPOINT_TRY(written, write_leaves(store, plan.leaves, options_of_write));
  document.leaves = std::move(written.records);
  report.leaves.reserve(plan.leaves.size());
  std::vector<std::string_view> documents;
  documents.reserve(plan.leaves.size());
  for (std::size_t i = 0; i < plan.leaves.size(); ++i) {
    const planned_leaf& planned = plan.leaves[i];
    report.leaves.push_back({.name = planned.value->name(),
                             .stored = planned.metadata().spec(),
                             .bytes = planned.bytes,
                             .stored_bytes = written.leaves[i].stored_bytes,
                             .seconds = written.leaves[i].seconds});
    if (options.zarr_format != 3) continue;
    ZARRPOINT_TRY(texts, planned.form->texts());
    documents.emplace_back(texts->compact);
  }
  for (const leaf_report& leaf : report.leaves) {
    report.bytes += leaf.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  report.pin_seconds = written.pin_seconds;
  const bool all_core =
      std::all_of(plan.leaves.begin(), plan.leaves.end(),
                  [](const planned_leaf& leaf) { return is_core_array(leaf.metadata()); });
  const root_document root{document, plan.groups, options, how.limit.metadata_bytes, documents};
  ZARRPOINT_TRY(as_asked, put_hierarchy(store, root, all_core));
  if (!as_asked)
    report.warnings.emplace_back(
        "metadata were not consolidated: they exceed limits::metadata_bytes");
  return report;
}

/// All of a save but the staging of what must be staged early.
ZARRPOINT_INLINE result<save_report> save_set(const location& where, const leaf_set& leaves,
                                              const save_options& options, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  const auto run = [&]() -> result<save_report> {
    ZARRPOINT_TRY(plan, plan_leaves(leaves, options));
    ZARRPOINT_TRY(target, detail::location_access::to_write(where, options.sync, how.stores));
    const any_store root = beneath(target);
    const auto own = holds_commit(root, how.limit).transform([](bool is) { return own_look{is}; });
    ZARRPOINT_CHECK(check_replace(
        target, {where.name(), options.overwrite, "a zarrpoint checkpoint", directory_kind::zarr},
        own));
    if (target.store.can_publish()) {
      ZARRPOINT_TRY(staged, stage(target, {.overwrite = options.overwrite,
                                           .sync = options.sync,
                                           .objects = 2 * plan.leaves.size()}));
      ZARRPOINT_TRY(report, write_checkpoint(staged->store(), plan, options, how));
      std::optional<owned_paths> owned;
      // Others may have come to an empty place meanwhile.
      if (options.overwrite) {
        ZARRPOINT_TRY(old, paths_of_checkpoint(root, how));
        owned = {std::move(old), plan.taken_paths()};
      }
      ZARRPOINT_CHECK(publish(*staged, owned, report));
      return std::move(report);
    }
    // Without atomic publication: an old commit document must not vouch for new data.
    ZARRPOINT_CHECK(erase_root_document(root));
    if (options.zarr_format == 2) {
      for (const planned_leaf& leaf : plan.leaves)
        ZARRPOINT_CHECK(erase_v2_attributes(root, leaf.value->name()));
      for (const std::string& group : plan.groups)
        ZARRPOINT_CHECK(erase_v2_attributes(root, group));
    }
    return write_checkpoint(root, plan, options, how);
  };
  auto report = guarded(run);
  if (!report) return std::move(report).failure().at("save " + where.name());
  report->seconds = report->blocked_seconds = seconds_since(start);
  return report;
}

/// The part of `save_async` that runs in the background.
struct async_save {
  context how;  // the first: its scratch memory outlives what was staged in it
  location where;
  single_leaves all;
  save_options options;
  staged_leaves early;
  std::chrono::steady_clock::time_point start;
  double blocked_seconds = 0;

  result<save_report> operator()() {
    ZARRPOINT_TRY(report,
                  save_set(where, {all.leaves, all.empty_groups, early.leaves}, options, how));
    report.seconds = seconds_since(start);
    report.blocked_seconds = blocked_seconds;
    report.pin_seconds += early.pin_seconds;
    report.warnings.insert(report.warnings.end(), early.warnings.begin(), early.warnings.end());
    return std::move(report);
  }
};

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const leaf> leaves,
                                          const save_options& options, const context& how) {
  return guarded([&]() -> result<save_report> {
    const auto is_group = [](const leaf& value) { return value.is_group(); };
    if (std::none_of(leaves.begin(), leaves.end(), is_group))
      return detail::save_set(where, {leaves}, options, how);
    const detail::single_leaves all = leaf::single({leaves.begin(), leaves.end()});
    return detail::save_set(where, {all.leaves, all.empty_groups}, options, how);
  });
}

ZARRPOINT_INLINE result<save_report> save(const location& where, std::initializer_list<leaf> leaves,
                                          const save_options& options, const context& how) {
  return save(where, std::span<const leaf>(leaves.begin(), leaves.size()), options, how);
}

ZARRPOINT_INLINE pending<save_report> save_async(location where, std::vector<leaf> leaves,
                                                 save_options options, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  auto begun = guarded([&]() -> result<pending<save_report>> {
    detail::single_leaves all = leaf::single(std::move(leaves));
    // What is staged now must outlive this call, so that the scratch pool goes with it.
    context shared = with_scratch(how);
    ZARRPOINT_TRY(early, detail::stage_leaves(all.leaves, options, shared));
    const double blocked = detail::seconds_since(start);
    return run_async(shared.executor,
                     detail::async_save{shared, std::move(where), std::move(all),
                                        std::move(options), std::move(early), start, blocked});
  });
  if (!begun) return pending<save_report>(std::move(begun).failure());
  return *std::move(begun);
}

}}  // namespace zarrpoint::v0
