// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/orbax_folders.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Trees of Orbax that are saved with the kinds of their containers.

namespace orbax_rich_types_test {

using namespace zarrpoint;
using orbax::empty_value;
using orbax::tree_container;
using orbax::tree_item;
using orbax::tree_value;
using orbax::value_kind;
using zarrpoint_test::text_of;
using zarrpoint_test::tree_options;

orbax::tree_store tree_at(const std::string& path) {
  return orbax::tree_store::open(file_store::open(path, {.read_only = true}).value(),
                                 store_key::root())
      .value();
}

std::string text_at(const std::string& path) {
  return text_of(orbax::to_value(tree_at(path).tree()).value());
}

json rich_json_at(const std::string& path) {
  const std::string text = tree_at(path).tree().rich_types;
  return text.empty() ? json() : parse_json(as_bytes(text)).value();
}

bool refuses(const result<save_report>& of, std::string_view text) {
  REQUIRE_FALSE(of);
  INFO(to_string(of.failure()), " / ", text);
  CHECK(of.failure().code == errc::invalid_argument);
  CHECK(of.failure().message.find(text) != std::string::npos);
  return true;
}

const std::vector<float> w{1, 2, 3};

/// An optimiser's state as optax has it, with the step last of three fields.
std::vector<tree_item> items() {
  return {{"params/w", w},
          {{"opt", 0, "mu", "w"}, w},
          {{"opt", 0, "nu", 0}, w},
          {{"opt", 0, "count"}, 7},
          {{"opt", 1}, empty_value::named_tuple},
          {{"pair", 0}, 1.5},
          {{"pair", 1, 0}, "text"},
          {{"list", 0}, w},
          {"empty", empty_value::tuple},
          {"none", empty_value::none}};
}

std::vector<tree_container> containers() {
  return {{.path = "opt"},
          {.path = {"opt", 0},
           .kind = value_kind::named_tuple,
           .type = "optax._src.transform.ScaleByAdamState",
           .fields = {"mu", "nu", "count"}},
          {.path = "pair"},
          {.path = {"pair", 1}}};
}

constexpr const char* wanted =
    "{empty: (), list: [np.ndarray], none: None, opt: (optax._src.transform.ScaleByAdamState("
    "mu: {w: np.ndarray}, nu: [np.ndarray], count: scalar), ()), pair: (scalar, (string)), "
    "params: {w: np.ndarray}}";

TEST_CASE("orbax rich types: tuples and named tuples are read back in every layout") {
  for (tree_options how : zarrpoint_test::layouts()) {
    const test::temp_directory folder;
    how.own.rich_types = containers();
    orbax::save(folder / "c", items(), how).value();
    CHECK(text_at(folder / "c") == wanted);
    const checkpoint from = open(folder / "c", {.stores = formats<orbax::format>()}).value();
    CHECK(from.load<std::vector<float>>("opt/0/mu/w").value() == w);
    CHECK(from.load<int>("opt/0/count").value() == 7);
    // What was read can be saved again.
    CHECK(orbax::containers_of(tree_at(folder / "c").tree()).value() == containers());
  }
}

TEST_CASE(
    "orbax rich types: without them tuples are lists, as for Orbax, and with none given, too") {
  const test::temp_directory folder;
  std::vector<tree_item> tree = items();
  tree[4].empty = empty_value::none;
  orbax::save(folder / "plain", tree).value();
  CHECK(rich_json_at(folder / "plain").is_null());
  const std::string lists =
      "{empty: (), list: [np.ndarray], none: None, opt: [{count: scalar, mu: {w: np.ndarray}, nu: "
      "[np.ndarray]}, None], pair: [scalar, [string]], params: {w: np.ndarray}}";
  CHECK(text_at(folder / "plain") == lists);
  CHECK(orbax::containers_of(tree_at(folder / "plain").tree()).value().empty());
  tree_options how;
  how.own.rich_types.emplace();
  orbax::save(folder / "rich", tree, how).value();
  CHECK(rich_json_at(folder / "rich").if_object() != nullptr);
  CHECK(text_at(folder / "rich") == lists);
}

TEST_CASE("orbax rich types: the text that Orbax writes for the same tree") {
  const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/rich-types";
  const orbax::tree_store theirs = tree_at(golden);
  const tree_value value = orbax::to_value(theirs.tree()).value();
  const checkpoint from = open(golden, {.stores = formats<orbax::format>()}).value();
  tree_options how{.all = {.zarr_format = 2}};
  how.own.rich_types = orbax::containers_of(theirs.tree()).value();
  std::vector<tree_item> tree;
  for (const orbax::tree_leaf& leaf : theirs.tree().leaves) {
    const auto empties = {std::pair("None", empty_value::none),
                          {"Dict", empty_value::dict},
                          {"List", empty_value::list},
                          {"Tuple", empty_value::tuple}};
    bool is_empty = false;
    for (const auto& [type, empty] : empties) {
      if (leaf.value_type != type) continue;
      tree.push_back({leaf.path, empty});
      is_empty = true;
    }
    if (is_empty) continue;
    if (leaf.value_type == "string") {
      tree.push_back({leaf.path, from.load<std::string>(leaf.name).value()});
      continue;
    }
    tree.push_back({leaf.path, from.load<tensor>(leaf.name).value()});
    tree.back().value_type = leaf.value_type;
  }
  const test::temp_directory folder;
  orbax::save(folder / "c", tree, how).value();
  CHECK(orbax::to_value(tree_at(folder / "c").tree()).value() == value);
  CHECK(rich_json_at(folder / "c") == rich_json_at(golden));
}

TEST_CASE("orbax rich types: a tree that is a tuple, one leaf, or deep") {
  const test::temp_directory folder;
  tree_options how{.all = {.sync = false}, .own = {.arrays = orbax::array_kind::jax}};
  how.own.rich_types = {{.path = ""}};
  orbax::save(folder / "tuple", {{{0}, w}, {{1, "category"}, w}}, how).value();
  // "category" is what Orbax calls a member of its own.
  CHECK(text_at(folder / "tuple") == "(jax.Array, {category: jax.Array})");
  const json entry =
      *rich_json_at(folder / "tuple").find("entries")->if_array()->front().find("data");
  CHECK(entry.find("write_shape")->if_array()->front().to_int64() == 3);
  how.own.rich_types = {
      {.path = "", .kind = value_kind::named_tuple, .type = "m.T", .fields = {"b", "a"}}};
  orbax::save(folder / "named", {{"a", w}, {"b", "x"}}, how).value();
  CHECK(text_at(folder / "named") == "m.T(b: string, a: jax.Array)");
  how.own.rich_types.emplace();
  orbax::save(folder / "leaf", {{orbax::tree_path(), w}}, how).value();
  CHECK(text_at(folder / "leaf") == "jax.Array");

  // As deep as a reader takes it, of the kind that nests most.
  std::vector<orbax::tree_key> path;
  std::vector<tree_container> deep;
  for (int i = 0; i < 64; ++i) {
    deep.push_back({path, value_kind::named_tuple, "m.T", {"a"}});
    path.push_back({"a", false});
  }
  how.own.rich_types = deep;
  orbax::save(folder / "deep", {{path, w}}, how).value();
  CHECK(orbax::containers_of(tree_at(folder / "deep").tree()).value() == deep);
  path.push_back({"a", false});
  how.own.rich_types.emplace();
  refuses(orbax::save(folder / "no", {{path, w}}, how), "more than 64 levels");
}

TEST_CASE("orbax rich types: containers that are none") {
  const test::temp_directory folder;
  const auto refused = [&](std::vector<tree_container> all, std::string_view text) {
    tree_options how;
    how.own.rich_types = std::move(all);
    refuses(orbax::save(folder / "no", items(), how), text);
    CHECK(std::filesystem::is_empty(folder.path()));
  };
  const auto named = [](std::vector<std::string> fields, std::string type = "m.T") {
    return tree_container{{"opt", 0}, value_kind::named_tuple, std::move(type), std::move(fields)};
  };
  refused({{.path = "gone"}}, "the tuple \"gone\" has no leaf beneath it");
  refused({{.path = "none"}}, "the tuple \"none\" has no leaf beneath it");
  refused({{.path = "empty"}}, "the tuple \"empty\" has no leaf beneath it");
  // Of another kind of step than the leaves have.
  refused({{.path = {"opt", "0"}}}, "the tuple \"opt/0\" has no leaf beneath it");
  refused({{.path = "opt"}, {.path = "opt"}}, "tells of the tuple \"opt\" twice");
  refused({{.path = "params"}}, "the tuple \"params\" has the key \"w\" beneath it");
  refused({{.path = ""}}, "the tuple \"()\" has the key \"empty\" beneath it");
  refused({{.path = "opt", .fields = {"a"}}}, "the tuple \"opt\" has a class or fields");
  refused({{.path = "opt", .type = "m.T"}}, "the tuple \"opt\" has a class or fields");
  for (const value_kind kind : {value_kind::list, value_kind::dict, value_kind::leaf})
    refused({{.path = "opt", .kind = kind}}, "\"opt\" is neither");
  refused({{.path = "pair", .kind = value_kind::named_tuple, .type = "m.T", .fields = {"a"}}},
          "the named tuple \"pair\" has no field \"0\"");
  refused({named({"mu", "nu"})}, "the named tuple \"opt/0\" has no field \"count\"");
  refused({named({"mu", "nu", "count", "rest"})}, "has the field \"rest\", and the tree has no");
  refused({named({"mu", "nu", "count", "nu"})}, "cannot have the field \"nu\" twice");
  // Of other letters Python takes some only, in forms of its own.
  for (const char* wrong : {"_nu", "2nd", "", "a b", "lambda", "None", "a.b", "\u03bd", "\u2192",
                            "x\u00a0y", "\ufb01", "\xff"})
    refused({named({"mu", "count", wrong})}, "fields begin with a letter of ASCII");
  for (const char* wrong :
       {"", "T", ".T", "m.", "m.<locals>.T", "m T.x", "3.T", "m.\u03a4", "m.\u2192T", "m.\xffT"})
    refused({named({"mu", "nu", "count"}, wrong)}, "not a module and a name");

  std::vector<tree_item> tree;
  tree.push_back({"e", empty_value::named_tuple});
  tree.push_back({"w", w});
  refuses(orbax::save(folder / "no", tree), "\"e\" is an empty named tuple");

  CHECK(orbax::detail::is_field_name("nu"));
  CHECK(orbax::detail::is_field_name("Nu2_"));
}

/// `_METADATA` of leaves, each with its path and value type, and a `value_metadata_tree`.
orbax::tree told(const std::vector<std::pair<std::vector<orbax::tree_key>, std::string>>& leaves,
                 std::string rich) {
  orbax::tree out;
  for (const auto& [path, type] : leaves)
    out.leaves.push_back({path, orbax::tree_path(path).joined('/'), {}, type, type == "None"});
  out.rich_types = std::move(rich);
  return out;
}

std::string tuple_of(const std::string& entries) {
  return R"({"category":"custom","clazz":"tuple","entries":[)" + entries + "]}";
}

std::string named_of(const std::string& entries) {
  return R"({"category":"namedtuple","module":"m","clazz":"T","entries":[)" + entries + "]}";
}

TEST_CASE("orbax rich types: a class that JAX knows without keys is a dict with indices beneath") {
  const std::string leaf =
      R"({"category":"custom","clazz":"ValueMetadataEntry","data":{"value_type":"np.ndarray"}})";
  const std::vector<orbax::tree_key> path{{"o", false}, {"0", true}, {"0", true}};
  const orbax::tree boxed =
      told({{path, "np.ndarray"}, {{{"o", false}, {"1", true}}, "np.ndarray"}},
           R"({"o":{"0":)" + tuple_of(leaf) + R"(,"1":)" + leaf + "}}");
  CHECK(text_of(orbax::to_value(boxed).value()) == "{o: {0: (np.ndarray), 1: np.ndarray}}");
  tree_options how;
  how.own.rich_types = orbax::containers_of(boxed).value();
  CHECK(*how.own.rich_types == std::vector<tree_container>{{.path = {"o", 0}}});
  const test::temp_directory folder;
  orbax::save(folder / "c", {{path, w}, {{"o", 1}, w}}, how).value();
  // A list, as to a reader that asks for no rich types.
  CHECK(text_at(folder / "c") == "{o: [(np.ndarray), np.ndarray]}");
}

TEST_CASE("orbax rich types: containers that a file tells, and leaves that are others") {
  const std::string none = R"({"category":"custom","clazz":"ValueMetadataEntry","data":)"
                           R"({"value_type":"None"}})";
  const std::string empty = R"({"category":"custom","clazz":"ValueMetadataEntry","data":)"
                            R"({"value_type":"NamedTuple"}})";
  const std::string field = R"({"key":"a","value":)" + none + "}";
  // Of what is empty only the leaves have the path.
  CHECK(orbax::containers_of(
            told({{{{"t", false}, {"0", true}}, "NamedTuple"}}, R"({"t":)" + tuple_of(empty) + "}"))
            .value() == std::vector<tree_container>{{.path = "t"}});
  // A key may have a '/', so that one name is that of other keys.
  CHECK(orbax::containers_of(
            told({{{{"t/u", false}, {"0", true}}, "None"}}, R"({"t/u":)" + tuple_of(none) + "}"))
            .value() ==
        std::vector<tree_container>{{.path = std::vector<orbax::tree_key>{{"t/u", false}}}});
  const std::pair<orbax::tree, const char*> wrong[] = {
      {told({{{{"t", false}, {"0", true}}, "None"}},
            R"({"t":)" + tuple_of(none + "," + none) + "}"),
       "\"t/1\""},
      {told({{{{"t", false}, {"0", false}}, "None"}}, R"({"t":)" + tuple_of(none) + "}"),
       "\"t/0\""},
      {told({{{{"t", false}, {"a", true}}, "None"}}, R"({"t":)" + named_of(field) + "}"),
       "\"t/a\""},
      {told({{{{"t", false}, {"b", false}}, "None"}}, R"({"t":)" + named_of(field) + "}"),
       "\"t/a\""},
      {told({{{{"t/u", false}, {"0", true}}, "None"}}, R"({"t":{"u":)" + tuple_of(none) + "}}"),
       "\"t/u/0\""},
      {told({}, tuple_of(none)), "\"0\""},
      {told({{{{"t", false}, {"0", true}}, "None"}}, R"({"t":)" + tuple_of("3") + "}"),
       "no known form"},
      {told({}, std::string(70, '[') + std::string(70, ']')), "64 levels"},
  };
  for (const auto& [from, text] : wrong) {
    const auto found = orbax::containers_of(from);
    REQUIRE_FALSE(found);
    INFO(to_string(found.failure()), " / ", text);
    CHECK(found.failure().message.find(text) != std::string::npos);
  }
}

TEST_CASE("orbax rich types: fields are found in any order, and many of them at once") {
  std::vector<orbax::detail::described_leaf> leaves;
  tree_container all{"a", value_kind::named_tuple, "m.T", {}};
  for (int i = 0; i < 2000; ++i) {
    auto& leaf = leaves.emplace_back();
    leaf.path = {{"a", false}, {"f" + std::to_string(i * 7 % 2000), false}};
    leaf.value_type = "None";
    leaf.is_empty = true;
    all.fields.push_back("f" + std::to_string(1999 - i));
  }
  orbax::format how;
  how.rich_types.emplace().push_back(all);
  const auto plan = orbax::detail::plan_tree({leaves, {}}, {{}, how}).value();
  const std::string text = orbax::detail::rich_text(plan, *how.rich_types);
  const tree_value read = orbax::to_value(told({}, text)).value();
  std::vector<std::string> names;
  for (const auto& [name, member] : read.members[0].second.members) names.push_back(name);
  CHECK(names == all.fields);
}

TEST_CASE("orbax rich types: by many processes") {
  const test::temp_directory folder;
  const auto run = [&](const std::vector<tree_container>& all) {
    return thread_world::run(3, [&](thread_communicator& self) {
      std::vector<float> rows(4, static_cast<float>(self.rank()));
      const auto part =
          shard("kernel", std::span<float>(rows), {.offsets = {{0, self.rank(), self.size()}}});
      const std::vector<sharded_tensor> shards{part.value()};
      tree_options how{.all = {.overwrite = true, .sync = false}};
      how.own.paths = {{"kernel", {"opt", 0, "mu"}}};
      how.own.rich_types = all;
      const std::vector<tree_item> values{{{"opt", 1}, 3}, {{"opt", 0, "count"}, 4}};
      return orbax::save(folder / "c", self, shards, values, how);
    });
  };
  for (const auto& one : run({{.path = "opt"},
                              {.path = {"opt", 0},
                              .kind = value_kind::named_tuple,
                              .type = "m.T",
                              .fields = {"mu", "count"}}}))
    one.value();
  CHECK(text_at(folder / "c") == "{opt: (m.T(mu: np.ndarray, count: scalar), scalar)}");
  for (const auto& one : run({{.path = "gone"}})) refuses(one, "the tuple \"gone\"");
  CHECK(text_at(folder / "c").find("m.T") != std::string::npos);
}

TEST_CASE("orbax rich types: processes that do not agree are refused") {
  const test::temp_directory folder;
  using containers = std::vector<tree_container>;
  const containers tuple{{.path = "opt"}};
  const containers named{
      {.path = "opt", .kind = value_kind::named_tuple, .type = "m.T", .fields = {"a", "b"}}};
  containers fewer = named;
  fewer[0].fields = {"ab"};
  containers other = tuple;
  other[0].path = std::vector<orbax::tree_key>{{"opt", true}};
  const std::optional<containers> all[] = {std::nullopt, containers(), tuple, named, fewer, other};
  const auto run = [&](const auto& options_of) {
    return thread_world::run(2, [&](thread_communicator& self) {
      return orbax::save(folder / "c", self, {}, std::vector<tree_item>{{{"opt", 0}, 3}},
                         options_of(self.rank()));
    });
  };
  for (const auto& first : all) {
    for (const auto& second : all) {
      if (&first == &second) continue;
      for (const auto& one : run([&](int rank) {
             return save_options{.sync = false,
                                 .format = orbax::format{.rich_types = rank == 0 ? first : second}};
           }))
        refuses(one, "the description of rank 1: it has other options than rank 0");
    }
  }
  for (const auto& one : run([](int rank) {
         return save_options{.sync = false,
                             .format = orbax::format{.arrays = rank == 0 ? orbax::array_kind::numpy
                                                                         : orbax::array_kind::jax}};
       }))
    refuses(one, "arrays and rich_types must be the same");
  CHECK(std::filesystem::is_empty(folder.path()));
  for (const auto& one : run([&](int) {
         return save_options{.sync = false, .format = orbax::format{.rich_types = tuple}};
       }))
    one.value();
  CHECK(text_at(folder / "c") == "{opt: (scalar)}");
}

TEST_CASE("orbax rich types: the example of docs/orbax.md") {
  namespace zp = zarrpoint;
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  const std::vector<float> mu = w, nu = w;
  // clang-format off
  zp::orbax::format as;
  as.rich_types = {{.path = "opt"},                                // a tuple
                   {.path = {"opt", 0}, .kind = zp::orbax::value_kind::named_tuple,
                    .type = "optax.ScaleByAdamState", .fields = {"count", "mu", "nu"}}};
  zp::orbax::save(path, {{{"opt", 0, "count"}, 7}, {{"opt", 0, "mu"}, mu},
                         {{"opt", 0, "nu"}, nu}, {{"opt", 1}, 0.5}}, {.format = as}).value();
  // clang-format on
  CHECK(text_at(path) ==
        "{opt: (optax.ScaleByAdamState(count: scalar, mu: np.ndarray, nu: np.ndarray), scalar)}");
  const auto saved =
      zp::orbax::tree_store::open(zp::file_store::open(path, {.read_only = true}).value(),
                                  zp::store_key::root())
          .value();
  zp::orbax::format again;
  again.rich_types = zp::orbax::containers_of(saved.tree()).value();
  CHECK(*again.rich_types == *as.rich_types);
}

}  // namespace orbax_rich_types_test
