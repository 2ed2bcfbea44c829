// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<configuration_reader> configuration_reader::open(
    const node& configuration, std::initializer_list<std::string_view> known) {
  if (configuration.is_null()) return configuration_reader(configuration);
  const node::object* const members = configuration.if_object();
  if (members == nullptr) return error{errc::invalid_argument, "configuration is not an object"};
  for (const node::member& one : *members) {
    bool found = false;
    for (const std::string_view name : known) found = found || one.key == name;
    if (!found)
      return error{errc::invalid_argument,
                   "unknown configuration member " + detail::in_quotes(one.key)};
  }
  return configuration_reader(configuration);
}

ZARRPOINT_INLINE result<std::optional<bool>> configuration_reader::boolean(
    std::string_view key) const {
  const node* const found = find(key);
  if (found == nullptr) return std::optional<bool>();
  if (const bool* value = found->if_bool()) return std::optional<bool>(*value);
  return wrong(key, "true or false");
}

ZARRPOINT_INLINE result<std::optional<std::int64_t>> configuration_reader::integer(
    std::string_view key, std::int64_t low, std::int64_t high) const {
  const node* const found = find(key);
  if (found == nullptr) return std::optional<std::int64_t>();
  std::optional<std::int64_t> value = found->to_int64();
  // Some writers have 3.0 for 3.
  const double number = found->to_double().value_or(0.5);
  if (!value && number > -0x1p53 && number < 0x1p53 &&
      number == static_cast<double>(static_cast<std::int64_t>(number)))
    value = static_cast<std::int64_t>(number);
  if (value && *value >= low && *value <= high) return value;
  return wrong(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
}

ZARRPOINT_INLINE result<std::optional<std::string_view>> configuration_reader::text(
    std::string_view key) const {
  const node* const found = find(key);
  if (found == nullptr) return std::optional<std::string_view>();
  if (const std::string* value = found->if_string())
    return std::optional<std::string_view>(std::string_view(*value));
  return wrong(key, "a string");
}

ZARRPOINT_INLINE error configuration_reader::wrong(std::string_view key,
                                                   std::string_view expected) {
  std::string message("\"");
  return {errc::invalid_argument, message.append(key).append("\" is not ").append(expected)};
}

}}  // namespace zarrpoint::v0
