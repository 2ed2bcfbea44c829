// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax_save/orbax_chunks.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_rich_types.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE bool is_own_name(std::string_view name) {
  for (const std::string_view own :
       {"_METADATA", "_CHECKPOINT_METADATA", "_sharding", "_strings.json", "array_metadatas",
        "manifest.ocdbt", "d", "checkpoint", "commit_success.txt", "orbax.checkpoint"})
    if (name == own) return true;
  return name.starts_with("ocdbt.process_") || name.find(unfinished_mark) != name.npos;
}

ZARRPOINT_INLINE result<void> check_item_name(const std::string& item) {
  if (v0::detail::key_segment_fault(item) == nullptr && item.find('/') == item.npos &&
      !is_own_name(item))
    return {};
  return bad_tree("the item " + v0::detail::in_quotes(item) + " has no valid name");
}

ZARRPOINT_INLINE bool is_index(std::string_view text) {
  return !text.empty() && text.size() < 10 && (text == "0" || text[0] != '0') &&
         text.find_first_not_of("0123456789") == text.npos;
}

/// What a path may not be by itself.
ZARRPOINT_INLINE result<void> check_path(const tree_leaf& leaf) {
  const std::string name = v0::detail::in_quotes(leaf.name);
  for (const tree_key& key : leaf.path) {
    if (key.text.empty()) return bad_tree("the leaf " + name + " has an empty key in its path");
    if (key.is_index && !is_index(key.text))
      return bad_tree("the leaf " + name + ": " + v0::detail::in_quotes(key.text) +
                      " is not an index of a list");
  }
  for (const std::string* text : {&leaf.name, &leaf.storage})
    ZARRPOINT_CHECK(store_key::parse(*text).transform([](const auto&) {}).at("the leaf " + name));
  return {};
}

/// What the paths of a tree may not be beside each other: `next` follows `last`.
ZARRPOINT_INLINE result<void> check_neighbours(const tree_leaf* last, const tree_leaf& next) {
  const std::string name = v0::detail::in_quotes(next.name);
  std::size_t common = 0;
  if (last != nullptr) {
    const auto differ =
        std::mismatch(last->path.begin(), last->path.end(), next.path.begin(), next.path.end());
    common = static_cast<std::size_t>(differ.second - next.path.begin());
    if (common == next.path.size()) return bad_tree("two leaves have the path " + name);
    if (common == last->path.size())
      return bad_tree(v0::detail::in_quotes(last->name) +
                      " cannot be a leaf: other leaves lie beneath it");
  }
  for (std::size_t i = common; i < next.path.size(); ++i) {
    const tree_key& key = next.path[i];
    const tree_key* const before = i == common && last != nullptr ? &last->path[i] : nullptr;
    if (before != nullptr && before->is_index != key.is_index)
      return bad_tree("the leaf " + name + ": beside " + v0::detail::in_quotes(key.text) +
                      " there are indices of a list, and it is a key of a dict");
    if (!key.is_index) continue;
    const int wanted = before != nullptr ? std::stoi(before->text) + 1 : 0;
    if (key.text != std::to_string(wanted))
      return bad_tree("the leaf " + name + ": its list has no element " + std::to_string(wanted));
  }
  return {};
}

/// What names may not be beside each other where they are stored, and for our own reader.
ZARRPOINT_INLINE result<void> check_names(const tree_plan& plan, bool is_ocdbt) {
  if (plan.items.size() == 1 && plan.items[0].told.path.empty()) return {};
  std::vector<std::string_view> names, stored, texts;
  for (const planned_item& item : plan.items) {
    names.emplace_back(item.told.name);
    const std::string& storage = item.told.storage;
    if (item.told.is_skipped) continue;
    stored.emplace_back(storage);
    if (item.told.value_type == "string") texts.emplace_back(storage);
    if (item.told.value_type == "string" && storage.find('~') != storage.npos)
      return bad_tree("the leaf " + v0::detail::in_quotes(item.told.name) +
                      " is a text, for whose path Orbax cannot store a '~'");
    if (!is_ocdbt && is_own_name(std::string_view(storage).substr(0, storage.find('/'))))
      return bad_tree("the leaf " + v0::detail::in_quotes(item.told.name) +
                      " would lie where Orbax has a file of its own; save it with ocdbt");
  }
  const char* const where = "where Orbax stores leaves (keys joined by '.')";
  if (!is_ocdbt) {
    ZARRPOINT_CHECK(groups_of(names).transform([](const auto&) {}));
    return groups_of(stored).transform([](const auto&) {}).at(where);
  }
  // In a database a key may begin another, but not in the JSON of texts.
  for (std::vector<std::string_view>* const all : {&names, &stored}) {
    v0::detail::sort_names(*all);
    const auto twice = std::adjacent_find(all->begin(), all->end());
    if (twice != all->end())
      return bad_tree("two leaves would be " + v0::detail::in_quotes(*twice)).at(where);
  }
  return groups_of(texts).transform([](const auto&) {}).at(where);
}

