// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/x86_features.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/loop_nest.hpp>
#include <zarrpoint/memory/resource.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <mutex>
#include <new>

#if ZARRPOINT_LINUX
#include <sys/mman.h>
#endif

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------------ resource.hpp

/// Less is not worth it: one block that is kept may keep four times as much.
inline constexpr std::size_t least_packed = std::size_t{512} << 10;
/// Small blocks: of less, malloc has several in a page; of more, a part of the huge page would stay
/// unused where the next one does not fit.
inline constexpr std::size_t least_small = std::size_t{2} << 10;
inline constexpr std::size_t most_small = std::size_t{128} << 10;
/// Of what is larger the small pages at the end are a 32nd at most.
inline constexpr std::size_t most_packed = std::size_t{64} << 20;
/// The first tensors lie alone. A part of the last huge page may stay unused, which is then a 16th
/// of all at most. Of small ones it is a quarter, and as much is ready for the next.
inline constexpr std::size_t asked_alone = std::size_t{32} << 20;
inline constexpr std::size_t small_alone = std::size_t{8} << 20;

/// Addresses that are given out from the first to the last, and never twice. They are 128 huge
/// pages, or one for small blocks, in units that go back to the system alone. What has no room any
/// more when it is allocated, since other threads took it, is of the default resource. It holds the
/// region as well, and is given back here.
class packed_region final : public memory_resource {
 public:
  /// Null when the system refuses the addresses.
  static packed_region* make(bool is_small) noexcept {
#if ZARRPOINT_LINUX
    const std::size_t size = is_small ? huge_page : most_units * huge_page;
    void* const first = default_resource().allocate(size, huge_page);
    if (first == nullptr) return nullptr;
    auto* const made = new (std::nothrow) packed_region(static_cast<std::byte*>(first), is_small);
    if (made == nullptr) default_resource().deallocate(first, size, huge_page);
    return made;
#else
    static_cast<void>(is_small);
    return nullptr;
#endif
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      const std::size_t step = std::max(alignment, least_alignment_);
      const std::size_t begin = (used_ + step - 1) / step * step;
      if (bytes >= least_bytes_ && alignment <= huge_page && begin <= size_ &&
          bytes <= size_ - begin) {
        used_ = begin + bytes;
        for (std::size_t at = begin / unit_; at <= (used_ - 1) / unit_; ++at) {
          if (blocks_in_[at] == nobody) {
            blocks_in_[at] = 0;
          } else if (blocks_in_[at] == 0) {
            --unused_;
          }
          if (blocks_in_[at]++ == 0) ++in_use_;
        }
        ++holders_;
        return first_ + begin;
      }
    }
    void* const elsewhere = default_resource().allocate(bytes, alignment);
    if (elsewhere != nullptr) {
      const std::lock_guard lock(mutex_);
      ++holders_;
    }
    return elsewhere;
  }

  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    // Wraps around for what lies before the region.
    const std::size_t begin =
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(first_);
    if (begin >= size_) {
      default_resource().deallocate(memory, bytes, alignment);
    } else {
      const std::lock_guard lock(mutex_);
      for (std::size_t at = begin / unit_; at <= (begin + bytes - 1) / unit_; ++at) {
        if (--blocks_in_[at] != 0) continue;
        --in_use_;
        ++unused_;
      }
    }
    drop();
  }

  bool has_room(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    return bytes <= size_ - std::min(size_, (used_ + 63) / 64 * 64);
  }
  bool is_half_used() noexcept {
    const std::lock_guard lock(mutex_);
    return used_ > size_ / 2;
  }
  /// Has the system clear the first huge page now.
  void touch() noexcept { *static_cast<volatile std::byte*>(first_) = std::byte{}; }
  packed_region* before() const noexcept { return before_; }
  void follow(packed_region* before) noexcept { before_ = before; }

  /// One of those that hold it is gone: the owner, or a block. The last takes it along.
  void drop() noexcept {
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      is_last = --holders_ == 0;  // and gives back all
      if (!is_last && unused_ > unused_for_each_ * in_use_) forget_unused();
    }
    if (is_last) delete this;
  }

 private:
  static constexpr std::size_t most_units = 128;
#if defined(__x86_64__)
  static constexpr std::size_t small_unit = 4096;
#else
  static constexpr std::size_t small_unit = 65536;  // the largest small pages that kernels have
