// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What is written, and by which process: arithmetic and texts, without an element.

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// A tensor, and the boxes that one process has of it.
struct held_tensor {
  std::string name;
  std::vector<path_step> path;
  tensor_spec spec;        ///< of the whole
  std::vector<box> boxes;  ///< of the whole

  friend bool operator==(const held_tensor&, const held_tensor&) = default;
};

/// A value that a process has.
struct held_value {
  std::string name;
  std::vector<path_step> path;

  friend bool operator==(const held_value&, const held_value&) = default;
};

/// What one process has.
struct held_state {
  std::vector<held_tensor> tensors;
  std::vector<held_value> values;

  static std::vector<std::byte> encode(std::span<const held_tensor> tensors,
                                       std::span<const held_value> values);
  /// Errors: `corrupt`.
  static result<held_state> decode(bytes_view message);

  friend bool operator==(const held_state&, const held_state&) = default;
};

/// Cuts a box of elements of `element_size` bytes into boxes of at most `bytes`, along its first
/// axes. Errors: `resource_limit` for more than `most` boxes.
result<std::vector<box>> cut_box(const box& of, std::size_t element_size, std::uint64_t bytes,
                                 std::uint64_t most);

/// A value of JSON as values of a state dict: PyTorch flattens dicts, and lists with dicts in them.
/// An empty dict leaves nothing: PyTorch looks for none, and would take one for a sign that the
/// checkpoint is of before 2.4.
std::vector<std::pair<std::vector<path_step>, const json*>> flatten(const json& value,
                                                                    std::vector<path_step> path);

/// The steps of a path, joined as PyTorch does.
std::string name_of(std::span<const path_step> path);

/// Who writes what.
struct shared_plan : planned_items {
  /// What each process writes: numbers of the boxes of its `held_state`, behind which its values
  /// are counted, in the order of the plan.
  std::vector<std::vector<std::size_t>> chosen;
};

/// What one process has, as it was told: its whole leaves, which several may have alike, and its
/// shards. Its items are counted in this order, tensors before values.
struct held_parts {
  std::shared_ptr<const held_state> leaves;
  held_state shards;
};

/// Errors: `invalid_argument` naming the tensor, or the two names.
result<shared_plan> plan_items(std::span<const held_parts> all);

}}}}  // namespace zarrpoint::v0::dcp::detail

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// Whose `.metadata` it is.
enum class metadata_style : std::uint8_t {
  torch,       ///< torch.distributed.checkpoint's
  torch_dist,  ///< Megatron-Core's: without paths, with the shape of what was flattened
};

/// The bytes of `.metadata`: a pickle of protocol 2, which PyTorch reads from 2.3 on (2.2 and
/// before lack the classes), and `read_metadata`. The same metadata make the same bytes. Boxes may
/// be empty, as PyTorch has them for tensors without elements. Errors: `invalid_argument` for a
/// name that is not UTF-8; `unsupported` for a dtype that PyTorch has not, for raw items, and in
/// the style of torch for what Megatron-Core flattened.
result<std::string> write_metadata(const metadata& from,
                                   metadata_style style = metadata_style::torch);

}}}  // namespace zarrpoint::v0::dcp
