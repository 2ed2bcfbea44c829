// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle.hpp>

#include "../support/random_rounds.hpp"
#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace pickle_test {

using namespace zarrpoint;
using torch::pickle_kind;
using torch::pickle_value;

errc refusal(const std::string& bytes) {
  const auto read = test::unpickle(bytes);
  REQUIRE_FALSE(read);
  return read.failure().code;
}

TEST_CASE("pickle: every kind of value, by protocols 2 to 5") {
  std::string five = test::all_kinds_4;
  five[1] = 5;  // CPython writes the same for these values
  for (const std::string& bytes : {test::all_kinds_2, test::all_kinds_4, five}) {
    const pickle_value root = test::unpickle(bytes).value();
    REQUIRE(root.kind() == pickle_kind::dict);
    CHECK(root.find("n")->is_none());
    CHECK(root.find("t")->to_bool() == true);
    CHECK(root.find("f")->to_bool() == false);
    CHECK_FALSE(root.find("t")->to_int64());
    const std::int64_t integers[] = {0,  255,       256,       65535,     65536,
                                     -1, INT32_MIN, 1LL << 31, INT64_MAX, INT64_MIN};
    const pickle_value list = *root.find("i");
    REQUIRE(list.element_count() == 10);
    for (std::size_t i = 0; i < 10; ++i) CHECK(list.element(i).to_int64() == integers[i]);
    CHECK(root.find("u")->to_uint64() == UINT64_MAX);
    CHECK_FALSE(root.find("u")->to_int64());
    CHECK(root.find("w")->if_wide_integer()->size() == 9);
    CHECK_FALSE(root.find("w")->to_uint64());
    CHECK(root.find("m")->if_wide_integer()->back() == std::byte{0xff});
    CHECK(root.find("d")->to_double() == 1.5);
    CHECK(*root.find("s")->if_string() == "\xc3\xa9\xf0\x9f\x98\x80");
    const pickle_value tuple = *root.find("tu");
    CHECK(tuple.kind() == pickle_kind::tuple);
    REQUIRE(tuple.element_count() == 5);
    for (std::size_t i = 1; i < 5; ++i) CHECK(tuple.element(i).element_count() == i - 1);
    const pickle_value keyed = *root.find("k");
    REQUIRE(keyed.member_count() == 2);
    CHECK(keyed.key(0).to_int64() == 1);
    CHECK(keyed.key(1).kind() == pickle_kind::tuple);
    CHECK(*keyed.member(1).if_string() == "x");
    const pickle_value shared = *root.find("sh");
    CHECK(shared.element(0).is_same(shared.element(1)));
    CHECK_FALSE(root.find("missing"));
  }
  const pickle_value four = test::unpickle(test::all_kinds_4).value();
  CHECK(as_text(*four.find("b")->if_bytes()) == std::string_view("\0\xff", 2));
  CHECK(four.find("set")->kind() == pickle_kind::set);
  CHECK(four.find("set")->element(0).to_int64() == 7);
}

TEST_CASE("SAFE-1: what a hostile pickle would call is a value, and nothing is called") {
  // os.system("touch owned"), of protocols 2 and 4.
  for (const char* hex :
       {"800263706f7369780a73797374656d0a7100580b000000746f756368206f776e656471018571025271032e",
        "80049526000000000000008c05706f736978948c0673797374656d9493948c0b746f756368206f776e65649485"
        "9452942e"}) {
    const pickle_value root = test::unpickle(test::from_hex(hex)).value();
    REQUIRE(root.kind() == pickle_kind::call);
    CHECK(root.is_call_of("posix", "system"));
    CHECK(*root.arguments().element(0).if_string() == "touch owned");
    CHECK(root.keywords().is_none());
    std::FILE* made = std::fopen("owned", "r");
    CHECK(made == nullptr);
    if (made != nullptr) std::fclose(made);
  }
  // Objects by their class and keywords (0x92), with a state, and by the opcode `o`.
  using namespace std::string_literals;
  const pickle_value object = test::unpickle(
                                  "\x80\x04"
                                  "cm\nC\n)}\x8c\x01kK\x01s\x92K\x05"
                                  "b."s)
                                  .value();
  CHECK(object.is_call_of("m", "C"));
  CHECK(object.keywords().find("k")->to_int64() == 1);
  REQUIRE(object.state_count() == 1);
  CHECK(object.state(0).to_int64() == 5);
  const pickle_value old = test::unpickle("\x80\x02(cm\nC\nK\x07o."s).value();
  CHECK(old.arguments().element(0).to_int64() == 7);
  CHECK(old.callable().name() == "C");
  CHECK(old.name().empty());
}

