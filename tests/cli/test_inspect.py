# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""inspect: what numpy, zarr-python and safetensors say of the same files."""

import warnings

import numpy as np
import zarr
from safetensors.numpy import save_file
from support import GOLDEN, OK, Case, random_array, rename_codec
from zarr.codecs import BloscCodec, GzipCodec


class Inspect(Case):
    def test_a_hierarchy(self):
        root = zarr.create_group(self.folder / "z.zarr", attributes={"who": "zarr-python"})
        root.create_array(
            "g/x",
            data=random_array("float32", (100, 80)),
            chunks=(10, 20),
            shards=(50, 40),
            compressors=GzipCodec(level=5),
            attributes={"unit": "m"},
        )
        root.create_array("y", shape=(7,), dtype="int64", compressors=BloscCodec(), fill_value=3)
        rename_codec(self.folder / "z.zarr/y/zarr.json", "blosc", "pcodec")
        info = self.json("inspect", self.folder / "z.zarr")
        self.assertEqual(info["format"], "Zarr v3 hierarchy")
        self.assertEqual(info["attributes"], {"who": "zarr-python"})
        x, y = info["arrays"]
        stored = sum(p.stat().st_size for p in (self.folder / "z.zarr/g/x/c").rglob("*") if p.is_file())
        self.assertEqual(
            {
                k: x[k]
                for k in ("name", "dtype", "shape", "chunks", "shards", "bytes", "stored_bytes", "attributes")
            },
            {
                "name": "g/x",
                "dtype": "float32",
                "shape": [100, 80],
                "chunks": [10, 20],
                "shards": [50, 40],
                "bytes": 32000,
                "stored_bytes": stored,
                "attributes": {"unit": "m"},
            },
        )
        self.assertEqual([c["name"] for c in x["codecs"]], ["bytes", "gzip"])
        self.assertEqual((y["name"], y["dtype"], y["shape"], y["fill_value"]), ("y", "int64", [7], 3))
        self.assertIn('unknown codec "pcodec"', y["error"])
        self.assertEqual(info["totals"], {"arrays": 2, "bytes": 32056, "stored_bytes": stored})
        said = self.text("inspect", self.folder / "z.zarr")
        self.assertIn("├── g\n", said)
        self.assertIn("│   └── x", said)
        self.assertIn("bytes gzip:5", said)
        self.assertIn('"y": unsupported: ', said)
        self.assertIn('attributes\n  (root)  {"who":"zarr-python"}\n  g/x     {"unit":"m"}\n', said)
        self.assertEqual(
            [a["name"] for a in self.json("inspect", self.folder / "z.zarr", "g")["arrays"]], ["g/x"]
        )

    def test_groups(self):
        for zarr_format in (2, 3):
            for consolidated in (False, True):
                path = self.folder / f"{zarr_format}{consolidated}.zarr"
                root = zarr.create_group(path, zarr_format=zarr_format)
                root.create_group("g", attributes={"n": 1})
                root.create_group("e/f", attributes={"why": "empty"})
                root.create_array("g/w", data=np.arange(4), attributes={"unit": "m"}, compressors=None)
                if consolidated:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        zarr.consolidate_metadata(path)
                groups = [
                    {"name": "e"},
                    {"name": "e/f", "attributes": {"why": "empty"}},
                    {"name": "g", "attributes": {"n": 1}},
                ]
                self.text("convert", path, self.folder / "ours.zarr", "--overwrite")
                for there in (path, self.folder / "ours.zarr"):
                    with self.subTest(path=there, source=path):
                        info = self.json("inspect", there)
                        self.assertEqual(info["groups"], groups)
                        said = self.text("inspect", there)
                        self.assertIn("├── e\n│   └── f\n└── g\n    └── w", said)
                        self.assertIn(
                            'attributes\n  e/f  {"why":"empty"}\n  g    {"n":1}\n  g/w  {"unit":"m"}\n',
                            said,
                        )
                        below = self.json("inspect", there, "e")
                        self.assertEqual((below["groups"], below["arrays"]), (groups[:2], []))
                        self.assertNotIn("g/w", self.text("inspect", there, "e/f"))
        said = self.refused("inspect", self.folder / "ours.zarr", "e/g")
        self.assertIn('no array or group "e/g"', said)

    def test_attributes_that_are_none(self):
        zarr.create_group(self.folder / "z.zarr").create_group("g")
        document = self.folder / "z.zarr/g/zarr.json"
        document.write_text('{"zarr_format":3,"node_type":"group","attributes":[1]}')
        self.assertEqual(self.json("inspect", self.folder / "z.zarr")["groups"], [{"name": "g"}])

    def test_a_checkpoint_of_ours(self):
        save_file({"a/w": np.zeros((64, 64), "f4"), "b": np.arange(5)}, self.folder / "a.safetensors")
        self.text("convert", self.folder / "a.safetensors", self.folder / "c.zarr", "--codec", "zstd:3")
        info = self.json("inspect", self.folder / "c.zarr")
        self.assertEqual(info["format"], "Zarr v3 checkpoint of zarrpoint")
        self.assertRegex(info["id"], "^[0-9a-f]{32}$")
        self.assertEqual([a["kind"] for a in info["arrays"]], ["array", "array"])
        on_disk = sum(
            p.stat().st_size
            for p in self.folder.joinpath("c.zarr").rglob("*")
            if p.name != "zarr.json" and p.is_file()
        )
        self.assertEqual(info["totals"]["stored_bytes"], on_disk)

    def test_single_files(self):
        np.savez_compressed(self.folder / "a.npz", x=np.zeros((3, 4), "f4"), s=np.array(["ab"]))
        info = self.json("inspect", self.folder / "a.npz")
        self.assertEqual(
            [(a["name"], a["dtype"], a["shape"]) for a in info["arrays"]],
            [("s", "fixed_length_utf32", [1]), ("x", "float32", [3, 4])],
        )
        np.save(self.folder / "a.npy", np.zeros((2, 5), ">i2"))
        info = self.json("inspect", self.folder / "a.npy")
        self.assertEqual((info["arrays"][0]["dtype"], info["arrays"][0]["bytes"]), ("int16", 20))
        save_file({"x": np.zeros(3)}, self.folder / "a.safetensors", metadata={"format": "np"})
        info = self.json("inspect", self.folder / "a.safetensors")
        self.assertEqual((info["format"], info["attributes"]), ("safetensors", {"format": "np"}))

    def test_all_golden_metadata(self):
        count = 0
        for path in sorted(GOLDEN.joinpath("zarr-metadata").rglob("zarr.json")):
            done = self.expect(None, "inspect", path.parent)
            count += done.returncode in (0, 2)
        self.assertGreaterEqual(count, 1)

    def test_arguments(self):
        zarr.create_array(self.folder / "z.zarr", data=np.arange(3))
        self.assertIn("metadata document", self.refused("inspect", self.folder / "z.zarr/zarr.json"))
        self.assertIn("No such file", self.refused("inspect", self.folder / "none"))
        self.assertEqual(self.json("inspect", self.folder / "z.zarr")["arrays"][0]["name"], "")
        (self.folder / "link").symlink_to(self.folder / "z.zarr")
        self.expect(OK, "inspect", self.folder / "link")
