#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# A static program on musl and libc++, for x86-64 and aarch64: it saves and loads. Debian has no C++ library for musl,
# PyPI's ziglang has one, with clang; zstd is built from Debian's sources.
#
#   bash tests/musl/run.sh PYTHON FOLDER [MACHINE...]     PYTHON is one that has ziglang; FOLDER gets what is built
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh
python=$(realpath -s "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
export ZIG_GLOBAL_CACHE_DIR=$folder/zig ZIG_LOCAL_CACHE_DIR=$folder/zig # or it writes into the home

need_packages binutils qemu-user
[ -d "$folder/src/libzstd" ] || sources_of "$folder/src" libzstd
zstd=$folder/src/libzstd/lib

for machine in ${*:-x86_64 aarch64}; do
  target=$machine-linux-musl
  mkdir -p "$folder/$machine"
  if [ ! -f "$folder/$machine/libzstd.a" ]; then
    (cd "$folder/$machine" &&
      "$python" -m ziglang cc -target $target -O2 -DZSTD_DISABLE_ASM -c "$zstd"/{common,compress,decompress}/*.c &&
      "$python" -m ziglang ar rcs libzstd.a ./*.o)
  fi
  "$python" -m ziglang c++ -target $target -static -std=c++20 -O1 -Wall -Wextra -Werror -Iinclude -I"$zstd" \
    test_package/test_package.cpp "$folder/$machine/libzstd.a" -o "$folder/$machine/program"
  if LC_ALL=C readelf -d "$folder/$machine/program" | grep NEEDED; then
    echo "the program for $machine is not static"
    exit 1
  fi
  if [ "$machine" = "$(uname -m)" ]; then "$folder/$machine/program"; else "qemu-$machine" "$folder/$machine/program"; fi
  echo "$machine: a static program saves and loads; it has $(($(stat -c %s "$folder/$machine/program") / 1024)) KiB"
done