/// The types that TensorStore has, in memory and on disk as Zarr has them.
ZARRPOINT_INLINE bool is_known_to_tensorstore(const dtype& type) {
  switch (type.kind()) {
    case dtype_kind::bool_:
    case dtype_kind::int8:
    case dtype_kind::int16:
    case dtype_kind::int32:
    case dtype_kind::int64:
    case dtype_kind::uint8:
    case dtype_kind::uint16:
    case dtype_kind::uint32:
    case dtype_kind::uint64:
    case dtype_kind::int2:
    case dtype_kind::int4:
    case dtype_kind::float4_e2m1fn:
    case dtype_kind::float8_e3m4:
    case dtype_kind::float8_e4m3fn:
    case dtype_kind::float8_e4m3b11fnuz:
    case dtype_kind::float8_e4m3fnuz:
    case dtype_kind::float8_e5m2:
    case dtype_kind::float8_e5m2fnuz:
    case dtype_kind::float8_e8m0fnu:
    case dtype_kind::float16:
    case dtype_kind::bfloat16:
    case dtype_kind::float32:
    case dtype_kind::float64:
    case dtype_kind::complex64:
    case dtype_kind::complex128: return true;
    default: return false;
  }
}

ZARRPOINT_INLINE bool is_python_number(const dtype& type) {
  const bool is_real = type.kind() == dtype_kind::float16 || type.kind() == dtype_kind::float32 ||
                       type.kind() == dtype_kind::float64;
  return is_real || (!type.is_floating() && !type.is_complex() && !type.is_below_byte());
}

/// The value type of an array.
ZARRPOINT_INLINE result<std::string> array_type(const described_leaf& of, const tensor_spec& spec,
                                                bool has_sharding, array_kind kind) {
  const std::string& wanted = of.value_type;
  if (wanted.empty()) {
    if (has_sharding) return std::string("jax.Array");
    if (of.is_number && is_python_number(spec.type)) return std::string("scalar");
    return std::string(kind == array_kind::jax ? "jax.Array" : "np.ndarray");
  }
  if (wanted != "jax.Array" && wanted != "np.ndarray" && wanted != "scalar")
    return bad_tree("its value type " + v0::detail::in_quotes(wanted) + " is not one of an array");
  if (wanted == "scalar" && spec.shape.rank() != 0)
    return bad_tree("it has the value type \"scalar\" and the shape " + to_string(spec.shape));
  if (wanted == "scalar" && !is_python_number(spec.type))
    return bad_tree("it has the value type \"scalar\", of which Orbax has none of " +
                    std::string(to_string(spec.type)));
  if (has_sharding && wanted != "jax.Array")
    return bad_tree("it has a sharding and the value type " + v0::detail::in_quotes(wanted));
  return wanted;
}

class tree_planner {
 public:
  explicit tree_planner(const save_tree_options& options) : options_(options) {}

  result<tree_plan> run(const leaves_to_plan& of) {
    ZARRPOINT_CHECK(check_options());
    for (std::size_t i = 0; i < of.leaves.size(); ++i)
      ZARRPOINT_CHECK(add(of.leaves[i], i, of.cuts.empty() ? leaf_cuts{} : of.cuts[i]));
    if (plan_.items.empty()) return bad_tree("a tree without leaves");
    v0::detail::sort_by(plan_.items, [](const planned_item& a, const planned_item& b) {
      return path_is_before()(a.told.path, b.told.path);
    });
    const tree_leaf* last = nullptr;
    for (const planned_item& item : plan_.items) {
      ZARRPOINT_CHECK(check_neighbours(last, item.told));
      last = &item.told;
    }
    ZARRPOINT_CHECK(check_names(plan_, options_.ocdbt));
    if (options_.rich_types) ZARRPOINT_CHECK(check_containers(plan_, *options_.rich_types));
    for (const auto& [name, how] : options_.shardings)
      if (!used_.contains(name))
        return bad_tree("a sharding is given for " + v0::detail::in_quotes(name) +
                        ", which is not an array of the tree");
    return std::move(plan_);
  }

