// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_rich_types.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE std::string_view handler_name(tree_handler which) {
  if (which == tree_handler::v1)
    return "orbax.checkpoint.experimental.v1._src.handlers.pytree_handler.PyTreeHandler";
  return which == tree_handler::standard
             ? "orbax.checkpoint._src.handlers.standard_checkpoint_handler."
               "StandardCheckpointHandler"
             : "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler";
}

ZARRPOINT_INLINE std::string python_tuple(const std::vector<tree_key>& path) {
  std::string out = "(";
  for (const tree_key& key : path) {
    if (&key != path.data()) out += ' ';
    const bool has_single = key.text.find('\'') != key.text.npos;
    const bool has_double = key.text.find('"') != key.text.npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    out += quote;
    for (const char c : key.text) {
      if (c == quote || c == '\\') out += '\\';
      out += c;
    }
    out += quote;
    if (&key != &path.back() || path.size() == 1) out += ',';
  }
  return out + ')';
}

ZARRPOINT_INLINE node array_of(const dims& shape) {
  node::array out;
  for (const index_t length : shape) out.emplace_back(length);
  return out;
}

ZARRPOINT_INLINE std::string tree_record(const tree_plan& plan, const save_tree_options& options) {
  node::object leaves;
  for (const planned_item& item : plan.items) {
    node::array keys;
    for (const tree_key& key : item.told.path)
      keys.emplace_back(node::object{{"key", key.text}, {"key_type", key.is_index ? 1 : 2}});
    leaves.push_back(
        {python_tuple(item.told.path), node::object{{"key_metadata", std::move(keys)},
                                                    {"value_metadata", value_entry(item, plan)}}});
  }
  node::object out{{"tree_metadata", std::move(leaves)},
                   {"use_ocdbt", options.ocdbt},
                   {"use_zarr3", options.zarr_format == 3},
                   {"store_array_data_equal_to_fill_value", true},
                   {"custom_metadata", options.custom_metadata}};
  if (options.rich_types)
    out.push_back({"value_metadata_tree", rich_text(plan, *options.rich_types)});
  return dump_json(node(std::move(out)));
}

/// Nested arrays of `{"id": 3}`.
ZARRPOINT_INLINE node device_grid(const device_mesh& mesh, std::size_t axis, std::size_t& at) {
  if (axis == mesh.shape.rank()) return node::object{{"id", mesh.devices[at++]}};
  node::array out;
  for (index_t i = 0; i < mesh.shape[axis]; ++i) out.push_back(device_grid(mesh, axis + 1, at));
  return out;
}

ZARRPOINT_INLINE node sharding_node(const sharding& of) {
  if (of.type == "SingleDeviceSharding")
    return node::object{{"sharding_type", of.type}, {"device_str", of.device}};
  if (of.type != "NamedSharding") return {};
  node::array axes, partition;
  for (const std::string& axis : of.mesh.axes) axes.emplace_back(axis);
  for (const std::vector<std::string>& cuts : of.partition) {
    if (cuts.size() < 2) {
      partition.push_back(cuts.empty() ? node() : node(cuts[0]));
      continue;
    }
    node::array several;
    for (const std::string& axis : cuts) several.emplace_back(axis);
    partition.emplace_back(std::move(several));
  }
  node::object out{{"sharding_type", of.type},
                   {"shape", array_of(of.mesh.shape)},
                   {"axis_names", std::move(axes)},
                   {"partition_spec", std::move(partition)}};
  if (!of.mesh.axis_types.empty()) {
    node::array types;
    for (const std::string& type : of.mesh.axis_types) types.emplace_back(type);
    out.push_back({"axis_types", std::move(types)});
  }
  std::size_t at = 0;
  if (!of.mesh.devices.empty())
    out.push_back({"device_mesh", node::object{{"mesh", device_grid(of.mesh, 0, at)}}});
  return out;
}

ZARRPOINT_INLINE std::string sharding_record(const tree_plan& plan) {
  node::object out;
  bool any = false;
  for (const planned_item& item : plan.items) {
    if (item.told.value_type != "jax.Array") continue;
    const node told = item.sharding != nullptr ? sharding_node(*item.sharding) : node();
    any = any || !told.is_null();
    std::string name = v0::detail::to_base64(as_bytes(item.told.storage));
    std::replace(name.begin(), name.end(), '+', '-');
    std::replace(name.begin(), name.end(), '/', '_');
    // Where there is a file, Orbax looks for each of these arrays in it.
    out.push_back({std::move(name), told.is_null() ? std::string() : dump_json(told)});
  }
  return any ? dump_json(node(std::move(out))) : std::string();
}

ZARRPOINT_INLINE std::string array_record(const tree_plan& plan) {
  node::array out;
  for (const planned_item& item : plan.items) {
    if (item.told.value_type != "jax.Array") continue;
    const node chunk = array_of(plan.arrays[*item.array].metadata().chunk_shape);
    node extra;
    if (!item.random_key.empty()) extra.set("random_key_impl", item.random_key);
    out.emplace_back(
        node::object{{"array_metadata", node::object{{"param_name", item.told.storage},
                                                     {"write_shape", chunk},
                                                     {"chunk_shape", chunk},
                                                     {"ext_metadata", std::move(extra)}}}});
  }
  if (out.empty()) return {};
  return dump_json(node::object{{"array_metadatas", std::move(out)}});
}

ZARRPOINT_INLINE std::string text_record(const tree_plan& plan) {
  // A '/' in a path nests, as it does in a JSON pointer.
  node out;
  bool any = false;
  for (const planned_item& item : plan.items) {
    if (item.told.value_type != "string") continue;
    any = true;
    std::string_view rest = item.told.storage;
    node* at = &out;
    for (std::size_t slash = rest.find('/'); slash != rest.npos; slash = rest.find('/')) {
      const std::string_view key = rest.substr(0, slash);
      if (at->find(key) == nullptr) at->set(std::string(key), node::object{});
      at = at->find(key);
      rest.remove_prefix(slash + 1);
    }
    at->set(std::string(rest), item.text);
  }
  return any ? dump_json(out) : std::string();
}

ZARRPOINT_INLINE std::string checkpoint_record(const checkpoint_facts& of) {
  const auto object_of = [](const node& one) { return one.is_null() ? node(node::object{}) : one; };
  return dump_json(
      node::object{{"item_handlers", of.item_handlers},
                   {"metrics", object_of(of.metrics)},
                   {"performance_metrics", object_of(of.performance_metrics)},
                   {"init_timestamp_nsecs", of.begin_time ? node(*of.begin_time) : node()},
                   {"commit_timestamp_nsecs", of.commit_time ? node(*of.commit_time) : node()},
                   {"custom_metadata", object_of(of.custom_metadata)}});
}

}}}}  // namespace zarrpoint::v0::orbax::detail