TEST_CASE("pickle: members of what was called, cycles and names kept outside") {
  const pickle_value ordered =
      test::unpickle(test::from_hex("800263636f6c6c656374696f6e730a4f726465726564446963740a710029"
                                    "5271012858010000006171024b0158010000006271035d71044b0261752e"))
          .value();
  CHECK(ordered.member_count() == 2);
  CHECK(ordered.find("b")->element(0).to_int64() == 2);
  const pickle_value cycle = test::unpickle(test::from_hex("80025d71006800612e")).value();
  CHECK(cycle.element(0).is_same(cycle));
  using namespace std::string_literals;
  const pickle_value persistent = test::unpickle("\x80\x02K\x07Q."s).value();
  CHECK(persistent.kind() == pickle_kind::persistent);
  CHECK(persistent.element(0).to_int64() == 7);
  CHECK(test::unpickle("\x80\x02K\x07K\x08"
                       "0."s)
            .value()
            .to_int64() == 7);
  CHECK(test::unpickle("\x80\x02K\x07(K\x08"
                       "0"
                       "0."s)
            .value()
            .to_int64() == 7);
  CHECK(test::unpickle("\x80\x02K\x07(K\x08"
                       "1."s)
            .value()
            .to_int64() == 7);
  CHECK(test::unpickle("\x80\x02K\x07"
                       "2\x86."s)
            .value()
            .element_count() == 2);
  CHECK(test::unpickle("\x80\x02U\x01xT\x01\0\0\0\xff\x86."s).value().element(1).if_bytes());
  CHECK(test::unpickle("\x80\x02(K\x01K\x02"
                       "d."s)
            .value()
            .member_count() == 1);
  CHECK(test::unpickle("\x80\x02(K\x01K\x02l."s).value().element_count() == 2);
  CHECK(test::unpickle("\x80\x04(K\x01\x91."s).value().kind() == pickle_kind::set);
  CHECK(test::unpickle("\x80\x05\x96\x01\0\0\0\0\0\0\0z."s).value().if_bytes());
}

TEST_CASE("pickle: what is broken or not known is refused by name") {
  using namespace std::string_literals;
  CHECK(refusal("") == errc::unsupported);
  CHECK(refusal("(lp0\n.") == errc::unsupported);
  CHECK(refusal("\x80\x06N.") == errc::unsupported);
  CHECK(refusal("\x80\x02I1\n.") == errc::unsupported);      // protocol 0
  CHECK(refusal("\x80\x02\x82\x01.") == errc::unsupported);  // an extension
  CHECK(refusal("\x80\x05\x97.") == errc::unsupported);      // data kept apart
  for (const std::string& bytes : {"\x80\x02."s,
                                   "\x80\x02NN."s,
                                   "\x80\x02N.N"s,
                                   "\x80\x02(N."s,
                                   "\x80\x02K"s,
                                   "\x80\x02"
                                   "0."s,
                                   "\x80\x02(N\x85"
                                   "0\x86."s,
                                   "\x80\x02"
                                   "e."s,
                                   "\x80\x02N(Ne."s,
                                   "\x80\x02N(NNu."s,
                                   "\x80\x02}(Nu."s,
                                   "\x80\x02(Nd."s,
                                   "\x80\x02](N\x90."s,
                                   "\x80\x02NNR."s,
                                   "\x80\x02)NR."s,
                                   "\x80\x02(o."s,
                                   "\x80\x02NNb."s,
                                   "\x80\x02h\x01."s,
                                   "\x80\x02q\x01."s,
                                   "\x80\x02X\xff\xff\xff\xff."s,
                                   "\x80\x02X\x01\0\0\0\xff."s,
                                   "\x80\x02"
                                   "cos\nsystem"s,
                                   "\x80\x02\x8b\xff\xff\xff\xff."s,
                                   "\x80\x04\x95\x05\0\0\0\0\0\0\0N."s,
                                   "\x80\x04NN\x93."s,
                                   "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f."s,
                                   "\x80\x04NN)N\x92."s,
                                   "\x80\x04\x94."s,
                                   "\x80\x02"
                                   "c\xff\nx\n."s}) {
    CAPTURE(bytes);
    CHECK(refusal(bytes) == errc::corrupt);
  }
  const std::string message = test::unpickle("\x80\x02NNb.").failure().message;
  CHECK(message.starts_with("pickle: at byte 5: "));
}

