// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small hierarchies of both formats.

#include <zarrpoint/array/group.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint_test {

/// A store that can be written and listed, and no more.
struct plain_store {
  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key& key) const {
    return of.open(key);
  }
  std::string describe(const zp::store_key& key) const { return of.describe(key); }
  zp::result<std::unique_ptr<zp::blob_writer>> create(const zp::store_key& key) const {
    return of.create(key);
  }
  zp::result<void> put(const zp::store_key& key, zp::bytes_view bytes) const {
    return of.put(key, bytes);
  }
  zp::result<bool> erase(const zp::store_key& key) const { return of.erase(key); }
  zp::result<std::vector<zp::list_entry>> list(const zp::store_key& prefix) const {
    return of.list(prefix);
  }

  zp::memory_store of{};
};

/// int32 of shape 4, 6 in chunks of 2, 3.
inline zp::array_metadata small_array(int zarr_format) {
  zp::array_metadata out = raw_metadata(zp::dtype_kind::int32, {4, 6}, {2, 3});
  out.zarr_format = zarr_format;
  if (zarr_format == 2) out.keys = {zp::chunk_key_encoding::style::v2, '.'};
  return out;
}

/// 0, 1, 2 ... to all elements.
inline void fill_array(const zp::array& to) {
  std::vector<std::int32_t> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  to.write(zp::box::whole(to.spec().shape),
           zp::dense_view(reinterpret_cast<const std::byte*>(values.data()), to.spec()))
      .value();
}
inline bool holds_sequence(const zp::array& from) {
  const zp::tensor read = from.read(zp::box::whole(from.spec().shape)).value();
  for (std::size_t i = 0; i < 24; ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, read.view().data + 4 * i, 4);
    if (value != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

/// A root with attributes, and beneath it `a` (an array), `g` and `g/h` (groups), `g/h/b` (an
/// array).
inline zp::group small_hierarchy(const zp::any_store& store, int zarr_format) {
  const auto root = zp::group::create(store, zp::store_key::root(),
                                      {zarr_format, zp::json::object{{"title", "small"}}})
                        .value();
  fill_array(root.create_array("a", small_array(zarr_format)).value());
  fill_array(root.create_array("g/h/b", small_array(zarr_format)).value());
  return root;
}

inline std::vector<std::string> paths_of(const std::vector<zp::stored_node>& nodes) {
  std::vector<std::string> out;
  for (const zp::stored_node& one : nodes) out.push_back(one.path);
  return out;
}

inline void put_text(const zp::any_store& store, std::string_view key, std::string_view text) {
  store.put(key_of(key), zp::as_bytes(text)).value();
}

}  // namespace zarrpoint_test
