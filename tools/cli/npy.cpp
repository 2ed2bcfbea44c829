// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace cli {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

char kind_letter(const zp::dtype& type) {
  if (type == zp::dtype_kind::bool_) return 'b';
  if (type.is_below_byte()) return '\0';
  if (type == zp::dtype_kind::complex64 || type == zp::dtype_kind::complex128) return 'c';
  if (type.is_signed_integer()) return 'i';
  if (type.is_unsigned_integer()) return 'u';
  const bool known = type == zp::dtype_kind::float16 || type == zp::dtype_kind::float32 ||
                     type == zp::dtype_kind::float64;
  return known ? 'f' : '\0';
}

/// What is to be done instead.
zp::error no_npy_dtype(const zp::dtype& type) {
  std::string text = "npy has no dtype " + std::string(to_string(type));
  text += !type.is_number()   ? "; --raw and --json write its elements"
          : type.is_complex() ? "; a cast to complex64 keeps its values"
                              : "; a cast to float32 keeps its values";
  return {zp::errc::unsupported, std::move(text)};
}

}  // namespace

zp::result<std::string> make_npy(const zp::tensor_spec& spec, std::size_t text_length) {
  std::string descr;
  if (spec.type == zp::dtype_kind::bytes) {
    descr = "|S" + std::to_string(text_length);
  } else if (spec.type.is_variable()) {
    descr = "<U" + std::to_string(text_length);
  } else if (spec.type.kind() == zp::dtype_kind::fixed_length_utf32) {
    descr = "<U" + std::to_string(spec.type.size() / 4);
  } else if (spec.type.kind() == zp::dtype_kind::null_terminated_bytes) {
    descr = "|S" + std::to_string(spec.type.size());
  } else if (spec.type.kind() == zp::dtype_kind::raw || spec.type.is_time()) {
    ZARRPOINT_TRY(text, zp::detail::to_v2_dtype({spec.type}));
    descr = *text.if_string();
  } else {
    const char kind = kind_letter(spec.type);
    if (kind == '\0') return no_npy_dtype(spec.type);
    descr =
        std::string(spec.type.size() == 1 ? "|" : "<") + kind + std::to_string(spec.type.size());
  }
  std::string shape;
  for (const zp::index_t extent : spec.shape)
    shape += std::to_string(extent) + (spec.shape.rank() == 1 ? "," : ", ");
  if (spec.shape.rank() > 1) shape.resize(shape.size() - 2);
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const std::size_t whole = (10 + text.size() + 1 + 63) / 64 * 64;
  text.append(whole - 10 - text.size() - 1, ' ');
  text += '\n';
  std::string out(magic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

zp::result<std::size_t> utf32_length(std::string_view text) {
  if (text.ends_with('\0'))
    return zp::error{zp::errc::unsupported, "npy cannot hold strings that end in a NUL"};
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
  }));
}

void append_utf32(std::string& out, std::string_view text, std::size_t length) {
  std::size_t used = 0;
  for (; !text.empty(); ++used) {
    const std::size_t bytes = std::max<std::size_t>(zp::detail::utf8_sequence(text), 1);
    std::uint32_t c = static_cast<unsigned char>(text[0]);
    if (bytes > 1) c &= 0xffU >> (bytes + 1);
    for (std::size_t i = 1; i < bytes; ++i)
      c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
    std::array<std::byte, 4> four{};
    zp::store_le<std::uint32_t>(four.data(), c);
    out.append(reinterpret_cast<const char*>(four.data()), 4);
    text.remove_prefix(bytes);
  }
  out.append(4 * (length - used), '\0');
}

}  // namespace cli
