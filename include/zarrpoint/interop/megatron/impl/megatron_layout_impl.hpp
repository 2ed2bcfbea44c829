// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace megatron { namespace detail {

ZARRPOINT_INLINE std::string to_json(const backends& from) {
  const auto text = [](const std::string& name) {
    return dump_json(node(name), json_style::compact);
  };
  return R"({"sharded_backend": )" + text(from.sharded) + R"(, "sharded_backend_version": )" +
         std::to_string(from.sharded_version) + R"(, "common_backend": )" + text(from.common) +
         R"(, "common_backend_version": )" + std::to_string(from.common_version) + "}";
}

ZARRPOINT_INLINE result<void> write_metadata(const any_store& store, const backends& what) {
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  return store.put(key, as_bytes(to_json(what)));
}

ZARRPOINT_INLINE result<backends> read_metadata(const any_store& store) {
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  const std::string where = store.describe(store_key::root());
  ZARRPOINT_TRY(text, get(store, key, 1 << 20));
  if (!text) return error{errc::not_found, where + " is not a distributed checkpoint"};
  ZARRPOINT_TRY(document, parse_json(*text).at(store.describe(key)));
  backends out;
  const auto read = [&](const std::string& part, std::string& name,
                        std::int64_t& version) -> result<void> {
    const node* backend = document.find(part + "_backend");
    const node* number = document.find(part + "_backend_version");
    if (backend == nullptr || backend->if_string() == nullptr || number == nullptr ||
        !number->to_int64())
      return error{errc::corrupt, store.describe(key) + ": it does not name the " + part +
                                      " backend and its version"};
    name = *backend->if_string();
    version = *number->to_int64();
    return {};
  };
  ZARRPOINT_CHECK(read("sharded", out.sharded, out.sharded_version));
  // Older checkpoints name only the first.
  if (document.find("common_backend") != nullptr)
    ZARRPOINT_CHECK(read("common", out.common, out.common_version));
  return out;
}

ZARRPOINT_INLINE result<std::string> array_document(const tensor_layout& of) {
  if (!can_store(of.spec.type))
    return error{errc::unsupported, "Megatron-Core stores no tensors of " +
                                        std::string(to_string(of.spec.type)) + " in this layout"};
  if (of.chunk_shape.rank() != of.spec.shape.rank())
    return error{errc::invalid_argument, "chunks " + to_string(of.chunk_shape) +
                                             " must have the same rank as " +
                                             to_string(of.spec.shape)};
  for (const index_t extent : of.chunk_shape)
    if (extent < 1)
      return error{errc::invalid_argument,
                   "chunks " + to_string(of.chunk_shape) + " must have extents of 1 or more"};
  ZARRPOINT_CHECK(byte_count(of.spec));
  ZARRPOINT_TRY(type, zarrpoint::detail::to_v2_dtype({of.spec.type}));
  const auto numbers = [](const dims& from) {
    std::string out = "[";
    for (std::size_t i = 0; i < from.rank(); ++i)
      out.append(i == 0 ? "\n        " : ",\n        ").append(std::to_string(from[i]));
    return out + (from.rank() == 0 ? "]" : "\n    ]");
  };
  return "{\n    \"chunks\": " + numbers(of.chunk_shape) +
         ",\n    \"compressor\": null,\n    \"dtype\": \"" + *type.if_string() +
         "\",\n    \"fill_value\": null,\n    \"filters\": null,\n    \"order\": \"C\",\n    "
         "\"shape\": " +
         numbers(of.spec.shape) + ",\n    \"zarr_format\": 2\n}";
}

ZARRPOINT_INLINE result<array_metadata> to_metadata(const tensor_layout& of) {
  ZARRPOINT_TRY(text, array_document(of));
  ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
  return parse_array_v2(document);
}

}}  // namespace megatron::detail

namespace megatron { namespace detail {

ZARRPOINT_INLINE result<store_key> tensor_key(std::string_view key) {
  ZARRPOINT_TRY(out, store_key::parse(key));
  if (out.is_root() || key == metadata_file || key == common_file)
    return error{errc::invalid_argument, "key " + zarrpoint::detail::in_quotes(key) +
                                             " is not a name for a tensor or object"};
  return std::move(out);
}

ZARRPOINT_INLINE std::string joined(const dims& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.rank(); ++i)
    out.append(i == 0 ? "" : ".").append(std::to_string(numbers[i]));
  return out;
}

/// `0.3`, or nothing for no axes.
ZARRPOINT_INLINE std::optional<dims> split_numbers(std::string_view text) {
  dims out;
  while (!text.empty()) {
    index_t one = -1;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), one);
    if (status != std::errc() || one < 0 || out.rank() == max_rank) return std::nullopt;
    out.push_back(one);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != '.' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return out;
}

}}  // namespace megatron::detail

namespace megatron {

namespace detail {

ZARRPOINT_INLINE result<void> put_array_document(const any_store& store, std::string_view key,
                                                 const tensor_layout& of) {
  ZARRPOINT_TRY(folder, detail::tensor_key(key));
  ZARRPOINT_TRY(text, array_document(of).at(key));
  ZARRPOINT_TRY(document, folder.child(".zarray"));
  ZARRPOINT_TRY(existing, store.open(document));
  if (existing != nullptr)
    return error{errc::already_exists, "Array " + store.describe(folder) + " already exists"};
  return store.put(document, as_bytes(text));
}

ZARRPOINT_INLINE std::string chunk_name(const dims& index) {
  return chunk_key_encoding{chunk_key_encoding::style::v2, '.'}.key(index);
}

}  // namespace detail

ZARRPOINT_INLINE std::string unique_key(const object_id& of) {
  return of.key + "/shard_" + detail::joined(of.offset) + "_" + detail::joined(of.shape);
}

ZARRPOINT_INLINE std::optional<object_id> parse_unique_key(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == text.npos || slash == 0) return std::nullopt;
  std::string_view rest = text.substr(slash + 1);
  if (!rest.starts_with("shard_")) return std::nullopt;
  rest.remove_prefix(6);
  const std::size_t bar = rest.find('_');
  if (bar == rest.npos) return std::nullopt;
  const auto offset = detail::split_numbers(rest.substr(0, bar));
  const auto shape = detail::split_numbers(rest.substr(bar + 1));
  if (!offset || !shape) return std::nullopt;
  if (shape->rank() != offset->rank() && shape->rank() + 1 != offset->rank()) return std::nullopt;
  return object_id{std::string(text.substr(0, slash)), *offset, *shape};
}

namespace detail {

ZARRPOINT_INLINE result<void> put_object(const any_store& store, std::string_view unique,
                                         const torch::value& what) {
  const auto id = parse_unique_key(unique);
  if (!id || unique_key(*id) != unique || id->shape.rank() != id->offset.rank())
    return error{errc::invalid_argument,
                 zarrpoint::detail::in_quotes(unique) + " is not a unique key of an object"};
  ZARRPOINT_CHECK(detail::tensor_key(id->key));
  ZARRPOINT_TRY(key, store_key::parse(std::string(unique) + ".pt"));
  return torch::save(store, key, what, unique.substr(id->key.size() + 1));
}

ZARRPOINT_INLINE result<void> write_common(const any_store& store, const torch::value& state) {
  ZARRPOINT_TRY(key, store_key::parse(common_file));
  return torch::save(store, key, state, "common");
}

}  // namespace detail

}  // namespace megatron

}}  // namespace zarrpoint::v0
