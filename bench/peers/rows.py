#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Times loads, saves, parts and changes by zarrpoint, other libraries and the bare system calls; run by run.sh.

    rows.py PROGRAM FLOOR FOLDER [MEGABYTES [ROUNDS]] [--publish] [--torch PYTHON] [--only TASK,TASK]

PROGRAM is zarrpoint_rows, FLOOR floor_rows; PYTHON is one that has torch. The table goes to build/peers/rows.md, and with
--publish into docs/benchmarks.md.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from run import ROOT, TENSORS, machine, publish_between
from safetensors.numpy import save_file

PEERS = Path(__file__).with_name("rows_peers.py")
NOT_THERE = 3
SMALL = 5000
LIBRARIES = {
    "zarrpoint": "zarrpoint",
    "floor": "floor",
    "tensorstore": "TensorStore",
    "zarrs": "zarrs",
    "zarr": "zarr-python",
    "safetensors": "safetensors",
    "torch": "torch",
}
# task -> (title, what a rate counts: the model, the part that is selected, or one of many)
TASKS = {
    "load_raw": ("load, raw", "model"),
    "load_blosc": ("load, blosc (zarrpoint's files for all)", "model"),
    "load_zstd": ("load, zstd 1 (zarrpoint's files for all)", "model"),
    "save_raw": ("save, raw", "model"),
    "save_raw_synced": ("save, raw, synced", "model"),
    "save_blosc": ("save, blosc", "model"),
    "save_blosc_synced": ("save, blosc, synced", "model"),
    "save_zstd": ("save, zstd 1", "model"),
    "save_zip": ("save, raw, into one zip file", "model"),
    "load_small": ("load 5,000 small tensors", "small"),
    "load_small_zip": ("the same from one zip file", "small"),
    "save_small": ("save 5,000 small tensors", "small"),
    "save_small_zip": ("the same into one zip file", "small"),
    "columns_raw": ("a quarter of the columns, raw", "part"),
    "rows_raw": ("a quarter of the rows, raw", "part"),
    "strided_raw": ("every fourth row, raw", "part"),
    "columns_zstd": ("a quarter of the columns, zstd", "part"),
    "rows_zstd": ("a quarter of the rows, zstd", "part"),
    "strided_zstd": ("every fourth row, zstd", "part"),
    "random_raw": ("random inner chunks of 64 KiB, raw", "one"),
    "random_zstd": ("random inner chunks of 64 KiB, zstd", "one"),
    "rewrite": ("write one inner chunk of 64 KiB of a shard of 256 MiB", "one"),
}
BEGIN, END = "<!-- bench/peers/rows begins -->", "<!-- bench/peers/rows ends -->"


