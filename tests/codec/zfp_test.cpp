// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/zfp/zfp.hpp>
#include <zarrpoint/codec/zfp/zfp_stream.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/codec_bytes.hpp"
#include "support/refused_memory.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace zfp_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

zp::json parsed(std::string_view text) { return zp::parse_json(zp::as_bytes(text)).value(); }

/// Memory in front of a page that nobody may touch: zfp itself is not sanitized, and checks no
/// bounds.
class fenced_resource final : public zp::memory_resource {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    const std::size_t whole = pages(bytes);
    void* const at =
        ::mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    auto* const first = static_cast<std::byte*>(at);
    ::mprotect(first + whole, page, PROT_NONE);
    return first + (whole - bytes) / alignment * alignment;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t) noexcept override {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(memory) % page;
    ::munmap(static_cast<std::byte*>(memory) - offset, pages(bytes) + page);
  }

 private:
  static constexpr std::size_t page = 4096;
  static std::size_t pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }
};

template <class T>
byte_string bytes_of(const std::vector<T>& values) {
  byte_string out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <class C>
byte_string encoded(const C& codec, const byte_string& elements, const zp::tensor_spec& spec) {
  zp::codec_workspace scratch;
  byte_string out(codec.encoded_bound(spec));
  out.resize(codec.encode(zp::dense_view(elements.data(), spec), out, scratch).value());
  return out;
}

template <class C>
zp::result<byte_string> decoded(const C& codec, zp::bytes_view stored,
                                const zp::tensor_spec& spec) {
  // Of exactly its size, so that a sanitizer sees what reads behind it.
  const byte_string exact(stored.begin(), stored.end());
  fenced_resource fenced;
  zp::codec_workspace scratch(fenced);
  guarded_bytes out(zp::byte_count(spec).value());
  const zp::result<void> status =
      codec.decode(exact, zp::dense_view(out.bytes().data(), spec), scratch);
  REQUIRE(out.intact());
  if (!status) return zp::error(status.failure());
  return copy_of(out.bytes());
}

/// What `zfpy.compress_numpy` of zfpy 1.0.1 writes, without its header.
struct golden {
  const char* configuration;
  const char* zfpy;  ///< the configuration of numcodecs
  zp::tensor_spec spec;
  const char* elements;
  const char* stored;
  const char* header;  ///< hex digits of the 148 bits, with those of the first values
  const char* first;   ///< the first two elements that come back
};

const char* const floats =
    "000040c0333313c0cdccccbf666666bfcdcc4cbe0000003f9a99993f3333f33f6666264033335340"
    "0000804066669640";

const golden cases[] = {
    {R"({"mode": "reversible"})",
     R"({"mode": 4})",
     {zp::dtype_kind::float32, {3, 4}},
     floats,
     "09fa00225001067020001980400612900108642001198040061290010864200119804006945036bb5b5a3d6614543"
     "7"
     "266d00000000000000",
     "7a667005360000200000008809fa0022500106702000198040061290010864200119804006129001086420011980"
     "4006945036bb5b5a3d66145437266d000000",
     "000040c0333313c0"},
    {R"({"mode": "fixed_accuracy", "tolerance": 0.05})",
     R"({"mode": 4, "tolerance": 0.05})",
     {zp::dtype_kind::float32, {3, 4}},
     floats,
     "051124440230c0094c54a2038dc044250200000000000000",
     "7a667005360000200000e0ca051124440230c0094c54a2038dc0442502000000",
     "00c83fc0000813c0"},
    {R"({"mode": "fixed_rate", "rate": 8.0})",
     R"({"mode": 2, "rate": 8.0})",
     {zp::dtype_kind::float32, {3, 4}},
     floats,
     "051124440230c0094c54a2038dc04425",
     "7a667005360000200000f007051124440230c0094c54a2038dc0442500000000",
     "00c03fc0000013c0"},
    {R"({"mode": "fixed_precision", "precision": 9})",
     R"({"mode": 3, "precision": 9})",
     {zp::dtype_kind::float32, {3, 4}},
     floats,
     "051124440230c0094c04000000000000",
     "7a6670053600002000008080051124440230c0094c040000",
     "00003fc0000013c0"},
    {R"({"mode": "reversible"})",
     R"({"mode": 5})",
     {zp::dtype_kind::int32, {5}},
     "fcffffffffffffff020000000500000008000000",
     "1f0000007612070000c0020000000000",
     "7a66700540000000000000881f0000007612070000c00200",
     "fcffffffffffffff"},
    {R"({"mode": "reversible"})",
     R"({})",
     {zp::dtype_kind::int64, {4}},
     "fcfffffffffffffffc0fa5d4e8000000fc1f4aa9d1010000fc2fef7dba020000",
     "3d0000a00049802408822401820008000020010000000000",
     "7a66700531000000000000883d0000a000498024088224018200080000200100",
     "fcfffffffffffffffc0fa5d4e8000000"},
};

/// As `codec_conformance`, but for streams cut within their padding, which are whole.
template <class C>
void check_lossless(const C& codec, const std::vector<zp::tensor_spec>& specs) {
  conformance::check_configuration(codec);
  random_source random(3);
  for (const zp::tensor_spec& spec : specs) {
    CAPTURE(zp::to_string(spec));
    const auto chain = conformance::chain_with(codec, spec).value();
    zp::codec_workspace scratch;
    sample_tensor original(spec, random, sample_tensor::placed::anywhere);
    const byte_string stored = copy_of(chain.encode(original.view(), scratch).value());
    CHECK(stored.size() % 8 == 0);
    CHECK(stored.size() <= chain.encoded_bound());
    for (int i = 0; i < 3; ++i) {
      const auto placed = i == 0 ? sample_tensor::placed::dense : sample_tensor::placed::anywhere;
      sample_tensor back(spec, random, placed);
      REQUIRE(chain.decode(stored, back.target(), scratch));
      CHECK(same_elements(original.view(), back.view()));
    }
    conformance::check_budgets(chain, random);
  }
}

}  // namespace

