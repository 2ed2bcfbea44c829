// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/rename.hpp>
#include <zarrpoint/store/file/extended_file.hpp>
#include <zarrpoint/store/file/file_blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/file_writer.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Whether other keys may lie beneath an entry: what a symbolic link leads to says so, whether it
/// is followed or not. Beneath one that leads nowhere they may, too: who looks there gets its
/// error.
ZARRPOINT_INLINE bool may_be_prefix(int directory, const dirent& entry) {
  // Some file systems do not tell the type in the entry itself.
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_DIR;
  struct ::stat info {};
  return ::fstatat(directory, entry.d_name, &info, 0) != 0 || S_ISDIR(info.st_mode);
}

/// Opens a directory that a save may replace, and takes the lock that keeps it from being removed
/// then.
ZARRPOINT_INLINE result<unique_fd> open_held(const std::string& name) {
  for (int attempt = 0;; ++attempt) {
    unique_fd fd(open_at(AT_FDCWD, name.c_str(), O_RDONLY | O_DIRECTORY));
    if (!fd) return system_error("open", name, errno);
    const int code = has_true_locks(fd.get()) ? lock_file(fd.get(), LOCK_SH) : ENOTSUP;
    const bool is_there = same_file(id_of(fd.get()), id_of(name.c_str()));
    if (code == 0 && is_there) return fd;
    if (code != 0 && code != EWOULDBLOCK)
      return error{errc::unsupported,
                   "hold " + name + ": its file system has no locks that all machines see"};
    if (attempt == 10'000) return system_error("hold", name, EBUSY);
    if (is_there) wait_a_moment();  // until the save that has just published it lets go of it
  }
}

}  // namespace detail

class file_store::staged final : public publication {
 public:
  explicit staged(std::unique_ptr<detail::directory_publication> begun)
      : begun_(std::move(begun)) {}
  any_store store() const override { return file_store(begun_->tree()); }
  std::string staged_name() const override { return begun_->staged_name(); }
  result<std::vector<std::string>> keep(const owned_paths& owned) override {
    return begun_->keep(owned);
  }
  result<void> commit() override { return begun_->commit(); }
  late_entries late() const override { return begun_->late(); }

 private:
  std::unique_ptr<detail::directory_publication> begun_;
};

