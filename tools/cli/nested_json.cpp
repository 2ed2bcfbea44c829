// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "nested_json.hpp"

#include "element_text.hpp"
#include "row_blocks.hpp"

#include <string>

namespace cli {

namespace {

/// Lists within lists of no element: `[[], []]`.
void append_empty(std::string& out, const zp::dims& shape, std::size_t axis) {
  if (axis == shape.rank()) return;
  out += '[';
  for (zp::index_t i = 0; i < shape[axis] && axis + 1 < shape.rank(); ++i) {
    if (i != 0) out += ',';
    append_empty(out, shape, axis + 1);
  }
  out += ']';
}

zp::result<std::string> empty_lists(const zp::dims& shape) {
  zp::index_t lists = 1;  // a shape such as [2^40, 0] would be a long list of nothing
  for (const zp::index_t extent : shape) {
    if (extent == 0) break;
    if (__builtin_mul_overflow(lists, extent, &lists) || lists > (1 << 20))
      return zp::error{zp::errc::resource_limit,
                       "the JSON would have more than a million empty lists"};
  }
  std::string text;
  append_empty(text, shape, 0);
  return text;
}

}  // namespace

zp::result<void> write_nested_json(const source& from, std::size_t index, const slice& part,
                                   const std::function<zp::result<void>(std::string_view)>& write) {
  const zp::dims& shape = part.shape;
  ZARRPOINT_TRY(count, element_count(shape));
  if (count == 0) {
    ZARRPOINT_TRY(lists, empty_lists(shape));
    return write(lists);
  }
  const element_type type = from.entries()[index].elements();
  std::string text(shape.rank(), '[');
  zp::dims at(shape.rank(), 0);
  ZARRPOINT_CHECK(for_each_block(from, index, part.part,
                                 [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
                                   const std::size_t step = memory_size(block.type());
                                   const std::byte* element = block.view().data;
                                   for (std::size_t i = 0; i < block.size(); ++i, element += step) {
                                     append_json(text, element, type);
                                     std::size_t closed = 0;
                                     std::size_t axis = shape.rank();
                                     while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) {
                                       at[--axis] = 0;
                                       ++closed;
                                     }
                                     text.append(closed, ']');
                                     if (axis > 0) text += ',' + std::string(closed, '[');
                                     if (text.size() > 65536) {
                                       ZARRPOINT_CHECK(write(text));
                                       text.clear();
                                     }
                                   }
                                   return {};
                                 }));
  return write(text);
}

}  // namespace cli
