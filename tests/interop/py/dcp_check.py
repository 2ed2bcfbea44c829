# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of torch.distributed.checkpoint, both ways: dcp_check.py DCP_EXCHANGE [ROUNDS [WORLDS]]

Random states are saved by PyTorch, read and written by zarrpoint, and loaded by PyTorch:
`dcp.load` into a state of zeros, `dcp_to_torch_save` and `torch.load` of what that makes. All must
have the bits that were saved. The pickle of `.metadata` must be the one that Python makes of the
same objects. Then processes of PyTorch, one to three, load and save DTensors and a model under FSDP2.
At last what zarrpoint writes to several files at once.

With WORLDS, such as "1 2 3", it is another check: so many processes of PyTorch at a time save each of ROUNDS random
states together, in which half of the tensors are DTensors, spread along an axis; zarrpoint writes them
again by one to three ranks, and the processes load that."""

import math
import pathlib
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import metadata as kinds
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

warnings.filterwarnings("ignore")

DTYPES = [torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32,
          torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
          torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]  # fmt: skip


def bits(tensor):
    dense = torch.empty(tensor.numel(), dtype=tensor.dtype)
    dense.copy_(tensor.reshape(-1))
    return dense.view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def same(a, b):
    """Whether both are the same, to the bit and to the type."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(map(str, sorted(a))) == list(map(str, sorted(b))) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    return a == b


SEEN = set()


def random_tensor(rng):
    dtype = rng.choice(DTYPES)
    SEEN.add(dtype)
    shape = [rng.choice((0, 1, 2, 3, 5, 8, 17, 40)) for _ in range(rng.randrange(0, 4))]
    count = math.prod(shape)
    if dtype == torch.bool:
        out = torch.tensor([rng.random() < 0.5 for _ in range(count)], dtype=torch.bool).reshape(shape)
    else:
        size = torch.empty((), dtype=dtype).element_size()
        out = torch.frombuffer(bytearray(rng.randbytes(max(count, 1) * size)), dtype=dtype)[:count].reshape(shape)
    if out.dim() > 1 and rng.random() < 0.3:
        out = out.transpose(0, 1)
    if out.dim() and rng.random() < 0.2:
        out = out[::2]
    return out


def random_value(rng):
    return rng.choice((
        lambda: rng.randrange(-300, 70000), lambda: rng.randrange(-2**63, 2**63), lambda: rng.randrange(2**63, 2**64),
        lambda: rng.random() < 0.5, lambda: None, lambda: rng.random() * 10 ** rng.randrange(-300, 300), lambda: math.inf,
        lambda: "".join(rng.choice("abc \u00e9\u4e2d\U0001f388\n\0") for _ in range(rng.randrange(0, 300))),
        lambda: rng.randbytes(rng.randrange(0, 400)), lambda: [],
        lambda: [rng.randrange(-9, 9) for _ in range(rng.randrange(1, 1500))], lambda: [[1, "x"], [2.5, None, [True]]]))()  # fmt: skip


def random_state(rng, depth=2):
    out = {}
    for i in range(rng.randrange(1, 7)):
        name = rng.choice(("w", "layers.0.weight", "\u00e9t\u00e9", "a" * 60, "x y", "k")) + str(i)
        kind = rng.random()
        if kind < 0.2 and depth:
            out[name] = random_state(rng, depth - 1)
        elif kind < 0.3 and depth:
            out[name] = [random_state(rng, depth - 1) for _ in range(rng.randrange(1, 3))]
        elif kind < 0.7:
            out[name] = random_tensor(rng)
        else:
            out[name] = random_value(rng)
    return out


def zeros_like(state):
    if isinstance(state, torch.Tensor):
        return torch.zeros(state.shape, dtype=torch.uint8).to(state.dtype)
    if isinstance(state, dict):
        return {k: zeros_like(v) for k, v in state.items()}
    if isinstance(state, list) and any(isinstance(one, dict) for one in state):
        return [zeros_like(one) for one in state]
    return 0


