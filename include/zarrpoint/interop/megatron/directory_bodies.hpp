// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <charconv>
#include <map>
#include <system_error>

namespace zarrpoint { inline namespace v0 {

// ----------------------------------------------------------------------------- megatron_layout.hpp

namespace megatron {
namespace detail {

ZARRPOINT_INLINE std::string to_json(const backends& from) {
  const auto text = [](const std::string& name) {
    return dump_json(json(name), json_style::compact);
  };
  return R"({"sharded_backend": )" + text(from.sharded) + R"(, "sharded_backend_version": )" +
         std::to_string(from.sharded_version) + R"(, "common_backend": )" + text(from.common) +
         R"(, "common_backend_version": )" + std::to_string(from.common_version) + "}";
}

ZARRPOINT_INLINE result<void> write_metadata(const any_store& store, const backends& what) {
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  return store.put(key, as_bytes(to_json(what)));
}

ZARRPOINT_INLINE result<backends> read_metadata(const any_store& store) {
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  const std::string where = store.describe(store_key::root());
  ZARRPOINT_TRY(text, get(store, key, 1 << 20));
  if (!text) return error{errc::not_found, where + " is not a distributed checkpoint"};
  ZARRPOINT_TRY(document, parse_json(*text).at(store.describe(key)));
  backends out;
  const auto read = [&](const std::string& part, std::string& name,
                        std::int64_t& version) -> result<void> {
    const std::string* backend = document.find_string(part + "_backend");
    const json* number = document.find(part + "_backend_version");
    if (backend == nullptr || number == nullptr || !number->to_int64())
      return error{errc::corrupt, store.describe(key) + ": it does not name the " + part +
                                      " backend and its version"};
    name = *backend;
    version = *number->to_int64();
    return {};
  };
  ZARRPOINT_CHECK(read("sharded", out.sharded, out.sharded_version));
  // Older checkpoints name only the first.
  if (document.find("common_backend") != nullptr)
    ZARRPOINT_CHECK(read("common", out.common, out.common_version));
  return out;
}

ZARRPOINT_INLINE result<std::string> array_document(const tensor_layout& of) {
  if (!can_store(of.spec.type))
    return error{errc::unsupported, "Megatron-Core stores no tensors of " +
                                        std::string(to_string(of.spec.type)) + " in this layout"};
  if (of.chunk_shape.rank() != of.spec.shape.rank())
    return error{errc::invalid_argument, "chunks " + to_string(of.chunk_shape) +
                                             " must have the same rank as " +
                                             to_string(of.spec.shape)};
  for (const index_t extent : of.chunk_shape)
    if (extent < 1)
      return error{errc::invalid_argument,
                   "chunks " + to_string(of.chunk_shape) + " must have extents of 1 or more"};
  ZARRPOINT_CHECK(byte_count(of.spec));
  ZARRPOINT_TRY(type, zarrpoint::detail::to_v2_dtype({of.spec.type}));
  const auto numbers = [](const dims& from) {
    std::string out = "[";
    for (std::size_t i = 0; i < from.rank(); ++i)
      out.append(i == 0 ? "\n        " : ",\n        ").append(std::to_string(from[i]));
    return out + (from.rank() == 0 ? "]" : "\n    ]");
  };
  return "{\n    \"chunks\": " + numbers(of.chunk_shape) +
         ",\n    \"compressor\": null,\n    \"dtype\": \"" + *type.if_string() +
         "\",\n    \"fill_value\": null,\n    \"filters\": null,\n    \"order\": \"C\",\n    "
         "\"shape\": " +
         numbers(of.spec.shape) + ",\n    \"zarr_format\": 2\n}";
}

ZARRPOINT_INLINE result<array_metadata> to_metadata(const tensor_layout& of) {
  ZARRPOINT_TRY(text, array_document(of));
  ZARRPOINT_TRY(document, parse_json(as_bytes(text)));
  return parse_array_v2(document);
}

ZARRPOINT_INLINE result<store_key> tensor_key(std::string_view key) {
  ZARRPOINT_TRY(out, store_key::parse(key));
  if (out.is_root() || key == metadata_file || key == common_file)
    return error{errc::invalid_argument, "key " + zarrpoint::detail::in_quotes(key) +
                                             " is not a name for a tensor or object"};
  return std::move(out);
}

ZARRPOINT_INLINE std::string joined(const dims& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.rank(); ++i)
    out.append(i == 0 ? "" : ".").append(std::to_string(numbers[i]));
  return out;
}

/// `0.3`, or nothing for no axes.
ZARRPOINT_INLINE std::optional<dims> split_numbers(std::string_view text) {
  dims out;
  while (!text.empty()) {
    index_t one = -1;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), one);
    if (status != std::errc() || one < 0 || out.rank() == max_rank) return std::nullopt;
    out.push_back(one);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != '.' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return out;
}

ZARRPOINT_INLINE result<void> put_array_document(const any_store& store, std::string_view key,
                                                 const tensor_layout& of) {
  ZARRPOINT_TRY(folder, detail::tensor_key(key));
  ZARRPOINT_TRY(text, array_document(of).at(key));
  ZARRPOINT_TRY(document, folder.child(".zarray"));
  ZARRPOINT_TRY(existing, store.open(document));
  if (existing != nullptr)
    return error{errc::already_exists, "Array " + store.describe(folder) + " already exists"};
  return store.put(document, as_bytes(text));
}

ZARRPOINT_INLINE std::string chunk_name(const dims& index) {
  return chunk_key_encoding{chunk_key_encoding::style::v2, '.'}.key(index);
}

}  // namespace detail

ZARRPOINT_INLINE std::string unique_key(const object_id& of) {
  return of.key + "/shard_" + detail::joined(of.offset) + "_" + detail::joined(of.shape);
}

ZARRPOINT_INLINE std::optional<object_id> parse_unique_key(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == text.npos || slash == 0) return std::nullopt;
  std::string_view rest = text.substr(slash + 1);
  if (!rest.starts_with("shard_")) return std::nullopt;
  rest.remove_prefix(6);
  const std::size_t bar = rest.find('_');
  if (bar == rest.npos) return std::nullopt;
  const auto offset = detail::split_numbers(rest.substr(0, bar));
  const auto shape = detail::split_numbers(rest.substr(bar + 1));
  if (!offset || !shape) return std::nullopt;
  if (shape->rank() != offset->rank() && shape->rank() + 1 != offset->rank()) return std::nullopt;
  return object_id{std::string(text.substr(0, slash)), *offset, *shape};
}

