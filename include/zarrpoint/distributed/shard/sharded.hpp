// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/shard_value.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

template <class T, class Handler>
consteval void require_sharded() {
  static_assert(!group_handler<Handler, T>,
                "zarrpoint: a value of several leaves is not a tensor; shard each of its members");
  if constexpr (!saving_handler<Handler, std::remove_const_t<T>>)
    require_leaf<std::remove_const_t<T>>();
}

}  // namespace detail

/// The local part of a global tensor: where it lies, and its value, which may be missing in what a
/// load asks for. A handle: copies share the value.
///
/// `T` is any type with a handler of tensors, its own or that of a registry; `const T` is never
/// loaded into.
template <class T, class Handler = handler_of<T>>
class sharded {
  static_assert(!group_handler<Handler, T>,
                "zarrpoint: a value of several leaves is not a tensor; shard each of its members");
  static_assert(saving_handler<Handler, std::remove_const_t<T>> || group_handler<Handler, T>,
                "zarrpoint: the local value of a sharded tensor must be a tensor; what becomes "
                "bytes (text, JSON) is a sharded_object");

 public:
  /// Of a value that is kept. Errors: those of `shard_metadata::check` and `check_value`.
  static result<sharded> make(shard_metadata metadata, T value) {
    return checked(std::move(metadata), detail::make_counted<T>(std::move(value)));
  }
  /// Of a value of the caller's, which must outlive all handles. Errors: the same.
  static result<sharded> borrow(shard_metadata metadata, T& value) {
    return checked(std::move(metadata), std::shared_ptr<T>(std::shared_ptr<void>(), &value));
  }
  /// Without a value: what to load. Errors: those of `shard_metadata::check`.
  static result<sharded> request(shard_metadata metadata) {
    return checked(std::move(metadata), nullptr);
  }

  const std::string& key() const noexcept { return metadata_.key; }
  const replica_id& replica() const noexcept { return metadata_.replica; }
  const shard_metadata& metadata() const noexcept { return metadata_; }
  bool has_data() const noexcept { return value_ != nullptr; }
  /// The local value; `has_data()` is required.
  T& value() const noexcept {
    ZARRPOINT_ASSERT(has_data());
    return *value_;
  }

  /// A view of a box of the local value, as the value of another shard; without a value a shard
  /// without one. It keeps the value; a borrowed one must outlive it. Errors: those of `validate`
  /// for both shards, `out_of_range` for a box that leaves the value.
  template <class Of = T>
  auto part(shard_metadata metadata, const box& of) const
      -> result<sharded<typename detail::sharded_functions<Of, Handler>::part_type>> {
    using functions = detail::sharded_functions<Of, Handler>;
    using view = sharded<typename functions::part_type>;
    if (!has_data()) return view::request(std::move(metadata));
    ZARRPOINT_CHECK(validate());
    ZARRPOINT_CHECK(selection(of).check(metadata_.data_shape()));
    return view::make(
        std::move(metadata),
        functions::part_of(std::const_pointer_cast<std::remove_const_t<T>>(value_), metadata_, of));
  }

  /// The same shard without its value.
  sharded without_data() const { return sharded(metadata_, nullptr); }
  /// The same value under another description: another key, another replica. What must hold of it
  /// is for `validate` to say.
  sharded with(shard_metadata metadata) const { return sharded(std::move(metadata), value_); }

  /// Makes a value of the local shape where there is none, and hands it to `init`. Errors:
  /// `resource_limit`, and the handler's.
  template <class F>
  result<void> init_data(F&& init, const place<typename Handler::space>& where = {}) {
    if constexpr (!loading_handler<Handler, T>) detail::require_loadable<T>();
    if (has_data()) return {};
    tensor_spec spec = metadata_.data_spec();
    if constexpr (detail::handler_is_flat<Handler>()) {
      ZARRPOINT_TRY(count, element_count(spec.shape));
      spec.shape = {count};
    }
    ZARRPOINT_TRY(made, Handler::make(spec, where));
    init(made);
    value_ = detail::make_counted<T>(std::move(made));
    return {};
  }
  result<void> init_data() {
    return init_data([](const T&) {});
  }

