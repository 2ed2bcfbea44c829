// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <array>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------------- array_state.hpp

ZARRPOINT_INLINE array_state::array_state(any_store in, store_key at,
                                          std::shared_ptr<const array_description> what)
    : store(std::move(in)), key(std::move(at)), described(std::move(what)) {}

ZARRPOINT_INLINE array_state::array_state(any_store in, store_key at, array_metadata of,
                                          array_layout by, context with)
    : array_state(std::move(in), std::move(at),
                  detail::make_counted<const array_description>(
                      array_description{std::move(of), std::move(by), std::move(with)})) {}

ZARRPOINT_INLINE std::string array_state::chunk_key(const dims& index) const {
  return only_key.empty() ? metadata.keys.key(index) : only_key;
}

ZARRPOINT_INLINE std::string array_state::inner_name(const dims& inner) const {
  return "inner chunk " + to_string(layout.index_coordinates(inner));
}

ZARRPOINT_INLINE dims array_state::valid_shape(const dims& first_element) const {
  dims out = layout.grid().inner_shape;
  for (std::size_t i = 0; i < out.rank(); ++i)
    out[i] = std::min(out[i], metadata.shape[i] - first_element[i]);
  return out;
}

ZARRPOINT_INLINE std::shared_ptr<scratch_pool> scratch_of(const context& how) {
  return how.scratch != nullptr ? how.scratch
                                : detail::make_counted<scratch_pool>(how.limit, resource_of(how));
}

ZARRPOINT_INLINE context of_one_worker(const context& how) {
  context out = how;
  out.executor = {};
  out.scratch = scratch_of(how);
  return out;
}

ZARRPOINT_INLINE std::uint32_t payload_digest(const codec_chain& chain, bytes_view stored) {
  constexpr std::size_t trailer = sizeof(std::uint32_t);
  if (!chain.ends_with_crc32c() || stored.size() < trailer) return crc32c(stored);
  return load_le<std::uint32_t>(stored.data() + (stored.size() - trailer));
}

ZARRPOINT_INLINE result<void> check_stored_size(const codec_chain& chain, std::uint64_t size) {
  const bool exact = chain.fixed_size();
  if (exact ? size == chain.encoded_bound() : size <= chain.stored_limit()) return {};
  return error{errc::corrupt,
               std::to_string(size) + " bytes are stored for a chunk of " +
                   to_string(chain.chunk_spec()) +
                   (exact ? ", which takes " : ", which takes at most ") +
                   std::to_string(exact ? chain.encoded_bound() : chain.stored_limit())};
}

ZARRPOINT_INLINE result<void> check_chunk_count(std::uint64_t count, const limits& limit) {
  if (count <= limit.max_chunks) return {};
  return error{errc::resource_limit, "the selection meets " + std::to_string(count) +
                                         " chunks, more than the limit of " +
                                         std::to_string(limit.max_chunks)};
}

ZARRPOINT_INLINE shard_indexes::~shard_indexes() { delete get(); }

ZARRPOINT_INLINE shard_index_cache& shard_indexes::make(std::size_t budget) {
  if (shard_index_cache* const found = get()) return *found;
  // More than the shards that may be open; of very many a new one would take long to be put in.
  auto made = std::make_unique<shard_index_cache>(shard_index_cache::share_of(budget), 4096);
  shard_index_cache* other = nullptr;
  if (!cache_.compare_exchange_strong(other, made.get(), std::memory_order_acq_rel)) return *other;
  return *made.release();
}

ZARRPOINT_INLINE std::shared_ptr<scratch_pool> spare_scratch::take() noexcept {
  if (busy_.test_and_set(std::memory_order_acquire)) return nullptr;
  std::shared_ptr<scratch_pool> out = std::move(left_);
  busy_.clear(std::memory_order_release);
  return out;
}

