// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The floor of run.py: bare libcurl, a multi handle in each of up to 4 threads, as zarrpoint has.
// It has neither checksums nor names.
//
// Usage: floor load URL FILE    ranges of 8 MiB of the objects that FILE lists, into new memory
//        floor save URL FILE    the same bytes as uploads in parts of 16 MiB, as S3 has them
// FILE has lines `SIZE PATH`. Prints the seconds, from the first request to the last answer.

#include "../harness.hpp"

#include <curl/curl.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <thread>

using bench::require;

namespace {

constexpr std::size_t under_way = 32;  // of all threads
const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
constexpr std::size_t range_bytes = std::size_t{8} << 20;
constexpr std::size_t part_bytes = std::size_t{16} << 20;

struct request {
  std::string method = "GET", url{}, range{};
  char* into = nullptr;          ///< of a GET
  const char* body = nullptr;    ///< of a PUT or a POST
  std::size_t size = 0, at = 0;  ///< of either
  std::string text{};            ///< of an answer that goes nowhere
  std::function<void(request&)> done{};
  curl_slist* headers = nullptr;
};

std::size_t take(char* data, std::size_t, std::size_t size, void* self) {
  auto& of = *static_cast<request*>(self);
  if (of.into == nullptr) {
    of.text.append(data, size);
    return size;
  }
  if (of.at + size > of.size) return 0;
  std::memcpy(of.into + of.at, data, size);
  of.at += size;
  return size;
}

std::size_t give(char* to, std::size_t, std::size_t room, void* self) {
  auto& of = *static_cast<request*>(self);
  const std::size_t size = std::min(room, of.size - of.at);
  std::memcpy(to, of.body + of.at, size);
  of.at += size;
  return size;
}

class engine {
 public:
  void add(request what) { waiting_.push_back(std::make_unique<request>(std::move(what))); }

  void run() {
    CURLM* const multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(under_way));
    std::vector<CURL*> idle;
    std::size_t running = 0;
    for (;;) {
      for (; !waiting_.empty() && running < under_way / threads; ++running) {
        CURL* easy = idle.empty() ? curl_easy_init() : idle.back();
        if (!idle.empty()) idle.pop_back();
        begin(easy, waiting_.front().release());
        waiting_.pop_front();
        curl_multi_add_handle(multi, easy);
      }
      if (running == 0) break;
      int active = 0, left = 0;
      curl_multi_perform(multi, &active);
      bool ended = false;
      while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        CURL* const easy = message->easy_handle;
        char* self = nullptr;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (message->data.result != CURLE_OK || status / 100 != 2) {
          std::fprintf(stderr, "floor: %s, status %ld\n", curl_easy_strerror(message->data.result),
                       status);
          std::exit(1);
        }
        const std::unique_ptr<request> of(reinterpret_cast<request*>(self));
        curl_multi_remove_handle(multi, easy);
        curl_slist_free_all(of->headers);
        idle.push_back(easy);
        --running;
        ended = true;
        if (of->done) of->done(*of);
      }
      if (!ended) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
    for (CURL* easy : idle) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }

 private:
  static void begin(CURL* easy, request* of) {
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, of->url.c_str());
    curl_easy_setopt(easy, CURLOPT_PRIVATE, static_cast<void*>(of));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, static_cast<void*>(of));
    if (!of->range.empty()) curl_easy_setopt(easy, CURLOPT_RANGE, of->range.c_str());
    if (of->method == "GET") return;
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, of->method.c_str());
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(of->size));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, &give);
    curl_easy_setopt(easy, CURLOPT_READDATA, static_cast<void*>(of));
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
    of->headers = curl_slist_append(nullptr, "Expect:");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, of->headers);
  }

  std::deque<std::unique_ptr<request>> waiting_{};
};

struct listed {
  std::size_t size = 0;
  std::string path{};
  std::size_t at = 0;  ///< of its bytes among those of all
};

void load(const std::string& url, const std::vector<listed>& objects) {
  engine by;
  for (const listed& one : objects) {
    const std::size_t huge = std::size_t{2} << 20, room = (one.size + 2 * huge) / huge * huge;
    void* const made =
        ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(made != MAP_FAILED, "mmap");
    ::madvise(made, room, MADV_HUGEPAGE);
    char* const into = static_cast<char*>(made);
    for (std::size_t at = 0; at < one.size; at += range_bytes) {
      const std::size_t size = std::min(range_bytes, one.size - at);
      request what{.url = url + one.path, .into = into + at, .size = size};
      what.range = std::to_string(at) + '-' + std::to_string(at + size - 1);
      what.done = [](request& of) { require(of.at == of.size, "a short answer"); };
      by.add(std::move(what));
    }
  }
  by.run();
}

void save(const std::string& url, const std::vector<listed>& objects, const char* bytes) {
  engine by;
  for (const listed& one : objects) {
    const char* const from = bytes + one.at;
    const std::string to = url + one.path;
    if (one.size <= part_bytes) {
      by.add({.method = "PUT", .url = to, .body = from, .size = one.size});
      continue;
    }
    request begin{.method = "POST", .url = to + "?uploads="};
    begin.done = [&by, from, to, size = one.size](request& of) {
      const std::size_t tag = of.text.find("<UploadId>") + 10;
      const std::string id = of.text.substr(tag, of.text.find('<', tag) - tag);
      const auto left = std::make_shared<std::size_t>((size + part_bytes - 1) / part_bytes);
      for (std::size_t at = 0; at < size; at += part_bytes) {
        request part{.method = "PUT", .body = from + at, .size = std::min(part_bytes, size - at)};
        part.url = to + "?partNumber=" + std::to_string(at / part_bytes + 1) + "&uploadId=" + id;
        part.done = [&by, to, id, left](request&) {
          if (--*left == 0) by.add({.method = "POST", .url = to + "?uploadId=" + id});
        };
        by.add(std::move(part));
      }
    };
    by.add(std::move(begin));
  }
  by.run();
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  // Each object to the thread that has the least to do.
  std::vector<std::vector<listed>> objects(threads);
  std::vector<std::size_t> sizes(threads);
  std::ifstream file(words[3]);
  std::size_t all = 0;
  for (listed one; file >> one.size >> one.path; all += one.size) {
    one.at = all;
    const auto least = std::min_element(sizes.begin(), sizes.end());
    *least += one.size;
    objects[static_cast<std::size_t>(least - sizes.begin())].push_back(one);
  }
  const bool saves = std::string(words[1]) == "save";
  const std::vector<char> bytes(saves ? all : 0, 'x');
  const auto work = [&] {
    std::vector<std::thread> running;
    for (const std::vector<listed>& of : objects)
      running.emplace_back([&] {
        if (saves) {
          save(words[2], of, bytes.data());
        } else {
          load(words[2], of);
        }
      });
    for (std::thread& one : running) one.join();
  };
  std::printf("%.6f\n", bench::seconds_of(work));
}
