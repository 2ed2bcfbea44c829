// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/sharing_store.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/sort.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- sharing_store.hpp

struct sharing_store::state {
  state(any_store tree, any_store before, checkpoint_contents of)
      : to(std::move(tree)), from(std::move(before)), contents(std::move(of)) {}

  const any_store to;
  const any_store from;
  const checkpoint_contents contents;  ///< of `from`
  std::atomic<bool> cannot_share{false};
  std::mutex mutex{};
  std::map<std::string, std::uint64_t, std::less<>> shared{};  ///< keys and sizes

  /// What the other checkpoint has at a key, if that is worth a look.
  const object_digest* digest_of(std::string_view key) const {
    if (cannot_share.load(std::memory_order_relaxed)) return nullptr;
    for (std::size_t at = key.find('/'); at != key.npos; at = key.find('/', at + 1)) {
      const std::string_view name = key.substr(0, at);
      const auto leaf = std::lower_bound(
          contents.leaves.begin(), contents.leaves.end(), name,
          [](const stored_leaf& one, std::string_view of) { return one.name < of; });
      if (leaf == contents.leaves.end() || leaf->name != name) continue;
      const object_digest* const found = leaf->objects.find(key.substr(at + 1));
      return found != nullptr && found->size >= least_bytes ? found : nullptr;
    }
    return nullptr;
  }

  /// Whether an inner chunk may be one of the object: it has its checksum, or ends in it.
  static bool may_be_in(const object_digest& object, bytes_view chunk) {
    if (chunk.size() < sizeof(std::uint32_t)) return true;
    const std::uint32_t all = crc32c(chunk);
    const auto end = load_le<std::uint32_t>(chunk.last(sizeof(std::uint32_t)).data());
    return std::any_of(object.crc32c.begin(), object.crc32c.end(),
                       [&](const auto& one) { return one == all || one == end; });
  }

  /// The other checkpoint's object, if it is there as its document says; else null.
  std::unique_ptr<blob> open_before(const store_key& key, const object_digest& digest) const {
    auto object = from.open(key);
    if (!object || *object == nullptr || (*object)->size() != digest.size) return nullptr;
    return *std::move(object);
  }

  /// Whether the `gap` zeros before `offset` and `bytes` from there on are in an object.
  static bool is_in(const blob& object, std::uint64_t offset, std::size_t gap, bytes_view bytes) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (gap > offset || offset > object.size() || bytes.size() > object.size() - offset)
      return false;
    offset -= gap;
    std::vector<std::byte> block(std::min(gap + bytes.size(), most));
    for (std::size_t done = 0; done < gap + bytes.size();) {
      const std::size_t count = std::min(block.size(), gap + bytes.size() - done);
      if (!object.read(offset + done, mutable_bytes(block).first(count))) return false;
      const std::size_t zeros = done < gap ? std::min(gap - done, count) : 0;
      const auto middle = block.begin() + static_cast<std::ptrdiff_t>(zeros);
      if (std::any_of(block.begin(), middle, [](std::byte one) { return one != std::byte{0}; }))
        return false;
      if (count > zeros &&
          std::memcmp(&*middle, bytes.data() + (done + zeros - gap), count - zeros) != 0)
        return false;
      done += count;
    }
    return true;
  }

  /// False where the store cannot. If it never could, it is not asked again.
  result<bool> share(const store_key& key, const blob& object) {
    ZARRPOINT_CHECK(forget(key));
    const bool done = to.share(key, object);
    const std::lock_guard lock(mutex);
    if (!done) {
      if (shared.empty()) cannot_share.store(true, std::memory_order_relaxed);
      return false;
    }
    shared.emplace(std::string(key.str()), object.size());
    return true;
  }

  /// What is written at a key now must not go through the name that another checkpoint has, too.
  result<void> forget(const store_key& key) {
    {
      const std::lock_guard lock(mutex);
      const auto at = shared.find(key.str());
      if (at == shared.end()) return {};
      shared.erase(at);
    }
    return to.erase(key).transform([](bool) {});
  }
};

