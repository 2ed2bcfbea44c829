// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/write/chunk_encoder.hpp>
#include <zarrpoint/array/write/shard_writer.hpp>
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/array/write/write_operation.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- chunk_encoder.hpp

ZARRPOINT_INLINE std::size_t chunk_encoder::cost(const plan_item& item) const {
  const std::size_t decoded = byte_count(spec_.shape, memory_size(spec_.type)).value_or(0);
  const bool in_place = !is_cast() && is_whole(item) && item.within.shape == spec_.shape;
  const std::uint64_t encoded = chain().encoded_bound();
  if (in_place && chain().is_raw()) return 0;
  return (in_place ? 0 : decoded) + (encoded == UINT64_MAX ? decoded : std::size_t{encoded});
}

ZARRPOINT_INLINE result<encoded_chunk> chunk_encoder::encode(const plan_item& item,
                                                             const host_view& from,
                                                             const stored_object* before) const {
  encoded_chunk out;
  out.slot = of_.layout.slot(item.inner);
  out.scratch = pool_.borrow();
  const shard_entry stored = before != nullptr ? before->entry(out.slot) : shard_entry{};
  if (box::whole(item.within.shape).empty()) {
    if (stored.absent()) return out;
    ZARRPOINT_TRY(bytes, load(*before->bytes, stored, *out.scratch));
    return done(std::move(out), bytes);
  }
  const bool whole = is_whole(item);
  if (whole && !is_cast()) {
    if (options_.elide_fill && all_equal(from, of_.fill())) return out;
    if (from.shape == spec_.shape) {
      ZARRPOINT_TRY(bytes, chain().encode(from, *out.scratch));
      return done(std::move(out), bytes);
    }
  }
  ZARRPOINT_TRY(chunk, scratch_tensor::make(spec_, *out.scratch, decoded_slot));
  if (whole || stored.absent()) {
    ZARRPOINT_CHECK(fill_within_budget(chunk.view(), of_.fill(), *out.scratch));
  } else {
    ZARRPOINT_TRY(bytes, load(*before->bytes, stored, *out.scratch));
    ZARRPOINT_CHECK(chain().decode(bytes, chunk.view(), *out.scratch));
  }
  const mutable_host_view part = subview(chunk.view(), item.within);
  if (is_cast()) {
    ZARRPOINT_CHECK(cast_elements(part, from));
  } else {
    copy_elements(part, from);
  }
  if ((!whole || is_cast()) && options_.elide_fill) {
    const dims valid = of_.valid_shape(item.first_element);
    const auto inside = subview(chunk.view(), box::whole(valid));
    if (all_equal(as_const(inside), of_.fill())) return out;
  }
  ZARRPOINT_TRY(bytes, chain().encode(as_const(chunk.view()), *out.scratch));
  return done(std::move(out), bytes);
}

ZARRPOINT_INLINE encoded_chunk chunk_encoder::encoded(const plan_item& item,
                                                      bytes_view bytes) const {
  encoded_chunk out;
  out.slot = of_.layout.slot(item.inner);
  out.scratch = pool_.borrow();
  return bytes.empty() ? std::move(out) : done(std::move(out), bytes);
}

ZARRPOINT_INLINE bool chunk_encoder::is_whole(const plan_item& item) const {
  if (item.within.shape != of_.valid_shape(item.first_element)) return false;
  for (std::size_t d = 0; d < item.within.rank(); ++d) {
    if (item.within.shape[d] > 1 && item.within.step[d] != 1) return false;
  }
  return true;
}

ZARRPOINT_INLINE result<bytes_view> chunk_encoder::load(const blob& from, const shard_entry& entry,
                                                        codec_workspace& scratch) const {
  ZARRPOINT_CHECK(check_stored_size(chain(), entry.size));
  ZARRPOINT_TRY(bytes, scratch.scratch(stored_slot, entry.size));
  ZARRPOINT_CHECK(from.read(entry.offset, bytes));
  return bytes_view(bytes);
}

ZARRPOINT_INLINE encoded_chunk chunk_encoder::done(encoded_chunk out, bytes_view bytes) const {
  out.absent = false;
  out.bytes = bytes;
  if (options_.collected != nullptr) out.digest = payload_digest(chain(), bytes);
  return out;
}

