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
  node attributes;
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
    const node told = parse_json(as_bytes(document_of(made, shown))).value();
    REQUIRE(told.find("attributes") != nullptr);
    CHECK(*told.find("attributes")->find("original_name") == node(name));
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
  const node told = parse_json(as_bytes(document_of(made, "q"))).value();
  CHECK(*told.find("attributes")->find("unread") == node("it is quantised"));
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

TEST_CASE("made hierarchy: texts as vlen-utf8 has them") {
  const auto made = detail::array_of_texts({2}, {"ab", ""}).value();
  CHECK(as_text(bytes_view(made.chunk)) == std::string("\2\0\0\0\2\0\0\0ab\0\0\0\0", 14));
  CHECK(made.metadata.shape == dims{2});
}

}  // namespace virtual_hierarchy_test
