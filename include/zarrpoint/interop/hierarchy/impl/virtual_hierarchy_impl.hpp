// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/hierarchy/group_budget.hpp>
#include <zarrpoint/interop/hierarchy/shown_names.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/zarr/chunk_key.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE node unread_document(const unread_entry& what) {
  const auto list = [](const dims& extents) {
    node::array out;
    for (const index_t extent : extents) out.emplace_back(std::int64_t{extent});
    return out;
  };
  dims chunk = what.shape;
  for (index_t& extent : chunk) extent = std::max<index_t>(extent, 1);
  // A type that this library has would make it an array that reads as its fill value.
  node type = printable(what.type, 200);
  if (what.type.empty() || parse_data_type_v3(type)) type = "unread " + *type.if_string();
  const auto named = [](const char* name, node configuration) {
    return node::object{{"name", name}, {"configuration", std::move(configuration)}};
  };
  return node::object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", list(what.shape)},
      {"data_type", std::move(type)},
      {"chunk_grid", named("regular", node::object{{"chunk_shape", list(chunk)}})},
      {"chunk_key_encoding", named("default", node::object{{"separator", "/"}})},
      {"fill_value", 0},
      {"codecs", node::array{named("bytes", node::object{})}},
      {"attributes", node::object{{std::string(unread_member), printable(what.reason, 1000)}}}};
}

ZARRPOINT_INLINE result<std::string> with_original_name(std::string_view document,
                                                        std::string_view name) {
  ZARRPOINT_TRY(out, parse_json(as_bytes(document)));
  node attributes;
  if (node* const own = out.find("attributes")) attributes = std::move(*own);
  attributes.set(std::string(original_name_member),
                 is_utf8(name) ? std::string(name) : printable(name, name.size()));
  out.set("attributes", std::move(attributes));
  return dump_json(out);
}

