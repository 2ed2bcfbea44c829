// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include "support/codec_conformance.hpp"
#include "support/xor_codec.hpp"  // a user's codec: one file

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace registry_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// A user's own zstd in the place of the library's.
struct my_zstd_codec : zp::zstd_codec {
  void fields(zp::configuration_fields& all) {
    zstd_codec::fields(all);
    level = 19;
  }
};

template <class Registry>
std::string names() {
  std::string out;
  for (const zp::codec_entry& entry : Registry::table().entries())
    out.append(out.empty() ? "" : " ").append(entry.name);
  return out;
}

}  // namespace

TEST_CASE("codec_registry: a codec of one's own is one file and one name in a list") {
  using codecs = zp::default_codecs::with<example::xor_codec>;
  const zp::tensor_spec chunk{zp::dtype_kind::float32, {3, 4}};
  const std::vector<zp::codec_spec> specs{
      {"bytes", zp::json(zp::json::object{{"endian", "little"}})},
      {"example.xor", zp::json(zp::json::object{{"key", 0x5a}})},
      {"crc32c"}};
  const zp::codec_chain chain = zp::codec_chain::resolve(specs, chunk, codecs::table()).value();
  random_source random(1);
  sample_tensor tensor(chunk, random);
  zp::codec_workspace scratch;
  const std::vector<std::byte> stored = copy_of(chain.encode(tensor.view(), scratch).value());
  CHECK(stored.size() == 52);
  CHECK(stored[0] == (*tensor.view().data ^ std::byte{0x5a}));
  sample_tensor back(chunk, random);
  REQUIRE(chain.decode(stored, back.target(), scratch));
  CHECK(same_elements(tensor.view(), back.view()));

  const auto without = zp::codec_chain::resolve(specs, chunk, zp::default_codecs::table());
  CHECK(without.failure().code == zp::errc::unsupported);
  CHECK(
      without.failure().message.starts_with("unknown codec \"example.xor\" (not in this library; "
                                            "a codec of your own is added by"));
}

TEST_CASE("codec_registry: the conformance kit is for codecs of users too") {
  codec_conformance(example::xor_codec{std::byte{0x0f}});
}

TEST_CASE("codec_registry: with adds and overrides") {
  using small = zp::codec_registry<zp::bytes_codec, zp::zstd_codec>;
  CHECK(names<small>() == "bytes zstd");
  CHECK(names<zp::codec_registry<>>().empty());
  CHECK(names<small::with<>>() == "bytes zstd");
  CHECK(names<zp::codec_registry<>::with<zp::crc32c_codec>>() == "crc32c");
  using changed = small::with<my_zstd_codec, example::xor_codec>;
  CHECK(names<changed>() == "zstd example.xor bytes");
  CHECK(changed::table().make({"zstd"}).value().spec().configuration.find("level")->to_int64() ==
        19);
  CHECK(small::table().make({"zstd"}).value().spec().configuration.find("level")->to_int64() == 3);
}

TEST_CASE("codec_registry: names that clash are found when compiling") {
  struct entry_names {
    std::string_view name;
    std::array<std::string_view, 1> aliases;
    constexpr zp::codec_entry entry() const {
      return {name, aliases, zp::codec_kind::bytes_to_bytes, nullptr};
    }
  };
  static constexpr entry_names a{"a", {"b"}};
  static constexpr entry_names c{"c", {"d"}};
  static constexpr entry_names b{"b", {"e"}};
  static constexpr entry_names d{"f", {"d"}};
  using zp::detail::names_differ;
  static_assert(names_differ(std::array{a.entry(), c.entry()}));
  static_assert(!names_differ(std::array{a.entry(), a.entry()}));
  static_assert(!names_differ(std::array{a.entry(), b.entry()}));
  static_assert(!names_differ(std::array{b.entry(), a.entry()}));
  static_assert(!names_differ(std::array{c.entry(), d.entry()}));
  CHECK(a.entry().answers_to("b"));
  CHECK_FALSE(a.entry().answers_to("c"));
}

TEST_CASE("codec_table: errors name the codec") {
  const std::string none = zp::codec_table().make({"zstd"}).failure().message;
  CHECK(none.starts_with("unknown codec \"zstd\""));
  CHECK(none.ends_with("; the table of codecs is empty"));
  const auto made =
      zp::default_codecs::table().make({"zstd", zp::json(zp::json::object{{"level", "9"}})});
  CHECK(made.failure().message ==
        "codec \"zstd\": \"level\" is \"9\", not an integer from -2147483648 to 2147483647");
}

TEST_CASE("codec_table: a hostile name is shown cut and without control characters") {
  const std::string name = "\x1b[2J" + std::string(100000, 'x');
  const auto made = zp::default_codecs::table().make({name});
  REQUIRE_FALSE(made);
  CHECK(made.failure().message.size() < 400);
  CHECK(made.failure().message.starts_with("unknown codec \"?[2Jxxx"));
}

}  // namespace registry_test
