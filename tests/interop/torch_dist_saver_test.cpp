// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/megatron/torch_dist_strategies.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/failing_store.hpp"
#include "support/fake_device.hpp"
#include "support/random_sharding.hpp"
#include "support/shard_values.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace torch_dist_saver_test {

using namespace zarrpoint;
using namespace zarrpoint_test;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/dcp/torch_dist-tp2-pp1-2ranks";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

process_group group_with(any_communicator ranks = single_process{}) {
  process_group out = group_of(std::move(ranks));
  out.known = megatron::strategies::table();
  return out;
}

group_save_options as_torch_dist(bool validate = true) {
  group_save_options out;
  out.sharded = strategy_choice("torch_dist", 1);
  out.validate = validate;
  return out;
}

template <class F>
std::string saved(int ranks, const location& where, const F& state_of,
                  const group_save_options& options = as_torch_dist()) {
  return outcome(thread_world::run(ranks, [&](const thread_communicator& self) {
    return save(where, state_of(self.rank()), group_with(self), options);
  }));
}

/// `check(rank, report)` says what is wrong.
template <class F, class C>
std::string loaded(int ranks, const location& where, const F& request_of, const C& check,
                   const group_load_options& options = {.validate = false}) {
  return outcome(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    ZARRPOINT_TRY(report, load(where, request_of(self.rank()), group_with(self), options));
    const std::string wrong = check(self.rank(), report);
    if (wrong.empty()) return {};
    return error{errc::corrupt, "wrong: " + wrong};
  }));
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      out.emplace(entry.path().lexically_relative(folder).generic_string(),
                  test::read_file(entry.path()));
  return out;
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& [name, text] : files_in(folder)) out.insert(name);
  return out;
}

dcp::metadata metadata_of(const std::string& folder) {
  return dcp::read_metadata(as_bytes(test::read_file(folder + "/.metadata"))).value();
}

state tree_of(const std::vector<sharded_tensor>& shards) {
  state::list out;
  for (const sharded_tensor& one : shards) out.push_back(one);
  return state{{"shards", std::move(out)}};
}

/// A part of the elements of a global tensor, of no grid.
shard_metadata part_of(const std::string& key, const tensor_spec& spec, const box& at) {
  return {.key = key,
          .type = spec.type,
          .local_shape = at.shape,
          .global_shape = spec.shape,
          .global_offset = at.offset};
}

shard_metadata whole_of(const std::string& key, const tensor_spec& spec) {
  return part_of(key, spec, box::whole(spec.shape));
}

/// "done" if the whole of each tensor is there as `seed` has it, for one process and for two.
std::string holds(const location& where, const std::vector<shard_metadata>& all,
                  std::uint64_t seed) {
  std::string out;
  for (const int ranks : {1, 2}) {
    const std::string done = loaded(
        ranks, where,
        [&](int) {
          std::vector<sharded_tensor> wanted;
          for (const shard_metadata& one : all) wanted.emplace_back(one);
          return tree_of(wanted);
        },
        [&](int, const group_load_report& report) {
          std::string wrong;
          for (const state& leaf : *report.loaded.find("shards")->if_list())
            wrong += wrong_in(*leaf.if_tensor(), seed);
          return wrong;
        },
        {.validate = false, .read_once = ranks == 2});
    if (done != "done") return done;
    out = done;
  }
  return out;
}

/// The shards of a rank of up to four: columns, replicas, layers, and the flat pieces of two cells.
std::vector<shard_metadata> shards_of(int rank, int ranks) {
  const dtype f32 = dtype_kind::float32;
  std::vector<shard_metadata> out{
      from_rank_offsets("decoder.weight", {f32, {8, 12 / ranks}}, {.offsets = {{1, rank, ranks}}})
          .value(),
      from_rank_offsets("decoder.bias", {dtype_kind::bfloat16, {12}}, {.replica = rank}).value(),
      from_rank_offsets("decoder.layers", {f32, {2, 4}},
                        {.offsets = {{0, rank, ranks}}, .prepended_axes = 1})
          .value(),
      from_rank_offsets("scalar", {dtype_kind::int64, {}}, {.replica = {0, rank}}).value(),
      part_of("uneven", {f32, {10, 3}},
              {{10 * rank * rank / (ranks * ranks), 0},
               {10 * (rank + 1) * (rank + 1) / (ranks * ranks) - 10 * rank * rank / (ranks * ranks),
                3}})};
  for (index_t cell = 0; cell < 2; ++cell) {
    const flat_range range{16 * rank / ranks, 16 * (rank + 1) / ranks};
    out.push_back(from_rank_offsets_flat("optimizer/flat", {f32, {range.size()}}, {{2, 8}, range},
                                         {.offsets = {{0, cell, 2}}})
                      .value());
  }
  return out;
}

std::vector<shard_metadata> wholes(int ranks) {
  const dtype f32 = dtype_kind::float32;
  return {whole_of("decoder.weight", {f32, {8, 12}}),
          whole_of("decoder.bias", {dtype_kind::bfloat16, {12}}),
          whole_of("decoder.layers", {f32, {ranks, 2, 4}}),
          whole_of("scalar", {dtype_kind::int64, {}}),
          whole_of("uneven", {f32, {10, 3}}),
          whole_of("optimizer/flat", {f32, {4, 8}})};
}

state state_of(int rank, int ranks, std::uint64_t seed) {
  std::vector<sharded_tensor> shards;
  for (const shard_metadata& one : shards_of(rank, ranks)) shards.push_back(with_values(one, seed));
  state out = tree_of(shards);
  const std::string text = "state of rank " + std::to_string(rank);
  const bytes_view bytes = as_bytes(text);
  out.if_map()->emplace(
      "object", sharded_object::from_bytes("rng", {bytes.begin(), bytes.end()},
                                           {.global_shape = {ranks}, .global_offset = {rank}})
                    .value());
  out.if_map()->emplace("step", 7);
  return out;
}

