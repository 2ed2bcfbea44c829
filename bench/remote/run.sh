#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Loads, parts and saves of one model over HTTP and S3 on loopback, at some delays, by zarrpoint, bare libcurl and other
# libraries from PyPI; and how many requests and bytes each of zarrpoint's takes.
#
#   bash bench/remote/run.sh FOLDER [--megabytes 1024] [--rounds 3] [--delays 0,10,50] [--counts] [--publish]
#
# FOLDER is on a tmpfs with room for five models, such as /dev/shm. --counts measures no times. The tables go to standard
# output and build/remote/; with --publish also into docs/benchmarks.md.
set -eu
[ $# -ge 1 ] || {
  sed -n '4,11s/^# \{0,1\}//p' "$0"
  exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
. tools/debian.sh
need_packages g++ libzstd-dev libcurl4-openssl-dev python3 python3-venv

venv=build/remote-venv
packages="numpy ml_dtypes safetensors tensorstore zarr obstore s3fs boto3"
if [ "$(cat $venv/done 2>/dev/null)" != "$packages" ]; then
  rm -rf $venv
  python3 -m venv $venv
  # shellcheck disable=SC2086
  $venv/bin/pip install -q --disable-pip-version-check $packages
  echo "$packages" >$venv/done
fi
mkdir -p build/remote
for each in server floor zarrpoint_remote; do
  g++ -std=c++20 -O2 -DNDEBUG -Iinclude bench/remote/$each.cpp -lzstd -lcurl -pthread -o build/remote/$each
done
$venv/bin/python bench/remote/run.py build/remote "$folder" "$@"
