#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian 12), then checks and tests everything.
#
#   bash tests/run.sh            whether the library works: every test, the command's tests, and real peers
#   bash tests/run.sh all        what CI runs: the sanitizers and all other checks, too
#   bash tests/run.sh dev tidy   only the named steps
#
# One line per step as it ends, with its seconds and those of processors; what a failed one said
# stands in build/logs. The step dev comes first, alone. Of the others two run at a time, each with
# half of the processors; those that need one another's results follow each other.
set -u
cd "$(dirname "$0")/.." || exit 1
. tools/debian.sh

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
venv=build/venv
logs=build/logs
jobs=${JOBS:-$(nproc)}
mkdir -p "$logs"
# The cache of ccache is the user's own: CCACHE_DIR, or what ccache takes; below build/ where there is no home.
[ -w "${HOME:-/nowhere}" ] || export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache}
export CCACHE_NOHASHDIR=1
export CCACHE_DEPEND=1    # what is not there yet is read once, and not by a preprocessor first
# Small stacks for what returned: tests begin thousands of threads, and each clears its own.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:max_uar_stack_size_log=16}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

clang=(clang-16 libclang-rt-16-dev llvm-16 lld-16)
# All that the steps need, so that none of them installs anything while others run. Those of `all` are large.
packages() {
  local more=() pip status
  [ -z "${everything:-}" ] || more=("${clang[@]}" clang-tidy-16 doxygen libtorch-dev)
  need_packages python3 python3-venv || return 1
  python_packages & # which takes as long as the others
  pip=$!
  need_packages g++ clang-format-14 cmake ninja-build ccache git make pkg-config libzstd-dev zlib1g-dev libbz2-dev \
    liblzma-dev libzfp-dev libcurl4-openssl-dev libssl-dev nlohmann-json3-dev doctest-dev libxtensor-dev libcli11-dev libdlpack-dev libopenmpi-dev \
    openmpi-bin python3-dev python3-torch libeigen3-dev libopencv-core-dev "${more[@]}"
  status=$?
  wait $pip && return $status
}

# packages_in VENV REQUIREMENTS [ARGUMENT OF pip...]
packages_in() (
  flock 9 || exit 1
  [ -f "$1/done" ] && cmp -s "$1/done" "$2" && exit
  rm -rf "$1" &&
    "$python" -m venv "$1" &&
    "$1/bin/pip" install -q --disable-pip-version-check -r "$2" "${@:3}" &&
    cp "$2" "$1/done"
) 9>"$1.lock"
python_packages() { packages_in "$venv" tests/interop/requirements.txt; }

format() {
  need_packages clang-format-14 || return 1
  # Compared, since --dry-run of clang-format 14 objects to the end of each inline namespace, which
  # it would replace by the same text.
  find include tests examples bench tools test_package -name golden -prune -o \
    \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \) -print0 2>/dev/null |
    xargs -0 -n 1 sh -c 'clang-format-14 "$1" | diff -u --label "$1" "$1" --label formatted -' sh
}

layers() {
  "$python" tests/tools/check_layers.py --self-test && "$python" tests/tools/check_layers.py &&
    "$python" tests/tools/check_links.py --self-test && "$python" tests/tools/check_links.py &&
    "$python" tests/tools/check_english.py --self-test && "$python" tests/tools/check_english.py &&
    "$python" tests/tools/check_scenarios.py &&
    "$python" tests/tools/check_tables.py --self-test && "$python" tests/tools/check_tables.py
}

# Without address randomisation where that is allowed: clang 16's sanitizers do not know the layouts
# that newer kernels choose.
fixed_addresses() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# The folder for the files of tests: in memory where there is room, since disks cost a third of the time.
# What the command, the examples and other programs write lies on a disk in any case.
test_files() {
  local room free folder
  room=$(df -Pk /dev/shm 2>/dev/null | awk 'END { print $4 + 0 }')
  free=$(awk '/^MemAvailable/ { print $2 + 0 }' /proc/meminfo 2>/dev/null)
  if [ "$room" -ge 4000000 ] && [ "${free:-0}" -ge 8000000 ] && [ -w /dev/shm ]; then folder=/dev/shm; else folder=${TMPDIR:-/tmp}; fi
  folder=$folder/zp.XXXX
  folder=$(mktemp -d "$folder") && chmod 1777 "$folder" && echo "$folder" # as /tmp is: a test is another user
}

