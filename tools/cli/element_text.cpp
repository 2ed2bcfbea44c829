// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "element_text.hpp"

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cli {

namespace {

/// The fewest digits that read back as the same number of its own type.
template <class T>
std::string number(T value) {
  if constexpr (std::integral<T> || std::floating_point<T>) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  } else {
    if (static_cast<float>(value) == 0) return std::signbit(static_cast<float>(value)) ? "-0" : "0";
    return to_string(value);
  }
}

template <class T>
void append_number(std::string& out, T value, bool json) {
  if constexpr (std::integral<T>) {
    out += number(value);
  } else {
    const double wide = static_cast<double>(value);
    if (std::isnan(wide)) {
      out += json ? "\"NaN\"" : "nan";
    } else if (std::isinf(wide)) {
      out += wide < 0 ? (json ? "\"-Infinity\"" : "-inf") : (json ? "\"Infinity\"" : "inf");
    } else {
      out += number(value);
    }
  }
}

template <class T>
void append_value(std::string& out, T value, bool json) {
  if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (zp::dtype_of<T>.is_complex()) {
    if (json) out += '[';
    append_number(out, value.real(), json);
    if (json) {
      out += ',';
    } else if (!std::signbit(value.imag()) || std::isnan(value.imag())) {
      out += '+';
    }
    append_number(out, value.imag(), json);
    out += json ? ']' : 'j';
  } else {
    append_number(out, value, json);
  }
}

void append_base64(std::string& out, std::string_view bytes) {
  out += "{\"base64\":\"" + zp::detail::to_base64(zp::as_bytes(bytes)) + "\"}";
}

void append_text(std::string& out, std::string_view text, bool json) {
  if (!json) {
    out += '"' + escaped(text) + '"';
  } else if (zp::is_utf8(text)) {
    append_json_string(out, text);
  } else {
    append_base64(out, text);
  }
}

/// Bytes as hexadecimal digits.
void append_hex(std::string& out, const std::byte* at, std::size_t size) {
  out += '"';
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned>(at[i]);
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  out += '"';
}

/// Code points up to the zeros at the end.
std::u32string code_points(const std::byte* at, std::size_t size) {
  std::u32string points(size / 4, U'\0');
  std::memcpy(points.data(), at, size);
  while (!points.empty() && points.back() == U'\0') points.pop_back();
  return points;
}

/// For people what is not a code point of Unicode becomes U+FFFD.
void append_utf32(std::string& out, const std::byte* at, std::size_t size, bool json) {
  if (const auto text = utf32_text(at, size)) return append_text(out, *text, json);
  const std::u32string points = code_points(at, size);
  if (!json) {
    std::string text;
    for (const char32_t point : points)
      if (!zp::detail::append_code_point(text, point))
        zp::detail::append_code_point(text, U'\uFFFD');
    return append_text(out, text, json);
  }
  out += "{\"code_points\":[";
  for (std::size_t i = 0; i < points.size(); ++i)
    out += (i == 0 ? "" : ",") + std::to_string(static_cast<std::uint32_t>(points[i]));
  out += "]}";
}

void append(std::string& out, const std::byte* at, const zp::dtype& type, bool json);

/// The elements of a field, in lists of lists when it has a shape.
void append_field(std::string& out, const std::byte* at, const zp::record_field& field,
                  std::size_t axis, bool json) {
  if (axis == field.shape.rank()) return append(out, at, field.type, json);
  std::size_t step = field.type.size();
  for (std::size_t d = axis + 1; d < field.shape.rank(); ++d)
    step *= static_cast<std::size_t>(field.shape[d]);
  out += '[';
  for (zp::index_t i = 0; i < field.shape[axis]; ++i) {
    if (i != 0) out += json ? "," : ", ";
    append_field(out, at + static_cast<std::size_t>(i) * step, field, axis + 1, json);
  }
  out += ']';
}

/// Whether an object of its fields could be taken for one of the marks of other elements.
bool is_like_a_mark(const zp::dtype& record) {
  const auto& fields = fields_of(record);
  return std::any_of(fields.begin(), fields.end(), [](const zp::record_field& field) {
    return field.name == "base64" || field.name == "code_points" || field.name == "record";
  });
}

void append_record(std::string& out, const std::byte* at, const zp::dtype& type, bool json) {
  const bool is_marked = json && is_like_a_mark(type);
  if (is_marked) out += "{\"record\":";
  out += json ? '{' : '(';
  bool first = true;
  for (const zp::record_field& field : fields_of(type)) {
    if (!first) out += json ? "," : ", ";
    first = false;
    if (json) {
      append_json_string(out, field.name);
      out += ':';
    }
    append_field(out, at + field.offset, field, 0, json);
  }
  out += json ? '}' : ')';
  if (is_marked) out += '}';
}

void append_time(std::string& out, const std::byte* at, bool json) {
  std::int64_t count = 0;
  std::memcpy(&count, at, sizeof count);
  if (count == INT64_MIN) {
    out += json ? "\"NaT\"" : "NaT";
  } else {
    out += std::to_string(count);
  }
}

void append(std::string& out, const std::byte* at, const zp::dtype& type, bool json) {
  switch (type.kind()) {
    case zp::dtype_kind::string:
      return append_text(out, *reinterpret_cast<const std::string*>(at), json);
    case zp::dtype_kind::bytes: {
      const auto& bytes = *reinterpret_cast<const std::string*>(at);
      return json ? append_base64(out, bytes) : append_text(out, bytes, json);
    }
    case zp::dtype_kind::fixed_length_utf32: return append_utf32(out, at, type.size(), json);
    case zp::dtype_kind::null_terminated_bytes: {
      std::string_view text(reinterpret_cast<const char*>(at), type.size());
      while (text.ends_with('\0')) text.remove_suffix(1);
      return append_text(out, text, json);
    }
    case zp::dtype_kind::raw: return append_hex(out, at, type.size());
    case zp::dtype_kind::datetime64:
    case zp::dtype_kind::timedelta64: return append_time(out, at, json);
    case zp::dtype_kind::record: return append_record(out, at, type, json);
    default: break;
  }
  zp::visit_dtype(type, [&]<class T>() {
    if constexpr (std::same_as<T, bool>) {
      append_value(out, *at != std::byte{0}, json);
    } else {
      T value;
      std::memcpy(&value, at, sizeof value);
      append_value(out, value, json);
    }
  });
}

void append_element(std::string& out, const std::byte* at, const element_type& of, bool json) {
  if (of.type != zp::dtype_kind::bytes || !of.items) return append(out, at, of.type, json);
  const auto& bytes = *reinterpret_cast<const std::string*>(at);
  const std::size_t size = of.items->type.size();
  const std::size_t unit = of.items->swapped ? of.items->type.scalar_size() : 1;
  std::array<std::byte, 16> item{};  // the largest number
  out += '[';
  for (std::size_t first = 0; first + size <= bytes.size(); first += size) {
    std::memcpy(item.data(), bytes.data() + first, size);
    for (std::size_t i = 0; i < size; i += unit)
      std::reverse(item.data() + i, item.data() + i + unit);
    if (first != 0) out += json ? "," : ", ";
    append(out, item.data(), of.items->type, json);
  }
  out += ']';
}

}  // namespace

