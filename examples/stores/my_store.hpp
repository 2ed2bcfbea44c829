// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A skeleton to copy: a store of your own. Replace the map by your place; nothing is registered, it
// becomes an `any_store` by itself. To load, `open` and `describe` are enough; to save, add
// `create`, `put` and `erase`. `list` and `stage` are optional: docs/write_a_store.md has what each
// promises. All members are const and called from several threads at once; copies mean the same
// place.

#include <zarrpoint/stores.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace example {

namespace zp = zarrpoint;

/// Keeps objects as strings in a map. It can be read and written, not listed.
class my_store {
 public:
  /// An object, or a null pointer where there is none: a missing key is not an error.
  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key& key) const {
    const std::lock_guard lock(shared_->mutex);
    const auto at = shared_->objects.find(key);
    if (at == shared_->objects.end()) return std::unique_ptr<zp::blob>();
    return std::unique_ptr<zp::blob>(std::make_unique<object>(at->second, describe(key)));
  }
  /// What errors call a key.
  std::string describe(const zp::store_key& key) const { return "toy:" + std::string(key.str()); }

  /// An object in pieces: it is there after `finish`, and whole.
  zp::result<std::unique_ptr<zp::blob_writer>> create(const zp::store_key& key) const {
    if (key.is_root())
      return zp::error{zp::errc::invalid_argument, "toy: the root is not an object"};
    return std::unique_ptr<zp::blob_writer>(std::make_unique<writer>(shared_, key));
  }
  /// The old bytes or the new ones, never a part.
  zp::result<void> put(const zp::store_key& key, zp::bytes_view bytes) const {
    ZARRPOINT_TRY(made, create(key));
    ZARRPOINT_CHECK(made->write(0, bytes));
    return made->finish();
  }
  /// Tells whether the key was there.
  zp::result<bool> erase(const zp::store_key& key) const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->objects.erase(key) != 0;
  }

 private:
  struct shared {
    std::mutex mutex;
    std::map<zp::store_key, std::string> objects;
  };

  struct object final : zp::blob {
    object(std::string of, std::string as) : text(std::move(of)), called(std::move(as)) {}
    std::uint64_t size() const noexcept override { return text.size(); }
    zp::result<void> read(std::uint64_t offset, zp::mutable_bytes into) const override {
      ZARRPOINT_CHECK(check_range(offset, into.size()));
      const auto from = zp::as_bytes(text).subspan(offset, into.size());
      std::copy(from.begin(), from.end(), into.begin());
      return {};
    }
    std::string name() const override { return called; }

    std::string text;
    std::string called;
  };

  struct writer final : zp::blob_writer {
    writer(std::shared_ptr<shared> of, zp::store_key as)
        : store(std::move(of)), key(std::move(as)) {}
    zp::result<void> write(std::uint64_t offset, zp::bytes_view bytes) override {
      if (bytes.empty()) return {};
      const std::lock_guard lock(mutex);
      text.resize(std::max<std::size_t>(text.size(), offset + bytes.size()));
      text.replace(offset, bytes.size(), zp::as_text(bytes));
      return {};
    }
    zp::result<void> finish() override {
      const std::lock_guard lock(store->mutex);
      store->objects[key] = std::move(text);
      return {};
    }

    std::shared_ptr<shared> store;
    zp::store_key key;
    std::mutex mutex;
    std::string text;
  };

  std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

}  // namespace example
