// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace metadata_v3_test {

using namespace zarrpoint;
using json_input::golden;
using json_input::json_of;

namespace {

/// A document that every reader accepts, to be changed member by member.
const std::string valid_text =
    R"({"zarr_format":3,"node_type":"array","shape":[7,10],"data_type":"float32",)"
    R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},)"
    R"("chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},)"
    R"("fill_value":0.0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]})";

json changed(const std::string& key, std::string_view value) {
  json document = json_of(valid_text);
  document.set(key, json_of(value));
  return document;
}

json without(const std::string& key) {
  json document = json_of(valid_text);
  std::erase_if(*document.if_object(), [&](const json::member& one) { return one.key == key; });
  return document;
}

errc code_of(const json& document) {
  const auto array = parse_array_v3(document);
  REQUIRE_MESSAGE(!array, dump_json(document));
  return array.failure().code;
}

}  // namespace

TEST_CASE("what is read is written, byte for byte") {
  const array_metadata array = parse_array_v3(json_of(valid_text)).value();
  CHECK(array.zarr_format == 3);
  CHECK(array.shape == dims{7, 10});
  CHECK(array.type == dtype_kind::float32);
  CHECK(array.chunk_shape == dims{2, 3});
  CHECK(array.keys == chunk_key_encoding{});
  CHECK(array.fill == fill_value::of(0.0F));
  CHECK(array.codecs == std::vector{codec_spec{"bytes", json_of(R"({"endian":"little"})")}});
  CHECK(array.attributes.is_null());
  CHECK_FALSE(array.dimension_names);
  CHECK(json_input::text_of(to_v3(array)) == valid_text);
}

TEST_CASE("a document with everything in it is stable") {
  array_metadata array;
  array.shape = {4, 6};
  array.type = dtype_kind::bfloat16;
  array.chunk_shape = {4, 6};
  array.keys = {chunk_key_encoding::style::v2, '.'};
  array.fill = detail::parse_fill_value(json("NaN"), array.type, 3).value();
  array.codecs = {{"sharding_indexed", json_of(R"({"chunk_shape":[2,6],"codecs":[{"name":"bytes",
      "configuration":{"endian":"little"}},{"name":"crc32c"}],"index_codecs":[{"name":"bytes",
      "configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":"end"})")}};
  array.attributes = json_of(R"({"units":"m","b":[1,NaN]})");
  array.dimension_names = dimension_names_list{"rows", std::nullopt};
  const std::string text = json_input::text_of(to_v3(array));
  CHECK(text ==
        R"({"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"bfloat16",)"
        R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,6]}},)"
        R"("chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}},)"
        R"("fill_value":"NaN","codecs":[{"name":"sharding_indexed","configuration":)"
        R"({"chunk_shape":[2,6],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},)"
        R"({"name":"crc32c"}],"index_codecs":[{"name":"bytes","configuration":)"
        R"({"endian":"little"}},{"name":"crc32c"}],"index_location":"end"}}],)"
        R"("attributes":{"units":"m","b":[1,NaN]},"dimension_names":["rows",null]})");
  const auto again = parse_array_v3(json_of(text)).value();
  CHECK(json_input::text_of(to_v3(again)) == text);
}

TEST_CASE("each data type by its name") {
  for (const dtype_kind kind : all_dtype_kinds) {
    array_metadata array = parse_array_v3(json_of(valid_text)).value();
    array.type = kind;
    array.fill = fill_value::zero(kind);
    const json document = to_v3(array).value();
    CHECK(*document.find("data_type") == json(to_string(dtype(kind))));
    CHECK(parse_array_v3(document).value() == array);
  }
}

