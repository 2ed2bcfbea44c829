// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

// One planned leaf: encode and write.

/// What leaves become that are stored alike: they share it and all that is made of it, as most of a
/// model's do.
class planned_form {
 public:
  /// Its document, in each form that a save writes.
  struct document_texts {
    json document;
    std::string compact;  ///< as it stands in the root's document
    std::string pretty;   ///< as a file
  };

  explicit planned_form(array_metadata metadata) : metadata_(std::move(metadata)) {}
  planned_form(const planned_form&) = delete;
  planned_form& operator=(const planned_form&) = delete;

  const array_metadata& metadata() const noexcept { return metadata_; }

  /// Thread-safe, as `array_at` is. Errors: those of `array_document`.
  result<const document_texts*> texts() const;

  /// The array at `key`. All must be of one store and context.
  result<array> array_at(const any_store& store, store_key key, const context& how) const;

 private:
  const array_metadata metadata_;
  mutable std::mutex mutex_;  ///< of the one that makes them
  mutable std::optional<document_texts> texts_;
  mutable std::optional<array> first_;
  mutable std::atomic<bool> has_texts_{false};  ///< they do not change any more
  mutable std::atomic<bool> has_first_{false};
};

/// A leaf with all that is decided before its data are touched.
struct planned_leaf {
  const leaf* value;
  const staged_leaf* early;  ///< null: it is read where it lives, when its turn comes
  std::shared_ptr<const planned_form> form;
  std::uint64_t bytes = 0;
  /// The key that the array gets, where that is not the name of the leaf.
  std::optional<store_key> key{};
  bool elide_fill = false;  ///< of this leaf, whatever the options say
  std::string_view kind{};  ///< empty: what the leaf says

  const array_metadata& metadata() const noexcept { return form->metadata(); }
};

/// Encode and write one leaf. What it returns has the metadata in Zarr v2 only: in v3 it is the
/// document of `planned.form`.
result<leaf_record> write_leaf(const any_store& store, const planned_leaf& planned,
                               const write_options& options, pin_times& pinned);

// All planned leaves of a save, whatever layout they are part of.

/// What one leaf took.
struct written_leaf {
  std::uint64_t stored_bytes = 0;  ///< of its objects
  double seconds = 0;              ///< from staging to the last write
};

/// What `write_leaves` did, by the index of the leaf.
struct written_leaves {
  std::vector<leaf_record> records;
  std::vector<written_leaf> leaves;
  double pin_seconds = 0;
};

/// Stages, encodes and writes leaves with their documents, several at a time; where memory does not
/// suffice for that, one after another. The context of `options` has scratch memory. Errors: that
/// of the first leaf that has one, naming it.
result<written_leaves> write_leaves(const any_store& store, std::span<const planned_leaf> planned,
                                    const write_options& options);

}}}  // namespace zarrpoint::v0::detail
