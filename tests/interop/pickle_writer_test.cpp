// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

namespace pickle_writer_test {

using namespace zarrpoint;

json parsed(std::string_view text) { return parse_json(as_bytes(text)).value(); }

TEST_CASE("pickle_writer: the bytes are those of CPython") {
  CHECK(torch::write_pickle(parsed(R"({"a":[1,"x",null,2.5,true,-7,1099511627776,)"
                                   R"(9223372036854775808],"b":{},"c":[],"d":{"e":[[1],[2,3]]}})"))
            .value() ==
        test::from_hex("80027d71002858010000006171015d7102284b0158010000007871034e47400400000000000"
                       "0884af9ffffff8a06"
                       "00000000000"
                       "18a090000000000000080006558010000006271047d710558010000006371065d7107580100"
                       "00006471087d71"
                       "09580100000065710a5d710b285d710c4b01615d710d284b024b03656573752e"));
  CHECK(
      torch::write_pickle(parsed("[-1099511627776,2147483648,-2147483649,2147483648,"
                                 "-9223372036854775808,9223372036854775807]"))
          .value() ==
      test::from_hex("80025d7100288a060000000000ff8a0500000080008a05ffffff7fff8a0500000080008a0800"
                     "000000000000808a08ffffffffffffff7f652e"));
  CHECK(torch::write_pickle(parsed(R"({"iteration":7})")).value() ==
        test::from_hex("80027d71005809000000697465726174696f6e71014b07732e"));
}

json random_json(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0: return json();
    case 1: return json(random() % 2 == 0);
    case 2: return json(static_cast<std::int64_t>(random()) >> random() % 64);
    case 3: return json(random());
    case 4: return json(static_cast<double>(random()) / 3);
    case 5: return json(std::string(random() % 300, 'x') + "\xc3\xa9");
    case 6: {
      json::array out;
      for (std::size_t n = random() % 5; n > 0; --n) out.push_back(random_json(random, depth - 1));
      return out;
    }
    default: {
      json::object out;
      for (std::size_t n = random() % 5; n > 0; --n)
        out.push_back({"k" + std::to_string(n), random_json(random, depth - 1)});
      return out;
    }
  }
}

TEST_CASE("pickle_writer: what is written is what is read") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const json value = random_json(random, 5);
    const std::string bytes = torch::write_pickle(value).value();
    CHECK(torch::to_json(test::unpickle(bytes).value()).value() == value);
    CHECK(torch::write_pickle(value).value() == bytes);
  }
  json::array many;  // batches, and memo indices beyond a byte
  for (int i = 0; i < 2001; ++i) many.emplace_back(std::to_string(i));
  CHECK(torch::to_json(test::unpickle(torch::write_pickle(many).value()).value()).value() ==
        json(many));
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(test::unpickle(torch::write_pickle(json(infinite)).value()).value().to_double() ==
        infinite);
}

TEST_CASE("pickle_writer: bytes, tuples and names") {
  torch::pickle_writer to;
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  to.tuple(4, [&](std::size_t i) -> result<void> {
      if (i == 0) return to.bytes(as_bytes(every));
      if (i == 1) return to.tuple(0, [](std::size_t) { return result<void>(); });
      if (i == 2) return to.integer(1), to.persistent(), result<void>();
      return to.global("m", "n"), result<void>();
    }).value();
  const auto read = test::unpickle(std::move(to).finish()).value();
  CHECK(as_text(torch::to_bytes(read.element(0)).value()) == every);
  CHECK(read.element(1).element_count() == 0);
  CHECK(read.element(2).kind() == torch::pickle_kind::persistent);
  CHECK(read.element(3).is_global("m", "n"));
}

TEST_CASE("pickle_writer: objects, and what is there again, in the bytes of CPython") {
  torch::pickle_writer to;
  to.tuple(3, [&](std::size_t i) -> result<void> {
      static std::uint32_t first, type, x;
      if (i == 2) return to.again(first), result<void>();
      if (i == 0) {
        to.global("m", "C");
        type = to.place();
      } else {
        to.again(type);
      }
      to.object();
      if (i == 0) first = to.place();
      ZARRPOINT_CHECK(to.dict(i == 0 ? 2 : 1, [&](std::size_t member) -> result<void> {
        static std::uint32_t text;
        if (i == 1) return to.again(x), to.integer(1), result<void>();
        ZARRPOINT_CHECK(to.string(member == 0 ? "x" : "y"));
        if (member == 0) {
          x = to.place();
          ZARRPOINT_CHECK(to.string("text"));
          text = to.place();
          return {};
        }
        return to.list(
            2, [&](std::size_t k) { return to.again(k == 0 ? text : type), result<void>(); });
      }));
      return to.build(), result<void>();
    }).value();
  const std::string bytes = std::move(to).finish();
  CHECK(bytes ==
        test::from_hex(
            "8002636d0a430a7100298171017d7102285801000000787103580400000074657874710458010"
            "000007971055d710628680468006575626800298171077d710868034b01736268018771092e"));
  const auto read = test::unpickle(bytes).value();
  CHECK(read.element(0).is_same(read.element(2)));
  CHECK_FALSE(read.element(0).is_same(read.element(1)));
  CHECK(*read.element(0).state(0).find("x")->if_string() == "text");
  torch::pickle_writer many;  // places beyond a byte
  many.list(400,
            [&](std::size_t i) -> result<void> {
              if (i < 300) return many.string(std::to_string(i));
              return many.again(static_cast<std::uint32_t>(i - 100)), result<void>();
            })
      .value();
  const auto list = test::unpickle(std::move(many).finish()).value();
  for (std::size_t i = 300; i < 400; ++i)  // the list itself has the first place
    CHECK(*list.element(i).if_string() == std::to_string(i - 101));
}

TEST_CASE("pickle_writer: what no pickle of ours may hold") {
  CHECK(torch::write_pickle(json("\xff")).failure().code == errc::invalid_argument);
  CHECK(torch::write_pickle(json(json::object{{"\xff", 1}})).failure().code ==
        errc::invalid_argument);
  json deep;
  for (int i = 0; i < 101; ++i) deep = json(json::array{std::move(deep)});
  CHECK(torch::write_pickle(deep).failure().code == errc::invalid_argument);
}

}  // namespace pickle_writer_test
