# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The codec chains: of v3 a list of codecs, of v2 the filters, the compressor and the order."""

from dataclasses import dataclass, field


@dataclass
class Chain:
    name: str
    family: str  # a column of the table
    codecs: list = None  # v3
    v2: dict = field(default_factory=dict)
    modest: bool = False  # codecs compute: small whole numbers only
    lossy: bool = False  # what is read is what the peer itself reads back
    chunk: tuple = (4, 6)
    shape: tuple = (7, 10)


def codec(name, **configuration):
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


def bytes_codec(kind, endian="little"):
    if kind.variable:
        return codec("vlen-utf8" if kind.text else "vlen-bytes")
    return codec("bytes", endian=endian) if kind.scalar > 1 or kind.group == "records" else codec("bytes")


def shard(codecs, chunk=(2, 3), location="end", index=None):
    index = index or [codec("bytes", endian="little"), codec("crc32c")]
    return codec("sharding_indexed", chunk_shape=list(chunk), codecs=codecs, index_codecs=index,
                 index_location=location)  # fmt: skip


def blosc(kind, cname, shuffle, level=5):
    return codec("blosc", cname=cname, clevel=level, shuffle=shuffle, blocksize=0,
                 **({} if shuffle == "noshuffle" else {"typesize": 1 if kind.variable else kind.size}))  # fmt: skip


GZIP = codec("gzip", level=5)
ZSTD = codec("zstd", level=3, checksum=False)
SWAP = codec("transpose", order=[1, 0])


def common(kind):
    """The chains of v3 that every data type is tried with."""
    one = bytes_codec(kind)
    big_index = [codec("bytes", endian="big")]
    yield Chain("raw", "raw", [one])
    if kind.scalar > 1:
        yield Chain("big-endian", "big-endian", [bytes_codec(kind, "big")])
    yield Chain("transpose", "transpose", [SWAP, one])
    yield Chain("gzip", "gzip", [one, GZIP])
    yield Chain("zstd", "zstd", [one, ZSTD])
    yield Chain("zstd, crc32c", "zstd", [one, codec("zstd", level=-3, checksum=True), codec("crc32c")])
    yield Chain("crc32c", "crc32c", [one, codec("crc32c")])
    yield Chain("blosc lz4 shuffle", "blosc", [one, blosc(kind, "lz4", "shuffle")])
    yield Chain("blosc zstd bitshuffle", "blosc", [one, blosc(kind, "zstd", "bitshuffle")])
    yield Chain("shard, index at end", "sharding", [shard([one, ZSTD])])
    yield Chain("shard, index at start", "sharding", [shard([one, GZIP], location="start")])
    yield Chain("shard, big-endian index", "sharding", [shard([one], index=big_index)])
    yield Chain("shard, transposed inside", "sharding", [shard([SWAP, one])])
    yield Chain("transpose, shard", "around shards", [SWAP, shard([one, ZSTD], (2, 2))])
    yield Chain("transpose, shard of 3 x 2", "around shards", [SWAP, shard([one, ZSTD], (3, 2))])
    yield Chain("shard, crc32c", "around shards", [shard([one]), codec("crc32c")])
    yield Chain("shard, zstd", "around shards", [shard([one]), ZSTD])
    yield Chain("shard in shard", "nested shards", [shard([shard([one, ZSTD], (2, 3))], (4, 3))])


NAMED = {
    "zlib": {"level": 1}, "gzip": {"level": 1}, "bz2": {"level": 1}, "lz4": {"acceleration": 1},
    "lzma": {"format": 1, "check": -1, "preset": None, "filters": None},
    "zstd": {"level": 0, "checksum": False}, "crc32": {"location": "start"},
    "adler32": {"location": "end"}, "crc32c": {"location": "end"}, "fletcher32": {},
    "jenkins_lookup3": {"initval": 0, "prefix": None},
}  # fmt: skip


