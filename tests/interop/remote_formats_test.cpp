// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/formats.hpp>
#include <zarrpoint/remote.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_web.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace remote_formats_test {

namespace zp = zarrpoint;
using namespace zarrpoint;

/// What work runs on, which counts it.
struct counting_executor {
  std::shared_ptr<std::atomic<unsigned>> tasks = std::make_shared<std::atomic<unsigned>>(0);
  void execute(task work) const {
    ++*tasks;
    work();
  }
  unsigned concurrency() const noexcept { return 3; }
};

struct fake_access {
  static inline fake_web::server server{};
  static inline counting_executor counted{};
  static inline const any_executor handle = counted;

  static any_transport transport() { return server; }
  static http_store_options options() {
    http_store_options how;
    how.retry.clock = server.state->clock;
    return how;
  }
  static const any_executor* executor() { return &handle; }
};
using scheme = http_scheme_by<fake_access>;

/// The files of a directory, or a file, beneath a path of the server.
void serve(const std::filesystem::path& from, const std::string& at) {
  auto& objects = fake_access::server.state->objects;
  if (std::filesystem::is_regular_file(from)) {
    objects[at] = {test::read_file(from)};
    return;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from))
    if (entry.is_regular_file())
      objects[at + '/' + entry.path().lexically_relative(from).generic_string()] = {
          test::read_file(entry.path())};
}

std::size_t requests() { return std::exchange(fake_access::server.state->requests, {}).size(); }

struct model {
  std::vector<float> w = std::vector<float>(1'500'000);
  std::vector<std::int64_t> b{7, 8, 9};
  model() { std::iota(w.begin(), w.end(), 0.5F); }
  void save(const std::string& path) const { zp::save(path, {{"w", w}, {"opt/b", b}}).value(); }
  void check(const zp::checkpoint& opened) const {
    CHECK(opened.load<std::vector<float>>("w").value() == w);
    CHECK(opened.load<std::vector<std::int64_t>>("opt/b").value() == b);
  }
};

TEST_CASE("remote: a checkpoint of ours in a directory") {
  const test::temp_directory made;
  const model saved;
  saved.save(made / "ck");
  serve(made / "ck", "/ck");
  for (const char* url : {"http://h/ck", "http://user:pass@h/ck/"}) {
    for (const store_table& stores : {formats<scheme>(), all_formats<scheme>()}) {
      requests();
      const auto opened = zp::open(url, {.stores = stores});
      REQUIRE(opened.has_value());
      CHECK(requests() <= 3);  // two in a row: a place in S3 is asked for beside the document
      const unsigned before = *fake_access::counted.tasks;
      saved.check(*opened);
      CHECK(*fake_access::counted.tasks > before);
    }
  }
}

/// Says where it was asked what options a URL has.
struct watching_access : fake_access {
  static inline std::vector<std::string> asked{};
  static http_store_options options(const url& at) {
    asked.push_back(at.str());
    http_store_options how = fake_access::options();
    if (at.str().starts_with("http://h/")) how.headers.push_back({"Authorization", "of h"});
    return how;
  }
};

TEST_CASE("remote: what goes to one host only is asked for with the URL") {
  const test::temp_directory made;
  model().save(made / "ck");
  serve(made / "ck", "/ck");
  const auto stores = formats<http_scheme_by<watching_access>>();
  for (const std::string& url : {std::string("http://h/ck"), std::string("http://other/ck")}) {
    watching_access::asked.clear();
    requests();
    REQUIRE(zp::open(url, {.stores = stores}).has_value());
    CHECK(watching_access::asked == std::vector{url});
    CHECK_FALSE(fake_access::server.state->requests.empty());
    for (const http_request& one : fake_access::server.state->requests)
      CHECK(fake_web::header_of(one, "Authorization") == (url == "http://h/ck" ? "of h" : ""));
  }
}

TEST_CASE("remote: a place in S3 by its URL is the checkpoint that was published last") {
  const test::temp_directory made;
  const model saved;
  saved.save(made / "new");
  zp::save(made / "old", {{"old", std::vector<float>(3, 1.0F)}}).value();
  const std::string tree = ".zarrpoint/20261128T120000Z-0123456789abcdef/";
  serve(made / "old", "/place");
  serve(made / "new", "/place/" + tree.substr(0, tree.size() - 1));
  auto& current = fake_access::server.state->objects["/place/.zarrpoint/current"];
  for (const char* url : {"http://h/place", "http://h/place/"}) {
    for (const store_table& stores : {formats<scheme>(), all_formats<scheme>()}) {
      const auto open = [&] { return zp::open(url, {.stores = stores}); };
      current = {"zarrpoint 1\ntree " + tree + "\nsave 1\n"};
      saved.check(open().value());
      // The plain keys; a server that has a page for every name.
      for (const char* text : {"zarrpoint 1\ntree .\nsave 1\n", "<html>\n", ""}) {
        current = {text};
        CHECK(open().value().names() == std::vector<std::string>{"old"});
      }
      // Cut short it says nothing, and neither does it name what lies elsewhere.
      for (const char* text : {"zarrpoint 1\ntree .zarr", "zarrpoint 1\ntree ../other/\n",
                               "zarrpoint 1\ntree .zarrpoint/../../x/\n", "zarrpoint 2\n"}) {
        current = {text};
        const auto refused = open();
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == errc::corrupt);
      }
    }
  }
  fake_access::server.state->objects.erase("/place/.zarrpoint/current");
}

