// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/iterations.hpp>
#include <zarrpoint/distributed/load/match_keys.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/load/read_once.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <system_error>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ---------------------------------------------------------------------------------- match_keys.hpp

ZARRPOINT_INLINE bool wants_missing(strictness mode) noexcept {
  return mode == strictness::log_all || mode == strictness::raise_all ||
         mode == strictness::return_all;
}

ZARRPOINT_INLINE std::string in_braces(const key_set& keys) {
  std::string text = "{";
  for (const std::string& key : keys) text += (text.size() == 1 ? "'" : ", '") + key + "'";
  return text + "}";
}

ZARRPOINT_INLINE std::string to_string(const key_mismatch& keys) {
  std::string text;
  if (!keys.missing.empty())
    text += "Missing keys (for all ranks): " + in_braces(keys.missing) + ". ";
  if (!keys.unexpected.empty())
    text += "Unexpected keys (for this rank): " + in_braces(keys.unexpected) + ". ";
  if (!text.empty()) text.pop_back();
  return text;
}

ZARRPOINT_INLINE std::vector<std::string_view> stored_keys(const sharded_reader& reader) {
  std::vector<std::string_view> out;
  for (const stored_tensor& one : reader.tensors()) out.emplace_back(one.key);
  for (const object_id& one : reader.objects()) out.emplace_back(one.key);
  sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<key_mismatch> match_keys(const key_set& asked,
                                                 const std::vector<std::string_view>& stored,
                                                 strictness mode, const any_communicator& ranks) {
  key_mismatch out;
  for (const std::string& key : asked) {
    if (!std::binary_search(stored.begin(), stored.end(), key)) out.unexpected.insert(key);
  }
  if (!wants_missing(mode)) return out;
  message bits((stored.size() + 7) / 8);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (asked.contains(stored[i])) bits[i / 8] |= static_cast<std::byte>(1U << (i % 8));
  }
  ZARRPOINT_TRY(all, all_gather(ranks, bits));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].size() != bits.size())
      return error{errc::corrupt, "rank " + std::to_string(rank) +
                                      " finds other keys in the "
                                      "checkpoint: it has changed"};
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= all[rank][i];
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if ((bits[i / 8] & static_cast<std::byte>(1U << (i % 8))) == std::byte{0})
      out.missing.emplace(stored[i]);
  }
  return out;
}

}  // namespace detail

// -------------------------------------------------------------------------------- open_sharded.hpp

