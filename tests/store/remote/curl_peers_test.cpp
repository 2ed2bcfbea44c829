// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/curl.hpp>
#include <zarrpoint/remote.hpp>
#include <zarrpoint/stores.hpp>

#include "support/fake_web.hpp"
#include "support/temp_directory.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

// Servers of others, where they are installed: nginx, and that of Python, which knows no ranges.

namespace curl_peers_test {

using namespace zarrpoint;
using std::chrono::milliseconds;

::sockaddr_in address_of(unsigned port) {
  ::sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  return at;
}

/// A port that nobody listens at.
unsigned free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in at = address_of(0);
  ::socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<::sockaddr*>(&at);
  const bool bound = ::bind(fd, address, size) == 0 && ::getsockname(fd, address, &size) == 0;
  ::close(fd);
  return bound ? ntohs(at.sin_port) : 0;
}

bool listens(unsigned port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const ::sockaddr_in at = address_of(port);
  const bool is_there = ::connect(fd, reinterpret_cast<const ::sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return is_there;
}

/// A program that serves at a port, for as long as this lives.
class server_process {
 public:
  server_process(const std::vector<std::string>& arguments, unsigned port) : port_(port) {
    std::vector<char*> argv;
    for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int nowhere = ::open("/dev/null", O_RDWR);
      for (const int fd : {0, 1, 2}) ::dup2(nowhere, fd);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    for (int i = 0; i < 400 && !is_up_; ++i) {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        break;
      }
      is_up_ = listens(port);
      if (!is_up_) std::this_thread::sleep_for(milliseconds(25));
    }
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  bool is_up() const { return is_up_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  unsigned port_;
  ::pid_t pid_ = -1;
  bool is_up_ = false;
};

struct site {
  test::temp_directory folder{};
  std::string large = fake_web::some_bytes(300'000);
  site() {
    const std::filesystem::path root = folder.path() / "www";
    std::filesystem::create_directories(root / "d");
    test::write_file(root / "large", large);
    test::write_file(root / "small name", "small");
    test::write_file(root / "empty", "");
  }
};

curl_transport direct() { return curl_transport({.proxy = "none"}); }

http_store store_at(const std::string& url) {
  http_store_options how;
  how.retry.first_wait = milliseconds(1);
  return http_store::open(url, direct(), how).value();
}

result<std::string> part(const http_store& of, const char* key, std::uint64_t offset,
                         std::size_t size) {
  ZARRPOINT_TRY(opened, of.open(store_key::parse(key).value()));
  if (opened == nullptr) return error{errc::not_found, "none"};
  std::string out(size, '\0');
  ZARRPOINT_CHECK(opened->read(offset, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST_CASE("curl peers: nginx") {
  const char* const program = "/usr/sbin/nginx";
  if (::access(program, X_OK) != 0) {
    MESSAGE("skipped: no nginx (Debian: nginx-light)");
    return;
  }
  const site files;
  const unsigned port = free_port();
  const std::string own = files.folder.path().string();
  std::string text =
      "daemon off; master_process off; pid OWN/pid; error_log OWN/log;\nevents {}\nhttp {\n"
      "access_log off; client_body_temp_path OWN/b; proxy_temp_path OWN/p;\n"
      "fastcgi_temp_path OWN/f; uwsgi_temp_path OWN/u; scgi_temp_path OWN/s;\n"
      "gzip on; gzip_types *; gzip_min_length 1;\n"
      "server { listen 127.0.0.1:PORT; root OWN/www;\n"
      "location /plain/ { alias OWN/www/; max_ranges 0; }\n"
      "location /moved/ { rewrite ^/moved/(.*)$ /$1 redirect; }\n"
      "location /circle/ { return 302 $request_uri; }\n"
      "location /busy/ { return 503 busy; }\n"
      "location /secret/ { alias OWN/www/; auth_basic x; auth_basic_user_file OWN/users; }\n"
      "} }\n";
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"OWN", own}, {"PORT", std::to_string(port)}})
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  test::write_file(own + "/nginx.conf", text);
  test::write_file(own + "/users", "me:{PLAIN}p@ss\n");
  std::filesystem::permissions(own, std::filesystem::perms(0755));
  const server_process nginx({program, "-c", own + "/nginx.conf"}, port);
  if (!nginx.is_up()) {
    MESSAGE("skipped: nginx does not start here");
    return;
  }
  const http_store at = store_at(nginx.url());
  CHECK(part(at, "large", 0, 300'000).value() == files.large);
  CHECK(part(at, "large", 123'456, 1000).value() == files.large.substr(123'456, 1000));
  CHECK(part(at, "small name", 1, 3).value() == "mal");
  CHECK(part(at, "empty", 0, 0).has_value());
  CHECK(part(at, "moved/large", 200'000, 100'000).value() == files.large.substr(200'000));
  CHECK(part(at, "none", 0, 1).failure().code == errc::not_found);
  CHECK(part(at, "d", 0, 1).failure().code == errc::not_found);  // a directory
  CHECK(part(at, "plain/large", 0, 300'000).value() == files.large);
  CHECK(part(at, "plain/large", 100'000, 10).failure().code == errc::unsupported);
  CHECK(part(at, "circle/x", 0, 1).failure().code == errc::io);
  CHECK(part(at, "busy/x", 0, 1).failure().code == errc::unavailable);
  CHECK(part(at, "secret/large", 0, 1).failure().code == errc::io);
  std::string with_user = nginx.url();
  with_user.insert(7, "me:p%40ss@");
  CHECK(part(store_at(with_user), "secret/large", 100'000, 10).value() ==
        files.large.substr(100'000, 10));

  // An object that is replaced while it is read.
  const auto opened = at.open(store_key::parse("large").value()).value();
  test::write_file(own + "/www/large", fake_web::some_bytes(300'001, 2));
  std::string into(1000, '\0');
  const auto changed = opened->read(100'000, std::as_writable_bytes(std::span(into)));
  REQUIRE_FALSE(changed.has_value());
  CHECK(changed.failure().code == errc::replaced);
}

TEST_CASE("curl peers: python3 -m http.server, which knows no ranges") {
  const char* const program = "/usr/bin/python3";
  if (::access(program, X_OK) != 0) {
    MESSAGE("skipped: no python3");
    return;
  }
  const site files;
  const unsigned port = free_port();
  const server_process python({program, "-m", "http.server", std::to_string(port), "--bind",
                               "127.0.0.1", "--directory", files.folder / "www"},
                              port);
  if (!python.is_up()) {
    MESSAGE("skipped: http.server does not start here");
    return;
  }
  const http_store at = store_at(python.url());
  CHECK(part(at, "small name", 1, 3).value() == "mal");
  CHECK(part(at, "large", 0, 300'000).value() == files.large);
  CHECK(part(at, "large", 1, 10).failure().code == errc::unsupported);
  CHECK(part(at, "empty", 0, 0).has_value());
  CHECK(part(at, "none", 0, 1).failure().code == errc::not_found);
  CHECK(part(at, "d", 0, 1).failure().code == errc::not_found);
}

}  // namespace curl_peers_test
