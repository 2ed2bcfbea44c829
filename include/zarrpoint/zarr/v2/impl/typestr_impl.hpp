// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The digits at the beginning of `text`, which lose them.
ZARRPOINT_INLINE std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// What follows the 8 of `<M8[25us]`; nothing at all is the generic unit.
ZARRPOINT_INLINE std::optional<dtype> parse_v2_time(char kind, std::string_view rest) {
  time_unit unit = time_unit::generic;
  std::size_t scale = 1;
  if (!rest.empty()) {
    if (rest.front() != '[' || rest.back() != ']') return std::nullopt;
    rest = rest.substr(1, rest.size() - 2);
    if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      const auto number = take_number(rest);
      if (!number || *number < 1 || *number > INT32_MAX) return std::nullopt;
      scale = *number;
    }
    const auto named = parse_time_unit(rest);
    if (!named) return std::nullopt;
    unit = *named;
  }
  const auto units = static_cast<std::uint32_t>(scale);
  return kind == 'M' ? dtype::datetime(unit, units) : dtype::timedelta(unit, units);
}

/// A number of `size` bytes.
ZARRPOINT_INLINE std::optional<dtype> v2_number(char kind, std::size_t size) {
  for (const dtype_kind one : all_dtype_kinds) {
    const dtype type(one);
    if (type.size() != size || has_bare_name_in_v2(type)) continue;
    if ((kind == 'b' && one == dtype_kind::bool_) || (kind == 'i' && type.is_signed_integer()) ||
        (kind == 'u' && type.is_unsigned_integer()) || (kind == 'f' && type.is_floating()) ||
        (kind == 'c' && type.is_complex()))
      return type;
  }
  return std::nullopt;
}

/// A typestr without its byte order: `f4`, `S12`, `M8[s]`.
ZARRPOINT_INLINE std::optional<dtype> parse_typestr_body(std::string_view body) {
  if (body == "O") return dtype(dtype_kind::string);
  if (body.size() < 2) return std::nullopt;
  const char kind = body.front();
  std::string_view rest = body.substr(1);
  const auto size = take_number(rest);
  if (!size) return std::nullopt;
  if (kind == 'M' || kind == 'm') return *size == 8 ? parse_v2_time(kind, rest) : std::nullopt;
  if (!rest.empty()) return std::nullopt;
  if (kind == 'S') return dtype::null_terminated(*size);
  if (kind == 'V') return dtype::raw_bytes(*size);
  if (kind == 'U' && *size <= max_element_size) return dtype::utf32(*size);
  return v2_number(kind, *size);
}

ZARRPOINT_INLINE result<v2_dtype> parse_typestr(const std::string& text) {
  if (const auto named = parse_dtype(text); named && has_bare_name_in_v2(*named))
    return v2_dtype{*named};
  const char order = text.empty() ? '\0' : text.front();
  if (order == '<' || order == '>' || order == '|') {
    const auto type = parse_typestr_body(std::string_view(text).substr(1));
    // "|" says that there is no order to speak of, which is wrong for wider elements.
    if (type && (order != '|' || type->scalar_size() == 1)) {
      ZARRPOINT_TRY(checked, checked_element(*type).at("data type " + in_quotes(text)));
      return v2_dtype{checked, order == '>' ? endian::big : endian::little};
    }
  }
  return unsupported("data type " + in_quotes(text) + " is not supported");
}

result<v2_dtype> parse_v2_dtype_at(const node& value, std::size_t levels);

/// The third part of a field: its shape, or the length of its only axis.
ZARRPOINT_INLINE result<dims> parse_field_shape(const node& value) {
  if (const auto length = integral_int64(value); length && *length >= 0) return dims{*length};
  return parse_extents(value);
}

/// `[["x", "<f4"], ["v", "<u2", [3]]]`.
ZARRPOINT_INLINE result<v2_dtype> parse_v2_record(const node::array& list, std::size_t levels) {
  if (levels == 0) return unsupported("records nested too deeply");
  if (list.size() > max_record_fields)
    return corrupt("a record of " + std::to_string(list.size()) +
                   " fields is more than the limit of " + std::to_string(max_record_fields));
  std::vector<record_field> fields;
  fields.reserve(list.size());
  v2_dtype out;
  for (const node& element : list) {
    const node::array* parts = element.if_array();
    if (parts == nullptr || parts->size() < 2 || parts->size() > 3 ||
        parts->front().if_string() == nullptr)
      return corrupt("a field must be a list of name, type and, if it is an array, shape");
    const std::string& name = *parts->front().if_string();
    record_field& field = fields.emplace_back();
    result<v2_dtype> parsed = parse_v2_dtype_at((*parts)[1], levels - 1);
    if (parsed && parts->size() == 3) {
      result<dims> given = parse_field_shape(parts->back());
      if (given) field.shape = *given;
      if (!given) parsed = std::move(given).failure();
    }
    if (!parsed) return std::move(parsed).failure().at(in_quotes(name));
    v2_dtype& type = *parsed;
    if (type.field_orders.empty()) type.field_orders.push_back(type.order);
    // A nested record of one order stands for as many fields as it has.
    std::size_t scalars = 0;
    all_scalars(type.type, [&](const dtype&) { return ++scalars != 0; });
    type.field_orders.resize(scalars, type.field_orders.back());
    out.field_orders.insert(out.field_orders.end(), type.field_orders.begin(),
                            type.field_orders.end());
    field.name = name;
    field.type = std::move(type.type);
  }
  auto made = make_record(std::move(fields));
  if (!made) return corrupt(made.failure().message);
  ZARRPOINT_TRY(checked, checked_element(*std::move(made)));
  out.type = std::move(checked);
  // Of fields of one byte the order says nothing.
  std::optional<endian> common;
  bool mixed = false;
  std::size_t i = 0;
  all_scalars(out.type, [&](const dtype& scalar) {
    const endian order = out.field_orders[i++];
    if (scalar.scalar_size() == 1) return true;
    mixed = mixed || (common && *common != order);
    common = order;
    return true;
  });
  if (mixed) return out;
  out.order = common.value_or(endian::little);
  out.field_orders.clear();
  return out;
}