/// Compares what it is given with an object, and writes from the first difference on, with what
/// was the same before.
class sharing_store::writer final : public blob_writer {
 public:
  writer(std::shared_ptr<state> in, store_key key, std::unique_ptr<blob> before,
         const object_digest& digest)
      : in_(std::move(in)), key_(std::move(key)), before_(std::move(before)), digest_(digest) {}

  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    return take({offset, 0, bytes, &blob_writer_write}, false);
  }
  result<void> write_once(std::uint64_t offset, std::size_t gap, bytes_view bytes) override {
    return take({offset, gap, bytes, &blob_writer_write_once}, true);
  }
  result<void> write_kept(std::uint64_t offset, std::size_t gap, bytes_view bytes) override {
    return take({offset, gap, bytes, &blob_writer_write_kept}, true);
  }
  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    reserved_ = size;
    return own_ != nullptr ? own_->reserve(size) : result<void>();
  }
  result<void> finish() override {
    const std::lock_guard lock(mutex_);
    if (own_ == nullptr) {
      if (is_all_of_it()) {
        ZARRPOINT_TRY(done, in_->share(key_, *before_));
        if (done) return {};
      }
      ZARRPOINT_CHECK(begin());
    }
    return own_->finish();
  }

 private:
  struct piece {
    std::uint64_t offset;
    std::size_t gap;
    bytes_view bytes;
    result<void> (*put)(blob_writer&, const piece&);
  };
  static result<void> blob_writer_write(blob_writer& to, const piece& of) {
    return to.write(of.offset, of.bytes);
  }
  static result<void> blob_writer_write_once(blob_writer& to, const piece& of) {
    return to.write_once(of.offset, of.gap, of.bytes);
  }
  static result<void> blob_writer_write_kept(blob_writer& to, const piece& of) {
    return to.write_kept(of.offset, of.gap, of.bytes);
  }

  result<void> take(const piece& of, bool is_chunk) {
    if (of.bytes.empty()) return {};
    const auto own = [&] {
      const std::lock_guard lock(mutex_);
      return own_.get();
    };
    bool is_same = false;
    if (own() == nullptr)
      is_same = (!is_chunk || state::may_be_in(digest_, of.bytes)) &&
                state::is_in(*before_, of.offset, of.gap, of.bytes);
    {
      const std::lock_guard lock(mutex_);
      if (own_ == nullptr && is_same) {
        same_.emplace_back(of.offset - of.gap, of.offset + of.bytes.size());
        return {};
      }
      if (own_ == nullptr) ZARRPOINT_CHECK(begin());
    }
    return of.put(*own(), of);
  }

  /// Whether what was the same is the whole object: what no range covers is zero.
  bool is_all_of_it() {
    sort_by(same_, [](const range& a, const range& b) { return a.first < b.first; });
    std::uint64_t end = 0;
    for (const auto& [from, to] : same_) {
      if (from > end) {
        const std::uint64_t gap = from - end;
        if (gap > least_bytes ||
            !state::is_in(*before_, from, static_cast<std::size_t>(gap), bytes_view()))
          return false;
      }
      end = std::max(end, to);
    }
    return end == before_->size();
  }

  /// Begins an object of its own with what was the same.
  result<void> begin() {
    ZARRPOINT_TRY(made, in_->to.create(key_));
    if (reserved_ != 0) ZARRPOINT_CHECK(made->reserve(reserved_));
    std::vector<std::byte> block(std::size_t{1} << 20);
    for (const auto& [from, to] : same_) {
      for (std::uint64_t at = from; at < to;) {
        const auto part =
            mutable_bytes(block).first(std::min<std::uint64_t>(block.size(), to - at));
        ZARRPOINT_CHECK(before_->read(at, part));
        ZARRPOINT_CHECK(made->write_once(at, 0, part));
        at += part.size();
      }
    }
    own_ = std::move(made);
    return {};
  }

  using range = std::pair<std::uint64_t, std::uint64_t>;  // from, to

  const std::shared_ptr<state> in_;
  const store_key key_;
  const std::unique_ptr<blob> before_;
  const object_digest& digest_;
  std::mutex mutex_;
  std::unique_ptr<blob_writer> own_;
  std::vector<range> same_;
  std::uint64_t reserved_ = 0;
};

ZARRPOINT_INLINE std::optional<sharing_store> sharing_store::over(
    any_store to, const std::optional<location>& previous, const context& how,
    std::vector<std::string>& warnings) {
  if (!previous) return {};
  const auto open = [&]() -> result<sharing_store> {
    ZARRPOINT_TRY(place, location_access::to_read(*previous, how.stores, how.limit.memory));
    const any_store root = beneath(place);
    ZARRPOINT_TRY(contents, read_contents(root, how));
    if (!contents.is_ours())
      return error{errc::unsupported, "it is not a checkpoint that zarrpoint saved"};
    sort_by(contents.leaves,
            [](const stored_leaf& a, const stored_leaf& b) { return a.name < b.name; });
    return sharing_store(make_counted<state>(std::move(to), root, std::move(contents)));
  };
  auto made = open();
  if (made) return *std::move(made);
  warnings.push_back("nothing is shared with " + previous->name() + ": " +
                     to_string(made.failure()));
  return {};
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> sharing_store::open(const store_key& key) const {
  return state_->to.open(key);
}

ZARRPOINT_INLINE std::string sharing_store::describe(const store_key& key) const {
  return state_->to.describe(key);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> sharing_store::create(
    const store_key& key) const {
  ZARRPOINT_CHECK(state_->forget(key));
  if (const object_digest* const digest = state_->digest_of(key.str())) {
    if (auto before = state_->open_before(key, *digest))
      return make_owned<blob_writer, writer>(state_, key, std::move(before), *digest);
  }
  return state_->to.create(key);
}

ZARRPOINT_INLINE result<void> sharing_store::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_CHECK(state_->forget(key));
  const object_digest* const digest = state_->digest_of(key.str());
  if (digest != nullptr && digest->size == bytes.size() && state::may_be_in(*digest, bytes)) {
    const auto before = state_->open_before(key, *digest);
    if (before != nullptr && state::is_in(*before, 0, 0, bytes)) {
      ZARRPOINT_TRY(done, state_->share(key, *before));
      if (done) return {};
    }
  }
  return state_->to.put(key, bytes);
}

ZARRPOINT_INLINE result<bool> sharing_store::erase(const store_key& key) const {
  ZARRPOINT_CHECK(state_->forget(key));
  return state_->to.erase(key);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> sharing_store::list(
    const store_key& prefix) const {
  return state_->to.list(prefix);
}

ZARRPOINT_INLINE bool sharing_store::can_list() const { return state_->to.can_list(); }

ZARRPOINT_INLINE std::uint64_t sharing_store::shared_bytes() const {
  const std::lock_guard lock(state_->mutex);
  std::uint64_t out = 0;
  for (const auto& one : state_->shared) out += one.second;
  return out;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/document/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#endif
