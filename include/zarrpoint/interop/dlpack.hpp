// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors to and from other libraries of this process without a copy, by DLPack: what NumPy,
// PyTorch, CuPy, JAX, Arrow and others speak. This header is for those in host memory;
// interop/dlpack_device.hpp is for others, interop/dlpack_python.hpp for objects of Python.

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/handler/type_handler.hpp>
#include <zarrpoint/interop/dlpack_abi.hpp>
#include <zarrpoint/memory/device_space.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint::inline v0::dlpack {

/// A struct that hands over a tensor: ours, or `DLManagedTensor` and `DLManagedTensorVersioned` of
/// DLPack's own header.
template <class M>
concept managed_tensor = std::is_class_v<M> && requires(M& managed) {
  managed.dl_tensor.device.device_type;
  managed.dl_tensor.dtype.lanes;
  managed.manager_ctx = nullptr;
  managed.deleter(&managed);
};

/// One that tells its version, and its flags.
template <class M>
concept versioned_tensor = managed_tensor<M> && requires(M& managed) {
  managed.version.major;
  managed.flags;
};

/// Host memory, be it pinned for a device or not.
template <>
struct device_traits<host_space> {
  static device_id id(const host_space&) {
    return {static_cast<std::int32_t>(device_kind::cpu), 0};
  }
  static bool holds(const host_space&, const device_id& device) {
    const auto kind = static_cast<device_kind>(device.device_type);
    return kind == device_kind::cpu || kind == device_kind::cuda_host ||
           kind == device_kind::rocm_host;
  }
};

/// A space that DLPack has a name for.
template <class S>
concept dlpack_space = memory_space<S> && requires(const S& space, const device_id& device) {
  { device_traits<S>::id(space) } -> std::same_as<device_id>;
  { device_traits<S>::holds(space, device) } -> std::same_as<bool>;
};

namespace detail {

/// Calls the deleter of what was handed over, once.
class managed_owner {
 public:
  managed_owner() = default;
  template <managed_tensor M>
  explicit managed_owner(M* managed)
      : managed_(managed), free_([](void* each) {
          auto* const self = static_cast<M*>(each);
          if (self->deleter != nullptr) self->deleter(self);
        }) {}
  managed_owner(managed_owner&& other) noexcept { swap(other); }
  managed_owner& operator=(managed_owner&& other) noexcept {
    managed_owner(std::move(other)).swap(*this);
    return *this;
  }
  ~managed_owner() {
    if (managed_ != nullptr) free_(managed_);
  }
  void swap(managed_owner& other) noexcept {
    std::swap(managed_, other.managed_);
    std::swap(free_, other.free_);
  }

 private:
  void* managed_ = nullptr;
  void (*free_)(void*) = nullptr;
};

/// What was handed over, once it is known to make sense.
struct described {
  std::byte* data = nullptr;
  dtype type;
  dims shape;
  dims strides;  ///< in bytes
  device_id device;
  std::uint64_t flags = 0;
  index_t low = 0;   ///< where the first byte that belongs to an element is, from `data`
  index_t high = 0;  ///< where the last one ends
};

inline error bad_tensor(std::string what) {
  return {errc::invalid_argument, "DLPack tensor: " + std::move(what)};
}

/// The strides in bytes, and what the elements touch. Errors: `out_of_range`.
template <class = void>
result<void> place_elements(const std::int64_t* strides, described& out) {
  const auto size = static_cast<index_t>(out.type.size());
  out.strides = row_major_strides(out.shape, out.type.size());
  ZARRPOINT_TRY(bytes, byte_count(out.shape, out.type.size()));
  if (bytes == 0) return {};
  for (std::size_t i = 0; i < out.shape.rank(); ++i) {
    if (strides != nullptr && out.shape[i] != 1) {  // else it is never made, and may be anything
      ZARRPOINT_TRY(step, checked_mul<index_t>(strides[i], size));
      out.strides[i] = step;
    }
    ZARRPOINT_TRY(reach, checked_mul<index_t>(out.strides[i], out.shape[i] - 1));
    index_t& end = reach < 0 ? out.low : out.high;
    ZARRPOINT_TRY(further, checked_add<index_t>(end, reach));
    end = further;
  }
  ZARRPOINT_TRY(last, checked_add<index_t>(out.high, size));
  out.high = last;
  return {};
}

/// Errors: as `basic_tensor::take`, but those of the device.
template <class Raw>
result<described> describe(const Raw& raw, std::uint64_t flags) {
  described out;
  out.flags = flags;
  out.device = {static_cast<std::int32_t>(raw.device.device_type),
                static_cast<std::int32_t>(raw.device.device_id)};
  ZARRPOINT_TRY(
      type, to_dtype({static_cast<std::uint8_t>(raw.dtype.code), raw.dtype.bits, raw.dtype.lanes}));
  out.type = type;
  if (raw.ndim < 0) return bad_tensor("its rank is " + std::to_string(raw.ndim));
  if (static_cast<std::size_t>(raw.ndim) > max_rank)
    return error{errc::unsupported, "DLPack tensor: its rank is " + std::to_string(raw.ndim) +
                                        "; at most " + std::to_string(max_rank)};
  if (raw.ndim > 0 && raw.shape == nullptr) return bad_tensor("it has no shape");
  if (raw.ndim > 0) out.shape = dims::from_range(raw.shape, raw.shape + raw.ndim);
  ZARRPOINT_CHECK(place_elements(raw.strides, out).at("DLPack tensor"));
  if (out.high == 0) return out;
  if (raw.data == nullptr) return bad_tensor("it has elements, but no data");
  std::uintptr_t first = reinterpret_cast<std::uintptr_t>(raw.data);
  std::uintptr_t last = 0;
  if (raw.byte_offset > PTRDIFF_MAX || __builtin_add_overflow(first, raw.byte_offset, &first) ||
      __builtin_add_overflow(first, static_cast<std::uintptr_t>(out.high), &last) ||
      first < std::uintptr_t{0} - static_cast<std::uintptr_t>(out.low))
    return error{errc::out_of_range, "DLPack tensor: its elements lie beyond the address space"};
  out.data = static_cast<std::byte*>(raw.data) + raw.byte_offset;
  return out;
}

}  // namespace detail

