// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <array>
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

ZARRPOINT_INLINE result<dtype> checked_element(dtype type) {
  if (type.is_variable()) return type;
  if (type.size() != 0 && type.size() <= max_element_size) return type;
  return unsupported("elements of " + std::to_string(type.size()) + " bytes");
}

/// `{"length_bytes": n}`, a multiple of `unit`.
ZARRPOINT_INLINE result<std::size_t> parse_length_bytes(const node& configuration,
                                                        std::int64_t unit) {
  ZARRPOINT_TRY(member, required(configuration, "length_bytes"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"length_bytes"}));
  const auto length = integral_int64(*member);
  if (!length || *length < 0 || *length % unit != 0)
    return corrupt("length_bytes must be a multiple of " + std::to_string(unit));
  return static_cast<std::size_t>(*length);
}

/// `{"unit": "us", "scale_factor": 10}`.
ZARRPOINT_INLINE result<dtype> parse_time_type(const node& configuration, dtype_kind kind) {
  ZARRPOINT_TRY(unit_member, required(configuration, "unit"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"unit", "scale_factor"}));
  const std::string* name = unit_member->if_string();
  const auto unit = name == nullptr ? std::nullopt : parse_time_unit(*name);
  if (!unit) return corrupt("unit must be one of NumPy's units of time");
  std::int64_t scale = 1;
  if (const node* factor = configuration.find("scale_factor")) {
    const auto value = integral_int64(*factor);
    if (!value || *value < 1 || *value > INT32_MAX)
      return corrupt("scale_factor must be an integer from 1 to 2^31 - 1");
    scale = *value;
  }
  const auto units = static_cast<std::uint32_t>(scale);
  return kind == dtype_kind::datetime64 ? dtype::datetime(*unit, units)
                                        : dtype::timedelta(*unit, units);
}

result<dtype> parse_data_type(const node& value, std::size_t levels);

/// `{"fields": [{"name": "x", "data_type": "int32"}, ...]}`, or pairs of name and type as
/// zarr-python 3.1 wrote them.
ZARRPOINT_INLINE result<dtype> parse_struct_type(const node& configuration, std::size_t levels) {
  ZARRPOINT_TRY(member, required(configuration, "fields"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"fields"}));
  const node::array* list = member->if_array();
  if (list == nullptr) return corrupt("fields must be a list");
  if (list->size() > max_record_fields)
    return corrupt("a record of " + std::to_string(list->size()) +
                   " fields is more than the limit of " + std::to_string(max_record_fields));
  std::vector<record_field> fields;
  fields.reserve(list->size());
  for (const node& element : *list) {
    const node* name = nullptr;
    const node* type = nullptr;
    if (const node::array* pair = element.if_array(); pair != nullptr && pair->size() == 2) {
      name = &(*pair)[0];
      type = &(*pair)[1];
    } else if (const node::object* members = element.if_object()) {
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

ZARRPOINT_INLINE result<dtype> parse_data_type(const node& value, std::size_t levels) {
  if (levels == 0) return unsupported("records nested too deeply");
  ZARRPOINT_TRY(named, parse_named(value));
  const std::string_view name = named.name;
  const node::object* members = named.configuration->if_object();
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

ZARRPOINT_INLINE result<dtype> parse_data_type_v3(const node& value) {
  return detail::parse_data_type(value, detail::max_record_depth + 1);
}

ZARRPOINT_INLINE result<node> data_type_to_node(const dtype& type) {
  const auto with = [&](node::object configuration) {
    return node(
        node::object{{"name", to_string(type)}, {"configuration", node(std::move(configuration))}});
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
      node::array fields;
      for (const record_field& one : fields_of(type)) {
        if (one.shape.rank() != 0)
          return detail::unsupported("field " + detail::in_quotes(one.name) +
                                     " is an array, which records of Zarr v3 cannot hold");
        ZARRPOINT_TRY(field, data_type_to_node(one.type));
        fields.push_back(node::object{{"name", one.name}, {"data_type", std::move(field)}});
      }
      return with({{"fields", std::move(fields)}});
    }
    default: return node(to_string(type));
  }
}

}}}  // namespace zarrpoint::v0::detail
