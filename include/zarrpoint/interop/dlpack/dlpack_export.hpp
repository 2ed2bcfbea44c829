// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors for other libraries of this process, without a copy, by DLPack.

#include <zarrpoint/interop/dlpack/dlpack.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <array>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

/// Calls the deleter of what nobody took over.
struct managed_deleter {
  template <managed_tensor M>
  void operator()(M* managed) const noexcept {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

/// A tensor to be handed over: `release()` it to the one that will call its deleter.
template <managed_tensor M = managed_versioned>
using managed_ptr = std::unique_ptr<M, managed_deleter>;

namespace detail {

/// What a managed tensor of ours points to.
template <managed_tensor M, class Keep>
struct exported {
  M managed;
  std::array<std::int64_t, max_rank> shape{};
  std::array<std::int64_t, max_rank> strides{};
  Keep keep;

  explicit exported(Keep&& kept) : managed(), keep(std::move(kept)) {}
  static void destroy(M* self) { delete static_cast<exported*>(self->manager_ctx); }
};

template <managed_tensor M, class Keep>
using exported_ptr = std::unique_ptr<exported<M, Keep>>;

/// Lets the managed tensor of `made` describe `view`. Errors: `unsupported`, `out_of_range`.
template <managed_tensor M, class Keep, dlpack_space Space, bool Writable>
result<managed_ptr<M>> hand_over(exported_ptr<M, Keep> made,
                                 const basic_tensor_view<Space, Writable>& view) {
  const auto type = type_of(view.type);
  if (!type)
    return error{errc::unsupported,
                 "DLPack has no tensors of " + std::string(zarrpoint::to_string(view.type))};
  if constexpr (!Writable && !versioned_tensor<M>)
    return error{errc::unsupported, "DLPack before 1.0 has no read-only tensors"};
  ZARRPOINT_TRY(bytes, byte_count(view.spec()));
  const auto size = static_cast<index_t>(view.type.size());
  const dims dense = row_major_strides(view.shape, view.type.size());
  for (std::size_t i = 0; i < view.rank(); ++i) {
    const index_t stride = bytes == 0 || view.shape[i] == 1 ? dense[i] : view.strides[i];
    if (stride % size != 0)
      return error{errc::unsupported, "DLPack needs strides in whole elements; " +
                                          std::to_string(stride) +
                                          " bytes are not a whole number of elements"};
    made->shape[i] = view.shape[i];
    made->strides[i] = stride / size;
  }
  M& managed = made->managed;
  auto& raw = managed.dl_tensor;
  const device_id device = device_traits<Space>::id(view.space);
  raw.device.device_type = static_cast<decltype(raw.device.device_type)>(device.device_type);
  raw.device.device_id = device.device_id;
  raw.dtype = {type->code, type->bits, type->lanes};
  raw.ndim = static_cast<std::int32_t>(view.rank());
  raw.shape = made->shape.data();
  raw.strides = made->strides.data();
  raw.data = bytes == 0 ? nullptr : const_cast<std::byte*>(view.data);
  raw.byte_offset = 0;
  if constexpr (versioned_tensor<M>) {
    managed.version = {current_version.major, current_version.minor};
    managed.flags = Writable ? 0 : flag_read_only;
  }
  managed.manager_ctx = made.get();
  managed.deleter = &exported<M, Keep>::destroy;
  return managed_ptr<M>(&made.release()->managed);
}

/// Whether `value` may be written into by the one that gets it.
template <class T>
bool is_target([[maybe_unused]] T& value) {
  if constexpr (!fillable<T&>) {
    return false;
  } else if constexpr (requires { handler_of<T>::check_target(value); }) {
    return handler_of<T>::check_target(value).has_value();
  } else {
    return true;
  }
}

/// The same for a value that `made` keeps, whose handler's errors these are, too.
template <managed_tensor M, class Keep, class T>
result<managed_ptr<M>> hand_over_value(exported_ptr<M, Keep> made, T& value) {
  using handler = handler_of<T>;
  ZARRPOINT_CHECK(result<tensor_spec>(handler::spec(std::as_const(value))));
  if constexpr (fillable<T&>) {
    if (is_target(value)) return hand_over(std::move(made), handler::writable(value));
  }
  return hand_over(std::move(made), handler::view(std::as_const(value)));
}

/// What keeps elements on a device that another library uses. On which streams, nobody says: it
/// goes when the device is done with all that it was asked for.
template <class Keep, class Space>
class lent {
 public:
  lent(Keep&& keep, const Space& where) : keep_(std::move(keep)), space_(where) {}
  lent(lent&& other) noexcept
      : keep_(std::move(other.keep_)),
        space_(other.space_),
        is_empty_(std::exchange(other.is_empty_, true)) {}
  lent& operator=(lent&&) = delete;
  ~lent() {
    if (!is_empty_) static_cast<void>(device_traits<Space>::settle(space_));
  }
  Keep& get() noexcept { return keep_; }

 private:
  Keep keep_;
  Space space_;
  bool is_empty_ = false;
};

/// Which stream uses elements on a device next, so when they must be ready.
template <class Space>
struct consumer_of {
  std::optional<Space> stream{};  ///< none: any stream, so that the host waits
  bool is_ordered = true;         ///< if not, the consumer orders its work itself
};

template <device_space Space>
result<void> make_ready(const tensor_view<Space>& view, const consumer_of<Space>& consumer) {
  if (!consumer.is_ordered) return {};
  ZARRPOINT_TRY(written, view.space.record());
  if (!consumer.stream) {
    ZARRPOINT_CHECK(view.space.wait(view.ready));
    return view.space.wait(written);
  }
  ZARRPOINT_CHECK(consumer.stream->follow(view.ready));
  return consumer.stream->follow(written);
}

/// `keep` owns what `value_in(keep)` refers to, on a device.
template <managed_tensor M, class Keep, device_space Space, class F>
result<managed_ptr<M>> lend(Keep keep, const consumer_of<Space>& consumer, F&& value_in) {
  using value_type = std::remove_reference_t<decltype(value_in(keep))>;
  using handler = handler_of<value_type>;
  const auto& value = std::as_const(value_in(keep));
  ZARRPOINT_CHECK(result<tensor_spec>(handler::spec(value)));
  const tensor_view<Space> view = handler::view(value);
  ZARRPOINT_CHECK(make_ready(view, consumer));
  using holder = exported<M, lent<Keep, Space>>;
  auto made = std::make_unique<holder>(lent<Keep, Space>(std::move(keep), view.space));
  value_type& kept = value_in(made->keep.get());
  return hand_over_value(std::move(made), kept);
}

template <class T>
concept handed_value = savable<T> && dlpack_space<space_of_t<T>>;

}  // namespace detail

/// A value in host memory that owns its elements, such as a `zarrpoint::tensor` or a vector, for
/// another library. It is destroyed when that library gives it back, on any thread, and is
/// read-only there if it is not a target. `M` is the struct to hand over: `managed_legacy`, or a
/// struct of DLPack's own header, for libraries that know no other.
/// Errors: `unsupported` for dtypes that DLPack does not have, strides that are not whole elements,
/// and read-only elements in a struct without flags; those of the value's handler.
template <managed_tensor M = managed_versioned, class T>
  requires(!std::is_reference_v<T> && !std::is_const_v<T> && detail::handed_value<T> &&
           !zarrpoint::detail::handler_is_view<handler_of<T>>() && space_of_t<T>::host_accessible)
result<managed_ptr<M>> to_dlpack(T&& value) {
  auto made = std::make_unique<detail::exported<M, T>>(std::forward<T>(value));
  T& kept = made->keep;
  return detail::hand_over_value(std::move(made), kept);
}

/// The same for a value that others have, too; of a `const` one the elements are read-only.
template <managed_tensor M = managed_versioned, class T>
  requires(detail::handed_value<T>&& space_of_t<T>::host_accessible)
result<managed_ptr<M>> to_dlpack(std::shared_ptr<T> value) {
  T& kept = *value;
  using holder = detail::exported<M, std::shared_ptr<T>>;
  return detail::hand_over_value(std::make_unique<holder>(std::move(value)), kept);
}

/// The elements of `view`, in memory that `keep` owns: it is destroyed when they come back.
template <managed_tensor M = managed_versioned, bool Writable, class Keep>
result<managed_ptr<M>> to_dlpack(const basic_tensor_view<host_space, Writable>& view, Keep keep) {
  using holder = detail::exported<M, Keep>;
  return detail::hand_over(std::make_unique<holder>(std::move(keep)), view);
}

/// A value on a device, ready for what `consumer`'s stream is asked for later, or, without a
/// consumer, for any stream: then this waits. Its memory goes back when the device is idle. Errors:
/// as above; those of the device.
template <managed_tensor M = managed_versioned, detail::handed_value T>
  requires(!std::is_reference_v<T> && !std::is_const_v<T> && device_space<space_of_t<T>>)
result<managed_ptr<M>> to_dlpack(
    T&& value, const std::type_identity_t<std::optional<space_of_t<T>>>& consumer) {
  return detail::lend<M>(std::forward<T>(value), detail::consumer_of<space_of_t<T>>{consumer},
                         [](T& kept) -> T& { return kept; });
}
template <managed_tensor M = managed_versioned, detail::handed_value T>
  requires device_space<space_of_t<T>> result<managed_ptr<M>> to_dlpack(
      std::shared_ptr<T> value,
      const std::type_identity_t<std::optional<space_of_t<T>>>& consumer) {
    return detail::lend<M>(std::move(value), detail::consumer_of<space_of_t<T>>{consumer},
                           [](std::shared_ptr<T>& kept) -> T& { return *kept; });
  }

/// A dense copy of `view` for another library, in memory of `resource`, which must outlive it.
/// Errors: as above; `resource_limit`.
template <managed_tensor M = managed_versioned>
result<managed_ptr<M>> copy_to_dlpack(const host_view& view,
                                      memory_resource& resource = default_resource()) {
  if (!type_of(view.type))
    return error{errc::unsupported,
                 "DLPack has no tensors of " + std::string(zarrpoint::to_string(view.type))};
  ZARRPOINT_TRY(copy, zarrpoint::tensor::make(view.spec(), resource));
  copy_elements(copy.mutable_view(), view);
  ZARRPOINT_TRY(made, to_dlpack<M>(std::move(copy)));
  if constexpr (versioned_tensor<M>) made->flags |= flag_is_copied;
  return std::move(made);
}

}}}  // namespace zarrpoint::v0::dlpack
