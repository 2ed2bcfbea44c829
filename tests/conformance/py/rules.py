# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Why an array is refused or read otherwise: a rule for each reason, or the run fails.

A rule holds for its peers, outcomes and directions, for arrays that have one of its tags (data type,
group of data types, codec, chain, "v2" and so on), and where the peer's message matches. A rule that
explains nothing makes the run fail as well.
"""

import re
from dataclasses import dataclass, field

REFUSES, DIFFERS, WE_REFUSE = "peer refuses", "differs", "we refuse"
BOTH = ("ours to peer", "peer to ours")
PYTHON = ("zarr-python", "zarrs")


@dataclass
class Rule:
    peers: tuple
    why: str
    tags: frozenset
    state: str = REFUSES
    message: str = ""
    directions: tuple = BOTH
    also: frozenset = field(default_factory=frozenset)  # tags that must be there, too

    def holds(self, outcome, tags):
        return (
            outcome.peer in self.peers
            and outcome.state == self.state
            and outcome.direction in self.directions
            and bool(self.tags & tags)
            and self.also <= tags
            and re.search(self.message, outcome.detail) is not None
        )


RULES = []


def rule(peers, tags, why, **how):
    peers = (peers,) if isinstance(peers, str) else peers
    tags = frozenset((tags,) if isinstance(tags, str) else tags)
    how["also"] = frozenset(how.pop("also", ()))
    RULES.append(Rule(peers, why, tags, **how))


def zarr_python():
    no_type = "No Zarr data type found"
    rule(PYTHON, {"below a byte", "small floats"}, "zarr-python has no types below a byte and no small floats",
         message=no_type)  # fmt: skip
    rule(PYTHON, "r48", "zarr-python has no `r<bits>`; it knows `raw_bytes`, which zarrpoint writes for it",
         message=no_type)  # fmt: skip
    rule(PYTHON, "records", "zarr-python 3.1 knows the v3 type `structured`, with fields as pairs, in place of the "
         "registered `struct`, which zarrpoint writes and zarr-python reads from 3.4 on", message=no_type, also={"v3"})  # fmt: skip
    rule(PYTHON, {"nested struct", "record with subarray"}, "zarr-python 3.1 has no nested records and no "
         "subarrays in v2", message=no_type, also={"v2"})  # fmt: skip
    rule(PYTHON, {"json2", "msgpack2", "categorize"}, "zarr-python 3 knows object arrays only with vlen-utf8 and "
         "vlen-bytes", message=no_type)  # fmt: skip
    for name in ("reshape", "packbits", "scale_offset", "bitround", "cast_value"):
        rule("zarr-python", name, f"zarr-python 3.1 does not have the registered codec `{name}`",
             message="NotImplementedError|cannot reshape", also={"v3"})  # fmt: skip
    rule(PYTHON, "transpose, shard of 3 x 2", "zarr-python compares the inner chunks with the shape of the shard "
         "before it is transposed", message="needs to be divisible")  # fmt: skip
    rule(PYTHON, "rectilinear", "rectilinear grids came after zarr-python 3.1",
         message="Unknown chunk grid")  # fmt: skip
    rule(("zarr-python", "numcodecs"), "snappy", "numcodecs is built without snappy; zarrpoint's frames are stored ones, "
         "which it reads", message="snappy", directions=("peer to ours",))  # fmt: skip
    rule("zarr-python", {"raw", "records"}, "zarr-python 3.1 cannot compare chunks of raw bytes or records "
         "with the fill value in a shard", message="unhashable type", also={"sharding_indexed"})  # fmt: skip
    rule("zarr-python", "shapes", "zarr-python 3.1 does not write shards of arrays without axes",
         message="too many indices", also={"sharding_indexed"}, directions=("peer to ours",))  # fmt: skip
    rule("zarr-python", "numcodecs.astype", "zarr-python 3.1 takes `bytes` to encode the array's type, not the one "
         "that numcodecs.astype makes of it", message="Invalid endianness", directions=("ours to peer",))  # fmt: skip
    rule("zarr-python", "numcodecs.astype", "behind numcodecs.astype zarr-python 3.1 leaves out the `endian` of `bytes`, which the specification needs",
         state=WE_REFUSE, message="endian", directions=("peer to ours",))  # fmt: skip


def zarr_python_values():
    one_way = ("peer to ours",)
    rule("zarr-python", "text", "zarr-python 3.1 writes strings and bytes in the order before the transpose, "
         "and does not read back itself what it wrote", state=DIFFERS, also={"transpose"}, directions=one_way)  # fmt: skip
    rule(PYTHON, "hex", "zarr-python writes any NaN as \"NaN\": the payload is lost", state=DIFFERS,
         directions=one_way)  # fmt: skip
    rule("zarr-python", "hex", "zarr-python loses the payload of a float16 on the way through a float",
         state=DIFFERS, also={"float16"}, directions=("ours to peer",))  # fmt: skip
    rule("zarrs", "hex", "zarrs fills with the NaN that zarr-python tells it", state=DIFFERS,
         directions=("ours to peer",))  # fmt: skip


def zarrs():
    metadata = "UnsupportedMetadataError"
    rule("zarrs", {"complex64", "complex128"}, "zarrs swaps the parts of big-endian complex numbers along with the bytes",
         state=DIFFERS, also={"big-endian"}, directions=("ours to peer",))  # fmt: skip
    rule("zarrs", {"text", "time", "raw", "records", "objects"}, "the Python package of zarrs takes numbers only",
         message="Unsupported(Metadata|DataType)Error")  # fmt: skip
    codecs = ("lz4", "lzma", "crc32", "adler32", "fletcher32", "jenkins_lookup3", "crc32c", "delta", "quantize",
              "astype", "bitround", "zstd", "gzip", "blosc", "packbits")  # fmt: skip
    rule("zarrs", {f"numcodecs.{name}" for name in codecs}, "zarrs does not know these names of numcodecs in v3: "
         + ", ".join(f"`{name}`" for name in codecs), message=metadata)  # fmt: skip
    rule("zarrs", {"lz4", "lzma", "crc32", "adler32", "fletcher32", "jenkins_lookup3", "crc32c", "delta", "quantize",
                   "astype", "bitround", "base64", "packbits"},
         "zarrs has not these filters and compressors of v2: lz4, lzma, the checksums, delta, quantize, astype, bitround, "
         "base64, packbits", message=metadata, also={"v2"})  # fmt: skip
    rule("zarrs", "order F", "zarrs does not work on v2 arrays in Fortran order", message="C contiguous")
    rule("zarrs", "big-endian", "zarrs does not read v2 arrays in the other byte order", message="Non-native")
    rule("zarrs", {"int8", "uint8", "float16"}, "zarrs has no fixedscaleoffset of int8, uint8 and float16",
         message="does not support the FixedScaleOffset|UnsupportedMetadataError")  # fmt: skip


def zarrs_registered():
    rule("zarrs", {"bitround", "scale_offset", "cast_value"}, "the Python package of zarrs does not have the registered codecs "
         "bitround, scale_offset and cast_value", message="UnsupportedMetadataError", also={"v3"})  # fmt: skip
    rule("zarrs", "reshape, first axis split", "zarrs refuses a reshape that names an axis after split ones", message="UnsupportedMetadataError")
    why = "zarrs leaves out the byte of `padding_encoding` where elements fill their bytes"
    rule("zarrs", "packbits, first_byte", why, state=DIFFERS, directions=("ours to peer",))
    rule("zarrs", "packbits, first_byte", why, state=WE_REFUSE, directions=("peer to ours",))


def tensorstore():
    peer = "tensorstore"
    no_type = "not one of the supported|Unsupported zarr dtype"
    rule(peer, {"uint2", "uint4", "float8_e4m3", "float6_e2m3fn", "float6_e3m2fn"},
         "TensorStore has no uint2, uint4, float8_e4m3 or float6", message=no_type)  # fmt: skip
    rule(peer, {"text", "time", "objects"}, "TensorStore has no strings (but |S in v2), no bytes of variable length and no times",
         message=no_type)  # fmt: skip
    rule(peer, {"struct", "structured", "nested struct"}, "TensorStore has no records in records, and none with text or raw "
         "bytes in v3", message="Nested struct|Expected string")  # fmt: skip
    rule(peer, {"numcodecs.* bytes", "numcodecs.* checksums", "numcodecs.* filters", "packbits", "reshape", "bitround",
                "scale_offset", "cast_value"}, "TensorStore does not have the codecs `numcodecs.*`, nor packbits, reshape, "
         "bitround, scale_offset and cast_value", message="is not registered", also={"v3"})  # fmt: skip
    rule(peer, {"lz4", "lzma", "base64"}, "TensorStore has of the compressors of v2 blosc, bz2, gzip, zlib and zstd",
         message="is not registered", also={"v2"})  # fmt: skip
    rule(peer, "v2", "TensorStore has no filters in v2", message="filters are not supported")
    rule(peer, {"shard, crc32c", "shard, zstd"}, "TensorStore has no codecs after a shard",
         message="Sharding codec|Cannot create")  # fmt: skip
    rule(peer, "rectilinear", "TensorStore has no rectilinear grids", message='Expected "regular"')
    rule(peer, "null_terminated_bytes", "TensorStore takes base64 of the full width only, which zarrpoint writes",
         message="base64-encoded bytes", directions=("peer to ours",))  # fmt: skip
    rule(peer, "float8_e8m0fnu", "TensorStore converts float8_e8m0fnu with a wrong bias: the stored bytes are right, "
         "fill values are not", state=DIFFERS, message=r"instead of b'\\x7f'")  # fmt: skip


def unclear():
    rule("numcodecs", "json2, F", "unclear, json2 in Fortran order: numcodecs writes the rows of the array, whatever `order` says; zarr-python 2 "
         "reads them back permuted. Here a filter sees the transposed chunk, as every other one", state=DIFFERS)  # fmt: skip
    rule("numcodecs", "json2, F", "json2 in Fortran order, as above", state=WE_REFUSE, message="numcodecs.json2")
    rule("numcodecs", "msgpack2", "numcodecs has msgpack2 only where msgpack is installed", message="not available")


for define in (zarr_python, zarr_python_values, zarrs, zarrs_registered, tensorstore, unclear):
    define()


def rule_for(outcome, tags):
    """The number of the rule that explains an outcome; None if there is none."""
    for number, one in enumerate(RULES):
        if one.holds(outcome, tags):
            return number
    return None
