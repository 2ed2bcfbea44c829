// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// Which object of a grid of objects that share one key: all in one grid have the same shape.
struct object_id {
  std::string key{};
  dims global_shape{};   ///< how many objects there are along each axis; rank 0: one
  dims global_offset{};  ///< which of them this is

  /// Errors: `invalid_argument` without a key and on ranks that differ, `out_of_range` where the
  /// offset leaves the grid, and on a grid too large.
  result<void> check() const;

  friend bool operator==(const object_id&, const object_id&) = default;
};

/// `"k/shard_0.3_1.8"`: the key, the offset and the shape. `parse_unique_key` is the way back.
std::string unique_key(const object_id& id);

namespace detail {

error bad_object(const object_id& id, const std::string& what);

}  // namespace detail

/// What `unique_key` was made of. The key may hold anything, '/' and '_' too: only the last '/' and
/// what follows it count. Errors: `corrupt` for a text that no object has, `out_of_range` for an
/// offset that leaves its shape.
result<object_id> parse_unique_key(std::string_view text);

/// All the objects of a checkpoint by their unique keys. Old writers lost the last extent of every
/// shape: `"k/shard_0.3_1"`. It is taken to be one more than the largest last offset under that
/// key. Errors: those of `parse_unique_key`.
result<std::vector<object_id>> parse_unique_keys(std::span<const std::string> texts);

/// Where an object stands, and which copy of it this is.
struct object_place {
  dims global_shape{};
  dims global_offset{};
  replica_id replica{};
};

/// A value that is not a tensor and that each process has its own of: bytes, stored whole. It is
/// never resharded: it is loaded where it was saved, into a grid of the same shape. A handle:
/// copies share the bytes, which never change.
class sharded_object {
 public:
  /// From any leaf that is saved as bytes: `json_text`, `byte_string`, a type with a blob handler.
  /// Errors: those of `object_id::check`, and the handler's.
  template <class T>
  static result<sharded_object> make(std::string key, const T& value,
                                     const object_place& where = {}) {
    static_assert(detail::blob_leaf<T>,
                  "zarrpoint: a sharded_object is made from what a handler turns into bytes; a "
                  "tensor is sharded<T>");
    ZARRPOINT_TRY(bytes, result<std::vector<std::byte>>(handler_of<T>::to_bytes(value)));
    return from_bytes(std::move(key), std::move(bytes), where);
  }
  /// From bytes as they are. Errors: those of `object_id::check`.
  static result<sharded_object> from_bytes(std::string key, std::vector<std::byte> bytes,
                                           const object_place& where = {});
  /// Without a value: what to load. Errors: those of `object_id::check`.
  static result<sharded_object> request(std::string key, const object_place& where = {});
  static result<sharded_object> request(object_id id, replica_id replica = {});

  const std::string& key() const noexcept { return id_.key; }
  const dims& global_shape() const noexcept { return id_.global_shape; }
  const dims& global_offset() const noexcept { return id_.global_offset; }
  const object_id& id() const noexcept { return id_; }
  const replica_id& replica() const noexcept { return replica_; }
  std::string unique_key() const { return v0::unique_key(id_); }

  bool has_data() const noexcept { return bytes_ != nullptr; }
  /// Empty where there is no value.
  bytes_view bytes() const noexcept { return has_data() ? bytes_view(*bytes_) : bytes_view(); }

  /// The value as a `T`. Errors: `invalid_argument` where there is none, the handler's.
  template <class T>
  result<T> get() const {
    static_assert(detail::blob_leaf<T>,
                  "zarrpoint: a sharded_object holds what a handler makes of bytes");
    if (!has_data()) return detail::bad_object(id_, "it has no value");
    return handler_of<T>::from_bytes(bytes()).at("object \"" + key() + "\"");
  }

  sharded_object without_data() const { return sharded_object(id_, replica_); }
  sharded_object with_bytes(std::vector<std::byte> bytes) const;
  /// The same value under another key. What must hold of it is for `validate` to say.
  sharded_object with_key(std::string key) const;
  sharded_object with_replica(replica_id replica) const;

  /// Errors: those of `object_id::check`.
  result<void> validate() const { return id_.check(); }

  /// Whether what is stored under the key has the grid that this object asks for. Errors:
  /// `shape_mismatch`: objects are not resharded.
  result<void> check_same_grid(const dims& stored) const;

  /// Of the same place, replica and bytes.
  friend bool operator==(const sharded_object& a, const sharded_object& b) {
    return a.id_ == b.id_ && a.replica_ == b.replica_ && a.has_data() == b.has_data() &&
           std::ranges::equal(a.bytes(), b.bytes());
  }

 private:
  sharded_object(object_id id, replica_id replica)
      : id_(std::move(id)), replica_(std::move(replica)) {}

  object_id id_;
  replica_id replica_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

}}  // namespace zarrpoint::v0
