// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <zstd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <system_error>
#include <tuple>
#include <unordered_map>

namespace zarrpoint { inline namespace v0 { namespace dcp {

// -------------------------------------------------------------------------------- dcp_metadata.hpp

namespace detail {

using torch::pickle_kind;
using torch::pickle_value;

ZARRPOINT_INLINE result<void> sort_chunks(tensor_entry& of) {
  const auto before = [](const tensor_chunk& a, const tensor_chunk& b) {
    return std::lexicographical_compare(a.at.offset.begin(), a.at.offset.end(), b.at.offset.begin(),
                                        b.at.offset.end());
  };
  std::stable_sort(of.chunks.begin(), of.chunks.end(), before);
  for (std::size_t i = 1; i < of.chunks.size(); ++i)
    if (of.chunks[i].at.offset == of.chunks[i - 1].at.offset &&
        !(of.chunks[i].at == of.chunks[i - 1].at))
      return error{errc::corrupt, "its boxes " + to_string(of.chunks[i - 1].at) + " and " +
                                      to_string(of.chunks[i].at) + " overlap"};
  const auto is_same = [](const tensor_chunk& a, const tensor_chunk& b) { return a.at == b.at; };
  of.chunks.erase(std::unique(of.chunks.begin(), of.chunks.end(), is_same), of.chunks.end());
  return {};
}

/// What is said of a value that is not what it should be.
ZARRPOINT_INLINE std::string kind_of(const pickle_value& value) {
  const pickle_value of = value.kind() == pickle_kind::call ? value.callable() : value;
  if (of.kind() == pickle_kind::global)
    return "a " + v0::detail::in_quotes(std::string(of.module()) + "." + std::string(of.name()));
  return "a value of another kind";
}

/// An attribute of an object of a dataclass. It is found by its name, or where the state is a plain
/// sequence (named tuples, slots, a `__getstate__` of its own) by its place among the fields.
ZARRPOINT_INLINE std::optional<pickle_value> field(const pickle_value& object, std::size_t place,
                                                   std::string_view name) {
  if (object.kind() != pickle_kind::call) return std::nullopt;
  const auto at = [&](const pickle_value& from) -> std::optional<pickle_value> {
    if (place >= from.element_count()) return std::nullopt;
    return from.element(place);
  };
  const auto is_attributes = [](const pickle_value& one) {
    return one.is_none() || one.kind() == pickle_kind::dict;
  };
  for (std::size_t i = object.state_count(); i-- > 0;) {
    const pickle_value state = object.state(i);
    if (state.kind() == pickle_kind::dict) {
      if (auto found = state.find(name)) return found;
    } else if (state.element_count() == 2 && is_attributes(state.element(0)) &&
               is_attributes(state.element(1))) {
      for (std::size_t half = 2; half-- > 0;)
        if (auto found = state.element(half).find(name)) return found;
    } else if (auto found = at(state)) {
      return found;
    }
  }
  if (object.keywords().kind() == pickle_kind::dict)
    if (auto found = object.keywords().find(name)) return found;
  return at(object.arguments());
}

ZARRPOINT_INLINE result<std::string> read_text(const std::optional<pickle_value>& value,
                                               std::string_view what) {
  if (!value || value->if_string() == nullptr)
    return error{errc::corrupt, "it has no valid " + std::string(what)};
  return *value->if_string();
}

ZARRPOINT_INLINE result<stored_item> read_item(const pickle_value& info) {
  const auto offset = field(info, 1, "offset");
  const auto length = field(info, 2, "length");
  const auto file = field(info, 0, "relative_path");
  if (!file || file->if_string() == nullptr || !offset || !offset->to_uint64() || !length ||
      !length->to_uint64())
    return error{errc::corrupt, "where its item lies is " + kind_of(info) +
                                    " without a valid relative_path, offset and length"};
  stored_item out{*file->if_string(), *offset->to_uint64(), *length->to_uint64(), {}, false};
  ZARRPOINT_CHECK(store_key::parse(out.file).at("the file of its item"));
  ZARRPOINT_CHECK(checked_add(out.offset, out.length).at("its item"));
  const auto transforms = field(info, 3, "transform_descriptors");
  if (!transforms || transforms->is_none()) return out;
  constexpr std::size_t most_transforms = 8;  // there is one that we read
  if (transforms->element_count() > most_transforms)
    return error{errc::unsupported, "its item has too many transforms"};
  for (std::size_t i = 0; i < transforms->element_count(); ++i) {
    ZARRPOINT_TRY(one, read_text(transforms->element(i), "transform_descriptors"));
    out.transforms.push_back(std::move(one));
  }
  return out;
}

class metadata_reader {
 public:
  metadata_reader(pickle_value root, const torch::pickle_limits& limits)
      : root_(std::move(root)), limits_(limits) {}

  result<metadata> read() {
    const auto entries = field(root_, 0, "state_dict_metadata");
    if (!entries || entries->kind() != pickle_kind::dict)
      return error{errc::corrupt, "it is " + kind_of(root_) +
                                      " without a state_dict_metadata, not the Metadata "
                                      "of torch.distributed.checkpoint"};
    ZARRPOINT_CHECK(read_storage());
    paths_ = members_of(field(root_, 1, "planner_data"));
    extras_ = members_of(field(root_, no_place, "mcore_data"));
    metadata out;
    for (std::size_t i = 0; i < entries->member_count(); ++i) {
      const std::string* const name = entries->key(i).if_string();
      if (name == nullptr) return error{errc::corrupt, "a name in it is not text"};
      ZARRPOINT_CHECK(check_name(*name));
      ZARRPOINT_CHECK(read_entry(*name, entries->member(i), out)
                          .at("the entry " + v0::detail::in_quotes(*name)));
    }
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::stable_sort(out.tensors.begin(), out.tensors.end(), by_name);
    std::stable_sort(out.values.begin(), out.values.end(), by_name);
    std::stable_sort(out.unknown.begin(), out.unknown.end(), by_name);
    return out;
  }

