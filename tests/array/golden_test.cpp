// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/array_cases.hpp"
#include "support/load_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace golden_test {

// Arrays that other implementations wrote, read bit for bit.

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;
namespace fs = std::filesystem;

json read_json(const fs::path& path) { return parse_json(read_file(path)).value(); }

context with_all_codecs() {
  context how;
  how.codecs = all_codecs::table();
  return how;
}

/// Code points of four bytes, with zeros up to `size` bytes.
std::string as_utf32(std::string_view text, std::size_t size) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = detail::utf8_sequence(text);
    auto point = static_cast<std::uint32_t>(static_cast<unsigned char>(text[0]));
    if (length > 1) point &= 0x7fU >> length;
    for (const char c : text.substr(1, length - 1))
      point = point << 6 | (static_cast<unsigned char>(c) & 63U);
    out.append(reinterpret_cast<const char*>(&point), sizeof point);
    text.remove_prefix(length);
  }
  out.resize(size);
  return out;
}

/// The elements that stand beside an array, in row-major order.
std::vector<std::string> expected_elements(const fs::path& folder, const std::string& name,
                                           dtype type) {
  std::vector<std::string> out;
  if (type.is_variable() || type.kind() == dtype_kind::fixed_length_utf32) {
    const json document = read_json(folder / (name + ".json"));
    for (const json& text : *document.if_array())
      out.push_back(type.is_variable() ? *text.if_string()
                                       : as_utf32(*text.if_string(), type.size()));
    return out;
  }
  static_assert(native_endian == endian::little, "the files are little-endian");
  const recording_store::bytes bytes = read_file(folder / (name + ".bin"));
  for (std::size_t i = 0; i < bytes.size(); i += type.size())
    out.emplace_back(reinterpret_cast<const char*>(bytes.data()) + i, type.size());
  return out;
}

void compare(const array& opened, const std::vector<std::string>& expected) {
  const dims shape = opened.spec().shape;
  const auto whole = opened.read(box::whole(shape));
  REQUIRE_MESSAGE(whole.has_value(), (whole ? "" : to_string(whole.failure())));
  REQUIRE(elements_of(whole->view()) == expected);
  // Every other element of the second half of each axis.
  selection part(dims(shape.rank(), 0), dims(shape.rank(), 0), dims(shape.rank(), 2));
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    part.offset[d] = shape[d] / 2;
    part.shape[d] = (shape[d] - part.offset[d] + 1) / 2;
  }
  const auto some = opened.read(part);
  REQUIRE_MESSAGE(some.has_value(), (some ? "" : to_string(some.failure())));
  CHECK(elements_of(some->view()) == elements_of(subview(whole->view(), part)));
  const auto mapped = opened.view();
  REQUIRE(mapped.has_value());
  if (*mapped) CHECK(elements_of((*mapped)->elements) == expected);
}

std::size_t read_all(const fs::path& folder) {
  const json index = read_json(folder / "index.json");
  std::size_t count = 0;
  for (const json& entry : *index.find("arrays")->if_array()) {
    const std::string name = *entry.find("case")->if_string();
    CAPTURE(name);
    const auto opened =
        array::open(load_directory(folder / name), store_key::root(), with_all_codecs());
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : to_string(opened.failure())));
    CHECK(to_string(opened->spec().type) == *entry.find("dtype")->if_string());
    compare(*opened, expected_elements(folder, name, opened->spec().type));
    ++count;
  }
  return count;
}

const fs::path golden = ZARRPOINT_TEST_GOLDEN;

TEST_CASE("arrays of tensorstore") { CHECK(read_all(golden / "peers/tensorstore") == 101); }
TEST_CASE("arrays of zarr-python 3") { CHECK(read_all(golden / "peers/zarr-python") == 61); }
TEST_CASE("arrays of zarr-python 2") { CHECK(read_all(golden / "peers/zarr-python-2") == 7); }
TEST_CASE("arrays of zarr-python whose chunks are pcodec's") {
  CHECK(read_all(golden / "pcodec/arrays") == 8);
}
TEST_CASE("arrays of zarrita.js") { CHECK(read_all(golden / "zarrita") == 26); }

