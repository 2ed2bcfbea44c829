// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/gguf/gguf_header.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace gguf {

ZARRPOINT_INLINE header_limits header_limits::within(std::uint64_t memory) const noexcept {
  const auto bounded = [&](std::size_t most, std::uint64_t each) {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(most, memory / each + (std::uint64_t{1} << 10)));
  };
  header_limits out = *this;
  out.max_bytes = std::min(max_bytes, v0::detail::document_bytes_within(memory));
  out.max_values = bounded(max_values, 64);
  out.max_tensors = bounded(max_tensors, 512);
  return out;
}

namespace detail {

/// A file from its start, read piece by piece.
class header_reader {
 public:
  header_reader(const blob& from, const header_limits& limits)
      : from_(from), limits_(limits), end_(std::min(from.size(), limits.max_bytes)) {}

  std::uint64_t position() const { return position_; }

  /// The next bytes, valid until the next call.
  result<bytes_view> take(std::uint64_t size) {
    if (size > end_ - position_) {
      if (end_ == from_.size()) return error{errc::corrupt, "the file ends before its header does"};
      return error{errc::resource_limit, "its header has more than " + std::to_string(end_) +
                                             " bytes (header_limits::max_bytes)"};
    }
    if (position_ < begin_ || position_ + size > begin_ + window_.size()) {
      constexpr std::uint64_t ahead = 1 << 16;
      window_.resize(static_cast<std::size_t>(std::min(std::max(size, ahead), end_ - position_)));
      ZARRPOINT_CHECK(from_.read(position_, window_));
      begin_ = position_;
    }
    const auto at = static_cast<std::size_t>(position_ - begin_);
    position_ += size;
    return bytes_view(window_).subspan(at, static_cast<std::size_t>(size));
  }

  template <class T>
  result<T> number() {
    ZARRPOINT_TRY(bytes, take(sizeof(T)));
    if constexpr (sizeof(T) == 1) {
      return static_cast<T>(std::to_integer<std::uint8_t>(bytes[0]));
    } else if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(load_le<std::uint32_t>(bytes.data()));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(load_le<std::uint64_t>(bytes.data()));
    } else {
      return static_cast<T>(load_le<std::make_unsigned_t<T>>(bytes.data()));
    }
  }

  result<std::string> text(std::uint64_t most) {
    ZARRPOINT_TRY(size, number<std::uint64_t>());
    if (size > most)
      return error{errc::corrupt, "a text of " + std::to_string(size) + " bytes is too long"};
    ZARRPOINT_TRY(bytes, take(size));
    return std::string(as_text(bytes));
  }

  result<node> value(value_type type, std::size_t depth = 0) {
    if (++values_ > limits_.max_values)
      return error{errc::resource_limit, "it has more values than " +
                                             std::to_string(limits_.max_values) +
                                             " (header_limits::max_values)"};
    switch (type) {
      case value_type::uint8: return unsigned_number<std::uint8_t>();
      case value_type::int8: return signed_number<std::int8_t>();
      case value_type::uint16: return unsigned_number<std::uint16_t>();
      case value_type::int16: return signed_number<std::int16_t>();
      case value_type::uint32: return unsigned_number<std::uint32_t>();
      case value_type::int32: return signed_number<std::int32_t>();
      case value_type::uint64: return unsigned_number<std::uint64_t>();
      case value_type::int64: return signed_number<std::int64_t>();
      case value_type::float32: {
        ZARRPOINT_TRY(read, number<float>());
        return node(double{read});
      }
      case value_type::float64: {
        ZARRPOINT_TRY(read, number<double>());
        return node(read);
      }
      case value_type::bool_: {
        ZARRPOINT_TRY(read, number<std::uint8_t>());
        if (read > 1) return error{errc::corrupt, "a bool that is neither 0 nor 1"};
        return node(read == 1);
      }
      case value_type::string: {
        ZARRPOINT_TRY(read, text(limits_.max_bytes));
        if (is_utf8(read)) return node(std::move(read));
        node out;
        out.set("base64", v0::detail::to_base64(as_bytes(read)));
        return out;
      }
      case value_type::array: return array(depth);
    }
    return error{errc::unsupported,
                 "the type " + std::to_string(static_cast<std::uint32_t>(type)) + " is not known"};
  }

