// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/lzma_filters.hpp>

#include <doctest/doctest.h>

namespace lzma_filters_test {

namespace zp = zarrpoint;
using zp::json;
using chain = zp::detail::lzma_filter_chain;

TEST_CASE("lzma filters: the default is one filter at a preset") {
  const auto two = chain::make(json(), 1, false).value();
  CHECK(two.filters()[0].id == LZMA_FILTER_LZMA2);
  CHECK(two.filters()[1].id == LZMA_VLI_UNKNOWN);
  CHECK(two.options().dict_size == 1u << 20);
  CHECK_FALSE(two.check_alone());
  const auto one = chain::make(json(), 9, true).value();
  CHECK(one.filters()[0].id == LZMA_FILTER_LZMA1);
  CHECK(one.options().dict_size == 64u << 20);
  CHECK(one.check_alone());
}

TEST_CASE("lzma filters: options reach liblzma, also of a copy") {
  const json list = json::array{json::object{{"id", 3}, {"dist", 8}},
                                json::object{{"id", 7}, {"start_offset", 4}},
                                json::object{{"id", 0x21}, {"preset", 0}, {"lc", 1}, {"pb", 0}}};
  const chain made = chain(chain::make(list, 6, false).value());
  CHECK(static_cast<const lzma_options_delta*>(made.filters()[0].options)->dist == 8);
  CHECK(static_cast<const lzma_options_bcj*>(made.filters()[1].options)->start_offset == 4);
  const auto* last = static_cast<const lzma_options_lzma*>(made.filters()[2].options);
  CHECK(last->lc == 1);
  CHECK(last->pb == 0);
  CHECK(made.filters()[3].id == LZMA_VLI_UNKNOWN);
}

TEST_CASE("lzma filters: what is unknown is refused") {
  const auto refused = [](const json& one) {
    return chain::make(json::array{one}, 6, false).failure().code;
  };
  CHECK(refused(json::object{{"id", 0x30}}) == zp::errc::unsupported);
  CHECK(refused(json::object{{"id", "lzma2"}}) == zp::errc::invalid_argument);
  CHECK(refused(json::object{{"id", 3}, {"speed", 1}}) == zp::errc::invalid_argument);
  CHECK(refused(json(7)) == zp::errc::invalid_argument);
  CHECK_FALSE(chain::make(json::array{json(), json(), json(), json(), json()}, 6, false));
}

}  // namespace lzma_filters_test
