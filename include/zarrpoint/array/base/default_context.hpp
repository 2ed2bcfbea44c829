// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 {

const context& default_context();

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/base/impl/default_context_impl.hpp>
#endif
