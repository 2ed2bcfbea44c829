// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/torch/pickled_numpy.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace pickled_numpy_test {

using namespace zarrpoint;
using torch::detail::numpy_array;

namespace {

// By CPython 3.11 with numpy 2, protocol 2.
const std::string big_endian_columns =
    test::from_hex(  // np.array([[1,2,3],[4,5,6]], ">i2", order="F")
        "8002636e756d70792e5f636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7100636e756d"
        "70790a6e6461727261790a71014b00857102635f636f646563730a656e636f64650a7103580100000062710458"
        "060000006c6174696e317105867106527107877108527109284b014b024b0386710a636e756d70790a64747970"
        "650a710b58020000006932710c898887710d52710e284b0358010000003e710f4e4e4e4affffffff4affffffff"
        "4b0074711062886803580c00000000010004000200050003000671116805867112527113747114622e");
const std::string scalar = test::from_hex(  // np.float32(1.5)
    "8002636e756d70792e5f636f72652e6d756c746961727261790a7363616c61720a7100636e756d70790a647479"
    "70650a71015802000000663471028988877103527104284b0358010000003c71054e4e4e4affffffff4affffff"
    "ff4b0074710662635f636f646563730a656e636f64650a710758050000000000c3803f710858060000006c6174"
    "696e31710986710a52710b86710c52710d2e");
const std::string text = test::from_hex(  // np.array(["x"])
    "8002636e756d70792e5f636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7100636e756d"
    "70790a6e6461727261790a71014b00857102635f636f646563730a656e636f64650a7103580100000062710458"
    "060000006c6174696e317105867106527107877108527109284b014b0185710a636e756d70790a64747970650a"
    "710b58020000005531710c898887710d52710e284b0358010000003c710f4e4e4e4b044b044b08747110628968"
    "0358040000007800000071116805867112527113747114622e");

std::optional<numpy_array> read(const std::string& pickle) {
  return torch::detail::read_numpy(test::unpickle(pickle).value());
}

}  // namespace

TEST_CASE("pickled_numpy: arrays come in rows, little-endian") {
  const auto array = read(big_endian_columns);
  REQUIRE(array);
  CHECK(array->spec == tensor_spec{dtype_kind::int16, {2, 3}});
  std::vector<std::byte> expected;
  for (const int value : {1, 2, 3, 4, 5, 6}) {
    expected.push_back(static_cast<std::byte>(value));
    expected.push_back(std::byte{0});
  }
  CHECK(array->elements == expected);
}

TEST_CASE("pickled_numpy: scalars are numbers") {
  const auto array = read(scalar);
  REQUIRE(array);
  CHECK(array->spec.shape.rank() == 0);
  CHECK(torch::detail::number_of(*array) == json(1.5));
}

TEST_CASE("pickled_numpy: what is not of numbers, or has other bytes than it says, is not one") {
  CHECK_FALSE(read(text));
  CHECK_FALSE(read(test::all_kinds_4));
  std::string longer = big_endian_columns;
  longer[longer.find("K\x02K\x03") + 1] = 3;  // its shape: 3 by 3
  CHECK_FALSE(read(longer));
  test::for_each_damage(scalar, 200, [](const std::string& damaged, bool) {
    if (const auto made = test::unpickle(damaged)) torch::detail::read_numpy(*made);
  });
}

}  // namespace pickled_numpy_test