ZARRPOINT_INLINE void spare_scratch::leave(std::shared_ptr<scratch_pool> used) noexcept {
  // A small part of the budget, as of the indexes.
  const std::size_t part = std::min(most, used->budget().limit() / 32);
  used->drop_idle(part);
  if (used->budget().in_use() > part || busy_.test_and_set(std::memory_order_acquire)) return;
  left_.swap(used);
  busy_.clear(std::memory_order_release);
}

ZARRPOINT_INLINE array_scratch::array_scratch(spare_scratch* kept, const context& how, bool again)
    : pool_(how.scratch) {
  // A resource of the caller's may end before the array does.
  if (kept != nullptr && pool_ == nullptr && how.resource == nullptr) {
    pool_ = kept->take();
    if (again || pool_ != nullptr) kept_ = kept;
  }
  if (pool_ == nullptr) pool_ = make_counted<scratch_pool>(how.limit, resource_of(how));
}

ZARRPOINT_INLINE array_scratch::~array_scratch() {
  if (kept_ != nullptr) kept_->leave(std::move(pool_));
}

// ------------------------------------------------------------------------------- stored_object.hpp

ZARRPOINT_INLINE coalescing_blob::coalescing_blob(std::shared_ptr<const blob> base,
                                                  std::span<const byte_range> ranges,
                                                  memory_resource& from, std::size_t most)
    : base_(std::move(base)), resource_(from) {
  for (const byte_range& one : ranges) {
    if (!runs_.empty()) {
      run& last = *runs_.back();
      const std::uint64_t end = last.offset + last.size;
      const bool is_next = last.to != nullptr && one.offset == end && one.to == last.to + last.size;
      const bool is_enough = last.to != nullptr && !is_next && last.size >= usual_run;
      // What is read to its place takes no memory.
      const std::uint64_t room = is_next ? std::max(most, base_->request_bytes()) : most;
      if (one.offset <= end + max_gap && one.offset + one.size <= last.offset + room &&
          !is_enough) {
        last.size = std::max(end, one.offset + one.size) - last.offset;
        if (!is_next) last.to = nullptr;
        ++last.wanted;
        continue;
      }
    }
    runs_.push_back(std::make_unique<run>());
    runs_.back()->offset = one.offset;
    runs_.back()->size = one.size;
    runs_.back()->to = one.to;
    runs_.back()->wanted = 1;
  }
}

ZARRPOINT_INLINE result<void> coalescing_blob::read(std::uint64_t offset,
                                                    mutable_bytes into) const {
  if (run* const found = find(offset, into.size())) {
    std::unique_lock lock(found->mutex, std::defer_lock);
    while (!lock.try_lock()) {
      if (fetch_ahead(*found)) continue;
      lock.lock();
      break;
    }
    if (found->to != nullptr && into.data() == found->to + (offset - found->offset))
      return fetch(*found);
    // One alone goes straight to its place, and so does what is asked for a second time.
    if (found->to == nullptr && found->wanted > 1) ZARRPOINT_CHECK(fetch(*found));
    if (!found->memory.empty()) {
      std::copy_n(found->memory.data() + (offset - found->offset), into.size(), into.data());
      if (--found->wanted == 0) found->memory = {};
      return {};
    }
  }
  return base_->read(offset, into);
}

ZARRPOINT_INLINE result<void> coalescing_blob::fetch(run& of) const {
  of.is_begun = true;
  if (of.to != nullptr) {
    if (of.is_there) return {};
    ZARRPOINT_CHECK(base_->read(of.offset, {of.to, static_cast<std::size_t>(of.size)}));
    of.is_there = true;
  } else if (of.memory.empty()) {
    if (auto made = buffer::allocate(static_cast<std::size_t>(of.size), resource_)) {
      ZARRPOINT_CHECK(base_->read(of.offset, made->bytes()));
      of.memory = *std::move(made);
    }
  }
  return {};
}

