// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/interop/s3/bucket_store.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/remote/http_store.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------- bucket_store.hpp

namespace detail {

// What is ours at a place, beside the plain keys of its first checkpoint:
//   .zarrpoint/current       which tree is published: the one object that a commit puts
//   .zarrpoint/first         who may write to the plain keys, and when published, their list
//   .zarrpoint/<name>.<time> since when the tree of that name is replaced; `first`: the plain keys
//   .zarrpoint/<time>-<id>/  the tree of a later save
inline constexpr std::string_view own_folder = ".zarrpoint/";
inline constexpr std::string_view first_name = ".zarrpoint/first";
/// What that says when they were removed.
inline constexpr std::string_view no_plain_keys = "zarrpoint 1\n";

/// The objects beneath a prefix, which ends with a slash or is empty, as they are.
class bucket_objects {
 public:
  bucket_objects(std::shared_ptr<const bucket_client> client, std::string prefix, query_list marks)
      : client_(std::move(client)), prefix_(std::move(prefix)), marks_(std::move(marks)) {}

  const bucket_client& client() const noexcept { return *client_; }
  std::string key_of(const store_key& key) const { return prefix_ + std::string(key.str()); }
  std::string describe(const store_key& key) const {
    std::string of = key_of(key);
    if (key.is_root() && of.ends_with('/')) of.pop_back();
    return client_->name_of(of);
  }

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    if (key.is_root()) return std::unique_ptr<blob>();
    http_store_options how;
    how.redirects = 0;
    how.cache = client_->settings().cache;
    how.name = client_->shown(key_of(key));
    how.prepare = [client = client_](http_request& request) { return client->sign(request); };
    ZARRPOINT_TRY(store,
                  http_store::over(client_->requests(), client_->address_of(key_of(key)), how));
    return store.open_address();
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    ZARRPOINT_CHECK(check(key));
    return make_part_writer(client_, key_of(key), marks_);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    ZARRPOINT_CHECK(check(key));
    if (bytes.size() > client_->settings().part_bytes) {
      ZARRPOINT_TRY(writer, create(key));
      ZARRPOINT_CHECK(writer->reserve(bytes.size()));
      ZARRPOINT_CHECK(writer->write_once(0, 0, bytes));
      return writer->finish();
    }
    const bytes_view body[] = {bytes};
    return client_->put(key_of(key), body, marks_);
  }
  bool share(const store_key& key, const blob& from) const {
    // The address of an object of this bucket, which is not cut short.
    const std::string name = from.name(), bucket = client_->address_of("");
    const auto version = from.version();
    if (key.is_root() || from.size() > most_part || !version || name.size() >= 300 ||
        !name.starts_with(bucket))
      return false;
    const auto source = percent_decode(std::string_view(name).substr(bucket.size()));
    if (!source || client_->address_of(*source) != name) return false;
    return client_->copy(*source, key_of(key), marks_, *version).value_or(false);
  }
  result<bool> erase(const store_key& key) const {
    if (key.is_root()) return false;
    ZARRPOINT_TRY(there, client_->exists(key_of(key)));
    if (there) ZARRPOINT_CHECK(client_->erase(key_of(key)));
    return there;
  }
  result<std::vector<list_entry>> list(const store_key& prefix) const {
    std::string from = key_of(prefix);
    if (!prefix.is_root()) from += '/';
    std::map<std::string, bool, std::less<>> found;
    ZARRPOINT_CHECK(client_->list(from, true, [&](bucket_listing& page) -> result<void> {
      const auto add = [&](std::string_view key, bool is_prefix) {
        if (!key.starts_with(from)) return;
        key.remove_prefix(from.size());
        if (is_prefix && key.ends_with('/')) key.remove_suffix(1);
        // A key that is none of a store, such as `a//b`, cannot be asked for either.
        if (!key.empty() && key.find('/') == key.npos && store_key::parse(key))
          found[std::string(key)] |= is_prefix;
      };
      for (const bucket_listing::object& one : page.objects) add(one.key, false);
      for (const std::string& one : page.prefixes) add(one, true);
      return {};
    }));
    std::vector<list_entry> out;
    out.reserve(found.size());
    for (const auto& [name, is_prefix] : found) out.push_back({name, is_prefix});
    return out;
  }
  result<bool> list_sizes(const store_key& prefix, std::vector<listed_object>& to) const {
    std::string from = key_of(prefix);
    if (!prefix.is_root()) from += '/';
    ZARRPOINT_CHECK(client_->list(from, false, [&](bucket_listing& page) -> result<void> {
      for (const bucket_listing::object& one : page.objects)
        if (one.key.starts_with(from)) to.push_back({one.key.substr(from.size()), one.size});
      return {};
    }));
    return true;
  }

 private:
  result<void> check(const store_key& key) const {
    if (!key.is_root()) return {};
    return error{errc::invalid_argument, describe(key) + ": the root of a store is not an object"};
  }

  std::shared_ptr<const bucket_client> client_;
  std::string prefix_;
  query_list marks_;
};

/// A tree that is being written. The small documents at its root, which make it a checkpoint, stay
/// in memory until `put_documents`. Others wait for it, too, or until they are many: then they are
/// put side by side. It knows which keys it has. `is_plain`: those of the place itself, where trees
/// of others lie, too.
class bucket_tree {
 public:
  bucket_tree(bucket_objects to, bool is_plain)
      : state_(make_counted<state>(std::move(to), is_plain)) {}

