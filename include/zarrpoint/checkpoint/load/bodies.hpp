// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/load/mapped_tensor.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/file/path_watch.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------- mapped_tensor.hpp

ZARRPOINT_INLINE kept_elements::kept_elements(mapped_view mapped)
    : shape(mapped.elements.shape),
      owner(detail::make_counted<const mapping>(std::move(mapped.memory))),
      data(mapped.elements.data) {}

ZARRPOINT_INLINE kept_elements::kept_elements(tensor owned) : shape(owned.shape()) {
  auto kept = detail::make_counted<const tensor>(std::move(owned));
  data = kept->view().data;
  owner = std::move(kept);
}

// ----------------------------------------------------------------------------------- read_leaf.hpp

// A stored leaf into a target: the mirror of stage, encode and write.

ZARRPOINT_INLINE dims common_shape(const dims& stored, dims wanted) {
  for (std::size_t i = 0; i < wanted.rank(); ++i) wanted[i] = std::min(stored[i], wanted[i]);
  return wanted;
}

ZARRPOINT_INLINE void fill_with_zero(const mutable_host_view& view) {
  const std::vector<std::byte> zero(view.type.size());
  fill_elements(view, zero);
}

ZARRPOINT_INLINE result<void> read_to_host(const array& from, const mutable_host_view& into,
                                           const read_options& options) {
  const dims& stored = from.metadata().shape;
  if (stored == into.shape) return from.read(box::whole(stored), into, options);
  const dims common = common_shape(stored, into.shape);
  fill_with_zero(into);
  return from.read(box::whole(common), leading_part(into, common), options);
}

/// Makes the dtype the one that a rule for the leaf casts to.
inline result<void> apply_cast(dtype& type, std::string_view name, const load_options& options) {
  const dtype* const cast = last_set(options.rules, name, &load_rule::cast);
  if (cast == nullptr) return {};
  ZARRPOINT_CHECK(check_cast(type, *cast));
  type = *cast;
  return {};
}

ZARRPOINT_INLINE result<tensor_spec> wanted_spec(const array& source, std::string_view name,
                                                 const load_options& options) {
  tensor_spec spec = source.spec();
  ZARRPOINT_CHECK(apply_cast(spec.type, name, options));
  const dims* shape = last_set(options.rules, name, &load_rule::shape);
  if (shape == nullptr) return spec;
  if (shape->rank() != spec.shape.rank()) {
    std::string text = "stored shape is ";
    text.append(to_string(spec.shape)).append(", the rule wants ").append(to_string(*shape));
    return error{errc::shape_mismatch, std::move(text)};
  }
  spec.shape = *shape;
  return spec;
}

ZARRPOINT_INLINE result<tensor_spec> wanted_as(dtype type, const stored_leaf& leaf,
                                               const array& source, const load_options& options) {
  ZARRPOINT_TRY(wanted, wanted_spec(source, leaf.name, options));
  if (!type.valid()) return wanted;
  ZARRPOINT_CHECK(check_type(wanted.type, type, options));
  wanted.type = type;
  return wanted;
}

ZARRPOINT_INLINE result<tensor_spec> wanted_part(const stored_leaf& leaf, const array& source,
                                                 const selection& part,
                                                 const load_options& options) {
  ZARRPOINT_CHECK(part.check(source.spec().shape));
  tensor_spec spec = source.spec();
  ZARRPOINT_CHECK(apply_cast(spec.type, leaf.name, options));
  spec.shape = part.shape;
  return spec;
}

ZARRPOINT_INLINE result<void> check_type(dtype stored, dtype wanted, const load_options& options) {
  if (stored == wanted) return {};
  if (options.cast) return check_cast(stored, wanted);
  std::string text = "stored dtype is ";
  text.append(to_string(stored)).append(", wanted ").append(to_string(wanted));
  text += "; set load_options::cast to convert it";
  return error{errc::dtype_mismatch, std::move(text)};
}

}  // namespace detail

// ---------------------------------------------------------------------------------- checkpoint.hpp

