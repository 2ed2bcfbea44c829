// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace safetensors {

namespace detail {

using v0::detail::virtual_hierarchy;

/// What a header may have of a budget: each of its bytes makes some eight.
constexpr std::uint64_t header_bytes_within(std::uint64_t memory) noexcept {
  return memory / 8 + (std::uint64_t{16} << 10);
}

/// Where a tensor lies in its file.
struct tensor_place {
  std::shared_ptr<const v0::detail::container_file> file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  result<std::unique_ptr<blob>> operator()(std::string name) const {
    return v0::detail::make_owned<blob, v0::detail::range_blob>(file, offset, bytes,
                                                                std::move(name));
  }
};

ZARRPOINT_INLINE result<void> add_tensor(virtual_hierarchy& to, const tensor_info& of,
                                         tensor_place at) {
  if (!of.spec.type.valid()) {
    std::vector<virtual_hierarchy::chunk_opener> stored{std::move(at)};
    return to.add(of.name,
                  v0::detail::unread_entry{of.stored_type,
                                           "the dtype " + v0::detail::in_quotes(of.stored_type) +
                                               " is not known to this version",
                                           of.spec.shape},
                  std::move(stored));
  }
  const array_metadata as = v0::detail::raw_array(of.spec, endian::little);
  if (!of.spec.type.is_below_byte()) return to.add(of.name, as, std::move(at));
  ZARRPOINT_TRY(count, byte_count(of.spec));
  return to.add(of.name, as,
                [at = std::move(at), type = of.spec.type,
                 count](std::string name) -> result<std::unique_ptr<blob>> {
                  ZARRPOINT_TRY(packed, at(name));
                  return v0::detail::make_owned<blob, unpacked_blob>(std::move(packed), type, count,
                                                                     std::move(name));
                });
}

/// What is gathered from a file, or from those of an index.
struct read_files {
  std::uint64_t most = UINT64_MAX;                  ///< bytes of a header
  const v0::detail::weight_index* index = nullptr;  ///< of a model in several files
  node attributes{node::object{}};
  std::uint64_t total = 0;  ///< bytes of the tensors that the index takes