// -------------------------------------------------------------------------------- shard_writer.hpp

ZARRPOINT_INLINE shard_writer::shard_writer(const array_state& of, store_key key,
                                            std::unique_ptr<stored_object> before,
                                            std::uint32_t alignment)
    : of_(of),
      shard_(*of.layout.shard()),
      key_(std::move(key)),
      before_(std::move(before)),
      alignment_(alignment) {}

ZARRPOINT_INLINE result<void> shard_writer::begin(std::size_t items, bool dense,
                                                  scratch_pool& pool) {
  unwritten_ = items;
  if (of_.layout.chain().is_raw()) alignment_ = 1;  // those form one array
  ZARRPOINT_TRY(index, shard_index::make(of_.layout.inner_count(), pool.resource()));
  index_ = std::move(index);
  digest_.crc32c.resize(index_.size());
  // Nothing but the first inner chunk after an index at the start needs a gap: uncompressed
  // ones then form one array that begins at a multiple of 64.
  if (shard_.location == index_location::start) {
    ZARRPOINT_TRY(first, checked_round_up(shard_.index_size, std::uint64_t{64}));
    end_ = first;
  }
  const codec_chain& chain = of_.layout.chain();
  if (dense && chain.fixed_size()) expected_ = items * chain.encoded_bound() + shard_.index_size;
  return {};
}

ZARRPOINT_INLINE std::uint64_t shard_writer::most_of(std::uint64_t chunks) const {
  const std::uint64_t bound = of_.layout.chain().encoded_bound();
  if (bound > most_added || chunks > most_added / (bound + alignment_)) return UINT64_MAX;
  return chunks * (bound + alignment_) + shard_.index_size;
}

ZARRPOINT_INLINE result<bool> shard_writer::can_extend() {
  if (before_ == nullptr || shard_.location != index_location::end || most_of(1) > most_added)
    return false;
  ZARRPOINT_TRY(begun, of_.store.extend(key_, *before_->bytes));
  extension_ = std::move(begun);
  return extension_ != nullptr;
}

ZARRPOINT_INLINE void shard_writer::extend(const shard_change& by, scratch_pool& pool) {
  std::unique_ptr<blob_extension> begun = std::move(extension_);
  constexpr std::uint64_t block = blob_extension::block;
  const std::uint64_t size = before_->bytes->size();
  const std::uint64_t most = most_of(by.touched_chunks);
  // A shard that is replaced costs a copy of what stays, one that is extended holds what is old.
  // And where memory is short, it is for the inner chunks.
  if (size - by.untouched_bytes > by.untouched_bytes || most > most_added ||
      most > pool.budget().limit() / 4)
    return;
  room_ = pool.borrow();
  const std::size_t room = (most + block - 1) / block * block;
  const auto memory = room_->scratch(stored_slot, room + block);
  if (!memory) return;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory->data()) % block;
  added_ = memory->subspan(past == 0 ? 0 : block - past, room);
  added_at_ = (size + block - 1) / block * block;
  end_ = added_at_;
  const bytes_view old = before_->index->words();
  std::copy(old.begin(), old.end(), index_.words().begin());
  extension_ = std::move(begun);
}

ZARRPOINT_INLINE bool shard_writer::wait_until_near(std::size_t position, std::size_t window) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return position > failed_at_ || position < next_ + window; });
  return position < failed_at_;
}

ZARRPOINT_INLINE void shard_writer::fail(std::size_t position) {
  std::map<std::size_t, encoded_chunk> dropped;
  {
    const std::lock_guard lock(mutex_);
    failed_at_ = std::min(failed_at_, position);
    while (!parked_.empty() && parked_.rbegin()->first > failed_at_)
      dropped.insert(parked_.extract(std::prev(parked_.end())));
  }
  moved_.notify_all();
}

