// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/contents.hpp>
#include <zarrpoint/checkpoint/default_context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/mapped_tensor.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/read_leaf.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/handler/diagnose.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/handler/type_handler.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

namespace detail {
struct checkpoint_access;
enum class plain_braces {};  ///< what `{}` is taken for rather than for any class
}  // namespace detail

/// What a checkpoint says about a leaf without reading its data.
struct leaf_metadata {
  std::string name;
  std::string typestr;  ///< of the handler that saved it; empty when others wrote it
  tensor_spec spec;
  dims chunk_shape;  ///< the unit of reading
  dims shard_shape;  ///< the unit of storage; the chunk's own when there are no shards
  std::vector<codec_spec> codecs;  ///< of a chunk
  std::optional<std::uint64_t>
      stored_bytes{};  ///< of all its objects; nothing when others wrote it
  int zarr_format = 3;
};

/// An open checkpoint: one of ours, or any Zarr hierarchy. A cheap handle; all members may be
/// called from any number of threads.
class checkpoint {
 public:
  /// Opens the hierarchy at `where`: one metadata document is read if it is ours or consolidated,
  /// else the store is listed. Errors: see `read_contents`.
  template <class = void>
  static result<checkpoint> open(const location& where, const context& how = default_context()) {
    ZARRPOINT_TRY(place, location_access::to_read(where, how.stores));
    const auto opened = [&]() -> result<checkpoint> {
      any_store store =
          place.key.is_root() ? place.store : any_store(prefix_store(place.store, place.key));
      ZARRPOINT_TRY(contents, read_contents(store, how));
      return checkpoint(std::make_shared<const state>(
          state{std::move(store), with_scratch(how), std::move(contents), where.name()}));
    };
    return opened().at("open " + where.name());
  }

