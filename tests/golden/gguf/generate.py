#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Made small.gguf and its values by the package gguf 0.19.0 of PyPI: `python3 generate.py`, with numpy.

index.json lists each tensor as its reader tells it: ggml's name of the type, the shape (row by row) and the bytes in
values.bin, one tensor after another. types.json is its list of element types: number, name, elements and bytes of a
block.
"""

import json
from pathlib import Path

import gguf
import numpy as np

HERE = Path(__file__).resolve().parent
TYPE = gguf.GGMLQuantizationType


def main():
    random = np.random.default_rng(1)
    to = gguf.GGUFWriter(HERE / "small.gguf", "llama")
    to.add_name("small")
    to.add_uint8("test.u8", 255)
    to.add_int8("test.i8", -128)
    to.add_uint16("test.u16", 65535)
    to.add_int16("test.i16", -32768)
    to.add_uint32("test.u32", 2**32 - 1)
    to.add_int32("test.i32", -(2**31))
    to.add_uint64("test.u64", 2**64 - 1)
    to.add_int64("test.i64", -(2**63))
    to.add_float32("test.f32", 0.1)
    to.add_float64("test.f64", 0.1)
    to.add_bool("test.bool", True)
    to.add_string("test.text", "Zürich 🏔")
    to.add_array("test.short", [1, 2, 3])
    to.add_array("test.nested", [[1, 2], [3]])
    to.add_array("tokenizer.ggml.tokens", [f"token {i} ü" for i in range(100)])
    to.add_array("tokenizer.ggml.scores", [i / 8 for i in range(100)])
    to.add_array("tokenizer.ggml.token_type", list(range(100)))
    for name, kind in [("f32", "f4"), ("f16", "f2"), ("f64", "f8"), ("i8", "i1"), ("i16", "i2"), ("i32", "i4"),
                       ("i64", "i8")]:
        values = random.integers(-100, 100, (3, 5)).astype(kind)
        to.add_tensor(f"plain.{name}.weight", values)
    to.add_tensor("plain.one", np.array([7], "f4"))
    to.add_tensor("rank.4", random.normal(size=(2, 3, 4, 5)).astype("f4"))
    bf16 = gguf.quants.quantize(random.normal(size=(4, 6)).astype("f4"), TYPE.BF16)
    to.add_tensor("plain.bf16.weight", bf16, raw_dtype=TYPE.BF16)
    for kind in (TYPE.Q4_0, TYPE.Q4_1, TYPE.Q5_0, TYPE.Q5_1, TYPE.Q8_0):
        values = gguf.quants.quantize(random.normal(size=(3, 64)).astype("f4"), kind)
        to.add_tensor(f"quantised.{kind.name}", values, raw_dtype=kind)
    for kind in (TYPE.Q2_K, TYPE.Q3_K, TYPE.Q4_K, TYPE.Q5_K, TYPE.Q6_K, TYPE.IQ4_XS, TYPE.IQ4_NL, TYPE.TQ1_0,
                 TYPE.TQ2_0, TYPE.MXFP4):
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        values = random.integers(0, 256, (2, 512 // elements * size), dtype=np.uint8)
        to.add_tensor(f"quantised.{kind.name}", values, raw_dtype=kind)
    to.write_header_to_file()
    to.write_kv_data_to_file()
    to.write_tensors_to_file()
    to.close()

    index, data = [], b""
    for tensor in gguf.GGUFReader(HERE / "small.gguf").tensors:
        stored = np.ascontiguousarray(tensor.data).tobytes()
        shape = [int(extent) for extent in reversed(tensor.shape)]
        index.append({"name": tensor.name, "type": tensor.tensor_type.name, "shape": shape, "bytes": len(stored)})
        data += stored
    types = [[int(one), one.name, *gguf.GGML_QUANT_SIZES[one]] for one in TYPE]
    (HERE / "types.json").write_text('{"types": [\n' + ",\n".join(json.dumps(one) for one in types) + "\n]}\n")
    (HERE / "values.bin").write_bytes(data)
    (HERE / "index.json").write_text('{"tensors": [\n' + ",\n".join(json.dumps(one) for one in index) + "\n]}\n")


main()
