// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Checkpoints in a single file, ours and other people's.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/zip_inflate.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "../support/array_cases.hpp"
#include "../support/temp_directory.hpp"
#include "../support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace zip_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

const fs::path golden = ZARRPOINT_TEST_GOLDEN;

std::vector<float> ramp(std::size_t n) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), 0.0F);
  return out;
}

context inflating() {
  context how;
  how.codecs = zarrpoint_test::all_codecs::table();
  how.stores = default_stores::with<zip_inflate_scheme>::table();
  return how;
}

/// The files beneath `folder` as an archive, stored or deflated.
std::string zipped(const fs::path& folder, bool deflated) {
  std::vector<test::zip_part> parts;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    test::zip_part part{fs::relative(file.path(), folder).string(), test::read_file(file.path())};
    if (deflated) {
      // A zlib stream is a deflated one between two bytes and four.
      uLongf size = compressBound(part.data.size());
      std::string packed(size, '\0');
      compress(reinterpret_cast<Bytef*>(packed.data()), &size,
               reinterpret_cast<const Bytef*>(part.data.data()), part.data.size());
      part.crc = detail::crc32(0, as_bytes(std::string_view(part.data)));
      part.method = 8;
      part.size = part.data.size();
      part.data = packed.substr(2, size - 6);
    }
    parts.push_back(std::move(part));
  }
  return test::zip_of(parts);
}

std::size_t entry_count(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

}  // namespace

