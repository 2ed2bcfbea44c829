// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/zip/zip_directory.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>

#include <algorithm>
#include <atomic>
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

ZARRPOINT_INLINE result<std::unique_ptr<zip_decoder>> zip_decoder::copy() const {
  return error{errc::unsupported, "this decoder cannot be copied"};
}

namespace detail {

ZARRPOINT_INLINE zip_member_blob::zip_member_blob(std::shared_ptr<const zip_archive> archive,
                                                  const zip_member& member, std::uint64_t begin)
    : archive_(std::move(archive)), member_(member), begin_(begin) {}

ZARRPOINT_INLINE result<void> zip_member_blob::check_crc(std::uint32_t crc) const {
  if (crc == member_.crc32) return {};
  return wrong("its bytes do not match its crc32");
}

/// One that is stored as it is: ranges are read where they lie, and the whole can be mapped. The
/// header of a small one is read with the whole of its bytes, by one call, where they end right
/// before the next member, as they nearly always do.
class zip_stored_blob final : public zip_member_blob {
 public:
  using blob::read;
  /// `begin`: where the bytes are, or 0 to look at the header later, if it `can_wait`.
  zip_stored_blob(const std::shared_ptr<const zip_archive>& archive, const zip_member& member,
                  std::uint64_t begin)
      : zip_member_blob(archive, member, begin),
        bytes_(archive, begin, member.size, zip_member_blob::name()) {}

  static bool can_wait(const zip_member& member) noexcept {
    return member.method == 0 && member.size != 0 && member.size <= joined_bytes &&
           member.end_limit - member.stored_size - member.header_offset <= joined_header;
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const bool is_whole = into.size() == member_.size && offset == 0;
    if (begin_ == 0 && is_whole && read_joined(into)) return check_crc(crc32(0, into));
    if (begin_ != 0) {
      ZARRPOINT_CHECK(bytes_.read(offset, into));
    } else {
      ZARRPOINT_TRY(begin, find());
      ZARRPOINT_CHECK(range_blob(archive_, begin, member_.size, name()).read(offset, into));
    }
    return is_whole ? check_crc(crc32(0, into)) : result<void>();
  }
  result<mapping> map() const override {
    if (begin_ != 0) return bytes_.map();
    ZARRPOINT_TRY(begin, find());
    return range_blob(archive_, begin, member_.size, name()).map();
  }

 protected:
  result<void> read_vectored(std::span<const read_request> requests) const override {
    if (requests.size() == 1) return read(requests[0].offset, requests[0].into);
    if (begin_ != 0) {
      ZARRPOINT_CHECK(bytes_.read(requests));
    } else {
      ZARRPOINT_TRY(begin, find());
      ZARRPOINT_CHECK(range_blob(archive_, begin, member_.size, name()).read(requests));
    }
    // Parts in their order may be the whole.
    std::uint64_t end = 0;
    for (const read_request& one : requests) {
      if (one.offset != end) return {};
      end += one.into.size();
    }
    if (end != member_.size) return {};
    std::uint32_t crc = 0;
    for (const read_request& one : requests) crc = crc32(crc, one.into);
    return check_crc(crc);
  }

 private:
  static constexpr std::uint64_t joined_bytes = std::uint64_t{1} << 20;
  static constexpr std::size_t joined_header = 512;

  /// Asks the header where the bytes are, once.
  result<std::uint64_t> find() const {
    if (const std::uint64_t known = found_.load(std::memory_order_relaxed); known != 0)
      return known;
    ZARRPOINT_TRY(begin, zip_data_offset(archive_->file(), member_).at(archive_->file().name()));
    found_.store(begin, std::memory_order_relaxed);
    return begin;
  }

  /// False where the header is not as it should be, or the bytes lie elsewhere.
  bool read_joined(mutable_bytes into) const {
    const std::uint64_t begin = member_.end_limit - member_.stored_size;
    std::byte room[joined_header];
    const mutable_bytes head(room, static_cast<std::size_t>(begin - member_.header_offset));
    const read_request requests[] = {{member_.header_offset, head}, {begin, into}};
    if (!archive_->file().read(std::span<const read_request>(&requests[0], 2))) return false;
    const auto found = zip_data_offset(bytes_view(head), member_);
    return found && *found == begin;
  }

