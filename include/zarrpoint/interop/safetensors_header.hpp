// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/tensor_spec.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json.hpp>

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

/// The safetensors format: 8 bytes little-endian length of the header, the header in JSON, the
/// elements. https://huggingface.co/docs/safetensors/index#format
namespace zarrpoint::inline v0::safetensors {

/// The largest header that the format allows.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
/// The data of the files that we write begins at a multiple of so many bytes; 8 is customary.
inline constexpr std::size_t data_alignment = 64;

/// What a file says about itself under `__metadata__`.
using metadata_map = std::map<std::string, std::string>;

/// One tensor of a file: little-endian, row-major, without gaps.
struct tensor_info {
  std::string name;
  tensor_spec spec;
  std::uint64_t offset = 0;  ///< of its first byte, counted from the end of the header
  std::uint64_t bytes = 0;

  friend bool operator==(const tensor_info&, const tensor_info&) = default;
};

/// A checked header.
struct header {
  std::vector<tensor_info> tensors;  ///< in the order of their data, which they tile from 0
  metadata_map metadata;

  friend bool operator==(const header&, const header&) = default;
};

/// The format's name of a dtype, e.g. `"BF16"`; nothing for those it has no name for.
constexpr std::optional<std::string_view> dtype_name(dtype type) noexcept {
  switch (type.kind()) {
    case dtype_kind::bool_: return "BOOL";
    case dtype_kind::int8: return "I8";
    case dtype_kind::int16: return "I16";
    case dtype_kind::int32: return "I32";
    case dtype_kind::int64: return "I64";
    case dtype_kind::uint8: return "U8";
    case dtype_kind::uint16: return "U16";
    case dtype_kind::uint32: return "U32";
    case dtype_kind::uint64: return "U64";
    case dtype_kind::float8_e4m3fn: return "F8_E4M3";
    case dtype_kind::float8_e5m2: return "F8_E5M2";
    case dtype_kind::float16: return "F16";
    case dtype_kind::bfloat16: return "BF16";
    case dtype_kind::float32: return "F32";
    case dtype_kind::float64: return "F64";
    case dtype_kind::complex64: return "C64";
    default: break;
  }
  return std::nullopt;
}

/// The dtype of that name, if it is one of ours.
constexpr std::optional<dtype> dtype_named(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (dtype_name(kind) == name) return dtype(kind);
  }
  return std::nullopt;
}

namespace detail {

using zarrpoint::detail::in_quotes;

inline std::string tensor_context(std::string_view name) { return "tensor " + in_quotes(name); }

inline error broken(std::string message) { return {errc::corrupt, std::move(message)}; }

inline result<dims> parse_shape(const node& value) {
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

inline result<tensor_info> parse_tensor(const node::member& entry) {
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
  if (!known)
    return error{errc::unsupported, "dtype " + in_quotes(*type->if_string()) + " is not known"};
  ZARRPOINT_TRY(extents, parse_shape(*shape));
  const tensor_spec spec{*known, extents};
  ZARRPOINT_TRY(bytes, byte_count(spec));
  if (bytes != *end - *begin)
    return broken("its " + std::to_string(*end - *begin) + " bytes are not the " +
                  std::to_string(bytes) + " of " + to_string(spec));
  return tensor_info{entry.key, spec, *begin, bytes};
}

inline result<metadata_map> parse_metadata(const node& value) {
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

}  // namespace detail

/// The header in the JSON `text`, of a file with `data_bytes` bytes after it.
///
/// Errors: `corrupt` when it is not a JSON object of the format's schema, has a key twice, or when
/// its tensors do not tile the data from 0 to the end without holes and overlaps, each with the
/// bytes of its shape; `unsupported` naming the dtype or member that is not known;
/// `out_of_range` for a shape or number beyond 63 bits; `resource_limit` above 4 million JSON
/// values, which is half a million tensors.
inline result<header> parse_header(bytes_view text, std::uint64_t data_bytes) {
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
  // An empty tensor shares its offset with the one behind it, so lengths count as well. Equal ones
  // stay in order; that is not left to std::stable_sort, of which clang 19 warns in libstdc++ 12.
  std::vector<tensor_info*> order;
  order.reserve(out.tensors.size());
  for (tensor_info& each : out.tensors) order.push_back(&each);
  std::sort(order.begin(), order.end(), [](const tensor_info* a, const tensor_info* b) {
    return std::tuple(a->offset, a->bytes, a) < std::tuple(b->offset, b->bytes, b);
  });
  std::vector<tensor_info> sorted;
  sorted.reserve(order.size());
  for (tensor_info* each : order) sorted.push_back(std::move(*each));
  out.tensors = std::move(sorted);
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

/// What a file of these tensors begins with: length, JSON, and spaces up to `data_alignment`. The
/// tensors must tile. Errors: `invalid_argument` for a name or text that is twice there, reserved
/// or not UTF-8; `unsupported` for a dtype that the format has not; `resource_limit`.
inline result<std::string> dump_header(const header& from) {
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
  std::sort(names.begin(), names.end());
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

}  // namespace zarrpoint::inline v0::safetensors
