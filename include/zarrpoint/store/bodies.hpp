// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/block_cache.hpp>
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/read_only_store.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/zip/zip_file.hpp>

#include <algorithm>
#include <cerrno>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------------- place.hpp

namespace detail {

/// A path in two: the directory, and the name in it.
ZARRPOINT_INLINE std::pair<std::string, std::string> split_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", std::string(path)};
  return {std::string(path.substr(0, std::max<std::size_t>(slash, 1))),
          std::string(path.substr(slash + 1))};
}

ZARRPOINT_INLINE result<stored_place> parent_place(const std::string& path,
                                                   const file_store_options& how) {
  const auto [parent, name] = split_path(path);
  ZARRPOINT_TRY(key, store_key::parse(name));
  if (key.is_root())
    return error{errc::invalid_argument, "\"" + path + "\" is not the path of a checkpoint"};
  ZARRPOINT_TRY(store, file_store::open(parent, how));
  return stored_place{std::move(store), std::move(key)};
}

/// Removes what killed writers left beside the file at `path`: see `remove_abandoned`.
ZARRPOINT_INLINE std::vector<std::string> remove_abandoned_beside(const std::string& path) {
  const std::string parent = split_path(path).first;
  const unique_fd directory(open_at(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY));
  if (!directory) return {};
  return remove_abandoned(directory.get(), parent.ends_with('/') ? parent : parent + '/');
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_file(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return error{errc::invalid_argument, "open \"" + path + "\": not a path"};
  unique_fd fd(retry_interrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  struct ::stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return system_error("open", path, errno);
  if (!S_ISREG(info.st_mode)) return error{errc::io, "open " + path + ": it is not a regular file"};
  return detail::make_owned<blob, file_blob>(std::move(fd), info, path);
}

ZARRPOINT_INLINE path_in_file split_at_file(const std::string& path) {
  struct ::stat info {};
  std::string_view file = path;
  while (::stat(std::string(file).c_str(), &info) != 0) {
    if (errno != ENOTDIR) return {path, {}};
    // A slash at the end alone makes a file none.
    const bool is_ended = file.ends_with('/');
    const std::size_t end = is_ended ? file.find_last_not_of('/') + 1 : file.rfind('/');
    if (end == file.npos) return {path, {}};
    file = file.substr(0, end);
  }
  if (!S_ISREG(info.st_mode)) return {path, {}};
  std::string_view rest = std::string_view(path).substr(file.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  return {std::string(file), std::string(rest)};
}

ZARRPOINT_INLINE bool is_zip_path(const std::string& path) {
  struct ::stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return false;
  const std::string name = split_at_file(path).file;
  if (std::string_view(name).ends_with(".zip")) return true;
  if (::stat(name.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const auto file = open_file(name);
  std::array<std::byte, 4> mark{};
  return file && (*file)->size() >= mark.size() && (*file)->read(0, mark) &&
         as_text(bytes_view(mark)) == "PK\x03\x04";
}

template <class Store>
result<bool> has_root_document(const Store& store, const store_key& at) {
  for (const std::string_view name : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(key, at.child(name));
    ZARRPOINT_TRY(object, store.open(key));
    if (object != nullptr) return true;
  }
  return false;
}

ZARRPOINT_INLINE result<store_key> zip_root(const zip_store& archive) {
  const store_key root = store_key::root();
  ZARRPOINT_TRY(at_root, has_root_document(archive, root));
  if (at_root) return root;
  ZARRPOINT_TRY(children, archive.list(root));
  if (children.size() != 1 || !children[0].is_prefix) return root;
  ZARRPOINT_TRY(inner, root.child(children[0].name));
  ZARRPOINT_TRY(beneath, has_root_document(archive, inner));
  return beneath ? inner : root;
}

}  // namespace detail

ZARRPOINT_INLINE result<stored_place> directory_place(const std::string& path,
                                                      const place_use& use) {
  if (use.write) return detail::parent_place(path, {.sync = use.sync, .replace = use.replace});
  ZARRPOINT_TRY(store, file_store::open(path, {.read_only = true, .follow_links = use.links}));
  return stored_place{std::move(store), store_key::root()};
}

namespace detail {

ZARRPOINT_INLINE result<stored_place> zip_place(const std::string& path, const place_use& use,
                                                const zip_store_options& how) {
  const detail::path_in_file at_file = detail::split_at_file(path);
  if (use.write) {
    if (!at_file.rest.empty())
      return error{errc::invalid_argument,
                   at_file.file + " is a zip file, which is written whole: " +
                       detail::in_quotes(at_file.rest) + " cannot be put into it"};
    ZARRPOINT_TRY(at, detail::parent_place(path, {.sync = use.sync}));
    return stored_place{zip_file(std::move(at.store), std::move(at.key), how,
                                 detail::remove_abandoned_beside(path)),
                        store_key::root()};
  }
  ZARRPOINT_TRY(file, detail::open_file(at_file.file));
  zip_store_options within = how;
  within.directory_bytes =
      std::min(how.directory_bytes, use.memory / 4 + (std::uint64_t{16} << 10));
  ZARRPOINT_TRY(archive, zip_store::open(std::move(file), within));
  if (!at_file.rest.empty()) {
    ZARRPOINT_TRY(inner, store_key::parse(at_file.rest).at(at_file.file));
    return stored_place{std::move(archive), std::move(inner)};
  }
  ZARRPOINT_TRY(root, detail::zip_root(archive));
  return stored_place{std::move(archive), std::move(root)};
}

}  // namespace detail

// ------------------------------------------------------------------------------------- schemes.hpp

ZARRPOINT_INLINE result<stored_place> file_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  return directory_place(path, use);
}

ZARRPOINT_INLINE result<stored_place> zip_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  return detail::zip_place(path, use);
}

// ------------------------------------------------------------------------------------ registry.hpp

ZARRPOINT_INLINE result<stored_place> store_table::open(const std::string& path_or_url,
                                                        const place_use& how) const {
  place_use use = how;
  if (links_ != link_scope::none) use.links = links_;
  const std::optional<url> parsed = url::parse(path_or_url);
  if (!parsed) return open_path(path_or_url, use);
  if (parsed->scheme == file_scheme::name) {
    ZARRPOINT_TRY(path, parsed->path());
    return open_path(path, use);
  }
  ZARRPOINT_TRY(entry, find(parsed->scheme));
  return entry->open(*parsed, use);
}

ZARRPOINT_INLINE result<const store_entry*> store_table::find(std::string_view scheme) const {
  for (const store_entry& entry : entries_)
    if (entry.scheme == scheme) return &entry;
  std::string text =
      "no store for " + detail::in_quotes(std::string(scheme) + "://") + "; context::stores has";
  for (const store_entry& entry : entries_) text.append(" ").append(entry.scheme).append("://");
  text += " (formats<...>() adds one)";
  return error{errc::unsupported, std::move(text)};
}

ZARRPOINT_INLINE result<stored_place> store_table::open_path(const std::string& path,
                                                             const place_use& use) const {
  if (rules_ != nullptr && rules_->find != nullptr && !use.write) {
    ZARRPOINT_TRY(found, rules_->find(path, use));
    if (found) return *std::move(found);
  }
  const bool is_zip = detail::is_zip_path(path);
  ZARRPOINT_TRY(entry, find(is_zip ? zip_scheme::name : file_scheme::name));
  return entry->open(url::of_path(entry->scheme, path), use);
}

ZARRPOINT_INLINE error store_table::explain(error failure, const std::string& path) const {
  if (rules_ == nullptr || rules_->explain == nullptr) return failure;
  return rules_->explain(std::move(failure), path, entries_);
}

ZARRPOINT_INLINE error detail::name_format(error failure, const std::string& path,
                                           std::span<const store_entry> known) {
  struct look {
    std::string_view mark;  // a file in a directory, how a file begins, or how its name ends
    const char* what;
    std::string_view format;
  };
  constexpr look in_directory[] = {
      {"_METADATA", "an Orbax checkpoint", "orbax"},
      {"_CHECKPOINT_METADATA", "an Orbax checkpoint", "orbax"},
      {"manifest.ocdbt", "an OCDBT database", "ocdbt"},
      {".metadata", "a checkpoint of torch.distributed.checkpoint", "dcp"},
      {"pytorch_model.bin.index.json", "a model in files of torch.save", "torch"},
      {"model.safetensors.index.json", "a safetensors model", "safetensors"}};
  constexpr look of_file[] = {{"GGUF", "a GGUF file", "gguf"},
                              {"PK\x03\x04", "a zip file, as torch.save writes", "torch"},
                              {"\x80\x02\x8a\x0a", "a file of torch.save", "torch"},
                              {"\x93NUM", "an npy file", "numpy"}};
  constexpr look of_name[] = {{".npz", "an npz file", "numpy"},
                              {".safetensors", "a safetensors file", "safetensors"}};
  const look* found = nullptr;
  struct ::stat info {};
  for (const look& each : in_directory)
    if (found == nullptr && ::stat((path + '/').append(each.mark).c_str(), &info) == 0)
      found = &each;
  const auto file = open_file(path);
  std::array<std::byte, 4> head{};
  if (file && (*file)->size() >= head.size() && (*file)->read(0, head))
    for (const look& each : of_file)
      if (as_text(bytes_view(head)) == each.mark) found = &each;
  for (const look& each : of_name)
    if (file && path.ends_with(each.mark)) found = &each;
  if (found == nullptr) return failure;
  for (const store_entry& entry : known)
    if (entry.scheme == found->format) return failure;
  const std::string name(found->format);
  failure.message.append("; it looks like ").append(found->what);
  failure.message += ": open(path, formats<" + name + "::format>()) of <zarrpoint/" + name +
                     ".hpp>, or open(path, all_formats()) of <zarrpoint/formats.hpp>, reads it";
  return failure;
}

namespace detail {

// --------------------------------------------------------------------------------- block_cache.hpp

ZARRPOINT_INLINE block_cache::block_cache(const cache_options& how)
    : limit_(how.bytes), block_bytes_(std::max<std::size_t>(how.block_bytes, 4096)) {}

ZARRPOINT_INLINE std::uint64_t block_cache::epoch() const {
  const std::lock_guard lock(mutex_);
  return changes_ == 0 ? epoch_ : no_epoch;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> block_cache::size_of(std::uint64_t epoch,
                                                                   std::string_view key) const {
  const std::lock_guard lock(mutex_);
  if (epoch != epoch_) return std::nullopt;
  const auto at = blocks_.lower_bound(by_id::view{key, 0});
  if (at == blocks_.end() || at->first.key != key) return std::nullopt;
  return at->second.object_size;
}

ZARRPOINT_INLINE block_cache::block block_cache::find(std::uint64_t epoch, const std::string& key,
                                                      std::uint64_t index) {
  const std::lock_guard lock(mutex_);
  const auto at = epoch == epoch_ ? blocks_.find(by_id::view{key, index}) : blocks_.end();
  if (at == blocks_.end()) {
    ++counts_.misses;
    return nullptr;
  }
  ++counts_.hits;
  order_.splice(order_.begin(), order_, at->second.place);
  return at->second.bytes;
}

ZARRPOINT_INLINE void block_cache::insert(std::uint64_t epoch, const std::string& key,
                                          std::uint64_t size,
                                          std::pair<std::uint64_t, block> indexed) {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = indexed.second->size();
  if (epoch != epoch_ || bytes > limit_) return;
  std::list<const id*> place(1);  // what takes memory comes before what is then noted
  const auto [at, fresh] = blocks_.try_emplace(id{key, indexed.first});
  if (!fresh) return;  // another thread was faster
  place.front() = &at->first;
  order_.splice(order_.begin(), place);
  at->second = {std::move(indexed.second), order_.begin(), size};
  counts_.bytes += bytes;
  while (counts_.bytes > limit_) drop(blocks_.find(*order_.back()));
}

ZARRPOINT_INLINE void block_cache::forget(std::string_view key) noexcept {
  const std::lock_guard lock(mutex_);
  drop_beneath(key);
}

ZARRPOINT_INLINE void block_cache::begin_change(std::string_view key) noexcept {
  const std::lock_guard lock(mutex_);
  ++changes_;
  drop_beneath(key);
}

ZARRPOINT_INLINE void block_cache::end_change() noexcept {
  const std::lock_guard lock(mutex_);
  --changes_;
  ++epoch_;
}

ZARRPOINT_INLINE cache_counts block_cache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

ZARRPOINT_INLINE void block_cache::drop_beneath(std::string_view key) noexcept {
  ++epoch_;
  for (auto at = blocks_.lower_bound(by_id::view{key, 0});
       at != blocks_.end() && at->first.key.starts_with(key);) {
    const std::string_view found = at->first.key;
    const bool changed = key.empty() || found.size() == key.size() || found[key.size()] == '/';
    at = changed ? drop(at) : std::next(at);
  }
}

ZARRPOINT_INLINE block_cache::entry_map::iterator block_cache::drop(entry_map::iterator at) {
  counts_.bytes -= at->second.bytes->size();
  order_.erase(at->second.place);
  return blocks_.erase(at);
}

}  // namespace detail

// --------------------------------------------------------------------------------- cache_store.hpp

/// A change of an object, or of what lies beneath a key: whatever comes of it, what was cached
/// before is old, and nothing is cached while it goes on.
struct cache_store::change {
  change(detail::block_cache& in, const store_key& key) noexcept : cache(in) {
    cache.begin_change(key.str());
  }
  change(const change&) = delete;
  change& operator=(const change&) = delete;
  ~change() { cache.end_change(); }

  detail::block_cache& cache;
};

class cache_store::object final : public blob {
 public:
  object(any_store base, shared_cache cache, const store_key& key)
      : base_(std::move(base)), cache_(std::move(cache)), key_(key), epoch_(cache_->epoch()) {
    if (const auto size = cache_->size_of(epoch_, key.str())) {
      known_ = true;
      size_ = *size;
    }
  }

  bool is_known() const noexcept { return known_; }
  /// False when there is no such object.
  result<bool> open_base() {
    ZARRPOINT_TRY(opened, base_.open(key_));
    if (opened == nullptr) return false;
    size_ = opened->size();
    opened_ = std::move(opened);
    return true;
  }

  std::uint64_t size() const noexcept override { return size_; }
  std::string name() const override { return base_.describe(key_); }
  result<mapping> map() const override {
    ZARRPOINT_TRY(from, source());
    return from->map();
  }
  using blob::read;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (into.empty()) return {};
    if (into.size() > cache_->limit() / 2) {
      ZARRPOINT_TRY(from, source());
      return from->read(offset, into);
    }
    return guarded([&] { return read_blocks(offset, into); });
  }

 private:
  using block = detail::block_cache::block;

  /// The object itself, opened when it is needed first.
  result<const blob*> source() const {
    const std::lock_guard lock(mutex_);
    if (opened_ == nullptr) {
      ZARRPOINT_TRY(opened, base_.open(key_));
      if (opened == nullptr || opened->size() != size_)
        return error{errc::io, "read " + name() + ": it has changed since it was cached"};
      opened_ = std::move(opened);
    }
    return static_cast<const blob*>(opened_.get());
  }

  result<void> read_blocks(std::uint64_t offset, mutable_bytes into) const {
    const std::string key(key_.str());
    const std::uint64_t unit = cache_->block_bytes();
    const std::uint64_t first = offset / unit;
    const std::uint64_t last = (offset + into.size() - 1) / unit;
    std::vector<block> blocks;
    std::vector<std::shared_ptr<std::vector<std::byte>>> fresh;
    std::vector<read_request> missing;
    for (std::uint64_t index = first; index <= last; ++index) {
      blocks.push_back(cache_->find(epoch_, key, index));
      if (blocks.back() != nullptr) continue;
      const std::uint64_t size = std::min(unit, size_ - index * unit);
      fresh.push_back(detail::make_counted<std::vector<std::byte>>(static_cast<std::size_t>(size)));
      missing.push_back({index * unit, *fresh.back()});
      blocks.back() = fresh.back();
    }
    if (!missing.empty()) {
      ZARRPOINT_TRY(from, source());
      ZARRPOINT_CHECK(from->read(missing));
      for (std::size_t i = 0; i < missing.size(); ++i)
        cache_->insert(epoch_, key, size_, {missing[i].offset / unit, fresh[i]});
    }
    for (std::uint64_t index = first; index <= last; ++index) {
      const std::uint64_t begin = std::max(offset, index * unit);
      const std::vector<std::byte>& bytes = *blocks[static_cast<std::size_t>(index - first)];
      const std::uint64_t end = std::min(offset + into.size(), index * unit + bytes.size());
      std::memcpy(into.data() + (begin - offset), bytes.data() + (begin - index * unit),
                  static_cast<std::size_t>(end - begin));
    }
    return {};
  }

  any_store base_;
  shared_cache cache_;
  store_key key_;
  std::uint64_t epoch_;
  bool known_ = false;
  std::uint64_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<blob> opened_;
};

class cache_store::writer final : public blob_writer {
 public:
  writer(std::unique_ptr<blob_writer> inner, shared_cache cache, const store_key& key)
      : inner_(std::move(inner)), cache_(std::move(cache)), key_(key) {}
  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    return inner_->write(offset, bytes);
  }
  result<void> reserve(std::uint64_t size) override { return inner_->reserve(size); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    return inner_->read(offset, into);
  }
  result<void> finish() override {
    const change under_way(*cache_, key_);
    return inner_->finish();
  }

 private:
  std::unique_ptr<blob_writer> inner_;
  shared_cache cache_;
  store_key key_;
};

class cache_store::staged final : public publication {
 public:
  staged(std::unique_ptr<publication> inner, shared_cache cache, const store_key& key)
      : inner_(std::move(inner)), cache_(std::move(cache)), key_(key) {}
  any_store store() const override { return inner_->store(); }
  result<std::vector<std::string>> keep(const owned_paths& owned) override {
    return inner_->keep(owned);
  }
  result<void> commit() override {
    const change under_way(*cache_, key_);
    return inner_->commit();
  }
  late_entries late() const override { return inner_->late(); }

 private:
  std::unique_ptr<publication> inner_;
  shared_cache cache_;
  store_key key_;
};

ZARRPOINT_INLINE result<std::unique_ptr<blob>> cache_store::open(const store_key& key) const {
  if (key.is_root()) return std::unique_ptr<blob>();
  return guarded([&]() -> result<std::unique_ptr<blob>> {
    auto made = std::make_unique<object>(base_, cache_, key);
    if (!made->is_known()) {
      ZARRPOINT_TRY(there, made->open_base());
      if (!there) return std::unique_ptr<blob>();
    }
    return std::unique_ptr<blob>(std::move(made));
  });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> cache_store::create(
    const store_key& key) const {
  ZARRPOINT_TRY(inner, base_.create(key));
  return detail::make_owned<blob_writer, writer>(std::move(inner), cache_, key);
}

ZARRPOINT_INLINE result<void> cache_store::put(const store_key& key, bytes_view bytes) const {
  const change under_way(*cache_, key);
  return base_.put(key, bytes);
}

ZARRPOINT_INLINE result<bool> cache_store::erase(const store_key& key) const {
  const change under_way(*cache_, key);
  return base_.erase(key);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> cache_store::stage(
    const store_key& key, const publish_options& how) const {
  ZARRPOINT_TRY(inner, base_.stage(key, how));
  return detail::make_owned<publication, staged>(std::move(inner), cache_, key);
}

ZARRPOINT_INLINE result<void> cache_store::rename(const store_key& from,
                                                  const store_key& to) const {
  const change old_name(*cache_, from);
  const change new_name(*cache_, to);
  return base_.rename(from, to);
}

ZARRPOINT_INLINE result<bool> cache_store::erase_all(const store_key& prefix) const {
  const change under_way(*cache_, prefix);
  return base_.erase_all(prefix);
}

ZARRPOINT_INLINE cache_store::shared_cache cache_store::make_cache(const cache_options& how) {
  return detail::make_counted<detail::block_cache>(how);
}

ZARRPOINT_INLINE cache_counts cache_store::counts() const { return cache_->counts(); }

ZARRPOINT_INLINE void cache_store::clear() const { cache_->forget({}); }

// -------------------------------------------------------------------------------- memory_store.hpp

struct memory_store::object_map : std::map<std::string, shared_bytes, std::less<>> {};

struct memory_store::state {
  std::mutex mutex;
  object_map objects;
  std::uint64_t publications = 0;  ///< how many there have been
};

class memory_store::writer final : public blob_writer {
 public:
  writer(std::shared_ptr<state> store, store_key key)
      : store_(std::move(store)), key_(std::move(key)) {}
  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    if (bytes.empty()) return {};
    const std::lock_guard lock(mutex_);
    const std::size_t limit = bytes_.max_size();
    if (offset > limit || bytes.size() > limit - offset)
      return error{errc::out_of_range,
                   "write " + memory_store(store_).describe(key_) +
                       ": the object would become larger than the address space"};
    const auto end = static_cast<std::size_t>(offset) + bytes.size();
    if (end > bytes_.size()) ZARRPOINT_CHECK(grow([&] { bytes_.resize(end); }));
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return {};
  }
  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    if (size > bytes_.max_size()) return {};
    // Twofold, since a writer of many objects in one reserves again for each of them.
    const auto wanted = static_cast<std::size_t>(size);
    if (wanted <= bytes_.capacity()) return {};
    const std::size_t twofold = bytes_.empty() ? 0 : 2 * bytes_.capacity();
    return grow([&] { bytes_.reserve(std::max(wanted, twofold)); });
  }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const std::lock_guard lock(mutex_);
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
      return error{errc::out_of_range, "read " + memory_store(store_).describe(key_) +
                                           ": that part was not written yet"};
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }
  result<void> finish() override {
    if (std::exchange(finished_, true))
      return error{errc::invalid_argument,
                   "finish " + memory_store(store_).describe(key_) + ": it is finished already"};
    result<void> done = guarded([&] {
      return memory_store(store_).insert(
          key_, detail::make_counted<const std::vector<std::byte>>(std::move(bytes_)));
    });
    if (done) return done;
    return std::move(done).at("finish " + memory_store(store_).describe(key_));
  }

 private:
  template <class F>
  result<void> grow(F&& f) {
    result<void> done = guarded([&]() -> result<void> {
      f();
      return {};
    });
    if (done) return done;
    return std::move(done).at("write " + memory_store(store_).describe(key_));
  }

  std::shared_ptr<state> store_;
  store_key key_;
  mutable std::mutex mutex_;
  std::vector<std::byte> bytes_;
  bool finished_ = false;
};

