// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/codec/base/scratch_tensor.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The slots of a workspace that the array layer uses.
enum scratch_slot : std::size_t { stored_slot, decoded_slot };

/// Counts a tensor that is made for the caller. Errors: `out_of_range`, `resource_limit`.
result<void> charge_tensor(const tensor_spec& spec, scratch_account& to);

/// The same, and makes it. Errors: those, and what the resource of `how` refuses.
result<tensor> make_tensor(const tensor_spec& spec, const context& how, scratch_account& to);

/// `fill_elements`, with the text that strings get counted: one long fill value may be that of very
/// many elements. Errors: `resource_limit`.
result<void> fill_within_budget(const mutable_host_view& to, bytes_view element,
                                codec_workspace& scratch);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/base/impl/scratch_tensor_impl.hpp>
#endif
