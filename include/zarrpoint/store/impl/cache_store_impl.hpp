// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/block_cache.hpp>
#include <zarrpoint/store/cache_store.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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

}}  // namespace zarrpoint::v0
