// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "row_blocks.hpp"

#include <algorithm>
#include <limits>

namespace cli {

namespace {

constexpr zp::index_t most_index = std::numeric_limits<zp::index_t>::max();

/// `a * b`, or the largest number.
zp::index_t capped_product(zp::index_t a, zp::index_t b) {
  zp::index_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? most_index : out;
}

/// How a selection is cut: whole rows behind `axis`, `count` elements along it, one before it.
struct cut {
  std::size_t axis = 0;
  zp::index_t count = 1;
  zp::index_t chunk = 1;  ///< cuts are at multiples of it, in the array
};

cut choose_cut(const entry& array, const zp::selection& all, const block_size& size) {
  const auto element = static_cast<zp::index_t>(memory_size(array.spec->type));
  const auto wanted = static_cast<zp::index_t>(size.wanted) / element;
  const auto most = static_cast<zp::index_t>(size.most) / element;
  zp::index_t row = 1;  // elements behind the axis
  std::size_t axis = all.rank();
  while (axis > 0) {
    const zp::index_t next = capped_product(row, all.shape[axis - 1]);
    if (next > wanted) break;
    row = next;
    --axis;
  }
  cut out;
  if (axis == 0) {  // all of it at once
    out.axis = 0;
    out.count = all.rank() == 0 ? 1 : all.shape[0];
    return out;
  }
  out.axis = axis - 1;
  // Chunks further out are cut through as long as their rows fit: so each is decoded once.
  while (out.axis > 0) {
    const std::size_t outer = out.axis - 1;
    const zp::index_t chunk =
        (*array.chunk_shape)[outer] / std::max<zp::index_t>(all.step[outer], 1);
    const zp::index_t whole_row = capped_product(row, all.shape[out.axis]);
    if (chunk <= 1 || capped_product(whole_row, std::min(chunk, all.shape[outer])) > most) break;
    row = whole_row;
    out.axis = outer;
  }
  out.count = std::max<zp::index_t>(wanted / std::max<zp::index_t>(row, 1), 1);
  const zp::index_t chunk = (*array.chunk_shape)[out.axis];
  if (all.step[out.axis] == 1 && chunk > 1 && capped_product(chunk, row) <= most) {
    out.chunk = chunk;
    out.count = std::max<zp::index_t>(out.count / chunk, 1) * chunk;
  }
  return out;
}

}  // namespace

zp::result<void> for_each_row_block(
    const entry& array, const zp::selection& all, const block_size& size,
    const std::function<zp::result<void>(const zp::selection&, std::uint64_t)>& f) {
  ZARRPOINT_TRY(total, element_count(all.shape));
  if (total == 0) return {};
  if (all.rank() == 0) return f(all, 0);
  const cut by = choose_cut(array, all, size);
  zp::dims at(all.rank(), 0);
  std::uint64_t first = 0;
  while (true) {
    zp::selection part = all;
    for (std::size_t d = 0; d < by.axis; ++d) {
      part.offset[d] += at[d] * all.step[d];
      part.shape[d] = 1;
    }
    part.offset[by.axis] += at[by.axis] * all.step[by.axis];
    const zp::index_t beyond = part.offset[by.axis] % by.chunk;  // the first may begin in a chunk
    part.shape[by.axis] = std::min(by.count - beyond, all.shape[by.axis] - at[by.axis]);
    ZARRPOINT_CHECK(f(part, first));
    first += static_cast<std::uint64_t>(element_count(part.shape).value_or(0));
    at[by.axis] += part.shape[by.axis];
    std::size_t d = by.axis;
    while (at[d] >= all.shape[d]) {
      if (d == 0) return {};
      at[d] = 0;
      ++at[--d];
    }
  }
}

zp::result<void> for_each_block(
    const source& from, std::size_t index, const zp::selection& all,
    const std::function<zp::result<void>(const zp::tensor&, std::uint64_t)>& f) {
  const entry& array = from.entries()[index];
  if (array.fault) return *array.fault;
  zp::tensor block;
  return for_each_row_block(
      array, all, from.blocks(),
      [&](const zp::selection& part, std::uint64_t first) -> zp::result<void> {
        ZARRPOINT_CHECK(from.check_stop());
        const zp::tensor_spec spec{array.spec->type, part.shape};
        if (block.spec() != spec) {
          block = {};
          ZARRPOINT_TRY(made, zp::tensor::make(spec));
          block = std::move(made);
        }
        ZARRPOINT_CHECK(from.read(index, part, block.mutable_view()));
        return f(block, first);
      });
}

zp::result<void> with_little_endian(const zp::tensor& block,
                                    const std::function<zp::result<void>(zp::bytes_view)>& f) {
  const zp::bytes_view bytes(block.view().data, byte_count(block.spec()).value_or(0));
  if constexpr (zp::native_endian == zp::endian::little) return f(bytes);
  std::vector<std::byte> swapped(bytes.begin(), bytes.end());
  const auto unit = static_cast<std::ptrdiff_t>(block.type().scalar_size());
  for (auto at = swapped.begin(); at != swapped.end(); at += unit) std::reverse(at, at + unit);
  return f(swapped);
}

std::uint64_t data_bytes(const zp::tensor& block) {
  if (!block.type().is_variable()) return byte_count(block.spec()).value_or(0);
  const auto* const texts = reinterpret_cast<const std::string*>(block.view().data);
  const auto count = static_cast<std::size_t>(element_count(block.spec().shape).value_or(0));
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < count; ++i) out += texts[i].size();
  return out;
}

zp::selection whole(const entry& array) { return zp::box::whole(array.spec->shape); }

}  // namespace cli
