#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes arrays with every peer, v2 and v3, sharded and not, for zarrpoint to read.

write_theirs.py FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np
import peers
import tensorstore
import zarr
from safetensors.numpy import save_file
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, ZstdCodec

SHAPES = [(7, 10), (5,), (3, 1, 4), (), (0, 3)]
FILL = 1  # a value that must be found where a chunk is absent


class Folder:
    """Counts what is written and remembers what it must contain."""

    def __init__(self, path):
        self.path = path
        self.index = {"arrays": [], "groups": [], "safetensors": []}
        self.random = np.random.default_rng(7)

    def values(self, dtype, shape):
        """Random bits, so that NaN payloads and subnormal numbers are among the values."""
        kind = peers.numpy_dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        raw = self.random.integers(0, 2 if dtype == "bool" else 256, size, dtype=np.uint8)
        return raw.view(kind).reshape(shape)

    def expect(self, array):
        name = f"{len(self.index['arrays']) + 1000}.{'json' if array.dtype.kind in 'OTU' else 'bin'}"
        (self.path / name).write_bytes(peers.content(array))
        return name

    def note(self, path, dtype, array, zarr_format):
        entry = {"path": path, "dtype": dtype, "shape": list(array.shape)}
        entry |= {"zarr_format": zarr_format, "expected": self.expect(array)}
        self.index["arrays"].append(entry)


