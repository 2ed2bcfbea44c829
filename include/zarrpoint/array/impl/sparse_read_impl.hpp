// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/array/rectilinear.hpp>
#include <zarrpoint/array/sparse_read.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/exec/memory_bound_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE object_axis::object_axis(const array_state& of, const selection& part,
                                          std::size_t axis) {
  if (!of.metadata.edges.empty()) {
    edges_ = edge_parts(of.metadata.edges[axis], part, axis);
  } else {
    const chunk_grid& grid = of.layout.grid();
    regular_ = plan_axis({grid.shape, grid.object_shape, grid.object_shape}, part, axis,
                         plan_scope::touched);
  }
}

ZARRPOINT_INLINE std::size_t object_axis::size() const noexcept {
  return edges_.empty() ? static_cast<std::size_t>(regular_.slabs()) : edges_.size();
}

ZARRPOINT_INLINE index_t object_axis::coordinate(std::size_t j) const {
  return edges_.empty() ? static_cast<index_t>(regular_.object_of(j).object)
                        : edges_[j].chunk.index;
}

ZARRPOINT_INLINE std::optional<std::size_t> object_axis::find(index_t coordinate) const {
  std::size_t low = 0;
  for (std::size_t high = size(); low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    if (this->coordinate(middle) < coordinate) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == size() || this->coordinate(low) != coordinate) return std::nullopt;
  return low;
}

ZARRPOINT_INLINE std::pair<index_t, index_t> object_axis::elements(std::size_t j) const {
  if (!edges_.empty()) return {edges_[j].at, edges_[j].at + edges_[j].count};
  const plan_axis::slab slab = regular_.at(j);
  return {static_cast<index_t>(slab.low), static_cast<index_t>(slab.high)};
}

ZARRPOINT_INLINE sparse_read::sparse_read(const array_state& of, const context& how,
                                          const mutable_host_view& into,
                                          const read_options& options)
    : of_(of), how_(with_scratch(how)), into_(into), options_(options), account_(*how_.scratch) {}

ZARRPOINT_INLINE result<void> sparse_read::run(const selection& part, progress_meter& meter) {
  part_ = &part;
  meter_ = &meter;
  ZARRPOINT_TRY(many, find_axes(part));
  if (!many) return read_all(part, into_);
  std::size_t batch = first_batch;
  for (std::size_t done = 0; done < size_; batch *= 2) {
    const std::size_t end = done + std::min(batch, size_ - done);
    const std::size_t before = account_.missing;
    ZARRPOINT_CHECK(read_run({done, end}));
    const std::size_t missing = account_.missing - before;
    done = end;
    // An array with many more objects than this is about is not listed again by its next read.
    if (missing >= batch / 2 && account_.missing >= of_.listed.get() / 4 && done < size_)
      return read_listed(done);
  }
  return {};
}

/// Whether a selection, which is not empty, meets a few objects of a grid at most.
ZARRPOINT_INLINE bool meets_few(const chunk_grid& grid, const selection& part) {
  std::size_t objects = 1;
  for (std::size_t d = 0; d < part.rank(); ++d) {
    const index_t last = part.offset[d] + (part.shape[d] - 1) * part.step[d];
    const index_t span = last / grid.object_shape[d] - part.offset[d] / grid.object_shape[d];
    const auto along = static_cast<std::size_t>(std::min(part.shape[d] - 1, span)) + 1;
    if (along > sparse_read::few_objects / objects) return false;
    objects *= along;
  }
  return true;
}

ZARRPOINT_INLINE bool sparse_read::suits(const array_state& of, const selection& part,
                                         const read_options& options) {
  if (options.missing != missing_chunks::fill || options.expected != nullptr) return false;
  if (element_count(part.shape).value_or(0) <= index_t{few_objects}) return false;
  if (of.metadata.edges.empty() && meets_few(of.layout.grid(), part)) return false;
  return of.store.can_list();
}

ZARRPOINT_INLINE result<bool> sparse_read::find_axes(const selection& part) {
  const std::size_t bytes = byte_count(part.shape, memory_size(into_.type)).value_or(0);
  for (std::size_t d = 0; d < part.rank(); ++d) {
    if (!of_.metadata.edges.empty())
      ZARRPOINT_CHECK(
          check_chunk_count(most_edge_parts(of_.metadata.edges[d], part, d), how_.limit));
    axes_.emplace_back(of_, part, d);
  }
  tail_.resize(axes_.size());
  for (std::size_t d = axes_.size(); d-- > 0;) {
    tail_[d] = size_;
    size_ *= axes_[d].size();  // not more than there are elements
  }
  ZARRPOINT_CHECK(check_chunk_count(size_, how_.limit));
  return size_ > few_objects && bytes / size_ < small_part;
}

ZARRPOINT_INLINE result<void> sparse_read::read_all(const selection& part,
                                                    const mutable_host_view& into) {
  if (!of_.metadata.edges.empty()) {
    rectilinear_array chunks(of_, how_, part);
    chunks.count_in(account_);
    return chunks.read(into, options_, *meter_);
  }
  read_operation operation(of_, how_, into, options_);
  operation.count_in(account_);
  return operation.run(part, *meter_);
}

