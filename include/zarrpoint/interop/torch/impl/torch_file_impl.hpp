// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
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
  ZARRPOINT_TRY(out, describe_tensor(value).at(storages_->describe({})));
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

namespace detail {

/// The members of an archive, in one of its folders.
class archive_storages final : public storage_files {
 public:
  archive_storages(zip_store archive, store_key folder)
      : archive_(std::move(archive)), folder_(std::move(folder)) {}

  result<std::unique_ptr<blob>> open(const std::string& name) const override {
    auto key = folder_.child(name);
    if (!key) return error{errc::corrupt, "storage: " + key.failure().message};
    return archive_.open(*key);
  }
  std::string describe(const std::string& name) const override {
    if (name.empty()) return archive_.describe(store_key::root());
    const auto key = folder_.child(name);
    return archive_.describe(key ? *key : folder_);
  }

 private:
  zip_store archive_;
  store_key folder_;
};

}  // namespace detail

ZARRPOINT_INLINE file::file(std::shared_ptr<const detail::storage_files> storages, content read)
    : storages_(std::move(storages)), root_(std::move(read.root)), order_(read.order) {}

ZARRPOINT_INLINE result<file> file::open(std::unique_ptr<blob> from, const pickle_limits& limits) {
  const std::string name = from->name();
  std::byte first[4]{};
  if (from->size() >= sizeof first) ZARRPOINT_CHECK(from->read(0, first));
  if (as_text(first) == "PK\x03\x04") {
    ZARRPOINT_TRY(archive, zip_store::open(std::move(from)));
    return open_archive(archive, limits).at("open " + name);
  }
  return open_legacy(std::move(from), limits).at("open " + name);
}

ZARRPOINT_INLINE result<file> file::open_archive(const zip_store& archive,
                                                 const pickle_limits& limits) {
  ZARRPOINT_TRY(found, find_prefix(archive));
  if (!found)
    return error{errc::corrupt, "it has no data.pkl, so it was not written by torch.save"};
  const store_key prefix = *std::move(found);
  ZARRPOINT_TRY(order, read_record(archive, prefix, {"byteorder", 16}));
  endian written = endian::little;
  if (order && as_text(*order) != "little") {
    if (as_text(*order) != "big")
      return error{errc::corrupt, "its byte order is neither little nor big"};
    written = endian::big;
  }
  const auto part = [&](const char* pickled, const char* folder) -> result<std::optional<file>> {
    ZARRPOINT_TRY(pickle, read_record(archive, prefix, {pickled, limits.max_bytes}));
    if (!pickle) return std::optional<file>();
    ZARRPOINT_TRY(root, read_pickle(*pickle, limits));
    ZARRPOINT_TRY(key, prefix.child(folder));
    return std::optional(
        file(v0::detail::make_counted<const detail::archive_storages>(archive, std::move(key)),
             {std::move(root), written}));
  };
  ZARRPOINT_TRY(out, part("data.pkl", "data"));
  if (!out) return error{errc::corrupt, "it has no data.pkl"};
  ZARRPOINT_TRY(constants, part("constants.pkl", "constants"));
  if (constants) out->constants_ = v0::detail::make_counted<const file>(*std::move(constants));
  return *std::move(out);
}

ZARRPOINT_INLINE result<file> file::open_legacy(std::unique_ptr<blob> from,
                                                const pickle_limits& limits) {
  ZARRPOINT_TRY(found, detail::read_legacy(std::move(from), limits));
  return file(std::move(found.storages), {std::move(found.root), endian::little});
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

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::storage(const std::string& name) const {
  ZARRPOINT_TRY(out, storages_->open(name));
  if (out == nullptr)
    return error{errc::corrupt, storages_->describe(name) + ": there is no such storage"};
  return std::move(out);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::open_storage(const tensor_info& of) const {
  ZARRPOINT_TRY(out, storage(of.storage));
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
  ZARRPOINT_CHECK(check_order(of).at(storages_->describe({})));
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
