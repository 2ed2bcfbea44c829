#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Builds the command as one static binary and as a Debian package, checks both, and says their size
# and how long the binary takes to start.
#
#   bash tools/package.sh [FOLDER]    build/package, if none is named
#
# FOLDER gets zarrpoint and zarrpoint_VERSION_ARCHITECTURE.deb. The binary needs no library of the
# machine. Debian has no static zfp, so it does not know the codec zfp. DEBFULLNAME and DEBEMAIL
# name the maintainer. lintian checks the package, where it is installed.
set -eu
cd "$(dirname "$0")/.."
. tools/debian.sh
folder=$(realpath -m "${1:-build/package}")
build=$folder/build
tree=$folder/tree

need_packages g++ cmake ninja-build pkg-config libzstd-dev zlib1g-dev libbz2-dev liblzma-dev libcli11-dev
mkdir -p "$folder"
version=$(sed -n 's/#define ZARRPOINT_VERSION_[A-Z]* //p' include/zarrpoint/version.hpp | paste -sd .)
changed=$(git log -1 --format=%ct -- include tools/cli 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$changed} # the same commit gives the same package

echo "== the command: $folder/build.log"
{
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DZARRPOINT_BUILD_TESTS=OFF \
    -DZARRPOINT_BUILD_EXAMPLES=OFF -DZARRPOINT_BUILD_BENCHMARKS=OFF -DZARRPOINT_TEST_UNITY=ON \
    -DCMAKE_PROJECT_zarrpoint_INCLUDE="$PWD/tools/cmake/zarrpoint-static.cmake" &&
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target zarrpoint_cli
} >"$folder/build.log" 2>&1 || { tail -n 30 "$folder/build.log"; exit 1; }
cp "$build/tools/cli/zarrpoint" "$folder/zarrpoint"
if LC_ALL=C readelf -d "$folder/zarrpoint" | grep NEEDED; then
  echo "the binary needs these libraries: it is not static"
  exit 1
fi

echo "== the package"
rm -rf "$tree"
put() { install -D -m "$1" /dev/stdin "$tree/$2"; } # put MODE PATH: what stands at the input
put 755 usr/bin/zarrpoint <"$folder/zarrpoint"
gzip -9n <tools/cli/zarrpoint.1 | put 644 usr/share/man/man1/zarrpoint.1.gz
for schema in tools/cli/schemas/*; do put 644 "usr/share/zarrpoint/schemas/$(basename "$schema")" <"$schema"; done
"$folder/zarrpoint" completion bash | put 644 usr/share/bash-completion/completions/zarrpoint
"$folder/zarrpoint" completion zsh | put 644 usr/share/zsh/vendor-completions/_zarrpoint
"$folder/zarrpoint" completion fish | put 644 usr/share/fish/vendor_completions.d/zarrpoint.fish
maintainer="${DEBFULLNAME:-The zarrpoint authors} <${DEBEMAIL:-zarrpoint@example.org}>"
gzip -9n <<END | put 644 usr/share/doc/zarrpoint/changelog.gz
zarrpoint ($version) unstable; urgency=medium

  * What changed for users stands in CHANGELOG.md of the sources.

 -- $maintainer  $(LC_ALL=C date -uR -d "@$SOURCE_DATE_EPOCH")
END
put 644 usr/share/doc/zarrpoint/copyright <<'END'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: zarrpoint

Files: *
Copyright: 2026 The zarrpoint authors
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
END
put 644 usr/share/lintian/overrides/zarrpoint <<'END'
# One binary for all releases of Debian and Ubuntu, and for machines where nothing can be installed.
zarrpoint: statically-linked-binary
zarrpoint: embedded-library bzip2 *
zarrpoint: embedded-library zlib *
END
architecture=$(dpkg --print-architecture)
put 644 DEBIAN/control <<END
Package: zarrpoint
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk "$tree" | cut -f 1)
Section: utils
Priority: optional
Description: look into tensor checkpoints, check, convert and compare them
 The command zarrpoint reads the checkpoints of Zarr, Orbax, PyTorch,
 Megatron-Core, safetensors, GGUF and NumPy. It shows what they hold, verifies
 every checksum, compares two of them, and converts one into another format.
END
chmod 755 "$tree/DEBIAN"
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) | put 644 DEBIAN/md5sums
find "$tree" -type d -exec chmod 755 {} +
package=$folder/zarrpoint_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package"

echo "== its checks"
rm -rf "$tree"
dpkg-deb --extract "$package" "$tree"
test "$("$tree/usr/bin/zarrpoint" --version)" = "zarrpoint $version"
"$tree/usr/bin/zarrpoint" inspect tests/golden/zip/zarr-python-v3.zip >"$folder/inspect.log"
"$tree/usr/bin/zarrpoint" verify tests/golden/zip/zarr-python-v3.zip >"$folder/verify.log" || test $? = 3
if command -v lintian >/dev/null; then
  # Root is who runs it in containers.
  lintian --allow-root --fail-on error,warning "$package"
  echo "lintian finds nothing"
else
  echo "NOT CHECKED by lintian, which is not installed"
fi
fastest=1000000000
for _ in $(seq 200); do
  began=$(date +%s%N)
  "$folder/zarrpoint" --version >/dev/null
  took=$(($(date +%s%N) - began))
  [ $took -ge $fastest ] || fastest=$took
done
echo "$folder/zarrpoint: $(($(stat -c %s "$folder/zarrpoint") / 1024)) KiB, the fastest of 200 starts took $((fastest / 1000)) us"
echo "$package: $(($(stat -c %s "$package") / 1024)) KiB"
