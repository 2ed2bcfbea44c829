// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Device tensors through the public save and load, on the fake runtime.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "cuda/fixture.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace round_trip_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using zarrpoint::cuda::tensor_any;
using zarrpoint_test::contains;
using zarrpoint_test::device_fault;
using zarrpoint_test::fake_cuda_device;
using zarrpoint_test::fresh_devices;

namespace {

using random_engine = std::mt19937_64;

std::size_t below(random_engine& random, std::size_t end) { return random() % end; }

tensor random_values(const tensor_spec& spec, random_engine& random) {
  tensor out = tensor::make(spec).value();
  const std::size_t bytes = byte_count(spec).value();
  std::byte* const data = out.mutable_view().data;
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
  if (spec.type == dtype_kind::bool_) {
    for (std::size_t i = 0; i < bytes; ++i) data[i] &= std::byte{1};
  }
  return out;
}

bool same(const host_view& a, const host_view& b) {
  return a.spec() == b.spec() && std::memcmp(a.data, b.data, byte_count(a.spec()).value()) == 0;
}
bool same(const tensor_any& a, const tensor& b) {
  tensor copy = tensor::make(a.spec()).value();
  a.download({copy.mutable_view().data, a.bytes()}).value();
  return a.spec() == b.spec() && same(copy.view(), b.view());
}

/// The element order of `values` is that of a tensor whose axes are reversed in memory.
tensor transposed(const tensor& values) {
  mutable_host_view reversed = {nullptr, values.type(), values.shape(), {}, {}, {}};
  reversed.strides = dims(values.rank(), 0);
  auto stride = static_cast<index_t>(values.type().size());
  for (std::size_t i = 0; i < values.rank(); ++i) {
    reversed.strides[i] = stride;
    stride *= values.shape()[i];
  }
  tensor out = tensor::make(values.spec()).value();
  reversed.data = out.mutable_view().data;
  copy_elements(reversed, values.view());
  return out;
}

tensor_spec random_spec(random_engine& random) {
  const dtype_kind kinds[] = {dtype_kind::bool_,   dtype_kind::uint8,   dtype_kind::int16,
                              dtype_kind::float16, dtype_kind::float32, dtype_kind::complex128};
  tensor_spec out{kinds[below(random, std::size(kinds))], dims(below(random, 4), 0)};
  for (index_t& extent : out.shape) extent = static_cast<index_t>(below(random, 40));
  return out;
}

save_options random_options(random_engine& random) {
  save_options out;
  leaf_rule rule;
  rule.chunk_byte_size = std::uint64_t{64} << below(random, 10);
  if (below(random, 2) == 0) rule.codecs = zstd_codecs();
  if (below(random, 4) == 0) {
    out.zarr_format = 2;
    rule.chunk_byte_size.reset();
  }
  out.rules = {rule};
  return out;
}

}  // namespace

TEST_CASE("tensors go from devices to a checkpoint and back, of any type, shape and chunking") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const fresh_devices devices({.seed = seed});
    random_engine random(seed);
    thread_pool pool(1 + static_cast<unsigned>(below(random, 4)));
    context how;
    if (below(random, 2) == 0) how.executor = pool.executor();
    const auto* kernels = below(random, 2) == 0 ? zarrpoint_test::fake_kernels() : nullptr;
    const auto stream = zarrpoint::cuda::stream::make(1).value();
    const cuda_space spaces[] = {cuda_space(0, nullptr, kernels), stream.space(kernels)};
    const auto any_space = [&] { return spaces[below(random, 2)]; };

    const tensor_spec spec = random_spec(random);
    CAPTURE(to_string(spec));
    const tensor values = random_values(spec, random);
    const tensor_any dense = tensor_any::from_host(values.view(), any_space()).value();
    const tensor backwards_values = transposed(values);
    const tensor_any backwards_memory =
        tensor_any::from_host(backwards_values.view(), any_space()).value();
    tensor_view<cuda_space> backwards = handler_of<tensor_any>::view(backwards_memory);
    auto stride = static_cast<index_t>(spec.type.size());
    for (std::size_t i = 0; i < spec.shape.rank(); ++i) {
      backwards.strides[i] = stride;
      stride *= spec.shape[i];
    }
    const memory_store store;
    save(store, {{"dense", dense}, {"backwards", backwards}, {"host", values}},
         random_options(random), how)
        .value();

    const checkpoint read = open(store, how).value();
    const place<cuda_space> where{nullptr, any_space()};
    for (const char* name : {"dense", "backwards", "host"}) {
      CAPTURE(name);
      CHECK(same(read.load<tensor>(name).value().view(), values.view()));
      const tensor_any loaded = read.load<tensor_any>(name, where).value();
      CHECK(loaded.get_space() == where.space);
      CHECK(loaded.loaded());
      CHECK(same(loaded, values));
      tensor_any target = tensor_any::make(spec, any_space()).value();
      REQUIRE(read.load_into(name, target));
      CHECK(target.loaded());
      CHECK(same(target, values));
      mutable_tensor_view<cuda_space> columns = handler_of<tensor_any>::writable(target);
      columns.strides = backwards.strides;
      REQUIRE(read.load_into(name, columns));
      CHECK(same(target, backwards_values));
    }
  }
}

