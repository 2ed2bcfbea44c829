// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_shared_tree.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"
#include "support/hooked_publisher.hpp"
#include "support/orbax_folders.hpp"
#include "support/random_sharding.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Checkpoints of Orbax that several processes save: threads here, and processes where one dies.

namespace orbax_group_save_test {

using namespace zarrpoint;
using orbax::empty_value;
using orbax::tree_item;
using zarrpoint_test::layouts;
using zarrpoint_test::names_in;
using zarrpoint_test::tree_options;
namespace fs = std::filesystem;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<orbax::format>()});
}

orbax::tree_store tree_at(const std::string& path) {
  return orbax::tree_store::open(file_store::open(path, {.read_only = true}).value(),
                                 store_key::root())
      .value();
}

/// The elements 0, 1, 2 and so on.
tensor counted(const dims& shape, float first = 0) {
  tensor out = tensor::make({dtype_kind::float32, shape}).value();
  const index_t count = element_count(shape).value();
  for (index_t n = 0; n < count; ++n) {
    const float value = first + static_cast<float>(n);
    std::memcpy(out.mutable_view().data + n * 4, &value, 4);
  }
  return out;
}

bool same(const tensor& a, const tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::memcmp(a.view().data, b.view().data, byte_count(a.spec()).value()) == 0;
}

/// A box of `whole`, or elements that are one, as a shard.
sharded_tensor shard_of(const std::string& name, const tensor& whole, const box& at) {
  shard_metadata of{.key = name,
                    .type = whole.type(),
                    .local_shape = at.shape,
                    .global_shape = whole.shape(),
                    .global_offset = at.offset};
  return sharded<host_view>::make(of, subview(whole.view(), selection(at))).value();
}

std::map<std::string, std::string> texts_in(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      out[fs::relative(entry.path(), folder).string()] = test::read_file(entry.path());
  return out;
}

bool refuses(const result<save_report>& of, errc code, std::string_view text) {
  REQUIRE_FALSE(of);
  INFO(to_string(of.failure()), " / ", text);
  CHECK(of.failure().code == code);
  CHECK(of.failure().message.find(text) != std::string::npos);
  return of.failure().code == code && of.failure().message.find(text) != std::string::npos;
}

/// Cuts of an array of 12 x 10 for so many processes.
struct cuts {
  const char* name;
  std::function<std::vector<std::vector<box>>(int ranks)> of;
};

std::vector<box> along(std::size_t axis, const std::vector<index_t>& edges) {
  std::vector<box> out;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    box part = box::whole({12, 10});
    part.offset[axis] = edges[i];
    part.shape[axis] = edges[i + 1] - edges[i];
    out.push_back(part);
  }
  return out;
}

std::vector<std::vector<box>> one_each(std::vector<box> parts) {
  std::vector<std::vector<box>> out;
  for (box& part : parts) out.push_back({std::move(part)});
  return out;
}

const std::vector<cuts>& all_cuts() {
  static const std::vector<cuts> out{
      {"rows",
       [](int ranks) {
         std::vector<index_t> edges;
         for (index_t i = 0; i <= ranks; ++i) edges.push_back(12 * i / ranks);
         return one_each(along(0, edges));
       }},
      {"columns, uneven",
       [](int ranks) {
         std::vector<index_t> edges;
         for (index_t i = 0; i <= ranks; ++i) edges.push_back(10 * i / ranks);
         return one_each(along(1, edges));
       }},
      {"a mesh",
       [](int ranks) {
         std::vector<std::vector<box>> out(static_cast<std::size_t>(ranks));
         for (index_t i = 0; i < 3; ++i)
           for (index_t j = 0; j < 2; ++j)
             out[static_cast<std::size_t>(i * 2 + j) % out.size()].push_back(
                 {{4 * i, 5 * j}, {4, 5}});
         return out;
       }},
      {"replicated",
       [](int ranks) {
         return std::vector<std::vector<box>>(static_cast<std::size_t>(ranks),
                                              {box::whole({12, 10})});
       }},
      {"halves, replicated",
       [](int ranks) {
         std::vector<std::vector<box>> out(static_cast<std::size_t>(ranks));
         for (std::size_t r = 0; r < out.size(); ++r) out[r].push_back(along(0, {0, 6, 12})[r % 2]);
         if (ranks == 1) out[0].push_back(along(0, {0, 6, 12})[1]);
         return out;
       }},
      {"of no grid",
       [](int ranks) {
         std::vector<std::vector<box>> out(static_cast<std::size_t>(ranks));
         const std::vector<box> parts{
             {{0, 0}, {8, 4}}, {{0, 4}, {4, 6}}, {{4, 4}, {8, 6}}, {{8, 0}, {4, 4}}};
         for (std::size_t i = 0; i < parts.size(); ++i) out[i % out.size()].push_back(parts[i]);
         return out;
       }},
      {"all of one process, and empty boxes",
       [](int ranks) {
         std::vector<std::vector<box>> out(static_cast<std::size_t>(ranks), {{{12, 0}, {0, 10}}});
         out.back() = {box::whole({12, 10})};
         return out;
       }},
  };
  return out;
}

