// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/load_members.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/handler/members.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace load_members_test {

using namespace zarrpoint;

namespace {

struct quantized {
  std::vector<std::int8_t> q;
  float scale = 0;
  friend bool operator==(const quantized&, const quantized&) = default;
};
auto zarrpoint_members(quantized& v) { return members("q", v.q, "scale", v.scale); }

/// Has a member more, which its base's function does not name.
struct derived : quantized {
  std::vector<float> more;
};
static_assert(detail::leaf_group<quantized> && !detail::leaf_group<derived> && !savable<quantized>);

enum class mode : std::uint8_t { off, on = 7 };

using either = std::variant<std::monostate, std::string, quantized, std::vector<double>>;

struct layer {
  quantized weight;
  std::optional<std::vector<float>> bias;
  std::optional<quantized> shadow;
  either what;
  mode state = mode::off;
  std::vector<mode> modes;
  std::pair<std::int32_t, std::string> named;
  std::tuple<double, std::array<float, 2>> both;
  float fixed[3] = {};
  friend auto zarrpoint_members(layer& v) {
    return members("weight", v.weight, "bias", v.bias, "shadow", v.shadow, "what", v.what, "state",
                   v.state, "modes", v.modes, "named", v.named, "both", v.both, "fixed", v.fixed);
  }
  friend bool operator==(const layer&, const layer&) = default;
};

struct model {
  std::vector<layer> layers;
  std::map<std::string, quantized> tables;
  std::vector<std::vector<float>> ragged;
  friend auto zarrpoint_members(model& v) {
    return members("layers", v.layers, "tables", v.tables, "ragged", v.ragged);
  }
  friend bool operator==(const model&, const model&) = default;
};

/// May have no leaf at all.
struct choice {
  std::optional<float> a, b;
  friend auto zarrpoint_members(choice& v) { return members("a", v.a, "b", v.b); }
};

/// A class template names its members in a friend.
template <class T>
struct box_of {
  T what{};
  friend auto zarrpoint_members(box_of& v) { return members("what", v.what); }
};
static_assert(detail::leaf_group<box_of<float>>);

model sample() {
  model out;
  layer one{
      {{1, -2, 3}, 0.5F}, std::vector<float>{4, 5}, std::nullopt, "text", mode::on, {}, {}, {}};
  one.modes = {mode::on, mode::off};
  one.named = {-7, "seven"};
  one.both = {2.5, {1, 2}};
  one.fixed[2] = 9;
  layer two = one;
  two.bias.reset();
  two.shadow = quantized{{}, 2};
  two.what = quantized{{8}, 8};
  layer three = two;
  three.what = std::monostate();
  out.layers = {one, two, three};
  out.tables = {{"a-b", {{1}, 1}}, {"a", {{2}, 2}}, {"z", {{}, 3}}};
  out.ragged = {{1}, {}, {2, 3}};
  return out;
}

template <class T>
error failure_of(const result<T>& refused) {
  REQUIRE_FALSE(refused);
  return refused.failure();
}

bool mentions(const error& failure, std::string_view text) {
  INFO(failure.message);
  return failure.message.find(text) != std::string::npos;
}

/// A handler of a type that is somebody else's.
struct foreign {
  std::int32_t a = 0, b = 0;
};

}  // namespace
}  // namespace load_members_test

template <>
struct zarrpoint::type_handler<load_members_test::foreign> {
  static auto members(load_members_test::foreign& value) {
    return zarrpoint::members("a", value.a, "b", value.b);
  }
};

