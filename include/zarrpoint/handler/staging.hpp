// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of any memory space to the host and back: written once, against the concept.

#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

namespace zarrpoint::inline v0 {

/// Elements that the host can read: in memory of their own, or where they always were.
struct staged {
  host_view view;
  buffer owned;  ///< empty when nothing had to be copied
};

namespace detail {

/// What a strided view touches: bytes `[low, high)` from its first element.
struct touched_bytes {
  index_t low = 0;
  index_t high = 0;
};

template <class Space, bool Writable>
touched_bytes bytes_touched(const basic_tensor_view<Space, Writable>& view) {
  touched_bytes out;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.shape[i] == 0) return {};
    const index_t reach = view.strides[i] * (view.shape[i] - 1);
    (reach < 0 ? out.low : out.high) += reach;
  }
  out.high += static_cast<index_t>(view.type.size());
  return out;
}

/// Calls `f(offset of a run in the view, offset in a dense array, bytes)` for each run of elements
/// that lie one after another, in row-major order.
template <class Space, bool Writable, class F>
result<void> for_each_run(const basic_tensor_view<Space, Writable>& view, F&& f) {
  auto run = static_cast<index_t>(view.type.size());
  std::size_t outer = view.rank();  // dimensions [outer, rank) lie within a run
  for (; outer > 0; --outer) {
    const std::size_t i = outer - 1;
    if (view.shape[i] == 0) return {};
    if (view.shape[i] != 1 && view.strides[i] != run) break;
    run *= view.shape[i];
  }
  for (std::size_t i = 0; i < outer; ++i) {
    if (view.shape[i] == 0) return {};
  }
  dims at(outer, 0);
  for (index_t dense = 0;; dense += run) {
    index_t offset = 0;
    for (std::size_t i = 0; i < outer; ++i) offset += at[i] * view.strides[i];
    ZARRPOINT_CHECK(f(offset, dense, static_cast<std::size_t>(run)));
    std::size_t i = outer;
    while (i > 0 && ++at[i - 1] == view.shape[i - 1]) at[--i] = 0;
    if (i == 0) return {};
  }
}

