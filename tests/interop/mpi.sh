#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Starts the program mpi_test as several processes, and looks at what each rank says in the end.
#
#   bash tests/interop/mpi.sh PROGRAM
#
# MPI_LARGE=1 before the command also sends a message of more than 2 GiB.
set -u
program=$1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failed=0

# expect RANKS LINES TEXT ARGUMENTS...  LINES ranks end with a text that TEXT, a pattern, matches.
expect() {
  local ranks=$1 lines=$2 text=$3 said count
  shift 3
  # Those that are left when one dies go on, so that they can say who it was.
  said=$(timeout 60 mpirun --oversubscribe --enable-recovery -n "$ranks" "$program" "$@" 2>&1)
  count=$(printf '%s\n' "$said" | grep -cE "^rank [0-9]+ has $text\$")
  if [ "$count" -eq "$lines" ]; then
    echo "ok: $* on $ranks ranks"
  else
    printf 'FAIL: %s on %d ranks: %d, not %d have "%s":\n%s\n' "$*" "$ranks" "$count" "$lines" \
      "$text" "$said"
    failed=1
  fi
}

for ranks in 1 2 3 8; do expect $ranks $ranks done all; done
[ -z "${MPI_LARGE:-}" ] || expect 2 2 done large
expect 1 1 'invalid_argument: MPI has no threads: .*' single
expect 3 3 'invalid_argument: Unmatched collectives: rank [0-9] is in .*, rank [0-9] in .*' unmatched
gone() { echo "unavailable: rank $1 did not come to $2 within 5 s"; }
expect 3 3 "$(gone 1 barrier)" late 1
# The one that is killed says nothing, and all others who it was.
expect 2 1 "$(gone 1 barrier)" killed 1
expect 3 2 "$(gone 0 barrier)" killed 0
expect 8 7 "$(gone 5 barrier)" killed 5
expect 3 2 "$(gone 2 exchange)" killed_amid 2
exit $failed
