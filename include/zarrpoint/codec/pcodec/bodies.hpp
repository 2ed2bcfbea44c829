// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/pcodec/pco_stream.hpp>
#include <zarrpoint/codec/pcodec/pcodec.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <cstring>
#include <iterator>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ---------------------------------------------------------------------------------- pco_stream.hpp

ZARRPOINT_INLINE std::optional<pco_type> pco_type_of(const dtype& type) {
  using enum pco_order;
  switch (type.kind()) {
    case dtype_kind::uint8: return pco_type{10, 1, unsigned_integer};
    case dtype_kind::int8: return pco_type{11, 1, signed_integer};
    case dtype_kind::uint16: return pco_type{7, 2, unsigned_integer};
    case dtype_kind::int16: return pco_type{8, 2, signed_integer};
    case dtype_kind::float16: return pco_type{9, 2, floating};
    case dtype_kind::uint32: return pco_type{1, 4, unsigned_integer};
    case dtype_kind::int32: return pco_type{3, 4, signed_integer};
    case dtype_kind::float32:
    case dtype_kind::complex64: return pco_type{5, 4, floating};  // its two parts
    case dtype_kind::uint64: return pco_type{2, 8, unsigned_integer};
    case dtype_kind::int64:
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64: return pco_type{4, 8, signed_integer};
    case dtype_kind::float64:
    case dtype_kind::complex128: return pco_type{6, 8, floating};
    default: return std::nullopt;
  }
}

ZARRPOINT_INLINE result<std::uint64_t> pco_reader::read(unsigned width) {
  if (width > left()) return truncated();
  std::uint64_t out = 0;
  for (unsigned done = 0; done < width;) {
    const auto byte = std::to_integer<std::uint64_t>(from_[static_cast<std::size_t>(at_ / 8)]);
    const auto past = static_cast<unsigned>(at_ % 8);
    const unsigned some = std::min(8 - past, width - done);
    out |= (byte >> past & ((1U << some) - 1)) << done;
    done += some;
    at_ += some;
  }
  return out;
}

ZARRPOINT_INLINE result<void> pco_reader::align() {
  ZARRPOINT_TRY(rest, read(static_cast<unsigned>((8 - at_ % 8) % 8)));
  if (rest != 0) return error{errc::corrupt, "bits of a stream of pcodec that must be 0 are not"};
  return {};
}

ZARRPOINT_INLINE const std::byte* pco_reader::ahead(std::size_t bytes, std::size_t& offset) {
  const auto first = static_cast<std::size_t>(at_ / 8);
  offset = static_cast<std::size_t>(at_ % 8);
  const bytes_view rest = from_.subspan(first);
  if (rest.size() >= bytes) return rest.data();
  ZARRPOINT_ASSERT(bytes <= max_ahead);
  if (!rest.empty()) std::memcpy(tail_, rest.data(), rest.size());
  std::memset(tail_ + rest.size(), 0, bytes - rest.size());
  return tail_;
}

ZARRPOINT_INLINE result<void> pco_reader::skip_to(std::size_t offset) {
  const std::uint64_t to = at_ / 8 * 8 + offset;
  if (to > std::uint64_t{from_.size()} * 8) return truncated();
  at_ = to;
  return {};
}

ZARRPOINT_INLINE void pco_writer::write(std::uint64_t bits, unsigned width) noexcept {
  // At most 56 bits fit in beside those of a byte that is not full.
  if (width > 56) {
    write(bits & 0xffffffff, 32);
    bits >>= 32;
    width -= 32;
  }
  word_ |= bits << used_;
  used_ += width;
  store_le<std::uint64_t>(to_, word_);
  const unsigned whole = used_ / 8;
  to_ += whole;
  word_ >>= whole * 8;
  used_ %= 8;
}

ZARRPOINT_INLINE void pco_writer::align() noexcept {
  if (used_ != 0) write(0, 8 - used_);
}

// Numbers are decoded in batches. Each variable of a chunk (latent, as pco calls it) gives the bin
// and the offset of each number. Then its deltas are undone, and then a mode joins the variables.

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
    return error{errc::unsupported, "multiples of integers as pcodec 0.0 wrote them are not read"};
  ZARRPOINT_TRY(delta, pco_delta::read(source.from, source.version));
  if (mode.how == pco_mode<L>::kind::dict)
    return pco_chunk<L, std::uint32_t>(source, mode, delta).decode(to, count);
  return pco_chunk<L, L>(source, mode, delta).decode(to, count);
}

