// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/assemble_cells.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/dcp_save/dcp_described_state.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

// ------------------------------------------------------------------------------- dcp_save_plan.hpp

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

ZARRPOINT_INLINE std::vector<std::byte> held_state::encode(std::span<const held_tensor> tensors,
                                                           std::span<const held_value> values) {
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
ZARRPOINT_INLINE bool is_terminal(const json& value) {
  if (value.if_object() != nullptr) return torch::detail::is_value_word(value);
  const json::array* elements = value.if_array();
  if (elements == nullptr) return true;
  return std::all_of(elements->begin(), elements->end(),
                     [](const json& one) { return is_terminal(one); });
}

ZARRPOINT_INLINE std::vector<std::pair<std::vector<path_step>, const json*>> flatten(
    const json& value, std::vector<path_step> path) {
  std::vector<std::pair<std::vector<path_step>, const json*>> out;
  if (is_terminal(value)) {
    out.emplace_back(std::move(path), &value);
    return out;
  }
  const auto add = [&](path_step step, const json& below) {
    std::vector<path_step> longer = path;
    longer.push_back(std::move(step));
    for (auto& one : flatten(below, std::move(longer))) out.push_back(std::move(one));
  };
  if (const json::object* members = value.if_object()) {
    for (const auto& [key, below] : *members) add({key, false}, below);
  } else {
    const json::array& elements = *value.if_array();
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

ZARRPOINT_INLINE result<shared_plan> plan_items(std::span<const held_parts> all) {
  std::map<std::string_view, held_entry> entries;
  shared_plan out;
  out.chosen.resize(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::size_t item = 0;
    for (const held_state* part : {all[rank].leaves.get(), &all[rank].shards}) {
      for (const held_tensor& tensor : part->tensors) {
        held_entry& entry = entries[tensor.name];
        ZARRPOINT_CHECK(add_tensor(entry, tensor).at("save " + v0::detail::in_quotes(tensor.name)));
        for (const box& at : tensor.boxes) entry.all.push_back({&at, rank, item++});
      }
    }
    for (const held_value& value : all[rank].leaves->values) {
      held_entry& entry = entries[value.name];
      if (entry.tensor != nullptr)
        return error{errc::invalid_argument,
                     "save " + v0::detail::in_quotes(value.name) + ": it is a tensor and a value"};
      if (entry.value == nullptr) entry.value = &value;
      entry.all.push_back({nullptr, rank, item++});
    }
  }
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const auto& [name, entry] : entries) names.push_back(name);
  ZARRPOINT_CHECK(groups_of(names).transform([](const auto&) {}));
  const auto choose = [&](const holding& one) {
    out.chosen[one.rank].push_back(one.item);
    out.writers.push_back(static_cast<int>(one.rank));
  };
  for (const auto& [name, entry] : entries) {
    if (entry.value == nullptr) continue;
    choose(entry.all.front());
    out.made.values.push_back({std::string(name), entry.value->path, {}});
  }
  std::vector<std::uint64_t> bytes(all.size());
  for (const auto& [name, entry] : entries) {
    if (entry.value != nullptr) continue;
    tensor_entry made{std::string(name), entry.tensor->path, entry.tensor->spec, {}, {}};
    const std::vector<holding> boxes = sorted_boxes(entry);
    for (auto at = boxes.begin(); at != boxes.end();) {
      const auto end =
          std::find_if(at, boxes.end(), [&](const holding& one) { return !(*one.at == *at->at); });
      const auto least = std::min_element(at, end, [&](const holding& a, const holding& b) {
        return bytes[a.rank] < bytes[b.rank];
      });
      bytes[least->rank] += byte_count(at->at->shape, made.spec.type.size()).value_or(0);
      choose(*least);
      made.chunks.push_back({*at->at, {}});
      at = end;
    }
    ZARRPOINT_CHECK(check_boxes(made).at("save " + v0::detail::in_quotes(name)));
    out.made.tensors.push_back(std::move(made));
  }
  return out;
}

// ------------------------------------------------------------------------- dcp_described_state.hpp

/// A number of C++ as one of Python; nothing for those that Python has no type for.
ZARRPOINT_INLINE result<std::optional<json>> number_of(const host_view& from) {
  const auto as = [&](auto zero) -> result<std::optional<json>> {
    auto made = zero;
    const tensor_spec spec{dtype_of<decltype(made)>, {}};
    ZARRPOINT_CHECK(
        v0::detail::cast_elements(dense_view(reinterpret_cast<std::byte*>(&made), spec), from));
    return std::optional<json>(made);
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
    default: return std::optional<json>();
  }
}

ZARRPOINT_INLINE std::vector<path_step> described_state::path_of(const std::string& name) const {
  for (const named_path& one : as_.paths)
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
    return add_value(name, torch::value(json(text)), path_of(name));
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
  tensor_source from{name,
                     [&value](memory_resource& resource) { return value.stage(resource); },
                     value.host_accessible(),
                     box::whole(spec.shape),
                     0,
                     bytes};
  if (!from.on_host)
    from.source = [&value](const context& with) {
      return value.source(v0::detail::source_options_of(with));
    };
  return add_tensor(std::move(from), spec);
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
  tensor_source from{of.key,
                     [&shard](memory_resource& resource) { return shard.stage(resource); },
                     shard.host_accessible(),
                     at,
                     of.prepended_axes,
                     bytes};
  if (!from.on_host) from.source = [&shard](const context& with) { return shard.source(with); };
  return add_tensor(std::move(from), {of.type, of.global_shape});
}

ZARRPOINT_INLINE result<std::vector<box>> described_state::boxes_of(
    const tensor_source& from, const tensor_spec& whole) const {
  for (const tensor_boxes& one : as_.boxes) {
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
  return cut_box(from.at, whole.type.size(), as_.chunk_bytes, how_.limit.max_chunks);
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
  whole_ = held_.tensors.size();
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
  for (const tensor_boxes& one : as_.boxes)
    if (is_alone && !is_known(one.name))
      return error{
          errc::invalid_argument,
          "dcp::format::boxes name " + v0::detail::in_quotes(one.name) + ", which is not a tensor"};
  return {};
}

ZARRPOINT_INLINE result<void> described_state::keep(std::size_t source,
                                                    v0::detail::cell_copies& by) {
  kept_.resize(sources_.size());
  if (kept_[source]) return {};
  tensor_source& from = sources_[source];
  cell_write cell{.stage = from.stage, .source = from.source};
  ZARRPOINT_CHECK(by.add(cell, from.name).at("save " + v0::detail::in_quotes(from.name)));
  from.stage = std::move(cell.stage);
  from.on_host = !cell.source;
  kept_[source] = true;
  return {};
}

}}}}  // namespace zarrpoint::v0::dcp::detail