namespace detail {

ZARRPOINT_INLINE result<void> put_object(const any_store& store, std::string_view unique,
                                         const torch::value& what) {
  const auto id = parse_unique_key(unique);
  if (!id || unique_key(*id) != unique || id->shape.rank() != id->offset.rank())
    return error{errc::invalid_argument,
                 zarrpoint::detail::in_quotes(unique) + " is not a unique key of an object"};
  ZARRPOINT_CHECK(detail::tensor_key(id->key));
  ZARRPOINT_TRY(key, store_key::parse(std::string(unique) + ".pt"));
  return torch::save(store, key, what, unique.substr(id->key.size() + 1));
}

ZARRPOINT_INLINE result<void> write_common(const any_store& store, const torch::value& state) {
  ZARRPOINT_TRY(key, store_key::parse(common_file));
  return torch::save(store, key, state, "common");
}

ZARRPOINT_INLINE result<dtype> stored_type(const save_job& job, const planned_tensor& tensor) {
  const dtype* const cast =
      zarrpoint::detail::last_set(job.options.rules, tensor.key, &leaf_rule::cast);
  if (cast == nullptr) return tensor.type;
  ZARRPOINT_CHECK(zarrpoint::detail::check_cast(tensor.type, *cast));
  return *cast;
}

ZARRPOINT_INLINE result<void> check_attributes(const save_job& job) {
  if (job.options.attributes.is_null()) return {};
  return error{errc::invalid_argument,
               "save_options::attributes are given, and the layout of Megatron-Core has none; "
               "common values and content_metadata are stored"};
}

/// Whether they are `bytes` alone, with nothing said of the endian or `little`.
ZARRPOINT_INLINE bool are_raw(std::span<const codec_spec> codecs) {
  const codec_spec little = raw_codecs().front();
  if (codecs.size() != 1 || codecs[0].name != little.name) return false;
  const json& how = codecs[0].configuration;
  return how.is_null() || how == json(json::object{}) || how == little.configuration;
}

ZARRPOINT_INLINE result<void> check_rules(const save_job& job, const tensor_spec& cell,
                                          std::string_view key) {
  const std::vector<leaf_rule>& rules = job.options.rules;
  const auto refuse = [](std::string_view member, const std::string& why) {
    return error{errc::invalid_argument,
                 "a rule sets " + std::string(member) + "; the layout of Megatron-Core has " + why};
  };
  const std::string chunks = "a chunk for each cell, here of shape " + to_string(cell.shape);
  for (const auto& [member, name] : {std::pair(&leaf_rule::chunk_shape, "chunk_shape"),
                                     std::pair(&leaf_rule::shard_shape, "shard_shape")}) {
    const dims* asked = zarrpoint::detail::last_set(rules, key, member);
    if (asked != nullptr && *asked != cell.shape)
      return refuse(name, chunks + ", and not " + to_string(*asked));
  }
  const std::uint64_t* most = zarrpoint::detail::last_set(rules, key, &leaf_rule::chunk_byte_size);
  ZARRPOINT_TRY(bytes, byte_count(cell));
  if (most != nullptr && bytes > *most)
    return refuse("chunk_byte_size", chunks + " and " + std::to_string(bytes) + " bytes");
  const auto* codecs = zarrpoint::detail::last_set(rules, key, &leaf_rule::codecs);
  if (codecs != nullptr && !are_raw(*codecs))
    return refuse("codecs", "no codecs: only raw_codecs() is what it stores");
  return {};
}

// -------------------------------------------------------------------------- megatron_directory.hpp

using torch::detail::pickle_op;

constexpr char as_char(pickle_op op) { return static_cast<char>(op); }

/// The pickle of a list whose one element is that of `object`. What a frame of protocol 4 counts
/// may end before the last opcode.
ZARRPOINT_INLINE std::string listed_pickle(std::string_view object) {
  std::string out(object.substr(0, 2));
  out += as_char(pickle_op::empty_list);
  out += object.substr(2, object.size() - 3);
  out += as_char(pickle_op::append);
  out += as_char(pickle_op::stop);
  return out;
}

/// The pickle of the one element of a list that Python's pickle wrote by a protocol without frames.
/// Nothing for any other. Its places in the memo stay: none is needed twice.
ZARRPOINT_INLINE std::string unlisted_pickle(std::string_view list) {
  std::string out(list.substr(0, 2));
  std::string_view rest = list.substr(out.size());
  const std::string tail{as_char(pickle_op::append), as_char(pickle_op::stop)};
  if (list.size() < 3 || list[1] > 3 || rest[0] != as_char(pickle_op::empty_list) ||
      !rest.ends_with(tail))
    return {};
  rest = rest.substr(1, rest.size() - 1 - tail.size());
  if (rest.starts_with(as_char(pickle_op::put))) {
    rest = rest.substr(std::min<std::size_t>(rest.size(), 2));
  } else if (rest.starts_with(as_char(pickle_op::long_put))) {
    rest = rest.substr(std::min<std::size_t>(rest.size(), 5));
  }
  out += rest;
  out += as_char(pickle_op::stop);
  return out;
}

/// An archive of torch.save in memory, which may have another pickle.
class torch_archive {
 public:
  /// Nothing for an archive of others.
  static result<std::optional<torch_archive>> open(std::unique_ptr<blob> from) {
    ZARRPOINT_TRY(members, zip_store::open(std::move(from)));
    ZARRPOINT_TRY(prefix, torch::file::find_prefix(members));
    if (!prefix) return std::optional<torch_archive>();
    return std::optional(torch_archive(std::move(members), *std::move(prefix)));
  }

