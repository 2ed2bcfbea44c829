// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Counts the leaves of a save that zarr-python 3.1 does not open, by their data types.
class hidden_leaves {
 public:
  void add(std::string_view name, const dtype& type, int zarr_format);
  /// A sentence for each data type that hides leaves.
  std::vector<std::string> warnings() const;

 private:
  struct hidden {
    std::string type;
    std::size_t leaves;
    std::string first;
  };
  std::vector<hidden> found_;
};

}}}  // namespace zarrpoint::v0::detail