ZARRPOINT_INLINE bool coalescing_blob::fetch_ahead(const run& of) const {
  constexpr std::size_t furthest = 64;
  auto at = std::upper_bound(
      runs_.begin(), runs_.end(), of.offset,
      [](std::uint64_t from, const std::unique_ptr<run>& one) { return from < one->offset; });
  for (std::size_t n = 0; at != runs_.end() && n < furthest; ++at, ++n) {
    run& ahead = **at;
    // What is kept in memory is read ahead by one run, what goes to its place by many.
    if (ahead.to == nullptr && n != 0) continue;
    const std::unique_lock lock(ahead.mutex, std::try_to_lock);
    if (!lock || ahead.is_begun || ahead.wanted < 2) continue;
    // Once: who wants it tries again, and is told.
    static_cast<void>(guarded([&] { return fetch(ahead); }));
    return true;
  }
  return false;
}

ZARRPOINT_INLINE coalescing_blob::run* coalescing_blob::find(std::uint64_t offset,
                                                             std::uint64_t bytes) const {
  auto after = std::upper_bound(
      runs_.begin(), runs_.end(), offset,
      [](std::uint64_t at, const std::unique_ptr<run>& one) { return at < one->offset; });
  if (after == runs_.begin()) return nullptr;
  run* const found = (--after)->get();
  return offset - found->offset + bytes <= found->size ? found : nullptr;
}

ZARRPOINT_INLINE result<void> check_expected(const array_state& of, const chunk_digests& digests,
                                             const std::string& key, const blob* object) {
  const auto refuse = [](std::string why) { return error{errc::corrupt, std::move(why)}; };
  const object_digest* expected = digests.find(key);
  if (expected == nullptr) return refuse("no checksum of it is known");
  if (expected->absent()) {
    if (object == nullptr) return {};
    return refuse("it exists, but it was not part of the save");
  }
  if (object == nullptr) return refuse("it is missing");
  if (object->size() != expected->size)
    return refuse("it has " + std::to_string(object->size()) + " bytes instead of the " +
                  std::to_string(expected->size) + " that were saved");
  if (expected->crc32c.size() != of.layout.inner_count())
    return refuse(std::to_string(expected->crc32c.size()) + " checksums are recorded for its " +
                  std::to_string(of.layout.inner_count()) + " inner chunks");
  return {};
}

ZARRPOINT_INLINE shard_entry stored_object::entry(std::size_t slot) const {
  return index == nullptr ? shard_entry{0, bytes->size()} : (*index)[slot];
}

ZARRPOINT_INLINE result<std::unique_ptr<stored_object>> stored_object::open(
    const array_state& of, const std::string& key, codec_workspace& scratch,
    const object_options& options) {
  using shard = shard_index_cache::shard;
  ZARRPOINT_TRY(full_key, of.key.child(key));
  const auto check = [&](const shard& found) -> result<void> {
    if (options.expected == nullptr) return {};
    return check_expected(of, *options.expected, key, found.bytes.get());
  };
  const auto open_it = [&]() -> result<shard> {
    ZARRPOINT_TRY(bytes, of.store.open(full_key));
    shard out{std::move(bytes)};
    if (out.bytes == nullptr || !of.sharded() || !check(out)) return out;
    const bool keep = options.keep && options.indexes == nullptr;
    ZARRPOINT_TRY(index, keep ? kept_index(of, full_key.str(), *out.bytes, scratch)
                              : read_index(*out.bytes, of.layout, scratch));
    out.index = std::move(index);
    return out;
  };
  const bool is_kept = of.sharded() && options.indexes != nullptr;
  ZARRPOINT_TRY(found, is_kept ? options.indexes->get(full_key.str(), open_it) : open_it());
  ZARRPOINT_CHECK(check(found));
  if (found.bytes == nullptr) return std::unique_ptr<stored_object>();
  if (of.sharded() &&
      found.index == nullptr) {  // refused by the reader that opened it, whose digests differ
    ZARRPOINT_TRY(index, read_index(*found.bytes, of.layout, scratch));
    found.index = std::move(index);
  }
  auto out = std::make_unique<stored_object>();
  out->bytes = std::move(found.bytes);
  out->index = std::move(found.index);
  return out;
}

