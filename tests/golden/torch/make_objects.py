#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes objects-2.pt, objects-4.pt and objects-5.pt: what training programs put beside tensors, by protocols 2, 4 and 5."""

import argparse
import collections
import datetime
import decimal
import enum
import functools
import io
import pathlib
import uuid

import numpy as np
import torch


class Colour(enum.Enum):
    RED = 1


class Slots:
    __slots__ = ("a", "b")


class Keeper(list):
    pass


class Counted:
    def __new__(cls, *, count):
        return super().__new__(cls)

    def __getnewargs_ex__(self):
        return (), {"count": 3}

    def function(self):
        pass


class Whole:
    def __getstate__(self):
        return [1, 2]

    def __setstate__(self, state):
        pass


def objects():
    inner = argparse.Namespace(lr=0.5, dtype=torch.bfloat16)
    loop = argparse.Namespace(name="loop")
    loop.itself = loop
    slots = Slots()
    slots.a, slots.b = 1, "two"
    keeper = Keeper([1, 2])
    keeper.note = "n"
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=True)
    return {
        "args": argparse.Namespace(num_layers=24, inner=inner, data=["a", "b"], none=None, reserved={"__class__": 1}),
        "reserved": argparse.Namespace(**{"__args__": 5}),
        "loop": loop,
        "scale": torch.tensor([65536.0]),
        "transposed": torch.arange(6, dtype=torch.int16).reshape(2, 3).t(),
        "expanded": torch.tensor([7], dtype=torch.uint8).expand(3),
        "scalar": torch.tensor(True),
        "parameter": parameter,
        "big": 12345678901234567890123,
        "negative": -(2**80),
        "huge": 2**9000,
        "u64": 2**64 - 1,
        "ints": {0: "zero", 1: "one", True: "yes", 2.5: "half", None: "none"},
        "mixed": {1: "int", "1": "text"},
        "tuples": {(1, 2): "pair"},
        "dollar": {"$": "what", "$x": 1, "$$y": 2},
        "bytes": b"\xff\x00",
        "bytearray": bytearray(b"ab"),
        "file": io.BytesIO(b"state"),
        "set": {3},
        "frozen": frozenset([4]),
        "ordered": collections.OrderedDict(b=1, a=2),
        "default": collections.defaultdict(list, k=[1]),
        "counter": collections.Counter("aab"),
        "deque": collections.deque([1, 2], maxlen=3),
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "function": torch.nn.functional.relu,
        "builtin": len,
        "method": Counted.function,
        "enum": Colour.RED,
        "date": datetime.date(2026, 1, 2),
        "time": datetime.timedelta(days=1, seconds=2),
        "decimal": decimal.Decimal("1.5"),
        "uuid": uuid.UUID(int=1),
        "path": pathlib.PurePosixPath("/a/b"),
        "complex": 1 + 2j,
        "range": range(3),
        "slice": slice(1, None),
        "partial": functools.partial(int, base=2),
        "slots": slots,
        "keeper": keeper,
        "counted": Counted(count=3),
        "whole": Whole(),
        "array": np.arange(6, dtype=np.float64).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        "swapped": np.arange(3, dtype=">u2"),
        "strided": np.arange(6, dtype=np.uint8)[::2],
        "empty": np.zeros((0, 2), np.float32),
        "names": np.array(["a", "bc"]),
        "records": np.zeros(1, dtype=[("x", "i4")]),
        "objects": np.array([None, 1], dtype=object),
        "np_float": np.float32(0.5),
        "np_int": np.int64(-7),
        "np_bool": np.bool_(True),
        "np_half": np.float16(1.5),
        "np_date": np.datetime64("2026-01-02"),
        "np_dtype": np.dtype("f4"),
        "random": np.random.RandomState(1).get_state(),
        "storage": torch.tensor([1.0, 2.0]).storage(),
        "sparse": torch.eye(2).to_sparse(),
        "quantised": torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8),
    }


if __name__ == "__main__":
    for protocol in (2, 4, 5):
        torch.save(objects(), f"objects-{protocol}.pt", pickle_protocol=protocol)
