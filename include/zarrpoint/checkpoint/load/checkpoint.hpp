// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/value_transfer.hpp>
#include <zarrpoint/checkpoint/load/mapped_tensor.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The facts that a checkpoint has of a leaf, without reading its data.
struct leaf_metadata {
  std::string name;
  std::string typestr;  ///< the kind, as its handler wrote it; empty when others wrote it
  tensor_spec spec;
  dims chunk_shape;  ///< the unit of reading
  dims shard_shape;  ///< the unit of storage; the chunk's own when there are no shards
  std::vector<codec_spec> codecs;  ///< the chain of a chunk
  std::optional<std::uint64_t>
      stored_bytes{};  ///< bytes of all its objects; nothing when others wrote it
  int zarr_format = 3;
  json attributes{};  ///< an object, or null for none
};

namespace detail {
struct checkpoint_access;
struct checkpoint_contents;
struct checkpoint_state;
template <class Registry>
class member_loader;
struct stored_leaf;
enum class plain_braces {};  ///< what `{}` is taken for rather than for any class
}  // namespace detail

class checkpoint;

namespace detail {
/// Defined in checkpoint/load/load_members.hpp.
template <class T, class Registry>
result<T> load_members(const checkpoint& from, std::string_view name, const load_options& options);
}  // namespace detail

/// An open checkpoint: one of ours, or any Zarr hierarchy. A cheap handle; all members may be
/// called from any number of threads.
class checkpoint {
 public:
  /// Opens the hierarchy at `where`. One metadata document is read if it is ours, or if it is
  /// consolidated and the store is not cheap to list (`lists_cheaply`); else the store is listed.
  /// Errors: see `read_contents`.
  static result<checkpoint> open(const location& where, const context& how = default_context());

  /// Identifies the save that made it; empty when others did.
  const std::string& id() const noexcept;
  /// The name of the format that holds it: "GGUF 3", "torch.save", "Orbax checkpoint", "Zarr v3
  /// checkpoint of zarrpoint", "Zarr v2 hierarchy".
  std::string format() const;
  /// The root group's attributes, without our own.
  const json& attributes() const noexcept;
  /// The attributes of a leaf, or of a group below the root: an object, or null for none. Reads
  /// nothing. Errors: `not_found`; `corrupt` where others wrote something else than an object.
  result<json> attributes(std::string_view name) const;
  /// Doubts about it that do not keep it from being loaded: attributes of the root that
  /// are not those that were saved. Empty in hierarchies of others, which have no checksum of them.
  std::vector<std::string> warnings() const;
  /// How it was opened.
  const context& how() const noexcept;
  std::size_t size() const noexcept;
  bool contains(std::string_view name) const;

  /// The names of all leaves, sorted.
  std::vector<std::string> names() const;

  /// The names of the groups that hold no leaf, such as an empty map, sorted.
  std::vector<std::string> empty_groups() const;

  /// The stored kind of a leaf, such as "array"; empty where others wrote it, or there is none.
  std::string_view typestr(std::string_view name) const;

  /// The facts of a leaf, before its data are read. Errors: `not_found`, `corrupt`,
  /// `unsupported` naming the data type or codec.
  result<leaf_metadata> metadata(std::string_view name) const;

  /// The leaf as a `T`, which owns its memory. Refused before a chunk is read: `dtype_mismatch`
  /// (unless a cast is allowed), `shape_mismatch`, `resource_limit`. Then `corrupt`, `not_found`,
  /// `io`, naming the object and the chunk: never a silent fill value for lost data.
  template <class T>
  result<T> load(std::string_view name, const load_options& options = {}) const {
    return load_in<T, detail::own_handlers>(name, options);
  }

  /// Loads by the handlers that a registry has for `T` and for the types of its members, or by a
  /// type's own if the registry has none.
  template <class T, type_registry Registry>
  result<T> load(std::string_view name, const load_options& options = {}) const {
    return load_in<T, Registry>(name, options);
  }

