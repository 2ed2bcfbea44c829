// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `convert` has decided before it touches an element, and the writers.

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include "rename.hpp"
#include "source.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cli {

/// One array on its way.
struct converted {
  std::size_t index;  ///< in the source
  std::string name;   ///< in the target
  zp::dtype type;     ///< in the target

  friend bool operator==(const converted&, const converted&) = default;
};

struct conversion {
  const source& from;
  std::vector<converted> arrays;
  std::vector<std::string> empty_groups;  ///< names in the target; Zarr and Orbax only
  std::string out;
  bool overwrite = false;

  const zp::tensor_spec& spec(const converted& of) const { return *from.entries()[of.index].spec; }
};

/// Saves leaves, by name, as what a conversion makes.
using leaf_saver =
    std::function<zp::result<void>(std::span<const zp::leaf> leaves, const zp::context& how)>;

/// Has all that is converted saved. Arrays that the source can lend are not copied. Others are read
/// when their turn comes, and no more of them at a time than fit into half of the memory. The
/// leaves are in the order of `conversion::arrays`, and then of its groups.
zp::result<void> save_converted(const conversion& what, const leaf_saver& save,
                                const zp::context& how);

/// Saves a checkpoint.
zp::result<void> convert_to_zarr(const conversion& what, const zp::save_options& options,
                                 const zp::context& how);

/// How `convert` writes for Orbax.
struct orbax_target {
  int zarr_format = 3;
  bool ocdbt = true;
  std::string in;                               ///< the source
  zp::link_scope links = zp::link_scope::none;  ///< that may be followed in it
  bool is_whole = true;                         ///< all of it is converted, by its own names
};

/// Saves a checkpoint for Orbax. The tree of a source that is Orbax's stays what it was; of others,
/// the parts of a name are keys of dicts.
zp::result<void> convert_to_orbax(const conversion& what, const zp::save_options& options,
                                  const orbax_target& target, const zp::context& how);

/// Write a single file, block by block. Strings and bytes, which safetensors has no dtype for, go
/// into `__metadata__` or are left out.
zp::result<void> convert_to_safetensors(const conversion& what, bool skip_strings);
zp::result<void> convert_to_npz(const conversion& what);

/// The same to a directory of files of safetensors, each with tensors of at most so many bytes, or
/// with one; and their index.
zp::result<void> convert_to_safetensors_files(const conversion& what, bool skip_strings,
                                              std::uint64_t max_file_bytes);

/// Saves a checkpoint of torch.distributed.checkpoint. Text, numbers that were saved as such and
/// JSON become values of Python.
zp::result<void> convert_to_dcp(const conversion& what, const zp::context& how);

/// How `convert` writes for Megatron-Core.
struct torch_dist_target {
  std::string in;                               ///< the source
  zp::link_scope links = zp::link_scope::none;  ///< that may be followed in it
  bool has_all_arrays = true;                   ///< none of the source is left out
  std::vector<rename_rule> renames;             ///< for what is not among the arrays

  /// The name of an object in the target: the last rule that fits counts. Errors:
  /// `invalid_argument` for one that would have no name.
  zp::result<std::string> renamed(const std::string& key) const;
};

/// Saves a checkpoint of Megatron-Core's in the layout torch_dist. Objects and the common state of
/// a source that has such stay what they are. Values of Python of other sources become common, the
/// parts of a name keys of dicts; those with the name of an object become objects.
zp::result<void> convert_to_torch_dist(const conversion& what, const torch_dist_target& target,
                                       const zp::context& how);

/// Whether elements are text or bytes of their own length.
bool is_text(const zp::dtype& type);

/// Whether an array is one text, which `text_of` gives as it is.
bool is_one_text(const entry& of);

/// A single string is its text; others are JSON, as `cat --json` writes them. Errors:
/// `resource_limit` for more than `most` bytes, which `limit` names.
zp::result<std::string> text_of(const conversion& what, const converted& each, std::uint64_t most,
                                std::string_view limit);

}  // namespace cli