def numcodecs_v3(kind):
    one = bytes_codec(kind)
    for name, options in NAMED.items():
        plain = {k: v for k, v in options.items() if v is not None}
        if name in ("crc32c", "jenkins_lookup3"):
            plain = {}
        family = "numcodecs.* checksums" if "32" in name or "jenkins" in name else "numcodecs.* bytes"
        yield Chain(f"numcodecs.{name}", family, [one, {"name": f"numcodecs.{name}", "configuration": plain}])
    frame = {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    yield Chain("numcodecs.blosc", "numcodecs.* bytes", [one, codec("numcodecs.blosc", **frame)])
    if not kind.variable and kind.size > 1:
        rows = codec("numcodecs.shuffle", elementsize=kind.size)
        yield Chain("numcodecs.shuffle, zlib", "numcodecs.* bytes", [one, rows, codec("numcodecs.zlib", level=1)])


def number(kind):
    return not kind.variable and kind.numpy.kind in "iuf" and kind.group == "core"


def arrays_v3(kind):
    """Codecs that change elements: filters of numcodecs and those of the registry."""
    one = bytes_codec(kind)
    if kind.name == "bool":
        yield Chain("numcodecs.packbits", "numcodecs.* filters", [{"name": "numcodecs.packbits", "configuration": {}}, codec("bytes")])
    if kind.name == "bool" or kind.group in ("below a byte", "core") or "float4" in kind.name or "float6" in kind.name:
        if kind.numpy.kind != "c":
            yield Chain("packbits", "packbits", [codec("packbits")])
            yield Chain("packbits, first_byte", "packbits", [codec("packbits", padding_encoding="first_byte")])
    if kind.variable:
        return  # nobody reshapes them
    # Of whole chunks, as zarrs decodes none in part through a reshape.
    shapes = {"flat": [-1], "axes": [[0], 2, 3], "first axis split": [2, 2, [1]], "merged axes": [[0, 1]]}
    for name, to in shapes.items():
        chain = [codec("reshape", shape=to), one]
        yield Chain(f"reshape, {name}", "reshape", chain, shape=(8, 12))
    if not number(kind):
        return
    yield from computing_v3(kind, one)


def computing_v3(kind, one):
    typestr = kind.numpy.str if kind.size > 1 else kind.numpy.str[1:]
    filters, how = "numcodecs.* filters", {"modest": True}
    yield Chain("numcodecs.delta", filters, [codec("numcodecs.delta", dtype=typestr), one], **how)
    scaled = codec("numcodecs.fixedscaleoffset", offset=0, scale=2, dtype=typestr, astype=typestr)
    yield Chain("numcodecs.fixedscaleoffset", filters, [scaled, one], **how)
    wide = codec("numcodecs.astype", encode_dtype="<f8", decode_dtype=typestr)
    yield Chain("numcodecs.astype", filters, [wide, codec("bytes", endian="little")], **how)
    if kind.numpy.kind == "f":
        rounded = codec("numcodecs.quantize", digits=2, dtype=typestr)
        yield Chain("numcodecs.quantize", filters, [rounded, one], lossy=True, **how)
        yield Chain("numcodecs.bitround", filters, [codec("numcodecs.bitround", keepbits=3), one],
                    lossy=True, **how)  # fmt: skip
    yield Chain("bitround", "bitround", [codec("bitround", keepbits=3), one], lossy=True, **how)
    yield Chain("scale_offset", "scale_offset", [codec("scale_offset", offset=0, scale=1), one], **how)
    cast = codec("cast_value", data_type="float64", out_of_range="clamp")
    yield Chain("cast_value", "cast_value", [cast, codec("bytes", endian="little")], **how)


def v3(kind):
    yield from common(kind)
    yield from numcodecs_v3(kind)
    yield from arrays_v3(kind)


def every_blosc(kind):
    """Every inner compressor and shuffle; chunks of several blocks with a short last one."""
    one = bytes_codec(kind)
    for cname in ("lz4", "lz4hc", "blosclz", "zlib", "zstd", "snappy"):
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            frame = blosc(kind, cname, shuffle) | {}
            frame["configuration"]["blocksize"] = 256
            yield Chain(f"blosc {cname} {shuffle}, blocks", "blosc", [one, frame], modest=True, chunk=(37, 23))
            name = f"v2 blosc {cname} {shuffle}"
            number_of = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[shuffle]
            v2 = {"compressor": {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": number_of, "blocksize": 256}}
            yield Chain(name, "blosc", None, v2, modest=True, chunk=(37, 23))


def v2(kind):
    """The filters and compressors of v2."""
    base = "raw" if not kind.variable else "objects"
    yield Chain("raw", base, v2={})
    yield Chain("Fortran order", "Fortran order", v2={"order": "F"})
    for name, options in NAMED.items():
        options = {k: v for k, v in options.items() if (name, k) != ("zstd", "checksum")}
        checksum = "32" in name or "jenkins" in name
        spec = {"id": name, **options}
        where = {"filters": [spec]} if checksum else {"compressor": spec}
        family = "checksums" if checksum else {"gzip": "gzip", "zstd": "zstd"}.get(name, "zlib, bz2, lzma, lz4")
        yield Chain(name, family, v2=where)
    frame = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    yield Chain("blosc lz4", "blosc", v2={"compressor": frame})
    yield Chain("blosc zstd, F", "blosc", v2={"compressor": {**frame, "cname": "zstd", "shuffle": 2}, "order": "F"})
    if kind.numpy.itemsize > 1:
        rows = {"id": "shuffle", "elementsize": kind.size}
        yield Chain("shuffle, zlib", "filters", v2={"filters": [rows], "compressor": {"id": "zlib", "level": 1}})
    yield Chain("base64", "filters", v2={"compressor": {"id": "base64"}})
    if kind.name == "bool":
        yield Chain("packbits", "filters", v2={"filters": [{"id": "packbits"}]})
    if number(kind):
        yield from computing_v2(kind)


def computing_v2(kind):
    typestr, how = kind.numpy.str, {"modest": True}
    for order in "CF":
        delta = {"id": "delta", "dtype": typestr, "astype": typestr}
        yield Chain(f"delta, {order}", "filters", v2={"filters": [delta], "order": order}, **how)
    scaled = {"id": "fixedscaleoffset", "scale": 2, "offset": 0, "dtype": typestr, "astype": typestr}
    yield Chain("fixedscaleoffset", "filters", v2={"filters": [scaled]}, **how)
    wide = {"id": "astype", "encode_dtype": "<f8", "decode_dtype": typestr}
    yield Chain("astype", "filters", v2={"filters": [wide]}, **how)
    if kind.numpy.kind == "f":
        rounded = {"id": "quantize", "digits": 2, "dtype": typestr, "astype": typestr}
        yield Chain("quantize", "filters", v2={"filters": [rounded]}, lossy=True, **how)
        yield Chain("bitround", "filters", v2={"filters": [{"id": "bitround", "keepbits": 3}]}, lossy=True, **how)


LABELS = ["abc", "é☃", "x"]


def objects():
    """Filters of object arrays in v2: (filter, whether the elements are text)."""
    yield {"id": "vlen-utf8"}, True
    yield {"id": "vlen-bytes"}, False
    json2 = {"id": "json2", "encoding": "utf-8", "skipkeys": False, "ensure_ascii": True,
             "check_circular": True, "allow_nan": True, "sort_keys": True, "indent": None,
             "separators": [",", ":"], "strict": True}  # fmt: skip
    yield json2, True
    yield {"id": "msgpack2", "use_bin_type": True, "raw": False, "use_single_float": False}, True
    yield {"id": "categorize", "labels": LABELS, "dtype": "|O", "astype": "|u1"}, True


def big_endian(typestr):
    """The typestr with each field in big-endian order."""
    if isinstance(typestr, str):
        return typestr.replace("<", ">")
    return [[f[0], big_endian(f[1]), *f[2:]] for f in typestr]