  range_blob bytes_;
  mutable std::atomic<std::uint64_t> found_{0};
};

/// How far the inflation of a member has come.
struct zip_inflation {
  std::unique_ptr<zip_decoder> decoder;
  std::uint64_t taken = 0;  ///< compressed bytes that the decoder has had
  std::uint64_t made = 0;   ///< bytes that came of them
  std::uint32_t crc = 0;    ///< of those
};

/// One that is deflated. Read whole it is inflated straight to its destination. For ranges a small
/// one is inflated once and kept. A larger one is read in one pass: a read goes on from the nearest
/// place before its range, which is where an earlier read ended, or one of the restart points that
/// are kept on the way. Those take 44 KiB each with zlib, and there are at most `most_points`.
class zip_deflated_blob final : public zip_member_blob {
 public:
  using blob::read;
  using zip_member_blob::zip_member_blob;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (into.empty() && member_.size != 0) return {};
    if (into.size() == member_.size) return guarded([&] { return read_whole(into); });
    if (member_.size > kept_bytes) return guarded([&] { return read_range(offset, into); });
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) {
      ZARRPOINT_CHECK(guarded([&]() -> result<void> {
        std::vector<std::byte> whole(static_cast<std::size_t>(member_.size));
        ZARRPOINT_CHECK(read_whole(whole));
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
  static constexpr std::uint64_t most_points = 128;
  static constexpr std::size_t most_ends = 4;  ///< as many threads read one member in order

  /// Compressed bytes as they are wanted.
  struct input {
    std::vector<std::byte> piece;
    bytes_view left;
  };

  std::uint64_t point_distance() const noexcept {
    return std::max(kept_bytes / 16, member_.size / most_points + 1);
  }

  result<void> read_whole(mutable_bytes into) const {
    zip_inflation at;
    ZARRPOINT_TRY(decoder, archive_->inflate());
    at.decoder = std::move(decoder);
    input in;
    ZARRPOINT_CHECK(inflate(at, in, into));
    return check_end(at, in);
  }

  result<void> read_range(std::uint64_t offset, mutable_bytes into) const {
    ZARRPOINT_TRY(at, nearest(offset));
    input in;
    std::vector<std::byte> skipped(
        static_cast<std::size_t>(std::min<std::uint64_t>(offset - at.made, piece_bytes)));
    while (at.made < offset) ZARRPOINT_CHECK(inflate_part(at, in, skipped, offset - at.made));
    while (!into.empty()) {
      const std::uint64_t before = at.made;
      ZARRPOINT_CHECK(inflate_part(at, in, into, into.size()));
      into = into.subspan(static_cast<std::size_t>(at.made - before));
    }
    if (at.made == member_.size) return check_end(at, in);
    const std::lock_guard lock(mutex_);
    if (ends_.size() == most_ends) ends_.erase(ends_.begin());
    ends_.push_back(std::move(at));
    return {};
  }

  /// Inflates to the beginning of `into`: up to `bytes`, and no further than to the next place of a
  /// restart point, which is kept if it is a new one.
  result<void> inflate_part(zip_inflation& at, input& in, mutable_bytes into,
                            std::uint64_t bytes) const {
    const std::uint64_t to_point = point_distance() - at.made % point_distance();
    const std::uint64_t wanted = std::min({bytes, to_point, std::uint64_t{into.size()}});
    ZARRPOINT_CHECK(inflate(at, in, into.first(static_cast<std::size_t>(wanted))));
    if (at.made % point_distance() != 0) return {};
    const std::lock_guard lock(mutex_);
    if (!points_.empty() && points_.back().made >= at.made) return {};
    // Where a decoder cannot be copied, or there is no memory for it, reads start further back.
    static_cast<void>(guarded([&]() -> result<void> {
      ZARRPOINT_TRY(copied, at.decoder->copy());
      return points_.push_back({std::move(copied), at.taken, at.made, at.crc}), result<void>();
    }));
    return {};
  }

  /// The place from which the least must be inflated to come to `offset`.
  result<zip_inflation> nearest(std::uint64_t offset) const {
    const auto before = [&](const zip_inflation& at) { return at.made <= offset; };
    const auto less = [](const zip_inflation& a, const zip_inflation& b) {
      return a.made < b.made;
    };
    const std::lock_guard lock(mutex_);
    auto end = ends_.end();
    for (auto at = ends_.begin(); at != ends_.end(); ++at)
      if (before(*at) && (end == ends_.end() || less(*end, *at))) end = at;
    const auto point = std::find_if(points_.rbegin(), points_.rend(), before);
    if (end != ends_.end() && (point == points_.rend() || !less(*end, *point))) {
      zip_inflation out = std::move(*end);
      ends_.erase(end);
      return out;
    }
    if (point != points_.rend()) {
      if (auto copied = point->decoder->copy())
        return zip_inflation{*std::move(copied), point->taken, point->made, point->crc};
    }
    ZARRPOINT_TRY(decoder, archive_->inflate());
    return zip_inflation{std::move(decoder)};
  }

  /// Inflates until `into` is full. The input may be used up before the output is: a decoder still
  /// holds what came of its last bytes.
  result<void> inflate(zip_inflation& at, input& in, mutable_bytes into) const {
    while (!into.empty()) {
      ZARRPOINT_TRY(ended, step(at, in, into));
      if (ended && !into.empty()) return wrong("it inflates to less than its size");
      if (ended) break;
    }
    return {};
  }

  /// One call of the decoder; true at the end of the stream.
  result<bool> step(zip_inflation& at, input& in, mutable_bytes& into) const {
    if (in.left.empty() && at.taken < member_.stored_size) {
      const std::uint64_t left = member_.stored_size - at.taken;
      in.piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes)));
      ZARRPOINT_CHECK(archive_->file().read(begin_ + at.taken, in.piece));
      in.left = in.piece;
    }
    const std::size_t had = in.left.size();
    const mutable_bytes room = into;
    ZARRPOINT_TRY(ended, at.decoder->decode(in.left, into).at("read " + name()));
    const bytes_view made = room.first(room.size() - into.size());
    if (!ended && made.empty() && in.left.size() == had)
      return wrong("its deflated data are cut short");
    at.taken += had - in.left.size();
    at.made += made.size();
    at.crc = crc32(at.crc, made);
    return ended;
  }

  /// After the last byte: the stream must end there, and the checksum be that of all.
  result<void> check_end(zip_inflation& at, input& in) const {
    const std::uint32_t crc = at.crc;
    std::byte beyond{};
    for (bool ended = false; !ended;) {
      mutable_bytes room(&beyond, 1);
      ZARRPOINT_TRY(done, step(at, in, room));
      if (room.empty()) return wrong("it inflates to more than its size");
      ended = done;
    }
    return check_crc(crc);
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::byte> kept_;
  mutable std::vector<zip_inflation> points_;  ///< by rising `made`
  mutable std::vector<zip_inflation> ends_;    ///< of reads, the latest last
};

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_zip_member(
    std::shared_ptr<const detail::zip_archive> archive, const zip_member& member) {
  const auto called = [&] {
    return "member " + detail::in_quotes(member.name) + " of " + archive->file().name();
  };
  std::uint64_t begin = 0;
  if (!zip_stored_blob::can_wait(member)) {
    ZARRPOINT_TRY(found, zip_data_offset(archive->file(), member).at(archive->file().name()));
    begin = found;
  }
  if (member.method == 0)
    return detail::make_owned<blob, detail::zip_stored_blob>(archive, member, begin);
  if (member.method != 8)
    return error{errc::unsupported,
                 called() + " is compressed by method " + std::to_string(member.method)};
  if (archive->inflate == nullptr)
    return error{errc::unsupported,
                 called() +
                     " is deflated (include <zarrpoint/zip_inflate.hpp> and open it "
                     "with {.inflate = zip_inflate})"};
  return detail::make_owned<blob, detail::zip_deflated_blob>(std::move(archive), member, begin);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
