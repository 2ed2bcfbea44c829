// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaf.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<const planned_form::document_texts*> planned_form::texts() const {
  if (has_texts_.load(std::memory_order_acquire)) return &*texts_;
  const std::lock_guard lock(mutex_);
  if (!texts_) {
    ZARRPOINT_TRY(document, array_document(metadata_));
    document_texts made{std::move(document), {}, {}};
    made.compact = dump_json(made.document, json_style::compact);
    made.pretty = dump_json(made.document, json_style::pretty);
    texts_ = std::move(made);
    has_texts_.store(true, std::memory_order_release);
  }
  return &*texts_;
}

ZARRPOINT_INLINE result<array> planned_form::array_at(const any_store& store, store_key key,
                                                      const context& how) const {
  if (has_first_.load(std::memory_order_acquire)) return first_->same_at(std::move(key));
  const std::lock_guard lock(mutex_);
  if (first_) return first_->same_at(std::move(key));
  ZARRPOINT_TRY(made, array::from_metadata(store, std::move(key), metadata_, how));
  first_ = made;
  has_first_.store(true, std::memory_order_release);
  return std::move(made);
}

/// Encode and write the elements of a leaf from where they are.
ZARRPOINT_INLINE result<void> write_elements(const array& target, const planned_leaf& planned,
                                             const write_options& options, pin_times& pinned) {
  const box all = box::whole(target.spec().shape);
  const leaf& value = *planned.value;
  if (value.host_accessible()) {
    ZARRPOINT_TRY(elements, value.view());
    return target.write(all, elements, options);
  }
  if (planned.early != nullptr && planned.early->in_host)
    return target.write(all, planned.early->in_host->view, options);
  std::unique_ptr<element_source> own;
  element_source* source = planned.early != nullptr ? planned.early->on_device.get() : nullptr;
  if (source == nullptr) {
    ZARRPOINT_TRY(made, value.source(source_options_of(*options.how)));
    own = std::move(made);
    source = own.get();
  }
  pinned.note(*source);
  ZARRPOINT_CHECK(target.write(all, *source, options));
  pinned.note(*source);
  return {};
}

ZARRPOINT_INLINE result<leaf_record> write_leaf(const any_store& store, const planned_leaf& planned,
                                                const write_options& options, pin_times& pinned) {
  const context& how = *options.how;
  const leaf& value = *planned.value;
  leaf_record record;
  record.name = value.name();
  record.typestr = planned.kind.empty() ? value.typestr() : planned.kind;
  ZARRPOINT_TRY(key,
                planned.key ? result<store_key>(*planned.key) : store_key::parse(value.name()));
  ZARRPOINT_TRY(texts, planned.form->texts());
  if (planned.metadata().zarr_format == 2) {
    record.metadata = texts->document;
    record.attributes = planned.metadata().attributes;
    ZARRPOINT_CHECK(put_array_document(store, key, record, 2));
  } else {
    ZARRPOINT_TRY(file, key.child("zarr.json"));
    ZARRPOINT_CHECK(store.put(file, as_bytes(texts->pretty)));
  }
  ZARRPOINT_TRY(target, planned.form->array_at(store, std::move(key), how));
  write_options with_digests = options;
  with_digests.collected = &record.objects;
  with_digests.elide_fill = options.elide_fill || planned.elide_fill;
  ZARRPOINT_CHECK(write_elements(target, planned, with_digests, pinned));
  return record;
}

}}}  // namespace zarrpoint::v0::detail
