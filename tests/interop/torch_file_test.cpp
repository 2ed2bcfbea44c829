// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "pickle_bytes.hpp"
#include "support/random_rounds.hpp"
#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

namespace torch_file_test {

using namespace zarrpoint;
using namespace std::string_literals;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/torch";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

/// The elements, by reading them and, where that can be, by their view.
template <class T>
std::vector<T> elements(const torch::file& from, const torch::pickle_value& of) {
  const torch::tensor_info info = from.tensor(of).value();
  tensor copy = tensor::make(info.spec).value();
  from.read(info, copy.mutable_view()).value();
  tensor seen = tensor::make(info.spec).value();
  const torch::tensor_in_file view = from.view(info).value();
  copy_elements(seen.mutable_view(), view.elements);
  const auto out = copy.data<T>();
  const auto by_view = seen.data<T>();
  CHECK(std::equal(out.begin(), out.end(), by_view.begin(), by_view.end(),
                   [](const T& a, const T& b) { return a == b; }));
  return {out.begin(), out.end()};
}

TEST_CASE("torch_file: what PyTorch 1.13 and 2.15 wrote") {
  const any_store store = file_store::open(golden).value();
  for (const char* name : {"torch-1.13.0.pt", "torch-2.15.0.pt"}) {
    CAPTURE(name);
    const torch::file file = torch::open(store, key(name)).value();
    const auto at = [&](std::string_view member) { return file.root().find(member).value(); };
    // arange(24).reshape(4, 6).t()[1:, ::2]
    const torch::tensor_info part = file.tensor(at("part")).value();
    CHECK(part.spec.shape == dims{5, 2});
    CHECK(part.strides == dims{4, 48});
    CHECK(elements<float>(file, at("part")) ==
          std::vector<float>{1, 13, 2, 14, 3, 15, 4, 16, 5, 17});
    CHECK(file.tensor(at("parameter")).value().requires_grad);
    CHECK(elements<float>(file, at("parameter")) == std::vector<float>{1, 1});
    CHECK(elements<float>(file, at("expanded")) == std::vector<float>(6, 5));
    CHECK(elements<bool>(file, at("bools")) == std::vector<bool>{true, false});
    CHECK(file.tensor(at("empty")).value().spec.shape == dims{0, 4});
    CHECK(elements<float>(file, at("empty")).empty());
    CHECK(elements<bfloat16>(file, at("bf16"))[1] == bfloat16(-2.0F));
    CHECK(elements<std::int64_t>(file, at("shared").element(1)) == std::vector<std::int64_t>{2, 3});
    CHECK(file.tensor(at("shared").element(0)).value().storage ==
          file.tensor(at("shared").element(1)).value().storage);
    CHECK(file.tensor(at("complex")).value().spec.type == dtype(dtype_kind::complex64));
    CHECK(as_text(torch::to_bytes(at("bytes")).value()) == "a\xff");
    CHECK(at("step").to_int64() == 7);
    CHECK(file.tensor(at("step")).failure().code == errc::invalid_argument);
    CHECK(torch::to_json(file.root()).failure().code == errc::unsupported);

    const torch::tensor_info info = file.tensor(at("bf16")).value();
    tensor wrong = tensor::make({dtype_kind::float16, {2}}).value();
    CHECK(file.read(info, wrong.mutable_view()).failure().code == errc::dtype_mismatch);
    wrong = tensor::make({dtype_kind::bfloat16, {3}}).value();
    CHECK(file.read(info, wrong.mutable_view()).failure().code == errc::shape_mismatch);
  }
  const torch::file file = torch::open(store, key("torch-2.15.0.pt")).value();
  CHECK(elements<std::uint16_t>(file, *file.root().find("u16")) ==
        std::vector<std::uint16_t>{1, 65535});
  CHECK(elements<float8_e4m3fn>(file, *file.root().find("f8"))[1] == float8_e4m3fn(-0.5F));
}

TEST_CASE("torch_file: files of another kind are refused by name") {
  const any_store store = file_store::open(golden).value();
  const error other = torch::open(test::blob_of("\x80\x02K\x07."s)).failure();
  CHECK(other.code == errc::unsupported);
  CHECK(other.message.find("torch.save did not write") != std::string::npos);
  CHECK(torch::open(store, key("missing.pt")).failure().code == errc::not_found);
  CHECK(torch::open(store, key("PROVENANCE.md")).failure().code == errc::corrupt);
  CHECK(torch::open(test::blob_of("")).failure().code == errc::corrupt);
  CHECK(torch::open(test::blob_of(test::zip_of({{"a/b", "c"}, {"d", ""}}))).failure().code ==
        errc::corrupt);
  CHECK(torch::open(test::blob_of(test::zip_of({{"a/data.pkl", "c"}}))).failure().code ==
        errc::unsupported);
  const std::string seven = "\x80\x02K\x07."s;
  const auto opened = [&](const char* order) {
    return torch::open(
        test::blob_of(test::zip_of({{"any name/data.pkl", seven}, {"any name/byteorder", order}})));
  };
  CHECK(opened("little").value().root().to_int64() == 7);
  CHECK(opened("big").value().root().to_int64() == 7);
  CHECK(opened("middle").failure().code == errc::corrupt);
  CHECK(torch::open(test::blob_of(test::zip_of({{"a/data.pkl", seven}})), {.max_bytes = 4})
            .failure()
            .code == errc::resource_limit);
}

std::string file_with(const std::string& type, const std::string& data, const char* order) {
  const std::string pickle =
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n((X" +
      "\7\0\0\0storagectorch\n"s + type +
      "\nX\1\0\0\0"
      "0X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89}tR."s;
  return test::zip_of({{"a/data.pkl", pickle}, {"a/byteorder", order}, {"a/data/0", data}});
}

TEST_CASE("torch_file: storages that are not what their tensors say") {
  const auto read = [](const std::string& bytes) -> result<void> {
    ZARRPOINT_TRY(file, torch::open(test::blob_of(bytes)));
    ZARRPOINT_TRY(info, file.tensor(file.root()));
    ZARRPOINT_TRY(into, tensor::make(info.spec));
    return file.read(info, into.mutable_view());
  };
  const auto code = [&](const std::string& bytes) { return read(bytes).failure().code; };
  CHECK(read(file_with("ShortStorage", "\1\2\3\4", "little")));
  CHECK(read(file_with("ByteStorage", "ab", "big")));
  CHECK(code(file_with("ShortStorage", "\1\2\3\4", "big")) == errc::unsupported);
  CHECK(code(file_with("ShortStorage", "\1\2\3", "little")) == errc::corrupt);
  CHECK(code(file_with("ShortStorage", "\1\2\3\4\5", "little")) == errc::corrupt);
  CHECK(code(file_with("BoolStorage", "\1\2", "little")) == errc::corrupt);
  std::string renamed = file_with("ByteStorage", "ab", "little");
  for (std::size_t at = 0; (at = renamed.find("a/data/0", at)) != renamed.npos;)
    renamed[at + 7] = '1';
  CHECK(code(renamed) == errc::corrupt);
}

TEST_CASE("torch_file: cut short or bits turned, it is a value or an error") {
  const std::string bytes = test::read_file(golden + "/torch-2.15.0.pt");
  int broken = 0;
  const auto visit = [&](const std::string& damaged, bool is_cut) {
    const auto file = torch::open(test::blob_of(damaged));
    if (is_cut) CHECK_FALSE(file);
    if (!file) return void(++broken);
    for (std::size_t i = 0; i < file->root().member_count(); ++i) {
      const auto info = file->tensor(file->root().member(i));
      if (!info || byte_count(info->spec).value() > 4096) continue;
      tensor into = tensor::make(info->spec).value();
      const auto read = file->read(*info, into.mutable_view());
      if (!read) ++broken;
    }
  };
  for (std::size_t size = 0; size < bytes.size(); size += 7) visit(bytes.substr(0, size), true);
  broken = 0;
  std::mt19937 random(5);
  constexpr int rounds = zarrpoint_test::random_rounds(4000);
  for (int i = 0; i < rounds; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    visit(damaged, false);
  }
  CHECK(broken > rounds / 4);
}

}  // namespace torch_file_test