namespace detail {

struct checkpoint_state final : read_origin {
  checkpoint_state(location place, any_store opened, const context& with, checkpoint_contents found)
      : where(std::move(place)),
        name(where.name()),
        store(std::move(opened)),
        how(with_scratch(with)),
        contents(std::move(found)) {
    if (contents.executor != nullptr) how.executor = *contents.executor;
  }

  /// Says of what is missing or has changed since the checkpoint was opened that a save has
  /// replaced it, if that is so.
  ZARRPOINT_NO_KEY error explain(error failure) const override;

  location where;
  std::string name;
  any_store store;
  context how;
  checkpoint_contents contents;
};

ZARRPOINT_INLINE error checkpoint_state::explain(error failure) const {
  if (failure.code != errc::corrupt && failure.code != errc::not_found && failure.code != errc::io)
    return failure;
  const result<checkpoint> now = checkpoint::open(where, how);
  if (!now || now->id().empty() || now->id() == contents.id) return failure;
  failure.code = errc::replaced;
  failure.message.append("; a save has replaced ");
  failure.message.append(contents.is_ours() ? "checkpoint " : "what was there").append(contents.id);
  failure.message.append(" by ").append(now->id());
  failure.message += " since it was opened: open it again";
  return failure;
}

}  // namespace detail

ZARRPOINT_INLINE result<checkpoint> checkpoint::open(const location& where, const context& how) {
  return guarded([&]() -> result<checkpoint> {
    const std::string path = detail::location_access::local_path(where);
    for (detail::path_watch watch(path);;) {
      result<checkpoint> opened = look_at(where, how);
      // Documents of two saves do not fit together, though each is whole.
      const bool fits =
          opened ? !opened->contents().is_changed
                 : opened.failure().code != errc::corrupt && opened.failure().code != errc::io;
      const bool is_there = opened || opened.failure().code != errc::not_found;
      if (is_there ? !fits && watch.is_other(path) : watch.look_again(path)) continue;
      if (opened || !detail::location_access::is_path(where)) return opened;
      return how.stores.explain(std::move(opened).failure(), path);
    }
  });
}

ZARRPOINT_INLINE result<checkpoint> checkpoint::look_at(const location& where, const context& how) {
  const std::string name = where.name();
  const detail::phase_scope plans(how.observer, phase::plan, name, 0);
  ZARRPOINT_TRY(place, detail::location_access::to_read(where, how.stores, how.limit.memory));
  const auto opened = [&]() -> result<checkpoint> {
    any_store store =
        place.key.is_root() ? place.store : any_store(prefix_store(place.store, place.key));
    auto contents = detail::read_contents(store, how);
    if (!contents && contents.failure().code == errc::not_found &&
        !detail::may_exist(place.store, place.key))
      return error{errc::not_found, name + " does not exist"};
    if (!contents) return detail::name_hierarchies(std::move(contents).failure(), store, name);
    contents->container = std::move(place.format);
    contents->executor = place.executor;
    return checkpoint(detail::make_counted<const detail::checkpoint_state>(
        where, std::move(store), how, *std::move(contents)));
  };
  return opened().at("open " + name);
}

ZARRPOINT_INLINE const std::string& checkpoint::id() const noexcept { return state_->contents.id; }

ZARRPOINT_INLINE std::string checkpoint::format() const { return contents().format(); }

ZARRPOINT_INLINE const json& checkpoint::attributes() const noexcept {
  return state_->contents.attributes;
}

ZARRPOINT_INLINE const detail::checkpoint_contents& checkpoint::contents() const noexcept {
  return state_->contents;
}

ZARRPOINT_INLINE const any_store& checkpoint::store() const noexcept { return state_->store; }

ZARRPOINT_INLINE error checkpoint::explain(error failure) const {
  return state_->explain(std::move(failure));
}

ZARRPOINT_INLINE std::vector<std::string> checkpoint::warnings() const {
  if (!state_->contents.is_changed) return {};
  return {std::string(detail::changed_attributes)};
}

