// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/file_store.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace test {

/// A `file_store` that others change between two reads: what is to happen before the next open of
/// a key happens once. Copies share what they count.
struct hooked_reads {
  struct shared {
    std::map<std::string, std::function<void()>> before;  ///< by key
    std::map<std::string, int> opens;                     ///< by key
  };

  zarrpoint::file_store inner;
  std::shared_ptr<shared> state = std::make_shared<shared>();

  std::string describe(const zarrpoint::store_key& key) const { return inner.describe(key); }
  auto open(const zarrpoint::store_key& key) const {
    const std::string name(key.str());
    ++state->opens[name];
    if (auto hook = state->before.extract(name)) hook.mapped()();
    return inner.open(key);
  }
  auto list(const zarrpoint::store_key& prefix) const { return inner.list(prefix); }
};

}  // namespace test