  /// The elements of an array, after their type has been read.
  result<node> elements(value_type type, std::size_t depth) {
    ZARRPOINT_TRY(count, number<std::uint64_t>());
    if (count > from_.size() - position_)  // each has a byte at least
      return error{errc::corrupt,
                   "an array of " + std::to_string(count) + " elements is longer than the file"};
    node::array out;
    // To touch memory for the first time costs more than to read what fills it: once is enough. A
    // count may lie, as far as the limit allows; those of lists within lists would add up.
    if (depth == 1)
      out.reserve(static_cast<std::size_t>(
          std::min<std::uint64_t>({count, 1 << 20, limits_.max_values - values_})));
    for (std::uint64_t i = 0; i < count; ++i) {
      ZARRPOINT_TRY(read, value(type, depth));
      out.push_back(std::move(read));
    }
    return node(std::move(out));
  }

 private:
  template <class T>
  result<node> unsigned_number() {
    ZARRPOINT_TRY(read, number<T>());
    return node(std::uint64_t{read});
  }
  template <class T>
  result<node> signed_number() {
    ZARRPOINT_TRY(read, number<T>());
    return node(std::int64_t{read});
  }

  result<node> array(std::size_t depth) {
    if (depth == limits_.max_depth)
      return error{errc::resource_limit, "arrays are nested too deep (header_limits::max_depth)"};
    ZARRPOINT_TRY(type, number<std::uint32_t>());
    return elements(static_cast<value_type>(type), depth + 1);
  }

  const blob& from_;
  const header_limits& limits_;
  std::uint64_t end_;
  std::uint64_t position_ = 0;
  std::uint64_t begin_ = 0;  ///< of the window, in the file
  std::vector<std::byte> window_;
  std::size_t values_ = 0;
};

inline constexpr std::uint64_t max_name = 65535;  // of keys, by the format

ZARRPOINT_INLINE result<metadata_entry> read_entry(header_reader& in) {
  metadata_entry out;
  ZARRPOINT_TRY(key, in.text(max_name));
  out.key = std::move(key);
  const auto read = [&]() -> result<void> {
    ZARRPOINT_TRY(type, in.number<std::uint32_t>());
    out.type = static_cast<value_type>(type);
    if (out.type == value_type::array) {
      ZARRPOINT_TRY(of, in.number<std::uint32_t>());
      out.element_type = static_cast<value_type>(of);
      ZARRPOINT_TRY(values, in.elements(out.element_type, 1));
      out.value = std::move(values);
    } else {
      ZARRPOINT_TRY(value, in.value(out.type));
      out.value = std::move(value);
    }
    return {};
  };
  ZARRPOINT_CHECK(read().at("the metadata value " + v0::detail::in_quotes(out.key)));
  if (!is_utf8(out.key))
    return error{errc::corrupt, "the key " + v0::detail::in_quotes(out.key) + " is not UTF-8"};
  return out;
}

/// The description of a tensor, its offset from where the tensors begin.
ZARRPOINT_INLINE result<void> read_shape(header_reader& in, tensor_info& out) {
  ZARRPOINT_TRY(rank, in.number<std::uint32_t>());
  if (rank > max_rank)
    return error{errc::unsupported, "a rank of " + std::to_string(rank) + " is too high"};
  out.shape = dims(rank, 0);
  for (std::size_t d = rank; d-- > 0;) {
    ZARRPOINT_TRY(extent, in.number<std::uint64_t>());
    if (extent > static_cast<std::uint64_t>(INT64_MAX))
      return error{errc::corrupt, "an extent of " + std::to_string(extent) + " is too large"};
    out.shape[d] = static_cast<index_t>(extent);
  }
  ZARRPOINT_TRY(number, in.number<std::uint32_t>());
  out.type_number = number;
  const auto type = find_element_type(number);
  if (type) {
    out.type = *type;
    out.spec = {dtype(type->kind), out.shape};
  }
  if (type && type->block_elements > 1) {
    if (rank == 0 || rank == max_rank ||
        out.shape.back() % static_cast<index_t>(type->block_elements) != 0)
      return error{errc::corrupt, "its last axis is not made of whole blocks of " +
                                      std::to_string(type->block_elements) + " elements of " +
                                      std::string(type->name)};
    out.spec.shape[rank - 1] /= static_cast<index_t>(type->block_elements);
    out.spec.shape.push_back(static_cast<index_t>(type->block_bytes));
  }
  ZARRPOINT_TRY(bytes, byte_count(out.spec));
  if (type) out.bytes = bytes;
  ZARRPOINT_TRY(offset, in.number<std::uint64_t>());
  out.offset = offset;
  return {};
}

