// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>

#include <limits>
#include <new>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE void node::make_null() noexcept { uint64_ = 0, kind_ = kind::null; }
ZARRPOINT_INLINE void node::make_bool(bool v) noexcept {
  uint64_ = 0;  // all of what `share` copies
  bool_ = v, kind_ = kind::boolean;
}
ZARRPOINT_INLINE void node::make_int(std::int64_t v) noexcept { int64_ = v, kind_ = kind::int64; }
ZARRPOINT_INLINE void node::make_uint(std::uint64_t v) noexcept {
  if (v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return make_int(static_cast<std::int64_t>(v));
  uint64_ = v, kind_ = kind::uint64;
}
ZARRPOINT_INLINE void node::make_double(double v) noexcept { double_ = v, kind_ = kind::number; }
ZARRPOINT_INLINE void node::make_string(std::string& v) noexcept {
  ::new (static_cast<void*>(&text_)) std::string(std::move(v));
  kind_ = kind::text;
}
ZARRPOINT_INLINE void node::make_text(std::string_view v) {
  ::new (static_cast<void*>(&text_)) std::string(v);
  kind_ = kind::text;
}
ZARRPOINT_INLINE void node::make_array(array& v) noexcept {
  ::new (static_cast<void*>(&array_)) array(std::move(v));
  kind_ = kind::list;
}
ZARRPOINT_INLINE void node::make_object(object& v) noexcept {
  ::new (static_cast<void*>(&object_)) object(std::move(v));
  kind_ = kind::members;
}
ZARRPOINT_INLINE void node::copy_from(const node& o) {
  if (o.kind_ == kind::text) return make_text(o.text_);
  if (o.kind_ == kind::list) {
    array copied = o.array_;
    return make_array(copied);
  }
  if (o.kind_ == kind::members) {
    object copied = o.object_;
    return make_object(copied);
  }
  kind_ = o.kind_;
  share(o);
}
ZARRPOINT_INLINE void node::move_owned(node& o) noexcept {
  if (o.kind_ == kind::text) return make_string(o.text_);
  if (o.kind_ == kind::list) return make_array(o.array_);
  make_object(o.object_);
}
ZARRPOINT_INLINE void node::assign(const node& o) {
  node copied = o;
  take(copied);
}
ZARRPOINT_INLINE void node::take(node& o) noexcept {
  node moved(std::move(o));  // which may lie within this one
  this->~node();
  ::new (static_cast<void*>(this)) node(std::move(moved));
}
ZARRPOINT_INLINE void node::destroy() noexcept {
  if (kind_ == kind::text) return text_.~basic_string();
  if (kind_ == kind::list) return array_.~array();
  object_.~object();
}
ZARRPOINT_INLINE bool node::equals(const node& o) const {
  if (kind_ != o.kind_) return false;
  switch (kind_) {
    case kind::null: break;
    case kind::boolean: return bool_ == o.bool_;
    case kind::int64: return int64_ == o.int64_;
    case kind::uint64: return uint64_ == o.uint64_;
    case kind::number: return double_ == o.double_;
    case kind::text: return text_ == o.text_;
    case kind::list: return array_ == o.array_;
    case kind::members: return object_ == o.object_;
  }
  return true;
}

ZARRPOINT_INLINE const bool* node::if_bool() const noexcept {
  return kind_ == kind::boolean ? &bool_ : nullptr;
}
ZARRPOINT_INLINE const double* node::if_double() const noexcept {
  return kind_ == kind::number ? &double_ : nullptr;
}
ZARRPOINT_INLINE const std::string* node::if_string() const noexcept {
  return kind_ == kind::text ? &text_ : nullptr;
}
ZARRPOINT_INLINE std::string* node::if_string() noexcept {
  return kind_ == kind::text ? &text_ : nullptr;
}
ZARRPOINT_INLINE const node::array* node::if_array() const noexcept {
  return kind_ == kind::list ? &array_ : nullptr;
}
ZARRPOINT_INLINE node::array* node::if_array() noexcept {
  return kind_ == kind::list ? &array_ : nullptr;
}
ZARRPOINT_INLINE const node::object* node::if_object() const noexcept {
  return kind_ == kind::members ? &object_ : nullptr;
}
ZARRPOINT_INLINE node::object* node::if_object() noexcept {
  return kind_ == kind::members ? &object_ : nullptr;
}

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
  if (is_null()) *this = object{};
  if (object* members = if_object()) members->push_back({std::move(key), std::move(value)});
}

ZARRPOINT_INLINE bool node::is_null() const noexcept { return kind_ == kind::null; }
ZARRPOINT_INLINE bool node::is_number() const noexcept {
  return is_integer() || kind_ == kind::number;
}
ZARRPOINT_INLINE bool node::is_integer() const noexcept {
  return kind_ == kind::int64 || kind_ == kind::uint64;
}
ZARRPOINT_INLINE std::optional<std::int64_t> node::to_int64() const noexcept {
  if (kind_ == kind::int64) return int64_;
  return std::nullopt;
}
ZARRPOINT_INLINE std::optional<std::uint64_t> node::to_uint64() const noexcept {
  if (kind_ == kind::uint64) return uint64_;
  if (kind_ == kind::int64 && int64_ >= 0) return static_cast<std::uint64_t>(int64_);
  return std::nullopt;
}
ZARRPOINT_INLINE std::optional<double> node::to_double() const noexcept {
  if (kind_ == kind::number) return double_;
  if (kind_ == kind::int64) return static_cast<double>(int64_);
  if (kind_ == kind::uint64) return static_cast<double>(uint64_);
  return std::nullopt;
}

}}  // namespace zarrpoint::v0
