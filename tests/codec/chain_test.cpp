// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include "support/codec_conformance.hpp"
#include "support/xor_codec.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace chain_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// A codec that makes new elements: int16 as int32.
struct widen_codec {
  static constexpr std::string_view name = "example.widen";

  static zp::result<widen_codec> from_configuration(const zp::json&) { return widen_codec{}; }
  zp::json configuration() const { return {}; }
  zp::result<widen_codec> resolve(const zp::tensor_spec& decoded) const {
    if (decoded.type == zp::dtype_kind::int16) return *this;
    return zp::error{zp::errc::invalid_argument, "only int16 can be widened"};
  }
  zp::tensor_spec encoded_spec(const zp::tensor_spec& decoded) const {
    return {zp::dtype_kind::int32, decoded.shape};
  }
  zp::result<void> encode(const zp::host_view& from, const zp::mutable_host_view& to,
                          zp::codec_workspace&) const {
    convert<std::int32_t, std::int16_t>(from, to);
    return {};
  }
  zp::result<void> decode(const zp::host_view& from, const zp::mutable_host_view& to,
                          zp::codec_workspace&) const {
    convert<std::int16_t, std::int32_t>(from, to);
    return {};
  }

 private:
  template <class To, class From>
  static void convert(const zp::host_view& from, const zp::mutable_host_view& to) {
    for_each_coordinate(from.shape, [&](const zp::dims& at) {
      From value;
      std::memcpy(&value, from.data + offset_of(at, from.strides), sizeof value);
      const To out = static_cast<To>(value);
      std::memcpy(to.data + offset_of(at, to.strides), &out, sizeof out);
    });
  }
};

/// A codec in place whose bytes come back one too few.
struct losing_codec {
  static constexpr std::string_view name = "example.losing";
  static constexpr bool fixed_size = true;

  static zp::result<losing_codec> from_configuration(const zp::json&) { return losing_codec{}; }
  zp::json configuration() const { return {}; }
  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
  zp::result<std::size_t> encode_in_place(zp::mutable_bytes, std::size_t used) const {
    return used;
  }
  zp::result<zp::bytes_view> decode_in_place(zp::bytes_view stored) const {
    return stored.first(stored.size() - 1);
  }
};

/// A codec that tells nobody how much four bytes decode to: one string of as many bytes, without
/// the eight that vlen-utf8 has before it.
struct growing_codec {
  static constexpr std::string_view name = "example.growing";
  static constexpr bool fixed_size = false;

  static zp::result<growing_codec> from_configuration(const zp::json&) { return growing_codec{}; }
  zp::json configuration() const { return {}; }
  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
  zp::result<std::size_t> encode(zp::bytes_view, zp::mutable_bytes, zp::codec_workspace&) const {
    return zp::error{zp::errc::unsupported, "example.growing does not encode"};
  }
  zp::result<std::size_t> decode(zp::bytes_view from, zp::mutable_bytes to,
                                 zp::codec_workspace&) const {
    const std::size_t size = zp::load_le<std::uint32_t>(from.data());
    if (size > to.size()) return zp::error{zp::errc::out_of_range, "no room"};
    std::fill_n(to.begin(), size, std::byte{'a'});
    zp::store_le<std::uint32_t>(to.data(), 1);
    zp::store_le<std::uint32_t>(to.data() + 4, static_cast<std::uint32_t>(size - 8));
    return size;
  }
};

using codecs =
    zp::default_codecs::with<example::xor_codec, widen_codec, losing_codec, growing_codec>;

const zp::codec_spec little{"bytes", zp::json(zp::json::object{{"endian", "little"}})};
const zp::codec_spec big{"bytes", zp::json(zp::json::object{{"endian", "big"}})};
const zp::codec_spec native = zp::native_endian == zp::endian::little ? little : big;
const zp::codec_spec other = zp::native_endian == zp::endian::little ? big : little;
const zp::codec_spec vlen{"vlen-utf8"};
const zp::codec_spec crc{"crc32c"};
const zp::codec_spec zstd{"zstd", zp::json(zp::json::object{{"level", 1}})};
const zp::codec_spec exclusive_or{"example.xor"};
const zp::codec_spec widen{"example.widen"};
zp::codec_spec transpose(zp::json::array order) {
  return {"transpose", zp::json(zp::json::object{{"order", std::move(order)}})};
}

