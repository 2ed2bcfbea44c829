// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace numpy {

/// What an npy file says of its elements (format 1.0 to 3.0), as numpy.lib.format documents it.
struct npy_header {
  tensor_spec spec;
  bool fortran_order = false;
  endian order = endian::little;
  std::size_t text_length = 0;  ///< of strings: UTF-32 code points an element, padded with zeros
  std::uint64_t data_offset = 0;

  std::size_t element_bytes() const {
    return spec.type.is_variable() ? 4 * text_length : spec.type.size();
  }
  /// Errors: `out_of_range`.
  result<std::size_t> data_bytes() const { return byte_count(spec.shape, element_bytes()); }
};

/// Bytes of a file that `parse_npy` must be given: all of the header, if the file has as many.
inline constexpr std::size_t npy_header_limit = std::size_t{1} << 20;

/// Whether a file begins as npy does: `\x93NUMPY`.
bool begins_npy(bytes_view file);

/// Errors: `corrupt`; `unsupported` naming the descr (objects, structures and so on).
result<npy_header> parse_npy(bytes_view file);

}}}  // namespace zarrpoint::v0::numpy
