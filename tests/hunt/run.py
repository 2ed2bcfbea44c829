#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Random trees that reference implementations write, against all that the command says of them.

    run.py COMMAND FOLDER [--trees N] [--seed S] [--only CONTAINER,...] [--tree I] [--need-all]

N trees (100) are dealt out to the containers whose peers can be imported; the others are named. `--tree I`
does one of them again and leaves its files in FOLDER. A difference that `known.py` does not name fails.
"""

import argparse
import collections
import copy
import importlib
import random
import re
import shutil
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compare import Comparison
from drawn import Refused
from known import LIMITS

MODULES = {"trees_zarr": ["zarr", "zip", "ocdbt"], "trees_files": ["safetensors", "npz"], "trees_torch": ["torch", "dcp"],
           "trees_orbax": ["orbax"], "trees_gguf": ["gguf"]}  # fmt: skip


def containers(only):
    found = {}
    for module, names in MODULES.items():
        if only and not set(names) & set(only):
            continue
        try:
            found |= importlib.import_module(module).CONTAINERS
        except ImportError as missing:
            print(f"left out: {', '.join(names)}: {missing}")
    return {name: kind for name, kind in found.items() if not only or name in only}


def play(command, folder, kind, seed):
    """The differences of one tree."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    model = kind(rng)
    other = copy.deepcopy(model)
    (folder / "b").mkdir()
    (folder / "c").mkdir()
    tree, again = model.write(folder / "a"), model.write(folder / "b/a")
    changed = other.write(folder / "c/a") if other.alter(rng) else None
    comparison = Comparison(command, rng)
    return comparison.tree(tree, again, changed, folder), len(tree.leaves)


def explained(text, uses):
    for pattern, _ in LIMITS:
        if re.search(pattern, text, re.DOTALL):
            uses[pattern] += 1
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--tree", type=int)
    parser.add_argument("--need-all", action="store_true", help="fail where a container is left out")
    arguments = parser.parse_args()
    kinds = containers(arguments.only)
    if not kinds or (arguments.need_all and len(kinds) < sum(map(len, MODULES.values()))):
        print("not every container can be drawn")
        return 1
    folder = arguments.folder.resolve()
    uses, counts, leaves, failed, refused, began = collections.Counter(), collections.Counter(), 0, 0, 0, time.monotonic()
    numbers = range(arguments.trees) if arguments.tree is None else [arguments.tree]
    for number in numbers:
        name = list(kinds)[number % len(kinds)]
        where = folder / name
        seed = f"{arguments.seed}/{name}/{number}"
        try:
            differences, count = play(arguments.command, where, kinds[name], seed)
        except Refused:
            refused += 1
            continue
        except Exception as failure:  # noqa: BLE001  a peer that refuses what was drawn
            frames = [f for f in traceback.extract_tb(failure.__traceback__) if Path(f.filename).parent == Path(__file__).resolve().parent]
            differences, count = [f"the generator: {frames[-1].name}:{frames[-1].lineno}: {type(failure).__name__}: {str(failure)[:200]}"], 0
        counts[name] += 1
        leaves += count
        unknown = [text for text in differences if not explained(f"{name}: {text}", uses)]
        if unknown:
            failed += 1
            again = f"--seed {arguments.seed} --tree {number}" + (f" --only {','.join(arguments.only)}" if arguments.only else "")
            print(f"{name}: {len(unknown)} differences ({again})", *(" ".join(text.split()) for text in unknown), sep="\n    ", flush=True)
    if arguments.tree is None:
        shutil.rmtree(folder, ignore_errors=True)
    for pattern, reason in LIMITS:
        if uses[pattern]:
            print(f"known, {uses[pattern]} times: {reason}")
    if refused * 5 > arguments.trees:
        failed += 1
    print(f"{sum(counts.values())} trees ({', '.join(f'{n} {c}' for n, c in counts.items())}), {leaves} arrays, "
          f"{refused} that the peer refused, {failed} with differences, {time.monotonic() - began:.0f} s")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
