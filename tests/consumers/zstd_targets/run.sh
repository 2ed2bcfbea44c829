# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build
cmake --install zarrpoint-build --prefix "$PWD/prefix"
# What is tested is which library is linked: a small program does.
printf '#include <zstd.h>\nint main() { return ZSTD_versionNumber() < 10504; }\n' >app.cpp

# try NAME EXPECTED OPTION...: by find_package and by add_subdirectory.
try() {
  for how in find_package add_subdirectory; do
    cmake -S . -B "$1-$how" -DHOW=$how -DCMAKE_PREFIX_PATH="$PWD/prefix" -DEXPECTED="$2" "${@:3}"
    cmake --build "$1-$how"
    "$1-$how/app"
  done
}

# A package whose only target has one of the names, as vcpkg's, and one of Conan's, has.
for target in libzstd libzstd_shared libzstd_static; do
  mkdir -p stub/$target
  cat >stub/$target/zstdConfig.cmake <<END
find_library(stub_zstd zstd REQUIRED)
add_library(zstd::$target SHARED IMPORTED)
set_target_properties(zstd::$target PROPERTIES IMPORTED_LOCATION \${stub_zstd})
END
  cat >stub/$target/zstdConfigVersion.cmake <<END
set(PACKAGE_VERSION 1.5.7)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
END
  try $target zstd::$target -Dzstd_DIR="$PWD/stub/$target"
done

# Debian's own has two of them; without any package there is pkg-config.
try debian zstd::libzstd_shared
try none PkgConfig::zarrpoint_libzstd -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON

# No zstd at all is said in so many words.
export PKG_CONFIG_LIBDIR=$PWD
for how in find_package add_subdirectory; do
  if cmake -S . -B no-$how -DHOW=$how -DCMAKE_PREFIX_PATH="$PWD/prefix" -DEXPECTED=none \
    -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON 2>no.log; then exit 1; fi
  grep 'zarrpoint needs zstd 1.5.4 or later' no.log
done