TEST_CASE("data types with parameters, as each writer spells them") {
  const dtype inner =
      make_record({{"a", dtype_kind::int8}, {"b", dtype::datetime(time_unit::s)}}).value();
  const dtype record = make_record({{"x", dtype_kind::float32}, {"in", inner}}).value();
  const char* const nested =
      R"({"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},)"
      R"({"name":"in","data_type":{"name":"struct","configuration":{"fields":[)"
      R"({"name":"a","data_type":"int8"},{"name":"b","data_type":{"name":"numpy.datetime64",)"
      R"("configuration":{"unit":"s","scale_factor":1}}}]}}}]}})";
  const std::pair<const char*, dtype> table[] = {
      {R"({"name":"raw_bytes","configuration":{"length_bytes":6}})", dtype::raw_bytes(6)},
      {R"({"name":"null_terminated_bytes","configuration":{"length_bytes":3}})",
       dtype::null_terminated(3)},
      {R"({"name":"fixed_length_utf32","configuration":{"length_bytes":20}})", dtype::utf32(5)},
      {R"({"name":"numpy.timedelta64","configuration":{"unit":"us","scale_factor":10}})",
       dtype::timedelta(time_unit::us, 10)},
      {nested, record},
  };
  for (const auto& [text, type] : table) {
    CAPTURE(text);
    CHECK(detail::parse_data_type_v3(json_of(text)).value() == type);
    CHECK(detail::data_type_to_json(type).value() == json_of(text));
    array_metadata array = parse_array_v3(json_of(valid_text)).value();
    array.type = type;
    array.fill = fill_value::zero(type);
    CHECK(parse_array_v3(to_v3(array).value()).value() == array);
  }
  CHECK(detail::parse_data_type_v3(json("r48")).value() == dtype::raw_bytes(6));
  CHECK(detail::parse_data_type_v3(json("variable_length_bytes")).value() == dtype_kind::bytes);
  CHECK(detail::parse_data_type_v3(json("complex_float32")).value() == dtype_kind::complex64);
  CHECK(detail::parse_data_type_v3(json_of(R"({"name":"structured","configuration":{"fields":)"
                                           R"([["x","float32"],["in",{"name":"structured",)"
                                           R"("configuration":{"fields":[["a","int8"],["b",)"
                                           R"({"name":"numpy.datetime64","configuration":)"
                                           R"({"unit":"s"}}]]}}]]}})"))
            .value() == record);
  const std::pair<const char*, errc> refused[] = {
      {R"("r7")", errc::unsupported},
      {R"("r08")", errc::unsupported},
      {R"("r99999999999999999999999")", errc::unsupported},
      {R"("raw_bytes")", errc::corrupt},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":-1}})", errc::corrupt},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":0}})", errc::unsupported},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":99999999999}})", errc::unsupported},
      {R"({"name":"raw_bytes","configuration":{"length_bytes":1,"x":1}})", errc::unsupported},
      {R"({"name":"fixed_length_utf32","configuration":{"length_bytes":6}})", errc::corrupt},
      {R"({"name":"numpy.datetime64","configuration":{"unit":"x"}})", errc::corrupt},
      {R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":0}})",
       errc::corrupt},
      {R"({"name":"struct","configuration":{"fields":[]}})", errc::corrupt},
      {R"({"name":"struct","configuration":{"fields":[["x"]]}})", errc::corrupt},
      {R"({"name":"struct","configuration":{"fields":[["x","string"]]}})", errc::corrupt},
      {R"({"name":"int32","configuration":{"x":1}})", errc::unsupported},
  };
  for (const auto& [text, code] : refused) {
    CAPTURE(text);
    const auto type = detail::parse_data_type_v3(json_of(text));
    REQUIRE_FALSE(type);
    CHECK(type.failure().code == code);
  }
  const dtype arrays = make_record({{"x", dtype_kind::int8, {2}}}).value();
  CHECK(detail::data_type_to_json(arrays).failure().code == errc::unsupported);
}