namespace {

/// The same text for the host and for a device: one type, and its place.
template <class Tensor>
result<Tensor> doubled_load(const location& where, const place<space_of_t<Tensor>>& at) {
  ZARRPOINT_TRY(read, open(where));
  return read.template load<Tensor>("w", at, {.cast = true});
}

}  // namespace

TEST_CASE("the same text loads to the host or to a device; spans and casts, too") {
  const fresh_devices devices;
  const memory_store store;
  const auto values = zarrpoint_test::counted_from(1, 1000);
  auto source = zarrpoint::cuda::tensor<int>::from_host(values, {10, 100}, cuda_space(1)).value();
  REQUIRE(save(store, {{"w", source}}));
  const auto host = doubled_load<std::vector<float>>(store, {});
  CHECK(!host);  // two dimensions
  const auto flat = zarrpoint::cuda::device_span<const int>{source.data(), 1000, cuda_space(1), {}};
  REQUIRE(save(store, {{"w", flat}}));
  CHECK(doubled_load<std::vector<float>>(store, {}).value().back() == 1000.0F);
  const auto on_device =
      doubled_load<zarrpoint::cuda::tensor<float>>(store, {nullptr, cuda_space(1)}).value();
  CHECK(on_device.download().value().back() == 1000.0F);
  CHECK(on_device.get_space().device() == 1);

  using types = registry<bind<zarrpoint::cuda::tensor<int>>>;
  auto all = load_all<types>(open(store).value()).value();
  CHECK(std::get<zarrpoint::cuda::tensor<int>>(all.at("w")).download().value() == values);
}

TEST_CASE("many leaves go to the host and to two devices at a time, small ones by few copies") {
  for (const auto* kernels :
       {zarrpoint_test::fake_kernels(), decltype(zarrpoint_test::fake_kernels()){}}) {
    const fresh_devices devices({.seed = 3});
    const auto stream = zarrpoint::cuda::stream::make(1).value();
    const cuda_space spaces[] = {cuda_space(0, nullptr, kernels), stream.space(kernels)};
    std::vector<std::vector<int>> values;
    std::vector<leaf> leaves;
    for (int i = 0; i < 40; ++i)
      values.push_back(zarrpoint_test::counted_from(100 * i, static_cast<std::size_t>(1 + i * 5)));
    values.push_back(zarrpoint_test::counted_from(-9, 200000));
    for (std::size_t i = 0; i < values.size(); ++i)
      leaves.emplace_back("w" + std::to_string(i), values[i]);
    const memory_store store;
    REQUIRE(save(store, leaves));

    std::vector<zarrpoint::cuda::tensor<int>> tensors;
    for (std::size_t i = 0; i < values.size(); ++i) {
      tensors.push_back(zarrpoint::cuda::tensor<int>::make({static_cast<index_t>(values[i].size())},
                                                           spaces[i % 2])
                            .value());
    }
    std::vector<int> host(values[7].size());
    std::vector<load_target> targets{{"w7", host}};
    for (std::size_t i = 0; i < tensors.size(); ++i)
      targets.emplace_back("w" + std::to_string(i), tensors[i]);
    REQUIRE(load_into_all(open(store).value(), targets));
    CHECK(host == values[7]);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      CHECK(tensors[i].loaded());
      CHECK(tensors[i].download().value() == values[i]);
    }
    // The 20 small ones of each device by one copy, where kernels spread it.
    if (kernels != nullptr) CHECK(fake_cuda_device(1).count().kernels.scatter == 1);
  }
}

