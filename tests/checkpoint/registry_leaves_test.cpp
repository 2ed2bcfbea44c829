// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// save<Registry> and load<T, Registry>: a registry for a whole save.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_members.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace registry_leaves_test {
namespace {

using namespace zarrpoint;
using floats = std::vector<float>;

/// Has no handler of its own.
struct celsius {
  float degrees = 0;
  friend bool operator==(const celsius&, const celsius&) = default;
};

struct celsius_handler {
  static constexpr std::string_view typestr = "temperature";
  using space = host_space;
  static constexpr dtype type = dtype_kind::float32;
  static constexpr std::size_t rank = 0;
  static tensor_spec spec(const celsius&) { return {type, {}}; }
  static host_view view(const celsius& value) {
    return {reinterpret_cast<const std::byte*>(&value.degrees), type, {}, {}, {}, {}};
  }
  static result<celsius> make(const tensor_spec&, const place<space>&) { return celsius{}; }
  static mutable_host_view writable(celsius& target) {
    return {reinterpret_cast<std::byte*>(&target.degrees), type, {}, {}, {}, {}};
  }
};

/// In place of the type's own.
struct weights_handler : handler_of<floats> {
  static constexpr std::string_view typestr = "weights";
};

/// A struct with members, of which some only the registry knows.
struct layer {
  floats w;
  celsius at;
  std::optional<celsius> limit;
  std::map<std::string, celsius> readings;
  std::variant<std::monostate, celsius> last;
  friend auto zarrpoint_members(layer& v) {
    return members("w", v.w, "at", v.at, "limit", v.limit, "readings", v.readings, "last", v.last);
  }
  friend bool operator==(const layer&, const layer&) = default;
};

/// A struct that only the registry takes apart.
struct range {
  celsius low;
  celsius high;
  friend bool operator==(const range&, const range&) = default;
};
struct range_handler {
  static auto members(range& v) { return zarrpoint::members("low", v.low, "high", v.high); }
};

using types = registry<bind<celsius, celsius_handler>, bind<floats, weights_handler>,
                       bind<range, range_handler>, bind<std::int64_t>>;

layer some_layer() { return {{1, 2, 3}, {20}, celsius{90}, {{"a", {4}}, {"b", {5}}}, celsius{6}}; }

}  // namespace

TEST_CASE("a registry serves a whole save, members of values included") {
  const memory_store store;
  const floats w{1, 2};
  const layer one = some_layer();
  const range wide{{-40}, {125}};
  const save_report report = save<types>(store, {{"t", celsius{36.5F}},
                                                 {"w", w},
                                                 {"layer", one},
                                                 {"range", wide},
                                                 {"note", "warm"},
                                                 {"step", std::int64_t{7}}})
                                 .value();
  CHECK(report.leaves.size() == 13);
  const checkpoint saved = checkpoint::open(store).value();
  for (const char* name : {"t", "layer/at", "layer/limit", "layer/readings/b", "layer/last/value",
                           "range/low", "range/high"})
    CHECK(saved.typestr(name) == "temperature");
  for (const char* name : {"w", "layer/w"}) CHECK(saved.typestr(name) == "weights");
  CHECK(saved.typestr("note") == "string");  // what the registry does not know is saved as ever

  CHECK(saved.load<celsius, types>("t").value() == celsius{36.5F});
  CHECK(saved.load<floats, types>("w").value() == w);
  CHECK(saved.load<layer, types>("layer").value() == one);
  CHECK(saved.load<range, types>("range").value() == wide);
  CHECK(saved.load<std::string, types>("note").value() == "warm");
  CHECK(std::get<celsius>(saved.load_any<types>("range/low").value()) == wide.low);
  // Nothing but the kind is the registry's: by its own handler the vector is the same.
  CHECK(saved.load<floats>("layer/w").value() == one.w);
}

TEST_CASE("a leaf by a registry lists its members by it") {
  const floats numbers{1, 2};
  CHECK(leaf("w", numbers, types()).typestr() == "weights");
  CHECK(leaf("w", numbers).typestr() == "array");
  const leaf both("p", std::pair{numbers, std::optional(numbers)}, types());
  REQUIRE(both.is_group());
  const auto parts = leaf::single({both});
  REQUIRE(parts.leaves.size() == 2);
  for (const leaf& part : parts.leaves) CHECK(part.typestr() == "weights");
}

TEST_CASE("a registry serves a save in the background, and single leaves of others") {
  const memory_store store;
  floats w{3, 4};
  save_async<types>(store, {{"t", celsius{1}}, {"layer", some_layer()}, {"w", std::move(w)}})
      .get()
      .value();
  const checkpoint saved = checkpoint::open(store).value();
  CHECK(saved.load<layer, types>("layer").value() == some_layer());
  CHECK(saved.load<floats>("w").value() == floats{3, 4});

  std::vector<leaf> mixed{{"own", floats{5}}};
  mixed.push_back(leaf_of<types>("bound", floats{6}));
  mixed.emplace_back("range", range{{7}, {8}}, types());
  save(store, mixed).value();
  const checkpoint other = checkpoint::open(store).value();
  CHECK(other.typestr("own") == "array");
  CHECK(other.typestr("bound") == "weights");
  CHECK(other.load<range, types>("range").value() == range{{7}, {8}});

  const std::vector<leaf_of<types>> list{{"w", floats{9}}};
  save<types>(store, std::span<const leaf_of<types>>(list)).value();
  CHECK(checkpoint::open(store).value().typestr("w") == "weights");
}

TEST_CASE("by a registry, too, what is missing or another is an error with its name") {
  const memory_store store;
  save<types>(store, {{"range", range{}}, {"layer/w", floats{1}}, {"name", "x"}}).value();
  const checkpoint saved = checkpoint::open(store).value();
  const auto missing = saved.load<layer, types>("layer");
  REQUIRE_FALSE(missing);
  CHECK(missing.failure().code == errc::not_found);
  CHECK(to_string(missing.failure()).find("layer/at") != std::string::npos);
  CHECK(saved.load<celsius, types>("range").failure().code == errc::not_found);
  CHECK(saved.load<celsius, types>("name").failure().code == errc::dtype_mismatch);
  // All members together are within the budget.
  context little;
  little.limit.memory = 4;
  const checkpoint bounded = checkpoint::open(store, little).value();
  CHECK(bounded.load<celsius, types>("range/low"));
  CHECK(bounded.load<range, types>("range").failure().code == errc::resource_limit);
}

}  // namespace registry_leaves_test