  std::string describe(const store_key& key) const { return state_->to.describe(key); }
  result<std::unique_ptr<blob>> open(const store_key& key) const {
    {
      const std::lock_guard lock(state_->mutex);
      for (const auto& [name, bytes] : state_->documents) {
        if (name == key) return make_owned<blob, memory_blob>(bytes, describe(key));
      }
      const auto at = state_->waiting.find(key.str());
      if (at != state_->waiting.end())
        return make_owned<blob, memory_blob>(at->second, describe(key));
    }
    return state_->to.open(key);
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    note(key);
    drop_document(key);
    return state_->to.create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    note(key);
    drop_document(key);
    const bool is_of_root = key.str().find('/') == std::string_view::npos;
    if (bytes.size() > (is_of_root ? most_bytes : most_waiting)) return state_->to.put(key, bytes);
    std::vector<std::byte> kept(bytes.begin(), bytes.end());
    {
      const std::lock_guard lock(state_->mutex);
      if (is_of_root) {
        state_->documents.emplace_back(key, std::move(kept));
        return {};
      }
      state_->waiting[std::string(key.str())] =
          make_counted<const std::vector<std::byte>>(std::move(kept));
      state_->waiting_bytes += bytes.size();
      ++state_->waiting_count;
      if (!state_->are_many()) return {};
    }
    // Nobody waits for others' puts, unless there is much to keep.
    std::unique_lock puts(state_->flushing, std::defer_lock);
    if (!puts.try_lock()) {
      {
        const std::lock_guard lock(state_->mutex);
        if (state_->waiting_bytes <= most_waiting) return {};
      }
      puts.lock();
    }
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->are_many()) return {};  // another thread has put them
    }
    return put_waiting();
  }
  bool share(const store_key& key, const blob& from) const {
    note(key);
    drop_document(key);
    return state_->to.share(key, from);
  }
  result<bool> erase(const store_key& key) const {
    bool was_there = drop_document(key);
    {
      const std::lock_guard lock(state_->mutex);
      state_->keys.erase(std::string(key.str()));
    }
    if (was_there && key.str().find('/') == std::string_view::npos) return true;
    // One that waited may have been put before, too.
    ZARRPOINT_TRY(erased, state_->to.erase(key));
    return was_there || erased;
  }
  result<std::vector<list_entry>> list(const store_key& prefix) const {
    const std::lock_guard lock(state_->mutex);
    return list_children(prefix, [&](std::string_view text) -> const std::string* {
      const auto at = state_->keys.lower_bound(text);
      return at == state_->keys.end() ? nullptr : &*at;
    });
  }
  /// What other processes have written to it, too.
  result<bool> list_sizes(const store_key& prefix, std::vector<listed_object>& to) const {
    ZARRPOINT_TRY(listed, state_->to.list_sizes(prefix, to));
    const std::lock_guard lock(state_->mutex);
    const std::string above = prefix.is_root() ? "" : std::string(prefix.str()) + '/';
    std::erase_if(to, [&](const listed_object& one) {
      return (state_->is_plain && !state_->keys.contains(above + one.path)) ||
             state_->waiting.contains(above + one.path);
    });
    for (const auto& [key, bytes] : state_->documents)
      if (prefix.is_root()) to.push_back({std::string(key.str()), bytes.size()});
    for (const auto& [key, bytes] : state_->waiting)
      if (key.starts_with(above)) to.push_back({key.substr(above.size()), bytes->size()});
    return listed;
  }

  /// Puts those that wait, but for those of the root.
  result<void> flush() const {
    const std::lock_guard puts(state_->flushing);
    return put_waiting();
  }
  /// Those of the root, the one that was put last after the others: it makes the tree a checkpoint.
  result<void> put_documents() const {
    const auto all = [&] {
      const std::lock_guard lock(state_->mutex);
      return state_->documents;
    }();
    const auto put_one = [&](std::size_t i) { return state_->to.put(all[i].first, all[i].second); };
    if (all.empty()) return {};
    const unsigned at_once = state_->to.client().small_at_once();
    ZARRPOINT_CHECK(for_each_parallel(all.size() - 1, at_once, put_one));
    return put_one(all.size() - 1);
  }
  std::vector<std::string> keys() const {
    const std::lock_guard lock(state_->mutex);
    return {state_->keys.begin(), state_->keys.end()};
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;
  /// Bytes that wait at most, and a number that is put while elements are sent.
  static constexpr std::size_t most_waiting = std::size_t{1} << 20, some_waiting = 32;

  using shared_bytes = std::shared_ptr<const std::vector<std::byte>>;
  struct state {
    state(bucket_objects at, bool plain) : to(std::move(at)), is_plain(plain) {}
    bucket_objects to;
    const bool is_plain;
    std::mutex flushing{};  ///< held while those that wait are put; before `mutex`
    std::mutex mutex{};
    std::vector<std::pair<store_key, std::vector<std::byte>>> documents{};
    std::map<std::string, shared_bytes, std::less<>> waiting{};  ///< until they have been put
    std::size_t waiting_bytes = 0, waiting_count = 0;  ///< of those that came since the last flush
    std::set<std::string, std::less<>> keys{};

    bool are_many() const { return waiting_bytes > most_waiting || waiting_count > some_waiting; }
  };
  void note(const store_key& key) const {
    const std::lock_guard lock(state_->mutex);
    state_->keys.emplace(key.str());
  }
  /// What comes now takes its place, also when the documents are put. False: there was none.
  bool drop_document(const store_key& key) const {
    {
      const std::lock_guard lock(state_->mutex);
      const auto is_it = [&](const auto& one) { return one.first == key; };
      if (std::erase_if(state_->documents, is_it) != 0) return true;
      if (!state_->waiting.contains(key.str())) return false;
    }
    // It may be on its way: what comes now goes after it.
    const std::lock_guard puts(state_->flushing);
    const std::lock_guard lock(state_->mutex);
    return state_->waiting.erase(std::string(key.str())) != 0;
  }
  /// Puts those that wait. One that could not be put waits on, so that no publication is without
  /// it. `flushing` is held.
  result<void> put_waiting() const {
    std::vector<std::pair<std::string, shared_bytes>> many;
    {
      const std::lock_guard lock(state_->mutex);
      many.assign(state_->waiting.begin(), state_->waiting.end());
      state_->waiting_bytes = state_->waiting_count = 0;
    }
    const unsigned at_once = state_->to.client().small_at_once();
    return for_each_parallel(many.size(), at_once,
                             [&](std::size_t i) -> result<void> {
                               const auto& [name, bytes] = many[i];
                               ZARRPOINT_TRY(key, store_key::parse(name));
                               ZARRPOINT_CHECK(state_->to.put(key, *bytes));
                               const std::lock_guard lock(state_->mutex);
                               state_->waiting.erase(name);
                               return {};
                             })
        .at("documents of several keys, which are put at once");
  }

  std::shared_ptr<state> state_;
};

/// What is at a place that is going to be saved to.
struct place_seen {
  std::optional<http_response> current{};  ///< what names the tree that is published
  std::vector<list_entry> entries{};       ///< beside what is ours
  bool has_own = false;                    ///< something that is ours
};

}  // namespace detail

