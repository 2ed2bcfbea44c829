// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/memory_bound_for.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

ZARRPOINT_INLINE std::vector<std::uint64_t> place_items(std::span<item_to_write> items,
                                                        std::uint64_t file_bytes,
                                                        std::size_t at_once) {
  std::uint64_t total = 0;
  for (const item_to_write& item : items) total += item.layout.size();
  const std::uint64_t most = std::max<std::uint64_t>(1, (total + worth_a_file / 2) / worth_a_file);
  const auto turns = static_cast<std::size_t>(std::clamp<std::uint64_t>(at_once, 1, most));
  std::vector<std::uint64_t> sizes;
  std::vector<std::size_t> open;
  for (item_to_write& item : items) {
    if (open.size() < turns) {
      open.push_back(sizes.size());
      sizes.push_back(0);
      item.file = open.back();
    } else {
      const auto least = std::min_element(open.begin(), open.end(), [&](auto one, auto other) {
        return sizes[one] < sizes[other];
      });
      if (sizes[*least] >= file_bytes) {
        *least = sizes.size();
        sizes.push_back(0);
      }
      item.file = *least;
    }
    const std::uint64_t unit = item.layout.alignment();
    std::uint64_t& size = sizes[item.file];
    item.offset = (size + unit - 1) / unit * unit;
    size = item.offset + item.layout.size();
  }
  return sizes;
}

ZARRPOINT_INLINE std::string file_name(int rank, std::size_t file) {
  return "__" + std::to_string(rank) + "_" + std::to_string(file) + ".distcp";
}

ZARRPOINT_INLINE item_writer::item_writer(const any_store& store, const placed_items& what,
                                          const context& how)
    : store_(store),
      what_(what),
      how_(how),
      meter_(how.progress, "save",
             std::accumulate(what.items.begin(), what.items.end(), std::uint64_t{0},
                             [](std::uint64_t sum, const item_to_write& one) {
                               return sum + one.layout.element_bytes();
                             })) {}

/// The elements with the axes that are in front of them.
ZARRPOINT_INLINE host_view with_axes(const host_view& of, std::size_t added) {
  host_view out = of;
  out.shape = dims(added, 1);
  out.strides = dims(added, 0);
  for (std::size_t d = 0; d < of.rank(); ++d) {
    out.shape.push_back(of.shape[d]);
    out.strides.push_back(of.strides[d]);
  }
  return out;
}

ZARRPOINT_INLINE result<void> item_writer::write_item(const item_to_write& item,
                                                      const host_view& elements, blob_writer& to) {
  std::uint32_t crc = 0;
  buffer scratch;
  const std::uint64_t first = item.offset + item.layout.elements();
  if (item.source != SIZE_MAX) {
    const host_view part = subview(elements, selection(item.part));
    ZARRPOINT_CHECK(safetensors::detail::for_each_block(
        part, 0, [&](const host_view& block, std::uint64_t offset) -> result<void> {
          ZARRPOINT_TRY(size, byte_count(block.spec()));
          const std::byte* from = block.data;
          if (!is_dense(block)) {
            if (scratch.empty()) {
              ZARRPOINT_TRY(made, buffer::allocate(safetensors::detail::block_bytes,
                                                   v0::detail::resource_of(how_)));
              scratch = std::move(made);
            }
            copy_elements(dense_view(scratch.data(), block.spec()), block);
            from = scratch.data();
          }
          const bytes_view bytes(from, size);
          crc = v0::detail::crc32(crc, bytes);
          ZARRPOINT_CHECK(to.write(first + offset, bytes));
          meter_.add(what_.sources[item.source].name, size);
          return {};
        }));
  }
  const std::string head = item.layout.head(crc);
  const std::string tail = item.layout.tail(crc);
  ZARRPOINT_CHECK(to.write(item.offset, as_bytes(std::string_view(head))));
  return to.write(first + item.layout.element_bytes(), as_bytes(std::string_view(tail)));
}

ZARRPOINT_INLINE result<void> item_writer::write_files(std::size_t first, std::size_t last) {
  std::vector<std::unique_ptr<blob_writer>> writers;
  for (std::size_t file = first; file < last; ++file) {
    ZARRPOINT_TRY(key, store_key::parse(file_name(what_.rank, file)));
    ZARRPOINT_TRY(writer, store_.create(key));
    ZARRPOINT_CHECK(writer->reserve(what_.sizes[file]));
    writers.push_back(std::move(writer));
  }
  // What a device has is copied to the host once for all of its boxes.
  struct unit {
    std::size_t begin;
    std::size_t end;
    std::uint64_t bytes;
  };
  std::vector<unit> units;
  for (std::size_t i = 0; i < what_.items.size(); ++i) {
    const item_to_write& item = what_.items[i];
    if (item.file < first || item.file >= last) continue;
    const bool joins = !units.empty() && units.back().end == i && item.source != SIZE_MAX &&
                       what_.items[i - 1].source == item.source &&
                       !what_.sources[item.source].on_host;
    if (joins) {
      ++units.back().end;
      units.back().bytes += item.layout.size();
    } else {
      units.push_back({i, i + 1, item.layout.size()});
    }
  }
  // The largest first: none of them is left to one thread in the end.
  std::stable_sort(units.begin(), units.end(),
                   [](const unit& one, const unit& other) { return one.bytes > other.bytes; });
  byte_limiter in_flight(how_.limit.bytes_in_flight);
  v0::detail::memory_bound_for each(how_.executor, units.size(), {.stop = how_.stop});
  ZARRPOINT_CHECK(each.run(
      [&](std::size_t u) -> result<void> {
        const item_to_write& front = what_.items[units[u].begin];
        staged elements;
        byte_limiter::reservation room;
        std::string called = v0::detail::in_quotes(front.name);
        if (front.source != SIZE_MAX) {
          const tensor_source& source = what_.sources[front.source];
          called = v0::detail::in_quotes(source.name);
          if (!source.on_host) {
            ZARRPOINT_TRY(taken, in_flight.acquire(source.bytes, how_.stop));
            room = std::move(taken);
          }
          auto made = source.stage(v0::detail::resource_of(how_));
          if (!made) return std::move(made).failure().at("save " + called);
          elements = *std::move(made);
          elements.view = with_axes(elements.view, source.added_axes);
        }
        for (std::size_t i = units[u].begin; i < units[u].end; ++i)
          ZARRPOINT_CHECK(
              write_item(what_.items[i], elements.view, *writers[what_.items[i].file - first])
                  .at("save " + called));
        return {};
      },
      [](std::size_t refused) { return std::optional(refused); }));
  // Each may wait for its bytes to be on disk.
  return parallel_for(how_.executor, writers.size(),
                      [&](std::size_t i) { return writers[i]->finish(); }, {.stop = how_.stop});
}

ZARRPOINT_INLINE result<void> item_writer::run() {
  constexpr std::size_t open_files = 16;
  for (std::size_t file = 0; file < what_.sizes.size(); file += open_files)
    ZARRPOINT_CHECK(write_files(file, std::min(what_.sizes.size(), file + open_files)));
  return {};
}

}}}}  // namespace zarrpoint::v0::dcp::detail
