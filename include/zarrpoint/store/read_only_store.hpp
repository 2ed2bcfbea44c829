// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/place.hpp>

#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The reading half of another store. The code that writes is not even compiled, which is what
/// a small program wants that loads and does nothing else.
template <listable_store S>
class read_only_store {
 public:
  explicit read_only_store(S base) : base_(std::move(base)) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const { return base_.open(key); }
  std::string describe(const store_key& key) const { return base_.describe(key); }
  bool lists_cheaply() const requires requires(const S& base) { base.lists_cheaply(); }
  { return base_.lists_cheaply(); }
  result<std::vector<list_entry>> list(const store_key& prefix) const { return base_.list(prefix); }

 private:
  S base_;
};

/// `file://` and paths, directories only and only to be read: for the table of a small loader,
/// `context{.stores = store_registry<read_only_file_scheme>::table()}`. Errors: `unsupported` to
/// write.
struct read_only_file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open_directory(const url& at);
  static result<stored_place> open(const url& at, const place_use& use);
};

}}  // namespace zarrpoint::v0
