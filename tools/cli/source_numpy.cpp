// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// npy files, and the zip archives of them that numpy.savez makes.

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/interop/numpy/npy_header.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip_inflate.hpp>

#include "files.hpp"
#include "raw_elements.hpp"
#include "row_blocks.hpp"
#include "source.hpp"
#include "text.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace cli {

namespace {

/// The elements behind a header; `file` begins with it. Errors: `corrupt` when they do not fill it.
zp::result<raw_elements> elements_of(const zp::numpy::npy_header& header, zp::bytes_view file) {
  ZARRPOINT_TRY(bytes, header.data_bytes());
  const std::uint64_t there =
      file.size() - std::min<std::uint64_t>(header.data_offset, file.size());
  if (there != bytes)
    return zp::error{zp::errc::corrupt, "npy: " + std::to_string(there) +
                                            " bytes of elements where " + to_string(header.spec) +
                                            " takes " + std::to_string(bytes)};
  raw_elements out;
  out.data = file.subspan(static_cast<std::size_t>(header.data_offset));
  out.spec = header.spec;
  out.swapped = header.order != zp::native_endian;
  out.text_length = header.text_length;
  out.strides = zp::row_major_strides(header.spec.shape, header.element_bytes());
  if (header.fortran_order) {
    std::uint64_t stride = header.element_bytes();
    for (std::size_t i = 0; i < out.strides.rank(); ++i) {
      out.strides[i] = static_cast<zp::index_t>(stride);
      stride *= static_cast<std::uint64_t>(std::max<zp::index_t>(header.spec.shape[i], 1));
    }
  }
  return out;
}

entry entry_of(std::string name, const zp::numpy::npy_header& header) {
  entry out;
  out.name = std::move(name);
  out.spec = header.spec;
  out.type = to_string(header.spec.type);
  out.chunk_shape = header.spec.shape;
  return out;
}

/// One array, or those that `numpy.save` wrote one after another, which are called 0, 1 and so on.
class npy_source final : public source {
 public:
  npy_source(std::string path, zp::mapping file) : path_(std::move(path)), file_(std::move(file)) {
    format_ = "npy";
  }

  zp::result<void> open(const zp::context& how) {
    const std::size_t most = how.limit.memory / (4 * (sizeof(entry) + sizeof(raw_elements)));
    for (zp::bytes_view rest = file_.bytes(); !rest.empty() || arrays_.empty();) {
      if (arrays_.size() == most)
        return zp::error{zp::errc::resource_limit, "more arrays one after another than --memory"};
      const auto added = add(rest);
      if (!added && arrays_.empty()) return added;
      ZARRPOINT_CHECK(zp::result<void>(added).at("array " + std::to_string(arrays_.size())));
    }
    if (arrays_.size() == 1) entries_[0].name.clear();
    return {};
  }

  zp::result<void> read(std::size_t index, const zp::selection& part,
                        const zp::mutable_host_view& into) const override {
    return arrays_[index].read(part, into).at(path_);
  }
  zp::result<std::optional<zp::host_view>> lend(std::size_t index) const override {
    return arrays_[index].lend().at(path_);
  }
  zp::result<std::uint64_t> stored_bytes(std::size_t index) const override { return sizes_[index]; }
  void verify(verification& to) const override { verify_by_reading(*this, path_, to); }

 private:
  /// The array at the beginning of `rest`, which then begins behind it.
  zp::result<void> add(zp::bytes_view& rest) {
    ZARRPOINT_TRY(header, zp::numpy::parse_npy(rest));
    ZARRPOINT_TRY(bytes, header.data_bytes());
    zp::bytes_view behind;
    const std::uint64_t size = header.data_offset + bytes;  // of a file: no overflow
    if (size < rest.size() && zp::numpy::begins_npy(rest.subspan(static_cast<std::size_t>(size))))
      behind = rest.subspan(static_cast<std::size_t>(size));
    ZARRPOINT_TRY(elements, elements_of(header, rest.first(rest.size() - behind.size())));
    sizes_.push_back(rest.size() - behind.size());
    entries_.push_back(entry_of(std::to_string(arrays_.size()), header));
    arrays_.push_back(std::move(elements));
    rest = behind;
    return {};
  }

  std::string path_;
  zp::mapping file_;
  std::vector<raw_elements> arrays_;
  std::vector<std::uint64_t> sizes_;
};

class npz_source final : public source {
 public:
  npz_source(std::string path, std::unique_ptr<zp::blob> file, const zp::context& how)
      : path_(std::move(path)),
        archive_(std::make_shared<const zp::detail::zip_archive>(std::move(file), zp::zip_inflate)),
        memory_(how.limit.memory) {
    format_ = "npz";
  }

  zp::result<void> open() {
    ZARRPOINT_TRY(members, zp::detail::read_zip_directory(archive_->file()));
    std::set<std::string> names;
    bool any = members.empty();
    for (zp::detail::zip_member& member : members) {
      any = any || member.name.ends_with(".npy");
      if (!names.insert(member.name).second)
        return zp::error{zp::errc::corrupt,
                         "zip: member \"" + escaped(member.name) + "\" is there twice"};
      if (member.method != 0 && member.method != 8)
        return zp::error{zp::errc::unsupported, "zip: member \"" + escaped(member.name) +
                                                    "\" uses method " +
                                                    std::to_string(member.method)};
    }
    if (!any) return not_npz(names);
    for (zp::detail::zip_member& member : members) add(std::move(member));
    checked_.resize(members_.size());
    return {};
  }

