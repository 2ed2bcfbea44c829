// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/distributed/shard/rank_offsets.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE sharded_tensor::sharded_tensor(const detail::sharded_table& table,
                                                shard_metadata metadata,
                                                std::shared_ptr<void> value)
    : metadata_(std::move(metadata)), table_(&table), value_(std::move(value)) {}

ZARRPOINT_INLINE sharded_tensor sharded_tensor::with(shard_metadata metadata) const {
  sharded_tensor out = *this;
  out.metadata_ = std::move(metadata);
  return out;
}

ZARRPOINT_INLINE result<sharded_tensor> sharded_tensor::part(shard_metadata metadata,
                                                             const box& of) const {
  sharded_tensor out(std::move(metadata));
  if (has_data()) {
    ZARRPOINT_CHECK(validate());
    ZARRPOINT_CHECK(selection(of).check(metadata_.data_shape()));
    detail::held_value view = table_->part(value_, metadata_, of);
    out.table_ = view.table;
    out.value_ = std::move(view.value);
  }
  ZARRPOINT_CHECK(out.validate());
  return out;
}

ZARRPOINT_INLINE result<void> sharded_tensor::validate() const {
  ZARRPOINT_CHECK(metadata_.check());
  if (!has_data()) return {};
  ZARRPOINT_TRY(spec, table_->spec(value_.get(), metadata_));
  return metadata_.check_value(spec);
}

ZARRPOINT_INLINE result<staged> sharded_tensor::stage(memory_resource& resource) const {
  if (!has_data()) return detail::bad_shard(metadata_, "it has no value to save");
  return table_->stage(value_.get(), metadata_, resource);
}

ZARRPOINT_INLINE result<std::unique_ptr<element_source>> sharded_tensor::source(
    const context& how, const box* part) const {
  if (!has_data()) return detail::bad_shard(metadata_, "it has no value to save");
  return table_->source(value_.get(), metadata_, {part, how});
}

ZARRPOINT_INLINE result<void> sharded_tensor::copy_to(const mutable_host_view& to,
                                                      const context& how) const {
  ZARRPOINT_TRY(from, source(how));
  if (from != nullptr) return detail::read_all(*from, to);
  ZARRPOINT_TRY(elements, stage(how.scratch->resource()));
  copy_elements(to, elements.view);
  return {};
}

ZARRPOINT_INLINE result<void> sharded_tensor::fill(const fill_function& read, const context& how,
                                                   const dims& unit) const {
  if (!has_data()) return detail::bad_shard(metadata_, "it has no value to load into");
  return table_->fill(value_.get(), metadata_, {read, unit, with_scratch(how)});
}

ZARRPOINT_INLINE void sharded_tensor::mark_loaded(bool loaded) const {
  if (has_data()) table_->mark_loaded(value_.get(), loaded);
}

ZARRPOINT_INLINE result<void> sharded_tensor::init_data(memory_resource& resource) {
  if (has_data()) return {};
  ZARRPOINT_TRY(made, tensor::make(metadata_.data_spec(), resource));
  if (!metadata_.type.is_variable())
    std::fill_n(made.mutable_view().data, made.size() * memory_size(made.type()), std::byte{0});
  *this = sharded_tensor(detail::sharded_functions<tensor, handler_of<tensor>>::table, metadata_,
                         detail::make_counted<tensor>(std::move(made)));
  return {};
}

}}  // namespace zarrpoint::v0
