// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace load_all_test {

using namespace zarrpoint;

namespace {

memory_store saved() {
  memory_store store;
  const std::vector<float> w{1, 2, 3};
  const std::vector<bfloat16> b{bfloat16(0.5F), bfloat16(2.0F)};
  save(store, {{"layers/w", w},
               {"layers/b", b},
               {"step", std::int64_t{1200}},
               {"note", "warm"},
               {"config", json_text{"{}"}}})
      .value();
  return store;
}

}  // namespace

TEST_CASE("every leaf becomes what its kind and dtype say") {
  const auto leaves = load_all(open(saved()).value()).value();
  REQUIRE(leaves.size() == 5);
  CHECK(std::get<tensor>(leaves.at("layers/w")).data<float>()[2] == 3);
  CHECK(std::get<tensor>(leaves.at("layers/b")).type() == dtype_kind::bfloat16);
  CHECK(std::get<std::int64_t>(leaves.at("step")) == 1200);
  CHECK(std::get<std::string>(leaves.at("note")) == "warm");
  CHECK(std::get<json_text>(leaves.at("config")).text == "{}");
}

TEST_CASE("the caller names the types") {
  using types = default_types::with<bind<std::vector<float>>, restore_type<"scalar", double>>;
  const auto leaves = load_all<types>(open(saved()).value()).value();
  CHECK(std::get<std::vector<float>>(leaves.at("layers/w")) == std::vector<float>{1, 2, 3});
  CHECK(std::holds_alternative<tensor>(leaves.at("layers/b")));
  CHECK(std::get<double>(leaves.at("step")) == 1200.0);
}

TEST_CASE("a cast by rule chooses the type, too") {
  const load_options options{.rules = {{.glob = "layers/*", .cast = dtype(dtype_kind::float64)}}};
  const auto leaves = load_all(open(saved()).value(), options).value();
  CHECK(std::get<tensor>(leaves.at("layers/b")).data<double>()[0] == 0.5);
}

TEST_CASE("a leaf that no entry restores is named") {
  const auto refused = load_all<registry_of<std::vector<float>>>(open(saved()).value());
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(refused.failure().message.find("json") != std::string::npos);
}

TEST_CASE("large tensors of one load lie side by side, unless there is a budget") {
  const memory_store store;
  std::vector<float> w(800'000);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i);
  std::vector<leaf> leaves;
  for (char name = 'a'; name <= 'n'; ++name) leaves.emplace_back(std::string(1, name), w);
  save(store, leaves).value();
  const auto beside = [](const std::map<std::string, default_types::value>& of) {
    std::vector<const std::byte*> begins;
    for (const auto& [name, value] : of) begins.push_back(std::get<tensor>(value).view().data);
    std::sort(begins.begin(), begins.end());
    int out = 0;
    for (std::size_t i = 1; i < begins.size(); ++i)
      out += begins[i] - begins[i - 1] < 4 * 800'000 + 4096 ? 1 : 0;
    return out;
  };
  context how;
  auto all = load_all(open(store, how).value()).value();
  how.limit.memory = std::size_t{100} << 20;
  const auto bounded = load_all(open(store, how).value()).value();
  if (ZARRPOINT_LINUX) {  // elsewhere they lie where the system puts them
    CHECK(beside(all) == 2);
    CHECK(beside(bounded) == 0);
  }
  const tensor kept = std::get<tensor>(std::move(all.at("m")));
  all.clear();
  const std::span<const float> seen = kept.data<float>();
  CHECK(std::equal(seen.begin(), seen.end(), w.begin(), w.end()));
}

TEST_CASE("all leaves together keep to the budget") {
  const memory_store store;
  const std::vector<float> w(1000);
  save(store, {{"a", w}, {"b", w}}).value();
  context how;
  how.limit.memory = 8000;
  CHECK(load_all(open(store, how).value()));
  how.limit.memory = 7999;
  const auto refused = load_all(open(store, how).value());
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message.find("up to \"b\"") != std::string::npos);
}

TEST_CASE("tensors come to a device by naming their type and their place") {
  using zarrpoint_test::fake_space;
  using on_device = zarrpoint_test::device_tensor<float>;
  using types = default_types::with<bind<on_device>>;
  zarrpoint_test::fake_device device(1);
  const place<fake_space> where{.space = {&device, device.new_stream()}};
  {
    const checkpoint from = open(saved()).value();
    const auto leaves = load_all<types>(from, {}, {.space = where.space}).value();
    const auto& w = std::get<on_device>(leaves.at("layers/w"));
    CHECK(w.download() == std::vector<float>{1, 2, 3});
    CHECK(w.loaded());
    CHECK(w.get_space() == where.space);
    CHECK(std::get<tensor>(leaves.at("layers/b")).type() == dtype_kind::bfloat16);
    CHECK(std::get<std::string>(leaves.at("note")) == "warm");
    const auto one = from.load<on_device>("layers/w", {.space = where.space}).value();
    CHECK(one.download() == std::vector<float>{1, 2, 3});
    CHECK(one.get_space() == where.space);
    CHECK(std::get<on_device>(load_all<types>(from, {}, where).value().at("layers/w")).loaded());
    // The same by a cast, together with a place for what comes to the host.
    limited_resource counted(SIZE_MAX);
    const load_options options{.rules = {{.cast = dtype(dtype_kind::float32)}}};
    using narrow = registry_of<on_device, std::string, json_text>;
    const memory_store numbers;
    save(numbers, {{"a", std::vector<double>{0.5}}, {"b", std::vector<std::int8_t>{3}}}).value();
    const auto cast =
        load_all<narrow>(open(numbers).value(), options, where, place<host_space>{&counted, {}})
            .value();
    CHECK(std::get<on_device>(cast.at("a")).download() == std::vector<float>{0.5F});
    CHECK(std::get<on_device>(cast.at("b")).download() == std::vector<float>{3});
    // Braces go where their members are.
    const auto cast_by_name = from.load<std::vector<double>>("layers/w", {.cast = true}).value();
    CHECK(cast_by_name == std::vector<double>{1, 2, 3});
    CHECK(from.load<std::vector<float>>("layers/w", {.resource = &counted}, {.verify = false}));
    const auto placed = load_all(from, {}, {.resource = &counted}).value();
    CHECK(counted.in_use() >= 12);
  }
  CHECK(device.live_allocations() == 0);
  CHECK(device.pinned_ranges() == 0);
}

TEST_CASE("the budget of the host does not count what goes to devices") {
  using on_device = zarrpoint_test::device_tensor<float>;
  zarrpoint_test::fake_device device(1);
  const memory_store store;
  save(store, {{"a", std::vector<float>(1'500'000)}}).value();
  context how;
  how.limit.memory = std::size_t{4} << 20;
  const checkpoint from = open(store, how).value();
  const place<zarrpoint_test::fake_space> where{.space = {&device, 0}};
  CHECK(load_all<registry_of<on_device>>(from, {}, where));
  CHECK(load_all(from).failure().code == errc::resource_limit);
}

TEST_CASE("an empty checkpoint is an empty map") {
  memory_store store;
  save(store, std::span<const leaf>()).value();
  CHECK(load_all(open(store).value()).value().empty());
}

}  // namespace load_all_test
