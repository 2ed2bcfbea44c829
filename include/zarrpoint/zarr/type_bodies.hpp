// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ---------------------------------------------------------------------------------- fill_value.hpp

/// A float given as "NaN", "Infinity", "-Infinity" or, in v3, the hex digits of its bits.
ZARRPOINT_INLINE result<std::uint64_t> parse_float_text(const std::string& text, const dtype& type,
                                                        int zarr_format) {
  if (text == "NaN") {
    if (has_nan(type)) return nan_bits(type);
    return corrupt(std::string(to_string(type)) + " cannot be NaN");
  }
  if (text == "Infinity" || text == "-Infinity") {
    const double infinity = std::numeric_limits<double>::infinity();
    if (has_infinity(type)) return float_bits(type, text == "Infinity" ? infinity : -infinity);
    return corrupt(std::string(to_string(type)) + " cannot be infinite");
  }
  if (zarr_format == 3 && text.starts_with("0x")) {
    const std::string_view digits = std::string_view(text).substr(2);
    std::uint64_t bits = 0;
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (digits.size() != 2 * type.size() || status != std::errc() ||
        end != digits.data() + digits.size())
      return corrupt(in_quotes(text) + " must have " + std::to_string(2 * type.size()) +
                     " hex digits");
    if (type.is_below_byte()) bits &= (std::uint64_t{1} << type.bits()) - 1;
    return bits;
  }
  // JavaScript writes 1e20 as an integer, which `json_limits::keep_text` leaves as its digits.
  if (text.size() > 19) {
    const auto digits = parse_json(as_bytes(std::string_view(text + ".0")));
    if (digits && digits->is_number()) return float_bits(type, *digits->to_double());
  }
  return corrupt(in_quotes(text) + " is not a number");
}

ZARRPOINT_INLINE result<std::uint64_t> parse_float_fill(const json& value, const dtype& type,
                                                        int zarr_format) {
  if (value.is_number()) {
    const double number = *value.to_double();
    if (!std::isfinite(number)) {
      // A bare NaN is not JSON, but zarr-python 3.0.0 and 3.0.1 wrote it.
      if (zarr_format != 2) return corrupt("NaN and Infinity must be strings");
      return parse_float_text(dump_json(value), type, zarr_format);
    }
    // Without a zero, TensorStore's default of 0.0 is the smallest number there is.
    if (number == 0 && type.kind() == dtype_kind::float8_e8m0fnu) return std::uint64_t{0};
    return float_bits(type, number);
  }
  if (const std::string* text = value.if_string())
    return parse_float_text(*text, type, zarr_format);
  return corrupt("must be a number or a string");
}

ZARRPOINT_INLINE result<json> float_fill_to_json(std::uint64_t bits, const dtype& type,
                                                 int zarr_format) {
  const double value = float_value(type, bits);
  // zarrs reads numbers of these types only with an optional feature; hex digits are read by all.
  const bool needs_hex = type.size() == 1 || (std::isnan(value) && bits != nan_bits(type));
  if (needs_hex && zarr_format == 3) {
    std::string text = "0x";
    for (std::size_t i = 2 * type.size(); i-- > 0;)
      text += "0123456789abcdef"[(bits >> (4 * i)) & 15];
    return json(std::move(text));
  }
  if (std::isnan(value)) {
    if (bits != nan_bits(type)) return unsupported("Zarr v2 cannot hold a NaN with a payload");
    return json("NaN");
  }
  if (std::isinf(value)) return json(value > 0 ? "Infinity" : "-Infinity");
  return json(value);
}

ZARRPOINT_INLINE result<std::uint64_t> parse_integer_fill(const json& value, const dtype& type) {
  const auto width = static_cast<unsigned>(type.bits());
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - width);
  if (type.is_signed_integer()) {
    const auto number = integral_int64(value);
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - width);
    if (number && *number >= -most - 1 && *number <= most)
      return static_cast<std::uint64_t>(*number) & all;
  } else {
    const auto number = integral_uint64(value);
    if (number && *number <= all) return *number;
  }
  return corrupt("must be an integer that fits " + std::string(to_string(type)));
}