namespace detail {

ZARRPOINT_INLINE result<strategy_id> id_of(const json* backend, const json* version) {
  const std::string* name = backend != nullptr ? backend->if_string() : nullptr;
  const auto number = version != nullptr ? version->to_int64() : std::nullopt;
  if (name == nullptr || !number || *number < 0 || *number > 1'000'000)
    return error{errc::corrupt, "its metadata do not name a backend and a version"};
  return strategy_id{*name, static_cast<int>(*number)};
}

ZARRPOINT_INLINE result<std::optional<json>> document_at(const any_store& store,
                                                         std::string_view file,
                                                         std::size_t max_bytes) {
  ZARRPOINT_TRY(key, store_key::parse(file));
  ZARRPOINT_TRY(bytes, get(store, key, max_bytes));
  if (!bytes) return std::optional<json>();
  ZARRPOINT_TRY(parsed, parse_json(*bytes, {.max_bytes = max_bytes}).at(std::string(file)));
  return std::optional<json>(std::move(parsed));
}

/// As Megatron-Core has it in `metadata.json`.
ZARRPOINT_INLINE result<named_strategies> named_by_megatron(const json& document) {
  ZARRPOINT_TRY(sharded,
                id_of(document.find("sharded_backend"), document.find("sharded_backend_version")));
  named_strategies out{true, std::move(sharded), strategy_id{"torch", 1}};
  // Some versions of Megatron-Core name only the first.
  if (const json* backend = document.find("common_backend"))
    out.common = id_of(backend, document.find("common_backend_version"));
  return out;
}

/// As we have it in the attributes of the root: nothing where no checkpoint of ours is.
ZARRPOINT_INLINE result<std::optional<named_strategies>> named_by_root(const json& document,
                                                                       bool is_attributes) {
  const json* attributes = is_attributes ? &document : document.find("attributes");
  const json* named = attributes != nullptr ? attributes->find(strategies_member) : nullptr;
  std::optional<named_strategies> out;
  if (named == nullptr) {
    if (holds_commit(document, is_attributes)) out.emplace();  // of one process
    return out;
  }
  const auto pair = [&](std::string_view which) -> result<strategy_id> {
    const json::array* both = named->find_array(which);
    if (both == nullptr || both->size() != 2) return id_of(nullptr, nullptr);
    return id_of(both->data(), both->data() + 1);
  };
  ZARRPOINT_TRY(sharded, pair("sharded"));
  out = named_strategies{true, std::move(sharded), pair("common")};
  return out;
}

ZARRPOINT_INLINE result<named_strategies> find_strategies(const any_store& store,
                                                          std::size_t max_bytes) {
  bool is_zarr = false;
  for (const std::string_view file : {"zarr.json", ".zattrs", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(document, document_at(store, file, max_bytes));
    if (!document) continue;
    is_zarr = true;
    ZARRPOINT_TRY(ours, named_by_root(*document, file != "zarr.json"));
    if (ours) return *std::move(ours);
  }
  const auto megatron = document_at(store, "metadata.json", max_bytes);
  const bool is_there = megatron && *megatron;
  if (is_there && (**megatron).find("sharded_backend") != nullptr)
    return named_by_megatron(**megatron);
  if (is_zarr) return named_strategies();
  if (!megatron) return megatron.failure();
  if (is_there) return named_by_megatron(**megatron);  // says what it lacks
  return error{errc::not_found, "is not a distributed checkpoint"};
}

ZARRPOINT_INLINE error no_directory(const location& where) {
  return {errc::not_found, "Checkpoint directory " + where.name() + " does not exist"};
}

/// Whether a key of a store was given at which there is nothing.
ZARRPOINT_INLINE bool is_missing_key(const location& where) {
  if (location_access::is_path(where)) return false;
  const auto place = location_access::to_read(where);
  return place && !may_exist(place->store, place->key);
}

ZARRPOINT_INLINE result<load_job> job_to_load(const location& where, const process_group& group,
                                              const group_load_options& options) {
  auto place = detail::location_access::to_read(where, group.how.stores, group.how.limit.memory);
  if (!place && place.failure().code == errc::not_found) return no_directory(where);
  if (!place) return std::move(place).failure();
  any_store store =
      place->key.is_root() ? place->store : any_store(prefix_store(place->store, place->key));
  load_options storage = options.storage;
  // Which tensors a rule lets be cast, their requests have been checked for.
  for (const load_rule& rule : storage.rules) storage.cast = storage.cast || rule.cast.has_value();
  context how = group.how;
  if (place->executor != nullptr) how.executor = *place->executor;
  return load_job{std::move(store), where.name(), std::move(storage), std::move(how)};
}

/// What all processes have in common, by the strategy that the checkpoint or the caller names.
ZARRPOINT_INLINE result<json> load_common_part(const load_job& job, const named_strategies& named,
                                               const process_group& group,
                                               const group_load_options& options) {
  std::optional<strategy_choice> chosen = options.common;
  if (!chosen) {
    ZARRPOINT_TRY(id, named.common);
    chosen = strategy_choice(std::move(id));
  }
  ZARRPOINT_TRY(loader, chosen->resolve(strategy_action::load_common, group.known));
  // One that the caller chose reads what it can where nothing sensible is named.
  if (named.by_checkpoint && named.common) ZARRPOINT_CHECK(loader.check_reads(*named.common));
  return loader.common_loader()->load_common(job);
}

}  // namespace detail

ZARRPOINT_INLINE result<sharded_checkpoint> open_sharded(const location& where,
                                                         const process_group& group,
                                                         const group_load_options& options) {
  ZARRPOINT_TRY(job, detail::job_to_load(where, group, options));
  auto named = detail::find_strategies(job.store, job.how.limit.metadata_bytes);
  if (!named) {
    error failure = std::move(named).failure();
    if (failure.code == errc::not_found && detail::is_missing_key(where))
      return detail::no_directory(where);
    failure.message = job.name + " " + failure.message;
    return failure;
  }
  const auto opened = [&]() -> result<sharded_checkpoint> {
    const strategy_choice sharded(named->sharded);
    ZARRPOINT_TRY(loader, options.sharded.value_or(sharded).resolve(strategy_action::load_sharded,
                                                                    group.known));
    if (named->by_checkpoint) ZARRPOINT_CHECK(loader.check_reads(named->sharded));
    sharded_checkpoint out;
    out.name = job.name;
    ZARRPOINT_TRY(shards, loader.sharded_loader()->open(job));
    out.shards = std::move(shards);
    auto values = detail::load_common_part(job, *named, group, options);
    if (!values) {
      error failure = std::move(values).failure();
      failure.message +=
          "; group_load_options::common = no_common_loader{} loads what is sharded without it";
      return failure;
    }
    if (const json* content = values->find(detail::content_member)) {
      out.content_metadata = *content;
      std::erase_if(*values->if_object(),
                    [](const json::member& m) { return m.key == detail::content_member; });
    }
    out.common = *std::move(values);
    return out;
  };
  return opened().at("open " + job.name);
}

// ---------------------------------------------------------------------------------- group_load.hpp

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