using specs = std::vector<zp::codec_spec>;
const zp::tensor_spec int16_chunk{zp::dtype_kind::int16, {6, 7, 2}};

zp::codec_chain make(const specs& list, const zp::tensor_spec& chunk = int16_chunk) {
  auto chain = zp::codec_chain::resolve(list, chunk, codecs::table());
  REQUIRE_MESSAGE(chain, zp::to_string(chain.failure()));
  return std::move(chain).value();
}

zp::error refused(const specs& list, const zp::tensor_spec& chunk = int16_chunk) {
  auto chain = zp::codec_chain::resolve(list, chunk, codecs::table());
  REQUIRE_FALSE(chain);
  return std::move(chain).failure();
}

std::vector<std::byte> stored_by(const zp::codec_chain& chain, sample_tensor& tensor) {
  zp::codec_workspace scratch;
  return copy_of(chain.encode(tensor.view(), scratch).value());
}

}  // namespace

TEST_CASE("codec_chain: chains of every make, through every layout, damaged and on a budget") {
  const zp::codec_spec axes = transpose({2, 0, 1});
  random_source random(4);
  for (const specs& list : {specs{little},
                            {big},
                            {little, crc},
                            {big, zstd},
                            {little, zstd, crc},
                            {big, zstd, crc},
                            {little, crc, zstd},
                            {little, crc, zstd, crc, exclusive_or},
                            {axes, little, zstd},
                            {axes, big, crc},
                            {widen, little},
                            {axes, widen, big, zstd, crc},
                            {widen, axes, little, exclusive_or, zstd},
                            {axes, widen, axes, little, zstd, zstd, crc, crc},
                            {little, exclusive_or, crc, exclusive_or, crc, zstd, exclusive_or}}) {
    std::string names;
    for (const zp::codec_spec& one : list) names += one.name + ' ';
    CAPTURE(names);
    conformance::check_chain(make(list), random);
    conformance::check_budgets(make(list), random);
  }
}

TEST_CASE("codec_chain: chains of strings") {
  const zp::tensor_spec chunk{zp::dtype_kind::string, {3, 4}};
  random_source random(4);
  for (const specs& list : {specs{vlen},
                            {vlen, crc},
                            {vlen, zstd},
                            {transpose({1, 0}), vlen, zstd, crc},
                            {vlen, crc, zstd, exclusive_or, zstd}}) {
    const zp::codec_chain chain = make(list, chunk);
    CHECK_FALSE(chain.fixed_size());
    CHECK_FALSE(chain.is_raw());
    CHECK(chain.encoded_bound() == UINT64_MAX);
    CHECK(chain.stored_limit() == UINT64_MAX);
    conformance::check_chain(chain, random);
    conformance::check_budgets(chain, random);
  }
}

TEST_CASE("codec_chain: what it says of itself") {
  const std::uint64_t bytes = 6 * 7 * 2 * 2;
  CHECK(make({native}).is_raw());
  CHECK(make({native}).fixed_size());
  CHECK(make({native}).encoded_bound() == bytes);
  CHECK(make({native}).stored_limit() == bytes);
  CHECK_FALSE(make({native}).ends_with_crc32c());
  CHECK(make({native}).chunk_spec() == int16_chunk);

  CHECK_FALSE(make({other}).is_raw());
  CHECK(make({other}).fixed_size());
  CHECK(make({other}, {zp::dtype_kind::int8, {3}}).is_raw());
  CHECK_FALSE(make({native}, {zp::dtype_kind::bool_, {3}}).is_raw());

  CHECK_FALSE(make({native, crc}).is_raw());
  CHECK(make({native, crc}).fixed_size());
  CHECK(make({native, crc}).encoded_bound() == bytes + 4);
  CHECK(make({native, crc}).ends_with_crc32c());
  CHECK_FALSE(make({native, crc, zstd}).ends_with_crc32c());

  CHECK_FALSE(make({native, zstd}).fixed_size());
  CHECK(make({native, zstd}).encoded_bound() >= bytes);
  CHECK(make({native, zstd}).stored_limit() > make({native, zstd}).encoded_bound());
  CHECK(make({widen, native}).encoded_bound() == 2 * bytes);
  CHECK_FALSE(make({widen, native}).is_raw());

  CHECK_FALSE(make({transpose({2, 1, 0}), native}).is_raw());
  CHECK(make({transpose({0, 1, 2}), native}).is_raw());
  CHECK(make({transpose({1, 0}), native}, {zp::dtype_kind::int16, {1, 9}}).is_raw());
}

