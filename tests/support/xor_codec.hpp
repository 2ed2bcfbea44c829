// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The skeleton of a codec, which users copy.
#include "../../examples/codecs/my_codec.hpp"
