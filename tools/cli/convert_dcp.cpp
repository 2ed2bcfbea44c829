// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To a checkpoint of torch.distributed.checkpoint, by the library's writer of them.

#include <zarrpoint/dcp_save.hpp>

#include "conversion.hpp"
#include "python_values.hpp"
#include "stored_leaves.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace cli {

namespace {

zp::result<zp::leaf> leaf_of(const conversion& what, std::size_t i, value_budget& budget,
                             stored_leaves& arrays) {
  const converted& each = what.arrays[i];
  ZARRPOINT_TRY(value, python_value_of(what, each, budget));
  if (!value) return arrays.make(i, each.type);
  ZARRPOINT_CHECK(budget.take_value(memory_of(*value)));
  return std::visit([&](auto& held) { return zp::leaf(each.name, std::move(held)); }, *value);
}

}  // namespace

zp::result<void> convert_to_dcp(const conversion& what, const zp::context& given) {
  ZARRPOINT_CHECK(check_memory(what, given.limit.memory));
  stored_leaves arrays(what, given.limit.memory / 2);  // each is copied once more
  value_budget budget(given.limit.memory / 2);
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < what.arrays.size(); ++i) {
    ZARRPOINT_TRY(
        made, leaf_of(what, i, budget, arrays).at("array \"" + escaped(what.arrays[i].name) + '"'));
    leaves.push_back(std::move(made));
  }
  progress bar("convert");
  zp::context how = given;
  how.scratch = nullptr;
  how.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, how.limit.memory / 8);
  how = zp::with_scratch(std::move(how));
  how.resource = &how.scratch->resource();
  arrays.set_resource(how.scratch->resource());
  how.progress = [&](const zp::progress_event& event) {
    bar.set(event.item, event.bytes_done, event.bytes_total);
  };
  ZARRPOINT_CHECK(zp::dcp::save(what.out, std::span<const zp::leaf>(leaves),
                                {.overwrite = what.overwrite}, how));
  return {};
}

}  // namespace cli
