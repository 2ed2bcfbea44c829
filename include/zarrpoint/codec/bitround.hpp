// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An old path, which goes with the next version: include <zarrpoint/codecs.hpp>.
#include <zarrpoint/codec/array_to_array/bitround.hpp>
