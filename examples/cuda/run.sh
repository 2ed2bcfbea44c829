#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Builds the example with nvcc and runs it: on the first GPU, or on the host where there is none.
# Installs what is missing (Debian 12), but for the CUDA toolkit: PATH, or the variable CUDA_HOME,
# leads to it. GPU_ARCHITECTURES is what the kernels are compiled for; by default the GPU that is
# there, or that of an H100.
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh
trap 'status=$?; [ $status -eq 0 ] || echo "The example FAILED (exit status $status)."' EXIT
need_packages g++ libzstd-dev nlohmann-json3-dev

nvcc=${CUDA_HOME:+$CUDA_HOME/bin/}nvcc
command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
command -v "$nvcc" >/dev/null || {
  echo "there is no nvcc: set CUDA_HOME to the CUDA toolkit"
  exit 1
}
toolkit=$(dirname "$(dirname "$(command -v "$nvcc")")")
out=${1:-build/cuda_example}
architectures=${GPU_ARCHITECTURES:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
  2>/dev/null | head -n 1 | tr -d .)}
mkdir -p "$out"
flags=(-std=c++20 -O1 -Iinclude)

echo "building the speech detector"
codes=()
for each in ${architectures:-90}; do codes+=(-gencode "arch=compute_$each,code=sm_$each"); done
"$nvcc" "${flags[@]}" "${codes[@]}" -Werror all-warnings --expt-relaxed-constexpr \
  -c examples/cuda/layers.cu -o "$out/layers.o" &
kernels=$!
read -ra compiler <<<"${CXX:-g++}"
"${compiler[@]}" "${flags[@]}" -Wall -Wextra -Wpedantic -Werror -isystem "$toolkit/include" \
  -c examples/cuda/speech_detector.cpp -o "$out/speech_detector.o"
wait "$kernels"
libraries=$toolkit/lib64
[ -d "$libraries" ] || libraries=$toolkit/lib
"${compiler[@]}" "$out/speech_detector.o" "$out/layers.o" -o "$out/speech_detector" -lzstd \
  -L"$libraries" "-Wl,-rpath,$libraries" -lcudart -pthread
"$out/speech_detector" examples/data/silero-vad "$out/speech_detector.zarr"