remove_test_files() { [ ! -d "$files" ] || { chmod -R u+rwX "$files" && rm -rf "$files"; }; }

# preset NAME [cmake --build and ctest arguments for a part of it]
preset() {
  local name=$1 part=${2:-}
  local targets=() filter=()
  if [ -n "$part" ]; then
    # shellcheck disable=SC2086
    targets=(--target $(printf '%s_tests ' $part))
    filter=(-R "^(${part// /|})\$")
  fi
  cmake --preset "$name" -DZARRPOINT_TEST_UNITY=ON -DZARRPOINT_BUILD_MPI_TESTS=OFF &&
    cmake --build --preset "$name" -j "$jobs" "${targets[@]}" || return 1
  local status
  files=$(test_files) || return 1
  trap remove_test_files EXIT # also when the run is interrupted
  TMPDIR=$files fixed_addresses ctest --preset "$name" "${filter[@]}"
  status=$?
  remove_test_files
  return $status
}

# A row of which only the named tests run here; FULL=1 before the command runs them all.
row() { if [ -n "${FULL:-}" ]; then preset "$1"; else preset "$1" "$2"; fi; }

dev() { preset dev; }
# one_at_a_time COMMAND...: since ninja does not allow two of itself in a folder.
one_at_a_time() (
  flock 9 && "$@" 9>&-
) 9>build/dev.lock
# of_dev TARGET...: what the step dev has built already, where it ran.
of_dev() { one_at_a_time build_of_dev "$@"; }
build_of_dev() {
  grep -qs '^ZARRPOINT_TEST_UNITY:BOOL=ON' build/dev/CMakeCache.txt ||
    cmake --preset dev -DZARRPOINT_TEST_UNITY=ON >/dev/null || return 1
  cmake --build --preset dev -j "$jobs" --target "$@"
}
# The library of the preset dev, with which programs of other steps are linked.
library() { of_dev zarrpoint_compiled && export LIBRARY=$PWD/build/dev/libzarrpoint_compiled.a; }
# By clang, which makes sanitized code in half of g++'s time; so it compiles every test, too.
asan() {
  need_packages "${clang[@]}" && rm -rf build/asan/profiles || return 1
  LLVM_PROFILE_FILE=$PWD/build/asan/profiles/%2m.profraw preset asan
}
# Of the run before: at least 90 % of the lines of include/.
coverage() { "$python" tests/tools/coverage.py build/asan 90; }
tsan() { need_packages "${clang[@]}" && preset tsan "exec array checkpoint distributed"; }
# All bodies are compiled, tests run of the layers that ask whether there are exceptions, and the programs of the
# pages have what is a template. The doors that the umbrella leaves out are compiled only, each alone and with its
# bodies, so that none of them lives on what another one includes.
noexcept() {
  local syntax=(g++ -std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Werror -fsyntax-only -Iinclude)
  printf '%s\n' distributed dcp dcp_save gguf group_manager group_safetensors megatron ocdbt orbax safetensors torch |
    xargs -P "$jobs" -I '{}' "${syntax[@]}" -include 'zarrpoint/{}.hpp' -x c++ /dev/null &&
    printf 'examples/docs/%s.cpp\n' arrays data_types distributed extend handlers hierarchy recipes stores tutorial |
    xargs -P "$jobs" -I '{}' "${syntax[@]}" -DZARRPOINT_COMPILED -Iexamples/handlers -Iexamples/codecs -Iexamples/stores -Iexamples/formats -Itests/support '{}' &&
    preset noexcept "core exec zarr handler embedded"
}
# Without the calls that Linux alone has (docs/platforms.md): what the library was compiled to calls none of them.
# Only when named, since it compiles the library and the tests of two layers once more.
posix() {
  preset posix "store checkpoint" || return 1
  if nm -u build/posix/libzarrpoint_compiled.a |
    grep -wE 'syscall|fallocate|syncfs|sync_file_range|fstatfs|statfs|statx|preadv|madvise|sched_getaffinity|getrandom|uname'; then
    echo "the library still makes these calls"
    return 1
  fi
  BUILD=build/posix/reliability OPTIONS=-DZARRPOINT_PLAIN_POSIX bash tests/reliability/run.sh "" kills crash_states faults escapes races
}
# clang with its own standard library. The doors that nothing below includes are compiled only.
libcxx() {
  local door
  need_packages clang-16 libc++-16-dev libc++abi-16-dev || return 1
  for door in cache dcp dcp_save delta distributed formats gguf group_manager group_safetensors gzip load_report manager megatron \
    numpy ocdbt orbax remote s3 safetensors torch zarrpoint; do
    echo "#include <zarrpoint/$door.hpp>"
  done | clang++-16 -std=c++20 -stdlib=libc++ -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ - &&
    row libcxx "core zarr"
}
# Static programs on musl and libc++, for x86-64 and aarch64.
musl() { packages_in build/musl_venv tests/musl/requirements.txt && bash tests/musl/run.sh build/musl_venv/bin/python build/musl; }
cxx23() { row cxx23 "checkpoint embedded"; }
clang19() { need_packages clang-19 && preset clang19; }
aarch64() {
  need_architecture arm64 &&
    need_packages g++-aarch64-linux-gnu qemu-user libzstd-dev:arm64 zlib1g-dev:arm64 \
      libbz2-dev:arm64 liblzma-dev:arm64 &&
    row aarch64 "codec store array embedded"
}
compile_fail() { "$python" tests/tools/compile_fail.py; }
readme() { "$python" tests/tools/extract_readme.py build/readme; }
interop() {
  need_packages python3-dev python3-torch && python_packages && library && "$venv/bin/python" tests/interop/run.py build/interop
}
# Megatron-Core itself: its PyTorch is that of PyPI, which brings CUDA, 4.7 GB in all.
megatron() {
  packages_in build/megatron-venv tests/interop/megatron_requirements.txt &&
    g++ -std=c++20 -O1 -Iinclude tests/interop/megatron_exchange.cpp -o build/megatron_exchange \
      -lzstd -lz -pthread &&
    of_dev zarrpoint_cli &&
    build/megatron-venv/bin/python tests/interop/py/megatron_check.py build/megatron_exchange build/dev/tools/cli/zarrpoint
}
# Orbax itself, a new release and an old one; JAX and what it brings take 1.5 GB.
orbax() {
  local release
  library && mkdir -p build/orbax &&
    g++ -std=c++20 -O0 -D_GLIBCXX_ASSERTIONS -DZARRPOINT_COMPILED -Iinclude tests/interop/orbax_exchange.cpp "$LIBRARY" \
      -o build/orbax/orbax_exchange -lzstd -pthread || return 1
  for release in old new; do
    packages_in build/orbax/venv-$release tests/interop/orbax_requirements_$release.txt &&
      build/orbax/venv-$release/bin/python -W ignore tests/interop/py/orbax_check.py build/orbax/orbax_exchange \
        build/orbax/$release || return 1
  done
}
# Checkpoints of torch.distributed.checkpoint, both ways, against the newest PyTorch of PyPI: 0.6 GB
# without NVIDIA's libraries, in whose place are hollow ones.
torch() { torch_check; }
# The long form: 2,000 random states for each number of processes of PyTorch that save and load them.
torch_long() { torch_check 2000 "1 2 3"; }
torch_check() {
  need_packages g++ binutils && packages_in build/torch-venv tests/interop/torch_requirements.txt --no-deps && library &&
    "$python" tests/interop/py/hollow_cuda.py "$(echo build/torch-venv/lib/python3*/site-packages/torch)" build/torch-hollow &&
    g++ -std=c++20 -O1 -DZARRPOINT_COMPILED -Iinclude tests/interop/dcp_exchange.cpp "$LIBRARY" \
      -o build/dcp_exchange -lzstd -pthread &&
    LD_LIBRARY_PATH=$PWD/build/torch-hollow build/torch-venv/bin/python tests/interop/py/dcp_check.py build/dcp_exchange "$@"
}
# torch::Tensor against PyTorch's C++ library: a program of its own, for half a minute of headers.
libtorch() {
  need_packages libtorch-dev && mkdir -p build/libtorch && library &&
    g++ -std=c++20 -O0 -D_GLIBCXX_ASSERTIONS -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror \
      -DZARRPOINT_COMPILED -Iinclude -isystem /usr/include/torch/csrc/api/include tests/interop/libtorch_test.cpp \
      "$LIBRARY" -o build/libtorch/libtorch_test -ltorch -ltorch_cpu -lc10 -lzstd -pthread &&
    build/libtorch/libtorch_test
}
# mdspan_of NAME COMPILER... : the test of the mdspans of real libraries, with the one that the
# flags tell.
mdspan_of() {
  local program=build/mdspan_$1
  "${@:2}" -O0 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror -Iinclude \
    tests/handler/mdspan_libraries.cpp ${LIBRARY:+-DZARRPOINT_COMPILED "$LIBRARY"} -o "$program" -lzstd -pthread && "$program"
}
# Kokkos', which the package of Basix has as one header. That of a CUDA toolkit is in the step cuda.
mdspan() {
  packages_in build/mdspan-venv tests/handler/mdspan_requirements.txt --no-deps && library &&
    mdspan_of kokkos g++ -std=c++20 -D_GLIBCXX_ASSERTIONS \
      -isystem "$(echo build/mdspan-venv/lib/python3*/site-packages/basix/include)" \
      '-DMDSPAN_HEADER=<basix/mdspan.hpp>' -DMDSPAN_NAMESPACE=Kokkos \
      -DMDSPAN_IMPL_STANDARD_NAMESPACE=Kokkos -DMDSPAN_SUBMDSPAN=Kokkos::submdspan
}
# That of the standard library: of Debian's, libc++ 19 alone has one.
mdspan_std() {
  unset LIBRARY # whose standard library is another one
  need_packages clang-19 libc++-19-dev libc++abi-19-dev &&
    mdspan_of std clang++-19 -std=c++23 -stdlib=libc++ -Wno-deprecated-declarations \
      '-DMDSPAN_HEADER=<mdspan>' -DMDSPAN_NAMESPACE=std
}
# Ort::Value against ONNX Runtime: the library of PyPI's package, the headers of Debian 13's, which
# has the same version of the API.
onnxruntime() {
  local root=build/onnxruntime library
  mkdir -p $root && packages_in $root/venv tests/interop/onnxruntime_requirements.txt --no-deps &&
    { [ -d $root/headers/usr ] || package_of trixie libonnxruntime-dev $root/headers; } || return 1
  library=$(echo $root/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*.*)
  ln -sfn "$(basename "$library")" "$(dirname "$library")/libonnxruntime.so.1"
  g++ -std=c++20 -O0 -D_GLIBCXX_ASSERTIONS -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror \
    -Iinclude -isystem $root/headers/usr/include/onnxruntime tests/interop/onnxruntime_test.cpp \
    -o $root/onnxruntime_test "$library" -Wl,-rpath,"$(realpath "$(dirname "$library")")" -lzstd -pthread &&
    $root/onnxruntime_test
}
mpi() {
  need_packages libopenmpi-dev openmpi-bin &&
    one_at_a_time cmake --preset dev -DZARRPOINT_TEST_UNITY=ON -DZARRPOINT_BUILD_MPI_TESTS=ON &&
    of_dev mpi_test && bash tests/interop/mpi.sh build/dev/tests/mpi_test
}
# The long form of the test of distributed_tests that dev runs a fifth of: 10,000 pairs of shardings.
reshard() {
  of_dev distributed_tests &&
    ZARRPOINT_TEST_LONG=1 build/dev/tests/distributed_tests --test-case='reshard: random pairs*' --no-skip
}
parallel() { one_at_a_time env PRESET=dev bash examples/parallel/run.sh; }
# Servers of others on loopback, from Debian's packages: nginx with TLS, a bucket of a real server of S3.
remote() {
  need_packages libcurl4-openssl-dev nginx-light openssl && of_dev docs_remote_curl &&
    "$python" tests/remote/tls_check.py build/dev/examples/docs_remote_curl build/tls || return 1
  one_at_a_time env PRESET=dev bash examples/remote/run.sh || [ $? -eq 77 ] # it says that it was skipped
}
# Which clients of S3 open what we put, and the reverse, on four servers.
remote_peers() {
  packages_in build/remote-venv tests/remote/requirements.txt && library &&
    g++ -std=c++20 -O0 -D_GLIBCXX_ASSERTIONS -DZARRPOINT_COMPILED -Iinclude tests/interop/s3_exchange.cpp "$LIBRARY" \
      -o build/s3_exchange -lzstd -lcurl -pthread &&
    bash tests/remote/peers.sh build/remote-venv/bin/python build/s3_exchange build/peers
}
cuda() { need_packages "${clang[@]}" && bash tests/cuda/run.sh; }
conformance() {
  python_packages && library && "$venv/bin/python" tests/conformance/run.py build/conformance &&
    "$venv/bin/python" tests/conformance/fuzz.py build/conformance --cases "${CONFORMANCE_CASES:-10000}"
}
cli() {
  python_packages && of_dev zarrpoint_cli &&
    "$venv/bin/python" tests/cli/run.py build/dev/tools/cli/zarrpoint build/cli
}
# A hundred random trees of the containers whose peers are in the interop packages; HUNT_TREES=20000 for the long form.
hunt() {
  python_packages && of_dev zarrpoint_cli &&
    "$venv/bin/python" tests/hunt/run.py build/dev/tools/cli/zarrpoint build/hunt --trees "${HUNT_TREES:-100}"
}
# The same of every container: with PyTorch, Orbax and gguf, too.
hunt_all() {
  need_packages g++ binutils && packages_in build/hunt-venv tests/hunt/requirements.txt &&
    build/hunt-venv/bin/pip install -q --disable-pip-version-check --no-deps -r tests/interop/torch_requirements.txt &&
    "$python" tests/interop/py/hollow_cuda.py "$(echo build/hunt-venv/lib/python3*/site-packages/torch)" build/torch-hollow &&
    of_dev zarrpoint_cli &&
    LD_LIBRARY_PATH=$PWD/build/torch-hollow build/hunt-venv/bin/python -W ignore tests/hunt/run.py build/dev/tools/cli/zarrpoint \
      build/hunt_all --trees "${HUNT_TREES:-1000}" --need-all
}
single_header() {
  need_packages "${clang[@]}" && preset single_header "zarr checkpoint" && "$python" tests/tools/check_single_header.py build/single_header
}
consumers() { bash tests/consumers/run.sh; }
cost() { need_packages libxtensor-dev && "$python" tests/tools/check_compile_cost.py build/cost; }
size() { "$python" tests/tools/check_size.py build/size; }
fuzz() { need_packages "${clang[@]}" && bash tests/fuzz/run.sh "${FUZZ_SECONDS:-fixed}"; }
# The scoreboard of docs/reliability.md, its short form.
reliability() { "$python" tests/reliability/mutation.py --self-test && bash tests/reliability/run.sh; }
# What mutates the code behind the scoreboard, in half an hour or more. The objects of the tests are those of dev.
mutation() {
  of_dev core_tests store_tests codec_tests array_tests checkpoint_tests &&
    "$python" tests/reliability/mutation.py --jobs "$jobs"
}
# The command as a static binary and as a Debian package, which lintian checks.
package() { need_packages lintian && bash tools/package.sh build/package; }
docs() { bash tools/docs/build.sh; }
tidy() { need_packages clang-tidy-16 && "$python" tests/tools/run_tidy.py; }
# A newcomer's tasks from the pages alone, but for what takes long and is much like another block: FULL=1 before
# the command runs all.
as_printed() {
  need_packages g++ cmake make ninja-build git pkg-config libzstd-dev nlohmann-json3-dev libxtensor-dev libeigen3-dev \
    libcli11-dev zlib1g-dev libbz2-dev liblzma-dev libzfp-dev python3-torch python3-venv && python_packages &&
    packages_in build/consumers/conan_venv tests/consumers/conan/requirements.txt &&
    if [ -n "${FULL:-}" ]; then set --; else set -- -- "The command" "The include folder" "One file" pkg-config "Conan:"; fi &&
    "$python" tests/tools/run_as_printed.py build/as_printed build/consumers/conan_venv "$venv/bin/python" "$@"
}

