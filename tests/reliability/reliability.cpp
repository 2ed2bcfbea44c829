// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One row of the scoreboard of docs/reliability.md; tests/reliability/run.sh calls it:
//
//     reliability ROW TRIALS SECONDS SEED FOLDER [without]
//
// prints a line with what it counted. Exit status 1 for a violation; with "without", for a row
// whose protection is taken out, 1 if that was not noticed; 77 if the row cannot run here.

#include <zarrpoint/zarrpoint.hpp>

#include "allocations.hpp"
#include "crash_states.hpp"
#include "damage.hpp"
#include "documents.hpp"
#include "escapes.hpp"
#include "faults.hpp"
#include "kills.hpp"
#include "power_cuts.hpp"
#include "races.hpp"
#include "steps.hpp"

#include <cstdlib>
#include <cstring>

namespace {

using namespace reliability;

struct row_entry {
  std::string_view name;
  void (*run)(tally&);
};

constexpr row_entry rows[] = {
    {"kills", kills},         {"power_cuts", power_cuts},     {"crash_states", crash_states},
    {"faults", faults},       {"failing_disk", failing_disk}, {"allocations", allocations},
    {"documents", documents}, {"escapes", escapes},           {"damage", damage},
    {"races", races},         {"steps", step_kills},          {"step_faults", step_faults},
    {"step_cuts", step_cuts},
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    std::puts("reliability ROW TRIALS SECONDS SEED FOLDER [without]");
    return 2;
  }
  const std::string_view name = arguments[1];
  for (const row_entry& one : rows) {
    if (one.name != name) continue;
    tally row({.seed = std::strtoull(arguments[4], nullptr, 10),
               .trials = std::strtoull(arguments[2], nullptr, 10),
               .seconds = std::strtod(arguments[3], nullptr),
               .folder = arguments[5],
               .without = count > 6});
    // The readers and the writer of a race are to run at the same time.
    if (name != "races" && name != "escapes") stay_on_one_processor();
    one.run(row);
    return report(row, name);
  }
  std::printf("there is no row %s\n", arguments[1]);
  return 2;
}
