// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_envelope.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer_state.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A value in a data file that may still be written.
class ocdbt_placed_blob final : public blob {
 public:
  using blob::read;
  ocdbt_placed_blob(const ocdbt_change& at, std::string name)
      : file_(at.file), begin_(at.offset), size_(at.length), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return size_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    return file_->read(begin_ + offset, into).at("read " + name_);
  }
  std::string name() const override { return name_; }

 private:
  std::shared_ptr<ocdbt_data_file> file_;
  std::uint64_t begin_;
  std::uint64_t size_;
  std::string name_;
};

}  // namespace detail

/// A value that is being written: in memory while it is small, in a data file of its own time
/// otherwise.
class ocdbt_writer::value_writer final : public blob_writer {
 public:
  value_writer(std::shared_ptr<state> database, store_key key, std::string name)
      : database_(std::move(database)), key_(std::move(key)), name_(std::move(name)) {
    ++database_->writers;  // its mutex is taken
  }
  value_writer(const value_writer&) = delete;
  value_writer& operator=(const value_writer&) = delete;
  ~value_writer() override {
    if (file_ != nullptr) {
      file_->end = size_ != 0 ? begin_ + size_ : begin_;
      static_cast<void>(database_->data.give_back(std::move(file_)));
    }
    leave();
  }

  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    if (bytes.empty()) return {};
    if (offset > most || bytes.size() > most - offset)
      return error{errc::out_of_range, "write " + name_ + ": beyond the largest value"};
    const std::uint64_t end = offset + bytes.size();
    {
      const std::lock_guard lock(mutex_);
      if (is_spent_) return refuse();
      if (file_ == nullptr && end <= database_->head.manifest.configuration.inline_bytes)
        return keep(static_cast<std::size_t>(offset), bytes).at("write " + name_);
      if (file_ == nullptr) {
        auto taken = guarded([&] { return take_file(end); });
        is_spent_ = !taken;
        if (!taken) return std::move(taken).at("write " + name_);
      }
      size_ = std::max(size_, end);
    }
    const std::shared_lock lock(mutex_);
    return file_->write(begin_ + offset, bytes).at("write " + name_);
  }

  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    reserved_ = std::min(size, most);
    return {};
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const std::shared_lock lock(mutex_);
    if (offset > size_ || into.size() > size_ - offset)
      return error{errc::out_of_range, "read " + name_ + ": that part was not written yet"};
    if (file_ != nullptr) return file_->read(begin_ + offset, into).at("read " + name_);
    if (!into.empty()) std::memcpy(into.data(), kept_.data() + offset, into.size());
    return {};
  }

  result<void> finish() override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_spent_, true)) return refuse();
    auto done = guarded([&] { return insert(); });
    if (done) leave();  // otherwise it may have its file, until it is gone
    return std::move(done).at("finish " + name_);
  }

 private:
  // What lies behind each other in a file stays below the largest offset.
  static constexpr std::uint64_t most = std::uint64_t{1} << 62;

  /// It is no longer at work.
  void leave() noexcept {
    if (!std::exchange(is_at_work_, false)) return;
    const std::lock_guard lock(database_->mutex);
    --database_->writers;
  }

  error refuse() const {
    return {errc::invalid_argument, "finish " + name_ + ": it is finished already"};
  }

  result<void> keep(std::size_t offset, bytes_view bytes) {
    const std::size_t end = offset + bytes.size();
    if (end > kept_.size()) {
      ZARRPOINT_CHECK(guarded([&]() -> result<void> {
        kept_.resize(end);
        return {};
      }));
      size_ = end;
    }
    std::memcpy(kept_.data() + offset, bytes.data(), bytes.size());
    return {};
  }

  result<void> take_file(std::uint64_t end) {
    ZARRPOINT_TRY(taken, database_->data.take());
    begin_ = taken->end;
    file_ = std::move(taken);
    ZARRPOINT_CHECK(file_->reserve(begin_ + std::max(reserved_, end)));
    const std::vector<std::byte> before = std::exchange(kept_, {});
    return before.empty() ? result<void>() : file_->write(begin_, before);
  }

  result<void> insert() {
    detail::ocdbt_change made;
    if (file_ == nullptr) {
      made.bytes = std::move(kept_);
    } else {
      made.file = file_;
      made.offset = begin_;
      made.length = size_;
      file_->end = begin_ + size_;
      ZARRPOINT_CHECK(database_->data.give_back(std::move(file_)));
    }
    const std::lock_guard lock(database_->mutex);
    database_->changes.insert_or_assign(std::string(key_.str()), std::move(made));
    return {};
  }

  std::shared_ptr<state> database_;
  store_key key_;
  std::string name_;
  mutable std::shared_mutex mutex_;
  std::vector<std::byte> kept_;
  std::shared_ptr<detail::ocdbt_data_file> file_;  ///< from `begin_` on, until it is finished
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_ = 0;
  bool is_spent_ = false;
  bool is_at_work_ = true;
};