namespace zarrpoint { inline namespace v0 { namespace dcp {

// ------------------------------------------------------------------------------- dcp_save_plan.hpp

namespace detail {

/// Objects of Python that are one are written once and then named again, as pickle does.
class metadata_pickler {
 public:
  explicit metadata_pickler(metadata_style style)
      : is_megatrons_(style == metadata_style::torch_dist) {}

  result<std::string> write(const metadata& from) {
    global(of_metadata, "Metadata");
    to_.object();
    std::vector<std::string_view> names{"state_dict_metadata", "planner_data", "storage_data",
                                        "storage_meta", "version"};
    if (is_megatrons_) names.emplace_back("mcore_data");
    ZARRPOINT_CHECK(attributes(names, [&](std::size_t i) -> result<void> {
      if (i == 0) return write_entries(from);
      if (i == 1) return write_paths(from);
      if (i == 2) return write_items(from);
      // Where there is none, PyTorch makes one.
      if (i == 3) return to_.none(), result<void>();
      if (i == 4) return text("1.0.0");
      return write_flattened(from);
    }));
    return std::move(to_).finish();
  }

 private:
  static constexpr std::string_view of_metadata = "torch.distributed.checkpoint.metadata";

  /// Texts and globals that were written, by kind and name.
  template <class F>
  result<void> once(std::string key, const F& write) {
    const auto found = places_.find(key);
    if (found != places_.end()) return to_.again(found->second), result<void>();
    ZARRPOINT_CHECK(write());
    places_.emplace(std::move(key), to_.place());
    return {};
  }