ZARRPOINT_INLINE result<json> checkpoint::attributes(std::string_view name) const {
  return guarded([&]() -> result<json> {
    const json* found = nullptr;
    if (const detail::stored_leaf* leaf = find(name)) {
      found =
          leaf->zarr_format == 2 ? &leaf->attributes : leaf->document->content().find("attributes");
    } else if (name.empty()) {
      found = &attributes();
    } else if (has_group(name)) {
      found = detail::find_sorted(state_->contents.group_attributes, name);
    } else {
      return no_such("leaf or group", "attributes of", name);
    }
    auto parsed = detail::parse_attributes(found != nullptr ? *found : json());
    if (!parsed) return failed("attributes of", name, std::move(parsed).failure());
    return parsed;
  });
}

ZARRPOINT_INLINE const context& checkpoint::how() const noexcept { return state_->how; }

ZARRPOINT_INLINE std::size_t checkpoint::size() const noexcept {
  return state_->contents.leaves.size();
}

ZARRPOINT_INLINE std::vector<std::string> checkpoint::names() const {
  std::vector<std::string> out;
  out.reserve(size());
  for (const detail::stored_leaf& leaf : state_->contents.leaves) out.push_back(leaf.name);
  return out;
}

ZARRPOINT_INLINE std::vector<std::string> checkpoint::empty_groups() const {
  return state_->contents.groups;
}

ZARRPOINT_INLINE std::string_view checkpoint::typestr(std::string_view name) const {
  const detail::stored_leaf* leaf = find(name);
  return leaf != nullptr ? std::string_view(leaf->typestr) : std::string_view();
}

ZARRPOINT_INLINE result<leaf_metadata> checkpoint::metadata(std::string_view name) const {
  return with_leaf("metadata of", name,
                   [&](const detail::stored_leaf& leaf) -> result<leaf_metadata> {
                     ZARRPOINT_TRY(source, open_leaf(leaf));
                     leaf_metadata out{.name = leaf.name,
                                       .typestr = leaf.typestr,
                                       .spec = source.spec(),
                                       .chunk_shape = source.layout().chain().chunk_spec().shape,
                                       .shard_shape = source.metadata().chunk_shape,
                                       .codecs = source.metadata().codecs,
                                       .zarr_format = leaf.zarr_format,
                                       .attributes = source.metadata().attributes};
                     ZARRPOINT_TRY(inner, inner_codecs(source.metadata()));
                     out.codecs = std::move(inner);
                     if (state_->contents.is_ours()) {
                       out.stored_bytes = 0;
                       for (const auto& [key, object] : leaf.objects.objects())
                         *out.stored_bytes += object.size;
                     }
                     return out;
                   });
}

ZARRPOINT_INLINE result<array> checkpoint::as_array(std::string_view name) const {
  return with_leaf("open", name, [&](const detail::stored_leaf& leaf) { return open_leaf(leaf); });
}

ZARRPOINT_INLINE const detail::stored_leaf* checkpoint::find(std::string_view name) const {
  const auto& leaves = state_->contents.leaves;
  const auto at = std::lower_bound(
      leaves.begin(), leaves.end(), name,
      [](const detail::stored_leaf& leaf, std::string_view wanted) { return leaf.name < wanted; });
  return at != leaves.end() && at->name == name ? &*at : nullptr;
}

ZARRPOINT_INLINE bool checkpoint::contains(std::string_view name) const {
  return find(name) != nullptr;
}

ZARRPOINT_INLINE result<const detail::stored_leaf*> checkpoint::leaf_named(
    std::string_view action, std::string_view name) const {
  const detail::stored_leaf* leaf = find(name);
  if (leaf != nullptr) return leaf;
  return no_such("leaf", action, name);
}

