// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/remote/transport.hpp>

#include <curl/curl.h>

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// How libcurl connects. What is empty is libcurl's own choice, such as the proxies that the
/// environment names (`https_proxy`, `no_proxy`) and the certificates of the system. Certificates
/// in their place are named by `CURL_CA_BUNDLE`, `SSL_CERT_DIR` or `SSL_CERT_FILE`, too.
struct curl_options {
  unsigned transfers = 64;  ///< under way at once; others wait. A thread keeps as many connections.
  unsigned threads = 0;     ///< that drive them; 0: as many as processors, and not more than 4
  bool http2 = true;        ///< over TLS, where the server offers it
  std::string proxy{};      ///< such as `http://proxy:3128`, `socks5h://...`; `none` for no proxy
  std::string ca_file{};    ///< certificates to trust, in place of the system's: a PEM file
  std::string ca_path{};    ///< or a directory of them
  std::string client_certificate{};  ///< a PEM file, for servers that ask for one
  std::string client_key{};          ///< a PEM file, unless that one holds it
  bool verify = true;                ///< whether the server's certificate is checked
  std::string user_agent = "zarrpoint";
};

namespace detail {

/// Those that the environment names, as curl's own command takes them and in its order.
inline curl_options with_certificates(curl_options how) {
  const auto take = [&how](std::string& to, const char* name) {
    const char* const value = std::getenv(name);
    if (how.ca_file.empty() && how.ca_path.empty() && value != nullptr) to = value;
  };
  take(how.ca_file, "CURL_CA_BUNDLE");
  take(how.ca_path, "SSL_CERT_DIR");
  take(how.ca_file, "SSL_CERT_FILE");
  return how;
}

/// Transfers, and the one thread that drives them.
class curl_driver {
 public:
  explicit curl_driver(const curl_options& how) : how_(how) {
    // Once a process, and never undone: others may use libcurl, too. It takes what was done before.
    static const bool is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (is_ready) multi_ = curl_multi_init();
    if (multi_ == nullptr) return;
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(how_.transfers));
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &watch);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
  }
  curl_driver(const curl_driver&) = delete;
  curl_driver& operator=(const curl_driver&) = delete;
  ~curl_driver() {
    if (multi_ == nullptr) return;
    if (::getpid() != process_) {
      // A child of fork: the thread is not there, its connections are the parent's.
      if (thread_.joinable())
        // It can be neither joined nor left.
        new std::thread(std::move(thread_));  // NOLINT(bugprone-unhandled-exception-at-new)
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    curl_multi_wakeup(multi_);
    if (thread_.joinable()) thread_.join();
    curl_multi_cleanup(multi_);
  }

  result<http_response> send(const http_request& request) {
    transfer job(request);
    if (multi_ == nullptr || !job.prepare(how_))
      return error{errc::resource_limit, "no memory for a transfer"};
    // A child of fork has none of the threads, and its parent's connections are not its own.
    if (::getpid() != process_ || !is_driven()) {
      job.begin();
      return job.end(curl_easy_perform(job.easy));
    }
    std::unique_lock lock(mutex_);
    waiting_.push_back(&job);
    curl_multi_wakeup(multi_);
    job.done.wait(lock, [&job] { return job.is_done; });
    return job.end(job.outcome);
  }

 private:
  struct transfer {
    explicit transfer(const http_request& of) : request(&of), receiver(of) {}
    transfer(const transfer&) = delete;
    transfer& operator=(const transfer&) = delete;
    ~transfer() {
      if (easy != nullptr) curl_easy_cleanup(easy);
      curl_slist_free_all(headers);
    }

    bool prepare(const curl_options& how) {
      easy = curl_easy_init();
      if (easy == nullptr) return false;
      const auto set = [this](CURLoption option, auto value) {
        faults += curl_easy_setopt(easy, option, value) != CURLE_OK ? 1U : 0U;
      };
      set(CURLOPT_URL, request->url.c_str());
      set(CURLOPT_NOSIGNAL, 1L);
      set(CURLOPT_FOLLOWLOCATION, 0L);
      set(CURLOPT_PATH_AS_IS, 1L);  // as it is signed, also where a key has dots in it
      set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
      set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
      set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
      // A libcurl without HTTP/2 says no, and goes on with HTTP/1.1.
      curl_easy_setopt(
          easy, CURLOPT_HTTP_VERSION,
          static_cast<long>(how.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
      set(CURLOPT_USERAGENT, how.user_agent.c_str());
      if (request->is_direct || how.proxy == "none") {
        set(CURLOPT_PROXY, "");
      } else if (!how.proxy.empty()) {
        set(CURLOPT_PROXY, how.proxy.c_str());
      }
      if (!how.ca_file.empty()) set(CURLOPT_CAINFO, how.ca_file.c_str());
      if (!how.ca_path.empty()) set(CURLOPT_CAPATH, how.ca_path.c_str());
      if (!how.client_certificate.empty()) set(CURLOPT_SSLCERT, how.client_certificate.c_str());
      if (!how.client_key.empty()) set(CURLOPT_SSLKEY, how.client_key.c_str());
      if (!how.verify) set(CURLOPT_SSL_VERIFYPEER, 0L), set(CURLOPT_SSL_VERIFYHOST, 0L);
      set(CURLOPT_BUFFERSIZE, 256L << 10);
      set(CURLOPT_ERRORBUFFER, text);
      const http_times& times = request->times;
      if (times.connect.count() > 0)
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(times.connect.count()));
      if (times.total.count() > 0) set(CURLOPT_TIMEOUT_MS, static_cast<long>(times.total.count()));
      if (times.stall.count() > 0) {
        set(CURLOPT_LOW_SPEED_LIMIT, 1L);
        set(CURLOPT_LOW_SPEED_TIME, static_cast<long>((times.stall.count() + 999) / 1000));
      }
      set_body(set);
      for (const http_header& one : request->headers) {
        // A header without a value: curl takes it with a semicolon.
        add(one.name + (one.value.empty() ? ";" : ": " + one.value));
      }
      if (headers != nullptr) set(CURLOPT_HTTPHEADER, headers);
      set(CURLOPT_HEADERFUNCTION, &take_head);
      set(CURLOPT_HEADERDATA, static_cast<void*>(this));
      set(CURLOPT_WRITEFUNCTION, &take_body);
      set(CURLOPT_WRITEDATA, static_cast<void*>(this));
      set(CURLOPT_XFERINFOFUNCTION, &go_on);
      set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
      set(CURLOPT_NOPROGRESS, 0L);
      return faults == 0;
    }

    template <class F>
    void set_body(F&& set) {
      std::size_t size = 0;
      for (const bytes_view part : request->body) size += part.size();
      const bool sends = size != 0 || request->method == "PUT" || request->method == "POST";
      if (request->method == "HEAD") {
        set(CURLOPT_NOBODY, 1L);
      } else if (sends) {
        set(CURLOPT_UPLOAD, 1L);
        set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
        set(CURLOPT_READFUNCTION, &give_body);
        set(CURLOPT_READDATA, static_cast<void*>(this));
        set(CURLOPT_SEEKFUNCTION, &seek_body);
        set(CURLOPT_SEEKDATA, static_cast<void*>(this));
        set(CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
        add("Expect:");
      }
      set(CURLOPT_CUSTOMREQUEST, request->method.c_str());
    }

    void add(const std::string& line) {
      curl_slist* const more = curl_slist_append(headers, line.c_str());
      if (more == nullptr) {
        ++faults;
      } else {
        headers = more;
      }
    }

    void begin() const {
      if (request->began != nullptr) *request->began = std::chrono::steady_clock::now();
    }

    result<http_response> end(CURLcode code) {
      if (request->stop.stop_requested() && code != CURLE_OK)
        return error{errc::cancelled, "it was stopped"};
      if (code == CURLE_OK) return receiver.finish();
      // What is said of a proxy may have the credentials of its URL.
      const bool is_shown = text[0] != 0 && std::string_view(text).find('@') == std::string::npos;
      std::string why = printable(is_shown ? text : curl_easy_strerror(code), 200);
      // Not of a wrong name, or of one that is too old.
      if (code == CURLE_PEER_FAILED_VERIFICATION &&
          (why.find("issuer") != why.npos || why.find("self") != why.npos))
        why +=
            ": no authority that is trusted has signed it; curl_options::ca_file or the "
            "variable CURL_CA_BUNDLE names a PEM file with the authority's certificate";
      // A transfer that the receiver ended tells why by itself.
      if (receiver.has_head() || code == CURLE_WRITE_ERROR) return receiver.finish(why);
      return error{code_of(code), why};
    }

    static errc code_of(CURLcode code) {
      switch (code) {
        case CURLE_URL_MALFORMAT: return errc::invalid_argument;
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_ISSUER_ERROR:
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        case CURLE_SSL_INVALIDCERTSTATUS: return errc::io;
        case CURLE_OUT_OF_MEMORY: return errc::resource_limit;
        default: return errc::unavailable;
      }
    }

    static std::size_t take_head(char* data, std::size_t, std::size_t size, void* self) {
      return static_cast<transfer*>(self)->receiver.line({data, size}) ? size : size + 1;
    }
    static std::size_t take_body(char* data, std::size_t, std::size_t size, void* self) {
      const bool fits =
          static_cast<transfer*>(self)->receiver.body(std::as_bytes(std::span(data, size)));
      return fits ? size : size + 1;
    }
    static std::size_t give_body(char* to, std::size_t, std::size_t room, void* self) {
      auto& at = *static_cast<transfer*>(self);
      std::size_t given = 0;
      while (given < room && at.part < at.request->body.size()) {
        const bytes_view left = at.request->body[at.part].subspan(at.part_at);
        const std::size_t size = std::min(left.size(), room - given);
        if (size != 0) std::memcpy(to + given, left.data(), size);
        given += size, at.part_at += size;
        if (size == left.size()) ++at.part, at.part_at = 0;
      }
      return given;
    }
    /// To the begin: curl sends a body once more over a new connection.
    static int seek_body(void* self, curl_off_t offset, int origin) {
      if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
      static_cast<transfer*>(self)->part = 0;
      static_cast<transfer*>(self)->part_at = 0;
      return CURL_SEEKFUNC_OK;
    }
    static int go_on(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
      return static_cast<transfer*>(self)->request->stop.stop_requested() ? 1 : 0;
    }

    const http_request* request;
    http_receiver receiver;
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    unsigned faults = 0;
    std::size_t part = 0, part_at = 0;  ///< of the body that is sent
    char text[CURL_ERROR_SIZE] = {};
    CURLcode outcome = CURLE_OK;
    std::condition_variable done{};
    bool is_done = false;
  };

  /// Whether there is a thread, which the first request starts.
  bool is_driven() {
    const std::lock_guard lock(mutex_);
    if (thread_.joinable()) return true;
#if ZARRPOINT_EXCEPTIONS
    try {
#endif
      thread_ = std::thread([this] { drive(); });
      return true;
#if ZARRPOINT_EXCEPTIONS
    } catch (...) {
      return false;
    }
#endif
  }

  /// Acts on one socket after the other. The function curl_multi_perform reads from each as long as
  /// the server sends. What is done meanwhile would wait for all others, and the server for the
  /// next requests.
  void drive() {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds look_after{200};
    std::vector<curl_waitfd> ready;
    clock::time_point looked = clock::now();
    while (begin_waiting()) {
      act(CURL_SOCKET_TIMEOUT, 0);
      bool some_ended = conclude();
      for (const curl_waitfd& one : ready) {
        const int in = (one.revents & CURL_WAIT_POLLIN) != 0 ? CURL_CSELECT_IN : 0;
        const int out = (one.revents & CURL_WAIT_POLLOUT) != 0 ? CURL_CSELECT_OUT : 0;
        act(one.fd, in | out);
        some_ended |= conclude();
        if (begin_waiting()) act(CURL_SOCKET_TIMEOUT, 0);
      }
      ready.clear();
      if (clock::now() - looked >= look_after) {
        some_ended |= end_stopped();
        looked = clock::now();
      }
      for (curl_waitfd& one : watched_) one.revents = 0;
      int changed = 0;
      const auto wait = some_ended ? 0 : running_.empty() ? 60'000 : look_after.count();
      curl_multi_poll(multi_, watched_.data(), static_cast<unsigned>(watched_.size()),
                      static_cast<int>(wait), &changed);
      const auto noted = guarded([&]() -> result<void> {
        for (const curl_waitfd& one : watched_) {
          if (one.revents != 0) ready.push_back(one);
        }
        return {};
      });
      if (!noted) ready.clear();
      // A socket of which curl has told nothing yet, or no memory to note one.
      if (changed != 0 && ready.empty()) curl_multi_perform(multi_, &changed);
    }
  }

  void act(curl_socket_t socket, int events) {
    int active = 0;
    curl_multi_socket_action(multi_, socket, events, &active);
  }

  /// Curl says what it waits for, in the calls of `drive`.
  static int watch(CURL*, curl_socket_t socket, int what, void* self, void*) {
    auto& watched = static_cast<curl_driver*>(self)->watched_;
    std::erase_if(watched, [socket](const curl_waitfd& one) { return one.fd == socket; });
    if (what == CURL_POLL_REMOVE) return 0;
    const int in = (what & CURL_POLL_IN) != 0 ? CURL_WAIT_POLLIN : 0;
    const int out = (what & CURL_POLL_OUT) != 0 ? CURL_WAIT_POLLOUT : 0;
    const auto added = guarded([&]() -> result<void> {
      watched.push_back({socket, static_cast<short>(in | out), 0});
      return {};
    });
    return added ? 0 : -1;
  }

  /// Gives curl the requests that wait; false once the driver is closed and nothing is under way.
  bool begin_waiting() {
    const std::lock_guard lock(mutex_);
    for (; !waiting_.empty(); waiting_.pop_front()) {
      transfer& job = *waiting_.front();
      curl_easy_setopt(job.easy, CURLOPT_PRIVATE, static_cast<void*>(&job));
      job.begin();
      const auto added = guarded([&]() -> result<void> {
        running_.push_back(&job);
        return {};
      });
      if (!added) {
        finish(job, CURLE_OUT_OF_MEMORY);
      } else if (curl_multi_add_handle(multi_, job.easy) != CURLM_OK) {
        running_.pop_back();
        finish(job, CURLE_OUT_OF_MEMORY);
      }
    }
    return !closed_ || !running_.empty();
  }

  /// Hands over what is done; whether there was something.
  bool conclude() {
    bool some_ended = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode outcome = message->data.result;
      char* self = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
      remove(*reinterpret_cast<transfer*>(self), outcome);
      some_ended = true;
    }
    return some_ended;
  }

  /// The same with what is to stop, whether something comes for it or not.
  bool end_stopped() {
    const std::size_t before = running_.size();
    for (std::size_t i = before; i-- > 0;) {
      transfer& one = *running_[i];
      if (one.request->stop.stop_requested()) remove(one, CURLE_ABORTED_BY_CALLBACK);
    }
    return running_.size() != before;
  }

  void remove(transfer& job, CURLcode outcome) {
    curl_multi_remove_handle(multi_, job.easy);
    std::erase(running_, &job);
    const std::lock_guard lock(mutex_);
    finish(job, outcome);
  }

  /// Under the lock: with it, the job may be gone.
  static void finish(transfer& job, CURLcode outcome) {
    job.outcome = outcome;
    job.is_done = true;
    job.done.notify_one();
  }

  const curl_options& how_;
  const ::pid_t process_ = ::getpid();
  CURLM* multi_ = nullptr;
  std::mutex mutex_{};
  std::deque<transfer*> waiting_{};
  bool closed_ = false;
  std::vector<transfer*> running_{};    ///< by the thread
  std::vector<curl_waitfd> watched_{};  ///< sockets, by the thread
  std::thread thread_{};
};

/// The drivers of one transport: a thread moves some three gigabytes a second (docs/benchmarks.md).
class curl_drivers {
 public:
  explicit curl_drivers(curl_options how) : how_(with_certificates(std::move(how))) {
    const unsigned count = how_.threads != 0 ? how_.threads : std::min(hardware_concurrency(), 4U);
    for (unsigned i = 0; i < count; ++i) all_.emplace_back(how_);
  }

  curl_drivers(const curl_drivers&) = delete;
  curl_drivers& operator=(const curl_drivers&) = delete;
  ~curl_drivers() {
    // In a child of fork it would wait for those that wait in the parent.
    if (::getpid() != process_) static_cast<void>(has_room_.release());
  }

  result<http_response> send(const http_request& request) {
    // In a child of fork, the lock may be held by a thread that it does not have.
    if (::getpid() != process_) return all_.front().by.send(request);
    const turn mine(*this, request);
    return mine.driver->by.send(request);
  }

 private:
  struct shared_driver {
    explicit shared_driver(const curl_options& how) : by(how) {}
    curl_driver by;
    std::uint64_t work = 0;  ///< under way: bytes, and what each transfer costs beside them
  };

  /// Of one transfer, from when there is room for it. The first of those that have the least to do
  /// drives it, so that transfers one after the other share a connection.
  struct turn {
    turn(curl_drivers& all, const http_request& request) : of(&all) {
      work += request.into.size();
      for (const bytes_view part : request.body) work += part.size();
      std::unique_lock lock(all.mutex_);
      const auto may_begin = [&] {  // what is to stop is ended by its driver
        return all.running_ < std::max(all.how_.transfers, 1U) || request.stop.stop_requested();
      };
      while (!all.has_room_->wait_for(lock, std::chrono::milliseconds(200), may_begin)) {
      }
      ++all.running_;
      driver = &*std::min_element(
          all.all_.begin(), all.all_.end(),
          [](const shared_driver& a, const shared_driver& b) { return a.work < b.work; });
      driver->work += work;
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      {
        const std::lock_guard lock(of->mutex_);
        --of->running_;
        driver->work -= work;
      }
      of->has_room_->notify_one();
    }
    curl_drivers* of;
    shared_driver* driver = nullptr;
    std::uint64_t work = std::uint64_t{256} << 10;
  };

  const curl_options how_;
  const ::pid_t process_ = ::getpid();
  std::mutex mutex_{};
  std::unique_ptr<std::condition_variable> has_room_ = std::make_unique<std::condition_variable>();
  unsigned running_ = 0;
  std::list<shared_driver> all_{};
};

}  // namespace detail

/// HTTP by libcurl: few threads drive all transfers, connections are kept for the next. Copies
/// share them; the threads end with the last copy. It needs no set-up of libcurl, and changes
/// nothing of that which others use in the process.
class curl_transport {
 public:
  explicit curl_transport(curl_options how = {})
      : drivers_(detail::make_counted<detail::curl_drivers>(std::move(how))) {}

  result<http_response> send(const http_request& request) const { return drivers_->send(request); }

 private:
  std::shared_ptr<detail::curl_drivers> drivers_;
};
static_assert(http_transport<curl_transport>);

}}  // namespace zarrpoint::v0
