# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Symbolic links in directories: refused by name, or followed, and never passed over."""

import os
import shutil

import numpy as np
import zarr
from support import FAILED, OK, UNVERIFIED, Case

VALUES = np.arange(12, dtype="int32").reshape(4, 3)
FOLLOW, ANYWHERE = "--follow-links", "--follow-links=anywhere"
REFUSED = "the path has a symbolic link, and links are not followed"


class Links(Case):
    def make(self, name="z.zarr"):
        """A hierarchy without consolidated metadata: arrays a and b of two chunks."""
        root = zarr.create_group(self.folder / name)
        for array in ("a", "b"):
            root.create_array(array, data=VALUES, chunks=(2, 3))
        return self.folder / name

    def move(self, path, to):
        """Puts a relative link to where `path` is moved."""
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, to)
        path.symlink_to(os.path.relpath(to, path.parent))

    def copies(self, path, *options):
        """Every reading command reads all of it."""
        self.assertEqual(self.json("verify", path, *options)["ok"], True)
        self.assertEqual(len(self.json("inspect", path, *options)["arrays"]), 2)
        raw = self.expect(OK, "cat", path, "b", "--raw", *options).stdout
        self.assertEqual(raw, VALUES.tobytes())
        self.assertEqual(self.json("stats", path, "b", *options)["arrays"][0]["count"], 12)
        self.text("convert", path, self.folder / "all.npz", "--overwrite", *options)
        self.assertIn("SAME  2 arrays", self.text("diff", path, self.folder / "all.npz", *options))
        shutil.rmtree(self.folder / "all.zarr", ignore_errors=True)
        self.text("convert", path, self.folder / "all.zarr", *options)
        self.assertIn("SAME  2 arrays", self.text("diff", self.folder / "all.zarr", self.folder / "all.npz"))

    def all_refuse(self, path, file, why, *options):
        """Every command that reads an element, or has to know all arrays, names the file."""
        for words in (
            ("cat", path, "b"),
            ("stats", path, "b"),
            ("convert", path, self.folder / "never.npz"),
            ("diff", path, path),
        ):
            said = self.refused(*words, *options)
            self.assertIn(f"{file}", said, words)
            self.assertIn(f": {why}", said, words)
        self.assertFalse((self.folder / "never.npz").exists())
        # Not verified, and not a fault: a link is not followed, which says nothing of its bytes.
        done = self.expect(None, "verify", path, *options)
        self.assertIn(done.returncode, (FAILED, UNVERIFIED))
        said = (done.stdout + done.stderr).decode()
        self.assertIn(f"{file}", said)
        self.assertIn(why, said)
        self.assertNotIn(b"OK", done.stdout)

    def test_a_linked_chunk(self):
        path = self.make()
        self.move(path / "b/c/1/0", path / "b/moved")
        self.all_refuse(path, f"{path}/b/c/1/0", REFUSED)
        inspected = self.json("inspect", path)
        self.assertNotIn("stored_bytes", inspected["arrays"][1])
        self.assertIn(f"{path}/b/c/1/0: {REFUSED}", inspected["arrays"][1]["error"])
        self.assertIn(f'"b": io: open {path}/b/c/1/0: {REFUSED}', self.text("inspect", path))
        self.copies(path, FOLLOW)
        self.copies(path, ANYWHERE)
        self.assertIn("stored_bytes", self.json("inspect", path, FOLLOW)["arrays"][1])

    def test_a_linked_directory_of_chunks(self):
        path = self.make()
        self.move(path / "b/c", path / "chunks")
        self.all_refuse(path, f"{path}/b/c", REFUSED)
        self.copies(path, FOLLOW)

    def test_a_linked_array(self):
        path = self.make()
        self.move(path / "b", self.folder / "outside/b")
        self.all_refuse(path, f"{path}/b/zarr.json", REFUSED)
        self.assertIn(REFUSED, self.refused("inspect", path))
        leaves = "a symbolic link leads out of the store"
        self.all_refuse(path, f"{path}/b/zarr.json", leaves, FOLLOW)
        self.assertIn(leaves, self.refused("inspect", path, FOLLOW))
        self.copies(path, ANYWHERE)

    def test_an_array_of_a_checkpoint_of_ours(self):
        self.text("convert", self.make(), self.folder / "ours.zarr")
        path = self.folder / "ours.zarr"
        self.move(path / "b", path / "elsewhere")
        self.all_refuse(path, f"{path}/b", REFUSED)
        kinds = {one["kind"] for one in self.json("verify", path, status=UNVERIFIED)["findings"]}
        self.assertEqual(kinds, {"unverified", "note"})  # `elsewhere` is part of no array
        self.copies(path, FOLLOW)

    def test_arrays_beside_one_another(self):
        path = self.make()
        (path / "zarr.json").unlink()
        self.move(path / "b", path / ".b")
        self.all_refuse(path, f"{path}/b", REFUSED)
        self.assertIn(REFUSED, self.refused("inspect", path))

    def test_links_that_lead_nowhere_or_in_a_circle(self):
        path = self.make()
        shutil.rmtree(path / "b")
        for to, why in (
            ("gone", "a symbolic link leads nowhere"),
            ("b", "its symbolic links lead in a circle"),
        ):
            (path / "b").symlink_to(to)
            self.all_refuse(path, f"{path}/b/zarr.json", REFUSED)
            for option in (FOLLOW, ANYWHERE):
                self.all_refuse(path, f"{path}/b/zarr.json", why, option)
                self.assertIn(why, self.refused("inspect", path, option))
            (path / "b").unlink()
        path = self.make("y.zarr")
        (path / "b/c/0/0").unlink()
        (path / "b/c/0/0").symlink_to("gone")
        self.all_refuse(path, f"{path}/b/c/0/0", REFUSED)
        self.all_refuse(path, f"{path}/b/c/0/0", "a symbolic link leads nowhere", FOLLOW)

    def test_a_link_to_what_lies_above_ends(self):
        path = self.make()
        (path / "b/up").symlink_to("..")
        done = self.expect(UNVERIFIED, "verify", path, FOLLOW)
        self.assertIn(b"z.zarr/b/up/b/up/", done.stdout)
        self.assertIn(b"directories nested deeper than 64", done.stdout)
        (path / "self").symlink_to(".")
        self.assertIn("self/self", self.refused("inspect", path, FOLLOW))

    def test_the_path_that_is_given_is_followed(self):
        path = self.make()
        (self.folder / "link").symlink_to(path)
        self.copies(self.folder / "link")
        self.copies(self.folder / "link/")
        self.text("convert", path, self.folder / "a.safetensors")
        (self.folder / "b.safetensors").symlink_to("a.safetensors")
        self.assertIn("SAME", self.text("diff", path, self.folder / "b.safetensors"))

    def test_a_link_that_is_no_part_of_it_stops_nothing(self):
        path = self.make()
        (path / "README").symlink_to("/etc/hostname" if os.path.isfile("/etc/hostname") else "zarr.json")
        self.copies(path)

    def test_bad_values(self):
        self.assertIn("--follow-links", self.refused("inspect", self.make(), "--follow-links=no"))
