// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the rows of the scoreboard share: how long to run, what was counted, the checkpoint that is
// saved step by step, and what is found of it afterwards.

#include <zarrpoint/zarrpoint.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reliability {

namespace zp = zarrpoint;
namespace fs = std::filesystem;

/// Holes of the library that are known and not mended yet: what they show is counted apart, and is
/// not a violation. A line goes when its hole is mended.
struct known_hole {
  std::string_view sign;
  std::string_view why;
};
inline constexpr known_hole known_holes[] = {
    {"attributes",
     "the root's document, exchanged with that of an array, opens as the array alone"},
};

/// How much a row does: it ends after so many trials, or so many seconds.
struct budget {
  std::uint64_t seed = 1;
  std::uint64_t trials = 1000;
  double seconds = 1e9;
  std::string folder;
  bool without = false;  ///< the negative control: the protection is taken out
};

/// Counts of one row.
class tally {
 public:
  explicit tally(budget of) : budget_(std::move(of)), random(budget_.seed) {}

  const budget& of() const { return budget_; }
  bool without() const { return budget_.without; }
  /// Whether there is time for one trial more.
  bool more() const { return trials < budget_.trials && spent() < budget_.seconds; }
  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random() % bound; }
  void violation(const std::string& text) {
    if (++violations <= 5 && !without())
      std::fprintf(stderr, "VIOLATION (seed %ju, trial %ju): %s\n", std::uintmax_t{budget_.seed},
                   std::uintmax_t{trials}, text.c_str());
  }
  /// A violation, unless it shows a hole that is known.
  void shows(std::string_view sign, const std::string& text) {
    ++seen[std::string(sign)];
    for (const known_hole& hole : known_holes) {
      if (hole.sign == sign) {
        ++known;
        return;
      }
    }
    violation(text);
  }

 private:
  budget budget_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

 public:
  std::mt19937_64 random;
  std::uint64_t trials = 0, violations = 0, known = 0;
  std::map<std::string, std::uint64_t> seen{};  ///< of each outcome, how many
  std::string why_not{};                        ///< why the row cannot run here
};

/// The ways in which a checkpoint is stored.
struct form {
  std::string_view name;
  std::string_view file;
  int zarr_format;
};
inline constexpr form forms[] = {{"directory of v3", "ckpt", 3},
                                 {"directory of v2", "ckpt2", 2},
                                 {"zip of v3", "ckpt.zip", 3},
                                 {"zip of v2", "ckpt2.zip", 2}};

/// The values of a step. Every element tells its step, so that a mixture is seen.
struct values {
  explicit values(std::int64_t step)
      : at{step, step + 1, step + 2}, note("step " + std::to_string(step)) {
    for (int i = 0; i < 600; ++i) {
      w.push_back(static_cast<float>(step % 1000 * 1000 + i));
      z.push_back(static_cast<double>(step) + i * 0.5);
    }
    note.append(static_cast<std::size_t>(20 + step % 7), 'n');
  }
  std::vector<zp::leaf> leaves() const {
    std::vector<zp::leaf> out;
    out.emplace_back("a/w", w);
    out.emplace_back("a/z", z);
    out.emplace_back("at", at);
    out.emplace_back("note", note);
    return out;
  }
  friend bool operator==(const values&, const values&) = default;

  std::vector<float> w{};
  std::vector<double> z{};
  std::vector<std::int64_t> at;
  std::string note;
};

inline zp::json attributes_of(std::int64_t step) {
  zp::json out;
  out.set("step of the attributes", step);
  return out;
}

inline zp::save_options options_of(const form& as, std::int64_t step, bool sync) {
  zp::leaf_rule packed{.glob = "a/z", .codecs = zp::zstd_codecs()};
  if (as.zarr_format == 3) packed.chunk_shape = zp::dims{200};
  return {.zarr_format = as.zarr_format,
          .rules = {std::move(packed)},
          .sync = sync,
          .attributes = attributes_of(step)};
}

/// The calling thread alone, so that each run makes the same system calls.
inline const zp::context& alone() {
  static const zp::context how;
  return how;
}

/// An empty result for success.
inline zp::result<void> save_step(const std::string& path, const form& as, std::int64_t step,
                                  bool sync = true) {
  const values of(step);
  auto saved = zp::save(path, of.leaves(), options_of(as, step, sync), alone());
  if (!saved) return std::move(saved).failure();
  return {};
}

/// What is found at a path.
struct found {
  enum class kind { whole, none, failed, warned, attributes, mixed } what = kind::none;
  std::int64_t step = 0;
  std::string text{};  ///< of an error: its code and message

  bool is(std::int64_t wanted) const { return what == kind::whole && step == wanted; }
};

