#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints exchanged with Megatron-Core in the layouts of its backends zarr and torch_dist, by one and two processes.

usage: megatron_check.py MEGATRON_EXCHANGE ZARRPOINT

with the command zarrpoint and the Python of tests/interop/megatron_requirements.txt. The program writes checkpoints, which Megatron-Core
loads, cut as they were saved and cut another way; Megatron-Core writes the same state, which the
program reads by one, two and three threads, and saves again in the other layout, which Megatron-Core loads. Then
the directories of both are compared: those of zarr file for file (bytes, but for files of torch.save, which are compared
as values), those of torch_dist by what .metadata says of each tensor and object. Last, it loads what the
command makes of its directories by `convert --to torch_dist`, and of the same in other formats.
"""

import io
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


BACKENDS = ("zarr", "torch_dist")


def rng_state(torch, number):
    """As Megatron-Core has it: tensors, arrays of numpy and tuples, which no document could say."""
    import random

    import numpy

    generator = random.Random(number)
    return [
        {
            "random_rng_state": generator.getstate(),
            "np_rng_state": numpy.random.RandomState(number).get_state(),
            "torch_rng_state": torch.Generator().manual_seed(number).get_state(),
            "weights": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t(),
        }
    ]


def is_same(torch, one, other):
    import numpy

    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, numpy.ndarray):
        return one.dtype == other.dtype and numpy.array_equal(one, other)
    if isinstance(one, io.BytesIO):
        return one.getvalue() == other.getvalue() and one.tell() == other.tell()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(torch, one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(is_same(torch, a, b) for a, b in zip(one, other))
    return one == other


def objects(mapping, rank, ranks):
    out = {}
    for i in range(2):
        if ranks == 1 or i == rank:
            step = {"step": i, "name": f"rank {i}"}
            out[f"object {i}"] = mapping.ShardedObject("rng", step, (2,), (i,))
            out[f"blob {i}"] = mapping.ShardedObject("blob", b"bytes %d" % i, (2,), (i,))
    return out


# Keys of objects that the program does not make, and hands on as they are.
HANDED_ON = ("state/", "buffer/", "array/")


def handed_on(torch, mapping, rank, ranks):
    """Objects that no document could say: random states, and bytes of other types than `bytes`."""
    out = {f"state {rank}": mapping.ShardedObject("state", rng_state(torch, rank), (ranks,), (rank,))}
    for i in range(2):
        if ranks == 1 or i == rank:
            buffer = io.BytesIO(b"buffer %d" % i)
            buffer.seek(3)
            out[f"buffer {i}"] = mapping.ShardedObject("buffer", buffer, (2,), (i,))
            out[f"array {i}"] = mapping.ShardedObject("array", bytearray(b"array %d" % i), (2,), (i,))
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


def check_load(torch, dist, mapping, folder, request, common_values=None):
    common_values = common() if common_values is None else common_values
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
        elif not is_same(torch, found, wanted):
            sys.exit(f"{folder}: {name} is {found}, not {wanted}")
    for name, wanted in common_values.items():
        if loaded[name] != wanted:
            sys.exit(f"{folder}: {name} is {loaded[name]}, not {wanted}")


def begin(rank, ranks, rendezvous):
    import logging

    import torch
    from megatron.core import dist_checkpointing as dist
    from megatron.core.dist_checkpointing import mapping

    logging.disable(logging.WARNING)  # that the backend is deprecated
    # The backends wait for the device before they write; without one there is nothing to wait for.
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_device = lambda: "cpu"
    torch.set_num_threads(1)  # its writer of torch_dist forks, and threads do not survive that
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{rendezvous}-{ranks}", rank=rank, world_size=ranks
    )
    return torch, dist, mapping


def one_process(rank, ranks, folder):
    torch, dist, mapping = begin(rank, ranks, folder / "rendezvous")
    from megatron.core.dist_checkpointing.serialization import get_default_save_sharded_strategy

    for backend in BACKENDS:
        theirs = folder / f"theirs-{backend}-{ranks}"
        if rank == 0:
            theirs.mkdir()
        torch.distributed.barrier()
        tree = {**common(), **as_saved(torch, mapping, rank, ranks), **objects(mapping, rank, ranks)}
        tree |= handed_on(torch, mapping, rank, ranks)
        dist.save(tree, str(theirs), get_default_save_sharded_strategy(backend, 1))
        torch.distributed.barrier()
        for writers in (1, 2):
            ours = str(folder / f"ours-{backend}-{writers}")
            everything = {**as_saved(torch, mapping, rank, ranks), **objects(mapping, rank, ranks)}
            check_load(torch, dist, mapping, ours, everything)
            check_load(torch, dist, mapping, ours, cut_otherwise(torch, mapping, rank, ranks))
        if backend == "zarr":
            whole = dist.load_plain_tensors(str(folder / "ours-zarr-2"))
            for key, spec in tensors(torch).items():
                if not torch.equal(whole[key].cpu(), value(torch, key, *spec)):
                    sys.exit(f"load_plain_tensors: {key} differs")
        else:
            import torch.distributed.checkpoint as dcp

            plain = {key: torch.zeros(shape, dtype=dtype) for key, (dtype, shape) in tensors(torch).items()}
            del plain["optimizer.flat"]
            dcp.load(plain, checkpoint_id=str(folder / "ours-torch_dist-2"))
            for key, found in plain.items():
                if not torch.equal(found, value(torch, key, *tensors(torch)[key])):
                    sys.exit(f"torch.distributed.checkpoint.load: {key} differs")
        print(f"{backend}: process {rank} of {ranks} loads what 1 and 2 of ours wrote: equal", flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def check_copies(rank, ranks, folder):
    """What the program loaded of Megatron-Core's directories and saved in the other layout."""
    torch, dist, mapping = begin(rank, ranks, folder / "copies")
    for backend in BACKENDS:
        tree = {**as_saved(torch, mapping, rank, ranks), **objects(mapping, rank, ranks)}
        tree |= handed_on(torch, mapping, rank, ranks)
        check_load(torch, dist, mapping, str(folder / f"copy-{backend}-{ranks}"), tree)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def without_flat(request):
    return {name: one for name, one in request.items() if not name.endswith("flat") and not name.startswith("flat")}


