// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// What a pickle may cost at most. A value takes 24 bytes of memory, some 100 with a text or
/// with elements, a call twice that, and each at least one byte of the pickle.
struct pickle_limits {
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
  std::size_t max_values = std::size_t{1} << 23;  ///< also of the memo and of the stack

  /// The same within a budget such as `limits::memory`: a value takes some 256 bytes with what is
  /// made of it.
  constexpr pickle_limits within(std::uint64_t memory) const noexcept {
    const std::uint64_t values = memory / 256 + (std::uint64_t{1} << 10);
    return {std::min(max_bytes, v0::detail::document_bytes_within(memory)),
            static_cast<std::size_t>(std::min<std::uint64_t>(max_values, values))};
  }
};

/// Reads a pickle of protocol 2 to 5, and runs nothing of it: what Python would call becomes a
/// value that says so. Errors: `corrupt`; `unsupported` for older protocols, opcodes of registered
/// extensions and data kept apart; `resource_limit`.
result<pickle_value> read_pickle(bytes_view bytes, const pickle_limits& limits = {});

/// A pickle that other bytes follow.
struct first_pickle {
  pickle_value value;
  std::size_t size;  ///< of the pickle, in bytes
};

/// The first of pickles in a row; nothing where `bytes` end before it does. Errors: as above.
result<std::optional<first_pickle>> read_first_pickle(bytes_view bytes,
                                                      const pickle_limits& limits = {});

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/pickle/impl/pickle_impl.hpp>
#endif
