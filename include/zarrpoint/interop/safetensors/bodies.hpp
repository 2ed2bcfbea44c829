// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <tuple>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------- safetensors_header.hpp

namespace safetensors { namespace detail {

ZARRPOINT_INLINE std::string tensor_context(std::string_view name) {
  return "tensor " + in_quotes(name);
}

ZARRPOINT_INLINE error broken(std::string message) { return {errc::corrupt, std::move(message)}; }

ZARRPOINT_INLINE result<dims> parse_shape(const json& value) {
  const json::array* extents = value.if_array();
  if (extents == nullptr) return broken("\"shape\" is not an array");
  if (extents->size() > max_rank)
    return error{errc::unsupported, std::to_string(extents->size()) +
                                        " dimensions are more than the limit of " +
                                        std::to_string(max_rank)};
  dims shape;
  for (const json& extent : *extents) {
    const std::optional<std::int64_t> length = extent.to_int64();
    if (!length || *length < 0) return broken("\"shape\" holds something other than lengths");
    shape.push_back(*length);
  }
  return shape;
}

ZARRPOINT_INLINE result<tensor_info> parse_tensor(const json::member& entry) {
  const json::object* members = entry.value.if_object();
  if (members == nullptr) return broken("its description is not an object");
  for (const json::member& each : *members) {
    // What a member of a later version of the format means cannot be guessed.
    if (each.key != "dtype" && each.key != "shape" && each.key != "data_offsets")
      return error{errc::unsupported,
                   "its description has the unknown member " + in_quotes(each.key)};
  }
  const std::string* type = entry.value.find_string("dtype");
  const json* shape = entry.value.find("shape");
  const json::array* range = entry.value.find_array("data_offsets");
  if (type == nullptr) return broken("no \"dtype\" that is a string");
  if (shape == nullptr) return broken("no \"shape\"");
  if (range == nullptr || range->size() != 2) return broken("no \"data_offsets\" of two numbers");
  const std::optional<std::uint64_t> begin = (*range)[0].to_uint64();
  const std::optional<std::uint64_t> end = (*range)[1].to_uint64();
  if (!begin || !end || *end < *begin) return broken("\"data_offsets\" are not a range");

  const std::optional<dtype> known = dtype_named(*type);
  ZARRPOINT_TRY(extents, parse_shape(*shape));
  // A dtype of a later version of the format: the other tensors can be read all the same.
  tensor_info out{entry.key, {known.value_or(dtype()), extents}, *begin, *end - *begin, {}};
  if (known) {
    ZARRPOINT_TRY(bytes, stored_byte_count(out.spec));
    if (bytes != out.bytes)
      return broken(std::to_string(out.bytes) + " bytes are stored, but " + std::to_string(bytes) +
                    " are needed for " + to_string(out.spec));
  } else {
    out.stored_type = *type;
  }
  return out;
}

ZARRPOINT_INLINE result<metadata_map> parse_metadata(const json& value) {
  metadata_map out;
  if (value.is_null()) return out;  // serde's spelling of none
  const json::object* members = value.if_object();
  if (members == nullptr) return broken("\"__metadata__\" is not an object");
  for (const json::member& each : *members) {
    const std::string* text = each.value.if_string();
    if (text == nullptr)
      return broken("\"__metadata__\": the value of " + in_quotes(each.key) + " is not a string");
    out.emplace(each.key, *text);
  }
  return out;
}

ZARRPOINT_INLINE result<header> parse_header(bytes_view text, std::uint64_t data_bytes) {
  if (text.empty() || text.front() != std::byte{'{'})
    return detail::broken("the header does not begin with {");
  ZARRPOINT_TRY(document, parse_json(text, {.max_bytes = max_header_bytes,
                                            .max_nodes = 4'000'000,
                                            .allow_nan_literals = false})
                              .at("header"));
  const json::object* members = document.if_object();
  if (members == nullptr) return detail::broken("the header is not a JSON object");

  header out;
  out.tensors.reserve(members->size());
  for (const json::member& each : *members) {
    if (each.key == "__metadata__") {
      ZARRPOINT_TRY(metadata, detail::parse_metadata(each.value));
      out.metadata = std::move(metadata);
    } else {
      result<tensor_info> tensor = detail::parse_tensor(each);
      if (!tensor) return std::move(tensor).failure().at(detail::tensor_context(each.key));
      out.tensors.push_back(*std::move(tensor));
    }
  }
  // An empty tensor shares its offset with the one behind it, so lengths count as well.
  v0::detail::sort_by(out.tensors, [](const tensor_info& a, const tensor_info& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  std::uint64_t end = 0;
  for (const tensor_info& each : out.tensors) {
    if (each.offset != end)
      return detail::broken(detail::tensor_context(each.name) + ": begins at " +
                            std::to_string(each.offset) +
                            (each.offset < end ? " inside" : " beyond") +
                            " the data before it, which ends at " + std::to_string(end));
    if (each.bytes > data_bytes - end)
      return detail::broken(detail::tensor_context(each.name) + ": ends at " +
                            std::to_string(each.offset + each.bytes) + ", beyond the file's " +
                            std::to_string(data_bytes) + " bytes of data");
    end += each.bytes;
  }
  if (end != data_bytes)
    return detail::broken(std::to_string(data_bytes - end) + " bytes after the last tensor");
  return out;
}

ZARRPOINT_INLINE result<std::string> dump_header(const header& from) {
  const auto check_text = [](std::string_view text, std::string_view what) -> result<void> {
    if (is_utf8(text)) return {};
    return error{errc::invalid_argument,
                 std::string(what) + ' ' + detail::in_quotes(text) + " is not UTF-8"};
  };
  json::object members;
  members.reserve(from.tensors.size() + 1);
  if (!from.metadata.empty()) {
    json::object texts;
    for (const auto& [key, value] : from.metadata) {
      ZARRPOINT_CHECK(check_text(key, "metadata key"));
      ZARRPOINT_CHECK(check_text(value, "metadata value"));
      texts.push_back({key, value});
    }
    members.push_back({"__metadata__", std::move(texts)});
  }
  std::vector<std::string_view> names;
  for (const tensor_info& each : from.tensors) {
    ZARRPOINT_CHECK(check_text(each.name, "tensor name"));
    if (each.name == "__metadata__")
      return error{errc::invalid_argument, "tensor name \"__metadata__\" is reserved"};
    names.push_back(each.name);
    const std::optional<std::string_view> type = dtype_name(each.spec.type);
    if (!type)
      return error{errc::unsupported, detail::tensor_context(each.name) +
                                          ": safetensors has no dtype " +
                                          std::string(to_string(each.spec.type))};
    json::array shape;
    for (const index_t extent : each.spec.shape) shape.emplace_back(extent);
    json::array offsets{each.offset, each.offset + each.bytes};
    members.push_back({each.name, json::object{{"dtype", *type},
                                               {"shape", std::move(shape)},
                                               {"data_offsets", std::move(offsets)}}});
  }
  v0::detail::sort_names(names);
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return error{errc::invalid_argument,
                 "tensor name " + detail::in_quotes(*twice) + " is there twice"};

  std::string text(8, '\0');
  text += dump_json(std::move(members));
  text.append((data_alignment - text.size() % data_alignment) % data_alignment, ' ');
  const std::uint64_t length = text.size() - 8;
  if (length > max_header_bytes)
    return error{errc::resource_limit, "a header of " + std::to_string(length) +
                                           " bytes is more than the format's limit of " +
                                           std::to_string(max_header_bytes)};
  store_le<std::uint64_t>(reinterpret_cast<std::byte*>(text.data()), length);
  return text;
}

}}  // namespace safetensors::detail

// --------------------------------------------------------------------------------- safetensors.hpp

namespace safetensors { namespace detail {

ZARRPOINT_INLINE result<void> check_elements(bytes_view data, dtype type) {
  return type == dtype_kind::bool_ ? v0::detail::check_bools(data) : result<void>();
}

ZARRPOINT_INLINE result<read_file_header> read_header(const blob& source, std::uint64_t most) {
  const std::uint64_t size = source.size();
  std::byte prefix[8];
  if (size < sizeof prefix)
    return broken(std::to_string(size) + " bytes are too few for a safetensors file");
  ZARRPOINT_CHECK(source.read(0, prefix));
  const std::uint64_t length = load_le<std::uint64_t>(prefix);
  if (as_text(bytes_view(prefix)) == "version ")
    return error{errc::corrupt, "a Git LFS pointer, not the file; `git lfs pull` fetches it"};
  if (length > max_header_bytes)
    return broken("a header of " + std::to_string(length) +
                  " bytes is more than the format's limit of " + std::to_string(max_header_bytes));
  if (length > size - sizeof prefix)
    return broken("a header of " + std::to_string(length) + " bytes does not fit in a file of " +
                  std::to_string(size));
  if (length > most)
    return error{errc::resource_limit, "a header of " + std::to_string(length) +
                                           " bytes is more than limits::memory has room for"};
  ZARRPOINT_TRY(text, buffer::allocate(static_cast<std::size_t>(length)));
  ZARRPOINT_CHECK(source.read(sizeof prefix, mutable_bytes(text.data(), text.size())));
  const std::uint64_t data_offset = sizeof prefix + length;
  ZARRPOINT_TRY(checked, parse_header(text.bytes(), size - data_offset));
  return read_file_header{std::move(checked), data_offset};
}

ZARRPOINT_INLINE result<place> locate(std::string_view path, const file_store_options& how) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);  // npos + 1 == 0
  const std::string_view directory = slash == std::string_view::npos ? "."
                                     : slash == 0                    ? "/"
                                                                     : path.substr(0, slash);
  ZARRPOINT_TRY(key, store_key::parse(name));
  if (key.is_root())
    return error{errc::invalid_argument, "\"" + std::string(path) + "\" does not name a file"};
  ZARRPOINT_TRY(store, file_store::open(directory, how));
  return place{std::move(store), std::move(key)};
}

}}  // namespace safetensors::detail

