#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Prints the folder of a CUDA toolkit, which has bin/nvcc, include and lib: that of $CUDA_HOME, of the
# nvcc in PATH, or /usr/local/cuda; else one from PyPI, installed in build/cuda-toolkit.
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh

for root in "${CUDA_HOME:-}" "$(dirname "$(dirname "$(command -v nvcc || echo /none/nvcc)")")" /usr/local/cuda; do
  if [ -z "${CUDA_FROM_PYPI:-}" ] && [ -x "$root/bin/nvcc" ] && [ -f "$root/include/cuda_runtime_api.h" ]; then
    echo "$root"
    exit
  fi
done

venv=$PWD/build/cuda-toolkit
if ! { [ -f "$venv/done" ] && cmp -s "$venv/done" tests/cuda/requirements.txt; }; then
  need_packages python3 python3-venv >&2
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv" >&2
  "$venv/bin/pip" install -q --disable-pip-version-check -r tests/cuda/requirements.txt >&2
  for folder in "$venv"/lib/python3*/site-packages/nvidia/cu13; do
    ln -sfn lib "$folder/lib64"
    ln -sfn libcudart.so.13 "$folder/lib/libcudart.so"
    ln -sfn "$folder" "$venv/toolkit"
  done
  cp tests/cuda/requirements.txt "$venv/done"
fi
readlink -f "$venv/toolkit"
