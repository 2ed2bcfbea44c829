// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a disk may hold after a crash: a save's calls are written down, and of those that no sync
// has made durable any subset is taken, in any part. What is then found at the path is looked at.

#include "harness.hpp"
#include "trace.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

namespace reliability {

/// One change of the file system, by the numbers of its inodes.
struct change {
  enum class kind { make, write, size, rename, exchange, remove, sync, sync_all } what;
  std::uint64_t parent = 0;  ///< of `write`, `size` and `sync`, the file itself
  std::string name{};
  std::uint64_t inode = 0;    ///< of `make`
  bool is_directory = false;  ///< of `make`
  std::uint64_t to_parent = 0;
  std::string to_name{};
  std::uint64_t offset = 0;  ///< of `write`, and the new size of `size`
  std::string bytes{};
};

/// A file system as a model: all by inode.
struct model_inode {
  bool is_directory = false;
  std::string bytes{};
  std::map<std::string, std::uint64_t> entries{};
};
using model = std::map<std::uint64_t, model_inode>;

inline std::uint64_t inode_of(const fs::path& path) {
  struct ::stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

inline void read_model(model& into, const fs::path& from) {
  model_inode one;
  one.is_directory = fs::is_directory(from);
  if (!one.is_directory) {
    one.bytes = bytes_of(from);
  } else {
    for (const auto& entry : fs::directory_iterator(from)) {
      one.entries[entry.path().filename().string()] = inode_of(entry.path());
      read_model(into, entry.path());
    }
  }
  into[inode_of(from)] = std::move(one);
}

inline std::uint64_t inode_of(pid_t pid, std::uint64_t fd) {
  struct ::stat info {};
  const std::string link =
      "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(static_cast<int>(fd));
  return ::stat(link.c_str(), &info) == 0 ? info.st_ino : 0;
}

inline std::uint64_t inode_in(pid_t pid, std::uint64_t fd, const std::string& name) {
  return inode_of(fs::path("/proc/" + std::to_string(pid) + "/fd/" +
                           std::to_string(static_cast<int>(fd)) + "/" + name));
}

/// Writes down what a call did that has just returned.
inline void record(std::vector<change>& log, const stop& at) {
  using kind = change::kind;
  const pid_t pid = at.pid();
  const auto argument = [&](int i) { return at.argument(i); };
  const auto text = [&](int i) { return text_of(pid, at.argument(i)); };
  const auto of = [&](int i) { return inode_of(pid, at.argument(i)); };
  if (at.value() < 0) return;
  switch (at.number()) {
    case SYS_openat:
      if ((argument(2) & O_CREAT) == 0) return;
      log.push_back({.what = kind::make,
                     .parent = of(0),
                     .name = text(1),
                     .inode = inode_of(pid, static_cast<std::uint64_t>(at.value()))});
      return;
    case SYS_mkdirat:
      log.push_back({.what = kind::make,
                     .parent = of(0),
                     .name = text(1),
                     .inode = inode_in(pid, argument(0), text(1)),
                     .is_directory = true});
      return;
    case SYS_pwrite64:
      log.push_back({.what = kind::write,
                     .parent = of(0),
                     .offset = argument(3),
                     .bytes = memory_of(pid, argument(1), static_cast<std::size_t>(at.value()))});
      return;
    case SYS_ftruncate:
      log.push_back({.what = kind::size, .parent = of(0), .offset = argument(1)});
      return;
    case SYS_renameat:
    case SYS_renameat2: {
      const bool swaps = at.number() == SYS_renameat2 && (argument(4) & RENAME_EXCHANGE) != 0;
      log.push_back({.what = swaps ? kind::exchange : kind::rename,
                     .parent = of(0),
                     .name = text(1),
                     .to_parent = of(2),
                     .to_name = text(3)});
      return;
    }
    case SYS_unlinkat:
      log.push_back({.what = kind::remove, .parent = of(0), .name = text(1)});
      return;
    case SYS_fsync:
    case SYS_fdatasync: log.push_back({.what = kind::sync, .parent = of(0)}); return;
    case SYS_syncfs: log.push_back({.what = kind::sync_all}); return;
    // What the model does not know must not pass unseen.
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_copy_file_range:
    case SYS_sendfile:
    case SYS_linkat:
    case SYS_symlinkat:
    case call_rename:
    case call_unlink:
    case SYS_fallocate:
      log.push_back(
          {.what = kind::sync_all, .name = "unknown call " + std::to_string(at.number())});
      return;
    default: return;
  }
}

/// The part of a write that reached the disk.
inline void apply_write(std::string& file, const change& one, tally& row, bool torn) {
  std::string bytes = one.bytes;
  std::size_t kept = bytes.size();
  if (torn) {
    const std::uint64_t sectors = (bytes.size() + 511) / 512;
    kept = std::min<std::size_t>(bytes.size(), row.below(sectors + 1) * 512);
    // The size went ahead of the data, or one sector did not come.
    if (row.below(2) == 0)
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end(), '\0'),
          kept = bytes.size();
  }
  const std::size_t end = static_cast<std::size_t>(one.offset) + kept;
  if (file.size() < end) file.resize(end, '\0');
  file.replace(static_cast<std::size_t>(one.offset), kept, bytes, 0, kept);
}

inline void apply(model& to, const change& one, tally& row, bool torn) {
  using kind = change::kind;
  const auto parent = to.find(one.parent);
  if (parent == to.end()) return;
  auto& entries = parent->second.entries;
  const auto entry = entries.find(one.name);
  switch (one.what) {
    case kind::make:
      entries[one.name] = one.inode;
      to[one.inode].is_directory = one.is_directory;
      break;
    case kind::write: apply_write(parent->second.bytes, one, row, torn); break;
    case kind::size: parent->second.bytes.resize(static_cast<std::size_t>(one.offset), '\0'); break;
    case kind::remove:
      if (entry != entries.end()) entries.erase(entry);
      break;
    case kind::rename: {
      if (entry == entries.end() || !to.contains(one.to_parent)) break;
      const std::uint64_t inode = entry->second;
      entries.erase(entry);
      to[one.to_parent].entries[one.to_name] = inode;
      break;
    }
    case kind::exchange: {
      const auto other = to.find(one.to_parent);
      if (entry == entries.end() || other == to.end()) break;
      const auto there = other->second.entries.find(one.to_name);
      if (there != other->second.entries.end()) std::swap(entry->second, there->second);
      break;
    }
    case kind::sync:
    case kind::sync_all: break;
  }
}

/// Whether `log[i]` is on disk for sure once the first `until` calls are done.
inline bool is_durable(const std::vector<change>& log, std::size_t i, std::size_t until) {
  using kind = change::kind;
  const change& one = log[i];
  for (std::size_t k = i + 1; k < until; ++k) {
    if (log[k].what == kind::sync_all) return true;
    if (log[k].what != kind::sync) continue;
    if (log[k].parent == one.parent && (one.to_parent == 0 || one.to_parent == one.parent))
      return true;
  }
  return false;
}

/// All that can be reached from an entry, as text.
inline void append_tree(std::string& out, const model& of, std::uint64_t inode, int depth = 0) {
  const auto at = of.find(inode);
  if (at == of.end() || depth > 20) {
    out += "?";
    return;
  }
  out += at->second.is_directory ? 'd' : 'f';
  out += std::to_string(at->second.bytes.size()) + ':' + at->second.bytes;
  for (const auto& [name, child] : at->second.entries) {
    out += '/' + name + '\0';
    append_tree(out, of, child, depth + 1);
  }
  out += ';';
}

inline void write_tree(const model& of, std::uint64_t inode, const fs::path& to) {
  const auto at = of.find(inode);
  // An entry whose inode never reached the disk is an empty file.
  if (at == of.end() || !at->second.is_directory) {
    write_file(to, at == of.end() ? std::string_view() : std::string_view(at->second.bytes));
    return;
  }
  fs::create_directory(to);
  for (const auto& [name, child] : at->second.entries) write_tree(of, child, to / name);
}

/// One save, as it was written down, and what its crash states were found to be.
struct recorded {
  form as;
  bool fresh = false;
  std::uint64_t root = 0;
  model before{};
  std::vector<change> log{};
  std::vector<std::vector<std::uint8_t>> durable{};  ///< of each number of calls, of each before it
  std::map<std::string, found> known{};
};

inline recorded record_save(tally& row, const fs::path& folder, const form& as, bool fresh) {
  recorded out{.as = as, .fresh = fresh};
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / as.file).string();
  if (!fresh && !save_step(path, as, 1)) row.violation("a save without faults fails");
  read_model(out.before, folder);
  out.root = inode_of(folder);
  const bool sync = !row.without();
  const ended how = traced([&] { return as_status([&] { return save_step(path, as, 2, sync); }); },
                           [&](stop& at, bool before, std::uint64_t) {
                             if (!before) record(out.log, at);
                             return true;
                           });
  if (how.status != 0) row.violation("a save without faults fails");
  for (const change& one : out.log) {
    if (one.what == change::kind::sync_all && !one.name.empty()) row.why_not = one.name;
  }
  for (std::size_t until = 0; until <= out.log.size(); ++until) {
    auto& line = out.durable.emplace_back(until);
    for (std::size_t i = 0; i < until; ++i) line[i] = is_durable(out.log, i, until) ? 1 : 0;
  }
  return out;
}