ZARRPOINT_INLINE detail::ocdbt_changes& ocdbt_writer::changes() const { return state_->changes; }

ZARRPOINT_INLINE result<ocdbt_writer> ocdbt_writer::open(any_store base, store_key root,
                                                         const ocdbt_write_options& how) {
  const std::string name = base.describe(root);
  return guarded([&]() -> result<ocdbt_writer> {
           auto made = v0::detail::make_counted<state>(std::move(base), std::move(root),
                                                       how.data_file_bytes);
           ZARRPOINT_CHECK(made->open(how));
           return ocdbt_writer(std::move(made));
         })
      .at("open the OCDBT database " + name + " to write");
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> ocdbt_writer::open(const store_key& key) const {
  using made = std::unique_ptr<blob>;
  if (key.is_root()) return made();
  return guarded([&]() -> result<made> {
           std::optional<detail::ocdbt_tree> tree;
           {
             const std::lock_guard lock(state_->mutex);
             const auto at = state_->changes.find(key.str());
             if (at != state_->changes.end()) {
               const detail::ocdbt_change& change = at->second;
               if (change.is_erased) return made();
               if (change.file == nullptr)
                 return made(std::make_unique<detail::memory_blob>(change.bytes, describe(key)));
               return made(std::make_unique<detail::ocdbt_placed_blob>(change, describe(key)));
             }
             ZARRPOINT_TRY(now, state_->opened_tree());
             tree = std::move(now);
           }
           detail::ocdbt_item item;
           ZARRPOINT_TRY(is_there, tree->find(key.str(), item));
           if (!is_there) return made();
           return detail::open_ocdbt_value(*state_->files, item, describe(key));
         })
      .at("open " + describe(key));
}

ZARRPOINT_INLINE std::string ocdbt_writer::describe(const store_key& key) const {
  const std::string database = state_->files->describe();
  return key.is_root() ? database : database + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> ocdbt_writer::create(
    const store_key& key) const {
  if (key.is_root())
    return error{errc::invalid_argument,
                 "create " + describe(key) + ": the root of a store is not an object"};
  return guarded([&]() -> result<std::unique_ptr<blob_writer>> {
    std::string name = describe(key);
    const std::lock_guard lock(state_->mutex);
    return v0::detail::make_owned<blob_writer, value_writer>(state_, key, std::move(name));
  });
}

ZARRPOINT_INLINE result<void> ocdbt_writer::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_TRY(writer, create(key));
  ZARRPOINT_CHECK(writer->reserve(bytes.size()));
  ZARRPOINT_CHECK(writer->write(0, bytes));
  return writer->finish();
}

ZARRPOINT_INLINE result<bool> ocdbt_writer::erase(const store_key& key) const {
  return guarded([&] {
           const std::lock_guard lock(state_->mutex);
           return state_->erase(key.str());
         })
      .at("erase " + describe(key));
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_writer::list(const store_key& prefix) const {
  return guarded([&] {
           const std::lock_guard lock(state_->mutex);
           return state_->list(prefix);
         })
      .at("list " + describe(prefix));
}

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_writer::commit() const {
  return guarded([&] {
           const std::lock_guard lock(state_->mutex);
           return state_->commit();
         })
      .at("commit to the OCDBT database " + describe(store_key::root()));
}

}}  // namespace zarrpoint::v0
