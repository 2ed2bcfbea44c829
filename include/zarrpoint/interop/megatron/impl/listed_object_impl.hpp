// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/megatron/listed_object.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_convert.hpp>
#include <zarrpoint/interop/pickle/pickle_opcode.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

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

}}}}  // namespace zarrpoint::v0::megatron::detail