TEST_CASE("rectilinear grids: extents, runs of them, or one that repeats") {
  const char* const grid =
      R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[3,2],4],5]}})";
  const array_metadata array = parse_array_v3(changed("chunk_grid", grid)).value();
  REQUIRE(array.edges.size() == 2);
  CHECK(array.chunk_shape == dims{4, 5});
  CHECK(array.edges[0].find(2).index == 0);
  CHECK(array.edges[0].find(3).start == 3);
  CHECK(array.edges[0].find(6).index == 2);
  CHECK(array.edges[0].find(6).extent == 4);
  CHECK(array.edges[1].find(9).start == 5);
  CHECK(*to_v3(array).value().find("chunk_grid") == json_of(grid));
  CHECK(parse_array_v3(to_v3(array).value()).value() == array);
  CHECK(to_v2(array).failure().code == errc::unsupported);
  for (const char* shapes :
       {"[[3,3],5]", "[[3,4]]", "[[7],[[5,0]]]", "[[7],[0,10]]", "[[7],0]", "[[7],\"5\"]",
        "[[7],[[5]]]", "[[7],[[1,9223372036854775807],9]]", "[[7],[10,-1]]", "7", "[[7],[]]"}) {
    CAPTURE(shapes);
    CHECK_FALSE(parse_array_v3(changed(
        "chunk_grid", R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":)" +
                          std::string(shapes) + "}}")));
  }
  CHECK(parse_array_v3(golden("peers/zarr-python/v3-rectilinear/zarr.json")));
  CHECK(parse_array_v3(golden("zarr-python/v3/array/rectilinear_grid_with_rle.json")));
}

TEST_CASE("quirks of real files that are accepted") {
  const array_metadata plain = parse_array_v3(json_of(valid_text)).value();
  const std::pair<const char*, const char*> same[] = {
      {"shape", "[7.0, 10]"},
      {"data_type", R"({"name":"float32"})"},
      {"data_type", R"({"name":"float32","configuration":{}})"},
      {"chunk_key_encoding", R"("default")"},
      {"chunk_key_encoding", R"({"name":"default"})"},
      {"chunk_key_encoding", R"({"name":"default","configuration":{}})"},
      {"chunk_key_encoding", R"({"name":"default","separator":"/"})"},
      {"fill_value", "0"},
      {"fill_value", R"("0x00000000")"},
      {"attributes", "null"},
      {"attributes", "{}"},
      {"dimension_names", "null"},
      {"storage_transformers", "[]"},
      {"storage_transformers", "null"},
      {"storage_transformers", R"([{"name":"x","must_understand":false}])"},
      {"extension", R"({"must_understand":false,"any":[1]})"},
  };
  for (const auto& [key, value] : same) {
    CAPTURE(key);
    CAPTURE(value);
    const auto array = parse_array_v3(changed(key, value));
    REQUIRE_MESSAGE(array, json_input::error_of(array));
    CHECK(*array == plain);
  }
  CHECK(parse_array_v3(changed("codecs", R"(["bytes"])")).value().codecs[0].name == "bytes");
  CHECK(parse_array_v3(changed("codecs", R"([{"name":"endian"}])")).value().codecs[0].name ==
        "endian");
  CHECK_FALSE(parse_array_v3(changed("codecs", R"([{"name":"x","must_understand":false}])"))
                  .value()
                  .codecs[0]
                  .must_understand);
  CHECK(parse_array_v3(changed("chunk_key_encoding", R"("v2")")).value().keys.separator == '.');
  CHECK(parse_array_v3(changed("chunk_key_encoding", R"({"name":"v2","separator":"/"})"))
            .value()
            .keys == chunk_key_encoding{chunk_key_encoding::style::v2, '/'});
  const auto named = parse_array_v3(changed("dimension_names", R"(["y",null])")).value();
  CHECK(*named.dimension_names == dimension_names_list{"y", std::nullopt});
}

TEST_CASE("a chunk of length 0 on an axis of length 0, and nowhere else") {
  json document = changed("shape", "[0, 10]");
  document.set("chunk_grid",
               json_of(R"({"name":"regular","configuration":{"chunk_shape":[0,5]}})"));
  CHECK(parse_array_v3(document).value().chunk_shape == dims{1, 5});
  document.set("chunk_grid",
               json_of(R"({"name":"regular","configuration":{"chunk_shape":[4,0]}})"));
  CHECK(code_of(document) == errc::corrupt);
}

