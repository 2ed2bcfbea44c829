// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include "files.hpp"
#include "looks.hpp"
#include "source_zarr.hpp"
#include "text.hpp"

#include <algorithm>
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

/// The index of a model in several files, where a directory is nothing else: it is read as its
/// index. Of two models neither is chosen.
zp::result<std::string> index_in(const std::string& path) {
  for (const char* const other : {"zarr.json", ".zgroup", ".zarray", ".metadata", "__0.metadata"})
    if (is_there(path + '/' + other)) return std::string();
  std::string found;
  for (const char* const name :
       {"/model.safetensors.index.json", "/pytorch_model.bin.index.json"}) {
    if (kind_of(path + name) != path_kind::file) continue;
    if (!found.empty())
      return zp::error{
          zp::errc::invalid_argument,
          path + ": it holds two models; name the index of one: " + found + " or " + path + name};
    found = path + name;
  }
  return found;
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
  ZARRPOINT_TRY(index, index_in(path));
  if (!index.empty()) return open_index(index, how, true);
  auto opened = open_zarr(path, how);
  if (opened || opened.failure().code != zp::errc::not_found) return opened;
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

/// Whether a member may be the document of an array.
zp::result<bool> has_documents(const std::string& path) {
  ZARRPOINT_TRY(file, open_file(path));
  ZARRPOINT_TRY(members, zp::detail::read_zip_directory(*file));
  return std::any_of(members.begin(), members.end(), [](const zp::detail::zip_member& member) {
    return member.name.ends_with("zarr.json") || member.name.ends_with(".zarray");
  });
}

/// A zip file: Zarr, if there is any in it, else npy files.
zp::result<source_pointer> open_zip(const std::string& path, const zp::context& how) {
  auto zarr = open_zarr(path, how);
  if (zarr || zarr.failure().code != zp::errc::not_found) return zarr;
  std::vector<finding> faults;
  if (has_documents(path).value_or(false)) {
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

/// How a file begins.
zp::result<std::string> head_of(const std::string& path) {
  ZARRPOINT_TRY(file, open_file(path));
  std::string out(static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), 264)), '\0');
  ZARRPOINT_CHECK(file->read(0, std::as_writable_bytes(std::span(out))));
  return out;
}

/// Formats by how their files begin.
zp::result<source_pointer> open_by_content(const std::string& path, std::string_view text,
                                           const zp::context& how) {
  if (text.starts_with("\x93NUMPY")) return open_npy(path, how);
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return open_zip(path, how);
  if (text.starts_with("\x89HDF\r\n")) return unsupported(path, "HDF5 is not supported");
  if (text.starts_with("GGUF")) return open_zarr(path, how);
  if (text.starts_with('\x80') && text.size() > 1 && text[1] >= 2 && text[1] <= 5) {
    if (zp::torch::is_legacy_file(zp::as_bytes(text))) return open_zarr(path, how);
    return unsupported(path,
                       "a pickle of Python that torch.save did not write; it is not opened, since "
                       "that could run any program. Save its arrays with numpy or PyTorch");
  }
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
  if (text.size() > 8 && text[8] == '{') return open_safetensors(path);
  if (text.starts_with('{')) return open_index(path, how);
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
  if (path.ends_with(".safetensors")) return open_safetensors(path);
  if (path.ends_with(".safetensors.index.json")) return open_index(path, how);
  if (path.ends_with(".npy")) return open_npy(path, how);
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

zp::result<std::vector<std::size_t>> find_entries(const source& from, std::string_view node) {
  std::vector<std::size_t> out;
  const std::vector<entry>& all = from.entries();
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
