// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/sharing_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sharing_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::counted_publisher;
using values = std::map<std::string, std::vector<float>>;

values model(std::size_t tensors, std::size_t elements) {
  values out;
  for (std::size_t i = 0; i < tensors; ++i) {
    std::vector<float>& w = out["layers/" + std::to_string(i) + "/w"];
    // Some are one chunk, and some a shard of several.
    w.resize(i % 10 == 0 ? 8 * elements : elements);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = static_cast<float>(i * 31 + j % 1009);
  }
  return out;
}

std::vector<leaf> leaves_of(const values& all) {
  std::vector<leaf> out;
  for (const auto& [name, w] : all) out.emplace_back(name, w);
  return out;
}

void check_holds(const location& where, const values& all) {
  const checkpoint opened = open(where).value();
  for (const auto& [name, w] : all) CHECK(opened.load<std::vector<float>>(name).value() == w);
  CHECK(verify(opened).value().result() == verdict::ok);
}

std::uint64_t names_of(const std::string& path) {
  struct ::stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_nlink : 0;
}

TEST_CASE("sharing: a fine-tune that changes 2 % of its tensors writes about 2 %") {
  const test::temp_directory folder;
  const counted_publisher place{file_store::open(folder.path().string()).value()};
  const auto at = [&](const char* step) {
    return location(any_store(place), store_key::parse(step).value());
  };
  values w = model(100, 40'000);
  const auto first = save(at("1"), leaves_of(w), {.sync = false}).value();
  CHECK(first.shared_bytes == 0);
  std::uint64_t changed = 0;
  for (const char* name : {"layers/7/w", "layers/93/w"}) {
    w[name][5] += 1;
    changed += w[name].size() * sizeof(float);
  }
  *place.written = 0;
  const auto second = save(at("2"), leaves_of(w), {.sync = false, .previous = at("1")}).value();
  CHECK(second.warnings.empty());
  CHECK(second.stored_bytes == first.stored_bytes);
  CHECK(second.shared_bytes == second.stored_bytes - changed);
  // The rest is metadata.
  CHECK(*place.written >= changed);
  CHECK(*place.written < second.stored_bytes / 40);
  check_holds(at("2"), w);
  CHECK(names_of(folder / "2/layers/8/w/c.0") == 2);
  CHECK(names_of(folder / "2/layers/7/w/c.0") == 1);
  CHECK(names_of(folder / "2/zarr.json") == 1);
}

TEST_CASE("sharing: what changed is written, wherever it changed and however it is stored") {
  const test::temp_directory folder;
  for (const save_options& how :
       {save_options{}, save_options{.rules = {{.codecs = zstd_codecs()}}},
        save_options{.rules = {{.codecs = blosc_codecs()}}}, save_options{.zarr_format = 2},
        save_options{.rules = {{.chunk_shape = dims{1000}, .shard_shape = dims{100'000}}}},
        save_options{.elide_fill = true}}) {
    const std::string old = folder / "old", now = folder / "new";
    std::vector<float> w(1'000'000);
    for (std::size_t i = 300'000; i < w.size(); ++i) w[i] = static_cast<float>(i % 4099);
    save(old, {{"w", w}, {"same", w}}, how).value();
    for (const std::size_t changed : {std::size_t{0}, std::size_t{500'001}, w.size() - 1}) {
      std::vector<float> other = w;
      other[changed] += 1;
      save_options with = how;
      with.previous = old;
      const auto saved = save(now, {{"w", other}, {"same", w}}, with).value();
      CHECK(saved.warnings.empty());
      CHECK(saved.shared_bytes >= saved.leaves[1].stored_bytes);
      CHECK(saved.shared_bytes < saved.stored_bytes);
      check_holds(now, {{"w", other}, {"same", w}});
      check_holds(old, {{"w", w}, {"same", w}});
      fs::remove_all(now);
    }
    fs::remove_all(old);
  }
}

TEST_CASE("sharing: bytes with the same checksum are not taken for the same") {
  const test::temp_directory folder;
  std::vector<std::uint8_t> w(10'000, 7);
  save(folder / "1", {{"w", w}}).value();
  std::vector<std::uint8_t> other = w;
  // The generator of CRC-32C, as bits of the text: it divides the difference.
  constexpr std::uint64_t generator = 0x11EDC6F41;
  for (unsigned i = 0; i <= 32; ++i)
    other[5000 + i / 8] =
        static_cast<std::uint8_t>(other[5000 + i / 8] ^ ((generator >> (32 - i) & 1) << i % 8));
  REQUIRE(other != w);
  REQUIRE(crc32c(std::as_bytes(std::span(other))) == crc32c(std::as_bytes(std::span(w))));
  const auto saved = save(folder / "2", {{"w", other}}, {.previous = folder / "1"}).value();
  CHECK(saved.shared_bytes == 0);
  CHECK(open(folder / "2").value().load<std::vector<std::uint8_t>>("w").value() == other);
}

TEST_CASE("sharing: nothing that is done to one harms the other") {
  const test::temp_directory folder;
  values w = model(12, 40'000);
  const auto begin = [&] {
    fs::remove_all(folder / "1"), fs::remove_all(folder / "2");
    save(folder / "1", leaves_of(w)).value();
    const auto saved = save(folder / "2", leaves_of(w), {.previous = folder / "1"}).value();
    REQUIRE(saved.shared_bytes == saved.stored_bytes);
  };
  SUBCASE("the first is removed") {
    begin();
    fs::remove_all(folder / "1");
    check_holds(folder / "2", w);
  }
  SUBCASE("the first is overwritten, with the second as the one before") {
    begin();
    values other = w;
    for (auto& [name, values] : other) values[1] += 1;
    save(folder / "1", leaves_of(other), {.previous = folder / "2"}).value();
    check_holds(folder / "1", other);
    check_holds(folder / "2", w);
  }
  SUBCASE("one is its own before") {
    begin();
    values other = w;
    other.begin()->second[3] += 1;
    const auto saved = save(folder / "2", leaves_of(other), {.previous = folder / "2"}).value();
    CHECK(saved.shared_bytes != 0);
    check_holds(folder / "1", w);
    check_holds(folder / "2", other);
  }
  SUBCASE("an array is changed in place, in part and as a whole, or compacted, or resized") {
    begin();
    for (const char* name : {"layers/0/w", "layers/1/w"}) {
      const auto root = file_store::open(folder / "2").value();
      const array part = array::open(root, store_key::parse(name).value()).value();
      const std::vector<float> some(10, -1);
      part.write(box{{20}, {10}}, some).value();
      part.write(box{{20}, {10}}, some).value();
      compact(part).value();
      std::vector<float> there(10);
      resize(part, {100}).value().read(box{{20}, {10}}, there).value();
      CHECK(there == some);
    }
    check_holds(folder / "1", w);
  }
}

TEST_CASE(
    "sharing: a checkpoint before that is not whole, or is none, is told, and all is written") {
  const test::temp_directory folder;
  const values w = model(3, 40'000);
  const auto saved_with = [&](const location& before) {
    fs::remove_all(folder / "2");
    auto saved = save(folder / "2", leaves_of(w), {.previous = before}).value();
    check_holds(folder / "2", w);
    return saved;
  };
  const auto is_told = [&](const save_report& of) {
    return of.shared_bytes == 0 && of.warnings.size() == 1 &&
           of.warnings[0].starts_with("nothing is shared with ");
  };
  CHECK(is_told(saved_with(folder / "missing")));
  fs::create_directory(folder / "empty");
  CHECK(is_told(saved_with(folder / "empty")));
  save(folder / "1", leaves_of(w)).value();
  const std::string object = folder / "1/layers/1/w/c.0";
  const auto all = saved_with(folder / "1").shared_bytes;
  const auto one = w.at("layers/1/w").size() * sizeof(float);
  SUBCASE("an object is cut short") { fs::resize_file(object, one - 1); }
  SUBCASE("an object is gone") { fs::remove(object); }
  SUBCASE("an object is a link to elsewhere") {
    fs::rename(object, folder / "elsewhere");
    fs::create_symlink(folder / "elsewhere", object);
  }
  SUBCASE("an object is a directory") {
    fs::remove(object);
    fs::create_directory(object);
  }
  SUBCASE("an object is damaged") { test::write_file(object, std::string(one, 'x')); }
  SUBCASE("its document is damaged") {
    fs::resize_file(folder / "1/zarr.json", 100);
    CHECK(is_told(saved_with(folder / "1")));
    return;
  }
  const save_report saved = saved_with(folder / "1");
  CHECK(saved.shared_bytes == all - one);
  CHECK(fs::is_regular_file(folder / "2/layers/1/w/c.0"));
}

TEST_CASE("sharing: where the store shares nothing, all is written") {
  const values w = model(12, 40'000);
  const auto save_twice = [&](const any_store& place) {
    const auto at = [&](const char* step) {
      return location(place, store_key::parse(step).value());
    };
    save(at("1"), leaves_of(w)).value();
    const auto saved = save(at("2"), leaves_of(w), {.previous = at("1")}).value();
    CHECK(saved.shared_bytes == 0);
    check_holds(at("2"), w);
    return saved;
  };
  CHECK(save_twice(memory_store()).warnings.empty());
  const test::temp_directory folder;
  counted_publisher place{file_store::open(folder.path().string()).value()};
  place.shares = false;  // as a file system without hard links
  CHECK(save_twice(place).warnings.empty());
  CHECK(save_twice(test::in_place_store()).warnings.empty());
}

}  // namespace sharing_test
