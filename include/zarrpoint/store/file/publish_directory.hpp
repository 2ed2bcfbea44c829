// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/file/file_root.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// 0 if nothing but an empty directory has this name, EEXIST if something else has, or the errno.
int check_free(int parent, const char* name) noexcept;

/// Exchanges two names in a directory, both at once; 0 or the errno. By number: musl has no
/// `renameat2` up to 1.2.5.
int exchange_names(int parent, const char* one, const char* other) noexcept;

/// A directory that is built beside its target and renamed to it, so that the target is at any time
/// what it was or what it will be.
class directory_publication {
 public:
  /// Makes `.<name>.tmp.<id>` beside `key`.
  static result<std::unique_ptr<directory_publication>> begin(std::shared_ptr<file_root> root,
                                                              const store_key& key,
                                                              const publish_options& how);

  directory_publication(std::shared_ptr<file_root> root, const store_key& key, publish_options how);
  directory_publication(const directory_publication&) = delete;
  directory_publication& operator=(const directory_publication&) = delete;
  ~directory_publication();

  /// Where to write.
  const std::shared_ptr<file_root>& tree() const noexcept { return tree_; }

  /// The name of the tree beside its target; empty once it is published.
  const std::string& staged_name() const noexcept { return at_; }

  /// See `publication::keep`.
  result<std::vector<std::string>> keep(const owned_paths& owned);

  /// Makes the tree durable, renames it to the target in one step, makes that durable; then brings
  /// over what came into the old tree after `keep`.
  result<void> commit();

  /// See `publication::late`.
  const late_entries& late() const noexcept { return late_; }

 private:
  const std::string& name() const noexcept { return name_; }

  /// The directory of the target, as messages call it.
  std::string folder() const { return name_.substr(0, name_.size() - target_.size()); }

  /// Makes the tree and locks it; empty and errno on failure.
  unique_fd make_tree();

  void unlock() const noexcept;

  error refuse() const;

  /// 0 or the errno.
  int rename_to_target() noexcept;
  int exchange_with_target() noexcept;

  /// Exchanges the tree with what has the target's name, and removes that.
  result<void> replace();

  /// Where names cannot be exchanged: the old tree steps aside and comes back if the new one cannot
  /// take its place. A crash between the two renames leaves it under its temporary name.
  result<void> replace_in_two_steps();

  result<void> remove_old(const std::string& old);

  /// Whether a reader has the lock of the old tree, so that it stays for now.
  bool is_held(const std::string& old);

  /// Keeps what is foreign in the old tree, which has been replaced; false if it must stay.
  bool keep_late(const std::string& old);

  /// Says in `late_` that the old tree stays, and why.
  void tell_late(const std::string& old, const error& failure);

  /// Gives the old tree a name that nobody removes it by. Returns the one that it has then.
  std::string set_aside(const std::string& old) const;

  result<void> sync_parent() const;

  std::shared_ptr<file_root> base_;
  std::string name_;
  std::string target_;
  std::string mark_;  ///< that of `how_`, whose text is the caller's
  publish_options how_;
  unique_fd parent_;
  std::string at_;  ///< the temporary name; empty: none
  std::shared_ptr<file_root> tree_;
  unique_fd old_;  ///< what `keep` found at the target; open, so that no other tree is taken for it
  owned_paths owned_;
  late_entries late_;
};

/// Two open directories: a tree that is going to be replaced, and the one that takes its place.
struct tree_pair {
  int from = -1;
  int to = -1;
  bool sync = true;  ///< what is kept is on disk before this returns
};

/// Gives the new tree what is foreign in the old one. Files come by another link to the same file,
/// or a copy where there can be none, so that both have them. Symbolic links stay what they are;
/// unfinished files of our own are passed over, and so is what others remove meanwhile. Nothing
/// that the new tree has is replaced: it may be in its place already. Returns the paths, those of
/// directories with a "/" at the end. Errors: `io`, naming the path: then the old tree must stay.
result<std::vector<std::string>> keep_entries(const tree_pair& trees, const owned_paths& owned);

}}}  // namespace zarrpoint::v0::detail
