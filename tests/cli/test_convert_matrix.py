# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""convert, by source and target: what an array and its hierarchy have beside their elements is kept,
or a note names it. docs/conformance.md has the table ("What convert keeps")."""

import json
import re
import shutil
import warnings

import numpy as np
import zarr
from safetensors.numpy import save_file
from support import GOLDEN, OK, Case, set_kind
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

TARGETS = ("zarr3", "zarr2", "orbax", "dcp", "torch_dist", "safetensors", "npz")
LAYOUT = {"dimension names", "fill value", "chunk shape", "shard shape", "codecs"}
# What no note may name: it is kept.
KEPT = {
    "zarr3": LAYOUT | {"absent chunks", "empty group", "kind", "attributes"},
    "zarr2": {"fill value", "chunk shape", "codecs", "absent chunks", "empty group", "kind", "attributes"},
    "orbax": LAYOUT | {"empty group"},
    "dcp": set(),
    "torch_dist": set(),
    "safetensors": set(),
    "npz": set(),
}


def zarr3(path):
    """A hierarchy with all that zarr-python can say of Zarr v3."""
    root = zarr.create_group(path, attributes={"who": "me", "n": 1})
    values = np.arange(35, dtype="f4").reshape(5, 7)
    named = root.create_array(
        "g/named", shape=(40, 60), chunks=(10, 20), dtype="f4", fill_value=np.nan,
        dimension_names=["y", None], compressors=[BloscCodec(cname="zstd", shuffle="shuffle")],
        attributes={"units": "K"},
    )  # fmt: skip
    named[:10, 20:40] = 3
    sharded = root.create_array(
        "g/sharded", shape=(16, 16), chunks=(2, 4), shards=(8, 8), dtype="i2", fill_value=-1,
        compressors=[GzipCodec(level=3)],
    )  # fmt: skip
    sharded[:8, :8] = np.arange(64).reshape(8, 8)
    root.create_array("plain", data=values, compressors=[ZstdCodec(level=5)])
    root.create_group("g/empty", attributes={"why": "not"})
    root["g"].attrs["group"] = True


def zarr2(path):
    """The same of Zarr v2."""
    root = zarr.create_group(path, zarr_format=2, attributes={"who": "me", "n": 1})
    fortran = root.create_array(
        "g/fortran", shape=(30, 20), chunks=(10, 7), dtype="f8", fill_value=2.5, order="F",
        attributes={"units": "K"},
    )  # fmt: skip
    fortran[:10] = np.arange(200).reshape(10, 20)
    root.create_array("plain", data=np.arange(50, dtype=">i4"), chunks=(9,), compressors=None)
    root.create_group("g/empty", attributes={"why": "not"})
    root["g"].attrs["group"] = True


class Matrix(Case):
    def make(self, kind):
        path = self.folder / f"from-{kind}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            {"zarr3": zarr3, "zarr2": zarr2}[kind](path)
        return path

    def described(self, path):
        """Of each array what inspect tells, and the attributes of every node."""
        found = self.json("inspect", path)
        arrays = {}
        for array in found["arrays"]:
            array["codecs"] = [c for c in array.get("codecs", []) if c["name"] != "crc32c" or "ours" in str(path)]
            arrays[array["name"]] = array
        groups = {g["name"]: g.get("attributes", {}) for g in found.get("groups", [])}
        return arrays, groups, found.get("attributes", {})

    def same(self, path, out):
        """But for the common state, which torch_dist always has."""
        found = self.json("diff", path, out, status=None)
        known = [{"array": "common", "only_in": "B"}, {"array": "common", "only_in": "A"}]
        self.assertEqual([one for one in found["differences"] if one not in known], [])
        self.assertGreater(found["compared"], 0)

    def converted(self, path, to, *options):
        out = self.folder / f"{path.name}-{to}{'.' + to if to in ('safetensors', 'npz') else ''}"
        done = self.expect(OK, "convert", path, out, "--to", to, *options)
        self.assertEqual(self.json("verify", out)["verdict"], "ok")
        self.same(path, out)
        said = done.stderr.decode()
        named = set()
        for line in re.findall(r"not kept in \w+: (.*)", said):
            named |= {what.split(" of ")[0] for what in line.split(", ")}
        if re.search(r"attributes of .* (is|are) left out", said):
            named.add("attributes")
        return out, named, said

    def test_each_property_is_kept_or_named(self):
        sources = {
            "zarr3": LAYOUT | {"absent chunks", "empty group", "attributes"},
            "zarr2": {"fill value", "chunk shape", "codecs", "absent chunks", "empty group", "attributes"},
        }
        for kind, has in sources.items():
            path = self.make(kind)
            before, groups, root = self.described(path)
            for to in TARGETS:
                with self.subTest(source=kind, to=to):
                    out, named, said = self.converted(path, to)
                    if to == "orbax":  # of the root they are kept, of the others named
                        named.discard("attributes")
                    kept = KEPT[to]
                    self.assertEqual(named & KEPT[to], set(), said)
                    lost = has - kept - ({"attributes"} if to == "orbax" else set())
                    self.assertEqual(lost - named, set(), said)
                    if to in ("zarr3", "zarr2"):
                        self.check_kept(out, (before, groups, root), kept)
                    # And back, whole.
                    again, _, _ = self.converted(out, "zarr3")
                    self.same(path, again)

    def check_kept(self, out, wanted, kept):
        after, groups, root = self.described(out)
        before, groups_before, root_before = wanted
        root.pop("zarrpoint", None)
        self.assertEqual((groups, root), (groups_before, root_before))
        self.assertEqual(sorted(after), sorted(before))
        for name, array in after.items():
            was = before[name]
            self.assertEqual(array.get("attributes"), was.get("attributes"), name)
            self.assertEqual(array["fill_value"], was["fill_value"], name)
            self.assertEqual(array["chunks"], was["chunks"], name)
            if "shard shape" in kept:
                self.assertEqual(array.get("shards"), was.get("shards"), name)
            if "codecs" in kept:
                self.assertEqual(array["codecs"], was["codecs"], name)

    def test_dimension_names_and_documents(self):
        path = self.make("zarr3")
        out, named, _ = self.converted(path, "zarr3")
        self.assertEqual(named, set())
        for name in ("g/named", "g/sharded", "plain"):
            a, b = (json.loads((at / name / "zarr.json").read_text()) for at in (path, out))
            for document in (a, b):  # zarr-python writes null for none
                if document.get("dimension_names") is None:
                    document.pop("dimension_names", None)
                document.pop("storage_transformers", None)
                document["attributes"] = document.get("attributes") or {}
            self.assertEqual(a, b)
        # zarr-python reads them.
        group = zarr.open_group(out, mode="r")
        self.assertEqual(group["g/named"].metadata.dimension_names, ("y", None))
        self.assertTrue(np.isnan(group["g/named"][-1, -1]))
        self.assertEqual(group["g/sharded"][-1, -1], -1)

    def test_absent_chunks_stay_absent(self):
        for kind, name in (("zarr3", "g/named"), ("zarr3", "g/sharded"), ("zarr2", "g/fortran")):
            path = self.make(kind)
            for to in ("zarr3", "zarr2"):
                with self.subTest(source=kind, name=name, to=to):
                    out, _, _ = self.converted(path, to)
                    count = [sum(f.is_file() and f.name[:2] != ".z" and f.name != "zarr.json" for f in (p / name).rglob("*"))
                             for p in (path, out)]  # fmt: skip
                    self.assertLessEqual(count[1], count[0] if to != "zarr2" else 8, count)
                    self.assertGreater(count[1], 0)
                    shutil.rmtree(out)
            shutil.rmtree(path)

    def test_what_is_asked_for_counts(self):
        path = self.make("zarr3")
        out, named, _ = self.converted(path, "zarr3", "--codec", "zstd:2", "--chunk", "g/named=5,5")
        self.assertEqual(named, set())
        after, _, _ = self.described(out)
        self.assertEqual(after["g/named"]["chunks"], [5, 5])
        self.assertEqual(after["g/named"]["fill_value"], "NaN")
        self.assertEqual((after["g/sharded"]["chunks"], after["g/sharded"]["shards"]), ([2, 4], [8, 8]))
        self.assertEqual([c["name"] for c in after["g/sharded"]["codecs"]], ["bytes", "zstd"])
        document = json.loads((out / "g/named/zarr.json").read_text())
        self.assertEqual(document["dimension_names"], ["y", None])
        # A cast takes the fill value along.
        cast = self.folder / "cast"
        self.text("convert", path, cast, "--dtype", "**=float64")
        after, _, _ = self.described(cast)
        self.assertEqual([after[n]["fill_value"] for n in ("g/named", "g/sharded")], ["NaN", -1])
        self.assertEqual(after["g/named"]["chunks"], [10, 20])
        self.assertEqual([c["name"] for c in after["g/named"]["codecs"]], ["bytes", "blosc"])
        self.assertEqual(zarr.open_group(cast, mode="r")["g/sharded"][0, 1], 1)

    def test_codecs_that_change_values_are_not_used_again(self):
        zarr.create_group(self.folder / "q.zarr", zarr_format=2)
        from numcodecs import Delta, FixedScaleOffset

        for name, codec, type in (
            ("scaled", FixedScaleOffset(offset=0, scale=3, dtype="f8", astype="i2"), "f8"),
            ("rounded", Delta(dtype="f4"), "f4"),
            ("exact", Delta(dtype="i4"), "i4"),
        ):
            array = zarr.open_group(self.folder / "q.zarr").create_array(
                name, shape=(50,), dtype=type, filters=[codec], compressors=None
            )
            array[:] = np.linspace(0, 10, 50).astype(type)
        for to in ("zarr2", "zarr3"):
            out, named, said = self.converted(self.folder / "q.zarr", to)
            self.assertEqual(named, {"codecs"})
            self.assertIn("codecs of 2 arrays", said)
            again, _, said = self.converted(out, to)
            self.assertNotIn("not kept", said)
            self.text("diff", self.folder / "q.zarr", again)
        self.assertIn("delta", str(self.described(out)[0]["exact"]["codecs"]))

    def test_kinds_of_a_checkpoint_of_ours(self):
        save_file({"a": np.arange(3.0), "s": np.array(3, "i8"), "j": np.frombuffer(b'{"x":1}', "u1")},
                  self.folder / "in.safetensors")  # fmt: skip
        path = self.folder / "ours"
        self.text("convert", self.folder / "in.safetensors", path)
        set_kind(path / "zarr.json", "s", "scalar")
        set_kind(path / "zarr.json", "j", "json")
        for to in ("zarr3", "zarr2"):
            out, named, _ = self.converted(path, to)
            self.assertEqual(named, set())
            kinds = {a["name"]: a["kind"] for a in self.json("inspect", out)["arrays"]}
            self.assertEqual(kinds, {"a": "array", "s": "scalar", "j": "json"})
        for to in ("safetensors", "npz"):
            _, named, said = self.converted(path, to)
            self.assertEqual(named, {"kind"}, said)
            self.assertIn("kind of 2 arrays", said)

    def test_shardings_with_axis_types(self):
        golden = self.folder / "tree"
        shutil.copytree(GOLDEN / "orbax/sharded-8-devices-zarr3", golden)
        found = self.json("inspect", golden)
        self.assertIn("Orbax", found["format"])
        out, named, said = self.converted(golden, "orbax")
        self.assertEqual((named, said), (set(), ""))
        ours, theirs = (self.json("inspect", at)["orbax"]["leaves"] for at in (out, golden))
        self.assertEqual(ours, theirs)
        self.assertEqual(ours["w"]["sharding"]["axis_types"], ["AxisType.Auto"] * 2)
        for to in ("zarr3", "zarr2", "dcp", "safetensors"):
            done = self.expect(OK, "convert", golden, self.folder / to, "--to", to).stderr.decode()
            self.assertRegex(done, "not kept in .*kind of .*sharding of .*, the lists and tuples of Orbax's tree")
