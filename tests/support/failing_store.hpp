// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

using namespace zarrpoint;

/// Lets so many writes succeed.
struct failing_store {
  any_store inner;
  std::shared_ptr<std::atomic<int>> left;

  class writer final : public blob_writer {
   public:
    writer(std::unique_ptr<blob_writer> to, std::shared_ptr<std::atomic<int>> left)
        : to_(std::move(to)), left_(std::move(left)) {}
    result<void> write(std::uint64_t offset, bytes_view bytes) override {
      if (--*left_ < 0) return error{errc::io, "the disk is full"};
      return to_->write(offset, bytes);
    }
    result<void> finish() override {
      if (--*left_ < 0) return error{errc::io, "the disk is full"};
      return to_->finish();
    }

   private:
    std::unique_ptr<blob_writer> to_;
    std::shared_ptr<std::atomic<int>> left_;
  };

  class staged final : public publication {
   public:
    staged(std::unique_ptr<publication> inner, std::shared_ptr<std::atomic<int>> left)
        : inner_(std::move(inner)), left_(std::move(left)) {}
    any_store store() const override;
    std::string staged_name() const override { return inner_->staged_name(); }
    late_entries late() const override { return inner_->late(); }
    result<std::vector<std::string>> keep(const owned_paths& all) override {
      return inner_->keep(all);
    }
    result<void> commit() override {
      if (--*left_ < 0) return error{errc::io, "the disk is full"};
      return inner_->commit();
    }

   private:
    std::unique_ptr<publication> inner_;
    std::shared_ptr<std::atomic<int>> left_;
  };

  auto open(const store_key& at) const { return inner.open(at); }
  std::string describe(const store_key& at) const { return inner.describe(at); }
  result<std::unique_ptr<blob_writer>> create(const store_key& at) const {
    if (--*left < 0) return error{errc::io, "the disk is full"};
    ZARRPOINT_TRY(to, inner.create(at));
    return std::unique_ptr<blob_writer>(std::make_unique<writer>(std::move(to), left));
  }
  result<void> put(const store_key& at, bytes_view bytes) const {
    if (--*left < 0) return error{errc::io, "the disk is full"};
    return inner.put(at, bytes);
  }
  auto erase(const store_key& at) const { return inner.erase(at); }
  auto list(const store_key& at) const { return inner.list(at); }
  result<std::unique_ptr<publication>> stage(const store_key& at,
                                             const publish_options& how) const {
    ZARRPOINT_TRY(made, inner.stage(at, how));
    return std::unique_ptr<publication>(std::make_unique<staged>(std::move(made), left));
  }
};

inline any_store failing_store::staged::store() const {
  return failing_store{inner_->store(), left_};
}

}  // namespace zarrpoint_test
