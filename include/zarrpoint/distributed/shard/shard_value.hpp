// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is done with the local value of a shard, whatever its type: it is read, filled, or a part of
// it is seen as a value of its own.

#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

/// How a part of a value reaches it, whatever the type of the value.
template <memory_space Space>
struct part_functions {
  result<tensor_view<Space>> (*view)(const void* value, const shard_metadata& shard);
  result<mutable_tensor_view<Space>> (*target)(void* value, const shard_metadata& shard);
  void (*mark_loaded)(void* value, bool loaded);
};

template <class T, class Handler>
struct sharded_functions;

/// Part of the local value of a shard, as the value of another: what `narrow` leaves, what
/// `split_factory` makes. It has no elements of its own. It looks for them when they are wanted, so
/// that a value that has become another shape is an error.
template <memory_space Space, bool Writable>
class part_view {
 public:
  /// Errors: `dtype_mismatch` and `shape_mismatch` for a value that is not what it was.
  result<tensor_view<Space>> elements() const {
    ZARRPOINT_TRY(all, functions_->view(value_.get(), *whole_));
    ZARRPOINT_CHECK(whole_->check_value(all.spec()));
    return subview(all, selection(part_));
  }
  /// To write. Errors: the same, and those of the value's handler.
  result<mutable_tensor_view<Space>> target() const requires Writable {
    ZARRPOINT_TRY(all, functions_->target(value_.get(), *whole_));
    return subview(all, selection(part_));
  }
  /// The box of the value that this is.
  const box& part() const noexcept { return part_; }
  /// Whether it is a part of just that value.
  bool is_part_of(const void* value) const noexcept { return value_.get() == value; }

  struct zarrpoint_handler {
    static constexpr std::string_view typestr = detail::array_kind;
    using space = Space;
    static constexpr bool is_view = true;

    static result<tensor_spec> spec(const part_view& value) {
      ZARRPOINT_TRY(found, value.elements());
      return found.spec();
    }
    static tensor_view<Space> view(const part_view& value) { return value.elements().value(); }
    static result<void> check_target(const part_view& target) requires Writable {
      ZARRPOINT_CHECK(target.target());
      return {};
    }
    static mutable_tensor_view<Space> writable(const part_view& target) requires Writable {
      return target.target().value();
    }
    /// All of the value, of which every part that is wanted is loaded.
    static void mark_loaded(const part_view& target, bool loaded) {
      target.functions_->mark_loaded(target.value_.get(), loaded);
    }
  };

 private:
  template <class, class>
  friend struct detail::sharded_functions;

  part_view(std::shared_ptr<void> value, std::shared_ptr<const shard_metadata> whole,
            const box& part, const detail::part_functions<Space>& functions)
      : value_(std::move(value)), whole_(std::move(whole)), part_(part), functions_(&functions) {}

  std::shared_ptr<void> value_;
  std::shared_ptr<const shard_metadata> whole_;  ///< the shard that `value_` is of
  box part_;                                     ///< of its data shape
  const detail::part_functions<Space>* functions_;
};

struct sharded_table;

/// A value whose type is known to its table.
struct held_value {
  const sharded_table* table = nullptr;
  std::shared_ptr<void> value;
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
  held_value (*part)(std::shared_ptr<void> value, const shard_metadata& shard, const box& part);
};

template <class T, class Handler>
struct sharded_functions {
  using handler = Handler;
  using space = typename handler::space;
  using part_type = part_view<space, filling_handler<handler, T>>;

  static result<tensor_spec> spec(const void* value, const shard_metadata& shard) {
    return spec_of_local<handler>(*static_cast<const T*>(value), shard);
  }

  static auto view(const void* value, const shard_metadata& shard) -> result<tensor_view<space>> {
    ZARRPOINT_TRY(shape, spec(value, shard));
    tensor_view<space> out = handler::view(*static_cast<const T*>(value));
    if (out.shape != shape.shape) {
      out.shape = shape.shape;
      out.strides = row_major_strides(out.shape, memory_size(out.type));
    }
    return out;
  }

  static auto target(void* value, const shard_metadata& shard) -> result<mutable_tensor_view<space>>
    requires filling_handler<handler, T> {
      return target_view<handler, T>(*static_cast<T*>(value), shard.data_spec());
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
    if constexpr (space::host_accessible) {
      return std::unique_ptr<element_source>();
    } else {
      ZARRPOINT_TRY(elements, view(value, shard));
      tensor_view<space> from = std::move(elements);
      if (request.part != nullptr)
        from = subview(with_prepended(from, shard.prepended_axes),
                       selection(relative_to(shard.global_box(), *request.part)));
      const context& how = request.how;
      return source_on_device<space>(
          from, {how.scratch->kept(), how.scratch->resource(), how.limit.memory});
    }
  }

  static result<void> fill([[maybe_unused]] void* value, const shard_metadata& shard,
                           [[maybe_unused]] const fill_request& request) {
    if constexpr (filling_handler<handler, T>) {
      ZARRPOINT_TRY(into, target(value, shard));
      if constexpr (space::host_accessible) {
        ZARRPOINT_CHECK(into.space.wait(into.ready));
        return request.read(box::whole(into.shape),
                            {into.data, into.type, into.shape, into.strides, {}, {}});
      } else {
        const device_filler<space> filler(into, request.how);
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

  static part_type part_of(std::shared_ptr<void> value, const shard_metadata& shard,
                           const box& part) {
    return {std::move(value), detail::make_counted<const shard_metadata>(shard), part, parts};
  }
  static held_value part(std::shared_ptr<void> value, const shard_metadata& shard,
                         const box& part) {
    return {&sharded_functions<part_type, handler_of<part_type>>::table,
            detail::make_counted<part_type>(part_of(std::move(value), shard, part))};
  }

  static constexpr part_functions<space> parts = [] {
    part_functions<space> out{&view, nullptr, &mark_loaded};
    if constexpr (filling_handler<handler, T>) out.target = &target;
    return out;
  }();
  static constexpr sharded_table table{&type_mark<T>,
                                       filling_handler<handler, T>,
                                       space::host_accessible,
                                       &spec,
                                       &stage,
                                       &source,
                                       &fill,
                                       &mark_loaded,
                                       &part};
};

}}}  // namespace zarrpoint::v0::detail
