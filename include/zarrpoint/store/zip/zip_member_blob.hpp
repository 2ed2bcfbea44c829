// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <cstring>
#include <memory>

namespace zarrpoint { inline namespace v0 {

/// Undoes the compression of one member, piece by piece.
class zip_decoder {
 public:
  zip_decoder() = default;
  zip_decoder(const zip_decoder&) = delete;
  zip_decoder& operator=(const zip_decoder&) = delete;
  virtual ~zip_decoder() = default;

  /// Takes from the beginning of `from` and fills the beginning of `to`, both of which move on.
  /// True once the stream has ended. Errors: `corrupt`, `resource_limit`.
  /// `from` may be empty while the decoder still holds output. Without progress the data are cut
  /// short.
  virtual result<bool> decode(bytes_view& from, mutable_bytes& to) = 0;

  /// Another one in the same state, from which ranges of large members are read without all that
  /// comes before. Errors: `unsupported`, `resource_limit`; reads then begin further back.
  ZARRPOINT_NO_KEY virtual result<std::unique_ptr<zip_decoder>> copy() const;
};

/// Makes a decoder for deflated members: `zip_inflate` of <zarrpoint/zip_inflate.hpp>. Null
/// where the program does without zlib.
using zip_decoder_factory = result<std::unique_ptr<zip_decoder>> (*)();

namespace detail {

/// An archive that is open for reading.
struct zip_archive : container_file {
  zip_archive(std::unique_ptr<blob> opened, zip_decoder_factory decoders)
      : container_file(std::move(opened)), inflate(decoders) {}

  const zip_decoder_factory inflate;
};

/// One member as an object of a store.
class zip_member_blob : public blob {
 public:
  zip_member_blob(std::shared_ptr<const zip_archive> archive, const zip_member& member,
                  std::uint64_t begin)
      : archive_(std::move(archive)), member_(member), begin_(begin) {}

  std::uint64_t size() const noexcept override { return member_.size; }
  std::size_t request_bytes() const noexcept override { return archive_->file().request_bytes(); }
  std::string name() const override { return archive_->file().name() + ":" + member_.name; }

 protected:
  error wrong(const char* what) const { return {errc::corrupt, "read " + name() + ": " + what}; }
  result<void> check_crc(std::uint32_t crc) const;

  std::shared_ptr<const zip_archive> archive_;
  zip_member member_;
  std::uint64_t begin_;  ///< of its bytes in the file
};

/// A member as an object: stored, or deflated where `archive` has a decoder for that. Errors:
/// `corrupt`, of a small stored one when it is read; `unsupported` for other methods and without a
/// decoder.
result<std::unique_ptr<blob>> open_zip_member(std::shared_ptr<const detail::zip_archive> archive,
                                              const zip_member& member);

}  // namespace detail

}}  // namespace zarrpoint::v0
