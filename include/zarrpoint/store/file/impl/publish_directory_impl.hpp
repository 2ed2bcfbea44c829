// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/file_root.hpp>
#include <zarrpoint/store/file/keep_entries.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Removes a file, a link or an empty directory.
ZARRPOINT_INLINE bool remove_entry(int parent, const char* name) noexcept {
  return ::unlinkat(parent, name, 0) == 0 || ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/// Opens a directory to remove what is in it. Its owner may do that from then on: modes that forbid
/// it bind all but root. -1 on failure.
ZARRPOINT_INLINE int open_to_remove(int parent, const char* name) noexcept {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::openat(parent, name, flags);
  if (fd < 0 && errno == EACCES && ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
    fd = ::openat(parent, name, flags);
  struct ::stat info {};
  if (fd >= 0 && ::fstat(fd, &info) == 0 && (info.st_mode & 0700) != 0700)
    static_cast<void>(::fchmod(fd, 0700));
  return fd;
}

/// A directory that its owner may not write to can be moved to no other parent.
ZARRPOINT_INLINE bool raise_entry(int from, const char* name, int to, const char* raised) noexcept {
  if (::renameat(from, name, to, raised) == 0) return true;
  if (errno != EACCES) return false;
  const unique_fd opened(open_to_remove(from, name));
  return opened && ::renameat(from, name, to, raised) == 0;
}

/// Names that nothing in a tree has, without the memory of a string.
class raised_names {
 public:
  const char* next() noexcept {
    std::snprintf(text_.data(), text_.size(), "%016jx%016jx.%ju", std::uintmax_t{bits_[0]},
                  std::uintmax_t{bits_[1]}, std::uintmax_t{counter_++});
    return text_.data();
  }

 private:
  std::array<std::uint64_t, 2> bits_ = random_bits();
  std::uint64_t counter_ = 0;
  std::array<char, 64> text_{};
};

/// Removes what is in `top` and can be removed without a look into it, and moves up what lies in
/// its directories, so that a tree of any depth takes two descriptors and no recursion. Returns
/// whether anything changed.
ZARRPOINT_INLINE bool remove_or_raise_entries(directory_stream& top, raised_names& names) noexcept {
  bool changed = false;
  top.rewind();
  while (const dirent* entry = top.next()) {
    if (remove_entry(top.fd(), entry->d_name)) {
      changed = true;
      continue;
    }
    directory_stream inner(open_to_remove(top.fd(), entry->d_name));
    if (!inner) continue;
    while (const dirent* child = inner.next()) {
      if (remove_entry(inner.fd(), child->d_name) ||
          raise_entry(inner.fd(), child->d_name, top.fd(), names.next()))
        changed = true;
    }
    if (::unlinkat(top.fd(), entry->d_name, AT_REMOVEDIR) == 0) changed = true;
  }
  return changed;
}

ZARRPOINT_INLINE void remove_tree(int parent, const char* name) noexcept {
  if (remove_entry(parent, name)) return;
  {
    directory_stream top(open_to_remove(parent, name));
    if (!top) return;
    raised_names names;
    while (remove_or_raise_entries(top, names)) {
    }
  }
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

ZARRPOINT_INLINE int check_free(int parent, const char* name) noexcept {
  struct ::stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISDIR(info.st_mode)) return EEXIST;
  directory_stream stream(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!stream) return errno;
  return stream.next() != nullptr ? EEXIST : errno;
}

ZARRPOINT_INLINE directory_publication::directory_publication(std::shared_ptr<file_root> root,
                                                              const store_key& key,
                                                              publish_options how)
    : base_(std::move(root)), name_(base_->describe(key)), target_(key.name()), how_(how) {}

ZARRPOINT_INLINE int exchange_names(int parent, const char* one, const char* other) noexcept {
#if defined(SYS_renameat2)
  constexpr unsigned exchange = 2;
  return ::syscall(SYS_renameat2, parent, one, parent, other, exchange) == 0 ? 0 : errno;
#else
  static_cast<void>(parent), static_cast<void>(one), static_cast<void>(other);
  return ENOSYS;
#endif
}

ZARRPOINT_INLINE void remove_abandoned(int parent, const std::string& target, std::time_t age) {
  directory_stream entries(::openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!entries) return;
  const std::string prefix = temporary_prefix(target);
  std::vector<std::string> found;
  while (const dirent* entry = entries.next()) {
    const std::string_view name(entry->d_name);
    if (name.starts_with(prefix) && is_temporary_name(name) && name.size() == prefix.size() + 32)
      found.emplace_back(name);
  }
  for (const std::string& name : found) {
    const unique_fd tree(
        ::openat(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct ::stat info {};
    if (!tree || ::fstat(tree.get(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) continue;
    if (std::time(nullptr) - info.st_ctim.tv_sec < age) continue;
    if (::flock(tree.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(parent, name.c_str());
  }
}

ZARRPOINT_INLINE result<std::unique_ptr<directory_publication>> directory_publication::begin(
    std::shared_ptr<file_root> root, const store_key& key, const publish_options& how) {
  auto out = std::make_unique<directory_publication>(std::move(root), key, how);
  out->parent_ = out->base_->parent_of(key, how.sync);
  if (!out->parent_) return system_error("create", out->name(), errno);
  const int parent = out->parent_.get();
  const int code = how.overwrite ? 0 : check_free(parent, out->target_.c_str());
  if (code == EEXIST) return out->refuse();
  if (code != 0) return system_error("create", out->name(), code);
  remove_abandoned(parent, out->target_);
  // Known before it is made, so that it is removed whatever fails.
  out->at_ = temporary_name(out->target_);
  const char* const at = out->at_.c_str();
  if (::mkdirat(parent, at, 0777) != 0) {
    const int failed = errno;
    out->at_.clear();
    return system_error("create", out->name(), failed);
  }
  // Opened before the first write, see `file_root::sync_tree`.
  unique_fd directory(::openat(parent, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return system_error("create", out->name(), errno);
  // As long as this process lives; where a file system has no locks, nothing is ever abandoned.
  static_cast<void>(::flock(directory.get(), LOCK_EX | LOCK_NB));
  out->tree_ = file_root::staged(std::move(directory), out->name(), how.sync);
  return out;
}

ZARRPOINT_INLINE directory_publication::~directory_publication() {
  if (!at_.empty()) remove_tree(parent_.get(), at_.c_str());
}

ZARRPOINT_INLINE result<std::vector<std::string>> directory_publication::keep(
    const owned_paths& owned) {
  unique_fd old(
      ::openat(parent_.get(), target_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // Nothing, or no directory: that nothing of others is lost is for `commit` to see to.
  if (!old && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
    return std::vector<std::string>();
  if (!old) return system_error("keep what is in", name(), errno);
  owned_ = owned;
  old_ = std::move(old);
  return keep_entries({old_.get(), tree_->fd(), how_.sync}, owned).at("publish " + name());
}

ZARRPOINT_INLINE result<void> directory_publication::commit() {
  if (at_.empty() || tree_->writers() != 0)
    return error{errc::invalid_argument,
                 "publish " + name() + ": " +
                     (at_.empty() ? "it is published already" : "a file is still being written")};
  if (how_.sync) {
    if (const int code = tree_->sync_tree(); code != 0) return system_error("sync", name(), code);
  }
  // A plain rename replaces nothing but an empty directory.
  const int code = rename_to_target();
  if (code == EEXIST || code == ENOTEMPTY || code == ENOTDIR)
    return how_.overwrite ? replace() : refuse();
  if (code != 0) return system_error("publish", name(), code);
  at_.clear();
  return sync_parent();
}

ZARRPOINT_INLINE error directory_publication::refuse() const {
  return {errc::already_exists, "publish " + name() + ": it is there already"};
}

ZARRPOINT_INLINE int directory_publication::rename_to_target() noexcept {
  const int parent = parent_.get();
  const int code = ::renameat(parent, at_.c_str(), parent, target_.c_str()) == 0 ? 0 : errno;
  return rename_outcome(code, id_of(tree_->fd()), parent, target_.c_str());
}

ZARRPOINT_INLINE int directory_publication::exchange_with_target() noexcept {
  const int code = exchange_names(parent_.get(), at_.c_str(), target_.c_str());
  return rename_outcome(code, id_of(tree_->fd()), parent_.get(), target_.c_str());
}

ZARRPOINT_INLINE result<void> directory_publication::replace() {
  const int code = exchange_with_target();
  if (code == EINVAL || code == ENOSYS) return replace_in_two_steps();
  if (code == ENOENT) return system_error("publish", name(), EBUSY);  // someone else is at it
  if (code != 0) return system_error("publish", name(), code);
  // The temporary name is now that of the old tree, which stays until the exchange is durable.
  return remove_old(std::exchange(at_, {}));
}

ZARRPOINT_INLINE result<void> directory_publication::replace_in_two_steps() {
  const int parent = parent_.get();
  const std::string aside = temporary_name(target_);
  if (::renameat(parent, target_.c_str(), parent, aside.c_str()) != 0)
    return system_error("publish", name(), errno);
  if (const int code = rename_to_target(); code != 0) {
    if (::renameat(parent, aside.c_str(), parent, target_.c_str()) != 0)
      return error{errc::outcome_unknown,
                   "publish " + name() +
                       ": what was there before could not be put back; it is now " + aside};
    return system_error("publish", name(), code);
  }
  at_.clear();
  return remove_old(aside);
}

ZARRPOINT_INLINE result<void> directory_publication::remove_old(const std::string& old) {
  // The text is made only where it is needed: memory may be missing, and the old tree would stay.
  if (result<void> synced = sync_parent(); !synced)
    return std::move(synced).failure().at("the old checkpoint is kept as " + old);
  if (keep_late(old)) remove_tree(parent_.get(), old.c_str());
  return {};
}

ZARRPOINT_INLINE bool directory_publication::keep_late(const std::string& old) {
  // The tree of another publication that came in between has had what is foreign from its own
  // `keep`, and what it owns is not known here.
  if (!old_ || !same_file(id_of(old_.get()), id_of(parent_.get(), old.c_str()))) return true;
  // The new tree is in its place by now: what goes wrong here is told, and is not a failure.
  auto found = guarded([&] { return keep_entries({old_.get(), tree_->fd(), how_.sync}, owned_); });
  if (found) {
    late_.kept = *std::move(found);
    return true;
  }
  if (!guarded([&]() -> result<void> { return tell_late(old, found.failure()), result<void>(); }))
    late_.left = "no memory";
  return false;
}

ZARRPOINT_INLINE void directory_publication::tell_late(const std::string& old,
                                                       const error& failure) {
  late_.left = "some files that others wrote into " + name() +
               " during the save could not be kept; the replaced directory is beside it, as " +
               set_aside(old) + ": " + failure.message;
}

ZARRPOINT_INLINE std::string directory_publication::set_aside(const std::string& old) const {
  // `remove_abandoned` removes what has a temporary name.
  std::string aside = temporary_name(target_);
  aside.replace(aside.size() - 32 - 5, 5, ".old.");
  if (::renameat(parent_.get(), old.c_str(), parent_.get(), aside.c_str()) != 0) return old;
  static_cast<void>(sync_parent());
  return aside;
}

ZARRPOINT_INLINE result<void> directory_publication::sync_parent() const {
  const int code = how_.sync ? sync_directory(parent_.get()) : 0;
  if (code == 0) return {};
  error failure = system_error("sync the directory of", name(), code);
  failure.code = errc::outcome_unknown;
  return failure;
}

}}}  // namespace zarrpoint::v0::detail
