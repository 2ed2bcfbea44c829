// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/safetensors/safetensors_header.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace safetensors {

static_assert(native_endian == endian::little,
              "safetensors files are little-endian, and so mapped");

namespace detail {

/// Scratch for a tensor whose elements do not lie in the order of the file.
inline constexpr std::size_t block_bytes = std::size_t{4} << 20;

/// Calls `f(part, offset)` for parts of `view`, of at most `block_bytes` bytes each, in the order
/// of the file. `offset` is that of the part's first byte from the first of the tensor.
template <class View, class F>
result<void> for_each_block(const View& view, std::uint64_t offset, const F& f) {
  const std::uint64_t bytes = byte_count(view.spec()).value_or(0);
  if (bytes == 0) return {};
  if (bytes <= block_bytes) return f(view, offset);
  // More than one block, so there is an axis to split.
  const std::uint64_t row_bytes = bytes / static_cast<std::uint64_t>(view.shape[0]);
  const index_t rows = std::max<index_t>(static_cast<index_t>(block_bytes / row_bytes), 1);
  for (index_t first = 0; first < view.shape[0]; first += rows) {
    View part = view;
    part.data += first * view.strides[0];
    if (rows == 1) {
      part.shape = dims(std::span(view.shape.begin() + 1, view.shape.end()));
      part.strides = dims(std::span(view.strides.begin() + 1, view.strides.end()));
    } else {
      part.shape[0] = std::min(rows, view.shape[0] - first);
    }
    ZARRPOINT_CHECK(
        for_each_block(part, offset + static_cast<std::uint64_t>(first) * row_bytes, f));
  }
  return {};
}

/// The member of `__metadata__` by which torch.distributed.checkpoint tells that a file has parts
/// of tensors, and where each begins.
inline constexpr std::string_view sharding_member = "DCP_SHARDING_INFO";

/// The header of a file, and where the data begin.
struct read_file_header {
  header checked;
  std::uint64_t data_offset = 0;
};
/// Errors: those of `parse_header`; `resource_limit` for a header of more than `most` bytes.
result<read_file_header> read_header(const blob& source, std::uint64_t most = UINT64_MAX);

/// A path as the directory's store and a key in it.
struct place {
  any_store store;
  store_key key;
};
result<place> locate(std::string_view path, const file_store_options& how);

}  // namespace detail

/// An open safetensors file. Tensors are mapped where the store can, else read on demand. It may be
/// used from several threads at once.
class file {
 public:
  /// The tensors, in the order of their data; also those whose dtype is none of ours.
  std::span<const tensor_info> tensors() const noexcept { return header_.tensors; }
  /// Their names, in the order of their data.
  std::vector<std::string> names() const;
  /// What the file says under `__metadata__`.
  const metadata_map& metadata() const noexcept { return header_.metadata; }

  /// Where in the file the data begin, from which `tensor_info::offset` counts.
  std::uint64_t data_offset() const noexcept { return data_offset_; }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Errors: `not_found`; `unsupported` where the dtype is none of ours, as of `view` and `read`.
  result<tensor_spec> spec(std::string_view name) const;

  /// The tensor where it lies, without a copy; for as long as a copy of this file lives. Errors:
  /// `not_found`; `unsupported` when the store cannot map, or when the file does not align the
  /// elements or packs them (`read` copies them).
  result<host_view> view(std::string_view name) const;

  /// Copies the tensor into memory of its dtype and shape; with the file's own reads, so that a
  /// file that another process truncates is an error. Errors: `not_found`, `dtype_mismatch`,
  /// `shape_mismatch`, `io`.
  result<void> read(std::string_view name, const mutable_host_view& into) const;

 private:
  friend result<file> open(const any_store& store, const store_key& key);
  file(std::shared_ptr<const blob> source, header checked, std::uint64_t data_offset);

  const tensor_info* find(std::string_view name) const;
  /// Errors: `not_found`; `unsupported` for a dtype that is none of ours.
  result<const tensor_info*> get(std::string_view name) const;
  std::string context(std::string_view name) const {
    return source_->name() + ": " + detail::tensor_context(name);
  }

  result<host_view> view_of(const tensor_info& tensor) const;

  result<void> read_into(const tensor_info& tensor, const mutable_host_view& into) const;

  std::shared_ptr<const blob> source_;
  header header_;
  std::uint64_t data_offset_;
  std::vector<std::size_t> by_name_;
  mapping mapping_;
};

/// Opens the safetensors file at `key`: reads and checks its header, and nothing else. Errors:
/// `not_found`, `io`, and those of `parse_header`.
result<file> open(const any_store& store, const store_key& key);

/// Opens the safetensors file at `path`, through symbolic links where there are any.
result<file> open(std::string_view path);

/// A tensor to save, under its name.
struct named_view {
  std::string name;
  host_view view;
};

/// Writes a safetensors file at `key`, replacing what is there in one step. Tensors are ordered by
/// the size of their elements, largest first, so that each is aligned, and otherwise kept in order.
/// Errors: those of `dump_header` and of the store.
result<void> save(const any_store& store, const store_key& key, std::span<const named_view> tensors,
                  const metadata_map& metadata = {});

/// Writes a safetensors file at `path`, whose directory must exist, replacing what is there in one
/// step once the new one is on the disk.
result<void> save(std::string_view path, std::span<const named_view> tensors,
                  const metadata_map& metadata = {});

}}}  // namespace zarrpoint::v0::safetensors
