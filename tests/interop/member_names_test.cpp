// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/torch/torch_store.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace member_names_test {

using namespace zarrpoint;
using namespace std::string_literals;

TEST_CASE("member_names: keys of one text have names that differ, of equal keys the last counts") {
  const auto names = [](const std::string& pickle) {
    std::vector<std::string> out;
    std::uint64_t left = 4096;
    for (const auto& one :
         torch::detail::named_members(test::unpickle(pickle).value(), left).value())
      out.push_back(one.name + "=" + std::to_string(one.member));
    return out;
  };
  using list = std::vector<std::string>;
  CHECK(names("\x80\x02}(K\0NU\0010NK\0NU\1aNu."s) == list{"0 (int)=2", "0=1", "a=3"});
  CHECK(names("\x80\x02}(K\0NK\1Nu."s) == list{"0=0", "1=1"});
  CHECK(names("\x80\x02}(K\1K\2\x86NNNu."s) == list{"[1,2]=0", "null=1"});
  CHECK(names("\x80\x02}(U\4nullNNNu."s) == list{"null=0", "null (NoneType)=1"});
  const std::string longer = "X\xd0\7\0\0"s + std::string(2000, 'x');
  CHECK(names("\x80\x02}(" + longer + "K\1\x86N"s + longer + "K\2\x86Nu.") ==
        list{"(key)=0", "(key)=1"});
  CHECK(names("\x80\x02}(K\1K\2\x86q\0NK\3Nh\0Nu."s) == list{"[1,2]=2", "3=1"});
}

}  // namespace member_names_test