TEST_CASE("torch_dist: 1 to 4 ranks save, others load in other cuts, and open finds it") {
  const test::temp_directory folder;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    CAPTURE(ranks);
    for (const bool parallel : {false, true}) {
      const std::string path = folder / (std::to_string(ranks) + (parallel ? "p" : ""));
      group_save_options options = as_torch_dist();
      options.fully_parallel = parallel;
      CHECK(saved(
                ranks, path, [&](int rank) { return state_of(rank, ranks, 5); }, options) ==
            "done");
      CHECK(holds(path, wholes(ranks), 5) == "done");
      std::set<std::string> expected{".metadata", "common.pt", "metadata.json"};
      for (int rank = 0; rank < ranks; ++rank)
        expected.insert("__" + std::to_string(rank) + "_0.distcp");
      CHECK(names_in(path) == expected);
      CHECK(load_common_state(path, group_with())->get<int>("step").value() == 7);
      // The same shards and objects on the ranks that saved them.
      const auto request = [&](int rank) {
        state out = state_of(rank, ranks, 6);
        *out.find("object") =
            state(sharded_object::request("rng", {.global_shape = {ranks}, .global_offset = {rank}})
                      .value());
        return out;
      };
      const auto check = [](int rank, const group_load_report& report) -> std::string {
        for (const state& leaf : *report.loaded.find("shards")->if_list())
          if (const std::string wrong = wrong_in(*leaf.if_tensor(), 5); !wrong.empty())
            return wrong;
        const auto text = as_text(report.loaded.find("object")->if_object()->bytes());
        return text == "state of rank " + std::to_string(rank) ? "" : std::string(text);
      };
      CHECK(loaded(ranks, path, request, check) == "done");
      // As a checkpoint of PyTorch.
      context how;
      how.stores = formats<dcp::format>();
      const checkpoint from = open(path, how).value();
      CHECK(from.load<tensor>("optimizer/flat").value().spec() ==
            tensor_spec{dtype_kind::float32, {4, 8}});
      CHECK(from.load<tensor>("decoder.layers").value().spec().shape == dims{ranks, 2, 4});
      CHECK(has(from.load<std::string>("common").value(), "\"step\":7"));
    }
  }
}

TEST_CASE("torch_dist: what the ranks of Megatron-Core wrote, saved again, has the same metadata") {
  // Which rank has a box, its file tells.
  const dcp::metadata theirs = metadata_of(golden);
  const auto rank_of = [](const dcp::stored_item& item) { return item.file[2] - '0'; };
  const auto values = load_plain_tensors(golden, group_with()).value();
  REQUIRE(values.size() == 4);
  const auto of_rank = [&](int rank) {
    std::vector<sharded_tensor> out;
    for (const dcp::tensor_entry& tensor : theirs.tensors) {
      const zarrpoint::tensor& whole = values.at(tensor.name);
      for (const dcp::tensor_chunk& chunk : tensor.chunks) {
        if (rank_of(chunk.from) != rank) continue;
        shard_metadata about = part_of(tensor.name, whole.spec(), chunk.at);
        box at = chunk.at;
        if (tensor.unflattened) {
          const std::size_t axes = whole.spec().shape.rank();
          for (std::size_t d = 0; d < axes; ++d) {
            at.shape[d] = whole.spec().shape[d] / tensor.spec.shape[d];
            at.offset[d] *= at.shape[d];
          }
          at = {dims(std::span<const index_t>(at.offset).first(axes)),
                dims(std::span<const index_t>(at.shape).first(axes))};
          about = part_of(tensor.name, whole.spec(), at);
          const index_t start = chunk.at.offset[axes];
          about.range = flat_range{start, start + chunk.at.shape[axes]};
        }
        about.fragmentation = dims();
        for (std::size_t d = 0; d < at.rank(); ++d)
          about.fragmentation->push_back(whole.spec().shape[d] / at.shape[d]);
        zarrpoint::tensor dense = zarrpoint::tensor::make({about.type, at.shape}).value();
        copy_elements(dense.mutable_view(), subview(whole.view(), selection(at)));
        zarrpoint::tensor local = zarrpoint::tensor::make(about.data_spec()).value();
        const std::size_t first =
            about.range ? static_cast<std::size_t>(about.range->start) * about.type.size() : 0;
        std::memcpy(local.mutable_view().data, dense.view().data + first,
                    byte_count(about.data_spec()).value());
        out.push_back(sharded<zarrpoint::tensor>::make(about, std::move(local)).value());
      }
    }
    state tree = tree_of(out);
    for (const dcp::value_entry& value : theirs.values) {
      if (rank_of(value.from) != rank) continue;
      const auto id = megatron::parse_unique_key(value.name).value();
      tree.if_map()->emplace(
          value.name,
          sharded_object::request(id.key, {.global_shape = id.shape, .global_offset = id.offset})
              .value());
    }
    // The objects come from the golden directory, too.
    return load(golden, tree, group_with(), {.validate = false}).value().loaded;
  };
  const test::temp_directory folder;
  const std::string path = folder / "c";
  REQUIRE(saved(2, path, of_rank) == "done");
  const dcp::metadata ours = metadata_of(path);
  REQUIRE(ours.tensors.size() == theirs.tensors.size());
  for (std::size_t i = 0; i < ours.tensors.size(); ++i) {
    const dcp::tensor_entry &one = ours.tensors[i], &other = theirs.tensors[i];
    CAPTURE(one.name);
    CHECK(one.name == other.name);
    CHECK(one.path == other.path);
    CHECK(one.spec == other.spec);
    CHECK(one.unflattened == other.unflattened);
    std::vector<box> mine, wanted;
    for (const auto& chunk : one.chunks) mine.push_back(chunk.at);
    for (const auto& chunk : other.chunks) wanted.push_back(chunk.at);
    CHECK(mine == wanted);
    for (std::size_t c = 0; one.unflattened && c < one.chunks.size(); ++c)
      CHECK(rank_of(one.chunks[c].from) == rank_of(other.chunks[c].from));
  }
  REQUIRE(ours.values.size() == theirs.values.size());
  for (std::size_t i = 0; i < ours.values.size(); ++i)
    CHECK(ours.values[i].name == theirs.values[i].name);
  CHECK(test::read_file(path + "/metadata.json") == test::read_file(golden + "/metadata.json"));
  const auto common = [](const std::string& of) {
    return to_json(load_common_state(of, group_with()).value()).value();
  };
  CHECK(common(path) == common(golden));
  const auto store_of = [](const std::string& of) {
    return dcp::state_store::open(file_store::open(of, {.read_only = true}).value(),
                                  store_key::root())
        .value();
  };
  const auto documents = [&](const std::string& of) { return store_of(of).values().value(); };
  CHECK(documents(path) == documents(golden));
  for (const auto& [key, tensor] : load_plain_tensors(path, group_with()).value())
    CHECK(std::memcmp(tensor.view().data, values.at(key).view().data,
                      byte_count(tensor.spec()).value()) == 0);
}