namespace safetensors {

ZARRPOINT_INLINE std::vector<std::string> file::names() const {
  std::vector<std::string> out;
  out.reserve(header_.tensors.size());
  for (const tensor_info& each : header_.tensors) out.push_back(each.name);
  return out;
}

ZARRPOINT_INLINE result<tensor_spec> file::spec(std::string_view name) const {
  ZARRPOINT_TRY(tensor, get(name));
  return tensor->spec;
}

ZARRPOINT_INLINE result<host_view> file::view(std::string_view name) const {
  ZARRPOINT_TRY(tensor, get(name));
  return view_of(*tensor).at(context(name));
}

ZARRPOINT_INLINE result<void> file::read(std::string_view name,
                                         const mutable_host_view& into) const {
  ZARRPOINT_TRY(tensor, get(name));
  return read_into(*tensor, into).at(context(name));
}

ZARRPOINT_INLINE file::file(std::shared_ptr<const blob> source, header checked,
                            std::uint64_t data_offset)
    : source_(std::move(source)),
      header_(std::move(checked)),
      data_offset_(data_offset),
      by_name_(header_.tensors.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  v0::detail::sort_by_text(
      by_name_, [this](std::size_t i) -> std::string_view { return header_.tensors[i].name; });
  // A store that cannot map says so again when a view is asked for.
  if (result<mapping> mapped = source_->map(); mapped && mapped->bytes().size() == source_->size())
    mapping_ = *std::move(mapped);
}

ZARRPOINT_INLINE const tensor_info* file::find(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](std::size_t i, std::string_view key) { return header_.tensors[i].name < key; });
  if (at == by_name_.end() || header_.tensors[*at].name != name) return nullptr;
  return &header_.tensors[*at];
}