  result<void> text(std::string_view what) {
    return once("t" + std::string(what), [&] { return to_.string(what); });
  }

  void global(std::string_view module, std::string_view name) {
    // It cannot fail: what it does has no error.
    static_cast<void>(once("g" + std::string(module) + "\n" + std::string(name),
                           [&] { return to_.global(module, name), result<void>(); }));
  }

  /// The state of the object before.
  template <class F>
  result<void> attributes(const std::vector<std::string_view>& names, const F& each) {
    ZARRPOINT_CHECK(to_.dict(names.size(), [&](std::size_t i) -> result<void> {
      ZARRPOINT_CHECK(text(names[i]));
      return each(i);
    }));
    to_.build();
    return {};
  }

  void size(const dims& of) {
    global("torch", "Size");
    // Numbers have no errors.
    static_cast<void>(to_.tuple(1, [&](std::size_t) {
      return to_.tuple(of.rank(),
                       [&](std::size_t d) { return to_.integer(of[d]), result<void>(); });
    }));
    to_.reduce();
  }

  result<void> write_entries(const metadata& from) {
    const std::size_t values = from.values.size();
    return to_.dict(values + from.tensors.size(), [&](std::size_t i) -> result<void> {
      if (i >= values) {
        const tensor_entry& tensor = from.tensors[i - values];
        ZARRPOINT_CHECK(text(tensor.name));
        return write_tensor(tensor).at("the tensor " + v0::detail::in_quotes(tensor.name));
      }
      ZARRPOINT_CHECK(text(from.values[i].name));
      global(of_metadata, "BytesStorageMetadata");
      to_.object();
      return {};
    });
  }

  result<void> write_tensor(const tensor_entry& of) {
    const auto type = torch::dtype_name(of.spec.type.kind());
    if (!type)
      return error{errc::unsupported,
                   "PyTorch has no tensors of " + std::string(to_string(of.spec.type))};
    if (of.unflattened && !is_megatrons_)
      return error{errc::unsupported, "flattened cells of Megatron-Core are not written"};
    global(of_metadata, "TensorStorageMetadata");
    to_.object();
    return attributes({"properties", "size", "chunks"}, [&](std::size_t i) -> result<void> {
      if (i == 0) return write_properties(*type);
      if (i == 1) return size(of.spec.shape), result<void>();
      return to_.list(of.chunks.size(), [&](std::size_t c) -> result<void> {
        global(of_metadata, "ChunkStorageMetadata");
        to_.object();
        const box& at = of.chunks[c].at;
        return attributes({"offsets", "sizes"}, [&](std::size_t part) -> result<void> {
          return size(part == 0 ? at.offset : at.shape), result<void>();
        });
      });
    });
  }

  /// The state of five fields, which is what PyTorch had: 2.15 writes a sixth, takes both, and does
  /// not use it.
  result<void> write_properties(std::string_view type) {
    global(of_metadata, "TensorProperties");
    to_.object();
    ZARRPOINT_CHECK(to_.tuple(5, [&](std::size_t i) -> result<void> {
      if (i == 0) return global("torch", type), result<void>();
      if (i == 1)
        return once("layout", [&]() -> result<void> {
          to_.global("torch.serialization", "_get_layout");
          ZARRPOINT_CHECK(to_.tuple(1, [&](std::size_t) { return to_.string("torch.strided"); }));
          return to_.reduce(), result<void>();
        });
      if (i == 3)
        return once("format", [&]() -> result<void> {
          global(of_metadata, "_MEM_FORMAT_ENCODING");
          ZARRPOINT_CHECK(
              to_.tuple(1, [&](std::size_t) { return to_.integer(0), result<void>(); }));
          return to_.reduce(), result<void>();
        });
      return to_.boolean(false), result<void>();
    }));
    to_.build();
    return {};
  }