ZARRPOINT_INLINE error checkpoint::no_such(std::string_view kind, std::string_view action,
                                           std::string_view name) const {
  std::string text(action);
  text.append(" ").append(detail::in_quotes(name)).append(": ").append(state_->name);
  text.append(" has no such ").append(kind);
  const auto& leaves = state_->contents.leaves;
  for (std::size_t i = 0; i < leaves.size() && i < 8; ++i)
    text.append(i == 0 ? "; it has " : ", ").append(detail::in_quotes(leaves[i].name));
  if (leaves.size() > 8)
    text.append(" and ").append(std::to_string(leaves.size() - 8)).append(" more");
  return error{errc::not_found, std::move(text)};
}

ZARRPOINT_INLINE bool checkpoint::has_group(std::string_view name) const {
  const std::string prefix = std::string(name) + "/";
  const auto& leaves = state_->contents.leaves;
  const auto& groups = state_->contents.groups;
  const auto leaf = std::lower_bound(
      leaves.begin(), leaves.end(), prefix,
      [](const detail::stored_leaf& one, const std::string& wanted) { return one.name < wanted; });
  if (leaf != leaves.end() && leaf->name.starts_with(prefix)) return true;
  const auto group = std::lower_bound(groups.begin(), groups.end(), name);
  if (group != groups.end() && *group == name) return true;
  const auto within = std::lower_bound(groups.begin(), groups.end(), prefix);
  return within != groups.end() && within->starts_with(prefix);
}

ZARRPOINT_INLINE result<void> checkpoint::check_group(std::string_view name) const {
  if (contains(name))
    return failed("load", name,
                  {errc::shape_mismatch, detail::in_quotes(name) + " is an array, not a group"});
  if (name.empty() || has_group(name)) return {};
  return no_such("group", "load", name);
}

ZARRPOINT_INLINE error checkpoint::failed(std::string_view action, std::string_view name,
                                          error failure) const {
  // Errors of an array begin with its place; a name could stand anywhere in a text.
  if (!failure.message.starts_with("array ")) failure.at(state_->name);
  std::string place(action);
  return std::move(failure).at(place.append(" ").append(detail::in_quotes(name)));
}

ZARRPOINT_INLINE const std::string& checkpoint::kind_of_leaf(const detail::stored_leaf& leaf) {
  return leaf.typestr;
}

ZARRPOINT_INLINE result<array> checkpoint::open_leaf(const detail::stored_leaf& leaf) const {
  const auto parsed = [&]() -> result<array_metadata> {
    const json& document = leaf.document->content();
    return leaf.zarr_format == 2 ? parse_array_v2(document, &leaf.attributes)
                                 : parse_array_v3(document);
  };
  const auto made = [&](const store_key& key) -> result<array> {
    result<array_metadata> metadata = parsed();
    if (!metadata) {
      error why = std::move(metadata).failure();
      // What a file of another format holds says why it is not read.
      const json* from = leaf.document->content().find("attributes");
      if (leaf.zarr_format == 2) from = &leaf.attributes;
      from = from == nullptr ? nullptr : from->find("unread");
      if (from != nullptr && from->if_string() != nullptr)
        why.message.append(": ").append(*from->if_string());
      return std::move(why).at("array " + state_->store.describe(key));
    }
    return array::from_metadata(state_->store, key, *std::move(metadata), state_->how);
  };
  ZARRPOINT_TRY(key, store_key::parse(leaf.name));
  // What nobody shares is not kept. A leaf with a `.zattrs` has metadata of its own.
  const bool is_shared = leaf.document.use_count() > 1 && leaf.attributes.is_null();
  ZARRPOINT_TRY(opened, is_shared ? leaf.document->array_at(key, made) : made(key));
  if (!state_->contents.is_ours()) return std::move(opened);
  return opened.expecting(std::shared_ptr<const chunk_digests>(state_, &leaf.objects), *state_);
}

ZARRPOINT_INLINE result<array> checkpoint::open_leaf(const detail::stored_leaf& leaf,
                                                     const load_options& options) const {
  if (options.report != nullptr) options.report->begin(leaf.name, this, options);
  if (options.rules_must_match) {
    for (const load_rule& rule : options.rules) {
      bool matches = false;
      for (const detail::stored_leaf& one : contents().leaves)
        matches = matches || detail::glob_match(rule.glob, one.name);
      if (!matches) return error{errc::invalid_argument, detail::unmatched_rule(rule.glob)};
    }
  }
  return open_leaf(leaf);
}