ZARRPOINT_INLINE result<const tensor_info*> file::get(std::string_view name) const {
  if (const tensor_info* tensor = find(name)) {
    if (tensor->spec.type.valid()) return tensor;
    return error{errc::unsupported, context(name) + ": the dtype " +
                                        v0::detail::in_quotes(tensor->stored_type) +
                                        " is not known to this version"};
  }
  return error{errc::not_found, context(name) + ": the file has no tensor of that name"};
}

ZARRPOINT_INLINE result<host_view> file::view_of(const tensor_info& tensor) const {
  if (tensor.spec.type.is_below_byte())
    return error{errc::unsupported, "the file packs its elements of " +
                                        std::to_string(tensor.spec.type.bits()) +
                                        " bits, so it cannot be viewed"};
  if (mapping_.bytes().empty()) return error{errc::unsupported, "the store cannot map it"};
  const bytes_view data =
      mapping_.bytes().subspan(static_cast<std::size_t>(data_offset_ + tensor.offset),
                               static_cast<std::size_t>(tensor.bytes));
  const std::size_t unit = tensor.spec.type.scalar_size();
  if (data.empty()) return dense_view(mapping_.bytes().data(), tensor.spec);
  if (reinterpret_cast<std::uintptr_t>(data.data()) % unit != 0)
    return error{errc::unsupported, "the file does not align its elements of " +
                                        std::to_string(unit) + " bytes, so it cannot be viewed"};
  ZARRPOINT_CHECK(detail::check_elements(data, tensor.spec.type));
  return dense_view(data.data(), tensor.spec);
}

ZARRPOINT_INLINE result<void> file::read_into(const tensor_info& tensor,
                                              const mutable_host_view& into) const {
  if (into.type != tensor.spec.type)
    return error{errc::dtype_mismatch, std::string(to_string(tensor.spec.type)) +
                                           " cannot be read as " +
                                           std::string(to_string(into.type))};
  if (into.shape != tensor.spec.shape)
    return error{errc::shape_mismatch, "shape " + to_string(tensor.spec.shape) +
                                           " cannot be read as " + to_string(into.shape)};
  const std::uint64_t first = data_offset_ + tensor.offset;
  const dtype type = tensor.spec.type;
  if (is_dense(into) && !type.is_below_byte()) {
    const mutable_bytes target(into.data, static_cast<std::size_t>(tensor.bytes));
    if (target.empty()) return {};
    ZARRPOINT_CHECK(source_->read(first, target));
    return detail::check_elements(target, tensor.spec.type);
  }
  ZARRPOINT_TRY(scratch, buffer::allocate(detail::block_bytes));
  return detail::for_each_block(
      into, 0, [&](const mutable_host_view& part, std::uint64_t offset) -> result<void> {
        ZARRPOINT_TRY(bytes, byte_count(part.spec()));
        const mutable_bytes block(scratch.data(), bytes);
        ZARRPOINT_CHECK(type.is_below_byte()
                            ? detail::read_packed(*source_, first, type, offset, block)
                            : source_->read(first + offset, block));
        ZARRPOINT_CHECK(detail::check_elements(block, part.type));
        copy_elements(part, dense_view(static_cast<const std::byte*>(scratch.data()), part.spec()));
        return {};
      });
}

