#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Says what including the library costs the compiler, and checks what does not depend on the machine.

    check_compile_cost.py FOLDER [--times]     FOLDER is for what is built

Checked are the lines that g++ reads, the weak symbols of the object, and the memory that g++ takes,
against LIMITS. With --times the quick rows are compiled three times, and the user seconds are told, as they
are and scaled to the time that `#include <nlohmann/json.hpp>`, compiled beside each of them, takes on a
quiet machine (NLOHMANN).
Exit status 1 when a limit is passed.
"""

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NLOHMANN = 1.2  # user seconds, by which those of another machine are scaled

UMBRELLA = "#include <zarrpoint/zarrpoint.hpp>\n"
LOADER = (
    UMBRELLA
    + """#include <cstdio>
#include <vector>
int main(int, char** argv) {
  const auto opened = zarrpoint::open(argv[1]);
  if (!opened) return std::puts(opened.failure().message.c_str()), 1;
  const auto values = opened->load<std::vector<float>>("w");
  return values ? static_cast<int>(values->size() & 1) : 1;
}
"""
)
XTENSOR = "#include <xtensor/xarray.hpp>\n#include <xtensor/xio.hpp>\n#include <iostream>\n"
# What examples/docs/xtensor.cpp does with xtensor alone, so that the rest of its cost is ours.
XTENSOR_PROGRAM = """#include <xtensor/xarray.hpp>
#include <xtensor/xio.hpp>
#include <iostream>
int main() {
  xt::xarray<float> w{{1, 2, 3}, {4, 5, 6}};
  xt::xarray<float> w2 = w;
  std::cout << w2 << std::boolalpha << true;
  return w2 == w ? 0 : 1;
}
"""
HANDLER = (
    LOADER
    + """#include <array>
struct point3 { std::array<float, 3> at; };
template <>
struct zarrpoint::type_handler<point3> {
  static constexpr std::string_view typestr = "array";
  using space = zarrpoint::host_space;
  static zarrpoint::result<zarrpoint::tensor_spec> spec(const point3&) {
    return zarrpoint::tensor_spec{zarrpoint::dtype_of<float>, {3}};
  }
  static zarrpoint::host_view view(const point3& of) {
    return zarrpoint::dense_view(reinterpret_cast<const std::byte*>(of.at.data()), {zarrpoint::dtype_of<float>, {3}});
  }
};
zarrpoint::result<zarrpoint::save_report> save_point(const point3& of) {
  return zarrpoint::save("p.zarr", {{"p", of}});
}
"""
)
CODECS = (
    LOADER
    + """#include <zarrpoint/gzip.hpp>
zarrpoint::codec_table own_codecs() { return zarrpoint::default_codecs::with<zarrpoint::gzip_codec>::table(); }
"""
)


ARRAYS = (ROOT / "examples/docs/xtensor.cpp").read_text(encoding="utf-8")
COMPILED, O2 = ["-DZARRPOINT_COMPILED"], ["-O2"]
# Name: (program, flags, limits of preprocessed lines, weak symbols and MB; none for what is others').
ROWS = {
    "nlohmann/json": ("#include <nlohmann/json.hpp>\n", [], None),
    "xtensor": (XTENSOR, [], None),
    "xtensor, used as in the example": (XTENSOR_PROGRAM, [], None),
    "the same, -O2": (XTENSOR_PROGRAM, O2, None),
    "umbrella, compiled": (UMBRELLA, COMPILED, (72_000, 10, 230)),
    "open and load, compiled": (LOADER, COMPILED, (72_000, 450, 250)),
    "open and load, compiled, -O2": (LOADER, [*COMPILED, *O2], (72_000, 40, 260)),
    "arrays of xtensor, compiled": (ARRAYS, COMPILED, (115_000, 2_150, 365)),
    "arrays of xtensor, compiled, -O2": (ARRAYS, [*COMPILED, *O2], (115_000, 180, 375)),
    "own handler, compiled": (HANDLER, COMPILED, (72_000, 600, 260)),
    "own table with gzip, compiled": (CODECS, COMPILED, (72_000, 950, 275)),
    "distributed.hpp, compiled": ("#include <zarrpoint/distributed.hpp>\n" + UMBRELLA, COMPILED, (89_000, 10, 325)),
    "umbrella": (UMBRELLA, [], (104_000, 150, 650)),
    "open and load": (LOADER, [], (104_000, 16_000, 980)),
}  # fmt: skip
TIMED_ONLY = {
    "open and load, -O2": (LOADER, O2, None),
    "arrays of xtensor": (ARRAYS, [], None),
    "arrays of xtensor, -O2": (ARRAYS, O2, None),
}


def compile_once(source, target, flags):
    """User seconds and MB that g++ took."""
    command = ["g++", "-std=c++20", f"-I{ROOT}/include", *flags, "-c", str(source), "-o", str(target)]
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{source} does not compile")
    return usage.ru_utime, usage.ru_maxrss / 1000


def figures(source, flags):
    """The lines that g++ reads, and the weak symbols of the object beside the source."""
    command = ["g++", "-std=c++20", f"-I{ROOT}/include", *flags, "-E", str(source)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = subprocess.run(["nm", str(source.with_suffix(".o"))], capture_output=True, text=True, check=True).stdout
    lines = sum(1 for line in text.split("\n") if line.strip() and not line.startswith("#"))
    return lines, len(re.findall(r" [WVu] ", names))


def check(folder, rows, times):
    failures = 0
    print(f"| {'':<30} | lines | weak symbols | MB |" + (" user s | scaled |" if times else ""))
    (folder / "nlohmann_json.cpp").write_text(ROWS["nlohmann/json"][0], encoding="utf-8")
    for name, (text, flags, limits) in rows.items():
        source = folder / (re.sub(r"\W+", "_", name) + ".cpp")
        source.write_text(text, encoding="utf-8")
        quick = name not in TIMED_ONLY and not name.startswith("unit ") and (not limits or limits[2] < 500)
        runs, ratios = [], []
        for _ in range(3 if times and quick else 1):
            # Beside it each time: the clock of a shared machine is another one from minute to minute.
            beside = compile_once(folder / "nlohmann_json.cpp", folder / "nlohmann_json.o", [])[0] if times else 1
            runs.append(compile_once(source, source.with_suffix(".o"), flags))
            ratios.append(NLOHMANN * runs[-1][0] / beside)
        seconds, memory = min(run[0] for run in runs), max(run[1] for run in runs)
        found = (*figures(source, flags), round(memory))
        more = f" {seconds:.2f} | {statistics.median(ratios):.2f} |" if times else ""
        print(f"| {name:<30} | {found[0]:,} | {found[1]:,} | {found[2]:,} |{more}", flush=True)
        for what, value, limit in zip(("lines", "weak symbols", "MB"), found, limits or ()):
            if value > limit:
                failures += 1
                print(f"{name}: {value:,} {what} are more than {limit:,}")
    return failures


def main(arguments):
    times = "--times" in arguments
    folders = [one for one in arguments if not one.startswith("-")]
    if len(folders) != 1:
        print(__doc__)
        return 2
    folder = Path(folders[0])
    folder.mkdir(parents=True, exist_ok=True)
    rows = ROWS | (TIMED_ONLY if times else {})
    if times:
        units = sorted((ROOT / "include/zarrpoint/compiled").glob("*.cpp"))
        rows |= {f"unit {unit.stem}, -O2": (f'#include "{unit}"\n', [*COMPILED, *O2], None) for unit in units}
    return 1 if check(folder, rows, times) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
