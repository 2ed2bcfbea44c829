# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Every way in which PyTorch makes a tensor again: its values are those of torch.load, or it is told."""

import json
import zipfile

from support import FAILED, GOLDEN, NO, OK, UNVERIFIED, Case

FOLDER = GOLDEN / "torch/rebuild"
CASES = json.loads((FOLDER / "index.json").read_text())["cases"]


class Rebuild(Case):
    def test_values_are_those_of_torch_load(self):
        arrays, unread = 0, 0
        for case in CASES:
            with self.subTest(case["file"]):
                path = FOLDER / case["file"]
                listed = {one["name"]: one for one in self.json("inspect", path)["arrays"]}
                for name, expected in case["arrays"].items():
                    self.assertEqual(listed[name]["dtype"], expected["dtype"], name)
                    self.assertEqual(listed[name]["shape"], expected["shape"], name)
                    done = self.expect(OK, "cat", path, name, "--raw")
                    self.assertEqual(done.stdout.hex(), expected["hex"], name)
                    arrays += 1
                for name, kind in case["unread"].items():
                    self.assertIn(kind, json.dumps(listed[name]), name)
                    self.assertIn(b"unsupported", self.expect(FAILED, "cat", path, name).stderr)
                    unread += 1
                others = set(listed) - set(case["arrays"]) - set(case["unread"])
                for name in others:  # documents, which hold no elements of tensors
                    self.assertEqual(listed[name]["dtype"], "string", name)
                    self.assertNotIn(b"base64", self.expect(OK, "cat", path, name).stdout)
        self.assertGreater(arrays, 120)
        self.assertGreater(unread, 20)

    def test_verify_says_what_was_not_read(self):
        for case in CASES:
            with self.subTest(case["file"]):
                done = self.expect(UNVERIFIED if case["unread"] else OK, "verify", FOLDER / case["file"])
                for name in case["unread"]:
                    self.assertIn(name.encode(), done.stdout)

    def test_convert_keeps_the_values_or_fails(self):
        for case in CASES:
            with self.subTest(case["file"]):
                path, copy = FOLDER / case["file"], self.folder / (case["file"] + ".zarr")
                if case["unread"]:
                    self.expect(FAILED, "convert", path, copy)
                    self.expect(OK, "convert", path, copy, "--skip", *case["unread"], "--overwrite")
                else:
                    self.expect(OK, "convert", path, copy)
                for name, expected in case["arrays"].items():
                    self.assertEqual(self.expect(OK, "cat", copy, name, "--raw").stdout.hex(), expected["hex"], name)

    def test_diff_sees_what_cannot_be_read(self):
        for case in CASES:
            with self.subTest(case["file"]):
                path = FOLDER / case["file"]
                self.expect(OK, "diff", path, path)
        for name in ("quantised", "sparse_coo", "dtensor"):
            path, copy = FOLDER / f"{name}.pt", self.folder / f"{name}.pt"
            with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
                for member in old.namelist():
                    data = old.read(member)
                    if member.endswith("/data/0"):
                        data = bytes([data[0] ^ 1]) + data[1:]
                    new.writestr(member, data)
            self.expect(NO, "diff", path, copy)

    def test_what_is_no_file_of_torch(self):
        path = self.folder / "a.pt"
        path.write_bytes(b"\x80\x04\x95\x05\0\0\0\0\0\0\0]q\0.")
        self.assertIn(b"a pickle of Python that torch.save did not write", self.expect(FAILED, "inspect", path).stderr)
        path.write_bytes(b"sys_info".ljust(257, b"\0") + b"ustar\0".ljust(300, b"\0"))
        self.assertIn(b"before PyTorch 0.2", self.expect(FAILED, "inspect", path).stderr)
