#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Compares zarrpoint with PyTorch.

usage: torch_check.py TORCH_COPY

Files of torch.save are read and written again by zarrpoint, and PyTorch loads what was written: the
values must be the same, bit for bit. What a file would run is not run; files cut short, or of which
bytes are changed, end in an error and not in a crash. Any PyTorch since 1.13 will do.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import torch

NAMES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 uint16 uint32 uint64"
    " float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz"
).split()
VERSION = tuple(int(part) for part in torch.__version__.split("a")[0].split("+")[0].split(".")[:2])
# What weights_only=True takes grew: floats and bytes came after 1.13.
IS_NEW = VERSION >= (2, 6)
DTYPES = [getattr(torch, name) for name in NAMES if hasattr(torch, name)]


def copy(tool, source, target):
    """Runs the copy; why it was refused, if it was. A crash ends the check."""
    done = subprocess.run([tool, source, target], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        sys.exit(f"{source}: torch_copy ended with {done.returncode}\n{done.stderr}")
    if done.returncode == 1 and ": " not in done.stderr:
        sys.exit(f"{source}: refused without a reason")
    return "" if done.returncode == 0 else done.stderr.strip()


def same(a, b):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return raw(a) == raw(b)
    if isinstance(a, (list, tuple)):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, bytearray):
        return bytes(a) == b
    return type(a) is type(b) and (a == b or a != a and b != b)


def raw(tensor):
    """The bytes of the elements in row-major order."""
    flat = tensor.detach().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""


def random_tensor(rng):
    dtype = rng.choice(DTYPES)
    shape = [rng.randrange(0, 5) for _ in range(rng.randrange(0, 4))]
    count = 1
    for extent in shape:
        count *= extent
    size = torch.empty(0, dtype=dtype).element_size()
    if dtype == torch.bool:
        data = [rng.randrange(2) for _ in range(count)]
    else:
        data = [rng.randrange(256) for _ in range(count * size)]
    flat = torch.tensor(data, dtype=torch.uint8).view(dtype) if data else torch.empty(0, dtype=dtype)
    out = flat.reshape(shape)
    if out.dim() > 1 and rng.random() < 0.4:
        out = out.transpose(0, 1)
    if out.dim() > 0 and rng.random() < 0.3:
        out = out[1:]
    if rng.random() < 0.1:
        out = out.unsqueeze(0).expand([3, *out.shape])
    return out


def random_value(rng, depth=4):
    kind = rng.randrange(12 if depth else 8)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.randrange(-(1 << 63), 1 << 64) >> rng.randrange(64)
    if kind == 2:
        return rng.choice([rng.random(), -0.0, float("inf"), float("nan"), 1e300])
    if kind == 3:
        return "".join(chr(rng.choice([65, 0xE9, 0x4E00, 0x1F600])) for _ in range(rng.randrange(300)))
    if kind == 4:
        return rng.choice([bytes, bytearray])(rng.randrange(256) for _ in range(rng.randrange(20)))
    if kind < 8:
        return random_tensor(rng)
    if kind == 8:
        return tuple(random_value(rng, depth - 1) for _ in range(rng.randrange(5)))
    if kind == 9:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(5))]
    return {f"key {i}": random_value(rng, depth - 1) for i in range(rng.randrange(5))}


def check_copies(tool, folder):
    rng = random.Random(11)
    for i in range(60):
        value = {"root": [random_value(rng) for _ in range(6)], "many": list(range(i * 40))}
        source, target = folder / "theirs.pt", folder / "ours.pt"
        torch.save(value, source)
        if why := copy(tool, source, target):
            sys.exit(f"case {i}: {why}: {value}")
        loaded = torch.load(target, weights_only=True) if IS_NEW else torch.load(target)
        if not same(value, loaded):
            sys.exit(f"case {i}: {value}\nbecame {loaded}")
        if IS_NEW and not same(value, torch.load(target, weights_only=True, mmap=True)):
            sys.exit(f"case {i}: another value when mapped")
    # What the oldest weights_only takes.
    value = {"w": torch.arange(6.0).reshape(2, 3), "names": ["a", {"step": 7}], "none": None}
    torch.save(value, folder / "theirs.pt")
    if why := copy(tool, folder / "theirs.pt", folder / "ours.pt"):
        sys.exit(f"a plain file: {why}")
    if not same(value, torch.load(folder / "ours.pt", weights_only=True)):
        sys.exit("weights_only gives another value")
    print(f"60 files of PyTorch {torch.__version__}, {len(DTYPES)} dtypes: equal in both directions")


class Call:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def check_hostile(tool, folder):
    marker = folder / "owned"
    for value in (Call(marker), {"a": [Call(marker)]}, {"o": object()}, {1, 2}, {1: 2}):
        torch.save(value, folder / "bad.pt")
        if not copy(tool, folder / "bad.pt", folder / "copy.pt"):
            sys.exit(f"{value}: was copied")
        if marker.exists():
            sys.exit("a call in a file was made")
    torch.save([1], folder / "old.pt", _use_new_zipfile_serialization=False)
    if copy(tool, folder / "old.pt", folder / "copy.pt"):
        sys.exit("a file of before PyTorch 1.6 was not read")
    rng = random.Random(3)
    torch.save({"w": torch.arange(20.0), "s": "text", "b": b"bytes"}, folder / "good.pt")
    good = (folder / "good.pt").read_bytes()
    refused = 0
    for _ in range(300):
        damaged = bytearray(good)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(good)) :]
        else:
            damaged[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        (folder / "bad.pt").write_bytes(damaged)
        refused += bool(copy(tool, folder / "bad.pt", folder / "copy.pt"))
    if refused < 90:
        sys.exit(f"only {refused} of 300 damaged files were refused")
    print(f"nothing was run; {refused} of 300 damaged files refused, no crash")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    tool = pathlib.Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        check_copies(tool, pathlib.Path(folder))
        check_hostile(tool, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
