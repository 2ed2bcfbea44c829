// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The XML of S3's answers: elements and text.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What comes next in a document.
enum class xml_event : std::uint8_t { open, text, close, end };

/// Reads one document from its text, event by event, and keeps nothing of it but open names. It
/// knows the five entities and characters by number. What declares entities (a DTD) is refused, so
/// nothing in a document becomes more than it is.
class xml_reader {
 public:
  static constexpr std::size_t max_depth = 32;

  /// `text` is borrowed.
  explicit xml_reader(std::string_view text) : rest_(text) {}

  /// Errors: `corrupt` for what is not XML, or more of it than an answer has.
  result<xml_event> next();

  /// Of an element: without the prefix of its namespace. The names of attributes are passed over.
  std::string_view name() const noexcept { return name_; }
  /// After `text`: decoded.
  const std::string& text() const noexcept { return text_; }
  std::size_t depth() const noexcept { return open_.size(); }

 private:
  result<xml_event> open_element();
  result<xml_event> close_element();
  result<bool> skip_markup();
  result<void> decode(std::string_view raw);

  std::string_view rest_;
  std::string_view name_;
  std::string text_;
  std::vector<std::string_view> open_;
  bool closes_ = false;  ///< `<name/>`: a `close` is due
  bool began_ = false;
};

/// The text of each element that lies at a path such as `Error/Code`, in order. `visit` gets the
/// path, and the text without what stands around its children.
template <class F>
result<void> for_each_xml_text(std::string_view document, F&& visit) {
  xml_reader from(document);
  std::string path, text;
  while (true) {
    auto event = from.next();
    if (!event) return std::move(event).failure();
    switch (*event) {
      case xml_event::end: return {};
      case xml_event::open:
        if (!path.empty()) path += '/';
        path += from.name();
        text.clear();
        break;
      case xml_event::text: text += from.text(); break;
      case xml_event::close:
        visit(std::string_view(path), text);
        text.clear();
        path.resize(path.size() == from.name().size() ? 0 : path.size() - from.name().size() - 1);
        break;
    }
  }
}

/// One page of ListObjectsV2.
struct bucket_listing {
  struct object {
    std::string key;
    std::uint64_t size = 0;
    std::string etag{};
    std::string modified{};  ///< `2009-10-12T17:50:30.000Z`
  };
  std::vector<object> objects{};
  std::vector<std::string> prefixes{};
  std::string next{};  ///< the token of the next page; empty: this is the last
};
/// Errors: `corrupt`.
result<bucket_listing> parse_s3_listing(std::string_view document);

/// What an error body says.
struct s3_problem {
  std::string code{};
  std::string message{};
  std::string region{};
  std::string request_id{};
};
/// Nothing of what is not such a document.
s3_problem parse_s3_problem(std::string_view document);

}}}  // namespace zarrpoint::v0::detail
