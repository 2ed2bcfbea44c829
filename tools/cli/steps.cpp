// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint steps`, `keep`, `rm`, `prune` and `watch`: the steps of a training run.

#include <zarrpoint/manager/manager.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "text.hpp"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace cli {

namespace {

/// Of what is there: a manager that is to save would make the directory.
zp::result<void> check_is_there(const std::string& path) {
  std::error_code wrong;
  if (path.find("://") != path.npos || std::filesystem::exists(path, wrong) || wrong) return {};
  return zp::error{zp::errc::not_found, path + " does not exist"};
}

zp::result<zp::checkpoint_manager> open_run(const std::string& path, bool exclusive,
                                            const zp::context& how) {
  ZARRPOINT_CHECK(check_is_there(path));
  zp::manager_options options{.exclusive = exclusive};
  options.how = how;
  return zp::checkpoint_manager::open(path, std::move(options));
}

std::string time_text(zp::wall_time at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  char text[32];
  if (seconds == 0 || ::gmtime_r(&seconds, &parts) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Said of all that was passed over or could not be done.
void tell_warnings(zp::checkpoint_manager& of) {
  for (const std::string& said : of.warnings()) note(said);
}

std::string metrics_text(const zp::step_record& of) {
  std::string out;
  for (const auto& [name, value] : of.metrics)
    out += (out.empty() ? "" : ", ") + escaped(name) + ' ' + shortest(value);
  return out;
}

std::string state_text(const zp::step_record& of) {
  if (!of.fault.empty()) return "damaged";
  if (!of.is_managed) return "of others";
  std::string out = of.is_pinned ? "kept" : "";
  if (of.base) out += (out.empty() ? "" : ", ") + ("on " + std::to_string(*of.base));
  return out;
}

zp::json record_json(const zp::step_record& of) {
  zp::json::object metrics;
  for (const auto& [name, value] : of.metrics)
    metrics.push_back({std::string(*text_json(name).if_string()), number_json(value)});
  zp::json::array items;
  for (const std::string& one : of.items) items.push_back(text_json(one));
  zp::json out;
  out.set("step", of.step);
  out.set("name", text_json(of.name));
  out.set("saved_at", time_text(of.saved_at));
  out.set("bytes", of.bytes);
  out.set("metrics", std::move(metrics));
  out.set("items", std::move(items));
  out.set("managed", of.is_managed);
  out.set("kept", of.is_pinned);
  out.set("base", of.base ? zp::json(*of.base) : zp::json());
  out.set("fault", of.fault.empty() ? zp::json() : text_json(of.fault));
  return out;
}

zp::result<std::int64_t> parse_count(const std::string& text, const char* what) {
  std::int64_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong != std::errc() || end != text.data() + text.size() || out < 0)
    return zp::error{zp::errc::invalid_argument,
                     std::string(what) + ": \"" + text + "\" must be a number of 0 or more"};
  return out;
}

/// A time such as 90s, 15m, 12h or 7d; 500ms for those who wait.
zp::result<std::chrono::milliseconds> parse_age(const std::string& text, const char* what) {
  constexpr std::int64_t most = 100'000;  // of days: 273 years
  if (text.ends_with("ms")) {
    const auto count = parse_count(text.substr(0, text.size() - 2), what);
    if (count && *count <= most) return std::chrono::milliseconds(*count);
  }
  const std::int64_t unit = text.ends_with('d')   ? 86'400
                            : text.ends_with('h') ? 3'600
                            : text.ends_with('m') ? 60
                            : text.ends_with('s') ? 1
                                                  : 0;
  auto count = parse_count(text.substr(0, text.empty() ? 0 : text.size() - 1), what);
  if (unit == 0 || !count || *count > most * 86'400 / unit)
    return zp::error{
        zp::errc::invalid_argument,
        std::string(what) + ": \"" + text + "\" must be a time such as 90s, 15m, 12h or 7d"};
  return std::chrono::milliseconds(*count * unit * 1000);
}

/// M:METRIC:lower or M:METRIC:higher.
zp::result<zp::keep_policy> parse_best(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  const zp::error refused{zp::errc::invalid_argument,
                          "--best: \"" + text +
                              "\" must be a number, a metric and what is good of it, such as "
                              "3:loss:lower or 1:accuracy:higher"};
  if (first == text.npos || first == last) return refused;
  const auto count = parse_count(text.substr(0, first), "--best");
  const std::string good = text.substr(last + 1);
  if (!count || (good != "lower" && good != "higher")) return refused;
  return zp::keep_policy::best(static_cast<std::size_t>(*count),
                               text.substr(first + 1, last - first - 1),
                               good == "lower" ? zp::better::lower : zp::better::higher);
}

zp::result<zp::keep_policy> policy_of(const prune_arguments& of) {
  std::optional<zp::keep_policy> out;
  const auto add = [&](zp::keep_policy one) { out = out ? *out | std::move(one) : std::move(one); };
  if (!of.newest.empty()) {
    ZARRPOINT_TRY(count, parse_count(of.newest, "--newest"));
    add(zp::keep_policy::newest(static_cast<std::size_t>(count)));
  }
  if (!of.every.empty()) {
    ZARRPOINT_TRY(count, parse_count(of.every, "--every"));
    add(zp::keep_policy::every_steps(count));
  }
  for (const std::string& one : of.best) {
    ZARRPOINT_TRY(best, parse_best(one));
    add(std::move(best));
  }
  if (!of.max_age.empty()) {
    ZARRPOINT_TRY(age, parse_age(of.max_age, "--max-age"));
    out = out ? *out & zp::keep_policy::within(age) : zp::keep_policy::within(age);
  }
  if (!of.max_size.empty()) {
    std::uint64_t bytes = 0;
    if (!parse_bytes(of.max_size, bytes))
      return zp::error{zp::errc::invalid_argument,
                       "--max-size: \"" + of.max_size + "\" must be a size such as 500G"};
    out = out ? *out & zp::keep_policy::within_bytes(bytes) : zp::keep_policy::within_bytes(bytes);
  }
  if (out) return *std::move(out);
  return zp::error{zp::errc::invalid_argument,
                   "prune needs to know what stays: --newest, --every, --best, --max-age or "
                   "--max-size"};
}

}  // namespace

exit_status run_steps(const steps_arguments& of, const zp::context& how) {
  bool is_whole = true;
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(run, open_run(of.path, false, how));
    ZARRPOINT_TRY(latest, run.latest());
    const std::vector<zp::step_record> all = run.records();
    if (all.empty())
      return zp::error{zp::errc::not_found, of.path +
                                                " has no steps: a step is a directory such "
                                                "as step_00000100 or 100"};
    for (const zp::step_record& one : all) is_whole = is_whole && one.fault.empty();
    if (of.json) {
      zp::json::array steps;
      for (const zp::step_record& one : all) steps.push_back(record_json(one));
      zp::json out;
      out.set("path", text_json(of.path));
      out.set("latest", latest ? zp::json(*latest) : zp::json());
      out.set("steps", std::move(steps));
      return put_json(out);
    }
    tell_warnings(run);
    table rows({"step", "name", "saved", "size", "metrics", "items", ""});
    for (const zp::step_record& one : all) {
      std::string items;
      for (const std::string& item : one.items)
        items += (items.empty() ? "" : ", ") + escaped(item);
      const std::string size = one.fault.empty() && one.bytes > 0 ? byte_text(one.bytes) : "";
      rows.add({std::to_string(one.step) + (latest == one.step ? " *" : ""), escaped(one.name),
                time_text(one.saved_at), size, metrics_text(one), items, state_text(one)});
    }
    return put(rows.text(false));
  };
  if (const auto done = run(); !done) return fail(done.failure());
  return is_whole ? exit_status::ok : exit_status::no;
}

namespace {

/// What happens to the steps of a run, as one sees it who looks every so often.
class run_watcher {
 public:
  run_watcher(const watch_arguments& of, const zp::context& how) : of_(of), how_(how) {}