class memory_store::staged final : public publication {
 public:
  staged(std::shared_ptr<state> target, store_key key, publish_options how)
      : target_(std::move(target)), key_(std::move(key)), how_(how) {}
  any_store store() const override { return memory_store(tree_); }
  result<void> check_free() const {
    const std::lock_guard lock(target_->mutex);
    return check_free_locked();
  }
  result<std::vector<std::string>> keep(const owned_paths& owned) override {
    std::vector<std::string> kept;
    ZARRPOINT_CHECK(guarded([&]() -> result<void> {
      const std::scoped_lock lock(target_->mutex, tree_->mutex);
      kept = keep_locked(owned);
      owned_ = owned;
      publications_ = target_->publications;
      return {};
    }));
    return kept;
  }
  result<void> commit() override {
    if (committed_)
      return error{errc::invalid_argument,
                   "publish " + memory_store(target_).describe(key_) + ": it is published already"};
    return guarded([&] { return replace(); });
  }
  late_entries late() const override { return late_; }

 private:
  std::vector<std::string> keep_locked(const owned_paths& owned) {
    std::vector<std::string> kept;
    const std::string start = below(key_);
    auto at = target_->objects.lower_bound(start);
    for (; at != target_->objects.end() && at->first.starts_with(start); ++at) {
      const std::string path = at->first.substr(start.size());
      std::size_t end = path.find('/');
      while (end != path.npos && owned.owner_of(path.substr(0, end)) == path_owner::mixed)
        end = path.find('/', end + 1);
      if (owned.owner_of(path.substr(0, end)) == path_owner::own) continue;
      if (!tree_->objects.emplace(path, at->second).second) continue;
      std::string name = end == path.npos ? path : path.substr(0, end + 1);
      if (kept.empty() || kept.back() != name) kept.push_back(std::move(name));
    }
    return kept;
  }
  result<void> replace() {
    const std::scoped_lock lock(target_->mutex, tree_->mutex);
    ZARRPOINT_CHECK(check_free_locked());
    // Another publication may have put a checkpoint there meanwhile; we know nothing about it.
    if (owned_ && publications_ == target_->publications) late_.kept = keep_locked(*owned_);
    const std::string start = below(key_);
    object_map added;
    for (const auto& [key, bytes] : tree_->objects) added.emplace(start + key, bytes);
    // From here on nothing takes memory, and so nothing fails.
    object_map& objects = target_->objects;
    if (const auto same = objects.find(key_.str()); same != objects.end()) objects.erase(same);
    auto at = objects.lower_bound(start);
    while (at != objects.end() && at->first.starts_with(start)) at = objects.erase(at);
    objects.merge(added);
    ++target_->publications;
    committed_ = true;
    return {};
  }
  result<void> check_free_locked() const {
    const std::string start = below(key_);
    const auto at = target_->objects.lower_bound(start);
    const bool there = target_->objects.find(key_.str()) != target_->objects.end() ||
                       (at != target_->objects.end() && at->first.starts_with(start));
    if (!there || how_.overwrite) return {};
    return error{errc::already_exists,
                 "publish " + memory_store(target_).describe(key_) + ": it is there already"};
  }

