// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Loads and saves of tensors on several devices: together they keep to the one budget of their
// context, and so does the memory that is pinned for them.

#include <zarrpoint/devices.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "budget/counted_peak.hpp"
#include "support/fake_device.hpp"
#include "support/random_layout.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace device_budget_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

constexpr std::size_t kib = 1024;
constexpr int device_count = 3;

/// Weights on the host, a folder with them, and tensors for them on devices in turns.
struct one_case {
  test::temp_directory folder;
  std::vector<std::vector<float>> values;
  std::deque<fake_device> devices;
  std::deque<device_tensor<float>> tensors;

  explicit one_case(random_source& random, const std::vector<codec_spec>& codecs) {
    std::normal_distribution<float> weights(0, 0.02F);
    for (std::size_t i = 0; i < 12; ++i) {
      std::vector<float>& one = values.emplace_back(i % 4 == 0 ? 3'000 : 150'000 + i * 10'000);
      for (float& x : one) x = weights(random);
    }
    std::vector<leaf> leaves;
    for (std::size_t i = 0; i < values.size(); ++i) leaves.emplace_back(name(i), values[i]);
    save(path("saved"), leaves, options_of(codecs)).value();
    for (int i = 0; i < device_count; ++i)
      devices.emplace_back(random(), std::size_t{128} << 20, i);
    for (std::size_t i = 0; i < values.size(); ++i) {
      fake_device& on = devices[i % devices.size()];
      const std::size_t stream = i % 2 == 0 ? 0 : on.new_stream();
      tensors.emplace_back(fake_space{&on, stream}, std::vector{values[i].size()});
    }
  }
  std::string path(const char* of) const { return folder / of; }
  static std::string name(std::size_t i) { return "layers/" + std::to_string(i); }
  /// Chunks of 256 KiB, so that large and small slots have several.
  static save_options options_of(const std::vector<codec_spec>& codecs) {
    return {.rules = {{.codecs = codecs}, {.chunk_byte_size = 256 * kib}}, .sync = false};
  }
  std::size_t pinned() const {
    std::size_t out = 0;
    for (const fake_device& one : devices) out += one.count().most_pinned_bytes;
    return out;
  }
};

struct outcome {
  result<void> done{};
  std::size_t peak = 0;
};

/// What `f(how)` takes, of one or more threads.
template <class F>
outcome within(std::size_t limit, bool threads, F&& f) {
  static const thread_pool pool(4);
  static test::counted_resource counted;
  context how;
  if (threads) how.executor = pool.executor();
  how.limit.memory = limit;
  how.resource = &counted;
  outcome out;
  out.peak = test::peak_of([&] { out.done = f(how); });
  return out;
}

void check(const one_case& of, std::size_t limit, const outcome& what) {
  CAPTURE(limit);
  CAPTURE(what.peak);
  CAPTURE(of.pinned());
  CHECK(test::keeps_to(limit, what.peak));
  CHECK(of.pinned() <= limit / 8 + device_count * 64 * kib);
  if (!what.done) CAPTURE(to_string(what.done.failure()));
  if (!what.done) CHECK(what.done.failure().code == errc::resource_limit);
  for (const fake_device& one : of.devices) CHECK(one.due_operations() == 0);
}

}  // namespace

TEST_CASE("budget: tensors on several devices have one budget together, not one each") {
  std::size_t loaded = 0;
  std::size_t saved = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    const bool compressed = seed % 2 == 0;
    // From what hardly holds a slot for each to what holds many for all.
    const std::size_t limit = (std::size_t{300} << pick(random, 8)) * kib + pick(random, 99'999);
    const bool threads = seed % 3 != 0;
    const std::vector<codec_spec> codecs = compressed ? blosc_codecs() : raw_codecs();
    {
      one_case of(random, codecs);
      const outcome load = within(limit, threads, [&](const context& how) -> result<void> {
        std::vector<load_target> targets;
        for (std::size_t i = 0; i < of.tensors.size(); ++i)
          targets.emplace_back(one_case::name(i), of.tensors[i]);
        ZARRPOINT_TRY(from, open(of.path("saved"), how));
        return load_into_all(from, targets, {.device_verify = seed % 4 == 0});
      });
      check(of, limit, load);
      for (std::size_t i = 0; i < of.tensors.size() && load.done; ++i)
        CHECK(of.tensors[i].download() == of.values[i]);
      if (load.done) ++loaded;
    }
    one_case of(random, codecs);
    std::vector<leaf> leaves;
    for (std::size_t i = 0; i < of.tensors.size(); ++i) {
      of.tensors[i].upload(of.values[i]);
      leaves.emplace_back(one_case::name(i), of.tensors[i]);
    }
    for (fake_device& one : of.devices) one.drain();
    save_options options = one_case::options_of(codecs);
    options.device_encode = seed % 4 == 0;
    const outcome save_done = within(limit, threads, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(report, save(of.path("again"), leaves, options, how));
      CHECK(report.leaves.size() == leaves.size());
      return {};
    });
    check(of, limit, save_done);
    if (!save_done.done) continue;
    ++saved;
    const checkpoint again = open(of.path("again")).value();
    for (std::size_t i = 0; i < of.values.size(); ++i)
      CHECK(again.load<std::vector<float>>(one_case::name(i)).value() == of.values[i]);
  }
  CHECK(loaded > 6);
  CHECK(saved > 6);
}

}  // namespace device_budget_test
