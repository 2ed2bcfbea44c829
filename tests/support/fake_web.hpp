// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/remote.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// A server of HTTP without a network, a clock without time, and what servers and networks do wrong.

namespace fake_web {

using namespace zarrpoint;
using std::chrono::milliseconds;

/// Waits take no time, and are counted.
class still_clock final : public retry_clock {
 public:
  time now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void wait(milliseconds time, const stop_token&) const override {
    const std::lock_guard lock(mutex_);
    waits.push_back(time);
    now_ += time;
  }
  double random() const override { return 0.5; }
  std::int64_t seconds() const override { return 784111777; }

  void pass(milliseconds time) const {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }
  mutable std::vector<milliseconds> waits;

 private:
  mutable std::mutex mutex_{};
  mutable time now_{};
};

/// What happens to one request.
struct fault {
  enum kind {
    none,
    status,        ///< `number`, with an error in XML
    refuse,        ///< no connection
    cut,           ///< the body ends after `number` bytes
    cut_quietly,   ///< the same, with a Content-Length of what comes
    slow,          ///< it takes `number` milliseconds
    ignore_range,  ///< 200 and all of it
    wrong_range,   ///< the bytes one further on
    more,          ///< a byte too many
    encoded,       ///< a Content-Encoding
    change,        ///< from here on the object is another one
  } what = none;
  unsigned number = 0;
  std::string retry_after{};
};

struct object {
  std::string bytes;
  std::string etag = "\"one\"";
  std::string generation{};  ///< as Google has it; empty: it is not told
};

struct server_state {
  std::map<std::string, object> objects;     ///< by their path, or by path and query
  std::map<std::string, std::string> leads;  ///< redirects: from a path to a location
  std::deque<fault> faults;                  ///< of the next requests
  std::vector<http_request> requests;        ///< without their views
  std::shared_ptr<still_clock> clock = std::make_shared<still_clock>();
  bool sends_etag = true;
  bool tells_size = true;  ///< of an empty object; else as S3 does
  bool knows_end = true;   ///< has ranges that are counted from the end
  std::mutex mutex{};
};

inline std::string header_of(const http_request& request, std::string_view name) {
  const std::string* value = find_header(request.headers, name);
  return value == nullptr ? "" : *value;
}

/// The transport that leads to such a server.
class server {
 public:
  result<http_response> send(const http_request& request) const {
    const std::lock_guard lock(state->mutex);
    state->requests.push_back(request);
    state->requests.back().into = {};
    if (request.began != nullptr) *request.began = state->clock->now();
    fault now;
    if (!state->faults.empty()) {
      now = state->faults.front();
      state->faults.pop_front();
    }
    if (now.what == fault::refuse) return error{errc::unavailable, "no connection"};
    if (now.what == fault::slow) {
      const milliseconds most = request.times.total;
      const milliseconds time(now.number);
      state->clock->pass(most.count() != 0 ? std::min(most, time) : time);
      if (most.count() != 0 && time >= most)
        return error{errc::unavailable, "the time for it is over"};
    }
    http_receiver to(request);
    if (now.what == fault::status) {
      to.begin(static_cast<int>(now.number));
      to.header("x-amz-request-id", "R1");
      if (!now.retry_after.empty()) to.header("Retry-After", now.retry_after);
      to.body(bytes("<Error><Code>SlowDown</Code><Message>Please wait.</Message></Error>"));
      return to.finish();
    }
    const web_url at = web_url::parse(request.url).value();
    if (const auto lead = state->leads.find(at.path); lead != state->leads.end()) {
      to.begin(302);
      to.header("Location", lead->second);
      to.body(bytes("moved"));
      return to.finish();
    }
    auto found = state->objects.find(at.path + '?' + at.query);
    if (found == state->objects.end()) found = state->objects.find(at.path);
    if (found == state->objects.end()) {
      to.begin(404);
      to.body(bytes("<html>not here</html>"));
      return to.finish();
    }
    object& of = found->second;
    if (now.what == fault::change) {
      of.etag += "2";
      for (char& c : of.bytes) c = static_cast<char>(c + 1);
    }
    const std::string condition = header_of(request, "If-Match");
    if (!condition.empty() && condition != of.etag) {
      to.begin(412);
      return to.finish();
    }
    return answer(to, request, of, now);
  }

  std::shared_ptr<server_state> state = std::make_shared<server_state>();

 private:
  static bytes_view bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

  result<http_response> answer(http_receiver& to, const http_request& request, const object& of,
                               const fault& now) const {
    std::string range = header_of(request, "Range");
    std::size_t first = 0, last = of.bytes.size() - 1;
    if (!range.empty() && now.what != fault::ignore_range) {
      const std::size_t dash = range.find('-');
      const std::size_t right = std::stoul(range.substr(dash + 1));
      if (dash != 6) {
        first = std::stoul(range.substr(6, dash - 6));
        last = std::min<std::size_t>(right, of.bytes.size() - 1);
      } else if (state->knows_end) {
        first = of.bytes.size() - std::min(right, of.bytes.size());
      } else {
        to.begin(416);
        to.header("Content-Length", "0");
        return to.finish();
      }
      if (now.what == fault::wrong_range) ++first, ++last;
      const std::string size = std::to_string(of.bytes.size());
      if (first >= of.bytes.size()) {
        to.begin(416);
        const std::string text = "<Error><Code>InvalidRange</Code></Error>";
        to.header("Content-Length", std::to_string(text.size()));
        if (state->tells_size) to.header("Content-Range", "bytes */" + size);
        to.body(bytes(text));
        return to.finish();
      }
      to.begin(206);
      to.header("Content-Range",
                "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' + size);
    } else {
      to.begin(200);
    }
    std::string body = of.bytes.substr(first, last - first + 1);
    if (now.what == fault::more) body += 'x';
    if (now.what == fault::cut_quietly) body.resize(std::min<std::size_t>(body.size(), now.number));
    to.header("Content-Length", std::to_string(body.size()));
    if (now.what == fault::encoded) to.header("Content-Encoding", "gzip");
    if (state->sends_etag) to.header("ETag", of.etag);
    if (!of.generation.empty()) to.header("x-goog-generation", of.generation);
    if (now.what == fault::cut) body.resize(std::min<std::size_t>(body.size(), now.number));
    if (!to.body(bytes(body))) return to.finish();
    return to.finish(now.what == fault::cut ? "the connection was reset" : "");
  }
};

/// Bytes that differ from place to place.
inline std::string some_bytes(std::size_t size, unsigned seed = 1) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>((i * 31 + i / 251 + seed * 7) & 0xff);
  return out;
}

}  // namespace fake_web
