// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

inline constexpr std::int64_t most_devices = std::int64_t{1} << 17;

/// A member that is text, or none.
ZARRPOINT_INLINE std::string text_member(const node& of, std::string_view name) {
  const node* const value = of.find(name);
  const std::string* const text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

ZARRPOINT_INLINE error no_valid(std::string_view name) {
  return {errc::corrupt, "it has no valid " + v0::detail::in_quotes(name)};
}

ZARRPOINT_INLINE result<dims> lengths(const node& of, std::string_view name) {
  const node* const values = of.find(name);
  if (values == nullptr || values->if_array() == nullptr || values->if_array()->size() > max_rank)
    return no_valid(name);
  dims out;
  for (const node& each : *values->if_array()) {
    const auto length = each.to_int64();
    if (!length || *length < 0) return no_valid(name);
    out.push_back(*length);
  }
  return out;
}

/// The number of devices. Errors: `resource_limit`.
ZARRPOINT_INLINE result<std::int64_t> device_count(const dims& mesh) {
  std::int64_t out = 1;
  for (const index_t length : mesh) {
    if (length < 1) return error{errc::corrupt, "a mesh without devices"};
    if (length > most_devices / out)
      return error{errc::resource_limit,
                   "a mesh of more than " + std::to_string(most_devices) + " devices"};
    out *= length;
  }
  return out;
}

/// The ids in nested arrays of `{"id": 3}`.
ZARRPOINT_INLINE bool add_devices(const node& from, std::size_t depth,
                                  std::vector<std::int64_t>& to) {
  if (const node::array* const row = from.if_array()) {
    if (depth == max_rank) return false;
    return std::all_of(row->begin(), row->end(),
                       [&](const node& each) { return add_devices(each, depth + 1, to); });
  }
  const node* const id = from.find("id");
  const auto number = id != nullptr ? id->to_int64() : std::nullopt;
  if (number) to.push_back(*number);
  return number.has_value();
}

ZARRPOINT_INLINE result<std::vector<std::string>> texts(const node& from, std::string_view name) {
  std::vector<std::string> out;
  if (from.if_array() == nullptr) return no_valid(name);
  for (const node& each : *from.if_array()) {
    if (each.if_string() == nullptr) return no_valid(name);
    out.push_back(*each.if_string());
  }
  return out;
}

ZARRPOINT_INLINE result<device_mesh> read_mesh(const node& from) {
  device_mesh out;
  ZARRPOINT_TRY(shape, lengths(from, "shape"));
  ZARRPOINT_TRY(count, device_count(shape));
  out.shape = shape;
  const node* const axes = from.find("axis_names");
  ZARRPOINT_TRY(names, texts(axes != nullptr ? *axes : node(), "axis_names"));
  if (names.size() != shape.rank()) return no_valid("axis_names");
  out.axes = std::move(names);
  const node* const types = from.find("axis_types");
  if (types != nullptr && !types->is_null()) {
    ZARRPOINT_TRY(each, texts(*types, "axis_types"));
    if (!each.empty() && each.size() != shape.rank()) return no_valid("axis_types");
    out.axis_types = std::move(each);
  }
  const node* const devices = from.find("device_mesh");
  if (devices == nullptr || devices->is_null()) return out;
  const node* const grid = devices->find("mesh");
  if (grid == nullptr || !add_devices(*grid, 0, out.devices) ||
      out.devices.size() != static_cast<std::size_t>(count))
    return no_valid("device_mesh");
  return out;
}

ZARRPOINT_INLINE result<partition_spec> read_partition(const node& from) {
  const node* const entries = from.find("partition_spec");
  if (entries == nullptr || entries->if_array() == nullptr) return no_valid("partition_spec");
  partition_spec out;
  for (const node& entry : *entries->if_array()) {
    auto& axes = out.emplace_back();
    if (const std::string* const one = entry.if_string()) {
      axes.push_back(*one);
    } else if (!entry.is_null()) {
      ZARRPOINT_TRY(several, texts(entry, "partition_spec"));
      axes = std::move(several);
    }
  }
  return out;
}

ZARRPOINT_INLINE result<sharding> read_sharding(std::string_view json) {
  ZARRPOINT_TRY(from, parse_json(as_bytes(json)));
  sharding out;
  out.type = text_member(from, "sharding_type");
  out.device = text_member(from, "device_str");
  if (out.type != "NamedSharding") return out;
  ZARRPOINT_TRY(mesh, read_mesh(from));
  out.mesh = std::move(mesh);
  ZARRPOINT_TRY(partition, read_partition(from));
  out.partition = std::move(partition);
  return out;
}

/// How many axes a dimension has, and how many cuts they make.
struct cuts {
  std::vector<std::size_t> axes;
  std::int64_t count = 1;
};

ZARRPOINT_INLINE result<std::vector<cuts>> cuts_of(const device_mesh& mesh,
                                                   const partition_spec& partition,
                                                   const dims& shape) {
  const auto wrong = [](std::string what) {
    return error{errc::invalid_argument, std::move(what)};
  };
  if (mesh.axes.size() != mesh.shape.rank()) return wrong("a mesh has a name for each axis");
  if (partition.size() > shape.rank())
    return wrong(to_string(partition) + " has more entries than an array of " +
                 std::to_string(shape.rank()) + " dimensions");
  std::vector<cuts> out(shape.rank());
  std::vector<bool> used(mesh.axes.size());
  for (std::size_t i = 0; i < partition.size(); ++i) {
    for (const std::string& name : partition[i]) {
      const auto at = std::find(mesh.axes.begin(), mesh.axes.end(), name);
      const auto axis = static_cast<std::size_t>(at - mesh.axes.begin());
      if (at == mesh.axes.end() || used[axis])
        return wrong(to_string(partition) + ": the mesh has no axis " +
                     v0::detail::in_quotes(name) + (at == mesh.axes.end() ? "" : " twice"));
      used[axis] = true;
      out[i].axes.push_back(axis);
      out[i].count *= mesh.shape[axis];
    }
    if (shape[i] % out[i].count != 0)
      return wrong(to_string(partition) + " does not cut a length of " + std::to_string(shape[i]) +
                   " into " + std::to_string(out[i].count) + " equal parts");
  }
  return out;
}

/// Row-major, the next coordinate within `shape`.
ZARRPOINT_INLINE void advance(dims& coordinate, const dims& shape) {
  for (std::size_t i = shape.rank(); i-- > 0;) {
    if (++coordinate[i] < shape[i]) return;
    coordinate[i] = 0;
  }
}

/// The one dimension that a step along an axis moves, and by how many parts; nothing if it moves
/// none.
struct axis_step {
  std::size_t axis = 0;
  std::size_t dimension = 0;
  index_t parts = 0;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<std::pair<std::string, sharding>>> read_shardings(
    bytes_view json) {
  ZARRPOINT_TRY(document, parse_json(json));
  if (document.if_object() == nullptr) return error{errc::corrupt, "it is not an object"};
  std::vector<std::pair<std::string, sharding>> out;
  for (const node::member& entry : *document.if_object()) {
    std::string key = entry.key;  // the form of base64 for addresses
    std::replace(key.begin(), key.end(), '-', '+');
    std::replace(key.begin(), key.end(), '_', '/');
    const auto name = v0::detail::from_base64(key);
    if (!name)
      return error{errc::corrupt, v0::detail::in_quotes(entry.key) + " is not a name in base64"};
    if (entry.value.is_null()) continue;
    const std::string* const text = entry.value.if_string();
    if (text == nullptr) return error{errc::corrupt, "the sharding of " + *name + " is not a text"};
    if (text->empty()) continue;
    ZARRPOINT_TRY(
        read, detail::read_sharding(*text).at("the sharding of " + v0::detail::in_quotes(*name)));
    out.emplace_back(*name, std::move(read));
  }
  v0::detail::sort_by_text(out, [](const auto& one) -> std::string_view { return one.first; });
  return out;
}

ZARRPOINT_INLINE std::string to_string(const partition_spec& partition) {
  std::string out = "PartitionSpec(";
  for (const auto& axes : partition) {
    if (out.back() != '(') out += ", ";
    if (axes.empty()) out += "None";
    if (axes.size() > 1) out += '(';
    for (const std::string& axis : axes)
      out += (&axis != &axes[0] ? ", '" : "'") + v0::detail::printable(axis, 80) + '\'';
    if (axes.size() > 1) out += ')';
  }
  return out + ')';
}

ZARRPOINT_INLINE result<std::vector<box>> device_boxes(const device_mesh& mesh,
                                                       const partition_spec& partition,
                                                       const dims& shape) {
  ZARRPOINT_TRY(count, detail::device_count(mesh.shape));
  ZARRPOINT_TRY(cuts, detail::cuts_of(mesh, partition, shape));
  std::vector<box> out;
  dims at(mesh.shape.rank(), 0);
  for (std::int64_t i = 0; i < count; ++i, detail::advance(at, mesh.shape)) {
    box& part = out.emplace_back(box::whole(shape));
    for (std::size_t d = 0; d < cuts.size(); ++d) {
      index_t index = 0;
      for (const std::size_t axis : cuts[d].axes) index = index * mesh.shape[axis] + at[axis];
      part.shape[d] = shape[d] / cuts[d].count;
      part.offset[d] = index * part.shape[d];
    }
  }
  return out;
}

ZARRPOINT_INLINE result<partition_spec> find_partition(const device_mesh& mesh,
                                                       const std::vector<box>& boxes,
                                                       const dims& shape) {
  const error none{errc::invalid_argument, "no PartitionSpec gives these parts to the devices"};
  ZARRPOINT_TRY(count, detail::device_count(mesh.shape));
  if (boxes.size() != static_cast<std::size_t>(count) || mesh.axes.size() != mesh.shape.rank())
    return none;
  for (const box& each : boxes)
    if (each.offset.rank() != shape.rank() || each.shape.rank() != shape.rank()) return none;
  // What a step along each axis moves, from the first device on.
  std::vector<detail::axis_step> steps;
  std::size_t stride = 1;
  for (std::size_t axis = mesh.shape.rank(); axis-- > 0;) {
    if (mesh.shape[axis] > 1) {
      for (std::size_t d = 0; d < shape.rank(); ++d) {
        const index_t length = boxes[0].shape[d];
        const index_t begin = boxes[stride].offset[d];
        if (begin == 0) continue;
        if (length < 1 || begin < 0) return none;
        steps.push_back({axis, d, begin / length});
      }
    }
    stride *= static_cast<std::size_t>(mesh.shape[axis]);
  }
  // The outermost moves by the most parts.
  v0::detail::sort_by(steps, [](const auto& a, const auto& b) {
    return a.dimension != b.dimension ? a.dimension < b.dimension : a.parts > b.parts;
  });
  partition_spec out;
  for (const detail::axis_step& step : steps) {
    out.resize(step.dimension + 1);
    out.back().push_back(mesh.axes[step.axis]);
  }
  const auto made = device_boxes(mesh, out, shape);
  if (!made || *made != boxes) return none;
  return out;
}

ZARRPOINT_INLINE result<std::vector<array_facts>> read_array_facts(bytes_view json) {
  ZARRPOINT_TRY(document, parse_json(json));
  const node* const entries = document.find("array_metadatas");
  if (entries == nullptr || entries->if_array() == nullptr)
    return detail::no_valid("array_metadatas");
  std::vector<array_facts> out;
  for (const node& entry : *entries->if_array()) {
    const node* const from = entry.find("array_metadata");
    if (from == nullptr) return detail::no_valid("array_metadata");
    array_facts& made = out.emplace_back();
    const node* const name = from->find("param_name");
    if (name == nullptr || name->if_string() == nullptr) return detail::no_valid("param_name");
    made.name = *name->if_string();
    ZARRPOINT_TRY(
        shape,
        detail::lengths(*from, "write_shape").at("the array " + v0::detail::in_quotes(made.name)));
    made.write_shape = shape;
    const node* const extra = from->find("ext_metadata");
    if (extra == nullptr) continue;
    made.extra = *extra;
    made.random_key = detail::text_member(*extra, "random_key_impl");
  }
  v0::detail::sort_by_text(out,
                           [](const array_facts& one) -> std::string_view { return one.name; });
  return out;
}

}}}  // namespace zarrpoint::v0::orbax
