// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include "files.hpp"
#include "looks.hpp"
#include "source_zarr.hpp"
#include "text.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>

namespace cli {

namespace {

zp::error unsupported(const std::string& path, std::string_view what) {
  return {zp::errc::unsupported, path + ": " + std::string(what)};
}

bool is_there(const std::string& path) { return kind_of(path) != path_kind::nothing; }

zp::error told(const finding& fault) {
  const zp::errc code = fault.kind == severity::fault ? zp::errc::corrupt : zp::errc::io;
  return {code, fault.file + ": " + fault.message};
}

/// Arrays in a directory or zip file that is not a group itself: Orbax and Megatron write such.
zp::result<source_pointer> open_loose_arrays(const std::string& path, const zp::context& how) {
  std::vector<finding> faults;
  ZARRPOINT_TRY(found, open_damaged_zarr(path, how, faults));
  if (!faults.empty()) return told(faults[0]);
  if (found->entries().empty())
    return zp::error{zp::errc::not_found,
                     path + " holds no Zarr array and no file of a known format"};
  return std::move(found);
}

/// Directories that hold checkpoints in other forms are named, not just refused.
zp::result<source_pointer> open_directory(const std::string& path, const zp::context& how) {
  auto opened = open_zarr(path, how);
  const bool is_model = is_there(path + "/model.safetensors.index.json") ||
                        is_there(path + "/pytorch_model.bin.index.json");
  if (opened || is_model || opened.failure().code != zp::errc::not_found) return opened;
  auto loose = open_loose_arrays(path, how);
  if (loose || loose.failure().code != zp::errc::not_found) return loose;
  if (is_there(path + "/_METADATA") || is_there(path + "/_CHECKPOINT_METADATA") ||
      is_there(path + "/metadata.json"))
    return unsupported(path, "a checkpoint directory without a Zarr array in it");
  if (auto look = look_of_directory(path)) return *std::move(look);
  return opened;
}

/// Zarr in a zip file: a hierarchy, or several side by side.
zp::result<source_pointer> open_zipped_zarr(const std::string& path, const zp::context& how) {
  auto zarr = open_zarr(path, how);
  if (zarr || zarr.failure().code != zp::errc::not_found) return zarr;
  return open_loose_arrays(path, how);
}

/// What a path holds, as the format of that name.
zp::result<source_pointer> open_as(std::string_view format, const std::string& path,
                                   const zp::context& how) {
  return open_zarr(zp::url::of_path(format, path).str(), how);
}

/// Whether a zip file has a member whose name ends in one of these.
bool has_member(const std::string& path, std::initializer_list<std::string_view> ends) {
  const auto names = [&]() -> zp::result<std::vector<zp::detail::zip_member>> {
    ZARRPOINT_TRY(file, open_file(path));
    return zp::detail::read_zip_directory(*file);
  }();
  return names && std::any_of(names->begin(), names->end(), [&](const auto& member) {
           return std::any_of(ends.begin(), ends.end(),
                              [&](std::string_view end) { return member.name.ends_with(end); });
         });
}

/// Files of npy in a zip file of any name.
zp::result<source_pointer> open_npz(const std::string& path, const zp::context& how) {
  auto opened = open_as("numpy", path, how);
  if (opened || opened.failure().code != zp::errc::unsupported) return opened;
  if (has_member(path, {"zarr.json", ".zarray", ".zgroup"}))
    return unsupported(path,
                       "the zip file has Zarr in it, but no array or group at its root; give the "
                       "path inside it");
  if (has_member(path, {"/data.pkl"}))
    return unsupported(
        path, "a zip file with a data.pkl that is compressed: torch.save does not write such");
  return opened;
}

/// A zip file: Zarr, if there is any in it, else npy files.
zp::result<source_pointer> open_zip(const std::string& path, const zp::context& how) {
  auto zarr = open_zarr(path, how);
  if (zarr || zarr.failure().code != zp::errc::not_found) return zarr;
  std::vector<finding> faults;
  if (has_member(path, {"zarr.json", ".zarray"})) {
    auto loose = open_damaged_zarr(path, how, faults);
    if (loose && !(*loose)->entries().empty()) {
      if (!faults.empty()) return told(faults[0]);
      return loose;
    }
  }
  auto npz = open_npz(path, how);
  if (!npz && !faults.empty()) return told(faults[0]);
  return npz;
}

/// The index of a model in several files, of any name. It is the caller's own path, and what lies
/// beside it is often links, as in a cache of the Hugging Face Hub.
zp::result<source_pointer> open_index(const std::string& path, zp::context how) {
  how.stores = how.stores.following(zp::link_scope::anywhere);
  const bool is_known =
      path.ends_with(".safetensors.index.json") || path.ends_with(".bin.index.json");
  return is_known ? open_zarr(path, how) : open_as("safetensors", path, how);
}

/// How a file begins.
zp::result<std::string> head_of(const std::string& path) {
  ZARRPOINT_TRY(file, open_file(path));
  std::string out(static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), 264)), '\0');
  ZARRPOINT_CHECK(file->read(0, std::as_writable_bytes(std::span(out))));
  return out;
}

