// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace safetensors { namespace detail {

ZARRPOINT_INLINE std::string tensor_context(std::string_view name) {
  return "tensor " + in_quotes(name);
}

ZARRPOINT_INLINE error broken(std::string message) { return {errc::corrupt, std::move(message)}; }

ZARRPOINT_INLINE result<dims> parse_shape(const node& value) {
  const node::array* extents = value.if_array();
  if (extents == nullptr) return broken("\"shape\" is not an array");
  if (extents->size() > max_rank)
    return error{errc::unsupported, std::to_string(extents->size()) +
                                        " dimensions are more than the limit of " +
                                        std::to_string(max_rank)};
  dims shape;
  for (const node& extent : *extents) {
    const std::optional<std::int64_t> length = extent.to_int64();
    if (!length || *length < 0) return broken("\"shape\" holds something other than lengths");
    shape.push_back(*length);
  }
  return shape;
}

ZARRPOINT_INLINE result<tensor_info> parse_tensor(const node::member& entry) {
  const node::object* members = entry.value.if_object();
  if (members == nullptr) return broken("its description is not an object");
  for (const node::member& each : *members) {
    // What a member of a later version of the format means cannot be guessed.
    if (each.key != "dtype" && each.key != "shape" && each.key != "data_offsets")
      return error{errc::unsupported,
                   "its description has the unknown member " + in_quotes(each.key)};
  }
  const node* type = entry.value.find("dtype");
  const node* shape = entry.value.find("shape");
  const node* offsets = entry.value.find("data_offsets");
  if (type == nullptr || type->if_string() == nullptr)
    return broken("no \"dtype\" that is a string");
  if (shape == nullptr) return broken("no \"shape\"");
  const node::array* range = offsets == nullptr ? nullptr : offsets->if_array();
  if (range == nullptr || range->size() != 2) return broken("no \"data_offsets\" of two numbers");
  const std::optional<std::uint64_t> begin = (*range)[0].to_uint64();
  const std::optional<std::uint64_t> end = (*range)[1].to_uint64();
  if (!begin || !end || *end < *begin) return broken("\"data_offsets\" are not a range");

  const std::optional<dtype> known = dtype_named(*type->if_string());
  ZARRPOINT_TRY(extents, parse_shape(*shape));
  // A dtype of a later version of the format: the other tensors can be read all the same.
  tensor_info out{entry.key, {known.value_or(dtype()), extents}, *begin, *end - *begin, {}};
  if (known) {
    ZARRPOINT_TRY(bytes, stored_byte_count(out.spec));
    if (bytes != out.bytes)
      return broken(std::to_string(out.bytes) + " bytes are stored, but " + std::to_string(bytes) +
                    " are needed for " + to_string(out.spec));
  } else {
    out.stored_type = *type->if_string();
  }
  return out;
}

ZARRPOINT_INLINE result<metadata_map> parse_metadata(const node& value) {
  metadata_map out;
  if (value.is_null()) return out;  // serde's spelling of none
  const node::object* members = value.if_object();
  if (members == nullptr) return broken("\"__metadata__\" is not an object");
  for (const node::member& each : *members) {
    const std::string* text = each.value.if_string();
    if (text == nullptr)
      return broken("\"__metadata__\": the value of " + in_quotes(each.key) + " is not a string");
    out.emplace(each.key, *text);
  }
  return out;
}

}}  // namespace safetensors::detail

