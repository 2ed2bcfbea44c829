// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ways out of a checkpoint's directory: links in place of what it has, names in its documents, and
// links that come and go during a load. Nothing outside is opened, and nothing of it is loaded.

#include "documents.hpp"
#include "harness.hpp"
#include "trace.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <csignal>

namespace reliability {

/// Loads as a program does that joins names and opens what it gets.
inline found look_by_name(const std::string& path) {
  std::vector<float> w(600);
  std::ifstream in(path + "/a/w/c.0", std::ios::binary);
  in.read(reinterpret_cast<char*>(w.data()),
          static_cast<std::streamsize>(w.size() * sizeof(float)));
  const auto step = static_cast<std::int64_t>(w[0] / 1000);
  return {found::kind::whole, step, {}};
}

inline found look_for(const tally& row, const std::string& path) {
  return row.without() ? look_by_name(path) : look(path);
}

/// What a load opens beyond `root`, by the links of its descriptors; empty if nothing.
inline std::string opened_outside(const std::function<int()>& run, const fs::path& root) {
  std::string out;
  traced(run, [&](stop& at, bool before, std::uint64_t) {
    const bool opens =
        at.number() == SYS_openat || at.number() == SYS_openat2 || at.number() == call_open;
    if (before || !opens || at.value() < 0) return true;
    std::error_code failed;
    const std::string target =
        fs::read_symlink("/proc/" + std::to_string(at.pid()) + "/fd/" + std::to_string(at.value()),
                         failed)
            .string();
    const bool inside = target == root.parent_path().string() || target == root.string() ||
                        target.starts_with(root.string() + "/");
    if (!inside && !target.starts_with("/proc/") && !target.starts_with("/sys/") &&
        !target.starts_with("/dev/urandom") && !target.starts_with("/usr/") &&
        !target.starts_with("/etc/"))
      out = target;
    return true;
  });
  return out;
}

inline constexpr std::int64_t outside_step = 99;

inline void judge_escape(tally& row, const fs::path& root, const std::string& what) {
  const found there = look_for(row, root.string());
  ++row.trials;
  ++row.seen[there.what == found::kind::whole ? "same values" : "refused"];
  if (there.what == found::kind::mixed ||
      (there.what == found::kind::whole && there.step == outside_step))
    row.violation(what + ": " + to_string(there));
  if (row.without() || !can_trace || row.below(8) != 0) return;
  const std::string opened = opened_outside([&] { return look(root.string()), 0; }, root);
  if (!opened.empty()) row.violation(what + ": opens " + opened);
}

/// A link in place of each entry.
inline void links(tally& row, const fs::path& root, const fs::path& outside) {
  std::vector<fs::path> all;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    all.push_back(fs::relative(entry.path(), root));
  const fs::path& one = row.without() ? fs::path("a/w/c.0") : all[row.below(all.size())];
  const fs::path at = root / one, aside = root.parent_path() / "aside";
  fs::rename(at, aside);
  std::string what = one.string();
  switch (row.without() ? 0 : row.below(5)) {
    case 0:
      fs::create_symlink(outside / one, at);
      what += " is an absolute link";
      break;
    case 1:
      fs::create_symlink(fs::relative(outside / one, at.parent_path()), at);
      what += " is a relative link";
      break;
    case 2:
      fs::create_symlink("/proc/self/root" + (outside / one).string(), at);
      what += " is a link by way of /proc";
      break;
    case 3:
      ::mkfifo(at.c_str(), 0600);
      what += " is a pipe";
      break;
    default: fs::create_symlink(at.filename(), at); what += " is a link to itself";
  }
  judge_escape(row, root, what);
  fs::remove(at);
  fs::rename(aside, at);
}

inline const std::vector<std::string>& ways_out() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (const char* up :
         {"..", "../..", "a/../..", "./..", ".../..", "%2e%2e", "..\\", "//..", "a/w/../../.."}) {
      for (const char* of : {"/outside/ckpt/a/w", "/outside/ckpt/at", "/../etc/passwd", ""})
        out.push_back(std::string(up) + of);
    }
    for (const char* more : {"/etc/passwd", "/proc/self/mem", "/", "", ".", "a//w", "a/w/", "/a/w",
                             "a/./w", "CON", "a\nb"})
      out.emplace_back(more);
    out.emplace_back("a\0b", 3);
    out.emplace_back(300, 'x');
    return out;
  }();
  return all;
}

/// A name of a document leads out, and the seal is right.
inline void names(tally& row, const fs::path& root) {
  std::vector<document> all = documents_of(root);
  document& one = all[row.below(all.size())];
  std::vector<zp::json*> inside;
  zp::json value = one.value;
  all_nodes(inside, value);
  const std::string& way = ways_out()[row.below(ways_out().size())];
  for (int tries = 0; tries < 50; ++tries) {
    zp::json& at = *inside[row.below(inside.size())];
    auto* members = at.if_object();
    if (auto* text = at.if_string(); text != nullptr && row.below(2) == 0) {
      *text = way;
      break;
    }
    if (members == nullptr || members->empty()) continue;
    (*members)[row.below(members->size())].key = way;
    break;
  }
  if (row.below(4) != 0) seal(value);
  write_file(one.file, zp::dump_json(value));
  judge_escape(row, root, one.file.filename().string() + " with the name " + way);
  // By all names that it has itself, too.
  if (const auto opened = zp::open(root.string(), bounded())) {
    for (const std::string& name : opened->names()) {
      const auto loaded = opened->load<std::vector<float>>(name);
      if (loaded && !loaded->empty() && (*loaded)[0] == static_cast<float>(outside_step) * 1000)
        row.violation("the name " + name + " leads out");
    }
  }
  write_file(one.file, one.bytes);
}

/// A directory becomes a link to one outside and back, all the time.
inline void swaps(tally& row, const fs::path& root, const fs::path& outside, std::uint64_t rounds) {
  const std::string name = row.below(2) == 0 ? "a" : "a/w";
  const fs::path at = root / name, link = root.parent_path() / "link";
  fs::remove(link);
  fs::create_symlink(outside / name, link);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;)
      ::syscall(SYS_renameat2, AT_FDCWD, at.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  }
  for (std::uint64_t i = 0; i < rounds && row.more(); ++i) {
    const found there = look_for(row, root.string());
    ++row.trials;
    ++row.seen[there.what == found::kind::whole ? "same values" : "refused"];
    if (there.what == found::kind::mixed ||
        (there.what == found::kind::whole && there.step == outside_step))
      row.violation(name + " is a link by turns: " + to_string(there));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (fs::is_symlink(at))
    ::syscall(SYS_renameat2, AT_FDCWD, at.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
}

inline void escapes(tally& row) {
  const fs::path folder = fresh_folder(row, "escapes");
  fs::create_directories(folder / "outside");
  fs::create_directories(folder / "inside");
  const form& as = forms[0];
  const fs::path root = folder / "inside" / as.file, outside = folder / "outside" / as.file;
  if (!save_step(root.string(), as, 3, false) ||
      !save_step(outside.string(), as, outside_step, false))
    row.violation("a save without faults fails");
  while (row.more()) {
    for (int i = 0; i < 20 && row.more(); ++i) links(row, root, outside);
    for (int i = 0; i < 20 && row.more() && !row.without(); ++i) names(row, root);
    swaps(row, root, outside, 400);
    if (!look(root.string()).is(3)) row.violation("what was put right is not there");
  }
}

}  // namespace reliability