TEST_CASE(
    "torch_dist: .metadata has what Megatron-Core's has, and the same state makes the same bytes") {
  dcp::metadata made;
  made.tensors.push_back({"f", {}, {dtype_kind::float32, {2, 1, 4}}, {}, dims{4, 2}});
  for (index_t i = 0; i < 2; ++i)
    made.tensors[0].chunks.push_back({{{i, 0, 0}, {1, 1, 4}}, {"__0_0.distcp", 0, 1, {}, false}});
  made.tensors.push_back({"w", {{"w", false}}, {dtype_kind::float32, {2}}, {}, {}});
  made.tensors[1].chunks.push_back({{{0}, {2}}, {"__0_0.distcp", 1, 1, {}, false}});
  const std::string text = dcp::write_metadata(made, dcp::metadata_style::torch_dist).value();
  const torch::pickle_value root = torch::read_pickle(as_bytes(std::string_view(text))).value();
  const torch::pickle_value attributes = root.state(0);
  CHECK(attributes.find("planner_data")->is_none());
  const torch::pickle_value extras = attributes.find("mcore_data").value();
  REQUIRE(extras.member_count() == 2);
  CHECK(extras.find("w")->member_count() == 0);
  const auto shape = extras.find("f")->find("nd_reformulated_orig_global_shape").value();
  CHECK(shape.kind() == torch::pickle_kind::tuple);
  CHECK(shape.element(1).to_int64() == 2);
  CHECK(dcp::read_metadata(as_bytes(std::string_view(text)))->tensors[0].unflattened == dims{4, 2});
  CHECK_FALSE(dcp::write_metadata(made));

  const test::temp_directory folder;
  for (const char* name : {"a", "b"})
    REQUIRE(saved(3, folder / name, [](int rank) { return state_of(rank, 3, 5); }) == "done");
  CHECK(files_in(folder / "a") == files_in(folder / "b"));
}

TEST_CASE("torch_dist: random shardings, in memory and in files, loaded in others") {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    test_support::random_source random(seed);
    const int ranks = static_cast<int>(test_support::pick(random, 1, 4));
    std::vector<std::vector<shard_metadata>> parts(static_cast<std::size_t>(ranks));
    std::vector<shard_metadata> all;
    for (index_t n = test_support::pick(random, 1, 3); n > 0; --n) {
      const std::string key = "t" + std::to_string(n);
      const auto shards = test_support::random_tensor(random, key);
      all.push_back(whole_of(key, {dtype_kind::int16, shards.front().global_shape}));
      for (const auto& one : test_support::spread(random, shards, ranks))
        parts[static_cast<std::size_t>(one.rank)].push_back(one.shard);
    }
    const memory_store store;
    const std::string done = saved(ranks, location(store), [&](int rank) {
      std::vector<sharded_tensor> shards;
      for (const shard_metadata& one : parts[static_cast<std::size_t>(rank)])
        shards.push_back(with_values(one, seed));
      return tree_of(shards);
    });
    if (has(done, "flat cells of one size")) {
      ++refused;
      CHECK(store.list(store_key::root()).value().empty());
      continue;
    }
    CHECK(done == "done");
    CHECK(holds(location(store), all, seed) == "done");
  }
  CHECK(refused > 0);
  CHECK(refused < 60);
}

TEST_CASE("torch_dist: every dtype of PyTorch, no extent, a cast, and files of a size") {
  std::vector<shard_metadata> all;
  for (const dtype_kind kind :
       {dtype_kind::bool_, dtype_kind::uint8, dtype_kind::uint16, dtype_kind::uint64,
        dtype_kind::int8, dtype_kind::int32, dtype_kind::int64, dtype_kind::float16,
        dtype_kind::bfloat16, dtype_kind::float32, dtype_kind::float64, dtype_kind::complex64,
        dtype_kind::complex128, dtype_kind::float8_e4m3fn}) {
    const std::string name(to_string(dtype(kind)));
    all.push_back(whole_of("full/" + name, {kind, {4, 3}}));
    all.push_back(whole_of("empty/" + name, {kind, {0, 3}}));
    all.push_back(whole_of("scalar/" + name, {kind, {}}));
  }
  shard_metadata flat = whole_of("flat", {dtype_kind::float32, {0, 3}});
  flat.fragmentation = dims{1, 1};
  flat.range = flat_range{0, 0};
  const auto tree = [&](int) {
    std::vector<sharded_tensor> shards;
    for (const shard_metadata& one : all) shards.push_back(with_values(one, 9));
    shards.push_back(with_values(flat, 9));
    return tree_of(shards);
  };
  const test::temp_directory folder;
  group_save_options options = as_torch_dist();
  CHECK(saved(1, folder / "c", tree, options) == "done");
  CHECK(holds(folder / "c", all, 9) == "done");
  CHECK(load_plain_tensors(folder / "c", group_with())->at("flat").spec().shape == dims{0, 3});
  options.sharded = megatron::torch_dist_saver{.file_bytes = 1, .files_at_once = 1};
  CHECK(saved(1, folder / "c", tree, options) == "done");
  CHECK(holds(folder / "c", all, 9) == "done");
  CHECK(names_in(folder / "c").size() == 3 + 14 * 2);
  options.storage.rules = {{.glob = "full/float32", .cast = dtype_kind::bfloat16}};
  CHECK(saved(1, folder / "c", tree, options) == "done");
  CHECK(load_plain_tensors(folder / "c", group_with())->at("full/float32").type() ==
        dtype_kind::bfloat16);
}

TEST_CASE("torch_dist: from devices, with a cast of what lies there") {
  fake_device device(1, std::size_t{16} << 20);
  const fake_space space{&device, device.new_stream()};
  const shard_metadata about = whole_of("w", {dtype_kind::int16, {6, 5}});
  const tensor values = values_of(about, 3);
  device_tensor<std::int16_t> there(space, {6, 5});
  there.upload(values.data<std::int16_t>());
  const memory_store store;
  for (const bool casts : {false, true}) {
    group_save_options options = as_torch_dist();
    if (casts) options.storage.rules = {{.cast = dtype_kind::float64}};
    const auto shard = sharded<device_tensor<std::int16_t>>::borrow(about, there).value();
    CHECK(saved(
              1, location(store), [&](int) { return tree_of({shard}); }, options) == "done");
    const auto all = load_plain_tensors(location(store), group_with()).value();
    const tensor& found = all.at("w");
    REQUIRE(found.type() == (casts ? dtype_kind::float64 : dtype_kind::int16));
    for (std::size_t i = 0; i < 30; ++i)
      CHECK((casts ? found.data<double>()[i] : found.data<std::int16_t>()[i]) ==
            values.data<std::int16_t>()[i]);
  }
}