/// The head of a file: the version of the format of its chunks.
inline result<unsigned> pco_read_head(pco_reader& from) {
  ZARRPOINT_TRY(magic, from.read(32));
  if (magic != 0x216f6370)
    return error{errc::corrupt, "this is not a stream of pcodec: it does not begin with \"pco!\""};
  ZARRPOINT_TRY(file_version, from.read(8));
  std::uint64_t version = file_version;  // until 2 there is one number for both
  if (file_version >= 2) {
    if (file_version > 3)
      return error{errc::unsupported,
                   "version " + std::to_string(file_version) + " of files of pcodec is not read"};
    if (file_version == 3) ZARRPOINT_CHECK(from.read(8));  // each chunk says its type, too
    ZARRPOINT_TRY(hint_bits, from.read(6));
    ZARRPOINT_CHECK(from.read(static_cast<unsigned>(hint_bits) + 1));
    ZARRPOINT_CHECK(from.align());
    ZARRPOINT_TRY(major, from.read(8));
    version = major;
  }
  if (version > 4)
    return error{errc::unsupported, "format " + std::to_string(version) + " of pcodec is not read"};
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

// Bins are found from quantiles of a sample and joined where that is shorter. A chunk for which
// they do not pay is written with one bin, so that no chunk is much longer than its numbers.

/// The bins of a chunk and the table in which they are coded.
template <class L>
class pco_bins {
 public:
  static constexpr std::size_t most = 128;
  struct bin {
    L lower;
    L upper;
    std::size_t count;
    std::uint32_t weight;
    unsigned width() const { return static_cast<unsigned>(std::bit_width(L(upper - lower))); }
  };

  std::size_t size() const { return size_; }
  unsigned size_log() const { return size_log_; }
  const bin& operator[](std::size_t i) const { return bins_[i]; }

  /// One bin for all of `numbers`.
  void make_one(const L* numbers, std::size_t count) {
    size_log_ = 0;
    size_ = count == 0 ? 0 : 1;
    if (count == 0) return;
    const auto [low, high] = std::minmax_element(numbers, numbers + count);
    bins_[0] = {*low, *high, count, 1};
  }

  /// Bins for `numbers`, of which there is one; `which` becomes the bin of each. `sample` has room
  /// for `sample_size` numbers.
  static constexpr std::size_t sample_size = 8192;
  void find(const L* numbers, std::size_t count, L* sample, std::uint8_t* which) {
    std::array<L, most> lowers;
    const std::size_t found = find_lowers(numbers, count, sample, lowers);
    std::array<bin, most> raw;
    for (std::size_t i = 0; i < found; ++i) raw[i] = {static_cast<L>(~L{}), 0, 0, 0};
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = 0;
      for (std::size_t step = most / 2; step > 0; step /= 2)
        at += step & (0 - std::size_t{lowers[at + step] <= numbers[i]});  // no branch
      at = std::min(at, found - 1);
      bin& of = raw[at];
      of.lower = std::min(of.lower, numbers[i]);
      of.upper = std::max(of.upper, numbers[i]);
      ++of.count;
      which[i] = static_cast<std::uint8_t>(at);
    }
    std::array<std::uint8_t, most> joined;
    join(raw, found, count, joined);
    for (std::size_t i = 0; i < count; ++i) which[i] = joined[which[i]];
    weigh(count);
  }

  /// Where the states of each bin are, by `states_[starts_[bin] + k]`.
  void spread() {
    const std::uint32_t states = std::uint32_t{1} << size_log_;
    const std::uint32_t stride = 3 * states / 5 | 1;
    std::uint32_t at = 0;
    std::uint32_t start = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      starts_[i] = start;
      for (std::uint32_t k = 0; k < bins_[i].weight; ++k) {
        states_[start + k] = static_cast<std::uint16_t>(at);
        at = (at + stride) & (states - 1);
      }
      std::sort(states_.begin() + start, states_.begin() + start + bins_[i].weight);
      start += bins_[i].weight;
    }
  }
  /// Goes from `state` back to one of bin `i`; returns the bits in between, and their number above.
  std::uint32_t step_back(std::uint32_t& state, std::size_t i) const {
    const std::uint32_t weight = bins_[i].weight;
    const std::uint32_t whole = state + (std::uint32_t{1} << size_log_);
    unsigned bits = size_log_ + 1 - static_cast<unsigned>(std::bit_width(weight));
    bits -= unsigned{whole >> bits < weight};  // no branch
    state = states_[starts_[i] + (whole >> bits) - weight];
    return bits << 16 | (whole & ((1U << bits) - 1));
  }

 private:
  static constexpr unsigned max_size_log = 10;

  /// The numbers with which bins begin: the least, and quantiles; one that takes several
  /// quantiles has a bin of its own.
  static std::size_t find_lowers(const L* numbers, std::size_t count, L* sample,
                                 std::array<L, most>& to) {
    const std::size_t stride = (count + sample_size - 1) / sample_size;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; i += stride) sample[taken++] = numbers[i];
    std::sort(sample, sample + taken);
    const int digits = std::clamp(static_cast<int>(std::bit_width(count)) / 2 - 1, 0, 6);
    const std::size_t wanted = std::size_t{1} << digits;
    to.fill(static_cast<L>(~L{}));
    to[0] = 0;
    std::size_t found = 1;
    for (std::size_t i = 1; i < wanted; ++i) {
      const L value = sample[i * taken / wanted];
      if (value > to[found - 1]) {
        to[found++] = value;
      } else if (value == to[found - 1] && value != static_cast<L>(~L{})) {
        to[found++] = static_cast<L>(value + 1);
      }
    }
    return found;
  }

  /// Bits of the numbers of a bin, and of itself.
  static double cost(const bin& of, std::size_t count) {
    const double states = std::log2(static_cast<double>(count) / static_cast<double>(of.count));
    return static_cast<double>(of.count) * (states + of.width()) + sizeof(L) * 8 + 16;
  }
  /// Neighbours that are shorter as one become one.
  void join(const std::array<bin, most>& raw, std::size_t found, std::size_t count,
            std::array<std::uint8_t, most>& joined) {
    size_ = 0;
    std::array<std::size_t, most> firsts;
    for (std::size_t i = 0; i < found; ++i) {
      joined[i] = 0;
      if (raw[i].count == 0) continue;
      bin next = raw[i];
      std::size_t first = i;
      while (size_ > 0) {
        const bin& last = bins_[size_ - 1];
        const bin both{last.lower, next.upper, last.count + next.count, 0};
        if (cost(both, count) > cost(last, count) + cost(next, count)) break;
        next = both;
        first = firsts[--size_];
      }
      firsts[size_] = first;
      bins_[size_++] = next;
    }
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t end = i + 1 < size_ ? firsts[i + 1] : found;
      std::fill(joined.begin() + firsts[i], joined.begin() + end, static_cast<std::uint8_t>(i));
    }
  }

  /// Weights as the counts are, with the sum of a power of two.
  void weigh(std::size_t count) {
    size_log_ =
        size_ == 1 ? 0 : std::min(static_cast<unsigned>(std::bit_width(size_)) + 3, max_size_log);
    const std::uint64_t states = std::uint64_t{1} << size_log_;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint64_t share = bins_[i].count * states / count;
      bins_[i].weight = static_cast<std::uint32_t>(std::max<std::uint64_t>(share, 1));
      sum += bins_[i].weight;
    }
    for (; sum != states; sum < states ? ++sum : --sum) {
      bin& largest =
          *std::max_element(bins_.begin(), bins_.begin() + static_cast<std::ptrdiff_t>(size_),
                            [](const bin& a, const bin& b) { return a.weight < b.weight; });
      sum < states ? ++largest.weight : --largest.weight;
    }
  }

  std::array<bin, most> bins_;
  std::array<std::uint32_t, most> starts_;
  std::array<std::uint16_t, 1U << max_size_log> states_;
  std::size_t size_ = 0;
  unsigned size_log_ = 0;
};

