// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

using namespace zarrpoint;

/// A store whose publications fail once so many of their writes are done.
struct failing_publisher {
  using result_of_stage = result<std::unique_ptr<publication>>;

  struct staged_store {
    any_store inner;
    std::shared_ptr<std::atomic<int>> left;

    result<void> count() const {
      if (--*left < 0) return error{errc::io, "no space left"};
      return {};
    }
    std::string describe(const store_key& at) const { return inner.describe(at); }
    auto open(const store_key& at) const { return inner.open(at); }
    result<std::unique_ptr<blob_writer>> create(const store_key& at) const {
      ZARRPOINT_CHECK(count());
      return inner.create(at);
    }
    result<void> put(const store_key& at, bytes_view bytes) const {
      ZARRPOINT_CHECK(count());
      return inner.put(at, bytes);
    }
    auto erase(const store_key& at) const { return inner.erase(at); }
    auto list(const store_key& at) const { return inner.list(at); }
  };
  class staged final : public publication {
   public:
    staged(std::unique_ptr<publication> inner, std::shared_ptr<std::atomic<int>> left)
        : inner_(std::move(inner)), left_(std::move(left)) {}
    any_store store() const override { return staged_store{inner_->store(), left_}; }
    result<std::vector<std::string>> keep(const owned_paths& all) override {
      ZARRPOINT_CHECK(staged_store({inner_->store(), left_}).count());
      return inner_->keep(all);
    }
    result<void> commit() override {
      ZARRPOINT_CHECK(staged_store({inner_->store(), left_}).count());
      return inner_->commit();
    }

   private:
    std::unique_ptr<publication> inner_;
    std::shared_ptr<std::atomic<int>> left_;
  };

  file_store inner;
  std::shared_ptr<std::atomic<int>> left;

  std::string describe(const store_key& at) const { return inner.describe(at); }
  auto open(const store_key& at) const { return inner.open(at); }
  auto create(const store_key& at) const { return inner.create(at); }
  auto put(const store_key& at, bytes_view bytes) const { return inner.put(at, bytes); }
  auto erase(const store_key& at) const { return inner.erase(at); }
  auto list(const store_key& at) const { return inner.list(at); }
  result_of_stage stage(const store_key& at, const publish_options& how) const {
    auto made = inner.stage(at, how);
    if (!made) return made;
    return std::unique_ptr<publication>(std::make_unique<staged>(*std::move(made), left));
  }
};

}  // namespace zarrpoint_test
