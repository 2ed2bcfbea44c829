// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <map>
#include <numeric>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

// --------------------------------------------------------------------------------- dcp_archive.hpp

/// A member at its place. The names are ASCII.
ZARRPOINT_INLINE v0::detail::zip_member member_of(std::string name, std::uint64_t at,
                                                  std::uint64_t size, std::uint32_t crc) {
  v0::detail::zip_member out;
  out.name = std::move(name);
  out.crc32 = crc;
  out.size = out.stored_size = size;
  out.header_offset = at;
  return out;
}

inline constexpr std::string_view elements_name = "archive/data/0";

ZARRPOINT_INLINE std::uint64_t archive_layout::alignment() const noexcept {
  return element_bytes_ >= paged_bytes ? page : least_alignment;
}

ZARRPOINT_INLINE archive_layout::archive_layout(std::string pickle, bool has_tensor,
                                                std::uint64_t element_bytes)
    : has_tensor_(has_tensor), element_bytes_(element_bytes) {
  small_.push_back({"archive/data.pkl", std::move(pickle)});
  small_.push_back({"archive/byteorder", native_endian == endian::little ? "little" : "big"});
  small_.push_back({"archive/version", "3\n"});
  std::uint64_t at = 0;
  for (const member& one : small_)
    at += v0::detail::zip_local_size + one.name.size() + v0::detail::zip_least_extra +
          one.bytes.size();
  if (has_tensor_) {
    at += v0::detail::zip_local_size + elements_name.size() + v0::detail::zip_least_extra;
    at = (at + alignment() - 1) / alignment() * alignment();
  }
  elements_ = at;
  tail_ = at + element_bytes;
  tail_size_ = tail(0).size();
}

ZARRPOINT_INLINE std::string archive_layout::head(std::uint32_t crc) const {
  std::string out;
  for (const member& one : small_) {
    const std::size_t room =
        v0::detail::zip_local_size + one.name.size() + v0::detail::zip_least_extra;
    out += v0::detail::zip_local_header(
        member_of(one.name, out.size(), one.bytes.size(),
                  v0::detail::crc32(0, as_bytes(std::string_view(one.bytes)))),
        room);
    out += one.bytes;
  }
  if (!has_tensor_) return out;
  const std::size_t room = static_cast<std::size_t>(elements_) - out.size();
  out += v0::detail::zip_local_header(
      member_of(std::string(elements_name), out.size(), element_bytes_, crc), room);
  return out;
}

ZARRPOINT_INLINE std::string archive_layout::tail(std::uint32_t crc) const {
  if (small_.empty()) return {};
  std::string out;
  std::uint64_t at = 0;
  for (const member& one : small_) {
    v0::detail::append_zip_entry(
        out, member_of(one.name, at, one.bytes.size(),
                       v0::detail::crc32(0, as_bytes(std::string_view(one.bytes)))));
    at += v0::detail::zip_local_size + one.name.size() + v0::detail::zip_least_extra +
          one.bytes.size();
  }
  if (has_tensor_)
    v0::detail::append_zip_entry(out,
                                 member_of(std::string(elements_name), at, element_bytes_, crc));
  const std::uint64_t entries = small_.size() + (has_tensor_ ? 1 : 0);
  const std::uint64_t size = out.size();
  v0::detail::append_zip_end(out, {entries, size, tail_});
  return out;
}

ZARRPOINT_INLINE result<archive_layout> archive_layout::of_tensor(const tensor_spec& spec) {
  ZARRPOINT_TRY(bytes, byte_count(spec));
  ZARRPOINT_TRY(pickle, torch::detail::pickle_value_of(torch::value(
                            dense_view(static_cast<const std::byte*>(nullptr), spec))));
  return archive_layout(std::move(pickle.bytes), true, bytes);
}

ZARRPOINT_INLINE result<archive_layout> archive_layout::of_value(const torch::value& value) {
  ZARRPOINT_TRY(pickle, torch::detail::pickle_value_of(value));
  if (!pickle.storages.empty())
    return error{errc::invalid_argument, "a value has a tensor within it"};
  return archive_layout(std::move(pickle.bytes), false, 0);
}

