// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "pickle_bytes.hpp"
#include "support/random_rounds.hpp"
#include "support/store_texts.hpp"
#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace archive_walk_test {

using namespace zarrpoint;
using namespace std::string_literals;
using test::key;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/torch/rebuild";

std::string text_of(const any_store& store, std::string_view name) {
  const auto chunk = get(store, key(std::string(name) + "/c"), 1 << 20).value();
  return std::string(as_text(*chunk).substr(8));  // one text, and its size, go before it
}

TEST_CASE("archive_walk: the weights of a module are arrays, the rest names them") {
  const any_store folder = file_store::open(golden).value();
  for (const char* file : {"module.pt", "legacy_module.pt"}) {
    CAPTURE(file);
    const any_store store = torch::archive_store::open(folder, key(file)).value();
    for (const char* name : {"first/weight", "rest/0/bias", "rest/1/running_mean", "table/ages"})
      CHECK(array::open(store, key(name)));
    CHECK_FALSE(array::open(store, key("same/0/weight")));  // is told as first/weight
    const std::string text = text_of(store, "@object");
    CHECK(text.starts_with(R"({"__class__":"__main__.Net")"));
    CHECK(text.find(R"("weight":{"__array__":"first/weight"})") != text.npos);
    CHECK(text.find("base64") == text.npos);
  }
}

TEST_CASE("archive_walk: an object that lies within itself") {
  const any_store folder = file_store::open(golden).value();
  const any_store store = torch::archive_store::open(folder, key("object.pt")).value();
  CHECK(array::open(store, key("bag/scale")));
  CHECK(text_of(store, "bag/@object").find("within itself") != std::string::npos);
}

// A tensor in a storage of one byte, by the opcodes of its length.
std::string tensor_of(const std::string& length) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nByteStorage\nX\1\0\0\0000"
         "X\3\0\0\0cpuK\1tQK\0"s +
         length + "\x85K\0\x85\x89}tR"s;
}
const std::string one_byte = tensor_of("K\1");

result<torch::archive_store> open_pickle(const std::string& pickle,
                                         const torch::pickle_limits& limits = {}) {
  return torch::archive_store::open(
      test::blob_of(test::zip_of({{"a/data.pkl", "\x80\x02" + pickle + "."}, {"a/data/0", "x"}})),
      limits);
}

bool is_refused(const std::string& pickle, const torch::pickle_limits& limits) {
  const auto made = open_pickle(pickle, limits);
  return !made && made.failure().code == errc::resource_limit;
}

TEST_CASE("archive_walk: of dicts with tensors as keys no value and no key is lost") {
  // Two keys of one shape, as in the state of an optimiser.
  const any_store store = open_pickle("}(" + one_byte + one_byte + one_byte + "K\5u").value();
  std::size_t arrays = 0;
  for (const list_entry& one : store.list(key("")).value())
    if (one.is_prefix && array::open(store, key(one.name))) ++arrays;
  CHECK(arrays == 4);
}

TEST_CASE("archive_walk: what names and keys take is bounded by the limits") {
  const torch::pickle_limits limits{.max_bytes = 1 << 16, .max_values = 1 << 12};
  const std::string name = "X\x10\x27\0\0"s + std::string(10000, 'k');
  std::string shared = "](}" + name + one_byte + "sq\1";
  CHECK(open_pickle(shared + "h\1e"s, limits));
  for (int i = 0; i < 8; ++i) shared += "h\1"s;
  CHECK(is_refused(shared + "e", limits));
  // One key many times, in a dict that is there many times.
  std::string again = "](}(U\1kq\2" + one_byte + "q\3";
  for (int i = 0; i < 200; ++i) again += "h\2h\3"s;
  again += "uq\1";
  for (int i = 0; i < 20; ++i) again += "h\1"s;
  CHECK(is_refused(again + "e", limits));
}

