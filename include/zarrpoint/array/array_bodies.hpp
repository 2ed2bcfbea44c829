// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/raw_object.hpp>
#include <zarrpoint/array/rectilinear.hpp>
#include <zarrpoint/array/sparse_read.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <array>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- rectilinear.hpp

ZARRPOINT_INLINE std::vector<edge_part> edge_parts(const axis_edges& edges, const selection& part,
                                                   std::size_t axis) {
  std::vector<edge_part> out;
  const index_t step = part.step[axis];
  for (index_t i = 0; i < part.shape[axis];) {
    const index_t element = part.offset[axis] + i * step;
    const axis_edges::chunk chunk = edges.find(element);
    const index_t inside = element - chunk.start;
    const index_t count = std::min((chunk.extent - inside - 1) / step + 1, part.shape[axis] - i);
    out.push_back({chunk, inside, i, count});
    i += count;
  }
  return out;
}

ZARRPOINT_INLINE std::uint64_t most_edge_parts(const axis_edges& edges, const selection& part,
                                               std::size_t axis) {
  if (part.shape[axis] == 0) return 0;
  const index_t last = part.offset[axis] + (part.shape[axis] - 1) * part.step[axis];
  const index_t chunks = edges.find(last).index - edges.find(part.offset[axis]).index + 1;
  return static_cast<std::uint64_t>(std::min(chunks, part.shape[axis]));
}

ZARRPOINT_INLINE rectilinear_array::rectilinear_array(const array_state& of, const context& how,
                                                      const selection& part)
    : of_(of), how_(how), part_(part), alone_(of_one_worker(how)) {}

ZARRPOINT_INLINE result<void> rectilinear_array::find_axes() {
  // Of an empty selection the other axes may say as many chunks as they like.
  if (box::whole(part_.shape).empty()) return {};
  for (std::size_t d = 0; d < part_.rank(); ++d)
    ZARRPOINT_CHECK(
        check_chunk_count(most_edge_parts(of_.metadata.edges[d], part_, d), how_.limit));
  for (std::size_t d = 0; d < part_.rank(); ++d)
    axes_.push_back(edge_parts(of_.metadata.edges[d], part_, d));
  return {};
}

ZARRPOINT_INLINE result<void> rectilinear_array::read(const mutable_host_view& into,
                                                      const read_options& options,
                                                      progress_meter& meter) {
  read_account own(*alone_.scratch);
  read_account& account = account_ != nullptr ? *account_ : own;
  return for_each_chunk([&](const array_state& chunk, const selection& within, const box& at) {
    const mutable_host_view to = subview(into, at);
    read_operation operation(chunk, alone_, to, options);
    operation.count_in(account);
    return operation.run(within, meter);
  });
}

ZARRPOINT_INLINE result<void> rectilinear_array::write(const host_view& from,
                                                       const write_options& options,
                                                       progress_meter& meter) {
  return write_parts([&](const box& at) { return subview(from, at); }, options, meter);
}

ZARRPOINT_INLINE result<void> rectilinear_array::write(element_source& from,
                                                       const write_options& options,
                                                       progress_meter& meter) {
  return write_parts([&](const box& at) { return source_box(from, at); }, options, meter);
}

ZARRPOINT_INLINE result<array_state> rectilinear_array::state_of(const dims& index,
                                                                 const dims& extents,
                                                                 const dims& shape) {
  ZARRPOINT_TRY(described, describe(extents, shape));
  array_state out{of_.store, of_.key, std::move(described)};
  out.only_key = of_.metadata.keys.key(index);
  out.outer = &of_;
  return out;
}

ZARRPOINT_INLINE result<std::shared_ptr<const array_description>> rectilinear_array::describe(
    const dims& extents, const dims& shape) {
  {
    const std::lock_guard lock(mutex_);
    for (const described& one : described_)
      if (one.extents == extents && one.shape == shape) return one.of;
  }
  array_metadata metadata;
  metadata.zarr_format = of_.metadata.zarr_format;
  metadata.type = of_.metadata.type;
  metadata.fill = of_.metadata.fill;
  metadata.codecs = of_.metadata.codecs;
  metadata.shape = shape;
  metadata.chunk_shape = extents;
  ZARRPOINT_TRY(layout, array_layout::resolve(metadata, how_.codecs, how_.limit));
  auto made = detail::make_counted<const array_description>(
      array_description{std::move(metadata), std::move(layout), alone_});
  const std::lock_guard lock(mutex_);
  // Grids of very many shapes are few; what is kept stays bounded all the same.
  if (described_.size() >= 64) described_.clear();
  described_.push_back({extents, shape, made});
  return made;
}

