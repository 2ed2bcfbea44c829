// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/checkpoint/load/batch_request.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

/// The objects of one leaf, one after another; the chunks of an object by slabs along its first
/// axis, and one by one where a slab fails, so that each failure has a name.
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

}}}  // namespace zarrpoint::v0::detail
