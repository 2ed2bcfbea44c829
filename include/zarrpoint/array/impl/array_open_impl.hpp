// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The metadata of the array at `key`, of either format; `not_found` when there is none.
ZARRPOINT_INLINE result<array_metadata> read_array_metadata(const any_store& store,
                                                            const store_key& key,
                                                            const limits& limit) {
  const std::string where = store.describe(key);
  ZARRPOINT_TRY(v3, read_document(store, key, "zarr.json", limit));
  if (v3) return parse_array_v3(*v3).at(where + "/zarr.json");
  ZARRPOINT_TRY(v2, read_document(store, key, ".zarray", limit));
  if (!v2) return nothing_at(store, key, " is not an array: it has no zarr.json or .zarray");
  ZARRPOINT_TRY(attributes, read_document(store, key, ".zattrs", limit));
  return parse_array_v2(*v2, attributes ? &*attributes : nullptr).at(where + "/.zarray");
}

}  // namespace detail

ZARRPOINT_INLINE result<array> array::from_metadata(any_store store, store_key key,
                                                    array_metadata metadata, const context& how) {
  return guarded([&]() -> result<array> {
    const std::size_t fill = metadata.fill.bytes().size();
    if (fill != metadata.type.size() && !(metadata.fill.is_null() && fill == 0))
      return error{errc::invalid_argument,
                   "the fill value is not of type " + std::string(to_string(metadata.type))};
    // What a v2 array leaves undefined reads as zero.
    if (fill != metadata.type.size()) metadata.fill = fill_value::undefined(metadata.type);
    result<array_layout> layout = array_layout::resolve(metadata, how.codecs, how.limit);
    if (!layout) return std::move(layout).failure().at("array " + store.describe(key));
    return array(detail::make_counted<const detail::array_state>(
        std::move(store), std::move(key), std::move(metadata), *std::move(layout), how));
  });
}

ZARRPOINT_INLINE array array::expecting(std::shared_ptr<const chunk_digests> digests) const {
  array out = *this;
  out.expected_ = std::move(digests);
  out.origin_ = nullptr;
  return out;
}

ZARRPOINT_INLINE array array::expecting(std::shared_ptr<const chunk_digests> digests,
                                        const detail::read_origin& by) const {
  array out = expecting(std::move(digests));
  out.origin_ = &by;
  return out;
}

ZARRPOINT_INLINE array array::same_at(store_key key) const {
  return array(detail::make_counted<const detail::array_state>(state_->store, std::move(key),
                                                               state_->described));
}

ZARRPOINT_INLINE result<array> array::open(any_store store, const store_key& key,
                                           const context& how) {
  return guarded([&]() -> result<array> {
    result<array_metadata> found = detail::read_array_metadata(store, key, how.limit);
    // A save that replaces what lies above may have been between two reads.
    if (!found && found.failure().code == errc::not_found)
      found = detail::read_array_metadata(store, key, how.limit);
    ZARRPOINT_TRY(metadata, std::move(found));
    return from_metadata(std::move(store), key, std::move(metadata), how);
  });
}

ZARRPOINT_INLINE result<array> array::create(any_store store, store_key key,
                                             array_metadata metadata, const context& how) {
  return guarded([&]() -> result<array> {
    if (auto allowed = detail::check_levels(metadata.codecs); !allowed)
      return std::move(allowed).failure().at("create array " + store.describe(key));
    ZARRPOINT_TRY(made, from_metadata(std::move(store), std::move(key), std::move(metadata), how));
    const detail::array_state& state = *made.state_;
    for (const std::string_view name : {"zarr.json", ".zarray"}) {
      ZARRPOINT_TRY(document_key, state.key.child(name));
      ZARRPOINT_TRY(existing, state.store.open(document_key));
      if (existing != nullptr)
        return error{errc::already_exists, "create array: " + existing->name() + " exists"};
    }
    if (state.metadata.zarr_format == 3) {
      ZARRPOINT_TRY(document, to_v3(state.metadata));
      ZARRPOINT_CHECK(detail::put_node_document(state.store, state.key, "zarr.json", document));
    } else {
      ZARRPOINT_TRY(documents, to_v2(state.metadata));
      if (!documents.attributes.is_null())
        ZARRPOINT_CHECK(
            detail::put_node_document(state.store, state.key, ".zattrs", documents.attributes));
      ZARRPOINT_CHECK(
          detail::put_node_document(state.store, state.key, ".zarray", documents.document));
    }
    return std::move(made);
  });
}

ZARRPOINT_INLINE const array_metadata& array::metadata() const noexcept { return state_->metadata; }
ZARRPOINT_INLINE tensor_spec array::spec() const { return state_->metadata.spec(); }
ZARRPOINT_INLINE const any_store& array::store() const noexcept { return state_->store; }
ZARRPOINT_INLINE const store_key& array::key() const noexcept { return state_->key; }
ZARRPOINT_INLINE const context& array::default_context() const noexcept { return state_->how; }
ZARRPOINT_INLINE const array_layout& array::layout() const noexcept { return state_->layout; }

}}  // namespace zarrpoint::v0
