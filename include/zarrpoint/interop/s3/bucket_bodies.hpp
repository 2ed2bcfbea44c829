// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/s3/bucket_client.hpp>
#include <zarrpoint/interop/s3/sha256.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <set>
#include <thread>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- bucket_client.hpp

ZARRPOINT_INLINE result<void> for_each_parallel(std::size_t count, unsigned width,
                                                const std::function<result<void>(std::size_t)>& f) {
  const auto threads = static_cast<unsigned>(std::min<std::size_t>(count, std::max(width, 1U)));
  for (std::size_t i = 0; i < count && threads < 2; ++i) ZARRPOINT_CHECK(f(i));
  if (threads < 2) return {};
  const thread_pool pool(threads);
  return parallel_for(pool.executor(), count, f);
}

ZARRPOINT_INLINE result<void> check_bucket_name(std::string_view scheme, std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.size() >= 3 && name.size() <= 255 && is_letter(name.front()) && is_letter(name.back()) &&
      std::all_of(name.begin(), name.end(),
                  [&](char c) { return is_letter(c) || c == '-' || c == '.' || c == '_'; }))
    return {};
  return error{errc::invalid_argument, std::string(scheme) + "://" + printable(name, 80) +
                                           ": that is not the name of a bucket, which has 3 to "
                                           "63 letters, digits, dots and hyphens"};
}

ZARRPOINT_INLINE result<web_url> parse_endpoint(std::string_view text) {
  ZARRPOINT_TRY(at, web_url::parse(text));
  at.user.clear();
  at.query.clear();
  while (at.path.ends_with('/')) at.path.pop_back();
  return at;
}

ZARRPOINT_INLINE std::string payload_hash(const http_request& request) {
  if (request.url.starts_with("https:")) return std::string(unsigned_payload);
  sha256 of;
  for (const bytes_view part : request.body) of.add(part);
  return to_hex(of.finish());
}

ZARRPOINT_INLINE error no_etag(const std::string& name, bool* maybe_done) {
  if (maybe_done != nullptr) *maybe_done = true;
  return {errc::io, "PUT " + name +
                        ": the answer says that it went well and has neither an ETag nor a "
                        "generation, so it is not of a store of objects"};
}

ZARRPOINT_INLINE std::uint32_t crc32c_of(std::span<const bytes_view> body) {
  std::uint32_t crc = 0;
  for (const bytes_view part : body) crc = crc32c(part, crc);
  return crc;
}

ZARRPOINT_INLINE std::string checksum_text(std::uint32_t crc) {
  const std::byte bytes[] = {
      static_cast<std::byte>(crc >> 24), static_cast<std::byte>(crc >> 16 & 255),
      static_cast<std::byte>(crc >> 8 & 255), static_cast<std::byte>(crc & 255)};
  return to_base64(bytes);
}

ZARRPOINT_INLINE bucket_client::bucket_client(http_client by, bucket_settings how)
    : requests_(std::move(by)),
      how_(std::move(how)),
      sent_now_(std::max(1U, how_.parallel) * how_.part_bytes) {}

ZARRPOINT_INLINE std::string bucket_client::other_form(const std::string&) const { return {}; }

ZARRPOINT_INLINE bool bucket_client::may_be_missing(const http_response& refusal) {
  if (refusal.status != 403) return false;
  const std::string code = parse_s3_problem(refusal.text).code;
  return code != "ExpiredToken" && code != "InvalidAccessKeyId" && code != "InvalidSecurity" &&
         code != "RequestTimeTooSkewed" && code != "SignatureDoesNotMatch";
}

ZARRPOINT_INLINE result<http_response> bucket_client::send_to(std::string address,
                                                              const bucket_request& what) const {
  http_request request{.method = std::string(what.method),
                       .url = std::move(address),
                       .headers = what.headers,
                       .body = what.body,
                       .text_limit = what.text_limit};
  return requests().send(std::move(request),
                         {.name = name_of(what.key),
                          .budget = name_of({}),
                          .prepare = [this](http_request& of) { return sign(of); },
                          .maybe_done = what.maybe_done});
}

