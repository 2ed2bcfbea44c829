// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// The kinds of element. The names of the enumerators are those of Zarr v3 data types, but for
/// `raw`, `datetime64`, `timedelta64` and `record` (see `to_string`).
enum class dtype_kind : std::uint8_t {
  invalid,
  bool_,
  int2,  ///< as all types below eight bits: one byte in memory, whose upper bits are 0
  int4,
  int8,
  int16,
  int32,
  int64,
  uint2,
  uint4,
  uint8,
  uint16,
  uint32,
  uint64,
  float4_e2m1fn,
  float6_e2m3fn,
  float6_e3m2fn,
  float8_e3m4,
  float8_e4m3,
  float8_e4m3fn,
  float8_e4m3b11fnuz,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  float16,
  bfloat16,
  float32,
  float64,
  complex_float4_e2m1fn,
  complex_float6_e2m3fn,
  complex_float6_e3m2fn,
  complex_float8_e3m4,
  complex_float8_e4m3,
  complex_float8_e4m3fn,
  complex_float8_e4m3b11fnuz,
  complex_float8_e4m3fnuz,
  complex_float8_e5m2,
  complex_float8_e5m2fnuz,
  complex_float8_e8m0fnu,
  complex_float16,
  complex_bfloat16,
  complex64,
  complex128,
  string,                 ///< UTF-8 of any length; in memory a `std::string`
  bytes,                  ///< bytes of any length; in memory a `std::string`
  raw,                    ///< a fixed number of bytes
  null_terminated_bytes,  ///< a fixed number of bytes, zeros at the end not counted
  fixed_length_utf32,     ///< a fixed number of code points, zeros at the end not counted
  datetime64,             ///< int64 multiples of a unit since 1970; the least one is "not a time"
  timedelta64,            ///< int64 multiples of a unit
  record,                 ///< named fields, packed: see core/types/record.hpp
};

/// The unit of a `datetime64` or `timedelta64`, as NumPy has them.
enum class time_unit : std::uint8_t { generic, Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as };

