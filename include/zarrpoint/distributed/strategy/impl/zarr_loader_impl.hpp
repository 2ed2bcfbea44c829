// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/document/stored_leaf.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/distributed/strategy/zarr_loader.hpp>
#include <zarrpoint/distributed/strategy/zarr_saver.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The sharded part of our own checkpoints, or of any Zarr hierarchy.
class zarr_reader final : public sharded_reader {
 public:
  static result<std::shared_ptr<sharded_reader>> open(const load_job& job) {
    auto out = detail::make_counted<zarr_reader>();
    out->options_ = job.options;
    out->how_ = job.how;
    out->indexes_ =
        std::make_unique<shard_index_cache>(shard_index_cache::share_of(job.how.limit.memory));
    ZARRPOINT_TRY(opened, job.open());
    out->identity_ = opened.id();
    for (const std::string& key : opened.names()) {
      const std::string_view kind = opened.typestr(key);
      if (key == common_leaf && kind == json_text::zarrpoint_handler::typestr) continue;
      ZARRPOINT_TRY(elements, opened.as_array(key));
      const tensor_spec spec = elements.spec();
      if (kind == object_kind) {
        out->objects_.push_back({key, spec.shape, dims(spec.shape.rank(), 0)});
        out->object_arrays_.push_back(std::move(elements));
      } else {
        out->tensors_.push_back(
            {key, spec, elements.metadata().chunk_shape, elements.layout().grid().inner_shape});
        out->arrays_.push_back(std::move(elements));
      }
    }
    return std::shared_ptr<sharded_reader>(std::move(out));
  }

  std::string identity() const override { return identity_; }
  std::span<const stored_tensor> tensors() const override { return tensors_; }
  std::span<const object_id> objects() const override { return objects_; }

  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    const stored_tensor* const at = find_by_key(tensors(), key);
    if (at == nullptr)
      return error{errc::not_found, "the checkpoint has no tensor " + in_quotes(key)};
    return arrays_[static_cast<std::size_t>(at - tensors_.data())].read(part, into, how_to_read());
  }

  result<message> read_object(const object_id& id) const override {
    const object_id* const at = find_by_key(objects(), id.key);
    if (at == nullptr)
      return error{errc::not_found, "the checkpoint has no object " + in_quotes(id.key)};
    ZARRPOINT_TRY(wanted, sharded_object::request(id));
    ZARRPOINT_CHECK(wanted.check_same_grid(at->global_shape));
    const array& stored = object_arrays_[static_cast<std::size_t>(at - objects_.data())];
    const dims one(id.global_offset.rank(), 1);
    ZARRPOINT_TRY(value, stored.read(box{id.global_offset, one}, how_to_read()));
    const bytes_view bytes = as_bytes(value.template data<std::string>()[0]);
    return message(bytes.begin(), bytes.end());
  }

  result<std::vector<std::string>> remove(const any_store& store,
                                          std::string_view prefix) const override {
    ZARRPOINT_TRY(contents, detail::read_contents(store, how_));
    if (!contents.is_ours())
      return error{errc::unsupported,
                   "tensors can be removed only from a checkpoint that zarrpoint saved"};
    std::vector<std::string> removed;
    std::vector<std::string_view> kept;
    bool all_core = true;
    commit_document commit{
        .id = std::move(contents.id), .leaves{}, .groups = std::move(contents.groups)};
    int format = 3;
    for (detail::stored_leaf& leaf : contents.leaves) {
      format = leaf.zarr_format;
      if (leaf.name.starts_with(prefix) && leaf.name != common_leaf) {
        removed.push_back(std::move(leaf.name));
        continue;
      }
      const node& document = leaf.document->content();
      const auto parsed =
          leaf.zarr_format == 2 ? parse_array_v2(document, nullptr) : parse_array_v3(document);
      all_core = all_core && parsed && is_core_array(*parsed);
      commit.leaves.push_back({std::move(leaf.name), std::move(leaf.typestr), document,
                               std::move(leaf.objects), std::move(leaf.attributes)});
    }
    if (removed.empty()) return removed;
    kept.reserve(commit.leaves.size());
    for (const leaf_record& leaf : commit.leaves) kept.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(kept, commit.groups));
    commit.group_attributes = std::move(contents.group_attributes);
    std::erase_if(commit.group_attributes,
                  [&](const node::member& one) { return !groups.contains(one.key); });
    save_options options;
    options.zarr_format = format;
    options.attributes = std::move(contents.attributes);
    ZARRPOINT_CHECK(
        put_hierarchy(store, {commit, groups, options, how_.limit.metadata_bytes}, all_core));
    for (const std::string& key : removed) {
      ZARRPOINT_TRY(at, store_key::parse(key));
      ZARRPOINT_CHECK(store.erase_all(at));
    }
    return removed;
  }

 private:
  read_options how_to_read() const {
    read_options out;
    if (!options_.allow_missing_chunks) out.missing = missing_chunks::error;
    out.checksums = options_.verify;
    out.cast = options_.cast;
    out.indexes = indexes_.get();
    return out;
  }

  load_options options_;
  context how_;
  std::string identity_;
  std::vector<stored_tensor> tensors_;
  std::vector<object_id> objects_;
  std::vector<array> arrays_;
  std::vector<array> object_arrays_;
  std::unique_ptr<shard_index_cache> indexes_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::shared_ptr<sharded_reader>> zarr_loader::open(
    const load_job& job) const {
  return detail::zarr_reader::open(job);
}

ZARRPOINT_INLINE result<node> json_common_loader::load_common(const load_job& job) const {
  ZARRPOINT_TRY(opened, job.open());
  if (!opened.contains(detail::common_leaf)) return node();
  ZARRPOINT_TRY(text, opened.load<json_text>(detail::common_leaf));
  return parse_json(as_bytes(text.text), {.max_bytes = job.how.limit.metadata_bytes});
}

}}  // namespace zarrpoint::v0
