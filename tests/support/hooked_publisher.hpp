// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// What others do while something is published.
struct publication_hooks {
  std::function<void()> after_stage = [] {};
  std::function<void()> before_commit = [] {};
};

/// A `file_store` whose publications call hooks.
struct hooked_publisher {
  using result_of_stage = zarrpoint::result<std::unique_ptr<zarrpoint::publication>>;

  class hooked final : public zarrpoint::publication {
   public:
    hooked(std::unique_ptr<zarrpoint::publication> inner, std::function<void()> before_commit)
        : inner_(std::move(inner)), before_commit_(std::move(before_commit)) {}
    zarrpoint::any_store store() const override { return inner_->store(); }
    std::string staged_name() const override { return inner_->staged_name(); }
    zarrpoint::result<std::vector<std::string>> keep(const zarrpoint::owned_paths& all) override {
      return inner_->keep(all);
    }
    zarrpoint::result<void> commit() override {
      before_commit_();
      return inner_->commit();
    }
    zarrpoint::late_entries late() const override { return inner_->late(); }

   private:
    std::unique_ptr<zarrpoint::publication> inner_;
    std::function<void()> before_commit_;
  };

  zarrpoint::file_store inner;
  publication_hooks hooks;

  std::string describe(const zarrpoint::store_key& key) const { return inner.describe(key); }
  auto open(const zarrpoint::store_key& key) const { return inner.open(key); }
  auto create(const zarrpoint::store_key& key) const { return inner.create(key); }
  auto put(const zarrpoint::store_key& key, zarrpoint::bytes_view bytes) const {
    return inner.put(key, bytes);
  }
  auto erase(const zarrpoint::store_key& key) const { return inner.erase(key); }
  auto list(const zarrpoint::store_key& prefix) const { return inner.list(prefix); }
  result_of_stage stage(const zarrpoint::store_key& key,
                        const zarrpoint::publish_options& how) const {
    auto staged = inner.stage(key, how);
    if (!staged) return staged;
    hooks.after_stage();
    return std::unique_ptr<zarrpoint::publication>(
        std::make_unique<hooked>(*std::move(staged), hooks.before_commit));
  }
};

}  // namespace test
