// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Who exchanges messages of HTTP for a store: one operation, one request and its answer.

namespace zarrpoint { inline namespace v0 {

/// One line of the head of a message: `Name: value`.
struct http_header {
  std::string name;
  std::string value;
};

/// The value of the first header of that name, whatever the case of its letters; null if there is
/// none.
const std::string* find_header(const std::vector<http_header>& headers, std::string_view name);

/// How long a transport waits. What a request waits in the transport before its first byte is sent
/// counts for none of these; 0 stands for no bound.
struct http_times {
  std::chrono::milliseconds connect{10'000};  ///< for a connection, with its TLS
  std::chrono::milliseconds stall{30'000};    ///< in which no byte goes either way
  std::chrono::milliseconds total{0};         ///< from the first byte sent to the last received
};

/// One request. It borrows what its views see until `send` returns.
struct http_request {
  std::string method = "GET";
  std::string url{};                   ///< absolute and encoded, without credentials
  std::vector<http_header> headers{};  ///< `Host` and `Content-Length` are the transport's
  std::span<const bytes_view> body{};  ///< one after the other; the stated length is their sum
  /// Where the body of an answer goes whose status is `into_status`. Every other body, such as that
  /// of an error, goes to `http_response::text`.
  mutable_bytes into{};
  int into_status = 206;
  std::size_t text_limit = std::size_t{64} << 10;  ///< of `http_response::text`, in bytes
  http_times times{};
  stop_token stop{};
  bool is_direct = false;  ///< by no proxy: to a service of this machine, which gives it its keys
  /// Gets the time at which the transport began with it, after what it waited there. Null: nobody
  /// asks.
  std::chrono::steady_clock::time_point* began = nullptr;
};

/// An answer: its head has come, its body perhaps not whole.
struct http_response {
  int status = 0;
  std::vector<http_header> headers{};
  /// Bytes of the body that were kept: of `into` from its begin, or all of `text`.
  std::uint64_t received = 0;
  std::string text{};  ///< the body, where it did not go to `into`
  /// Why there is less than the body that was announced, or more of it than there was room for: as
  /// a transport says it, such as `the connection was reset`. Empty when the body is whole.
  std::string fault{};
  bool overflow = false;  ///< there was more than there was room for: `into`, or `text_limit`

  bool whole() const noexcept { return fault.empty(); }
  /// The header's value, or an empty text.
  std::string_view header(std::string_view name) const;
};

/// Sends one request and waits for its answer, for any number of threads at once. It follows no
/// redirect, retries nothing, decodes no `Content-Encoding` and adds no credentials of its own.
///
/// An answer of any status is a response. Errors, where no head of an answer came:
/// - `unavailable` for what may go well next time: no connection, a reset, a time that is over;
/// - `io` for what will not: a certificate that is refused, an answer that is not HTTP;
/// - `invalid_argument` for a URL that the transport does not take; `cancelled` after a stop.
///
/// They name no credentials and no query of the URL. `http_receiver` has the half of this.
template <class T>
concept http_transport = requires(const T& by, const http_request& request) {
  { by.send(request) } -> std::same_as<result<http_response>>;
}
&&std::move_constructible<T>;  // last: it asks for the constructors of what takes a transport

/// Any transport, as a shared handle.
class any_transport {
 public:
  template <class T>
    requires(!std::same_as<T, any_transport> && http_transport<T>)
  any_transport(T transport)  // NOLINT(google-explicit-constructor): every transport is one
      : model_(detail::make_counted<const model<T>>(std::move(transport))) {}

  result<http_response> send(const http_request& request) const { return model_->send(request); }

 private:
  struct interface {
    interface() = default;
    interface(const interface&) = delete;
    interface& operator=(const interface&) = delete;
    virtual ~interface() = default;
    virtual result<http_response> send(const http_request&) const = 0;
  };
  template <class T>
  struct model final : interface {
    explicit model(T by) : transport(std::move(by)) {}
    result<http_response> send(const http_request& request) const override {
      return transport.send(request);
    }
    T transport;
  };

  std::shared_ptr<const interface> model_;
};

/// Makes a response of what a transport receives: where its bytes go, and what is too much of them.
class http_receiver {
 public:
  /// Beyond these, the head of an answer is refused.
  static constexpr std::size_t max_head_bytes = std::size_t{256} << 10;
  static constexpr std::size_t max_headers = 1000;

  /// `request` is borrowed.
  explicit http_receiver(const http_request& request) : request_(&request) {}

  /// The status of an answer, before its headers. After an interim one (1xx) comes the next.
  void begin(int status);
  /// One header. False when there are too many: end the transfer.
  bool header(std::string_view name, std::string_view value);
  /// One line of the head, with or without its line break: `HTTP/1.1 200 OK`, `Name: value`, or
  /// nothing. False when it is not such a line, or there are too many.
  bool line(std::string_view text);
  /// Bytes of the body. False when there is no room for all of them: end the transfer.
  bool body(bytes_view bytes);

  /// Whether the last head is that of an answer, and not an interim one.
  bool has_head() const noexcept { return response_.status >= 200; }
  std::uint64_t received() const noexcept { return response_.received; }

  /// The answer, when the transfer has ended. `fault` says why it ended early; nothing where all
  /// that was announced is there. A shorter body than `Content-Length` states is a fault, too.
  /// Errors: `unavailable` with the fault, where no head came; `io` for a head that was refused.
  result<http_response> finish(std::string_view fault = {});

 private:
  const http_request* request_;
  http_response response_;
  std::size_t head_bytes_ = 0;
  const char* refused_ = nullptr;
};

}}  // namespace zarrpoint::v0
