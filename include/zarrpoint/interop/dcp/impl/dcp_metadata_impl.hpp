// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

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

/// An attribute of an object of a dataclass: by its name, or where the state is a plain sequence
/// (named tuples, slots, a `__getstate__` of its own) by its place among the fields.
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

/// `torch.Size([2, 3])`, a tuple or a list.
ZARRPOINT_INLINE result<dims> read_size(const pickle_value& value) {
  const bool is_size = value.is_call_of("torch", "Size") && value.arguments().element_count() == 1;
  const pickle_value extents = is_size ? value.arguments().element(0) : value;
  dims out;
  if (extents.kind() != pickle_kind::tuple && extents.kind() != pickle_kind::list)
    return error{errc::corrupt, "a size is " + kind_of(value)};
  if (extents.element_count() > max_rank)
    return error{errc::unsupported, "rank " + std::to_string(extents.element_count())};
  for (std::size_t i = 0; i < extents.element_count(); ++i) {
    const auto one = extents.element(i).to_int64();
    if (!one || *one < 0) return error{errc::corrupt, "a size must hold integers of 0 or more"};
    out.push_back(*one);
  }
  return out;
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
    return error{errc::unsupported, "its item went through too many transforms"};
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
                 "a name of more than " + std::to_string(store_key::max_size) + " bytes"};
  }

  /// A value that many places share counts at each, with some of what is kept of it.
  result<void> charge(std::size_t count) {
    if (count > (limits_.max_values - charged_) / values_per_box)
      return error{
          errc::resource_limit,
          "more than " + std::to_string(limits_.max_values / values_per_box) + " boxes and items"};
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
          ZARRPOINT_TRY(start, read_size(*offset));
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
      if (const auto shape = read_size(*size)) out.unknown.back().shape = *shape;
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
    ZARRPOINT_TRY(shape, read_size(*size));
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
    ZARRPOINT_TRY(offset, read_size(*offsets));
    ZARRPOINT_TRY(extents, read_size(*sizes));
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
    ZARRPOINT_TRY(extents, read_size(*shape).at("nd_reformulated_orig_global_shape"));
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