ZARRPOINT_INLINE result<file> open(const any_store& store, const store_key& key) {
  ZARRPOINT_TRY(opened, v0::detail::open_existing(store, key));
  const std::shared_ptr<const blob> source = std::move(opened);
  ZARRPOINT_TRY(read, detail::read_header(*source).at(source->name()));
  return file(source, std::move(read.checked), read.data_offset);
}

ZARRPOINT_INLINE result<file> open(std::string_view path) {
  // The store follows no links, but the caches that models are downloaded to are made of them.
  const std::unique_ptr<char, decltype(&std::free)> resolved(
      ::realpath(std::string(path).c_str(), nullptr), &std::free);
  if (resolved == nullptr) {
    const int code = errno;
    return error{code == ENOENT || code == ENOTDIR ? errc::not_found : errc::io,
                 "open " + std::string(path) + ": " + std::generic_category().message(code)};
  }
  ZARRPOINT_TRY(place, detail::locate(resolved.get(), {.read_only = true}));
  return open(place.store, place.key);
}

namespace detail {

/// Elements behind one another, from `first` on.
ZARRPOINT_INLINE result<void> write_tensor(blob_writer& to, std::uint64_t first,
                                           const host_view& view, buffer& scratch) {
  ZARRPOINT_TRY(count, byte_count(view.spec()));
  const bool is_packed = view.type.is_below_byte();
  if (count == 0) return {};
  if (is_dense(view) && !is_packed)
    return to.write_once(first, 0, {view.data, static_cast<std::size_t>(count)});
  if (scratch.empty()) {
    ZARRPOINT_TRY(made, buffer::allocate(block_bytes));
    scratch = std::move(made);
  }
  packer packed(view.type);
  return for_each_block(view, 0, [&](const host_view& part, std::uint64_t offset) -> result<void> {
    ZARRPOINT_TRY(bytes, byte_count(part.spec()));
    copy_elements(dense_view(scratch.data(), part.spec()), part);
    const bytes_view elements(scratch.data(), bytes);
    if (!is_packed) return to.write_once(first + offset, 0, elements);
    const std::vector<std::byte> full = packed.add(elements);
    ZARRPOINT_CHECK(to.write_once(first, 0, full));
    first += full.size();
    return {};
  });
}

ZARRPOINT_INLINE result<void> write_tensors(const any_store& store, const store_key& key,
                                            std::span<const tensor_to_write> tensors,
                                            const metadata_map& metadata) {
  std::vector<const tensor_to_write*> order;
  order.reserve(tensors.size());
  for (const tensor_to_write& each : tensors) order.push_back(&each);
  v0::detail::sort_by(order, [](const tensor_to_write* a, const tensor_to_write* b) {
    return a->spec.type.size() > b->spec.type.size();
  });

  header plan{{}, metadata};
  plan.tensors.reserve(order.size());
  std::uint64_t end = 0;
  for (const tensor_to_write* each : order) {
    ZARRPOINT_TRY(bytes, stored_byte_count(each->spec).at(tensor_context(each->name)));
    plan.tensors.push_back({each->name, each->spec, end, bytes, {}});
    ZARRPOINT_TRY(next, checked_add<std::uint64_t>(end, bytes));
    end = next;
  }
  ZARRPOINT_TRY(preamble, dump_header(plan).at("save " + store.describe(key)));

  ZARRPOINT_TRY(writer, store.create(key));
  ZARRPOINT_CHECK(writer->reserve(preamble.size() + end));
  ZARRPOINT_CHECK(writer->write_once(0, 0, as_bytes(preamble)));
  buffer scratch;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ZARRPOINT_TRY(elements, order[i]->stage().at(tensor_context(order[i]->name)));
    if (elements.view.spec() != order[i]->spec)
      return error{errc::invalid_argument, "it is " + to_string(elements.view.spec()) +
                                               ", and was " + to_string(order[i]->spec) +
                                               " when the save began"}
          .at(tensor_context(order[i]->name));
    ZARRPOINT_CHECK(
        write_tensor(*writer, preamble.size() + plan.tensors[i].offset, elements.view, scratch));
  }
  return writer->finish();
}

