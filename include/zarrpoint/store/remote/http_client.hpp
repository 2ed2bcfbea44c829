// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/remote/transport.hpp>
#include <zarrpoint/store/remote/web_url.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

// Requests that are sent again where that helps, once for all stores.

namespace zarrpoint { inline namespace v0 {

/// The time that retries are measured and waited by. Tests have their own.
class retry_clock {
 public:
  using time = std::chrono::steady_clock::time_point;

  retry_clock() = default;
  retry_clock(const retry_clock&) = delete;
  retry_clock& operator=(const retry_clock&) = delete;
  virtual ~retry_clock() = default;

  virtual time now() const = 0;
  /// Waits that long, or until a stop.
  virtual void wait(std::chrono::milliseconds time, const stop_token& stop) const = 0;
  /// Evenly from [0, 1).
  virtual double random() const = 0;
  /// Seconds of UTC since 1970, for a `Retry-After` that is a date.
  virtual std::int64_t seconds() const = 0;

  /// That of the system.
  static std::shared_ptr<const retry_clock> system();
};

/// How often a request is sent again, and how long all of that may take.
struct retry_options {
  unsigned attempts = 6;  ///< without progress, the first included
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds longest_wait{20'000};  ///< also of a `Retry-After` that is obeyed
  /// For a request with all of its attempts, from the first byte sent; 0 for no bound.
  std::chrono::milliseconds deadline{300'000};
  /// Retries that all requests to one place may have ahead of those that went well: a service that
  /// fails is not asked for ever more. Each that goes well gives one back.
  unsigned budget = 100;
  http_times times{};  ///< of one attempt
  /// Null: that of the system.
  std::shared_ptr<const retry_clock> clock{};
};

/// What is done with one request beside sending it.
struct http_exchange {
  std::string name{};    ///< of the object in errors: without credentials and query
  std::string budget{};  ///< requests of one such text share their retries: a host, or a bucket
  /// Called before each attempt, such as to sign it.
  std::function<result<void>(http_request&)> prepare{};
  unsigned redirects = 0;  ///< that are followed, of GET and HEAD
  /// Whether it may be sent again where nobody knows if the first was done. Such an error is
  /// `outcome_unknown` else.
  bool repeatable = true;
  /// Set where an attempt before the last, or one without an answer, may have been done. Null:
  /// nobody asks.
  bool* maybe_done = nullptr;
};

/// What is known of an object of a server: its size, and which one it is.
struct http_object {
  std::uint64_t size = 0;
  std::string etag{};           ///< with its quotation marks; or empty
  std::string last_modified{};  ///< where there is no ETag
  /// No other contents have the same. A weak ETag may be that of others. A time in seconds is that
  /// of several changes where the last one has only just been.
  bool is_strong = false;
};

/// An error made of an answer: what was done, where, the status, and the service's own code,
/// message and request id. 404 and 410 are `not_found`, 412 `replaced`, 416 `out_of_range`, what is
/// retried `unavailable`, all others `io`.
error http_failure(const http_response& answer, std::string_view action, std::string_view name);

/// A transport with retries; a shared handle for any number of threads.
class http_client {
 public:
  explicit http_client(any_transport by, retry_options how = {});

  /// Sends `request`, and again after 408, 429, 500, 502, 503, 504, a reset, a stall and an answer
  /// cut short. It does so with longer and longer random waits, or those that the server asks for.
  /// An answer of any other status is returned at once. `final_url` gets where redirects led.
  /// Errors: `unavailable`, with the last failure, when retries, budget or time are used up;
  /// `cancelled`; `outcome_unknown`, see `http_exchange::repeatable`; those of the transport and of
  /// `prepare`.
  result<http_response> send(http_request request, const http_exchange& how,
                             std::string* final_url = nullptr) const;

  /// Fills `into` from `offset` of an object: by a GET with a range of `request`, which goes on
  /// where it was cut short. Errors, beside those of `send` and `http_failure`: `replaced` when the
  /// server has another object by now; `unsupported` when it ignores ranges or encodes the body;
  /// `io` when it sends another range.
  result<void> read(http_request request, const http_exchange& how, const http_object& of,
                    std::uint64_t offset) const;

  /// Whether ranges that are counted from the end are asked for: until a server was seen not to
  /// know them.
  bool knows_last_bytes() const noexcept { return state_->knows_last; }
  void forget_last_bytes() const noexcept { state_->knows_last = false; }

  const retry_options& options() const noexcept { return state_->how; }
  const retry_clock& clock() const noexcept { return *state_->how.clock; }

 private:
  struct state {
    state(any_transport transport, retry_options options)
        : by(std::move(transport)), how(std::move(options)) {}
    any_transport by;
    retry_options how;
    std::mutex mutex;
    std::map<std::string, unsigned, std::less<>> spent;  ///< retries, by `http_exchange::budget`
    std::atomic<bool> knows_last = true;
  };
  class attempts;

  std::shared_ptr<state> state_;
};

namespace detail {

/// The object that an answer to a range of its first bytes is of, or of its last ones (`from_end`),
/// or an error that says what the server does wrong. `asked` is the size of that range.
result<http_object> object_of_answer(const http_response& answer, std::uint64_t asked,
                                     std::string_view name, bool from_end = false);

/// Whether a header of a request may go to another host: no one keeps a secret in it.
bool is_plain_header(std::string_view name);

/// A `Content-Range` of bytes: `bytes 0-9/100`, `bytes */100`.
struct content_range {
  std::optional<std::uint64_t> first{}, last{}, size{};
};
std::optional<content_range> parse_content_range(std::string_view text);

}  // namespace detail

}}  // namespace zarrpoint::v0
