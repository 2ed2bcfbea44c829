// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/stores.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Stores that count the bytes that are written to them.

namespace test {

/// Another store, and its trees: what is written is counted, and sharing may be turned off.
struct counted_publisher {
  using count = std::shared_ptr<std::atomic<std::uint64_t>>;

  class writer final : public zarrpoint::blob_writer {
   public:
    writer(std::unique_ptr<zarrpoint::blob_writer> inner, count written)
        : inner_(std::move(inner)), written_(std::move(written)) {}
    zarrpoint::result<void> write(std::uint64_t at, zarrpoint::bytes_view bytes) override {
      *written_ += bytes.size();
      return inner_->write(at, bytes);
    }
    zarrpoint::result<void> finish() override { return inner_->finish(); }

   private:
    std::unique_ptr<zarrpoint::blob_writer> inner_;
    count written_;
  };
  class staged;

  std::string describe(const zarrpoint::store_key& at) const { return inner.describe(at); }
  auto open(const zarrpoint::store_key& at) const { return inner.open(at); }
  zarrpoint::result<std::unique_ptr<zarrpoint::blob_writer>> create(
      const zarrpoint::store_key& at) const {
    auto made = inner.create(at);
    if (!made) return made;
    return std::unique_ptr<zarrpoint::blob_writer>(
        std::make_unique<writer>(*std::move(made), written));
  }
  zarrpoint::result<void> put(const zarrpoint::store_key& at, zarrpoint::bytes_view bytes) const {
    *written += bytes.size();
    return inner.put(at, bytes);
  }
  bool share(const zarrpoint::store_key& at, const zarrpoint::blob& from) const {
    return shares && inner.share(at, from);
  }
  auto erase(const zarrpoint::store_key& at) const { return inner.erase(at); }
  auto list(const zarrpoint::store_key& at) const { return inner.list(at); }
  auto erase_all(const zarrpoint::store_key& at) const { return inner.erase_all(at); }
  zarrpoint::result<std::unique_ptr<zarrpoint::publication>> stage(
      const zarrpoint::store_key& at, const zarrpoint::publish_options& how) const;

  zarrpoint::any_store inner;
  count written = std::make_shared<std::atomic<std::uint64_t>>(0);
  bool shares = true;
};

class counted_publisher::staged final : public zarrpoint::publication {
 public:
  staged(std::unique_ptr<zarrpoint::publication> inner, counted_publisher of)
      : inner_(std::move(inner)), of_(std::move(of)) {}
  zarrpoint::any_store store() const override {
    return counted_publisher{inner_->store(), of_.written, of_.shares};
  }
  zarrpoint::result<std::vector<std::string>> keep(const zarrpoint::owned_paths& all) override {
    return inner_->keep(all);
  }
  zarrpoint::result<void> commit() override { return inner_->commit(); }

 private:
  std::unique_ptr<zarrpoint::publication> inner_;
  counted_publisher of_;
};

inline zarrpoint::result<std::unique_ptr<zarrpoint::publication>> counted_publisher::stage(
    const zarrpoint::store_key& at, const zarrpoint::publish_options& how) const {
  auto made = inner.stage(at, how);
  if (!made) return made;
  return std::unique_ptr<zarrpoint::publication>(std::make_unique<staged>(*std::move(made), *this));
}

/// One that can write and list, and not publish.
struct in_place_store {
  std::string describe(const zarrpoint::store_key& at) const { return inner.describe(at); }
  auto open(const zarrpoint::store_key& at) const { return inner.open(at); }
  auto create(const zarrpoint::store_key& at) const { return inner.create(at); }
  auto put(const zarrpoint::store_key& at, zarrpoint::bytes_view bytes) const {
    return inner.put(at, bytes);
  }
  auto erase(const zarrpoint::store_key& at) const { return inner.erase(at); }
  auto list(const zarrpoint::store_key& at) const { return inner.list(at); }

  zarrpoint::memory_store inner;
};

}  // namespace test
