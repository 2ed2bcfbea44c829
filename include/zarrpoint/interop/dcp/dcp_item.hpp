// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// An item as an object of its own. What is stored by the transform `stream.zstd/1` is decompressed
/// to memory, to at most `max_bytes`. Errors: `not_found` when its file is gone; `corrupt` when it
/// runs past the end of its file; `unsupported` for other transforms, by name; `resource_limit`;
/// `io`.
result<std::unique_ptr<blob>> open_item(const any_store& base, const stored_item& item,
                                        std::uint64_t max_bytes);

/// The elements of a box where they lie: in the one storage of the archive that is its item.
struct box_source {
  std::unique_ptr<blob> storage;
  std::uint64_t offset = 0;  ///< of the first element in the storage, in bytes
  dims strides;              ///< in bytes, one for each axis of the box
  torch::element_signs signs{};
};

/// Errors: those of `open_item` and of `torch::open`; `corrupt` where the archive holds no tensor
/// of that dtype and shape; extents of 1 do not count.
result<box_source> open_box(const any_store& base, const tensor_entry& of,
                            const tensor_chunk& chunk);

/// A chunk of an array, put together of the boxes that it has elements of.
struct chunk_plan {
  any_store base;
  std::shared_ptr<const tensor_entry> tensor;
  std::vector<const tensor_chunk*> boxes;
  box at;  ///< of the stored tensor; what lies beyond it reads as zero
  std::string name;
};

/// Reads ranges of a chunk by ranges of the storages. What elements lie between those that are
/// wanted is read with them where that is not much. It may be mapped where the chunk is one box
/// that lies there row by row.
class chunk_blob final : public blob {
 public:
  using blob::read;
  static result<std::unique_ptr<blob>> open(chunk_plan plan);

  std::uint64_t size() const noexcept override { return size_; }
  std::string name() const override { return plan_.name; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override;
  result<mapping> map() const override;

 private:
  /// Elements of a source and where they go, along the same axes.
  struct transfer {
    std::uint64_t from = 0;  ///< the first, in bytes of the storage
    dims from_strides;
    std::byte* to = nullptr;
    dims to_strides;
    dims shape;
  };

  chunk_blob(chunk_plan plan, std::uint64_t size) : plan_(std::move(plan)), size_(size) {}

  std::size_t element_size() const { return plan_.tensor->spec.type.size(); }
  /// Whole elements, from one on in the order of the chunk.
  result<void> read_elements(index_t first, index_t count, std::byte* to) const;
  /// `part` of the stored tensor, row by row.
  result<void> read_part(const box& part, std::byte* to) const;
  result<void> copy(const blob& storage, const transfer& what) const;
  result<std::shared_ptr<const box_source>> source(std::size_t box) const;

  const chunk_plan plan_;
  const std::uint64_t size_;
  mutable std::mutex opening_;
  /// Those that were opened last: each keeps a file open.
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::size_t, std::shared_ptr<const box_source>>> opened_;
  mutable std::size_t next_ = 0;
};

/// The boxes of a tensor as the chunks of an array. Pure arithmetic.
///
/// Boxes that form a grid are its chunks: a regular one where all of an axis but the last have one
/// extent, a rectilinear one otherwise. Boxes that form no grid are parts of one chunk, which is
/// the whole tensor. What Megatron-Core flattened has a chunk for each cell of its grid, in which
/// the elements of the cell lie row by row.
class tensor_grid {
 public:
  /// Errors: `corrupt` for holes and overlaps, naming a box; `resource_limit` for more boxes
  /// without a grid than can be compared.
  static result<tensor_grid> make(const tensor_entry& of);

  const dims& shape() const noexcept { return shape_; }  ///< of the array
  const dims& chunk_shape() const noexcept {
    return chunk_shape_;
  }  ///< the largest, if rectilinear
  const std::vector<axis_edges>& edges() const noexcept { return edges_; }  ///< empty if regular
  const dims& counts() const noexcept { return counts_; }  ///< chunks along each axis

  /// The box of the stored tensor whose elements, row by row, are those of a chunk. That of the
  /// last chunk of a regular axis may reach beyond the tensor.
  box chunk_box(const dims& index) const;

  /// The boxes that a chunk has elements of, as their places in `tensor_entry::chunks`.
  std::span<const std::uint32_t> boxes_of(const dims& index) const;

 private:
  result<bool> take_grid(const tensor_entry& of);
  void set_chunks(const std::vector<std::vector<index_t>>& cuts);
  result<void> take_whole(const tensor_entry& of);
  result<void> take_flat(const tensor_entry& of);
  std::size_t place(const dims& index) const;

  dims shape_;
  dims chunk_shape_;
  dims counts_;
  std::vector<axis_edges> edges_;
  index_t flat_ = -1;                  ///< the elements of a cell that is stored flat
  std::vector<std::uint32_t> firsts_;  ///< for each chunk where in `boxes_` its own begin
  std::vector<std::uint32_t> boxes_;
};

/// The metadata of an array of uncompressed chunks, in the byte order of this machine. `edges`: of
/// a rectilinear grid, else none.
array_metadata raw_metadata(const tensor_spec& spec, const dims& chunk_shape,
                            std::vector<axis_edges> edges = {});

/// An array of one chunk: its `zarr.json`, and the bytes of the chunk.
struct value_array {
  json document;
  std::vector<std::byte> chunk;
  std::size_t rank = 0;
};

/// What a file of torch.save holds as such an array. It has a tensor or an array of numpy as one, a
/// number or a text as an array of rank 0, other values as the text of their document. `name`: that
/// of the value; where it is the unique key of an object of Megatron-Core, the list of that one
/// object is the object. Errors: those of `torch::to_document` and `torch::file::read`;
/// `unsupported` for a tensor that this library has no elements for.
result<value_array> to_array(const torch::file& from, std::string_view name);

/// What a file of torch.save holds as a document, an object of Megatron-Core as in `to_array`.
result<json> to_json(const torch::file& from, std::string_view name);

/// Puts a value at a path of a document. Errors: `corrupt` where another value is on the way;
/// `resource_limit` for places in lists beyond `most_gaps`, which counts those that are left empty.
result<void> put_at(json& document, std::span<const path_step> path, json value,
                    std::size_t& most_gaps);

}}}}  // namespace zarrpoint::v0::dcp::detail
