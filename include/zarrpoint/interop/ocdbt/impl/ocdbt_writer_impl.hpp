// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/zstd.hpp>
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

/// The name of a numbered manifest.
ZARRPOINT_INLINE std::string numbered_ocdbt_name(std::uint64_t generation) {
  std::string out(ocdbt_numbered_name);
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[generation >> shift & 15];
  return out;
}

}  // namespace detail

struct ocdbt_writer::state {
  state(any_store to, store_key at, std::uint64_t target)
      : base(std::move(to)), root(std::move(at)), data(base, root, target) {
    before.root.node = {0, detail::ocdbt_nowhere, detail::ocdbt_nowhere};
  }

  any_store base;
  store_key root;
  detail::ocdbt_data_files data;
  std::shared_ptr<const detail::ocdbt_files> files;
  std::mutex mutex;
  detail::ocdbt_head head;                 ///< without a name: the database is new
  detail::ocdbt_choice before;             ///< the newest version
  std::optional<detail::ocdbt_tree> tree;  ///< of that, once it is wanted
  detail::ocdbt_changes changes;
  std::size_t writers = 0;
  std::optional<error> spent;  ///< why nothing more can be committed

  // All of these with `mutex` taken.

  result<void> open(const ocdbt_write_options& how);
  result<detail::ocdbt_tree> opened_tree();
  result<bool> erase(std::string_view key);
  result<std::vector<list_entry>> list(const store_key& prefix);
  result<ocdbt_version> commit();
  result<void> check_head() const;
  result<void> put_head(const detail::ocdbt_head& next);
};

ZARRPOINT_INLINE result<void> ocdbt_writer::state::open(const ocdbt_write_options& how) {
  constexpr std::uint32_t most_inline = std::uint32_t{1} << 20;  // by the format
  if (how.inline_bytes > most_inline)
    return error{errc::invalid_argument, "inline_bytes is more than 1 MiB"};
  if (how.version_arity_log2 < 1 || how.version_arity_log2 > 16)
    return error{errc::invalid_argument, "version_arity_log2 is not 1 to 16"};
  if (how.zstd_level &&
      (*how.zstd_level < zstd_codec::min_level || *how.zstd_level > zstd_codec::max_level))
    return error{errc::invalid_argument, "zstd_level is out of range"};
  const ocdbt_options reading;
  files = v0::detail::make_counted<const detail::ocdbt_files>(base, root, reading.node_bytes,
                                                              reading.cache_bytes);
  ZARRPOINT_TRY(found, detail::find_ocdbt_head(*files));
  if (found) {
    head = std::move(*found);
    ZARRPOINT_TRY(newest, detail::choose_ocdbt_version(*files, head.manifest.versions, {}));
    before = std::move(newest);
    if (head.manifest.configuration.is_numbered &&
        head.name != detail::numbered_ocdbt_name(before.root.generation))
      return error{errc::corrupt, head.name + " has another generation than its name says"};
    ZARRPOINT_CHECK(opened_tree());
    return {};
  }
  detail::ocdbt_configuration& fresh = head.manifest.configuration;
  const auto random = detail::random_bits();
  std::memcpy(fresh.identity.data(), random.data(), fresh.identity.size());
  fresh.inline_bytes = how.inline_bytes;
  fresh.node_bytes = how.node_bytes;
  fresh.arity_log2 = how.version_arity_log2;
  if (how.zstd_level) fresh.zstd_level = *how.zstd_level;
  return {};
}

ZARRPOINT_INLINE result<detail::ocdbt_tree> ocdbt_writer::state::opened_tree() {
  if (!tree) {
    ZARRPOINT_TRY(opened, detail::ocdbt_tree::open(files, before.root, before.file));
    tree = std::move(opened);
  }
  return *tree;
}

