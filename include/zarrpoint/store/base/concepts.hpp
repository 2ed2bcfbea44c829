// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/base/write_behind.hpp>

#include <concepts>

namespace zarrpoint { inline namespace v0 {

// A store maps keys to bytes. It is a handle: copies are cheap and mean the same place, members
// are const, and all may be called from several threads at once. What a store can do is split
// into concepts, so that a reader over HTTP need not pretend to write.

/// One direct child of a prefix.
struct list_entry {
  std::string name;        ///< one segment, relative to the prefix
  bool is_prefix = false;  ///< other keys lie beneath it

  friend bool operator==(const list_entry&, const list_entry&) = default;
  friend auto operator<=>(const list_entry&, const list_entry&) = default;
};

/// How a tree of keys is published.
struct publish_options {
  bool overwrite = false;  ///< replace what is there; otherwise `already_exists`
  bool sync = true;        ///< survive a power cut: nothing is reported done before it is on disk
  /// In the name of a directory until it is published, for other programs that know it.
  std::string_view mark{};
  bool by_many = false;  ///< several processes write it, which are told its `staged_name`
  /// About how many objects are to come, if that is known: many files are synced as one.
  std::size_t objects = 0;
  /// Makes what writes synced data while others encode, `detail::write_threads::make`; null: nobody
  /// does. Stores that publish directories use it.
  detail::write_behind (*write_behind)() = nullptr;
  phase_observer* observer = nullptr;  ///< told of syncs and of the commit; null: nobody is
};

class any_store;

/// Entries of others in the tree that a publication replaced, after its `keep`; and what else it
/// could not do after it had published.
struct late_entries {
  std::vector<std::string> kept{};  ///< what `commit` brought over, as the paths of `keep`
  /// Not all could be brought over: why, and where the replaced tree lies now, in a sentence.
  /// Empty: nothing is left behind.
  std::string left{};
  /// What could not be removed, of earlier saves that were killed or of the replaced tree, and why:
  /// in sentences.
  std::vector<std::string> uncleaned{};
};

/// A tree of keys being prepared out of sight, which `commit` puts in its place in one step.
/// Destroyed before that, it leaves nothing behind.
class publication {
 public:
  publication() = default;
  publication(const publication&) = delete;
  publication& operator=(const publication&) = delete;
  virtual ~publication() = default;

  /// Where to write: the root of this store becomes the published key.
  virtual any_store store() const = 0;

  /// The tree's own name beside the key, for other processes that write to it, too, in the same
  /// directory; empty where they cannot, as in a bucket without `publish_options::by_many`. What
  /// they write they must sync themselves.
  virtual std::string staged_name() const { return {}; }

  /// Gives the new tree what `owned` calls foreign in the one that it is going to replace: both
  /// have it then. Call it before `commit`, when every writer has finished; `commit` looks again,
  /// for what comes in between, and `late` tells what it found. Returns the paths,
  /// those of directories with a "/" at the end; none for stores in which nothing else can be.
  /// Errors: `io`, naming what cannot be kept.
  virtual result<std::vector<std::string>> keep(const owned_paths&) {
    return std::vector<std::string>();
  }

  /// Whether `commit` alone decides, and touches nothing of others: what came to the place since
  /// the tree was begun need not be looked at.
  virtual bool is_conditional() const noexcept { return false; }

  /// Publishes. Call it once, when every writer has finished. On failure what was there before is
  /// untouched; `outcome_unknown` means that only the last sync failed: open the key to find out.
  virtual result<void> commit() = 0;

