# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The arrays that are exchanged: data types by codec chains, and what layouts and fill values add."""

from base64 import b64encode
from copy import deepcopy
from dataclasses import dataclass, field, replace

import chains
import numpy as np
from chains import Chain, bytes_codec, shard
from kinds import KINDS, Kind


@dataclass
class Case:
    kind: Kind
    chain: Chain
    version: int
    document: dict
    shape: tuple
    row: str
    tags: set = field(default_factory=set)
    empty: bool = False  # nothing is written: the fill value shows

    @property
    def name(self):
        return f"v{self.version} {self.row}: {self.chain.name}"

    @property
    def column(self):
        return self.chain.family


def names(codecs):
    """The names of codecs, inside shards, too."""
    for one in codecs or []:
        yield one["name"]
        yield from names(one.get("configuration", {}).get("codecs"))


def array_v3(kind, chain, shape=(7, 10), row=None, **members):
    document = {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": kind.v3,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chain.chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": kind.fill3, "codecs": chain.codecs, "attributes": {},
    } | members  # fmt: skip
    tags = {"v3", kind.name, kind.group, chain.name, chain.family, *names(chain.codecs)}
    return Case(kind, chain, 3, deepcopy(document), tuple(shape), row or kind.name, tags)


def array_v2(kind, chain, shape=(7, 10), row=None, **members):
    document = {
        "zarr_format": 2, "shape": list(shape), "chunks": list(chain.chunk), "dtype": kind.v2,
        "compressor": None, "filters": None, "order": "C", "fill_value": kind.fill2,
    } | chain.v2 | members  # fmt: skip
    used = [*(document["filters"] or []), document["compressor"]]
    tags = {"v2", kind.name, kind.group, chain.name, chain.family}
    tags |= {one["id"] for one in used if one} | {f"order {document['order']}"}
    return Case(kind, chain, 2, deepcopy(document), tuple(shape), row or kind.name, tags)


def types_and_codecs():
    for kind in KINDS.values():
        if kind.v3 is not None:
            for chain in chains.v3(kind):
                yield array_v3(kind, chain, chain.shape)
        if kind.v2 is not None:
            if kind.fill2 is None:
                kind = replace(kind, fill=bytes(kind.size))
            for chain in chains.v2(kind):
                yield array_v2(kind, chain)
            yield from big_endian(kind)


def big_endian(kind):
    """Of v2, where the typestr says it; the fill value of a record is then in that order, too."""
    typestr = chains.big_endian(kind.v2)
    if typestr == kind.v2 or kind.scalar == 1:
        return
    how = {"dtype": typestr}
    if kind.group == "records":
        stored = np.frombuffer(kind.fill, kind.numpy).astype(kind.numpy.newbyteorder(">"))
        how["fill_value"] = b64encode(stored.tobytes()).decode()
    packed = {"order": "F", "compressor": {"id": "zlib", "level": 1}}
    for name, v2 in (("big-endian", {}), ("big-endian, F, zlib", packed)):
        yield tagged(array_v2(kind, Chain(name, "big-endian", v2=v2), **how), "big-endian")


def tagged(case, *tags):
    case.tags |= set(tags)
    return case


def object_arrays():
    for spec, text in chains.objects():
        kind = KINDS["string" if text else "bytes"]
        words = ("", *chains.LABELS) if spec["id"] == "categorize" else ()
        kind = replace(kind, v2="|O", fill2="", fill=b"", words=words)
        for order in "CF":
            chain = Chain(f"{spec['id']}, {order}", "objects", v2={"filters": [spec], "order": order})
            yield array_v2(kind, chain, row=kind.name)
        packed = {"filters": [spec], "compressor": {"id": "zstd", "level": 1}}
        yield array_v2(kind, Chain(f"{spec['id']}, zstd", "objects", v2=packed), row=kind.name)


def blosc_frames():
    for name in ("uint8", "int16", "float32", "complex128"):
        kind = KINDS[name]
        for chain in chains.every_blosc(kind):
            make = array_v2 if chain.codecs is None else array_v3
            yield tagged(make(kind, chain, (60, 40)), *chain.name.split())