/// Memory for the numbers of one chunk.
template <class L>
struct pco_room {
  L* numbers;
  L* sample;             // also for deltas that are tried
  std::uint8_t* which;   // the bin of each number
  std::uint32_t* codes;  // of the states between the bins
};

/// Writes one chunk.
template <class L>
class pco_chunk_writer {
 public:
  pco_chunk_writer(const pco_plan& plan, const pco_room<L>& room, pco_writer& to)
      : plan_(plan), room_(room), to_(to) {}

  void write(const std::byte* from, std::size_t count) {
    std::memcpy(room_.numbers, from, count * sizeof(L));
    for (std::size_t i = 0; i < count; ++i)
      room_.numbers[i] = pco_ordered(room_.numbers[i], plan_.type.order);
    to_.write(plan_.type.code, 8);
    to_.write(count - 1, 24);
    take_deltas(count);
    if (plan_.one_bin || coded_ == 0 || !find_bins()) {
      bins_.make_one(room_.numbers, coded_);
      bins_.spread();
      if (coded_ != 0) std::memset(room_.which, 0, coded_);
      for (std::size_t i = 0; i < coded_; ++i) room_.codes[i] = 0;
      heads_ = {};
    }
    write_head();
    for (std::size_t at = 0; at < coded_; at += pco_batch)
      write_batch(at, std::min(at + pco_batch, coded_));
    to_.align();
  }