  /// Of bytes that outlive it. Nothing for bytes that do not begin as an archive.
  static result<std::optional<torch_archive>> open(bytes_view object) {
    if (!as_text(object).starts_with("PK\x03\x04")) return std::optional<torch_archive>();
    return open(std::make_unique<zarrpoint::detail::memory_blob>(mapping(object, nullptr),
                                                                 "its file of torch.save"));
  }

  result<std::string> pickle() const {
    ZARRPOINT_TRY(key, prefix_.child(pickle_name));
    ZARRPOINT_TRY(bytes, get(members_, key, torch::pickle_limits().max_bytes));
    if (!bytes || bytes->size() < 3) return error{errc::corrupt, "its data.pkl is not a pickle"};
    return std::string(as_text(*bytes));
  }

  /// All of it, with that pickle.
  result<std::vector<std::byte>> with(std::string_view pickle) const {
    ZARRPOINT_CHECK(torch::read_pickle(as_bytes(pickle)).transform([](const auto&) {}));
    const memory_store store;
    ZARRPOINT_TRY(key, store_key::parse("object"));
    ZARRPOINT_TRY(archive, zip_writer::begin(store, key));
    ZARRPOINT_TRY(root, store_key::parse("archive"));
    ZARRPOINT_TRY(first, root.child(pickle_name));
    ZARRPOINT_CHECK(archive.put(first, as_bytes(pickle)));
    ZARRPOINT_CHECK(copy(archive, prefix_, root));
    ZARRPOINT_CHECK(archive.finish());
    ZARRPOINT_TRY(made, get(store, key, SIZE_MAX));
    return *std::move(made);
  }

