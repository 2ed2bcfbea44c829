// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zarrpoint::inline v0 {

/// A value as JSON knows them: what attributes and codec configurations are. Integers are exact
/// over the whole of int64 and uint64, doubles may be NaN or infinite, and objects keep the order
/// of their members. It knows no text: `zarr/json.hpp` reads and writes it.
class node {
 public:
  struct member;
  using array = std::vector<node>;
  using object = std::vector<member>;

  // Defined below, where `member` is complete.
  node();
  node(const node&);
  node(node&&) noexcept;
  node& operator=(const node&);
  node& operator=(node&&) noexcept;
  ~node();

  node(std::nullptr_t);
  node(bool value);
  node(int value);
  node(std::int64_t value);
  /// Stored as int64 when it fits, so that equal numbers compare equal.
  node(std::uint64_t value);
  node(double value);
  node(std::string value);
  node(std::string_view value);
  node(const char* value);
  node(array values);
  node(object members);

  bool is_null() const noexcept { return std::holds_alternative<std::monostate>(value_); }
  bool is_number() const noexcept { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_integer() const noexcept {
    return std::holds_alternative<std::int64_t>(value_) ||
           std::holds_alternative<std::uint64_t>(value_);
  }
  const bool* if_bool() const noexcept { return std::get_if<bool>(&value_); }
  const std::string* if_string() const noexcept { return std::get_if<std::string>(&value_); }
  std::string* if_string() noexcept { return std::get_if<std::string>(&value_); }
  const array* if_array() const noexcept;
  array* if_array() noexcept;
  const object* if_object() const noexcept;
  object* if_object() noexcept;

  /// An exact integer; nothing for other kinds and for what does not fit.
  std::optional<std::int64_t> to_int64() const noexcept {
    if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
    return std::nullopt;
  }
  std::optional<std::uint64_t> to_uint64() const noexcept {
    if (const auto* value = std::get_if<std::uint64_t>(&value_)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&value_); value != nullptr && *value >= 0)
      return static_cast<std::uint64_t>(*value);
    return std::nullopt;
  }
  /// Any number as a double, rounded to nearest.
  std::optional<double> to_double() const noexcept {
    if (const auto* value = std::get_if<double>(&value_)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
    if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
    return std::nullopt;
  }

  /// The member of an object, or null.
  const node* find(std::string_view key) const noexcept;
  node* find(std::string_view key) noexcept;
  /// Sets a member, replacing one of that key; makes a null node an object first.
  void set(std::string key, node value);

  friend bool operator==(const node& a, const node& b);

  /// The storage, for visitors: monostate is null.
  using storage = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                               std::string, array, object>;
  const storage& value() const noexcept { return value_; }

 private:
  storage value_;
};

/// One member of an object.
struct node::member {
  std::string key;
  node value;

  friend bool operator==(const member&, const member&) = default;
};

inline node::node() = default;
inline node::node(const node&) = default;
inline node::node(node&&) noexcept = default;
inline node& node::operator=(const node&) = default;
inline node& node::operator=(node&&) noexcept = default;
inline node::~node() = default;
inline node::node(std::nullptr_t) {}
inline node::node(bool value) : value_(value) {}
inline node::node(int value) : value_(std::int64_t{value}) {}
inline node::node(std::int64_t value) : value_(value) {}
inline node::node(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}
inline node::node(double value) : value_(value) {}
inline node::node(std::string value) : value_(std::move(value)) {}
inline node::node(std::string_view value) : value_(std::string(value)) {}
inline node::node(const char* value) : value_(std::string(value)) {}
inline node::node(array values) : value_(std::move(values)) {}
inline node::node(object members) : value_(std::move(members)) {}
inline const node::array* node::if_array() const noexcept { return std::get_if<array>(&value_); }
inline node::array* node::if_array() noexcept { return std::get_if<array>(&value_); }
inline const node::object* node::if_object() const noexcept { return std::get_if<object>(&value_); }
inline node::object* node::if_object() noexcept { return std::get_if<object>(&value_); }
inline bool operator==(const node& a, const node& b) { return a.value_ == b.value_; }

inline const node* node::find(std::string_view key) const noexcept {
  if (const object* members = if_object()) {
    for (const member& m : *members) {
      if (m.key == key) return &m.value;
    }
  }
  return nullptr;
}
inline node* node::find(std::string_view key) noexcept {
  return const_cast<node*>(std::as_const(*this).find(key));
}
inline void node::set(std::string key, node value) {
  if (node* existing = find(key)) {
    *existing = std::move(value);
    return;
  }
  if (is_null()) value_ = object{};
  if (object* members = if_object()) members->push_back({std::move(key), std::move(value)});
}

}  // namespace zarrpoint::inline v0
