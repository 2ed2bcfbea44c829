// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/interop/orbax_save/orbax_receipts.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE std::vector<object_counts> wanted_objects(const shared_tree& shared,
                                                           const tree_plan& plan) {
  std::vector<const planned_item*> item_of(shared.leaves.size());
  for (const planned_item& item : plan.items) item_of[item.source] = &item;
  std::vector<object_counts> out(shared.parts.size());
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    for (const shared_part& part : shared.parts[rank]) {
      const planned_item& item = *item_of[part.leaf];
      const dims& chunk = plan.arrays[*item.array].metadata().chunk_shape;
      // No box begins inside a chunk.
      index_t objects = 1;
      for (std::size_t d = 0; d < chunk.rank(); ++d)
        objects *= ceil_div(part.at.shape[d], chunk[d]);
      out[rank][item.told.storage] += static_cast<std::uint64_t>(objects);
    }
  }
  return out;
}

ZARRPOINT_INLINE message encode_receipt(const v0::detail::digests_of_arrays& written) {
  v0::detail::wire_writer to;
  to.number(written.size());
  for (const auto& [key, digests] : written) {
    std::uint64_t bytes = 0;
    for (const auto& [name, object] : digests.objects()) bytes += object.size;
    to.text(key);
    to.number(digests.objects().size());
    to.number(bytes);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> read_receipt(bytes_view receipt, object_counts wanted,
                                           object_counts& stored) {
  const auto differ = [&](std::string_view key, std::uint64_t written, std::uint64_t planned) {
    return error{errc::corrupt, "of the array " + v0::detail::in_quotes(key) + " " +
                                    std::to_string(written) + " objects of " +
                                    std::to_string(planned) + " were written"};
  };
  v0::detail::wire_reader from(receipt);
  for (std::size_t n = from.count(3); n > 0; --n) {
    const std::string key = from.text();
    const std::uint64_t objects = from.number();
    const std::uint64_t bytes = from.number();
    if (from.failed()) break;
    const auto at = wanted.find(key);
    const std::uint64_t planned = at != wanted.end() ? at->second : 0;
    if (objects != planned || planned == 0) return differ(key, objects, planned);
    wanted.erase(at);
    stored[key] += bytes;
  }
  ZARRPOINT_CHECK(from.finish());
  if (wanted.empty()) return {};
  return differ(wanted.begin()->first, 0, wanted.begin()->second);
}

ZARRPOINT_INLINE message encode_report(const save_report& report) {
  v0::detail::wire_writer to;
  to.number(report.leaves.size());
  for (const leaf_report& leaf : report.leaves) {
    to.text(leaf.name);
    to.type(leaf.stored.type);
    to.shape(leaf.stored.shape);
    to.number(leaf.bytes);
    to.number(leaf.stored_bytes);
  }
  for (const auto* list : {&report.kept, &report.warnings}) {
    to.number(list->size());
    for (const std::string& one : *list) to.text(one);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<save_report> decode_report(bytes_view told) {
  save_report out;
  if (told.empty()) return out;  // rank 0 has committed, and had no memory to tell of it
  v0::detail::wire_reader from(told);
  for (std::size_t n = from.count(5); n > 0 && !from.failed(); --n) {
    leaf_report& leaf = out.leaves.emplace_back();
    leaf.name = from.text();
    leaf.stored.type = from.type();
    leaf.stored.shape = from.shape();
    leaf.bytes = from.number();
    leaf.stored_bytes = from.number();
    out.bytes += leaf.bytes;
    out.stored_bytes += leaf.stored_bytes;
  }
  for (auto* list : {&out.kept, &out.warnings}) {
    list->resize(from.count());
    for (std::string& one : *list) one = from.text();
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

}}}}  // namespace zarrpoint::v0::orbax::detail
