#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets, replays what was once found, and fuzzes each for a while.
#
#   bash tests/fuzz/run.sh                  60 s a target
#   bash tests/fuzz/run.sh 28800 codecs     a night for one; its corpus stays in build/fuzz/corpus
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-60}
shift || true
targets=(${*:-metadata hierarchy shard codecs safetensors checkpoint zip pickle})
build=build/fuzz
jobs=${JOBS:-$(nproc)}

cmake --preset fuzz >/dev/null && cmake --build --preset fuzz -j "$jobs" || exit 1
rm -rf "$build/seeds"
python3 tests/fuzz/seeds.py tests/golden "$build/seeds" || exit 1

fuzz() {
  local target=$1 corpus=$build/corpus/$1 log=$build/$1.log program=$build/tests/fuzz_$1
  mkdir -p "$corpus" "$build/findings/$target" "$build/seeds/$target"
  local known=(tests/fuzz/findings/"$target"/*)
  local limits=(-rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=20)
  {
    [ ! -e "${known[0]}" ] || "$program" "${limits[@]}" "${known[@]}"
  } >"$log" 2>&1 &&
    "$program" "${limits[@]}" -max_total_time="$seconds" -max_len=32768 -print_final_stats=1 \
      -artifact_prefix="$build/findings/$target/" "$corpus" "$build/seeds/$target" >>"$log" 2>&1
  local status=$?
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  local covered
  covered=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
  if [ $status -eq 0 ]; then
    printf 'ok    %-12s %9s inputs, %s edges\n' "$target" "${runs:-0}" "${covered:-?}"
  else
    printf 'FAIL  %-12s (exit status %d; %s)\n' "$target" $status "$log"
    tail -n 30 "$log" | sed 's/^/      | /'
  fi
  return $status
}

failed=0
running=0
for target in "${targets[@]}"; do
  fuzz "$target" &
  running=$((running + 1))
  if [ $running -ge "$jobs" ]; then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
done
while [ $running -gt 0 ]; do
  wait -n || failed=$((failed + 1))
  running=$((running - 1))
done
printf '%d of %d targets failed\n' $failed ${#targets[@]}
[ $failed -eq 0 ]
