// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Bytes of an object that will be read.
struct byte_range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// An object of which many small ranges are read: neighbours are joined, read in one call, and kept
/// until each of them was asked for once.
class coalescing_blob final : public blob {
 public:
  /// Ranges with less than this between them are joined: reading it costs less than another call.
  static constexpr std::uint64_t max_gap = 16 * 1024;
  /// The most bytes that ranges are joined to.
  static constexpr std::uint64_t max_run = 1024 * 1024;

  coalescing_blob(std::shared_ptr<const blob> base, std::vector<byte_range> ranges,
                  memory_resource& from);

  std::uint64_t size() const noexcept override { return base_->size(); }
  std::string name() const override { return base_->name(); }
  /// How many reads all ranges take.
  std::size_t runs() const noexcept { return runs_.size(); }

  ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;

 private:
  struct run {
    std::mutex mutex;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::size_t wanted = 0;  // ranges that were not asked for yet
    buffer memory;
  };

  /// The run that holds a range whole.
  run* find(std::uint64_t offset, std::uint64_t bytes) const;

  std::shared_ptr<const blob> base_;
  memory_resource& resource_;
  std::vector<std::unique_ptr<run>> runs_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/read/impl/coalescing_blob_impl.hpp>
#endif
