// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stored_metadata_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr index_t rows = 2;
constexpr index_t columns = 3;

sharded_object object_at(const std::string& key, const dims& shape, const dims& offset) {
  return sharded_object::request(key, {.global_shape = shape, .global_offset = offset}).value();
}

sharded_object with_text(const sharded_object& of) {
  const std::string text = "value of " + of.unique_key();
  const bytes_view bytes = as_bytes(text);
  return of.with_bytes({bytes.begin(), bytes.end()});
}

/// Two ranks: a tensor by halves, one with a prepended axis, a scalar, objects in grids of rank 2
/// and 0, and common values with names like those of tensors.
state sample(int rank) {
  const auto shard = [&](const char* key, const tensor_spec& local, sharding where) {
    return with_values(from_rank_offsets(key, local, where).value(), 7);
  };
  state::list grid;
  for (index_t i = rank; i < rows * columns; i += 2)
    grid.emplace_back(with_text(object_at("a.grid", {rows, columns}, {i / columns, i % columns})));
  state out{{"half", shard("a.w", {dtype_kind::float32, {4, 3}}, {.offsets = {{0, rank, 2}}})},
            {"layer", shard("b/layers", {dtype_kind::bfloat16, {5}},
                            {.offsets = {{0, rank, 2}}, .prepended_axes = 1})},
            {"scalar", shard("b/scalar", {dtype_kind::int64, {}}, {.replica = rank})},
            {"grid", std::move(grid)},
            {"tensors", "a common value"},
            {"a.w", 3}};
  if (rank == 0) out.if_map()->emplace("one", with_text(object_at("one", {}, {})));
  return out;
}

memory_store saved_sample(const json& content = {}) {
  const memory_store out;
  group_save_options how;
  how.content_metadata = content;
  REQUIRE(save_by(2, out, sample, how) == "done");
  return out;
}

std::vector<std::string> keys_of(const std::map<std::string, sharded_tensor>& of) {
  std::vector<std::string> out;
  for (const auto& [key, tensor] : of) out.push_back(key);
  return out;
}