 private:
  /// One text for a box of a tensor, or for a value, which has no offset.
  static std::string item_key(std::string_view name, const dims* offset) {
    std::string out(name);
    out += '\n';
    if (offset != nullptr) out += to_string(*offset);
    return out;
  }

  /// Of a dict, the last of a name counts; anything else has none.
  static std::unordered_map<std::string_view, pickle_value> members_of(
      const std::optional<pickle_value>& of) {
    std::unordered_map<std::string_view, pickle_value> out;
    if (!of || of->kind() != pickle_kind::dict) return out;
    for (std::size_t i = 0; i < of->member_count(); ++i)
      if (const std::string* const name = of->key(i).if_string())
        out.insert_or_assign(*name, of->member(i));
    return out;
  }

  static result<void> check_name(const std::string& name) {
    if (name.size() <= store_key::max_size) return {};
    return error{errc::unsupported,
                 "a name has more than " + std::to_string(store_key::max_size) + " bytes"};
  }

  /// A value that many places share counts at each, with some of what is kept of it.
  result<void> charge(std::size_t count) {
    if (count > (limits_.max_values - charged_) / values_per_box)
      return error{errc::resource_limit, "it has more than " +
                                             std::to_string(limits_.max_values / values_per_box) +
                                             " boxes and items; raise limits::memory"};
    charged_ += values_per_box * count;
    return {};
  }

  result<void> read_storage() {
    const auto items = field(root_, 2, "storage_data");
    if (!items || items->kind() != pickle_kind::dict)
      return error{errc::unsupported,
                   "its storage_data is not a dict: it was not written by the "
                   "file system writer of torch.distributed.checkpoint"};
    for (std::size_t i = 0; i < items->member_count(); ++i) {
      ZARRPOINT_CHECK(charge(1));
      const pickle_value index = items->key(i);
      ZARRPOINT_TRY(name, read_text(field(index, 0, "fqn"), "fqn in its storage_data"));
      ZARRPOINT_CHECK(check_name(name));
      const auto read = [&]() -> result<void> {
        ZARRPOINT_TRY(item, read_item(items->member(i)));
        const auto offset = field(index, 1, "offset");
        std::string key = item_key(name, nullptr);
        if (offset && !offset->is_none()) {
          ZARRPOINT_TRY(start, torch::detail::read_extents(*offset, "a size"));
          key = item_key(name, &start);
        }
        const auto [at, is_new] = items_.try_emplace(std::move(key), item);
        if (!is_new && !(at->second == item)) return error{errc::corrupt, "one box has two items"};
        return {};
      };
      ZARRPOINT_CHECK(read().at("the item of " + v0::detail::in_quotes(name)));
    }
    return {};
  }

  const stored_item* find_item(std::string_view name, const dims* offset) const {
    const auto found = items_.find(item_key(name, offset));
    if (found != items_.end()) return &found->second;
    const bool is_first = offset != nullptr && std::all_of(offset->begin(), offset->end(),
                                                           [](index_t n) { return n == 0; });
    return is_first ? find_item(name, nullptr) : nullptr;
  }

  result<std::vector<path_step>> read_path(std::string_view name) const {
    std::vector<path_step> out;
    const auto found = paths_.find(name);
    if (found == paths_.end()) return out;
    const pickle_value& path = found->second;  // savers may keep anything there
    for (std::size_t i = 0; i < path.element_count() && i < max_steps; ++i) {
      const pickle_value step = path.element(i);
      if (const std::string* const text = step.if_string()) {
        if (text->size() > store_key::max_size) return std::vector<path_step>();
        out.push_back({*text, false});
      } else if (const auto index = step.to_int64()) {
        out.push_back({std::to_string(*index), true});
      } else {
        return std::vector<path_step>();
      }
    }
    return out;
  }

  result<void> read_entry(const std::string& name, const pickle_value& entry, metadata& out) {
    const std::string_view kind =
        entry.kind() == pickle_kind::call ? entry.callable().name() : std::string_view();
    ZARRPOINT_CHECK(charge(1));
    ZARRPOINT_TRY(path, read_path(name));
    ZARRPOINT_CHECK(charge(path.size()));
    if (kind == "BytesStorageMetadata") {
      const stored_item* const item = find_item(name, nullptr);
      if (item == nullptr) return error{errc::corrupt, "storage_data has no item for it"};
      out.values.push_back({name, std::move(path), *item});
      return {};
    }
    if (kind != "TensorStorageMetadata") {
      out.unknown.push_back(
          {name, type_text(entry), "it is " + kind_of(entry) + ", which is not known", {}, {}});
      return add_items(out.unknown.back());
    }
    tensor_entry made{name, std::move(path), {}, {}, {}, {}};
    const auto known = read_tensor(entry, made);
    if (known) {
      out.tensors.push_back(std::move(made));
      return {};
    }
    if (known.failure().code != errc::unsupported) return known.failure();
    const auto properties = field(entry, 0, "properties");
    const auto type = properties ? field(*properties, 0, "dtype") : std::nullopt;
    out.unknown.push_back(
        {name, type ? type_text(*type) : "tensor", known.failure().message, {}, {}});
    if (const auto size = field(entry, 1, "size"))
      if (const auto shape = torch::detail::read_extents(*size, "a size"))
        out.unknown.back().shape = *shape;
    return add_items(out.unknown.back());
  }

  /// A class, or `torch.qint8`.
  static std::string type_text(const pickle_value& value) {
    const pickle_value of = value.kind() == pickle_kind::call ? value.callable() : value;
    if (of.kind() != pickle_kind::global) return "object";
    return std::string(of.module()) + "." + std::string(of.name());
  }

