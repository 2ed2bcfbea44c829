// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/remote/http_store.hpp>
#include <zarrpoint/store/remote/web_schemes.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------- http_store.hpp

ZARRPOINT_INLINE const any_executor& remote_executor() {
  static const thread_pool pool(64);
  static const any_executor handle = pool.executor();
  return handle;
}

namespace detail {

/// A URL without what signs it, which is another each time.
ZARRPOINT_INLINE std::string unsigned_address(web_url at) {
  std::string query;
  for (std::string_view rest = at.query; !rest.empty();) {
    const std::string_view member = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), member.size() + 1));
    if (same_letters(member.substr(0, 6), "X-Amz-") || same_letters(member.substr(0, 7), "X-Goog-"))
      continue;
    query.append(query.empty() ? "" : "&").append(member);
  }
  at.query = std::move(query);
  return at.str();
}

/// FNV-1a.
ZARRPOINT_INLINE std::uint64_t text_digest(std::string_view text) noexcept {
  std::uint64_t out = 14695981039346656037U;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return out;
}

ZARRPOINT_INLINE bool is_version_of(const blob_version& of, std::string_view etag) noexcept {
  return of.numbers[1] == crc32c(std::as_bytes(std::span(etag))) &&
         of.numbers[2] == text_digest(etag);
}

}  // namespace detail

class http_store::object final : public blob {
 public:
  object(std::shared_ptr<const state> shared, web_url at)
      : shared_(std::move(shared)),
        at_(std::move(at)),
        name_(shared_->how.name.empty() ? at_.shown() : shared_->how.name) {
    const std::string address = detail::unsigned_address(at_);
    address_ = {crc32c(std::as_bytes(std::span(address))), detail::text_digest(address)};
  }

  /// Asks for the first bytes; of a chunk of Zarr for the last ones, where a shard has its index;
  /// of a zip file for both at once. False when there is no such object.
  result<bool> look() {
    first_.bytes.resize(std::max<std::size_t>(shared_->how.first_bytes, 1));
    const bool is_zip = at_.path.ends_with(".zip");
    last_.bytes.resize(is_zip ? 4 * first_.bytes.size() : 0);
    web_url other;
    result<http_response> answer = http_response(), last = http_response();
    // Names of chunks end with a digit, and those of documents do not.
    bool from_end = shared_->client.knows_last_bytes() && !at_.path.empty() &&
                    at_.path.back() >= '0' && at_.path.back() <= '9';
    const auto ask_for = [&](std::size_t i) {
      (i == 0 ? answer : last) =
          i == 0 ? ask(first_.bytes, target_, from_end) : ask(last_.bytes, other, true);
      return result<void>();
    };
    // Its threads start with the first zip file only: others may have none.
    ZARRPOINT_CHECK(is_zip ? parallel_for(remote_executor(), 2, ask_for) : ask_for(0));
    const bool is_refused = from_end && answer && !may_be_last(*answer);
    if (is_refused) {
      from_end = false;
      answer = ask(first_.bytes, target_, false);
    }
    if (!answer) return std::move(answer).failure();
    if (answer->status == 404 || answer->status == 410) return false;
    if (is_directory_) return false;
    if (answer->status != 200 && answer->status != 206 && answer->status != 416)
      return http_failure(*answer, "GET", name_);
    ZARRPOINT_TRY(found, detail::object_of_answer(*answer, first_.bytes.size(), name_, from_end));
    object_ = std::move(found);
    // An empty object has no last bytes either.
    if (is_refused && object_.size != 0) shared_->client.forget_last_bytes();
    if (shared_->how.opened) shared_->how.opened(*answer);
    first_.keep(*answer, from_end ? object_.size : 0);
    if (answer->status == 200 && answer->whole()) {
      const bytes_view text = std::as_bytes(std::span(answer->text));
      first_ = {0, {text.begin(), text.end()}};
      object_.size = text.size();
    }
    if (last && !is_same(*last)) last = http_response();
    last_.keep(last ? *last : http_response(), object_.size);
    end_ = object_.size - last_.bytes.size();
    return true;
  }

  std::uint64_t size() const noexcept override { return object_.size; }
  std::size_t request_bytes() const noexcept override { return largest_part; }
  std::string name() const override { return name_; }

