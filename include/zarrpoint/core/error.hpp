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

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/impl/error_impl.hpp>
#endif
