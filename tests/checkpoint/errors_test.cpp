// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Every error of docs/errors.md, made to happen; its text is the page's.

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/value_transfer.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/child_process.hpp"
#include "../support/fake_device.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace errors_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

/// A fresh current directory that holds "model.zarr": two inner chunks of `layers/0/w`, and `step`.
class workplace {
 public:
  workplace() : before_(fs::current_path()) {
    fs::current_path(dir_.path());
    save("model.zarr", {{"layers/0/w", std::vector<float>(1 << 19, 1.5F)}, {"step", 1200}}).value();
  }
  ~workplace() { fs::current_path(before_); }
  workplace(const workplace&) = delete;
  workplace& operator=(const workplace&) = delete;

 private:
  fs::path before_;
  test::temp_directory dir_;
};

const std::string& page() {
  static const std::string text =
      test::read_file(fs::path(ZARRPOINT_TEST_GOLDEN) / "../../docs/errors.md");
  return text;
}

/// The page has a section for the code, and in it the text of the error, in a block of its own.
void check_documented(const std::string& said) {
  CAPTURE(said);
  const std::string code = said.substr(0, said.find(':'));
  const std::size_t section = page().find("\n## `" + code + "`\n");
  REQUIRE(section != std::string::npos);
  const std::string body = page().substr(section, page().find("\n## ", section + 1) - section);
  CHECK(body.find("\n```\n" + said + "\n```\n") != std::string::npos);
}

template <class T>
void check_documented(const result<T>& refused) {
  REQUIRE_FALSE(refused);
  check_documented(to_string(refused.failure()));
}

/// The same of what a child process says that some system calls are refused.
void check_in_child(const std::function<std::string()>& work) {
  const std::string said = test::in_child(work);
  if (said == "no seccomp") {
    MESSAGE("skipped: seccomp is not allowed here");
    return;
  }
  check_documented(said);
}

/// The metadata of four uint8 in one chunk.
array_metadata one_chunk(std::vector<codec_spec> codecs) {
  array_metadata out;
  out.shape = out.chunk_shape = {4};
  out.type = dtype_kind::uint8;
  out.fill = fill_value::zero(out.type);
  out.codecs = std::move(codecs);
  return out;
}

std::string text_of(const result<save_report>& done) {
  return done ? "done" : to_string(done.failure());
}

}  // namespace

TEST_CASE("errors: replaced") {
  const workplace here;
  const checkpoint old = open("model.zarr").value();
  const std::string id = save("model.zarr", {{"step", 1201}}).value().id;
  std::string said = to_string(old.load<int>("step").failure());
  // They are random: those of the page.
  for (const auto& [from, to] : {std::pair(old.id(), "5f0c6a1de2b84d2f9a7e3c1b0d4f8e66"),
                                 std::pair(id, "0b6f2c9a4e7d41c3a58f1e2d3c4b5a69")}) {
    REQUIRE(said.find(from) != std::string::npos);
    said.replace(said.find(from), from.size(), to);
  }
  check_documented(said);
}

TEST_CASE("errors: not_found") {
  const workplace here;
  check_documented(open("no.zarr"));
  fs::create_directory("empty");
  check_documented(open("empty"));
  fs::create_directory("runs");
  for (const char* run : {"runs/a", "runs/b"}) save(run, {{"step", 1}}).value();
  check_documented(open("runs"));
  const any_store store = file_store::open(".").value();
  const auto key = [](std::string_view text) { return store_key::parse(text).value(); };
  check_documented(open({store, key("gone")}));
  check_documented(array::open(store, key("gone")));
  check_documented(array::open(store, key("empty")));
  check_documented(group::open(store, key("gone")));
  check_documented(group::open(store, key("empty")));
  check_documented(open("model.zarr").value().load<int>("stepp"));
  const array theirs =
      array::create(memory_store{}, store_key::parse("a").value(), one_chunk({{"bytes"}})).value();
  check_documented(theirs.read(box::whole({4}), read_options{.missing = missing_chunks::error}));
}

