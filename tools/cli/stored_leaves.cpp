// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include "stored_leaves.hpp"

#include "terminal.hpp"
#include "text.hpp"

#include <cstdint>
#include <utility>

namespace cli {

zp::result<zp::leaf> stored_leaves::make(std::size_t i, zp::dtype type) {
  const converted& each = what_.arrays[i];
  const entry& array = what_.from.entries()[each.index];
  if (type == array.spec->type) {
    ZARRPOINT_TRY(lent, what_.from.lend(each.index));
    if (lent) return zp::leaf(each.name, *lent);
  }
  if (array.spec->type.is_variable()) {  // strings live in host memory only
    ZARRPOINT_TRY(text, zp::tensor::make(*array.spec));
    ZARRPOINT_CHECK(what_.from.read(each.index, whole(array), text.mutable_view()));
    return zp::leaf(each.name, std::move(text));
  }
  stored_[i] = {&what_.from, each.index, &budget_, type};
  zp::tensor_view<file_space> view;
  view.data = reinterpret_cast<const std::byte*>(std::uintptr_t{1});
  view.type = type;
  view.shape = array.spec->shape;
  view.strides = zp::row_major_strides(view.shape, view.type.size());
  view.space = {&stored_[i]};
  view.ready = turn(&stored_[i]);
  return zp::leaf(each.name, view);
}

zp::result<void> check_memory(const conversion& what, std::size_t memory) {
  for (const converted& each : what.arrays) {
    const entry& array = what.from.entries()[each.index];
    ZARRPOINT_TRY(lent, what.from.lend(each.index));
    if (!lent && array.bytes() > memory / 2)
      return zp::error{zp::errc::resource_limit,
                       "array \"" + escaped(array.name) + "\" takes " + byte_text(array.bytes()) +
                           " while it is converted, more than half of --memory, which is " +
                           byte_text(memory)};
  }
  return {};
}

}  // namespace cli