 private:
  result<void> check_options() {
    if (options_.zarr_format != 2 && options_.zarr_format != 3)
      return bad_tree("zarr_format " + std::to_string(options_.zarr_format) +
                      " is neither 2 nor 3");
    for (const node* const own : {&options_.custom_metadata, &options_.step_metadata})
      if (!own->is_null() && own->if_object() == nullptr)
        return bad_tree("custom_metadata and step_metadata must be objects");
    if (!options_.item.empty()) ZARRPOINT_CHECK(check_item_name(options_.item));
    ZARRPOINT_CHECK(extra_files(options_).transform([](const auto&) {}));
    for (const auto& [name, how] : options_.shardings)
      if (!shardings_.emplace(name, &how).second)
        return bad_tree("two shardings are given for " + v0::detail::in_quotes(name));
    return {};
  }

  result<void> add(const described_leaf& of, std::size_t source, const leaf_cuts& cuts) {
    const tree_path where(of.path);
    planned_item item;
    item.told.path = of.path;
    item.told.name = where.joined('/');
    item.told.storage = where.joined('.');
    item.told.is_skipped = of.is_empty;
    item.source = source;
    ZARRPOINT_CHECK(check_path(item.told));
    if (of.is_empty && of.value_type == "NamedTuple" && !options_.rich_types)
      return bad_tree("the leaf " + v0::detail::in_quotes(item.told.name) +
                      " is an empty named tuple, which Orbax keeps with rich types only");
    if (of.is_empty) {
      item.told.value_type = of.value_type;
    } else if (of.text) {
      item.told.value_type = "string";
      item.text = *of.text;
    } else {
      ZARRPOINT_CHECK(
          add_array(item, of, cuts).at("the leaf " + v0::detail::in_quotes(item.told.name)));
    }
    plan_.items.push_back(std::move(item));
    return {};
  }

  result<void> add_array(planned_item& item, const described_leaf& of, const leaf_cuts& cuts) {
    const dims& unit = cuts.unit;
    tensor_spec spec = of.spec;
    item.random_key = of.random_key;
    if (const dtype* cast =
            v0::detail::last_set(options_.rules, item.told.name, &leaf_rule::cast)) {
      ZARRPOINT_CHECK(v0::detail::check_cast(spec.type, *cast));
      spec.type = *cast;
    }
    if (!is_known_to_tensorstore(spec.type))
      return error{errc::unsupported, "TensorStore, which Orbax reads with, has no arrays of " +
                                          std::string(to_string(spec.type))};
    ZARRPOINT_TRY(of_device, find_sharding(item, spec.shape));
    ZARRPOINT_TRY(type, array_type(of, spec, item.sharding != nullptr, options_.arrays));
    item.told.value_type = std::move(type);
    if (!item.random_key.empty() &&
        (spec.type != dtype_kind::uint32 || item.told.value_type != "jax.Array"))
      return bad_tree("the data of a key of jax.random are a jax.Array of uint32");
    std::optional<dims> local = largest_chunk(of_device, unit, spec.shape);
    if (options_.zarr_format == 2 && !unit.empty() && !of_device)
      local = part_of_v2({spec.type, *local}, unit);
    ZARRPOINT_TRY(metadata, plan_array(item.told.name, spec, local ? &*local : nullptr));
    ZARRPOINT_CHECK(check_units(metadata.chunk_shape, unit));
    if (!unit.empty() && are_many_small(metadata, cuts.largest))
      plan_.warnings.push_back(
          v0::detail::in_quotes(item.told.name) +
          ": the boxes of the processes, its sharding and its rules allow no larger chunks than " +
          to_string(metadata.chunk_shape) + ", so it is stored in many small objects");
    ZARRPOINT_TRY(bytes, byte_count(spec));
    ZARRPOINT_TRY(key, store_key::parse(item.told.storage));
    item.array = plan_.arrays.size();
    plan_.arrays.push_back({nullptr, nullptr,
                            v0::detail::make_counted<v0::detail::planned_form>(std::move(metadata)),
                            bytes, std::move(key)});
    plan_.bytes += bytes;
    return {};
  }