#endif
  static constexpr std::size_t most_small_units = huge_page / small_unit;
  /// In place of a number of blocks: no memory is held.
  static constexpr std::uint32_t nobody = UINT32_MAX;

  packed_region(std::byte* first, bool is_small) noexcept
      : first_(first),
        unit_(is_small ? small_unit : huge_page),
        size_(is_small ? huge_page : most_units * huge_page),
        least_bytes_(is_small ? least_small : least_packed),
        least_alignment_(is_small ? 64 : 4096),
        unused_for_each_(is_small ? 3 : 0) {
    // The first touch of a small one's huge page takes all of it.
    blocks_in_.fill(is_small ? 0 : nobody);
    if (is_small) unused_ = most_small_units;
  }
  ~packed_region() { default_resource().deallocate(first_, size_, huge_page); }

  static void forget(std::byte* first, std::size_t bytes) noexcept {
#if ZARRPOINT_LINUX
    ::madvise(first, bytes, MADV_DONTNEED);
#else
    static_cast<void>(first), static_cast<void>(bytes);  // there is no region
#endif
  }

  /// Gives memory back, not addresses: holes in a mapping would each count as another one.
  void forget_unused() noexcept {
    const std::size_t units = size_ / unit_;
    for (std::size_t at = 0; at < units; ++at) {
      const std::size_t begin = at;
      while (at < units && blocks_in_[at] == 0) blocks_in_[at++] = nobody;
      if (at != begin) forget(first_ + begin * unit_, (at - begin) * unit_);
    }
    unused_ = 0;
  }

  std::byte* const first_;
  packed_region* before_ = nullptr;
  const std::size_t unit_;
  const std::size_t size_;
  const std::size_t least_bytes_;
  const std::size_t least_alignment_;
  const std::size_t unused_for_each_;  ///< units that may be held for each that is in use
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t holders_ = 1;
  std::size_t in_use_ = 0;  ///< units
  std::size_t unused_ = 0;  ///< units that are held, and no block lies in any more
  std::array<std::uint32_t, std::max(most_units, most_small_units)> blocks_in_;  // of each unit
};

struct packed_memory::state {
  std::mutex mutex;
  std::size_t asked[2] = {};  ///< of large and of small blocks
  packed_region* last[2] = {};
  packed_region* ahead = nullptr;  ///< the next one for small blocks
  bool is_making = false;          ///< that one
};

ZARRPOINT_INLINE packed_memory::packed_memory() noexcept : state_(new (std::nothrow) state) {}

ZARRPOINT_INLINE packed_memory::~packed_memory() {
  if (state_ == nullptr) return;
  for (packed_region* at : state_->last) {
    while (at != nullptr) {
      packed_region* const before = at->before();
      at->drop();
      at = before;
    }
  }
  if (state_->ahead != nullptr) state_->ahead->drop();
  delete state_;
}

ZARRPOINT_INLINE memory_resource& packed_memory::resource_for(std::size_t bytes) noexcept {
  const bool is_small = bytes <= most_small;
  if (state_ == nullptr || bytes < (is_small ? least_small : least_packed) || bytes > most_packed)
    return default_resource();
  std::unique_lock lock(state_->mutex);
  std::size_t& asked = state_->asked[is_small ? 1 : 0];
  if (asked < (is_small ? small_alone : asked_alone)) {
    asked += bytes;
    return default_resource();
  }
  packed_region*& last = state_->last[is_small ? 1 : 0];
  if (last == nullptr || !last->has_room(bytes)) {
    packed_region* next = is_small ? std::exchange(state_->ahead, nullptr) : nullptr;
    if (next == nullptr) next = packed_region::make(is_small);
    if (next == nullptr) return default_resource();
    next->follow(last);
    last = next;
  }
  if (is_small && !state_->is_making && state_->ahead == nullptr && last->is_half_used()) {
    // One thread does it while others use the rest: all that touch it first would each clear a
    // page.
    state_->is_making = true;
    lock.unlock();
    packed_region* const next = packed_region::make(true);
    if (next != nullptr) next->touch();
    lock.lock();
    state_->ahead = next;
    state_->is_making = false;
  }
  return *last;
}

/// Large blocks are mapped and ask for huge pages: the first touch of fresh memory is then about
/// five times as fast. Small ones come from `operator new`.
class system_resource final : public memory_resource {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
#if ZARRPOINT_LINUX
    if (is_mapped(bytes, alignment)) return map(mapped_size(bytes));
#endif
    return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
#if ZARRPOINT_LINUX
    if (is_mapped(bytes, alignment)) {
      ::munmap(memory, mapped_size(bytes));
      return;
    }
#endif
    static_cast<void>(bytes);
    ::operator delete (memory, std::align_val_t{alignment});
  }

 private:
