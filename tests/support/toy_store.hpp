// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a store, which users copy.
#include "../../examples/stores/my_store.hpp"

namespace test {

namespace zp = zarrpoint;
using toy_store = example::my_store;

}  // namespace test
