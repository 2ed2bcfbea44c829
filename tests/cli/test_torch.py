# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of PyTorch: each command takes them as it takes others."""

import json
import shutil
import struct

import numpy as np

from support import FAILED, GOLDEN, NO, OK, Case

FOLDER = GOLDEN / "dcp"


class Torch(Case):
    def test_every_tensor(self):
        count = 0
        for case in json.loads((FOLDER / "index.json").read_text())["cases"]:
            elements = (FOLDER / f"{case['case']}.bin").read_bytes()
            for leaf in case["leaves"]:
                done = self.expect(OK, "cat", FOLDER / case["case"], leaf["name"], "--raw")
                self.assertEqual(done.stdout, elements[leaf["offset"] :][: len(done.stdout)], leaf)
                count += 1
        self.assertEqual(count, 13)

    def test_a_copy(self):
        for case in ("one-process", "dtensor-2x2", "torch_dist-tp2-pp1-2ranks"):
            copy = self.folder / f"{case}.zarr"
            self.expect(OK, "verify", FOLDER / case)
            self.expect(OK, "inspect", FOLDER / case, "--json")
            self.expect(OK, "convert", FOLDER / case, copy)
            self.expect(OK, "verify", copy)
            self.expect(OK, "diff", FOLDER / case, copy)
            self.expect(OK, "convert", FOLDER / case, self.folder / f"{case}.safetensors")

    def test_what_is_gone(self):
        copy = self.folder / "damaged"
        shutil.copytree(FOLDER / "dtensor-2x2", copy)
        (copy / "__2_0.distcp").unlink()
        done = self.expect(NO, "verify", copy)
        self.assertIn(b"__2_0.distcp: the file is missing", done.stdout)
        self.assertIn(b"__2_0.distcp", self.expect(FAILED, "cat", copy, "w").stderr)
        (copy / ".metadata").write_bytes(b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.")
        self.assertIn(b"posix.system", self.expect(FAILED, "inspect", copy).stderr)

    def test_a_checkpoint_of_pytorch(self):
        for case in ("one-process", "dtensor-2x2"):
            copy, zarr, again = (self.folder / f"{case}{end}" for end in ("", ".zarr", "-again"))
            self.expect(OK, "convert", FOLDER / case, copy, "--to", "dcp")
            self.assertEqual(sorted(file.name for file in copy.iterdir()), [".metadata", "__0_0.distcp"])
            self.expect(OK, "verify", copy)
            self.expect(OK, "diff", FOLDER / case, copy)
            self.expect(OK, "convert", copy, zarr)
            self.expect(OK, "convert", zarr, again, "--to", "dcp")  # numbers of Python stay what they are
            for file in copy.iterdir():
                self.assertEqual(file.read_bytes(), (again / file.name).read_bytes(), file.name)

    def test_other_sources(self):
        weights = GOLDEN / "dcp" / "one-process"
        file, copy = self.folder / "model.safetensors", self.folder / "copy"
        self.expect(OK, "convert", weights, file, "--only", "model.*")
        self.expect(OK, "convert", file, copy, "--to", "dcp", "--rename", "model.w=w")
        self.expect(OK, "convert", copy, self.folder / "back.safetensors", "--rename", "w=model.w")
        self.expect(OK, "diff", file, self.folder / "back.safetensors")
        self.expect(OK, "convert", file, copy, "--to", "dcp", "--overwrite", "--dtype", "**=float64")
        self.assertEqual(
            {array["dtype"] for array in json.loads(self.expect(OK, "inspect", copy, "--json").stdout)["arrays"]},
            {"float64"},
        )

    def test_a_number_takes_the_type_that_was_asked_for(self):
        zarr, copy = self.folder / "a.zarr", self.folder / "copy"
        (zarr / "rate" / "c").parent.mkdir(parents=True)
        (zarr / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
        (zarr / "rate" / "c").write_bytes(struct.pack("<d", 0.1))
        (zarr / "rate" / "zarr.json").write_text(
            json.dumps(
                {
                    "zarr_format": 3,
                    "node_type": "array",
                    "shape": [],
                    "data_type": "float64",
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
                    "chunk_key_encoding": {"name": "default"},
                    "fill_value": 0,
                    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    "attributes": {"python_type": "float"},
                }
            )
        )
        self.expect(OK, "convert", zarr, copy, "--to", "dcp")
        self.assertEqual(self.json("cat", copy, "rate"), 0.1)
        self.expect(OK, "convert", zarr, copy, "--to", "dcp", "--overwrite", "--dtype", "**=bfloat16")
        self.assertEqual(self.json("cat", copy, "rate"), 0.10009765625)

    def test_metadata_beyond_the_memory(self):
        np.savez(self.folder / "a.npz", **{f"w{i}": np.zeros(1, np.float32) for i in range(1500)})
        self.expect(OK, "convert", self.folder / "a.npz", self.folder / "many", "--to", "dcp")
        self.expect(OK, "inspect", self.folder / "many")
        done = self.expect(FAILED, "inspect", self.folder / "many", "--memory", "1M")
        self.assertIn(b"resource_limit", done.stderr)

    def test_what_dcp_has_no_place_for(self):
        zarr, copy = self.folder / "a.zarr", self.folder / "copy"
        self.expect(OK, "convert", FOLDER / "one-process", zarr)
        self.assertIn(b"for Zarr and Orbax only", self.expect(FAILED, "convert", zarr, copy, "--to", "dcp", "--codec", "zstd").stderr)
        self.assertIn(b"already_exists", self.expect(FAILED, "convert", zarr, zarr, "--to", "dcp").stderr)
        done = self.expect(FAILED, "convert", FOLDER / "one-process", zarr, "--to", "dcp", "--overwrite")
        self.assertIn(b"zarr.json", done.stderr)
        self.expect(OK, "verify", zarr)


MEGATRON = GOLDEN / "megatron"
WROTE_TORCH_DIST = FOLDER / "torch_dist-tp2-pp1-2ranks"
WROTE_ZARR = MEGATRON / "zarr-tp2-dp2-4ranks"


class TorchDist(Case):
    def files(self, folder):
        return sorted(file.name for file in folder.iterdir())

    def test_what_a_directory_shows(self):
        shown = json.loads(self.expect(OK, "inspect", WROTE_TORCH_DIST, "--json").stdout)
        arrays = {array["name"]: array for array in shown["arrays"]}
        self.assertEqual(arrays["optimizer.flat"]["shape"], [4, 8])  # stored flat
        for name in ("common", "optimizer.step/shard_0_1"):
            self.assertEqual(arrays[name]["dtype"], "string")
            self.assertEqual(arrays[name]["attributes"], {"content_type": "application/json"})
        self.assertEqual(json.loads(self.json("cat", WROTE_TORCH_DIST, "common"))["iteration"], 7)
        self.assertEqual(json.loads(self.json("cat", WROTE_TORCH_DIST, "optimizer.step/shard_0_1")), {"step": 3})
        self.expect(OK, "verify", WROTE_TORCH_DIST)
        self.expect(NO, "diff", WROTE_TORCH_DIST, WROTE_ZARR)

    def test_a_copy(self):
        copy, zarr, again = (self.folder / name for name in ("copy", "copy.zarr", "again"))
        self.expect(OK, "convert", WROTE_TORCH_DIST, copy, "--to", "torch_dist")
        self.assertEqual(self.files(copy), [".metadata", "__0_0.distcp", "common.pt", "metadata.json"])
        for name in ("common.pt", "metadata.json"):
            self.assertEqual((copy / name).read_bytes(), (WROTE_TORCH_DIST / name).read_bytes())
        self.expect(OK, "diff", WROTE_TORCH_DIST, copy)
        self.expect(OK, "verify", copy)
        # What was saved in flat pieces is stored flat again, which its loader of flat pieces needs.
        self.assertIn(b"nd_reformulated_orig_global_shape", (copy / ".metadata").read_bytes())
        self.expect(OK, "convert", copy, zarr)
        self.expect(OK, "convert", zarr, again, "--to", "torch_dist")
        self.expect(OK, "diff", WROTE_TORCH_DIST, again)

    def test_of_the_layout_zarr(self):
        copy = self.folder / "copy"
        self.expect(OK, "convert", WROTE_ZARR, copy, "--to", "torch_dist")
        self.assertEqual((copy / "common.pt").read_bytes(), (WROTE_ZARR / "common.pt").read_bytes())
        self.assertEqual(json.loads(self.json("cat", copy, "optimizer.step/shard_0_1")), {"step": 3})
        done = self.expect(NO, "diff", WROTE_ZARR, copy)
        self.assertIn(b"4 arrays compared, 0 with differences; 2 only in B", done.stdout)
        done = self.expect(OK, "convert", WROTE_ZARR, self.folder / "part", "--to", "torch_dist", "--only", "decoder.*")
        self.assertIn(b"objects and the common state are left out", done.stderr)
        self.assertEqual(len(self.json("inspect", self.folder / "part")["arrays"]), 4)  # with an empty common.pt

    def test_names_of_a_directory_of_the_layout_zarr(self):
        copy, again = self.folder / "copy", self.folder / "again"
        self.expect(OK, "convert", WROTE_ZARR, copy, "--to", "torch_dist", "--rename", "decoder.weight=w")
        arrays = [array["name"] for array in self.json("inspect", copy)["arrays"]]
        self.assertEqual(arrays[-1], "w")
        self.assertIn("optimizer.step/shard_0_1", arrays)
        self.expect(OK, "convert", copy, again, "--to", "torch_dist", "--rename", "common=before")
        self.assertEqual(json.loads(self.json("cat", again, "common"))["before"]["iteration"], 7)

    def test_the_root_of_a_run(self):
        run, copy = self.folder / "run", self.folder / "copy"
        shutil.copytree(WROTE_TORCH_DIST, run / "iter_0000007")
        (run / "latest_checkpointed_iteration.txt").write_text("7")
        self.expect(OK, "convert", run, copy, "--to", "torch_dist")
        self.assertEqual((copy / "common.pt").read_bytes(), (WROTE_TORCH_DIST / "common.pt").read_bytes())

    def test_values_and_names(self):
        copy, zarr = self.folder / "copy", self.folder / "copy.zarr"
        self.expect(OK, "convert", FOLDER / "one-process", copy, "--to", "torch_dist", "--rename", "opt.0.lr=opt/lr")
        self.assertEqual(
            json.loads(self.json("cat", copy, "common")),
            {"name": "demo", "opt": {"lr": 0.1}, "opt.1.lr": 0.2, "step": 12},
        )
        self.expect(OK, "convert", copy, zarr, "--rename", "common=a", "--only", "common")
        done = self.expect(
            FAILED, "convert", FOLDER / "one-process", self.folder / "x", "--to", "torch_dist",
            "--rename", "opt.0.lr=step/lr",
        )  # fmt: skip
        self.assertIn(b"another value in the place of", done.stderr)
        self.expect(
            OK, "convert", WROTE_TORCH_DIST, self.folder / "renamed", "--to", "torch_dist",
            "--rename", "optimizer.step=step", "--skip", "decoder.*", "--dtype", "optimizer.flat=bfloat16",
        )  # fmt: skip
        arrays = {array["name"]: array["dtype"] for array in self.json("inspect", self.folder / "renamed")["arrays"]}
        self.assertEqual(arrays, {"common": "string", "optimizer.flat": "bfloat16", "step/shard_0_1": "string"})

    def test_many_arrays_in_little_memory(self):
        arrays = {f"w{i}": np.full((300, 1000), i, np.float32) for i in range(12)}
        np.savez_compressed(self.folder / "many.npz", **arrays)
        self.expect(OK, "convert", self.folder / "many.npz", self.folder / "copy", "--to", "torch_dist", "--memory", "16M")
        for name, array in arrays.items():
            self.assertEqual(self.expect(OK, "cat", self.folder / "copy", name, "--raw").stdout, array.tobytes())

    def test_overwrite(self):
        copy = self.folder / "copy"
        self.expect(OK, "convert", WROTE_TORCH_DIST, copy, "--to", "torch_dist")
        (copy / "notes.txt").write_text("kept")
        self.assertIn(b"already_exists", self.expect(FAILED, "convert", WROTE_ZARR, copy, "--to", "torch_dist").stderr)
        self.expect(OK, "convert", WROTE_ZARR, copy, "--to", "torch_dist", "--overwrite")
        self.assertEqual(self.files(copy), [".metadata", "__0_0.distcp", "common.pt", "metadata.json", "notes.txt"])
        shutil.copytree(FOLDER / "one-process", self.folder / "dcp")
        done = self.expect(FAILED, "convert", WROTE_ZARR, self.folder / "dcp", "--to", "torch_dist", "--overwrite")
        self.assertIn(b"is not a checkpoint", done.stderr)
        self.assertEqual(self.files(self.folder / "dcp"), self.files(FOLDER / "one-process"))

    def test_what_is_damaged_or_has_no_place(self):
        for name in ("__0_0.distcp", "__1_0.distcp"):
            broken = self.folder / f"without{name}"
            shutil.copytree(WROTE_TORCH_DIST, broken)
            (broken / name).unlink()
            done = self.expect(FAILED, "convert", broken, self.folder / "copy", "--to", "torch_dist")
            self.assertIn(name.encode(), done.stderr)
            self.assertFalse((self.folder / "copy").exists())
        broken = self.folder / "zarr"
        shutil.copytree(WROTE_ZARR, broken)
        (broken / "optimizer.step" / "shard_0_1.pt").write_bytes(b"PK\3\4nothing")
        done = self.expect(FAILED, "convert", broken, self.folder / "copy", "--to", "torch_dist")
        self.assertIn(b"shard_0_1.pt", done.stderr)
        done = self.expect(FAILED, "convert", WROTE_ZARR, self.folder / "copy", "--to", "torch_dist", "--codec", "zstd")
        self.assertIn(b"for Zarr and Orbax only", done.stderr)
        mixed = self.folder / "mixed"  # values beside a common state that is copied
        shutil.copytree(FOLDER / "one-process", mixed)
        for name in ("common.pt", "metadata.json"):
            shutil.copy(WROTE_TORCH_DIST / name, mixed / name)
        done = self.expect(FAILED, "convert", mixed, self.folder / "copy", "--to", "torch_dist")
        self.assertIn(b'"name" would be a member of the common state', done.stderr)
        self.expect(OK, "convert", mixed, self.folder / "kept", "--to", "torch_dist", "--skip", "common")
        self.assertEqual(json.loads(self.json("cat", self.folder / "kept", "common"))["step"], 12)
        np.savez(self.folder / "a.npz", **{"common/w": np.zeros(2, np.float32)})
        done = self.expect(FAILED, "convert", self.folder / "a.npz", self.folder / "copy", "--to", "torch_dist")
        self.assertIn(b"what the common state is called", done.stderr)
