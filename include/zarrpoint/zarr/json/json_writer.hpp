// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>

#include <array>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

/// How JSON is laid out.
enum class json_style : std::uint8_t {
  compact,  ///< no white space at all
  pretty,   ///< one member or element a line, indented by two spaces, as `json.dumps(x, indent=2)`
};

namespace detail {

/// The shortest text that reads back as `value`, spelled as Python's `repr` spells it, which is
/// what zarr-python writes. It is fixed from 1e-4 up to 1e16, always with a point or an exponent.
void write_json_double(std::string& out, double value);

void write_json_string(std::string& out, std::string_view text);

class json_writer {
 public:
  explicit json_writer(json_style style) : pretty_(style == json_style::pretty) {}

  void write(const json& value);
  std::string take() { return std::move(out_); }

 private:
  template <class T>
  void write_value(const T& value) {
    if constexpr (std::is_same_v<T, std::nullptr_t>) {
      out_ += "null";
    } else if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      write_json_double(out_, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      write_json_string(out_, value);
    } else if constexpr (std::is_same_v<T, json::array>) {
      write_list('[', value, ']', [this](const json& element) { write(element); });
    } else if constexpr (std::is_same_v<T, json::object>) {
      write_list('{', value, '}', [this](const json::member& member) {
        write_json_string(out_, member.key);
        out_ += pretty_ ? ": " : ":";
        write(member.value);
      });
    } else {
      out_ += std::to_string(value);
    }
  }

  template <class List, class F>
  void write_list(char open, const List& list, char close, F write_one) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& one : list) {
      if (!first) out_ += ',';
      first = false;
      new_line();
      write_one(one);
    }
    --depth_;
    if (!first) new_line();
    out_ += close;
  }

  void new_line();

  std::string out_;
  std::size_t depth_ = 0;
  bool pretty_;
};

}  // namespace detail

/// `value` as JSON text (RFC 8259), the same bytes for equal values in every run and on every
/// machine. Members keep their order, integers are exact, doubles are the shortest text that
/// reads back equal. NaN and the infinities become the bare tokens `NaN`, `Infinity` and
/// `-Infinity`, as zarr-python writes them; bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const json& value, json_style style = json_style::compact);

namespace detail {

/// `0.ddd... * 10^(exponent + 1)`: the first digit, which is not 0, counts 10^exponent, and the
/// last is not 0 either.
struct decimal_digits {
  std::array<char, 20> text{};
  std::size_t size = 0;
  int exponent = 0;

  std::string_view digits() const noexcept { return {text.data(), size}; }

  void drop_zeros() noexcept;
  /// The next larger number of as many digits.
  void increment() noexcept;
  /// The double nearest to it. Written without a point, which is another in some locales.
  double read_back() const noexcept;
};

/// The fewest digits that read back as `magnitude`, which is finite and above 0, and of those the
/// nearest to it. That is what `std::to_chars` gives, whose tables alone take 120 KiB of a small
/// program.
decimal_digits shortest_digits(double magnitude) noexcept;

}  // namespace detail

}}  // namespace zarrpoint::v0
