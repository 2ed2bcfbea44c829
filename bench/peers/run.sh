#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Times the load of the same tensors by zarrpoint, TensorStore, safetensors and zarr-python; or, with --rows, loads, saves,
# parts and changes by these, zarrs, torch (after `bash tests/run.sh torch`) and the bare system calls.
#
#   bash bench/peers/run.sh FOLDER [MEGABYTES [ROUNDS]] [--publish]
#   bash bench/peers/run.sh --rows FOLDER [MEGABYTES [ROUNDS]] [--publish] [--only TASK,TASK]
#   bash bench/peers/run.sh --rows FOLDER 4096 --only one_tensor    # the most memory that one tensor of 4 GiB takes
#
# FOLDER is on the disk to be measured. The table goes to standard output and build/peers/;
# with --publish also into docs/benchmarks.md; from the first, docs/speed.svg is drawn.
set -eu
rows=
[ "${1:-}" != --rows ] || {
  rows=yes
  shift
}
[ $# -ge 1 ] || {
  sed -n '4,12s/^# \{0,1\}//p' "$0"
  exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
. tools/debian.sh
need_packages g++ libzstd-dev python3 python3-venv

venv=build/venv # that of tests/run.sh
if ! cmp -s "$venv/done" tests/interop/requirements.txt; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r tests/interop/requirements.txt
  cp tests/interop/requirements.txt "$venv/done"
fi
mkdir -p build/peers
if [ -n "$rows" ]; then
  programs="zarrpoint_rows floor_rows"
  case " $* " in *" one_tensor "*) programs=one_tensor ;; esac
  for each in $programs; do
    g++ -std=c++20 -O2 -DNDEBUG -Iinclude "bench/peers/$each.cpp" -lzstd -pthread -o "build/peers/$each"
  done
  torch=build/torch-venv/bin/python
  [ ! -x $torch ] || set -- "$@" --torch $torch
  LD_LIBRARY_PATH=$PWD/build/torch-hollow "$venv/bin/python" bench/peers/rows.py build/peers/{zarrpoint,floor}_rows "$folder" "$@"
  exit
fi
g++ -std=c++20 -O2 -DNDEBUG -Iinclude bench/peers/zarrpoint_peer.cpp -lzstd -pthread -o build/peers/zarrpoint_peer
"$venv/bin/python" bench/peers/run.py build/peers/zarrpoint_peer "$folder" "$@"
case " $* " in *" --publish "*) python3 tools/docs/plot.py ;; esac
