// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include "support/store_texts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace virtual_hierarchy_test {

using namespace zarrpoint;
using test::key;

const tensor_spec pair_of_bytes{dtype(dtype_kind::uint8), {2}};

std::vector<std::byte> two() { return {std::byte{1}, std::byte{2}}; }

std::vector<std::string> names(const detail::virtual_hierarchy& of, std::string_view at) {
  std::vector<std::string> out;
  for (const list_entry& entry : of.list(key(at)).value())
    out.push_back(entry.name + (entry.is_prefix ? "/" : ""));
  return out;
}

TEST_CASE("made hierarchy: arrays, the groups above them, and attributes of the root") {
  detail::virtual_hierarchy made;
  made.add("b/c/w", detail::raw_array(pair_of_bytes), two()).value();
  made.add("a", detail::raw_array(pair_of_bytes), two()).value();
  made.add("b/none", detail::raw_array({dtype(dtype_kind::float32), {0, 2}}),
           std::vector<std::byte>())
      .value();
  made.add("b/one", detail::raw_array({dtype(dtype_kind::uint8), {}}), {std::byte{7}}).value();
  json attributes;
  attributes.set("answer", 42);
  made.finish(attributes).value();
  using texts = std::vector<std::string>;
  CHECK(names(made, "") == texts{"a/", "b/", "zarr.json"});
  CHECK(names(made, "b") == texts{"c/", "none/", "one/", "zarr.json"});
  CHECK(names(made, "b/c/w") == texts{"c/", "zarr.json"});
  CHECK(names(made, "b/c/w/c") == texts{"0"});
  CHECK(names(made, "b/none") == texts{"zarr.json"});
  CHECK(names(made, "b/one") == texts{"c", "zarr.json"});
  CHECK(names(made, "x").empty());
  const auto root = made.open(key("zarr.json"), "root").value();
  std::string text(root->size(), '\0');
  root->read(0, std::as_writable_bytes(std::span(text))).value();
  CHECK(text.find("\"answer\":42") != std::string::npos);
  CHECK(made.open(key("b/c/w/c/0"), "chunk").value()->size() == 2);
  CHECK(made.open(key("b/c/w/c/1"), "chunk").value() == nullptr);
}

std::string document_of(const detail::virtual_hierarchy& of, const std::string& name) {
  const auto found = of.open(key(name + "/zarr.json"), name).value();
  if (found == nullptr) return {};
  std::string text(found->size(), '\0');
  found->read(0, std::as_writable_bytes(std::span(text))).value();
  return text;
}

TEST_CASE("made hierarchy: names that cannot be, are twice, or beneath an array, are told") {
  for (const auto& [name, shown] :
       std::vector<std::pair<std::string, std::string>>{{"", "%"},
                                                        {"/b", "%/b"},
                                                        {"b//c", "b/%/c"},
                                                        {"b/..", "b/%2E%2E"},
                                                        {"b\nc", "b%0Ac"},
                                                        {"b/zarr.json", "b/zarr%2Ejson"},
                                                        {"a", "a~2"},
                                                        {"a/b", "a%2Fb"},
                                                        {"a/b/c", "a%2Fb/c"}}) {
    CAPTURE(name);
    detail::virtual_hierarchy made;
    made.add("a", detail::raw_array(pair_of_bytes), two()).value();
    made.add(name, detail::raw_array(pair_of_bytes), two()).value();
    made.finish({}).value();
    const json told = parse_json(as_bytes(document_of(made, shown))).value();
    REQUIRE(told.find("attributes") != nullptr);
    CHECK(*told.find("attributes")->find("original_name") == json(name));
    CHECK(made.open(key(shown + "/c/0"), "chunk").value()->size() == 2);
    CHECK(document_of(made, "a").find("original_name") == std::string::npos);
  }
}

TEST_CASE("made hierarchy: what is not read is listed with its reason and its bytes") {
  detail::virtual_hierarchy made;
  const auto bytes = [](const std::string& name) -> result<std::unique_ptr<blob>> {
    return std::unique_ptr<blob>(std::make_unique<detail::memory_blob>(two(), name));
  };
  made.add("q", detail::unread_entry{"torch.qint8", "it is quantised", {2}}, {bytes}).value();
  made.add("a", detail::raw_array(pair_of_bytes), two()).value();
  made.finish({}).value();
  CHECK(names(made, "q") == std::vector<std::string>{"c/", "zarr.json"});
  CHECK(made.open(key("q/c/0"), "chunk").value()->size() == 2);
  const json told = parse_json(as_bytes(document_of(made, "q"))).value();
  CHECK(*told.find("attributes")->find("unread") == json("it is quantised"));
  const auto parsed = parse_array_v3(told);
  CHECK(parsed.failure().code == errc::unsupported);
  CHECK(parsed.failure().message.find("torch.qint8") != std::string::npos);
  // Also where the type is one that is known: what is not read never reads as zeros.
  for (const char* const type : {"uint8", "float4_e2m1fn", "r16", "string", ""})
    CHECK(parse_array_v3(detail::unread_document({type, "it is in parts", {2}})).failure().code ==
          errc::unsupported);
}

