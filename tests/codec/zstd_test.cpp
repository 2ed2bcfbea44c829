// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include "support/codec_conformance.hpp"
#include "support/page_end.hpp"

#include <doctest/doctest.h>
#include <zstd.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace zstd_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes = std::vector<std::byte>;

bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bytes raw(std::initializer_list<int> values) {
  bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

bytes text(std::string_view content) { return copy_of(zp::as_bytes(content)); }

bytes frame(const bytes& content, zp::zstd_codec codec = {}) {
  zp::codec_workspace scratch;
  bytes out(codec.encoded_bound(content.size()));
  out.resize(codec.encode(content, out, scratch).value());
  return out;
}

/// A frame as streaming encoders write it: the content size is not in the header.
bytes frame_without_size(const bytes& content) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  bytes out(ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
  ZSTD_freeCCtx(context);
  REQUIRE_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

/// RFC 8878, 3.1.2: a magic number 0x184D2A50 to 5F, a length, and bytes that nobody reads.
bytes skippable(int kind, const bytes& content) {
  bytes head(8);
  zp::store_le<std::uint32_t>(head.data(), 0x184D2A50u + static_cast<unsigned>(kind));
  zp::store_le<std::uint32_t>(head.data() + 4, static_cast<std::uint32_t>(content.size()));
  return head + content;
}

/// A frame of RLE blocks: four bytes for each 128 KiB. `claimed`: the content size in its header.
bytes bomb(std::size_t blocks, std::optional<std::uint64_t> claimed) {
  bytes out = raw({0x28, 0xb5, 0x2f, 0xfd});
  if (claimed) {
    out = out + raw({0xc0, 0x38}) + bytes(8);  // 8 bytes of content size; window 128 KiB
    zp::store_le<std::uint64_t>(out.data() + 6, *claimed);
  } else {
    out = out + raw({0x00, 0x38});
  }
  constexpr std::uint32_t block_size = 128 * 1024;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint32_t header = block_size << 3 | 1 << 1 | (i + 1 == blocks ? 1 : 0);
    for (const std::uint32_t byte : {header & 255, header >> 8 & 255, header >> 16, 7u})
      out.push_back(static_cast<std::byte>(byte));
  }
  return out;
}

zp::result<bytes> decoded(const bytes& stored, std::size_t room) {
  zp::codec_workspace scratch;
  guarded_bytes out(room);
  zp::result<std::size_t> size = zp::zstd_codec{}.decode(stored, out.bytes(), scratch);
  REQUIRE(out.intact());
  if (!size) return std::move(size).failure();
  return copy_of(out.bytes().first(*size));
}

zp::errc code_of(const bytes& stored, std::size_t room) {
  const zp::result<bytes> result = decoded(stored, room);
  REQUIRE_FALSE(result);
  return result.failure().code;
}

}  // namespace

TEST_CASE("zstd: conformance at several levels, with and without checksum") {
  codec_conformance(zp::zstd_codec{});
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                         {zp::dtype_kind::string, {9}}};
  codec_conformance(zp::zstd_codec{-5, true}, few);
  codec_conformance(zp::zstd_codec{19, true}, few);
}

TEST_CASE("zstd: frames that other encoders write") {
  const bytes content = text("the same words, the same words, the same words") + bytes(5000);
  const std::size_t size = content.size();
  CHECK(decoded(frame_without_size(content), size).value() == content);
  const bytes first(content.begin(), content.begin() + 20);
  const bytes rest(content.begin() + 20, content.end());
  CHECK(decoded(frame(first) + frame_without_size(rest), size).value() == content);
  CHECK(decoded(skippable(3, text("a note")) + frame(first) + skippable(15, {}) + frame(rest) +
                    skippable(0, text("the end")),
                size)
            .value() == content);
  CHECK(decoded(frame(first) + frame({}) + frame(rest, {1, true}), size).value() == content);
  // A checksum in the frame is checked whatever the configuration says.
  bytes damaged = frame(content, {3, true});
  damaged.back() ^= std::byte{1};
  CHECK(code_of(damaged, size) == zp::errc::corrupt);
}

