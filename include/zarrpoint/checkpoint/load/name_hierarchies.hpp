// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Says of a place that is not a hierarchy which ones lie beneath it: of eight at most.
error name_hierarchies(error failure, const any_store& store, const std::string& place);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/impl/name_hierarchies_impl.hpp>
#endif
