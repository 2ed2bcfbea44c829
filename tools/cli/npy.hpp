// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The header of numpy's npy files (format 1.0 to 3.0), as numpy.lib.format documents it.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// What an npy file says of its elements.
struct npy_header {
  zp::tensor_spec spec;
  bool fortran_order = false;
  bool swapped = false;         ///< in the other byte order
  std::size_t text_length = 0;  ///< of strings: UTF-32 code points an element, padded with zeros
  std::uint64_t data_offset = 0;

  std::size_t element_bytes() const {
    return spec.type.is_variable() ? 4 * text_length : spec.type.size();
  }
  /// Errors: `out_of_range`.
  zp::result<std::size_t> data_bytes() const { return byte_count(spec.shape, element_bytes()); }
};

/// Bytes of a file that `parse_npy` must be given: all of the header, if the file has as many.
inline constexpr std::size_t npy_header_limit = std::size_t{1} << 20;

bool begins_npy(zp::bytes_view file);

/// Errors: `corrupt`; `unsupported` naming the descr (objects, structures, dates and so on).
zp::result<npy_header> parse_npy(zp::bytes_view file);

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
