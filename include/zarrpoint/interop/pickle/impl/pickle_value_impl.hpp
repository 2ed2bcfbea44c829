// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

ZARRPOINT_INLINE pickle_value::pickle_value(std::shared_ptr<const detail::pickle_arena> arena,
                                            detail::pickle_index at)
    : arena_(std::move(arena)), at_(at) {}

ZARRPOINT_INLINE std::optional<bool> pickle_value::to_bool() const noexcept {
  if (kind() != pickle_kind::boolean) return std::nullopt;
  return item().number != 0;
}

ZARRPOINT_INLINE std::optional<std::int64_t> pickle_value::to_int64() const noexcept {
  if (kind() != pickle_kind::integer || !item().body().text.empty()) return std::nullopt;
  return static_cast<std::int64_t>(item().number);
}

ZARRPOINT_INLINE std::optional<std::uint64_t> pickle_value::to_uint64() const noexcept {
  if (const auto narrow = to_int64())
    return *narrow < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(*narrow));
  const std::string& digits = item().body().text;
  if (kind() != pickle_kind::integer || digits.size() != 9 || digits[8] != 0) return std::nullopt;
  return load_le<std::uint64_t>(as_bytes(digits).data());
}

ZARRPOINT_INLINE std::optional<bytes_view> pickle_value::if_wide_integer() const noexcept {
  if (kind() != pickle_kind::integer || item().body().text.empty()) return std::nullopt;
  return as_bytes(item().body().text);
}

ZARRPOINT_INLINE std::optional<double> pickle_value::to_double() const noexcept {
  if (kind() != pickle_kind::real) return std::nullopt;
  return std::bit_cast<double>(item().number);
}

ZARRPOINT_INLINE const std::string* pickle_value::if_string() const noexcept {
  return kind() == pickle_kind::string ? &item().body().text : nullptr;
}

ZARRPOINT_INLINE std::optional<bytes_view> pickle_value::if_bytes() const noexcept {
  if (kind() != pickle_kind::bytes) return std::nullopt;
  return as_bytes(item().body().text);
}

ZARRPOINT_INLINE std::size_t pickle_value::element_count() const noexcept {
  return kind() == pickle_kind::dict ? 0 : item().element_count();
}

ZARRPOINT_INLINE std::optional<pickle_value> pickle_value::find(std::string_view key) const {
  const std::vector<detail::pickle_index>& all = members();
  for (std::size_t i = all.size(); i != 0; i -= 2) {
    const detail::pickle_item& one = arena_->items[all[i - 2]];
    if (one.kind == pickle_kind::string && one.body().text == key) return other(all[i - 1]);
  }
  return std::nullopt;
}

ZARRPOINT_INLINE std::string_view pickle_value::module() const noexcept {
  if (kind() != pickle_kind::global) return {};
  return std::string_view(item().body().text).substr(0, item().body().text.find('\n'));
}

ZARRPOINT_INLINE std::string_view pickle_value::name() const noexcept {
  if (kind() != pickle_kind::global) return {};
  return std::string_view(item().body().text).substr(item().body().text.find('\n') + 1);
}

ZARRPOINT_INLINE bool pickle_value::is_global(std::string_view module_name,
                                              std::string_view its_name) const noexcept {
  return kind() == pickle_kind::global && module() == module_name && name() == its_name;
}

ZARRPOINT_INLINE std::size_t pickle_value::state_count() const noexcept {
  return item().body().call == nullptr ? 0 : item().body().call->states.size();
}

ZARRPOINT_INLINE bool pickle_value::is_call_of(std::string_view module_name,
                                               std::string_view its_name) const {
  return kind() == pickle_kind::call && callable().is_global(module_name, its_name);
}

ZARRPOINT_INLINE bool pickle_value::is_same(const pickle_value& as) const noexcept {
  return arena_ == as.arena_ && at_ == as.at_;
}

ZARRPOINT_INLINE const std::vector<detail::pickle_index>& pickle_value::members() const noexcept {
  static const std::vector<detail::pickle_index> none;
  if (kind() == pickle_kind::dict) return item().body().elements;
  return item().body().call == nullptr ? none : item().body().call->members;
}

}}}  // namespace zarrpoint::v0::torch
