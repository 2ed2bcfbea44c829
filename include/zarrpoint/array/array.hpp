// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/background.hpp>  // IWYU pragma: export
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata.hpp>  // IWYU pragma: export

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

class array_layout;
class chunk_digests;
class element_source;
struct array_metadata;
template <class T>
class pending;
namespace detail {
struct array_state;
class stored_read;

/// Who handed out an array knows more of a read that failed than the array does.
class read_origin {
 public:
  read_origin() = default;
  read_origin(const read_origin&) = delete;
  read_origin& operator=(const read_origin&) = delete;
  virtual error explain(error failure) const = 0;

 protected:
  ~read_origin() = default;
};

/// A type that is neither a view nor what other overloads take there.
template <class T, class View, class Other>
concept own_type = !std::convertible_to<T, const View&> && !std::convertible_to<T&, const Other&>;

/// What is not taken for `Other`.
template <class T, class Other>
concept other_than = !std::convertible_to<T&, const Other&>;
}  // namespace detail

/// An array's elements where they lie in its store, without a copy.
struct mapped_view {
  host_view elements;
  mapping memory;  ///< keeps the elements alive
};

/// Elements of an array, one after another in row-major order, that lie so in an object of its
/// store, too.
struct raw_run {
  std::uint64_t first = 0;   ///< position of their bytes among all of the array's
  std::uint64_t bytes = 0;   ///< how many
  std::uint64_t offset = 0;  ///< where they begin in the object
  /// They lie in blocks of so many bytes, one after another, each with a checksum; behind the last
  /// element there may be padding.
  std::uint64_t block_bytes = 0;
  std::size_t blocks = 0;
  std::vector<std::optional<std::uint32_t>> crc32c{};  ///< one a block, or none to compare with

  /// Tells whether block `i`, whose checksum is `found`, is what it should be. Errors: `corrupt`.
  result<void> check(std::size_t i, std::uint32_t found) const;
};

/// A chunk or shard whose elements are runs of the array: for callers that move them another way
/// than through `read`.
struct raw_object {
  std::string key;  ///< relative to the array
  std::shared_ptr<const blob> object{};
  std::vector<raw_run> runs{};  ///< in the order of the array
};

/// One Zarr array, v2 or v3, in a store: boxes of elements go in and out. A cheap handle; the
/// `const` members may be called from any number of threads.
///
/// Writes to different objects (chunks, or shards where there are any) may run at the same time, in
/// any number of processes. A write of a part of an object reads, changes and replaces the whole of
/// it, so an object must have one writer at a time.
class array {
 public:
  /// The array at `key`: reads `zarr.json`, or `.zarray` and `.zattrs`. Errors: `not_found`,
  /// `corrupt`, `unsupported` (naming the codec, data type or extension), `resource_limit`, `io`.
  static result<array> open(any_store store, const store_key& key,
                            const context& how = zarrpoint::default_context());

  /// An array whose metadata are known already; reads nothing.
  static result<array> from_metadata(any_store store, store_key key, array_metadata metadata,
                                     const context& how = zarrpoint::default_context());

  /// Writes the metadata of a new array. Errors: `already_exists`, and those of `from_metadata`.
  static result<array> create(any_store store, store_key key, array_metadata metadata,
                              const context& how = zarrpoint::default_context());

  /// The array of the same metadata at another key of the same store; reads nothing, and shares all
  /// that was made of the metadata.
  array same_at(store_key key) const;

  /// The same array, whose reads compare what is stored with `digests` unless their options name
  /// others (see `read_options::expected`).
  array expecting(std::shared_ptr<const chunk_digests> digests) const;

  /// The same for what the digests are a part of, which explains why a read failed.
  array expecting(std::shared_ptr<const chunk_digests> digests,
                  const detail::read_origin& by) const;

  /// Those digests; null when there are none.
  const chunk_digests* expected() const noexcept { return expected_.get(); }

  const array_metadata& metadata() const noexcept;
  tensor_spec spec() const;
  const any_store& store() const noexcept;
  const store_key& key() const noexcept;
  /// The context that the array was opened with.
  const context& default_context() const noexcept;
  /// The chunk grid, shards and codecs, resolved.
  const array_layout& layout() const noexcept;

