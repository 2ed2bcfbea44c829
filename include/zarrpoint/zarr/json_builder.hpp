// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// What a JSON document may cost, so that a hostile one is an error and not an exhausted machine.
struct json_limits {
  /// Consolidated metadata of 100,000 arrays are about 80 MB.
  std::size_t max_bytes = std::size_t{128} << 20;
  /// Nesting of arrays and objects; nested shards need 6 levels each.
  std::size_t max_depth = 64;
  /// Values in all; 0 for one for each 12 bytes that a document may have (they have one for 16), at
  /// 40 to 80 bytes of `node` each.
  std::size_t max_nodes = 0;
  /// Whether the bare tokens `NaN`, `Infinity` and `-Infinity` are numbers. JSON has none, but
  /// zarr-python writes them in attributes.
  bool allow_nan_literals = true;

  std::size_t node_limit() const noexcept {
    return max_nodes != 0 ? max_nodes : std::max<std::size_t>(max_bytes / 12, 4096);
  }
};

namespace detail {

/// Number tokens that stand for NaN and the infinities; see `nan_rewrite`. Empty = none.
struct nan_tokens {
  std::string nan;
  std::string infinity;
  std::string negative_infinity;
};

/// Receives the events of a JSON parser and builds a `node`, within limits. It has the members of
/// nlohmann_json's SAX interface and refuses duplicate keys.
class json_builder {
 public:
  json_builder(const json_limits& limits, const nan_tokens& tokens)
      : limits_(limits), tokens_(tokens) {}

  bool null() { return add(node()); }
  bool boolean(bool value) { return add(node(value)); }
  bool number_integer(std::int64_t value) { return add(node(value)); }
  bool number_unsigned(std::uint64_t value) { return add(node(value)); }
  bool number_float(double value, const std::string& token) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!tokens_.nan.empty()) {
      if (token == tokens_.nan) return add(node(std::numeric_limits<double>::quiet_NaN()));
      if (token == tokens_.infinity) return add(node(infinity));
      if (token == tokens_.negative_infinity) return add(node(-infinity));
    }
    // The parser turns integers that do not fit into doubles; rounding them would be silent.
    if (token.find_first_not_of("-0123456789") == std::string::npos)
      return fail(errc::out_of_range, "integer " + in_quotes(token) + " does not fit in 64 bits");
    return add(node(value));
  }
  bool string(std::string& value) { return add(node(std::move(value))); }
  template <class Binary>
  bool binary(Binary&) {
    return fail(errc::corrupt, "binary value");
  }

  bool start_object(std::size_t) { return open(true); }
  bool key(std::string& name) {
    frames_.back().members.push_back({std::move(name), node()});
    return true;
  }
  bool end_object() {
    node::object members = std::move(frames_.back().members);
    frames_.pop_back();
    if (const std::string* twice = duplicate_key(members))
      return fail(errc::corrupt, "duplicate key " + in_quotes(*twice));
    return place(node(std::move(members)));
  }
  bool start_array(std::size_t) { return open(false); }
  bool end_array() {
    node::array elements = std::move(frames_.back().elements);
    frames_.pop_back();
    return place(node(std::move(elements)));
  }

  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& what) {
    std::string_view text = what.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    if (const auto bracket = text.find("] "); bracket != std::string_view::npos)
      text.remove_prefix(bracket + 2);
    syntax_error_ = true;
    return fail(errc::corrupt, printable(text, 240));
  }

  /// Whether the text is not JSON, rather than above a limit or against a rule of ours.
  bool is_syntax_error() const noexcept { return syntax_error_; }
  std::optional<error>& failure() noexcept { return failure_; }
  node& root() noexcept { return root_; }

  /// A key that stands twice, or null.
  static const std::string* duplicate_key(const node::object& members) {
    constexpr std::size_t few = 12;
    if (members.size() <= few) {
      for (std::size_t i = 1; i < members.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (members[i].key == members[j].key) return &members[i].key;
        }
      }
      return nullptr;
    }
    std::vector<const std::string*> keys;
    keys.reserve(members.size());
    for (const node::member& member : members) keys.push_back(&member.key);
    // Sorted, since a hostile object of a million keys would make a search by pairs quadratic.
    std::sort(keys.begin(), keys.end(),
              [](const std::string* a, const std::string* b) { return *a < *b; });
    const auto twice =
        std::adjacent_find(keys.begin(), keys.end(),
                           [](const std::string* a, const std::string* b) { return *a == *b; });
    return twice == keys.end() ? nullptr : *twice;
  }

 private:
  struct frame {
    bool is_object;
    node::object members;
    node::array elements;
  };

  bool fail(errc code, std::string message) {
    if (!failure_) failure_ = error{code, std::move(message)};
    return false;
  }

  bool count() {
    const std::size_t most = limits_.node_limit();
    if (++nodes_ > most)
      return fail(errc::resource_limit, "more than " + std::to_string(most) + " values");
    return true;
  }

  bool open(bool is_object) {
    if (frames_.size() >= limits_.max_depth)
      return fail(errc::resource_limit,
                  "nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    if (!count()) return false;
    frames_.push_back({is_object, {}, {}});
    return true;
  }

  bool add(node value) { return count() && place(std::move(value)); }

  bool place(node value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (frames_.back().is_object) {
      frames_.back().members.back().value = std::move(value);
    } else {
      frames_.back().elements.push_back(std::move(value));
    }
    return true;
  }

  const json_limits& limits_;
  const nan_tokens& tokens_;
  std::vector<frame> frames_;
  node root_;
  std::size_t nodes_ = 0;
  std::optional<error> failure_;
  bool syntax_error_ = false;
};

}  // namespace detail

}  // namespace zarrpoint::inline v0
