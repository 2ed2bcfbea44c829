// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace orbax_value_test {

using namespace zarrpoint;
using orbax::tree_value;
using orbax::value_kind;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/";

orbax::tree_store tree_of(const std::string& name) {
  const auto base = file_store::open(golden + name, {.read_only = true}).value();
  return orbax::tree_store::open(base, store_key::root()).value();
}

/// As Python would print it, with types in the place of leaves.
std::string text_of(const tree_value& value) {
  const auto members = [&](std::string begin, std::string_view end, bool named) {
    for (const auto& [name, member] : value.members)
      begin += (&name == &value.members[0].first ? "" : ", ") + (named ? name + ": " : "") +
               text_of(member);
    return begin + std::string(end);
  };
  switch (value.kind) {
    case value_kind::leaf: return value.type + '@' + value.name;
    case value_kind::dict: return members("{", "}", true);
    case value_kind::list: return members("[", "]", false);
    case value_kind::tuple: return members("(", ")", false);
    case value_kind::named_tuple: return members(value.type + '(', ")", true);
  }
  return {};
}

std::string text_of(const std::string& metadata) {
  memory_store out;
  out.put(store_key::parse("_METADATA").value(), as_bytes(metadata)).value();
  const auto tree = orbax::read_tree(as_bytes(metadata)).value();
  const auto made = orbax::to_value(tree);
  return made ? text_of(*made) : to_string(made.failure());
}

TEST_CASE("orbax: the tree as a value, with what its containers were") {
  CHECK(text_of(orbax::to_value(tree_of("rich-types").tree()).value()) ==
        "{e: {d: {}, l: [], n: None@e/n, t: ()}, key: jax.Array@key, opt: "
        "(__main__.Opt(mu: {w: np.ndarray@opt/0/mu/w}, nu: [np.ndarray@opt/0/nu/0])), py: "
        "{b: scalar@py/b, f: scalar@py/f, i: scalar@py/i, s: string@py/s}}");
  // Without rich types a tuple is a list.
  CHECK(text_of(orbax::to_value(tree_of("strings-and-none").tree()).value()) ==
        "{empty: {}, name: string@name, nothing: None@nothing, py: {f: scalar@py/f, i: "
        "scalar@py/i}, tup: [scalar@tup/0, scalar@tup/1]}");
  const auto aggregate = orbax::to_value(tree_of("aggregate").tree()).value();
  CHECK(text_of(aggregate).find("list: [scalar@list/0, np.ndarray@list/1]") != std::string::npos);
  // Indices are in order of their numbers; a tree may be one leaf.
  std::string twelve = R"({"tree_metadata":{)";
  for (int i = 0; i < 12; ++i)
    twelve += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"key_metadata":[{"key":")" +
              std::to_string(i) + R"(","key_type":1}],"value_metadata":{"value_type":"a"}})";
  CHECK(text_of(twelve + "}}").ends_with("a@9, a@10, a@11]"));
  CHECK(text_of(R"x({"tree_metadata":{"()":{"key_metadata":[],)x"
                R"x("value_metadata":{"value_type":"scalar"}}}})x") == "scalar@");
}

TEST_CASE("orbax: damaged and hostile containers") {
  const auto rich = [](const std::string& text) {
    return text_of(R"({"tree_metadata":{},"value_metadata_tree":")" + text + "\"}");
  };
  CHECK(rich(R"({\"a\":[]})") == "{a: []}");
  CHECK(rich("{").find("value_metadata_tree") != std::string::npos);
  for (const char* bad :
       {"3", R"({\"category\":\"namedtuple\"})", R"({\"category\":\"custom\",\"clazz\":\"tuple\"})",
        R"({\"category\":\"custom\",\"clazz\":\"ValueMetadataEntry\"})",
        R"({\"category\":\"namedtuple\",\"entries\":[{}]})"})
    CHECK(rich(bad).find("no known form") != std::string::npos);
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  CHECK(rich(deep).find("64 levels") != std::string::npos);
  std::string keys;
  for (int i = 0; i < 70; ++i) keys += (i > 0 ? "," : "") + std::string(R"({"key":"a"})");
  CHECK(text_of(R"({"tree_metadata":{"x":{"key_metadata":[)" + keys +
                R"(],"value_metadata":{"value_type":"a"}}}})")
            .find("64 levels") != std::string::npos);
  CHECK(text_of(std::string(R"({"tree_metadata":{}})")) == "{}");
}

TEST_CASE("orbax: scalars have their kind of Python") {
  const any_store from = tree_of("rich-types");
  CHECK(orbax::read_scalar(from, "py/i").value() == json(-5));
  CHECK(orbax::read_scalar(from, "py/f").value() == json(0.5));
  CHECK(orbax::read_scalar(from, "py/b").value() == json(true));
  CHECK(orbax::read_scalar(from, "py/s").value() == json("text"));
  const any_store aggregate = tree_of("aggregate");
  CHECK(orbax::read_scalar(aggregate, "big").value() == json((std::uint64_t{1} << 63) + 5));
  CHECK(orbax::read_scalar(aggregate, "n").value() == json(2.5));
  CHECK(orbax::read_scalar(aggregate, "flag").value() == json(true));
  for (const char* other : {"w", "z", "mask"}) {
    const auto refused = orbax::read_scalar(aggregate, other);
    REQUIRE(!refused);
    CHECK(refused.failure().code == errc::invalid_argument);
  }
  CHECK(orbax::read_scalar(from, "gone").failure().code == errc::not_found);
}

}  // namespace orbax_value_test