TEST_CASE("torch_dist: of a shard on a device that is many cells one is staged at a time") {
  constexpr index_t rows = 64, columns = index_t{1} << 16;
  constexpr std::size_t memory = std::size_t{4} << 20;  // half of the shard
  const tensor_spec spec{dtype_kind::int16, {rows, columns + 1}};
  fake_device device(1, std::size_t{32} << 20);
  const fake_space space{&device, device.new_stream()};
  const shard_metadata about = part_of("w", spec, {{0, 0}, {rows, columns}});
  const tensor values = values_of(about, 3);
  device_tensor<std::int16_t> there(space, {rows, columns});
  there.upload(values.data<std::int16_t>());
  std::vector<sharded_tensor> shards{
      sharded<device_tensor<std::int16_t>>::borrow(about, there).value()};
  for (index_t row = 0; row < rows; ++row)
    shards.push_back(with_values(part_of("w", spec, {{row, columns}, {1, 1}}), 3));
  const memory_store store;
  for (const bool casts : {false, true}) {
    group_save_options options = as_torch_dist();
    if (casts) options.storage.rules = {{.cast = dtype_kind::float32}};
    limited_resource budget(memory);
    process_group group = group_with();
    group.how.resource = &budget;
    group.how.limit.memory = memory;
    const auto done = save(location(any_store(store)), tree_of(shards), group, options);
    CAPTURE((done ? std::string() : done.failure().message));
    REQUIRE(done);
    CHECK(done->cells == 2 * rows);
    CHECK(budget.peak() > 0);
    const auto all = load_plain_tensors(location(any_store(store)), group_with()).value();
    const tensor& found = all.at("w");
    REQUIRE(found.spec() ==
            tensor_spec{casts ? dtype_kind::float32 : dtype_kind::int16, spec.shape});
    const auto at = [&](index_t row, index_t column) {
      const auto i = static_cast<std::size_t>(row * (columns + 1) + column);
      return casts ? found.data<float>()[i] : static_cast<float>(found.data<std::int16_t>()[i]);
    };
    for (index_t row = 0; row < rows; ++row)
      for (const index_t column : {index_t{0}, columns / 2 + row, columns - 1})
        CHECK(at(row, column) ==
              static_cast<float>(
                  values.data<std::int16_t>()[static_cast<std::size_t>(row * columns + column)]));
  }
}

TEST_CASE("torch_dist: objects are made when they are written, within the memory there is") {
  constexpr std::size_t size = std::size_t{1} << 20;
  const memory_store store;
  limited_resource budget(3 * size);
  process_group group = group_with();
  group.how.resource = &budget;
  group.how.limit.memory = 3 * size;
  state tree{state::map{}};
  for (int i = 0; i < 8; ++i) {
    const std::string key = "o" + std::to_string(i);
    std::vector<std::byte> bytes(size, static_cast<std::byte>(i));
    tree.if_map()->emplace(key, sharded_object::from_bytes(key, std::move(bytes)).value());
  }
  save(location(any_store(store)), tree, group, as_torch_dist()).value();
  CHECK(budget.peak() >= size);
  const auto found =
      load(location(any_store(store)), state{{"o", sharded_object::request("o7").value()}},
           group_with(), {.validate = false})
          .value();
  const auto bytes = found.loaded.find("o")->if_object()->bytes();
  CHECK(bytes.size() == size);
  CHECK(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{7}; }));
}

TEST_CASE("torch_dist: objects have the same bytes, whatever may be in flight") {
  // Some are files of torch.save, some are not; with room their files are made once, else twice.
  const memory_store made;
  const store_key key = store_key::parse("o").value();
  REQUIRE(torch::save(made, key, torch::value(json::object{{"step", 7}, {"text", "a"}})));
  const auto file = get(made, key, SIZE_MAX).value().value();
  state tree{state::map{}};
  for (int i = 0; i < 6; ++i) {
    const std::string name = "o" + std::to_string(i);
    std::vector<std::byte> bytes(static_cast<std::size_t>(i) * 100, std::byte{65});
    if (i % 2 == 0) bytes.assign(file.begin(), file.end());
    tree.if_map()->emplace(name, sharded_object::from_bytes(name, std::move(bytes)).value());
  }
  std::map<std::string, std::string> found;
  for (const std::size_t in_flight : {std::size_t{0}, std::size_t{2500}, std::size_t{1} << 20}) {
    CAPTURE(in_flight);
    const test::temp_directory folder;
    process_group group = group_with();
    group.how.limit.bytes_in_flight = in_flight;
    save(folder / "c", tree, group, as_torch_dist()).value();
    const auto files = files_in(folder / "c");
    CHECK(files.size() == 4);
    if (!found.empty()) CHECK(files == found);
    found = files;
    const auto again = load(folder / "c", load_sharded_metadata(folder / "c", group).value(), group,
                            {.validate = false})
                           .value();
    for (const auto& [name, leaf] : *tree.if_map()) {
      const auto* const one = again.loaded.find(name + "~1shard__")->if_object();
      if (name[1] % 2 == 1) CHECK(std::ranges::equal(one->bytes(), leaf.if_object()->bytes()));
    }
  }
}

/// What all of the ranks say, and that nothing was written, nor an old checkpoint changed.
template <class F>
std::string refused(int ranks, const F& state_of_rank,
                    const group_save_options& options = as_torch_dist()) {
  const test::temp_directory folder;
  const std::string fresh = saved(ranks, folder / "new", state_of_rank, options);
  CHECK_FALSE(fs::exists(folder / "new"));
  REQUIRE(saved(1, folder / "old", [](int) { return state{{"step", 1}}; }) == "done");
  const auto before = files_in(folder / "old");
  std::string again = saved(ranks, folder / "old", state_of_rank, options);
  CHECK(files_in(folder / "old") == before);
  CHECK(names_in(folder / "").size() == before.size());
  CHECK_FALSE(fresh.starts_with("rank 0: "));  // the same on all
  CHECK_FALSE(again.starts_with("rank 0: "));
  return fresh;
}

