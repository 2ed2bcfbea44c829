// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <zarrpoint/core/types/visit.hpp>

#include "element_text.hpp"
#include "row_blocks.hpp"
#include "terminal.hpp"

#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cli {

namespace {

constexpr std::uint64_t sample_limit = std::uint64_t{64} << 20;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// Where the exponent of a floating-point type lies.
struct exponent_field {
  int bits = 0, shift = 0;
};
constexpr exponent_field exponent_of(zp::dtype type) {
  switch (type.kind()) {
    case zp::dtype_kind::float8_e4m3fn: return {4, 3};
    case zp::dtype_kind::float8_e5m2: return {5, 2};
    case zp::dtype_kind::float16: return {5, 10};
    case zp::dtype_kind::bfloat16: return {8, 7};
    case zp::dtype_kind::float32: return {8, 23};
    case zp::dtype_kind::float64: return {11, 52};
    default: return {};
  }
}

double entropy(const std::uint64_t* counts, std::size_t size) {
  double total = 0;
  for (std::size_t i = 0; i < size; ++i) total += static_cast<double>(counts[i]);
  double out = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (counts[i] == 0) continue;
    const double part = static_cast<double>(counts[i]) / total;
    out -= part * std::log2(part);
  }
  return out;
}

/// The number that stands for an element.
template <class T>
double value_of(const std::byte* from) {
  if constexpr (std::same_as<T, bool>) {
    return *from != std::byte{0} ? 1 : 0;
  } else {
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (zp::dtype_of<T>.is_complex()) {
      // hypot would call a value with a NaN and an infinity infinite.
      if (std::isnan(value.real()) || std::isnan(value.imag())) return std::nan("");
      return std::hypot(static_cast<double>(value.real()), static_cast<double>(value.imag()));
    } else {
      return static_cast<double>(value);
    }
  }
}

template <class T>
bool less(const std::byte* a, const std::byte* b) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return x < y;  // exact, which doubles are not
  } else {
    return value_of<T>(a) < value_of<T>(b);
  }
}

/// The value for a sum: integers of 64 bits are exact where `long double` has as many.
template <class T>
long double exact_value(const std::byte* from) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<long double>(value);
  } else {
    return static_cast<long double>(value_of<T>(from));
  }
}

class measurement {
 public:
  measurement(const source& from, std::size_t index, std::size_t bins)
      : from_(from), index_(index), array_(from.entries()[index]), bins_(bins) {}

  zp::result<statistics> run() {
    ZARRPOINT_CHECK(find_parts());
    progress bar("read", 2 * bytes_);
    const auto read = [&](auto&& look) -> zp::result<void> {
      const auto see = [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
        look(block);
        bar.add(array_.name, byte_count(block.spec()).value_or(0));
        return {};
      };
      for (const zp::selection& part : parts_)
        ZARRPOINT_CHECK(for_each_block(from_, index_, part, see));
      if (absent_ == 0) return {};
      times_ = absent_;
      const auto status = for_each_block(from_, index_, fill_, see);
      times_ = 1;
      return status;
    };
    if (is_of_texts(array_.spec->type)) {
      ZARRPOINT_CHECK(read([&](const zp::tensor& block) { look_at_text(block); }));
      return out_;
    }
    if (!array_.spec->type.is_number()) {
      ZARRPOINT_CHECK(read([&](const zp::tensor& block) {
        count_empty(block);
        sample(block);
      }));
      return out_;
    }
    ZARRPOINT_CHECK(read([&](const zp::tensor& block) {
      first_pass(block);
      sample(block);
    }));
    finish_first();
    if (out_.finite == 0) return out_;
    ZARRPOINT_CHECK(read([&](const zp::tensor& block) { second_pass(block); }));
    out_.deviation =
        static_cast<double>(std::sqrt(squares_ / static_cast<long double>(out_.finite)));
    return out_;
  }