  /// All that is stored under a name, in the order of the files.
  result<void> add_items(unknown_entry& to) {
    if (items_of_.empty())
      for (const auto& [key, item] : items_)
        items_of_[std::string_view(key).substr(0, key.rfind('\n'))].push_back(&item);
    const auto found = items_of_.find(to.name);
    if (found == items_of_.end()) return {};
    for (const stored_item* const item : found->second) {
      ZARRPOINT_CHECK(charge(1));
      to.items.push_back(*item);
    }
    std::sort(to.items.begin(), to.items.end(), [](const stored_item& a, const stored_item& b) {
      return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
    });
    return {};
  }

  result<void> read_tensor(const pickle_value& entry, tensor_entry& out) {
    const auto properties = field(entry, 0, "properties");
    const auto type = properties ? field(*properties, 0, "dtype") : std::nullopt;
    if (!type) return error{errc::corrupt, "it has no dtype"};
    const auto known = type->module() == "torch" ? torch::dtype_named(type->name()) : std::nullopt;
    if (!known)
      return error{errc::unsupported, "its dtype is " + kind_of(*type) + ", which is not known"};
    const auto size = field(entry, 1, "size");
    const auto chunks = field(entry, 2, "chunks");
    if (!size || !chunks || chunks->kind() != pickle_kind::list)
      return error{errc::corrupt, "it has no size or no chunks"};
    ZARRPOINT_TRY(shape, torch::detail::read_extents(*size, "a size"));
    out.spec = {*known, shape};
    ZARRPOINT_CHECK(byte_count(out.spec));
    ZARRPOINT_CHECK(charge(chunks->element_count()));
    for (std::size_t i = 0; i < chunks->element_count(); ++i)
      ZARRPOINT_CHECK(read_chunk(chunks->element(i), out).at("box " + std::to_string(i)));
    ZARRPOINT_CHECK(read_unflattened(out));
    return sort_chunks(out);
  }

  result<void> read_chunk(const pickle_value& chunk, tensor_entry& out) const {
    const auto offsets = field(chunk, 0, "offsets");
    const auto sizes = field(chunk, 1, "sizes");
    if (!offsets || !sizes) return error{errc::corrupt, "it is " + kind_of(chunk)};
    ZARRPOINT_TRY(offset, torch::detail::read_extents(*offsets, "a size"));
    ZARRPOINT_TRY(extents, torch::detail::read_extents(*sizes, "a size"));
    // Megatron-Core leaves out axes that it put in front.
    dims shape(offset.rank() > extents.rank() ? offset.rank() - extents.rank() : 0, 1);
    for (std::size_t d = 0; d < extents.rank() && shape.rank() < max_rank; ++d)
      shape.push_back(extents[d]);
    box at{offset, shape};
    const dims& bounds = out.spec.shape;
    if (at.offset.rank() != bounds.rank() || at.shape.rank() != bounds.rank())
      return error{errc::corrupt, "its rank is not that of the tensor"};
    for (std::size_t d = 0; d < bounds.rank(); ++d)
      if (at.offset[d] > bounds[d] || at.shape[d] > bounds[d] - at.offset[d])
        return error{errc::corrupt,
                     to_string(at) + " lies outside of the shape " + to_string(bounds)};
    if (at.empty()) return {};
    const stored_item* const item = find_item(out.name, &at.offset);
    if (item == nullptr)
      return error{errc::corrupt, "storage_data has no item for " + to_string(at)};
    out.chunks.push_back({at, *item});
    return {};
  }

  result<void> read_unflattened(tensor_entry& out) const {
    const auto mine = extras_.find(out.name);
    if (mine == extras_.end() || mine->second.kind() != pickle_kind::dict) return {};
    const auto shape = mine->second.find("nd_reformulated_orig_global_shape");
    if (!shape || shape->is_none()) return {};
    ZARRPOINT_TRY(
        extents,
        torch::detail::read_extents(*shape, "a size").at("nd_reformulated_orig_global_shape"));
    out.unflattened = extents;
    return {};
  }

  static constexpr std::size_t no_place = SIZE_MAX;  // of fields that only names find
  static constexpr std::size_t values_per_box = 8;   // an honest one has more in the pickle
  static constexpr std::size_t max_steps = 100;

  pickle_value root_;
  torch::pickle_limits limits_;
  std::size_t charged_ = 0;
  std::unordered_map<std::string, stored_item> items_;
  std::unordered_map<std::string_view, std::vector<const stored_item*>> items_of_;  ///< if needed
  std::unordered_map<std::string_view, pickle_value> paths_;
  std::unordered_map<std::string_view, pickle_value> extras_;
};

/// Both are sorted by name.
template <class T, class F>
result<void> merge_named(std::vector<T>& into, std::vector<T>& more, const F& join) {
  std::vector<T> out;
  std::size_t at = 0;
  for (T& one : into) {
    while (at < more.size() && more[at].name < one.name) out.push_back(std::move(more[at++]));
    if (at < more.size() && more[at].name == one.name) ZARRPOINT_CHECK(join(one, more[at++]));
    out.push_back(std::move(one));
  }
  while (at < more.size()) out.push_back(std::move(more[at++]));
  into = std::move(out);
  return {};
}

ZARRPOINT_INLINE result<void> merge(metadata& into, metadata more) {
  const auto join = [](tensor_entry& one, tensor_entry& other) -> result<void> {
    const auto join_chunks = [&]() -> result<void> {
      if (one.spec != other.spec || one.unflattened != other.unflattened)
        return error{errc::corrupt, "it is " + to_string(one.spec) + " and " +
                                        to_string(other.spec) + " to different processes"};
      for (tensor_chunk& chunk : other.chunks) one.chunks.push_back(std::move(chunk));
      return sort_chunks(one);
    };
    return join_chunks().at("the entry " + v0::detail::in_quotes(one.name));
  };
  ZARRPOINT_CHECK(merge_named(into.tensors, more.tensors, join));
  ZARRPOINT_CHECK(merge_named(into.values, more.values,
                              [](value_entry&, value_entry&) { return result<void>(); }));
  return merge_named(into.unknown, more.unknown, [](unknown_entry& one, unknown_entry& other) {
    for (stored_item& item : other.items) one.items.push_back(std::move(item));
    return result<void>();
  });
}

}  // namespace detail

ZARRPOINT_INLINE result<metadata> read_metadata(bytes_view pickle,
                                                const torch::pickle_limits& limits) {
  return guarded([&]() -> result<metadata> {
    ZARRPOINT_TRY(root, torch::read_pickle(pickle, limits));
    return detail::metadata_reader(std::move(root), limits).read();
  });
}

}}}  // namespace zarrpoint::v0::dcp

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

