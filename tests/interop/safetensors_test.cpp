// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;
namespace st = zarrpoint::safetensors;

namespace {

/// A directory that is gone after the test, with the files that tests here make.
class temp_directory {
 public:
  temp_directory() {
    char path[] = "/tmp/zarrpoint-safetensors-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  temp_directory(const temp_directory&) = delete;
  temp_directory& operator=(const temp_directory&) = delete;
  ~temp_directory() {
    for (const std::string& each : made_) static_cast<void>(std::remove(each.c_str()));
    CHECK_MESSAGE(::rmdir(path_.c_str()) == 0, "something else was left in the directory");
  }
  std::string operator/(std::string_view name) {
    made_.push_back(path_ + '/' + std::string(name));
    return made_.back();
  }

 private:
  std::string path_;
  std::vector<std::string> made_;
};

zp::store_key key(std::string_view text) { return zp::store_key::parse(text).value(); }

/// `header` with its length in front and `data` behind.
std::string file_text(std::string_view header, std::string_view data) {
  std::string text(8, '\0');
  zp::store_le<std::uint64_t>(reinterpret_cast<std::byte*>(text.data()), header.size());
  return text.append(header).append(data);
}

zp::result<st::file> open_text(std::string_view text) {
  zp::memory_store store;
  REQUIRE(store.put(key("x"), zp::as_bytes(text)));
  return st::open(store, key("x"));
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A tensor that owns random bytes; bools are 0 and 1.
struct random_tensor {
  zp::tensor_spec spec;
  std::vector<std::byte> data;

  random_tensor(std::mt19937& random, zp::tensor_spec of)
      : spec(of), data(zp::byte_count(of).value()) {
    for (std::byte& each : data)
      each = static_cast<std::byte>(random() % (spec.type == zp::dtype_kind::bool_ ? 2
                                                : spec.type.is_below_byte() ? 1U << spec.type.bits()
                                                                            : 256));
  }
  zp::host_view view() const { return zp::dense_view(data.data(), spec); }
};

/// The same elements with the axes in reverse: not dense, unless there is little to reverse.
zp::host_view reversed(zp::host_view view) {
  std::reverse(view.shape.begin(), view.shape.end());
  std::reverse(view.strides.begin(), view.strides.end());
  return view;
}

std::vector<std::byte> gathered(const zp::host_view& view) {
  std::vector<std::byte> out(zp::byte_count(view.spec()).value());
  zp::copy_elements(zp::dense_view(out.data(), view.spec()), view);
  return out;
}

bool same_bytes(zp::host_view view, const std::vector<std::byte>& bytes) {
  return zp::is_dense(view) && zp::byte_count(view.spec()).value() == bytes.size() &&
         (bytes.empty() || std::memcmp(view.data, bytes.data(), bytes.size()) == 0);
}

/// A store that offers nothing but reads.
struct plain_store {
  zp::memory_store inner;

  struct plain_blob final : zp::blob {
    explicit plain_blob(std::unique_ptr<zp::blob> from) : held(std::move(from)) {}
    std::uint64_t size() const noexcept override { return held->size(); }
    zp::result<void> read(std::uint64_t offset, zp::mutable_bytes into) const override {
      return held->read(offset, into);
    }
    std::string name() const override { return "plain"; }
    std::unique_ptr<zp::blob> held;
  };
  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key& at) const {
    ZARRPOINT_TRY(found, inner.open(at));
    return std::unique_ptr<zp::blob>(std::make_unique<plain_blob>(std::move(found)));
  }
  std::string describe(const zp::store_key&) const { return "plain"; }
};

}  // namespace

TEST_CASE("safetensors: a published network") {
  const std::string path =
      ZARRPOINT_TEST_GOLDEN "/../../examples/data/silero-vad/silero_vad_16k.safetensors";
  const st::file file = st::open(path).value();
  CHECK(file.tensors().size() == 15);
  const auto names = file.names();
  REQUIRE(names.size() == 15);
  CHECK(names.front() == "stft_conv.weight");
  CHECK(names.back() == "final_conv.bias");
  CHECK(file.contains("lstm_cell.weight_hh"));
  CHECK(!file.contains("lstm_cell.weight"));
  CHECK(file.metadata().empty());
  CHECK(file.spec("conv1.weight").value() ==
        zp::tensor_spec{zp::dtype_kind::float32, {128, 129, 3}});
  CHECK(file.spec("conv9").failure().code == zp::errc::not_found);

  const std::string whole = read_file(path);
  std::size_t at = 8 + 1208;
  for (const st::tensor_info& each : file.tensors()) {
    const zp::host_view view = file.view(each.name).value();
    CHECK(view.spec() == each.spec);
    CHECK(std::memcmp(view.data, whole.data() + at, each.bytes) == 0);
    std::vector<std::byte> copy(each.bytes);
    CHECK(file.read(each.name, zp::dense_view(copy.data(), each.spec)));
    CHECK(std::memcmp(copy.data(), whole.data() + at, each.bytes) == 0);
    at += each.bytes;
  }
  CHECK(at == whole.size());
  float bias = 0;
  std::memcpy(&bias, file.view("final_conv.bias").value().data, sizeof bias);
  CHECK(bias < 0);  // speech is rare
}

TEST_CASE("safetensors: what is saved is read back, of every dtype, shape and layout") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    std::vector<random_tensor> owned;
    for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
      if (!st::detail::dtype_name(kind)) continue;
      zp::tensor_spec spec{kind, {}};
      for (std::size_t d = random() % 4; d > 0; --d)
        spec.shape.push_back(static_cast<zp::index_t>(random() % 6 + (random() % 8 == 0 ? 0 : 1)));
      if (spec.type.is_below_byte()) spec.shape.push_back(4);  // whole bytes
      owned.emplace_back(random, spec);
    }
    std::vector<st::named_view> tensors;
    for (std::size_t i = 0; i < owned.size(); ++i) {
      const zp::host_view view = owned[i].view();
      tensors.push_back({"layer/" + std::to_string(i), random() % 2 == 0 ? view : reversed(view)});
    }
    std::shuffle(tensors.begin(), tensors.end(), random);

    zp::memory_store store;
    const st::metadata_map metadata{{"format", "pt"}, {"seed", std::to_string(seed)}};
    REQUIRE(st::save(store, key("m.safetensors"), tensors, metadata));
    const st::file file = st::open(store, key("m.safetensors")).value();
    CHECK(file.metadata() == metadata);
    CHECK(file.tensors().size() == tensors.size());
    std::size_t last_size = 16;
    for (const st::tensor_info& each : file.tensors()) {
      CHECK(each.spec.type.size() <= last_size);
      CHECK(each.offset % each.spec.type.size() == 0);
      last_size = each.spec.type.size();
    }
    for (const st::named_view& each : tensors) {
      const auto expected = gathered(each.view);
      if (each.view.type.is_below_byte()) {
        CHECK(file.view(each.name).failure().code == zp::errc::unsupported);
      } else {
        const zp::host_view view = file.view(each.name).value();
        CHECK(view.spec() == each.view.spec());
        CHECK(same_bytes(view, expected));
      }
      std::vector<std::byte> dense(expected.size());
      CHECK(file.read(each.name, zp::dense_view(dense.data(), each.view.spec())));
      CHECK(dense == expected);
      // Into memory of another order.
      std::vector<std::byte> other(expected.size());
      zp::tensor_spec turned = each.view.spec();
      std::reverse(turned.shape.begin(), turned.shape.end());
      zp::mutable_host_view into = zp::dense_view(other.data(), turned);
      std::reverse(into.shape.begin(), into.shape.end());
      std::reverse(into.strides.begin(), into.strides.end());
      CHECK(file.read(each.name, into));
      CHECK(gathered(zp::as_const(into)) == expected);
    }
    // The same again, byte for byte.
    const auto first = zp::get(store, key("m.safetensors"), 1 << 20).value();
    REQUIRE(st::save(store, key("m.safetensors"), tensors, metadata));
    CHECK(zp::get(store, key("m.safetensors"), 1 << 20).value() == first);
  }
}