TEST_CASE("zstd: what is not a frame is an error, also after one") {
  const bytes content = text("content");
  CHECK(code_of({}, 0) == zp::errc::corrupt);
  CHECK(code_of(frame(content) + raw({0}), 7) == zp::errc::corrupt);
  CHECK(code_of(frame(content) + bytes(100), 7) == zp::errc::corrupt);
  CHECK(code_of(content, 7) == zp::errc::corrupt);
  const bytes cut = frame(content) + skippable(1, text("ab"));
  CHECK(code_of(bytes(cut.begin(), cut.end() - 1), 7) == zp::errc::corrupt);
  // Formats of before version 0.8 (magic numbers 0xFD2FB522 to 27): libzstd may know them, so that
  // they are not given to it.
  for (int version = 0x1e; version <= 0x27; ++version) {
    const zp::result<bytes> old = decoded(raw({version, 0xb5, 0x2f, 0xfd}) + bytes(60), 1000);
    REQUIRE_FALSE(old);
    CHECK(old.failure().code == zp::errc::corrupt);
    CHECK(old.failure().message == "the bytes are not a zstd frame");
  }
  CHECK(decoded(bytes(4), 1000).failure().message == "the bytes are not a zstd frame");
  for (std::size_t size = 1; size < 4; ++size) {  // too few to look at
    const page_end few(zp::bytes_view(content).first(size));
    bytes room(10);
    zp::codec_workspace scratch;
    CHECK(zp::zstd_codec{}.decode(few.bytes(), room, scratch).failure().message ==
          "the frame is truncated");
  }
}

TEST_CASE("zstd: sizes that lie") {
  const bytes content(1000, std::byte{3});
  bytes stored = frame(content);
  REQUIRE(stored[4] == std::byte{0x60});  // single segment, two bytes of content size
  for (const unsigned claim : {0u, 1u, 743u, 745u, 65535u}) {
    bytes lying = stored;
    lying[5] = static_cast<std::byte>(claim & 255);  // the size minus 256
    lying[6] = static_cast<std::byte>(claim >> 8);
    const zp::result<bytes> result = decoded(lying, 1000);
    CHECK_FALSE(result);
  }
  // A claim beyond the room is refused before any work, with both numbers.
  const zp::result<bytes> refused = decoded(bomb(3, std::uint64_t{1} << 60), 1000);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == zp::errc::out_of_range);
  CHECK(refused.failure().message.find("1152921504606846976") != std::string::npos);
  CHECK(zp::zstd_codec{}.decoded_size(bomb(3, std::uint64_t{1} << 60)) == std::uint64_t{1} << 60);
  // Two claims of which the sum overflows.
  CHECK(zp::zstd_codec{}.decoded_size(bomb(1, UINT64_MAX - 5) + bomb(1, 10)) == std::nullopt);
  CHECK_FALSE(zp::zstd_codec{}.decoded_size(frame_without_size(content)));
  CHECK(zp::zstd_codec{}.decoded_size(frame(content) + skippable(0, {}) + frame(content)) == 2000);
}

