// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/megatron_layout.hpp>
#include <zarrpoint/interop/pickle_convert.hpp>
#include <zarrpoint/interop/torch_file.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0::megatron {

/// The names of what a checkpoint holds, sorted.
struct contents {
  std::vector<std::string> tensors;
  std::vector<object_id> objects;
};

/// A checkpoint of Megatron-Core's zarr backend, read by one process alone: whatever number of them
/// wrote it, a tensor is a Zarr v2 array. A cheap handle that any number of threads may use.
class directory {
 public:
  /// Errors: `not_found` when the directory does not exist, or has no `metadata.json`;
  /// `unsupported` when other backends wrote it; `corrupt`; `io`.
  template <class = void>
  static result<directory> open(const location& where, const context& how = {}) {
    const auto missing = [&] {
      return error{errc::not_found, "Checkpoint directory " + where.name() + " does not exist"};
    };
    auto place = location_access::to_read(where, how.stores);
    if (!place) {
      if (place.failure().code == errc::not_found) return missing();
      return std::move(place).failure();
    }
    any_store root =
        place->key.is_root() ? place->store : any_store(prefix_store(place->store, place->key));
    auto wrote = read_metadata(root);
    if (!wrote && wrote.failure().code == errc::not_found) {
      ZARRPOINT_TRY(there, exists(*place));
      if (!there) return missing();
      return error{errc::not_found, where.name() + " is not a distributed checkpoint"};
    }
    if (!wrote) return std::move(wrote).failure();
    if (wrote->sharded != "zarr" || wrote->sharded_version != 1)
      return error{errc::unsupported,
                   where.name() + ": its tensors are of backend (" + wrote->sharded + ", " +
                       std::to_string(wrote->sharded_version) + "), not of (zarr, 1)"};
    return directory(std::move(root), *std::move(wrote), how);
  }

  const backends& written_by() const noexcept { return backends_; }
  /// The store whose root is the directory.
  const any_store& store() const noexcept { return store_; }

  /// What is there. Nothing lists it, so all folders are visited: keys may have "/" in them. Lock
  /// files (`X.sync`) are passed over. Errors: `unsupported` for stores that cannot list; `io`;
  /// `resource_limit` for folders nested deeper than 64 levels.
  template <class = void>
  result<contents> list() const {
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
    std::sort(out.tensors.begin(), out.tensors.end());
    std::sort(out.objects.begin(), out.objects.end(), [](const object_id& a, const object_id& b) {
      if (a.key != b.key) return a.key < b.key;
      return std::lexicographical_compare(a.offset.begin(), a.offset.end(), b.offset.begin(),
                                          b.offset.end());
    });
    complete_shapes(out.objects);
    return out;
  }

  /// The array of a tensor. Its own reads take a missing chunk for zeros: see `read`. Errors:
  /// `not_found`, naming the key; `corrupt`, `unsupported`, `io`.
  result<array> tensor(std::string_view key) const {
    ZARRPOINT_TRY(folder, detail::tensor_key(key));
    auto opened = array::open(store_, folder, how_);
    if (!opened && opened.failure().code == errc::not_found)
      return error{errc::not_found, "Array " + store_.describe(folder) + " not found"};
    return opened;
  }

  /// Reads a part of a tensor. A chunk that is missing, where the array has no fill value, was
  /// lost: `not_found`. One of another size is `corrupt`. Errors: those of `tensor` and of
  /// `array::read`.
  result<void> read(std::string_view key, const selection& part, const mutable_host_view& into,
                    read_options options = {}) const {
    ZARRPOINT_TRY(from, tensor(key));
    if (from.metadata().fill.is_null()) options.missing = missing_chunks::error;
    return from.read(part, into, options);
  }
  /// The whole of a tensor.
  result<zarrpoint::tensor> read(std::string_view key) const {
    ZARRPOINT_TRY(from, tensor(key));
    read_options options;
    if (from.metadata().fill.is_null()) options.missing = missing_chunks::error;
    return from.read(selection(box::whole(from.metadata().shape)), options);
  }

  /// The file of an object. Its root is the value; nothing of it is run. Errors: `not_found`,
  /// naming its key; those of `torch::open`.
  result<torch::file> object(const object_id& of) const {
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

  /// The file of the common state. Errors: `not_found`; `unsupported` when another backend than
  /// ("torch", 1) wrote it; those of `torch::open`.
  result<torch::file> common() const {
    if (backends_.common != "torch" || backends_.common_version != 1)
      return error{errc::unsupported, store_.describe(store_key::root()) +
                                          ": its common state is of backend (" + backends_.common +
                                          ", " + std::to_string(backends_.common_version) +
                                          "), not of (torch, 1)"};
    ZARRPOINT_TRY(key, store_key::parse(common_file));
    return torch::open(store_, key);
  }
  /// The common state, where it is all JSON. Errors: those of `common` and of `torch::to_node`.
  result<node> common_node() const {
    ZARRPOINT_TRY(file, common());
    return torch::to_node(file.root()).at(std::string(common_file));
  }

 private:
  directory(any_store store, backends wrote, context how)
      : store_(std::move(store)), backends_(std::move(wrote)), how_(std::move(how)) {}

  /// Whether a directory is there, if it has files or not.
  template <class = void>
  static result<bool> exists(const stored_place& place) {
    if (place.key.is_root() || !place.store.can_list()) return true;
    ZARRPOINT_TRY(beside, place.store.list(place.key.parent()));
    return std::any_of(beside.begin(), beside.end(), [&](const list_entry& entry) {
      return entry.is_prefix && entry.name == place.key.name();
    });
  }

  /// A file of a folder: it may say that the folder is a tensor, or be an object.
  result<void> note(const store_key& folder, const std::string& name, contents& out) const {
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

  /// The last extent of old names, which the names of the others of that key tell.
  static void complete_shapes(std::vector<object_id>& objects) {
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

  any_store store_;
  backends backends_;
  context how_;
};

}  // namespace zarrpoint::inline v0::megatron
