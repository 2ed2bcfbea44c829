#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Times loads, saves, parts and changes by zarrpoint, other libraries and the bare system calls; run by run.sh.

    rows.py PROGRAM FLOOR FOLDER [MEGABYTES [ROUNDS]] [--publish] [--torch PYTHON] [--only TASK,TASK]
    rows.py PROGRAM FLOOR FOLDER MEGABYTES --only one_tensor

PROGRAM is zarrpoint_rows, FLOOR floor_rows; PYTHON is one that has torch. The table goes to build/peers/rows.md, and with
--publish into docs/benchmarks.md. The second form prints the most memory that a save and a load of one tensor of so many
MiB take, by the program one_tensor beside PROGRAM.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
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
    "load_each": ("load, raw, one tensor after the other", "model"),
    "load_blosc": ("load, blosc (zarrpoint's files for all)", "model"),
    "load_zstd": ("load, zstd 1 (zarrpoint's files for all)", "model"),
    "cold_raw": ("load, raw, none of it in the page cache", "model"),
    "cold_blosc": ("load, blosc, none of it in the page cache", "model"),
    "save_raw": ("save, raw", "model"),
    "save_raw_synced": ("save, raw, synced", "model"),
    "save_blosc": ("save, blosc", "model"),
    "save_blosc_synced": ("save, blosc, synced", "model"),
    "save_zstd": ("save, zstd 1", "model"),
    "save_zip": ("save, raw, into one file", "model"),
    "load_small": ("load 5,000 small tensors", "small"),
    "load_small_zip": ("load 5,000 small tensors from one file", "small"),
    "save_small": ("save 5,000 small tensors", "small"),
    "save_small_zip": ("save 5,000 small tensors into one file", "small"),
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
# What zarrpoint does in the same rounds, to compare a task with.
BESIDE = {"load_each": "load_raw"}
ONE_TENSOR = "one_tensor"
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
        asked = (library, task)
        if asked in self.left_out:
            return None
        # A hypervisor gives memory slowly: for the tensors, for what a library makes of them, and for the page cache.
        touched = np.ones(self.sizes["model"] * 3, np.uint8)
        del touched
        self.count += 1
        out = self.place / f"out{self.count}"
        if task.startswith("cold_"):
            self.drop_pages()
            if library != "floor":
                task = task.replace("cold_", "load_")
        done = subprocess.run(self.words(library, task, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == NOT_THERE:
            self.left_out.add(asked)
            return None
        if done.returncode != 0:
            raise SystemExit(f"{library} {task}: {done.stderr[-2000:]}")
        self.clear()
        return float(done.stdout)

    def drop_pages(self):
        """Of all files: the next reads are those of the disk."""
        os.sync()
        for file in filter(Path.is_file, self.place.rglob("*")):
            opened = os.open(file, os.O_RDONLY)
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(opened)

    def clear(self):
        """Files are emptied, and removed at the end: a file system without a journal passes over the inodes of files removed
        a short time ago, one by one, when it makes new ones."""
        for each in self.place.glob("out*"):
            for file in [each] if each.is_file() else filter(Path.is_file, each.rglob("*")):
                os.truncate(file, 0)
            each.rename(self.aside / each.name)
        os.sync()


def ratios_of(times, own):
    """Sorted, of times of the same rounds; nothing where the library has no such task."""
    return [] if times[0] is None else sorted(mine / ours for mine, ours in zip(times, own))


def cell(size, kind, times, ratios, is_best):
    """A rate or a time, and for others the ratios."""
    if times[0] is None:
        return "-"
    median = statistics.median(times)
    if kind == "one":
        text = f"{median * 1e6:,.0f} us" if median < 0.01 else f"{median * 1e3:,.0f} ms"
    elif kind == "small":
        text = f"{median / SMALL * 1e6:,.1f} us each"
    else:
        text = f"{size / median / 1e9:.2f} GB/s"
    if not ratios:
        return text
    ratio = f"{statistics.median(ratios):.2f}"
    return f"{text}; {f'**{ratio}**' if is_best else ratio} ({ratios[0]:.2f}-{ratios[-1]:.2f})"


def row(bench, task, rounds):
    """A task; the ratio of the best peer is bold."""
    title, kind = TASKS[task]
    size = bench.sizes["model"] // 4 if kind == "part" else bench.sizes["model"]
    times = {library: [each[library] for each in rounds] for library in bench.libraries()}
    ratios = {library: ratios_of(own, times["zarrpoint"]) for library, own in times.items() if library != "zarrpoint"}
    peers = [library for library, of in ratios.items() if of and library != "floor"]
    best = min(peers, key=lambda library: statistics.median(ratios[library]), default=None)
    cells = [cell(size, kind, own, ratios.get(library), library == best) for library, own in times.items()]
    return f"| {title} | {' | '.join(cells)} |"


def table(bench, results, load):
    """Markdown: one row a task."""
    titles = [LIBRARIES[each] for each in bench.libraries()]
    lines = [
        f"{bench.sizes['model'] / 2**20:.0f} MiB in {TENSORS} tensors, {bench.options.rounds} rounds, a load of {load[0]:.1f} before and "
        f"{load[1]:.1f} after.",
        f"{machine()}:",
        "",
        f"| what | {' | '.join(titles)} |",
        f"|---|{'---:|' * len(titles)}",
        *(row(bench, task, rounds) for task, rounds in results.items()),
    ]
    if "load_each" in results:
        rounds = results["load_each"]
        ratios = ratios_of([each["beside"] for each in rounds], [each["zarrpoint"] for each in rounds])
        median = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        lines += ["", f"One after the other, zarrpoint loads at {median} of the rate of one `load_all` in the same round."]
    return "\n".join(lines) + "\n"


def measure(bench, task):
    rounds = []
    asked = {library: (library, task) for library in bench.libraries()}
    if task in BESIDE:
        asked["beside"] = ("zarrpoint", BESIDE[task])
    names = list(asked)
    chance = random.Random(task)  # not in turn: each would always follow the same one
    for _ in range(bench.options.rounds + 1):  # the first one brings all into the page cache
        order = chance.sample(names, len(names))
        rounds.append({name: bench.seconds(*asked[name]) for name in order})
        print(task, rounds[-1], file=sys.stderr, flush=True)
    return rounds[1:]


def measure_all(bench, tasks):
    results = {}
    for number, task in enumerate(tasks, 1):
        began = time.monotonic()
        results[task] = measure(bench, task)
        spent = time.monotonic() - began
        print(f"{number} of {len(tasks)}: {task} took {spent:.0f} s", file=sys.stderr, flush=True)
    return results


def one_tensor(options, place):
    """Markdown: the most memory of each process / the tensor's bytes."""
    program = Path(options.program).with_name(ONE_TENSOR)
    lines = [f"One tensor of {options.megabytes} MiB, {machine()}:", "", "| | save | load |", "|---|---:|---:|"]
    for codec in ("raw", "blosc"):
        words = [codec, str(options.megabytes), str(place / codec)]
        peaks = [subprocess.run([program, what, *words], check=True, capture_output=True, text=True) for what in ("save", "load")]
        lines.append(f"| {codec} | {' | '.join(done.stdout.strip() for done in peaks)} |")
        shutil.rmtree(place / codec)
    return "\n".join(lines) + "\n"


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
    tasks = options.only.split(",")
    if options.only != ONE_TENSOR and set(tasks) - set(TASKS):
        parser.error(f"--only takes {ONE_TENSOR}, or of {', '.join(TASKS)}")
    place = Path(tempfile.mkdtemp(prefix="rows.", dir=options.folder))
    try:
        if options.only == ONE_TENSOR:
            print(one_tensor(options, place), end="")
            return 0
        bench, load = Bench(options, place), os.getloadavg()[0]
        bench.make()
        results = measure_all(bench, tasks)
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