TEST_CASE("orbax group save: any cut, any number of processes, every layout") {
  const tensor w = counted({12, 10});
  const tensor whole = counted({7}, 100);
  const tensor layer = counted({3, 5}, 200);
  const std::vector<std::int64_t> ids{1, -2, 3};
  for (const tree_options& how : layouts()) {
    for (const cuts& cut : all_cuts()) {
      for (int ranks = 1; ranks <= 4; ++ranks) {
        INFO(cut.name, ", ", ranks, " ranks, zarr ", how.all.zarr_format, ", ocdbt ",
             how.own.ocdbt);
        const test::temp_directory folder;
        const std::string path = folder / "ckpt";
        const auto boxes = cut.of(ranks);
        tree_options options = how;
        options.own.custom_metadata = json::object{{"by", "us"}};
        options.own.paths = {{"block", {"params", "blocks", 0, "w"}}};
        options.all.rules = {{.glob = "params/cast", .cast = dtype_kind::bfloat16}};
        const auto done = thread_world::run(ranks, [&](thread_communicator& self) {
          const auto rank = static_cast<std::size_t>(self.rank());
          std::vector<sharded_tensor> shards;
          for (const box& part : boxes[rank]) {
            shards.push_back(shard_of("params/w", w, part));
            shards.push_back(shard_of("params/cast", w, part));
            shards.push_back(shard_of("block", w, part));
          }
          // One axis that the elements do not have: a layer of each process.
          shard_metadata of{.key = "layers",
                            .type = dtype_kind::float32,
                            .local_shape = {3, 5},
                            .global_shape = {ranks, 3, 5},
                            .global_offset = {self.rank(), 0, 0},
                            .prepended_axes = 1};
          shards.push_back(sharded<host_view>::make(of, layer.view()).value());
          std::vector<tree_item> items{
              {"params/whole", whole},           {{"params", "blocks", 1}, empty_value::none},
              {"empty/list", empty_value::list}, {"lr", 0.5},
              {"step", 1200 + self.rank()},  // the lowest rank's counts
              {"note", "a text \u00fc"},         {"a/b", "in a dict"}};
          if (rank + 1 == boxes.size()) items.push_back({"last/ids", ids});
          return orbax::save(path, self, shards, items, options);
        });
        for (const auto& one : done) {
          INFO((one ? std::string() : to_string(one.failure())));
          REQUIRE(one);
          CHECK(one->leaves.size() == 8);
          CHECK(one->bytes == done[0]->bytes);
          CHECK(one->stored_bytes == done[0]->stored_bytes);
          CHECK(one->bytes ==
                2 * 480 + 240 + static_cast<std::uint64_t>(ranks) * 60 + 28 + 24 + 8 + sizeof(int));
          CHECK(one->warnings.empty());
        }
        const checkpoint from = opened(path).value();
        CHECK(same(from.load<tensor>("params/w").value(), w));
        CHECK(same(from.load<tensor>("params/blocks/0/w").value(), w));
        const tensor cast = from.load<tensor>("params/cast").value();
        CHECK(cast.type() == dtype_kind::bfloat16);
        CHECK(load_le<std::uint16_t>(cast.view().data + 2 * 119) == 0x42ee);  // 119
        CHECK(same(from.load<tensor>("params/whole").value(), whole));
        for (index_t r = 0; r < ranks; ++r) {
          const auto one = from.load<tensor>("layers", box{{r, 0, 0}, {1, 3, 5}}).value();
          CHECK(std::memcmp(one.view().data, layer.view().data, 60) == 0);
        }
        CHECK(from.load<int>("step").value() == 1200);
        CHECK(from.load<double>("lr").value() == 0.5);
        CHECK(from.load<std::string>("note").value() == "a text \u00fc");
        CHECK(from.load<std::string>("a/b").value() == "in a dict");
        CHECK(from.load<std::vector<std::int64_t>>("last/ids").value() == ids);
        const orbax::tree_store tree = tree_at(path);
        CHECK(tree.tree().has_all_chunks);
        CHECK(tree.tree().is_ocdbt == how.own.ocdbt);
        const auto& leaves = tree.tree().leaves;
        const auto at = std::find_if(leaves.begin(), leaves.end(), [](const auto& one) {
          return one.name == "params/blocks/0/w";
        });
        REQUIRE(at != leaves.end());
        CHECK(at->path[2] == orbax::tree_key{"0", true});
        CHECK(at->value_type == "np.ndarray");
        CHECK(names_in(folder.path()) == std::set<std::string>{"ckpt"});
        for (int rank = 0; rank < 4; ++rank) {
          const std::string own = "ocdbt.process_" + std::to_string(rank);
          // Every process has its layer to write.
          CHECK(fs::exists(fs::path(path) / own / "manifest.ocdbt") ==
                (how.own.ocdbt && rank < ranks));
        }
      }
    }
  }
}

/// The keys that a database has itself.
std::set<std::string> keys_of(const std::string& path) {
  const auto from =
      ocdbt_store::open(file_store::open(path, {.read_only = true}).value(), store_key::root())
          .value();
  std::set<std::string> out;
  const std::function<void(const store_key&)> walk = [&](const store_key& at) {
    for (const list_entry& child : from.list(at).value()) {
      const store_key beneath = at.child(child.name).value();
      if (child.is_prefix) {
        walk(beneath);
      } else {
        out.insert(std::string(beneath.str()));
      }
    }
  };
  walk(store_key::root());
  return out;
}

TEST_CASE("orbax group save: each process writes its own, and rank 0 copies no value") {
  const tensor w = counted({40, 100});
  const tensor same_everywhere = counted({400}, 7);
  for (const int zarr : {2, 3}) {
    const test::temp_directory folder;
    const std::string path = folder / "ckpt";
    const auto done = thread_world::run(4, [&](thread_communicator& self) {
      const std::vector<sharded_tensor> shards{
          shard_of("w", w, {{self.rank() * 10, 0}, {10, 100}})};
      const std::vector<tree_item> items{{"a", same_everywhere},
                                         {"b", same_everywhere},
                                         {"c", same_everywhere},
                                         {"d", same_everywhere}};
      // Without a codec, so that values are larger than what nodes hold.
      return orbax::save(path, self, shards, items,
                         {.zarr_format = zarr,
                          .rules = {{.codecs = raw_codecs()}},
                          .format = orbax::format{.arrays = orbax::array_kind::jax}});
    });
    for (const auto& one : done) REQUIRE(one);
    const std::string document = zarr == 2 ? ".zarray" : "zarr.json";
    const std::string chunk = zarr == 2 ? "" : "c/";
    const std::string dot = zarr == 2 ? "." : "/";
    std::set<std::string> all;
    std::set<std::string> replicas;
    for (int rank = 0; rank < 4; ++rank) {
      const auto keys = keys_of(path + "/ocdbt.process_" + std::to_string(rank));
      CHECK(keys.contains("w/" + chunk + std::to_string(rank) + dot + "0"));
      CHECK(keys.contains("w/" + document) == (rank == 0));
      // Each has one of the four that all have: those with the fewest bytes write.
      CHECK(keys.size() == (rank == 0 ? 7 : 2));
      for (const std::string& one : keys) {
        CHECK(all.insert(one).second);
        if (one.find(chunk + "0") == 2 && one[0] != 'w') replicas.insert(one.substr(0, 1));
      }
    }
    CHECK(replicas == std::set<std::string>{"a", "b", "c", "d"});
    CHECK(keys_of(path) == all);
    // The values lie in the files of the processes; the one above them has nodes only.
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    for (const auto& [name, text] : texts_in(path)) {
      if (name.starts_with("ocdbt.process_") && name.find("/d/") != name.npos) below += text.size();
      if (name.starts_with("d/")) above += text.size();
    }
    CHECK(below > 16000 + 4 * 1600);
    CHECK(above < 3000);
    // What each process tells of the arrays is the same.
    const auto texts = texts_in(fs::path(path) / "array_metadatas");
    REQUIRE(texts.size() == 4);
    for (const auto& [name, text] : texts) CHECK(text == texts.begin()->second);
    CHECK(texts.contains("process_3"));
    const auto facts = tree_at(path).array_facts().value();
    REQUIRE(facts.size() == 5);
    CHECK(facts[4].name == "w");
    CHECK(facts[4].write_shape == dims{10, 100});
    CHECK(same(opened(path).value().load<tensor>("w").value(), w));
  }
}

