#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# What delta_bench left, by `zstd --patch-from` and by bsdiff (Debian: zstd, bsdiff): size and seconds.
#
#   bash bench/delta_peers.sh FOLDER
set -eu
cd "${1:?a folder in which delta_bench was}"
size=$(stat -c %s before.bin)
tell() { # name, file, seconds
  awk -v name="$1" -v part="$(stat -c %s "$2")" -v all="$size" -v s="$3" \
    'BEGIN { printf "%-28s %6.2f %%  %8.2f s  %6.2f GB/s\n", name, 100 * part / all, s, all / s * 1e-9 }'
}
timed() { # prints the seconds that a command takes
  local begin end
  begin=$(date +%s.%N)
  "$@" >/dev/null 2>&1
  end=$(date +%s.%N)
  awk -v a="$begin" -v b="$end" 'BEGIN { print b - a }'
}
for after in after_*.bin; do
  for level in 1 3; do
    s=$(timed zstd -f -q -T2 -"$level" --long=31 --patch-from=before.bin "$after" -o patch.zst)
    tell "zstd -$level $after" patch.zst "$s"
    s=$(timed zstd -d -f -q --long=31 --patch-from=before.bin patch.zst -o out.bin)
    cmp -s out.bin "$after"
    tell "  undone" patch.zst "$s"
  done
  if command -v bsdiff >/dev/null; then
    s=$(timed bsdiff before.bin "$after" patch.bs)
    tell "bsdiff $after" patch.bs "$s"
    s=$(timed bspatch before.bin out.bin patch.bs)
    cmp -s out.bin "$after"
    tell "  undone" patch.bs "$s"
  fi
done
