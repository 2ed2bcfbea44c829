// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/checkpoint/verify/seal.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------------- verify.hpp

ZARRPOINT_INLINE std::string_view to_string(verdict of) noexcept {
  switch (of) {
    case verdict::ok: return "ok";
    case verdict::not_verified: return "not verified";
    case verdict::faulty: break;
  }
  return "faulty";
}

ZARRPOINT_INLINE verdict verify_report::result() const noexcept {
  verdict worst = documents;
  std::uint64_t chunks = 0;
  for (const leaf_verification& leaf : leaves) {
    worst = std::max(worst, leaf.result);
    chunks += leaf.chunks;
  }
  return chunks == 0 ? std::max(worst, verdict::not_verified) : worst;
}

namespace detail {

/// Counts what differs from the commit and what does not, to tell damage of chunks from a root
/// document that is whole and not theirs.
struct difference_count {
  std::uint64_t leaves = 0, whole_leaves = 0, differing_leaves = 0;

  void add(const leaf_verification& leaf, std::uint64_t differing) noexcept {
    ++leaves;
    if (leaf.result == verdict::ok) ++whole_leaves;
    // Of a damaged leaf most chunks are those of the commit.
    if (differing > leaf.chunks) ++differing_leaves;
  }
  bool most() const noexcept { return differing_leaves > 1 && 4 * differing_leaves > 3 * leaves; }
  error what() const {
    return {errc::corrupt, std::to_string(differing_leaves) +
                               " leaves have other chunks than it names, " +
                               std::to_string(whole_leaves) +
                               " have those: it may be the document of another checkpoint"};
  }
};

/// Whether anything is gone or is not what it was: what this build cannot read is neither.
ZARRPOINT_INLINE bool is_damage(const verify_report& report) {
  return report.result() == verdict::faulty ||
         std::any_of(report.failures.begin(), report.failures.end(), [](const auto& one) {
           return one.what.code == errc::not_found || one.what.code == errc::io;
         });
}

/// What stands first in an error that ends all: the first failure, and how many there are.
ZARRPOINT_INLINE error first_of(const verify_report& report) {
  if (report.failures.empty())
    return {errc::corrupt, std::to_string(report.failure_count) + " failures"};
  const verify_failure& first = report.failures.front();
  error out = first.what;
  out.code = errc::corrupt;
  if (!out.message.starts_with("array ")) out.at(first.file);
  if (report.failure_count > 1)
    out.message += " (and " + std::to_string(report.failure_count - 1) + " more failures)";
  return out;
}

/// What is wrong with the documents that other programs read.
ZARRPOINT_INLINE result<std::vector<document_finding>> find_in_documents(
    const checkpoint& of, const checkpoint_contents& contents) {
  const any_store& store = checkpoint_access::store(of);
  if (contents.is_ours()) return check_documents(store, contents, of.how());
  ZARRPOINT_TRY(found, check_consolidated(store, contents, of.how()));
  for (const stored_leaf& leaf : found.missing) {
    const auto key = store_key::parse(leaf.name);
    found.findings.push_back(
        {leaf.name, key ? store.describe(*key) : leaf.name, true, no_own_document()});
  }
  return std::move(found.findings);
}

}  // namespace detail

