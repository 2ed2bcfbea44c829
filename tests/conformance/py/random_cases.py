# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Random arrays, of what both zarrpoint and the peer know, and what is done to them."""

from base64 import b64encode
from dataclasses import dataclass, replace

import chains
from cases import FILLS, array_v2, array_v3
from chains import Chain, bytes_codec, codec, shard
from kinds import KINDS

NUMBERS = [name for name, kind in KINDS.items() if kind.group == "core"]
SMALL = ["int2", "int4", "bfloat16", "float8_e3m4", "float8_e4m3fn", "float8_e4m3b11fnuz",
         "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"]  # fmt: skip
TIMES = ["numpy.datetime64", "numpy.timedelta64"]
TEXT = ["null_terminated_bytes", "fixed_length_utf32"]
KNOWN = {
    ("tensorstore", 3): [*NUMBERS, *SMALL],
    ("tensorstore", 2): [*NUMBERS, *(name for name in SMALL if KINDS[name].v2)],
    ("zarr-python", 3): [*NUMBERS, *TIMES, *TEXT, "string", "variable_length_bytes"],
    ("zarr-python", 2): [*NUMBERS, *TIMES, *TEXT, "raw_bytes", "structured"],
    ("numcodecs", 2): [*NUMBERS, *TIMES, *TEXT, "raw_bytes", "structured", "nested struct"],
}
PEERS = ["tensorstore"] * 5 + ["zarr-python"] * 3 + ["numcodecs"]


@dataclass
class Step:
    side: str  # "zarrpoint" or the peer's name
    writes: bool
    at: tuple
    seed: int

    def __str__(self):
        part = ", ".join(f"{s.start}:{s.stop}:{s.step}" for s in self.at)
        return f"{self.side} {'writes' if self.writes else 'reads'} [{part}] (values {self.seed})"


def pick(random, options):
    return options[int(random.integers(len(options)))]


def make(random):
    """(case, peer's name, who creates it, steps)"""
    peer = pick(random, PEERS)
    version = 2 if peer == "numcodecs" or random.random() < 0.25 else 3
    kind = with_fill(random, KINDS[pick(random, KNOWN[peer, version])], peer, version)
    ranks = [0, 1, 1, 2, 2, 2, 3, 3, 4]
    if kind.variable and not kind.text:
        ranks.remove(0)  # zarr-python cuts zeros off the end of the lone element
    rank = int(pick(random, ranks))
    inner = [int(random.integers(1, 5)) for _ in range(rank)]
    shape = tuple(int(random.integers(0 if random.random() < 0.05 else 1, 14 if rank < 3 else 7)) for _ in inner)
    case = (v3 if version == 3 else v2)(random, kind, peer, shape, inner)
    sides = ["zarrpoint", peer]
    steps = [step(random, sides, shape) for _ in range(int(random.integers(2, 6)))]
    return case, peer, pick(random, sides), steps


def step(random, sides, shape):
    at = tuple(region(random, extent) for extent in shape)
    return Step(pick(random, sides), bool(random.random() < 0.6), at, int(random.integers(1 << 30)))


def region(random, extent):
    if extent == 0 or random.random() < 0.25:
        return slice(0, extent, 1)
    start = int(random.integers(0, extent))
    stop = int(random.integers(start + 1, extent + 1))
    return slice(start, stop, int(pick(random, [1, 1, 1, 2, 3])))


def with_fill(random, kind, peer, version):
    """The kind with one of its fill values that the peer reads to the bit."""
    options = [
        (given, element)
        for given, element in FILLS.get(kind.name, [])
        if "0x" not in str(given) and not (peer == "numcodecs" and given == "NaT")
    ]
    if peer == "zarr-python":  # which takes any NaN for the fill value, and leaves such chunks out
        options = [option for option in options if "NaN" not in str(option[0])]
    if kind.name == "null_terminated_bytes":
        options = [(b64encode(element).decode(), element) for _, element in options]
    if not options or random.random() < 0.5:
        return kind
    given, element = pick(random, options)
    return replace(kind, fill3=given, fill2=given, fill=element)


