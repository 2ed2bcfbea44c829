// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "pickle_bytes.hpp"
#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace legacy_file_test {

using namespace zarrpoint;
using namespace std::string_literals;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/torch";

const std::string magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;
const std::string version = "\x80\x02M\xe9\x03."s;
const std::string facts = "\x80\x02}."s;

/// A tensor of two shorts in the storage "0" of four; `view`: which part of it is its storage.
std::string tensor_pickle(const std::string& offset, const std::string& view = "N") {
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n((X"
         "\7\0\0\0storagectorch\nShortStorage\nX\1\0\0\0"
         "0X\3\0\0\0cpuK\4"s +
         view + "tQ" + offset + "K\2\x85K\1\x85\x89}tR."s;
}

const std::string names = "\x80\x02]X\1\0\0\0000a."s;
const std::string four = "\4\0\0\0\0\0\0\0\1\0\2\0\3\0\4\0"s;

result<std::vector<std::int16_t>> read(const std::string& bytes) {
  ZARRPOINT_TRY(file, torch::open(test::blob_of(bytes)));
  ZARRPOINT_TRY(info, file.tensor(file.root()));
  ZARRPOINT_TRY(into, tensor::make(info.spec));
  ZARRPOINT_CHECK(file.read(info, into.mutable_view()));
  const auto out = into.data<std::int16_t>();
  return std::vector<std::int16_t>(out.begin(), out.end());
}

TEST_CASE("legacy_file: what PyTorch wrote before its archives") {
  const std::string bytes = test::read_file(golden + "/legacy.pt");
  CHECK(torch::is_legacy_file(as_bytes(bytes).first(32)));
  CHECK_FALSE(torch::is_legacy_file(as_bytes("PK\x03\x04")));
  CHECK_FALSE(torch::is_legacy_file({}));
  CHECK(torch::open(test::blob_of(bytes)));
  using shorts = std::vector<std::int16_t>;
  const std::string head = magic + version + facts;
  CHECK(read(head + tensor_pickle("K\1") + names + four).value() == shorts{2, 3});
  const std::string view = "(X\1\0\0\0001K\2K\2t"s;
  CHECK(read(head + tensor_pickle("K\0"s, view) + names + four).value() == shorts{3, 4});
}

TEST_CASE("legacy_file: what is not one says what it is") {
  const auto message = [](const std::string& bytes) {
    const auto opened = torch::open(test::blob_of(bytes));
    REQUIRE_FALSE(opened);
    return opened.failure().message;
  };
  const auto has = [&](const std::string& bytes, const char* text) {
    CHECK(message(bytes).find(text) != std::string::npos);
  };
  has("\x80\x02K\7."s, "torch.save did not write");
  has("sys_info"s + std::string(249, '\0') + "ustar" + std::string(20, '\0'), "tar archive");
  has(magic + "\x80\x02K\7."s, "another version");
  const std::string head = magic + version + facts;
  has(head, "ends within a pickle");
  has(head + tensor_pickle("K\0"s), "ends within a pickle");
  has(head + tensor_pickle("K\0"s) + names, "ends before it does");
  has(head + tensor_pickle("K\0"s) + names + four.substr(0, 15), "ends before it does");
  has(head + tensor_pickle("K\0"s) + names + "\5" + four.substr(1), "another size");
  has(head + tensor_pickle("K\0"s) + names + four + "x", "1 bytes follow");
  has(head + tensor_pickle("K\0"s) + "\x80\x02]X\1\0\0\0001a."s + four, "that no tensor has");
  CHECK(read(head + tensor_pickle("K\3"s) + names + four).failure().code == errc::corrupt);
  CHECK(read(head + tensor_pickle("K\1"s, "(X\1\0\0\0001K\2K\2t"s) + names + four).failure().code ==
        errc::corrupt);
  CHECK(torch::open(test::blob_of(head + tensor_pickle("K\0"s) + names + four), {.max_bytes = 24})
            .failure()
            .code == errc::resource_limit);
}

TEST_CASE("legacy_file: cut short or bits turned, it is a value or an error") {
  const std::string bytes = test::read_file(golden + "/legacy.pt");
  test::for_each_damage(bytes, 2000, [](const std::string& damaged, bool is_cut) {
    const auto file = torch::open(test::blob_of(damaged));
    if (is_cut) CHECK_FALSE(file);
    if (!file) return;
    for (std::size_t i = 0; i < file->root().member_count(); ++i) {
      const auto info = file->tensor(file->root().member(i));
      if (!info || byte_count(info->spec).value_or(1 << 20) > 4096) continue;
      tensor into = tensor::make(info->spec).value();
      (void)file->read(*info, into.mutable_view());
    }
  });
}

}  // namespace legacy_file_test
