// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A manager starts, saves a step (plain, of items, or as a delta), saves one again that deltas
// stand on, removes steps, and ends; deltas are saved, squashed, and applied in place. Each is
// killed at any of its system calls, or one of these fails, or the power is cut there. Every step
// that was kept is there, whole, and the next start leaves no litter.

#include <zarrpoint/delta.hpp>
#include <zarrpoint/manager.hpp>

#include "faults.hpp"
#include "harness.hpp"
#include "power_cuts.hpp"
#include "trace.hpp"

#include <array>
#include <optional>
#include <set>

namespace reliability {

/// What is step_trial once.
struct step_trial {
  std::string name;
  std::function<zp::result<void>()> run;
  /// What is wrong afterwards; `is_done`: the run has said that it succeeded.
  std::function<std::string(bool is_done)> fault;
};

inline found look_at_step(const std::string& path) {
  const auto opened = zp::open_delta(path, {}, alone());
  return opened ? look_at(*opened) : failed_with(opened.failure());
}

/// Runs of a manager, one after another, in one directory.
class manager_runs {
 public:
  static constexpr std::uint64_t kinds = 16;

  manager_runs(const tally& row, const fs::path& folder, bool sync)
      : row_(row), path_((folder / "run").string()), sync_(sync) {}

  /// `kind`: verified or not; items, plain, deltas, or a step of these that is saved again; and
  /// what did not change is shared, or not.
  step_trial next(std::uint64_t kind) {
    std::vector<zp::step_record> before = records();
    while (before.size() < 4) {
      if (!run(++step_, kind, {})) return {"setup", {}, [](bool) { return "a run fails"; }};
      before = records();
    }
    // One on which others may stand. Steps of items are replaced by such ones alone.
    const zp::step_record& old = before[before.size() - 2];
    const bool again = kind / 2 % 4 == 3 && old.items.empty();
    const std::int64_t made = again ? old.step : ++step_;
    std::set<std::int64_t> kept;
    for (const zp::step_record& one : before) kept.insert(one.step);
    std::vector<zp::step_record> after = before;
    if (!again)
      after.push_back(
          {.step = made, .name = "new", .metrics = metrics_of(made), .is_managed = true});
    for (const zp::step_removal& one : zp::removals(after, options_of(kind).keep, {}, made))
      if (!one.stays) kept.erase(one.step);
    kept.insert(before.back().step);  // the newest of before, whatever the policy removes
    return {"manager of kind " + std::to_string(kind),
            [this, made, kind] { return run(made, kind, row_.without()); },
            [this, made, kept](bool is_done) {
              std::string wrong = fault(kept, is_done ? std::optional(made) : std::nullopt);
              if (!wrong.empty()) fs::remove_all(path_);
              return wrong;
            }};
  }

 private:
  static std::vector<zp::step_metric> metrics_of(std::int64_t step) {
    return {{"loss", static_cast<double>(step % 5)}};
  }

  /// A tensor that no step changes.
  static const std::vector<float>& same_in_all() {
    static const std::vector<float> out(3000, 0.25F);
    return out;
  }

  zp::manager_options options_of(std::uint64_t kind) const {
    zp::manager_options out;
    out.keep = zp::keep_policy::newest(3) | zp::keep_policy::best(1, "loss", zp::better::lower);
    out.background = false;  // so that each run makes the same calls
    out.verify = kind % 2 == 1;
    out.share_unchanged = kind >= 8;
    if (kind / 2 % 4 >= 2) out.whole_when = zp::save_policy::every_steps(4);
    out.storage.sync = sync_;
    out.how = alone();
    return out;
  }

  std::vector<zp::step_record> records() const {
    const auto seen = zp::checkpoint_manager::open(path_, options_of(0));
    return seen ? seen->records() : std::vector<zp::step_record>();
  }

  /// A whole run of one step. Said by its result: also what could not be removed.
  zp::result<void> run(std::int64_t step, std::uint64_t kind, bool without) const {
    if (without) fs::remove_all(path_);  // the old ones go first
    ZARRPOINT_TRY(manager, zp::checkpoint_manager::open(path_, options_of(kind)));
    const values of(step);
    std::vector<zp::leaf> leaves = of.leaves();
    leaves.emplace_back("same", same_in_all());
    if (kind / 2 % 4 != 0) {
      ZARRPOINT_CHECK(manager.save(step, std::move(leaves), metrics_of(step)));
    } else {
      std::vector<zp::step_item> items(2);
      items[0] = {.name = "model", .leaves = std::move(leaves)};
      items[1] = {.name = "settings.json", .document = step};
      ZARRPOINT_CHECK(manager.save_items(step, std::move(items), metrics_of(step)));
    }
    ZARRPOINT_CHECK(manager.close());
    for (const std::string& said : manager.warnings()) return zp::error{zp::errc::io, said};
    return {};
  }