def layouts():
    """Shapes, grids and keys, of a few data types."""
    for name in ("float32", "bool", "int64", "bfloat16", "string"):
        kind = KINDS[name]
        one = bytes_codec(kind)
        shapes = [(), (1,), (5,), (0,), (0, 3), (3, 0, 2), (3, 1, 4), (2, 3, 2, 2), (9, 9)]
        for shape in shapes:
            chunk = tuple(max(1, (n + 1) // 2) for n in shape)
            row = f"shape {list(shape)}"
            for what, codecs in (("raw", [one]), ("zstd", [one, chains.ZSTD]), ("shard", [shard([one], [1] * len(shape))])):
                yield tagged(array_v3(kind, Chain(f"{name}, {what}", "v3", codecs, chunk=chunk), shape, row), "shapes", what)
            if kind.v2:
                yield tagged(array_v2(kind, Chain(name, "v2", v2={}, chunk=chunk), shape, row), "shapes")
        keys = [("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]
        for encoding, separator in keys:
            how = {"name": encoding, "configuration": {"separator": separator}}
            for shape in ((7, 10), ()):
                chain = Chain(f"{name}, rank {len(shape)}", "v3", [one], chunk=(4, 6)[: len(shape)])
                yield array_v3(kind, chain, shape, f"keys {encoding} '{separator}'", chunk_key_encoding=how)
        for separator in "./":
            if kind.v2:
                chain = Chain(name, "v2", v2={})
                yield array_v2(kind, chain, (7, 10), f"keys v2 '{separator}'", dimension_separator=separator)
        for what, edges in (("listed", [[1, 4, 2], [5, 5]]), ("run-length", [[[2, 3], 1], [[2, 5]]])):
            grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": edges}}
            chain = Chain(name, "v3", [one])
            yield tagged(array_v3(kind, chain, row=f"rectilinear, {what}", chunk_grid=grid), "rectilinear")


FILLS = {
    "bool": [(True, b"\1"), (False, b"\0")],
    "int8": [(-128, b"\x80")],
    "int64": [(-(2**63), b"\0\0\0\0\0\0\0\x80"), (2**53 + 1, (2**53 + 1).to_bytes(8, "little"))],
    "uint64": [(2**64 - 1, b"\xff" * 8)],
    "float16": [("NaN", b"\0\x7e"), ("0x7e01", b"\1\x7e"), (65504.0, b"\xff\x7b"), (-0.0, b"\0\x80")],
    "float32": [("NaN", b"\0\0\xc0\x7f"), ("Infinity", b"\0\0\x80\x7f"), ("-Infinity", b"\0\0\x80\xff"),
                ("0x7fc00123", b"\x23\1\xc0\x7f"), (0.1, b"\xcd\xcc\xcc\x3d"), (-0.0, b"\0\0\0\x80")],
    "float64": [("NaN", b"\0\0\0\0\0\0\xf8\x7f"), ("0x7ff8000000000abc", b"\xbc\x0a\0\0\0\0\xf8\x7f"),
                (5e-324, b"\1\0\0\0\0\0\0\0")],
    "complex64": [(["NaN", "-Infinity"], b"\0\0\xc0\x7f\0\0\x80\xff"),
                  (["0x7fc00123", 0.0], b"\x23\1\xc0\x7f\0\0\0\0")],
    "bfloat16": [("NaN", b"\xc0\x7f"), ("Infinity", b"\x80\x7f"), ("0x7fc1", b"\xc1\x7f"), (1.5, b"\xc0\x3f")],
    "float8_e4m3fn": [("NaN", b"\x7f"), (448.0, b"\x7e"), ("0xff", b"\xff")],
    "float8_e5m2": [("Infinity", b"\x7c"), ("NaN", b"\x7e")],
    "float8_e8m0fnu": [("NaN", b"\xff"), (1.0, b"\x7f")],
    "float4_e2m1fn": [(6.0, b"\7"), (-0.5, b"\x09")],
    "int4": [(-8, b"\x08"), (7, b"\7")],
    "int2": [(-2, b"\2")],
    "numpy.datetime64": [("NaT", b"\0\0\0\0\0\0\0\x80"), (0, bytes(8)), (-(2**63), b"\0\0\0\0\0\0\0\x80")],
    "string": [("", b""), ("é☃𝄞\"\\\n", "é☃𝄞\"\\\n".encode())],
    "variable_length_bytes": [("", b""), ("/+8=", b"\xff\xef")],
    "null_terminated_bytes": [("", bytes(4)), ("YWJjZA==", b"abcd")],
    "fixed_length_utf32": [("", bytes(12)), ("☃", b"\x03\x26\0\0" + bytes(8))],
}  # fmt: skip


def fill_values():
    """Arrays without chunks, and with one: nothing but the metadata says what is read."""
    for name, fills in FILLS.items():
        for given, element in fills:
            kind = replace(KINDS[name], fill3=given, fill=element, fill2=given)
            text = str(given).replace("\n", "\\n")
            is_hex = "0x" in text
            chain = Chain(text, "v3", [bytes_codec(kind)])
            tags = {"fill", "hex"} if is_hex else {"fill", text}
            yield empty(tagged(array_v3(kind, chain, row=f"fill {name}"), *tags))
            if kind.v2 and not is_hex:
                yield empty(tagged(array_v2(kind, Chain(text, "v2", v2={}), row=f"fill {name}"), *tags))


def empty(case):
    case.empty = True
    return case


SECTIONS = {
    "Data types and codecs": types_and_codecs,
    "Object arrays of v2": object_arrays,
    "Blosc": blosc_frames,
    "Shapes, grids and keys": layouts,
    "Fill values": fill_values,
}
