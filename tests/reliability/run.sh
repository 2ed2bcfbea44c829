#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# The scoreboard of docs/reliability.md: a line for each row, with its trials and violations, and for
# each a control that takes its protection out and must be caught.
#
#   bash tests/reliability/run.sh              the short form, the same in each run: what CI runs
#   bash tests/reliability/run.sh 8            eight hours, from a new seed; adds its counts to docs/reliability.md
#   bash tests/reliability/run.sh 0.5 kills    half an hour of the named rows
#
# TRIALS=N before the command ends a long form after so many of each row. SEED=N is the seed; OPTIONS are further ones of
# the compiler, for programs in the folder BUILD.
# Exit status 1 for a violation, or a control that is not caught.
set -u
cd "$(dirname "$0")/../.." || exit 1
hours=${1:-}
shift || true
build=${BUILD:-build/reliability}
mkdir -p "$build"
seed=${SEED:-1}
[ -z "$hours" ] || seed=${SEED:-$((RANDOM * 32768 + RANDOM))}

# Row, trials of the short form, trials of its control, hundredths of the time of the long form.
table="
kills        2500  300   20
steps        600   60    10
step_faults  300   60    6
step_cuts    36    24    4
crash_states 150000 2000 5
faults       1500  150   14
allocations  4000  300   3
damage       60000 2000  16
documents    15000 4000  8
escapes      10000 300   6
races        20000 2000  10
ranks        400   150   8
power_cuts   120   40    8
failing_disk 50    20    2
"
rows=(${*:-kills steps step_faults step_cuts crash_states faults allocations damage documents escapes races ranks power_cuts failing_disk fuzz sweep mpi})

compile() { # NAME OPTION SOURCE...
  local name=$1 cxx=(g++)
  command -v ccache >/dev/null && cxx=(ccache g++)
  mkdir -p "$build"
  # shellcheck disable=SC2086
  "${cxx[@]}" -std=c++20 "$2" ${OPTIONS:-} -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror -Iinclude -c "$3" \
    -o "$build/$name.o" &&
    g++ "$build/$name.o" "${@:4}" -o "$build/$name" -lzstd -pthread
}
begin=$SECONDS
compile reliability -O1 tests/reliability/reliability.cpp tests/allocation/failing_new.cpp &
compile reliability_ranks -O0 tests/reliability/ranks.cpp
status=$?
wait $! && [ $status -eq 0 ] || exit 1
echo "compiled in $((SECONDS - begin)) s"

# In memory where there is some: what is shown is what the calls do, not how fast a disk is.
place=/dev/shm
[ "$(df -Pk "$place" 2>/dev/null | awk 'END { print $4 + 0 }')" -ge 500000 ] && [ -w "$place" ] || place=$PWD/$build
folder=$(mktemp -d "$place/zarrpoint.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT

program_of() { if [ "$1" = ranks ]; then echo "$build/reliability_ranks"; else echo "$build/reliability"; fi; }

# one ROW TRIALS CONTROL SHARE: the row, then its control. What is left out is said, and is not a failure.
one() {
  local row=$1 trials=$2 seconds=60 program said status=0
  program=$(program_of "$row")
  mkdir -p "$folder/$row" "$folder/$row.control"
  if [ -n "$hours" ]; then
    trials=${TRIALS:-1000000000000}
    # Two rows run at a time.
    seconds=$(awk -v h="$hours" -v s="$4" -v all="$all_shares" 'BEGIN { print h * 3600 * 2 * s / all }')
  fi
  "$program" "$row" "$trials" "$seconds" "$seed" "$folder/$row" >"$build/$row.log" 2>"$build/$row.violations"
  case $? in
    0) ;;
    77) cat "$build/$row.log" && return 0 ;;
    *) status=1 ;;
  esac
  [ -s "$build/$row.log" ] || { echo "$row: ended without an answer" && status=1; }
  cat "$build/$row.log" "$build/$row.violations"
  said=$("$program" "$row" "$3" 30 "$seed" "$folder/$row.control" without 2>/dev/null) || status=1
  echo "${said:-$row: the control ended without an answer}" | sed "s/^$row /$row without /"
  rm -rf "${folder:?}/$row" "${folder:?}/$row.control"
  return $status
}

# Rows whose program another step builds. In the short form that step itself is their run.
existing() {
  local row=$1 program step said
  case $row in
    fuzz) program=$(command -v clang++-16 || echo clang++-16) step=fuzz ;; # it builds its own
    sweep) program=build/dev/tests/allocation_tests step=dev ;;
    mpi) program=build/dev/tests/mpi_test step=mpi ;;
  esac
  if [ -z "$hours" ]; then
    echo "$row: is the step $step of tests/run.sh"
  elif [ ! -x "$program" ]; then
    echo "$row: cannot run here: $program is not there (bash tests/run.sh $step)"
  else
    case $row in
      fuzz)
        said=$(FUZZ_SEED=$seed bash tests/fuzz/run.sh "$(awk -v h="$hours" 'BEGIN { print int(h * 900 / 11) + 1 }')")
        local ended=$?
        grep '^fuzz ' <<<"$said" >"$build/fuzz.log"
        (exit $ended)
        ;;
      sweep) said=$("$program" | tail -n 4) ;;
      mpi) said=$(bash tests/interop/mpi.sh "$program") ;;
    esac || { echo "$row: FAIL: $said" && return 1; }
    printf '%s:\n%s\n' "$row" "$said"
  fi
}

for row in "${rows[@]}"; do rm -f "$build/$row.log"; done # what an earlier run said
all_shares=0
begin=$SECONDS
lines=()
for row in "${rows[@]}"; do
  case $row in
    fuzz | sweep | mpi) continue ;;
  esac
  line=$(grep "^$row " <<<"$table") || { echo "there is no row $row" && exit 2; }
  lines+=("$line")
  all_shares=$((all_shares + ${line##* }))
done

failed=0
running=0
for line in "${lines[@]}"; do
  # shellcheck disable=SC2086
  one $line &
  running=$((running + 1))
  if [ $running -ge 2 ]; then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
done
while [ $running -gt 0 ]; do
  wait -n || failed=$((failed + 1))
  running=$((running - 1))
done
for row in "${rows[@]}"; do
  case $row in
    fuzz | sweep | mpi) existing "$row" || failed=$((failed + 1)) ;;
  esac
done

if [ -n "$hours" ]; then
  commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
  [ -z "$(git status --porcelain --untracked-files=no -- include tests 2>/dev/null)" ] || commit+=", changed"
  for row in "${rows[@]}"; do
    [ -s "$build/$row.log" ] || continue
    sed -nE "s/^([a-z_]+) +([0-9]+) trials, ([0-9]+) violations, ([0-9]+) known, ([0-9]+)[.0-9]* s, seed ([0-9]+)(, )?(.*)/| $(date -u +%F) | $commit | \6 | \1 | \2 | \3 | \4 | \5 | \8 |/p" \
      "$build/$row.log" >>docs/reliability.md
  done
fi
echo "$failed rows failed, in $((SECONDS - begin)) s"
[ $failed -eq 0 ]
