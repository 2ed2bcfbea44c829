#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# The library and the command on musl and libc++, as static programs: Debian has no C++ library for musl, PyPI's ziglang
# has one, with clang. The compression libraries are built from Debian's sources.
#
#   bash tests/musl/run.sh PYTHON FOLDER [command] [aarch64]
#
# PYTHON is one that has ziglang; FOLDER gets what is built. The command is for x86-64. For aarch64 it is a program that
# saves and loads, which qemu-user runs. FLAGS are those of the command's compiler, by default -O2.
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh
python=$(realpath -s "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
parts=${*:-command aarch64}
export ZIG_GLOBAL_CACHE_DIR=$folder/zig ZIG_LOCAL_CACHE_DIR=$folder/zig # or it writes into the home

need_packages cmake ninja-build pkg-config libcli11-dev qemu-user
[ -d "$folder/src/xz-utils" ] || sources_of "$folder/src" libzstd zlib bzip2 xz-utils

# tools TARGET  The compilers of a target as commands, in $prefix/bin.
tools() {
  local name
  mkdir -p "$prefix/bin" "$prefix/include" "$prefix/lib/pkgconfig"
  for name in cc c++; do
    printf '#!/bin/sh\nexec "%s" -m ziglang %s -target %s "$@"\n' "$python" $name "$1" >"$prefix/bin/$name"
  done
  for name in ar ranlib; do
    printf '#!/bin/sh\nexec "%s" -m ziglang %s "$@"\n' "$python" $name >"$prefix/bin/$name"
  done
  chmod +x "$prefix"/bin/*
}

# archive NAME OPTIONS SOURCE...  lib$NAME.a
archive() {
  local name=$1 options=$2
  mkdir -p "$prefix/objects/$name"
  # shellcheck disable=SC2086
  (cd "$prefix/objects/$name" && "$prefix/bin/cc" -O2 $options -c "${@:3}" && "$prefix/bin/ar" rcs "$prefix/lib/lib$name.a" ./*.o)
}

zstd() {
  local src=$folder/src/libzstd/lib
  archive zstd "-DZSTD_DISABLE_ASM -DZSTD_MULTITHREAD" "$src"/common/*.c "$src"/compress/*.c "$src"/decompress/*.c
  cp "$src"/zstd.h "$src"/zstd_errors.h "$prefix/include"
  printf 'Name: zstd\nDescription: zstd\nVersion: 1.5.4\nLibs: -L%s -lzstd\nCflags: -I%s\n' \
    "$prefix/lib" "$prefix/include" >"$prefix/lib/pkgconfig/libzstd.pc"
}

others() {
  local src=$folder/src
  archive z "-DHAVE_UNISTD_H -DHAVE_STDARG_H" "$src"/zlib/*.c
  cp "$src"/zlib/zlib.h "$src"/zlib/zconf.h "$prefix/include"
  archive bz2 "" "$src"/bzip2/{blocksort,huffman,crctable,randtable,compress,decompress,bzlib}.c
  cp "$src"/bzip2/bzlib.h "$prefix/include"
  mkdir -p "$prefix/xz"
  (cd "$prefix/xz" && "$src"/xz-utils/configure --host=x86_64-linux-musl CC="$prefix/bin/cc" AR="$prefix/bin/ar" \
    RANLIB="$prefix/bin/ranlib" --prefix="$prefix" --disable-shared --disable-nls --disable-doc --disable-scripts \
    --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo --disable-lzma-links &&
    make -j "${JOBS:-$(nproc)}" install)
  cp -r /usr/include/CLI "$prefix/include"
}

# prepare MACHINE  Its compilers and zstd.
prepare() {
  prefix=$folder/$1
  [ -f "$prefix/lib/libzstd.a" ] || { tools "$1-linux-musl" && zstd; }
}

command() {
  local command
  prepare x86_64
  [ -f "$prefix/lib/liblzma.a" ] || others
  PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig cmake -S . -B "$prefix/build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_CXX_COMPILER="$prefix/bin/c++" -DCMAKE_AR="$prefix/bin/ar" -DCMAKE_RANLIB="$prefix/bin/ranlib" \
    -DCMAKE_CXX_FLAGS="${FLAGS:--O2}" -DCMAKE_FIND_ROOT_PATH="$prefix" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DZARRPOINT_BUILD_TESTS=OFF -DZARRPOINT_BUILD_EXAMPLES=OFF \
    -DZARRPOINT_BUILD_BENCHMARKS=OFF -DZARRPOINT_TEST_UNITY=ON \
    -DCMAKE_PROJECT_zarrpoint_INCLUDE="$PWD/tools/cmake/zarrpoint-static.cmake"
  cmake --build "$prefix/build" -j "${JOBS:-$(nproc)}" --target zarrpoint_cli
  command=$prefix/build/tools/cli/zarrpoint
  if LC_ALL=C readelf -d "$command" | grep NEEDED; then echo "the command is not static" && exit 1; fi
  rm -rf "$prefix/tried" && mkdir "$prefix/tried"
  "$command" convert tests/golden/zip/zarr-python-v3.zip "$prefix/tried/a" --to zarr3
  "$command" verify "$prefix/tried/a"
  "$command" convert "$prefix/tried/a" "$prefix/tried/a.npz"
  "$command" inspect "$prefix/tried/a.npz"
  echo "$command: $(($(stat -c %s "$command") / 1024)) KiB"
}

aarch64() {
  prepare aarch64
  "$prefix/bin/c++" -static -std=c++20 -O1 -Iinclude -I"$prefix/include" test_package/test_package.cpp -L"$prefix/lib" -lzstd \
    -o "$prefix/program"
  qemu-aarch64 "$prefix/program"
  echo "a program for aarch64 and musl saves and loads"
}

for part in $parts; do "$part"; done
