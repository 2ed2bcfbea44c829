// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool has_array_fields(const dtype& type) {
  for (const record_field& one : fields_of(type)) {
    if (one.shape.rank() != 0 || has_array_fields(one.type)) return true;
  }
  return false;
}

/// Whether zarr-python 3.1 opens an array of `type`; a group that holds one that it does not open
/// cannot be listed there.
ZARRPOINT_INLINE bool zarr_python_opens(const dtype& type, int zarr_format) {
  if (type.record() == nullptr) return type.is_core();
  return zarr_format == 2 && !has_array_fields(type);
}

ZARRPOINT_INLINE void hidden_leaves::add(std::string_view name, const dtype& type,
                                         int zarr_format) {
  if (zarr_python_opens(type, zarr_format)) return;
  std::string called = type.record() != nullptr ? "struct" : std::string(to_string(type));
  const auto same = std::find_if(found_.begin(), found_.end(),
                                 [&](const hidden& one) { return one.type == called; });
  if (same != found_.end()) {
    ++same->leaves;
  } else {
    found_.push_back({std::move(called), 1, std::string(name)});
  }
}

ZARRPOINT_INLINE std::vector<std::string> hidden_leaves::warnings() const {
  std::vector<std::string> out;
  for (const hidden& one : found_) {
    const std::string what =
        one.leaves == 1 ? in_quotes(one.first)
                        : std::to_string(one.leaves) + " leaves, such as " + in_quotes(one.first);
    out.push_back(one.type + ": zarr-python cannot open " + what +
                  ", and cannot list the groups that hold " + (one.leaves == 1 ? "it" : "them") +
                  "; it can open the other leaves by name");
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
