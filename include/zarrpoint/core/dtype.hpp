// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace zarrpoint::inline v0 {

/// The kinds of element. The names of the enumerators are those of Zarr v3 data types.
enum class dtype_kind : std::uint8_t {
  invalid,
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float8_e4m3fn,
  float8_e5m2,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  string,  ///< UTF-8 of any length; in memory a `std::string`
};

/// The type of an array's elements.
class dtype {
 public:
  constexpr dtype() = default;
  constexpr dtype(dtype_kind kind) noexcept : kind_(kind) {}  // NOLINT(google-explicit-constructor)

  constexpr dtype_kind kind() const noexcept { return kind_; }
  constexpr bool valid() const noexcept { return kind_ != dtype_kind::invalid; }

  /// Bytes of one element in storage; 0 for variable-length elements.
  constexpr std::size_t size() const noexcept {
    switch (kind_) {
      case dtype_kind::bool_:
      case dtype_kind::int8:
      case dtype_kind::uint8:
      case dtype_kind::float8_e4m3fn:
      case dtype_kind::float8_e5m2: return 1;
      case dtype_kind::int16:
      case dtype_kind::uint16:
      case dtype_kind::float16:
      case dtype_kind::bfloat16: return 2;
      case dtype_kind::int32:
      case dtype_kind::uint32:
      case dtype_kind::float32: return 4;
      case dtype_kind::int64:
      case dtype_kind::uint64:
      case dtype_kind::float64:
      case dtype_kind::complex64: return 8;
      case dtype_kind::complex128: return 16;
      case dtype_kind::string:
      case dtype_kind::invalid: break;
    }
    return 0;
  }

  /// The unit that byte order applies to: half an element for complex numbers; 1 means that byte
  /// order does not matter.
  constexpr std::size_t scalar_size() const noexcept {
    if (kind_ == dtype_kind::string) return 1;
    return is_complex() ? size() / 2 : size();
  }

  constexpr bool is_variable() const noexcept { return kind_ == dtype_kind::string; }
  constexpr bool is_signed_integer() const noexcept {
    return kind_ >= dtype_kind::int8 && kind_ <= dtype_kind::int64;
  }
  constexpr bool is_unsigned_integer() const noexcept {
    return kind_ >= dtype_kind::uint8 && kind_ <= dtype_kind::uint64;
  }
  constexpr bool is_integer() const noexcept {
    return is_signed_integer() || is_unsigned_integer();
  }
  constexpr bool is_floating() const noexcept {
    return kind_ >= dtype_kind::float8_e4m3fn && kind_ <= dtype_kind::float64;
  }
  constexpr bool is_complex() const noexcept {
    return kind_ == dtype_kind::complex64 || kind_ == dtype_kind::complex128;
  }
  /// Whether zarr-python knows the type (consolidated metadata is written only when all are).
  constexpr bool is_core() const noexcept {
    return valid() && kind_ != dtype_kind::bfloat16 && kind_ != dtype_kind::float8_e4m3fn &&
           kind_ != dtype_kind::float8_e5m2;
  }

  /// Whether elements of this type can be cast to `to`: any number to any number.
  constexpr bool castable_to(dtype to) const noexcept {
    return *this == to || (valid() && to.valid() && !is_variable() && !to.is_variable());
  }

  friend constexpr bool operator==(dtype, dtype) = default;

 private:
  dtype_kind kind_ = dtype_kind::invalid;
};

/// Every kind, in the order of the enumeration, without `invalid`.
inline constexpr dtype_kind all_dtype_kinds[] = {
    dtype_kind::bool_,         dtype_kind::int8,        dtype_kind::int16,
    dtype_kind::int32,         dtype_kind::int64,       dtype_kind::uint8,
    dtype_kind::uint16,        dtype_kind::uint32,      dtype_kind::uint64,
    dtype_kind::float8_e4m3fn, dtype_kind::float8_e5m2, dtype_kind::float16,
    dtype_kind::bfloat16,      dtype_kind::float32,     dtype_kind::float64,
    dtype_kind::complex64,     dtype_kind::complex128,  dtype_kind::string};

/// The Zarr v3 name, e.g. `"bfloat16"`; `"invalid"` for none.
constexpr std::string_view to_string(dtype type) noexcept {
  switch (type.kind()) {
    case dtype_kind::bool_: return "bool";
    case dtype_kind::int8: return "int8";
    case dtype_kind::int16: return "int16";
    case dtype_kind::int32: return "int32";
    case dtype_kind::int64: return "int64";
    case dtype_kind::uint8: return "uint8";
    case dtype_kind::uint16: return "uint16";
    case dtype_kind::uint32: return "uint32";
    case dtype_kind::uint64: return "uint64";
    case dtype_kind::float8_e4m3fn: return "float8_e4m3fn";
    case dtype_kind::float8_e5m2: return "float8_e5m2";
    case dtype_kind::float16: return "float16";
    case dtype_kind::bfloat16: return "bfloat16";
    case dtype_kind::float32: return "float32";
    case dtype_kind::float64: return "float64";
    case dtype_kind::complex64: return "complex64";
    case dtype_kind::complex128: return "complex128";
    case dtype_kind::string: return "string";
    case dtype_kind::invalid: break;
  }
  return "invalid";
}

/// The type of that Zarr v3 name, if it is one of ours.
constexpr std::optional<dtype> parse_dtype(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (to_string(dtype(kind)) == name) return dtype(kind);
  }
  return std::nullopt;
}

namespace detail {

/// Integers are keyed on size and sign, so that `long` and `long long` are one type. `char` and
/// the character types are text, not numbers, and have none.
template <class T>
consteval dtype builtin_dtype() {
  if constexpr (std::same_as<T, bool>) {
    return dtype_kind::bool_;
  } else if constexpr (std::same_as<T, std::byte>) {
    return dtype_kind::uint8;
  } else if constexpr (std::same_as<T, float>) {
    return dtype_kind::float32;
  } else if constexpr (std::same_as<T, double>) {
    return dtype_kind::float64;
  } else if constexpr (std::integral<T> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                       !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
                       !std::same_as<T, char32_t>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? dtype_kind::int8 : dtype_kind::uint8;
    if constexpr (sizeof(T) == 2) return is_signed ? dtype_kind::int16 : dtype_kind::uint16;
    if constexpr (sizeof(T) == 4) return is_signed ? dtype_kind::int32 : dtype_kind::uint32;
    if constexpr (sizeof(T) == 8) return is_signed ? dtype_kind::int64 : dtype_kind::uint64;
    return dtype_kind::invalid;
  } else {
    return dtype_kind::invalid;
  }
}

}  // namespace detail

/// The element type of a C++ type, `invalid` if it has none. Specialise it for a type of your own
/// whose object representation is that of the dtype: `template <> inline constexpr
/// zarrpoint::dtype zarrpoint::dtype_of<my_half> = zarrpoint::dtype_kind::float16;`
template <class T>
inline constexpr dtype dtype_of = detail::builtin_dtype<T>();

/// A C++ type that stands for a dtype, bit for bit.
template <class T>
concept element = std::is_trivially_copyable_v<T> && dtype_of<std::remove_cv_t<T>>
.valid() && sizeof(T) == dtype_of<std::remove_cv_t<T>>.size();

}  // namespace zarrpoint::inline v0