// --------------------------------------------------------------------------------- sparse_read.hpp

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
    const std::uint64_t bytes = byte_count(part.shape, memory_size(of_.metadata.type)).value_or(0);
    const phase_scope placed(meter_->observer(), phase::place, of_.key.str(), bytes);
    read_operation operation(of_, how_, to, options_);
    operation.count_in(account_);
    ZARRPOINT_CHECK(operation.fill());
    meter_->add(of_.key.str(), bytes);
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

// ---------------------------------------------------------------------------------- raw_object.hpp

/// Whether the elements of each inner chunk are neighbours in the array, too: padding comes after
/// all of them.
ZARRPOINT_INLINE bool are_runs(const chunk_grid& grid) {
  std::size_t first = 0;  // the first axis along which a chunk has more than one of them
  while (first < grid.shape.rank() && std::min(grid.shape[first], grid.inner_shape[first]) == 1)
    ++first;
  for (std::size_t d = first + 1; d < grid.shape.rank(); ++d) {
    if (grid.inner_shape[d] != grid.shape[d]) return false;
  }
  return true;
}

ZARRPOINT_INLINE raw_run run_of(const array_state& of, const dims& object, const dims& inner) {
  const chunk_grid& grid = of.layout.grid();
  const std::uint64_t element = of.metadata.type.size();
  const auto word = [](index_t extent) { return static_cast<std::uint64_t>(extent); };
  raw_run out;
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < inner.rank(); ++d) {
    const std::uint64_t extent = word(grid.shape[d]);
    const std::uint64_t start =
        word(object[d]) * word(grid.object_shape[d]) + word(inner[d]) * word(grid.inner_shape[d]);
    out.first = out.first * extent + start;
    count *= std::min(extent - std::min(start, extent), word(grid.inner_shape[d]));
  }
  out.first *= element;
  out.bytes = count * element;
  return out;
}

/// Appends what follows the last run in the object and in the array to it.
ZARRPOINT_INLINE void append_run(std::vector<raw_run>& runs, raw_run&& next) {
  if (!runs.empty()) {
    raw_run& last = runs.back();
    const std::uint64_t stored = last.blocks * last.block_bytes;
    if (last.bytes == stored && next.first == last.first + last.bytes &&
        next.offset == last.offset + stored) {
      last.bytes += next.bytes;
      last.blocks += next.blocks;
      last.crc32c.insert(last.crc32c.end(), next.crc32c.begin(), next.crc32c.end());
      return;
    }
  }
  runs.push_back(std::move(next));
}

ZARRPOINT_INLINE result<std::optional<raw_object>> find_raw(const array_state& of,
                                                            const dims& object, const context& how,
                                                            const read_options& options) {
  using found = std::optional<raw_object>;
  const array_layout& layout = of.layout;
  const tensor_spec spec = of.metadata.spec();
  if (!of.metadata.edges.empty() || box::whole(spec.shape).empty()) return found();
  if (!layout.chain().is_raw() || !layout.is_row_major() || !are_runs(layout.grid()))
    return found();
  ZARRPOINT_CHECK(byte_count(spec));
  ZARRPOINT_CHECK(selection(box{object, dims(object.rank(), 1)}).check(layout.grid().objects()));

  raw_object out{.key = of.chunk_key(object)};
  const std::shared_ptr<scratch_pool> pool = scratch_of(how);
  const scratch_pool::lease scratch = pool->borrow();
  ZARRPOINT_TRY(
      stored,
      stored_object::open(of, out.key, *scratch, {options.expected}).at("chunk " + out.key));
  if (stored == nullptr) return found();
  const object_digest* expected =
      options.expected != nullptr && options.checksums ? options.expected->find(out.key) : nullptr;
  const std::uint64_t size = layout.chain().encoded_bound();
  const dims counts = layout.grid().inner_per_object();
  dims inner(counts.rank(), 0);
  for (std::uint64_t left = layout.inner_count(); left-- != 0;) {
    raw_run run = run_of(of, object, inner);
    if (run.bytes != 0) {
      const std::size_t slot = layout.slot(inner);
      const shard_entry entry = stored->entry(slot);
      if (entry.absent() || entry.size != size) return found();
      run.offset = entry.offset;
      run.block_bytes = size;
      run.blocks = 1;
      if (expected != nullptr) run.crc32c.push_back(expected->crc32c[slot]);
      append_run(out.runs, std::move(run));
    }
    for (std::size_t d = counts.rank(); d-- > 0;) {
      if (++inner[d] < counts[d]) break;
      inner[d] = 0;
    }
  }
  out.object = std::move(stored->bytes);
  return found(std::move(out));
}

}  // namespace detail

