// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: split_factory<Axis> of a tensor that has no such axis
#include <zarrpoint/distributed/state/split_factory.hpp>

using zarrpoint::sharded;

// A scalar has no axes; a vector is flat, and has those of its shard.
#if defined(ZP_OK)
using value = std::vector<float>;
#else
using value = float;
#endif

auto test(const sharded<value>& whole) { return zarrpoint::split_factory<1>(whole); }
