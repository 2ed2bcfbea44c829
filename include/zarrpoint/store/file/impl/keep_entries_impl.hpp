// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/keep_entries.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class = void>
class entry_keeper {
 public:
  entry_keeper(const tree_pair& trees, const owned_paths& owned) : trees_(trees), owned_(owned) {}

  result<std::vector<std::string>> keep() {
    if (const int code = walk(trees_.from, trees_.to, false); code != 0)
      return system_error("keep", path_, code);
    std::sort(kept_.begin(), kept_.end());
    return std::move(kept_);
  }

 private:
  static constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  static constexpr std::size_t most_levels = 128;

  /// The names of a directory; it is not read while it changes. 0 or the errno.
  static int names_of(int directory, std::vector<std::string>& out) {
    directory_stream stream(::openat(directory, ".", directory_flags));
    if (!stream) return errno;
    while (const dirent* entry = stream.next()) {
      if (!is_temporary_name(entry->d_name)) out.emplace_back(entry->d_name);
    }
    return errno;
  }

  /// `to` is -1 while the new tree need not have the directory. On failure `path_` says where.
  int walk(int from, int to, bool inside_foreign) {
    if (++levels_ > most_levels) return ELOOP;
    std::vector<std::string> names;
    if (const int code = names_of(from, names); code != 0) return code;
    for (const std::string& name : names) {
      const std::size_t length = path_.size();
      path_.append(length == 0 ? "" : "/").append(name);
      const path_owner owner = owned_.owner_of(path_);
      // What lies beneath a foreign directory is foreign, whatever its name, but for what is taken.
      if (owner != path_owner::own) {
        const int code =
            bring(from, to, name, inside_foreign ? path_owner::foreign : owner, inside_foreign);
        if (code != 0) return code;
      }
      path_.resize(length);
    }
    --levels_;
    return to >= 0 && changed_ && trees_.sync ? sync_directory(to) : 0;
  }

  int bring(int from, int to, const std::string& name, path_owner owner, bool inside_foreign) {
    struct ::stat info {};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? 0 : errno;  // it has gone
    if (!S_ISDIR(info.st_mode)) {
      const unique_fd made = to < 0 ? open_parent() : unique_fd();
      if (to < 0 && !made) return errno;
      const int code = bring_file(from, to < 0 ? made.get() : to, name, info.st_mode);
      if (code == EEXIST) return 0;  // the new tree has one of its own
      if (code == 0 && made && trees_.sync) {
        if (const int failed = sync_directory(made.get()); failed != 0) return failed;
      }
      if (code == 0 && !inside_foreign) kept_.push_back(path_);
      changed_ = changed_ || code == 0;
      return code;
    }
    const unique_fd inner(::openat(from, name.c_str(), directory_flags));
    if (!inner) return errno;
    // A directory of both comes to be when something of it is to be kept.
    if (owner == path_owner::mixed) return walk(inner.get(), -1, false);
    const unique_fd parent = to < 0 ? open_parent() : unique_fd();
    if (to < 0 && !parent) return errno;
    const int into = to < 0 ? parent.get() : to;
    if (::mkdirat(into, name.c_str(), info.st_mode & 07777) != 0 && errno != EEXIST) return errno;
    const unique_fd target(::openat(into, name.c_str(), directory_flags));
    if (!target) return errno == ENOTDIR || errno == ELOOP ? 0 : errno;
    changed_ = true;
    if (!inside_foreign) kept_.push_back(path_ + "/");
    if (const int code = walk(inner.get(), target.get(), true); code != 0) return code;
    return parent && trees_.sync ? sync_directory(parent.get()) : 0;
  }

  /// The directory of `path_` in the new tree, made if it is not there.
  unique_fd open_parent() const {
    unique_fd at(::openat(trees_.to, ".", directory_flags));
    for (std::size_t begin = 0; at;) {
      const std::size_t end = path_.find('/', begin);
      if (end == path_.npos) break;
      const std::string step = path_.substr(begin, end - begin);
      if (::mkdirat(at.get(), step.c_str(), 0777) != 0 && errno != EEXIST) return unique_fd();
      if (trees_.sync) static_cast<void>(sync_directory(at.get()));
      at = unique_fd(::openat(at.get(), step.c_str(), directory_flags));
      begin = end + 1;
    }
    return at;
  }

  static bool is_no_link(int code) {
    // The last two: another's file, and too many links.
    for (const int one : {EOPNOTSUPP, ENOSYS, EXDEV, EPERM, EMLINK})
      if (code == one) return true;
    return false;
  }

  int bring_file(int from, int to, const std::string& name, mode_t mode) const {
    if (::linkat(from, name.c_str(), to, name.c_str(), 0) == 0) return 0;
    if (!is_no_link(errno)) return errno;
    if (S_ISLNK(mode)) {
      std::string target(4096, '\0');
      const ssize_t size = ::readlinkat(from, name.c_str(), target.data(), target.size() - 1);
      if (size < 0) return errno;
      target.resize(static_cast<std::size_t>(size));
      return ::symlinkat(target.c_str(), to, name.c_str()) == 0 ? 0 : errno;
    }
    return S_ISREG(mode) ? copy_file(from, to, name, mode) : EOPNOTSUPP;
  }

  int copy_file(int from, int to, const std::string& name, mode_t mode) const {
    const unique_fd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!source) return errno;
    const unique_fd target(::openat(
        to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 07777));
    if (!target) return errno;
    std::vector<std::byte> part(std::size_t{1} << 20);
    for (std::uint64_t offset = 0;;) {
      const ssize_t count = retry_interrupted([&] {
        return ::pread(source.get(), part.data(), part.size(), static_cast<off_t>(offset));
      });
      if (count < 0) return errno;
      if (count == 0) break;
      const auto size = static_cast<std::size_t>(count);
      if (const int code = write_fully(target.get(), offset, bytes_view(part.data(), size));
          code != 0)
        return code;
      offset += size;
    }
    return trees_.sync && ::fsync(target.get()) != 0 ? errno : 0;
  }

  const tree_pair& trees_;
  const owned_paths& owned_;
  std::string path_;
  std::vector<std::string> kept_;
  std::size_t levels_ = 0;
  bool changed_ = false;
};

ZARRPOINT_INLINE result<std::vector<std::string>> keep_entries(const tree_pair& trees,
                                                               const owned_paths& owned) {
  return entry_keeper<>(trees, owned).keep();
}

}}}  // namespace zarrpoint::v0::detail
