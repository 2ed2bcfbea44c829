// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Names for the members of a dict of any keys.

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// That names take more than the limits allow.
error names_too_long();

struct named_member {
  std::string name;
  std::size_t member;
};

/// The members of a dict with names for them; the last of equal keys counts. Keys that are not text
/// are told as JSON has them, and by their type where a text is like them: `0 (int)`. Keys without
/// a text of their own, as tensors, may have one name.
/// What the documents of keys take goes off `left`. Errors: `resource_limit`.
result<std::vector<named_member>> named_members(const pickle_value& dict, std::uint64_t& left);

}}}}  // namespace zarrpoint::v0::torch::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/impl/member_names_impl.hpp>
#endif
