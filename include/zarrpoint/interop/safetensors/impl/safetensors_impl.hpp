// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace safetensors { namespace detail {

/// A `bool` other than 0 and 1 would be undefined behaviour for code that reads it.
ZARRPOINT_INLINE result<void> check_elements(bytes_view data, dtype type) {
  if (type.kind() != dtype_kind::bool_) return {};
  for (const std::byte each : data) {
    if (each > std::byte{1}) return broken("a BOOL is neither 0 nor 1");
  }
  return {};
}

ZARRPOINT_INLINE result<read_file_header> read_header(const blob& source, std::uint64_t most) {
  const std::uint64_t size = source.size();
  std::byte prefix[8];
  if (size < sizeof prefix)
    return broken(std::to_string(size) + " bytes are too few for a safetensors file");
  ZARRPOINT_CHECK(source.read(0, prefix));
  const std::uint64_t length = load_le<std::uint64_t>(prefix);
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

ZARRPOINT_INLINE std::string file::context(std::string_view name) const {
  return source_->name() + ": " + detail::tensor_context(name);
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
  ZARRPOINT_TRY(opened, store.open(key));
  if (opened == nullptr)
    return error{errc::not_found, "open " + store.describe(key) + ": no such file"};
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

ZARRPOINT_INLINE result<void> save(const any_store& store, const store_key& key,
                                   std::span<const named_view> tensors,
                                   const metadata_map& metadata) {
  std::vector<const named_view*> order;
  order.reserve(tensors.size());
  for (const named_view& each : tensors) order.push_back(&each);
  v0::detail::sort_by(order, [](const named_view* a, const named_view* b) {
    return a->view.type.size() > b->view.type.size();
  });

  header plan{{}, metadata};
  plan.tensors.reserve(order.size());
  std::uint64_t end = 0;
  for (const named_view* each : order) {
    ZARRPOINT_TRY(
        bytes, detail::stored_byte_count(each->view.spec()).at(detail::tensor_context(each->name)));
    plan.tensors.push_back({each->name, each->view.spec(), end, bytes, {}});
    ZARRPOINT_TRY(next, checked_add<std::uint64_t>(end, bytes));
    end = next;
  }
  ZARRPOINT_TRY(preamble, detail::dump_header(plan).at("save " + store.describe(key)));

  ZARRPOINT_TRY(writer, store.create(key));
  ZARRPOINT_CHECK(writer->reserve(preamble.size() + end));
  ZARRPOINT_CHECK(writer->write(0, as_bytes(preamble)));
  buffer scratch;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const host_view& view = order[i]->view;
    std::uint64_t first = preamble.size() + plan.tensors[i].offset;
    const bool is_packed = view.type.is_below_byte();
    if (plan.tensors[i].bytes == 0) continue;
    if (is_dense(view) && !is_packed) {
      ZARRPOINT_CHECK(
          writer->write(first, {view.data, static_cast<std::size_t>(plan.tensors[i].bytes)}));
      continue;
    }
    if (scratch.empty()) {
      ZARRPOINT_TRY(made, buffer::allocate(detail::block_bytes));
      scratch = std::move(made);
    }
    detail::packer packed(view.type);
    ZARRPOINT_CHECK(detail::for_each_block(
        view, 0, [&](const host_view& part, std::uint64_t offset) -> result<void> {
          ZARRPOINT_TRY(bytes, byte_count(part.spec()));
          copy_elements(dense_view(scratch.data(), part.spec()), part);
          const bytes_view elements(scratch.data(), bytes);
          if (!is_packed) return writer->write(first + offset, elements);
          const std::vector<std::byte> full = packed.add(elements);
          ZARRPOINT_CHECK(writer->write(first, full));
          first += full.size();
          return {};
        }));
  }
  return writer->finish();
}

ZARRPOINT_INLINE result<void> save(std::string_view path, std::span<const named_view> tensors,
                                   const metadata_map& metadata) {
  ZARRPOINT_TRY(place, detail::locate(path, {.sync = true}));
  return save(place.store, place.key, tensors, metadata);
}

}  // namespace safetensors

}}  // namespace zarrpoint::v0
