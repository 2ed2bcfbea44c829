// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

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

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/impl/configuration_impl.hpp>
#endif