std::optional<std::string> utf32_text(const std::byte* at, std::size_t size) {
  std::string out;
  for (const char32_t point : code_points(at, size))
    if (!zp::detail::append_code_point(out, point)) return std::nullopt;
  return out;
}

std::optional<vector_items> vector_items::parse(std::string_view text) {
  if (const auto named = zp::parse_dtype(text); named && named->is_number())
    return vector_items{*named};
  constexpr bool is_little = zp::native_endian == zp::endian::little;
  const bool swapped = text.starts_with(is_little ? '>' : '<');
  if (text.starts_with('<') || text.starts_with('>') || text.starts_with('|'))
    text.remove_prefix(1);
  using enum zp::dtype_kind;
  constexpr std::pair<std::string_view, zp::dtype_kind> known[] = {
      {"b1", bool_},   {"i1", int8},    {"i2", int16},     {"i4", int32},      {"i8", int64},
      {"u1", uint8},   {"u2", uint16},  {"u4", uint32},    {"u8", uint64},     {"f2", float16},
      {"f4", float32}, {"f8", float64}, {"c8", complex64}, {"c16", complex128}};
  for (const auto& [name, kind] : known) {
    if (name == text) return vector_items{kind, swapped};
  }
  return std::nullopt;
}

void append_plain(std::string& out, const std::byte* at, const element_type& type) {
  append_element(out, at, type, false);
}

void append_json(std::string& out, const std::byte* at, const element_type& type) {
  append_element(out, at, type, true);
}

void append_json_string(std::string& out, std::string_view text) {
  if (zp::is_utf8(text)) {
    zp::detail::write_json_string(out, text);
    return;
  }
  std::string mended;
  while (!text.empty()) {
    const std::size_t length = zp::detail::utf8_sequence(text);
    mended += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  zp::detail::write_json_string(out, mended);
}

}  // namespace cli
