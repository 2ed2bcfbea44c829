#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Builds gpu_bench for the GPU that is there, runs it, and writes a table with the machine named.
#
#   bash bench/gpu.sh FOLDER [MEGABYTES [TENSORS [ROUNDS [THREADS [DEVICE [ROWS]]]]]]
#
# FOLDER is on the disk to be measured, or on a tmpfs. MEGABYTES may be several, as 1024,4096. ROWS
# are those that are measured, e.g. check,G1,G2: all by default, after a check of what loads bring.
# All take less than ten minutes of an H200; `check,G1,G2` of 1024 with 3 rounds takes one. G2 has
# rows of loads whose checksums the device compares, and G7 that kernel alone.
# PATH, or the variable CUDA_HOME, leads to the CUDA toolkit. Where GPU_BENCH names a program that
# is built already, nothing is compiled; GPU_BENCH_NOTE says of which commit, compiler and CUDA it is.
# The table goes to standard output, and to build/gpu_bench/table.md.
set -eu -o pipefail
[ $# -ge 1 ] || {
  sed -n '4,15s/^# \{0,1\}//p' "$0"
  exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null || {
  echo "there is no GPU (nvidia-smi finds none): nothing to measure"
  exit 1
}
out=build/gpu_bench
mkdir -p "$out"

build() {
  . tools/debian.sh
  need_packages g++ libzstd-dev
  local nvcc=${CUDA_HOME:+$CUDA_HOME/bin/}nvcc
  command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
  command -v "$nvcc" >/dev/null || {
    echo "there is no nvcc: set CUDA_HOME to the CUDA toolkit"
    exit 1
  }
  local toolkit libraries architecture kernels
  toolkit=$(dirname "$(dirname "$(command -v "$nvcc")")")
  libraries=$toolkit/lib64
  [ -d "$libraries" ] || libraries=$toolkit/lib
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
  local flags=(-std=c++20 -O3 -DNDEBUG -Iinclude)
  echo "building" >&2
  "$nvcc" "${flags[@]}" -gencode "arch=compute_$architecture,code=sm_$architecture" \
    --expt-relaxed-constexpr -c bench/gpu_kernels.cu -o "$out/gpu_kernels.o" &
  kernels=$!
  g++ "${flags[@]}" -isystem "$toolkit/include" -c bench/gpu_bench.cpp -o "$out/gpu_bench.o"
  wait "$kernels"
  g++ "$out/gpu_bench.o" "$out/gpu_kernels.o" -o "$out/gpu_bench" \
    -L"$libraries" "-Wl,-rpath,$libraries" -lcudart -lzstd -pthread
  cuda=$("$nvcc" --version | sed -n 's/.*release //p')
  compiler=$(g++ --version | head -n 1)
  program=$out/gpu_bench
}
program=${GPU_BENCH:-}
if [ -n "$program" ]; then
  cuda=${GPU_BENCH_NOTE:-"of $program"}
  compiler=$cuda
  commit=$cuda
else
  build
  commit=$(git describe --always --dirty 2>/dev/null || sed -n 's/^#define ZARRPOINT_VERSION_//p' include/zarrpoint/version.hpp | tr '\n' ' ')
fi

work=$(mktemp -d "$folder/gpu_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
{
  echo "| | |"
  echo "|---|---|"
  nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.max,pcie.link.width.max \
    --format=csv,noheader | sed 's/^/| GPU, driver, PCIe generation and width | /; s/$/ |/'
  echo "| CUDA | $cuda |"
  echo "| processor | $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
    "$(awk '/MemTotal/ {printf "%d GiB", $2 / 1048576}' /proc/meminfo) |"
  echo "| system | $(uname -sr), $(. /etc/os-release && echo "$PRETTY_NAME"), $(stat -f -c %T "$work") |"
  echo "| compiler | $compiler |"
  echo "| zarrpoint | $commit |"
  echo
  "$program" "$work" "$@"
} | tee "$out/table.md"
