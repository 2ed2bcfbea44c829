// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/format.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A model in several files, and the index that Hugging Face writes beside them:
// https://huggingface.co/docs/huggingface_hub/package_reference/serialization

namespace zarrpoint { inline namespace v0 { namespace detail {

class virtual_hierarchy;

/// What an index says: in which file each tensor is, and their bytes in all.
struct weight_index {
  std::map<std::string, std::string, std::less<>> file_of;
  std::optional<std::uint64_t> total_size;

  bool is_in(std::string_view name, std::string_view file) const {
    const auto at = file_of.find(name);
    return at != file_of.end() && at->second == file;
  }
  /// The files, each once, sorted.
  std::vector<std::string> files() const;
};

/// The index that a JSON document is. Errors: `corrupt` for one without an object `weight_map`, and
/// for a tensor whose file is not in the directory of the index.
result<weight_index> parse_weight_index(const json& document);

/// The index at `key`; nothing where there is no such file. Errors: those of the store and of
/// `parse_weight_index`; `resource_limit` above 256 MiB.
result<std::optional<weight_index>> read_weight_index(const any_store& store, const store_key& key);

/// Adds all that a file of that name holds to a hierarchy.
using file_adder = std::function<result<void>(const std::string& name, std::unique_ptr<blob> from,
                                              virtual_hierarchy& to)>;

/// A model in several files.
struct model_files {
  any_store base;
  store_key at_key;  ///< of the index, beside which they lie
  weight_index index;

  /// Errors: `not_found`, those of `read_weight_index`.
  static result<model_files> at(const any_store& base, store_key index);

  /// Puts what the index takes from each file into one hierarchy, and gives what it leaves out, for
  /// people. These are `left_out`, the number, and `tensors`, the first thousand, each with `name`,
  /// `file` and `reason`. It is null where nothing is. Errors: `not_found`; `corrupt` for a tensor
  /// that its file has not; those of `add_file`. They name the file.
  result<json> join(const file_adder& add_file, virtual_hierarchy& to) const;
};

/// Whether a look finds a directory with an index of that name, and nothing that counts more: a
/// Zarr hierarchy, or a checkpoint of torch.distributed.checkpoint.
result<bool> has_index(const place_look& at, const char* name);

/// The index that a look finds: a file, or that of the name in a directory. Links beside it are
/// followed as `place_look::links` says. Errors: `not_found` where there is neither.
result<stored_place> index_at(const place_look& at, const char* name);

/// The attribute of the root that tells what an index says and its files do not.
inline constexpr std::string_view weight_map_member = "weight_map";

}}}  // namespace zarrpoint::v0::detail