TEST_CASE("errors: already_exists") {
  const workplace here;
  check_documented(save("model.zarr", {{"step", 1}}, {.overwrite = false}));
  fs::create_directories("home/me");
  check_documented(save("home", {{"step", 1}}));
  fs::create_directory("theirs.zarr");
  test::write_file("theirs.zarr/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  check_documented(save("theirs.zarr", {{"step", 1}}));
  fs::create_directory("megatron");
  test::write_file("megatron/metadata.json",
                   R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})");
  check_documented(save("megatron", {{"step", 1}}));
}

TEST_CASE("errors: io") {
  const workplace here;
  check_in_child([] {
    if (!test::deny(SYS_pwrite64, ENOSPC)) return std::string("no seccomp");
    return text_of(save("model.zarr", {{"step", 1}}, {}, context{}));
  });
  check_in_child([] {
    if (!test::deny(SYS_mkdirat, EACCES)) return std::string("no seccomp");
    return text_of(save("new.zarr", {{"step", 1}}, {}, context{}));
  });
  fs::rename("model.zarr/step", "elsewhere");
  fs::create_directory_symlink("../elsewhere", "model.zarr/step");
  check_documented(open("model.zarr").value().load<int>("step"));
}

TEST_CASE("errors: corrupt") {
  const workplace here;
  const fs::path shard = "model.zarr/layers/0/w/c.0";
  const std::string whole = test::read_file(shard);
  std::string damaged = whole;
  damaged[1'500'000] = static_cast<char>(damaged[1'500'000] ^ 1);
  test::write_file(shard, damaged);
  check_documented(open("model.zarr").value().load<std::vector<float>>("layers/0/w"));
  test::write_file(shard, whole.substr(0, 1000));
  check_documented(open("model.zarr").value().load<std::vector<float>>("layers/0/w"));
  fs::remove(shard);
  check_documented(open("model.zarr").value().load<std::vector<float>>("layers/0/w"));
  std::string root = test::read_file("model.zarr/zarr.json");
  root.replace(root.find("524288"), 6, "524289");
  test::write_file("model.zarr/zarr.json", root);
  check_documented(open("model.zarr"));
  test::write_file("model.zarr/zarr.json", root.substr(0, 300));
  check_documented(open("model.zarr"));
  root[root.find("zarrpoint\":") + 8] ^= 1;
  test::write_file("model.zarr/zarr.json", root);
  check_documented(open("model.zarr"));
}

TEST_CASE("errors: corrupt, where no digests were kept") {
  const std::array<std::uint8_t, 4> data{1, 2, 3, 4};
  const host_view from =
      dense_view(std::as_bytes(std::span(data)).data(), {dtype_kind::uint8, {4}});
  const auto damaged = [&](std::vector<codec_spec> codecs, std::size_t at) {
    const memory_store store;
    const array made =
        array::create(store, store_key::parse("a").value(), one_chunk(std::move(codecs))).value();
    made.write(box::whole({4}), from).value();
    const store_key key = store_key::parse("a/c/0").value();
    const auto stored = get(store, key, SIZE_MAX).value().value();
    std::vector<std::byte> bytes(bytes_view(stored).begin(), bytes_view(stored).end());
    bytes[at] ^= std::byte{1};
    store.put(key, bytes).value();
    return made.read(box::whole({4}));
  };
  check_documented(damaged({{"bytes"}, {"crc32c"}}, 0));
  sharding_config config;
  config.chunk_shape = {2};
  config.codecs = {codec_spec{"bytes"}};
  check_documented(damaged({config.to_spec().value()}, 5));
}

TEST_CASE("errors: unsupported") {
  const memory_store store;
  const auto put = [&](const char* key, const char* text) {
    store.put(store_key::parse(key).value(), as_bytes(std::string_view(text))).value();
  };
  put("a/zarr.json", R"({"zarr_format":3,"node_type":"array","shape":[1],"data_type":"uint8",
      "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"fill_value":0,
      "chunk_key_encoding":{"name":"default"},"codecs":["bytes",{"name":"gzip"}]})");
  put("b/zarr.json", R"({"zarr_format":3,"node_type":"array","shape":[1],"data_type":"float128",
      "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"fill_value":0,
      "chunk_key_encoding":{"name":"default"},"codecs":["bytes"]})");
  put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  const checkpoint theirs = open(store).value();
  check_documented(theirs.load<tensor>("a"));
  check_documented(theirs.load<tensor>("b"));
  const workplace here;
  check_documented(
      save("new.zarr", {{"step", 1}}, {.rules = {{.cast = dtype(dtype_kind::string)}}}));
}

