// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/hierarchy/group_budget.hpp>
#include <zarrpoint/interop/hierarchy/made_hierarchy.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/zarr/chunk_key.hpp>
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

ZARRPOINT_INLINE result<void> made_hierarchy::add_document(const std::string& path,
                                                           const node& document) const {
  ZARRPOINT_TRY(at, store_key::parse(path));
  ZARRPOINT_TRY(key, at.child("zarr.json"));
  return documents_.put(key, as_bytes(dump_json(document)));
}

ZARRPOINT_INLINE result<void> made_hierarchy::add(const std::string& name, const array_metadata& as,
                                                  chunk_opener chunk) {
  const auto refuse = [&](const std::string& why) {
    return error{errc::unsupported, "the name " + in_quotes(name) + why};
  };
  if (name.empty()) return refuse(" is not a valid key: it is empty");
  const auto key = store_key::parse(name);
  if (!key) return refuse(" is not a valid key: " + key.failure().message);
  if (name.size() > max_leaf_name) return refuse(" is too long for a key");
  ZARRPOINT_TRY(document, to_v3(as));
  ZARRPOINT_CHECK(add_document(name, document));
  names_.push_back(name);
  if (!box::whole(as.shape).empty())
    chunks_.emplace_back(name + '/' + as.keys.key(dims(as.shape.rank(), 0)), std::move(chunk));
  return {};
}

ZARRPOINT_INLINE result<void> made_hierarchy::add(const std::string& name, const array_metadata& as,
                                                  std::vector<std::byte> chunk) {
  return add(name, as,
             [bytes = v0::detail::make_counted<const std::vector<std::byte>>(std::move(chunk))](
                 std::string called) -> result<std::unique_ptr<blob>> {
               return v0::detail::make_owned<blob, memory_blob>(bytes, std::move(called));
             });
}

ZARRPOINT_INLINE result<void> made_hierarchy::finish(const node& attributes) {
  v0::detail::sort_names(names_);
  v0::detail::sort_by_text(chunks_, [](const auto& one) -> std::string_view { return one.first; });
  node group;
  group.set("zarr_format", 3);
  group.set("node_type", "group");
  node root = group;
  if (!attributes.is_null()) root.set("attributes", attributes);
  ZARRPOINT_CHECK(add_document("", root));
  group_budget budget;
  std::vector<std::string> groups;  // made when all are known to fit
  std::string last;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    const auto refuse = [&](const std::string& why) {
      return error{errc::unsupported, "the name " + in_quotes(name) + why};
    };
    if (i > 0 && names_[i - 1] == name) return refuse(" is that of two arrays");
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
      std::string above = name.substr(0, at);
      if (std::binary_search(names_.begin(), names_.end(), above))
        return refuse(" lies beneath " + in_quotes(above) + ", which is an array");
      if (last.starts_with(above + '/')) continue;
      ZARRPOINT_CHECK(budget.charge(above));
      groups.push_back(std::move(above));
    }
    last = name + '/';
  }
  for (const std::string& each : groups) ZARRPOINT_CHECK(add_document(each, group));
  return {};
}

ZARRPOINT_INLINE made_hierarchy::chunk_list::const_iterator made_hierarchy::first_chunk(
    std::string_view key) const {
  return std::lower_bound(
      chunks_.begin(), chunks_.end(), key,
      [](const auto& a, std::string_view b) { return std::string_view(a.first) < b; });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> made_hierarchy::open(const store_key& key,
                                                                    std::string name) const {
  const auto at = first_chunk(key.str());
  if (at == chunks_.end() || at->first != key.str()) return documents_.open(key);
  return at->second(std::move(name));
}

ZARRPOINT_INLINE result<std::vector<list_entry>> made_hierarchy::list(
    const store_key& prefix) const {
  auto out = list_children(prefix, [&](std::string_view text) {
    const auto at = first_chunk(text);
    return at == chunks_.end() ? nullptr : &at->first;
  });
  ZARRPOINT_TRY(documents, documents_.list(prefix));
  out.insert(out.end(), documents.begin(), documents.end());
  v0::detail::sort_by(out, [](const list_entry& a, const list_entry& b) { return a < b; });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
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
