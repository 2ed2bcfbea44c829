// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whatever holds named arrays, seen in one way.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "element_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace zp = zarrpoint;

/// A large value that may be absent and that copies share: most arrays of a model are alike.
template <class T>
class shared_optional {
 public:
  shared_optional() = default;
  shared_optional(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  explicit operator bool() const noexcept { return value_ != nullptr; }
  const T& operator*() const noexcept { return *value_; }
  const T* operator->() const noexcept { return value_.get(); }
  void reset() noexcept { value_.reset(); }

 private:
  std::shared_ptr<const T> value_;
};

/// One array, as far as its metadata are understood.
struct entry {
  std::string name;
  std::optional<zp::error> fault{};  ///< why its elements cannot be read
  std::string type;                  ///< the stored name of its dtype, known or not
  shared_optional<zp::tensor_spec> spec{};
  shared_optional<zp::dims> told_shape{};   ///< where there is no spec: what its document says
  shared_optional<zp::dims> chunk_shape{};  ///< the unit of reading, where there is a spec
  shared_optional<zp::dims> shard_shape{};
  std::vector<zp::codec_spec> codecs{};  ///< of a chunk
  zp::json fill_value{};
  zp::json attributes{};
  std::string typestr{};                ///< of the handler that saved it
  int zarr_format = 0;                  ///< 0 when it is not a Zarr array
  std::optional<vector_items> items{};  ///< of an array of vectors

  element_type elements() const { return {spec->type, items}; }
  /// Of all elements, `most_bytes` for as many and more.
  std::uint64_t bytes() const { return spec ? byte_count(*spec).value_or(PTRDIFF_MAX) : 0; }
  std::uint64_t element_total() const {
    const auto count = spec ? element_count(spec->shape) : zp::result<zp::index_t>(0);
    return count ? static_cast<std::uint64_t>(*count) : most_bytes;
  }
  static constexpr std::uint64_t most_bytes = PTRDIFF_MAX;
  /// Of two numbers of bytes.
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
    return std::min(a + b, most_bytes);  // neither is more, so that the sum fits
  }
};

/// One object below an array.
struct stored_key {
  std::string key;  ///< relative to the array
  std::uint64_t size = 0;

  friend bool operator==(const stored_key&, const stored_key&) = default;
};

/// A group below the root.
struct group_entry {
  std::string name;
  zp::json attributes{};  ///< an object with members; null for none
};

/// How bad a finding is.
enum class severity : std::uint8_t {
  fault,       ///< wrong
  unverified,  ///< not looked at: not understood, not to be read, or too large for --memory
  note,        ///< worth a word, and not wrong
};

/// What an error says of what was to be verified.
constexpr severity severity_of(zp::errc code) noexcept {
  const bool unknown =
      code == zp::errc::unsupported || code == zp::errc::resource_limit || code == zp::errc::io;
  return unknown ? severity::unverified : severity::fault;
}

/// One thing that `verify` found.
struct finding {
  std::string file;
  std::string node;
  std::string key;    ///< relative to the array; empty when it is not a chunk
  std::string chunk;  ///< the inner chunk of a shard; empty when it is none
  std::string message;
  severity kind = severity::fault;
};

/// Receives what is found, and what was read meanwhile.
class verification {
 public:
  verification() = default;
  verification(const verification&) = delete;
  verification& operator=(const verification&) = delete;
  virtual void add(finding what) = 0;
  virtual void read(std::string_view node, std::uint64_t elements, std::uint64_t bytes) = 0;
  /// Elements of chunks that are not stored, and so are the fill value.
  virtual void absent(std::uint64_t elements) = 0;
  virtual bool stopped() const = 0;

 protected:
  ~verification() = default;
};

/// How large the blocks may be in which an array is read: what is aimed at, and what one may take
/// so that no chunk is decoded twice.
struct block_size {
  std::uint64_t wanted = std::uint64_t{32} << 20;
  std::uint64_t most = std::uint64_t{512} << 20;

  /// For a budget of that many bytes.
  static block_size within(std::uint64_t memory) {
    const block_size usual;
    return {std::min(usual.wanted, memory / 8), std::min(usual.most, memory / 4)};
  }
};

/// The chunks of an array that are stored, and an element of one that is not: it is the fill value,
/// as all of those are.
struct stored_parts {
  std::vector<zp::box> boxes;
  zp::dims absent;
};

