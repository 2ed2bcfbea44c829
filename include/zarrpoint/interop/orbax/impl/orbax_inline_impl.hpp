// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/interop/orbax/orbax_documents.hpp>
#include <zarrpoint/interop/orbax/orbax_inline.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE result<void> inline_leaves::add(std::string_view name, aggregate_leaf&& leaf) {
  std::string prefix(name);
  if (!name.empty()) prefix += '/';
  held made{std::move(prefix), std::move(leaf.text), std::move(leaf.array)};
  ZARRPOINT_TRY(key, store_key::parse(name));
  ZARRPOINT_CHECK(key.child("zarr.json"));
  if (const std::string chunk = chunk_of(made); !chunk.empty()) ZARRPOINT_CHECK(key.child(chunk));
  leaves_.push_back(std::move(made));
  return {};
}

ZARRPOINT_INLINE void inline_leaves::finish() {
  sort_by_name(leaves_, [](const held& each) -> const std::string& { return each.prefix; });
}

/// The key of its chunk beneath its prefix; empty where an array has no elements.
ZARRPOINT_INLINE std::string inline_leaves::chunk_of(const held& leaf) {
  std::string out = "c";
  if (leaf.array == nullptr) return out;
  if (leaf.text.empty() && leaf.array->pieces.empty()) return {};
  for (std::size_t i = 0; i < leaf.array->shape.size(); ++i) out += "/0";
  return out;
}

ZARRPOINT_INLINE std::vector<inline_leaves::held>::const_iterator inline_leaves::behind(
    std::string_view key) const {
  return std::upper_bound(leaves_.begin(), leaves_.end(), key,
                          [](std::string_view a, const held& b) { return a < b.prefix; });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> inline_leaves::open(
    std::string_view key, const std::string& called) const {
  const auto next = behind(key);
  if (next == leaves_.begin()) return nullptr;
  const held& leaf = *std::prev(next);
  if (!key.starts_with(leaf.prefix)) return nullptr;
  const auto made = [&](std::vector<std::byte> bytes) {
    return v0::detail::make_owned<blob, v0::detail::memory_blob>(std::move(bytes), called);
  };
  const auto copied = [&](std::string_view text) {
    const bytes_view bytes = as_bytes(text);
    return made({bytes.begin(), bytes.end()});
  };
  key.remove_prefix(leaf.prefix.size());
  if (key == "zarr.json")
    return leaf.array ? copied(array_document(*leaf.array)) : copied(text_document);
  if (key.empty() || key != chunk_of(leaf)) return nullptr;
  if (leaf.array == nullptr) return made(text_chunk(leaf.text));
  if (!leaf.text.empty()) return copied(leaf.text);
  return aggregate_elements(file_, leaf.array->pieces);
}

ZARRPOINT_INLINE std::vector<list_entry> inline_leaves::list(const store_key& prefix) const {
  std::string found;
  return v0::detail::list_children(prefix, [&](std::string_view text) -> const std::string* {
    // A leaf has its chunk, if any, and then its document, behind which no more of it lies.
    auto at = behind(text);
    if (at != leaves_.begin()) --at;
    for (; at != leaves_.end(); ++at) {
      const std::string chunk = chunk_of(*at);
      found = at->prefix + chunk;
      if (!chunk.empty() && found >= text) return &found;
      found = at->prefix + "zarr.json";
      if (found >= text) return &found;
    }
    return nullptr;
  });
}

}}}}  // namespace zarrpoint::v0::orbax::detail
