// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint stats`: numbers about numbers, and a histogram.

#include <zarrpoint/zarr/json/json.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "source.hpp"
#include "statistics.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cli {

namespace {

double ratio(std::uint64_t whole, std::uint64_t part) {
  return part == 0 ? 0 : static_cast<double>(whole) / static_cast<double>(part);
}

/// How much smaller the elements would be if each of their bytes took its entropy.
double entropy_ratio(const entry& of, const statistics& found) {
  const double bits = 8 * static_cast<double>(of.spec->type.size());
  return found.byte_entropy > 0 ? bits / found.byte_entropy : 0;
}

double edge(const statistics& found, std::size_t i) {
  const double part = static_cast<double>(i) / static_cast<double>(found.bins.size());
  return found.min * (1 - part) + found.max * part;
}

std::string bar_text(std::uint64_t count, std::uint64_t most, std::size_t width) {
  constexpr std::array<std::string_view, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto steps = static_cast<std::size_t>(
      static_cast<double>(count) / static_cast<double>(most) * static_cast<double>(width) * 8);
  std::string out = repeated("█", steps / 8);
  out += count != 0 && steps == 0 ? eighths[1] : eighths[steps % 8];
  return out;
}

std::string histogram_text(const statistics& found) {
  std::uint64_t most = 1;
  std::size_t widest = 0;
  std::vector<std::string> labels;
  // A range without width has one bin.
  const std::size_t bins = found.max > found.min ? found.bins.size() : 1;
  for (std::size_t i = 0; i < bins; ++i) {
    most = std::max(most, found.bins[i]);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", edge(found, i));
    labels.emplace_back(text.data());
    widest = std::max(widest, labels.back().size());
  }
  const std::size_t digits = std::to_string(most).size();
  const std::size_t used = widest + digits + 6;
  const std::size_t width = std::clamp<std::size_t>(terminal_width(), used + 10, 100) - used;
  std::string out;
  for (std::size_t i = 0; i < bins; ++i) {
    out += "  " + padded(labels[i], widest, true) + " │" +
           painted(padded(bar_text(found.bins[i], most, width), width), paint::cyan) + ' ' +
           padded(std::to_string(found.bins[i]), digits, true) + '\n';
  }
  return out;
}

std::string compression_text(const statistics& of, const entry& array) {
  std::string out;
  if (of.sampled != 0) {
    out += "  compression: zstd:1 " + fixed(ratio(of.sampled, of.zstd), 2) +
           "x, bytes apart and zstd:1 " + fixed(ratio(of.sampled, of.shuffled_zstd), 2) + "x";
    const double bound = entropy_ratio(array, of);
    out += bound > 0 ? ", entropy of the bytes " + fixed(bound, 2) + "x" : std::string();
    if (of.sampled < array.bytes()) out += " (zstd on the first " + byte_text(of.sampled) + ")";
    out += '\n';
  }
  return out;
}

std::string number_text(const statistics& of, const entry& array) {
  std::string out = "  values " + std::to_string(of.count);
  if (is_of_texts(array.spec->type)) {
    out += "  empty " + std::to_string(of.zero) + "  bytes " + std::to_string(of.text_bytes);
    if (of.count != 0)
      out +=
          "  shortest " + std::to_string(of.shortest) + "  longest " + std::to_string(of.longest);
    return out + '\n';
  }
  if (!array.spec->type.is_number()) {
    out += "  zero " + std::to_string(of.zero) + '\n';
    return out + compression_text(of, array);
  }
  out += "  NaN " + std::to_string(of.nan) + "  Inf " + std::to_string(of.infinite) + "  zero " +
         std::to_string(of.zero) + '\n';
  if (of.finite != 0) {
    const std::string what = array.spec->type.is_complex() ? "  of magnitudes: " : "  ";
    out += what + "min " + of.min_text + "  max " + of.max_text + "  mean " + shortest(of.mean) +
           "  deviation " + shortest(of.deviation) + '\n';
  }
  if (of.exponent_bits != 0 && of.count != 0)
    out += "  exponent entropy " + fixed(of.exponent_entropy, 2) + " of " +
           std::to_string(of.exponent_bits) + " bits\n";
  return out + compression_text(of, array);
}

zp::json extreme_json(const std::string& text, double value, zp::dtype type) {
  if (!type.is_integer()) return number_json(value);
  auto exact = zp::parse_json(zp::as_bytes(text));
  return exact ? *std::move(exact) : number_json(value);
}

zp::json compression_json(const statistics& of) {
  return zp::json::object{{"sampled_bytes", of.sampled},
                          {"zstd_bytes", of.zstd},
                          {"shuffled_zstd_bytes", of.shuffled_zstd}};
}

zp::json json_of(const statistics& of, const entry& array) {
  const zp::dtype type = array.spec->type;
  zp::json out = zp::json::object{{"name", text_json(array.name)},
                                  {"dtype", to_string(type)},
                                  {"shape", to_json(array.spec->shape)},
                                  {"count", of.count}};
  if (is_of_texts(type)) {
    out.set("empty", of.zero);
    out.set("text_bytes", of.text_bytes);
    out.set("shortest", of.shortest);
    out.set("longest", of.longest);
    return out;
  }
  if (!type.is_number()) {
    out.set("zero", of.zero);
    out.set("compression", compression_json(of));
    return out;
  }
  out.set("nan", of.nan);
  out.set("inf", of.infinite);
  out.set("zero", of.zero);
  if (of.finite != 0) {
    out.set("of", type.is_complex() ? "magnitudes" : "values");
    out.set("min", extreme_json(of.min_text, of.min, type));
    out.set("max", extreme_json(of.max_text, of.max, type));
    out.set("mean", number_json(of.mean));
    out.set("deviation", number_json(of.deviation));
    zp::json::array edges, counts;
    for (std::size_t i = 0; i <= of.bins.size(); ++i) edges.push_back(number_json(edge(of, i)));
    for (const std::uint64_t count : of.bins) counts.emplace_back(count);
    out.set("histogram",
            zp::json::object{{"edges", std::move(edges)}, {"counts", std::move(counts)}});
  }
  if (of.exponent_bits != 0) {
    out.set("exponent_bits", of.exponent_bits);
    out.set("exponent_entropy", number_json(of.exponent_entropy));
  }
  out.set("byte_entropy", number_json(of.byte_entropy));
  out.set("compression", compression_json(of));
  return out;
}

}  // namespace

