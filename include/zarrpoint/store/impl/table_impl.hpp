// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/table.hpp>

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<stored_place> store_table::open(const std::string& path_or_url,
                                                        const place_use& how) const {
  place_use use = how;
  if (links_ != link_scope::none) use.links = links_;
  const std::optional<url> parsed = url::parse(path_or_url);
  if (!parsed) return open_path(path_or_url, use);
  if (parsed->scheme == file_scheme::name) {
    ZARRPOINT_TRY(path, parsed->path());
    return open_path(path, use);
  }
  ZARRPOINT_TRY(entry, find(parsed->scheme));
  return entry->open(*parsed, use);
}

ZARRPOINT_INLINE result<const store_entry*> store_table::find(std::string_view scheme) const {
  for (const store_entry& entry : entries_)
    if (entry.scheme == scheme) return &entry;
  std::string text =
      "no store for " + detail::in_quotes(std::string(scheme) + "://") + "; context::stores has";
  for (const store_entry& entry : entries_) text.append(" ").append(entry.scheme).append("://");
  text += " (formats<...>() adds one)";
  return error{errc::unsupported, std::move(text)};
}

ZARRPOINT_INLINE result<stored_place> store_table::open_path(const std::string& path,
                                                             const place_use& use) const {
  if (rules_ != nullptr && rules_->find != nullptr && !use.write) {
    ZARRPOINT_TRY(found, rules_->find(path, use));
    if (found) return *std::move(found);
  }
  const bool is_zip = detail::is_zip_path(path);
  ZARRPOINT_TRY(entry, find(is_zip ? zip_scheme::name : file_scheme::name));
  return entry->open(url::of_path(entry->scheme, path), use);
}

ZARRPOINT_INLINE error store_table::explain(error failure, const std::string& path) const {
  if (rules_ == nullptr || rules_->explain == nullptr) return failure;
  return rules_->explain(std::move(failure), path, entries_);
}

ZARRPOINT_INLINE error detail::name_format(error failure, const std::string& path,
                                           std::span<const store_entry> known) {
  struct look {
    std::string_view mark;  // a file in a directory, how a file begins, or how its name ends
    const char* what;
    std::string_view format;
  };
  constexpr look in_directory[] = {
      {"_METADATA", "an Orbax checkpoint", "orbax"},
      {"_CHECKPOINT_METADATA", "an Orbax checkpoint", "orbax"},
      {"manifest.ocdbt", "an OCDBT database", "ocdbt"},
      {".metadata", "a checkpoint of torch.distributed.checkpoint", "dcp"},
      {"pytorch_model.bin.index.json", "a model in files of torch.save", "torch"},
      {"model.safetensors.index.json", "a safetensors model", "safetensors"}};
  constexpr look of_file[] = {{"GGUF", "a GGUF file", "gguf"},
                              {"PK\x03\x04", "a zip file, as torch.save writes", "torch"},
                              {"\x80\x02\x8a\x0a", "a file of torch.save", "torch"},
                              {"\x93NUM", "an npy file", "numpy"}};
  constexpr look of_name[] = {{".npz", "an npz file", "numpy"},
                              {".safetensors", "a safetensors file", "safetensors"}};
  const look* found = nullptr;
  struct ::stat info {};
  for (const look& each : in_directory)
    if (found == nullptr && ::stat((path + '/').append(each.mark).c_str(), &info) == 0)
      found = &each;
  const auto file = open_file(path);
  std::array<std::byte, 4> head{};
  if (file && (*file)->size() >= head.size() && (*file)->read(0, head))
    for (const look& each : of_file)
      if (as_text(bytes_view(head)) == each.mark) found = &each;
  for (const look& each : of_name)
    if (file && path.ends_with(each.mark)) found = &each;
  if (found == nullptr) return failure;
  for (const store_entry& entry : known)
    if (entry.scheme == found->format) return failure;
  const std::string name(found->format);
  failure.message.append("; it looks like ").append(found->what);
  failure.message += ": open(path, formats<" + name + "::format>()) of <zarrpoint/" + name +
                     ".hpp>, or open(path, all_formats()) of <zarrpoint/formats.hpp>, reads it";
  return failure;
}

}}  // namespace zarrpoint::v0
