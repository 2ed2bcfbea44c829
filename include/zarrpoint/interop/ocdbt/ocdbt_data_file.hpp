// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>
#include <mutex>
#include <shared_mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A data file of a database that gets a version: one that is being written, or was finished, or
/// belongs to a database that is merged.
class ocdbt_data_file {
 public:
  /// One that is there, or will be once its writer has finished.
  ocdbt_data_file(any_store base, store_key key, ocdbt_file id,
                  std::unique_ptr<blob_writer> writer = nullptr);

  const ocdbt_file& id() const noexcept { return id_; }
  const store_key& key() const noexcept { return key_; }

  /// The end of what lies in it, which is the business of the one that has taken it.
  std::uint64_t end = 0;

  /// Any number of threads may write disjoint ranges.
  result<void> write(std::uint64_t offset, bytes_view bytes) {
    return writer_->write(offset, bytes);
  }
  result<void> reserve(std::uint64_t size) { return writer_->reserve(size); }
  /// What was written, or is there; `unsupported` where the base cannot read what it writes.
  result<void> read(std::uint64_t offset, mutable_bytes into) const;
  result<void> finish();

 private:
  any_store base_;
  store_key key_;
  ocdbt_file id_;
  mutable std::shared_mutex mutex_;
  std::unique_ptr<blob_writer> writer_;     ///< null once it is finished
  mutable std::unique_ptr<blob> finished_;  ///< once somebody has read from it
};

/// The data files that are being written. Each writer at work takes one for itself, so that values
/// of any size can be written by many threads at once. All members may be called from several
/// threads.
class ocdbt_data_files {
 public:
  /// A file that has `target` bytes gets nothing further; 0 for no limit.
  ocdbt_data_files(any_store base, store_key root, std::uint64_t target)
      : base_(std::move(base)), root_(std::move(root)), target_(target) {}
  ocdbt_data_files(const ocdbt_data_files&) = delete;
  ocdbt_data_files& operator=(const ocdbt_data_files&) = delete;
  /// Erases the files that nothing refers to.
  ~ocdbt_data_files();

  /// One for the caller alone until it is given back: the last that was, or a new one.
  result<std::shared_ptr<ocdbt_data_file>> take();
  /// Back, with `end` behind all that was written. It is finished if it is large enough.
  result<void> give_back(std::shared_ptr<ocdbt_data_file> file);

  struct placed {
    std::shared_ptr<ocdbt_data_file> file;
    std::uint64_t offset = 0;
  };
  result<placed> append(bytes_view bytes);

  /// Finishes all files, which must have been given back. Errors: also of a file that could not be
  /// finished before, since what was in it is lost.
  result<void> finish();

  /// Something may refer to the files that are finished.
  void keep();

 private:
  result<void> finish(ocdbt_data_file& file);

  any_store base_;
  store_key root_;
  std::uint64_t target_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<ocdbt_data_file>> idle_;
  std::vector<store_key> unused_;  ///< finished, and nothing refers to them
  std::optional<error> failure_;
};

}}}  // namespace zarrpoint::v0::detail