  /// What is wrong with the steps, of which those in `kept` must be there; or nothing.
  std::string fault(const std::set<std::int64_t>& kept, std::optional<std::int64_t> made) const {
    auto opened = zp::checkpoint_manager::open(path_, options_of(0));
    if (!opened) return "the next start fails: " + to_string(opened.failure());
    const std::vector<std::int64_t> steps = opened->steps();
    const auto has = [&](std::int64_t step) {
      return std::find(steps.begin(), steps.end(), step) != steps.end();
    };
    for (const std::int64_t step : kept)
      if (!has(step)) return "step " + std::to_string(step) + " is gone";
    if (made && !has(*made)) return "the step that was saved is not there";
    for (const zp::step_record& one : opened->records()) {
      if (!one.fault.empty()) return one.name + ": " + one.fault;
      const std::string at = path_ + '/' + one.name;
      const found left = look_at_step(one.items.empty() ? at : at + "/model");
      // Its attributes are the mark of the manager.
      if (left.step != one.step || left.what != found::kind::attributes)
        return one.name + " is not whole: " + to_string(left);
      const auto whole = zp::open_delta(one.items.empty() ? at : at + "/model", {}, alone());
      const auto same = whole ? whole->load<std::vector<float>>("same")
                              : zp::result<std::vector<float>>(whole.failure());
      if (!same || *same != same_in_all()) return "what " + one.name + " shares is not whole";
    }
    if (const auto latest = opened->latest(); !latest || *latest != steps.back())
      return "the newest one was not found";
    std::vector<fs::path> aside;
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("step_") || name == ".zarrpoint_manager") continue;
      // A save that could not sync has said so, and that it keeps what was there before.
      if (made || name.find(".old.") == std::string::npos) return name + " is left behind";
      aside.push_back(entry.path());
    }
    for (const fs::path& one : aside) fs::remove_all(one);
    return {};
  }

  const tally& row_;
  const std::string path_;
  const bool sync_;
  std::int64_t step_ = 0;
};

/// Changes of deltas: a base, a delta on it and one on that, and a squashed one beside them.
class delta_changes {
 public:
  static constexpr std::uint64_t kinds = 4;

  delta_changes(const tally& row, const fs::path& folder, bool sync)
      : row_(row), folder_(folder / "deltas"), sync_(sync) {}

  step_trial next(std::uint64_t kind) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    step_ += 10;
    if (!setup()) return {"setup", {}, [](bool) { return "a save without faults fails"; }};
    static constexpr const char* names[kinds] = {"applied over its base", "squashed", "saved again",
                                                 "made whole in its place"};
    static constexpr const char* targets[kinds] = {"base", "squashed", "second", "second"};
    const std::string target = targets[kind];
    return {std::string("delta ") + names[kind],
            [this, kind, target]() -> zp::result<void> {
              if (row_.without()) fs::remove_all(folder_ / target);
              return change(kind);
            },
            [this, kind, target](bool is_done) { return fault(kind, target, is_done); }};
  }

 private:
  std::string at(const char* name) const { return (folder_ / name).string(); }

  zp::result<void> save_on(const char* name, const char* base, std::int64_t step) const {
    const values of(step);
    ZARRPOINT_CHECK(zp::save(
        at(name), of.leaves(),
        {.sync = sync_, .attributes = attributes_of(step), .format = zp::delta::format{at(base)}},
        alone()));
    return {};
  }

  zp::result<void> setup() const {
    ZARRPOINT_CHECK(save_step(at("base"), forms[0], step_, sync_));
    ZARRPOINT_CHECK(save_on("first", "base", step_ + 1));
    ZARRPOINT_CHECK(save_on("second", "first", step_ + 2));
    return save_on("squashed", "base", step_ + 1);
  }

  zp::result<void> change(std::uint64_t kind) const {
    const zp::delta_chain chain{at("base"), {at("first"), at("second")}};
    const zp::save_options over{.sync = sync_};
    const auto nothing = [](const zp::save_report&) {};
    switch (kind) {
      case 0: return zp::apply_deltas(at("base"), chain, over, alone()).transform(nothing);
      case 1: return zp::squash_deltas(at("squashed"), chain, over, alone()).transform(nothing);
      case 2: return save_on("second", "first", step_ + 3);
      default: return zp::apply_deltas(at("second"), chain, over, alone()).transform(nothing);
    }
  }

  std::string fault(std::uint64_t kind, const std::string& target, bool is_done) const {
    const std::int64_t before[kinds] = {step_, step_ + 1, step_ + 2, step_ + 2};
    const std::int64_t after[kinds] = {step_ + 2, step_ + 2, step_ + 3, step_ + 2};
    const found left = look_at_step(at(target.c_str()));
    if (!left.is(after[kind]) && (is_done || !left.is(before[kind])))
      return target + " is " + to_string(left);
    if (kind == 0 && left.is(after[kind])) return {};  // nothing stands on it now
    const char* const others[] = {"base", "first", "second"};
    for (std::int64_t i = 0; i < 3; ++i) {
      if (target == others[i]) continue;
      const found other = look_at_step(at(others[i]));
      if (!other.is(step_ + i)) return std::string(others[i]) + " is " + to_string(other);
    }
    return {};
  }

  const tally& row_;
  const fs::path folder_;
  const bool sync_;
  std::int64_t step_ = 0;
};

