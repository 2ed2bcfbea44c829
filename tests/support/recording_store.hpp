// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/concepts.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// A store in memory whose objects a test can look at and damage, that counts what is asked of it
/// and fails when told to. Copies share one state.
class recording_store {
 public:
  using bytes = std::vector<std::byte>;

  struct state {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const bytes>> objects;
    std::atomic<std::uint64_t> opens{0}, reads{0}, bytes_read{0}, writes{0}, erases{0};
    std::atomic<std::int64_t> writes_until_failure{INT64_MAX};
    std::atomic<std::int64_t> writes_until_refusal{INT64_MAX};  ///< of memory, once
    std::atomic<std::int64_t> reads_until_failure{INT64_MAX};
    bool can_map = true;
    int descriptor = -1;                      ///< that objects have
    std::size_t request_bytes = 0;            ///< that they want
    std::vector<const std::byte*> kept{};     ///< what was said to stay where it is
    std::vector<std::string> written_once{};  ///< keys, none of whose bytes was written twice
    std::atomic<int> writers{0};              ///< that there are now
    std::function<std::optional<zp::blob_version>(const std::string& name)> version{};
  };

  state& operator*() const { return *state_; }
  state* operator->() const { return state_.get(); }

  bool has(const std::string& key) const { return state_->objects.count(key) != 0; }
  const bytes& at(const std::string& key) const { return *state_->objects.at(key); }
  void set(const std::string& key, bytes value) const {
    state_->objects[key] = std::make_shared<const bytes>(std::move(value));
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& [key, value] : state_->objects) out.push_back(key);
    return out;
  }

  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key& key) const {
    ++state_->opens;
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->objects.find(std::string(key.str()));
    if (found == state_->objects.end()) return std::unique_ptr<zp::blob>();
    return std::unique_ptr<zp::blob>(
        std::make_unique<object>(state_, found->second, describe(key)));
  }
  std::string describe(const zp::store_key& key) const {
    return "memory:" + std::string(key.str());
  }
  zp::result<std::unique_ptr<zp::blob_writer>> create(const zp::store_key& key) const {
    return std::unique_ptr<zp::blob_writer>(
        std::make_unique<writer>(state_, std::string(key.str())));
  }
  zp::result<void> put(const zp::store_key& key, zp::bytes_view value) const {
    ZARRPOINT_TRY(made, create(key));
    ZARRPOINT_CHECK(made->write(0, value));
    return made->finish();
  }
  zp::result<bool> erase(const zp::store_key& key) const {
    ++state_->erases;
    const std::lock_guard lock(state_->mutex);
    return state_->objects.erase(std::string(key.str())) != 0;
  }

 private:
  class object final : public zp::blob {
   public:
    object(std::shared_ptr<state> of, std::shared_ptr<const bytes> value, std::string name)
        : state_(std::move(of)), value_(std::move(value)), name_(std::move(name)) {}
    std::uint64_t size() const noexcept override { return value_->size(); }
    zp::result<void> read(std::uint64_t offset, zp::mutable_bytes into) const override {
      if (--state_->reads_until_failure < 0)
        return zp::error{zp::errc::io, "read " + name_ + ": out of order"};
      ZARRPOINT_CHECK(check_range(offset, into.size()));
      ++state_->reads;
      state_->bytes_read += into.size();
      std::copy_n(value_->data() + offset, into.size(), into.data());
      return {};
    }
    zp::result<zp::mapping> map() const override {
      if (!state_->can_map) return blob::map();
      return zp::mapping(*value_, value_);
    }
    int descriptor() const noexcept override { return state_->descriptor; }
    std::size_t request_bytes() const noexcept override { return state_->request_bytes; }
    std::string name() const override { return name_; }
    std::optional<zp::blob_version> version() const noexcept override {
      return state_->version ? state_->version(name_) : std::nullopt;
    }

   private:
    std::shared_ptr<state> state_;
    std::shared_ptr<const bytes> value_;
    std::string name_;
  };

  class writer final : public zp::blob_writer {
   public:
    writer(std::shared_ptr<state> of, std::string key)
        : state_(std::move(of)), key_(std::move(key)) {
      ++state_->writers;
    }
    ~writer() override { --state_->writers; }
    zp::result<void> write_kept(std::uint64_t offset, std::size_t, zp::bytes_view from) override {
      {
        const std::lock_guard lock(state_->mutex);
        state_->kept.push_back(from.data());
      }
      return write(offset, from);
    }
    zp::result<void> write_once(std::uint64_t offset, std::size_t gap,
                                zp::bytes_view from) override {
      once_ += gap + from.size();
      return write(offset, from);
    }
    zp::result<void> write(std::uint64_t offset, zp::bytes_view from) override {
      if (--state_->writes_until_failure < 0)
        return zp::error{zp::errc::io, "write memory:" + key_ + ": no space left"};
      if (state_->writes_until_refusal-- == 0)
        return zp::error{zp::errc::resource_limit, "write memory:" + key_ + ": no memory"};
      ++state_->writes;
      const std::lock_guard lock(mutex_);
      value_.resize(std::max<std::size_t>(value_.size(), offset + from.size()));
      std::copy(from.begin(), from.end(), value_.data() + offset);
      return {};
    }
    zp::result<void> finish() override {
      const std::lock_guard lock(state_->mutex);
      if (once_ == value_.size()) state_->written_once.push_back(key_);
      state_->objects[key_] = std::make_shared<const bytes>(std::move(value_));
      return {};
    }

   private:
    std::shared_ptr<state> state_;
    std::string key_;
    std::mutex mutex_;
    bytes value_;
    std::atomic<std::size_t> once_ = 0;  ///< bytes that are not written again
  };

  std::shared_ptr<state> state_ = std::make_shared<state>();
};
static_assert(zp::writable_store<recording_store>);

}  // namespace zarrpoint_test