TEST_CASE("safetensors: packed elements in more than one block") {
  std::mt19937 random(2);
  for (const zp::dtype_kind kind : {zp::dtype_kind::float4_e2m1fn, zp::dtype_kind::float6_e2m3fn}) {
    const random_tensor large(random, {kind, {4, 1'100'003}});
    zp::memory_store store;
    for (const zp::host_view& view : {large.view(), reversed(large.view())}) {
      const st::named_view tensors[] = {{"x", view}};
      REQUIRE(st::save(store, key("x"), tensors));
      const auto expected = gathered(view);
      std::vector<std::byte> copy(expected.size());
      const st::file file = st::open(store, key("x")).value();
      REQUIRE(file.read("x", zp::dense_view(copy.data(), view.spec())));
      CHECK(copy == expected);
    }
  }
  const random_tensor odd(random, {zp::dtype_kind::float4_e2m1fn, {3}});
  const st::named_view tensors[] = {{"x", odd.view()}};
  CHECK(st::save(zp::memory_store(), key("x"), tensors).failure().code == zp::errc::unsupported);
}

TEST_CASE("safetensors: a store may send what was written while it is saved") {
  std::mt19937 random(3);
  const random_tensor dense(random, {zp::dtype_kind::float32, {30, 7}});
  const random_tensor packed(random, {zp::dtype_kind::float4_e2m1fn, {4, 3}});
  const st::named_view tensors[] = {
      {"a", dense.view()}, {"b", reversed(dense.view())}, {"c", packed.view()}};
  const zarrpoint_test::recording_store store;
  REQUIRE(st::save(store, key("x"), tensors));
  CHECK(store->written_once == std::vector<std::string>{"x"});
}

