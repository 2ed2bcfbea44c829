// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/dcp/dcp_safetensors.hpp>
#include <zarrpoint/interop/dcp/dcp_scheme.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/stored_place.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace dcp {

namespace detail {

ZARRPOINT_INLINE result<bool> has_file(const any_store& store, const store_key& at,
                                       std::string_view name) {
  ZARRPOINT_TRY(key, at.child(name));
  ZARRPOINT_TRY(object, store.open(key));
  return object != nullptr;
}

/// Whether a directory holds a checkpoint. Others name a file so, too, but not beside a hierarchy.
ZARRPOINT_INLINE result<bool> is_state(const any_store& store, const store_key& at) {
  for (const char* const document : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(is_zarr, has_file(store, at, document));
    if (is_zarr) return false;
  }
  for (const char* const document : {".metadata", "__0.metadata"}) {
    ZARRPOINT_TRY(is_there, has_file(store, at, document));
    if (is_there) return true;
  }
  ZARRPOINT_TRY(files, safetensors_files(store, at));
  return !files.empty();
}

/// The newest iteration of a run of Megatron-Core, which a file names by its number.
ZARRPOINT_INLINE result<std::optional<store_key>> newest_iteration(const any_store& store) {
  ZARRPOINT_TRY(tracker, store_key::parse("latest_checkpointed_iteration.txt"));
  ZARRPOINT_TRY(object, store.open(tracker));
  if (object == nullptr || object->size() > 32) return std::optional<store_key>();
  std::string number(static_cast<std::size_t>(object->size()), '\0');
  ZARRPOINT_CHECK(object->read(0, std::as_writable_bytes(std::span(number))));
  while (!number.empty() && (number.back() == '\n' || number.back() == ' ')) number.pop_back();
  if (number.empty() || number.find_first_not_of("0123456789") != number.npos)
    return std::optional<store_key>();
  if (number.size() < 7) number.insert(0, 7 - number.size(), '0');
  ZARRPOINT_TRY(key, store_key::parse("iter_" + number));
  ZARRPOINT_TRY(there, is_state(store, key));
  return there ? std::optional(std::move(key)) : std::nullopt;
}

ZARRPOINT_INLINE result<std::optional<store_key>> state_key(const any_store& directory) {
  ZARRPOINT_TRY(is_here, is_state(directory, store_key::root()));
  if (is_here) return std::optional(store_key::root());
  return newest_iteration(directory);
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<stored_place>> find_state(const std::string& path,
                                                                link_scope links,
                                                                std::uint64_t memory) {
  std::string_view whole = path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.remove_suffix(1);
  std::string_view directory = whole;
  std::string_view rest;
  while (true) {
    const auto store =
        file_store::open(std::string(directory), {.read_only = true, .follow_links = links});
    if (store) {
      const auto key = store_key::parse(rest);
      if (!key) return std::optional<stored_place>();
      ZARRPOINT_TRY(found, detail::state_key(*store));
      if (!found) return std::optional<stored_place>();
      ZARRPOINT_TRY(opened, state_store::open(*store, *found, metadata_within(memory)));
      return std::optional(stored_place{std::move(opened), *key});
    }
    const std::size_t slash = directory.rfind('/');
    if (store.failure().code != errc::not_found || slash == directory.npos || slash == 0)
      return std::optional<stored_place>();
    directory = directory.substr(0, slash);
    rest = whole.substr(slash + 1);
  }
}

}  // namespace dcp

ZARRPOINT_INLINE result<stored_place> dcp_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported, "write " + path +
                                        ": dcp::save writes checkpoints of PyTorch; save to a "
                                        "directory or a zip"};
  ZARRPOINT_TRY(found, dcp::find_state(path, link_scope::none, use.memory));
  if (found) return *std::move(found);
  ZARRPOINT_CHECK(file_store::open(path, {.read_only = true}));
  return error{errc::not_found, path + " holds no .metadata of torch.distributed.checkpoint"};
}

ZARRPOINT_INLINE result<stored_place> dcp_file_scheme::open(const url& at, const place_use& use) {
  if (!use.write) {
    ZARRPOINT_TRY(path, at.path());
    ZARRPOINT_TRY(found, dcp::find_state(path, link_scope::none, use.memory));
    if (found) return *std::move(found);
  }
  return file_scheme::open(at, use);
}

}}  // namespace zarrpoint::v0
