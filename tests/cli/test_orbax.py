# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Orbax: what is shown of them beside their arrays."""

import json
import shutil

from support import FAILED, GOLDEN, OK, Case, run

ORBAX = GOLDEN / "orbax"


class Orbax(Case):
    def test_the_step_that_was_chosen_and_its_items(self):
        about = self.json("inspect", ORBAX / "manager-composite")["orbax"]
        self.assertEqual(about["chosen"], "5/state")
        self.assertEqual(about["items"], {"extra": "json", "state": "tree"})
        self.assertEqual(about["commit_time"], 1795216723377098424)
        self.assertEqual(about["database"]["keys"], 4)
        kinds = {name: leaf["kind"] for name, leaf in about["leaves"].items()}
        self.assertEqual(kinds, {"step": "np.ndarray", "w": "jax.Array"})
        text = run("inspect", ORBAX / "manager-composite").stdout.decode()
        self.assertIn("chosen     5/state", text)
        self.assertIn("committed  2026-11-20 23:18:43 UTC", text)
        self.assertIn("extra: JsonCheckpointHandler, state: StandardCheckpointHandler", text)

    def test_items_by_their_names(self):
        root = f"{ORBAX}/manager-composite"
        by_name, by_path = (run("cat", f"{root}{item}", "step", "--json").stdout for item in (":state", "/5/state"))
        self.assertEqual(by_name, by_path)
        extra = self.json("inspect", f"{root}:extra")
        self.assertEqual(extra["attributes"], {"lr": 0.1, "tags": ["a", None]})
        self.assertEqual(extra["orbax"]["item"], "json")
        for wrong, said in ((f"{root}:other", b'has no item "other"'), (f"{root}s:x", b"no such file")):
            done = run("inspect", wrong)
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(said, done.stderr)

    def test_shardings_kinds_and_keys(self):
        leaves = self.json("inspect", ORBAX / "sharded-8-devices-zarr3")["orbax"]["leaves"]
        sharding = {"type": "NamedSharding", "mesh": [4, 2], "axes": ["x", "y"], "devices": list(range(8))}
        self.assertEqual(leaves["w"]["sharding"], sharding | {"partition_spec": "PartitionSpec('x', 'y')"})
        text = run("inspect", ORBAX / "sharded-8-devices-zarr3", "w").stdout.decode()
        self.assertIn("w  PartitionSpec('x', 'y') on x=4 \u00d7 y=2", text)
        self.assertNotIn("PartitionSpec(None", text)
        rich = self.json("inspect", ORBAX / "rich-types")["orbax"]
        self.assertEqual(rich["custom_metadata"], {"by": "us"})
        self.assertEqual(rich["leaves"]["key"]["random_key"], "threefry2x32")
        self.assertEqual(rich["leaves"]["e/n"], {"kind": "None"})
        self.assertEqual(rich["leaves"]["py/i"], {"kind": "scalar"})

    def test_what_is_damaged_beside_the_arrays_does_not_hide_them(self):
        shutil.copytree(ORBAX / "sharded-8-devices-zarr3", self.folder / "c")
        (self.folder / "c/_sharding").write_text("{")
        done = run("inspect", self.folder / "c", "--json")
        self.assertEqual(done.returncode, OK)
        self.assertIn(b"_sharding", done.stderr)
        self.assertNotIn("orbax", self.json("inspect", self.folder / "c"))

    def test_msgpack_of_older_releases(self):
        info = self.json("inspect", ORBAX / "aggregate")
        self.assertEqual(len(info["arrays"]), 18)
        values = run("cat", ORBAX / "aggregate", "c/a", "--json").stdout
        self.assertEqual(json.loads(values), [[0, 3, 6, 9], [12, 15, 18, 21]])
