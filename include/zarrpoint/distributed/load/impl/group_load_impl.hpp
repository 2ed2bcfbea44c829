// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/match_keys.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/load/read_once.hpp>
#include <zarrpoint/distributed/state/expand_factories.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_node.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/exec/progress_meter.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

class group_load_operation {
 public:
  group_load_operation(const process_group& group, const group_load_options& options)
      : group_(group), options_(options) {
    group_.how = with_scratch(group_.how);
    progress_ = std::exchange(group_.how.progress, {});  // of the whole, not of each tensor
  }

  result<group_load_report> run(const location& where, const state& request) {
    const any_communicator& ranks = group_.ranks;
    ZARRPOINT_CHECK(agree(ranks, guarded([&] { return prepare(where, request); })));
    ZARRPOINT_CHECK(check_identity());
    ZARRPOINT_CHECK(match());
    ZARRPOINT_CHECK(agree(ranks, guarded([&] { return check_requests(); })));
    if (options_.validate) ZARRPOINT_CHECK(validate());
    for (const sharded_tensor& tensor : tensors_) tensor.mark_loaded(false);
    if (options_.read_once) {
      ZARRPOINT_CHECK(read_together());
    } else {
      ZARRPOINT_CHECK(agree(ranks, guarded([&] { return read_alone(); })));
    }
    ZARRPOINT_CHECK(agree(ranks, guarded([&] { return put_together(); })));
    for (const sharded_tensor& tensor : tensors_) tensor.mark_loaded(true);
    return std::move(report_);
  }

 private:
  /// Describe: a tree of requests, without factories, and its leaves.
  result<void> prepare(const location& where, const state& request) {
    ZARRPOINT_CHECK(check_groups(options_.groups, group_.ranks.size()));
    ZARRPOINT_TRY(opened, open_sharded(where, group_, options_));
    checkpoint_ = std::move(opened);
    report_.content_metadata = checkpoint_.content_metadata;
    ZARRPOINT_TRY(expanded, apply_factories(request));
    merges_ = std::move(expanded.merges);
    // Common values come from the checkpoint; those of the request are not looked at.
    ZARRPOINT_TRY(parts, extract(expanded.tree, of_kind(state_kind::value)));
    tree_ = std::move(parts.rest);
    return for_each_leaf(tree_, [&](const state& leaf) -> result<void> {
      if (const sharded_tensor* tensor = leaf.if_tensor()) {
        ZARRPOINT_CHECK(tensor->validate());
        asked_.insert(tensor->key());
      } else if (const sharded_object* object = leaf.if_object()) {
        ZARRPOINT_CHECK(object->validate());
        asked_.insert(object->key());
      }
      return {};
    });
  }

  /// Processes open a path one after the other, and a save may replace what is there: parts of two
  /// checkpoints make no state.
  result<void> check_identity() {
    const std::string identity = checkpoint_.shards->identity();
    const bytes_view mine = as_bytes(identity);
    ZARRPOINT_TRY(of_root, broadcast(group_.ranks, message(mine.begin(), mine.end())));
    if (as_text(of_root) == identity) return agree(group_.ranks, result<void>());
    return agree(group_.ranks,
                 result<void>(error{errc::invalid_argument,
                                    checkpoint_.name +
                                        " is not the checkpoint that rank 0 "
                                        "opened: it is at another place, or a save replaced it "
                                        "in between"}));
  }

  /// What the strictness mode makes of keys that only one side has.
  result<void> match() {
    const strictness mode = options_.strict;
    if (mode != strictness::assume_ok_unexpected) {
      ZARRPOINT_TRY(keys, match_keys(asked_, stored_keys(*checkpoint_.shards), mode, group_.ranks));
      const std::string text = to_string(keys);
      const bool raises = mode == strictness::raise_unexpected || mode == strictness::raise_all;
      ZARRPOINT_CHECK(agree(group_.ranks, raises && !text.empty()
                                              ? result<void>(error{errc::not_found, text})
                                              : result<void>()));
      const bool logs = mode == strictness::log_unexpected || mode == strictness::log_all;
      if (logs && !text.empty()) report_.warnings.push_back(text);
      if (mode == strictness::return_all) report_.missing = keys.missing;
      if (mode == strictness::return_all || mode == strictness::return_unexpected)
        report_.unexpected = keys.unexpected;
      ZARRPOINT_CHECK(agree(group_.ranks, guarded([&] { return leave_out(keys.unexpected); })));
    }
    return agree(group_.ranks, guarded([&] { return collect(); }));
  }