  std::optional<blob_version> version() const noexcept override {
    const std::string& mark = object_.etag.empty() ? object_.last_modified : object_.etag;
    if (!object_.is_strong) return std::nullopt;
    // Two digests of it and of the URL, since a server says only of one URL that what has the same
    // mark is the same. The name is none: of a long one it has a part, and nothing of the query.
    blob_version out;
    out.numbers = {object_.size, crc32c(std::as_bytes(std::span(mark))), detail::text_digest(mark),
                   address_.first, address_.second};
    return out;
  }

  using blob::read;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    first_.take(offset, into);
    last_.take(offset, into);
    if (into.size() <= shared_->how.joined_gap) {
      while (!into.empty()) {
        const std::uint64_t of_block = block_bytes - offset % block_bytes;
        const auto part =
            into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), of_block)));
        ZARRPOINT_TRY(done, read_near(offset, part));
        if (!done) break;
        offset += part.size();
        into = into.subspan(part.size());
      }
    } else {
      const std::lock_guard lock(mutex_);
      if (offset + into.size() == end_) end_ = offset;
    }
    while (!into.empty()) {
      // Each part has its own time and its own retries. A read of all is one, for a server that
      // knows no ranges.
      const bool is_all = offset == 0 && into.size() == object_.size;
      const std::size_t part = is_all ? into.size() : std::min(into.size(), largest_part);
      ZARRPOINT_CHECK(read_part(offset, into.first(part)));
      offset += part;
      into = into.subspan(part);
    }
    return {};
  }

 protected:
  /// Those that lie near each other as one request, by way of memory of its own.
  result<void> read_vectored(std::span<const read_request> requests) const override {
    std::vector<const read_request*> sorted;
    for (const read_request& one : requests) {
      ZARRPOINT_CHECK(check_range(one.offset, one.into.size()));
      if (!one.into.empty()) sorted.push_back(&one);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const read_request* a, const read_request* b) { return a->offset < b->offset; });
    for (std::size_t i = 0; i < sorted.size();) {
      const std::uint64_t begin = sorted[i]->offset;
      std::uint64_t end = begin + sorted[i]->into.size();
      std::size_t next = i + 1;
      for (; next < sorted.size(); ++next) {
        const read_request& one = *sorted[next];
        const std::uint64_t further = std::max(end, one.offset + one.into.size());
        if (one.offset > end + shared_->how.joined_gap || further - begin > largest_joined) break;
        end = further;
      }
      if (next == i + 1) {
        ZARRPOINT_CHECK(read(begin, sorted[i]->into));
      } else {
        std::vector<std::byte> joined(static_cast<std::size_t>(end - begin));
        ZARRPOINT_CHECK(read(begin, joined));
        for (std::size_t j = i; j < next; ++j)
          std::copy_n(joined.begin() + static_cast<std::ptrdiff_t>(sorted[j]->offset - begin),
                      sorted[j]->into.size(), sorted[j]->into.begin());
      }
      i = next;
    }
    return {};
  }

 private:
  static constexpr std::size_t largest_part = std::size_t{8} << 20;
  static constexpr std::size_t largest_joined = std::size_t{1} << 20;
  static constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;

  /// Bytes that came when it was opened.
  struct known_bytes {
    std::uint64_t at = 0;
    std::vector<std::byte> bytes{};

    /// Those of an answer to a range of as many that ends at `end`; 0 if it begins with the first.
    void keep(const http_response& of, std::uint64_t end) {
      at = end - std::min<std::uint64_t>(end, bytes.size());
      bytes.resize(of.status == 206 ? static_cast<std::size_t>(of.received) : 0);
    }
    /// Copies those of a range that lie at its begin or at its end, and makes it shorter by them.
    void take(std::uint64_t& offset, mutable_bytes& into) const {
      const std::uint64_t end = at + bytes.size(), stop = offset + into.size();
      if (stop <= at || offset >= end) return;
      const std::uint64_t from = std::max(offset, at), to = std::min(stop, end);
      if (from != offset && to != stop) return;
      const auto known = into.subspan(static_cast<std::size_t>(from - offset),
                                      static_cast<std::size_t>(to - from));
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from - at), known.size(),
                  known.begin());
      if (from != offset) {
        into = into.first(into.size() - known.size());
      } else {
        offset = to;
        into = into.subspan(known.size());
      }
    }
  };

  /// Whether an answer may be one to a range that is counted from the end, which some servers do
  /// not know.
  bool may_be_last(const http_response& answer) const {
    if (answer.status == 206)
      return detail::object_of_answer(answer, first_.bytes.size(), name_, true).has_value();
    return answer.status != 400 && answer.status != 416 && answer.status != 501;
  }

  /// Whether an answer is one to a range of the last bytes of the object that was opened.
  bool is_same(const http_response& answer) const {
    if (answer.status != 206) return false;
    const auto other = detail::object_of_answer(answer, last_.bytes.size(), name_, true);
    return other && other->size == object_.size && other->etag == object_.etag &&
           other->last_modified == object_.last_modified;
  }

  /// Bytes around small reads: fetched by the first that wants them, or ahead by one that has to
  /// wait for those before.
  struct kept_block {
    kept_block(std::uint64_t at, std::uint64_t after) : index(at), run(after) {}

    const std::uint64_t index;
    const std::uint64_t run;  ///< so many right before it were kept, too
    std::mutex mutex{};       ///< of the one that fetches it
    std::vector<std::byte> bytes{};
    std::atomic<bool> is_there = false;  ///< the bytes do not change any more
    std::atomic<std::size_t> taken = 0;  ///< of its bytes, by reads

    /// Hardly anybody wants more of it.
    bool is_done() const noexcept { return is_there && taken >= bytes.size() / 8 * 7; }
  };
  using block_pointer = std::shared_ptr<kept_block>;

  /// One of the blocks, or their end. Under the lock.
  std::vector<block_pointer>::iterator find_block(std::uint64_t index) const {
    return std::find_if(blocks_.begin(), blocks_.end(),
                        [&](const auto& one) { return one->index == index; });
  }

  /// In place of one that is done, or that was not used for the longest time. Null, for one that
  /// nobody has asked for, where all others were not used yet. Under the lock.
  block_pointer add_block(std::uint64_t index, bool is_ahead) const {
    if (blocks_.size() >= shared_->how.kept_blocks) {
      const auto first_of = [&](auto is) {
        return std::find_if(blocks_.begin(), blocks_.end(),
                            [&](const auto& one) { return is(*one); });
      };
      auto old = first_of([](const kept_block& one) { return one.is_done(); });
      if (old == blocks_.end())
        old = first_of([](const kept_block& one) { return one.taken != 0; });
      if (old == blocks_.end() && is_ahead) return {};
      blocks_.erase(old == blocks_.end() ? blocks_.begin() : old);
    }
    asked_.resize(static_cast<std::size_t>(object_.size / block_bytes + 1));
    asked_[static_cast<std::size_t>(index)] = true;
    const auto before = index == 0 ? blocks_.end() : find_block(index - 1);
    const std::uint64_t run = before == blocks_.end() ? 0 : (*before)->run + 1;
    blocks_.push_back(detail::make_counted<kept_block>(index, run));
    return blocks_.back();
  }

  /// The block for a small read, if there is one, or if it lies close to the small read before.
  block_pointer block_for(std::uint64_t offset) const {
    if (shared_->how.kept_blocks == 0) return {};
    const std::lock_guard lock(mutex_);
    const std::uint64_t before = std::exchange(small_before_, offset);
    if (const auto found = find_block(offset / block_bytes); found != blocks_.end()) {
      std::rotate(found, found + 1, blocks_.end());
      return blocks_.back();
    }
    const std::uint64_t gap = offset > before ? offset - before : before - offset;
    if (gap > 4 * std::uint64_t{shared_->how.joined_gap}) return {};
    return add_block(offset / block_bytes, false);
  }

  /// The next block after `of` that nobody has asked for, where blocks are wanted in their order:
  /// of about as many as were. Null for none. One that was given up has been used.
  block_pointer block_ahead(const kept_block& of) const {
    if (of.run == 0) return {};
    const std::lock_guard lock(mutex_);
    const std::uint64_t most = shared_->how.kept_blocks / 2;
    const std::uint64_t last = of.index + std::min(of.run + 4, most);
    for (std::uint64_t i = of.index + 1; i <= last && i * block_bytes < end_; ++i)
      if (!asked_[static_cast<std::size_t>(i)]) return add_block(i, true);
    return {};
  }

  /// Under the block's own lock.
  result<void> fetch(kept_block& of) const {
    if (of.is_there) return {};
    const std::uint64_t begin = of.index * block_bytes;
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min(block_bytes, object_.size - begin)));
    ZARRPOINT_CHECK(read_part(begin, bytes));
    of.bytes = std::move(bytes);
    of.is_there = true;
    return {};
  }

  /// Within one block. False: read it by itself.
  result<bool> read_near(std::uint64_t offset, mutable_bytes into) const {
    const block_pointer of = block_for(offset);
    if (of == nullptr) return false;
    std::unique_lock lock(of->mutex, std::defer_lock);
    if (!of->is_there && !lock.try_lock()) {
      // Another one fetches it: the next ones are fetched meanwhile. Who wants those that cannot
      // be is told.
      while (const block_pointer next = of->is_there ? nullptr : block_ahead(*of)) {
        const std::lock_guard alone(next->mutex);
        static_cast<void>(guarded([&] { return fetch(*next); }));
      }
      lock.lock();
    }
    ZARRPOINT_CHECK(fetch(*of));
    of->taken += into.size();
    std::copy_n(of->bytes.begin() + static_cast<std::ptrdiff_t>(offset - of->index * block_bytes),
                into.size(), into.begin());
    return true;
  }

  http_request request_of(const web_url& target, mutable_bytes into) const {
    http_request out{.url = target.str(), .into = into};
    const bool is_own = target.same_origin(shared_->at);
    for (const http_header& one : shared_->how.headers) {
      if (is_own || detail::is_plain_header(one.name)) out.headers.push_back(one);
    }
    out.headers.push_back({"Accept-Encoding", "identity"});
    return out;
  }

  http_exchange exchange() const {
    return {.name = name_,
            .budget = at_.authority(),
            .prepare = shared_->how.prepare,
            .redirects = shared_->how.redirects};
  }

  /// The first bytes or the last ones, wherever the server leads; `target` is where.
  result<http_response> ask(mutable_bytes into, web_url& target, bool from_end) const {
    http_request request = request_of(at_, into);
    request.headers.push_back({"Range", from_end ? "bytes=-" + std::to_string(into.size())
                                                 : "bytes=0-" + std::to_string(into.size() - 1)});
    request.text_limit = std::max(into.size(), std::size_t{64} << 10);
    std::string led;
    ZARRPOINT_TRY(answer, shared_->client.send(std::move(request), exchange(), &led));
    ZARRPOINT_TRY(to, web_url::parse(led));
    is_directory_ = to.path == at_.path + '/';
    target = std::move(to);
    return std::move(answer);
  }

  result<void> read_part(std::uint64_t offset, mutable_bytes into) const {
    web_url target = known_target();
    auto done = read_at(target, offset, into);
    const bool may_be_old =
        !done && (done.failure().code == errc::io || done.failure().code == errc::not_found);
    if (!may_be_old) return done;
    // Where a redirect led may be for a time only: once more from the begin.
    std::vector<std::byte> first(1);
    const auto answer = ask(first, target, false);
    if (!answer || (answer->status != 206 && answer->status != 200)) return done;
    {
      const std::lock_guard lock(mutex_);
      target_ = target;
    }
    return read_at(target, offset, into);
  }

  /// What `prepare` adds is for the URL's own host alone.
  result<void> read_at(const web_url& target, std::uint64_t offset, mutable_bytes into) const {
    http_exchange how = exchange();
    if (!target.same_origin(shared_->at)) how.prepare = nullptr;
    return shared_->client.read(request_of(target, into), how, object_, offset);
  }

  web_url known_target() const {
    const std::lock_guard lock(mutex_);
    return target_;
  }

  std::shared_ptr<const state> shared_;
  web_url at_;
  std::string name_;
  std::pair<std::uint64_t, std::uint64_t> address_{};  ///< its digests
  http_object object_{};
  known_bytes first_{}, last_{};
  mutable std::mutex mutex_{};
  mutable web_url target_{};
  mutable std::vector<block_pointer> blocks_{};  ///< the one used last at the end
  mutable std::vector<bool> asked_{};            ///< which of all blocks ever were among them
  mutable std::uint64_t end_ = 0;  ///< what lies behind it was read: nothing is read ahead there
  mutable std::uint64_t small_before_ = UINT64_MAX / 2;
  mutable std::atomic<bool> is_directory_ = false;
};

