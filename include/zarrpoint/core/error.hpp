// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// What kind of thing went wrong; stable, so that programs may branch on it.
enum class errc : std::uint8_t {
  not_found,         ///< no such checkpoint, node, leaf or file
  already_exists,    ///< the target is there and overwriting was not asked for
  io,                ///< the operating system refused: disk full, permission, device error
  corrupt,           ///< the stored bytes break their format or their checksum
  unsupported,       ///< well formed, but not something this build understands
  invalid_argument,  ///< the caller asked for something that makes no sense
  dtype_mismatch,    ///< the element type asked for is not the stored one
  shape_mismatch,    ///< the shape asked for is not the stored one
  out_of_range,      ///< an index, size or value does not fit
  resource_limit,    ///< a budget of the caller would be exceeded, or memory is exhausted
  cancelled,         ///< the caller's stop token was triggered
  device,            ///< an accelerator reported an error
  outcome_unknown,   ///< the commit may or may not have happened; re-open to find out
  unavailable,       ///< another process of the group is gone, or did not answer in time
  replaced,          ///< another save has replaced the checkpoint since it was opened
};

/// The enumerator's name, e.g. `"corrupt"`.
constexpr std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::not_found: return "not_found";
    case errc::already_exists: return "already_exists";
    case errc::io: return "io";
    case errc::corrupt: return "corrupt";
    case errc::unsupported: return "unsupported";
    case errc::invalid_argument: return "invalid_argument";
    case errc::dtype_mismatch: return "dtype_mismatch";
    case errc::shape_mismatch: return "shape_mismatch";
    case errc::out_of_range: return "out_of_range";
    case errc::resource_limit: return "resource_limit";
    case errc::cancelled: return "cancelled";
    case errc::device: return "device";
    case errc::outcome_unknown: return "outcome_unknown";
    case errc::unavailable: return "unavailable";
    case errc::replaced: return "replaced";
  }
  return "unknown";
}

/// A failure: a code for programs and a message for people. Each layer adds its context once, in
/// front: `load "layers/0/w": chunk c/0/1: zstd: frame truncated`.
struct [[nodiscard]] error {
  errc code = errc::io;
  std::string message;

  /// Puts `context` and ": " in front of the message.
  error& at(std::string_view context) &;
  error&& at(std::string_view context) &&;
};

/// `"corrupt: zstd: frame truncated"`.
std::string to_string(const error& failure);

namespace detail {

/// The failure of a `result`: a pointer to an `error`, and null for a success. Every call that can
/// fail has code for both, so a success is one word, and a failure that is passed on is a pointer
/// that moves. Nothing here throws: of an error for which there is no memory the code is left, and
/// the text `no memory`.
class failure_box {
 public:
  failure_box() noexcept = default;
  failure_box(error&& failure) noexcept : at_(keep(failure)) {}
  failure_box(const failure_box& other) noexcept : at_(other.at_) {
    if (owns()) at_ = copy(*at_);
  }
  failure_box(failure_box&& other) noexcept : at_(other.at_) {
    if (owns()) other.at_ = mark(at_->code, spent);
  }
  failure_box& operator=(failure_box other) noexcept {
    error* const mine = at_;
    at_ = other.at_;
    other.at_ = mine;
    return *this;
  }
  ~failure_box() {
    if (owns()) drop(at_);
  }

  explicit operator bool() const noexcept { return at_ != nullptr; }

  // What results assert; not each for itself, since its text would have the name of its type.
  void must_be_there() const noexcept { ZARRPOINT_ASSERT(at_ != nullptr); }
  void must_be_none() const noexcept { ZARRPOINT_ASSERT(at_ == nullptr); }

  /// The error, which must be there; its code alone when it was moved.
  const error& get() const noexcept { return owns() ? *at_ : told(at_); }
  operator error() && noexcept { return take(); }
  error take() noexcept;

  /// As `error::at`.
  void at(std::string_view context) noexcept;

 private:
  // Pointers to nothing: a code, and what became of its error.
  static constexpr std::uintptr_t spent = 1;      ///< moved away
  static constexpr std::uintptr_t no_memory = 2;  ///< there was none for it
  static constexpr std::uintptr_t codes = 16;
  static_assert(static_cast<std::uintptr_t>(errc::replaced) < codes);
  static error* mark(errc code, std::uintptr_t why) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<error*>(4 * (static_cast<std::uintptr_t>(code) % codes) + why);
  }
  bool owns() const noexcept { return reinterpret_cast<std::uintptr_t>(at_) >= 4 * codes; }

  // Cold, so that what leads to them is small, and not in the way of what succeeds.
  [[gnu::cold, gnu::returns_nonnull]] static error* keep(error& failure) noexcept;
  [[gnu::cold, gnu::returns_nonnull]] static error* copy(const error& failure) noexcept;
  [[gnu::cold]] static void drop(error* failure) noexcept;
  [[gnu::cold]] static const error& told(const error* marked) noexcept;

  error* at_ = nullptr;
};

}  // namespace detail

}}  // namespace zarrpoint::v0
