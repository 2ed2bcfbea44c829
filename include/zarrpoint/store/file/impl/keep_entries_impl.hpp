// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/keep_entries.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

class entry_keeper {
 public:
  entry_keeper(const tree_pair& trees, const owned_paths& owned) : trees_(trees), owned_(owned) {}

  result<std::vector<std::string>> keep() {
    int code = walk(trees_.from, trees_.to, false);
    if (code == 0) code = sync_if_changed(trees_.to);
    if (code != 0) return system_error("keep", path_, code);
    sort_by_text(kept_, [](const std::string& one) -> std::string_view { return one; });
    return std::move(kept_);
  }

 private:
  static constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  static constexpr std::size_t most_levels = 128;
  static constexpr int most_attempts = 100;

  /// The names of a directory; it is not read while it changes. 0 or the errno.
  static int names_of(int directory, std::vector<std::string>& out) {
    directory_stream stream(open_at(directory, ".", directory_flags));
    if (!stream) return errno == ENOENT ? 0 : errno;  // somebody removed it
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
    return 0;
  }

  int sync_if_changed(int to) const { return changed_ && trees_.sync ? sync_directory(to) : 0; }

  /// What others remove meanwhile is gone, and no failure; it may be there again, too.
  int bring(int from, int to, const std::string& name, path_owner owner, bool inside_foreign) {
    const std::size_t length = path_.size();
    const std::size_t levels = levels_;
    const std::size_t count = kept_.size();
    for (int attempt = 0;; ++attempt) {
      const int code = try_to_bring(from, to, name, owner, inside_foreign);
      if (code != ENOENT) return code;
      struct ::stat info {};
      const bool is_back = ::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
      if (is_back && attempt == most_attempts) return code;
      path_.resize(length);
      levels_ = levels;
      if (!is_back) return errno == ENOENT ? 0 : errno;
      kept_.resize(count);
    }
  }

  int try_to_bring(int from, int to, const std::string& name, path_owner owner,
                   bool inside_foreign) {
    struct ::stat info {};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    const bool is_directory = S_ISDIR(info.st_mode);
    const unique_fd inner(is_directory ? open_at(from, name.c_str(), directory_flags) : -1);
    if (is_directory && !inner) return errno;
    // A directory of both comes to be when something of it is to be kept.
    if (is_directory && owner == path_owner::mixed) return walk(inner.get(), -1, false);
    const unique_fd parent = to < 0 ? open_parent() : unique_fd();
    if (to < 0 && !parent) return errno;
    const int into = to < 0 ? parent.get() : to;
    const int code = is_directory ? bring_directory(inner.get(), into, name, inside_foreign)
                                  : bring_file(from, into, name, info.st_mode);
    if (code != 0) return code == EEXIST ? 0 : code;  // the new tree has one of its own
    if (!is_directory) changed_ = true;
    if (!is_directory && !inside_foreign) kept_.push_back(path_);
    return parent ? sync_if_changed(parent.get()) : 0;
  }

  int bring_directory(int from, int into, const std::string& name, bool inside_foreign) {
    // Its own mode, which may forbid writing, is given to it when it is complete.
    const bool made = ::mkdirat(into, name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return errno;
    const unique_fd target(open_at(into, name.c_str(), directory_flags));
    if (!target) return errno == ENOTDIR || errno == ELOOP ? EEXIST : errno;
    changed_ = changed_ || made;
    if (!inside_foreign) kept_.push_back(path_ + "/");
    if (const int code = walk(from, target.get(), true); code != 0) return code;
    struct ::stat info {};
    // Not every file system can have every mode; what is in it is kept all the same.
    if (made && ::fstat(from, &info) == 0)
      static_cast<void>(::fchmod(target.get(), info.st_mode & 07777));
    return sync_if_changed(target.get());
  }

  /// The directory of `path_` in the new tree, made if it is not there.
  unique_fd open_parent() const {
    unique_fd at(open_at(trees_.to, ".", directory_flags));
    for (std::size_t begin = 0; at;) {
      const std::size_t end = path_.find('/', begin);
      if (end == path_.npos) break;
      const std::string step = path_.substr(begin, end - begin);
      if (::mkdirat(at.get(), step.c_str(), 0777) != 0 && errno != EEXIST) return unique_fd();
      if (trees_.sync) static_cast<void>(sync_directory(at.get()));
      at = unique_fd(open_at(at.get(), step.c_str(), directory_flags));
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

  /// A copy has a temporary name until it is complete: the new tree may be in its place already.
  int copy_file(int from, int to, const std::string& name, mode_t mode) const {
    struct ::stat info {};
    if (::fstatat(to, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    const unique_fd source(open_at(from, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    if (!source) return errno;
    const std::string at = temporary_name(name, temporary_kind::unlocked);
    // The copy must not run as its owner or group: it may have another owner now.
    const unique_fd target(
        open_at(to, at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode & 0777));
    if (!target) return errno;
    int code = copy_bytes(source.get(), target.get());
    if (code == 0) code = rename_if_free(to, at.c_str(), name.c_str());
    if (code != 0) ::unlinkat(to, at.c_str(), 0);
    return code;
  }

  int copy_bytes(int source, int target) const {
    std::vector<std::byte> part(std::size_t{1} << 20);
    for (std::uint64_t offset = 0;;) {
      const ssize_t count = retry_interrupted(
          [&] { return ::pread(source, part.data(), part.size(), static_cast<off_t>(offset)); });
      if (count < 0) return errno;
      if (count == 0) break;
      const auto size = static_cast<std::size_t>(count);
      if (const int code = write_fully(target, offset, bytes_view(part.data(), size)); code != 0)
        return code;
      offset += size;
    }
    return trees_.sync && retry_interrupted([&] { return ::fsync(target); }) != 0 ? errno : 0;
  }

  /// Replaces nothing, but where the kernel or the file system can only replace: there it looks
  /// first. By number: see `exchange_names`.
  static int rename_if_free(int directory, const char* from, const char* to) {
#if defined(SYS_renameat2)
    constexpr unsigned no_replace = 1;
    if (::syscall(SYS_renameat2, directory, from, directory, to, no_replace) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
    struct ::stat info {};
    if (::fstatat(directory, to, &info, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    return ::renameat(directory, from, directory, to) == 0 ? 0 : errno;
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
  return entry_keeper(trees, owned).keep();
}

}}}  // namespace zarrpoint::v0::detail
