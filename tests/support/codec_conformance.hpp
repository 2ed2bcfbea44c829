// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every codec must do, as one call in a doctest case: `codec_conformance(my_codec{})`. Runs
// best under the address sanitizer. Codecs that lose precision are not for it.

#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/registry.hpp>

#include "support/random_layout.hpp"
#include "support/random_rounds.hpp"
#include "support/sample_tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace zarrpoint_test {

/// Memory with guards on both sides, which show writes outside it in every build.
class guarded_bytes {
 public:
  explicit guarded_bytes(std::size_t size) : all_(size + 2 * guard, mark) {}
  zp::mutable_bytes bytes() {
    return zp::mutable_bytes(all_).subspan(guard, all_.size() - 2 * guard);
  }
  bool intact() const {
    const auto is_mark = [](std::byte b) { return b == mark; };
    return std::all_of(all_.begin(), all_.begin() + guard, is_mark) &&
           std::all_of(all_.end() - guard, all_.end(), is_mark);
  }

 private:
  static constexpr std::ptrdiff_t guard = 32;
  static constexpr std::byte mark{0xa5};
  std::vector<std::byte> all_;
};

inline std::vector<std::byte> copy_of(zp::bytes_view from) { return {from.begin(), from.end()}; }

/// The dtypes and shapes that codecs of elements are tried on; what a codec's `resolve` refuses is
/// left out.
inline std::vector<zp::tensor_spec> conformance_specs() {
  std::vector<zp::tensor_spec> specs;
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    for (const zp::dims& shape : {zp::dims{}, zp::dims{0}, zp::dims{1}, zp::dims{7}, zp::dims{3, 5},
                                  zp::dims{2, 0, 3}, zp::dims{4, 1, 6}})
      specs.push_back({kind, shape});
  }
  return specs;
}

