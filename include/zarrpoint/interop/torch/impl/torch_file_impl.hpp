// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

ZARRPOINT_INLINE result<tensor_info> file::tensor(const pickle_value& value) const {
  ZARRPOINT_TRY(out, describe_tensor(value).at(archive_.describe(store_key::root())));
  ZARRPOINT_CHECK(open_storage(out));
  return std::move(out);
}

ZARRPOINT_INLINE result<tensor_in_file> file::view(const tensor_info& of) const {
  ZARRPOINT_TRY(storage, open_storage(of));
  if (of.signs.any())
    return error{errc::unsupported,
                 storage->name() + ": its elements are conjugates or negatives of those stored"};
  ZARRPOINT_TRY(mapped, storage->map());
  ZARRPOINT_TRY(elements, elements_of(mapped.bytes(), of).at(storage->name()));
  if (reinterpret_cast<std::uintptr_t>(elements.data) % of.spec.type.scalar_size() != 0)
    return error{errc::unsupported, storage->name() + ": its elements are not aligned"};
  return tensor_in_file{elements, mapped};
}

ZARRPOINT_INLINE result<void> file::read(const tensor_info& of,
                                         const mutable_host_view& into) const {
  if (into.type != of.spec.type)
    return error{errc::dtype_mismatch, "the stored tensor has type " +
                                           std::string(to_string(of.spec.type)) + ", the memory " +
                                           std::string(to_string(into.type))};
  if (into.shape != of.spec.shape)
    return error{errc::shape_mismatch, "the stored tensor has shape " + to_string(of.spec.shape) +
                                           ", the memory " + to_string(into.shape)};
  ZARRPOINT_TRY(storage, open_storage(of));
  // The whole of it, which its checksum covers.
  ZARRPOINT_TRY(scratch, buffer::allocate(static_cast<std::size_t>(of.storage_bytes)));
  ZARRPOINT_CHECK(storage->read(0, scratch.bytes()));
  ZARRPOINT_TRY(elements, elements_of(std::as_const(scratch).bytes(), of).at(storage->name()));
  for (const index_t extent : into.shape)
    if (extent == 0) return {};
  copy_elements(into, elements);
  apply_signs(of.signs, into);
  return {};
}

ZARRPOINT_INLINE file::file(zip_store archive, store_key prefix, content read)
    : archive_(std::move(archive)),
      prefix_(std::move(prefix)),
      root_(std::move(read.root)),
      order_(read.order) {}

ZARRPOINT_INLINE result<file> file::open(std::unique_ptr<blob> from, const pickle_limits& limits) {
  const std::string name = from->name();
  ZARRPOINT_CHECK(check_kind(*from).at("open " + name));
  ZARRPOINT_TRY(archive, zip_store::open(std::move(from)));
  ZARRPOINT_TRY(found, find_prefix(archive).at("open " + name));
  if (!found)
    return error{errc::corrupt,
                 "open " + name + ": it has no data.pkl, so it was not written by torch.save"};
  store_key prefix = *std::move(found);
  ZARRPOINT_TRY(pickle, read_record(archive, prefix, {"data.pkl", limits.max_bytes}));
  if (!pickle) return error{errc::corrupt, "open " + name + ": it has no data.pkl"};
  ZARRPOINT_TRY(root, read_pickle(*pickle, limits).at("open " + name));
  ZARRPOINT_TRY(order, read_record(archive, prefix, {"byteorder", 16}));
  endian written = endian::little;
  if (order && as_text(*order) != "little") {
    if (as_text(*order) != "big")
      return error{errc::corrupt, "open " + name + ": its byte order is neither little nor big"};
    written = endian::big;
  }
  return file(std::move(archive), std::move(prefix), {std::move(root), written});
}

ZARRPOINT_INLINE result<void> file::check_kind(const blob& from) {
  std::byte first[4]{};
  if (from.size() >= sizeof first) ZARRPOINT_CHECK(from.read(0, first));
  if (as_text(first) == "PK\x03\x04") return {};
  if (first[0] == std::byte{0x80} && first[2] == std::byte{0x8a})
    return error{errc::unsupported,
                 "it is of torch.save's legacy format; save it again with PyTorch 1.6 or later"};
  return error{errc::corrupt, "it is not a file of torch.save"};
}

ZARRPOINT_INLINE result<std::optional<store_key>> file::find_prefix(const zip_store& archive) {
  ZARRPOINT_TRY(entries, archive.list(store_key::root()));
  for (const list_entry& entry : entries) {
    if (!entry.is_prefix) continue;
    ZARRPOINT_TRY(prefix, store_key::parse(entry.name));
    ZARRPOINT_TRY(key, prefix.child("data.pkl"));
    ZARRPOINT_TRY(there, archive.open(key));
    if (there != nullptr) return std::optional(std::move(prefix));
  }
  return std::optional<store_key>();
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::byte>>> file::read_record(
    const zip_store& archive, const store_key& prefix, const record& which) {
  ZARRPOINT_TRY(key, prefix.child(which.name));
  return get(archive, key, which.max_bytes);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::open_storage(const tensor_info& of) const {
  auto key = prefix_.child("data/" + of.storage);
  if (!key) return error{errc::corrupt, "storage: " + key.failure().message};
  ZARRPOINT_TRY(out, archive_.open(*key));
  if (out == nullptr)
    return error{errc::corrupt, archive_.describe(*key) + ": there is no such storage"};
  if (out->size() != of.storage_bytes)
    return error{errc::corrupt, out->name() + ": it has " + std::to_string(out->size()) +
                                    " bytes, its tensor says " + std::to_string(of.storage_bytes)};
  return std::move(out);
}

ZARRPOINT_INLINE result<void> file::check_order(const tensor_info& of) const {
  if (order_ == native_endian || of.spec.type.scalar_size() == 1) return {};
  return error{errc::unsupported, "its elements are of another byte order"};
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::storage(const tensor_info& of) const {
  ZARRPOINT_CHECK(check_order(of).at(archive_.describe(store_key::root())));
  return open_storage(of);
}

ZARRPOINT_INLINE result<host_view> file::elements_of(bytes_view storage,
                                                     const tensor_info& of) const {
  if (of.end > storage.size() || of.offset > of.end)
    return error{errc::corrupt, "the tensor lies outside its storage"};
  ZARRPOINT_CHECK(check_order(of));
  if (of.spec.type == dtype(dtype_kind::bool_)) {
    for (const std::byte each : storage.subspan(static_cast<std::size_t>(of.offset),
                                                static_cast<std::size_t>(of.end - of.offset)))
      if (each > std::byte{1}) return error{errc::corrupt, "a bool is neither 0 nor 1"};
  }
  host_view out = dense_view(storage.data() + of.offset, of.spec);
  out.strides = of.strides;
  return out;
}

ZARRPOINT_INLINE result<file> open(std::unique_ptr<blob> from, const pickle_limits& limits) {
  return file::open(std::move(from), limits);
}

ZARRPOINT_INLINE result<file> open(const any_store& store, const store_key& key,
                                   const pickle_limits& limits) {
  ZARRPOINT_TRY(from, store.open(key));
  if (from == nullptr)
    return error{errc::not_found, "open " + store.describe(key) + ": no such file"};
  return file::open(std::move(from), limits);
}

}}}  // namespace zarrpoint::v0::torch
