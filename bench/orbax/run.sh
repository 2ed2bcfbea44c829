#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Times what Orbax saved, opened and loaded by zarrpoint, Orbax and TensorStore, and saves by both.
#
#   bash bench/orbax/run.sh FOLDER [MEGABYTES [ROUNDS [PARAMETERS]]]
#
# FOLDER is on the disk to be measured. The packages of Python (1 GB) go to build/venv-orbax.
set -eu
[ $# -ge 1 ] || {
  sed -n '4,8s/^# \{0,1\}//p' "$0"
  exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
. tools/debian.sh
need_packages g++ libzstd-dev python3 python3-venv

python=${ORBAX_PYTHON:-build/venv-orbax/bin/python} # or one that has the packages
if [ ! -x "$python" ]; then
  python3 -m venv build/venv-orbax
  build/venv-orbax/bin/pip install -q --disable-pip-version-check orbax-checkpoint==0.12.8 'jax[cpu]==0.10.2' safetensors
fi
mkdir -p build/orbax
g++ -std=c++20 -O2 -DNDEBUG -Iinclude bench/orbax/orbax_peer.cpp -lzstd -pthread -o build/orbax/orbax_peer
"$python" bench/orbax/run.py build/orbax/orbax_peer "$folder" "$@"
