// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/config.hpp>

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A chain of codecs as options take it, or none: a braced list, `{{"bytes"}, {"zstd", 3}}`, or a
/// vector. `{}` is unset.
class codec_list {
 public:
  codec_list() = default;
  codec_list(std::initializer_list<codec_spec> chain) : chain_(std::in_place, chain) {}
  codec_list(std::vector<codec_spec> chain)  // NOLINT(google-explicit-constructor)
      : chain_(std::move(chain)) {}

  bool has_value() const noexcept { return chain_.has_value(); }
  /// The chain; `has_value()` is required.
  const std::vector<codec_spec>& operator*() const noexcept {
    ZARRPOINT_ASSERT(has_value());
    return *chain_;
  }
  const std::vector<codec_spec>* operator->() const noexcept { return &**this; }

 private:
  std::optional<std::vector<codec_spec>> chain_{};
};

}}  // namespace zarrpoint::v0
