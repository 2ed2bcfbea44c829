// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The server of run.py: files of a folder and what is put, over HTTP/1.1 and as S3 has it (path
// style, unsigned; puts with conditions, uploads in parts, lists). One thread, sendfile.
// Usage: server PORT FOLDER
// GET /.bench/begin?delay=MS&keep=0|1  from now on each answer begins so many milliseconds after
//   its request, and the first one of a connection twice as many. What is put is kept, or, if it is
//   64 KiB or more, only its size.
// GET /.bench/report  requests, connections and bytes since then, and `sequence`: the longest chain
//   of requests of which each came when the answer to the one before had been sent.

#include "../harness.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string_view>

using bench::require;

namespace {

using clock_type = std::chrono::steady_clock;

struct object {
  std::string bytes{};  ///< empty for a file, and for what is not kept
  int file = -1;
  std::uint64_t size = 0;
  std::string etag{};
};

struct answer {
  std::string head{};
  std::shared_ptr<const object> body{};
  std::uint64_t at = 0, left = 0;  ///< of the body
};

struct connection {
  int fd = -1;
  std::string in{};
  bool is_new = true, is_waiting = false, is_sending = false, is_receiving = false;
  bool is_counted = false, is_closed = false;
  // The request whose body comes.
  std::string method{}, target{}, head{}, body{};
  std::uint64_t body_left = 0, body_size = 0;
  bool is_chunked = false, keeps_body = false;
  std::uint64_t depth = 0;
  answer out{};
  std::size_t head_sent = 0;
};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

class server {
 public:
  server(std::uint16_t port, std::string folder) : folder_(std::move(folder)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // As on Ethernet with large frames. The segments of 64 KiB of loopback fill the window of a
    // receiver at once, and then both wait for a probe.
    const int segment = 8960;
    ::setsockopt(listener_, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    require(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "bind");
    require(::listen(listener_, 1024) == 0, "listen");
    epoll_ = ::epoll_create1(0);
    watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
  }

  void run() {
    for (;;) {
      epoll_event events[64];
      int wait = -1;
      if (!timers_.empty()) {
        const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
                              timers_.top().first - clock_type::now())
                              .count();
        wait = left <= 0 ? 0 : static_cast<int>((left + 999) / 1000);
      }
      const int count = ::epoll_wait(epoll_, events, 64, wait);
      closed_.clear();
      for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == listener_) {
          accept_all();
        } else if (const auto found = connections_.find(events[i].data.fd);
                   found != connections_.end()) {
          serve(*found->second, events[i].events);
        }
      }
      while (!timers_.empty() && timers_.top().first <= clock_type::now()) {
        const auto of = timers_.top().second;
        timers_.pop();
        if (const auto found = connections_.find(of.first); found != connections_.end() &&
                                                            found->second.get() == of.second &&
                                                            of.second->is_waiting) {
          found->second->is_waiting = false;
          found->second->is_sending = true;
          send_more(*found->second);
        }
      }
    }
  }

 private:
  void watch(int fd, std::uint32_t events, int how) {
    epoll_event of{};
    of.events = events;
    of.data.fd = fd;
    ::epoll_ctl(epoll_, how, fd, &of);
  }

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
      if (fd < 0) return;
      const int yes = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      auto made = std::make_unique<connection>();
      made->fd = fd;
      connections_[fd] = std::move(made);
      watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
  }

  /// It stays in memory until the next events, for a caller that is at work with it.
  void close(connection& of) {
    ::close(of.fd);
    of.is_closed = true;
    closed_.push_back(std::move(connections_[of.fd]));
    connections_.erase(of.fd);
  }

  void serve(connection& of, std::uint32_t events) {
    if ((events & EPOLLOUT) != 0 && of.is_sending) {
      send_more(of);
      return;
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(of);
  }

  /// As much as there is. Bytes that nobody keeps are not even copied.
  void receive(connection& of) {
    static char room[std::size_t{1} << 20];
    while (!of.is_closed) {
      if (of.is_waiting || of.is_sending) {
        // Nothing is pipelined; a closed connection is noticed when the answer is sent.
        if (of.is_waiting) watch(of.fd, 0, EPOLL_CTL_MOD);
        return;
      }
      const bool drop = of.is_receiving && !of.keeps_body && !of.is_chunked && of.in.empty();
      const std::size_t most =
          drop ? static_cast<std::size_t>(std::min<std::uint64_t>(of.body_left, 64U << 20))
               : sizeof room;
      const ssize_t got = ::recv(of.fd, drop ? nullptr : room, most, drop ? MSG_TRUNC : 0);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close(of);
        return;
      }
      if (got < 0) return;
      if (drop) {
        of.body_left -= static_cast<std::uint64_t>(got);
      } else {
        of.in.append(room, static_cast<std::size_t>(got));
      }
      if (!of.is_receiving) take_head(of);
      if (of.is_receiving) take_body(of);
    }
  }

  static std::string header(const connection& of, const std::string& name) {
    const std::string low = lower(of.head);
    const std::size_t at = low.find("\r\n" + name + ":");
    if (at == low.npos) return {};
    std::size_t begin = at + name.size() + 3;
    const std::size_t end = of.head.find("\r\n", begin);
    while (begin < end && of.head[begin] == ' ') ++begin;
    return of.head.substr(begin, end - begin);
  }

  void take_head(connection& of) {
    const std::size_t end = of.in.find("\r\n\r\n");
    if (end == of.in.npos) return;
    of.head = of.in.substr(0, end + 2);
    of.in.erase(0, end + 4);
    of.method = of.head.substr(0, of.head.find(' '));
    const std::size_t from = of.method.size() + 1;
    of.target = of.head.substr(from, of.head.find(' ', from) - from);
    const std::string length = header(of, "content-length");
    of.body_left = of.body_size = length.empty() ? 0 : std::stoull(length);
    of.is_chunked = lower(header(of, "transfer-encoding")) == "chunked";
    of.keeps_body = of.method != "PUT" || keep_ || of.body_size < (64U << 10);
    of.body.clear();
    of.is_receiving = true;
    of.is_counted = of.target.rfind("/.bench/", 0) != 0;
    of.depth = 0;
    if (of.is_counted) {
      ++requests_;
      connections_made_ += of.is_new ? 1U : 0U;
      of.depth = deepest_answered_ + 1;
      sequence_ = std::max(sequence_, of.depth);
    }
    if (!header(of, "expect").empty()) {
      const std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      static_cast<void>(!::send(of.fd, go_on.data(), go_on.size(), MSG_NOSIGNAL));
    }
  }

  void take_body(connection& of) {
    if (of.is_chunked) {
      // All of it first: such bodies are those of some peers' small puts.
      const std::size_t end = of.in.find("\r\n0\r\n");
      if (end == of.in.npos && of.in.rfind("0\r\n", 0) != 0) return;
      std::string text;
      for (std::size_t at = 0;;) {
        const std::size_t line = of.in.find("\r\n", at);
        if (line == of.in.npos) return;
        const std::size_t size = std::stoull(of.in.substr(at, line - at), nullptr, 16);
        if (size == 0) break;
        text += of.in.substr(line + 2, size);
        at = line + 2 + size + 2;
      }
      of.in.clear();
      of.body_size = text.size();
      bytes_in_ += text.size();
      of.body = std::move(text);
      answer_it(of);
      return;
    }
    const std::size_t part =
        static_cast<std::size_t>(std::min<std::uint64_t>(of.body_left, of.in.size()));
    if (of.keeps_body) of.body.append(of.in, 0, part);
    of.in.erase(0, part);
    of.body_left -= part;
    if (of.body_left != 0) return;
    bytes_in_ += of.is_counted ? of.body_size : 0;
    answer_it(of);
  }

  static void reply(connection& of, const char* status, const std::string& text = {},
                    const std::string& headers = {}) {
    auto body = std::make_shared<object>();
    body->bytes = text;
    body->size = text.size();
    of.out.head = std::string("HTTP/1.1 ") + status +
                  "\r\nContent-Length: " + std::to_string(text.size()) + "\r\n" + headers + "\r\n";
    of.out.left = of.method == "HEAD" ? 0 : text.size();
    of.out.at = 0;
    of.out.body = std::move(body);
  }

  static std::string value_of(const std::string& query, const std::string& name) {
    for (std::size_t at = 0; at < query.size();) {
      const std::size_t end = std::min(query.find('&', at), query.size());
      const std::string one = query.substr(at, end - at);
      if (one.rfind(name + "=", 0) == 0) return decoded(one.substr(name.size() + 1));
      at = end + 1;
    }
    return {};
  }
  static bool has(const std::string& query, const std::string& name) {
    return ("&" + query + "&").find("&" + name + "&") != std::string::npos ||
           ("&" + query).find("&" + name + "=") != std::string::npos;
  }

  std::shared_ptr<const object> find(const std::string& path) {
    if (const auto found = put_.find(path); found != put_.end()) return found->second;
    if (const auto found = files_.find(path); found != files_.end()) return found->second;
    const std::string name = folder_ + path;
    struct stat is {};
    if (path.find("/../") != path.npos || ::stat(name.c_str(), &is) != 0 || !S_ISREG(is.st_mode))
      return nullptr;
    auto made = std::make_shared<object>();
    made->file = ::open(name.c_str(), O_RDONLY);
    made->size = static_cast<std::uint64_t>(is.st_size);
    made->etag = '"' + std::to_string(is.st_ino) + '-' + std::to_string(is.st_mtime) + '"';
    return files_[path] = std::move(made);
  }

  void get(connection& of, const std::string& path) {
    const auto found = find(path);
    if (found == nullptr) {
      reply(of, "404 Not Found", "<Error><Code>NoSuchKey</Code></Error>");
      return;
    }
    const std::string match = header(of, "if-match");
    if (!match.empty() && match != found->etag) {
      reply(of, "412 Precondition Failed");
      return;
    }
    std::uint64_t first = 0, last = found->size - 1;
    std::string range = header(of, "range");
    const bool is_part = range.rfind("bytes=", 0) == 0;
    if (is_part) {
      range.erase(0, 6);
      const std::size_t dash = range.find('-');
      if (dash == 0) {
        first = found->size - std::min<std::uint64_t>(found->size, std::stoull(range.substr(1)));
      } else {
        first = std::stoull(range);
        if (dash + 1 < range.size())
          last = std::min<std::uint64_t>(last, std::stoull(range.substr(dash + 1)));
      }
      if (first >= found->size) {
        reply(of, "416 Range Not Satisfiable", {},
              "Content-Range: bytes */" + std::to_string(found->size) + "\r\n");
        return;
      }
    }
    if (found->file < 0 && found->bytes.size() != found->size) {
      reply(of, "500 Internal Server Error", "not kept");
      return;
    }
    const std::uint64_t size = found->size == 0 ? 0 : last - first + 1;
    of.out.head = is_part ? "HTTP/1.1 206 Partial Content\r\n" : "HTTP/1.1 200 OK\r\n";
    of.out.head += "Content-Length: " + std::to_string(size) + "\r\nETag: " + found->etag +
                   "\r\nAccept-Ranges: bytes\r\nContent-Type: application/octet-stream\r\n"
                   "Last-Modified: Sat, 28 Nov 2026 12:00:00 GMT\r\n";
    if (is_part)
      of.out.head += "Content-Range: bytes " + std::to_string(first) + '-' + std::to_string(last) +
                     '/' + std::to_string(found->size) + "\r\n";
    of.out.head += "\r\n";
    of.out.body = found;
    of.out.at = first;
    of.out.left = of.method == "HEAD" ? 0 : size;
    bytes_out_ += of.out.left;
  }

  void list(connection& of, const std::string& bucket, const std::string& query) {
    const std::string prefix = value_of(query, "prefix"), by = value_of(query, "delimiter");
    std::set<std::string> keys, prefixes;
    const auto add = [&](const std::string& key) {
      if (key.rfind(prefix, 0) != 0) return;
      const std::size_t cut = by.empty() ? key.npos : key.find(by, prefix.size());
      (cut == key.npos ? keys : prefixes).insert(cut == key.npos ? key : key.substr(0, cut + 1));
    };
    for (const auto& [path, one] : put_)
      if (path.rfind(bucket + '/', 0) == 0) add(path.substr(bucket.size() + 1));
    std::string text = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>";
    for (const std::string& key : keys)
      text += "<Contents><Key>" + key + "</Key><Size>" +
              std::to_string(put_[bucket + '/' + key]->size) +
              "</Size><LastModified>2026-11-28T12:00:00.000Z</LastModified><ETag>" +
              put_[bucket + '/' + key]->etag + "</ETag></Contents>";
    for (const std::string& one : prefixes)
      text += "<CommonPrefixes><Prefix>" + one + "</Prefix></CommonPrefixes>";
    reply(of, "200 OK", text + "</ListBucketResult>", "Content-Type: application/xml\r\n");
  }

  void put(connection& of, const std::string& path) {
    const auto found = find(path);
    const std::string match = header(of, "if-match");
    const bool is_refused = (header(of, "if-none-match") == "*" && found != nullptr) ||
                            (!match.empty() && (found == nullptr || found->etag != match));
    if (is_refused) {
      reply(of, "412 Precondition Failed", "<Error><Code>PreconditionFailed</Code></Error>");
      return;
    }
    auto made = std::make_shared<object>();
    made->size = of.body_size;
    made->bytes = std::move(of.body);
    made->etag = next_tag();
    const std::string tag = "ETag: " + made->etag + "\r\n";
    put_[path] = std::move(made);
    reply(of, "200 OK", {}, tag);
  }

  std::string next_tag() { return '"' + std::to_string(++tags_) + '"'; }

  void upload(connection& of, const std::string& path, const std::string& query) {
    const std::string id = value_of(query, "uploadId");
    if (id.empty()) {  // the begin of one
      const std::string made = std::to_string(++tags_);
      uploads_[made] = {};
      reply(of, "200 OK",
            "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>" + made +
                "</UploadId></InitiateMultipartUploadResult>",
            "Content-Type: application/xml\r\n");
    } else if (of.method == "PUT") {
      object& part = uploads_[id][std::stoul(value_of(query, "partNumber"))];
      part.size = of.body_size;
      part.bytes = std::move(of.body);
      reply(of, "200 OK", {}, "ETag: " + next_tag() + "\r\n");
    } else if (of.method == "DELETE") {
      uploads_.erase(id);
      reply(of, "204 No Content");
    } else {
      auto made = std::make_shared<object>();
      for (auto& [number, part] : uploads_[id]) {
        made->size += part.size;
        made->bytes += part.bytes;
      }
      made->etag = next_tag();
      uploads_.erase(id);
      reply(of, "200 OK",
            "<CompleteMultipartUploadResult><Location>l</Location><Bucket>b</Bucket><Key>k</Key>"
            "<ETag>" +
                made->etag + "</ETag></CompleteMultipartUploadResult>",
            "Content-Type: application/xml\r\n");
      put_[path] = std::move(made);
    }
  }

  void control(connection& of, const std::string& path, const std::string& query) {
    if (path == "/.bench/begin") {
      delay_ = std::chrono::milliseconds(std::stol("0" + value_of(query, "delay")));
      keep_ = value_of(query, "keep") == "1";
      if (value_of(query, "empty") == "1") put_.clear(), uploads_.clear();
      requests_ = connections_made_ = bytes_in_ = bytes_out_ = deepest_answered_ = sequence_ = 0;
    }
    reply(of, "200 OK",
          "{\"requests\": " + std::to_string(requests_) + ", \"connections\": " +
              std::to_string(connections_made_) + ", \"received\": " + std::to_string(bytes_in_) +
              ", \"sent\": " + std::to_string(bytes_out_) +
              ", \"sequence\": " + std::to_string(sequence_) + "}");
  }

  void answer_it(connection& of) {
    of.is_receiving = false;
    const std::size_t question = of.target.find('?');
    const std::string path = decoded(of.target.substr(0, question));
    const std::string query = question == of.target.npos ? "" : of.target.substr(question + 1);
    if (!of.is_counted) {
      control(of, path, query);
    } else if (has(query, "uploads") || has(query, "uploadId")) {
      upload(of, path, query);
    } else if (has(query, "list-type")) {
      list(of, path.substr(0, path.find('/', 1)), query);
    } else if (of.method == "GET" || of.method == "HEAD") {
      get(of, path);
    } else if (of.method == "PUT") {
      put(of, path);
    } else if (of.method == "DELETE") {
      put_.erase(path);
      reply(of, "204 No Content");
    } else if (of.method == "POST" && has(query, "delete")) {
      const std::string bucket = path.substr(0, path.find('/', 1));
      for (std::size_t at = of.body.find("<Key>"); at != of.body.npos;
           at = of.body.find("<Key>", at)) {
        at += 5;
        put_.erase(bucket + '/' + of.body.substr(at, of.body.find("</Key>", at) - at));
      }
      reply(of, "200 OK", "<DeleteResult/>", "Content-Type: application/xml\r\n");
    } else {
      reply(of, "501 Not Implemented");
    }
    of.head_sent = 0;
    const auto wait = of.is_counted ? delay_ * (of.is_new ? 2 : 1) : delay_ * 0;
    of.is_new = of.is_new && !of.is_counted;
    if (wait.count() != 0) {
      of.is_waiting = true;
      timers_.push({clock_type::now() + wait, {of.fd, &of}});
      return;
    }
    of.is_sending = true;
    send_more(of);
  }

  void send_more(connection& of) {
    while (of.head_sent < of.out.head.size() || of.out.left != 0) {
      ssize_t sent = 0;
      if (of.head_sent < of.out.head.size()) {
        sent = ::send(of.fd, of.out.head.data() + of.head_sent, of.out.head.size() - of.head_sent,
                      MSG_NOSIGNAL | (of.out.left != 0 ? MSG_MORE : 0));
        if (sent > 0) of.head_sent += static_cast<std::size_t>(sent);
      } else {
        // One connection after the other, some at a time.
        const auto part =
            static_cast<std::size_t>(std::min<std::uint64_t>(of.out.left, std::uint64_t{1} << 20));
        if (of.out.body->file >= 0) {
          auto at = static_cast<off_t>(of.out.at);
          sent = ::sendfile(of.fd, of.out.body->file, &at, part);
        } else {
          sent = ::send(of.fd, of.out.body->bytes.data() + of.out.at, part, MSG_NOSIGNAL);
        }
        if (sent > 0) of.out.at += static_cast<std::uint64_t>(sent);
        if (sent > 0) of.out.left -= static_cast<std::uint64_t>(sent);
      }
      if (sent > 0) continue;
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) {
        watch(of.fd, EPOLLOUT, EPOLL_CTL_MOD);
        return;
      }
      close(of);
      return;
    }
    of.is_sending = false;
    if (of.is_counted) deepest_answered_ = std::max(deepest_answered_, of.depth);
    of.out = {};
    watch(of.fd, EPOLLIN, EPOLL_CTL_MOD);
  }

  std::string folder_;
  int listener_ = -1, epoll_ = -1;
  std::map<int, std::unique_ptr<connection>> connections_{};
  std::vector<std::unique_ptr<connection>> closed_{};
  using timer = std::pair<clock_type::time_point, std::pair<int, connection*>>;
  std::priority_queue<timer, std::vector<timer>, std::greater<>> timers_{};
  std::map<std::string, std::shared_ptr<object>> put_{}, files_{};
  std::map<std::string, std::map<std::size_t, object>> uploads_{};
  std::chrono::milliseconds delay_{0};
  bool keep_ = false;
  std::uint64_t tags_ = 0;
  std::uint64_t requests_ = 0, connections_made_ = 0, bytes_in_ = 0, bytes_out_ = 0;
  std::uint64_t deepest_answered_ = 0, sequence_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  server(static_cast<std::uint16_t>(std::stoul(words[1])), words[2]).run();
}
