// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/interop/hierarchy/made_hierarchy.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace gguf {

struct tensor_store::state {
  gguf::header header;
  v0::detail::made_hierarchy tree;
  std::string name;
};

namespace detail {

inline constexpr std::size_t most_in_attributes = 64;

/// Numbers of one type as the elements of an array.
template <class T>
result<void> add_numbers(v0::detail::made_hierarchy& to, const std::string& name,
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

ZARRPOINT_INLINE result<void> add_texts(v0::detail::made_hierarchy& to, const std::string& name,
                                        const node::array& values) {
  std::vector<std::string_view> texts;
  texts.reserve(values.size());
  for (const node& value : values) texts.push_back(*value.if_string());
  ZARRPOINT_TRY(made, v0::detail::array_of_texts({static_cast<index_t>(values.size())}, texts));
  return to.add(name, made.metadata, std::move(made.chunk));
}

/// A long array becomes an array of the hierarchy; false for all else.
ZARRPOINT_INLINE result<bool> add_long_array(v0::detail::made_hierarchy& to,
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

ZARRPOINT_INLINE result<void> build(v0::detail::made_hierarchy& tree, const header& of,
                                    const std::shared_ptr<const v0::detail::container_file>& file) {
  for (const tensor_info& tensor : of.tensors) {
    const auto chunk = [file, offset = tensor.offset,
                        bytes = tensor.bytes](std::string name) -> result<std::unique_ptr<blob>> {
      return v0::detail::make_owned<blob, v0::detail::range_blob>(file, offset, bytes,
                                                                  std::move(name));
    };
    ZARRPOINT_CHECK(tree.add(tensor.name, stored_as(tensor), chunk));
  }
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

}  // namespace detail

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(any_store base, store_key at,
                                                         const header_limits& limits) {
  const std::string name = base.describe(at);
  ZARRPOINT_TRY(file, base.open(at));
  if (file == nullptr) return error{errc::not_found, "open " + name + ": there is no such file"};
  return open(std::move(file), limits);
}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(std::unique_ptr<blob> file,
                                                         const header_limits& limits) {
  const std::string name = file->name();
  return guarded([&]() -> result<tensor_store> {
           const auto out = v0::detail::make_counted<state>();
           out->name = name;
           ZARRPOINT_TRY(read, read_header(*file, limits));
           out->header = std::move(read);
           const auto shared =
               v0::detail::make_counted<const v0::detail::container_file>(std::move(file));
           ZARRPOINT_CHECK(detail::build(out->tree, out->header, shared));
           return tensor_store(out);
         })
      .at("open the GGUF file " + name);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> tensor_store::open(const store_key& key) const {
  return guarded([&] { return state_->tree.open(key, describe(key)); });
}

ZARRPOINT_INLINE std::string tensor_store::describe(const store_key& key) const {
  return key.is_root() ? state_->name : state_->name + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> tensor_store::list(const store_key& prefix) const {
  return guarded([&] { return state_->tree.list(prefix); });
}

ZARRPOINT_INLINE const gguf::header& tensor_store::header() const noexcept {
  return state_->header;
}

}}}  // namespace zarrpoint::v0::gguf
