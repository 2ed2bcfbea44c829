// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/made_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/interop/torch/archive_walk.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/store/place.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch {

struct archive_store::state {
  v0::detail::made_hierarchy tree;
  std::string name;
};

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
    const auto add = [&](const std::string& name, v0::detail::made_hierarchy& to) -> result<void> {
      ZARRPOINT_TRY(key, at.parent().child(name));
      ZARRPOINT_TRY(from, base.open(key));
      if (from == nullptr) return error{errc::not_found, base.describe(key) + ": no such file"};
      ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
      return detail::add_archive(v0::detail::make_counted<const file>(std::move(opened)), limits,
                                 to)
          .at(base.describe(key));
    };
    const auto out = v0::detail::make_counted<state>();
    out->name = base.describe(at);
    ZARRPOINT_TRY(told, v0::detail::join_files(*index, add, out->tree));
    node attributes{node::object{}};
    if (!told.is_null())
      attributes.set(std::string(v0::detail::weight_map_member), std::move(told));
    ZARRPOINT_CHECK(out->tree.finish(attributes));
    return archive_store(out);
  });
}

ZARRPOINT_INLINE result<archive_store> archive_store::open(std::unique_ptr<blob> from,
                                                           const pickle_limits& limits) {
  const std::string name = from->name();
  return guarded([&]() -> result<archive_store> {
    ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
    const auto out = v0::detail::make_counted<state>();
    out->name = name;
    ZARRPOINT_CHECK(detail::add_archive(v0::detail::make_counted<const file>(std::move(opened)),
                                        limits, out->tree)
                        .at("open " + name));
    ZARRPOINT_CHECK(out->tree.finish({}).at("open " + name));
    return archive_store(out);
  });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> archive_store::open(const store_key& key) const {
  return guarded([&] { return state_->tree.open(key, describe(key)); });
}

ZARRPOINT_INLINE std::string archive_store::describe(const store_key& key) const {
  return key.is_root() ? state_->name : state_->name + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> archive_store::list(
    const store_key& prefix) const {
  return guarded([&] { return state_->tree.list(prefix); });
}

namespace detail {

/// What a pickle may cost of a budget: a value takes some 256 bytes with what is made of it.
constexpr pickle_limits limits_within(std::uint64_t memory) noexcept {
  pickle_limits out;
  out.max_bytes = std::min(out.max_bytes, memory / 8 + (std::uint64_t{16} << 10));
  out.max_values = static_cast<std::size_t>(
      std::min<std::uint64_t>(out.max_values, memory / 256 + (std::uint64_t{1} << 10)));
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<stored_place>> find_archive(const std::string& path,
                                                                  std::uint64_t memory) {
  using found = std::optional<stored_place>;
  const v0::detail::path_in_file at = v0::detail::split_at_file(path);
  auto from = v0::detail::open_file(at.file);
  std::array<std::byte, 32> mark{};
  if (!from || (*from)->size() < mark.size()) return found();  // others say what is wrong with it
  ZARRPOINT_CHECK((*from)->read(0, mark));
  if (!is_legacy_file(mark)) {
    if (!as_text(bytes_view(mark)).starts_with("PK\x03\x04")) return found();
    ZARRPOINT_TRY(again, v0::detail::open_file(at.file));
    const auto archive = zip_store::open(std::move(again));
    if (!archive) return found();
    const auto prefix = file::find_prefix(*archive);
    if (!prefix || !*prefix) return found();
  }
  ZARRPOINT_TRY(opened, archive_store::open(*std::move(from), detail::limits_within(memory)));
  ZARRPOINT_TRY(key, store_key::parse(at.rest).at(path));
  return found(stored_place{std::move(opened), std::move(key)});
}

}  // namespace torch

ZARRPOINT_INLINE result<stored_place> torch_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported, "write " + path +
                                        ": torch::save writes files of torch.save; save to a "
                                        "directory or a zip"};
  const v0::detail::path_in_file file = v0::detail::split_at_file(path);
  ZARRPOINT_TRY(from, v0::detail::open_file(file.file));
  ZARRPOINT_TRY(opened, torch::archive_store::open(std::move(from),
                                                   torch::detail::limits_within(use.memory)));
  ZARRPOINT_TRY(key, store_key::parse(file.rest).at(path));
  return stored_place{std::move(opened), std::move(key)};
}

}}  // namespace zarrpoint::v0
