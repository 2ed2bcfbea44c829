// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <array>
#include <map>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

// ----------------------------------------------------------------------------------- dcp_store.hpp

ZARRPOINT_INLINE result<std::vector<std::string>> safetensors_files(const any_store& store,
                                                                    const store_key& at) {
  ZARRPOINT_TRY(index, safetensors::detail::index_in(store, at));
  if (index) return index->files();
  std::vector<std::string> out;
  if (!store.can_list()) return out;
  ZARRPOINT_TRY(entries, store.list(at));
  for (const list_entry& entry : entries)
    if (!entry.is_prefix && entry.name.starts_with("shard-") &&
        entry.name.find("-model-") != entry.name.npos && entry.name.ends_with(".safetensors"))
      out.push_back(entry.name);
  std::sort(out.begin(), out.end());
  return out;
}

/// Where the box of a tensor begins in it: `{"w": {"saved_offsets": [0, 4]}}`, or at its start.
ZARRPOINT_INLINE result<dims> saved_offset(const json& info, std::string_view name,
                                           std::size_t rank) {
  const json* const mine = info.find(name);
  const json* const offsets = mine != nullptr ? mine->find("saved_offsets") : nullptr;
  if (offsets == nullptr) return dims(rank, 0);
  const auto* const list = offsets->if_array();
  if (list == nullptr || list->size() != rank)
    return error{errc::corrupt, "its saved_offsets are not of its rank"};
  dims out;
  for (const json& one : *list) {
    const auto number = one.to_int64();
    if (!number || *number < 0)
      return error{errc::corrupt, "its saved_offsets must hold integers of 0 or more"};
    out.push_back(*number);
  }
  return out;
}

ZARRPOINT_INLINE result<void> add_box(tensor_entry& to, tensor_chunk chunk, dtype type) {
  const std::size_t rank = chunk.at.rank();
  if (!to.spec.type.valid()) to.spec = {type, dims(rank, 0)};
  if (to.spec.type != type || to.spec.shape.rank() != rank)
    return error{errc::corrupt, "it has two dtypes or ranks"};
  for (std::size_t d = 0; d < rank; ++d) {
    ZARRPOINT_TRY(end, checked_add(chunk.at.offset[d], chunk.at.shape[d]));
    to.spec.shape[d] = std::max(to.spec.shape[d], end);
  }
  if (!chunk.at.empty()) to.chunks.push_back(std::move(chunk));
  return {};
}

/// A tensor of a dtype that is not known, or packed and in parts.
ZARRPOINT_INLINE void add_unknown(unknown_entry& to, const safetensors::tensor_info& of,
                                  stored_item item) {
  const bool is_known = of.spec.type.valid();
  to.name = of.name;
  to.type = is_known ? std::string(to_string(of.spec.type)) : of.stored_type;
  to.reason = is_known ? "its packed elements lie in parts"
                       : "the dtype " + v0::detail::in_quotes(of.stored_type) +
                             " is not known to this version";
  to.shape = of.spec.shape;
  to.items.push_back(std::move(item));
}

/// Says why a tensor is in two files.
ZARRPOINT_INLINE error two_files(const tensor_entry& of, const std::string& file) {
  return {errc::corrupt, "it is in " + v0::detail::in_quotes(of.chunks.front().from.file) +
                             " and in " + v0::detail::in_quotes(file) +
                             ", and no index says which one counts; remove one"};
}

