// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors of other libraries of this process without a copy, by DLPack: what NumPy, PyTorch, CuPy,
// JAX, Arrow and others speak. The header `dlpack_export.hpp` of this room hands ours to them,
// `dlpack_cuda.hpp` knows the memory of CUDA, and `dlpack_python.hpp` objects of Python.

#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/interop/dlpack/dlpack_abi.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <concepts>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

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

/// Host memory, pinned for a device or not.
template <>
struct device_traits<host_space> {
  static device_id id(const host_space&);
  static bool holds(const host_space&, const device_id& device);
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
  managed_owner& operator=(managed_owner&& other) noexcept;
  ~managed_owner();
  void swap(managed_owner& other) noexcept;

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

error bad_tensor(std::string what);

/// The strides in bytes, and what the elements touch. Errors: `out_of_range`.
result<void> place_elements(const std::int64_t* strides, described& out);

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
  /// `ready` has happened. A tensor without elements may lie anywhere. Errors:
  /// - `unsupported`: another major version, elements that no dtype is, ranks above 32 and devices
  ///   that `space` does not hold;
  /// - `invalid_argument`: null pointers, a negative rank, memory that is not the device's or in
  ///   which elements are not aligned (the host takes them);
  /// - `out_of_range`: shapes and strides beyond the address space.
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

  /// Whether the last load into it succeeded: false before the first, and after one that failed.
  bool loaded() const noexcept { return loaded_; }

  /// The elements are there once `event` has happened, instead of what was said before.
  void set_ready(const typename Space::event& event) { ready_ = event; }

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
    static void mark_loaded(basic_tensor& target, bool loaded) { target.loaded_ = loaded; }
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
  bool loaded_ = false;
};

/// A tensor of another library in host memory.
using tensor = basic_tensor<host_space>;

}}}  // namespace zarrpoint::v0::dlpack
