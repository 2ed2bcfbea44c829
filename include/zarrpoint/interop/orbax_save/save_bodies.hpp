// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_group_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_receipts.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_operation.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_target.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <bit>
#include <set>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace orbax {

// --------------------------------------------------------------------------- orbax_extra_items.hpp

namespace detail {

/// The files of a small tree of Zarr v2 in directories.
class small_tree {
 public:
  small_tree(std::string above, std::vector<extra_file>& to) : above_(std::move(above)), to_(to) {}

  template <class T>
  void add(const std::string& name, const char* value_type, const dims& shape,
           const std::vector<T>& elements) {
    constexpr const char* type = std::is_same_v<T, double>          ? "<f8"
                                 : std::is_same_v<T, std::uint32_t> ? "<u4"
                                                                    : "<i8";
    node::array extents;
    for (const index_t extent : shape) extents.emplace_back(extent);
    add_file(name + "/.zarray", as_bytes(dump_json(node::object{{"chunks", extents},
                                                                {"compressor", node()},
                                                                {"dimension_separator", "."},
                                                                {"dtype", type},
                                                                {"fill_value", node()},
                                                                {"filters", node()},
                                                                {"order", "C"},
                                                                {"shape", extents},
                                                                {"zarr_format", 2}})));
    std::string chunk = name + "/0";
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) chunk += ".0";
    std::vector<std::byte> bytes(elements.size() * sizeof(T));
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (std::size_t i = 0; i < elements.size(); ++i)
      store_le<bits>(bytes.data() + i * sizeof(T), std::bit_cast<bits>(elements[i]));
    add_file(chunk, bytes);
    add_leaf(name, value_type);
  }

  void add_text(const std::string& name, const std::string& text) {
    add_file("_strings.json", as_bytes(dump_json(node::object{{name, text}})));
    add_leaf(name, "string");
  }

  void finish() {
    add_file("_METADATA",
             as_bytes(dump_json(node::object{{"tree_metadata", std::move(leaves_)},
                                             {"use_ocdbt", false},
                                             {"use_zarr3", false},
                                             {"store_array_data_equal_to_fill_value", true},
                                             {"custom_metadata", node()}})));
  }

 private:
  void add_file(const std::string& name, bytes_view bytes) {
    to_.push_back({above_ + '/' + name, {bytes.begin(), bytes.end()}});
  }

  void add_leaf(const std::string& name, const char* value_type) {
    const int kind = name.find_first_not_of("0123456789") == name.npos ? 1 : 2;
    leaves_.push_back(
        {"('" + name + "',)",
         node::object{
             {"key_metadata", node::array{node::object{{"key", name}, {"key_type", kind}}}},
             {"value_metadata",
              node::object{{"value_type", value_type}, {"skip_deserialize", false}}}}});
  }

  std::string above_;
  std::vector<extra_file>& to_;
  node::object leaves_;
};

ZARRPOINT_INLINE void add_json(std::string path, const node& value, std::vector<extra_file>& to) {
  const std::string text = dump_json(value);
  const bytes_view bytes = as_bytes(text);
  to.push_back({std::move(path), {bytes.begin(), bytes.end()}});
}

ZARRPOINT_INLINE result<void> check_extras(const save_tree_options& options) {
  const extra_items& extras = options.extras;
  const bool has_keys = !extras.jax_keys.empty() || !extras.numpy_states.empty();
  if (extras.json.empty() && !has_keys) return {};
  if (options.item.empty())
    return bad_tree("items beside the tree need a step, or an item that the tree is");
  if (has_keys && options.handler == tree_handler::v1)
    return bad_tree("Orbax's v1 API has no items of random keys: save them as leaves of the tree");
  std::set<std::string_view> names{options.item};
  const auto check = [&](const std::string& name) -> result<void> {
    ZARRPOINT_CHECK(check_item_name(name));
    if (names.insert(name).second) return {};
    return bad_tree("two items have the name " + v0::detail::in_quotes(name));
  };
  for (const auto& [name, value] : extras.json) ZARRPOINT_CHECK(check(name));
  for (const auto& [name, key] : extras.jax_keys) {
    ZARRPOINT_CHECK(check(name));
    const auto count = element_count(key.shape);
    const bool fits =
        key.shape.rank() == 0 || (count && *count == static_cast<index_t>(key.data.size()));
    if (key.data.empty() || !fits)
      return bad_tree("the random key " + v0::detail::in_quotes(name) +
                      " has no data, or not as many as its shape says");
  }
  for (const auto& [name, state] : extras.numpy_states) {
    ZARRPOINT_CHECK(check(name));
    if (state.key.size() != 624)
      return bad_tree("the state of NumPy's generator " + v0::detail::in_quotes(name) + " has " +
                      std::to_string(state.key.size()) + " numbers, and MT19937 has 624");
  }
  return {};
}

ZARRPOINT_INLINE result<std::vector<extra_file>> extra_files(const save_tree_options& options) {
  ZARRPOINT_CHECK(check_extras(options));
  std::vector<extra_file> out;
  const char* const json_file = options.handler == tree_handler::v1 ? "/data.json" : "/metadata";
  for (const auto& [name, value] : options.extras.json) add_json(name + json_file, value, out);
  for (const auto& [name, key] : options.extras.jax_keys) {
    const std::string above = name + "/jax_random_key";
    small_tree tree(above, out);
    const dims shape =
        key.shape.rank() == 0 ? dims{static_cast<index_t>(key.data.size())} : key.shape;
    tree.add("checkpoint", "np.ndarray", shape, key.data);
    tree.finish();
    add_json(above + "_metadata/metadata", node::object{{"typed", key.is_typed}}, out);
  }
  for (const auto& [name, state] : options.extras.numpy_states) {
    const std::string above = name + "/np_random_key";
    small_tree tree(above, out);
    tree.add_text("0", "MT19937");
    tree.add("1", "np.ndarray", dims{624}, state.key);
    tree.add("2", "scalar", dims{}, std::vector<std::int64_t>{state.position});
    tree.add("3", "scalar", dims{}, std::vector<std::int64_t>{state.has_gauss ? 1 : 0});
    tree.add("4", "scalar", dims{}, std::vector<double>{state.gauss});
    tree.finish();
    add_json(above + "_metadata/metadata", node::object{{"legacy", true}}, out);
  }
  return out;
}