ZARRPOINT_INLINE result<metadata> read_safetensors(const any_store& store, const store_key& at,
                                                   const std::vector<std::string>& files) {
  ZARRPOINT_TRY(index, safetensors::detail::index_in(store, at));
  std::map<std::string, tensor_entry> found;
  std::map<std::string, unknown_entry> unknown;
  for (const std::string& name : files) {
    ZARRPOINT_TRY(key, at.child(name));
    ZARRPOINT_TRY(file, safetensors::open(store, key));
    json info;
    if (const auto told = file.metadata().find(std::string(safetensors::detail::sharding_member));
        told != file.metadata().end()) {
      ZARRPOINT_TRY(parsed,
                    parse_json(as_bytes(told->second)).at(name + ": its DCP_SHARDING_INFO"));
      info = std::move(parsed);
    }
    for (const safetensors::tensor_info& tensor : file.tensors()) {
      const bool is_part = info.find(tensor.name) != nullptr;
      if (index) {  // what it does not name, or takes from elsewhere, is left from another save
        const auto mapped = index->file_of.find(tensor.name);
        if (mapped == index->file_of.end() || (mapped->second != name && !is_part)) continue;
      }
      if (!tensor.spec.type.valid() || (tensor.spec.type.is_below_byte() && is_part)) {
        add_unknown(unknown[tensor.name], tensor,
                    {name, file.data_offset() + tensor.offset, tensor.bytes, {}, true});
        continue;
      }
      const auto add = [&]() -> result<void> {
        ZARRPOINT_TRY(offset, saved_offset(info, tensor.name, tensor.spec.shape.rank()));
        stored_item item{name, file.data_offset() + tensor.offset, tensor.bytes, {}, true};
        tensor_entry& entry = found[tensor.name];
        entry.name = tensor.name;
        if (!is_part && !entry.chunks.empty()) return two_files(entry, name);
        return add_box(entry, {{offset, tensor.spec.shape}, std::move(item)}, tensor.spec.type);
      };
      ZARRPOINT_CHECK(add().at(name + ": the tensor " + v0::detail::in_quotes(tensor.name)));
    }
  }
  if (index)
    for (const auto& [name, file] : index->file_of)
      if (!found.contains(name) && !unknown.contains(name))
        return error{errc::corrupt, "weight_map: tensor " + v0::detail::in_quotes(name) +
                                        " is not in " + v0::detail::in_quotes(file)};
  metadata out;
  for (auto& [name, entry] : found) {
    const std::string context = "the tensor " + v0::detail::in_quotes(name);
    ZARRPOINT_CHECK(byte_count(entry.spec).at(context));
    ZARRPOINT_CHECK(sort_chunks(entry).at(context));
    out.tensors.push_back(std::move(entry));
  }
  for (auto& [name, entry] : unknown) out.unknown.push_back(std::move(entry));
  return out;
}

}}}}  // namespace zarrpoint::v0::dcp::detail

namespace zarrpoint { inline namespace v0 { namespace dcp {

// ----------------------------------------------------------------------------------- dcp_store.hpp

namespace detail {

inline constexpr std::string_view metadata_name = ".metadata";
inline constexpr std::string_view common_name = "common.pt";

/// What lies at a name of the hierarchy.
struct leaf {
  enum class kind : std::uint8_t { tensor, value, common, unknown };

