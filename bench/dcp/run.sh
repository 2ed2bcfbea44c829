#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Checkpoints of torch.distributed.checkpoint by zarrpoint and by PyTorch, after `bash tests/run.sh torch`,
# whose PyTorch it takes.
#
#   bash bench/dcp/run.sh FOLDER [MEGABYTES [ROUNDS]]
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/bench "$1"
g++ -std=c++20 -O3 -DNDEBUG -Iinclude bench/dcp/dcp_peer.cpp -o build/bench/dcp_peer -lzstd -pthread
LD_LIBRARY_PATH=$PWD/build/torch-hollow build/torch-venv/bin/python bench/dcp/run.py build/bench/dcp_peer "$@"