TEST_CASE("pickle: the memo has numbers in any order, and the next one is their count") {
  using namespace std::string_literals;
  const auto numbers = [](const std::string& body) {
    const pickle_value root = test::unpickle("\x80\4"s + body + ".").value();
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < root.element_count(); ++i)
      out.push_back(root.element(i).to_int64().value());
    return out;
  };
  // 5, then by MEMOIZE 1, then 0 and 2, of which the last is set again.
  const std::string put =
      "K\7q\5"
      "0K\11\x94"
      "0K\12q\0"
      "0K\13q\2"
      "0K\14q\2"
      "0"s;
  CHECK(numbers(put + "(h\5h\1h\0h\2l"s) == std::vector<std::int64_t>{7, 9, 10, 12});
  // One after another, with one set again in between.
  CHECK(numbers("K\1\x94"
                "0K\2\x94"
                "0K\3q\0"
                "0K\4\x94"
                "0(h\0h\1h\2l"s) == std::vector<std::int64_t>{3, 2, 4});
  CHECK(refusal("\x80\4K\1q\2h\1."s) == errc::corrupt);
}

TEST_CASE("pickle: a value is small where its bytes are few, and short tuples need nothing more") {
  CHECK(sizeof(torch::detail::pickle_item) <= 24);
  using namespace std::string_literals;
  const pickle_value pair = test::unpickle("\x80\4K\1K\2\x86."s).value();
  CHECK(pair.element_count() == 2);
  CHECK(pair.element(0).to_int64() == 1);
  CHECK(pair.element(1).to_int64() == 2);
  CHECK(pair.member_count() == 0);
  CHECK_FALSE(pair.to_int64());
  const pickle_value one = test::unpickle("\x80\4K\1\x85\x85."s).value();
  CHECK(one.element_count() == 1);
  CHECK(one.element(0).kind() == pickle_kind::tuple);
  CHECK(one.element(0).element(0).to_int64() == 1);
  CHECK(refusal("\x80\4K\1\x86."s) == errc::corrupt);
}

TEST_CASE("pickle: budgets hold for values, the memo, the stack and marks") {
  using namespace std::string_literals;
  const torch::pickle_limits small{.max_bytes = 1 << 16, .max_values = 100};
  const auto limited = [&](const std::string& body) {
    const auto read = test::unpickle("\x80\x04"s + body, small);
    REQUIRE_FALSE(read);
    return read.failure().code;
  };
  std::string values, memo = "N", gets = "Nq\1";
  for (int i = 0; i < 200; ++i) values += "K\1", memo += '\x94', gets += "h\1";
  CHECK(limited(values) == errc::resource_limit);
  CHECK(limited(memo) == errc::resource_limit);
  CHECK(limited(gets) == errc::resource_limit);
  CHECK(limited(std::string(200, '(')) == errc::resource_limit);
  CHECK(limited(std::string(1 << 16, 'N')) == errc::resource_limit);
  // A memo index of 2^32 - 1 takes no memory but its own.
  CHECK(
      test::unpickle("\x80\x02Nr\xff\xff\xff\xffj\xff\xff\xff\xff\x86."s).value().element_count() ==
      2);
  // Nested as deep as it likes: neither reading nor destroying it goes down into it.
  std::string deep = "\x80\x02";
  for (int i = 0; i < 500000; ++i) deep += ']';
  for (int i = 1; i < 500000; ++i) deep += 'a';
  CHECK(test::unpickle(deep + '.').value().element_count() == 1);
}

TEST_CASE("pickle: cut short or bits turned, it is a value or an error") {
  constexpr int rounds = zarrpoint_test::random_rounds(20000);
  for (const std::string& bytes : {test::all_kinds_2, test::all_kinds_4}) {
    int errors = 0;
    test::for_each_damage(bytes, rounds, [&](const std::string& damaged, bool is_cut) {
      const auto read = test::unpickle(damaged);
      if (is_cut) CHECK_FALSE(read);
      if (!read) ++errors;
      if (!read && read.failure().code != errc::corrupt)
        CHECK(read.failure().code == errc::unsupported);
    });
    CHECK(errors > rounds / 4);
  }
}

}  // namespace pickle_test