// --------------------------------------------------------------------------------------- array.hpp

ZARRPOINT_INLINE result<void> raw_run::check(std::size_t i, std::uint32_t found) const {
  if (crc32c[i] == found) return {};
  return error{errc::corrupt, "stored block [" + std::to_string(i) + "]: its " +
                                  std::to_string(block_bytes) +
                                  " stored bytes do not match their checksum"};
}

ZARRPOINT_INLINE read_options array::with_digests(read_options options) const noexcept {
  if (options.expected == nullptr) options.expected = expected_.get();
  return options;
}

namespace detail {

/// The metadata of the array at `key`, of either format; `not_found` when there is none.
ZARRPOINT_INLINE result<array_metadata> read_array_metadata(const any_store& store,
                                                            const store_key& key,
                                                            const limits& limit) {
  const std::string where = store.describe(key);
  ZARRPOINT_TRY(v3, read_document(store, key, "zarr.json", limit));
  if (v3) return parse_array_v3(*v3).at(where + "/zarr.json");
  ZARRPOINT_TRY(v2, read_document(store, key, ".zarray", limit));
  if (!v2) return nothing_at(store, key, " is not an array: it has no zarr.json or .zarray");
  ZARRPOINT_TRY(attributes, read_document(store, key, ".zattrs", limit));
  return parse_array_v2(*v2, attributes ? &*attributes : nullptr).at(where + "/.zarray");
}

}  // namespace detail

ZARRPOINT_INLINE result<array> array::from_metadata(any_store store, store_key key,
                                                    array_metadata metadata, const context& how) {
  return guarded([&]() -> result<array> {
    const std::size_t fill = metadata.fill.bytes().size();
    if (fill != metadata.type.size() && !(metadata.fill.is_null() && fill == 0))
      return error{errc::invalid_argument,
                   "the fill value is not of type " + std::string(to_string(metadata.type))};
    // What a v2 array leaves undefined reads as zero.
    if (fill != metadata.type.size()) metadata.fill = fill_value::undefined(metadata.type);
    result<array_layout> layout = array_layout::resolve(metadata, how.codecs, how.limit);
    if (!layout) return std::move(layout).failure().at("array " + store.describe(key));
    return array(detail::make_counted<const detail::array_state>(
        std::move(store), std::move(key), std::move(metadata), *std::move(layout), how));
  });
}

ZARRPOINT_INLINE array array::expecting(std::shared_ptr<const chunk_digests> digests) const {
  array out = *this;
  out.expected_ = std::move(digests);
  out.origin_ = nullptr;
  return out;
}

ZARRPOINT_INLINE array array::expecting(std::shared_ptr<const chunk_digests> digests,
                                        const detail::read_origin& by) const {
  array out = expecting(std::move(digests));
  out.origin_ = &by;
  return out;
}

ZARRPOINT_INLINE array array::same_at(store_key key) const {
  return array(detail::make_counted<const detail::array_state>(state_->store, std::move(key),
                                                               state_->described));
}

ZARRPOINT_INLINE result<array> array::open(any_store store, const store_key& key,
                                           const context& how) {
  return guarded([&]() -> result<array> {
    result<array_metadata> found = detail::read_array_metadata(store, key, how.limit);
    // A save that replaces what lies above may have been between two reads.
    if (!found && found.failure().code == errc::not_found)
      found = detail::read_array_metadata(store, key, how.limit);
    ZARRPOINT_TRY(metadata, std::move(found));
    return from_metadata(std::move(store), key, std::move(metadata), how);
  });
}

