// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

#include <map>

namespace torch_document_test {

using namespace zarrpoint;
using namespace std::string_literals;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

std::string as_text(const std::string& pickle, const torch::pickle_node_limits& limits = {}) {
  const auto made = torch::detail::pickle_to_document(test::unpickle(pickle).value(), limits);
  if (!made) return std::string(to_string(made.failure().code)) + ": " + made.failure().message;
  return dump_json(*made, json_style::compact);
}

std::string document(const std::string& pickle, const torch::pickle_node_limits& limits = {}) {
  const auto made = torch::detail::pickle_to_document(test::unpickle(pickle).value(), limits);
  if (made) REQUIRE(detail::state_from_json(*made));
  return as_text(pickle, limits);
}

// Of objects-N.pt, which make_objects.py wrote.
const std::map<std::string, std::string> every_kind = {
    {"args",
     R"({"__class__":"argparse.Namespace","num_layers":24,"inner":{"__class__":"argparse.Namespace",)"
     R"("lr":0.5,"dtype":"torch.bfloat16"},"data":["a","b"],"none":null,"reserved":{"__class__":1}})"},
    {"reserved", R"({"__class__":"argparse.Namespace","__state__":{"__args__":5}})"},
    {"loop",
     R"({"__class__":"argparse.Namespace","name":"loop","itself":{"__omitted__":"it lies within itself"}})"},
    {"scale", R"({"$":"tensor","dtype":"float32","shape":[1],"base64":"AACARw=="})"},
    {"transposed", R"({"$":"tensor","dtype":"int16","shape":[3,2],"base64":"AAADAAEABAACAAUA"})"},
    {"expanded", R"({"$":"tensor","dtype":"uint8","shape":[3],"base64":"BwcH"})"},
    {"scalar", R"({"$":"tensor","dtype":"bool","shape":[],"base64":"AQ=="})"},
    {"parameter", R"({"$":"tensor","dtype":"float32","shape":[2],"base64":"AACAPwAAgD8="})"},
    {"big", R"("12345678901234567890123")"},
    {"negative", R"("-1208925819614629174706176")"},
    {"u64", "18446744073709551615"},
    {"ints", R"({"0":"zero","1":"yes","2.5":"half","null":"none"})"},
    {"mixed", R"({"__class__":"builtins.dict","__args__":[[[1,"int"],["1","text"]]]})"},
    {"tuples", R"({"__class__":"builtins.dict","__args__":[[[[1,2],"pair"]]]})"},
    {"dollar", R"({"$$":"what","$$x":1,"$$y":2})"},
    {"bytes", R"({"$":"text","base64":"/wA="})"},
    {"bytearray", R"({"$":"text","base64":"YWI="})"},
    {"file", R"({"$":"text","base64":"c3RhdGU="})"},
    {"set", "[3]"},
    {"frozen", "[4]"},
    {"ordered", R"({"b":1,"a":2})"},
    {"default", R"({"k":[1]})"},
    {"counter", R"({"a":2,"b":1})"},
    {"deque", R"({"__class__":"collections.deque","__args__":[[],3],"__elements__":[1,2]})"},
    {"size", "[2,3]"},
    {"dtype", R"("torch.float16")"},
    {"device", R"({"__class__":"torch.device","__args__":["cpu"]})"},
    {"function", R"("torch.nn.functional.relu")"},
    {"builtin", R"("builtins.len")"},
    {"method", R"("__main__.Counted.function")"},
    {"enum", R"("__main__.Colour.RED")"},
    {"date", R"({"__class__":"datetime.date","__args__":[{"$":"text","base64":"B+oBAg=="}]})"},
    {"time", R"({"__class__":"datetime.timedelta","__args__":[1,2,0]})"},
    {"decimal", R"({"__class__":"decimal.Decimal","__args__":["1.5"]})"},
    {"uuid", R"({"__class__":"uuid.UUID","int":1})"},
    {"path", R"({"__class__":"pathlib.PurePosixPath","__args__":["/","a","b"]})"},
    {"complex", R"({"__class__":"builtins.complex","__args__":[1.0,2.0]})"},
    {"range", R"({"__class__":"builtins.range","__args__":[0,3,1]})"},
    {"slice", R"({"__class__":"builtins.slice","__args__":[1,null,null]})"},
    {"partial", R"({"__class__":"functools.partial","__args__":["builtins.int"],)"
                R"("__state__":["builtins.int",[],{"base":2},null]})"},
    {"slots", R"({"__class__":"__main__.Slots","a":1,"b":"two"})"},
    {"keeper", R"({"__class__":"__main__.Keeper","__elements__":[1,2],"note":"n"})"},
    {"counted", R"({"__class__":"__main__.Counted","__kwargs__":{"count":3}})"},
    {"whole", R"({"__class__":"__main__.Whole","__state__":[1,2]})"},
    {"array", R"({"$":"tensor","dtype":"float64","shape":[2,3],)"
              R"("base64":"AAAAAAAAAAAAAAAAAADwPwAAAAAAAABAAAAAAAAACEAAAAAAAAAQQAAAAAAAABRA"})"},
    {"fortran",
     R"({"$":"tensor","dtype":"int32","shape":[2,3],"base64":"AAAAAAEAAAACAAAAAwAAAAQAAAAFAAAA"})"},
    {"swapped", R"({"$":"tensor","dtype":"uint16","shape":[3],"base64":"AAABAAIA"})"},
    {"strided", R"({"$":"tensor","dtype":"uint8","shape":[3],"base64":"AAIE"})"},
    {"empty", R"({"$":"tensor","dtype":"float32","shape":[0,2],"base64":""})"},
    {"np_float", "0.5"},
    {"np_int", "-7"},
    {"np_bool", "true"},
    {"np_half", R"({"$":"tensor","dtype":"float16","shape":[],"base64":"AD4="})"},
};

TEST_CASE("torch_document: every kind of object that Python wrote, by protocols 2, 4 and 5") {
  const any_store store = file_store::open(std::string(ZARRPOINT_TEST_GOLDEN) + "/torch").value();
  for (const char* name : {"objects-2.pt", "objects-4.pt", "objects-5.pt"}) {
    CAPTURE(name);
    const json all = torch::to_document(torch::open(store, key(name)).value()).value();
    for (const auto& [member, expected] : every_kind) {
      CAPTURE(member);
      REQUIRE(all.find(member) != nullptr);
      CHECK(dump_json(*all.find(member), json_style::compact) == expected);
    }
    const auto begins = [&](const char* member, std::string_view text) {
      return dump_json(*all.find(member), json_style::compact).starts_with(text);
    };
    CHECK(all.find("huge")->if_string()->size() == 2 + 2 * 1126);  // 2^9000
    CHECK(begins("huge", R"("0x0100)"));
    CHECK(begins("names", R"({"__class__":"numpy.core.)"));
    CHECK(begins("records", R"({"__class__":"numpy.core.)"));
    CHECK(begins("objects", R"({"__class__":"numpy.core.multiarray._reconstruct")"));
    CHECK(begins("np_date", R"({"__class__":"numpy.core.multiarray.scalar")"));
    CHECK(begins("np_dtype", R"({"__class__":"numpy.dtype","__args__":["f4",false,true])"));
    CHECK(begins("random", R"(["MT19937",{"$":"tensor","dtype":"uint32","shape":[624])"));
    CHECK(begins("storage", R"({"__persistent__":["storage","torch.FloatStorage")"));
    CHECK(begins("sparse", R"({"__class__":"torch._utils._rebuild_sparse_tensor")"));
    CHECK(begins("quantised", R"({"__class__":"torch._utils._rebuild_qtensor")"));
    // All of it is a state, in which tensors are leaves.
    const state made = detail::state_from_json(all).value();
    CHECK(made.get<int>("args/num_layers").value() == 24);
    CHECK(made.get<std::string>("bytes").value() == "\xff\0"s);
    REQUIRE(made.find("scale")->if_tensor() != nullptr);
    CHECK(made.find("scale")->if_tensor()->get<tensor>()->data<float>()[0] == 65536);
  }
}

TEST_CASE("torch_document: opcodes that Python 3 does not write, and calls of what is not a name") {
  CHECK(document("\x80\x02(K\1iargparse\nNamespace\n."s) ==
        R"({"__class__":"argparse.Namespace","__args__":[1]})");
  CHECK(document("\x80\x02(cm\nC\nK\1o}U\1aK\2sb."s) ==
        R"({"__class__":"m.C","__args__":[1],"a":2})");
  CHECK(document("\x80\x02K\1)R."s) == R"({"__class__":1})");
  CHECK(document("\x80\x02NQ."s) == R"({"__persistent__":null})");
  CHECK(document("\x80\x02U\1xQ."s) == R"({"__persistent__":"x"})");
  // Two states; a dict of which the names are not attributes; a pair that is not a pair of dicts.
  CHECK(document("\x80\x02"
                 "cm\nC\n)R}U\1aK\1sb}U\1aK\2sb."s) == R"({"__class__":"m.C","a":2})");
  CHECK(document("\x80\x02"
                 "cm\nC\n)R}K\1K\1sb."s) == R"({"__class__":"m.C","__state__":{"1":1}})");
  CHECK(document("\x80\x02"
                 "cm\nC\n)RNK\1\x86"
                 "b."s) == R"({"__class__":"m.C","__state__":[null,1]})");
  CHECK(document("\x80\x02"
                 "ccopyreg\n_reconstructor\n(cm\nC\nc__builtin__\nobject\nNtR}U\1aK\1sb."s) ==
        R"({"__class__":"m.C","a":1})");
  // Without its file a tensor is the call that it is.
  CHECK(document("\x80\x02"
                 "ctorch._utils\n_rebuild_tensor_v2\n)R."s) ==
        R"({"__class__":"torch._utils._rebuild_tensor_v2"})");
  // Arrays of numpy that are not as long as they say, and scalars of nothing.
  const std::string dtype = "cnumpy\ndtype\nU\2f4\x89\x88\x87R"s;
  CHECK(document("\x80\x03"
                 "cnumpy.core.multiarray\nscalar\n" +
                 dtype + "C\3abc\x86R.")
            .starts_with(R"({"__class__":"numpy.core.multiarray.scalar")"));
  CHECK(document("\x80\x03"
                 "cnumpy.core.multiarray\nscalar\n" +
                 dtype + "C\4\0\0\x80\x3f\x86R."s) == "1.0");
  CHECK(document("\x80\x03"
                 "cnumpy._core.multiarray\n_reconstruct\n)R(K\1K\xff\x85" +
                 dtype +
                 "\x89"
                 "C\4abcdtb.")
            .starts_with(R"({"__class__":"numpy._core.multiarray._reconstruct")"));
}

TEST_CASE("torch_document: what our own saver escaped comes back as it was") {
  for (const char* text : {R"({"$":"hole"})", R"({"$":"float64","bits":"7ff8000000000000"})",
                           R"({"$":"text","base64":"/w=="})", R"({"$$a":1})"}) {
    CAPTURE(text);
    const json escaped = parse_json(as_bytes(std::string_view(text))).value();
    const memory_store store;
    torch::save(store, key("f"), escaped).value();
    CHECK(torch::to_document(torch::open(store, key("f")).value()).value() == escaped);
  }
  // Others have a state of any keys.
  for (const char* text : {R"({"$":"hole","a":1})", R"({"$":"text","base64":"!"})",
                           R"({"$":"tensor"})", R"({"$":5})", R"({"$x":1,"$$x":2})"}) {
    CAPTURE(text);
    const memory_store store;
    torch::save(store, key("f"), parse_json(as_bytes(std::string_view(text))).value()).value();
    const auto made = torch::to_document(torch::open(store, key("f")).value());
    REQUIRE(made);
    CHECK(detail::state_from_json(*made));
  }
}

TEST_CASE("torch_document: depth, cycles and size are bounded") {
  // A list within itself; lists within each other.
  CHECK(document(test::from_hex("80025d71006800612e")) ==
        R"([{"__omitted__":"it lies within itself"}])");
  std::string deep = "\x80\x02";
  for (int i = 0; i < 1000; ++i) deep += "](";
  for (int i = 0; i < 1000; ++i) deep += "e";
  CHECK(document(deep + ".", {.max_depth = 3}) ==
        R"([[[{"__omitted__":"nested deeper than 3 levels"}]]])");
  CHECK(document(deep + ".", {.max_depth = 48}).size() > 48);
  // Lists of ten times the one before: 10^12 values in 300 bytes.
  std::string bomb = "\x80\x02(]q\0"s;
  for (char i = 1; i < 13; ++i) {
    bomb += "](";
    for (int n = 0; n < 10; ++n) bomb += "h"s + static_cast<char>(i - 1);
    bomb += "eq"s + i;
  }
  CHECK(document(bomb + "1h\x0c.", {.max_values = 10000}).starts_with("resource_limit"));
  const std::string text = "\x80\x02X\xe8\x03\0\0"s + std::string(1000, 'x') + "q\1"s + "0](";
  CHECK(document(text + "h\1h\1e.", {.max_text = 1999}).starts_with("resource_limit"));
  CHECK(document(text + "h\1h\1e.", {.max_text = 2000}).size() > 2000);
  // A tensor of many elements that are one.
  const any_store store = file_store::open(std::string(ZARRPOINT_TEST_GOLDEN) + "/torch").value();
  const torch::file file = torch::open(store, key("torch-1.13.0.pt")).value();
  CHECK(torch::to_document(file, {.max_text = 20}).failure().code == errc::resource_limit);
  CHECK(torch::to_document(file));
}

TEST_CASE("torch_document: dicts whose keys are not text, within each other, are walked once") {
  // {"a": {"a": ... , (1,): 2}, (1,): 2}, of which only the last key of each is not text.
  constexpr int levels = 60;
  std::string deep = "\x80\x02"s;
  for (int i = 0; i < levels; ++i) deep += "}(X\1\0\0\0a"s;
  deep += "X\5\0\0\0value"s;
  for (int i = 0; i < levels; ++i) deep += "K\1\x85K\2u"s;
  // Each level has a pair of "a", and one of a tuple: five values. Each text is charged once.
  const torch::pickle_node_limits exact{
      .max_depth = 1000, .max_values = 5 * levels + 1, .max_text = levels + 5};
  const std::string made = as_text(deep + ".", exact);
  CHECK(made.starts_with(R"({"__class__":"builtins.dict","__args__":[[["a",{"__class__")"));
  CHECK(made.find(R"(["a","value"],[[1],2]])") != std::string::npos);
  torch::pickle_node_limits less = exact;
  --less.max_values;
  CHECK(as_text(deep + ".", less).starts_with("resource_limit"));
  less = exact;
  --less.max_text;
  CHECK(as_text(deep + ".", less).starts_with("resource_limit"));
  // The same by keys of two kinds with one text, and by one that is another's with a "$".
  for (const std::string& keys : {"X\1\0\0\0001K\2K\1"s, "X\2\0\0\0$aK\2X\3\0\0\0$$a"s}) {
    std::string other = "\x80\x02"s;
    for (int i = 0; i < levels; ++i) other += "}(" + keys;
    other += "N";
    for (int i = 0; i < levels; ++i) other += "u";
    CHECK(as_text(other + ".", {.max_depth = 1000, .max_values = 4 * levels + 1})
              .starts_with(R"({"__class__":"builtins.dict")"));
  }
  // At the depth that files are read with by default.
  CHECK(as_text(deep + ".", {.max_depth = 48, .max_values = 1000}).starts_with("{"));
}

TEST_CASE(
    "torch_document: of a key that is there twice the last value counts, in the first place") {
  const std::string twice = "\x80\x02}(X\0\0\0\0K\1X\1\0\0\0bK\2X\0\0\0\0K\3u"s;
  CHECK(document(twice + ".") == R"({"":3,"b":2})");
  // Every walk over such keys counts, that of the value which nobody needs too.
  CHECK(document(twice + ".", {.max_values = 4}) == R"({"":3,"b":2})");
  CHECK(document(twice + ".", {.max_values = 3}).starts_with("resource_limit"));
}

TEST_CASE("torch_document: very many attributes, set at once and one by one") {
  constexpr std::uint32_t count = 100'000;
  const auto key_of = [](std::uint32_t i) { return "a" + std::to_string(i); };
  const auto text = [](const std::string& of) {
    std::string out = "X";
    for (unsigned shift = 0; shift < 32; shift += 8)
      out += static_cast<char>(of.size() >> shift & 0xffU);
    return out + of;
  };
  std::string pickle =
      "\x80\x02"
      "cm\nC\n)R}("s;
  for (std::uint32_t i = 0; i < count; ++i) pickle += text(key_of(i)) + "K\1"s;
  pickle += "ub";
  // The state after it sets every other one again, in reverse.
  pickle += "}(";
  for (std::uint32_t i = count; i > 0; i -= 2) pickle += text(key_of(i - 1)) + "K\2"s;
  pickle += "ub.";
  const json made = torch::detail::pickle_to_document(test::unpickle(pickle).value(), {}).value();
  const json::object& members = *made.if_object();
  REQUIRE(members.size() == 1 + count);
  CHECK(members[0].key == "__class__");
  bool same = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const json::member& one = members[1 + i];
    same = same && one.key == key_of(i) && one.value == json(i % 2 == 0 ? 1 : 2);
  }
  CHECK(same);
}

TEST_CASE("torch_document: damaged pickles give a document that is a state, or an error") {
  std::size_t made = 0;
  for (const std::string& whole : {test::all_kinds_2, test::all_kinds_4})
    test::for_each_damage(whole, 3000, [&](const std::string& bytes, bool) {
      const auto root = test::unpickle(bytes);
      if (!root) return;
      const auto out = torch::detail::pickle_to_document(*root, {.max_depth = 48});
      if (!out) return;
      ++made;
      CHECK(detail::state_from_json(*out));
    });
  CHECK(made > 0);
}

}  // namespace torch_document_test