ZARRPOINT_INLINE result<std::uint64_t> parse_bool_fill(const json& value) {
  if (const bool* truth = value.if_bool()) return std::uint64_t{*truth ? 1U : 0U};
  // zarr-python has written 0 for false.
  if (const auto number = value.to_int64(); number && (*number == 0 || *number == 1))
    return static_cast<std::uint64_t>(*number);
  return corrupt("must be a boolean");
}

ZARRPOINT_INLINE result<std::uint64_t> parse_time_fill(const json& value) {
  if (value == json("NaT")) return std::uint64_t{1} << 63;
  if (const auto number = integral_int64(value)) return static_cast<std::uint64_t>(*number);
  return corrupt("must be an integer or \"NaT\"");
}

/// Zarr v2: a number in quotes, as zarr-python 2 wrote it where it was given so, or in a list, as
/// netCDF-C 4.8.0 wrote it.
ZARRPOINT_INLINE std::optional<json> wrapped_number(const json& value, int zarr_format) {
  if (zarr_format != 2) return std::nullopt;
  if (const json::array* const list = value.if_array(); list != nullptr && list->size() == 1)
    return list->front();
  const std::string* const text = value.if_string();
  if (text == nullptr) return std::nullopt;
  json_limits strict;
  strict.allow_nan_literals = false;
  auto parsed = parse_json(as_bytes(std::string_view(*text)), strict);
  if (!parsed || !parsed->is_number()) return std::nullopt;
  return *std::move(parsed);
}

/// One number that is not complex, or a time.
ZARRPOINT_INLINE result<std::uint64_t> parse_scalar_fill(const json& value, const dtype& type,
                                                         int zarr_format) {
  if (const auto number = wrapped_number(value, zarr_format))
    return parse_scalar_fill(*number, type, zarr_format);
  if (type.kind() == dtype_kind::bool_) return parse_bool_fill(value);
  if (type.is_integer()) return parse_integer_fill(value, type);
  if (type.is_time()) return parse_time_fill(value);
  return parse_float_fill(value, type, zarr_format);
}

ZARRPOINT_INLINE result<json> scalar_fill_to_json(std::uint64_t bits, const dtype& type,
                                                  int zarr_format) {
  if (type.is_floating()) return float_fill_to_json(bits, type, zarr_format);
  if (type.kind() == dtype_kind::bool_) return json(bits != 0);
  if (type.is_unsigned_integer()) return json(bits);
  const auto unused = static_cast<unsigned>(64 - type.bits());
  return json(static_cast<std::int64_t>(bits << unused) >> unused);
}

ZARRPOINT_INLINE result<void> parse_number_fill(const json& value, const dtype& type,
                                                int zarr_format, std::byte* to) {
  if (!type.is_complex()) {
    ZARRPOINT_TRY(bits, parse_scalar_fill(value, type, zarr_format));
    store_native(to, bits, type.size());
    return {};
  }
  const json::array* parts = value.if_array();
  if (parts == nullptr || parts->size() != 2)
    return corrupt("must be a list: real part, imaginary part");
  const dtype part = type.component();
  for (std::size_t i = 0; i < 2; ++i) {
    ZARRPOINT_TRY(bits, parse_float_fill((*parts)[i], part, zarr_format));
    store_native(to + i * part.size(), bits, part.size());
  }
  return {};
}

ZARRPOINT_INLINE result<json> number_fill_to_json(const std::byte* from, const dtype& type,
                                                  int zarr_format) {
  if (!type.is_complex())
    return scalar_fill_to_json(load_native(from, type.size()), type, zarr_format);
  const dtype part = type.component();
  ZARRPOINT_TRY(real, float_fill_to_json(load_native(from, part.size()), part, zarr_format));
  const std::uint64_t bits = load_native(from + part.size(), part.size());
  ZARRPOINT_TRY(imaginary, float_fill_to_json(bits, part, zarr_format));
  return json(json::array{std::move(real), std::move(imaginary)});
}

}  // namespace detail

