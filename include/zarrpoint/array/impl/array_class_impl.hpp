// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<void> raw_run::check(std::size_t i, std::uint32_t found) const {
  if (crc32c[i] == found) return {};
  return error{errc::corrupt, "stored block [" + std::to_string(i) + "]: its " +
                                  std::to_string(block_bytes) +
                                  " stored bytes do not match their checksum"};
}

ZARRPOINT_INLINE read_options array::with_digests(read_options options) const noexcept {
  if (options.expected == nullptr) options.expected = expected_.get();
  return options;
}

}}  // namespace zarrpoint::v0