TEST_CASE("zstd: bombs write no more than there is room for") {
  CHECK(code_of(bomb(20'000, std::nullopt), 100'000) == zp::errc::out_of_range);
  CHECK(code_of(bomb(20'000, 20'000ull * 128 * 1024), 100'000) == zp::errc::out_of_range);
  CHECK_FALSE(decoded(bomb(20'000, 100'000), 100'000));  // more than the frame itself says
  CHECK(decoded(bomb(2, std::nullopt), 256 * 1024).value() == bytes(256 * 1024, std::byte{7}));
  const bytes one = frame(bytes(1000));
  bytes many;
  for (int i = 0; i < 2000; ++i) many.insert(many.end(), one.begin(), one.end());
  CHECK(code_of(many, 100'000) == zp::errc::out_of_range);
}

TEST_CASE("zstd: a window of any size costs no memory") {
  // Window descriptor 0xa8: 2^31 bytes. The block is raw: one byte.
  const bytes stored = raw({0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x09, 0x00, 0x00, 0x2a});
  zp::limited_resource budget(std::size_t{1} << 20);
  zp::codec_workspace scratch(budget);
  bytes out(1);
  CHECK(zp::zstd_codec{}.decode(stored, out, scratch).value() == 1);
  CHECK(out[0] == std::byte{0x2a});
  // Larger than the format's tools accept at all.
  bytes beyond = stored;
  beyond[5] = std::byte{0xff};
  CHECK(code_of(beyond, 1) == zp::errc::corrupt);
}

TEST_CASE("zstd: a context that the budget refuses is told in bytes") {
  zp::limited_resource budget(10'000);
  zp::codec_workspace scratch(budget);
  bytes to(100);
  const bytes from(10);
  const std::string of_budget = " of the 10000 bytes of the budget are in use";
  for (const auto& failed :
       {zp::zstd_codec{}.encode(from, to, scratch), zp::zstd_codec{}.decode(from, to, scratch)}) {
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().code == zp::errc::resource_limit);
    const std::string& said = failed.failure().message;
    CAPTURE(said);
    CHECK(said.starts_with("cannot allocate "));
    CHECK(said.ends_with(of_budget));
    CHECK(std::stoul(said.substr(16)) > 0);
  }
  // The context itself fits, what it works with does not.
  zp::limited_resource more(20'000);
  zp::codec_workspace second(more);
  bytes large(zp::zstd_codec{}.encoded_bound(100'000));
  const auto failed = zp::zstd_codec{}.encode(bytes(100'000), large, second);
  REQUIRE_FALSE(failed);
  CHECK(failed.failure().message.find(" of the 20000 bytes of the budget") != std::string::npos);
  CHECK(std::stoul(failed.failure().message.substr(16)) > 10'000);
}

TEST_CASE("zstd: a frame that needs a dictionary says so") {
  // Descriptor 0x21: single segment, a dictionary id of one byte; content size 1.
  const bytes stored = raw({0x28, 0xb5, 0x2f, 0xfd, 0x21, 0x07, 0x01, 0x09, 0x00, 0x00, 0x2a});
  const zp::result<bytes> result = decoded(stored, 1);
  REQUIRE_FALSE(result);
  CHECK(result.failure().message.find("ictionary") != std::string::npos);
}

TEST_CASE("zstd: configuration") {
  const auto parse = [](zp::json::object members) {
    return zp::make_codec<zp::zstd_codec>(zp::json(std::move(members)));
  };
  const zp::zstd_codec given = parse({{"level", 7}, {"checksum", true}}).value();
  CHECK(given.level == 7);
  CHECK(given.checksum);
  CHECK(zp::make_codec<zp::zstd_codec>({}).value().level == 3);  // numcodecs.zstd writes {}
  CHECK(parse({{"level", -131072}}));
  CHECK(parse({{"level", 22}}));
  // numcodecs takes any integer, and zstd the nearest level that it has.
  CHECK(parse({{"level", 23}}).value().level == 22);
  CHECK(parse({{"level", INT32_MAX}}).value().level == 22);
  CHECK(parse({{"level", -131073}}).value().level == -131072);
  CHECK(zp::configuration_of(parse({{"level", 100}}).value()).find("level")->to_int64() == 22);
  CHECK_FALSE(parse({{"level", std::int64_t{1} << 40}}));
  CHECK_FALSE(parse({{"level", 1.5}}));
  CHECK_FALSE(parse({{"level", "3"}}));
  CHECK_FALSE(parse({{"checksum", 1}}));
  CHECK_FALSE(parse({{"window", 10}}));
}

TEST_CASE("zstd: the same bytes whatever the workspace did before") {
  random_source random(8);
  zp::codec_workspace scratch;
  const bytes content = random_bytes(random, 3000) + bytes(3000);
  const zp::zstd_codec codec{1};
  bytes out(codec.encoded_bound(content.size()));
  out.resize(codec.encode(content, out, scratch).value());
  bytes other(100'000);
  REQUIRE(zp::zstd_codec{19, true}.encode(content, other, scratch));
  CHECK_FALSE(codec.encode(content, zp::mutable_bytes(other).first(10), scratch));
  bytes again(codec.encoded_bound(content.size()));
  again.resize(codec.encode(content, again, scratch).value());
  CHECK(again == out);
  CHECK(frame(content, codec) == out);
}

TEST_CASE("zstd_decoder: decodes as zstd does, and refuses to encode") {
  using loaders = zp::codec_registry<zp::bytes_codec, zp::zstd_decoder>;
  static_assert(std::is_same_v<zp::default_codecs::with<zp::zstd_decoder>::with<zp::zstd_codec>,
                               zp::default_codecs::with<zp::zstd_codec>>);
  CHECK(loaders::table().find("zstd") != nullptr);
  CHECK(loaders::table().find("numcodecs.zstd") != nullptr);
  const bytes content = text("content");
  const bytes stored = frame(content);
  const auto codec =
      zp::make_codec<zp::zstd_decoder>(zp::json(zp::json::object{{"level", 7}})).value();
  CHECK(codec.level == 7);
  CHECK_FALSE(zp::make_codec<zp::zstd_decoder>(zp::json(zp::json::object{{"level", "7"}})));
  zp::codec_workspace scratch;
  bytes out(content.size());
  CHECK(codec.decode(stored, out, scratch).value() == content.size());
  CHECK(out == content);
  bytes room(codec.encoded_bound(content.size()));
  CHECK(codec.encode(content, room, scratch).failure().code == zp::errc::unsupported);
}

}  // namespace zstd_test