ZARRPOINT_INLINE archive_layout archive_layout::of_file(std::uint64_t bytes) {
  archive_layout out;
  out.element_bytes_ = out.tail_ = bytes;
  return out;
}

// ----------------------------------------------------------------------------- dcp_item_writer.hpp

ZARRPOINT_INLINE std::vector<std::uint64_t> place_items(std::span<item_to_write> items,
                                                        std::uint64_t file_bytes,
                                                        std::size_t at_once) {
  std::uint64_t total = 0;
  for (const item_to_write& item : items) total += item.layout.size();
  const std::uint64_t most = std::max<std::uint64_t>(1, (total + worth_a_file / 2) / worth_a_file);
  const auto turns = static_cast<std::size_t>(std::clamp<std::uint64_t>(at_once, 1, most));
  std::vector<std::uint64_t> sizes;
  std::vector<std::size_t> open;
  for (item_to_write& item : items) {
    if (open.size() < turns) {
      open.push_back(sizes.size());
      sizes.push_back(0);
      item.file = open.back();
    } else {
      const auto least = std::min_element(open.begin(), open.end(), [&](auto one, auto other) {
        return sizes[one] < sizes[other];
      });
      if (sizes[*least] >= file_bytes) {
        *least = sizes.size();
        sizes.push_back(0);
      }
      item.file = *least;
    }
    const std::uint64_t unit = item.layout.alignment();
    std::uint64_t& size = sizes[item.file];
    item.offset = (size + unit - 1) / unit * unit;
    item.gap = static_cast<std::size_t>(item.offset - size);
    size = item.offset + item.layout.size();
  }
  return sizes;
}

ZARRPOINT_INLINE std::string file_name(int rank, std::size_t file) {
  return "__" + std::to_string(rank) + "_" + std::to_string(file) + ".distcp";
}

/// The elements with the axes that are in front of them.
ZARRPOINT_INLINE host_view with_axes(const host_view& of, std::size_t added) {
  host_view out = of;
  out.shape = dims(added, 1);
  out.strides = dims(added, 0);
  for (std::size_t d = 0; d < of.rank(); ++d) {
    out.shape.push_back(of.shape[d]);
    out.strides.push_back(of.strides[d]);
  }
  return out;
}

/// Writes the items of a process to the files that they have their places in.
class item_writer {
 public:
  /// `sizes`: of the files. All stays the caller's.
  item_writer(const any_store& store, const process_items& what,
              std::span<const std::uint64_t> sizes, const context& how)
      : store_(store),
        what_(what),
        sizes_(sizes),
        how_(how),
        meter_(&how.progress, "save",
               std::accumulate(what.items.begin(), what.items.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const item_to_write& one) {
                                 return sum + one.layout.element_bytes();
                               })) {}

  result<void> run() {
    constexpr std::size_t open_files = 16;
    for (std::size_t file = 0; file < sizes_.size(); file += open_files)
      ZARRPOINT_CHECK(write_files(file, std::min(sizes_.size(), file + open_files)));
    return {};
  }

 private:
  result<void> write_files(std::size_t first, std::size_t last);
  enum class progress : std::uint8_t { none, begun, whole };
  result<void> write_item(const item_to_write& item, const host_view& elements, blob_writer& to,
                          progress& done);

  const any_store& store_;
  const process_items& what_;
  const std::span<const std::uint64_t> sizes_;
  const context& how_;
  progress_meter meter_;
};

