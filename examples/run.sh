#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian 12), builds the speech detector and runs it: a trained network
# becomes a checkpoint, is loaded from it and listens to a recording.
set -eu
cd "$(dirname "$0")/.."
. tools/debian.sh
trap 'status=$?; [ $status -eq 0 ] || echo "The example FAILED (exit status $status)."' EXIT

need_packages g++ cmake ninja-build pkg-config libzstd-dev nlohmann-json3-dev libxtensor-dev

echo "building the speech detector (about a minute)"
mkdir -p build
cmake --preset release >build/example.log &&
  cmake --build --preset release --target speech_detector >>build/example.log || {
  cat build/example.log
  exit 1
}
build/release/examples/speech_detector examples/data/silero-vad build/speech_detector.zarr