TEST_CASE("orbax group save: chunks, by what processes, devices and rules say") {
  const tensor w = counted({24, 16});
  const orbax::device_mesh mesh{{4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const auto chunk_of = [&](const std::vector<box>& parts, tree_options how) {
    const test::temp_directory folder;
    const auto done = thread_world::run(static_cast<int>(parts.size()), [&](auto& self) {
      const std::vector<sharded_tensor> shards{
          shard_of("w", w, parts[static_cast<std::size_t>(self.rank())])};
      return orbax::save(folder / "c", self, shards, {}, how);
    });
    for (const auto& one : done) {
      INFO((one ? std::string() : to_string(one.failure())));
      REQUIRE(one);
    }
    const checkpoint from = opened(folder / "c").value();
    CHECK(same(from.load<tensor>("w").value(), w));
    const auto told = tree_at(folder / "c").shardings().value();
    CHECK(told == how.own.shardings);
    return from.metadata("w").value().shard_shape;
  };
  const std::vector<box> halves{{{0, 0}, {12, 16}}, {{12, 0}, {12, 16}}};
  const std::vector<box> uneven{{{0, 0}, {18, 16}}, {{18, 0}, {6, 16}}};
  const orbax::sharding cut{"NamedSharding", mesh, {{"x"}, {"y"}}, {}};
  const orbax::sharding cut_columns{"NamedSharding", mesh, {{}, {"x", "y"}}, {}};
  for (const tree_options& how : layouts()) {
    tree_options with = how;
    CHECK(chunk_of(halves, with) == dims{12, 16});
    CHECK(chunk_of(uneven, with) == dims{18, 16});  // the last is cut off by the array's end
    // What a device has, and no more than what a process has.
    with.own.shardings = {{"w", cut}};
    CHECK(chunk_of(halves, with) == dims{6, 8});
    CHECK(chunk_of(uneven, with) == dims{6, 8});
    with.own.shardings = {{"w", cut_columns}};
    CHECK(chunk_of(halves, with) == dims{12, 2});
    with.own.shardings = {{"w", {"SingleDeviceSharding", {}, {}, "cpu:0"}}};
    CHECK(chunk_of(halves, with) == dims{12, 16});
    // Rules may cut what a process has, and nothing else.
    with = how;
    with.all.rules = {{.chunk_byte_size = 256}};
    const dims greedy = chunk_of(halves, with);
    CHECK(12 % greedy[0] == 0);
    CHECK(16 % greedy[1] == 0);
    with.all.rules = {{.chunk_shape = dims{4, 4}}};
    CHECK(chunk_of(halves, with) == (how.all.zarr_format == 2 ? dims{4, 4} : dims{12, 16}));
  }
  const auto refused = [&](const save_options& how, std::string_view text) {
    const test::temp_directory folder;
    const auto done = thread_world::run(2, [&](auto& self) {
      const std::vector<sharded_tensor> shards{
          shard_of("p/w", w, halves[static_cast<std::size_t>(self.rank())])};
      return orbax::save(folder / "c", self, shards, {}, how);
    });
    for (const auto& one : done) CHECK(refuses(one, errc::invalid_argument, text));
    CHECK(fs::is_empty(folder.path()));
  };
  refused({.rules = {{.shard_shape = dims{8, 16}}}}, "\"p/w\"");
  refused({.rules = {{.shard_shape = dims{24, 16}}}}, "would have elements of two boxes");
  refused({.zarr_format = 2, .rules = {{.chunk_shape = dims{24, 1}}}}, "multiples of 12");
  refused({.zarr_format = 2,
           .rules = {{.chunk_shape = dims{5, 4}}},
           .format = orbax::format{.ocdbt = false}},
          "\"p/w\"");
}

TEST_CASE("orbax group save: a large box is several chunks of Zarr v2, and one shard of v3") {
  const auto chunk_of = [](const tensor_spec& spec, const dims& unit, int zarr_format) {
    orbax::detail::described_leaf leaf;
    leaf.path = {{"w", false}};
    leaf.spec = spec;
    leaf.at = box::whole(spec.shape);
    const orbax::detail::leaf_cuts cuts{unit, 1};
    const auto plan =
        orbax::detail::plan_tree({{&leaf, 1}, {&cuts, 1}}, {{.zarr_format = zarr_format}, {}})
            .value();
    REQUIRE(plan.arrays.size() == 1);
    return plan.arrays[0].metadata().chunk_shape;
  };
  const tensor_spec large{dtype_kind::float32, {8192, 16384}};
  CHECK(chunk_of(large, {2048, 0}, 2) == dims{1024, 16384});
  CHECK(chunk_of(large, {2048, 0}, 3) == dims{2048, 16384});
  CHECK(chunk_of(large, {0, 4096}, 2) == dims{4096, 4096});
  CHECK(chunk_of(large, {1000, 0}, 2) == dims{1000, 16384});
  CHECK(chunk_of(large, {1500, 0}, 2) == dims{750, 16384});  // 1024 rows would be 64 MiB
  CHECK(chunk_of(large, {}, 3) == dims{8192, 16384});
  // Of a prime number of rows no part is equal to the others: all of them, not one each.
  const tensor_spec prime{dtype_kind::float32, {16022, 4096}};
  CHECK(chunk_of(prime, {8011, 0}, 2) == dims{8011, 4096});
  CHECK(chunk_of(prime, {8010, 0}, 2) == dims{4005, 4096});
  CHECK(chunk_of({dtype_kind::float32, {3 * 8011, 4096}}, {2 * 8011, 0}, 2) ==
        dims{2 * 8011, 4096});
  // What nothing cuts may have any length, the last chunk is cut off.
  CHECK(chunk_of({dtype_kind::float32, {50021, 4096}}, {0, 2048}, 2) == dims{7146, 2048});
  // Rows that are large themselves are objects by themselves.
  CHECK(chunk_of({dtype_kind::float32, {22, 1 << 21}}, {11, 0}, 2) == dims{1, 1 << 21});
}

TEST_CASE("orbax group save: boxes with little in common are told of, and too many refused") {
  const tensor w = counted({97, 64});
  const auto run = [&](const std::string& path, const context& how) {
    return thread_world::run(2, [&](auto& self) {
      const std::vector<sharded_tensor> shards{self.rank() == 0
                                                   ? shard_of("w", w, {{0, 0}, {51, 64}})
                                                   : shard_of("w", w, {{51, 0}, {46, 64}})};
      // A third process's box would begin at 97 otherwise: 51 is the unit.
      std::vector<sharded_tensor> more = shards;
      if (self.rank() == 0) more.push_back(shard_of("v", w, {{0, 0}, {50, 64}}));
      if (self.rank() == 1) {
        more.push_back(shard_of("v", w, {{50, 0}, {1, 64}}));
        more.push_back(shard_of("v", w, {{51, 0}, {46, 64}}));
      }
      return orbax::save(path, self, more, {}, {}, how);
    });
  };
  const test::temp_directory folder;
  for (const auto& one : run(folder / "c", context{})) {
    REQUIRE(one);
    REQUIRE(one->warnings.size() == 1);
    CHECK(one->warnings[0].find("\"v\"") != std::string::npos);
    CHECK(one->warnings[0].find("[1, 64]") != std::string::npos);
  }
  CHECK(same(opened(folder / "c").value().load<tensor>("v").value(), w));
  // A device that has two rows, where boxes begin at odd ones: the chunks are what counts.
  const orbax::sharding cut{"NamedSharding",
                            {{16}, {"x"}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
                            {{"x"}},
                            {}};
  for (const tree_options& how : layouts()) {
    for (const bool is_cut : {false, true}) {
      tree_options with = how;
      with.all.overwrite = true;
      if (is_cut) with.own.shardings = {{"w", cut}};
      const tensor odd = counted({32, 64});
      for (const auto& one : thread_world::run(2, [&](auto& self) {
             const box part = self.rank() == 0 ? box{{0, 0}, {17, 64}} : box{{17, 0}, {15, 64}};
             return orbax::save(folder / "e", self, std::vector{shard_of("w", odd, part)}, {},
                                with);
           })) {
        REQUIRE(one);
        REQUIRE(one->warnings.size() == (is_cut ? 1 : 0));
        if (is_cut) CHECK(one->warnings[0].find("\"w\"") != std::string::npos);
        if (is_cut) CHECK(one->warnings[0].find("[1, 64]") != std::string::npos);
      }
    }
  }
  context few;
  few.limit.max_chunks = 96;
  for (const auto& one : run(folder / "d", few))
    CHECK(refuses(one, errc::resource_limit, "\"v\" would be more objects than 96"));
  CHECK(!fs::exists(folder / "d"));
}

TEST_CASE("orbax group save: random boxes that tile an array, with replicas") {
  test_support::random_source random(15);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const dims shape{test_support::pick(random, 1, 12), test_support::pick(random, 1, 12)};
    const tensor w = counted(shape);
    std::vector<box> parts;
    test_support::cut(random, box::whole(shape), 3, parts);
    const int ranks = static_cast<int>(test_support::pick(random, 1, 4));
    std::vector<std::vector<box>> boxes(static_cast<std::size_t>(ranks));
    for (const box& part : parts) {
      const index_t holders = test_support::pick(random, 1, ranks);
      for (index_t n = 0; n < holders; ++n)
        boxes[static_cast<std::size_t>(test_support::pick(random, 0, ranks - 1))].push_back(part);
    }
    const tree_options how = layouts()[static_cast<std::size_t>(round) % 4];
    const test::temp_directory folder;
    const auto done = thread_world::run(ranks, [&](thread_communicator& self) {
      std::vector<sharded_tensor> shards;
      for (const box& part : boxes[static_cast<std::size_t>(self.rank())])
        shards.push_back(shard_of("w", w, part));
      return orbax::save(folder / "c", self, shards, {}, how);
    });
    for (const auto& one : done) {
      INFO((one ? std::string() : to_string(one.failure())));
      REQUIRE(one);
    }
    CHECK(same(opened(folder / "c").value().load<tensor>("w").value(), w));
  }
}

TEST_CASE("orbax group save: arrays without elements, and without axes") {
  const tensor none = counted({0, 3});
  const tensor one = counted({}, 5);
  for (const tree_options& how : layouts()) {
    const test::temp_directory folder;
    const auto done = thread_world::run(3, [&](thread_communicator& self) {
      // Numbers that differ: the lowest rank's counts. Of the array the fewest bytes decide.
      const std::vector<sharded_tensor> shards{shard_of("none", none, box::whole({0, 3})),
                                               shard_of("one", one, box::whole({}))};
      const std::vector<tree_item> items{{"number", 7 + self.rank()}};
      return orbax::save(folder / "c", self, shards, items, how);
    });
    for (const auto& each : done) {
      INFO((each ? std::string() : to_string(each.failure())));
      REQUIRE(each);
      CHECK(each->leaves.size() == 3);
    }
    const checkpoint from = opened(folder / "c").value();
    CHECK(from.load<tensor>("none").value().shape() == dims{0, 3});
    CHECK(same(from.load<tensor>("one").value(), one));
    CHECK(from.load<int>("number").value() == 7);
  }
}

TEST_CASE("orbax group save: a tree that is one leaf, and one without arrays") {
  const tensor w = counted({4, 3});
  for (const tree_options& how : layouts()) {
    const test::temp_directory folder;
    const auto save_all = [&](const std::string& name, const std::vector<tree_item>& items) {
      for (const auto& one : thread_world::run(2, [&](thread_communicator& self) {
             return orbax::save(folder / name, self, {}, items, how);
           })) {
        INFO((one ? std::string() : to_string(one.failure())));
        REQUIRE(one);
      }
    };
    save_all("one", {{orbax::tree_path(), w}});
    CHECK(same(opened(folder / "one").value().load<tensor>("").value(), w));
    save_all("texts", {{"a", "text"}, {"b", empty_value::dict}});
    CHECK(opened(folder / "texts").value().load<std::string>("a").value() == "text");
    CHECK(fs::exists(folder / "texts/manifest.ocdbt") == how.own.ocdbt);
    save_all("members", {{"x/y/z", 5}});
    CHECK(opened(folder / "members").value().load<int>("x/y/z").value() == 5);
  }
}

TEST_CASE("orbax group save: what one process has wrong, all are told, and nothing is left") {
  const test::temp_directory folder;
  const tensor w = counted({8, 6});
  tensor wide = tensor::make({dtype_kind::float64, {8, 6}}).value();
  std::memset(wide.mutable_view().data, 0, 8 * 6 * 8);
  using shards = std::vector<sharded_tensor>;
  using items = std::vector<tree_item>;
  struct brought {
    shards parts;
    items values{};
    save_options how{};
  };
  const box top{{0, 0}, {4, 6}};
  const box bottom{{4, 0}, {4, 6}};
  const auto halves = [&](int rank, const std::string& name = "w") {
    return shards{shard_of(name, w, rank == 0 ? top : bottom)};
  };
  const auto run = [&](errc code, std::string_view text,
                       const std::function<brought(int rank)>& of) {
    const auto done = thread_world::run(2, [&](thread_communicator& self) {
      const brought mine = of(self.rank());
      return orbax::save(folder / "c", self, mine.parts, mine.values, mine.how);
    });
    for (const auto& one : done) CHECK(refuses(one, code, text));
    CHECK(names_in(folder.path()).empty());
  };
  const errc bad = errc::invalid_argument;
  // A hole, an overlap, and one of boxes that begin at one place.
  run(bad, "\"w\": 1 of 2 parts between the boundaries of shards have no main replica",
      [&](int) { return brought{{shard_of("w", w, top)}}; });
  run(bad, "\"w\": shards overlap", [&](int rank) {
    return brought{{shard_of("w", w, rank == 0 ? top : box{{3, 0}, {5, 6}})}};
  });
  run(bad, "\"w\": shards overlap", [&](int rank) {
    return brought{{shard_of("w", w, rank == 0 ? box{{0, 0}, {8, 6}} : top)}};
  });
  run(bad, "no process has an element", [&](int) {
    return brought{{shard_of("w", w, {{0, 0}, {0, 6}})}};
  });
  run(bad, "\"w\" is float32", [&](int rank) {
    return brought{{shard_of("w", rank == 0 ? w : wide, rank == 0 ? top : bottom)}};
  });
  run(bad, "to rank 1", [&](int rank) { return brought{{}, {{"note", rank == 0 ? "a" : "b"}}}; });
  run(bad, "the text \"1\" to rank 1", [&](int rank) {
    return rank == 0 ? brought{{}, {{"v", 1}}} : brought{{}, {{"v", "1"}}};
  });
  run(bad, "an empty None to rank 0", [&](int rank) {
    return rank == 0 ? brought{{}, {{"v", empty_value::none}}} : brought{{}, {{"v", 1}}};
  });
  run(bad, "two leaves have the path \"w\"", [&](int rank) {
    return brought{halves(rank), rank == 0 ? items{} : items{{"w", w}}};
  });
  run(bad, "two leaves have the path \"v\"", [&](int rank) {
    return brought{halves(rank), rank == 0 ? items{} : items{{"v", 1}, {"v", 1}}};
  });
  // One process has a leaf beneath that of another.
  run(bad, "other leaves lie beneath", [&](int rank) {
    return brought{{}, rank == 0 ? items{{"w", 1}} : items{{"w/x", 1}}};
  });
  run(bad, "its list has no element 0", [&](int rank) {
    return brought{{}, rank == 0 ? items{{"w", 1}} : items{{{"l", 1}, 1}}};
  });
  run(bad, "where Orbax stores leaves", [&](int rank) {
    return brought{{}, rank == 0 ? items{{"a.b", 1}} : items{{"a/b", 1}}};
  });
  // One name, and one place where it is stored, for two paths.
  run(bad, "a/b", [&](int rank) {
    return brought{{}, rank == 0 ? items{{{"a", "b"}, w}} : items{{{"a/b"}, w}}};
  });
  run(bad, "a/0", [&](int rank) {
    return brought{{}, rank == 0 ? items{{{"a", 0}, w}} : items{{{"a", "0"}, w}}};
  });
  run(bad, "no value", [&](int rank) {
    brought out{halves(rank)};
    if (rank == 1) out.parts[0] = out.parts[0].without_data();
    return out;
  });
  run(errc::unsupported, "save \"w\": its shard is a flat piece, [", [&](int rank) {
    shard_metadata flat{.key = "w",
                        .type = dtype_kind::float32,
                        .local_shape = {8, 6},
                        .global_shape = {8, 6},
                        .global_offset = {0, 0},
                        .fragmentation = dims{1, 1}};
    flat.range = flat_range{24 * rank, 24 * rank + 24};
    const host_view line = dense_view(w.view().data + 96 * rank, {dtype_kind::float32, {24}});
    return brought{{sharded<host_view>::make(flat, line).value()}};
  });
  run(errc::unsupported, "TensorStore", [&](int rank) {
    return brought{halves(rank), {}, {.rules = {{.cast = dtype_kind::uint4}}}};
  });
  run(bad, "has other options", [&](int rank) {
    return brought{halves(rank), {}, {.format = orbax::format{.ocdbt = rank == 0}}};
  });
  run(bad, "has other options", [&](int rank) {
    return brought{
        halves(rank), {}, {.format = orbax::format{.step = static_cast<std::uint64_t>(rank)}}};
  });
  run(bad, "no process has a shard of that key", [&](int rank) {
    return brought{halves(rank), {}, {.format = orbax::format{.paths = {{"v", {"x", 0}}}}}};
  });
  run(bad, "no process has a shard of that key", [&](int rank) {
    return brought{
        halves(rank), {{"lr", 1}}, {.format = orbax::format{.paths = {{"typo", {"lr"}}}}}};
  });
  // Two shards at one path would be one array, whatever each of them has.
  const save_options joined{.format = orbax::format{.paths = {{"a", {"x"}}, {"b", {"x"}}}}};
  const auto whole = [&](const std::string& name) { return shard_of(name, w, {{0, 0}, {8, 6}}); };
  run(bad, "\"x\" is that of the shard \"a\" to rank 0 and of the shard \"b\" to rank 0", [&](int) {
    return brought{{whole("a"), whole("b")}, {}, joined};
  });
  run(bad, "\"x\" is that of the shard \"a\" to rank 0 and of the shard \"b\" to rank 1",
      [&](int rank) {
        return brought{{whole(rank == 0 ? "a" : "b")}, {}, joined};
      });
  run(bad, "the shard \"b\" to rank 1", [&](int rank) {
    return brought{halves(rank, rank == 0 ? "a" : "b"), {}, joined};
  });
  run(bad, "\"params/w\" is that of the shard \"block\"", [&](int) {
    return brought{{whole("block"), whole("params/w")},
                   {},
                   {.format = orbax::format{.paths = {{"block", {"params", "w"}}}}}};
  });
  run(bad, "\"w\" is that of the shard \"w\" to rank 0 and of a value to rank 1", [&](int rank) {
    return rank == 0 ? brought{{whole("w")}} : brought{{}, {{"w", w}}};
  });
  run(bad, "two paths for \"w\"", [&](int rank) {
    return brought{
        halves(rank), {}, {.format = orbax::format{.paths = {{"w", {"x"}}, {"w", {"y"}}}}}};
  });
  run(bad, "a sharding is given for \"v\"", [&](int rank) {
    return brought{
        halves(rank),
        {},
        {.format = orbax::format{.shardings = {{"v", {"SingleDeviceSharding", {}, {}, "cpu:0"}}}}}};
  });
  run(bad, "a tree without leaves", [&](int) { return brought{}; });
  CHECK(refuses(
      orbax::save(folder / "c", {{"w", w}}, {.format = orbax::format{.paths = {{"v", {"x", 0}}}}}),
      bad, "no process has a shard"));

  // Several processes need a directory; one does not.
  const memory_store memory;
  const auto in_memory = [&](int ranks) {
    return thread_world::run(ranks, [&](thread_communicator& self) {
      return orbax::save(location(memory, key("c")), self, {},
                         items{{"v", 1}, {"w", self.rank() >= 0 ? w : wide}});
    });
  };
  for (const auto& one : in_memory(2)) CHECK(refuses(one, errc::unsupported, "directory"));
  REQUIRE(in_memory(1)[0]);
  const auto tree = orbax::tree_store::open(memory, key("c")).value();
  CHECK(open(tree).value().load<int>("v").value() == 1);
  const zarrpoint_test::recording_store plain;
  CHECK(refuses(orbax::save(plain, any_communicator(), {}, items{{"v", 1}}), errc::unsupported,
                "publish"));
}

TEST_CASE("orbax group save: the old checkpoint is replaced in one step, and others' files stay") {
  const tensor w = counted({8, 6});
  const tensor v = counted({8, 6}, 1000);
  const auto save_by = [&](const std::string& path, int ranks, const tensor& from,
                           const tree_options& how) {
    return thread_world::run(ranks, [&](thread_communicator& self) {
      const index_t rows = 8 / ranks;
      const std::vector<sharded_tensor> shards{
          shard_of("w", from, {{rows * self.rank(), 0}, {rows, 6}})};
      return orbax::save(path, self, shards, std::vector<tree_item>{{"n", 3}}, how);
    });
  };
  for (tree_options layout : layouts()) {
    layout.own.arrays = orbax::array_kind::jax;
    layout.all.overwrite = false;
    const test::temp_directory folder;
    const std::string path = folder / "ckpt";
    for (const auto& one : save_by(path, 4, w, layout)) REQUIRE(one);
    for (const auto& one : save_by(path, 2, v, layout))
      CHECK(refuses(one, errc::already_exists, "overwrite is false"));
    test::write_file(path + "/notes.txt", "others'");
    test::write_file(path + "/ocdbt.process_9", "what a broken save left");
    tree_options how = layout;
    how.all.overwrite = true;
    for (const auto& one : save_by(path, 2, v, how)) {
      REQUIRE(one);
      CHECK(one->kept == std::vector<std::string>{"notes.txt"});
    }
    CHECK(same(opened(path).value().load<tensor>("w").value(), v));
    const auto names = names_in(path);
    CHECK(names.contains("ocdbt.process_1") == layout.own.ocdbt);
    CHECK_FALSE(names.contains("ocdbt.process_2"));
    CHECK_FALSE(names.contains("ocdbt.process_9"));
    CHECK(names_in(path + "/array_metadatas") == std::set<std::string>{"process_0", "process_1"});
    CHECK(test::read_file(path + "/notes.txt") == "others'");
    // Another layout in its place; then one process again.
    how.own.ocdbt = !how.own.ocdbt;
    for (const auto& one : save_by(path, 4, w, how)) REQUIRE(one);
    CHECK(same(opened(path).value().load<tensor>("w").value(), w));
    CHECK(names_in(path).contains("manifest.ocdbt") == how.own.ocdbt);
    orbax::save(path, {{"w", v}}, how).value();
    CHECK(same(opened(path).value().load<tensor>("w").value(), v));
    CHECK_FALSE(names_in(path).contains("ocdbt.process_3"));
  }
}

TEST_CASE("orbax group save: steps of a manager, and their items") {
  const test::temp_directory folder;
  const std::string root = folder / "run";
  const tensor w = counted({8, 6});
  const tensor v = counted({8, 6}, 50);
  const auto save_step = [&](const tensor& from, const save_options& how) {
    const auto done = thread_world::run(2, [&](thread_communicator& self) {
      const std::vector<sharded_tensor> shards{shard_of("w", from, {{4 * self.rank(), 0}, {4, 6}})};
      return orbax::save(root, self, shards, {}, how);
    });
    for (const auto& one : done) {
      INFO((one ? std::string() : to_string(one.failure())));
      REQUIRE(one);
    }
  };
  save_step(w, {.format = orbax::format{.step = 3}});
  save_step(v,
            {.overwrite = true, .format = orbax::format{.ocdbt = false, .step = 3, .item = "ema"}});
  save_step(v, {.format = orbax::format{.step = 7}});
  CHECK(same(opened(root + "/3/default").value().load<tensor>("w").value(), w));
  CHECK(same(opened(root + "/3/ema").value().load<tensor>("w").value(), v));
  CHECK(same(opened(root).value().load<tensor>("w").value(), v));
  CHECK(fs::exists(root + "/3/default/ocdbt.process_1/manifest.ocdbt"));
  CHECK(names_in(root) == std::set<std::string>{"3", "7"});
}

TEST_CASE("orbax group save: what others publish while a group writes stays") {
  const tensor w = counted({8, 6});
  const tensor v = counted({8, 6}, 50);
  for (const bool is_there : {false, true}) {
    CAPTURE(is_there);
    const test::temp_directory folder;
    const std::string root = folder / "run";
    fs::create_directories(root);
    const auto save_item = [&](const location& where, const std::string& item, const tensor& from) {
      const auto done = thread_world::run(2, [&](thread_communicator& self) {
        const std::vector<sharded_tensor> shards{
            shard_of("w", from, {{4 * self.rank(), 0}, {4, 6}})};
        return orbax::save(
            where, self, shards, {},
            {.overwrite = true, .sync = false, .format = orbax::format{.step = 3, .item = item}});
      });
      for (const auto& one : done) {
        INFO((one ? std::string() : to_string(one.failure())));
        REQUIRE(one);
      }
    };
    if (is_there) save_item(root, "default", w);
    // Both groups have looked before one of them publishes.
    const test::hooked_publisher slow{file_store::open(root).value(),
                                      {.after_stage = [&] { save_item(root, "ema", v); }}};
    save_item(any_store(slow), "default", w);
    CHECK(same(opened(root + "/3/default").value().load<tensor>("w").value(), w));
    CHECK(same(opened(root + "/3/ema").value().load<tensor>("w").value(), v));
    const auto facts =
        orbax::read_checkpoint_facts(as_bytes(test::read_file(root + "/3/_CHECKPOINT_METADATA")));
    REQUIRE(facts);
    for (const char* item : {"default", "ema"}) {
      CAPTURE(item);
      const auto* const handlers = facts->item_handlers.if_object();
      REQUIRE(handlers != nullptr);
      CHECK(std::any_of(handlers->begin(), handlers->end(),
                        [&](const auto& one) { return one.key == item; }));
    }
  }
}

TEST_CASE("orbax group save: what lies on devices") {
  using zarrpoint_test::fake_device;
  using zarrpoint_test::fake_space;
  const tensor w = counted({50, 100});
  for (const tree_options& how : layouts()) {
    const test::temp_directory folder;
    const auto done = thread_world::run(2, [&](thread_communicator& self) {
      fake_device device(1);
      zarrpoint_test::device_tensor<float> half(fake_space{&device, 0}, {25, 100});
      const auto* const first = reinterpret_cast<const float*>(w.view().data);
      half.upload(std::span(first + 2500 * self.rank(), 2500));
      zarrpoint_test::device_tensor<float> whole(fake_space{&device, 0}, {50, 100});
      whole.upload(std::span(first, 5000));
      shard_metadata of{.key = "w",
                        .type = dtype_kind::float32,
                        .local_shape = {25, 100},
                        .global_shape = {50, 100},
                        .global_offset = {25 * self.rank(), 0}};
      const std::vector<sharded_tensor> shards{
          sharded<zarrpoint_test::device_tensor<float>>::borrow(of, half).value()};
      const std::vector<tree_item> items{{"whole", whole}};
      return orbax::save(folder / "c", self, shards, items, how);
    });
    for (const auto& one : done) {
      INFO((one ? std::string() : to_string(one.failure())));
      REQUIRE(one);
    }
    CHECK(same(opened(folder / "c").value().load<tensor>("w").value(), w));
    CHECK(same(opened(folder / "c").value().load<tensor>("whole").value(), w));
  }
}

TEST_CASE("orbax group save: whichever process fails, the old checkpoint is whole") {
  const tensor w = counted({40, 100});
  for (const tree_options& layout : layouts()) {
    const test::temp_directory folder;
    tree_options how = layout;
    how.all.overwrite = true;
    how.own.arrays = orbax::array_kind::jax;
    how.all.rules = {{.codecs = raw_codecs()}};
    const auto run = [&](const location& where) {
      return thread_world::run(4, [&](thread_communicator& self) {
        const std::vector<sharded_tensor> shards{
            shard_of("w", w, {{10 * self.rank(), 0}, {10, 100}})};
        return orbax::save(where, self, shards, {}, how);
      });
    };
    const std::string path = folder / "c";
    for (const bool is_new : {true, false}) {
      const auto before = texts_in(folder.path());
      // A file stands where a process wants a directory.
      std::vector<std::string> in_the_way{"array_metadatas"};
      for (int rank = 0; rank < 4; ++rank)
        in_the_way.push_back(layout.own.ocdbt
                                 ? "ocdbt.process_" + std::to_string(rank)
                                 : "array_metadatas/process_" + std::to_string(rank) + "/x");
      if (!layout.own.ocdbt)
        in_the_way.emplace_back(layout.all.zarr_format == 3 ? "w/c" : "w/2.0/x");
      for (const std::string& name : in_the_way) {
        INFO(name);
        const auto block = [&] {
          for (const auto& entry : fs::directory_iterator(folder.path())) {
            if (entry.path().filename() == "c") continue;
            const fs::path at = entry.path() / name;
            fs::create_directories(at.parent_path());
            test::write_file(at.string(), "in the way");
          }
        };
        const test::hooked_publisher store{file_store::open(folder.path().string()).value(),
                                           {.after_stage = block}};
        for (const auto& one : run(location(any_store(store), key("c")))) {
          REQUIRE_FALSE(one);
          CHECK(one.failure().code != errc::outcome_unknown);
          CHECK(one.failure().message.find("rank") != std::string::npos);
        }
        CHECK(texts_in(folder.path()) == before);
        CHECK(names_in(folder.path()).size() == (is_new ? 0 : 1));
      }
      // Nobody sees it before rank 0 has committed, and a commit that fails is none.
      const auto look = [&] { CHECK(texts_in(folder.path()).size() > before.size()); };
      const auto spoil = [&] {
        look();
        for (const auto& entry : fs::directory_iterator(folder.path()))
          if (entry.path().filename() != "c") fs::remove_all(entry.path());
      };
      const test::hooked_publisher store{file_store::open(folder.path().string()).value(),
                                         {.before_commit = spoil}};
      for (const auto& one : run(location(any_store(store), key("c")))) REQUIRE_FALSE(one);
      CHECK(texts_in(folder.path()) == before);
      for (const auto& one : run(path)) REQUIRE(one);
      CHECK(same(opened(path).value().load<tensor>("w").value(), w));
    }
  }
}

TEST_CASE("orbax group save: messages that are cut off, or lie") {
  using orbax::detail::described_leaf;
  std::vector<described_leaf> leaves(4);
  leaves[0].path = {{"a", false}, {"0", true}};
  leaves[0].spec = {dtype_kind::bfloat16, {4, 5}};
  leaves[0].at = {{1, 2}, {2, 3}};
  leaves[0].random_key = "x";
  leaves[0].shard_key = "of the shard";
  leaves[1].path = {{"t", false}};
  leaves[1].text = "a text";
  leaves[2].value_type = "None";
  leaves[2].is_empty = true;
  leaves[3].path = {{"n", false}};
  leaves[3].is_number = true;
  leaves[3].spec = {dtype_kind::int32, {}};
  leaves[3].value_type = "scalar";
  const auto told = orbax::detail::encode_leaves(leaves);
  CHECK(orbax::detail::decode_leaves(told).value() == leaves);
  for (std::size_t size = 0; size < told.size(); ++size)
    CHECK(orbax::detail::decode_leaves(bytes_view(told).first(size)).failure().code ==
          errc::corrupt);
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    auto wrong = told;
    wrong[random() % wrong.size()] = static_cast<std::byte>(random() % 256);
    const auto read = orbax::detail::decode_leaves(wrong);
    if (!read) {
      CHECK(read.failure().code == errc::corrupt);
      continue;
    }
    // What it says may be anything, but what is made of it is a tree of such leaves or an error.
    CHECK(read->size() <= wrong.size());
    const auto tree = orbax::detail::share_tree({&*read, 1});
    if (!tree) continue;
    CHECK(tree->leaves.size() == read->size());
    for (const auto& part : tree->parts.at(0)) {
      CHECK(part.place < read->size());
      CHECK(part.leaf < tree->leaves.size());
      CHECK((*read)[part.place].path == tree->leaves[part.leaf].path);
    }
  }
  // A box outside of the array.
  leaves.resize(1);
  leaves[0].at = {{1, 2}, {4, 3}};
  const auto shared = orbax::detail::share_tree({&leaves, 1});
  REQUIRE_FALSE(shared);
  CHECK(shared.failure().message.find("\"a/0\" of rank 0") != std::string::npos);
}

/// Changes the messages that others sent, but not the marks of `marked_exchange`, by which the
/// processes stay together.
struct lying_communicator {
  using change = std::function<void(collective what, int from, message& body)>;
  thread_communicator inner;
  change lie;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    auto heard = inner.exchange(std::move(to_each));
    if (!heard || !lie) return heard;
    constexpr std::size_t mark_size = 5;
    for (int from = 0; from < size(); ++from) {
      message& one = (*heard)[static_cast<std::size_t>(from)];
      if (from == rank() || one.size() <= mark_size) continue;
      const message mark(one.end() - mark_size, one.end());
      one.resize(one.size() - mark_size);
      lie(static_cast<collective>(mark[0]), from, one);
      one.insert(one.end(), mark.begin(), mark.end());
    }
    return heard;
  }
};

