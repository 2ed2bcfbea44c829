// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/interop/megatron/listed_object.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/megatron/megatron_rules.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/torch/document_value.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace megatron {

ZARRPOINT_INLINE result<array_metadata> saver::layout(const save_job& job,
                                                      const planned_tensor& tensor) const {
  if (!tensor.grid.edges.empty())
    return error{
        errc::unsupported,
        "the shards have different shapes, but Megatron-Core's layout needs chunks of one shape"};
  ZARRPOINT_TRY(type, detail::stored_type(job, tensor));
  const detail::tensor_layout out{{type, tensor.grid.shape}, tensor.grid.cell_shape};
  ZARRPOINT_CHECK(detail::check_attributes(job));
  ZARRPOINT_CHECK(detail::check_rules(job, {type, out.chunk_shape}, tensor.key));
  return detail::to_metadata(out);
}

ZARRPOINT_INLINE result<message> saver::write(const save_job& job, const shard_writes& mine) const {
  const context how = with_scratch(job.how);
  for (const array_writes& one : mine.arrays) {
    if (one.puts_document)
      ZARRPOINT_CHECK(
          detail::put_array_document(job.store, one.array->tensor.key, layout_of(*one.array)));
  }
  ZARRPOINT_TRY(digests, zarrpoint::detail::write_cells(
                             how, mine, [&](const zarrpoint::detail::cell_job& cell) {
                               return write_cell(job, cell);
                             }));
  for (const sharded_object& object : mine.objects) {
    ZARRPOINT_CHECK(write_object(job, object).at("save object \"" + object.unique_key() + "\""));
    digests[object.key()].set(object.unique_key(),
                              {object.bytes().size(), {crc32c(object.bytes())}});
  }
  return zarrpoint::detail::encode_digests(digests);
}

ZARRPOINT_INLINE result<void> saver::finish(const save_job& job, const save_receipts& all) const {
  ZARRPOINT_CHECK(detail::check_attributes(job));  // of a save without tensors
  const auto name_of = [](const zarrpoint::object_id& id) { return zarrpoint::unique_key(id); };
  ZARRPOINT_CHECK(
      zarrpoint::detail::read_receipts(all, false, name_of).transform([](const auto&) {}));
  return detail::write_metadata(job.store, {.sharded = std::string(backend),
                                            .sharded_version = version,
                                            .common = all.common_strategy.backend,
                                            .common_version = all.common_strategy.version});
}

ZARRPOINT_INLINE result<bool> saver::is_checkpoint(const any_store& root) const {
  const auto wrote = detail::read_metadata(root);
  if (wrote) return *wrote == backends{};
  const errc code = wrote.failure().code;
  if (code == errc::not_found || code == errc::corrupt) return false;
  return wrote.failure();
}

ZARRPOINT_INLINE result<std::vector<std::string>> saver::paths_of(const any_store& root) const {
  ZARRPOINT_TRY(from, directory::open(location(root)));
  ZARRPOINT_TRY(there, from.list());
  std::vector<std::string> out{std::string(detail::metadata_file),
                               std::string(detail::common_file)};
  for (const std::string& key : there.tensors) {
    out.push_back(key);
    out.push_back(key + ".sync");
  }
  for (const megatron::object_id& one : there.objects) {
    out.push_back(megatron::unique_key(one) + ".pt");
    // Old versions named the last extent in the ending, see `parse_unique_key`.
    if (one.shape.rank() == 0) continue;
    megatron::object_id old = one;
    old.shape = dims(std::span<const index_t>(one.shape).first(one.shape.rank() - 1));
    out.push_back(megatron::unique_key(old) + ".pt");
  }
  return out;
}

ZARRPOINT_INLINE detail::tensor_layout saver::layout_of(const planned_array& array) {
  const planned_tensor& tensor = array.tensor;
  return {{array.metadata.type, tensor.grid.shape}, tensor.grid.cell_shape};
}

ZARRPOINT_INLINE result<void> saver::write_cell(const save_job& job,
                                                const zarrpoint::detail::cell_job& cell) {
  const planned_array& array = cell.array;
  ZARRPOINT_TRY(key, detail::tensor_key(array.tensor.key));
  ZARRPOINT_TRY(metadata, detail::to_metadata(layout_of(array)));
  ZARRPOINT_TRY(target, zarrpoint::array::from_metadata(job.store, key, metadata, cell.how));
  // Megatron-Core stores chunks of zeros, too.
  return cell.write_to(target, {.elide_fill = false, .cast = true});
}