TEST_CASE("a saved tensor waits for its producer, and so does a target") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const fresh_devices devices({.seed = seed});
    const auto producer = zarrpoint::cuda::stream::make(0).value();
    const auto reader = zarrpoint::cuda::stream::make(0).value();
    const auto values = zarrpoint_test::counted_from(0.0F, 500);
    auto t = zarrpoint::cuda::tensor<float>::make({500}, reader.space()).value();
    REQUIRE(producer.space().follow(reader.space().record().value()));  // the allocation
    REQUIRE(producer.space().copy_from_host(reinterpret_cast<std::byte*>(t.data()),
                                            reinterpret_cast<const std::byte*>(values.data()),
                                            {2000, 1, 0, 0}));
    t.set_ready(producer.space().record().value());
    const memory_store store;
    REQUIRE(save(store, {{"w", t}}));
    CHECK(open(store).value().load<std::vector<float>>("w").value() == values);
    REQUIRE(save(store, {{"w", std::vector<float>(500, 2.0F)}}));
    REQUIRE(producer.space().fill(reinterpret_cast<std::byte*>(t.data()), std::byte{1}, 2000));
    t.set_ready(producer.space().record().value());
    REQUIRE(open(store).value().load_into("w", t));
    CHECK(t.download().value() == std::vector<float>(500, 2.0F));
  }
}

TEST_CASE("the pointer of another device, or of the host, is named before a byte is moved") {
  const fresh_devices devices;
  const memory_store store;
  const std::vector<int> values(100, 7);
  REQUIRE(save(store, {{"w", values}}));
  const checkpoint read = open(store).value();
  auto t = zarrpoint::cuda::tensor<int>::make({100}, cuda_space(1)).value();
  std::vector<int> host(100, 3);
  const std::pair<int*, const char*> wrong[] = {{t.data(), "is that of cuda:1"},
                                                {host.data(), "is not memory that CUDA knows"},
                                                {nullptr, "is not memory that CUDA knows"}};
  for (const auto& [data, words] : wrong) {
    const zarrpoint::cuda::device_span<int> span{data, 100, cuda_space(0), {}};
    const auto filled = read.load_into("w", span);
    REQUIRE(!filled);
    CHECK(filled.failure().code == errc::invalid_argument);
    CHECK(contains(filled.failure().message, "load \"w\": "));
    CHECK(contains(filled.failure().message, words));
    const auto saved = save(memory_store(), {{"w", span}});
    REQUIRE(!saved);
    CHECK(saved.failure().code == errc::invalid_argument);
    CHECK(contains(saved.failure().message, words));
  }
  CHECK(host == std::vector<int>(100, 3));
}

