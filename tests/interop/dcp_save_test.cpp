// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "pickle_bytes.hpp"
#include "support/executors.hpp"
#include "support/failing_store.hpp"
#include "support/fake_device.hpp"
#include "support/random_rounds.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace dcp_save_test {

using namespace zarrpoint;
using zarrpoint_test::failing_store;
namespace fs = std::filesystem;
using test::names_in;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

/// Leaves of a save that are tensors; the others are values.
std::size_t tensors_in(const save_report& of) {
  return static_cast<std::size_t>(
      std::count_if(of.leaves.begin(), of.leaves.end(),
                    [](const leaf_report& one) { return one.stored.type.valid(); }));
}
std::size_t values_in(const save_report& of) { return of.leaves.size() - tensors_in(of); }

checkpoint opened(const std::string& path) {
  return open(path, {.stores = formats<dcp::format>()}).value();
}

dcp::state_store state_of(const any_store& from) {
  return dcp::state_store::open(from, store_key::root()).value();
}

dcp::state_store state_at(const std::string& path) {
  return state_of(file_store::open(path, {.read_only = true}).value());
}

/// Random bits of a dtype.
tensor random_tensor(dtype type, const dims& shape, std::mt19937_64& random) {
  tensor out = tensor::make({type, shape}).value();
  const std::size_t size = byte_count(out.spec()).value();
  for (std::size_t i = 0; i < size; ++i)
    out.mutable_view().data[i] =
        static_cast<std::byte>(type.kind() == dtype_kind::bool_ ? random() % 2 : random() % 256);
  return out;
}

std::string bytes_of(const host_view& view) {
  std::string out(byte_count(view.spec()).value(), '\0');
  copy_elements(dense_view(reinterpret_cast<std::byte*>(out.data()), view.spec()), view);
  return out;
}

/// The names and bytes of the files in a directory.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file())
      out[entry.path().filename().string()] = test::read_file(entry.path().string());
  return out;
}

template <class T>
bool refuses(const result<T>& of, errc code, std::string_view text) {
  if (of) return false;
  INFO(to_string(of.failure()));
  CHECK(of.failure().code == code);
  CHECK(of.failure().message.find(text) != std::string::npos);
  return of.failure().code == code && of.failure().message.find(text) != std::string::npos;
}

TEST_CASE("dcp_save: every dtype of PyTorch, any shape, in boxes of any size and files of any") {
  const test::temp_directory folder;
  std::mt19937_64 random(1);
  std::vector<tensor> all;
  std::vector<std::string> names;
  for (const dtype_kind kind : all_dtype_kinds) {
    if (!torch::dtype_name(kind)) continue;
    for (const dims& shape : {dims{}, dims{0}, dims{3, 0, 2}, dims{7}, dims{5, 3, 4}}) {
      names.push_back(std::string(to_string(dtype(kind))) + "." + std::to_string(shape.rank()) +
                      "." + std::to_string(all.size()));
      all.push_back(random_tensor(kind, shape, random));
    }
  }
  REQUIRE(all.size() == 21 * 5);
  std::vector<leaf> leaves;
  for (std::size_t i = 0; i < all.size(); ++i) leaves.emplace_back(names[i], all[i]);
  std::uint64_t most_boxes = 0;
  int pairs = 0;
  for (const std::uint64_t chunk_bytes : {0U, 1U, 8U, 40U, 100'000U}) {
    for (const std::uint64_t file_bytes : {1U, 3000U, 1U << 30}) {
      // Thinned, four of the fifteen pairs, among them boxes of one byte.
      if (pairs++ % 4 != 0 && zarrpoint_test::is_thinned) continue;
      CAPTURE(chunk_bytes);
      CAPTURE(file_bytes);
      const std::string path = folder / "c";
      const auto done =
          dcp::save(path, leaves,
                    {.sync = false,
                     .format = dcp::format{.chunk_bytes = chunk_bytes, .file_bytes = file_bytes}});
      REQUIRE(done);
      CHECK(tensors_in(*done) == all.size());
      CHECK(values_in(*done) == 0);
      most_boxes = std::max(most_boxes, done->cells);
      CHECK(names_in(path).size() == done->files.size() + 1);
      if (file_bytes == 1) CHECK(done->files.size() == done->cells);
      const checkpoint from = opened(path);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const tensor got = from.load<tensor>(names[i]).value();
        CHECK(got.spec() == all[i].spec());
        CHECK(bytes_of(got.view()) == bytes_of(all[i].view()));
      }
    }
  }
  CHECK(most_boxes > 1000);
}