def check_pickle(path):
    """Python's own pickle of the objects that ours makes."""
    text = (path / ".metadata").read_bytes()
    whole = kinds.TensorProperties.__getstate__
    kinds.TensorProperties.__getstate__ = lambda self: whole(self)[:5]  # as PyTorch had it, see docs/conformance.md
    # As Python has enumerators but in 3.11.0 to 3.11.3.
    kinds._MEM_FORMAT_ENCODING.__reduce_ex__ = lambda self, protocol: (type(self), (self.value,))
    try:
        again = pickle.dumps(pickle.loads(text), protocol=2)
    finally:
        kinds.TensorProperties.__getstate__ = whole
    assert again == text, f"{path}: {len(again)} and {len(text)} bytes"


def check(program, rng, folder):
    state = random_state(rng)
    theirs, ours, single = folder / "theirs", folder / "ours", folder / "single.pt"
    dcp.save(state, checkpoint_id=theirs, no_dist=True)
    chunk, file, ranks = rng.choice((0, 1, 64, 1000)), rng.choice((1, 4000, 1 << 30)), rng.choice((1, 1, 2, 3))
    subprocess.run([program, theirs, ours, str(chunk), str(file), str(ranks)], check=True)
    check_pickle(ours)
    loaded = zeros_like(state)
    dcp.load(loaded, checkpoint_id=ours, no_dist=True)
    assert same(loaded, state), (loaded, state)
    dcp_to_torch_save(ours, single)
    assert same(torch.load(single, weights_only=False), state)
    again = folder / "again"  # what PyTorch made of ours, once more by ours
    dcp.save(loaded, checkpoint_id=again, no_dist=True)
    subprocess.run([program, again, ours, "0", "0", "1"], check=True)  # in the place of the first
    loaded = zeros_like(state)
    dcp.load(loaded, checkpoint_id=ours, no_dist=True)
    assert same(loaded, state)