/// A step of a save, by what it sends, and the process that hears the lie.
struct told_step {
  const char* name;
  collective what;
  int nth;  ///< of its kind
  int hears;
};

const std::vector<told_step>& told_steps() {
  static const std::vector<told_step> out{{"a description", collective::gather, 0, 0},
                                          {"the plan", collective::scatter, 0, 1},
                                          {"a receipt", collective::gather, 1, 0},
                                          {"the report", collective::broadcast, 1, 1}};
  return out;
}

TEST_CASE("orbax group save: a receipt that tells of other objects is refused") {
  const tensor w = counted({8, 6});
  const auto objects = [](const std::string& leaf, const std::vector<std::string>& names) {
    zarrpoint::detail::digests_of_arrays out;
    for (const std::string& name : names) out[leaf].set(name, {96, {1}});
    return zarrpoint::detail::encode_digests(out);
  };
  struct forged {
    message receipt;
    std::string_view text;
  };
  for (const forged& lie :
       {forged{objects("w", {}), "\"w\" c/1/0 of rank 1"},
        forged{objects("w", {"c/0/0"}), "\"w\" c/1/0 of rank 1"},
        forged{objects("w", {"c/1/0", "c/0/0"}), "3 objects were written instead of 2"},
        forged{objects("v", {"c/1/0"}), "\"w\" c/1/0 of rank 1"},
        forged{message{}, "the receipt of rank 1"}}) {
    CAPTURE(lie.text);
    const test::temp_directory folder;
    const auto done = thread_world::run(2, [&](thread_communicator& self) {
      int gathers = 0;
      lying_communicator with{self, {}};
      if (self.rank() == 0)
        with.lie = [&](collective what, int, message& body) {
          if (what == collective::gather && gathers++ == 1) body = lie.receipt;
        };
      const std::vector<sharded_tensor> shards{shard_of("w", w, {{4 * self.rank(), 0}, {4, 6}})};
      return orbax::save(folder / "c", with, shards);
    });
    for (const auto& one : done) {
      REQUIRE_FALSE(one);
      CHECK(one.failure().code == errc::corrupt);
      CHECK(to_string(one.failure()).find(lie.text) != std::string::npos);
    }
    CHECK(fs::is_empty(folder.path()));
  }
}