// ------------------------------------------------------------------------------------ dcp_item.hpp

/// Boxes without a grid are compared with each other: half a second at the most.
inline constexpr std::size_t most_loose_boxes = 16384;

ZARRPOINT_INLINE error overlap_of(const box& a, const box& b) {
  return {errc::corrupt, "its boxes " + to_string(a) + " and " + to_string(b) + " overlap"};
}

ZARRPOINT_INLINE bool overlaps(const box& a, const box& b) {
  for (std::size_t d = 0; d < a.rank(); ++d)
    if (a.offset[d] >= b.offset[d] + b.shape[d] || b.offset[d] >= a.offset[d] + a.shape[d])
      return false;
  return true;
}

ZARRPOINT_INLINE result<tensor_grid> tensor_grid::make(const tensor_entry& of) {
  tensor_grid out;
  out.shape_ = of.spec.shape;
  if (of.unflattened) {
    ZARRPOINT_CHECK(out.take_flat(of));
    return out;
  }
  if (box::whole(out.shape_).empty()) {  // no chunk is ever read
    for (const index_t extent : out.shape_)
      out.chunk_shape_.push_back(std::max<index_t>(extent, 1));
    out.counts_ = dims(out.shape_.rank(), 0);
    return out;
  }
  ZARRPOINT_TRY(is_grid, out.take_grid(of));
  if (!is_grid) ZARRPOINT_CHECK(out.take_whole(of));
  return out;
}

ZARRPOINT_INLINE result<bool> tensor_grid::take_grid(const tensor_entry& of) {
  const std::size_t rank = shape_.rank();
  const std::size_t count = of.chunks.size();
  std::vector<std::vector<index_t>> cuts(rank);
  std::size_t cells = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    for (const tensor_chunk& chunk : of.chunks) cuts[d].push_back(chunk.at.offset[d]);
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
    if (cuts[d].empty() || cuts[d].front() != 0 || cuts[d].size() > count / cells) return false;
    cells *= cuts[d].size();
    cuts[d].push_back(shape_[d]);
  }
  if (cells != count) return false;
  // As many boxes as cells, no two at one offset: where each is a cell, they are all of them.
  for (const tensor_chunk& chunk : of.chunks)
    for (std::size_t d = 0; d < rank; ++d) {
      const auto at = std::lower_bound(cuts[d].begin(), cuts[d].end(), chunk.at.offset[d]);
      if (chunk.at.shape[d] != *(at + 1) - *at) return false;
    }
  set_chunks(cuts);
  // They are sorted by their offsets, as chunks are by their index.
  for (std::size_t i = 0; i <= count; ++i) {
    firsts_.push_back(static_cast<std::uint32_t>(i));
    if (i < count) boxes_.push_back(static_cast<std::uint32_t>(i));
  }
  return true;
}

/// `cuts` of an axis: where its chunks begin, and its end.
ZARRPOINT_INLINE void tensor_grid::set_chunks(const std::vector<std::vector<index_t>>& cuts) {
  bool is_regular = true;
  for (const std::vector<index_t>& axis : cuts) {
    const std::size_t count = axis.size() - 1;
    index_t largest = 0;
    std::vector<chunk_run> runs;
    for (std::size_t i = 0; i < count; ++i) {
      const index_t extent = axis[i + 1] - axis[i];
      largest = std::max(largest, extent);
      if (i + 1 < count ? extent != axis[1] : extent > axis[1]) is_regular = false;
      if (!runs.empty() && runs.back().extent == extent) {
        ++runs.back().count;
      } else {
        runs.push_back({extent, 1});
      }
    }
    counts_.push_back(static_cast<index_t>(count));
    chunk_shape_.push_back(largest);
    edges_.emplace_back(std::move(runs));
  }
  if (is_regular) edges_.clear();
}

ZARRPOINT_INLINE result<void> tensor_grid::take_whole(const tensor_entry& of) {
  const std::vector<tensor_chunk>& all = of.chunks;
  if (all.size() > most_loose_boxes)
    return error{errc::resource_limit, "its " + std::to_string(all.size()) +
                                           " boxes form no grid; those of one tensor may be " +
                                           std::to_string(most_loose_boxes)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      // Sorted by the first axis: what begins behind the end of this one, and all that follows.
      if (!all[i].at.shape.empty() &&
          all[j].at.offset[0] >= all[i].at.offset[0] + all[i].at.shape[0])
        break;
      if (overlaps(all[i].at, all[j].at)) return overlap_of(all[i].at, all[j].at);
    }
  // They lie within the tensor and apart, so the sum is no more than its elements.
  ZARRPOINT_TRY(wanted, element_count(shape_));
  index_t covered = 0;
  for (const tensor_chunk& chunk : all) covered += element_count(chunk.at.shape).value_or(0);
  if (covered != wanted)
    return error{errc::corrupt, "its boxes have " + std::to_string(covered) + " of its " +
                                    std::to_string(wanted) + " elements: it has holes"};
  chunk_shape_ = shape_;
  counts_ = dims(shape_.rank(), 1);
  firsts_ = {0, static_cast<std::uint32_t>(all.size())};
  for (std::size_t i = 0; i < all.size(); ++i) boxes_.push_back(static_cast<std::uint32_t>(i));
  return {};
}

