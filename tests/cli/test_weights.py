# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""GGUF files and those of torch.save: each command takes them as it takes others."""

import json
import os
import re
import resource
import struct
import unittest

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save_file

from support import FAILED, GOLDEN, NO, OK, SANITIZED, UNVERIFIED, Case
from unsupported import safetensors_of

GGUF = GOLDEN / "gguf"


class Weights(Case):
    def test_every_tensor_of_a_gguf_file(self):
        at, values = 0, (GGUF / "values.bin").read_bytes()
        for tensor in json.loads((GGUF / "index.json").read_text())["tensors"]:
            done = self.expect(OK, "cat", GGUF / "small.gguf", tensor["name"], "--raw")
            self.assertEqual(done.stdout, values[at : at + tensor["bytes"]], tensor)
            at += tensor["bytes"]
        self.assertEqual(at, len(values))

    def test_a_copy_of_a_gguf_file(self):
        copy = self.folder / "copy.zarr"
        self.expect(OK, "verify", GGUF / "small.gguf")
        self.expect(OK, "convert", GGUF / "small.gguf", copy)
        self.expect(OK, "verify", copy)
        self.expect(OK, "diff", GGUF / "small.gguf", copy)
        self.assertEqual(self.json("cat", copy, "metadata/tokenizer.ggml.scores")[3], 0.375)
        renamed = self.folder / "blob"
        renamed.write_bytes((GGUF / "small.gguf").read_bytes())
        self.expect(OK, "diff", renamed, copy)
        self.assertEqual(self.json("cat", f"{renamed}/plain.one"), [7])

    def test_types_of_ggml(self):
        for number, elements, size in ((40, 64, 36), (41, 128, 18), (4242, 64, 36)):
            texts = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
            for name, kind, shape, offset in (("q", number, (elements, 2), 0), ("a", 0, (6,), 96)):
                texts += struct.pack("<Q", 1) + name.encode() + struct.pack("<I", len(shape))
                texts += struct.pack(f"<{len(shape)}QIQ", *shape, kind, offset)
            texts += bytes(-len(texts) % 32) + b"\1" * 96 + struct.pack("<6f", *range(6))
            file, copy = self.folder / f"{number}.gguf", self.folder / f"{number}.zarr"
            file.write_bytes(texts)
            self.assertEqual(self.json("cat", file, "a"), list(range(6)))
            if number < 100:
                self.assertEqual(self.json("cat", file, "q"), [[[1] * size], [[1] * size]])
                self.expect(OK, "verify", file)
                continue
            self.assertIn("type 4242", self.refused("cat", file, "q"))
            found = {one["name"]: one for one in self.json("inspect", file)["arrays"]}
            self.assertEqual(found["q"]["dtype"], "type 4242 of ggml")
            self.expect(UNVERIFIED, "verify", file)
            self.assertIn("4242", self.refused("convert", file, copy))
            self.expect(OK, "convert", file, copy, "--skip", "q")
            other = self.folder / "other.gguf"
            other.write_bytes(texts.replace(b"\1" * 96, b"\1" * 70 + b"\2" * 26))
            self.expect(OK, "diff", file, file)
            self.expect(NO, "diff", file, other)

    def test_a_gguf_model_in_several_files(self):
        def part(number, name):
            keys = b"".join(
                struct.pack("<Q", len(key)) + key.encode() + struct.pack("<IH", 2, value)
                for key, value in (("split.no", number), ("split.count", 2))
            )
            head = b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + keys
            head += struct.pack("<Q", 1) + name + struct.pack("<IQIQ", 1, 2, 0, 0)
            return head + bytes(-len(head) % 32) + struct.pack("<2f", number, 7)

        files = [self.folder / f"m-0000{number}-of-00002.gguf" for number in (1, 2)]
        for number, file in enumerate(files):
            file.write_bytes(part(number, b"ab"[number : number + 1]))
        for file in files:
            self.assertEqual(self.json("cat", file, "a"), [0, 7])
            self.assertEqual(self.json("cat", file, "b"), [1, 7])
            self.expect(OK, "verify", file)
        files[0].unlink()
        self.assertIn("part 1 of 2, m-00001-of-00002.gguf", self.refused("inspect", files[1]))

    def test_a_damaged_gguf_file(self):
        cut = self.folder / "cut.gguf"
        cut.write_bytes((GGUF / "small.gguf").read_bytes()[:-40])
        self.assertIn(b"runs past the end of the file", self.expect(FAILED, "inspect", cut).stderr)

    def test_every_dtype_of_safetensors(self):
        """The list is the peer's own: it says it where it refuses another."""
        with self.assertRaises(SafetensorError) as said:
            deserialize(safetensors_of({"x": ("F9", [1], b"1")}))
        names = re.findall("`([^`]+)`", str(said.exception).split("expected one of")[1])
        self.assertGreaterEqual(len(names), 22)
        data = bytes(i % 2 for i in range(128))  # bools too
        tensors = {}
        for name in names:
            bits = 8 if name == "BOOL" else int(re.search("[0-9]+", name).group())
            tensors[name] = (name, [16], data[: bits * 2])
        file, copy = self.folder / "all.safetensors", self.folder / "copy.safetensors"
        file.write_bytes(safetensors_of(tensors))
        self.assertEqual(len(deserialize(file.read_bytes())), len(names))
        self.expect(OK, "verify", file)
        self.expect(OK, "convert", file, self.folder / "all.zarr")
        self.expect(OK, "diff", file, self.folder / "all.zarr")
        self.expect(OK, "convert", self.folder / "all.zarr", copy)
        there = {name: one for name, one in deserialize(copy.read_bytes())}
        for name, one in deserialize(file.read_bytes()):
            self.assertEqual(there[name], one)
        for name, kind in (("F8_E8M0", "float8_e8m0fnu"), ("F8_E4M3FNUZ", "float8_e4m3fnuz")):
            values = np.array(self.json("cat", file, name)).astype(getattr(ml_dtypes, kind))
            self.assertEqual(values.tobytes(), data[:16])

    def test_what_numpy_has_beside_numbers(self):
        """ml_dtypes has no names that npy could keep: numpy writes the bytes, and reads them as such."""
        arrays = {
            "bf": np.array([1, -2, 0.5]).astype(ml_dtypes.bfloat16),
            "f8": np.array([1, -2]).astype(ml_dtypes.float8_e4m3fn),
            "void": np.array([b"abc", b"xyz"], "V3"),
            "day": np.array(["2026-11-27", "NaT"], "M8[D]"),
            "big": np.array([5, -7], ">m8[25us]"),
        }
        file, copy = self.folder / "a.npz", self.folder / "copy.npz"
        np.savez(file, **arrays)
        self.expect(OK, "verify", file)
        self.expect(OK, "convert", file, self.folder / "a.zarr")
        self.expect(OK, "diff", file, self.folder / "a.zarr")
        self.expect(OK, "convert", self.folder / "a.zarr", copy)
        written, back = np.load(file), np.load(copy)
        for name, array in arrays.items():
            self.assertEqual(back[name].dtype, written[name].dtype.newbyteorder("="))
            self.assertEqual(back[name].tobytes(), array.astype(array.dtype.newbyteorder("=")).tobytes())
        found = {one["name"]: one["dtype"] for one in self.json("inspect", file)["arrays"]}
        self.assertEqual((found["bf"], found["day"]), ("raw_bytes", "numpy.datetime64"))

    def test_elements_of_four_bits(self):
        file = self.folder / "f.safetensors"
        file.write_bytes(safetensors_of({"x": ("F4", [2, 2], b"\x21\x43")}))
        self.assertEqual(self.json("cat", file), [[0.5, 1], [1.5, 2]])
        self.assertEqual(self.json("cat", file, "--slice", ":,1"), [1, 2])

    def test_a_dtype_of_safetensors_that_nobody_knows(self):
        file = self.folder / "f.safetensors"
        file.write_bytes(safetensors_of({"new": ("F9", [2], b"123"), "x": ("U8", [2], b"\1\2")}))
        self.assertEqual(self.json("cat", file, "x"), [1, 2])
        found = {one["name"]: one for one in self.json("inspect", file)["arrays"]}
        self.assertIn('the dtype "F9" is not known', found["new"]["error"])
        self.assertEqual(found["new"]["dtype"], "F9")
        self.expect(UNVERIFIED, "verify", file)
        self.assertIn("F9", self.refused("convert", file, self.folder / "o.npz"))
        self.expect(OK, "convert", file, self.folder / "o.npz", "--skip", "new")
        other = self.folder / "other.safetensors"
        other.write_bytes(file.read_bytes().replace(b"123", b"124"))
        self.expect(OK, "diff", file, file)
        self.expect(NO, "diff", file, other)

    def test_a_tensor_without_a_name(self):
        source, copy, back = (self.folder / name for name in ("m.safetensors", "copy.zarr", "back.safetensors"))
        save_file({"": np.arange(3, dtype="i4"), "m": np.arange(4, dtype="i4"), "m~2": np.arange(5, dtype="i4")}, source)
        self.expect(OK, "convert", source, copy)
        self.assertEqual({name: len(self.json("cat", copy, name)) for name in ("m", "m~2", "%")}, {"m": 4, "m~2": 5, "%": 3})
        self.expect(OK, "convert", source, back)
        self.assertEqual({name for name, _ in deserialize(back.read_bytes())}, {"m", "m~2", "%"})

    def test_names_that_are_no_keys(self):
        """They are shown in another way, found by both, and kept by what has them, too."""
        source, back = (self.folder / name for name in ("m.safetensors", "back.safetensors"))
        names = ["/a", "a//b", "x\ny", "zarr.json"]
        save_file({name: np.arange(i + 1) for i, name in enumerate(names)}, source)
        for i, name in enumerate(names):
            self.assertEqual(self.json("cat", source, name), list(range(i + 1)))
        arrays = self.json("inspect", source)["arrays"]
        self.assertEqual({one["name"]: one["attributes"]["original_name"] for one in arrays},
                         {"%/a": "/a", "a/%/b": "a//b", "x%0Ay": "x\ny", "zarr%2Ejson": "zarr.json"})  # fmt: skip
        self.assertEqual(self.json("cat", source, "x%0Ay"), [0, 1, 2])
        self.assertNotIn("not kept", self.expect(OK, "convert", source, back).stderr.decode())
        self.assertEqual(sorted(name for name, _ in deserialize(back.read_bytes())), names)

    def test_the_index_of_files_of_torch_save(self):
        files = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
        for file, version in zip(files, ("1.13.0", "2.15.0")):
            (self.folder / file).write_bytes((GOLDEN / f"torch/torch-{version}.pt").read_bytes())
        index = self.folder / "pytorch_model.bin.index.json"
        names = [one["name"] for one in self.json("inspect", self.folder / files[1])["arrays"]]
        weights = {name: files[1] for name in names if name != "part"} | {"part": files[0]}
        index.write_text(json.dumps({"metadata": {"total_size": 5}, "weight_map": weights}))
        for place in (index, self.folder):
            self.assertEqual([one["name"] for one in self.json("inspect", place)["arrays"]], names)
            self.assertEqual(self.json("cat", place, "part")[0], [1, 13])
            found = self.json("verify", place)
            self.assertIn('weight_map takes it from "', str(found["findings"]))
        self.expect(OK, "diff", index, self.folder / files[1])
        save_file({"w": np.ones(2, "<f4")}, self.folder / "m.safetensors")
        other = self.folder / "model.safetensors.index.json"
        other.write_text(json.dumps({"weight_map": {"w": "m.safetensors"}}))
        said = self.refused("inspect", self.folder)  # of two models neither is chosen
        for chosen in (f"safetensors://{self.folder}", f"torch://{self.folder}"):
            self.assertIn(f'"{chosen}"', said)
            self.expect(OK, "inspect", chosen)
        self.assertEqual(self.json("cat", other, "w"), [1, 1])
        other.unlink()
        (self.folder / files[0]).unlink()
        self.assertIn(files[0], self.refused("inspect", self.folder))

    def test_tensors_in_several_files_of_an_index(self):
        """torch.distributed.checkpoint divides a tensor; the index can name one file for it."""
        values = np.arange(8, dtype="<f4").reshape(4, 2)
        files = ["shard-00001-model-00001-of-00002.safetensors", "shard-00002-model-00001-of-00002.safetensors"]
        for i, file in enumerate(files):
            told = {"w": {"saved_offsets": [2 * i, 0]}}
            tensors = {"w": values[2 * i : 2 * i + 2]} | ({"b": np.ones(1, "<f4")} if i else {})
            save_file(tensors, self.folder / file, metadata={"DCP_SHARDING_INFO": json.dumps(told)})
        index = self.folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"w": files[0], "b": files[1]}}))
        for place in (index, self.folder):
            self.assertEqual(self.json("cat", place, "w"), values.tolist())
            self.assertEqual(self.json("cat", place, "b"), [1])
            self.expect(OK, "verify", place)
        self.assertEqual(self.text("cat", index.name, "b", "--json", cwd=self.folder), "[1]\n")
        other = self.folder / "other.safetensors.index.json"
        index.rename(other)
        self.assertIn("call the index model.safetensors.index.json", self.refused("cat", other, "w"))

    def test_a_tensor_that_its_file_has_not(self):
        file, names = "a.safetensors", [f"t{i:05}" for i in range(20_000)]
        header = json.dumps({name: {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for name in names}).encode()
        (self.folder / file).write_bytes(struct.pack("<Q", len(header)) + header)
        index = self.folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": dict.fromkeys([*names, "zz"], file)}))
        self.assertIn(f'weight_map: tensor "zz" is not in "{file}"', self.refused("inspect", index))

    @unittest.skipIf(SANITIZED, "it needs memory of its own")
    def test_unread_tensors_larger_than_the_memory(self):
        size, limit = 1 << 30, 700 << 20
        header = json.dumps({"new": {"dtype": "F9", "shape": [size], "data_offsets": [0, size]}}).encode()
        files = [self.folder / name for name in ("a.safetensors", "b.safetensors")]
        for file in files:
            file.write_bytes(struct.pack("<Q", len(header)) + header)
            os.truncate(file, 8 + len(header) + size)  # what is not written takes no room on the disk
        with files[1].open("r+b") as other:
            other.seek(8 + len(header) + 5)
            other.write(b"X")

        def little():
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

        said = self.text("diff", *files, "--memory", "64M", status=NO, preexec_fn=little)
        self.assertIn("object c/0 at byte 5", said)

    def test_files_of_torch_save(self):
        for name in ("torch-1.13.0.pt", "torch-2.15.0.pt"):
            file, copy = GOLDEN / "torch" / name, self.folder / f"{name}.zarr"
            self.expect(OK, "verify", file)
            self.assertEqual(self.json("cat", file, "part"), [[1, 13], [2, 14], [3, 15], [4, 16], [5, 17]])
            self.expect(OK, "convert", file, copy)
            self.expect(OK, "diff", file, copy)
