// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_safetensors.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace dcp {

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
  // Without parts of tensors they are those of `safetensors::format`.
  ZARRPOINT_TRY(is_model, has_file(store, at, safetensors::detail::files_index));
  if (is_model) return safetensors::detail::has_parts(store, at);
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

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (!at.is_directory()) return claim::none;
  ZARRPOINT_TRY(found, detail::state_key(at.directory()));
  if (!found) return claim::none;
  // Files of an index that have parts of tensors.
  ZARRPOINT_TRY(is_model, at.has({safetensors::detail::files_index.data()}));
  return is_model ? claim::sure : claim::plain;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_CHECK(at.check_directory());
  ZARRPOINT_TRY(found, detail::state_key(at.directory()));
  if (!found)
    return error{errc::not_found,
                 at.path() + " holds no .metadata of torch.distributed.checkpoint"};
  ZARRPOINT_TRY(is_megatron, detail::has_file(at.directory(), *found, "metadata.json"));
  ZARRPOINT_TRY(opened,
                state_store::open(at.directory(), *found, metadata_limits.within(use.memory)));
  return at.within(std::move(opened),
                   is_megatron ? "Megatron-Core torch_dist checkpoint" : "DCP checkpoint");
}

}}}  // namespace zarrpoint::v0::dcp