TEST_CASE("each fault in each place is a named error; nothing is left, and the target is marked") {
  int faults_seen = 0;
  for (const device_fault fault : zarrpoint_test::device_faults) {
    CAPTURE(std::string(to_string(fault)));
    for (std::uint64_t order = 0; order < 40; ++order) {
      CAPTURE(order);
      const fresh_devices devices({.seed = order});
      const auto stream = zarrpoint::cuda::stream::make(0).value();
      const cuda_space space =
          stream.space(order % 2 == 0 ? zarrpoint_test::fake_kernels() : nullptr);
      const auto values = zarrpoint_test::counted_from(0, 5000);
      const memory_store store;
      save_options options;
      options.rules = {{.chunk_byte_size = 4096}};
      REQUIRE(save(store, {{"w", values}}, options));
      fake_cuda_device().arm(fault, order);
      // The context goes with the loop's turn, and with it the ring: on failures, too.
      const auto outcome = [&]() -> result<void> {
        auto t = zarrpoint::cuda::tensor<int>::make({50, 100}, space);
        if (!t) return std::move(t).failure();
        ZARRPOINT_CHECK(t->upload(values));
        ZARRPOINT_TRY(saved, save(memory_store(), {{"w", *t}}, options));
        CHECK(saved.leaves.size() == 1);
        ZARRPOINT_TRY(read, open(store));
        const auto filled =
            read.load_into("w", zarrpoint::cuda::device_span<int>{t->data(), 5000, space, {}});
        ZARRPOINT_CHECK(filled);
        const auto made =
            read.load<zarrpoint::cuda::tensor<int>>("w", place<cuda_space>{nullptr, space});
        if (!made) return made.failure();
        auto target = zarrpoint::cuda::tensor<int>::make({5000}, space);
        if (!target) return std::move(target).failure();
        const auto loaded = read.load_into("w", *target);
        CHECK(target->loaded() == loaded.has_value());
        ZARRPOINT_CHECK(loaded);
        ZARRPOINT_TRY(back, target->download());
        CHECK(back == values);
        return {};
      }();
      const bool fired = fake_cuda_device().fired();
      faults_seen += fired ? 1 : 0;
      if (!outcome) {
        CAPTURE(outcome.failure().message);
        CHECK(fired);
        CHECK(contains(outcome.failure().message, "cuda:0: "));
        CHECK(contains(outcome.failure().message, "cudaError"));
        CHECK((outcome.failure().code == errc::device ||
               outcome.failure().code == errc::resource_limit));
      } else if (fault == device_fault::copy) {
        CHECK(!fired);
      }
      fake_cuda_device().recover();
    }
  }
  CHECK(faults_seen > 60);
}

TEST_CASE(
    "compressed weights are decoded on streams of the device's own, which end with the load") {
  std::mt19937 random(1);
  std::normal_distribution<float> weights(0, 0.02F);
  std::vector<float> values(600'000);
  for (float& one : values) one = weights(random);
  const memory_store store;
  save(store, {{"a", values}, {"b", values}}, {.rules = {{.codecs = blosc_codecs()}}}).value();
  for (const bool together : {false, true}) {
    const fresh_devices devices;
    const auto stream = zarrpoint::cuda::stream::make(1).value();
    const cuda_space space = stream.space(zarrpoint_test::fake_kernels());
    const checkpoint read = open(store).value();
    auto a = zarrpoint::cuda::tensor<float>::make({600'000}, space).value();
    auto b = zarrpoint::cuda::tensor<float>::make({600'000}, space).value();
    const zarrpoint::load_options how{.device_verify = true};
    if (together) {
      load_into_all(read, {{"a", a}, {"b", b}}, how).value();
    } else {
      read.load_into("a", a, how).value();
      read.load_into("b", b, how).value();
    }
    const auto count = fake_cuda_device(1).count().kernels;
    CHECK(count.decode_literals > 0);
    CHECK(count.compare_crc32c == count.decode_literals);
    CHECK(count.join_planes == count.decode_literals);
    CHECK(a.download().value() == values);
    CHECK(b.download().value() == values);
    CHECK(zarrpoint_test::fake_runtime_alive().streams == 1);
  }
}

TEST_CASE("without a device the error says so, and the host is not touched") {
  const memory_store store;
  REQUIRE(save(store, {{"w", std::vector<int>(10, 1)}}));
  zarrpoint_test::restart_fake_runtime({.absent = cudaErrorNoDevice});
  const auto loaded = open(store).value().load<zarrpoint::cuda::tensor<int>>("w");
  REQUIRE(!loaded);
  CHECK(loaded.failure().code == errc::device);
  CHECK(contains(loaded.failure().message, "load \"w\": "));
  CHECK(contains(loaded.failure().message, "no CUDA device: cudaErrorNoDevice"));
  zarrpoint_test::restart_fake_runtime();
}

}  // namespace round_trip_test
