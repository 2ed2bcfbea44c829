// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// An item of a checkpoint before it is written: an archive of torch.save. Its size is known from
/// its spec, so that items get their places first and are then written in any order. What is in
/// front of the elements and behind them depends on their checksum.
class archive_layout {
 public:
  /// Of a tensor. Errors: `unsupported` for dtypes that PyTorch does not have.
  static result<archive_layout> of_tensor(const tensor_spec& spec);
  /// Of a value without tensors. Errors: those of `pickle_writer`.
  static result<archive_layout> of_value(const torch::value& value);
  /// Of one that is made elsewhere: all of it are elements.
  static archive_layout of_file(std::uint64_t bytes);

  std::uint64_t size() const noexcept { return tail_ + tail_size_; }
  /// Where its elements begin, and how many bytes they have.
  std::uint64_t elements() const noexcept { return elements_; }
  std::uint64_t element_bytes() const noexcept { return element_bytes_; }
  /// What its place in a file must be a multiple of, so that its elements are aligned there.
  std::uint64_t alignment() const noexcept;

  /// What comes before the elements, and behind them, of the CRC-32 `crc`.
  std::string head(std::uint32_t crc) const;
  std::string tail(std::uint32_t crc) const;

 private:
  struct member {
    std::string name;
    std::string bytes;
  };

  /// The smallest alignment, and that of large tensors, which whole pages can be mapped of.
  static constexpr std::uint64_t least_alignment = 64;
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t paged_bytes = 16 * page;

  archive_layout() = default;
  archive_layout(std::string pickle, bool has_tensor, std::uint64_t element_bytes);

  std::vector<member> small_;  ///< in front of the elements; none where those are all
  bool has_tensor_ = false;
  std::uint64_t element_bytes_ = 0;
  std::uint64_t elements_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t tail_size_ = 0;
};

}}}}  // namespace zarrpoint::v0::dcp::detail
