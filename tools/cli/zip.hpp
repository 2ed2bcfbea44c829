// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// As much of the zip format (PKWARE APPNOTE 6.3) as npz files need: stored and deflated members,
// zip64.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/blob.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace zp = zarrpoint;

/// One file of an archive.
struct zip_member {
  std::string name;
  bool deflated = false;
  std::uint32_t crc32 = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  ///< of its local header
};

/// The members of an archive, in the order of its directory. Errors: `corrupt`; `unsupported` for
/// encryption, other methods and archives of several volumes.
zp::result<std::vector<zip_member>> read_zip_directory(const zp::blob& archive);

/// Where the bytes of a member begin, by its local header.
zp::result<std::uint64_t> zip_data_offset(const zp::blob& archive, const zip_member& member);

/// Compares the bytes of a member that is not deflated with its checksum.
zp::result<void> check_zip_member(const zp::blob& archive, const zip_member& member);

/// All bytes of a member, inflated and compared with the checksum.
zp::result<zp::buffer> read_zip_member(const zp::blob& archive, const zip_member& member);

/// The first `size` bytes of a member, or all if it has fewer; not compared with the checksum.
zp::result<std::vector<std::byte>> read_zip_head(const zp::blob& archive, const zip_member& member,
                                                 std::size_t size);

/// Writes an archive whose members are stored, so that readers may map them.
class zip_writer {
 public:
  explicit zip_writer(std::unique_ptr<zp::blob_writer> to) : to_(std::move(to)) {}

  /// Begins a member of exactly `size` bytes.
  zp::result<void> begin(std::string_view name, std::uint64_t size);
  /// Appends to it.
  zp::result<void> write(zp::bytes_view bytes);
  /// Ends it. Errors: `invalid_argument` when it is not of its size.
  zp::result<void> end();
  /// Writes the directory and puts the file in its place.
  zp::result<void> finish();

 private:
  zp::result<void> append(std::string_view bytes);

  std::unique_ptr<zp::blob_writer> to_;
  std::vector<zip_member> members_;
  std::uint64_t at_ = 0;
  std::uint64_t written_ = 0;
  unsigned long crc_ = 0;
};

}  // namespace cli