TEST_CASE("zfp: what zfpy 1.0.1 writes and reads, in both directions") {
  for (const golden& one : cases) {
    CAPTURE(one.configuration);
    const auto bare = codec_of<zp::zfp_codec>(parsed(one.configuration));
    CHECK(zp::configuration_of(bare) == parsed(one.configuration));
    const auto headed = codec_of<zp::zfpy_codec>(parsed(one.zfpy));
    const byte_string elements = from_hex(one.elements);
    CHECK(to_hex(encoded(bare, elements, one.spec)) == one.stored);
    CHECK(to_hex(encoded(headed, elements, one.spec)) == one.header);
    const byte_string back = decoded(bare, from_hex(one.stored), one.spec).value();
    CHECK(to_hex(back).substr(0, std::string(one.first).size()) == one.first);
    CHECK(decoded(headed, from_hex(one.header), one.spec).value() == back);
    // What the header says counts, not the metadata; and another cut of the same elements.
    const zp::dims flat{static_cast<zp::index_t>(elements.size() / one.spec.type.size())};
    CHECK(decoded(zp::zfpy_codec{}, from_hex(one.header), {one.spec.type, flat}).value() == back);
  }
}

TEST_CASE("zfp: streams of libraries that write bytes, not words of eight") {
  std::string stored = cases[0].stored;
  stored.resize(stored.size() - 14);
  const byte_string elements = from_hex(floats);
  CHECK(decoded(zp::zfp_codec{}, from_hex(stored), cases[0].spec).value() == elements);
  stored.resize(stored.size() - 2);
  CHECK_FALSE(decoded(zp::zfp_codec{}, from_hex(stored), cases[0].spec));
}

