// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/megatron/listed_object.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/megatron/torch_dist_loader.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace megatron {

namespace detail {

/// The sharded part of a directory of torch_dist.
class shards_of_state final : public sharded_reader {
 public:
  shards_of_state(const load_job& job, dcp::state_store of)
      : directory_(job.store), state_(std::move(of)), options_(job.options), how_(job.how) {}

  result<void> read_contents() {
    for (const dcp::tensor_entry& tensor : state_.metadata().tensors) {
      ZARRPOINT_TRY(key, store_key::parse(tensor.shown));
      ZARRPOINT_TRY(from, array::open(any_store(state_), key, how_));
      tensors_.push_back({tensor.name, from.spec(), from.metadata().chunk_shape});
      arrays_.push_back(std::move(from));
    }
    for (const dcp::value_entry& value : state_.metadata().values) {
      auto id = parse_unique_key(value.name);
      if (!id || id->shape.rank() != id->offset.rank()) continue;
      objects_.push_back({std::move(id->key), id->shape, dims(id->shape.rank(), 0)});
    }
    v0::detail::sort_by_text(objects_, [](const auto& one) -> std::string_view { return one.key; });
    const auto of_one_key = [](const auto& a, const auto& b) { return a.key == b.key; };
    objects_.erase(std::unique(objects_.begin(), objects_.end(), of_one_key), objects_.end());
    return {};
  }

  std::span<const stored_tensor> tensors() const override { return tensors_; }
  std::span<const zarrpoint::object_id> objects() const override { return objects_; }

  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    const auto* const at = zarrpoint::detail::find_by_key(tensors(), key);
    if (at == nullptr) return error{errc::not_found, "tensor " + zarrpoint::detail::in_quotes(key)};
    const array& from = arrays_[static_cast<std::size_t>(at - tensors_.data())];
    return from.read(part, into, {.missing = missing_chunks::error, .cast = options_.cast});
  }

  result<message> read_object(const zarrpoint::object_id& id) const override {
    if (const auto* at = zarrpoint::detail::find_by_key(objects(), id.key)) {
      ZARRPOINT_TRY(wanted, sharded_object::request(id));
      ZARRPOINT_CHECK(wanted.check_same_grid(at->global_shape));
    }
    const std::string name = zarrpoint::unique_key(id);
    const auto& values = state_.metadata().values;
    const auto found = std::lower_bound(
        values.begin(), values.end(), name,
        [](const dcp::value_entry& a, const std::string& b) { return a.name < b; });
    if (found == values.end() || found->name != name)
      return error{errc::not_found, "object " + name};
    ZARRPOINT_TRY(item, dcp::detail::open_item(directory_, found->from, how_.limit.memory));
    if (item->size() > how_.limit.memory)
      return error{errc::resource_limit,
                   "object " + name + " takes " + std::to_string(item->size()) +
                       " bytes, more than limits::memory of " + std::to_string(how_.limit.memory)};
    return unlist_object(std::move(item));
  }

 private:
  any_store directory_;
  dcp::state_store state_;
  load_options options_;
  context how_;
  std::vector<stored_tensor> tensors_;
  std::vector<array> arrays_;  // of them
  std::vector<zarrpoint::object_id> objects_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::shared_ptr<sharded_reader>> torch_dist_loader::open(
    const load_job& job) const {
  ZARRPOINT_TRY(state, dcp::state_store::open(job.store, store_key::root(),
                                              dcp::metadata_limits.within(job.how.limit.memory)));
  auto out = v0::detail::make_counted<detail::shards_of_state>(job, std::move(state));
  ZARRPOINT_CHECK(out->read_contents());
  return std::shared_ptr<sharded_reader>(std::move(out));
}

}}}  // namespace zarrpoint::v0::megatron
