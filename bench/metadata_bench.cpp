// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What metadata cost that somebody made to cost much: processor milliseconds of one thread for each
// MiB of a document until it is answered or refused: by `open`, by `group::open`, by `as_array` of
// every array, and by `verify`, where nothing is stored; and by the readers of other formats, of
// metadata_doors.hpp, with what they give freed. Usage: metadata_bench [KIBIBYTES [CASE]]

#include <zarrpoint/codecs.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "metadata_doors.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// `head`, as many of `one(i)` with commas between as there is room for, `tail`.
std::string filled(std::size_t bytes, const std::string& head,
                   const std::function<std::string(std::size_t)>& one, const std::string& tail) {
  std::string out = head;
  for (std::size_t i = 0;; ++i) {
    const std::string next = one(i);
    if (out.size() + next.size() + tail.size() + 1 > bytes) break;
    if (i != 0) out += ',';
    out += next;
  }
  return out + tail;
}

std::string repeated(std::size_t count, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

constexpr const char* little = R"({"name":"bytes","configuration":{"endian":"little"}})";

struct array_parts {
  std::string shape = "[8]";
  std::string type = R"("int32")";
  std::string grid = R"({"name":"regular","configuration":{"chunk_shape":[8]}})";
  std::string keys = R"({"name":"default"})";
  std::string fill = "0";
  std::string codecs = std::string("[") + little + "]";
  std::string more{};
};

std::string array_of(const array_parts& with) {
  return R"({"zarr_format":3,"node_type":"array","shape":)" + with.shape + R"(,"data_type":)" +
         with.type + R"(,"chunk_grid":)" + with.grid + R"(,"chunk_key_encoding":)" + with.keys +
         R"(,"fill_value":)" + with.fill + R"(,"codecs":)" + with.codecs + with.more + "}";
}

/// One member of an array's document that takes all the room.
std::string large(std::size_t bytes, std::string array_parts::*member, const std::string& head,
                  const std::function<std::string(std::size_t)>& one, const std::string& tail,
                  array_parts with = {}) {
  with.*member = "";
  const std::size_t rest = array_of(with).size();
  with.*member = filled(bytes - rest, head, one, tail);
  return array_of(with);
}

struct one_case {
  std::string name;
  std::string key;
  std::string text;
  std::vector<std::pair<std::string, std::string>> beside{};
};

std::string number(std::size_t i) { return std::to_string(i); }

std::vector<one_case> all_cases(std::size_t bytes) {
  std::vector<one_case> out;
  const auto v3 = [&](std::string name, std::string text) {
    out.push_back({std::move(name), "zarr.json", std::move(text)});
  };
  const auto v2 = [&](std::string name, std::string text) {
    out.push_back({std::move(name), ".zarray", std::move(text)});
  };
  using parts = array_parts;
  const auto constant = [](std::string text) { return [text](std::size_t) { return text; }; };
  // JSON itself.
  v3("numbers", filled(bytes, "[", number, "]"));
  v3("empty lists", filled(bytes, "[", constant("[]"), "]"));
  v3("empty objects", filled(bytes, "[", constant("{}"), "]"));
  v3("doubles", filled(
                    bytes, "[", [](std::size_t i) { return number(i) + ".5e-7"; }, "]"));
  v3("texts", filled(bytes, "[", constant("\"\""), "]"));
  v3("escapes", filled(bytes, "[", constant(R"("\ud83d\ude00")"), "]"));
  v3("one text", "\"" + std::string(bytes - 2, 'x') + "\"");
  v3("one number", "1" + std::string(bytes - 1, '7'));
  v3("one double", "0." + std::string(bytes - 2, '7'));
  v3("lines", std::string(bytes, '\n'));
  v3("open lists", std::string(bytes, '['));
  v3("open objects", repeated(bytes / 5, R"({"a":)"));
  v3("keys", filled(
                 bytes, "{", [](std::size_t i) { return "\"" + number(i) + "\":0"; }, "}"));
  v3("the same key", filled(bytes, "{", constant("\"a\":0"), "}"));
  v3("long keys alike",
     filled(
         bytes, "{",
         [](std::size_t i) { return "\"" + std::string(1000, 'a') + number(i) + "\":0"; }, "}"));
  // Lists of an array.
  v3("shape", large(bytes, &parts::shape, "[", constant("1"), "]"));
  v3("chunk shape",
     large(bytes, &parts::grid, R"({"name":"regular","configuration":{"chunk_shape":[)",
           constant("1"), "]}}"));
  v3("grid edges",
     large(bytes, &parts::grid,
           R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[)",
           [](std::size_t i) { return i % 2 == 0 ? "1" : "2"; }, "]]}}", {.shape = "[9]"}));
  v3("grid runs",
     large(bytes, &parts::grid,
           R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[)",
           [](std::size_t i) { return i % 2 == 0 ? "[1,2]" : "[2,2]"; }, "]]}}", {.shape = "[9]"}));
  v3("codec names", large(bytes, &parts::codecs, "[", constant("\"crc32c\""), "]"));
  v3("codecs", large(bytes, &parts::codecs, "[", constant(little), "]"));
  v3("skipped codecs",
     large(bytes, &parts::codecs, "[", constant(R"({"name":"x","must_understand":false})"), "]"));
  v3("attributes", large(
                       bytes, &parts::more, R"(,"attributes":{)",
                       [](std::size_t i) { return "\"" + number(i) + "\":" + number(i); }, "}"));
  v3("deep attributes",
     array_of({.more = R"(,"attributes":{"a":)" + repeated(50, R"({"a":)") +
                       filled(bytes - 900, "[", number, "]") + repeated(50, "}") + "}"}));
  v3("dimension names",
     large(bytes, &parts::more, R"(,"dimension_names":[)", constant("\"x\""), "]"));
  v3("storage transformers", large(bytes, &parts::more, R"(,"storage_transformers":[)",
                                   constant(R"({"name":"x","must_understand":false})"), "]"));
  v3("unknown members",
     large(
         bytes, &parts::more, ",",
         [](std::size_t i) { return "\"x" + number(i) + R"(":{"must_understand":false})"; }, ""));
  v3("fields", large(bytes, &parts::type, R"({"name":"struct","configuration":{"fields":[)",
                     [](std::size_t i) { return "[\"" + number(i) + "\",\"int8\"]"; }, "]}}",
                     {.fill = "null"}));
  v3("fields with fill",
     large(bytes, &parts::type, R"({"name":"struct","configuration":{"fields":[)",
           [](std::size_t i) { return "[\"" + number(i) + "\",\"int8\"]"; }, "]}}",
           {.fill = "{}"}));
  {
    std::string nested = R"("int8")";
    for (int i = 0; i < 12; ++i)
      nested = R"({"name":"struct","configuration":{"fields":[["a",)" + nested + R"(],["b",)" +
               nested + R"(]]}})";
    if (nested.size() < bytes) v3("fields of fields", array_of({.type = nested, .fill = "null"}));
  }
  v3("text fill",
     large(bytes, &parts::fill, "\"", constant("xxxxxxx"), "\"", {.type = R"("string")"}));
  v3("bytes fill",
     large(bytes, &parts::fill, "[", constant("255"), "]",
           {.type = R"({"name":"raw_bytes","configuration":{"length_bytes":300000}})"}));
  v3("base64 fill", large(bytes, &parts::fill, "\"", constant("AAA"), "\"",
                          {.type = R"("variable_length_bytes")"}));
  // Codecs' configurations.
  const auto configured = [&](std::string name, const std::string& head,
                              const std::function<std::string(std::size_t)>& one,
                              const std::string& tail, parts with = {}) {
    v3(name, large(bytes, &parts::codecs, "[" + head, one, tail + "," + little + "]", with));
  };
  configured("transpose", R"({"name":"transpose","configuration":{"order":[)", number, "]}}");
  configured("reshape", R"({"name":"reshape","configuration":{"shape":[)", constant("1"), "]}}");
  configured("reshape lists", R"({"name":"reshape","configuration":{"shape":[[)", constant("0"),
             "]]}}");
  configured(
      "cast scalars",
      R"({"name":"cast_value","configuration":{"data_type":"int8","scalar_map":{"encode":[)",
      [](std::size_t i) { return "[" + number(i) + ",1]"; }, "]}}}");
  configured(
      "categories",
      R"({"name":"numcodecs.categorize","configuration":{"dtype":"|O","astype":"|u1","labels":[)",
      [](std::size_t i) { return "\"" + number(i) + "\""; }, "]}}",
      {.type = R"("string")", .fill = "\"\""});
  configured("unknown codec", R"({"name":"x","configuration":{"a":[)", number, "]}}");
  configured("skipped codec", R"({"name":"x","must_understand":false,"configuration":{"a":[)",
             number, "]}}");
  v3("lzma filters",
     large(bytes, &parts::codecs,
           std::string("[") + little + R"(,{"name":"numcodecs.lzma","configuration":{"filters":[)",
           constant(R"({"id":3,"dist":1})"), "]}}]"));
  for (const int depth : {4, 14}) {
    std::string head = "[", tail;
    const std::string index = R"(],"index_codecs":["bytes"]}})";
    for (int i = 0; i < depth; ++i) {
      head += R"({"name":"sharding_indexed","configuration":{"chunk_shape":[8],"codecs":[)";
      tail += index;
    }
    v3("shards within shards, " + std::to_string(depth),
       large(bytes, &parts::codecs,
             head + little + R"(,{"name":"x","must_understand":false,"configuration":{"a":[)",
             number, "]}}" + tail + "]"));
    v3("shards with many codecs, " + std::to_string(depth),
       large(bytes, &parts::codecs, head, constant(little), tail + "]"));
  }
  v3("many shards",
     large(bytes, &parts::codecs, "[",
           constant(
               std::string(
                   R"({"name":"sharding_indexed","configuration":{"chunk_shape":[8],"codecs":[)") +
               little + R"(],"index_codecs":["bytes"]}})"),
           "]"));
  v3("many index codecs",
     large(bytes, &parts::codecs,
           std::string(
               R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[8],"codecs":[)") +
               little + R"(],"index_codecs":[)",
           constant("\"crc32c\""), "]}}]"));
  // Hierarchies.
  const auto member = [](const std::string& path, const std::string& text) {
    return "\"" + path + "\":" + text;
  };
  const std::string group = R"({"zarr_format":3,"node_type":"group"})";
  const std::string head =
      R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)";
  v3("arrays",
     filled(
         bytes, head, [&](std::size_t i) { return member(number(i), array_of({})); }, "}}}"));
  v3("groups", filled(
                   bytes, head, [&](std::size_t i) { return member(number(i), group); }, "}}}"));
  v3("groups within",
     filled(
         bytes, head,
         [&](std::size_t i) { return member(repeated(i % 400, "a/") + number(i), group); }, "}}}"));
  v3("long paths",
     filled(
         bytes, head,
         [&](std::size_t i) { return member(repeated(100000, "a/") + number(i), group); }, "}}}"));
  v3("arrays at long paths",
     filled(
         bytes, head,
         [&](std::size_t i) { return member(repeated(400, "a/") + number(i), array_of({})); },
         "}}}"));
  v3("arrays within arrays", filled(
                                 bytes, head,
                                 [&](std::size_t i) {
                                   return member("a" + repeated(i % 300, "/a") + number(i),
                                                 array_of({}));
                                 },
                                 "}}}"));
  const std::string other_root = R"({"zarr_format":3,"node_type":"group","attributes":{)";
  v3("group attributes",
     filled(
         bytes, other_root, [](std::size_t i) { return "\"" + number(i) + "\":{}"; }, "}}"));
  v3("strange commits",
     filled(
         bytes, other_root,
         [](std::size_t i) { return "\"x" + number(i) + R"(":{"format":1,"writer":"","id":""})"; },
         "}}"));
  v3("commit leaves",
     filled(bytes, other_root + R"("zarrpoint":{"format":1,"writer":"w","id":"i","leaves":[)",
            constant(R"({"name":"a"})"), R"(],"groups":[],"crc32c":"00000000"}}})"));
  // v2.
  const std::string zarray =
      R"({"zarr_format":2,"shape":[8],"chunks":[8],"dtype":"<i4","compressor":null,"fill_value":0,"order":"C","filters":)";
  v2("v2 filters", filled(bytes, zarray + "[", constant(R"({"id":"delta","dtype":"<i4"})"), "]}"));
  v2("v2 unknown filters", filled(bytes, zarray + "[", constant(R"({"id":"x"})"), "]}"));
  const std::string fields =
      R"({"zarr_format":2,"shape":[8],"chunks":[8],"compressor":null,"fill_value":null,"order":"C","filters":null,"dtype":[)";
  v2("v2 fields",
     filled(
         bytes, fields, [](std::size_t i) { return "[\"" + number(i) + "\",\"<i4\"]"; }, "]}"));
  v2("v2 field shape", filled(bytes, fields + R"(["a","<i4",[)", constant("1"), "]]]}"));
  out.push_back({"v2 attributes",
                 ".zattrs",
                 filled(
                     bytes, "{", [](std::size_t i) { return "\"" + number(i) + "\":0"; }, "}"),
                 {{".zgroup", R"({"zarr_format":2})"}}});
  out.push_back(
      {"v2 consolidated",
       ".zmetadata",
       filled(
           bytes, R"({"zarr_consolidated_format":1,"metadata":{)",
           [&](std::size_t i) { return member(number(i) + "/.zarray", zarray + "null}"); }, "}}"),
       {{".zgroup", R"({"zarr_format":2})"}}});
  out.push_back({"v2 consolidated groups",
                 ".zmetadata",
                 filled(
                     bytes, R"({"zarr_consolidated_format":1,"metadata":{)",
                     [&](std::size_t i) {
                       return member(repeated(i % 400, "a/") + number(i) + "/.zgroup",
                                     R"({"zarr_format":2})");
                     },
                     "}}"),
                 {{".zgroup", R"({"zarr_format":2})"}}});
  return out;
}

/// What the call says; the code of its error.
template <class T>
std::string said(const zp::result<T>& of) {
  return of ? "ok" : std::string(zp::to_string(of.failure().code));
}

struct cost {
  double open = 1e9, group = 1e9, arrays = 1e9, verify = 1e9;
  std::string verdict;
};

cost measure(const one_case& of) {
  zp::memory_store store;
  const auto put = [&](const std::string& key, const std::string& text) {
    store.put(zp::store_key::parse(key).value(), zp::as_bytes(std::string_view(text))).value();
  };
  put(of.key, of.text);
  for (const auto& [key, text] : of.beside) put(key, text);
  zp::context how;
  how.codecs = zp::numcodecs_codecs::table();
  cost out;
  for (int round = 0; round < 3; ++round) {
    double begin = processor_ms();
    const auto opened = zp::open(store, how);
    out.open = std::min(out.open, processor_ms() - begin);
    out.verdict = said(opened);
    begin = processor_ms();
    const auto group =
        zp::group::open(store, zp::store_key::root(), how, zp::metadata_use::consolidated);
    out.verdict += " " + said(group);
    out.group = std::min(out.group, processor_ms() - begin);
    begin = processor_ms();
    std::size_t good = 0;
    if (opened) {
      for (const std::string& name : opened->names())
        if (opened->as_array(name)) ++good;
    }
    out.arrays = std::min(out.arrays, processor_ms() - begin);
    begin = processor_ms();
    if (opened) out.verdict += " " + std::to_string(good) + " " + said(zp::verify(*opened));
    out.verify = std::min(out.verify, processor_ms() - begin);
  }
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t kib = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1024;
  const std::string only = count > 2 ? arguments[2] : "";
  double worst = 0;
  std::printf("%-32s %8s %10s %10s %10s %10s   ms per MiB; %zu KiB\n", "case", "KiB", "open",
              "group", "arrays", "verify", kib);
  for (const one_case& of : all_cases(kib << 10)) {
    if (!only.empty() && of.name != only) continue;
    const double mib = static_cast<double>(of.text.size()) / 0x1p20;
    const cost is = measure(of);
    const double most = std::max({is.open, is.group, is.arrays, is.verify}) / mib;
    worst = std::max(worst, most);
    std::printf("%-32s %8.0f %10.2f %10.2f %10.2f %10.2f %s  %s\n", of.name.c_str(), 1024 * mib,
                is.open / mib, is.group / mib, is.arrays / mib, is.verify / mib,
                most > 20 ? "!" : " ", is.verdict.c_str());
    std::fflush(stdout);
  }
  std::printf("%-40s %8s %10s %10s   ms, and ms per MiB\n", "door", "KiB", "ms", "per MiB");
  for (const doors::door_case& of : doors::door_cases(kib << 10)) {
    if (!only.empty() && of.name != only) continue;
    double least = 1e9;
    std::string verdict;
    for (int round = 0; round < 3; ++round) {
      const double begin = processor_ms();
      verdict = of.read(of.text);
      least = std::min(least, processor_ms() - begin);
    }
    const double mib = static_cast<double>(of.text.size()) / 0x1p20;
    const double most = least / std::max(mib, static_cast<double>(kib) / 1024);
    worst = std::max(worst, most);
    std::printf("%-40s %8.0f %10.2f %10.2f %s  %s\n", of.name.c_str(), 1024 * mib, least,
                least / mib, most > 20 ? "!" : " ", verdict.c_str());
    std::fflush(stdout);
  }
  std::printf("the most is %.1f ms per MiB\n", worst);
}