 private:
  static constexpr std::string_view pickle_name = "data.pkl";

  torch_archive(zip_store members, store_key prefix)
      : members_(std::move(members)), prefix_(std::move(prefix)) {}

  /// torch.save has folders in one folder, and no deeper.
  result<void> copy(const zip_writer& to, const store_key& from, const store_key& at,
                    int levels = 3) const {
    if (levels == 0) return error{errc::corrupt, "its folders are too deep"};
    ZARRPOINT_TRY(entries, members_.list(from));
    for (const list_entry& entry : entries) {
      if (from == prefix_ && entry.name == pickle_name) continue;
      ZARRPOINT_TRY(old_key, from.child(entry.name));
      ZARRPOINT_TRY(new_key, at.child(entry.name));
      if (entry.is_prefix) {
        ZARRPOINT_CHECK(copy(to, old_key, new_key, levels - 1));
        continue;
      }
      ZARRPOINT_TRY(bytes, get(members_, old_key, SIZE_MAX));
      if (bytes) ZARRPOINT_CHECK(to.put(new_key, *bytes));
    }
    return {};
  }

  zip_store members_;
  store_key prefix_;
};

ZARRPOINT_INLINE result<bool> is_torch_file(bytes_view bytes) {
  ZARRPOINT_TRY(archive, torch_archive::open(bytes));
  return archive.has_value();
}

ZARRPOINT_INLINE std::optional<message> bare_bytes(const torch::pickle_value& object) {
  const bool is_empty = object.is_call_of("builtins", "bytes") &&
                        object.arguments().element_count() == 0 && object.state_count() == 0;
  if (object.kind() != torch::pickle_kind::bytes && !object.is_call_of("_codecs", "encode") &&
      !is_empty)
    return std::nullopt;
  auto bytes = torch::to_bytes(object);
  if (!bytes) return std::nullopt;
  const auto is_file = is_torch_file(*bytes);
  if (!is_file || *is_file) return std::nullopt;
  return *std::move(bytes);
}

ZARRPOINT_INLINE result<std::string> list_object(bytes_view object, std::string_view name) {
  const auto make = [&]() -> result<std::vector<std::byte>> {
    ZARRPOINT_TRY(archive, torch_archive::open(object));
    if (!archive) {
      torch::value::list list{torch::value(torch::value::bytes(object.begin(), object.end()))};
      const memory_store store;
      ZARRPOINT_TRY(key, store_key::parse("object"));
      ZARRPOINT_CHECK(torch::save(store, key, torch::value(std::move(list))));
      ZARRPOINT_TRY(made, get(store, key, SIZE_MAX));
      return *std::move(made);
    }
    ZARRPOINT_TRY(pickle, archive->pickle());
    ZARRPOINT_CHECK(torch::read_pickle(as_bytes(pickle)).transform([](const auto&) {}));
    return archive->with(listed_pickle(pickle));
  };
  auto made = make();
  if (!made) return std::move(made).failure().at("object " + zarrpoint::detail::in_quotes(name));
  return std::string(as_text(*made));
}

ZARRPOINT_INLINE result<message> unlist_object(std::unique_ptr<blob> file) {
  const std::string name = file->name();
  std::vector<std::byte> whole(static_cast<std::size_t>(file->size()));
  ZARRPOINT_CHECK(file->read(0, whole));
  const auto bytes =
      zarrpoint::detail::make_counted<const std::vector<std::byte>>(std::move(whole));
  const auto again = [&] { return std::make_unique<zarrpoint::detail::memory_blob>(bytes, name); };
  ZARRPOINT_TRY(opened, torch::open(again()));
  const error no_list{errc::corrupt, name + ": it is not the list of one object"};
  const torch::pickle_value list = opened.root();
  if (list.kind() != torch::pickle_kind::list || list.element_count() != 1) return no_list;
  if (auto bare = bare_bytes(list.element(0))) return *std::move(bare);
  ZARRPOINT_TRY(archive, torch_archive::open(again()).at(name));
  if (!archive) return no_list;
  ZARRPOINT_TRY(pickle, archive->pickle().at(name));
  const std::string object = unlisted_pickle(pickle);
  if (object.empty()) return no_list;
  return archive->with(object).at(name);
}

ZARRPOINT_INLINE result<void> check_common(const any_store& store, const backends& wrote) {
  if (wrote.common == "torch" && wrote.common_version == 1) return {};
  return error{errc::unsupported, store.describe(store_key::root()) +
                                      ": its common state is of backend (" + wrote.common + ", " +
                                      std::to_string(wrote.common_version) +
                                      "), not of (torch, 1)"};
}

ZARRPOINT_INLINE result<json> common_document(const any_store& store, const context& how) {
  ZARRPOINT_TRY(key, store_key::parse(common_file));
  ZARRPOINT_TRY(file, torch::open(store, key));
  ZARRPOINT_TRY(there, store.open(key));
  torch::pickle_node_limits limits{.max_depth = zarrpoint::detail::max_state_depth - 8};
  // Tensors become text of 4/3 of their bytes.
  if (there != nullptr)
    limits.max_text = std::max(limits.max_text, static_cast<std::size_t>(2 * there->size()));
  limits.max_text = std::min(limits.max_text, how.limit.memory);
  return torch::to_document(file, limits).at(std::string(common_file));
}

ZARRPOINT_INLINE result<json> read_common(const any_store& store, const context& how) {
  ZARRPOINT_TRY(wrote, read_metadata(store));
  ZARRPOINT_CHECK(check_common(store, wrote));
  return common_document(store, how);
}

}  // namespace detail

