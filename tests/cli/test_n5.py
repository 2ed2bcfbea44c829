# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of N5 that TensorStore writes, read with a Zarr document beside them."""

import json

import numpy as np
import tensorstore
from support import FAILED, OK, Case, random_array

# What N5 calls a compression, and the codec of Zarr v3 that is the same.
COMPRESSIONS = [
    ({"type": "raw"}, []),
    ({"type": "gzip", "level": 3}, [{"name": "gzip", "configuration": {"level": 3}}]),
    ({"type": "zstd", "level": 2}, [{"name": "zstd", "configuration": {"level": 2, "checksum": False}}]),
    ({"type": "bzip2", "blockSize": 9}, [{"name": "numcodecs.bz2", "configuration": {"level": 9}}]),
    ({"type": "xz", "preset": 1}, [{"name": "numcodecs.lzma", "configuration": {"format": 1}}]),
]
SHAPES = [((70,), (32,)), ((9, 13), (5, 13)), ((6, 5, 7), (4, 5, 3)), ((3, 4, 5, 6), (3, 2, 5, 5))]
DTYPES = ["uint8", "int16", "uint32", "int64", "float32", "float64"]


def write(path, array, blocks, compression, codecs):
    n5 = {"dimensions": array.shape, "blockSize": blocks, "dataType": array.dtype.name, "compression": compression}
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": str(path)}, "metadata": n5}
    tensorstore.open(spec, create=True).result()[...] = array
    order = list(reversed(range(array.ndim)))
    inner = [
        {"name": "transpose", "configuration": {"order": order}},
        {"name": "bytes", "configuration": {"endian": "big"}},
    ]
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape,
        "data_type": array.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": blocks}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "n5_default", "configuration": {"codecs": inner + codecs}}],
    }
    (path / "zarr.json").write_text(json.dumps(document))


class N5(Case):
    def test_arrays_of_tensorstore(self):
        for i, dtype in enumerate(DTYPES):
            for j, (compression, codecs) in enumerate(COMPRESSIONS):
                shape, blocks = SHAPES[(i + j) % len(SHAPES)]
                with self.subTest(dtype=dtype, compression=compression, shape=shape):
                    path = self.folder / f"{dtype}-{compression['type']}"
                    array = random_array(dtype, shape, 10 * i + j)
                    write(path, array, blocks, compression, codecs)
                    self.assertEqual(self.expect(OK, "cat", path, "--raw").stdout, array.tobytes())

    def test_a_block_that_was_never_written_and_one_that_is_cut(self):
        array = np.zeros((6, 8), "int32")
        array[:, 4:] = np.arange(24).reshape(6, 4)
        path = self.folder / "a"
        write(path, array, (3, 4), {"type": "raw"}, [])
        self.assertFalse((path / "0/0").exists())
        self.assertEqual(self.expect(OK, "cat", path, "--raw").stdout, array.tobytes())
        block = path / "1/1"
        block.write_bytes(block.read_bytes()[:-1])
        said = self.expect(FAILED, "cat", path, "--raw").stderr.decode()
        self.assertRegex(said, r"^zarrpoint: corrupt: .*1/1.*n5_default.*bytes stored for a block of")