#if ZARRPOINT_LINUX
  static bool is_mapped(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes >= huge_page && alignment <= huge_page && bytes <= SIZE_MAX / 2;
  }
  /// A whole number of huge pages where that wastes a 32nd at most, so that budgets, which count
  /// what was asked for, are kept nearly. Else it is one of the largest small pages that kernels
  /// have. What is left behind in part of a page is never given back.
  static std::size_t mapped_size(std::size_t bytes) noexcept {
    constexpr std::size_t small_page = 65536;
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    if (rounded - bytes <= bytes / 32) return rounded;
    return (bytes + small_page - 1) / small_page * small_page;
  }
  /// Maps one huge page more than asked for and gives back what lies before and after the aligned
  /// part.
  static void* map(std::size_t bytes) noexcept {
    const std::size_t whole = bytes + huge_page;
    void* const start =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    auto* const first = static_cast<std::byte*>(start);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) % huge_page;
    if (before != 0) ::munmap(first, before);
    ::munmap(first + before + bytes, huge_page - before);  // `before` is less than a huge page
    ::madvise(first + before, bytes, MADV_HUGEPAGE);       // advice only: small pages work too
    return first + before;
  }
#endif
};

inline constinit system_resource system_memory{};

}  // namespace detail

ZARRPOINT_INLINE limited_resource::limited_resource(std::size_t limit,
                                                    memory_resource& upstream) noexcept
    : upstream_(&upstream), limit_(limit) {}

ZARRPOINT_INLINE memory_resource& default_resource() noexcept { return detail::system_memory; }

ZARRPOINT_INLINE void* limited_resource::allocate(std::size_t bytes,
                                                  std::size_t alignment) noexcept {
  std::size_t total = 0;
  if (!take(bytes, total)) return nullptr;
  void* const memory = upstream_->allocate(bytes, alignment);
  if (memory == nullptr) {
    is_beneath_.store(true, std::memory_order_relaxed);
    refund(bytes);
  } else {
    note_peak(total);
  }
  return memory;
}

ZARRPOINT_INLINE void limited_resource::deallocate(void* memory, std::size_t bytes,
                                                   std::size_t alignment) noexcept {
  upstream_->deallocate(memory, bytes, alignment);
  refund(bytes);
}

ZARRPOINT_INLINE bool limited_resource::charge(std::size_t bytes) noexcept {
  std::size_t total = 0;
  if (!take(bytes, total)) return false;
  note_peak(total);
  return true;
}

ZARRPOINT_INLINE bool limited_resource::take(std::size_t bytes, std::size_t& total) noexcept {
  std::size_t used = in_use_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) {
      is_beneath_.store(false, std::memory_order_relaxed);
      return false;
    }
    total = used + bytes;
  } while (!in_use_.compare_exchange_weak(used, total, std::memory_order_relaxed));
  return true;
}

ZARRPOINT_INLINE void limited_resource::note_peak(std::size_t used) noexcept {
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

// -------------------------------------------------------------------------------------- buffer.hpp

ZARRPOINT_INLINE error detail::cannot_allocate(std::size_t bytes, const memory_resource& from,
                                               std::string_view what) {
  std::string text = "cannot allocate " + std::to_string(bytes) + " bytes";
  if (!what.empty()) text.append(" for ").append(what);
  const std::size_t limit = from.bytes_limit();
  if (limit == SIZE_MAX)
    text += ": the resource refused it";
  else
    text += ": " + std::to_string(from.bytes_in_use()) + " of the " + std::to_string(limit) +
            " bytes of the budget are in use";
  return {errc::resource_limit, std::move(text)};
}

ZARRPOINT_INLINE result<buffer> buffer::allocate(std::size_t bytes, memory_resource& from,
                                                 std::size_t alignment) {
  buffer out;
  if (bytes == 0) return out;
  void* const memory = from.allocate(bytes, alignment);
  if (memory == nullptr) return detail::cannot_allocate(bytes, from);
  out.data_ = static_cast<std::byte*>(memory);
  out.size_ = bytes;
  out.alignment_ = alignment;
  out.resource_ = &from;
  return out;
}

ZARRPOINT_INLINE buffer& buffer::operator=(buffer&& other) noexcept {
  buffer(std::move(other)).swap(*this);
  return *this;
}

ZARRPOINT_INLINE buffer::~buffer() {
  if (data_ != nullptr) resource_->deallocate(data_, size_, alignment_);
}

ZARRPOINT_INLINE void buffer::swap(buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(alignment_, other.alignment_);
  std::swap(resource_, other.resource_);
}

// -------------------------------------------------------------------------------------- tensor.hpp

ZARRPOINT_INLINE result<tensor> tensor::make(const tensor_spec& spec, memory_resource& from) {
  if (memory_size(spec.type) == 0)
    return error{errc::invalid_argument, "the tensor has an invalid dtype"};
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
  auto memory = buffer::allocate(bytes, from);
  if (!memory) return std::move(memory).failure().at("tensor " + to_string(spec));
  tensor out;
  out.spec_ = spec;
  out.memory_ = std::move(*memory);
  if (spec.type.is_variable()) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::string)) {
      ::new (static_cast<void*>(out.memory_.data() + i)) std::string;
    }
  }
  return out;
}

