#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets, replays what was once found, and fuzzes each for a while.
#
#   bash tests/fuzz/run.sh fixed            the same inputs each time: what CI runs
#   bash tests/fuzz/run.sh                  60 s a target, from a random seed
#   bash tests/fuzz/run.sh 28800 codecs     a night for one; its corpus stays in build/fuzz/corpus
#
# All but the fixed form fuzz an optimised build, which does several times as many inputs a second, and
# end with a line for the table of docs/reliability.md.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-60}
shift || true
targets=(${*:-metadata hierarchy shard codecs safetensors checkpoint zip pickle ocdbt dcp gguf s3 http delta manager})
build=build/fuzz
jobs=${JOBS:-$(nproc)}
# Inputs of a fixed run.
declare -A runs_of=([metadata]=7500 [hierarchy]=12500 [shard]=1250 [codecs]=28750
  [safetensors]=20000 [checkpoint]=1000 [zip]=7500 [pickle]=8750 [ocdbt]=5500 [dcp]=625
  [gguf]=18750 [s3]=40000 [http]=40000 [delta]=1500 [manager]=250)

# The fixed form has the library as the step asan compiles it, with the marks that libFuzzer follows.
export LLVM_PROFILE_FILE=/dev/null
preset=fuzz_long tree=build/fuzz_long
[ "$seconds" != fixed ] || { preset=fuzz tree=build/asan; }
cmake --preset "$(basename $tree)" -DZARRPOINT_TEST_UNITY=ON >/dev/null &&
  cmake --build --preset "$preset" -j "$jobs" || exit 1
seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))} # 0 would be a random one
rm -rf "$build/seeds"
python3 tests/fuzz/seeds.py tests/golden "$build/seeds" || exit 1

# Without address randomisation where that is allowed: libFuzzer also learns from what is compared.
fixed_addresses() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

fuzz() {
  local target=$1 log=$build/$1.log program=$tree/tests/fuzz_$1
  local corpus=$build/corpus/$target seeds=$build/seeds/$target
  mkdir -p "$corpus" "$build/findings/$target" "$seeds"
  local known=(tests/fuzz/findings/"$target"/*)
  local limits=(-rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=20)
  local from=(-seed="$seed" -max_total_time="$seconds" "$corpus" "$seeds")
  if [ "$seconds" = fixed ]; then
    # The same on each machine: in the order of their names, with nothing that an earlier run found.
    # The time only bounds a machine that is slow.
    find "$seeds" -type f | LC_ALL=C sort | paste -s -d, >"$seeds.list"
    from=(-seed=1 -runs="${runs_of[$target]}" -max_total_time=180 -seed_inputs="@$seeds.list")
  fi
  {
    [ ! -e "${known[0]}" ] || "$program" "${limits[@]}" "${known[@]}"
  } >"$log" 2>&1 &&
    fixed_addresses "$program" "${limits[@]}" -max_len=32768 -print_final_stats=1 \
      -artifact_prefix="$build/findings/$target/" "${from[@]}" >>"$log" 2>&1
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
begin=$SECONDS
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
if [ "$seconds" != fixed ]; then
  for target in "${targets[@]}"; do
    sed -n "s/^stat::number_of_executed_units: */$target /p" "$build/$target.log" | tail -n 1
  done | awk -v failed=$failed -v seconds=$((SECONDS - begin)) -v seed="$seed" '
    { all += $2; each = each (NR > 1 ? ", " : "") $1 " " $2 }
    END { printf "fuzz %.0f trials, %d violations, 0 known, %d s, seed %s, %s\n", all, failed, seconds, seed, each }'
fi
[ $failed -eq 0 ]
