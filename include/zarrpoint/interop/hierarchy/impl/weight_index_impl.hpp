// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::vector<std::string> weight_index::files() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : file_of)
    if (out.empty() || out.back() != file) out.push_back(file);
  sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<weight_index> parse_weight_index(const node& document) {
  const node* const map = document.find("weight_map");
  if (map == nullptr || map->if_object() == nullptr)
    return error{errc::corrupt,
                 "it has no object \"weight_map\": it is not the index of a model in files"};
  weight_index out;
  for (const node::member& one : *map->if_object()) {
    const std::string* const file = one.value.if_string();
    // A name in a file must not lead to files elsewhere.
    if (file == nullptr || file->empty() || file->find('/') != file->npos || *file == "." ||
        *file == "..")
      return error{errc::corrupt, "weight_map: the tensor " + in_quotes(one.key) +
                                      " names a file that is not in the directory of the index"};
    out.file_of.emplace(one.key, *file);
  }
  if (const node* const metadata = document.find("metadata"))
    if (const node* const total = metadata->find("total_size")) out.total_size = total->to_uint64();
  return out;
}

ZARRPOINT_INLINE result<std::optional<weight_index>> read_weight_index(const any_store& store,
                                                                       const store_key& key) {
  constexpr std::uint64_t most = std::uint64_t{256} << 20;
  ZARRPOINT_TRY(text, get(store, key, most));
  if (!text) return std::optional<weight_index>();
  const auto parse = [&]() -> result<weight_index> {
    ZARRPOINT_TRY(document, parse_json(*text, {.max_bytes = static_cast<std::size_t>(most)}));
    return parse_weight_index(document);
  };
  ZARRPOINT_TRY(parsed, parse().at(store.describe(key)));
  return std::optional(std::move(parsed));
}

/// What an index leaves out, as it is found.
struct left_tensors {
  static constexpr std::size_t most_told = 1000;

  std::uint64_t count = 0;
  node::array told;

  void add(std::string_view name, const std::string& file, std::string reason) {
    if (++count > most_told) return;
    told.emplace_back(node::object{{"name", printable(name, 1000)},
                                   {"file", printable(file, 1000)},
                                   {"reason", std::move(reason)}});
  }
  node document() && {
    if (count == 0) return {};
    return node::object{{"left_out", count}, {"tensors", std::move(told)}};
  }
};

ZARRPOINT_INLINE result<node> join_files(const weight_index& of, const file_adder& add,
                                         virtual_hierarchy& to) {
  std::map<std::string_view, std::vector<std::string_view>> names;
  for (const auto& [name, file] : of.file_of) names[file].push_back(name);
  left_tensors left;
  for (auto& [of_file, wanted] : names) {
    const std::string file(of_file);
    std::vector<std::string_view> missing = std::move(wanted);  // sorted, as the map is
    std::vector<bool> found(missing.size());
    to.take_only([&](std::string_view name) -> bool {
      const auto at = std::lower_bound(missing.begin(), missing.end(), name);
      if (at != missing.end() && *at == name)
        return found[static_cast<std::size_t>(at - missing.begin())] = true;
      const auto other = of.file_of.find(name);
      left.add(name, file,
               other == of.file_of.end()
                   ? "not in the weight_map, so it is not read"
                   : "the weight_map takes it from " + in_quotes(other->second) +
                         ", so this one is not read");
      return false;
    });
    ZARRPOINT_CHECK(add(file, to));
    if (const auto lost = std::find(found.begin(), found.end(), false); lost != found.end())
      return error{errc::corrupt,
                   "weight_map: tensor " +
                       in_quotes(missing[static_cast<std::size_t>(lost - found.begin())]) +
                       " is not in " + in_quotes(file)};
  }
  to.take_only({});
  return std::move(left).document();
}

ZARRPOINT_INLINE result<bool> has_index(const place_look& at, const char* name) {
  ZARRPOINT_TRY(is_there, at.has({name}));
  if (!is_there) return false;
  ZARRPOINT_TRY(is_more, at.has({"zarr.json", ".zgroup", ".zarray", ".metadata", "__0.metadata"}));
  return !is_more;
}

ZARRPOINT_INLINE result<stored_place> index_at(const place_look& at, const char* name) {
  if (!at.is_file()) {
    ZARRPOINT_CHECK(at.check_directory());
    ZARRPOINT_TRY(key, store_key::parse(name));
    return stored_place{at.directory(), std::move(key)};
  }
  const std::size_t slash = at.place().rfind('/');
  const std::string folder = slash == std::string::npos ? "." : at.place().substr(0, slash + 1);
  ZARRPOINT_TRY(key, store_key::parse(at.place().substr(slash + 1)));  // npos + 1 == 0
  ZARRPOINT_TRY(store, file_store::open(folder, {.read_only = true, .follow_links = at.links()}));
  return stored_place{std::move(store), std::move(key)};
}

}}}  // namespace zarrpoint::v0::detail
