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
#include <zarrpoint/store/file/remove_tree.hpp>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
  out->tree_->expect(how.objects);
  if (how.sync && how.write_behind != nullptr) out->tree_->behind() = how.write_behind();
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
