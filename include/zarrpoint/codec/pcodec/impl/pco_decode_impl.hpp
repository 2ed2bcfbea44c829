// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_bits.hpp>
#include <zarrpoint/codec/pcodec/pco_decode.hpp>
#include <zarrpoint/codec/pcodec/pco_delta.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

// Numbers are decoded in batches: each variable of a chunk (latent, as pco calls it) gives the bin
// and the offset of each number, then its deltas are undone, and then a mode joins the variables.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the arithmetic of a mode needs of floats of `L`'s size.
template <class L>
struct pco_float {
  /// Of the significand. There are no floats of 8 bits.
  static constexpr unsigned digits = sizeof(L) == 8   ? 53
                                     : sizeof(L) == 4 ? 24
                                     : sizeof(L) == 2 ? 11
                                                      : 4;
  /// Of the exponent.
  static constexpr L special = static_cast<L>((pco_middle<L> - 1) >> (digits - 1) << (digits - 1));

  static auto of(L bits) {
    if constexpr (sizeof(L) == 2)
      return static_cast<float>(float16::from_bits(bits));
    else if constexpr (sizeof(L) == 4)
      return std::bit_cast<float>(bits);
    else
      return std::bit_cast<double>(bits);
  }
  template <class F>
  static L bits(F value) {
    if constexpr (sizeof(L) == 2)
      return float16(value).to_bits();
    else
      return std::bit_cast<L>(value);
  }

  /// The bits of the float that is the integer `l` counts to from the middle; above those that a
  /// float can tell from their neighbours it counts floats.
  static L from_integer(L l) {
    // No branches on the sign, which cannot be foreseen.
    constexpr L first = static_cast<L>(L{1} << digits);
    const L negative = static_cast<L>((l >> (sizeof(L) * 8 - 1)) - 1);  // all bits, or none
    const L size = static_cast<L>(l ^ pco_middle<L> ^ negative);
    using real = decltype(of(L{}));
    using integer = std::make_signed_t<L>;  // converted in one instruction
    const L exact = bits(static_cast<real>(static_cast<integer>(size)));
    const L counted = static_cast<L>(bits(static_cast<real>(first)) + (size - first));
    return static_cast<L>((size < first ? exact : counted) | (negative & pco_middle<L>));
  }
};

/// How the variables of a chunk make a number.
template <class L>
struct pco_mode {
  enum class kind : std::uint8_t { classic, int_mult, float_mult, float_quant, dict };

  kind how = kind::classic;
  L base = 0;
  unsigned shift = 0;
  buffer dictionary;
  std::size_t entries = 0;

  bool has_secondary() const { return how != kind::classic && how != kind::dict; }

  result<void> read(pco_reader& from, pco_order order, memory_resource& memory) {
    ZARRPOINT_TRY(variant, from.read(4));
    if (variant > 4) return pco_corrupt("mode " + std::to_string(variant));
    how = static_cast<kind>(variant);
    const bool is_float = order == pco_order::floating;
    if (how == kind::int_mult ? is_float : has_secondary() && !is_float)
      return pco_corrupt("a mode of other numbers");
    if (how == kind::int_mult || how == kind::float_mult) {
      ZARRPOINT_TRY(bits, from.read(sizeof(L) * 8));
      base = pco_number(static_cast<L>(bits), is_float ? order : pco_order::unsigned_integer);
      constexpr L special = pco_float<L>::special;
      const L magnitude = static_cast<L>(is_float ? base & ~pco_middle<L> : base);
      if (magnitude == 0 || (is_float && magnitude >= special))
        return pco_corrupt("a multiplier that is 0 or not finite");
    } else if (how == kind::float_quant) {
      ZARRPOINT_TRY(bits, from.read(8));
      if (bits == 0 || bits >= pco_float<L>::digits)
        return pco_corrupt(std::to_string(bits) + " quantised bits");
      shift = static_cast<unsigned>(bits);
    } else if (how == kind::dict) {
      return read_dictionary(from, memory);
    }
    return {};
  }

 private:
  result<void> read_dictionary(pco_reader& from, memory_resource& memory) {
    ZARRPOINT_TRY(count, from.read(25));
    ZARRPOINT_CHECK(from.align());
    if (count > from.left() / (sizeof(L) * 8))
      return pco_corrupt("it is shorter than its dictionary");
    entries = static_cast<std::size_t>(count);
    ZARRPOINT_TRY(to, pco_allocate<L>(dictionary, entries, memory));
    for (std::size_t i = 0; i < entries; ++i) {
      ZARRPOINT_TRY(one, from.read(sizeof(L) * 8));
      to[i] = static_cast<L>(one);
    }
    return {};
  }
};

