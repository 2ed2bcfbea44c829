// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/pickle/pickle_convert.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch {

ZARRPOINT_INLINE result<std::vector<std::byte>> to_bytes(const pickle_value& value, int levels) {
  const error refusal{errc::unsupported, "a pickled value is not bytes"};
  if (const auto plain = value.if_bytes()) return std::vector(plain->begin(), plain->end());
  if (value.kind() != pickle_kind::call || levels == 0) return refusal;
  if (value.is_call_of("_io", "BytesIO")) {
    if (value.state_count() != 1 || value.state(0).element_count() == 0) return refusal;
    return to_bytes(value.state(0).element(0), levels - 1);
  }
  const pickle_value arguments = value.arguments();
  if (value.is_call_of("builtins", "bytes") || value.is_call_of("builtins", "bytearray")) {
    if (arguments.element_count() == 0) return std::vector<std::byte>();
    if (arguments.element_count() != 1) return refusal;
    return to_bytes(arguments.element(0), levels - 1);
  }
  if (!value.is_call_of("_codecs", "encode") || arguments.element_count() != 2) return refusal;
  const std::string* text = arguments.element(0).if_string();
  const std::string* encoding = arguments.element(1).if_string();
  if (text == nullptr || encoding == nullptr || (*encoding != "latin1" && *encoding != "latin-1"))
    return refusal;
  std::vector<std::byte> out;
  out.reserve(text->size());
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto point = zarrpoint::detail::take_code_point(rest);
    if (!point || *point > 0xff)
      return error{errc::corrupt, "pickled bytes hold a character that is not a byte"};
    out.push_back(static_cast<std::byte>(*point));
  }
  return out;
}

}  // namespace torch

namespace torch { namespace detail {

class pickle_to_node {
 public:
  explicit pickle_to_node(const pickle_node_limits& limits) : limits_(limits) {}

  result<node> convert(const pickle_value& value, std::size_t depth) {
    if (depth > limits_.max_depth)
      return error{errc::unsupported, "nested deeper than " + std::to_string(limits_.max_depth) +
                                          " levels, or within itself"};
    if (++values_ > limits_.max_values)
      return error{errc::resource_limit,
                   "more than " + std::to_string(limits_.max_values) + " values"};
    switch (value.kind()) {
      case pickle_kind::none: return node();
      case pickle_kind::boolean: return node(*value.to_bool());
      case pickle_kind::real: return node(*value.to_double());
      case pickle_kind::string:
        ZARRPOINT_CHECK(charge(*value.if_string()));
        return node(*value.if_string());
      case pickle_kind::integer:
        if (const auto narrow = value.to_int64()) return node(*narrow);
        if (const auto wide = value.to_uint64()) return node(*wide);
        return refuse("an integer that does not fit in 64 bits");
      case pickle_kind::list:
      case pickle_kind::tuple: {
        node::array out;
        for (std::size_t i = 0; i < value.element_count(); ++i) {
          ZARRPOINT_TRY(one,
                        convert(value.element(i), depth + 1).at("[" + std::to_string(i) + "]"));
          out.push_back(std::move(one));
        }
        return node(std::move(out));
      }
      case pickle_kind::dict: return members_of(value, depth);
      case pickle_kind::call:
        // What is set in it is all that there is of it.
        if (value.is_call_of("collections", "OrderedDict") &&
            value.arguments().element_count() == 0 && value.state_count() == 0 &&
            value.element_count() == 0)
          return members_of(value, depth);
        return refuse("a call of " + called(value.callable()));
      case pickle_kind::bytes: return refuse("bytes");
      case pickle_kind::set: return refuse("a set");
      case pickle_kind::global: return refuse(called(value));
      case pickle_kind::persistent: return refuse("a value that is kept outside the pickle");
    }
    return refuse("an unknown value");
  }

 private:
  static error refuse(const std::string& what) {
    return {errc::unsupported, what + " is not a JSON value"};
  }
  static std::string called(const pickle_value& value) {
    if (value.kind() != pickle_kind::global) return "something";
    return std::string(value.module()) + "." + std::string(value.name());
  }

  /// One text may be there any number of times.
  result<void> charge(const std::string& text) {
    if (text.size() > limits_.max_text - text_)
      return error{errc::resource_limit,
                   "more than " + std::to_string(limits_.max_text) + " bytes of text"};
    text_ += text.size();
    return {};
  }

  result<node> members_of(const pickle_value& value, std::size_t depth) {
    node::object out;
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < value.member_count(); ++i) {
      const pickle_value key = value.key(i);
      const std::string* name = key.if_string();
      if (name == nullptr) return refuse("a dict with keys other than strings");
      ZARRPOINT_CHECK(charge(*name));
      ZARRPOINT_TRY(one, convert(value.member(i), depth + 1).at(*name));
      const auto [place, is_new] = places.try_emplace(*name, out.size());
      if (is_new) {
        out.push_back({*name, std::move(one)});
      } else {
        out[place->second].value = std::move(one);
      }
    }
    return node(std::move(out));
  }

  pickle_node_limits limits_;
  std::size_t values_ = 0;
  std::size_t text_ = 0;
};

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<node> to_node(const pickle_value& value, const pickle_node_limits& limits) {
  return detail::pickle_to_node(limits).convert(value, 0);
}

}  // namespace torch

}}  // namespace zarrpoint::v0