ZARRPOINT_INLINE result<std::optional<http_response>> bucket_client::get(
    std::string_view key) const {
  ZARRPOINT_TRY(answer, read_once(key));
  if (answer.status == 404 || may_be_missing(answer)) return std::optional<http_response>();
  if (answer.status != 200 || !answer.whole()) return http_failure(answer, "GET", name_of(key));
  return std::optional(std::move(answer));
}

ZARRPOINT_INLINE result<bool> bucket_client::exists(std::string_view key) const {
  ZARRPOINT_TRY(found, mark_of(key, {}));
  return found.has_value();
}

ZARRPOINT_INLINE result<void> bucket_client::erase(std::string_view key) const {
  ZARRPOINT_TRY(answer, erase_once(key));
  // A page of a proxy is not the answer of one who has erased anything.
  const bool is_done = answer.status / 100 == 2 && !answer.text.starts_with('<');
  if (is_done || answer.status == 404) return {};
  return http_failure(answer, "DELETE", name_of(key));
}

ZARRPOINT_INLINE result<void> bucket_client::put(std::string_view key,
                                                 std::span<const bytes_view> body,
                                                 query_list marks) const {
  ZARRPOINT_TRY(answer, put_once({.key = key, .body = body, .marks = std::move(marks)}));
  if (answer.status / 100 == 2) return {};
  return http_failure(answer, "PUT", name_of(key));
}

ZARRPOINT_INLINE result<std::optional<std::string>> bucket_client::put_if(
    std::string_view key, std::string_view body, const put_condition& only) const {
  const std::optional<std::string> unmet;
  const bytes_view bytes[] = {std::as_bytes(std::span(body))};
  put_condition asked = only;
  error last{errc::unavailable, "PUT " + name_of(key)};
  const auto unknown = [](std::string why) { return error{errc::outcome_unknown, std::move(why)}; };
  for (int turn = 0; turn < 6; ++turn) {
    bool is_lost = false;
    auto answer = put_once({.key = key, .body = bytes, .only = asked, .maybe_done = &is_lost});
    if (answer && answer->status / 100 == 2) return std::optional(version_of(*answer));
    const bool is_refused = answer && (answer->status == 412 || answer->status == 409 ||
                                       (answer->status == 404 && !asked.version.empty()));
    if (answer && !is_refused && !is_lost) return http_failure(*answer, "PUT", name_of(key));
    if (!answer && !is_lost && answer.failure().code != errc::unavailable)
      return std::move(answer).failure();
    if (!answer) last = answer.failure();
    // An earlier attempt may have been done, and its answer lost.
    const auto now = read_once(key);
    if (!now) return unknown(now.failure().message);
    // But this one is there, where something was, or where it is refused since something is.
    const bool is_missing = now->status == 403 && only.version.empty() && !only.is_any &&
                            !(answer && answer->status == 412);
    const bool is_there = now->status == 200 && now->whole();
    if (!is_there && now->status != 404 && !is_missing)
      return unknown(http_failure(*now, "GET", name_of(key)).message);
    if (is_there && now->text == body) return std::optional(version_of(*now));
    // What is cut short, or a page of a proxy, does not say whose put went well.
    const std::string version = is_there ? version_of(*now) : std::string();
    const bool is_cut = version != only.version &&
                        (body.starts_with(now->text) || !now->text.starts_with(bucket_text));
    if (is_there && !only.is_any && (version.empty() || is_cut)) {
      last.message = "GET " + name_of(key) + ": the answer is not whole, or not of a store";
      continue;
    }
    if (answer && !is_refused) return http_failure(*answer, "PUT", name_of(key));
    if (!only.is_any && version != only.version) return unmet;
    // It is as it was: a conflict (409) and a lost request are tried again.
    if (answer && answer->status == 412) {
      if (asked.version != only.version) return unmet;
      asked.version = other_form(only.version);
      if (asked.version.empty()) return unmet;
    }
  }
  return error{errc::outcome_unknown, last.message};
}

ZARRPOINT_INLINE result<void> bucket_client::list(
    std::string_view prefix, bool delimited,
    const std::function<result<void>(bucket_listing&)>& visit) const {
  std::string next;
  do {
    ZARRPOINT_TRY(page, list_once(prefix, delimited, next));
    if (!page.next.empty() && page.next == next)
      return error{errc::corrupt, "list " + name_of(prefix) + ": its pages never end"};
    next = page.next;
    ZARRPOINT_CHECK(visit(page));
  } while (!next.empty());
  return {};
}

