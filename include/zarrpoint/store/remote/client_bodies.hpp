// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/remote/http_client.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <thread>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------- http_client.hpp

namespace detail {

class system_retry_clock final : public retry_clock {
 public:
  time now() const override { return std::chrono::steady_clock::now(); }
  void wait(std::chrono::milliseconds time, const stop_token& stop) const override {
    const auto end = now() + time;
    for (auto at = now(); at < end && !stop.stop_requested(); at = now())
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(end - at, slice));
  }
  double random() const override {
    // splitmix64 of a count and the time: that processes wait for different times is all it is for.
    std::uint64_t x = counter_.fetch_add(1) * 0x9e3779b97f4a7c15U +
                      static_cast<std::uint64_t>(now().time_since_epoch().count());
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
  }
  std::int64_t seconds() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
  }

 private:
  static constexpr std::chrono::milliseconds slice{50};
  mutable std::atomic<std::uint64_t> counter_{1};
};

/// The text between two marks, or nothing.
ZARRPOINT_INLINE std::string_view text_between(std::string_view text, std::string_view begin,
                                               std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == text.npos) return {};
  text.remove_prefix(at + begin.size());
  return text.substr(0, text.find(end));
}

/// The status and what the service says of it: XML of S3, JSON of Google, headers of Hugging Face.
ZARRPOINT_INLINE std::string service_words(const http_response& answer) {
  std::string out = "status " + std::to_string(answer.status);
  const auto add = [&out](std::string_view what) {
    if (!what.empty()) out += ": " + printable(what, 200);
  };
  const std::string_view text = answer.text;
  if (const std::string_view code = text_between(text, "<Code>", "</Code>"); !code.empty()) {
    add(code);
    add(text_between(text, "<Message>", "</Message>"));
  } else if (const std::size_t at = text.find("\"message\""); at != text.npos) {
    add(text_between(text.substr(at + 9), "\"", "\""));
  } else {
    add(answer.header("x-error-code"));
    add(answer.header("x-error-message"));
  }
  for (const char* name : {"x-amz-request-id", "x-guploader-uploadid", "x-request-id", "cf-ray"}) {
    const std::string_view id = answer.header(name);
    if (id.empty()) continue;
    return out + " (request id " + printable(id, 100) + ')';
  }
  return out;
}

