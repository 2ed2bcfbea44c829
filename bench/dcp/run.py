#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Times saves and loads of torch.distributed.checkpoint by zarrpoint and by PyTorch; run by run.sh.

    run.py PROGRAM FOLDER [MEGABYTES [ROUNDS]]

PROGRAM is dcp_peer; this Python has PyTorch. All in turn, each in a process of its own with four calls: the first is
told apart, and of the others the median counts. Files are in the page cache and are not synced. The table goes to
standard output: medians of the rounds, and the ratio to zarrpoint's time within a round with its range."""

import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

PEERS = Path(__file__).with_name("peers.py")


def seconds(*command):
    out = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    first, *others = map(float, out.split())
    return first, statistics.median(others)


def main():
    program, folder = sys.argv[1:3]
    megabytes = int(sys.argv[3]) if len(sys.argv) > 3 else 1024
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    with tempfile.TemporaryDirectory(dir=folder) as name:
        here = Path(name)
        ours, theirs, floor = here / "ours", here / "theirs", here / "floor"
        times = {}
        for _ in range(rounds + 1):  # the first is not counted
            note = lambda what, who, spent: times.setdefault((what, who), []).append(spent)  # fmt: skip
            shutil.rmtree(ours, ignore_errors=True)
            note("save", "zarrpoint", seconds(program, "save", ours, megabytes, 0))
            shutil.rmtree(theirs, ignore_errors=True)
            note("save", "torch", seconds(sys.executable, PEERS, "save", theirs, ours))
            note("save", "floor", seconds(program, "floor_save", ours, floor))
            shutil.rmtree(floor)
            for what, path in (("load what zarrpoint saved", ours), ("load what torch saved", theirs)):
                note(what, "zarrpoint", seconds(program, "load", path))
                note(what, "torch", seconds(sys.executable, PEERS, "load", path))
                note(what, "floor", seconds(program, "floor_load", path))
        print(f"torch {version('torch')}, {megabytes} MiB in 69 tensors, medians of {rounds} rounds\n")
        print("| what | zarrpoint | torch | floor |\n|---|---:|---:|---:|")
        for what in dict.fromkeys(what for what, _ in times):
            for call in (1, 0):
                mine = [both[call] for both in times[what, "zarrpoint"][1:]]
                cells = [f"{statistics.median(mine):.3f} s"]
                for side in ("torch", "floor"):
                    its = [both[call] for both in times[what, side][1:]]
                    ratios = [b / a for a, b in zip(mine, its)]
                    cells.append(f"{statistics.median(its):.3f} s; {statistics.median(ratios):.2f} "
                                 f"({min(ratios):.2f}-{max(ratios):.2f})")  # fmt: skip
                print(f"| {what}{'' if call else ', at first'} | {' | '.join(cells)} |")
        many = here / "many"
        seconds(program, "save", many, 64, 1 << 20)
        slices = subprocess.run([program, "slice", str(many)], check=True, capture_output=True, text=True).stdout
        print(f"\nA row of each box of 1 MiB: {slices.strip()}")


if __name__ == "__main__":
    main()