def check_converted(rank, ranks, folder):
    """What the command made of Megatron-Core's directories, and of copies in other formats."""
    torch, dist, mapping = begin(rank, ranks, folder / "converted")
    for source in ("zarr", "torch_dist", "ours"):
        tree = {**as_saved(torch, mapping, rank, ranks), **objects(mapping, rank, ranks)}
        tree |= handed_on(torch, mapping, rank, ranks)
        again = cut_otherwise(torch, mapping, rank, ranks)
        if source != "torch_dist":  # which alone tells of flat pieces
            tree, again = without_flat(tree), without_flat(again)
        for one in (tree, again):
            check_load(torch, dist, mapping, str(folder / f"converted-{source}-{ranks}"), one)
    model = {key: one for key, one in cut_otherwise(torch, mapping, rank, ranks).items() if key.startswith("model.")}
    if len(model) != 4:
        sys.exit(f"the tensors of the model are {sorted(model)}")
    check_load(torch, dist, mapping, str(folder / f"converted-safetensors-{ranks}"), model, {})
    print(f"process {rank} of {ranks} loads what the command made of 4 formats: equal", flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def convert_all(tool, command, folder):
    def convert(*arguments):
        subprocess.run([command, "convert", *arguments], check=True)

    for writers in (1, 2):
        theirs = folder / f"theirs-torch_dist-{writers}"
        for backend in BACKENDS:
            out = folder / f"converted-{backend}-{writers}"
            convert(folder / f"theirs-{backend}-{writers}", out, "--to", "torch_dist")
        subprocess.run([tool, "copy", theirs, folder / f"own-{writers}.zarr", "ours"], check=True)
        convert(folder / f"own-{writers}.zarr", folder / f"converted-ours-{writers}", "--to", "torch_dist")
        weights = folder / f"model-{writers}.safetensors"
        convert(theirs, weights, "--only", "model.*")
        convert(weights, folder / f"converted-safetensors-{writers}", "--to", "torch_dist")


def check_values(command, folder):
    """Values of PyTorch that become the common state: torch.load finds what they were, on every way."""
    import torch
    import torch.distributed.checkpoint as dcp

    values = {"raw": b"abc", "lists": [[b"\xff", 1], {"x": b""}], "numbers": [-1, 2**63, None, float("inf")], "name": "a"}
    given, zarr, again, moved = (folder / f"values{end}" for end in ("", ".zarr", "-again", "-moved"))
    dcp.save({**values, "w": torch.zeros(4)}, checkpoint_id=str(given), no_dist=True)

    def convert(*arguments):
        subprocess.run([command, "convert", *arguments], check=True)

    def found(where):
        return torch.load(where / "common.pt", weights_only=True)

    convert(given, again, "--to", "torch_dist")
    flat = found(again)
    for name in ("raw", "name", "numbers"):
        if flat[name] != values[name]:
            sys.exit(f"{name} became {flat[name]}")
    convert(given, zarr)
    convert(zarr, folder / "values-zarr", "--to", "torch_dist")
    convert(again, moved, "--to", "torch_dist", "--rename", "common=before")
    if found(folder / "values-zarr") != flat or found(moved) != {"before": flat}:
        sys.exit("a value became another one on its way")
    print("values of PyTorch in a common state, by 3 ways, as torch.load has them: equal")


def files(folder):
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.parent.name.endswith(".sync")
    }