/// Every tensor that there is has the right values.
std::string wrong_in_store(const location& where) {
  std::string wrong;
  const auto wanted = load_sharded_metadata(where, group_of({}));
  if (!wanted) return to_string(wanted.failure());
  group_load_options how;
  how.common = no_common_loader{};  // it has members of these names
  const auto report = load(where, *wanted, group_of({}), how);
  if (!report) return to_string(report.failure());
  for (const auto& [key, leaf] : *report->loaded.if_map()) {
    if (const sharded_tensor* one = leaf.if_tensor()) wrong += wrong_in(*one, 7);
    if (const sharded_object* one = leaf.if_object()) {
      if (as_text(one->bytes()) != "value of " + key) wrong += key + "; ";
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("STR-4, SER-6: tensors and objects by what is stored alone, each a request for it") {
  const memory_store store = saved_sample();
  const auto tensors = load_tensors_metadata(store).value();
  REQUIRE(keys_of(tensors) == std::vector<std::string>{"a.w", "b/layers", "b/scalar"});
  const shard_metadata w{.key = "a.w",
                         .type = dtype_kind::float32,
                         .local_shape = {8, 3},
                         .global_shape = {8, 3},
                         .global_offset = {0, 0},
                         .fragmentation = dims{1, 1}};
  CHECK(tensors.at("a.w").metadata() == w);
  const shard_metadata scalar{
      .key = "b/scalar", .type = dtype_kind::int64, .fragmentation = dims{}};
  CHECK(tensors.at("b/scalar").metadata() == scalar);
  CHECK(tensors.at("b/layers").metadata().global_shape == dims{2, 5});
  for (const auto& [key, one] : tensors) {
    CHECK(one.validate());
    CHECK_FALSE(one.has_data());
  }

  const state all = load_sharded_metadata(store).value();
  CHECK(all.if_map()->size() == 3 + rows * columns + 1);
  for (index_t i = 0; i < rows * columns; ++i) {
    const sharded_object expected =
        object_at("a.grid", {rows, columns}, {i / columns, i % columns});
    const auto found = all.if_map()->find(expected.unique_key());
    REQUIRE(found != all.if_map()->end());
    CHECK(*found->second.if_object() == expected);
  }
  CHECK(all.if_map()->contains("one/shard__"));
  CHECK(wrong_in_store(store).empty());
  // Asked for as it is by any number of processes, all of which get all of it.
  group_load_options how{.validate = false};
  how.common = no_common_loader{};
  CHECK(load_by(
            3, store, [&](int) { return all; },
            [](int, const group_load_report& report) {
              std::string wrong;
              for (const auto& [key, leaf] : *report.loaded.if_map())
                if (leaf.if_tensor() != nullptr) wrong += wrong_in(*leaf.if_tensor(), 7);
              return wrong;
            },
            how) == "done");
  how.validate = true;
  const auto anything = [](int, const group_load_report&) { return std::string(); };
  CHECK(load_by(
            3, store, [&](int) { return all; }, anything, how)
            .find("group_load_options::validate = false") != std::string::npos);
}

TEST_CASE("STR-4: plain tensors, whole on every rank, whatever is common beside them") {
  const memory_store store = saved_sample();
  const auto reports = thread_world::run(
      3, [&](const thread_communicator& self) -> result<std::map<std::string, tensor>> {
        return load_plain_tensors(store, group_of(self), {.read_once = self.size() > 1});
      });
  REQUIRE(outcome(reports) == "done");
  for (const auto& report : reports) {
    REQUIRE(report->size() == 3);
    for (const auto& [key, request] : load_tensors_metadata(store).value()) {
      const tensor& got = report->at(key);
      const tensor expected = values_of(request.metadata(), 7);
      REQUIRE(got.spec() == expected.spec());
      CHECK(std::memcmp(got.view().data, expected.view().data,
                        expected.size() * expected.type().size()) == 0);
    }
  }
  const memory_store none;
  CHECK(save_by(1, none, [](int) { return state{{"step", 1}}; }) == "done");
  CHECK(load_plain_tensors(none).value().empty());
  CHECK(load_sharded_metadata(none)->if_map()->empty());
}

TEST_CASE("SER-13, SER-14: content metadata, to the last number; none is not an empty one") {
  const json documents[] = {
      json(json::object{}),
      json(json::object{{"a", json::object{}}, {"b", json::array{}}, {"c", json()}}),
      json(json::object{{"big", json(std::uint64_t{18446744073709551615U})},
                        {"real", 0.1},
                        {"small", json(std::int64_t{INT64_MIN})},
                        {"text", "\xc3\xa9 \"quoted\" /~"}})};
  for (const json& document : documents) {
    const memory_store store = saved_sample(document);
    const json found = load_content_metadata(store).value();
    CHECK(found == document);
    CHECK_FALSE(found.is_null());
    // It is not part of what is common.
    const state common = load_common_state(store).value();
    CHECK(common.find("content_metadata") == nullptr);
    CHECK(common.get<int>("a.w").value() == 3);
    CHECK(common.get<std::string>("tensors").value() == "a common value");
  }
  CHECK(load_content_metadata(saved_sample()).value().is_null());
}

TEST_CASE("stored_metadata: damage to what is common stops nothing that is sharded") {
  const memory_store store = saved_sample();
  const store_key common = store_key::parse("common_state/c/0").value();
  REQUIRE(store.open(common).value() != nullptr);
  store.put(common, as_bytes(std::string_view("{}"))).value();
  CHECK(load_tensors_metadata(store).value().size() == 3);
  CHECK(wrong_in_store(store).empty());
  CHECK(load_plain_tensors(store).value().size() == 3);
  const error refused = load(store, state(state::map{}), group_of({})).failure();
  CHECK(refused.code == errc::corrupt);
  CHECK(refused.message.find("group_load_options::common = no_common_loader{}") !=
        std::string::npos);
  CHECK(load_common_state(store).failure().code == errc::corrupt);
  CHECK(load_content_metadata(store).failure().code == errc::corrupt);
  CHECK(remove_sharded_tensors(store, "a.w").value() == std::vector<std::string>{"a.w"});
  CHECK(wrong_in_store(store).empty());
}

TEST_CASE("stored_metadata: what is not a checkpoint, and a store of arrays that others wrote") {
  const memory_store nothing;
  CHECK(load_tensors_metadata(nothing).failure().code == errc::not_found);
  CHECK(load_sharded_metadata(nothing).failure().code == errc::not_found);
  CHECK(load_plain_tensors(nothing).failure().code == errc::not_found);
  CHECK(load_common_state(nothing).failure().code == errc::not_found);
  CHECK(load_content_metadata(nothing).failure().code == errc::not_found);
  CHECK(remove_sharded_tensors(nothing, "").failure().code == errc::not_found);
  // Of one process, without a common state.
  const memory_store one;
  const std::vector<float> values{1, 2, 3};
  const std::vector<leaf> leaves{leaf("a", values), leaf("b", values)};
  REQUIRE(save(one, leaves));
  CHECK(keys_of(load_tensors_metadata(one).value()) == std::vector<std::string>{"a", "b"});
  CHECK(load_common_state(one)->if_map()->empty());
  CHECK(load_content_metadata(one).value().is_null());
  CHECK(remove_sharded_tensors(one, "a").value() == std::vector<std::string>{"a"});
  CHECK(load_plain_tensors(one).value().size() == 1);
  // A group that we did not save.
  const memory_store theirs;
  store_key root = store_key::parse("zarr.json").value();
  theirs.put(root, as_bytes(std::string_view(R"({"zarr_format": 3, "node_type": "group"})")))
      .value();
  CHECK(load_tensors_metadata(theirs).value().empty());
  CHECK(remove_sharded_tensors(theirs, "a").failure().code == errc::unsupported);
}

namespace {

/// As many objects as a grid can say.
struct endless_loader {
  static constexpr std::string_view name = "endless_loader";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::load_sharded;

  struct reader final : sharded_reader {
    std::vector<object_id> all;
    explicit reader(dims shape) {
      all.push_back({"o", shape, dims(shape.rank(), 0)});
      all.push_back({"p", {1'000'000}, {0}});
    }
    std::span<const stored_tensor> tensors() const override { return {}; }
    std::span<const object_id> objects() const override { return all; }
    result<void> read(std::string_view, const box&, const mutable_host_view&) const override {
      return {};
    }
  };

  dims shape;
  result<std::shared_ptr<sharded_reader>> open(const load_job&) const {
    return std::shared_ptr<sharded_reader>(std::make_shared<reader>(shape));
  }
};

}  // namespace

TEST_CASE("stored_metadata: a format with more objects than memory, and without removal") {
  const memory_store store = saved_sample();
  for (const dims& shape :
       {dims{1'000'000'000}, dims{INT64_MAX}, dims{1 << 20, 1 << 20}, dims{1}}) {
    process_group group = group_of({});
    group.known =
        strategy_table({any_strategy(endless_loader{shape}), any_strategy(json_common_loader{})});
    CHECK(load_sharded_metadata(store, group).failure().code == errc::resource_limit);
    CHECK(remove_sharded_tensors(store, "", group).failure().code == errc::unsupported);
  }
}

TEST_CASE("SER-11: a prefix is a text; what is common stays, all else may go") {
  const auto left = [](std::string_view prefix) {
    const memory_store store = saved_sample(json::object{{"kept", true}});
    const auto removed = remove_sharded_tensors(store, prefix).value();
    CHECK(wrong_in_store(store).empty());
    CHECK(load_common_state(store)->get<int>("a.w").value() == 3);
    CHECK(load_content_metadata(store).value() == json(json::object{{"kept", true}}));
    for (const std::string& key : removed) {
      CHECK(key.starts_with(prefix));
      CHECK(store.list(store_key::parse(key).value()).value().empty());
    }
    // Once more there is nothing to remove.
    CHECK(remove_sharded_tensors(store, prefix).value().empty());
    return removed;
  };
  using keys = std::vector<std::string>;
  CHECK(left("a.") == keys{"a.grid", "a.w"});
  CHECK(left("a.w") == keys{"a.w"});
  CHECK(left("b/") == keys{"b/layers", "b/scalar"});
  CHECK(left("b/s") == keys{"b/scalar"});
  CHECK(left("o") == keys{"one"});
  CHECK(left("w").empty());
  CHECK(left("common").empty());
  CHECK(left("") == keys{"a.grid", "a.w", "b/layers", "b/scalar", "one"});
}

namespace {

/// Fails for good after so many changes, as if the process had died.
class dying_store {
 public:
  dying_store(memory_store base, int changes)
      : base_(std::move(base)), left_(std::make_shared<std::atomic<int>>(changes)) {}

  auto open(const store_key& key) const { return base_.open(key); }
  std::string describe(const store_key& key) const { return base_.describe(key); }
  auto list(const store_key& key) const { return base_.list(key); }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    ZARRPOINT_CHECK(alive());
    return base_.create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    ZARRPOINT_CHECK(alive());
    return base_.put(key, bytes);
  }
  result<bool> erase(const store_key& key) const {
    ZARRPOINT_CHECK(alive());
    return base_.erase(key);
  }
  result<bool> erase_all(const store_key& key) const {
    ZARRPOINT_CHECK(alive());
    return base_.erase_all(key);
  }

 private:
  result<void> alive() const {
    if ((*left_)-- > 0) return {};
    return error{errc::io, "the process died"};
  }

  memory_store base_;
  std::shared_ptr<std::atomic<int>> left_;
};

}  // namespace

TEST_CASE(
    "SER-11: a removal that is killed at any step leaves a checkpoint, whole with or without") {
  const auto before = keys_of(load_tensors_metadata(saved_sample()).value());
  int steps = 0;
  for (bool done = false; !done; ++steps) {
    REQUIRE(steps < 100);
    CAPTURE(steps);
    const memory_store store = saved_sample();
    const auto removed = remove_sharded_tensors(dying_store(store, steps), "b/", group_of({}));
    done = removed.has_value();
    if (!done) CHECK(removed.failure().code == errc::io);
    const auto there = keys_of(load_tensors_metadata(store).value());
    CHECK((there == before || there == std::vector<std::string>{"a.w"}));
    if (done) CHECK(there.size() == 1);
    CHECK(wrong_in_store(store).empty());
    // The next one ends it.
    if (there == before) CHECK(remove_sharded_tensors(store, "b/").value().size() == 2);
    CHECK(keys_of(load_tensors_metadata(store).value()) == std::vector<std::string>{"a.w"});
    CHECK(wrong_in_store(store).empty());
    // What is left of their objects is not part of the checkpoint: the next save names it.
    const auto next = save(store, state{{"step", 1}}, group_of({}));
    REQUIRE(next);
    const bool is_left = store.erase_all(store_key::parse("b").value()).value();
    CHECK(next->kept.empty() != is_left);
    CHECK(wrong_in_store(store).empty());
  }
  CHECK(steps > 3);
}

}  // namespace stored_metadata_test