ZARRPOINT_INLINE result<directory> directory::open(const location& where, const context& how) {
  const auto missing = [&] {
    return error{errc::not_found, "Checkpoint directory " + where.name() + " does not exist"};
  };
  auto place = zarrpoint::detail::location_access::to_read(where, how.stores, how.limit.memory);
  if (!place) {
    if (place.failure().code == errc::not_found) return missing();
    return std::move(place).failure();
  }
  any_store root =
      place->key.is_root() ? place->store : any_store(prefix_store(place->store, place->key));
  auto wrote = detail::read_metadata(root);
  if (!wrote && wrote.failure().code == errc::not_found) {
    if (!zarrpoint::detail::may_exist(place->store, place->key)) return missing();
    return error{errc::not_found, where.name() + " is not a distributed checkpoint"};
  }
  if (!wrote) return std::move(wrote).failure();
  if (wrote->sharded != "zarr" || wrote->sharded_version != 1)
    return error{errc::unsupported,
                 where.name() + ": its tensors are of backend (" + wrote->sharded + ", " +
                     std::to_string(wrote->sharded_version) + "), not of (zarr, 1)"};
  return directory(std::move(root), *std::move(wrote), how);
}

ZARRPOINT_INLINE result<contents> directory::list() const {
  contents out;
  std::vector<store_key> open{store_key::root()};
  while (!open.empty()) {
    const store_key at = std::move(open.back());
    open.pop_back();
    if (std::count(at.str().begin(), at.str().end(), '/') > 64)
      return error{errc::resource_limit,
                   store_.describe(at) + ": it is nested deeper than 64 levels"};
    ZARRPOINT_TRY(entries, store_.list(at));
    for (const list_entry& entry : entries) {
      // What has no name that a store may have is nothing that Megatron-Core wrote.
      const auto child = at.child(entry.name);
      if (!child) continue;
      if (entry.is_prefix) {
        open.push_back(*child);
      } else if (!at.is_root()) {
        ZARRPOINT_CHECK(note(at, entry.name, out));
      }
    }
  }
  v0::detail::sort_names(out.tensors);
  v0::detail::sort_by(out.objects, [](const object_id& a, const object_id& b) {
    if (a.key != b.key) return a.key < b.key;
    return std::lexicographical_compare(a.offset.begin(), a.offset.end(), b.offset.begin(),
                                        b.offset.end());
  });
  complete_shapes(out.objects);
  return out;
}

