// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/format.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace numpy {

/// How an npy or npz file is opened.
struct store_options {
  /// Opens the members that `numpy.savez_compressed` deflated: `zip_inflate` of
  /// <zarrpoint/zip_inflate.hpp>. Without it they are listed and not read.
  zip_decoder_factory inflate = nullptr;
  /// How many arrays of one npy file there may be.
  std::size_t max_arrays = std::size_t{1} << 20;
};

/// A file of numpy, as a store to read and list in which it is a Zarr hierarchy. Each array is of
/// one chunk, which is viewed in the file where the store can map. Of an npz file the arrays have
/// the names of its members without `.npy`. Of an npy file the one array is at `value`, and those
/// that `numpy.save` wrote one after another are `0`, `1` and so on.
///
/// Strings `U` are of the data type `fixed_length_utf32`, as zarr-python has them. A member that
/// has no elements for this library (objects, structures, another method of compression) is listed
/// and not read. Members are checked against their checksums.
class array_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The file at `at`, by how it begins. Errors: `not_found`; `corrupt`; `unsupported` for an npy
  /// file whose elements are not known, and for a zip file without one.
  static result<array_store> open(any_store base, store_key at, const store_options& how = {});
  static result<array_store> open(std::unique_ptr<blob> file, const store_options& how = {});

 private:
  using virtual_store::virtual_store;
};

/// npy and npz as a format of `formats<...>`: what begins as npy does, and a zip file whose name
/// ends in `.npz`. `inflating_format<zip_inflate>` reads members that are deflated, too, and links
/// zlib.
template <zip_decoder_factory Inflate>
struct inflating_format {
  static constexpr std::string_view name = "numpy";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);
};
/// The same, for archives whose members are stored as they are.
using format = inflating_format<nullptr>;

namespace detail {

result<claim> sniff(const place_look& at);
result<stored_place> open(const place_look& at, const place_use& use, zip_decoder_factory inflate);

}  // namespace detail

template <zip_decoder_factory Inflate>
result<claim> inflating_format<Inflate>::sniff(const place_look& at) {
  return detail::sniff(at);
}

template <zip_decoder_factory Inflate>
result<stored_place> inflating_format<Inflate>::open(const place_look& at, const place_use& use) {
  return detail::open(at, use, Inflate);
}

}}}  // namespace zarrpoint::v0::numpy