ZARRPOINT_INLINE result<bool> shard_writer::place(std::size_t position, encoded_chunk chunk) {
  std::vector<placed> ready;
  {
    const std::lock_guard lock(mutex_);
    if (position > failed_at_) return error{errc::cancelled, "another inner chunk failed"};
    parked_.emplace(position, std::move(chunk));
    while (!parked_.empty() && parked_.begin()->first == next_) {
      ZARRPOINT_TRY(one, assign(std::move(parked_.extract(parked_.begin()).mapped())));
      ready.push_back(std::move(one));
      ++next_;
    }
  }
  if (ready.empty()) return false;
  moved_.notify_all();
  for (placed& one : ready) {
    if (!one.chunk.absent) {
      const phase_scope writes(observer_, phase::write, of_.key.str(),
                               one.gap + one.chunk.bytes.size());
      ZARRPOINT_CHECK(write_at(one));
    }
    one.chunk = {};  // its scratch memory is free for others
  }
  const std::lock_guard lock(mutex_);
  unwritten_ -= ready.size();
  return unwritten_ == 0;
}

ZARRPOINT_INLINE result<object_digest> shard_writer::finish(scratch_pool& pool) {
  if (writer_ == nullptr && extension_ == nullptr) {
    ZARRPOINT_CHECK(of_.store.erase(key_));
    return object_digest{};
  }
  const scratch_pool::lease scratch = pool.borrow();
  const host_view words =
      dense_view(std::as_const(index_).words().data(), shard_.index_chain.chunk_spec());
  ZARRPOINT_TRY(stored, shard_.index_chain.encode(words, *scratch).at("shard index"));
  const phase_scope writes(observer_, phase::write, of_.key.str(), stored.size());
  const bool at_end = shard_.location == index_location::end;
  if (extension_ != nullptr) {
    ZARRPOINT_TRY(end, checked_round_up(end_ + shard_.index_size, blob_extension::block));
    clear_gap(end_, end - shard_.index_size);
    ZARRPOINT_CHECK(add_at(end - shard_.index_size, stored));
    ZARRPOINT_CHECK(extension_->finish(added_.first(end - added_at_)));
    return object_digest{};
  }
  ZARRPOINT_CHECK(writer_->write(at_end ? end_ : 0, stored));
  ZARRPOINT_CHECK(writer_->finish());
  digest_.size = at_end ? end_ + shard_.index_size : end_;
  return std::move(digest_);
}

ZARRPOINT_INLINE result<shard_writer::placed> shard_writer::assign(encoded_chunk chunk) {
  if (chunk.absent) {
    index_.set(chunk.slot, {});
    return placed{std::move(chunk), 0, 0};
  }
  if (writer_ == nullptr && extension_ == nullptr) {
    ZARRPOINT_TRY(created, of_.store.create(key_));
    writer_ = std::move(created);
    if (expected_ != 0) ZARRPOINT_CHECK(writer_->reserve(expected_));
  }
  ZARRPOINT_TRY(place, shard_place(end_, chunk.bytes.size(), alignment_));
  clear_gap(end_, place);
  const auto gap = static_cast<std::size_t>(place - end_);
  index_.set(chunk.slot, {place, chunk.bytes.size()});
  digest_.crc32c[chunk.slot] = chunk.digest;
  end_ = place + chunk.bytes.size();
  return placed{std::move(chunk), place, gap};
}

ZARRPOINT_INLINE result<void> shard_writer::write_at(const placed& one) {
  if (extension_ != nullptr) return add_at(one.offset, one.chunk.bytes);
  return one.chunk.bytes_stay ? writer_->write_kept(one.offset, one.gap, one.chunk.bytes)
                              : writer_->write_once(one.offset, one.gap, one.chunk.bytes);
}

ZARRPOINT_INLINE result<void> shard_writer::add_at(std::uint64_t offset, bytes_view bytes) {
  const std::uint64_t at = offset - added_at_;
  if (at > added_.size() || bytes.size() > added_.size() - at)
    return error{errc::invalid_argument, "an encoded inner chunk is larger than its codecs said"};
  std::copy(bytes.begin(), bytes.end(), added_.data() + at);
  return {};
}

ZARRPOINT_INLINE void shard_writer::clear_gap(std::uint64_t begin, std::uint64_t end) noexcept {
  if (extension_ == nullptr || end - added_at_ > added_.size()) return;
  std::fill_n(added_.data() + (begin - added_at_), end - begin, std::byte{0});
}

// ------------------------------------------------------------------------------- source_reader.hpp

