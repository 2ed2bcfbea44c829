# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Entries that are listed and not read: what a file of another format holds and nobody here knows,
and arrays of a dtype or codec that is not in this build."""

import json

import numpy as np
import zarr
from support import FAILED, NO, OK, UNVERIFIED, Case, rename_codec

REASON = "a class whose elements are not known"


class Unread(Case):
    def hierarchy(self, name, kind="torch.ao.Packed", shape=(2, 3), stored=(b"abc", b"de"), original=None):
        """As the formats of others are shown: one array, and one entry that is not read."""
        root = zarr.create_group(self.folder / name)
        root.create_array("w", data=np.arange(6.0))
        attributes = {"unread": REASON} | ({"original_name": original} if original else {})
        folder = self.folder / name / "q"
        (folder / "c").mkdir(parents=True)
        document = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(shape),
            "data_type": kind,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": [{"name": "bytes", "configuration": {}}],
            "attributes": attributes,
        }
        (folder / "zarr.json").write_text(json.dumps(document))
        for i, part in enumerate(stored):
            (folder / f"c/{i}").write_bytes(part)
        return self.folder / name

    def test_it_is_shown_with_its_type_and_reason(self):
        path = self.hierarchy("a.zarr")
        said = self.text("inspect", path)
        self.assertRegex(said, r"q +torch\.ao\.Packed +\[2,3\]")
        self.assertIn(f'"q": unsupported: {REASON}\n', said)
        shown = {a["name"]: a for a in self.json("inspect", path)["arrays"]}["q"]
        self.assertEqual(
            (shown["dtype"], shown["shape"], shown["error"], shown["stored_bytes"]),
            ("torch.ao.Packed", [2, 3], f"unsupported: {REASON}", 5),
        )
        self.assertIn(REASON, self.refused("cat", path, "q"))

    def test_verify_names_it(self):
        path = self.hierarchy("a.zarr")
        found = self.json("verify", path, status=UNVERIFIED)
        self.assertEqual((found["verdict"], found["faults"], found["unverified"]), ("not verified", 0, 1))
        self.assertEqual(found["findings"][0]["array"], "q")
        self.assertIn(REASON, found["findings"][0]["message"])

    def test_convert_fails_or_leaves_it_out(self):
        path = self.hierarchy("a.zarr")
        for to in ("zarr3", "zarr2", "orbax", "dcp", "torch_dist", "safetensors", "npz"):
            with self.subTest(to=to):
                out = self.folder / f"to-{to}"
                said = self.refused("convert", path, out, "--to", to)
                self.assertIn(f'array "q": {REASON}', said)
                self.assertIn('--skip "q" leaves it out', said)
                self.assertFalse(out.exists())
                done = self.expect(OK, "convert", path, out, "--to", to, "--skip", "q").stderr.decode()
                self.assertIn(f'array "q", which cannot be read, is left out: unsupported: {REASON}', done)
                shown = [a["name"] for a in self.json("inspect", out)["arrays"]]
                self.assertIn("w", shown)
                self.assertNotIn("q", shown)

    def test_diff_compares_its_bytes(self):
        one = self.hierarchy("a.zarr")
        done = self.expect(OK, "diff", one, self.hierarchy("same.zarr"))
        self.assertEqual(done.stdout, b"SAME  2 arrays compared\n")
        self.assertIn(f'array "q": only its stored bytes were compared: {REASON}', done.stderr.decode())
        for name, what, said in [
            ("byte", {"stored": (b"abc", b"dX")}, '"q": the stored bytes differ: object c/1 at byte 1\n'),
            ("size", {"stored": (b"abcd", b"de")}, '"q": the stored bytes differ: object c/0 has 3 | 4 bytes\n'),
            ("less", {"stored": (b"abc",)}, '"q": the stored bytes differ: object c/1 is only in A\n'),
            ("type", {"kind": "other"}, '"q": dtype torch.ao.Packed | other\n'),
            ("shape", {"shape": (3, 2)}, '"q": shape [2,3] | [3,2]\n'),
        ]:
            with self.subTest(name=name):
                other = self.hierarchy(f"{name}.zarr", **what)
                told = self.text("diff", one, other, status=NO)
                self.assertIn(said, told)
                self.assertIn("DIFFERENT  2 arrays compared, 1 with differences\n", told)
                self.assertFalse(self.json("diff", one, other, status=NO)["same"])

    def test_diff_of_an_array_with_an_unknown_codec(self):
        for name, value in (("a", 1.0), ("same", 1.0), ("other", 2.0)):
            array = zarr.create_array(self.folder / f"{name}.zarr", data=np.full(5, value))
            self.assertEqual(array.nchunks, 1)
            rename_codec(self.folder / f"{name}.zarr/zarr.json", "zstd", "nobody's")
        path = self.folder / "a.zarr"
        done = self.expect(OK, "diff", path, self.folder / "same.zarr")
        self.assertIn("only its stored bytes were compared", done.stderr.decode())
        self.assertIn("the stored bytes differ", self.text("diff", path, self.folder / "other.zarr", status=NO))
        # In two ways the same values may be other bytes, and other values the same.
        rename_codec(self.folder / "same.zarr/zarr.json", "nobody's", "another's")
        done = self.expect(FAILED, "diff", path, self.folder / "same.zarr")
        self.assertIn("A and B store it in two ways", done.stderr.decode())
        self.assertIn("INCOMPLETE", done.stdout.decode())
        zarr.create_array(self.folder / "read.zarr", data=np.full(5, 1.0))
        self.expect(FAILED, "diff", path, self.folder / "read.zarr")

    def test_names_that_are_no_keys_are_told(self):
        path = self.hierarchy("a.zarr", original="/q")
        note = 'shown in another way: "/q" as "q"; the attribute "original_name" has what the file says'
        for status, arguments in [
            (OK, ("inspect", path)),
            (OK, ("diff", path, path)),
            (OK, ("convert", path, self.folder / "o.zarr", "--skip", "q")),
        ]:
            self.assertIn(note, self.expect(status, *arguments).stderr.decode())
