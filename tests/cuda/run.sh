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

# Built by the preset dev already where that found the headers. One ninja at a time: see tests/run.sh.
exec 9>build/dev.lock
flock 9
cmake --preset dev -DZARRPOINT_TEST_UNITY=ON -DZARRPOINT_CUDA_INCLUDE="$CUDA_HOME/include"
cmake --build --preset dev -j "$jobs" --target fake_driver cuda_tests cuda_mdspan docs_devices fake_gpu_bench
exec 9>&-
build/dev/tests/cuda_tests
build/dev/tests/cuda_mdspan

# On the same runtime: the programs of docs/devices.md, and the benchmarks, which compare what they
# moved.
programs=$PWD/build/cuda-programs
rm -rf "$programs" && mkdir -p "$programs"
build/dev/tests/docs_devices "$programs" | tee "$programs/docs.log"
grep -qx "as docs/devices.md says" "$programs/docs.log"
build/dev/tests/fake_gpu_bench "$programs/bench" 4 20 1 2 >"$programs/bench.md"
grep -q "fake runtime, not a measurement" "$programs/bench.md"
grep -q "^| check: .* loads the same" "$programs/bench.md"
[ "$(grep -c '^| G[1-6] .*GB/s' "$programs/bench.md")" -ge 28 ]

# The example, which here runs on the host.
GPU_ARCHITECTURES=90 CXX="ccache g++" bash examples/cuda/run.sh "$programs/example"

# The headers do without exceptions and run-time types, and with either compiler.
for compiler in "g++ -fno-exceptions -fno-rtti" clang++-16; do
  $compiler -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror -fsyntax-only \
    -Iinclude -isystem "$CUDA_HOME/include" -include zarrpoint/cuda.hpp \
    -include zarrpoint/cuda/element_types.hpp -x c++ /dev/null
done

# Arrays of Python.
g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -Iinclude -isystem "$CUDA_HOME/include" \
  -isystem "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')" \
  tests/cuda/python_arrays.cpp

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

LIBRARY=build/dev/libzarrpoint_compiled.a bash tests/cuda/nvcc.sh build/cuda
