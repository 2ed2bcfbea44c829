// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/nvtx.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

// By tests/nvtx3/nvToolsExt.h, which keeps what it is told.

namespace nvtx_test {

using namespace zarrpoint;

TEST_CASE("nvtx_ranges: a range for each phase, with the bytes") {
  memory_store store;
  const std::vector<float> w(3'000'000, 1);
  {
    nvtx_ranges ranges;
    CHECK(fake_nvtx.domain == "zarrpoint");
    context how;  // one thread, as the fake keeps one stack
    how.observer = &ranges;
    const save_report report = save(store, {{"net/w", w}}, {}, how).value();
    CHECK(fake_nvtx.open.empty());
    const auto at = std::find(fake_nvtx.all.begin(), fake_nvtx.all.end(), "encode net/w");
    CHECK(at != fake_nvtx.all.end());
    std::uint64_t encoded = 0;
    for (std::size_t i = 0; i < fake_nvtx.all.size(); ++i)
      if (fake_nvtx.all[i].starts_with("encode ")) encoded += fake_nvtx.bytes[i];
    CHECK(encoded == report.bytes);
  }
  CHECK(fake_nvtx.domain == "");
}

TEST_CASE("nvtx_ranges: names are cut, at a whole character, and end at their end") {
  nvtx_ranges ranges;
  const std::string zero("a\0b", 3);
  ranges.begin({phase::read, zero});
  CHECK(fake_nvtx.open.back() == "read a?b");
  for (int extra = 0; extra < 4; ++extra) {
    std::string name(static_cast<std::size_t>(extra), 'x');
    for (int i = 0; i < 100; ++i) name += "\xe2\x82\xac";
    ranges.begin({phase::read, name});
    const std::string& text = fake_nvtx.open.back();
    CHECK(text.size() > 120);
    CHECK(text.size() < 128);
    CHECK((text.size() - 5 - static_cast<std::size_t>(extra)) % 3 == 0);
  }
  for (int i = 0; i < 5; ++i) ranges.end({phase::read, {}});
  CHECK(fake_nvtx.open.empty());
}

}  // namespace nvtx_test
