// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/lock_soon.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_builder.hpp>
#include <zarrpoint/store/zip/zip_file.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>
#include <zarrpoint/store/zip/zip_members.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include <algorithm>
#include <iterator>
#include <thread>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ----------------------------------------------------------------------------------- zip_batch.hpp

ZARRPOINT_INLINE void zip_batch::run::make_room(std::size_t wanted) {
  if (wanted <= size) return;
  std::byte* const made = new std::byte[wanted];
  delete[] bytes;
  bytes = made;
  size = wanted;
}

ZARRPOINT_INLINE zip_batch::place::place(run& of, std::size_t begin, std::size_t size)
    : of_(&of), bytes_(of.bytes + begin, size), fills_(of.is_full()) {
  of.filling.fetch_add(1, std::memory_order_relaxed);
}

ZARRPOINT_INLINE zip_batch::place zip_batch::claim(std::uint64_t offset, std::size_t size) {
  const std::lock_guard lock(mutex_);
  run& into = waiting();
  if (into.used != 0 && into.is_full()) return place::none_of_full();
  if (into.used != 0 && (into.end() != offset || size > into.size - into.used)) return {};
  // Others may write to it; only one of which nothing is used gets longer.
  if (into.used == 0) {
    into.make_room(std::max(size, run_bytes));
    into.begin = offset;
  }
  into.used += size;
  return place(into, into.used - size, size);
}

ZARRPOINT_INLINE result<void> zip_batch::flush() {
  const std::lock_guard writing(writing_);
  return write_out(true);
}

ZARRPOINT_INLINE result<void> zip_batch::flush_if_full() {
  const std::lock_guard writing(writing_);
  {
    const std::lock_guard lock(mutex_);
    if (leaving().used == 0 && !waiting().is_full()) return {};
  }
  return write_out(false);
}

ZARRPOINT_INLINE result<void> zip_batch::write_out(bool all) {
  // What an earlier flush failed to write goes before what was added since.
  bool is_old = leaving().used != 0;
  do {
    run& out = is_old ? leaving() : waiting();
    {
      const place rest = is_old ? place() : change_runs(all);
      // Each is copied by a thread that waits for nobody.
      while (out.filling.load(std::memory_order_acquire) != 0) std::this_thread::yield();
      if (rest) std::memcpy(rest.bytes().data(), out.bytes + out.used, rest.bytes().size());
    }
    if (out.used != 0) ZARRPOINT_CHECK(to_.write(out.begin, {out.bytes, out.used}));
    const std::lock_guard lock(mutex_);
    out.used = 0;
  } while (std::exchange(is_old, false));
  return {};
}

ZARRPOINT_INLINE zip_batch::place zip_batch::change_runs(bool all) {
  const std::lock_guard lock(mutex_);
  run& from = waiting();
  run& to = leaving();
  if (!all && from.is_full()) {
    to.make_room(run_bytes);
    to.begin = from.end() / full_bytes * full_bytes;
    to.used = static_cast<std::size_t>(from.end() - to.begin);
    from.used -= to.used;
  }
  waiting_ = 1 - waiting_;
  return to.used != 0 ? place(to, 0, to.used) : place();
}

ZARRPOINT_INLINE result<void> zip_batch::settle(std::uint64_t offset, std::uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t end = offset + size;
    if (!waiting().meets(offset, end) && !leaving().meets(offset, end)) return {};
  }
  return flush();
}

// --------------------------------------------------------------------------------- zip_members.hpp

ZARRPOINT_INLINE std::size_t zip_members::hash_of(std::string_view name) const noexcept {
  // FNV-1a from a place in memory on, which no file knows, and what is high brought down.
  std::uint64_t hash = 0xcbf29ce484222325 ^ reinterpret_cast<std::uintptr_t>(this);
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

ZARRPOINT_INLINE std::size_t zip_members::slot_of(std::string_view name, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return at;
    const entry& one = entries_[slots_[at] - 1];
    if (one.hash == hash && one.name == name) return at;
  }
}

ZARRPOINT_INLINE const zip_members::entry* zip_members::entry_of(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const std::size_t place = slots_[slot_of(name, hash_of(name))];
  return place == 0 ? nullptr : &entries_[place - 1];
}

ZARRPOINT_INLINE zip_members::pointer zip_members::find(std::string_view name) const {
  const entry* const found = entry_of(name);
  return found != nullptr ? found->member : nullptr;
}

