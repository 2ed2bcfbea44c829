# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the first corpora of the fuzz targets from the golden files: seeds.py GOLDEN OUT"""

import bz2
import collections
import ctypes
import gzip
import hashlib
import io
import json
import lzma
import pathlib
import pickle
import struct
import sys
import zipfile
import zlib

LARGEST = 16 * 1024
golden, out = map(pathlib.Path, sys.argv[1:3])


def add(target: str, data: bytes) -> None:
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def hierarchy_of(document: pathlib.Path) -> bytes | None:
    """The objects beneath the folder of a metadata document, as the target `checkpoint` reads them."""
    packed = b""
    for file in sorted(document.parent.rglob("*")):
        if not file.is_file():
            continue
        key = file.relative_to(document.parent).as_posix().encode()
        data = file.read_bytes()
        if len(key) > 255 or len(data) > 0xFFFF:
            return None
        packed += bytes([len(key)]) + key + struct.pack("<H", len(data)) + data
    return packed if len(packed) <= LARGEST else None


for name in ("zarr.json", ".zarray", ".zgroup", ".zmetadata", "*.json"):
    for file in golden.rglob(name):
        text = file.read_bytes()
        if len(text) > LARGEST or file.name == "index.json":
            continue
        add("metadata", text)
        if b"consolidated" in text:
            add("hierarchy", bytes([file.name == ".zmetadata"]) + text)
        if file.name in ("zarr.json", ".zarray"):
            packed = hierarchy_of(file)
            if packed is not None:
                add("checkpoint", packed)

# Chunks of the arrays, for the decoders: the first three bytes choose chain, shape and dtype.
for file in golden.rglob("*"):
    if file.is_file() and file.suffix == "" and not file.name.startswith((".z", "LIC")):
        data = file.read_bytes()
        if len(data) <= LARGEST and not data.startswith(b"{"):
            for chain in (2, 4, 6, 26, 27):
                add("codecs", bytes([chain, 3, 5]) + data)
            for flags in (16, 17, 18, 20):
                add("shard", bytes([flags, 3]) + data)
elements = bytes(range(60))
add("codecs", bytes([4, 3, 5]) + gzip.compress(elements, mtime=0))
add("codecs", bytes([5, 3, 5]) + zlib.compress(elements))
add("codecs", bytes([21, 3, 12]) + bz2.compress(elements, 1))
add("codecs", bytes([22, 3, 12]) + lzma.compress(elements, preset=0))
add("codecs", bytes([23, 3, 12]) + lzma.compress(elements, format=lzma.FORMAT_ALONE, preset=0))
add("codecs", bytes([29, 2, 0]) + b'["a","\\u00e9",null,0,"\\ud83c\\udf88","b","c","|O",[7]]')
add("codecs", bytes([30, 2, 0]) + bytes.fromhex("99a161a2c3a9c000a0d90162a163a27c4f9107"))
add("codecs", bytes([26, 3, 0]) + struct.pack("<I", 15) + b"".join(struct.pack("<I", 3) + b"abc" for _ in range(15)))
chunk = bytes(8)
add("shard", bytes([16, 1]) + chunk * 2 + struct.pack("<QQQQ", 0, 8, 8, 8) + bytes(4))
add("shard", bytes([20, 1]) + struct.pack("<QQQQ", 36, 8, 44, 8) + bytes(4) + chunk * 2)

add("hierarchy", b"\0" + json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"zarrpoint": {
    "format": 1, "writer": "w", "id": "0", "crc32c": "", "leaves": [
        {"name": "a/w", "typestr": "array", "metadata": {"zarr_format": 3},
         "objects": {"c/0": {"size": 8, "crc32c": "00000000--------"}, "c/1": {"size": 0, "crc32c": ""}}}]}}}).encode())


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


add("safetensors", safetensors({}, b""))
add("safetensors", safetensors({"__metadata__": {"format": "pt"},
                                "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
                                "b": {"dtype": "BOOL", "shape": [3], "data_offsets": [16, 19]},
                                "c": {"dtype": "BF16", "shape": [0], "data_offsets": [19, 19]}}, bytes(19)))


def zipped(compression: int, members: dict, comment: bytes = b"") -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", compression) as to:
        for name, data in members.items():
            to.writestr(zipfile.ZipInfo(name), data, compression)
        to.comment = comment
    return memory.getvalue()


for file in golden.rglob("*.zip"):
    if file.stat().st_size <= LARGEST:
        add("zip", file.read_bytes())
add("zip", zipped(zipfile.ZIP_STORED, {"zarr.json": b"{}", "a/": b"", "a/c/0": bytes(40)}, b"comment"))
add("zip", zipped(zipfile.ZIP_DEFLATED, {"zarr.json": b"{}", "a/c/0": bytes(4000), "a/c/1": elements}))

