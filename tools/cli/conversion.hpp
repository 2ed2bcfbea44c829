// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `convert` has decided before it touches an element, and the writers.

#include <zarrpoint/checkpoint/options.hpp>

#include "source.hpp"

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
  std::vector<std::string> empty_groups;  ///< names in the target; Zarr only
  std::string out;
  bool overwrite = false;

  const zp::tensor_spec& spec(const converted& of) const { return *from.entries()[of.index].spec; }
};

/// Saves a checkpoint. Arrays that the source can lend are not copied; others are read when their
/// turn comes, and no more of them at a time than fit into half of the memory.
zp::result<void> convert_to_zarr(const conversion& what, const zp::save_options& options,
                                 const zp::context& how);

/// Write a single file, block by block. Strings and bytes, which safetensors has no dtype for, go
/// into `__metadata__` or are left out.
zp::result<void> convert_to_safetensors(const conversion& what, bool skip_strings);
zp::result<void> convert_to_npz(const conversion& what);

/// Saves a checkpoint of torch.distributed.checkpoint. Text, numbers that were saved as such and
/// JSON become values of Python.
zp::result<void> convert_to_dcp(const conversion& what, const zp::context& how);

/// Whether elements are text or bytes of their own length.
bool is_text(const zp::dtype& type);

/// A single string is its text; others are JSON, as `cat --json` writes them. Errors:
/// `resource_limit` for more than a header of safetensors may have.
zp::result<std::string> text_of(const conversion& what, const converted& each);

}  // namespace cli