ZARRPOINT_INLINE result<load_options> checkpoint::options_of_each(
    const load_options& options) const {
  load_options out = options;
  if (!std::exchange(out.rules_must_match, false)) return out;
  const auto name_of = [](const detail::stored_leaf& leaf) { return std::string_view(leaf.name); };
  ZARRPOINT_CHECK(detail::for_unmatched(options.rules, contents().leaves, name_of,
                                        [](std::string text) -> result<void> {
                                          return error{errc::invalid_argument, std::move(text)};
                                        }));
  return out;
}

ZARRPOINT_INLINE void checkpoint::loaded(const load_options& options,
                                         const detail::stored_leaf& leaf, const tensor_spec& made) {
  if (options.report != nullptr) options.report->end(leaf.name, made);
}

ZARRPOINT_INLINE read_options checkpoint::options_of(const load_options& options) const {
  read_options out;
  if (!options.allow_missing_chunks) out.missing = missing_chunks::error;
  out.checksums = options.verify;
  out.device_verify = options.device_verify;
  out.cast = true;  // asked for only when it is allowed, or the types are the same
  out.made = whole_;
  return out;
}

ZARRPOINT_INLINE result<std::vector<codec_spec>> checkpoint::inner_codecs(
    const array_metadata& metadata) {
  for (const codec_spec& codec : metadata.codecs) {
    if (codec.name != sharding_config::name) continue;
    ZARRPOINT_TRY(config, sharding_config::from_configuration(codec.configuration));
    return std::move(config.codecs);
  }
  return metadata.codecs;
}

ZARRPOINT_INLINE scratch_account checkpoint::new_account() const {
  return scratch_account(*state_->how.scratch);
}

ZARRPOINT_INLINE result<void> checkpoint::charge(const tensor_spec& spec,
                                                 scratch_account& to) const {
  if (whole_ != nullptr) return {};
  return detail::charge_tensor(spec, to);
}

ZARRPOINT_INLINE checkpoint checkpoint::counting_in(scratch_account& whole) const {
  checkpoint out = *this;
  out.whole_ = &whole;
  return out;
}

ZARRPOINT_INLINE result<tensor> checkpoint::read_bytes(const array& source,
                                                       const load_options& options) const {
  if (source.spec().type != dtype_kind::uint8 || source.spec().shape.rank() != 1)
    return error{errc::dtype_mismatch,
                 "stored as " + to_string(source.spec()) + ", wanted bytes (uint8 of rank 1)"};
  return source.read(box::whole(source.spec().shape), options_of(options));
}

ZARRPOINT_INLINE auto checkpoint::view_or_copy(std::string_view name, dtype type, bool verify) const
    -> result<viewed> {
  return with_leaf("view", name, [&](const detail::stored_leaf& leaf) -> result<viewed> {
    ZARRPOINT_TRY(source, open_leaf(leaf));
    ZARRPOINT_CHECK(detail::check_type(source.spec().type, type, {}));
    read_options options = options_of({});
    options.checksums = verify;
    ZARRPOINT_TRY(mapped, source.view(options));
    if (mapped) return viewed{std::move(mapped), {}};
    ZARRPOINT_TRY(owned, source.read(box::whole(source.spec().shape), options_of({})));
    return viewed{std::nullopt, std::move(owned)};
  });
}

ZARRPOINT_INLINE result<checkpoint> open(const location& where, const context& how) {
  return checkpoint::open(where, how);
}

