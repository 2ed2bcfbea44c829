// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

}}}}  // namespace zarrpoint::v0::dcp::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/impl/dcp_item_impl.hpp>
#endif
