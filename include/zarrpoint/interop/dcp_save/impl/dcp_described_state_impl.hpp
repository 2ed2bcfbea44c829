// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/interop/dcp_save/dcp_described_state.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/hierarchy/group_budget.hpp>
#include <zarrpoint/interop/torch/document_value.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
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

ZARRPOINT_INLINE std::vector<path_step> described_state::path_of(const std::string& name) const {
  for (const named_path& one : options_.paths)
    if (one.name == name) return one.path;
  return {{name, false}};
}

ZARRPOINT_INLINE result<void> described_state::add_value(const std::string& name,
                                                         const torch::value& value,
                                                         std::vector<path_step> path) {
  ZARRPOINT_TRY(layout, archive_layout::of_value(value));
  held_.values.push_back({name, std::move(path)});
  values_.push_back(std::move(layout));
  return {};
}

ZARRPOINT_INLINE result<void> described_state::add_document(const v0::leaf& from, bytes_view text) {
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

ZARRPOINT_INLINE result<void> described_state::add_leaf(const v0::leaf& value) {
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

ZARRPOINT_INLINE result<void> described_state::add_shard(const sharded_tensor& shard) {
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

ZARRPOINT_INLINE result<std::vector<box>> described_state::boxes_of(
    const tensor_source& from, const tensor_spec& whole) const {
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

ZARRPOINT_INLINE result<void> described_state::add_tensor(tensor_source from,
                                                          const tensor_spec& whole) {
  if (!torch::dtype_name(whole.type.kind()))
    return error{errc::unsupported,
                 "PyTorch has no tensors of " + std::string(to_string(whole.type))};
  ZARRPOINT_TRY(boxes, boxes_of(from, whole));
  held_.tensors.push_back({from.name, path_of(from.name), whole, std::move(boxes)});
  sources_.push_back(std::move(from));
  return {};
}

ZARRPOINT_INLINE result<void> described_state::describe(std::span<const sharded_tensor> shards,
                                                        std::span<const v0::leaf> leaves,
                                                        bool is_alone) {
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
  for (const held_tensor& one : held_.tensors) ZARRPOINT_CHECK(take(one.name));
  for (const held_value& one : held_.values) ZARRPOINT_CHECK(take(one.name));
  for (const sharded_tensor& shard : shards) {
    ZARRPOINT_CHECK(check_name(shard.key()));
    if (names.contains(shard.key()))
      return error{errc::invalid_argument, v0::detail::in_quotes(shard.key()) + " is there twice"};
    ZARRPOINT_CHECK(add_shard(shard).at("save " + v0::detail::in_quotes(shard.key())));
  }
  const auto is_known = [&](const std::string& name) {
    const auto has = [&](const auto& one) { return one.name == name; };
    return std::any_of(held_.tensors.begin(), held_.tensors.end(), has);
  };
  for (const tensor_boxes& one : options_.boxes)
    if (is_alone && !is_known(one.name))
      return error{errc::invalid_argument, "state_save_options::boxes name " +
                                               v0::detail::in_quotes(one.name) +
                                               ", which is not a tensor"};
  return {};
}

ZARRPOINT_INLINE result<void> described_state::keep(std::size_t source) {
  kept_.resize(sources_.size());
  if (kept_[source]) return {};
  tensor_source& from = sources_[source];
  cell_write cell{.stage = from.stage};
  ZARRPOINT_CHECK(
      v0::detail::keep_elements(cell, how_).at("save " + v0::detail::in_quotes(from.name)));
  from.stage = std::move(cell.stage);
  from.on_host = true;
  kept_[source] = true;
  return {};
}

}}}}  // namespace zarrpoint::v0::dcp::detail
