// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaf.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/distributed/strategy/zarr_saver.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Those of `save_options::attributes_of`, which are sorted in a `save_job`.
ZARRPOINT_INLINE node attributes_for(std::string_view key, const save_options& options) {
  const node* found = find_sorted(options.attributes_of, key);
  return found != nullptr ? *found : node();
}

/// What `plan_layout` needs, for the caller to add rules to: not the attributes, of which there may
/// be as many as there are tensors.
ZARRPOINT_INLINE save_options layout_options(const save_options& of) {
  return {.zarr_format = of.zarr_format, .rules = of.rules};
}

/// How a grid of objects is stored: an array of byte strings, each a chunk of its own.
ZARRPOINT_INLINE result<array_metadata> object_layout(const object_id& id,
                                                      const save_options& options) {
  save_options own = layout_options(options);
  // Rules for tensors may match any key: each object is a chunk whatever they say.
  const dims one(id.global_shape.rank(), 1);
  own.rules.push_back({.chunk_shape = one, .shard_shape = one});
  ZARRPOINT_TRY(planned, detail::plan_layout(id.key, {dtype_kind::bytes, id.global_shape}, own));
  planned.metadata.attributes = attributes_for(id.key, options);
  return std::move(planned.metadata);
}

/// The document of a grid of objects. Errors name its key.
ZARRPOINT_INLINE result<node> object_document(const object_id& grid, const save_options& options) {
  const auto made = [&]() -> result<node> {
    ZARRPOINT_TRY(metadata, object_layout(grid, options));
    return array_document(metadata);
  };
  return made().at("save object " + in_quotes(grid.key));
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> zarr_saver::layout(const save_job& job,
                                                           const planned_tensor& tensor) const {
  if (job.options.zarr_format == 2)
    return error{errc::unsupported,
                 "several processes save in Zarr v2 only in the layout of Megatron-Core, which "
                 "megatron::strategies has as (zarr, 1); save_options::zarr_format must be 3"};
  save_options own = detail::layout_options(job.options);
  const dims* asked = detail::last_set(own.rules, tensor.key, &leaf_rule::shard_shape);
  if (asked != nullptr && *asked != tensor.grid.cell_shape)
    return error{errc::invalid_argument,
                 "a rule asks for shards of shape " + to_string(*asked) +
                     ", but several processes store shards as they hold them, here of shape " +
                     to_string(tensor.grid.cell_shape) + "; chunk_shape may cut them"};
  own.rules.push_back({.shard_shape = tensor.grid.cell_shape});
  tensor_spec stored{tensor.type, tensor.grid.shape};
  if (const dtype* cast = detail::last_set(own.rules, tensor.key, &leaf_rule::cast)) {
    ZARRPOINT_CHECK(detail::check_cast(stored.type, *cast));
    stored.type = *cast;
  }
  const bool regular = tensor.grid.edges.empty();
  // Shards of a rectilinear grid would need inner chunks that divide each of them.
  if (!regular) own.rules.push_back({.chunk_shape = tensor.grid.cell_shape});
  ZARRPOINT_TRY(planned, detail::plan_layout(tensor.key, stored, own));
  planned.metadata.edges = tensor.grid.edges;
  planned.metadata.attributes = detail::attributes_for(tensor.key, job.options);
  return std::move(planned.metadata);
}

ZARRPOINT_INLINE result<message> zarr_saver::write(const save_job& job,
                                                   const shard_writes& mine) const {
  const context how = with_scratch(job.how);
  for (const array_writes& one : mine.arrays) {
    ZARRPOINT_TRY(key, store_key::parse(one.array->tensor.key));
    if (one.puts_document)
      ZARRPOINT_CHECK(detail::put_document(job.store, key, "zarr.json", one.array->document));
  }
  ZARRPOINT_TRY(digests, detail::write_cells(how, mine, [&](const detail::cell_job& cell) {
                  return write_cell(job, cell);
                }));
  for (const object_id& grid : mine.first_objects) {
    ZARRPOINT_TRY(key, store_key::parse(grid.key));
    ZARRPOINT_TRY(document, detail::object_document(grid, job.options));
    ZARRPOINT_CHECK(detail::put_document(job.store, key, "zarr.json", document));
  }
  for (const sharded_object& object : mine.objects)
    ZARRPOINT_CHECK(write_object(job, how, object, digests[object.key()])
                        .at("save object " + detail::in_quotes(object.unique_key())));
  return detail::encode_digests(digests);
}

ZARRPOINT_INLINE result<void> zarr_saver::finish(const save_job& job,
                                                 const save_receipts& all) const {
  const auto name_of = [](const object_id& id) {
    return chunk_key_encoding{}.key(id.global_offset);
  };
  ZARRPOINT_TRY(digests, detail::read_receipts(all, job.options.elide_fill, name_of));
  detail::commit_document commit{.id = detail::random_id(), .leaves = all.common};
  bool all_core = true;
  for (const planned_array& array : all.arrays) {
    all_core = all_core && detail::is_core_array(array.metadata);
    commit.leaves.push_back({array.tensor.key, std::string(detail::array_kind), array.document,
                             std::move(digests[array.tensor.key])});
  }
  for (const object_id& grid : all.objects) {
    all_core = false;
    ZARRPOINT_TRY(document, detail::object_document(grid, job.options));
    commit.leaves.push_back({grid.key, std::string(detail::object_kind), std::move(document),
                             std::move(digests[grid.key])});
  }
  std::vector<std::string_view> names;
  names.reserve(commit.leaves.size());
  for (const leaf_record& leaf : commit.leaves) names.emplace_back(leaf.name);
  ZARRPOINT_TRY(groups, groups_of(names));
  detail::sort_names(names);
  ZARRPOINT_TRY(of_groups, detail::attributes_of_groups(job.options.attributes_of, groups, names));
  commit.group_attributes = std::move(of_groups);
  save_options options = job.options;
  if (options.attributes.is_null()) options.attributes = node::object{};
  const auto pair = [](std::string_view from, int number) {
    return node(node::array{node(from), node(number)});
  };
  options.attributes.set(
      std::string(detail::strategies_member),
      node::object{{"sharded", pair(backend, version)},
                   {"common", pair(all.common_strategy.backend, all.common_strategy.version)}});
  return detail::put_hierarchy(job.store, {commit, groups, options, job.how.limit.metadata_bytes},
                               all_core)
      .transform([](bool) {});
}

ZARRPOINT_INLINE result<void> zarr_saver::write_cell(const save_job& job,
                                                     const detail::cell_job& cell) {
  ZARRPOINT_TRY(key, store_key::parse(cell.array.tensor.key));
  ZARRPOINT_TRY(target, array::from_metadata(job.store, key, cell.array.metadata, cell.how));
  return cell.write_to(target, {.elide_fill = job.options.elide_fill, .cast = true});
}

ZARRPOINT_INLINE result<void> zarr_saver::write_object(const save_job& job, const context& how,
                                                       const sharded_object& object,
                                                       chunk_digests& digests) {
  ZARRPOINT_TRY(key, store_key::parse(object.key()));
  ZARRPOINT_TRY(metadata, detail::object_layout(object.id(), job.options));
  ZARRPOINT_TRY(target, zarrpoint::array::from_metadata(job.store, key, metadata, how));
  const dims one(object.global_shape().rank(), 1);
  ZARRPOINT_TRY(value, tensor::make({dtype_kind::bytes, one}, how.scratch->resource()));
  value.data<std::string>()[0] = as_text(object.bytes());
  return target.write(box{object.global_offset(), one}, value.view(),
                      {.elide_fill = false, .collected = &digests});
}

ZARRPOINT_INLINE result<std::vector<leaf_record>> json_common_saver::save_common(
    const save_job& job, const node& common) const {
  const leaf value(std::string(detail::common_leaf),
                   json_text{dump_json(common, json_style::compact)});
  const context how = with_scratch(job.how);
  save_options options = job.options;
  options.rules.clear();
  options.zarr_format = 3;
  ZARRPOINT_TRY(spec, value.spec());
  ZARRPOINT_TRY(layout, detail::plan_layout(value.name(), spec, options));
  const detail::planned_leaf planned{
      &value, nullptr, detail::make_counted<detail::planned_form>(std::move(layout.metadata)), 0};
  detail::pin_times none;
  ZARRPOINT_TRY(record,
                detail::write_leaf(job.store, planned, {.elide_fill = false, .how = &how}, none));
  ZARRPOINT_TRY(texts, planned.form->texts());
  record.metadata = texts->document;
  return std::vector<leaf_record>{std::move(record)};
}

}}  // namespace zarrpoint::v0