# What a plain run does: whether the library works.
plain="packages format layers dev readme compile_fail interop mpi parallel conformance cli hunt"
# What `all` adds, as CI does: sanitizers, ways to use the library, and what costs too much where nothing changed.
more="docs cost single_header consumers as_printed libtorch mdspan cuda asan coverage tsan noexcept size fuzz reliability tidy"
# Only when named: other compilers and machines, a large peer, what a newer Debian has, long forms.
rows="posix libcxx musl cxx23 clang19 mdspan_std onnxruntime aarch64 megatron orbax torch torch_long hunt_all reshard remote remote_peers mutation package"
# Those that need what an earlier one left, in their order; each other step is a chain of its own.
chains=("asan coverage fuzz" "consumers as_printed")
# Begun in this order: long chains first, so that nothing waits for one alone.
order="asan tsan consumers as_printed reliability noexcept tidy cuda interop cli conformance compile_fail single_header cost docs libtorch size mdspan format hunt mpi parallel readme layers"

# reasons LOG: which tests failed and what they said, in few lines, of however long a log.
reasons() {
  grep -aE -A 4 '\*\*\*|\(Failed\)|\(Timeout\)|ERROR: |error: |SUMMARY: |Error [0-9]|^Traceback|^[A-Za-z]*Error: ' "$1" |
    cut -c 1-200 | head -n 24
}