ZARRPOINT_INLINE fill_value fill_value::zero(const dtype& type) {
  fill_value out;
  out.bytes_.resize(type.size());
  out.null_ = false;
  return out;
}

ZARRPOINT_INLINE fill_value fill_value::undefined(const dtype& type) {
  fill_value out = zero(type);
  out.null_ = true;
  return out;
}

ZARRPOINT_INLINE fill_value fill_value::of_bytes(bytes_view element) {
  fill_value out;
  out.bytes_ = as_text(element);
  out.null_ = false;
  return out;
}

ZARRPOINT_INLINE fill_value fill_value::of_text(std::string text) {
  fill_value out;
  out.text_ = std::move(text);
  out.null_ = false;
  return out;
}

namespace detail {

/// Bytes as base64, or one integer each. Fewer than `size` are followed by zeros where `short_ok`.
ZARRPOINT_INLINE result<std::string> parse_bytes_fill(const json& value,
                                                      std::optional<std::size_t> size,
                                                      bool short_ok) {
  std::string out;
  if (const std::string* text = value.if_string()) {
    std::optional<std::string> decoded = detail::from_base64(*text);
    if (!decoded) return corrupt(in_quotes(*text) + " is not base64");
    out = *std::move(decoded);
  } else if (const json::array* list = value.if_array()) {
    for (const json& one : *list) {
      const auto byte = integral_int64(one);
      if (!byte || *byte < 0 || *byte > 255) return corrupt("must be integers from 0 to 255");
      out += static_cast<char>(static_cast<unsigned char>(*byte));
    }
  } else {
    return corrupt("must be base64 or a list of bytes");
  }
  if (!size) return out;
  if (out.size() > *size || (out.size() < *size && !short_ok))
    return corrupt("has " + std::to_string(out.size()) + " bytes, not " + std::to_string(*size));
  out.resize(*size);
  return out;
}

ZARRPOINT_INLINE result<void> parse_utf32_fill(const json& value, const dtype& type,
                                               std::byte* to) {
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a string");
  std::string_view rest = *text;
  for (std::size_t at = 0; !rest.empty(); at += 4) {
    const std::optional<char32_t> code_point = take_code_point(rest);
    if (!code_point) return corrupt(in_quotes(*text) + " is not UTF-8");
    if (at == type.size())
      return corrupt(in_quotes(*text) + " has more than " + std::to_string(type.size() / 4) +
                     " code points");
    store_native(to + at, *code_point, 4);
  }
  return {};
}

ZARRPOINT_INLINE result<json> utf32_fill_to_json(bytes_view element) {
  std::string text;
  std::size_t size = element.size();
  while (size != 0 && load_native(element.data() + size - 4, 4) == 0) size -= 4;
  for (std::size_t at = 0; at < size; at += 4) {
    const auto code_point = static_cast<char32_t>(load_native(element.data() + at, 4));
    if (!append_code_point(text, code_point))
      return error{errc::invalid_argument,
                   "the fill value holds a number that is not a Unicode code point"};
  }
  return json(std::move(text));
}

result<void> parse_element_fill(const json& value, const dtype& type, int zarr_format,
                                std::byte* to);

/// An object with a value for each field; a list of them; or all bytes of the record as base64.
ZARRPOINT_INLINE result<void> parse_record_fill(const json& value, const dtype& type,
                                                int zarr_format, std::byte* to) {
  const std::span<const record_field> fields = fields_of(type);
  const json::array* list = value.if_array();
  if (value.if_object() == nullptr && (list == nullptr || list->size() != fields.size())) {
    ZARRPOINT_TRY(bytes, parse_bytes_fill(value, type.size(), false));
    std::memcpy(to, bytes.data(), bytes.size());
    // As the codec `bytes` reads elements: bools are 0 or 1, bits that hold nothing are 0.
    for_each_scalar(type, [&](std::size_t at, const dtype& scalar) {
      if (scalar == dtype_kind::bool_) to[at] = static_cast<std::byte>(to[at] != std::byte{0});
      for (std::size_t j = 0; scalar.is_below_byte() && j < scalar.size(); ++j)
        to[at + j] &= static_cast<std::byte>((1U << scalar.bits()) - 1);
    });
    return {};
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const record_field& one = fields[i];
    const json* given = list != nullptr ? &(*list)[i] : value.find(one.name);
    if (given == nullptr) return corrupt("has no value for field " + in_quotes(one.name));
    if (one.shape.rank() != 0) return unsupported("field " + in_quotes(one.name) + " is an array");
    ZARRPOINT_CHECK(
        parse_element_fill(*given, one.type, zarr_format, to + one.offset).at(in_quotes(one.name)));
  }
  if (list == nullptr && value.if_object()->size() != fields.size())
    return corrupt("has fields that the data type does not have");
  return {};
}

/// Writes an element of fixed size to `to`, which is zero.
ZARRPOINT_INLINE result<void> parse_element_fill(const json& value, const dtype& type,
                                                 int zarr_format, std::byte* to) {
  switch (type.kind()) {
    case dtype_kind::record: return parse_record_fill(value, type, zarr_format, to);
    case dtype_kind::fixed_length_utf32:
      if (value == json(0)) return {};
      return parse_utf32_fill(value, type, to);
    case dtype_kind::raw:
    case dtype_kind::null_terminated_bytes: {
      if (value == json(0)) return {};  // numpy's zero, written by zarr-python 2
      const bool short_ok = type.kind() == dtype_kind::null_terminated_bytes;
      result<std::string> bytes = parse_bytes_fill(value, type.size(), short_ok);
      // netCDF-C writes the bytes themselves, such as "\u0000".
      const std::string* const text = value.if_string();
      if (!bytes && zarr_format == 2 && short_ok && text != nullptr && text->size() <= type.size())
        bytes = *text;
      if (!bytes) return std::move(bytes).failure();
      std::memcpy(to, bytes->data(), bytes->size());
      return {};
    }
    default: return parse_number_fill(value, type, zarr_format, to);
  }
}

ZARRPOINT_INLINE result<json> element_fill_to_json(bytes_view element, const dtype& type,
                                                   int zarr_format) {
  switch (type.kind()) {
    case dtype_kind::record: {
      if (zarr_format == 2) return json(detail::to_base64(element));
      json::object out;
      for (const record_field& one : fields_of(type)) {
        ZARRPOINT_TRY(value, element_fill_to_json(element.subspan(one.offset, one.type.size()),
                                                  one.type, zarr_format));
        out.push_back({one.name, std::move(value)});
      }
      return json(std::move(out));
    }
    case dtype_kind::fixed_length_utf32: return utf32_fill_to_json(element);
    case dtype_kind::raw:
    case dtype_kind::null_terminated_bytes: return json(detail::to_base64(element));
    default: return number_fill_to_json(element.data(), type, zarr_format);
  }
}

ZARRPOINT_INLINE result<fill_value> parse_fill_value(const json& value, const dtype& type,
                                                     int zarr_format) {
  ZARRPOINT_ASSERT(type.valid());
  if (value.is_null() && zarr_format == 2) return fill_value::undefined(type);
  if (type.is_variable()) {
    // numpy's zero of an object array, written by zarr-python 2.
    if (zarr_format == 2 && value.to_int64() == 0) return fill_value::zero(type);
    if (type.kind() == dtype_kind::bytes) {
      ZARRPOINT_TRY(bytes, detail::parse_bytes_fill(value, std::nullopt, true));
      return fill_value::of_text(std::move(bytes));
    }
    if (const std::string* text = value.if_string()) return fill_value::of_text(*text);
    return detail::corrupt("must be a string");
  }
  std::string element(type.size(), '\0');
  ZARRPOINT_CHECK(detail::parse_element_fill(value, type, zarr_format,
                                             reinterpret_cast<std::byte*>(element.data())));
  return fill_value::of_bytes(as_bytes(std::string_view(element)));
}

ZARRPOINT_INLINE result<json> fill_value_to_json(const fill_value& fill, const dtype& type,
                                                 int zarr_format) {
  if (fill.is_null() && zarr_format == 2) return json();
  if (fill.bytes().size() != type.size() && !(fill.is_null() && fill.bytes().empty()))
    return error{errc::invalid_argument,
                 "fill value is not of type " + std::string(to_string(type))};
  if (type.kind() == dtype_kind::string) return json(fill.text());
  if (type.kind() == dtype_kind::bytes)
    return json(detail::to_base64(as_bytes(std::string_view(fill.text()))));
  const fill_value zero = fill_value::zero(type);
  return detail::element_fill_to_json((fill.bytes().empty() ? zero : fill).bytes(), type,
                                      zarr_format);
}

// ----------------------------------------------------------------------------------- data_type.hpp

ZARRPOINT_INLINE result<dtype> checked_element(dtype type) {
  if (type.is_variable()) return type;
  if (type.size() != 0 && type.size() <= max_element_size) return type;
  return unsupported("elements of " + std::to_string(type.size()) + " bytes");
}

/// `{"length_bytes": n}`, a multiple of `unit`.
ZARRPOINT_INLINE result<std::size_t> parse_length_bytes(const json& configuration,
                                                        std::int64_t unit) {
  ZARRPOINT_TRY(member, required(configuration, "length_bytes"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"length_bytes"}));
  const auto length = integral_int64(*member);
  if (!length || *length < 0 || *length % unit != 0)
    return corrupt("length_bytes must be a multiple of " + std::to_string(unit));
  return static_cast<std::size_t>(*length);
}

