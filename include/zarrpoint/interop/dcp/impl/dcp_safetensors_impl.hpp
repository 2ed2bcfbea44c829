// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/dcp/dcp_safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

ZARRPOINT_INLINE result<std::vector<std::string>> safetensors_files(const any_store& store,
                                                                    const store_key& at) {
  ZARRPOINT_TRY(index, safetensors::detail::index_in(store, at));
  if (index) return index->files();
  std::vector<std::string> out;
  if (!store.can_list()) return out;
  ZARRPOINT_TRY(entries, store.list(at));
  for (const list_entry& entry : entries)
    if (!entry.is_prefix && entry.name.starts_with("shard-") &&
        entry.name.find("-model-") != entry.name.npos && entry.name.ends_with(".safetensors"))
      out.push_back(entry.name);
  std::sort(out.begin(), out.end());
  return out;
}

/// Where the box of a tensor begins in it: `{"w": {"saved_offsets": [0, 4]}}`, or at its start.
ZARRPOINT_INLINE result<dims> saved_offset(const node& info, std::string_view name,
                                           std::size_t rank) {
  const node* const mine = info.find(name);
  const node* const offsets = mine != nullptr ? mine->find("saved_offsets") : nullptr;
  if (offsets == nullptr) return dims(rank, 0);
  const auto* const list = offsets->if_array();
  if (list == nullptr || list->size() != rank)
    return error{errc::corrupt, "its saved_offsets are not of its rank"};
  dims out;
  for (const node& one : *list) {
    const auto number = one.to_int64();
    if (!number || *number < 0)
      return error{errc::corrupt, "its saved_offsets must hold integers of 0 or more"};
    out.push_back(*number);
  }
  return out;
}

ZARRPOINT_INLINE result<void> add_box(tensor_entry& to, tensor_chunk chunk, dtype type) {
  const std::size_t rank = chunk.at.rank();
  if (!to.spec.type.valid()) to.spec = {type, dims(rank, 0)};
  if (to.spec.type != type || to.spec.shape.rank() != rank)
    return error{errc::corrupt, "it has two dtypes or ranks"};
  for (std::size_t d = 0; d < rank; ++d) {
    ZARRPOINT_TRY(end, checked_add(chunk.at.offset[d], chunk.at.shape[d]));
    to.spec.shape[d] = std::max(to.spec.shape[d], end);
  }
  if (!chunk.at.empty()) to.chunks.push_back(std::move(chunk));
  return {};
}

/// A tensor of a dtype that is not known, or packed and in parts.
ZARRPOINT_INLINE void add_unknown(unknown_entry& to, const safetensors::tensor_info& of,
                                  stored_item item) {
  const bool is_known = of.spec.type.valid();
  to.name = of.name;
  to.type = is_known ? std::string(to_string(of.spec.type)) : of.stored_type;
  to.reason = is_known ? "its packed elements lie in parts"
                       : "the dtype " + v0::detail::in_quotes(of.stored_type) +
                             " is not known to this version";
  to.shape = of.spec.shape;
  to.items.push_back(std::move(item));
}

/// Says why a tensor is in two files.
ZARRPOINT_INLINE error two_files(const tensor_entry& of, const std::string& file) {
  return {errc::corrupt, "it is in " + v0::detail::in_quotes(of.chunks.front().from.file) +
                             " and in " + v0::detail::in_quotes(file) +
                             ", and no index says which one counts; remove one"};
}

ZARRPOINT_INLINE result<metadata> read_safetensors(const any_store& store, const store_key& at,
                                                   const std::vector<std::string>& files) {
  ZARRPOINT_TRY(index, safetensors::detail::index_in(store, at));
  std::map<std::string, tensor_entry> found;
  std::map<std::string, unknown_entry> unknown;
  for (const std::string& name : files) {
    ZARRPOINT_TRY(key, at.child(name));
    ZARRPOINT_TRY(file, safetensors::open(store, key));
    node info;
    if (const auto told = file.metadata().find(std::string(safetensors::detail::sharding_member));
        told != file.metadata().end()) {
      ZARRPOINT_TRY(parsed,
                    parse_json(as_bytes(told->second)).at(name + ": its DCP_SHARDING_INFO"));
      info = std::move(parsed);
    }
    for (const safetensors::tensor_info& tensor : file.tensors()) {
      const bool is_part = info.find(tensor.name) != nullptr;
      if (index) {  // what it does not name, or takes from elsewhere, is left from another save
        const auto mapped = index->file_of.find(tensor.name);
        if (mapped == index->file_of.end() || (mapped->second != name && !is_part)) continue;
      }
      if (!tensor.spec.type.valid() || (tensor.spec.type.is_below_byte() && is_part)) {
        add_unknown(unknown[tensor.name], tensor,
                    {name, file.data_offset() + tensor.offset, tensor.bytes, {}, true});
        continue;
      }
      const auto add = [&]() -> result<void> {
        ZARRPOINT_TRY(offset, saved_offset(info, tensor.name, tensor.spec.shape.rank()));
        stored_item item{name, file.data_offset() + tensor.offset, tensor.bytes, {}, true};
        tensor_entry& entry = found[tensor.name];
        entry.name = tensor.name;
        if (!is_part && !entry.chunks.empty()) return two_files(entry, name);
        return add_box(entry, {{offset, tensor.spec.shape}, std::move(item)}, tensor.spec.type);
      };
      ZARRPOINT_CHECK(add().at(name + ": the tensor " + v0::detail::in_quotes(tensor.name)));
    }
  }
  if (index)
    for (const auto& [name, file] : index->file_of)
      if (!found.contains(name) && !unknown.contains(name))
        return error{errc::corrupt, "weight_map: tensor " + v0::detail::in_quotes(name) +
                                        " is not in " + v0::detail::in_quotes(file)};
  metadata out;
  for (auto& [name, entry] : found) {
    const std::string context = "the tensor " + v0::detail::in_quotes(name);
    ZARRPOINT_CHECK(byte_count(entry.spec).at(context));
    ZARRPOINT_CHECK(sort_chunks(entry).at(context));
    out.tensors.push_back(std::move(entry));
  }
  for (auto& [name, entry] : unknown) out.unknown.push_back(std::move(entry));
  return out;
}

}}}}  // namespace zarrpoint::v0::dcp::detail
