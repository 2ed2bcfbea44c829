#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Times a loop that computes, and how asynchronous saves hold it up; run by run.sh.

    run.py PROGRAM LIBWORK FOLDER [MEGABYTES [ROUNDS]]

PROGRAM is stall_bench, LIBWORK its step as a library, and this Python has PyTorch and Orbax. All in turn, each in a
process of its own: 150 steps of 20 ms alone, then 300 with a save every 60, of which two are kept. The step is one
thread; the libraries take what threads they take by default. The table goes to standard output."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

PEERS = Path(__file__).with_name("peers.py")


def ask(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    program, libwork, folder = sys.argv[1:4]
    megabytes = int(sys.argv[4]) if len(sys.argv) > 4 else 512
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 3
    steps = ask(program, "rounds")
    ours, theirs = (program,), (sys.executable, PEERS)
    who = {
        "zarrpoint, manager": ours,
        "PyTorch DCP, `async_save`": (*theirs, "dcp"),
        "Orbax, `AsyncCheckpointer`": (*theirs, "orbax"),
    }
    seen = {name: [] for name in who}
    copies = []
    with tempfile.TemporaryDirectory(dir=folder) as name:
        where = Path(name) / "run"
        for _ in range(rounds):
            for one, command in who.items():
                seen[one].append(ask(*command, "run", where, megabytes, steps, libwork))
                shutil.rmtree(where)
                os.sync()  # what one left to the disk is not the next one's
            copies.append(seen["zarrpoint, manager"][-1]["copy"])
        told = {}
        for one, command in who.items():
            told[one] = ask(*command, "errors", where)
            shutil.rmtree(where, ignore_errors=True)
    load = os.getloadavg()[0]
    print(f"{megabytes} MiB in 64 tensors, medians of {rounds} rounds; torch {version('torch')}, orbax-checkpoint "
          f"{version('orbax-checkpoint')}; {os.cpu_count()} processors, load {load:.1f} at the end")  # fmt: skip
    copy = statistics.median(copies)
    print(f"All tensors are copied once in {copy * 1e3:.1f} ms (two threads, into memory that is there).\n")
    heads = ["", "step alone", "with saves", "the first save blocks", "a later one", "of a copy", "the longest"]
    heads += ["the loop takes", "peak grows after the first", "errors told"]
    print("| " + " | ".join(heads) + " |\n|---|" + "---:|" * (len(heads) - 1))
    for one, runs in seen.items():
        mid = lambda key, runs=runs: statistics.median(each[key] for each in runs)  # fmt: skip
        ratio = statistics.median(each["blocked"] / c for each, c in zip(runs, copies))
        cells = [one, f"{mid('alone') * 1e3:.1f} ms", f"{mid('with') * 1e3:.1f} ms, {mid('with') / mid('alone'):.2f}"]
        cells += [f"{mid('first') * 1e3:.0f} ms", f"{mid('blocked') * 1e3:.0f} ms", f"{ratio:.2f}"]
        cells += [f"{mid('most') * 1e3:.0f} ms", f"{mid('loop') / (300 * mid('alone')):.3f}"]
        cells += [f"{mid('more_memory'):.0f} MiB", f"{told[one]['told']} of {told[one]['failed']}"]
        print("| " + " | ".join(cells) + " |")
    asked = max(each["asked"] for each in seen["zarrpoint, manager"])
    is_right = all(each["right"] for each in seen["zarrpoint, manager"])
    print(f"\nzarrpoint asked its memory resource for {asked:.1f} MiB more after the first save.")
    print(f"The last step held what was saved: {is_right}.")


if __name__ == "__main__":
    main()
