#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that zfp compresses, both ways.

    zfp_check.py ZFP_EXCHANGE FOLDER

zarr-python with numcodecs writes `zfpy` (Zarr v2) and `numcodecs.zfpy` (v3) in each mode that
numcodecs has, and the program reads the elements that zarr-python reads; the program writes them,
and zarr-python reads what zfpy itself makes of the same chunk. The registered `zfp`, which no
package of PyPI has, is held to zfpy without a header: each chunk byte for byte.
"""

import itertools
import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numcodecs.zfpy
import numpy as np
import zarr
import zarr.codecs.numcodecs
import zfpy

warnings.simplefilter("ignore")

# What numcodecs is told, the registered configuration, and what zfpy is told. numcodecs writes
# nothing lossless but with a rate, precision or tolerance below 0.
MODES = [
    ({"mode": zfpy.mode_fixed_accuracy}, {"mode": "reversible"}, {}),
    ({"mode": zfpy.mode_fixed_accuracy, "tolerance": 0.03}, {"mode": "fixed_accuracy", "tolerance": 0.03}, {"tolerance": 0.03}),
    ({"mode": zfpy.mode_fixed_rate, "rate": 11.5}, {"mode": "fixed_rate", "rate": 11.5}, {"rate": 11.5}),
    ({"mode": zfpy.mode_fixed_precision, "precision": 17}, {"mode": "fixed_precision", "precision": 17}, {"precision": 17}),
]
SHAPES = [((70,), (32,)), ((9, 13), (5, 13)), ((6, 5, 7), (4, 5, 3)), ((3, 4, 5, 6), (3, 2, 5, 5))]


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def sample(dtype, shape):
    values = np.sin(np.arange(np.prod(shape)) * 0.37) * 1000
    return values.reshape(shape).astype(dtype)


def padded(array, chunk, index):
    """The chunk at `index` as it is stored, with zeros beyond the array."""
    out = np.zeros(chunk, array.dtype)
    part = array[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk))]
    out[tuple(slice(0, n) for n in part.shape)] = part
    return out


def metadata(array, chunk, configuration):
    return {"zarr_format": 3, "node_type": "array", "shape": list(array.shape), "data_type": array.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "fill_value": 0,
            "codecs": [{"name": "zfp", "configuration": configuration}], "attributes": {}}  # fmt: skip


def registered(program, folder, array, chunk, configuration, told):
    """Chunks of the codec `zfp`: those of zfpy are read, and ours are theirs."""
    for side in ("theirs", "ours"):
        (folder / side).mkdir(parents=True)
        (folder / side / "zarr.json").write_text(json.dumps(metadata(array, chunk, configuration)))
    want = np.zeros(array.shape, array.dtype)
    grid = [range(-(-n // c)) for n, c in zip(array.shape, chunk)]
    for index in itertools.product(*grid):
        one = padded(array, chunk, index)
        stored = zfpy.compress_numpy(one, write_header=False, **told)
        (folder / "theirs" / ("c." + ".".join(map(str, index)))).write_bytes(stored)
        back = zfpy.decompress_numpy(zfpy.compress_numpy(one, write_header=True, **told))
        place = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(index, chunk, array.shape))
        want[place] = back[tuple(slice(0, s.stop - s.start) for s in place)]
    (folder / "in.bin").write_bytes(array.tobytes())
    run(program, "read", folder / "theirs", folder / "out.bin")
    assert (folder / "out.bin").read_bytes() == want.tobytes(), "zfp: other elements"
    run(program, "write", folder / "ours", folder / "in.bin")
    for path in (folder / "theirs").glob("c.*"):
        assert (folder / "ours" / path.name).read_bytes() == path.read_bytes(), f"zfp: {path.name} differs"


def numcodecs_both(program, folder, array, chunk, options, version):
    codec = {"compressors": numcodecs.zfpy.ZFPY(**options)} if version == 2 else {
        "serializer": zarr.codecs.numcodecs.ZFPY(**options), "compressors": None}  # fmt: skip
    made = {side: zarr.create_array(folder / side, shape=array.shape, chunks=chunk, dtype=array.dtype,
                                    zarr_format=version, fill_value=0, **codec)
            for side in ("theirs", "ours")}  # fmt: skip
    made["theirs"][:] = array
    want = made["theirs"][:].tobytes()
    run(program, "read", folder / "theirs", folder / "out.bin")
    assert (folder / "out.bin").read_bytes() == want, f"zfpy v{version}: we read other elements"
    (folder / "in.bin").write_bytes(array.tobytes())
    run(program, "write", folder / "ours", folder / "in.bin")
    assert zarr.open_array(folder / "ours", mode="r")[:].tobytes() == want, f"zfpy v{version}: they read others"


def main(program, folder):
    shutil.rmtree(folder, ignore_errors=True)
    count = 0
    for dtype, (shape, chunk) in itertools.product(("float32", "float64", "int32", "int64"), SHAPES):
        array = sample(dtype, shape)
        for options, configuration, told in MODES:
            if dtype.startswith("int") and options["mode"] == zfpy.mode_fixed_accuracy and told:
                continue  # zfp has no tolerance of integers
            at = folder / str(count)
            registered(program, at / "zfp", array, chunk, configuration, told)
            for version in (2, 3):
                numcodecs_both(program, at / f"v{version}", array, chunk, options, version)
            count += 1
    print(f"zfp: {count} arrays in three forms, both ways, the same")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