TEST_CASE("zfp: lossless in every layout") {
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::float32, {}},
                                         {zp::dtype_kind::float32, {5, 3}},
                                         {zp::dtype_kind::float64, {2, 3, 5, 4}},
                                         {zp::dtype_kind::int32, {7}},
                                         {zp::dtype_kind::int64, {3, 4, 5}}};
  check_lossless(zp::zfpy_codec{}, few);
  check_lossless(zp::zfp_codec{}, few);
  check_lossless(zp::zfp_codec{}, {{zp::dtype_kind::int8, {5, 7}},
                                   {zp::dtype_kind::uint8, {300}},
                                   {zp::dtype_kind::int16, {2, 3, 4}},
                                   {zp::dtype_kind::uint16, {1, 9, 1, 2}}});
}

TEST_CASE("zfp: integers of fewer bits are promoted as the registry says") {
  const std::vector<std::int8_t> small{-128, -1, 0, 1, 127};
  std::vector<std::int32_t> wide;
  for (const std::int8_t one : small) wide.push_back(one * (1 << 23));
  const std::vector<std::uint16_t> unsigned_small{0, 1, 0x7fff, 0x8000, 0xffff};
  std::vector<std::int32_t> unsigned_wide;
  for (const std::uint16_t one : unsigned_small)
    unsigned_wide.push_back((std::int32_t{one} - 0x8000) * (1 << 15));
  const auto rate = codec_of<zp::zfp_codec>(parsed(R"({"mode": "fixed_rate", "rate": 20})"));
  CHECK(encoded(rate, bytes_of(small), {zp::dtype_kind::int8, {5}}) ==
        encoded(rate, bytes_of(wide), {zp::dtype_kind::int32, {5}}));
  CHECK(encoded(rate, bytes_of(unsigned_small), {zp::dtype_kind::uint16, {5}}) ==
        encoded(rate, bytes_of(unsigned_wide), {zp::dtype_kind::int32, {5}}));
  // What a lossy mode pushes out of the type is clamped.
  const std::vector<std::int32_t> beyond{INT32_MIN, INT32_MAX, 0, 0};
  const byte_string stored =
      encoded(zp::zfp_codec{}, bytes_of(beyond), {zp::dtype_kind::int32, {4}});
  CHECK(to_hex(decoded(zp::zfp_codec{}, stored, {zp::dtype_kind::int8, {4}}).value()) ==
        "807f0000");
  CHECK(to_hex(decoded(zp::zfp_codec{}, stored, {zp::dtype_kind::uint8, {4}}).value()) ==
        "00ff8080");
}

TEST_CASE("zfp: unsigned integers are those that the signed type holds") {
  const zp::tensor_spec spec{zp::dtype_kind::uint32, {3}};
  const byte_string fits = bytes_of<std::uint32_t>({0, 7, 0x7fffffff});
  CHECK(decoded(zp::zfp_codec{}, encoded(zp::zfp_codec{}, fits, spec), spec).value() == fits);
  const byte_string not_these = bytes_of<std::uint32_t>({0, 7, 0x80000000});
  zp::codec_workspace scratch;
  byte_string out(zp::zfp_codec{}.encoded_bound(spec));
  CHECK(
      zp::zfp_codec{}.encode(zp::dense_view(not_these.data(), spec), out, scratch).failure().code ==
      zp::errc::out_of_range);
  // As zarrs reads what a lossy mode has made negative.
  const byte_string negative = encoded(zp::zfp_codec{}, bytes_of<std::int32_t>({-1, 5, INT32_MIN}),
                                       {zp::dtype_kind::int32, {3}});
  CHECK(decoded(zp::zfp_codec{}, negative, spec).value() == bytes_of<std::uint32_t>({0, 5, 0}));
}