/// Byte strings of all sizes that matter: random, constant and compressible.
inline std::vector<std::vector<std::byte>> conformance_payloads() {
  random_source random(2026);
  std::vector<std::vector<std::byte>> payloads;
  for (const std::size_t size : {0u, 1u, 2u, 3u, 4u, 15u, 64u, 257u, 1000u, 300'000u}) {
    payloads.push_back(random_bytes(random, size));
    payloads.emplace_back(size, std::byte{7});
    payloads.push_back(random_bytes(random, size));
    for (std::byte& b : payloads.back()) b &= std::byte{0x11};
  }
  return payloads;
}

/// Calls `f(damaged)` for `stored` cut at every byte and with every bit turned; of long ones for a
/// sample of both.
template <class F>
void for_each_damage(zp::bytes_view stored, F&& f) {
  constexpr std::size_t work = random_rounds(std::size_t{500'000});  // bytes to decode
  const std::size_t tries = work / (stored.size() + 1) + 8;
  for (std::size_t size = 0; size < stored.size(); size += stored.size() / tries + 1)
    f(copy_of(stored.first(size)));
  const std::size_t bits = 8 * stored.size();
  for (std::size_t bit = 0; bit < bits; bit += bits / tries + 1) {
    std::vector<std::byte> damaged = copy_of(stored);
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    f(damaged);
  }
}

namespace conformance {

/// Metadata: the name, the configuration and what it refuses.
template <class C>
void check_configuration(const C& codec) {
  CHECK_FALSE(std::string_view(C::name).empty());
  const zp::json configuration = zp::configuration_of(codec);
  const zp::result<C> again = zp::make_codec<C>(configuration);
  REQUIRE_MESSAGE(again, zp::to_string(again.failure()));
  CHECK(zp::configuration_of(*again) == configuration);
  zp::json extra = configuration;
  extra.set("no such member", zp::json(1));
  const zp::result<C> refused = zp::make_codec<C>(extra);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find("no such member") != std::string::npos);
  CHECK_FALSE(zp::make_codec<C>(zp::json("text")));
  CHECK_FALSE(zp::make_codec<C>(zp::json(zp::json::array{})));
}

/// The chain with the codec in its place, resolved for `spec`, by name from a table.
template <class C>
zp::result<zp::codec_chain> chain_with(const C& codec, const zp::tensor_spec& spec) {
  using codecs = typename zp::codec_registry<zp::bytes_codec, zp::vlen_utf8_codec,
                                             zp::vlen_bytes_codec>::template with<C>;
  const zp::codec_spec self{std::string(C::name), zp::configuration_of(codec)};
  const zp::codec_spec elements =
      spec.type.is_variable()
          ? zp::codec_spec{spec.type == zp::dtype_kind::string ? "vlen-utf8" : "vlen-bytes"}
          : zp::codec_spec{"bytes", zp::json::object{{"endian", "little"}}};
  std::vector<zp::codec_spec> specs{self};
  if constexpr (zp::kind_of<C>() == zp::codec_kind::array_to_array) specs = {self, elements};
  if constexpr (zp::kind_of<C>() == zp::codec_kind::bytes_to_bytes) specs = {elements, self};
  return zp::codec_chain::resolve(specs, spec, codecs::table());
}

/// A tensor through the chain and back, to and from every layout, and damaged on the way.
inline void check_chain(const zp::codec_chain& chain, random_source& random) {
  using placed = sample_tensor::placed;
  const zp::tensor_spec& spec = chain.chunk_spec();
  zp::codec_workspace scratch;
  sample_tensor original(spec, random, placed::anywhere);
  const zp::result<zp::bytes_view> encoded = chain.encode(original.view(), scratch);
  REQUIRE_MESSAGE(encoded, zp::to_string(encoded.failure()));
  const std::vector<std::byte> stored = copy_of(*encoded);
  CHECK(stored.size() <= chain.encoded_bound());
  if (chain.fixed_size()) CHECK(stored.size() == chain.encoded_bound());

  for (const placed how : {placed::dense, placed::anywhere, placed::anywhere}) {
    sample_tensor decoded(spec, random, how);
    const zp::result<void> status = chain.decode(stored, decoded.target(), scratch);
    REQUIRE_MESSAGE(status, zp::to_string(status.failure()));
    REQUIRE(same_elements(original.view(), decoded.view()));
    // The bytes depend on the elements alone.
    const zp::result<zp::bytes_view> again = chain.encode(decoded.view(), scratch);
    REQUIRE(again);
    REQUIRE(copy_of(*again) == stored);
  }

  sample_tensor victim(spec, random);
  std::vector<std::byte> longer = stored;
  longer.push_back(std::byte{1});
  CHECK_FALSE(chain.decode(longer, victim.target(), scratch));
  const std::size_t cut_bytes = stored.size();
  for_each_damage(stored, [&](const std::vector<std::byte>& damaged) {
    const zp::result<void> status = chain.decode(damaged, victim.target(), scratch);
    if (damaged.size() < cut_bytes) REQUIRE_FALSE(status);
  });

  zp::tensor_spec other = spec;
  other.shape.push_back(2);
  sample_tensor wrong(other, random);
  CHECK_FALSE(chain.encode(wrong.view(), scratch));
  CHECK_FALSE(chain.decode(stored, wrong.target(), scratch));
}

/// Every budget gives the right result or `resource_limit`, and all memory comes back.
inline void check_budgets(const zp::codec_chain& chain, random_source& random) {
  sample_tensor original(chain.chunk_spec(), random);
  zp::codec_workspace plenty;
  const std::vector<std::byte> stored = copy_of(chain.encode(original.view(), plenty).value());
  for (std::size_t limit = 0; limit < (std::size_t{64} << 20); limit = 4 * limit + 16) {
    zp::limited_resource budget(limit);
    {
      zp::codec_workspace scratch(budget);
      CAPTURE(limit);
      const zp::result<zp::bytes_view> encoded = chain.encode(original.view(), scratch);
      if (encoded) {
        REQUIRE(copy_of(*encoded) == stored);
      } else {
        REQUIRE(encoded.failure().code == zp::errc::resource_limit);
      }
      sample_tensor decoded(chain.chunk_spec(), random);
      const zp::result<void> status = chain.decode(stored, decoded.target(), scratch);
      if (status) {
        REQUIRE(same_elements(original.view(), decoded.view()));
      } else {
        REQUIRE(status.failure().code == zp::errc::resource_limit);
      }
      REQUIRE(budget.peak() <= limit);
    }
    REQUIRE(budget.in_use() == 0);
  }
}

/// A codec of bytes alone: bounds, exact room, too little room, damage.
template <class C>
  requires zp::detail::out_of_place_codec<C>
void check_payload(const C& codec, const std::vector<std::byte>& payload) {
  zp::codec_workspace scratch;
  CAPTURE(payload.size());
  guarded_bytes room(codec.encoded_bound(payload.size()));
  const zp::result<std::size_t> encoded = codec.encode(payload, room.bytes(), scratch);
  REQUIRE_MESSAGE(encoded, zp::to_string(encoded.failure()));
  REQUIRE(room.intact());
  REQUIRE(*encoded <= room.bytes().size());
  if (C::fixed_size) REQUIRE(*encoded == room.bytes().size());
  const std::vector<std::byte> stored = copy_of(room.bytes().first(*encoded));

  guarded_bytes decoded(payload.size());
  const zp::result<std::size_t> size = codec.decode(stored, decoded.bytes(), scratch);
  REQUIRE_MESSAGE(size, zp::to_string(size.failure()));
  REQUIRE(*size == payload.size());
  REQUIRE(decoded.intact());
  REQUIRE(copy_of(decoded.bytes()) == payload);
  if constexpr (requires { codec.decoded_size(stored); }) {
    const auto claimed = codec.decoded_size(stored);
    if (claimed) CHECK(*claimed == payload.size());
  }

  for (const std::size_t less : {payload.size() - 1, payload.size() / 2, std::size_t{0}}) {
    if (less >= payload.size()) continue;
    guarded_bytes small(less);
    const zp::result<std::size_t> status = codec.decode(stored, small.bytes(), scratch);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == zp::errc::out_of_range);
    REQUIRE(small.intact());
  }
  guarded_bytes target(payload.size());
  for_each_damage(stored, [&](const std::vector<std::byte>& damaged) {
    const zp::result<std::size_t> status = codec.decode(damaged, target.bytes(), scratch);
    if (status && damaged.size() < stored.size() && !payload.empty())
      REQUIRE(*status < payload.size());
    if (status) REQUIRE(*status <= payload.size());
  });
  REQUIRE(target.intact());
  // A workspace that has seen errors still works.
  REQUIRE(codec.decode(stored, decoded.bytes(), scratch).value() == payload.size());
  REQUIRE(copy_of(decoded.bytes()) == payload);
}

template <class C>
  requires zp::detail::in_place_codec<C>
void check_payload(const C& codec, const std::vector<std::byte>& payload) {
  CAPTURE(payload.size());
  guarded_bytes room(codec.encoded_bound(payload.size()));
  std::copy(payload.begin(), payload.end(), room.bytes().begin());
  const zp::result<std::size_t> used = codec.encode_in_place(room.bytes(), payload.size());
  REQUIRE_MESSAGE(used, zp::to_string(used.failure()));
  REQUIRE(room.intact());
  const std::vector<std::byte> stored = copy_of(room.bytes().first(*used));
  const zp::result<zp::bytes_view> body = codec.decode_in_place(stored);
  REQUIRE_MESSAGE(body, zp::to_string(body.failure()));
  REQUIRE(copy_of(*body) == payload);
  if (*used > payload.size()) {
    guarded_bytes tight(*used - 1);
    std::copy(payload.begin(), payload.end(), tight.bytes().begin());
    CHECK_FALSE(codec.encode_in_place(tight.bytes(), payload.size()));
    REQUIRE(tight.intact());
  }
  for_each_damage(stored, [&](const std::vector<std::byte>& damaged) {
    const zp::result<zp::bytes_view> status = codec.decode_in_place(damaged);
    if (status) REQUIRE(status->size() <= damaged.size());
  });
}

}  // namespace conformance

/// Holds `codec` to everything that `zarrpoint/codec/base/concepts.hpp` says of its kind: round
/// trips of every dtype and layout, exact sizes, damaged input, budgets.
template <class C>
void codec_conformance(const C& codec,
                       const std::vector<zp::tensor_spec>& specs = conformance_specs()) {
  static_assert(zp::codec<C>);
  conformance::check_configuration(codec);
  random_source random(3);
  std::size_t tried = 0;
  for (const zp::tensor_spec& spec : specs) {
    const zp::result<zp::codec_chain> chain = conformance::chain_with(codec, spec);
    if (!chain) continue;
    CAPTURE(zp::to_string(spec));
    conformance::check_chain(*chain, random);
    if (tried++ % 16 == 0) conformance::check_budgets(*chain, random);
  }
  CHECK_MESSAGE(tried > 0, "the codec refuses every spec");
  if constexpr (zp::kind_of<C>() == zp::codec_kind::bytes_to_bytes) {
    for (const std::vector<std::byte>& payload : conformance_payloads())
      conformance::check_payload(codec, payload);
  }
}

}  // namespace zarrpoint_test