namespace detail {

/// The topmost groups and arrays of a store whose root is none: eight at most, of the first hundred
/// directories.
ZARRPOINT_INLINE std::vector<std::string> hierarchies_in(const any_store& store) {
  std::vector<std::string> out;
  std::vector<std::string> open{""};
  for (std::size_t i = 0; i < open.size() && i < 100; ++i) {
    const auto at = store_key::parse(open[i]);
    const auto children = at ? store.list(*at) : result<std::vector<list_entry>>(at.failure());
    if (!children) continue;
    const auto is_document = [](const list_entry& child) {
      return child.name == "zarr.json" || child.name == ".zgroup" || child.name == ".zarray";
    };
    if (std::any_of(children->begin(), children->end(), is_document)) {
      out.push_back(open[i]);
      if (out.size() == 8) break;
      continue;
    }
    for (const list_entry& child : *children)
      if (child.is_prefix)
        open.push_back(open[i].empty() ? child.name : open[i] + '/' + child.name);
  }
  return out;
}

ZARRPOINT_INLINE error name_hierarchies(error failure, const any_store& store,
                                        const std::string& place) {
  if (failure.code != errc::not_found) return failure;
  const std::vector<std::string> found = hierarchies_in(store);
  if (found.empty()) return failure;
  std::string first = place;
  first = in_quotes(first.append(place.ends_with('/') ? "" : "/").append(found[0]));
  if (found.size() == 1) {
    failure.message.append("; open ").append(first).append(", which lies beneath it");
    return failure;
  }
  failure.message += "; beneath it are";
  for (std::size_t i = 0; i < found.size(); ++i)
    failure.message.append(i == 0 ? " " : ", ").append(in_quotes(found[i]));
  failure.message.append(": open one of them, as ").append(first);
  return failure;
}

// ---------------------------------------------------------------------------------- load_batch.hpp

/// Of several leaves that are not there one error says which, and not the first alone.
ZARRPOINT_INLINE error with_missing(error failure, const checkpoint& from,
                                    std::span<const bound_target* const> targets) {
  if (failure.code != errc::not_found) return failure;
  constexpr std::size_t most_named = 16;
  std::string text;
  std::size_t missing = 0;
  for (const bound_target* one : targets) {
    if (from.contains(one->name) || ++missing > most_named) continue;
    text += (missing == 1 ? "" : ", ") + in_quotes(one->name);
  }
  if (missing < 2) return failure;
  failure.message += "; " + std::to_string(missing) + " of the " + std::to_string(targets.size()) +
                     " leaves are missing: " + text;
  if (missing > most_named)
    failure.message += " and " + std::to_string(missing - most_named) + " more";
  return failure;
}

ZARRPOINT_INLINE result<void> load_targets(const checkpoint& from,
                                           std::span<const bound_target* const> targets,
                                           const load_options& options) {
  for (const bound_target* one : targets) one->mark(false);
  ZARRPOINT_TRY(each, checkpoint_access::options_of_each(from, options));
  std::vector<const bound_target*> left(targets.begin(), targets.end());
  std::vector<const bound_target*> together;
  while (!left.empty()) {
    const auto load = left.front()->table->load;
    together.clear();
    std::erase_if(left, [&](const bound_target* one) {
      if (one->table->load != load) return false;
      together.push_back(one);
      return true;
    });
    result<void> done = load({from, each, together});
    if (!done) return with_missing(std::move(done).failure(), from, targets);
  }
  return {};
}

}  // namespace detail

// ------------------------------------------------------------------------------- load_into_all.hpp

ZARRPOINT_INLINE result<void> load_into_all(const checkpoint& from,
                                            std::span<const load_target> targets,
                                            const load_options& options) {
  return guarded([&]() -> result<void> {
    std::vector<const detail::bound_target*> bound;
    bound.reserve(targets.size());
    for (const load_target& one : targets) bound.push_back(&one.bound());
    return detail::load_targets(from, bound, options);
  });
}

ZARRPOINT_INLINE result<void> load_into_all(const checkpoint& from,
                                            std::initializer_list<load_target> targets,
                                            const load_options& options) {
  return load_into_all(from, std::span<const load_target>(targets.begin(), targets.size()),
                       options);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/checkpoint/bodies.hpp>
#include <zarrpoint/checkpoint/document/bodies.hpp>
#include <zarrpoint/handler/bodies.hpp>
#endif
