// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

class virtual_hierarchy;

/// The object at `key`. Errors: `not_found`, with its name.
result<std::unique_ptr<blob>> open_existing(const any_store& store, const store_key& key);

/// A finished `virtual_hierarchy` as a store to read and list, which copies share: what every file
/// of another format is once it is opened.
class virtual_store {
 public:
  /// `name`: of the file, in messages.
  virtual_store(virtual_hierarchy tree, std::string name);
  virtual_store(std::shared_ptr<const virtual_hierarchy> tree, std::string name)
      : tree_(std::move(tree)), name_(std::move(name)) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;

  const void* identity() const noexcept { return tree_.get(); }

 private:
  std::shared_ptr<const virtual_hierarchy> tree_;
  std::string name_;
};

}}}  // namespace zarrpoint::v0::detail
