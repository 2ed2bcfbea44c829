// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "about_orbax.hpp"

#include <zarrpoint/orbax.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "output.hpp"
#include "source.hpp"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// `2026-11-22 04:32:03 UTC`.
std::string time_text(const zp::json* nanoseconds) {
  const auto time = nanoseconds != nullptr ? nanoseconds->to_uint64() : std::nullopt;
  if (!time) return {};
  const auto seconds = static_cast<std::time_t>(*time / 1'000'000'000);
  std::tm parts{};
  std::string out(32, '\0');
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  out.resize(std::strftime(out.data(), out.size(), "%Y-%m-%d %H:%M:%S UTC", &parts));
  return out;
}

std::string_view name_of(zp::orbax::item_kind kind) {
  switch (kind) {
    case zp::orbax::item_kind::tree: return "tree";
    case zp::orbax::item_kind::json: return "json";
    case zp::orbax::item_kind::other: break;
  }
  return "other";
}

void set_if(zp::json& to, const char* name, zp::json value) {
  const bool is_empty = value.is_null() || (value.if_object() && value.if_object()->empty());
  if (!is_empty) to.set(name, std::move(value));
}

void set_if(zp::json& to, const char* name, const std::optional<std::uint64_t>& value) {
  if (value) to.set(name, *value);
}

/// The directory that holds `_CHECKPOINT_METADATA`: that of the tree, or the step around it.
zp::result<std::optional<zp::stored_place>> step_of(const zp::orbax::found_tree& tree) {
  std::string_view above = tree.path;
  const std::size_t slash = above.rfind('/');
  above = slash == above.npos ? std::string_view() : above.substr(0, slash);
  for (const std::string_view path : {std::string_view(tree.path), above}) {
    ZARRPOINT_TRY(key, zp::store_key::parse(path));
    ZARRPOINT_TRY(file, key.child("_CHECKPOINT_METADATA"));
    ZARRPOINT_TRY(object, tree.place.store.open(file));
    if (object != nullptr) return std::optional(zp::stored_place{tree.place.store, key});
  }
  return std::optional<zp::stored_place>();
}

zp::result<void> add_step(const zp::orbax::found_tree& tree, zp::json& to) {
  ZARRPOINT_TRY(step, step_of(tree));
  if (!step) return {};
  ZARRPOINT_TRY(file, step->key.child("_CHECKPOINT_METADATA"));
  ZARRPOINT_TRY(text, get(step->store, file, most_bytes));
  if (text && !text->empty()) {
    ZARRPOINT_TRY(facts, zp::orbax::read_checkpoint_facts(*text).at(step->store.describe(file)));
    set_if(to, "begin_time", facts.begin_time);
    set_if(to, "commit_time", facts.commit_time);
    set_if(to, "item_handlers", std::move(facts.item_handlers));
    set_if(to, "metrics", std::move(facts.metrics));
    set_if(to, "custom_metadata", std::move(facts.custom_metadata));
  }
  if (step->key.str() == tree.place.key.str()) return {};
  ZARRPOINT_TRY(items, zp::orbax::list_items(*step));
  zp::json::object kinds;
  for (const zp::orbax::step_item& item : items)
    kinds.push_back({item.name, std::string(name_of(item.kind))});
  set_if(to, "items", std::move(kinds));
  return {};
}

zp::result<void> add_database(const zp::stored_place& at, std::uint64_t memory, zp::json& to) {
  ZARRPOINT_TRY(manifest, at.key.child("manifest.ocdbt"));
  ZARRPOINT_TRY(object, at.store.open(manifest));
  if (object == nullptr) return {};
  ZARRPOINT_TRY(database,
                zp::ocdbt_store::open(at.store, at.key, zp::ocdbt_options{}.within(memory)));
  ZARRPOINT_TRY(versions, database.versions());
  const zp::ocdbt_version shown = database.version();
  to.set("database", zp::json::object{{"generation", shown.generation},
                                      {"versions", std::uint64_t{versions.size()}},
                                      {"keys", shown.keys},
                                      {"commit_time", shown.commit_time}});
  return {};
}

zp::json sharding_json(const zp::orbax::sharding& from) {
  zp::json out = zp::json::object{{"type", text_json(from.type)}};
  if (!from.device.empty()) out.set("device", text_json(from.device));
  if (from.type != "NamedSharding") return out;
  zp::json::array axes, devices;
  for (const std::string& axis : from.mesh.axes) axes.push_back(text_json(axis));
  for (const std::int64_t device : from.mesh.devices) devices.emplace_back(device);
  out.set("mesh", to_json(from.mesh.shape));
  out.set("axes", std::move(axes));
  if (!devices.empty()) out.set("devices", std::move(devices));
  zp::json::array types;
  for (const std::string& type : from.mesh.axis_types) types.push_back(text_json(type));
  if (!types.empty()) out.set("axis_types", std::move(types));
  out.set("partition_spec", text_json(zp::orbax::to_string(from.partition)));
  return out;
}

zp::result<void> add_leaves(const zp::stored_place& at, std::uint64_t memory, zp::json& to) {
  ZARRPOINT_TRY(tree, zp::orbax::tree_store::open(at.store, at.key, memory));
  ZARRPOINT_TRY(shardings, tree.shardings());
  ZARRPOINT_TRY(facts, tree.array_facts());
  zp::json::object leaves;
  auto sharding = shardings.begin();  // in the order of the leaves, as the facts
  auto fact = facts.begin();
  for (const zp::orbax::tree_leaf& leaf : tree.tree().leaves) {
    zp::json one = zp::json::object{{"kind", text_json(leaf.value_type)}};
    if (sharding != shardings.end() && sharding->first == leaf.name)
      one.set("sharding", sharding_json(sharding++->second));
    if (fact != facts.end() && fact->name == leaf.name) {
      if (!fact->random_key.empty()) one.set("random_key", text_json(fact->random_key));
      ++fact;
    }
    leaves.push_back({leaf.name, std::move(one)});
  }
  to.set("leaves", std::move(leaves));
  return {};
}

}  // namespace

