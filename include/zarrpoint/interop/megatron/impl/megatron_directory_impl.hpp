// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/state/state_path.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace megatron {

namespace detail {

ZARRPOINT_INLINE result<void> check_common(const any_store& store, const backends& wrote) {
  if (wrote.common == "torch" && wrote.common_version == 1) return {};
  return error{errc::unsupported, store.describe(store_key::root()) +
                                      ": its common state is of backend (" + wrote.common + ", " +
                                      std::to_string(wrote.common_version) +
                                      "), not of (torch, 1)"};
}

ZARRPOINT_INLINE result<node> common_document(const any_store& store, const context& how) {
  ZARRPOINT_TRY(key, store_key::parse(common_file));
  ZARRPOINT_TRY(file, torch::open(store, key));
  ZARRPOINT_TRY(there, store.open(key));
  torch::pickle_node_limits limits{.max_depth = zarrpoint::detail::max_state_depth - 8};
  // Tensors become text of 4/3 of their bytes.
  if (there != nullptr)
    limits.max_text = std::max(limits.max_text, static_cast<std::size_t>(2 * there->size()));
  limits.max_text = std::min(limits.max_text, how.limit.memory);
  return torch::to_document(file, limits).at(std::string(common_file));
}

ZARRPOINT_INLINE result<node> read_common(const any_store& store, const context& how) {
  ZARRPOINT_TRY(wrote, read_metadata(store));
  ZARRPOINT_CHECK(check_common(store, wrote));
  return common_document(store, how);
}

}  // namespace detail

ZARRPOINT_INLINE directory::directory(any_store store, backends wrote, context how)
    : store_(std::move(store)), backends_(std::move(wrote)), how_(std::move(how)) {}

ZARRPOINT_INLINE result<directory> directory::open(const location& where, const context& how) {
  const auto missing = [&] {
    return error{errc::not_found, "Checkpoint directory " + where.name() + " does not exist"};
  };
  auto place = zarrpoint::detail::location_access::to_read(where, how.stores, how.limit.memory);
  if (!place) {
    if (place.failure().code == errc::not_found) return missing();
    return std::move(place).failure();
  }
  any_store root =
      place->key.is_root() ? place->store : any_store(prefix_store(place->store, place->key));
  auto wrote = detail::read_metadata(root);
  if (!wrote && wrote.failure().code == errc::not_found) {
    if (!zarrpoint::detail::may_exist(place->store, place->key)) return missing();
    return error{errc::not_found, where.name() + " is not a distributed checkpoint"};
  }
  if (!wrote) return std::move(wrote).failure();
  if (wrote->sharded != "zarr" || wrote->sharded_version != 1)
    return error{errc::unsupported,
                 where.name() + ": its tensors are of backend (" + wrote->sharded + ", " +
                     std::to_string(wrote->sharded_version) + "), not of (zarr, 1)"};
  return directory(std::move(root), *std::move(wrote), how);
}

ZARRPOINT_INLINE result<contents> directory::list() const {
  contents out;
  std::vector<store_key> open{store_key::root()};
  while (!open.empty()) {
    const store_key at = std::move(open.back());
    open.pop_back();
    if (std::count(at.str().begin(), at.str().end(), '/') > 64)
      return error{errc::resource_limit, store_.describe(at) + ": nested deeper than 64 levels"};
    ZARRPOINT_TRY(entries, store_.list(at));
    for (const list_entry& entry : entries) {
      // What has no name that a store may have is nothing that Megatron-Core wrote.
      const auto child = at.child(entry.name);
      if (!child) continue;
      if (entry.is_prefix) {
        open.push_back(*child);
      } else if (!at.is_root()) {
        ZARRPOINT_CHECK(note(at, entry.name, out));
      }
    }
  }
  v0::detail::sort_names(out.tensors);
  v0::detail::sort_by(out.objects, [](const object_id& a, const object_id& b) {
    if (a.key != b.key) return a.key < b.key;
    return std::lexicographical_compare(a.offset.begin(), a.offset.end(), b.offset.begin(),
                                        b.offset.end());
  });
  complete_shapes(out.objects);
  return out;
}

ZARRPOINT_INLINE result<array> directory::tensor(std::string_view key) const {
  ZARRPOINT_TRY(folder, detail::tensor_key(key));
  auto opened = array::open(store_, folder, how_);
  if (!opened && opened.failure().code == errc::not_found)
    return error{errc::not_found, "Array " + store_.describe(folder) + " not found"};
  return opened;
}

ZARRPOINT_INLINE result<void> directory::read(std::string_view key, const selection& part,
                                              const mutable_host_view& into,
                                              read_options options) const {
  ZARRPOINT_TRY(from, tensor(key));
  if (from.metadata().fill.is_null()) options.missing = missing_chunks::error;
  return from.read(part, into, options);
}

ZARRPOINT_INLINE result<zarrpoint::tensor> directory::read(std::string_view key) const {
  ZARRPOINT_TRY(from, tensor(key));
  read_options options;
  if (from.metadata().fill.is_null()) options.missing = missing_chunks::error;
  return from.read(selection(box::whole(from.metadata().shape)), options);
}

ZARRPOINT_INLINE result<torch::file> directory::object(const object_id& of) const {
  ZARRPOINT_TRY(key, store_key::parse(unique_key(of) + ".pt"));
  ZARRPOINT_TRY(there, store_.open(key));
  if (there == nullptr && of.shape.rank() != 0) {
    object_id old = of;
    old.shape = dims(std::span<const index_t>(of.shape).first(of.shape.rank() - 1));
    ZARRPOINT_TRY(old_key, store_key::parse(unique_key(old) + ".pt"));
    ZARRPOINT_TRY(old_file, store_.open(old_key));
    if (old_file != nullptr) return torch::open(std::move(old_file));
  }
  if (there == nullptr)
    return error{errc::not_found, "Object " + store_.describe(key) + " not found"};
  return torch::open(std::move(there));
}

ZARRPOINT_INLINE result<torch::file> directory::common() const {
  ZARRPOINT_CHECK(detail::check_common(store_, backends_));
  ZARRPOINT_TRY(key, store_key::parse(detail::common_file));
  return torch::open(store_, key);
}

ZARRPOINT_INLINE result<node> directory::common_node() const {
  ZARRPOINT_CHECK(detail::check_common(store_, backends_));
  return detail::common_document(store_, how_);
}

ZARRPOINT_INLINE result<void> directory::note(const store_key& folder, const std::string& name,
                                              contents& out) const {
  if (name == ".zarray") {
    if (folder.name().ends_with(".sync")) {
      ZARRPOINT_TRY(key, folder.child(name));
      ZARRPOINT_TRY(document, store_.open(key));
      if (document == nullptr || document->size() == 0) return {};  // a lock
    }
    out.tensors.emplace_back(folder.str());
  } else if (name.ends_with(".pt")) {
    const std::string file = std::string(folder.str()) + '/' + name;
    if (auto id = parse_unique_key(std::string_view(file).substr(0, file.size() - 3)))
      out.objects.push_back(*std::move(id));
  }
  return {};
}

ZARRPOINT_INLINE void directory::complete_shapes(std::vector<object_id>& objects) {
  std::map<std::string_view, index_t> extents;
  for (const object_id& one : objects) {
    if (one.offset.rank() == 0) continue;
    index_t& extent = extents[one.key];
    extent = std::max(extent, one.offset.back());
  }
  for (object_id& one : objects)
    if (const index_t last = extents[one.key];
        one.shape.rank() < one.offset.rank() && last < INT64_MAX)
      one.shape.push_back(last + 1);
}

}}}  // namespace zarrpoint::v0::megatron
