// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/interop/dcp/dcp_grid.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/torch/document_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

ZARRPOINT_INLINE void encode_path(v0::detail::wire_writer& to, std::span<const path_step> path) {
  to.number(path.size());
  for (const path_step& step : path) {
    to.flag(step.is_index);
    to.text(step.text);
  }
}

ZARRPOINT_INLINE std::vector<path_step> decode_path(v0::detail::wire_reader& from) {
  std::vector<path_step> out;
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    const bool is_index = from.flag();
    out.push_back({from.text(), is_index});
  }
  return out;
}

ZARRPOINT_INLINE std::vector<std::byte> held_state::encode() const {
  v0::detail::wire_writer to;
  to.number(tensors.size());
  for (const held_tensor& tensor : tensors) {
    to.text(tensor.name);
    encode_path(to, tensor.path);
    to.type(tensor.spec.type);
    to.shape(tensor.spec.shape);
    to.number(tensor.boxes.size());
    for (const box& part : tensor.boxes) to.part(part);
  }
  to.number(values.size());
  for (const held_value& value : values) {
    to.text(value.name);
    encode_path(to, value.path);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<held_state> held_state::decode(bytes_view message) {
  v0::detail::wire_reader from(message);
  held_state out;
  for (std::size_t n = from.count(5); n > 0 && !from.failed(); --n) {
    held_tensor& tensor = out.tensors.emplace_back();
    tensor.name = from.text();
    tensor.path = decode_path(from);
    tensor.spec.type = from.type();
    tensor.spec.shape = from.shape();
    for (std::size_t left = from.count(1); left > 0 && !from.failed(); --left)
      tensor.boxes.push_back(from.part());
  }
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    held_value& value = out.values.emplace_back();
    value.name = from.text();
    value.path = decode_path(from);
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

ZARRPOINT_INLINE result<std::vector<box>> cut_box(const box& of, std::size_t element_size,
                                                  std::uint64_t bytes, std::uint64_t most) {
  ZARRPOINT_TRY(all, byte_count(of.shape, element_size));
  if (bytes == 0 || all <= bytes) return std::vector<box>{of};
  dims chunk = of.shape;
  std::uint64_t row = all;  // what one step along the axis has
  for (std::size_t d = 0; d < chunk.rank(); ++d) {
    row /= static_cast<std::uint64_t>(of.shape[d]);
    chunk[d] = std::max<index_t>(1, static_cast<index_t>(bytes / row));
    if (row <= bytes) break;
  }
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < chunk.rank(); ++d) {
    const auto along = static_cast<std::uint64_t>((of.shape[d] - 1) / chunk[d] + 1);
    if (along > most / count)
      return error{errc::resource_limit, "it would be more than " + std::to_string(most) +
                                             " boxes of " + std::to_string(bytes) + " bytes"};
    count *= along;
  }
  std::vector<box> out;
  out.reserve(static_cast<std::size_t>(count));
  dims at(chunk.rank(), 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    box& part = out.emplace_back(box{of.offset, chunk});
    for (std::size_t d = 0; d < chunk.rank(); ++d) {
      part.offset[d] += at[d];
      part.shape[d] = std::min(chunk[d], of.shape[d] - at[d]);
    }
    for (std::size_t d = chunk.rank(); d-- > 0;) {
      at[d] += chunk[d];
      if (at[d] < of.shape[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

/// Whether PyTorch keeps it as one value.
ZARRPOINT_INLINE bool is_terminal(const node& value) {
  if (value.if_object() != nullptr) return torch::detail::is_value_word(value);
  const node::array* elements = value.if_array();
  if (elements == nullptr) return true;
  return std::all_of(elements->begin(), elements->end(),
                     [](const node& one) { return is_terminal(one); });
}

ZARRPOINT_INLINE std::vector<std::pair<std::vector<path_step>, const node*>> flatten(
    const node& value, std::vector<path_step> path) {
  std::vector<std::pair<std::vector<path_step>, const node*>> out;
  if (is_terminal(value)) {
    out.emplace_back(std::move(path), &value);
    return out;
  }
  const auto add = [&](path_step step, const node& below) {
    std::vector<path_step> longer = path;
    longer.push_back(std::move(step));
    for (auto& one : flatten(below, std::move(longer))) out.push_back(std::move(one));
  };
  if (const node::object* members = value.if_object()) {
    for (const auto& [key, below] : *members) add({key, false}, below);
  } else {
    const node::array& elements = *value.if_array();
    for (std::size_t i = 0; i < elements.size(); ++i) add({std::to_string(i), true}, elements[i]);
  }
  return out;
}

ZARRPOINT_INLINE std::string name_of(std::span<const path_step> path) {
  std::string out;
  for (const path_step& step : path) {
    if (&step != path.data()) out += '.';
    out += step.text;
  }
  return out;
}

/// A box that a process has, and which of its items that is.
struct holding {
  const box* at;
  std::size_t rank;
  std::size_t item;
};

/// What all processes have of one name.
struct held_entry {
  const held_tensor* tensor = nullptr;
  const held_value* value = nullptr;
  std::vector<holding> all;
};

ZARRPOINT_INLINE result<void> add_tensor(held_entry& to, const held_tensor& of) {
  if (to.value != nullptr) return error{errc::invalid_argument, "it is a tensor and a value"};
  if (to.tensor != nullptr && to.tensor->spec != of.spec)
    return error{errc::invalid_argument, "it is " + to_string(to.tensor->spec) + " and " +
                                             to_string(of.spec) + " to different processes"};
  if (to.tensor == nullptr) to.tensor = &of;
  return {};
}

/// Boxes that are the same come behind one another.
ZARRPOINT_INLINE bool is_before(const box& a, const box& b) {
  if (!(a.offset == b.offset))
    return std::lexicographical_compare(a.offset.begin(), a.offset.end(), b.offset.begin(),
                                        b.offset.end());
  return std::lexicographical_compare(a.shape.begin(), a.shape.end(), b.shape.begin(),
                                      b.shape.end());
}

/// Empty boxes of a tensor that has elements are left out; one that has none keeps one.
ZARRPOINT_INLINE std::vector<holding> sorted_boxes(const held_entry& of) {
  std::vector<holding> out = of.all;
  const auto sort = [&] {
    std::stable_sort(out.begin(), out.end(),
                     [](const holding& a, const holding& b) { return is_before(*a.at, *b.at); });
  };
  sort();
  if (box::whole(of.tensor->spec.shape).empty()) {
    out.erase(std::find_if(out.begin(), out.end(),
                           [&](const holding& one) { return !(*one.at == *out.front().at); }),
              out.end());
    return out;
  }
  out.erase(
      std::remove_if(out.begin(), out.end(), [](const holding& one) { return one.at->empty(); }),
      out.end());
  return out;
}

ZARRPOINT_INLINE result<void> check_boxes(const tensor_entry& of) {
  for (const tensor_chunk& chunk : of.chunks)
    ZARRPOINT_CHECK(selection(chunk.at).check(of.spec.shape));
  if (box::whole(of.spec.shape).empty()) return {};
  tensor_entry copy = of;
  auto checked = [&]() -> result<void> {
    ZARRPOINT_CHECK(sort_chunks(copy));
    return tensor_grid::make(copy).transform([](const tensor_grid&) {});
  }();
  if (checked) return {};
  error failure = checked.failure();
  if (failure.code == errc::corrupt) failure.code = errc::invalid_argument;
  return failure;
}

ZARRPOINT_INLINE result<shared_plan> plan_items(std::span<const held_state> all) {
  std::map<std::string_view, held_entry> entries;
  shared_plan out;
  out.chosen.resize(all.size());
  out.slots.resize(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::size_t item = 0;
    for (const held_tensor& tensor : all[rank].tensors) {
      held_entry& entry = entries[tensor.name];
      ZARRPOINT_CHECK(add_tensor(entry, tensor).at("save " + v0::detail::in_quotes(tensor.name)));
      for (const box& part : tensor.boxes) entry.all.push_back({&part, rank, item++});
    }
    for (const held_value& value : all[rank].values) {
      held_entry& entry = entries[value.name];
      if (entry.tensor != nullptr)
        return error{errc::invalid_argument,
                     "save " + v0::detail::in_quotes(value.name) + ": it is a tensor and a value"};
      if (entry.value == nullptr) entry.value = &value;
      entry.all.push_back({nullptr, rank, item++});
    }
    out.chosen[rank].resize(item);
  }
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const auto& [name, entry] : entries) names.push_back(name);
  ZARRPOINT_CHECK(groups_of(names).transform([](const auto&) {}));
  // The items of each process by their place in its own order: those of its messages follow it.
  std::vector<std::map<std::size_t, shared_plan::slot>> placed(all.size());
  std::vector<std::uint64_t> bytes(all.size());
  for (const auto& [name, entry] : entries) {
    if (entry.value != nullptr) {
      const holding& first = entry.all.front();
      placed[first.rank][first.item] = {true, out.made.values.size(), 0};
      out.made.values.push_back({std::string(name), entry.value->path, {}});
      continue;
    }
    tensor_entry made{std::string(name), entry.tensor->path, entry.tensor->spec, {}, {}};
    const std::vector<holding> boxes = sorted_boxes(entry);
    for (auto at = boxes.begin(); at != boxes.end();) {
      const auto end =
          std::find_if(at, boxes.end(), [&](const holding& one) { return !(*one.at == *at->at); });
      const auto least = std::min_element(at, end, [&](const holding& a, const holding& b) {
        return bytes[a.rank] < bytes[b.rank];
      });
      bytes[least->rank] += byte_count(at->at->shape, made.spec.type.size()).value_or(0);
      placed[least->rank][least->item] = {false, out.made.tensors.size(), made.chunks.size()};
      made.chunks.push_back({*at->at, {}});
      at = end;
    }
    ZARRPOINT_CHECK(check_boxes(made).at("save " + v0::detail::in_quotes(name)));
    out.made.tensors.push_back(std::move(made));
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (const auto& [item, slot] : placed[rank]) {
      out.chosen[rank][item] = true;
      out.slots[rank].push_back(slot);
    }
  }
  return out;
}

}}}}  // namespace zarrpoint::v0::dcp::detail