/// The stored shape is that of the grid, and then the elements of a cell.
ZARRPOINT_INLINE result<void> tensor_grid::take_flat(const tensor_entry& of) {
  const dims& stored = of.spec.shape;
  shape_ = *of.unflattened;
  const auto broken = [&] {
    return error{errc::corrupt, "the shape " + to_string(shape_) +
                                    " has no grid that is stored as " + to_string(stored)};
  };
  if (stored.rank() != shape_.rank() + 1) return broken();
  ZARRPOINT_CHECK(byte_count(tensor_spec{of.spec.type, shape_}));
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    if (stored[d] == 0 ? shape_[d] != 0 : shape_[d] % stored[d] != 0) return broken();
    counts_.push_back(stored[d]);
    chunk_shape_.push_back(stored[d] == 0 ? 1 : std::max<index_t>(shape_[d] / stored[d], 1));
  }
  flat_ = stored.back();
  if (box::whole(shape_).empty()) {
    counts_ = dims(shape_.rank(), 0);
    return {};
  }
  ZARRPOINT_TRY(cell, element_count(chunk_shape_));
  if (cell != flat_) return broken();
  // Sorted: the pieces of a cell follow each other, and the cells, too.
  index_t end = flat_;  // of the cell before
  dims index(counts_.rank(), 0);
  bool is_first = true;
  for (std::size_t i = 0; i < of.chunks.size(); ++i) {
    const box& at = of.chunks[i].at;
    if (end == flat_) {
      for (std::size_t d = counts_.rank(); !is_first && d-- > 0;) {
        if (++index[d] < counts_[d]) break;
        index[d] = 0;
      }
      is_first = false;
      end = 0;
      firsts_.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t d = 0; d < index.rank(); ++d)
      if (at.offset[d] != index[d] || at.shape[d] != 1)
        return error{errc::corrupt, "before its box " + to_string(at) +
                                        " there is a hole, or it has elements of several cells"};
    if (at.offset.back() < end) return overlap_of(of.chunks[i - 1].at, at);
    if (at.offset.back() > end)
      return error{errc::corrupt, "there is a hole before its box " + to_string(at)};
    end += at.shape.back();
    boxes_.push_back(static_cast<std::uint32_t>(i));
  }
  ZARRPOINT_TRY(cells, element_count(counts_));
  if (end != flat_ || firsts_.size() != static_cast<std::size_t>(cells))
    return error{errc::corrupt, "its boxes end before its last cell: it has a hole"};
  firsts_.push_back(static_cast<std::uint32_t>(of.chunks.size()));
  return {};
}

ZARRPOINT_INLINE box tensor_grid::chunk_box(const dims& index) const {
  if (flat_ >= 0) {
    box out{index, dims(index.rank(), 1)};
    out.offset.push_back(0);
    out.shape.push_back(flat_);
    return out;
  }
  box out{index, chunk_shape_};
  for (std::size_t d = 0; d < index.rank(); ++d) {
    if (edges_.empty()) {
      out.offset[d] = index[d] * chunk_shape_[d];
    } else {
      const axis_edges::chunk at = edges_[d].at(index[d]);
      out.offset[d] = at.start;
      out.shape[d] = at.extent;
    }
  }
  return out;
}

ZARRPOINT_INLINE std::size_t tensor_grid::place(const dims& index) const {
  std::size_t out = 0;
  for (std::size_t d = 0; d < index.rank(); ++d)
    out = out * static_cast<std::size_t>(counts_[d]) + static_cast<std::size_t>(index[d]);
  return out;
}

ZARRPOINT_INLINE std::span<const std::uint32_t> tensor_grid::boxes_of(const dims& index) const {
  const std::size_t at = place(index);
  return std::span(boxes_).subspan(firsts_[at], firsts_[at + 1] - firsts_[at]);
}

/// An item that is as small is read at once: its directory, its pickle and its elements.
inline constexpr std::uint64_t small_item = std::uint64_t{64} << 10;

/// An item whose ends are kept: all that tells of its elements lies there, in some ten places.
class described_item final : public v0::detail::range_blob {
 public:
  using blob::read;
  using range_blob::range_blob;

  /// Reads the ends of an item that is larger than both.
  result<void> keep_ends() {
    ZARRPOINT_CHECK(range_blob::read(0, first_));
    return range_blob::read(size() - last_.size(), last_);
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    const std::byte* from = nullptr;
    if (offset + into.size() <= first_.size()) {
      from = first_.data() + offset;
    } else if (offset >= size() - last_.size()) {
      from = last_.data() + (offset - (size() - last_.size()));
    } else {
      return range_blob::read(offset, into);
    }
    std::copy_n(from, into.size(), into.data());
    return {};
  }

 protected:
  /// One by one: of several in one operation none would be of the ends that are kept.
  result<void> read_vectored(std::span<const read_request> requests) const override {
    for (const read_request& one : requests) ZARRPOINT_CHECK(read(one.offset, one.into));
    return {};
  }

 private:
  static constexpr std::size_t end_bytes = 1024;  // PyTorch's are 0.7 KB each
  std::array<std::byte, end_bytes> first_{};
  std::array<std::byte, end_bytes> last_{};
};