ZARRPOINT_INLINE tensor& tensor::operator=(tensor&& other) noexcept {
  tensor(std::move(other)).swap(*this);
  return *this;
}

ZARRPOINT_INLINE tensor::~tensor() {
  if (!spec_.type.is_variable()) return;
  for (std::string& text : data<std::string>()) text.~basic_string();
}

ZARRPOINT_INLINE std::size_t tensor::size() const noexcept {
  return spec_.type.valid() ? memory_.size() / memory_size(spec_.type) : 0;
}

ZARRPOINT_INLINE void tensor::swap(tensor& other) noexcept {
  std::swap(spec_, other.spec_);
  memory_.swap(other.memory_);
}

namespace detail {

// ----------------------------------------------------------------------------------- loop_nest.hpp

ZARRPOINT_INLINE loop_nest::loop_nest(const dims& shape, const dims& to, const dims& from) {
  // The extents beside a 0 may be of any size, and so may their strides.
  for (const index_t extent : shape) empty = empty || extent == 0;
  if (empty) return;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] > 1) insert({shape[i], to[i], from[i]});
  }
  merge();
}

ZARRPOINT_INLINE loop_axis loop_nest::inner(std::size_t k) const noexcept {
  return k < rank ? axes[rank - 1 - k] : loop_axis{};
}

ZARRPOINT_INLINE void loop_nest::move_to_second(std::size_t i) noexcept {
  const loop_axis axis = axes[i];
  for (; i + 2 < rank; ++i) axes[i] = axes[i + 1];
  axes[i] = axis;
}

ZARRPOINT_INLINE void loop_nest::insert(loop_axis axis) noexcept {
  if (axis.to < 0) {
    to_offset += (axis.count - 1) * axis.to;
    from_offset += (axis.count - 1) * axis.from;
    axis.to = -axis.to;
    axis.from = -axis.from;
  }
  std::size_t i = rank++;
  for (; i > 0; --i) {
    const loop_axis& other = axes[i - 1];
    if (other.to > axis.to ||
        (other.to == axis.to && magnitude(other.from) >= magnitude(axis.from)))
      break;
    axes[i] = other;
  }
  axes[i] = axis;
}

ZARRPOINT_INLINE void loop_nest::merge() noexcept {
  if (rank < 2) return;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < rank; ++i) {
    loop_axis& outer = axes[kept];
    const loop_axis& inner = axes[i];
    if (outer.to == inner.to * inner.count && outer.from == inner.from * inner.count) {
      outer = {outer.count * inner.count, inner.to, inner.from};
    } else {
      axes[++kept] = inner;
    }
  }
  rank = kept + 1;
}

// ------------------------------------------------------------------------------------ byteswap.hpp

/// Swaps each scalar of `Size` bytes within a word of eight.
template <std::size_t Size>
constexpr std::uint64_t byteswap_word(std::uint64_t word) noexcept {
  constexpr std::uint64_t even_bytes = 0x00ff00ff00ff00ff;
  if constexpr (Size == 2) return (word & even_bytes) << 8 | (word >> 8 & even_bytes);
  const std::uint64_t swapped = byteswap(word);
  return Size == 4 ? swapped << 32 | swapped >> 32 : swapped;
}