# one STEP: runs it, prints its line and adds it to build/logs/results.
one() {
  local step=$1 log=$logs/$1.log status
  local TIMEFORMAT='%R %U %S' spent
  if [ "$step" = packages ]; then # in sight: it may ask for a password
    log=/dev/stdout
  fi
  { time "$step" >"$log" 2>&1; } 2>"$logs/$step.time"
  status=$?
  spent=$(awk 'END { printf "%4d s %5d s of processors", $1, $2 + $3 }' "$logs/$step.time")
  rm "$logs/$step.time"
  echo "$status" >>"$logs/results"
  if [ $status -eq 0 ]; then
    echo "ok    $spent  $step"
    [ "$step" != coverage ] || sed 's/^/      | /' "$log"
  else
    printf 'FAIL  %s  %s (exit status %d; %s)\n' "$spent" "$step" $status "$log" |
      tee -a "$logs/failures"
    [ ! -f "$log" ] || { reasons "$log"; echo ...; tail -n 12 "$log"; } | sed 's/^/      | /' |
      tee -a "$logs/failures"
  fi
  return $status
}

# chains_of STEP...: a line for each chain, of the named steps only.
chains_of() {
  local chain step line
  for chain in "${chains[@]}"; do
    line=
    for step in $chain; do [[ " $* " != *" $step "* ]] || line+="$step "; done
    [ -z "$line" ] || echo "$line"
  done
  for step in "$@"; do [[ " ${chains[*]} " == *" $step "* ]] || echo "$step"; done
}