TEST_CASE("zip: a path that ends with .zip is saved as one file, and opened again") {
  const test::temp_directory dir;
  const std::vector<float> w = ramp(300'000);
  const std::vector<std::int16_t> b{1, 2, 3};
  for (const int format : {2, 3}) {
    for (const bool sync : {true, false}) {
      const std::string path = dir / "model.zarr.zip";
      const save_options options{.zarr_format = format,
                                 .rules = {{.glob = "layers/1/**", .codecs = zstd_codecs()}},
                                 .sync = sync};
      const auto report = save(path,
                               {{"layers/0/w", w},
                                {"layers/0/b", b},
                                {"layers/1/w", w},
                                {"step", 1200},
                                {"note", "warm start"}},
                               options)
                              .value();
      CHECK(report.warnings.empty());
      CHECK(fs::is_regular_file(path));
      CHECK(entry_count(dir.path()) == 1);
      for (const std::string& where : {path, "zip://" + path, "file://" + path}) {
        const auto opened = open(where).value();
        CHECK(opened.size() == 5);
        CHECK(opened.load<std::vector<float>>("layers/0/w").value() == w);
        CHECK(opened.load<std::vector<float>>("layers/1/w").value() == w);
        CHECK(opened.load<std::vector<std::int16_t>>("layers/0/b").value() == b);
        CHECK(opened.load<int>("step").value() == 1200);
        CHECK(opened.load<std::string>("note").value() == "warm start");
      }
    }
  }
}

TEST_CASE("zip: raw tensors are mapped where they lie in the file") {
  const test::temp_directory dir;
  const std::vector<float> w = ramp(300'000);
  const std::vector<double> small{1, 2, 3};
  save(dir / "m.zip", {{"w", w}, {"small", small}}).value();
  const auto opened = open(dir / "m.zip").value();
  const auto view = opened.view<float>("w", true).value();
  CHECK(view.is_zero_copy());
  CHECK(std::equal(w.begin(), w.end(), view.data()));
  CHECK(reinterpret_cast<std::uintptr_t>(view.data()) % 4096 == 0);
  const auto other = opened.view<double>("small", true).value();
  CHECK(other.is_zero_copy());
  CHECK(reinterpret_cast<std::uintptr_t>(other.data()) % 64 == 0);
  CHECK(std::equal(small.begin(), small.end(), other.data()));
}

TEST_CASE(
    "zip: the old file stays until the new one is whole, and what is not ours stays for good") {
  const test::temp_directory dir;
  const std::string path = dir / "m.zip";
  save(path, {{"a", 1}}).value();
  const std::string before = test::read_file(path);
  CHECK(save(path, {{"a", 2}}, {.overwrite = false}).failure().code == errc::already_exists);
  CHECK_FALSE(save(path, {{"a", 2}, {"a", 3}}));
  // Fails while it is written: a budget that is too small.
  context tight;
  tight.stop = [] {
    stop_source source;
    source.request_stop();
    return source.token();
  }();
  CHECK_FALSE(save(path, {{"a", ramp(100'000)}}, {}, tight));
  CHECK(test::read_file(path) == before);
  CHECK(entry_count(dir.path()) == 1);
  save(path, {{"a", 2}}).value();
  CHECK(open(path).value().load<int>("a").value() == 2);

  for (const std::string& other : {std::string("no zip file"), before.substr(0, 100)}) {
    test::write_file(path, other);
    CHECK_FALSE(save(path, {{"a", 2}}));
    CHECK(test::read_file(path) == other);
    CHECK(open(path).failure().code == errc::corrupt);
  }
  // A zip file of something else.
  fs::copy_file(golden / "zip/zarr-python-v3.zip", path, fs::copy_options::overwrite_existing);
  CHECK(save(path, {{"a", 2}}).failure().code == errc::already_exists);
  CHECK(test::read_file(path) == test::read_file(golden / "zip/zarr-python-v3.zip"));
}

TEST_CASE("zip: of several hierarchies in a file each is opened by its path") {
  const test::temp_directory dir;
  const std::vector<float> w = ramp(1000);
  fs::create_directories(dir / "in/deep");
  save(dir / "in/old", {{"w", w}}, {.zarr_format = 2}).value();
  save(dir / "in/new", {{"layers/w", w}}).value();
  save(dir / "in/deep/er.zarr", {{"n", 7}}).value();
  for (const bool deflated : {false, true}) {
    const std::string path = dir / (deflated ? "deflated.zip" : "stored.zip");
    test::write_file(path, zipped(dir / "in", deflated));
    const context how = inflating();
    for (const std::string& where : {path, path + "/", "zip://" + path, "file://" + path}) {
      CAPTURE(where);
      CHECK(open(where + "/old", how).value().load<std::vector<float>>("w").value() == w);
      CHECK(open(where + "/new/", how).value().load<std::vector<float>>("layers/w").value() == w);
      CHECK(open(where + "/deep/er.zarr", how).value().load<int>("n").value() == 7);
      // A node of a hierarchy, too: an array has no name of its own then.
      CHECK(open(where + "/new/layers/w", how).value().load<std::vector<float>>("").value() == w);
      const auto whole = open(where, how);
      REQUIRE_FALSE(whole);
      CHECK(whole.failure().code == errc::not_found);
      CHECK(whole.failure().message ==
            "open " + where + ": " + path +
                " is not a Zarr hierarchy: it has no zarr.json, .zgroup or .zarray; beneath it are "
                "\"new\", \"old\", \"deep/er.zarr\": open one of them, as \"" +
                where + (where.ends_with('/') ? "" : "/") + "new\"");
      CHECK(open(where + "/none", how).failure().code == errc::not_found);
      CHECK(open(where + "/deep", how)
                .failure()
                .message.ends_with("; open \"" + where + "/deep/er.zarr\", which lies beneath it"));
      for (const char* outside : {"/../in/old", "/new/../old", "/./new", "/new//layers"})
        CHECK(open(where + outside, how).failure().code == errc::invalid_argument);
    }
  }
  const auto into = save(dir / "stored.zip/new", {{"w", w}});
  REQUIRE_FALSE(into);
  CHECK(into.failure().message.find("a zip file, which is written whole") != std::string::npos);
  // A file that is not a zip file holds nothing.
  test::write_file(dir / "text", "text");
  CHECK_FALSE(open(dir / "text/a"));
}

TEST_CASE("zip: a damaged file is an error, never other values") {
  const test::temp_directory dir;
  const std::vector<float> w = ramp(3000);
  save(dir / "m.zip", {{"w", w}}).value();
  const std::string good = test::read_file(dir / "m.zip");
  std::size_t refused = 0;
  for (std::size_t at = 0; at < good.size(); at += 37) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    test::write_file(dir / "bad.zip", bad);
    const auto opened = open(dir / "bad.zip");
    if (!opened) {
      ++refused;
      continue;
    }
    const auto loaded = opened->load<std::vector<float>>("w");
    if (!loaded) {
      ++refused;
    } else {
      CHECK(*loaded == w);
    }
  }
  CHECK(refused > good.size() / 37 / 2);
}

TEST_CASE("zip: files that zarr-python wrote") {
  for (const std::string version : {"v2", "v3"}) {
    const auto opened =
        open((golden / "zip" / ("zarr-python-" + version + ".zip")).string(), inflating()).value();
    REQUIRE(opened.names() == std::vector<std::string>{"w"});
    const auto w = opened.load<tensor>("w");
    if (version == "v2" && inflating().codecs.find("blosc") == nullptr) {
      CHECK(w.failure().code == errc::unsupported);
      continue;
    }
    const std::string expected =
        test::read_file(golden / "zip" / ("zarr-python-" + version + ".bin"));
    REQUIRE(w);
    REQUIRE(byte_count(w->spec()).value() == expected.size());
    CHECK(std::memcmp(w->view().data, expected.data(), expected.size()) == 0);
  }
}

TEST_CASE("zip: files that a zip program made, deflated and with the directory above") {
  const json index = parse_json(as_bytes(test::read_file(golden / "zarrita/index.json"))).value();
  std::size_t compared = 0;
  for (const auto& [archive, version] : {std::pair{"zarrita-v2-from-parent.zip", "v2/"},
                                         std::pair{"zarrita-v3-from-within.zip", "v3/"},
                                         std::pair{"zarrita-v3-stored.zip", "v3/"}}) {
    const auto opened = open((golden / "zip" / archive).string(), inflating()).value();
    for (const json& one : *index.find("arrays")->if_array()) {
      const std::string name = *one.find("case")->if_string();
      const fs::path expected = golden / "zarrita" / (name + ".bin");
      if (!name.starts_with(version) || !opened.contains(name.substr(3)) || !fs::exists(expected))
        continue;
      INFO(archive, " ", name);
      const auto loaded = opened.load<tensor>(name.substr(3));
      REQUIRE(loaded);
      const std::string bytes = test::read_file(expected);
      REQUIRE(byte_count(loaded->spec()).value() == bytes.size());
      CHECK(std::memcmp(loaded->view().data, bytes.data(), bytes.size()) == 0);
      ++compared;
    }
  }
  CHECK(compared > 30);
  const auto without = open((golden / "zip/zarrita-v2-from-parent.zip").string());
  REQUIRE_FALSE(without);
  CHECK(without.failure().code == errc::unsupported);
  CHECK(without.failure().message.find("zip_inflate.hpp") != std::string::npos);
}

TEST_CASE(
    "zip: a writer that is killed leaves the file that was there, and nothing that is listed") {
  const test::temp_directory dir;
  const std::string path = dir / "m.zip";
  const std::vector<float> w = ramp(200'000);
  save(path, {{"w", w}, {"n", 0}}).value();
  for (int round = 1; round <= 8; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int n = 1;; ++n)
        if (!save(path, {{"w", w}, {"n", n}}, {.sync = false}, context{})) ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    const auto opened = open(path);
    REQUIRE(opened);
    CHECK(opened->load<std::vector<float>>("w").value() == w);
    CHECK(opened->load<int>("n").value() >= 0);
  }
  const auto files = file_store::open(dir.path().string()).value();
  CHECK(files.list(store_key::root()).value() == std::vector<list_entry>{{"m.zip", false}});
}

}  // namespace zip_test