TEST_CASE("codec_chain: a raw chain lends and takes the memory itself") {
  random_source random(6);
  const zp::codec_chain raw = make({native});
  sample_tensor tensor(int16_chunk, random);
  zp::codec_workspace scratch;
  CHECK(raw.encode(tensor.view(), scratch)->data() == tensor.view().data);
  const auto target = raw.direct_target(tensor.target());
  REQUIRE(target);
  CHECK(target->data() == tensor.target().data);
  CHECK(target->size() == raw.encoded_bound());

  zp::mutable_host_view view = tensor.target();
  std::swap(view.strides[0], view.strides[1]);
  std::swap(view.shape[0], view.shape[1]);
  CHECK_FALSE(raw.direct_target(view));
  CHECK_FALSE(make({native, crc}).direct_target(tensor.target()));
  CHECK_FALSE(make({other}).direct_target(tensor.target()));
  sample_tensor flag({zp::dtype_kind::bool_, {8}}, random);
  CHECK_FALSE(make({native}, {zp::dtype_kind::bool_, {8}}).direct_target(flag.target()));
}

TEST_CASE("codec_chain: decoding into dense native memory needs no scratch but the decoder's") {
  random_source random(6);
  const zp::tensor_spec chunk{zp::dtype_kind::float32, {512, 1024}};
  const zp::codec_chain chain = make({native, zstd, crc}, chunk);
  sample_tensor tensor(chunk, random);
  const std::vector<std::byte> stored = stored_by(chain, tensor);
  sample_tensor back(chunk, random);
  zp::limited_resource budget(512 * 1024);  // a fourth of the chunk
  zp::codec_workspace scratch(budget);
  REQUIRE(chain.decode(stored, back.target(), scratch));
  CHECK(same_elements(tensor.view(), back.view()));
}

TEST_CASE("codec_chain: the checksum is looked at before anything is decompressed") {
  random_source random(6);
  const zp::codec_chain chain = make({native, zstd, crc});
  sample_tensor tensor(int16_chunk, random);
  std::vector<std::byte> stored = stored_by(chain, tensor);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    stored[i] ^= std::byte{0x10};
    sample_tensor victim(int16_chunk, random);
    const std::vector<std::byte> before = copy_of(*make({native}).direct_target(victim.target()));
    zp::codec_workspace scratch;
    const zp::result<void> status = chain.decode(stored, victim.target(), scratch);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == zp::errc::corrupt);
    CHECK(status.failure().message.find("crc32c: checksum mismatch") != std::string::npos);
    CHECK(copy_of(*make({native}).direct_target(victim.target())) == before);
    stored[i] ^= std::byte{0x10};
  }
}

TEST_CASE("codec_chain: chunks of another size than the chain's are corrupt, either way") {
  random_source random(6);
  const zp::tensor_spec longer{zp::dtype_kind::int16, {6, 7, 3}};
  const zp::tensor_spec shorter{zp::dtype_kind::int16, {6, 7, 1}};
  for (const specs& list : {specs{native},
                            {native, zstd},
                            {other, zstd},
                            {native, crc, zstd},
                            {transpose({2, 1, 0}), native, zstd, crc}}) {
    for (const zp::tensor_spec& wrong : {longer, shorter}) {
      sample_tensor tensor(wrong, random);
      const std::vector<std::byte> stored = stored_by(make(list, wrong), tensor);
      sample_tensor victim(int16_chunk, random);
      zp::codec_workspace scratch;
      const zp::result<void> status = make(list).decode(stored, victim.target(), scratch);
      REQUIRE_FALSE(status);
      CHECK(status.failure().code == zp::errc::corrupt);
    }
  }
  // Where the size is known, it is what the error says.
  sample_tensor victim(int16_chunk, random);
  zp::codec_workspace scratch;
  const auto refusal = [&](const specs& list, std::size_t size) {
    return make(list)
        .decode(std::vector<std::byte>(size), victim.target(), scratch)
        .failure()
        .message;
  };
  CHECK(refusal({native, crc}, 171).starts_with("171 bytes stored for a chunk of "));
  CHECK(refusal({native, {"example.losing"}}, 168).starts_with("example.losing: "));
}