namespace detail {

/// What a dtype must know of the fields of a record; core/types/record.hpp has the rest.
struct record_base {
  mutable std::atomic<std::uint32_t> uses{0};
  std::size_t size = 0;
  std::size_t scalar_size = 1;  ///< the largest of the fields'
  bool (*equal)(const record_base&, const record_base&) = nullptr;
  void (*destroy)(const record_base*) = nullptr;
};

/// A counted reference to an immutable record; constant expressions may hold none.
class record_ref {
 public:
  constexpr record_ref() = default;
  explicit record_ref(const record_base* made) noexcept : at_(made) { retain(); }
  constexpr record_ref(const record_ref& other) noexcept : at_(other.at_) {
    if (at_ != nullptr) retain();
  }
  constexpr record_ref(record_ref&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  constexpr record_ref& operator=(record_ref other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  constexpr ~record_ref() {
    if (at_ != nullptr) release();
  }
  constexpr const record_base* get() const noexcept { return at_; }

  friend constexpr bool operator==(const record_ref& a, const record_ref& b) noexcept {
    return a.at_ == b.at_ || (a.at_ != nullptr && b.at_ != nullptr && a.at_->equal(*a.at_, *b.at_));
  }

 private:
  void retain() const noexcept { at_->uses.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept;

  const record_base* at_ = nullptr;
};

struct kind_facts {
  std::string_view name;  ///< of Zarr v3
  std::uint8_t size = 0;  ///< bytes of an element; 0: variable, or a parameter
  std::uint8_t bits = 0;  ///< of the value; less than eight for the types below a byte
  bool core = true;       ///< whether zarr-python knows it
};

/// In the order of the enumeration.
inline constexpr kind_facts all_kind_facts[] = {
    {"invalid", 0, 0, false},
    {"bool", 1, 1},
    {"int2", 1, 2, false},
    {"int4", 1, 4, false},
    {"int8", 1, 8},
    {"int16", 2, 16},
    {"int32", 4, 32},
    {"int64", 8, 64},
    {"uint2", 1, 2, false},
    {"uint4", 1, 4, false},
    {"uint8", 1, 8},
    {"uint16", 2, 16},
    {"uint32", 4, 32},
    {"uint64", 8, 64},
    {"float4_e2m1fn", 1, 4, false},
    {"float6_e2m3fn", 1, 6, false},
    {"float6_e3m2fn", 1, 6, false},
    {"float8_e3m4", 1, 8, false},
    {"float8_e4m3", 1, 8, false},
    {"float8_e4m3fn", 1, 8, false},
    {"float8_e4m3b11fnuz", 1, 8, false},
    {"float8_e4m3fnuz", 1, 8, false},
    {"float8_e5m2", 1, 8, false},
    {"float8_e5m2fnuz", 1, 8, false},
    {"float8_e8m0fnu", 1, 8, false},
    {"float16", 2, 16},
    {"bfloat16", 2, 16, false},
    {"float32", 4, 32},
    {"float64", 8, 64},
    {"complex_float4_e2m1fn", 2, 4, false},
    {"complex_float6_e2m3fn", 2, 6, false},
    {"complex_float6_e3m2fn", 2, 6, false},
    {"complex_float8_e3m4", 2, 8, false},
    {"complex_float8_e4m3", 2, 8, false},
    {"complex_float8_e4m3fn", 2, 8, false},
    {"complex_float8_e4m3b11fnuz", 2, 8, false},
    {"complex_float8_e4m3fnuz", 2, 8, false},
    {"complex_float8_e5m2", 2, 8, false},
    {"complex_float8_e5m2fnuz", 2, 8, false},
    {"complex_float8_e8m0fnu", 2, 8, false},
    {"complex_float16", 4, 16, false},
    {"complex_bfloat16", 4, 16, false},
    {"complex64", 8, 32},
    {"complex128", 16, 64},
    {"string", 0, 0},
    {"bytes", 0, 0},
    {"raw_bytes", 0, 8},
    {"null_terminated_bytes", 0, 8},
    {"fixed_length_utf32", 0, 32},
    {"numpy.datetime64", 8, 64},
    {"numpy.timedelta64", 8, 64},
    {"struct", 0, 0},
};

constexpr const kind_facts& facts_of(dtype_kind kind) noexcept {
  return all_kind_facts[static_cast<std::size_t>(kind)];
}

}  // namespace detail

/// The type of an array's elements: a kind and, where the kind has them, its parameters.
class dtype {
 public:
  constexpr dtype() = default;
  /// A kind without parameters; of the others an element of no bytes, or of the generic unit.
  constexpr dtype(dtype_kind kind) noexcept : kind_(kind) {}  // NOLINT(google-explicit-constructor)

  /// `length` bytes: `r<8 * length>`, `raw_bytes`, `|V<length>`.
  static constexpr dtype raw_bytes(std::size_t length) noexcept {
    return sized(dtype_kind::raw, length);
  }
  /// `length` bytes of text: `null_terminated_bytes`, `|S<length>`.
  static constexpr dtype null_terminated(std::size_t length) noexcept {
    return sized(dtype_kind::null_terminated_bytes, length);
  }
  /// `code_points` of 4 bytes: `fixed_length_utf32`, `<U<code_points>`.
  static constexpr dtype utf32(std::size_t code_points) noexcept {
    return sized(dtype_kind::fixed_length_utf32, 4 * code_points);
  }
  /// `scale` units since 1970-01-01, int64.
  static constexpr dtype datetime(time_unit unit, std::uint32_t scale = 1) noexcept {
    return timed(dtype_kind::datetime64, unit, scale);
  }
  static constexpr dtype timedelta(time_unit unit, std::uint32_t scale = 1) noexcept {
    return timed(dtype_kind::timedelta64, unit, scale);
  }

  constexpr dtype_kind kind() const noexcept { return kind_; }
  constexpr bool valid() const noexcept { return kind_ != dtype_kind::invalid; }

  /// Bytes of one element in storage; 0 for variable-length elements.
  constexpr std::size_t size() const noexcept {
    if (record_.get() != nullptr) return record_.get()->size;
    return is_sized() ? length_ : detail::facts_of(kind_).size;
  }

  /// The unit that byte order applies to: half an element for complex numbers; 1 means that byte
  /// order does not matter. Of a record the largest of its fields'.
  constexpr std::size_t scalar_size() const noexcept {
    if (record_.get() != nullptr) return record_.get()->scalar_size;
    if (is_variable() || kind_ == dtype_kind::record) return 1;
    if (is_complex()) return size() / 2;
    if (is_sized()) return kind_ == dtype_kind::fixed_length_utf32 ? 4 : 1;
    return size();
  }

  /// The bits of a number, or of each part of a complex one, that hold its value.
  constexpr std::size_t bits() const noexcept { return detail::facts_of(kind_).bits; }
  /// Whether elements leave bits of their byte unused.
  constexpr bool is_below_byte() const noexcept {
    return is_number() && kind_ != dtype_kind::bool_ && bits() < 8;
  }

  constexpr bool is_variable() const noexcept {
    return kind_ == dtype_kind::string || kind_ == dtype_kind::bytes;
  }
  constexpr bool is_signed_integer() const noexcept {
    return kind_ >= dtype_kind::int2 && kind_ <= dtype_kind::int64;
  }
  constexpr bool is_unsigned_integer() const noexcept {
    return kind_ >= dtype_kind::uint2 && kind_ <= dtype_kind::uint64;
  }
  constexpr bool is_integer() const noexcept {
    return is_signed_integer() || is_unsigned_integer();
  }
  constexpr bool is_floating() const noexcept {
    return kind_ >= dtype_kind::float4_e2m1fn && kind_ <= dtype_kind::float64;
  }
  constexpr bool is_complex() const noexcept {
    return kind_ >= dtype_kind::complex_float4_e2m1fn && kind_ <= dtype_kind::complex128;
  }
  /// Whether it is a bool, an integer, a float or a complex number.
  constexpr bool is_number() const noexcept {
    return kind_ >= dtype_kind::bool_ && kind_ <= dtype_kind::complex128;
  }
  /// Whether it is a point in time or a span of time.
  constexpr bool is_time() const noexcept {
    return kind_ == dtype_kind::datetime64 || kind_ == dtype_kind::timedelta64;
  }
  /// Whether zarr-python knows the type (consolidated metadata is written only when all are). Of
  /// records it is said of no field.
  constexpr bool is_core() const noexcept { return detail::facts_of(kind_).core; }

  /// The type of the real and of the imaginary part of a complex number; else the type itself.
  constexpr dtype component() const noexcept {
    if (!is_complex()) return *this;
    constexpr auto first = static_cast<std::uint8_t>(dtype_kind::complex_float4_e2m1fn);
    constexpr auto first_part = static_cast<std::uint8_t>(dtype_kind::float4_e2m1fn);
    return static_cast<dtype_kind>(static_cast<std::uint8_t>(kind_) - first + first_part);
  }

  constexpr time_unit unit() const noexcept { return unit_; }
  /// How many units a time counts by.
  constexpr std::uint32_t scale() const noexcept { return scale_; }

  /// Whether elements of this type can be cast to `to`: any number to any number.
  constexpr bool castable_to(const dtype& to) const noexcept {
    return *this == to || (is_number() && to.is_number());
  }

  /// The fields, for core/types/record.hpp; null for other kinds.
  constexpr const detail::record_base* record() const noexcept { return record_.get(); }
  static dtype of_record(detail::record_ref fields) noexcept;

  friend constexpr bool operator==(const dtype&, const dtype&) = default;

 private:
  static constexpr dtype sized(dtype_kind kind, std::size_t length) noexcept {
    dtype out(kind);
    out.length_ = length;
    return out;
  }
  static constexpr dtype timed(dtype_kind kind, time_unit unit, std::uint32_t scale) noexcept {
    dtype out(kind);
    out.unit_ = unit;
    out.scale_ = scale;
    return out;
  }
  constexpr bool is_sized() const noexcept {
    return kind_ >= dtype_kind::raw && kind_ <= dtype_kind::fixed_length_utf32;
  }

  dtype_kind kind_ = dtype_kind::invalid;
  time_unit unit_ = time_unit::generic;
  std::uint32_t scale_ = 1;
  std::size_t length_ = 0;
  detail::record_ref record_;
};

/// Every kind without parameters, in the order of the enumeration, without `invalid`.
inline constexpr auto all_dtype_kinds = [] {
  std::array<dtype_kind, static_cast<std::size_t>(dtype_kind::bytes)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<dtype_kind>(i + 1);
  return out;
}();

/// The Zarr v3 name of the kind, e.g. `"bfloat16"`; `"invalid"` for none.
constexpr std::string_view to_string(const dtype& type) noexcept {
  return detail::facts_of(type.kind()).name;
}

/// The type of that Zarr v3 name, if it is one of ours without parameters.
std::optional<dtype> parse_dtype(std::string_view name) noexcept;

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

}}  // namespace zarrpoint::v0