ZARRPOINT_INLINE std::vector<extra_handler> extra_handlers(const save_tree_options& options) {
  const std::string module = "orbax.checkpoint._src.handlers.";
  std::vector<extra_handler> out;
  out.reserve(options.extras.json.size());
  for (const auto& [name, value] : options.extras.json)
    out.push_back(
        {name, options.handler == tree_handler::v1
                   ? "orbax.checkpoint.experimental.v1._src.handlers.json_handler.JsonHandler"
                   : module + "json_checkpoint_handler.JsonCheckpointHandler"});
  for (const auto& [name, key] : options.extras.jax_keys)
    out.push_back({name, module + "random_key_checkpoint_handler.JaxRandomKeyCheckpointHandler"});
  for (const auto& [name, state] : options.extras.numpy_states)
    out.push_back({name, module + "random_key_checkpoint_handler.NumpyRandomKeyCheckpointHandler"});
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> save_root_metadata(const location& root, const node& custom,
                                                 const context& how) {
  return guarded([&]() -> result<void> {
    if (!custom.is_null() && custom.if_object() == nullptr)
      return detail::bad_tree("the metadata of a root must be an object");
    ZARRPOINT_TRY(target, v0::detail::location_access::to_write(root, true, how.stores));
    ZARRPOINT_TRY(key, target.key.child("metadata/_ROOT_METADATA"));
    const node members = custom.is_null() ? node(node::object{}) : custom;
    return target.store.put(key,
                            as_bytes(dump_json(node::object{{"internal_metadata", node::object{}},
                                                            {"custom_metadata", members}})));
  });
}

}}}  // namespace zarrpoint::v0::orbax

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// --------------------------------------------------------------------------- orbax_save_target.hpp

ZARRPOINT_INLINE std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Adds what a tree of Orbax's in `directory` consists of. `above` is its path, "x/" or empty.
ZARRPOINT_INLINE result<void> add_tree_paths(const stored_place& directory,
                                             const std::string& above,
                                             std::vector<std::string>& to) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  for (const list_entry& child : children)
    if (is_own_name(child.name)) to.push_back(above + child.name);
  ZARRPOINT_TRY(key, directory.key.child("_METADATA"));
  ZARRPOINT_TRY(document, get(directory.store, key, std::uint64_t{128} << 20));
  if (!document) return {};
  // Of one that cannot be read, arrays in directories stay.
  const auto tree = read_tree(*document);
  if (!tree) return {};
  for (const tree_leaf& leaf : tree->leaves) {
    if (!leaf.storage.empty()) {
      to.push_back(above + leaf.storage);
      continue;
    }
    for (const char* name : {"zarr.json", ".zarray", "c", "0"}) to.push_back(above + name);
  }
  return {};
}

ZARRPOINT_INLINE result<v0::detail::own_look> look_for_tree(const stored_place& at, bool is_item) {
  ZARRPOINT_TRY(is_tree, holds_tree(at));
  ZARRPOINT_TRY(is_step, holds(at, "_CHECKPOINT_METADATA"));
  if (is_tree) return v0::detail::own_look{!is_item, "a tree of Orbax, not a step"};
  if (is_step) return v0::detail::own_look{is_item, "a step of Orbax with items, not a tree"};
  return v0::detail::own_look{};
}

/// Looks at what a save would replace. Errors: `already_exists` for what it must not.
ZARRPOINT_INLINE result<previous_checkpoint> look_at_target(const stored_place& target,
                                                            const std::string& item,
                                                            bool overwrite) {
  previous_checkpoint out;
  const v0::detail::replace_rule rule{
      .where = target.store.describe(target.key),
      .overwrite = overwrite,
      .name = "an Orbax checkpoint",
      .kind = v0::detail::directory_kind::orbax,
      .may_hold = {v0::detail::directory_kind::zarr}};  // a tree of one array
  ZARRPOINT_TRY(is_there,
                v0::detail::check_replace(target, rule, look_for_tree(target, !item.empty())));
  if (!is_there) return out;
  out.is_there = true;
  for (const char* own : {"_CHECKPOINT_METADATA", "commit_success.txt", "orbax.checkpoint"})
    out.paths.emplace_back(own);
  if (item.empty()) {
    ZARRPOINT_CHECK(add_tree_paths(target, "", out.paths));
  } else {
    ZARRPOINT_TRY(key, target.key.child("_CHECKPOINT_METADATA"));
    ZARRPOINT_TRY(document, get(target.store, key, std::uint64_t{1} << 20));
    ZARRPOINT_TRY(facts, read_checkpoint_facts(document ? bytes_view(*document) : bytes_view())
                             .at(target.store.describe(key)));
    out.about = std::move(facts);
    ZARRPOINT_TRY(beneath, target.key.child(item));
    ZARRPOINT_CHECK(add_tree_paths({target.store, std::move(beneath)}, item + '/', out.paths));
  }
  v0::detail::sort_names(out.paths);
  out.paths.erase(std::unique(out.paths.begin(), out.paths.end()), out.paths.end());
  return out;
}

ZARRPOINT_INLINE save_tree_options with_item(save_tree_options options) {
  if (!options.item.empty()) return options;
  if (options.handler == tree_handler::v1) {
    options.item = "state";
  } else if (options.step) {
    options.item = "default";
  }
  return options;
}

