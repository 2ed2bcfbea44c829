// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/orbax/orbax_documents.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE std::string group_document(const node& attributes) {
  node out;
  out.set("zarr_format", 3);
  out.set("node_type", "group");
  if (attributes.if_object() != nullptr) out.set("attributes", attributes);
  return dump_json(out);
}

ZARRPOINT_INLINE std::vector<std::byte> text_chunk(std::string_view text) {
  std::vector<std::byte> out(8 + text.size());
  store_le<std::uint32_t>(out.data(), 1);
  store_le<std::uint32_t>(out.data() + 4, static_cast<std::uint32_t>(text.size()));
  const bytes_view bytes = as_bytes(text);
  std::copy(bytes.begin(), bytes.end(), out.begin() + 8);
  return out;
}

ZARRPOINT_INLINE std::string array_document(const aggregate_array& array) {
  node::array shape, chunk;
  for (const index_t length : array.shape) {
    shape.emplace_back(length);
    chunk.emplace_back(std::max<index_t>(length, 1));
  }
  const auto named = [](const char* name, const char* member, node value) {
    return node::object{{"name", name},
                        {"configuration", node::object{{member, std::move(value)}}}};
  };
  const bool is_complex = array.type.starts_with("complex");
  const node zero = array.type == "bool" ? node(false)
                    : is_complex         ? node(node::array{0, 0})
                                         : node(0);
  return dump_json(node::object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", std::move(shape)},
      {"data_type", array.type},
      {"chunk_grid", named("regular", "chunk_shape", std::move(chunk))},
      {"chunk_key_encoding", named("default", "separator", "/")},
      {"fill_value", zero},
      {"codecs", node::array{named("bytes", "endian", "little")}},
  });
}

ZARRPOINT_INLINE const std::string* text_of(const node& texts, std::string_view storage) {
  const node* at = &texts;
  while (at != nullptr) {
    const std::size_t slash = storage.find('/');
    at = at->find(storage.substr(0, slash));
    if (slash == storage.npos) break;
    storage.remove_prefix(slash + 1);
  }
  return at != nullptr ? at->if_string() : nullptr;
}

}}}}  // namespace zarrpoint::v0::orbax::detail
