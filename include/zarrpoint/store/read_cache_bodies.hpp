// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/store/block_cache.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/read_cache.hpp>

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------- read_cache.hpp

namespace detail {

using cached_block = block_cache::block;

/// The files of a `read_cache`: `zp-` and 32 digits for a block, `zp-tmp-` and 32 for one that is
/// being written. A block's file has a head: a mark, the checksum of all that follows, the length
/// of the text that tells what it is, and that text. So nothing hangs on the name, which is a
/// digest.
class block_folder {
 public:
  block_folder(unique_fd at, std::uint64_t limit) : at_(std::move(at)), limit_(limit) {}

  enum class state : std::uint8_t { there, missing, damaged };

  /// Fills `into` with the block that `what` tells of.
  state read(const std::string& what, mutable_bytes into) const {
    const std::string name = name_of(what);
    const unique_fd file(open_at(at_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return errno == ENOENT ? state::missing : damaged(name);
    const std::vector<std::byte> wanted = head_of(what, into);
    struct ::stat info {};
    if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return damaged(name);
    std::vector<std::byte> head(wanted.size());
    if (static_cast<std::uint64_t>(info.st_size) != head.size() + into.size() ||
        read_fully(file.get(), 0, head) != 0 || read_fully(file.get(), head.size(), into) != 0 ||
        head != head_of(what, into))
      return damaged(name);
    // Its time is that of its last use, more or less.
    if (info.st_mtime + 60 < ::time(nullptr)) ::futimens(file.get(), nullptr);
    return state::there;
  }

  /// False where the disk does not take it.
  bool write(const std::string& what, bytes_view bytes) {
    const std::vector<std::byte> head = head_of(what, bytes);
    const std::string temporary = "zp-tmp-" + random_id(), name = name_of(what);
    unique_fd file(open_at(at_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    if (!file) return false;
    const bool is_written =
        write_fully(file.get(), 0, head) == 0 && write_fully(file.get(), head.size(), bytes) == 0;
    if (file.close() != 0 || !is_written ||
        ::renameat(at_.get(), temporary.c_str(), at_.get(), name.c_str()) != 0) {
      ::unlinkat(at_.get(), temporary.c_str(), 0);
      return false;
    }
    written_ += head.size() + bytes.size();
    if (written_ > limit_ / 64) trim();
    return true;
  }

 private:
  static constexpr std::size_t head_bytes = 16;
  static constexpr std::int64_t abandoned_seconds = 3600;

  static std::string name_of(std::string_view what) {
    std::uint64_t digests[] = {14695981039346656037U, 0x9e3779b97f4a7c15U};
    for (const char c : what) {
      digests[0] = (digests[0] ^ static_cast<unsigned char>(c)) * 1099511628211U;
      digests[1] = (digests[1] + static_cast<unsigned char>(c)) * 0xbf58476d1ce4e5b9U;
      digests[1] ^= digests[1] >> 29;
    }
    char out[40];
    std::snprintf(out, sizeof out, "zp-%016llx%016llx", static_cast<unsigned long long>(digests[0]),
                  static_cast<unsigned long long>(digests[1]));
    return out;
  }

  static std::vector<std::byte> head_of(std::string_view what, bytes_view bytes) {
    const bytes_view text = std::as_bytes(std::span(what));
    std::vector<std::byte> out(head_bytes + text.size());
    std::memcpy(out.data(), "zpblock1", 8);
    store_le<std::uint32_t>(out.data() + 12, static_cast<std::uint32_t>(text.size()));
    std::copy(text.begin(), text.end(), out.begin() + head_bytes);
    const std::uint32_t ours = crc32c(bytes_view(out).subspan(12));
    store_le<std::uint32_t>(out.data() + 8, crc32c(bytes, ours));
    return out;
  }

  state damaged(const std::string& name) const {
    ::unlinkat(at_.get(), name.c_str(), 0);
    return state::damaged;
  }

  struct used_file {
    std::string name;
    std::int64_t seconds;
    std::int64_t nanoseconds;
    std::uint64_t bytes;
  };

  /// Whether a name is `prefix` and 32 digits: what is called otherwise belongs to others.
  static bool is_named(std::string_view name, std::string_view prefix) {
    return name.size() == prefix.size() + 32 && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == name.npos;
  }

  /// Removes those that were not used for the longest time until there is room again, and what
  /// killed writers left. Others may do the same at the same time.
  void trim() {
    const std::unique_lock lock(trimming_, std::try_to_lock);
    if (!lock) return;
    written_ = 0;
    DIR* const listing = ::fdopendir(open_at(at_.get(), ".", O_RDONLY | O_DIRECTORY));
    if (listing == nullptr) return;
    const std::int64_t now = ::time(nullptr);
    std::vector<used_file> files;
    std::uint64_t sum = 0;
    while (const ::dirent* const entry = ::readdir(listing)) {
      const std::string_view name = entry->d_name;
      const bool is_temporary = is_named(name, "zp-tmp-");
      struct ::stat info {};
      if ((!is_temporary && !is_named(name, "zp-")) ||
          ::fstatat(at_.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISREG(info.st_mode))
        continue;
      if (is_temporary && info.st_mtime + abandoned_seconds < now) {
        ::unlinkat(at_.get(), entry->d_name, 0);
        continue;
      }
      const auto bytes = static_cast<std::uint64_t>(info.st_size);
      sum += bytes;
      if (!is_temporary)
        files.push_back({std::string(name), info.st_mtim.tv_sec, info.st_mtim.tv_nsec, bytes});
    }
    ::closedir(listing);
    if (sum <= limit_ / 16 * 15) return;
    sort_by(files, [](const used_file& a, const used_file& b) {
      return std::pair(a.seconds, a.nanoseconds) < std::pair(b.seconds, b.nanoseconds);
    });
    for (const used_file& one : files) {
      if (sum <= limit_ / 8 * 7) break;
      ::unlinkat(at_.get(), one.name.c_str(), 0);
      sum -= one.bytes;
    }
  }

  unique_fd at_;
  std::uint64_t limit_;
  std::atomic<std::uint64_t> written_{limit_};  // the first write looks
  std::mutex trimming_{};
};

/// A folder for the cache, made if need be.
inline result<unique_fd> open_cache_folder(const std::string& path) {
  for (std::size_t i = path.find('/', 1); i != path.npos; i = path.find('/', i + 1))
    ::mkdir(path.substr(0, i).c_str(), 0777);
  ::mkdir(path.c_str(), 0700);
  unique_fd at(open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY));
  struct ::stat info {};
  if (!at || ::fstat(at.get(), &info) != 0)
    return system_error("open the folder of a cache", path, errno);
  if (info.st_uid != ::geteuid() || (info.st_mode & 022) != 0)
    return error{errc::invalid_argument,
                 "open the folder of a cache " + path +
                     ": others may write to it, and what they put there would be loaded; give one "
                     "of your own (chmod 700)"};
  return at;
}

}  // namespace detail

struct read_cache::state {
  state(const read_cache_options& of, std::unique_ptr<detail::block_folder> at)
      : how(of),
        memory({.bytes = of.memory, .block_bytes = of.block_bytes}),
        folder(std::move(at)) {}

  /// A block that a thread fetches, for which others wait.
  struct fetch {
    bool is_done = false;
    detail::cached_block bytes{};  ///< null when it failed
  };

  read_cache_options how;
  detail::block_cache memory;
  std::unique_ptr<detail::block_folder> folder;
  std::mutex mutex{};
  std::condition_variable done{};
  std::map<std::string, std::shared_ptr<fetch>, std::less<>> fetches{};
  std::atomic<std::uint64_t> memory_hits{0}, disk_hits{0}, misses{0}, damaged{0}, unwritten{0};
};

class read_cache::object final : public blob {
 public:
  object(std::shared_ptr<state> by, std::unique_ptr<blob> base, const blob_version& version)
      : by_(std::move(by)), base_(std::move(base)), id_(base_->name()) {
    for (const std::uint64_t number : version.numbers) id_ += ' ' + std::to_string(number);
    id_ += ' ' + std::to_string(base_->size()) + ' ' + std::to_string(unit());
  }

  std::uint64_t size() const noexcept override { return base_->size(); }
  std::size_t request_bytes() const noexcept override { return base_->request_bytes(); }
  std::optional<blob_version> version() const noexcept override { return base_->version(); }
  std::string name() const override { return base_->name(); }

  using blob::read;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const read_request one{offset, into};
    return read_vectored({&one, 1});
  }

 protected:
  result<void> read_vectored(std::span<const read_request> requests) const override {
    std::vector<read_request> sorted;
    std::vector<std::uint64_t> wanted;
    for (const read_request& one : requests) {
      ZARRPOINT_CHECK(check_range(one.offset, one.into.size()));
      if (!one.into.empty()) sorted.push_back(one);
    }
    detail::sort_by(
        sorted, [](const read_request& a, const read_request& b) { return a.offset < b.offset; });
    for (const read_request& one : sorted) {
      const std::uint64_t last = (one.offset + one.into.size() - 1) / unit();
      std::uint64_t first = one.offset / unit();
      if (!wanted.empty()) first = std::max(first, wanted.back() + 1);
      for (; first <= last; ++first) wanted.push_back(first);
    }
    std::size_t passed = 0;  // requests that end before the block
    const std::size_t at_once = std::max<std::size_t>(1, largest_read / unit());
    for (std::size_t i = 0; i < wanted.size(); i += at_once) {
      const auto group = std::span(wanted).subspan(i, std::min(at_once, wanted.size() - i));
      std::vector<detail::cached_block> blocks(group.size());
      ZARRPOINT_CHECK(load(group, blocks));
      for (std::size_t j = 0; j < group.size(); ++j) copy(group[j], *blocks[j], sorted, passed);
    }
    return {};
  }

 private:
  static constexpr std::size_t largest_read = std::size_t{8} << 20;

  std::size_t unit() const noexcept { return by_->how.block_bytes; }
  std::size_t bytes_of(std::uint64_t index) const noexcept {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(unit(), base_->size() - index * unit()));
  }
  std::string text_of(std::uint64_t index) const { return id_ + ' ' + std::to_string(index); }

  void copy(std::uint64_t index, const std::vector<std::byte>& bytes,
            const std::vector<read_request>& sorted, std::size_t& passed) const {
    const std::uint64_t begin = index * unit(), end = begin + bytes.size();
    const auto end_of = [](const read_request& one) { return one.offset + one.into.size(); };
    while (passed < sorted.size() && end_of(sorted[passed]) <= begin) ++passed;
    for (std::size_t i = passed; i < sorted.size() && sorted[i].offset < end; ++i) {
      const std::uint64_t from = std::max(begin, sorted[i].offset);
      const std::uint64_t to = std::min(end, end_of(sorted[i]));
      if (from >= to) continue;
      std::memcpy(sorted[i].into.data() + (from - sorted[i].offset), bytes.data() + (from - begin),
                  static_cast<std::size_t>(to - from));
    }
  }

  /// What this thread fetches: others that wait for it are told in any case.
  struct claims {
    explicit claims(state& in) : by(in) {}
    claims(const claims&) = delete;
    claims& operator=(const claims&) = delete;
    ~claims() {
      const std::lock_guard lock(by.mutex);
      for (const auto& [text, one] : own) {
        one->is_done = true;
        by.fetches.erase(text);
      }
      by.done.notify_all();
    }
    void finish(const std::string& text, detail::cached_block bytes) {
      const std::lock_guard lock(by.mutex);
      const auto at = by.fetches.find(text);
      at->second->bytes = std::move(bytes);
      at->second->is_done = true;
      by.done.notify_all();
    }
    state& by;
    std::vector<std::pair<std::string, std::shared_ptr<state::fetch>>> own{};
  };

  /// From memory, from the disk, else from the store: neighbours by one read. What another thread
  /// fetches already is waited for, when all of one's own is there.
  result<void> load(std::span<const std::uint64_t> indexes,
                    std::vector<detail::cached_block>& blocks) const {
    std::vector<std::shared_ptr<state::fetch>> others(indexes.size());
    {
      claims mine(*by_);
      mine.own.reserve(indexes.size());
      std::vector<std::size_t> missing;
      for (std::size_t i = 0; i < indexes.size(); ++i) {
        blocks[i] = by_->memory.find(0, id_, indexes[i]);
        if (blocks[i] != nullptr) {
          ++by_->memory_hits;
          continue;
        }
        std::string text = text_of(indexes[i]);
        {
          const std::lock_guard lock(by_->mutex);
          auto& slot = by_->fetches[text];
          if (slot != nullptr) {
            others[i] = slot;
            continue;
          }
          slot = detail::make_counted<state::fetch>();
          mine.own.emplace_back(text, slot);
        }
        if (by_->folder != nullptr) blocks[i] = read_file(text, bytes_of(indexes[i]));
        if (blocks[i] != nullptr) {
          keep(indexes[i], blocks[i]);
          mine.finish(text, blocks[i]);
        } else {
          missing.push_back(i);
        }
      }
      for (std::size_t begin = 0, end = 0; begin < missing.size(); begin = end) {
        for (end = begin + 1;
             end < missing.size() && indexes[missing[end]] == indexes[missing[end - 1]] + 1;)
          ++end;
        const auto run = std::span(missing).subspan(begin, end - begin);
        ZARRPOINT_CHECK(fetch_run(indexes, run, blocks));
        for (const std::size_t i : run) {
          const std::string text = text_of(indexes[i]);
          keep(indexes[i], blocks[i]);
          mine.finish(text, blocks[i]);
          if (by_->folder != nullptr && !by_->folder->write(text, *blocks[i])) ++by_->unwritten;
        }
      }
    }
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      if (others[i] == nullptr) continue;
      std::unique_lock lock(by_->mutex);
      by_->done.wait(lock, [&] { return others[i]->is_done; });
      blocks[i] = others[i]->bytes;
      lock.unlock();
      // It failed there; here it may go well.
      const std::size_t one[] = {i};
      if (blocks[i] == nullptr) ZARRPOINT_CHECK(fetch_run(indexes, one, blocks));
    }
    return {};
  }

