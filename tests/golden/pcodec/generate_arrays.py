# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the folder `arrays` beside it by zarr-python, numcodecs and pcodec, as PROVENANCE.md says."""

import json
import sys
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from zarr.codecs.numcodecs import PCodec

warnings.simplefilter("ignore")
HERE = Path(__file__).parent / "arrays"
rng = np.random.default_rng(14)


def others(told):
    """What numcodecs sees as integers, and complex numbers, which zarrs takes and numcodecs does not."""
    import zarrs  # noqa: F401

    counts = (np.cumsum(rng.normal(0, 20, 2 * 360)) + 500).astype("float32").reshape(2, 9, 40)
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    for dtype, values in (("complex64", counts[0] + 1j * counts[1]), ("datetime64[s]", counts[0].astype("datetime64[s]"))):
        name = "v3-" + dtype.split("[")[0]
        array = zarr.create_array(
            HERE / name, shape=values.shape, chunks=(4, 25), dtype=dtype, serializer=PCodec(), compressors=None)  # fmt: skip
        array[:] = values
        (HERE / f"{name}.bin").write_bytes(values.tobytes())
        told.append({"case": name, "dtype": "numpy.datetime64" if "[" in dtype else dtype})


def main():
    told = []
    for version in (2, 3):
        for dtype in ("float32", "int64", "uint16"):
            name = f"v{version}-{dtype}"
            values = (np.cumsum(rng.normal(0, 20, 9 * 40)).reshape(9, 40) + 500).astype(dtype)
            options = {"level": 4, "delta_encoding_order": 1} if dtype == "int64" else {}
            codec = {"compressors": numcodecs.get_codec({"id": "pcodec", **options})} if version == 2 else {
                "serializer": PCodec(**options), "compressors": None}  # fmt: skip
            array = zarr.create_array(
                HERE / name, shape=values.shape, chunks=(4, 25), dtype=dtype, zarr_format=version, fill_value=0, **codec)  # fmt: skip
            array[:] = values
            (HERE / f"{name}.bin").write_bytes(values.tobytes())
            told.append({"case": name, "dtype": dtype})
    others(told)
    (HERE / "index.json").write_text(json.dumps({"arrays": told}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