ZARRPOINT_INLINE result<array> directory::tensor(std::string_view key) const {
  ZARRPOINT_TRY(folder, detail::tensor_key(key));
  auto opened = array::open(store_, folder, how_);
  if (!opened && opened.failure().code == errc::not_found)
    return error{errc::not_found, "Array " + store_.describe(folder) + " not found"};
  return opened;
}

ZARRPOINT_INLINE result<void> directory::read(std::string_view key, const selection& part,
                                              const mutable_host_view& into,
                                              read_options options) const {
  ZARRPOINT_TRY(from, tensor(key));
  if (from.metadata().fill.is_null()) options.missing = missing_chunks::error;
  return from.read(part, into, options);
}

ZARRPOINT_INLINE result<zarrpoint::tensor> directory::read(std::string_view key) const {
  ZARRPOINT_TRY(from, tensor(key));
  read_options options;
  if (from.metadata().fill.is_null()) options.missing = missing_chunks::error;
  return from.read(selection(box::whole(from.metadata().shape)), options);
}

ZARRPOINT_INLINE result<torch::file> directory::object(const object_id& of) const {
  ZARRPOINT_TRY(key, store_key::parse(unique_key(of) + ".pt"));
  ZARRPOINT_TRY(there, store_.open(key));
  if (there == nullptr && of.shape.rank() != 0) {
    object_id old = of;
    old.shape = dims(std::span<const index_t>(of.shape).first(of.shape.rank() - 1));
    ZARRPOINT_TRY(old_key, store_key::parse(unique_key(old) + ".pt"));
    ZARRPOINT_TRY(old_file, store_.open(old_key));
    if (old_file != nullptr) return torch::open(std::move(old_file));
  }
  if (there == nullptr)
    return error{errc::not_found, "Object " + store_.describe(key) + " not found"};
  return torch::open(std::move(there));
}

ZARRPOINT_INLINE result<torch::file> directory::common() const {
  ZARRPOINT_CHECK(detail::check_common(store_, backends_));
  ZARRPOINT_TRY(key, store_key::parse(detail::common_file));
  return torch::open(store_, key);
}

ZARRPOINT_INLINE result<json> directory::common_json() const {
  ZARRPOINT_CHECK(detail::check_common(store_, backends_));
  return detail::common_document(store_, how_);
}

ZARRPOINT_INLINE result<void> directory::note(const store_key& folder, const std::string& name,
                                              contents& out) const {
  if (name == ".zarray") {
    if (folder.name().ends_with(".sync")) {
      ZARRPOINT_TRY(key, folder.child(name));
      ZARRPOINT_TRY(document, store_.open(key));
      if (document == nullptr || document->size() == 0) return {};  // a lock
    }
    out.tensors.emplace_back(folder.str());
  } else if (name.ends_with(".pt")) {
    const std::string file = std::string(folder.str()) + '/' + name;
    if (auto id = parse_unique_key(std::string_view(file).substr(0, file.size() - 3)))
      out.objects.push_back(*std::move(id));
  }
  return {};
}

ZARRPOINT_INLINE void directory::complete_shapes(std::vector<object_id>& objects) {
  std::map<std::string_view, index_t> extents;
  for (const object_id& one : objects) {
    if (one.offset.rank() == 0) continue;
    index_t& extent = extents[one.key];
    extent = std::max(extent, one.offset.back());
  }
  for (object_id& one : objects)
    if (const index_t last = extents[one.key];
        one.shape.rank() < one.offset.rank() && last < INT64_MAX)
      one.shape.push_back(last + 1);
}

}  // namespace megatron
}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------- megatron_strategies.hpp