ZARRPOINT_INLINE result<std::shared_ptr<const shard_index>> stored_object::kept_index(
    const array_state& of, std::string_view key, const blob& bytes, codec_workspace& scratch) {
  shard_indexes& kept = of.outer != nullptr ? of.outer->indexes : of.indexes;
  // Before the index is read: what is written from now on has another version.
  ZARRPOINT_TRY(version, version_of(bytes, *of.layout.shard()));
  if (!version) return read_index(bytes, of.layout, scratch);
  if (shard_index_cache* const cache = kept.get()) {
    if (auto found = cache->find(key, *version)) return found;
  }
  ZARRPOINT_TRY(index, read_index(bytes, of.layout, scratch));
  kept.make(of.how.limit.memory).keep(key, *version, *index);
  return index;
}

ZARRPOINT_INLINE result<std::optional<shard_index_cache::index_version>> stored_object::version_of(
    const blob& bytes, const shard_parts& shard) {
  using index_version = shard_index_cache::index_version;
  const std::optional<blob_version> object = bytes.version();
  if (!object || bytes.size() < shard.index_size) return std::optional<index_version>();
  index_version out{*object};
  // The time of a file is that of the beginning of a `write`, which may take seconds, or of the
  // first change of a mapping. So a file that is being rewritten in place may have its last time
  // already and the old index still. The checksum behind the index tells, too, for one small read.
  if (bytes.descriptor() >= 0) {
    std::array<std::byte, sizeof out.checksum> stored{};
    if (!shard.index_chain.ends_with_crc32c()) return std::optional<index_version>();
    const std::uint64_t end = shard.index_offset(bytes.size()) + shard.index_size;
    ZARRPOINT_CHECK(bytes.read(end - stored.size(), stored));
    out.checksum = load_le<std::uint32_t>(stored.data());
  }
  return std::optional(out);
}

ZARRPOINT_INLINE result<std::shared_ptr<const shard_index>> stored_object::read_index(
    const blob& bytes, const array_layout& layout, codec_workspace& scratch) {
  const shard_parts& shard = *layout.shard();
  const std::uint64_t size = bytes.size();
  if (size < shard.index_size) return too_short_for_index(size, shard.index_size);
  ZARRPOINT_TRY(stored, scratch.scratch(stored_slot, shard.index_size));
  ZARRPOINT_CHECK(bytes.read(shard.index_offset(size), stored));
  ZARRPOINT_TRY(index, decode_index(shard, stored, size, scratch));
  return detail::make_counted<const shard_index>(std::move(index));
}

// ------------------------------------------------------------------------------ read_operation.hpp

ZARRPOINT_INLINE read_operation::read_operation(const array_state& of, const context& how,
                                                const mutable_host_view& into,
                                                const read_options& options)
    : of_(of),
      how_(how),
      into_(into),
      options_(options),
      pool_(scratch_of_part(of, how, into.shape)),
      chunk_spec_(of.layout.chain().chunk_spec()) {}

ZARRPOINT_INLINE result<void> read_operation::run(const selection& part, progress_meter& meter) {
  meter_ = &meter;
  grid_ = of_.layout.grid();
  if (can_read_slabs(part)) grid_.inner_shape = slab_shape(chunk_spec_);
  ZARRPOINT_TRY(plan, box_plan::make(grid_, part));
  plan_ = plan;
  if (!reads_slabs()) ZARRPOINT_CHECK(check_chunk_count(plan_.size(), how_.limit));
  if (of_.sharded() && of_.layout.shard()->is_nested()) ZARRPOINT_CHECK(plan_within());
  ZARRPOINT_TRY(bytes, byte_count(into_.shape, memory_size(into_.type)));
  // A worker fills two huge pages in a row: two workers that first touch the same one each clear a
  // page, and one of these is wasted. Of items that give little each, 64 are work enough.
  const std::size_t in_two = 2 * huge_page * plan_.size() / std::max<std::size_t>(bytes, 1);
  memory_bound_for items(how_.executor, plan_.size(),
                         {.max_workers = bytes < parallel_threshold ? 1U : open_only(),
                          .stop = how_.stop,
                          .grain = std::min<std::size_t>(in_two, 64)});
  ZARRPOINT_CHECK(items.run([this](std::size_t i) { return read_item(i); },
                            [this](std::size_t refused) { return begin_again(refused); }));
  hand_on_text();
  return {};
}

