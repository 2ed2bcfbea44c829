// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/dcp/dcp_value.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

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

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

ZARRPOINT_INLINE result<std::string> document_of(const array_metadata& of) {
  ZARRPOINT_TRY(document, to_v3(of));
  return dump_json(document);
}

ZARRPOINT_INLINE array_metadata raw_metadata(const tensor_spec& spec, const dims& chunk_shape,
                                             std::vector<axis_edges> edges) {
  array_metadata out = v0::detail::raw_array(spec);
  out.chunk_shape = chunk_shape;
  out.edges = std::move(edges);
  return out;
}

/// `python_type`: the class of a number of Python, which becomes an attribute of that name, so that
/// it is told from a tensor of rank 0.
template <class T>
result<value_array> scalar_array(const T& value, std::string_view python_type) {
  array_metadata metadata = raw_metadata({dtype_of<T>, {}}, {});
  metadata.attributes.set("python_type", python_type);
  ZARRPOINT_TRY(document, document_of(metadata));
  value_array out{std::move(document), {}, 0};
  const bytes_view bytes = std::as_bytes(std::span<const T, 1>(&value, 1));
  out.chunk.assign(bytes.begin(), bytes.end());
  return out;
}

ZARRPOINT_INLINE result<value_array> text_array(std::string_view text, bool is_json) {
  ZARRPOINT_TRY(made, v0::detail::array_of_texts({}, {text}));
  if (is_json) made.metadata.attributes.set("content_type", "application/json");
  ZARRPOINT_TRY(document, document_of(made.metadata));
  return value_array{std::move(document), std::move(made.chunk), 0};
}

ZARRPOINT_INLINE result<value_array> stored_tensor(const torch::file& from,
                                                   const torch::pickle_value& of) {
  constexpr std::size_t most_bytes = std::size_t{1} << 28;
  const auto info = from.tensor(of);
  if (!info) return info.failure();
  ZARRPOINT_TRY(size, byte_count(info->spec));
  if (size > most_bytes)
    return error{errc::resource_limit,
                 "its tensor has more than " + std::to_string(most_bytes) + " bytes"};
  dims chunk_shape = info->spec.shape;
  for (index_t& extent : chunk_shape) extent = std::max<index_t>(extent, 1);
  ZARRPOINT_TRY(document, document_of(raw_metadata(info->spec, chunk_shape)));
  ZARRPOINT_TRY(copy, tensor::make(info->spec));
  ZARRPOINT_CHECK(from.read(*info, copy.mutable_view()));
  const std::byte* const first = copy.view().data;
  return value_array{std::move(document), {first, first + size}, info->spec.shape.rank()};
}

/// Whether it is `key/shard_0.3_1.8`.
ZARRPOINT_INLINE bool is_object_key(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash != name.npos && name.substr(slash + 1).starts_with("shard_");
}

/// Whether a file holds the list of one object.
ZARRPOINT_INLINE bool is_object(const torch::pickle_value& value, std::string_view name) {
  return is_object_key(name) && value.kind() == torch::pickle_kind::list &&
         value.element_count() == 1;
}

ZARRPOINT_INLINE result<node> to_node(const torch::file& from, std::string_view name) {
  ZARRPOINT_TRY(whole, torch::to_document(from));
  if (!is_object(from.root(), name)) return std::move(whole);
  return std::move(whole.if_array()->front());
}

ZARRPOINT_INLINE result<void> put_at(node& document, std::span<const path_step> path, node value,
                                     std::size_t& most_gaps) {
  node* at = &document;
  for (const path_step& step : path) {
    const error in_the_way{errc::corrupt, "its path leads through another value, at " +
                                              v0::detail::in_quotes(step.text)};
    if (step.is_index) {
      if (at->is_null()) *at = node(node::array());
      node::array* const list = at->if_array();
      if (list == nullptr) return in_the_way;
      std::size_t place = 0;
      const char* const end = step.text.data() + step.text.size();
      const auto read = std::from_chars(step.text.data(), end, place);
      if (read.ptr != end || read.ec != std::errc() || place >= list->size() + most_gaps)
        return error{errc::resource_limit, "its place " + step.text + " in a list is too far"};
      if (place >= list->size()) {
        most_gaps -= place - list->size();
        list->resize(place + 1);
      }
      at = &(*list)[place];
    } else {
      if (!at->is_null() && at->if_object() == nullptr) return in_the_way;
      if (at->find(step.text) == nullptr) at->set(step.text, node());
      at = at->find(step.text);
    }
  }
  *at = std::move(value);
  return {};
}

ZARRPOINT_INLINE result<value_array> to_array(const torch::file& from, std::string_view name) {
  torch::pickle_value value = from.root();
  if (is_object(value, name)) value = value.element(0);
  if (const auto truth = value.to_bool()) return scalar_array(*truth, "bool");
  if (const auto number = value.to_int64()) return scalar_array(*number, "int");
  if (const auto number = value.to_uint64()) return scalar_array(*number, "int");
  if (const auto number = value.to_double()) return scalar_array(*number, "float");
  if (const std::string* const text = value.if_string()) return text_array(*text, false);
  if (torch::is_tensor(value)) return stored_tensor(from, value);
  if (auto numpy = torch::detail::read_numpy(value)) {
    ZARRPOINT_TRY(document, document_of(v0::detail::raw_array(numpy->spec, endian::little)));
    return value_array{std::move(document), std::move(numpy->elements), numpy->spec.shape.rank()};
  }
  ZARRPOINT_TRY(document, to_node(from, name));
  return text_array(dump_json(document), true);
}

}}}}  // namespace zarrpoint::v0::dcp::detail
