# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""verify: nothing where nothing is wrong, and every fault by file, key and chunk."""

import json
import math
import shutil
import struct

import google_crc32c
import numpy as np
import zarr
from safetensors.numpy import save_file
from support import GOLDEN, NO, OK, UNVERIFIED, Case, random_array, rename_codec
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


class Verify(Case):
    def setUp(self):
        super().setUp()
        self.arrays = {
            "a/w": random_array("float32", (64, 96)),
            "a/b": random_array("int16", (50,)),
            "step": np.array(7),
        }
        self.source = self.folder / "in.safetensors"
        save_file(self.arrays, self.source)

    def checkpoint(self, name="c.zarr", *options):
        path = self.folder / name
        self.expect(OK, "convert", self.source, path, *options)
        return path

    def faults(self, path, status=NO):
        found = self.json("verify", path, status=status)
        self.assertFalse(found["ok"])
        return found["findings"]

    def test_good_files(self):
        np.savez_compressed(self.folder / "a.npz", x=np.arange(4))
        np.save(self.folder / "a.npy", np.arange(4))
        self.checkpoint("v2.zarr", "--to", "zarr2", "--codec", "gzip")
        self.checkpoint("v3.zarr", "--codec", "zstd", "--chunk", "16,32", "--shard", "64,96")
        for name in ("in.safetensors", "a.npz", "a.npy", "v2.zarr", "v3.zarr"):
            self.assertIn("OK", self.text("verify", self.folder / name))
            self.assertTrue(self.json("verify", self.folder / name)["ok"])
        for index in sorted(GOLDEN.rglob("index.json")):
            document = json.loads(index.read_text())  # a list for GGUF
            for one in document.get("arrays", []) if isinstance(document, dict) else []:
                found = self.json("verify", index.parent / one["case"], status=None)
                self.assertEqual((found["faults"], found["arrays"]), (0, 1), one["case"])
                # Arrays without an element are among them.
                self.assertEqual(found["ok"], found["bytes"] != 0, one["case"])

    def test_each_flipped_chunk_of_a_shard_is_named(self):
        path = self.checkpoint("c.zarr", "--chunk", "a/w=16,96")
        shard = path / "a/w/c.0.0"
        for chunk in (0, 2):  # raw inner chunks lie one after another from the start
            flip(shard, chunk * 16 * 96 * 4 + 5)
        found = self.faults(path)
        self.assertEqual(
            [(f["file"], f["array"], f["key"], f["chunk"]) for f in found],
            [(str(shard), "a/w", "c.0.0", f"[{i}, 0]") for i in (0, 2)],
        )
        said = self.text("verify", path, status=NO)
        self.assertIn(f'fault  {shard}: array "a/w": key c.0.0: chunk [2, 0]: corrupt: its 6144', said)
        self.assertIn("3 arrays", said)
        self.assertIn("2 faults", said)
        self.refused("cat", path, "a/w")  # no other command gives a wrong value

    def test_a_broken_index_is_told_once(self):
        path = self.checkpoint("c.zarr", "--chunk", "a/w=16,96")
        flip(path / "a/w/c.0.0", -3)
        found = self.faults(path)
        self.assertEqual([(f["key"], f.get("chunk")) for f in found], [("c.0.0", None)])
        self.assertIn("shard index", found[0]["message"])

    def test_faults_of_several_arrays_and_kinds(self):
        for options in ((), ("--to", "zarr2"), ("--codec", "zstd"), ("--to", "zarr2", "--codec", "gzip")):
            v2 = "zarr2" in options
            path = self.checkpoint("c.zarr", *options)
            chunk = "0" if v2 else "c.0"
            flip(path / "a/b" / chunk, 20)
            (path / "step" / chunk[:1]).unlink()
            flip(path / "a/w" / ("0.0" if v2 else "c.0.0"), 200)
            found = self.faults(path)
            self.assertEqual(sorted(f["array"] for f in found), ["a/b", "a/w", "step"])
            missing = [f for f in found if f["array"] == "step"][0]
            self.assertIn("missing", missing["message"])
            shutil.rmtree(path)

    def test_truncated_and_additional_objects(self):
        path = self.checkpoint()
        target = path / "a/b/c.0"
        target.write_bytes(target.read_bytes()[:-1])
        (path / "a/w/c/9").mkdir(parents=True)
        (path / "a/w/c/9/9").write_bytes(b"no chunk")
        found = self.faults(path)
        self.assertEqual([(f["kind"], f["key"]) for f in found], [("fault", "c.0"), ("note", "c/9/9")])
        self.assertIn("99 bytes", found[0]["message"])

    def test_documents_beside_the_commit(self):
        path = self.checkpoint()
        document = path / "a/w/zarr.json"
        document.write_text(document.read_text().replace("96", "97"))
        (path / "a/zarr.json").unlink()
        found = self.faults(path)
        self.assertEqual({f["file"] for f in found}, {str(document), str(path / "a/zarr.json")})

    def test_a_damaged_root_document_and_what_else_is_wrong(self):
        path = self.checkpoint("c.zarr", "--codec", "zstd")
        flip(path / "zarr.json", 900)
        flip(path / "a/w/c.0.0", 60)
        found = self.faults(path)
        self.assertIn(str(path), found[0]["file"])
        self.assertTrue(any(f.get("array") == "a/w" and f.get("key") == "c.0.0" for f in found))

    def test_hierarchies_of_others(self):
        root = zarr.create_group(self.folder / "z.zarr")
        for name in ("x", "g/y"):
            root.create_array(
                name,
                data=random_array("float64", (30, 40)),
                chunks=(5, 8),
                shards=(10, 16),
                compressors=[ZstdCodec(), Crc32cCodec()],
            )
        flip(self.folder / "z.zarr/x/c/1/2", 30)
        flip(self.folder / "z.zarr/x/c/0/0", 30)
        flip(self.folder / "z.zarr/g/y/c/2/1", -1)
        found = self.faults(self.folder / "z.zarr")
        self.assertEqual(
            [(f["array"], f["key"]) for f in found], [("g/y", "c/2/1"), ("x", "c/0/0"), ("x", "c/1/2")]
        )
        self.assertTrue(all("chunk" in f for f in found[1:]))
        (self.folder / "z.zarr/g/y/zarr.json").write_text("{")
        found = self.faults(self.folder / "z.zarr")
        self.assertIn(str(self.folder / "z.zarr/g/y/zarr.json"), [f["file"] for f in found])

    def test_chunks_of_a_rectilinear_grid(self):
        path = self.folder / "a.zarr"
        grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[3, 4]]}}
        document = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [7],
            "data_type": "int8",
            "fill_value": 0,
        }
        document |= {"chunk_grid": grid, "chunk_key_encoding": {"name": "default"}}
        (path / "c").mkdir(parents=True)
        (path / "zarr.json").write_text(
            json.dumps(document | {"codecs": [{"name": "bytes"}, {"name": "crc32c"}]})
        )
        for key, data in (("0", b"abc"), ("1", b"defg"), ("2", b"hij")):
            (path / "c" / key).write_bytes(data + struct.pack("<I", google_crc32c.value(data)))
        found = self.json("verify", path)
        self.assertEqual((found["ok"], found["bytes"], found["notes"]), (True, 7, 1))
        self.assertEqual([each["key"] for each in found["findings"]], ["c/2"])
        (path / "c/1").write_bytes(b"defgXXXX")
        found = self.json("verify", path, status=NO)
        self.assertEqual([each["key"] for each in found["findings"]], ["c/1", "c/2"])

    def test_what_is_not_supported_is_not_verified(self):
        zarr.create_array(self.folder / "b.zarr", data=np.arange(5), compressors=BloscCodec())
        rename_codec(self.folder / "b.zarr/zarr.json", "blosc", "pcodec")
        found = self.json("verify", self.folder / "b.zarr", status=UNVERIFIED)
        self.assertEqual((found["ok"], found["faults"], found["unverified"]), (False, 0, 1))
        self.assertIn("pcodec", found["findings"][0]["message"])

    def test_a_frame_of_blosc2_is_not_verified(self):
        path = self.folder / "b.zarr"
        zarr.create_array(path, data=np.arange(100), compressors=BloscCodec())
        frame = bytearray((path / "c/0").read_bytes())
        frame[0] = 5  # the version of the format, which Blosc2 counts on
        (path / "c/0").write_bytes(frame)
        found = self.json("verify", path, status=UNVERIFIED)
        self.assertEqual((found["verdict"], found["faults"], found["unverified"]), ("not verified", 0, 1))
        self.assertIn("Blosc2", found["findings"][0]["message"])

    def test_where_there_is_nothing_to_verify(self):
        zarr.create_group(self.folder / "e.zarr")
        found = self.json("verify", self.folder / "e.zarr", status=UNVERIFIED)
        self.assertEqual((found["ok"], found["arrays"], found["unverified"]), (False, 0, 1))
        self.assertIn("nothing was verified", found["findings"][0]["message"])

    def test_consolidated_metadata_that_are_old(self):
        """Values come from each node's own document, and each difference has a name."""
        for zarr_format in (2, 3):
            path = self.folder / f"v{zarr_format}.zarr"
            root = zarr.create_group(path, zarr_format=zarr_format, attributes={"n": 1})
            for name in ("same", "resized", "removed", "g/replaced", "g/unit"):
                root.create_array(name, data=np.arange(3))
            zarr.consolidate_metadata(path)
            self.assertTrue(self.json("verify", path)["ok"])
            self.assertEqual(self.expect(OK, "inspect", path).stderr, b"")

            now = zarr.open_group(path, mode="a", use_consolidated=False)
            now.create_array("added", data=np.arange(2))
            now["resized"].resize((6,))
            now["resized"][3:] = 7
            now.create_array("g/replaced", data=np.array([1.5]), overwrite=True)
            now["g/unit"].attrs["unit"] = "m"
            wanted = {"added", "resized", "g/replaced", "g/unit"}
            found = self.faults(path)
            self.assertEqual({f["array"] for f in found}, wanted)
            self.assertTrue(all("consolidated metadata" in f["message"] for f in found))
            self.assertEqual(self.json("cat", path, "resized"), [0, 1, 2, 7, 7, 7])
            self.assertEqual(self.json("cat", path, "g/replaced"), [1.5])
            done = self.expect(OK, "convert", path, self.folder / f"{zarr_format}.safetensors")
            for name in wanted:
                self.assertIn(f'"{name}": '.encode(), done.stderr)
            self.assertEqual(self.json("cat", self.folder / f"{zarr_format}.safetensors", "added"), [0, 1])

            shutil.rmtree(path / "removed")
            self.assertEqual({f["array"] for f in self.faults(path)}, wanted | {"removed"})
            self.assertIn("no document of its own", self.refused("cat", path, "removed"))
            target = self.folder / f"r{zarr_format}.safetensors"
            self.assertIn('"removed"', self.refused("convert", path, target))
            self.expect(OK, "convert", path, target, "--skip", "removed")
            zarr.consolidate_metadata(path)
            self.expect(OK, "verify", path)

    def test_consolidated_metadata_without_anything(self):
        path = self.folder / "v2.zarr"
        zarr.create_group(path, zarr_format=2).create_array("a", data=np.arange(3))
        for text in ('{"zarr_consolidated_format":1,"metadata":{}}', ""):
            (path / ".zmetadata").write_text(text)
            self.assertEqual(self.json("cat", path, "a"), [0, 1, 2])
            self.assertIn("Zarr v2", self.text("inspect", path))
            found = self.faults(path)
            self.assertTrue(found and all(f["file"].startswith(str(path)) for f in found))

    def test_documents_of_groups(self):
        for to, name in (("zarr3", "zarr.json"), ("zarr2", ".zgroup")):
            target = self.folder / f"{to}.zarr"
            self.expect(OK, "convert", self.source, target, "--to", to)
            self.expect(OK, "verify", target)
            document = target / "a" / name
            document.write_text('{"zarr_format":3,"node_type":"array"}')
            self.assertEqual([f["file"] for f in self.faults(target)], [str(document)])

    def test_attributes_beside_the_commit(self):
        root = zarr.create_group(self.folder / "z.zarr", attributes={"n": 1})
        root.create_group("g", attributes={"n": 2}).create_group("e", attributes={"n": 3})
        root.create_array("g/w", data=np.arange(4), attributes={"n": 4})
        root.create_array("bare", data=np.arange(4))
        root.create_group("nan", attributes={"x": math.nan}).create_array(
            "w", data=np.arange(4), attributes={"x": [math.nan]}
        )
        for to in ("zarr2", "zarr3"):
            target = self.folder / f"{to}.zarr"
            self.text("convert", self.folder / "z.zarr", target, "--to", to)
            self.expect(OK, "verify", target)
            name = ".zattrs" if to == "zarr2" else "zarr.json"
            for node, old in (("g", '"n": 2'), ("g/e", '"n": 3'), ("g/w", '"n": 4')):
                document = target / node / name
                good = document.read_text()
                with self.subTest(to=to, node=node):
                    document.write_text(good.replace(old, '"n": 9'))
                    found = self.faults(target, UNVERIFIED)
                    self.assertEqual([(f["kind"], f["file"]) for f in found], [("unverified", str(document))])
                    self.assertIn("zarrpoint seal", found[0]["message"])
                    document.unlink()
                    self.assertEqual([f["file"] for f in self.faults(target)], [str(document)])
                document.write_text(good)
            if to == "zarr2":
                extra = target / "bare/.zattrs"
                extra.write_text("{}")
                self.expect(OK, "verify", target)
                extra.write_text('{"n": 1}')
                self.assertEqual([f["file"] for f in self.faults(target, UNVERIFIED)], [str(extra)])
                extra.write_text("{")
                self.assertEqual([f["file"] for f in self.faults(target)], [str(extra)])
                extra.unlink()
            # What is consolidated is in a document of v2 of its own, in v3 in the root's.
            all_of_them = target / (".zmetadata" if to == "zarr2" else "zarr.json")
            good = json.loads(all_of_them.read_text())
            said = good["metadata"] if to == "zarr2" else good["consolidated_metadata"]["metadata"]
            for node in ("g", "g/e", "g/w"):
                changed = said[f"{node}/.zattrs"] if to == "zarr2" else said[node]["attributes"]
                changed["n"], old = 9, changed["n"]
                all_of_them.write_text(json.dumps(good, separators=(",", ":")))
                found = self.faults(target, UNVERIFIED)
                self.assertEqual([f["file"] for f in found], [str(all_of_them)])
                self.assertIn(f'consolidated metadata of "{node}"', found[0]["message"])
                changed["n"] = old

    def test_attributes_that_zarr_python_edited_are_sealed(self):
        for to, consolidated in (("zarr2", False), ("zarr3", False), ("zarr2", True), ("zarr3", True)):
            target = self.folder / f"{to}-{consolidated}.zarr"
            self.text("convert", self.source, target, "--to", to)
            root = zarr.open_group(target, use_consolidated=False)
            self.assertEqual(self.text("seal", target), f"sealed before  {target}\n")
            root.attrs["note"] = "new"
            root["a/w"].attrs["unit"] = "m"
            root["a"].attrs["layer"] = 1
            if consolidated:
                zarr.consolidate_metadata(target)
            found = self.json("verify", target, status=UNVERIFIED)
            self.assertEqual((found["verdict"], found["faults"]), ("not verified", 0))
            shown = self.expect(OK, "inspect", target)
            self.assertIn(b"zarrpoint seal", shown.stderr)
            self.assertIn(b"new", shown.stdout)
            np.testing.assert_array_equal(root["a/w"][:], self.arrays["a/w"])
            self.assertIn('attributes of "a/w"', self.text("seal", target))
            self.assertIn("OK", self.text("verify", target))
            self.assertEqual(self.expect(OK, "inspect", target).stderr, b"")
            again = zarr.open_group(target, use_consolidated=False)
            self.assertEqual(again.attrs["note"], "new")
            self.assertEqual(self.text("seal", target), f"sealed before  {target}\n")

    def test_what_is_not_sealed(self):
        path = self.checkpoint()
        document = path / "a/w/zarr.json"
        document.write_text(document.read_text().replace("96", "97"))
        before = (path / "zarr.json").read_bytes()
        self.assertIn(str(document), self.refused("seal", path))
        self.assertEqual((path / "zarr.json").read_bytes(), before)
        zarr.create_group(self.folder / "z.zarr")
        self.assertIn("that zarrpoint saved", self.refused("seal", self.folder / "z.zarr"))

    def test_a_commit_document_that_lost_its_name(self):
        for to, name in (("zarr3", "zarr.json"), ("zarr2", ".zattrs")):
            target = self.folder / f"{to}.zarr"
            self.expect(OK, "convert", self.source, target, "--to", to)
            document = target / name
            text = document.read_text()
            document.write_text(text.replace('"zarrpoint":', '"zarrpoinu":'))
            self.assertIn('under the name \\"zarrpoinu\\"', json.dumps(self.faults(target)))
            self.assertIn("zarrpoinu", self.refused("cat", target, "a/w"))
        document.unlink()
        self.assertIn("lacks the commit document", self.refused("cat", target, "a/w"))

    def test_every_element_of_every_container_is_read(self):
        """OK is said of every element that a user sees."""
        folder = self.folder
        everything = self.arrays | {"empty": np.zeros((0, 3), "int8"), "flags": np.ones(5, bool)}
        save_file(everything, self.source)
        count = sum(array.size for array in everything.values())
        made = {"in.safetensors": count}
        options = {
            "c.zarr": (),
            "c2.zarr": ("--to", "zarr2", "--codec", "gzip"),
            "shards.zarr": ("--codec", "zstd", "--chunk", "a/w=10,7", "--shard", "a/w=20,14"),
            "c.zip": (),
            "c.npz": (),
            "out.safetensors": (),
            "dcp": ("--to", "dcp"),
            "orbax": ("--to", "orbax"),
        }
        for name, how in options.items():
            self.expect(OK, "convert", self.source, folder / name, *how)
            made[name] = count
        np.save(folder / "a.npy", np.arange(4))
        texts = np.array(["a", "", "\u00e9", "long " * 9], dtype=object)
        root = zarr.create_group(folder / "texts.zarr")
        root.create_array("t", shape=(4,), dtype="str", chunks=(3,))[:] = texts
        root.create_array("fixed", data=np.array(["ab", "c"]))
        self.expect(OK, "convert", folder / "texts.zarr", folder / "ours.zarr")
        v2 = zarr.create_group(folder / "texts2.zarr", zarr_format=2)
        v2.create_array("t", shape=(4,), dtype="str", chunks=(3,))[:] = texts
        made |= {"a.npy": 4, "texts.zarr": 6, "ours.zarr": 6, "texts2.zarr": 4}
        for name, elements in made.items():
            with self.subTest(name):
                found = self.json("verify", folder / name)
                self.assertEqual((found["ok"], found["elements"]), (True, elements))
                self.assertEqual((found["elements_read"], found["elements_not_stored"]), (elements, 0))
                self.assertEqual((found["notes"], found["findings"]), (0, []))
        self.assertEqual(self.json("verify", folder / "texts2.zarr")["bytes"], 48)
        golden = ["dcp/one-process", "gguf/small.gguf", "torch/torch-1.13.0.pt", "torch/torch-2.15.0.pt"]
        golden += [f"orbax/pytree-{kind}-zarr{v}" for kind in ("files", "ocdbt") for v in (2, 3)]
        for name in golden:
            with self.subTest(name):
                found = self.json("verify", GOLDEN / name, status=None)
                told = found["elements_read"] + found["elements_not_stored"]
                self.assertGreater(found["elements_read"], 0)
                self.assertEqual(told == found["elements"], found["ok"])

    def test_chunks_under_other_keys(self):
        """Where the metadata look for chunks under other keys than those that are stored."""
        forms = [
            (2, {"name": "v2", "separator": "/"}, {"dimension_separator": "."}),
            (2, {"name": "v2", "separator": "."}, {"dimension_separator": "/"}),
            (3, None, {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}}),
            (3, None, {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}}}),
        ]
        for number, (zarr_format, encoding, wrong) in enumerate(forms):
            path = self.folder / f"{number}.zarr"
            how = {"shape": (4, 4), "chunks": (2, 2), "dtype": "int32", "zarr_format": zarr_format}
            zarr.create_array(path, chunk_key_encoding=encoding, **how)[...] = 5
            found = self.json("verify", path)
            self.assertEqual((found["elements"], found["elements_read"]), (16, 16))
            document = path / (".zarray" if zarr_format == 2 else "zarr.json")
            document.write_text(json.dumps(json.loads(document.read_text()) | wrong))
            found = self.json("verify", path, status=UNVERIFIED)
            self.assertEqual((found["elements_read"], found["elements_not_stored"]), (0, 16))
            self.assertEqual(len(found["findings"]), 1)
            message = found["findings"][0]["message"]
            self.assertIn("4 objects have the keys of chunks in another form", message)
            self.assertIn(next(iter(wrong)), message)
            # A chunk that is found does not make the others right.
            at = zarr.open_array(path, mode="r+")
            at[:2, :2] = 5
            found = self.json("verify", path, status=UNVERIFIED)
            self.assertEqual((found["elements_read"], found["elements_not_stored"]), (4, 12))

    def test_chunks_that_are_not_stored_are_counted(self):
        path = self.folder / "sparse.zarr"
        zarr.create_array(path, shape=(10,), chunks=(4,), dtype="int8", fill_value=3)[:4] = 1
        found = self.json("verify", path)
        self.assertEqual((found["elements"], found["elements_read"]), (10, 4))
        self.assertEqual(found["elements_not_stored"], 6)
        self.assertIn("6 elements not stored", self.text("verify", path))
        for chunk in (path / "c").iterdir():
            chunk.rename(path / "c/x")
        found = self.json("verify", path, status=UNVERIFIED)
        self.assertIn('"c/x", is none of its chunks', found["findings"][0]["message"])

    def test_what_is_part_of_nothing_is_named(self):
        path = self.folder / "z.zarr"
        root = zarr.create_group(path)
        root.create_array("g/w", data=np.arange(3))
        wanted = {"README": "part of no array", "g/notes": "part of no array", "hidden": "3 files"}
        wanted |= {"g/w/inner/zarr.json": "not a chunk", "g/w/inner/c/0": "not a chunk"}
        (path / "README").write_text("x")
        (path / "g/notes").write_text("x")
        shutil.copytree(path / "g/w", path / "hidden/deep")
        (path / "hidden/y").write_text("x")
        shutil.copytree(path / "g/w", self.folder / "copy")
        shutil.copytree(self.folder / "copy", path / "g/w/inner")
        found = self.json("verify", path)
        self.assertEqual((found["ok"], found["arrays"], found["notes"]), (True, 1, len(wanted)))
        said = {f["file"]: f["message"] for f in found["findings"]}
        for name, message in wanted.items():
            self.assertIn(message, said[str(path / name)])
        self.assertIn("hidden/deep/zarr.json, to which no document", said[str(path / "hidden")])

    def test_names_that_no_store_lists_are_told(self):
        path = self.folder / "z.zarr"
        root = zarr.create_group(path)
        root.create_array("w", data=np.arange(3))
        (path / "a\\b.txt").write_text("x")
        found = self.json("verify", path)
        self.assertEqual((found["ok"], found["notes"]), (True, 1))
        shutil.copytree(path / "w", path / "c\\d")
        found = self.json("verify", path, status=UNVERIFIED)
        hidden = [f for f in found["findings"] if f["kind"] == "unverified"]
        self.assertEqual([f["file"] for f in hidden], [str(path / "c\\d")])
        self.assertIn("backslash", hidden[0]["message"])

    def test_a_damaged_orbax_directory_is_faulty(self):
        """As every other format: exit status 1, and a report."""
        for golden in ("orbax/pytree-ocdbt-zarr3", "orbax/pytree-files-zarr2"):
            whole = GOLDEN / golden
            for file in sorted(whole.rglob("*")):
                if not file.is_file() or file.stat().st_size == 0:
                    continue
                # What one process wrote was merged into the database of all.
                part = str(file.relative_to(whole))
                if part not in ("manifest.ocdbt", "_METADATA") and not part.startswith("d/"):
                    continue
                path = self.folder / "damaged"
                shutil.copytree(whole, path)
                target = path / file.relative_to(whole)
                target.write_bytes(target.read_bytes()[: file.stat().st_size // 2])
                with self.subTest(file):
                    found = self.json("verify", path, status=None)
                    self.assertEqual((found["verdict"], found["ok"]), ("faulty", False))
                    self.assertIn("FAULTY", self.text("verify", path, status=NO))
                shutil.rmtree(path)

    def test_no_chunk_is_not_ok(self):
        zarr.create_array(self.folder / "n.zarr", shape=(5,), dtype="int8")
        found = self.json("verify", self.folder / "n.zarr", status=UNVERIFIED)
        self.assertEqual((found["verdict"], found["unverified"]), ("not verified", 1))
        self.assertIn("no chunk of it is stored", found["findings"][0]["message"])
        zarr.create_array(self.folder / "e.zarr", shape=(0,), dtype="int8")
        found = self.json("verify", self.folder / "e.zarr", status=UNVERIFIED)
        self.assertIn("no element", found["findings"][0]["message"])
        self.assertIn("NOT VERIFIED", self.text("verify", self.folder / "e.zarr", status=UNVERIFIED))

    def test_what_cannot_be_read_is_no_fault(self):
        np.savez_compressed(self.folder / "a.npz", x=np.zeros(1 << 20, np.float32))
        self.expect(OK, "verify", self.folder / "a.npz")
        self.expect(OK, "verify", self.folder / "a.npz", "--memory", "2M")  # it is read in pieces
        zarr.create_array(self.folder / "c.zarr", data=np.ones((4, 1 << 19)), chunks=(4, 1 << 19))
        self.expect(OK, "verify", self.folder / "c.zarr")
        found = self.json("verify", self.folder / "c.zarr", "--memory", "2M", status=UNVERIFIED)
        self.assertEqual((found["faults"], found["unverified"]), (0, 1))

    def test_safetensors(self):
        data = bytearray(self.source.read_bytes())
        self.source.write_bytes(data[:-1])
        self.assertEqual(self.faults(self.source)[0]["file"], str(self.source))
        flags = self.folder / "b.safetensors"
        save_file({"flags": np.ones(5, bool)}, flags)
        flip(flags, -2)
        found = self.faults(flags)
        self.assertEqual(found[0]["array"], "flags")
        self.assertIn("neither 0 nor 1", found[0]["message"])

    def test_a_sharded_index(self):
        folder = self.folder
        save_file({"x": np.arange(3)}, folder / "1.safetensors")
        save_file({"y": np.arange(4), "z": np.arange(5)}, folder / "2.safetensors")
        index = folder / "m.safetensors.index.json"
        names = {"x": "1.safetensors", "y": "2.safetensors"}
        index.write_text(json.dumps({"metadata": {"total_size": 56}, "weight_map": names}))
        found = self.json("verify", index)
        self.assertEqual((found["arrays"], found["notes"]), (2, 1))
        self.assertIn("not in the weight_map", found["findings"][0]["message"])
        index.write_text(json.dumps({"metadata": {"total_size": 57}, "weight_map": names}))
        self.assertIn("total_size", self.faults(index)[0]["message"])
        for wrong in ({"x": "2.safetensors"}, {"x": "../1.safetensors"}, {"x": 1}):
            index.write_text(json.dumps({"weight_map": wrong}))
            self.assertIn("weight_map", self.faults(index)[0]["message"])

    def test_ok_says_where_there_are_no_checksums(self):
        """A byte that changes is noticed exactly where it is said to be."""
        np.save(self.folder / "a.npy", np.arange(4))
        np.savez(self.folder / "a.npz", x=np.arange(4))
        values = np.frombuffer(np.random.default_rng(1).bytes(4000), "u4")
        places = {"a.npy": 1, "a.npz": 0, "in.safetensors": len(self.arrays)}
        for codec in ("none", "gzip", "zstd"):
            root = zarr.open_group(self.folder / codec, mode="w")
            root.create_array("x", data=values, compressors={"none": None, "gzip": GzipCodec(), "zstd": ZstdCodec()}[codec])
            places[codec] = int(codec != "gzip")
        root = zarr.open_group(self.folder / "sums", mode="w")
        root.create_array("x", data=values, compressors=[Crc32cCodec()])
        root.create_array("y", data=values, compressors=None)
        root.create_array("none", shape=(0,), dtype="u4")
        places["sums"] = 1
        with zarr.storage.ZipStore(self.folder / "z.zip", mode="w") as store:
            zarr.open_group(store, mode="w").create_array("x", data=values, compressors=None)
        places["z.zip"] = 0
        places[self.checkpoint("ours.zarr").name] = 0
        for name, bare in places.items():
            found = self.json("verify", self.folder / name)
            self.assertEqual(found["arrays_without_checksums"], bare, name)
            said = self.text("verify", self.folder / name)
            self.assertEqual("(no checksums to compare)" in said, bare == (found["arrays"]) and bare != 0, name)
        self.assertIn("3 arrays, 7.8 KiB read, 1 array without checksums", self.text("verify", self.folder / "sums"))
        data = bytearray((self.folder / "z.zip").read_bytes())
        data[data.index(values.tobytes()) + 5] ^= 1
        (self.folder / "z.zip").write_bytes(data)
        self.assertIn("crc32", self.faults(self.folder / "z.zip")[0]["message"])

    def test_npz_checksums(self):
        np.savez(self.folder / "a.npz", x=np.arange(100), y=np.arange(50))
        data = bytearray((self.folder / "a.npz").read_bytes())
        data[data.index(struct.pack("<q", 77))] ^= 1
        (self.folder / "a.npz").write_bytes(data)
        found = self.faults(self.folder / "a.npz")
        self.assertEqual([f["array"] for f in found], ["x"])
        self.assertIn("crc32", found[0]["message"])
        self.assertIn("crc32", self.refused("cat", self.folder / "a.npz", "x"))
        np.savez_compressed(self.folder / "c.npz", x=np.arange(1000) % 7)
        data = bytearray((self.folder / "c.npz").read_bytes())
        data[80] ^= 0x55
        (self.folder / "c.npz").write_bytes(data)
        self.assertEqual(self.faults(self.folder / "c.npz")[0]["array"], "x")
