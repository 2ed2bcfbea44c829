#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Compiles the kernels for every architecture, each .cuh alone, and the tests for a real device, none
# with a warning; runs the tests, which leave themselves out where there is no device.
#
#   bash tests/cuda/nvcc.sh [FOLDER]      $NVCC: the compiler; $NVCC_LINK: flags for where libcudart lies;
#                                         $LIBRARY: the compiled form, which saves two thirds of the time
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${1:-build/cuda}
mkdir -p "$out"
read -ra nvcc <<<"${NVCC:-nvcc}"
read -ra link <<<"${NVCC_LINK:-}"
library=()
flags=(-std=c++20 --expt-relaxed-constexpr -Werror all-warnings -Xcompiler=-Wall -Iinclude -Itests)
every=(-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
  -gencode arch=compute_100,code='[sm_100,compute_100]')

if [ -n "${LIBRARY:-}" ]; then
  library=("$LIBRARY")
  flags+=(-DZARRPOINT_COMPILED)
fi

# The registers of a thread hold all that it works on: none of it goes to memory.
kernels() {
  "${nvcc[@]}" "${flags[@]}" "${every[@]}" -Xptxas=-warn-spills,-warn-lmem-usage,-Werror \
    -c tests/cuda/gpu_kernels.cu -o "$out/gpu_kernels.o"
}
alone() {
  local header failed=0
  for header in include/zarrpoint/cuda/*.cuh; do
    echo "#include <${header#include/}>" >"$out/alone.cu"
    "${nvcc[@]}" "${flags[@]}" -arch=sm_80 -c "$out/alone.cu" -o "$out/alone.o" ||
      { echo "$header does not compile alone" && failed=1; }
  done
  return $failed
}
# All headers as a program has them that is not compiled against the library: cudafe++ 13.0 fell over
# one of them, and warned of another.
header_only() {
  echo '#include <zarrpoint/devices.hpp>' >"$out/header_only.cu"
  "${nvcc[@]}" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -Iinclude -arch=sm_80 \
    -cuda "$out/header_only.cu" -o "$out/header_only.ii"
}
# NAME: a program of one unit, without kernels of ours.
program() {
  "${nvcc[@]}" "${flags[@]}" -arch=sm_80 -c "tests/cuda/$1.cu" -o "$out/$1.o"
}
# NAME [OBJECT...]: 77 is what a test without a device ends with.
run() {
  local name=$1 status=0
  shift
  "${nvcc[@]}" -arch=sm_80 "$out/$name.o" "$@" "${library[@]}" "${link[@]}" -Xcompiler=-rdynamic \
    -lzstd -lz -o "$out/$name" || return 1
  "$out/$name" || status=$?
  [ $status -eq 0 ] || [ $status -eq 77 ]
}

(kernels && alone && header_only) &
others=$!
status=0
program gpu_test || status=1
program thrust_test || status=1
wait $others || status=1
[ $status -eq 0 ] && run gpu_test "$out/gpu_kernels.o" && run thrust_test || status=1
exit $status