/// Whether the elements fill their memory without gaps in some order of the dimensions, as those of
/// a column-major matrix do.
template <class Space>
bool is_dense_in_some_order(const mutable_tensor_view<Space>& view) {
  std::array<std::size_t, max_rank> order{};
  std::size_t rank = 0;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.shape[i] != 1) order[rank++] = i;
  }
  const auto used = std::span(order).first(rank);
  std::sort(used.begin(), used.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(view.strides[a]) < std::abs(view.strides[b]);
  });
  auto expected = static_cast<index_t>(view.type.size());
  for (const std::size_t i : used) {
    if (std::abs(view.strides[i]) != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

/// Copies that were started and must all be waited for; a space promises no order among them.
template <memory_space Space>
class started_copies {
 public:
  explicit started_copies(const Space& space) : space_(&space) {}
  started_copies(const started_copies&) = delete;
  started_copies& operator=(const started_copies&) = delete;
  /// The memory on either side must not be given back while a copy is under way, on failure too.
  ~started_copies() {
    for (const typename Space::event& event : events_) static_cast<void>(space_->wait(event));
  }
  result<void> add(result<typename Space::event> started) {
    if (!started) return std::move(started).failure();
    events_.push_back(std::move(*started));
    return events_.size() < most_at_once ? result<void>{} : wait();
  }
  result<void> wait() {
    while (!events_.empty()) {
      const typename Space::event event = std::move(events_.back());
      events_.pop_back();
      ZARRPOINT_CHECK(space_->wait(event));
    }
    return {};
  }

 private:
  // A tensor with gaps may have millions of runs; a device has not that many events.
  static constexpr std::size_t most_at_once = 1024;

  const Space* space_;
  std::vector<typename Space::event> events_;
};

}  // namespace detail

/// The elements of `from` where the host can read them, once they are ready: in place if the space
/// is accessible to the host, else copied into memory of `resource` (their strides may be kept). At
/// most twice the tensor's bytes are allocated. Errors: those of the space, `resource_limit`,
/// `out_of_range` for a spec that does not fit in memory.
template <memory_space Space>
result<staged> stage_to_host(const tensor_view<Space>& from, memory_resource& resource) {
  ZARRPOINT_CHECK(from.space.wait(from.ready));
  if constexpr (Space::host_accessible) {
    return staged{{from.data, from.type, from.shape, from.strides, {}, {}}, {}};
  } else {
    ZARRPOINT_TRY(bytes, byte_count(from.spec()));
    if (from.type.is_variable())
      return error{errc::unsupported, "strings live in host memory only"};
    const detail::touched_bytes touched = detail::bytes_touched(from);
    const auto cover = static_cast<std::size_t>(touched.high - touched.low);
    // One copy of everything between the first and the last element costs less than many small
    // ones, as long as what lies between is not the larger part.
    const bool whole = cover / 2 <= bytes;
    ZARRPOINT_TRY(owned, buffer::allocate(whole ? cover : bytes, resource));
    detail::started_copies<Space> copies(from.space);
    staged out;
    if (bytes == 0) {
      out.view = dense_view(static_cast<const std::byte*>(nullptr), from.spec());
    } else if (whole) {
      ZARRPOINT_CHECK(copies.add(from.space.copy_to_host(owned.bytes(), from.data + touched.low)));
      out.view = {owned.data() - touched.low, from.type, from.shape, from.strides, {}, {}};
    } else {
      ZARRPOINT_CHECK(detail::for_each_run(
          from, [&](index_t offset, index_t dense, std::size_t size) -> result<void> {
            return copies.add(from.space.copy_to_host(
                owned.bytes().subspan(static_cast<std::size_t>(dense), size), from.data + offset));
          }));
      out.view = dense_view(static_cast<const std::byte*>(owned.data()), from.spec());
    }
    ZARRPOINT_CHECK(copies.wait());
    out.owned = std::move(owned);
    return out;
  }
}

/// Copies a dense host array into a target of the same spec outside the host, and waits until it is
/// there. A target that is dense in another order of its dimensions takes one copy, by way of as
/// many bytes of `resource`. Errors: those of the space; `resource_limit`; `invalid_argument` when
/// the specs differ or `from` is not dense.
template <memory_space Space>
result<void> place_from_host(const mutable_tensor_view<Space>& to, const host_view& from,
                             memory_resource& resource = default_resource()) {
  if (to.type != from.type || to.shape != from.shape || !is_dense(from) || to.type.is_variable())
    return error{errc::invalid_argument, "cannot place " + to_string(from.spec()) + " into " +
                                             to_string(to.spec()) + " of a " + Space::name +
                                             " tensor"};
  ZARRPOINT_TRY(bytes, byte_count(to.spec()));
  if (bytes == 0) return {};
  ZARRPOINT_CHECK(to.space.wait(to.ready));
  buffer reordered;
  detail::started_copies<Space> copies(to.space);
  if (!is_dense(to) && detail::is_dense_in_some_order(to)) {
    ZARRPOINT_TRY(owned, buffer::allocate(bytes, resource));
    reordered = std::move(owned);
    const index_t low = detail::bytes_touched(to).low;
    copy_elements({reordered.data() - low, to.type, to.shape, to.strides, {}, {}}, from);
    ZARRPOINT_CHECK(copies.add(to.space.copy_from_host(to.data + low, reordered.bytes())));
  } else {
    ZARRPOINT_CHECK(detail::for_each_run(
        to, [&](index_t offset, index_t dense, std::size_t size) -> result<void> {
          return copies.add(to.space.copy_from_host(to.data + offset, {from.data + dense, size}));
        }));
  }
  return copies.wait();
}

}  // namespace zarrpoint::inline v0