  zp::result<exit_status> run() {
    using clock = std::chrono::steady_clock;
    ZARRPOINT_TRY(interval, parse_age(of_.interval, "--interval"));
    std::optional<clock::time_point> end;
    if (!of_.timeout.empty()) {
      ZARRPOINT_TRY(timeout, parse_age(of_.timeout, "--timeout"));
      end = clock::now() + timeout;
    }
    for (;;) {
      ZARRPOINT_CHECK(look_if_changed());
      if (of_.once && is_saved_) return exit_status::ok;
      auto pause = std::max(interval, std::chrono::milliseconds(10));
      if (end) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(*end - clock::now());
        if (left.count() <= 0) return of_.once ? exit_status::no : exit_status::ok;
        pause = std::min(pause, left);
      }
      // A signal ends the wait.
      const auto most = std::chrono::milliseconds(1 << 30);
      static_cast<void>(::poll(nullptr, 0, static_cast<int>(std::min(pause, most).count())));
      if (how_.stop.stop_requested()) return zp::error{zp::errc::cancelled, "stopped"};
    }
  }

 private:
  using seen_entries = std::map<std::string, std::filesystem::file_time_type>;

  /// What lies in a directory, and when it changed: to look into each step is much more work.
  /// Nothing where it is none, as a URL.
  std::optional<seen_entries> entries() const {
    std::error_code wrong;
    seen_entries out;
    for (std::filesystem::directory_iterator at(of_.path, wrong), none; !wrong && at != none;
         at.increment(wrong)) {
      std::error_code gone;
      out[at->path().filename().string()] = at->last_write_time(gone);
    }
    if (wrong) return std::nullopt;
    return out;
  }

