// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_metadata_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_receipt.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <algorithm>
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
  if (!pickle.storages.empty()) return error{errc::invalid_argument, "a tensor within a value"};
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
    size = item.offset + item.layout.size();
  }
  return sizes;
}

ZARRPOINT_INLINE std::string file_name(int rank, std::size_t file) {
  return "__" + std::to_string(rank) + "_" + std::to_string(file) + ".distcp";
}

ZARRPOINT_INLINE item_writer::item_writer(const any_store& store, const placed_items& what,
                                          const context& how)
    : store_(store),
      what_(what),
      how_(how),
      meter_(how.progress, "save",
             std::accumulate(what.items.begin(), what.items.end(), std::uint64_t{0},
                             [](std::uint64_t sum, const item_to_write& one) {
                               return sum + one.layout.element_bytes();
                             })) {}

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

ZARRPOINT_INLINE result<void> item_writer::write_item(const item_to_write& item,
                                                      const host_view& elements, blob_writer& to) {
  std::uint32_t crc = 0;
  buffer scratch;
  const std::uint64_t first = item.offset + item.layout.elements();
  if (item.source != SIZE_MAX) {
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
          crc = v0::detail::crc32(crc, bytes);
          ZARRPOINT_CHECK(to.write(first + offset, bytes));
          meter_.add(what_.sources[item.source].name, size);
          return {};
        }));
  }
  const std::string head = item.layout.head(crc);
  const std::string tail = item.layout.tail(crc);
  ZARRPOINT_CHECK(to.write(item.offset, as_bytes(std::string_view(head))));
  return to.write(first + item.layout.element_bytes(), as_bytes(std::string_view(tail)));
}