ZARRPOINT_INLINE void read_operation::hand_on_text() noexcept {
  own_.text.move_to(options_.made != nullptr ? *options_.made : account_->text);
}

ZARRPOINT_INLINE std::size_t read_operation::begin_again(std::size_t refused) {
  objects_.clear();
  pool_->drop_idle();
  if (chunk_spec_.type.is_variable()) {
    own_.text.clear();  // which item made how much of it is not known
    refused = 0;
  }
  return begun_at_ = refused;
}

ZARRPOINT_INLINE result<void> read_operation::read_item(std::size_t i) {
  const plan_item item = plan_.at(i);
  const std::string key = of_.chunk_key(item.object);
  const std::size_t bytes = item_bytes(item);
  const phase_scope placed(meter_->observer(), phase::place, of_.key.str(), bytes);
  result<void> done = read_item_of(item, key);
  if (!done && of_.is_within) return done;  // the outer inner chunk names it
  if (!done) return std::move(done).at("chunk " + key);
  meter_->add(of_.key.str(), bytes);
  return {};
}

ZARRPOINT_INLINE std::size_t read_operation::item_bytes(const plan_item& item) const {
  std::size_t bytes = memory_size(chunk_spec_.type);
  for (const index_t extent : item.within.shape) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

ZARRPOINT_INLINE result<void> read_operation::read_item_of(const plan_item& item,
                                                           const std::string& key) {
  scratch_pool::lease scratch = pool_->borrow(&own_.text);
  if (item.object_items == 1) {
    ZARRPOINT_TRY(alone, open_object(key, *scratch));
    return read_inner(item, alone, scratch);
  }
  ZARRPOINT_TRY(shared, shared_object(item, key, *scratch));
  ZARRPOINT_CHECK(read_inner(item, *shared, scratch));
  objects_.finish(item);
  return {};
}

ZARRPOINT_INLINE result<std::shared_ptr<const read_operation::opened>>
read_operation::shared_object(const plan_item& item, const std::string& key,
                              codec_workspace& scratch) {
  return objects_.get(item, [&]() -> result<std::shared_ptr<const opened>> {
    ZARRPOINT_TRY(made, open_object(key, scratch));
    if (made.object != nullptr) made.requests = coalesce(item, *made.object);
    return detail::make_counted<const opened>(std::move(made));
  });
}

ZARRPOINT_INLINE unsigned read_operation::open_only() {
  if (plan_.size() < 2 || plan_.at(0).object_items != plan_.size()) return 0;
  const plan_item first = plan_.at(0);
  const scratch_pool::lease scratch = pool_->borrow(&own_.text);
  const auto only = shared_object(first, of_.chunk_key(first.object), *scratch);
  // The first item tells what failed.
  if (!only || (*only)->requests == 0) return 0;
  const std::size_t useful = std::max<std::size_t>((*only)->requests, hardware_concurrency());
  return static_cast<unsigned>(std::min<std::size_t>(useful, UINT_MAX));
}

ZARRPOINT_INLINE result<read_operation::opened> read_operation::open_object(
    const std::string& key, codec_workspace& scratch) {
  opened out;
  // What is read whole is hardly read again.
  const bool keep = into_.shape != of_.metadata.shape;
  ZARRPOINT_TRY(
      object, stored_object::open(of_, key, scratch, {options_.expected, options_.indexes, keep}));
  out.object = std::move(object);
  if (out.object == nullptr) account_->missing.fetch_add(1, std::memory_order_relaxed);
  if (options_.expected != nullptr) out.expected = options_.expected->find(key);
  return out;
}

ZARRPOINT_INLINE std::size_t read_operation::coalesce(const plan_item& item,
                                                      stored_object& shard) const {
  if (shard.index == nullptr) return 0;
  // A run is kept while other inner chunks wait for memory: a small budget has none for that.
  constexpr std::size_t usual = coalescing_blob::usual_run;
  if (pool_->budget().limit() / 64 < usual) return 0;
  const std::size_t wanted = std::min(shard.bytes->request_bytes(), pool_->limiter().limit() / 64);
  const std::size_t most = std::max(wanted, usual);
  std::vector<byte_range> ranges;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < item.object_items; ++i) {
    if (item.object_first + i < begun_at_) continue;  // it is there, and was compared
    const plan_item one = plan_.at(item.object_first + i);
    const shard_entry entry = shard.entry(of_.layout.slot(one.inner));
    if (entry.absent()) continue;
    // Out of order, what was read for one may wait for long for the others that it was read for.
    if (!ranges.empty() && entry.offset < ranges.back().offset) return 0;
    bytes += entry.size;
    const auto target = of_.layout.chain().direct_target(subview(into_, one.destination()));
    const bool is_direct = target && target->size() == entry.size;
    ranges.push_back({entry.offset, entry.size, is_direct ? target->data() : nullptr});
  }
  const std::size_t small = most > usual ? most / 2 : usual / 16;
  if (ranges.size() < 2 || bytes / ranges.size() > small) return 0;
  auto joined = detail::make_counted<coalescing_blob>(shard.bytes, ranges, pool_->resource(), most);
  const std::size_t requests = shard.bytes->request_bytes() == 0 ? 0 : joined->runs();
  shard.bytes = std::move(joined);
  return requests;
}