  zp::result<void> read(std::size_t index, const zp::selection& part,
                        const zp::mutable_host_view& into) const override {
    ZARRPOINT_TRY(elements, elements_at(index).at(name_of(index)));
    return elements.elements.read(part, into).at(name_of(index));
  }
  zp::result<std::optional<zp::host_view>> lend(std::size_t index) const override {
    if (is_deflated(index)) return std::optional<zp::host_view>();
    ZARRPOINT_TRY(elements, elements_at(index).at(name_of(index)));
    return elements.elements.lend().at(name_of(index));
  }
  zp::result<std::uint64_t> stored_bytes(std::size_t index) const override {
    return members_[index].stored_size;
  }
  void verify(verification& to) const override { verify_by_reading(*this, path_, to); }

 private:
  struct opened {
    raw_elements elements;
    std::shared_ptr<const void> memory;  // keeps them alive
  };

  std::string name_of(std::size_t index) const {
    return path_ + ": \"" + escaped(members_[index].name) + '"';
  }

  static zp::error not_npz(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      if (name.ends_with("zarr.json") || name.ends_with(".zarray") || name.ends_with(".zgroup"))
        return {zp::errc::unsupported,
                "the zip file has Zarr in it, but no array or group at its root; give the path "
                "inside it"};
      if (name.ends_with("/data.pkl"))
        return {zp::errc::unsupported,
                "a zip file with a data.pkl that is compressed: torch.save does not write such"};
    }
    return {zp::errc::unsupported, "a zip file without npy files in it"};
  }

  bool is_deflated(std::size_t index) const { return members_[index].method != 0; }

  /// The beginning of a member.
  zp::result<std::vector<std::byte>> head_of(const zp::detail::zip_member& member) const {
    ZARRPOINT_TRY(object, zp::detail::open_zip_member(archive_, member));
    std::vector<std::byte> out(static_cast<std::size_t>(
        std::min<std::uint64_t>(member.size, zp::numpy::npy_header_limit)));
    ZARRPOINT_CHECK(object->read(0, out));
    return out;
  }

  void add(zp::detail::zip_member member) {
    entry made;
    zp::numpy::npy_header header;
    const auto parse = [&]() -> zp::result<void> {
      if (!member.name.ends_with(".npy"))
        return zp::error{zp::errc::unsupported, "not an npy file"};
      ZARRPOINT_TRY(head, head_of(member));
      ZARRPOINT_TRY(parsed, zp::numpy::parse_npy(head));
      header = parsed;
      ZARRPOINT_TRY(bytes, header.data_bytes());
      if (member.size - header.data_offset != bytes)
        return zp::error{zp::errc::corrupt,
                         "npy: " + std::to_string(member.size - header.data_offset) +
                             " bytes of elements where " + to_string(header.spec) + " takes " +
                             std::to_string(bytes)};
      return {};
    };
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    auto status = parse();
    made = entry_of(std::move(name), header);
    if (!status) {
      made.fault = std::move(status).failure();
      made.spec.reset();
      made.type.clear();
    }
    if (member.method != 0) made.codecs.push_back({"deflate"});
    entries_.push_back(std::move(made));
    headers_.push_back(header);
    members_.push_back(std::move(member));
  }

  zp::result<opened> elements_at(std::size_t index) const {
    const zp::detail::zip_member& member = members_[index];
    const std::lock_guard lock(mutex_);
    ZARRPOINT_TRY(object, zp::detail::open_zip_member(archive_, member));
    if (is_deflated(index)) {
      if (inflated_ == nullptr || inflated_index_ != index) {
        if (member.size > memory_)
          return zp::error{
              zp::errc::resource_limit,
              "decompressed it takes " + byte_text(member.size) + ", more than --memory"};
        inflated_.reset();
        ZARRPOINT_TRY(bytes, zp::buffer::allocate(static_cast<std::size_t>(member.size)));
        ZARRPOINT_CHECK(object->read(0, bytes.bytes()));
        inflated_ = std::make_shared<zp::buffer>(std::move(bytes));
        inflated_index_ = index;
      }
      ZARRPOINT_TRY(elements, elements_of(headers_[index], inflated_->bytes()));
      return opened{std::move(elements), inflated_};
    }
    ZARRPOINT_TRY(bytes, object->map());
    if (!checked_[index]) {
      if (zp::detail::crc32(0, bytes.bytes()) != member.crc32)
        return zp::error{zp::errc::corrupt, "its bytes do not match its crc32"};
      checked_[index] = true;
    }
    ZARRPOINT_TRY(elements, elements_of(headers_[index], bytes.bytes()));
    return opened{std::move(elements), std::make_shared<zp::mapping>(bytes)};
  }

  std::string path_;
  std::shared_ptr<const zp::detail::zip_archive> archive_;  // maps the file, and keeps that
  std::size_t memory_;
  std::vector<zp::detail::zip_member> members_;
  std::vector<zp::numpy::npy_header> headers_;
  mutable std::mutex mutex_;
  mutable std::vector<bool> checked_;
  mutable std::shared_ptr<const zp::buffer> inflated_;
  mutable std::size_t inflated_index_ = 0;
};

}  // namespace

zp::result<source_pointer> open_npy(const std::string& path, const zp::context& how) {
  ZARRPOINT_TRY(file, open_file(path));
  ZARRPOINT_TRY(mapped, bytes_of(file).at(path));
  auto made = std::make_unique<npy_source>(path, std::move(mapped));
  ZARRPOINT_CHECK(made->open(how).at(path));
  return source_pointer(std::move(made));
}

zp::result<source_pointer> open_npz(const std::string& path, const zp::context& how) {
  ZARRPOINT_TRY(file, zp::detail::open_file(path));
  auto made = std::make_unique<npz_source>(path, std::move(file), how);
  ZARRPOINT_CHECK(made->open().at(path));
  return source_pointer(std::move(made));
}

}  // namespace cli
