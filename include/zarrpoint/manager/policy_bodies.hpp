// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/manager/policies.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------ policies.hpp

ZARRPOINT_INLINE std::optional<double> step_record::metric(std::string_view of) const {
  for (const auto& [key, value] : metrics)
    if (key == of && value == value) return value;
  return std::nullopt;
}

namespace detail {

/// The places of the steps that have a metric, the best first; of equal ones the newer first.
ZARRPOINT_INLINE std::vector<std::size_t> ranked(std::span<const step_record> steps,
                                                 std::string_view metric, better is) {
  std::vector<std::pair<double, std::size_t>> values;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (const auto value = steps[i].metric(metric)) values.emplace_back(*value, i);
  std::sort(values.begin(), values.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return is == better::lower ? a.first < b.first : a.first > b.first;
    return steps[a.second].step > steps[b.second].step;
  });
  std::vector<std::size_t> out;
  out.reserve(values.size());
  for (const auto& [value, at] : values) out.push_back(at);
  return out;
}

ZARRPOINT_INLINE std::string in_days(std::chrono::milliseconds time) {
  const auto count = time.count();
  for (const auto& [unit, name] : {std::pair<std::int64_t, const char*>{86'400'000, " days"},
                                   {3'600'000, " hours"},
                                   {60'000, " minutes"},
                                   {1'000, " s"}})
    if (count >= unit && count % unit == 0) return std::to_string(count / unit) + name;
  return std::to_string(count) + " ms";
}

}  // namespace detail

ZARRPOINT_INLINE const step_record* best_of(std::span<const step_record> steps,
                                            std::string_view metric, better is) {
  const std::vector<std::size_t> order = detail::ranked(steps, metric, is);
  return order.empty() ? nullptr : &steps[order.front()];
}

ZARRPOINT_INLINE save_policy save_policy::every_steps(std::int64_t n) {
  return [n](const save_moment& at) {
    if (n < 1) return false;
    if (at.step % n == 0) return true;
    return at.last_step ? at.step > *at.last_step && at.step / n > *at.last_step / n : at.step > n;
  };
}
ZARRPOINT_INLINE save_policy save_policy::every(std::chrono::milliseconds time) {
  return [time](const save_moment& at) {
    const wall_time since = at.last_time.value_or(at.opened);
    return at.now < since || at.now - since >= time;
  };
}
ZARRPOINT_INLINE save_policy save_policy::at_steps(std::vector<std::int64_t> steps) {
  return [steps = std::move(steps)](const save_moment& at) {
    return std::find(steps.begin(), steps.end(), at.step) != steps.end();
  };
}
ZARRPOINT_INLINE save_policy save_policy::first() {
  return [](const save_moment& at) { return !at.last_step; };
}
ZARRPOINT_INLINE save_policy save_policy::always() {
  return [](const save_moment&) { return true; };
}
ZARRPOINT_INLINE save_policy save_policy::never() {
  return [](const save_moment&) { return false; };
}
ZARRPOINT_INLINE save_policy operator|(save_policy a, save_policy b) {
  return [a = std::move(a), b = std::move(b)](const save_moment& at) { return a(at) || b(at); };
}
ZARRPOINT_INLINE save_policy operator&(save_policy a, save_policy b) {
  return [a = std::move(a), b = std::move(b)](const save_moment& at) { return a(at) && b(at); };
}

ZARRPOINT_INLINE std::vector<bool> keep_policy::operator()(const keep_question& of) const {
  std::vector<bool> kept = decide_(of);
  if (kept.size() != of.steps.size()) kept.assign(of.steps.size(), true);
  return kept;
}

namespace detail {

/// A policy that looks at each step alone.
template <class F>
keep_policy keep_each(F wants, std::string name) {
  return {[wants = std::move(wants)](const keep_question& of) {
            std::vector<bool> kept;
            for (const step_record& one : of.steps) kept.push_back(wants(one, of.now));
            return kept;
          },
          std::move(name)};
}

}  // namespace detail

ZARRPOINT_INLINE keep_policy keep_policy::all() {
  return detail::keep_each([](const step_record&, wall_time) { return true; }, "all");
}
ZARRPOINT_INLINE keep_policy keep_policy::newest(std::size_t n) {
  return {[n](const keep_question& of) {
            std::vector<bool> kept(of.steps.size());
            for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept.size() - i <= n;
            return kept;
          },
          "the newest " + std::to_string(n)};
}
ZARRPOINT_INLINE keep_policy keep_policy::every_steps(std::int64_t k) {
  return detail::keep_each(
      [k](const step_record& one, wall_time) { return k >= 1 && one.step % k == 0; },
      "multiples of " + std::to_string(k));
}
ZARRPOINT_INLINE keep_policy keep_policy::every(std::chrono::milliseconds time) {
  return {[time](const keep_question& of) {
            std::vector<bool> kept(of.steps.size());
            std::optional<wall_time> last;
            for (std::size_t i = 0; i < kept.size(); ++i) {
              kept[i] = !last || of.steps[i].saved_at - *last >= time;
              if (kept[i]) last = of.steps[i].saved_at;
            }
            return kept;
          },
          "one in " + detail::in_days(time)};
}
ZARRPOINT_INLINE keep_policy keep_policy::best(std::size_t m, std::string metric, better is) {
  std::string name = "the best " + std::to_string(m) + " by " + detail::in_quotes(metric) +
                     (is == better::lower ? " (lower is better)" : " (higher is better)");
  return {[m, metric = std::move(metric), is](const keep_question& of) {
            const std::vector<std::size_t> order = detail::ranked(of.steps, metric, is);
            std::vector<bool> kept(of.steps.size(), m > 0 && order.empty());
            for (std::size_t i = 0; i < order.size() && i < m; ++i) kept[order[i]] = true;
            return kept;
          },
          std::move(name)};
}
ZARRPOINT_INLINE keep_policy keep_policy::steps(std::vector<std::int64_t> steps) {
  return detail::keep_each(
      [steps = std::move(steps)](const step_record& one, wall_time) {
        return std::find(steps.begin(), steps.end(), one.step) != steps.end();
      },
      "given steps");
}
ZARRPOINT_INLINE keep_policy keep_policy::within_bytes(std::uint64_t bytes) {
  return {[bytes](const keep_question& of) {
            std::vector<bool> kept(of.steps.size());
            std::uint64_t left = bytes;
            for (std::size_t i = kept.size(); i-- > 0 && of.steps[i].bytes <= left;) {
              kept[i] = true;
              left -= of.steps[i].bytes;
            }
            return kept;
          },
          "within " + std::to_string(bytes) + " bytes"};
}
ZARRPOINT_INLINE keep_policy keep_policy::within(std::chrono::milliseconds age) {
  return detail::keep_each(
      [age](const step_record& one, wall_time now) { return now - one.saved_at <= age; },
      "the last " + detail::in_days(age));
}

ZARRPOINT_INLINE keep_policy operator|(keep_policy a, keep_policy b) {
  std::string name = a.name_ + ", or " + b.name_;
  return {[a = std::move(a), b = std::move(b)](const keep_question& of) {
            std::vector<bool> kept = a(of);
            const std::vector<bool> more = b(of);
            for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] || more[i];
            return kept;
          },
          std::move(name)};
}
ZARRPOINT_INLINE keep_policy operator&(keep_policy a, keep_policy b) {
  std::string name = '(' + a.name_ + ") and " + b.name_;
  return {[a = std::move(a), b = std::move(b)](const keep_question& of) {
            std::vector<bool> kept = a(of);
            std::vector<step_record> left;
            for (std::size_t i = 0; i < kept.size(); ++i)
              if (kept[i]) left.push_back(of.steps[i]);
            const std::vector<bool> of_left = b({left, of.now});
            for (std::size_t i = 0, j = 0; i < kept.size(); ++i)
              if (kept[i]) kept[i] = of_left[j++];
            return kept;
          },
          std::move(name)};
}

namespace detail {

ZARRPOINT_INLINE std::string why_needed(const step_record& of,
                                        std::span<const step_record> others) {
  const step_record* newest = nullptr;
  std::size_t count = 0;
  for (const step_record& one : others) {
    if (!one.fault.empty() && !one.is_unread) continue;
    if (one.base == of.step) {
      newest = &one;
      ++count;
    } else if (one.is_unread && !one.base && !of.base && one.step > of.step) {
      return "step " + std::to_string(one.step) + " cannot be looked at, and may stand on it";
    }
  }
  if (count == 0) return {};
  return count == 1 ? "step " + std::to_string(newest->step) + " stands on it as a delta"
                    : std::to_string(count) + " steps stand on it as deltas, the newest is " +
                          std::to_string(newest->step);
}

}  // namespace detail

ZARRPOINT_INLINE std::vector<step_removal> removals(std::span<const step_record> steps,
                                                    const keep_policy& keep, wall_time now,
                                                    std::optional<std::int64_t> last) {
  std::vector<step_record> whole;
  for (const step_record& one : steps)
    if (one.is_managed && one.fault.empty()) whole.push_back(one);
  const std::vector<bool> kept = keep({whole, now});
  std::vector<step_removal> out;
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {  // never the newest
    const step_record& one = whole[i];
    if (kept[i] || one.is_pinned || last == one.step) continue;
    out.push_back({one.step, one.name, "not kept by: " + keep.name()});
  }
  std::vector<step_record> left, going;
  for (const step_record& one : steps) {
    const bool goes = going.size() < out.size() && out[going.size()].step == one.step;
    (goes ? going : left).push_back(one);
  }
  for (bool again = true; again;) {  // what a delta stands on may be one, too
    again = false;
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::string why = out[i].stays ? "" : detail::why_needed(going[i], left);
      if (why.empty()) continue;
      out[i].why = std::move(why);
      out[i].stays = again = true;
      left.push_back(going[i]);
    }
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE std::string step_name(std::int64_t step, const step_names& how) {
  std::string digits = std::to_string(step);
  if (digits.size() < how.digits) digits.insert(0, how.digits - digits.size(), '0');
  return how.prefix + digits;
}

ZARRPOINT_INLINE std::optional<std::int64_t> parse_step_name(std::string_view name) {
  if (name.starts_with("step_") || name.starts_with("step-")) name.remove_prefix(5);
  if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;
  std::int64_t step = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (wrong != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return step;
}

ZARRPOINT_INLINE json number_of(double value) {
  if (value != value) return "NaN";  // JSON has no such numbers
  if (value == std::numeric_limits<double>::infinity()) return "Infinity";
  if (value == -std::numeric_limits<double>::infinity()) return "-Infinity";
  return value;
}

ZARRPOINT_INLINE std::optional<double> number_in(const json& from) {
  if (const std::string* text = from.if_string()) {
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return from.to_double();
}

ZARRPOINT_INLINE bool is_item_name(std::string_view name) {
  const auto as_key = store_key::parse(name);
  return as_key && !as_key->is_root() && name.find('/') == name.npos && name != step_mark::file;
}

ZARRPOINT_INLINE json to_json(const step_mark& of) {
  json out;
  out.set("version", 1);
  out.set("step", of.step);
  out.set("saved_at_ms",
          static_cast<std::int64_t>(
              std::chrono::duration_cast<std::chrono::milliseconds>(of.saved_at.time_since_epoch())
                  .count()));
  json::object metrics;
  for (const auto& [key, value] : of.metrics) metrics.push_back({key, number_of(value)});
  out.set("metrics", std::move(metrics));
  if (of.items.empty()) return out;
  json::array items(of.items.begin(), of.items.end());
  out.set("items", std::move(items));
  json::object files;
  for (const auto& [key, size] : of.files) files.push_back({key, size});
  out.set("files", std::move(files));
  out.set("crc32c", text_seal(dump_json(out)));
  return out;
}

ZARRPOINT_INLINE result<step_mark> parse_step_mark(const json& from) {
  const auto refuse = [](const char* why) {
    return error{errc::corrupt, std::string("the mark of a checkpoint manager ") + why};
  };
  const json* version = from.find("version");
  if (version == nullptr || !version->to_int64()) return refuse("has no version");
  if (*version->to_int64() != 1)
    return error{errc::unsupported, "the mark of a checkpoint manager is of a later version"};
  step_mark out;
  const json* const step = from.find("step");
  const json* const time = from.find("saved_at_ms");
  if (step == nullptr || step->to_int64().value_or(-1) < 0) return refuse("has no step");
  constexpr std::int64_t latest = 4'000'000'000'000;  // in 2096; no sum with it overflows
  const std::int64_t ms = time == nullptr ? -1 : time->to_int64().value_or(-1);
  if (ms < 0 || ms > latest) return refuse("has no time");
  out.step = *step->to_int64();
  out.saved_at = wall_time(std::chrono::milliseconds(ms));
  const json::object* const metrics = from.find_object("metrics");
  if (metrics == nullptr) return refuse("has no metrics");
  for (const json::member& one : *metrics) {
    const std::optional<double> value = number_in(one.value);
    if (!value) return refuse("has a metric that is not a number");
    out.metrics.emplace_back(one.key, *value);
  }
  const json* const items = from.find("items");
  if (items == nullptr) return out;
  const json::object* const files = from.find_object("files");
  if (items->if_array() == nullptr || files == nullptr) return refuse("has no files");
  for (const json& one : *items->if_array()) {
    if (one.if_string() == nullptr || !is_item_name(*one.if_string()))
      return refuse("has an item that is not a name");
    out.items.push_back(*one.if_string());
  }
  for (const json::member& one : *files) {
    const std::optional<std::uint64_t> size = one.value.to_uint64();
    if (!size) return refuse("has a file without a size");
    out.files.emplace_back(one.key, *size);
  }
  json unsealed = from;
  std::erase_if(*unsealed.if_object(), [](const json::member& one) { return one.key == "crc32c"; });
  const json* const seal = from.find("crc32c");
  if (seal == nullptr || *seal != json(text_seal(dump_json(unsealed))))
    return refuse("is damaged: its checksum is another");
  return out;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/document/bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#endif