/// A file by how it begins, for which the formats of the library look, too.
zp::result<source_pointer> open_by_content(const std::string& path, std::string_view text,
                                           const zp::context& how) {
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return open_zip(path, how);
  if (text.starts_with("\x89HDF\r\n")) return unsupported(path, "HDF5 is not supported");
  if (text.starts_with('\x80') && text.size() > 1 && text[1] >= 2 && text[1] <= 5 &&
      !zp::torch::is_legacy_file(zp::as_bytes(text)))
    return unsupported(path,
                       "a pickle of Python that torch.save did not write; it is not opened, since "
                       "that could run any program. Save its arrays with numpy or PyTorch");
  if (text.size() > 262 && text.substr(257, 5) == "ustar") {
    for (const std::string_view first : {"sys_info", "pickle", "tensors", "storages"})
      if (text.starts_with(std::string(first) + '\0'))
        return unsupported(path,
                           "a file of torch.save of before PyTorch 0.2 (a tar archive); load it "
                           "with PyTorch and save it again");
    return unsupported(path, "tar archives are not supported");
  }
  if (text.starts_with("\x1f\x8b"))
    return unsupported(path, "gzip files are not supported; decompress it first");
  if (text.starts_with('{')) return open_index(path, how);
  auto opened = open_zarr(path, how);
  // What no format claims was taken for a directory.
  if (opened || opened.failure().message.find("Not a directory") == std::string::npos)
    return opened;
  return unsupported(path,
                     "unknown format; known are Zarr, checkpoints of Orbax and PyTorch, OCDBT, "
                     "safetensors, GGUF, torch.save, npy and npz");
}

zp::result<source_pointer> open_any(const std::string& path, const zp::context& how) {
  switch (kind_of(path)) {
    case path_kind::nothing:
      // It may be there all the same: in a file.
      if (!zp::detail::split_at_file(path).rest.empty() && zp::detail::is_zip_path(path))
        return open_zipped_zarr(path, how);
      return open_zarr(path, how);
    case path_kind::directory: return open_directory(path, how);
    case path_kind::other: return unsupported(path, "neither a file nor a directory");
    case path_kind::file: break;
  }
  ZARRPOINT_TRY(head, head_of(path));
  if (auto found = stand_in(path, head)) return *std::move(found);
  // By name first, so that a damaged file is told what is wrong with it.
  if (path.ends_with(".safetensors") || path.ends_with(".npy")) return open_zarr(path, how);
  if (path.ends_with(".safetensors.index.json")) return open_index(path, how);
  if (path.ends_with(".npz")) return open_npz(path, how);
  if (path.ends_with(".zip")) return open_zip(path, how);
  const std::string name = file_name(path);
  if (name == "zarr.json" || name == ".zarray" || name == ".zgroup" || name == ".zmetadata")
    return zp::error{zp::errc::invalid_argument,
                     path + ": this is a metadata document; give the directory that it is in"};
  if (name.ends_with(".distcp"))
    return zp::error{
        zp::errc::invalid_argument,
        path + ": this is a part of a DCP checkpoint; give the directory that it is in"};
  return open_by_content(path, head, how);
}

}  // namespace