TEST_CASE("archive_walk: the elements of arrays of numpy are looked at once, within the limits") {
  const torch::pickle_limits limits{.max_bytes = 1 << 13, .max_values = 1 << 12};
  const std::string array = "cnumpy.core.numeric\n_frombuffer\n(";
  const std::string rest = "cnumpy\ndtype\n(U\2u1tRM\xd0\7\x85U\1CtR"s;
  const std::string bytes = "B\xd0\7\0\0"s + std::string(2000, 'b');
  std::string same = "](" + array + bytes + "q\1"s + rest + "q\2"s;
  std::string others = same;
  for (int i = 0; i < 20; ++i) same += "h\2"s, others += array + "h\1"s + rest;
  const any_store store = open_pickle(same + "e", limits).value();
  CHECK(get(store, key("20/c/0"), 1 << 20).value()->size() == 2000);
  CHECK(is_refused(others + "e", limits));
}

TEST_CASE("archive_walk: an expanded tensor takes no more than the limits allow") {
  const torch::pickle_limits limits{.max_bytes = 500, .max_values = 1 << 12};
  for (const bool large : {false, true}) {
    const any_store store = open_pickle(tensor_of(large ? "M\xe8\3"s : "K\7"s), limits).value();
    const auto read = get(store, key("value/c/0"), 1 << 20);
    REQUIRE(read.has_value() != large);
    if (large) CHECK(read.failure().code == errc::resource_limit);
  }
}

TEST_CASE("archive_walk: a small pickle that is a large tree is refused, as a cycle is not") {
  const auto storage = "((X\7\0\0\0storagectorch\nByteStorage\nX\1\0\0\0000X\3\0\0\0cpuK\1tQ"s;
  const std::string tensor =
      "ctorch._utils\n_rebuild_tensor_v2\n" + storage + "K\0K\1\x85K\1\x85\x89}tR"s;
  const auto opened = [&](const std::string& pickle) {
    return torch::archive_store::open(
        test::blob_of(test::zip_of({{"a/data.pkl", "\x80\x02" + pickle + "."}, {"a/data/0", "x"}})),
        {.max_values = 10'000});
  };
  std::string tree = tensor;
  for (int i = 0; i < 40; ++i) tree += "2\x86";  // a pair of what is there
  const auto large = opened(tree);
  REQUIRE_FALSE(large);
  CHECK(large.failure().code == errc::resource_limit);
  const any_store cycle = opened("]q\0(h\0"s + tensor + "e").value();
  CHECK(array::open(cycle, key("1")));
  CHECK(text_of(cycle, "0").find("within itself") != std::string::npos);
}

TEST_CASE("archive_walk: what is not read has its storages and its description as bytes") {
  const any_store folder = file_store::open(golden).value();
  const any_store store = torch::archive_store::open(folder, key("quantised.pt")).value();
  const auto opened = array::open(store, key("t"));
  REQUIRE_FALSE(opened);
  CHECK(opened.failure().code == errc::unsupported);
  CHECK(get(store, key("t/c/0"), 1 << 20).value()->size() == 6);
  const auto told = get(store, key("t/c/1"), 1 << 20).value();
  CHECK(as_text(*told).find("per_tensor_affine") != std::string_view::npos);
  CHECK(get(store, key("t/c/2"), 1 << 20).value() == std::nullopt);
  CHECK(array::open(store, key("w")));
}

TEST_CASE("archive_walk: bits turned, each file is a hierarchy or an error") {
  std::mt19937 random(11);
  constexpr int rounds = zarrpoint_test::random_rounds(300);
  int opened = 0;
  for (const char* name : {"module.pt", "sparse_coo.pt", "jagged.pt", "object.pt", "numpy.pt",
                           "legacy_signs.pt", "script.pt"}) {
    const std::string bytes = test::read_file(golden + "/" + name);
    for (int i = 0; i < rounds; ++i) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
      const auto made = torch::archive_store::open(test::blob_of(damaged));
      if (!made) continue;
      ++opened;
      const any_store store = *made;
      std::vector<std::string> open{""};
      while (!open.empty()) {
        const std::string at = open.back();
        open.pop_back();
        for (const list_entry& one : store.list(key(at)).value()) {
          const std::string below = at.empty() ? one.name : at + "/" + one.name;
          if (one.is_prefix) {
            open.push_back(below);
          } else {
            (void)get(store, key(below), 1 << 20);
          }
        }
      }
    }
  }
  CHECK(opened > rounds);
}

}  // namespace archive_walk_test