ZARRPOINT_INLINE result<file_store> file_store::open(std::string_view path,
                                                     const file_store_options& how) {
  const std::string name(path);
  if (name.find('\0') != std::string::npos || name.empty())
    return error{errc::invalid_argument, "open \"" + name + "\": not a path"};
  const bool created = how.create && ::mkdir(name.c_str(), 0777) == 0;
  if (how.create && !created && errno != EEXIST) return detail::system_error("create", name, errno);
  detail::unique_fd fd;
  if (how.hold) {
    ZARRPOINT_TRY(held, detail::open_held(name));
    fd = std::move(held);
  } else {
    fd = detail::unique_fd(detail::open_at(AT_FDCWD, name.c_str(), O_RDONLY | O_DIRECTORY));
  }
  if (!fd) return detail::system_error("open", name, errno);
  if (created && how.sync) {
    const detail::unique_fd parent(detail::open_at(fd.get(), "..", O_RDONLY | O_DIRECTORY));
    const int code = parent ? detail::sync_directory(parent.get()) : errno;
    if (code != 0) return detail::system_error("sync the directory of", name, code);
  }
  if (how.follow_links == link_scope::beneath_root && !detail::confines_by_kernel(fd.get()))
    return error{
        errc::unsupported,
        "open " + name + ": follow_links needs openat2 (Linux 5.6), which is refused here"};
  return file_store(detail::make_counted<detail::file_root>(std::move(fd), name, how));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file_store::open(const store_key& key) const {
  if (key.is_root()) return std::unique_ptr<blob>();
  return detail::file_blob::open(*root_, key);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> file_store::create(
    const store_key& key) const {
  ZARRPOINT_CHECK(check_writable(key, "create"));
  ZARRPOINT_TRY(writer, detail::file_writer::open(root_, key));
  return std::unique_ptr<blob_writer>(std::move(writer));
}

ZARRPOINT_INLINE result<void> file_store::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_CHECK(check_writable(key, "write"));
  ZARRPOINT_TRY(writer, detail::file_writer::open(root_, key));
  ZARRPOINT_CHECK(writer->write(0, bytes));
  return writer->finish();
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> file_store::extend(
    const store_key& key, const blob& before) const {
  ZARRPOINT_CHECK(check_writable(key, "extend"));
  return detail::extended_file::open(root_, key, before);
}

ZARRPOINT_INLINE result<bool> file_store::erase(const store_key& key) const {
  ZARRPOINT_CHECK(check_writable(key, "erase"));
  const detail::unique_fd parent(
      detail::open_beneath(root_->fd(), key.parent(), O_RDONLY | O_DIRECTORY));
  const std::string name(key.name());
  struct ::stat info {};
  const bool there =
      parent && ::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISREG(info.st_mode)) return false;  // no object
  if (there && ::unlinkat(parent.get(), name.c_str(), 0) == 0) {
    const int code = root_->options().sync ? detail::sync_directory(parent.get()) : 0;
    if (code != 0) return detail::system_error("sync the directory of", describe(key), code);
    return true;
  }
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return detail::system_error("erase", describe(key), errno);
}

ZARRPOINT_INLINE result<void> file_store::rename(const store_key& from, const store_key& to) const {
  ZARRPOINT_CHECK(check_writable(from, "rename"));
  ZARRPOINT_CHECK(check_writable(to, "rename to"));
  ZARRPOINT_CHECK(detail::check_rename(*this, from, to));
  const bool sync = root_->options().sync;
  const detail::file_root::moving_directories moving(*root_);
  const detail::unique_fd old_parent(
      detail::open_beneath(root_->fd(), from.parent(), O_RDONLY | O_DIRECTORY));
  if (!old_parent) return detail::system_error("rename", describe(from), errno);
  const detail::unique_fd new_parent(root_->parent_of(to, sync));
  if (!new_parent) return detail::system_error("rename to", describe(to), errno);
  const std::string old_name(from.name()), new_name(to.name());
  int code = detail::check_free(new_parent.get(), new_name.c_str());
  if (code != 0) return detail::system_error("rename to", describe(to), code);
  struct ::stat info {};
  const bool is_file =
      ::fstatat(old_parent.get(), old_name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISDIR(info.st_mode);
  // A file never replaces a directory, even an empty one.
  if (is_file) ::unlinkat(new_parent.get(), new_name.c_str(), AT_REMOVEDIR);
  if (::renameat(old_parent.get(), old_name.c_str(), new_parent.get(), new_name.c_str()) != 0)
    return detail::system_error("rename", describe(from), errno);
  code = sync ? detail::sync_directory(new_parent.get()) : 0;
  if (code == 0 && sync) code = detail::sync_directory(old_parent.get());
  if (code == 0) return {};
  error failure = detail::system_error("sync the directory of", describe(to), code);
  failure.code = errc::outcome_unknown;
  return failure;
}

ZARRPOINT_INLINE result<bool> file_store::erase_all(const store_key& prefix) const {
  ZARRPOINT_CHECK(check_writable(prefix, "erase"));
  const detail::file_root::moving_directories moving(*root_);
  const detail::unique_fd parent(
      detail::open_beneath(root_->fd(), prefix.parent(), O_RDONLY | O_DIRECTORY));
  const std::string name(prefix.name());
  struct ::stat info {};
  if (!parent || ::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return detail::system_error("erase", describe(prefix), errno);
  }
  if (!S_ISDIR(info.st_mode)) return false;
  const std::string aside = detail::temporary_name(name, detail::temporary_kind::unlocked);
  if (::renameat(parent.get(), name.c_str(), parent.get(), aside.c_str()) != 0)
    return detail::system_error("erase", describe(prefix), errno);
  const int code = root_->options().sync ? detail::sync_directory(parent.get()) : 0;
  detail::remove_tree(parent.get(), aside.c_str());
  if (code == 0) return true;
  error failure = detail::system_error("sync the directory of", describe(prefix), code);
  failure.code = errc::outcome_unknown;
  return failure;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> file_store::list(const store_key& prefix) const {
  const int fd = root_->open(prefix, O_RDONLY | O_DIRECTORY);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::vector<list_entry>();
  detail::directory_stream stream(fd);
  if (!stream) return root_->open_failure("list", prefix, errno);
  std::vector<list_entry> out;
  while (const dirent* entry = stream.next()) {
    const std::string_view name(entry->d_name);
    if (detail::key_segment_fault(name) != nullptr || detail::is_temporary_name(name)) continue;
    out.push_back({std::string(name), detail::may_be_prefix(fd, *entry)});
  }
  if (errno != 0) return detail::system_error("list", describe(prefix), errno);
  detail::sort_by_text(out, [](const list_entry& one) -> std::string_view { return one.name; });
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> file_store::stage(
    const store_key& key, const publish_options& how) const {
  ZARRPOINT_CHECK(check_writable(key, "publish"));
  ZARRPOINT_TRY(begun, detail::directory_publication::begin(root_, key, how));
  return detail::make_owned<publication, staged>(std::move(begun));
}

ZARRPOINT_INLINE result<void> file_store::check_writable(const store_key& key,
                                                         const char* action) const {
  if (root_->options().read_only)
    return error{errc::unsupported,
                 std::string(action) + " " + describe(key) + ": the store was opened read-only"};
  if (key.is_root())
    return error{errc::invalid_argument, std::string(action) + " " + describe(key) +
                                             ": the root of a store cannot be an object"};
  // In no segment: what lies in a directory of such a name is never listed, and may be removed.
  for (std::string_view rest = key.str(); !rest.empty();) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (detail::is_temporary_name(segment))
      return error{errc::invalid_argument,
                   std::string(action) + " " + describe(key) +
                       ": names of this form are reserved for unfinished files"};
    rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
  }
  return {};
}

ZARRPOINT_INLINE std::string file_store::describe(const store_key& key) const {
  return root_->describe(key);
}

ZARRPOINT_INLINE bool file_store::can_write() const { return !root_->options().read_only; }

}}  // namespace zarrpoint::v0