template <std::size_t Size>
void byteswap_run(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t word_size = sizeof(std::uint64_t);
  std::size_t i = 0;
  for (; i + word_size <= bytes; i += word_size) {
    std::uint64_t word;
    std::memcpy(&word, from + i, word_size);
    word = byteswap_word<Size>(word);
    std::memcpy(to + i, &word, word_size);
  }
  // Fewer bytes than a word: swapped whole scalars come first, in either byte order.
  std::uint64_t word = 0;
  if (i == bytes) return;
  std::memcpy(&word, from + i, bytes - i);
  word = byteswap_word<Size>(word);
  std::memcpy(to + i, &word, bytes - i);
}

ZARRPOINT_INLINE void byteswap_copy(mutable_bytes to, bytes_view from, std::size_t scalar_size) {
  ZARRPOINT_ASSERT(to.size() == from.size() && from.size() % scalar_size == 0);
  switch (scalar_size) {
    case 2: return detail::byteswap_run<2>(to.data(), from.data(), from.size());
    case 4: return detail::byteswap_run<4>(to.data(), from.data(), from.size());
    case 8: return detail::byteswap_run<8>(to.data(), from.data(), from.size());
    default:
      ZARRPOINT_ASSERT(scalar_size == 1);
      if (!from.empty()) std::memmove(to.data(), from.data(), from.size());
  }
}

ZARRPOINT_INLINE void byteswap_elements(mutable_bytes data, std::size_t scalar_size) {
  if (scalar_size != 1) byteswap_copy(data, data, scalar_size);
}

}  // namespace detail

// -------------------------------------------------------------------------------- strided_copy.hpp

namespace detail {

/// Writes `count` copies of one element of `size` bytes, one after another.
ZARRPOINT_INLINE void fill_run(std::byte* to, const std::byte* element, std::size_t size,
                               index_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * size;
  if (std::all_of(element, element + size, [&](std::byte b) { return b == element[0]; })) {
    std::memset(to, static_cast<int>(element[0]), bytes);
    return;
  }
  // Doubles what is there, up to a block that stays in the first level of the cache.
  constexpr std::size_t block = 4096;
  std::memcpy(to, element, size);
  std::size_t done = size;
  while (done < bytes) {
    const std::size_t step = std::min({done, bytes - done, block});
    std::memcpy(to + done, to, step);
    done += step;
  }
}

/// The two innermost axes, for elements of `Size` bytes.
template <std::size_t Size>
void copy_plane(std::byte* to, const std::byte* from, const loop_axis& outer,
                const loop_axis& inner) {
  constexpr auto size = static_cast<index_t>(Size);
  const matrix<std::byte*> to_plane{to, outer.to, inner.to};
  const matrix<const std::byte*> from_plane{from, outer.from, inner.from};
  if (inner.from == 0 && inner.to == size) {
    for (index_t i = 0; i < outer.count; ++i) {
      fill_run(to_plane.at(i, 0), from_plane.at(i, 0), Size, inner.count);
    }
  } else if (magnitude(outer.from) < magnitude(inner.from) && outer.count > 1) {
    transpose_matrix<Size>(to_plane, from_plane, outer.count, inner.count);
  } else {
    copy_matrix<Size>(to_plane, from_plane, outer.count, inner.count);
  }
}

/// Brings the axis along which `from` runs fastest next to the innermost, along which `to` does.
ZARRPOINT_INLINE void pair_fastest_axes(loop_nest& nest) {
  std::size_t fastest = nest.rank;
  for (std::size_t i = nest.rank; i-- > 0;) {
    const index_t stride = magnitude(nest.axes[i].from);
    if (stride != 0 && (fastest == nest.rank || stride < magnitude(nest.axes[fastest].from)))
      fastest = i;
  }
  if (fastest + 1 < nest.rank) nest.move_to_second(fastest);
}

/// Whole runs of bytes: the innermost axis is contiguous on both sides and gone from the nest.
ZARRPOINT_INLINE void copy_runs(std::byte* to, const std::byte* from, const loop_nest& nest,
                                std::size_t bytes) {
  const loop_axis axis = nest.inner(0);
  nest.for_each_outer(1, [&](index_t to_offset, index_t from_offset) {
    for (index_t i = 0; i < axis.count; ++i) {
      std::memcpy(to + (to_offset + i * axis.to), from + (from_offset + i * axis.from), bytes);
    }
    return true;
  });
}

template <std::size_t Size>
void copy_sized(std::byte* to, const std::byte* from, loop_nest& nest) {
  pair_fastest_axes(nest);
  nest.for_each_outer(2, [&](index_t to_offset, index_t from_offset) {
    copy_plane<Size>(to + to_offset, from + from_offset, nest.inner(1), nest.inner(0));
    return true;
  });
}

ZARRPOINT_INLINE void copy_bytes(std::byte* to, const std::byte* from, loop_nest& nest,
                                 std::size_t size) {
  if (nest.empty) return;
  const loop_axis inner = nest.inner(0);
  const auto stride = static_cast<index_t>(size);
  std::size_t run = size;
  if (nest.rank > 0 && inner.to == stride && inner.from == stride) {
    run = static_cast<std::size_t>(inner.count) * size;
    nest.drop_innermost();
  }
  switch (run) {
    case 1: return copy_sized<1>(to, from, nest);
    case 2: return copy_sized<2>(to, from, nest);
    case 4: return copy_sized<4>(to, from, nest);
    case 8: return copy_sized<8>(to, from, nest);
    case 16: return copy_sized<16>(to, from, nest);
    default: return copy_runs(to, from, nest, run);
  }
}

ZARRPOINT_INLINE std::string& string_at(std::byte* data, index_t offset) {
  return *reinterpret_cast<std::string*>(data + offset);
}

ZARRPOINT_INLINE const std::string& string_at(const std::byte* data, index_t offset) {
  return *reinterpret_cast<const std::string*>(data + offset);
}

}  // namespace detail

