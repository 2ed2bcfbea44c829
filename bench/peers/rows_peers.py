#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The peers of Python among the libraries of rows.py.

    rows_peers.py LIBRARY TASK PLACE OUT    prints the seconds; exit status 3: the library has no such task
    rows_peers.py LIBRARY make PLACE OUT    writes what only this library loads

What zarrpoint wrote is read by all that read Zarr: elements are uint16, the bits of bfloat16, since zarr-python has no
bfloat16. Two threads each, where a library has threads.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import peers

THREADS = peers.THREADS
NOT_THERE = 3
PARTS = {
    "columns": lambda rows: (slice(None), slice(1024, 2048)),
    "rows": lambda rows: (slice(rows // 4, rows // 4 * 2), slice(None)),
    "strided": lambda rows: (slice(0, rows, 4), slice(None)),
}


def walk(count):
    """The random numbers that every library follows."""
    state = 1
    while True:
        state = (state * 1103515245 + 12345) % 2147483648
        yield state % count


def originals(path):
    """name -> the tensor, in memory."""
    return {name: np.array(mapped) for name, mapped in peers.originals(path).items()}


class TensorStore:
    """Zarr v3 by TensorStore's C++."""

    def __init__(self):
        import tensorstore as ts

        self.ts = ts

    def context(self, synced=False):
        return self.ts.Context(
            {
                "data_copy_concurrency": {"limit": THREADS},
                "file_io_concurrency": {"limit": THREADS},
                "file_io_sync": synced,
                "cache_pool": {"total_bytes_limit": 0},
            }
        )

    def open(self, path, **how):
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"}}
        return self.ts.open(spec, **({"context": self.context(), "open": True} | how))

    def load(self, root, names):
        context = self.context()
        arrays = {name: self.open(f"{root}/{name}", context=context) for name in names}
        reads = {name: array.result().read() for name, array in arrays.items()}
        return {name: read.result() for name, read in reads.items()}

    def save(self, tensors, root, how):
        context, writes = self.context(how.synced), []
        for name, values in tensors.items():
            bytes_codec = {"name": "bytes", "configuration": {"endian": "little"}}
            codecs = [bytes_codec, *how.compressors]
            if how.compressors:
                inner = how.inner(values.shape)
                index = [bytes_codec, {"name": "crc32c"}]
                codecs = [
                    {
                        "name": "sharding_indexed",
                        "configuration": {"chunk_shape": inner, "codecs": codecs, "index_codecs": index},
                    }
                ]
            metadata = {
                "shape": values.shape,
                "data_type": str(values.dtype),
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": how.shard(values.shape)}},
                "codecs": codecs,
            }
            spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{root}/{name}/"}, "metadata": metadata}
            writes.append((self.ts.open(spec, create=True, open=False, context=context), values))
        for done in [opened.result().write(values) for opened, values in writes]:
            done.result()

    def select(self, array, where):
        return array[where].read().result()

    def array(self, path):
        # The index of a shard is kept, as zarrpoint keeps it.
        context = self.ts.Context({"data_copy_concurrency": {"limit": THREADS}, "cache_pool": {"total_bytes_limit": 1 << 20}})
        return self.open(path, context=context, recheck_cached_data=False).result()

    def write(self, array, where, values):
        array[where].write(values).result()


class Zarr:
    """zarr-python's own pipeline."""

    pipeline = "zarr.core.codec_pipeline.BatchedCodecPipeline"

    def __init__(self):
        import zarr

        zarr.config.set(
            {"async.concurrency": THREADS, "threading.max_workers": THREADS, "codec_pipeline.path": self.pipeline}
        )
        self.zarr = zarr

    def load(self, root, names):
        group = self.zarr.open_group(str(root), mode="r")
        return {name: group[name][...] for name in names}

    def save(self, tensors, root, how):
        if how.synced:
            sys.exit(NOT_THERE)
        group = self.zarr.create_group(str(root))
        for name, values in tensors.items():
            chunks = {"chunks": values.shape, "compressors": None}
            if how.compressors:
                compressors = [self.compressor(each) for each in how.compressors if each["name"] != "crc32c"]
                chunks = {"chunks": tuple(how.inner(values.shape)), "compressors": compressors}
                chunks["shards"] = tuple(how.shard(values.shape))
            group.create_array(name, data=values, **chunks)

    def compressor(self, of):
        kinds = {"blosc": self.zarr.codecs.BloscCodec, "zstd": self.zarr.codecs.ZstdCodec}
        return kinds[of["name"]](**of["configuration"])

    def select(self, array, where):
        return array[where]

    def array(self, path):
        return self.zarr.open_array(str(path), mode="r+")

    def write(self, array, where, values):
        array[where] = values


class Zarrs(Zarr):
    """zarr-python with the pipeline of zarrs, in Rust."""

    pipeline = "zarrs.ZarrsCodecPipeline"


class Safetensors:
    """One file, which is copied into memory."""

    def load(self, root, names):
        from safetensors.numpy import load_file

        return load_file(Path(root).parent / ("small.safetensors" if root.name.endswith("small") else "model.safetensors"))

    def save(self, tensors, root, how):
        from safetensors.numpy import save_file

        if how.compressors:
            sys.exit(NOT_THERE)
        save_file(tensors, f"{root}.safetensors")
        if how.synced:
            file = os.open(f"{root}.safetensors", os.O_RDONLY)
            os.fsync(file)
            os.close(file)


class Torch:
    """torch.save and torch.load: one zip file."""

    def __init__(self):
        import torch

        torch.set_num_threads(THREADS)
        self.torch = torch

    def load(self, root, names):
        loaded = self.torch.load(f"{root}.pt")
        kinds = {self.torch.int16: np.uint16, self.torch.float32: np.float32}
        return {name: value.numpy().view(kinds[value.dtype]) for name, value in loaded.items()}

    def save(self, tensors, root, how):
        if how.compressors:
            sys.exit(NOT_THERE)
        signed = {name: values.view(np.int16) if values.dtype == np.uint16 else values for name, values in tensors.items()}
        held = {name: self.torch.from_numpy(values) for name, values in signed.items()}
        began = time.perf_counter()
        self.torch.save(held, f"{root}.pt")
        if how.synced:
            file = os.open(f"{root}.pt", os.O_RDONLY)
            os.fsync(file)
            os.close(file)
        return time.perf_counter() - began


LIBRARIES = {"tensorstore": TensorStore, "zarr": Zarr, "zarrs": Zarrs, "safetensors": Safetensors, "torch": Torch}


class How:
    """How a task saves: shards of a whole tensor in inner chunks of 1 MiB, as zarrpoint's, where it compresses."""

    def __init__(self, task):
        self.synced = task.endswith("_synced")
        shuffle = {"cname": "zstd", "clevel": 1, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}
        codecs = {
            "blosc": [{"name": "blosc", "configuration": shuffle}, {"name": "crc32c"}],
            "zstd": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}, {"name": "crc32c"}],
        }
        self.compressors = codecs.get(task.split("_")[1], [])

    def inner(self, shape):
        return [min(512, shape[0]), shape[1]]

    def shard(self, shape):
        if not self.compressors:
            return shape
        return [-(-shape[0] // 512) * 512 if shape[0] > 512 else shape[0], shape[1]]


def load(library, root, original):
    wanted = originals(original)
    names = list(wanted)
    began = time.perf_counter()
    loaded = library.load(root, names)
    spent = time.perf_counter() - began
    for name in names:
        if not np.array_equal(np.asarray(loaded[name]), wanted[name]):
            sys.exit(f"{name} has other elements")
    return spent


def save(library, original, out, how):
    tensors = originals(original)
    began = time.perf_counter()
    spent = library.save(tensors, out, how)
    return spent or time.perf_counter() - began


def part(library, path, which):
    array = library.array(path)
    where = PARTS[which](array.shape[0])
    began = time.perf_counter()
    got = library.select(array, where)
    spent = time.perf_counter() - began
    print("sum", int(np.asarray(got).sum(dtype=np.uint64)), file=sys.stderr)
    return spent


def random_chunks(library, path):
    array, total = library.array(path), 0
    numbers = walk(array.shape[0] // 8)
    times = 2000 if isinstance(library, TensorStore) else 200
    began = time.perf_counter()
    for _ in range(times):
        first = 8 * next(numbers)
        total += int(library.select(array, (slice(first, first + 8), slice(None)))[0, 17])
    return (time.perf_counter() - began) / times


def rewrite(library, path):
    array = library.array(path)
    numbers, values = walk(4096), np.full((8, 4096), int.from_bytes(os.urandom(2), "little"), np.uint16)
    began = time.perf_counter()
    for _ in range(10):
        first = 8 * next(numbers)
        library.write(array, (slice(first, first + 8), slice(None)), values)
    return (time.perf_counter() - began) / 10


def run(library, name, task, place, out):
    big, small = place / "model.safetensors", place / "small.safetensors"
    kind, _, what = task.partition("_")
    if kind == "load" and what in ("raw", "small"):
        return load(library, place / f"{name}.{what}", small if what == "small" else big)
    if kind == "save" and what in ("raw", "raw_synced", "blosc", "blosc_synced", "zstd", "small"):
        return save(library, small if what == "small" else big, out, How(task))
    if not hasattr(library, "select") or what == "small_zip":
        return sys.exit(NOT_THERE)
    if kind == "load":
        return load(library, place / what, big)
    if kind == "random":
        return random_chunks(library, place / task / "a")
    if kind == "rewrite":
        return rewrite(library, place / "rewrite/a")
    if kind in PARTS:
        return part(library, place / f"parts_{what}/a", kind)
    return sys.exit(NOT_THERE)


def main(arguments):
    if len(arguments) != 4:
        print(__doc__)
        return 2
    name, task, place = arguments[0], arguments[1], Path(arguments[2])
    library = LIBRARIES[name]()
    if task == "make":
        for what, file in (("raw", "model"), ("small", "small")):
            library.save(originals(place / f"{file}.safetensors"), place / f"{name}.{what}", How(f"save_{what}"))
        return 0
    print(f"{run(library, name, task, place, arguments[3]):.9f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
