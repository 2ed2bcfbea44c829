# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build
cmake --install zarrpoint-build --prefix "$PWD/prefix"

# Nothing in the package knows where it was built or installed: it is used from another place.
mv prefix "moved here"
if grep -rIF -e "$PWD" -e "$(readlink -f zarrpoint)" "moved here"; then exit 1; fi
# The skeletons that the messages of static assertions name are there.
for skeleton in codecs/my_codec formats/my_format handlers/my_tensor_handler stores/my_store; do
  test -s "moved here/share/zarrpoint/examples/$skeleton.hpp"
done
# It needs zstd and threads, and asks for nothing else.
if grep -rI nlohmann_json "moved here/share"; then exit 1; fi

cmake -S . -B build -DCMAKE_PREFIX_PATH="$PWD/moved here" -DCMAKE_PROJECT_app_INCLUDE="$PWD/parent_state.cmake"
cmake --build build
./build/app
