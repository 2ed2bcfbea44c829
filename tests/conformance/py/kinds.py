# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The data types: how each format names them, their fill values, and elements to try them with.

Elements are kept as bytes: an array of numpy's void type of the element's size, little-endian; of
an object array of `bytes` for elements of variable length.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass
class Kind:
    name: str
    numpy: Any  # in memory; None: variable length
    v3: Any = None  # the data_type; None: not in this format
    v2: Any = None  # the typestr, little-endian
    fill3: Any = 1
    fill2: Any = 1
    fill: bytes = b""  # the element that the fill values stand for
    scalar: int = 1  # bytes that byte order applies to
    group: str = "other"
    bits: int = 8  # of each byte that may be set
    text: bool = False
    words: tuple = ()  # the only elements to try it with

    @property
    def variable(self):
        return self.numpy is None

    @property
    def size(self):
        return self.numpy.itemsize

    def empty(self, shape, of=None):
        """An array of the fill element."""
        of = self.fill if of is None else of
        if self.variable:
            out = np.empty(shape, dtype=object)
            out.fill(of)
            return out
        out = np.empty(shape, dtype=np.dtype((np.void, self.size)))
        out[...] = np.void(of)
        return out

    def random(self, random, shape, modest=False):
        """Elements of any bits; or, where codecs compute, small whole numbers."""
        count = int(np.prod(shape))
        if self.variable:
            out = np.empty(count, dtype=object)
            for i in range(count):
                out[i] = word(random, self.text)
                if self.words:
                    out[i] = self.words[int(random.integers(len(self.words)))].encode()
            return out.reshape(shape)
        raw = self.modest(random, count) if modest else self.any_bits(random, count)
        return np.ascontiguousarray(raw).view(np.dtype((np.void, self.size))).reshape(shape)

    def modest(self, random, count):
        if self.name == "bool":
            return random.integers(0, 2, count).astype(bool)
        low = 0 if self.numpy.kind == "u" else -40
        return random.integers(low, 40, count).astype(self.numpy)

    def any_bits(self, random, count):
        if self.numpy.kind in "SU":
            length = self.size if self.numpy.kind == "S" else self.size // 4
            letters = [word(random, True, length) for _ in range(count)]
            if self.numpy.kind == "S":
                return np.array([w.decode()[:length].encode("ascii", "replace") for w in letters],
                                dtype=self.numpy)  # fmt: skip
            return np.array([w.decode()[:length] for w in letters], dtype=self.numpy)
        if self.numpy.names:
            return record(random, self.numpy, count)
        if self.name == "bool":
            return random.integers(0, 2, count).astype(np.uint8)
        return random.integers(0, 1 << self.bits, count * self.size).astype(np.uint8)


def record(random, dtype, count):
    out = np.zeros(count, dtype=dtype)
    for name in dtype.names:
        of = dtype[name]
        if of.names:
            out[name] = record(random, of, count)
        elif of.subdtype:
            out[name] = random.integers(0, 100, (count, *of.shape)).astype(of.base)
        elif of.kind == "S":
            out[name] = [b"ab"[: int(random.integers(0, 3))] for _ in range(count)]
        else:
            out[name] = random.integers(0, 2 if of.kind == "b" else 100, count).astype(of)
    return out


def word(random, text, length=9):
    count = int(random.integers(0, length + 1))
    if not text:
        return random.integers(0, 256, count).astype(np.uint8).tobytes()
    return "".join(random.choice(list("abcxyz é☃𝄞"), count)).rstrip("\0").encode()


KINDS = {}


def add(name, numpy, **how):
    KINDS[name] = Kind(name, np.dtype(numpy) if numpy is not None else None, **how)