ZARRPOINT_INLINE zip_members::pointer zip_members::put(key name, pointer member) {
  make_room();
  std::size_t& slot = slots_[slot_of(name.name, name.hash)];
  if (slot != 0) {
    entries_[slot - 1].member.swap(member);
    return member;
  }
  entries_.push_back({std::move(name.name), name.hash, std::move(member)});
  slot = entries_.size();
  return nullptr;
}

ZARRPOINT_INLINE bool zip_members::erase(std::string_view name) {
  const entry* const found = entry_of(name);
  if (found == nullptr || found->member == nullptr) return false;
  entries_[static_cast<std::size_t>(found - entries_.data())].member.reset();
  return true;
}

ZARRPOINT_INLINE void zip_members::make_room() {
  if (entries_.size() == entries_.capacity())
    entries_.reserve(std::max<std::size_t>(2 * entries_.size(), 32));
  if (2 * (entries_.size() + 1) <= slots_.size()) return;
  std::vector<std::size_t> wider(std::max<std::size_t>(4 * slots_.size(), 64));
  slots_.swap(wider);
  std::size_t place = 0;
  for (const entry& one : entries_) slots_[slot_of(one.name, one.hash)] = ++place;
}

ZARRPOINT_INLINE void zip_members::put_in_order() const {
  const std::size_t count = entries_.size();
  if (count - order_.size() > few) {
    std::vector<named_place> all;
    all.reserve(count);
    for (std::size_t place = 0; place < count; ++place)
      all.push_back({entries_[place].name, place});
    sort_texts(all);
    std::vector<std::size_t> sorted(count);
    for (std::size_t i = 0; i < count; ++i) sorted[i] = all[i].place;
    order_.swap(sorted);
  }
  // A few find their place one by one: a list after each `put` need not sort all again.
  while (order_.size() < count) {
    const std::size_t place = order_.size();
    const std::size_t to = place_of(entries_[place].name);
    order_.push_back(place);
    for (std::size_t at = place; at > to; --at) order_[at] = order_[at - 1];
    order_[to] = place;
  }
}

ZARRPOINT_INLINE std::size_t zip_members::place_of(std::string_view name) const {
  std::size_t begin = 0, end = order_.size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (entries_[order_[middle]].name < name) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

ZARRPOINT_INLINE const zip_members::entry& zip_members::nth(std::size_t place) const {
  put_in_order();
  return entries_[order_[place]];
}

ZARRPOINT_INLINE const zip_members::entry* zip_members::at_least(std::string_view name) const {
  put_in_order();
  std::size_t at = place_of(name);
  while (at < order_.size() && entries_[order_[at]].member == nullptr) ++at;
  return at == order_.size() ? nullptr : &entries_[order_[at]];
}

ZARRPOINT_INLINE zip_extent zip_space::allocate(std::uint64_t header, std::uint64_t capacity,
                                                std::uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const zip_extent found = place(gap->first, header, capacity, alignment);
    if (found.end > gap->second) continue;
    const std::uint64_t gap_end = gap->second;
    gaps_.erase(gap);
    if (found.end != gap_end) gaps_.emplace(found.end, gap_end);
    return found;
  }
  const zip_extent found = place(tail_, header, capacity, alignment);
  tail_ = found.end;
  return found;
}

ZARRPOINT_INLINE bool zip_space::resize(zip_extent& extent, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  if (extent.end == tail_) {
    tail_ = end;
  } else if (end > extent.end) {
    return false;
  } else if (end < extent.end) {
    add_gap(end, extent.end);
  }
  extent.end = end;
  return true;
}

// Called by destructors: without the memory to note it, the room stays empty.
ZARRPOINT_INLINE void zip_space::give_back(const zip_extent& extent) noexcept {
  if (closed_.load(std::memory_order_relaxed)) return;
  static_cast<void>(guarded([&]() -> result<void> {
    const std::lock_guard lock(mutex_);
    add_gap(extent.header, extent.end);
    return {};
  }));
}

ZARRPOINT_INLINE std::uint64_t zip_space::tail() const {
  const std::lock_guard lock(mutex_);
  return tail_;
}

