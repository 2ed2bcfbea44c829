#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Times what Orbax saved, opened and loaded by zarrpoint, by Orbax and by TensorStore, and saves by both; run by run.sh.

    run.py PROGRAM FOLDER [MEGABYTES [ROUNDS [PARAMETERS]]]

PROGRAM is orbax_peer; this Python has orbax-checkpoint, jax and safetensors. The table goes to standard output.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

PEERS = Path(__file__).with_name("peers.py")
TENSORS = 69
LIBRARIES = {"zarrpoint": "zarrpoint", "orbax": "orbax-checkpoint", "tensorstore": "TensorStore"}


def make_model(path, megabytes):
    """Layers of one large, one middle and one small tensor, Gaussian weights, as bench/peers has them."""
    unit = megabytes * 2**20 // 2 // (TENSORS // 3) // 21  # elements: 16, 4 and 1 of it a layer
    random = np.random.default_rng(1)
    tensors = {}
    for layer in range(TENSORS // 3):
        for name, times in (("mlp", 16), ("attention", 4), ("norm", 1)):
            values = random.standard_normal((max(1, times * unit // 1024), 1024), dtype=np.float32)
            tensors[f"layer{layer}/{name}"] = values.astype(ml_dtypes.bfloat16)
    save_file(tensors, path)
    return sum(each.nbytes for each in tensors.values())


def seconds(words, count):
    """By the clock and of processors, of a command that tells them and has so many arrays."""
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    spent, used, arrays = done.stdout.split()[-3:]
    if int(arrays) != count:
        raise SystemExit(f"{words} has {arrays} arrays, not {count}")
    return float(spent), float(used)


def readers(program, what, path):
    """The command of each library that opens or loads a checkpoint."""
    words = {library: [sys.executable, PEERS, what, library, path] for library in LIBRARIES}
    return words | {"zarrpoint": [program, what, path]}


def rounds_of(turns, count, rounds, touched=0):
    """Each round has one run of each library, in changing order; the first fills the page cache. So many bytes of
    memory are touched and freed before each: a hypervisor gives memory slowly, and what follows finds it ready."""
    out = []
    for number in range(rounds + 1):
        order = list(LIBRARIES)
        order = order[number % len(order) :] + order[: number % len(order)]
        times = {}
        for library in order:
            np.ones(touched, np.uint8)
            times[library] = seconds(turns[library], count)
        out.append(times)
        print(times, file=sys.stderr, flush=True)
    return out[1:]


def saves_of(program, model, place, count, rounds):
    """The same of saves, each to a place of its own; what zarrpoint saves with Orbax's level of zstd, too."""
    out = []
    for number in range(rounds + 1):
        turns = {
            "zarrpoint": [program, "save", place, model],
            "zarrpoint-zstd3": [program, "save", place, model, "3"],
            "orbax": [sys.executable, PEERS, "save", place, model],
        }
        order = list(turns)
        times = {}
        for library in order[number % 3 :] + order[: number % 3]:
            shutil.rmtree(place, ignore_errors=True)
            os.sync()
            times[library] = seconds(turns[library], count)
            stored = sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file())
            print("save", library, times[library], stored, file=sys.stderr, flush=True)
        out.append(times)
    # That both have the same elements.
    subprocess.run(turns["zarrpoint"][:1] + ["same", place, model], check=True)
    return out[1:]


SAVERS = {"zarrpoint": "zarrpoint", "zarrpoint-zstd3": "zarrpoint, zstd 3,", "orbax": "orbax-checkpoint"}


def rows(title, rounds, libraries=LIBRARIES):
    own = [each["zarrpoint"] for each in rounds]
    for library, name in libraries.items():
        times = [each[library] for each in rounds]
        number = "0.1.0" if library.startswith("zarrpoint") else version(name.lower())
        cells = []
        for kind in (0, 1):  # by the clock, and of processors
            ratios = sorted(mine[kind] / ours[kind] for mine, ours in zip(times, own))
            median = statistics.median(each[kind] for each in times) * 1000
            cells.append(f"{median:,.0f} ms | {statistics.median(ratios):.1f} ({ratios[0]:.1f}-{ratios[-1]:.1f})")
        yield f"| {title} | {name} {number} | {' | '.join(cells)} |"


def main(arguments):
    if not 2 <= len(arguments) <= 5:
        print(__doc__)
        return 2
    numbers = [*arguments[2:], *("1024", "5", "20000")[len(arguments) - 2 :]]
    megabytes, rounds, parameters = map(int, numbers)
    place = Path(tempfile.mkdtemp(prefix="orbax.", dir=arguments[1]))
    try:
        size = make_model(place / "model.safetensors", megabytes)
        subprocess.run([sys.executable, PEERS, "make", place / "model.safetensors", place / "model"], check=True)
        subprocess.run([sys.executable, PEERS, "many", place / "many", str(parameters)], check=True)
        subprocess.run([arguments[0], "same", place / "model", place / "model.safetensors"], check=True)
        load = os.getloadavg()[0]
        loads = rounds_of(readers(arguments[0], "load", place / "model"), TENSORS, rounds, 2 * size)
        opens = rounds_of(readers(arguments[0], "open", place / "many"), parameters, rounds)
        saves = saves_of(arguments[0], place / "model.safetensors", place / "saved", TENSORS, rounds)
    finally:
        shutil.rmtree(place)
    print(f"{len(os.sched_getaffinity(0))} cores, {rounds} rounds, a load of {load:.1f} before and {os.getloadavg()[0]:.1f} after:\n")
    print("| what | library | time | / zarrpoint's | processors | / zarrpoint's |\n|---|---|---:|---:|---:|---:|")
    print(*rows(f"load {size / 2**20:.0f} MiB of bfloat16 in {TENSORS} tensors", loads), sep="\n")
    print(*rows(f"open {parameters:,} parameters", opens), sep="\n")
    print(*rows(f"save {size / 2**20:.0f} MiB of them, to disk", saves, SAVERS), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
