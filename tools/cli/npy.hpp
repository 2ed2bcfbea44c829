// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The header of numpy's npy files, to write.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// The header of a little-endian file in C order. Strings have `text_length` code points, bytes so
/// many bytes. Errors:
/// `unsupported` for what numpy has no descr for.
zp::result<std::string> make_npy(const zp::tensor_spec& spec, std::size_t text_length = 0);

/// Code points of a string in numpy's U type. Errors: `unsupported` for one that ends in a zero,
/// which numpy would lose.
zp::result<std::size_t> utf32_length(std::string_view text);

/// Appends a string as UTF-32, padded with zeros up to `length` code points.
void append_utf32(std::string& out, std::string_view text, std::size_t length);

}  // namespace cli