/// What all chunks of a stream have in common.
struct pco_source {
  pco_reader& from;
  pco_type type;
  unsigned version;  ///< of the format of chunks
  memory_resource& memory;
};

/// Decodes one chunk; `P` is the type of its primary variable: `L`, or of indexes of a dictionary.
template <class L, class P>
class pco_chunk {
 public:
  pco_chunk(const pco_source& source, const pco_mode<L>& mode, const pco_delta& delta)
      : source_(source),
        mode_(mode),
        delta_(delta),
        lookbacks_(delta, false),
        primary_(delta, true),
        secondary_(delta, delta.of_secondary) {}

  result<void> decode(std::byte* to, std::size_t count) {
    ZARRPOINT_CHECK(read_head(count));
    const bool looks_back = delta_.how == pco_delta::kind::lookback;
    std::array<std::uint32_t, pco_batch> lookbacks;
    std::array<P, pco_batch> first{};
    std::array<L, pco_batch> second{};
    for (std::size_t left = count; left > 0;) {
      const std::size_t some = std::min(left, pco_batch);
      if (looks_back) {
        const std::size_t coded = left - std::min(left, delta_.order);
        ZARRPOINT_CHECK(lookbacks_.read_batch(source_.from, coded, nullptr, lookbacks.data()));
      }
      ZARRPOINT_CHECK(primary_.read_batch(source_.from, left, lookbacks.data(), first.data()));
      if (mode_.has_secondary())
        ZARRPOINT_CHECK(secondary_.read_batch(source_.from, left, lookbacks.data(), second.data()));
      ZARRPOINT_CHECK(join(first.data(), second.data(), some));
      std::memcpy(to, second.data(), some * sizeof(L));
      to += some * sizeof(L);
      left -= some;
    }
    return source_.from.align();
  }

 private:
  result<void> read_head(std::size_t count) {
    pco_reader& from = source_.from;
    const bool looks_back = delta_.how == pco_delta::kind::lookback;
    if (delta_.how == pco_delta::kind::conv1 && !delta_.holds_sums<P>())
      return pco_corrupt("weights of deltas that are too large");
    if (looks_back) ZARRPOINT_CHECK(lookbacks_.read_bins(from, source_.memory));
    ZARRPOINT_CHECK(primary_.read_bins(from, source_.memory));
    if (mode_.has_secondary()) ZARRPOINT_CHECK(secondary_.read_bins(from, source_.memory));
    ZARRPOINT_CHECK(from.align());
    if (looks_back) ZARRPOINT_CHECK(lookbacks_.read_state(from, count, source_.memory));
    ZARRPOINT_CHECK(primary_.read_state(from, count, source_.memory));
    if (mode_.has_secondary()) ZARRPOINT_CHECK(secondary_.read_state(from, count, source_.memory));
    return from.align();
  }

  /// The numbers of a batch, in place of its secondary variable. Loops over a whole batch, however
  /// few numbers are of it, become vector code.
  result<void> join(const P* first, L* second, std::size_t count) const {
    const pco_order order = source_.type.order;
    using kind = typename pco_mode<L>::kind;
    if (mode_.how == kind::dict) {
      const L* const entries = reinterpret_cast<const L*>(mode_.dictionary.bytes().data());
      for (std::size_t i = 0; i < count; ++i) {
        if (first[i] >= mode_.entries) return pco_corrupt("an index outside its dictionary");
        second[i] = entries[first[i]];
      }
    } else if (mode_.how == kind::classic) {
      for (std::size_t i = 0; i < pco_batch; ++i) second[i] = static_cast<L>(first[i]);
    } else if (mode_.how == kind::int_mult) {
      // Small unsigned integers would be promoted to signed ones.
      using wide = std::conditional_t<sizeof(L) < 4, std::uint32_t, L>;
      const wide base = mode_.base;
      for (std::size_t i = 0; i < pco_batch; ++i)
        second[i] = static_cast<L>(first[i] * base + second[i]);
    } else if constexpr (sizeof(L) > 1) {
      join_floats(first, second);
    }
    switch (order) {  // of each loop the compiler makes vector code
      case pco_order::unsigned_integer: break;
      case pco_order::signed_integer:
        for (std::size_t i = 0; i < pco_batch; ++i)
          second[i] = pco_number(second[i], pco_order::signed_integer);
        break;
      case pco_order::floating:
        for (std::size_t i = 0; i < pco_batch; ++i)
          second[i] = pco_number(second[i], pco_order::floating);
        break;
    }
    return {};
  }