ZARRPOINT_INLINE result<std::size_t> bucket_client::erase_all(std::string_view prefix) const {
  std::size_t erased = 0;
  ZARRPOINT_CHECK(list(prefix, false, [&](bucket_listing& page) -> result<void> {
    std::erase_if(page.objects,
                  [&](const bucket_listing::object& one) { return !one.key.starts_with(prefix); });
    erased += page.objects.size();
    return for_each_parallel(page.objects.size(), settings().parallel,
                             [&](std::size_t i) { return erase(page.objects[i].key); });
  }));
  return erased;
}

/// The uploads of S3, which Google has, too: those of "XML API multipart uploads".
class xml_upload final : public part_upload {
 public:
  xml_upload(xml_sender by, std::string key, query_list marks)
      : by_(std::move(by)), key_(std::move(key)), marks_(std::move(marks)) {
    marks_.emplace_back(mark_name, mark_);
  }

  result<bool> begin() override {
    for (;;) {
      bucket_request request{.method = "POST", .key = key_, .query = {{"uploads", ""}}};
      for (const auto& [name, value] : marks_)
        request.headers.push_back({std::string(by_.meta) + name, value});
      checksums_ = by_.checksums && by_.checksums();
      if (checksums_) {
        request.headers.push_back({"x-amz-checksum-algorithm", "CRC32C"});
        request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
      }
      ZARRPOINT_TRY(answer, by_.send(request));
      if (checksums_ && by_.refuses(answer)) continue;
      const bool is_other = answer.status == 400 || answer.status == 404 || answer.status == 405;
      if (by_.may_be_without && is_other) return false;
      if (answer.status / 100 != 2) return http_failure(answer, "POST", name());
      ZARRPOINT_CHECK(for_each_xml_text(answer.text, [&](std::string_view path, std::string& text) {
        if (path.ends_with("/UploadId")) id_ = std::move(text);
      }));
      if (id_.empty()) return error{errc::io, "POST " + name() + ": the upload has no id"};
      return true;
    }
  }

  result<void> send(std::uint64_t index, std::span<const bytes_view> body,
                    std::uint32_t crc) override {
    bucket_request request{.method = "PUT",
                           .key = key_,
                           .query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", id_}},
                           .body = body};
    if (checksums_) request.headers.push_back({"x-amz-checksum-crc32c", checksum_text(crc)});
    ZARRPOINT_TRY(answer, by_.send(request));
    if (answer.status / 100 != 2) return http_failure(answer, "PUT", name());
    if (answer.header("ETag").empty()) return no_etag(name());
    const std::lock_guard lock(mutex_);
    etags_[index] = answer.header("ETag");
    return {};
  }

  result<void> complete(std::uint64_t count, std::uint32_t crc) override {
    std::string list = "<CompleteMultipartUpload>";
    for (std::uint64_t i = 0; i < count; ++i)
      list += "<Part><ETag>" + etags_[i] + "</ETag><PartNumber>" + std::to_string(i + 1) +
              "</PartNumber></Part>";
    list += "</CompleteMultipartUpload>";
    const bytes_view body[] = {std::as_bytes(std::span(list))};
    bucket_request request{
        .method = "POST", .key = key_, .query = {{"uploadId", id_}}, .body = body};
    if (checksums_) {
      request.headers.push_back({"x-amz-checksum-crc32c", checksum_text(crc)});
      request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
    }
    const retry_options& retry = by_.client->requests().options();
    for (unsigned attempt = 1;; ++attempt) {
      ZARRPOINT_TRY(answer, by_.send(request));
      // An upload that is gone was completed by an attempt whose answer was lost, or is not there:
      // then its key may have an older object, of the same size.
      if (answer.status == 404) {
        ZARRPOINT_TRY(mark, by_.client->mark_of(key_, mark_name));
        if (mark == mark_) return {};
      }
      if (answer.status / 100 != 2) return http_failure(answer, "POST", name());
      // An error may come under the status 200, when it is found after the head was sent.
      const s3_problem problem = parse_s3_problem(answer.text);
      if (problem.code.empty()) return by_.check ? by_.check(key_, answer, crc) : result<void>();
      const bool may_go_well = problem.code == "InternalError" || problem.code == "SlowDown" ||
                               problem.code == "ServiceUnavailable" ||
                               problem.code == "RequestTimeout";
      if (!may_go_well || attempt >= retry.attempts)
        return error{may_go_well ? errc::unavailable : errc::io,
                     "POST " + name() + ": " + printable(problem.code, 80) + " (" +
                         printable(problem.message, 300) + ')'};
      const auto most = std::min(retry.longest_wait, retry.first_wait * (1 << attempt));
      const retry_clock& clock = by_.client->requests().clock();
      clock.wait(std::chrono::milliseconds(
                     static_cast<std::int64_t>(static_cast<double>(most.count()) * clock.random())),
                 {});
    }
  }

