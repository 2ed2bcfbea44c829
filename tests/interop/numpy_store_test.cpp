// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/numpy.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zip_inflate.hpp>

#include "support/store_texts.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace numpy_store_test {

using namespace zarrpoint;
using test::key;

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                const std::string& fortran = "False") {
  const std::string text =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }\n";
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text + data;
}

result<checkpoint> opened(const std::string& file) {
  const memory_store folder;
  REQUIRE(folder.put(key("x"), as_bytes(file)));
  ZARRPOINT_TRY(store, numpy::array_store::open(folder, key("x")));
  return open(store);
}

template <class T>
bool refuses(const result<T>& what, errc code, std::string_view text) {
  REQUIRE(!what);
  CAPTURE(what.failure().message);
  return what.failure().code == code && what.failure().message.find(text) != std::string::npos;
}

TEST_CASE("numpy store: an npy file is the array value") {
  const auto from = opened(npy("<i2", "2, 3", {"\1\0\2\0\3\0\4\0\5\0\6\0", 12})).value();
  CHECK(from.names() == std::vector<std::string>{"value"});
  CHECK(from.metadata("value").value().spec == tensor_spec{dtype_kind::int16, {2, 3}});
  const tensor read = from.load<tensor>("value").value();
  const auto at = [](const tensor& of, int i) {
    return std::to_integer<int>(of.view().data[2 * i]);
  };
  for (int i = 0; i < 6; ++i) CHECK(at(read, i) == i + 1);
  // The other byte order, and the other order of axes.
  const tensor big =
      opened(npy(">i2", "2,", {"\0\1\0\2", 4})).value().load<tensor>("value").value();
  CHECK(at(big, 0) == 1);
  CHECK(at(big, 1) == 2);
  const tensor turned = opened(npy("<i2", "2, 3", {"\1\0\4\0\2\0\5\0\3\0\6\0", 12}, "True"))
                            .value()
                            .load<tensor>("value")
                            .value();
  for (int i = 0; i < 6; ++i) CHECK(at(turned, i) == i + 1);
}

TEST_CASE("numpy store: texts are of a fixed length") {
  const auto from = opened(npy("<U2", "1,", {"a\0\0\0b\0\0\0", 8})).value();
  CHECK(from.metadata("value").value().spec.type == dtype::utf32(2));
  // Those without characters are texts, which take no memory however many they say to be.
  const auto none = opened(npy("<U0", "3,", "")).value();
  CHECK(none.load<std::vector<std::string>>("value").value() == std::vector<std::string>(3));
  const auto many = opened(npy("<U0", "1152921504606846976,", ""));
  CHECK((!many || many->metadata("value").value().spec.type == dtype(dtype_kind::string)));
}

TEST_CASE("numpy store: arrays that lie one after another") {
  const std::string one = npy("|u1", "2,", "ab");
  const auto from = opened(one + npy("|u1", "", "c") + npy("<f4", "0, 2", "")).value();
  CHECK(from.names() == std::vector<std::string>{"0", "1", "2"});
  CHECK(from.load<std::uint8_t>("1").value() == 'c');
  CHECK(from.load<tensor>("2").value().shape() == dims{0, 2});
  CHECK(refuses(opened(one + "x"), errc::corrupt, "3 bytes of elements where"));
  CHECK(refuses(opened(one + one.substr(0, 20)), errc::corrupt, "array 1"));
  const memory_store folder;
  REQUIRE(folder.put(key("x"), as_bytes(one + one + one)));
  CHECK(refuses(numpy::array_store::open(folder, key("x"), {.max_arrays = 2}), errc::resource_limit,
                "limits::memory"));
}

TEST_CASE("numpy store: headers that are damaged, and elements that are not known") {
  CHECK(refuses(opened(""), errc::corrupt, "does not begin"));
  const std::string good = npy("|u1", "2,", "ab");
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    CHECK(opened(good.substr(0, cut)).failure().code == errc::corrupt);
  CHECK(refuses(opened(npy("|O", "1,", "abcdefgh")), errc::unsupported, "descr"));
  CHECK(refuses(opened(npy("<f8", "4611686018427387904, 4", "")), errc::out_of_range, ""));
  std::string long_text("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12);
  CHECK(refuses(opened(long_text + good), errc::resource_limit, "npy header"));
}

TEST_CASE("numpy store: the members of an npz file, and their checksums") {
  std::string file = test::zip_of({{"a.npy", npy("|u1", "2,", "ab")},
                                   {"large.npy", npy("|u1", "300000,", std::string(300000, 'l'))},
                                   {"d/b.npy", npy("<i4", "1,", {"\7\0\0\0", 4})},
                                   {"o.npy", npy("|O", "1,", "abcdefgh")},
                                   {"note.txt", "words"}});
  {
    const auto from = opened(file).value();
    CHECK(from.names() == std::vector<std::string>{"a", "d/b", "large", "note.txt", "o"});
    CHECK(from.load<std::vector<std::uint8_t>>("a").value() == std::vector<std::uint8_t>{'a', 'b'});
    CHECK(from.load<std::vector<std::int32_t>>("d/b").value() == std::vector<std::int32_t>{7});
    CHECK(from.load<tensor>("o").failure().code == errc::unsupported);
    CHECK(from.load<tensor>("note.txt").failure().code == errc::unsupported);
  }
  file[file.find("}\nab") + 3] = 'x';
  file[file.find("lllll") + 150000] = 'x';
  const auto damaged = opened(file).value();
  // One that is small is read as a whole for its header, which then is none.
  CHECK(refuses(damaged.load<tensor>("a"), errc::unsupported, "\"a\""));
  CHECK(refuses(damaged.load<tensor>("large"), errc::corrupt, "crc32"));
  CHECK(damaged.load<tensor>("d/b"));
  CHECK(refuses(opened(test::zip_of({{"note.txt", "words"}})), errc::unsupported, "npy"));
  CHECK(refuses(opened(test::zip_of({{"a.npy", ""}, {"a.npy", ""}})), errc::corrupt, "twice"));
}

TEST_CASE("numpy store: members that are deflated need a decoder") {
  const std::string text = npy("|u1", "2,", "ab");
  const auto size = static_cast<std::uint16_t>(text.size());
  std::string deflated("\1", 1);  // one last block, stored
  for (const unsigned half : {unsigned{size}, ~unsigned{size}}) {
    deflated += static_cast<char>(half & 0xff);
    deflated += static_cast<char>(half >> 8 & 0xff);
  }
  deflated += text;
  const std::string file = test::zip_of(
      {{"a.npy", deflated, 8, text.size(), zarrpoint::detail::crc32(0, as_bytes(text))}});
  const memory_store folder;
  REQUIRE(folder.put(key("x"), as_bytes(file)));
  const auto without = open(numpy::array_store::open(folder, key("x")).value()).value();
  CHECK(without.load<tensor>("a").failure().code == errc::unsupported);
  const auto with =
      open(numpy::array_store::open(folder, key("x"), {.inflate = zip_inflate}).value()).value();
  CHECK(with.load<std::vector<std::uint8_t>>("a").value() == std::vector<std::uint8_t>{'a', 'b'});
}

}  // namespace numpy_store_test