zp::result<source_pointer> open_source(const std::string& path, const zp::context& how) {
  auto opened = open_any(path, how);
  if (opened) (*opened)->set_context(how);
  return opened;
}

bool is_within(std::string_view name, std::string_view node) {
  if (name == node) return true;  // in flat formats a name may begin or end with a slash
  while (node.ends_with('/')) node.remove_suffix(1);
  while (node.starts_with('/')) node.remove_prefix(1);
  return node.empty() || name == node ||
         (name.size() > node.size() && name.starts_with(node) && name[node.size()] == '/');
}

std::string_view name_in_file(const entry& of) {
  const zp::json* const told = of.attributes.find(zp::detail::original_name_member);
  return told != nullptr && told->if_string() != nullptr ? *told->if_string()
                                                         : std::string_view(of.name);
}

zp::result<std::vector<std::size_t>> find_entries(const source& from, std::string_view node) {
  std::vector<std::size_t> out;
  const std::vector<entry>& all = from.entries();
  // What is shown by this name comes first: others may have an attribute `original_name`, too.
  const auto is_it = [&](const auto& one) { return one.name == node; };
  const bool is_shown = node.empty() || std::any_of(all.begin(), all.end(), is_it) ||
                        std::any_of(from.groups().begin(), from.groups().end(), is_it);
  for (std::size_t i = 0; i < all.size() && !is_shown; ++i)
    if (name_in_file(all[i]) == node) return std::vector<std::size_t>{i};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_within(all[i].name, node)) out.push_back(i);
  }
  const std::vector<group_entry>& groups = from.groups();
  const auto within = [&](const group_entry& one) { return is_within(one.name, node); };
  if (!out.empty() || is_within("", node) || std::any_of(groups.begin(), groups.end(), within))
    return out;
  std::string text = "there is no array or group \"" + escaped(node) + "\"";
  for (std::size_t i = 0; i < all.size() && i < 8; ++i)
    text += (i == 0 ? "; there are \"" : ", \"") + escaped(all[i].name) + '"';
  if (all.size() > 8) text += " and " + std::to_string(all.size() - 8) + " more";
  return zp::error{zp::errc::not_found, std::move(text)};
}

zp::result<std::size_t> find_array(const source& from, std::string_view node) {
  ZARRPOINT_TRY(found, find_entries(from, node));
  if (found.empty()) return zp::error{zp::errc::not_found, "it has no array"};
  // A name that an array has is that array, though others may lie beneath it in flat formats.
  std::size_t chosen = found[0];
  for (const std::size_t i : found) {
    if (from.entries()[i].name == node) chosen = i;
  }
  if (found.size() > 1 && from.entries()[chosen].name != node) {
    std::string text = std::to_string(found.size()) + " arrays were found; name one of them:";
    for (std::size_t i = 0; i < found.size() && i < 8; ++i)
      text += (i == 0 ? " \"" : ", \"") + escaped(from.entries()[found[i]].name) + '"';
    if (found.size() > 8) text += " and " + std::to_string(found.size() - 8) + " more";
    return zp::error{zp::errc::invalid_argument, std::move(text)};
  }
  const entry& array = from.entries()[chosen];
  if (array.fault && array.name.empty()) return *array.fault;
  if (array.fault) return zp::error(*array.fault).at("array \"" + escaped(array.name) + '"');
  return chosen;
}

}  // namespace cli