TEST_CASE("dcp_save: strided views, and what lies on a device, in boxes") {
  const test::temp_directory folder;
  std::mt19937_64 random(2);
  const tensor base = random_tensor(dtype_kind::float32, {500, 400}, random);
  host_view turned = base.view();
  std::swap(turned.shape[0], turned.shape[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  host_view flipped = base.view();
  flipped.data += 499 * flipped.strides[0];
  flipped.strides[0] = -flipped.strides[0];
  zarrpoint_test::fake_device device(0);
  std::vector<float> values(600);
  std::iota(values.begin(), values.end(), 0.5F);
  zarrpoint_test::device_tensor<float> there({&device, 0}, {30, 20});
  there.upload(values);
  const std::string path = folder / "c";
  dcp::save(path, {{"turned", turned}, {"flipped", flipped}, {"device", there}},
            {.format = dcp::format{.chunk_bytes = 1000}})
      .value();
  const checkpoint from = opened(path);
  CHECK(bytes_of(from.load<tensor>("turned").value().view()) == bytes_of(turned));
  CHECK(bytes_of(from.load<tensor>("flipped").value().view()) == bytes_of(flipped));
  CHECK(from.load<std::vector<float>>("device", box{{0, 0}, {30, 20}}).value() == values);
  CHECK(from.metadata("device").value().chunk_shape == dims{12, 20});
}

TEST_CASE("dcp_save: values of Python, flattened as PyTorch does") {
  const test::temp_directory folder;
  const std::string path = folder / "c";
  const json_text config{R"({"lr":0.5,"steps":[1,2,[3]],"name":"é","none":null,"empty":{},)"
                         R"("nested":{"a":[{"x":1},2]},"raw":{"$":"text","base64":"/wA="}})"};
  const auto done =
      dcp::save(path,
                {{"step", 12},
                 {"big", std::uint64_t{1} << 63},
                 {"yes", true},
                 {"lr", 0.25F},
                 {"nan", std::numeric_limits<double>::quiet_NaN()},
                 {"text", "a\nb"},
                 {"cfg", config},
                 {"list", json_text{"[]"}},
                 {"raws", json_text{R"([1,[{"$":"text","base64":"/w=="}]])"}},
                 {"bytes", byte_string{{std::byte{0}, std::byte{255}}}},
                 {"complex", std::complex<float>(1, 2)}},
                {.format = dcp::format{.paths = {{"cfg", {{"outer", false}, {"3", true}}}}}})
          .value();
  CHECK(tensors_in(done) == 1);
  CHECK(values_in(done) == 9 + 7);
  const checkpoint from = opened(path);
  CHECK(from.load<std::int64_t>("step").value() == 12);
  CHECK(from.load<std::uint64_t>("big").value() == std::uint64_t{1} << 63);
  CHECK(from.load<bool>("yes").value());
  CHECK(from.load<double>("lr").value() == 0.25);
  CHECK(std::isnan(from.load<double>("nan").value()));
  CHECK(from.load<std::string>("text").value() == "a\nb");
  CHECK(from.load<std::string>("cfg.steps").value() == "[1,2,[3]]");
  CHECK(from.load<std::string>("raws").value() == R"([1,[{"$":"text","base64":"/w=="}]])");
  CHECK(from.load<std::int64_t>("cfg.nested.a.0.x").value() == 1);
  CHECK(from.load<std::int64_t>("cfg.nested.a.1").value() == 2);
  CHECK(from.load<std::complex<float>>("complex").value() == std::complex<float>(1, 2));
  const dcp::state_store state = state_at(path);
  CHECK(torch::to_bytes(state.value("bytes").value().root()).value().size() == 2);
  CHECK(torch::to_bytes(state.value("cfg.raw").value().root()).value().size() == 2);
  CHECK(state.value("cfg.none").value().root().is_none());
  const auto& values = state.metadata().values;
  const auto one = std::find_if(values.begin(), values.end(),
                                [](const auto& v) { return v.name == "cfg.nested.a.0.x"; });
  REQUIRE(one != values.end());
  CHECK(one->path == std::vector<dcp::path_step>{{"outer", false},
                                                 {"3", true},
                                                 {"nested", false},
                                                 {"a", false},
                                                 {"0", true},
                                                 {"x", false}});
}

TEST_CASE("dcp_save: the same leaves make the same bytes, and elements are aligned in the files") {
  const test::temp_directory folder;
  std::mt19937_64 random(3);
  const tensor small = random_tensor(dtype_kind::float32, {3}, random);
  const tensor large = random_tensor(dtype_kind::float64, {300, 300}, random);
  const std::vector<leaf> leaves{{"step", 1}, {"small", small}, {"large", large}};
  const auto serial =
      files_in((dcp::save(folder / "a", leaves, {}, context{}).value(), folder / "a"));
  dcp::save(folder / "b", leaves).value();
  CHECK(files_in(folder / "b") == serial);
  CHECK(serial.size() == 2);
  const checkpoint from = opened(folder / "a");
  CHECK(from.view<double>("large").value().is_zero_copy());
  const dcp::state_store state = state_at(folder / "a");
  for (const dcp::tensor_entry& one : state.metadata().tensors)
    CHECK(one.chunks[0].from.offset % (one.name == "large" ? 4096 : 64) == 0);
}

TEST_CASE("dcp_save: a store may send what was written while it is saved") {
  std::mt19937_64 random(4);
  const tensor small = random_tensor(dtype_kind::float32, {3}, random);
  const tensor large = random_tensor(dtype_kind::float64, {300, 300}, random);
  const zarrpoint_test::recording_store store;
  dcp::save(location(store), {{"step", 1}, {"small", small}, {"large", large}, {"more", small}})
      .value();
  const auto& once = store->written_once;
  for (const std::string& one : store.keys())
    CHECK((one == ".metadata" || std::count(once.begin(), once.end(), one) == 1));
  CHECK_FALSE(once.empty());
}

/// Refuses one request of the size of a block, after all tasks of other threads have been done.
class refusing_resource final : public memory_resource {
 public:
  refusing_resource(int which, testing::manual_executor others)
      : left_(which), others_(std::move(others)) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (bytes != std::size_t{4} << 20 || --left_ != 0)
      return default_resource().allocate(bytes, alignment);
    others_.run_all();
    return nullptr;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    default_resource().deallocate(memory, bytes, alignment);
  }
  bool has_refused() const { return left_ <= 0; }

 private:
  int left_;
  testing::manual_executor others_;
};

TEST_CASE("dcp_save: what begins again without memory writes no item twice") {
  std::mt19937_64 random(5);
  zarrpoint_test::fake_device device(1);
  const tensor wide = random_tensor(dtype_kind::float32, {6, 40, 2}, random);
  const std::vector<float> there(64, 2.5F);
  zarrpoint_test::device_tensor<float> on_device(zarrpoint_test::fake_space{&device}, {4, 16});
  on_device.upload(there);
  // None lies dense: each takes a block. The boxes of one that lies on a device are one unit.
  std::vector<leaf> leaves{{"d", on_device}};
  for (index_t i = 0; i < 6; ++i)
    leaves.emplace_back("w" + std::to_string(i), subview(wide.view(), box{{i, 0, 0}, {1, 40, 1}}));
  const dcp::format boxes{
      .boxes = {{"d", {{{0, 0}, {4, 6}}, {{0, 6}, {4, 4}}, {{0, 10}, {4, 6}}}}}};
  const auto check = [&](const zarrpoint_test::recording_store& store) {
    const auto& once = store->written_once;
    CHECK(std::count(once.begin(), once.end(), "__0_0.distcp") == 1);
    const any_store state = state_of(store);
    const auto read = checkpoint::open(location(state)).value();
    CHECK(bytes_of(read.load<tensor>("d").value().view()) ==
          bytes_of(
              dense_view(std::as_bytes(std::span(there)).data(), {dtype_kind::float32, {4, 16}})));
    for (const leaf& one : std::span(leaves).subspan(1))
      CHECK(bytes_of(read.load<tensor>(one.name()).value().view()) == bytes_of(one.view().value()));
  };
  for (int which = 1; which <= 10; ++which) {  // nine blocks, and then none is refused
    CAPTURE(which);
    const zarrpoint_test::recording_store store;
    context how;
    const testing::manual_executor others;
    refusing_resource memory(which, others);
    how.executor = others;
    how.resource = &memory;
    REQUIRE(save(location(store), leaves, {.format = boxes}, how));
    CHECK(memory.has_refused() == (which < 10));
    check(store);
  }
  // What the store itself had no memory for may be there in part.
  for (std::int64_t write = 0;; ++write) {
    CAPTURE(write);
    const zarrpoint_test::recording_store store;
    store->writes_until_refusal = write;
    const auto saved = save(location(store), leaves, {.format = boxes}, context{});
    if (saved) {
      CHECK(store->writes_until_refusal >= 0);
      check(store);
      break;
    }
    CHECK(saved.failure().code == errc::resource_limit);
  }
}

TEST_CASE("dcp_save: given boxes, and those that are not the tensor") {
  const test::temp_directory folder;
  std::mt19937_64 random(4);
  const tensor w = random_tensor(dtype_kind::int16, {4, 6}, random);
  const auto save = [&](std::vector<box> boxes, const std::string& name = "w") {
    return dcp::save(folder / "c", {{"w", w}},
                     {.format = dcp::format{.boxes = {{name, std::move(boxes)}}}});
  };
  CHECK(save({{{0, 0}, {1, 6}}, {{1, 0}, {3, 2}}, {{1, 2}, {3, 4}}}).value().cells == 3);
  CHECK(bytes_of(opened(folder / "c").load<tensor>("w").value().view()) == bytes_of(w.view()));
  const auto before = files_in(folder / "c");
  CHECK(refuses(save({{{0, 0}, {1, 6}}}), errc::invalid_argument, "\"w\""));
  CHECK(refuses(save({{{0, 0}, {4, 4}}, {{0, 3}, {4, 3}}}), errc::invalid_argument, "\"w\""));
  CHECK(refuses(save({{{0, 0}, {4, 7}}}), errc::out_of_range, "\"w\""));
  CHECK(refuses(save({}), errc::invalid_argument, "\"w\""));
  CHECK(refuses(save({{{0, 0}, {4, 6}}}, "v"), errc::invalid_argument,
                "\"v\", which is not a tensor"));
  CHECK(files_in(folder / "c") == before);
}

TEST_CASE("dcp_save: names that no checkpoint can have, and dtypes that PyTorch has not") {
  const test::temp_directory folder;
  const auto save = [&](std::vector<leaf> leaves) {
    return dcp::save(folder / "c", leaves, {.sync = false});
  };
  CHECK(refuses(save({{"a", 1}, {"b", 2}, {"a", 3}}), errc::invalid_argument,
                "\"a\" is there twice"));
  CHECK(refuses(save({{"a", 1}, {"a", std::vector<float>(2)}}), errc::invalid_argument, "twice"));
  CHECK(refuses(save({{"c", json_text{R"({"x":1})"}}, {"c.x", 2}}), errc::invalid_argument,
                "\"c.x\" is there twice"));
  CHECK(refuses(save({{std::string(1025, 'n'), 1}}), errc::invalid_argument, "1024 bytes"));
  CHECK(refuses(save({{std::string(256, 'n'), 1}}), errc::invalid_argument, ""));
  CHECK(refuses(save({{"a", 1}, {"a/b", 2}}), errc::invalid_argument, "\"a\""));
  CHECK(refuses(save({{"", 1}}), errc::invalid_argument, ""));
  CHECK(refuses(save({{"../x", 1}}), errc::invalid_argument, ""));
  CHECK(refuses(save({{"t\xff", std::vector<float>(2)}}), errc::invalid_argument, ""));
  CHECK(refuses(save({{"s", std::vector<std::string>{"a"}}}), errc::unsupported, "\"s\""));
  CHECK(refuses(save({{"j", json_text{"{"}}}), errc::corrupt, "\"j\""));
  const tensor wide = tensor::make({dtype_kind::complex128, {1 << 13, 1 << 12}}).value();
  CHECK(refuses(dcp::save(folder / "c", {{"w", wide}}, {.format = dcp::format{.chunk_bytes = 1}}),
                errc::resource_limit, "\"w\""));
  CHECK_FALSE(fs::exists(folder / "c"));
  CHECK(names_in(folder / "").empty());
}

TEST_CASE("dcp_save: what is there is replaced in one step, and others' files stay") {
  const test::temp_directory folder;
  const std::string path = folder / "c";
  const std::vector<float> one{1, 2}, two{3, 4, 5};
  dcp::save(path, {{"w", one}, {"gone", one}}, {.format = dcp::format{.file_bytes = 1}}).value();
  CHECK(names_in(path) == std::vector<std::string>{".metadata", "__0_0.distcp", "__0_1.distcp"});
  test::write_file(folder / "c/notes.txt", "mine");
  const auto done = dcp::save(path, {{"w", two}});
  CHECK(done.value().kept == std::vector<std::string>{"notes.txt"});
  CHECK(names_in(path) == std::vector<std::string>{".metadata", "__0_0.distcp", "notes.txt"});
  CHECK(opened(path).load<std::vector<float>>("w").value() == two);
  CHECK(names_in(folder / "") == std::vector<std::string>{"c"});
  const auto before = files_in(path);
  CHECK(refuses(dcp::save(path, {{"w", one}}, {.overwrite = false}), errc::already_exists,
                "is there already"));
  CHECK(files_in(path) == before);
  // What a save of PyTorch's that was killed left.
  fs::create_directory(folder / "half");
  test::write_file(folder / "half/__0_0.distcp", "x");
  CHECK(
      refuses(dcp::save(folder / "half", {{"w", one}}), errc::already_exists, "was not finished"));
  CHECK(test::read_file(folder / "half/__0_0.distcp") == "x");

  fs::create_directory(folder / "other");
  test::write_file(folder / "other/file", "x");
  CHECK(refuses(dcp::save(folder / "other", {{"w", one}}), errc::already_exists, "other files"));
  CHECK(refuses(dcp::save(folder / "other/file", {{"w", one}}), errc::already_exists, "is a file"));
  save(folder / "zarr", {{"w", one}}).value();
  CHECK(refuses(dcp::save(folder / "zarr", {{"w", one}}), errc::already_exists, "is a zarrpoint"));
  fs::create_directory(folder / "megatron");
  test::write_file(folder / "megatron/.metadata", "x");
  test::write_file(folder / "megatron/metadata.json", R"({"sharded_backend": "torch_dist"})");
  CHECK(refuses(dcp::save(folder / "megatron", {{"w", one}}), errc::already_exists,
                "but also a Megatron-Core checkpoint"));
  CHECK(opened(folder / "zarr").load<std::vector<float>>("w").value() == one);
}

TEST_CASE("dcp_save: what a store refuses names the leaf") {
  const test::temp_directory folder;
  const any_store base = file_store::open(folder / "").value();
  const failing_store none{base, std::make_shared<std::atomic<int>>(1)};
  CHECK(refuses(dcp::save(location(none, key("d")), {{"step", 3}}), errc::io, "save \"step\": "));
  CHECK(names_in(folder / "").empty());
}

TEST_CASE("dcp_save: into a store that cannot publish") {
  const memory_store store;
  const std::vector<float> one{1, 2};
  dcp::save(location(store), {{"w", one}, {"v", one}}, {.format = dcp::format{.file_bytes = 1}})
      .value();
  dcp::save(location(store), {{"w", one}}).value();
  CHECK(state_of(store).metadata().tensors.size() == 1);
  CHECK(store.list(store_key::root()).value().size() == 2);
}

/// A shard of rank 2.
sharded_tensor shard_of(const std::string& name, const dims& global, const box& at,
                        const host_view& elements, std::size_t prepended = 0) {
  shard_metadata of;
  of.key = name;
  of.type = elements.type;
  of.global_shape = global;
  of.local_shape = elements.shape;
  of.global_offset = at.offset;
  of.prepended_axes = prepended;
  return sharded<host_view>::make(of, elements).value();
}

TEST_CASE("dcp_save: shards beside tensors, each named once") {
  const test::temp_directory folder;
  std::mt19937_64 random(6);
  const tensor w = random_tensor(dtype_kind::float32, {4}, random);
  const auto save_shards = [&](const std::vector<std::string>& names) {
    std::vector<sharded_tensor> shards;
    for (const std::string& name : names)
      shards.push_back(shard_of(name, {4}, box::whole({4}), w.view()));
    const std::vector<leaf> leaves{{"a", w}, {"b", w}};  // short names lie in the strings
    return dcp::save(folder / "c", any_communicator(), shards, leaves);
  };
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("s" + std::to_string(i));
  CHECK(tensors_in(save_shards(names).value()) == 42);
  for (const std::string& name : names)
    CHECK(bytes_of(opened(folder / "c").load<tensor>(name).value().view()) == bytes_of(w.view()));
  names.push_back("b");
  const auto twice = save_shards(names);
  REQUIRE_FALSE(twice);
  CHECK(twice.failure().code == errc::invalid_argument);
  CHECK(twice.failure().message.find("\"b\" is there twice") != std::string::npos);
  CHECK(save_shards({std::string(1000, 'x')}).failure().code == errc::invalid_argument);
}

TEST_CASE("dcp_save: by many processes, with uneven shards, replicas and prepended axes") {
  const test::temp_directory folder;
  std::mt19937_64 random(5);
  const tensor w = random_tensor(dtype_kind::float32, {10, 6}, random);
  const tensor same = random_tensor(dtype_kind::bfloat16, {40}, random);
  const tensor layer = random_tensor(dtype_kind::int8, {3, 5}, random);
  const std::vector<box> parts{
      {{0, 0}, {5, 6}}, {{5, 0}, {0, 6}}, {{5, 0}, {2, 6}}, {{7, 0}, {3, 6}}};
  const std::string path = folder / "c";
  for (int round = 0; round < 2; ++round) {
    const auto done = thread_world::run(4, [&](thread_communicator& self) {
      const auto rank = static_cast<std::size_t>(self.rank());
      std::vector<sharded_tensor> shards;
      shards.push_back(
          shard_of("w", {10, 6}, parts[rank], subview(w.view(), selection(parts[rank]))));
      shards.push_back(shard_of("same", {40}, box::whole({40}), same.view()));
      shards.push_back(
          shard_of("layers", {4, 3, 5}, {{self.rank(), 0, 0}, {1, 3, 5}}, layer.view(), 1));
      const std::vector<leaf> leaves{{"step", 100 + self.rank()},
                                     {"only" + std::to_string(rank), self.rank()}};
      return dcp::save(path, self, shards, leaves, {.format = dcp::format{.chunk_bytes = 50}});
    });
    for (const auto& one : done) {
      REQUIRE(one);
      CHECK(tensors_in(*one) == 3);
      CHECK(values_in(*one) == 5);
      CHECK(one->files.size() == 4);
      CHECK(one->bytes == 10 * 6 * 4 + 40 * 2 + 4 * 15);
    }
    CHECK(names_in(path) == std::vector<std::string>{".metadata", "__0_0.distcp", "__1_0.distcp",
                                                     "__2_0.distcp", "__3_0.distcp"});
    const checkpoint from = opened(path);
    CHECK(bytes_of(from.load<tensor>("w").value().view()) == bytes_of(w.view()));
    CHECK(bytes_of(from.load<tensor>("same").value().view()) == bytes_of(same.view()));
    const std::string four = bytes_of(layer.view());
    CHECK(bytes_of(from.load<tensor>("layers").value().view()) == four + four + four + four);
    CHECK(from.load<std::int64_t>("step").value() == 100);
    CHECK(from.load<std::int64_t>("only3").value() == 3);
  }
  CHECK(names_in(folder / "") == std::vector<std::string>{"c"});
}

TEST_CASE("dcp_save: what one of many processes has wrong, all are told, and nothing is left") {
  const test::temp_directory folder;
  std::mt19937_64 random(6);
  const tensor w = random_tensor(dtype_kind::float32, {4, 6}, random);
  const tensor other = random_tensor(dtype_kind::float64, {4, 6}, random);
  const auto run = [&](auto shards_of, errc code, std::string_view text) {
    const auto done = thread_world::run(2, [&](thread_communicator& self) {
      const std::vector<sharded_tensor> shards = shards_of(self.rank());
      return dcp::save(folder / "c", self, shards, {});
    });
    for (const auto& one : done) CHECK(refuses(one, code, text));
    CHECK(names_in(folder / "").empty());
  };
  using shards = std::vector<sharded_tensor>;
  run(
      [&](int) {
        return shards{shard_of("w", {8, 6}, {{0, 0}, {4, 6}}, w.view())};
      },
      errc::invalid_argument, "\"w\"");  // a hole
  run(
      [&](int rank) {
        return shards{shard_of("w", {6, 6}, {{2 * rank, 0}, {4, 6}}, w.view())};  // an overlap
      },
      errc::invalid_argument, "\"w\"");
  run(
      [&](int rank) {
        return shards{
            shard_of("w", {8, 6}, {{4 * rank, 0}, {4, 6}}, rank == 0 ? w.view() : other.view())};
      },
      errc::invalid_argument, "to different processes");
  run(
      [&](int rank) {
        shards out{shard_of("w", {4, 6}, {{0, 0}, {4, 6}}, w.view())};
        if (rank == 1) out[0] = out[0].without_data();
        return out;
      },
      errc::invalid_argument, "no value");
  shard_metadata flat{.key = "w",
                      .type = dtype_kind::float32,
                      .local_shape = {4, 6},
                      .global_shape = {4, 6},
                      .global_offset = {0, 0}};
  flat.range = flat_range{0, 24};
  const tensor line = random_tensor(dtype_kind::float32, {24}, random);
  run([&](int) { return shards{sharded<host_view>::make(flat, line.view()).value()}; },
      errc::unsupported, "flat");
}

TEST_CASE("dcp_save: the metadata of others are written as they were read") {
  for (const char* name : {"one-process", "dtensor-2x2"}) {
    const std::string text =
        test::read_file(std::string(ZARRPOINT_TEST_GOLDEN) + "/dcp/" + name + "/.metadata");
    const dcp::metadata read = dcp::read_metadata(as_bytes(std::string_view(text))).value();
    const std::string written = dcp::write_metadata(read).value();
    const dcp::metadata again = dcp::read_metadata(as_bytes(std::string_view(written))).value();
    REQUIRE(again.tensors.size() == read.tensors.size());
    for (std::size_t i = 0; i < read.tensors.size(); ++i) {
      CHECK(again.tensors[i].name == read.tensors[i].name);
      CHECK(again.tensors[i].path == read.tensors[i].path);
      CHECK(again.tensors[i].spec == read.tensors[i].spec);
      REQUIRE(again.tensors[i].chunks.size() == read.tensors[i].chunks.size());
      for (std::size_t c = 0; c < read.tensors[i].chunks.size(); ++c) {
        CHECK(again.tensors[i].chunks[c].at == read.tensors[i].chunks[c].at);
        CHECK(again.tensors[i].chunks[c].from == read.tensors[i].chunks[c].from);
      }
    }
    REQUIRE(again.values.size() == read.values.size());
    for (std::size_t i = 0; i < read.values.size(); ++i) {
      CHECK(again.values[i].path == read.values[i].path);
      CHECK(again.values[i].from == read.values[i].from);
    }
    CHECK(dcp::write_metadata(again).value() == written);
  }
  dcp::metadata raw;
  raw.values.push_back({"v", {}, {"f", 0, 1, {}, true}});
  CHECK(refuses(dcp::write_metadata(raw), errc::unsupported, "\"v\""));
  raw.values[0] = {"v", {{"x", true}}, {"f", 0, 1, {}, false}};
  CHECK(refuses(dcp::write_metadata(raw), errc::invalid_argument, "\"v\""));
  raw.values.clear();
  raw.tensors.push_back({"t", {}, {dtype_kind::float32, {4}}, {}, dims{2, 2}});
  CHECK(refuses(dcp::write_metadata(raw), errc::unsupported, "\"t\""));
}

TEST_CASE("dcp_save: boxes of a size, and what processes tell each other") {
  const auto cut = [](const dims& shape, std::uint64_t bytes) {
    return dcp::detail::cut_box(box::whole(shape), 4, bytes, 1000);
  };
  CHECK(cut({5, 7}, 0).value() == std::vector<box>{box::whole({5, 7})});
  CHECK(cut({5, 7}, 140).value().size() == 1);
  CHECK(cut({5, 7}, 139).value() == std::vector<box>{{{0, 0}, {4, 7}}, {{4, 0}, {1, 7}}});
  CHECK(cut({2, 7}, 12).value().size() == 2 * 3);
  CHECK(cut({2, 7}, 1).value().size() == 14);
  CHECK(cut({}, 1).value() == std::vector<box>{{}});
  CHECK(cut({1001}, 1).failure().code == errc::resource_limit);
  const box inner{{3, 4}, {2, 2}};
  CHECK(dcp::detail::cut_box(inner, 4, 8, 10).value() ==
        std::vector<box>{{{3, 4}, {1, 2}}, {{4, 4}, {1, 2}}});

  dcp::detail::held_state held;
  held.tensors.push_back({"t", {{"a", false}, {"1", true}}, {dtype_kind::int8, {4, 2}}, {inner}});
  held.values.push_back({"v", {}});
  const std::vector<std::byte> told = dcp::detail::held_state::encode(held.tensors, held.values);
  CHECK(dcp::detail::held_state::decode(told).value() == held);
  for (std::size_t n = 0; n < told.size(); ++n)
    CHECK_FALSE(dcp::detail::held_state::decode(bytes_view(told).first(n)));

  for (const char* name : {".metadata", "__0_0.distcp", "__12.metadata", ".metadata.tmp"})
    CHECK(dcp::detail::is_own_file(name));
  for (const char* name : {"metadata", "x.distcp", "__init__.py", "model.safetensors"})
    CHECK_FALSE(dcp::detail::is_own_file(name));
}

TEST_CASE("dcp_save: a receipt that is cut off, or tells of other items, is refused") {
  using dcp::detail::archive_layout;
  const memory_store store;
  const std::vector<std::int8_t> elements(4);
  const std::vector<dcp::detail::tensor_source> sources{
      {"t",
       [&](memory_resource&) -> result<staged> {
         return staged{dense_view(reinterpret_cast<const std::byte*>(elements.data()),
                                  tensor_spec{dtype_kind::int8, {4}}),
                       {}};
       },
       true, box::whole({4}), 0, 4}};
  std::vector<dcp::detail::item_to_write> items;
  const auto layout = archive_layout::of_tensor({dtype_kind::int8, {4}}).value();
  items.push_back(
      {archive_layout::of_value(torch::value(json(3))).value(), dcp::detail::no_source, {}, "v"});
  items.push_back({layout, 0, box::whole({4}), {}, box{{4}, {4}}});
  const message told =
      dcp::detail::write_items(store, {1, sources, items, 1, 1}, context{}).value();
  const message nothing(1);  // of rank 0
  const auto read = [&](bytes_view of, const std::string& name,
                        const box& at) -> result<dcp::stored_item> {
    dcp::detail::planned_items plan;
    plan.made.values.push_back({"v", {}, {}});
    plan.made.tensors.push_back({name, {}, {dtype_kind::int8, {8}}, {{at, {}}}});
    plan.writers = {1, 1};
    const std::vector<message> all{nothing, message(of.begin(), of.end())};
    ZARRPOINT_TRY(files, dcp::detail::read_receipts(plan, all));
    CHECK(files == std::vector<std::size_t>{0, 2});
    return plan.made.tensors[0].chunks[0].from;
  };
  CHECK(read(told, "t", {{4}, {4}}).value() ==
        dcp::stored_item{"__1_1.distcp", 0, layout.size(), {}, false});
  for (std::size_t n = 0; n < told.size(); ++n)
    CHECK(refuses(read(bytes_view(told).first(n), "t", {{4}, {4}}), errc::corrupt, "rank 1"));
  CHECK(refuses(read(told, "u", {{4}, {4}}), errc::corrupt, "lacks \"u\" at [4]"));
  CHECK(refuses(read(told, "t", {{3}, {4}}), errc::corrupt, "lacks \"t\" at [3]"));
  message longer = told;
  ++reinterpret_cast<unsigned char&>(longer.back());
  CHECK(refuses(read(longer, "t", {{4}, {4}}), errc::corrupt, "not what was planned"));
}

TEST_CASE("dcp_save: an archive has the size that it said") {
  for (const dims& shape : {dims{}, dims{0}, dims{3}, dims{200, 100}}) {
    const auto layout =
        dcp::detail::archive_layout::of_tensor({dtype_kind::float32, shape}).value();
    std::string elements(static_cast<std::size_t>(layout.element_bytes()), 'e');
    const std::uint32_t crc = zarrpoint::detail::crc32(0, as_bytes(std::string_view(elements)));
    const std::string whole = layout.head(crc) + elements + layout.tail(crc);
    CHECK(whole.size() == layout.size());
    CHECK(layout.head(crc).size() == layout.elements());
    CHECK(layout.elements() % layout.alignment() == 0);
    const memory_store store;
    store.put(key("f"), as_bytes(std::string_view(whole))).value();
    const torch::file file = torch::open(store, key("f")).value();
    tensor got = tensor::make({dtype_kind::float32, shape}).value();
    file.read(file.tensor(file.root()).value(), got.mutable_view()).value();
    CHECK(bytes_of(got.view()) == elements);
  }
  CHECK(dcp::detail::archive_layout::of_tensor({dtype_kind::string, {}}).failure().code ==
        errc::unsupported);
}

namespace zp = zarrpoint;

TEST_CASE("dcp_save: as docs/torch.md has it") {
  const test::temp_directory folder;
  const std::string path = folder / "step_1000";
  const std::vector<float> b{1, 2};
  const tensor w = tensor::make({dtype_kind::bfloat16, {4, 2}}).value();
  // clang-format off
  const auto saved = zp::dcp::save(path,
      {{"model.w", w}, {"model.b", b}, {"step", 1000}, {"config", zp::json_text{R"({"lr": 0.1, "betas": [0.9, 0.99]})"}}},
      {.format = zp::dcp::format{.chunk_bytes = 256 << 20,
                                 .paths = {{"model.w", {{"model", false}, {"w", false}}}}}});
  // clang-format on
  REQUIRE(saved);
  CHECK(tensors_in(*saved) == 2);
  CHECK(values_in(*saved) == 3);
  CHECK(opened(path).load<double>("config.lr").value() == 0.1);
}

}  // namespace dcp_save_test
