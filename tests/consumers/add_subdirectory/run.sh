# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S . -B build -DCMAKE_PROJECT_app_INCLUDE="$PWD/parent_state.cmake"
cmake --build build
./build/app

# The program's installation is its own: nothing of zarrpoint is in it, and no test was built.
cmake --install build --prefix "$PWD/prefix"
test "$(cd prefix && find . -type f)" = ./bin/app
test ! -e build/zarrpoint/tests

# The test of the test: a library that sets an option for all is found out.
mkdir rude
echo 'set(CMAKE_CXX_EXTENSIONS OFF PARENT_SCOPE)' >rude/CMakeLists.txt
sed 's/add_subdirectory(zarrpoint)/&\nadd_subdirectory(rude)/' CMakeLists.txt >rude.txt
mv rude.txt CMakeLists.txt
if cmake -S . -B build 2>rude.log; then exit 1; fi
grep 'zarrpoint changed the project: new CMAKE_CXX_EXTENSIONS=OFF' rude.log