inline std::shared_ptr<const std::vector<std::byte>> shared_text_of(std::string_view text) {
  const bytes_view bytes = as_bytes(text);
  return v0::detail::make_counted<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::add(const std::string& name,
                                                     const array_metadata& as, chunk_opener chunk) {
  if (!is_wanted(name)) return {};
  if (!last_ || *last_ != as) {
    ZARRPOINT_TRY(document, to_v3(as).at("the array " + in_quotes(name)));
    last_text_ = shared_text_of(dump_json(document));
    last_ = as;
  }
  entry made{last_text_, {}};
  if (!box::whole(as.shape).empty())
    made.chunks.emplace_back(as.keys.key(dims(as.shape.rank(), 0)), std::move(chunk));
  names_.push_back(name);
  entries_.push_back(std::move(made));
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::add(const std::string& name,
                                                     const unread_entry& what,
                                                     std::vector<chunk_opener> stored) {
  if (!is_wanted(name)) return {};
  entry made{shared_text_of(dump_json(unread_document(what))), {}};
  for (chunk_opener& each : stored)
    made.chunks.emplace_back("c/" + std::to_string(made.chunks.size()), std::move(each));
  names_.push_back(name);
  entries_.push_back(std::move(made));
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::add(const std::string& name,
                                                     const array_metadata& as,
                                                     std::vector<std::byte> chunk) {
  return add(name, as,
             [bytes = v0::detail::make_counted<const std::vector<std::byte>>(std::move(chunk))](
                 std::string called) -> result<std::unique_ptr<blob>> {
               return v0::detail::make_owned<blob, memory_blob>(bytes, std::move(called));
             });
}

ZARRPOINT_INLINE void virtual_hierarchy::add_group(const std::string& path,
                                                   const shared_text& document) {
  objects_.push_back({path.empty() ? "zarr.json" : path + "/zarr.json", document, {}});
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::add_entries() {
  std::vector<std::string> shown = shown_names(names_);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    entry& each = entries_[i];
    if (shown[i] != names_[i]) {
      ZARRPOINT_TRY(document, with_original_name(as_text(bytes_view(*each.document)), names_[i]));
      each.document = shared_text_of(document);
    }
    ZARRPOINT_TRY(at, store_key::parse(shown[i]));
    ZARRPOINT_TRY(key, at.child("zarr.json"));
    objects_.push_back({std::string(key.str()), std::move(each.document), {}});
    for (auto& [beneath, chunk] : each.chunks)
      objects_.push_back({shown[i] + '/' + beneath, nullptr, std::move(chunk)});
    each = {};
  }
  entries_ = {};
  last_.reset();
  last_text_ = nullptr;
  names_ = std::move(shown);
  v0::detail::sort_names(names_);
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::finish(const node& attributes) {
  group_budget budget;
  for (const std::string& name : names_)  // before their names are made
    if (name.size() > max_leaf_name) ZARRPOINT_CHECK(budget.charge(name));
  ZARRPOINT_CHECK(add_entries());
  node group;
  group.set("zarr_format", 3);
  group.set("node_type", "group");
  node root = group;
  if (!attributes.is_null()) root.set("attributes", attributes);
  add_group("", shared_text_of(dump_json(root)));
  std::vector<std::string> groups;  // made when all are known to fit
  std::string last;
  for (const std::string& name : names_) {
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
      std::string above = name.substr(0, at + 1);
      if (last.starts_with(above)) continue;
      above.pop_back();
      ZARRPOINT_CHECK(budget.charge(above));
      groups.push_back(std::move(above));
    }
    last = name + '/';
  }
  names_ = {};
  const shared_text document = shared_text_of(dump_json(group));
  for (const std::string& each : groups) add_group(each, document);
  v0::detail::sort_by_text(objects_, [](const object& one) -> std::string_view { return one.key; });
  return {};
}

ZARRPOINT_INLINE std::vector<virtual_hierarchy::object>::const_iterator
virtual_hierarchy::first_object(std::string_view key) const {
  return std::lower_bound(
      objects_.begin(), objects_.end(), key,
      [](const object& a, std::string_view b) { return std::string_view(a.key) < b; });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> virtual_hierarchy::open(const store_key& key,
                                                                       std::string name) const {
  const auto at = first_object(key.str());
  if (at == objects_.end() || at->key != key.str()) return std::unique_ptr<blob>();
  if (at->text == nullptr) return at->chunk(std::move(name));
  return v0::detail::make_owned<blob, memory_blob>(at->text, std::move(name));
}

ZARRPOINT_INLINE result<std::vector<list_entry>> virtual_hierarchy::list(
    const store_key& prefix) const {
  return list_children(prefix, [&](std::string_view text) {
    const auto at = first_object(text);
    return at == objects_.end() ? nullptr : &at->key;
  });
}

ZARRPOINT_INLINE array_metadata raw_array(const tensor_spec& spec, endian order) {
  array_metadata out;
  out.shape = spec.shape;
  out.type = spec.type;
  out.chunk_shape = spec.shape;
  mend_empty_chunks(out);
  out.fill = fill_value::zero(spec.type);
  node how;
  if (spec.type.scalar_size() > 1) how.set("endian", order == endian::little ? "little" : "big");
  out.codecs.emplace_back("bytes", std::move(how));
  return out;
}

ZARRPOINT_INLINE result<text_array> array_of_texts(const dims& shape,
                                                   const std::vector<std::string_view>& texts) {
  text_array out;
  out.metadata.shape = out.metadata.chunk_shape = shape;
  mend_empty_chunks(out.metadata);
  out.metadata.type = dtype(dtype_kind::string);
  out.metadata.fill = fill_value::zero(out.metadata.type);
  out.metadata.codecs.emplace_back("vlen-utf8");
  std::uint64_t bytes = 4 + 4 * std::uint64_t{texts.size()};
  for (const std::string_view text : texts) bytes += text.size();
  if (bytes > UINT32_MAX) return error{errc::resource_limit, "its texts have more than 4 GiB"};
  out.chunk.resize(static_cast<std::size_t>(bytes));
  std::byte* to = out.chunk.data();
  const auto put_number = [&to](std::size_t number) {
    store_le<std::uint32_t>(to, static_cast<std::uint32_t>(number));
    to += 4;
  };
  put_number(texts.size());
  for (const std::string_view text : texts) {
    put_number(text.size());
    to = std::copy(as_bytes(text).begin(), as_bytes(text).end(), to);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
