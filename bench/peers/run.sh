#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Times the load of the same tensors by zarrpoint, TensorStore, safetensors and zarr-python.
#
#   bash bench/peers/run.sh FOLDER [MEGABYTES [ROUNDS]] [--publish]
#
# FOLDER is on the disk to be measured. The table goes to standard output and build/peers/table.md;
# with --publish also into docs/benchmarks.md, from which docs/speed.svg is drawn.
set -eu
[ $# -ge 1 ] || {
  sed -n '4,9s/^# \{0,1\}//p' "$0"
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
g++ -std=c++20 -O2 -DNDEBUG -Iinclude bench/peers/zarrpoint_peer.cpp -lzstd -pthread -o build/peers/zarrpoint_peer
"$venv/bin/python" bench/peers/run.py build/peers/zarrpoint_peer "$folder" "$@"
case " $* " in *" --publish "*) python3 tools/docs/plot.py ;; esac
