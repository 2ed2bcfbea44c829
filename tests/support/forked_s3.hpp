// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One bucket for several processes: a server that is a process of its own, with the stand-in of
// fake_s3.hpp, and a transport that asks it over a socket.

#include <zarrpoint/core/bytes.hpp>

#include "fake_s3.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// Texts, one after the other, as a message of a socket.
class text_socket {
 public:
  explicit text_socket(int socket) : socket_(socket) {}
  text_socket(const text_socket&) = delete;
  text_socket& operator=(const text_socket&) = delete;
  ~text_socket() { ::close(socket_); }

  bool write(const std::vector<std::string>& texts) const {
    std::string all;
    const auto number = [&](std::uint64_t value) {
      char bytes[8];
      zp::store_le<std::uint64_t>(reinterpret_cast<std::byte*>(bytes), value);
      all.append(bytes, 8);
    };
    number(texts.size());
    for (const std::string& one : texts) {
      number(one.size());
      all += one;
    }
    for (std::size_t at = 0; at < all.size();) {
      const ssize_t sent = ::send(socket_, all.data() + at, all.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }
  /// Nothing where the other one is gone.
  std::optional<std::vector<std::string>> read() const {
    std::vector<std::string> out;
    const auto count = number();
    for (std::uint64_t i = 0; count && i < *count; ++i) {
      const auto size = number();
      if (!size) return std::nullopt;
      out.emplace_back(*size, '\0');
      if (!fill(out.back().data(), out.back().size())) return std::nullopt;
    }
    return count ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  std::optional<std::uint64_t> number() const {
    char bytes[8];
    if (!fill(bytes, sizeof bytes)) return std::nullopt;
    return zp::load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(bytes));
  }
  bool fill(char* to, std::size_t size) const {
    for (std::size_t at = 0; at < size;) {
      const ssize_t got = ::recv(socket_, to + at, size - at, 0);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    return true;
  }

  int socket_;
};

/// Starts the server; its end ends it. Copies are the same one.
class forked_s3 {
 public:
  /// Called in the process that sends, with the number of the request, before it and after it.
  std::function<void(int number, bool is_done)> at_request{};

  explicit forked_s3(const std::string& folder) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const std::string path = folder + "/s3";
    path.copy(at.sun_path, sizeof at.sun_path - 1);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at);
    ::listen(listener, 256);
    std::fflush(nullptr);  // or the child says it again
    const pid_t id = ::fork();
    if (id == 0) serve(listener);
    ::close(listener);
    server_ = std::make_shared<const server>(id, at);
  }

  /// What lies in the bucket, and how many uploads of parts are not ended.
  std::vector<std::string> keys() const { return ask({"keys"}).value(); }
  /// Its clock goes forward.
  void pass(int seconds) const { static_cast<void>(ask({"pass", std::to_string(seconds)})); }
  std::int64_t now() const { return std::stoll(ask({"now"}).value().at(0)); }
  int requests() const { return *sent_; }

  zp::result<zp::http_response> send(const zp::http_request& request) const {
    const int number = (*sent_)++;
    if (at_request) at_request(number, false);
    std::vector<std::string> texts{"send", request.method, request.url, ""};
    for (const zp::bytes_view part : request.body) texts[3] += zp::as_text(part);
    for (const zp::http_header& one : request.headers) {
      texts.push_back(one.name);
      texts.push_back(one.value);
    }
    const auto answer = ask(texts);
    if (!answer) return zp::error{zp::errc::unavailable, "the connection was reset"};
    if (at_request) at_request(number, true);
    zp::http_receiver to(request);
    to.begin(std::stoi(answer->at(0)));
    for (std::size_t i = 2; i + 1 < answer->size(); i += 2)
      to.header((*answer)[i], (*answer)[i + 1]);
    to.body(std::as_bytes(std::span((*answer)[1])));
    return to.finish();
  }

 private:
  struct server {
    pid_t id;
    sockaddr_un at;
    server(pid_t of, const sockaddr_un& where) : id(of), at(where) {}
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() {
      if (::getpid() != owner) return;  // a child's copy
      ::kill(id, SIGKILL);
      ::waitpid(id, nullptr, 0);
    }
    pid_t owner = ::getpid();
  };

  [[noreturn]] static void serve(int listener) {
    ::alarm(600);  // nothing here lasts that long
    const fake_s3 of;
    for (;;) {
      const text_socket asked(::accept(listener, nullptr, nullptr));
      const auto texts = asked.read();
      if (!texts) continue;  // of one that was killed meanwhile
      asked.write(answer(of, *texts));
    }
  }
  static std::vector<std::string> answer(const fake_s3& of, const std::vector<std::string>& texts) {
    if (texts[0] == "keys") {
      auto out = of.keys();
      for (const auto& [id, one] : of->uploads) out.push_back("upload of " + one.key);
      return out;
    }
    if (texts[0] == "pass") of->now += std::stoll(texts[1]);
    if (texts[0] != "send") return {std::to_string(of->now)};
    const zp::bytes_view body[] = {std::as_bytes(std::span(texts[3]))};
    zp::http_request request{.method = texts[1], .url = texts[2], .headers = {}, .body = body};
    request.text_limit = std::size_t{64} << 20;
    for (std::size_t i = 4; i + 1 < texts.size(); i += 2)
      request.headers.push_back({texts[i], texts[i + 1]});
    request.into_status = 0;
    const zp::http_response said = of.send(request).value();
    std::vector<std::string> out{std::to_string(said.status), said.text};
    for (const zp::http_header& one : said.headers) {
      out.push_back(one.name);
      out.push_back(one.value);
    }
    return out;
  }

  std::optional<std::vector<std::string>> ask(const std::vector<std::string>& texts) const {
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const text_socket to(made);
    if (::connect(made, reinterpret_cast<const sockaddr*>(&server_->at), sizeof server_->at) != 0)
      return std::nullopt;
    return to.write(texts) ? to.read() : std::nullopt;
  }

  std::shared_ptr<const server> server_;
  std::shared_ptr<std::atomic<int>> sent_ = std::make_shared<std::atomic<int>>(0);
};

/// The server's clock, asked for once; nobody waits.
class forked_s3_clock final : public zp::retry_clock {
 public:
  explicit forked_s3_clock(const forked_s3& of) : now_(of.now()) {}
  time now() const override { return time(std::chrono::seconds(now_)); }
  void wait(std::chrono::milliseconds, const zp::stop_token&) const override {}
  double random() const override { return 0.5; }
  std::int64_t seconds() const override { return now_; }

 private:
  std::int64_t now_;
};

}  // namespace test
