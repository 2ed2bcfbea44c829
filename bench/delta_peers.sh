#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Deltas by zarrpoint, and of the same files by `zstd --patch-from` and by bsdiff (Debian: zstd, bsdiff): size and
# seconds, in one run of three to four minutes. bsdiff makes one delta, since it takes a minute for each.
#
#   bash bench/delta_peers.sh [MIB]     64 MiB of weights by default, in memory where there is some
#
# BENCH is a program delta_bench that was built elsewhere.
set -eu
cd "$(dirname "$0")/.."
bench=$(realpath -m "${BENCH:-build/bench/delta_bench}")
if [ ! -x "$bench" ]; then
  mkdir -p "$(dirname "$bench")"
  g++ -std=c++20 -O3 -DNDEBUG -Iinclude bench/delta_bench.cpp -o "$bench" -lzstd -pthread
fi
place=/dev/shm
[ -w "$place" ] || place=${TMPDIR:-/tmp}
folder=$(mktemp -d "$place/zarrpoint.XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$bench" "$folder" "${1:-64}"
cd "$folder"

size=$(stat -c %s before.bin)
tell() { # name, file, seconds
  awk -v name="$1" -v part="$(stat -c %s "$2")" -v all="$size" -v s="$3" \
    'BEGIN { printf "%-28s %6.2f %%  %8.2f s  %6.2f GB/s\n", name, 100 * part / all, s, all / s * 1e-9 }'
}
timed() { # prints the seconds that a command takes
  local begin end
  begin=$(date +%s.%N)
  "$@" >/dev/null 2>&1 || return 1
  end=$(date +%s.%N)
  awk -v a="$begin" -v b="$end" 'BEGIN { print b - a }'
}
for after in after_*.bin; do
  s=$(timed zstd -f -q -T2 -1 --long=31 --patch-from=before.bin "$after" -o patch.zst)
  tell "zstd -1 $after" patch.zst "$s"
  s=$(timed zstd -d -f -q --long=31 --patch-from=before.bin patch.zst -o out.bin)
  cmp -s out.bin "$after"
  tell "  undone" patch.zst "$s"
done
if command -v bsdiff >/dev/null; then
  after=after_10.bin # 1 % changed
  if s=$(timed timeout 120 bsdiff before.bin "$after" patch.bs); then
    tell "bsdiff $after" patch.bs "$s"
    s=$(timed bspatch before.bin out.bin patch.bs)
    cmp -s out.bin "$after"
    tell "  undone" patch.bs "$s"
  else
    echo "bsdiff takes more than 120 s"
  fi
fi
