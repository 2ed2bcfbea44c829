// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/object_table.hpp>
#include <zarrpoint/array/write/chunk_encoder.hpp>
#include <zarrpoint/array/write/shard_writer.hpp>
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/array/write/write_operation.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/memory_bound_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE write_operation::write_operation(const array_state& of, const context& how,
                                                  const host_view& from,
                                                  const write_options& options)
    : write_operation(of, how, from.spec(), options) {
  from_ = &from;
}

ZARRPOINT_INLINE write_operation::write_operation(const array_state& of, const context& how,
                                                  element_source& source,
                                                  const write_options& options)
    : write_operation(of, how, source.spec(), options) {
  source_ = &source;
}

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
  if (source_ != nullptr) reader_.emplace(*source_, of_, plan_);
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
  return detail::make_counted<shard_writer>(of_, full_key, std::move(before), options_.alignment);
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
  std::size_t bytes = memory_size(of_.metadata.type);
  for (const index_t extent : item.within.shape) bytes *= static_cast<std::size_t>(extent);
  if (bytes != 0) meter_->add(of_.key.str(), bytes);
  return {};
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
  if (claimed == nullptr) {
    const host_view from = subview(*from_, item.destination());
    ZARRPOINT_TRY(chunk, encoder_.encode(item, from, before));
    chunk.bytes_stay = chunk.bytes.data() == from.data;
    return std::move(chunk);
  }
  ZARRPOINT_TRY(from, reader_->elements(*claimed, item, pool_->resource()));
  ZARRPOINT_TRY(chunk, encoder_.encode(item, from.view, before));
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