  void abandon() noexcept override {
    if (id_.empty()) return;
    static_cast<void>(guarded([&]() -> result<void> {
      ZARRPOINT_CHECK(by_.send({.method = "DELETE", .key = key_, .query = {{"uploadId", id_}}}));
      return {};
    }));
  }

 private:
  /// Tells an upload from all others of its key.
  static constexpr std::string_view mark_name = "zarrpoint-upload";

  std::string name() const { return by_.client->name_of(key_); }

  xml_sender by_;
  std::string key_;
  query_list marks_;
  const std::string mark_ = random_id();
  std::string id_{};
  bool checksums_ = false;
  std::mutex mutex_{};
  std::map<std::uint64_t, std::string> etags_{};
};

ZARRPOINT_INLINE std::unique_ptr<part_upload> make_xml_upload(xml_sender by, std::string key,
                                                              query_list marks) {
  return make_owned<part_upload, xml_upload>(std::move(by), std::move(key), std::move(marks));
}

/// The bytes of a part: copied here, or where their writer keeps them.
class part_bytes {
 public:
  /// Without `bytes`, zeros. `likely`: what the part may have in the end.
  void copy(std::size_t at, bytes_view bytes, std::size_t size, std::size_t likely) {
    std::byte* const to = cover(at, size, likely);
    if (bytes.empty()) {
      std::memset(to, 0, size);
    } else {
      std::memcpy(to, bytes.data(), size);
    }
    end_ = std::max(end_, at + size);
  }
  /// Of bytes that stay, and lie in no other range.
  void keep(std::size_t at, bytes_view bytes) {
    kept_.emplace(at, bytes);
    end_ = std::max(end_, at + bytes.size());
  }

  /// False where something of it was not written.
  bool read(std::size_t at, mutable_bytes into) {
    if (at + into.size() > end_) return false;
    for (const bytes_view one : views(at, at + into.size())) {
      std::memcpy(into.data(), one.data(), one.size());
      into = into.subspan(one.size());
    }
    return true;
  }

  /// Bytes of memory of its own.
  std::size_t copied() const noexcept { return room_; }

  /// From `at` to `end`, one after another; what was not written is zero.
  std::vector<bytes_view> views(std::size_t at, std::size_t end) {
    std::vector<std::pair<std::size_t, std::size_t>> gaps;  // between those that are kept
    std::size_t done = at;
    for (const auto& [begin, bytes] : kept_) {
      if (begin >= end) break;
      if (begin > done) gaps.emplace_back(done, begin);
      done = std::max(done, begin + bytes.size());
    }
    if (done < end) gaps.emplace_back(done, end);
    for (const auto& [from, to] : gaps) cover(from, to - from, 0);  // it may move what is there
    std::vector<bytes_view> out;
    auto gap = gaps.begin();
    auto kept = kept_.begin();
    while (at < end) {
      if (gap != gaps.end() && gap->first == at) {
        out.emplace_back(memory_.get() + (at - begin_), gap->second - at);
        at = gap++->second;
        continue;
      }
      while (kept->first + kept->second.size() <= at) ++kept;
      const std::size_t skipped = at - kept->first;
      const std::size_t size = std::min(kept->second.size() - skipped, end - at);
      out.push_back(kept->second.subspan(skipped, size));
      at += size;
    }
    return out;
  }