/// An open file or hierarchy. Reading is possible from several threads.
class source {
 public:
  source() = default;
  source(const source&) = delete;
  source& operator=(const source&) = delete;
  virtual ~source() = default;

  const std::string& format() const { return format_; }
  const std::vector<entry>& entries() const { return entries_; }
  /// Sorted by name; none where the format has no groups.
  const std::vector<group_entry>& groups() const { return groups_; }
  /// What is said of the whole: attributes of the root, `__metadata__`.
  const zp::json& attributes() const { return attributes_; }
  /// Identifies the commit of a checkpoint of ours.
  const std::string& id() const { return id_; }
  /// What is doubtful about it, and keeps no value from being read.
  const std::vector<std::string>& warnings() const { return warnings_; }
  const block_size& blocks() const { return blocks_; }
  /// Errors: `cancelled`, when the work is to end.
  zp::result<void> check_stop() const {
    if (!stop_.stop_requested()) return {};
    return zp::error{zp::errc::cancelled, "stopped"};
  }
  /// Takes over how it is to be read.
  void set_context(const zp::context& how) {
    blocks_ = block_size::within(how.limit.memory);
    stop_ = how.stop;
  }

  /// The elements of a part, of the stored dtype; `into` is dense.
  virtual zp::result<void> read(std::size_t index, const zp::selection& part,
                                const zp::mutable_host_view& into) const = 0;
  /// All elements where they lie, verified as `read` does; nothing where that cannot be.
  virtual zp::result<std::optional<zp::host_view>> lend(std::size_t index) const = 0;
  /// What is stored of it; nothing where that is all, or not known.
  virtual zp::result<std::optional<stored_parts>> parts(std::size_t) const {
    return std::optional<stored_parts>();
  }
  /// Bytes of its objects in the store.
  virtual zp::result<std::uint64_t> stored_bytes(std::size_t index) const = 0;
  virtual void verify(verification& to) const = 0;
  /// Whether a byte of its elements that changed would be noticed: by the commit of ours, by a
  /// codec or by the file that holds it.
  virtual bool has_checksums(std::size_t index) const = 0;

  /// How it is read.
  virtual zp::context how() const { return zp::default_context(); }
  /// The metadata of an array that is one of Zarr, as a file and not as a view of another format.
  virtual const zp::array_metadata* stored_as(std::size_t) const { return nullptr; }
  /// Whether chunks that would hold its elements are not stored; nothing where each shard would
  /// have to be opened to tell.
  virtual std::optional<bool> lacks_chunks(std::size_t) const { return false; }

  /// How an array is stored, but for its attributes; null where that is not known. Where two are
  /// stored in the same way, equal objects mean equal elements, read or not.
  virtual zp::json stored_form(std::size_t) const { return {}; }
  /// Its objects, sorted by key.
  virtual zp::result<std::vector<stored_key>> stored_objects(std::size_t) const {
    return std::vector<stored_key>();
  }
  /// One of them. A null pointer for no such key.
  virtual zp::result<std::unique_ptr<zp::blob>> open_stored(std::size_t, const std::string&) const {
    return std::unique_ptr<zp::blob>();
  }

 protected:
  std::string format_;
  std::vector<entry> entries_;
  std::vector<group_entry> groups_;
  std::vector<std::string> warnings_;
  zp::json attributes_;
  std::string id_;

 private:
  block_size blocks_;
  zp::stop_token stop_;
};

using source_pointer = std::unique_ptr<source>;

/// Opens a checkpoint of ours, a Zarr hierarchy or array, or what a format of the context's table
/// of stores reads, within the memory of the context. Errors: `unsupported` names other formats
/// that are recognised.
zp::result<source_pointer> open_source(const std::string& path, const zp::context& how);

/// The same, with no word of what else the path may be. `path` may be a URL.
zp::result<source_pointer> open_zarr(const std::string& path, const zp::context& how);

/// What the file calls it, where it is shown by another name.
std::string_view name_in_file(const entry& of);

/// Whether `name` is `json`, or lies beneath it; every name does beneath the empty one.
bool is_within(std::string_view name, std::string_view node);

/// The arrays that `json` names: itself, or those beneath it; all for the empty name. Errors:
/// `not_found` listing some names.
zp::result<std::vector<std::size_t>> find_entries(const source& from, std::string_view node);

/// The one array that `json` names; with an empty name the only one there is. Errors: `not_found`,
/// `invalid_argument`, and the array's own fault.
zp::result<std::size_t> find_array(const source& from, std::string_view node);

}  // namespace cli
