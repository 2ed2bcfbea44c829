// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/store/base/rename.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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

}}  // namespace zarrpoint::v0
