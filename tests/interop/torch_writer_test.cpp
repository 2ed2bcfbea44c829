// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

namespace torch_writer_test {

using namespace zarrpoint;
using namespace std::string_literals;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

tensor counted(const tensor_spec& spec) {
  tensor out = tensor::make(spec).value();
  std::byte* const bytes = out.mutable_view().data;
  for (std::size_t i = 0; i < out.size() * spec.type.size(); ++i)
    bytes[i] = static_cast<std::byte>(spec.type.kind() == dtype_kind::bool_ ? i % 2 : i % 251);
  return out;
}

std::string record(const any_store& store, std::string_view file, std::string_view name) {
  const auto archive = zip_store::open(store, key(file)).value();
  return std::string(as_text(get(archive, key(name), 1 << 20).value().value()));
}

TEST_CASE("torch_writer: tensors of every type come back, strided ones too") {
  const memory_store store;
  int types = 0;
  for (const dtype_kind kind : all_dtype_kinds) {
    if (!torch::dtype_name(kind)) continue;
    ++types;
    const tensor made = counted({kind, {3, 5}});
    host_view turned = made.view();
    std::swap(turned.shape[0], turned.shape[1]);
    std::swap(turned.strides[0], turned.strides[1]);
    const tensor scalar = counted({kind, {}});
    const tensor none = counted({kind, {0, 2}});
    torch::save(store, key("t.pt"),
                torch::value::list{made.view(), turned, scalar.view(), none.view()})
        .value();
    const torch::file file = torch::open(store, key("t.pt")).value();
    REQUIRE(file.root().element_count() == 4);
    const host_view expected[] = {made.view(), turned, scalar.view(), none.view()};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto info = file.tensor(file.root().element(i)).value();
      CHECK(info.spec == expected[i].spec());
      CHECK(is_dense(file.view(info).value().elements));
      tensor a = tensor::make(info.spec).value(), b = tensor::make(info.spec).value();
      file.read(info, a.mutable_view()).value();
      if (a.size() == 0) continue;
      copy_elements(b.mutable_view(), expected[i]);
      CHECK(std::memcmp(a.view().data, b.view().data, a.size() * info.spec.type.size()) == 0);
    }
  }
  CHECK(types == 21);
}

TEST_CASE("torch_writer: the pickle is that of PyTorch 2.15") {
  const memory_store store;
  const tensor wide = counted({dtype_kind::uint16, {3}});
  torch::save(store, key("a.pt"), wide.view()).value();
  // torch.save(torch.zeros(3, dtype=torch.uint16), ...)
  CHECK(record(store, "a.pt", "archive/data.pkl") ==
        "\x80\x02"
        "ctorch._utils\n_rebuild_tensor_v3\nq\0((X\7\0\0\0storageq\1ctorch."
        "storage\nUntypedStorage\nq\2X\1\0\0\0"
        "0q\3X\3\0\0\0cpuq\4K\6tq\5QK\0K\3\x85q"
        "\6K\1\x85q\7\x89"
        "ccollections\nOrderedDict\nq\x08)Rq\tctorch\nuint16\nq\ntq"
        "\x0bRq\x0c."s);
  CHECK(record(store, "a.pt", "archive/version") == "3\n");
  CHECK(record(store, "a.pt", "archive/byteorder") == "little");
  CHECK(record(store, "a.pt", "archive/data/0").size() == 6);
}

TEST_CASE("torch_writer: values, bytes and the name of the archive; always the same file") {
  const memory_store store;
  const json plain = json::object{{"iteration", 7}, {"names", json::array{"a", nullptr, 1.5}}};
  const torch::value::dict tree{{"plain", plain},
                                {"bytes", torch::value::bytes{std::byte{0}, std::byte{0xff}}},
                                {"list", torch::value::list{json(true), torch::value::dict{}}}};
  torch::save(store, key("a.pt"), tree, "common").value();
  torch::save(store, key("b.pt"), tree, "common").value();
  CHECK(get(store, key("a.pt"), 1 << 20).value() == get(store, key("b.pt"), 1 << 20).value());
  const torch::file file = torch::open(store, key("a.pt")).value();
  CHECK(torch::to_json(*file.root().find("plain")).value() == plain);
  CHECK(as_text(torch::to_bytes(*file.root().find("bytes")).value()) ==
        std::string_view("\0\xff", 2));
  CHECK(torch::to_json(*file.root().find("list")).value() ==
        json(json::array{true, json::object{}}));
  CHECK(record(store, "a.pt", "common/version") == "3\n");
}

TEST_CASE("torch_writer: what PyTorch cannot read is not written") {
  const memory_store store;
  const auto refused = [&](const torch::value& what, std::string_view prefix = "archive") {
    const auto done = torch::save(store, key("bad.pt"), what, prefix);
    REQUIRE_FALSE(done);
    CHECK(store.open(key("bad.pt")).value() == nullptr);
    return done.failure().code;
  };
  const tensor strange = counted({dtype_kind::float8_e3m4, {2}});
  CHECK(refused(torch::value::dict{{"x", strange.view()}}) == errc::unsupported);
  CHECK(refused(json("\xff")) == errc::invalid_argument);
  CHECK(refused(torch::value::dict{{"\xff", json()}}) == errc::invalid_argument);
  CHECK(refused(json(), "") == errc::invalid_argument);
  CHECK(refused(json(), "a/b") == errc::invalid_argument);
  CHECK(refused(json(), "..") == errc::invalid_argument);
  torch::value deep;
  for (int i = 0; i < 101; ++i) deep = torch::value::list{std::move(deep)};
  CHECK(refused(deep) == errc::invalid_argument);
}

}  // namespace torch_writer_test