ZARRPOINT_INLINE result<verify_report> verify(const checkpoint& of, const verify_options& options) {
  return guarded([&]() -> result<verify_report> {
    verify_report out;
    const detail::checkpoint_contents& contents = detail::checkpoint_access::contents(of);
    detail::difference_count count;
    ZARRPOINT_TRY(found, detail::find_in_documents(of, contents).at("verify"));
    for (detail::document_finding& one : found) {
      out.documents =
          std::max(out.documents, one.is_fault ? verdict::faulty : verdict::not_verified);
      if (++out.failure_count > options.max_failures) continue;
      out.failures.push_back(
          {std::move(one.node), std::move(one.file), {}, {}, one.is_fault, std::move(one.what)});
    }
    for (std::string& name : of.names()) {
      ZARRPOINT_CHECK(detail::not_stopped(of.how()).at("verify"));
      leaf_verification leaf{.name = std::move(name)};
      const result<array> source = detail::checkpoint_access::as_plain_array(of, leaf.name);
      if (source) {
        ZARRPOINT_TRY(differing, detail::verify_leaf(*source, leaf, out, options).at("verify"));
        count.add(leaf, differing);
      } else {
        const bool is_fault = source.failure().code == errc::corrupt;
        leaf.result = is_fault ? verdict::faulty : verdict::not_verified;
        if (++out.failure_count <= options.max_failures)
          out.failures.push_back({leaf.name, leaf.name, {}, {}, is_fault, source.failure()});
      }
      out.leaves.push_back(std::move(leaf));
    }
    // Asked once, and last: whatever was found, it may be because a save was at work.
    if (detail::is_damage(out)) {
      error failure = detail::checkpoint_access::explain(of, detail::first_of(out));
      if (failure.code == errc::replaced) return std::move(failure).at("verify");
    }
    if (count.most()) {
      out.documents = verdict::faulty;
      const auto root = store_key::parse(contents.zarr_format == 2 ? ".zattrs" : "zarr.json");
      if (++out.failure_count <= options.max_failures)
        out.failures.push_back(
            {{}, detail::checkpoint_access::store(of).describe(*root), {}, {}, true, count.what()});
    }
    return out;
  });
}

namespace detail {

// --------------------------------------------------------------------------------- verify_leaf.hpp

ZARRPOINT_INLINE result<void> not_stopped(const context& how) {
  if (how.stop.stop_requested()) return error{errc::cancelled, "stop was requested"};
  return {};
}

ZARRPOINT_INLINE bool other_keys::add(const array_metadata& metadata, const chunk_boxes& objects,
                                      const std::string& key) {
  using style = chunk_key_encoding::style;
  for (const style kind : {style::default_, style::v2}) {
    for (const char separator : {'/', '.'}) {
      const chunk_key_encoding other{kind, separator};
      if (other == metadata.keys) continue;
      const auto at = other.parse(key, metadata.shape.rank());
      if (!at || !objects.at(*at)) continue;
      if (++count == 1) {
        first = key;
        encoding = other;
      }
      return true;
    }
  }
  return false;
}

ZARRPOINT_INLINE error other_keys::what(const array_metadata& metadata, bool has_chunks) const {
  const dims zeros(metadata.shape.rank(), 0);
  const bool is_v2 = metadata.zarr_format == 2;
  std::string text = has_chunks ? "" : "it has no stored chunk under the keys of its metadata; ";
  text += std::to_string(count) + (count == 1 ? " object has" : " objects have") +
          " the keys of chunks in another form, such as " + in_quotes(first) + " where \"" +
          metadata.keys.key(encoding.parse(first, zeros.rank()).value_or(zeros)) +
          "\" is looked for: ";
  text += is_v2 ? "dimension_separator in .zarray" : "chunk_key_encoding in zarr.json";
  return {errc::unsupported, text + " is probably wrong"};
}

/// The objects of one leaf, one after another. The chunks of an object are read by slabs along its
/// first axis, and one by one where a slab fails, so that each failure has a name.
class leaf_verifier {
 public:
  leaf_verifier(const array& from, leaf_verification& leaf, verify_report& to,
                const verify_options& options)
      : from_(from),
        objects_(from),
        leaf_(leaf),
        to_(to),
        options_(options),
        inner_(from.layout().grid().inner_shape) {}

  /// Errors: `cancelled`.
  result<void> run() {
    const bool is_ours = from_.expected() != nullptr;
    if (!is_ours && from_.store().can_list()) {
      ZARRPOINT_CHECK(check_listed());
    } else if (!is_ours && objects_.size() > most_opened) {
      add({}, {},
          {errc::unsupported, "its store cannot list, and may hold " + object_count() +
                                  " objects, more than the " + std::to_string(most_opened) +
                                  " that are asked for one by one"});
    } else if (is_ours && objects_.size() > from_.expected()->objects().size()) {
      // Each would be missing: a document of few bytes must not cost a look at a million.
      add({}, {}, {errc::corrupt, "the commit names fewer objects than the array has"});
    } else {
      ZARRPOINT_CHECK(check_all());
    }
    if (others_.count != 0) add({}, {}, others_.what(from_.metadata(), leaf_.chunks != 0));
    if (leaf_.chunks == 0 && !objects_.empty() && leaf_.result == verdict::ok)
      add({}, {}, {errc::unsupported, "it has no stored chunk, so nothing could be checked"});
    return {};
  }

