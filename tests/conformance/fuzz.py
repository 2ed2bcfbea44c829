#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Random arrays that zarrpoint and a peer write and read in turn, compared with a model in numpy.

    fuzz.py BUILD_FOLDER [--cases N] [--seed S]     N cases, 10000 by default
    fuzz.py BUILD_FOLDER --seed S --case I          one of them again

with the Python that has the packages of tests/interop/requirements.txt; the driver is built as by
run.py. Each case is an array of py/random_cases.py, created by one side; each step writes or reads
a region by one side; at the end both read all of it. A case that fails is run again without the
steps that it does not need, and what is left is printed.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "py"))

import numpy as np
import ours
import peers
import random_cases
from exchange import difference

SHOWN = 10


def play(sides, folder, case, creator, steps):
    """What went wrong, or None."""
    model = case.kind.empty(case.shape)
    shutil.rmtree(folder, ignore_errors=True)
    doing = f"{creator} creates it"
    try:
        sides[creator].create(folder, case)
        for step in steps:
            doing, at = str(step), (..., *step.at)
            if step.writes:
                random = np.random.default_rng(step.seed)
                values = case.kind.random(random, model[at].shape, case.chain.modest)
                model[at] = values
                sides[step.side].write(folder, case, step.at, values)
            else:
                read = sides[step.side].read(folder, case, step.at)
                if not ours.same(np.ascontiguousarray(model[at]).reshape(model[at].shape), read):
                    return f"{doing}: {difference(model[at], read)}"
        for name, side in sides.items():
            doing = f"{name} reads all"
            read = side.read(folder, case)
            if not ours.same(model, read):
                return f"{doing}: {difference(model, read)}"
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as failure:  # noqa: BLE001  a panic of Rust is none of Exception
        return f"{doing}: {type(failure).__name__}: {failure}"
    return None


def shortest(sides, folder, case, creator, steps):
    """The steps without those that the failure does not need."""
    i = 0
    while i < len(steps):
        fewer = steps[:i] + steps[i + 1 :]
        if play(sides, folder, case, creator, fewer):
            steps = fewer
        else:
            i += 1
    return steps


def one(sides, folder, seed, number):
    """Case `number`; the report of its failure, or None."""
    case, peer, creator, steps = random_cases.make(np.random.default_rng([seed, number]))
    sides = {"zarrpoint": sides["zarrpoint"], peer: sides[peer]}
    if not play(sides, folder, case, creator, steps):
        shutil.rmtree(folder, ignore_errors=True)
        return None
    steps = shortest(sides, folder, case, creator, steps)
    lines = [f"case {number} of seed {seed} (--seed {seed} --case {number}), with {peer}:"]
    lines += [f"  {json.dumps(case.document)}", f"  {creator} creates it"]
    lines += [f"  {step}" for step in steps]
    lines.append(f"  -> {play(sides, folder, case, creator, steps)}")
    return "\n".join(lines)


def share(job):
    driver, folder, seed, numbers = job
    sides = {side.name: side for side in [ours.Ours(driver), *peers.PEERS]}
    failures = []
    for number in numbers:
        failure = one(sides, Path(folder) / str(number), seed, number)
        if failure:
            failures.append(failure)
            if len(failures) == SHOWN:
                break
    return failures


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--cases", type=int, default=10000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--case", type=int)
    arguments = arguments.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder / "random", ignore_errors=True)
    (folder / "random").mkdir(parents=True)
    driver = str(ours.build(folder))
    began, seed = time.monotonic(), arguments.seed
    chosen = range(arguments.cases) if arguments.case is None else [arguments.case]
    count = min(os.cpu_count() or 1, 8, len(chosen))
    jobs = [(driver, str(folder / "random"), seed, chosen[i::count]) for i in range(count)]
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        failures = [failure for part in pool.map(share, jobs) for failure in part]
    for failure in failures[:SHOWN]:
        print(failure)
    print(f"{len(chosen)} random arrays of seed {seed} in {time.monotonic() - began:.0f} s: "
          f"{len(failures)} failed")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