  /// How Zarr keeps an array of `spec`. `local`, if not null, is what one device had of it.
  result<array_metadata> plan_array(std::string_view name, const tensor_spec& spec,
                                    const dims* local) {
    if (const leaf_layout* const given = v0::detail::layout_of(options_.layouts, name))
      return v0::detail::copied_layout(*given, spec, options_.zarr_format);
    v0::save_options as{.zarr_format = options_.zarr_format};
    as.rules.push_back({.codecs = zstd_codecs()});
    if (local != nullptr && options_.zarr_format == 3) as.rules.push_back({.shard_shape = *local});
    as.rules.insert(as.rules.end(), options_.rules.begin(), options_.rules.end());
    if (options_.zarr_format == 3) {
      // As in Orbax it is the size of what is stored and of what is read.
      const v0::save_options given{.rules = options_.rules};  // `own` leads into it
      const v0::detail::layout_rules own = v0::detail::layout_rules_of(name, given);
      if (own.chunk_byte_size != nullptr && own.chunk_shape == nullptr &&
          own.shard_shape == nullptr) {
        ZARRPOINT_TRY(chunk,
                      v0::detail::greedy_chunk_shape(spec, local != nullptr ? *local : spec.shape,
                                                     *own.chunk_byte_size));
        as.rules.push_back({.chunk_shape = chunk, .shard_shape = chunk});
        for (leaf_rule& rule : as.rules) rule.chunk_byte_size.reset();
      }
    }
    if (options_.zarr_format == 2) {
      for (leaf_rule& rule : as.rules) {
        rule.chunk_shape.reset();
        rule.chunk_byte_size.reset();
      }
    }
    ZARRPOINT_TRY(layout, v0::detail::plan_layout(name, spec, as));
    if (options_.zarr_format == 2) {
      ZARRPOINT_TRY(chunk, chunk_of_v2(name, spec, local, options_.rules));
      ZARRPOINT_CHECK(byte_count(chunk, spec.type.size()).transform([](std::size_t) {}));
      layout.metadata.chunk_shape = chunk;
      // TensorStore knows no other for some types.
      layout.metadata.fill = fill_value::undefined(spec.type);
    }
    for (std::string& warning : layout.warnings)
      plan_.warnings.push_back(v0::detail::in_quotes(name) + ": " + std::move(warning));
    return std::move(layout.metadata);
  }

  /// Finds the sharding that was given, and what one device has by it.
  result<std::optional<dims>> find_sharding(planned_item& item, const dims& shape) {
    const auto at = shardings_.find(item.told.name);
    if (at == shardings_.end()) return std::optional<dims>();
    const sharding& how = *at->second;
    used_.insert(at->first);
    item.sharding = &how;
    if (how.type == "SingleDeviceSharding") return std::optional<dims>();
    if (how.type != "NamedSharding") {
      plan_.warnings.push_back(v0::detail::in_quotes(item.told.name) + ": its sharding, " +
                               v0::detail::in_quotes(how.type) + ", is not stored");
      return std::optional<dims>();
    }
    ZARRPOINT_TRY(boxes, device_boxes(how.mesh, how.partition, shape));
    std::uint64_t cells = 1;  // no more than `device_boxes` has found
    for (const index_t extent : how.mesh.shape) cells *= static_cast<std::uint64_t>(extent);
    if (!how.mesh.devices.empty() && how.mesh.devices.size() != cells)
      return bad_tree("the sharding of " + v0::detail::in_quotes(item.told.name) +
                      " has a mesh of " + std::to_string(cells) + " devices and names " +
                      std::to_string(how.mesh.devices.size()));
    if (boxes.empty() || std::count(shape.begin(), shape.end(), 0) != 0)
      return std::optional<dims>();
    return std::optional(boxes.front().shape);
  }

  const save_tree_options& options_;
  tree_plan plan_;
  std::map<std::string_view, const sharding*> shardings_;
  std::set<std::string_view> used_;
};

ZARRPOINT_INLINE result<tree_plan> plan_tree(const leaves_to_plan& of,
                                             const save_tree_options& options) {
  return tree_planner(options).run(of);
}

}}}}  // namespace zarrpoint::v0::orbax::detail