  /// Objects and inner chunks that are there, and are not those of the commit.
  std::uint64_t differing() const noexcept { return differing_; }

  /// A failure of the object `key`, or of all of the array.
  void add(const std::string& key, const std::optional<dims>& chunk, error what) {
    const bool is_fault = what.code == errc::corrupt || what.code == errc::out_of_range;
    leaf_.result = std::max(leaf_.result, is_fault ? verdict::faulty : verdict::not_verified);
    const auto full = from_.key().child(key);
    if (is_fault && full && from_.expected() != nullptr && !key.empty() && is_there(key, *full))
      ++differing_;
    if (++to_.failure_count > options_.max_failures) return;
    to_.failures.push_back({leaf_.name, from_.store().describe(full ? *full : from_.key()), key,
                            chunk, is_fault, std::move(what)});
  }

 private:
  /// What is read is not wanted any more.
  static bool ends_all(const error& failure) { return failure.code == errc::cancelled; }

  /// Reads ask too, but what is absent is not read.
  result<void> check_stop() const { return not_stopped(from_.default_context()); }

  std::string object_count() const {
    return objects_.size() == SIZE_MAX ? "2^64" : std::to_string(objects_.size());
  }

  /// Every object that the grid has.
  result<void> check_all() {
    dims at(from_.metadata().shape.rank(), 0);
    dims before;
    for (const box& part : objects_) {
      // Objects come in row-major order: where the offset moves on, the coordinate does.
      for (std::size_t d = 0; d < at.rank() && !before.empty(); ++d) {
        if (part.offset[d] != before[d]) at[d] = part.offset[d] == 0 ? 0 : at[d] + 1;
      }
      before = part.offset;
      key_ = from_.metadata().keys.key(at);
      ZARRPOINT_CHECK(check_stop());
      if (from_.expected() == nullptr) {  // absent chunks of others are the fill value
        const auto stored = is_stored(key_);
        if (!stored) add(key_, {}, stored.failure());
        if (!stored || !*stored) continue;
        ZARRPOINT_CHECK(check_stored(part));
        continue;
      }
      ZARRPOINT_CHECK(check_object(part));
    }
    return {};
  }

  /// Those that are stored: a grid may have more than anyone can count.
  result<void> check_listed() {
    auto keys = stored_keys();
    if (!keys && keys.failure().code == errc::cancelled) return std::move(keys).failure();
    if (!keys) {
      add({}, {}, std::move(keys).failure());
      return {};
    }
    for (std::string& key : *keys) {
      const std::optional<box> part = box_of(key);
      if (!part) continue;
      key_ = std::move(key);
      ZARRPOINT_CHECK(check_stop());
      ZARRPOINT_CHECK(check_stored(*part));
    }
    return {};
  }

  /// An object that was found. What is gone when it is read would be the fill value, in silence.
  result<void> check_stored(const box& object) {
    const leaf_verification before = leaf_;
    ZARRPOINT_CHECK(check_object(object));
    const auto stored = is_stored(key_);
    if (object_failed_ || (stored && *stored)) return {};
    leaf_.chunks = before.chunks;
    leaf_.bytes = before.bytes;
    add(key_, {},
        stored ? error{errc::corrupt, "it was removed while it was read"} : stored.failure());
    return {};
  }

  /// The part that is stored under a key; nothing for what is not a chunk.
  std::optional<box> box_of(const std::string& key) const {
    const auto at = from_.metadata().keys.parse(key, from_.metadata().shape.rank());
    return at ? objects_.at(*at) : std::nullopt;
  }

