#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# The layer of CUDA, with no GPU: its tests on a fake runtime, the installed package with the real
# one, and what nvcc compiles. Where there is no toolkit, one is installed below build/.
set -eu
cd "$(dirname "$0")/../.."
CUDA_HOME=$(bash tests/cuda/toolkit.sh)
export CUDA_HOME PATH=$CUDA_HOME/bin:$PATH
echo "the toolkit is $CUDA_HOME: $(nvcc --version | sed -n 's/^Cuda.*release //p')"
jobs=${JOBS:-$(nproc)}

# Built by the preset dev already where that found the headers.
cmake --preset dev -DZARRPOINT_TEST_UNITY=ON -DZARRPOINT_CUDA_INCLUDE="$CUDA_HOME/include"
cmake --build --preset dev -j "$jobs" --target cuda_tests
ctest --preset dev -R '^cuda$'

# As a program finds it: the component of the package, and the runtime that the toolkit has.
work=$PWD/build/cuda-package
rm -rf "$work"
cmake --preset package -B "$work/zarrpoint" -DCMAKE_INSTALL_PREFIX="$work/prefix"
cmake --install "$work/zarrpoint"
cmake -S tests/cuda/find_package -B "$work/program" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCUDAToolkit_ROOT="$CUDA_HOME" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --build "$work/program"
"$work/program/first_tensor" "$work/first_tensor.zarr"

# What a toolkit that is missing says.
if cmake -S tests/cuda/find_package -B "$work/without" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON >"$work/without.log" 2>&1; then
  echo "zarrpoint::cuda was found without a toolkit"
  exit 1
fi
grep "component cuda needs a CUDA toolkit" "$work/without.log"

bash tests/cuda/nvcc.sh build/cuda
