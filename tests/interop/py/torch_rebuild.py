# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Every way in which PyTorch says in a pickle how a tensor is made again, as files of torch.save.

    torch_rebuild.py FOLDER     writes FOLDER/*.pt, the checkpoint FOLDER/dcp and FOLDER/index.json: what torch.load gives

tests/golden/torch/rebuild was made by PyTorch 2.15.0 and numpy 2 with it.
"""

import json
import os
import pathlib
import sys
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint

warnings.simplefilter("ignore")
FOLDER = pathlib.Path(sys.argv[1])


class Labelled(torch.Tensor):
    """A plain subclass: its elements are those of the tensor."""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 2)
        self.rest = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        self.same = [self.first]
        self.table = {"ages": torch.arange(3)}


class Script(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.shift = torch.arange(2.0)

    def forward(self, x):
        return self.linear(x) + self.shift + torch.tensor([3.0, 4.0])


class Made:
    """Whatever a function makes, which pickle is told to call."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class Bag:
    def __init__(self, **members):
        self.__dict__.update(members)


def hexadecimal(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return tensor.clone().untyped_storage().tolist() if tensor.numel() else []


def expected(tensor):
    name = str(tensor.dtype).removeprefix("torch.")
    name = {"complex32": "complex_float16"}.get(name, name)
    return {"dtype": name, "shape": list(tensor.shape), "hex": bytes(hexadecimal(tensor)).hex()}


CASES = []


def case(name, value, arrays=None, unread=None, **options):
    """`arrays`: names and what torch has of them; by default the members of the dict."""
    path = FOLDER / f"{name}.pt"
    if isinstance(value, torch.jit.ScriptModule):
        value.save(str(path))
    else:
        torch.save(value, path, **options)
    unread = unread or {}
    if arrays is None:
        loaded = torch.load(path, weights_only=False)
        arrays = {key: one for key, one in loaded.items() if key not in unread}
    arrays = {key: expected(torch.as_tensor(one)) for key, one in arrays.items()}
    CASES.append({"file": path.name, "arrays": arrays, "unread": unread})


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    table = torch.arange(6.0).reshape(2, 3)
    plain = torch.ones(2)
    pairs = torch.tensor([[1 + 2j, 3 - 1j], [5j, -2]])

    # _rebuild_tensor_v2 and _v3, with each entry of their metadata
    case("tensor", {"row": table, "turned": table.t(), "part": table[:, 1], "wide": plain[:1].expand(2, 3), "none": torch.empty(0, 4)})
    case("conj", {"t": pairs.conj(), "turned": pairs.t().conj(), "half": pairs.to(torch.complex32).conj(), "w": plain})
    case("neg", {"t": torch._neg_view(table), "part": pairs.conj().imag, "whole": torch._neg_view(torch.tensor([1, -2, 3])), "w": plain})
    case("conj_neg", {"t": torch._neg_view(pairs.conj()), "wide": torch._neg_view(torch.tensor([1, 2], dtype=torch.int16))})
    case("first_version", {"t": Made(torch._utils._rebuild_tensor, table.storage(), 1, (2, 2), (3, 1)), "w": plain})
    for name in ("uint16", "uint32", "uint64"):
        case(name, {"t": torch.tensor([1, 2, 255], dtype=getattr(torch, name)), "w": plain})
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        case(name, {"t": torch.tensor([56, 60, 1], dtype=torch.uint8).view(getattr(torch, name)), "w": plain})
    case("complex32", {"t": pairs.to(torch.complex32), "w": plain})
    for name in ("float4_e2m1fn_x2", "bits8", "bits1x8", "bits2x4", "bits4x2", "bits16"):
        value = torch.tensor([1, 2, 3, 4], dtype=torch.uint8).view(getattr(torch, name))
        case(name, {"t": value, "w": plain}, unread={"t": f"torch.{name}"})

    # _rebuild_parameter, _rebuild_parameter_with_state, _rebuild_from_type_v2
    case("parameter", {"t": torch.nn.Parameter(table.clone()), "w": plain})
    with_state = torch.nn.Parameter(table.clone())
    with_state.is_shared = True
    case("parameter_with_state", {"t": with_state, "w": plain})
    with_state = table.clone()
    with_state.tag = "x"
    case("tensor_with_state", {"t": with_state, "w": plain})
    case("subclass", {"t": table.as_subclass(Labelled), "w": plain})
    with_state = table.as_subclass(Labelled)
    with_state.scale = torch.tensor([5.0])
    case("subclass_with_tensor", {"t": with_state, "w": plain}, {"t": table, "w": plain, "t%2F@state/scale": torch.tensor([5.0])})

    # _rebuild_qtensor, _rebuild_sparse_tensor, _rebuild_nested_tensor
    case("quantised", {"t": torch.quantize_per_tensor(table, 0.1, 2, torch.qint8), "w": plain}, unread={"t": "torch.qint8"})
    case("quantised_32", {"t": torch.quantize_per_tensor(table, 0.1, 2, torch.qint32), "w": plain}, unread={"t": "torch.qint32"})
    scales = torch.tensor([0.1, 0.2]), torch.tensor([0, 1])
    case("quantised_channels", {"t": torch.quantize_per_channel(table, *scales, 0, torch.quint8), "w": plain}, unread={"t": "torch.quint8"})
    square = torch.eye(4)
    for layout, value in {
        "coo": square.to_sparse(),
        "csr": square.to_sparse_csr(),
        "csc": square.to_sparse_csc(),
        "bsr": square.to_sparse_bsr((2, 2)),
        "bsc": square.to_sparse_bsc((2, 2)),
    }.items():
        case(f"sparse_{layout}", {"t": value, "w": plain}, unread={"t": f"torch.sparse_{layout}"})
    rows = [torch.ones(2), torch.ones(3)]
    case("nested", {"t": torch.nested.nested_tensor(rows), "w": plain}, unread={"t": "torch.nested"})
    jagged = torch.nested.nested_tensor(rows, layout=torch.jagged)
    case("jagged", {"t": jagged, "w": plain}, {"w": plain}, {"t": "torch.nested._internal.nested_tensor.NestedTensor"})

    # _rebuild_meta_tensor_no_storage, _rebuild_device_tensor_from_..., _rebuild_wrapper_subclass
    case("meta", {"t": torch.empty(2, 3, device="meta"), "w": plain}, unread={"t": "torch.float32 (meta)"})
    utils = torch._utils
    case("device_numpy", {"t": Made(utils._rebuild_device_tensor_from_numpy, table.numpy(), torch.float32, "cpu", False), "w": plain})
    narrow = Made(utils._rebuild_device_tensor_from_numpy, table.numpy(), torch.bfloat16, "cpu", False)
    case("device_numpy_other", {"t": narrow, "w": plain}, unread={"t": "torch._utils._rebuild_device_tensor_from_numpy"})
    case("device_cpu", {"t": Made(utils._rebuild_device_tensor_from_cpu_tensor, table, torch.float32, "cpu", False), "w": plain})
    narrow = Made(utils._rebuild_device_tensor_from_cpu_tensor, table, torch.bfloat16, "cpu", False)
    case("device_cpu_other", {"t": narrow, "w": plain}, unread={"t": "torch.bfloat16"})
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29531", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("gloo")
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    whole = distribute_tensor(table, init_device_mesh("cpu", (1,)), [Shard(0)])
    case("dtensor", {"t": whole, "w": plain}, {"w": plain}, {"t": "torch.distributed.tensor.DTensor"})
    dist.destroy_process_group()

    # what is not a tensor, and holds elements
    arrays = {"t": np.arange(6, dtype=">i4").reshape(2, 3), "f": np.asfortranarray(table.numpy()), "b": np.array([True, False]), "s": np.float32(2.5)}
    case("numpy", arrays, {key: torch.from_numpy(np.ascontiguousarray(one).astype(one.dtype.newbyteorder("="))).reshape(one.shape) for key, one in arrays.items()})
    case("storage", {"t": table.untyped_storage(), "w": plain}, {"t": torch.tensor(list(table.untyped_storage()), dtype=torch.uint8), "w": plain})
    case("keys", {0: plain, "0": plain * 2, (1, 2): plain * 3}, {"0 (int)": plain, "0": plain * 2, "[1,2]": plain * 3})
    net = Net().eval()
    weights = {key.replace(".", "/"): one for key, one in net.state_dict().items()}
    case("module", net, weights | {"table/ages": torch.arange(3)})
    case("module_in_dict", {"model": net, "w": plain}, {f"model/{key}": one for key, one in (weights | {"table/ages": torch.arange(3)}).items()} | {"w": plain})
    script = torch.jit.script(Script())
    case("script", script, {"linear/weight": script.linear.weight, "linear/bias": script.linear.bias, "shift": script.shift})
    bag = Bag(scale=plain, rate=0.5)
    bag.me = bag
    case("object", {"bag": bag, "pair": torch.return_types.max((plain, table))}, {"bag/scale": plain, "pair/@args/0/0": plain, "pair/@args/0/1": table})

    # the same before PyTorch 1.6
    old = {"_use_new_zipfile_serialization": False}
    for protocol in (2, 3, 4, 5):
        case(f"legacy_{protocol}", {"t": table, "turned": table.t(), "w": plain, "none": torch.empty(0)}, pickle_protocol=protocol, **old)
    case("legacy_signs", {"c": pairs.conj(), "w": plain}, **old)
    case("legacy_quantised", {"t": torch.quantize_per_tensor(table, 0.1, 2, torch.qint32), "w": plain}, unread={"t": "torch.qint32"}, **old)
    case("legacy_module", net, weights | {"table/ages": torch.arange(3)}, **old)

    # and from a checkpoint of torch.distributed.checkpoint, which refuses the others
    state = {}
    for one in CASES:
        kind = one["file"].removesuffix(".pt")
        taken = kind.startswith(("uint", "float8", "conj", "neg")) or kind in ("tensor", "complex32", "parameter", "subclass", "numpy")
        if taken:
            state[kind] = torch.load(FOLDER / one["file"], weights_only=False)
    torch.distributed.checkpoint.save(state, checkpoint_id=FOLDER / "dcp", no_dist=True)
    inside = {f"{one['file'].removesuffix('.pt')}.{name}": array for one in CASES for name, array in one["arrays"].items()}
    CASES.append({"file": "dcp", "arrays": {key: array for key, array in inside.items() if key.split(".")[0] in state}, "unread": {}})

    text = json.dumps({"torch": torch.__version__, "cases": CASES}, indent=1)
    (FOLDER / "index.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
