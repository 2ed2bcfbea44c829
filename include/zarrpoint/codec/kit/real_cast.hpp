// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/real_number.hpp>
#include <zarrpoint/core/config.hpp>

#include <cstdint>
#include <optional>

// Numbers of one type as numbers of another, with every rule said (registered codec "cast_value").
namespace zarrpoint { inline namespace v0 { namespace detail {

enum class rounding : std::uint8_t {
  nearest_even,
  towards_zero,
  towards_positive,
  towards_negative,
  nearest_away,
};

enum class out_of_range : std::uint8_t { refuse, clamp, wrap };

struct cast_rules {
  detail::rounding rounding = detail::rounding::nearest_even;
  out_of_range beyond = out_of_range::refuse;
};

/// The bits of the number in another type, or nothing when the rules say that it has no place
/// there.
std::optional<std::uint64_t> cast_real(const real_number& value, const real_format& to,
                                       const cast_rules& rules);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/real_cast_impl.hpp>
#endif