  /// The keys of its chunks, in the order of their coordinates.
  result<std::vector<std::string>> stored_keys() {
    std::vector<std::string> out;
    std::vector<std::pair<std::string, std::size_t>> open{{"", 0}};  // a folder, and its depth
    while (!open.empty()) {
      ZARRPOINT_CHECK(check_stop());
      const auto [folder, depth] = std::move(open.back());
      open.pop_back();
      ZARRPOINT_TRY(at, from_.key().child(folder));
      ZARRPOINT_TRY(children, from_.store().list(at));
      for (const list_entry& child : children) {
        std::string key = folder.empty() ? child.name : folder + '/' + child.name;
        // A link that leads to no file is listed as a prefix; to read it says what it is.
        if (box_of(key) && (!child.is_prefix || !is_stored(key).has_value())) {
          if (out.size() == most_listed)
            return error{errc::resource_limit,
                         "more than " + std::to_string(most_listed) + " objects are stored"};
          out.push_back(std::move(key));
        } else if (child.is_prefix && depth < from_.metadata().shape.rank()) {
          // No key has more than one segment for each axis, and that of its prefix.
          open.emplace_back(std::move(key), depth + 1);
        } else if (!child.is_prefix) {
          others_.add(from_.metadata(), objects_, key);
        }
      }
    }
    sort_by(out, [](std::string_view a, std::string_view b) { return numbers_less(a, b); });
    return out;
  }

  /// Of two keys of one array: numbers without leading zeros, between the same other characters.
  static bool numbers_less(std::string_view a, std::string_view b) {
    constexpr std::string_view digits = "0123456789";
    while (!a.empty() && !b.empty()) {
      const std::size_t first = std::min(a.find_first_not_of(digits), a.size());
      const std::size_t second = std::min(b.find_first_not_of(digits), b.size());
      if (first != second) return first < second;
      const std::size_t same = std::max<std::size_t>(first, 1);
      if (const int order = a.substr(0, same).compare(b.substr(0, same)); order != 0)
        return order < 0;
      a.remove_prefix(same);
      b.remove_prefix(same);
    }
    return a.size() < b.size();
  }

  result<void> check_object(const box& object) {
    shard_index_cache indexes;
    indexes_ = &indexes;
    object_failed_ = false;
    box part = object;
    const std::size_t rank = part.rank();
    const index_t step = rank == 0 ? 1 : slab_of(object);
    const index_t end = rank == 0 ? 1 : object.offset[0] + object.shape[0];
    for (index_t at = rank == 0 ? 0 : object.offset[0]; at < end && !object_failed_;) {
      if (rank != 0) {
        part.offset[0] = at;
        part.shape[0] = std::min(step, end - at);
      }
      ZARRPOINT_CHECK(check_part(object, part));
      at += rank == 0 ? 1 : part.shape[0];  // to the end and not beyond, where it may overflow
    }
    return {};
  }

  result<bool> is_stored(const std::string& key) const {
    ZARRPOINT_TRY(full, from_.key().child(key));
    ZARRPOINT_TRY(opened, from_.store().open(full));
    return opened != nullptr;
  }
  /// Asked once for an object, of which each inner chunk may be faulty.
  bool is_there(const std::string& key, const store_key& full) {
    if (asked_ != key) {
      const auto opened = from_.store().open(full);
      is_there_ = opened && *opened != nullptr;
      asked_ = key;
    }
    return is_there_;
  }

  std::uint64_t most_bytes() const {
    return std::min<std::uint64_t>(std::uint64_t{64} << 20,
                                   from_.default_context().limit.memory / 4);
  }

  /// How many rows of an object are read at a time: whole inner chunks.
  index_t slab_of(const box& object) const {
    dims row = object.shape;
    row[0] = 1;
    const auto bytes = byte_count(row, memory_size(from_.spec().type)).value_or(SIZE_MAX);
    const auto rows = most_bytes() / std::max<std::uint64_t>(bytes, 1);
    if (rows >= static_cast<std::uint64_t>(object.shape[0])) return object.shape[0];
    return std::max<index_t>(static_cast<index_t>(rows) / inner_[0], 1) * inner_[0];
  }

