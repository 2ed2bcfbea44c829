// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

/// One leaf of a load, as it was loaded.
struct leaf_load_report {
  std::string name;
  tensor_spec loaded;       ///< in memory: a cast, a shape of a rule, and a part count
  std::uint64_t bytes = 0;  ///< of these elements; 0 for text, as its spec has no length
  /// Bytes of all the leaf's objects in the store; nothing where others wrote them, or where it was
  /// loaded by a group of processes.
  std::optional<std::uint64_t> stored_bytes{};
  double seconds =
      0;  ///< from the look at its metadata until its elements are there; leaves overlap
};

/// What loads tell of themselves: `load_report report; load_all(opened, {.report = &report})`. The
/// same for `load`, `load_into`, `load_into_all`, values of several leaves, devices; and for groups
/// of processes by `group_load_options::storage`. One report may be given to several loads, which
/// add to it. It must not be read while one is under way. After an error it has what was loaded.
class load_report final : public detail::load_observer {
 public:
  std::vector<leaf_load_report> leaves{};  ///< in the order in which they were done
  /// Rules that match no leaf, and doubts about the checkpoint (`checkpoint::warnings`), each once.
  std::vector<std::string> warnings{};
  std::uint64_t bytes = 0;         ///< of the elements of all leaves, in memory
  std::uint64_t stored_bytes = 0;  ///< of the leaves that know theirs
  double seconds = 0;              ///< from the begin of the first leaf to the end of the last one

  void begin(std::string_view leaf, const checkpoint* from, const load_options& by) override;
  void end(std::string_view leaf, const tensor_spec& made) override;
  void warn(std::string text) override;

 private:
  struct leaf_under_way {
    std::chrono::steady_clock::time_point since{};
    std::optional<std::uint64_t> stored_bytes{};
  };
  /// Of this report alone: copies begin anew.
  struct work {
    work() = default;
    work(const work&) noexcept {}
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): it copies nothing
    work& operator=(const work&) noexcept { return *this; }

    std::mutex mutex;
    std::map<std::string, leaf_under_way, std::less<>> leaves;
    std::optional<std::chrono::steady_clock::time_point> since;
    std::weak_ptr<const void> checked;  ///< the checkpoint whose names were compared with `globs`
    std::vector<std::string> globs;
  };

  void check_once(const checkpoint& from, const load_options& by);
  void warn_once(std::string text);

  work work_;
};

}}  // namespace zarrpoint::v0