ZARRPOINT_INLINE result<void> item_writer::write_item(const item_to_write& item,
                                                      const host_view& elements, blob_writer& to,
                                                      progress& done) {
  std::uint32_t crc = 0;
  buffer scratch;
  const std::uint64_t first = item.offset + item.layout.elements();
  if (item.source != no_source) {
    const host_view part = subview(elements, selection(item.part));
    ZARRPOINT_CHECK(safetensors::detail::for_each_block(
        part, 0, [&](const host_view& block, std::uint64_t offset) -> result<void> {
          ZARRPOINT_TRY(size, byte_count(block.spec()));
          const std::byte* from = block.data;
          if (!is_dense(block)) {
            if (scratch.empty()) {
              ZARRPOINT_TRY(made, buffer::allocate(safetensors::detail::block_bytes,
                                                   v0::detail::resource_of(how_)));
              scratch = std::move(made);
            }
            copy_elements(dense_view(scratch.data(), block.spec()), block);
            from = scratch.data();
          }
          const bytes_view bytes(from, size);
          {
            const v0::detail::phase_scope encodes(how_.observer, phase::encode,
                                                  what_.sources[item.source].name, size);
            crc = v0::detail::crc32(crc, bytes);
          }
          const v0::detail::phase_scope writes(how_.observer, phase::write,
                                               what_.sources[item.source].name, size);
          done = progress::begun;
          ZARRPOINT_CHECK(to.write_once(first + offset, 0, bytes));
          meter_.add(what_.sources[item.source].name, size);
          return {};
        }));
  }
  const std::string head = item.layout.head(crc);
  const std::string tail = item.layout.tail(crc);
  done = progress::begun;
  ZARRPOINT_CHECK(to.write_once(item.offset, item.gap, as_bytes(std::string_view(head))));
  ZARRPOINT_CHECK(
      to.write_once(first + item.layout.element_bytes(), 0, as_bytes(std::string_view(tail))));
  done = progress::whole;
  return {};
}

ZARRPOINT_INLINE result<void> item_writer::write_files(std::size_t first, std::size_t last) {
  std::vector<std::unique_ptr<blob_writer>> writers;
  for (std::size_t file = first; file < last; ++file) {
    ZARRPOINT_TRY(key, store_key::parse(file_name(what_.rank, file)));
    ZARRPOINT_TRY(writer, store_.create(key));
    ZARRPOINT_CHECK(writer->reserve(sizes_[file]));
    writers.push_back(std::move(writer));
  }
  // What a device has is copied to the host once for all of its boxes.
  struct unit {
    std::size_t begin;
    std::size_t end;
    std::uint64_t bytes;
  };
  std::vector<unit> units;
  for (std::size_t i = 0; i < what_.items.size(); ++i) {
    const item_to_write& item = what_.items[i];
    if (item.file < first || item.file >= last) continue;
    const bool joins = !units.empty() && units.back().end == i && item.source != no_source &&
                       what_.items[i - 1].source == item.source &&
                       !what_.sources[item.source].on_host;
    if (joins) {
      ++units.back().end;
      units.back().bytes += item.layout.size();
    } else {
      units.push_back({i, i + 1, item.layout.size()});
    }
  }
  // The largest first: none of them is left to one thread in the end.
  std::stable_sort(units.begin(), units.end(),
                   [](const unit& one, const unit& other) { return one.bytes > other.bytes; });
  byte_limiter in_flight(how_.limit.bytes_in_flight);
  // Those without memory begin anew, and with them some that are done: nothing is written twice.
  std::vector<progress> written(what_.items.size());
  v0::detail::memory_bound_for each(how_.executor, units.size(), {.stop = how_.stop});
  ZARRPOINT_CHECK(each.run(
      [&](std::size_t u) -> result<void> {
        if (written[units[u].end - 1] == progress::whole) return {};
        const item_to_write& front = what_.items[units[u].begin];
        staged elements;
        byte_limiter::reservation room;
        std::string called = v0::detail::in_quotes(front.name);
        if (front.source != no_source) {
          const tensor_source& source = what_.sources[front.source];
          called = v0::detail::in_quotes(source.name);
          if (!source.on_host) {
            ZARRPOINT_TRY(taken, in_flight.acquire(source.bytes, how_.stop));
            room = std::move(taken);
          }
          auto made = source.stage(v0::detail::resource_of(how_));
          if (!made) return std::move(made).failure().at("save " + called);
          elements = *std::move(made);
          elements.view = with_axes(elements.view, source.added_axes);
        }
        for (std::size_t i = units[u].begin; i < units[u].end; ++i) {
          if (written[i] == progress::whole) continue;
          blob_writer& to = *writers[what_.items[i].file - first];
          ZARRPOINT_CHECK(
              write_item(what_.items[i], elements.view, to, written[i]).at("save " + called));
        }
        return {};
      },
      [&](std::size_t refused) {
        // Of an item that the store refused memory for, bytes may be there already.
        const bool can =
            std::find(written.begin(), written.end(), progress::begun) == written.end();
        return can ? std::optional(refused) : std::nullopt;
      }));
  // Each may wait for its bytes to be on disk.
  return parallel_for(how_.executor, writers.size(),
                      [&](std::size_t i) { return writers[i]->finish(); }, {.stop = how_.stop});
}

