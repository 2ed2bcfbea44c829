#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints exchanged with Megatron-Core in the layout of its zarr backend, by one and two processes.

usage: megatron_check.py MEGATRON_EXCHANGE

with the Python of tests/interop/megatron_requirements.txt. The program writes checkpoints, which Megatron-Core
loads, cut as they were saved and cut another way; Megatron-Core writes the same state, which the
program reads by one, two and three threads. Then the directories of both are compared, file for file:
bytes, but for files of torch.save, which are compared as values.
"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")


def value(torch, key, dtype, shape):
    """A global tensor: small whole numbers, exact in every dtype."""
    count = 1
    for extent in shape:
        count *= extent
    numbers = [len(key) * 7 + n % 200 for n in range(count)]
    if dtype != torch.int64:
        numbers = [n % 200 for n in numbers]
    return torch.tensor(numbers, dtype=dtype).reshape(shape)


def tensors(torch):
    return {
        "model.weight": (torch.float32, (8, 12)),
        "model.bias": (torch.bfloat16, (12,)),
        "model.layers": (torch.float32, (2, 4, 6)),
        "model.experts": (torch.bfloat16, (2, 4, 6)),
        "optimizer.flat": (torch.float32, (4, 8)),
        "counts": (torch.int64, (3,)),
    }


def common():
    return {"iteration": 7, "args": {"lr": 0.125, "names": ["a", "b"], "none": None}}


def objects(mapping, rank, ranks):
    out = {}
    for i in range(2):
        if ranks == 1 or i == rank:
            step = {"step": i, "name": f"rank {i}"}
            out[f"object {i}"] = mapping.ShardedObject("rng", step, (2,), (i,))
            out[f"blob {i}"] = mapping.ShardedObject("blob", b"bytes %d" % i, (2,), (i,))
    return out


def as_saved(torch, mapping, rank, ranks):
    """The shards of one process, as megatron_exchange cuts them."""
    whole = {key: value(torch, key, *spec) for key, spec in tensors(torch).items()}
    part = mapping.ShardedTensor.from_rank_offsets
    width, depth = 12 // ranks, 6 // ranks
    out = {
        "weight": part("model.weight", whole["model.weight"][:, rank * width : (rank + 1) * width], (1, rank, ranks)),
        "bias": part("model.bias", whole["model.bias"], replica_id=rank),
        "counts": part("counts", whole["counts"], replica_id=(0, rank)),
    }
    for layer in range(2):
        if ranks == 1 or rank == layer:
            out[f"layers {layer}"] = part("model.layers", whole["model.layers"][layer], (0, layer, 2), prepend_axis_num=1)
        columns = whole["model.experts"][layer][:, rank * depth : (rank + 1) * depth]
        place = ((0, layer, 2), (2, rank, ranks))
        out[f"experts {layer}"] = part("model.experts", columns, *place, prepend_axis_num=1)
        piece = slice(0, 16) if ranks == 1 else slice(0, 5) if rank == 0 else slice(5, 16)
        cell = whole["optimizer.flat"][2 * layer : 2 * layer + 2].reshape(-1)
        out[f"flat {layer}"] = mapping.ShardedTensor.from_rank_offsets_flat(
            "optimizer.flat", cell[piece].clone(), (2, 8), (0, layer, 2), flattened_range=piece
        )
    for one in out.values():
        one.data = one.data.contiguous()
    return out


def cut_otherwise(torch, mapping, rank, ranks):
    """Halves along the first axis where there is an even number, or the whole; other flat pieces."""
    out = {}
    for key, (dtype, shape) in tensors(torch).items():
        data = value(torch, key, dtype, shape)
        if key == "optimizer.flat":
            piece = slice(0, 32) if ranks == 1 else slice(0, 13) if rank == 0 else slice(13, 32)
            out[key] = mapping.ShardedTensor.from_rank_offsets_flat(
                key, data.reshape(-1)[piece].clone(), (4, 8), flattened_range=piece
            )
        elif shape[0] % 2:
            out[key] = mapping.ShardedTensor.from_rank_offsets(key, data, replica_id=rank)
        else:
            rows = shape[0] // ranks
            out[key] = mapping.ShardedTensor.from_rank_offsets(
                key, data[rank * rows : (rank + 1) * rows].contiguous(), (0, rank, ranks)
            )
    return out


