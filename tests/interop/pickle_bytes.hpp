// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>

#include <random>
#include <string>
#include <string_view>

// Pickles written by CPython 3.11, and what is done to the bytes of them.
namespace test {

inline std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

inline zarrpoint::result<zarrpoint::torch::pickle_value> unpickle(
    std::string_view bytes, const zarrpoint::torch::pickle_limits& limits = {}) {
  return zarrpoint::torch::read_pickle(zarrpoint::as_bytes(bytes), limits);
}

/// Calls `f` with `bytes` cut at every length and with `flips` copies of which bits are turned.
template <class F>
void for_each_damage(const std::string& bytes, int flips, F&& f) {
  for (std::size_t size = 0; size < bytes.size(); ++size) f(bytes.substr(0, size), true);
  std::mt19937 random(7);
  for (int i = 0; i < flips; ++i) {
    std::string damaged = bytes;
    for (std::size_t n = 1 + random() % 3; n > 0; --n)
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    f(damaged, false);
  }
}

/// One value of each kind, by protocol 2 and 4.
inline const std::string all_kinds_2 = from_hex(
    "80027d71002858010000006e71014e58010000007471028858010000006671038958010000006971045d7105284b00"
    "4bff4d00014dffff4a000001004affffffff4a000000808a0500000080008a08ffffffffffffff7f8a080000000000"
    "0000806558010000007571068a09ffffffffffffffff0058010000007771078a090000000000000000405801000000"
    "6d71088a09ffffffffffffff7fff5801000000647109473ff8000000000000580100000073710a5806000000c3a9f0"
    "9f9880710b580100000062710c635f636f646563730a656e636f64650a710d580300000000c3bf710e58060000006c"
    "6174696e31710f867110527111580200000074757112284b01294b028571134b014b028671144b014b024b03877115"
    "74711658030000007365747117635f5f6275696c74696e5f5f0a7365740a71185d71194b076185711a52711b580100"
    "00006b711c7d711d284b014b024b034b0486711e580100000078711f755802000000736871205d7121285d71224b01"
    "61682265752e");
inline const std::string all_kinds_4 = from_hex(
    "800495ef000000000000007d94288c016e944e8c017494888c016694898c0169945d94284b004bff4d00014dffff4a"
    "000001004affffffff4a000000808a0500000080008a08ffffffffffffff7f8a080000000000000080658c0175948a"
    "09ffffffffffffffff008c0177948a090000000000000000408c016d948a09ffffffffffffff7fff8c016494473ff8"
    "0000000000008c0173948c06c3a9f09f9880948c016294430200ff948c02747594284b01294b0285944b014b028694"
    "4b014b024b03879474948c03736574948f94284b07908c016b947d94284b014b024b034b0486948c017894758c0273"
    "68945d94285d944b0161681b65752e");

}  // namespace test