struct bucket_store::state {
  state(std::shared_ptr<const detail::bucket_client> to, std::string at, bool of_many = false)
      : owner(std::move(to)), client(*owner), place(std::move(at)), has_places(of_many) {}

  std::shared_ptr<const detail::bucket_client> owner;
  const detail::bucket_client& client;
  std::string place;  ///< the key of the place, and a slash; empty: the bucket itself
  std::mutex mutex{};
  std::optional<std::string> tree{};  ///< of the checkpoint that is read, once it is known
  detail::handed_on next{};           ///< see `hand_on`
  bool is_to_write = false;           ///< a save comes: the first look is at all of the place
  std::optional<detail::place_seen> seen{};  ///< until the save begins, or something is changed
  /// The server was seen to keep them; of all places of one store.
  std::shared_ptr<std::atomic<bool>> has_conditions =
      detail::make_counted<std::atomic<bool>>(false);
  const bool has_places = false;                                         ///< it is a place of many
  std::map<std::string, std::shared_ptr<state>, std::less<>> beneath{};  ///< them, by name

  std::string at(std::string_view name) const { return place + std::string(name); }

  detail::bucket_objects objects(const std::string& beneath, detail::query_list marks = {}) const {
    return {owner, place + beneath, std::move(marks)};
  }

  /// Where a key is: in the checkpoint that is read, or in a tree that others publish.
  result<detail::bucket_objects> at_key(const store_key& key) {
    if (key.str().starts_with(detail::own_folder)) return objects({});
    return current();
  }

  /// The objects of the checkpoint that is read: looked up once.
  result<detail::bucket_objects> current() {
    const std::lock_guard lock(mutex);
    if (!tree) ZARRPOINT_CHECK(find_tree());
    return objects(*tree);
  }

  /// As of `at_key`. The first one is asked for at the plain keys while the tree is looked up: most
  /// checkpoints lie there.
  result<std::unique_ptr<blob>> open(const store_key& key) {
    if (key.is_root() || key.str().starts_with(detail::own_folder)) return objects({}).open(key);
    std::unique_lock lock(mutex);
    if (tree && tree->empty() && seen && key.str().find('/') == std::string_view::npos) {
      const auto is_it = [&](const list_entry& one) {
        return !one.is_prefix && one.name == key.str();
      };
      if (std::none_of(seen->entries.begin(), seen->entries.end(), is_it))
        return std::unique_ptr<blob>();
    }
    result<std::unique_ptr<blob>> plain = std::unique_ptr<blob>();
    if (!tree) {
      const std::size_t looks = is_to_write ? 3 : 2;
      detail::place_seen all;
      result<void> listed;
      ZARRPOINT_CHECK(detail::for_each_parallel(looks, 3, [&](std::size_t i) -> result<void> {
        if (i == 0) return find_tree(is_to_write ? &all : nullptr);
        if (i == 2) {  // who may not list still replaces
          listed = list_place(all);
          return {};
        }
        plain = objects({}).open(key);
        return {};
      }));
      if (is_to_write && listed) seen = std::move(all);
      if (tree->empty()) return plain;
    }
    const detail::bucket_objects known = objects(*tree);
    lock.unlock();
    return known.open(key);
  }

  void forget() {
    const std::lock_guard lock(mutex);
    tree.reset();
    seen.reset();
    next.give(store_key::root(), nullptr);
    for (const auto& [name, one] : beneath) one->forget();
  }

  std::shared_ptr<state> place_beneath(std::string_view name) {
    const std::lock_guard lock(mutex);
    const auto at = beneath.find(name);
    if (at != beneath.end()) return at->second;
    auto made = detail::make_counted<state>(owner, place + std::string(name) + '/');
    made->has_conditions = has_conditions;
    beneath.emplace(std::string(name), made);
    return made;
  }

  /// What lies at the place, and whether something of that is ours.
  result<void> list_place(detail::place_seen& to) const {
    ZARRPOINT_TRY(entries, objects({}).list(store_key::root()));
    to.has_own = std::erase_if(entries, [](const list_entry& one) {
                   return one.is_prefix && one.name + '/' == detail::own_folder;
                 }) != 0;
    to.entries = std::move(entries);
    return {};
  }

  /// What was seen there is not so any more.
  void change() {
    const std::lock_guard lock(mutex);
    seen.reset();
  }
  /// What lies at the root of a place where nothing is published or half saved, if that was seen.
  std::optional<std::vector<list_entry>> seen_entries(const store_key& of) {
    const std::lock_guard lock(mutex);
    const bool is_known = of.is_root() && tree && tree->empty() && seen && !seen->has_own;
    return is_known ? std::optional(seen->entries) : std::nullopt;
  }
  std::optional<detail::place_seen> take_seen() {
    const std::lock_guard lock(mutex);
    return std::exchange(seen, std::nullopt);
  }

  /// Asks for it, under the lock.
  result<void> find_tree(detail::place_seen* all = nullptr) {
    ZARRPOINT_TRY(found, client.get(at(detail::current_name)));
    if (all != nullptr) all->current = found;
    std::string named;
    if (found) {
      ZARRPOINT_TRY(said, detail::tree_of(found->text, client.name_of(at(detail::current_name))));
      named = std::move(said);
    }
    tree = std::move(named);
    return {};
  }