ZARRPOINT_INLINE std::vector<tensor_to_write> views_to_write(std::span<const named_view> views) {
  std::vector<tensor_to_write> out;
  out.reserve(views.size());
  for (const named_view& each : views)
    out.push_back({each.name, each.view.spec(), [view = each.view]() -> result<staged> {
                     return staged{view, {}};
                   }});
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> save(const any_store& store, const store_key& key,
                                   std::span<const named_view> tensors,
                                   const metadata_map& metadata) {
  return detail::write_tensors(store, key, detail::views_to_write(tensors), metadata);
}

ZARRPOINT_INLINE result<void> save(std::string_view path, std::span<const named_view> tensors,
                                   const metadata_map& metadata) {
  ZARRPOINT_TRY(place, detail::locate(path, {.sync = true}));
  return save(place.store, place.key, tensors, metadata);
}

// --------------------------------------------------------------------------- safetensors_files.hpp

namespace detail {

ZARRPOINT_INLINE result<std::optional<v0::detail::weight_index>> index_in(const any_store& store,
                                                                          const store_key& at) {
  ZARRPOINT_TRY(key, at.child(files_index));
  return v0::detail::read_weight_index(store, key);
}

ZARRPOINT_INLINE std::vector<std::size_t> divide_by_size(std::span<const std::uint64_t> bytes,
                                                         std::uint64_t most) {
  std::vector<std::size_t> out;
  out.reserve(bytes.size());
  std::size_t file = 0;
  std::uint64_t held = 0;
  bool is_empty = true;
  for (const std::uint64_t each : bytes) {
    if (!is_empty && (held > most || each > most - held)) {
      ++file;
      held = 0;
    }
    held = checked_add(held, each).value_or(UINT64_MAX);
    is_empty = false;
    out.push_back(file);
  }
  return out;
}

ZARRPOINT_INLINE std::string name_of_file(std::size_t file, std::size_t count) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "model-%05zu-of-%05zu.safetensors", file + 1, count);
  return text.data();
}

ZARRPOINT_INLINE std::string index_document(json::object file_of, std::uint64_t total) {
  return dump_json(json::object{{"metadata", json::object{{"total_size", total}}},
                                {"weight_map", std::move(file_of)}});
}

ZARRPOINT_INLINE result<void> check_names(const files_plan& plan) {
  std::vector<std::string_view> sorted(plan.names.begin(), plan.names.end());
  v0::detail::sort_names(sorted);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return {};
  return error{errc::invalid_argument,
               "two tensors have the name " + v0::detail::in_quotes(std::string(*twice))};
}

ZARRPOINT_INLINE result<std::vector<std::string>> files_of(const any_store& root) {
  ZARRPOINT_TRY(index, index_in(root, store_key::root()));
  std::vector<std::string> out;
  if (!index) return out;
  out = index->files();
  out.emplace_back(files_index);
  v0::detail::sort_names(out);
  return out;
}

ZARRPOINT_INLINE result<v0::detail::own_look> look_for_model(const any_store& root) {
  const auto other = [](std::string what) {
    return v0::detail::own_look{false, "a safetensors model " + std::move(what)};
  };
  const auto files = files_of(root);
  if (!files && files.failure().code == errc::corrupt)
    return other("whose index is damaged (" + files.failure().message + ")");
  if (!files) return files.failure();
  for (const std::string& name : *files) {
    const auto key = store_key::parse(name);
    const auto file = key ? root.open(*key) : result<std::unique_ptr<blob>>(key.failure());
    if (!file || *file == nullptr)
      return other("without " + v0::detail::in_quotes(name) + ", which its index names");
  }
  if (!files->empty()) return v0::detail::own_look{true};
  ZARRPOINT_TRY(key, store_key::parse("model.safetensors"));
  ZARRPOINT_TRY(file, root.open(key));
  if (file == nullptr) return v0::detail::own_look{};
  return other("in one file, not one in several with an index");
}

ZARRPOINT_INLINE result<save_report> write_files(const location& where, const files_plan& plan,
                                                 const save_options& how,
                                                 const file_writer_function& write) {
  const auto start = std::chrono::steady_clock::now();
  if (plan.max_file_bytes == 0)
    return error{errc::invalid_argument, "files of at most 0 bytes hold no tensor"};
  if (plan.names.empty())
    return error{errc::invalid_argument, "there is no tensor of which an index could tell"};
  ZARRPOINT_CHECK(check_names(plan));
  ZARRPOINT_TRY(at, v0::detail::location_access::to_write(where, how.sync));
  const v0::detail::replace_rule rule{where.name(), how.overwrite,
                                      "a safetensors model in several files",
                                      v0::detail::directory_kind::safetensors};
  ZARRPOINT_CHECK(v0::detail::check_replace(at, rule, look_for_model(v0::detail::beneath(at))));
  const std::vector<std::size_t> file_of = divide_by_size(plan.bytes, plan.max_file_bytes);
  const std::size_t count = file_of.back() + 1;
  save_report out;
  for (const std::uint64_t each : plan.bytes) {
    ZARRPOINT_TRY(total, checked_add(out.bytes, each));
    out.bytes = total;
  }
  ZARRPOINT_TRY(staged, v0::detail::stage(at, {.overwrite = how.overwrite, .sync = how.sync}));
  const any_store to = staged->store();
  for (std::size_t file = 0; file < count; ++file) {
    out.files.push_back(name_of_file(file, count));
    const auto [first, last] = std::equal_range(file_of.begin(), file_of.end(), file);
    ZARRPOINT_TRY(key, store_key::parse(out.files.back()));
    ZARRPOINT_CHECK(write(to, key,
                          {static_cast<std::size_t>(first - file_of.begin()),
                           static_cast<std::size_t>(last - first)})
                        .at(out.files.back()));
  }
  ZARRPOINT_TRY(index, store_key::parse(files_index));
  json::object map;
  map.reserve(plan.names.size());
  for (std::size_t i = 0; i < plan.names.size(); ++i)
    map.push_back({plan.names[i], out.files[file_of[i]]});
  ZARRPOINT_CHECK(to.put(index, as_bytes(index_document(std::move(map), out.bytes))));
  ZARRPOINT_CHECK(v0::detail::check_still(at, rule));
  std::optional<owned_paths> owned;
  if (how.overwrite) {  // also where nothing is listed: not all that others have is a key
    std::vector<std::string> taken = out.files;
    taken.emplace_back(files_index);
    v0::detail::sort_names(taken);
    ZARRPOINT_TRY(old, files_of(v0::detail::beneath(at)));
    owned = {std::move(old), std::move(taken)};
  }
  ZARRPOINT_CHECK(v0::detail::publish(*staged, owned, out));
  out.stored_bytes = out.bytes;
  out.seconds = out.blocked_seconds = v0::detail::seconds_since(start);
  return out;
}

