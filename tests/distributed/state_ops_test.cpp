// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace state_ops_test {

using namespace zarrpoint;
using numbers = std::vector<float>;

state tensor_leaf(const std::string& key) { return shard(key, numbers{1, 2}).value(); }
state object_leaf(const std::string& key) {
  return sharded_object::from_bytes(key, {std::byte{1}}).value();
}
state factory_leaf(const std::string& key) {
  const auto build = [](const factory_source<int>& from) { return state(from.data); };
  return sharded_factory(key, 1, build, [](state loaded) { return loaded; });
}

/// Kinds, keys and common integers, in one line.
std::string outline(const state& of) {
  if (const state::map* members = of.if_map()) {
    std::string text = "{";
    for (const auto& [key, child] : *members) text += key + ":" + outline(child) + " ";
    return text + "}";
  }
  if (const state::list* elements = of.if_list()) {
    std::string text = "[";
    for (const state& element : *elements) text += outline(element) + " ";
    return text + "]";
  }
  if (const sharded_tensor* tensor = of.if_tensor()) return "t(" + tensor->key() + ")";
  if (const sharded_object* object = of.if_object()) return "o(" + object->key() + ")";
  if (const sharded_factory* factory = of.if_factory()) return "f(" + factory->key() + ")";
  if (const local_only* local = of.if_local()) return "l" + std::to_string(*local->get<int>());
  return of.is_hole() ? "-" : std::to_string(of.get<int>().value());
}

state example() {
  return {{"common", 1},
          {"all tensors", state::list{tensor_leaf("a"), tensor_leaf("b")}},
          {"mixed", state::list{tensor_leaf("c"), 2, {}, local_only(3), object_leaf("d"), 4}},
          {"empty", state{{"map", state::map{}}, {"list", state::list{}}, {"hole", {}}}},
          {"holes", state::list{{}, {}}},
          {"deep", state{{"er", state::list{{{"f", factory_leaf("f")}}, state::map{}}}}}};
}

TEST_CASE("STR-5: what is taken out of a state goes back to where it was, empty containers too") {
  const state all = example();
  const std::string before = outline(all);
  const extracted part = extract(all, of_kind(state_kind::tensor)).value();
  CHECK(outline(part.matching) == "{all tensors:[t(a) t(b) ] mixed:[t(c) - - - - - ] }");
  CHECK(outline(part.rest) ==
        "{common:1 deep:{er:[{f:f(f) } {} ] } empty:{hole:- list:[] map:{} } holes:[- - ] "
        "mixed:[- 2 - l3 o(d) 4 ] }");
  CHECK(outline(merge(part.matching, part.rest).value()) == before);
  CHECK(outline(merge(part.rest, part.matching).value()) == before);

  for (std::size_t kind = 0; kind <= static_cast<std::size_t>(state_kind::local); ++kind) {
    const extracted of_one = extract(all, of_kind(static_cast<state_kind>(kind))).value();
    CHECK(outline(merge(of_one.matching, of_one.rest).value()) == before);
    CHECK(outline(merge(of_one.rest, of_one.matching).value()) == before);
  }
  CHECK(outline(all) == before);
}

TEST_CASE("both parts have the root, unless it is a leaf") {
  const auto parts = [](const state& of, bool matches) {
    const extracted out = extract(of, [&](const state&) { return matches; }).value();
    return outline(out.matching) + " " + outline(out.rest);
  };
  CHECK(parts(state{{"a", 1}}, true) == "{a:1 } {}");
  CHECK(parts(state{{"a", 1}}, false) == "{} {a:1 }");
  CHECK(parts(state::list{1, {}}, true) == "[1 - ] [- - ]");
  CHECK(parts(state::list{1, {}}, false) == "[- - ] [1 - ]");
  CHECK(parts(state::list{}, true) == "[] []");
  CHECK(parts(state::map{}, true) == "{} {}");
  CHECK(parts(1, true) == "1 -");
  CHECK(parts(1, false) == "- 1");
  CHECK(parts({}, true) == "- -");
}

TEST_CASE("tensors and objects leave a hollow state, and are put back into it") {
  const state all = example();
  const auto has_elements = of_kind(state_kind::tensor, state_kind::object);
  const extracted part = extract(all, has_elements).value();
  std::size_t taken = 0;
  CHECK(for_each_leaf(part.matching, [&](const state&) { ++taken; }));
  CHECK(taken == 4);
  CHECK(for_each_leaf(part.rest, [&](const state& leaf) { CHECK_FALSE(has_elements(leaf)); }));
  const state restored = merge(part.rest, part.matching).value();
  CHECK(outline(restored) == outline(all));
  CHECK(restored.find("mixed/0")->if_tensor()->get<numbers>() ==
        all.find("mixed/0")->if_tensor()->get<numbers>());
}

TEST_CASE("a predicate may ask for the path, and leaves are visited with theirs") {
  const state all{{"a", state::list{1, state{{"b/c", 2}}, {}}}, {"d", 3}};
  std::string paths;
  CHECK(for_each_leaf(all, [&](const std::string& path, const state&) { paths += path + " "; }));
  CHECK(paths == "a/0 a/1/b~1c d ");
  const auto below_a = [](const std::string& path, const state&) { return path.starts_with("a/"); };
  CHECK(outline(extract(all, below_a).value().rest) == "{d:3 }");
  const result<void> stopped = for_each_leaf(all, [](const state& leaf) -> result<void> {
    if (leaf.get<int>().value() == 2) return error{errc::corrupt, "two"};
    return {};
  });
  CHECK(stopped.failure().message == "two");
}

