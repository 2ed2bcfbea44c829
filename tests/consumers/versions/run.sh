# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build
cmake --install zarrpoint-build --prefix "$PWD/prefix"

# include/zarrpoint/version.hpp is the source; what cannot read it says the same.
version=$(sed -n 's/#define ZARRPOINT_VERSION_[A-Z]* //p' zarrpoint/include/zarrpoint/version.hpp |
  paste -sd .)
test "$(PKG_CONFIG_PATH=$PWD/prefix/share/pkgconfig pkg-config --modversion zarrpoint)" = "$version"
for manifest in zarrpoint/vcpkg.json zarrpoint/tools/vcpkg/ports/zarrpoint/vcpkg.json; do
  grep -Fx "  \"version-semver\": \"$version\"," $manifest
done

# Of a 0.x version a program takes the minor version that it asks for, or none.
cmake -S . -B build -DCMAKE_PREFIX_PATH="$PWD/prefix" -DVERSION="$version"