  detail::cached_block read_file(const std::string& text, std::size_t size) const {
    std::vector<std::byte> bytes(size);
    const auto found = by_->folder->read(text, bytes);
    if (found == detail::block_folder::state::damaged) ++by_->damaged;
    if (found != detail::block_folder::state::there) return nullptr;
    ++by_->disk_hits;
    return detail::make_counted<const std::vector<std::byte>>(std::move(bytes));
  }

  void keep(std::uint64_t index, const detail::cached_block& bytes) const {
    by_->memory.insert(0, id_, base_->size(), {index, bytes});
  }

  /// Blocks that follow each other, by one read.
  result<void> fetch_run(std::span<const std::uint64_t> indexes, std::span<const std::size_t> run,
                         std::vector<detail::cached_block>& blocks) const {
    std::size_t size = 0;
    for (const std::size_t i : run) size += bytes_of(indexes[i]);
    by_->misses += run.size();
    std::vector<std::byte> whole(size);
    ZARRPOINT_CHECK(base_->read(indexes[run.front()] * unit(), whole));
    if (run.size() == 1) {
      blocks[run.front()] = detail::make_counted<const std::vector<std::byte>>(std::move(whole));
      return {};
    }
    auto from = whole.begin();
    for (const std::size_t i : run) {
      const auto to = from + static_cast<std::ptrdiff_t>(bytes_of(indexes[i]));
      blocks[i] = detail::make_counted<const std::vector<std::byte>>(from, to);
      from = to;
    }
    return {};
  }