/// A tensor that another library owns: it is kept until this goes, and then given back. Savable,
/// and a target unless it is read-only. Move-only; an empty one has an invalid dtype.
///
/// What is in its memory is the other library's to say: that the shape and strides lie within it
/// cannot be checked.
template <dlpack_space Space>
class basic_tensor {
 public:
  basic_tensor() = default;

  /// Takes over `managed`, whether this succeeds or not: its deleter is called when the tensor
  /// goes, or at once. Elements on a device are ready for work on the stream of `space` once
  /// `ready` has happened. A tensor without elements may lie anywhere.
  /// Errors: `unsupported` for another major version, elements that no dtype is, ranks above 32
  /// and devices that `space` does not hold; `invalid_argument` for null pointers and a negative
  /// rank, and for memory that is not the device's or in which elements are not aligned (the host
  /// takes them); `out_of_range` for shapes and strides beyond the address space.
  template <managed_tensor M>
  static result<basic_tensor> take(M* managed, const Space& space = {},
                                   const typename Space::event& ready = {}) {
    if (managed == nullptr) return detail::bad_tensor("it is null");
    basic_tensor out;
    out.owner_ = detail::managed_owner(managed);
    std::uint64_t flags = 0;
    if constexpr (versioned_tensor<M>) {
      // Of another major version nothing is known but how to give it back.
      if (managed->version.major != current_version.major)
        return error{errc::unsupported,
                     "DLPack of version " + std::to_string(managed->version.major) + '.' +
                         std::to_string(managed->version.minor) + "; this is version 1"};
      flags = managed->flags;
    }
    ZARRPOINT_TRY(found, detail::describe(managed->dl_tensor, flags));
    ZARRPOINT_CHECK(check_place(found, space));
    out.found_ = found;
    out.space_ = space;
    out.ready_ = ready;
    return out;
  }

  tensor_spec spec() const { return {found_.type, found_.shape}; }
  dtype type() const noexcept { return found_.type; }
  const dims& shape() const noexcept { return found_.shape; }
  /// Of DLPack, such as pinned host memory; `space` has what we know it as.
  const device_id& device() const noexcept { return found_.device; }
  bool read_only() const noexcept { return (found_.flags & flag_read_only) != 0; }
  /// Whether the other library made a copy for us, so that nobody else sees what is written.
  bool is_copied() const noexcept { return (found_.flags & flag_is_copied) != 0; }

  tensor_view<Space> view() const {
    return {found_.data, found_.type, found_.shape, found_.strides, space_, ready_};
  }
  /// Errors: `invalid_argument` when it is read-only.
  result<mutable_tensor_view<Space>> mutable_view() {
    ZARRPOINT_CHECK(zarrpoint_handler::check_target(*this));
    return zarrpoint_handler::writable(*this);
  }

  struct zarrpoint_handler {
    static constexpr std::string_view typestr = zarrpoint::detail::array_kind;
    static constexpr auto aliases = zarrpoint::detail::array_aliases;
    using space = Space;

    /// Errors: `invalid_argument` for an empty one.
    static result<tensor_spec> spec(const basic_tensor& value) {
      if (!value.type().valid()) return detail::bad_tensor("it is empty");
      return value.spec();
    }
    static tensor_view<Space> view(const basic_tensor& value) { return value.view(); }
    static result<void> check_target(const basic_tensor& target) {
      if (target.read_only()) return detail::bad_tensor("it is read-only");
      return {};
    }
    static mutable_tensor_view<Space> writable(basic_tensor& target) {
      return {target.found_.data,    target.found_.type, target.found_.shape,
              target.found_.strides, target.space_,      target.ready_};
    }
  };