  result<void> leave_out(const key_set& unexpected) {
    if (unexpected.empty()) return {};
    const auto is_unexpected = [&](const state& leaf) {
      const sharded_tensor* tensor = leaf.if_tensor();
      const sharded_object* object = leaf.if_object();
      return (tensor != nullptr && unexpected.contains(tensor->key())) ||
             (object != nullptr && unexpected.contains(object->key()));
    };
    ZARRPOINT_TRY(parts, extract(tree_, is_unexpected));
    tree_ = std::move(parts.rest);
    // A factory of which nothing is left has nothing to merge.
    std::erase_if(merges_, [&](const placed_factory& one) {
      const state* left = tree_.find(one.path);
      bool leaves = false;
      if (left != nullptr)
        static_cast<void>(for_each_leaf(*left, [&](const state&) { leaves = true; }));
      return !leaves;
    });
    return {};
  }

  result<void> collect() {
    return for_each_leaf(tree_, [&](const state& leaf) {
      if (const sharded_tensor* tensor = leaf.if_tensor()) tensors_.push_back(*tensor);
      if (const sharded_object* object = leaf.if_object()) objects_.push_back(*object);
    });
  }

  result<const stored_tensor*> stored(const std::string& key) const {
    if (const stored_tensor* at = find_by_key(checkpoint_.shards->tensors(), key)) return at;
    return error{errc::not_found, checkpoint_.name + " has no tensor " + in_quotes(key)};
  }

  /// What the rules let a request be, and whether it may be cast.
  result<bool> apply_rules(sharded_tensor& tensor) const {
    const std::vector<load_rule>& rules = options_.storage.rules;
    const auto refuse = [&](const std::string& asked, const std::string& ruled) {
      return error{errc::invalid_argument, "load " + in_quotes(tensor.key()) + ": " + asked +
                                               " is asked for, and a rule says " + ruled};
    };
    shard_metadata metadata = tensor.metadata();
    const dtype* cast = last_set(rules, metadata.key, &load_rule::cast);
    if (cast != nullptr && *cast != metadata.type)
      return refuse(std::string(to_string(metadata.type)), std::string(to_string(*cast)));
    const dims* shape = last_set(rules, metadata.key, &load_rule::shape);
    if (shape != nullptr && *shape != metadata.global_shape)
      return refuse("shape " + to_string(metadata.global_shape), to_string(*shape));
    if (shape != nullptr) {
      metadata.allow_shape_mismatch = true;
      tensor = tensor.with(std::move(metadata));
    }
    return options_.storage.cast || cast != nullptr;
  }

  /// Refused before a chunk is read. What the load makes must fit the caller's budget.
  result<void> check_requests() {
    std::uint64_t to_make = 0;
    for (sharded_tensor& tensor : tensors_) {
      ZARRPOINT_TRY(there, stored(tensor.key()));
      ZARRPOINT_TRY(may_cast, apply_rules(tensor));
      ZARRPOINT_CHECK(
          check_request(*there, tensor.metadata(), may_cast).at("load from " + checkpoint_.name));
      ZARRPOINT_TRY(
          bytes, byte_count(tensor.metadata().data_shape(), memory_size(tensor.metadata().type)));
      bytes_ += bytes;
      if (!tensor.has_data()) to_make += bytes;
    }
    for (const sharded_object& object : objects_) {
      const object_id* there = find_by_key(checkpoint_.shards->objects(), object.key());
      if (there == nullptr) continue;  // the reader says what it lacks
      ZARRPOINT_CHECK(
          object.check_same_grid(there->global_shape).at("load " + in_quotes(object.unique_key())));
    }
    if (to_make > group_.how.limit.memory)
      return error{errc::resource_limit, "load from " + checkpoint_.name + ": its tensors take " +
                                             std::to_string(to_make) +
                                             " bytes, more than limits::memory of " +
                                             std::to_string(group_.how.limit.memory)};
    return {};
  }