  /// Puts an object that is not there. Unless it is known that the server keeps conditions, that
  /// shows by the same: of puts that differ in their condition alone one may go well. The version
  /// of the object, as far as an answer tells it; nothing where another is there. Errors:
  /// `unsupported` where conditions are ignored; then the object may be there.
  result<std::optional<std::string>> put_new(const std::string& key, const std::string& text) {
    if (*has_conditions) return client.put_if(key, text, {});
    const detail::put_condition only[] = {{}, {}, {client.no_version()}};
    const bytes_view body[] = {std::as_bytes(std::span(text))};
    for (const unsigned at_once : {client.small_at_once(), 1U}) {
      std::string versions[3];
      int status[3] = {};
      ZARRPOINT_CHECK(detail::for_each_parallel(3, at_once, [&](std::size_t i) -> result<void> {
        ZARRPOINT_TRY(answer, client.put_once({.key = key, .body = body, .only = only[i]}));
        status[i] = answer.status / 100 == 2 ? 200 : answer.status;
        if (status[i] == 200) versions[i] = client.version_of(answer);
        // Of what is not there, some say that who asks may not know.
        const bool refuses = status[i] == 412 || status[i] == 409 || status[i] == 404 ||
                             (i == 2 && client.may_be_missing(answer));
        return status[i] == 200 || refuses ? result<void>()
                                           : http_failure(answer, "PUT", client.name_of(key));
      }));
      const auto count = [&](int of) { return std::count(status, status + 3, of); };
      if (status[2] == 200 || count(200) > 1) break;
      // They may have been refused for being in one another's way: then one after the other.
      if (count(409) != 0 && at_once != 1) continue;
      *has_conditions = count(200) + count(412) != 0;
      if (count(200) == 1) return std::optional(versions[status[0] == 200 ? 0 : 1]);
      return client.put_if(key, text, {});  // it is there, perhaps by an answer that was lost
    }
    return error{errc::unsupported,
                 objects({}).describe(store_key::root()) +
                     ": the server ignores the conditions of a put, so that two saves at once "
                     "would mix; single_writer of the store's options saves there nevertheless"};
  }
};

/// One save at a place.
class bucket_store::staged final : public publication {
 public:
  staged(std::shared_ptr<state> of, bool overwrite)
      : state_(std::move(of)), overwrite_(overwrite), id_(detail::random_id()) {}
  ~staged() override {
    static_cast<void>(guarded([&] { return erase_probe(); }));
    if (!committed_) static_cast<void>(guarded([&] { return abandon(); }));
  }

  /// Looks at what is there, and at what the server can do. The plain keys are for the first save
  /// that finds the place empty, unless it is one of several processes.
  result<void> begin(bool by_many) {
    ZARRPOINT_CHECK(look());
    const bool claims = is_empty_ && !by_many;
    // Where others may be at work, a server that ignores conditions would put over their claim.
    if ((!claims || has_own_) && !*state_->has_conditions &&
        !state_->client.settings().single_writer) {
      // As beneath a tree, so that what a killed process leaves is removed as one.
      probe_ = state_->at(own_tree(detail::random_id()) + "probe");
      ZARRPOINT_CHECK(state_->put_new(probe_, "zarrpoint 1\nprobe " + id_ + '\n'));
    }
    return claims ? claim() : result<void>();
  }

  any_store store() const override {
    if (!objects_) choose(has_claimed_);
    return *objects_;
  }

  /// A save of several processes has a tree of its own: so its objects are known by their prefix.
  std::string staged_name() const override {
    if (!objects_) choose(has_claimed_);
    return tree_.empty() ? tree_ : tree_.substr(0, tree_.size() - 1);
  }

  /// In a tree of its own, or at the plain keys that are its own by a claim, it touches nobody's
  /// objects.
  bool is_conditional() const noexcept override {
    return (has_claimed_ || !tree_.empty()) && !state_->client.settings().single_writer;
  }

  result<void> commit() override {
    if (committed_)
      return error{errc::invalid_argument, current_name() + ": it is published already"};
    const std::string name = place_name();
    const detail::phase_scope commits(observer_, phase::commit, name, 0);
    return guarded([&] { return publish(); });
  }

  late_entries late() const override { return late_; }

  /// Whom to tell of the commit; null: nobody.
  void tell(phase_observer* observer) noexcept { observer_ = observer; }

 private:
  result<void> look() {
    const detail::bucket_client& client = state_->client;
    auto seen = state_->take_seen();
    if (!seen || client.settings().single_writer) {  // what was seen guards nothing there
      seen.emplace();
      ZARRPOINT_TRY(current, client.get(state_->at(detail::current_name)));
      seen->current = std::move(current);
      if (!seen->current) ZARRPOINT_CHECK(state_->list_place(*seen));
    }
    if (const auto& found = seen->current) {
      is_there_ = true;
      before_ = client.version_of(*found);
      ZARRPOINT_TRY(named, detail::tree_of(found->text, current_name()));
      replaced_ = std::move(named);
      replaced_since_ = parse_http_date(found->header("Last-Modified"));
      if (!replaced_since_) replaced_since_ = parse_http_date(found->header("Date"));
      read_marks(found->text);
      if (overwrite_) return {};
      return error{errc::already_exists,
                   "publish " + client.name_of(place_name()) + ": it is there already"};
    }
    is_empty_ = seen->entries.empty();
    has_own_ = seen->has_own;
    return {};
  }

