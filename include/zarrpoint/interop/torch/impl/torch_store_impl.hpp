// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/interop/torch/archive_walk.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/store/place.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

ZARRPOINT_INLINE result<archive_store> archive_store::open(any_store base, store_key at,
                                                           const pickle_limits& limits) {
  const std::string name = base.describe(at);
  if (at.str().ends_with(".json")) return open_model(base, at, limits).at("open " + name);
  ZARRPOINT_TRY(from, base.open(at));
  if (from == nullptr) return error{errc::not_found, "open " + name + ": there is no such file"};
  return open(std::move(from), limits);
}

ZARRPOINT_INLINE result<archive_store> archive_store::open_model(const any_store& base,
                                                                 const store_key& at,
                                                                 const pickle_limits& limits) {
  return guarded([&]() -> result<archive_store> {
    ZARRPOINT_TRY(index, v0::detail::read_weight_index(base, at));
    if (!index) return error{errc::not_found, "there is no such file"};
    const auto add = [&](const std::string& name,
                         v0::detail::virtual_hierarchy& to) -> result<void> {
      ZARRPOINT_TRY(key, at.parent().child(name));
      ZARRPOINT_TRY(from, base.open(key));
      if (from == nullptr) return error{errc::not_found, base.describe(key) + ": no such file"};
      ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
      return detail::add_archive(v0::detail::make_counted<const file>(std::move(opened)), limits,
                                 to)
          .at(base.describe(key));
    };
    v0::detail::virtual_hierarchy tree;
    ZARRPOINT_TRY(told, v0::detail::join_files(*index, add, tree));
    node attributes{node::object{}};
    if (!told.is_null())
      attributes.set(std::string(v0::detail::weight_map_member), std::move(told));
    ZARRPOINT_CHECK(tree.finish(attributes));
    return archive_store(std::move(tree), base.describe(at));
  });
}

ZARRPOINT_INLINE result<archive_store> archive_store::open(std::unique_ptr<blob> from,
                                                           const pickle_limits& limits) {
  const std::string name = from->name();
  return guarded([&]() -> result<archive_store> {
    ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
    v0::detail::virtual_hierarchy tree;
    ZARRPOINT_CHECK(
        detail::add_archive(v0::detail::make_counted<const file>(std::move(opened)), limits, tree)
            .at("open " + name));
    ZARRPOINT_CHECK(tree.finish({}).at("open " + name));
    return archive_store(std::move(tree), name);
  });
}

namespace detail {

inline constexpr const char* files_index = "pytorch_model.bin.index.json";

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (at.is_directory()) {
    ZARRPOINT_TRY(is_there, v0::detail::has_index(at, detail::files_index));
    return is_there ? claim::plain : claim::none;
  }
  if (at.head().starts_with('{') && at.place().ends_with(".bin.index.json")) return claim::plain;
  if (at.head().size() >= 32 && is_legacy_file(as_bytes(at.head().substr(0, 32))))
    return claim::sure;
  if (!at.head().starts_with("PK\x03\x04")) return claim::none;
  ZARRPOINT_TRY(from, at.open_file());
  const auto archive = zip_store::open(std::move(from));
  const auto prefix = archive ? file::find_prefix(*archive) : std::optional<store_key>();
  return prefix && *prefix ? claim::sure : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  if (at.is_directory() || at.head().starts_with('{')) {
    ZARRPOINT_TRY(index, v0::detail::index_at(at, detail::files_index));
    ZARRPOINT_TRY(model, archive_store::open(std::move(index.store), std::move(index.key),
                                             pickle_limits{}.within(use.memory)));
    return at.within(std::move(model), "torch.save in files");
  }
  ZARRPOINT_TRY(from, at.open_file());
  ZARRPOINT_TRY(opened, archive_store::open(std::move(from), pickle_limits{}.within(use.memory)));
  return at.within(std::move(opened), "torch.save");
}

}}}  // namespace zarrpoint::v0::torch