TEST_CASE("safetensors: a dtype that is none of ours") {
  const st::file file =
      open_text(file_text(R"({"a":{"dtype":"F9","shape":[2],"data_offsets":[0,3]},)"
                          R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
                          "abcd"))
          .value();
  CHECK(file.tensors().size() == 2);
  CHECK(file.contains("a"));
  for (const zp::error& refused : {file.spec("a").failure(), file.view("a").failure()}) {
    CHECK(refused.code == zp::errc::unsupported);
    CHECK(refused.message.find("the dtype \"F9\" is not known") != std::string::npos);
  }
  CHECK(*file.view("b").value().data == std::byte{'d'});
}

TEST_CASE("safetensors: tensors larger than a block, not in the order of the file") {
  std::mt19937 random(1);
  const random_tensor large(random, {zp::dtype_kind::float32, {3, 701, 1301}});
  const random_tensor long_row(random, {zp::dtype_kind::uint8, {5'000'003, 2}});
  const st::named_view tensors[] = {{"large", reversed(large.view())},
                                    {"row", reversed(long_row.view())}};
  zp::memory_store store;
  REQUIRE(st::save(store, key("x"), tensors));
  const st::file file = st::open(store, key("x")).value();
  for (const st::named_view& each : tensors) {
    CHECK(same_bytes(file.view(each.name).value(), gathered(each.view)));
    const bool is_large = each.name == "large";
    std::vector<std::byte> copy(is_large ? large.data.size() : long_row.data.size());
    zp::mutable_host_view into = zp::dense_view(copy.data(), is_large ? large.spec : long_row.spec);
    std::reverse(into.shape.begin(), into.shape.end());
    std::reverse(into.strides.begin(), into.strides.end());
    REQUIRE(file.read(each.name, into));
    CHECK(copy == (is_large ? large.data : long_row.data));
  }
}

TEST_CASE("safetensors: a file that does not align its elements is read, not viewed") {
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  header.append((64 - (header.size() + 8) % 64) % 64, ' ');
  std::string data(9, '\x01');
  const float values[2] = {1.5f, -2.0f};
  std::memcpy(data.data() + 1, values, sizeof values);
  const st::file file = open_text(file_text(header, data)).value();
  CHECK(file.view("a"));
  const auto refused = file.view("b");
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::unsupported);
  CHECK(refused.failure().message.find("align") != std::string::npos);
  float copy[2] = {};
  REQUIRE(file.read(
      "b", zp::dense_view(reinterpret_cast<std::byte*>(copy), {zp::dtype_kind::float32, {2}})));
  CHECK(copy[0] == 1.5f);
  CHECK(copy[1] == -2.0f);
}

