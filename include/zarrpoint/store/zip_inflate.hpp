// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/registry.hpp>

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

// Deflated members of zip files, by zlib: link it.

namespace zarrpoint { inline namespace v0 {

namespace detail {

class zlib_zip_decoder final : public zip_decoder {
 public:
  using allocator = void* (*)(std::size_t bytes);

  /// What `allocate` gives goes back by `std::free`.
  explicit zlib_zip_decoder(allocator allocate = std::malloc) : allocate_(allocate) {
    stream_.zalloc = [](void* self, uInt items, uInt size) {
      auto& own = *static_cast<zlib_zip_decoder*>(self);
      const std::size_t bytes = std::size_t{items} * size;
      void* const memory = own.allocate_(bytes);
      if (memory == nullptr) own.refused_ = bytes;
      return memory;
    };
    stream_.zfree = [](void*, void* memory) { std::free(memory); };
    stream_.opaque = this;
    ready_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
  }
  /// In the state of `of`, which gets the memory.
  explicit zlib_zip_decoder(const zlib_zip_decoder* of)
      : allocate_(of->allocate_), ready_(inflateCopy(&stream_, &of->stream_) == Z_OK) {
    stream_.opaque = this;
    refused_ = of->refused_;
  }
  zlib_zip_decoder(const zlib_zip_decoder&) = delete;
  zlib_zip_decoder& operator=(const zlib_zip_decoder&) = delete;
  ~zlib_zip_decoder() override {
    if (ready_) inflateEnd(&stream_);
  }
  /// Errors: `resource_limit`.
  result<void> ready() const {
    if (!ready_) return no_memory();
    return {};
  }

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
    if (status == Z_MEM_ERROR) return no_memory();
    return error{errc::corrupt,
                 std::string("its deflated data are damaged") +
                     (stream_.msg != nullptr ? std::string(": ") + stream_.msg : std::string())};
  }

  result<std::unique_ptr<zip_decoder>> copy() const override {
    auto out = std::make_unique<zlib_zip_decoder>(this);
    ZARRPOINT_CHECK(out->ready());
    return std::unique_ptr<zip_decoder>(std::move(out));
  }

 private:
  error no_memory() const {
    if (refused_ == 0) return {errc::resource_limit, "zlib cannot make a decompressor"};
    return {errc::resource_limit,
            "cannot allocate " + std::to_string(refused_) + " bytes for a decompressor"};
  }

  allocator allocate_;
  std::size_t refused_ = 0;    ///< the size of the last allocation that was
  mutable z_stream stream_{};  // zlib copies from what it does not call const
  bool ready_ = false;
};

}  // namespace detail

/// The decoder for deflated members: `zip_store::open(store, key, {.inflate = zip_inflate})`.
inline result<std::unique_ptr<zip_decoder>> zip_inflate() {
  auto out = std::make_unique<detail::zlib_zip_decoder>();
  ZARRPOINT_CHECK(out->ready());
  return std::unique_ptr<zip_decoder>(std::move(out));
}

/// `zip://` with deflated members: `context{.stores =
/// default_stores::with<zip_inflate_scheme>::table()}` lets `open` read every zip file.
struct zip_inflate_scheme {
  static constexpr std::string_view name = "zip";
  static result<stored_place> open(const url& at, const place_use& use) {
    ZARRPOINT_TRY(path, at.path());
    return detail::zip_place(path, use, {.inflate = zip_inflate});
  }
};

}}  // namespace zarrpoint::v0
