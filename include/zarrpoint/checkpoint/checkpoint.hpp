// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An old path, which goes with the next version: include <zarrpoint/checkpoint.hpp>.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