ZARRPOINT_INLINE result<array> array::create(any_store store, store_key key,
                                             array_metadata metadata, const context& how) {
  return guarded([&]() -> result<array> {
    if (auto allowed = detail::check_levels(metadata.codecs); !allowed)
      return std::move(allowed).failure().at("create array " + store.describe(key));
    ZARRPOINT_TRY(made, from_metadata(std::move(store), std::move(key), std::move(metadata), how));
    const detail::array_state& state = *made.state_;
    for (const std::string_view name : {"zarr.json", ".zarray"}) {
      ZARRPOINT_TRY(document_key, state.key.child(name));
      ZARRPOINT_TRY(existing, state.store.open(document_key));
      if (existing != nullptr)
        return error{errc::already_exists, "create array: " + existing->name() + " exists"};
    }
    if (state.metadata.zarr_format == 3) {
      ZARRPOINT_TRY(document, to_v3(state.metadata));
      ZARRPOINT_CHECK(detail::put_node_document(state.store, state.key, "zarr.json", document));
    } else {
      ZARRPOINT_TRY(documents, to_v2(state.metadata));
      if (!documents.attributes.is_null())
        ZARRPOINT_CHECK(
            detail::put_node_document(state.store, state.key, ".zattrs", documents.attributes));
      ZARRPOINT_CHECK(
          detail::put_node_document(state.store, state.key, ".zarray", documents.document));
    }
    return std::move(made);
  });
}

ZARRPOINT_INLINE const array_metadata& array::metadata() const noexcept { return state_->metadata; }
ZARRPOINT_INLINE tensor_spec array::spec() const { return state_->metadata.spec(); }
ZARRPOINT_INLINE const any_store& array::store() const noexcept { return state_->store; }
ZARRPOINT_INLINE const store_key& array::key() const noexcept { return state_->key; }
ZARRPOINT_INLINE const context& array::default_context() const noexcept { return state_->how; }
ZARRPOINT_INLINE const array_layout& array::layout() const noexcept { return state_->layout; }

namespace detail {

/// Whether the memory given for a selection of an array fits it.
inline result<void> check_transfer(const array_state& of, const selection& part,
                                   const tensor_spec& memory, bool cast) {
  ZARRPOINT_CHECK(part.check(of.metadata.shape));
  if (!(cast ? memory.type.castable_to(of.metadata.type) : memory.type == of.metadata.type))
    return error{errc::dtype_mismatch, "the array is of type " +
                                           std::string(to_string(of.metadata.type)) + ", not " +
                                           std::string(to_string(memory.type))};
  if (memory.shape != part.shape)
    return error{errc::shape_mismatch, "the selection has shape " + to_string(part.shape) +
                                           ", the memory " + to_string(memory.shape)};
  return {};
}

/// The decoded bytes of a selection, for the total of a progress meter.
inline std::uint64_t transfer_bytes(const array_state& of, const dims& shape) {
  return byte_count(shape, memory_size(of.metadata.type)).value_or(0);
}

}  // namespace detail

ZARRPOINT_INLINE result<void> array::read(const selection& part, const mutable_host_view& into,
                                          const read_options& options) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(detail::at_array(
        detail::check_transfer(*state_, part, into.spec(), options.cast), *state_));
    const context& how = options.how != nullptr ? *options.how : state_->how;
    const read_options checked = with_digests(options);
    progress_meter own(options.meter ? nullptr : &how.progress, "read",
                       detail::transfer_bytes(*state_, part.shape), how.observer);
    progress_meter& meter = options.meter != nullptr ? *options.meter : own;
    if (detail::sparse_read::suits(*state_, part, checked))
      return detail::at_array(detail::sparse_read(*state_, how, into, checked).run(part, meter),
                              *state_);
    if (!state_->metadata.edges.empty())
      return explained(detail::at_array(
          detail::rectilinear_array(*state_, how, part).read(into, checked, meter), *state_));
    detail::read_operation operation(*state_, how, into, checked);
    return explained(detail::at_array(operation.run(part, meter), *state_));
  });
}

ZARRPOINT_INLINE result<tensor> array::read(const selection& part,
                                            const read_options& options) const {
  return guarded([&]() -> result<tensor> {
    ZARRPOINT_CHECK(detail::at_array(part.check(state_->metadata.shape), *state_));
    const context& given = options.how != nullptr ? *options.how : state_->how;
    const auto scratch = detail::scratch_of_part(*state_, given, part.shape);
    context how = given;
    how.scratch = scratch.pool();
    scratch_account made(*how.scratch);
    read_options by = options;
    by.how = &how;
    const tensor_spec spec{state_->metadata.type, part.shape};
    ZARRPOINT_TRY(out, detail::at_array(detail::make_tensor(spec, how, made), *state_));
    ZARRPOINT_CHECK(read(part, out.mutable_view(), by));
    return std::move(out);
  });
}