namespace load_members_test {

TEST_CASE("a struct is a group of plain arrays, and comes back") {
  const memory_store store;
  const quantized value{{1, -2, 3}, 0.25F};
  save(store, {{"w", value}, {"step", 3}}).value();
  const checkpoint back = open(store).value();
  CHECK(back.names() == std::vector<std::string>{"step", "w/q", "w/scale"});
  CHECK(back.typestr("w/scale") == "scalar");
  CHECK(back.metadata("w/q").value().spec == tensor_spec{dtype_kind::int8, {3}});
  CHECK(back.load<quantized>("w").value() == value);
  CHECK(back.load<std::vector<std::int8_t>>("w/q").value() == value.q);
  CHECK(back.load_async<quantized>("w").get().value() == value);
}

TEST_CASE("members nest: optional, variant, enum, pair, tuple, map, vector") {
  const memory_store store;
  const model value = sample();
  save(store, {{"m", value}}).value();
  const checkpoint back = open(store).value();
  CHECK(back.load<model>("m").value() == value);
  CHECK(back.contains("m/layers/0/what/value"));
  CHECK(back.contains("m/layers/1/what/value/scale"));
  CHECK_FALSE(back.contains("m/layers/2/what/value"));
  CHECK(back.contains("m/tables/a-b/q"));
  CHECK(back.metadata("m/layers/0/modes").value().spec == tensor_spec{dtype_kind::uint8, {2}});
  CHECK(back.load<layer>("m/layers/1").value() == value.layers[1]);
  save(store, {{"m", model{}}, {"x", 1}}).value();
  CHECK(open(store).value().names() == std::vector<std::string>{"x"});
  CHECK(open(store).value().empty_groups() ==
        std::vector<std::string>{"m/layers", "m/ragged", "m/tables"});
  CHECK(open(store).value().load<model>("m").value() == model{});
}

TEST_CASE("what has no leaf is an empty group, and told from what is not there") {
  using table = std::map<std::string, quantized>;
  using rows = std::vector<std::vector<float>>;
  for (const int format : {2, 3}) {
    CAPTURE(format);
    const memory_store store;
    const std::map<std::string, table> nested{{"full", {{"a", {}}}}, {"empty", {}}};
    save(store,
         {{"rows", rows()},
          {"table", table()},
          {"choice", choice()},
          {"choices", std::vector<choice>(2)},
          {"nested", nested},
          {"maybe", std::optional<table>(table())},
          {"none", std::optional<table>()},
          {"nothing", std::tuple<>()},
          {"either", std::variant<rows, float>()},
          {"w", std::vector<float>{1}}},
         {.zarr_format = format})
        .value();
    const checkpoint back = open(store).value();
    CHECK(back.load<rows>("rows").value().empty());
    CHECK(back.load<table>("table").value().empty());
    CHECK_FALSE(back.load<choice>("choice").value().a);
    CHECK(back.load<std::vector<choice>>("choices").value().size() == 2);
    CHECK(back.load<std::map<std::string, table>>("nested").value() == nested);
    CHECK(back.load<std::optional<table>>("maybe").value() == table());
    CHECK(back.load<std::optional<table>>("none").value() == std::nullopt);
    CHECK(back.load<std::tuple<>>("nothing"));
    CHECK(std::get<rows>(back.load<std::variant<rows, float>>("either").value()).empty());
    for (const error& failure :
         {failure_of(back.load<rows>("none")), failure_of(back.load<table>("none")),
          failure_of(back.load<choice>("none")), failure_of(back.load<rows>("ro"))}) {
      CHECK(failure.code == errc::not_found);
      CHECK(mentions(failure, "memory: has no such group; it has \"either/index\""));
    }
    for (const error& failure :
         {failure_of(back.load<rows>("w")), failure_of(back.load<table>("w")),
          failure_of(back.load<choice>("w")), failure_of(back.load<std::tuple<>>("w")),
          failure_of(back.load<std::optional<table>>("w"))}) {
      CHECK(failure.code == errc::shape_mismatch);
      CHECK(failure.message == "load \"w\": memory:: \"w\" is an array, not a group");
    }
  }
  const memory_store root;
  save(root, {{"", table()}}).value();
  CHECK(open(root).value().empty_groups().empty());
  CHECK(open(root).value().load<table>("").value().empty());
  // A member of one that is there is missing as any other is.
  save(root, {{"m/layers/0", quantized()}}).value();
  CHECK(mentions(failure_of(open(root).value().load<model>("m")), "load \"m/layers/0/weight\""));
}

TEST_CASE("the members of the root have no prefix") {
  const memory_store store;
  const model value = sample();
  save(store, {{"", value}}).value();
  const checkpoint back = open(store).value();
  CHECK(back.contains("ragged/2"));
  CHECK(back.load<model>("").value() == value);
}

TEST_CASE("a handler may name the members of somebody else's type") {
  const memory_store store;
  save(store, {{"f", foreign{3, 4}}}).value();
  CHECK(open(store).value().load<foreign>("f").value().b == 4);
}

TEST_CASE("an rvalue is kept alive by its leaves; an lvalue is borrowed") {
  const memory_store store;
  pending<save_report> later = [&] {
    std::vector<leaf> leaves;
    leaves.emplace_back("w", quantized{{1, 2, 3}, 4});
    leaves.emplace_back("v", sample());
    return save_async(store, std::move(leaves));
  }();
  const save_report report = later.get().value();
  CHECK(report.leaves.size() > 10);
  const checkpoint back = open(store).value();
  CHECK(back.load<quantized>("w").value() == quantized{{1, 2, 3}, 4});
  CHECK(back.load<model>("v").value() == sample());

  quantized mine{{1}, 1};
  const std::vector<leaf> leaves{{"w", mine}};
  mine.q = {5, 6};
  save(store, leaves).value();
  CHECK(open(store).value().load<quantized>("w").value().q == mine.q);
}

TEST_CASE("rules and casts are for members as for all leaves") {
  const memory_store store;
  const leaf_rule half{.glob = "w/scale", .cast = dtype(dtype_kind::float16)};
  save(store, {{"w", quantized{{1}, 0.5F}}}, {.rules = {half}}).value();
  const checkpoint back = open(store).value();
  CHECK(failure_of(back.load<quantized>("w")).code == errc::dtype_mismatch);
  CHECK(back.load<quantized>("w", {.cast = true}).value().scale == 0.5F);
}

TEST_CASE("an unordered map is the same leaves in the same order, however it was filled") {
  using table = std::unordered_map<std::string, quantized>;
  table up;
  table down;
  down.reserve(1000);
  for (int i = 0; i < 100; ++i) {
    const auto byte = static_cast<std::int8_t>(i);
    up.emplace("k" + std::to_string(i), quantized{{byte}, 1});
    const auto other = static_cast<std::int8_t>(99 - i);
    down.emplace("k" + std::to_string(99 - i), quantized{{other}, 1});
  }
  REQUIRE(up == down);
  const auto names_of = [](const table& value) {
    std::vector<std::string> out;
    for (const leaf& one : leaf::single({leaf("t", value)}).leaves) out.push_back(one.name());
    return out;
  };
  CHECK(names_of(up) == names_of(down));
  CHECK(names_of(up).size() == 200);
  CHECK(names_of(up)[2] == "t/k1/q");
  CHECK(names_of(up)[4] == "t/k10/q");

  const memory_store store;
  save(store, {{"t", up}, {"none", table()}}).value();
  const checkpoint back = open(store).value();
  CHECK(back.load<table>("t").value() == up);
  CHECK(back.load<table>("none").value().empty());
  CHECK(back.load<std::map<std::string, quantized>>("t").value().size() == 100);
}

TEST_CASE("what would be taken for absent is refused, and named") {
  const memory_store store;
  const auto refused = [&](const leaf& value, std::string_view name) {
    const error failure = failure_of(save(store, std::vector<leaf>{value}));
    CHECK(failure.code == errc::invalid_argument);
    CHECK(mentions(failure, name));
  };
  using inner = std::map<std::string, quantized>;
  refused({"x", std::optional<std::optional<float>>(std::optional<float>())},
          "\"x\": an empty optional");
  refused({"x", std::map<std::string, std::vector<std::vector<float>>>{{"..", {}}}}, "..");
  refused({"x", std::vector<std::optional<float>>{1.0F, std::nullopt}}, "\"x/1\"");
  refused({"x", inner{{"a/b", {}}}}, "key of a map");
  refused({"x", inner{{"", {}}}}, "key of a map");
  refused({"x", std::unordered_map<std::string, quantized>{{"a/b", {}}}}, "key of a map");
  refused({"x", inner{{"..", {}}}}, "..");
  const quantized w;
  CHECK(failure_of(save(store, {{"w", w}, {"w/q", 1}})).code == errc::invalid_argument);
}

TEST_CASE("members that are missing, or are something else, are errors that name them") {
  const memory_store store;
  const std::vector<float> many(100);
  save(store, {{"w/q", std::vector<std::int8_t>{1}},
               {"v/index", std::int64_t{9}},
               {"u/index", std::int64_t{-1}},
               {"list/0", quantized{}},
               {"list/2", quantized{}},
               {"many/0", many},
               {"many/1", many}})
      .value();
  const checkpoint back = open(store).value();
  CHECK(mentions(failure_of(back.load<quantized>("w")), "load \"w/scale\""));
  CHECK(failure_of(back.load<quantized>("none")).code == errc::not_found);
  CHECK(failure_of(back.load<either>("v")).code == errc::out_of_range);
  CHECK(mentions(failure_of(back.load<either>("u")),
                 "load \"u\": the file has alternative -1; the variant has only 4"));
  CHECK(mentions(failure_of(back.load<std::vector<quantized>>("list")), "load \"list/1\""));
  CHECK(back.load<std::optional<quantized>>("none").value() == std::nullopt);
  context small;
  const std::vector<leaf> both{{"a", std::vector<std::vector<float>>()}, {"a", 1}};
  CHECK(failure_of(save(store, both)).code == errc::invalid_argument);
  small.limit.memory = 700;
  const auto over = open(store, small).value().load<std::vector<std::vector<float>>>("many");
  CHECK(failure_of(over).code == errc::resource_limit);
  CHECK(mentions(over.failure(), "\"many/1\""));
}

TEST_CASE("limits::memory counts what is made of the members, after casts and shapes") {
  const memory_store store;
  const std::vector<std::int8_t> many(100);
  save(store, {{"many/0", many}, {"many/1", many}, {"json/0", json_text{"{}"}}}).value();
  const auto load = [&](std::size_t memory, const auto& rows, const load_options& options) {
    context how;
    how.limit.memory = memory;
    return open(store, how).value().load<std::remove_cvref_t<decltype(rows)>>("many", options);
  };
  const std::vector<std::vector<double>> wide;
  // The chunk that is read last is in memory, too: as it is stored, and before it is cast.
  CHECK(load(1800, wide, {.cast = true}).value()[1].size() == 100);
  CHECK(mentions(failure_of(load(1799, wide, {.cast = true})), "\"many/1\""));
  CHECK(mentions(failure_of(load(1599, wide, {.cast = true})), "the members up to it"));
  const std::vector<std::vector<std::int8_t>> narrow;
  const load_rule longer{.glob = "many/*", .shape = dims{400}};
  CHECK(load(800, narrow, {.rules = {longer}}).value()[1].size() == 400);
  CHECK(failure_of(load(799, narrow, {.rules = {longer}})).code == errc::resource_limit);
  const load_rule shorter{.glob = "many/*", .shape = dims{10}};
  CHECK(open(store).value().load<std::vector<json_text>>("json").value().size() == 1);
  const std::vector<tensor> tensors;
  const load_rule wider{.glob = "many/*", .cast = dtype(dtype_kind::float64)};
  CHECK(load(1800, tensors, {.rules = {wider}}));
  CHECK(failure_of(load(1799, tensors, {.rules = {wider}})).code == errc::resource_limit);
  // Chunks are read as they are, one by one.
  save(store, {{"many", std::vector<std::vector<std::int8_t>>(10, many)}}).value();
  CHECK(load(600, narrow, {.rules = {shorter}}).value()[9].size() == 10);
  CHECK(failure_of(load(600, narrow, {})).code == errc::resource_limit);
}

}  // namespace load_members_test