  /// Whether what all processes ask for makes sense together.
  result<void> validate() {
    message_budget counted(group_.how);
    const auto describe = [&]() -> result<message> {
      ZARRPOINT_TRY(out, describe_state({tensors_, objects_, {}}, {}));
      ZARRPOINT_CHECK(counted.count("the description", group_.ranks.rank(), out.size()));
      return std::move(out);
    };
    ZARRPOINT_TRY(described, agree(group_.ranks, guarded(describe)));
    ZARRPOINT_TRY(all, gather(group_.ranks, std::move(described)));
    const auto check = [&]() -> result<void> {
      if (group_.ranks.rank() != 0) return {};
      ZARRPOINT_CHECK(counted.count("the description", all, 0));
      ZARRPOINT_TRY(states, read_descriptions(all));
      auto tiled = validate_sharding(states.shards, states.objects);
      if (tiled) return {};
      error failure = std::move(tiled).failure().at("load from " + checkpoint_.name);
      failure.message += "; group_load_options::validate = false allows it";
      return failure;
    };
    return agree(group_.ranks, guarded(check));
  }

  result<void> read_alone() {
    std::atomic<std::uint64_t> bytes{0};
    progress_meter meter(progress_, "load", bytes_);
    ZARRPOINT_CHECK(parallel_for(
        group_.how.executor, tensors_.size() + objects_.size(),
        [&](std::size_t i) -> result<void> {
          if (i >= tensors_.size()) return read_object(objects_[i - tensors_.size()]);
          sharded_tensor& tensor = tensors_[i];
          ZARRPOINT_TRY(there, stored(tensor.key()));
          ZARRPOINT_CHECK(load_shard(*there, tensor).at("load " + in_quotes(tensor.key())));
          const std::uint64_t read = byte_count(tensor.metadata().data_spec()).value_or(0);
          bytes += read;
          meter.add(tensor.key(), read);
          return {};
        },
        {.stop = group_.how.stop}));
    report_.bytes_read = bytes;
    return {};
  }

  result<void> load_shard(const stored_tensor& there, sharded_tensor& tensor) {
    ZARRPOINT_CHECK(tensor.init_data(resource_of(group_.how)));
    return tensor.fill(
        [&](const box& part, const mutable_host_view& into) {
          return read_part_of_shard({*checkpoint_.shards, there, options_.padding},
                                    tensor.metadata(), part, into);
        },
        group_.how, unit_of(there));
  }

  result<void> read_object(sharded_object& object) {
    ZARRPOINT_TRY(
        bytes,
        checkpoint_.shards->read_object(object.id()).at("load " + in_quotes(object.unique_key())));
    object = object.with_bytes(std::move(bytes));
    return {};
  }

  result<void> read_together() {
    once_reader reader{group_, *checkpoint_.shards, {options_.groups, options_.padding}};
    ZARRPOINT_TRY(bytes, reader.read(tensors_, objects_));
    report_.bytes_read = bytes;
    return {};
  }

  /// The loaded leaves in their places, the common values in theirs, factories merged.
  result<void> put_together() {
    std::size_t next_tensor = 0;
    std::size_t next_object = 0;
    ZARRPOINT_TRY(filled, transform_leaves(tree_, [&](const state& leaf) -> state {
                    if (leaf.if_tensor() != nullptr) return tensors_[next_tensor++];
                    if (leaf.if_object() != nullptr) return objects_[next_object++];
                    return leaf;
                  }));
    if (!checkpoint_.common.is_null()) {
      ZARRPOINT_TRY(read, state_from_node(checkpoint_.common));
      // A tensor in it is there on all processes: if all save it again, the first one stores it.
      ZARRPOINT_TRY(common, transform_leaves(read, [&](const state& leaf) -> state {
                      const sharded_tensor* tensor = leaf.if_tensor();
                      if (tensor == nullptr) return leaf;
                      shard_metadata metadata = tensor->metadata();
                      metadata.replica = group_.ranks.rank();
                      return tensor->with(std::move(metadata));
                    }));
      ZARRPOINT_TRY(both, merge(std::move(common), filled));
      filled = std::move(both);
    }
    ZARRPOINT_TRY(merged, merge_factories(std::move(filled), merges_));
    report_.loaded = std::move(merged);
    return {};
  }

  process_group group_;
  group_load_options options_;
  sharded_checkpoint checkpoint_;
  factory_merges merges_;
  state tree_;
  progress_callback progress_;
  std::uint64_t bytes_ = 0;  ///< of all tensors that are asked for
  key_set asked_;
  std::vector<sharded_tensor> tensors_;
  std::vector<sharded_object> objects_;
  group_load_report report_;
};

}  // namespace detail

ZARRPOINT_INLINE result<group_load_report> load(const location& where, const state& request,
                                                const process_group& group,
                                                const group_load_options& options) {
  return detail::group_load_operation(group, options).run(where, request);
}

}}  // namespace zarrpoint::v0