ZARRPOINT_INLINE result<tensor_info> read_tensor(header_reader& in) {
  tensor_info out;
  ZARRPOINT_TRY(name, in.text(max_name));
  out.name = std::move(name);
  ZARRPOINT_CHECK(read_shape(in, out).at("the tensor " + v0::detail::in_quotes(out.name)));
  return out;
}

/// Moves the offsets to those in the file. No two tensors may share bytes.
ZARRPOINT_INLINE result<void> place_tensors(header& of, std::uint64_t begin, std::uint64_t size) {
  const auto is_before = [&](std::size_t a, std::size_t b) {
    return of.tensors[a].offset < of.tensors[b].offset;
  };
  const std::vector<std::size_t> order =
      v0::detail::sorted_places(of.tensors.size(), v0::detail::place_order(is_before));
  std::uint64_t end = 0;
  std::string_view before;
  for (std::size_t place = 0; place < order.size(); ++place) {
    tensor_info& tensor = of.tensors[order[place]];
    const std::string called = "the tensor " + v0::detail::in_quotes(tensor.name);
    if (tensor.offset % of.alignment != 0)
      return error{errc::corrupt, called + " does not lie at a multiple of " +
                                      std::to_string(of.alignment) + " bytes"};
    if (tensor.type.name.empty() && begin <= size)
      tensor.bytes =
          std::max(place + 1 < order.size() ? of.tensors[order[place + 1]].offset : size - begin,
                   tensor.offset) -
          tensor.offset;
    if (tensor.bytes != 0 && tensor.offset < end)
      return error{errc::corrupt, called + " overlaps " + v0::detail::in_quotes(before)};
    if (begin > size || tensor.offset > size - begin || tensor.bytes > size - begin - tensor.offset)
      return error{errc::corrupt, called + " runs past the end of the file"};
    if (tensor.bytes != 0) {
      end = tensor.offset + tensor.bytes;
      before = tensor.name;
    }
    tensor.offset += begin;
  }
  return {};
}