ZARRPOINT_INLINE result<message> write_items(const any_store& store, const process_items& what,
                                             const context& how) {
  const auto sizes = place_items(what.items, what.file_bytes, what.files_at_once);
  ZARRPOINT_CHECK(item_writer(store, what, sizes, how).run());
  v0::detail::wire_writer to;
  to.number(static_cast<std::size_t>(std::count_if(what.items.begin(), what.items.end(),
                                                   [](const auto& one) { return !one.at; })));
  for (const item_to_write& item : what.items) {
    to.text(item.source != no_source ? what.sources[item.source].name : item.name);
    if (item.at) to.part(*item.at);
    // Rank 0 knows the names of the files.
    for (const std::uint64_t number : {std::uint64_t{item.file}, item.offset, item.layout.size()})
      to.number(number);
  }
  return std::move(to).take();
}

/// What a process tells rank 0 of the items that it wrote: values by their names, and then boxes of
/// tensors in the order of the plan.
class item_receipt {
 public:
  item_receipt(bytes_view receipt, std::size_t rank)
      : from_(receipt),
        rank_(static_cast<int>(rank)),
        called_("the receipt of rank " + std::to_string(rank)) {}

  std::size_t files() const { return files_; }

  /// First. Errors: `corrupt` for a value that is there twice.
  result<void> read_values() {
    for (std::size_t left = from_.count(); left != 0 && !from_.failed(); --left) {
      const std::string name = from_.text();
      if (!values_.try_emplace(name, take_item()).second)
        return error{errc::corrupt, called_ + " has " + v0::detail::in_quotes(name) + " twice"};
    }
    return {};
  }

  result<void> take(value_entry& to) {
    const auto found = values_.find(to.name);
    if (found == values_.end()) return lacks(v0::detail::in_quotes(to.name));
    to.from = std::move(values_.extract(found).mapped());
    return {};
  }

  /// Errors: `corrupt` where `is_planned(told)` is false.
  template <class F>
  result<void> take(const tensor_entry& of, tensor_chunk& to, const F& is_planned) {
    const bool is_there = from_.rest() != 0 && from_.text() == of.name;
    tensor_chunk told;
    if (is_there) told.at = from_.part();
    if (is_there) told.from = take_item();
    const bool is_whole = is_there && !from_.failed() && (of.unflattened || told.at == to.at);
    if (!is_whole) return lacks(v0::detail::in_quotes(of.name) + " at " + to_string(to.at.offset));
    if (!is_planned(told))
      return error{errc::corrupt, called_ + " says that " + v0::detail::in_quotes(of.name) +
                                      " has " + to_string(told.at) + " in " +
                                      std::to_string(told.from.length) +
                                      " bytes, which is not what was planned"};
    to = std::move(told);
    return {};
  }

  /// Errors: `corrupt` for more than was planned.
  result<void> finish() const {
    ZARRPOINT_CHECK(from_.finish().at(called_));
    if (values_.empty()) return {};
    return error{errc::corrupt, called_ + " has a value that was not planned: " +
                                    v0::detail::in_quotes(values_.begin()->first)};
  }

