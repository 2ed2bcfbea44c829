// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/lists/all_codecs.hpp>

#include "support/array_cases.hpp"

zarrpoint::codec_table zarrpoint_test::all_codecs::table() {
  return zarrpoint::all_codecs::table();
}
