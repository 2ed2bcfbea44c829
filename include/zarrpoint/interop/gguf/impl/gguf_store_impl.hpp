// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/place.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace gguf {

namespace detail {

inline constexpr std::size_t most_in_attributes = 64;

/// Numbers of one type as the elements of an array.
template <class T>
result<void> add_numbers(v0::detail::virtual_hierarchy& to, const std::string& name,
                         const node::array& values) {
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
                                        const node::array& values) {
  std::vector<std::string_view> texts;
  texts.reserve(values.size());
  for (const node& value : values) texts.push_back(*value.if_string());
  ZARRPOINT_TRY(made, v0::detail::array_of_texts({static_cast<index_t>(values.size())}, texts));
  return to.add(name, made.metadata, std::move(made.chunk));
}

/// A long array becomes an array of the hierarchy; false for all else.
ZARRPOINT_INLINE result<bool> add_long_array(v0::detail::virtual_hierarchy& to,
                                             const metadata_entry& of) {
  if (of.type != value_type::array || of.element_type == value_type::array) return false;
  const node::array& values = *of.value.if_array();
  if (values.size() <= most_in_attributes) return false;
  const bool is_text = of.element_type == value_type::string;
  if (is_text && !std::all_of(values.begin(), values.end(),
                              [](const node& one) { return one.if_string() != nullptr; }))
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

ZARRPOINT_INLINE node to_list(const dims& shape) {
  node::array out;
  for (const index_t extent : shape) out.emplace_back(std::int64_t{extent});
  return out;
}

ZARRPOINT_INLINE array_metadata stored_as(const tensor_info& of) {
  array_metadata out = v0::detail::raw_array(of.spec, endian::little);
  if (of.type.block_elements == 1) return out;
  node told;
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
  node::object metadata;  // no key is there twice
  for (const metadata_entry& entry : of.metadata) {
    ZARRPOINT_TRY(is_array, add_long_array(tree, entry));
    if (!is_array) metadata.push_back({entry.key, entry.value});
  }
  node told;
  told.set("version", std::uint64_t{of.version});
  told.set("alignment", std::uint64_t{of.alignment});
  told.set("metadata", node(std::move(metadata)));
  node attributes;
  attributes.set("gguf", std::move(told));
  return tree.finish(attributes);
}

/// Which part of a model a file is.
struct part_number {
  std::uint64_t no = 0;  ///< from 0
  std::uint64_t count = 1;

  static part_number of(const header& from) {
    const node* const no = from.find("split.no");
    const node* const count = from.find("split.count");
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
  const node* const told = all.find("split.tensors.count");
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
  const std::string name = base.describe(at);
  ZARRPOINT_TRY(file, base.open(at));
  if (file == nullptr) return error{errc::not_found, "open " + name + ": there is no such file"};
  const std::string_view whole = at.str();
  return open(
      std::move(file), whole.substr(whole.rfind('/') + 1),
      [&](const std::string& other) -> result<std::unique_ptr<blob>> {
        ZARRPOINT_TRY(key, at.parent().child(other));
        ZARRPOINT_TRY(opened, base.open(key));
        if (opened == nullptr) return error{errc::not_found, "there is no such file"};
        return std::move(opened);
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

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  return at.head().starts_with("GGUF") ? claim::sure : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_TRY(file, at.open_file());
  if (!at.head().starts_with("GGUF"))
    return error{errc::corrupt, at.path() + ": it does not begin as a GGUF file does"};
  const std::size_t slash = at.place().rfind('/') + 1;  // npos + 1 == 0
  ZARRPOINT_TRY(opened, tensor_store::open(
                            std::move(file), std::string_view(at.place()).substr(slash),
                            [&](const std::string& other) {
                              return v0::detail::open_file(at.place().substr(0, slash) + other);
                            },
                            header_limits{}.within(use.memory)));
  std::string called = "GGUF " + std::to_string(opened.header().version);
  return at.within(std::move(opened), std::move(called));
}

}}}  // namespace zarrpoint::v0::gguf