  /// What `current` says of those that were replaced before. All of which an older version says
  /// nothing, or a text that was cut short, were replaced when this one was published, at the
  /// latest.
  void read_marks(std::string_view text) {
    marks_since_ = replaced_date();
    const std::size_t last = text.rfind('\n', text.size() - std::min<std::size_t>(text.size(), 2));
    if (!text.ends_with('\n') || last == text.npos || !text.substr(last + 1).starts_with("save "))
      return;
    std::string since = marks_since_;
    std::vector<std::string> before;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(line.size() + 1);
      if (line.starts_with("marks ")) since = line.substr(6);
      if (!line.starts_with("before ")) continue;
      before.emplace_back(line.substr(7));
      // No save writes that.
      if (before.size() > most_unmarked + 1 || before.back().size() > 64 ||
          before.back().find('/') != std::string::npos)
        return;
    }
    marks_since_ = std::move(since);
    replaced_before_ = unmarked_ = std::move(before);
  }

  result<void> erase_probe() const {
    const std::string key = std::exchange(probe_, std::string());
    return key.empty() ? result<void>() : state_->client.erase(key);
  }

  void choose(bool plain) const {
    if (!plain) tree_ = own_tree(id_);
    objects_.emplace(state_->objects(tree_, {{std::string(detail::save_mark), id_}}), plain);
  }

  std::string place_name() const {
    return state_->place.empty() ? std::string()
                                 : state_->place.substr(0, state_->place.size() - 1);
  }
  std::string current_name() const {
    return state_->client.name_of(state_->at(detail::current_name));
  }
  std::int64_t now() const { return state_->client.requests().clock().seconds(); }
  std::string own_tree(const std::string& id) const {
    return std::string(detail::own_folder) + compact_date(began_) + '-' + id + '/';
  }

  std::string claim_text() const { return "zarrpoint 1\nsave " + id_ + '\n'; }

  result<void> claim() {
    has_claimed_ = true;  // what of it is put goes with the rest, whatever comes then
    const std::string key = state_->at(detail::first_name), text = claim_text();
    if (state_->client.settings().single_writer) {
      const bytes_view body[] = {std::as_bytes(std::span(text))};
      return state_->client.put(key, body);
    }
    ZARRPOINT_TRY(claimed, known(state_->put_new(key, text)));
    has_claimed_ = claimed.has_value();
    if (claimed) claim_ = *std::move(claimed);
    return {};
  }

  /// What is not known of the claim is known of the save: it fails, and is removed.
  static result<std::optional<std::string>> known(result<std::optional<std::string>> put) {
    if (!put && put.failure().code == errc::outcome_unknown)
      return error{errc::unavailable, std::move(put).failure().message};
    return put;
  }

  /// Whether the plain keys are this save's still: not where all of the place was erased since.
  result<bool> has_claim() const {
    ZARRPOINT_TRY(first, state_->client.get(state_->at(detail::first_name)));
    if (!first || first->text.find("\nsave " + id_ + '\n') == std::string::npos) return false;
    claim_ = state_->client.version_of(*first);
    return true;
  }

  result<void> publish() {
    const detail::bucket_client& client = state_->client;
    if (now() - began_ > client.settings().keep_seconds / 2)
      return error{errc::unavailable,
                   "publish " + client.name_of(place_name()) +
                       ": the save took so long that another one may have "
                       "removed what it wrote; raise keep_seconds of the store's options"};
    if (!objects_) static_cast<void>(store());
    const unsigned at_once = client.small_at_once();
    if (tree_.empty()) {
      // Not at keys that are others' by now; and readers of other programs take what has a root.
      ZARRPOINT_CHECK(detail::for_each_parallel(2, at_once, [&](std::size_t i) -> result<void> {
        if (i == 0) return put_keys();
        static_cast<void>(erase_probe());  // who may not erase still saves
        return {};
      }));
      ZARRPOINT_CHECK(objects_->flush());
      ZARRPOINT_CHECK(objects_->put_documents());
    } else {
      ZARRPOINT_CHECK(detail::for_each_parallel(4, at_once, [&](std::size_t i) -> result<void> {
        if (i < 2) return i == 0 ? objects_->flush() : objects_->put_documents();
        if (i == 2) static_cast<void>(erase_probe());
        if (i == 3) mark_replaced();
        return {};
      }));
    }
    const std::string text = current_text();
    result<std::optional<std::string>> is_put = std::optional<std::string>();
    result<std::vector<unused_tree>> unused = std::vector<unused_tree>{};
    ZARRPOINT_CHECK(detail::for_each_parallel(2, at_once, [&](std::size_t i) -> result<void> {
      if (i == 1) {
        unused = guarded([&] { return find_unused(); });
        return {};
      }
      is_put = client.put_if(state_->at(detail::current_name), text,
                             {.version = before_, .is_any = client.settings().single_writer});
      return {};
    }));
    if (!is_put) {
      // Nobody knows whether readers are sent there: it stays.
      committed_ = is_put.failure().code == errc::outcome_unknown;
      return std::move(is_put).failure().at("publish " + client.name_of(place_name()));
    }
    if (!*is_put)
      return error{overwrite_ ? errc::replaced : errc::already_exists,
                   "publish " + client.name_of(place_name()) +
                       ": another save has published there meanwhile; nothing of this one is "
                       "left"};
    committed_ = true;
    {
      const std::lock_guard lock(state_->mutex);
      state_->tree = tree_;
      state_->next.give(store_key::root(), nullptr);
    }
    const auto collect_it = [&]() -> result<void> {
      ZARRPOINT_CHECK(unused);
      return collect(*unused);
    };
    if (auto done = guarded(collect_it); !done)
      late_.uncleaned.push_back(std::move(done).failure().message);
    return {};
  }

  /// Which keys to remove, once this checkpoint is replaced: in place of the claim, where that is
  /// there still.
  result<void> put_keys() const {
    std::string text = "zarrpoint 1\n";
    for (const std::string& key : objects_->keys()) text.append("key ").append(key).append("\n");
    text.append("save ").append(id_).append("\n");
    const bool is_alone = state_->client.settings().single_writer;
    // Once more as a read tells the version: that may be in another form than the put's.
    for (const bool is_read : {claim_.empty() || is_alone, true}) {
      if (is_read) {
        ZARRPOINT_TRY(is_mine, has_claim());
        if (!is_mine) break;
      }
      const bool is_any = is_alone || claim_.empty();
      ZARRPOINT_TRY(put, known(state_->client.put_if(
                             state_->at(detail::first_name), text,
                             {.version = is_any ? std::string() : claim_, .is_any = is_any})));
      if (put) return {};
    }
    return error{errc::replaced, "publish " + state_->client.name_of(place_name()) +
                                     ": the place was erased while it was saved to"};
  }

  /// `20261128T120000Z-<id>`, or `first` for the plain keys.
  static std::string short_name(std::string_view tree) {
    if (tree.empty() || tree == ".") return "first";
    return std::string(
        tree.substr(detail::own_folder.size(), tree.size() - detail::own_folder.size() - 1));
  }
  /// When the checkpoint before the current one was replaced, or later.
  std::string replaced_date() const { return compact_date(replaced_since_.value_or(now())); }

  /// Says of what the current checkpoint has replaced since when that is so: by an object with the
  /// name of the tree and that time, `.zarrpoint/20261128T120000Z-<id>.20261128T130000Z`. What
  /// cannot be put now is named on.
  void mark_replaced() {
    while (replaced_since_ && !unmarked_.empty()) {
      const std::string key =
          std::string(detail::own_folder) + unmarked_.back() + '.' + replaced_date();
      if (!guarded([&] { return state_->client.put(state_->at(key), {}); })) break;
      unmarked_.pop_back();
    }
    if (unmarked_.size() <= most_unmarked) return;
    unmarked_.clear();
    marks_since_ = replaced_date();
  }

  std::string current_text() const {
    std::string text = std::string(detail::current_head) + (tree_.empty() ? "." : tree_) +
                       "\nmarks " + marks_since_ + '\n';
    for (const std::string& one : unmarked_) text += "before " + one + '\n';
    if (is_there_) text += "before " + short_name(replaced_) + '\n';
    return text + "save " + id_ + '\n';
  }

  /// A tree, or the plain keys, and the marks of it.
  struct unused_tree {
    std::string prefix{};  ///< in the bucket; empty: nothing is left of it
    std::vector<std::string> marks{};
    bool is_plain = false;
  };

  /// What nobody reads any more once this is published: trees that were replaced long ago, and what
  /// was left by saves that were killed. Not all at once: a save does not wait long for it.
  result<std::vector<unused_tree>> find_unused() const {
    const detail::bucket_client& client = state_->client;
    const std::string own = state_->at(detail::own_folder);
    std::vector<unused_tree> out;
    // Where the server does not say since when, nothing is removed.
    if (is_there_ && !replaced_since_) return out;
    struct seen_tree {
      std::string since{};  ///< the latest mark
      unused_tree what{};
    };
    std::map<std::string, seen_tree, std::less<>> trees;
    for (const std::string& one : replaced_before_) trees[one].since = replaced_date();
    ZARRPOINT_CHECK(client.list(own, true, [&](detail::bucket_listing& page) -> result<void> {
      for (std::string& one : page.prefixes) {
        if (!one.starts_with(own) || one.size() < own.size() + 2) continue;
        const std::string name = one.substr(own.size(), one.size() - own.size() - 1);
        trees[name].what.prefix = std::move(one);
      }
      for (const auto& one : page.objects) {
        if (!one.key.starts_with(own)) continue;
        const std::string name = one.key.substr(own.size());
        const std::size_t dot = name.rfind('.');
        if (name == "first") trees[name].what.is_plain = one.size != detail::no_plain_keys.size();
        if (dot == name.npos) continue;
        seen_tree& of = trees[name.substr(0, dot)];
        of.since = std::max(of.since, name.substr(dot + 1));
        of.what.marks.push_back(one.key);
      }
      return {};
    }));
    for (auto& [name, one] : trees) {
      const bool is_used =
          name == short_name(tree_) || (is_there_ && name == short_name(replaced_));
      // What nothing is known of was replaced before such marks began, or is of a killed save. Of
      // plain keys there is a time in what says whose they are, too.
      const bool is_unknown = one.since.empty() && is_old(marks_since_) &&
                              (one.what.is_plain || (!one.what.prefix.empty() && is_old(name)));
      if (is_used || out.size() == 32 || !(is_unknown || (!one.since.empty() && is_old(one.since))))
        continue;
      out.push_back(std::move(one.what));
    }
    return out;
  }

  result<void> collect(const std::vector<unused_tree>& unused) {
    const detail::bucket_client& client = state_->client;
    result<void> all;
    for (const unused_tree& one : unused) {
      auto done = guarded([&]() -> result<void> {
        if (!one.prefix.empty()) ZARRPOINT_CHECK(client.erase_all(one.prefix));
        if (one.is_plain) ZARRPOINT_CHECK(collect_plain());
        return detail::for_each_parallel(one.marks.size(), client.settings().parallel,
                                         [&](std::size_t i) { return client.erase(one.marks[i]); });
      });
      if (!done && all) all = std::move(done);
    }
    return all;
  }

  /// Of `20261128T120000Z`, and what follows. As of the begin of this save, not as of now: what is
  /// that old is not what others have published since, however long this process was stopped.
  bool is_old(std::string_view date) const {
    return date < compact_date(began_ - state_->client.settings().keep_seconds);
  }

  /// The plain keys of the first save: those that it listed, or, where it was killed, those that
  /// have its mark.
  result<void> collect_plain() {
    const detail::bucket_client& client = state_->client;
    ZARRPOINT_TRY(first, client.get(state_->at(detail::first_name)));
    if (!first) return {};
    const auto put = parse_http_date(first->header("Last-Modified"));
    if (!put || began_ - *put <= client.settings().keep_seconds) return {};
    std::vector<std::string> keys;
    std::string id;
    std::string_view text = first->text;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.starts_with("save ")) id = line.substr(5);
      if (line.starts_with("key ") && store_key::parse(line.substr(4)))
        keys.emplace_back(line.substr(4));
    }
    if (id.empty()) return {};  // they are gone
    const bool is_listed = !keys.empty();
    if (!is_listed) {
      ZARRPOINT_CHECK(
          client.list(state_->place, false, [&](detail::bucket_listing& page) -> result<void> {
            for (const auto& one : page.objects) {
              if (one.key.starts_with(state_->at(detail::own_folder))) continue;
              keys.push_back(one.key.substr(std::min(state_->place.size(), one.key.size())));
            }
            return {};
          }));
    }
    ZARRPOINT_CHECK(detail::for_each_parallel(
        keys.size(), client.settings().parallel, [&](std::size_t i) -> result<void> {
          // Others may have put something at a key since.
          ZARRPOINT_TRY(mark, client.mark_of(state_->at(keys[i]), detail::save_mark));
          if (mark != id) return {};
          return client.erase(state_->at(keys[i]));
        }));
    const bytes_view body[] = {std::as_bytes(std::span(detail::no_plain_keys))};
    return client.put(state_->at(detail::first_name), body);
  }

  /// Nothing of a save that failed stays.
  result<void> abandon() {
    if (!objects_ && !has_claimed_) return {};
    const detail::bucket_client& client = state_->client;
    if (!tree_.empty()) {
      ZARRPOINT_TRY(erased, client.erase_all(state_->at(tree_)));
      static_cast<void>(erased);
      return {};
    }
    // What makes it a checkpoint goes first.
    std::vector<std::string> keys = objects_ ? objects_->keys() : std::vector<std::string>();
    const auto below = std::stable_partition(
        keys.begin(), keys.end(), [](const std::string& key) { return key.find('/') == key.npos; });
    const auto erase = [&](const std::string& key) -> result<void> {
      // What others put there is not this save's. Some servers drop marks: those that ignore
      // conditions, too, which have one writer.
      ZARRPOINT_TRY(mark, client.mark_of(state_->at(key), detail::save_mark));
      if (mark && mark != id_) {  // asked twice: what is left would stay
        ZARRPOINT_TRY(again, client.mark_of(state_->at(key), detail::save_mark));
        mark = std::move(again);
      }
      const bool is_dropped = mark && mark->empty() && client.settings().single_writer;
      return mark == id_ || is_dropped ? client.erase(state_->at(key)) : result<void>();
    };
    for (auto one = keys.begin(); one != below; ++one) ZARRPOINT_CHECK(erase(*one));
    keys.erase(keys.begin(), below);
    ZARRPOINT_CHECK(detail::for_each_parallel(keys.size(), client.settings().parallel,
                                              [&](std::size_t i) { return erase(keys[i]); }));
    ZARRPOINT_TRY(is_mine, has_claim());
    if (!is_mine) return {};
    return client.erase(state_->at(detail::first_name));
  }

  std::shared_ptr<state> state_;
  bool overwrite_;
  std::string id_;
  const std::int64_t began_ = state_->client.requests().clock().seconds();
  bool is_there_ = false;   ///< something is replaced
  std::string before_{};    ///< the ETag of what is replaced; empty: nothing is there
  std::string replaced_{};  ///< its tree
  std::optional<std::int64_t> replaced_since_{};
  std::vector<std::string> replaced_before_{};  ///< by that one: short names
  static constexpr std::size_t most_unmarked = 16;
  std::vector<std::string> unmarked_{};  ///< those of them that no object says it of
  std::string marks_since_ = "0";  ///< all that was replaced later is marked, or named as such
  bool is_empty_ = false;          ///< nothing lies at the place, but for what is ours
  bool has_own_ = false;           ///< something that is ours
  mutable std::string probe_{};    ///< what the look at the server may have left
  bool has_claimed_ = false;       ///< the plain keys are this save's
  mutable std::string claim_{};    ///< the version of what says so, if that is known
  mutable std::string tree_{};     ///< beneath the place; empty: the plain keys
  mutable std::optional<detail::bucket_tree> objects_{};
  late_entries late_{};
  phase_observer* observer_ = nullptr;
  bool committed_ = false;
};