TEST_CASE("torch_dist: holes, overlaps and contradictions are refused by name on all ranks") {
  const dtype f32 = dtype_kind::float32;
  const auto one = [](const shard_metadata& of) { return tree_of({with_values(of, 1)}); };
  for (const bool validate : {true, false}) {
    CAPTURE(validate);
    const group_save_options options = as_torch_dist(validate);
    const std::string hole = refused(
        2,
        [&](int rank) {
          return one(from_rank_offsets("w", {f32, {2}}, {.offsets = {{0, 2 * rank, 3}}}).value());
        },
        options);
    CHECK(has(hole, "invalid_argument"));
    CHECK(has(hole, "\"w\""));
    const std::string overlap = refused(
        2,
        [&](int rank) {
          return one(part_of("w", {f32, {6}}, {{2 * rank}, {4}}));
        },
        options);
    CHECK(has(overlap, "invalid_argument"));
    CHECK(has(overlap, "\"w\""));
    const std::string types = refused(
        2,
        [&](int rank) {
          const dtype type = rank == 0 ? f32 : dtype(dtype_kind::int64);
          return one(from_rank_offsets("w", {type, {2}}, {.offsets = {{0, rank, 2}}}).value());
        },
        options);
    CHECK(has(types, "invalid_argument"));
    CHECK(has(types, "\"w\""));
    const std::string pieces = refused(
        2,
        [&](int rank) {
          const flat_range range{rank == 0 ? 0 : 5, rank == 0 ? 4 : 8};
          return one(
              from_rank_offsets_flat("w", {f32, {range.size()}}, {{2, 4}, range}, {}).value());
        },
        options);
    CHECK(has(pieces, "invalid_argument"));
    CHECK(has(pieces, "\"w\""));
  }
}

TEST_CASE("torch_dist: what the layout does not have is refused, and not left out") {
  const dtype f32 = dtype_kind::float32;
  const auto of = [](const std::string& key, const dtype& type) {
    return [=](int rank) {
      const auto half = from_rank_offsets(key, {type, {2, 2}}, {.offsets = {{0, rank, 2}}}).value();
      return tree_of({with_values(half, 1)});
    };
  };
  for (const char* key : {"common", "common/w"}) {
    const std::string text = refused(2, of(key, f32));
    CHECK(has(text, "invalid_argument"));
    CHECK(has(text, std::string("\"") + key + "\""));
  }
  CHECK(has(refused(2, of("w\xff", f32)), "UTF-8"));
  // The longest name that a load takes.
  std::string longest;
  while (longest.size() < 960) longest += "k234567/9";
  longest.resize(960);
  CHECK(has(refused(2, of(longest + "k", f32)), "a name of 961 bytes"));
  const auto object = [](const std::string& key, const std::string& text) {
    return [=](int rank) {
      const bytes_view bytes = as_bytes(text);
      return state{{"o", sharded_object::from_bytes(key, {bytes.begin(), bytes.end()},
                                                    {.global_shape = {2}, .global_offset = {rank}})
                             .value()}};
    };
  };
  CHECK(has(refused(2, object("common", "x")), "common/shard_"));
  CHECK(has(refused(2, object(longest.substr(0, 951), "x")), "a name of 961 bytes"));
  const test::temp_directory folder;
  CHECK(saved(2, folder / "long", [&](int rank) {
          state out = of(longest, f32)(rank);
          out.if_map()->emplace("o", *object(longest.substr(0, 950), "x")(rank).find("o"));
          return out;
        }) == "done");
  CHECK(holds(folder / "long", {whole_of(longest, {f32, {4, 2}})}, 1) == "done");
  const std::string broken = refused(2, object("o", "PK\x03\x04 and no more"));
  CHECK(has(broken, "corrupt"));
  CHECK(has(broken, "\"o/shard_"));
  // Flat cells are of one size.
  const std::string uneven = refused(1, [&](int) {
    std::vector<sharded_tensor> out;
    for (const auto& [at, end] : {std::pair(0, 7), std::pair(7, 18), std::pair(18, 31)}) {
      shard_metadata one = part_of("w", {f32, {31}}, {{at}, {end - at}});
      one.range = flat_range{0, end - at};
      out.push_back(with_values(one, 1));
    }
    return tree_of(out);
  });
  CHECK(has(uneven, "unsupported"));
  CHECK(has(uneven, "\"w\": its shards are in flat pieces and have different shapes"));
  const struct {
    save_options storage;
    const char* said;
  } wrong[] = {
      {{.rules = {{.chunk_shape = dims{1, 3}}}}, "a rule sets chunk_shape"},
      {{.rules = {{.shard_shape = dims{4, 3}}}}, "a rule sets shard_shape"},
      {{.rules = {{.chunk_byte_size = 15}}}, "a rule sets chunk_byte_size"},
      {{.rules = {{.codecs = zstd_codecs()}}}, "a rule sets codecs"},
      {{.rules = {{.cast = dtype_kind::string}}}, "unsupported"},
      {{.attributes = json::object{{"run", 7}}}, "save_options::attributes"},
      {{.attributes_of = json::object{{"w", json::object{{"a", 1}}}}}, "attributes_of"},
  };
  for (const auto& one : wrong) {
    CAPTURE(one.said);
    group_save_options options = as_torch_dist();
    options.storage = one.storage;
    CHECK(has(refused(2, of("w", f32), options), one.said));
  }
  group_save_options none = as_torch_dist();
  none.storage.attributes = json::object{{"run", 7}};
  CHECK(has(refused(
                1,
                [](int) {
                  return state{{"step", 1}};
                },
                none),
            "save_options::attributes"));
}

TEST_CASE("torch_dist: more boxes than a load takes are refused before anything is written") {
  const megatron::torch_dist_saver saver;
  constexpr std::size_t most = dcp::metadata_limits.max_values / 24;
  std::vector<planned_array> arrays(2);
  arrays[0].tensor.cells = most - 1;
  arrays[1].tensor.cells = 1;
  CHECK(saver.check_plan(arrays, {}));
  const std::vector<planned_object> one{{{.key = "o"}, 0}};
  const auto done = saver.check_plan(arrays, one);
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == errc::resource_limit);
  CHECK(has(done.failure().message, std::to_string(most + 1) + " boxes and objects"));
}