 private:
  /// Makes room for a range. What is new, beside the range itself, is zero; so is the range where
  /// nothing is to come (`likely` is 0).
  std::byte* cover(std::size_t at, std::size_t size, std::size_t likely) {
    // What comes before it comes, as a rule, from behind: room for all of it at once.
    const std::size_t begin = size_ == 0 ? at : at < begin_ ? 0 : begin_;
    const std::size_t end = std::max(begin_ + size_, at + size);
    const std::size_t wanted = (size_ == 0 ? at + size : end) - begin;
    if (wanted > room_ || begin < begin_) {
      const std::size_t more = wanted > room_ ? 2 * room_ : 0;
      const std::size_t room = std::max({wanted, likely - std::min(likely, begin), more});
      auto memory = std::make_unique_for_overwrite<std::byte[]>(room);
      if (size_ != 0) {
        std::memset(memory.get(), 0, begin_ - begin);
        std::memcpy(memory.get() + (begin_ - begin), memory_.get(), size_);
        size_ += begin_ - begin;
      }
      memory_ = std::move(memory);
      room_ = room;
      begin_ = begin;
    } else if (size_ == 0) {
      begin_ = begin;
    }
    const std::size_t clear = likely == 0 ? wanted : std::max(size_, at - begin_);
    if (clear > size_) std::memset(memory_.get() + size_, 0, clear - size_);
    size_ = std::max(size_, wanted);
    return memory_.get() + (at - begin_);
  }

  std::unique_ptr<std::byte[]> memory_{};
  std::size_t room_ = 0;
  std::size_t begin_ = 0, size_ = 0;  ///< of what lies in it, within the part
  std::map<std::size_t, bytes_view> kept_{};
  std::size_t end_ = 0;  ///< of what was written
};

