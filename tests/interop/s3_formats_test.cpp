// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Files of each format in a bucket: what `zp::open("s3://bucket/x")` makes of them.

#include <zarrpoint/cache.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_s3.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace s3_formats_test {

namespace zp = zarrpoint;

namespace {

struct access {
  static inline test::fake_s3 bucket{};
  static inline std::optional<zp::read_cache> cache{};
  static zp::any_transport transport() { return bucket; }
  static zp::s3_options s3() {
    auto how = test::fake_s3_options(bucket);
    if (cache) how.cache = *cache;
    return how;
  }
};
using scheme = zp::s3_scheme_by<access>;

/// The files of a directory, or a file, at a key of the bucket.
void put(const std::filesystem::path& from, const std::string& at) {
  const auto one = [](const std::string& key, const std::filesystem::path& path) {
    const std::string bytes = test::read_file(path);
    const std::string etag =
        '"' + std::to_string(zp::crc32c(std::as_bytes(std::span(bytes)))) + '"';
    access::bucket->objects[key] = {bytes, etag, access::bucket->now};
  };
  if (std::filesystem::is_regular_file(from)) return one(at, from);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from))
    if (entry.is_regular_file())
      one(at + '/' + entry.path().lexically_relative(from).generic_string(), entry.path());
}

std::vector<float> values() {
  std::vector<float> out(300'000);
  std::iota(out.begin(), out.end(), 0.5F);
  return out;
}

}  // namespace

TEST_CASE("s3: a zip file, and a directory in one") {
  const test::temp_directory made;
  zp::save(made / "x.zip", {{"w", values()}, {"opt/b", 7.0F}}).value();
  put(made / "x.zip", "deep/x.zip");
  put(made / "x.zip", "top.zip");
  for (const auto& stores : {zp::formats<scheme>(), zp::all_formats<scheme>()}) {
    for (const char* url :
         {"s3://bucket/deep/x.zip", "s3://bucket/top.zip", "s3://bucket/top.zip/"}) {
      CAPTURE(url);
      const auto opened = zp::open(url, {.stores = stores});
      INFO((opened ? "" : opened.failure().message));
      REQUIRE(opened.has_value());
      CHECK(opened->load<std::vector<float>>("w").value() == values());
      CHECK(opened->load<float>("opt/b").value() == 7);
    }
    CHECK(zp::open("s3://bucket/deep/x.zip/opt", {.stores = stores}).has_value());
    CHECK_FALSE(zp::open("s3://bucket/deep/x.zip/none", {.stores = stores}).has_value());
    CHECK_FALSE(zp::open("s3://bucket/deep/x.zip/../x", {.stores = stores}).has_value());
    CHECK_FALSE(zp::open("s3://bucket/none.zip", {.stores = stores}).has_value());
    const auto saved = zp::save("s3://bucket/new.zip", {{"b", 1.0F}}, {}, {.stores = stores});
    REQUIRE_FALSE(saved.has_value());
    CHECK(saved.failure().code == zp::errc::unsupported);
  }
  // A prefix with such a name is one still.
  put(made / "x.zip", "plain.zip/file");
  zp::save(made / "tree", {{"b", 3.0F}}).value();
  put(made / "tree", "tree.zip");
  CHECK(zp::open("s3://bucket/tree.zip", {.stores = zp::formats<scheme>()})
            ->load<float>("b")
            .value() == 3);
}

TEST_CASE("s3: damaged zip files have names") {
  const test::temp_directory made;
  zp::save(made / "x.zip", {{"w", values()}}).value();
  const std::string whole = test::read_file(made / "x.zip");
  const auto opens = [&](const std::string& bytes) {
    access::bucket->objects["damaged.zip"] = {bytes, "\"" + std::to_string(bytes.size()) + "\"", 0};
    const auto opened = zp::open("s3://bucket/damaged.zip", {.stores = zp::formats<scheme>()});
    if (!opened) CHECK(opened.failure().message.size() > 20);
    return opened.has_value();
  };
  CHECK(opens(whole));
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{4}})
    CHECK_FALSE(opens(whole.substr(0, size)));
  CHECK_FALSE(opens("PK\x03\x04" + std::string(1000, 'x')));
}

