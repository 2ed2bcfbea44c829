#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Orbax and TensorStore on Orbax checkpoints, each in a process of its own.

    peers.py make MODEL.safetensors CHECKPOINT    the tensors, by their names, as Orbax saves them (Zarr v3 in OCDBT)
    peers.py many CHECKPOINT COUNT                as many parameters of 64 bytes, in groups of a hundred
    peers.py save CHECKPOINT MODEL.safetensors    the same as make, from memory, and prints the seconds as the next
    peers.py open|load LIBRARY CHECKPOINT         prints the seconds, those of all processors, and how many arrays there are

LIBRARY is orbax or tensorstore. What is loaded is in memory of its own, as NumPy has it.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

THREADS = 2


def now():
    return time.perf_counter(), time.process_time()


def nested(flat):
    out = {}
    for name, value in flat.items():
        at = out
        *path, last = name.split("/")
        for step in path:
            at = at.setdefault(step, {})
        at[last] = value
    return out


def save(tree, path):
    import orbax.checkpoint as ocp

    handler = ocp.PyTreeCheckpointHandler(use_zarr3=True)
    ocp.Checkpointer(handler).save(Path(path).resolve(), args=ocp.args.PyTreeSave(tree))


def read(model):
    import ml_dtypes

    raw = np.memmap(model, mode="r")
    length = int.from_bytes(raw[:8].tobytes(), "little")
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + length].tobytes()).items():
        if name != "__metadata__":
            begin, end = (8 + length + at for at in entry["data_offsets"])
            tensors[name] = np.array(raw[begin:end]).view(ml_dtypes.bfloat16).reshape(entry["shape"])
    return tensors


def make(model, path):
    save(nested(read(model)), path)


def save_timed(path, model):
    import orbax.checkpoint as ocp

    tensors = read(model)
    tree = nested(tensors)
    checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_zarr3=True))
    began = now()
    checkpointer.save(Path(path).resolve(), args=ocp.args.PyTreeSave(tree))
    return began, tensors


def many(path, count):
    save(nested({f"layer{i // 100}/p{i % 100}": np.full(16, i, np.float32) for i in range(count)}), path)


def names(path):
    leaves = json.loads((Path(path) / "_METADATA").read_text())["tree_metadata"].values()
    return [".".join(key["key"] for key in leaf["key_metadata"]) for leaf in leaves]


def open_tensorstore(path):
    import tensorstore as ts

    context = ts.Context({"data_copy_concurrency": {"limit": THREADS}, "file_io_concurrency": {"limit": THREADS}})
    began = now()
    base = {"driver": "ocdbt", "base": f"file://{Path(path).resolve()}/"}
    specs = [{"driver": "zarr3", "kvstore": base | {"path": f"{name}/"}} for name in names(path)]
    arrays = [each.result() for each in [ts.open(spec, read=True, context=context) for spec in specs]]
    return began, arrays


def load_tensorstore(path):
    began, arrays = open_tensorstore(path)
    return began, [each.result() for each in [array.read() for array in arrays]]


def open_orbax(path):
    import jax
    import orbax.checkpoint as ocp

    checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_zarr3=True))
    began = now()
    return began, jax.tree.leaves(checkpointer.metadata(Path(path).resolve()).item_metadata.tree)


def load_orbax(path):
    import jax
    import orbax.checkpoint as ocp

    checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_zarr3=True))
    began = now()
    return began, jax.tree.leaves(checkpointer.restore(Path(path).resolve()))


def tell(began, found):
    spent, used = (after - before for before, after in zip(began, now()))
    print(f"{spent:.6f} {used:.6f} {len(found)}")


def main(arguments):
    if arguments[0] == "make":
        return make(*arguments[1:])
    if arguments[0] == "many":
        return many(arguments[1], int(arguments[2]))
    if arguments[0] == "save":
        return tell(*save_timed(*arguments[1:]))
    return tell(*globals()[f"{arguments[0]}_{arguments[1]}"](arguments[2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