ZARRPOINT_INLINE zip_extent zip_space::place(std::uint64_t from, std::uint64_t header,
                                             std::uint64_t capacity, std::uint64_t alignment) {
  const std::uint64_t data = (from + header + alignment - 1) / alignment * alignment;
  return {from, data, data + capacity};
}

ZARRPOINT_INLINE void zip_space::add_gap(std::uint64_t begin, std::uint64_t end) {
  const auto next = gaps_.lower_bound(begin);
  if (next != gaps_.end() && next->first == end) {
    end = next->second;
    gaps_.erase(next);
  }
  const auto after = gaps_.lower_bound(begin);
  if (after != gaps_.begin() && std::prev(after)->second == begin) {
    begin = std::prev(after)->first;
    gaps_.erase(begin);
  }
  if (end == tail_) {
    tail_ = begin;
  } else {
    gaps_.emplace(begin, end);
  }
}

// --------------------------------------------------------------------------------- zip_builder.hpp

ZARRPOINT_INLINE zip_extent zip_builder::room_for(const store_key& key, std::uint64_t capacity) {
  const std::uint64_t header = zip_local_size + key.str().size() + zip_least_extra;
  return space_.allocate(header, capacity, capacity >= paged_bytes ? page : least_alignment);
}

ZARRPOINT_INLINE std::shared_ptr<zip_builder::member> zip_builder::allocate(
    const store_key& key, std::uint64_t capacity) {
  auto made = make_counted<member>(space_);
  made->extent = room_for(key, capacity);
  return made;
}

ZARRPOINT_INLINE result<void> zip_builder::reserve(const zip_extent& extent) {
  const std::lock_guard lock(reserving_);
  if (extent.end <= reserved_) return {};
  ZARRPOINT_CHECK(to_->reserve(extent.end));
  reserved_ = extent.end;
  return {};
}

ZARRPOINT_INLINE result<void> zip_builder::add(const store_key& key, bytes_view bytes) {
  struct writing {
    zip_builder& to;
    ~writing() { to.writer_closed(); }
  };
  writer_opened();  // before it is asked whether the archive is finished: `finish` asks for this
                    // after
  const writing counted{*this};
  return bytes.size() < paged_bytes ? add_small(key, bytes) : add_large(key, bytes);
}

ZARRPOINT_INLINE result<void> zip_builder::refuse_late() const {
  if (finished_) return error{errc::invalid_argument, "it is published already"};
  return {};
}

ZARRPOINT_INLINE result<void> zip_builder::add_large(const store_key& key, bytes_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(refuse_late());
  }
  auto made = allocate(key, bytes.size());
  ZARRPOINT_CHECK(reserve(made->extent));
  ZARRPOINT_CHECK(write(made->extent.data, bytes));
  made->crc32 = crc32(0, bytes);
  made->size = bytes.size();
  return describe(key, std::move(made));
}

ZARRPOINT_INLINE result<void> zip_builder::add_small(const store_key& key, bytes_view bytes) {
  const auto made = make_counted<member>(space_);
  made->crc32 = crc32(0, bytes);
  made->size = bytes.size();
  const zip_member header = describe_member(*made);
  auto name = members_.key_of(key.str());
  zip_members::pointer before;  // goes when nothing is locked
  bool fills = false;
  // All threads of a save come here for each tensor: the lock is held for a name and a place.
  std::unique_lock lock = lock_soon(mutex_);
  while (true) {
    ZARRPOINT_CHECK(refuse_late());
    members_.make_room();  // what is claimed must be filled
    const zip_extent extent = made->extent = room_for(key, bytes.size());
    const zip_batch::place place =
        batch_.claim(extent.header, static_cast<std::size_t>(extent.end - extent.header));
    if (!place) {
      space_.give_back(std::exchange(made->extent, {}));
      lock.unlock();
      ZARRPOINT_CHECK(place.fills() ? batch_.flush_if_full() : batch_.flush());
      lock.lock();
      continue;
    }
    note_written(extent.end);
    before = members_.put(std::move(name), made);
    lock.unlock();
    const auto head = static_cast<std::size_t>(extent.data - extent.header);
    store_zip_local_header(place.bytes().first(head), key.str(), header);
    if (!bytes.empty()) std::memcpy(place.bytes().data() + head, bytes.data(), bytes.size());
    fills = place.fills();
    break;
  }
  // Others may add meanwhile: as many small members as there are threads, and then they wait.
  return fills ? batch_.flush_if_full() : result<void>();
}