 private:
  stored_item take_item() {
    const auto file = static_cast<std::size_t>(from_.number());
    if (!from_.failed() && file != SIZE_MAX) files_ = std::max(files_, file + 1);
    const std::uint64_t offset = from_.number();
    return {file_name(rank_, file), offset, from_.number(), {}, false};
  }

  error lacks(const std::string& what) const {
    return {errc::corrupt, called_ + " lacks " + what + ", which was planned"};
  }

  v0::detail::wire_reader from_;
  int rank_;
  std::size_t files_ = 0;
  std::string called_;
  std::map<std::string, stored_item, std::less<>> values_;
};

/// Whether a flat piece of the cell `whole` begins where the one before it ends.
ZARRPOINT_INLINE bool continues(const box& piece, const box& whole, index_t end, bool is_last) {
  if (piece.rank() != whole.rank()) return false;
  const std::size_t flat = whole.rank() - 1;
  for (std::size_t d = 0; d < flat; ++d)
    if (piece.offset[d] != whole.offset[d] || piece.shape[d] != whole.shape[d]) return false;
  const index_t left = whole.shape[flat] - end;
  return piece.offset[flat] == end && piece.shape[flat] > 0 &&
         (is_last ? piece.shape[flat] == left : piece.shape[flat] < left);
}

ZARRPOINT_INLINE result<std::vector<std::size_t>> read_receipts(planned_items& to,
                                                                std::span<const message> receipts) {
  std::vector<item_receipt> all;
  for (std::size_t rank = 0; rank < receipts.size(); ++rank) {
    all.emplace_back(receipts[rank], rank);
    ZARRPOINT_CHECK(all.back().read_values());
  }
  auto writer = to.writers.begin();
  const auto next = [&]() -> item_receipt& { return all[static_cast<std::size_t>(*writer++)]; };
  for (value_entry& value : to.made.values) ZARRPOINT_CHECK(next().take(value));
  for (tensor_entry& tensor : to.made.tensors) {
    index_t end = 0;  // of the pieces of a flat cell so far
    dims shape;       // most boxes have one
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
      const box planned = tensor.chunks[i].at;
      const bool is_last = i + 1 == tensor.chunks.size() || !(tensor.chunks[i + 1].at == planned);
      const auto is_planned = [&](const tensor_chunk& told) {
        if (tensor.unflattened && !continues(told.at, planned, end, is_last)) return false;
        if (bytes == 0 || !(told.at.shape == shape)) {
          const auto layout = archive_layout::of_tensor({tensor.spec.type, told.at.shape});
          if (!layout) return false;
          shape = told.at.shape;
          bytes = layout->size();
        }
        return told.from.length == bytes;
      };
      ZARRPOINT_CHECK(next().take(tensor, tensor.chunks[i], is_planned));
      if (tensor.unflattened) end = is_last ? 0 : end + shape.back();
    }
  }
  std::vector<std::size_t> files;
  for (const item_receipt& receipt : all) {
    ZARRPOINT_CHECK(receipt.finish());
    files.push_back(receipt.files());
  }
  return files;
}

// ------------------------------------------------------------------------------ dcp_save_place.hpp

ZARRPOINT_INLINE bool is_own_file(std::string_view name) {
  if (name == metadata_file || name == ".metadata.tmp") return true;
  return name.starts_with("__") && (name.ends_with(".distcp") || name.ends_with(metadata_file));
}

ZARRPOINT_INLINE result<std::vector<std::string>> own_files(const any_store& root) {
  std::vector<std::string> out;
  if (!root.can_list()) return out;
  ZARRPOINT_TRY(children, root.list(store_key::root()));
  for (const list_entry& child : children)
    if (!child.is_prefix && is_own_file(child.name)) out.push_back(child.name);
  std::sort(out.begin(), out.end());
  return out;
}

