#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Loads, parts and saves over HTTP and S3 on loopback, beside bare libcurl and other libraries; run by run.sh.

    run.py BIN FOLDER [--megabytes 1024] [--rounds 3] [--delays 0,10,50] [--counts] [--publish]

BIN has the programs server, floor and zarrpoint_remote; FOLDER should be on a tmpfs. This Python has the peers. --counts
measures only requests and bytes, which do not depend on what else the machine does. The tables go to build/remote/table.md,
and with --publish into docs/benchmarks.md.
"""

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peers"))
from run import machine, publish_between  # noqa: E402

PEERS = Path(__file__).with_name("peers.py")
LAYERS = 23
NOT_THERE = 3
LIBRARIES = {
    "zarrpoint": "zarrpoint",
    "floor": "floor: bare libcurl",
    "tensorstore": "TensorStore",
    "obstore": "zarr-python + obstore",
    "s3fs": "zarr-python + s3fs",
    "boto3": "boto3, objects alone",
}
BEGIN, END = "<!-- bench/remote begins -->", "<!-- bench/remote ends -->"


def shapes(megabytes):
    """As zarrpoint_remote makes them: 16, 4 and 1 parts of a layer."""
    unit = (megabytes << 20) // 2 // 1024 // LAYERS // 21
    return {f"layer{layer}/{name}": [times * unit, 1024] for layer in range(LAYERS) for name, times in (("mlp", 16), ("attention", 4), ("norm", 1))}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Bench:
    def __init__(self, options, place):
        self.options, self.place = options, place
        self.program = options.bin / "zarrpoint_remote"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.environment = os.environ | {"AWS_ENDPOINT_URL": self.url, "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"{self.url}/metadata", "no_proxy": "127.0.0.1"}
        for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            self.environment.pop(name, None)
        (place / "shapes.json").write_text(json.dumps(shapes(options.megabytes)), encoding="utf-8")
        subprocess.run([self.program, "make", place, str(options.megabytes)], check=True)
        subprocess.run([sys.executable, PEERS, "make", place], check=True)
        self.size = sum(2 * rows * columns for rows, columns in shapes(options.megabytes).values())
        stored = [file for file in sorted((place / "model.zarr").rglob("*")) if file.is_file() and file.name != "zarr.json"]
        (place / "load.txt").write_text("".join(f"{file.stat().st_size} {file.relative_to(place)}\n" for file in stored), encoding="utf-8")
        (place / "save.txt").write_text("".join(f"{file.stat().st_size} bucket/floor/{i}\n" for i, file in enumerate(stored)), encoding="utf-8")
        self.server = subprocess.Popen([options.bin / "server", str(port), place])
        self.wait()

    def wait(self):
        for _ in range(100):
            try:
                return self.ask("report")
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server does not start")

    def close(self):
        self.server.terminate()
        self.server.wait()

    def ask(self, what):
        with urllib.request.urlopen(f"{self.url}/.bench/{what}") as answer:
            return json.load(answer)

    def words(self, library, what):
        """A program that prints seconds, and perhaps bytes."""
        if library == "floor":
            return [self.options.bin / "floor", what, f"{self.url}/", self.place / f"{what}.txt"]
        if library != "zarrpoint":
            return [sys.executable, PEERS, what, library, self.url, self.place]
        if what == "save":
            return [self.program, "save", "s3://bucket/model", str(self.options.megabytes)]
        return [self.program, "load", f"{self.url}/model.zarr"]

    def run(self, words, delay, keep=False):
        """Seconds, bytes and what the server counted; None where a library is not there."""
        self.ask(f"begin?delay={delay}&empty=1&keep={int(keep)}")
        done = subprocess.run([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        if done.returncode == NOT_THERE:
            return None
        if done.returncode != 0:
            raise SystemExit(f"{words}: {done.stderr[-2000:]}")
        numbers = done.stdout.split()
        return {"seconds": float(numbers[0]), "bytes": int((numbers[1:] or ["0"])[0])} | self.ask("report")


def counts(bench):
    """Markdown: what the server counted, of zarrpoint alone."""
    document = json.loads((bench.place / "model.zarr/layer1/mlp/zarr.json").read_text(encoding="utf-8"))
    rows = document["codecs"][0]["configuration"]["chunk_shape"][0]  # of an inner chunk
    part = shapes(bench.options.megabytes)["layer1/mlp"][0] // 4 // rows * rows
    tasks = {
        "open 5,000 tensors, directory": ["open", f"{bench.url}/small.zarr"],
        "open 5,000 tensors, zip": ["open", f"{bench.url}/small.zip"],
        "load 5,000 tensors, directory": ["load", f"{bench.url}/small.zarr"],
        "load 5,000 tensors, zip": ["load", f"{bench.url}/small.zip"],
        "load 69 tensors": ["load", f"{bench.url}/model.zarr"],
        "a quarter of the rows of a tensor": ["part", f"{bench.url}/model.zarr", str(part)],
        "first element, https": ["first", f"{bench.url}/model.zarr"],
        "first element, s3, anonymous": ["first", "s3://model.zarr"],
    }
    lines = ["| what | requests | in sequence | bytes fetched | / bytes wanted |", "|---|---:|---:|---:|---:|"]
    for title, words in tasks.items():
        seen = bench.run([bench.program, *words], 30)
        wanted = f"{seen['sent'] / seen['bytes']:.3f}" if seen["bytes"] > 1000 else ""
        lines.append(f"| {title} | {seen['requests']:,} | {seen['sequence']} | {seen['sent']:,} | {wanted} |")
    return "\n".join(lines) + "\n"


def times(bench, what):
    """delay -> rounds of library -> seconds."""
    out, chance = {}, random.Random(what)
    for delay in bench.options.delays:
        out[delay] = []
        for number in range(bench.options.rounds + 1):  # the first one is for the pages
            found = {}
            for library in chance.sample(list(LIBRARIES), len(LIBRARIES)):
                # A hypervisor gives memory slowly: for the tensors, and for what a library makes of them.
                touched = np.ones(2 * bench.size, np.uint8)
                del touched
                seen = bench.run(bench.words(library, what), delay)
                if seen is not None:
                    found[library] = seen["seconds"]
            print(what, delay, found, file=sys.stderr, flush=True)
            if number != 0:
                out[delay].append(found)
    return out


def table(bench, what, results):
    lines = [f"| {what} | {' | '.join(f'+{delay} ms' for delay in results)} |", f"|---|{'---:|' * len(results)}"]
    for library, title in LIBRARIES.items():
        cells = []
        for rounds in results.values():
            if any(library not in each for each in rounds):
                cells.append("-")
                continue
            text = f"{bench.size / statistics.median(each[library] for each in rounds) / 1e9:.2f} GB/s"
            if library != "zarrpoint":
                ratios = sorted(each[library] / each["zarrpoint"] for each in rounds)
                text += f"; {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
            cells.append(text)
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def versions():
    out = []
    for name in ("tensorstore", "zarr", "obstore", "s3fs", "boto3"):
        try:
            out.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            pass
    return ", ".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("folder")
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delays", type=lambda text: [int(each) for each in text.split(",")], default=[0, 10, 50])
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="remote.", dir=options.folder))
    try:
        bench, load = Bench(options, place), os.getloadavg()[0]
        try:
            text = counts(bench)
            if not options.counts:
                text = "".join(f"{table(bench, what, times(bench, what))}\n" for what in ("load", "save")) + text
        finally:
            bench.close()
    finally:
        shutil.rmtree(place)
    head = f"{options.megabytes} MiB in {3 * LAYERS} tensors, {options.rounds} rounds, a load of {load:.1f} before and {os.getloadavg()[0]:.1f} after; {versions()}."
    head = textwrap.fill(head, 120)
    text = f"{head}\n{machine()}:\n\n{text}"
    out = ROOT / "build/remote/table.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(text, end="")
    if options.publish:
        publish_between(BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
