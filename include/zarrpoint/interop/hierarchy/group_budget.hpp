// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A longer name of a leaf leaves no room for the key of a chunk beneath it.
inline constexpr std::size_t max_leaf_name = store_key::max_size - 64;

/// What the groups may take that names of leaves make: one of 960 bytes can make 480 of them, so
/// that a small file would fill the memory.
class group_budget {
 public:
  result<void> charge(std::string_view group) {
    constexpr std::uint64_t most = std::uint64_t{64} << 20;
    constexpr std::uint64_t each = 128;  // its document, and its place
    used_ += group.size() + each;
    if (used_ <= most) return {};
    return error{errc::resource_limit, "its names make groups that take more than 64 MiB"};
  }

 private:
  std::uint64_t used_ = 0;
};

}}}  // namespace zarrpoint::v0::detail
