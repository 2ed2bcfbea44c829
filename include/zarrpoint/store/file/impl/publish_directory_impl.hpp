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

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
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
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  int fd = open_at(parent, name, flags);
  if (fd < 0 && errno == EACCES && ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
    fd = open_at(parent, name, flags);
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
/// whether anything changed; `code` is why something stayed.
ZARRPOINT_INLINE bool remove_or_raise_entries(directory_stream& top, raised_names& names,
                                              int& code) noexcept {
  bool changed = false;
  top.rewind();
  while (const dirent* entry = top.next()) {
    if (remove_entry(top.fd(), entry->d_name)) {
      changed = true;
      continue;
    }
    directory_stream inner(open_to_remove(top.fd(), entry->d_name));
    if (!inner) {
      // Of a file: asked again, for the reason.
      code = errno == ENOTDIR && ::unlinkat(top.fd(), entry->d_name, 0) != 0 ? errno : ENOTEMPTY;
      continue;
    }
    while (const dirent* child = inner.next()) {
      if (remove_entry(inner.fd(), child->d_name) ||
          raise_entry(inner.fd(), child->d_name, top.fd(), names.next())) {
        changed = true;
      } else {
        code = errno;
      }
    }
    if (::unlinkat(top.fd(), entry->d_name, AT_REMOVEDIR) == 0) changed = true;
  }
  return changed;
}

ZARRPOINT_INLINE int remove_tree(int parent, const char* name) noexcept {
  if (remove_entry(parent, name)) return 0;
  int code = 0;
  {
    directory_stream top(open_to_remove(parent, name));
    if (!top) return errno == ENOENT ? 0 : errno;
    // A reader that still has it open shall not take what is left for a whole hierarchy.
    for (const char* document : {"zarr.json", ".zgroup", ".zarray"})
      ::unlinkat(top.fd(), document, 0);
    raised_names names;
    while (remove_or_raise_entries(top, names, code)) {
    }
  }
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  return code != 0 && (errno == ENOTEMPTY || errno == EEXIST) ? code : errno;
}

ZARRPOINT_INLINE int check_free(int parent, const char* name) noexcept {
  struct ::stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISDIR(info.st_mode)) return EEXIST;
  directory_stream stream(open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!stream) return errno;
  return stream.next() != nullptr ? EEXIST : errno;
}

ZARRPOINT_INLINE directory_publication::directory_publication(std::shared_ptr<file_root> root,
                                                              const store_key& key,
                                                              publish_options how)
    : base_(std::move(root)),
      name_(base_->describe(key)),
      target_(key.name()),
      mark_(how.mark),
      how_(how) {}

ZARRPOINT_INLINE int exchange_names(int parent, const char* one, const char* other) noexcept {
#if defined(SYS_renameat2)
  constexpr unsigned exchange = 2;
  return ::syscall(SYS_renameat2, parent, one, parent, other, exchange) == 0 ? 0 : errno;
#else
  static_cast<void>(parent), static_cast<void>(one), static_cast<void>(other);
  return ENOSYS;
#endif
}