ZARRPOINT_INLINE result<void> item_writer::write_files(std::size_t first, std::size_t last) {
  std::vector<std::unique_ptr<blob_writer>> writers;
  for (std::size_t file = first; file < last; ++file) {
    ZARRPOINT_TRY(key, store_key::parse(file_name(what_.rank, file)));
    ZARRPOINT_TRY(writer, store_.create(key));
    ZARRPOINT_CHECK(writer->reserve(what_.sizes[file]));
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
    const bool joins = !units.empty() && units.back().end == i && item.source != SIZE_MAX &&
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
  v0::detail::memory_bound_for each(how_.executor, units.size(), {.stop = how_.stop});
  ZARRPOINT_CHECK(each.run(
      [&](std::size_t u) -> result<void> {
        const item_to_write& front = what_.items[units[u].begin];
        staged elements;
        byte_limiter::reservation room;
        std::string called = v0::detail::in_quotes(front.name);
        if (front.source != SIZE_MAX) {
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
        for (std::size_t i = units[u].begin; i < units[u].end; ++i)
          ZARRPOINT_CHECK(
              write_item(what_.items[i], elements.view, *writers[what_.items[i].file - first])
                  .at("save " + called));
        return {};
      },
      [](std::size_t refused) { return std::optional(refused); }));
  // Each may wait for its bytes to be on disk.
  return parallel_for(how_.executor, writers.size(),
                      [&](std::size_t i) { return writers[i]->finish(); }, {.stop = how_.stop});
}

ZARRPOINT_INLINE result<void> item_writer::run() {
  constexpr std::size_t open_files = 16;
  for (std::size_t file = 0; file < what_.sizes.size(); file += open_files)
    ZARRPOINT_CHECK(write_files(file, std::min(what_.sizes.size(), file + open_files)));
  return {};
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

ZARRPOINT_INLINE result<message> save_format::describe(bool /*differs*/) {
  ZARRPOINT_CHECK(mine_.describe(given_.shards, given_.leaves, group_.ranks.size() == 1));
  return mine_.held().encode();
}

ZARRPOINT_INLINE result<std::vector<message>> save_format::plan(std::vector<message> described) {
  std::vector<held_state> all;
  for (std::size_t rank = 0; rank < described.size(); ++rank) {
    ZARRPOINT_TRY(
        state,
        held_state::decode(described[rank]).at("the description of rank " + std::to_string(rank)));
    all.push_back(std::move(state));
    described[rank] = message();
  }
  ZARRPOINT_TRY(planned, plan_items(all));
  plan_ = std::move(planned);
  // Nothing is touched unless all of the metadata can be written.
  ZARRPOINT_CHECK(write_metadata(plan_.made).transform([](const std::string&) {}));
  ZARRPOINT_CHECK(place_.open());
  std::vector<message> out;
  for (const std::vector<bool>& chosen : plan_.chosen) {
    v0::detail::wire_writer to;
    to.number(chosen.size());
    for (const bool is_chosen : chosen) to.flag(is_chosen);
    out.push_back(std::move(to).take());
  }
  ZARRPOINT_CHECK(place_.clear(report_));
  return out;
}

ZARRPOINT_INLINE result<void> save_format::take_part(bytes_view part) {
  v0::detail::wire_reader from(part);
  std::vector<bool> chosen(from.count());
  for (std::size_t i = 0; i < chosen.size() && !from.failed(); ++i) chosen[i] = from.flag();
  ZARRPOINT_CHECK(from.finish());
  std::size_t at = 0;
  const auto is_chosen = [&] { return at < chosen.size() && chosen[at++]; };
  std::vector<item_to_write> tensors;
  for (std::size_t t = 0; t < mine_.held().tensors.size(); ++t) {
    const tensor_source& source = mine_.sources()[t];
    for (const box& part_of : mine_.held().tensors[t].boxes) {
      if (!is_chosen()) continue;
      ZARRPOINT_TRY(layout,
                    archive_layout::of_tensor({mine_.held().tensors[t].spec.type, part_of.shape}));
      box local = part_of;
      for (std::size_t d = 0; d < local.rank(); ++d) local.offset[d] -= source.at.offset[d];
      tensors.push_back({std::move(layout), t, local});
    }
  }
  for (std::size_t v = 0; v < mine_.values().size(); ++v)
    if (is_chosen())
      items_.push_back({mine_.values()[v], SIZE_MAX, {}, 0, 0, mine_.held().values[v].name});
  items_.insert(items_.end(), std::make_move_iterator(tensors.begin()),
                std::make_move_iterator(tensors.end()));
  files_ = place_items(items_, options_.file_bytes, options_.files_at_once);
  return {};
}

ZARRPOINT_INLINE result<void> save_format::stage(std::vector<message> /*pieces*/, bool copies) {
  if (!copies) return {};
  for (const item_to_write& item : items_)
    if (item.source != SIZE_MAX) ZARRPOINT_CHECK(mine_.keep(item.source));
  return {};
}

ZARRPOINT_INLINE result<message> save_format::write() {
  ZARRPOINT_CHECK(item_writer(place_.store(),
                              {group_.ranks.rank(), mine_.sources(), items_, files_}, group_.how)
                      .run());
  receipt_writer receipt(static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.end(),
                    [](const item_to_write& one) { return one.source == SIZE_MAX; })));
  for (const item_to_write& item : items_) {
    if (item.source == SIZE_MAX) {
      receipt.object(item.name, item);
      continue;
    }
    const tensor_source& source = mine_.sources()[item.source];
    dims offset = item.part.offset;
    for (std::size_t d = 0; d < offset.rank(); ++d) offset[d] += source.at.offset[d];
    receipt.cell(source.name, offset, {}, item);
  }
  return std::move(receipt).take();
}

ZARRPOINT_INLINE result<void> save_format::read_receipts(std::span<const message> receipts) {
  for (std::size_t rank = 0; rank < receipts.size(); ++rank) {
    item_receipt receipt(receipts[rank], rank);
    ZARRPOINT_CHECK(receipt.read_objects());
    for (const shared_plan::slot& slot : plan_.slots[rank]) {
      if (slot.is_value) {
        value_entry& value = plan_.made.values[slot.entry];
        ZARRPOINT_TRY(item, receipt.object(value.name));
        value.from = std::move(item);
        continue;
      }
      tensor_entry& tensor = plan_.made.tensors[slot.entry];
      tensor_chunk& chunk = tensor.chunks[slot.box];
      ZARRPOINT_TRY(written, receipt.cell(tensor.name, chunk.at.offset));
      ZARRPOINT_TRY(bytes, item_sizes(tensor.spec.type).of(chunk.at.shape));
      if (written.piece || written.item.length != bytes)
        return receipt.another_size(tensor.name, chunk.at.offset, written.item.length, bytes);
      chunk.from = std::move(written.item);
    }
    ZARRPOINT_CHECK(receipt.finish());
    report_.files += receipt.files();
  }
  return {};
}

ZARRPOINT_INLINE result<message> save_format::commit(std::vector<message> receipts,
                                                     v0::detail::commit_outcome& commit) {
  ZARRPOINT_CHECK(read_receipts(receipts));
  report_.tensors = plan_.made.tensors.size();
  report_.values = plan_.made.values.size();
  for (const tensor_entry& tensor : plan_.made.tensors) {
    report_.boxes += tensor.chunks.size();
    report_.bytes += byte_count(tensor.spec).value_or(0);
  }
  ZARRPOINT_TRY(document, write_metadata(plan_.made));
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  ZARRPOINT_CHECK(place_.store().put(key, as_bytes(std::string_view(document))));
  ZARRPOINT_CHECK(place_.publish([&] { return own_files(place_.store()); }, commit, report_));
  v0::detail::wire_writer to;
  for (const std::uint64_t number :
       {std::uint64_t{report_.tensors}, std::uint64_t{report_.boxes}, std::uint64_t{report_.values},
        std::uint64_t{report_.files}, report_.bytes})
    to.number(number);
  for (const auto* list : {&report_.kept, &report_.warnings}) {
    to.number(list->size());
    for (const std::string& one : *list) to.text(one);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> save_format::take_report(bytes_view told) {
  v0::detail::wire_reader about(told);
  report_.tensors = static_cast<std::size_t>(about.number());
  report_.boxes = static_cast<std::size_t>(about.number());
  report_.values = static_cast<std::size_t>(about.number());
  report_.files = static_cast<std::size_t>(about.number());
  report_.bytes = about.number();
  for (auto* list : {&report_.kept, &report_.warnings}) {
    list->resize(about.count());
    for (std::string& one : *list) one = about.text();
  }
  return about.finish();
}

ZARRPOINT_INLINE state_save_report save_format::report(const v0::detail::save_times& times) {
  report_.blocked_seconds = times.blocked_seconds;
  report_.seconds = times.seconds;
  return std::move(report_);
}

}}}}  // namespace zarrpoint::v0::dcp::detail