exit_status run_stats(const stats_arguments& of, const zp::context& how) {
  exit_status answer = exit_status::ok;
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(from, open_source(of.path, how));
    ZARRPOINT_TRY(shown, find_entries(*from, of.node).at(of.path));
    zp::json::array arrays;
    for (const std::size_t i : shown) {
      const entry& array = from->entries()[i];
      auto found = array.fault ? zp::result<statistics>(*array.fault) : measure(*from, i, of.bins);
      if (!found) {
        if (found.failure().code == zp::errc::cancelled) return std::move(found).failure();
        const std::string name = array.name.empty() ? "" : "array \"" + escaped(array.name) + '"';
        answer = fail(name.empty() ? found.failure() : zp::error(found.failure()).at(name));
        continue;
      }
      if (of.json) {
        arrays.push_back(json_of(*found, array));
        continue;
      }
      ZARRPOINT_CHECK(put(painted((array.name.empty() ? "(root)" : escaped(array.name)) + "  " +
                                      std::string(to_string(array.spec->type)) + ' ' +
                                      shape_text(array.spec->shape),
                                  paint::bold) +
                          '\n' + number_text(*found, array) +
                          (found->finite != 0 ? histogram_text(*found) : std::string())));
    }
    if (of.json)
      return put_json(
          zp::json::object{{"path", text_json(of.path)}, {"arrays", std::move(arrays)}});
    return {};
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return answer;
}

}  // namespace cli
