// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/zip/zip_directory.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE zip_archive::zip_archive(std::unique_ptr<blob> opened,
                                          zip_decoder_factory decoders)
    : file(std::move(opened)), inflate(decoders) {}

ZARRPOINT_INLINE zip_member_blob::zip_member_blob(std::shared_ptr<const zip_archive> archive,
                                                  const zip_member& member, std::uint64_t begin)
    : archive_(std::move(archive)), member_(member), begin_(begin) {}

ZARRPOINT_INLINE result<mapping> zip_archive::map() const {
  const std::lock_guard lock(mutex);
  if (!mapped) {
    ZARRPOINT_TRY(made, file->map());
    mapped = std::move(made);
  }
  return *mapped;
}

ZARRPOINT_INLINE result<void> zip_member_blob::check_crc(std::uint32_t crc) const {
  if (crc == member_.crc32) return {};
  return wrong("its bytes are not those of its crc32");
}

/// One that is stored as it is: ranges are read where they lie, and the whole can be mapped.
class zip_stored_blob final : public zip_member_blob {
 public:
  using blob::read;
  using zip_member_blob::zip_member_blob;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    ZARRPOINT_CHECK(archive_->file->read(begin_ + offset, into));
    if (into.size() != member_.size) return {};
    return check_crc(crc32(0, into));
  }
  result<mapping> map() const override {
    ZARRPOINT_TRY(whole, archive_->map());
    if (whole.bytes().size() < begin_ + member_.size) return wrong("the file became shorter");
    const bytes_view bytes = whole.bytes().subspan(static_cast<std::size_t>(begin_),
                                                   static_cast<std::size_t>(member_.size));
    return mapping(bytes, std::make_shared<const mapping>(whole));
  }

 protected:
  result<void> read_vectored(std::span<const read_request> requests) const override {
    std::vector<read_request> moved(requests.begin(), requests.end());
    for (read_request& request : moved) {
      ZARRPOINT_CHECK(check_range(request.offset, request.into.size()));
      request.offset += begin_;
    }
    return archive_->file->read(moved);
  }
};

/// One that is deflated. Read whole it is inflated straight to its destination. For ranges a small
/// one is inflated once and kept; of a larger one each read inflates all that comes before, so
/// that memory stays bounded.
class zip_deflated_blob final : public zip_member_blob {
 public:
  using blob::read;
  using zip_member_blob::zip_member_blob;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (into.empty() && member_.size != 0) return {};
    if (into.size() == member_.size || member_.size > kept_bytes)
      return guarded([&] { return inflate(offset, into); });
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) {
      ZARRPOINT_CHECK(guarded([&]() -> result<void> {
        std::vector<std::byte> whole(static_cast<std::size_t>(member_.size));
        ZARRPOINT_CHECK(inflate(0, whole));
        kept_ = std::move(whole);
        return {};
      }));
    }
    std::memcpy(into.data(), kept_.data() + offset, into.size());
    return {};
  }

 private:
  static constexpr std::uint64_t kept_bytes = std::uint64_t{16} << 20;
  static constexpr std::size_t piece_bytes = std::size_t{128} << 10;

  /// Inflates up to the end of the range; to the very end, which the checksum covers, when the
  /// range reaches it.
  result<void> inflate(std::uint64_t offset, mutable_bytes into) const {
    ZARRPOINT_TRY(decoder, archive_->inflate());
    const bool to_the_end = offset + into.size() == member_.size;
    std::vector<std::byte> piece(
        static_cast<std::size_t>(std::min<std::uint64_t>(member_.stored_size, piece_bytes)));
    std::vector<std::byte> skipped(
        static_cast<std::size_t>(std::min<std::uint64_t>(offset, piece_bytes)));
    bytes_view from;
    std::uint64_t at = begin_;
    std::uint64_t left = member_.stored_size;
    std::uint32_t crc = 0;
    std::byte beyond{};  // tells data beyond the size from the end of the stream
    for (bool ended = false; !ended;) {
      if (!to_the_end && into.empty()) return {};
      if (from.empty()) {
        if (left == 0) return wrong("its deflated data are cut short");
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
        ZARRPOINT_CHECK(archive_->file->read(at, mutable_bytes(piece).first(size)));
        from = bytes_view(piece).first(size);
        at += size;
        left -= size;
      }
      const bool skips = offset != 0;
      mutable_bytes room = into;
      if (skips) {
        room = mutable_bytes(skipped).first(
            static_cast<std::size_t>(std::min<std::uint64_t>(offset, skipped.size())));
      } else if (into.empty()) {
        room = mutable_bytes(&beyond, 1);
      }
      const mutable_bytes before = room;
      ZARRPOINT_TRY(done, decoder->decode(from, room).at("read " + name()));
      ended = done;
      const bytes_view made = before.first(before.size() - room.size());
      if (!skips && into.empty() && !made.empty())
        return wrong("it inflates to more than its size");
      crc = crc32(crc, made);
      if (skips) {
        offset -= made.size();
      } else {
        into = into.subspan(made.size());
      }
    }
    if (offset != 0 || !into.empty()) return wrong("it inflates to less than its size");
    return check_crc(crc);
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::byte> kept_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_zip_member(
    std::shared_ptr<const detail::zip_archive> archive, const zip_member& member) {
  const auto called = [&] {
    return "member " + detail::in_quotes(member.name) + " of " + archive->file->name();
  };
  ZARRPOINT_TRY(begin, zip_data_offset(*archive->file, member).at(archive->file->name()));
  if (member.method == 0)
    return std::unique_ptr<blob>(
        std::make_unique<detail::zip_stored_blob>(std::move(archive), member, begin));
  if (member.method != 8)
    return error{errc::unsupported,
                 called() + " is compressed by method " + std::to_string(member.method)};
  if (archive->inflate == nullptr)
    return error{errc::unsupported,
                 called() +
                     " is deflated (include <zarrpoint/zip_inflate.hpp> and open it "
                     "with {.inflate = zip_inflate})"};
  return std::unique_ptr<blob>(
      std::make_unique<detail::zip_deflated_blob>(std::move(archive), member, begin));
}

}}  // namespace zarrpoint::v0
