# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The format is named for what it is, and what is not a checkpoint is told what it looks like."""

import json
import os
import shutil

import numpy as np
import zarr
from safetensors.numpy import save_file
from support import FAILED, GOLDEN, NO, Case

DCP = GOLDEN / "dcp"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * "a" + "\nsize 1\n"


class Formats(Case):
    def named(self, path):
        info = self.json("inspect", path)
        first = self.text("inspect", path).splitlines()[0]
        self.assertTrue(first.startswith(f"{path}  {info['format']}"), first)
        return info["format"]

    def test_files_and_checkpoints_of_others(self):
        archive = GOLDEN / "torch/torch-2.15.0.pt"
        self.assertEqual(self.named(archive), "torch.save")
        gguf = GOLDEN / "gguf/small.gguf"
        self.assertEqual(self.named(gguf), "GGUF 3")
        state = DCP / "one-process"
        self.assertEqual(self.named(state), "DCP checkpoint")

    def test_a_mix_of_zarr(self):
        zarr.create_group(self.folder / "z")
        self.assertEqual(self.named(self.folder / "z"), "Zarr v3 hierarchy")
        zarr.create_array(self.folder / "z/a", data=np.arange(3), zarr_format=2)
        self.assertEqual(self.named(self.folder / "z"), "Zarr v2 and v3 hierarchy")
        self.assertEqual(self.named(self.folder / "z/a"), "Zarr v2 array")
        zarr.create_group(self.folder / "two", zarr_format=2).create_array("a", data=np.arange(3))
        self.assertEqual(self.named(self.folder / "two"), "Zarr v2 hierarchy")
        (self.folder / "two/.zgroup").unlink()  # arrays without a group
        self.assertEqual(self.named(self.folder / "two"), "Zarr v2 hierarchy")

    def test_stored_counts_chunks_only(self):
        for version, key in ((3, "c/0"), (2, "0")):
            path = self.folder / f"v{version}"
            zarr.create_array(path, data=np.arange(3), chunks=(2,), compressors=None, zarr_format=version)
            (path / "README.md").write_text("x" * 1000)
            shutil.copy(path / key, path / key.replace("0", "9"))  # beyond the end
            self.assertEqual(self.json("inspect", path)["totals"]["stored_bytes"], 32)


class Looks(Case):
    def says(self, words, path, *options):
        said = self.refused("inspect", path, *options)
        for word in words:
            self.assertIn(word, said)

    def make(self, *names):
        folder = self.folder / "d"
        shutil.rmtree(folder, ignore_errors=True)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"x")
        return folder

    def test_directories(self):
        for words, names in (
            (["model.safetensors", "name "], ["model.safetensors"]),
            (["b.pt"], ["README.md", "b.pt"]),
            ([".metadata is missing", "not finished"], ["__0_0.distcp", "__1_0.distcp"]),
            (["Megatron-LM", "mp_rank_00/model_optim_rng.pt"], ["mp_rank_00/model_optim_rng.pt", "mp_rank_01/model_optim_rng.pt"]),
            (["DeepSpeed", "zero_to_fp32.py"], ["zero_pp_rank_0_mp_rank_00_optim_states.pt", "mp_rank_00_model_states.pt"]),
            (["DeepSpeed"], ["latest", "zero_to_fp32.py", "global_step10/mp_rank_00_model_states.pt"]),
            (["Hugging Face Hub", "snapshots/abc"], ["blobs/1", "refs/main", "snapshots/abc/model.safetensors"]),
            (["not a Zarr hierarchy"], ["README.md"]),
        ):  # fmt: skip
            self.says(words, self.make(*names))

    def test_n5(self):
        folder = self.make("0")
        for text in ({"n5": "2.0.0"}, {"dimensions": [2], "blockSize": [2], "dataType": "uint8"}):
            (folder / "attributes.json").write_text(json.dumps(text))
            self.says(["unsupported", "N5 is not supported"], folder)

    def test_a_part_of_dcp(self):
        part = DCP / "one-process/__0_0.distcp"
        self.says(["invalid_argument", "give the directory"], part)

    def test_files_that_were_not_fetched(self):
        for name in ("a.safetensors", "a.gguf", "a.pt", "a.npz", "a"):
            (self.folder / name).write_text(LFS)
            self.says(["Git LFS pointer", "git lfs pull"], self.folder / name)
        done = self.expect(NO, "verify", self.folder / "a.safetensors")
        self.assertIn(b"Git LFS pointer", done.stdout)
        for text in ("<!DOCTYPE html>\n<html>", "\n<HTML lang=en>", "<!doctype HTML>"):
            (self.folder / "b.safetensors").write_text(text)
            self.says(["HTML page"], self.folder / "b.safetensors")
        (self.folder / "m.safetensors").write_text(LFS)
        index = self.folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"x": "m.safetensors"}}))
        self.says(["m.safetensors: a Git LFS pointer"], index)

    def test_links(self):
        zarr.create_array(self.folder / "z/a", data=np.arange(3))
        os.symlink(self.folder / "z", self.folder / "z/a/link")
        (self.folder / "z/a/zarr.json").rename(self.folder / "elsewhere.json")
        os.symlink(self.folder / "elsewhere.json", self.folder / "z/a/zarr.json")
        self.says(["--follow-links=anywhere all"], self.folder / "z/a")
        self.says(["--follow-links=anywhere follows it"], self.folder / "z/a", "--follow-links")
        self.assertEqual(self.json("cat", self.folder / "z/a", "--follow-links=anywhere"), [0, 1, 2])

    def test_long_texts_that_differ(self):
        long = "".join(chr(97 + i % 26) for i in range(5000))
        for name, text in (("a", long), ("b", long[:3000] + "É" + long[3001:])):
            group = zarr.create_group(self.folder / name)
            group.create_array("x", shape=(1,), dtype=str)[:] = np.array([text], dtype=object)
        said = self.text("diff", self.folder / "a", self.folder / "b", status=NO)
        line = said.splitlines()[0]
        self.assertLess(len(line), 250)
        self.assertIn("É", line)
        self.assertIn("…" + long[2980:3000], line)
        first = self.json("diff", self.folder / "a", self.folder / "b", status=NO)["differences"][0]
        self.assertEqual(first["first_values"][0], f'"{long}"')
        save_file({"x": np.array([1.0])}, self.folder / "s.safetensors")
        save_file({"x": np.array([2.0])}, self.folder / "t.safetensors")
        said = self.text("diff", self.folder / "s.safetensors", self.folder / "t.safetensors", status=NO)
        self.assertIn("first at [0]: 1 | 2\n", said)