TEST_CASE("zfp: lossy modes keep what they promise") {
  std::vector<double> values;
  for (int i = 0; i < 6 * 7 * 5; ++i) values.push_back(std::sin(0.1 * i) * 100);
  const zp::tensor_spec spec{zp::dtype_kind::float64, {6, 7, 5}};
  const auto accurate =
      codec_of<zp::zfp_codec>(parsed(R"({"mode": "fixed_accuracy", "tolerance": 1e-3})"));
  const byte_string back =
      decoded(accurate, encoded(accurate, bytes_of(values), spec), spec).value();
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double one = 0;
    std::memcpy(&one, back.data() + i * sizeof one, sizeof one);
    worst = std::max(worst, std::abs(one - values[i]));
  }
  CHECK(worst <= 1e-3);
  CHECK(worst > 0);
  // Two blocks along each axis: eight of 64 values.
  const auto rate = codec_of<zp::zfp_codec>(parsed(R"({"mode": "fixed_rate", "rate": 3.5})"));
  CHECK(encoded(rate, bytes_of(values), spec).size() == 8 * 64 * 7 / 2 / 8);
  const auto expert = codec_of<zp::zfp_codec>(
      parsed(R"({"mode": "expert", "minbits": 1, "maxbits": 130, "maxprec": 19, "minexp": -2})"));
  CHECK(zp::configuration_of(expert).find("minexp")->to_int64() == -2);
  CHECK(encoded(expert, bytes_of(values), spec).size() <= 8 * 130 / 8 + 8);
  CHECK(decoded(expert, encoded(expert, bytes_of(values), spec), spec));
}

TEST_CASE("zfp: expert mode with what the other modes stand for makes the same bytes") {
  std::vector<double> values;
  for (int i = 0; i < 6 * 7 * 5; ++i) values.push_back(std::sin(0.1 * i) * 100);
  const zp::tensor_spec spec{zp::dtype_kind::float64, {6, 7, 5}};
  // 224 bits of a block of 64; 2^-10 is the power of two below 1e-3; the others are zfp's own
  // limits: 1 bit, 16658 bits, 64 bits, 2^-1074.
  const std::pair<const char*, const char*> same[] = {
      {R"({"mode": "fixed_rate", "rate": 3.5})",
       R"({"mode": "expert", "minbits": 224, "maxbits": 224, "maxprec": 64, "minexp": -1074})"},
      {R"({"mode": "fixed_precision", "precision": 19})",
       R"({"mode": "expert", "minbits": 1, "maxbits": 16658, "maxprec": 19, "minexp": -1074})"},
      {R"({"mode": "fixed_accuracy", "tolerance": 1e-3})",
       R"({"mode": "expert", "minbits": 1, "maxbits": 16658, "maxprec": 64, "minexp": -10})"}};
  std::vector<byte_string> all;
  for (const auto& [mode, numbers] : same) {
    CAPTURE(mode);
    const auto usual = codec_of<zp::zfp_codec>(parsed(mode));
    const auto expert = codec_of<zp::zfp_codec>(parsed(numbers));
    const byte_string stored = encoded(usual, bytes_of(values), spec);
    CHECK(encoded(expert, bytes_of(values), spec) == stored);
    CHECK(decoded(expert, stored, spec).value() == decoded(usual, stored, spec).value());
    for (const byte_string& other : all) CHECK(other != stored);
    all.push_back(stored);
  }
}

