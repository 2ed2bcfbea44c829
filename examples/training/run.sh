#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian 12), builds the example and runs it: a network is trained on the
# measurements of 178 wines, once undisturbed, and once killed twenty times at random. The weights
# are the same, bit for bit. KILLS=100 kills it as often; PROGRAM=path takes one that is built.
set -eu
cd "$(dirname "$0")/../.."
trap 'status=$?; [ $status -eq 0 ] || echo "The example FAILED (exit status $status)."' EXIT

program=${PROGRAM:-}
if [ -z "$program" ]; then
  . tools/debian.sh
  need_packages g++ cmake ninja-build pkg-config libzstd-dev
  echo "building (about a minute)"
  mkdir -p build
  cmake --preset release >build/training.log &&
    cmake --build --preset release --target training >>build/training.log || {
    cat build/training.log
    exit 1
  }
  program=build/release/examples/training
fi
folder=${FOLDER:-build/training.run}
rm -rf "$folder" && mkdir -p "$folder"
data=examples/data/wine/wine.csv
steps=300
kills=${KILLS:-20}

echo "undisturbed:"
"$program" $data "$folder/whole" $steps 0 | sed 's/^/  /'

echo "killed $kills times:"
killed=0
while [ $killed -lt "$kills" ]; do
  "$program" $data "$folder/killed" $steps 40 >"$folder/said" &
  pid=$!
  sleep 0.$((RANDOM % 9))$((RANDOM % 10))
  # One in five is asked to end, as by a machine that is about to be taken away.
  signal=KILL
  [ $((killed % 5)) -ne 4 ] || signal=TERM
  kill -$signal $pid 2>/dev/null || { # it was done
    wait $pid
    break
  }
  status=0
  wait $pid 2>/dev/null || status=$?
  [ $status -eq 0 ] || [ $status -ge 128 ] || {
    cat "$folder/said"
    exit 1
  }
  killed=$((killed + 1))
done
echo "  $killed kills; then to the end:"
"$program" $data "$folder/killed" $steps 0 | sed 's/^/  /'

# Every leaf of the last step: the same bytes. The root's document has the time, and an id.
last=step_00000$steps
for leaf in model/w1 model/b1 model/w2 model/b2 optimizer/m1 optimizer/m2 step random; do
  cmp "$folder/whole/$last/$leaf/c.0" "$folder/killed/$last/$leaf/c.0" 2>/dev/null ||
    cmp "$folder/whole/$last/$leaf/c" "$folder/killed/$last/$leaf/c"
done
left=$(find "$folder/killed" -maxdepth 1 -name '.step_*')
[ -z "$left" ] || {
  echo "left behind: $left"
  exit 1
}
echo "the weights are the same, bit for bit"