ZARRPOINT_INLINE result<void> zip_builder::describe(const store_key& key,
                                                    std::shared_ptr<member> made) {
  zip_member header = describe_member(*made);
  header.name = key.str();
  ZARRPOINT_CHECK(
      write(made->extent.header,
            as_bytes(zip_local_header(
                header, static_cast<std::size_t>(made->extent.data - made->extent.header)))));
  return insert(key, std::move(made));
}

ZARRPOINT_INLINE void zip_builder::note_written(std::uint64_t end) noexcept {
  std::uint64_t seen = written_.load(std::memory_order_relaxed);
  while (seen < end && !written_.compare_exchange_weak(seen, end, std::memory_order_relaxed)) {
  }
}

ZARRPOINT_INLINE result<void> zip_builder::write(std::uint64_t offset, bytes_view bytes) {
  note_written(offset + bytes.size());
  // Of a member that was there before: it must not come after these.
  ZARRPOINT_CHECK(batch_.settle(offset, bytes.size()));
  return to_->write(offset, bytes);
}

ZARRPOINT_INLINE result<void> zip_builder::read(std::uint64_t offset, mutable_bytes into) const {
  if (into.empty()) return {};  // where it would be may not be written yet
  ZARRPOINT_CHECK(batch_.settle(offset, into.size()));
  return to_->read(offset, into);
}

ZARRPOINT_INLINE std::shared_ptr<const zip_builder::member> zip_builder::find(
    std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return members_.find(key);
}

ZARRPOINT_INLINE result<void> zip_builder::insert(const store_key& key,
                                                  std::shared_ptr<const member> made) {
  auto name = members_.key_of(key.str());
  zip_members::pointer before;  // goes when nothing is locked
  const std::lock_guard lock(mutex_);
  ZARRPOINT_CHECK(refuse_late());
  before = members_.put(std::move(name), std::move(made));
  return {};
}

ZARRPOINT_INLINE bool zip_builder::erase(const store_key& key) {
  const std::lock_guard lock(mutex_);
  return members_.erase(key.str());
}

ZARRPOINT_INLINE std::vector<list_entry> zip_builder::list(const store_key& prefix) const {
  const std::lock_guard lock(mutex_);
  return list_children(prefix, [this](std::string_view text) {
    const zip_members::entry* const found = members_.at_least(text);
    return found == nullptr ? nullptr : &found->name;
  });
}

ZARRPOINT_INLINE result<void> zip_builder::begin_finish() {
  const std::lock_guard lock(mutex_);
  if (finished_ || writers_.load(std::memory_order_acquire) != 0)
    return error{errc::invalid_argument,
                 "publish " + name_ + ": " +
                     (finished_ ? "it is published already" : "a member is still being written")};
  finished_ = true;
  space_.close();
  return {};
}

ZARRPOINT_INLINE std::string zip_builder::directory(std::uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  std::uint64_t count = 0;
  std::string name;  // one for all, so that each has its memory
  for (std::size_t place = 0; place < members_.names(); ++place) {
    const zip_members::entry& one = members_.nth(place);
    if (one.member == nullptr) continue;
    ++count;
    zip_member header = describe_member(*one.member);
    header.name = std::move(name);
    header.name = one.name;
    append_zip_entry(out, header);
    name = std::move(header.name);
  }
  append_zip_end(out, {count, out.size(), offset});
  return out;
}

ZARRPOINT_INLINE result<void> zip_builder::finish() {
  ZARRPOINT_CHECK(begin_finish());
  ZARRPOINT_CHECK(batch_.flush());
  const std::uint64_t offset = std::max(space_.tail(), written_.load());
  const std::string text = directory(offset);
  ZARRPOINT_CHECK(to_->write(offset, as_bytes(text)));
  return to_->finish();
}

ZARRPOINT_INLINE zip_member zip_builder::describe_member(const member& one) {
  zip_member out;
  out.flags = zip_utf8;
  out.crc32 = one.crc32;
  out.size = out.stored_size = one.size;
  out.header_offset = one.extent.header;
  return out;
}

// --------------------------------------------------------------------------- zip_member_writer.hpp