TEST_CASE("orbax group save: what is cut off on its way is refused, step for step") {
  const tensor w = counted({8, 6});
  const tensor v = counted({8, 6}, 70);
  std::mt19937_64 random(7);
  for (const told_step& step : told_steps()) {
    CAPTURE(step.name);
    for (const bool cuts : {true, false}) {
      for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        const test::temp_directory folder;
        const std::string path = folder / "c";
        orbax::save(path, {{"w", w}}, {.sync = false}).value();
        const auto before = texts_in(path);
        const std::uint64_t at = random();
        const std::uint64_t value = 1 + random() % 255;
        bool has_lied = false;
        const auto done = thread_world::run(2, [&](thread_communicator& self) {
          int count = 0;
          lying_communicator with{self, {}};
          if (self.rank() == step.hears)
            with.lie = [&](collective what, int, message& body) {
              if (what != step.what || count++ != step.nth || body.empty()) return;
              has_lied = true;
              if (cuts) {
                body.resize(at % body.size());
              } else {
                body[at % body.size()] ^= static_cast<std::byte>(value);
              }
            };
          const std::vector<sharded_tensor> shards{
              shard_of("w", v, {{4 * self.rank(), 0}, {4, 6}})};
          return orbax::save(path, with, shards, {}, {.overwrite = true, .sync = false});
        });
        CHECK(has_lied);
        // A part of a message is refused.
        const bool is_report = step.what == collective::broadcast;
        if (cuts) CHECK_FALSE(done[static_cast<std::size_t>(step.hears)]);
        if (cuts && !is_report) CHECK_FALSE(done[0]);
        if (is_report) CHECK(done[0]);
        // Who says that it failed is right.
        const auto is_failure = [](const auto& one) {
          return !one && one.failure().code != errc::outcome_unknown;
        };
        if (!is_report && std::any_of(done.begin(), done.end(), is_failure))
          CHECK(texts_in(path) == before);
        if (is_report) CHECK(same(opened(path).value().load<tensor>("w").value(), v));
        CHECK(names_in(folder.path()) == std::set<std::string>{"c"});
      }
    }
  }
}