def bits_of_bfloat16(values):
    """Rounded to the nearest, as uint16."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def make_models(place, megabytes):
    """The weights, a scale for each row as trained ones have, and as many small tensors as a model of experts has."""
    unit = megabytes * 2**20 // 2 // (TENSORS // 3) // 21  # elements: 16, 4 and 1 of it a layer
    random, tensors = np.random.default_rng(1), {}
    for layer in range(TENSORS // 3):
        for name, times in (("mlp", 16), ("attention", 4), ("norm", 1)):
            rows = max(1, times * unit // 1024)
            values = random.standard_normal((rows, 1024), dtype=np.float32)
            values *= random.uniform(0.01, 0.06, (rows, 1)).astype(np.float32)
            tensors[f"layer{layer}.{name}"] = bits_of_bfloat16(values)
    save_file(tensors, place / "model.safetensors")
    small = {f"layer{i // 50}/w{i % 50}": random.standard_normal(3145, dtype=np.float32) for i in range(SMALL)}
    save_file(small, place / "small.safetensors")
    return {"model": sum(each.nbytes for each in tensors.values()), "small": sum(each.nbytes for each in small.values())}


class Bench:
    """The files, and how each library is asked."""

    def __init__(self, options, place):
        self.options, self.place, self.count = options, place, 0
        self.sizes = make_models(place, options.megabytes)
        self.left_out = set()  # (library, task) that is not there
        self.aside = place / "aside"
        self.aside.mkdir()

    def words(self, library, task, out):
        programs = {"zarrpoint": [self.options.program], "floor": [self.options.floor]}
        python = self.options.torch if library == "torch" else sys.executable
        return [*map(str, [*programs.get(library, [python, PEERS, library]), task, self.place, out])]

    def libraries(self):
        return [each for each in LIBRARIES if each != "torch" or self.options.torch]

    def make(self):
        for library in self.libraries():
            if library not in ("floor", "zarrs", "safetensors"):
                subprocess.run(self.words(library, "make", "none"), check=True)
        for what in ("raw", "small"):
            os.symlink(f"zarr.{what}", self.place / f"zarrs.{what}")

    def seconds(self, library, task):
        """None where the library has no such task."""
        if (library, task) in self.left_out:
            return None
        touched = np.ones(self.sizes["model"] * 9 // 8, np.uint8)  # a hypervisor gives memory slowly
        del touched
        self.count += 1
        out = self.place / f"out{self.count}"
        done = subprocess.run(self.words(library, task, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == NOT_THERE:
            self.left_out.add((library, task))
            return None
        if done.returncode != 0:
            raise SystemExit(f"{library} {task}: {done.stderr[-2000:]}")
        self.clear()
        return float(done.stdout)

    def clear(self):
        """Files are emptied, and removed at the end: a file system without a journal passes over the inodes of files removed
        a short time ago, one by one, when it makes new ones."""
        for each in self.place.glob("out*"):
            for file in [each] if each.is_file() else filter(Path.is_file, each.rglob("*")):
                os.truncate(file, 0)
            each.rename(self.aside / each.name)
        os.sync()


def cell(size, kind, times, own):
    """A rate or a time, and for others the ratio of times of the same rounds."""
    if times[0] is None:
        return "-"
    median = statistics.median(times)
    if kind == "one":
        text = f"{median * 1e6:,.0f} us" if median < 0.01 else f"{median * 1e3:,.0f} ms"
    elif kind == "small":
        text = f"{median / SMALL * 1e6:,.1f} us each"
    else:
        text = f"{size / median / 1e9:.2f} GB/s"
    if own is None:
        return text
    ratios = sorted(mine / ours for mine, ours in zip(times, own))
    return f"{text}; {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"


def table(bench, results, load):
    """Markdown: one row a task."""
    titles = [LIBRARIES[each] for each in bench.libraries()]
    lines = [
        f"{bench.sizes['model'] / 2**20:.0f} MiB in {TENSORS} tensors, {bench.options.rounds} rounds, a load of {load[0]:.1f} before and "
        f"{load[1]:.1f} after; {machine()}:",
        "",
        f"| what | {' | '.join(titles)} |",
        f"|---|{'---:|' * len(titles)}",
    ]
    for task, rounds in results.items():
        title, kind = TASKS[task]
        size = bench.sizes["model"] // 4 if kind == "part" else bench.sizes["model"]
        own = [each["zarrpoint"] for each in rounds]
        cells = []
        for library in bench.libraries():
            times = [each[library] for each in rounds]
            cells.append(cell(size, kind, times, None if library == "zarrpoint" else own))
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def measure(bench, task):
    rounds = []
    for number in range(bench.options.rounds + 1):  # the first one brings all into the page cache
        order = bench.libraries()
        order = order[number % len(order) :] + order[: number % len(order)]
        rounds.append({library: bench.seconds(library, task) for library in order})
        print(task, rounds[-1], file=sys.stderr, flush=True)
    return rounds[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("floor")
    parser.add_argument("folder")
    parser.add_argument("megabytes", type=int, nargs="?", default=1024)
    parser.add_argument("rounds", type=int, nargs="?", default=7)
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--torch")
    parser.add_argument("--only", default=",".join(TASKS))
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="rows.", dir=options.folder))
    try:
        bench, load = Bench(options, place), os.getloadavg()[0]
        bench.make()
        results = {task: measure(bench, task) for task in options.only.split(",")}
        text = table(bench, results, (load, os.getloadavg()[0]))
    finally:
        shutil.rmtree(place)
    out = ROOT / "build/peers/rows.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(text, end="")
    if options.publish:
        publish_between(BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
