// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/old_paths.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_metadata_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_operation.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/interop/hierarchy/group_budget.hpp>
#include <zarrpoint/interop/torch/document_value.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// A number of C++ as one of Python; nothing for those that Python has no type for.
ZARRPOINT_INLINE result<std::optional<node>> number_of(const host_view& from) {
  const auto as = [&](auto zero) -> result<std::optional<node>> {
    auto made = zero;
    const tensor_spec spec{dtype_of<decltype(made)>, {}};
    ZARRPOINT_CHECK(
        v0::detail::cast_elements(dense_view(reinterpret_cast<std::byte*>(&made), spec), from));
    return std::optional<node>(made);
  };
  switch (from.type.kind()) {
    case dtype_kind::bool_: return as(false);
    case dtype_kind::int8:
    case dtype_kind::int16:
    case dtype_kind::int32:
    case dtype_kind::int64: return as(std::int64_t{0});
    case dtype_kind::uint8:
    case dtype_kind::uint16:
    case dtype_kind::uint32:
    case dtype_kind::uint64: return as(std::uint64_t{0});
    case dtype_kind::float16:
    case dtype_kind::bfloat16:
    case dtype_kind::float32:
    case dtype_kind::float64: return as(0.0);
    default: return std::optional<node>();
  }
}

ZARRPOINT_INLINE std::vector<path_step> save_operation::path_of(const std::string& name) const {
  for (const named_path& one : options_.paths)
    if (one.name == name) return one.path;
  return {{name, false}};
}