  void join_floats(const P* first, L* second) const {
    constexpr L middle = pco_middle<L>;
    if (mode_.how == pco_mode<L>::kind::float_mult) {
      using floats = pco_float<L>;
      const auto base = floats::of(mode_.base);
      for (std::size_t i = 0; i < pco_batch; ++i) {
        const auto product = floats::of(floats::from_integer(static_cast<L>(first[i]))) * base;
        const L ordered = pco_ordered(floats::bits(product), pco_order::floating);
        second[i] = static_cast<L>(ordered + second[i] + middle);
      }
      return;
    }
    const unsigned shift = mode_.shift;
    const L most = static_cast<L>((L{1} << shift) - 1);
    for (std::size_t i = 0; i < pco_batch; ++i) {
      const L high = static_cast<L>(first[i]);
      const L low = static_cast<L>(high >= middle >> shift ? second[i] : most - second[i]);
      second[i] = static_cast<L>((high << shift) + low);
    }
  }

  const pco_source& source_;
  const pco_mode<L>& mode_;
  const pco_delta& delta_;
  pco_sequence<std::uint32_t> lookbacks_;
  pco_sequence<P> primary_;
  pco_sequence<L> secondary_;
};

template <class L>
result<void> pco_decode_chunk(const pco_source& source, std::byte* to, std::size_t count) {
  pco_mode<L> mode;
  ZARRPOINT_CHECK(mode.read(source.from, source.type.order, source.memory));
  if (mode.how == pco_mode<L>::kind::int_mult && source.version == 0)
    return error{errc::unsupported, "multiples of integers as pcodec 0.0 has written them"};
  ZARRPOINT_TRY(delta, pco_delta::read(source.from, source.version));
  if (mode.how == pco_mode<L>::kind::dict)
    return pco_chunk<L, std::uint32_t>(source, mode, delta).decode(to, count);
  return pco_chunk<L, L>(source, mode, delta).decode(to, count);
}

/// The head of a file: the version of the format of its chunks.
inline result<unsigned> pco_read_head(pco_reader& from) {
  ZARRPOINT_TRY(magic, from.read(32));
  if (magic != 0x216f6370) return error{errc::corrupt, "not a stream of pcodec: no \"pco!\""};
  ZARRPOINT_TRY(file_version, from.read(8));
  std::uint64_t version = file_version;  // until 2 there is one number for both
  if (file_version >= 2) {
    if (file_version > 3)
      return error{errc::unsupported,
                   "a file of pcodec of version " + std::to_string(file_version)};
    if (file_version == 3) ZARRPOINT_CHECK(from.read(8));  // each chunk says its type, too
    ZARRPOINT_TRY(hint_bits, from.read(6));
    ZARRPOINT_CHECK(from.read(static_cast<unsigned>(hint_bits) + 1));
    ZARRPOINT_CHECK(from.align());
    ZARRPOINT_TRY(major, from.read(8));
    version = major;
  }
  if (version > 4)
    return error{errc::unsupported, "format " + std::to_string(version) + " of pcodec"};
  // Of 4 there are minor versions; what a later one has added is refused where it stands.
  if (version == 4) ZARRPOINT_CHECK(from.read(8));
  return static_cast<unsigned>(version);
}

ZARRPOINT_INLINE result<void> pco_decode(bytes_view stored, const pco_type& type, mutable_bytes to,
                                         memory_resource& memory) {
  pco_reader from(stored);
  ZARRPOINT_TRY(version, pco_read_head(from));
  const pco_source source{from, type, version, memory};
  std::size_t done = 0;
  while (true) {
    ZARRPOINT_TRY(code, from.read(8));
    if (code == 0) break;
    if (code != type.code)
      return pco_corrupt("a chunk of numbers of type " + std::to_string(code) + " instead of " +
                         std::to_string(type.code));
    ZARRPOINT_TRY(last, from.read(24));
    const std::size_t count = static_cast<std::size_t>(last) + 1;
    if (count > (to.size() - done) / type.size) return pco_corrupt("more numbers than expected");
    const auto decode = [&]() -> result<void> {
      switch (type.size) {
        case 1: return pco_decode_chunk<std::uint8_t>(source, to.data() + done, count);
        case 2: return pco_decode_chunk<std::uint16_t>(source, to.data() + done, count);
        case 4: return pco_decode_chunk<std::uint32_t>(source, to.data() + done, count);
        default: return pco_decode_chunk<std::uint64_t>(source, to.data() + done, count);
      }
    };
    ZARRPOINT_CHECK(decode());
    done += count * type.size;
  }
  if (done != to.size())
    return pco_corrupt(std::to_string(done / type.size) + " numbers instead of " +
                       std::to_string(to.size() / type.size));
  if (from.left() != 0)
    return pco_corrupt(std::to_string(from.left() / 8) + " bytes after its end");
  return {};
}

}}}  // namespace zarrpoint::v0::detail
