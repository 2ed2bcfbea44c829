// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE message encode_part(const process_part& part,
                                     std::span<const array_text* const> arrays) {
  wire_writer to;
  to.bytes(encode_plan(part.plan));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    to.number(arrays[i]->zarr_format);
    to.text(arrays[i]->document);
    to.flag(part.puts_document[i]);
  }
  to.number(part.first_objects.size());
  for (const object_id& grid : part.first_objects) {
    to.text(grid.key);
    to.shape(grid.global_shape);
  }
  to.number(part.warnings.size());
  for (const std::string& warning : part.warnings) to.text(warning);
  to.flag(part.exchanges);
  return std::move(to).take();
}

ZARRPOINT_INLINE result<process_part> decode_part(bytes_view from_root) {
  wire_reader from(from_root);
  process_part out;
  ZARRPOINT_TRY(plan, decode_plan(from.bytes()));
  out.plan = std::move(plan);
  for (const planned_tensor& tensor : out.plan.tensors) {
    const std::uint64_t format = from.limited(3);
    const std::string text = from.text();
    if (from.failed()) break;
    planned_array array{tensor, {}, {}};
    ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
    const auto parsed = format == 2 ? parse_array_v2(document, nullptr) : parse_array_v3(document);
    if (!parsed) return parsed.failure();
    array.metadata = *parsed;
    array.document = std::move(document);
    out.arrays.push_back(std::move(array));
    out.puts_document.push_back(from.flag());
  }
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    object_id grid{from.text(), {}, {}};
    grid.global_shape = from.shape();
    grid.global_offset = dims(grid.global_shape.rank(), 0);
    out.first_objects.push_back(std::move(grid));
  }
  for (std::size_t n = from.count(); n > 0 && !from.failed(); --n)
    out.warnings.push_back(from.text());
  out.exchanges = from.flag();
  ZARRPOINT_CHECK(from.finish());
  return out;
}

ZARRPOINT_INLINE result<message> scatter_result(const any_communicator& group,
                                                result<std::vector<message>> all) {
  std::vector<message> to_each(static_cast<std::size_t>(group.size()));
  if (group.rank() == 0) {
    for (std::size_t r = 0; r < to_each.size(); ++r) {
      to_each[r] = all ? std::move((*all)[r]) : pack_status(all.failure());
      to_each[r].push_back(all ? std::byte{0} : std::byte{1});
    }
  }
  ZARRPOINT_TRY(mine, scatter(group, std::move(to_each)));
  if (mine.empty()) return error{errc::corrupt, "rank 0 sent nothing"};
  const bool failed = mine.back() != std::byte{0};
  mine.pop_back();
  if (!failed) return std::move(mine);
  if (result<void> status = unpack_status(mine); !status) return std::move(status).failure();
  return error{errc::corrupt, "rank 0 failed without an error"};
}

}}}  // namespace zarrpoint::v0::detail
