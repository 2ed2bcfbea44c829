// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/kept_directories.hpp>

#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether `syncfs` makes all files of this file system durable and reports what went wrong: since
/// Linux 5.8, on the local file systems of the list. FUSE does not pass it on, and overlayfs does
/// not see the errors of the layer below.
bool syncfs_is_reliable(int fd) noexcept;

/// The open directory behind a file store, shared by its blobs and writers.
class file_root {
 public:
  file_root(unique_fd directory, std::string path, file_store_options how);

  /// The root of a tree that is written first and made durable then, by `sync_tree`, if `durable`.
  static std::shared_ptr<file_root> staged(unique_fd directory, std::string path, bool durable);

  int fd() const noexcept { return fd_.get(); }
  const file_store_options& options() const noexcept { return options_; }
  /// Whether what is written will have to reach the disk.
  bool durable() const noexcept { return options_.sync || durable_tree_; }

  /// What the temporary names of files that are written here say.
  temporary_kind owner_kind() noexcept;

  /// The name of an object, for people.
  std::string describe(const store_key& key) const;

  /// Opens `key` to be read, through the links that the options let it; -1 and errno on failure.
  int open(const store_key& key, int flags) const noexcept;

  /// The error of an `open`.
  error open_failure(const char* action, const store_key& key, int code) const;

  /// The directory of `key`, made when it is missing, durably if `sync`; empty and errno on
  /// failure.
  unique_fd parent_of(const store_key& key, bool sync);

  /// The same, shared with the other writers of a staged tree, which nobody else changes; empty and
  /// errno on failure.
  shared_directory shared_parent_of(const store_key& key);

  /// Directories of the tree move or go while it lives.
  class moving_directories {
   public:
    explicit moving_directories(file_root& of) noexcept : of_(of) {}
    moving_directories(const moving_directories&) = delete;
    moving_directories& operator=(const moving_directories&) = delete;
    ~moving_directories() { of_.kept_.drop(); }

   private:
    file_root& of_;
  };

  /// Gives an open file a second name, and makes it durable as one that was written. False where
  /// that fails.
  bool share(const store_key& key, int file);

  /// Before the tree is where others may change it.
  void stop_keeping_directories() noexcept {
    keeps_directories_.store(false, std::memory_order_relaxed);
    kept_.drop();
  }

  /// About so many files are to come; many of them wait for `sync_tree` from the first one on.
  void expect(std::size_t files) noexcept {
    if (files > few_files) synced_.store(few_files, std::memory_order_relaxed);
  }

  /// Whom to tell of syncs; null: nobody.
  void tell(phase_observer* observer) noexcept { observer_ = observer; }

  /// Makes a written file durable, now or in `sync_tree`. Beyond a few files one sync of the whole
  /// file system is faster than one of each (512 files: 123 against 431 ms). 0 or the errno.
  int sync_file(int file) noexcept;

  /// Makes everything that was written through this root durable; 0 or the errno. The descriptor
  /// was opened before the first write, so that `syncfs` reports what went wrong since. Fails if
  /// any sync before did: the kernel may have dropped the data, and would call a second sync good.
  int sync_tree() noexcept;

  staging_blocks& blocks() noexcept { return blocks_; }

  /// Who writes for those that encode: to be set before the first file is written.
  write_behind& behind() noexcept { return behind_; }

  /// How many files are being written.
  void writer_opened() noexcept { writers_.fetch_add(1, std::memory_order_relaxed); }
  void writer_closed() noexcept { writers_.fetch_sub(1, std::memory_order_relaxed); }
  unsigned writers() const noexcept { return writers_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned few_files = 32;

  int note(int code) noexcept;

  unique_fd fd_;
  phase_observer* observer_ = nullptr;
  std::string name_;
  file_store_options options_;
  bool durable_tree_ = false;
  bool syncs_as_one_ = false;
  std::atomic<unsigned> writers_{0};
  std::atomic<unsigned> synced_{0};
  std::atomic<bool> unsynced_{false};
  std::atomic<int> failed_{0};
  std::atomic<int> has_locks_{-1};  ///< -1: not asked yet
  std::mutex mutex_;
  std::vector<store_key> made_;
  std::atomic<bool> keeps_directories_{false};
  kept_directories kept_;
  staging_blocks blocks_;
  write_behind behind_;
};

}}}  // namespace zarrpoint::v0::detail
