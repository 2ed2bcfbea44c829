// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/shard_values.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

// What options mean in the layout of Megatron-Core, and what a common.pt that cannot be read stops.

namespace megatron_options_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

process_group group_with(any_communicator ranks = single_process{}) {
  process_group out = group_of(std::move(ranks));
  out.known = megatron::strategies::table();
  return out;
}

/// Two ranks save "w" of 4 rows, half each, and an object.
std::string saved(const memory_store& to, const save_options& storage = {}) {
  return outcome(thread_world::run(2, [&](const thread_communicator& self) {
    const float first = static_cast<float>(6 * self.rank());
    const std::vector<float> rows{first, first + 1, first + 2, first + 3, first + 4, first + 5};
    tensor half = tensor::make({dtype_kind::float32, {2, 3}}).value();
    std::copy(rows.begin(), rows.end(), half.data<float>().begin());
    state tree{{"w", shard("w", std::move(half), {.offsets = {{0, self.rank(), 2}}}).value()},
               {"step", 7}};
    if (self.rank() == 0)
      tree.if_map()->emplace("o", sharded_object::make("o", json_text{"1"}).value());
    return save(to, tree, group_with(self),
                {.storage = storage, .sharded = strategy_choice("zarr", 1)});
  }));
}

std::string text_at(const memory_store& store, std::string_view name) {
  const auto bytes = get(store, key(name), 1 << 20).value();
  return bytes ? std::string(as_text(*bytes)) : std::string();
}

template <class T>
std::string wrong_numbers(const tensor& of, index_t count) {
  if (of.size() != static_cast<std::size_t>(count)) return "another size";
  for (index_t i = 0; i < count; ++i)
    if (static_cast<float>(of.data<T>()[static_cast<std::size_t>(i)]) !=
        (i < 12 ? static_cast<float>(i) : 0))
      return "element " + std::to_string(i);
  return "";
}

TEST_CASE("megatron_options: a rule casts what is stored") {
  const memory_store store;
  REQUIRE(saved(store, {.rules = {{.glob = "w", .cast = dtype_kind::bfloat16}}}) == "done");
  CHECK(has(text_at(store, "w/.zarray"), "\"bfloat16\""));
  CHECK(text_at(store, "w/0.0").size() == 2 * 3 * 2);
  const auto values = load_plain_tensors(store, group_with()).value();
  CHECK(values.at("w").type() == dtype_kind::bfloat16);
  CHECK(wrong_numbers<bfloat16>(values.at("w"), 12).empty());
  // One that matches nothing changes nothing; what the layout has not is refused by name.
  const memory_store plain;
  REQUIRE(saved(plain, {.rules = {{.glob = "v", .cast = dtype_kind::bfloat16}}}) == "done");
  CHECK(has(text_at(plain, "w/.zarray"), "\"<f4\""));
  for (const dtype_kind to : {dtype_kind::float8_e4m3fn, dtype_kind::string}) {
    const memory_store none;
    const std::string refused = saved(none, {.rules = {{.cast = to}}});
    CHECK(refused.starts_with("unsupported: "));
    CHECK(has(refused, "save \"w\""));
  }
}

TEST_CASE("megatron_options: what the layout does not have is refused, and not left out") {
  const struct {
    save_options storage;
    const char* said;
  } wrong[] = {
      {{.rules = {{.chunk_shape = dims{1, 3}}}}, "a rule sets chunk_shape"},
      {{.rules = {{.shard_shape = dims{4, 3}}}}, "a rule sets shard_shape"},
      {{.rules = {{.chunk_byte_size = 23}}}, "a rule sets chunk_byte_size"},
      {{.rules = {{.codecs = zstd_codecs()}}}, "a rule sets codecs"},
      {{.rules = {{.codecs = {{"bytes", json::object{{"endian", "big"}}}}}}}, "a rule sets codecs"},
      {{.rules = {{.codecs = {{"bytes"}, {"crc32c"}}}}}, "a rule sets codecs"},
      {{.rules = {{.glob = "w", .codecs = std::vector<codec_spec>()}}}, "a rule sets codecs"},
      {{.attributes = json::object{{"run", 7}}}, "save_options::attributes"},
      {{.attributes = json::object{}}, "save_options::attributes"},
  };
  for (const auto& one : wrong) {
    CAPTURE(one.said);
    const memory_store store;
    const std::string refused = saved(store, one.storage);
    CAPTURE(refused);
    CHECK(refused.starts_with("invalid_argument: "));
    CHECK(has(refused, "save \"w\": "));
    CHECK(has(refused, one.said));
    CHECK(text_at(store, "metadata.json").empty());
  }
  // A save of no tensor has attributes, too.
  const memory_store none;
  const auto report = save(
      none, state{{"step", 1}}, group_with(),
      {.storage = {.attributes = json::object{{"run", 7}}}, .sharded = strategy_choice("zarr", 1)});
  CHECK(report.failure().code == errc::invalid_argument);
  CHECK(text_at(none, "metadata.json").empty());
  // What the layout is anyway may be asked for.
  const memory_store store;
  CHECK(saved(store, {.rules = {{.chunk_shape = dims{2, 3},
                                 .shard_shape = dims{2, 3},
                                 .chunk_byte_size = 24,
                                 .codecs = raw_codecs()},
                                {.glob = "v", .codecs = zstd_codecs()}}}) == "done");
  CHECK(saved(store, {.rules = {{.codecs = {{"bytes"}}}}}) == "done");
  CHECK(saved(store, {.rules = {{.codecs = {{"bytes", json::object{}}}}}}) == "done");
  CHECK(wrong_numbers<float>(load_plain_tensors(store, group_with())->at("w"), 12).empty());
}

