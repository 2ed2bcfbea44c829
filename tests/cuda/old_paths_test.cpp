// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/device_space.hpp>
#include <zarrpoint/cuda/stream.hpp>

#include <doctest/doctest.h>

namespace old_paths_test {

TEST_CASE("old paths: of CUDA") { CHECK(zarrpoint::device_space<zarrpoint::cuda::device_space>); }

}  // namespace old_paths_test