TEST_CASE("what is refused, as by every other reader") {
  struct {
    const char* key;
    const char* value;
    errc code;
  } const table[] = {
      {"zarr_format", "2", errc::unsupported},
      {"zarr_format", "4", errc::unsupported},
      {"zarr_format", "\"3\"", errc::corrupt},
      {"zarr_format", "null", errc::corrupt},
      {"node_type", "\"group\"", errc::corrupt},
      {"node_type", "3", errc::corrupt},
      {"shape", "7", errc::corrupt},
      {"shape", "[7]", errc::corrupt},
      {"shape", "[7, -1]", errc::corrupt},
      {"shape", "[7, 0.5]", errc::corrupt},
      {"shape", "[7, \"1\"]", errc::corrupt},
      {"shape", "[7, 9223372036854775808]", errc::corrupt},
      {"data_type", "null", errc::corrupt},
      {"data_type", "{}", errc::corrupt},
      {"data_type", R"({"name":"float32","must_understand":false})", errc::unsupported},
      {"data_type", R"({"name":"float32","configuration":{"a":1}})", errc::unsupported},
      {"chunk_grid", "\"regular\"", errc::corrupt},
      {"chunk_grid", R"({"name":"regular"})", errc::corrupt},
      {"chunk_grid", R"({"name":"regular","configuration":{}})", errc::corrupt},
      {"chunk_grid", R"({"name":"regular","configuration":{"chunk_shape":[2]}})", errc::corrupt},
      {"chunk_grid", R"({"name":"regular","configuration":{"chunk_shape":[0,3]}})", errc::corrupt},
      {"chunk_grid", R"({"name":"regular","configuration":{"chunk_shape":[2,3],"x":1}})",
       errc::unsupported},
      {"chunk_grid", R"({"name":"other","configuration":{}})", errc::unsupported},
      {"chunk_grid", R"({"name":"rectilinear","configuration":{}})", errc::corrupt},
      {"chunk_grid",
       R"({"name":"regular","configuration":{"chunk_shape":[4611686018427387904,4611686018427387904]}})",
       errc::out_of_range},
      {"chunk_key_encoding", "null", errc::corrupt},
      {"chunk_key_encoding", "\"suffix\"", errc::unsupported},
      {"chunk_key_encoding", R"({"name":"default","configuration":{"separator":"-"}})",
       errc::corrupt},
      {"chunk_key_encoding", R"({"name":"default","configuration":{"separator":""}})",
       errc::corrupt},
      {"chunk_key_encoding",
       R"({"name":"default","separator":"/","configuration":{"separator":"."}})", errc::corrupt},
      {"chunk_key_encoding", R"({"name":"default","configuration":{"x":1}})", errc::unsupported},
      {"fill_value", "null", errc::corrupt},
      {"fill_value", "NaN", errc::corrupt},
      {"codecs", "[]", errc::corrupt},
      {"codecs", "{}", errc::corrupt},
      {"codecs", R"([{"name":"bytes","endian":"little"}])", errc::unsupported},
      {"attributes", "[]", errc::corrupt},
      {"attributes", "\"a\"", errc::corrupt},
      {"dimension_names", "[]", errc::corrupt},
      {"dimension_names", "[\"a\"]", errc::corrupt},
      {"dimension_names", "[\"a\", 1]", errc::corrupt},
      {"dimension_names", "{}", errc::corrupt},
      {"storage_transformers", "[\"x\"]", errc::unsupported},
      {"storage_transformers", "{}", errc::corrupt},
      {"extension", "null", errc::unsupported},
      {"extension", "1", errc::unsupported},
      {"extension", "{}", errc::unsupported},
      {"extension", R"({"must_understand":true})", errc::unsupported},
      {"consolidated_metadata", "null", errc::unsupported},
  };
  for (const auto& [key, value, code] : table) {
    CAPTURE(key);
    CAPTURE(value);
    CHECK(code_of(changed(key, value)) == code);
  }
  for (const char* key : {"zarr_format", "node_type", "shape", "data_type", "chunk_grid",
                          "chunk_key_encoding", "fill_value", "codecs"}) {
    CAPTURE(key);
    const auto array = parse_array_v3(without(key));
    REQUIRE_FALSE(array);
    CHECK(array.failure().code == errc::corrupt);
    CHECK(array.failure().message.find(key) != std::string::npos);
  }
  for (const char* text : {"null", "[]", "3", "\"a\"", "{}"})
    CHECK(code_of(json_of(text)) == errc::corrupt);
  std::string deep = "1";
  for (int i = 0; i < 40; ++i) deep += ",1";
  CHECK(code_of(changed("shape", "[" + deep + "]")) == errc::unsupported);
}

