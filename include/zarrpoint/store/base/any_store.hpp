// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/concepts.hpp>

namespace zarrpoint { inline namespace v0 {

/// An object in a listing that tells sizes; the path is beneath what is listed.
struct listed_object {
  std::string path;
  std::uint64_t size = 0;
};

/// Any store, its type erased; itself a store of every kind. What the store underneath cannot do
/// is `unsupported`, and `can_write`, `can_list` and `can_publish` tell beforehand.
///
/// A store whose abilities are known only at run time (one opened read-only, one over another
/// store) has members of the same names, which are asked.
class any_store {
 public:
  template <class S>
    requires(!std::same_as<S, any_store> && readable_store<S> && !detail::half_store<S>)
  any_store(S store)  // NOLINT(google-explicit-constructor): every store is an any_store
      : model_(detail::make_counted<const model<S>>(std::move(store))) {}
  template <class S>
    requires(!std::same_as<S, any_store> && detail::half_store<S>)
  any_store(const S&) {  // NOLINT(google-explicit-constructor): it says what is missing
    detail::explain_store<S>();
  }

  result<std::unique_ptr<blob>> open(const store_key& key) const { return model_->open(key); }
  std::string describe(const store_key& key) const { return model_->describe(key); }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const { return model_->put(key, bytes); }

  /// Begins to add to the object that was opened as `before`. Null where that cannot be done in one
  /// step, as in stores without a member of this name, or where the key has another object by now:
  /// then replace it.
  result<std::unique_ptr<blob_extension>> extend(const store_key& key, const blob& before) const;

  result<bool> erase(const store_key& key) const { return model_->erase(key); }
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  /// Adds all objects beneath a key to `to`, by one listing; for stores that have a member of this
  /// name, since theirs tells sizes. False, and nothing is added, in others: then open each.
  result<bool> list_sizes(const store_key& prefix, std::vector<listed_object>& to) const {
    return model_->list_sizes(prefix, to);
  }

  /// Moves an object, or all that lies beneath a key, in one step; for stores that have a member of
  /// this name, else `unsupported`: then copy and erase. Errors: `not_found`, `already_exists`.
  result<void> rename(const store_key& from, const store_key& to) const;

  /// Erases all that lies beneath a key, in one step; for stores that have a member of this name,
  /// else `unsupported`. False when nothing was there.
  result<bool> erase_all(const store_key& prefix) const { return model_->erase_all(prefix); }

  /// Gives a key without an object the one that was opened as `from`, without its bytes: by a
  /// second name, or a copy that the server makes. What either key has later is not the other's.
  /// False where that cannot be done, as in stores without a member of this name: then copy it.
  bool share(const store_key& key, const blob& from) const { return model_->share(key, from); }

  bool can_write() const { return has(writes); }
  bool can_list() const { return has(lists); }
  bool can_publish() const { return has(publishes); }

  /// Whether a listing costs about as much as a look at one object, as in files, zip files and
  /// memory. False for stores that have no member of this name.
  bool lists_cheaply() const { return has(lists_soon); }

  /// The same address for all handles of one store, another for another store. Null for stores that
  /// have no member of this name, as one whose objects lie elsewhere does not know what shares
  /// them.
  const void* identity() const { return model_->identity(); }

  /// Whether `key` of `other` lies beneath `top` of this store: where neither handle nor identity
  /// tells, by what the stores call their keys.
  bool is_above(const store_key& top, const any_store& other, const store_key& key) const;

 private:
  static constexpr unsigned writes = 1, lists = 2, publishes = 4, lists_soon = 8;
  bool has(unsigned ability) const { return (model_->abilities() & ability) != 0; }

  struct interface {
    interface() = default;
    interface(const interface&) = delete;
    interface& operator=(const interface&) = delete;
    virtual ~interface() = default;
    virtual result<std::unique_ptr<blob>> open(const store_key&) const = 0;
    virtual std::string describe(const store_key&) const = 0;
    virtual result<std::unique_ptr<blob_writer>> create(const store_key&) const = 0;
    virtual result<void> put(const store_key&, bytes_view) const = 0;
    virtual result<std::unique_ptr<blob_extension>> extend(const store_key&, const blob&) const = 0;
    virtual result<bool> erase(const store_key&) const = 0;
    virtual result<std::vector<list_entry>> list(const store_key&) const = 0;
    virtual result<std::unique_ptr<publication>> stage(const store_key&,
                                                       const publish_options&) const = 0;
    virtual result<bool> list_sizes(const store_key&, std::vector<listed_object>&) const = 0;
    virtual result<void> rename(const store_key&, const store_key&) const = 0;
    virtual result<bool> erase_all(const store_key&) const = 0;
    virtual bool share(const store_key&, const blob&) const = 0;
    virtual unsigned abilities() const = 0;
    virtual const void* identity() const = 0;
  };