ZARRPOINT_INLINE result<stored_place> place_of(const location& where,
                                               const save_tree_options& options,
                                               const context& how) {
  ZARRPOINT_TRY(target, v0::detail::location_access::to_write(where, options.sync, how.stores));
  if (v0::detail::location_access::is_path(where) && target.key.is_root())
    return error{errc::unsupported, "Orbax opens directories only, not files"};
  if (options.step) {
    ZARRPOINT_TRY(key, target.key.child(std::to_string(*options.step)));
    target.key = std::move(key);
  }
  return std::move(target);
}

ZARRPOINT_INLINE result<any_store> item_of(const any_store& store,
                                           const save_tree_options& options) {
  if (options.item.empty()) return store;
  ZARRPOINT_TRY(key, store_key::parse(options.item));
  return any_store(prefix_store(store, std::move(key)));
}

ZARRPOINT_INLINE result<store_key> database_of(int process) {
  return store_key::parse("ocdbt.process_" + std::to_string(process));
}

ZARRPOINT_INLINE result<void> put_text(const any_store& store, std::string_view name,
                                       std::string_view text) {
  if (text.empty()) return {};
  ZARRPOINT_TRY(key, store_key::parse(name));
  return store.put(key, as_bytes(text));
}

ZARRPOINT_INLINE result<tree_target> tree_target::open(const location& where,
                                                       const save_tree_options& options,
                                                       const context& how) {
  ZARRPOINT_TRY(target, place_of(where, options, how));
  tree_target out(options, std::move(target));
  const any_store& store = out.target_.store;
  if (!store.can_publish() || !store.can_list())
    return error{errc::unsupported,
                 out.name_ + ": its store cannot publish a directory in one step"};
  ZARRPOINT_CHECK(out.look());
  ZARRPOINT_TRY(staged, v0::detail::stage(out.target_, {.overwrite = options.overwrite,
                                                        .sync = options.sync,
                                                        .mark = unfinished_mark}));
  out.staged_ = std::move(staged);
  out.store_ = out.staged_->store();
  ZARRPOINT_TRY(item, item_of(*out.store_, options));
  out.item_ = std::move(item);
  return out;
}

ZARRPOINT_INLINE result<void> tree_target::look() {
  ZARRPOINT_TRY(old, look_at_target(target_, options_->item, options_->overwrite));
  if (old.is_there)
    for (extra_handler& extra : extra_handlers(*options_))
      old.paths.push_back(std::move(extra.item));
  v0::detail::sort_names(old.paths);
  old_ = std::move(old);
  const auto begin_time = about_.begin_time;
  about_ = {};
  if (options_->item.empty()) {
    about_.item_handlers = std::string(handler_name(options_->handler));
  } else {
    about_ = std::move(old_.about);
    if (about_.item_handlers.if_object() == nullptr) about_.item_handlers = node::object{};
    about_.item_handlers.set(options_->item, std::string(handler_name(options_->handler)));
    for (extra_handler& extra : extra_handlers(*options_))
      about_.item_handlers.set(extra.item, std::move(extra.handler));
    for (node* one : {&about_.metrics, &about_.performance_metrics, &about_.custom_metadata})
      if (one->if_object() == nullptr) *one = node();
  }
  if (!options_->step_metadata.is_null()) about_.custom_metadata = options_->step_metadata;
  if (!about_.begin_time) about_.begin_time = begin_time ? begin_time : nanoseconds_now();
  return {};
}

ZARRPOINT_INLINE result<void> tree_target::merge(std::span<const store_key> databases) const {
  return ocdbt_merge(*item_, store_key::root(), databases, options_->database)
      .transform([](const auto&) {});
}

ZARRPOINT_INLINE result<void> tree_target::put_records(const tree_plan& plan) {
  const std::string done = "Checkpoint commit was successful to " + name_;
  ZARRPOINT_CHECK(put_text(*item_, "_strings.json", text_record(plan)));
  ZARRPOINT_CHECK(put_text(*item_, "_sharding", sharding_record(plan)));
  ZARRPOINT_CHECK(put_text(*item_, "_METADATA", tree_record(plan, *options_)));
  if (!options_->item.empty())
    ZARRPOINT_CHECK(put_text(*item_, "commit_success.txt", done + '/' + options_->item));
  ZARRPOINT_TRY(extras, extra_files(*options_));
  for (const extra_file& extra : extras) {
    ZARRPOINT_TRY(key, store_key::parse(extra.path));
    ZARRPOINT_CHECK(store_->put(key, extra.bytes));
  }
  for (const extra_handler& extra : extra_handlers(*options_))
    ZARRPOINT_CHECK(put_text(*store_, extra.item + "/commit_success.txt", done + '/' + extra.item));
  if (options_->handler == tree_handler::v1) {
    ZARRPOINT_TRY(mark, store_key::parse("orbax.checkpoint"));
    ZARRPOINT_CHECK(store_->put(mark, {}));
  }
  about_.commit_time = nanoseconds_now();
  ZARRPOINT_CHECK(put_text(*store_, "_CHECKPOINT_METADATA", checkpoint_record(about_)));
  return put_text(*store_, "commit_success.txt", done);
}

