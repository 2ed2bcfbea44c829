// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax_save/orbax_receipts.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_operation.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE result<described_leaf> save_operation::describe_shard(
    const sharded_tensor& shard) const {
  ZARRPOINT_CHECK(shard.validate());
  const shard_metadata& of = shard.metadata();
  if (!shard.has_data()) return bad_tree("its shard has no value");
  if (of.range)
    return error{errc::unsupported, "its shard is a flat piece, " + to_string(*of.range) +
                                        ", and Orbax has a place for boxes of an array only"};
  described_leaf out;
  const auto known = paths_.find(of.key);
  out.path = known != paths_.end() ? known->second->keys() : tree_path(of.key).keys();
  out.spec = {of.type, of.global_shape};
  out.at = of.global_box();
  out.shard_key = of.key;
  return out;
}

/// What all processes must have the same of: where the tree is, and what it is. The rest only rank
/// 0 uses, or each for itself.
ZARRPOINT_INLINE message save_operation::shared_options() const {
  v0::detail::wire_writer to;
  to.number(static_cast<std::uint64_t>(static_cast<std::uint32_t>(options_.zarr_format)));
  to.flag(options_.ocdbt);
  to.flag(options_.step.has_value());
  to.number(options_.step.value_or(0));
  to.text(options_.item);
  to.number(static_cast<std::uint64_t>(options_.arrays));
  to.bytes(encode_containers(options_.rich_types));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<message> save_operation::describe(const tree_part& mine) {
  ZARRPOINT_TRY(described, describe_items(mine.leaves));
  mine_ = std::move(described.leaves);
  for (const auto& [name, path] : options_.paths)
    if (!paths_.emplace(name, &path).second)
      return bad_tree("save_tree_options::paths has two paths for " + v0::detail::in_quotes(name));
  std::set<std::string> names;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    if (!names.insert(mine_[i].name()).second)
      return bad_tree("two leaves have the path " + v0::detail::in_quotes(mine_[i].name()));
    cell_write& source = sources_.emplace_back();
    if (!mine_[i].is_array()) continue;
    const leaf& value = *described.values[i];
    source.part = mine_[i].at;
    source.stage = [value](memory_resource& into) { return value.stage(into); };
    if (value.host_accessible()) continue;
    source.source = [value](const context& with) {
      return value.source(v0::detail::source_options_of(with));
    };
  }
  for (const sharded_tensor& shard : mine.shards) {
    ZARRPOINT_TRY(leaf, describe_shard(shard).at("save " + v0::detail::in_quotes(shard.key())));
    if (names.contains(leaf.name()))
      return bad_tree("two leaves have the path " + v0::detail::in_quotes(leaf.name()));
    cell_write& source = sources_.emplace_back();
    source.part = leaf.at;
    source.stage = [shard, at = leaf.at](memory_resource& into) {
      return v0::detail::stage_part(shard, at, into);
    };
    if (!shard.host_accessible())
      source.source = [shard, at = leaf.at](const context& with) {
        return shard.source(with, &at);
      };
    mine_.push_back(std::move(leaf));
  }
  v0::detail::wire_writer to;
  to.bytes(shared_options());
  to.bytes(encode_leaves(mine_));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<message>> save_operation::plan(std::vector<message> described) {
  const message own = shared_options();
  std::vector<std::vector<described_leaf>> all;
  for (std::size_t rank = 0; rank < described.size(); ++rank) {
    const auto decode = [&]() -> result<std::vector<described_leaf>> {
      v0::detail::wire_reader from(described[rank]);
      const bytes_view options = from.bytes();
      const bytes_view leaves = from.bytes();
      ZARRPOINT_CHECK(from.finish());
      if (!std::equal(options.begin(), options.end(), own.begin(), own.end()))
        return bad_tree(
            "it has other options than rank 0: zarr_format, ocdbt, step, item, arrays and "
            "rich_types must be the same");
      return decode_leaves(leaves);
    };
    ZARRPOINT_TRY(decoded, decode().at("the description of rank " + std::to_string(rank)));
    all.push_back(std::move(decoded));
    described[rank] = message();
  }
  ZARRPOINT_TRY(shared, share_tree(all));
  shared_ = std::move(shared);
  ZARRPOINT_CHECK(check_paths());
  ZARRPOINT_TRY(planned, plan_tree({shared_.leaves, shared_.cuts}, options_));
  plan_ = std::move(planned);
  ZARRPOINT_CHECK(count_chunks());
  report_.warnings = plan_.warnings;
  ZARRPOINT_TRY(target, tree_target::open(where_, options_, how_));
  target_.emplace(std::move(target));
  if (ranks_.size() > 1 && target_->staged_name().empty())
    return error{errc::unsupported, "several processes can save to a directory only"};
  return parts();
}

ZARRPOINT_INLINE result<void> save_operation::check_paths() const {
  if (options_.paths.empty()) return {};
  std::set<std::string> keys;
  for (const described_leaf& leaf : shared_.leaves)
    if (leaf.shard_key) keys.insert(*leaf.shard_key);
  for (const auto& [name, path] : options_.paths)
    if (!keys.contains(name))
      return bad_tree("save_tree_options::paths has a path for " + v0::detail::in_quotes(name) +
                      ", and no process has a shard of that key");
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::count_chunks() const {
  for (const planned_item& item : plan_.items) {
    if (!item.array) continue;
    const array_metadata& metadata = plan_.arrays[*item.array].metadata();
    dims counts = metadata.shape;
    for (std::size_t d = 0; d < counts.rank(); ++d)
      counts[d] = ceil_div(counts[d], metadata.chunk_shape[d]);
    const auto count = element_count(counts);
    if (!count || static_cast<std::uint64_t>(*count) > how_.limit.max_chunks)
      return error{errc::resource_limit, "the leaf " + v0::detail::in_quotes(item.told.name) +
                                             " would be more objects than " +
                                             std::to_string(how_.limit.max_chunks) +
                                             ", each of shape " + to_string(metadata.chunk_shape)};
  }
  return {};
}

ZARRPOINT_INLINE result<std::vector<message>> save_operation::parts() const {
  std::vector<std::size_t> array_of(shared_.leaves.size());
  for (const planned_item& item : plan_.items)
    if (item.array) array_of[item.source] = *item.array;
  std::vector<std::string> documents;
  for (const v0::detail::planned_leaf& array : plan_.arrays) {
    ZARRPOINT_TRY(document, v0::detail::array_document(array.metadata()));
    documents.push_back(dump_json(document, json_style::compact));
  }
  const std::string record = array_record(plan_);
  std::vector<message> out;
  for (const std::vector<shared_part>& parts : shared_.parts) {
    v0::detail::wire_writer to;
    to.text(target_->staged_name());
    to.text(record);
    to.number(parts.size());
    std::set<std::size_t> told;
    for (const shared_part& part : parts) {
      const std::size_t number = array_of[part.leaf];
      to.number(part.place);
      to.number(number);
      if (told.insert(number).second) to.text(documents[number]);
    }
    out.push_back(std::move(to).take());
  }
  return out;
}

ZARRPOINT_INLINE result<void> save_operation::join(const message& part) {
  v0::detail::wire_reader from(part);
  staged_name_ = from.text();
  record_ = from.text();
  std::map<std::uint64_t, std::size_t> known;  // the arrays of `writes_`
  const error wrong{errc::corrupt, "what rank 0 planned is cut off, or of other leaves"};
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    const auto place = static_cast<std::size_t>(from.number());
    const std::uint64_t number = from.number();
    if (from.failed() || place >= mine_.size() || !mine_[place].is_array()) return wrong;
    const auto [at, is_new] = known.try_emplace(number, writes_.arrays.size());
    if (is_new) {
      const std::string text = from.text();
      if (from.failed()) return wrong;
      ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
      auto parsed =
          options_.zarr_format == 2 ? parse_array_v2(document, nullptr) : parse_array_v3(document);
      if (!parsed) return std::move(parsed).failure().at(mine_[place].name());
      if (parsed->shape != mine_[place].spec.shape) return wrong;
      planned_array& made = arrays_.emplace_back();
      made.tensor.key = tree_path(mine_[place].path).joined('.');
      made.tensor.type = parsed->type;
      made.metadata = *std::move(parsed);
      writes_.arrays.push_back({&made, false, {}});
    }
    writes_.arrays[at->second].cells.push_back(sources_[place]);
  }
  ZARRPOINT_CHECK(from.finish());
  if (!is_root()) return join_store();
  store_ = target_->item();
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::join_store() {
  ZARRPOINT_TRY(target, place_of(where_, options_, how_));
  ZARRPOINT_TRY(tree, v0::detail::open_staged(target, staged_name_, options_.sync));
  ZARRPOINT_TRY(item, item_of(tree, options_));
  store_ = std::move(item);
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::keep_parts() {
  for (array_writes& array : writes_.arrays)
    for (cell_write& cell : array.cells)
      ZARRPOINT_CHECK(v0::detail::keep_elements(cell, how_)
                          .at("the leaf " + v0::detail::in_quotes(array.array->tensor.key)));
  sources_.clear();  // the caller's
  return {};
}

ZARRPOINT_INLINE result<message> save_operation::write() {
  return guarded([&] { return write_all(); });
}

ZARRPOINT_INLINE result<message> save_operation::write_all() {
  ZARRPOINT_CHECK(
      put_text(*store_, "array_metadatas/process_" + std::to_string(ranks_.rank()), record_));
  if (!options_.ocdbt) {
    ZARRPOINT_CHECK(write_documents(*store_));
    return write_parts(*store_);
  }
  if (!is_root() && writes_.arrays.empty()) return write_parts(*store_);
  ZARRPOINT_TRY(own, database_of(ranks_.rank()));
  ZARRPOINT_TRY(database, ocdbt_writer::open(*store_, own, options_.database));
  ZARRPOINT_CHECK(write_documents(database));
  ZARRPOINT_TRY(receipt, write_parts(database));
  ZARRPOINT_CHECK(database.commit());
  return std::move(receipt);
}

/// As Orbax: those of all arrays by rank 0.
ZARRPOINT_INLINE result<void> save_operation::write_documents(const any_store& to) const {
  for (const v0::detail::planned_leaf& array : plan_.arrays) {
    leaf_record record;
    ZARRPOINT_TRY(document, v0::detail::array_document(array.metadata()));
    record.metadata = std::move(document);
    ZARRPOINT_CHECK(v0::detail::put_array_document(to, *array.key, record, options_.zarr_format));
  }
  return {};
}

ZARRPOINT_INLINE result<message> save_operation::write_parts(const any_store& to) {
  ZARRPOINT_TRY(
      digests,
      v0::detail::write_cells(how_, writes_, [&](const v0::detail::cell_job& job) -> result<void> {
        ZARRPOINT_TRY(key, store_key::parse(job.array.tensor.key));
        ZARRPOINT_TRY(array, array::from_metadata(to, key, job.array.metadata, job.how));
        return job.write_to(array, {.elide_fill = false, .cast = true, .how = &job.how});
      }));
  return encode_receipt(digests);
}

ZARRPOINT_INLINE result<message> save_operation::commit(std::span<const message> receipts) {
  const std::vector<object_counts> wanted = wanted_objects(shared_, plan_);
  object_counts stored_bytes;
  for (std::size_t rank = 0; rank < wanted.size(); ++rank)
    ZARRPOINT_CHECK(read_receipt(receipts[rank], wanted[rank], stored_bytes)
                        .at("the receipt of rank " + std::to_string(rank)));
  for (const planned_item& item : plan_.items) {
    if (!item.array) continue;
    const v0::detail::planned_leaf& array = plan_.arrays[*item.array];
    const std::uint64_t stored = stored_bytes[item.told.storage];
    report_.leaves.push_back({.name = item.told.name,
                              .stored = array.metadata().spec(),
                              .bytes = array.bytes,
                              .stored_bytes = stored});
    report_.bytes += array.bytes;
    report_.stored_bytes += stored;
  }
  if (options_.ocdbt) {
    std::vector<store_key> databases;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      if (rank != 0 && shared_.parts[static_cast<std::size_t>(rank)].empty()) continue;
      ZARRPOINT_TRY(key, database_of(rank));
      databases.push_back(std::move(key));
    }
    ZARRPOINT_CHECK(target_->merge(databases));
  }
  ZARRPOINT_CHECK(target_->publish(plan_, ranks_.size(), report_));
  commit_.take_place();
  return encode_report(report_);
}

ZARRPOINT_INLINE result<void> save_operation::share_plan(const tree_part& mine) {
  v0::detail::message_budget counted(how_);
  ZARRPOINT_TRY(described, agree(ranks_, guarded([&]() -> result<message> {
                                   ZARRPOINT_TRY(out, describe(mine));
                                   ZARRPOINT_CHECK(
                                       counted.count("the description", ranks_.rank(), out.size()));
                                   return std::move(out);
                                 })));
  ZARRPOINT_TRY(all, gather(ranks_, std::move(described)));
  const auto plan_all = [&]() -> result<std::vector<message>> {
    ZARRPOINT_CHECK(counted.count("the description", all, 0));
    ZARRPOINT_TRY(out, plan(std::move(all)));
    ZARRPOINT_CHECK(counted.count("the plan", out, -1));
    return std::move(out);
  };
  result<std::vector<message>> planned = std::vector<message>{};
  // What one has fails on all: none waits for a process that has given up.
  if (is_root()) planned = guarded(plan_all);
  ZARRPOINT_TRY(part, v0::detail::scatter_result(ranks_, std::move(planned)));
  return agree(ranks_, guarded([&]() -> result<void> {
                 if (!is_root())
                   ZARRPOINT_CHECK(counted.count("the plan", ranks_.rank(), part.size()));
                 return join(part);
               }));
}

ZARRPOINT_INLINE error save_operation::explain(error failure) const {
  return guarded([&]() -> result<void> {
           return commit_.explain(std::move(failure), where_.name())
               .at("save the Orbax checkpoint " + where_.name());
         })
      .failure();
}

ZARRPOINT_INLINE result<void> save_operation::begin(const tree_part& mine, bool copies) {
  auto begun = guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(share_plan(mine));
    return copies ? agree(ranks_, guarded([&] { return keep_parts(); })) : result<void>();
  });
  if (!begun) return explain(std::move(begun).failure());
  if (copies) blocked_seconds_ = v0::detail::seconds_since(start_);
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::finish_steps(result<message> given) {
  v0::detail::message_budget counted(how_);
  ZARRPOINT_CHECK(agree(ranks_, given ? counted.count("the receipt", ranks_.rank(), given->size())
                                      : result<void>(given.failure())));
  commit_.give_receipt();
  ZARRPOINT_TRY(receipts, gather(ranks_, *std::move(given)));
  const auto commit_all = [&]() -> result<message> {
    ZARRPOINT_CHECK(counted.count("the receipt", receipts, 0));
    return commit(receipts);
  };
  ZARRPOINT_TRY(told, commit_.tell(is_root() ? guarded(commit_all) : result<message>(message{})));
  ZARRPOINT_TRY(report, decode_report(told));
  report_ = std::move(report);
  return {};
}

ZARRPOINT_INLINE result<save_report> save_operation::finish(result<message> receipt) {
  auto done = guarded([&] { return finish_steps(std::move(receipt)); });
  if (!done) return explain(std::move(done).failure());
  report_.seconds = v0::detail::seconds_since(start_);
  report_.blocked_seconds = blocked_seconds_.value_or(report_.seconds);
  return std::move(report_);
}

}}}}  // namespace zarrpoint::v0::orbax::detail
