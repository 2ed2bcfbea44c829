// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// Another store, whose calls are counted. Copies share the counts.
class counting_store {
 public:
  struct state {
    std::atomic<std::uint64_t> opens{0}, lists{0}, listed{0};
    std::uint64_t calls() const { return opens + lists; }
    void clear() { opens = lists = listed = 0; }
  };

  counting_store(zp::any_store base, bool lists) : base_(std::move(base)), lists_(lists) {}

  state* operator->() const { return state_.get(); }

  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key& key) const {
    ++state_->opens;
    return base_.open(key);
  }
  std::string describe(const zp::store_key& key) const { return base_.describe(key); }
  zp::result<std::unique_ptr<zp::blob_writer>> create(const zp::store_key& key) const {
    return base_.create(key);
  }
  zp::result<void> put(const zp::store_key& key, zp::bytes_view bytes) const {
    return base_.put(key, bytes);
  }
  zp::result<bool> erase(const zp::store_key& key) const { return base_.erase(key); }
  zp::result<std::vector<zp::list_entry>> list(const zp::store_key& prefix) const {
    ++state_->lists;
    auto out = base_.list(prefix);
    if (out) state_->listed += out->size();
    return out;
  }
  bool can_list() const { return lists_; }

 private:
  zp::any_store base_;
  bool lists_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace zarrpoint_test
