// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>

#include <cstddef>
#include <cstdint>
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

  std::size_t node_limit() const noexcept;
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
  json_builder(const json_limits& limits, const nan_tokens& tokens);

  bool null() { return add(node()); }
  bool boolean(bool value) { return add(node(value)); }
  bool number_integer(std::int64_t value) { return add(node(value)); }
  bool number_unsigned(std::uint64_t value) { return add(node(value)); }
  bool number_float(double value, const std::string& token);
  bool string(std::string& value) { return add(node(std::move(value))); }
  template <class Binary>
  bool binary(Binary&) {
    return fail(errc::corrupt, "binary value");
  }

  bool start_object(std::size_t) { return open(true); }
  bool key(std::string& name);
  bool end_object();
  bool start_array(std::size_t) { return open(false); }
  bool end_array();

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
  static const std::string* duplicate_key(const node::object& members);

 private:
  struct frame {
    bool is_object;
    node::object members;
    node::array elements;
  };

  bool fail(errc code, std::string message);

  bool count();

  bool open(bool is_object);

  bool add(node value) { return count() && place(std::move(value)); }

  bool place(node value);

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

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/json_builder_impl.hpp>
#endif