 private:
  static constexpr unsigned bits = sizeof(L) * 8;

  static void difference(L* numbers, std::size_t count) {
    for (std::size_t i = 0; i + 1 < count; ++i)
      numbers[i] = static_cast<L>(numbers[i + 1] - numbers[i]);
  }

  void take_deltas(std::size_t count) {
    order_ = plan_.order ? std::min(*plan_.order, 7U) : choose_order(count);
    coded_ = count;
    for (unsigned k = 0; k < order_; ++k) {
      state_[k] = coded_ == 0 ? L{} : room_.numbers[0];
      difference(room_.numbers, coded_);
      if (coded_ > 0) --coded_;
    }
    if (order_ == 0) return;
    for (std::size_t i = 0; i < coded_; ++i)
      room_.numbers[i] = static_cast<L>(room_.numbers[i] + pco_middle<L>);
  }

  /// The order whose deltas lie closest together, of a run in the middle.
  unsigned choose_order(std::size_t count) const {
    const std::size_t some = std::min(count, pco_bins<L>::sample_size / 2);
    L* const tried = room_.sample;
    L* const sorted = tried + some;
    std::copy_n(room_.numbers + (count - some) / 2, some, tried);
    unsigned best = 0;
    double least = 0;
    for (unsigned order = 0; order < 4 && some > order + 16; ++order) {
      const std::size_t left = some - order;
      for (std::size_t i = 0; i < left; ++i)
        sorted[i] = static_cast<L>(tried[i] + (order == 0 ? L{} : pco_middle<L>));
      std::nth_element(sorted, sorted + left / 2, sorted + left);
      const L middle = sorted[left / 2];
      std::size_t sum = 0;
      for (std::size_t i = 0; i < left; ++i)
        sum += static_cast<std::size_t>(
            std::bit_width(L(sorted[i] < middle ? middle - sorted[i] : sorted[i] - middle)));
      const double mean = static_cast<double>(sum) / static_cast<double>(left);
      if (order == 0 || mean < least - 0.1) {
        best = order;
        least = mean;
      }
      difference(tried, left);
    }
    return best;
  }

  /// Whether several bins are shorter than one.
  bool find_bins() {
    bins_.find(room_.numbers, coded_, room_.sample, room_.which);
    if (bins_.size() == 1) return false;
    bins_.spread();
    heads_ = {};
    std::uint64_t length = bins_.size() * (bins_.size_log() + bits + 7) + 4 * bins_.size_log();
    for (std::size_t i = coded_; i-- > 0;) {
      room_.codes[i] = bins_.step_back(heads_[i % 4], room_.which[i]);
      length += (room_.codes[i] >> 16) + bins_[room_.which[i]].width();
    }
    L low = bins_[0].lower;
    L high = bins_[bins_.size() - 1].upper;
    const std::uint64_t one = coded_ * static_cast<unsigned>(std::bit_width(L(high - low)));
    return length < one;
  }

  void write_head() {
    to_.write(0, 4);  // classic
    to_.write(order_, 3);
    to_.write(bins_.size_log(), 4);
    to_.write(bins_.size(), 15);
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      to_.write(bins_[i].weight - 1, bins_.size_log());
      to_.write(bins_[i].lower, bits);
      to_.write(bins_[i].width(), static_cast<unsigned>(std::bit_width(bits)));
    }
    to_.align();
    for (unsigned k = 0; k < order_; ++k) to_.write(state_[k], bits);
    for (const std::uint32_t head : heads_) to_.write(head, bins_.size_log());
    to_.align();
  }

  void write_batch(std::size_t begin, std::size_t end) {
    if (bins_.size() > 1) {
      for (std::size_t i = begin; i < end; ++i)
        to_.write(room_.codes[i] & 0xffff, room_.codes[i] >> 16);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const auto& of = bins_[room_.which[i]];
      to_.write(static_cast<L>(room_.numbers[i] - of.lower), of.width());
    }
  }

  const pco_plan& plan_;
  const pco_room<L>& room_;
  pco_writer& to_;
  pco_bins<L> bins_;
  std::array<std::uint32_t, 4> heads_{};
  std::array<L, 7> state_{};
  std::size_t coded_ = 0;
  unsigned order_ = 0;
};