namespace megatron {

ZARRPOINT_INLINE result<array_metadata> saver::layout(const save_job& job,
                                                      const planned_tensor& tensor) const {
  if (!tensor.grid.edges.empty())
    return error{
        errc::unsupported,
        "the shards have different shapes, but Megatron-Core's layout needs chunks of one shape"};
  ZARRPOINT_TRY(type, detail::stored_type(job, tensor));
  const detail::tensor_layout out{{type, tensor.grid.shape}, tensor.grid.cell_shape};
  ZARRPOINT_CHECK(detail::check_attributes(job));
  ZARRPOINT_CHECK(detail::check_rules(job, {type, out.chunk_shape}, tensor.key));
  return detail::to_metadata(out);
}

ZARRPOINT_INLINE result<message> saver::write(const save_job& job, const shard_writes& mine) const {
  const context how = with_scratch(job.how);
  for (const array_writes& one : mine.arrays) {
    if (one.puts_document)
      ZARRPOINT_CHECK(
          detail::put_array_document(job.store, one.array->tensor.key, layout_of(*one.array)));
  }
  ZARRPOINT_TRY(digests, zarrpoint::detail::write_cells(
                             how, mine, [&](const zarrpoint::detail::cell_job& cell) {
                               return write_cell(job, cell);
                             }));
  for (const sharded_object& object : mine.objects) {
    ZARRPOINT_CHECK(write_object(job, object).at("save object \"" + object.unique_key() + "\""));
    digests[object.key()].set(object.unique_key(),
                              {object.bytes().size(), {crc32c(object.bytes())}});
  }
  return zarrpoint::detail::encode_digests(digests);
}

ZARRPOINT_INLINE result<void> saver::finish(const save_job& job, const save_receipts& all) const {
  ZARRPOINT_CHECK(detail::check_attributes(job));  // of a save without tensors
  const auto name_of = [](const zarrpoint::object_id& id) { return zarrpoint::unique_key(id); };
  ZARRPOINT_CHECK(
      zarrpoint::detail::read_receipts(all, false, name_of).transform([](const auto&) {}));
  return detail::write_metadata(job.store, {.sharded = std::string(backend),
                                            .sharded_version = version,
                                            .common = all.common_strategy.backend,
                                            .common_version = all.common_strategy.version});
}

ZARRPOINT_INLINE result<bool> saver::is_checkpoint(const any_store& root) const {
  const auto wrote = detail::read_metadata(root);
  if (wrote) return *wrote == backends{};
  const errc code = wrote.failure().code;
  if (code == errc::not_found || code == errc::corrupt) return false;
  return wrote.failure();
}

ZARRPOINT_INLINE result<std::vector<std::string>> saver::paths_of(const any_store& root) const {
  ZARRPOINT_TRY(from, directory::open(location(root)));
  ZARRPOINT_TRY(there, from.list());
  std::vector<std::string> out{std::string(detail::metadata_file),
                               std::string(detail::common_file)};
  for (const std::string& key : there.tensors) {
    out.push_back(key);
    out.push_back(key + ".sync");
  }
  for (const megatron::object_id& one : there.objects) {
    out.push_back(megatron::unique_key(one) + ".pt");
    // Old versions named the last extent in the ending, see `parse_unique_key`.
    if (one.shape.rank() == 0) continue;
    megatron::object_id old = one;
    old.shape = dims(std::span<const index_t>(one.shape).first(one.shape.rank() - 1));
    out.push_back(megatron::unique_key(old) + ".pt");
  }
  return out;
}

ZARRPOINT_INLINE detail::tensor_layout saver::layout_of(const planned_array& array) {
  const planned_tensor& tensor = array.tensor;
  return {{array.metadata.type, tensor.grid.shape}, tensor.grid.cell_shape};
}

ZARRPOINT_INLINE result<void> saver::write_cell(const save_job& job,
                                                const zarrpoint::detail::cell_job& cell) {
  const planned_array& array = cell.array;
  ZARRPOINT_TRY(key, detail::tensor_key(array.tensor.key));
  ZARRPOINT_TRY(metadata, detail::to_metadata(layout_of(array)));
  ZARRPOINT_TRY(target, zarrpoint::array::from_metadata(job.store, key, metadata, cell.how));
  // Megatron-Core stores chunks of zeros, too.
  return cell.write_to(target, {.elide_fill = false, .cast = true});
}

ZARRPOINT_INLINE result<void> saver::write_object(const save_job& job,
                                                  const sharded_object& object) {
  ZARRPOINT_TRY(is_file, detail::is_torch_file(object.bytes()));
  if (is_file) {
    ZARRPOINT_TRY(key, store_key::parse(object.unique_key() + ".pt"));
    return job.store.put(key, object.bytes());
  }
  const bytes_view bytes = object.bytes();
  return detail::put_object(job.store, object.unique_key(),
                            torch::value(torch::value::bytes(bytes.begin(), bytes.end())));
}

}  // namespace megatron

