// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/shard/dcp_view.hpp>
#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/shard/partition.hpp>
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <charconv>
#include <map>
#include <numeric>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------ sharded_object.hpp

ZARRPOINT_INLINE std::string unique_key(const object_id& id) {
  std::string text = id.key + "/shard_";
  const auto append = [&text](const dims& values) {
    for (std::size_t i = 0; i < values.rank(); ++i) {
      if (i != 0) text += '.';
      text += std::to_string(values[i]);
    }
  };
  append(id.global_offset);
  text += '_';
  append(id.global_shape);
  return text;
}

namespace detail {

ZARRPOINT_INLINE error bad_object(const object_id& id, const std::string& what) {
  return {errc::invalid_argument, "object \"" + id.key + "\": " + what};
}

/// "0.3" as {0, 3}; nothing unless it is written just as `unique_key` would.
ZARRPOINT_INLINE bool parse_dotted(std::string_view text, dims& out) {
  if (text.empty()) return true;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (out.rank() < max_rank) {
    index_t value = 0;
    const auto [stop, failure] = std::from_chars(at, end, value);
    if (failure != std::errc() || *at == '-' || (*at == '0' && stop - at > 1)) return false;
    out.push_back(value);
    if (stop == end) return true;
    if (*stop != '.') return false;
    at = stop + 1;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> object_id::check() const {
  if (key.empty()) return error{errc::invalid_argument, "an object has no key"};
  if (global_offset.rank() != global_shape.rank())
    return detail::bad_object(*this, "global offset " + to_string(global_offset) +
                                         " must have the same rank as global shape " +
                                         to_string(global_shape));
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis) {
    if (global_offset[axis] < 0 || global_offset[axis] >= global_shape[axis])
      return error{errc::out_of_range,
                   detail::bad_object(*this, "global offset " + to_string(global_offset) +
                                                 " leaves global shape " + to_string(global_shape))
                       .message};
  }
  ZARRPOINT_CHECK(element_count(global_shape).at("object \"" + key + "\""));
  return {};
}

namespace detail {

/// The parts of a unique key; whether they fit each other is for the caller to see.
ZARRPOINT_INLINE result<object_id> split_unique_key(std::string_view text) {
  constexpr std::string_view marker = "/shard_";
  const auto refused = [text](std::string_view why) {
    std::string message = in_quotes(text) + " is not the unique key of an object: ";
    return error{errc::corrupt, message.append(why)};
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || !text.substr(slash).starts_with(marker))
    return refused("no \"/shard_\" behind the key");
  if (slash == 0) return refused("no key");
  const std::string_view place = text.substr(slash + marker.size());
  const std::size_t middle = place.find('_');
  if (middle == std::string_view::npos) return refused("no shape");
  object_id id{std::string(text.substr(0, slash)), {}, {}};
  if (!parse_dotted(place.substr(0, middle), id.global_offset) ||
      !parse_dotted(place.substr(middle + 1), id.global_shape))
    return refused("not numbers with dots between them");
  return id;
}

/// Whether the last extent is missing, which some writers took for the suffix of a file's name.
ZARRPOINT_INLINE bool lost_extent(const object_id& id) {
  return !id.global_shape.empty() && id.global_offset.rank() == id.global_shape.rank() + 1;
}

ZARRPOINT_INLINE result<void> check_parsed(const object_id& id) {
  if (id.global_offset.rank() == id.global_shape.rank()) return id.check();
  return error{errc::corrupt, in_quotes(unique_key(id)) +
                                  " is not the unique key of an object: its offset and its shape "
                                  "differ in rank"};
}

}  // namespace detail

ZARRPOINT_INLINE result<object_id> parse_unique_key(std::string_view text) {
  ZARRPOINT_TRY(id, detail::split_unique_key(text));
  ZARRPOINT_CHECK(detail::check_parsed(id));
  return std::move(id);
}

ZARRPOINT_INLINE result<std::vector<object_id>> parse_unique_keys(
    std::span<const std::string> texts) {
  std::vector<object_id> out;
  out.reserve(texts.size());
  std::map<std::string, index_t> extents;
  for (const std::string& text : texts) {
    ZARRPOINT_TRY(id, detail::split_unique_key(text));
    if (detail::lost_extent(id)) {
      ZARRPOINT_TRY(needed, checked_add(id.global_offset.back(), 1).at(detail::in_quotes(text)));
      index_t& extent = extents[id.key];
      extent = std::max(extent, needed);
    }
    out.push_back(std::move(id));
  }
  for (object_id& id : out) {
    if (detail::lost_extent(id)) id.global_shape.push_back(extents[id.key]);
    ZARRPOINT_CHECK(detail::check_parsed(id));
  }
  return out;
}

ZARRPOINT_INLINE result<sharded_object> sharded_object::from_bytes(std::string key,
                                                                   std::vector<std::byte> bytes,
                                                                   const object_place& where) {
  ZARRPOINT_TRY(out, request(std::move(key), where));
  return out.with_bytes(std::move(bytes));
}

ZARRPOINT_INLINE result<sharded_object> sharded_object::request(std::string key,
                                                                const object_place& where) {
  return request({std::move(key), where.global_shape, where.global_offset}, where.replica);
}

ZARRPOINT_INLINE result<sharded_object> sharded_object::request(object_id id, replica_id replica) {
  ZARRPOINT_CHECK(id.check());
  return sharded_object(std::move(id), std::move(replica));
}

ZARRPOINT_INLINE sharded_object sharded_object::with_bytes(std::vector<std::byte> bytes) const {
  sharded_object out = without_data();
  out.bytes_ = detail::make_counted<const std::vector<std::byte>>(std::move(bytes));
  return out;
}

ZARRPOINT_INLINE sharded_object sharded_object::with_key(std::string key) const {
  sharded_object out = *this;
  out.id_.key = std::move(key);
  return out;
}

ZARRPOINT_INLINE sharded_object sharded_object::with_replica(replica_id replica) const {
  sharded_object out = *this;
  out.replica_ = std::move(replica);
  return out;
}

ZARRPOINT_INLINE result<void> sharded_object::check_same_grid(const dims& stored) const {
  if (stored == id_.global_shape) return {};
  return error{errc::shape_mismatch, "object \"" + key() + "\": stored in a grid of " +
                                         to_string(stored) + ", asked for in one of " +
                                         to_string(id_.global_shape) +
                                         "; objects are not resharded"};
}

// ------------------------------------------------------------------------------------ dcp_view.hpp

ZARRPOINT_INLINE write_item write_item_of(const sharded_object& object) {
  return {{object.unique_key(), {}, {}}, write_item::kind::bytes, {}, {}};
}

ZARRPOINT_INLINE std::vector<box> local_shards::chunks() const {
  std::vector<box> out;
  out.reserve(shards_.size());
  for (const shard_metadata& shard : shards_) out.push_back(shard.global_box());
  return out;
}

ZARRPOINT_INLINE std::vector<write_item> local_shards::write_items() const {
  std::vector<write_item> out;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const shard_metadata& shard = shards_[i];
    const box chunk = shard.global_box();
    if (!shard.replica.is_main() || chunk.empty()) continue;
    out.push_back({{key_, shard.global_offset, i},
                   write_item::kind::shard,
                   chunk,
                   {shard.type, shard.global_shape}});
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE bool lies_before(const dims& a, const dims& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// Whether `shard` is of the tensor that `first` is of.
ZARRPOINT_INLINE result<void> check_same_tensor(const shard_metadata& shard,
                                                const shard_metadata& first) {
  if (shard.range)
    return error{errc::unsupported,
                 bad_shard(shard, "a flat range is not a box of the tensor").message};
  if (shard.type != first.type || shard.global_shape != first.global_shape)
    return bad_shard(shard, to_string(tensor_spec{shard.type, shard.global_shape}) +
                                " does not belong to the tensor " +
                                to_string(tensor_spec{first.type, first.global_shape}));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE bool local_shards::before(std::size_t a, std::size_t b) const {
  const dims& x = shards_[a].global_offset;
  const dims& y = shards_[b].global_offset;
  if (x != y) return detail::lies_before(x, y);
  const bool x_empty = shards_[a].global_box().empty();
  const bool y_empty = shards_[b].global_box().empty();
  return x_empty != y_empty ? y_empty : a < b;
}

ZARRPOINT_INLINE result<void> local_shards::check_duplicates() const {
  for (std::size_t i = 1; i < by_offset_.size(); ++i) {
    const shard_metadata& shard = shards_[by_offset_[i]];
    if (shard.global_offset == shards_[by_offset_[i - 1]].global_offset &&
        !shard.global_box().empty())
      return detail::bad_shard(
          shard, "two local shards have the offset " + to_string(shard.global_offset));
  }
  return {};
}

ZARRPOINT_INLINE result<local_shards> local_shards::make(std::string key,
                                                         std::vector<shard_metadata> shards) {
  for (const shard_metadata& shard : shards) {
    ZARRPOINT_CHECK(shard.check());
    if (shard.key != key) return detail::bad_shard(shard, "it is not a shard of \"" + key + "\"");
    ZARRPOINT_CHECK(detail::check_same_tensor(shard, shards.front()));
  }
  local_shards out(std::move(key), std::move(shards));
  std::iota(out.by_offset_.begin(), out.by_offset_.end(), std::size_t{0});
  detail::sort_by(out.by_offset_,
                  [&out](std::size_t a, std::size_t b) { return out.before(a, b); });
  ZARRPOINT_CHECK(out.check_duplicates());
  return out;
}

ZARRPOINT_INLINE result<std::size_t> local_shards::find(const metadata_index& index) const {
  const std::string name = "shards of \"" + key_ + "\": ";
  if (index.key != key_)
    return error{errc::invalid_argument,
                 name + "it was looked up by another key, \"" + index.key + "\""};
  if (shards_.empty()) return error{errc::out_of_range, name + "this process has none"};
  if (!index.offset)
    return error{errc::invalid_argument, name + "it is looked up without an offset"};
  if (index.hint && *index.hint < shards_.size()) {
    const shard_metadata& hinted = shards_[*index.hint];
    if (hinted.global_offset == *index.offset && !hinted.global_box().empty()) return *index.hint;
  }
  const auto at = std::lower_bound(by_offset_.begin(), by_offset_.end(), *index.offset,
                                   [this](std::size_t i, const dims& wanted) {
                                     return detail::lies_before(shards_[i].global_offset, wanted);
                                   });
  if (at == by_offset_.end() || shards_[*at].global_offset != *index.offset)
    return error{errc::not_found, name + "no shard has offset " + to_string(*index.offset)};
  return *at;
}

// -------------------------------------------------------------------------------------- narrow.hpp

namespace detail {

ZARRPOINT_INLINE index_t scaled(index_t global, const axis_range& to, index_t local) {
  return local == 0 ? global : global / local * to.length;
}

/// The flat range `old` of a shard after its cut along axis 0, and the part of the local tensor
/// that stays; nothing where none does.
ZARRPOINT_INLINE std::optional<narrowed> narrow_range(shard_metadata shard, const flat_range& old,
                                                      const axis_range& to) {
  // Where there are elements, no product of extents overflows; a 0 could hide that one does.
  if (element_count(shard.local_shape).value_or(0) == 0) return std::nullopt;
  index_t row = 1;
  for (std::size_t i = 1; i < shard.local_shape.rank(); ++i) row *= shard.local_shape[i];
  const index_t first = to.start * row;
  const index_t end = first + to.length * row;
  if (old.stop <= first || old.start >= end) return std::nullopt;
  const index_t start = std::max(old.start, first);
  const index_t stop = std::min(old.stop, end);
  shard.range = flat_range{start - first, stop - first};
  return narrowed{std::move(shard), box{{start - old.start}, {stop - start}}};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<narrowed>> narrow(const shard_metadata& shard,
                                                        const axis_range& to) {
  ZARRPOINT_CHECK(shard.check());
  const auto leaves = [&shard](const std::string& what) {
    return error{errc::out_of_range, detail::bad_shard(shard, what).message};
  };
  if (to.axis >= shard.local_shape.rank())
    return leaves("narrowed along axis " + std::to_string(to.axis) + " of local shape " +
                  to_string(shard.local_shape));
  const index_t local = shard.local_shape[to.axis];
  if (to.start < 0 || to.length < 0 || to.start > local || to.length > local - to.start)
    return leaves("narrowed to " + std::to_string(to.length) + " elements from " +
                  std::to_string(to.start) + " of " + std::to_string(local) + " along axis " +
                  std::to_string(to.axis));
  if (!shard.is_regular())
    return detail::bad_shard(shard, "only shards of a regular grid are narrowed");
  if (shard.range && to.axis != 0)
    return detail::bad_shard(
        shard, "a flat range is narrowed along axis 0 only, not " + std::to_string(to.axis));
  shard_metadata out = shard;
  const std::size_t axis = shard.prepended_axes + to.axis;
  out.local_shape[to.axis] = to.length;
  out.global_shape[axis] = detail::scaled(shard.global_shape[axis], to, local);
  out.global_offset[axis] = detail::scaled(shard.global_offset[axis], to, local);
  if (shard.range) return detail::narrow_range(std::move(out), *shard.range, to);
  box part{dims(out.local_shape.rank(), 0), out.local_shape};
  part.offset[to.axis] = to.start;
  return std::optional(narrowed{std::move(out), part});
}

ZARRPOINT_INLINE result<std::optional<sharded_tensor>> narrow(const sharded_tensor& shard,
                                                              const axis_range& to) {
  ZARRPOINT_TRY(left, narrow(shard.metadata(), to));
  std::optional<sharded_tensor> out;
  if (left) {
    ZARRPOINT_TRY(made, shard.part(std::move(left->shard), left->part));
    out = std::move(made);
  }
  return out;
}

namespace detail {

/// The elements of the data of a flat range that belong to part `number`, each part being `volume`
/// elements; nothing when there are none.
ZARRPOINT_INLINE std::optional<narrowed> flat_part(const shard_metadata& part, index_t number,
                                                   index_t volume) {
  const flat_range whole = *part.range;
  const index_t first = number * volume;
  const flat_range within{std::max(whole.start, first), std::min(whole.stop, first + volume)};
  if (within.size() <= 0) return std::nullopt;
  narrowed out{part, {{within.start - whole.start}, {within.size()}}};
  out.shard.range = flat_range{within.start - first, within.stop - first};
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::optional<narrowed>>> split_shard(
    const shard_metadata& fused, const split_axis& how) {
  ZARRPOINT_CHECK(fused.check());
  constexpr std::size_t most_parts = 1024;
  if (how.axis >= fused.local_shape.rank() || how.parts == 0 || how.parts > most_parts)
    return bad_shard(fused, "cannot be split in " + std::to_string(how.parts) +
                                " parts along axis " + std::to_string(how.axis));
  const auto count = static_cast<index_t>(how.parts);
  const std::size_t axis = fused.prepended_axes + how.axis;
  const index_t stride = fused.global_shape[axis] / count;
  shard_metadata part = fused;
  part.local_shape[how.axis] /= count;
  part.global_offset[axis] /= count;
  if (fused.local_shape[how.axis] % count != 0 || fused.global_offset[axis] % count != 0 ||
      fused.global_shape[axis] % count != 0)
    return bad_shard(
        fused, std::to_string(how.parts) + " parts do not divide axis " + std::to_string(how.axis));
  if (part.fragmentation) {
    index_t& fragments = (*part.fragmentation)[axis];
    ZARRPOINT_TRY(more, checked_mul(fragments, count));
    fragments = more;
  }
  const auto is_one = [](index_t extent) { return extent == 1; };
  if (fused.range &&
      !std::all_of(fused.local_shape.begin(), fused.local_shape.begin() + how.axis, is_one))
    return error{
        errc::unsupported,
        bad_shard(fused, "a flat range cannot be split along axis " + std::to_string(how.axis) +
                             ": the elements of the parts alternate in it")
            .message};
  ZARRPOINT_TRY(volume, element_count(part.local_shape));
  std::vector<std::optional<narrowed>> out;
  out.reserve(how.parts);
  for (index_t number = 0; number < count; ++number) {
    if (fused.range) {
      out.push_back(flat_part(part, number, volume));
    } else {
      box data = box::whole(part.local_shape);
      data.offset[how.axis] = number * part.local_shape[how.axis];
      out.emplace_back(narrowed{part, data});
    }
    part.global_offset[axis] += stride;
  }
  return out;
}

}  // namespace detail

// ----------------------------------------------------------------------------------- partition.hpp

ZARRPOINT_INLINE std::string to_string(const partition_spec& spec) {
  std::string out = "(";
  for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
    if (axis > 0) out += ", ";
    for (std::size_t i = 0; i < spec.axes[axis].size(); ++i)
      out += (i > 0 ? "*" : "") + spec.axes[axis][i];
    if (spec.axes[axis].empty()) out += "-";
  }
  return out + ")";
}

namespace detail {

ZARRPOINT_INLINE error bad_partition(const partition_spec& spec, const std::string& what) {
  return {errc::invalid_argument, "partition " + to_string(spec) + ": " + what};
}

/// Each name of the spec is an axis of the mesh, once.
ZARRPOINT_INLINE result<void> check_spec(const rank_mesh& mesh, const partition_spec& spec) {
  const std::span<const rank_mesh::axis> axes = mesh.axes();
  std::vector<bool> seen(axes.size(), false);
  for (const std::vector<std::string>& names : spec.axes) {
    for (const std::string& name : names) {
      const auto found = std::find_if(axes.begin(), axes.end(),
                                      [&](const rank_mesh::axis& one) { return one.name == name; });
      if (found == axes.end()) return bad_partition(spec, "the mesh has no axis \"" + name + "\"");
      const auto at = static_cast<std::size_t>(found - axes.begin());
      if (seen[at]) return bad_partition(spec, "axis \"" + name + "\" is named twice");
      seen[at] = true;
    }
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE partition::partition(rank_mesh mesh, partition_spec spec, uneven_parts rule)
    : mesh_(std::move(mesh)), spec_(std::move(spec)), rule_(rule), divided_(spec_.axes.size()) {
  std::vector<bool> named(mesh_.axes().size(), false);
  for (std::size_t axis = 0; axis < spec_.axes.size(); ++axis) {
    for (const std::string& name : spec_.axes[axis]) {
      step at;
      for (std::size_t i = 0; i < mesh_.axes().size(); ++i) {
        at.extent = mesh_.axes()[i].extent;
        named[i] = named[i] || mesh_.axes()[i].name == name;
        if (mesh_.axes()[i].name == name) break;
        at.stride *= at.extent;
      }
      divided_[axis].push_back(at);
    }
  }
  int stride = 1;
  for (std::size_t i = 0; i < mesh_.axes().size(); ++i) {
    if (!named[i]) copied_.push_back({stride, mesh_.axes()[i].extent});
    stride *= mesh_.axes()[i].extent;
  }
}

ZARRPOINT_INLINE result<partition> partition::make(rank_mesh mesh, partition_spec spec,
                                                   uneven_parts rule) {
  ZARRPOINT_CHECK(detail::check_spec(mesh, spec));
  return partition(std::move(mesh), std::move(spec), rule);
}

ZARRPOINT_INLINE result<void> partition::check_rank(int rank) const {
  if (rank >= 0 && rank < mesh_.size()) return {};
  return error{errc::out_of_range,
               detail::bad_partition(spec_, "rank " + std::to_string(rank) +
                                                " is not in the mesh, which has " +
                                                std::to_string(mesh_.size()) + " ranks")
                   .message};
}

ZARRPOINT_INLINE index_t partition::parts_of(std::size_t axis) const {
  index_t out = 1;
  if (axis < divided_.size()) {
    for (const step& by : divided_[axis]) out *= by.extent;
  }
  return out;
}

ZARRPOINT_INLINE result<void> partition::check_shape(const dims& global_shape) const {
  if (spec_.axes.size() > global_shape.rank())
    return detail::bad_partition(
        spec_, "it has more axes than the tensor of shape " + to_string(global_shape));
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis) {
    const auto refused = [&](const std::string& what) {
      return detail::bad_partition(
          spec_, "axis " + std::to_string(axis) + " of shape " + to_string(global_shape) + what);
    };
    if (global_shape[axis] < 0) return refused(" is negative");
    if (rule_ == uneven_parts::refuse && global_shape[axis] % parts_of(axis) != 0)
      return refused(" cannot be divided into " + std::to_string(parts_of(axis)) +
                     " equal parts; uneven_parts::ceil allows others");
  }
  return {};
}

ZARRPOINT_INLINE box partition::box_at(const dims& global_shape, int rank) const {
  box out = box::whole(global_shape);
  for (std::size_t axis = 0; axis < divided_.size(); ++axis) {
    for (const step& by : divided_[axis]) {
      index_t& extent = out.shape[axis];
      const index_t part = ceil_div(extent, by.extent);
      const index_t position = rank / by.stride % by.extent;
      // No product overflows that stays within the extent.
      const index_t begin =
          part == 0 || position > extent / part ? extent : std::min(position * part, extent);
      out.offset[axis] += begin;
      extent = std::min(part, extent - begin);
    }
  }
  return out;
}

ZARRPOINT_INLINE result<box> partition::box_of(const dims& global_shape, int rank) const {
  ZARRPOINT_CHECK(check_rank(rank));
  ZARRPOINT_CHECK(check_shape(global_shape));
  return box_at(global_shape, rank);
}

ZARRPOINT_INLINE result<std::vector<box>> partition::boxes_of(const dims& global_shape) const {
  ZARRPOINT_CHECK(check_shape(global_shape));
  std::vector<box> out;
  out.reserve(static_cast<std::size_t>(mesh_.size()));
  for (int rank = 0; rank < mesh_.size(); ++rank) out.push_back(box_at(global_shape, rank));
  return out;
}

ZARRPOINT_INLINE result<int> partition::replica_of(int rank) const {
  ZARRPOINT_CHECK(check_rank(rank));
  int number = 0;
  int each = 1;
  for (const step& by : copied_) {
    number += rank / by.stride % by.extent * each;
    each *= by.extent;
  }
  return number;
}

ZARRPOINT_INLINE result<sharding> partition::sharding_of(int rank) const {
  ZARRPOINT_TRY(replica, replica_of(rank));
  sharding out;
  out.replica = replica;
  for (std::size_t axis = 0; axis < divided_.size(); ++axis) {
    index_t position = 0;
    for (const step& by : divided_[axis])
      position = position * by.extent + rank / by.stride % by.extent;
    if (!divided_[axis].empty()) out.offsets.push_back({axis, position, parts_of(axis)});
  }
  return out;
}

ZARRPOINT_INLINE result<shard_metadata> partition::shard_of(std::string key,
                                                            const tensor_spec& global,
                                                            int rank) const {
  ZARRPOINT_TRY(part, box_of(global.shape, rank).at("shard of \"" + key + "\""));
  ZARRPOINT_TRY(replica, replica_of(rank));
  shard_metadata out{.key = std::move(key),
                     .type = global.type,
                     .local_shape = part.shape,
                     .global_shape = global.shape,
                     .global_offset = part.offset};
  out.replica = replica;
  dims parts;
  bool is_even = true;
  for (std::size_t axis = 0; axis < global.shape.rank(); ++axis) {
    parts.push_back(parts_of(axis));
    is_even = is_even && global.shape[axis] % parts[axis] == 0;
  }
  if (is_even) out.fragmentation = parts;
  ZARRPOINT_CHECK(out.check());
  return out;
}

ZARRPOINT_INLINE result<partition> partition::of_boxes(rank_mesh mesh, const dims& global_shape,
                                                       std::span<const box> by_rank) {
  if (by_rank.size() != static_cast<std::size_t>(mesh.size()))
    return error{errc::invalid_argument, std::to_string(by_rank.size()) +
                                             " boxes were given; the mesh has " +
                                             std::to_string(mesh.size()) + " ranks"};
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    ZARRPOINT_CHECK(
        selection(by_rank[rank]).check(global_shape).at("the box of rank " + std::to_string(rank)));
  // The second rank along an axis of the mesh has the second part of the tensor's axis that is
  // divided by it. Of several mesh axes the major one takes the largest step, and of those whose
  // steps are equal the one with something left.
  struct divisor {
    const rank_mesh::axis* by;
    index_t begin;
    index_t extent;
  };
  partition_spec spec;
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis) {
    std::vector<divisor> found;
    int stride = 1;
    for (const rank_mesh::axis& by : mesh.axes()) {
      if (by.extent > 1) {
        const box& second = by_rank[static_cast<std::size_t>(stride)];
        if (second.offset[axis] != by_rank[0].offset[axis])
          found.push_back({&by, second.offset[axis], second.shape[axis]});
      }
      stride *= by.extent;
    }
    detail::sort_by(found, [](const divisor& a, const divisor& b) {
      return a.begin != b.begin ? a.begin > b.begin : a.extent > b.extent;
    });
    std::vector<std::string>& names = spec.axes.emplace_back();
    for (const divisor& one : found) names.push_back(one.by->name);
  }
  while (!spec.axes.empty() && spec.axes.back().empty()) spec.axes.pop_back();

  ZARRPOINT_TRY(out, make(std::move(mesh), std::move(spec), uneven_parts::ceil)
                         .at("no partition of the mesh gives the boxes"));
  ZARRPOINT_CHECK(out.check_shape(global_shape));
  bool is_even = true;
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis)
    is_even = is_even && global_shape[axis] % out.parts_of(axis) == 0;
  if (is_even) out.rule_ = uneven_parts::refuse;
  for (int rank = 0; rank < out.mesh_.size(); ++rank) {
    const box& given = by_rank[static_cast<std::size_t>(rank)];
    const box made = out.box_at(global_shape, rank);
    if (made != given)
      return error{errc::invalid_argument, "no partition of the mesh gives the boxes: rank " +
                                               std::to_string(rank) + " has " + to_string(given) +
                                               ", where " + to_string(out.spec_) + " has " +
                                               to_string(made)};
  }
  return std::move(out);
}

// ------------------------------------------------------------------------------ shard_geometry.hpp

ZARRPOINT_INLINE result<std::vector<slice_part>> global_slice(const shard_metadata& shard) {
  ZARRPOINT_CHECK(detail::check_ranks(shard));
  const box part = shard.global_box();
  std::vector<slice_part> out;
  for (std::size_t axis = 0; axis < part.rank(); ++axis)
    out.push_back({part.offset[axis], part.shape[axis], axis < shard.prepended_axes});
  return out;
}

ZARRPOINT_INLINE result<dims> chunk_offset_in_global(const shard_metadata& shard) {
  ZARRPOINT_CHECK(shard.check());
  if (!shard.is_regular()) return detail::bad_shard(shard, "it is not part of a regular grid");
  const box part = shard.global_box();
  if (part.empty()) return detail::bad_shard(shard, "an empty shard has no place in the grid");
  dims out = part.offset;
  for (std::size_t axis = 0; axis < out.rank(); ++axis) out[axis] /= part.shape[axis];
  return out;
}

ZARRPOINT_INLINE result<dims> max_allowed_chunks(const shard_metadata& shard) {
  ZARRPOINT_CHECK(detail::check_ranks(shard));
  if (!shard.is_regular()) return detail::bad_shard(shard, "it is not part of a regular grid");
  dims out = shard.global_shape;
  for (std::size_t axis = 0; axis < out.rank(); ++axis) {
    const index_t count = (*shard.fragmentation)[axis];
    const std::string where = "axis " + std::to_string(axis) + ": ";
    if (count < 1) return detail::bad_shard(shard, where + "the fragmentation must be 1 or more");
    if (out[axis] % count != 0 && !shard.allow_shape_mismatch)
      return detail::bad_shard(shard, where + "the global extent " + std::to_string(out[axis]) +
                                          " is not divisible by the fragmentation " +
                                          std::to_string(count));
    out[axis] /= count;
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::vector<index_t>>> local_coordinates(
    const shard_metadata& shard) {
  ZARRPOINT_CHECK(shard.check());
  if (!shard.range) return detail::bad_shard(shard, "only a flat range has coordinates");
  std::vector<std::vector<index_t>> out(shard.local_shape.rank());
  for (index_t i = shard.range->start; i < shard.range->stop; ++i) {
    index_t rest = i;
    for (std::size_t axis = out.size(); axis-- > 0;) {
      out[axis].push_back(rest % shard.local_shape[axis]);
      rest /= shard.local_shape[axis];
    }
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::vector<index_t>>> global_coordinates(
    const shard_metadata& shard) {
  ZARRPOINT_TRY(out, local_coordinates(shard));
  const auto count = static_cast<std::size_t>(shard.range->size());
  out.insert(out.begin(), shard.prepended_axes, std::vector<index_t>(count, 0));
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    for (index_t& at : out[axis]) at += shard.global_offset[axis];
  }
  return std::move(out);
}

namespace detail {

ZARRPOINT_INLINE std::vector<box> flat_boxes(const dims& shape, const flat_range& range) {
  std::vector<box> out;
  index_t at = std::max<index_t>(range.start, 0);
  const index_t stop = std::min(range.stop, element_count(shape).value_or(0));
  if (at >= stop) return out;
  const std::size_t rank = shape.rank();
  if (rank == 0) return {box{}};
  const dims strides = row_major_strides(shape, 1);
  while (at < stop) {
    // The outermost axis along which a whole step begins here and fits.
    std::size_t axis = 0;
    while (at % strides[axis] != 0 || strides[axis] > stop - at) ++axis;
    box part{dims(rank, 0), shape};
    index_t rest = at;
    for (std::size_t i = 0; i <= axis; ++i) {
      part.offset[i] = rest / strides[i];
      rest %= strides[i];
      part.shape[i] = 1;
    }
    part.shape[axis] = std::min((stop - at) / strides[axis], shape[axis] - part.offset[axis]);
    at += part.shape[axis] * strides[axis];
    out.push_back(part);
  }
  return out;
}

ZARRPOINT_INLINE std::vector<box> global_boxes(const shard_metadata& shard) {
  if (!shard.range) return {shard.global_box()};
  std::vector<box> out = flat_boxes(shard.local_shape, *shard.range);
  for (box& part : out) {
    box global{shard.global_offset, dims(shard.prepended_axes, 1)};
    for (std::size_t axis = 0; axis < part.rank(); ++axis) {
      global.offset[shard.prepended_axes + axis] += part.offset[axis];
      global.shape.push_back(part.shape[axis]);
    }
    part = global;
  }
  return out;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/communicate/bodies.hpp>
#include <zarrpoint/distributed/shard/tensor_bodies.hpp>
#endif
