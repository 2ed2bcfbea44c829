// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load_all.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

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

TEST_CASE("an empty checkpoint is an empty map") {
  memory_store store;
  save(store, std::span<const leaf>()).value();
  CHECK(load_all(open(store).value()).value().empty());
}

}  // namespace load_all_test
