// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_msgpack.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace orbax {

// ------------------------------------------------------------------------------ orbax_sharding.hpp

namespace detail {

inline constexpr std::int64_t most_devices = std::int64_t{1} << 17;

/// A member that is text, or none.
ZARRPOINT_INLINE std::string text_member(const json& of, std::string_view name) {
  const std::string* const text = of.find_string(name);
  return text != nullptr ? *text : std::string();
}

ZARRPOINT_INLINE error no_valid(std::string_view name) {
  return {errc::corrupt, "it has no valid " + v0::detail::in_quotes(name)};
}

ZARRPOINT_INLINE result<dims> lengths(const json& of, std::string_view name) {
  const json::array* const values = of.find_array(name);
  if (values == nullptr || values->size() > max_rank) return no_valid(name);
  dims out;
  for (const json& each : *values) {
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
    if (length < 1) return error{errc::corrupt, "a mesh has no devices"};
    if (length > most_devices / out)
      return error{errc::resource_limit,
                   "a mesh has more than " + std::to_string(most_devices) + " devices"};
    out *= length;
  }
  return out;
}

/// The ids in nested arrays of `{"id": 3}`.
ZARRPOINT_INLINE bool add_devices(const json& from, std::size_t depth,
                                  std::vector<std::int64_t>& to) {
  if (const json::array* const row = from.if_array()) {
    if (depth == max_rank) return false;
    return std::all_of(row->begin(), row->end(),
                       [&](const json& each) { return add_devices(each, depth + 1, to); });
  }
  const json* const id = from.find("id");
  const auto number = id != nullptr ? id->to_int64() : std::nullopt;
  if (number) to.push_back(*number);
  return number.has_value();
}

ZARRPOINT_INLINE result<std::vector<std::string>> texts(const json& from, std::string_view name) {
  std::vector<std::string> out;
  if (from.if_array() == nullptr) return no_valid(name);
  for (const json& each : *from.if_array()) {
    if (each.if_string() == nullptr) return no_valid(name);
    out.push_back(*each.if_string());
  }
  return out;
}

ZARRPOINT_INLINE result<device_mesh> read_mesh(const json& from) {
  device_mesh out;
  ZARRPOINT_TRY(shape, lengths(from, "shape"));
  ZARRPOINT_TRY(count, device_count(shape));
  out.shape = shape;
  const json* const axes = from.find("axis_names");
  ZARRPOINT_TRY(names, texts(axes != nullptr ? *axes : json(), "axis_names"));
  if (names.size() != shape.rank()) return no_valid("axis_names");
  out.axes = std::move(names);
  const json* const types = from.find("axis_types");
  if (types != nullptr && !types->is_null()) {
    ZARRPOINT_TRY(each, texts(*types, "axis_types"));
    if (!each.empty() && each.size() != shape.rank()) return no_valid("axis_types");
    out.axis_types = std::move(each);
  }
  const json* const devices = from.find("device_mesh");
  if (devices == nullptr || devices->is_null()) return out;
  const json* const grid = devices->find("mesh");
  if (grid == nullptr || !add_devices(*grid, 0, out.devices) ||
      out.devices.size() != static_cast<std::size_t>(count))
    return no_valid("device_mesh");
  return out;
}

ZARRPOINT_INLINE result<partition_spec> read_partition(const json& from) {
  const json::array* const entries = from.find_array("partition_spec");
  if (entries == nullptr) return no_valid("partition_spec");
  partition_spec out;
  for (const json& entry : *entries) {
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

ZARRPOINT_INLINE result<sharding> read_sharding(std::string_view text) {
  ZARRPOINT_TRY(from, parse_json(as_bytes(text)));
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
    bytes_view text) {
  ZARRPOINT_TRY(document, parse_json(text));
  if (document.if_object() == nullptr) return error{errc::corrupt, "it is not an object"};
  std::vector<std::pair<std::string, sharding>> out;
  for (const json::member& entry : *document.if_object()) {
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

ZARRPOINT_INLINE result<std::vector<array_facts>> read_array_facts(bytes_view text) {
  ZARRPOINT_TRY(document, parse_json(text));
  const json::array* const entries = document.find_array("array_metadatas");
  if (entries == nullptr) return detail::no_valid("array_metadatas");
  std::vector<array_facts> out;
  for (const json& entry : *entries) {
    const json* const from = entry.find("array_metadata");
    if (from == nullptr) return detail::no_valid("array_metadata");
    array_facts& made = out.emplace_back();
    const std::string* const name = from->find_string("param_name");
    if (name == nullptr) return detail::no_valid("param_name");
    made.name = *name;
    ZARRPOINT_TRY(
        shape,
        detail::lengths(*from, "write_shape").at("the array " + v0::detail::in_quotes(made.name)));
    made.write_shape = shape;
    const json* const extra = from->find("ext_metadata");
    if (extra == nullptr) continue;
    made.extra = *extra;
    made.random_key = detail::text_member(*extra, "random_key_impl");
  }
  v0::detail::sort_by_text(out,
                           [](const array_facts& one) -> std::string_view { return one.name; });
  return out;
}

// ---------------------------------------------------------------------------------- orbax_tree.hpp

ZARRPOINT_INLINE bool tree_leaf::is_empty() const {
  return value_type == "None" || value_type == "Dict" || value_type == "List" ||
         value_type == "Tuple" || value_type == "NamedTuple";
}

ZARRPOINT_INLINE std::string tree_leaf::original_name() const {
  std::string out;
  for (const tree_key& key : path) {
    if (&key != path.data()) out += '/';
    out += key.text;
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE error no_member(std::string_view name) {
  return {errc::corrupt, "a leaf has no valid " + std::string(name)};
}

ZARRPOINT_INLINE bool is_set(const json& of, std::string_view name) {
  const json* const value = of.find(name);
  return value != nullptr && value->if_bool() != nullptr && *value->if_bool();
}

ZARRPOINT_INLINE result<tree_leaf> read_leaf(const json& entry) {
  const json::array* const keys = entry.find_array("key_metadata");
  const json* const value = entry.find("value_metadata");
  if (keys == nullptr) return no_member("\"key_metadata\"");
  tree_leaf out;
  for (const json& key : *keys) {
    const std::string* const text = key.find_string("key");
    const json* const kind = key.find("key_type");
    if (text == nullptr) return no_member("\"key\"");
    out.path.push_back({*text, kind != nullptr && kind->to_int64() == 1});
    if (out.path.size() > 1) out.storage += '.';
    out.storage += out.path.back().text;
  }
  const std::string* const type = value != nullptr ? value->find_string("value_type") : nullptr;
  if (type == nullptr) return no_member("\"value_type\"");
  out.value_type = *type;
  out.is_skipped = is_set(*value, "skip_deserialize");
  return out;
}

ZARRPOINT_INLINE std::string path_text(const std::vector<tree_key>& path) {
  std::string out;
  for (const tree_key& key : path) out.append(key.text).append(1, '\0');
  return out;
}

ZARRPOINT_INLINE void arrange(std::vector<tree_leaf>& leaves) {
  const auto is_empty = [](const tree_leaf& leaf) { return leaf.is_empty(); };
  if (std::any_of(leaves.begin(), leaves.end(), is_empty)) {
    std::vector<std::string> paths;
    paths.reserve(leaves.size());
    for (const tree_leaf& leaf : leaves) paths.push_back(path_text(leaf.path));
    v0::detail::sort_names(paths);
    std::erase_if(leaves, [&](const tree_leaf& leaf) {
      if (!leaf.is_empty()) return false;
      const std::string own = path_text(leaf.path);
      const auto next = std::upper_bound(paths.begin(), paths.end(), own);
      return next != paths.end() && next->starts_with(own);
    });
  }
  if (leaves.size() == 1 && leaves[0].path.empty()) return;
  // `None` is not shown, and takes no name away from what is.
  const auto is_shown = [](const tree_leaf& leaf) { return leaf.value_type != "None"; };
  std::stable_partition(leaves.begin(), leaves.end(), is_shown);
  std::vector<std::string> names;
  names.reserve(leaves.size());
  for (std::size_t i = 0; i < leaves.size() && is_shown(leaves[i]); ++i)
    names.push_back(leaves[i].original_name());
  std::vector<std::string> shown = v0::detail::shown_names(names);
  if (shown.size() < leaves.size()) {
    names = shown;
    for (std::size_t i = shown.size(); i < leaves.size(); ++i)
      names.push_back(leaves[i].original_name());
    names = v0::detail::shown_names(names);
    for (std::size_t i = shown.size(); i < leaves.size(); ++i) shown.push_back(std::move(names[i]));
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].name = std::move(shown[i]);
  sort_by_name(leaves, [](const tree_leaf& each) -> const std::string& { return each.name; });
}

}  // namespace detail

ZARRPOINT_INLINE result<tree> read_tree(bytes_view text, const json_limits& limits) {
  ZARRPOINT_TRY(document, parse_json(text, limits));
  const json::object* const leaves = document.find_object("tree_metadata");
  if (leaves == nullptr) return error{errc::corrupt, "it has no object \"tree_metadata\""};
  tree out;
  out.leaves.reserve(leaves->size());
  for (const json::member& entry : *leaves) {
    ZARRPOINT_TRY(leaf, detail::read_leaf(entry.value));
    out.leaves.push_back(std::move(leaf));
  }
  detail::arrange(out.leaves);
  out.has_all_chunks = detail::is_set(document, "store_array_data_equal_to_fill_value");
  out.is_ocdbt = detail::is_set(document, "use_ocdbt");
  json* const rich = document.find("value_metadata_tree");
  if (rich != nullptr && rich->if_string() != nullptr)
    out.rich_types = std::move(*rich->if_string());
  if (json* const custom = document.find("custom_metadata"))
    out.custom_metadata = std::move(*custom);
  return out;
}

}}}  // namespace zarrpoint::v0::orbax

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// ------------------------------------------------------------------------------- orbax_msgpack.hpp

ZARRPOINT_INLINE result<void> msgpack_input::skip(std::uint64_t size) {
  if (size > left()) return error{errc::corrupt, "a value is longer than what is left"};
  at_ += size;
  return {};
}

/// An unsigned number of `size` bytes, the highest first.
ZARRPOINT_INLINE result<std::uint64_t> msgpack_input::number(std::size_t size) {
  if (size > left()) return error{errc::corrupt, "it ends within a value"};
  if (at_ < window_at_ || at_ + size > window_at_ + window_size_) {
    window_at_ = at_;
    window_size_ =
        static_cast<std::size_t>(std::min<std::uint64_t>(window_.size(), file_.size() - at_));
    ZARRPOINT_CHECK(file_.read(at_, mutable_bytes(window_).first(window_size_)));
  }
  std::uint64_t out = 0;
  for (const std::byte each :
       std::span(window_).subspan(static_cast<std::size_t>(at_ - window_at_), size))
    out = out << 8 | std::to_integer<std::uint64_t>(each);
  at_ += size;
  return out;
}

ZARRPOINT_INLINE result<msgpack_head> msgpack_input::sized(msgpack_kind kind, std::size_t width) {
  ZARRPOINT_TRY(size, number(width));
  return msgpack_head{kind, size};
}

ZARRPOINT_INLINE result<msgpack_head> msgpack_input::extended(std::uint64_t size) {
  ZARRPOINT_TRY(code, number(1));
  return msgpack_head{msgpack_kind::extension, size, static_cast<std::int8_t>(code)};
}

/// Of two's complement.
ZARRPOINT_INLINE msgpack_head msgpack_signed(std::uint64_t bits, std::size_t width) {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  const auto value = static_cast<std::int64_t>(bits << unused) >> unused;
  return {value < 0 ? msgpack_kind::negative : msgpack_kind::integer,
          static_cast<std::uint64_t>(value)};
}

ZARRPOINT_INLINE result<msgpack_head> msgpack_input::head() {
  ZARRPOINT_TRY(mark, number(1));
  if (mark < 0x80) return msgpack_head{msgpack_kind::integer, mark};
  if (mark < 0x90) return msgpack_head{msgpack_kind::map, mark & 15U};
  if (mark < 0xa0) return msgpack_head{msgpack_kind::array, mark & 15U};
  if (mark < 0xc0) return msgpack_head{msgpack_kind::text, mark & 31U};
  if (mark >= 0xe0) return msgpack_signed(mark, 1);
  return marked(mark);
}

/// With a mark from 0xc0 to 0xdf, in whose runs the width doubles each time.
ZARRPOINT_INLINE result<msgpack_head> msgpack_input::marked(std::uint64_t mark) {
  const auto in = [&](unsigned first, unsigned last) { return mark >= first && mark <= last; };
  const auto width = [&](unsigned first, std::size_t least) {
    return least << static_cast<unsigned>(mark - first);
  };
  if (mark == 0xc0) return msgpack_head{msgpack_kind::nil};
  if (in(0xc2, 0xc3)) return msgpack_head{msgpack_kind::boolean, mark & 1U};
  if (in(0xc4, 0xc6)) return sized(msgpack_kind::binary, width(0xc4, 1));
  if (in(0xc7, 0xc9)) {
    ZARRPOINT_TRY(size, number(width(0xc7, 1)));
    return extended(size);
  }
  if (mark == 0xca) {
    ZARRPOINT_TRY(bits, number(4));
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return msgpack_head{msgpack_kind::real, std::bit_cast<std::uint64_t>(double{narrow})};
  }
  if (mark == 0xcb) return sized(msgpack_kind::real, 8);
  if (in(0xcc, 0xcf)) return sized(msgpack_kind::integer, width(0xcc, 1));
  if (in(0xd0, 0xd3)) {
    ZARRPOINT_TRY(bits, number(width(0xd0, 1)));
    return msgpack_signed(bits, width(0xd0, 1));
  }
  if (in(0xd4, 0xd8)) return extended(width(0xd4, 1));
  if (in(0xd9, 0xdb)) return sized(msgpack_kind::text, width(0xd9, 1));
  if (in(0xdc, 0xdd)) return sized(msgpack_kind::array, width(0xdc, 2));
  if (in(0xde, 0xdf)) return sized(msgpack_kind::map, width(0xde, 2));
  return error{errc::corrupt, "a byte that begins no value"};
}

ZARRPOINT_INLINE result<void> msgpack_input::check_room(std::uint64_t bytes) const {
  if (used_ <= most_bytes && bytes <= most_bytes - used_) return {};
  return error{errc::resource_limit,
               "its names and texts take more than " + std::to_string(most_bytes) + " bytes"};
}

ZARRPOINT_INLINE result<void> msgpack_input::count(std::uint64_t bytes) {
  ZARRPOINT_CHECK(check_room(bytes));
  used_ += bytes;
  return {};
}

ZARRPOINT_INLINE result<std::string> msgpack_input::bytes(std::uint64_t size) {
  if (size > left()) return error{errc::corrupt, "a text is longer than what is left"};
  ZARRPOINT_CHECK(count(size));
  std::string out(static_cast<std::size_t>(size), '\0');
  ZARRPOINT_CHECK(file_.read(at_, std::as_writable_bytes(std::span<char>(out))));
  at_ += size;
  return out;
}

ZARRPOINT_INLINE result<std::string> msgpack_input::text(std::uint64_t size) {
  ZARRPOINT_TRY(out, bytes(size));
  if (!is_utf8(out)) return error{errc::corrupt, "a text that is not UTF-8"};
  return std::move(out);
}

ZARRPOINT_INLINE result<std::string> msgpack_input::short_text(std::size_t most) {
  ZARRPOINT_TRY(from, head());
  if (from.kind != msgpack_kind::text) return error{errc::unsupported, "a key that is not a text"};
  if (from.number > most)
    return error{errc::unsupported, "a key has more than " + std::to_string(most) + " bytes"};
  return text(from.number);
}

ZARRPOINT_INLINE result<std::uint64_t> msgpack_input::enter(std::uint64_t size) {
  if (size > left()) return error{errc::corrupt, "an extension is longer than what is left"};
  return std::exchange(end_, at_ + size);
}

ZARRPOINT_INLINE result<void> msgpack_input::leave(std::uint64_t outer) {
  if (at_ != end_) return error{errc::corrupt, "an extension is longer than its value"};
  end_ = outer;
  return {};
}

// ----------------------------------------------------------------------------- orbax_aggregate.hpp

class aggregate_reader {
 public:
  explicit aggregate_reader(const blob& file) : in_(file) {}

  result<aggregate_leaves> run() {
    if (auto read = value(0); !read)
      return std::move(read).at("before byte " + std::to_string(in_.at())).failure();
    if (in_.left() > 0) return damaged("something follows its value");
    sort_by_name(out_,
                 [](const aggregate_leaf& each) -> const std::string& { return each.leaf.name; });
    for (std::size_t i = 1; i < out_.size(); ++i)
      if (out_[i].leaf.name == out_[i - 1].leaf.name)
        return damaged("two leaves have the name " +
                       v0::detail::in_quotes(out_[i].leaf.original_name()));
    return std::move(out_);
  }

 private:
  static constexpr int most_deep = 64;
  static constexpr std::string_view chunked_mark = "__msgpack_chunked_array__";
  static constexpr std::string_view placeholder_mark = "PLACEHOLDER://";

  static error damaged(std::string_view what) { return {errc::corrupt, std::string(what)}; }
  static error strange(std::string_view what) { return {errc::unsupported, std::string(what)}; }

  result<std::string> name() { return in_.short_text(store_key::max_size); }

  /// The number of elements, of which each takes `least_bytes`.
  result<std::uint64_t> elements(const msgpack_head& of, std::uint64_t least_bytes) const {
    if (of.number > in_.left() / least_bytes) return damaged("more elements than what is left");
    return of.number;
  }

  /// The same where each is a leaf, or holds some: too many are refused before they are read.
  result<std::uint64_t> children(const msgpack_head& of, std::uint64_t least_bytes) const {
    ZARRPOINT_TRY(count, elements(of, least_bytes));
    ZARRPOINT_CHECK(in_.check_room(count * sizeof(aggregate_leaf)));
    return count;
  }

  /// The next leaf, of which the path is known.
  result<aggregate_leaf*> add(aggregate_kind kind, std::string_view value_type) {
    std::uint64_t size = sizeof(aggregate_leaf);
    for (const tree_key& step : path_) size += sizeof step + 3 * step.text.size();
    if (kind == aggregate_kind::array) size += sizeof(aggregate_array);
    ZARRPOINT_CHECK(in_.count(size));
    aggregate_leaf& made = out_.emplace_back();
    made.kind = kind;
    if (kind == aggregate_kind::array) made.array = std::make_unique<aggregate_array>();
    made.leaf.path = path_;
    made.leaf.value_type = value_type;
    made.leaf.is_skipped = true;
    made.leaf.name = path_text(path_);
    for (std::size_t i = 0; i < path_.size(); ++i)
      made.leaf.storage += (i > 0 ? "." : "") + path_[i].text;
    return &made;
  }

  result<void> add_empty(std::string_view value_type) {
    ZARRPOINT_CHECK(add(aggregate_kind::empty, value_type));
    return {};
  }

  result<void> value(int depth) {
    if (depth > most_deep) return error{errc::resource_limit, "it is nested too deep"};
    ZARRPOINT_TRY(from, in_.head());
    switch (from.kind) {
      case msgpack_kind::map: return members(from, depth);
      case msgpack_kind::array: return sequence(from, depth, "List");
      case msgpack_kind::extension:
        return in_.within(from.number, [&] { return extension(from.extension, depth); });
      case msgpack_kind::nil: return add_empty("None");
      case msgpack_kind::text: return text(from);
      case msgpack_kind::boolean: return scalar("bool", from.number, 1);
      case msgpack_kind::real: return scalar("float64", from.number, 8);
      case msgpack_kind::negative: return scalar("int64", from.number, 8);
      case msgpack_kind::integer:
        return scalar(from.number <= INT64_MAX ? "int64" : "uint64", from.number, 8);
      case msgpack_kind::binary: break;
    }
    return strange("a leaf of bytes");
  }

  result<void> text(const msgpack_head& of) {
    ZARRPOINT_TRY(read, in_.text(of.number));
    if (!read.starts_with(placeholder_mark)) {
      ZARRPOINT_TRY(made, add(aggregate_kind::text, "string"));
      made->text = std::move(read);
      return {};
    }
    ZARRPOINT_TRY(made, add(aggregate_kind::placeholder, "np.ndarray"));
    made->leaf.is_skipped = false;
    made->leaf.storage = made->text = read.substr(placeholder_mark.size());
    return {};
  }

  result<void> scalar(std::string_view type, std::uint64_t bits, std::size_t size) {
    ZARRPOINT_TRY(made, add(aggregate_kind::array, "scalar"));
    made->array->type = type;
    append(made->text, bits, size);
    return {};
  }

  static void append(std::string& to, std::uint64_t bits, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to += static_cast<char>(bits >> (8 * i) & 0xffU);
  }

  result<void> members(const msgpack_head& of, int depth) {
    ZARRPOINT_TRY(pairs, children(of, 2));
    if (pairs == 0) return add_empty("Dict");
    for (std::uint64_t i = 0; i < pairs; ++i) {
      ZARRPOINT_TRY(key, name());
      if (i == 0 && key == chunked_mark) return chunked(pairs);
      ZARRPOINT_CHECK(child({std::move(key), false}, depth));
    }
    return {};
  }

  result<void> sequence(const msgpack_head& of, int depth, std::string_view value_type) {
    ZARRPOINT_TRY(size, children(of, 1));
    if (size == 0) return add_empty(value_type);
    for (std::uint64_t i = 0; i < size; ++i)
      ZARRPOINT_CHECK(child({std::to_string(i), true}, depth));
    return {};
  }

  result<void> child(tree_key key, int depth) {
    path_.push_back(std::move(key));
    std::size_t size = 0;
    for (const tree_key& step : path_) size += step.text.size() + 1;
    if (size > store_key::max_size + 1)
      return strange("a leaf has a path of more than " + std::to_string(store_key::max_size) +
                     " bytes");
    ZARRPOINT_CHECK(value(depth + 1));
    path_.pop_back();
    return {};
  }

  /// What Flax puts into extensions: a value of msgpack each.
  result<void> extension(int type, int depth) {
    switch (type) {
      case 1:
      case 3: {
        ZARRPOINT_TRY(made, add(aggregate_kind::array, type == 1 ? "np.ndarray" : "scalar"));
        return ndarray(*made->array);
      }
      case 2: return complex();
      case 4: {
        ZARRPOINT_TRY(from, in_.head());
        if (from.kind != msgpack_kind::array) return damaged("a tuple that is not an array");
        return sequence(from, depth, "Tuple");
      }
      default: return strange("an extension of type " + std::to_string(type));
    }
  }

  result<void> complex() {
    ZARRPOINT_TRY(made, add(aggregate_kind::array, "scalar"));
    made->array->type = "complex128";
    ZARRPOINT_TRY(pair, in_.head());
    if (pair.kind != msgpack_kind::array || pair.number != 2)
      return damaged("a complex number that is not a pair");
    for (int i = 0; i < 2; ++i) {
      ZARRPOINT_TRY(part, in_.head());
      if (part.kind != msgpack_kind::real) return damaged("a complex number of other than floats");
      append(made->text, part.number, 8);
    }
    return {};
  }

  result<void> add_length(std::vector<index_t>& to) {
    ZARRPOINT_TRY(from, in_.head());
    if (from.kind != msgpack_kind::integer || from.number > INT64_MAX || to.size() == max_rank)
      return damaged("a shape that is not one of an array");
    to.push_back(static_cast<index_t>(from.number));
    return {};
  }

  /// What NumPy and ml_dtypes call a type is what Zarr v3 calls it, for those that it has.
  static result<std::uint64_t> byte_size(const std::string& type,
                                         const std::vector<index_t>& shape) {
    const auto parsed = v0::detail::parse_data_type_v3(json(type));
    if (!parsed || parsed->size() == 0)
      return strange("an array of the type " + v0::detail::in_quotes(type));
    std::uint64_t out = parsed->size();
    for (const index_t each : shape) {
      ZARRPOINT_TRY(size, checked_mul(out, static_cast<std::uint64_t>(each)));
      out = size;
    }
    return out;
  }

  /// (shape, name of the type, elements).
  result<void> ndarray(aggregate_array& to) {
    const error other{errc::corrupt, "an array lacks its shape, type or elements"};
    ZARRPOINT_TRY(triple, in_.head());
    if (triple.kind != msgpack_kind::array || triple.number != 3) return other;
    ZARRPOINT_TRY(axes, in_.head());
    if (axes.kind != msgpack_kind::array) return other;
    for (std::uint64_t i = 0; i < axes.number; ++i) ZARRPOINT_CHECK(add_length(to.shape));
    const auto is_bytes = [](const msgpack_head& at) {
      return at.kind == msgpack_kind::text || at.kind == msgpack_kind::binary;
    };
    ZARRPOINT_TRY(named, in_.head());
    if (!is_bytes(named)) return damaged("an array without a type");
    ZARRPOINT_TRY(type, in_.bytes(named.number));
    to.type = std::move(type);
    ZARRPOINT_TRY(wanted, byte_size(to.type, to.shape));
    ZARRPOINT_TRY(held, in_.head());
    if (!is_bytes(held) || held.number != wanted)
      return damaged("an array of " + std::to_string(wanted) + " bytes has " +
                     std::to_string(is_bytes(held) ? held.number : 0));
    if (wanted > 0) to.pieces.push_back({in_.at(), wanted});
    return in_.skip(wanted);
  }

  /// An array of more than a gigabyte: maps of its lengths, and of flat arrays, by their numbers.
  result<void> chunked(std::uint64_t pairs) {
    ZARRPOINT_TRY(mark, in_.head());
    if (pairs != 3 || mark.kind != msgpack_kind::boolean)
      return damaged("an array of several pieces without its members");
    ZARRPOINT_TRY(leaf, add(aggregate_kind::array, "np.ndarray"));
    aggregate_array* const made = leaf->array.get();
    ZARRPOINT_CHECK(numbered("shape", [&] { return add_length(made->shape); }));
    std::uint64_t total = 0;  // of parts of the file
    ZARRPOINT_CHECK(numbered("chunks", [&]() -> result<void> {
      ZARRPOINT_TRY(from, in_.head());
      if (from.kind != msgpack_kind::extension || from.extension != 1)
        return damaged("a piece that is not an array");
      aggregate_array piece;
      ZARRPOINT_CHECK(in_.within(from.number, [&] { return ndarray(piece); }));
      if (!made->type.empty() && made->type != piece.type)
        return damaged("pieces of several types");
      made->type = std::move(piece.type);
      for (const aggregate_piece& each : piece.pieces) {
        total += each.size;
        made->pieces.push_back(each);
      }
      return {};
    }));
    ZARRPOINT_TRY(wanted, byte_size(made->type, made->shape));
    if (total != wanted) return damaged("the pieces of an array are not all of it");
    return {};
  }

  /// The member `name`, a map from "0" on.
  template <class F>
  result<void> numbered(std::string_view member, F&& each) {
    ZARRPOINT_TRY(key, name());
    ZARRPOINT_TRY(from, in_.head());
    if (key != member || from.kind != msgpack_kind::map)
      return damaged("an array of several pieces without its " + std::string(member));
    ZARRPOINT_TRY(size, elements(from, 2));
    for (std::uint64_t i = 0; i < size; ++i) {
      ZARRPOINT_TRY(index, name());
      if (index != std::to_string(i)) return damaged("the pieces of an array are not in order");
      ZARRPOINT_CHECK(each());
    }
    return {};
  }

  msgpack_input in_;
  std::vector<tree_key> path_;
  aggregate_leaves out_;
};

/// Pieces of a file, one after another.
class aggregate_blob final : public blob {
 public:
  aggregate_blob(std::shared_ptr<const blob> file, std::vector<aggregate_piece> pieces)
      : file_(std::move(file)), pieces_(std::move(pieces)) {
    for (const aggregate_piece& each : pieces_) size_ += each.size;
  }

  std::uint64_t size() const noexcept override { return size_; }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    for (const aggregate_piece& each : pieces_) {
      if (into.empty()) break;
      if (offset >= each.size) {
        offset -= each.size;
        continue;
      }
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), each.size - offset));
      ZARRPOINT_CHECK(file_->read(each.offset + offset, into.first(size)));
      into = into.subspan(size);
      offset = 0;
    }
    return {};
  }

  std::string name() const override { return file_->name(); }

 private:
  std::shared_ptr<const blob> file_;
  std::vector<aggregate_piece> pieces_;
  std::uint64_t size_ = 0;
};

