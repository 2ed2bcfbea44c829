// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether the first codec that minds the order of bytes makes them of the other one; nothing when
/// that is left to the next codec.
std::optional<bool> makes_other_order(std::string_view name, const node& configuration);

/// Declares bytes of the other order than this machine's to be of its own. False when they are not
/// such bytes, or when a codec before that works on the values of elements.
bool declare_native(std::vector<codec_spec>& codecs);

/// Whether an array's numbers are stored in the byte order that is not this machine's. Cheap: each
/// read to a device asks.
bool has_flipped_order(const array& of);

/// The array, read as if its numbers were stored in this machine's byte order: each part of an
/// element then has its bytes reversed, those of the fill value, too. Nothing for arrays that are
/// stored so, and where more than the bytes themselves depends on the order.
std::optional<array> in_flipped_order(const array& of);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/device/impl/flipped_order_impl.hpp>
#endif
