#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian 12), builds the example and runs it: four processes save one
# checkpoint, one of them is killed in the middle of the next save, and three processes restore the
# first. Each line is compared with what it must be.
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh
trap 'status=$?; [ $status -eq 0 ] || echo "The example FAILED (exit status $status)."' EXIT

need_packages g++ cmake ninja-build pkg-config libzstd-dev libopenmpi-dev \
  openmpi-bin

echo "building (about a minute)"
preset=${PRESET:-release}
mkdir -p build
cmake --preset "$preset" >build/parallel.log &&
  cmake --build --preset "$preset" --target parallel >>build/parallel.log || {
  cat build/parallel.log
  exit 1
}
program=build/$preset/examples/parallel
folder=build/parallel
checkpoint=$folder/model.zarr
rm -rf "$folder" && mkdir "$folder"

# Without --enable-recovery Open MPI ends all processes as soon as one dies.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
processes() {
  timeout 120 mpirun --oversubscribe --enable-recovery -n "$1" "$program" "${@:2}" 2>"$folder/stderr" |
    sort
}

# expect WHAT COMMAND...  The command says what stands on standard input, and nothing else.
expect() {
  printf '\n%s\n' "$1"
  "${@:2}" >"$folder/said" </dev/null || true
  sed 's/^/  /' "$folder/said"
  diff - "$folder/said" || {
    echo "^ expected (<) and said (>)"
    cat "$folder/stderr"
    exit 1
  }
}

expect "Four processes save step 1, each a quarter of the rows; rank 0 also the moments of all:" \
  processes 4 save "$checkpoint" 1 <<END
rank 0 of 4 wrote 14336 bytes in 2 objects
rank 1 of 4 wrote 6336 bytes in 1 objects
rank 2 of 4 wrote 6336 bytes in 1 objects
rank 3 of 4 wrote 6336 bytes in 1 objects
END

expect "They save step 2, and rank 2 is killed (SIGKILL) in the middle of it:" \
  processes 4 save "$checkpoint" 2 2 <<END
rank 0: unavailable: save $checkpoint: rank 2 did not come to agree within 10 s
rank 1: unavailable: save $checkpoint: rank 2 did not come to agree within 10 s
rank 3: unavailable: save $checkpoint: rank 2 did not come to agree within 10 s
END

expect "The checkpoint is as it was:" "$program" look "$checkpoint" 1 <<END
one process read weights [96, 66] and moments [10, 100]: step 1, each checksum right
END

expect "Three processes restore it, each a third of the columns, and go on:" \
  processes 3 restore "$checkpoint" 1 <<END
rank 0 of 3 read moments [0:333]: 2664 bytes
rank 0 of 3 read weights [0:96, 0:22]: 8448 bytes
rank 1 of 3 read moments [333:666]: 2664 bytes
rank 1 of 3 read weights [0:96, 22:44]: 8448 bytes
rank 2 of 3 read moments [666:1000]: 2672 bytes
rank 2 of 3 read weights [0:96, 44:66]: 8448 bytes
END

expect "They save step 2:" processes 3 save "$checkpoint" 2 <<END
rank 0 of 3 wrote 16448 bytes in 2 objects
rank 1 of 3 wrote 8448 bytes in 1 objects
rank 2 of 3 wrote 8448 bytes in 1 objects
END

expect "Which is now the checkpoint:" "$program" look "$checkpoint" 2 <<END
one process read weights [96, 66] and moments [10, 100]: step 2, each checksum right
END