ZARRPOINT_INLINE result<std::shared_ptr<source_part>> read_ahead::take(const item_run& run) {
  std::unique_lock lock(mutex_);
  while (next_ <= run.first) {
    if (beginning_) {
      moved_.wait(lock);
    } else {
      begin_next(lock, true);
    }
  }
  for (std::size_t i = 0; i < ahead_ && next_ < count_ && !beginning_; ++i) {
    if (parts_begun_ahead(run) >= ahead_ || !begin_next(lock, false)) break;
  }
  return *entries_.at(run.first).begun;
}

ZARRPOINT_INLINE std::size_t read_ahead::parts_begun_ahead(const item_run& run) const {
  return static_cast<std::size_t>(
      std::distance(entries_.upper_bound(run.first), entries_.lower_bound(next_)));
}

ZARRPOINT_INLINE read_ahead::entry& read_ahead::entry_of(const item_run& run) {
  const auto [at, is_new] = entries_.try_emplace(run.first);
  if (is_new) at->second.left = run.count;
  return at->second;
}

ZARRPOINT_INLINE bool read_ahead::begin_next(std::unique_lock<std::mutex>& lock, bool wait) {
  const item_run run = parts_.run_of(next_);
  ZARRPOINT_ASSERT(run.first == next_);
  if (is_lost(run)) {
    next_ += run.count;
    return true;
  }
  if (entry_of(run).left == 0) {  // its items were given up
    entries_.erase(run.first);
    next_ += run.count;
    return true;
  }
  beginning_ = true;
  lock.unlock();
  result<std::shared_ptr<source_part>> begun =
      guarded([&]() -> result<std::shared_ptr<source_part>> {
        ZARRPOINT_TRY(made, parts_.begin(run, wait));
        return std::shared_ptr<source_part>(std::move(made));
      });
  lock.lock();
  beginning_ = false;
  moved_.notify_all();
  if (begun && *begun == nullptr) return false;
  next_ += run.count;
  entry& mine = entry_of(run);
  if (mine.left == 0) {
    entries_.erase(run.first);
    lock.unlock();  // to drop a part may take a wait
    if (begun) begun->reset();
    lock.lock();
  } else {
    mine.begun.emplace(std::move(begun));
  }
  return true;
}

ZARRPOINT_INLINE bool read_ahead::claim(const item_run& run) {
  const std::lock_guard lock(mutex_);
  if (is_lost(run)) return false;
  const auto made = guarded([&]() -> result<void> { return entry_of(run), result<void>(); });
  if (!made) lost_ = run.first;
  return made.has_value();
}

ZARRPOINT_INLINE void read_ahead::done(const item_run& run) {
  std::map<std::size_t, entry>::node_type dropped;  // after the lock: it may wait
  const std::lock_guard lock(mutex_);
  if (--entry_of(run).left == 0 && run.first < next_) dropped = entries_.extract(run.first);
}

ZARRPOINT_INLINE source_box::source_box(element_source& whole, const box& part)
    : whole_(whole), part_(part), spec_{whole.spec().type, part.shape} {}

ZARRPOINT_INLINE box source_box::in_whole(box part) const {
  for (std::size_t d = 0; d < part.rank(); ++d) part.offset[d] += part_.offset[d];
  return part;
}

ZARRPOINT_INLINE bool item_elements::holds(bytes_view bytes) const noexcept {
  const std::less<> before;
  return kept != nullptr && !before(bytes.data(), memory.data()) &&
         before(bytes.data(), memory.data() + memory.size());
}

ZARRPOINT_INLINE source_reader::source_reader(element_source& from, const array_state& of,
                                              const box_plan& plan, const write_options& options)
    : from_(from), of_(of), plan_(plan), ahead_(*this, plan.size(), parts_ahead) {
  const chunk_grid& grid = of.layout.grid();
  const dims& shape = from.spec().shape;
  chunk_bytes_ = memory_size(from.spec().type);
  for (std::size_t d = 0; d < shape.rank(); ++d)
    chunk_bytes_ *= static_cast<std::size_t>(std::min(grid.inner_shape[d], shape[d]));
  const std::size_t part = from.part_bytes();
  alone_ = chunk_bytes_ > part;
  // What is small is cut into a few parts, too: some are encoded while others are copied. What is
  // smaller than that is not: many of those are written at a time, and each part holds a slot.
  const std::size_t all = byte_count(from.spec()).value_or(0);
  run_bytes_ = std::min(part, std::max(all / (parts_ahead + 2), least_run));
  encodes_ =
      options.device_encode && from.spec().type == of.metadata.type && of.metadata.edges.empty();
  if (options.elide_fill) elided_ = of.fill();
}

