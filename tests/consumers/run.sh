#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Adds zarrpoint to a project in every way that docs/install.md names, and builds and runs the
# program of README.md there.
#
#   bash tests/consumers/run.sh              all of them
#   bash tests/consumers/run.sh conan vcpkg  only the named ones
#
# Each folder here is a project; its run.sh is run in a copy, beside which lie app.cpp, the program,
# and zarrpoint, this checkout. One line each; what was said stands in build/consumers/NAME.log.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tools/debian.sh
root=$PWD
work=$root/build/consumers
all=$(cd tests/consumers && for run in */run.sh; do echo "${run%/run.sh}"; done)

prepare() {
  need_packages g++ cmake ninja-build ccache pkg-config libzstd-dev zlib1g-dev libxtensor-dev \
    python3 python3-venv || return 1
  mkdir -p "$work"
  python3 tests/tools/compile_once.py --install "$work/bin"
  python3 tests/tools/extract_readme.py --program "$work/app.cpp"
}

# consume NAME: prints its line; the exit status is that of its run.sh.
consume() {
  local name=$1 began=$SECONDS status
  local place=$work/$name log=$work/$name.log
  rm -rf "$place"
  cp -r "tests/consumers/$name" "$place" &&
    cp "$work/app.cpp" tests/consumers/parent_state.cmake "$place" &&
    ln -s "$root" "$place/zarrpoint" &&
    (cd "$place" && bash -euxo pipefail run.sh) >"$log" 2>&1 </dev/null
  status=$?
  if [ $status -eq 0 ]; then
    printf 'ok    %4d s  %s\n' $((SECONDS - began)) "$name"
  else
    printf 'FAIL  %4d s  %s (exit status %d; %s)\n%s\n' $((SECONDS - began)) "$name" $status \
      "build/consumers/$name.log" "$(tail -n 40 "$log" | cut -c 1-300 | sed 's/^/      | /')"
  fi
  return $status
}

if [ "${1:-}" = --one ]; then
  consume "$2"
  exit
fi
for name in "$@"; do
  [ -f "tests/consumers/$name/run.sh" ] || { echo "there is no consumer '$name': "$all; exit 2; }
done
# Debian's programs, its Python among them, before others of the same name; the compiler takes what
# is one text in several ways as one.
export PATH=$work/bin:/usr/bin:$PATH
export CMAKE_GENERATOR=Ninja
prepare || exit 1
# nlohmann_json is for one header, which no consumer includes: where it is found, it ends the compilation.
mkdir -p "$work/without/nlohmann"
echo '#error "nlohmann/json.hpp is included, which README says is not needed"' >"$work/without/nlohmann/json.hpp"
export CPLUS_INCLUDE_PATH=$work/without
# shellcheck disable=SC2086
printf '%s\n' ${*:-$all} | xargs -P "${JOBS:-$(nproc)}" -I '{}' bash tests/consumers/run.sh --one '{}'
status=$?
if [ $status -eq 0 ]; then echo "every consumer works ($SECONDS s)"; else echo "FAILED ($SECONDS s)"; fi
[ $status -eq 0 ]
exit # before bash reads on, should this file have been edited meanwhile