TEST_CASE("data types that nobody knows are named in the error") {
  for (const char* name : {"r*", "float128", "Float32", "invalid", "<f4"}) {
    CAPTURE(name);
    const std::string quoted = '"' + std::string(name) + '"';
    for (const std::string& value :
         {quoted, R"({"name":)" + quoted + R"(,"configuration":{"length_bytes":4,"fields":[]}})"}) {
      // The fill value of such a type says nothing about it.
      for (const char* fill : {"0", "\"\"", "{}", "[1]", "null"}) {
        json document = changed("data_type", value);
        document.set("fill_value", json_of(fill));
        const auto array = parse_array_v3(document);
        REQUIRE_FALSE(array);
        CHECK(array.failure().code == errc::unsupported);
        CHECK(array.failure().message.find(quoted) != std::string::npos);
      }
    }
  }
}

TEST_CASE("what could not be read back is not written") {
  const array_metadata plain = parse_array_v3(json_of(valid_text)).value();
  const auto refused = [&](auto change) {
    array_metadata array = plain;
    change(array);
    const auto written = to_v3(array);
    return !written && written.failure().code == errc::invalid_argument;
  };
  CHECK(refused([](auto& a) { a.codecs.clear(); }));
  CHECK(refused([](auto& a) { a.codecs[0].must_understand = false; }));
  CHECK(refused([](auto& a) { a.chunk_shape = {2}; }));
  CHECK(refused([](auto& a) { a.fill = fill_value::of(1.0); }));
  CHECK(refused([](auto& a) { a.attributes = json::array{}; }));
  CHECK(refused([](auto& a) { a.attributes = json::object{{"a", "\xff"}}; }));
  CHECK(refused([](auto& a) { a.attributes = json::object{{"a", 1}, {"a", 1}}; }));
  CHECK(refused([](auto& a) { a.dimension_names = dimension_names_list{"a", "\xff"}; }));
}

TEST_CASE("groups") {
  const auto group = parse_group_v3(json_of(
      R"({"zarr_format":3,"node_type":"group","attributes":{"a":1},"consolidated_metadata":null})"));
  REQUIRE(group);
  CHECK(*group->attributes.find("a") == json(1));
  CHECK_FALSE(group->consolidated);
  CHECK(json_input::text_of(to_v3(*group)) ==
        R"({"zarr_format":3,"node_type":"group","attributes":{"a":1}})");
  CHECK(json_input::text_of(to_v3(group_metadata{})) == R"({"zarr_format":3,"node_type":"group"})");

  for (
      const char* text :
      {R"({"zarr_format":3,"node_type":"array"})", R"({"zarr_format":2,"node_type":"group"})",
       R"({"node_type":"group"})", R"({"zarr_format":3})",
       R"({"zarr_format":3,"node_type":"group","x":1})",
       R"({"zarr_format":3,"node_type":"group","attributes":1})",
       R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"other"}})",
       R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline"}})",
       R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","metadata":[]}})",
       R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","metadata":{"a":1}}})",
       R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","metadata":{"../a":{}}}})",
       R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","metadata":{"/a":{}}}})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_group_v3(json_of(text)));
  }
  CHECK(parse_group_v3(json_of(R"({"zarr_format":3,"node_type":"group",
      "consolidated_metadata":{"kind":"other","must_understand":false}})")));
}

TEST_CASE("inline consolidated metadata") {
  group_metadata group;
  group.attributes = json_of(R"({"step":1})");
  group.consolidated =
      consolidated_documents{{"a", to_v3(group_metadata{}).value()}, {"a/w", json_of(valid_text)}};
  const std::string text = json_input::text_of(to_v3(group));
  CHECK(text ==
        R"({"zarr_format":3,"node_type":"group","attributes":{"step":1},"consolidated_metadata":)"
        R"({"kind":"inline","must_understand":false,"metadata":{"a":{"zarr_format":3,)"
        R"("node_type":"group"},"a/w":)" +
            valid_text + "}}}");
  CHECK(parse_group_v3(json_of(text)).value() == group);
  group.consolidated->push_back({"a/../b", json::object{}});
  CHECK(to_v3(group).failure().code == errc::invalid_argument);
  group.consolidated->back().key = "a";
  CHECK(to_v3(group).failure().code == errc::invalid_argument);
}