TEST_CASE("zfp: configurations that make no sense") {
  for (const char* text :
       {"{}", R"({"mode": 5})", R"({"mode": "lossless"})", R"({"mode": "reversible", "rate": 1})",
        R"({"mode": "fixed_rate"})", R"({"mode": "fixed_rate", "rate": -1})",
        R"({"mode": "fixed_rate", "rate": "8"})", R"({"mode": "fixed_accuracy", "rate": 8.0})",
        R"({"mode": "fixed_accuracy", "tolerance": NaN})",
        R"({"mode": "fixed_precision", "precision": -1})",
        R"({"mode": "fixed_precision", "precision": 1.5})",
        R"({"mode": "expert", "minbits": 1, "maxbits": 2, "maxprec": 3})",
        R"({"mode": "reversible", "write_header": true})"}) {
    CAPTURE(text);
    CHECK_FALSE(zp::make_codec<zp::zfp_codec>(parsed(text)));
  }
  const zp::tensor_spec floats{zp::dtype_kind::float32, {8, 8}};
  for (
      const char* text :
      {R"({"mode": "fixed_rate", "rate": 1e300})", R"({"mode": "fixed_rate", "rate": 5000})",
       // Fewer bits than the exponent of a block, with which zfp would write past its memory.
       R"({"mode": "expert", "minbits": 1, "maxbits": 8, "maxprec": 19, "minexp": -2})",
       R"({"mode": "expert", "minbits": 1, "maxbits": 14, "maxprec": 19, "minexp": -1075})",
       R"({"mode": "expert", "minbits": 9, "maxbits": 8, "maxprec": 19, "minexp": -2})",
       R"({"mode": "expert", "minbits": 1, "maxbits": 99, "maxprec": 0, "minexp": -2})",
       R"({"mode": "expert", "minbits": 1, "maxbits": 99, "maxprec": 65, "minexp": -2})",
       R"({"mode": "expert", "minbits": 1, "maxbits": 99, "maxprec": 9, "minexp": -2147483648})",
       R"({"mode": "expert", "minbits": 4294967295, "maxbits": 4294967295, "maxprec": 9, "minexp": 0})"}) {
    CAPTURE(text);
    const auto codec = zp::make_codec<zp::zfp_codec>(parsed(text));
    REQUIRE(codec);
    CHECK(codec->resolve(floats).failure().code == zp::errc::invalid_argument);
    CHECK(codec->encoded_bound(floats) == UINT64_MAX);
  }
  using enum zp::dtype_kind;
  for (const zp::dtype_kind kind :
       {bool_, float16, bfloat16, complex64, int4, string, datetime64}) {
    CHECK(zp::zfp_codec{}.resolve({kind, {4}}).failure().code == zp::errc::unsupported);
    CHECK(zp::zfpy_codec{}.resolve({kind, {4}}).failure().code == zp::errc::unsupported);
  }
  for (const zp::dtype_kind kind : {int8, uint16, uint32, uint64})
    CHECK(zp::zfpy_codec{}.resolve({kind, {4}}).failure().code == zp::errc::unsupported);
  CHECK(zp::zfp_codec{}.resolve({float32, {1, 1, 1, 1, 2}}).failure().code ==
        zp::errc::unsupported);
  CHECK(zp::zfp_codec{}.resolve({float32, {3, 0}}).failure().code == zp::errc::invalid_argument);
  CHECK_FALSE(zp::make_codec<zp::zfpy_codec>(parsed(R"({"mode": 6})")));
  CHECK_FALSE(zp::make_codec<zp::zfpy_codec>(parsed(R"({"rate": null})")));
  CHECK(zp::make_codec<zp::zfpy_codec>(
      parsed(R"({"mode": 4, "compression_kwargs": {"tolerance": 0.1}, "tolerance": 0.1})")));
}