def add_numbers():
    add("bool", bool, v3="bool", v2="|b1", fill3=True, fill2=True, fill=b"\1", group="core")
    for bits in (8, 16, 32, 64):
        for sign in ("int", "uint"):
            kind = np.dtype(f"{sign}{bits}")
            add(kind.name, kind, v3=kind.name, v2=kind.str, fill3=1, fill2=1,
                fill=kind.type(1).tobytes(), scalar=kind.itemsize, group="core")  # fmt: skip
    for bits in (16, 32, 64):
        kind = np.dtype(f"float{bits}")
        add(kind.name, kind, v3=kind.name, v2=kind.str, fill3=1.5, fill2=1.5,
            fill=kind.type(1.5).tobytes(), scalar=kind.itemsize, group="core")  # fmt: skip
    for bits in (64, 128):
        kind = np.dtype(f"complex{bits}")
        add(kind.name, kind, v3=kind.name, v2=kind.str, fill3=[1.5, -2.0], fill2=[1.5, -2.0],
            fill=kind.type(1.5 - 2j).tobytes(), scalar=kind.itemsize // 2, group="core")  # fmt: skip


def add_small():
    for name in ("int2", "int4", "uint2", "uint4"):
        add(name, getattr(ml_dtypes, name), v3=name, v2=name if name == "int4" else None,
            fill=b"\1", group="below a byte", bits=int(name[-1]))  # fmt: skip
    small = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3b11fnuz",
             "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
             "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]  # fmt: skip
    for name in small:
        kind = np.dtype(getattr(ml_dtypes, name))
        one = kind.type(1.0).tobytes()
        width = 2 * kind.itemsize
        as_hex = f"0x{int.from_bytes(one, 'little'):0{width}x}"
        v2 = name if name not in ("float8_e4m3", "float4_e2m1fn") and "6_" not in name else None
        bits = 4 if "4_e2" in name else 6 if "6_" in name else 8
        # A number is what every reader takes in v2; the byte of e8m0's is another in TensorStore.
        e8m0 = name == "float8_e8m0fnu"
        add(name, kind, v3=name, v2=v2, fill3=as_hex, fill2=None if e8m0 else 1.0,
            fill=one, scalar=kind.itemsize, group="small floats", bits=bits)  # fmt: skip


def add_others():
    add("r48", "V6", v3="r48", fill3="AQIDBAUG", fill=b"\1\2\3\4\5\6", group="raw")
    raw = {"name": "raw_bytes", "configuration": {"length_bytes": 6}}
    add("raw_bytes", "V6", v3=raw, v2="|V6", fill3="AQIDBAUG", fill2="AQIDBAUG",
        fill=b"\1\2\3\4\5\6", group="raw")  # fmt: skip
    terminated = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}}
    add("null_terminated_bytes", "S4", v3=terminated, v2="|S4", fill3="YWI=", fill2="YWIAAA==",
        fill=b"ab\0\0", group="text")  # fmt: skip
    utf32 = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}
    add("fixed_length_utf32", "<U3", v3=utf32, v2="<U3", fill3="ab", fill2="ab", scalar=4,
        fill=np.array("ab", "<U3").tobytes(), group="text")  # fmt: skip
    add("string", None, v3="string", fill3="none", fill=b"none", group="text", text=True)
    add("variable_length_bytes", None, v3="variable_length_bytes", fill3="AAE=", fill=b"\0\1",
        group="text")  # fmt: skip
    add("bytes", None, v3="bytes", fill3="AAE=", fill=b"\0\1", group="text")
    for name, typestr in (("datetime64", "<M8[10us]"), ("timedelta64", "<m8[s]")):
        kind = np.dtype(typestr)
        unit = {"unit": "us", "scale_factor": 10} if "us" in typestr else {"unit": "s", "scale_factor": 1}
        add(f"numpy.{name}", kind, v3={"name": f"numpy.{name}", "configuration": unit}, v2=typestr,
            fill3=-3, fill2=-3, fill=np.int64(-3).tobytes(), scalar=8, group="time")  # fmt: skip


def add_records():
    flat = np.dtype([("x", "<i4"), ("ok", "?"), ("y", "<f8"), ("s", "S2")])
    fields = [("x", "int32"), ("ok", "bool"), ("y", "float64"),
              ("s", {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}})]  # fmt: skip
    one = np.array((3, True, 0.5, b"q"), dtype=flat).tobytes()
    old = {"name": "structured", "configuration": {"fields": [list(f) for f in fields]}}
    new = {"name": "struct", "configuration": {
        "fields": [{"name": n, "data_type": t} for n, t in fields]}}  # fmt: skip
    v2 = [["x", "<i4"], ["ok", "|b1"], ["y", "<f8"], ["s", "|S2"]]
    base64 = b64encode(one).decode()
    add("structured", flat, v3=old, v2=v2, fill3=base64, fill2=base64, fill=one, scalar=8,
        group="records")  # fmt: skip
    add("struct", flat, v3=new, fill3={"x": 3, "ok": True, "y": 0.5, "s": "cQ=="}, fill=one,
        scalar=8, group="records")  # fmt: skip
    numbers = np.dtype([("x", "<i4"), ("y", "<f8")])
    one = np.array((3, 0.5), dtype=numbers).tobytes()
    plain = {"name": "struct", "configuration": {"fields": new["configuration"]["fields"][:3:2]}}
    add("struct of numbers", numbers, v3=plain, v2=[["x", "<i4"], ["y", "<f8"]],
        fill3={"x": 3, "y": 0.5}, fill2=b64encode(one).decode(), fill=one, scalar=8,
        group="records")  # fmt: skip
    nested = np.dtype([("p", numbers), ("n", "<u2")])
    one = np.array(((3, 0.5), 7), dtype=nested).tobytes()
    deep = {"name": "struct", "configuration": {
        "fields": [{"name": "p", "data_type": plain}, {"name": "n", "data_type": "uint16"}]}}  # fmt: skip
    add("nested struct", nested, v3=deep, v2=[["p", [["x", "<i4"], ["y", "<f8"]]], ["n", "<u2"]],
        fill3={"p": {"x": 3, "y": 0.5}, "n": 7}, fill2=b64encode(one).decode(), fill=one,
        scalar=8, group="records")  # fmt: skip
    sub = np.dtype([("p", "<i2", (2, 3)), ("n", "<u4")])
    add("record with subarray", sub, v2=[["p", "<i2", [2, 3]], ["n", "<u4"]],
        fill2=b64encode(bytes(sub.itemsize)).decode(), fill=bytes(sub.itemsize), scalar=4,
        group="records")  # fmt: skip


add_numbers()
add_small()
add_others()
add_records()