/// Frames of zstd in a row, which need not tell their sizes.
ZARRPOINT_INLINE result<std::vector<std::byte>> decompress(bytes_view frames, std::uint64_t limit) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (context == nullptr) return error{errc::resource_limit, "zstd cannot allocate a decompressor"};
  std::vector<std::byte> out(
      static_cast<std::size_t>(std::min(limit, std::uint64_t{4} * frames.size() + 64)));
  ZSTD_inBuffer from{frames.data(), frames.size(), 0};
  std::size_t made = 0;
  std::size_t left = 0;  // what zstd says of the rest of a frame
  while (from.pos < from.size || left != 0) {
    if (made == out.size()) {
      if (made >= limit)
        return error{errc::resource_limit, "it has more than the " + std::to_string(limit) +
                                               " bytes that are expected of it"};
      out.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, out.size() * 2)));
    }
    ZSTD_outBuffer to{out.data(), out.size(), made};
    const std::size_t before = from.pos;
    left = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(left) != 0)
      return error{errc::corrupt,
                   std::string("its zstd frame is damaged: ") + ZSTD_getErrorName(left)};
    if (from.pos == before && to.pos == made)
      return error{errc::corrupt, "its zstd frame is cut short"};
    made = to.pos;
  }
  out.resize(made);
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_item(const any_store& base,
                                                         const stored_item& item,
                                                         std::uint64_t max_bytes) {
  ZARRPOINT_TRY(key, store_key::parse(item.file));
  const std::string name = base.describe(key) + " at " + std::to_string(item.offset);
  const bool is_compressed = !item.transforms.empty();
  if (is_compressed && (item.transforms.size() > 1 || item.transforms[0] != "stream.zstd/1"))
    return error{errc::unsupported, name + ": the transform " +
                                        v0::detail::in_quotes(item.transforms.back()) +
                                        " is not known"};
  ZARRPOINT_TRY(file, base.open(key));
  if (file == nullptr) return error{errc::not_found, base.describe(key) + ": the file is missing"};
  if (item.offset > file->size() || item.length > file->size() - item.offset)
    return error{errc::corrupt, name + ": its " + std::to_string(item.length) +
                                    " bytes run past the end of the file, which has " +
                                    std::to_string(file->size())};
  if (item.length > (is_compressed ? max_bytes : small_item)) {
    if (is_compressed)
      return error{errc::resource_limit, name + ": its " + std::to_string(item.length) +
                                             " compressed bytes are more than the " +
                                             std::to_string(max_bytes) + " that it may have"};
    auto of = v0::detail::make_counted<const v0::detail::container_file>(std::move(file));
    if (item.is_raw)
      return v0::detail::make_owned<blob, v0::detail::range_blob>(std::move(of), item.offset,
                                                                  item.length, name);
    auto out = std::make_unique<described_item>(std::move(of), item.offset, item.length, name);
    ZARRPOINT_CHECK(out->keep_ends());
    return std::unique_ptr<blob>(std::move(out));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(item.length));
  ZARRPOINT_CHECK(file->read(item.offset, bytes));
  if (is_compressed) {
    ZARRPOINT_TRY(plain, decompress(bytes, max_bytes).at(name));
    bytes = std::move(plain);
  }
  return v0::detail::make_owned<blob, v0::detail::memory_blob>(std::move(bytes), name);
}

/// The strides of a tensor as those of a box whose shape has extents of 1 in other places; false
/// where it is not of that shape.
ZARRPOINT_INLINE bool fit_strides(const torch::tensor_info& from, const dims& shape,
                                  dims& strides) {
  std::size_t at = 0;
  strides = dims(shape.rank(), 0);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    while (at < from.spec.shape.rank() && from.spec.shape[at] == 1) ++at;
    if (at == from.spec.shape.rank() || from.spec.shape[at] != shape[d]) return false;
    strides[d] = from.strides[at++];
  }
  while (at < from.spec.shape.rank() && from.spec.shape[at] == 1) ++at;
  return at == from.spec.shape.rank();
}