ZARRPOINT_INLINE result<v2_dtype> parse_v2_dtype_at(const node& value, std::size_t levels) {
  if (const std::string* text = value.if_string()) return parse_typestr(*text);
  if (const node::array* fields = value.if_array()) return parse_v2_record(*fields, levels);
  return corrupt("must be a string or a list of fields");
}

/// The kind and size of a typestr, without the byte order, for types without a bare name.
ZARRPOINT_INLINE std::string typestr_body(const dtype& type) {
  switch (type.kind()) {
    case dtype_kind::string:
    case dtype_kind::bytes: return "O";
    case dtype_kind::raw: return "V" + std::to_string(type.size());
    case dtype_kind::null_terminated_bytes: return "S" + std::to_string(type.size());
    case dtype_kind::fixed_length_utf32: return "U" + std::to_string(type.size() / 4);
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64: {
      std::string out = type.kind() == dtype_kind::datetime64 ? "M8" : "m8";
      if (type.unit() == time_unit::generic) return out;
      out += '[';
      if (type.scale() != 1) out += std::to_string(type.scale());
      return out.append(to_string(type.unit())) + ']';
    }
    default: break;
  }
  const char kind = type.kind() == dtype_kind::bool_ ? 'b'
                    : type.is_signed_integer()       ? 'i'
                    : type.is_unsigned_integer()     ? 'u'
                    : type.is_floating()             ? 'f'
                                                     : 'c';
  return kind + std::to_string(type.size());
}

/// `order_at` counts the scalars of a record of mixed orders.
ZARRPOINT_INLINE result<node> v2_dtype_to_node(const v2_dtype& value, const dtype& type,
                                               std::size_t& order_at) {
  if (type.kind() == dtype_kind::record) {
    node::array fields;
    for (const record_field& one : fields_of(type)) {
      ZARRPOINT_TRY(field, v2_dtype_to_node(value, one.type, order_at));
      node::array parts{node(one.name), std::move(field)};
      if (one.shape.rank() != 0) parts.push_back(extents_to_node(one.shape));
      fields.emplace_back(std::move(parts));
    }
    return node(std::move(fields));
  }
  const std::size_t at = order_at++;
  const endian order = at < value.field_orders.size() ? value.field_orders[at] : value.order;
  if (has_bare_name_in_v2(type)) {
    if (order == endian::big && type.scalar_size() > 1)
      return unsupported("Zarr v2 has no big-endian " + std::string(to_string(type)));
    return node(to_string(type));
  }
  const char mark = type.scalar_size() == 1 ? '|' : order == endian::big ? '>' : '<';
  return node(mark + typestr_body(type));
}

ZARRPOINT_INLINE result<v2_dtype> parse_v2_dtype(const node& value) {
  return detail::parse_v2_dtype_at(value, detail::max_record_depth);
}

ZARRPOINT_INLINE result<node> to_v2_dtype(const v2_dtype& value) {
  std::size_t order_at = 0;
  return detail::v2_dtype_to_node(value, value.type, order_at);
}

ZARRPOINT_INLINE codec_spec v2_bytes_codec(const v2_dtype& value) {
  const auto name_of = [](endian order) { return order == endian::big ? "big" : "little"; };
  if (!value.field_orders.empty()) {
    node::array orders;
    for (const endian one : value.field_orders) orders.emplace_back(name_of(one));
    return {"bytes", node::object{{"field_endian", std::move(orders)}}};
  }
  if (value.type.scalar_size() == 1) return {"bytes", node()};
  return {"bytes", node::object{{"endian", name_of(value.order)}}};
}

ZARRPOINT_INLINE v2_dtype v2_dtype_of(const dtype& type, const node& bytes_configuration) {
  v2_dtype out{type};
  const node* order = bytes_configuration.find("endian");
  if (order != nullptr && *order == node("big")) out.order = endian::big;
  const node* orders = bytes_configuration.find("field_endian");
  const node::array* list = orders == nullptr ? nullptr : orders->if_array();
  if (list == nullptr) return out;
  for (const node& one : *list)
    out.field_orders.push_back(one == node("big") ? endian::big : endian::little);
  return out;
}

ZARRPOINT_INLINE result<fill_value> reorder_record(const fill_value& fill, const v2_dtype& stored,
                                                   bool to_stored) {
  if (fill.is_null() || fill.bytes().empty()) return fill;
  const tensor_spec one{stored.type, {}};
  ZARRPOINT_TRY(codec, bytes_codec::from_configuration(v2_bytes_codec(stored).configuration));
  ZARRPOINT_TRY(bound, codec.resolve(one));
  std::string bytes(fill.bytes().size(), '\0');
  auto* const to = reinterpret_cast<std::byte*>(bytes.data());
  codec_workspace scratch;
  if (to_stored) {
    ZARRPOINT_CHECK(bound.encode(dense_view(fill.bytes().data(), one),
                                 mutable_bytes(to, bytes.size()), scratch));
  } else {
    ZARRPOINT_CHECK(bound.decode(fill.bytes(), dense_view(to, one), scratch));
  }
  return fill_value::of_bytes(as_bytes(std::string_view(bytes)));
}

}}}  // namespace zarrpoint::v0::detail