  zp::result<void> look_if_changed() {
    const std::optional<seen_entries> now = entries();
    if (now && now == before_ && doubtful_.empty()) return {};
    before_ = now;
    auto opened = open_run(of_.path, false, how_);
    if (!opened && opened.failure().code != zp::errc::not_found) return std::move(opened).failure();
    std::vector<zp::step_record> all;
    if (opened) all = opened->records();
    if (all.empty() && known_.empty() && !std::exchange(is_told_, true))
      note(of_.path + " has no steps yet");
    ZARRPOINT_CHECK(tell_new(all));
    ZARRPOINT_CHECK(tell_gone(all));
    is_first_ = false;
    return flush();
  }

  zp::result<void> tell_new(const std::vector<zp::step_record>& all) {
    std::set<std::int64_t> doubtful;
    for (const zp::step_record& one : all) {
      const auto known = known_.find(one.step);
      if (known != known_.end() && known->second.saved_at == one.saved_at &&
          known->second.fault.empty() == one.fault.empty())
        continue;
      // One that is being removed looks so for a moment.
      if (!one.fault.empty() && !doubtful_.contains(one.step) && !is_first_) {
        doubtful.insert(one.step);
        continue;
      }
      std::optional<double> seconds;
      if (one.saved_at > last_ && last_ != zp::wall_time{})
        seconds = std::chrono::duration<double>(one.saved_at - last_).count();
      last_ = std::max(last_, one.saved_at);
      const bool is_new = one.fault.empty() && !is_first_;
      is_saved_ = is_saved_ || is_new;
      known_[one.step] = one;
      ZARRPOINT_CHECK(tell(!one.fault.empty() ? "damaged"
                           : is_new           ? "saved"
                                              : "there",
                           one, seconds));
    }
    doubtful_ = std::move(doubtful);
    return {};
  }

  zp::result<void> tell_gone(const std::vector<zp::step_record>& all) {
    for (auto at = known_.begin(); at != known_.end();) {
      const bool is_there = std::any_of(all.begin(), all.end(), [&](const zp::step_record& one) {
        return one.step == at->first;
      });
      if (!is_there) ZARRPOINT_CHECK(tell("removed", at->second, std::nullopt));
      at = is_there ? std::next(at) : known_.erase(at);
    }
    return {};
  }