TEST_CASE("safetensors: a store that cannot map reads all the same") {
  std::mt19937 random(3);
  const random_tensor tensor(random, {zp::dtype_kind::int16, {4, 5}});
  plain_store store;
  const st::named_view one{"t", tensor.view()};
  REQUIRE(st::save(store.inner, key("x"), {&one, 1}));
  const st::file file = st::open(store, key("x")).value();
  CHECK(file.view("t").failure().code == zp::errc::unsupported);
  std::vector<std::byte> copy(tensor.data.size());
  REQUIRE(file.read("t", zp::dense_view(copy.data(), tensor.spec)));
  CHECK(copy == tensor.data);
}

TEST_CASE("safetensors: a read says what does not fit") {
  std::mt19937 random(4);
  const random_tensor tensor(random, {zp::dtype_kind::int16, {4, 5}});
  zp::memory_store store;
  const st::named_view one{"t", tensor.view()};
  REQUIRE(st::save(store, key("x"), {&one, 1}));
  const st::file file = st::open(store, key("x")).value();
  std::vector<std::byte> copy(tensor.data.size());
  const auto refuse = [&](std::string_view name, const zp::tensor_spec& as) {
    const auto status = file.read(name, zp::dense_view(copy.data(), as));
    REQUIRE(!status);
    return status.failure();
  };
  CHECK(refuse("t", {zp::dtype_kind::uint16, {4, 5}}).code == zp::errc::dtype_mismatch);
  CHECK(refuse("t", {zp::dtype_kind::int16, {5, 4}}).code == zp::errc::shape_mismatch);
  CHECK(refuse("t", {zp::dtype_kind::int16, {20}}).code == zp::errc::shape_mismatch);
  const auto missing = refuse("u\n", tensor.spec);
  CHECK(missing.code == zp::errc::not_found);
  CHECK(missing.message.find("tensor \"u?\"") != std::string::npos);
}

TEST_CASE("safetensors: a bool that is neither 0 nor 1 never reaches anyone") {
  const st::file file =
      open_text(file_text(R"({"b":{"dtype":"BOOL","shape":[2,2],"data_offsets":[0,4]}})",
                          std::string_view("\0\1\2\1", 4)))
          .value();
  CHECK(file.view("b").failure().code == zp::errc::corrupt);
  std::vector<std::byte> copy(16);
  const zp::tensor_spec spec{zp::dtype_kind::bool_, {2, 2}};
  CHECK(file.read("b", zp::dense_view(copy.data(), spec)).failure().code == zp::errc::corrupt);
  const zp::mutable_host_view sparse{copy.data(), spec.type, spec.shape, {8, 2}, {}, {}};
  CHECK(file.read("b", sparse).failure().code == zp::errc::corrupt);
}

TEST_CASE("safetensors: truncated, extended and lying files are errors that name the file") {
  std::mt19937 random(5);
  const random_tensor a(random, {zp::dtype_kind::float32, {3}});
  const random_tensor b(random, {zp::dtype_kind::uint8, {2, 2}});
  const st::named_view tensors[] = {{"a", a.view()}, {"b", b.view()}};
  zp::memory_store store;
  REQUIRE(st::save(store, key("x"), tensors, {{"k", "v"}}));
  const auto good = zp::get(store, key("x"), 1 << 20).value().value();
  const std::string text(reinterpret_cast<const char*>(good.data()), good.size());
  REQUIRE(open_text(text));
  for (std::size_t n = 0; n < text.size(); ++n) CHECK(!open_text(text.substr(0, n)));
  CHECK(!open_text(text + '\0'));
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{text.size()}, std::uint64_t{99'999'999},
        std::uint64_t{100'000'001}, UINT64_MAX, UINT64_MAX - 7}) {
    std::string lying = text;
    zp::store_le<std::uint64_t>(reinterpret_cast<std::byte*>(lying.data()), length);
    const auto refused = open_text(lying);
    REQUIRE(!refused);
    CHECK(refused.failure().code == zp::errc::corrupt);
    CHECK(refused.failure().message.find('x') != std::string::npos);
  }
  for (std::size_t bit = 0; bit < 64; ++bit) {
    std::string lying = text;
    lying[bit / 8] = static_cast<char>(lying[bit / 8] ^ (1 << (bit % 8)));
    CHECK(!open_text(lying));
  }
}

