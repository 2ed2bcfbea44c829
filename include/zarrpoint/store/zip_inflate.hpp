// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// Deflated members of zip files, by zlib: link it.

namespace zarrpoint { inline namespace v0 {

namespace detail {

class zlib_zip_decoder final : public zip_decoder {
 public:
  zlib_zip_decoder() : ready_(inflateInit2(&stream_, -MAX_WBITS) == Z_OK) {}
  explicit zlib_zip_decoder(z_stream& of) : ready_(inflateCopy(&stream_, &of) == Z_OK) {}
  ~zlib_zip_decoder() override {
    if (ready_) inflateEnd(&stream_);
  }
  bool ready() const noexcept { return ready_; }

  result<bool> decode(bytes_view& from, mutable_bytes& to) override {
    // zlib counts in 32 bits, and does not write to its input: its interface is older than const.
    constexpr std::size_t most = std::size_t{1} << 30;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
    stream_.avail_in = static_cast<uInt>(std::min(from.size(), most));
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(std::min(to.size(), most));
    const uInt had_in = stream_.avail_in;
    const uInt had_out = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    from = from.subspan(had_in - stream_.avail_in);
    to = to.subspan(had_out - stream_.avail_out);
    if (status == Z_STREAM_END) return true;
    if (status == Z_OK || status == Z_BUF_ERROR) return false;
    if (status == Z_MEM_ERROR) return error{errc::resource_limit, "zlib has no memory"};
    return error{errc::corrupt,
                 std::string("its deflated data are damaged") +
                     (stream_.msg != nullptr ? std::string(": ") + stream_.msg : std::string())};
  }

  result<std::unique_ptr<zip_decoder>> copy() const override {
    auto out = std::make_unique<zlib_zip_decoder>(stream_);
    if (!out->ready()) return error{errc::resource_limit, "zlib has no memory"};
    return std::unique_ptr<zip_decoder>(std::move(out));
  }

 private:
  mutable z_stream stream_{};  // zlib copies from what it does not call const
  bool ready_;
};

}  // namespace detail

/// The decoder for deflated members: `zip_store::open(store, key, {.inflate = zip_inflate})`.
inline result<std::unique_ptr<zip_decoder>> zip_inflate() {
  auto out = std::make_unique<detail::zlib_zip_decoder>();
  if (!out->ready()) return error{errc::resource_limit, "zlib has no memory"};
  return std::unique_ptr<zip_decoder>(std::move(out));
}

/// `zip://` with deflated members: `context{.stores =
/// default_stores::with<zip_inflate_scheme>::table()}` lets `open` read every zip file.
struct zip_inflate_scheme {
  static constexpr std::string_view name = "zip";
  static result<stored_place> open(const url& at, const place_use& use) {
    ZARRPOINT_TRY(path, at.path());
    return zip_place(path, use, {.inflate = zip_inflate});
  }
};

}}  // namespace zarrpoint::v0