TEST_CASE("megatron_options: a missing chunk is an error if the caller says so") {
  const memory_store store;
  REQUIRE(saved(store) == "done");
  std::string document = text_at(store, "w/.zarray");
  const auto at = document.find("\"fill_value\": null");
  REQUIRE(at != document.npos);
  REQUIRE(store.erase(key("w/1.0")).value());
  const auto values = [&](bool allowed) {
    return load_plain_tensors(store, group_with(), {.storage = {.allow_missing_chunks = allowed}});
  };
  for (const bool allowed : {false, true}) CHECK(values(allowed).failure().code == errc::not_found);
  document.replace(at + 14, 4, "0.0");
  store.put(key("w/.zarray"), as_bytes(document)).value();
  CHECK(values(true)->at("w").data<float>()[11] == 0);
  const error missing = values(false).failure();
  CHECK(missing.code == errc::not_found);
  CHECK(has(missing.message, "chunk 1.0"));
}

TEST_CASE("megatron_options: rules for loads apply to tensors that are not described") {
  const memory_store theirs;
  REQUIRE(saved(theirs) == "done");
  const memory_store ours;
  auto values = load_plain_tensors(theirs, group_with()).value();
  REQUIRE(save(ours, state{{"w", shard("w", values.at("w")).value()}}, group_with()));
  for (const memory_store& store : {theirs, ours}) {
    const load_options rules{
        .rules = {{.glob = "w", .cast = dtype_kind::float64, .shape = dims{5, 3}}}};
    for (const bool once : {false, true}) {
      const auto each = thread_world::run(2, [&](const thread_communicator& self) {
        return load_plain_tensors(store, group_with(self), {.storage = rules, .read_once = once});
      });
      REQUIRE(outcome(each) == "done");
      for (const auto& one : each) {
        CHECK(one->at("w").type() == dtype_kind::float64);
        CHECK(one->at("w").spec().shape == dims{5, 3});
        CHECK(wrong_numbers<double>(one->at("w"), 15).empty());
      }
    }
    CHECK(load_plain_tensors(store, group_with(), {.storage = {.rules = {{.shape = dims{12}}}}})
              .failure()
              .code == errc::shape_mismatch);
    CHECK(load_plain_tensors(store, group_with(),
                             {.storage = {.rules = {{.cast = dtype_kind::string}}}})
              .failure()
              .code == errc::unsupported);
  }
}

TEST_CASE("megatron_options: a common.pt that cannot be read stops nothing that is sharded") {
  using change = std::function<void(const memory_store&)>;
  const auto put = [](const char* name, const std::string& text) -> change {
    return [=](const memory_store& store) { store.put(key(name), as_bytes(text)).value(); };
  };
  const struct {
    const char* what;
    change damage;
    const char* said;
  } cases[] = {
      {"damaged", put("common.pt", "PK\x03\x04 and no more"), "corrupt"},
      {"missing", [](const memory_store& store) { store.erase(key("common.pt")).value(); },
       "not_found"},
      {"of another backend",
       put("metadata.json", megatron::detail::to_json({"zarr", 1, "other", 3})), "(other, 3)"},
      {"larger than a limit",
       [](const memory_store& store) {
         const json large = json::object{{"text", std::string(100'000, 'x')}};
         megatron::detail::write_common(store, torch::value(large)).value();
       },
       "resource_limit"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.what);
    const memory_store store;
    REQUIRE(saved(store) == "done");
    one.damage(store);
    process_group group = group_with();
    group.how.limit.memory = 50'000;
    CHECK(load_tensors_metadata(store, group).value().size() == 1);
    const state all = load_sharded_metadata(store, group).value();
    CHECK(all.if_map()->size() == 2);
    CHECK(wrong_numbers<float>(load_plain_tensors(store, group)->at("w"), 12).empty());
    const auto refused = load(store, all, group);
    REQUIRE_FALSE(refused);
    const std::string text = to_string(refused.failure());
    CAPTURE(text);
    CHECK(has(text, one.said));
    CHECK(has(text, "group_load_options::common = no_common_loader{} loads what is sharded"));
    CHECK(load_common_state(store, group).failure().code == refused.failure().code);
    const auto ranks = thread_world::run(2, [&](const thread_communicator& self) {
      const auto half =
          from_rank_offsets("w", {dtype_kind::float32, {2, 3}}, {.offsets = {{0, self.rank(), 2}}});
      process_group together = group;
      together.ranks = self;
      return load(store, state{{"w", sharded_tensor(half.value())}}, together,
                  {.common = no_common_loader{}});
    });
    REQUIRE(outcome(ranks) == "done");
    CHECK(ranks[1]->loaded.find("step") == nullptr);
    CHECK(ranks[1]->loaded.find("w")->if_tensor()->get<tensor>()->data<float>()[5] == 11);
    CHECK(remove_sharded_tensors(store, "w", group).value() == std::vector<std::string>{"w"});
    CHECK(load_tensors_metadata(store, group).value().empty());
  }
}

}  // namespace megatron_options_test