/// `{"unit": "us", "scale_factor": 10}`.
ZARRPOINT_INLINE result<dtype> parse_time_type(const json& configuration, dtype_kind kind) {
  ZARRPOINT_TRY(unit_member, required(configuration, "unit"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"unit", "scale_factor"}));
  const std::string* name = unit_member->if_string();
  const auto unit = name == nullptr ? std::nullopt : parse_time_unit(*name);
  if (!unit) return corrupt("unit must be one of NumPy's units of time");
  std::int64_t scale = 1;
  if (const json* factor = configuration.find("scale_factor")) {
    const auto value = integral_int64(*factor);
    if (!value || *value < 1 || *value > INT32_MAX)
      return corrupt("scale_factor must be an integer from 1 to 2^31 - 1");
    scale = *value;
  }
  const auto units = static_cast<std::uint32_t>(scale);
  return kind == dtype_kind::datetime64 ? dtype::datetime(*unit, units)
                                        : dtype::timedelta(*unit, units);
}

result<dtype> parse_data_type(const json& value, std::size_t levels);

/// `{"fields": [{"name": "x", "data_type": "int32"}, ...]}`, or pairs of name and type as
/// zarr-python 3.1 wrote them.
ZARRPOINT_INLINE result<dtype> parse_struct_type(const json& configuration, std::size_t levels) {
  ZARRPOINT_TRY(member, required(configuration, "fields"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"fields"}));
  const json::array* list = member->if_array();
  if (list == nullptr) return corrupt("fields must be a list");
  if (list->size() > max_record_fields)
    return corrupt("a record of " + std::to_string(list->size()) +
                   " fields is more than the limit of " + std::to_string(max_record_fields));
  std::vector<record_field> fields;
  fields.reserve(list->size());
  for (const json& element : *list) {
    const json* name = nullptr;
    const json* type = nullptr;
    if (const json::array* pair = element.if_array(); pair != nullptr && pair->size() == 2) {
      name = &(*pair)[0];
      type = &(*pair)[1];
    } else if (const json::object* members = element.if_object()) {
      ZARRPOINT_CHECK(only_members(*members, {"name", "data_type"}));
      name = element.find("name");
      type = element.find("data_type");
    }
    if (name == nullptr || name->if_string() == nullptr || type == nullptr)
      return corrupt("a field must have a name and a data_type");
    result<dtype> parsed = parse_data_type(*type, levels);
    if (!parsed) return std::move(parsed).failure().at(in_quotes(*name->if_string()));
    record_field& field = fields.emplace_back();
    field.name = *name->if_string();
    field.type = *std::move(parsed);
  }
  auto made = make_record(std::move(fields));
  if (!made) return corrupt(made.failure().message);
  return checked_element(*std::move(made));
}

