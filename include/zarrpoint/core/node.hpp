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
class node {
 public:
  struct member;
  using array = std::vector<node>;
  using object = std::vector<member>;

  node() noexcept { make_null(); }
  node(const node& other) { copy_from(other); }
  node(node&& other) noexcept : kind_(other.kind_) { owns() ? move_owned(other) : share(other); }
  node& operator=(const node& other) { return assign(other), *this; }
  node& operator=(node&& other) noexcept { return take(other), *this; }
  ~node() {
    if (owns()) destroy();
  }

  node(std::nullptr_t) { make_null(); }
  node(bool value) { make_bool(value); }
  node(int value) { make_int(value); }
  node(std::int64_t value) { make_int(value); }
  /// Stored as int64 when it fits, so that equal numbers compare equal.
  node(std::uint64_t value) { make_uint(value); }
  node(double value) { make_double(value); }
  node(std::string value) { make_string(value); }
  node(std::string_view value) { make_text(value); }
  node(const char* value) { make_text(value); }
  node(array values) { make_array(values); }
  node(object members) { make_object(members); }

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
  const node* find(std::string_view key) const noexcept;
  node* find(std::string_view key) noexcept;
  /// Sets a member, replacing one of that key; makes a null node an object first.
  void set(std::string key, node value);

  friend bool operator==(const node& a, const node& b) { return a.equals(b); }

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
  void copy_from(const node& other);
  void assign(const node& other);
  void take(node& other) noexcept;
  // Apart from what is done of numbers in place, so that each kind of list does not repeat it.
  void move_owned(node& other) noexcept;
  void destroy() noexcept;
  bool owns() const noexcept { return kind_ >= kind::text; }
  void share(const node& other) noexcept { std::memcpy(&uint64_, &other.uint64_, sizeof(uint64_)); }
  bool equals(const node& other) const;

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
struct node::member {
  std::string key;
  node value;

  friend bool operator==(const member&, const member&) = default;
};

}}  // namespace zarrpoint::v0