def model_state(fill):
    """A model and two tensors that are spread over the processes, each in its own way."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.Linear(10, 5))
    tensors = {"rows": torch.arange(77.0).reshape(11, 7), "columns": torch.arange(60).reshape(4, 15) * 3 + 1,
               "same": torch.arange(9, dtype=torch.float64)}  # fmt: skip
    if not fill:
        tensors = {name: torch.zeros_like(one) for name, one in tensors.items()}
        for parameter in model.parameters():
            torch.nn.init.zeros_(parameter)
    return model, tensors


def spread(fill, world):
    mesh = init_device_mesh("cpu", (world,))
    model, tensors = model_state(fill)
    fully_shard(model, mesh=mesh)
    where = {"rows": [Shard(0)], "columns": [Shard(1)], "same": [Replicate()]}
    tensors = {name: distribute_tensor(one, mesh, where[name]) for name, one in tensors.items()}
    return {"model": get_model_state_dict(model), "tensors": tensors, "step": 7 if fill else 0}


def one_rank(rank, world, folder, action, path):
    dist.init_process_group("gloo", init_method=f"file://{folder}/{action}-{world}", rank=rank, world_size=world)
    state = spread(action == "save", world)
    if action == "save":
        dcp.save(state, checkpoint_id=path)
    else:
        dcp.load(state, checkpoint_id=path)
        model, tensors = model_state(True)
        wanted = {**model.state_dict(), **tensors}
        for name, one in {**state["model"], **state["tensors"]}.items():
            assert same(one.full_tensor(), wanted[name].detach()), f"{name} of {rank} in {world}"
        assert state["step"] == 7 and len(wanted) == 7
    dist.barrier()  # nobody leaves while another one talks
    dist.destroy_process_group()


def check_processes(program, folder):
    for world in (1, 2, 3):
        theirs = folder / f"theirs-{world}"
        run = lambda action, path, count: torch.multiprocessing.spawn(one_rank, (count, folder, action, path), nprocs=count)  # fmt: skip
        run("save", theirs, world)
        for ranks, chunk in ((1, 0), (3, 64)):
            ours = folder / f"ours-{world}-{ranks}"
            subprocess.run([program, theirs, ours, str(chunk), "1000", str(ranks)], check=True)
            run("load", ours, world % 3 + 1)  # by another number of processes
            for file in folder.glob("load-*"):
                file.unlink()


def spread_some(rng, state, mesh):
    """Half of the tensors as DTensors: of each process its part, of extents that need not be the same."""
    if isinstance(state, dict):
        return {key: spread_some(rng, one, mesh) for key, one in state.items()}
    if isinstance(state, list):
        return [spread_some(rng, one, mesh) for one in state]
    if not isinstance(state, torch.Tensor) or state.dim() == 0 or rng.random() < 0.5:
        return state
    axis, rank = rng.randrange(state.dim()), mesh.get_local_rank()
    each = -(-state.shape[axis] // mesh.size())
    first = min(rank * each, state.shape[axis])
    own = state.narrow(axis, first, min(each, state.shape[axis] - first)).contiguous()
    whole = torch.empty(state.shape, device="meta")
    return DTensor.from_local(own, mesh, [Shard(axis)], run_check=False, shape=whole.shape, stride=whole.stride())


def own_parts(state):
    """What of a state is here."""
    if isinstance(state, DTensor):
        return state.to_local()
    if isinstance(state, dict):
        return {key: own_parts(one) for key, one in state.items()}
    return [own_parts(one) for one in state] if isinstance(state, list) else state


def zeros_in_place(state):
    """A state to load into, spread in the same way."""
    if isinstance(state, DTensor):
        zeros = zeros_like(state.to_local())
        return DTensor.from_local(
            zeros, state.device_mesh, state.placements, run_check=False, shape=state.shape, stride=state.stride()
        )
    if isinstance(state, dict):
        return {key: zeros_in_place(one) for key, one in state.items()}
    if isinstance(state, list) and any(isinstance(one, dict) for one in state):
        return [zeros_in_place(one) for one in state]
    return zeros_like(state)


def states_of_rank(rank, world, program, rounds, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/world-{world}", rank=rank, world_size=world)
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (world,))
    rng = random.Random(1000 + world)  # the same on all
    theirs, ours = folder / "theirs", folder / "ours"
    for i in range(rounds):
        state = spread_some(rng, random_state(rng), mesh)
        chunk, file, ranks = rng.choice((0, 1, 64, 1000)), rng.choice((1, 4000, 1 << 30)), rng.choice((1, 2, 3))
        dcp.save(state, checkpoint_id=theirs)
        if rank == 0:
            subprocess.run([program, theirs, ours, str(chunk), str(file), str(ranks)], check=True)
            check_pickle(ours)
        dist.barrier()
        loaded = zeros_in_place(state)
        dcp.load(loaded, checkpoint_id=ours)
        assert same(own_parts(loaded), own_parts(state)), f"state {i} of {world} processes: {loaded}, not {state}"
        dist.barrier()
        if rank == 0:
            shutil.rmtree(theirs)
        dist.barrier()
    assert rounds < 100 or SEEN == set(DTYPES), set(DTYPES) - SEEN
    dist.destroy_process_group()


def check_worlds(program, rounds, worlds):
    for world in worlds:
        with tempfile.TemporaryDirectory() as folder:
            arguments = (world, program, rounds, pathlib.Path(folder))
            torch.multiprocessing.spawn(states_of_rank, arguments, nprocs=world)
        print(f"torch {torch.__version__}: {rounds} random states of {world} processes: no difference", flush=True)


def check_files_at_once(program, folder):
    """As much as is written to several files at once."""
    theirs, ours = folder / "theirs", folder / "ours"
    state = {f"w{i}": torch.arange(i, i + (9 << 20), dtype=torch.int32) for i in range(8)}
    dcp.save(state, checkpoint_id=theirs, no_dist=True)
    subprocess.run([program, theirs, ours, "0", str(1 << 40), "1"], check=True)
    assert sorted(one.name for one in ours.iterdir()) == [".metadata", "__0_0.distcp", "__0_1.distcp"]
    loaded = zeros_like(state)
    dcp.load(loaded, checkpoint_id=ours, no_dist=True)
    assert same(loaded, state)


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    if len(sys.argv) > 3:
        check_worlds(program, rounds, [int(world) for world in sys.argv[3].split()])
        return
    rng = random.Random(20)
    for i in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            check(program, rng, pathlib.Path(folder))
    assert rounds < 100 or SEEN == set(DTYPES), set(DTYPES) - SEEN
    with tempfile.TemporaryDirectory() as folder:
        check_processes(program, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_files_at_once(program, pathlib.Path(folder))
    print(f"torch {torch.__version__}: {rounds} random states, {len(SEEN)} dtypes, by torch and by zarrpoint; "
          "DTensors and FSDP2 on 1 to 3 processes: no difference")


if __name__ == "__main__":
    main()