/// Collects what is written, and sends each part when nothing is missing in it.
class part_writer final : public blob_writer {
 public:
  part_writer(std::shared_ptr<const bucket_client> to, std::string key, query_list marks)
      : to_(std::move(to)), key_(std::move(key)), marks_(std::move(marks)) {}
  ~part_writer() override {
    if (!finished_) abandon();
  }

  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    return add(offset, 0, bytes, how_often::any);
  }
  result<void> write_once(std::uint64_t offset, std::size_t gap, bytes_view bytes) override {
    return add(offset, gap, bytes, how_often::once);
  }
  result<void> write_kept(std::uint64_t offset, std::size_t gap, bytes_view bytes) override {
    return add(offset, gap, bytes, how_often::once_and_kept);
  }

  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    if (began_) return {};
    part_bytes_ = std::clamp<std::uint64_t>(size / 9000 + 1, part_bytes_, most_part);
    reserved_ = size;
    return {};
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const std::lock_guard lock(mutex_);
    while (!into.empty()) {
      const auto at = static_cast<std::size_t>(offset % part_bytes_);
      const std::size_t next = std::min<std::size_t>(into.size(), part_bytes_ - at);
      const auto found = parts_.find(offset / part_bytes_);
      if (found == parts_.end() || !found->second.bytes.read(at, into.first(next)))
        return error{errc::unsupported, name() + ": that part was sent, or not written yet"};
      offset += next;
      into = into.subspan(next);
    }
    return {};
  }

  result<void> finish() override {
    if (std::exchange(finished_, true))
      return error{errc::invalid_argument, "finish " + name() + ": it is finished already"};
    auto done = guarded([&] { return complete(); });
    if (!done) abandon();
    return done;
  }

 private:
  enum class how_often : std::uint8_t { any, once, once_and_kept };
  struct part {
    mutable part_bytes bytes{};
    std::size_t whole = 0;  ///< bytes that are not written again
  };
  struct sending {
    byte_limiter::reservation room{};
    part_bytes bytes{};
  };
  struct sender {
    std::thread thread{};
    bool has_ended = false;
  };
  struct sent_part {
    std::uint32_t crc = 0;
    std::size_t size = 0;
  };

  std::string name() const { return to_->name_of(key_); }

  result<void> add(std::uint64_t offset, std::size_t gap, bytes_view bytes, how_often often) {
    if (bytes.empty()) return {};
    if (offset > std::uint64_t{1} << 50 || bytes.size() > std::uint64_t{1} << 50)
      return error{errc::out_of_range, "write " + name() + ": no object is that large"};
    {
      const std::lock_guard lock(mutex_);
      began_ = true;  // from here on the size of parts stays
    }
    auto done = guarded([&]() -> result<void> {
      static constexpr std::array<std::byte, 4096> zeros{};
      if (often != how_often::any && gap > 0 && gap <= offset) {
        const std::uint64_t from = offset - gap;
        for (std::uint64_t at = from; at < offset;) {
          const std::uint64_t next = std::min(offset, (at / part_bytes_ + 1) * part_bytes_);
          const auto size = static_cast<std::size_t>(next - at);
          const bool is_kept = often == how_often::once_and_kept && size <= zeros.size();
          ZARRPOINT_CHECK(is_kept ? put(at, bytes_view(zeros).first(size), size, often)
                                  : put(at, {}, size, how_often::once));
          at = next;
        }
      }
      while (!bytes.empty()) {
        const std::size_t room = part_bytes_ - static_cast<std::size_t>(offset % part_bytes_);
        const std::size_t next = std::min(bytes.size(), room);
        ZARRPOINT_CHECK(put(offset, bytes.first(next), next, often));
        offset += next;
        bytes = bytes.subspan(next);
      }
      return {};
    });
    // Bytes are missing: no object is made of the others.
    if (!done) fail(done.failure());
    return done;
  }

  void fail(const error& why) {
    const std::lock_guard lock(threads_mutex_);
    if (failed_) failed_ = why;
  }

  /// Within one part; without `bytes`, zeros.
  result<void> put(std::uint64_t offset, bytes_view bytes, std::size_t size, how_often often) {
    const std::uint64_t index = offset / part_bytes_;
    const auto at = static_cast<std::size_t>(offset % part_bytes_);
    part full;
    {
      const std::lock_guard lock(mutex_);
      if (gone_.contains(index))
        return error{errc::invalid_argument,
                     "write " + name() + ": what is written once was written again"};
      part& into = parts_[index];
      if (often == how_often::once_and_kept) {
        into.bytes.keep(at, bytes);
      } else {
        const std::uint64_t left = reserved_ - std::min(reserved_, index * part_bytes_);
        into.bytes.copy(at, bytes, size,
                        static_cast<std::size_t>(std::clamp<std::uint64_t>(
                            left, at + size, std::max<std::uint64_t>(part_bytes_, at + size))));
      }
      end_ = std::max(end_, offset + size);
      if (often != how_often::any) into.whole += size;
      if (into.whole < part_bytes_) return {};
      full = std::move(into);
      parts_.erase(index);
      gone_.insert(index);
    }
    return send_later(index, std::move(full.bytes));
  }

  result<void> begin() {
    const std::lock_guard lock(begin_mutex_);
    if (upload_ != nullptr) return {};
    auto upload = to_->upload(key_, marks_);
    ZARRPOINT_TRY(begun, upload->begin());
    is_whole_ = !begun;
    upload_ = std::move(upload);
    return {};
  }

  /// Sends a part while the caller goes on, unless the writers of the bucket send enough. One that
  /// waits holds no lock, and no room that others wait for.
  result<void> send_later(std::uint64_t index, part_bytes bytes) {
    ZARRPOINT_CHECK(begin());
    if (is_whole_) {
      const std::lock_guard lock(mutex_);
      parts_[index].bytes = std::move(bytes);
      return {};
    }
    const auto held = make_counted<sending>();
    held->bytes = std::move(bytes);
    // What the caller keeps takes no memory: of that, twice as much is under way.
    const bool is_kept = held->bytes.copied() < part_bytes_ / 2 && to_->settings().parallel > 1;
    const std::size_t share = is_kept ? part_bytes_ / 2 : part_bytes_;
    ZARRPOINT_TRY(room, to_->sent_now().acquire(share));
    held->room = std::move(room);
    std::unique_lock lock(threads_mutex_);
    ZARRPOINT_CHECK(failed_);
    // Those that have ended give back what they have of the system.
    std::erase_if(threads_, [](sender& one) {
      if (one.has_ended) one.thread.join();
      return one.has_ended || !one.thread.joinable();
    });
    const auto work = [this, index, held](sender* by) {
      auto done = guarded([&] { return send_part(index, held->bytes, part_bytes_); });
      const std::lock_guard lock_again(threads_mutex_);
      if (!done && failed_) failed_ = std::move(done);
      if (by != nullptr) by->has_ended = true;
    };
    const auto started = guarded([&]() -> result<void> {
      // One that does not start has nothing to join.
      sender* const by = &threads_.emplace_back();
      by->thread = std::thread([work, by] { work(by); });
      return {};
    });
    if (started) return {};
    lock.unlock();
    work(nullptr);
    return {};
  }

  error too_many_parts() const {
    return {errc::out_of_range,
            name() +
                ": it has more than 10,000 parts; raise part_bytes of the store's options, up "
                "to 5 GiB"};
  }

  result<void> send_part(std::uint64_t index, part_bytes& bytes, std::size_t size) {
    if (index >= most_parts) return too_many_parts();
    const std::vector<bytes_view> body = bytes.views(0, size);
    const sent_part sent{.crc = crc32c_of(body), .size = size};
    ZARRPOINT_CHECK(upload_->send(index, body, sent.crc));
    const std::lock_guard lock(mutex_);
    sent_[index] = sent;
    return {};
  }

  void join() {
    for (sender& one : threads_) {
      if (one.thread.joinable()) one.thread.join();
    }
    threads_.clear();
  }

  result<void> complete() {
    {
      const std::lock_guard lock(threads_mutex_);
      ZARRPOINT_CHECK(failed_);
    }
    const std::uint64_t count = (end_ + part_bytes_ - 1) / part_bytes_;
    if (count > most_parts) return too_many_parts();
    if (upload_ != nullptr || count > 1) ZARRPOINT_CHECK(begin());
    if (upload_ == nullptr || is_whole_) {
      join();
      ZARRPOINT_CHECK(failed_);
      return put_whole(count);
    }
    // Beside those that are on their way.
    std::vector<std::uint64_t> left;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!gone_.contains(i)) left.push_back(i);
    }
    const auto sent = for_each_parallel(
        left.size(), to_->settings().parallel, [&](std::size_t i) -> result<void> {
          const std::uint64_t index = left[i];
          const auto size = static_cast<std::size_t>(
              std::min<std::uint64_t>(part_bytes_, end_ - index * part_bytes_));
          // Those that nothing was written to have no bytes yet.
          const auto room = to_->sent_now().acquire(size);
          if (!room) return room.failure();
          part_bytes bytes;
          {
            const std::lock_guard lock(mutex_);
            bytes = std::move(parts_[index].bytes);
            parts_.erase(index);
          }
          return send_part(index, bytes, size);
        });
    join();
    ZARRPOINT_CHECK(failed_);
    ZARRPOINT_CHECK(sent);
    std::uint32_t crc = 0;
    for (const auto& [index, one] : sent_) crc = crc32c_combine(crc, one.crc, one.size);
    return upload_->complete(count, crc);
  }

  /// All of it by one request.
  result<void> put_whole(std::uint64_t count) {
    std::vector<bytes_view> body;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(part_bytes_, end_ - i * part_bytes_));
      const std::vector<bytes_view> views = parts_[i].bytes.views(0, size);
      body.insert(body.end(), views.begin(), views.end());
    }
    return to_->put(key_, body, marks_);
  }

  void abandon() {
    join();
    if (upload_ != nullptr && !is_whole_) upload_->abandon();
  }

  std::shared_ptr<const bucket_client> to_;
  std::string key_;
  query_list marks_;
  std::uint64_t part_bytes_ = to_->settings().part_bytes;
  std::uint64_t reserved_ = 0;  ///< what the object may have in the end
  std::uint64_t end_ = 0;
  bool began_ = false;          ///< something was written
  mutable std::mutex mutex_{};  ///< of what follows, `end_` and `began_`
  std::map<std::uint64_t, part> parts_{};
  std::set<std::uint64_t> gone_{};  ///< parts that were sent, or are on their way
  std::map<std::uint64_t, sent_part> sent_{};
  std::mutex begin_mutex_{};
  std::unique_ptr<part_upload> upload_{};
  bool is_whole_ = false;  ///< the server has no uploads in parts
  std::mutex threads_mutex_{};
  result<void> failed_{};
  std::list<sender> threads_{};
  bool finished_ = false;
};

ZARRPOINT_INLINE std::unique_ptr<blob_writer> make_part_writer(
    std::shared_ptr<const bucket_client> to, std::string key, query_list marks) {
  return make_owned<blob_writer, part_writer>(std::move(to), std::move(key), std::move(marks));
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/exec/bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#endif
