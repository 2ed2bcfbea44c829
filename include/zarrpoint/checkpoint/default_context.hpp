// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/context.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint::inline v0 {

const context& default_context();

}  // namespace zarrpoint::inline v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/default_context_impl.hpp>
#endif