TEST_CASE("groups that other implementations wrote") {
  const auto tree = parse_group_v3(golden("peers/zarr-python/v3-tree/zarr.json")).value();
  CHECK(*tree.attributes.find("model") == json("demo"));
  REQUIRE(tree.consolidated);
  std::string kinds;
  for (const auto& [path, document] : *tree.consolidated) {
    const bool is_array = detail::parse_node_kind_v3(document).value() == node_kind::array;
    kinds += path + (is_array ? "=array " : "=group ");
    if (is_array) {
      CHECK(parse_array_v3(document));
    } else {
      CHECK(parse_group_v3(document));
    }
  }
  CHECK(kinds == "layer=group w=array layer/b=array ");
  for (const char* name : {"minimal", "with_attributes", "with_extra_field"})
    CHECK(parse_group_v3(golden("zarr-python/v3/group/" + std::string(name) + ".json")));
}

TEST_CASE("arrays that other implementations wrote") {
  struct {
    std::string path;
    std::string spec;
    std::string fill;
  } const table[] = {
      {"tensorstore/v3-bfloat16-sharded", "bfloat16[7, 10]", "0.0"},
      {"tensorstore/v3-bfloat16-zstd-shard-start", "bfloat16[7, 10]", "0.0"},
      {"tensorstore/v3-float8_e4m3fn-sharded", "float8_e4m3fn[7, 10]", "\"0x00\""},
      {"tensorstore/v3-float8_e5m2-sharded", "float8_e5m2[7, 10]", "\"0x00\""},
      {"tensorstore/v3-nested-shard", "float32[16, 16]", "0.0"},
      {"tensorstore/v3-index-plain", "float32[16, 16]", "0.0"},
      {"tensorstore/v3-zero-d", "int64[]", "0"},
      {"tensorstore/v3-zero-d-sharded", "float64[]", "0.0"},
      {"tensorstore/v3-empty", "float32[0, 5]", "0.0"},
      {"tensorstore/v3-dot-keys", "int16[5, 4]", "0"},
      {"tensorstore/v3-v2keys", "int16[5, 4]", "0"},
      {"tensorstore/v3-float64-big", "float64[7, 10]", "0.0"},
      {"tensorstore/v3-int32-transpose-shard", "int32[7, 10]", "0"},
      {"tensorstore/v3-fill-bfloat16-Infinity", "bfloat16[3]", "\"Infinity\""},
      {"tensorstore/v3-fill-bool-True", "bool[3]", "true"},
      {"tensorstore/v3-fill-complex64-NaN1.5", "complex64[3]", "[\"NaN\",1.5]"},
      {"tensorstore/v3-fill-float16-0x7e01", "float16[3]", "\"0x7e01\""},
      {"tensorstore/v3-fill-float32--Infinity", "float32[3]", "\"-Infinity\""},
      {"tensorstore/v3-fill-float32-0x7fc00123", "float32[3]", "\"0x7fc00123\""},
      {"tensorstore/v3-fill-float32-NaN", "float32[3]", "\"NaN\""},
      {"tensorstore/v3-fill-float64-0x7ff8000000000abc", "float64[3]", "\"0x7ff8000000000abc\""},
      {"tensorstore/v3-fill-float8_e4m3fn-NaN", "float8_e4m3fn[3]", "\"0x7f\""},
      {"tensorstore/v3-fill-int64--9223372036854775808", "int64[3]", "-9223372036854775808"},
      {"tensorstore/v3-fill-uint64-18446744073709551615", "uint64[3]", "18446744073709551615"},
      {"zarr-python/v3-strings", "string[7]", "\"\""},
      {"zarr-python/v3-strings-sharded", "string[7]", "\"\""},
      {"zarr-python/v3-numcodecs-delta", "int32[9, 8]", "0"},
      {"zarr-python/v3-bool-plain", "bool[9, 8]", "false"},
      {"zarr-python/v3-complex64-shard-start", "complex64[9, 8]", "[0.0,0.0]"},
      {"tensorstore/v3-int4-sharded", "int4[7, 10]", "0"},
      {"tensorstore/v3-float4_e2m1fn-sharded", "float4_e2m1fn[7, 10]", "\"0x00\""},
      {"tensorstore/v3-float8_e8m0fnu-sharded", "float8_e8m0fnu[7, 10]", "\"0x00\""},
      {"zarr-python/v3-struct", "struct[3]", R"({"id":0,"x":0.0,"tag":"AAAA"})"},
      {"zarr-python/v3-datetime", "numpy.datetime64[3]", "-9223372036854775808"},
      {"zarr-python/v3-timedelta", "numpy.timedelta64[3]", "-9223372036854775808"},
      {"zarr-python/v3-raw", "raw_bytes[3]", "\"AAAAAAAA\""},
      {"zarr-python/v3-U5", "fixed_length_utf32[4]", "\"\""},
  };
  for (const auto& [path, spec, fill] : table) {
    CAPTURE(path);
    const auto array = parse_array_v3(golden("peers/" + path + "/zarr.json"));
    REQUIRE_MESSAGE(array, json_input::error_of(array));
    CHECK(to_string(array->spec()) == spec);
    const json written = to_v3(*array).value();
    CHECK(dump_json(*written.find("fill_value")) == fill);
    CHECK(parse_array_v3(written).value() == *array);
  }
  const auto dotted = parse_array_v3(golden("peers/tensorstore/v3-dot-keys/zarr.json")).value();
  CHECK(dotted.keys.key({1, 0}) == "c.1.0");
  CHECK(*dotted.dimension_names == dimension_names_list{"y", std::nullopt});
}

