# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Files of torch.save and checkpoints of torch.distributed.checkpoint, by PyTorch."""

import base64
import collections
import math
import random
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.distributed.checkpoint as dcp
from drawn import PIECES, Leaf, Refused, Tree, a_shape, a_text, texts

if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 7):
    raise ImportError(f"PyTorch {torch.__version__} lacks data types of today's")

warnings.filterwarnings("ignore")

KINDS = {str(kind)[6:]: kind for kind in (
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e4m3fnuz,
    torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu)}  # fmt: skip


def bits(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if not tensor.numel():
        return b""
    if tensor.dtype.is_complex:
        return tensor.contiguous().numpy().tobytes()
    dense = torch.empty(tensor.numel(), dtype=tensor.dtype)
    dense.copy_(tensor.reshape(-1))
    return dense.view(torch.uint8).numpy().tobytes()


def a_tensor(rng, shared, for_dcp=False):
    """Any layout: transposed, expanded, steps, a part of a storage that others share."""
    if shared and rng.random() < 0.2:
        base = rng.choice(shared)
        style = rng.randrange(4)
        if style == 0 and base.dim() and base.shape[0] > 1:
            return base[rng.randrange(base.shape[0]) :]
        if style == 1 and base.dim() > 1:
            return base.transpose(0, -1)
        if style == 2 and base.dim():
            return base.reshape(-1)[:: rng.randint(1, 3)]
        return base
    kind = KINDS[rng.choice(list(KINDS))]
    shape = a_shape(rng)
    count = math.prod(shape)
    if kind == torch.bool:
        out = torch.tensor([rng.random() < 0.5 for _ in range(count)], dtype=torch.bool).reshape(shape)
    else:
        size = torch.empty((), dtype=kind).element_size()
        out = torch.frombuffer(bytearray(rng.randbytes(max(count, 1) * size)), dtype=kind)[:count].reshape(shape)
    if rng.random() < 0.6:
        out = out.clone()
    shared.append(out)
    style = rng.randrange(12)
    if style == 0 and out.dim() > 1:
        order = list(range(out.dim()))
        rng.shuffle(order)
        return out.permute(order)
    if style == 1 and out.dim() and out.shape[0]:
        return out[:: rng.randint(1, 3)]
    if style == 2 and out.dim() and out.shape[0] > 1:
        return out[1:]
    if style == 3 and out.dim() and 1 in out.shape:
        return out.expand([3 if n == 1 else n for n in out.shape])
    if style == 4 and out.dtype.is_complex:
        return out.conj()
    if style == 5 and out.dtype.is_complex:
        return out.imag if rng.random() < 0.5 else out.conj().imag
    # PyTorch makes a signalling NaN of 16 bits a quiet one when it negates it.
    if style == 6 and (out.dtype.is_floating_point or out.dtype.is_complex) and out.element_size() > 1 and not out.isnan().any():
        return torch._neg_view(out)
    if style == 7 and out.dtype.is_floating_point and not for_dcp:
        return torch.nn.Parameter(out, requires_grad=rng.random() < 0.5)
    if style == 8 and out.dim() == 4:
        return out.contiguous(memory_format=torch.channels_last)
    if style == 9 and out.dim() and out.is_contiguous() and out.numel():
        return out.as_strided((2, 2), (0, 0))
    if style == 10 and out.dtype.is_floating_point and out.element_size() > 1:
        return out.requires_grad_()
    return out


class Subclass(torch.Tensor):
    pass


def an_odd_one(rng):
    """What has another class than a plain tensor."""
    shape = (rng.randint(1, 4), rng.randint(1, 4))
    values = torch.frombuffer(bytearray(rng.randbytes(shape[0] * shape[1])), dtype=torch.uint8).reshape(shape).to(torch.float32)
    return rng.choice((
        lambda: torch.quantize_per_tensor(values, 0.5, 2, rng.choice((torch.qint8, torch.quint8, torch.qint32))),
        lambda: torch.quantize_per_channel(values, torch.ones(shape[0]), torch.zeros(shape[0], dtype=torch.long), 0, torch.quint8),
        lambda: values.to_sparse(), lambda: values.to_sparse_csr(), lambda: values.to_sparse_csc(),
        lambda: values.to(torch.complex32), lambda: torch.nested.nested_tensor([values, values[:1]]),
        lambda: values.as_subclass(Subclass), lambda: values.numpy(), lambda: values.numpy().astype(">i4"), lambda: np.float32(values[0, 0]),
        lambda: torch.nn.Linear(*shape), lambda: values.to(torch.uint8).view(torch.float4_e2m1fn_x2),
        lambda: torch.nn.Buffer(values), lambda: values.to(torch.uint8).untyped_storage()))()  # fmt: skip


def odd_choices(value):
    """Bytes that one array of it may have; None for what is none of those."""
    if isinstance(value, np.generic):  # an array, or a number in a document
        return [np.asarray(value).tobytes(), texts([repr(float(value))])]
    if isinstance(value, np.ndarray):
        return [value.astype(value.dtype.newbyteorder("<")).tobytes()]
    if isinstance(value, torch.nn.Module):
        return [bits(value.weight)]
    if isinstance(value, torch.TypedStorage):
        value = value.untyped()
    if isinstance(value, torch.UntypedStorage):
        return [bytes(value.tolist())]
    if not isinstance(value, torch.Tensor):
        return None
    if value.is_nested:
        return [bits(value.values() if value.layout == torch.jagged else torch.cat([part.reshape(-1) for part in value.unbind()]))]
    if value.is_quantized:
        return [value.int_repr().numpy().tobytes(), bits(value.dequantize())]
    if value.layout != torch.strided:
        return [bits(value.to_dense()), bits(value.coalesce().values() if value.layout == torch.sparse_coo else value.values())]
    if isinstance(value, Subclass):
        return [bits(value.as_subclass(torch.Tensor))]
    if value.dtype == torch.float4_e2m1fn_x2:
        packed = value.view(torch.uint8)
        return [bits(packed), bits(torch.stack((packed & 15, packed >> 4), -1))]
    if value.dtype == torch.complex32:
        return [value.resolve_conj().contiguous().view(torch.int16).numpy().tobytes()]
    return None


def a_value(rng):
    return rng.choice((
        lambda: rng.randrange(-300, 70000), lambda: rng.randrange(-(2**63), 2**63), lambda: rng.random() < 0.5,
        lambda: None, lambda: rng.random() * 10 ** rng.randrange(-300, 300), lambda: rng.choice((math.inf, -math.inf, math.nan, -0.0)),
        lambda: a_text(rng), lambda: rng.randbytes(rng.randrange(0, 60)), lambda: [], lambda: {}, lambda: (),
        lambda: [rng.randrange(-9, 9) for _ in range(rng.randrange(1, 50))], lambda: [[1, "x"], [2.5, None, [True]]],
        lambda: (1, "x"), lambda: {"a": 1, 2: [None]}, lambda: torch.float32, lambda: torch.Size([2, 3]),
        lambda: collections.OrderedDict(x=1, y=a_text(rng)), lambda: {"b": rng.randbytes(5)}))()  # fmt: skip


def a_state(rng, shared, depth, for_dcp):
    out = collections.OrderedDict() if rng.random() < 0.2 else {}
    for _ in range(rng.choice((0, 1, 2, 3, 5))):
        if for_dcp or rng.random() < 0.85:
            key = rng.choice([*PIECES, "a/b", "a", "b", ""]) if not for_dcp else rng.choice([*PIECES, "a/b", "a"])
        else:
            key = rng.choice((0, 1, -1, True, None, 1.5, 10))
        if key in out:
            continue
        kind = rng.random()
        if kind < 0.2 and depth:
            out[key] = a_state(rng, shared, depth - 1, for_dcp)
        elif kind < 0.3 and depth:
            members = [a_tensor(rng, shared, for_dcp) if rng.random() < 0.6 else a_value(rng) for _ in range(rng.randrange(1, 4))]
            out[key] = members if rng.random() < 0.7 else tuple(members)
        elif kind < 0.36:
            out[key] = an_odd_one(rng)
        elif kind < 0.75:
            out[key] = a_tensor(rng, shared, for_dcp)
        else:
            out[key] = a_value(rng)
    return out


def key_text(key):
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else repr(key)


def document(value):
    """As docs/distributed.md has it."""
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.Tensor):
        text = base64.b64encode(bits(value)).decode()
        return {"$": "tensor", "dtype": str(value.dtype)[6:], "shape": list(value.shape), "base64": text}
    if isinstance(value, dict):
        return {key_text(key): document(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [document(member) for member in value]
    if isinstance(value, bytes):
        return {"$": "text", "base64": base64.b64encode(value).decode()}
    return value


def has_tensor(value):
    if isinstance(value, dict):
        return any(has_tensor(member) for member in value.values())
    if isinstance(value, (list, tuple)):
        return any(has_tensor(member) for member in value)
    return isinstance(value, torch.Tensor) or (odd_choices(value) is not None and not isinstance(value, np.generic))


def leaf_of(name, value):
    choices = odd_choices(value)
    if choices is not None:
        return Leaf(name, type(value).__name__, (), choices=choices)
    if isinstance(value, torch.Tensor):
        return Leaf(name, str(value.dtype)[6:], tuple(value.shape), bits(value))
    if isinstance(value, bool):
        return Leaf(name, "bool", (), bytes([value]))
    if isinstance(value, int):
        return Leaf(name, "int64", (), value.to_bytes(8, "little", signed=True))
    if isinstance(value, float):
        return Leaf(name, "float64", (), np.float64(value).tobytes())
    if isinstance(value, str):
        return Leaf(name, "string", (), len(value.encode()).to_bytes(8, "little") + value.encode())
    return Leaf(name, "string", (), document=document(value), is_document=True)


def leaves_of(value, path, out):
    if not has_tensor(value) and not path:
        out.append(leaf_of("value", value))
    elif isinstance(value, torch.Tensor) or not has_tensor(value) or odd_choices(value) is not None:
        out.append(leaf_of("/".join(path) if path else "value", value))
    else:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            text = key_text(key)
            if not isinstance(key, str) and isinstance(value, dict) and text in value:
                text += f" ({type(key).__name__})"  # as a text that is there, too
            leaves_of(value[key], [*path, text], out)
    return out


def alter_in(rng, value):
    """Changes an element, in place."""
    members = list(value.items() if isinstance(value, dict) else enumerate(value))
    rng.shuffle(members)
    for key, member in members:
        if isinstance(member, (dict, list)) and alter_in(rng, member):
            return True
        if isinstance(value, tuple):
            continue
        if odd_choices(member) is not None:
            continue
        if isinstance(member, torch.Tensor) and member.numel() and 0 not in member.shape:
            raw = bytearray(bits(member))
            size = member.element_size()
            place = rng.randrange(member.numel()) * size
            raw[place] ^= 1
            value[key] = torch.frombuffer(raw, dtype=member.dtype).reshape(member.shape)
            return True
        if isinstance(member, str):
            value[key] = member + "+"
            return True
        if isinstance(member, (bool, int)):
            value[key] = not member if isinstance(member, bool) else member ^ 1
            return True
    return False


class Torch:
    for_dcp = False

    def __init__(self, rng):
        self.state = a_state(rng, [], 2, self.for_dcp)
        if not self.for_dcp and rng.random() < 0.1:
            self.state = rng.choice((a_tensor(rng, []), list(self.state.values()), a_value(rng)))
        self.protocol = rng.choice((2, 2, 2, 3, 4, 5))
        self.legacy = not self.for_dcp and rng.random() < 0.1

    def __deepcopy__(self, memo):
        other = object.__new__(type(self))
        other.legacy, other.protocol = self.legacy, self.protocol
        other.state = shallow(self.state)
        return other

    def alter(self, rng):
        return isinstance(self.state, (dict, list)) and alter_in(rng, self.state)

    def write(self, where):
        path = Path(f"{where}.pt")
        try:
            torch.save(self.state, path, pickle_protocol=self.protocol, _use_new_zipfile_serialization=not self.legacy)
            read = torch.load(path, weights_only=False)
        except (AttributeError, RuntimeError, NotImplementedError):  # newer data types are not in the old form
            try:
                torch.save(self.state, path)
            except RuntimeError as refusal:  # one storage of two types
                raise Refused(str(refusal)) from None
            read = torch.load(path, weights_only=False)
        return Tree(path, leaves_of(read, [], []))


def shallow(value):
    """The containers anew, the tensors the same."""
    if isinstance(value, dict):
        return type(value)((key, shallow(member)) for key, member in value.items())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(shallow(member) for member in value)
    return value


class Dcp(Torch):
    for_dcp = True

    def write(self, where):
        path = Path(f"{where}.dcp")
        try:
            dcp.save(dict(self.state), checkpoint_id=path, no_dist=True)
        except dcp.api.CheckpointException as refusal:
            raise Refused(str(refusal)) from None
        metadata = dcp.FileSystemReader(path).read_metadata()
        flat = {name: self.at(metadata.planner_data[name]) for name in metadata.state_dict_metadata}
        leaves = [leaf_of(name, value) for name, value in flat.items()]
        return Tree(path, leaves)

    def at(self, path):
        value = self.state
        for key in path:
            if isinstance(value, torch.nn.Module):
                value = value.state_dict()
            # where a key is not a text it has the text
            value = value[key] if isinstance(value, (list, tuple)) else next(member for k, member in value.items() if str(k) == str(key))
        return value


CONTAINERS = {"torch": Torch, "dcp": Dcp}
