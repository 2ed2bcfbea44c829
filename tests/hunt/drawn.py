# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What the generators share: random names, shapes, elements and attributes, and what a peer reads."""

import dataclasses
import math
import struct

import ml_dtypes
import numpy as np

NUMBERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS += ["float16", "float32", "float64", "complex64", "complex128"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]

PIECES = ["w", "b", "layer.0.weight", "0", "1", "10", "été", "中文", "🎈", "a b", "x-y_z", "c", "c.0", "zarr", "A", "%", "~2"]
PIECES += ["w~2", "a%2Fb", "'q'", '"q"', "[0]", "CON", "a:b", "a;b", "*", "?x", "#", "@", "null", "true", "1.5", "-1", "value"]
PIECES += ["shape", "data", "metadata", "common", "zarr_json", ".hidden", "0.0", "long" * 30, " lead", "trail ", "e\u0301", "\u00e9"]


class Refused(Exception):
    """The peer does not write what was drawn."""


@dataclasses.dataclass
class Leaf:
    """One array as the peer reads it: its name, and its elements in the form that `cat --raw` writes,
    or, with `document`, a value that `cat --json` writes as JSON in a text."""

    name: str
    dtype: str
    shape: tuple
    raw: bytes = b""
    document: object = None
    is_document: bool = False
    attributes: dict = None  # None: not compared
    dimension_names: list = None
    choices: list = None  # of an odd one: it is listed as not read, or a part of it has one of these bytes
    is_stored: bool = True  # false: all of it is fill values
    array: object = None  # of numpy, where the peers of the targets are asked


@dataclasses.dataclass
class Tree:
    path: object
    leaves: list
    attributes: dict = None  # of the root; None: not compared
    groups: dict = None  # attributes by names; None: not compared
    is_stale: bool = False  # its consolidated metadata are not true
    gone: str = None  # an array that they have and that is not there


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def name_of(dtype):
    """The data type of `inspect`."""
    dtype = np.dtype(dtype)
    kinds = {"U": "fixed_length_utf32", "S": "null_terminated_bytes", "M": "numpy.datetime64", "m": "numpy.timedelta64", "T": "string"}
    if dtype.kind == "V" and dtype.names:
        return "struct"
    if dtype.kind == "V" and dtype.name.startswith("void"):
        return "raw_bytes"
    return kinds.get(dtype.kind, dtype.name)


def little(array):
    """The bytes that `cat --raw` writes of numbers."""
    array = np.asarray(array)
    if array.dtype.names is None and array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes()


def texts(values):
    """The same of texts and bytes of any length."""
    out = []
    for value in values:
        value = value.encode() if isinstance(value, str) else bytes(value)
        out.append(struct.pack("<Q", len(value)) + value)
    return b"".join(out)


def a_shape(rng, most=4):
    rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
    shape = [rng.choice((0, 1, 1, 2, 3, 4, 5, 7, 8, 13, 32)) for _ in range(min(rank, most))]
    if shape and rng.random() < 0.8:
        shape = [max(n, 1) for n in shape]
    while math.prod(shape) > 3000:
        shape[rng.randrange(len(shape))] = 2
    return tuple(shape)


def elements(rng, dtype, shape):
    """Random bits; texts and times as well."""
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if dtype.kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(count)], dtype=bool).reshape(shape)
    if dtype.kind == "U":
        letters = "ab é中🎈\\\"\n"
        words = ["".join(rng.choice(letters) for _ in range(rng.randint(0, dtype.itemsize // 4))) for _ in range(count)]
        return np.array(words, dtype=dtype).reshape(shape)
    if dtype.kind == "T":
        return np.array([a_text(rng) for _ in range(count)], dtype=dtype).reshape(shape)
    if dtype.names:
        out = np.zeros(shape, dtype)
        for field in dtype.names:
            part = out[field]
            out[field] = elements(rng, dtype[field].base, part.shape)
        return out
    style = rng.random()
    if style < 0.15:
        raw = bytes(count * dtype.itemsize)
    elif style < 0.3 and dtype.itemsize:
        raw = rng.randbytes(dtype.itemsize) * count
    else:
        raw = rng.randbytes(count * dtype.itemsize)
    return np.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)


def laid_out(rng, array):
    """The same elements in another order of memory, or as a part of a larger array."""
    style = rng.randrange(6)
    if style == 0 and array.ndim > 1:
        order = list(range(array.ndim))
        rng.shuffle(order)
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    if style == 1:
        return np.asfortranarray(array) if array.ndim else array
    if style == 2 and array.ndim and array.shape[0]:
        twice = np.zeros((array.shape[0] * 2, *array.shape[1:]), array.dtype)
        twice[::2] = array
        return twice[::2]
    if style == 3 and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    return array


def a_text(rng):
    return "".join(rng.choice("ab c\"\\/éß中🎈\n\t\u200b") for _ in range(rng.choice((0, 1, 3, 9, 40))))


def a_json(rng, depth=2):
    """A value of JSON that each program keeps as it is."""
    makers = [
        lambda: None,
        lambda: rng.random() < 0.5,
        lambda: rng.randrange(-1000, 70000),
        lambda: rng.choice((0, -1, 2**31, 2**53, -(2**63), 2**63 - 1, 2**64 - 1)),
        lambda: rng.choice((0.5, -0.0, 1e300, 5e-324, 0.1, -2.5e-7)),
        lambda: a_text(rng),
    ]
    if depth:
        makers.append(lambda: [a_json(rng, depth - 1) for _ in range(rng.randrange(4))])
        makers.append(lambda: {rng.choice(PIECES): a_json(rng, depth - 1) for _ in range(rng.randrange(4))})
    return rng.choice(makers)()


def some_attributes(rng):
    if rng.random() < 0.5:
        return {}
    return {rng.choice((*PIECES, "units", "_ARRAY_DIMENSIONS", "")): a_json(rng) for _ in range(rng.randrange(1, 4))}


def altered(rng, array):
    """A copy with one element changed, or None where there is none."""
    if array.size == 0:
        return None
    out = np.array(array)
    at = tuple(rng.randrange(n) for n in out.shape)
    if out.dtype.kind == "b":
        out[at] = not out[at]
    elif out.dtype.kind == "U":
        if out.dtype.itemsize == 0:
            return None
        out[at] = "b" if out[at] != "b" else "c"
    elif out.dtype.kind == "T" or out.dtype.kind == "O":
        out[at] = out[at] + (b"+" if isinstance(out[at], bytes) else "+")
    elif out.dtype.itemsize == 0:
        return None
    else:
        raw = bytearray(out.tobytes())
        size = out.dtype.itemsize
        place = int(np.ravel_multi_index(at, out.shape)) * size if at else 0
        raw[place + rng.randrange(size)] ^= 1
        out = np.frombuffer(raw, dtype=out.dtype).reshape(out.shape)
    return out
