#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Prints how much of include/ the tests of a build run, by lines and branches of each layer.

    coverage.py BUILD_FOLDER [LEAST]

The build is one by clang with -fprofile-instr-generate -fcoverage-mapping, whose tests have written
their profiles to BUILD_FOLDER/profiles. Exit status 1 when fewer than LEAST per cent of all lines
are covered.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "zarrpoint"


def report(build):
    """What llvm-cov says of each header: {path below include/zarrpoint: summary}."""
    profiles = sorted((build / "profiles").glob("*.profraw"))
    if not profiles:
        raise SystemExit(f"{build}/profiles has no profiles: run the tests first")
    merged = build / "profiles" / "all.profdata"
    subprocess.run(["llvm-profdata-16", "merge", "-sparse", "-o", merged, *profiles], check=True)
    programs = sorted(p for p in (build / "tests").glob("*_tests") if p.is_file())
    objects = [argument for program in programs[1:] for argument in ("-object", program)]
    command = ["llvm-cov-16", "export", "-summary-only", f"-instr-profile={merged}",
               programs[0], *objects, INCLUDE]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    files = json.loads(done.stdout)["data"][0]["files"]
    return {Path(f["filename"]).relative_to(INCLUDE): f["summary"] for f in files}


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__)
        return 2
    layers = {}
    for path, summary in report(Path(arguments[0]).resolve()).items():
        layer = path.parts[0] if len(path.parts) > 1 else "."
        for name in (layer, "all"):
            sums = layers.setdefault(name, [0, 0, 0, 0])
            for i, kind in enumerate(("lines", "branches")):
                sums[2 * i] += summary[kind]["covered"]
                sums[2 * i + 1] += summary[kind]["count"]
    print(f"{'layer':<12} {'lines':>16} {'branches':>24}")
    for name, (lines, all_lines, branches, all_branches) in sorted(layers.items(), key=lambda x: x[0] == "all"):
        print(f"{name:<12} {lines:>6} of {all_lines:>6} {100 * lines / max(all_lines, 1):5.1f} %"
              f" {branches:>7} of {all_branches:>6} {100 * branches / max(all_branches, 1):5.1f} %")
    lines, all_lines = layers["all"][:2]
    if len(arguments) == 2 and 100 * lines < float(arguments[1]) * all_lines:
        print(f"fewer than {arguments[1]} % of the lines are covered")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