ZARRPOINT_INLINE void copy_elements(const mutable_host_view& to, const host_view& from) {
  ZARRPOINT_ASSERT(to.type == from.type && to.shape == from.shape);
  detail::loop_nest nest(to.shape, to.strides, from.strides);
  if (to.type.is_variable()) {
    nest.for_each_outer(0, [&](index_t to_offset, index_t from_offset) {
      detail::string_at(to.data, to_offset) = detail::string_at(from.data, from_offset);
      return true;
    });
    return;
  }
  detail::copy_bytes(to.data, from.data, nest, to.type.size());
}

ZARRPOINT_INLINE void fill_elements(const mutable_host_view& to, bytes_view element) {
  const dims no_strides(to.rank(), 0);
  detail::loop_nest nest(to.shape, to.strides, no_strides);
  if (to.type.is_variable()) {
    nest.for_each_outer(0, [&](index_t offset, index_t) {
      detail::string_at(to.data, offset) = as_text(element);
      return true;
    });
    return;
  }
  ZARRPOINT_ASSERT(element.size() == to.type.size());
  detail::copy_bytes(to.data, element.data(), nest, to.type.size());
}

namespace detail {

ZARRPOINT_INLINE bool all_equal(const host_view& of, bytes_view element) {
  const detail::loop_nest nest(of.shape, of.strides, dims(of.rank(), 0));
  if (of.type.is_variable()) {
    return nest.for_each_outer(0, [&](index_t offset, index_t) {
      return detail::string_at(of.data, offset) == as_text(element);
    });
  }
  ZARRPOINT_ASSERT(element.size() == of.type.size());
  const std::size_t size = element.size();
  const detail::loop_axis inner = nest.inner(0);
  const bool is_run = nest.rank > 0 && inner.to == static_cast<index_t>(size);
  return nest.for_each_outer(1, [&](index_t offset, index_t) {
    const std::byte* const first = of.data + offset;
    if (std::memcmp(first, element.data(), size) != 0) return false;
    // A run equals its first element throughout when it equals itself one element on.
    if (is_run) {
      return std::memcmp(first, first + size, static_cast<std::size_t>(inner.count - 1) * size) ==
             0;
    }
    for (index_t i = 1; i < inner.count; ++i) {
      if (std::memcmp(first + i * inner.to, element.data(), size) != 0) return false;
    }
    return true;
  });
}

// ---------------------------------------------------------------------------------------- cast.hpp

ZARRPOINT_INLINE bool is_common(const dtype& type) {
  if (type == dtype_kind::float8_e4m3fn || type == dtype_kind::float8_e5m2) return true;
  return type.size() > 1 || (!type.is_floating() && !type.is_below_byte());
}

ZARRPOINT_INLINE int small_integer(std::uint8_t stored, const dtype& type) {
  const int unused = 8 - static_cast<int>(type.bits());
  const auto top = static_cast<std::uint8_t>(stored << unused);
  return (type.is_signed_integer() ? static_cast<std::int8_t>(top) : static_cast<int>(top)) >>
         unused;
}

ZARRPOINT_INLINE cast_function choose_cast(const dtype& to, const dtype& from) {
  const auto is_pair = [&](dtype_kind a, dtype_kind b) { return from == a && to == b; };
  using enum dtype_kind;
  if (is_pair(bfloat16, float32)) return cast_directly<float, v0::bfloat16>;
  if (is_pair(float32, bfloat16)) return cast_directly<v0::bfloat16, float>;
  if (is_pair(float16, float32)) return cast_directly<float, v0::float16>;
  if (is_pair(float32, float16)) return cast_directly<v0::float16, float>;
  if (from.is_floating() || from.is_complex()) return cast_by_way_of<double>;
  return from == uint64 ? cast_by_way_of<std::uint64_t> : cast_by_way_of<std::int64_t>;
}

ZARRPOINT_INLINE result<void> cast_elements(const mutable_host_view& to, const host_view& from) {
  if (to.shape != from.shape)
    return error{errc::shape_mismatch,
                 "cannot cast " + to_string(from.spec()) + " to " + to_string(to.spec())};
  if (to.type == from.type && to.type.valid()) {
    copy_elements(to, from);
    return {};
  }
  if (!from.type.is_number() || !to.type.is_number())
    return error{errc::unsupported, "no cast from " + std::string(to_string(from.type)) + " to " +
                                        std::string(to_string(to.type))};
  const detail::loop_nest nest(to.shape, to.strides, from.strides);
  const detail::loop_axis inner = nest.inner(0);
  const auto count = static_cast<std::size_t>(inner.count);
  const detail::cast_function cast = detail::choose_cast(to.type, from.type);
  const bool is_dense = inner.to == static_cast<index_t>(to.type.size()) &&
                        inner.from == static_cast<index_t>(from.type.size());
  const detail::dense_cast cast_run =
      is_dense ? detail::choose_dense_cast(to.type, from.type) : nullptr;
  nest.for_each_outer(1, [&](index_t to_offset, index_t from_offset) {
    const detail::target_run target{to.data + to_offset, inner.to, to.type};
    const detail::source_run source{from.data + from_offset, inner.from, from.type};
    std::size_t i = cast_run == nullptr ? 0 : cast_run(target.data, source.data, count);
    for (; i < count; i += detail::cast_block) {
      cast(target.from_element(i), source.from_element(i), std::min(detail::cast_block, count - i));
    }
    return true;
  });
  return {};
}

#if defined(__x86_64__) && defined(__GNUC__)

// Vectors of the compiler and its builtins, and not <immintrin.h>, which takes half a second to
// compile.
/// What the casts share: 16 elements at a time, as two vectors of 8.
struct cast_avx2 {
  using halves = short __attribute__((vector_size(16), may_alias));
  using words = std::uint32_t __attribute__((vector_size(32), may_alias));
  using floats = float __attribute__((vector_size(32)));