inline std::string to_string(const found& of) {
  switch (of.what) {
    case found::kind::whole: return "step " + std::to_string(of.step);
    case found::kind::none: return "nothing";
    case found::kind::failed: return of.text;
    case found::kind::warned: return "other attributes, with a warning";
    case found::kind::attributes: return "other attributes";
    case found::kind::mixed: break;
  }
  return "a mixture: " + of.text;
}

inline found failed_with(const zp::error& failure) {
  if (failure.code == zp::errc::not_found) return {found::kind::none, 0, to_string(failure)};
  return {found::kind::failed, 0, to_string(failure)};
}

/// Whether a checkpoint that opens warns of its attributes, where the library can do that.
template <class Checkpoint>
bool warns(const Checkpoint& of) {
  if constexpr (requires { of.warnings(); })
    return !of.warnings().empty();
  else
    return false;
}

/// Loads all of an open checkpoint strictly, and says whose values are there.
inline found look_at(const zp::checkpoint& of, bool verify = true) {
  const zp::load_options strict{.verify = verify};
  auto at = of.load<std::vector<std::int64_t>>("at", strict);
  if (!at) return failed_with(at.failure());
  auto w = of.load<std::vector<float>>("a/w", strict);
  if (!w) return failed_with(w.failure());
  auto z = of.load<std::vector<double>>("a/z", strict);
  if (!z) return failed_with(z.failure());
  auto note = of.load<std::string>("note", strict);
  if (!note) return failed_with(note.failure());
  const std::int64_t step = at->empty() ? 0 : at->front();
  const values wanted(step < 0 ? 0 : step % 1'000'000'000);
  if (*at != wanted.at || *w != wanted.w || *z != wanted.z || *note != wanted.note)
    return {found::kind::mixed, step, "of about step " + std::to_string(step)};
  if (of.attributes() != attributes_of(step))
    return {warns(of) ? found::kind::warned : found::kind::attributes, step, {}};
  return {found::kind::whole, step, {}};
}

/// Whether an entry is what stepped aside for a save that did not end: where names cannot be
/// exchanged, it may be all that there is.
inline bool is_aside(const std::string& name) {
  return !ZARRPOINT_LINUX && zp::detail::is_temporary_name(name, zp::detail::temporary_kind::aside);
}

inline std::string aside_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (is_aside(entry.path().filename())) return entry.path();
  return {};
}

inline found look(const std::string& path, bool verify = true, const zp::context& how = alone()) {
  const auto opened = zp::open(path, how);
  if (!opened) {
    const found out = failed_with(opened.failure());
    const std::string aside = out.what == found::kind::none ? aside_of(path) : "";
    return aside.empty() ? out : look(aside, verify, how);
  }
  return look_at(*opened, verify);
}

/// Removes what writers that are gone left beside a checkpoint. Returns how many there were.
inline std::uint64_t remove_litter(const fs::path& folder) {
  std::uint64_t out = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(".")) {
      fs::remove_all(entry.path(), ignored);
      ++out;
    }
  }
  return out;
}

inline std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The files of a checkpoint: of a directory those below it, of a zip the one.
inline std::vector<fs::path> files_of(const fs::path& at) {
  if (!fs::is_directory(at)) return {at};
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(at)) {
    if (entry.is_regular_file()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// An empty folder for a row.
inline fs::path fresh_folder(const tally& row, std::string_view name) {
  fs::path out = fs::path(row.of().folder) / name;
  fs::remove_all(out);
  fs::create_directories(out);
  return out;
}

/// Prints the line of a row. The exit status: 1 for a violation, or for a control without one; 77
/// where the row cannot run.
inline int report(const tally& row, std::string_view name) {
  const bool idle = row.trials == 0 && !row.why_not.empty();
  if (idle) {
    std::printf("%-14s cannot run here: %s\n", std::string(name).c_str(), row.why_not.c_str());
    return 77;
  }
  std::string seen;
  for (const auto& [what, times] : row.seen) {
    if (times != 0) seen += ", " + what + " " + std::to_string(times);
  }
  const char* const verdict = !row.without()        ? ""
                              : row.violations != 0 ? "caught: "
                                                    : "NOT CAUGHT: ";
  std::printf("%-14s %s%ju trials, %ju violations, %ju known, %.1f s, seed %ju%s%s%s%s\n",
              std::string(name).c_str(), verdict, std::uintmax_t{row.trials},
              std::uintmax_t{row.violations}, std::uintmax_t{row.known}, row.spent(),
              std::uintmax_t{row.of().seed}, seen.c_str(),
              row.why_not.empty() ? "" : " (not: ", row.why_not.c_str(),
              row.why_not.empty() ? "" : ")");
  return (row.violations != 0) != row.without() ? 1 : 0;
}

}  // namespace reliability