ZARRPOINT_INLINE result<void> source_reader::wait_for_room(const read_ahead::item& claimed,
                                                           const plan_item& item) {
  if (alone_ || item.destination().empty()) return {};
  ZARRPOINT_CHECK(claimed.part());
  return {};
}

ZARRPOINT_INLINE result<item_elements> source_reader::elements(const read_ahead::item& claimed,
                                                               const plan_item& item,
                                                               memory_resource& resource) {
  const box part = item.destination();
  if (part.empty())
    return item_elements{{nullptr, from_.spec().type, part.shape, part.shape, {}, {}}};
  if (alone_) {
    ZARRPOINT_TRY(read, from_.read(part, resource));
    const auto kept = detail::make_counted<const buffer>(std::move(read.memory));
    return item_elements{read.view, kept, kept->bytes()};
  }
  ZARRPOINT_TRY(run, claimed.part());
  ZARRPOINT_TRY(elements, run->wait());
  if (const auto stored = encodes_ ? run->stored(claimed.number()) : std::nullopt; stored) {
    item_elements out{{nullptr, from_.spec().type, part.shape, part.shape, {}, {}}, std::move(run)};
    out.stored = stored;
    return out;
  }
  box within = part;
  const dims first = plan_.at(claimed.run().first).at;
  for (std::size_t d = 0; d < part.rank(); ++d) within.offset[d] -= first[d];
  const bytes_view memory = run->memory();
  return item_elements{subview(elements, within), std::move(run), memory};
}

ZARRPOINT_INLINE item_run source_reader::run_of(std::size_t i) const {
  if (alone_) return {i, 1};
  const bool sharded = of_.sharded();
  const dims counts = plan_.counts_at(i, !sharded);
  const std::size_t begin = sharded ? plan_.at(i).object_first : 0;
  const std::size_t position = i - begin;
  // All along the last axes, as many as fit along the next one, one along those before.
  std::size_t inside = 1;
  std::size_t bytes = std::max<std::size_t>(chunk_bytes_, 1);
  for (std::size_t d = counts.rank(); d-- > 0;) {
    const auto count = static_cast<std::size_t>(counts[d]);
    const std::size_t room = std::max<std::size_t>(run_bytes_ / bytes, 1);
    if (count > room) {
      const std::size_t row = position - position % (inside * count);
      const std::size_t first = row + (position - row) / (inside * room) * (inside * room);
      return {begin + first, std::min(inside * room, row + inside * count - first)};
    }
    inside *= count;
    bytes *= count;
  }
  return {begin, inside};
}

ZARRPOINT_INLINE result<std::unique_ptr<source_part>> source_reader::begin(const item_run& run,
                                                                           bool wait) {
  const plan_item first = plan_.at(run.first);
  const plan_item last = plan_.at(run.first + run.count - 1);
  box part{first.at, last.at};
  for (std::size_t d = 0; d < part.rank(); ++d) part.shape[d] += last.within.shape[d] - first.at[d];
  if (!encodes_) return from_.begin(part, wait);
  chunk_request asked{part, whole_chunks(run), &of_.metadata.codecs, elided_};
  if (asked.chunks.empty()) return from_.begin(part, wait);
  if (of_.sharded()) asked.codecs = &of_.layout.shard()->codecs;
  return from_.begin_stored(asked, wait);
}

ZARRPOINT_INLINE std::vector<box> source_reader::whole_chunks(const item_run& run) const {
  std::vector<box> out;
  for (std::size_t i = 0; i < run.count; ++i) {
    const plan_item item = plan_.at(run.first + i);
    if (item.within.shape != of_.layout.grid().inner_shape) return {};
    out.push_back(item.destination());
  }
  return out;
}

// ----------------------------------------------------------------------------- write_operation.hpp