 private:
  static result<void> check_place(const detail::described& found, const Space& space) {
    if (found.high == 0) return {};
    if (!device_traits<Space>::holds(space, found.device))
      return error{errc::unsupported, "DLPack tensor on " + to_string(found.device) +
                                          ", which is not " +
                                          to_string(device_traits<Space>::id(space))};
    if constexpr (device_space<Space>) {
      const auto unit = static_cast<std::uintptr_t>(found.type.scalar_size());
      bool aligned = reinterpret_cast<std::uintptr_t>(found.data) % unit == 0;
      if (!aligned) return detail::bad_tensor("its elements are not aligned");
      ZARRPOINT_CHECK(space
                          .check(found.data + found.low, static_cast<std::size_t>(found.high) -
                                                             static_cast<std::size_t>(found.low))
                          .at("DLPack tensor"));
    }
    return {};
  }

  detail::managed_owner owner_;
  detail::described found_;
  Space space_{};
  typename Space::event ready_{};
};

/// A tensor of another library in host memory.
using tensor = basic_tensor<host_space>;

/// Calls the deleter of what nobody took over.
struct managed_deleter {
  template <managed_tensor M>
  void operator()(M* managed) const noexcept {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

/// A tensor to be handed over: `release()` it to who will call its deleter.
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

/// Lets the managed tensor of `made` describe `view`. Errors: `unsupported`, `invalid_argument`.
template <managed_tensor M, class Keep, dlpack_space Space, bool Writable>
result<managed_ptr<M>> hand_over(std::unique_ptr<exported<M, Keep>> made,
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
      return error{errc::unsupported, "DLPack counts strides in elements: " +
                                          std::to_string(stride) + " bytes are no such"};
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

/// The same for a value that is kept and has a handler, whose errors these are, too.
template <managed_tensor M, class Keep, class T>
result<managed_ptr<M>> hand_over_value(std::unique_ptr<exported<M, Keep>> made, T& value) {
  using handler = handler_of<T>;
  ZARRPOINT_TRY(spec, result<tensor_spec>(handler::spec(std::as_const(value))));
  bool writable = fillable<T&>;
  if constexpr (requires { handler::check_target(value); })
    writable = handler::check_target(value).has_value();
  if constexpr (fillable<T&>) {
    if (writable) return hand_over(std::move(made), handler::writable(value));
  }
  static_cast<void>(spec);
  return hand_over(std::move(made), handler::view(std::as_const(value)));
}

}  // namespace detail

/// The elements of `view` for another library, without a copy; `keep`, such as a `shared_ptr`, is
/// destroyed when that library gives them back, on any thread. They are read-only there if the view
/// is. `M` is the struct to hand over: a `DLManagedTensor` for libraries that know no other.
/// Errors: `unsupported` for dtypes that DLPack has not, strides that are no whole elements, and
/// read-only elements in a struct without flags.
template <managed_tensor M = managed_versioned, bool Writable, class Keep>
result<managed_ptr<M>> to_dlpack(const basic_tensor_view<host_space, Writable>& view, Keep keep) {
  using holder = detail::exported<M, Keep>;
  return detail::hand_over(std::make_unique<holder>(std::move(keep)), view);
}

/// A value for another library, without a copy: any savable one in host memory that owns its
/// elements, such as a `zarrpoint::tensor` or a vector. Errors: as above; those of its handler.
template <managed_tensor M = managed_versioned, class T>
  requires(!std::is_reference_v<T> && !std::is_const_v<T> && savable<T> &&
           !handler_is_view<handler_of<T>>() && std::same_as<space_of_t<T>, host_space>)
result<managed_ptr<M>> to_dlpack(T&& value) {
  auto made = std::make_unique<detail::exported<M, T>>(std::move(value));
  T& kept = made->keep;
  return detail::hand_over_value(std::move(made), kept);
}

/// A dense copy of `view` for another library, in memory of `resource`, which must outlive it.
/// Errors: as above; `resource_limit`.
template <managed_tensor M = managed_versioned>
result<managed_ptr<M>> copy_to_dlpack(const host_view& view,
                                      memory_resource& resource = default_resource()) {
  ZARRPOINT_TRY(copy, zarrpoint::tensor::make(view.spec(), resource));
  if (view.type.is_variable()) return to_dlpack<M>(std::move(copy));  // the error for text
  copy_elements(copy.mutable_view(), view);
  ZARRPOINT_TRY(made, to_dlpack<M>(std::move(copy)));
  if constexpr (versioned_tensor<M>) made->flags |= flag_is_copied;
  return std::move(made);
}

}  // namespace zarrpoint::inline v0::dlpack
