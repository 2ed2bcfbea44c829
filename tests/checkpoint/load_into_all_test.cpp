// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"
#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace load_into_all_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

#if defined(ZARRPOINT_TEST_SANITIZED)
constexpr int rounds = 15;
#else
constexpr int rounds = 60;
#endif

std::vector<float> values_of(std::size_t count, std::size_t seed) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>((i * 31 + seed) % 9973);
  return out;
}

std::string name_of(std::size_t i) { return "layers/" + std::to_string(i) + "/w"; }

/// A checkpoint of vectors of these lengths.
memory_store saved(const std::vector<std::size_t>& lengths, bool compressed = false) {
  memory_store out;
  std::deque<std::vector<float>> kept;
  std::vector<leaf> leaves;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    kept.push_back(values_of(lengths[i], i));
    leaves.emplace_back(name_of(i), kept.back());
  }
  save_options options;
  if (compressed) options.rules = {{.codecs = zstd_codecs(1)}};
  save(out, leaves, options).value();
  return out;
}

using device_vector = device_tensor<float>;

}  // namespace

TEST_CASE("targets of all kinds are filled by one call") {
  const thread_pool pool(4);
  for (int seed = 0; seed < rounds; ++seed) {
    CAPTURE(seed);
    random_source random(static_cast<std::uint64_t>(seed));
    std::vector<std::size_t> lengths(1 + pick(random, 30));
    for (std::size_t& length : lengths) {
      constexpr std::size_t sizes[] = {0, 1, 7, 1000, 20'000, 70'000, 200'000};
      length = sizes[pick(random, std::size(sizes))];
    }
    const memory_store store = saved(lengths, pick(random, 2) == 0);
    fake_device first(random(), std::size_t{64} << 20, 0);
    fake_device second(random(), std::size_t{64} << 20, 1);
    first.set_kernels(pick(random, 2) == 0);
    const fake_space spaces[] = {
        {&first, 0}, {&first, first.new_stream()}, {&second, second.new_stream()}};
    context how;
    if (pick(random, 2) == 0) how.executor = pool.executor();
    if (pick(random, 2) == 0) how.limit.memory = std::size_t{4} << 20;
    {
      const checkpoint from = open(store, how).value();
      std::deque<device_vector> on_device;
      std::deque<device_tensor<double>> cast;
      std::deque<std::vector<float>> on_host;
      std::vector<load_target> targets;
      std::vector<std::size_t> kinds(lengths.size());
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        kinds[i] = pick(random, 5);
        const fake_space& space = spaces[pick(random, std::size(spaces))];
        const std::vector<std::size_t> shape{lengths[i]};
        on_host.emplace_back(lengths[i]);
        on_device.emplace_back(space, shape);
        cast.emplace_back(space, shape);
        if (kinds[i] == 0) {
          targets.emplace_back(name_of(i), on_host.back());
        } else if (kinds[i] == 1) {
          targets.emplace_back(name_of(i), std::span(on_host.back()));
        } else if (kinds[i] == 2) {
          targets.emplace_back(name_of(i), cast.back());
        } else {
          targets.emplace_back(name_of(i), on_device.back());
        }
      }
      load_into_all(from, targets, {.cast = true}).value();
      for (fake_device* device : {&first, &second}) {
        CHECK(device->count().due_operations == 0);
        CHECK(device->count().pageable_bytes == 0);
        CHECK((how.limit.memory == SIZE_MAX ||
               from.how().scratch->budget().peak() <= how.limit.memory));
      }
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const std::vector<float> expected = values_of(lengths[i], i);
        if (kinds[i] < 2) {
          CHECK(on_host[i] == expected);
        } else if (kinds[i] == 2) {
          CHECK(cast[i].download() == std::vector<double>(expected.begin(), expected.end()));
          CHECK(cast[i].loaded());
        } else {
          CHECK(on_device[i].download() == expected);
          CHECK(on_device[i].loaded());
        }
      }
    }
    for (const fake_device* device : {&first, &second}) {
      CHECK(device->live_allocations() == 0);
      CHECK(device->pinned_ranges() == 0);
    }
  }
}

TEST_CASE("small tensors of a stream go by one copy and one kernel") {
  const std::vector<std::size_t> lengths(100, 500);
  const memory_store store = saved(lengths);
  for (const bool has_kernels : {true, false}) {
    fake_device device(1);
    device.set_kernels(has_kernels);
    const std::size_t other = device.new_stream();
    const checkpoint from = open(store).value();
    std::deque<device_vector> tensors;
    std::vector<load_target> targets;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      tensors.emplace_back(fake_space{&device, i % 4 == 0 ? other : 0},
                           std::vector<std::size_t>{500});
      targets.emplace_back(name_of(i), tensors.back());
    }
    load_into_all(from, targets).value();
    CHECK(device.copies() == (has_kernels ? 2 : 100));
    CHECK(device.count().kernels.scatter == (has_kernels ? 2 : 0));
    CHECK(device.live_allocations() == 100);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      CHECK(tensors[i].download() == values_of(500, i));
  }
}