ZARRPOINT_INLINE std::vector<std::string> tree_target::taken_paths(const tree_plan& plan,
                                                                   int processes) const {
  const std::string above = options_->item.empty() ? "" : options_->item + '/';
  std::vector<std::string> out{"_CHECKPOINT_METADATA", "commit_success.txt", "orbax.checkpoint"};
  for (extra_handler& extra : extra_handlers(*options_)) out.push_back(std::move(extra.item));
  for (const char* name : {"_METADATA", "_sharding", "_strings.json", "array_metadatas",
                           "commit_success.txt", "manifest.ocdbt", "d", "checkpoint"})
    out.push_back(above + name);
  for (int process = 0; process < processes; ++process)
    out.push_back(above + "ocdbt.process_" + std::to_string(process));
  for (const v0::detail::planned_leaf& array : plan.arrays)
    if (!options_->ocdbt && !array.key->is_root())
      out.push_back(above + std::string(array.key->str()));
  v0::detail::sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<void> tree_target::publish(const tree_plan& plan, int processes,
                                                   save_report& report) {
  // Writing takes long: another group may have published an item of this step meanwhile.
  if (options_->overwrite) ZARRPOINT_CHECK(look());
  ZARRPOINT_CHECK(put_records(plan));
  std::optional<owned_paths> owned;
  if (options_->overwrite) owned = {std::move(old_.paths), taken_paths(plan, processes)};
  return v0::detail::publish(*staged_, owned, report);
}

}}}}  // namespace zarrpoint::v0::orbax::detail

namespace zarrpoint { inline namespace v0 { namespace orbax {

// ---------------------------------------------------------------------------------- orbax_save.hpp

namespace detail {

/// The arrays, with the record of the one process.
ZARRPOINT_INLINE result<v0::detail::written_leaves> write_arrays(const tree_target& target,
                                                                 const tree_plan& plan,
                                                                 const save_tree_options& options,
                                                                 const context& given) {
  const context how = with_scratch(given);
  progress_meter meter(how.progress, "save", plan.bytes);
  const write_options writing{.elide_fill = false, .cast = true, .how = &how, .meter = &meter};
  const any_store& item = target.item();
  ZARRPOINT_CHECK(put_text(item, "array_metadatas/process_0", array_record(plan)));
  if (!options.ocdbt) return v0::detail::write_leaves(item, plan.arrays, writing);
  ZARRPOINT_TRY(own, database_of(0));
  ZARRPOINT_TRY(database, ocdbt_writer::open(item, own, options.database));
  ZARRPOINT_TRY(written, v0::detail::write_leaves(database, plan.arrays, writing));
  ZARRPOINT_CHECK(database.commit());
  ZARRPOINT_CHECK(target.merge({&own, 1}));
  return std::move(written);
}

/// A tree, and what was staged of it before: of each leaf, or of none.
struct tree_to_save {
  described_tree described;
  v0::detail::staged_leaves early{};
};

/// The arrays of a plan with their elements. `of` stays where it is.
ZARRPOINT_INLINE void add_values(const tree_to_save& of, tree_plan& to) {
  for (const planned_item& item : to.items) {
    if (!item.array) continue;
    v0::detail::planned_leaf& array = to.arrays[*item.array];
    array.value = &*of.described.values[item.source];
    if (!of.early.leaves.empty() && !array.value->host_accessible())
      array.early = &of.early.leaves[item.source];
  }
}

ZARRPOINT_INLINE result<save_report> save_described(const location& where, const tree_to_save& mine,
                                                    const save_tree_options& options,
                                                    const context& how) {
  ZARRPOINT_TRY(plan, plan_tree({mine.described.leaves}, options));
  add_values(mine, plan);
  ZARRPOINT_TRY(target, tree_target::open(where, options, how));
  ZARRPOINT_TRY(written, write_arrays(target, plan, options, how));
  save_report report;
  report.warnings = plan.warnings;
  report.warnings.insert(report.warnings.end(), mine.early.warnings.begin(),
                         mine.early.warnings.end());
  report.pin_seconds = mine.early.pin_seconds + written.pin_seconds;
  for (const planned_item& each : plan.items) {
    if (!each.array) continue;
    const v0::detail::planned_leaf& planned = plan.arrays[*each.array];
    const v0::detail::written_leaf& leaf = written.leaves[*each.array];
    report.leaves.push_back({.name = each.told.name,
                             .stored = planned.metadata().spec(),
                             .bytes = planned.bytes,
                             .stored_bytes = leaf.stored_bytes,
                             .seconds = leaf.seconds});
    report.bytes += planned.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  ZARRPOINT_CHECK(target.publish(plan, 1, report));
  return report;
}

/// Describes a tree as it is now; the options are those of one process.
ZARRPOINT_INLINE result<tree_to_save> describe_tree(std::span<const tree_item> items,
                                                    const save_tree_options& options) {
  if (!options.paths.empty())
    return bad_tree("save_tree_options::paths are of shards, of which there are none");
  ZARRPOINT_TRY(described, describe_items(items));
  return tree_to_save{std::move(described)};
}

ZARRPOINT_INLINE error in_save(error failure, const location& where) {
  return std::move(failure).at("save the Orbax checkpoint " + where.name());
}

/// A save in the background.
struct async_tree_save {
  context how;  // the first: its scratch memory outlives what was staged in it
  location where;
  save_tree_options options;
  tree_to_save mine{};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double blocked_seconds = 0;

  /// Copies what the caller may change or free when `save_async` has returned.
  result<void> stage(std::span<const tree_item> items) {
    ZARRPOINT_TRY(described, describe_tree(items, options));
    mine = std::move(described);
    std::vector<leaf> on_devices;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < mine.described.leaves.size(); ++i) {
      if (!mine.described.leaves[i].is_array()) continue;
      const leaf& value = *mine.described.values[i];
      if (value.host_accessible()) continue;
      on_devices.push_back(value);
      places.push_back(i);
    }
    ZARRPOINT_TRY(early,
                  v0::detail::stage_leaves(on_devices, {.device_copy = options.device_copy}, how));
    std::vector<v0::detail::staged_leaf> of_all(mine.described.leaves.size());
    for (std::size_t i = 0; i < places.size(); ++i) of_all[places[i]] = std::move(early.leaves[i]);
    early.leaves = std::move(of_all);
    mine.early = std::move(early);
    blocked_seconds = v0::detail::seconds_since(start);
    return {};
  }

  result<save_report> operator()() {
    auto done = guarded([&] { return save_described(where, mine, options, how); });
    if (!done) return in_save(std::move(done).failure(), where);
    done->seconds = v0::detail::seconds_since(start);
    done->blocked_seconds = blocked_seconds;
    return done;
  }
};

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const tree_item> items,
                                          const save_tree_options& given, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  auto report = guarded([&]() -> result<save_report> {
    const save_tree_options options = detail::with_item(given);
    ZARRPOINT_TRY(mine, detail::describe_tree(items, options));
    return detail::save_described(where, mine, options, how);
  });
  if (!report) return detail::in_save(std::move(report).failure(), where);
  report->seconds = report->blocked_seconds = v0::detail::seconds_since(start);
  return report;
}

ZARRPOINT_INLINE result<save_report> save(const location& where,
                                          std::initializer_list<tree_item> items,
                                          const save_tree_options& options, const context& how) {
  return save(where, std::span<const tree_item>(items.begin(), items.size()), options, how);
}

ZARRPOINT_INLINE result<save_report> save_as(const format& /*as*/, const save_request& what) {
  ZARRPOINT_TRY(warnings, check_options(what, "an Orbax checkpoint",
                                        {.casts = true, .layouts = true, .empty_groups = true})
                              .at("save " + what.where.name()));
  std::vector<tree_item> items;
  for (const leaf& each : what.leaves) items.emplace_back(tree_path(each.name()), each);
  for (const std::string& group : what.empty_groups)
    items.emplace_back(tree_path(group), empty_value::dict);
  save_tree_options options;
  options.zarr_format = what.options.zarr_format;
  options.rules = what.options.rules;
  options.layouts = what.options.layouts;
  options.overwrite = what.options.overwrite;
  options.sync = what.options.sync;
  ZARRPOINT_TRY(out, save(what.where, items, options, what.how));
  out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
  return std::move(out);
}

ZARRPOINT_INLINE pending<save_report> save_async(location where, std::vector<tree_item> items,
                                                 save_tree_options options, const context& how) {
  auto begun = guarded([&]() -> result<pending<save_report>> {
    // What is staged now must outlive this call, so that the scratch pool goes with it.
    detail::async_tree_save one{with_scratch(how), where, detail::with_item(std::move(options))};
    ZARRPOINT_CHECK(one.stage(items));
    const any_executor executor = one.how.executor;
    return run_async(executor, std::move(one));
  });
  if (!begun) return pending<save_report>(detail::in_save(std::move(begun).failure(), where));
  return *std::move(begun);
}

}}}  // namespace zarrpoint::v0::orbax

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// ------------------------------------------------------------------------------ orbax_receipts.hpp