/// Rank 1 leaves something out, and says that all is well.
struct forgetful_saver : megatron::torch_dist_saver {
  bool arrays = true;

  result<message> write(const save_job& job, const shard_writes& mine) const {
    shard_writes rest = mine;
    if (job.rank == 1 && arrays) rest.arrays.erase(rest.arrays.begin());
    if (job.rank == 1 && !arrays) rest.objects.clear();
    return megatron::torch_dist_saver::write(job, rest);
  }
};

/// Rank 1 writes an object twice.
struct stuttering_saver : megatron::torch_dist_saver {
  result<message> write(const save_job& job, const shard_writes& mine) const {
    shard_writes more = mine;
    if (job.rank == 1) more.objects.push_back(more.objects.front());
    return megatron::torch_dist_saver::write(job, more);
  }
};

/// Tells of one cell that it takes so many bytes more than it does.
struct boasting_saver : megatron::torch_dist_saver {
  std::uint64_t more = 1;

  result<message> write(const save_job& job, const shard_writes& mine) const {
    ZARRPOINT_CHECK(megatron::torch_dist_saver::write(job, mine));
    const array_writes& one = mine.arrays.front();
    const box& part = one.cells.front().part;
    ZARRPOINT_TRY(layout,
                  dcp::detail::archive_layout::of_tensor({one.array->metadata.type, part.shape}));
    detail::wire_writer to;
    to.number(0);
    to.text(one.array->tensor.key);
    to.part(part);
    to.number(0);
    to.number(0);
    to.number(layout.size() + more);
    return std::move(to).take();
  }
};

/// Rank 1 tells that its flat pieces are others than they are.
struct shifting_saver : megatron::torch_dist_saver {
  flat_range by{};  ///< added to what is planned

  result<message> write(const save_job& job, const shard_writes& mine) const {
    shard_writes other = mine;
    for (array_writes& array : other.arrays)
      for (cell_write& cell : array.cells)
        if (cell.piece && job.rank == 1)
          cell.piece = flat_range{cell.piece->start + by.start, cell.piece->stop + by.stop};
    return megatron::torch_dist_saver::write(job, other);
  }
};

/// Rank 1 tells more than there is, or cuts off what it tells.
struct talkative_saver : megatron::torch_dist_saver {
  int more = 1;

  result<message> write(const save_job& job, const shard_writes& mine) const {
    ZARRPOINT_TRY(out, megatron::torch_dist_saver::write(job, mine));
    if (job.rank == 1) out.resize(out.size() + static_cast<std::size_t>(more));
    return std::move(out);
  }
};

TEST_CASE("torch_dist: what was not written is named, and the old checkpoint stays") {
  const auto tree = [](int rank) { return state_of(rank, 2, 5); };
  group_save_options options = as_torch_dist();
  forgetful_saver saver;
  options.sharded = saver;
  const std::string array = refused(2, tree, options);
  CHECK(has(array, "corrupt"));
  CHECK(has(array, "the receipt of rank 1 lacks \"decoder."));
  saver.arrays = false;
  options.sharded = saver;
  CHECK(has(refused(2, tree, options), "the receipt of rank 1 lacks \"rng/shard_1_2\""));
  options.sharded = stuttering_saver();
  CHECK(has(refused(2, tree, options), "the receipt of rank 1 has \"rng/shard_1_2\" twice"));
  const auto alone = [](int) {
    return tree_of({with_values(whole_of("w", {dtype_kind::float32, {3}}), 1)});
  };
  boasting_saver boasts;
  options.sharded = boasts;
  CHECK(has(refused(1, alone, options), "the receipt of rank 0 says that \"w\" has "));
  boasts.more = 0;
  options.sharded = boasts;
  const test::temp_directory folder;
  CHECK(saved(1, folder / "c", alone, options) == "done");
  for (const int more : {1, -1}) {
    talkative_saver talks;
    talks.more = more;
    options.sharded = talks;
    CHECK(has(refused(2, tree, options), "the receipt of rank 1"));
  }
  for (const flat_range by : {flat_range{-1, -1}, {1, 1}, {-8, -8}, {100, 100}}) {
    shifting_saver shifts;
    shifts.by = by;
    options.sharded = shifts;
    const std::string said = refused(2, tree, options);
    CHECK(has(said, "corrupt"));
    CHECK(has(said, "the receipt of rank 1 says that \"optimizer/flat\" has "));
  }
}

/// Counts the bytes that ranks send each other at once, of which there are many.
struct counting_communicator {
  thread_communicator under;
  std::shared_ptr<std::atomic<std::size_t>> bytes;

  int rank() const { return under.rank(); }
  int size() const { return under.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    for (std::size_t r = 0; r < to_each.size(); ++r)
      if (static_cast<int>(r) != rank()) *bytes += to_each[r].size();
    return under.exchange(std::move(to_each));
  }
};

