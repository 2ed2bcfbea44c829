#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# How a loop that computes is held up by saves in the background: zarrpoint's manager, DCP's async_save and Orbax's
# AsyncCheckpointer in one run.
#
#   bash bench/stall/run.sh FOLDER [MEGABYTES [ROUNDS]]
#
# FOLDER is on the disk to be measured. STALL_PYTHON is a Python with torch 2.15 and orbax-checkpoint 0.12; else one is
# made in build/venv-stall (2 GB).
set -eu
[ $# -ge 1 ] || {
  sed -n '4,10s/^# \{0,1\}//p' "$0"
  exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
python=${STALL_PYTHON:-build/venv-stall/bin/python}
if [ ! -x "$python" ]; then
  python3 -m venv build/venv-stall
  build/venv-stall/bin/pip install -q --disable-pip-version-check torch==2.15 orbax-checkpoint==0.12.8 \
    'jax[cpu]==0.10.2'
fi
mkdir -p build/bench
g++ -std=c++20 -O3 -fPIC -shared bench/stall/work.cpp -o build/bench/libstall_work.so
g++ -std=c++20 -O3 -DNDEBUG -Iinclude bench/stall/stall_bench.cpp bench/stall/work.cpp -lzstd -pthread \
  -o build/bench/stall_bench
"$python" bench/stall/run.py build/bench/stall_bench build/bench/libstall_work.so "$folder" "$@"
