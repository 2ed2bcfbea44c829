// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/convert.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/float8_e8m0fnu.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/core/types/small_int.hpp>
#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <concepts>
#include <type_traits>

// Casts as `convert` does them. Each pair that networks are stored in and computed with has a
// function; all others go by way of a wide type.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

using zarrpoint::detail::from_stored;
using zarrpoint::detail::stored_type;
using zarrpoint::detail::visit_real;

/// Elements that a thread takes at once: the larger ones are 16 bytes.
template <class To, class From>
inline constexpr std::size_t cast_group = vector_bytes /
                                          (sizeof(To) > sizeof(From) ? sizeof(To) : sizeof(From));

template <class To, class From, std::size_t N, std::size_t ToAlign, std::size_t FromAlign>
constexpr void cast_some(std::byte* to, const std::byte* from) noexcept {
  const auto in = load<lanes<stored_type<From>, N>, FromAlign>(from);
  lanes<To, N> out;
  for (std::size_t i = 0; i < N; ++i) out.at[i] = convert<To>(from_stored<From>(in.at[i]));
  store<ToAlign>(to, out);
}

/// What one thread casts, directly from one type to the other.
template <class To, class From>
constexpr void cast_directly(std::byte* to, const std::byte* from, std::uint64_t count,
                             thread_place place) noexcept {
  constexpr std::size_t group = cast_group<To, From>;
  // The elements before both sides are aligned to a group, if they ever are.
  const std::uint64_t to_before = (group - address_of(to) / sizeof(To) % group) % group;
  const std::uint64_t from_before = (group - address_of(from) / sizeof(From) % group) % group;
  const bool is_aligned = address_of(to) % sizeof(To) == 0 && address_of(from) % sizeof(From) == 0;
  std::uint64_t i = place.first();
  if (!is_aligned || to_before != from_before) {
    for (; i < count; i += place.step())
      cast_some<To, From, 1, 1, 1>(to + i * sizeof(To), from + i * sizeof(From));
    return;
  }
  const std::uint64_t head = to_before < count ? to_before : count;
  const std::uint64_t groups = (count - head) / group;
  for (; i < groups; i += place.step()) {
    const std::uint64_t first = head + i * group;
    cast_some<To, From, group, group * sizeof(To), group * sizeof(From)>(
        to + first * sizeof(To), from + first * sizeof(From));
  }
  // The elements at both ends: fewer than the threads of one block.
  const std::uint64_t tail = head + groups * group;
  const std::uint64_t mine = place.first() < head ? place.first() : tail + (place.first() - head);
  if (mine < count)
    cast_some<To, From, 1, 1, 1>(to + mine * sizeof(To), from + mine * sizeof(From));
}

/// The types that hold every value of some others: the one for each.
enum class wide_kind : std::uint8_t { int64, uint64, float32, float64 };

constexpr wide_kind wide_kind_of(const dtype& from) noexcept {
  const dtype part = from.component();
  if (part.is_floating())
    return part == dtype_kind::float64 ? wide_kind::float64 : wide_kind::float32;
  return part == dtype_kind::uint64 ? wide_kind::uint64 : wide_kind::int64;
}

/// Whether `T` goes by way of `Wide`.
template <class T, class Wide>
inline constexpr bool widens_to = [] {
  if (dtype_of<T>.is_floating())
    return std::same_as<Wide, std::conditional_t<std::same_as<T, double>, double, float>>;
  return std::same_as<
      Wide, std::conditional_t<std::same_as<T, std::uint64_t>, std::uint64_t, std::int64_t>>;
}();

template <class Wide>
struct wide_reader {
  const std::byte* from;
  Wide* to;

  template <class T>
  constexpr void operator()() const noexcept {
    if constexpr (widens_to<T, Wide>)
      *to = convert<Wide>(from_stored<T>(load<stored_type<T>, 1>(from)));
  }
};
template <class Wide>
struct wide_writer {
  std::byte* to;
  Wide value;

  template <class T>
  constexpr void operator()() const noexcept {
    store<1>(to, convert<T>(value));
  }
};

/// What the kernels by way of a wide type are given.
struct wide_cast {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t count = 0;
  std::uint32_t to_part = 0;  ///< bytes of a number, or of a part of a complex one
  std::uint32_t from_part = 0;
  dtype_kind to_kind = dtype_kind::invalid;  ///< of a number, or of a part
  dtype_kind from_kind = dtype_kind::invalid;
  bool to_complex = false;
  bool from_complex = false;
};

inline wide_cast make_wide_cast(const device_cast& conversion) {
  wide_cast job;
  job.to = conversion.to;
  job.from = conversion.from;
  job.count = conversion.count;
  job.to_part = static_cast<std::uint32_t>(conversion.to_type.component().size());
  job.from_part = static_cast<std::uint32_t>(conversion.from_type.component().size());
  job.to_kind = conversion.to_type.component().kind();
  job.from_kind = conversion.from_type.component().kind();
  job.to_complex = conversion.to_type.is_complex();
  job.from_complex = conversion.from_type.is_complex();
  return job;
}

/// What one thread casts by way of `Wide`, which is that of `wide_kind_of`.
template <class Wide>
constexpr void cast_by_way_of(const wide_cast& job, thread_place place) noexcept {
  const std::uint64_t to_size = std::uint64_t{job.to_part} << (job.to_complex ? 1 : 0);
  const std::uint64_t from_size = std::uint64_t{job.from_part} << (job.from_complex ? 1 : 0);
  for (std::uint64_t i = place.first(); i < job.count; i += place.step()) {
    std::byte* const to = job.to + i * to_size;
    const std::byte* const from = job.from + i * from_size;
    Wide real{};
    Wide imaginary{};
    visit_real(job.from_kind, wide_reader<Wide>{from, &real});
    if (job.from_complex)
      visit_real(job.from_kind, wide_reader<Wide>{from + job.from_part, &imaginary});
    if (job.to_kind == dtype_kind::bool_) real = real != 0 || imaginary != 0 ? 1 : 0;
    visit_real(job.to_kind, wide_writer<Wide>{to, real});
    if (job.to_complex) visit_real(job.to_kind, wide_writer<Wide>{to + job.to_part, imaginary});
  }
}

}}}  // namespace zarrpoint::v0::cuda::detail