def compare(ours, theirs):
    import torch

    there = {name for name in files(theirs) if not name.startswith(HANDED_ON)}
    if files(ours) != there:
        sys.exit(f"other files: {sorted(files(ours) ^ there)}")
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


def compare_metadata(ours, theirs):
    """All but the places of the items is the same."""
    import pickle

    mine, other = (pickle.loads((folder / ".metadata").read_bytes()) for folder in (ours, theirs))
    there = {key for key in other.state_dict_metadata if not key.startswith(HANDED_ON)}
    if set(mine.state_dict_metadata) != there:
        sys.exit(f"{ours}: other names: {sorted(set(mine.state_dict_metadata) ^ there)}")
    if mine.mcore_data != other.mcore_data or mine.planner_data != other.planner_data:
        sys.exit(f"{ours}: {mine.mcore_data}, {mine.planner_data}, not {other.mcore_data}, {other.planner_data}")
    for key in there:
        one, wanted = mine.state_dict_metadata[key], other.state_dict_metadata[key]
        if type(one) is not type(wanted):
            sys.exit(f"{ours}: {key} is {one}, not {wanted}")
        if not hasattr(one, "size"):
            continue
        if one.size != wanted.size or one.properties != wanted.properties:
            sys.exit(f"{ours}: {key} is {one}, not {wanted}")
        boxes = [sorted((tuple(c.offsets), tuple(c.sizes)) for c in m.chunks) for m in (one, wanted)]
        if boxes[0] != boxes[1]:
            sys.exit(f"{ours}: {key} has the boxes {boxes[0]}, not {boxes[1]}")
    indexes = {(index.fqn, tuple(index.offset or ())) for index in mine.storage_data}
    expected = {
        (key, tuple(c.offsets)) for key in there for c in getattr(mine.state_dict_metadata[key], "chunks", ())
    } | {(key, ()) for key in there if not hasattr(mine.state_dict_metadata[key], "size")}
    if indexes != expected:
        sys.exit(f"{ours}: items {indexes ^ expected}")
    if (ours / "metadata.json").read_bytes() != (theirs / "metadata.json").read_bytes():
        sys.exit(f"{ours}: another metadata.json")
    return len(there)


def in_processes(ranks, name, *more):
    running = [
        subprocess.Popen([sys.executable, "-W", "ignore", __file__, str(rank), str(ranks), name, *more])
        for rank in range(ranks)
    ]
    if any([one.wait(timeout=600) for one in running]):
        sys.exit(1)


def main(arguments):
    if len(arguments) in (3, 4):
        check = {"copies": check_copies, "converted": check_converted}.get(arguments[-1], one_process)
        check(int(arguments[0]), int(arguments[1]), pathlib.Path(arguments[2]))
        return 0
    if len(arguments) != 2:
        print(__doc__)
        return 2
    tool, command = (pathlib.Path(one).resolve() for one in arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for backend in BACKENDS:
            for ranks in (1, 2):
                subprocess.run([tool, "write", folder / f"ours-{backend}-{ranks}", str(ranks), backend], check=True)
        for ranks in (1, 2):
            in_processes(ranks, name)
        for backend, other in (BACKENDS, BACKENDS[::-1]):
            for writers in (1, 2):
                theirs, ours = (folder / f"{writer}-{backend}-{writers}" for writer in ("theirs", "ours"))
                for ranks in (1, 2, 3):
                    subprocess.run([tool, "read", theirs, str(ranks)], check=True)
                print(f"{backend}: what {writers} of its processes wrote, loaded by 1, 2 and 3 of ours: equal")
                subprocess.run([tool, "copy", theirs, folder / f"copy-{other}-{writers}", other], check=True)
                if backend == "zarr":
                    count = compare(ours, theirs)
                    print(f"{count} files of {writers} writers: the same names and bytes, .pt as values")
                else:
                    count = compare_metadata(ours, theirs)
                    print(f"{count} entries of {writers} writers: the same in .metadata")
        convert_all(tool, command, folder)
        check_values(command, folder)
        for ranks in (1, 2):
            in_processes(ranks, name, "copies")
            in_processes(ranks, name, "converted")
        print("its directories, loaded and saved in the other layout by ours, as Megatron-Core loads them: equal")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