namespace megatron { namespace detail {

/// The sharded part of a directory of Megatron-Core's.
class shards_of_directory final : public sharded_reader {
 public:
  shards_of_directory(directory of, load_options options)
      : directory_(std::move(of)), options_(std::move(options)) {}

  result<void> read_contents() {
    ZARRPOINT_TRY(there, directory_.list());
    for (const std::string& key : there.tensors) {
      ZARRPOINT_TRY(from, directory_.tensor(key));
      tensors_.push_back({key, from.spec(), from.metadata().chunk_shape});
    }
    for (const megatron::object_id& one : there.objects) {
      if (!objects_.empty() && objects_.back().key == one.key) continue;
      objects_.push_back({one.key, one.shape, dims(one.shape.rank(), 0)});
    }
    return {};
  }

  std::span<const stored_tensor> tensors() const override { return tensors_; }
  std::span<const zarrpoint::object_id> objects() const override { return objects_; }

  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    read_options how{.cast = options_.cast};
    if (!options_.allow_missing_chunks) how.missing = missing_chunks::error;
    return directory_.read(key, part, into, how);
  }

  /// Bytes that were pickled, or the whole file of any other value.
  result<message> read_object(const zarrpoint::object_id& id) const override {
    if (const auto* at = zarrpoint::detail::find_by_key(objects(), id.key)) {
      ZARRPOINT_TRY(wanted, sharded_object::request(id));
      ZARRPOINT_CHECK(wanted.check_same_grid(at->global_shape));
    }
    ZARRPOINT_TRY(file, directory_.object({id.key, id.global_offset, id.global_shape}));
    if (auto bare = detail::bare_bytes(file.root())) return *std::move(bare);
    ZARRPOINT_TRY(key, store_key::parse(zarrpoint::unique_key(id) + ".pt"));
    ZARRPOINT_TRY(whole, get(directory_.store(), key, SIZE_MAX));
    if (!whole)
      return error{errc::not_found, "object " + zarrpoint::unique_key(id) + " is not stored"};
    return message(whole->begin(), whole->end());
  }

  result<std::vector<std::string>> remove(const any_store& store,
                                          std::string_view prefix) const override {
    std::vector<std::string> out;
    for (const stored_tensor& one : tensors_) {
      if (one.key.starts_with(prefix)) out.push_back(one.key);
    }
    for (const zarrpoint::object_id& one : objects_) {
      if (one.key.starts_with(prefix)) out.push_back(one.key);
    }
    v0::detail::sort_names(out);
    for (const std::string& key : out) {
      ZARRPOINT_TRY(at, store_key::parse(key));
      ZARRPOINT_CHECK(store.erase_all(at));
      ZARRPOINT_TRY(lock, store_key::parse(key + ".sync"));
      ZARRPOINT_CHECK(store.erase_all(lock));
    }
    return out;
  }

 private:
  directory directory_;
  load_options options_;
  std::vector<stored_tensor> tensors_;
  std::vector<zarrpoint::object_id> objects_;
};

}}  // namespace megatron::detail

namespace megatron {

ZARRPOINT_INLINE result<std::shared_ptr<sharded_reader>> loader::open(const load_job& job) const {
  ZARRPOINT_TRY(opened, directory::open(location(job.store), job.how));
  auto out = v0::detail::make_counted<detail::shards_of_directory>(std::move(opened), job.options);
  ZARRPOINT_CHECK(out->read_contents());
  return std::shared_ptr<sharded_reader>(std::move(out));
}

ZARRPOINT_INLINE result<std::vector<leaf_record>> common_saver::save_common(
    const save_job& job, const json& common) const {
  ZARRPOINT_TRY(values, torch::detail::document_value(common).at(detail::common_file));
  ZARRPOINT_CHECK(detail::write_common(job.store, values));
  return std::vector<leaf_record>{};
}

}  // namespace megatron

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/megatron/torch_dist_bodies.hpp>
#endif