  /// Loads to a place that the caller names, such as `{.space = stream.space()}`: memory of a
  /// resource, or of a device, on whose stream all is done. `load` returns when the elements are
  /// there.
  template <class T>
  result<T> load(std::string_view name, const place<space_of_t<T>>& where,
                 const load_options& options = {}) const {
    detail::require_loadable<T>();
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<T> {
      ZARRPOINT_TRY(source, open_leaf(leaf, options));
      return load_from<T, handler_of<T>>(leaf, source, options, where);
    });
  }

  /// The elements that `part` selects, as a `T`: `load<std::vector<float>>("w", box({8}, {4}))`. A
  /// flat type, such as a `std::vector`, takes a part of any shape. Each inner chunk that the part
  /// touches is read and verified; a rule's `shape` does not apply. Errors: as `load`;
  /// `out_of_range` for a part that leaves the array.
  template <class T, std::convertible_to<selection> Part>
  result<T> load(std::string_view name, const Part& part, const load_options& options = {}) const {
    detail::require_loadable<T>();
    static_assert(loadable<T>, "zarrpoint: what is stored as bytes of its own has no parts");
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<T> {
      using handler = handler_of<T>;
      using space = typename handler::space;
      constexpr dtype type = detail::handler_dtype<handler>();  // as in `load_from`
      ZARRPOINT_TRY(source, open_leaf(leaf, options));
      ZARRPOINT_TRY(wanted, detail::wanted_part(leaf, source, part, options));
      if constexpr (type.valid()) {
        ZARRPOINT_CHECK(detail::check_type(wanted.type, type, options));
        wanted.type = type;
      }
      scratch_account counted = new_account();
      if constexpr (space::host_accessible) ZARRPOINT_CHECK(charge(wanted, counted));
      if constexpr (detail::handler_is_flat<handler>() && detail::handler_rank<handler>() == 1) {
        ZARRPOINT_TRY(count, element_count(wanted.shape));
        wanted.shape = {count};
      }
      ZARRPOINT_TRY(made, handler::make(wanted, place<space>{how().resource, {}}));
      ZARRPOINT_CHECK(
          (detail::read_part_into<handler, T>(source, part, made, options_of(options))));
      loaded(options, leaf, wanted);
      return std::move(made);
    });
  }

  /// Loads with plain braces, `load<T>(name, {})`: the default options.
  template <class T>
  result<T> load(std::string_view name, detail::plain_braces) const {
    return load<T>(name);
  }

  /// Loads by a handler of the caller's choice.
  template <class T, class Handler>
  result<T> load_as(std::string_view name, const load_options& options = {}) const {
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<T> {
      ZARRPOINT_TRY(source, open_leaf(leaf, options));
      return load_from<T, Handler>(leaf, source, options);
    });
  }

  /// Loads in the background, by the executor of the context it was opened with. Waits when it
  /// is destroyed.
  template <class T>
  pending<T> load_async(std::string_view name, const load_options& options = {}) const {
    auto begun = guarded([&]() -> result<pending<T>> {
      return run_async(how().executor, [self = *this, name = std::string(name), options] {
        return self.template load<T>(name, options);
      });
    });
    if (!begun) return pending<T>(std::move(begun).failure());
    return *std::move(begun);
  }

  /// The leaf, as the type that `Registry` gives for its stored kind and dtype.
  template <class Registry>
  result<typename Registry::value> load_any(std::string_view name,
                                            const load_options& options = {}) const {
    using value = typename Registry::value;
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<value> {
      ZARRPOINT_TRY(source, open_leaf(leaf, options));
      ZARRPOINT_TRY(wanted, detail::wanted_spec(source, name, options));
      return Registry::dispatch(kind_of_leaf(leaf), wanted, [&](auto entry) -> result<value> {
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
    return load_into_by<handler_of<T>, std::remove_reference_t<T>>(name, target, options);
  }

  /// The elements that `part` selects into memory that the caller has: a tensor of the part's
  /// shape, or a flat target with as many elements. Errors: as `load` of a part.
  template <class T>
  result<void> load_into(std::string_view name, const selection& part, T&& target,
                         const load_options& options = {}) const {
    detail::require_fillable<T>();
    using handler = handler_of<T>;
    detail::mark_loaded<handler>(target, false);
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<void> {
      ZARRPOINT_TRY(source, open_leaf(leaf, options));
      ZARRPOINT_TRY(wanted, detail::wanted_part(leaf, source, part, options));
      ZARRPOINT_TRY(view, detail::target_view(std::forward<T>(target), wanted));
      ZARRPOINT_CHECK(detail::check_type(wanted.type, view.type, options));
      ZARRPOINT_CHECK(detail::read_part(source, part, view, options_of(options)));
      loaded(options, leaf, view.spec());
      detail::mark_loaded<handler>(target, true);
      return {};
    });
  }

  /// The elements where they lie in the file, when they are stored raw in one piece and the store
  /// can map them; otherwise a copy (`is_zero_copy` tells). A mapping is not verified unless
  /// `verify` is set, since that reads all of it. Errors: `dtype_mismatch`, and those of `load`.
  template <element T>
  result<mapped_tensor<T>> view(std::string_view name, bool verify = false) const {
    return guarded([&]() -> result<mapped_tensor<T>> {
      ZARRPOINT_TRY(found, view_or_copy(name, dtype_of<T>, verify));
      if (found.mapped) return mapped_tensor<T>(*std::move(found.mapped));
      return mapped_tensor<T>(std::move(found.owned));
    });
  }

  /// The leaf's array, for reading boxes of it: as strict as `load`, so that each inner chunk that
  /// a box touches is read and verified as a whole.
  result<array> as_array(std::string_view name) const;

 private:
  struct viewed {
    std::optional<mapped_view> mapped;
    tensor owned;
  };
  result<viewed> view_or_copy(std::string_view name, dtype type, bool verify) const;
  friend struct detail::checkpoint_access;
  template <class Registry>
  friend class detail::member_loader;

  using state = detail::checkpoint_state;
  explicit checkpoint(std::shared_ptr<const state> opened) : state_(std::move(opened)) {}

  const detail::checkpoint_contents& contents() const noexcept;
  const any_store& store() const noexcept;
  /// Says of a failure that a save has replaced the checkpoint, if that is so: opens it again.
  error explain(error failure) const;
  /// One look at what is at a place, where a save may be at work.
  static result<checkpoint> look_at(const location& where, const context& how);

  const detail::stored_leaf* find(std::string_view name) const;

  /// The leaf of that name, or the error of the call that asked for it.
  result<const detail::stored_leaf*> leaf_named(std::string_view action,
                                                std::string_view name) const;
  /// The error of a call that asked for what is not there, a `kind` of node.
  error no_such(std::string_view kind, std::string_view action, std::string_view name) const;
  bool has_group(std::string_view name) const;
  /// Errors: `shape_mismatch` for a leaf of that name, `not_found` where there is no such group.
  result<void> check_group(std::string_view name) const;
  /// `failure` with the place and the action.
  error failed(std::string_view action, std::string_view name, error failure) const;
  static const std::string& kind_of_leaf(const detail::stored_leaf& leaf);

  template <class F>
  auto with_leaf(std::string_view action, std::string_view name, F&& f) const
      -> std::invoke_result_t<F, const detail::stored_leaf&> {
    return guarded([&]() -> std::invoke_result_t<F, const detail::stored_leaf&> {
      ZARRPOINT_TRY(found, leaf_named(action, name));
      auto out = guarded([&] { return std::forward<F>(f)(*found); });
      if (out) return out;
      return failed(action, name, std::move(out).failure());
    });
  }

  template <class T, class Registry>
  result<T> load_in(std::string_view name, const load_options& options) const {
    using handler = detail::handler_in<T, Registry>;
    if constexpr (group_handler<handler, T>) {
      return detail::load_members<T, Registry>(*this, name, options);
    } else {
      if constexpr (!blob_handler<handler, T> && !loading_handler<handler, T>)
        detail::require_loadable<T>();
      return load_as<T, handler>(name, options);
    }
  }

  template <class Handler, class T>
  result<void> load_into_by(std::string_view name, T& target, const load_options& options) const {
    detail::mark_loaded<Handler>(target, false);
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<void> {
      ZARRPOINT_TRY(source, open_leaf(leaf, options));
      ZARRPOINT_TRY(wanted, detail::wanted_spec(source, name, options));
      ZARRPOINT_TRY(view, (detail::target_view<Handler, T>(target, wanted)));
      ZARRPOINT_CHECK(detail::check_type(wanted.type, view.type, options));
      ZARRPOINT_CHECK(detail::read_to_space(source, view, options_of(options)));
      loaded(options, leaf, view.spec());
      detail::mark_loaded<Handler>(target, true);
      return {};
    });
  }

  result<array> open_leaf(const detail::stored_leaf& leaf) const;
  /// The same for a load, whose report begins. Errors: `invalid_argument` where a rule that must
  /// match a leaf matches none.
  result<array> open_leaf(const detail::stored_leaf& leaf, const load_options& options) const;
  /// The options for each leaf of a load of many, whose rules are checked once: here. Errors: as
  /// `open_leaf`.
  result<load_options> options_of_each(const load_options& options) const;
  /// Tells the report, if there is one, that a leaf is there.
  static void loaded(const load_options& options, const detail::stored_leaf& leaf,
                     const tensor_spec& made);

  read_options options_of(const load_options& options) const;

  template <class T, class Handler>
  result<T> load_from(const detail::stored_leaf& leaf, const array& source,
                      const load_options& options) const {
    if constexpr (blob_handler<Handler, T>) {
      scratch_account counted = new_account();
      ZARRPOINT_CHECK(charge(source.spec(), counted));
      ZARRPOINT_TRY(bytes, read_bytes(source, options));
      loaded(options, leaf, source.spec());
      return Handler::from_bytes(bytes_of(bytes));
    } else {
      return load_from<T, Handler>(leaf, source, options, place<typename Handler::space>{});
    }
  }

  template <class T, class Handler, class Space>
  result<T> load_from(const detail::stored_leaf& leaf, const array& source,
                      const load_options& options, const place<Space>& where) const {
    constexpr dtype type =
        detail::handler_dtype<Handler>();  // nvcc 13.0 crashes on it as an argument
    ZARRPOINT_TRY(wanted, detail::wanted_as(type, leaf, source, options));
    scratch_account counted = new_account();
    if constexpr (Space::host_accessible) ZARRPOINT_CHECK(charge(wanted, counted));
    ZARRPOINT_TRY(made, (make_value<T, Handler>(wanted, where)));
    ZARRPOINT_CHECK(detail::read_to_space(source, Handler::writable(made), options_of(options)));
    loaded(options, leaf, wanted);
    detail::mark_loaded<Handler>(made, true);
    return std::move(made);
  }

  /// A value of that spec, not filled yet.
  template <class T, class Handler, class Space>
  result<T> make_value(const tensor_spec& wanted, place<Space> where) const {
    if (where.resource == nullptr) where.resource = how().resource;
    ZARRPOINT_TRY(made, Handler::make(wanted, where));
    detail::mark_loaded<Handler>(made, false);
    return std::move(made);
  }

  static result<std::vector<codec_spec>> inner_codecs(const array_metadata& metadata);

  /// What `load_as<T, Handler>` makes of a leaf.
  template <class T, class Handler>
  result<tensor_spec> made_spec(std::string_view name, const load_options& options) const {
    return with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<tensor_spec> {
      constexpr dtype type = detail::handler_dtype<Handler>();  // as in `load_from`
      ZARRPOINT_TRY(source, open_leaf(leaf));
      if constexpr (blob_handler<Handler, T>) return source.spec();
      return detail::wanted_as(type, leaf, source, options);
    });
  }

  /// What a load makes for its caller, counted against `limits::memory` until it ends.
  scratch_account new_account() const;
  /// Counts a tensor, unless a larger operation has counted it. Errors: `resource_limit`.
  result<void> charge(const tensor_spec& spec, scratch_account& to) const;
  /// This, for loads of an operation that counts what they make in one account.
  checkpoint counting_in(scratch_account& whole) const;

  result<tensor> read_bytes(const array& source, const load_options& options) const;

  static bytes_view bytes_of(const tensor& from) {
    return {from.view().data, static_cast<std::size_t>(element_count(from.shape()).value_or(0))};
  }

  std::shared_ptr<const state> state_;
  scratch_account* whole_ = nullptr;  ///< of the operation that this one is part of
};

/// Opens a checkpoint; see `checkpoint::open`.
result<checkpoint> open(const location& where, const context& how = default_context());

/// Opens by a table of stores, such as `all_formats()` or `formats<gguf::format>()`, with the
/// threads of `default_context()`.
template <std::same_as<store_table> Stores>
result<checkpoint> open(const location& where, const Stores& stores) {
  context how = default_context();
  how.stores = stores;
  return open(where, how);
}

namespace detail {

/// Says of a place that is not a hierarchy which ones lie beneath it: of eight at most.
error name_hierarchies(error failure, const any_store& store, const std::string& place);

}  // namespace detail

}}  // namespace zarrpoint::v0