for protocol in range(2, 6):
    add("pickle", b"\0" + pickle.dumps(
        {"a": [1, 2.5, -7, 2**40, 2**70, None, True], "b": {}, "c": (b"x", bytearray(b"y")), "d": {3}, "e": "\u00e9"}, protocol))
    add("pickle", b"\0" + pickle.dumps(collections.OrderedDict(a=io.BytesIO(b"z"), b=frozenset()), protocol))
for file in golden.rglob("*.pt"):
    add("pickle", b"\1" + file.read_bytes())

for file in golden.glob("dcp/*/.metadata"):
    add("dcp", b"\0" + file.read_bytes())
items = (golden / "dcp/one-process/__0_0.distcp").read_bytes()
for begin, size in ((5044, 1769), (9967, 1769)):  # of tensors of 8 rows and 6 columns, the second one transposed
    add("dcp", b"\1" + items[begin : begin + size])

def decompressed(frame: bytes) -> bytes:
    """One zstd frame, by the library that is there for zarrpoint: Python 3.11 has none."""
    to = ctypes.create_string_buffer(1 << 20)
    size = zstd.ZSTD_decompress(to, ctypes.c_size_t(len(to)), frame, ctypes.c_size_t(len(frame)))
    return to.raw[:size] if size <= len(to) else b""


zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
marks = {b"\x0c\xdb\x3a\x2a": 0, b"\x0c\xdb\x12\x34": 1, b"\x0c\xdb\x20\xde": 2}
add("gguf", (golden / "gguf/small.gguf").read_bytes())
add("s3", b"<?xml version='1.0'?><ListBucketResult xmlns='x'><IsTruncated>true</IsTruncated><Contents><Key>a&amp;&#x431;</Key><Size>1"
    b"</Size><ETag>&quot;e&quot;</ETag></Contents><CommonPrefixes><Prefix><![CDATA[b/]]></Prefix></CommonPrefixes>"
    b"<NextContinuationToken>n</NextContinuationToken></ListBucketResult>")
add("s3", b"<Error><!-- --><Code>NoSuchKey</Code><Message>m</Message><Region>r</Region><RequestId>1</RequestId></Error>")
add("s3", b'{"items":[{"name":"a/b","size":"5","updated":"2026-11-28T12:00:00.000Z"}],"prefixes":["c/"],"nextPageToken":"t"}')
add("s3", b'{"access_token":"t","expires_in":3599,"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"2100-01-01T00:00:00Z"}')
add("s3", b'{"type":"service_account","client_email":"a@b","private_key":"k","generation":"7","crc32c":"AAAAAA==","metadata":{"m":"v"}}')
add("s3", b"[default]\naws_access_key_id = A\n[profile other]\nrole_arn=r\n")
add("http", b"HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\nContent-Range: bytes 0-2/9\r\nETag: \"e\"\r\n\r\nabc")
add("http", b"HTTP/2 302\r\nLocation: //u@h:81/%61/../b?c#d\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n")
add("http", b"http://user:word@[::1]:8080/a%20b/./c?d=e")
add("http", b"bytes 0-99/1000")
for file in (*golden.rglob("manifest.ocdbt"), *golden.rglob("d/*")):
    data, at = file.read_bytes(), 0
    while (at := data.find(b"\x0c\xdb", at)) >= 0:
        kind, record = marks.get(data[at : at + 4]), data[at : at + int.from_bytes(data[at + 4 : at + 12], "little")]
        if kind is not None and len(record) > 18 and record[13] == 1:
            body = decompressed(record[14:-4])
            add("ocdbt", bytes([kind + (5 * body[0] if kind == 2 and body else 0)]) + body)
        at += 2
for name, first in (("checkpoint", 3), ("_sharding", 4), ("_METADATA", 9), ("process_*", 14), ("_CHECKPOINT_METADATA", 19)):
    for file in (golden / "orbax").rglob(name):
        if file.is_file():
            add("ocdbt", bytes([first]) + file.read_bytes())
add("manager", b"\0" + json.dumps({"version": 1, "step": 12, "saved_at_ms": 1, "metrics": {"loss": "NaN"}, "items": ["m"],
                                   "files": {"m/zarr.json": 9}, "crc32c": "00000000"}).encode())
add("manager", bytes([1, 2, 1, 200, 1, 65, 3, 4, 90, 0, 50, 4, 3, 5, 7]))  # documents that are sealed again; gone; cut
add("manager", bytes([1, 6, 0, 2]) + b"10" + bytes([7, 0, 15]) + b"begun_step_0006" + bytes([7, 0, 6]) + b"keep_5")
print(*(f"{folder.name}: {len(list(folder.iterdir()))} seeds" for folder in sorted(out.iterdir())), sep="\n")