  result<void> add(const std::string& name, std::unique_ptr<blob> from, virtual_hierarchy& to) {
    ZARRPOINT_TRY(read, read_header(*from, most));
    if (index != nullptr && read.checked.metadata.contains(std::string(sharding_member)))
      return error{errc::unsupported,
                   "it has parts of tensors (DCP_SHARDING_INFO), which dcp::format joins"};
    for (const auto& [key, value] : read.checked.metadata) attributes.set(key, value);
    const auto file = v0::detail::make_counted<const v0::detail::container_file>(std::move(from));
    for (const tensor_info& each : read.checked.tensors) {
      if (index != nullptr && index->is_in(each.name, name)) total += each.bytes;
      ZARRPOINT_CHECK(add_tensor(to, each, {file, read.data_offset + each.offset, each.bytes}));
    }
    return {};
  }
};

ZARRPOINT_INLINE result<void> add_model(virtual_hierarchy& to, const any_store& base,
                                        const store_key& at, read_files& read) {
  ZARRPOINT_TRY(index, v0::detail::read_weight_index(base, at));
  if (!index) return error{errc::not_found, "there is no such file"};
  read.index = &*index;
  const auto add = [&](const std::string& name, virtual_hierarchy& tree) -> result<void> {
    ZARRPOINT_TRY(key, at.parent().child(name));
    ZARRPOINT_TRY(from, base.open(key));
    if (from == nullptr) return error{errc::not_found, base.describe(key) + ": no such file"};
    return read.add(name, std::move(from), tree).at(base.describe(key));
  };
  ZARRPOINT_TRY(told, v0::detail::join_files(*index, add, to));
  read.index = nullptr;
  if (index->total_size && *index->total_size != read.total)
    told.set("total_size", "total_size is " + std::to_string(*index->total_size) +
                               ", the tensors have " + std::to_string(read.total) + " bytes");
  if (!told.is_null())
    read.attributes.set(std::string(v0::detail::weight_map_member), std::move(told));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(any_store base, store_key at,
                                                         std::uint64_t most) {
  const std::string name = base.describe(at);
  const auto read = [&]() -> result<tensor_store> {
    if (!at.str().ends_with(".json")) {
      ZARRPOINT_TRY(file, base.open(at));
      if (file == nullptr)
        return error{errc::not_found, "open " + name + ": there is no such file"};
      return open(std::move(file), most);
    }
    v0::detail::virtual_hierarchy tree;
    detail::read_files read{most, nullptr, node(node::object{}), 0};
    ZARRPOINT_CHECK(detail::add_model(tree, base, at, read).at("open " + name));
    ZARRPOINT_CHECK(tree.finish(read.attributes).at("open " + name));
    return tensor_store(std::move(tree), name);
  };
  return guarded(read);
}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(std::unique_ptr<blob> file,
                                                         std::uint64_t most) {
  const std::string name = file->name();
  const auto read = [&]() -> result<tensor_store> {
    v0::detail::virtual_hierarchy tree;
    detail::read_files read{most, nullptr, node(node::object{}), 0};
    ZARRPOINT_CHECK(read.add({}, std::move(file), tree));
    ZARRPOINT_CHECK(tree.finish(read.attributes));
    return tensor_store(std::move(tree), name);
  };
  return guarded(read).at("open " + name);
}

namespace detail {

/// Whether `sharding_member` stands in a part of a file. A header may be larger than a budget, so
/// it is read in pieces, each with the end of the one before it.
ZARRPOINT_INLINE bool holds_text(const blob& file, std::uint64_t at, std::uint64_t end) {
  constexpr std::size_t shared = sharding_member.size() - 1;
  std::string text;
  while (at < end) {
    text.erase(0, text.size() - std::min(text.size(), shared));
    const std::size_t kept = text.size();
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, 64U << 10));
    text.resize(kept + some);
    if (!file.read(at, std::as_writable_bytes(std::span(text).subspan(kept)))) return false;
    if (text.find(sharding_member) != text.npos) return true;
    at += some;
  }
  return false;
}

ZARRPOINT_INLINE result<bool> has_parts(const any_store& store, const store_key& at) {
  if (!store.can_list()) return false;
  ZARRPOINT_TRY(entries, store.list(at));
  for (const list_entry& each : entries) {
    if (each.is_prefix || !each.name.ends_with(".safetensors")) continue;
    ZARRPOINT_TRY(key, at.child(each.name));
    const auto file = store.open(key);  // who reads it says what is wrong with it
    std::byte prefix[8];
    if (!file || *file == nullptr || (*file)->size() < sizeof prefix) continue;
    if (!(*file)->read(0, prefix)) continue;
    const std::uint64_t length = std::min(
        {load_le<std::uint64_t>(prefix), max_header_bytes, (*file)->size() - sizeof prefix});
    if (holds_text(**file, sizeof prefix, sizeof prefix + length)) return true;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (at.is_directory()) {
    // Of files with parts of tensors `dcp::format` is surer.
    ZARRPOINT_TRY(is_there, v0::detail::has_index(at, detail::files_index.data()));
    return is_there ? claim::plain : claim::none;
  }
  if (!at.is_file()) return claim::none;
  const std::string_view head = at.head();
  if (head.starts_with('{'))
    return at.place().ends_with(".safetensors.index.json") ? claim::plain : claim::none;
  const bool begins = head.size() > 8 && head[8] == '{';
  return begins || at.place().ends_with(".safetensors") ? claim::plain : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_TRY(place, v0::detail::index_at(at, detail::files_index.data()));
  const bool is_model = place.key.str().ends_with(".json");
  if (!is_model) {  // a file, which may be a link: it is the caller's own path
    ZARRPOINT_TRY(file, at.open_file());
    ZARRPOINT_TRY(opened,
                  tensor_store::open(std::move(file), detail::header_bytes_within(use.memory)));
    return at.within(std::move(opened), "safetensors");
  }
  ZARRPOINT_TRY(opened, tensor_store::open(std::move(place.store), std::move(place.key),
                                           detail::header_bytes_within(use.memory)));
  return at.within(std::move(opened), "safetensors in files");
}

}}}  // namespace zarrpoint::v0::safetensors