TEST_CASE("each fault at each call is an error that names a leaf; targets know what they hold") {
  const std::vector<std::size_t> lengths{300, 400, 70'000, 20, 100'000, 0, 50};
  const memory_store store = saved(lengths);
  for (const device_fault fault : device_faults) {
    int failures = 0;
    int partly = 0;
    for (std::uint64_t at = 0;; ++at) {
      CAPTURE(at);
      CAPTURE(to_string(fault));
      fake_device device(at);
      device.set_kernels(at % 2 == 0);
      bool fired = false;
      {
        context how;
        how.limit.memory = std::size_t{1} << 20;
        const checkpoint from = open(store, how).value();
        std::deque<device_vector> tensors;
        std::vector<load_target> targets;
        std::vector<float> on_host(lengths[1]);
        for (std::size_t i = 0; i < lengths.size(); ++i) {
          tensors.emplace_back(fake_space{&device, device.new_stream() - i % 2},
                               std::vector<std::size_t>{lengths[i]});
          tensors.back().mark_loaded(true);
          targets.emplace_back(name_of(i), tensors.back());
        }
        targets.emplace_back(name_of(1), on_host);
        device.arm(fault, at);
        const result<void> done = load_into_all(from, targets);
        fired = device.fired();
        std::size_t loaded = 0;
        for (const device_vector& one : tensors) loaded += one.loaded() ? 1U : 0U;
        CHECK(device.count().due_operations == 0);
        CHECK(device.live_allocations() == lengths.size());
        device.recover();
        if (done) {
          CHECK(loaded == lengths.size());
          CHECK(on_host == values_of(lengths[1], 1));
        } else {
          ++failures;
          CHECK(fired);
          CHECK(done.failure().code == errc::device);
          CHECK(done.failure().message.find("load \"layers/") != std::string::npos);
          CHECK(done.failure().message.find("fake:0") != std::string::npos);
          CHECK(loaded < lengths.size());
          partly += loaded > 0 ? 1 : 0;
        }
        if (fault != device_fault::lost && fault != device_fault::stream_gone) {
          for (std::size_t i = 0; i < lengths.size(); ++i) {
            if (tensors[i].loaded()) CHECK(tensors[i].download() == values_of(lengths[i], i));
          }
        }
      }
      CHECK(device.pinned_ranges() == 0);
      CHECK(device.live_allocations() == 0);
      if (!fired) break;
    }
    const bool is_mended = fault == device_fault::allocation || fault == device_fault::pin;
    CHECK((failures > 0) == !is_mended);
    if (!is_mended && fault != device_fault::lost) CHECK(partly > 0);
  }
}

TEST_CASE("what a target or a name has wrong is said before its data are read") {
  fake_device device(1);
  const checkpoint from = open(saved({10, 20})).value();
  device_vector good({&device, 0}, {10});
  device_vector small({&device, 0}, {19});
  device_tensor<double> other({&device, 0}, {20});
  std::vector<float> host(10);
  const auto refused = [&](std::initializer_list<load_target> targets) {
    const result<void> done = load_into_all(from, targets);
    REQUIRE_FALSE(done);
    CHECK(done.failure().message.find("load \"layers/1") != std::string::npos);
    CHECK_FALSE(small.loaded());
    CHECK_FALSE(other.loaded());
    return done.failure().code;
  };
  CHECK(refused({{"layers/0/w", good}, {"layers/1/w", small}}) == errc::shape_mismatch);
  CHECK(refused({{"layers/0/w", good}, {"layers/1/w", other}}) == errc::dtype_mismatch);
  CHECK(refused({{"layers/0/w", host}, {"layers/1", small}}) == errc::not_found);
  mutable_tensor_view<fake_space> foreign{
      reinterpret_cast<std::byte*>(host.data()), dtype_kind::float32, {20}, {4}, {&device, 0}, {}};
  CHECK(refused({{"layers/0/w", good}, {"layers/1/w", foreign}}) == errc::invalid_argument);
  load_into_all(from, {}).value();
}

TEST_CASE("rules cut and pad what goes to devices, too") {
  fake_device device(1);
  const checkpoint from = open(saved({10, 20, 100'000})).value();
  device_vector a({&device, 0}, {15});
  device_vector b({&device, 0}, {15});
  device_vector c({&device, 0}, {100'005});
  const load_options options{
      .rules = {{.shape = dims{15}}, {.glob = "layers/2/w", .shape = dims{100'005}}}};
  load_into_all(from, {{"layers/0/w", a}, {"layers/1/w", b}, {"layers/2/w", c}}, options).value();
  std::vector<float> expected = values_of(10, 0);
  expected.resize(15);
  CHECK(a.download() == expected);
  expected = values_of(20, 1);
  expected.resize(15);
  CHECK(b.download() == expected);
  expected = values_of(100'000, 2);
  expected.resize(100'005);
  CHECK(c.download() == expected);
}

}  // namespace load_into_all_test
