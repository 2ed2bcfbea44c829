// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/fwd.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

// The vocabulary of handlers: what one must hold, and what is optional.
//
// A handler of T is a struct of static facts; it never does I/O:
//
//   static constexpr std::string_view typestr = "array";   // the stored kind; written to disk
//   using space = host_space;                              // where the elements live
//   static tensor_spec spec(const T&);                     // or result<tensor_spec>
//   static tensor_view<space> view(const T&);              // borrows; called after spec succeeded
//   static result<T> make(const tensor_spec&, const place<space>&);   // a value to load into
//   static mutable_tensor_view<space> writable(T&);
//
// and where they say something:
//
//   static constexpr dtype type = ...;         // when the C++ type decides the element type
//   static constexpr std::size_t rank = 2;     // when the C++ type decides the rank
//   static constexpr bool is_view = true;      // does not own its elements: a leaf copies it
//   static constexpr bool is_flat = true;      // has no shape of its own: as a target it takes
//                                              // any shape of as many elements
//   static constexpr std::array<std::string_view, N> aliases{...};    // other kinds it restores
//   static result<void> check_target(const T&);            // asked before `writable`: whether this
//                                                          // value may be written into
//   static void mark_loaded(T&, bool);         // told false before a load into the value begins,
//                                              // and true when it has succeeded
//
// A handler of a leaf that is not a tensor holds `typestr`, and
//
//   static result<std::vector<std::byte>> to_bytes(const T&);
//   static result<T> from_bytes(bytes_view);
//
// and one of a value that is several leaves
//
//   static auto members(T& value) { return zarrpoint::members("q", value.q, ...); }

/// Where a handler's `make` puts the new value: the memory it may draw from, and the space (for a
/// device: which one, and its stream).
template <class Space>
struct place {
  memory_resource* resource = nullptr;  ///< null: the type's own allocator
  Space space{};
};

/// `H` tells what to save of a `T`.
template <class H, class T>
concept saving_handler = requires(const T& value) {
  { H::typestr } -> std::convertible_to<std::string_view>;
  requires memory_space<typename H::space>;
  { H::spec(value) } -> std::convertible_to<result<tensor_spec>>;
  { H::view(value) } -> std::same_as<tensor_view<typename H::space>>;
};

/// `H` tells where the elements of a target of type `T` go; `T` may be const, as a span is.
template <class H, class T>
concept filling_handler = requires(T& target) {
  requires memory_space<typename H::space>;
  { H::writable(target) } -> std::same_as<mutable_tensor_view<typename H::space>>;
};

/// `H` can also make a `T` to load into.
template <class H, class T>
concept loading_handler = saving_handler<H, T> && filling_handler<H, T> &&
    requires(const tensor_spec& spec, const place<typename H::space>& where) {
  { H::make(spec, where) } -> std::same_as<result<T>>;
};

/// `H` turns a `T` into bytes and back: for leaves that are not tensors.
template <class H, class T>
concept blob_handler = requires(const T& value, bytes_view stored) {
  { H::typestr } -> std::convertible_to<std::string_view>;
  { H::to_bytes(value) } -> std::convertible_to<result<std::vector<std::byte>>>;
  { H::from_bytes(stored) } -> std::same_as<result<T>>;
};

/// `H` makes a `T` several leaves, a group: it has `members(T&)`, which gives `zp::members(...)`.
/// Needs <zarrpoint/members.hpp>.
template <class H, class T>
concept group_handler = requires(std::remove_const_t<T>& value) {
  H::members(value);
}
|| requires { requires H::is_group; };

