// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/distributed/shard/rank_offsets.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A local tensor seen with the axes of the global one: those prepended have one element.
template <class View>
View with_prepended(View local, std::size_t axes) {
  dims shape(axes, 1);
  dims strides(axes, 0);
  for (std::size_t i = 0; i < local.rank(); ++i) {
    shape.push_back(local.shape[i]);
    strides.push_back(local.strides[i]);
  }
  local.shape = shape;
  local.strides = strides;
  return local;
}

/// The part `of` a box, counted from its own corner.
box relative_to(const box& of, const box& part);

/// The shard's own shape for a value that has no shape, such as a span; that of the value else.
template <class Handler, class T>
result<tensor_spec> spec_of_local(const T& value, const shard_metadata& shard) {
  ZARRPOINT_TRY(spec, result<tensor_spec>(Handler::spec(value)));
  if constexpr (handler_is_flat<Handler>()) {
    const dims shape = shard.data_shape();
    if (element_count(shape).value_or(-1) == element_count(spec.shape).value_or(-2))
      spec.shape = shape;
  }
  return spec;
}

/// How a value is filled.
struct fill_request {
  const fill_function& read;
  dims unit{};         ///< of the global grid that is read from; none: any parts will do
  const context& how;  ///< with scratch memory
};

/// Where a value on a device is read from.
struct source_request {
  const box* part = nullptr;  ///< of the global tensor; null: the local value as it is
  const context& how;         ///< with scratch memory
};

/// Its address stands for the type.
template <class T>
inline constexpr char type_mark{};

/// A local tensor of some type, by some handler, behind one constant table of functions.
struct sharded_table {
  const char* type;  ///< `type_mark`, the same for all handlers
  bool writable;
  bool host_accessible;
  result<tensor_spec> (*spec)(const void* value, const shard_metadata& shard);
  result<staged> (*stage)(const void* value, const shard_metadata& shard, memory_resource& into);
  result<std::unique_ptr<element_source>> (*source)(const void* value, const shard_metadata& shard,
                                                    const source_request& request);
  result<void> (*fill)(void* value, const shard_metadata& shard, const fill_request& request);
  void (*mark_loaded)(void* value, bool loaded);
};

template <class T, class Handler>
struct sharded_functions {
  using handler = Handler;

  static result<tensor_spec> spec(const void* value, const shard_metadata& shard) {
    return spec_of_local<handler>(*static_cast<const T*>(value), shard);
  }

  static auto view(const void* value, const shard_metadata& shard)
      -> result<tensor_view<typename handler::space>> {
    ZARRPOINT_TRY(shape, spec(value, shard));
    tensor_view<typename handler::space> out = handler::view(*static_cast<const T*>(value));
    if (out.shape != shape.shape) {
      out.shape = shape.shape;
      out.strides = row_major_strides(out.shape, memory_size(out.type));
    }
    return out;
  }

  static result<staged> stage(const void* value, const shard_metadata& shard,
                              memory_resource& into) {
    ZARRPOINT_TRY(elements, view(value, shard));
    return stage_to_host(elements, into);
  }

  /// Null for what the host can read.
  static result<std::unique_ptr<element_source>> source(
      [[maybe_unused]] const void* value, [[maybe_unused]] const shard_metadata& shard,
      [[maybe_unused]] const source_request& request) {
    if constexpr (handler::space::host_accessible) {
      return std::unique_ptr<element_source>();
    } else {
      ZARRPOINT_TRY(elements, view(value, shard));
      tensor_view<typename handler::space> from = std::move(elements);
      if (request.part != nullptr)
        from = subview(with_prepended(from, shard.prepended_axes),
                       selection(relative_to(shard.global_box(), *request.part)));
      return device_source<typename handler::space>::make(from,
                                                          shared_ring(from.space, request.how));
    }
  }

