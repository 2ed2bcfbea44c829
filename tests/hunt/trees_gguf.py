# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""GGUF files, by gguf-py."""

import random
from pathlib import Path

import gguf
import numpy as np
from drawn import PIECES, Leaf, Tree, a_text, altered, dtype_of, elements, texts

PLAIN = {"F32": "float32", "F16": "float16", "F64": "float64", "BF16": "bfloat16", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64"}
TYPES = {kind.name: kind for kind in gguf.GGMLQuantizationType}


class Gguf:
    def __init__(self, rng):
        self.tensors = {}
        for _ in range(rng.choice((0, 1, 2, 4, 8))):
            name = rng.choice((*PIECES[:-3], "blk.0.attn_q.weight", "a/b", "a", "")) if rng.random() < 0.9 else rng.choice(("x\ny", "a//b", ".."))
            if name in self.tensors or len(name.encode()) > 63:
                continue
            kind = rng.choice([*PLAIN, *TYPES])
            if kind in PLAIN:
                shape = tuple(rng.choice((1, 2, 3, 5, 8)) for _ in range(rng.choice((1, 1, 2, 3, 4))))
                self.tensors[name] = (kind, elements(rng, dtype_of(PLAIN[kind]), shape))
            else:
                block, size = gguf.GGML_QUANT_SIZES[TYPES[kind]]
                shape = (*[rng.randint(1, 3) for _ in range(rng.randrange(3))], rng.randint(1, 3) * size)
                self.tensors[name] = (kind, elements(rng, "uint8", shape))
        self.rng_state = rng.randrange(2**32)

    def alter(self, rng):
        for name, (kind, value) in self.tensors.items():
            changed = altered(rng, value)
            if changed is not None:
                self.tensors[name] = (kind, changed)
                return True
        return False

    def write(self, where):
        rng = random.Random(self.rng_state)
        path = Path(f"{where}.gguf")
        writer = gguf.GGUFWriter(path, "llama")
        if rng.random() < 0.5:
            writer.add_custom_alignment(rng.choice((8, 32, 64, 256)))
        leaves = []
        for i in range(rng.randrange(5)):
            self.add_metadata(rng, writer, f"k.{i}", leaves)
        for name, (kind, value) in self.tensors.items():
            raw = value if kind in ("F32", "F16", "F64", "I8", "I16", "I32", "I64") else value.view(np.uint8)
            writer.add_tensor(name, raw, raw_dtype=TYPES[kind])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        for tensor in gguf.GGUFReader(path).tensors:
            kind = tensor.tensor_type.name
            shape = tuple(int(n) for n in reversed(tensor.shape))
            raw = np.ascontiguousarray(tensor.data).tobytes()
            if kind in PLAIN:
                leaves.append(Leaf(tensor.name, PLAIN[kind], shape, raw))
            elif kind == "Q8_1":  # 40 bytes for gguf-py and 36 for ggml, so it is listed as not read
                leaves.append(Leaf(tensor.name, kind, shape, choices=[raw]))
            else:
                block, size = gguf.GGML_QUANT_SIZES[tensor.tensor_type]
                leaves.append(Leaf(tensor.name, "uint8", (*shape[:-1], shape[-1] // block, size), raw))
        return Tree(path, leaves)

    @staticmethod
    def add_metadata(rng, writer, key, leaves):
        """Long lists are arrays of their own."""
        style, count = rng.randrange(6), rng.choice((1, 3, 64, 65, 100))
        if style == 0:
            writer.add_string(key, a_text(rng))
        elif style == 1:
            writer.add_int64(key, rng.randrange(-(2**63), 2**63))
        elif style == 2:
            writer.add_float32(key, 0.5)
        elif style == 3:
            writer.add_bool(key, rng.random() < 0.5)
        elif style == 4:
            words = [a_text(rng) for _ in range(count)]
            writer.add_array(key, words)
            if count > 64:
                leaves.append(Leaf(f"metadata/{key}", "string", (count,), texts(words)))
        else:
            numbers = [rng.randrange(-99, 99) for _ in range(count)]
            writer.add_array(key, numbers)
            if count > 64:
                leaves.append(Leaf(f"metadata/{key}", "int32", (count,), np.array(numbers, "<i4").tobytes()))


CONTAINERS = {"gguf": Gguf}
