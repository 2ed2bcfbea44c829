#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Installs the package and uses it as a stranger would: by find_package, by pkg-config and by
# add_subdirectory.   check_install.sh BUILD_FOLDER
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$1"
mkdir -p "$1/consumer"
cd "$1"

cmake -S "$root" -B build -G Ninja -DCMAKE_INSTALL_PREFIX="$PWD/prefix" \
  -DZARRPOINT_BUILD_TESTS=OFF -DZARRPOINT_BUILD_EXAMPLES=OFF -DZARRPOINT_BUILD_BENCHMARKS=OFF
cmake --install build

cat >consumer/main.cpp <<'END'
#include <zarrpoint/zarrpoint.hpp>
int main() {
  const float values[] = {1, 2, 3};
  zarrpoint::save("three.zarr", {{"values", values}}).value();
  const auto back = zarrpoint::open("three.zarr").value().load<std::vector<float>>("values").value();
  return back == std::vector<float>{1, 2, 3} ? 0 : 1;
}
END
cat >consumer/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.24)
project(consumer LANGUAGES CXX)
if(ZARRPOINT_SOURCE)
  add_subdirectory(${ZARRPOINT_SOURCE} zarrpoint)
else()
  find_package(zarrpoint 0.1 REQUIRED)
endif()
add_executable(main main.cpp)
target_link_libraries(main PRIVATE zarrpoint::zarrpoint)
END

cmake -S consumer -B by_package -G Ninja -DCMAKE_PREFIX_PATH="$PWD/prefix"
cmake --build by_package
(cd by_package && ./main)

cmake -S consumer -B by_folder -G Ninja -DZARRPOINT_SOURCE="$root"
cmake --build by_folder
(cd by_folder && ./main)
[ ! -e by_folder/zarrpoint/tests ] || { echo "add_subdirectory built the tests"; exit 1; }

export PKG_CONFIG_PATH=$PWD/prefix/share/pkgconfig
# shellcheck disable=SC2046
g++ -std=c++20 consumer/main.cpp $(pkg-config --cflags --libs zarrpoint) -o by_pkg_config
./by_pkg_config
