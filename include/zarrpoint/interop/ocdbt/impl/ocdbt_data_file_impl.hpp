// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE ocdbt_data_file::ocdbt_data_file(any_store base, store_key key, ocdbt_file id,
                                                  std::unique_ptr<blob_writer> writer)
    : base_(std::move(base)),
      key_(std::move(key)),
      id_(std::move(id)),
      writer_(std::move(writer)) {}

ZARRPOINT_INLINE result<void> ocdbt_data_file::write(std::uint64_t offset, bytes_view bytes) {
  return writer_->write(offset, bytes);
}

ZARRPOINT_INLINE result<void> ocdbt_data_file::reserve(std::uint64_t size) {
  return writer_->reserve(size);
}

ZARRPOINT_INLINE result<void> ocdbt_data_file::read(std::uint64_t offset,
                                                    mutable_bytes into) const {
  {
    const std::shared_lock lock(mutex_);
    if (writer_ != nullptr) return writer_->read(offset, into);
    if (finished_ != nullptr) return finished_->read(offset, into);
  }
  const std::unique_lock lock(mutex_);
  if (finished_ == nullptr) {
    ZARRPOINT_TRY(opened, base_.open(key_));
    if (opened == nullptr)
      return error{errc::corrupt,
                   "its data file " + in_quotes(id_.base + id_.name) + " is missing"};
    finished_ = std::move(opened);
  }
  return finished_->read(offset, into);
}

ZARRPOINT_INLINE result<void> ocdbt_data_file::finish() {
  const std::unique_lock lock(mutex_);
  return std::exchange(writer_, nullptr)->finish();
}

ZARRPOINT_INLINE ocdbt_data_files::ocdbt_data_files(any_store base, store_key root,
                                                    std::uint64_t target)
    : base_(std::move(base)), root_(std::move(root)), target_(target) {}

ZARRPOINT_INLINE ocdbt_data_files::~ocdbt_data_files() {
  idle_.clear();
  for (const store_key& key : unused_) static_cast<void>(base_.erase(key));
}

ZARRPOINT_INLINE result<std::shared_ptr<ocdbt_data_file>> ocdbt_data_files::take() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    if (!idle_.empty()) {
      auto out = std::move(idle_.back());
      idle_.pop_back();
      return out;
    }
  }
  ocdbt_file id{{}, "d/" + random_id()};
  ZARRPOINT_TRY(key, root_.child(id.name));
  ZARRPOINT_TRY(writer, base_.create(key));
  return v0::detail::make_counted<ocdbt_data_file>(base_, std::move(key), std::move(id),
                                                   std::move(writer));
}

ZARRPOINT_INLINE result<void> ocdbt_data_files::give_back(std::shared_ptr<ocdbt_data_file> file) {
  if (file->end == 0) return {};  // nothing is in it
  if (target_ != 0 && file->end >= target_) return finish(*file);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(file));
  return {};
}

ZARRPOINT_INLINE result<ocdbt_data_files::placed> ocdbt_data_files::append(bytes_view bytes) {
  ZARRPOINT_TRY(file, take());
  const std::uint64_t offset = file->end;
  const auto written = file->write(offset, bytes);
  file->end += bytes.size();
  ZARRPOINT_CHECK(give_back(file));
  if (!written) return written.failure();
  return placed{std::move(file), offset};
}

ZARRPOINT_INLINE result<void> ocdbt_data_files::finish(ocdbt_data_file& file) {
  auto done = file.finish();
  const std::lock_guard lock(mutex_);
  unused_.push_back(file.key());  // even so: it may have its name
  if (!done && !failure_) failure_ = done.failure();
  return done;
}

ZARRPOINT_INLINE result<void> ocdbt_data_files::finish() {
  std::vector<std::shared_ptr<ocdbt_data_file>> files;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    files.swap(idle_);
  }
  for (const auto& file : files) ZARRPOINT_CHECK(finish(*file));
  return {};
}

ZARRPOINT_INLINE void ocdbt_data_files::keep() {
  const std::lock_guard lock(mutex_);
  unused_.clear();
}

}}}  // namespace zarrpoint::v0::detail