TEST_CASE("zarr-python's own documents") {
  for (const char* name : {"regular_grid_default_encoding", "regular_grid_v2_encoding",
                           "gzip_codec", "zstd_codec", "blosc_codec", "transpose_and_crc32c_codecs",
                           "sharding_indexed_codec", "with_optionals", "with_extra_field"}) {
    CAPTURE(name);
    const auto array =
        parse_array_v3(golden("zarr-python/v3/array/" + std::string(name) + ".json"));
    REQUIRE_MESSAGE(array, json_input::error_of(array));
    CHECK(parse_array_v3(to_v3(*array).value()).value() == *array);
  }
  for (const char* kind : {"default", "v2"}) {
    const json cases =
        golden("zarr-python/v3/chunk_key_encoding/" + std::string(kind) + "/cases.json");
    for (const auto& [label, value] : *cases.if_object()) {
      CAPTURE(label);
      json document = json_of(valid_text);
      document.set("chunk_key_encoding", value);
      CHECK(parse_array_v3(document));
    }
  }
  CHECK(parse_array_v3(golden("zarr-java/storage_transformer/empty/zarr.json")));
}

TEST_CASE("documents beyond us are refused with the name of what is beyond us") {
  const auto array = parse_array_v3(golden("zarr-java/storage_transformer/exists/zarr.json"));
  REQUIRE_FALSE(array);
  CHECK(array.failure().code == errc::unsupported);
  CHECK(array.failure().message.find("\"chunk-manifest-json\"") != std::string::npos);
}

TEST_CASE("any value in any place: an error, or an array that reads back") {
  json document = golden("zarr-python/v3/array/sharding_indexed_codec.json");
  document.set("attributes", json_of(R"({"a":1})"));
  document.set("dimension_names", json_of(R"(["y","x"])"));
  std::size_t accepted = 0;
  json_input::for_each_damage(document, [&](const json& damaged) {
    const auto array = parse_array_v3(damaged);
    if (!array) {
      if (array.failure().message.empty()) FAIL_CHECK(dump_json(damaged));
      return;
    }
    ++accepted;
    const auto written = to_v3(*array);
    if (!written || parse_array_v3(*written).value() != *array) FAIL_CHECK(dump_json(damaged));
  });
  CHECK(accepted > 0);
  json_input::for_each_damage(
      golden("peers/zarr-python/v3-tree/zarr.json"), [](const json& damaged) {
        const auto group = parse_group_v3(damaged);
        if (group && parse_group_v3(to_v3(*group).value()).value() != *group)
          FAIL_CHECK(dump_json(damaged));
      });
}

}  // namespace metadata_v3_test