  /// Reads the elements of `part` to `into`, which has the array's dtype and the part's shape, and
  /// any strides. Whole inner chunks of uncompressed data are read straight to their destination,
  /// compressed ones decoded there. Errors: those of `selection::check`; `dtype_mismatch`,
  /// `shape_mismatch`; `corrupt`, `not_found`, `resource_limit`, `io`, naming the chunk and the
  /// inner chunk. After an error the contents of `into` are unspecified.
  result<void> read(const selection& part, const mutable_host_view& into,
                    const read_options& options = {}) const;

  /// Reads to a new tensor, whose memory counts against the budget `limits::memory`.
  result<tensor> read(const selection& part, const read_options& options = {}) const;

  /// Reads to a value of any type that `load_into` takes: one of the part's shape, or a flat one,
  /// such as a span, with as many elements. Elements on a device are there when it returns. Needs
  /// <zarrpoint/array.hpp> or the umbrella. Errors: as above, and those of the value's handler.
  template <class T>
    requires detail::own_type<T, mutable_host_view, read_options> result<void> read(
        const selection& part, T&& into, const read_options& options = {})
  const;

  /// Writes `from` to the elements of `part`. Chunks that `part` covers only in part are read and
  /// changed; in a shard, inner chunks that it does not touch are copied as they are stored. Chunks
  /// past the edge are stored at full size, padded with the fill value.
  result<void> write(const selection& part, const host_view& from,
                     const write_options& options = {}) const;

  /// The same with elements that the host cannot touch where they are: they come to it part by part
  /// while others are encoded and written. Errors: those of the source, too.
  result<void> write(const selection& part, element_source& from,
                     const write_options& options = {}) const;

  /// Writes the elements of a value of any type that `save` stores as a tensor. It has the part's
  /// shape, or is a flat one, such as a `std::vector`, with as many elements. Needs
  /// <zarrpoint/array.hpp> or the umbrella. Errors: as above, and those of the value's handler.
  template <class T>
    requires detail::own_type<T, host_view, element_source> result<void> write(
        const selection& part, const T& from, const write_options& options = {})
  const;

  /// `read` in the background, by the executor of the context that it reads with. The context is
  /// copied; whatever else `options` point to must stay until the result is there. The result waits
  /// for the work when it is destroyed. Errors: as `read`.
  pending<tensor> read_async(const selection& part, const read_options& options = {}) const;

  /// The same to a value of any type that `read` fills. An lvalue is borrowed and must stay, and be
  /// left alone, until the result is there. A view is copied, and what it views is borrowed. An
  /// rvalue is kept until the work is done.
  template <class T>
    requires detail::other_than<T, read_options> pending<void> read_async(
        const selection& part, T&& into, const read_options& options = {})
  const;

  /// `write` in the background, of a value of any type that `write` takes: borrowed, copied or kept
  /// as `read_async` says; numbers and text are copied, too. Errors: as `write`.
  template <class T>
    requires detail::other_than<T, element_source> pending<void> write_async(
        const selection& part, T&& from, const write_options& options = {})
  const;

  /// The same of elements that come part by part; the source is borrowed.
  pending<void> write_async(const selection& part, element_source& from,
                            const write_options& options = {}) const;

  /// The whole array as it lies in the store, or nothing where the layout does not allow it. It
  /// must be uncompressed, in this machine's byte order, in one object, row-major without a gap,
  /// and the store must be able to map. Given `read_options::expected` the bytes are verified, too,
  /// unless `read_options::checksums` is false.
  result<std::optional<mapped_view>> view(const read_options& options = {}) const;

  /// The chunk, or shard, at that place of the grid, where its elements lie raw and each inner
  /// chunk is one run of the array's elements. Nothing where the layout does not allow it, or some
  /// are not stored. Nothing is verified but the size of the object; the checksums are given where
  /// there are any and `read_options::checksums` is true. Errors: `corrupt`, `io`; `out_of_range`
  /// for a place that is not in the grid.
  result<std::optional<raw_object>> raw(const dims& object, const read_options& options = {}) const;

 private:
  friend class detail::stored_read;

  explicit array(std::shared_ptr<const detail::array_state> shared) : state_(std::move(shared)) {}

  read_options with_digests(read_options options) const noexcept;

  template <class T>
  result<T> explained(result<T> status) const {
    if (status || origin_ == nullptr) return status;
    return origin_->explain(std::move(status).failure());
  }

  std::shared_ptr<const detail::array_state> state_;
  std::shared_ptr<const chunk_digests> expected_;
  const detail::read_origin* origin_ = nullptr;  ///< null, or what `expected_` keeps alive
};

}}  // namespace zarrpoint::v0

// A Zarr array: the class, and what its members do.