TEST_CASE("remote: a zip file, and a directory in one") {
  const test::temp_directory made;
  const model saved;
  saved.save(made / "x.zip");
  serve(made / "x.zip", "/x.zip");
  for (const store_table& stores : {formats<scheme>(), all_formats<scheme>()}) {
    const auto opened = zp::open("http://h/x.zip?sig=1", {.stores = stores});
    REQUIRE(opened.has_value());
    saved.check(*opened);
    CHECK(zp::open("http://h/x.zip/opt", {.stores = stores}).has_value());
  }
}

TEST_CASE("remote: files and directories of other formats") {
  const test::temp_directory made;
  const std::vector<float> w{1, 2, 3, 4, 5, 6};
  const std::array<safetensors::named_view, 1> tensors{
      {{"layer.w",
        dense_view(reinterpret_cast<const std::byte*>(w.data()), {dtype_kind::float32, {2, 3}})}}};
  REQUIRE(safetensors::save(made / "m.safetensors", tensors, {}));
  serve(made / "m.safetensors", "/m.safetensors");
  const store_table stores = all_formats<scheme>();
  requests();
  const auto opened = zp::open("http://h/m.safetensors", {.stores = stores});
  REQUIRE(opened.has_value());
  const tensor loaded = opened->load<tensor>("layer.w").value();
  CHECK(std::memcmp(loaded.view().data, w.data(), 24) == 0);
  CHECK(opened->format() == "safetensors");
  CHECK(requests() <= 4);

  const std::string golden = ZARRPOINT_TEST_GOLDEN;
  serve(golden + "/gguf/small.gguf", "/models/small.gguf");
  const auto gguf = zp::open("http://h/models/small.gguf", {.stores = stores});
  REQUIRE(gguf.has_value());
  CHECK(gguf->format().starts_with("GGUF"));
  serve(golden + "/dcp/one-process", "/dcp");
  const auto dcp = zp::open("http://h/dcp/", {.stores = stores});
  INFO((dcp ? "" : dcp.failure().message));
  REQUIRE(dcp.has_value());
  CHECK(dcp->load<tensor>("model.w").has_value());
}

TEST_CASE("remote: what cannot be opened") {
  const store_table stores = all_formats<scheme>();
  const auto code = [&](const char* url) {
    return zp::open(url, {.stores = stores}).failure().code;
  };
  CHECK(code("http://h/nowhere") == errc::not_found);
  CHECK(code("http://h/nowhere/x.safetensors") == errc::not_found);
  fake_access::server.state->objects["/text.txt"] = {"what is this?"};
  CHECK(code("http://h/text.txt") == errc::unsupported);
  CHECK(code("http://h:0/") == errc::invalid_argument);
  const auto refused = zp::save("http://h/new", {{"x", 1}}, {}, {.stores = stores});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.failure().code == errc::unsupported);
  const auto shown = zp::open("http://u:secret@h/text.txt?sig=secret", {.stores = stores});
  REQUIRE_FALSE(shown.has_value());
  CAPTURE(shown.failure().message);
  CHECK(shown.failure().message.find("secret") == std::string::npos);
}

TEST_CASE("remote: a zip file of many tensors is opened by its begin and its end") {
  const test::temp_directory made;
  const std::vector<float> values(4000, 1.5F);
  std::vector<zp::leaf> leaves;
  for (int i = 0; i < 300; ++i) leaves.emplace_back("w" + std::to_string(i), values);
  zp::save(made / "many.zip", leaves).value();
  serve(made / "many.zip", "/many.zip");
  auto& sent = fake_access::server.state->requests;
  sent.clear();
  const auto opened = zp::open("http://h/many.zip", {.stores = zp::formats<scheme>()});
  REQUIRE(opened.has_value());
  CHECK(opened->size() == 300);
  CHECK(sent.size() <= 3);
  CHECK(opened->load<std::vector<float>>("w299").value() == values);
  CHECK(opened->load<std::vector<float>>("w0").value() == values);
  // With less memory less of the end is kept.
  zp::context how{.stores = zp::formats<scheme>()};
  how.limit.memory = std::size_t{4} << 20;
  const auto frugal = zp::open("http://h/many.zip", how);
  REQUIRE(frugal.has_value());
  CHECK(frugal->load<std::vector<float>>("w7").value() == values);
}

TEST_CASE("remote: threads that wait for servers are many, whatever the processors") {
  CHECK(remote_executor().concurrency() == 64);
  CHECK(&remote_executor() == &remote_executor());
}

}  // namespace remote_formats_test