ZARRPOINT_INLINE result<void> save_operation::add_value(const std::string& name,
                                                        const torch::value& value,
                                                        std::vector<path_step> path) {
  ZARRPOINT_TRY(layout, archive_layout::of_value(value));
  mine_.values.push_back({name, std::move(path)});
  values_.push_back(std::move(layout));
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::add_document(const v0::leaf& from, bytes_view text) {
  ZARRPOINT_TRY(document, parse_json(text, v0::detail::document_limits(how_.limit)));
  const std::vector<path_step> path = path_of(from.name());
  for (auto& [below, value] : flatten(document, path)) {
    // The name is the leaf's own, whatever its path, and then that of the members.
    std::string name = from.name();
    const std::span<const path_step> rest = std::span(below).subspan(path.size());
    if (!rest.empty()) name += "." + name_of(rest);
    ZARRPOINT_TRY(made, torch::detail::document_value(*value).at(v0::detail::in_quotes(name)));
    ZARRPOINT_CHECK(add_value(name, made, std::move(below)));
  }
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::add_leaf(const v0::leaf& value) {
  const std::string& name = value.name();
  ZARRPOINT_TRY(spec, value.spec());
  const bool is_one = spec.shape.rank() == 0;
  if (value.typestr() == v0::detail::scalar_kind && is_one && value.host_accessible()) {
    ZARRPOINT_TRY(view, value.view());
    ZARRPOINT_TRY(number, number_of(view));
    if (number) return add_value(name, torch::value(*std::move(number)), path_of(name));
  }
  if (spec.type == dtype_kind::string && is_one && value.host_accessible()) {
    ZARRPOINT_TRY(view, value.view());
    const auto& text = *reinterpret_cast<const std::string*>(view.data);
    return add_value(name, torch::value(node(text)), path_of(name));
  }
  const bool is_json = value.typestr() == json_text::zarrpoint_handler::typestr;
  if (is_json || value.typestr() == byte_string::zarrpoint_handler::typestr) {
    ZARRPOINT_TRY(view, value.view());
    ZARRPOINT_TRY(size, byte_count(spec));
    const bytes_view bytes(view.data, size);
    if (is_json) return add_document(value, bytes);
    return add_value(name, torch::value(torch::value::bytes(bytes.begin(), bytes.end())),
                     path_of(name));
  }
  ZARRPOINT_TRY(bytes, byte_count(spec));
  return add_tensor({name, [&value](memory_resource& resource) { return value.stage(resource); },
                     value.host_accessible(), box::whole(spec.shape), 0, bytes},
                    spec);
}

ZARRPOINT_INLINE result<void> save_operation::add_shard(const sharded_tensor& shard) {
  ZARRPOINT_CHECK(shard.validate());
  const shard_metadata& of = shard.metadata();
  if (!shard.has_data()) return error{errc::invalid_argument, "its shard has no value"};
  if (of.range)
    return error{errc::unsupported,
                 "its shard is flat, which torch.distributed.checkpoint has no word for"};
  const box at = of.global_box();
  ZARRPOINT_TRY(bytes, byte_count(of.data_spec()));
  return add_tensor({of.key, [&shard](memory_resource& resource) { return shard.stage(resource); },
                     shard.host_accessible(), at, of.prepended_axes, bytes},
                    {of.type, of.global_shape});
}

ZARRPOINT_INLINE result<std::vector<box>> save_operation::boxes_of(const tensor_source& from,
                                                                   const tensor_spec& whole) const {
  for (const tensor_boxes& one : options_.boxes) {
    if (one.name != from.name) continue;
    std::vector<box> inside;
    for (const box& part : one.boxes) {
      ZARRPOINT_CHECK(selection(part).check(whole.shape));
      bool is_inside = true;
      for (std::size_t d = 0; d < part.rank(); ++d)
        is_inside = is_inside && part.offset[d] >= from.at.offset[d] &&
                    part.offset[d] + part.shape[d] <= from.at.offset[d] + from.at.shape[d];
      if (is_inside) inside.push_back(part);
    }
    return inside;
  }
  if (from.at.empty()) return std::vector<box>{from.at};
  return cut_box(from.at, whole.type.size(), options_.chunk_bytes, how_.limit.max_chunks);
}

ZARRPOINT_INLINE result<void> save_operation::add_tensor(tensor_source from,
                                                         const tensor_spec& whole) {
  if (!torch::dtype_name(whole.type.kind()))
    return error{errc::unsupported,
                 "PyTorch has no tensors of " + std::string(to_string(whole.type))};
  ZARRPOINT_TRY(boxes, boxes_of(from, whole));
  mine_.tensors.push_back({from.name, path_of(from.name), whole, std::move(boxes)});
  sources_.push_back(std::move(from));
  return {};
}

ZARRPOINT_INLINE result<void> save_operation::describe(std::span<const sharded_tensor> shards,
                                                       std::span<const v0::leaf> leaves) {
  leaves_ = v0::leaf::single(std::vector<v0::leaf>(leaves.begin(), leaves.end())).leaves;
  for (const v0::leaf& value : leaves_)
    ZARRPOINT_CHECK(add_leaf(value).at("save " + v0::detail::in_quotes(value.name())));
  std::set<std::string, std::less<>> names;
  // That we read it again, too.
  const auto check_name = [](const std::string& name) -> result<void> {
    ZARRPOINT_CHECK(store_key::parse(name));
    if (name.size() <= v0::detail::max_leaf_name) return {};
    return error{errc::invalid_argument, v0::detail::in_quotes(name) + " is too long a name"};
  };
  const auto take = [&](const std::string& name) -> result<void> {
    ZARRPOINT_CHECK(check_name(name));
    if (names.insert(name).second) return {};
    return error{errc::invalid_argument, v0::detail::in_quotes(name) + " is there twice"};
  };
  for (const held_tensor& one : mine_.tensors) ZARRPOINT_CHECK(take(one.name));
  for (const held_value& one : mine_.values) ZARRPOINT_CHECK(take(one.name));
  for (const sharded_tensor& shard : shards) {
    ZARRPOINT_CHECK(check_name(shard.key()));
    if (names.contains(shard.key()))
      return error{errc::invalid_argument, v0::detail::in_quotes(shard.key()) + " is there twice"};
    ZARRPOINT_CHECK(add_shard(shard).at("save " + v0::detail::in_quotes(shard.key())));
  }
  const auto is_known = [&](const std::string& name) {
    const auto has = [&](const auto& one) { return one.name == name; };
    return std::any_of(mine_.tensors.begin(), mine_.tensors.end(), has);
  };
  for (const tensor_boxes& one : options_.boxes)
    if (ranks_.size() == 1 && !is_known(one.name))
      return error{errc::invalid_argument, "state_save_options::boxes name " +
                                               v0::detail::in_quotes(one.name) +
                                               ", which is not a tensor"};
  return {};
}

ZARRPOINT_INLINE result<std::vector<message>> save_operation::plan(
    std::span<const message> described) {
  std::vector<held_state> all;
  for (const message& one : described) {
    ZARRPOINT_TRY(state, held_state::decode(one));
    all.push_back(std::move(state));
  }
  ZARRPOINT_TRY(planned, plan_items(all));
  plan_ = std::move(planned);
  // Nothing is touched unless all of the metadata can be written.
  ZARRPOINT_CHECK(write_metadata(plan_.made).transform([](const std::string&) {}));
  ZARRPOINT_CHECK(open_target());
  std::vector<message> out;
  for (const std::vector<bool>& chosen : plan_.chosen) {
    v0::detail::wire_writer to;
    to.text(publication_ ? publication_->staged_name() : std::string());
    to.number(chosen.size());
    for (const bool is_chosen : chosen) to.flag(is_chosen);
    out.push_back(std::move(to).take());
  }
  return out;
}

ZARRPOINT_INLINE result<void> save_operation::open_target() {
  ZARRPOINT_TRY(target, v0::detail::location_access::to_write(where_, options_.sync, how_.stores));
  ZARRPOINT_TRY(is_there, check_place(target, where_, options_.overwrite));
  const bool alone = ranks_.size() == 1;
  if (target.store.can_publish()) {
    ZARRPOINT_TRY(staged, target.store.stage(target.key, {.overwrite = options_.overwrite,
                                                          .sync = options_.sync}));
    if (alone || !staged->staged_name().empty()) {
      if (options_.overwrite) old_ = beneath(target);
      store_ = staged->store();
      publication_ = std::move(staged);
      return {};
    }
  }
  if (!alone && v0::detail::location_access::is_path(where_))
    return error{errc::unsupported, "several processes can save to a directory only"};
  // Without atomic publication: old metadata must not vouch for new data.
  store_ = beneath(target);
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

ZARRPOINT_INLINE result<void> save_operation::join(const message& part) {
  v0::detail::wire_reader from(part);
  const std::string staged = from.text();
  std::vector<bool> chosen(from.count());
  for (std::size_t i = 0; i < chosen.size() && !from.failed(); ++i) chosen[i] = from.flag();
  ZARRPOINT_CHECK(from.finish());
  std::size_t at = 0;
  const auto is_chosen = [&] { return at < chosen.size() && chosen[at++]; };
  std::vector<item_to_write> tensors;
  for (std::size_t t = 0; t < mine_.tensors.size(); ++t) {
    const tensor_source& source = sources_[t];
    for (const box& part_of : mine_.tensors[t].boxes) {
      if (!is_chosen()) continue;
      ZARRPOINT_TRY(layout, archive_layout::of_tensor({mine_.tensors[t].spec.type, part_of.shape}));
      box local = part_of;
      for (std::size_t d = 0; d < local.rank(); ++d) local.offset[d] -= source.at.offset[d];
      tensors.push_back({std::move(layout), t, local});
    }
  }
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (is_chosen()) items_.push_back({values_[v], SIZE_MAX, {}, 0, 0, mine_.values[v].name});
  items_.insert(items_.end(), std::make_move_iterator(tensors.begin()),
                std::make_move_iterator(tensors.end()));
  files_ = place_items(items_, options_.file_bytes, options_.files_at_once);
  if (is_root()) return {};
  ZARRPOINT_TRY(target, v0::detail::location_access::to_write(where_, options_.sync, how_.stores));
  if (staged.empty()) {
    store_ = beneath(target);
    return {};
  }
  ZARRPOINT_TRY(tree, v0::detail::open_staged(target, staged, options_.sync));
  store_ = std::move(tree);
  return {};
}

ZARRPOINT_INLINE result<message> save_operation::write() {
  ZARRPOINT_CHECK(item_writer(*store_, {ranks_.rank(), sources_, items_, files_}, how_).run());
  // In the order of the slots: the boxes of tensors, then values.
  v0::detail::wire_writer receipt;
  receipt.number(files_.size());
  const auto values = std::find_if(items_.begin(), items_.end(),
                                   [](const item_to_write& one) { return one.source != SIZE_MAX; });
  std::rotate(items_.begin(), values, items_.end());
  for (const item_to_write& item : items_) {
    receipt.text(file_name(ranks_.rank(), item.file));
    receipt.number(item.offset);
    receipt.number(item.layout.size());
  }
  return std::move(receipt).take();
}

ZARRPOINT_INLINE result<void> save_operation::keep() {
  if (!publication_ || !old_ || !old_->can_list()) return {};
  ZARRPOINT_TRY(files, own_files(*old_));
  owned_paths owned{std::move(files), {}};
  owned.taken.emplace_back(metadata_file);
  for (const tensor_entry& tensor : plan_.made.tensors)
    for (const tensor_chunk& chunk : tensor.chunks) owned.taken.push_back(chunk.from.file);
  for (const value_entry& value : plan_.made.values) owned.taken.push_back(value.from.file);
  std::sort(owned.old.begin(), owned.old.end());
  std::sort(owned.taken.begin(), owned.taken.end());
  owned.taken.erase(std::unique(owned.taken.begin(), owned.taken.end()), owned.taken.end());
  ZARRPOINT_TRY(kept, publication_->keep(owned));
  report_.kept = std::move(kept);
  return {};
}

ZARRPOINT_INLINE result<message> save_operation::commit(std::span<const message> receipts) {
  for (std::size_t rank = 0; rank < receipts.size(); ++rank) {
    v0::detail::wire_reader from(receipts[rank]);
    report_.files += static_cast<std::size_t>(from.number());
    for (const shared_plan::slot& slot : plan_.slots[rank]) {
      stored_item item{from.text(), from.number(), from.number(), {}, false};
      if (slot.is_value) {
        plan_.made.values[slot.entry].from = std::move(item);
      } else {
        plan_.made.tensors[slot.entry].chunks[slot.box].from = std::move(item);
      }
    }
    ZARRPOINT_CHECK(from.finish());
  }
  report_.tensors = plan_.made.tensors.size();
  report_.values = plan_.made.values.size();
  for (const tensor_entry& tensor : plan_.made.tensors) {
    report_.boxes += tensor.chunks.size();
    report_.bytes += byte_count(tensor.spec).value_or(0);
  }
  ZARRPOINT_TRY(document, write_metadata(plan_.made));
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  ZARRPOINT_CHECK(store_->put(key, as_bytes(std::string_view(document))));
  ZARRPOINT_CHECK(keep());
  if (publication_) {
    ZARRPOINT_CHECK(publication_->commit());
    // The new checkpoint is in its place: that it cannot be told of is not a failure of the save.
    static_cast<void>(guarded([&]() -> result<void> {
      return v0::detail::add_late(publication_->late(), report_.kept, report_.warnings),
             result<void>();
    }));
  }
  commit_.take_place();
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

ZARRPOINT_INLINE result<void> save_operation::run_steps(std::span<const sharded_tensor> shards,
                                                        std::span<const v0::leaf> leaves) {
  ZARRPOINT_TRY(described, agree(ranks_, guarded([&]() -> result<message> {
                                   ZARRPOINT_CHECK(describe(shards, leaves));
                                   return mine_.encode();
                                 })));
  ZARRPOINT_TRY(all, gather(ranks_, std::move(described)));
  result<std::vector<message>> parts = std::vector<message>{};
  // What one has fails on all: none waits for a process that has given up.
  if (is_root()) parts = guarded([&] { return plan(all); });
  ZARRPOINT_TRY(part, v0::detail::scatter_result(ranks_, std::move(parts)));
  ZARRPOINT_CHECK(agree(ranks_, guarded([&] { return join(part); })));
  ZARRPOINT_TRY(receipt, agree(ranks_, guarded([&] { return write(); })));
  commit_.give_receipt();
  ZARRPOINT_TRY(receipts, gather(ranks_, std::move(receipt)));
  ZARRPOINT_TRY(told, commit_.tell(is_root() ? guarded([&] { return commit(receipts); })
                                             : result<message>(message{})));
  return read_report(told);
}

ZARRPOINT_INLINE result<void> save_operation::read_report(const message& told) {
  report_ = {};
  if (told.empty()) return {};  // rank 0 has committed, and had no memory to tell of it
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

ZARRPOINT_INLINE result<state_save_report> save_operation::run(
    std::span<const sharded_tensor> shards, std::span<const v0::leaf> leaves) {
  const auto start = std::chrono::steady_clock::now();
  auto done = guarded([&] { return run_steps(shards, leaves); });
  if (!done)
    return guarded([&]() -> result<state_save_report> {
      return commit_.explain(std::move(done).failure(), where_.name()).at("save " + where_.name());
    });
  report_.seconds = v0::detail::seconds_since(start);
  return std::move(report_);
}

}}}}  // namespace zarrpoint::v0::dcp::detail