def packing(random, kind):
    """The codecs after the bytes."""
    out = []
    if random.random() < 0.6:
        cname = pick(random, ["lz4", "lz4hc", "zstd", "zlib", "blosclz"])
        shuffle = pick(random, ["noshuffle", "shuffle", "bitshuffle"])
        blosc = chains.blosc(kind, cname, shuffle, int(random.integers(0, 10)))
        zstd = codec("zstd", level=int(random.integers(-3, 6)), checksum=bool(random.random() < 0.5))
        out.append(pick(random, [codec("gzip", level=int(random.integers(0, 10))), zstd, blosc]))
    if random.random() < 0.3:
        out.append(codec("crc32c"))
    return out


def v3(random, kind, peer, shape, inner):
    serial = [bytes_codec(kind, pick(random, ["little", "big"]))] + packing(random, kind)
    turns = not (kind.variable and peer == "zarr-python")  # which it stores in the wrong order
    if turns and len(shape) > 1 and random.random() < 0.3:
        serial.insert(0, codec("transpose", order=[int(d) for d in random.permutation(len(shape))]))
    chunk = list(inner)
    levels = 0 if not shape and peer == "zarr-python" else int(pick(random, [0, 0, 0, 1, 1, 2]))
    for _ in range(levels):
        index = [codec("bytes", endian=pick(random, ["little", "big"]))]
        if random.random() < 0.7:
            index.append(codec("crc32c"))
        serial = [shard(serial, chunk, pick(random, ["start", "end"]), index)]
        chunk = [n * int(random.integers(1, 4)) for n in chunk]
    keys = {"name": pick(random, ["default", "v2"]), "configuration": {"separator": pick(random, "./")}}
    chain = Chain("random", "random", serial, chunk=tuple(chunk))
    return array_v3(kind, chain, shape, chunk_key_encoding=keys)


def v2(random, kind, peer, shape, inner):
    options = [None, {"id": "zlib", "level": 1}, {"id": "bz2", "level": 1}, {"id": "zstd", "level": 1},
               {"id": "gzip", "level": 6}]  # fmt: skip
    frame = {"id": "blosc", "clevel": 5, "shuffle": int(random.integers(0, 3)), "blocksize": 0}
    options.append({**frame, "cname": pick(random, ["lz4", "lz4hc", "zstd", "zlib", "blosclz"])})
    # TensorStore cannot create what has less than two axes in Fortran order.
    order = pick(random, "CF") if len(shape) > 1 or peer != "tensorstore" else "C"
    how = {"order": order, "compressor": pick(random, options)}
    modest = False
    if peer != "tensorstore" and random.random() < 0.5:
        how["filters"], modest = filters(random, kind)
    if modest:  # nor does the fill value of a chunk that is written in part survive everything
        kind = KINDS[kind.name]
    chain = Chain("random", "random", v2=how, modest=modest, chunk=tuple(inner))
    members = {"dimension_separator": pick(random, "./")}
    swaps = kind.scalar > 1 and kind.group == "core" and not modest
    if swaps and random.random() < 0.3:
        members["dtype"] = chains.big_endian(kind.v2)
    return array_v2(kind, chain, shape, **members)


def filters(random, kind):
    """Filters of v2, and whether they compute."""
    checksums = [{"id": name} for name in ("crc32", "adler32", "fletcher32", "crc32c", "jenkins_lookup3")]
    options = [pick(random, checksums), {"id": "shuffle", "elementsize": kind.size}]
    if chains.number(kind):
        typestr = kind.numpy.str
        options.append({"id": "delta", "dtype": typestr, "astype": typestr})
        options.append({"id": "fixedscaleoffset", "scale": 2, "offset": 0, "dtype": typestr, "astype": typestr})
        options.append({"id": "astype", "encode_dtype": "<f8", "decode_dtype": typestr})
    chosen = [pick(random, options)]
    if chosen[0]["id"] == "shuffle" and random.random() < 0.5:
        chosen.append(pick(random, checksums))
    return chosen, chosen[0]["id"] in ("delta", "fixedscaleoffset", "astype")