TEST_CASE("made hierarchy: names that make more groups than fit are refused") {
  detail::virtual_hierarchy made;
  detail::group_budget budget;
  std::string deep = "/x";
  while (deep.size() < 90) deep += "/x";
  for (int i = 0; i < 10'000; ++i)
    made.add(std::to_string(i) + deep, detail::raw_array(pair_of_bytes), two()).value();
  CHECK(made.finish({}).failure().code == errc::resource_limit);
  CHECK(budget.charge("a"));
  result<void> last;
  for (int i = 0; last && i < 1 << 20; ++i) last = budget.charge(deep);
  CHECK(last.failure().code == errc::resource_limit);
}

/// Arrays of bytes with as many chunks along each axis.
struct grids final : detail::lazy_nodes {
  std::vector<std::pair<std::string, dims>> all;

  std::string original_name(std::size_t number) const override { return all[number].first; }
  result<json> document(std::size_t number) const override {
    return json(json::object{{"rank", std::uint64_t{all[number].second.rank()}}});
  }
  result<dims> counts(std::size_t number) const override { return all[number].second; }
  result<std::unique_ptr<blob>> chunk(std::size_t number, std::string_view at,
                                      std::string called) const override {
    if (!detail::chunk_index(at, all[number].second)) return std::unique_ptr<blob>();
    return detail::text_blob(all[number].first + ' ' + std::string(at), std::move(called));
  }
};

std::string text_at(const detail::virtual_hierarchy& of, std::string_view at) {
  const auto object = of.open(key(at), "its name").value();
  if (object == nullptr) return "none";
  CHECK(object->name() == "its name");
  std::string out(object->size(), ' ');
  object->read(0, std::as_writable_bytes(std::span(out))).value();
  return out;
}

TEST_CASE("made hierarchy: nodes that are made when they are asked for") {
  grids by;
  // In an order that is none, with names that a "/" divides from their keys otherwise than a sort.
  by.all = {{"d/x", dims{}},     {"a-b", dims{}},   {"a/b", dims{1, 2}},
            {"a.e", dims{0, 1}}, {"d/w/y", dims{}}, {"n\n", dims{11}}};
  detail::virtual_hierarchy made;
  for (std::size_t i = 0; i < by.all.size(); ++i) made.add(by.all[i].first, by, i);
  made.add_group("e/f");
  made.add_group("a");
  made.finish({}).value();
  using texts = std::vector<std::string>;
  CHECK(names(made, "") == texts{"a/", "a-b/", "a.e/", "d/", "e/", "n%0A/", "zarr.json"});
  CHECK(names(made, "a") == texts{"b/", "zarr.json"});
  CHECK(names(made, "a.e") == texts{"zarr.json"});
  CHECK(names(made, "a-b") == texts{"c", "zarr.json"});
  CHECK(names(made, "a/b") == texts{"c/", "zarr.json"});
  CHECK(names(made, "a/b/c") == texts{"0/"});
  CHECK(names(made, "a/b/c/0") == texts{"0", "1"});
  CHECK(names(made, "a/b/c/1").empty());
  CHECK(names(made, "d") == texts{"w/", "x/", "zarr.json"});
  CHECK(names(made, "d/w") == texts{"y/", "zarr.json"});
  CHECK(names(made, "e") == texts{"f/", "zarr.json"});
  CHECK(names(made, "e/f") == texts{"zarr.json"});
  CHECK(names(made, "n%0A/c").size() == 11);
  CHECK(names(made, "b").empty());
  CHECK(text_at(made, "a/b/c/0/1") == "a/b c/0/1");
  CHECK(text_at(made, "d/x/c") == "d/x c");
  CHECK(text_at(made, "d/w/y/zarr.json") == R"({"rank":0})");
  CHECK(text_at(made, "d/zarr.json") == R"({"zarr_format":3,"node_type":"group"})");
  CHECK(text_at(made, "n%0A/zarr.json") == R"({"rank":1,"attributes":{"original_name":"n\n"}})");
  CHECK(text_at(made, "n%0A/.zattrs") == "none");
  for (const char* other : {"a", "a.e/c/0/0", "a/b/c", "a/b/c/1/0", "a-b/c/0", "b", "d", "d/x",
                            "d/x/d", "z", "0", "b/zarr.json"}) {
    CAPTURE(other);
    CHECK(text_at(made, other) == "none");
  }
}

/// An array that has documents of its own.
struct stored_documents final : detail::lazy_nodes {
  std::vector<std::pair<std::string, std::string>> all;  ///< by their keys
  std::uint64_t most = 1000;

  std::string original_name(std::size_t) const override { return "n\n"; }
  result<json> document(std::size_t) const override { return json(); }
  result<dims> counts(std::size_t) const override { return dims(); }
  result<std::unique_ptr<blob>> chunk(std::size_t, std::string_view, std::string) const override {
    return std::unique_ptr<blob>();
  }
  result<std::unique_ptr<blob>> open(const detail::hierarchy_place& at, std::string_view wanted,
                                     std::string called) const override {
    std::unique_ptr<blob> found;
    for (const auto& [name, text] : all)
      if (name == wanted) found = detail::text_blob(text, called);
    return with_name(at, wanted, std::move(found), most);
  }
};

TEST_CASE("made hierarchy: documents that are stored get a name, within the memory for them") {
  const auto told = [](const stored_documents& by, std::string_view wanted) -> result<std::string> {
    detail::virtual_hierarchy made;
    made.add("n\n", by, 0);
    made.finish({}).value();
    ZARRPOINT_TRY(object, made.open(key("n%0A").child(wanted).value(), "its name"));
    if (object == nullptr) return std::string("none");
    std::string out(object->size(), ' ');
    ZARRPOINT_CHECK(object->read(0, std::as_writable_bytes(std::span(out))));
    return out;
  };
  stored_documents v3, v2, bare;
  v3.all = {{"zarr.json", R"({"a":1,"attributes":{"b":2}})"}};
  v2.all = {{".zarray", "{}"}, {".zattrs", R"({"b":2})"}};
  bare.all = {{".zarray", "{}"}};
  CHECK(told(v3, "zarr.json").value() == R"({"a":1,"attributes":{"b":2,"original_name":"n\n"}})");
  CHECK(told(v3, ".zattrs").value() == "none");
  CHECK(told(v2, ".zattrs").value() == R"({"b":2,"original_name":"n\n"})");
  CHECK(told(v2, ".zarray").value() == "{}");
  CHECK(told(v2, "zarr.json").value() == "none");
  CHECK(told(bare, ".zattrs").value() == R"({"original_name":"n\n"})");
  v3.most = 8;
  CHECK(told(v3, "zarr.json").failure().code == errc::resource_limit);
  v2.most = 6;
  CHECK(told(v2, ".zattrs").failure().code == errc::resource_limit);
  v3.all = {{"zarr.json", "{"}};
  CHECK(told(v3, "zarr.json").failure().code == errc::corrupt);
}

TEST_CASE("made hierarchy: a bool that is neither 0 nor 1 is damage, where it is read") {
  detail::virtual_hierarchy made;
  made.add("flags", detail::raw_array({dtype(dtype_kind::bool_), {3}}),
           std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{0}})
      .value();
  made.finish({}).value();
  const auto chunk = made.open(key("flags/c/0"), "flags").value();
  CHECK(chunk->size() == 3);
  std::byte one{};
  CHECK(chunk->read(0, mutable_bytes(&one, 1)));
  CHECK(chunk->read(2, mutable_bytes(&one, 1)));
  const auto failed = chunk->read(1, mutable_bytes(&one, 1));
  REQUIRE_FALSE(failed);
  CHECK(failed.failure().code == errc::corrupt);
  CHECK(failed.failure().message.find("neither 0 nor 1") != std::string::npos);
  CHECK_FALSE(chunk->map());  // nobody is to see it
}

TEST_CASE("made hierarchy: one node that is the whole") {
  grids by;
  by.all = {{"", dims{}}};
  detail::virtual_hierarchy made;
  made.add("", by, 0);
  made.finish({}, true).value();
  CHECK(text_at(made, "c") == " c");
  CHECK(text_at(made, "zarr.json") == R"({"rank":0})");
  CHECK(names(made, "") == std::vector<std::string>{"c", "zarr.json"});
}

TEST_CASE("made hierarchy: texts as vlen-utf8 has them") {
  const auto made = detail::array_of_texts({2}, {"ab", ""}).value();
  CHECK(as_text(bytes_view(made.chunk)) == std::string("\2\0\0\0\2\0\0\0ab\0\0\0\0", 14));
  CHECK(made.metadata.shape == dims{2});
}

}  // namespace virtual_hierarchy_test