namespace detail {

/// What `handler_rank` is when any rank will do.
inline constexpr std::size_t any_rank = SIZE_MAX;

/// The rank that a handler's C++ type decides, or `any_rank`.
template <class H>
consteval std::size_t handler_rank() {
  if constexpr (requires { H::rank; }) {
    return H::rank;
  } else {
    return any_rank;
  }
}

/// The element type that a handler's C++ type decides, or an invalid dtype. A blob is stored as
/// bytes.
template <class H>
consteval dtype handler_dtype() {
  if constexpr (requires { H::type; }) {
    return H::type;
  } else if constexpr (requires { &H::from_bytes; }) {
    return dtype_kind::uint8;
  } else {
    return {};
  }
}

/// Whether the handler's type borrows its elements, so that a copy of it is as good.
template <class H>
consteval bool handler_is_view() {
  if constexpr (requires { H::is_view; }) {
    return H::is_view;
  } else {
    return false;
  }
}

/// Whether a target takes any shape of as many elements.
template <class H>
consteval bool handler_is_flat() {
  if constexpr (requires { H::is_flat; }) {
    return H::is_flat;
  } else {
    return false;
  }
}

/// Values that a leaf copies although they are lvalues: scalars, which are often temporaries of the
/// caller's own loop, and views, which are as good as what they borrow from.
template <class T, class Handler>
inline constexpr bool is_copied_leaf = element<T> || std::same_as<T, std::string> ||
                                       (handler_is_view<Handler>() && std::copy_constructible<T>);

/// Whether the handler restores the stored kind `typestr`: its own, or one of its aliases.
template <class H>
constexpr bool handler_restores(std::string_view typestr) {
  if (typestr == std::string_view(H::typestr)) return true;
  if constexpr (requires { H::aliases; }) {
    for (const std::string_view alias : H::aliases) {
      if (alias == typestr) return true;
    }
  }
  return false;
}

/// What the library ships for standard types. Declared only, and chosen last: a `type_handler` or
/// a nested handler of the user comes first without ambiguity.
template <class T>
struct builtin_handler;

/// What elements of an array may be in memory.
template <class T>
concept storable_element = element<T> || std::same_as<T, std::string>;

template <class T>
constexpr dtype element_dtype() {
  if constexpr (std::same_as<T, std::string>) {
    return dtype_kind::string;
  } else {
    return dtype_of<T>;
  }
}

/// The stored kinds of our own handlers.
inline constexpr std::string_view scalar_kind = "scalar";
inline constexpr std::string_view array_kind = "array";
inline constexpr std::string_view string_kind = "string";
/// What Orbax calls its arrays.
inline constexpr std::array<std::string_view, 2> array_aliases{"np.ndarray", "jax.Array"};

error wrong_shape(const tensor_spec& stored, std::string_view wanted);
/// Of an array of more dimensions than `max_rank`.
error wrong_rank(std::size_t rank);
error cannot_make(const tensor_spec& spec, std::size_t bytes, std::string_view why);

/// Errors: `dtype_mismatch` when the stored elements are not of the C++ type's.
result<void> expect_dtype(const tensor_spec& stored, dtype wanted);

/// Runs `f`, which allocates as the user's container does; a container that throws becomes
/// `resource_limit`. Without exceptions a failed allocation there ends the program.
template <class F>
result<void> allocate_guarded(const tensor_spec& spec, F&& f) {
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
#if ZARRPOINT_EXCEPTIONS
  try {
    f();
  } catch (const std::exception& failure) {
    return cannot_make(spec, bytes, failure.what());
  }
#else
  static_cast<void>(bytes);
  f();
#endif
  return {};
}

}  // namespace detail

/// Elements that the host can read: in memory of their own, or where they always were.
struct staged {
  host_view view;
  buffer owned;  ///< empty when nothing had to be copied
};

namespace detail {
template <class Space>
result<staged> stage_from_device(const tensor_view<Space>& from, memory_resource& resource);

/// The elements of `from` where the host can read them, once they are ready. They are in place if
/// the space is accessible to the host, else copied into memory of `resource` (their strides may be
/// kept). At most twice the tensor's bytes are allocated. Errors: those of the space,
/// `resource_limit`, `out_of_range` for a spec that does not fit in memory.
template <memory_space Space>
result<staged> stage_to_host(const tensor_view<Space>& from, memory_resource& resource) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(from.space.wait(from.ready));
    return staged{{from.data, from.type, from.shape, from.strides, {}, {}}, {}};
  } else {
    return detail::stage_from_device(from, resource);
  }
}

}  // namespace detail

}}  // namespace zarrpoint::v0