inline std::uint64_t pco_chunk_size(const pco_plan& plan) {
  return std::clamp<std::uint64_t>(plan.chunk, 1, pco_max_chunk);
}
/// How many chunks, as equal as can be.
inline std::uint64_t pco_chunk_count(const pco_plan& plan, std::uint64_t count) {
  return count == 0 ? 0 : (count - 1) / pco_chunk_size(plan) + 1;
}

ZARRPOINT_INLINE std::uint64_t pco_bound(const pco_plan& plan, std::uint64_t count) {
  // Of a chunk: its head and one bin with 20 bytes at most, seven numbers as they are, and filled
  // bytes. Of a file: its head, its end, and a word for the writer.
  constexpr std::uint64_t file = 40;
  constexpr std::uint64_t chunk = 96;
  std::uint64_t numbers = 0;
  std::uint64_t heads = 0;
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(count, std::uint64_t{plan.type.size}, &numbers) ||
      __builtin_mul_overflow(pco_chunk_count(plan, count), chunk, &heads) ||
      __builtin_add_overflow(numbers, heads, &out) || __builtin_add_overflow(out, file, &out))
    return UINT64_MAX;
  return out;
}

template <class L>
result<void> pco_write_chunks(const pco_plan& plan, bytes_view from, pco_writer& to,
                              memory_resource& memory) {
  const std::uint64_t count = from.size() / sizeof(L);
  const std::uint64_t chunks = pco_chunk_count(plan, count);
  const auto longest = static_cast<std::size_t>(std::min(pco_chunk_size(plan), count));
  std::array<buffer, 4> held;
  ZARRPOINT_TRY(numbers, pco_allocate<L>(held[0], longest, memory));
  ZARRPOINT_TRY(sample, pco_allocate<L>(held[1], pco_bins<L>::sample_size, memory));
  ZARRPOINT_TRY(which, pco_allocate<std::uint8_t>(held[2], longest, memory));
  ZARRPOINT_TRY(codes, pco_allocate<std::uint32_t>(held[3], longest, memory));
  const pco_room<L> room{numbers, sample, which, codes};
  std::uint64_t done = 0;
  for (std::uint64_t left = chunks; left > 0; --left) {
    const std::uint64_t some = (count - done + left - 1) / left;
    pco_chunk_writer<L>(plan, room, to)
        .write(from.data() + done * sizeof(L), static_cast<std::size_t>(some));
    done += some;
  }
  return {};
}

ZARRPOINT_INLINE result<std::size_t> pco_encode(const pco_plan& plan, bytes_view from,
                                                mutable_bytes to, memory_resource& memory) {
  const std::uint64_t count = from.size() / plan.type.size;
  if (to.size() < pco_bound(plan, count))
    return error{errc::out_of_range, "the output does not fit"};
  pco_writer out(to.data());
  out.write(0x216f6370, 32);  // "pco!"
  out.write(2, 8);            // the version of files, without a type for all chunks
  const auto hint = std::max(1U, static_cast<unsigned>(std::bit_width(count)));
  out.write(hint - 1, 6);
  out.write(count, hint);
  out.align();
  out.write(2, 8);  // the version of chunks, which all readers of 16-bit numbers know
  const auto write = [&]() -> result<void> {
    switch (plan.type.size) {
      case 1: return pco_write_chunks<std::uint8_t>(plan, from, out, memory);
      case 2: return pco_write_chunks<std::uint16_t>(plan, from, out, memory);
      case 4: return pco_write_chunks<std::uint32_t>(plan, from, out, memory);
      default: return pco_write_chunks<std::uint64_t>(plan, from, out, memory);
    }
  };
  ZARRPOINT_CHECK(write());
  out.write(0, 8);
  return out.size();
}

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------------- pcodec.hpp

namespace detail {

inline constexpr std::string_view pcodec_modes[] = {"auto", "classic"};
inline constexpr std::string_view pcodec_deltas[] = {"auto", "none", "try_consecutive",
                                                     "try_lookback"};
inline constexpr std::string_view pcodec_pages[] = {"equal_pages_up_to"};

inline result<pco_type> pcodec_type(const tensor_spec& chunk) {
  const auto type = pco_type_of(chunk.type);
  if (!type)
    return error{errc::unsupported,
                 "cannot compress elements of type " + std::string(to_string(chunk.type))};
  return *type;
}

}  // namespace detail