inline void crash_state(tally& row, recorded& of, const fs::path& folder) {
  using kind = change::kind;
  const std::size_t until = row.below(4) == 0 ? of.log.size() : row.below(of.log.size() + 1);
  // Most kept, few kept, or half of them.
  const std::uint64_t keep = row.below(3) == 0 ? 50 : row.below(2) == 0 ? 90 : 15;
  model disk = of.before;
  for (std::size_t i = 0; i < until; ++i) {
    const change& one = of.log[i];
    const bool durable = of.durable[until][i] != 0;
    if (!durable && row.below(100) >= keep) {
      // The name may be there without what it names, and the inode without the name.
      if (one.what == kind::make) disk[one.inode].is_directory = one.is_directory;
      continue;
    }
    apply(disk, one, row, !durable && row.below(2) == 0);
  }
  ++row.trials;
  const auto& entries = disk[of.root].entries;
  auto target = entries.find(std::string(of.as.file));
  if (target == entries.end())
    target = std::find_if(entries.begin(), entries.end(),
                          [](const auto& one) { return is_aside(one.first); });
  std::string text;
  if (target != entries.end()) append_tree(text, disk, target->second);
  const auto [at, is_new] = of.known.try_emplace(std::move(text));
  if (is_new) {
    ++row.seen["distinct"];
    fs::remove_all(folder);
    fs::create_directories(folder);
    if (target != entries.end()) write_tree(disk, target->second, folder / of.as.file);
    at->second = look((folder / of.as.file).string());
  }
  const found& there = at->second;
  const bool old = of.fresh ? there.what == found::kind::none : there.is(1);
  if (until == of.log.size() ? !there.is(2) : !old && !there.is(2))
    row.violation(std::string(of.as.name) + (of.fresh ? ", new" : ", over another") + ", after " +
                  std::to_string(until) + " of " + std::to_string(of.log.size()) +
                  " calls: " + to_string(there));
}

inline void crash_states(tally& row) {
  if (!can_trace) {
    row.why_not = "the registers of this processor are not known to it";
    return;
  }
  const fs::path folder = fresh_folder(row, "crash_states");
  std::vector<recorded> all;
  for (const form& as : forms) {
    for (const bool fresh : {false, true})
      all.push_back(record_save(row, folder / "recorded", as, fresh));
  }
  if (!row.why_not.empty()) return row.violation("the model does not know " + row.why_not);
  while (row.more()) crash_state(row, all[row.trials % all.size()], folder / "state");
}

}  // namespace reliability