/// Both, by one number.
class step_changes {
 public:
  static constexpr std::uint64_t kinds = manager_runs::kinds + delta_changes::kinds;

  step_changes(const tally& row, const fs::path& folder, bool sync)
      : managers_(row, folder, sync), deltas_(row, folder, sync) {}
  step_trial next(std::uint64_t kind) {
    kind %= kinds;
    return kind < manager_runs::kinds ? managers_.next(kind)
                                      : deltas_.next(kind - manager_runs::kinds);
  }

 private:
  manager_runs managers_;
  delta_changes deltas_;
};

inline void step_kills(tally& row) {
  if (!can_trace) {
    row.why_not = "the registers of this processor are not known to it";
    return;
  }
  step_changes changes(row, fresh_folder(row, "steps"), true);
  std::array<std::uint64_t, step_changes::kinds> calls{};
  while (row.more()) {
    const std::uint64_t kind = row.trials % step_changes::kinds;
    // A short run takes every k-th call.
    calls[kind] += row.of().trials < 2000 ? 1 + row.below(63) : 1;
    const std::uint64_t call = calls[kind];
    const step_trial one = changes.next(kind);
    if (!one.run) return row.violation(one.name + ": " + one.fault(false));
    const ended how =
        traced([&] { return as_status(one.run); },
               [&](stop&, bool before, std::uint64_t at) { return !before || at < call; });
    const std::string fault = one.fault(how.status == 0);
    ++row.trials;
    if (!fault.empty())
      row.violation(one.name + ", call " + std::to_string(call) + ": " + fault + ", exit status " +
                    std::to_string(how.status));
    if (how.status > 0) row.violation(one.name + " fails");
    ++row.seen[how.status == 0 ? "ended" : "killed"];
    if (how.status == 0) calls[kind] = 0;
  }
}

inline void step_faults(tally& row) {
  if (!can_trace) {
    row.why_not = "the registers of this processor are not known to it";
    return;
  }
  step_changes changes(row, fresh_folder(row, "step_faults"), true);
  std::map<std::uint64_t, std::uint64_t> calls;
  while (row.more()) {
    const std::uint64_t kind = row.below(step_changes::kinds);
    const step_trial one = changes.next(kind);
    if (!one.run) return row.violation(one.name + ": " + one.fault(false));
    constexpr std::uint64_t codes = std::size(fault_codes) + 1;
    const std::uint64_t code = row.below(codes);
    const injection what{calls[kind] == 0 ? UINT64_MAX : 1 + row.below(calls[kind]),
                         code == codes - 1 ? short_count : fault_codes[code], row.below(2) == 1};
    const fault* hit = nullptr;
    const ended how = with_fault(
        [&] {
          const int status = as_status(one.run);
          return row.without() ? 0 : status;  // as programs do that look at no result
        },
        what, hit);
    if (calls[kind] == 0) calls[kind] = how.calls;
    std::string wrong = one.fault(how.status == 0);
    if (hit == nullptr) {
      if (!wrong.empty() || how.status != 0)
        row.violation(one.name + " without faults: " + wrong + ", exit status " +
                      std::to_string(how.status));
      continue;
    }
    ++row.trials;
    // What was not written is seen, or is the note of who has the lock; what was not synced is not.
    const bool is_sync = hit->name == "fsync" || hit->name == "fdatasync" || hit->name == "syncfs";
    if (wrong.empty() && how.status == 0 && is_sync && !row.without() && !may_succeed(*hit, what))
      wrong = "it succeeds";
    if (wrong.empty() && (how.status < 0 || how.status == status_thrown)) wrong = "it ends badly";
    if (!wrong.empty())
      row.violation(one.name + ", call " + std::to_string(what.call) + ", " +
                    std::string(hit->name) + " says " + std::to_string(what.code) +
                    (what.lasting ? " from then on: " : " once: ") + wrong + ", exit status " +
                    std::to_string(how.status));
    ++row.seen[how.status == 0                ? "succeeded"
               : how.status == status_unknown ? "unknown"
                                              : "refused"];
  }
}

