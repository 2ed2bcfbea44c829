// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What a server says: the head of an answer with its body, and where it redirects.

#include <zarrpoint/remote.hpp>

#include "fuzz.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace {

using namespace fuzz;

void check_url(const zp::web_url& at) {
  const auto again = zp::web_url::parse(at.str());
  require(again.has_value(), "a URL that was made is one");
  require(again->str() == at.str(), "a URL is read as it was written");
  require(again->same_origin(at), "a URL is of its own origin");
  require(at.str().find_first_of(" \r\n") == std::string::npos, "a URL is one word");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::array<std::byte, 64> into{};
  const zp::http_request request{.url = "http://h/", .into = into, .text_limit = 100};
  zp::http_receiver receiver(request);
  std::string_view rest = text;
  bool goes_on = true;
  while (goes_on && !rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if ((line.empty() || line == "\r") && receiver.has_head()) break;
    goes_on = receiver.line(line);
  }
  if (goes_on && receiver.has_head()) receiver.body(std::as_bytes(std::span(rest)));
  const auto answer = receiver.finish();
  if (answer) {
    require(answer->status >= 200 && answer->status <= 599, "an answer has a status");
    require(answer->received <= 100 && answer->text.size() <= 100,
            "no more than there is room for");
    require(answer->status != 206 || answer->text.empty(), "what is wanted is not a text");
    for (const bool from_end : {false, true}) {
      const auto object = zp::detail::object_of_answer(*answer, 64, "n", from_end);
      require(object || !object.failure().message.empty(), "what is wrong has a name");
    }
    require(!zp::http_failure(*answer, "GET", "n").message.empty(), "a failure has a text");
    const zp::web_url from{.scheme = "https", .host = "h", .path = "/a/b"};
    if (const auto to = from.resolve(answer->header("Location"))) check_url(*to);
    if (const auto date = zp::parse_http_date(answer->header("Retry-After")))
      require(zp::parse_http_date(zp::http_date(*date)) == date, "a date is read as written");
  }
  if (const auto at = zp::web_url::parse(text)) {
    check_url(*at);
    require(at->shown().find('?') == std::string::npos, "a query is not shown");
  }
  if (const auto range = zp::detail::parse_content_range(text))
    require(!range->first || *range->first <= *range->last, "a range ends behind its begin");
  if (const auto bytes = zp::percent_decode(text))
    require(zp::percent_decode(zp::percent_encode(*bytes)) == bytes, "what is encoded is decoded");
  return 0;
}