/// The names of codecs, data types and grids in a metadata document, wherever they stand.
void collect_names(const json& value, std::set<std::string>& names) {
  if (const auto* list = value.if_array()) {
    for (const json& one : *list) collect_names(one, names);
  } else if (const auto* members = value.if_object()) {
    for (const auto& [key, member] : *members) {
      const std::string* text = member.if_string();
      const bool names_one = key == "name" || key == "id" || key == "data_type" || key == "dtype";
      if (text != nullptr && names_one) names.insert(*text);
      collect_names(member, names);
    }
  }
}

/// Reads an array, or sees that it is refused for a reason that its metadata show; whether read.
bool read_or_refuse(const fs::path& folder, const std::string& name, bool has_values) {
  CAPTURE(folder.string());
  CAPTURE(name);
  const recording_store store = load_directory(folder / name);
  auto opened = array::open(store, store_key::root(), with_all_codecs());
  if (opened) {
    const dtype type = opened->spec().type;
    if (has_values) {
      compare(*opened, expected_elements(folder, name, type));
    } else if (const auto read = opened->read(box::whole(opened->spec().shape)); !read) {
      FAIL_CHECK(to_string(read.failure()));
    }
    return true;
  }
  const error failure = opened.failure();
  CAPTURE(to_string(failure));
  CHECK(failure.code == errc::unsupported);
  std::set<std::string> names;
  const bool is_v3 = store.has("zarr.json");
  collect_names(parse_json(store.at(is_v3 ? "zarr.json" : ".zarray")).value(), names);
  names.insert("dtype");  // of v2: where it is not a name but a structure
  bool named = false;
  for (const std::string& one : names)
    named = named || failure.message.find(one) != std::string::npos;
  CHECK_MESSAGE(named, "the message names what is not supported");
  return false;
}

TEST_CASE("every array of the peers is read, or refused by name") {
  const char* const root = std::getenv("ZARRPOINT_FIXTURES");
  if (root == nullptr) {
    MESSAGE("skipped: ZARRPOINT_FIXTURES does not name the folder of all fixtures");
    return;
  }
  std::size_t read = 0;
  std::size_t refused = 0;
  for (const char* const peer : {"tensorstore", "zarr-python", "zarr-python-2"}) {
    const fs::path folder = fs::path(root) / "peers" / peer;
    const json index = read_json(folder / "index.json");
    for (const json& entry : *index.find("arrays")->if_array()) {
      if (*entry.find("kind")->if_string() == "zip") continue;
      const std::string& name = *entry.find("case")->if_string();
      // The file beside it has the byte order of each field, which is not that of memory.
      const bool has_values = name != "v2-nested-struct";
      ++(read_or_refuse(folder, name, has_values) ? read : refused);
    }
  }
  CHECK(read >= 250);
  MESSAGE("of the peers' arrays " << read << " were read, " << refused << " refused by name");
}

TEST_CASE("every other array of the fixtures is read, or refused by name") {
  const char* const root = std::getenv("ZARRPOINT_FIXTURES");
  if (root == nullptr) {
    MESSAGE("skipped: ZARRPOINT_FIXTURES does not name the folder of all fixtures");
    return;
  }
  std::size_t read = 0;
  std::size_t refused = 0;
  for (const char* const from : {"zarrita", "zarr-java", "orbax-aggregate-some"}) {
    const fs::path folder = fs::path(root) / from;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const fs::path file = entry.path().filename();
      if (file != ".zarray" && file != "zarr.json") continue;
      if (file == "zarr.json" && *read_json(entry.path()).find("node_type")->if_string() != "array")
        continue;
      if (entry.path().parent_path().filename() == "exists") continue;  // a storage transformer
      const std::string name = entry.path().parent_path().lexically_relative(folder).string();
      ++(read_or_refuse(folder, name, false) ? read : refused);
    }
  }
  CHECK(read >= 30);
  MESSAGE("of the other arrays " << read << " were read, " << refused << " refused by name");
}

}  // namespace

}  // namespace golden_test