ZARRPOINT_INLINE result<http_store> http_store::open(std::string_view address, any_transport by,
                                                     http_store_options how) {
  http_client client(std::move(by), how.retry);
  return over(std::move(client), address, std::move(how));
}

ZARRPOINT_INLINE result<http_store> http_store::over(http_client by, std::string_view address,
                                                     http_store_options how) {
  ZARRPOINT_TRY(at, web_url::parse(address));
  if (!at.user.empty()) {
    const auto user = percent_decode(at.user);
    if (!user)
      return error{errc::invalid_argument, "open " + at.shown() +
                                               ": the credentials of the URL are not encoded as "
                                               "URLs are (% and two digits)"};
    how.headers.push_back(
        {"Authorization", "Basic " + detail::to_base64(std::as_bytes(std::span(*user)))});
    at.user.clear();
  }
  for (const http_header& one : how.headers) {
    if ((one.name + one.value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return error{errc::invalid_argument,
                   "open " + at.shown() + ": a header holds a line break or a NUL byte"};
  }
  return http_store(
      detail::make_counted<const state>(state{std::move(by), std::move(how), std::move(at)}));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> http_store::open_at(
    std::shared_ptr<const state> shared, const web_url& at) {
  auto made = std::make_unique<object>(shared, at);
  ZARRPOINT_TRY(is_there, made->look());
  if (!is_there) return std::unique_ptr<blob>();
  if (shared->how.cache) return shared->how.cache(std::move(made));
  return std::unique_ptr<blob>(std::move(made));
}

ZARRPOINT_INLINE web_url http_store::url_of(const store_key& key) const {
  web_url out = state_->at;
  if (!key.is_root()) {
    if (!out.path.ends_with('/')) out.path += '/';
    out.path += percent_encode(key.str(), true);
  }
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> http_store::open(const store_key& key) const {
  if (key.is_root()) return std::unique_ptr<blob>();  // a place, and never an object
  if (auto opened = next_->take(key)) return opened;
  return open_at(state_, url_of(key));
}

ZARRPOINT_INLINE void http_store::hand_on(const store_key& key,
                                          std::unique_ptr<blob> opened) const {
  next_->give(key, std::move(opened));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> http_store::open_address() const {
  return open_at(state_, state_->at);
}

ZARRPOINT_INLINE std::string http_store::describe(const store_key& key) const {
  return url_of(key).shown();
}

// --------------------------------------------------------------------------------- web_schemes.hpp

namespace detail {

/// Where a URL is cut to see what it names.
struct web_place {
  std::string address;    ///< of a file or a directory, with its query
  std::string shown;      ///< the same for people
  std::string directory;  ///< that it lies in, with the query
  std::string name;       ///< its own, decoded
  std::string rest;       ///< a key within a zip file
  bool is_directory = false;
};

ZARRPOINT_INLINE web_place cut_address(web_url at) {
  web_place out;
  if (const std::size_t zip = at.path.find(".zip/"); zip != at.path.npos) {
    out.rest = percent_decode(at.path.substr(zip + 5)).value_or(at.path.substr(zip + 5));
    at.path.resize(zip + 4);
  }
  out.is_directory = at.path.ends_with('/');
  const auto whole = [&at] {
    std::string text = at.str();
    if (!at.user.empty()) text.insert(at.scheme.size() + 3, at.user + '@');
    return text;
  };
  out.address = whole();
  out.shown = at.shown();
  const std::size_t slash = at.path.rfind('/');
  out.name = percent_decode(at.path.substr(slash + 1)).value_or(std::string());
  at.path.resize(slash + 1);
  out.directory = whole();
  return out;
}

/// A zip file that is opened with much of its end: its directory, and the document that `save` puts
/// before it. The very last bytes came with the first request.
class file_with_tail final : public blob {
 public:
  file_with_tail(std::unique_ptr<blob> of, std::uint64_t most)
      : of_(std::move(of)),
        begin_(of_->size()),
        known_(of_->size() - std::min(of_->size(), 4 * least)),
        most_(most) {}

  /// The directory was read: no more of the end is kept.
  void opened() noexcept { is_open_ = true; }

  std::uint64_t size() const noexcept override { return of_->size(); }
  std::size_t request_bytes() const noexcept override { return of_->request_bytes(); }
  std::string name() const override { return of_->name(); }
  std::optional<blob_version> version() const noexcept override { return of_->version(); }

  using blob::read;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (!is_open_ && offset < known_ && tail_.empty()) {
      // Documents are a few times as large as the directory.
      const std::uint64_t rest = size() - offset;
      const std::uint64_t wanted = std::min({std::max(size() / 16, 8 * rest), size(), most_});
      if (wanted >= rest) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(wanted));
        ZARRPOINT_CHECK(of_->read(size() - wanted, bytes));
        begin_ = size() - wanted;
        tail_ = std::move(bytes);
      }
    }
    if (offset < begin_) return of_->read(offset, into);
    std::copy_n(tail_.begin() + static_cast<std::ptrdiff_t>(offset - begin_), into.size(),
                into.begin());
    return {};
  }

 protected:
  result<void> read_vectored(std::span<const read_request> requests) const override {
    // The header of a member and what lies far behind it, such as the index of a shard: at once.
    if (requests.size() == 2 && (requests[1].offset > requests[0].offset + least / 2 ||
                                 requests[1].into.size() > 16 * least))
      return parallel_for(remote_executor(), 2, [&](std::size_t i) {
        return read(requests[i].offset, requests[i].into);
      });
    const bool is_before =
        std::all_of(requests.begin(), requests.end(),
                    [&](const read_request& one) { return one.offset < begin_; });
    return is_before ? of_->read(requests) : blob::read_vectored(requests);
  }

 private:
  static constexpr std::uint64_t least = std::uint64_t{64} << 10;

  std::unique_ptr<blob> of_;
  // These change while it is opened, by one thread.
  mutable std::uint64_t begin_;  ///< of `tail_`
  mutable std::vector<std::byte> tail_{};
  bool is_open_ = false;
  const std::uint64_t known_;  ///< where what came with the first request begins
  const std::uint64_t most_;   ///< of `tail_`, in bytes
};

ZARRPOINT_INLINE result<stored_place> web_zip(std::unique_ptr<blob> file, const std::string& rest,
                                              const place_use& use) {
  zip_store_options within;
  within.directory_bytes =
      std::min(within.directory_bytes, use.memory / 4 + (std::uint64_t{16} << 10));
  const std::uint64_t most = std::min(use.memory / 16, std::uint64_t{8} << 20);
  auto with_tail = std::make_unique<file_with_tail>(std::move(file), most);
  file_with_tail& opening = *with_tail;
  ZARRPOINT_TRY(archive, zip_store::open(std::move(with_tail), within));
  opening.opened();
  auto root = rest.empty() ? zip_root(archive) : store_key::parse(rest);
  if (!root) return std::move(root).failure();
  return stored_place{std::move(archive), *std::move(root)};
}

ZARRPOINT_INLINE result<std::string> tree_of(std::string_view text, const std::string& name) {
  const error refuse{errc::corrupt, name + ": it does not say which checkpoint is the current one"};
  if (!text.starts_with(current_head)) return refuse;
  text.remove_prefix(current_head.size());
  if (text.find('\n') == text.npos) return refuse;  // cut short, `.zarrpoint/...` is `.`
  const std::string_view tree = text.substr(0, text.find('\n'));
  if (tree == ".") return std::string();
  if (!tree.starts_with(".zarrpoint/") || !tree.ends_with('/') ||
      !store_key::parse(tree.substr(0, tree.size() - 1)))
    return refuse;
  return std::string(tree);
}

/// What the object says that names the current checkpoint of a place in S3; empty where there is
/// none, or an answer that every name gets. `refused` is why it cannot be read.
ZARRPOINT_INLINE result<std::string> current_tree(const http_store& store,
                                                  std::optional<error>& refused) {
  ZARRPOINT_TRY(key, store_key::parse(current_name));
  auto found = store.open(key);
  if (!found && found.failure().code == errc::unavailable) return std::move(found).failure();
  if (!found) return refused = std::move(found).failure(), std::string();
  if (*found == nullptr || (*found)->size() > 4096) return std::string();
  std::string text((*found)->size(), '\0');
  ZARRPOINT_CHECK((*found)->read(0, std::as_writable_bytes(std::span(text))));
  if (!text.starts_with("zarrpoint ")) return std::string();
  return tree_of(text, store.describe(key));
}

ZARRPOINT_INLINE result<stored_place> open_web_place(
    const url& at, const place_use& use, http_store_options how,
    const std::pair<any_transport, std::span<const format_entry>>& by) {
  ZARRPOINT_TRY(parsed, web_url::parse(at.str()));
  web_place place = cut_address(parsed);
  if (use.write)
    return error{errc::unsupported,
                 "write " + place.shown +
                     ": servers of HTTP are only read; save to a directory and copy that there"};
  const std::span<const format_entry> formats = by.second;
  http_store_options of_place = how;
  const auto is_of_bucket = make_counted<std::atomic<bool>>(false);
  of_place.opened = [is_of_bucket](const http_response& answer) {
    for (const char* begin : {"x-amz-meta-", "x-goog-meta-"})
      if (!answer.header(begin + std::string(save_mark)).empty()) *is_of_bucket = true;
  };
  ZARRPOINT_TRY(store, http_store::open(place.address, by.first, std::move(of_place)));
  const bool has_extension =
      place.name.find('.') != std::string::npos && !place.name.ends_with(".zarr");
  // What has an extension is a file, nearly always. All else is asked for at once: most places have
  // one of these.
  const bool may_be_file = !place.is_directory && (has_extension || !formats.empty());
  result<std::unique_ptr<blob>> file = std::unique_ptr<blob>(), first = std::unique_ptr<blob>();
  if (may_be_file && has_extension) file = store.open_address();
  std::string tree;
  std::optional<error> refused;
  if (file && *file == nullptr) {
    const std::size_t count = may_be_file && !has_extension ? 3 : 2;
    ZARRPOINT_CHECK(parallel_for(remote_executor(), count, [&](std::size_t i) -> result<void> {
      if (i == 0) {
        ZARRPOINT_TRY(key, store_key::parse("zarr.json"));
        first = store.open(key);
      } else if (i == 1) {
        ZARRPOINT_TRY(said, current_tree(store, refused));
        tree = std::move(said);
      } else {
        file = store.open_address();
      }
      return {};
    }));
  }
  ZARRPOINT_TRY(opened, std::move(file));
  if (opened != nullptr) {
    std::array<std::byte, 4> mark{};
    const bool is_zip = opened->size() >= mark.size() && opened->read(0, mark) &&
                        as_text(bytes_view(mark)) == "PK\x03\x04";
    if (!formats.empty()) {
      ZARRPOINT_TRY(above, http_store::open(place.directory, by.first, how));
      ZARRPOINT_TRY(name, store_key::parse(place.name).at(place.shown));
      const place_look look(place.shown, {std::move(above), std::move(name)}, std::move(opened));
      ZARRPOINT_TRY(found, find_by_formats(formats, look, use));
      if (found) return *std::move(found);
      ZARRPOINT_TRY(again, look.open_file());
      opened = std::move(again);
    }
    if (is_zip) return web_zip(std::move(opened), place.rest, use);
    return error{errc::unsupported, "open " + place.shown +
                                        ": it is a file, and neither a zip file nor one of a "
                                        "format of context::stores (formats<...>() adds one)"};
  }
  // A save to a bucket wrote what lies there, and it may have been replaced since. Many a server
  // that has no bucket refuses all names with a dot.
  if (refused && *is_of_bucket)
    return error{refused->code,
                 "open " + place.shown + ": " + refused->message +
                     "; a save to a bucket wrote this place, and that object says which of its "
                     "checkpoints is the current one: let readers get what lies in .zarrpoint/"};
  if (!tree.empty()) {
    if (!parsed.path.ends_with('/')) parsed.path += '/';
    parsed.path += tree;
    place = cut_address(parsed);
    ZARRPOINT_TRY(beneath, http_store::open(place.address, by.first, std::move(how)));
    store = std::move(beneath);
    ZARRPOINT_TRY(key, store_key::parse("zarr.json"));
    first = store.open(key);
  }
  for (const std::string_view name : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    if (name != "zarr.json") first = store.open(key);
    ZARRPOINT_TRY(document, std::exchange(first, std::unique_ptr<blob>()));
    if (document != nullptr) {
      store.hand_on(key, std::move(document));
      return stored_place{std::move(store), store_key::root()};
    }
    if (name != "zarr.json" || formats.empty()) continue;
    const place_look look(place.shown, {store, store_key::root()}, nullptr);
    ZARRPOINT_TRY(found, find_by_formats(formats, look, use));
    if (found) return *std::move(found);
  }
  return error{errc::not_found, place.shown +
                                    ": there is no checkpoint, neither a file nor a "
                                    "directory with a zarr.json, .zgroup or .zarray"};
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/exec/bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/format_bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#include <zarrpoint/store/zip/read_bodies.hpp>
#endif