namespace detail {

/// `array::write` from a `host_view` or an `element_source`.
template <class Source>
result<void> write_to(const array_state& of, const selection& part, Source& from,
                      const write_options& options) {
  ZARRPOINT_CHECK(check_transfer(of, part, from.spec(), options.cast));
  if (!of.layout.can_write())
    return error{errc::unsupported,
                 "this array can only be read: this build does not know one of its codecs"};
  const context& how = options.how != nullptr ? *options.how : of.how;
  progress_meter own(options.meter ? nullptr : &how.progress, "write",
                     transfer_bytes(of, part.shape), how.observer);
  progress_meter& meter = options.meter != nullptr ? *options.meter : own;
  if (!of.metadata.edges.empty())
    return rectilinear_array(of, how, part).write(from, options, meter);
  write_operation operation(of, how, from, options);
  return operation.run(part, meter);
}

}  // namespace detail

ZARRPOINT_INLINE result<void> array::write(const selection& part, const host_view& from,
                                           const write_options& options) const {
  return guarded([&]() -> result<void> {
    return detail::at_array(detail::write_to(*state_, part, from, options), *state_);
  });
}

ZARRPOINT_INLINE result<void> array::write(const selection& part, element_source& from,
                                           const write_options& options) const {
  return guarded([&]() -> result<void> {
    return detail::at_array(detail::write_to(*state_, part, from, options), *state_);
  });
}

ZARRPOINT_INLINE pending<tensor> array::read_async(const selection& part,
                                                   const read_options& options) const {
  return detail::in_background(state_->how, options, [self = *this, part](const read_options& by) {
    return self.read(part, by);
  });
}

ZARRPOINT_INLINE pending<void> array::write_async(const selection& part, element_source& from,
                                                  const write_options& options) const {
  return detail::in_background(
      state_->how, options,
      [self = *this, part, &from](const write_options& by) { return self.write(part, from, by); });
}

namespace detail {

inline result<void> verify_mapped(const context& how, const raw_run& run, bytes_view stored) {
  const auto size = static_cast<std::size_t>(run.block_bytes);
  return parallel_for(
      how.executor, run.crc32c.size(),
      [&](std::size_t i) { return run.check(i, crc32c(stored.subspan(i * size, size))); },
      {.stop = how.stop});
}

/// The lone object of an array, mapped; nothing where the layout or the store does not allow it.
inline result<std::optional<mapped_view>> map_array(const array_state& of, const context& how,
                                                    const read_options& options) {
  const tensor_spec spec = of.metadata.spec();
  if (box::whole(spec.shape).empty() && of.metadata.edges.empty() && of.layout.chain().is_raw() &&
      of.layout.is_row_major())
    return mapped_view{dense_view(static_cast<const std::byte*>(nullptr), spec), {}};
  const chunk_grid& grid = of.layout.grid();
  for (std::size_t d = 0; d < spec.shape.rank(); ++d) {
    if (grid.object_shape[d] < spec.shape[d]) return std::optional<mapped_view>();
  }
  ZARRPOINT_TRY(found, find_raw(of, dims(spec.shape.rank(), 0), how, options));
  if (!found || found->runs.size() != 1) return std::optional<mapped_view>();
  const raw_run& run = found->runs.front();
  result<mapping> mapped = found->object->map();
  if (!mapped) {
    if (mapped.failure().code == errc::unsupported) return std::optional<mapped_view>();
    return std::move(mapped).failure();
  }
  const std::uint64_t size = run.block_bytes * run.blocks;
  if (mapped->bytes().size() < run.offset + size)
    return error{errc::corrupt, "chunk " + found->key + ": it has changed since it was opened"};
  const bytes_view bytes =
      mapped->bytes().subspan(static_cast<std::size_t>(run.offset), static_cast<std::size_t>(size));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % spec.type.scalar_size() != 0)
    return std::optional<mapped_view>();
  mapped_view out{dense_view(bytes.data(), spec), *std::move(mapped)};
  ZARRPOINT_CHECK(verify_mapped(how, run, bytes).at("chunk " + found->key));
  return std::optional<mapped_view>(std::move(out));
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<mapped_view>> array::view(const read_options& options) const {
  return guarded([&]() -> result<std::optional<mapped_view>> {
    const context& how = options.how != nullptr ? *options.how : state_->how;
    return explained(
        detail::at_array(detail::map_array(*state_, how, with_digests(options)), *state_));
  });
}

ZARRPOINT_INLINE result<std::optional<raw_object>> array::raw(const dims& object,
                                                              const read_options& options) const {
  return guarded([&]() -> result<std::optional<raw_object>> {
    const context& how = options.how != nullptr ? *options.how : state_->how;
    return explained(
        detail::at_array(detail::find_raw(*state_, object, how, with_digests(options)), *state_));
  });
}

// --------------------------------------------------------------------------------------- group.hpp

ZARRPOINT_INLINE group::group(location_of_group at, group_metadata metadata, nodes consolidated)
    : at_(std::move(at)), metadata_(std::move(metadata)), consolidated_(std::move(consolidated)) {}

ZARRPOINT_INLINE result<group> group::open(any_store store, store_key key, const context& how,
                                           metadata_use use) {
  bool has_several = false;  // documents, as in v2
  const auto look = [&]() -> result<group> {
    ZARRPOINT_TRY(found, detail::read_stored_node(store, key, how.limit));
    if (!found)
      return detail::nothing_at(store, key, " is not a group: it has no zarr.json or .zgroup");
    if (found->kind == node_kind::array)
      return error{errc::invalid_argument, store.describe(key) + " is an array, not a group"};
    const auto read = [&]() -> result<group> {
      ZARRPOINT_TRY(metadata, detail::parse_group(*found));
      nodes consolidated;
      if (use == metadata_use::consolidated) {
        ZARRPOINT_TRY(listed, detail::consolidated_nodes(store, key, *found, how.limit));
        if (listed) consolidated = detail::make_counted<const node_list>(*std::move(listed));
      }
      metadata.consolidated.reset();
      return group({store, key, how}, std::move(metadata), std::move(consolidated));
    };
    has_several = found->zarr_format == 2;
    return read().at("group " + store.describe(key));
  };
  return guarded([&]() -> result<group> {
    result<group> opened = look();
    if (opened) return opened;
    const errc code = opened.failure().code;
    // A save that replaces what lies above may have been between two reads.
    if (code == errc::not_found || (code == errc::corrupt && has_several)) return look();
    return opened;
  });
}

ZARRPOINT_INLINE result<group> group::create(any_store store, store_key key,
                                             const group_options& options, const context& how) {
  return guarded([&]() -> result<group> {
    if (options.zarr_format != 2 && options.zarr_format != 3)
      return error{errc::invalid_argument, "group: zarr_format must be 2 or 3"};
    ZARRPOINT_TRY(found, detail::read_stored_node(store, key, how.limit));
    if (found)
      return error{errc::already_exists,
                   "create group " + store.describe(key) + ": an array or group is there already"};
    group_metadata metadata{options.zarr_format, options.attributes, {}};
    ZARRPOINT_CHECK(
        detail::put_group(store, key, metadata).at("create group " + store.describe(key)));
    return group({std::move(store), std::move(key), how}, std::move(metadata), nullptr);
  });
}

ZARRPOINT_INLINE result<void> group::set_attributes(json attributes) {
  return guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(write_attributes(store_key::root(), attributes));
    metadata_.attributes = std::move(attributes);
    return {};
  });
}