TEST_CASE("torch_dist: each rank writes its own flat pieces, and sends none") {
  constexpr index_t elements = 40'000;
  constexpr int ranks = 3;
  // Rank 1 has two pieces of the cell, and rank 2 one of no elements, too.
  const std::vector<flat_range> pieces[ranks] = {
      {{7, 9'000}}, {{0, 7}, {9'000, 30'000}}, {{30'000, 30'000}, {30'000, elements}}};
  const auto tree = [&](int rank) {
    std::vector<sharded_tensor> out;
    for (const flat_range range : pieces[rank])
      out.push_back(with_values(from_rank_offsets_flat("m", {dtype_kind::float32, {range.size()}},
                                                       {{4, elements / 4}, range}, {})
                                    .value(),
                                6));
    return tree_of(out);
  };
  const auto sent = [&](const location& where, const group_save_options& options) {
    const auto bytes = std::make_shared<std::atomic<std::size_t>>(0);
    CHECK(outcome(thread_world::run(ranks, [&](const thread_communicator& self) {
            return save(where, tree(self.rank()), group_with(counting_communicator{self, bytes}),
                        options);
          })) == "done");
    CHECK(holds(where, {whole_of("m", {dtype_kind::float32, {4, elements / 4}})}, 6) == "done");
    return bytes->load();
  };
  const test::temp_directory folder;
  CHECK(sent(folder / "pieces", as_torch_dist()) < 4096);
  group_save_options joined;
  CHECK(sent(folder / "joined", joined) > (elements - 30'000) * sizeof(float));
  const dcp::metadata made = metadata_of(folder / "pieces");
  std::vector<std::pair<index_t, std::string>> found;
  for (const dcp::tensor_chunk& chunk : made.tensors.front().chunks)
    found.emplace_back(chunk.at.offset.back(), chunk.from.file);
  CHECK(found == std::vector<std::pair<index_t, std::string>>{{0, "__1_0.distcp"},
                                                              {7, "__0_0.distcp"},
                                                              {9'000, "__1_0.distcp"},
                                                              {30'000, "__2_0.distcp"}});
  group_save_options cast = as_torch_dist();
  cast.storage.rules = {{.cast = dtype_kind::float64}};
  CHECK(saved(ranks, folder / "cast", tree, cast) == "done");
  const auto of = [&](const char* name) {
    return std::move(load_plain_tensors(folder / name, group_with()).value().at("m"));
  };
  const tensor wide = of("cast"), own = of("pieces");
  REQUIRE(wide.type() == dtype_kind::float64);
  for (std::size_t i = 0; i < elements; ++i)
    if (const float one = own.data<float>()[i];
        one == one && wide.data<double>()[i] != static_cast<double>(one))
      FAIL(i);
}

TEST_CASE("torch_dist: flat pieces on a device") {
  fake_device device(1, std::size_t{16} << 20);
  const fake_space space{&device, device.new_stream()};
  const shard_metadata about =
      from_rank_offsets_flat("w", {dtype_kind::int16, {20}}, {{6, 5}, {10, 30}}, {}).value();
  const shard_metadata first =
      from_rank_offsets_flat("w", {dtype_kind::int16, {10}}, {{6, 5}, {0, 10}}, {}).value();
  const tensor values = values_of(about, 3);
  device_tensor<std::int16_t> there(space, {20});
  there.upload(values.data<std::int16_t>());
  const memory_store store;
  for (const bool casts : {false, true}) {
    group_save_options options = as_torch_dist();
    if (casts) options.storage.rules = {{.cast = dtype_kind::int64}};
    const auto shard = sharded<device_tensor<std::int16_t>>::borrow(about, there).value();
    CHECK(saved(
              1, location(store),
              [&](int) {
                return tree_of({shard, with_values(first, 3)});
              },
              options) == "done");
    if (!casts)
      CHECK(holds(location(store), {whole_of("w", {dtype_kind::int16, {6, 5}})}, 3) == "done");
    const auto all = load_plain_tensors(location(store), group_with()).value();
    const tensor& found = all.at("w");
    for (std::size_t i = 0; i < 20; ++i)
      CHECK((casts ? found.data<std::int64_t>()[10 + i] : found.data<std::int16_t>()[10 + i]) ==
            values.data<std::int16_t>()[i]);
  }
}

TEST_CASE("torch_dist: a store that fails leaves nothing new, and the old checkpoint whole") {
  const test::temp_directory folder;
  const any_store base = file_store::open(folder / "").value();
  const store_key at = store_key::parse("c").value();
  group_save_options options = as_torch_dist();
  options.sharded = megatron::torch_dist_saver{.file_bytes = 1, .files_at_once = 1};
  int needed = 0;
  for (;; ++needed) {
    REQUIRE(needed < 200);
    CAPTURE(needed);
    fs::remove_all(folder / "c");
    const bool is_there = needed % 2 == 0;
    if (is_there) REQUIRE(saved(1, folder / "c", [](int) { return state_of(0, 1, 1); }) == "done");
    const auto before = is_there ? files_in(folder / "c") : std::map<std::string, std::string>();
    const failing_store store{base, std::make_shared<std::atomic<int>>(needed)};
    const auto done =
        save(location(any_store(store), at), state_of(0, 1, 2), group_with(), options);
    if (done) break;
    CHECK(done.failure().code == errc::io);
    CHECK(fs::exists(folder / "c") == is_there);
    if (is_there) CHECK(files_in(folder / "c") == before);
  }
  CHECK(needed > 20);
  CHECK(holds(folder / "c", wholes(1), 2) == "done");
  // Objects are named like tensors.
  const failing_store none{base, std::make_shared<std::atomic<int>>(1)};
  const auto object = sharded_object::from_bytes("rng", std::vector<std::byte>(3)).value();
  const auto done = save(location(any_store(none), store_key::parse("d").value()),
                         state{{"o", object}}, group_with(), options);
  REQUIRE_FALSE(done);
  CAPTURE(done.failure().message);
  CHECK(has(done.failure().message, "\"rng/shard__\": "));
}

TEST_CASE("torch_dist: a checkpoint of its own kind is replaced, another never") {
  const test::temp_directory folder;
  const auto tree = [](std::uint64_t seed) {
    return [seed](int rank) { return state_of(rank, 2, seed); };
  };
  const std::string path = folder / "c";
  fs::copy(golden, path, fs::copy_options::recursive);
  test::write_file(path + "/latest.txt", "7");
  test::write_file(path + "/__notes", "mine");
  group_save_options careful = as_torch_dist();
  careful.storage.overwrite = false;
  CHECK(has(saved(2, path, tree(1), careful), "overwrite is false"));
  const auto reports = thread_world::run(2, [&](const thread_communicator& self) {
    return save(path, tree(1)(self.rank()), group_with(self), as_torch_dist());
  });
  REQUIRE(outcome(reports) == "done");
  for (const auto& report : reports)
    CHECK(report->kept == std::vector<std::string>{"__notes", "latest.txt"});
  CHECK(names_in(path) == std::set<std::string>{".metadata", "__0_0.distcp", "__1_0.distcp",
                                                "__notes", "common.pt", "latest.txt",
                                                "metadata.json"});
  CHECK(holds(path, wholes(2), 1) == "done");
  // The pair of zarr, and the other way round.
  group_save_options zarr;
  zarr.sharded = strategy_choice("zarr", 1);
  const auto simple = [](int rank) {
    const auto half =
        from_rank_offsets("w", {dtype_kind::float32, {2}}, {.offsets = {{0, rank, 2}}}).value();
    return tree_of({with_values(half, 4)});
  };
  CHECK(has(saved(2, path, simple, zarr), "nothing was changed"));
  CHECK(holds(path, wholes(2), 1) == "done");
  REQUIRE(saved(2, folder / "z", simple, zarr) == "done");
  CHECK(has(saved(2, folder / "z", tree(1)), "nothing was changed"));
  CHECK(has(saved(2, folder / "z", tree(1)), "already_exists"));
  // Ours.
  group_save_options ours;
  REQUIRE(saved(2, folder / "v3", simple, ours) == "done");
  CHECK(has(saved(2, folder / "v3", tree(3)), "is a zarrpoint checkpoint, not a checkpoint of"));
  CHECK(fs::exists(folder / "v3/zarr.json"));
  // In a store that cannot publish nothing of the old one shows through.
  const memory_store store;
  for (const std::uint64_t seed : {1U, 2U}) {
    CHECK(saved(2, location(any_store(store)), tree(seed)) == "done");
    CHECK(holds(location(any_store(store)), wholes(2), seed) == "done");
  }
  CHECK(saved(2, location(any_store(store)), simple) == "done");
  CHECK(store.list(store_key::root()).value().size() == 5);
}

/// A store that can neither list nor publish nor remove all of a folder.
struct bare_store {
  memory_store base;

  auto open(const store_key& key) const { return base.open(key); }
  std::string describe(const store_key& key) const { return base.describe(key); }
  auto create(const store_key& key) const { return base.create(key); }
  auto put(const store_key& key, bytes_view bytes) const { return base.put(key, bytes); }
  auto erase(const store_key& key) const { return base.erase(key); }
};

TEST_CASE("torch_dist: in place, old metadata never vouch for new data") {
  const auto tree = [](std::uint64_t seed) {
    return [seed](int rank) { return state_of(rank, 2, seed); };
  };
  const location bare{any_store(bare_store())};
  CHECK(saved(2, bare, tree(1)) == "done");
  const std::string again = saved(2, bare, tree(2));
  CHECK(has(again, "unsupported"));
  CHECK(has(again, "can neither list nor erase at once"));
  CHECK(holds(bare, wholes(2), 1) == "done");
  // What is refused before anything is written costs no checkpoint.
  const memory_store store;
  const location where{any_store(store)};
  REQUIRE(saved(2, where, tree(1)) == "done");
  const auto with = [&](const std::string& name, const state& more) {
    return [=](int rank) {
      state out = state_of(rank, 2, 2);
      if (rank == 1) out.if_map()->emplace(name, more);
      return out;
    };
  };
  const auto shard = with_values(whole_of("common", {dtype_kind::float32, {2}}), 1);
  CHECK(has(saved(2, where, with("t", shard)), "\"common\""));
  CHECK(holds(where, wholes(2), 1) == "done");
  const auto object = sharded_object::from_bytes("common", std::vector<std::byte>(3)).value();
  const std::string why = saved(2, where, with("o", object));
  CAPTURE(why);
  CHECK(has(why, "\"common/shard__\""));
  CHECK(holds(where, wholes(2), 1) == "done");
  CHECK(saved(2, where, tree(2)) == "done");
  CHECK(holds(where, wholes(2), 2) == "done");
}

TEST_CASE("torch_dist: in the background, and with the plan of the last save") {
  const test::temp_directory folder;
  std::vector<std::shared_ptr<plan_cache>> plans(2);
  for (auto& one : plans) one = std::make_shared<plan_cache>();
  for (std::uint64_t step = 1; step <= 2; ++step) {
    const std::string path = folder / std::to_string(step);
    CHECK(outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
            group_save_options options = as_torch_dist();
            options.storage.plans = plans[static_cast<std::size_t>(self.rank())];
            async_saves saves(group_with(self));
            ZARRPOINT_CHECK(saves.schedule(path, state_of(self.rank(), 2, step), options));
            ZARRPOINT_TRY(done, saves.finalize());
            const bool again = done.size() == 1 && done.front().plan_reused;
            if (again == (step == 2)) return {};
            return error{errc::corrupt, "another plan than the last one"};
          })) == "done");
    CHECK(holds(path, wholes(2), step) == "done");
  }
}

TEST_CASE("torch_dist: damage is named on all ranks, and never zeros") {
  const test::temp_directory folder;
  const std::string path = folder / "c";
  REQUIRE(saved(2, path, [](int rank) { return state_of(rank, 2, 5); }) == "done");
  const std::string file = path + "/__1_0.distcp";
  const std::string whole = test::read_file(file);
  fs::remove(file);
  CHECK(has(holds(path, wholes(2), 5), "not_found"));
  test::write_file(file, whole.substr(0, whole.size() / 2));
  CHECK(has(holds(path, wholes(2), 5), "corrupt"));
  test::write_file(file, whole);
  CHECK(holds(path, wholes(2), 5) == "done");
  const auto object = [&](const dims& shape, const dims& offset) {
    return loaded(
        2, path,
        [&](int) {
          return state{
              {"o", sharded_object::request("rng", {.global_shape = shape, .global_offset = offset})
                        .value()}};
        },
        [](int, const group_load_report&) { return ""; });
  };
  CHECK(object({2}, {1}) == "done");
  CHECK(has(object({3}, {1}), "objects are not resharded"));
  const auto large = sharded_object::from_bytes("o", std::vector<std::byte>(100'000)).value();
  REQUIRE(saved(1, folder / "large", [&](int) { return state{{"o", large}}; }) == "done");
  process_group small = group_with();
  small.how.limit.memory = 50'000;
  const auto refused =
      load(folder / "large", state{{"o", sharded_object::request("o").value()}}, small);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(has(refused.failure().message, "limits::memory"));
  const std::string none = outcome(thread_world::run(2, [&](const thread_communicator& self) {
    return load(
        path,
        state{{"o",
               sharded_object::request("no", {.global_shape = {1}, .global_offset = {0}}).value()}},
        group_with(self), {.validate = false});
  }));
  CHECK(has(none, "not_found"));
  // A common part that cannot be read stops nothing that is sharded.
  test::write_file(path + "/common.pt", "broken");
  CHECK(has(holds(path, wholes(2), 5), "no_common_loader"));
  group_load_options without{.validate = false};
  without.common = no_common_loader{};
  CHECK(load_plain_tensors(path, group_with(), without).value().size() == 6);
  test::write_file(path + "/.metadata", "broken");
  CHECK(has(holds(path, wholes(2), 5), ".metadata"));
  fs::remove(path + "/.metadata");
  CHECK(has(holds(path, wholes(2), 5), "not_found"));
}

}  // namespace torch_dist_saver_test