ZARRPOINT_INLINE bucket_store::bucket_store(std::shared_ptr<const detail::bucket_client> client,
                                            const store_key& place)
    : state_(detail::make_counted<state>(
          std::move(client), std::string(place.str()) + (place.is_root() ? "" : "/"))) {}

/// A place, and a key in it.
struct bucket_store::place_key {
  std::shared_ptr<state> place;
  store_key key;
  bool is_place = true;  ///< false: the root of many

  result<detail::bucket_objects> objects() const {
    return is_place ? place->at_key(key) : place->objects({});
  }
};

ZARRPOINT_INLINE bucket_store::place_key bucket_store::place_of(const store_key& key) const {
  if (!state_->has_places) return {state_, key};
  const std::string_view text = key.str();
  const std::string_view name = text.substr(0, text.find('/'));
  if (name.empty()) return {state_, key, false};
  const auto rest = store_key::parse(text.substr(std::min(name.size() + 1, text.size())));
  return {state_->place_beneath(name), rest.value_or(store_key::root())};
}

ZARRPOINT_INLINE void bucket_store::expect_save() const { state_->is_to_write = true; }

ZARRPOINT_INLINE bucket_store bucket_store::places() const {
  return bucket_store(detail::make_counted<state>(state_->owner, state_->place, true));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> bucket_store::open(const store_key& key) const {
  const place_key at = place_of(key);
  if (!at.is_place) return at.place->objects({}).open(at.key);
  if (auto opened = at.place->next.take(at.key)) return opened;
  return at.place->open(at.key);
}

ZARRPOINT_INLINE void bucket_store::hand_on(const store_key& key,
                                            std::unique_ptr<blob> opened) const {
  const place_key at = place_of(key);
  at.place->next.give(at.key, std::move(opened));
}

ZARRPOINT_INLINE any_store bucket_store::objects() const { return state_->objects({}); }

ZARRPOINT_INLINE std::string bucket_store::describe(const store_key& key) const {
  return state_->objects({}).describe(key);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> bucket_store::create(
    const store_key& key) const {
  const place_key at = place_of(key);
  at.place->change();
  ZARRPOINT_TRY(objects, at.objects());
  return objects.create(at.key);
}

ZARRPOINT_INLINE result<void> bucket_store::put(const store_key& key, bytes_view bytes) const {
  const place_key at = place_of(key);
  at.place->change();
  ZARRPOINT_TRY(objects, at.objects());
  return objects.put(at.key, bytes);
}

ZARRPOINT_INLINE bool bucket_store::share(const store_key& key, const blob& from) const {
  const place_key at = place_of(key);
  at.place->change();
  const auto objects = at.objects();
  return objects && objects->share(at.key, from);
}

ZARRPOINT_INLINE result<bool> bucket_store::erase(const store_key& key) const {
  const place_key at = place_of(key);
  at.place->change();
  ZARRPOINT_TRY(objects, at.objects());
  return objects.erase(at.key);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> bucket_store::list(const store_key& prefix) const {
  const place_key at = place_of(prefix);
  if (!at.is_place) state_->forget();
  if (auto seen = at.is_place ? at.place->seen_entries(at.key) : std::nullopt)
    return *std::move(seen);
  ZARRPOINT_TRY(objects, at.objects());
  // What a first save writes is not there before it is published.
  const state& of = *at.place;
  bool is_there[2] = {};
  const auto ask = [&](std::size_t i) {
    const std::string_view names[] = {detail::current_name, detail::first_name};
    return of.client.exists(of.at(names[i])).transform([&](bool is) { is_there[i] = is; });
  };
  result<std::vector<list_entry>> listed = std::vector<list_entry>{};
  const bool is_all = at.is_place && at.key.is_root() && of.is_to_write;
  ZARRPOINT_CHECK(detail::for_each_parallel(is_all ? 3 : 1, of.client.small_at_once(),
                                            [&](std::size_t i) -> result<void> {
                                              if (i != 0) return ask(i - 1);
                                              listed = objects.list(at.key);
                                              return {};
                                            }));
  ZARRPOINT_TRY(out, std::move(listed));
  const bool is_ours = std::erase_if(out, [&](const list_entry& one) {
                         return at.key.is_root() && one.name == ".zarrpoint";
                       }) != 0;
  if (!is_ours || !at.is_place) return out;
  if (!is_all) ZARRPOINT_CHECK(detail::for_each_parallel(2, of.client.small_at_once(), ask));
  if (!is_there[0] && is_there[1]) out.clear();
  return out;
}

ZARRPOINT_INLINE result<bool> bucket_store::list_sizes(const store_key& prefix,
                                                       std::vector<listed_object>& to) const {
  const place_key at = place_of(prefix);
  ZARRPOINT_TRY(objects, at.objects());
  return objects.list_sizes(at.key, to);
}

ZARRPOINT_INLINE result<bool> bucket_store::erase_all(const store_key& prefix) const {
  const place_key at = place_of(prefix);
  at.place->change();
  if (!at.key.is_root()) {
    ZARRPOINT_TRY(objects, at.objects());
    ZARRPOINT_TRY(erased, state_->client.erase_all(objects.key_of(at.key) + '/'));
    return erased != 0;
  }
  // What makes it a checkpoint goes first, wherever that lies.
  ZARRPOINT_CHECK(state_->client.erase(at.place->at(detail::current_name)));
  bool has_document = false;
  for (const char* name : {"zarr.json", ".zmetadata", ".zgroup", ".zarray", ".zattrs"}) {
    ZARRPOINT_TRY(document, store_key::parse(name));
    ZARRPOINT_TRY(erased, at.place->objects({}).erase(document));
    has_document |= erased;
  }
  ZARRPOINT_TRY(erased, state_->client.erase_all(at.place->place));
  at.place->forget();
  return has_document || erased != 0;
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> bucket_store::stage(
    const store_key& key, const publish_options& how) const {
  const place_key at = place_of(key);
  if (!at.key.is_root() || !at.is_place)
    return error{errc::unsupported, "publish " + describe(key) +
                                        ": a checkpoint in a bucket is published at the URL that "
                                        "its store was opened with; open that of this key, or take "
                                        "places() of the store for one beneath each name"};
  auto out = std::make_unique<staged>(at.place, how.overwrite);
  out->tell(how.observer);
  ZARRPOINT_CHECK(guarded([&] { return out->begin(how.by_many); }));
  return std::unique_ptr<publication>(std::move(out));
}

ZARRPOINT_INLINE result<std::string> bucket_store::key_in_bucket(const store_key& key) const {
  ZARRPOINT_TRY(objects, state_->current());
  return objects.key_of(key);
}

namespace detail {

ZARRPOINT_INLINE result<bucket_address> parse_bucket_address(std::string_view scheme,
                                                             std::string_view address) {
  const std::string begin = std::string(scheme) + "://";
  if (!address.starts_with(begin))
    return error{errc::invalid_argument,
                 printable(address, 80) + " is not a URL " + begin + "bucket/key"};
  const std::string_view rest = address.substr(begin.size());
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  std::string_view key = rest.substr(std::min(bucket.size() + 1, rest.size()));
  while (key.ends_with('/')) key.remove_suffix(1);
  ZARRPOINT_TRY(parsed, store_key::parse(key).at(printable(address, 200)));
  return bucket_address{std::string(bucket), std::move(parsed)};
}

ZARRPOINT_INLINE result<stored_place> open_bucket_place(
    const std::string& given, const place_use& use,
    const std::function<result<bucket_store>(std::string_view)>& open,
    std::span<const format_entry> formats) {
  std::string address = given;
  while (address.ends_with('/')) address.pop_back();
  const std::string shown = printable(address, 300);
  ZARRPOINT_TRY(store, open(address));
  const store_key root = store_key::root();
  const bool is_zip = address.ends_with(".zip") || address.find(".zip/") != address.npos;
  if (use.write && address.ends_with(".zip"))
    return error{errc::unsupported, "write " + shown +
                                        ": a zip file is not written to a bucket; give a name "
                                        "without .zip to save a tree of objects"};
  if (use.places) return stored_place{store.places(), root};
  if (use.write) store.expect_save();
  if (use.write || (formats.empty() && !is_zip)) return stored_place{store, root};
  std::string rest;  // a key within a zip file
  if (const std::size_t end = address.find(".zip/"); end != address.npos) {
    rest = address.substr(end + 5);
    address.resize(end + 4);
  }
  // Both at once: most places have the one or the other.
  ZARRPOINT_TRY(document, store_key::parse("zarr.json"));
  std::optional<stored_place> beside;
  const std::size_t slash = address.rfind('/');
  if (slash > address.find("://") + 3) {
    ZARRPOINT_TRY(name, store_key::parse(std::string_view(address).substr(slash + 1)).at(shown));
    ZARRPOINT_TRY(above, open(std::string_view(address).substr(0, slash)));
    beside = stored_place{above.objects(), std::move(name)};
  }
  result<std::unique_ptr<blob>> zarr = std::unique_ptr<blob>(), file = std::unique_ptr<blob>();
  ZARRPOINT_CHECK(parallel_for(remote_executor(), beside ? 2 : 1, [&](std::size_t i) {
    (i == 0 ? zarr : file) = i == 0 ? store.open(document) : beside->store.open(beside->key);
    return result<void>();
  }));
  ZARRPOINT_TRY(opened, std::move(zarr));
  if (opened != nullptr) {
    store.hand_on(document, std::move(opened));
    return stored_place{store, root};
  }
  std::optional<place_look> look;
  ZARRPOINT_TRY(found_file, std::move(file));
  if (found_file != nullptr) look.emplace(shown, *std::move(beside), std::move(found_file));
  const bool is_file = look.has_value();
  if (!is_file) look.emplace(shown, stored_place{store, root}, nullptr);
  if (rest.empty()) {
    ZARRPOINT_TRY(found, find_by_formats(formats, *look, use));
    if (found) return *std::move(found);
  }
  if (!is_file) return stored_place{store, root};
  if (look->head().starts_with("PK\x03\x04")) {
    ZARRPOINT_TRY(file, look->open_file());
    return web_zip(std::move(file), rest, use);
  }
  return error{errc::unsupported,
               "open " + shown +
                   ": it is a file, and neither a zip file nor one of a format of "
                   "context::stores (formats<...>() adds one)"};
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/exec/bodies.hpp>
#include <zarrpoint/interop/s3/bucket_bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#include <zarrpoint/store/remote/store_bodies.hpp>
#endif