ZARRPOINT_INLINE result<void> group::set_attributes(std::string_view path,
                                                    const json& attributes) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(relative, store_key::parse(path));
    return write_attributes(relative, attributes);
  });
}

ZARRPOINT_INLINE result<std::vector<stored_node>> group::members() const {
  return guarded([&]() -> result<std::vector<stored_node>> {
    if (!consolidated_) return detail::list_nodes(at_.store, at_.key, at_.how.limit);
    node_list out;
    for (const stored_node& one : *consolidated_)
      if (one.path.find('/') == one.path.npos) out.push_back(one);
    return out;
  });
}

ZARRPOINT_INLINE result<std::vector<stored_node>> group::walk() const {
  return guarded([&]() -> result<std::vector<stored_node>> {
    if (!consolidated_) return detail::walk_nodes(at_.store, at_.key, at_.how.limit);
    return *consolidated_;
  });
}

ZARRPOINT_INLINE result<std::optional<stored_node>> group::find(std::string_view path) const {
  return guarded([&]() -> result<std::optional<stored_node>> {
    if (!consolidated_) {
      ZARRPOINT_TRY(full, at_.key.child(path));
      ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
      if (found) found->path = path;
      return std::move(found);
    }
    for (const stored_node& one : *consolidated_)
      if (one.path == path) return std::optional(one);
    return std::optional<stored_node>();
  });
}