  static constexpr std::size_t step = 16;

  template <class Vector>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void load(
      Vector& to, const std::byte* from) noexcept {
    std::memcpy(&to, from, sizeof to);
  }
  template <bool Streamed, class Vector>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void store(
      std::byte* to, const Vector& from) noexcept {
    if constexpr (Streamed) {
      __asm__("vmovntdq %1, %0" : "=m"(*reinterpret_cast<Vector*>(to)) : "x"(from));
    } else {
      std::memcpy(to, &from, sizeof from);
    }
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void widen(
      words& to, const std::byte* from) noexcept {
    using unsigned_halves = std::uint16_t __attribute__((vector_size(16)));
    unsigned_halves narrow;
    load(narrow, from);
    to = __builtin_convertvector(narrow, words);
  }
};

struct cast_from_bfloat16 : cast_avx2 {
  static constexpr std::size_t to_size = 4;
  static constexpr std::size_t from_size = 2;
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    for (int i = 0; i < 2; ++i) {
      words wide;
      widen(wide, from + 16 * i);
      store<Streamed>(to + 32 * i, wide << 16);
    }
  }
};

struct cast_to_bfloat16 : cast_avx2 {
  static constexpr std::size_t to_size = 2;
  static constexpr std::size_t from_size = 4;
  using signed_words = std::int32_t __attribute__((vector_size(32)));
  using quads = long long __attribute__((vector_size(32)));
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    words both[2];
    words rounded[2];
    signed_words is_nan[2];
    for (int i = 0; i < 2; ++i) {
      load(both[i], from + 32 * i);
      rounded[i] = (both[i] + 0x7fff + (both[i] >> 16 & 1)) >> 16;
      is_nan[i] = reinterpret_cast<signed_words>(both[i] & 0x7fffffff) > 0x7f800000;
    }
    const auto any = reinterpret_cast<quads>(is_nan[0] | is_nan[1]);
    if (__builtin_ia32_ptestz256(any, any) == 0) [[unlikely]] {
      for (int i = 0; i < 2; ++i) {
        const auto nan = reinterpret_cast<words>(is_nan[i]);
        rounded[i] = ((both[i] >> 16 | 0x40) & nan) | (rounded[i] & ~nan);
      }
    }
    // The instruction packs within each half of the vectors; the second puts the quarters in order.
    const auto mixed = reinterpret_cast<quads>(__builtin_ia32_packusdw256(
        reinterpret_cast<signed_words>(rounded[0]), reinterpret_cast<signed_words>(rounded[1])));
    store<Streamed>(to, reinterpret_cast<words>(__builtin_ia32_permdi256(mixed, 0b11'01'10'00)));
  }
};

struct cast_from_float16 : cast_avx2 {
  static constexpr std::size_t to_size = 4;
  static constexpr std::size_t from_size = 2;
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    for (int i = 0; i < 2; ++i) {
      halves narrow;
      load(narrow, from + 16 * i);
#if defined(__clang__)  // newer ones have no such builtin
      using float16s = _Float16 __attribute__((vector_size(16)));
      auto wide = reinterpret_cast<words>(
          __builtin_convertvector(reinterpret_cast<float16s>(narrow), floats));
#else
      auto wide = reinterpret_cast<words>(__builtin_ia32_vcvtph2ps256(narrow));
#endif
      // The instruction makes NaNs quiet; `convert` lets their bits be.
      using pair = long long __attribute__((vector_size(16)));
      const auto special = reinterpret_cast<pair>((narrow & 0x7c00) == 0x7c00);
      if ((special[0] | special[1]) != 0) [[unlikely]] {
        words bits;
        widen(bits, from + 16 * i);
        const words kept = (bits & 0x8000) << 16 | (bits & 0x7fff) << 13 | 0x7f800000;
        const auto is_special = reinterpret_cast<words>((bits & 0x7c00) == 0x7c00);
        wide = (kept & is_special) | (wide & ~is_special);
      }
      store<Streamed>(to + 32 * i, wide);
    }
  }
};

struct cast_to_float16 : cast_avx2 {
  static constexpr std::size_t to_size = 2;
  static constexpr std::size_t from_size = 4;
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    constexpr int to_nearest_even = 0;
    for (int i = 0; i < 2; ++i) {
      floats wide;
      load(wide, from + 32 * i);
      store<Streamed>(to + 16 * i,
                      static_cast<halves>(__builtin_ia32_vcvtps2ph256(wide, to_nearest_even)));
    }
  }
};

template <class Cast>
[[gnu::target("avx2,f16c")]] std::size_t cast_run(std::byte* to, const std::byte* from,
                                                  std::size_t count) noexcept {
  constexpr std::size_t step = Cast::step;
  constexpr std::size_t line = 32;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % line;
  std::size_t i = 0;
  if (count >= streamed_cast_bytes / Cast::to_size && past % Cast::to_size == 0) {
    // Up to the first aligned element, and some of what is cast again.
    Cast::template cast<false>(to, from);
    i = (line - past) % line / Cast::to_size;
    for (; count - i >= step; i += step)
      Cast::template cast<true>(to + i * Cast::to_size, from + i * Cast::from_size);
    __asm__ volatile("sfence" ::: "memory");
  }
  for (; count - i >= step; i += step)
    Cast::template cast<false>(to + i * Cast::to_size, from + i * Cast::from_size);
  return i;
}

ZARRPOINT_INLINE dense_cast choose_dense_cast(const dtype& to, const dtype& from) noexcept {
  using enum dtype_kind;
  const bool widens = to == float32;
  if (!widens && from != float32) return nullptr;
  const dtype& narrow = widens ? from : to;
  if (narrow != bfloat16 && narrow != float16) return nullptr;
  static const bool has_vectors = x86_features::of_this_cpu().avx2_f16c;
  if (!has_vectors) return nullptr;
  if (narrow == bfloat16) return widens ? cast_run<cast_from_bfloat16> : cast_run<cast_to_bfloat16>;
  return widens ? cast_run<cast_from_float16> : cast_run<cast_to_float16>;
}

#else

ZARRPOINT_INLINE dense_cast choose_dense_cast(const dtype&, const dtype&) noexcept {
  return nullptr;
}

#endif

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/types/bodies.hpp>
#endif