ZARRPOINT_INLINE result<void> write_operation::run(const selection& part, progress_meter& meter) {
  part_ = part;
  meter_ = &meter;
  ZARRPOINT_TRY(plan, box_plan::make(of_.layout.grid(), part, plan_scope::whole_objects));
  ZARRPOINT_CHECK(check_chunk_count(plan.size(), how_.limit));
  // The digests of what is not read again are not known.
  if (of_.sharded() && options_.extend && options_.collected == nullptr && plan.size() != 0) {
    ZARRPOINT_TRY(touched, box_plan::make(of_.layout.grid(), part, plan_scope::touched));
    const bool is_one = touched.at(0).object_items == touched.size();
    if (!is_one && touched.size() <= plan.size() / 2) return write_each_object();
    if (is_one) {
      ZARRPOINT_TRY(begun, begin_one(touched, plan.size()));
      one_ = std::move(begun);
    }
    if (one_ != nullptr && one_->extends()) {
      plan_ = touched;
      result<void> done = write_all();
      // What it takes beside the inner chunks may be too much where to replace the shard is not.
      if (done || done.failure().code != errc::resource_limit || reader_) return done;
      one_.reset();
      shards_.clear();
      pool_->drop_idle();
    }
  }
  plan_ = plan;
  return write_all();
}

ZARRPOINT_INLINE result<void> write_operation::write_all() {
  if (source_ != nullptr) reader_.emplace(*source_, of_, plan_, options_);
  ZARRPOINT_TRY(bytes, byte_count(part_.shape, memory_size(encoder_.source_type())));
  memory_bound_for items(how_.executor, plan_.size(),
                         {.max_workers = bytes < parallel_threshold ? 1U : 0U, .stop = how_.stop});
  // Enough that a slow inner chunk does not hold up the workers, few enough to bound the memory
  // of those that wait for their place.
  window_ = 4 * std::size_t{items.workers()};
  return items.run([this](std::size_t i) { return write(i); },
                   [this](std::size_t refused) { return begin_again(refused); });
}

ZARRPOINT_INLINE std::optional<std::size_t> write_operation::begin_again(std::size_t refused) {
  if (reader_) return std::nullopt;  // a source gives its elements once
  if (one_ != nullptr && one_->extends()) return std::nullopt;
  one_.reset();
  shards_.clear();
  pool_->drop_idle();
  return of_.sharded() ? plan_.at(refused).object_first : refused;
}

ZARRPOINT_INLINE write_operation::write_operation(const array_state& of, const context& how,
                                                  const tensor_spec& from,
                                                  const write_options& options)
    : of_(of),
      how_(how),
      options_(options),
      pool_(scratch_of_part(of, how, from.shape)),
      encoder_(of, from.type, options, *pool_) {}

ZARRPOINT_INLINE result<void> write_operation::write_each_object() {
  chunk_grid grid = of_.layout.grid();
  grid.inner_shape = grid.object_shape;
  ZARRPOINT_TRY(objects, box_plan::make(grid, part_));
  ZARRPOINT_TRY(bytes, byte_count(part_.shape, memory_size(encoder_.source_type())));
  context how = how_;
  how.scratch = pool_.pool();
  // Of a source one part after another: those who wait for room in it must not hold any.
  const bool alone = source_ != nullptr || bytes < parallel_threshold;
  memory_bound_for items(how_.executor, objects.size(),
                         {.max_workers = alone ? 1U : 0U, .stop = how_.stop});
  return items.run(
      [&](std::size_t i) {
        const plan_item item = objects.at(i);
        selection part = item.within;
        for (std::size_t d = 0; d < part.rank(); ++d) part.offset[d] += item.first_element[d];
        if (source_ != nullptr) {
          source_box from(*source_, item.destination());
          return write_operation(of_, how, from, options_).run(part, *meter_);
        }
        const host_view from = subview(*from_, item.destination());
        return write_operation(of_, how, from, options_).run(part, *meter_);
      },
      [&](std::size_t refused) -> std::optional<std::size_t> {
        if (source_ != nullptr) return std::nullopt;
        pool_->drop_idle();
        return refused;
      });
}