ZARRPOINT_INLINE result<group> group::open_group(std::string_view path) const {
  return guarded([&]() -> result<group> {
    ZARRPOINT_TRY(full, at_.key.child(path));
    if (!consolidated_) return open(at_.store, std::move(full), at_.how);
    ZARRPOINT_TRY(found, require(path, node_kind::group));
    ZARRPOINT_TRY(metadata, detail::parse_group(found).at("group " + at_.store.describe(full)));
    metadata.consolidated.reset();
    auto beneath = detail::make_counted<node_list>();
    const std::string prefix = std::string(path) + '/';
    for (const stored_node& one : *consolidated_) {
      if (!one.path.starts_with(prefix)) continue;
      beneath->push_back(one);
      beneath->back().path.erase(0, prefix.size());
    }
    return group({at_.store, std::move(full), at_.how}, std::move(metadata), std::move(beneath));
  });
}

ZARRPOINT_INLINE result<array> group::open_array(std::string_view path) const {
  return guarded([&]() -> result<array> {
    ZARRPOINT_TRY(full, at_.key.child(path));
    ZARRPOINT_TRY(found, require(path, node_kind::array));
    ZARRPOINT_TRY(metadata, detail::parse_array(found).at("array " + at_.store.describe(full)));
    return array::from_metadata(at_.store, std::move(full), std::move(metadata), at_.how);
  });
}

ZARRPOINT_INLINE result<group> group::create_group(std::string_view path, json attributes) const {
  return guarded([&]() -> result<group> {
    ZARRPOINT_CHECK(make_parents(path));
    ZARRPOINT_TRY(full, at_.key.child(path));
    return create(at_.store, std::move(full), {zarr_format(), std::move(attributes)}, at_.how);
  });
}

ZARRPOINT_INLINE result<array> group::create_array(std::string_view path,
                                                   array_metadata metadata) const {
  return guarded([&]() -> result<array> {
    if (metadata.zarr_format != zarr_format())
      return error{errc::invalid_argument,
                   "create array " + detail::in_quotes(path) + ": an array of Zarr v" +
                       std::to_string(metadata.zarr_format) + " cannot be made in a group of v" +
                       std::to_string(zarr_format())};
    ZARRPOINT_CHECK(make_parents(path));
    ZARRPOINT_TRY(full, at_.key.child(path));
    ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
    if (found)
      return error{errc::already_exists, "create array " + at_.store.describe(full) +
                                             ": an array or group is there already"};
    return array::create(at_.store, std::move(full), std::move(metadata), at_.how);
  });
}

ZARRPOINT_INLINE result<bool> group::erase(std::string_view path) const {
  return guarded([&]() -> result<bool> {
    ZARRPOINT_TRY(full, member_key(path));
    return detail::erase_tree(at_.store, full);
  });
}

ZARRPOINT_INLINE result<void> group::rename(std::string_view from, std::string_view to) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(old_key, member_key(from));
    ZARRPOINT_TRY(new_key, member_key(to));
    ZARRPOINT_CHECK(detail::check_rename(at_.store, old_key, new_key));
    ZARRPOINT_CHECK(stored_at(from));
    ZARRPOINT_CHECK(check_free(to));
    ZARRPOINT_CHECK(make_parents(to));
    return detail::rename_tree(at_.store, old_key, new_key, at_.how);
  });
}

ZARRPOINT_INLINE result<void> group::copy(std::string_view path, const group& target,
                                          std::string_view to) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(from_key, member_key(path));
    ZARRPOINT_TRY(to_key, target.member_key(to));
    ZARRPOINT_TRY(found, stored_at(path));
    if (found.zarr_format != target.zarr_format())
      return error{errc::invalid_argument,
                   "copy " + at_.store.describe(from_key) + ": a node of Zarr v" +
                       std::to_string(found.zarr_format) + " cannot be copied to a group of v" +
                       std::to_string(target.zarr_format())};
    if (at_.store.is_above(from_key, target.at_.store, to_key))
      return error{errc::invalid_argument, "copy " + at_.store.describe(from_key) +
                                               ": a group cannot be copied into itself"};
    ZARRPOINT_CHECK(target.check_free(to));
    ZARRPOINT_CHECK(target.make_parents(to));
    return detail::copy_tree({at_.store, from_key}, {target.at_.store, to_key}, at_.how);
  });
}

ZARRPOINT_INLINE result<void> group::consolidate() const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(beneath, detail::walk_nodes(at_.store, at_.key, at_.how.limit));
    ZARRPOINT_TRY(root, own_node());
    return zarr_format() == 3 ? consolidate_v3(std::move(root), beneath)
                              : consolidate_v2(root, beneath);
  });
}

ZARRPOINT_INLINE result<stored_node> group::own_node() const {
  ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, at_.key, at_.how.limit));
  if (!found || found->kind != node_kind::group || found->zarr_format != zarr_format())
    return error{errc::not_found,
                 "the group at " + at_.store.describe(at_.key) + " was removed or replaced"};
  return *std::move(found);
}