ZARRPOINT_INLINE result<bool> ocdbt_writer::state::erase(std::string_view key) {
  const auto at = changes.find(key);
  if (at != changes.end() && at->second.is_erased) return false;
  ZARRPOINT_TRY(now, opened_tree());
  detail::ocdbt_item item;
  ZARRPOINT_TRY(was_there, now.find(key, item));
  detail::ocdbt_change gone;
  gone.is_erased = true;
  if (was_there) {
    changes.insert_or_assign(std::string(key), std::move(gone));
  } else if (at != changes.end()) {
    changes.erase(at);
    return true;
  }
  return was_there;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_writer::state::list(
    const store_key& prefix) {
  ZARRPOINT_TRY(now, opened_tree());
  detail::ocdbt_item item;
  std::optional<error> failed;
  std::string from;
  std::uint64_t keys = 0;
  bool is_at_end = false;
  // The first key of the version before that is not less and did not change; they are asked for in
  // their order.
  const auto next_stored = [&](std::string_view text) -> const std::string* {
    if (keys > 0 && !is_at_end && item.key >= text) return &item.key;
    from = text;
    while (!is_at_end) {
      const auto found = now.at_least(from, item);
      if (!found) failed = found.failure();
      // Nodes that share children have more keys than bytes.
      if (found && *found && ++keys > before.root.below.keys)
        failed = error{errc::corrupt, "it has more keys than its version says"};
      is_at_end = failed || !*found;
      if (is_at_end || !changes.contains(item.key)) break;
      from = item.key + '\0';
    }
    return is_at_end ? nullptr : &item.key;
  };
  auto out = detail::list_children(prefix, [&](std::string_view text) -> const std::string* {
    auto change = changes.lower_bound(text);
    while (change != changes.end() && change->second.is_erased) ++change;
    const std::string* old = next_stored(text);
    if (failed) return nullptr;
    if (change == changes.end() || (old != nullptr && *old < change->first)) return old;
    return &change->first;
  });
  if (failed) return std::move(*failed);
  for (const list_entry& entry : out)
    if (const char* fault = detail::key_segment_fault(entry.name))
      return error{errc::unsupported,
                   "it has a key beneath it, " + detail::in_quotes(entry.name) + ", with " + fault};
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_writer::state::check_head() const {
  ZARRPOINT_TRY(now, detail::find_ocdbt_head(*files));
  const bool is_same = now ? now->name == head.name && now->bytes == head.bytes : head.name.empty();
  if (is_same) return {};
  return error{errc::replaced, "another writer has made a version since it was opened"};
}

ZARRPOINT_INLINE result<void> ocdbt_writer::state::put_head(const detail::ocdbt_head& next) {
  ZARRPOINT_TRY(key, root.child(next.name));
  ZARRPOINT_CHECK(check_head());
  data.keep();  // from here on the new version may be there
  auto done = base.put(key, next.bytes);
  if (!done && done.failure().code == errc::outcome_unknown) spent = done.failure();
  return done;
}

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_writer::state::commit() {
  constexpr std::uint64_t kept_manifests = 128;  // as TensorStore does
  if (spent) return *spent;
  if (writers != 0) return error{errc::invalid_argument, "a value is still being written"};
  const detail::ocdbt_configuration& how = head.manifest.configuration;
  detail::ocdbt_tree_writer nodes(*files, data, how);
  ZARRPOINT_TRY(made, nodes.write(before, changes));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  const bool is_first = head.manifest.versions.versions.empty();
  made.root.commit_time = static_cast<std::uint64_t>(std::max<std::int64_t>(time, 1));
  if (!is_first && made.root.commit_time <= before.root.commit_time) {
    if (before.root.commit_time == ~std::uint64_t{0})
      return error{errc::corrupt, "its newest version has the last of all times"};
    made.root.commit_time = before.root.commit_time + 1;
  }
  detail::ocdbt_head next;
  next.manifest = head.manifest;
  ZARRPOINT_CHECK(nodes.add_version(next.manifest.versions, made));
  made.root = next.manifest.versions.versions.back();
  next.name = how.is_numbered ? detail::numbered_ocdbt_name(made.root.generation)
                              : std::string(detail::ocdbt_manifest_name);
  ZARRPOINT_TRY(body, detail::encode_ocdbt_manifest(next.manifest));
  ZARRPOINT_TRY(record,
                detail::close_ocdbt_envelope(body, detail::ocdbt_manifest_mark, how.zstd_level));
  next.bytes = std::move(record);
  // As readers will see it, and without the files that nothing refers to any more.
  ZARRPOINT_TRY(again, detail::read_ocdbt_manifest(next.bytes, files->node_bytes()));
  next.manifest.versions = std::move(again.versions);
  ZARRPOINT_CHECK(data.finish());
  ZARRPOINT_CHECK(put_head(next));
  head = std::move(next);
  before = std::move(made);
  tree.reset();
  changes.clear();
  if (how.is_numbered && before.root.generation > kept_manifests) {
    // What cannot be erased is only in the way.
    const std::string first =
        detail::numbered_ocdbt_name(before.root.generation - kept_manifests + 1);
    if (const auto names = detail::numbered_ocdbt_manifests(*files))
      for (const std::string& name : *names)
        if (const auto key = root.child(name); key && name < first)
          static_cast<void>(base.erase(*key));
  }
  return detail::as_ocdbt_version(before.root);
}

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
