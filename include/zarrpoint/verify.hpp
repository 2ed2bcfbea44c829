// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads all of a checkpoint and reports what is wrong with it.
#include <zarrpoint/checkpoint/verify/verify.hpp>