  template <class S>
  struct model final : interface {
    explicit model(S s) : store(std::move(s)) {}

    result<std::unique_ptr<blob>> open(const store_key& key) const override {
      return store.open(key);
    }
    std::string describe(const store_key& key) const override { return store.describe(key); }
    result<std::unique_ptr<blob_writer>> create(const store_key& key) const override {
      if constexpr (writable_store<S>) {
        return store.create(key);
      } else {
        return refuse("write", key);
      }
    }
    result<void> put(const store_key& key, bytes_view bytes) const override {
      if constexpr (writable_store<S>) {
        return store.put(key, bytes);
      } else {
        return refuse("write", key);
      }
    }
    result<std::unique_ptr<blob_extension>> extend(const store_key& key,
                                                   const blob& before) const override {
      if constexpr (requires { store.extend(key, before); }) {
        return store.extend(key, before);
      } else {
        return std::unique_ptr<blob_extension>();
      }
    }
    result<bool> erase(const store_key& key) const override {
      if constexpr (writable_store<S>) {
        return store.erase(key);
      } else {
        return refuse("erase", key);
      }
    }
    result<std::vector<list_entry>> list(const store_key& prefix) const override {
      if constexpr (listable_store<S>) {
        return store.list(prefix);
      } else {
        return refuse("list", prefix);
      }
    }
    result<std::unique_ptr<publication>> stage(const store_key& key,
                                               const publish_options& how) const override {
      if constexpr (publishable_store<S>) {
        return store.stage(key, how);
      } else {
        return refuse("publish", key);
      }
    }
    result<bool> list_sizes(const store_key& prefix,
                            std::vector<listed_object>& to) const override {
      if constexpr (requires { store.list_sizes(prefix, to); }) {
        return store.list_sizes(prefix, to);
      } else {
        return false;
      }
    }
    result<void> rename(const store_key& from, const store_key& to) const override {
      if constexpr (requires { store.rename(from, to); }) {
        return store.rename(from, to);
      } else {
        return refuse("rename", from);
      }
    }
    result<bool> erase_all(const store_key& prefix) const override {
      if constexpr (requires { store.erase_all(prefix); }) {
        return store.erase_all(prefix);
      } else {
        return refuse("erase", prefix);
      }
    }
    bool share(const store_key& key, const blob& from) const override {
      if constexpr (requires { store.share(key, from); }) {
        return store.share(key, from);
      } else {
        return false;
      }
    }
    unsigned abilities() const override {
      bool can_write = writable_store<S>, can_list = listable_store<S>;
      bool can_publish = publishable_store<S>, lists_cheaply = false;
      if constexpr (requires { store.can_write(); }) can_write = store.can_write();
      if constexpr (requires { store.can_list(); }) can_list = store.can_list();
      if constexpr (requires { store.can_publish(); }) can_publish = store.can_publish();
      if constexpr (requires { store.lists_cheaply(); }) lists_cheaply = store.lists_cheaply();
      return (can_write ? writes : 0U) | (can_list ? lists : 0U) | (can_publish ? publishes : 0U) |
             (lists_cheaply ? lists_soon : 0U);
    }
    const void* identity() const override {
      if constexpr (requires { store.identity(); }) {
        return store.identity();
      } else {
        return nullptr;
      }
    }

    error refuse(const char* action, const store_key& key) const {
      return {errc::unsupported, std::string(action) + " " + store.describe(key) +
                                     ": this kind of store cannot do that"};
    }

    S store;
  };

  std::shared_ptr<const interface> model_;
};

namespace detail {

/// Whether anything is at `key`, or may be: true, too, of a root, and where the store cannot tell.
/// It lists what lies beside the key: for what is said of an error.
bool may_exist(const any_store& store, const store_key& key);

/// `not_found`: there is nothing at `key`, or `otherwise` tells what is wrong with what is there.
error nothing_at(const any_store& store, const store_key& key, std::string_view otherwise);

}  // namespace detail

/// The whole of a small object, or nothing if the key is missing; `resource_limit` when it has more
/// than `max_bytes`, before anything is allocated.
template <readable_store S>
result<std::optional<std::vector<std::byte>>> get(const S& store, const store_key& key,
                                                  std::uint64_t max_bytes) {
  ZARRPOINT_TRY(object, store.open(key));
  if (!object) return std::optional<std::vector<std::byte>>();
  const std::uint64_t size = object->size();
  if (size > max_bytes) {
    return error{errc::resource_limit, "read " + object->name() + ": its " + std::to_string(size) +
                                           " bytes are more than the limit of " +
                                           std::to_string(max_bytes)};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  ZARRPOINT_CHECK(object->read(0, bytes));
  return std::optional(std::move(bytes));
}
/// The same, compiled once.
result<std::optional<std::vector<std::byte>>> get(const any_store& store, const store_key& key,
                                                  std::uint64_t max_bytes);

}}  // namespace zarrpoint::v0
