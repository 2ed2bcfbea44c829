// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>

#include <string_view>

// Which of the options of a save the layouts of Megatron-Core have: what they have not is refused,
// rather than left out.

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

/// Of which type a tensor is stored: its own, or that of the last rule with a `cast`. Errors: those
/// of the cast.
result<dtype> stored_type(const save_job& job, const planned_tensor& tensor);

/// Errors: `invalid_argument` where there are attributes.
result<void> check_attributes(const save_job& job);

/// `cell`: the type and the shape of a cell of the tensor `key`. Errors: `invalid_argument` for a
/// rule that asks for other chunks, or for codecs.
result<void> check_rules(const save_job& job, const tensor_spec& cell, std::string_view key);

}}}}  // namespace zarrpoint::v0::megatron::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/megatron/impl/megatron_rules_impl.hpp>
#endif
