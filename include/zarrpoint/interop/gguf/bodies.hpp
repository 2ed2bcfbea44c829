// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/gguf/gguf_header.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/place.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace gguf {

// --------------------------------------------------------------------------------- gguf_header.hpp

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

  result<json> value(value_type type, std::size_t depth = 0) {
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
        return json(double{read});
      }
      case value_type::float64: {
        ZARRPOINT_TRY(read, number<double>());
        return json(read);
      }
      case value_type::bool_: {
        ZARRPOINT_TRY(read, number<std::uint8_t>());
        if (read > 1) return error{errc::corrupt, "a bool that is neither 0 nor 1"};
        return json(read == 1);
      }
      case value_type::string: {
        ZARRPOINT_TRY(read, text(limits_.max_bytes));
        if (is_utf8(read)) return json(std::move(read));
        json out;
        out.set("base64", v0::detail::to_base64(as_bytes(read)));
        return out;
      }
      case value_type::array: return array(depth);
    }
    return error{errc::unsupported,
                 "the type " + std::to_string(static_cast<std::uint32_t>(type)) + " is not known"};
  }

  /// The elements of an array, after their type has been read.
  result<json> elements(value_type type, std::size_t depth) {
    ZARRPOINT_TRY(count, number<std::uint64_t>());
    if (count > from_.size() - position_)  // each has a byte at least
      return error{errc::corrupt,
                   "an array of " + std::to_string(count) + " elements is longer than the file"};
    json::array out;
    // To touch memory for the first time costs more than to read what fills it: once is enough. A
    // count may lie, as far as the limit allows; those of lists within lists would add up.
    if (depth == 1)
      out.reserve(static_cast<std::size_t>(
          std::min<std::uint64_t>({count, 1 << 20, limits_.max_values - values_})));
    for (std::uint64_t i = 0; i < count; ++i) {
      ZARRPOINT_TRY(read, value(type, depth));
      out.push_back(std::move(read));
    }
    return json(std::move(out));
  }

 private:
  template <class T>
  result<json> unsigned_number() {
    ZARRPOINT_TRY(read, number<T>());
    return json(std::uint64_t{read});
  }
  template <class T>
  result<json> signed_number() {
    ZARRPOINT_TRY(read, number<T>());
    return json(std::int64_t{read});
  }

  result<json> array(std::size_t depth) {
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
  const json* const told = of.find("general.alignment");
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

ZARRPOINT_INLINE const json* header::find(std::string_view key) const {
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
    return error{errc::unsupported, "version " + std::to_string(version) + " of GGUF is not read"};
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

// ---------------------------------------------------------------------------------- gguf_store.hpp

namespace detail {

inline constexpr std::size_t most_in_attributes = 64;

/// Numbers of one type as the elements of an array.
template <class T>
result<void> add_numbers(v0::detail::virtual_hierarchy& to, const std::string& name,
                         const json::array& values) {
  std::vector<std::byte> chunk(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    if constexpr (std::is_same_v<T, bool>) {
      value = *values[i].if_bool();
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(*values[i].to_double());
    } else if constexpr (std::is_unsigned_v<T>) {
      value = static_cast<T>(*values[i].to_uint64());
    } else {
      value = static_cast<T>(*values[i].to_int64());
    }
    std::memcpy(chunk.data() + i * sizeof(T), &value, sizeof(T));
  }
  const dims shape{static_cast<index_t>(values.size())};
  return to.add(name, v0::detail::raw_array({dtype_of<T>, shape}), std::move(chunk));
}

ZARRPOINT_INLINE result<void> add_texts(v0::detail::virtual_hierarchy& to, const std::string& name,
                                        const json::array& values) {
  std::vector<std::string_view> texts;
  texts.reserve(values.size());
  for (const json& value : values) texts.push_back(*value.if_string());
  ZARRPOINT_TRY(made, v0::detail::array_of_texts({static_cast<index_t>(values.size())}, texts));
  return to.add(name, made.metadata, std::move(made.chunk));
}

/// A long array becomes an array of the hierarchy; false for all else.
ZARRPOINT_INLINE result<bool> add_long_array(v0::detail::virtual_hierarchy& to,
                                             const metadata_entry& of) {
  if (of.type != value_type::array || of.element_type == value_type::array) return false;
  const json::array& values = *of.value.if_array();
  if (values.size() <= most_in_attributes) return false;
  const bool is_text = of.element_type == value_type::string;
  if (is_text && !std::all_of(values.begin(), values.end(),
                              [](const json& one) { return one.if_string() != nullptr; }))
    return false;  // not all of it is UTF-8
  const std::string name = "metadata/" + of.key;
  const auto add = [&]() -> result<void> {
    switch (of.element_type) {
      case value_type::uint8: return add_numbers<std::uint8_t>(to, name, values);
      case value_type::int8: return add_numbers<std::int8_t>(to, name, values);
      case value_type::uint16: return add_numbers<std::uint16_t>(to, name, values);
      case value_type::int16: return add_numbers<std::int16_t>(to, name, values);
      case value_type::uint32: return add_numbers<std::uint32_t>(to, name, values);
      case value_type::int32: return add_numbers<std::int32_t>(to, name, values);
      case value_type::uint64: return add_numbers<std::uint64_t>(to, name, values);
      case value_type::int64: return add_numbers<std::int64_t>(to, name, values);
      case value_type::float32: return add_numbers<float>(to, name, values);
      case value_type::float64: return add_numbers<double>(to, name, values);
      case value_type::bool_: return add_numbers<bool>(to, name, values);
      default: return add_texts(to, name, values);
    }
  };
  ZARRPOINT_CHECK(add());
  return true;
}

ZARRPOINT_INLINE json to_list(const dims& shape) {
  json::array out;
  for (const index_t extent : shape) out.emplace_back(std::int64_t{extent});
  return out;
}

ZARRPOINT_INLINE array_metadata stored_as(const tensor_info& of) {
  array_metadata out = v0::detail::raw_array(of.spec, endian::little);
  if (of.type.block_elements == 1) return out;
  json told;
  told.set("type", of.type.name);
  told.set("shape", to_list(of.shape));
  told.set("block_elements", static_cast<std::uint64_t>(of.type.block_elements));
  out.attributes.set("gguf", std::move(told));
  return out;
}

ZARRPOINT_INLINE result<void> add_tensors(
    v0::detail::virtual_hierarchy& tree, const header& of,
    const std::shared_ptr<const v0::detail::container_file>& file) {
  for (const tensor_info& tensor : of.tensors) {
    const auto chunk = [file, offset = tensor.offset,
                        bytes = tensor.bytes](std::string name) -> result<std::unique_ptr<blob>> {
      return v0::detail::make_owned<blob, v0::detail::range_blob>(file, offset, bytes,
                                                                  std::move(name));
    };
    if (!tensor.type.name.empty()) {
      ZARRPOINT_CHECK(tree.add(tensor.name, stored_as(tensor), chunk));
      continue;
    }
    const std::string type = "type " + std::to_string(tensor.type_number) + " of ggml";
    ZARRPOINT_CHECK(tree.add(
        tensor.name, {type, "its element " + type + " is not known to this version", tensor.shape},
        std::vector<v0::detail::virtual_hierarchy::chunk_opener>{chunk}));
  }
  return {};
}

ZARRPOINT_INLINE result<void> add_metadata(v0::detail::virtual_hierarchy& tree, const header& of) {
  json::object metadata;  // no key is there twice
  for (const metadata_entry& entry : of.metadata) {
    ZARRPOINT_TRY(is_array, add_long_array(tree, entry));
    if (!is_array) metadata.push_back({entry.key, entry.value});
  }
  json told;
  told.set("version", std::uint64_t{of.version});
  told.set("alignment", std::uint64_t{of.alignment});
  told.set("metadata", json(std::move(metadata)));
  json attributes;
  attributes.set("gguf", std::move(told));
  return tree.finish(attributes);
}

/// Which part of a model a file is.
struct part_number {
  std::uint64_t no = 0;  ///< from 0
  std::uint64_t count = 1;

  static part_number of(const header& from) {
    const json* const no = from.find("split.no");
    const json* const count = from.find("split.count");
    if (no == nullptr || count == nullptr) return {};
    return {no->to_uint64().value_or(0), count->to_uint64().value_or(1)};
  }
  std::string text() const {
    return "part " + std::to_string(no + 1) + " of " + std::to_string(count);
  }
  /// How the name of its file ends.
  std::string ending() const {
    std::array<char, 64> text{};
    const unsigned long long first = no;
    const unsigned long long last = count;
    std::snprintf(text.data(), text.size(), "-%05llu-of-%05llu.gguf", first + 1, last);
    return text.data();
  }
};

/// Errors: `corrupt` for a tensor that is in two parts, and where their number is another one than
/// the file tells.
ZARRPOINT_INLINE result<void> check_parts(const header& all) {
  std::vector<std::string_view> names;
  names.reserve(all.tensors.size());
  for (const tensor_info& each : all.tensors) names.push_back(each.name);
  v0::detail::sort_names(names);
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return error{errc::corrupt,
                 "the tensor " + v0::detail::in_quotes(*twice) + " is in two of its parts"};
  const json* const told = all.find("split.tensors.count");
  if (told == nullptr || told->to_uint64() == names.size()) return {};
  return error{errc::corrupt, "its parts have " + std::to_string(names.size()) +
                                  " tensors, and its split.tensors.count is another number"};
}

}  // namespace detail

ZARRPOINT_INLINE tensor_store::tensor_store(v0::detail::virtual_hierarchy tree, std::string called,
                                            gguf::header of)
    : virtual_store(std::move(tree), std::move(called)),
      header_(v0::detail::make_counted<const gguf::header>(std::move(of))) {}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(any_store base, store_key at,
                                                         const header_limits& limits) {
  ZARRPOINT_TRY(file, v0::detail::open_existing(base, at));
  const std::string_view whole = at.str();
  return open(
      std::move(file), whole.substr(whole.rfind('/') + 1),
      [&](const std::string& other) -> result<std::unique_ptr<blob>> {
        ZARRPOINT_TRY(key, at.parent().child(other));
        return v0::detail::open_existing(base, key);
      },
      limits);
}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(std::unique_ptr<blob> file,
                                                         const header_limits& limits) {
  return open(std::move(file), {}, nullptr, limits);
}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(std::unique_ptr<blob> file,
                                                         std::string_view name,
                                                         const part_opener& others,
                                                         const header_limits& limits) {
  using v0::detail::container_file;
  const std::string called = file->name();
  const auto read = [&]() -> result<tensor_store> {
    v0::detail::virtual_hierarchy tree;
    gguf::header whole;
    ZARRPOINT_TRY(first, read_header(*file, limits));
    auto opened = v0::detail::make_counted<const container_file>(std::move(file));
    const detail::part_number mine = detail::part_number::of(first);
    if (mine.count <= 1 || others == nullptr) {
      ZARRPOINT_CHECK(detail::add_tensors(tree, first, opened));
      whole = std::move(first);
    } else if (!name.ends_with(mine.ending())) {
      return error{errc::unsupported, "it is " + mine.text() +
                                          ", and its name does not tell those of the others; "
                                          "end it in " +
                                          mine.ending()};
    } else if (mine.no >= mine.count) {
      return error{errc::corrupt, "it says that it is " + mine.text()};
    } else {
      const std::string stem(name.substr(0, name.size() - mine.ending().size()));
      const auto add = [&](const detail::part_number& part) -> result<void> {
        gguf::header header;
        std::shared_ptr<const container_file> of = opened;
        if (part.no == mine.no) {
          header = std::move(first);
        } else {
          header_limits rest = limits;
          rest.max_tensors -= std::min(rest.max_tensors, whole.tensors.size());
          ZARRPOINT_TRY(other, others(stem + part.ending()));
          ZARRPOINT_TRY(parsed, read_header(*other, rest));
          header = std::move(parsed);
          of = v0::detail::make_counted<const container_file>(std::move(other));
        }
        const auto told = detail::part_number::of(header);
        if (told.no != part.no || told.count != part.count)
          return error{errc::corrupt, "it says that it is " + told.text()};
        ZARRPOINT_CHECK(detail::add_tensors(tree, header, of));
        if (part.no == 0) {
          whole = std::move(header);
        } else {
          for (tensor_info& each : header.tensors) whole.tensors.push_back(std::move(each));
        }
        return {};
      };
      for (detail::part_number part{0, mine.count}; part.no < part.count; ++part.no)
        ZARRPOINT_CHECK(add(part).at(part.text() + ", " + stem + part.ending()));
      ZARRPOINT_CHECK(detail::check_parts(whole));
    }
    ZARRPOINT_CHECK(detail::add_metadata(tree, whole));
    return tensor_store(std::move(tree), called, std::move(whole));
  };
  return guarded(read).at("open the GGUF file " + called);
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_TRY(file, at.open_file());
  if (!at.head().starts_with("GGUF"))
    return error{errc::corrupt, at.path() + ": it does not begin as a GGUF file does"};
  const std::size_t slash = at.place().rfind('/') + 1;  // npos + 1 == 0
  ZARRPOINT_TRY(opened, tensor_store::open(
                            std::move(file), std::string_view(at.place()).substr(slash),
                            [&](const std::string& other) { return at.open_beside(other); },
                            header_limits{}.within(use.memory)));
  std::string called = "GGUF " + std::to_string(opened.header().version);
  return at.within(std::move(opened), std::move(called));
}

}}}  // namespace zarrpoint::v0::gguf

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#endif