  /// Errors: `invalid_argument`, `out_of_range`, `dtype_mismatch`, `shape_mismatch`.
  result<void> validate() const {
    ZARRPOINT_CHECK(metadata_.check());
    if (!has_data()) return {};
    ZARRPOINT_TRY(spec, detail::spec_of_local<Handler>(value(), metadata_));
    return metadata_.check_value(spec);
  }

 private:
  friend class sharded_tensor;

  sharded(shard_metadata metadata, std::shared_ptr<T> value)
      : metadata_(std::move(metadata)), value_(std::move(value)) {
    detail::require_sharded<T, Handler>();
  }

  static result<sharded> checked(shard_metadata metadata, std::shared_ptr<T> value) {
    sharded out(std::move(metadata), std::move(value));
    ZARRPOINT_CHECK(out.validate());
    return out;
  }

  shard_metadata metadata_;
  std::shared_ptr<T> value_;
};

namespace detail {

/// Whether a value is a view, of which a copy is as good.
template <class T, class Handler>
inline constexpr bool is_copied_shard = handler_is_view<Handler>() && std::copy_constructible<T>;

/// An lvalue is borrowed unless it is a view, an rvalue kept.
template <class Handler, class T>
auto hold_shard(shard_metadata metadata, T&& value)
    -> result<sharded<std::remove_reference_t<T>, Handler>> {
  using held = sharded<std::remove_reference_t<T>, Handler>;
  if constexpr (is_copied_shard<std::remove_reference_t<T>, Handler>) {
    return held::make(std::move(metadata), value);
  } else if constexpr (std::is_lvalue_reference_v<T>) {
    return held::borrow(std::move(metadata), value);
  } else {
    return held::make(std::move(metadata), std::forward<T>(value));
  }
}

}  // namespace detail

/// A local tensor as one of equal shards of a global one: `shard("w", w, {.offsets = {{0, rank,
/// ranks}}})`. An lvalue is borrowed and must outlive the result; of a view (`std::span`, a
/// `tensor_view`, an mdspan) that holds for what it views, since the view itself is copied. An
/// rvalue is kept. With a registry, `shard<types>("w", w)`, it goes by the handler that this has
/// for the type. Errors: those of `from_rank_offsets`.
template <type_registry Registry = detail::own_handlers, class T>
auto shard(std::string key, T&& value, const sharding& where = {})
    -> result<sharded<std::remove_reference_t<T>, detail::handler_in<T, Registry>>> {
  using handler = detail::handler_in<T, Registry>;
  detail::require_sharded<std::remove_reference_t<T>, handler>();
  ZARRPOINT_TRY(spec, result<tensor_spec>(handler::spec(value)));
  ZARRPOINT_TRY(metadata, from_rank_offsets(std::move(key), spec, where));
  return detail::hold_shard<handler>(std::move(metadata), std::forward<T>(value));
}

/// A local tensor of rank 1 as a range of the elements of a shard. Errors: those of
/// `from_rank_offsets_flat`.
template <type_registry Registry = detail::own_handlers, class T>
auto shard_flat(std::string key, T&& value, const flat_shard& of, const sharding& where = {})
    -> result<sharded<std::remove_reference_t<T>, detail::handler_in<T, Registry>>> {
  using handler = detail::handler_in<T, Registry>;
  detail::require_sharded<std::remove_reference_t<T>, handler>();
  ZARRPOINT_TRY(spec, result<tensor_spec>(handler::spec(value)));
  ZARRPOINT_TRY(metadata, from_rank_offsets_flat(std::move(key), spec, of, where));
  return detail::hold_shard<handler>(std::move(metadata), std::forward<T>(value));
}