  std::shared_ptr<state> target_;
  std::shared_ptr<state> tree_ = detail::make_counted<state>();
  store_key key_;
  publish_options how_;
  std::optional<owned_paths> owned_;  ///< what `keep` was told
  std::uint64_t publications_ = 0;    ///< at the time of `keep`
  late_entries late_;
  bool committed_ = false;
};

ZARRPOINT_INLINE memory_store::memory_store() : state_(detail::make_counted<state>()) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> memory_store::open(const store_key& key) const {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->objects.find(key.str());
  if (at == state_->objects.end()) return std::unique_ptr<blob>();
  return detail::make_owned<blob, detail::memory_blob>(at->second, describe(key));
}

ZARRPOINT_INLINE result<void> memory_store::put(const store_key& key, bytes_view bytes) const {
  return guarded([&] {
    return insert(key,
                  detail::make_counted<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
  });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> memory_store::create(
    const store_key& key) const {
  if (key.is_root()) return no_object();
  return detail::make_owned<blob_writer, writer>(state_, key);
}

ZARRPOINT_INLINE result<bool> memory_store::erase(const store_key& key) const {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->objects.find(key.str());
  if (at == state_->objects.end()) return false;
  state_->objects.erase(at);
  return true;
}

ZARRPOINT_INLINE result<void> memory_store::rename(const store_key& from,
                                                   const store_key& to) const {
  ZARRPOINT_CHECK(detail::check_rename(*this, from, to));
  return guarded([&]() -> result<void> {
    const std::lock_guard lock(state_->mutex);
    const auto moved = [&](std::string_view key) {
      return std::string(to.str()).append(key.substr(from.str().size()));
    };
    const auto begins = [](const object_map& in, const std::string& start) {
      const auto at = in.lower_bound(start);
      return at != in.end() && at->first.starts_with(start);
    };
    if (state_->objects.contains(to.str()) || begins(state_->objects, below(to)))
      return error{errc::already_exists, "rename to " + describe(to) + ": it is there already"};
    object_map renamed;
    const std::string start = below(from);
    if (const auto at = state_->objects.find(from.str()); at != state_->objects.end())
      renamed.emplace(moved(at->first), at->second);
    for (auto at = state_->objects.lower_bound(start);
         at != state_->objects.end() && at->first.starts_with(start); ++at)
      renamed.emplace(moved(at->first), at->second);
    if (renamed.empty())
      return error{errc::not_found, "rename " + describe(from) + ": it is not there"};
    // From here on nothing takes memory, and so nothing fails.
    std::erase_if(state_->objects, [&](const auto& one) {
      return one.first == from.str() || one.first.starts_with(start);
    });
    state_->objects.merge(renamed);
    return {};
  });
}

ZARRPOINT_INLINE result<bool> memory_store::erase_all(const store_key& prefix) const {
  return guarded([&]() -> result<bool> {
    const std::string start = below(prefix);
    const std::lock_guard lock(state_->mutex);
    return std::erase_if(state_->objects,
                         [&](const auto& one) { return one.first.starts_with(start); }) != 0;
  });
}

ZARRPOINT_INLINE result<std::vector<list_entry>> memory_store::list(const store_key& prefix) const {
  const std::lock_guard lock(state_->mutex);
  return detail::list_children(prefix, [this](std::string_view text) {
    const auto at = state_->objects.lower_bound(text);
    return at == state_->objects.end() ? nullptr : &at->first;
  });
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> memory_store::stage(
    const store_key& key, const publish_options& how) const {
  auto out = std::make_unique<staged>(state_, key, how);
  ZARRPOINT_CHECK(out->check_free());
  return std::unique_ptr<publication>(std::move(out));
}

ZARRPOINT_INLINE error memory_store::no_object() {
  return {errc::invalid_argument, "the root of a store is not an object"};
}

ZARRPOINT_INLINE std::string memory_store::below(const store_key& prefix) {
  return prefix.is_root() ? std::string() : std::string(prefix.str()) + '/';
}

ZARRPOINT_INLINE result<void> memory_store::insert(const store_key& key, shared_bytes bytes) const {
  if (key.is_root()) return no_object();
  const std::lock_guard lock(state_->mutex);
  state_->objects.insert_or_assign(std::string(key.str()), std::move(bytes));
  return {};
}

// -------------------------------------------------------------------------------- prefix_store.hpp

ZARRPOINT_INLINE prefix_store::prefix_store(any_store base, store_key prefix)
    : base_(std::move(base)), prefix_(std::move(prefix)) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> prefix_store::open(const store_key& key) const {
  if (key.is_root()) return std::unique_ptr<blob>();
  ZARRPOINT_TRY(full, prefix_.child(key));
  return base_.open(full);
}

ZARRPOINT_INLINE std::string prefix_store::describe(const store_key& key) const {
  const auto full = prefix_.child(key);
  return full ? base_.describe(*full) : base_.describe(prefix_) + "/" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> prefix_store::create(
    const store_key& key) const {
  ZARRPOINT_TRY(full, object_key(key));
  return base_.create(full);
}

ZARRPOINT_INLINE result<void> prefix_store::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_TRY(full, object_key(key));
  return base_.put(full, bytes);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> prefix_store::extend(
    const store_key& key, const blob& before) const {
  ZARRPOINT_TRY(full, object_key(key));
  return base_.extend(full, before);
}

ZARRPOINT_INLINE result<bool> prefix_store::erase(const store_key& key) const {
  if (key.is_root()) return false;
  ZARRPOINT_TRY(full, prefix_.child(key));
  return base_.erase(full);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> prefix_store::list(const store_key& prefix) const {
  ZARRPOINT_TRY(full, prefix_.child(prefix));
  return base_.list(full);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> prefix_store::stage(
    const store_key& key, const publish_options& how) const {
  ZARRPOINT_TRY(full, prefix_.child(key));
  return base_.stage(full, how);
}

ZARRPOINT_INLINE result<void> prefix_store::rename(const store_key& from,
                                                   const store_key& to) const {
  ZARRPOINT_TRY(full_from, object_key(from));
  ZARRPOINT_TRY(full_to, object_key(to));
  return base_.rename(full_from, full_to);
}

ZARRPOINT_INLINE result<bool> prefix_store::erase_all(const store_key& prefix) const {
  ZARRPOINT_TRY(full, prefix_.child(prefix));
  return base_.erase_all(full);
}

ZARRPOINT_INLINE bool prefix_store::share(const store_key& key, const blob& from) const {
  const auto full = prefix_.child(key);
  return full && base_.share(*full, from);
}

ZARRPOINT_INLINE result<store_key> prefix_store::object_key(const store_key& key) const {
  if (!key.is_root()) return prefix_.child(key);
  return error{errc::invalid_argument,
               "write " + describe(key) + ": the root of a store is not an object"};
}

// ----------------------------------------------------------------------------- read_only_store.hpp

ZARRPOINT_INLINE result<stored_place> read_only_file_scheme::open_directory(const url& at) {
  ZARRPOINT_TRY(path, at.path());
  ZARRPOINT_TRY(store, file_store::open(path, {.read_only = true}));
  return stored_place{read_only_store<file_store>(std::move(store)), store_key::root()};
}

ZARRPOINT_INLINE result<stored_place> read_only_file_scheme::open(const url& at,
                                                                  const place_use& use) {
  if (use.write) return error{errc::unsupported, "context::stores is read-only"};
  return open_directory(at);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/write_bodies.hpp>
#include <zarrpoint/store/zip/write_bodies.hpp>
#endif
