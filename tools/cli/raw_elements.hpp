// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Uncompressed arrays in one piece of memory: what safetensors and npy files hold.

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace cli {

namespace zp = zarrpoint;

/// Elements that need not be aligned nor in this machine's byte order.
struct raw_elements {
  zp::bytes_view data;
  zp::tensor_spec spec;
  zp::dims strides;             ///< in bytes
  bool swapped = false;         ///< in the other byte order
  bool packed = false;          ///< below eight bits: row by row without gaps, as in safetensors
  std::size_t text_length = 0;  ///< of strings: UTF-32 code points an element

  /// The elements of a part. Errors: `corrupt` for a bool that is neither 0 nor 1, and for text
  /// that is not Unicode.
  zp::result<void> read(const zp::selection& part, const zp::mutable_host_view& into) const;

  /// The elements where they lie, if programs can use them there; bools are checked.
  zp::result<std::optional<zp::host_view>> lend() const;
};

/// The bytes of a file: mapped, or read where that cannot be.
zp::result<zp::mapping> bytes_of(const std::shared_ptr<const zp::blob>& file);

/// `corrupt` unless all bytes of dense bools are 0 or 1.
zp::result<void> check_bools(const zp::mutable_host_view& elements);

}  // namespace cli