 private:
  /// What is read: of an array that is larger than what is compressed of it only what is stored,
  /// and one element for all the others.
  zp::result<void> find_parts() {
    parts_ = {whole(array_)};
    bytes_ = array_.bytes();
    if (bytes_ <= sample_limit) return {};
    ZARRPOINT_TRY(stored, from_.parts(index_));
    ZARRPOINT_TRY(count, element_count(array_.spec->shape));
    if (!stored) return {};
    parts_.clear();
    absent_ = static_cast<std::uint64_t>(count);
    for (const zp::box& part : stored->boxes) {
      absent_ -= static_cast<std::uint64_t>(element_count(part.shape).value_or(0));
      parts_.emplace_back(part);
    }
    bytes_ -= absent_ * memory_size(array_.spec->type);
    fill_ = zp::box{stored->absent, zp::dims(stored->absent.rank(), 1)};
    return {};
  }

  void look_at_text(const zp::tensor& block) {
    if (block.type().is_variable()) {
      for (const std::string& text : block.data<std::string>()) add_text(text.size());
      return;
    }
    const std::size_t size = block.type().size();
    for (std::size_t i = 0; i < block.size(); ++i)
      add_text(utf32_text(block.view().data + i * size, size).value_or("\uFFFD").size());
  }

  void add_text(std::uint64_t size) {
    out_.shortest = out_.count == 0 ? size : std::min(out_.shortest, size);
    out_.longest = std::max(out_.longest, size);
    out_.text_bytes += times_ * size;
    if (size == 0) out_.zero += times_;
    out_.count += times_;
  }