zp::result<zp::json> about_orbax(const std::string& path, zp::link_scope links,
                                 std::uint64_t memory) {
  ZARRPOINT_TRY(at, zp::orbax::find_at(path, links));
  if (!at) return zp::json();
  zp::json out;
  out.set("chosen", text_json(at->found.path));
  ZARRPOINT_CHECK(add_step(at->found, out));
  if (zp::orbax::read_json_item(at->found.place)) {
    out.set("item", "json");
    return out;
  }
  ZARRPOINT_CHECK(add_database(at->found.place, memory, out));
  ZARRPOINT_CHECK(add_leaves(at->found.place, memory, out));
  return out;
}

namespace {

/// Without the module before it.
std::string class_name(const std::string& whole) {
  const std::size_t dot = whole.rfind('.');
  return dot == whole.npos ? whole : whole.substr(dot + 1);
}

void add_general_lines(const zp::json& about, zp::json::object& out) {
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) out.push_back({name, std::move(text)});
  };
  const zp::json* const chosen = about.find("chosen");
  if (chosen != nullptr && chosen->if_string() != nullptr) add("chosen", *chosen->if_string());
  if (const zp::json* const items = about.find("items")) {
    std::string text;
    for (const zp::json::member& item : *items->if_object())
      text += (text.empty() ? "" : ", ") + item.key + " (" + *item.value.if_string() + ')';
    add("items", std::move(text));
  }
  add("committed", time_text(about.find("commit_time")));
  if (const zp::json* const handlers = about.find("item_handlers")) {
    std::string text;
    if (const std::string* const one = handlers->if_string()) text = class_name(*one);
    if (handlers->if_object() != nullptr)
      for (const zp::json::member& item : *handlers->if_object())
        if (const std::string* const one = item.value.if_string())
          text += (text.empty() ? "" : ", ") + item.key + ": " + class_name(*one);
    add("handlers", std::move(text));
  }
  for (const char* name : {"metrics", "custom_metadata"})
    if (const zp::json* const value = about.find(name)) add(name, dump_json(strict_json(*value)));
  if (const zp::json* const database = about.find("database")) {
    const auto number = [&](const char* name) {
      return std::to_string(database->find(name)->to_uint64().value_or(0));
    };
    add("database", "generation " + number("generation") + " of " + number("versions") + ", " +
                        number("keys") + " keys");
  }
}

}  // namespace

zp::json::object orbax_lines(const zp::json& about, std::string_view node) {
  zp::json::object out;
  if (node.empty()) add_general_lines(about, out);
  const zp::json* const leaves = about.find("leaves");
  if (leaves == nullptr) return out;
  for (const zp::json::member& leaf : *leaves->if_object()) {
    if (!is_within(leaf.key, node)) continue;
    if (const zp::json* const key = leaf.value.find("random_key"))
      out.push_back({leaf.key, "random key of " + *key->if_string()});
    const zp::json* const sharding = leaf.value.find("sharding");
    const zp::json* const spec = sharding ? sharding->find("partition_spec") : nullptr;
    if (spec == nullptr) continue;
    std::string text = *spec->if_string() + " on";
    const zp::json::array& axes = *sharding->find("axes")->if_array();
    const zp::json::array& lengths = *sharding->find("mesh")->if_array();
    for (std::size_t i = 0; i < axes.size(); ++i)
      text += (i > 0 ? " × " : " ") + *axes[i].if_string() + "=" +
              std::to_string(lengths[i].to_int64().value_or(0));
    out.push_back({leaf.key, std::move(text)});
  }
  return out;
}

}  // namespace cli