ZARRPOINT_INLINE result<box_source> open_box(const any_store& base, const tensor_entry& of,
                                             const tensor_chunk& chunk) {
  const auto open = [&]() -> result<box_source> {
    // PyTorch saves the elements of a box and no more of their storage.
    constexpr std::uint64_t most_description = std::uint64_t{1} << 20;
    ZARRPOINT_TRY(bytes, byte_count(tensor_spec{of.spec.type, chunk.at.shape}));
    const std::uint64_t most = std::min(std::uint64_t{bytes}, std::uint64_t{2} << 30);
    ZARRPOINT_TRY(item, open_item(base, chunk.from, 2 * most + most_description));
    const std::string name = item->name();
    if (chunk.from.is_raw) {
      if (item->size() != bytes)
        return error{errc::corrupt, name + ": it is not as long as its elements"};
      return box_source{
          std::move(item), 0, row_major_strides(chunk.at.shape, of.spec.type.size()), {}};
    }
    // The description of a tensor is a few hundred bytes.
    ZARRPOINT_TRY(
        file, torch::open(std::move(item), {.max_bytes = most_description, .max_values = 1 << 14}));
    if (!torch::is_tensor(file.root()))
      return error{errc::corrupt, name + ": its item holds no tensor of a kind that is known"};
    ZARRPOINT_TRY(info, file.tensor(file.root()));
    box_source out{nullptr, info.offset, {}, info.signs};
    if (info.spec.type != of.spec.type || !fit_strides(info, chunk.at.shape, out.strides))
      return error{errc::corrupt, name + ": its item holds " + to_string(info.spec) +
                                      ", the metadata say " +
                                      to_string(tensor_spec{of.spec.type, chunk.at.shape})};
    ZARRPOINT_TRY(storage, file.storage(info));
    out.storage = std::move(storage);
    return out;
  };
  return open().at("the box " + to_string(chunk.at));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> chunk_blob::open(chunk_plan plan) {
  ZARRPOINT_TRY(size, byte_count(tensor_spec{plan.tensor->spec.type, plan.at.shape}));
  return std::unique_ptr<blob>(new chunk_blob(std::move(plan), size));
}

ZARRPOINT_INLINE result<void> chunk_blob::read(std::uint64_t offset, mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  if (into.empty()) return {};
  return guarded([&]() -> result<void> {
    const std::uint64_t size = element_size();
    const std::uint64_t first = offset / size;
    const std::uint64_t last = (offset + into.size() - 1) / size;
    const auto count = static_cast<index_t>(last - first + 1);
    if (offset % size == 0 && into.size() % size == 0)
      return read_elements(static_cast<index_t>(first), count, into.data());
    ZARRPOINT_TRY(whole, buffer::allocate(static_cast<std::size_t>(count) * element_size()));
    ZARRPOINT_CHECK(read_elements(static_cast<index_t>(first), count, whole.bytes().data()));
    std::memcpy(into.data(), whole.bytes().data() + offset % size, into.size());
    return {};
  });
}

ZARRPOINT_INLINE result<void> chunk_blob::read_elements(index_t first, index_t count,
                                                        std::byte* to) const {
  const dims& shape = plan_.at.shape;
  const std::size_t rank = shape.rank();
  // The largest boxes that lie in one piece in the chunk: rows to the end of a block, blocks, rows.
  while (count > 0) {
    index_t volume = 1;  // of what lies behind axis `axis`
    for (const index_t extent : shape) volume *= extent;
    std::size_t axis = 0;
    for (; axis < rank; ++axis) {
      volume /= shape[axis];
      if (first % volume == 0 && count >= volume) break;
    }
    box part = plan_.at;
    index_t rest = first;
    index_t done = 1;
    if (rank != 0) {
      dims index(rank, 0);
      for (std::size_t d = rank; d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
      const index_t blocks = std::min(count / volume, shape[axis] - index[axis]);
      for (std::size_t d = 0; d <= axis; ++d) {
        part.offset[d] += index[d];
        part.shape[d] = d == axis ? blocks : 1;
      }
      done = blocks * volume;
    }
    ZARRPOINT_CHECK(read_part(part, to));
    first += done;
    count -= done;
    to += done * static_cast<index_t>(element_size());
  }
  return {};
}

ZARRPOINT_INLINE result<void> chunk_blob::read_part(const box& part, std::byte* to) const {
  const tensor_spec spec{plan_.tensor->spec.type, part.shape};
  const dims strides = row_major_strides(part.shape, element_size());
  for (std::size_t d = 0; d < part.rank(); ++d)
    if (part.offset[d] + part.shape[d] > plan_.tensor->spec.shape[d]) {
      ZARRPOINT_TRY(bytes, byte_count(spec));
      std::memset(to, 0, bytes);
      break;
    }
  for (std::size_t i = 0; i < plan_.boxes.size(); ++i) {
    const box& from = plan_.boxes[i]->at;
    transfer what{0, {}, to, strides, part.shape};
    dims skipped(part.rank(), 0);
    for (std::size_t d = 0; d < part.rank(); ++d) {
      const index_t begin = std::max(part.offset[d], from.offset[d]);
      const index_t end = std::min(part.offset[d] + part.shape[d], from.offset[d] + from.shape[d]);
      what.shape[d] = std::max<index_t>(end - begin, 0);
      what.to += (begin - part.offset[d]) * (end > begin ? strides[d] : 0);
      skipped[d] = begin - from.offset[d];
    }
    if (box::whole(what.shape).empty()) continue;
    ZARRPOINT_TRY(opened, source(i));
    what.from = opened->offset;
    what.from_strides = opened->strides;
    for (std::size_t d = 0; d < part.rank(); ++d)
      what.from += static_cast<std::uint64_t>(skipped[d] * opened->strides[d]);
    ZARRPOINT_CHECK(copy(*opened->storage, what));
    torch::apply_signs(opened->signs, {what.to, spec.type, what.shape, strides, {}, {}});
  }
  return {};
}

ZARRPOINT_INLINE result<void> chunk_blob::copy(const blob& storage, const transfer& what) const {
  constexpr index_t most_scratch = index_t{1} << 20;
  constexpr index_t always_worth = 16 << 10;
  const auto size = static_cast<index_t>(element_size());
  const dtype type = plan_.tensor->spec.type;
  const host_view from{nullptr, type, what.shape, what.from_strides, {}, {}};
  const mutable_host_view to{what.to, type, what.shape, what.to_strides, {}, {}};
  index_t wanted = size;
  index_t span = size;
  std::size_t widest = 0;
  for (std::size_t d = 0; d < what.shape.rank(); ++d) {
    wanted *= what.shape[d];
    span += (what.shape[d] - 1) * what.from_strides[d];
    if (what.shape[d] > 1 &&
        (what.shape[widest] == 1 || what.from_strides[d] > what.from_strides[widest]))
      widest = d;
  }
  if (is_dense(from) && is_dense(to))
    return storage.read(what.from, {what.to, static_cast<std::size_t>(wanted)});
  if (span <= most_scratch && span <= std::max(2 * wanted, always_worth)) {
    ZARRPOINT_TRY(scratch, buffer::allocate(static_cast<std::size_t>(span)));
    ZARRPOINT_CHECK(storage.read(what.from, scratch.bytes()));
    copy_elements(to, {scratch.bytes().data(), type, what.shape, what.from_strides, {}, {}});
    return {};
  }
  // Halves of the axis along which the source reaches farthest; elements in the end.
  transfer half = what;
  half.shape[widest] = what.shape[widest] / 2;
  ZARRPOINT_CHECK(copy(storage, half));
  half.from += static_cast<std::uint64_t>(half.shape[widest] * what.from_strides[widest]);
  half.to += half.shape[widest] * what.to_strides[widest];
  half.shape[widest] = what.shape[widest] - half.shape[widest];
  return copy(storage, half);
}

ZARRPOINT_INLINE result<std::shared_ptr<const box_source>> chunk_blob::source(
    std::size_t box) const {
  constexpr std::size_t most_opened = 16;
  // The threads that read parts of one box need it opened once; different boxes, as they come.
  std::unique_lock opening(opening_, std::defer_lock);
  if (plan_.boxes.size() == 1) opening.lock();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [at, one] : opened_)
      if (at == box) return one;
  }
  ZARRPOINT_TRY(made, open_box(plan_.base, *plan_.tensor, *plan_.boxes[box]));
  auto shared = v0::detail::make_counted<const box_source>(std::move(made));
  const std::lock_guard lock(mutex_);
  if (opened_.size() < most_opened) {
    opened_.emplace_back(box, shared);
  } else {
    opened_[next_++ % most_opened] = {box, shared};
  }
  return shared;
}