/// A sharded tensor whatever the type of its value. A handle: copies share the value.
class sharded_tensor {
 public:
  template <class T, class Handler>
  sharded_tensor(const sharded<T, Handler>& from)  // NOLINT(google-explicit-constructor)
      : metadata_(from.metadata_) {
    if (from.value_ == nullptr) return;
    table_ = &detail::sharded_functions<T, Handler>::table;
    value_ = std::const_pointer_cast<std::remove_const_t<T>>(from.value_);
  }
  /// Without a value: a load makes a `tensor`.
  explicit sharded_tensor(shard_metadata metadata) : metadata_(std::move(metadata)) {}

  const std::string& key() const noexcept { return metadata_.key; }
  const replica_id& replica() const noexcept { return metadata_.replica; }
  const shard_metadata& metadata() const noexcept { return metadata_; }
  bool has_data() const noexcept { return value_ != nullptr; }
  /// Whether the host can read the elements where they are; so it can where there are none.
  bool host_accessible() const noexcept { return table_ == nullptr || table_->host_accessible; }
  bool is_writable() const noexcept { return table_ != nullptr && table_->writable; }

  /// The value, if it is a `T`; null otherwise. After a load of what had no value it is a `tensor`.
  template <class T>
  T* get() const noexcept {
    const bool is_one = has_data() && table_->type == &detail::type_mark<T>;
    return is_one ? static_cast<T*>(value_.get()) : nullptr;
  }

  sharded_tensor without_data() const { return sharded_tensor(metadata_); }
  /// The same value under another description: another key, another replica. What must hold of it
  /// is for `validate` to say.
  sharded_tensor with(shard_metadata metadata) const;

  /// A view of a box of the value, as the value of another shard (see `sharded::part`). Errors: the
  /// same.
  result<sharded_tensor> part(shard_metadata metadata, const box& of) const;

  /// Errors: those of `shard_metadata::check` and `check_value`.
  result<void> validate() const;

  /// The elements where the host can read them; a value that passed `validate` is required. Errors:
  /// those of the memory space, `resource_limit`.
  result<staged> stage(memory_resource& resource) const;

  /// The elements of a value on a device, part by part. They are all of them, in the value's own
  /// shape, or a box of the global tensor that lies within the shard (`part`; not of a flat one).
  /// Null for what the host can read. `how` has scratch memory, and outlives the source, as does
  /// the value. Errors: those of the memory space.
  result<std::unique_ptr<element_source>> source(const context& how,
                                                 const box* part = nullptr) const;

  /// Copies all elements to `to`, of the value's own shape. `how` has scratch memory. Errors: those
  /// of the memory space.
  result<void> copy_to(const mutable_host_view& to, const context& how) const;

  /// Has `read` put the elements into the value. They come all at once where the host can write,
  /// else part by part, by the threads of `how`, and from there to the device. The parts are whole
  /// `unit`s of the grid that is read from, if it is given. Errors: `invalid_argument` for a value
  /// that is read-only, those of `read` and of the memory space, `resource_limit`.
  result<void> fill(const fill_function& read, const context& how, const dims& unit = {}) const;
  /// Tells a value that knows of it whether it holds what was loaded.
  void mark_loaded(bool loaded) const {
    if (has_data()) table_->mark_loaded(value_.get(), loaded);
  }

  /// Makes a `tensor` of the local shape, of zeros, where there is no value. Errors:
  /// `resource_limit`.
  result<void> init_data(memory_resource& resource);

 private:
  sharded_tensor(const detail::sharded_table& table, shard_metadata metadata,
                 std::shared_ptr<void> value)
      : metadata_(std::move(metadata)), table_(&table), value_(std::move(value)) {}

  shard_metadata metadata_;
  const detail::sharded_table* table_ = nullptr;
  std::shared_ptr<void> value_;
};

}}  // namespace zarrpoint::v0