/// Tensors in several files.
ZARRPOINT_INLINE result<save_report> write_model(const location& where,
                                                 std::span<const tensor_to_write> tensors,
                                                 const save_options& options, const format& as) {
  files_plan plan{{}, {}, as.max_file_bytes};
  for (const tensor_to_write& each : tensors) {
    ZARRPOINT_TRY(bytes, stored_byte_count(each.spec).at(tensor_context(each.name)));
    plan.names.push_back(each.name);
    plan.bytes.push_back(bytes);
  }
  return write_files(
      where, plan, options, [&](const any_store& to, const store_key& key, tensor_range of) {
        return write_tensors(to, key, tensors.subspan(of.first, of.count), as.metadata);
      });
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save_files(const location& where,
                                                std::span<const named_view> tensors,
                                                const save_options& options) {
  return guarded([&]() -> result<save_report> {
           ZARRPOINT_TRY(as, v0::detail::format_of<format>(options));
           const context& how = default_context();
           ZARRPOINT_TRY(warnings,
                         check_options({where, {}, {}, options, how}, "a safetensors file", {}));
           ZARRPOINT_TRY(out,
                         detail::write_model(where, detail::views_to_write(tensors), options, as));
           out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
           return std::move(out);
         })
      .at("save " + where.name());
}

// --------------------------------------------------------------------------- safetensors_store.hpp

namespace detail {

ZARRPOINT_INLINE result<void> save_one_file(const save_request& what,
                                            std::span<const tensor_to_write> tensors,
                                            const metadata_map& metadata) {
  const save_options& how = what.options;
  // What comes there while it is written is not replaced either.
  ZARRPOINT_TRY(at, v0::detail::location_access::to_write(what.where, how.sync, what.how.stores,
                                                          how.overwrite));
  const auto look = [&]() -> result<v0::detail::own_look> {
    auto file = at.store.open(at.key);
    if (!file || *file == nullptr) return v0::detail::own_look{};  // nothing, or a directory
    const auto own = tensor_store::open(*std::move(file));
    if (own) return v0::detail::own_look{true};
    return v0::detail::own_look{false, "not a safetensors file (" + own.failure().message + ")"};
  };
  ZARRPOINT_CHECK(v0::detail::check_replace(at,
                                            {.where = what.where.name(),
                                             .overwrite = how.overwrite,
                                             .name = "a safetensors file",
                                             .is_file = true},
                                            look()));
  return write_tensors(at.store, at.key, tensors, metadata);
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save_as(const format& as, const save_request& what) {
  const auto start = std::chrono::steady_clock::now();
  const std::string name = what.where.name();
  const auto run = [&]() -> result<save_report> {
    save_report out;
    ZARRPOINT_TRY(warnings, check_options(what, "a safetensors file", {}));
    for (const leaf& each : what.leaves) {
      if (each.typestr() == "string" || each.typestr() == "json")
        return error{errc::unsupported,
                     "leaf " + v0::detail::in_quotes(each.name()) +
                         ": a safetensors file holds tensors alone, and this is text; leave it "
                         "out, or give it as safetensors::format::metadata"};
      const auto described = [&]() -> result<void> {
        ZARRPOINT_TRY(spec, each.spec());
        ZARRPOINT_TRY(bytes, byte_count(spec));
        out.leaves.push_back({each.name(), std::move(spec), bytes, bytes});
        out.bytes += bytes;
        return {};
      };
      ZARRPOINT_CHECK(described().at("leaf " + v0::detail::in_quotes(each.name())));
    }
    progress_meter meter(&what.how.progress, "save", out.bytes);
    std::vector<detail::tensor_to_write> tensors;
    for (std::size_t i = 0; i < what.leaves.size(); ++i)
      tensors.push_back({out.leaves[i].name, out.leaves[i].stored,
                         [&, i, of = what.leaves[i]]() -> result<staged> {
                           if (what.how.stop.stop_requested())
                             return error{errc::cancelled, "stop was requested"};
                           const v0::detail::phase_scope stages(what.how.observer, phase::stage,
                                                                of.name(), out.leaves[i].bytes);
                           ZARRPOINT_TRY(elements, of.stage(v0::detail::resource_of(what.how)));
                           meter.add(of.name(), out.leaves[i].bytes);
                           return std::move(elements);
                         }});
    const v0::detail::phase_scope writes(what.how.observer, phase::write, name, out.bytes);
    if (name.ends_with(".safetensors")) {
      ZARRPOINT_CHECK(detail::save_one_file(what, tensors, as.metadata));
    } else {
      ZARRPOINT_TRY(at, v0::detail::location_access::to_write(what.where, what.options.sync,
                                                              what.how.stores));
      ZARRPOINT_TRY(files,
                    detail::write_model(location(at.store, at.key), tensors, what.options, as));
      out.kept = std::move(files.kept);
      out.files = std::move(files.files);
      out.warnings = std::move(files.warnings);
    }
    out.warnings.insert(out.warnings.begin(), warnings.begin(), warnings.end());
    return out;
  };
  ZARRPOINT_TRY(out, guarded(run).at("save " + name));
  out.stored_bytes = out.bytes;
  out.seconds = out.blocked_seconds = v0::detail::seconds_since(start);
  return std::move(out);
}

namespace detail {

using v0::detail::virtual_hierarchy;

/// What a header may have of a budget: each of its bytes makes some eight.
constexpr std::uint64_t header_bytes_within(std::uint64_t memory) noexcept {
  return memory / 8 + (std::uint64_t{16} << 10);
}

/// Where a tensor lies in its file.
struct tensor_place {
  std::shared_ptr<const v0::detail::container_file> file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  result<std::unique_ptr<blob>> operator()(std::string name) const {
    return v0::detail::make_owned<blob, v0::detail::range_blob>(file, offset, bytes,
                                                                std::move(name));
  }
};

ZARRPOINT_INLINE result<void> add_tensor(virtual_hierarchy& to, const tensor_info& of,
                                         tensor_place at) {
  if (!of.spec.type.valid()) {
    std::vector<virtual_hierarchy::chunk_opener> stored{std::move(at)};
    return to.add(of.name,
                  v0::detail::unread_entry{of.stored_type,
                                           "the dtype " + v0::detail::in_quotes(of.stored_type) +
                                               " is not known to this version",
                                           of.spec.shape},
                  std::move(stored));
  }
  const array_metadata as = v0::detail::raw_array(of.spec, endian::little);
  if (!of.spec.type.is_below_byte()) return to.add(of.name, as, std::move(at));
  ZARRPOINT_TRY(count, byte_count(of.spec));
  return to.add(of.name, as,
                [at = std::move(at), type = of.spec.type,
                 count](std::string name) -> result<std::unique_ptr<blob>> {
                  ZARRPOINT_TRY(packed, at(name));
                  return v0::detail::make_owned<blob, unpacked_blob>(std::move(packed), type, count,
                                                                     std::move(name));
                });
}

/// What is gathered from a file, or from those of an index.
struct read_files {
  std::uint64_t most = UINT64_MAX;                  ///< bytes of a header
  const v0::detail::weight_index* index = nullptr;  ///< of a model in several files
  json attributes{json::object{}};
  std::uint64_t total = 0;  ///< bytes of the tensors that the index takes

  result<void> add(const std::string& name, std::unique_ptr<blob> from, virtual_hierarchy& to) {
    ZARRPOINT_TRY(read, read_header(*from, most));
    if (index != nullptr && read.checked.metadata.contains(std::string(sharding_member)))
      return error{errc::unsupported,
                   "it has parts of tensors (DCP_SHARDING_INFO), which dcp::format joins; call "
                   "the index model.safetensors.index.json"};
    for (const auto& [key, value] : read.checked.metadata) attributes.set(key, value);
    const auto file = v0::detail::make_counted<const v0::detail::container_file>(std::move(from));
    for (const tensor_info& each : read.checked.tensors) {
      if (index != nullptr && index->is_in(each.name, name)) total += each.bytes;
      ZARRPOINT_CHECK(add_tensor(to, each, {file, read.data_offset + each.offset, each.bytes}));
    }
    return {};
  }
};

ZARRPOINT_INLINE result<void> add_model(virtual_hierarchy& to, const any_store& base,
                                        const store_key& at, read_files& read) {
  ZARRPOINT_TRY(model, v0::detail::model_files::at(base, at));
  read.index = &model.index;
  const auto add = [&](const std::string& name, std::unique_ptr<blob> from,
                       virtual_hierarchy& tree) { return read.add(name, std::move(from), tree); };
  ZARRPOINT_TRY(told, model.join(add, to));
  read.index = nullptr;
  const auto& size = model.index.total_size;
  if (size && *size != read.total)
    told.set("total_size", "total_size is " + std::to_string(*size) + ", the tensors have " +
                               std::to_string(read.total) + " bytes");
  if (!told.is_null())
    read.attributes.set(std::string(v0::detail::weight_map_member), std::move(told));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<tensor_store> tensor_store::open_model(const any_store& base,
                                                               const store_key& at,
                                                               std::uint64_t most) {
  const std::string name = base.describe(at);
  const auto read = [&]() -> result<tensor_store> {
    v0::detail::virtual_hierarchy tree;
    detail::read_files read{most, nullptr, json(json::object{}), 0};
    ZARRPOINT_CHECK(detail::add_model(tree, base, at, read));
    ZARRPOINT_CHECK(tree.finish(read.attributes));
    return tensor_store(std::move(tree), name);
  };
  return guarded(read).at("open " + name);
}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(any_store base, store_key at,
                                                         std::uint64_t most) {
  if (at.str().ends_with(".json")) return open_model(base, at, most);
  ZARRPOINT_TRY(file, v0::detail::open_existing(base, at));
  return open(std::move(file), most);
}

ZARRPOINT_INLINE result<tensor_store> tensor_store::open(std::unique_ptr<blob> file,
                                                         std::uint64_t most) {
  const std::string name = file->name();
  const auto read = [&]() -> result<tensor_store> {
    v0::detail::virtual_hierarchy tree;
    detail::read_files read{most, nullptr, json(json::object{}), 0};
    ZARRPOINT_CHECK(read.add({}, std::move(file), tree));
    ZARRPOINT_CHECK(tree.finish(read.attributes));
    return tensor_store(std::move(tree), name);
  };
  return guarded(read).at("open " + name);
}

namespace detail {

/// Whether `sharding_member` stands in a part of a file. A header may be larger than a budget, so
/// it is read in pieces, each with the end of the one before it.
ZARRPOINT_INLINE bool holds_text(const blob& file, std::uint64_t at, std::uint64_t end) {
  constexpr std::size_t shared = sharding_member.size() - 1;
  std::string text;
  while (at < end) {
    text.erase(0, text.size() - std::min(text.size(), shared));
    const std::size_t kept = text.size();
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, 64U << 10));
    text.resize(kept + some);
    if (!file.read(at, std::as_writable_bytes(std::span(text).subspan(kept)))) return false;
    if (text.find(sharding_member) != text.npos) return true;
    at += some;
  }
  return false;
}

ZARRPOINT_INLINE result<bool> has_parts(const any_store& store, const store_key& at) {
  if (!store.can_list()) return false;
  ZARRPOINT_TRY(entries, store.list(at));
  for (const list_entry& each : entries) {
    if (each.is_prefix || !each.name.ends_with(".safetensors")) continue;
    ZARRPOINT_TRY(key, at.child(each.name));
    const auto file = store.open(key);  // who reads it says what is wrong with it
    std::byte prefix[8];
    if (!file || *file == nullptr || (*file)->size() < sizeof prefix) continue;
    if (!(*file)->read(0, prefix)) continue;
    const std::uint64_t length = std::min(
        {load_le<std::uint64_t>(prefix), max_header_bytes, (*file)->size() - sizeof prefix});
    if (holds_text(**file, sizeof prefix, sizeof prefix + length)) return true;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (at.is_directory()) {
    // Of files with parts of tensors `dcp::format` is surer.
    ZARRPOINT_TRY(is_there, v0::detail::has_index(at, detail::files_index.data()));
    return is_there ? claim::plain : claim::none;
  }
  if (!at.is_file()) return claim::none;
  const std::string_view head = at.head();
  if (head.starts_with('{'))
    return at.place().ends_with(".safetensors.index.json") ? claim::plain : claim::none;
  const bool begins = head.size() > 8 && head[8] == '{';
  return begins || at.place().ends_with(".safetensors") ? claim::plain : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_TRY(place, v0::detail::index_at(at, detail::files_index.data()));
  const std::string_view head = at.head();
  const std::uint64_t most = detail::header_bytes_within(use.memory);
  const bool is_json = head.starts_with('{') && (head.size() <= 8 || head[8] != '{');
  if (at.is_file() && !is_json) {  // it may be a link: it is the caller's own path
    ZARRPOINT_TRY(file, at.open_file());
    ZARRPOINT_TRY(opened, tensor_store::open(std::move(file), most));
    return at.within(std::move(opened), "safetensors");
  }
  ZARRPOINT_TRY(opened, tensor_store::open_model(place.store, place.key, most));
  return at.within(std::move(opened), "safetensors in files");
}

}  // namespace safetensors
}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#endif