ZARRPOINT_INLINE result<void> read_operation::plan_within() {
  array_metadata metadata;
  metadata.type = of_.metadata.type;
  metadata.fill = of_.metadata.fill;
  metadata.shape = metadata.chunk_shape = chunk_spec_.shape;
  metadata.codecs = of_.layout.shard()->codecs;
  ZARRPOINT_TRY(layout, array_layout::resolve(metadata, how_.codecs, how_.limit));
  if (layout.shard() == nullptr) return {};  // codecs around it: only whole ones can be decoded
  within_ = detail::make_owned<const within, within>(std::move(metadata), std::move(layout));
  alone_.emplace(of_one_worker(how_));
  alone_->scratch = pool_.pool();
  return {};
}

ZARRPOINT_INLINE result<void> read_operation::fetch_within(const source& from) {
  array_state inner{window_store(from.bytes, from.entry), of_.key, within_->metadata,
                    within_->layout, *alone_};
  inner.is_within = true;
  read_options options = options_;
  options.expected = nullptr;
  options.indexes = nullptr;               // they are of the shard that this is within
  options.missing = missing_chunks::fill;  // as when the whole of it is decoded
  progress_meter silent(nullptr, "read", 0);
  read_operation operation(inner, *alone_, from.to, options);
  return operation.run(from.item.within, silent);
}

ZARRPOINT_INLINE bool read_operation::can_read_slabs(const selection& part) const {
  const bool compared = options_.expected != nullptr && options_.checksums;
  return !of_.sharded() && of_.layout.chain().is_raw() && !compared &&
         std::all_of(part.step.begin(), part.step.end(), [](index_t n) { return n == 1; });
}

ZARRPOINT_INLINE dims read_operation::slab_shape(const tensor_spec& chunk) {
  constexpr index_t target = index_t{2} << 20;
  dims out = chunk.shape;
  index_t row = static_cast<index_t>(byte_count(chunk).value_or(0));
  for (std::size_t d = 0; d < out.rank() && row > target; ++d) {
    row /= chunk.shape[d];
    out[d] = std::clamp<index_t>(target / row, 1, chunk.shape[d]);
  }
  return out;
}