/// Whether the file system itself did not survive a cut, which is not ours.
inline bool is_broken(disk& on, const disk_format& kind) {
  on.unmount();
  const std::string check = kind.name == "ext4" ? "e2fsck -fn " : "xfs_repair -n ";
  const std::string command =
      "PATH=$PATH:/usr/sbin:/sbin; " + check + on.image().string() + " >/dev/null 2>&1";
  return kind.name != "btrfs" && std::system(command.c_str()) != 0;
}

/// One cut. What is wrong; nothing where the disk cannot be cut.
inline std::optional<std::string> step_cut(tally& row, disk& on, const step_trial& one,
                                           std::uint64_t& calls) {
  const std::uint64_t at_call = calls == 0 ? UINT64_MAX : 1 + row.below(calls + 5);
  const auto how = static_cast<std::uint32_t>(row.below(8) == 0 ? 0 : 1 + row.below(2));
  bool is_cut = false;
  const ended made = traced([&] { return as_status(one.run); },
                            [&](stop&, bool before, std::uint64_t call) {
                              if (!before || call < at_call) return true;
                              is_cut = on.cut(how);
                              return false;
                            });
  if (calls == 0) calls = made.calls;
  if (!is_cut && !on.cut(how)) return std::nullopt;
  on.unmount();
  if (!on.mount()) return "the file system cannot be mounted again";
  const std::string fault = one.fault(made.status == 0);
  if (fault.empty()) return fault;
  return one.name + ", cut by " + std::to_string(how) + " at call " + std::to_string(at_call) +
         ": " + fault + ", exit status " + std::to_string(made.status);
}

inline void step_cuts_on(tally& row, const disk_format& kind_of_disk, std::uint64_t trials,
                         double until) {
  const fs::path folder = fresh_folder(row, "step_cuts");
  std::map<std::uint64_t, std::uint64_t> calls;
  const std::uint64_t begin = row.trials;
  const auto cannot = [&](const std::string& why) {
    row.why_not += (row.why_not.empty() ? "" : "; ") + std::string(kind_of_disk.name) + ": " + why;
  };
  const auto is_time = [&] {
    return row.more() && row.trials - begin < trials && row.spent() < until &&
           !(row.without() && row.violations > 3);
  };
  while (is_time()) {  // a disk for each that breaks
    disk on(folder, kind_of_disk);
    if (!on.why_not().empty()) return cannot(on.why_not());
    step_changes changes(row, on.at(), !row.without());
    bool is_whole = true;
    while (is_whole && is_time()) {
      std::optional<std::string> wrong;
      try {
        const std::uint64_t kind = row.below(step_changes::kinds);
        const step_trial one = changes.next(kind);
        wrong = one.run ? step_cut(row, on, one, calls[kind]) : one.name + ": " + one.fault(false);
      } catch (const fs::filesystem_error& thrown) {
        wrong = thrown.what();
      }
      if (!wrong) return cannot("no FS_IOC_SHUTDOWN (" + std::string(std::strerror(errno)) + ")");
      ++row.trials;
      is_whole = wrong->empty();
      if (is_whole) continue;
      if (is_broken(on, kind_of_disk)) {
        ++row.seen["file systems that broke"];
      } else {
        row.violation(*wrong);
      }
    }
  }
  row.seen[std::string(kind_of_disk.name)] += row.trials - begin;
}

inline void step_cuts(tally& row) {
  row.why_not = can_trace ? own_mounts() : "the registers of this processor are not known to it";
  if (!row.why_not.empty()) return;
  constexpr std::size_t kinds = std::size(disk_formats);
  for (std::size_t i = 0; i < kinds; ++i) {
    const double share = (row.of().seconds - row.spent()) / static_cast<double>(kinds - i);
    step_cuts_on(row, disk_formats[i], (row.of().trials - row.trials) / (kinds - i),
                 row.spent() + share);
  }
}

}  // namespace reliability
