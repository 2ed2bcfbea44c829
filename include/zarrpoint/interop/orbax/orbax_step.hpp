// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// What `_CHECKPOINT_METADATA` tells of a checkpoint or step. All of it may be missing.
struct checkpoint_facts {
  json item_handlers;        ///< a text, an object with one for each item, or null
  json metrics;              ///< an object, or null
  json performance_metrics;  ///< an object, or null
  json custom_metadata;      ///< the user's, with members that are not known; or null
  std::optional<std::uint64_t> begin_time;   ///< of the save, in nanoseconds since 1970
  std::optional<std::uint64_t> commit_time;  ///< when it was done
};

/// Reads `_CHECKPOINT_METADATA`. Errors: `corrupt`.
result<checkpoint_facts> read_checkpoint_facts(bytes_view text);

/// What an item of a step is to read.
enum class item_kind : std::uint8_t {
  tree,   ///< `_METADATA`, or the older `checkpoint`: arrays
  json,   ///< a value, as `read_json_item` reads it
  other,  ///< neither
};

/// One item of a step: a directory beneath it.
struct step_item {
  std::string name;
  item_kind kind = item_kind::other;
};

/// The items of a step that were finished, sorted by name.
result<std::vector<step_item>> list_items(const stored_place& step);

/// What an item of JSON holds: `metadata` and `metrics` of Orbax, `data.json` of its v1 API. NaN
/// and infinities, as Python writes them, are read. Errors: `not_found`; `corrupt`;
/// `resource_limit`.
result<json> read_json_item(const stored_place& item);

namespace detail {

/// Whether a directory holds a tree: `_METADATA`, or the older msgpack file.
result<bool> holds_tree(const stored_place& directory);

/// Refuses a directory that holds no tree and had one: what else Orbax writes into it is there.
/// Errors: `corrupt`, saying what to do.
result<void> check_metadata(const stored_place& directory);

/// Whether a file of a name lies in a directory.
result<bool> holds(const stored_place& directory, std::string_view name);

/// The directories beneath that a save has finished.
result<std::vector<std::string>> finished_beneath(const stored_place& directory);

/// The name of the file with the JSON of an item; empty if it is not one.
result<std::string> json_file(const stored_place& item);

/// In the names of directories that a save has not finished.
inline constexpr std::string_view unfinished_mark = ".orbax-checkpoint-tmp";

}  // namespace detail

}}}  // namespace zarrpoint::v0::orbax