ZARRPOINT_INLINE result<void> read_operation::read_inner(const plan_item& item, const opened& from,
                                                         scratch_pool::lease& scratch) {
  result<void> done = read_entry(item, from, scratch);
  if (!done && of_.sharded()) return std::move(done).at(of_.inner_name(item.inner));
  return done;
}

ZARRPOINT_INLINE result<void> read_operation::read_entry(const plan_item& item, const opened& from,
                                                         scratch_pool::lease& scratch) {
  const mutable_host_view to = subview(into_, item.destination());
  ZARRPOINT_TRY(found, check_entry(item, from));
  if (found.entry.absent()) return place_fill(to, *scratch);
  return fetch({item, to, *from.object->bytes, found.entry, found.digest}, scratch);
}

ZARRPOINT_INLINE result<read_operation::checked> read_operation::check_entry(
    const plan_item& item, const opened& from) const {
  const std::size_t slot = reads_slabs() ? 0 : of_.layout.slot(item.inner);
  checked out{from.object != nullptr ? from.object->entry(slot) : shard_entry{}, nullptr};
  if (from.expected != nullptr) {
    const std::uint32_t* digest = nullptr;
    if (!from.expected->absent()) {
      const std::optional<std::uint32_t>& known = from.expected->crc32c[slot];
      if (known) digest = &*known;
    }
    if ((digest != nullptr) == out.entry.absent())
      return error{errc::corrupt, out.entry.absent()
                                      ? "it is missing"
                                      : "it exists, but it was not part of the save"};
    if (options_.checksums) out.digest = digest;
  } else if (out.entry.absent() && options_.missing == missing_chunks::error) {
    return error{errc::not_found, "it is not stored"};
  }
  if (!out.entry.absent()) ZARRPOINT_CHECK(check_stored_size(of_.layout.chain(), out.entry.size));
  return out;
}

ZARRPOINT_INLINE result<void> read_operation::fill() {
  {
    const scratch_pool::lease scratch = pool_->borrow(&own_.text);
    ZARRPOINT_CHECK(place_fill(into_, *scratch));
  }
  hand_on_text();
  return {};
}

ZARRPOINT_INLINE result<void> read_operation::place_fill(const mutable_host_view& to,
                                                         codec_workspace& scratch) const {
  if (to.type == chunk_spec_.type) return fill_within_budget(to, of_.fill(), scratch);
  return cast_elements(to,
                       {of_.fill().data(), chunk_spec_.type, to.shape, dims(to.rank(), 0), {}, {}});
}

ZARRPOINT_INLINE result<void> read_operation::fetch(const source& from,
                                                    scratch_pool::lease& scratch) {
  const codec_chain& chain = of_.layout.chain();
  if (within_ != nullptr && !from.digest && from.item.within.shape != chunk_spec_.shape)
    return fetch_within(from);
  if (from.to.type != chunk_spec_.type) return decode(from, scratch);
  if (chain.is_raw() && !from.digest) return fetch_raw(from, scratch);
  if (const auto target = chain.direct_target(from.to)) {
    ZARRPOINT_CHECK(read_stored(from, *target));
    return verify(*target, from.digest);
  }
  return decode(from, scratch);
}

ZARRPOINT_INLINE result<void> read_operation::read_stored(const source& from,
                                                          mutable_bytes into) const {
  const phase_scope reads = at(phase::read, into.size());
  return from.bytes.read(from.entry.offset, into);
}

ZARRPOINT_INLINE result<void> read_operation::fetch_raw(source from, scratch_pool::lease& scratch) {
  dims shape = chunk_spec_.shape;
  if (reads_slabs()) {
    const dims strides = row_major_strides(shape, chunk_spec_.type.size());
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      const index_t start = from.item.first_element[d] % shape[d];
      from.entry.offset += static_cast<std::uint64_t>(start * strides[d]);
      shape[d] = std::min(grid_.inner_shape[d], shape[d] - start);
    }
  }
  const tensor_spec spec{chunk_spec_.type, shape};
  ZARRPOINT_TRY(size, byte_count(spec));
  if (const auto rows = raw_rows::of(from.item.within, shape, from.to);
      rows && is_worthwhile(*rows, size, from.bytes))
    return fetch_rows(from, *rows);
  ZARRPOINT_TRY(in_flight, pool_->limiter().acquire(size, how_.stop));
  scratch.hold(std::move(in_flight));
  ZARRPOINT_TRY(stored, scratch->scratch(stored_slot, size));
  ZARRPOINT_CHECK(read_stored(from, stored));
  return place(as_const(dense_view(stored.data(), spec)), from);
}

