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

zp::error broken(std::string_view what) {
  return {zp::errc::corrupt, "npy header: " + std::string(what)};
}

zp::error unsupported_descr(std::string_view descr) {
  return {zp::errc::unsupported, "npy: descr " + zp::detail::in_quotes(descr) +
                                     " is not supported (bool, integers, float16 to 64, complex, "
                                     "times, strings U and S, and bytes V are)"};
}

/// Reads the literal of a Python dictionary, of which numpy writes one form only.
class literal {
 public:
  explicit literal(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  std::optional<std::string_view> string() {
    skip_blanks();
    if (text_.starts_with("u'") || text_.starts_with("u\"")) text_.remove_prefix(1);  // of Python 2
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == text_.npos) return std::nullopt;
    const std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }
  std::optional<bool> boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }
  std::optional<zp::index_t> length() {
    skip_blanks();
    zp::index_t value = -1;
    const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (status != std::errc() || value < 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (text_.starts_with('L')) text_.remove_prefix(1);  // of Python 2
    return value;
  }
  std::string_view rest() const { return text_; }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

zp::result<zp::dims> parse_shape(literal& from) {
  if (!from.take('(')) return broken("\"shape\" is not a tuple");
  zp::dims shape;
  while (!from.take(')')) {
    const auto extent = from.length();
    if (!extent) return broken("\"shape\" holds something other than lengths");
    if (shape.rank() == zp::max_rank)
      return zp::error{zp::errc::unsupported,
                       "npy: more than " + std::to_string(zp::max_rank) + " dimensions"};
    shape.push_back(*extent);
    if (!from.take(',') && !from.rest().starts_with(')')) return broken("\"shape\" is malformed");
  }
  return shape;
}

zp::dtype numeric_dtype(char kind, std::size_t size) {
  using enum zp::dtype_kind;
  struct entry {
    char kind;
    std::size_t size;
    zp::dtype_kind type;
  };
  constexpr entry known[] = {{'b', 1, bool_},     {'i', 1, int8},       {'i', 2, int16},
                             {'i', 4, int32},     {'i', 8, int64},      {'u', 1, uint8},
                             {'u', 2, uint16},    {'u', 4, uint32},     {'u', 8, uint64},
                             {'f', 2, float16},   {'f', 4, float32},    {'f', 8, float64},
                             {'c', 8, complex64}, {'c', 16, complex128}};
  for (const entry& one : known) {
    if (one.kind == kind && one.size == size) return one.type;
  }
  return {};
}

zp::result<void> parse_descr(std::string_view descr, npy_header& out) {
  if (descr.size() < 3) return unsupported_descr(descr);
  if (descr[1] == 'V' || descr[1] == 'M' || descr[1] == 'm') {  // as Zarr v2 has them
    const std::string order = descr[0] == '=' ? "<" : std::string(descr.substr(0, 1));
    const auto read = zp::detail::parse_v2_dtype(zp::node(order + std::string(descr.substr(1))));
    if (!read || read->type.size() == 0) return unsupported_descr(descr);
    out.spec.type = read->type;
    out.swapped = read->order == zp::endian::big && read->type.scalar_size() > 1;
    return {};
  }
  std::size_t size = 0;
  const auto [end, status] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  if (status != std::errc() || end != descr.data() + descr.size()) return unsupported_descr(descr);
  if (std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return unsupported_descr(descr);
  if (descr[1] == 'U') {
    if (size > (std::size_t{1} << 28)) return unsupported_descr(descr);
    out.spec.type = zp::dtype_kind::string;
    out.text_length = size;
  } else if (descr[1] == 'S' && size != 0 && size <= (std::size_t{1} << 30)) {
    out.spec.type = zp::dtype::null_terminated(size);
  } else {
    out.spec.type = numeric_dtype(descr[1], size);
    if (!out.spec.type.valid()) return unsupported_descr(descr);
  }
  out.swapped = descr[0] == '>' && (out.text_length != 0 || out.spec.type.scalar_size() > 1);
  return {};
}

zp::result<void> parse_dictionary(literal from, npy_header& out) {
  if (!from.take('{')) return broken("it is not a dictionary");
  unsigned seen = 0;
  while (!from.take('}')) {
    const auto key = from.string();
    if (!key || !from.take(':')) return broken("it is not a dictionary");
    if (*key == "descr") {
      seen |= 1U;
      const auto descr = from.string();
      if (!descr)  // a list of fields: a structure
        return zp::error{zp::errc::unsupported, "npy: structured elements are not supported"};
      ZARRPOINT_CHECK(parse_descr(*descr, out));
    } else if (*key == "fortran_order") {
      seen |= 2U;
      const auto value = from.boolean();
      if (!value) return broken("\"fortran_order\" is not a bool");
      out.fortran_order = *value;
    } else if (*key == "shape") {
      seen |= 4U;
      ZARRPOINT_TRY(shape, parse_shape(from));
      out.spec.shape = shape;
    } else {
      return broken("unknown member " + zp::detail::in_quotes(*key));
    }
    if (!from.take(',') && !from.rest().starts_with('}'))
      return broken("the dictionary is malformed");
  }
  if (seen != 7U) return broken("descr, fortran_order or shape is missing");
  if (!from.at_end()) return broken("text after the dictionary");
  return {};
}

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

}  // namespace

bool begins_npy(zp::bytes_view file) { return zp::as_text(file).starts_with(magic); }

zp::result<npy_header> parse_npy(zp::bytes_view file) {
  const std::string_view text = zp::as_text(file);
  if (!begins_npy(file)) return broken("it does not begin with \\x93NUMPY");
  if (text.size() < 10) return broken("it is cut short");
  const auto byte = [&](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(text[i])};
  };
  const std::uint32_t version = byte(6);
  if (version < 1 || version > 3)
    return zp::error{zp::errc::unsupported,
                     "unknown npy format version " + std::to_string(version)};
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (text.size() < prefix) return broken("it is cut short");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > npy_header_limit - prefix)
    return zp::error{zp::errc::resource_limit,
                     "npy header of " + std::to_string(length) + " bytes"};
  if (text.size() - prefix < length) return broken("it is cut short");
  npy_header out;
  out.data_offset = prefix + length;
  ZARRPOINT_CHECK(parse_dictionary(literal(text.substr(prefix, length)), out));
  ZARRPOINT_CHECK(out.data_bytes());
  ZARRPOINT_CHECK(byte_count(out.spec.shape, zp::memory_size(out.spec.type)));
  return out;
}

namespace {

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