/// Counts what a process sends.
struct counting_communicator {
  thread_communicator inner;
  std::size_t* sent;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    for (const message& one : to_each) *sent += one.size();
    return inner.exchange(std::move(to_each));
  }
};

TEST_CASE("orbax group save: a kept plan, as long as processes bring the same") {
  const test::temp_directory folder;
  const std::string root = folder / "manager";
  // Of step 3 the text is another, of step 4 the options.
  const auto text_of = [](std::uint64_t step) { return step < 3 ? "short" : "another"; };
  const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<void> {
    const auto plans = std::make_shared<plan_cache>();
    std::vector<std::size_t> sent;
    for (const std::uint64_t step : {1U, 2U, 3U, 4U}) {
      std::size_t count = 0;
      const tensor w = counted({800, 6}, static_cast<float>(step));
      std::vector<sharded_tensor> shards;
      for (index_t i = 0; i < 40; ++i)
        shards.push_back(shard_of("w" + std::to_string(i), w, {{400 * self.rank(), 0}, {400, 6}}));
      const std::vector<orbax::tree_item> values{{"note", text_of(step)}};
      zarrpoint_test::tree_options how{.all = {.sync = false}, .own = {.ocdbt = step != 4}};
      how.own.custom_metadata = json::object{{"step", step}};
      how.own.step = step;
      how.all.plans = plans;
      ZARRPOINT_CHECK(orbax::save(root, counting_communicator{self, &count}, shards, values, how));
      sent.push_back(count);
    }
    if (self.rank() == 1 && !(2 * sent[1] < sent[0] && sent[1] < sent[2]))
      return error{errc::corrupt, "it was gathered again, or not"};
    return {};
  });
  for (const auto& one : done) REQUIRE_MESSAGE(one, to_string(one.failure()));
  for (const std::uint64_t step : {1U, 2U, 3U, 4U}) {
    CAPTURE(step);
    const std::string path = root + "/" + std::to_string(step);
    const auto saved = opened(path).value();
    const std::string at = saved.contains("w7") ? "" : "default/";
    CHECK(same(saved.load<tensor>(at + "w7").value(), counted({800, 6}, static_cast<float>(step))));
    CHECK(saved.load<std::string>(at + "note").value() == text_of(step));
    CHECK(fs::exists(path + "/default/manifest.ocdbt") == (step != 4));
  }
}