ZARRPOINT_INLINE void zip_checksum::add(std::uint64_t offset, bytes_view bytes) {
  if (bytes.empty()) return;
  std::uint64_t begin = offset;
  piece made{offset + bytes.size(), crc32(0, bytes)};
  const std::lock_guard lock(mutex_);
  auto next = pieces_.lower_bound(begin);
  if (next != pieces_.begin() && std::prev(next)->second.end >= begin) --next;
  // Those that it overlaps or touches become one with it, in the memory of the first of them: no
  // piece is lost where there is no memory.
  std::map<std::uint64_t, piece>::node_type joined;
  while (next != pieces_.end() && next->first <= made.end) {
    const auto [other_begin, other] = *next;
    if (other.end == begin) {
      made.crc = crc32_combine(other.crc, made.crc, made.end - begin);
    } else if (other_begin == made.end) {
      made.crc = crc32_combine(made.crc, other.crc, other.end - other_begin);
    } else {
      overlaps_ = true;
    }
    begin = std::min(begin, other_begin);
    made.end = std::max(made.end, other.end);
    const auto gone = next++;
    if (joined.empty()) {
      joined = pieces_.extract(gone);
    } else {
      pieces_.erase(gone);
    }
  }
  if (joined.empty()) {
    pieces_.emplace_hint(next, begin, made);
  } else {
    joined.key() = begin;
    joined.mapped() = made;
    pieces_.insert(next, std::move(joined));
  }
}

ZARRPOINT_INLINE std::pair<std::uint64_t, std::uint64_t> zip_checksum::hole(
    std::uint64_t size) const {
  const std::lock_guard lock(mutex_);
  if (pieces_.empty()) return {0, size};
  if (pieces_.begin()->first != 0) return {0, pieces_.begin()->first};
  const std::uint64_t begin = pieces_.begin()->second.end;
  const auto next = std::next(pieces_.begin());
  return {begin, next == pieces_.end() ? size : next->first};
}

ZARRPOINT_INLINE std::uint64_t zip_checksum::end() const {
  const std::lock_guard lock(mutex_);
  return pieces_.empty() ? 0 : pieces_.rbegin()->second.end;
}

ZARRPOINT_INLINE bool zip_checksum::overlaps() const {
  const std::lock_guard lock(mutex_);
  return overlaps_;
}

ZARRPOINT_INLINE std::uint32_t zip_checksum::value() const {
  const std::lock_guard lock(mutex_);
  return pieces_.empty() ? 0 : pieces_.begin()->second.crc;
}

ZARRPOINT_INLINE zip_member_writer::~zip_member_writer() {
  place_.reset();
  archive_->writer_closed();
}

ZARRPOINT_INLINE result<void> zip_member_writer::write(std::uint64_t offset, bytes_view bytes) {
  if (bytes.empty()) return {};
  if (offset > max_size || bytes.size() > max_size - offset)
    return error{errc::out_of_range, "write " + name() + ": beyond the largest file"};
  const std::uint64_t end = offset + bytes.size();
  {
    const std::lock_guard lock(mutex_);
    if (spent_) return refuse();
    if (place_ == nullptr && std::max(end, reserved_) <= kept_bytes)
      return keep(static_cast<std::size_t>(offset), bytes);
    if (place_ == nullptr || end > place_->extent.capacity()) ZARRPOINT_CHECK(make_room(end));
    size_ = std::max(size_, end);
  }
  const many_lock::together lock(mutex_);
  return put(offset, bytes);
}

ZARRPOINT_INLINE result<void> zip_member_writer::reserve(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (size <= max_size) reserved_ = size;
  return {};
}

ZARRPOINT_INLINE result<void> zip_member_writer::read(std::uint64_t offset,
                                                      mutable_bytes into) const {
  const many_lock::together lock(mutex_);
  if (offset > size_ || into.size() > size_ - offset)
    return error{errc::out_of_range, "read " + name() + ": that part was not written yet"};
  if (place_ != nullptr) return archive_->read(place_->extent.data + offset, into);
  if (!into.empty()) std::memcpy(into.data(), kept_.data() + offset, into.size());
  return {};
}

ZARRPOINT_INLINE result<void> zip_member_writer::finish() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(spent_, true)) return refuse();
  result<void> done = guarded([&] { return place_and_describe(); });
  if (!done) return std::move(done).at("finish " + name());
  return {};
}

ZARRPOINT_INLINE error zip_member_writer::refuse() const {
  return {errc::invalid_argument, "finish " + name() + ": it is finished already"};
}

