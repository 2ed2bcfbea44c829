// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Pieces of a file that follow one another, gathered so that many go to it in one write: a write
/// costs the kernel as much as copying some pages. One thread writes what is full
/// while others add to what comes next. What could not be written stays, for the next try.
class zip_batch {
 public:
  /// What is gathered is full from here on.
  static constexpr std::size_t full_bytes = std::size_t{256} << 10;

  explicit zip_batch(blob_writer& to) : to_(to) {}

  /// Adds `head` and `body`, which follow each other, at `offset`; true when it is time to `flush`.
  /// What was gathered somewhere else is written before. One thread at a time.
  result<bool> add(std::uint64_t offset, bytes_view head, bytes_view body);

  /// Writes all that was added before. Errors: those of the writer.
  result<void> flush();
  /// The same, unless another thread did so since this one was told that it is time.
  result<void> flush_if_full();

  /// Before something else reads or writes these bytes: flushes if some of them are gathered here.
  result<void> settle(std::uint64_t offset, std::uint64_t size);

 private:
  struct run {
    std::uint64_t begin = 0;
    std::string bytes{};  // a string, whose code every program has

    std::uint64_t end() const noexcept { return begin + bytes.size(); }
    bool meets(std::uint64_t from, std::uint64_t to) const noexcept {
      return from < end() && begin < to;
    }
  };

  blob_writer& to_;
  std::mutex writing_;  ///< of the one that writes; taken before the other
  std::mutex mutex_;
  run waiting_;
  run leaving_;  ///< changed with both; read with either
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/zip/impl/zip_batch_impl.hpp>
#endif
