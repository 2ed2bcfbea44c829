// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace safetensors {

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

ZARRPOINT_INLINE std::string index_document(const files_plan& plan,
                                            std::span<const std::size_t> file_of,
                                            const files_report& of) {
  node::object map;
  map.reserve(plan.names.size());
  for (std::size_t i = 0; i < plan.names.size(); ++i)
    map.push_back({plan.names[i], of.files[file_of[i]]});
  return dump_json(node::object{{"metadata", node::object{{"total_size", std::uint64_t{of.bytes}}}},
                                {"weight_map", std::move(map)}});
}

ZARRPOINT_INLINE result<void> check_names(const files_plan& plan) {
  std::vector<std::string_view> sorted(plan.names.begin(), plan.names.end());
  v0::detail::sort_names(sorted);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return {};
  return error{errc::invalid_argument,
               "two tensors have the name " + v0::detail::in_quotes(std::string(*twice))};
}

/// The files of a model, and its index, sorted; none where there is no index.
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

ZARRPOINT_INLINE result<files_report> write_files(std::string_view directory,
                                                  const files_plan& plan, const files_options& how,
                                                  const file_writer_function& write) {
  const auto start = std::chrono::steady_clock::now();
  if (how.max_file_bytes == 0)
    return error{errc::invalid_argument, "files of at most 0 bytes hold no tensor"};
  if (plan.names.empty())
    return error{errc::invalid_argument, "there is no tensor of which an index could tell"};
  ZARRPOINT_CHECK(check_names(plan));
  while (directory.size() > 1 && directory.ends_with('/')) directory.remove_suffix(1);
  ZARRPOINT_TRY(located, locate(directory, {.sync = how.sync}));
  const stored_place at{std::move(located.store), std::move(located.key)};
  ZARRPOINT_CHECK(v0::detail::check_replace(
      at,
      {std::string(directory), how.overwrite, "a safetensors model in several files",
       v0::detail::directory_kind::safetensors},
      look_for_model(v0::detail::beneath(at))));
  const std::vector<std::size_t> file_of = divide_by_size(plan.bytes, how.max_file_bytes);
  const std::size_t count = file_of.back() + 1;
  files_report out;
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
  ZARRPOINT_CHECK(to.put(index, as_bytes(index_document(plan, file_of, out))));
  std::optional<owned_paths> owned;
  if (how.overwrite) {  // also where nothing is listed: not all that others have is a key
    std::vector<std::string> taken = out.files;
    taken.emplace_back(files_index);
    v0::detail::sort_names(taken);
    ZARRPOINT_TRY(old, files_of(v0::detail::beneath(at)));
    owned = {std::move(old), std::move(taken)};
  }
  ZARRPOINT_CHECK(v0::detail::publish(*staged, owned, out));
  out.seconds = out.blocked_seconds = v0::detail::seconds_since(start);
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<files_report> save_files(std::string_view directory,
                                                 std::span<const named_view> tensors,
                                                 const files_options& how) {
  return guarded([&]() -> result<files_report> {
           detail::files_plan plan;
           for (const named_view& each : tensors) {
             ZARRPOINT_TRY(
                 bytes,
                 detail::stored_byte_count(each.view.spec()).at(detail::tensor_context(each.name)));
             plan.names.push_back(each.name);
             plan.bytes.push_back(bytes);
           }
           return detail::write_files(
               directory, plan, how,
               [&](const any_store& to, const store_key& key, detail::tensor_range of) {
                 return save(to, key, tensors.subspan(of.first, of.count), how.metadata);
               });
         })
      .at("save " + std::string(directory));
}

}}}  // namespace zarrpoint::v0::safetensors