TEST_CASE("s3: by HTTP, a current checkpoint that is refused is not taken for an old one") {
  using web = zp::http_scheme_by<access>;
  struct open_server {
    ~open_server() { access::bucket->instead = {}; }
  } const opened_again;
  const auto stores = zp::formats<scheme, web>();
  const auto open = [&](const std::string& key) {
    return zp::open("http://fake/bucket/" + key, {.stores = stores});
  };
  for (const float value : {1.0F, 2.0F}) {
    zp::save("s3://bucket/place", {{"b", value}}, {.overwrite = true}, {.stores = stores}).value();
    CHECK(open("place/")->load<float>("b").value() == value);
  }
  const test::temp_directory made;
  zp::save(made / "tree", {{"b", 3.0F}}).value();
  put(made / "tree", "hierarchy");
  const std::string denied = "<Error><Code>AccessDenied</Code></Error>";
  for (const int status : {401, 403}) {
    for (const std::string& text : {std::string("<html>Forbidden</html>"), denied}) {
      CAPTURE(status);
      CAPTURE(text);
      access::bucket->instead = [&](const std::string& what) -> zp::http_response {
        if (what.find("/.zarrpoint/") == std::string::npos) return {};
        return {.status = status, .headers = {}, .text = text};
      };
      const auto refused = open("place");
      REQUIRE_FALSE(refused.has_value());
      CHECK(refused.failure().message.find("let readers get") != std::string::npos);
      CHECK(refused.failure().message.find("place/.zarrpoint/current") != std::string::npos);
      // What no save to a bucket wrote opens at such a server, too.
      CHECK(open("hierarchy").value().load<float>("b").value() == 3);
    }
  }
}

TEST_CASE("s3: files and directories of other formats") {
  const test::temp_directory made;
  const std::vector<float> w{1, 2, 3, 4, 5, 6};
  const std::array<zp::safetensors::named_view, 1> tensors{
      {{"layer.w", zp::dense_view(reinterpret_cast<const std::byte*>(w.data()),
                                  {zp::dtype_kind::float32, {2, 3}})}}};
  REQUIRE(zp::safetensors::save(made / "m.safetensors", tensors, {}));
  put(made / "m.safetensors", "m.safetensors");
  put(made / "m.safetensors", "a/b/m.safetensors");
  const auto stores = zp::all_formats<scheme>();
  for (const char* url : {"s3://bucket/m.safetensors", "s3://bucket/a/b/m.safetensors"}) {
    CAPTURE(url);
    access::bucket->log.clear();
    const auto opened = zp::open(url, {.stores = stores});
    REQUIRE(opened.has_value());
    CHECK(opened->format() == "safetensors");
    const auto loaded = opened->load<zp::tensor>("layer.w").value();
    CHECK(std::memcmp(loaded.view().data, w.data(), 24) == 0);
    CHECK(access::bucket->log.size() <= 6);
  }
  const std::string golden = ZARRPOINT_TEST_GOLDEN;
  put(golden + "/gguf/small.gguf", "models/small.gguf");
  const auto gguf = zp::open("s3://bucket/models/small.gguf", {.stores = stores});
  REQUIRE(gguf.has_value());
  CHECK(gguf->format().starts_with("GGUF"));
  put(golden + "/dcp/one-process", "dcp");
  const auto dcp = zp::open("s3://bucket/dcp/", {.stores = stores});
  REQUIRE(dcp.has_value());
  CHECK(dcp->load<zp::tensor>("model.w").has_value());
  // Beside a checkpoint that was replaced, and so lies beneath a prefix of its own.
  for (float value : {1.0F, 2.0F})
    zp::save("s3://bucket/run", {{"b", value}}, {.overwrite = true}, {.stores = stores}).value();
  put(golden + "/gguf/small.gguf", "run/small.gguf");
  CHECK(zp::open("s3://bucket/run", {.stores = stores})->load<float>("b").value() == 2);
  CHECK(zp::open("s3://bucket/run/small.gguf", {.stores = stores}).has_value());
  access::bucket->objects["text.txt"] = {"what is this?", "\"e\"", 0};
  const auto text = zp::open("s3://bucket/text.txt", {.stores = stores});
  REQUIRE_FALSE(text.has_value());
  CHECK(text.failure().code == zp::errc::unsupported);
}

TEST_CASE("s3: what was read is kept, until there is another object") {
  const test::temp_directory made;
  access::cache = zp::read_cache::open({.folder = made / "cache"}).value();
  const auto stores = zp::all_formats<scheme>();
  const std::string place = "s3://bucket/kept";
  const auto requests = [&] { return std::exchange(access::bucket->log, {}).size(); };
  const auto load = [&] {
    return zp::open(place, {.stores = stores})->load<std::vector<float>>("w").value();
  };
  std::vector<float> w = values();
  zp::save(place, {{"w", w}}, {}, {.stores = stores}).value();
  CHECK(load() == w);
  const auto first = access::cache->counts();
  CHECK(first.misses > 0);
  requests();
  CHECK(load() == w);
  CHECK(requests() <= 4);  // which checkpoint, its document, and whose object
  CHECK(access::cache->counts().misses == first.misses);
  w[5] = -1;
  zp::save(place, {{"w", w}}, {.overwrite = true}, {.stores = stores}).value();
  CHECK(load() == w);
  CHECK(access::cache->counts().misses > first.misses);
  access::cache.reset();
}

}  // namespace s3_formats_test