template <class F>
result<void> sparse_read::for_each_box(run_of_objects run, const F& f) const {
  const std::size_t rank = axes_.size();
  while (run.begin < run.end) {
    // A step goes along the outermost axis where one whole step fits, as far as the room allows.
    std::size_t d = 0;
    while (run.begin % tail_[d] != 0 || tail_[d] > run.end - run.begin) ++d;
    const std::size_t at = run.begin / tail_[d] % axes_[d].size();
    const std::size_t count = std::min((run.end - run.begin) / tail_[d], axes_[d].size() - at);
    box part{dims(rank, 0), part_->shape};
    for (std::size_t i = 0; i <= d; ++i) {
      const std::size_t first = run.begin / tail_[i] % axes_[i].size();
      part.offset[i] = axes_[i].elements(first).first;
      const std::size_t last = i == d ? first + count - 1 : first;
      part.shape[i] = axes_[i].elements(last).second - part.offset[i];
    }
    ZARRPOINT_CHECK(f(part));
    run.begin += count * tail_[d];
  }
  return {};
}

ZARRPOINT_INLINE result<void> sparse_read::read_run(const run_of_objects& run) {
  return for_each_box(run, [&](const box& part) {
    const mutable_host_view to = subview(into_, part);
    return read_all(part_of(*part_, part), to);
  });
}

ZARRPOINT_INLINE result<void> sparse_read::fill_run(const run_of_objects& run) {
  return for_each_box(run, [&](const box& part) -> result<void> {
    const mutable_host_view to = subview(into_, part);
    read_operation operation(of_, how_, to, options_);
    operation.count_in(account_);
    ZARRPOINT_CHECK(operation.fill());
    meter_->add(of_.key.str(), byte_count(part.shape, memory_size(of_.metadata.type)).value_or(0));
    return {};
  });
}

ZARRPOINT_INLINE result<void> sparse_read::read_listed(std::size_t first) {
  ZARRPOINT_TRY(runs, list_runs(first));
  memory_bound_for items(how_.executor, runs.size(), {.stop = how_.stop});
  return items.run(
      [&](std::size_t i) -> result<void> {
        const std::size_t from = i == 0 ? first : runs[i - 1].end;
        ZARRPOINT_CHECK(fill_run({from, runs[i].begin}));
        return read_run(runs[i]);
      },
      [&](std::size_t refused) -> std::size_t {
        how_.scratch->drop_idle();
        return refused;
      });
}

ZARRPOINT_INLINE result<std::vector<sparse_read::run_of_objects>> sparse_read::list_runs(
    std::size_t first) {
  std::vector<numbered_place> found;
  ZARRPOINT_CHECK(list_folder({}, 0, found));
  of_.listed.set(listed_);
  sort_numbers(found);
  std::vector<run_of_objects> out;
  for (const numbered_place& one : found) {
    const auto number = static_cast<std::size_t>(one.number);
    if (number < first) continue;
    if (out.empty() || out.back().end != number) out.push_back({number, number});
    out.back().end = number + 1;
  }
  if (out.empty() || out.back().end != size_) out.push_back({size_, size_});  // the last gap
  return out;
}

ZARRPOINT_INLINE result<void> sparse_read::list_folder(const std::string& folder, std::size_t depth,
                                                       std::vector<numbered_place>& found) {
  const chunk_key_encoding& keys = of_.metadata.keys;
  const std::size_t before = keys.kind == chunk_key_encoding::style::default_ ? 1 : 0;
  const std::size_t segments = keys.separator == '/' ? axes_.size() + before : 1;
  ZARRPOINT_TRY(at, of_.key.child(folder));
  ZARRPOINT_TRY(children, of_.store.list(at));
  listed_ += children.size();
  for (const list_entry& child : children) {
    const std::string path = folder.empty() ? child.name : folder + '/' + child.name;
    if (depth + 1 == segments) {
      const auto coordinates = keys.parse(path, axes_.size());
      if (const auto number = coordinates ? number_of(*coordinates) : std::nullopt)
        found.push_back({*number, 0});
      continue;
    }
    const auto coordinates = keys.parse(path, depth + 1 - before);
    if (!coordinates ||
        (!coordinates->empty() && !axes_[depth - before].find((*coordinates)[depth - before])))
      continue;
    if (child.is_prefix) {
      ZARRPOINT_CHECK(list_folder(path, depth + 1, found));
    } else {
      // A thing that is neither object nor folder is refused by name, as it is where chunks beneath
      // it are looked for.
      ZARRPOINT_TRY(key, of_.key.child(path));
      ZARRPOINT_CHECK(of_.store.open(key));
    }
  }
  return {};
}

ZARRPOINT_INLINE std::optional<std::size_t> sparse_read::number_of(const dims& coordinates) const {
  std::size_t number = 0;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    const auto j = axes_[d].find(coordinates[d]);
    if (!j) return std::nullopt;
    number += *j * tail_[d];
  }
  return number;
}

}}}  // namespace zarrpoint::v0::detail