ZARRPOINT_INLINE result<aggregate_leaves> read_aggregate(const blob& file) {
  return aggregate_reader(file).run();
}

ZARRPOINT_INLINE result<bool> is_aggregate(const blob& file) {
  if (file.size() == 0) return false;
  std::array<std::byte, 1> first{};
  ZARRPOINT_CHECK(file.read(0, first));
  const auto mark = std::to_integer<unsigned>(first[0]);
  return (mark >= 0x80 && mark < 0x90) || mark == 0xde || mark == 0xdf;
}

ZARRPOINT_INLINE std::unique_ptr<blob> aggregate_elements(std::shared_ptr<const blob> file,
                                                          std::vector<aggregate_piece> pieces) {
  return std::make_unique<aggregate_blob>(std::move(file), std::move(pieces));
}

ZARRPOINT_INLINE result<json> array_document(const aggregate_array& array) {
  ZARRPOINT_TRY(type, v0::detail::parse_data_type_v3(json(array.type)));
  const tensor_spec spec{type, dims(std::span<const index_t>(array.shape))};
  return to_v3(v0::detail::raw_array(spec, endian::little));
}

ZARRPOINT_INLINE const std::string* text_of(const json& texts, std::string_view storage) {
  const json* at = &texts;
  while (at != nullptr) {
    const std::size_t slash = storage.find('/');
    at = at->find(storage.substr(0, slash));
    if (slash == storage.npos) break;
    storage.remove_prefix(slash + 1);
  }
  return at != nullptr ? at->if_string() : nullptr;
}

}}}}  // namespace zarrpoint::v0::orbax::detail

