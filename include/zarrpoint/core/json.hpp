// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A value as JSON knows them: what attributes and codec configurations are. Integers are exact
/// over the whole of int64 and uint64, doubles may be NaN or infinite, and objects keep the order
/// of their members. It knows no text: `zarr/json/json.hpp` reads and writes it.
class json {
 public:
  struct member;
  using array = std::vector<json>;
  using object = std::vector<member>;

  json() noexcept { make_null(); }
  json(const json& other) { copy_from(other); }
  json(json&& other) noexcept : kind_(other.kind_) { owns() ? move_owned(other) : share(other); }
  json& operator=(const json& other) { return assign(other), *this; }
  json& operator=(json&& other) noexcept { return take(other), *this; }
  ~json() {
    if (owns()) destroy();
  }

  json(std::nullptr_t) { make_null(); }
  json(bool value) { make_bool(value); }
  json(int value) { make_int(value); }
  json(std::int64_t value) { make_int(value); }
  /// Stored as int64 when it fits, so that equal numbers compare equal.
  json(std::uint64_t value) { make_uint(value); }
  json(double value) { make_double(value); }
  json(std::string value) { make_string(value); }
  json(std::string_view value) { make_text(value); }
  json(const char* value) { make_text(value); }
  json(array values) { make_array(values); }
  json(object members) { make_object(members); }

  bool is_null() const noexcept;
  bool is_number() const noexcept;
  bool is_integer() const noexcept;
  const bool* if_bool() const noexcept;
  const double* if_double() const noexcept;
  const std::string* if_string() const noexcept;
  std::string* if_string() noexcept;
  const array* if_array() const noexcept;
  array* if_array() noexcept;
  const object* if_object() const noexcept;
  object* if_object() noexcept;

  /// An exact integer; nothing for other kinds and for what does not fit.
  std::optional<std::int64_t> to_int64() const noexcept;
  std::optional<std::uint64_t> to_uint64() const noexcept;
  /// Any number as a double, rounded to nearest.
  std::optional<double> to_double() const noexcept;

  /// The member of an object, or null.
  const json* find(std::string_view key) const noexcept;
  json* find(std::string_view key) noexcept;
  /// The same of a member that is text, a list or an object; null for any other.
  const std::string* find_string(std::string_view key) const noexcept;
  const array* find_array(std::string_view key) const noexcept;
  const object* find_object(std::string_view key) const noexcept;
  /// Sets a member, replacing one of that key; makes a null an object first.
  void set(std::string key, json value);

  friend bool operator==(const json& a, const json& b) { return a.equals(b); }

  /// `visitor(held)`, where `held` is `nullptr`, a `bool`, `std::int64_t`, `std::uint64_t` (only
  /// what is beyond int64), `double`, `const std::string&`, `const array&` or `const object&`.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    switch (kind_) {
      case kind::boolean: return std::forward<Visitor>(visitor)(bool_);
      case kind::int64: return std::forward<Visitor>(visitor)(int64_);
      case kind::uint64: return std::forward<Visitor>(visitor)(uint64_);
      case kind::number: return std::forward<Visitor>(visitor)(double_);
      case kind::text: return std::forward<Visitor>(visitor)(text_);
      case kind::list: return std::forward<Visitor>(visitor)(array_);
      case kind::members: return std::forward<Visitor>(visitor)(object_);
      case kind::null: break;
    }
    return std::forward<Visitor>(visitor)(nullptr);
  }

 private:
  void make_null() noexcept;
  void make_bool(bool value) noexcept;
  void make_int(std::int64_t value) noexcept;
  void make_uint(std::uint64_t value) noexcept;
  void make_double(double value) noexcept;
  void make_string(std::string& value) noexcept;
  void make_text(std::string_view value);
  void make_array(array& values) noexcept;
  void make_object(object& members) noexcept;
  void copy_from(const json& other);
  void assign(const json& other);
  void take(json& other) noexcept;
  // Apart from what is done of numbers in place, so that each kind of list does not repeat it.
  void move_owned(json& other) noexcept;
  void destroy() noexcept;
  bool owns() const noexcept { return kind_ >= kind::text; }
  void share(const json& other) noexcept { std::memcpy(&uint64_, &other.uint64_, sizeof(uint64_)); }
  bool equals(const json& other) const;

  // Not a `std::variant`: one of eight alternatives takes the compiler half a second, and its copy
  // in libstdc++ 12 destroys what it has not made when memory runs out.
  enum class kind : std::uint8_t { null, boolean, int64, uint64, number, text, list, members };
  union {
    bool bool_;
    std::int64_t int64_;
    std::uint64_t uint64_;
    double double_;
    std::string text_;
    array array_;
    object object_;
  };
  kind kind_;
};

/// One member of an object.
struct json::member {
  std::string key;
  json value;

  friend bool operator==(const member&, const member&) = default;
};

}}  // namespace zarrpoint::v0
