// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Documents that are changed as JSON, member by member, some sealed again so that what lies behind
// the seal is reached: each is loaded or refused within its time and memory.

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "harness.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reliability {

/// All values in a document, from the outermost on.
inline void all_nodes(std::vector<zp::json*>& out, zp::json& of) {
  out.push_back(&of);
  if (auto* list = of.if_array()) {
    for (zp::json& one : *list) all_nodes(out, one);
  }
  if (auto* members = of.if_object()) {
    for (auto& one : *members) all_nodes(out, one.value);
  }
}

inline zp::json strange_value(tally& row) {
  switch (row.below(14)) {
    case 0: return std::int64_t{0};
    case 1: return std::int64_t{-1};
    case 2: return std::int64_t{INT64_MAX};
    case 3: return UINT64_MAX;
    case 4: return 1e308;
    case 5: return std::int64_t{1} << row.below(63);
    case 6: return std::string();
    case 7: return std::string(1 + row.below(300), 'x');
    case 8: return "../outside";
    case 9: return nullptr;
    case 10: return row.below(2) == 0;
    case 11: return zp::json::array{};
    case 12: return zp::json::object{};
    default: {
      zp::json deep = 1;
      for (std::uint64_t i = row.below(80); i > 0; --i) deep = zp::json::array{std::move(deep)};
      return deep;
    }
  }
}

inline void mutate(tally& row, zp::json& document) {
  std::vector<zp::json*> all;
  all_nodes(all, document);
  zp::json& at = *all[row.below(all.size())];
  auto* const members = at.if_object();
  auto* const list = at.if_array();
  switch (row.below(8)) {
    case 0: at = strange_value(row); return;
    case 1:
      if (members != nullptr && !members->empty())
        members->erase(members->begin() + static_cast<std::ptrdiff_t>(row.below(members->size())));
      return;
    case 2:
      if (members != nullptr && !members->empty())
        members->push_back((*members)[row.below(members->size())]);
      return;
    case 3:
      if (members != nullptr && !members->empty())
        (*members)[row.below(members->size())].key.append("k");
      return;
    case 4:
      if (list != nullptr) {
        const zp::json one = list->empty() ? strange_value(row) : (*list)[row.below(list->size())];
        list->insert(list->end(), 1 + row.below(40), one);
      }
      return;
    case 5: {
      const zp::json other = *all[row.below(all.size())];
      at = other;
      return;
    }
    case 6:
      if (const auto number = at.to_int64())
        at = *number + static_cast<std::int64_t>(row.below(5)) - 2;
      return;
    default:
      if (const auto number = at.to_int64())
        at = static_cast<std::int64_t>(static_cast<std::uint64_t>(*number) << row.below(40));
      else if (auto* text = at.if_string(); text != nullptr && !text->empty())
        (*text)[row.below(text->size())] = static_cast<char>(row.below(256));
  }
}

/// Makes the seal of a root document right again.
inline void seal(zp::json& root) {
  zp::json* attributes = root.find("attributes");
  zp::json* commit = attributes != nullptr ? attributes->find("zarrpoint") : root.find("zarrpoint");
  if (commit == nullptr || commit->if_object() == nullptr) return;
  std::erase_if(*commit->if_object(), [](const auto& member) { return member.key == "crc32c"; });
  std::string right = zp::detail::commit_seal(*commit);
  commit->set("crc32c", std::move(right));
}

inline zp::context bounded() {
  zp::context how;
  how.limit = {.bytes_in_flight = std::size_t{8} << 20,
               .memory = std::size_t{64} << 20,
               .metadata_bytes = std::size_t{1} << 20,
               .max_inner_chunks = 4096};
  return how;
}

/// What the processes that try documents tell theirs.
struct tried {
  std::uint64_t at = 0, violations = 0, refused = 0, whole = 0, other = 0;
  char text[400] = {};
};

/// The documents of one checkpoint, as they are and as JSON.
struct document {
  fs::path file;
  std::string bytes;
  zp::json value;
};

inline std::vector<document> documents_of(const fs::path& at) {
  std::vector<document> out;
  for (const fs::path& file : files_of(at)) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".json") && name != ".zarray" && name != ".zattrs" && name != ".zgroup" &&
        name != ".zmetadata")
      continue;
    std::string bytes = bytes_of(file);
    auto value = zp::parse_json(zp::as_bytes(bytes));
    if (value) out.push_back({file, std::move(bytes), *std::move(value)});
  }
  return out;
}

inline void try_document(tally& row, const std::string& path, const document& of, tried& told) {
  zp::json value = of.value;
  for (std::uint64_t i = 1 + row.below(3); i > 0; --i) mutate(row, value);
  const bool sealed = row.below(3) == 0;
  if (sealed) seal(value);
  write_file(of.file, zp::dump_json(value));
  const auto opened = zp::open(path, bounded());
  found there{found::kind::failed, 0, "refused"};
  if (opened) {
    for (const std::string& name : opened->names()) {
      static_cast<void>(opened->metadata(name));
      static_cast<void>(opened->load<zp::tensor>(name, {.verify = !row.without()}));
    }
    there = look_at(*opened, !row.without());
  }
  write_file(of.file, of.bytes);
  // With a seal of its own a document says what it likes; without one it may only be refused, but
  // for what is not of ours any more, which has nothing that could be compared.
  const bool ours = opened && !opened->id().empty();
  if (there.what == found::kind::mixed && ours && (!sealed || row.without())) {
    ++told.violations;
    std::snprintf(told.text, sizeof told.text, "%s: %s", of.file.filename().c_str(),
                  to_string(there).c_str());
  }
  ++(there.what == found::kind::failed || there.what == found::kind::none ? told.refused
     : there.what == found::kind::whole                                   ? told.whole
                                                                          : told.other);
}

/// Most often one of the root, which say more than others.
inline const document& chosen(tally& row, const std::string& path,
                              const std::vector<document>& all) {
  const document* out = &all[row.below(all.size())];
  for (int tries = 0; tries < 6 && out->file.parent_path() != path; ++tries)
    out = &all[row.below(all.size())];
  return *out;
}

inline void documents(tally& row) {
  const fs::path folder = fresh_folder(row, "documents");
  void* const shared =
      ::mmap(nullptr, sizeof(tried), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& told = *static_cast<tried*>(shared);
  while (row.more()) {
    const form& as = forms[row.below(2)];
    const std::string path = (folder / as.file).string();
    fs::remove_all(path);
    if (!save_step(path, as, 5, false)) row.violation("a save without faults fails");
    const std::uint64_t first = row.random();
    const std::uint64_t batch = std::min<std::uint64_t>(500, row.of().trials - row.trials);
    told = {};
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const rlimit memory{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
      ::setrlimit(RLIMIT_AS, &memory);
      const std::vector<document> all = documents_of(path);
      for (told.at = 0; told.at < batch; ++told.at) {
        ::alarm(10);
        row.random.seed(first + told.at);
        try_document(row, path, chosen(row, path, all), told);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    const std::string which =
        std::string(as.name) + ", document " + std::to_string(first + told.at);
    row.trials += std::max<std::uint64_t>(told.at, 1);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      row.shows("slow", which + ": takes more than 10 s");
    else if (status != 0)
      row.violation(which + ": ended with status " + std::to_string(status));
    if (told.violations != 0) row.violation(which + " or before: " + told.text);
    row.seen["refused"] += told.refused;
    row.seen["same values"] += told.whole;
    row.seen["not ours, or sealed again"] += told.other;
  }
  ::munmap(shared, sizeof(tried));
}

}  // namespace reliability
