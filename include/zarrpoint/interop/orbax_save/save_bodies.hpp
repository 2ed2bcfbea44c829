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
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_format.hpp>
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
    json::array extents;
    for (const index_t extent : shape) extents.emplace_back(extent);
    add_file(name + "/.zarray", as_bytes(dump_json(json::object{{"chunks", extents},
                                                                {"compressor", json()},
                                                                {"dimension_separator", "."},
                                                                {"dtype", type},
                                                                {"fill_value", json()},
                                                                {"filters", json()},
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
    add_file("_strings.json", as_bytes(dump_json(json::object{{name, text}})));
    add_leaf(name, "string");
  }

  void finish() {
    add_file("_METADATA",
             as_bytes(dump_json(json::object{{"tree_metadata", std::move(leaves_)},
                                             {"use_ocdbt", false},
                                             {"use_zarr3", false},
                                             {"store_array_data_equal_to_fill_value", true},
                                             {"custom_metadata", json()}})));
  }

 private:
  void add_file(const std::string& name, bytes_view bytes) {
    to_.push_back({above_ + '/' + name, {bytes.begin(), bytes.end()}});
  }

  void add_leaf(const std::string& name, const char* value_type) {
    const int kind = name.find_first_not_of("0123456789") == name.npos ? 1 : 2;
    leaves_.push_back(
        {"('" + name + "',)",
         json::object{
             {"key_metadata", json::array{json::object{{"key", name}, {"key_type", kind}}}},
             {"value_metadata",
              json::object{{"value_type", value_type}, {"skip_deserialize", false}}}}});
  }

  std::string above_;
  std::vector<extra_file>& to_;
  json::object leaves_;
};

ZARRPOINT_INLINE void add_json(std::string path, const json& value, std::vector<extra_file>& to) {
  const std::string text = dump_json(value);
  const bytes_view bytes = as_bytes(text);
  to.push_back({std::move(path), {bytes.begin(), bytes.end()}});
}

ZARRPOINT_INLINE result<void> check_extras(const format& as) {
  const extra_items& extras = as.extras;
  const bool has_keys = !extras.jax_keys.empty() || !extras.numpy_states.empty();
  if (extras.documents.empty() && !has_keys) return {};
  if (as.item.empty())
    return bad_tree("items beside the tree need a step, or an item that the tree is");
  if (has_keys && as.handler == tree_handler::v1)
    return bad_tree("Orbax's v1 API has no items of random keys: save them as leaves of the tree");
  std::set<std::string_view> names{as.item};
  const auto check = [&](const std::string& name) -> result<void> {
    ZARRPOINT_CHECK(check_item_name(name));
    if (names.insert(name).second) return {};
    return bad_tree("two items have the name " + v0::detail::in_quotes(name));
  };
  for (const auto& [name, value] : extras.documents) ZARRPOINT_CHECK(check(name));
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

ZARRPOINT_INLINE result<std::vector<extra_file>> extra_files(const format& as) {
  ZARRPOINT_CHECK(check_extras(as));
  std::vector<extra_file> out;
  const char* const json_file = as.handler == tree_handler::v1 ? "/data.json" : "/metadata";
  for (const auto& [name, value] : as.extras.documents) add_json(name + json_file, value, out);
  for (const auto& [name, key] : as.extras.jax_keys) {
    const std::string above = name + "/jax_random_key";
    small_tree tree(above, out);
    const dims shape =
        key.shape.rank() == 0 ? dims{static_cast<index_t>(key.data.size())} : key.shape;
    tree.add("checkpoint", "np.ndarray", shape, key.data);
    tree.finish();
    add_json(above + "_metadata/metadata", json::object{{"typed", key.is_typed}}, out);
  }
  for (const auto& [name, state] : as.extras.numpy_states) {
    const std::string above = name + "/np_random_key";
    small_tree tree(above, out);
    tree.add_text("0", "MT19937");
    tree.add("1", "np.ndarray", dims{624}, state.key);
    tree.add("2", "scalar", dims{}, std::vector<std::int64_t>{state.position});
    tree.add("3", "scalar", dims{}, std::vector<std::int64_t>{state.has_gauss ? 1 : 0});
    tree.add("4", "scalar", dims{}, std::vector<double>{state.gauss});
    tree.finish();
    add_json(above + "_metadata/metadata", json::object{{"legacy", true}}, out);
  }
  return out;
}

ZARRPOINT_INLINE std::vector<extra_handler> extra_handlers(const format& as) {
  const std::string module = "orbax.checkpoint._src.handlers.";
  std::vector<extra_handler> out;
  out.reserve(as.extras.documents.size());
  for (const auto& [name, value] : as.extras.documents)
    out.push_back(
        {name, as.handler == tree_handler::v1
                   ? "orbax.checkpoint.experimental.v1._src.handlers.json_handler.JsonHandler"
                   : module + "json_checkpoint_handler.JsonCheckpointHandler"});
  for (const auto& [name, key] : as.extras.jax_keys)
    out.push_back({name, module + "random_key_checkpoint_handler.JaxRandomKeyCheckpointHandler"});
  for (const auto& [name, state] : as.extras.numpy_states)
    out.push_back({name, module + "random_key_checkpoint_handler.NumpyRandomKeyCheckpointHandler"});
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> save_root_metadata(const location& root, const json& custom,
                                                 const context& how) {
  return guarded([&]() -> result<void> {
    if (!custom.is_null() && custom.if_object() == nullptr)
      return detail::bad_tree("the metadata of a root must be an object");
    ZARRPOINT_TRY(target, v0::detail::location_access::to_write(root, true, how.stores));
    ZARRPOINT_TRY(key, target.key.child("metadata/_ROOT_METADATA"));
    const json members = custom.is_null() ? json(json::object{}) : custom;
    return target.store.put(key,
                            as_bytes(dump_json(json::object{{"internal_metadata", json::object{}},
                                                            {"custom_metadata", members}})));
  });
}

}}}  // namespace zarrpoint::v0::orbax

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// --------------------------------------------------------------------------- orbax_save_format.hpp

ZARRPOINT_INLINE std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// The options with what they leave unsaid.
ZARRPOINT_INLINE format with_item(format as) {
  if (!as.item.empty()) return as;
  if (as.handler == tree_handler::v1) {
    as.item = "state";
  } else if (as.step) {
    as.item = "default";
  }
  return as;
}

/// A file of the tree; none where the text is empty.
ZARRPOINT_INLINE result<void> put_text(const any_store& store, std::string_view name,
                                       std::string_view text) {
  if (text.empty()) return {};
  ZARRPOINT_TRY(key, store_key::parse(name));
  return store.put(key, as_bytes(text));
}

/// The database that a process of Orbax's has for itself.
ZARRPOINT_INLINE result<store_key> database_of(int process) {
  return store_key::parse("ocdbt.process_" + std::to_string(process));
}

ZARRPOINT_INLINE result<v0::detail::own_look> tree_rules::look(const any_store& root) const {
  const stored_place at{root, store_key::root()};
  ZARRPOINT_TRY(is_tree, holds_tree(at));
  ZARRPOINT_TRY(is_step, holds(at, "_CHECKPOINT_METADATA"));
  const bool is_item = !as_.item.empty();
  if (is_tree) return v0::detail::own_look{!is_item, "a tree of Orbax, not a step"};
  if (is_step) return v0::detail::own_look{is_item, "a step of Orbax with items, not a tree"};
  return v0::detail::own_look{};
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::string>>> tree_rules::paths_of(
    const any_store& root) const {
  std::vector<std::string> out{"_CHECKPOINT_METADATA", "commit_success.txt", "orbax.checkpoint"};
  for (extra_handler& extra : extra_handlers(as_)) out.push_back(std::move(extra.item));
  const std::string above = as_.item.empty() ? "" : as_.item + '/';
  ZARRPOINT_TRY(key, as_.item.empty() ? store_key::root() : store_key::parse(as_.item));
  ZARRPOINT_TRY(children, root.list(key));
  for (const list_entry& child : children)
    if (is_own_name(child.name)) out.push_back(above + child.name);
  ZARRPOINT_TRY(document_key, key.child("_METADATA"));
  ZARRPOINT_TRY(document, get(root, document_key, std::uint64_t{128} << 20));
  // Of a tree that cannot be read, arrays in directories stay.
  std::vector<tree_leaf> leaves;
  if (document)
    if (auto tree = read_tree(*document)) leaves = std::move(tree->leaves);
  for (const tree_leaf& leaf : leaves) {
    if (!leaf.storage.empty()) {
      out.push_back(above + leaf.storage);
      continue;
    }
    for (const char* name : {"zarr.json", ".zarray", "c", "0"}) out.push_back(above + name);
  }
  v0::detail::sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE save_format::save_format(const v0::detail::save_group& group,
                                          const location& where, tree_part mine,
                                          tree_options options)
    : group_(group),
      target_(where),
      given_(mine),
      options_{std::move(options.how), with_item(std::move(options.as))} {}

ZARRPOINT_INLINE result<void> save_format::find_target() {
  ZARRPOINT_TRY(
      target, v0::detail::location_access::to_write(target_, options_.how.sync, group_.how.stores));
  // A zip file is a store of its own; so is a place in a bucket, which Orbax opens.
  const auto named = url::parse(target_.name());
  const bool is_local = !named || named->scheme == "file";
  if (v0::detail::location_access::is_path(target_) && is_local && target.key.is_root())
    return error{errc::unsupported, "Orbax opens directories only, not files"};
  if (options_.as.step) {
    ZARRPOINT_TRY(key, target.key.child(std::to_string(*options_.as.step)));
    target.key = std::move(key);
  }
  target_ = location(target.store, target.key);
  return {};
}

/// What all processes must have the same of, but for the step: where the tree is, and what it is.
/// The rest only rank 0 uses, or each for itself.
ZARRPOINT_INLINE std::string save_format::plan_kind() const {
  v0::detail::wire_writer to;
  to.number(static_cast<std::uint64_t>(static_cast<std::uint32_t>(options_.how.zarr_format)));
  to.flag(options_.as.ocdbt);
  to.text(options_.as.item);
  to.number(static_cast<std::uint64_t>(options_.as.arrays));
  to.bytes(encode_containers(options_.as.rich_types));
  return std::string(as_text(std::move(to).take()));
}

ZARRPOINT_INLINE result<void> save_format::prepare() {
  shared_ =
      (options_.as.step ? std::to_string(*options_.as.step) : std::string("no")) + plan_kind();
  return {};
}

ZARRPOINT_INLINE result<described_leaf> save_format::describe_shard(
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

/// Where the elements of a leaf come from. `early`: null, or its copy from a device.
ZARRPOINT_INLINE cell_write source_of(const leaf& value, const box& part,
                                      const std::shared_ptr<v0::detail::staged_leaf>& early) {
  cell_write out;
  out.part = part;
  if (value.host_accessible() || early == nullptr) {
    out.stage = [value](memory_resource& into) { return value.stage(into); };
    if (!value.host_accessible())
      out.source = [value](const context& with) {
        return value.source(v0::detail::source_options_of(with));
      };
  } else if (early->in_host) {
    out.stage = [early](memory_resource&) -> result<staged> {
      return staged{early->in_host->view, {}};
    };
  } else {
    out.reads_once = true;
    out.source = [early](const context&) -> result<std::unique_ptr<element_source>> {
      return std::move(early->on_device);
    };
  }
  return out;
}

ZARRPOINT_INLINE result<message> save_format::describe(bool differs) {
  staged_tree own;
  if (early != nullptr) {
    own = std::move(*early);
  } else {
    ZARRPOINT_TRY(described, describe_items(given_.leaves));
    own.described = std::move(described);
  }
  mine_ = std::move(own.described.leaves);
  report.pin_seconds = own.early.pin_seconds;
  early_warnings_ = std::move(own.early.warnings);
  for (const auto& [name, path] : options_.as.paths)
    if (!paths_.emplace(name, &path).second)
      return bad_tree("orbax::format::paths has two paths for " + v0::detail::in_quotes(name));
  std::set<std::string> names;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    if (!names.insert(mine_[i].name()).second)
      return bad_tree("two leaves have the path " + v0::detail::in_quotes(mine_[i].name()));
    std::shared_ptr<v0::detail::staged_leaf> early;
    if (!own.early.leaves.empty())
      early = v0::detail::make_counted<v0::detail::staged_leaf>(std::move(own.early.leaves[i]));
    sources_.push_back(mine_[i].is_array() ? source_of(*own.described.values[i], mine_[i].at, early)
                                           : cell_write{});
  }
  for (const sharded_tensor& shard : given_.shards) {
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
  to.flag(differs);
  if (differs) to.text(shared_);
  to.bytes(encode_leaves(mine_));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<message>> save_format::plan(std::vector<message> described) {
  std::vector<std::vector<described_leaf>> all;
  for (std::size_t rank = 0; rank < described.size(); ++rank) {
    const auto decode = [&]() -> result<std::vector<described_leaf>> {
      v0::detail::wire_reader from(described[rank]);
      const bool differs = from.flag() && from.text() != shared_;
      const bytes_view leaves = from.bytes();
      ZARRPOINT_CHECK(from.finish());
      if (differs)
        return bad_tree(
            "it has other options than rank 0: zarr_format, ocdbt, step, item, arrays and "
            "rich_types must be the same");
      return decode_leaves(leaves);
    };
    ZARRPOINT_TRY(decoded, decode().at("the description of rank " + std::to_string(rank)));
    all.push_back(std::move(decoded));
    described[rank] = message();
  }
  group_tree_plan made;
  ZARRPOINT_TRY(shared, share_tree(all));
  made.shared = std::move(shared);
  ZARRPOINT_CHECK(check_paths(made.shared));
  ZARRPOINT_TRY(planned, plan_tree({made.shared.leaves, made.shared.cuts}, options_));
  made.plan = std::move(planned);
  ZARRPOINT_CHECK(check_chunks(made.plan));
  plan_ = v0::detail::make_counted<const group_tree_plan>(std::move(made));
  ZARRPOINT_CHECK(open_place());
  return parts();
}

ZARRPOINT_INLINE result<void> save_format::check_paths(const shared_tree& shared) const {
  if (options_.as.paths.empty()) return {};
  std::set<std::string> keys;
  for (const described_leaf& leaf : shared.leaves)
    if (leaf.shard_key) keys.insert(*leaf.shard_key);
  for (const auto& [name, path] : options_.as.paths)
    if (!keys.contains(name))
      return bad_tree("orbax::format::paths has a path for " + v0::detail::in_quotes(name) +
                      ", and no process has a shard of that key");
  return {};
}

ZARRPOINT_INLINE result<void> save_format::check_chunks(const tree_plan& plan) const {
  for (const planned_item& item : plan.items) {
    if (!item.array) continue;
    const array_metadata& metadata = plan.arrays[*item.array].metadata();
    dims counts = metadata.shape;
    for (std::size_t d = 0; d < counts.rank(); ++d)
      counts[d] = ceil_div(counts[d], metadata.chunk_shape[d]);
    const auto count = element_count(counts);
    if (!count || static_cast<std::uint64_t>(*count) > group_.how.limit.max_chunks)
      return error{errc::resource_limit, "the leaf " + v0::detail::in_quotes(item.told.name) +
                                             " would be more objects than " +
                                             std::to_string(group_.how.limit.max_chunks) +
                                             ", each of shape " + to_string(metadata.chunk_shape)};
  }
  return {};
}

ZARRPOINT_INLINE result<void> save_format::open_place() {
  report.warnings = plan_->plan.warnings;
  report.warnings.insert(report.warnings.end(), early_warnings_.begin(), early_warnings_.end());
  ZARRPOINT_CHECK(find_target());
  ZARRPOINT_TRY(target, v0::detail::location_access::to_write(target_));
  if (!target.store.can_publish() || !target.store.can_list())
    return error{errc::unsupported,
                 target_.name() + ": its store cannot publish a directory in one step"};
  ZARRPOINT_CHECK(place_.open());
  if (!is_alone() && place_.staged_name().empty())
    return error{errc::unsupported, "several processes can save to a directory only"};
  return look();
}

ZARRPOINT_INLINE result<void> save_format::look() {
  const auto begin_time = about_.begin_time;
  about_ = {};
  if (options_.as.item.empty()) {
    about_.item_handlers = std::string(handler_name(options_.as.handler));
  } else {
    ZARRPOINT_TRY(target, v0::detail::location_access::to_write(target_));
    ZARRPOINT_TRY(key, target.key.child("_CHECKPOINT_METADATA"));
    ZARRPOINT_TRY(document, get(target.store, key, std::uint64_t{1} << 20));
    if (document) {
      ZARRPOINT_TRY(facts, read_checkpoint_facts(*document).at(target.store.describe(key)));
      about_ = std::move(facts);
    }
    if (about_.item_handlers.if_object() == nullptr) about_.item_handlers = json::object{};
    about_.item_handlers.set(options_.as.item, std::string(handler_name(options_.as.handler)));
    for (extra_handler& extra : extra_handlers(options_.as))
      about_.item_handlers.set(extra.item, std::move(extra.handler));
    for (json* one : {&about_.metrics, &about_.performance_metrics, &about_.custom_metadata})
      if (one->if_object() == nullptr) *one = json();
  }
  if (!options_.as.step_metadata.is_null()) about_.custom_metadata = options_.as.step_metadata;
  if (!about_.begin_time) about_.begin_time = begin_time ? begin_time : nanoseconds_now();
  return {};
}

ZARRPOINT_INLINE result<std::vector<message>> save_format::parts() const {
  const tree_plan& plan = plan_->plan;
  std::vector<std::size_t> array_of(plan_->shared.leaves.size());
  for (const planned_item& item : plan.items)
    if (item.array) array_of[item.source] = *item.array;
  std::vector<std::string> documents;
  for (const v0::detail::planned_leaf& array : plan.arrays) {
    if (is_alone()) break;
    ZARRPOINT_TRY(document, v0::detail::array_document(array.metadata()));
    documents.push_back(dump_json(document, json_style::compact));
  }
  const std::string record = array_record(plan);
  std::vector<message> out;
  for (const std::vector<shared_part>& parts : plan_->shared.parts) {
    const bool has_plan = out.empty();  // rank 0
    v0::detail::wire_writer to;
    to.text(record);
    to.number(parts.size());
    std::set<std::size_t> told;
    for (const shared_part& part : parts) {
      const std::size_t number = array_of[part.leaf];
      to.number(part.place);
      to.number(number);
      if (!has_plan && told.insert(number).second) to.text(documents[number]);
    }
    out.push_back(std::move(to).take());
  }
  return out;
}

ZARRPOINT_INLINE result<void> save_format::take_part(bytes_view part) {
  part_ = message(part.begin(), part.end());
  v0::detail::wire_reader from(part);
  record_ = from.text();
  std::map<std::uint64_t, std::size_t> known;  // the arrays of `writes_`
  const error wrong{errc::corrupt, "what rank 0 planned is cut off, or of other leaves"};
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    const auto place = static_cast<std::size_t>(from.number());
    const std::uint64_t number = from.number();
    if (from.failed() || place >= mine_.size() || !mine_[place].is_array()) return wrong;
    const auto [at, is_new] = known.try_emplace(number, writes_.arrays.size());
    if (is_new) {
      stored_array& made = arrays_.emplace_back();
      if (is_root()) {
        made.metadata = plan_->plan.arrays[static_cast<std::size_t>(number)].metadata();
      } else {
        const std::string text = from.text();
        if (from.failed()) return wrong;
        ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
        auto parsed = options_.how.zarr_format == 2 ? parse_array_v2(document, nullptr)
                                                    : parse_array_v3(document);
        if (!parsed) return std::move(parsed).failure().at(mine_[place].name());
        made.metadata = *std::move(parsed);
      }
      if (made.metadata.shape != mine_[place].spec.shape) return wrong;
      made.tensor.key = mine_[place].name();
      made.tensor.type = made.metadata.type;
      ZARRPOINT_TRY(key, store_key::parse(tree_path(mine_[place].path).joined('.')));
      made.at = std::move(key);
      writes_.arrays.push_back({&made, false, {}});
    }
    writes_.arrays[at->second].cells.push_back(std::move(sources_[place]));
  }
  sources_.clear();
  return from.finish();
}

ZARRPOINT_INLINE result<void> save_format::join(const std::string& staged_name) {
  ZARRPOINT_CHECK(find_target());
  return place_.join(staged_name);
}

/// What is kept of a plan.
struct kept_tree_plan {
  message part;
  std::shared_ptr<const group_tree_plan> plan;  ///< of rank 0
};

ZARRPOINT_INLINE std::shared_ptr<const void> save_format::keep_plan() const {
  return v0::detail::make_counted<const kept_tree_plan>(kept_tree_plan{part_, plan_});
}

ZARRPOINT_INLINE result<void> save_format::reuse(const std::shared_ptr<const void>& kept) {
  const auto& last = *static_cast<const kept_tree_plan*>(kept.get());
  plan_ = last.plan;
  ZARRPOINT_CHECK(take_part(last.part));
  if (!is_root()) return {};
  ZARRPOINT_CHECK(check_metadata(options_.as));
  return open_place();
}

ZARRPOINT_INLINE result<void> save_format::stage(std::vector<message> /*pieces*/, bool copies) {
  if (!copies) return {};
  v0::detail::cell_copies kept(group_.how, options_.how.device_copy);
  for (array_writes& array : writes_.arrays) {
    const std::string& key = array.array->tensor.key;
    for (cell_write& cell : array.cells)
      ZARRPOINT_CHECK(kept.add(cell, key).at("the leaf " + v0::detail::in_quotes(key)));
  }
  return kept.finish(more_warnings);
}

ZARRPOINT_INLINE result<any_store> save_format::item() const {
  if (options_.as.item.empty()) return place_.store();
  ZARRPOINT_TRY(key, store_key::parse(options_.as.item));
  return any_store(prefix_store(place_.store(), std::move(key)));
}

ZARRPOINT_INLINE result<message> save_format::write() {
  ZARRPOINT_TRY(item, this->item());
  const int rank = group_.ranks.rank();
  ZARRPOINT_CHECK(put_text(item, "array_metadatas/process_" + std::to_string(rank), record_));
  if (!options_.as.ocdbt || (!is_root() && writes_.arrays.empty())) return write_arrays(item);
  ZARRPOINT_TRY(own, database_of(rank));
  ZARRPOINT_TRY(database, ocdbt_writer::open(item, own, options_.as.database));
  ZARRPOINT_TRY(receipt, write_arrays(database));
  ZARRPOINT_CHECK(database.commit());
  return std::move(receipt);
}

/// As Orbax: the documents of all arrays by rank 0.
ZARRPOINT_INLINE result<message> save_format::write_arrays(const any_store& to) {
  const context& how = group_.how;
  if (is_root()) {
    const std::vector<v0::detail::planned_leaf>& all = plan_->plan.arrays;
    ZARRPOINT_CHECK(parallel_for(
        how.executor, all.size(),
        [&](std::size_t i) -> result<void> {
          leaf_record record;
          ZARRPOINT_TRY(document, v0::detail::array_document(all[i].metadata()));
          record.metadata = std::move(document);
          return v0::detail::put_array_document(to, *all[i].key, record, options_.how.zarr_format);
        },
        {.stop = how.stop}));
  }
  v0::detail::pin_times pinned;
  std::mutex timing;
  ZARRPOINT_TRY(
      digests,
      v0::detail::write_cells(how, writes_, [&](const v0::detail::cell_job& job) -> result<void> {
        const auto start = std::chrono::steady_clock::now();
        const auto& stored = static_cast<const stored_array&>(job.array);
        ZARRPOINT_TRY(array, array::from_metadata(to, stored.at, stored.metadata, job.how));
        const write_options options{.elide_fill = false,
                                    .cast = true,
                                    .how = &job.how,
                                    .device_encode = options_.how.device_encode};
        ZARRPOINT_CHECK(job.write_to(array, options, &pinned));
        const std::lock_guard lock(timing);
        seconds_[stored.tensor.key] += v0::detail::seconds_since(start);
        return {};
      }));
  report.pin_seconds += pinned.seconds();
  return v0::detail::encode_digests(digests);
}

ZARRPOINT_INLINE result<void> save_format::read_receipts(std::span<const message> receipts) {
  std::vector<v0::detail::digests_of_arrays> written(receipts.size());
  for (std::size_t rank = 0; rank < written.size(); ++rank)
    ZARRPOINT_CHECK(v0::detail::decode_digests(receipts[rank], written[rank])
                        .at("the receipt of rank " + std::to_string(rank)));
  v0::detail::receipt_check check(written);
  std::vector<const planned_item*> item_of(plan_->shared.leaves.size());
  for (const planned_item& item : plan_->plan.items) item_of[item.source] = &item;
  for (std::size_t rank = 0; rank < written.size(); ++rank) {
    for (const shared_part& part : plan_->shared.parts[rank]) {
      const planned_item& item = *item_of[part.leaf];
      const array_metadata& metadata = plan_->plan.arrays[*item.array].metadata();
      check.begin(item.told.name);
      // No box begins inside a chunk.
      write_grid chunks{part.at.shape, metadata.chunk_shape};
      ZARRPOINT_TRY(count, chunks.cells());
      for (index_t i = 0; i < count; ++i) {
        dims place = chunks.place(i);
        for (std::size_t d = 0; d < place.rank(); ++d)
          place[d] += part.at.offset[d] / metadata.chunk_shape[d];
        check.look_for(metadata.keys.key(place), static_cast<int>(rank), false);
      }
    }
  }
  ZARRPOINT_CHECK(check.done());
  for (const planned_item& item : plan_->plan.items) {
    if (!item.array) continue;
    const v0::detail::planned_leaf& array = plan_->plan.arrays[*item.array];
    leaf_report& leaf = report.leaves.emplace_back();
    leaf.name = item.told.name;
    leaf.stored = array.metadata().spec();
    leaf.bytes = array.bytes;
    if (is_alone()) leaf.seconds = seconds_[leaf.name];
    for (const v0::detail::digests_of_arrays& of_rank : written)
      if (const auto at = of_rank.find(leaf.name); at != of_rank.end())
        for (const auto& [name, object] : at->second.objects()) leaf.stored_bytes += object.size;
    report.bytes += leaf.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  return {};
}

ZARRPOINT_INLINE result<void> save_format::put_records() {
  const any_store& step = place_.store();
  ZARRPOINT_TRY(item, this->item());
  const std::string done = "Checkpoint commit was successful to " + target_.name();
  ZARRPOINT_CHECK(put_text(item, "_strings.json", text_record(plan_->plan)));
  ZARRPOINT_CHECK(put_text(item, "_sharding", plan_->plan.shardings));
  ZARRPOINT_CHECK(put_text(item, "_METADATA", tree_record(plan_->plan, options_)));
  if (!options_.as.item.empty())
    ZARRPOINT_CHECK(put_text(item, "commit_success.txt", done + '/' + options_.as.item));
  ZARRPOINT_TRY(extras, extra_files(options_.as));
  for (const extra_file& extra : extras) {
    ZARRPOINT_TRY(key, store_key::parse(extra.path));
    ZARRPOINT_CHECK(step.put(key, extra.bytes));
  }
  for (const extra_handler& extra : extra_handlers(options_.as))
    ZARRPOINT_CHECK(put_text(step, extra.item + "/commit_success.txt", done + '/' + extra.item));
  if (options_.as.handler == tree_handler::v1) {
    ZARRPOINT_TRY(mark, store_key::parse("orbax.checkpoint"));
    ZARRPOINT_CHECK(step.put(mark, {}));
  }
  about_.commit_time = nanoseconds_now();
  ZARRPOINT_CHECK(put_text(step, "_CHECKPOINT_METADATA", checkpoint_record(about_)));
  return put_text(step, "commit_success.txt", done);
}

ZARRPOINT_INLINE std::vector<std::string> save_format::taken_paths() const {
  const std::string above = options_.as.item.empty() ? "" : options_.as.item + '/';
  std::vector<std::string> out{"_CHECKPOINT_METADATA", "commit_success.txt", "orbax.checkpoint"};
  for (extra_handler& extra : extra_handlers(options_.as)) out.push_back(std::move(extra.item));
  for (const char* name : {"_METADATA", "_sharding", "_strings.json", "array_metadatas",
                           "commit_success.txt", "manifest.ocdbt", "d", "checkpoint"})
    out.push_back(above + name);
  for (int process = 0; process < group_.ranks.size(); ++process)
    out.push_back(above + "ocdbt.process_" + std::to_string(process));
  for (const v0::detail::planned_leaf& array : plan_->plan.arrays)
    if (!options_.as.ocdbt && !array.key->is_root())
      out.push_back(above + std::string(array.key->str()));
  v0::detail::sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<message> save_format::commit(std::vector<message> receipts,
                                                     v0::detail::commit_outcome& commit) {
  ZARRPOINT_CHECK(read_receipts(receipts));
  if (options_.as.ocdbt) {
    // As Orbax: what a process wrote is a database of its own, and the tree's refers to its files.
    std::vector<store_key> databases;
    for (int rank = 0; rank < group_.ranks.size(); ++rank) {
      if (rank != 0 && plan_->shared.parts[static_cast<std::size_t>(rank)].empty()) continue;
      ZARRPOINT_TRY(key, database_of(rank));
      databases.push_back(std::move(key));
    }
    ZARRPOINT_TRY(item, this->item());
    ZARRPOINT_CHECK(ocdbt_merge(item, store_key::root(), databases, options_.as.database)
                        .transform([](const auto&) {}));
  }
  // Writing takes long: another group may have published an item of this step meanwhile.
  if (options_.how.overwrite) ZARRPOINT_CHECK(look());
  ZARRPOINT_CHECK(put_records());
  ZARRPOINT_CHECK(place_.publish([&] { return taken_paths(); }, commit, report));
  return v0::detail::encode_report(report);
}

}}}}  // namespace zarrpoint::v0::orbax::detail

namespace zarrpoint { inline namespace v0 { namespace orbax {

// ---------------------------------------------------------------------------------- orbax_save.hpp

namespace detail {

/// A save that has not begun. `staged`: what was copied before, or null. `warnings`: about options.
ZARRPOINT_INLINE result<std::shared_ptr<v0::detail::collective_save>> make_save(
    const location& where, const any_communicator& ranks, const tree_part& mine,
    const tree_options& options, const context& how,
    const std::shared_ptr<staged_tree>& staged = nullptr, std::vector<std::string> warnings = {}) {
  return guarded([&] {
    return v0::detail::collective_save::make(
        {.ranks = ranks,
         .how = how,
         .name = where.name(),
         .action = "save the Orbax checkpoint",
         .plans = options.how.plans.get()},
        [&](const v0::detail::save_group& of) -> result<std::shared_ptr<v0::detail::save_format>> {
          auto out = v0::detail::make_counted<save_format>(of, where, mine, options);
          out->early = staged;
          out->more_warnings = std::move(warnings);
          return std::shared_ptr<v0::detail::save_format>(std::move(out));
        });
  });
}

ZARRPOINT_INLINE result<std::vector<std::string>> check_options_of(const save_request& what) {
  return check_options(what, "an Orbax checkpoint",
                       {.casts = true, .layouts = true, .empty_groups = true});
}

/// The same with the options of a caller.
ZARRPOINT_INLINE result<std::shared_ptr<v0::detail::collective_save>> make_save(
    const location& where, const any_communicator& ranks, const tree_part& mine,
    const save_options& options, const context& how,
    const std::shared_ptr<staged_tree>& staged = nullptr) {
  return guarded([&]() -> result<std::shared_ptr<v0::detail::collective_save>> {
    ZARRPOINT_TRY(as, v0::detail::format_of<format>(options));
    ZARRPOINT_TRY(warnings, check_options_of({where, {}, {}, options, how}));
    return make_save(where, ranks, mine, tree_options{options, std::move(as)}, how, staged,
                     std::move(warnings));
  });
}

/// Copies what the caller may change or free when `save_async` has returned.
ZARRPOINT_INLINE result<void> stage_tree(std::span<const tree_item> items, bool device_copy,
                                         const context& how, staged_tree& to) {
  ZARRPOINT_TRY(described, describe_items(items));
  std::vector<leaf> on_devices;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < described.leaves.size(); ++i) {
    if (!described.leaves[i].is_array() || described.values[i]->host_accessible()) continue;
    on_devices.push_back(*described.values[i]);
    places.push_back(i);
  }
  ZARRPOINT_TRY(early, v0::detail::stage_leaves(on_devices, {.device_copy = device_copy}, how));
  std::vector<v0::detail::staged_leaf> of_all(described.leaves.size());
  for (std::size_t i = 0; i < places.size(); ++i) of_all[places[i]] = std::move(early.leaves[i]);
  early.leaves = std::move(of_all);
  to = {std::move(described), std::move(early)};
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, const any_communicator& ranks,
                                          std::span<const sharded_tensor> shards,
                                          std::span<const tree_item> leaves,
                                          const save_options& options, const context& how) {
  return v0::detail::run_save(ranks,
                              detail::make_save(where, ranks, {shards, leaves}, options, how));
}

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const tree_item> items,
                                          const save_options& options, const context& how) {
  return save(where, any_communicator(), {}, items, options, how);
}

ZARRPOINT_INLINE result<save_report> save(const location& where,
                                          std::initializer_list<tree_item> items,
                                          const save_options& options, const context& how) {
  return save(where, std::span<const tree_item>(items.begin(), items.size()), options, how);
}

ZARRPOINT_INLINE result<save_report> save_as(const format& as, const save_request& what) {
  // The plan compares the rules with what becomes of the leaves.
  const save_request rest{what.where, {}, what.empty_groups, what.options, what.how};
  ZARRPOINT_TRY(warnings, detail::check_options_of(rest).at("save " + what.where.name()));
  std::vector<tree_item> items;
  for (const leaf& each : what.leaves) items.emplace_back(tree_path(each.name()), each);
  for (const std::string& group : what.empty_groups)
    items.emplace_back(tree_path(group), empty_value::dict);
  const detail::tree_options options{what.options, as};
  ZARRPOINT_TRY(one, detail::make_save(what.where, {}, {{}, items}, options, what.how));
  ZARRPOINT_TRY(out, one->run());
  out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
  return std::move(out);
}

namespace detail {

/// The common values of a state as items; what a hole is for lies elsewhere.
ZARRPOINT_INLINE void add_values(const state& at, std::vector<tree_key>& path,
                                 std::vector<tree_item>& to) {
  const auto below = [&](tree_key step, const state& child) {
    path.push_back(std::move(step));
    add_values(child, path, to);
    path.pop_back();
  };
  if (const state::map* members = at.if_map()) {
    for (const auto& [key, child] : *members) below({key, false}, child);
    if (members->empty() && !path.empty()) to.emplace_back(path, empty_value::dict);
  } else if (const state::list* elements = at.if_list()) {
    for (std::size_t i = 0; i < elements->size(); ++i)
      below({std::to_string(i), true}, (*elements)[i]);
    if (elements->empty()) to.emplace_back(path, empty_value::list);
  } else if (const json* const value = at.if_value()) {
    if (value->is_null()) to.emplace_back(path, empty_value::none);
    if (const bool* truth = value->if_bool()) to.emplace_back(path, bool(*truth));
    if (const std::string* text = value->if_string()) to.emplace_back(path, std::string(*text));
    if (!value->is_integer()) {
      if (value->is_number()) to.emplace_back(path, double(*value->to_double()));
    } else if (const auto number = value->to_int64()) {
      to.emplace_back(path, std::int64_t(*number));
    } else {
      to.emplace_back(path, std::uint64_t(*value->to_uint64()));
    }
  }
}

/// A state of many processes as a tree, with all that it is made of.
struct tree_of_state {
  v0::detail::prepared_state state;
  std::vector<tree_item> items;
};

}  // namespace detail

ZARRPOINT_INLINE result<group_saver> group_save_as(const format& as,
                                                   const group_save_request& what) {
  const save_options& options = what.options.storage;
  ZARRPOINT_TRY(warnings, detail::check_options_of({what.where, {}, {}, options, what.group.how}));
  const auto held = v0::detail::make_counted<detail::tree_of_state>();
  ZARRPOINT_TRY(prepared, v0::detail::prepare_without_objects(what, "an Orbax checkpoint"));
  held->state = std::move(prepared);
  std::vector<tree_key> path;
  detail::add_values(held->state.common, path, held->items);
  auto out = v0::detail::make_counted<detail::save_format>(
      what.group, what.where, tree_part{held->state.tensors, held->items},
      detail::tree_options{options, as});
  out->held = held;
  out->more_warnings = std::move(warnings);
  return std::shared_ptr<v0::detail::save_format>(std::move(out));
}

ZARRPOINT_INLINE pending<save_report> save_async(location where, std::vector<tree_item> items,
                                                 save_options options, const context& how) {
  auto begun = guarded([&]() -> result<pending<save_report>> {
    const auto start = std::chrono::steady_clock::now();
    const auto staged = v0::detail::make_counted<detail::staged_tree>();
    // What is staged now must outlive this call, so that the scratch pool goes with it.
    const context kept = with_scratch(how);
    // It is planned in the background, and two of them would share the plan.
    options.plans = nullptr;
    const bool device_copy = options.device_copy;
    ZARRPOINT_TRY(one, detail::make_save(where, {}, {}, options, kept, staged));
    ZARRPOINT_CHECK(detail::stage_tree(items, device_copy, kept, *staged));
    const double blocked_seconds = v0::detail::seconds_since(start);
    return run_async(how.executor,
                     [one = std::move(one), blocked_seconds]() -> result<save_report> {
                       ZARRPOINT_TRY(report, one->run());
                       report.blocked_seconds = blocked_seconds;
                       return std::move(report);
                     });
  });
  if (!begun)
    return pending<save_report>(
        std::move(begun).failure().at("save the Orbax checkpoint " + where.name()));
  return *std::move(begun);
}

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const tree_part& mine,
                                                    const save_options& options,
                                                    finalizer when_committed) {
  return begin(detail::make_save(where, ranks_, mine, options, how_), ranks_,
               std::move(when_committed));
}

}}}  // namespace zarrpoint::v0::orbax

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/interop/ocdbt/write_bodies.hpp>
#include <zarrpoint/interop/orbax/store_bodies.hpp>
#include <zarrpoint/interop/orbax_save/plan_bodies.hpp>
#endif