ZARRPOINT_INLINE result<void> read_operation::decode(const source& from,
                                                     scratch_pool::lease& scratch) {
  const codec_chain& chain = of_.layout.chain();
  const bool whole = from.to.spec() == chunk_spec_;
  std::size_t cost = from.entry.size;
  if (!whole || !chain.decodes_into(from.to)) {
    ZARRPOINT_TRY(bytes, byte_count(chunk_spec_.shape, memory_size(chunk_spec_.type)));
    ZARRPOINT_TRY(sum, checked_add(cost, bytes));
    cost = sum;
  }
  ZARRPOINT_TRY(in_flight, pool_->limiter().acquire(cost, how_.stop));
  scratch.hold(std::move(in_flight));
  ZARRPOINT_TRY(stored, scratch->scratch(stored_slot, from.entry.size));
  ZARRPOINT_CHECK(read_stored(from, stored));
  ZARRPOINT_CHECK(verify(stored, from.digest));
  const phase_scope decodes = at(phase::decode, stored.size());
  if (whole) return chain.decode(stored, from.to, *scratch);
  ZARRPOINT_TRY(decoded, scratch_tensor::make(chunk_spec_, *scratch, decoded_slot));
  ZARRPOINT_CHECK(chain.decode(stored, decoded.view(), *scratch));
  return place(as_const(decoded.view()), from);
}

ZARRPOINT_INLINE result<void> read_operation::place(const host_view& decoded, const source& from) {
  const host_view part = subview(decoded, from.item.within);
  if (part.type != from.to.type) return cast_elements(from.to, part);
  copy_elements(from.to, part);
  return {};
}

ZARRPOINT_INLINE bool read_operation::is_worthwhile(const raw_rows& rows, std::size_t of_bytes,
                                                    const blob& in) {
  constexpr std::size_t long_run = 4096;
  const std::size_t count = rows.count();
  if (rows.run_bytes >= long_run || count == 1) return true;
  if (in.descriptor() < 0) return false;  // each run may be a request
  // One call reads many runs that lie side by side; of the bytes between runs that are far apart
  // most are not wanted.
  const std::size_t step = of_bytes / count;
  return step >= (step == rows.run_bytes ? long_run / 4 : 2 * long_run);
}

ZARRPOINT_INLINE result<void> read_operation::fetch_rows(const source& from,
                                                         const raw_rows& rows) const {
  std::array<read_request, 64> batch;
  std::size_t used = 0;
  result<void> status;
  const auto flush = [&] {
    const phase_scope reads = at(phase::read, used * rows.run_bytes);
    status = from.bytes.read(std::span<const read_request>(batch.data(), used));
    used = 0;
    return status.has_value();
  };
  const bool complete = rows.for_each([&](std::uint64_t stored, index_t memory) {
    batch[used++] = {from.entry.offset + stored,
                     mutable_bytes(from.to.data + memory, rows.run_bytes)};
    return used < batch.size() || flush();
  });
  if (complete && used != 0) flush();
  return status;
}

ZARRPOINT_INLINE result<void> read_operation::verify(bytes_view stored,
                                                     const std::uint32_t* digest) const {
  if (digest == nullptr) return {};
  const phase_scope verifies = at(phase::verify, stored.size());
  if (payload_digest(of_.layout.chain(), stored) == *digest) return {};
  return error{errc::corrupt, "its " + std::to_string(stored.size()) +
                                  " stored bytes do not match their checksum"};
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/shard/bodies.hpp>
#endif
