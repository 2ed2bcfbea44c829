// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "looks.hpp"

#include "files.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

namespace cli {

namespace {

/// The names in a directory, some of them if there are very many.
std::set<std::string> names_in(const std::string& path) {
  constexpr std::size_t most = 10'000;
  std::set<std::string> out;
  std::error_code wrong;
  for (std::filesystem::directory_iterator at(path, wrong), end; !wrong && at != end;
       at.increment(wrong)) {
    if (out.insert(at->path().filename().string()).second && out.size() == most) break;
  }
  return out;
}

template <class Test>
std::optional<std::string> first_of(const std::set<std::string>& names, Test test) {
  const auto found = std::find_if(names.begin(), names.end(), test);
  return found == names.end() ? std::nullopt : std::optional(*found);
}

/// A file that this command reads by itself.
bool is_readable_name(const std::string& name) {
  constexpr std::array<std::string_view, 10> endings{".safetensors", ".safetensors.index.json",
                                                     ".gguf",        ".pt",
                                                     ".pth",         ".bin",
                                                     ".ckpt",        ".npz",
                                                     ".npy",         ".zip"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Whether a directory is an array or a group of N5.
bool is_n5(const std::string& path) {
  std::ifstream file(path + "/attributes.json", std::ios::binary);
  std::string text(std::size_t{64} << 10, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.find("\"n5\"") != text.npos ||
         (text.find("\"dimensions\"") != text.npos && text.find("\"blockSize\"") != text.npos);
}

zp::error told(zp::errc code, const std::string& path, const std::string& what) {
  return {code, path + ": " + what};
}

zp::error unsupported(const std::string& path, const std::string& what) {
  return told(zp::errc::unsupported, path, what);
}

std::string named(const std::string& file) { return '"' + escaped(file) + '"'; }

}  // namespace

std::optional<zp::error> stand_in(const std::string& path, std::string_view head) {
  if (head.starts_with("version https://git-lfs.github.com/"))
    return told(zp::errc::corrupt, path,
                "a Git LFS pointer, not the file; `git lfs pull` fetches it");
  while (!head.empty() && (head[0] == ' ' || head[0] == '\n' || head[0] == '\r'))
    head.remove_prefix(1);
  std::string start(head.substr(0, 9));
  for (char& c : start) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (start == "<!doctype" || start.starts_with("<html"))
    return told(zp::errc::corrupt, path,
                "an HTML page, not the file; its download went wrong, perhaps for want of a login");
  return std::nullopt;
}

std::optional<zp::error> look_of_directory(const std::string& path) {
  const std::set<std::string> names = names_in(path);
  const auto has = [&](const char* name) { return names.contains(name); };
  if (!has(".metadata") &&
      first_of(names, [](const auto& name) { return name.ends_with(".distcp"); }))
    return told(zp::errc::not_found, path,
                ".metadata is missing: the save of this DCP checkpoint was not finished, or the "
                "file was not copied");
  if (is_n5(path)) return unsupported(path, "N5 is not supported; convert it to Zarr");
  if (first_of(names, [](const auto& name) {
        return name.starts_with("zero_pp_rank_") || name.starts_with("bf16_zero_pp_rank_") ||
               name.starts_with("global_step") || name.ends_with("_model_states.pt");
      }))
    return unsupported(path,
                       "checkpoints of DeepSpeed are not supported as a whole; join their parts by "
                       "its zero_to_fp32.py, or name one of its files");
  if (const auto part =
          first_of(names, [](const auto& name) { return name.starts_with("mp_rank_"); })) {
    const auto file = first_of(names_in(path + '/' + *part), is_readable_name);
    return unsupported(path,
                       "the old checkpoints of Megatron-LM are not supported as a whole; each "
                       "rank has a file of torch.save, such as " +
                           named(*part + '/' + file.value_or("model_optim_rng.pt")));
  }
  if (has("snapshots") && has("blobs")) {
    const std::set<std::string> snapshots = names_in(path + "/snapshots");
    return told(zp::errc::not_found, path,
                "a cache of the Hugging Face Hub; name a directory in it: " +
                    named("snapshots/" + (snapshots.empty() ? "..." : *snapshots.begin())));
  }
  if (const auto file = first_of(names, is_readable_name))
    return told(
        zp::errc::not_found, path,
        "not a checkpoint, but it holds files that are read: name " + named(*file) + " in it");
  return std::nullopt;
}

}  // namespace cli