ZARRPOINT_INLINE result<v0::detail::own_look> state_rules::look(const any_store& root) const {
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  ZARRPOINT_TRY(object, root.open(key));
  if (object != nullptr) return v0::detail::own_look{true};
  ZARRPOINT_TRY(files, own_files(root));
  if (files.empty()) return v0::detail::own_look{};
  return v0::detail::own_look{
      false, "what is left of a PyTorch (DCP) checkpoint whose save was not finished"};
}

ZARRPOINT_INLINE result<void> state_rules::erase_document(const any_store& root) const {
  ZARRPOINT_TRY(document, store_key::parse(metadata_file));
  return root.erase(document).transform([](bool) {});
}

// ----------------------------------------------------------------------------- dcp_save_format.hpp

ZARRPOINT_INLINE result<void> save_format::prepare() {
  ZARRPOINT_CHECK(mine_.describe(given_.shards, given_.leaves, group_.ranks.size() == 1));
  const held_state& held = mine_.held();
  shared_ = held_state::encode(std::span(held.tensors).first(mine_.whole()), held.values);
  return {};
}

ZARRPOINT_INLINE result<message> save_format::describe(bool differs) {
  v0::detail::wire_writer to;
  // A plan is kept for what rank 0 brings, too.
  to.bytes(differs || group_.is_root() ? bytes_view(shared_) : bytes_view());
  to.bytes(held_state::encode(std::span(mine_.held().tensors).subspan(mine_.whole()), {}));
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<message>> save_format::plan(std::vector<message> described) {
  std::vector<held_parts> all(described.size());
  ZARRPOINT_TRY(of_root, held_state::decode(shared_));
  const auto root = v0::detail::make_counted<const held_state>(std::move(of_root));
  for (std::size_t rank = 0; rank < described.size(); ++rank) {
    const auto read = [&]() -> result<void> {
      v0::detail::wire_reader from(described[rank]);
      const bytes_view leaves = from.bytes();
      const bytes_view shards = from.bytes();
      ZARRPOINT_CHECK(from.finish());
      all[rank].leaves = root;
      if (!leaves.empty() && rank != 0) {
        ZARRPOINT_TRY(own, held_state::decode(leaves));
        all[rank].leaves = v0::detail::make_counted<const held_state>(std::move(own));
      }
      ZARRPOINT_TRY(of_shards, held_state::decode(shards));
      all[rank].shards = std::move(of_shards);
      return {};
    };
    ZARRPOINT_CHECK(read().at("the description of rank " + std::to_string(rank)));
    described[rank] = message();
  }
  ZARRPOINT_TRY(planned, plan_items(all));
  std::vector<message> out;
  for (const std::vector<std::size_t>& chosen : planned.chosen) {
    v0::detail::wire_writer to;
    to.number(chosen.size());
    for (const std::size_t item : chosen) to.number(item);
    out.push_back(std::move(to).take());
  }
  plan_ = std::move(planned);
  // Nothing is touched unless all of the metadata can be written.
  ZARRPOINT_CHECK(write_metadata(plan_.made).transform([](const std::string&) {}));
  ZARRPOINT_CHECK(begin_files());
  return out;
}

/// Of rank 0, with a plan.
ZARRPOINT_INLINE result<void> save_format::begin_files() {
  std::vector<std::string_view> names;
  names.reserve(plan_.made.tensors.size() + plan_.made.values.size());
  for (const auto& tensor : plan_.made.tensors) names.emplace_back(tensor.name);
  for (const auto& value : plan_.made.values) names.emplace_back(value.name);
  ZARRPOINT_CHECK(v0::detail::check_rules(options_.how, names, report.warnings));
  ZARRPOINT_CHECK(place_.open());
  return place_.clear(report);
}

ZARRPOINT_INLINE result<void> save_format::take_part(bytes_view part) {
  part_.assign(part.begin(), part.end());
  const held_state& held = mine_.held();
  std::vector<std::pair<std::size_t, const box*>> boxes;
  for (std::size_t t = 0; t < held.tensors.size(); ++t)
    for (const box& one : held.tensors[t].boxes) boxes.emplace_back(t, &one);
  v0::detail::wire_reader from(part);
  for (std::size_t left = from.count(); left > 0 && !from.failed(); --left) {
    const std::uint64_t item = from.limited(boxes.size() + held.values.size());
    if (item < boxes.size()) {
      const auto& [t, at] = boxes[static_cast<std::size_t>(item)];
      ZARRPOINT_TRY(layout, archive_layout::of_tensor({held.tensors[t].spec.type, at->shape}));
      box local = *at;
      for (std::size_t d = 0; d < local.rank(); ++d)
        local.offset[d] -= mine_.sources()[t].at.offset[d];
      items_.push_back({std::move(layout), t, local, {}, *at});
      continue;
    }
    const auto v = static_cast<std::size_t>(item) - boxes.size();
    if (v >= held.values.size()) from.fail();
    if (!from.failed()) items_.push_back({mine_.values()[v], no_source, {}, held.values[v].name});
  }
  return from.finish();
}

/// What is kept of a plan.
struct kept_items {
  message part;
  planned_items plan;  ///< of rank 0
};

ZARRPOINT_INLINE std::shared_ptr<const void> save_format::keep_plan() const {
  return v0::detail::make_counted<const kept_items>(kept_items{part_, plan_});
}

ZARRPOINT_INLINE result<void> save_format::reuse(const std::shared_ptr<const void>& kept) {
  const auto& last = *static_cast<const kept_items*>(kept.get());
  ZARRPOINT_CHECK(take_part(last.part));
  if (!group_.is_root()) return {};
  plan_ = last.plan;
  return begin_files();
}

ZARRPOINT_INLINE result<void> save_format::stage(std::vector<message> /*pieces*/, bool copies) {
  if (!copies) return {};
  v0::detail::cell_copies kept(group_.how, options_.how.device_copy);
  for (const item_to_write& item : items_)
    if (item.source != no_source) ZARRPOINT_CHECK(mine_.keep(item.source, kept));
  return kept.finish(more_warnings);
}

ZARRPOINT_INLINE result<message> save_format::write() {
  return write_items(place_.store(),
                     {group_.ranks.rank(), mine_.sources(), items_, options_.as.file_bytes,
                      options_.as.files_at_once},
                     group_.how);
}

ZARRPOINT_INLINE result<message> save_format::commit(std::vector<message> receipts,
                                                     v0::detail::commit_outcome& commit) {
  ZARRPOINT_TRY(files, read_receipts(plan_, receipts));
  for (std::size_t rank = 0; rank < files.size(); ++rank)
    for (std::size_t i = 0; i < files[rank]; ++i)
      report.files.push_back(file_name(static_cast<int>(rank), i));
  for (const tensor_entry& tensor : plan_.made.tensors) {
    report.cells += tensor.chunks.size();
    const std::uint64_t bytes = byte_count(tensor.spec).value_or(0);
    report.leaves.push_back({tensor.name, tensor.spec, bytes, bytes});
    report.bytes += bytes;
  }
  for (const value_entry& value : plan_.made.values)
    report.leaves.push_back({value.name, {}, 0, value.from.length});
  for (const leaf_report& leaf : report.leaves) report.stored_bytes += leaf.stored_bytes;
  ZARRPOINT_TRY(document, write_metadata(plan_.made));
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  ZARRPOINT_CHECK(place_.store().put(key, as_bytes(std::string_view(document))));
  ZARRPOINT_CHECK(place_.publish([&] { return own_files(place_.store()); }, commit, report));
  return v0::detail::encode_report(report);
}

}}}}  // namespace zarrpoint::v0::dcp::detail