class Absent(Case):
    def test_chunks_that_are_not_stored_cost_nothing(self):
        side = 2**40
        for name, shape, chunks in (("one", (side,), (side,)), ("two", (2**20, 2**20), (2**10, 2**19))):
            path = self.folder / name
            zarr.create_array(path, shape=shape, chunks=chunks, dtype="f4", fill_value=1.5, compressors=None)
            self.assertEqual(self.json("cat", path, "--slice", ",".join(["5:7"] * len(shape)))[0], 
                             1.5 if len(shape) == 1 else [1.5, 1.5])  # fmt: skip
            found = self.json("stats", path)["arrays"][0]
            self.assertEqual((found["count"], found["zero"], found["nan"]), (side, 0, 0))
            self.assertEqual((found["min"], found["max"], found["mean"], found["deviation"]), (1.5, 1.5, 1.5, 0))
            self.assertEqual(sum(found["histogram"]["counts"]), side)
        for name, dtype, fill in (("t", "S4", b"ab"), ("c", "c8", 3 + 4j), ("i", "i8", -7)):
            path = self.folder / name
            zarr.create_array(path, shape=(side,), chunks=(side,), dtype=dtype, fill_value=fill, zarr_format=2)
            found = self.json("stats", path)["arrays"][0]
            self.assertEqual(found["count"], side)

    def test_what_is_stored_counts_beside_them(self):
        """The same numbers as of an array whose chunks are all there."""
        shape = (2000, 5000)
        values = np.full(shape, -0.5, "f8")
        values[:1000, 2000:4000] = np.random.default_rng(1).normal(size=(1000, 2000))
        values[1999, 4999] = np.nan
        for name, whole in (("all", True), ("some", False)):
            array = zarr.create_array(self.folder / name, shape=shape, chunks=(1000, 2000), dtype="f8", fill_value=-0.5,
                                      compressors=None, config={"write_empty_chunks": whole})  # fmt: skip
            array[:] = values
        some, whole = (self.json("stats", self.folder / name)["arrays"][0] for name in ("some", "all"))
        for key in ("count", "nan", "inf", "zero", "min", "max", "histogram"):
            self.assertEqual(some[key], whole[key], key)
        for key in ("mean", "deviation", "byte_entropy", "exponent_entropy"):
            self.assertAlmostEqual(some[key], whole[key], 10)


class Tolerance(Case):
    def test_zero_means_equal_values(self):
        x = np.array([0.0, np.nan, np.inf, 1.0])
        y = np.array([-0.0, -np.nan, np.inf, 1.0])
        pairs = {"f8": (x, y), "f4": (x.astype("f4"), y.astype("f4")), "c8": (x.astype("c8"), y.astype("c8"))}
        for name, (a, b) in pairs.items():
            for side, values in (("a", a), ("b", b)):
                save_file({"v": values}, self.folder / f"{name}-{side}.safetensors")
            both = [self.folder / f"{name}-{side}.safetensors" for side in "ab"]
            self.text("diff", *both, status=NO)
            self.text("diff", *both, "--tolerance", "0")
            save_file({"v": np.nextafter(a.real, 9).astype(a.dtype)}, both[1])
            self.text("diff", *both, "--tolerance", "0", status=NO)
        self.expect(FAILED, "diff", *both, "--tolerance", "-1")