  kind is = kind::tensor;
  std::size_t at = 0;       ///< in the list of its kind
  bool is_renamed = false;  ///< shown by another name than the checkpoint's
  bool is_long = false;     ///< its name leaves no room for names beneath it
};

/// What is not a tensor, or not read, as an array.
struct shown_array {
  json document;
  dims counts;  ///< of its chunks
  std::vector<std::byte> chunk;
  std::vector<stored_item> items{};  ///< what is not read has these for chunks
};

/// Whether a value is an object with tensors in it, such as a module.
ZARRPOINT_INLINE bool has_tensors(const torch::pickle_value& value) {
  return value.kind() == torch::pickle_kind::call && value.callable().module() != "collections" &&
         !torch::detail::tensor_call_of(value) && !torch::detail::read_numpy(value) &&
         torch::detail::find_elements(value)[value.index()];
}

/// `__12.metadata`: what a process saved for itself; nothing for other names.
ZARRPOINT_INLINE std::optional<std::uint64_t> rank_of(std::string_view name) {
  constexpr std::string_view begin = "__";
  if (!name.starts_with(begin) || !name.ends_with(metadata_name)) return std::nullopt;
  name = name.substr(begin.size(), name.size() - begin.size() - metadata_name.size());
  if (name.empty() || name.size() > 9) return std::nullopt;
  std::uint64_t out = 0;
  for (const char digit : name) {
    if (digit < '0' || digit > '9') return std::nullopt;
    out = out * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return out;
}

/// The files of the processes that saved each for itself, in the order of their ranks.
ZARRPOINT_INLINE result<std::vector<std::string>> rank_files(const any_store& directory,
                                                             const store_key& at) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  ZARRPOINT_TRY(entries, directory.list(at));
  for (const list_entry& entry : entries)
    if (const auto rank = entry.is_prefix ? std::nullopt : rank_of(entry.name))
      found.emplace_back(*rank, entry.name);
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  out.reserve(found.size());
  for (auto& [rank, name] : found) out.push_back(std::move(name));
  return out;
}

}  // namespace detail

struct state_store::state final : std::enable_shared_from_this<state_store::state>,
                                  v0::detail::lazy_nodes {
  any_store base;  ///< its root is the directory of the checkpoint
  dcp::metadata metadata;
  std::vector<detail::tensor_grid> grids;  ///< one for each tensor
  std::vector<detail::leaf> leaves;        ///< the nodes of `tree`, by their numbers
  v0::detail::virtual_hierarchy tree;
  std::string name;
  torch::pickle_limits most;  ///< what the metadata might cost, and a value may

  using object = std::optional<torch::archive_store>;
  struct opened_object {
    std::size_t number = SIZE_MAX;
    object tensors{};
  };
  mutable std::mutex mutex;
  mutable std::array<opened_object, 4> objects;  ///< those that were opened last
  mutable std::size_t next_object = 0;
  mutable std::vector<bool> plain;  ///< of each leaf, whether it is known not to be one

  state(any_store directory, dcp::metadata read, std::string called,
        const torch::pickle_limits& limits)
      : base(std::move(directory)),
        metadata(std::move(read)),
        name(std::move(called)),
        most(limits) {}

  /// The name in the checkpoint.
  std::string original_name(std::size_t number) const override {
    const detail::leaf& of = leaves[number];
    switch (of.is) {
      case detail::leaf::kind::tensor: return metadata.tensors[of.at].name;
      case detail::leaf::kind::value: return metadata.values[of.at].name;
      case detail::leaf::kind::unknown: return metadata.unknown[of.at].name;
      case detail::leaf::kind::common: break;
    }
    return "common";
  }

  /// Puts all leaves into the tree.
  result<void> place_leaves() {
    for (std::size_t i = 0; i < leaves.size(); ++i) tree.add(original_name(i), *this, i);
    ZARRPOINT_CHECK(tree.finish({}));
    for (const v0::detail::virtual_hierarchy::place& each : tree.places()) {
      detail::leaf& of = leaves[each.number];
      of.is_renamed = each.is_renamed;
      of.is_long = each.name.size() > 256;
      if (of.is == detail::leaf::kind::tensor) metadata.tensors[of.at].shown = each.name;
    }
    return {};
  }

  torch::pickle_limits value_limits() const {
    return {.max_bytes = std::min(most.max_bytes, std::uint64_t{64} << 20),
            .max_values = std::min(most.max_values, std::size_t{1} << 20)};
  }

  result<torch::file> open_value(const detail::leaf& of) const {
    if (of.is == detail::leaf::kind::common) {
      ZARRPOINT_TRY(key, store_key::parse(detail::common_name));
      return torch::open(base, key, value_limits());
    }
    ZARRPOINT_TRY(item, detail::open_item(base, metadata.values[of.at].from, most.max_bytes));
    return torch::open(std::move(item), value_limits());
  }

  /// A value that is an object with tensors in it is a group of them; nothing for other leaves, and
  /// where it cannot be opened.
  object open_object(std::size_t number) const {
    const detail::leaf& of = leaves[number];
    if (of.is != detail::leaf::kind::value || of.is_long) return {};
    {
      const std::lock_guard lock(mutex);
      if (!plain.empty() && plain[number]) return {};
      for (const opened_object& each : objects)
        if (each.number == number) return each.tensors;
    }
    const auto open = [&]() -> result<torch::archive_store> {
      ZARRPOINT_TRY(file, open_value(of));
      if (!detail::has_tensors(file.root())) return error{errc::not_found, {}};
      ZARRPOINT_TRY(item, detail::open_item(base, metadata.values[of.at].from, most.max_bytes));
      return torch::archive_store::open(std::move(item), value_limits());
    };
    auto opened = open();
    const std::lock_guard lock(mutex);
    if (!opened) {
      plain.resize(leaves.size());
      plain[number] = true;
      return {};
    }
    objects[next_object++ % objects.size()] = {number, *opened};
    return *std::move(opened);
  }

  /// A key in a group of tensors. Documents tell names that are shown in another way.
  result<std::unique_ptr<blob>> open_in(const torch::archive_store& object, std::size_t number,
                                        std::string_view rest) const {
    ZARRPOINT_TRY(key, store_key::parse(rest));
    ZARRPOINT_TRY(found, object.open(key));
    constexpr std::string_view document = "zarr.json";
    if (found == nullptr || !leaves[number].is_renamed || !rest.ends_with(document))
      return std::move(found);
    ZARRPOINT_TRY(told, v0::detail::parse_object(*found, value_limits().max_bytes));
    std::string own(rest.substr(0, rest.size() - document.size()));
    if (!own.empty()) own.pop_back();
    if (const json* const attributes = told.find("attributes"))
      if (const json* const name = attributes->find(v0::detail::original_name_member))
        if (const std::string* const text = name->if_string()) own = *text;
    v0::detail::tell_name(told, original_name(number) + (own.empty() ? "" : "/") + own);
    return v0::detail::text_blob(dump_json(told), found->name());
  }

  result<json> document_of(std::size_t at) const {
    const detail::tensor_grid& grid = grids[at];
    const tensor_spec spec{metadata.tensors[at].spec.type, grid.shape()};
    return to_v3(detail::raw_metadata(spec, grid.chunk_shape(), grid.edges()));
  }

  result<std::unique_ptr<blob>> open_chunk(std::size_t at, std::string_view rest,
                                           std::string called) const {
    const detail::tensor_grid& grid = grids[at];
    const auto index = v0::detail::chunk_index(rest, grid.counts());
    if (!index) return std::unique_ptr<blob>();
    // A chunk keeps all of this, and with it the entry of its tensor.
    const std::shared_ptr<const tensor_entry> tensor(shared_from_this(), &metadata.tensors[at]);
    if (tensor->spec.type.is_below_byte()) {  // of safetensors, in one piece
      ZARRPOINT_TRY(item, detail::open_item(base, tensor->chunks.front().from, UINT64_MAX));
      ZARRPOINT_TRY(count, byte_count(tensor->spec));
      return v0::detail::make_owned<blob, safetensors::detail::unpacked_blob>(
          std::move(item), tensor->spec.type, count, std::move(called));
    }
    detail::chunk_plan plan{base, tensor, {}, grid.chunk_box(*index), std::move(called)};
    for (const std::uint32_t box : grid.boxes_of(*index))
      plan.boxes.push_back(&tensor->chunks[box]);
    return detail::chunk_blob::open(std::move(plan));
  }

  static detail::shown_array unread(const v0::detail::unread_entry& what,
                                    std::vector<stored_item> items) {
    const auto count = static_cast<index_t>(items.size());
    return {v0::detail::unread_document(what), dims{count}, {}, std::move(items)};
  }

  /// A leaf that is not a tensor, or is not known.
  result<detail::shown_array> shown(std::size_t number) const {
    const detail::leaf& of = leaves[number];
    if (of.is == detail::leaf::kind::unknown) {
      const unknown_entry& what = metadata.unknown[of.at];
      return unread({what.type, what.reason, what.shape}, what.items);
    }
    const auto read = [&]() -> result<detail::shown_array> {
      ZARRPOINT_TRY(file, open_value(of));
      ZARRPOINT_TRY(made, detail::to_array(file, original_name(number)));
      return detail::shown_array{std::move(made.document), dims(made.rank, 1),
                                 std::move(made.chunk)};
    };
    auto made = read();
    if (made || made.failure().code != errc::unsupported || of.is != detail::leaf::kind::value)
      return made;
    return unread({"object", made.failure().message, {}}, {metadata.values[of.at].from});
  }

  result<json> document(std::size_t number) const override {
    if (leaves[number].is == detail::leaf::kind::tensor) return document_of(leaves[number].at);
    ZARRPOINT_TRY(made, shown(number));
    return std::move(made.document);
  }

  result<dims> counts(std::size_t number) const override {
    if (leaves[number].is == detail::leaf::kind::tensor) return grids[leaves[number].at].counts();
    ZARRPOINT_TRY(made, shown(number));
    return made.counts;
  }

  result<std::unique_ptr<blob>> chunk(std::size_t number, std::string_view key,
                                      std::string called) const override {
    const detail::leaf& of = leaves[number];
    if (of.is == detail::leaf::kind::tensor) return open_chunk(of.at, key, std::move(called));
    ZARRPOINT_TRY(made, shown(number));
    const auto index = v0::detail::chunk_index(key, made.counts);
    if (!index) return std::unique_ptr<blob>();
    if (made.items.empty())
      return v0::detail::make_owned<blob, v0::detail::memory_blob>(std::move(made.chunk),
                                                                   std::move(called));
    stored_item item = made.items[static_cast<std::size_t>((*index)[0])];
    item.transforms.clear();  // its stored bytes
    return detail::open_item(base, item, UINT64_MAX);
  }

  result<std::unique_ptr<blob>> open(const v0::detail::hierarchy_place& at, std::string_view key,
                                     std::string called) const override {
    if (const object tensors = open_object(at.number)) return open_in(*tensors, at.number, key);
    return lazy_nodes::open(at, key, std::move(called));
  }

  result<std::vector<list_entry>> list(std::size_t number, std::string_view prefix) const override {
    const object tensors = open_object(number);
    if (!tensors) return lazy_nodes::list(number, prefix);
    ZARRPOINT_TRY(key, store_key::parse(prefix));
    return tensors->list(key);
  }
};

ZARRPOINT_INLINE state_store::state_store(std::shared_ptr<const state> opened)
    : virtual_store({opened, &opened->tree}, opened->name), state_(std::move(opened)) {}

ZARRPOINT_INLINE result<state_store> state_store::open(any_store base, store_key at,
                                                       const torch::pickle_limits& limits) {
  const std::string name = base.describe(at);
  auto opened = guarded([&] { return read(std::move(base), std::move(at), limits); });
  return std::move(opened).at("open the checkpoint of PyTorch " + name);
}

ZARRPOINT_INLINE result<state_store> state_store::read(any_store base, store_key at,
                                                       const torch::pickle_limits& limits) {
  const std::string name = base.describe(at);
  const any_store directory = at.is_root() ? base : any_store(prefix_store(base, at));
  const auto document = [&](std::string_view file) -> result<std::optional<dcp::metadata>> {
    ZARRPOINT_TRY(key, store_key::parse(file));
    ZARRPOINT_TRY(bytes, get(directory, key, limits.max_bytes));
    if (!bytes) return std::optional<dcp::metadata>();
    ZARRPOINT_TRY(made, read_metadata(*bytes, limits).at(std::string(file)));
    return std::optional(std::move(made));
  };
  ZARRPOINT_TRY(whole, document(detail::metadata_name));
  if (!whole) {
    ZARRPOINT_TRY(files, detail::rank_files(directory, store_key::root()));
    for (const std::string& file : files) {
      ZARRPOINT_TRY(part, document(file));
      if (!part) continue;
      if (whole) {
        ZARRPOINT_CHECK(detail::merge(*whole, *std::move(part)).at(file));
      } else {
        whole = std::move(part);
      }
    }
  }
  if (!whole) {
    ZARRPOINT_TRY(files, detail::safetensors_files(directory, store_key::root()));
    if (!files.empty()) {
      ZARRPOINT_TRY(made, detail::read_safetensors(directory, store_key::root(), files));
      whole = std::move(made);
    }
  }
  if (!whole)
    return error{errc::not_found,
                 "there is no .metadata: it is not a checkpoint, or its save was "
                 "not finished"};
  const auto out = std::make_shared<state>(directory, *std::move(whole), name, limits);
  for (const tensor_entry& tensor : out->metadata.tensors) {
    ZARRPOINT_TRY(grid, detail::tensor_grid::make(tensor).at("the tensor " +
                                                             v0::detail::in_quotes(tensor.name)));
    out->leaves.push_back({detail::leaf::kind::tensor, out->grids.size()});
    out->grids.push_back(std::move(grid));
  }
  for (std::size_t i = 0; i < out->metadata.values.size(); ++i)
    out->leaves.push_back({detail::leaf::kind::value, i});
  for (std::size_t i = 0; i < out->metadata.unknown.size(); ++i)
    out->leaves.push_back({detail::leaf::kind::unknown, i});
  ZARRPOINT_TRY(common, store_key::parse(detail::common_name));
  ZARRPOINT_TRY(object, directory.open(common));
  if (object != nullptr) out->leaves.push_back({detail::leaf::kind::common, 0});
  ZARRPOINT_CHECK(out->place_leaves());
  return state_store(out);
}

ZARRPOINT_INLINE const dcp::metadata& state_store::metadata() const noexcept {
  return state_->metadata;
}

ZARRPOINT_INLINE result<json> state_store::values() const {
  return guarded([&]() -> result<json> {
    json out = json(json::object());
    std::size_t most_gaps = std::size_t{1} << 20;
    for (std::size_t i = 0; i < state_->leaves.size(); ++i) {
      const detail::leaf& leaf = state_->leaves[i];
      if (leaf.is == detail::leaf::kind::tensor || leaf.is == detail::leaf::kind::unknown) continue;
      const std::string name = state_->original_name(i);
      const auto put = [&]() -> result<void> {
        ZARRPOINT_TRY(file, state_->open_value(leaf));
        ZARRPOINT_TRY(made, detail::to_json(file, name));
        std::vector<path_step> path;
        if (leaf.is == detail::leaf::kind::value) path = state_->metadata.values[leaf.at].path;
        if (path.empty()) path = {{name, false}};
        return detail::put_at(out, path, std::move(made), most_gaps);
      };
      ZARRPOINT_CHECK(put().at("the value " + v0::detail::in_quotes(name)));
    }
    return out;
  });
}

ZARRPOINT_INLINE result<torch::file> state_store::value(std::string_view name) const {
  std::string_view rest;
  if (const auto* const found = state_->tree.find(name, rest); found != nullptr && rest.empty()) {
    const detail::leaf& leaf = state_->leaves[found->number];
    if (leaf.is == detail::leaf::kind::value || leaf.is == detail::leaf::kind::common)
      return state_->open_value(leaf);
  }
  return error{errc::not_found, state_->name + " has no value " + v0::detail::in_quotes(name)};
}

// ---------------------------------------------------------------------------------- dcp_format.hpp

namespace detail {

ZARRPOINT_INLINE result<bool> has_file(const any_store& store, const store_key& at,
                                       std::string_view name) {
  ZARRPOINT_TRY(key, at.child(name));
  ZARRPOINT_TRY(object, store.open(key));
  return object != nullptr;
}

/// Whether a directory holds a checkpoint. Others name a file so, too, but not beside a hierarchy.
ZARRPOINT_INLINE result<bool> is_state(const any_store& store, const store_key& at) {
  for (const char* const document : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(is_zarr, has_file(store, at, document));
    if (is_zarr) return false;
  }
  for (const char* const document : {".metadata", "__0.metadata"}) {
    ZARRPOINT_TRY(is_there, has_file(store, at, document));
    if (is_there) return true;
  }
  // Without parts of tensors they are those of `safetensors::format`.
  ZARRPOINT_TRY(is_model, has_file(store, at, safetensors::detail::files_index));
  if (is_model) return safetensors::detail::has_parts(store, at);
  ZARRPOINT_TRY(files, safetensors_files(store, at));
  return !files.empty();
}

/// The newest iteration of a run of Megatron-Core, which a file names by its number.
ZARRPOINT_INLINE result<std::optional<store_key>> newest_iteration(const any_store& store) {
  ZARRPOINT_TRY(tracker, store_key::parse("latest_checkpointed_iteration.txt"));
  ZARRPOINT_TRY(object, store.open(tracker));
  if (object == nullptr || object->size() > 32) return std::optional<store_key>();
  std::string number(static_cast<std::size_t>(object->size()), '\0');
  ZARRPOINT_CHECK(object->read(0, std::as_writable_bytes(std::span(number))));
  while (!number.empty() && (number.back() == '\n' || number.back() == ' ')) number.pop_back();
  if (number.empty() || number.find_first_not_of("0123456789") != number.npos)
    return std::optional<store_key>();
  if (number.size() < 7) number.insert(0, 7 - number.size(), '0');
  ZARRPOINT_TRY(key, store_key::parse("iter_" + number));
  ZARRPOINT_TRY(there, is_state(store, key));
  return there ? std::optional(std::move(key)) : std::nullopt;
}

ZARRPOINT_INLINE result<std::optional<store_key>> state_key(const any_store& directory) {
  ZARRPOINT_TRY(is_here, is_state(directory, store_key::root()));
  if (is_here) return std::optional(store_key::root());
  return newest_iteration(directory);
}

/// Whether a look finds the index of a model in a directory, and not that directory.
ZARRPOINT_INLINE bool is_index(const place_look& at) {
  const std::string_view name = at.place();
  return at.is_file() && name.substr(name.rfind('/') + 1) == safetensors::detail::files_index;
}

/// The index of a model stands for the directory that it is in.
ZARRPOINT_INLINE result<stored_place> directory_of(const place_look& at) {
  if (is_index(at)) return v0::detail::index_at(at, safetensors::detail::files_index.data());
  ZARRPOINT_CHECK(at.check_directory());
  return stored_place{at.directory(), store_key::root()};
}

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (detail::is_index(at)) {
    ZARRPOINT_TRY(beside, detail::directory_of(at));
    ZARRPOINT_TRY(is_in_parts, safetensors::detail::has_parts(beside.store, store_key::root()));
    return is_in_parts ? claim::sure : claim::none;
  }
  if (!at.is_directory()) return claim::none;
  ZARRPOINT_TRY(found, detail::state_key(at.directory()));
  if (!found) return claim::none;
  // Files of an index that have parts of tensors.
  ZARRPOINT_TRY(is_model, at.has({safetensors::detail::files_index.data()}));
  return is_model ? claim::sure : claim::plain;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_TRY(place, detail::directory_of(at));
  const any_store& directory = place.store;
  ZARRPOINT_TRY(found, detail::state_key(directory));
  if (!found)
    return error{errc::not_found,
                 at.path() + " holds no .metadata of torch.distributed.checkpoint"};
  ZARRPOINT_TRY(is_megatron, detail::has_file(directory, *found, "metadata.json"));
  ZARRPOINT_TRY(opened, state_store::open(directory, *found, metadata_limits.within(use.memory)));
  return at.within(std::move(opened),
                   is_megatron ? "Megatron-Core torch_dist checkpoint" : "DCP checkpoint");
}

}}}  // namespace zarrpoint::v0::dcp

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/metadata_bodies.hpp>
#include <zarrpoint/interop/safetensors/bodies.hpp>
#endif