  /// Of records, text of one length and times: which are all zero.
  void count_empty(const zp::tensor& block) {
    const std::size_t size = block.type().size();
    const std::byte* const data = block.view().data;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::byte* const at = data + i * size;
      if (std::all_of(at, at + size, [](std::byte b) { return b == std::byte{0}; }))
        out_.zero += times_;
    }
    out_.count += times_ * block.size();
  }

  void first_pass(const zp::tensor& block) {
    const zp::dtype type = block.type();
    const std::size_t size = type.size();
    const std::byte* const data = block.view().data;
    for (std::size_t i = 0; i < block.size(); ++i) {
      for (std::size_t b = 0; b < size; ++b)
        byte_counts_[b][static_cast<std::size_t>(data[i * size + b])] += times_;
    }
    count_exponents(block);
    zp::visit_dtype(type, [&]<class T>() {
      long double sum = 0;
      const std::byte* low = nullptr;
      const std::byte* high = nullptr;
      for (std::size_t i = 0; i < block.size(); ++i) {
        const std::byte* const at = data + i * size;
        const double value = value_of<T>(at);
        if (std::isnan(value)) {
          out_.nan += times_;
        } else if (std::isinf(value)) {
          out_.infinite += times_;
        } else {
          out_.finite += times_;
          if (value == 0) out_.zero += times_;
          sum += exact_value<T>(at);
          if (low == nullptr || less<T>(at, low)) low = at;
          if (high == nullptr || less<T>(high, at)) high = at;
        }
      }
      sum_ += sum * static_cast<long double>(times_);
      if (low != nullptr) {
        keep_extreme<T>(low, lowest_, [](auto a, auto b) { return less<T>(a, b); });
        keep_extreme<T>(high, highest_, [](auto a, auto b) { return less<T>(b, a); });
        out_.min = value_of<T>(lowest_.data());
        out_.max = value_of<T>(highest_.data());
      }
    });
    out_.count += times_ * block.size();
  }

  template <class T, class Before>
  void keep_extreme(const std::byte* at, std::vector<std::byte>& best, Before before) {
    if (best.empty() || before(at, best.data())) best.assign(at, at + sizeof(T));
  }

  void count_exponents(const zp::tensor& block) {
    const exponent_field field = exponent_of(block.type());
    if (field.bits == 0) return;
    exponent_counts_.resize(std::size_t{1} << field.bits);
    const std::size_t size = block.type().size();
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::array<std::byte, 8> bytes{};
      std::memcpy(bytes.data() + (zp::native_endian == zp::endian::little ? 0 : 8 - size),
                  block.view().data + i * size, size);
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes.data(), sizeof bits);
      exponent_counts_[static_cast<std::size_t>(bits >> field.shift) &
                       (exponent_counts_.size() - 1)] += times_;
    }
  }

  /// Compresses the first bytes of the array as `convert --codec zstd:1` would, and once more with
  /// the bytes of the elements apart, as blosc's shuffle has them.
  void sample(const zp::tensor& block) {
    if (times_ != 1) return;
    const std::size_t size = block.type().size();
    const std::size_t bytes = block.size() * size;
    const std::size_t step = std::max<std::size_t>(piece_bytes / size, 1) * size;
    std::vector<std::byte> room(ZSTD_compressBound(step));
    std::vector<std::byte> shuffled(step);
    for (std::size_t at = 0; at < bytes && out_.sampled < sample_limit; at += step) {
      const std::size_t length = std::min(step, bytes - at);
      const std::byte* const from = block.view().data + at;
      const std::size_t count = length / size;
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t b = 0; b < size; ++b) shuffled[b * count + i] = from[i * size + b];
      }
      out_.sampled += length;
      out_.zstd += ZSTD_compress(room.data(), room.size(), from, length, 1);
      out_.shuffled_zstd += ZSTD_compress(room.data(), room.size(), shuffled.data(), length, 1);
    }
  }

  void finish_first() {
    if (out_.finite != 0) {
      out_.mean = static_cast<double>(sum_ / static_cast<long double>(out_.finite));
      const zp::dtype type = array_.spec->type;
      if (type.is_complex()) {
        append_plain(out_.min_text, reinterpret_cast<const std::byte*>(&out_.min),
                     {zp::dtype_kind::float64});
        append_plain(out_.max_text, reinterpret_cast<const std::byte*>(&out_.max),
                     {zp::dtype_kind::float64});
      } else {
        append_plain(out_.min_text, lowest_.data(), {type});
        append_plain(out_.max_text, highest_.data(), {type});
      }
      out_.bins.assign(bins_, 0);
    }
    for (std::size_t b = 0; out_.count != 0 && b < array_.spec->type.size(); ++b)
      out_.byte_entropy += entropy(byte_counts_[b].data(), byte_counts_[b].size());
    out_.exponent_bits = exponent_of(array_.spec->type).bits;
    out_.exponent_entropy = entropy(exponent_counts_.data(), exponent_counts_.size());
  }

  void second_pass(const zp::tensor& block) {
    const std::size_t size = block.type().size();
    const double range = out_.max / 2 - out_.min / 2;  // the whole could overflow
    const auto last = static_cast<double>(out_.bins.size() - 1);
    zp::visit_dtype(block.type(), [&]<class T>() {
      long double squares = 0;
      for (std::size_t i = 0; i < block.size(); ++i) {
        const double value = value_of<T>(block.view().data + i * size);
        if (!std::isfinite(value)) continue;
        const long double apart =
            static_cast<long double>(value) - sum_ / static_cast<long double>(out_.finite);
        squares += apart * apart;
        const double place = range > 0 ? (value / 2 - out_.min / 2) / range * (last + 1) : 0;
        out_.bins[static_cast<std::size_t>(std::clamp(place, 0.0, last))] += times_;
      }
      squares_ += squares * static_cast<long double>(times_);
    });
  }

  const source& from_;
  const std::size_t index_;
  const entry& array_;
  const std::size_t bins_;
  std::vector<zp::selection> parts_;
  zp::selection fill_;
  std::uint64_t absent_ = 0;  ///< elements that are not stored
  std::uint64_t times_ = 1;   ///< that the elements of a block count
  std::uint64_t bytes_ = 0;   ///< of what is read
  statistics out_;
  long double sum_ = 0, squares_ = 0;
  std::vector<std::byte> lowest_, highest_;
  std::array<std::array<std::uint64_t, 256>, 16> byte_counts_{};
  std::vector<std::uint64_t> exponent_counts_;
};

}  // namespace

zp::result<statistics> measure(const source& from, std::size_t index, std::size_t bins) {
  return measurement(from, index, bins).run();
}

}  // namespace cli