  static result<void> fill([[maybe_unused]] void* value, const shard_metadata& shard,
                           [[maybe_unused]] const fill_request& request) {
    if constexpr (filling_handler<handler, T>) {
      ZARRPOINT_TRY(into, (target_view<handler, T>(*static_cast<T*>(value), shard.data_spec())));
      if constexpr (handler::space::host_accessible) {
        ZARRPOINT_CHECK(into.space.wait(into.ready));
        return request.read(box::whole(into.shape),
                            {into.data, into.type, into.shape, into.strides, {}, {}});
      } else {
        const device_filler<typename handler::space> filler(into, request.how);
        return filler.fill(data_box(shard), data_unit(shard, request.unit), request.read);
      }
    } else {
      return bad_shard(shard, "its local value is read-only");
    }
  }

  static void mark_loaded([[maybe_unused]] void* value, [[maybe_unused]] bool loaded) {
    if constexpr (requires(T & target) { handler::mark_loaded(target, true); })
      handler::mark_loaded(*static_cast<T*>(value), loaded);
  }

  static constexpr sharded_table table{&type_mark<T>,
                                       filling_handler<handler, T>,
                                       handler::space::host_accessible,
                                       &spec,
                                       &stage,
                                       &source,
                                       &fill,
                                       &mark_loaded};
};

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
    return checked(std::move(metadata), std::make_shared<T>(std::move(value)));
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
    if constexpr (handler_is_flat<Handler>()) {
      ZARRPOINT_TRY(count, element_count(spec.shape));
      spec.shape = {count};
    }
    ZARRPOINT_TRY(made, Handler::make(spec, where));
    init(made);
    value_ = std::make_shared<T>(std::move(made));
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
    -> result<sharded<std::remove_reference_t<T>, handler_in<T, Registry>>> {
  using handler = handler_in<T, Registry>;
  detail::require_sharded<std::remove_reference_t<T>, handler>();
  ZARRPOINT_TRY(spec, result<tensor_spec>(handler::spec(value)));
  ZARRPOINT_TRY(metadata, from_rank_offsets(std::move(key), spec, where));
  return detail::hold_shard<handler>(std::move(metadata), std::forward<T>(value));
}

/// A local tensor of rank 1 as a range of the elements of a shard. Errors: those of
/// `from_rank_offsets_flat`.
template <type_registry Registry = detail::own_handlers, class T>
auto shard_flat(std::string key, T&& value, const flat_shard& of, const sharding& where = {})
    -> result<sharded<std::remove_reference_t<T>, handler_in<T, Registry>>> {
  using handler = handler_in<T, Registry>;
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

  /// Errors: those of `shard_metadata::check` and `check_value`.
  result<void> validate() const;

  /// The elements where the host can read them; a value that passed `validate` is required. Errors:
  /// those of the memory space, `resource_limit`.
  result<staged> stage(memory_resource& resource) const;

  /// The elements of a value on a device, part by part: all of them, in the value's own shape, or a
  /// box of the global tensor that lies within the shard (`part`; not of a flat one). Null for what
  /// the host can read. `how` has scratch memory, and outlives the source, as does the value.
  /// Errors: those of the memory space.
  result<std::unique_ptr<element_source>> source(const context& how,
                                                 const box* part = nullptr) const;

  /// Copies all elements to `to`, of the value's own shape. `how` has scratch memory. Errors: those
  /// of the memory space.
  result<void> copy_to(const mutable_host_view& to, const context& how) const;

  /// Has `read` put the elements into the value: all at once where the host can write, else part
  /// by part, by the threads of `how`, and from there to the device. The parts are whole `unit`s of
  /// the grid that is read from, if it is given. Errors: `invalid_argument` for a value that is
  /// read-only, those of `read` and of the memory space, `resource_limit`.
  result<void> fill(const fill_function& read, const context& how, const dims& unit = {}) const;
  /// Tells a value that knows of it whether it holds what was loaded.
  void mark_loaded(bool loaded) const;

  /// Makes a `tensor` of the local shape, of zeros, where there is no value. Errors:
  /// `resource_limit`.
  result<void> init_data(memory_resource& resource);

 private:
  sharded_tensor(const detail::sharded_table& table, shard_metadata metadata,
                 std::shared_ptr<void> value);

  shard_metadata metadata_;
  const detail::sharded_table* table_ = nullptr;
  std::shared_ptr<void> value_;
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/impl/sharded_impl.hpp>
#endif
