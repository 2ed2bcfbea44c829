// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A codec as metadata names it: one entry of `codecs` in `zarr.json` (Zarr v3 core, "Codecs").
struct codec_spec {
  codec_spec() = default;
  /// `called` with an object as its configuration, or with none. An integer is short for the level
  /// of a compressor: `{"gzip", 5}` has the configuration `{"level": 5}`, and the others of `zstd`
  /// and `blosc` are those of `zstd_codecs` and `blosc_codecs`.
  codec_spec(std::string called, node configured = {}, bool needed = true);  // NOLINT

  std::string name;
  node configuration{};         ///< null when there is none
  bool must_understand = true;  ///< false: a reader that does not know the name leaves it out

  friend bool operator==(const codec_spec&, const codec_spec&) = default;
};

/// What a codec turns into what. A chain is any number of the first kind, exactly one of the
/// second, any number of the third.
enum class codec_kind { array_to_array, array_to_bytes, bytes_to_bytes };

/// The checked members of a codec's `configuration`, which is an object or null. Each getter gives
/// nothing for a member that is absent and `invalid_argument` for one of another kind.
class configuration_reader {
 public:
  /// Refuses what is not an object, and members not in `known`.
  static result<configuration_reader> open(const node& configuration,
                                           std::initializer_list<std::string_view> known);

  const node* find(std::string_view key) const { return node_->find(key); }

  result<std::optional<bool>> boolean(std::string_view key) const;
  /// An integer of [`low`, `high`].
  result<std::optional<std::int64_t>> integer(std::string_view key, std::int64_t low,
                                              std::int64_t high) const;
  /// A string.
  result<std::optional<std::string_view>> text(std::string_view key) const;

 private:
  explicit configuration_reader(const node& configuration) : node_(&configuration) {}

  static error wrong(std::string_view key, std::string_view expected);

  const node* node_;
};

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
