#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The peers of Python, each in a process of its own.

    peers.py make LIBRARY MODEL.safetensors COPY    writes the tensors as the library does
    peers.py load LIBRARY COPY MODEL.safetensors    prints the seconds, and compares all bytes

LIBRARY is tensorstore, zarr or safetensors; the copy of the last one is the file itself. Nothing is
compressed, and a tensor is one chunk. zarr-python has no bfloat16: it gets the same bits as uint16.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

THREADS = 2


def originals(path):
    """name -> the tensor, mapped; of bfloat16 the bits."""
    dtypes = {"BF16": np.uint16, "U16": np.uint16, "F32": np.float32}
    raw = np.memmap(path, mode="r")
    length = int.from_bytes(raw[:8].tobytes(), "little")
    header = json.loads(raw[8 : 8 + length].tobytes())
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + at for at in entry["data_offsets"])
            out[name] = raw[begin:end].view(dtypes[entry["dtype"]]).reshape(entry["shape"])
    return out


def tensorstore_context(ts):
    return ts.Context({"data_copy_concurrency": {"limit": THREADS}, "file_io_concurrency": {"limit": THREADS}})


def tensorstore_spec(path, name):
    return {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/{name}/"}}


def make_tensorstore(tensors, path):
    import ml_dtypes
    import tensorstore as ts

    for name, bits in tensors.items():
        metadata = {
            "shape": bits.shape,
            "data_type": "bfloat16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": bits.shape}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        }
        spec = tensorstore_spec(path, name) | {"metadata": metadata}
        ts.open(spec, create=True).result().write(np.array(bits).view(ml_dtypes.bfloat16)).result()


def load_tensorstore(names, path):
    import tensorstore as ts

    context, began = tensorstore_context(ts), time.perf_counter()
    opened = {name: ts.open(tensorstore_spec(path, name), read=True, context=context) for name in names}
    reads = {name: array.result().read() for name, array in opened.items()}
    loaded = {name: read.result() for name, read in reads.items()}
    return time.perf_counter() - began, loaded


def make_zarr(tensors, path):
    import zarr

    group = zarr.create_group(str(path))
    for name, bits in tensors.items():
        group.create_array(name, data=np.array(bits), chunks=bits.shape, compressors=None)


def load_zarr(names, path):
    import zarr

    zarr.config.set({"async.concurrency": THREADS, "threading.max_workers": THREADS})
    began = time.perf_counter()
    group = zarr.open_group(str(path), mode="r")
    loaded = {name: group[name][...] for name in names}
    return time.perf_counter() - began, loaded


def load_safetensors(names, path):
    import ml_dtypes  # noqa: F401  tells numpy of bfloat16
    from safetensors.numpy import load_file

    began = time.perf_counter()
    loaded = load_file(path)
    return time.perf_counter() - began, loaded


def main(arguments):
    if len(arguments) != 4:
        print(__doc__)
        return 2
    what, library = arguments[:2]
    if what == "make":
        globals()[f"make_{library}"](originals(arguments[2]), Path(arguments[3]))
        return 0
    wanted = originals(arguments[3])
    seconds, loaded = globals()[f"load_{library}"](list(wanted), arguments[2])
    if set(loaded) != set(wanted):
        return 1
    for name, bits in wanted.items():
        if not np.array_equal(np.asarray(loaded[name]).view(np.uint16), bits):
            print(f"{library}: {name} has other elements", file=sys.stderr)
            return 1
    print(f"{seconds:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