  /// Identifies the save that made it; empty when others did.
  const std::string& id() const noexcept { return state_->contents.id; }
  /// The root group's attributes, without our own.
  const node& attributes() const noexcept { return state_->contents.attributes; }
  /// How it was opened.
  const context& how() const noexcept { return state_->how; }
  std::size_t size() const noexcept { return state_->contents.leaves.size(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// The names of all leaves, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    out.reserve(size());
    for (const stored_leaf& leaf : state_->contents.leaves) out.push_back(leaf.name);
    return out;
  }

  /// The stored kind of a leaf, such as "array"; empty where others wrote it, or there is none.
  std::string_view typestr(std::string_view name) const {
    const stored_leaf* leaf = find(name);
    return leaf != nullptr ? std::string_view(leaf->typestr) : std::string_view();
  }

  /// What is known of a leaf before its data are read. Errors: `not_found`, `corrupt`,
  /// `unsupported` naming the data type or codec.
  template <class = void>
  result<leaf_metadata> metadata(std::string_view name) const {
    return with_leaf("metadata of", name, [&](const stored_leaf& leaf) -> result<leaf_metadata> {
      ZARRPOINT_TRY(source, open_leaf(leaf));
      leaf_metadata out{.name = leaf.name,
                        .typestr = leaf.typestr,
                        .spec = source.spec(),
                        .chunk_shape = source.layout().chain().chunk_spec().shape,
                        .shard_shape = source.metadata().chunk_shape,
                        .codecs = source.metadata().codecs,
                        .zarr_format = leaf.zarr_format};
      ZARRPOINT_TRY(inner, inner_codecs(source.metadata()));
      out.codecs = std::move(inner);
      if (state_->contents.is_ours()) {
        out.stored_bytes = 0;
        for (const auto& [key, object] : leaf.objects.objects()) *out.stored_bytes += object.size;
      }
      return out;
    });
  }

  /// The leaf as a `T`, which owns its memory. Refused before a chunk is read: `dtype_mismatch`
  /// (unless a cast is allowed), `shape_mismatch`, `resource_limit`. Then `corrupt`, `not_found`,
  /// `io`, naming the object and the chunk: never a silent fill value for lost data.
  template <class T>
  result<T> load(std::string_view name, const load_options& options = {}) const {
    using handler = handler_of<T>;
    if constexpr (blob_handler<handler, T>) {
      return load_as<T, handler>(name, options);
    } else {
      detail::require_loadable<T>();
      return load_as<T, handler>(name, options);
    }
  }

  /// The same in a place that the caller names, such as `{.space = stream.space()}`: memory of a
  /// resource, or of a device, on whose stream all is done. `load` returns when the elements are
  /// there.
  template <class T>
  result<T> load(std::string_view name, const place<space_of_t<T>>& where,
                 const load_options& options = {}) const {
    detail::require_loadable<T>();
    return with_leaf("load", name, [&](const stored_leaf& leaf) -> result<T> {
      ZARRPOINT_TRY(source, open_leaf(leaf));
      return load_from<T, handler_of<T>>(leaf, source, options, where);
    });
  }

  /// The same with plain braces, `load<T>(name, {})`: the default options.
  template <class T>
  result<T> load(std::string_view name, detail::plain_braces) const {
    return load<T>(name);
  }

  /// The same by a handler of the caller's choice.
  template <class T, class Handler>
  result<T> load_as(std::string_view name, const load_options& options = {}) const {
    return with_leaf("load", name, [&](const stored_leaf& leaf) -> result<T> {
      ZARRPOINT_TRY(source, open_leaf(leaf));
      return load_from<T, Handler>(leaf, source, options);
    });
  }

  /// The same in the background, by the executor of the context it was opened with. Waits when it
  /// is destroyed.
  template <class T>
  pending<T> load_async(std::string_view name, const load_options& options = {}) const {
    return run_async(state_->how.executor, [self = *this, name = std::string(name), options] {
      return self.template load<T>(name, options);
    });
  }

  /// The leaf, as the type that `Registry` gives for its stored kind and dtype.
  template <class Registry>
  result<typename Registry::value> load_any(std::string_view name,
                                            const load_options& options = {}) const {
    using value = typename Registry::value;
    return with_leaf("load", name, [&](const stored_leaf& leaf) -> result<value> {
      ZARRPOINT_TRY(source, open_leaf(leaf));
      ZARRPOINT_TRY(wanted, wanted_spec(source, name, options));
      return Registry::dispatch(leaf.typestr, wanted, [&](auto entry) -> result<value> {
        using type = typename decltype(entry)::type;
        load_options by = options;
        if constexpr (detail::entry_traits<decltype(entry)>::casts) by.cast = true;
        ZARRPOINT_TRY(loaded,
                      (load_from<type, typename decltype(entry)::handler>(leaf, source, by)));
        return value(std::in_place_type<type>, std::move(loaded));
      });
    });
  }

  /// The leaf into memory that the caller has: a tensor of the same shape, or a flat target such as
  /// a span with as many elements. Errors: as `load`. After an error its contents are unspecified.
  /// Elements on a device are there when it returns.
  template <class T>
  result<void> load_into(std::string_view name, T&& target,
                         const load_options& options = {}) const {
    detail::require_fillable<T>();
    detail::mark_loaded<handler_of<T>>(target, false);
    return with_leaf("load", name, [&](const stored_leaf& leaf) -> result<void> {
      ZARRPOINT_TRY(source, open_leaf(leaf));
      ZARRPOINT_TRY(wanted, wanted_spec(source, name, options));
      ZARRPOINT_TRY(view, target_view(std::forward<T>(target), wanted));
      ZARRPOINT_CHECK(check_type(wanted.type, view.type, options));
      ZARRPOINT_CHECK(detail::read_to_space(source, view, options_of(options)));
      detail::mark_loaded<handler_of<T>>(target, true);
      return {};
    });
  }

  /// The elements where they lie in the file, when they are stored raw in one piece and the store
  /// can map them; otherwise a copy (`is_zero_copy` tells). A mapping is not verified unless
  /// `verify` is set, since that reads all of it. Errors: `dtype_mismatch`, and those of `load`.
  template <element T>
  result<mapped_tensor<T>> view(std::string_view name, bool verify = false) const {
    return with_leaf("view", name, [&](const stored_leaf& leaf) -> result<mapped_tensor<T>> {
      ZARRPOINT_TRY(source, open_leaf(leaf));
      ZARRPOINT_CHECK(check_type(source.spec().type, dtype_of<T>, {}));
      read_options options = options_of({});
      options.checksums = verify;
      ZARRPOINT_TRY(mapped, source.view(options));
      if (mapped) return mapped_tensor<T>(*std::move(mapped));
      ZARRPOINT_TRY(owned, source.read(box::whole(source.spec().shape), options_of({})));
      return mapped_tensor<T>(std::move(owned));
    });
  }

  /// The leaf's array, for reading boxes of it: as strict as `load`, so that each inner chunk that
  /// a box touches is read and verified as a whole.
  template <class = void>
  result<array> as_array(std::string_view name) const {
    return with_leaf("open", name, [&](const stored_leaf& leaf) { return open_leaf(leaf); });
  }

 private:
  friend struct detail::checkpoint_access;

  struct state {
    any_store store;
    context how;
    checkpoint_contents contents;
    std::string name;
  };
  explicit checkpoint(std::shared_ptr<const state> opened) : state_(std::move(opened)) {}

  const stored_leaf* find(std::string_view name) const {
    const auto& leaves = state_->contents.leaves;
    const auto at = std::lower_bound(
        leaves.begin(), leaves.end(), name,
        [](const stored_leaf& leaf, std::string_view wanted) { return leaf.name < wanted; });
    return at != leaves.end() && at->name == name ? &*at : nullptr;
  }

  template <class F>
  auto with_leaf(std::string_view action, std::string_view name, F&& f) const
      -> std::invoke_result_t<F, const stored_leaf&> {
    const stored_leaf* leaf = find(name);
    const auto what = [&] { return std::string(action) + " " + detail::in_quotes(name); };
    if (leaf == nullptr) {
      std::string text = state_->name + " has no such leaf";
      const auto& leaves = state_->contents.leaves;
      for (std::size_t i = 0; i < leaves.size() && i < 8; ++i)
        text += (i == 0 ? "; it has " : ", ") + detail::in_quotes(leaves[i].name);
      if (leaves.size() > 8) text += " and " + std::to_string(leaves.size() - 8) + " more";
      return error{errc::not_found, std::move(text)}.at(what());
    }
    auto out = std::forward<F>(f)(*leaf);
    if (out) return out;
    error failure = std::move(out).failure();
    // Errors of an array begin with its place; a name could stand anywhere in a text.
    if (!failure.message.starts_with("array ")) failure.at(state_->name);
    return std::move(failure).at(what());
  }

  template <class = void>
  result<array> open_leaf(const stored_leaf& leaf) const {
    const auto parsed = [&]() -> result<array_metadata> {
      const node& document = leaf.document->content();
      return leaf.zarr_format == 2 ? parse_array_v2(document, &leaf.attributes)
                                   : parse_array_v3(document);
    };
    const auto made = [&](const store_key& key) -> result<array> {
      result<array_metadata> metadata = parsed();
      if (!metadata)
        return std::move(metadata).failure().at("array " + state_->store.describe(key));
      return array::from_metadata(state_->store, key, *std::move(metadata), state_->how);
    };
    ZARRPOINT_TRY(key, store_key::parse(leaf.name));
    // What nobody shares is not kept.
    ZARRPOINT_TRY(opened,
                  leaf.document.use_count() > 1 ? leaf.document->array_at(key, made) : made(key));
    if (!state_->contents.is_ours()) return std::move(opened);
    return opened.expecting(std::shared_ptr<const chunk_digests>(state_, &leaf.objects));
  }

  read_options options_of(const load_options& options) const {
    read_options out;
    if (!options.allow_missing_chunks) out.missing = missing_chunks::error;
    out.checksums = options.verify;
    out.cast = true;  // asked for only when it is allowed, or the types are the same
    return out;
  }

  template <class T, class Handler>
  result<T> load_from(const stored_leaf& leaf, const array& source,
                      const load_options& options) const {
    if constexpr (blob_handler<Handler, T>) {
      ZARRPOINT_TRY(bytes, read_bytes(source, options));
      return Handler::from_bytes(bytes_of(bytes));
    } else {
      return load_from<T, Handler>(leaf, source, options, place<typename Handler::space>{});
    }
  }

  template <class T, class Handler, class Space>
  result<T> load_from(const stored_leaf& leaf, const array& source, const load_options& options,
                      const place<Space>& where) const {
    ZARRPOINT_TRY(made, (make_for<T, Handler>(leaf, source, options, where)));
    ZARRPOINT_CHECK(detail::read_to_space(source, Handler::writable(made), options_of(options)));
    detail::mark_loaded<Handler>(made, true);
    return std::move(made);
  }

  /// A value for the leaf, not filled yet.
  template <class T, class Handler, class Space>
  result<T> make_for(const stored_leaf& leaf, const array& source, const load_options& options,
                     place<Space> where) const {
    ZARRPOINT_TRY(wanted, wanted_spec(source, leaf.name, options));
    constexpr dtype type = handler_dtype<Handler>();
    if constexpr (type.valid()) {
      ZARRPOINT_CHECK(check_type(wanted.type, type, options));
      wanted.type = type;
    }
    if constexpr (Space::host_accessible) ZARRPOINT_CHECK(check_budget(wanted));
    if (where.resource == nullptr) where.resource = state_->how.resource;
    ZARRPOINT_TRY(made, Handler::make(wanted, where));
    detail::mark_loaded<Handler>(made, false);
    return std::move(made);
  }

  template <class = void>
  static result<std::vector<codec_spec>> inner_codecs(const array_metadata& metadata) {
    for (const codec_spec& codec : metadata.codecs) {
      if (codec.name != sharding_config::name) continue;
      ZARRPOINT_TRY(config, sharding_config::from_configuration(codec.configuration));
      return std::move(config.codecs);
    }
    return metadata.codecs;
  }

  /// The stored spec, but for the dtype and the shape that rules ask for.
  static result<tensor_spec> wanted_spec(const array& source, std::string_view name,
                                         const load_options& options) {
    tensor_spec spec = source.spec();
    if (const dtype* cast = detail::last_set(options.rules, name, &load_rule::cast)) {
      ZARRPOINT_CHECK(detail::check_cast(spec.type, *cast));
      spec.type = *cast;
    }
    const dims* shape = detail::last_set(options.rules, name, &load_rule::shape);
    if (shape == nullptr) return spec;
    if (shape->rank() != spec.shape.rank())
      return error{errc::shape_mismatch, "stored shape is " + to_string(spec.shape) +
                                             ", the rule wants " + to_string(*shape)};
    spec.shape = *shape;
    return spec;
  }

  static result<void> check_type(dtype stored, dtype wanted, const load_options& options) {
    if (stored == wanted) return {};
    if (options.cast) return detail::check_cast(stored, wanted);
    return error{errc::dtype_mismatch, "stored dtype is " + std::string(to_string(stored)) +
                                           ", wanted " + std::string(to_string(wanted)) +
                                           "; load_options::cast converts"};
  }

  result<void> check_budget(const tensor_spec& spec) const {
    ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
    if (bytes > state_->how.limit.memory)
      return error{errc::resource_limit, to_string(spec) + " has " + std::to_string(bytes) +
                                             " bytes, more than limits::memory of " +
                                             std::to_string(state_->how.limit.memory)};
    return {};
  }

  template <class = void>
  result<tensor> read_bytes(const array& source, const load_options& options) const {
    if (source.spec().type != dtype_kind::uint8 || source.spec().shape.rank() != 1)
      return error{errc::dtype_mismatch,
                   "stored as " + to_string(source.spec()) + ", wanted bytes (uint8 of rank 1)"};
    return source.read(box::whole(source.spec().shape), options_of(options));
  }

  static bytes_view bytes_of(const tensor& from) {
    return {from.view().data, static_cast<std::size_t>(element_count(from.shape()).value_or(0))};
  }

  std::shared_ptr<const state> state_;
};

/// Opens a checkpoint; see `checkpoint::open`.
template <class = void>
result<checkpoint> open(const location& where, const context& how = default_context()) {
  return checkpoint::open(where, how);
}

}  // namespace zarrpoint::inline v0
