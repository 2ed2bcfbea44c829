// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/dcp_save/dcp_described_state.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace dcp_described_state_test {

using namespace zarrpoint;
using dcp::detail::described_state;

namespace {

const context& how() { return default_context(); }

error refusal(const std::vector<leaf>& leaves, const dcp::format& options = {},
              bool is_alone = true) {
  described_state state(options, how());
  const result<void> done = state.describe({}, leaves, is_alone);
  REQUIRE_FALSE(done);
  return done.failure();
}

}  // namespace

TEST_CASE("dcp_described_state: tensors in boxes, with what gives their elements") {
  const std::vector<float> flat(6);
  const std::vector<leaf> leaves{{"layer.w", flat}, {"step", 12}};
  const dcp::format options{.chunk_bytes = 8,
                            .paths = {{"layer.w", {{"layer", false}, {"w", false}}}}};
  described_state state(options, how());
  REQUIRE(state.describe({}, leaves, true));
  REQUIRE(state.held().tensors.size() == 1);
  const dcp::detail::held_tensor& w = state.held().tensors[0];
  CHECK(w.name == "layer.w");
  CHECK(w.path == std::vector<dcp::path_step>{{"layer", false}, {"w", false}});
  CHECK(w.spec == tensor_spec{dtype_kind::float32, {6}});
  CHECK(w.boxes == std::vector<box>{box({0}, {2}), box({2}, {2}), box({4}, {2})});
  REQUIRE(state.sources().size() == 1);
  CHECK(state.sources()[0].name == "layer.w");
  CHECK(state.sources()[0].bytes == 24);
  CHECK(state.sources()[0].at == box::whole({6}));
  // The other processes are told the same.
  const auto told = dcp::detail::held_state::decode(
      dcp::detail::held_state::encode(state.held().tensors, state.held().values));
  CHECK(told.value() == state.held());
}

TEST_CASE("dcp_described_state: what Python has a type for is a value, and a document is many") {
  const std::vector<leaf> leaves{{"step", std::int64_t{12}},
                                 {"text", "a"},
                                 {"cfg", json_text{R"({"lr":0.5,"in":{"a":[1,2]}})"}},
                                 {"z", std::complex<float>(1, 2)}};
  const dcp::format options;
  described_state state(options, how());
  REQUIRE(state.describe({}, leaves, true));
  std::vector<std::string> names;
  for (const dcp::detail::held_value& one : state.held().values) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"step", "text", "cfg.lr", "cfg.in.a"});
  CHECK(state.values().size() == names.size());
  REQUIRE(state.held().tensors.size() == 1);
  CHECK(state.held().tensors[0].name == "z");
}

TEST_CASE("dcp_described_state: names that are there twice, and what PyTorch has no tensors of") {
  CHECK(refusal({{"a", 1}, {"a", std::vector<float>(2)}}).message == "\"a\" is there twice");
  CHECK(refusal({{"c", json_text{R"({"x":1})"}}, {"c.x", 2}}).code == errc::invalid_argument);
  CHECK(refusal({{"s", std::vector<std::string>{"a"}}}).code == errc::unsupported);
  CHECK(refusal({{"j", json_text{"{"}}}).message.find("\"j\"") != std::string::npos);
}

TEST_CASE("dcp_described_state: boxes of a tensor that only others may have") {
  const dcp::format options{.boxes = {{"other", {box::whole({2})}}}};
  CHECK(refusal({{"w", std::vector<float>(2)}}, options).code == errc::invalid_argument);
  described_state state(options, how());
  CHECK(state.describe({}, std::vector<leaf>{{"w", std::vector<float>(2)}}, false));
}

}  // namespace dcp_described_state_test
