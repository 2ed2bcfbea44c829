// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>

// The objects of a store as texts.

namespace test {

using namespace zarrpoint;
using texts = std::map<std::string, std::string>;

inline std::string text_at(const any_store& store, std::string_view name) {
  const auto bytes = get(store, key(name), 1 << 24).value();
  return bytes ? std::string(as_text(*bytes)) : "(none)";
}

/// All keys beneath `at`, and their values.
inline texts contents_of(const any_store& store, std::string_view at = {}) {
  texts out;
  for (const list_entry& entry : store.list(key(at)).value()) {
    const std::string name = at.empty() ? entry.name : std::string(at) + '/' + entry.name;
    const bool is_object = store.open(key(name)).value() != nullptr;
    CHECK((is_object || entry.is_prefix));
    if (is_object) out[name] = text_at(store, name);
    if (entry.is_prefix) out.merge(contents_of(store, name));
  }
  return out;
}

inline void put(const any_store& store, std::string_view name, std::string_view text) {
  store.put(key(name), as_bytes(text)).value();
}

}  // namespace test
