#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Compares zarrpoint with the reference implementation of safetensors.

usage: safetensors_check.py SAFETENSORS_COPY SAFETENSORS_GROUP [FILE...]

Files that the reference wrote are copied by zarrpoint and read by the reference: the tensors and
the metadata must be the same, bit for bit. Malformed files that the reference refuses must be
refused, without a crash. FILE... are copied and compared too. What is copied is also saved by one to four processes
as a model in several files, each of which the reference reads.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

DTYPES = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
}


def copy(tool, source, target):
    """Runs the copy; whether it succeeded. A crash ends the check."""
    done = subprocess.run([tool, source, target], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        sys.exit(f"{source}: safetensors_copy ended with {done.returncode}\n{done.stderr}")
    return done.returncode == 0, done.stderr.strip()


def contents(path):
    """What the reference reads: the raw bytes of each tensor, with dtype and shape; metadata."""
    data = pathlib.Path(path).read_bytes()
    tensors = {
        name: (one["dtype"], tuple(one["shape"]), bytes(one["data"]))
        for name, one in safetensors.deserialize(data)
    }
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    return tensors, header.get("__metadata__") or {}


def model_contents(folder):
    """What the reference reads of a model in several files, by its index."""
    index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
    tensors, metadata, files = {}, {}, set(index["weight_map"].values())
    if files != {path.name for path in folder.glob("*.safetensors")}:
        sys.exit(f"{folder}: the index has other files than there are")
    for file in files:
        held, about = contents(folder / file)
        if any(index["weight_map"][name] != file for name in held):
            sys.exit(f"{folder / file}: the index says that a tensor lies elsewhere")
        tensors |= held
        metadata |= about
    if index["metadata"]["total_size"] != sum(len(data) for _, _, data in tensors.values()):
        sys.exit(f"{folder}: another total_size")
    return tensors, metadata


def random_file(path, seed):
    rng = np.random.default_rng(seed)
    tensors, held = {}, []
    for i, (name, dtype) in enumerate(DTYPES.items()):
        least = 0 if rng.random() < 0.1 else 1
        shape = [int(n) for n in rng.integers(least, 9, rng.integers(0, 5))]
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        raw = rng.integers(0, 2 if name == "BOOL" else 256, size, dtype=np.uint8)
        held.append(raw)
        tensors[f'{name}/é"\\{i}'] = safetensors.TensorSpec(
            dtype=np.dtype(dtype).name, shape=shape, data_ptr=raw.ctypes.data, data_len=size
        )
    metadata = {"format": "pt", "text": "line\nbreak \u2028 \U0001f600"} if seed % 2 else None
    safetensors.serialize_file(tensors, path, metadata)


def malformed():
    """Files that the format forbids, by name."""
    def make(header, data=b""):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    def tensor(begin, end, shape, dtype="U8", **more):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}

    yield "empty file", b""
    yield "seven bytes", b"\x02" + b"\0" * 6
    yield "no header", struct.pack("<Q", 2)
    yield "header too long", struct.pack("<Q", 3) + b"{}"
    yield "huge header", struct.pack("<Q", 2**63) + b"{}"
    yield "header over the limit", struct.pack("<Q", 100_000_001) + b"{}"
    yield "not UTF-8", make(b'{"\xff":1}')
    yield "not JSON", make(b"{nope}")
    yield "array", make([])
    yield "trailing data", make({}, b"\0")
    yield "hole before", make({"a": tensor(1, 2, [1])}, b"\0\0")
    yield "hole between", make({"a": tensor(0, 1, [1]), "b": tensor(2, 3, [1])}, b"\0\0\0")
    yield "overlap", make({"a": tensor(0, 2, [2]), "b": tensor(1, 3, [2])}, b"\0\0\0")
    yield "same data", make({"a": tensor(0, 2, [2]), "b": tensor(0, 2, [2])}, b"\0\0")
    yield "backwards", make({"a": tensor(2, 0, [2])}, b"\0\0")
    yield "beyond the end", make({"a": tensor(0, 4, [4])}, b"\0\0")
    yield "wrong size", make({"a": tensor(0, 2, [1])}, b"\0\0")
    yield "overflow", make({"a": tensor(0, 0, [2**32, 2**32])})
    yield "negative", make({"a": tensor(0, 1, [-1])}, b"\0")
    yield "float shape", make({"a": tensor(0, 1, [1.0])}, b"\0")
    yield "unknown dtype", make({"a": tensor(0, 1, [1], "U9")}, b"\0")
    yield "no shape", make({"a": {"dtype": "U8", "data_offsets": [0, 1]}}, b"\0")
    yield "metadata number", make({"__metadata__": {"a": 1}})
    yield "metadata list", make({"__metadata__": []})


def main():
    tool, group, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    compared = divided = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ours = folder / "ours.safetensors"
        for seed in range(20):
            path = folder / f"{seed}.safetensors"
            random_file(path, seed)
            files.append(path)
        safetensors.numpy.save_file({}, folder / "none.safetensors")
        files.append(folder / "none.safetensors")
        for path in files:
            good, text = copy(tool, path, ours)
            if not good:
                sys.exit(f"{path}: zarrpoint refuses what the reference wrote: {text}")
            if contents(path) != contents(ours):
                sys.exit(f"{path}: the copy has other tensors or metadata")
            length = struct.unpack("<Q", ours.read_bytes()[:8])[0]
            if (8 + length) % 64 != 0:
                sys.exit(f"{path}: the data of the copy is not aligned")
            compared += 1
            if not contents(path)[0]:
                continue  # no model
            model = folder / "model"
            subprocess.run([group, path, model, str(1 + compared % 4)], check=True, timeout=120)
            if model_contents(model) != contents(path):
                sys.exit(f"{path}: processes saved other tensors or metadata")
            divided += 1

        def must_refuse(name, data):
            path = folder / "malformed.safetensors"
            path.write_bytes(data)
            try:
                safetensors.deserialize(data)
            except safetensors.SafetensorError:
                pass
            else:
                return 0
            good, _ = copy(tool, path, ours)
            if good:
                sys.exit(f"{name}: zarrpoint accepts what the reference refuses")
            return 1

        for name, data in malformed():
            if must_refuse(name, data) == 0:
                sys.exit(f"{name}: the reference accepts it; the list is wrong")
            refused += 1
        # Random damage: whatever the reference refuses, we refuse.
        rng = random.Random(1)
        whole = (folder / "1.safetensors").read_bytes()
        length = 8 + struct.unpack("<Q", whole[:8])[0]
        for i in range(150):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 3)):
                data[rng.randrange(length)] = rng.randrange(256)
            refused += must_refuse(f"damage {i}", bytes(data))
    print(f"safetensors {safetensors.__version__}: {compared} files equal, {divided} models equal, {refused} refused")


if __name__ == "__main__":
    main()