ZARRPOINT_INLINE result<std::shared_ptr<shard_writer>> write_operation::begin_one(
    const box_plan& touched, std::size_t all) {
  const plan_item first = touched.at(0);
  const std::string key = of_.chunk_key(first.object);
  const auto begin = [&]() -> result<std::shared_ptr<shard_writer>> {
    ZARRPOINT_TRY(made, make_writer(first, key));
    ZARRPOINT_TRY(can_extend, made->can_extend());
    if (can_extend) {
      const shard_index& index = *made->before()->index;
      shard_change change{touched.size(), index.stored_bytes()};
      for (std::size_t i = 0; i < touched.size(); ++i) {
        const shard_entry stored = index[of_.layout.slot(touched.at(i).inner)];
        if (!stored.absent()) change.untouched_bytes -= stored.size;
      }
      ZARRPOINT_CHECK(made->begin(touched.size(), false, *pool_));
      made->extend(change, *pool_);
    }
    if (!made->extends()) ZARRPOINT_CHECK(made->begin(all, !options_.elide_fill, *pool_));
    return made;
  };
  result<std::shared_ptr<shard_writer>> done = begin();
  if (done) return done;
  // To begin again may take less memory.
  if (done.failure().code == errc::resource_limit) return std::shared_ptr<shard_writer>();
  return std::move(done).at("chunk " + key);
}

ZARRPOINT_INLINE result<std::shared_ptr<shard_writer>> write_operation::make_writer(
    const plan_item& item, const std::string& key) {
  ZARRPOINT_TRY(full_key, of_.key.child(key));
  ZARRPOINT_TRY(before, open_before(item, key));
  auto out =
      detail::make_counted<shard_writer>(of_, full_key, std::move(before), options_.alignment);
  out->tell(how_.observer);
  return out;
}

ZARRPOINT_INLINE result<void> write_operation::write(std::size_t i) {
  if (!reader_) return write(i, nullptr);
  const read_ahead::item claimed = reader_->claim(i);
  return write(i, &claimed);
}

ZARRPOINT_INLINE result<void> write_operation::write(std::size_t i,
                                                     const read_ahead::item* claimed) {
  const plan_item item = plan_.at(i);
  result<void> done = of_.sharded() ? write_in_shard(i, item, claimed) : write_chunk(item, claimed);
  if (!done) return std::move(done).at("chunk " + of_.chunk_key(item.object));
  if (const std::size_t bytes = bytes_of(item); bytes != 0) meter_->add(of_.key.str(), bytes);
  return {};
}