TEST_CASE("safetensors: empty tensors, however wide their other extents") {
  const st::file file =
      open_text(
          file_text(R"({"e":{"dtype":"F64","shape":[0,4611686018427387904,4611686018427387904],)"
                    R"("data_offsets":[0,0]},"s":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
                    "\7"))
          .value();
  const zp::host_view view = file.view("e").value();
  CHECK(view.shape == zp::dims{0, 4611686018427387904, 4611686018427387904});
  CHECK(zp::is_dense(view));
  CHECK(file.read("e", zp::dense_view(static_cast<std::byte*>(nullptr), view.spec())));
  CHECK(*file.view("s").value().data == std::byte{7});
  zp::memory_store store;
  REQUIRE(st::save(store, key("none"), {}));
  CHECK(st::open(store, key("none")).value().tensors().empty());
}

TEST_CASE("safetensors: files by path") {
  temp_directory directory;
  std::mt19937 random(6);
  const random_tensor first(random, {zp::dtype_kind::bfloat16, {64, 33}});
  const random_tensor second(random, {zp::dtype_kind::bfloat16, {64, 33}});
  const std::string path = directory / "model.safetensors";
  const st::named_view old_one{"w", first.view()};
  const st::named_view new_one{"w", second.view()};
  REQUIRE(st::save(path, {&old_one, 1}, {{"step", "1"}}));

  // A view outlives the object it came from, as long as a copy lives, and the file's replacement.
  std::optional<st::file> file = st::open(path).value();
  const zp::host_view view = file->view("w").value();
  const st::file copy = *file;
  file.reset();
  REQUIRE(st::save(path, {&new_one, 1}, {{"step", "2"}}));
  CHECK(same_bytes(view, first.data));
  CHECK(copy.metadata().at("step") == "1");
  CHECK(same_bytes(st::open(path).value().view("w").value(), second.data));

  // Caches of downloaded models are links.
  const std::string link = directory / "link.safetensors";
  REQUIRE(::symlink("model.safetensors", link.c_str()) == 0);
  CHECK(st::open(link).value().metadata().at("step") == "2");

  // What cannot be saved leaves the old file as it is, and nothing beside it.
  const std::string before = read_file(path);
  const st::named_view twice[] = {old_one, old_one};
  CHECK(st::save(path, twice).failure().code == zp::errc::invalid_argument);
  const std::string text_element = "text";
  const st::named_view strings{
      "s",
      {reinterpret_cast<const std::byte*>(&text_element), zp::dtype_kind::string, {}, {}, {}, {}}};
  CHECK(st::save(path, {&strings, 1}).failure().code == zp::errc::unsupported);
  CHECK(read_file(path) == before);
}

TEST_CASE("safetensors: paths that lead nowhere") {
  temp_directory directory;
  const std::string sub = directory / "sub";
  REQUIRE(::mkdir(sub.c_str(), 0700) == 0);
  const auto code = [](const auto& status) {
    REQUIRE(!status);
    return status.failure().code;
  };
  CHECK(code(st::open(sub + "/none.safetensors")) == zp::errc::not_found);
  CHECK(code(st::open(sub + "/none/none.safetensors")) == zp::errc::not_found);
  CHECK(!st::open(sub));
  CHECK(!st::open(""));
  CHECK(!st::open("/"));
  CHECK(!st::save(sub + "/none/new.safetensors", {}));
  CHECK(!st::save(sub + "/", {}));
  CHECK(!st::save("", {}));
  CHECK(!st::save(sub, {}));
  zp::memory_store store;
  const auto missing = st::open(store, key("a/b"));
  CHECK(code(missing) == zp::errc::not_found);
  CHECK(missing.failure().message.find("a/b") != std::string::npos);
}