def half(shape):
    return tuple(max((n + 1) // 2, 1) for n in shape)


def zarr_python(folder, peer):
    """Plain, compressed and sharded arrays of both formats, by zarr-python or with zarrs' codecs."""
    v2 = {"none": {"compressors": None}, "zstd": {"compressors": [{"id": "zstd", "level": 3}]}}
    v2["gzip"] = {"compressors": [{"id": "gzip", "level": 5}]}
    v2["zlib"] = {"compressors": [{"id": "zlib", "level": 5}]}
    if peer == "zarr-python":  # zarrs refuses Fortran order in v2
        v2["fortran"] = {"compressors": None, "order": "F"}
    v3 = {"none": {"compressors": None}, "zstd": {"compressors": [ZstdCodec(level=3)]}}
    v3["gzip"] = {"compressors": [GzipCodec(level=5)]}
    v3["crc32c"] = {"compressors": [ZstdCodec(level=0, checksum=True), Crc32cCodec()]}
    v3["big"] = {"serializer": BytesCodec(endian="big"), "compressors": None}
    for zarr_format, options in ((2, v2), (3, v3)):
        for dtype in peers.NUMPY:
            if peer == "zarrs" and "complex" in dtype:
                options = {name: how for name, how in options.items() if name != "big"}
            for number, (name, how) in enumerate(options.items()):
                shape = SHAPES[0] if number else SHAPES[len(folder.index["arrays"]) % len(SHAPES)]
                write_zarr(folder, peer, f"v{zarr_format}-{dtype}-{name}", dtype, shape,
                           {"zarr_format": zarr_format, "chunks": half(shape), **how})  # fmt: skip
    for dtype in peers.NUMPY:
        for location in ("start", "end"):
            sharding = ShardingCodec(
                chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()], index_location=location
            )
            how = {"zarr_format": 3, "chunks": (4, 6), "serializer": sharding, "compressors": None}
            write_zarr(folder, peer, f"v3-{dtype}-shard-{location}", dtype, (7, 10), how)


def write_zarr(folder, peer, name, dtype, shape, how):
    values = folder.values(dtype, shape)
    path = f"{peer}/{name}"
    with peers.pipeline(peer):
        array = zarr.create_array(
            str(folder.path / path), shape=shape, dtype=values.dtype, fill_value=FILL, **how
        )
        if shape == (7, 10) and "shard" in name:
            values[:4, :6] = FILL  # an absent shard
            array[4:, :] = values[4:, :]
            array[:4, 6:] = values[:4, 6:]
        else:
            array[...] = values
    folder.note(path, dtype, values, how["zarr_format"])


def zarr_python_texts(folder):
    texts = np.array(["", "snow ☃", "a\tb", "x" * 1000, "ü", "end"], dtype=object).reshape(2, 3)
    for zarr_format in (2, 3):
        path = f"zarr-python/v{zarr_format}-strings"
        array = zarr.create_array(
            str(folder.path / path), shape=(2, 3), chunks=(1, 2), dtype=str, zarr_format=zarr_format
        )
        array[...] = texts
        folder.note(path, "string", texts, zarr_format)


def zarr_python_groups(folder):
    """Groups with and without consolidated metadata, and attributes that are not strict JSON."""
    for zarr_format in (2, 3):
        for consolidated in (False, True):
            path = f"zarr-python/group-v{zarr_format}{'-consolidated' if consolidated else ''}"
            attributes = {"loss": float("nan"), "best": float("inf"), "note": "x"}
            group = zarr.create_group(
                str(folder.path / path), zarr_format=zarr_format, attributes=attributes
            )
            leaves = []
            for name in ("layers/0/w", "layers/1/w", "step"):
                values = folder.values("float32", (4, 3))
                compressors = [ZstdCodec() if zarr_format == 3 else {"id": "zstd", "level": 3}]
                how = {"chunks": (2, 3), "compressors": compressors}
                array = group.create_array(name, shape=(4, 3), dtype="float32", **how)
                array[...] = values
                leaves.append(name)
                folder.note(f"{path}/{name}", "float32", values, zarr_format)
            if consolidated:
                peers.warnings.simplefilter("ignore")  # v3 consolidation says it is new
                zarr.consolidate_metadata(str(folder.path / path), zarr_format=zarr_format)
                peers.warnings.simplefilter("error")
            folder.index["groups"].append({"path": path, "leaves": sorted(leaves)})


def tensorstore_arrays(folder):
    for dtype in (*peers.NUMPY, *peers.SMALL_FLOATS):
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        big = {"name": "bytes", "configuration": {"endian": "big"}}
        zstd = {"name": "zstd", "configuration": {"level": 1}}
        swap = {"name": "transpose", "configuration": {"order": [1, 0]}}
        chains = {"raw": [little], "big": [big], "zstd": [little, zstd, {"name": "crc32c"}]}
        chains["transposed"] = [swap, little]
        chains["gzip"] = [little, {"name": "gzip", "configuration": {"level": 5}}]
        for location in ("start", "end"):
            chains[f"shard-{location}"] = [{
                "name": "sharding_indexed",
                "configuration": {"chunk_shape": [2, 3], "codecs": [little, zstd],
                                  "index_codecs": [little, {"name": "crc32c"}],
                                  "index_location": location},
            }]  # fmt: skip
        for name, chain in chains.items():
            fill = True if dtype == "bool" else [1.0, 0.0] if "complex" in dtype else FILL
            metadata = {"codecs": chain, "data_type": dtype, "fill_value": fill}
            metadata["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [4, 6]}}
            write_tensorstore(folder, f"v3-{dtype}-{name}", dtype, "zarr3", metadata)
        for order in "CF":
            metadata = {"chunks": [4, 6], "order": order, "fill_value": None}
            metadata["compressor"] = {"id": "zstd", "level": 1} if order == "C" else None
            kind = peers.numpy_dtype(dtype)
            metadata["dtype"] = dtype if dtype in peers.SMALL_FLOATS else kind.str
            write_tensorstore(folder, f"v2-{dtype}-{order}", dtype, "zarr", metadata)


def write_tensorstore(folder, name, dtype, driver, metadata):
    values = folder.values(dtype, (7, 10))
    path = f"tensorstore/{name}"
    kvstore = {"driver": "file", "path": str(folder.path / path)}
    spec = {"driver": driver, "kvstore": kvstore, "metadata": {"shape": [7, 10], **metadata}}
    tensorstore.open(spec, create=True).result().write(values).result()
    folder.note(path, dtype, values, 3 if driver == "zarr3" else 2)


def safetensors_file(folder):
    tensors = {name: folder.values(name, (3, 4)) for name in ("float32", "int64", "uint8", "float16")}
    tensors |= {name: folder.values(name, (5,)) for name in ("bfloat16", "bool")}
    save_file(tensors, folder.path / "theirs.safetensors", metadata={"format": "np"})
    entries = []
    for name, values in tensors.items():
        expected = f"safetensors-{name}.bin"
        (folder.path / expected).write_bytes(peers.content(values))
        entry = {"name": name, "dtype": name, "shape": list(values.shape), "expected": expected}
        entries.append(entry)
    folder.index["safetensors"].append({"path": "theirs.safetensors", "tensors": entries})


def main(path):
    folder = Folder(path)
    zarr_python(folder, "zarr-python")
    zarr_python(folder, "zarrs")
    zarr_python_texts(folder)
    zarr_python_groups(folder)
    tensorstore_arrays(folder)
    safetensors_file(folder)
    (path / "index.json").write_text(json.dumps(folder.index, indent=1), encoding="utf-8")
    print(f"the peers wrote {len(folder.index['arrays'])} arrays")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