ZARRPOINT_INLINE std::size_t write_operation::bytes_of(const plan_item& item) const {
  std::size_t bytes = memory_size(of_.metadata.type);
  for (const index_t extent : item.within.shape) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

ZARRPOINT_INLINE bool write_operation::covers(const plan_item& item) const {
  const chunk_grid& grid = of_.layout.grid();
  for (std::size_t d = 0; d < item.object.rank(); ++d) {
    const index_t start = item.object[d] * grid.object_shape[d];
    const index_t extent = std::min(grid.object_shape[d], grid.shape[d] - start);
    if (extent != 1 && part_.step[d] != 1) return false;
    if (part_.offset[d] > start || part_.offset[d] + part_.shape[d] - start < extent) return false;
  }
  return true;
}

ZARRPOINT_INLINE result<std::unique_ptr<stored_object>> write_operation::open_before(
    const plan_item& item, const std::string& key) {
  if (covers(item)) return std::unique_ptr<stored_object>();
  const scratch_pool::lease scratch = pool_->borrow();
  return stored_object::open(of_, key, *scratch);
}

ZARRPOINT_INLINE std::size_t write_operation::cost(const plan_item& item) const {
  return encoder_.cost(item) + (reader_ ? reader_->cost() : 0);
}

ZARRPOINT_INLINE result<encoded_chunk> write_operation::encode(const plan_item& item,
                                                               const read_ahead::item* claimed,
                                                               const stored_object* before) {
  const auto encode_it = [&](const host_view& from) {
    const phase_scope encodes(how_.observer, phase::encode, of_.key.str(), bytes_of(item));
    return encoder_.encode(item, from, before);
  };
  if (claimed == nullptr) {
    const host_view from = subview(*from_, item.destination());
    ZARRPOINT_TRY(chunk, encode_it(from));
    chunk.bytes_stay = chunk.bytes.data() == from.data;
    return std::move(chunk);
  }
  const auto stage_it = [&] {
    const phase_scope stages(how_.observer, phase::stage, of_.key.str(), bytes_of(item));
    return reader_->elements(*claimed, item, pool_->resource());
  };
  ZARRPOINT_TRY(from, stage_it());
  if (from.stored) {
    encoded_chunk out = encoder_.encoded(item, *from.stored);
    if (!out.absent) out.kept = std::move(from.kept);
    return out;
  }
  ZARRPOINT_TRY(chunk, encode_it(from.view));
  if (from.holds(chunk.bytes)) chunk.kept = std::move(from.kept);
  return std::move(chunk);
}

ZARRPOINT_INLINE result<void> write_operation::write_chunk(const plan_item& item,
                                                           const read_ahead::item* claimed) {
  const std::string key = of_.chunk_key(item.object);
  ZARRPOINT_TRY(before, open_before(item, key));
  ZARRPOINT_TRY(full_key, of_.key.child(key));
  if (claimed != nullptr) ZARRPOINT_CHECK(reader_->wait_for_room(*claimed, item));
  // An object is one inner chunk. It is always its turn, so it need not wait for memory.
  ZARRPOINT_TRY(reserved, pool_->limiter().acquire(cost(item), how_.stop));
  static_cast<void>(reserved);
  ZARRPOINT_TRY(chunk, encode(item, claimed, before.get()));
  object_digest digest;
  if (chunk.absent) {
    ZARRPOINT_CHECK(of_.store.erase(full_key));
  } else {
    const phase_scope writes(how_.observer, phase::write, of_.key.str(), chunk.bytes.size());
    ZARRPOINT_CHECK(of_.store.put(full_key, chunk.bytes));
    digest.size = chunk.bytes.size();
    digest.crc32c.push_back(chunk.digest);
  }
  collect(key, std::move(digest));
  return {};
}

ZARRPOINT_INLINE result<void> write_operation::write_in_shard(std::size_t i, const plan_item& item,
                                                              const read_ahead::item* claimed) {
  // It allocates nothing before it has its shard: those behind it wait there for its place, or for
  // its failure.
  const auto begin = [&]() -> result<std::shared_ptr<shard_writer>> {
    if (one_ != nullptr) return one_;
    ZARRPOINT_TRY(made, make_writer(item, of_.chunk_key(item.object)));
    ZARRPOINT_CHECK(made->begin(item.object_items, !options_.elide_fill, *pool_));
    return made;
  };
  ZARRPOINT_TRY(shard, shards_.get(item, begin));
  const std::size_t position = i - item.object_first;
  result<bool> done = guarded([&] { return write_inner(*shard, position, item, claimed); });
  if (!done) {
    shard->fail(position);  // or those behind it would wait for ever
    return std::move(done).failure();
  }
  shards_.finish(item);
  if (!*done) return {};
  ZARRPOINT_TRY(digest, shard->finish(*pool_));
  collect(of_.chunk_key(item.object), std::move(digest));
  return {};
}

ZARRPOINT_INLINE result<bool> write_operation::write_inner(shard_writer& shard,
                                                           std::size_t position,
                                                           const plan_item& item,
                                                           const read_ahead::item* claimed) {
  if (!shard.wait_until_near(position, window_))
    return error{errc::cancelled, "another inner chunk failed"};
  // Those before it have room already (see `read_ahead`), and never wait for memory.
  if (claimed != nullptr) ZARRPOINT_CHECK(reader_->wait_for_room(*claimed, item));
  const std::size_t bytes = cost(item);
  std::optional<byte_limiter::reservation> reserved(std::in_place);
  if (bytes != 0) reserved = pool_->limiter().try_acquire(bytes);
  // Waiting for memory could mean waiting for inner chunks that wait for this one. So it waits for
  // its turn, when nothing waits for it but itself, and goes on without.
  if (!reserved && !shard.wait_until_near(position, 1))
    return error{errc::cancelled, "another inner chunk failed"};
  result<encoded_chunk> chunk = encode(item, claimed, shard.before());
  if (!chunk) return std::move(chunk).at(of_.inner_name(item.inner)).failure();
  if (reserved) chunk->scratch.hold(std::move(*reserved));
  // It may wait there for its place: what encoded it is then missing elsewhere.
  if (pool_->budget().limit() != SIZE_MAX) chunk->scratch.keep_only(chunk->bytes);
  return shard.place(position, *std::move(chunk));
}

ZARRPOINT_INLINE void write_operation::collect(const std::string& key, object_digest digest) {
  if (options_.collected == nullptr) return;
  const std::lock_guard lock(collecting_);
  options_.collected->set(key, std::move(digest));
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/read/bodies.hpp>
#endif
