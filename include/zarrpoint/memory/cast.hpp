// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/convert.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A run of elements, `stride` bytes apart.
template <class Pointer>
struct typed_run {
  Pointer data;
  index_t stride;
  dtype type;

  typed_run from_element(std::size_t i) const {
    return {data + static_cast<index_t>(i) * stride, stride, type};
  }
  /// The real or imaginary parts of complex numbers; the elements themselves of others.
  typed_run part(bool imaginary) const {
    return {data + (imaginary ? type.scalar_size() : 0), stride, type.component()};
  }
};
using source_run = typed_run<const std::byte*>;
using target_run = typed_run<std::byte*>;

/// Elements converted at once: the blocks of wide values stay in the first level of the cache.
inline constexpr std::size_t cast_block = 256;

/// Whether `visit_common` knows the type. The others are small, and no loop is made for each.
bool is_common(const dtype& type);

/// Calls `f.operator()<T>()` for the C++ type of a real number of a common type.
template <class F>
void visit_common(dtype_kind kind, F&& f) {
  switch (kind) {
    case dtype_kind::bool_: return f.template operator()<bool>();
    case dtype_kind::int8: return f.template operator()<std::int8_t>();
    case dtype_kind::int16: return f.template operator()<std::int16_t>();
    case dtype_kind::int32: return f.template operator()<std::int32_t>();
    case dtype_kind::int64: return f.template operator()<std::int64_t>();
    case dtype_kind::uint8: return f.template operator()<std::uint8_t>();
    case dtype_kind::uint16: return f.template operator()<std::uint16_t>();
    case dtype_kind::uint32: return f.template operator()<std::uint32_t>();
    case dtype_kind::uint64: return f.template operator()<std::uint64_t>();
    case dtype_kind::float8_e4m3fn: return f.template operator()<float8_e4m3fn>();
    case dtype_kind::float8_e5m2: return f.template operator()<float8_e5m2>();
    case dtype_kind::float16: return f.template operator()<float16>();
    case dtype_kind::bfloat16: return f.template operator()<bfloat16>();
    case dtype_kind::float32: return f.template operator()<float>();
    case dtype_kind::float64: return f.template operator()<double>();
    default: ZARRPOINT_ASSERT(false && "not a common dtype");
  }
}

/// Copies up to `cast_block` elements to an array.
template <class T>
void read_run(const source_run& from, T* to, std::size_t count) {
  if (from.stride == sizeof(T)) {
    std::memcpy(to, from.data, count * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&to[i], from.from_element(i).data, sizeof(T));
    }
  }
}

template <class T>
void write_run(const T* from, const target_run& to, std::size_t count) {
  if (to.stride == sizeof(T)) {
    std::memcpy(to.data, from, count * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(to.from_element(i).data, &from[i], sizeof(T));
    }
  }
}

/// Converts up to `cast_block` elements; a whole block is a loop of a constant size, which becomes
/// vector code at -O2 already.
template <class To, class From>
void convert_array(const stored_type<From>* __restrict from, To* __restrict to, std::size_t count) {
  if (count == cast_block) {
    for (std::size_t i = 0; i < cast_block; ++i) to[i] = convert<To>(from_stored<From>(from[i]));
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = convert<To>(from_stored<From>(from[i]));
  }
}

/// The integer in the lowest bits of a byte.
int small_integer(std::uint8_t stored, const dtype& type);

/// A double that every small float rounds to as it would round the integer itself: what does not
/// fit leaves a trace below the bits that count.
template <class Wide>
double sticky_double(Wide value) {
  if constexpr (std::same_as<Wide, double>) {
    return value;
  } else {
    constexpr Wide exact = Wide{1} << 53;
    constexpr Wide low = (Wide{1} << 12) - 1;
    const bool is_exact =
        value <= exact && (std::same_as<Wide, std::uint64_t> || value >= 0 - exact);
    if (is_exact || (value & low) == 0) return static_cast<double>(value);
    return static_cast<double>((value & ~low) | (low / 2 + 1));
  }
}