TEST_CASE("errors: invalid_argument") {
  const workplace here;
  check_documented(save("model.zarr", {{"a", 1}, {"a/b", 2}}));
  check_documented(save("model.zarr", {{"a/../b", 1}}));
  check_documented(save("model.zarr", {{"a", 1}, {"a", 2}}));
  check_documented(
      save("model.zarr", {{"a", 1}}, {.attributes_of = {{"b", json::object{{"unit", "m"}}}}}));
}

TEST_CASE("errors: dtype_mismatch and shape_mismatch") {
  const workplace here;
  const checkpoint opened = open("model.zarr").value();
  check_documented(opened.load<float>("step"));
  std::array<float, 10> small{};
  check_documented(opened.load_into("layers/0/w", small));
  check_documented(opened.load<std::vector<std::vector<float>>>("step"));
}

TEST_CASE("errors: out_of_range") {
  const workplace here;
  const array w = open("model.zarr").value().as_array("layers/0/w").value();
  check_documented(w.read(box{{524280}, {10}}));
}

TEST_CASE("errors: resource_limit") {
  const workplace here;
  context how;
  how.limit.memory = 1 << 20;
  check_documented(open("model.zarr", how).value().load<tensor>("layers/0/w"));
  how.limit.metadata_bytes = 1000;
  check_documented(open("model.zarr", how));
  // How much a context takes is another number in each version of zstd.
  const std::vector<std::uint8_t> data{1, 2, 3, 4};
  std::string said;
  for (how.limit.memory = 250; said.find("for a context") == said.npos; how.limit.memory += 250) {
    const array small = array::create(memory_store{}, store_key::parse("a").value(),
                                      one_chunk({{"bytes"}, {"zstd"}}), how)
                            .value();
    const auto refused = small.write(box::whole({4}), data);
    REQUIRE_FALSE(refused);
    said = to_string(refused.failure());
  }
  const std::regex numbers("[0-9]+ bytes for a context: [0-9]+ of the [0-9]+ bytes");
  check_documented(
      std::regex_replace(said, numbers, "5272 bytes for a context: 704 of the 2000 bytes"));
}

TEST_CASE("errors: cancelled") {
  const workplace here;
  const stop_source stop;
  stop.request_stop();
  check_documented(save("model.zarr", {{"step", 1}}, {}, {.stop = stop.token()}));
}

TEST_CASE("errors: device") {
  const workplace here;
  zarrpoint_test::fake_device device(1);
  const zarrpoint_test::fake_space space{&device};
  std::byte* const memory = device.allocate(4);
  const tensor_view<zarrpoint_test::fake_space> view{memory, dtype_kind::float32, {1}, {4}, space,
                                                     {}};
  device.fail_after(0);
  check_documented(save("model.zarr", {{"w", view}}));
  device.free(memory);
}

TEST_CASE("errors: outcome_unknown") {
  const workplace here;
  check_in_child([] {
    // Once the directory that holds the target is open, its last sync is refused.
    bool denied = true;
    context how;
    how.progress = [&](const progress_event&) {
      const fs::path target = fs::current_path();
      for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (fs::read_symlink(entry.path(), gone) != target) continue;
        const auto fd = static_cast<std::uint32_t>(std::stoul(entry.path().filename().string()));
        denied = denied && test::deny(SYS_fsync, EIO, test::with_argument{0, fd});
      }
    };
    const auto saved = save("new.zarr", {{"step", 1}}, {}, how);
    return denied ? text_of(saved) : std::string("no seccomp");
  });
}

TEST_CASE("errors: every code has its section") {
  for (int i = 0; i < 256; ++i) {
    const std::string_view name = to_string(static_cast<errc>(i));
    if (name == "unknown") break;
    CAPTURE(name);
    CHECK(page().find("\n## `" + std::string(name) + "`\n") != std::string::npos);
  }
}

}  // namespace errors_test