ZARRPOINT_INLINE result<void> zip_member_writer::keep(std::size_t offset, bytes_view bytes) {
  const std::size_t end = offset + bytes.size();
  if (end > kept_.size()) {
    ZARRPOINT_CHECK(guarded([&]() -> result<void> {
      kept_.resize(end);
      return {};
    }));
    size_ = end;
  }
  std::memcpy(kept_.data() + offset, bytes.data(), bytes.size());
  return {};
}

ZARRPOINT_INLINE result<void> zip_member_writer::put(std::uint64_t offset, bytes_view bytes) {
  ZARRPOINT_CHECK(archive_->write(place_->extent.data + offset, bytes));
  return guarded([&]() -> result<void> {
    checksum_.add(offset, bytes);
    return {};
  });
}

ZARRPOINT_INLINE result<void> zip_member_writer::make_room(std::uint64_t end) {
  return guarded([&]() -> result<void> {
    if (place_ == nullptr) {
      const bool is_reserved = reserved_ >= end;
      auto made = archive_->allocate(key_, is_reserved ? reserved_ : 2 * end);
      if (is_reserved) ZARRPOINT_CHECK(archive_->reserve(made->extent));
      if (!kept_.empty()) {
        ZARRPOINT_CHECK(archive_->write(made->extent.data, kept_));
        checksum_.add(0, kept_);
      }
      place_ = std::move(made);
      kept_ = {};
      return {};
    }
    if (archive_->space().resize(place_->extent, place_->extent.data + 2 * end)) return {};
    auto larger = archive_->allocate(key_, 2 * end);
    std::vector<std::byte> piece(kept_bytes);
    // Not up to `size_`: another thread may be about to write there, and finds the new place.
    const std::uint64_t written = checksum_.end();
    for (std::uint64_t at = 0; at < written; at += piece.size()) {
      const mutable_bytes part = mutable_bytes(piece).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(written - at, piece.size())));
      ZARRPOINT_CHECK(archive_->read(place_->extent.data + at, part));
      ZARRPOINT_CHECK(archive_->write(larger->extent.data + at, part));
    }
    place_ = std::move(larger);
    return {};
  });
}

ZARRPOINT_INLINE result<void> zip_member_writer::place_and_describe() {
  if (place_ == nullptr) return archive_->add(key_, kept_);
  ZARRPOINT_CHECK(fill_holes());
  ZARRPOINT_TRY(crc, whole_checksum());
  place_->crc32 = crc;
  archive_->space().resize(place_->extent, place_->extent.data + size_);
  place_->size = size_;
  return archive_->describe(key_, std::exchange(place_, nullptr));
}

ZARRPOINT_INLINE result<void> zip_member_writer::fill_holes() {
  const std::vector<std::byte> zeros(4096);
  for (;;) {
    const auto [begin, end] = checksum_.hole(size_);
    if (begin == end) return {};
    for (std::uint64_t at = begin; at < end; at += zeros.size())
      ZARRPOINT_CHECK(put(at, bytes_view(zeros).first(static_cast<std::size_t>(
                                  std::min<std::uint64_t>(end - at, zeros.size())))));
  }
}

ZARRPOINT_INLINE result<std::uint32_t> zip_member_writer::whole_checksum() const {
  if (!checksum_.overlaps()) return checksum_.value();
  std::vector<std::byte> piece(kept_bytes);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < size_; at += piece.size()) {
    const mutable_bytes part = mutable_bytes(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(size_ - at, piece.size())));
    ZARRPOINT_CHECK(archive_->read(place_->extent.data + at, part));
    crc = crc32(crc, part);
  }
  return crc;
}

}  // namespace detail

// ---------------------------------------------------------------------------------- zip_writer.hpp

ZARRPOINT_INLINE result<zip_writer> zip_writer::begin(const any_store& base, const store_key& key) {
  ZARRPOINT_TRY(file, base.create(key));
  return begin(std::move(file), base.describe(key));
}

