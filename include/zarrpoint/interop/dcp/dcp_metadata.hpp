// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// Where an item lies: a range of a file of the checkpoint.
struct stored_item {
  std::string file;  ///< the key of the file in the directory
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<std::string> transforms;  ///< what its bytes went through, in that order
  bool is_raw = false;  ///< the elements of a box, row by row; otherwise a file of torch.save

  friend bool operator==(const stored_item&, const stored_item&) = default;
};

/// One box of a tensor, as one process saved it.
struct tensor_chunk {
  box at;
  stored_item from;
};

/// One step from the root of a state dict to a value.
struct path_step {
  std::string text;
  bool is_index = false;  ///< of a list; otherwise the key of a dict

  friend bool operator==(const path_step&, const path_step&) = default;
};

/// A tensor of a checkpoint.
struct tensor_entry {
  std::string name;             ///< its fully qualified name
  std::vector<path_step> path;  ///< empty where the metadata do not tell
  tensor_spec spec;             ///< as it is stored
  /// Sorted by their offsets, of which no two are the same; none is empty.
  std::vector<tensor_chunk> chunks;
  /// The shape of what Megatron-Core stored as the cells of a grid, each flat along the last axis.
  std::optional<dims> unflattened{};
  std::string shown{};  ///< its name in the hierarchy of a `state_store`: a valid key
};

/// A value that is not a tensor: a file of torch.save of its own.
struct value_entry {
  std::string name;
  std::vector<path_step> path;
  stored_item from;
};

/// What is of a class or dtype that this library does not know: it is listed, and not read.
struct unknown_entry {
  std::string name;
  std::string type;                ///< its class or dtype
  std::string reason;              ///< why it is not read
  dims shape;                      ///< empty where it is not known
  std::vector<stored_item> items;  ///< what is stored of it
};

/// What `.metadata` tells of a checkpoint. The lists are sorted by name.
struct metadata {
  std::vector<tensor_entry> tensors;
  std::vector<value_entry> values;
  std::vector<unknown_entry> unknown{};
};

/// What a `.metadata` may cost: those of large models have millions of values.
inline constexpr torch::pickle_limits metadata_limits{.max_bytes = std::uint64_t{256} << 20,
                                                      .max_values = std::size_t{1} << 23};

/// Reads `.metadata` of torch.distributed.checkpoint, whatever version of PyTorch 2 wrote it.
/// Nothing of the pickle is run. Errors: `corrupt`, naming the tensor, for boxes outside of it, two
/// of one offset and different shapes, and boxes without an item; `resource_limit`; those of
/// `torch::read_pickle`.
result<metadata> read_metadata(bytes_view pickle,
                               const torch::pickle_limits& limits = metadata_limits);

namespace detail {

/// Sorts the boxes of a tensor by their offsets, and leaves out replicas. Errors: `corrupt` for two
/// boxes of one offset that differ in shape.
result<void> sort_chunks(tensor_entry& of);

/// Adds what another process saved by itself. Where both have a box, or a value, that of `into`
/// stays. Errors: `corrupt` for two dtypes or shapes of one tensor.
result<void> merge(metadata& into, metadata more);

}  // namespace detail

}}}  // namespace zarrpoint::v0::dcp