TEST_CASE("states that contradict each other are not merged") {
  const auto refusal = [](const state& a, const state& b) {
    const error failure = merge(a, b).failure();
    CHECK(failure.code == errc::invalid_argument);
    return failure.message;
  };
  CHECK(refusal({{"a", state{{"b", 1}}}}, {{"a", state{{"b", 1}}}}) ==
        "state \"a/b\": a value and a value cannot be merged");
  CHECK(refusal({{"a", state::map{}}}, {{"a", state::list{}}}) ==
        "state \"a\": a map and a list cannot be merged");
  CHECK(refusal({{"a", state::map{}}}, {{"a", tensor_leaf("t")}}) ==
        "state \"a\": a map and a sharded tensor cannot be merged");
  CHECK(refusal({{"a", state::list{1, {}}}}, {{"a", state::list{{}}}}) ==
        "state \"a\": lists of 2 and of 1 elements cannot be merged");
  const state two = state::list{1, 2};
  CHECK(outline(merge(state::list{}, two).value()) == outline(two));
  CHECK(outline(merge(two, state::list{}).value()) == outline(two));
  CHECK(refusal(1, 1) == "state: a value and a value cannot be merged");
}

state nested(std::size_t depth) {
  state out = 1;
  for (std::size_t i = 0; i < depth; ++i) {
    out =
        i % 2 == 0 ? state(state::list{std::move(out)}) : state(state::map{{"k", std::move(out)}});
  }
  return out;
}

TEST_CASE("a state that is nested too deep is refused") {
  const auto all = [](const state&) { return true; };
  const auto same = [](const state& leaf) { return leaf; };
  const auto nothing = [](const state&) {};
  const state deepest = nested(detail::max_state_depth);
  CHECK(for_each_leaf(deepest, nothing));
  CHECK(transform_leaves(deepest, same));
  CHECK(extract(deepest, all));
  const state deeper = nested(detail::max_state_depth + 1);
  CHECK(for_each_leaf(deeper, nothing).failure().code == errc::resource_limit);
  CHECK(transform_leaves(deeper, same).failure().code == errc::resource_limit);
  CHECK(extract(deeper, all).failure().code == errc::resource_limit);
  CHECK(merge(deeper, deeper).failure().code == errc::resource_limit);
}

TEST_CASE("keys are changed by their prefix, in every kind of sharded leaf") {
  const state all{{"list", state::list{tensor_leaf("m.a"), object_leaf("m.b"), 7}},
                  {"f", factory_leaf("n.c")}};
  CHECK(outline(add_prefix(all, "x.").value()) == "{f:f(x.n.c) list:[t(x.m.a) o(x.m.b) 7 ] }");
  const error other = replace_prefix(all, {"m.", "q."}).failure();
  CHECK(other.code == errc::invalid_argument);
  CHECK(other.message.find("\"n.c\"") != std::string::npos);
  CHECK(outline(replace_prefix(*all.find("list"), {"m.", "q."}).value()) == "[t(q.a) o(q.b) 7 ]");
  const std::vector<prefix_change> changes{{"m.a", "first"}, {"m.", "second."}};
  CHECK(outline(map_prefixes(all, changes).value()) ==
        "{f:f(n.c) list:[t(first) o(second.b) 7 ] }");
  CHECK(outline(all) == "{f:f(n.c) list:[t(m.a) o(m.b) 7 ] }");
}

TEST_CASE("requests have no values") {
  const state all{
      {"t", tensor_leaf("t")}, {"o", object_leaf("o")}, {"f", factory_leaf("f")}, {"n", 1}};
  const state requests = without_data(all).value();
  CHECK(outline(requests) == outline(all));
  CHECK_FALSE(requests.find("t")->if_tensor()->has_data());
  CHECK_FALSE(requests.find("o")->if_object()->has_data());
  CHECK_FALSE(requests.find("f")->if_factory()->has_data());
  CHECK(all.find("t")->if_tensor()->has_data());
}

TEST_CASE("a hundred thousand leaves are parted and put together again") {
  constexpr int count = 100000;
  const state tensor = tensor_leaf("t");
  state::map members;
  state::list elements;
  for (int i = 0; i < count / 2; ++i) {
    members.emplace(std::to_string(i), i % 2 == 0 ? tensor : state(i));
    elements.push_back(i % 2 == 0 ? state(i) : tensor);
  }
  const state all{{"map", std::move(members)}, {"list", std::move(elements)}};
  const extracted part = extract(all, of_kind(state_kind::tensor)).value();
  CHECK(part.matching.find("map")->if_map()->size() == count / 4);
  CHECK(part.matching.find("list")->if_list()->size() == count / 2);
  const state whole = merge(part.rest, part.matching).value();
  std::size_t leaves = 0;
  CHECK(for_each_leaf(whole, [&](const state&) { ++leaves; }));
  CHECK(leaves == count);
  CHECK(whole.get<int>("list/49998").value() == 49998);
  CHECK(whole.find("list/49999")->if_tensor() == tensor.if_tensor());
}

}  // namespace state_ops_test