/// An alignment is a power of two; readers need no more.
ZARRPOINT_INLINE result<void> take_alignment(header& of) {
  const node* const told = of.find("general.alignment");
  if (told == nullptr) return {};
  const auto number = told->to_uint64();
  if (!number || !std::has_single_bit(*number) || *number > std::uint64_t{1} << 30)
    return error{errc::corrupt, "its general.alignment is not a power of two up to 2^30"};
  of.alignment = static_cast<std::uint32_t>(*number);
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE std::optional<element_type> find_element_type(std::uint32_t number) {
  using kind = dtype_kind;
  switch (number) {
    case 0: return element_type{"F32", 1, 4, kind::float32};
    case 1: return element_type{"F16", 1, 2, kind::float16};
    case 2: return element_type{"Q4_0", 32, 18};
    case 3: return element_type{"Q4_1", 32, 20};
    case 6: return element_type{"Q5_0", 32, 22};
    case 7: return element_type{"Q5_1", 32, 24};
    case 8: return element_type{"Q8_0", 32, 34};
    case 10: return element_type{"Q2_K", 256, 84};
    case 11: return element_type{"Q3_K", 256, 110};
    case 12: return element_type{"Q4_K", 256, 144};
    case 13: return element_type{"Q5_K", 256, 176};
    case 14: return element_type{"Q6_K", 256, 210};
    case 15: return element_type{"Q8_K", 256, 292};
    case 16: return element_type{"IQ2_XXS", 256, 66};
    case 17: return element_type{"IQ2_XS", 256, 74};
    case 18: return element_type{"IQ3_XXS", 256, 98};
    case 19: return element_type{"IQ1_S", 256, 50};
    case 20: return element_type{"IQ4_NL", 32, 18};
    case 21: return element_type{"IQ3_S", 256, 110};
    case 22: return element_type{"IQ2_S", 256, 82};
    case 23: return element_type{"IQ4_XS", 256, 136};
    case 24: return element_type{"I8", 1, 1, kind::int8};
    case 25: return element_type{"I16", 1, 2, kind::int16};
    case 26: return element_type{"I32", 1, 4, kind::int32};
    case 27: return element_type{"I64", 1, 8, kind::int64};
    case 28: return element_type{"F64", 1, 8, kind::float64};
    case 29: return element_type{"IQ1_M", 256, 56};
    case 30: return element_type{"BF16", 1, 2, kind::bfloat16};
    case 34: return element_type{"TQ1_0", 256, 54};
    case 35: return element_type{"TQ2_0", 256, 66};
    case 39: return element_type{"MXFP4", 32, 17};
    case 40: return element_type{"NVFP4", 64, 36};
    case 41: return element_type{"Q1_0", 128, 18};
    default: return std::nullopt;
  }
}

ZARRPOINT_INLINE const node* header::find(std::string_view key) const {
  for (const metadata_entry& entry : metadata)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

namespace detail {

ZARRPOINT_INLINE result<header> parse_header(const blob& from, const header_limits& limits) {
  header_reader in(from, limits);
  ZARRPOINT_TRY(mark, in.take(4));
  if (as_text(mark) != "GGUF") return error{errc::corrupt, "it does not begin as a GGUF file does"};
  header out;
  ZARRPOINT_TRY(version, in.number<std::uint32_t>());
  if ((version & 0xffff) == 0 && version != 0)
    return error{errc::unsupported, "its numbers are big-endian"};
  if (version != 2 && version != 3)
    return error{errc::unsupported, "version " + std::to_string(version) + " of GGUF"};
  out.version = version;
  ZARRPOINT_TRY(tensors, in.number<std::uint64_t>());
  ZARRPOINT_TRY(entries, in.number<std::uint64_t>());
  if (tensors > limits.max_tensors)
    return error{errc::resource_limit,
                 "it has " + std::to_string(tensors) + " tensors (header_limits::max_tensors)"};
  if (entries > limits.max_values)
    return error{errc::resource_limit, "it has " + std::to_string(entries) +
                                           " metadata values (header_limits::max_values)"};
  std::set<std::string, std::less<>> keys;
  for (std::uint64_t i = 0; i < entries; ++i) {
    ZARRPOINT_TRY(entry, read_entry(in));
    if (!keys.insert(entry.key).second)
      return error{errc::corrupt,
                   "the key " + v0::detail::in_quotes(entry.key) + " is there twice"};
    out.metadata.push_back(std::move(entry));
  }
  ZARRPOINT_CHECK(take_alignment(out));
  std::set<std::string, std::less<>> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    ZARRPOINT_TRY(tensor, read_tensor(in));
    if (!names.insert(tensor.name).second)
      return error{errc::corrupt,
                   "the tensor " + v0::detail::in_quotes(tensor.name) + " is there twice"};
    out.tensors.push_back(std::move(tensor));
  }
  ZARRPOINT_TRY(begin, v0::detail::checked_round_up<std::uint64_t>(in.position(), out.alignment));
  ZARRPOINT_CHECK(place_tensors(out, begin, from.size()));
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<header> read_header(const blob& from, const header_limits& limits) {
  return guarded([&] { return detail::parse_header(from, limits); });
}

}}}  // namespace zarrpoint::v0::gguf
