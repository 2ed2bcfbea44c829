# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Files of safetensors, one and several, by its own serialiser; npz and npy by numpy."""

import json
import random
import zipfile
from pathlib import Path

import numpy as np
import safetensors
from drawn import NUMBERS, PIECES, SMALL, Leaf, Tree, a_shape, altered, dtype_of, elements, laid_out, little, name_of, texts

SAFETENSORS = [*NUMBERS[:-1], *SMALL]  # it has no complex128


def free_name(rng, taken):
    """Any text at all."""
    name = "/".join(rng.choice(PIECES) for _ in range(rng.choice((1, 1, 1, 2, 3))))
    if rng.random() < 0.12:
        name = rng.choice(("", "a/", "/a", "a//b", ".", "..", "a/../b", "./a", "x\ny", "x\0y", "\\", "a\\b", "zarr.json", ".zarray",
                           ".zgroup", "a/zarr.json", "x" * 300, "é" * 200, "\x7f", "a/w", "a", "c/0", "__metadata", "w/c/0", "w"))  # fmt: skip
    return None if name in taken else name


class Safetensors:
    def __init__(self, rng):
        self.arrays = {}
        for _ in range(rng.choice((0, 1, 2, 4, 8))):
            name = free_name(rng, self.arrays)
            if name is not None:
                self.arrays[name] = elements(rng, dtype_of(rng.choice(SAFETENSORS)), a_shape(rng))
        self.metadata = {rng.choice(PIECES): rng.choice(("pt", "", "é\n", "{}")) for _ in range(rng.randrange(3))} or None
        self.files = rng.choice((0, 0, 0, 1, 2, 3))
        self.has_old = rng.random() < 0.2
        self.rng_state = rng.randrange(2**32)

    def alter(self, rng):
        names = list(self.arrays)
        rng.shuffle(names)
        for name in names:
            changed = altered(rng, self.arrays[name])
            if changed is not None:
                self.arrays[name] = changed
                return True
        return False

    @staticmethod
    def save(arrays, path, metadata):
        arrays = {name: np.ascontiguousarray(value).reshape(value.shape) for name, value in arrays.items()}
        parts = {
            name: safetensors.TensorSpec(
                dtype=value.dtype.name, shape=value.shape, data_ptr=value.ctypes.data, data_len=value.nbytes
            )
            for name, value in arrays.items()
        }
        safetensors.serialize_file(parts, str(path), metadata)

    @staticmethod
    def rewrite(rng, path):
        """The same file with another header: order, spaces, escapes. Its peer must read it."""
        raw = path.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + size])
        header = dict(rng.sample(list(header.items()), len(header)))
        text = json.dumps(header, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 1))).encode()
        text += b" " * rng.choice((0, -len(text) % 8, 100))
        path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + size :])
        safetensors.deserialize(path.read_bytes())

    def write(self, where):
        rng = random.Random(self.rng_state)
        if not self.files:
            path = Path(f"{where}.safetensors")
            self.save(self.arrays, path, self.metadata)
            if rng.random() < 0.4:
                self.rewrite(rng, path)
        else:
            path = Path(f"{where}.files")
            path.mkdir()
            names = [f"model-{i + 1:05}-of-{self.files:05}.safetensors" for i in range(self.files)]
            of = {name: rng.choice(names) for name in self.arrays}
            old = set(self.arrays) if self.has_old else set()  # are in other files as well; the index decides
            for file in names:
                here = {name: value if of[name] == file else np.zeros_like(value) for name, value in self.arrays.items() if of[name] == file or name in old}
                self.save(here, path / file, self.metadata)
            index = {"metadata": {"total_size": sum(v.nbytes for v in self.arrays.values())}, "weight_map": of}
            (path / "model.safetensors.index.json").write_text(json.dumps(index))
            if rng.random() < 0.5:
                path = path / "model.safetensors.index.json"
        leaves = [Leaf(name, value.dtype.name, value.shape, value.tobytes(), array=value) for name, value in self.arrays.items()]
        return Tree(path, leaves, None)


class Npz:
    def __init__(self, rng):
        self.arrays = {}
        self.is_npy = rng.random() < 0.15
        for _ in range(1 if self.is_npy else rng.choice((0, 1, 2, 4, 8))):
            name = "value" if self.is_npy else free_name(rng, self.arrays)
            # a name of a zip's member ends at a zero, and numpy itself reads no member without a name
            if name is None or "\0" in name:
                continue
            kind = np.dtype(rng.choice((*NUMBERS, "U4", "S3")))
            if rng.random() < 0.25 and kind.itemsize > 1:
                kind = kind.newbyteorder(">")
            self.arrays[name] = elements(rng, kind, a_shape(rng))
        self.compressed = rng.random() < 0.4
        self.rng_state = rng.randrange(2**32)

    alter = Safetensors.alter

    def write(self, where):
        rng = random.Random(self.rng_state)
        if self.is_npy:
            path = Path(f"{where}.npy")
            np.save(path, laid_out(rng, self.arrays["value"]))
            return Tree(path, [self.leaf("", self.arrays["value"])])
        path = Path(f"{where}.npz")
        method = zipfile.ZIP_DEFLATED if self.compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(path, "w", method) as out:
            for name, value in self.arrays.items():
                with out.open(name + ".npy", "w", force_zip64=rng.random() < 0.5) as member:
                    np.lib.format.write_array(member, laid_out(rng, value), version=rng.choice((None, (1, 0), (2, 0), (3, 0))))
        with np.load(path) as read:
            return Tree(path, [self.leaf(name, read[name]) for name in read.files])

    @staticmethod
    def leaf(name, value):
        if value.dtype.kind == "U" and value.dtype.itemsize == 0:  # Zarr has no text of length 0
            return Leaf(name, "string", value.shape, texts(value.reshape(-1).tolist()), array=value)
        return Leaf(name, name_of(value.dtype), value.shape, little(value), array=value)


CONTAINERS = {"safetensors": Safetensors, "npz": Npz}