  /// `seconds`: since the step before.
  zp::result<void> tell(const std::string& event, const zp::step_record& of,
                        std::optional<double> seconds) const {
    if (of_.json) {
      zp::json out;
      out.set("event", event);
      const zp::json about = record_json(of);
      for (const zp::json::member& each : *about.if_object()) out.set(each.key, each.value);
      out.set("seconds", seconds ? number_json(*seconds) : zp::json());
      return put(dump_json(strict_json(out), zp::json_style::compact) + '\n');
    }
    const bool is_saved = event == "saved" || event == "there";
    std::string text =
        time_text(is_saved && of.saved_at != zp::wall_time{} ? of.saved_at
                                                             : std::chrono::system_clock::now());
    text += "  " + padded(event, 7) + "  step " + std::to_string(of.step);
    if (is_saved && of.bytes > 0) text += "  " + byte_text(of.bytes);
    if (is_saved && seconds) text += "  +" + fixed(*seconds, 1) + " s";
    if (const std::string metrics = metrics_text(of); is_saved && !metrics.empty())
      text += "  " + metrics;
    if (is_saved && !state_text(of).empty()) text += "  " + state_text(of);
    if (!is_saved && !of.fault.empty()) text += "  " + escaped(of.fault);
    return put(text + '\n');
  }

  const watch_arguments& of_;
  const zp::context& how_;
  std::optional<seen_entries> before_;
  std::map<std::int64_t, zp::step_record> known_;
  std::set<std::int64_t> doubtful_;
  zp::wall_time last_{};
  bool is_first_ = true, is_saved_ = false, is_told_ = false;
};

}  // namespace

exit_status run_watch(const watch_arguments& of, const zp::context& how) {
  const auto done = run_watcher(of, how).run();
  return done ? *done : fail(done.failure());
}

exit_status run_keep(const keep_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(run, open_run(of.path, false, how));
    for (const std::int64_t step : of.steps) {
      ZARRPOINT_CHECK(run.pin(step, !of.no_longer));
      ZARRPOINT_CHECK(put((of.no_longer ? "left to the policy  step " : "kept  step ") +
                          std::to_string(step) + '\n'));
    }
    return {};
  };
  if (const auto done = run(); !done) return fail(done.failure());
  return exit_status::ok;
}

exit_status run_rm(const rm_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(run, open_run(of.path, true, how));
    for (const std::int64_t step : of.steps) {
      ZARRPOINT_CHECK(run.remove(step, of.force));
      ZARRPOINT_CHECK(put("removed  step " + std::to_string(step) + '\n'));
    }
    tell_warnings(run);
    return run.close();
  };
  if (const auto done = run(); !done) return fail(done.failure());
  return exit_status::ok;
}

exit_status run_prune(const prune_arguments& of, const zp::context& how) {
  bool is_left = false;
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(keep, policy_of(of));
    ZARRPOINT_TRY(run, open_run(of.path, !of.dry_run, how));
    ZARRPOINT_CHECK(run.latest());  // what is damaged does not count
    std::map<std::int64_t, std::uint64_t> sizes;
    for (const zp::step_record& one : run.records()) sizes[one.step] = one.bytes;
    auto gone =
        of.dry_run ? zp::result<std::vector<zp::step_removal>>(run.dry_run(keep)) : run.prune(keep);
    if (!gone) return std::move(gone).failure();
    const std::vector<zp::step_removal> left = run.dry_run(keep);
    is_left = !of.dry_run && std::any_of(left.begin(), left.end(), [](const auto& one) {
      return !one.stays;  // it could not be removed
    });
    tell_warnings(run);
    std::string text;
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    for (const zp::step_removal& one : *gone) {
      const std::string size = sizes[one.step] > 0 ? byte_text(sizes[one.step]) + "  " : "";
      text += std::string(one.stays    ? "stays     "
                          : of.dry_run ? "would go  "
                                       : "removed  ") +
              escaped(one.name) + "  " + size + escaped(one.why) + '\n';
      if (one.stays) continue;
      bytes += sizes[one.step];
      ++count;
    }
    if (count == 0) return put(text + "nothing goes\n");
    return put(text + std::to_string(count) + (count == 1 ? " step, " : " steps, ") +
               byte_text(bytes) + '\n');
  };
  if (const auto done = run(); !done) return fail(done.failure());
  return is_left ? exit_status::failed : exit_status::ok;
}

}  // namespace cli