namespace safetensors { namespace detail {

ZARRPOINT_INLINE result<header> parse_header(bytes_view text, std::uint64_t data_bytes) {
  if (text.empty() || text.front() != std::byte{'{'})
    return detail::broken("the header does not begin with {");
  ZARRPOINT_TRY(document, parse_json(text, {.max_bytes = max_header_bytes,
                                            .max_nodes = 4'000'000,
                                            .allow_nan_literals = false})
                              .at("header"));
  const node::object* members = document.if_object();
  if (members == nullptr) return detail::broken("the header is not a JSON object");

  header out;
  out.tensors.reserve(members->size());
  for (const node::member& each : *members) {
    if (each.key == "__metadata__") {
      ZARRPOINT_TRY(metadata, detail::parse_metadata(each.value));
      out.metadata = std::move(metadata);
    } else {
      result<tensor_info> tensor = detail::parse_tensor(each);
      if (!tensor) return std::move(tensor).failure().at(detail::tensor_context(each.key));
      out.tensors.push_back(*std::move(tensor));
    }
  }
  // An empty tensor shares its offset with the one behind it, so lengths count as well.
  v0::detail::sort_by(out.tensors, [](const tensor_info& a, const tensor_info& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  std::uint64_t end = 0;
  for (const tensor_info& each : out.tensors) {
    if (each.offset != end)
      return detail::broken(detail::tensor_context(each.name) + ": begins at " +
                            std::to_string(each.offset) +
                            (each.offset < end ? " inside" : " beyond") +
                            " the data before it, which ends at " + std::to_string(end));
    if (each.bytes > data_bytes - end)
      return detail::broken(detail::tensor_context(each.name) + ": ends at " +
                            std::to_string(each.offset + each.bytes) + ", beyond the file's " +
                            std::to_string(data_bytes) + " bytes of data");
    end += each.bytes;
  }
  if (end != data_bytes)
    return detail::broken(std::to_string(data_bytes - end) + " bytes after the last tensor");
  return out;
}

ZARRPOINT_INLINE result<std::string> dump_header(const header& from) {
  const auto check_text = [](std::string_view text, std::string_view what) -> result<void> {
    if (is_utf8(text)) return {};
    return error{errc::invalid_argument,
                 std::string(what) + ' ' + detail::in_quotes(text) + " is not UTF-8"};
  };
  node::object members;
  members.reserve(from.tensors.size() + 1);
  if (!from.metadata.empty()) {
    node::object texts;
    for (const auto& [key, value] : from.metadata) {
      ZARRPOINT_CHECK(check_text(key, "metadata key"));
      ZARRPOINT_CHECK(check_text(value, "metadata value"));
      texts.push_back({key, value});
    }
    members.push_back({"__metadata__", std::move(texts)});
  }
  std::vector<std::string_view> names;
  for (const tensor_info& each : from.tensors) {
    ZARRPOINT_CHECK(check_text(each.name, "tensor name"));
    if (each.name == "__metadata__")
      return error{errc::invalid_argument, "tensor name \"__metadata__\" is reserved"};
    names.push_back(each.name);
    const std::optional<std::string_view> type = dtype_name(each.spec.type);
    if (!type)
      return error{errc::unsupported, detail::tensor_context(each.name) +
                                          ": safetensors has no dtype " +
                                          std::string(to_string(each.spec.type))};
    node::array shape;
    for (const index_t extent : each.spec.shape) shape.emplace_back(extent);
    node::array offsets{each.offset, each.offset + each.bytes};
    members.push_back({each.name, node::object{{"dtype", *type},
                                               {"shape", std::move(shape)},
                                               {"data_offsets", std::move(offsets)}}});
  }
  v0::detail::sort_names(names);
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return error{errc::invalid_argument,
                 "tensor name " + detail::in_quotes(*twice) + " is there twice"};

  std::string text(8, '\0');
  text += dump_json(std::move(members));
  text.append((data_alignment - text.size() % data_alignment) % data_alignment, ' ');
  const std::uint64_t length = text.size() - 8;
  if (length > max_header_bytes)
    return error{errc::resource_limit, "a header of " + std::to_string(length) +
                                           " bytes is more than the format's limit of " +
                                           std::to_string(max_header_bytes)};
  store_le<std::uint64_t>(reinterpret_cast<std::byte*>(text.data()), length);
  return text;
}

}}  // namespace safetensors::detail

}}  // namespace zarrpoint::v0
