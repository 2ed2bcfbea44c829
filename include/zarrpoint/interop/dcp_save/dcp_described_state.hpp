// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// What one process has to save: as the others are told of it, and where its elements are, none of
/// which is touched. Shards and leaves that are borrowed must live as long.
class described_state {
 public:
  described_state(const format& as, const context& how) : as_(as), how_(how) {}

  /// Once. A process that is alone has all tensors, so that options for others are wrong. Errors,
  /// naming the leaf or shard: `unsupported` for what PyTorch has no word for, `invalid_argument`
  /// for a name that is there twice, and those of its spec.
  result<void> describe(std::span<const sharded_tensor> shards, std::span<const v0::leaf> leaves,
                        bool is_alone);

  /// Copies the elements of one of the `sources`. Once is enough.
  result<void> keep(std::size_t source, v0::detail::cell_copies& by);

  const held_state& held() const { return held_; }
  /// How many of the tensors come first, and are leaves; the others are shards.
  std::size_t whole() const { return whole_; }
  /// One for each of the tensors.
  const std::vector<tensor_source>& sources() const { return sources_; }
  /// One for each of the values.
  const std::vector<archive_layout>& values() const { return values_; }

 private:
  result<void> add_leaf(const v0::leaf& value);
  result<void> add_value(const std::string& name, const torch::value& value,
                         std::vector<path_step> path);
  result<void> add_document(const v0::leaf& from, bytes_view text);
  result<void> add_shard(const sharded_tensor& shard);
  result<void> add_tensor(tensor_source from, const tensor_spec& whole);
  result<std::vector<box>> boxes_of(const tensor_source& from, const tensor_spec& whole) const;
  std::vector<path_step> path_of(const std::string& name) const;

  const format& as_;
  const context& how_;
  std::vector<v0::leaf> leaves_;
  held_state held_;
  std::size_t whole_ = 0;
  std::vector<tensor_source> sources_;
  std::vector<bool> kept_;  ///< of those
  std::vector<archive_layout> values_;
};

}}}}  // namespace zarrpoint::v0::dcp::detail
