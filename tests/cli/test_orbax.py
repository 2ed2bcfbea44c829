# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Orbax: what is shown of them beside their arrays, and what is converted to them."""

import json
import shutil

import numpy as np
from safetensors.numpy import save_file
from support import FAILED, GOLDEN, NO, OK, UNVERIFIED, Case, random_array, run

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
        for wrong, said in ((f"{root}:other", b'has no item "other"'), (f"{root}s:x", b"No such file")):
            done = run("inspect", wrong)
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(said, done.stderr)

    def test_shardings_kinds_and_keys(self):
        leaves = self.json("inspect", ORBAX / "sharded-8-devices-zarr3")["orbax"]["leaves"]
        sharding = {"type": "NamedSharding", "mesh": [4, 2], "axes": ["x", "y"], "devices": list(range(8)), "axis_types": ["AxisType.Auto"] * 2}
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

    def test_every_leaf_is_there_whatever_its_name(self):
        for case in ("odd-names", "odd-names-zarr3"):
            source, made = ORBAX / case, self.folder / case
            names = [array["name"] for array in self.json("inspect", source)["arrays"]]
            self.assertEqual(len(names), 14)
            self.assertIn("scale%2Fema", names)
            self.assertEqual(self.json("verify", source)["arrays"], 14)
            for target in ("m.safetensors", "m.zarr"):
                self.expect(OK, "convert", source, self.folder / f"{case}-{target}")
                self.assertEqual(len(self.json("inspect", self.folder / f"{case}-{target}")["arrays"]), 14)
            self.expect(OK, "diff", source, self.folder / f"{case}-m.zarr")
            # Of these Orbax's own form takes all but those with an empty key, or one that is not a file name.
            skipped = ("%", "%2E%2E", "a/%/b", "x/%", "é%01", "a/b~2", "n/m")
            options = [word for name in skipped for word in ("--skip", name)]
            said = self.expect(OK, "convert", source, made, "--to", "orbax", *options).stderr.decode()
            self.assertNotIn("attributes of", said)  # `original_name` is the key, which is kept
            told = json.loads((made / "_METADATA").read_text())["tree_metadata"]
            wanted = {"('scale',)", "('scale/ema',)", "('w', 'a')", "('w/a/v',)", "('a', 'b')", "('e',)", "('e/f',)", "('zarr.json',)"}
            self.assertEqual(set(told), wanted)
            self.assertEqual(len(self.json("inspect", made)["arrays"]), 7)

    def test_a_leaf_refuses_only_itself(self):
        source = ORBAX / "own-handler"
        self.assertIn(b"my.Point", self.expect(UNVERIFIED, "verify", source).stdout)
        self.assertIn("--skip", self.refused("convert", source, self.folder / "m.safetensors"))
        self.expect(OK, "convert", source, self.folder / "m.safetensors", "--skip", "p")
        self.assertEqual(len(self.json("inspect", self.folder / "m.safetensors")["arrays"]), 2)
        # What the handler wrote is compared.
        shutil.copytree(source, self.folder / "c")
        self.expect(OK, "diff", source, self.folder / "c")
        (self.folder / "c/p.point/v.txt").write_text("8")
        self.assertIn(b"stored bytes", self.expect(NO, "diff", source, self.folder / "c").stdout)
        # An array that is gone.
        shutil.copytree(ORBAX / "pytree-files-zarr2", self.folder / "gone")
        shutil.rmtree(self.folder / "gone/params.mask")
        done = self.expect(NO, "verify", self.folder / "gone")
        self.assertIn(b"params.mask is missing", done.stdout)
        self.assertIn(b"FAULTY", done.stdout)
        self.expect(OK, "cat", self.folder / "gone", "params/ids")

    def test_a_damaged_directory_is_faulty(self):
        def damaged(source, harm):
            place = self.folder / f"c{len(list(self.folder.iterdir()))}"
            shutil.copytree(ORBAX / source, place)
            harm(place)
            self.assertIn(b"FAULTY", self.expect(NO, "verify", place).stdout)
            report = json.loads(self.expect(NO, "verify", place, "--json").stdout)
            self.assertEqual((report["ok"], report["verdict"]), (False, "faulty"))
            return report["findings"][0]["message"]

        for source in ("pytree-ocdbt-zarr3", "pytree-ocdbt-zarr2"):
            said = damaged(source, lambda place: (place / "_METADATA").unlink())
            self.assertIn("its _METADATA is missing", said)
            damaged(source, lambda place: (place / "_METADATA").write_text("{"))
            damaged(source, lambda place: (place / "manifest.ocdbt").unlink())
            damaged(source, lambda place: (place / "manifest.ocdbt").write_bytes(b"x" * 40))
            damaged(source, lambda place: shutil.rmtree(place / "d"))
        said = damaged("manager-composite", lambda place: (place / "5/state/_METADATA").unlink())
        self.assertIn("5/state", said)
        damaged("manager-composite", lambda place: shutil.rmtree(place / "5/state"))
        damaged("in-text", lambda place: (place / "_strings.json").unlink())
        self.assertIn(b"No such", run("verify", self.folder / "nothing").stderr)

    def test_a_chunk_that_is_gone_is_a_fault(self):
        made = self.folder / "c"
        options = ("--to", "orbax", "--ocdbt", "off", "--chunk", "params/dense/kernel=2,2", "--shard", "params/dense/kernel=2,2")
        self.expect(OK, "convert", ORBAX / "pytree-files-zarr2", made, *options)
        (made / "params.dense.kernel/c/1/1").unlink()
        report = json.loads(self.expect(NO, "verify", made, "--json").stdout)
        self.assertEqual([(one["array"], one["key"]) for one in report["findings"]], [("params/dense/kernel", "c/1/1")])
        shutil.copytree(ORBAX / "pytree-files-zarr2", self.folder / "d")
        (self.folder / "d/params.mask/0").unlink()
        self.assertIn(b"Orbax stored every chunk", self.expect(NO, "verify", self.folder / "d").stdout)

    def test_convert_from_everything_and_back(self):
        tensors = {
            "layers/0/w": random_array("bfloat16", (7, 10)),
            "layers/0/b": random_array("float32", (3,)),
            "flat.name": random_array("int64", (2, 2)),
            "step": np.array(7),
        }
        save_file(tensors, self.folder / "m.safetensors")
        self.expect(OK, "convert", self.folder / "m.safetensors", self.folder / "m.zarr", "--codec", "zstd:1")
        for source in ("m.safetensors", "m.zarr"):
            for form, ocdbt in (("3", "on"), ("3", "off"), ("2", "on"), ("2", "off")):
                made = self.folder / f"{source}-{form}-{ocdbt}"
                options = ("--to", "orbax", "--zarr-format", form, "--ocdbt", ocdbt)
                self.expect(OK, "convert", self.folder / source, made, *options)
                self.assertEqual((made / "manifest.ocdbt").exists(), ocdbt == "on")
                self.assertEqual(json.loads((made / "_METADATA").read_text())["use_zarr3"], form == "3")
                self.expect(OK, "diff", self.folder / source, made)
                self.expect(OK, "verify", made)
                back = self.folder / f"{made.name}.safetensors"
                self.expect(OK, "convert", made, back)
                self.expect(OK, "diff", self.folder / "m.safetensors", back)
        # The defaults; and nothing is replaced unless it is asked for.
        made = self.folder / "default"
        self.expect(OK, "convert", self.folder / "m.zarr", made, "--to", "orbax")
        self.assertEqual(self.json("inspect", made)["orbax"]["database"]["keys"], 8)
        self.assertIn("exists", self.refused("convert", self.folder / "m.zarr", made, "--to", "orbax"))
        self.expect(OK, "convert", self.folder / "m.zarr", made, "--to", "orbax", "--overwrite", "--ocdbt", "off")
        self.assertFalse((made / "d").exists())
        said = self.refused("convert", self.folder / "m.safetensors", self.folder / "m.zarr", "--to", "orbax", "--overwrite")
        self.assertIn("not an Orbax checkpoint", said)

    def test_convert_keeps_the_tree(self):
        def tree(path):
            told = json.loads((path / "_METADATA").read_text())["tree_metadata"]
            return {
                key: ([part["key_type"] for part in leaf["key_metadata"]], leaf["value_metadata"]["value_type"])
                for key, leaf in told.items()
            }

        for case in ("pytree-ocdbt-zarr2", "pytree-files-zarr3", "strings-and-none", "sharded-8-devices-zarr3", "rich-types"):
            made = self.folder / case
            self.expect(OK, "convert", ORBAX / case, made, "--to", "orbax")
            self.expect(OK, "diff", ORBAX / case, made)
            self.assertEqual(tree(made), tree(ORBAX / case))
            ours, theirs = (self.json("inspect", path)["orbax"] for path in (made, ORBAX / case))
            self.assertEqual(ours["leaves"], theirs["leaves"])
            self.assertEqual(ours.get("custom_metadata"), theirs.get("custom_metadata"))
        # With a part of it, lists that have lost elements are dicts.
        part = self.folder / "part"
        self.expect(OK, "convert", ORBAX / "pytree-ocdbt-zarr2", part, "--to", "orbax", "--only", "params/blocks/1/**")
        self.assertEqual(tree(part), {"('params', 'blocks', '1', 'w')": ([2, 2, 2, 2], "jax.Array")})
        # An item of a manager; a cast, other names and chunks.
        item = self.folder / "item"
        options = ("--to", "orbax", "--dtype", "v=float64", "--rename", "w=a/v", "--dtype", "a/v=float16", "--chunk", "a/v=2,2")
        self.refused("convert", f"{ORBAX}/manager-composite:state", item, *options)  # nothing is called v
        self.expect(OK, "convert", f"{ORBAX}/manager-composite:state", item, *options[:2], *options[4:6], "--dtype", "a/v=float16")
        self.assertEqual(tree(item), {"('a', 'v')": ([2, 2], "jax.Array"), "('step',)": ([2], "np.ndarray")})

    def test_convert_keeps_tuples_and_named_tuples(self):
        def rich(path):
            text = json.loads((path / "_METADATA").read_text()).get("value_metadata_tree")
            return json.loads(text) if text else None

        def leaf(kind):
            return {"category": "custom", "clazz": "ValueMetadataEntry", "data": {"value_type": kind, "skip_deserialize": True}}

        def without_shapes(tree):
            """As Zarr v3 and another chunk may change them."""
            if isinstance(tree, dict):
                return {key: without_shapes(value) for key, value in tree.items() if key != "write_shape"}
            return [without_shapes(value) for value in tree] if isinstance(tree, list) else tree

        golden, made = ORBAX / "rich-types", self.folder / "made"
        for form, ocdbt in (("3", "on"), ("2", "off")):
            options = ("--to", "orbax", "--zarr-format", form, "--ocdbt", ocdbt, "--overwrite")
            self.assertEqual(self.expect(OK, "convert", golden, made, *options).stderr, b"")
            self.assertEqual(without_shapes(rich(made)), without_shapes(rich(golden)))
        # An empty named tuple, and one whose class Python cannot find by its name.
        source = self.folder / "source"
        shutil.copytree(golden, source)
        document = json.loads((source / "_METADATA").read_text())
        tree = json.loads(document["value_metadata_tree"])
        told = document["tree_metadata"]

        def add(kind, *keys):
            parts = [{"key": key, "key_type": 1 if key.isdigit() else 2} for key in keys]
            told[str(keys)] = {"key_metadata": parts, "value_metadata": {"value_type": kind, "skip_deserialize": True}}
            return leaf(kind)

        tree["opt"]["entries"].append(add("NamedTuple", "opt", "1"))
        entries = [{"key": "b", "value": add("None", "local", "b")}, {"key": "a", "value": add("List", "local", "a")}]
        tree["local"] = {"category": "namedtuple", "module": "m", "clazz": "f.<locals>.T", "entries": entries}
        document["value_metadata_tree"] = json.dumps(tree)
        (source / "_METADATA").write_text(json.dumps(document))
        said = self.expect(OK, "convert", source, made, "--to", "orbax", "--overwrite").stderr
        self.assertEqual(said.count(b"becomes a dict"), 1)
        self.assertIn(b'the named tuple "local" has the class "m.f.<locals>.T"', said)
        wanted = tree | {"local": {"a": leaf("List"), "b": leaf("None")}}
        self.assertEqual(without_shapes(rich(made)), without_shapes(wanted))
        again = json.loads((made / "_METADATA").read_text())["tree_metadata"]
        self.assertEqual(again["('opt', '1')"]["value_metadata"]["value_type"], "NamedTuple")
        # Of a part of it there are dicts only.
        for options in (("--skip", "py/*"), ("--only", "opt/**"), ("--rename", "key=k")):
            done = self.expect(OK, "convert", source, made, "--to", "orbax", "--overwrite", *options)
            self.assertEqual(done.stderr.count(b"tuples and named tuples become dicts"), 1)
            self.assertIsNone(rich(made))
            again = json.loads((made / "_METADATA").read_text())["tree_metadata"]
            self.assertEqual(again["('opt', '1')"]["value_metadata"]["value_type"], "None")
            self.assertEqual([part["key_type"] for part in again["('opt', '1')"]["key_metadata"]], [2, 2])
        # What tells of no such tree is left out, with a note.
        for text in ("{", json.dumps(tree["opt"]), json.dumps(tree | {"opt": tree["local"] | {"clazz": "T"}})):
            (source / "_METADATA").write_text(json.dumps(document | {"value_metadata_tree": text}))
            said = self.expect(OK, "convert", source, made, "--to", "orbax", "--overwrite").stderr
            self.assertIn(b"tuples become lists, and named tuples dicts", said)
            self.assertIsNone(rich(made))

    def test_convert_refuses_what_cannot_be(self):
        np.savez(self.folder / "m.npz", w=np.arange(6).reshape(2, 3), c=np.array(["a", "b"]))
        out = self.folder / "o"
        said = self.refused("convert", self.folder / "m.npz", out, "--to", "orbax")
        self.assertIn("TensorStore", said)
        self.assertFalse(out.exists())
        options = ("--to", "orbax", "--only", "w")
        self.assertIn("--shard", self.refused("convert", self.folder / "m.npz", out, *options, "--zarr-format", "2", "--shard", "2,2"))
        for wrong in (("--ocdbt", "on"), ("--zarr-format", "2")):
            self.assertIn("for orbax only", self.refused("convert", self.folder / "m.npz", out, "--to", "zarr3", *wrong))
        self.refused("convert", self.folder / "m.npz", out, *options, "--ocdbt", "maybe")
        self.refused("convert", self.folder / "m.npz", out, *options, "--zarr-format", "4")
        self.expect(OK, "convert", self.folder / "m.npz", out, *options, "--zarr-format", "2", "--chunk", "1,2")
        self.assertEqual(self.json("inspect", out)["arrays"][0]["chunks"], [1, 2])
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name not in ("m.npz", "o")], [])