ZARRPOINT_INLINE result<void> saver::write_object(const save_job& job,
                                                  const sharded_object& object) {
  ZARRPOINT_TRY(is_file, detail::is_torch_file(object.bytes()));
  if (is_file) {
    ZARRPOINT_TRY(key, store_key::parse(object.unique_key() + ".pt"));
    return job.store.put(key, object.bytes());
  }
  const bytes_view bytes = object.bytes();
  return detail::put_object(job.store, object.unique_key(),
                            torch::value(torch::value::bytes(bytes.begin(), bytes.end())));
}

}  // namespace megatron

namespace megatron { namespace detail {

/// The sharded part of a directory of Megatron-Core's.
class shards_of_directory final : public sharded_reader {
 public:
  shards_of_directory(directory of, load_options options)
      : directory_(std::move(of)), options_(std::move(options)) {}

  result<void> read_contents() {
    ZARRPOINT_TRY(there, directory_.list());
    for (const std::string& key : there.tensors) {
      ZARRPOINT_TRY(from, directory_.tensor(key));
      tensors_.push_back({key, from.spec(), from.metadata().chunk_shape});
    }
    for (const megatron::object_id& one : there.objects) {
      if (!objects_.empty() && objects_.back().key == one.key) continue;
      objects_.push_back({one.key, one.shape, dims(one.shape.rank(), 0)});
    }
    return {};
  }

  std::span<const stored_tensor> tensors() const override { return tensors_; }
  std::span<const zarrpoint::object_id> objects() const override { return objects_; }

  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    read_options how{.cast = options_.cast};
    if (!options_.allow_missing_chunks) how.missing = missing_chunks::error;
    return directory_.read(key, part, into, how);
  }

  /// Bytes that were pickled, or the whole file of any other value.
  result<message> read_object(const zarrpoint::object_id& id) const override {
    if (const auto* at = zarrpoint::detail::find_by_key(objects(), id.key)) {
      ZARRPOINT_TRY(wanted, sharded_object::request(id));
      ZARRPOINT_CHECK(wanted.check_same_grid(at->global_shape));
    }
    ZARRPOINT_TRY(file, directory_.object({id.key, id.global_offset, id.global_shape}));
    if (auto bare = detail::bare_bytes(file.root())) return *std::move(bare);
    ZARRPOINT_TRY(key, store_key::parse(zarrpoint::unique_key(id) + ".pt"));
    ZARRPOINT_TRY(whole, get(directory_.store(), key, SIZE_MAX));
    if (!whole) return error{errc::not_found, "object " + zarrpoint::unique_key(id)};
    return message(whole->begin(), whole->end());
  }

  result<std::vector<std::string>> remove(const any_store& store,
                                          std::string_view prefix) const override {
    std::vector<std::string> out;
    for (const stored_tensor& one : tensors_) {
      if (one.key.starts_with(prefix)) out.push_back(one.key);
    }
    for (const zarrpoint::object_id& one : objects_) {
      if (one.key.starts_with(prefix)) out.push_back(one.key);
    }
    v0::detail::sort_names(out);
    for (const std::string& key : out) {
      ZARRPOINT_TRY(at, store_key::parse(key));
      ZARRPOINT_CHECK(store.erase_all(at));
      ZARRPOINT_TRY(lock, store_key::parse(key + ".sync"));
      ZARRPOINT_CHECK(store.erase_all(lock));
    }
    return out;
  }

 private:
  directory directory_;
  load_options options_;
  std::vector<stored_tensor> tensors_;
  std::vector<zarrpoint::object_id> objects_;
};

}}  // namespace megatron::detail

namespace megatron {

ZARRPOINT_INLINE result<std::shared_ptr<sharded_reader>> loader::open(const load_job& job) const {
  ZARRPOINT_TRY(opened, directory::open(location(job.store), job.how));
  auto out = v0::detail::make_counted<detail::shards_of_directory>(std::move(opened), job.options);
  ZARRPOINT_CHECK(out->read_contents());
  return std::shared_ptr<sharded_reader>(std::move(out));
}

ZARRPOINT_INLINE result<std::vector<leaf_record>> common_saver::save_common(
    const save_job& job, const node& common) const {
  ZARRPOINT_TRY(values, torch::detail::document_value(common).at(detail::common_file));
  ZARRPOINT_CHECK(detail::write_common(job.store, values));
  return std::vector<leaf_record>{};
}

ZARRPOINT_INLINE result<node> common_loader::load_common(const load_job& job) const {
  return detail::read_common(job.store, job.how);
}

}  // namespace megatron

}}  // namespace zarrpoint::v0