def check_load(torch, dist, mapping, folder, request):
    expected = {name: one.data.clone() for name, one in request.items() if isinstance(one, mapping.ShardedTensor)}
    expected |= {name: one.data for name, one in request.items() if isinstance(one, mapping.ShardedObject)}
    for one in request.values():
        if isinstance(one, mapping.ShardedTensor):
            one.data = torch.zeros_like(one.data)
        else:
            one.data = None
    loaded = dist.load(request, folder)
    for name, wanted in expected.items():
        found = loaded[name]
        if isinstance(wanted, torch.Tensor):
            if found.dtype != wanted.dtype or not torch.equal(found.cpu(), wanted):
                sys.exit(f"{folder}: {name} differs:\n{found}\n{wanted}")
        elif found != wanted:
            sys.exit(f"{folder}: {name} is {found}, not {wanted}")
    for name, wanted in common().items():
        if loaded[name] != wanted:
            sys.exit(f"{folder}: {name} is {loaded[name]}, not {wanted}")


def one_process(rank, ranks, folder):
    import logging

    import torch
    from megatron.core import dist_checkpointing as dist
    from megatron.core.dist_checkpointing import mapping
    from megatron.core.dist_checkpointing.serialization import get_default_save_sharded_strategy

    logging.disable(logging.WARNING)  # that the backend is deprecated
    # The backend waits for the device before it writes; without one there is nothing to wait for.
    torch.cuda.synchronize = lambda *_: None
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous-{ranks}", rank=rank, world_size=ranks
    )
    theirs = folder / f"theirs-{ranks}"
    if rank == 0:
        theirs.mkdir()
    torch.distributed.barrier()
    tree = {**common(), **as_saved(torch, mapping, rank, ranks), **objects(mapping, rank, ranks)}
    dist.save(tree, str(theirs), get_default_save_sharded_strategy("zarr", 1))
    torch.distributed.barrier()
    for writers in (1, 2):
        ours = str(folder / f"ours-{writers}")
        everything = {**as_saved(torch, mapping, rank, ranks), **objects(mapping, rank, ranks)}
        check_load(torch, dist, mapping, ours, everything)
        check_load(torch, dist, mapping, ours, cut_otherwise(torch, mapping, rank, ranks))
    whole = dist.load_plain_tensors(str(folder / "ours-2"))
    for key, spec in tensors(torch).items():
        if not torch.equal(whole[key].cpu(), value(torch, key, *spec)):
            sys.exit(f"load_plain_tensors: {key} differs")
    torch.distributed.destroy_process_group()


def files(folder):
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.parent.name.endswith(".sync")
    }


def compare(ours, theirs):
    import torch

    if files(ours) != files(theirs):
        sys.exit(f"other files: {sorted(files(ours) ^ files(theirs))}")
    for name in files(ours):
        if not name.endswith(".pt"):
            if (ours / name).read_bytes() != (theirs / name).read_bytes():
                sys.exit(f"{name}: other bytes than Megatron-Core's")
            continue
        mine = torch.load(ours / name, weights_only=True)
        other = torch.load(theirs / name, weights_only=False)
        if name == "common.pt":
            other = {key: one for key, one in other.items() if key in common()}
        if mine != other:
            sys.exit(f"{name}: {mine}, not {other}")
    if any(path.name.endswith(".sync") for path in ours.rglob("*")):
        sys.exit("a lock was written")
    return len(files(ours))


def main(arguments):
    if len(arguments) == 3:
        one_process(int(arguments[0]), int(arguments[1]), pathlib.Path(arguments[2]))
        return 0
    if len(arguments) != 1:
        print(__doc__)
        return 2
    tool = pathlib.Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for ranks in (1, 2):
            subprocess.run([tool, "write", folder / f"ours-{ranks}", str(ranks)], check=True)
        for ranks in (1, 2):
            running = [
                subprocess.Popen([sys.executable, "-W", "ignore", __file__, str(rank), str(ranks), name])
                for rank in range(ranks)
            ]
            if any([one.wait(timeout=600) for one in running]):
                return 1
            print(f"Megatron-Core in {ranks} processes loads what 1 and 2 of ours wrote: equal", flush=True)
        for writers in (1, 2):
            for ranks in (1, 2, 3):
                subprocess.run([tool, "read", folder / f"theirs-{writers}", str(ranks)], check=True)
            print(f"what {writers} of its processes wrote, loaded by 1, 2 and 3 of ours: equal")
            count = compare(folder / f"ours-{writers}", folder / f"theirs-{writers}")
            print(f"{count} files of {writers} writers: the same names and bytes, .pt as values")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