namespace zarrpoint { inline namespace v0 { namespace dcp {

// ------------------------------------------------------------------------------------ dcp_save.hpp

namespace detail {

/// A save that has not begun.
ZARRPOINT_INLINE result<std::shared_ptr<v0::detail::collective_save>> make_save(
    const location& where, const any_communicator& ranks, const state_part& mine,
    const save_options& options, const context& how) {
  return guarded([&]() -> result<std::shared_ptr<v0::detail::collective_save>> {
    ZARRPOINT_TRY(as, v0::detail::format_of<format>(options));
    ZARRPOINT_TRY(warnings,
                  check_options({where, {}, {}, options, how}, "a checkpoint of PyTorch", {}));
    return v0::detail::collective_save::make(
        {.ranks = ranks, .how = how, .name = where.name(), .plans = options.plans.get()},
        [&](const v0::detail::save_group& of) -> result<std::shared_ptr<v0::detail::save_format>> {
          auto out = v0::detail::make_counted<save_format>(of, where, mine,
                                                           state_options{options, std::move(as)});
          out->more_warnings = std::move(warnings);
          return std::shared_ptr<v0::detail::save_format>(std::move(out));
        });
  });
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, const any_communicator& ranks,
                                          std::span<const sharded_tensor> shards,
                                          std::span<const leaf> leaves, const save_options& options,
                                          const context& how) {
  return v0::detail::run_save(ranks,
                              detail::make_save(where, ranks, {shards, leaves}, options, how));
}

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const leaf> leaves,
                                          const save_options& options, const context& how) {
  return dcp::save(where, any_communicator(), {}, leaves, options, how);
}

ZARRPOINT_INLINE result<save_report> save(const location& where, std::initializer_list<leaf> leaves,
                                          const save_options& options, const context& how) {
  return dcp::save(where, std::span<const leaf>(leaves.begin(), leaves.size()), options, how);
}

ZARRPOINT_INLINE result<save_report> save_as(const format& as, const save_request& what) {
  ZARRPOINT_TRY(warnings,
                check_options(what, "a checkpoint of PyTorch", {}).at("save " + what.where.name()));
  save_options options{.overwrite = what.options.overwrite, .sync = what.options.sync};
  options.plans = what.options.plans;
  options.format = as;
  ZARRPOINT_TRY(out, dcp::save(what.where, what.leaves, options, what.how));
  out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
  return std::move(out);
}

namespace detail {

/// A state of many processes, with all that it is made of.
struct leaves_of_state {
  v0::detail::prepared_state state;
  std::vector<v0::leaf> values;
};

}  // namespace detail

ZARRPOINT_INLINE result<group_saver> group_save_as(const format& as,
                                                   const group_save_request& what) {
  const save_options& options = what.options.storage;
  ZARRPOINT_TRY(warnings, check_options({what.where, {}, {}, options, what.group.how},
                                        "a checkpoint of PyTorch", {}));
  const auto held = v0::detail::make_counted<detail::leaves_of_state>();
  ZARRPOINT_TRY(prepared, v0::detail::prepare_without_objects(what, "a checkpoint of PyTorch"));
  held->state = std::move(prepared);
  ZARRPOINT_TRY(common, to_json(held->state.common));
  const json::object* const members = common.if_object();
  if (members == nullptr)
    return error{errc::invalid_argument, "the state of a checkpoint of PyTorch must be a map"};
  for (const auto& [key, value] : *members)
    held->values.emplace_back(key, json_text{dump_json(value, json_style::compact)});
  auto out = v0::detail::make_counted<detail::save_format>(
      what.group, what.where, state_part{held->state.tensors, held->values},
      detail::state_options{options, as});
  out->held = held;
  out->more_warnings = std::move(warnings);
  return std::shared_ptr<v0::detail::save_format>(std::move(out));
}

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const state_part& mine,
                                                    const save_options& options,
                                                    finalizer when_committed) {
  return begin(detail::make_save(where, ranks_, mine, options, how_), ranks_,
               std::move(when_committed));
}

}}}  // namespace zarrpoint::v0::dcp

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/interop/dcp/metadata_bodies.hpp>
#include <zarrpoint/interop/dcp_save/plan_bodies.hpp>
#include <zarrpoint/interop/safetensors/bodies.hpp>
#endif