/// `r48`: raw bytes by their number of bits.
ZARRPOINT_INLINE std::optional<std::size_t> raw_bits(std::string_view name) {
  if (name.size() < 2 || name[0] != 'r' || name[1] < '1' || name[1] > '9') return std::nullopt;
  std::size_t bits = 0;
  const auto [end, status] = std::from_chars(name.data() + 1, name.data() + name.size(), bits);
  if (status != std::errc() || end != name.data() + name.size() || bits % 8 != 0)
    return std::nullopt;
  return bits / 8;
}

ZARRPOINT_INLINE result<dtype> parse_data_type(const json& value, std::size_t levels) {
  if (levels == 0) return unsupported("records nested too deeply");
  ZARRPOINT_TRY(named, parse_named(value));
  const std::string_view name = named.name;
  const json::object* members = named.configuration->if_object();
  const auto length_type = [&](std::int64_t unit, auto make) -> result<dtype> {
    ZARRPOINT_TRY(length, parse_length_bytes(*named.configuration, unit));
    return checked_element(make(length / static_cast<std::size_t>(unit))).at(in_quotes(name));
  };
  if (name == "raw_bytes") return length_type(1, dtype::raw_bytes);
  if (name == "null_terminated_bytes") return length_type(1, dtype::null_terminated);
  if (name == "fixed_length_utf32") return length_type(4, dtype::utf32);
  if (name == "numpy.datetime64")
    return parse_time_type(*named.configuration, dtype_kind::datetime64);
  if (name == "numpy.timedelta64")
    return parse_time_type(*named.configuration, dtype_kind::timedelta64);
  if (name == "struct" || name == "structured")
    return parse_struct_type(*named.configuration, levels - 1);
  if (members != nullptr && !members->empty())
    return unsupported("data type " + in_quotes(name) + " is not supported with a configuration");
  if (const auto length = raw_bits(name)) return checked_element(dtype::raw_bytes(*length));
  if (name == "variable_length_bytes" || name == "binary") return dtype(dtype_kind::bytes);
  if (const auto type = parse_dtype(name)) return *type;
  return unsupported("data type " + in_quotes(name) + " is not supported");
}