  /// Of each tensor what Megatron-Core knows: of one that it flattened the shape.
  result<void> write_flattened(const metadata& from) {
    return to_.dict(from.tensors.size(), [&](std::size_t i) -> result<void> {
      const tensor_entry& tensor = from.tensors[i];
      ZARRPOINT_CHECK(text(tensor.name));
      return to_.dict(tensor.unflattened ? 1 : 0, [&](std::size_t) -> result<void> {
        ZARRPOINT_CHECK(text("nd_reformulated_orig_global_shape"));
        const dims& shape = *tensor.unflattened;
        return to_.tuple(shape.rank(),
                         [&](std::size_t d) { return to_.integer(shape[d]), result<void>(); });
      });
    });
  }

  result<void> write_paths(const metadata& from) {
    const std::size_t values = from.values.size();
    // Megatron-Core finds all by its name.
    if (is_megatrons_) return to_.none(), result<void>();
    return to_.dict(values + from.tensors.size(), [&](std::size_t i) -> result<void> {
      const bool is_value = i < values;
      const std::string& name = is_value ? from.values[i].name : from.tensors[i - values].name;
      const auto& path = is_value ? from.values[i].path : from.tensors[i - values].path;
      ZARRPOINT_CHECK(text(name));
      if (path.empty()) return to_.tuple(1, [&](std::size_t) { return text(name); });
      return to_.tuple(path.size(), [&](std::size_t k) -> result<void> {
        if (!path[k].is_index) return text(path[k].text);
        std::int64_t index = 0;
        const char* const end = path[k].text.data() + path[k].text.size();
        const auto read = std::from_chars(path[k].text.data(), end, index);
        if (read.ptr != end || read.ec != std::errc())
          return error{errc::invalid_argument, "the index " + v0::detail::in_quotes(path[k].text) +
                                                   " in the path of " +
                                                   v0::detail::in_quotes(name)};
        return to_.integer(index), result<void>();
      });
    });
  }

  result<void> write_items(const metadata& from) {
    struct item {
      const std::string* name;
      const stored_item* from;
      const box* at;      ///< null for a value
      std::size_t index;  ///< of the box
    };
    std::vector<item> all;
    all.reserve(from.values.size() + from.tensors.size());
    for (const value_entry& value : from.values)
      all.push_back({&value.name, &value.from, nullptr, 0});
    for (const tensor_entry& tensor : from.tensors)
      for (std::size_t c = 0; c < tensor.chunks.size(); ++c)
        all.push_back({&tensor.name, &tensor.chunks[c].from, &tensor.chunks[c].at, c});
    return to_.dict(all.size(), [&](std::size_t i) -> result<void> {
      const item& one = all[i];
      global(of_metadata, "MetadataIndex");
      to_.object();
      std::vector<std::string_view> names{"fqn", "index"};
      if (one.at != nullptr) names.emplace_back("offset");
      ZARRPOINT_CHECK(attributes(names, [&](std::size_t part) -> result<void> {
        if (part == 0) return text(*one.name);
        if (part == 2) return size(one.at->offset), result<void>();
        if (one.at == nullptr) return to_.none(), result<void>();
        return to_.unsigned_integer(one.index), result<void>();
      }));
      return write_item(*one.from).at("the item of " + v0::detail::in_quotes(*one.name));
    });
  }

  result<void> write_item(const stored_item& of) {
    if (of.is_raw) return error{errc::unsupported, "it is not an archive of torch.save"};
    global("torch.distributed.checkpoint.filesystem", "_StorageInfo");
    to_.object();
    std::vector<std::string_view> names{"relative_path", "offset", "length"};
    if (!of.transforms.empty()) names.emplace_back("transform_descriptors");
    return attributes(names, [&](std::size_t part) -> result<void> {
      if (part == 0) return text(of.file);
      if (part == 3)
        return to_.list(of.transforms.size(),
                        [&](std::size_t t) { return text(of.transforms[t]); });
      return to_.unsigned_integer(part == 1 ? of.offset : of.length), result<void>();
    });
  }

  bool is_megatrons_;
  torch::pickle_writer to_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::string> write_metadata(const metadata& from, metadata_style style) {
  return guarded([&] { return detail::metadata_pickler(style).write(from); });
}

}}}  // namespace zarrpoint::v0::dcp

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp_save/save_bodies.hpp>
#endif