  result<void> check_part(const box& object, const box& part) {
    ZARRPOINT_CHECK(check_stop());
    const auto bytes = byte_count(part.shape, memory_size(from_.spec().type)).value_or(SIZE_MAX);
    const bool has_chunks = from_.layout().shard() != nullptr;
    if (has_chunks && bytes > most_bytes()) return check_chunks(object, part);
    auto read = read_part(part);
    if (read) {
      leaf_.chunks += has_chunks ? chunks_in(part) : 1;
      leaf_.bytes += bytes;
      return {};
    }
    if (ends_all(read.failure())) return read;
    if (has_chunks) return check_chunks(object, part);
    add(key_, {}, read.failure());
    object_failed_ = true;
    return {};
  }

  /// The number of inner chunks that a part of whole ones has.
  std::uint64_t chunks_in(const box& part) const {
    std::uint64_t out = 1;
    for (std::size_t d = 0; d < part.rank(); ++d)
      out *= static_cast<std::uint64_t>(ceil_div(part.shape[d], inner_[d]));
    return out;
  }

  result<void> check_chunks(const box& object, const box& part) {
    dims at = part.offset;
    while (true) {
      ZARRPOINT_CHECK(check_stop());
      box chunk{at, inner_};
      dims place = at;
      for (std::size_t d = 0; d < at.rank(); ++d) {
        chunk.shape[d] = std::min(inner_[d], part.offset[d] + part.shape[d] - at[d]);
        place[d] = (at[d] - object.offset[d]) / inner_[d];
      }
      auto read = read_part(chunk);
      if (read) {
        ++leaf_.chunks;
        leaf_.bytes += byte_count(chunk.shape, memory_size(from_.spec().type)).value_or(0);
      } else if (ends_all(read.failure())) {
        return read;
      } else if (read.failure().message.find(": inner chunk [") == std::string::npos) {
        add(key_, {}, read.failure());  // all of the object: its index, its size
        object_failed_ = true;
        return {};
      } else {
        add(key_, from_.layout().index_coordinates(place), read.failure());
      }
      std::size_t d = at.rank();
      while (d > 0 && (at[d - 1] += chunk.shape[d - 1]) >= part.offset[d - 1] + part.shape[d - 1]) {
        --d;
        at[d] = part.offset[d];
      }
      if (d == 0) return {};
    }
  }

  result<void> read_part(const box& part) {
    const tensor_spec spec{from_.spec().type, part.shape};
    ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
    const context& with = from_.default_context();
    if (bytes > with.limit.memory)
      return error{errc::resource_limit, to_string(spec) + " has " + std::to_string(bytes) +
                                             " bytes, more than limits::memory of " +
                                             std::to_string(with.limit.memory)};
    if (block_.spec() != spec) {
      block_ = {};
      ZARRPOINT_TRY(made, tensor::make(spec, with.scratch->resource()));
      block_ = std::move(made);
    }
    read_options how;
    how.missing = from_.expected() != nullptr ? missing_chunks::error : missing_chunks::fill;
    how.indexes = indexes_;
    return from_.read(part, block_.mutable_view(), how);
  }

  static constexpr std::size_t most_opened = 1 << 20;
  static constexpr std::size_t most_listed = 50'000'000;

  const array& from_;
  const chunk_boxes objects_;
  leaf_verification& leaf_;
  verify_report& to_;
  const verify_options& options_;
  const dims inner_;  ///< the shape of an inner chunk
  tensor block_;
  std::string key_;
  shard_index_cache* indexes_ = nullptr;
  bool object_failed_ = false;
  std::uint64_t differing_ = 0;
  other_keys others_;
  std::string asked_;      ///< the object whose presence was asked for last
  bool is_there_ = false;  ///< whether that is stored
};

ZARRPOINT_INLINE result<std::uint64_t> verify_leaf(const array& from, leaf_verification& leaf,
                                                   verify_report& to,
                                                   const verify_options& options) {
  leaf_verifier verifier(from, leaf, to, options);
  ZARRPOINT_CHECK(verifier.run());
  return verifier.differing();
}

}  // namespace detail

// ---------------------------------------------------------------------------------------- seal.hpp

namespace detail {

class checkpoint_sealer {
 public:
  checkpoint_sealer(const any_store& store, const context& how) : store_(store), how_(how) {}