ZARRPOINT_INLINE void pcodec_codec::fields(configuration_fields& all) {
  all.integer("level", level, 0, 12);
  all.choice("mode_spec", mode_spec, detail::pcodec_modes);
  all.choice("delta_spec", delta_spec, detail::pcodec_deltas);
  int paging = 0;
  all.choice("paging_spec", paging, detail::pcodec_pages);
  all.integer("delta_encoding_order", delta_encoding_order, 0, 7);
  if (!delta_encoding_order) all.put("delta_encoding_order", {});
  all.integer("equal_pages_up_to", equal_pages_up_to, 1, INT64_MAX);
}

ZARRPOINT_INLINE result<pcodec_codec> pcodec_codec::from_configuration(const json& configuration) {
  pcodec_codec out;
  configuration_fields all(configuration);
  if (all.failed()) return all.end().failure();
  out.fields(all);
  ZARRPOINT_CHECK(all.names());
  if (!all.failed()) return out;
  // No member matters to who reads.
  out = {};
  out.foreign = configuration;
  return out;
}

ZARRPOINT_INLINE json pcodec_codec::configuration() const {
  if (!foreign.is_null()) return foreign;
  configuration_fields all;
  pcodec_codec(*this).fields(all);
  return all.take_written();
}

ZARRPOINT_INLINE result<pcodec_codec> pcodec_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_CHECK(detail::pcodec_type(decoded));
  return *this;
}

namespace detail {

inline pco_plan pcodec_plan(const pcodec_codec& codec, const pco_type& type) {
  using delta = pcodec_codec::delta;
  pco_plan out{type, {}, codec.equal_pages_up_to, codec.level == 0};
  const bool is_given =
      codec.delta_spec == delta::automatic || codec.delta_spec == delta::try_consecutive;
  if (codec.delta_spec == delta::none) out.order = 0;
  if (is_given && codec.delta_encoding_order)
    out.order = static_cast<unsigned>(*codec.delta_encoding_order);
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE std::uint64_t pcodec_codec::encoded_bound(const tensor_spec& decoded) const {
  const auto type = detail::pcodec_type(decoded);
  const auto bytes = byte_count(decoded);
  if (!type || !bytes) return UINT64_MAX;
  return detail::pco_bound(detail::pcodec_plan(*this, *type), *bytes / type->size);
}

ZARRPOINT_INLINE result<std::uint64_t> pcodec_codec::encoded_size(const host_view& from) const {
  return encoded_bound(from.spec());
}

ZARRPOINT_INLINE result<std::size_t> pcodec_codec::encode(const host_view& from, mutable_bytes to,
                                                          codec_workspace& scratch) const {
  if (!foreign.is_null()) {
    configuration_fields all(foreign);
    pcodec_codec().fields(all);
    ZARRPOINT_CHECK(all.end());
  }
  ZARRPOINT_TRY(type, detail::pcodec_type(from.spec()));
  ZARRPOINT_TRY(bytes, byte_count(from.spec()));
  const std::byte* data = from.data;
  buffer dense;
  if (!is_dense(from)) {
    ZARRPOINT_TRY(copy, buffer::allocate(bytes, scratch.resource()));
    copy_elements(dense_view(copy.bytes().data(), from.spec()), from);
    dense = std::move(copy);
    data = dense.bytes().data();
  }
  return detail::pco_encode(detail::pcodec_plan(*this, type), {data, bytes}, to,
                            scratch.resource());
}

ZARRPOINT_INLINE result<void> pcodec_codec::decode(bytes_view stored, const mutable_host_view& into,
                                                   codec_workspace& scratch) const {
  ZARRPOINT_TRY(type, detail::pcodec_type(into.spec()));
  ZARRPOINT_TRY(bytes, byte_count(into.spec()));
  if (is_dense(into))
    return detail::pco_decode(stored, type, {into.data, bytes}, scratch.resource());
  ZARRPOINT_TRY(dense, buffer::allocate(bytes, scratch.resource()));
  ZARRPOINT_CHECK(detail::pco_decode(stored, type, dense.bytes(), scratch.resource()));
  copy_elements(into, dense_view(std::as_const(dense).bytes().data(), into.spec()));
  return {};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#endif