ZARRPOINT_INLINE result<mapping> chunk_blob::map() const {
  const error refusal{errc::unsupported, name() + ": it does not lie in one piece"};
  if (plan_.boxes.size() != 1 || plan_.boxes[0]->at != plan_.at) return refusal;
  ZARRPOINT_TRY(opened, source(0));
  const tensor_spec spec{plan_.tensor->spec.type, plan_.at.shape};
  if (opened->signs.any() ||
      !is_dense(host_view{nullptr, spec.type, spec.shape, opened->strides, {}, {}}))
    return refusal;
  ZARRPOINT_TRY(whole, opened->storage->map());
  const auto begin = static_cast<std::size_t>(opened->offset);
  const auto bytes = static_cast<std::size_t>(size_);
  if (begin > whole.bytes().size() || bytes > whole.bytes().size() - begin)
    return error{errc::corrupt, name() + ": its storage became shorter"};
  return mapping(whole.bytes().subspan(begin, bytes),
                 v0::detail::make_counted<const mapping>(whole));
}

ZARRPOINT_INLINE array_metadata raw_metadata(const tensor_spec& spec, const dims& chunk_shape,
                                             std::vector<axis_edges> edges) {
  array_metadata out = v0::detail::raw_array(spec);
  out.chunk_shape = chunk_shape;
  out.edges = std::move(edges);
  return out;
}

ZARRPOINT_INLINE result<value_array> text_array(std::string_view text, bool is_json) {
  ZARRPOINT_TRY(made, v0::detail::array_of_texts({}, {text}));
  if (is_json) made.metadata.attributes.set("content_type", "application/json");
  ZARRPOINT_TRY(document, to_v3(made.metadata));
  return value_array{std::move(document), std::move(made.chunk), 0};
}

ZARRPOINT_INLINE result<value_array> stored_tensor(const torch::file& from,
                                                   const torch::pickle_value& of) {
  constexpr std::size_t most_bytes = std::size_t{1} << 28;
  const auto info = from.tensor(of);
  if (!info) return info.failure();
  ZARRPOINT_TRY(size, byte_count(info->spec));
  if (size > most_bytes)
    return error{errc::resource_limit,
                 "its tensor has more than " + std::to_string(most_bytes) + " bytes"};
  dims chunk_shape = info->spec.shape;
  for (index_t& extent : chunk_shape) extent = std::max<index_t>(extent, 1);
  ZARRPOINT_TRY(document, to_v3(raw_metadata(info->spec, chunk_shape)));
  ZARRPOINT_TRY(copy, tensor::make(info->spec));
  ZARRPOINT_CHECK(from.read(*info, copy.mutable_view()));
  const std::byte* const first = copy.view().data;
  return value_array{std::move(document), {first, first + size}, info->spec.shape.rank()};
}

/// Whether it is `key/shard_0.3_1.8`.
ZARRPOINT_INLINE bool is_object_key(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash != name.npos && name.substr(slash + 1).starts_with("shard_");
}

/// Whether a file holds the list of one object.
ZARRPOINT_INLINE bool is_object(const torch::pickle_value& value, std::string_view name) {
  return is_object_key(name) && value.kind() == torch::pickle_kind::list &&
         value.element_count() == 1;
}

ZARRPOINT_INLINE result<json> to_json(const torch::file& from, std::string_view name) {
  ZARRPOINT_TRY(whole, torch::to_document(from));
  if (!is_object(from.root(), name)) return std::move(whole);
  return std::move(whole.if_array()->front());
}

ZARRPOINT_INLINE result<void> put_at(json& document, std::span<const path_step> path, json value,
                                     std::size_t& most_gaps) {
  json* at = &document;
  for (const path_step& step : path) {
    const error in_the_way{errc::corrupt, "its path leads through another value, at " +
                                              v0::detail::in_quotes(step.text)};
    if (step.is_index) {
      if (at->is_null()) *at = json(json::array());
      json::array* const list = at->if_array();
      if (list == nullptr) return in_the_way;
      std::size_t place = 0;
      const char* const end = step.text.data() + step.text.size();
      const auto read = std::from_chars(step.text.data(), end, place);
      if (read.ptr != end || read.ec != std::errc() || place >= list->size() + most_gaps)
        return error{errc::resource_limit, "its place " + step.text + " in a list is too far"};
      if (place >= list->size()) {
        most_gaps -= place - list->size();
        list->resize(place + 1);
      }
      at = &(*list)[place];
    } else {
      if (!at->is_null() && at->if_object() == nullptr) return in_the_way;
      if (at->find(step.text) == nullptr) at->set(step.text, json());
      at = at->find(step.text);
    }
  }
  *at = std::move(value);
  return {};
}

ZARRPOINT_INLINE result<value_array> to_array(const torch::file& from, std::string_view name) {
  torch::pickle_value value = from.root();
  if (is_object(value, name)) value = value.element(0);
  if (auto number = torch::detail::read_number(value)) {
    ZARRPOINT_TRY(document, to_v3(number->metadata));
    return value_array{std::move(document), std::move(number->chunk), 0};
  }
  if (const std::string* const text = value.if_string()) return text_array(*text, false);
  if (torch::is_tensor(value)) return stored_tensor(from, value);
  if (auto numpy = torch::detail::read_numpy(value)) {
    ZARRPOINT_TRY(document, to_v3(v0::detail::raw_array(numpy->spec, endian::little)));
    return value_array{std::move(document), std::move(numpy->elements), numpy->spec.shape.rank()};
  }
  ZARRPOINT_TRY(document, to_json(from, name));
  return text_array(dump_json(document), true);
}

}}}}  // namespace zarrpoint::v0::dcp::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/bytes_to_bytes/zstd_bodies.hpp>
#include <zarrpoint/interop/torch/file_bodies.hpp>
#endif