  result<seal_report> run() {
    ZARRPOINT_TRY(contents, read_contents(store_, how_));
    if (!contents.is_ours())
      return error{errc::unsupported, "only a checkpoint that zarrpoint saved can be sealed"};
    ZARRPOINT_TRY(found, check_documents(store_, contents, how_));
    seal_report report{.id = contents.id, .accepted{}};
    std::set<std::string> accepted;
    for (document_finding& one : found) {
      // What could not be read is not accepted either.
      if (one.is_fault || one.what.code != errc::corrupt) return std::move(one.what).at(one.file);
      accepted.insert(std::move(one.node));
    }
    report.accepted.assign(accepted.begin(), accepted.end());
    report.is_written = !report.accepted.empty() || !contents.is_sealed;
    if (report.is_written) ZARRPOINT_CHECK(write(std::move(contents)));
    return report;
  }

 private:
  /// The attributes in the documents of a node; null for none.
  result<json> attributes_of(const std::string& of) const {
    ZARRPOINT_TRY(key, store_key::parse(of));
    ZARRPOINT_TRY(found, read_document(store_, key, is_v2_ ? ".zattrs" : "zarr.json", how_.limit));
    json attributes;
    if (found) attributes = is_v2_ ? *std::move(found) : take_member(*found, "attributes");
    const json::object* members = attributes.if_object();
    if (attributes.is_null() || (members != nullptr && members->empty())) return json();
    if (members == nullptr)
      return error{errc::corrupt, store_.describe(key) + ": its attributes are not an object"};
    return attributes;
  }

  result<bool> is_consolidated() const {
    ZARRPOINT_TRY(root, read_document(store_, store_key::root(),
                                      is_v2_ ? ".zmetadata" : "zarr.json", how_.limit));
    if (is_v2_ || !root) return root.has_value();
    const json* all = root->find("consolidated_metadata");
    return all != nullptr && all->if_object() != nullptr;
  }

  result<leaf_record> record_of(stored_leaf& leaf) const {
    ZARRPOINT_TRY(attributes, attributes_of(leaf.name));
    leaf_record out{std::move(leaf.name), std::move(leaf.typestr), leaf.document->content(),
                    std::move(leaf.objects), json()};
    if (is_v2_) {
      out.attributes = std::move(attributes);
    } else if (!attributes.is_null()) {
      out.metadata.set("attributes", std::move(attributes));
    } else if (json::object* members = out.metadata.if_object()) {
      std::erase_if(*members, [](const json::member& one) { return one.key == "attributes"; });
    }
    return out;
  }

  result<void> write(checkpoint_contents contents) {
    is_v2_ = contents.zarr_format == 2;
    commit_document commit{.id = std::move(contents.id), .leaves{}, .groups = contents.groups};
    for (stored_leaf& leaf : contents.leaves) {
      ZARRPOINT_TRY(record, record_of(leaf));
      commit.leaves.push_back(std::move(record));
    }
    std::vector<std::string_view> names;
    names.reserve(commit.leaves.size());
    for (const leaf_record& leaf : commit.leaves) names.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(names, commit.groups));
    for (const std::string& group : groups) {
      ZARRPOINT_TRY(attributes, attributes_of(group));
      if (!attributes.is_null()) commit.group_attributes.push_back({group, std::move(attributes)});
    }
    save_options options;
    options.zarr_format = contents.zarr_format;
    options.attributes = std::move(contents.attributes);
    ZARRPOINT_TRY(consolidated, is_consolidated());
    options.consolidated_metadata = consolidated;
    return put_root_document(store_, {commit, groups, options, how_.limit.metadata_bytes})
        .transform([](bool) {});
  }

  const any_store& store_;
  const context& how_;
  bool is_v2_ = false;
};

}  // namespace detail

ZARRPOINT_INLINE result<seal_report> seal(const location& where, const context& how) {
  return guarded([&]() -> result<seal_report> {
           ZARRPOINT_TRY(place, detail::location_access::to_write(where, true, how.stores));
           const any_store store =
               place.key.is_root() ? place.store : any_store(prefix_store(place.store, place.key));
           return detail::checkpoint_sealer(store, how).run();
         })
      .at("seal " + where.name());
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/resize_bodies.hpp>
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/checkpoint/verify/document_bodies.hpp>
#endif
