# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""convert: bit by bit, from everything that is read to everything that is written."""

import json
import math
import subprocess
import time
import unittest
import warnings

import ml_dtypes
import numpy as np
import zarr
from safetensors import deserialize, safe_open
from safetensors.numpy import save_file
from support import BITS, COMMAND, FAILED, OK, SANITIZED, SMALL, Case, random_array, rename_codec, run
from zarr.codecs import BloscCodec

SHAPES = [(7, 10), (5,), (3, 1, 4), (), (0, 3)]


def many(dtypes):
    """An array of each dtype and shape, by nested names."""
    return {f"{name}/{i}": random_array(name, shape, i) for name in dtypes for i, shape in enumerate(SHAPES)}


def peak_kib(process):
    """The most memory that a process has had; 0 when it has ended."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


class Convert(Case):
    def raw(self, path, name):
        return self.expect(OK, "cat", path, name, "--raw").stdout

    def check(self, path, arrays):
        info = {a["name"]: a for a in self.json("inspect", path)["arrays"]}
        self.assertEqual(sorted(info), sorted(arrays))
        for name, array in arrays.items():
            self.assertEqual(
                (info[name]["dtype"], info[name]["shape"]), (array.dtype.name, list(array.shape))
            )
            self.assertEqual(self.raw(path, name), array.tobytes(), name)
        self.assertTrue(self.json("verify", path)["ok"])

    def test_what_lies_in_the_target_is_not_lost(self):
        save_file({"w": np.arange(5.0)}, self.folder / "m.safetensors")
        target = self.folder / "m.zarr"
        self.expect(OK, "convert", self.folder / "m.safetensors", target)
        inside = target / "m.safetensors"
        (self.folder / "m.safetensors").rename(inside)
        said = self.expect(FAILED, "convert", inside, target, "--overwrite").stderr
        self.assertIn(b"which --overwrite would replace", said)
        self.assertTrue(inside.exists())
        self.expect(OK, "convert", target, target, "--overwrite", "--codec", "zstd:1")
        self.expect(OK, "verify", target)

    def test_a_link_to_nothing_is_something(self):
        np.save(self.folder / "a.npy", np.arange(3))
        (self.folder / "b.npz").symlink_to("nowhere")
        self.expect(FAILED, "convert", self.folder / "a.npy", self.folder / "b.npz")
        self.assertTrue((self.folder / "b.npz").is_symlink())

    def test_a_codec_for_no_array(self):
        np.save(self.folder / "a.npy", np.arange(3))
        said = self.expect(
            FAILED, "convert", self.folder / "a.npy", self.folder / "c.zarr", "--codec", "b=zstd:1"
        ).stderr
        self.assertIn(b"--codec b=zstd:1: no array matches", said)

    def test_every_dtype_around_all_formats(self):
        names = [n for n in BITS if n not in ("complex128",)] + list(SMALL)
        arrays = many(names)
        path = self.folder / "a.safetensors"
        save_file(arrays, path, metadata={"format": "np", "note": "naïve"})
        for i, options in enumerate(
            [
                ("--to", "zarr3", "--codec", "zstd:3"),
                ("--to", "zarr2"),
                ("--to", "zarr3"),
                ("--to", "zarr2", "--codec", "gzip:1"),
                ("--to", "safetensors"),
            ]
        ):
            # Each reads what the one before has written.
            out = self.folder / f"{i}.{'safetensors' if i == 4 else 'zarr'}"
            self.text("convert", path, out, *options)
            self.check(out, arrays)
            path = out
        back = dict(deserialize(path.read_bytes()))
        for name, array in arrays.items():
            self.assertEqual(bytes(back[name]["data"]), array.tobytes(), name)
        info = self.json("inspect", path)
        self.assertEqual(info["attributes"], {"format": "np", "note": "naïve"})

    def test_npz_both_ways(self):
        arrays = many(BITS)
        np.savez_compressed(self.folder / "in.npz", **arrays)
        self.text("convert", self.folder / "in.npz", self.folder / "c.zarr", "--codec", "zstd")
        self.check(self.folder / "c.zarr", arrays)
        self.text("convert", self.folder / "c.zarr", self.folder / "out.npz")
        self.check(self.folder / "out.npz", arrays)
        with np.load(self.folder / "out.npz") as back:
            self.assertEqual(sorted(back.files), sorted(arrays))
            for name, array in arrays.items():
                self.assertEqual((back[name].dtype, back[name].shape), (array.dtype, array.shape))
                self.assertEqual(back[name].tobytes(), array.tobytes())

    def test_zarr_python_reads_what_is_written(self):
        arrays = {"w": random_array("float32", (100, 130)), "g/b": random_array("int64", (17,))}
        save_file(arrays, self.folder / "a.safetensors")
        for options in (
            ["--chunk", "10,13", "--shard", "50,65", "--codec", "zstd:1"],
            ["--codec", "gzip:9"],
            ["--to", "zarr2", "--codec", "zstd"],
        ):
            self.text(
                "convert", self.folder / "a.safetensors", self.folder / "c.zarr", *options, "--overwrite"
            )
            group = zarr.open_group(self.folder / "c.zarr", mode="r")
            for name, array in arrays.items():
                self.assertEqual(group[name][...].tobytes(), array.tobytes())
        info = self.json("inspect", self.folder / "c.zarr", "w")["arrays"][0]
        self.assertEqual(info["zarr_format"], 2)

    def test_chunks_shards_and_codecs_by_name(self):
        save_file(
            {"a/x": np.zeros((8, 8)), "b/x": np.zeros((8, 8)), "b/y": np.zeros(8)},
            self.folder / "a.safetensors",
        )
        self.text(
            "convert",
            self.folder / "a.safetensors",
            self.folder / "c.zarr",
            "--chunk",
            "4,4",
            "--shard",
            "a/*=8,8",
            "--chunk",
            "b/y=2",
            "--codec",
            "zstd:2",
            "--codec",
            "b/y=none",
        )
        info = {a["name"]: a for a in self.json("inspect", self.folder / "c.zarr")["arrays"]}
        self.assertEqual((info["a/x"]["chunks"], info["a/x"]["shards"]), ([4, 4], [8, 8]))
        self.assertEqual(info["b/x"]["chunks"], [4, 4])
        self.assertEqual(info["b/y"]["chunks"], [2])
        self.assertEqual([c["name"] for c in info["b/y"]["codecs"]], ["bytes"])
        self.assertEqual(info["a/x"]["codecs"][1]["configuration"]["level"], 2)

    def test_zarr_of_others_is_read(self):
        root = zarr.create_group(self.folder / "v3.zarr", attributes={"note": "x", "n": 1})
        arrays = {"a": random_array("float64", (30, 20)), "g/h/b": random_array("uint8", (99,))}
        for name, array in arrays.items():
            root.create_array(name, data=array, chunks=tuple(max(n // 4, 1) for n in array.shape))
        zarr.create_group(self.folder / "v2.zarr", zarr_format=2)
        for name, array in arrays.items():
            zarr.open_group(self.folder / "v2.zarr").create_array(
                name, data=array, compressors=None, order="F"
            )
        for name in ("v3.zarr", "v2.zarr"):
            for out in ("o.npz", "o.safetensors", "o.zarr"):
                self.expect(OK, "convert", self.folder / name, self.folder / out, "--overwrite")
                self.check(self.folder / out, arrays)
        self.assertEqual(self.json("diff", self.folder / "v3.zarr", self.folder / "o.zarr")["same"], True)

    def attributed(self, name, zarr_format, consolidated=False):
        """A hierarchy of zarr-python's with attributes of every node; one group is empty."""
        root = zarr.create_group(
            self.folder / name, zarr_format=zarr_format, attributes={"who": "zarr-python"}
        )
        for group in ("a", "a/b", "c", "e", "c/empty"):
            root.create_group(group, attributes={"group": group, "deep": [{"x": None}], "inf": math.inf})
        for array in ("a/w", "a/b/w", "c/w", "bare"):
            attributes = {"unit": array} if array != "bare" else {}
            root.create_array(array, data=np.arange(5), compressors=None, attributes=attributes)
        if consolidated:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                zarr.consolidate_metadata(self.folder / name)

    def attributes(self, name, **options):
        """By path, as zarr-python reads them; without our own."""
        group = zarr.open_group(self.folder / name, mode="r", **options)
        out = {path: dict(node.attrs) for path, node in group.members(max_depth=None)}
        return out | {"": {key: value for key, value in group.attrs.items() if key != "zarrpoint"}}

    def test_attributes_of_every_node_go_along(self):
        for zarr_format in (2, 3):
            for consolidated in (False, True):
                self.attributed(f"{zarr_format}{consolidated}.zarr", zarr_format, consolidated)
                source = f"{zarr_format}{consolidated}.zarr"
                wanted = self.attributes(source)
                self.assertEqual(wanted["c/empty"]["group"], "c/empty")
                for to in ("zarr2", "zarr3"):
                    with self.subTest(source=source, to=to):
                        options = ["--to", to, "--overwrite"]
                        done = self.expect(
                            OK, "convert", self.folder / source, self.folder / "o.zarr", *options
                        )
                        self.assertEqual(done.stderr, b"")
                        self.assertEqual(self.attributes("o.zarr"), wanted)
                        self.assertEqual(self.attributes("o.zarr", use_consolidated=True), wanted)
                        # And from ours on.
                        self.text("convert", self.folder / "o.zarr", self.folder / "p.zarr", *options)
                        self.assertEqual(self.attributes("p.zarr"), wanted)
                        self.expect(OK, "verify", self.folder / "p.zarr")

    def test_attributes_follow_names(self):
        self.attributed("a.zarr", 3)
        source = self.attributes("a.zarr")

        def converted(*options):
            done = self.expect(
                OK, "convert", self.folder / "a.zarr", self.folder / "o.zarr", "--overwrite", *options
            )
            return self.attributes("o.zarr"), done.stderr.decode()

        def moved(names):
            """What it is to be, of {new: old}."""
            return {new: source[old] if old is not None else {} for new, old in names.items()} | {
                "": source[""]
            }

        rest = {"c": "c", "c/w": "c/w", "c/empty": "c/empty", "e": "e", "bare": "bare"}
        of_a = {"x/y": "a", "x/y/w": "a/w", "x/y/b": "a/b", "x/y/b/w": "a/b/w", "x": None}
        for options, wanted in [
            (["a=x/y"], rest | of_a),
            (["a/**=x/y/**"], rest | of_a),
            (["a/w=a/v"], rest | {"a": "a", "a/v": "a/w", "a/b": "a/b", "a/b/w": "a/b/w"}),
            (["e=a/f"], {k: v for k, v in rest.items() if k != "e"}
             | {"a/f": "e", "a": "a", "a/w": "a/w", "a/b": "a/b", "a/b/w": "a/b/w"}),
        ]:
            with self.subTest(options=options):
                rules = [word for rule in options for word in ("--rename", rule)]
                self.assertEqual(converted(*rules), (moved(wanted), ""))
        self.assertEqual(converted("--only", "c/w")[0], moved({"c": "c", "c/w": "c/w"}))
        only = converted("--only", "c/*", "--skip", "**/empty")[0]
        self.assertEqual(only, moved({"c": "c", "c/w": "c/w"}))
        skipped = converted("--skip", "a/**", "--skip", "e", "--skip", "c/**")[0]
        self.assertEqual(skipped, moved({"bare": "bare"}))
        # Groups that are none any more.
        found, said = converted("--skip", "c/**", "--rename", "a=")
        self.assertEqual(found, moved({"w": "a/w", "b": "a/b", "b/w": "a/b/w", "bare": "bare", "e": "e"}))
        self.assertIn('attributes of group "a" are left out: its arrays are in the root', said)
        found, said = converted("--rename", "a/w=x/u", "--rename", "a/b/w=y/v", "--skip", "c/**")
        self.assertIn('group "a" are left out: its arrays are not in one group any more', said)
        self.assertEqual(found["x"], {})
        found, said = converted("--rename", "c=a/b", "--rename", "a/b/w=a/b/v")
        self.assertEqual(found["a/b"], source["a/b"])
        self.assertIn('group "c" are left out: those of "a/b" have their place', said)

    def test_attributes_that_have_no_place(self):
        self.attributed("a.zarr", 3)
        for out in ("o.npz", "o.safetensors"):
            done = self.expect(
                OK, "convert", self.folder / "a.zarr", self.folder / out, "--skip", "c/**", "--skip", "e"
            )
            self.assertIn("attributes of 2 arrays and 2 groups are left out", done.stderr.decode())
        done = self.expect(OK, "convert", self.folder / "a.zarr", self.folder / "p.npz", "--only", "bare")
        self.assertEqual(done.stderr, b"")

    def test_attributes_that_cannot_be_saved_are_left_out(self):
        self.attributed("a.zarr", 3)
        wanted = self.attributes("a.zarr")
        root = zarr.open_group(self.folder / "a.zarr")
        # What would be taken for a commit document is not one of a group's.
        root["c"].attrs["zarrpoint"] = 1
        deep = 1
        for _ in range(40):
            deep = [deep]
        root["c/w"].attrs["deep"] = deep
        root["a"].attrs["deep"] = deep
        done = self.expect(OK, "convert", self.folder / "a.zarr", self.folder / "o.zarr")
        said = done.stderr.decode()
        self.assertIn('attribute "zarrpoint" of group "c" is left out: the name is reserved', said)
        self.assertIn('attributes of array "c/w" are left out: nested too deeply', said)
        self.assertIn('attributes of group "a" are left out: nested too deeply', said)
        self.assertEqual(self.attributes("o.zarr"), {**wanted, "c/w": {}, "a": {}})

    def test_a_checkpoint_within_a_hierarchy(self):
        root = zarr.create_group(self.folder / "z.zarr")
        np.savez(self.folder / "a.npz", w=np.arange(3))
        self.text("convert", self.folder / "a.npz", self.folder / "z.zarr/inner")
        root["inner"].attrs["note"] = "mine"
        self.text("convert", self.folder / "z.zarr", self.folder / "o.zarr")
        self.assertEqual(self.attributes("o.zarr")["inner"], {"note": "mine"})

    def test_a_sharded_index(self):
        save_file({"x": np.arange(3)}, self.folder / "1.safetensors")
        save_file({"y": np.arange(4.0)}, self.folder / "2.safetensors")
        index = self.folder / "m.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"x": "1.safetensors", "y": "2.safetensors"}}))
        self.text("convert", index, self.folder / "c.zarr")
        self.check(self.folder / "c.zarr", {"x": np.arange(3), "y": np.arange(4.0)})

    def test_the_weight_map_decides(self):
        folder = self.folder / "in"
        folder.mkdir()
        save_file({"x": np.arange(3), "y": np.arange(4.0)}, folder / "1.safetensors")
        save_file({"x": np.arange(5), "old": np.arange(2)}, folder / "2.safetensors")
        index = folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"x": "2.safetensors", "y": "1.safetensors"}}))
        for number, place in enumerate((folder, index)):
            said = self.expect(OK, "convert", place, self.folder / f"{number}.zarr").stderr.decode()
            self.assertIn('leaves out 2 tensors of its files: "x" of 1.safetensors, "old" of', said)
            self.check(self.folder / f"{number}.zarr", {"x": np.arange(5), "y": np.arange(4.0)})
            notes = [one["message"] for one in self.json("verify", place)["findings"]]
            self.assertEqual(len(notes), 2)
            self.assertIn('the weight_map takes it from "2.safetensors"', notes[0])
        self.text("diff", folder, index)

    def test_casts(self):
        array = np.array([[0.1, -2.5, 3e38, 1e-40], [np.nan, np.inf, -np.inf, -0.0]])
        np.savez(self.folder / "a.npz", w=array, n=np.arange(5))
        wanted = {"w": array.astype(ml_dtypes.bfloat16), "n": np.arange(5, dtype="int32")}
        for out in ("o.zarr", "o.safetensors"):
            self.text(
                "convert",
                self.folder / "a.npz",
                self.folder / out,
                "--dtype",
                "w=bfloat16",
                "--dtype",
                "n=int32",
            )
            self.check(self.folder / out, wanted)
        self.assertIn(
            "npy has no dtype bfloat16",
            self.refused("convert", self.folder / "o.zarr", self.folder / "o.npz"),
        )
        self.text("convert", self.folder / "o.zarr", self.folder / "o.npz", "--dtype", "w=float32")
        self.assertEqual(np.load(self.folder / "o.npz")["w"].tobytes(), wanted["w"].astype("f4").tobytes())

    def test_strings(self):
        texts = np.array(["", "naïve", "日本語😀", "a\0b"])
        np.savez(self.folder / "a.npz", t=texts)
        self.text("convert", self.folder / "a.npz", self.folder / "c.zarr", "--codec", "zstd")
        self.assertEqual(self.json("cat", self.folder / "c.zarr"), texts.tolist())
        self.text("convert", self.folder / "c.zarr", self.folder / "b.npz")
        self.assertEqual(np.load(self.folder / "b.npz")["t"].tolist(), texts.tolist())

    def test_safetensors_in_several_files(self):
        rng = np.random.default_rng(7)
        arrays = {f"layers/{i}/w": rng.integers(0, 9, (4, 8 + i)).astype(np.int16) for i in range(5)}
        arrays["big"] = rng.normal(size=(20, 30))
        save_file(arrays, self.folder / "a.safetensors", {"format": "pt"})
        self.expect(OK, "convert", self.folder / "a.safetensors", self.folder / "a.zarr")
        out = self.folder / "m"
        for source in ("a.safetensors", "a.zarr"):
            self.expect(
                OK, "convert", self.folder / source, out, "--max-file-size", "0.15k", "--overwrite"
            )
            index = json.loads((out / "model.safetensors.index.json").read_text())
            self.assertEqual(index["metadata"], {"total_size": sum(a.nbytes for a in arrays.values())})
            self.assertEqual(set(index["weight_map"]), set(arrays))
            files = sorted(set(index["weight_map"].values()))
            self.assertEqual(
                sorted(path.name for path in out.iterdir()), [*files, "model.safetensors.index.json"]
            )
            self.assertEqual(files[-1], f"model-{len(files):05}-of-{len(files):05}.safetensors")
            sizes = []
            for name in files:
                with safe_open(out / name, "np") as file:
                    self.assertEqual(file.metadata(), {"format": "pt"})
                    held = {key: file.get_tensor(key) for key in file.keys()}
                self.assertEqual({k for k, v in index["weight_map"].items() if v == name}, set(held))
                sizes.append((len(held), sum(a.nbytes for a in held.values())))
                for key, value in held.items():
                    np.testing.assert_array_equal(value, arrays[key], strict=True)
            self.assertTrue(all(count == 1 or size <= 153 for count, size in sizes), sizes)
            self.assertTrue(any(count > 1 for count, _ in sizes), sizes)
            self.expect(OK, "verify", out)
            self.expect(OK, "diff", out, self.folder / "a.safetensors")
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()), ["a.safetensors", "a.zarr", "m"]
        )

    def test_what_cannot_be_several_files(self):
        save_file({"x": np.arange(3)}, self.folder / "a.safetensors")
        convert = ("convert", self.folder / "a.safetensors")
        for options, why in (
            (("o", "--max-file-size", "1k", "--to", "zarr3"), "for safetensors only, not for zarr3"),
            (("o", "--max-file-size", "0"), "not a size"),
            (("o", "--max-file-size", "much"), "not a size"),
            (("o.safetensors", "--max-file-size", "1k"), "names a file"),
        ):
            with self.subTest(why):
                self.assertIn(why, self.refused(*convert, self.folder / options[0], *options[1:]))
        other = self.folder / "o"
        other.mkdir()
        (other / "config.json").write_text("{}")
        for more in ((), ("--overwrite",)):
            self.refused(*convert, other, "--max-file-size", "1k", *more)
        said = self.refused(*convert, other, "--max-file-size", "1k", "--overwrite")
        self.assertIn(f"{other} is a directory with other files, not a safetensors model in several files", said)
        np.savez(self.folder / "t.npz", x=np.array(["text"]))
        said = self.refused("convert", self.folder / "t.npz", self.folder / "new", "--max-file-size", "1k")
        self.assertIn(f'{self.folder / "new"}: there is no tensor', said)
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()), ["a.safetensors", "o", "t.npz"]
        )
        self.assertEqual(sorted(path.name for path in other.iterdir()), ["config.json"])

    def test_strings_for_safetensors(self):
        texts = np.array(["", "naïve", "日本語😀", "a\0b"])
        np.savez(self.folder / "a.npz", t=texts, note=np.array("warm"), x=np.arange(3), b=np.array([b"\xff"]))
        self.text("convert", self.folder / "a.npz", self.folder / "c.zarr")
        for source in ("a.npz", "c.zarr"):
            out = self.folder / f"{source}.safetensors"
            said = self.expect(OK, "convert", self.folder / source, out).stderr.decode()
            self.assertIn('note: safetensors has no strings; into __metadata__ go: "', said)
            with safe_open(out, "np") as file:
                self.assertEqual(list(file.keys()), ["x"])
                metadata = file.metadata()
            self.assertEqual(metadata["note"], "warm")
            self.assertEqual(json.loads(metadata["t"]), texts.tolist())
            self.assertEqual(json.loads(metadata["b"]), [{"base64": "/w=="}])
            said = self.expect(OK, "convert", self.folder / source, out, "--overwrite", "--strings", "skip")
            self.assertIn('left out: "', said.stderr.decode())
            with safe_open(out, "np") as file:
                self.assertEqual((list(file.keys()), file.metadata()), (["x"], None))

    def test_a_string_and_an_attribute_of_one_name(self):
        root = zarr.create_group(self.folder / "a.zarr", attributes={"note": "mine"})
        root.create_array("note", shape=(), dtype=str)[...] = "theirs"
        said = self.refused("convert", self.folder / "a.zarr", self.folder / "o.safetensors")
        self.assertIn("an attribute there has that name", said)
        self.text(
            "convert", self.folder / "a.zarr", self.folder / "o.safetensors", "--rename", "note=notes/1"
        )
        with safe_open(self.folder / "o.safetensors", "np") as file:
            self.assertEqual(file.metadata(), {"note": "mine", "notes/1": "theirs"})

    def test_bytes_go_to_numpy(self):
        np.savez(self.folder / "a.npz", s=np.array([b"ab", b"\xff", b""]))
        self.text("convert", self.folder / "a.npz", self.folder / "c.zarr")
        self.text("convert", self.folder / "c.zarr", self.folder / "b.npz")
        self.assertEqual(np.load(self.folder / "b.npz")["s"].tolist(), [b"ab", b"\xff", b""])

    def names(self, *options):
        """Those of what is written, with the first element of each."""
        self.text("convert", self.folder / "a.npz", self.folder / "o.npz", "--overwrite", *options)
        with np.load(self.folder / "o.npz") as made:
            return {name: made[name].item() for name in made.files}

    def test_only_and_skip(self):
        names = ["a/w", "a/b", "c/d/w", "step"]
        np.savez(self.folder / "a.npz", **{name: np.array(i) for i, name in enumerate(names)})
        self.assertEqual(self.names("--only", "**/w"), {"a/w": 0, "c/d/w": 2})
        self.assertEqual(self.names("--only", "a/*", "--only", "step"), {"a/w": 0, "a/b": 1, "step": 3})
        self.assertEqual(self.names("--skip", "a/**"), {"c/d/w": 2, "step": 3})
        self.assertEqual(self.names("--only", "a/*", "--skip", "**/b"), {"a/w": 0})
        # What cannot be read does not stop the others.
        zarr.create_group(self.folder / "z.zarr")
        for name in ("good", "bad"):
            zarr.create_array(self.folder / f"z.zarr/{name}", data=np.arange(5), compressors=BloscCodec())
        rename_codec(self.folder / "z.zarr/bad/zarr.json", "blosc", "pcodec")
        self.refused("convert", self.folder / "z.zarr", self.folder / "z.npz")
        self.text("convert", self.folder / "z.zarr", self.folder / "z.npz", "--skip", "bad")
        self.check(self.folder / "z.npz", {"good": np.arange(5)})

    def test_rename(self):
        names = ["h.0.w", "h.1.w", "m/a", "m/n/b", "w"]
        np.savez(self.folder / "a.npz", **{name: np.array(i) for i, name in enumerate(names)})
        for options, wanted in [
            (["w=weight"], ["h.0.w", "h.1.w", "m/a", "m/n/b", "weight"]),
            (["m=x/y"], ["h.0.w", "h.1.w", "x/y/a", "x/y/n/b", "w"]),
            (["m="], ["h.0.w", "h.1.w", "a", "n/b", "w"]),
            (["h.*.w=layers/*/w"], ["layers/0/w", "layers/1/w", "m/a", "m/n/b", "w"]),
            (["h.?.w=?"], ["0", "1", "m/a", "m/n/b", "w"]),
            (["m/**=**"], ["h.0.w", "h.1.w", "a", "n/b", "w"]),
            (["m/**/b=**/c"], ["h.0.w", "h.1.w", "m/a", "n/c", "w"]),
            (["**/a=z/**/a"], ["h.0.w", "h.1.w", "z/m/a", "m/n/b", "w"]),
            (["**/w=z/**/w"], ["h.0.w", "h.1.w", "m/a", "m/n/b", "z/w"]),
            (["**=t/**", "w=last"], ["t/h.0.w", "t/h.1.w", "t/m/a", "t/m/n/b", "last"]),
            (["w=m/a", "m/a=w"], ["h.0.w", "h.1.w", "w", "m/n/b", "m/a"]),
        ]:
            rules = [word for rule in options for word in ("--rename", rule)]
            with self.subTest(options=options):
                self.assertEqual(self.names(*rules), {name: i for i, name in enumerate(wanted)})
        said = self.refused("convert", self.folder / "a.npz", self.folder / "p.npz", "--rename", "h.?.w=h")
        self.assertIn('"h.0.w" and "h.1.w" would both be "h"', said)
        # Other options mean the new names.
        options = ["--only", "w", "--rename", "w=v", "--dtype", "v=float32"]
        self.text("convert", self.folder / "a.npz", self.folder / "o.zarr", *options)
        self.assertEqual(self.json("inspect", self.folder / "o.zarr")["arrays"][0]["dtype"], "float32")

    def test_single_arrays_take_the_name_of_the_file(self):
        np.save(self.folder / "weights.npy", np.asfortranarray(np.arange(6).reshape(2, 3)))
        self.text("convert", self.folder / "weights.npy", self.folder / "c.zarr")
        self.check(self.folder / "c.zarr", {"weights": np.arange(6).reshape(2, 3)})

    def test_numbers_too_large_for_an_attribute(self):
        """They become texts of their digits, which a note says; texts of digits are kept."""
        note = "which are kept as texts"
        for form in (2, 3):
            path, copy = self.folder / f"{form}.zarr", self.folder / f"copy{form}.zarr"
            root = zarr.create_group(path, zarr_format=form)
            for name, value in (("a", 2**70), ("b", str(2**70)), ("c", 2**64 - 1)):
                root.create_array(name, data=np.arange(3), attributes={"deep": {"n": [1, value]}})
            said = self.expect(OK, "convert", path, copy, "--to", f"zarr{form}").stderr.decode()
            self.assertIn(f'attributes of "a" have numbers too large for 64 bits, {note}\n', said)
            self.assertIn(note, self.expect(OK, "diff", path, copy).stderr.decode())
            self.assertEqual(zarr.open_group(copy)["a"].attrs["deep"], {"n": [1, str(2**70)]})
            self.assertEqual(zarr.open_group(copy)["c"].attrs["deep"], {"n": [1, 2**64 - 1]})
            self.assertNotIn(note, self.expect(OK, "convert", copy, self.folder / f"again{form}.zarr").stderr.decode())
            # An array that is the root, and a number that no double is.
            zarr.create_array(self.folder / f"one{form}", data=np.arange(3), attributes={"x": "1e400"}, zarr_format=form)
            document = self.folder / f"one{form}" / ("zarr.json" if form == 3 else ".zattrs")
            document.write_text(document.read_text().replace('"1e400"', "1e400"))
            said = self.expect(OK, "convert", self.folder / f"one{form}", self.folder / f"to{form}.zarr").stderr.decode()
            self.assertIn("attributes of the root have numbers", said)

    def test_nothing_is_overwritten(self):
        np.savez(self.folder / "a.npz", x=np.arange(3))
        zarr.create_array(self.folder / "theirs.zarr", data=np.arange(3))
        (self.folder / "other").mkdir()
        (self.folder / "other/file").write_text("x")
        (self.folder / "f.safetensors").write_text("old")
        for out in ("theirs.zarr", "other", "f.safetensors"):
            self.assertIn("already_exists", self.refused("convert", self.folder / "a.npz", self.folder / out))
        for out in ("theirs.zarr", "other"):
            self.refused("convert", self.folder / "a.npz", self.folder / out, "--overwrite")
        self.assertEqual((self.folder / "other/file").read_text(), "x")
        self.assertEqual((self.folder / "f.safetensors").read_text(), "old")
        self.text("convert", self.folder / "a.npz", self.folder / "f.safetensors", "--overwrite")
        self.text("convert", self.folder / "a.npz", self.folder / "c.zarr")
        self.refused("convert", self.folder / "a.npz", self.folder / "c.zarr")
        self.text("convert", self.folder / "a.npz", self.folder / "c.zarr", "--overwrite")
        self.refused("convert", self.folder / "a.npz", self.folder / "no/such/folder.npz")
        left = sorted(p.name for p in self.folder.iterdir())
        self.assertEqual(left, ["a.npz", "c.zarr", "f.safetensors", "other", "theirs.zarr"])

    def test_a_failure_leaves_nothing(self):
        np.savez(self.folder / "a.npz", x=np.arange(1000))
        data = bytearray((self.folder / "a.npz").read_bytes())
        data[-2000] ^= 1
        (self.folder / "a.npz").write_bytes(data)
        for out in ("o.zarr", "o.safetensors", "o.npz"):
            self.assertIn("crc32", self.refused("convert", self.folder / "a.npz", self.folder / out))
        self.assertEqual([p.name for p in self.folder.iterdir()], ["a.npz"])

    def test_a_memory_limit_is_kept(self):
        arrays = {f"x{i}": np.arange(1_000_000) + i for i in range(8)}  # of 8 MB each
        np.savez_compressed(self.folder / "a.npz", **arrays)
        self.text(
            "convert", self.folder / "a.npz", self.folder / "c.zarr", "--memory", "64M", "--codec", "zstd"
        )
        self.text("convert", self.folder / "c.zarr", self.folder / "d.zarr", "--memory", "64M")
        self.check(self.folder / "d.zarr", arrays)
        for memory in ("20M", "24M", "30M"):  # it may be too little, but that is said
            done = run(
                "convert",
                self.folder / "c.zarr",
                self.folder / "m.zarr",
                "--overwrite",
                "--codec",
                "zstd:12",
                "--memory",
                memory,
            )
            self.assertTrue(done.returncode == OK or b"resource_limit" in done.stderr, done.stderr)
        # In parts to Zarr; PyTorch's formats are written whole.
        self.expect(OK, "convert", self.folder / "c.zarr", self.folder / "e.zarr", "--memory", "16M")
        self.check(self.folder / "e.zarr", arrays)
        said = self.refused("convert", self.folder / "c.zarr", self.folder / "e.dcp", "--to", "dcp", "--memory", "16M")
        self.assertIn("resource_limit", said)
        self.assertIn("--memory", said)

    @unittest.skipIf(SANITIZED, "AddressSanitizer takes memory of its own")
    def test_large_files_take_little_memory(self):
        count = 12_000_000  # 96 MB
        np.savez(self.folder / "a.npz", x=np.arange(count))
        self.text(
            "convert", self.folder / "a.npz", self.folder / "c.zarr", "--codec", "zstd", "--chunk", "100000"
        )
        for arguments in (
            ("convert", "c.zarr", "o.safetensors"),
            ("convert", "c.zarr", "o.npz"),
            # Larger than half of it: in parts.
            ("convert", "c.zarr", "d.zarr"),
            ("convert", "c.zarr", "e.zarr", "--to", "zarr2", "--dtype", "x=int32"),
            ("convert", "c.zarr", "f.orbax", "--to", "orbax", "--ocdbt", "off"),
            ("diff", "c.zarr", "d.zarr"),
            ("stats", "c.zarr"),
            ("verify", "c.zarr"),
            ("diff", "c.zarr", "c.zarr"),
            ("cat", "c.zarr", "--raw"),
        ):
            words = [str(self.folder / word) if "." in word else word for word in arguments]
            running = subprocess.Popen([COMMAND, *words, "--memory", "32M"], stdout=subprocess.DEVNULL)
            peak = 0
            while running.poll() is None:
                peak = max(peak, peak_kib(running.pid))
                time.sleep(0.002)
            self.assertEqual(running.returncode, OK, arguments)
            self.assertGreater(peak, 1024)
            self.assertLess(peak, 75 * 1024, arguments)  # of which the program itself takes 10 MiB
        self.assertEqual(np.load(self.folder / "o.npz")["x"][-1], count - 1)
        for name in ("e.zarr", "f.orbax"):
            done = self.text("cat", self.folder / name, "--slice", "-3:", "--json")
            self.assertEqual(json.loads(done), [count - 3, count - 2, count - 1])

    def test_bad_options(self):
        np.savez(self.folder / "a.npz", x=np.zeros((3, 4)))
        source = self.folder / "a.npz"
        zarr.create_array(self.folder / "b.zarr", data=np.arange(5), compressors=BloscCodec())
        rename_codec(self.folder / "b.zarr/zarr.json", "blosc", "pcodec")
        for arguments, word in [
            ((source, self.folder / "o.bin"), "give --to (zarr3, zarr2, orbax, safetensors, npz, dcp or"),
            ((source, self.folder / "o.zarr", "--codec", "blosc:10"), "clevel"),
            ((source, self.folder / "o.zarr", "--codec", "lz4"), "zstd[:LEVEL]"),
            ((source, self.folder / "o.zarr", "--codec", "zstd:x"), "the level is not a number"),
            ((source, self.folder / "o.zarr", "--codec", "zstd:99"), '"zstd": level 99 is not from -131072 to 22'),
            ((source, self.folder / "o.zarr", "--codec", "gzip:-1"), '"gzip": level -1 is not from 0 to 9'),
            ((source, self.folder / "o.zarr", "--codec", "x=gzip:10"), '"gzip": level 10 is not from 0 to 9'),
            ((source, self.folder / "o.zarr", "--chunk", "0,1"), "lengths"),
            ((source, self.folder / "o.zarr", "--chunk", "2"), "no array that matches has this rank"),
            ((source, self.folder / "o.zarr", "--dtype", "int8"), "GLOB=T"),
            ((source, self.folder / "o.zarr", "--dtype", "x=bfloat61"), '; the nearest is "bfloat16"'),
            ((source, self.folder / "o.zarr", "--dtype", "x=?????????"), "cast to. The dtypes are: bool, int2,"),
            ((source, self.folder / "o.zarr", "--only", "y"), "--only y: no array matches"),
            ((source, self.folder / "o.zarr", "--skip", "y"), "--skip y: no array matches"),
            ((source, self.folder / "o.zarr", "--skip", "*"), "leave nothing to convert"),
            ((source, self.folder / "o.zarr", "--rename", "y=z"), "--rename y=z: no array or group matches"),
            ((source, self.folder / "o.zarr", "--rename", "x"), "FROM=TO"),
            ((source, self.folder / "o.zarr", "--rename", "=x"), "FROM=TO"),
            ((source, self.folder / "o.zarr", "--rename", "x="), "no name"),
            ((source, self.folder / "o.zarr", "--rename", "x=../../up"), "invalid_argument"),
            ((source, self.folder / "o.npz", "--rename", "x=../up"), "invalid_argument"),
            ((source, self.folder / "o.zarr", "--rename", "x=*"), "TO has more wildcards"),
            ((source, self.folder / "o.zarr", "--rename", "*" * 100 + "=y"), "8 wildcards"),
            ((source, self.folder / "o.zarr", "--strings", "skip"), "for safetensors"),
            ((source, self.folder / "o.safetensors", "--strings", "no"), "--strings"),
            ((source, self.folder / "o.zarr", "--dtype", "y=int8"), "no array matches"),
            ((source, self.folder / "o.zarr", "--to", "zarr2", "--chunk", "1,1"), "v3"),
            ((source, self.folder / "o.npz", "--codec", "zstd"), "for Zarr"),
            ((source, self.folder / "o.zarr", "--to", "hdf5"), "--to"),
            ((self.folder / "b.zarr", self.folder / "o.npz"), "pcodec"),
        ]:
            self.assertIn(word, self.refused("convert", *arguments), arguments)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["a.npz", "b.zarr"])