TEST_CASE("codec_chain: each step has memory of its own, and none of its caller's") {
  random_source random(9);
  for (const specs& list : {specs{other, zstd, zstd, zstd},
                            {widen, transpose({2, 1, 0}), other, zstd, zstd, zstd},
                            {widen, transpose({2, 1, 0}), other, zstd, zstd, zstd, zstd}}) {
    const zp::codec_chain chain = make(list);
    sample_tensor tensor(int16_chunk, random);
    const std::vector<std::byte> stored = stored_by(chain, tensor);
    zp::codec_workspace scratch;
    std::vector<zp::mutable_bytes> own;
    for (std::size_t i = 0; i < zp::codec_workspace::caller_slots; ++i) {
      own.push_back(scratch.scratch(i, 10'000).value());
      std::fill(own[i].begin(), own[i].end(), static_cast<std::byte>(i));
    }
    sample_tensor back(int16_chunk, random);
    REQUIRE(chain.decode(stored, back.target(), scratch));
    CHECK(same_elements(tensor.view(), back.view()));
    for (std::size_t i = 0; i < own.size(); ++i)
      CHECK(std::count(own[i].begin(), own[i].end(), static_cast<std::byte>(i)) == 10'000);
  }
}

TEST_CASE("codec_chain: what variable-length chunks decode to is bounded") {
  // 100 KB of zeros in a few bytes, as the strings of one chunk.
  const zp::tensor_spec chunk{zp::dtype_kind::string, {2}};
  std::vector<std::string> strings{std::string(100'000, 'a'), "b"};
  const zp::host_view view =
      zp::dense_view(reinterpret_cast<const std::byte*>(strings.data()), chunk);
  const zp::codec_chain chain = make({vlen, zstd, zstd}, chunk);
  zp::codec_workspace plenty;
  const std::vector<std::byte> stored = copy_of(chain.encode(view, plenty).value());
  REQUIRE(stored.size() < 200);

  std::vector<std::string> back(2);
  const auto into = zp::dense_view(reinterpret_cast<std::byte*>(back.data()), chunk);
  REQUIRE(chain.decode(stored, into, plenty));
  CHECK(back == strings);
  zp::codec_workspace tight(zp::default_resource(), 100'000);
  CHECK(chain.decode(stored, into, tight).failure().code == zp::errc::resource_limit);
  zp::codec_workspace enough(zp::default_resource(), 100'013);
  CHECK(chain.decode(stored, into, enough));

  // A frame that claims 2^40 bytes and has none of them costs no memory.
  std::vector<std::byte> liar(18);
  const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x38};
  std::memcpy(liar.data(), head, sizeof head);
  liar[11] = std::byte{1};
  zp::limited_resource budget(1 << 20);
  zp::codec_workspace poor(budget, std::uint64_t{1} << 50);
  CHECK(make({vlen, zstd}, chunk).decode(liar, into, poor).failure().code == zp::errc::corrupt);

  // The limit is the same for a codec that does not say how much it makes, however memory grows.
  const zp::tensor_spec one{zp::dtype_kind::string, {1}};
  const zp::codec_chain growing = make({vlen, {"example.growing"}}, one);
  for (const std::uint32_t limit : {100'000u, 262'144u, 262'145u, 1'000'000u}) {
    zp::codec_workspace bounded(zp::default_resource(), limit);
    for (const std::uint32_t size : {limit - 1, limit, limit + 1, limit + limit / 8}) {
      std::vector<std::byte> four(4);
      zp::store_le<std::uint32_t>(four.data(), size);
      std::string made;
      const auto status =
          growing.decode(four, zp::dense_view(reinterpret_cast<std::byte*>(&made), one), bounded);
      CHECK(status.has_value() == (size <= limit));
      if (status) {
        CHECK(made == std::string(size - 8, 'a'));
      } else {
        CHECK(status.failure().code == zp::errc::resource_limit);
        CHECK(status.failure().message ==
              "example.growing: decodes to " + std::to_string(limit + 1) +
                  " bytes or more; the limit is " + std::to_string(limit));
      }
    }
  }
}

TEST_CASE("codec_chain: orders and specs that make no sense") {
  CHECK(refused({}).message ==
        "codecs: one of them must turn elements into bytes, such as \"bytes\"");
  CHECK(refused({zstd}).message ==
        "codec \"zstd\": works on bytes, but comes before the codec that makes bytes");
  CHECK(refused({little, little}).message ==
        "codec \"bytes\": works on elements, but comes after the codec that makes bytes");
  CHECK(refused({little, transpose({2, 1, 0})}).code == zp::errc::invalid_argument);
  CHECK(refused({transpose({2, 1, 0})}).code == zp::errc::invalid_argument);
  CHECK(refused({transpose({1, 0}), little}).message.find("transpose") != std::string::npos);
  CHECK(refused({widen, little}, {zp::dtype_kind::int8, {1}}).message ==
        "codec \"example.widen\": only int16 can be widened");
  CHECK(refused({{"bytes"}}).message.find("endian") != std::string::npos);
  CHECK(refused({vlen}).code == zp::errc::invalid_argument);
  CHECK(refused({little}, {zp::dtype_kind::string, {2}}).code == zp::errc::invalid_argument);
  CHECK(refused(specs(33, crc)).message == "a chain may have 32 codecs; this one has 33");
  CHECK(refused({little}, {zp::dtype_kind::int16, {zp::index_t{1} << 62, 4}}).code ==
        zp::errc::out_of_range);
  CHECK(refused({little, {"conditional"}}).code == zp::errc::unsupported);
}

TEST_CASE("codec_chain: an unknown codec that need not be understood is skipped when reading") {
  random_source random(6);
  zp::codec_spec unknown{"vendor.hint"};
  unknown.must_understand = false;
  const zp::codec_chain chain = make({native, unknown, crc});
  CHECK_FALSE(chain.can_encode());
  CHECK(make({native, crc}).can_encode());
  sample_tensor tensor(int16_chunk, random);
  const std::vector<std::byte> stored = stored_by(make({native, crc}), tensor);
  sample_tensor back(int16_chunk, random);
  zp::codec_workspace scratch;
  REQUIRE(chain.decode(stored, back.target(), scratch));
  CHECK(same_elements(tensor.view(), back.view()));
  const auto written = chain.encode(tensor.view(), scratch);
  CHECK(written.failure().message == "cannot encode without codec \"vendor.hint\"");
  // One without a name, or with a hostile one, is left out like any other.
  for (const std::string& name : {std::string(), std::string(100000, '\n')}) {
    unknown.name = name;
    const zp::codec_chain hostile = make({native, unknown});
    REQUIRE_FALSE(hostile.can_encode());
    CHECK(hostile.encode(tensor.view(), scratch).failure().message.size() < 150);
  }
  // A known one is used whatever the flag says.
  zp::codec_spec known = crc;
  known.must_understand = false;
  CHECK(make({native, known}).ends_with_crc32c());
}

TEST_CASE("codec_chain: one workspace serves many chains") {
  random_source random(6);
  zp::codec_workspace scratch;
  const zp::codec_chain chains[] = {make({little, zstd, crc}), make({transpose({1, 2, 0}), big}),
                                    make({vlen, zstd}, {zp::dtype_kind::string, {5}}),
                                    make({widen, little, zstd})};
  for (int n = 0; n < 100; ++n) {
    const zp::codec_chain& chain = chains[pick(random, std::size(chains))];
    sample_tensor tensor(chain.chunk_spec(), random);
    const std::vector<std::byte> stored = copy_of(chain.encode(tensor.view(), scratch).value());
    sample_tensor back(chain.chunk_spec(), random, sample_tensor::placed::anywhere);
    REQUIRE(chain.decode(stored, back.target(), scratch));
    REQUIRE(same_elements(tensor.view(), back.view()));
  }
}

TEST_CASE("scratch tensor: strings that are made and ended, within a budget") {
  zp::limited_resource budget(4096);
  zp::codec_workspace scratch(budget);
  {
    auto made = zp::detail::scratch_tensor::make({zp::dtype_kind::string, {3, 4}}, scratch, 7);
    REQUIRE(made);
    const zp::detail::scratch_tensor moved = std::move(*made);
    auto* const words = reinterpret_cast<std::string*>(moved.view().data);
    CHECK(words[11].empty());
    words[11] = std::string(1000, 'a');  // a leak, were it not ended
    CHECK(moved.view().shape == zp::dims{3, 4});
  }
  CHECK(zp::detail::scratch_tensor::make({zp::dtype_kind::string, {1000}}, scratch, 7)
            .failure()
            .code == zp::errc::resource_limit);
  CHECK(zp::detail::scratch_tensor::make({zp::dtype_kind::int8, {INT64_MAX, 4}}, scratch, 7)
            .failure()
            .code == zp::errc::out_of_range);
}

}  // namespace chain_test
