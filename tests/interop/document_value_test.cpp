// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `torch::detail::document_value`: documents as values of Python, which a load makes the same
// documents of.

#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace document_value_test {

using namespace zarrpoint;

namespace {

json parsed(std::string_view text) { return parse_json(as_bytes(text)).value(); }

torch::value made(std::string_view text) {
  return torch::detail::document_value(parsed(text)).value();
}

/// The document of the file that the values are saved in.
std::string saved(const torch::value& what) {
  const memory_store store;
  const auto key = store_key::parse("a.pt").value();
  torch::save(store, key, what).value();
  const auto file = torch::open(store, key).value();
  return dump_json(torch::to_document(file).value(), json_style::compact);
}

const torch::value& member(const torch::value& of, std::string_view key) {
  for (const auto& one : std::get<torch::value::dict>(of.content()))
    if (one.key == key) return one.to;
  FAIL("no member ", key);
  return of;
}

}  // namespace

TEST_CASE("document_value: words are the values that they stand for, however deep") {
  const torch::value all = made(R"({"plain":[1,{"a":null}],"raw":{"$":"text","base64":"/wA="},)"
                                R"("deep":[[{"x":{"$":"float64","bits":"7ff8000000000001"}}],"s"],)"
                                R"("more":[1,[{"$":"text","base64":""},2]]})");
  const auto& raw = std::get<torch::value::bytes>(member(all, "raw").content());
  CHECK(raw == torch::value::bytes{std::byte{255}, std::byte{0}});
  const json& list = std::get<json>(member(all, "deep").content());
  REQUIRE(list.if_array()->size() == 2);
  const json& number = *list.if_array()->front().if_array()->front().find("x");
  CHECK(std::bit_cast<std::uint64_t>(*number.if_double()) == 0x7ff8000000000001);
  const auto& more = std::get<torch::value::list>(member(all, "more").content());
  REQUIRE(more.size() == 2);
  CHECK(std::get<json>(more[0].content()) == json(1));
  CHECK(std::get<torch::value::list>(more[1].content()).size() == 2);
  CHECK(std::get<json>(member(all, "plain").content()) == parsed(R"([1,{"a":null}])"));
}

TEST_CASE("document_value: what has no word is the node that it was") {
  for (const char* text :
       {"null", "1", "\"a\"", "[]", "{}", R"({"a":[1,{"b":"c"}]})", R"({"$":"hole"})",
        R"({"$":"text","base64":"?"})", R"({"$":5})", R"({"$":"tensor"})", R"({"$$$x":1})"}) {
    CAPTURE(text);
    const torch::value value = made(text);
    REQUIRE(std::holds_alternative<json>(value.content()));
    CHECK(std::get<json>(value.content()) == parsed(text));
  }
}

TEST_CASE("document_value: keys lose the $ that a document gives them, and get it again") {
  const torch::value value = made(R"({"$$a":1,"b":{"$$c":2},"$$$d":3})");
  CHECK(std::get<json>(value.content()) == parsed(R"({"$a":1,"b":{"$c":2},"$$$d":3})"));
  for (const char* text :
       {R"({"$$a":1,"b":{"$$c":2}})", R"({"$$$a":1,"$$a":2})", R"({"$$":"hole"})",
        R"({"$$":"text","base64":"/w=="})", R"({"$$":"text","base64":"?"})",
        R"({"$$":"hole","$$x":1})", R"({"raw":{"$":"text","base64":"/w=="},"$$a":[{"$$b":1}]})",
        R"([{"$":"hole"},{"$":"text","base64":""}])"}) {
    CAPTURE(text);
    CHECK(saved(made(text)) == text);
  }
}

TEST_CASE("document_value: a tensor has no place, and is named") {
  const auto refused = torch::detail::document_value(parsed(
      R"({"a":[1,{"w":{"$":"tensor","dtype":"float32","shape":[1],"base64":"AACAPw=="}}]})"));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(to_string(refused.failure()).find("\"a\": [1]: \"w\"") != std::string::npos);
}

}  // namespace document_value_test
