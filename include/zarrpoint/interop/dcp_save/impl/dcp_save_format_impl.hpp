// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_metadata_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_receipt.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

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
  ZARRPOINT_CHECK(open_target());
  std::vector<message> out;
  for (const std::vector<bool>& chosen : plan_.chosen) {
    v0::detail::wire_writer to;
    to.number(chosen.size());
    for (const bool is_chosen : chosen) to.flag(is_chosen);
    out.push_back(std::move(to).take());
  }
  return out;
}

ZARRPOINT_INLINE result<void> save_format::open_target() {
  ZARRPOINT_TRY(target,
                v0::detail::location_access::to_write(where_, options_.sync, group_.how.stores));
  ZARRPOINT_TRY(is_there, v0::detail::check_replace(
                              target,
                              {where_.name(), options_.overwrite, "a PyTorch (DCP) checkpoint",
                               v0::detail::directory_kind::dcp},
                              look_for_state(v0::detail::beneath(target))));
  const bool alone = group_.ranks.size() == 1;
  if (target.store.can_publish()) {
    ZARRPOINT_TRY(staged, v0::detail::stage(
                              target, {.overwrite = options_.overwrite, .sync = options_.sync}));
    if (alone || !staged->staged_name().empty()) {
      if (options_.overwrite) old_ = v0::detail::beneath(target);
      store_ = staged->store();
      publication_ = std::move(staged);
      return {};
    }
  }
  if (!alone && v0::detail::location_access::is_path(where_))
    return error{errc::unsupported, "several processes can save to a directory only"};
  // Without atomic publication: old metadata must not vouch for new data.
  store_ = v0::detail::beneath(target);
  if (!is_there) return {};
  ZARRPOINT_TRY(document, store_key::parse(metadata_file));
  ZARRPOINT_CHECK(store_->erase(document));
  ZARRPOINT_TRY(files, own_files(*store_));
  for (const std::string& name : files) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_CHECK(store_->erase(key));
  }
  return {};
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

ZARRPOINT_INLINE result<void> save_format::join(const std::string& staged) {
  ZARRPOINT_TRY(target,
                v0::detail::location_access::to_write(where_, options_.sync, group_.how.stores));
  if (staged.empty()) {
    store_ = v0::detail::beneath(target);
    return {};
  }
  ZARRPOINT_TRY(tree, v0::detail::open_staged(target, staged, options_.sync));
  store_ = std::move(tree);
  return {};
}

ZARRPOINT_INLINE result<void> save_format::stage(std::vector<message> /*pieces*/, bool copies) {
  if (!copies) return {};
  for (const item_to_write& item : items_)
    if (item.source != SIZE_MAX) ZARRPOINT_CHECK(mine_.keep(item.source));
  return {};
}

ZARRPOINT_INLINE result<message> save_format::write() {
  ZARRPOINT_CHECK(
      item_writer(*store_, {group_.ranks.rank(), mine_.sources(), items_, files_}, group_.how)
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

ZARRPOINT_INLINE result<std::optional<owned_paths>> save_format::owned() const {
  if (!old_ || !old_->can_list()) return std::optional<owned_paths>();
  ZARRPOINT_TRY(files, own_files(*old_));
  owned_paths out{std::move(files), {}};
  out.taken.emplace_back(metadata_file);
  for (const tensor_entry& tensor : plan_.made.tensors)
    for (const tensor_chunk& chunk : tensor.chunks) out.taken.push_back(chunk.from.file);
  for (const value_entry& value : plan_.made.values) out.taken.push_back(value.from.file);
  std::sort(out.old.begin(), out.old.end());
  std::sort(out.taken.begin(), out.taken.end());
  out.taken.erase(std::unique(out.taken.begin(), out.taken.end()), out.taken.end());
  return std::optional(std::move(out));
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
  ZARRPOINT_CHECK(store_->put(key, as_bytes(std::string_view(document))));
  if (publication_) {
    ZARRPOINT_TRY(owned, this->owned());
    ZARRPOINT_CHECK(v0::detail::publish(*publication_, owned, report_));
  }
  commit.take_place();
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