ZARRPOINT_INLINE result<dtype> parse_data_type_v3(const json& value) {
  return detail::parse_data_type(value, detail::max_record_depth + 1);
}

ZARRPOINT_INLINE result<json> data_type_to_json(const dtype& type) {
  const auto with = [&](json::object configuration) {
    return json(
        json::object{{"name", to_string(type)}, {"configuration", json(std::move(configuration))}});
  };
  switch (type.kind()) {
    case dtype_kind::raw:
    case dtype_kind::null_terminated_bytes:
    case dtype_kind::fixed_length_utf32:
      return with({{"length_bytes", static_cast<std::int64_t>(type.size())}});
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64:
      return with({{"unit", to_string(type.unit())},
                   {"scale_factor", static_cast<std::int64_t>(type.scale())}});
    case dtype_kind::record: {
      json::array fields;
      for (const record_field& one : fields_of(type)) {
        if (one.shape.rank() != 0)
          return detail::unsupported("field " + detail::in_quotes(one.name) +
                                     " is an array, which records of Zarr v3 cannot hold");
        ZARRPOINT_TRY(field, data_type_to_json(one.type));
        fields.push_back(json::object{{"name", one.name}, {"data_type", std::move(field)}});
      }
      return with({{"fields", std::move(fields)}});
    }
    default: return json(to_string(type));
  }
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#include <zarrpoint/zarr/json/bodies.hpp>
#include <zarrpoint/zarr/metadata_bodies.hpp>
#endif
