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