namespace zarrpoint { inline namespace v0 { namespace dcp {

// ------------------------------------------------------------------------------------ dcp_save.hpp

namespace detail {

/// A save that has not begun.
ZARRPOINT_INLINE std::shared_ptr<save_operation> make_save(const location& where,
                                                           const v0::detail::save_group& group,
                                                           const state_part& mine,
                                                           const state_save_options& options) {
  return v0::detail::make_counted<save_operation>(group, where, mine, options);
}

}  // namespace detail

ZARRPOINT_INLINE result<state_save_report> save(
    const location& where, const any_communicator& ranks, std::span<const sharded_tensor> shards,
    std::span<const leaf> leaves, const state_save_options& options, const context& how) {
  return detail::make_save(where, {ranks, how, where.name()}, {shards, leaves}, options)->run();
}

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const state_part& mine,
                                                    const state_save_options& options,
                                                    finalizer when_committed) {
  auto one = detail::make_save(where, {ranks_, how_, where.name()}, mine, options);
  ZARRPOINT_CHECK(one->begin(true));
  queue_.add(std::move(one), std::move(when_committed));
  return {};
}

ZARRPOINT_INLINE result<std::vector<state_save_report>> async_saves::finalize(bool wait) {
  return queue_.finalize(wait);
}

// Of dcp_group_save.hpp, which includes dcp_save.hpp and is not read yet when it comes first.
result<state_save_report> save(const location& where, const any_communicator& ranks,
                               std::span<const sharded_tensor> shards, std::span<const leaf> leaves,
                               const state_save_options& options, const context& how);

ZARRPOINT_INLINE result<state_save_report> save(const location& where, std::span<const leaf> leaves,
                                                const state_save_options& options,
                                                const context& how) {
  return save(where, any_communicator(), {}, leaves, options, how);
}

ZARRPOINT_INLINE result<state_save_report> save(const location& where,
                                                std::initializer_list<leaf> leaves,
                                                const state_save_options& options,
                                                const context& how) {
  return save(where, std::span<const leaf>(leaves.begin(), leaves.size()), options, how);
}

ZARRPOINT_INLINE result<save_report> save_as(const format& /*as*/, const save_request& what) {
  ZARRPOINT_TRY(warnings,
                check_options(what, "a checkpoint of PyTorch", {}).at("save " + what.where.name()));
  state_save_options options;
  options.overwrite = what.options.overwrite;
  options.sync = what.options.sync;
  ZARRPOINT_TRY(saved, save(what.where, what.leaves, options, what.how));
  save_report out;
  static_cast<save_summary&>(out) = std::move(saved);
  out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
  out.stored_bytes = out.bytes;
  return out;
}

}}}  // namespace zarrpoint::v0::dcp

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/interop/dcp/metadata_bodies.hpp>
#include <zarrpoint/interop/dcp_save/plan_bodies.hpp>
#include <zarrpoint/interop/safetensors/bodies.hpp>
#endif