ZARRPOINT_INLINE result<stored_node> group::require(std::string_view path, node_kind kind) const {
  ZARRPOINT_TRY(found, find(path));
  ZARRPOINT_TRY(full, at_.key.child(path));
  const std::string_view wanted = kind == node_kind::array ? " is not an array" : " is not a group";
  if (!found && consolidated_)
    return error{errc::not_found,
                 at_.store.describe(full) + " is not in the consolidated metadata"};
  if (!found)
    return detail::nothing_at(at_.store, full,
                              std::string(wanted) + ": it has no zarr.json, .zarray or .zgroup");
  if (found->kind != kind)
    return error{errc::invalid_argument, at_.store.describe(full) + std::string(wanted)};
  return *std::move(found);
}

ZARRPOINT_INLINE result<stored_node> group::stored_at(std::string_view path) const {
  ZARRPOINT_TRY(full, at_.key.child(path));
  ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
  if (!found)
    return detail::nothing_at(at_.store, full,
                              " is not a node: it has no zarr.json, .zarray or .zgroup");
  return *std::move(found);
}

ZARRPOINT_INLINE result<store_key> group::member_key(std::string_view path) const {
  if (path.empty())
    return error{errc::invalid_argument, "group " + at_.store.describe(at_.key) +
                                             ": give the path of a member; it is empty"};
  return at_.key.child(path);
}

ZARRPOINT_INLINE result<void> group::check_free(std::string_view path) const {
  ZARRPOINT_CHECK(detail::check_node_path(path));
  ZARRPOINT_TRY(full, at_.key.child(path));
  ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
  if (!found) return {};
  return error{errc::already_exists,
               at_.store.describe(full) + ": an array or group is there already"};
}

ZARRPOINT_INLINE result<void> group::make_parents(std::string_view path) const {
  ZARRPOINT_CHECK(detail::check_node_path(path));
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    ZARRPOINT_TRY(above, at_.key.child(path.substr(0, slash)));
    ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, above, at_.how.limit));
    if (!found) {
      ZARRPOINT_CHECK(detail::put_group(at_.store, above, {zarr_format(), {}, {}}));
    } else if (found->kind == node_kind::array || found->zarr_format != zarr_format()) {
      return error{errc::invalid_argument, at_.store.describe(above) + " is not a group of Zarr v" +
                                               std::to_string(zarr_format())};
    }
  }
  return {};
}

ZARRPOINT_INLINE result<void> group::write_attributes(const store_key& relative,
                                                      const json& attributes) const {
  ZARRPOINT_CHECK(detail::check_writable_attributes(attributes));
  ZARRPOINT_TRY(full, at_.key.child(relative));
  ZARRPOINT_TRY(found, stored_at(relative.str()));
  if (found.zarr_format == 2) return detail::put_v2_attributes(at_.store, full, attributes);
  found.document.set("attributes", attributes.is_null() ? json(json::object{}) : attributes);
  return detail::put_node_document(at_.store, full, "zarr.json", found.document);
}

ZARRPOINT_INLINE result<void> group::consolidate_v3(stored_node root,
                                                    const node_list& beneath) const {
  json::object documents;
  documents.reserve(beneath.size());
  for (const stored_node& one : beneath) {
    if (one.zarr_format != 3) continue;  // of another hierarchy, to which v3 is blind
    documents.push_back({one.path, one.document});
    // A group below says that nothing is known about it except what is here.
    if (one.kind == node_kind::group)
      documents.back().value.set("consolidated_metadata", inline_documents({}));
  }
  root.document.set("consolidated_metadata", inline_documents(std::move(documents)));
  return detail::put_node_document(at_.store, at_.key, "zarr.json", root.document);
}

ZARRPOINT_INLINE json group::inline_documents(json::object documents) {
  return json(json::object{
      {"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(documents)}});
}

ZARRPOINT_INLINE result<void> group::consolidate_v2(const stored_node& root,
                                                    const node_list& beneath) const {
  std::vector<detail::v2_node> all{{"", node_kind::group, root.document, root.attributes}};
  for (const stored_node& one : beneath)
    if (one.zarr_format == 2) all.push_back({one.path, one.kind, one.document, one.attributes});
  ZARRPOINT_TRY(document, detail::to_zmetadata(all));
  return detail::put_node_document(at_.store, at_.key, ".zmetadata", document);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/hierarchy/bodies.hpp>
#include <zarrpoint/array/write/bodies.hpp>
#endif
