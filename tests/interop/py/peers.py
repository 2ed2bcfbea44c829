# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The other implementations: which data types each knows, and how it opens an array."""

import json
import warnings

import ml_dtypes
import numpy as np
import tensorstore
import zarr
import zarrs  # noqa: F401  registers its codec pipeline with zarr

warnings.simplefilter("error")

NUMPY = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
SMALL_FLOATS = {
    name: getattr(ml_dtypes, name) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")
}
KNOWN = {
    "zarr-python": {*NUMPY, "string"},
    "zarrs": {*NUMPY},
    "tensorstore": {*NUMPY, *SMALL_FLOATS},
}
PIPELINES = {
    "zarr-python": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "zarrs": "zarrs.ZarrsCodecPipeline",
}


def numpy_dtype(name):
    return np.dtype(SMALL_FLOATS.get(name, name))


def pipeline(peer):
    """A context in which zarr-python works with the codecs of `peer`; zarrs must not hand over to
    those of zarr-python what it does not know itself."""
    return zarr.config.set(
        {"codec_pipeline.path": PIPELINES[peer], "codec_pipeline.strict": peer == "zarrs"}
    )


def read(peer, path, zarr_format):
    """The whole array at `path`, as `peer` reads it."""
    if peer == "tensorstore":
        driver = "zarr3" if zarr_format == 3 else "zarr"
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
        return tensorstore.open(spec, open=True, read=True).result().read().result()
    with pipeline(peer):
        return np.asarray(zarr.open_array(str(path), mode="r", zarr_format=zarr_format)[...])


def content(array):
    """What an array holds, in the form of the files of expected contents."""
    if array.dtype.kind in "OTU":
        texts = [str(text) for text in array.reshape(-1)]
        return json.dumps(texts).encode()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).tobytes()


def same(array, expected):
    """Whether an array holds what the file of expected contents says."""
    if expected.suffix == ".json":
        return json.loads(content(array)) == json.loads(expected.read_text(encoding="utf-8"))
    return content(array) == expected.read_bytes()
