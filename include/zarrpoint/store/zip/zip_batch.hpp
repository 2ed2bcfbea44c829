// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Pieces of a file that follow one another, gathered so that many go to it in one write: a write
/// costs the kernel as much as copying some pages. One thread writes what is full
/// while others add to what comes next. What could not be written stays, for the next try.
class zip_batch {
  struct run;

 public:
  /// What is gathered is full where a multiple of this is passed. The rest waits for the next
  /// time: writes that begin and end at such places take the kernel a fifth less time.
  static constexpr std::size_t full_bytes = std::size_t{256} << 10;

  /// Room in what is gathered. Its bytes are written to the file once this is gone.
  class place {
   public:
    place() = default;
    place(place&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), bytes_(other.bytes_), fills_(other.fills_) {}
    place& operator=(place&&) = delete;
    ~place() {
      if (of_ != nullptr) of_->filling.fetch_sub(1, std::memory_order_release);
    }

    /// False when there is none until it is flushed.
    explicit operator bool() const noexcept { return of_ != nullptr; }
    mutable_bytes bytes() const noexcept { return bytes_; }
    /// Whether it is time to `flush_if_full`: also where there was no room for that reason.
    bool fills() const noexcept { return fills_; }

   private:
    friend class zip_batch;
    place(run& of, std::size_t begin, std::size_t size);
    static place none_of_full() noexcept {
      place out;
      out.fills_ = true;
      return out;
    }

    run* of_ = nullptr;
    mutable_bytes bytes_{};
    bool fills_ = false;
  };

  explicit zip_batch(blob_writer& to) : to_(to) {}

  /// Room for `size` bytes that will be at `offset`; none while what is gathered lies
  /// somewhere else, or is full. Fill it soon: `flush` waits for it.
  place claim(std::uint64_t offset, std::size_t size);

  /// Writes all that was added before. Errors: those of the writer.
  result<void> flush();
  /// Writes what is full, unless another thread did so since this one was told that it is time.
  result<void> flush_if_full();

  /// Before something else reads or writes these bytes: flushes if some of them are gathered here.
  result<void> settle(std::uint64_t offset, std::uint64_t size);

 private:
  static constexpr std::size_t run_bytes = full_bytes + full_bytes / 2;

  struct run {
    std::uint64_t begin = 0;
    std::size_t used = 0;
    std::size_t size = 0;
    std::byte* bytes = nullptr;        // not cleared: pages that nothing was put in cost nothing
    std::atomic<unsigned> filling{0};  ///< places that are there

    run() = default;
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run() { delete[] bytes; }

    std::uint64_t end() const noexcept { return begin + used; }
    bool is_full() const noexcept { return end() / full_bytes != begin / full_bytes; }
    bool meets(std::uint64_t from, std::uint64_t to) const noexcept {
      return from < end() && begin < to;
    }
    void make_room(std::size_t wanted);
  };

  /// Writes what was added, all of it or up to the last such place.
  result<void> write_out(bool all);
  /// What waits leaves. Where some of it goes on waiting, the place for it.
  place change_runs(bool all);

  run& waiting() noexcept { return runs_[waiting_]; }
  run& leaving() noexcept { return runs_[1 - waiting_]; }

  blob_writer& to_;
  std::mutex writing_;  ///< of the one that writes; taken before the other
  std::mutex mutex_;
  run runs_[2];              ///< one gathers; the other, changed with both, leaves
  std::size_t waiting_ = 0;  ///< changed with both; read with either
};

}}}  // namespace zarrpoint::v0::detail