  std::shared_ptr<state> by_;
  std::unique_ptr<blob> base_;
  std::string id_;
};

/// What a `read_cache` makes of a store.
class read_cache::store {
 public:
  store(read_cache by, any_store base) : by_(std::move(by)), base_(std::move(base)) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    ZARRPOINT_TRY(opened, base_.open(key));
    return by_(std::move(opened));
  }
  std::string describe(const store_key& key) const { return base_.describe(key); }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    return base_.create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const { return base_.put(key, bytes); }
  result<bool> erase(const store_key& key) const { return base_.erase(key); }
  result<std::vector<list_entry>> list(const store_key& prefix) const { return base_.list(prefix); }
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const {
    return base_.stage(key, how);
  }
  result<void> rename(const store_key& from, const store_key& to) const {
    return base_.rename(from, to);
  }
  result<bool> erase_all(const store_key& prefix) const { return base_.erase_all(prefix); }
  bool can_write() const { return base_.can_write(); }
  bool can_list() const { return base_.can_list(); }
  bool can_publish() const { return base_.can_publish(); }
  bool lists_cheaply() const { return base_.lists_cheaply(); }
  const void* identity() const { return base_.identity(); }

 private:
  read_cache by_;
  any_store base_;
};

ZARRPOINT_INLINE result<read_cache> read_cache::open(read_cache_options how) {
  if (how.block_bytes < 4096 || how.block_bytes > std::size_t{64} << 20)
    return error{errc::invalid_argument, "open a cache: blocks have 4 KiB to 64 MiB, and not " +
                                             std::to_string(how.block_bytes) + " bytes"};
  std::unique_ptr<detail::block_folder> folder;
  if (!how.folder.empty()) {
    ZARRPOINT_TRY(at, detail::open_cache_folder(how.folder));
    folder = std::make_unique<detail::block_folder>(std::move(at), how.bytes);
  }
  return read_cache(detail::make_counted<state>(how, std::move(folder)));
}

ZARRPOINT_INLINE std::unique_ptr<blob> read_cache::operator()(std::unique_ptr<blob> of) const {
  constexpr std::uint64_t smallest = std::uint64_t{64} << 10;
  if (of == nullptr || of->size() <= smallest) return of;
  const auto version = of->version();
  if (!version) return of;
  return std::make_unique<object>(state_, std::move(of), *version);
}

ZARRPOINT_INLINE any_store read_cache::over(any_store base) const {
  return store(*this, std::move(base));
}

ZARRPOINT_INLINE read_cache_counts read_cache::counts() const {
  return {.memory_hits = state_->memory_hits,
          .disk_hits = state_->disk_hits,
          .misses = state_->misses,
          .damaged = state_->damaged,
          .unwritten = state_->unwritten};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#endif
