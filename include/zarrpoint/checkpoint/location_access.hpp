// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/registry.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

struct location_access {
  /// Whether it was given as a path or URL, and not as a store.
  static bool is_path(const location& where) noexcept { return !where.store_.has_value(); }

  /// The path that a URL `file://` tells; else the name as it is.
  static std::string local_path(const location& where) {
    std::string name = where.name();
    if (const auto named = url::parse(name); named && named->scheme == "file")
      return named->path().value_or(std::move(name));
    return name;
  }

  /// The checkpoint's own root as a store: what a reader needs. `memory` is that of its limits.
  static result<stored_place> to_read(const location& where,
                                      const store_table& stores = detail::default_store_table(),
                                      std::size_t memory = SIZE_MAX) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    return stores.open(where.path_, {.write = false, .memory = memory});
  }

  /// The parent as a store and the name in it: what a writer needs, since a checkpoint is built
  /// beside its target and renamed. A zip file is a store whose root is published.
  static result<stored_place> to_write(const location& where, bool sync = true,
                                       const store_table& stores = detail::default_store_table(),
                                       bool replace = true) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    return stores.open(where.path_, {.write = true, .sync = sync, .replace = replace});
  }

  /// A place of many checkpoints, one beneath each name.
  static result<stored_place> to_manage(const location& where, bool sync,
                                        const store_table& stores) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    return stores.open(where.path_, {.write = true, .sync = sync, .places = true});
  }
};

}}}  // namespace zarrpoint::v0::detail