ZARRPOINT_INLINE bool is_retried(int status) noexcept {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

ZARRPOINT_INLINE std::optional<content_range> parse_content_range(std::string_view text) {
  if (!same_letters(text.substr(0, 6), "bytes ")) return {};
  text.remove_prefix(6);
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return {};
  const std::string_view range = text.substr(0, slash), size = text.substr(slash + 1);
  content_range out;
  if (size != "*") {
    out.size = whole_number(size);
    if (!out.size) return {};
  }
  if (range == "*") return out;
  const std::size_t dash = range.find('-');
  if (dash == range.npos) return {};
  out.first = whole_number(range.substr(0, dash));
  out.last = whole_number(range.substr(dash + 1));
  const bool fits = out.first && out.last && *out.first <= *out.last && *out.last < UINT64_MAX &&
                    (!out.size || *out.last < *out.size);
  return fits ? std::optional(out) : std::nullopt;
}

/// What is wrong with a body that is taken for the object's own bytes, or nothing.
ZARRPOINT_INLINE result<void> check_encoding(const http_response& answer, std::string_view name) {
  const std::string_view encoding = answer.header("Content-Encoding");
  if (encoding.empty() || same_letters(encoding, "identity")) return {};
  return error{errc::unsupported, "GET " + std::string(name) + ": the server encodes the body (" +
                                      printable(encoding, 40) +
                                      ") though it was not asked to: parts of it cannot be read"};
}

ZARRPOINT_INLINE result<http_object> object_of_answer(const http_response& answer,
                                                      std::uint64_t asked, std::string_view name,
                                                      bool from_end) {
  const auto refuse = [&](errc code, const char* why) {
    return error{code, "GET " + std::string(name) + ": " + why};
  };
  const auto range = parse_content_range(answer.header("Content-Range"));
  http_object out;
  out.etag = answer.header("ETag");
  if (out.etag.empty()) out.last_modified = answer.header("Last-Modified");
  const auto changed = parse_http_date(out.last_modified);
  const auto now = parse_http_date(answer.header("Date"));
  // Google's JSON has no quotation marks, but the generation, which its ETag is made of.
  const bool has_generation = !answer.header("x-goog-generation").empty() && !out.etag.empty() &&
                              !out.etag.starts_with("W/");
  out.is_strong =
      out.etag.starts_with('"') || has_generation || (changed && now && *now - *changed >= 2);
  if (answer.status == 416) {
    // Of a range from 0 that says that there is not one byte. S3 says so in its body only.
    const bool is_empty = range && range->size
                              ? *range->size == 0
                              : answer.text.find("<Code>InvalidRange</Code>") != std::string::npos;
    if (is_empty) return out;
    return refuse(errc::io, "the server refuses a range from the begin of the object");
  }
  ZARRPOINT_CHECK(check_encoding(answer, name));
  if (answer.status == 206) {
    if (!range || !range->first || !range->size)
      return refuse(errc::io, "the server answers a range without saying which and of what size");
    out.size = *range->size;
    const std::uint64_t most = std::min(asked, out.size);
    const std::uint64_t first = from_end ? out.size - most : 0;
    if (range->first != first || *range->last + 1 != first + most)
      return refuse(errc::io, "the server sends another range than it was asked for");
    if (answer.overflow || answer.received > most)
      return refuse(errc::io, "the server sends more bytes than it was asked for");
    return out;
  }
  const auto length = whole_number(answer.header("Content-Length"));
  if (!length && !answer.whole())
    return refuse(errc::unsupported,
                  "the server sends all of it, without its size, where a range was asked for");
  out.size = length ? *length : answer.received;
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE std::shared_ptr<const retry_clock> retry_clock::system() {
  static const std::shared_ptr<const retry_clock> one =
      detail::make_counted<detail::system_retry_clock>();
  return one;
}

ZARRPOINT_INLINE error http_failure(const http_response& answer, std::string_view action,
                                    std::string_view name) {
  const int status = answer.status;
  const errc code = status == 404 || status == 410 ? errc::not_found
                    : status == 412                ? errc::replaced
                    : status == 416                ? errc::out_of_range
                    : detail::is_retried(status)   ? errc::unavailable
                                                   : errc::io;
  return {code,
          std::string(action) + ' ' + std::string(name) + ": " + detail::service_words(answer)};
}

/// One request and its attempts: when it may be sent again, and what is said when it may not.
class http_client::attempts {
 public:
  attempts(state& of, const http_request& request, const http_exchange& how)
      : of_(&of), stop_(request.stop), how_(&how), action_(request.method + ' ' + how.name) {}

  const std::string& action() const noexcept { return action_; }
  error fail(errc code, std::string_view why) const {
    return {code, action_ + ": " + std::string(why)};
  }

  result<http_response> once(http_request& request) {
    if (stop_.stop_requested()) return fail(errc::cancelled, "it was stopped");
    retry_clock::time began = of_->how.clock->now();
    request.began = &began;
    request.times = of_->how.times;
    if (const auto left = time_left()) {
      auto& total = request.times.total;
      total = total.count() == 0 ? *left : std::min(total, *left);
    }
    auto answer = of_->by.send(request);
    if (!began_) began_ = began;
    if (!answer) return std::move(answer).failure().at(action_);
    return answer;
  }

  void went_well() {
    const std::lock_guard lock(of_->mutex);
    const auto at = of_->spent.find(how_->budget);
    if (at != of_->spent.end() && --at->second == 0) of_->spent.erase(at);
  }

  /// Bytes came: from here on it is a new request.
  void went_on() noexcept { count_ = 0; }

  /// Waits before the next attempt. The error, if there is none: `why` and how often it was tried.
  result<void> wait_after(error why, std::string_view retry_after) {
    ++count_, ++all_;
    const retry_options& how = of_->how;
    if (count_ >= how.attempts) return give_up(std::move(why), {});
    const auto shift = std::min(count_ - 1, 20U);
    const auto most = std::min(how.longest_wait, how.first_wait * (std::int64_t{1} << shift));
    std::chrono::milliseconds wait(
        static_cast<std::int64_t>(static_cast<double>(most.count()) * of_->how.clock->random()));
    if (const auto asked = wait_of(retry_after)) {
      if (*asked > how.longest_wait)
        return give_up(std::move(why), "the server asks to wait for " +
                                           std::to_string(asked->count() / 1000) + " s");
      wait = std::max(wait, *asked);
    }
    if (const auto left = time_left(); left && *left <= wait)
      return give_up(std::move(why), "the time for it is over");
    if (!take_token()) return give_up(std::move(why), "too many requests there failed lately");
    of_->how.clock->wait(wait, stop_);
    return {};
  }

 private:
  error give_up(error why, std::string_view reason) const {
    if (all_ > 1) why.message += ", after " + std::to_string(all_) + " attempts";
    if (!reason.empty()) why.message.append("; ").append(reason);
    return why;
  }

  /// Of the deadline, at least a millisecond; nothing where there is none.
  std::optional<std::chrono::milliseconds> time_left() const {
    const auto deadline = of_->how.deadline;
    if (deadline.count() == 0) return {};
    if (!began_) return deadline;
    const auto gone =
        std::chrono::duration_cast<std::chrono::milliseconds>(of_->how.clock->now() - *began_);
    return std::max(deadline - gone, std::chrono::milliseconds(1));
  }

  std::optional<std::chrono::milliseconds> wait_of(std::string_view retry_after) const {
    constexpr std::int64_t most = 1'000'000;  // seconds
    std::int64_t seconds = 0;
    if (const auto number = detail::whole_number(retry_after)) {
      seconds = static_cast<std::int64_t>(std::min<std::uint64_t>(*number, most));
    } else if (const auto date = parse_http_date(retry_after)) {
      seconds = std::clamp<std::int64_t>(*date - of_->how.clock->seconds(), 0, most);
    } else {
      return {};
    }
    return std::chrono::milliseconds(seconds * 1000);
  }

  bool take_token() {
    const std::lock_guard lock(of_->mutex);
    unsigned& spent = of_->spent[how_->budget];
    if (spent >= of_->how.budget) return false;
    ++spent;
    return true;
  }

  state* of_;
  stop_token stop_;
  const http_exchange* how_;
  std::string action_;
  std::optional<retry_clock::time> began_{};
  unsigned count_ = 0, all_ = 0;
};

ZARRPOINT_INLINE http_client::http_client(any_transport by, retry_options how) {
  if (how.clock == nullptr) how.clock = retry_clock::system();
  state_ = detail::make_counted<state>(std::move(by), std::move(how));
}

namespace detail {

ZARRPOINT_INLINE bool is_plain_header(std::string_view name) {
  constexpr std::string_view plain[] = {"Accept",   "Accept-Encoding", "If-Match",  "If-None-Match",
                                        "If-Range", "Range",           "User-Agent"};
  return std::any_of(std::begin(plain), std::end(plain),
                     [&](std::string_view one) { return same_letters(one, name); });
}

/// Goes where a redirect leads, without credentials if that is elsewhere.
ZARRPOINT_INLINE result<void> follow_redirect(http_request& request, const http_response& answer) {
  ZARRPOINT_TRY(from, web_url::parse(request.url));
  const auto refuse = [](const char* why) {
    return error{errc::io, std::string("the server redirects ") + why};
  };
  auto to = from.resolve(answer.header("Location"));
  if (!to) return refuse("to something that is not a URL");
  if (from.scheme == "https" && to->scheme == "http")
    return refuse("to a connection that is not encrypted");
  if (!to->same_origin(from)) {
    std::erase_if(request.headers,
                  [](const http_header& one) { return !is_plain_header(one.name); });
  }
  request.url = to->str();
  return {};
}

ZARRPOINT_INLINE bool is_redirect(int status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace detail

ZARRPOINT_INLINE result<http_response> http_client::send(http_request request,
                                                         const http_exchange& how,
                                                         std::string* final_url) const {
  attempts tries(*state_, request, how);
  unsigned hops = 0;
  bool is_elsewhere = false;
  for (;;) {
    http_request attempt = request;
    if (how.prepare && !is_elsewhere) ZARRPOINT_CHECK(how.prepare(attempt).at(tries.action()));
    auto answer = tries.once(attempt);
    error why;
    std::string retry_after;
    bool is_done = false;  // whether the server may have done it
    if (!answer) {
      const errc code = answer.failure().code;
      // An answer that is none may be one to what was done.
      if (how.maybe_done != nullptr && (code == errc::io || code == errc::resource_limit))
        *how.maybe_done = true;
      if (code != errc::unavailable) return std::move(answer).failure();
      why = std::move(answer).failure();
      is_done = true;
    } else if (detail::is_retried(answer->status)) {
      why = http_failure(*answer, request.method, how.name);
      retry_after = answer->header("Retry-After");
      is_done = answer->status != 429 && answer->status != 503;
    } else if (!answer->whole() && !answer->overflow) {
      why = tries.fail(errc::unavailable, answer->fault);
      is_done = true;
    } else if (hops != how.redirects + 1 && detail::is_redirect(answer->status) &&
               how.redirects != 0 && !answer->header("Location").empty()) {
      if (hops++ == how.redirects)
        return tries.fail(
            errc::io, "the server redirects more than " + std::to_string(how.redirects) + " times");
      const std::string before = request.url;
      ZARRPOINT_CHECK(detail::follow_redirect(request, *answer).at(tries.action()));
      const auto from = web_url::parse(before), to = web_url::parse(request.url);
      is_elsewhere |= !from || !to || !from->same_origin(*to);
      continue;
    } else {
      tries.went_well();
      if (final_url != nullptr) *final_url = request.url;
      return answer;
    }
    if (is_done && how.maybe_done != nullptr) *how.maybe_done = true;
    if (is_done && !how.repeatable) return error{errc::outcome_unknown, std::move(why.message)};
    ZARRPOINT_CHECK(tries.wait_after(std::move(why), retry_after));
  }
}

ZARRPOINT_INLINE result<void> http_client::read(http_request request, const http_exchange& how,
                                                const http_object& of, std::uint64_t offset) const {
  constexpr std::size_t step = std::size_t{64} << 10;  // bytes that count as progress
  attempts tries(*state_, request, how);
  const mutable_bytes into = request.into;
  std::size_t done = 0, at_last_step = 0;
  const bool is_strong = of.etag.starts_with('"');
  while (done < into.size()) {
    http_request attempt = request;
    attempt.into = into.subspan(done);
    // Of a whole object, so that a server will do that knows no ranges.
    const bool is_whole = done == 0 && offset == 0 && into.size() == of.size;
    attempt.into_status = is_whole ? 200 : 206;
    const std::uint64_t first = offset + done, last = offset + into.size() - 1;
    if (!is_whole)
      attempt.headers.push_back(
          {"Range", "bytes=" + std::to_string(first) + '-' + std::to_string(last)});
    if (is_strong) attempt.headers.push_back({"If-Match", of.etag});
    if (how.prepare) ZARRPOINT_CHECK(how.prepare(attempt).at(tries.action()));
    auto answer = tries.once(attempt);
    if (!answer) {
      if (answer.failure().code != errc::unavailable) return std::move(answer).failure();
      ZARRPOINT_CHECK(tries.wait_after(std::move(answer).failure(), {}));
      continue;
    }
    if (detail::is_retried(answer->status)) {
      ZARRPOINT_CHECK(tries.wait_after(http_failure(*answer, request.method, how.name),
                                       answer->header("Retry-After")));
      continue;
    }
    if (answer->status == 412 || answer->status == 416)
      return tries.fail(errc::replaced, "it has changed since it was opened");
    if (answer->status != 200 && answer->status != 206)
      return http_failure(*answer, request.method, how.name);
    const std::string_view etag = answer->header("ETag");
    const std::string_view modified = answer->header("Last-Modified");
    if (of.etag.empty()
            ? !of.last_modified.empty() && !modified.empty() && modified != of.last_modified
            : !etag.empty() && etag != of.etag)
      return tries.fail(errc::replaced, "it has changed since it was opened");
    ZARRPOINT_CHECK(detail::check_encoding(*answer, how.name));
    if (answer->status != attempt.into_status) {
      return answer->status == 200
                 ? tries.fail(errc::unsupported,
                              "the server ignores ranges: it sends all of it where a part was "
                              "asked for")
                 : tries.fail(errc::io, "the server sends a part where all was asked for");
    }
    const auto range = detail::parse_content_range(answer->header("Content-Range"));
    if (!is_whole && (!range || range->first != first || !range->last || *range->last > last ||
                      (range->size && *range->size != of.size)))
      return tries.fail(errc::io, "the server sends another range than it was asked for");
    if (answer->overflow || (!is_whole && answer->received > *range->last - first + 1))
      return tries.fail(errc::io, "the server sends more bytes than it was asked for");
    done += static_cast<std::size_t>(answer->received);
    if (done == into.size()) break;
    if (done - at_last_step >= step) {
      tries.went_on();
      at_last_step = done;
    }
    const std::string why = answer->whole() ? "the answer ended after " + std::to_string(done) +
                                                  " of " + std::to_string(into.size()) + " bytes"
                                            : answer->fault;
    ZARRPOINT_CHECK(tries.wait_after(tries.fail(errc::unavailable, why), {}));
  }
  tries.went_well();
  return {};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif
