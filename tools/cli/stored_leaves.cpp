// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include "stored_leaves.hpp"

#include <zarrpoint/interop/torch/torch_dtype.hpp>

#include "terminal.hpp"
#include "text.hpp"

#include <cstdint>
#include <utility>

namespace cli {

namespace {

/// A part of an array, which holds its share of the budget.
class array_part final : public zp::source_part {
 public:
  array_part(const stored_array& array, zp::box of, std::size_t bytes)
      : array_(array), of_(std::move(of)), bytes_(bytes) {}
  ~array_part() override {
    memory_ = {};
    array_.budget->give_back(bytes_);
  }

  /// The first that waits reads it.
  zp::result<zp::host_view> wait() override {
    const std::lock_guard lock(mutex_);
    if (!is_read_) {
      ZARRPOINT_TRY(memory, zp::buffer::allocate(bytes_, *array_.budget->memory));
      memory_ = std::move(memory);
      ZARRPOINT_CHECK(array_.read(of_, memory_.data()));
      is_read_ = true;
    }
    return zp::host_view(zp::dense_view(memory_.data(), {array_.type, of_.shape}));
  }
  zp::bytes_view memory() const override { return {memory_.data(), memory_.size()}; }

 private:
  const stored_array& array_;
  const zp::box of_;
  const std::size_t bytes_;
  std::mutex mutex_;
  zp::buffer memory_;
  bool is_read_ = false;
};

/// A box of what is saved, in the array that it is saved from.
zp::box in_source(const stored_array& array, const zp::box& part) {
  zp::box out = part;
  for (std::size_t i = 0; i < out.rank(); ++i) out.offset[i] += array.part.offset[i];
  return out;
}

}  // namespace

zp::result<std::unique_ptr<zp::source_part>> piecewise_source::begin(const zp::box& part,
                                                                     bool wait) {
  ZARRPOINT_TRY(bytes, byte_count(zp::tensor_spec{spec_.type, part.shape}));
  if (wait) {
    array_.budget->admit(bytes);
  } else if (!array_.budget->try_admit(bytes)) {
    return std::unique_ptr<zp::source_part>();
  }
  return std::unique_ptr<zp::source_part>(
      std::make_unique<array_part>(array_, in_source(array_, part), bytes));
}

zp::result<zp::owned_elements> piecewise_source::read(const zp::box& part,
                                                      zp::memory_resource& resource) {
  ZARRPOINT_TRY(bytes, byte_count(zp::tensor_spec{spec_.type, part.shape}));
  ZARRPOINT_TRY(memory, zp::buffer::allocate(bytes, resource));
  ZARRPOINT_CHECK(array_.read(in_source(array_, part), memory.data()));
  const zp::host_view view = zp::dense_view(memory.data(), {spec_.type, part.shape});
  return zp::owned_elements{view, std::move(memory)};
}

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
