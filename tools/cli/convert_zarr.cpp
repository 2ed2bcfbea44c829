// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To Zarr by the library's own `save`, and the leaves for other saves.

#include <zarrpoint/checkpoint/save/save.hpp>

#include "conversion.hpp"
#include "stored_leaves.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cli {

zp::result<void> save_converted(const conversion& what, const leaf_saver& save,
                                const zp::context& given) {
  stored_leaves arrays(what, given.limit.memory);
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < what.arrays.size(); ++i) {
    // Saves cast by themselves.
    ZARRPOINT_TRY(made, arrays.make(i, what.spec(what.arrays[i]).type));
    leaves.push_back(std::move(made));
  }
  for (const std::string& group : what.empty_groups) leaves.push_back(zp::leaf::empty_group(group));
  progress bar("convert");
  zp::context how = given;
  how.scratch = nullptr;
  how.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, how.limit.memory / 8);
  how = zp::with_scratch(std::move(how));
  arrays.set_resource(how.scratch->resource());
  how.progress = [&](const zp::progress_event& event) {
    bar.set(event.item, event.bytes_done, event.bytes_total);
  };
  return save(leaves, how);
}

zp::result<void> convert_to_zarr(const conversion& what, const zp::save_options& options,
                                 const zp::context& how) {
  const auto save = [&](std::span<const zp::leaf> leaves, const zp::context& with) {
    return zp::save(what.out, leaves, options, with).transform([](const auto&) {});
  };
  return save_converted(what, save, how);
}

}  // namespace cli