namespace zarrpoint { inline namespace v0 { namespace orbax {

// --------------------------------------------------------------------------------- orbax_value.hpp

ZARRPOINT_INLINE std::string tree_path::joined(char separator) const {
  std::string out;
  for (const tree_key& key : keys_) {
    if (&key != keys_.data()) out += separator;
    out += key.text;
  }
  return out;
}

namespace detail {

/// What a leaf is as a value: an empty container is none.
ZARRPOINT_INLINE tree_value leaf_value(std::string type, std::string name) {
  tree_value out;
  if (type == "Dict") out.kind = value_kind::dict;
  if (type == "List") out.kind = value_kind::list;
  if (type == "Tuple") out.kind = value_kind::tuple;
  if (type == "NamedTuple") out.kind = value_kind::named_tuple;
  if (out.kind != value_kind::leaf) return out;
  out.type = std::move(type);
  out.name = std::move(name);
  return out;
}

ZARRPOINT_INLINE error too_deep(const std::string& name) {
  return {errc::resource_limit,
          "the tree has more than 64 levels, at " + v0::detail::in_quotes(name)};
}

/// Trees by the paths of their leaves.
class value_builder {
 public:
  using leaves = std::vector<const tree_leaf*>;

  static result<tree_value> build(const leaves& from, std::size_t depth) {
    if (from.size() == 1 && from[0]->path.size() == depth)
      return leaf_value(from[0]->value_type, from[0]->name);
    if (depth == most_levels) return too_deep(from[0]->name);
    tree_value out;
    out.kind = from.empty() ? value_kind::dict : value_kind::list;
    std::vector<std::pair<std::string, leaves>> groups;
    for (const tree_leaf* leaf : from) {
      if (leaf->path.size() == depth) return error{errc::corrupt, "a leaf lies above another"};
      if (!leaf->path[depth].is_index) out.kind = value_kind::dict;
      groups.emplace_back(leaf->path[depth].text, leaves{leaf});
    }
    const bool is_list = out.kind == value_kind::list;
    v0::detail::sort_by(groups, [&](const auto& a, const auto& b) {
      // Of numbers without zeros before them the longer is the larger.
      if (is_list && a.first.size() != b.first.size()) return a.first.size() < b.first.size();
      return a.first < b.first;
    });
    for (std::size_t i = 0; i < groups.size();) {
      leaves beneath;
      std::size_t end = i;
      for (; end < groups.size() && groups[end].first == groups[i].first; ++end)
        beneath.push_back(groups[end].second[0]);
      ZARRPOINT_TRY(member, build(beneath, depth + 1));
      out.members.emplace_back(groups[i].first, std::move(member));
      i = end;
    }
    return out;
  }
};

/// Trees by the text `value_metadata_tree`.
ZARRPOINT_INLINE result<tree_value> rich_value(const json& from, const std::string& name,
                                               std::size_t depth) {
  if (depth > most_levels) return too_deep(name);
  const auto beneath = [&](std::string_view key) {
    return depth == 0 ? std::string(key) : name + '/' + std::string(key);
  };
  tree_value out;
  const auto add = [&](std::string key, const json& value) -> result<void> {
    ZARRPOINT_TRY(member, rich_value(value, beneath(key), depth + 1));
    out.members.emplace_back(std::move(key), std::move(member));
    return {};
  };
  const auto add_all = [&](const json::array& entries) -> result<void> {
    std::size_t i = 0;
    for (const json& each : entries) ZARRPOINT_CHECK(add(std::to_string(i++), each));
    return {};
  };
  const error other{errc::corrupt, "value_metadata_tree has an entry of no known form"};
  if (const json::array* const elements = from.if_array()) {
    out.kind = value_kind::list;
    ZARRPOINT_CHECK(add_all(*elements));
    return out;
  }
  if (from.if_object() == nullptr) return other;
  const std::string category = text_member(from, "category");
  const json::array* const entries = from.find_array("entries");
  if (category == "custom" && text_member(from, "clazz") == "ValueMetadataEntry") {
    const json* const data = from.find("data");
    if (data == nullptr) return other;
    return leaf_value(text_member(*data, "value_type"), name);
  }
  if (category == "custom" && text_member(from, "clazz") == "tuple") {
    if (entries == nullptr) return other;
    out.kind = value_kind::tuple;
    ZARRPOINT_CHECK(add_all(*entries));
    return out;
  }
  if (category == "namedtuple") {
    if (entries == nullptr) return other;
    out.kind = value_kind::named_tuple;
    out.type = text_member(from, "module") + '.' + text_member(from, "clazz");
    for (const json& entry : *entries) {
      const json* const value = entry.find("value");
      if (value == nullptr) return other;
      ZARRPOINT_CHECK(add(text_member(entry, "key"), *value));
    }
    return out;
  }
  out.kind = value_kind::dict;
  for (const json::member& entry : *from.if_object()) ZARRPOINT_CHECK(add(entry.key, entry.value));
  return out;
}

/// Gives a leaf the name under which its tree shows it. `path` is its `path_text`, and `shown` has
/// those and the names.
ZARRPOINT_INLINE void show_names(tree_value& of, std::string path,
                                 const std::map<std::string, std::string>& shown) {
  if (of.kind == value_kind::leaf) {
    if (const auto at = shown.find(path); at != shown.end()) of.name = at->second;
    return;
  }
  for (auto& [key, member] : of.members) show_names(member, path + key + '\0', shown);
}

}  // namespace detail

ZARRPOINT_INLINE result<tree_value> to_value(const tree& from) {
  return guarded([&]() -> result<tree_value> {
    if (!from.rich_types.empty()) {
      // Of a named tuple a level is three: itself, its entries, and one of them.
      json_limits limits;
      limits.max_depth = 3 * (detail::most_levels + 1) + 2;
      ZARRPOINT_TRY(rich, parse_json(as_bytes(from.rich_types), limits).at("value_metadata_tree"));
      ZARRPOINT_TRY(value, detail::rich_value(rich, {}, 0));
      std::map<std::string, std::string> shown;
      for (const tree_leaf& leaf : from.leaves)
        if (leaf.name != leaf.original_name())
          shown.emplace(detail::path_text(leaf.path), leaf.name);
      if (!shown.empty()) detail::show_names(value, {}, shown);
      return value;
    }
    detail::value_builder::leaves leaves;
    for (const tree_leaf& leaf : from.leaves) leaves.push_back(&leaf);
    return detail::value_builder::build(leaves, 0);
  });
}

ZARRPOINT_INLINE result<json> read_scalar(const any_store& tree, std::string_view name) {
  ZARRPOINT_TRY(key, store_key::parse(name));
  ZARRPOINT_TRY(opened, array::open(tree, key));
  const dtype type = opened.spec().type;
  const bool is_text = type == dtype_kind::string;
  if (opened.spec().shape.rank() != 0 || !(is_text || type.is_number()) || type.is_complex())
    return error{errc::invalid_argument,
                 v0::detail::in_quotes(name) + " is not a number or text of Python"};
  ZARRPOINT_TRY(read, opened.read(box{}));
  const host_view from = read.view();
  if (is_text) return json(*reinterpret_cast<const std::string*>(from.data));
  const auto as = [&]<class T>(T value, dtype_kind kind) -> result<json> {
    ZARRPOINT_CHECK(v0::detail::cast_elements(
        dense_view(reinterpret_cast<std::byte*>(&value), {kind, {}}), from));
    return json(value);
  };
  if (type == dtype_kind::bool_) return as(false, dtype_kind::bool_);
  if (type.is_unsigned_integer()) return as(std::uint64_t{0}, dtype_kind::uint64);
  if (type.is_integer()) return as(std::int64_t{0}, dtype_kind::int64);
  return as(0.0, dtype_kind::float64);
}

}}}  // namespace zarrpoint::v0::orbax

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#endif
