// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// What is wrong with one segment of a key, or null.
constexpr const char* key_segment_fault(std::string_view segment) noexcept {
  if (segment.empty()) return "an empty segment";
  if (segment == "." || segment == "..") return "a \".\" or \"..\" segment";
  if (segment.size() > 255) return "a segment of more than 255 bytes";
  while (!segment.empty()) {
    const auto lead = static_cast<unsigned char>(segment.front());
    if (lead < 0x20 || lead == 0x7f) return "a control character";
    if (lead == '\\') return "a backslash";
    const std::size_t length = utf8_sequence(segment);
    if (length == 0) return "bytes that are not UTF-8";
    segment.remove_prefix(length);
  }
  return nullptr;
}

}  // namespace detail

/// The name of an object in a store: UTF-8 segments joined by `/`, such as `layers/0/w/c/0`. The
/// empty key is the root, which names a place and never an object.
///
/// A key cannot hold `.` or `..` segments, an empty segment, a leading or trailing `/`, a backslash
/// or a control character. So no store has to defend itself against them. A segment has at most 255
/// bytes (file names) and a key at most 1024 (S3), so a key that one store takes fits them all.
class store_key {
 public:
  static constexpr std::size_t max_size = 1024;

  /// `text` as a key, `""` being the root; `invalid_argument` naming what breaks the rules.
  static result<store_key> parse(std::string_view text);

  /// The key that names the place itself.
  static store_key root() { return store_key(std::string()); }

  std::string_view str() const noexcept { return text_; }
  const char* c_str() const noexcept { return text_.c_str(); }
  bool is_root() const noexcept { return text_.empty(); }

  /// The last segment; empty for the root.
  std::string_view name() const noexcept;
  /// The key without its last segment; the root is its own parent.
  store_key parent() const;

  /// The key at `relative` beneath this one, `""` being this one; `invalid_argument` as `parse`.
  result<store_key> child(std::string_view relative) const;
  result<store_key> child(const store_key& relative) const { return child(relative.str()); }

  friend bool operator==(const store_key&, const store_key&) = default;
  friend std::strong_ordering operator<=>(const store_key& a, const store_key& b) noexcept {
    return a.text_ <=> b.text_;
  }

 private:
  explicit store_key(std::string text) : text_(std::move(text)) {}

  // The message shows hostile bytes as hex, and only the beginning of a long key.
  static error refuse(std::string_view text, const char* fault);

  std::string text_;
};

namespace detail {

/// What no store can rename: its root, and a place to one that is the same or lies within it, or
/// around it. Errors: `invalid_argument`.
template <class Store>
result<void> check_rename(const Store& store, const store_key& from, const store_key& to) {
  const auto refuse = [&](const char* why) {
    return error{errc::invalid_argument,
                 "rename " + store.describe(from) + " to " + store.describe(to) + ": " + why};
  };
  if (from.is_root() || to.is_root()) return refuse("the root of a store cannot be renamed");
  if (from == to) return refuse("both names are the same");
  const auto lies_in = [](const store_key& inner, const store_key& outer) {
    return inner.str().starts_with(std::string(outer.str()) + '/');
  };
  if (lies_in(to, from) || lies_in(from, to)) return refuse("one lies within the other");
  return {};
}

}  // namespace detail

}}  // namespace zarrpoint::v0
