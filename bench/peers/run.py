#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Times the load of the same tensors by zarrpoint and by other libraries; run by run.sh.

    run.py PROGRAM FOLDER [MEGABYTES [ROUNDS]] [--publish]

PROGRAM is zarrpoint_peer; this Python has the packages of tests/interop/requirements.txt. The table goes to
build/peers/table.md, and with --publish into docs/benchmarks.md, where tools/docs/plot.py reads it.
"""

import os
import platform
import random
import re
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

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).with_name("peers.py")
TENSORS = 69
LIBRARIES = {"zarrpoint": "zarrpoint", "tensorstore": "TensorStore", "safetensors": "safetensors", "zarr": "zarr-python"}
BEGIN, END = "<!-- bench/peers begins -->", "<!-- bench/peers ends -->"


def make_model(path, megabytes):
    """Layers of one large, one middle and one small tensor, Gaussian weights."""
    unit = megabytes * 2**20 // 2 // (TENSORS // 3) // 21  # elements: 16, 4 and 1 of it a layer
    random = np.random.default_rng(1)
    tensors = {}
    for layer in range(TENSORS // 3):
        for name, times in (("mlp", 16), ("attention", 4), ("norm", 1)):
            rows = max(1, times * unit // 1024)
            values = random.standard_normal((rows, 1024), dtype=np.float32)
            tensors[f"layer{layer}.{name}"] = values.astype(ml_dtypes.bfloat16)
    save_file(tensors, path)
    return sum(each.nbytes for each in tensors.values())


def command(program, library, what, first, second):
    words = [program, what] if library == "zarrpoint" else [sys.executable, PEERS, what, library]
    return [*map(str, words), str(first), str(second)]


def seconds(program, library, copies, size):
    touched = np.ones(size, np.uint8)  # a hypervisor gives memory slowly; what follows finds it ready
    del touched
    words = command(program, library, "load", copies[library], copies["safetensors"])
    return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)


def versions():
    header = (ROOT / "include/zarrpoint/version.hpp").read_text(encoding="utf-8")
    own = ".".join(re.findall(r"#define ZARRPOINT_VERSION_[A-Z]* (\d+)", header))
    return {name: own if name == "zarrpoint" else version(name) for name in LIBRARIES}


def machine():
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    compiler = subprocess.run(["g++", "-dumpfullversion"], check=True, capture_output=True, text=True).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return (
        f"{name[1] if name else platform.machine()}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, {system}, "
        f"kernel {platform.release().split('-')[0]}, g++ {compiler} -O2, Python {platform.python_version()}"
    )


def table(rounds, size, load):
    """Markdown: rates are medians, the ratios those of the same rounds."""
    own = [each["zarrpoint"] for each in rounds]
    lines = [
        f"{size / 2**20:.0f} MiB of bfloat16 in {TENSORS} tensors, {len(rounds)} rounds, a load of {load[0]:.1f} before and "
        f"{load[1]:.1f} after.",
        f"{machine()}:",
        "",
        "| library | version | median | its time / zarrpoint's | range |",
        "|---|---|---:|---:|---|",
    ]
    for library, title in LIBRARIES.items():
        times = [each[library] for each in rounds]
        ratios = sorted(mine / ours for mine, ours in zip(times, own))
        rate = size / statistics.median(times) / 1e9
        lines.append(
            f"| {title} | {versions()[library]} | {rate:.2f} GB/s | {statistics.median(ratios):.2f} "
            f"| {ratios[0]:.2f}-{ratios[-1]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def publish_between(begin, end, text):
    page = ROOT / "docs/benchmarks.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, marker, after = rest.partition(end)
    if not marker:
        raise SystemExit(f"{page} has no place for the table between {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")


def main(arguments):
    words = [word for word in arguments if word != "--publish"]
    if not 2 <= len(words) <= 4:
        print(__doc__)
        return 2
    megabytes, count = int((words[2:] or ["1024"])[0]), int((words[3:] or ["11"])[0])
    place = Path(tempfile.mkdtemp(prefix="peers.", dir=words[1]))
    try:
        copies = {library: place / library for library in LIBRARIES}
        copies["safetensors"] = place / "model.safetensors"
        size = make_model(copies["safetensors"], megabytes)
        for library in LIBRARIES:
            if library != "safetensors":
                words_of = command(words[0], library, "make", copies["safetensors"], copies[library])
                subprocess.run(words_of, check=True)
        rounds, load = [], os.getloadavg()[0]
        chance = random.Random(count)  # not in turn: each would always follow the same one
        for _ in range(count + 1):  # the first one brings all into the page cache
            order = chance.sample(list(LIBRARIES), len(LIBRARIES))
            rounds.append({library: seconds(words[0], library, copies, size) for library in order})
            print(rounds[-1], file=sys.stderr, flush=True)
        text = table(rounds[1:], size, (load, os.getloadavg()[0]))
    finally:
        shutil.rmtree(place)
    out = ROOT / "build/peers/table.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(text, end="")
    if "--publish" in arguments:
        publish_between(BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