TEST_CASE("orbax group save: the example of docs/orbax.md") {
  namespace zp = zarrpoint;
  const test::temp_directory folder;
  const std::string root = folder / "run";
  const zp::tensor whole = counted({16, 12});
  const auto all = thread_world::run(4, [&](thread_communicator& self) {
    const zp::any_communicator ranks(self);
    zp::tensor rows = zp::tensor::make({zp::dtype_kind::float32, {4, 12}}).value();
    std::memcpy(rows.mutable_view().data, whole.view().data + 192 * ranks.rank(), 192);
    // Of 16 rows of "params/w" this process has its share; `ranks` are MPI's, or any communicator.
    const auto w = zp::shard("params/w", rows, {.offsets = {{0, ranks.rank(), ranks.size()}}});
    const std::vector<zp::sharded_tensor> shards{w.value()};
    const std::vector<zp::orbax::tree_item> values{{"lr", 0.5}, {"note", "a text"}};
    const zp::result<zp::save_report> done =
        zp::orbax::save(root, ranks, shards, values, {.format = zp::orbax::format{.step = 1200}});
    return done;
  });
  for (const auto& one : all) REQUIRE(one);
  CHECK(same(opened(root).value().load<tensor>("params/w").value(), whole));
  CHECK(fs::exists(root + "/1200/default/ocdbt.process_3/manifest.ocdbt"));
}

}  // namespace orbax_group_save_test