template <class Wide>
void widen_rare(const source_run& from, Wide* to, std::size_t count) {
  std::array<std::uint8_t, cast_block> stored;
  read_run(from, stored.data(), count);
  if constexpr (std::same_as<Wide, double>) {
    const float_reader read = float_reader_of(from.type);
    for (std::size_t i = 0; i < count; ++i) to[i] = read(stored[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<Wide>(small_integer(stored[i], from.type));
  }
}

template <class Wide>
void narrow_rare(const Wide* from, const target_run& to, std::size_t count) {
  std::array<std::uint8_t, cast_block> narrowed;
  if (to.type.is_floating()) {
    const float_writer write = float_writer_of(to.type);
    for (std::size_t i = 0; i < count; ++i)
      narrowed[i] = static_cast<std::uint8_t>(write(sticky_double(from[i])));
  } else {
    const int low = to.type.is_signed_integer() ? -(1 << (to.type.bits() - 1)) : 0;
    const int mask = (1 << to.type.bits()) - 1;
    for (std::size_t i = 0; i < count; ++i) {
      // Floats go to the nearest that there is, integers keep their lowest bits.
      const int value = std::same_as<Wide, double>
                            ? std::clamp(convert<int>(from[i]), low, low + mask)
                            : convert<std::uint8_t>(from[i]);
      narrowed[i] = static_cast<std::uint8_t>(value & mask);
    }
  }
  write_run(narrowed.data(), to, count);
}

/// Reads up to `cast_block` elements as `Wide`, which holds each of them exactly.
template <class Wide>
void widen(const source_run& from, Wide* to, std::size_t count) {
  if (!is_common(from.type)) return widen_rare(from, to, count);
  visit_common(from.type.kind(), [&]<class T>() {
    if constexpr (dtype_of<T>.is_floating() == std::same_as<Wide, double> &&
                  std::same_as<T, std::uint64_t> == std::same_as<Wide, std::uint64_t>) {
      std::array<stored_type<T>, cast_block> stored;
      read_run(from, stored.data(), count);
      convert_array<Wide, T>(stored.data(), to, count);
    }
  });
}

template <class Wide>
void narrow(const Wide* from, const target_run& to, std::size_t count) {
  if (!is_common(to.type)) return narrow_rare(from, to, count);
  visit_common(to.type.kind(), [&]<class T>() {
    std::array<T, cast_block> narrowed;
    convert_array<T, Wide>(from, narrowed.data(), count);
    write_run(narrowed.data(), to, count);
  });
}

/// Casts up to `cast_block` elements by way of `Wide`.
template <class Wide>
void cast_by_way_of(const target_run& to, const source_run& from, std::size_t count) {
  std::array<Wide, cast_block> real;
  std::array<Wide, cast_block> imaginary;
  widen(from.part(false), real.data(), count);
  if (from.type.is_complex()) {
    widen(from.part(true), imaginary.data(), count);
  } else if (to.type.is_complex()) {
    imaginary.fill(0);
  }
  if (from.type.is_complex() && to.type == dtype_kind::bool_) {
    for (std::size_t i = 0; i < count; ++i) real[i] = real[i] != 0 || imaginary[i] != 0 ? 1 : 0;
  }
  narrow(real.data(), to.part(false), count);
  if (to.type.is_complex()) narrow(imaginary.data(), to.part(true), count);
}

/// Casts up to `cast_block` elements without the wide step.
template <class To, class From>
void cast_directly(const target_run& to, const source_run& from, std::size_t count) {
  std::array<From, cast_block> in;
  std::array<To, cast_block> out;
  read_run(from, in.data(), count);
  convert_array<To, From>(in.data(), out.data(), count);
  write_run(out.data(), to, count);
}

using cast_function = void (*)(const target_run&, const source_run&, std::size_t);

/// How to cast a block: directly for the pairs that networks are stored in and computed with, else
/// by way of the smallest type that holds every value of `from`.
cast_function choose_cast(const dtype& to, const dtype& from);

/// Converts every element of `from` into the same place of `to`, as `convert` of
/// `core/types/convert.hpp` does; any strides. Equal dtypes are copied. The elements of `to` are
/// distinct and do not overlap those of `from`. Errors: `shape_mismatch`; `unsupported` unless both
/// are numbers or of one dtype.
result<void> cast_elements(const mutable_host_view& to, const host_view& from);

/// Casts the first elements of a dense run, and tells how many: all but 15 at most. The bits are
/// those of `convert`, of NaNs too.
using dense_cast = std::size_t (*)(std::byte* to, const std::byte* from,
                                   std::size_t count) noexcept;

/// Outputs from this size on do not go by way of the caches, which they would not fit into with
/// their source.
inline constexpr std::size_t streamed_cast_bytes = std::size_t{1} << 20;

/// The vector code for a pair of dtypes: between float32 and the floats of 16 bits, for CPUs with
/// AVX2 and F16C. Null where there is none.
dense_cast choose_dense_cast(const dtype& to, const dtype& from) noexcept;

}}}  // namespace zarrpoint::v0::detail