  /// What is said of rules that match no stored tensor.
  result<void> check_rules() {
    const load_options& by = options_.storage;
    const auto key_of = [](const stored_tensor& one) { return std::string_view(one.key); };
    return for_unmatched(
        by.rules, checkpoint_.shards->tensors(), key_of, [&](std::string text) -> result<void> {
          if (by.rules_must_match)
            return error{errc::invalid_argument, "load from " + checkpoint_.name + ": " + text};
          if (by.report != nullptr) by.report->warn(text);
          report_.warnings.push_back(std::move(text));
          return {};
        });
  }

  void begin(const sharded_tensor& tensor) const {
    load_observer* const report = options_.storage.report;
    if (report != nullptr) report->begin(tensor.key(), nullptr, options_.storage);
  }
  void end(const sharded_tensor& tensor) const {
    load_observer* const report = options_.storage.report;
    if (report != nullptr) report->end(tensor.key(), tensor.metadata().data_spec());
  }

  /// Refused before a chunk is read. What the load makes must fit the caller's budget.
  result<void> check_requests() {
    ZARRPOINT_CHECK(check_rules());
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
    progress_meter meter(&progress_, "load", bytes_);
    ZARRPOINT_CHECK(parallel_for(
        group_.how.executor, tensors_.size() + objects_.size(),
        [&](std::size_t i) -> result<void> {
          if (i >= tensors_.size()) return read_object(objects_[i - tensors_.size()]);
          sharded_tensor& tensor = tensors_[i];
          begin(tensor);
          ZARRPOINT_TRY(there, stored(tensor.key()));
          ZARRPOINT_CHECK(
              tensor.init_data(resource_of(group_.how)).at("load " + in_quotes(tensor.key())));
          ZARRPOINT_CHECK(
              fill_shard({*checkpoint_.shards, *there, options_.padding}, tensor, group_.how));
          const std::uint64_t read = byte_count(tensor.metadata().data_spec()).value_or(0);
          bytes += read;
          end(tensor);
          meter.add(tensor.key(), read);
          return {};
        },
        {.stop = group_.how.stop}));
    report_.bytes_read = bytes;
    return {};
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
    for (const sharded_tensor& tensor : tensors_) begin(tensor);
    ZARRPOINT_TRY(bytes, reader.read(tensors_, objects_));
    for (const sharded_tensor& tensor : tensors_) end(tensor);
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
      ZARRPOINT_TRY(read, state_from_json(checkpoint_.common));
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

// ---------------------------------------------------------------------------------- iterations.hpp

ZARRPOINT_INLINE std::string iteration_name(index_t iteration) {
  const std::string digits = std::to_string(iteration);
  return "iter_" + std::string(digits.size() < 7 ? 7 - digits.size() : 0, '0') + digits;
}

ZARRPOINT_INLINE std::optional<index_t> parse_iteration_name(std::string_view name) {
  constexpr std::string_view start = "iter_";
  if (!name.starts_with(start)) return std::nullopt;
  const std::string_view digits = name.substr(start.size());
  index_t out = -1;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (status != std::errc() || out < 0 || iteration_name(out) != name) return std::nullopt;
  return out;
}

ZARRPOINT_INLINE result<location> iteration_at(const location& folder, index_t iteration) {
  if (iteration < 0)
    return error{errc::invalid_argument, "iteration " + std::to_string(iteration) + " is negative"};
  if (detail::location_access::is_path(folder))
    return location(folder.name() + "/" + iteration_name(iteration));
  ZARRPOINT_TRY(place, detail::location_access::to_read(folder));
  ZARRPOINT_TRY(key, place.key.child(iteration_name(iteration)));
  return location(place.store, key);
}

ZARRPOINT_INLINE result<std::vector<index_t>> list_iterations(const location& folder,
                                                              const context& how) {
  std::vector<index_t> out;
  const auto place = detail::location_access::to_read(folder, how.stores, how.limit.memory);
  if (!place && place.failure().code == errc::not_found) return out;
  if (!place) return place.failure();
  ZARRPOINT_TRY(entries, place->store.list(place->key));
  for (const list_entry& entry : entries) {
    const auto iteration = parse_iteration_name(entry.name);
    if (iteration && entry.is_prefix) out.push_back(*iteration);
  }
  std::sort(out.begin(), out.end());
  return out;
}

ZARRPOINT_INLINE result<bool> remove_iteration(const location& folder, index_t iteration,
                                               const context& how) {
  ZARRPOINT_TRY(where, iteration_at(folder, iteration));
  auto place = detail::location_access::to_write(where, true, how.stores);
  if (!place && place.failure().code == errc::not_found) return false;
  if (!place) return std::move(place).failure();
  return place->store.erase_all(place->key);
}

// ----------------------------------------------------------------------------- stored_metadata.hpp

namespace detail {

ZARRPOINT_INLINE result<sharded_checkpoint> open_without_common(const location& where,
                                                                const process_group& group) {
  return open_sharded(where, group, {.common = strategy_choice(no_common_loader{})});
}

ZARRPOINT_INLINE std::map<std::string, sharded_tensor> requests_for_all(
    const sharded_checkpoint& opened) {
  std::map<std::string, sharded_tensor> out;
  for (const stored_tensor& one : opened.shards->tensors()) {
    shard_metadata whole;
    whole.key = one.key;
    whole.type = one.spec.type;
    whole.local_shape = one.spec.shape;
    whole.global_shape = one.spec.shape;
    whole.global_offset = dims(one.spec.shape.rank(), 0);
    whole.fragmentation = dims(one.spec.shape.rank(), 1);
    out.emplace(one.key, sharded_tensor(std::move(whole)));
  }
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::map<std::string, sharded_tensor>> load_tensors_metadata(
    const location& where, const process_group& group) {
  ZARRPOINT_TRY(opened, detail::open_without_common(where, group));
  return detail::requests_for_all(opened);
}

ZARRPOINT_INLINE result<state> load_sharded_metadata(const location& where,
                                                     const process_group& group) {
  ZARRPOINT_TRY(opened, detail::open_without_common(where, group));
  state::map out;
  for (auto& [key, tensor] : detail::requests_for_all(opened)) out.emplace(key, std::move(tensor));
  std::size_t left = 1'000'000;
  for (const object_id& grid : opened.shards->objects()) {
    const write_grid places{grid.global_shape, dims(grid.global_shape.rank(), 1)};
    ZARRPOINT_TRY(count, places.cells());
    if (static_cast<std::uint64_t>(count) > left)
      return error{errc::resource_limit, "it has more than a million objects"};
    left -= static_cast<std::size_t>(count);
    for (index_t i = 0; i < count; ++i) {
      ZARRPOINT_TRY(object,
                    sharded_object::request({grid.key, grid.global_shape, places.cell(i).offset}));
      out.insert_or_assign(object.unique_key(), object);
    }
  }
  return state(std::move(out));
}

ZARRPOINT_INLINE result<std::map<std::string, tensor>> load_plain_tensors(
    const location& where, const process_group& group, const group_load_options& options) {
  ZARRPOINT_TRY(wanted, agree(group.ranks, load_tensors_metadata(where, group)));
  state::list request;
  for (const auto& [key, one] : wanted) {
    shard_metadata whole = one.metadata();
    const std::vector<load_rule>& rules = options.storage.rules;
    if (const dtype* cast = detail::last_set(rules, key, &load_rule::cast)) whole.type = *cast;
    if (const dims* shape = detail::last_set(rules, key, &load_rule::shape)) {
      whole.local_shape = whole.global_shape = *shape;
      whole.global_offset = dims(shape->rank(), 0);
      whole.fragmentation = dims(shape->rank(), 1);
    }
    request.emplace_back(one.with(std::move(whole)));
  }
  state::map tree;
  tree.emplace("tensors", std::move(request));
  group_load_options own = options;
  own.validate = false;  // each process asks for everything
  // What is common may have a member of any name.
  own.common = strategy_choice(no_common_loader{});
  ZARRPOINT_TRY(report, load(where, state(std::move(tree)), group, own));
  std::map<std::string, tensor> out;
  std::size_t i = 0;
  for (const auto& [key, one] : wanted) {
    const state* found = report.loaded.find("tensors/" + std::to_string(i++));
    tensor* value = found != nullptr && found->if_tensor() != nullptr
                        ? found->if_tensor()->get<tensor>()
                        : nullptr;
    if (value == nullptr) return error{errc::not_found, "tensor \"" + key + "\" was not loaded"};
    out.emplace(key, std::move(*value));
  }
  return out;
}

ZARRPOINT_INLINE result<state> load_common_state(const location& where,
                                                 const process_group& group) {
  ZARRPOINT_TRY(opened, open_sharded(where, group));
  if (opened.common.is_null()) return state(state::map{});
  return detail::state_from_json(opened.common);
}

ZARRPOINT_INLINE result<json> load_content_metadata(const location& where,
                                                    const process_group& group) {
  ZARRPOINT_TRY(opened, open_sharded(where, group));
  return std::move(opened.content_metadata);
}

ZARRPOINT_INLINE result<std::vector<std::string>> remove_sharded_tensors(
    const location& where, std::string_view prefix, const process_group& group) {
  // Says what is wrong with the path.
  ZARRPOINT_TRY(opened, detail::open_without_common(where, group));
  ZARRPOINT_TRY(place, detail::location_access::to_write(where, true, group.how.stores));
  any_store store =
      place.key.is_root() ? place.store : any_store(prefix_store(place.store, place.key));
  return opened.shards->remove(store, prefix).at("remove from " + opened.name);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/load/once_bodies.hpp>
#endif
