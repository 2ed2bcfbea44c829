// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What of a conversion becomes a value of Python where the target is PyTorch's.

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

#include "conversion.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace cli {

/// Numbers of Python, text, values as JSON has them, and bytes.
using python_value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string,
                                  zp::json_text, zp::byte_string>;

/// What values may take that are held until they are saved, with what their writers make of them.
class value_budget {
 public:
  explicit value_budget(std::uint64_t most) : most_(most) {}

  /// Errors: `resource_limit`.
  zp::result<void> take(std::uint64_t bytes);
  /// Of `bytes`, and of the pickle that they become, for which a buffer grows.
  zp::result<void> take_value(std::uint64_t bytes) { return take(3 * bytes); }
  std::uint64_t most() const { return most_; }

 private:
  std::uint64_t most_;
  std::uint64_t held_ = 0;
};

/// What values take in memory.
std::uint64_t memory_of(const python_value& value);
std::uint64_t memory_of(const zp::json& value);
std::uint64_t memory_of(const zp::torch::value& value);

/// The value that an array becomes: of text, JSON and bytes, and of a number that was saved as one.
/// Nothing for tensors. Errors: those of reading; `resource_limit` for what has more bytes than all
/// of `budget`, of which nothing is taken here.
zp::result<std::optional<python_value>> python_value_of(const conversion& what,
                                                        const converted& each,
                                                        const value_budget& budget);

}  // namespace cli
