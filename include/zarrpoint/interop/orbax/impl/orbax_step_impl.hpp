// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

ZARRPOINT_INLINE result<bool> holds(const stored_place& directory, std::string_view name) {
  ZARRPOINT_TRY(key, directory.key.child(name));
  ZARRPOINT_TRY(object, directory.store.open(key));
  return object != nullptr;
}

ZARRPOINT_INLINE result<bool> holds_tree(const stored_place& directory) {
  ZARRPOINT_TRY(has, holds(directory, "_METADATA"));
  if (has) return true;
  ZARRPOINT_TRY(key, directory.key.child("checkpoint"));
  ZARRPOINT_TRY(object, directory.store.open(key));
  if (object == nullptr) return false;
  return is_aggregate(*object);
}

ZARRPOINT_INLINE result<void> check_metadata(const stored_place& directory) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  for (const list_entry& child : children)
    if (child.name == "manifest.ocdbt" || child.name == "_sharding" ||
        child.name == "array_metadatas" || child.name == "_strings.json")
      return error{errc::corrupt,
                   directory.store.describe(directory.key) + ": its _METADATA is missing, and " +
                       v0::detail::in_quotes(child.name) +
                       " is there: copy it once more, with the files whose names begin with \"_\""};
  return {};
}

ZARRPOINT_INLINE result<std::vector<std::string>> finished_beneath(const stored_place& directory) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  std::vector<std::string> out;
  for (const list_entry& child : children)
    if (child.is_prefix && child.name.find(unfinished_mark) == child.name.npos)
      out.push_back(child.name);
  return out;
}

ZARRPOINT_INLINE result<std::string> json_file(const stored_place& item) {
  for (const char* name : {"data.json", "metadata", "metrics"}) {
    ZARRPOINT_TRY(has, holds(item, name));
    if (has) return std::string(name);
  }
  return std::string();
}

}  // namespace detail

ZARRPOINT_INLINE result<checkpoint_facts> read_checkpoint_facts(bytes_view json) {
  ZARRPOINT_TRY(document, parse_json(json));
  if (document.if_object() == nullptr)
    return error{errc::corrupt, "_CHECKPOINT_METADATA is not an object"};
  checkpoint_facts out;
  node strange;
  for (node::member& entry : *document.if_object()) {
    const auto time = entry.value.to_uint64();
    if (entry.key == "item_handlers") {
      out.item_handlers = std::move(entry.value);
    } else if (entry.key == "metrics") {
      out.metrics = std::move(entry.value);
    } else if (entry.key == "performance_metrics") {
      out.performance_metrics = std::move(entry.value);
    } else if (entry.key == "init_timestamp_nsecs") {
      out.begin_time = time;
    } else if (entry.key == "commit_timestamp_nsecs") {
      out.commit_time = time;
    } else if (entry.key == "custom_metadata" || entry.key == "custom") {
      out.custom_metadata = std::move(entry.value);
    } else {
      strange.set(entry.key, std::move(entry.value));
    }
  }
  // As Orbax does; what the user said comes first.
  if (strange.if_object() != nullptr)
    for (node::member& entry : *strange.if_object())
      if ((out.custom_metadata.is_null() || out.custom_metadata.if_object() != nullptr) &&
          out.custom_metadata.find(entry.key) == nullptr)
        out.custom_metadata.set(entry.key, std::move(entry.value));
  return out;
}

ZARRPOINT_INLINE result<std::vector<step_item>> list_items(const stored_place& step) {
  ZARRPOINT_TRY(names, detail::finished_beneath(step));
  std::vector<step_item> out;
  for (const std::string& name : names) {
    ZARRPOINT_TRY(key, step.key.child(name));
    const stored_place item{step.store, std::move(key)};
    ZARRPOINT_TRY(is_tree, detail::holds_tree(item));
    if (is_tree) {
      out.push_back({name, item_kind::tree});
      continue;
    }
    ZARRPOINT_TRY(file, detail::json_file(item));
    out.push_back({name, file.empty() ? item_kind::other : item_kind::json});
  }
  return out;
}

ZARRPOINT_INLINE result<node> read_json_item(const stored_place& item) {
  constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;
  return guarded([&]() -> result<node> {
    ZARRPOINT_TRY(name, detail::json_file(item));
    if (name.empty())
      return error{errc::not_found, item.store.describe(item.key) +
                                        " is not an item of JSON: no data.json, "
                                        "metadata or metrics"};
    ZARRPOINT_TRY(key, item.key.child(name));
    ZARRPOINT_TRY(text, get(item.store, key, most_bytes));
    return parse_json(text ? bytes_view(*text) : bytes_view()).at(item.store.describe(key));
  });
}

}}}  // namespace zarrpoint::v0::orbax
