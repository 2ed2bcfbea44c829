// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// A server on a socket of this machine, which answers with any bytes at all.

namespace http_server {

/// What is sent for a request.
struct reply {
  std::string bytes;
  enum end { keep, close, reset, hold } then = keep;  ///< `hold`: nothing more comes
  std::string again{};                                ///< sent over and over, until nobody takes it
  std::chrono::milliseconds before{0};                ///< that it takes
};

/// The head of a request, with its empty line, and its body.
struct request {
  std::string head, body;
  /// The value of a header, or nothing.
  std::string value(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class server {
 public:
  using handler = std::function<reply(const request&)>;

  explicit server(handler answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<::sockaddr*>(&at);
    is_up_ = ::bind(listener_, address, size) == 0 && ::listen(listener_, 64) == 0 &&
             ::getsockname(listener_, address, &size) == 0;
    port_ = ntohs(at.sin_port);
    if (is_up_) accepting_ = std::thread([this] { accept_all(); });
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    ends_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    if (accepting_.joinable()) accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& one : serving_) one.join();
    ::close(listener_);
  }

  bool is_up() const { return is_up_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  unsigned connections() const { return connections_; }

 private:
  void accept_all() {
    while (!ends_) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      serving_.emplace_back([this, fd] { serve(fd); });
    }
  }

  static bool send_all(int fd, const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const auto n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    return true;
  }

  static bool receive(int fd, std::string& to) {
    char bytes[16384];
    const auto n = ::recv(fd, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    to.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  void serve(int fd) {
    std::string text;
    for (bool goes_on = true; goes_on;) {
      std::size_t end = 0;
      while ((end = text.find("\r\n\r\n")) == std::string::npos && receive(fd, text)) {
      }
      if (end == std::string::npos) break;
      request got{text.substr(0, end + 4), {}};
      text.erase(0, end + 4);
      const std::string length = got.value("Content-Length");
      const std::size_t size = length.empty() ? 0 : std::stoul(length);
      while (text.size() < size && receive(fd, text)) {
      }
      got.body = text.substr(0, size);
      text.erase(0, size);
      const reply what = answer_(got);
      std::this_thread::sleep_for(what.before);
      goes_on = send_all(fd, what.bytes) && what.then == reply::keep;
      while (!what.again.empty() && send_all(fd, what.again)) {
      }
      if (what.then == reply::hold) {
        while (receive(fd, text)) {
        }
      }
      if (what.then == reply::reset) {
        const ::linger now{1, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      }
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  handler answer_;
  int listener_ = -1;
  bool is_up_ = false;
  unsigned port_ = 0;
  std::atomic<bool> ends_ = false;
  std::atomic<unsigned> connections_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

/// An answer with its Content-Length.
inline std::string with_length(const std::string& status, const std::string& headers,
                               const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// An honest answer to a range of an object, or for all of it.
inline std::string of_object(const request& got, const std::string& object,
                             const std::string& etag = "\"one\"") {
  const std::string range = got.value("Range");
  if (range.empty()) return with_length("200 OK", "ETag: " + etag + "\r\n", object);
  const std::size_t dash = range.find('-');
  const std::size_t right = std::stoul(range.substr(dash + 1));
  const std::size_t first = dash == 6 ? object.size() - std::min(right, object.size())
                                      : std::stoul(range.substr(6, dash - 6));
  const std::size_t last = dash == 6 ? object.size() - 1 : std::min(right, object.size() - 1);
  return with_length("206 Partial Content",
                     "ETag: " + etag + "\r\nContent-Range: bytes " + std::to_string(first) + '-' +
                         std::to_string(last) + '/' + std::to_string(object.size()) + "\r\n",
                     object.substr(first, last - first + 1));
}

}  // namespace http_server