  /// What `commit` found that came after `keep`, if that was called, and what was not removed.
  virtual late_entries late() const { return {}; }
};

/// A store that can be read. `open` gives a null pointer for a missing key: that is not an error,
/// as a missing chunk is a fill value. `describe` is what error messages call a key.
template <class S>
concept readable_store = std::copy_constructible<S> && requires(const S& s, const store_key& key) {
  { s.open(key) } -> std::same_as<result<std::unique_ptr<blob>>>;
  { s.describe(key) } -> std::same_as<std::string>;
};

/// A store that can be written. `put` replaces an object in one step: a reader sees the old bytes
/// or the new ones. `create` does the same for one written in pieces. `erase` tells whether the
/// key was there.
template <class S>
concept writable_store = readable_store<S> &&
    requires(const S& s, const store_key& key, bytes_view bytes) {
  { s.create(key) } -> std::same_as<result<std::unique_ptr<blob_writer>>>;
  { s.put(key, bytes) } -> std::same_as<result<void>>;
  { s.erase(key) } -> std::same_as<result<bool>>;
};

/// A store that can be listed: the direct children of a prefix, sorted by name. A prefix without
/// children gives an empty list.
template <class S>
concept listable_store = readable_store<S> && requires(const S& s, const store_key& prefix) {
  { s.list(prefix) } -> std::same_as<result<std::vector<list_entry>>>;
};

/// A store in which a whole tree of keys can appear in one step.
template <class S>
concept publishable_store = writable_store<S> &&
    requires(const S& s, const store_key& key, const publish_options& how) {
  { s.stage(key, how) } -> std::same_as<result<std::unique_ptr<publication>>>;
};

namespace detail {

/// What has an operation of a store, but not all of those that go with it, or not with these types.
template <class S>
concept half_store = std::is_class_v<S> &&
    ((!readable_store<S> && (
                                requires(S & s, const store_key& key) { s.open(key); } ||
                                requires(S & s, const store_key& key) { s.describe(key); })) ||
     (!writable_store<S> && (
                                requires { &S::create; } || requires { &S::put; })) ||
     (!listable_store<S> && requires { &S::list; }) ||
     (!publishable_store<S> && requires { &S::stage; }));

/// Fails to compile with the operation that `half_store` misses.
template <half_store S>
consteval void explain_store() {
  if constexpr (!std::copy_constructible<S>) {
    static_assert(
        sizeof(S) == 0,
        "zarrpoint: a store is a handle that can be copied: examples/stores/my_store.hpp");
  } else if constexpr (!requires(const S& s, const store_key& key) {
                         { s.open(key) } -> std::same_as<result<std::unique_ptr<blob>>>;
                       }) {
    static_assert(sizeof(S) == 0,
                  "zarrpoint: this store lacks open() as examples/stores/my_store.hpp has it");
  } else if constexpr (!readable_store<S>) {
    static_assert(sizeof(S) == 0,
                  "zarrpoint: this store lacks describe() as examples/stores/my_store.hpp has it");
  } else if constexpr (!listable_store<S> && requires { &S::list; }) {
    static_assert(sizeof(S) == 0,
                  "zarrpoint: this store lacks list() as examples/stores/my_store.hpp has it");
  } else if constexpr (!requires(const S& s, const store_key& key) {
                         { s.create(key) } -> std::same_as<result<std::unique_ptr<blob_writer>>>;
                       }) {
    static_assert(sizeof(S) == 0,
                  "zarrpoint: this store lacks create() as examples/stores/my_store.hpp has it");
  } else if constexpr (!requires(const S& s, const store_key& key, bytes_view bytes) {
                         { s.put(key, bytes) } -> std::same_as<result<void>>;
                       }) {
    static_assert(sizeof(S) == 0,
                  "zarrpoint: this store lacks put() as examples/stores/my_store.hpp has it");
  } else if constexpr (!writable_store<S>) {
    static_assert(sizeof(S) == 0,
                  "zarrpoint: this store lacks erase() as examples/stores/my_store.hpp has it");
  } else {
    static_assert(publishable_store<S>,
                  "zarrpoint: the stage() of this store is not that of publishable_store");
  }
}

}  // namespace detail

}}  // namespace zarrpoint::v0
