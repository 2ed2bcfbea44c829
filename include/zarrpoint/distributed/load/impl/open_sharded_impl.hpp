// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<strategy_id> id_of(const node* backend, const node* version) {
  const std::string* name = backend != nullptr ? backend->if_string() : nullptr;
  const auto number = version != nullptr ? version->to_int64() : std::nullopt;
  if (name == nullptr || !number || *number < 0 || *number > 1'000'000)
    return error{errc::corrupt, "its metadata do not name a backend and a version"};
  return strategy_id{*name, static_cast<int>(*number)};
}

ZARRPOINT_INLINE result<std::optional<node>> document_at(const any_store& store,
                                                         std::string_view file,
                                                         std::size_t max_bytes) {
  ZARRPOINT_TRY(key, store_key::parse(file));
  ZARRPOINT_TRY(bytes, get(store, key, max_bytes));
  if (!bytes) return std::optional<node>();
  ZARRPOINT_TRY(parsed, parse_json(*bytes, {.max_bytes = max_bytes}).at(std::string(file)));
  return std::optional<node>(std::move(parsed));
}

/// As Megatron-Core has it in `metadata.json`.
ZARRPOINT_INLINE result<named_strategies> named_by_megatron(const node& document) {
  ZARRPOINT_TRY(sharded,
                id_of(document.find("sharded_backend"), document.find("sharded_backend_version")));
  named_strategies out{true, std::move(sharded), strategy_id{"torch", 1}};
  // Some versions of Megatron-Core name only the first.
  if (const node* backend = document.find("common_backend"))
    out.common = id_of(backend, document.find("common_backend_version"));
  return out;
}

/// As we have it in the attributes of the root: nothing where no checkpoint of ours is.
ZARRPOINT_INLINE result<std::optional<named_strategies>> named_by_root(const node& document,
                                                                       bool is_attributes) {
  const node* attributes = is_attributes ? &document : document.find("attributes");
  const node* named = attributes != nullptr ? attributes->find(strategies_member) : nullptr;
  std::optional<named_strategies> out;
  if (named == nullptr) {
    if (holds_commit(document, is_attributes)) out.emplace();  // of one process
    return out;
  }
  const auto pair = [&](std::string_view which) -> result<strategy_id> {
    const node* found = named->find(which);
    const node::array* both = found != nullptr ? found->if_array() : nullptr;
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
  return load_job{std::move(store), where.name(), std::move(storage), group.how};
}

/// What all processes have in common, by the strategy that the checkpoint or the caller names.
ZARRPOINT_INLINE result<node> load_common_part(const load_job& job, const named_strategies& named,
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
    if (const node* content = values->find(detail::content_member)) {
      out.content_metadata = *content;
      std::erase_if(*values->if_object(),
                    [](const node::member& m) { return m.key == detail::content_member; });
    }
    out.common = *std::move(values);
    return out;
  };
  return opened().at("open " + job.name);
}

}}  // namespace zarrpoint::v0
