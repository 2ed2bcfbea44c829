// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include "stored_leaves.hpp"

#include <zarrpoint/interop/torch/torch_dtype.hpp>

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
  return zp::leaf(each.name, view_of({&what_.from, each.index, &budget_, type, array.spec->shape,
                                      zp::box::whole(array.spec->shape)}));
}

zp::result<zp::sharded_tensor> stored_leaves::shard(std::size_t i, zp::shard_metadata of) {
  const converted& each = what_.arrays[i];
  const zp::tensor_spec& spec = *what_.from.entries()[each.index].spec;
  if (!zp::torch::dtype_name(of.type.kind()))
    return zp::error{zp::errc::unsupported,
                     "PyTorch has no tensors of " + std::string(to_string(of.type))};
  if (of.type == spec.type && of.local_shape == spec.shape && !of.range) {
    ZARRPOINT_TRY(lent, what_.from.lend(each.index));
    if (lent) {
      ZARRPOINT_TRY(made, zp::sharded<zp::host_view>::make(std::move(of), *lent));
      return zp::sharded_tensor(made);
    }
  }
  const zp::box part = of.global_box();
  const auto view = view_of({&what_.from, each.index, &budget_, of.type, of.data_shape(), part});
  ZARRPOINT_TRY(made, zp::sharded<zp::tensor_view<file_space>>::make(std::move(of), view));
  return zp::sharded_tensor(made);
}

zp::tensor_view<file_space> stored_leaves::view_of(stored_array array) {
  stored_array& kept = stored_.emplace_back(std::move(array));
  zp::tensor_view<file_space> view;
  view.data = reinterpret_cast<const std::byte*>(std::uintptr_t{1});
  view.type = kept.type;
  view.shape = kept.shape;
  view.strides = zp::row_major_strides(view.shape, view.type.size());
  view.space = {&kept};
  view.ready = turn(&kept);
  return view;
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
