// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint delta`, `apply` and `squash`: what differs between two checkpoints.

#include <zarrpoint/all_codecs.hpp>
#include <zarrpoint/delta.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "text.hpp"

#include <cstdio>
#include <string>

namespace cli {

namespace {

/// What a save did: the file that was written, and how much of all bytes it takes.
zp::result<void> tell(const char* action, const std::string& where, const zp::save_report& report) {
  std::string text = action + ("  " + escaped(where)) + "  " + byte_text(report.stored_bytes);
  char share[32] = "";
  if (report.bytes != 0)
    std::snprintf(
        share, sizeof share, " (%.2f %%)",
        100.0 * static_cast<double>(report.stored_bytes) / static_cast<double>(report.bytes));
  text += " of " + byte_text(report.bytes) + share + '\n';
  for (const std::string& warning : report.warnings)
    std::fprintf(stderr, "zarrpoint: %s\n", escaped(warning, false).c_str());
  return put(text);
}

/// BASE DELTA... OUT.
struct chain_and_place {
  zp::delta_chain chain;
  std::string out;
};
chain_and_place parted(const delta_arguments& of) {
  const std::vector<std::string>& paths = of.paths;
  return {{paths.front(), {paths.begin() + 1, paths.end() - 1}}, paths.back()};
}

exit_status done(const zp::result<void>& status) {
  return status ? exit_status::ok : fail(status.failure());
}

zp::save_options options_of(const delta_arguments& of) {
  zp::save_options options;
  options.overwrite = of.overwrite;
  return options;
}

}  // namespace

exit_status run_delta(const delta_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    const std::string& out = of.paths[2];
    ZARRPOINT_TRY(from, zp::open(of.paths[1], how));
    ZARRPOINT_TRY(report, zp::save_delta(out, {of.paths[0]}, from, options_of(of)));
    return tell("delta", out, report);
  };
  return done(run());
}

exit_status run_apply(const delta_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    const chain_and_place given = parted(of);
    ZARRPOINT_TRY(report, zp::apply_deltas(given.out, given.chain, options_of(of), how));
    return tell("applied", given.out, report);
  };
  return done(run());
}

exit_status run_squash(const delta_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    const chain_and_place given = parted(of);
    ZARRPOINT_TRY(report, zp::squash_deltas(given.out, given.chain, options_of(of), how));
    return tell("squashed", given.out, report);
  };
  return done(run());
}

zp::result<zp::stored_place> delta_of_all_codecs::open(const zp::place_look& at,
                                                       const zp::place_use& use) {
  return zp::delta::format::open(at, use, zp::all_codecs::table());
}

}  // namespace cli