ZARRPOINT_INLINE std::vector<object_counts> wanted_objects(const shared_tree& shared,
                                                           const tree_plan& plan) {
  std::vector<const planned_item*> item_of(shared.leaves.size());
  for (const planned_item& item : plan.items) item_of[item.source] = &item;
  std::vector<object_counts> out(shared.parts.size());
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    for (const shared_part& part : shared.parts[rank]) {
      const planned_item& item = *item_of[part.leaf];
      const dims& chunk = plan.arrays[*item.array].metadata().chunk_shape;
      // No box begins inside a chunk.
      index_t objects = 1;
      for (std::size_t d = 0; d < chunk.rank(); ++d)
        objects *= ceil_div(part.at.shape[d], chunk[d]);
      out[rank][item.told.storage] += static_cast<std::uint64_t>(objects);
    }
  }
  return out;
}

ZARRPOINT_INLINE message encode_receipt(const v0::detail::digests_of_arrays& written) {
  v0::detail::wire_writer to;
  to.number(written.size());
  for (const auto& [key, digests] : written) {
    std::uint64_t bytes = 0;
    for (const auto& [name, object] : digests.objects()) bytes += object.size;
    to.text(key);
    to.number(digests.objects().size());
    to.number(bytes);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> read_receipt(bytes_view receipt, object_counts wanted,
                                           object_counts& stored) {
  const auto differ = [&](std::string_view key, std::uint64_t written, std::uint64_t planned) {
    return error{errc::corrupt, "of the array " + v0::detail::in_quotes(key) + " " +
                                    std::to_string(written) + " objects of " +
                                    std::to_string(planned) + " were written"};
  };
  v0::detail::wire_reader from(receipt);
  for (std::size_t n = from.count(3); n > 0; --n) {
    const std::string key = from.text();
    const std::uint64_t objects = from.number();
    const std::uint64_t bytes = from.number();
    if (from.failed()) break;
    const auto at = wanted.find(key);
    const std::uint64_t planned = at != wanted.end() ? at->second : 0;
    if (objects != planned || planned == 0) return differ(key, objects, planned);
    wanted.erase(at);
    stored[key] += bytes;
  }
  ZARRPOINT_CHECK(from.finish());
  if (wanted.empty()) return {};
  return differ(wanted.begin()->first, 0, wanted.begin()->second);
}

ZARRPOINT_INLINE message encode_report(const save_report& report) {
  v0::detail::wire_writer to;
  to.number(report.leaves.size());
  for (const leaf_report& leaf : report.leaves) {
    to.text(leaf.name);
    to.type(leaf.stored.type);
    to.shape(leaf.stored.shape);
    to.number(leaf.bytes);
    to.number(leaf.stored_bytes);
  }
  for (const auto* list : {&report.kept, &report.warnings}) {
    to.number(list->size());
    for (const std::string& one : *list) to.text(one);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<save_report> decode_report(bytes_view told) {
  save_report out;
  if (told.empty()) return out;  // rank 0 has committed, and had no memory to tell of it
  v0::detail::wire_reader from(told);
  for (std::size_t n = from.count(5); n > 0 && !from.failed(); --n) {
    leaf_report& leaf = out.leaves.emplace_back();
    leaf.name = from.text();
    leaf.stored.type = from.type();
    leaf.stored.shape = from.shape();
    leaf.bytes = from.number();
    leaf.stored_bytes = from.number();
    out.bytes += leaf.bytes;
    out.stored_bytes += leaf.stored_bytes;
  }
  for (auto* list : {&out.kept, &out.warnings}) {
    list->resize(from.count());
    for (std::string& one : *list) one = from.text();
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

// ------------------------------------------------------------------------ orbax_save_operation.hpp

ZARRPOINT_INLINE result<described_leaf> save_operation::describe_shard(
    const sharded_tensor& shard) const {
  ZARRPOINT_CHECK(shard.validate());
  const shard_metadata& of = shard.metadata();
  if (!shard.has_data()) return bad_tree("its shard has no value");
  if (of.range)
    return error{errc::unsupported, "its shard is a flat piece, " + to_string(*of.range) +
                                        ", and Orbax has a place for boxes of an array only"};
  described_leaf out;
  const auto known = paths_.find(of.key);
  out.path = known != paths_.end() ? known->second->keys() : tree_path(of.key).keys();
  out.spec = {of.type, of.global_shape};
  out.at = of.global_box();
  out.shard_key = of.key;
  return out;
}

/// What all processes must have the same of: where the tree is, and what it is. The rest only rank
/// 0 uses, or each for itself.
ZARRPOINT_INLINE message save_operation::shared_options() const {
  v0::detail::wire_writer to;
  to.number(static_cast<std::uint64_t>(static_cast<std::uint32_t>(options_.zarr_format)));
  to.flag(options_.ocdbt);
  to.flag(options_.step.has_value());
  to.number(options_.step.value_or(0));
  to.text(options_.item);
  to.number(static_cast<std::uint64_t>(options_.arrays));
  to.bytes(encode_containers(options_.rich_types));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<message> save_operation::describe(const tree_part& mine) {
  ZARRPOINT_TRY(described, describe_items(mine.leaves));
  mine_ = std::move(described.leaves);
  for (const auto& [name, path] : options_.paths)
    if (!paths_.emplace(name, &path).second)
      return bad_tree("save_tree_options::paths has two paths for " + v0::detail::in_quotes(name));
  std::set<std::string> names;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    if (!names.insert(mine_[i].name()).second)
      return bad_tree("two leaves have the path " + v0::detail::in_quotes(mine_[i].name()));
    cell_write& source = sources_.emplace_back();
    if (!mine_[i].is_array()) continue;
    const leaf& value = *described.values[i];
    source.part = mine_[i].at;
    source.stage = [value](memory_resource& into) { return value.stage(into); };
    if (value.host_accessible()) continue;
    source.source = [value](const context& with) {
      return value.source(v0::detail::source_options_of(with));
    };
  }
  for (const sharded_tensor& shard : mine.shards) {
    ZARRPOINT_TRY(leaf, describe_shard(shard).at("save " + v0::detail::in_quotes(shard.key())));
    if (names.contains(leaf.name()))
      return bad_tree("two leaves have the path " + v0::detail::in_quotes(leaf.name()));
    cell_write& source = sources_.emplace_back();
    source.part = leaf.at;
    source.stage = [shard, at = leaf.at](memory_resource& into) {
      return v0::detail::stage_part(shard, at, into);
    };
    if (!shard.host_accessible())
      source.source = [shard, at = leaf.at](const context& with) {
        return shard.source(with, &at);
      };
    mine_.push_back(std::move(leaf));
  }
  v0::detail::wire_writer to;
  to.bytes(shared_options());
  to.bytes(encode_leaves(mine_));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<message>> save_operation::plan(std::vector<message> described) {
  const message own = shared_options();
  std::vector<std::vector<described_leaf>> all;
  for (std::size_t rank = 0; rank < described.size(); ++rank) {
    const auto decode = [&]() -> result<std::vector<described_leaf>> {
      v0::detail::wire_reader from(described[rank]);
      const bytes_view options = from.bytes();
      const bytes_view leaves = from.bytes();
      ZARRPOINT_CHECK(from.finish());
      if (!std::equal(options.begin(), options.end(), own.begin(), own.end()))
        return bad_tree(
            "it has other options than rank 0: zarr_format, ocdbt, step, item, arrays and "
            "rich_types must be the same");
      return decode_leaves(leaves);
    };
    ZARRPOINT_TRY(decoded, decode().at("the description of rank " + std::to_string(rank)));
    all.push_back(std::move(decoded));
    described[rank] = message();
  }
  ZARRPOINT_TRY(shared, share_tree(all));
  shared_ = std::move(shared);
  ZARRPOINT_CHECK(check_paths());
  ZARRPOINT_TRY(planned, plan_tree({shared_.leaves, shared_.cuts}, options_));
  plan_ = std::move(planned);
  ZARRPOINT_CHECK(count_chunks());
  report_.warnings = plan_.warnings;
  ZARRPOINT_TRY(target, tree_target::open(where_, options_, how_));
  target_.emplace(std::move(target));
  if (ranks_.size() > 1 && target_->staged_name().empty())
    return error{errc::unsupported, "several processes can save to a directory only"};
  return parts();
}

ZARRPOINT_INLINE result<void> save_operation::check_paths() const {
  if (options_.paths.empty()) return {};
  std::set<std::string> keys;
  for (const described_leaf& leaf : shared_.leaves)
    if (leaf.shard_key) keys.insert(*leaf.shard_key);
  for (const auto& [name, path] : options_.paths)
    if (!keys.contains(name))
      return bad_tree("save_tree_options::paths has a path for " + v0::detail::in_quotes(name) +
                      ", and no process has a shard of that key");
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::count_chunks() const {
  for (const planned_item& item : plan_.items) {
    if (!item.array) continue;
    const array_metadata& metadata = plan_.arrays[*item.array].metadata();
    dims counts = metadata.shape;
    for (std::size_t d = 0; d < counts.rank(); ++d)
      counts[d] = ceil_div(counts[d], metadata.chunk_shape[d]);
    const auto count = element_count(counts);
    if (!count || static_cast<std::uint64_t>(*count) > how_.limit.max_chunks)
      return error{errc::resource_limit, "the leaf " + v0::detail::in_quotes(item.told.name) +
                                             " would be more objects than " +
                                             std::to_string(how_.limit.max_chunks) +
                                             ", each of shape " + to_string(metadata.chunk_shape)};
  }
  return {};
}

ZARRPOINT_INLINE result<std::vector<message>> save_operation::parts() const {
  std::vector<std::size_t> array_of(shared_.leaves.size());
  for (const planned_item& item : plan_.items)
    if (item.array) array_of[item.source] = *item.array;
  std::vector<std::string> documents;
  for (const v0::detail::planned_leaf& array : plan_.arrays) {
    ZARRPOINT_TRY(document, v0::detail::array_document(array.metadata()));
    documents.push_back(dump_json(document, json_style::compact));
  }
  const std::string record = array_record(plan_);
  std::vector<message> out;
  for (const std::vector<shared_part>& parts : shared_.parts) {
    v0::detail::wire_writer to;
    to.text(target_->staged_name());
    to.text(record);
    to.number(parts.size());
    std::set<std::size_t> told;
    for (const shared_part& part : parts) {
      const std::size_t number = array_of[part.leaf];
      to.number(part.place);
      to.number(number);
      if (told.insert(number).second) to.text(documents[number]);
    }
    out.push_back(std::move(to).take());
  }
  return out;
}

ZARRPOINT_INLINE result<void> save_operation::join(const message& part) {
  v0::detail::wire_reader from(part);
  staged_name_ = from.text();
  record_ = from.text();
  std::map<std::uint64_t, std::size_t> known;  // the arrays of `writes_`
  const error wrong{errc::corrupt, "what rank 0 planned is cut off, or of other leaves"};
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    const auto place = static_cast<std::size_t>(from.number());
    const std::uint64_t number = from.number();
    if (from.failed() || place >= mine_.size() || !mine_[place].is_array()) return wrong;
    const auto [at, is_new] = known.try_emplace(number, writes_.arrays.size());
    if (is_new) {
      const std::string text = from.text();
      if (from.failed()) return wrong;
      ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
      auto parsed =
          options_.zarr_format == 2 ? parse_array_v2(document, nullptr) : parse_array_v3(document);
      if (!parsed) return std::move(parsed).failure().at(mine_[place].name());
      if (parsed->shape != mine_[place].spec.shape) return wrong;
      planned_array& made = arrays_.emplace_back();
      made.tensor.key = tree_path(mine_[place].path).joined('.');
      made.tensor.type = parsed->type;
      made.metadata = *std::move(parsed);
      writes_.arrays.push_back({&made, false, {}});
    }
    writes_.arrays[at->second].cells.push_back(sources_[place]);
  }
  ZARRPOINT_CHECK(from.finish());
  if (!is_root()) return join_store();
  store_ = target_->item();
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::join_store() {
  ZARRPOINT_TRY(target, place_of(where_, options_, how_));
  ZARRPOINT_TRY(tree, v0::detail::open_staged(target, staged_name_, options_.sync));
  ZARRPOINT_TRY(item, item_of(tree, options_));
  store_ = std::move(item);
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::keep_parts() {
  for (array_writes& array : writes_.arrays)
    for (cell_write& cell : array.cells)
      ZARRPOINT_CHECK(v0::detail::keep_elements(cell, how_)
                          .at("the leaf " + v0::detail::in_quotes(array.array->tensor.key)));
  sources_.clear();  // the caller's
  return {};
}

ZARRPOINT_INLINE result<message> save_operation::write() {
  return guarded([&] { return write_all(); });
}

ZARRPOINT_INLINE result<message> save_operation::write_all() {
  ZARRPOINT_CHECK(
      put_text(*store_, "array_metadatas/process_" + std::to_string(ranks_.rank()), record_));
  if (!options_.ocdbt) {
    ZARRPOINT_CHECK(write_documents(*store_));
    return write_parts(*store_);
  }
  if (!is_root() && writes_.arrays.empty()) return write_parts(*store_);
  ZARRPOINT_TRY(own, database_of(ranks_.rank()));
  ZARRPOINT_TRY(database, ocdbt_writer::open(*store_, own, options_.database));
  ZARRPOINT_CHECK(write_documents(database));
  ZARRPOINT_TRY(receipt, write_parts(database));
  ZARRPOINT_CHECK(database.commit());
  return std::move(receipt);
}

/// As Orbax: those of all arrays by rank 0.
ZARRPOINT_INLINE result<void> save_operation::write_documents(const any_store& to) const {
  for (const v0::detail::planned_leaf& array : plan_.arrays) {
    leaf_record record;
    ZARRPOINT_TRY(document, v0::detail::array_document(array.metadata()));
    record.metadata = std::move(document);
    ZARRPOINT_CHECK(v0::detail::put_array_document(to, *array.key, record, options_.zarr_format));
  }
  return {};
}

ZARRPOINT_INLINE result<message> save_operation::write_parts(const any_store& to) {
  ZARRPOINT_TRY(
      digests,
      v0::detail::write_cells(how_, writes_, [&](const v0::detail::cell_job& job) -> result<void> {
        ZARRPOINT_TRY(key, store_key::parse(job.array.tensor.key));
        ZARRPOINT_TRY(array, array::from_metadata(to, key, job.array.metadata, job.how));
        return job.write_to(array, {.elide_fill = false, .cast = true, .how = &job.how});
      }));
  return encode_receipt(digests);
}

ZARRPOINT_INLINE result<message> save_operation::commit(std::span<const message> receipts) {
  const std::vector<object_counts> wanted = wanted_objects(shared_, plan_);
  object_counts stored_bytes;
  for (std::size_t rank = 0; rank < wanted.size(); ++rank)
    ZARRPOINT_CHECK(read_receipt(receipts[rank], wanted[rank], stored_bytes)
                        .at("the receipt of rank " + std::to_string(rank)));
  for (const planned_item& item : plan_.items) {
    if (!item.array) continue;
    const v0::detail::planned_leaf& array = plan_.arrays[*item.array];
    const std::uint64_t stored = stored_bytes[item.told.storage];
    report_.leaves.push_back({.name = item.told.name,
                              .stored = array.metadata().spec(),
                              .bytes = array.bytes,
                              .stored_bytes = stored});
    report_.bytes += array.bytes;
    report_.stored_bytes += stored;
  }
  if (options_.ocdbt) {
    std::vector<store_key> databases;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      if (rank != 0 && shared_.parts[static_cast<std::size_t>(rank)].empty()) continue;
      ZARRPOINT_TRY(key, database_of(rank));
      databases.push_back(std::move(key));
    }
    ZARRPOINT_CHECK(target_->merge(databases));
  }
  ZARRPOINT_CHECK(target_->publish(plan_, ranks_.size(), report_));
  commit_.take_place();
  return encode_report(report_);
}

ZARRPOINT_INLINE result<void> save_operation::share_plan(const tree_part& mine) {
  v0::detail::message_budget counted(how_);
  ZARRPOINT_TRY(described, agree(ranks_, guarded([&]() -> result<message> {
                                   ZARRPOINT_TRY(out, describe(mine));
                                   ZARRPOINT_CHECK(
                                       counted.count("the description", ranks_.rank(), out.size()));
                                   return std::move(out);
                                 })));
  ZARRPOINT_TRY(all, gather(ranks_, std::move(described)));
  const auto plan_all = [&]() -> result<std::vector<message>> {
    ZARRPOINT_CHECK(counted.count("the description", all, 0));
    ZARRPOINT_TRY(out, plan(std::move(all)));
    ZARRPOINT_CHECK(counted.count("the plan", out, -1));
    return std::move(out);
  };
  result<std::vector<message>> planned = std::vector<message>{};
  // What one has fails on all: none waits for a process that has given up.
  if (is_root()) planned = guarded(plan_all);
  ZARRPOINT_TRY(part, v0::detail::scatter_result(ranks_, std::move(planned)));
  return agree(ranks_, guarded([&]() -> result<void> {
                 if (!is_root())
                   ZARRPOINT_CHECK(counted.count("the plan", ranks_.rank(), part.size()));
                 return join(part);
               }));
}

ZARRPOINT_INLINE error save_operation::explain(error failure) const {
  return guarded([&]() -> result<void> {
           return commit_.explain(std::move(failure), where_.name())
               .at("save the Orbax checkpoint " + where_.name());
         })
      .failure();
}

ZARRPOINT_INLINE result<void> save_operation::begin(const tree_part& mine, bool copies) {
  auto begun = guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(share_plan(mine));
    return copies ? agree(ranks_, guarded([&] { return keep_parts(); })) : result<void>();
  });
  if (!begun) return explain(std::move(begun).failure());
  if (copies) blocked_seconds_ = v0::detail::seconds_since(start_);
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::finish_steps(result<message> given) {
  v0::detail::message_budget counted(how_);
  ZARRPOINT_CHECK(agree(ranks_, given ? counted.count("the receipt", ranks_.rank(), given->size())
                                      : result<void>(given.failure())));
  commit_.give_receipt();
  ZARRPOINT_TRY(receipts, gather(ranks_, *std::move(given)));
  const auto commit_all = [&]() -> result<message> {
    ZARRPOINT_CHECK(counted.count("the receipt", receipts, 0));
    return commit(receipts);
  };
  ZARRPOINT_TRY(told, commit_.tell(is_root() ? guarded(commit_all) : result<message>(message{})));
  ZARRPOINT_TRY(report, decode_report(told));
  report_ = std::move(report);
  return {};
}

ZARRPOINT_INLINE result<save_report> save_operation::finish(result<message> receipt) {
  auto done = guarded([&] { return finish_steps(std::move(receipt)); });
  if (!done) return explain(std::move(done).failure());
  report_.seconds = v0::detail::seconds_since(start_);
  report_.blocked_seconds = blocked_seconds_.value_or(report_.seconds);
  return std::move(report_);
}

}}}}  // namespace zarrpoint::v0::orbax::detail

namespace zarrpoint { inline namespace v0 { namespace orbax {

// ---------------------------------------------------------------------------- orbax_group_save.hpp

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const tree_part& mine,
                                                    const save_tree_options& options,
                                                    finalizer when_committed) {
  auto operation = v0::detail::make_counted<detail::save_operation>(where, ranks_, options, how_);
  ZARRPOINT_CHECK(operation->begin(mine, true));
  queue_.add(std::move(operation), std::move(when_committed));
  return {};
}

ZARRPOINT_INLINE result<std::vector<save_report>> async_saves::finalize(bool wait) {
  return queue_.finalize(wait);
}

ZARRPOINT_INLINE result<save_report> save(const location& where, const any_communicator& ranks,
                                          std::span<const sharded_tensor> shards,
                                          std::span<const tree_item> leaves,
                                          const save_tree_options& options, const context& how) {
  detail::save_operation one(where, ranks, options, how);
  ZARRPOINT_CHECK(one.begin({shards, leaves}, false));
  return one.finish(one.write());
}

}}}  // namespace zarrpoint::v0::orbax

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/interop/ocdbt/write_bodies.hpp>
#include <zarrpoint/interop/orbax/store_bodies.hpp>
#include <zarrpoint/interop/orbax_save/plan_bodies.hpp>
#endif