TEST_CASE("zfp: streams that are cut, longer or damaged are errors, or other numbers") {
  std::vector<float> values;
  for (int i = 0; i < 13 * 9; ++i) values.push_back(static_cast<float>(std::sin(i) * i));
  const zp::tensor_spec spec{zp::dtype_kind::float32, {13, 9}};
  const auto check = [&](const auto& codec) {
    const byte_string stored = encoded(codec, bytes_of(values), spec);
    REQUIRE(decoded(codec, stored, spec));
    for (std::size_t size = 0; size + 8 <= stored.size(); ++size) {
      CAPTURE(size);
      CHECK(decoded(codec, zp::bytes_view(stored).first(size), spec).failure().code ==
            zp::errc::corrupt);
    }
    byte_string longer = stored;
    longer.push_back(std::byte{1});
    CHECK(decoded(codec, longer, spec).failure().code == zp::errc::corrupt);
    longer.resize(stored.size() + 8);
    CHECK(decoded(codec, longer, spec).failure().code == zp::errc::corrupt);
    longer.resize(stored.size() + 100'000);
    CHECK(decoded(codec, longer, spec).failure().code == zp::errc::corrupt);
    random_source random(7);
    std::size_t refused = 0;
    for (int i = 0; i < 3000; ++i) {
      byte_string damaged = stored;
      for (int j = 0; j < 1 + i % 5; ++j)
        damaged[random() %
                (i % 2 == 0 ? damaged.size() : std::min<std::size_t>(20, damaged.size()))] ^=
            static_cast<std::byte>(1 + random() % 255);
      if (!decoded(codec, damaged, spec)) ++refused;
    }
    return refused;
  };
  check(zp::zfp_codec{});
  check(codec_of<zp::zfp_codec>(parsed(R"({"mode": "fixed_accuracy", "tolerance": 0.01})")));
  check(codec_of<zp::zfp_codec>(parsed(R"({"mode": "fixed_precision", "precision": 12})")));
  check(codec_of<zp::zfp_codec>(parsed(R"({"mode": "fixed_rate", "rate": 7})")));
  CHECK(check(zp::zfpy_codec{}) > 1000);
  CHECK(check(codec_of<zp::zfpy_codec>(parsed(R"({"mode": 3, "precision": 12})"))) > 1000);
}

TEST_CASE("zfpy: a header of other elements, and one that asks for memory") {
  const byte_string of_float = from_hex(cases[0].header);
  const zp::zfpy_codec codec;
  CHECK_FALSE(decoded(codec, of_float, {zp::dtype_kind::int32, {3, 4}}));
  CHECK_FALSE(decoded(codec, of_float, {zp::dtype_kind::float32, {3, 5}}));
  CHECK_FALSE(decoded(codec, from_hex(cases[0].stored), {zp::dtype_kind::float32, {3, 4}}));
  CHECK_FALSE(decoded(codec, {}, {zp::dtype_kind::float32, {3, 4}}));
  // Expert parameters in 64 bits, all of them ones: 32768 bits for each block of four.
  zp::codec_workspace none;
  const zp::tensor_spec large{zp::dtype_kind::float32, {1 << 20}};
  byte_string header = encoded(codec, byte_string(4 << 20), large);
  header.resize(24);
  for (std::size_t i = 10; i < 24; ++i) header[i] |= std::byte{0xf0};
  zp::limited_resource budget(32 << 20);
  zp::codec_workspace scratch(budget);
  byte_string out(4 << 20);
  const auto status = codec.decode(header, zp::dense_view(out.data(), large), scratch);
  REQUIRE_FALSE(status);
  CHECK(status.failure().code == zp::errc::corrupt);
  CHECK(budget.peak() < (20 << 20));
}

namespace {

/// A header of zfp with expert parameters, and ones behind it.
byte_string hostile_stream(zfp_type type, const zp::dims& shape, unsigned minbits, unsigned maxbits,
                           unsigned maxprec, int minexp, std::size_t size) {
  alignas(8) std::byte head[64]{};
  const zp::detail::zfp_bits bits({head, sizeof head});
  zfp_field field{};
  field.type = type;
  std::size_t* const sizes[] = {&field.nx, &field.ny, &field.nz, &field.nw};
  for (std::size_t i = 0; i < shape.rank(); ++i)
    *sizes[i] = static_cast<std::size_t>(shape[shape.rank() - 1 - i]);
  REQUIRE(zfp_stream_set_params(bits.get(), minbits, maxbits, maxprec, minexp) != 0);
  const std::size_t written = zfp_write_header(bits.get(), &field, ZFP_HEADER_FULL);
  REQUIRE(written == ZFP_HEADER_MAX_BITS);
  zfp_stream_flush(bits.get());
  byte_string out(head, head + (written + 7) / 8);
  out.resize(size, std::byte{0xff});
  return out;
}

}  // namespace

TEST_CASE("zfp: lossless blocks say their precision themselves, whatever \"maxprec\" is") {
  // So that a block takes 267 bits and not 26. What is stored ends within one, with zeros after it.
  const zp::tensor_spec spec{zp::dtype_kind::float64, {1 << 16}};
  const std::size_t counted = (1 << 14) * 26 / 8 + 16;
  const auto expert = codec_of<zp::zfp_codec>(parsed(
      R"({"mode": "expert", "minbits": 1, "maxbits": 16658, "maxprec": 1, "minexp": -1075})"));
  CHECK(decoded(expert, byte_string(counted, std::byte{0xff}), spec).failure().code ==
        zp::errc::corrupt);
  CHECK(decoded(zp::zfpy_codec{},
                hostile_stream(zfp_type_double, spec.shape, 1, 16658, 1, -1075, counted), spec)
            .failure()
            .code == zp::errc::corrupt);
}

TEST_CASE("zfp: any bytes, by any parameters, are read within their memory") {
  random_source random(11);
  using enum zp::dtype_kind;
  const zp::tensor_spec specs[] = {{float32, {}},           {float64, {4099}},
                                   {int32, {1, 513}},       {int64, {7, 9, 5}},
                                   {float32, {5, 1, 9, 6}}, {int16, {33, 3}},
                                   {float64, {2, 1, 5, 3}}, {uint64, {1, 1, 1, 300}}};
  std::size_t read = 0;
  for (int i = 0; i < 4000; ++i) {
    const zp::tensor_spec& spec = specs[random() % std::size(specs)];
    zp::zfp_options how;
    how.mode = static_cast<zp::zfp_options::kind>(random() % 5);
    how.tolerance = std::ldexp(1.0, static_cast<int>(random() % 200) - 100);
    how.rate = static_cast<double>(random() % 70);
    how.precision = static_cast<std::uint32_t>(random() % 65);
    how.minbits = static_cast<std::uint32_t>(random() % (random() % 2 == 0 ? 16659 : 2));
    how.maxbits = how.minbits + static_cast<std::uint32_t>(random() % 16658);
    how.maxprec = static_cast<std::uint32_t>(1 + random() % 64);
    how.minexp = random() % 2 == 0 ? -1075 : static_cast<int>(random() % 200) - 100;
    const zp::zfp_codec codec{how};
    if (!codec.resolve(spec)) continue;
    byte_string stored(random() % std::min<std::uint64_t>(codec.encoded_bound(spec) + 9, 20'000));
    for (std::byte& one : stored)
      one = i % 3 == 0 ? std::byte{0xff} : static_cast<std::byte>(random() & random() & 0xff);
    if (decoded(codec, stored, spec)) ++read;
    if (stored.size() < 24 || spec.type.size() < 4 || spec.type.is_unsigned_integer()) continue;
    if (how.minbits > how.maxbits || spec.shape.rank() == 0) continue;
    const byte_string headed =
        hostile_stream(zp::detail::zfp_type_of(spec.type), spec.shape, how.minbits + 2,
                       how.maxbits + 3, how.maxprec % 60 + 1, how.minexp, stored.size());
    if (decoded(zp::zfpy_codec{}, headed, spec)) ++read;
  }
  CHECK(read > 0);
}

TEST_CASE("zfp: reading takes memory by what is stored, not by what its parameters allow") {
  // Blocks of 256 numbers of which 16 are used: 34 MB of stream for 2 MiB.
  const zp::tensor_spec spec{zp::dtype_kind::float64, {1, 1, 512, 512}};
  const byte_string zeros(std::size_t{2} << 20);
  const auto check = [&](const auto& codec) {
    const byte_string stored = encoded(codec, zeros, spec);
    CHECK(stored.size() < 4096);
    zp::limited_resource budget(1 << 20);
    zp::codec_workspace scratch(budget);
    byte_string out(zeros.size(), std::byte{1});
    CHECK(codec.decode(stored, zp::dense_view(out.data(), spec), scratch));
    CHECK(out == zeros);
  };
  check(zp::zfp_codec{});
  check(zp::zfpy_codec{});
}

TEST_CASE("zfp: memory that the budget refuses is told in bytes") {
  const zp::tensor_spec spec{zp::dtype_kind::float64, {64, 64}};
  byte_string values(64 * 64 * 8);
  const auto check = [&](const auto& codec) {
    byte_string stored = encoded(codec, values, spec);
    zp::limited_resource budget(100);
    zp::codec_workspace scratch(budget);
    const auto read = codec.decode(stored, zp::dense_view(values.data(), spec), scratch);
    REQUIRE_FALSE(read);
    check_refusal(read.failure(), 100);
    stored.resize(std::size_t{1} << 20);
    const auto written = codec.encode(
        zp::dense_view(static_cast<const std::byte*>(values.data()), spec), stored, scratch);
    REQUIRE_FALSE(written);
    check_refusal(written.failure(), 100);
  };
  check(zp::zfp_codec{});
  check(zp::zfpy_codec{});
  const zp::error small = zp::detail::no_zfp_memory();
  CHECK(small.message.starts_with("cannot allocate "));
  CHECK(small.message.find(" bytes for a stream") != std::string::npos);
}

TEST_CASE("zfp: chunks that zfp cannot count") {
  using enum zp::dtype_kind;
  constexpr zp::index_t many = zp::index_t{1} << 32;
  const zp::zfp_codec codec;
  CHECK(codec.resolve({float32, {many}}).failure().code == zp::errc::unsupported);
  CHECK(codec.resolve({float32, {many - 1}}));
  CHECK(codec.resolve({float32, {many, 1}}));
  CHECK(codec.resolve({float32, {many / 2, many / 2}}).failure().code == zp::errc::unsupported);
  CHECK_FALSE(codec.resolve({float32, {many, many}}));
  for (const zp::dims& shape : {zp::dims{many}, {many / 2, many / 2}, {many, many}, {many, 0}})
    CHECK(codec.encoded_bound({float32, shape}) == UINT64_MAX);
  // The header of as many elements in one dimension.
  byte_string header = hostile_stream(zfp_type_float, {many}, 1, 99, 9, 0, 32);
  const zp::detail::zfp_bits bits(header);
  zfp_field field = zp::detail::zfp_field_of({float32, {1 << 16, 1 << 16}}).value();
  CHECK(zp::detail::read_zfp_header(*bits.get(), field).failure().code == zp::errc::corrupt);
}

TEST_CASE("zfp: options of a program that are not numbers") {
  using kind = zp::zfp_options::kind;
  const zp::tensor_spec floats{zp::dtype_kind::float32, {8, 8}};
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), -1.0, std::numeric_limits<double>::infinity()}) {
    const zp::zfp_codec rate{{.mode = kind::fixed_rate, .rate = bad}};
    const zp::zfp_codec accuracy{{.mode = kind::fixed_accuracy, .tolerance = bad}};
    CHECK(rate.resolve(floats).failure().code == zp::errc::invalid_argument);
    CHECK(accuracy.resolve(floats).failure().code == zp::errc::invalid_argument);
    CHECK(rate.encoded_bound(floats) == UINT64_MAX);
  }
}

TEST_CASE("zfp: elements at an odd address") {
  for (const zp::dtype_kind kind : {zp::dtype_kind::float64, zp::dtype_kind::int16}) {
    const zp::tensor_spec spec{kind, {9, 3}};
    byte_string from(1 + 27 * spec.type.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 50);
    const zp::zfp_codec codec;
    zp::codec_workspace scratch;
    byte_string stored(codec.encoded_bound(spec));
    stored.resize(
        codec.encode(zp::dense_view(std::as_const(from).data() + 1, spec), stored, scratch)
            .value());
    byte_string back(from.size());
    back[0] = from[0];
    REQUIRE(codec.decode(stored, zp::dense_view(back.data() + 1, spec), scratch));
    CHECK(back == from);
  }
}

TEST_CASE("zfp: in tables") {
  using codecs = zp::codec_registry<zp::zfp_codec, zp::zfpy_codec>;
  CHECK(codecs::table().find("zfp") != nullptr);
  CHECK(codecs::table().find("numcodecs.zfpy") != nullptr);
}

}  // namespace zfp_test