if [ "${1:-}" = --chain ]; then
  shift
  for step in "$@"; do one "$step"; done
  exit
fi

run_steps() {
  local step todo lanes=2 failed total named=" $* "
  for step in "$@"; do
    if [[ " $plain $more $rows " != *" $step "* ]]; then
      echo "there is no step '$step'; a plain run has: $plain; 'all' adds: $more; only when named: $rows"
      return 2
    fi
  done
  rm -f "$logs/results" "$logs/failures"
  for step in packages dev; do # with all of the processors: the others use what it built
    [[ $named != *" $step "* ]] || one $step
  done
  # shellcheck disable=SC2046
  todo=$(chains_of $(for step in $order ${chains[*]} $rows; do
    [[ $named != *" $step "* ]] || echo "$step"
  done))
  [ "$jobs" -ge 2 ] && [[ $todo == *$'\n'* ]] || lanes=1
  # shellcheck disable=SC2016
  JOBS=$((jobs / lanes)) xargs -r -P $lanes -I '{}' bash -c 'exec bash tests/run.sh --chain $1' - '{}' <<<"$todo"
  failed=$(grep -cv '^0$' "$logs/results")
  total=$(wc -l <"$logs/results")
  printf '%d passed, %d failed in %d s\n' $((total - failed)) "$failed" $SECONDS
  [ "$failed" -eq 0 ] || { echo "Once more, what failed:"; cat "$logs/failures"; return 1; }
}

# shellcheck disable=SC2086
if [ "${1:-}" = all ]; then
  everything=1
  run_steps $plain $more "${@:2}"
else
  run_steps ${*:-$plain}
fi
exit # before bash reads on, should this file have been edited meanwhile
