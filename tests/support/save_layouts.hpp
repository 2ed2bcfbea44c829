// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests of the protocol of saves save: a format is a line of `layouts`. Paths may be URLs of
// S3, `s3://bucket/...`, whose server is `bucket_access`'s.

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/safetensors/group_format.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>
#include <zarrpoint/s3.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint_test::save_layouts {

using namespace zarrpoint;

/// The server of `s3://`, which a test sets; none else.
struct bucket_access {
  inline static std::optional<any_transport> by{};
  inline static s3_options how{};
  static any_transport transport() { return by.value(); }
  static s3_options s3() { return how; }
};
using bucket_scheme = s3_scheme_by<bucket_access>;
inline context by_bucket() { return {.stores = formats<bucket_scheme>()}; }

inline constexpr index_t elements = 12;  // of each rank

/// What a process has: rows of the tensor `name` and of others, which tell of a
/// step.
struct part {
  part(const any_communicator& ranks, int step, std::string of = "w")
      : name(std::move(of)), values(static_cast<std::size_t>(elements), static_cast<float>(step)) {
    at = {.offsets = {{0, ranks.rank(), ranks.size()}}};
  }
  std::vector<sharded_tensor> shards() {
    std::vector<sharded_tensor> out;
    for (int i = 0; i < tensors + more; ++i)
      out.push_back(shard(i == 0 ? name : name + std::to_string(i), values, at).value());
    return out;
  }
  state::map boxes() {
    state::map out;
    for (const sharded_tensor& one : shards()) out.emplace(one.key(), one);
    return out;
  }
  state tree() {
    state::map out = boxes();
    if (pieces.empty()) return state(std::move(out));
    // Cells of several processes, which send each other elements.
    const index_t rank = at.offsets[0].position, ranks = at.offsets[0].count;
    const index_t start = rank * (rank + 1) / 2;
    pieces.assign(static_cast<std::size_t>(rank) + 1, values.front());
    out.emplace("flat", shard_flat("flat", pieces,
                                   {.local_shape = {ranks * (ranks + 1) / 2},
                                    .range = {start, start + rank + 1}})
                            .value());
    return state(std::move(out));
  }

  std::string name;
  std::vector<float> values;
  std::vector<float> pieces{};
  sharding at;
  int tensors = 1;
  int more = 0;  // where a tensor is whole in one process, so that each has one
  std::shared_ptr<plan_cache> plans{};
};

/// Saves in the background.
struct saves {
  virtual ~saves() = default;
  virtual result<void> schedule(const std::string& path, part& mine) = 0;
  virtual result<std::size_t> finalize() = 0;
};

/// A format behind the protocol.
struct layout {
  std::string name;
  /// Whether the plan that was kept is used.
  std::function<result<bool>(const any_communicator&, const location&, part&, const context&)> save;
  std::function<std::unique_ptr<saves>(const any_communicator&)> in_background;
  std::function<result<std::vector<float>>(const std::string& path)> load;
};

struct state_saves final : saves {
  state_saves(const any_communicator& ranks, group_save_options how)
      : queue({.ranks = ranks, .how = by_bucket(), .known = megatron::strategies::table()}),
        options(std::move(how)) {
    options.storage.sync = false;
    if (options.storage.format.get_if<safetensors::group_format>() != nullptr)
      more = ranks.size() - 1;
  }
  result<void> schedule(const std::string& path, part& mine) override {
    mine.more = more;
    return queue.schedule(path, options.storage.format ? mine.boxes() : mine.tree(), options);
  }
  result<std::size_t> finalize() override {
    return queue.finalize().transform([](const auto& all) { return all.size(); });
  }
  async_saves queue;
  group_save_options options;
  int more = 0;
};

using loader = std::function<result<std::vector<float>>(const std::string& path)>;

/// A format by the one call that all have.
inline layout of_state(std::string name, const group_save_options& options, loader load) {
  return {std::move(name),
          [options](const any_communicator& ranks, const location& where, part& mine,
                    const context& how) -> result<bool> {
            group_save_options own = options;
            own.storage.sync = false;
            own.storage.plans = mine.plans;
            if (own.storage.format.get_if<safetensors::group_format>() != nullptr)
              mine.more = ranks.size() - 1;
            const state tree = options.storage.format ? mine.boxes() : mine.tree();
            return save(where, tree,
                        {.ranks = ranks, .how = how, .known = megatron::strategies::table()}, own)
                .transform([](const auto& report) { return report.plan_reused; });
          },
          [options](const any_communicator& ranks) {
            return std::make_unique<state_saves>(ranks, options);
          },
          std::move(load)};
}

inline layout of_strategy(std::string name, const strategy_choice& sharded) {
  return of_state(
      std::move(name), {.sharded = sharded},
      [](const std::string& path) -> result<std::vector<float>> {
        ZARRPOINT_TRY(known, load_tensors_metadata(path, {.how = by_bucket(),
                                                          .known = megatron::strategies::table()}));
        std::vector<float> out(
            static_cast<std::size_t>(element_count(known.at("w").metadata().global_shape).value()));
        ZARRPOINT_TRY(w, shard("w", out));
        ZARRPOINT_CHECK(load(path, state{{"w", w}},
                             {.how = by_bucket(), .known = megatron::strategies::table()}));
        return out;
      });
}

template <class Format, class Reads = Format>
layout of_format(std::string name, Format format) {
  return of_state(std::move(name), {.storage = {.format = std::move(format)}},
                  [](const std::string& path) -> result<std::vector<float>> {
                    ZARRPOINT_TRY(from, open(path, {.stores = formats<Reads, bucket_scheme>()}));
                    return from.template load<std::vector<float>>("w");
                  });
}

inline const std::vector<layout>& layouts() {
  static const std::vector<layout> all{
      of_strategy("zarr", {"zarr", 3}),
      of_strategy("megatron", {"zarr", 1}),
      of_strategy("torch_dist", {"torch_dist", 1}),
      of_format("orbax", orbax::format{}),
      of_format("orbax in directories", orbax::format{.ocdbt = false}),
      of_format("dcp", dcp::format{}),
      of_format<safetensors::group_format, safetensors::format>("safetensors", {})};
  return all;
}

/// The step of which all elements are; else what is wrong.
inline std::string step_in(const layout& in, const std::string& path) {
  const auto all = in.load(path);
  if (!all) return to_string(all.failure());
  for (const float one : *all)
    if (one != all->front()) return "elements of several steps";
  return std::to_string(static_cast<int>(all->front()));
}

inline bool has(const std::string& text, std::string_view of) { return text.find(of) != text.npos; }

template <class T>
std::string told(const result<T>& of) {
  return of ? "saved" : to_string(of.failure());
}

}  // namespace zarrpoint_test::save_layouts
