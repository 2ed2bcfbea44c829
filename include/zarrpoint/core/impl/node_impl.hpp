// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>

#include <limits>
#include <new>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE void node::make_null() noexcept { ::new (static_cast<void*>(&value_)) storage(); }
ZARRPOINT_INLINE void node::make_bool(bool v) noexcept {
  ::new (static_cast<void*>(&value_)) storage(v);
}
ZARRPOINT_INLINE void node::make_int(std::int64_t v) noexcept {
  ::new (static_cast<void*>(&value_)) storage(v);
}
ZARRPOINT_INLINE void node::make_uint(std::uint64_t v) noexcept {
  if (v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    make_int(static_cast<std::int64_t>(v));
  } else {
    ::new (static_cast<void*>(&value_)) storage(v);
  }
}
ZARRPOINT_INLINE void node::make_double(double v) noexcept {
  ::new (static_cast<void*>(&value_)) storage(v);
}
ZARRPOINT_INLINE void node::make_string(std::string& v) noexcept {
  ::new (static_cast<void*>(&value_)) storage(std::move(v));
}
ZARRPOINT_INLINE void node::make_text(std::string_view v) {
  ::new (static_cast<void*>(&value_)) storage(std::string(v));
}
ZARRPOINT_INLINE void node::make_array(array& v) noexcept {
  ::new (static_cast<void*>(&value_)) storage(std::move(v));
}
ZARRPOINT_INLINE void node::make_object(object& v) noexcept {
  ::new (static_cast<void*>(&value_)) storage(std::move(v));
}
// The copy of the variant itself is not used: where the copy of an alternative fails to get memory,
// libstdc++ 12 destroys an alternative that it has not made, since it takes a variant of strings
// and vectors for one that never is without a value.
ZARRPOINT_INLINE void node::copy_from(const node& o) {
  std::visit(
      [&]<class T>(const T& value) {
        T copied = value;
        ::new (static_cast<void*>(&value_)) storage(std::in_place_type<T>, std::move(copied));
      },
      o.value_);
}
// Long lists are moved as they grow: to ask for the alternative here is several times as fast as
// what the variant does for each value.
ZARRPOINT_INLINE void node::move_from(node& o) noexcept {
  switch (o.value_.index()) {
    case 0: return make_null();
    case 1: return make_bool(*std::get_if<1>(&o.value_));
    case 2: return make_int(*std::get_if<2>(&o.value_));
    case 5: return make_string(*std::get_if<5>(&o.value_));
    case 6: return make_array(*std::get_if<6>(&o.value_));
    case 7: return make_object(*std::get_if<7>(&o.value_));
    default: ::new (static_cast<void*>(&value_)) storage(std::move(o.value_));
  }
}
ZARRPOINT_INLINE void node::assign(const node& o) {
  node copied = o;
  take(copied);
}
ZARRPOINT_INLINE void node::take(node& o) noexcept {
  node moved(std::move(o));  // which may lie within this one
  destroy();
  move_from(moved);
}
ZARRPOINT_INLINE void node::destroy() noexcept {
  if (value_.index() > 4) value_.~storage();  // the others own nothing
}
ZARRPOINT_INLINE bool node::equals(const node& o) const { return value_ == o.value_; }

ZARRPOINT_INLINE const node::array* node::if_array() const noexcept {
  return std::get_if<array>(&value_);
}
ZARRPOINT_INLINE node::array* node::if_array() noexcept { return std::get_if<array>(&value_); }
ZARRPOINT_INLINE const node::object* node::if_object() const noexcept {
  return std::get_if<object>(&value_);
}
ZARRPOINT_INLINE node::object* node::if_object() noexcept { return std::get_if<object>(&value_); }

ZARRPOINT_INLINE const node* node::find(std::string_view key) const noexcept {
  if (const object* members = if_object()) {
    for (const member& m : *members) {
      if (m.key == key) return &m.value;
    }
  }
  return nullptr;
}
ZARRPOINT_INLINE node* node::find(std::string_view key) noexcept {
  return const_cast<node*>(std::as_const(*this).find(key));
}
ZARRPOINT_INLINE void node::set(std::string key, node value) {
  if (node* existing = find(key)) {
    *existing = std::move(value);
    return;
  }
  if (is_null()) value_ = object{};
  if (object* members = if_object()) members->push_back({std::move(key), std::move(value)});
}

ZARRPOINT_INLINE bool node::is_null() const noexcept {
  return std::holds_alternative<std::monostate>(value_);
}
ZARRPOINT_INLINE bool node::is_number() const noexcept {
  return is_integer() || std::holds_alternative<double>(value_);
}
ZARRPOINT_INLINE bool node::is_integer() const noexcept {
  return std::holds_alternative<std::int64_t>(value_) ||
         std::holds_alternative<std::uint64_t>(value_);
}
ZARRPOINT_INLINE const bool* node::if_bool() const noexcept { return std::get_if<bool>(&value_); }
ZARRPOINT_INLINE const std::string* node::if_string() const noexcept {
  return std::get_if<std::string>(&value_);
}
ZARRPOINT_INLINE std::string* node::if_string() noexcept {
  return std::get_if<std::string>(&value_);
}
ZARRPOINT_INLINE std::optional<std::int64_t> node::to_int64() const noexcept {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  return std::nullopt;
}
ZARRPOINT_INLINE std::optional<std::uint64_t> node::to_uint64() const noexcept {
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_); value != nullptr && *value >= 0)
    return static_cast<std::uint64_t>(*value);
  return std::nullopt;
}
ZARRPOINT_INLINE std::optional<double> node::to_double() const noexcept {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return std::nullopt;
}

}}  // namespace zarrpoint::v0