ZARRPOINT_INLINE zip_writer zip_writer::begin(std::unique_ptr<blob_writer> file, std::string name) {
  return zip_writer(detail::make_counted<detail::zip_builder>(std::move(file), std::move(name)));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> zip_writer::open(const store_key& key) const {
  auto found = archive_->find(key.str());
  if (found == nullptr) return std::unique_ptr<blob>();
  return detail::make_owned<blob, object>(archive_, std::move(found), describe(key));
}

ZARRPOINT_INLINE std::string zip_writer::describe(const store_key& key) const {
  return key.is_root() ? archive_->name() : archive_->name() + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> zip_writer::create(
    const store_key& key) const {
  if (key.is_root())
    return error{errc::invalid_argument,
                 "create " + describe(key) + ": the root of a store is not an object"};
  return detail::make_owned<blob_writer, detail::zip_member_writer>(archive_, key);
}

ZARRPOINT_INLINE result<void> zip_writer::put(const store_key& key, bytes_view bytes) const {
  if (key.is_root())
    return error{errc::invalid_argument,
                 "write " + describe(key) + ": the root of a store is not an object"};
  auto done = guarded([&] { return archive_->add(key, bytes); });
  if (!done) return std::move(done).at("write " + describe(key));
  return {};
}

ZARRPOINT_INLINE result<std::vector<list_entry>> zip_writer::list(const store_key& prefix) const {
  return guarded([&] { return result<std::vector<list_entry>>(archive_->list(prefix)); });
}

ZARRPOINT_INLINE result<void> zip_writer::finish() const {
  return guarded([&] { return archive_->finish(); });
}

ZARRPOINT_INLINE zip_writer::object::object(
    std::shared_ptr<detail::zip_builder> archive,
    std::shared_ptr<const detail::zip_builder::member> member, std::string name)
    : archive_(std::move(archive)), member_(std::move(member)), name_(std::move(name)) {}

ZARRPOINT_INLINE result<void> zip_writer::object::read(std::uint64_t offset,
                                                       mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  return archive_->read(member_->extent.data + offset, into);
}

// ------------------------------------------------------------------------------------ zip_file.hpp

ZARRPOINT_INLINE zip_file::zip_file(any_store base, store_key key, const zip_store_options& how,
                                    std::vector<std::string> uncleaned)
    : base_(std::move(base)), key_(std::move(key)), how_(how), uncleaned_(std::move(uncleaned)) {}

ZARRPOINT_INLINE zip_file::staged::staged(std::shared_ptr<const zip_file> target, zip_writer begun,
                                          const publish_options& how)
    : target_(std::move(target)), begun_(std::move(begun)), how_(how) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> zip_file::open(const store_key& key) const {
  ZARRPOINT_TRY(archive, opened());
  if (archive == nullptr) return std::unique_ptr<blob>();
  return archive->open(key);
}

ZARRPOINT_INLINE std::string zip_file::describe(const store_key& key) const {
  const std::string file = base_.describe(key_);
  return key.is_root() ? file : file + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> zip_file::list(const store_key& prefix) const {
  ZARRPOINT_TRY(archive, opened());
  if (archive == nullptr) return std::vector<list_entry>();
  return archive->list(prefix);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> zip_file::stage(
    const store_key& key, const publish_options& how) const {
  if (!key.is_root()) return refuse(key);
  ZARRPOINT_CHECK(check_free(how));
  ZARRPOINT_TRY(begun, zip_writer::begin(base_, key_));
  return detail::make_owned<publication, staged>(detail::make_counted<const zip_file>(*this),
                                                 std::move(begun), how);
}

ZARRPOINT_INLINE error zip_file::refuse(const store_key& key) const {
  return {errc::unsupported,
          "write " + describe(key) + ": a zip file is written as a whole (zip_file::stage)"};
}

ZARRPOINT_INLINE result<std::unique_ptr<zip_store>> zip_file::opened() const {
  ZARRPOINT_TRY(file, base_.open(key_));
  if (file == nullptr) return std::unique_ptr<zip_store>();
  ZARRPOINT_TRY(archive, zip_store::open(std::move(file), how_));
  return std::make_unique<zip_store>(std::move(archive));
}

ZARRPOINT_INLINE result<void> zip_file::check_free(const publish_options& how) const {
  if (how.overwrite) return {};
  ZARRPOINT_TRY(file, base_.open(key_));
  if (file == nullptr) return {};
  return error{errc::already_exists, "publish " + base_.describe(key_) + ": it is there already"};
}

ZARRPOINT_INLINE result<void> zip_file::staged::commit() {
  ZARRPOINT_CHECK(target_->check_free(how_));
  return begun_.finish();
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/store/zip/read_bodies.hpp>
#endif