/// When anything in a file or a tree changed last. What cannot be looked through is never old.
ZARRPOINT_INLINE std::time_t last_change(int fd, int levels = 64) {
  constexpr std::time_t always = std::numeric_limits<std::time_t>::max();
  const auto newer = [](std::time_t than, const struct ::stat& info) {
    return std::max({than, info.st_mtim.tv_sec, info.st_ctim.tv_sec});
  };
  struct ::stat info {};
  if (::fstat(fd, &info) != 0) return always;
  std::time_t out = newer(0, info);
  if (!S_ISDIR(info.st_mode)) return out;
  directory_stream entries(levels == 0 ? -1 : open_at(fd, ".", O_RDONLY | O_DIRECTORY));
  if (!entries) return always;
  while (const dirent* entry = entries.next()) {
    if (::fstatat(entries.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out = newer(out, info);
    if (!S_ISDIR(info.st_mode)) continue;
    const unique_fd inner(
        open_at(entries.fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    out = inner ? std::max(out, last_change(inner.get(), levels - 1)) : always;
  }
  return out;
}

/// The temporary trees and files in a directory.
ZARRPOINT_INLINE std::vector<std::string> temporary_names_in(int parent) {
  std::vector<std::string> out;
  directory_stream entries(open_at(parent, ".", O_RDONLY | O_DIRECTORY));
  if (!entries) return out;
  while (const dirent* entry = entries.next())
    for (const temporary_kind kind :
         {temporary_kind::locked, temporary_kind::unlocked, temporary_kind::aside})
      if (is_temporary_name(entry->d_name, kind)) out.emplace_back(entry->d_name);
  return out;
}

/// Whether what stepped aside for a save is all that is left of its target, or may be.
ZARRPOINT_INLINE bool is_last_copy(int parent, const std::string& name) {
  const std::string target = name.substr(1, name.size() - 1 - 5 - 32);
  return name.size() == 255 || !id_of(parent, target.c_str());
}

ZARRPOINT_INLINE std::vector<std::string> remove_abandoned(int parent, const std::string& folder,
                                                           std::time_t age) {
  std::vector<std::string> warnings;
  const std::vector<std::string> found = temporary_names_in(parent);
  if (found.empty()) return warnings;
  const bool locks = has_true_locks(parent);
  bool is_synced = false;
  for (const std::string& name : found) {
    const unique_fd tree(open_at(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    struct ::stat info {};
    if (!tree || ::fstat(tree.get(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) continue;
    const int locked = lock_file(tree.get(), LOCK_EX);
    if (locked == EWOULDBLOCK) continue;
    const bool is_dead = locks && locked == 0 && is_temporary_name(name, temporary_kind::locked);
    if (!is_dead && std::time(nullptr) - last_change(tree.get()) < age) continue;
    if (!same_file(id_of(tree.get()), id_of(parent, name.c_str()))) continue;
    if (is_temporary_name(name, temporary_kind::aside) && is_last_copy(parent, name)) {
      warnings.push_back(folder + name +
                         " was moved aside by a save that was killed before the new checkpoint had "
                         "its place; rename it to what it was, or remove it");
      continue;
    }
    // It may be the old tree of an exchange that is not on disk yet.
    const int code = is_synced ? 0 : sync_directory(parent);
    is_synced = code == 0;
    const int kept = code != 0 ? code : remove_tree(parent, name.c_str());
    // What others left is theirs to remove where we may not.
    if (kept != 0 && info.st_uid == ::geteuid())
      warnings.push_back(
          system_error("remove what an earlier save left,", folder + name, kept).message);
  }
  return warnings;
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
  out->late_.uncleaned = remove_abandoned(parent, out->folder());
  unique_fd directory = out->make_tree();
  if (!directory) return system_error("create", out->name(), errno);
  out->tree_ = file_root::staged(std::move(directory), out->name(), how.sync);
  return out;
}

ZARRPOINT_INLINE unique_fd directory_publication::make_tree() {
  const int parent = parent_.get();
  temporary_kind kind = has_true_locks(parent) ? temporary_kind::locked : temporary_kind::unlocked;
  for (int attempt = 0;; ++attempt) {
    // Known before it is made, so that it is removed whatever fails.
    at_ = temporary_name(target_ + mark_, kind);
    const char* const at = at_.c_str();
    if (::mkdirat(parent, at, 0777) != 0) {
      const int failed = errno;
      at_.clear();
      return errno = failed, unique_fd();
    }
    // Opened before the first write, see `file_root::sync_tree`.
    unique_fd directory(open_at(parent, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    const int code = directory ? lock_file(directory.get(), LOCK_EX) : errno;
    const bool is_ours = same_file(id_of(directory.get()), id_of(parent, at));
    if (directory && is_ours && (code == 0 || kind == temporary_kind::unlocked)) return directory;
    // Without locks after all; or somebody took it for abandoned before it had its lock.
    const bool is_taken = code == EWOULDBLOCK || code == ENOENT || (code == 0 && !is_ours);
    if (!is_taken && kind == temporary_kind::unlocked) return errno = code, unique_fd();
    if (!is_taken) kind = temporary_kind::unlocked;
    ::unlinkat(parent, at, AT_REMOVEDIR);
    if (attempt == 100) return errno = EBUSY, unique_fd();
  }
}

ZARRPOINT_INLINE directory_publication::~directory_publication() {
  if (!at_.empty()) remove_tree(parent_.get(), at_.c_str());
}

ZARRPOINT_INLINE result<std::vector<std::string>> directory_publication::keep(
    const owned_paths& owned) {
  unique_fd old(open_at(parent_.get(), target_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
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
  tree_->stop_keeping_directories();
  if (how_.sync) {
    if (const int code = tree_->sync_tree(); code != 0) return system_error("sync", name(), code);
  }
  const file_root::moving_directories moving(*base_);
  // A plain rename replaces nothing but an empty directory.
  const int code = rename_to_target();
  if (code == EEXIST || code == ENOTEMPTY || code == ENOTDIR)
    return how_.overwrite ? replace() : refuse();
  if (code != 0) return system_error("publish", name(), code);
  at_.clear();
  unlock();
  return sync_parent();
}

ZARRPOINT_INLINE void directory_publication::unlock() const noexcept {
  // What is published may be held by readers.
  static_cast<void>(lock_file(tree_->fd(), LOCK_UN));
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
  // Nobody shall take what is there for abandoned while `keep_late` looks through it.
  if (old_) static_cast<void>(lock_file(old_.get(), LOCK_SH));
  const int code = exchange_with_target();
  if (code == EINVAL || code == ENOSYS) return replace_in_two_steps();
  if (code == ENOENT) return system_error("publish", name(), EBUSY);  // someone else is at it
  if (code != 0) return system_error("publish", name(), code);
  unlock();
  // The temporary name is now that of the old tree, which stays until the exchange is durable.
  return remove_old(std::exchange(at_, {}));
}

ZARRPOINT_INLINE result<void> directory_publication::replace_in_two_steps() {
  const int parent = parent_.get();
  const std::string aside = temporary_name(target_, temporary_kind::aside);
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
  unlock();
  return remove_old(aside);
}

ZARRPOINT_INLINE result<void> directory_publication::remove_old(const std::string& old) {
  // The text is made only where it is needed: memory may be missing, and the old tree would stay.
  if (result<void> synced = sync_parent(); !synced)
    return std::move(synced).failure().at("the old checkpoint is kept as " + set_aside(old));
  if (!keep_late(old) || is_held(old)) return {};
  if (const int code = remove_tree(parent_.get(), old.c_str()); code != 0) {
    // The new tree is in its place: that this cannot be told of is not a failure.
    static_cast<void>(guarded([&]() -> result<void> {
      late_.uncleaned.push_back(
          system_error("remove the checkpoint that was replaced,", folder() + old, code).message);
      return {};
    }));
  }
  return {};
}

ZARRPOINT_INLINE bool directory_publication::is_held(const std::string& old) {
  // Another descriptor than that of our own lock would be refused by it.
  if (!old_ || !same_file(id_of(old_.get()), id_of(parent_.get(), old.c_str())))
    old_ = unique_fd(open_at(parent_.get(), old.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return old_ && lock_file(old_.get(), LOCK_EX) == EWOULDBLOCK;
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
  std::string aside = temporary_name(target_, temporary_kind::unlocked);
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
