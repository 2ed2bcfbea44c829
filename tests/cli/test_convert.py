# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""convert: bit by bit, from everything that is read to everything that is written."""

import json
import subprocess
import time
import unittest

import ml_dtypes
import numpy as np
import zarr
from safetensors import deserialize
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
        self.assertIn(b"which would be replaced with it", said)
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
        self.assertIn(b"--codec b=zstd:1: no array has such a name", said)

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

    def test_a_sharded_index(self):
        save_file({"x": np.arange(3)}, self.folder / "1.safetensors")
        save_file({"y": np.arange(4.0)}, self.folder / "2.safetensors")
        index = self.folder / "m.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"x": "1.safetensors", "y": "2.safetensors"}}))
        self.text("convert", index, self.folder / "c.zarr")
        self.check(self.folder / "c.zarr", {"x": np.arange(3), "y": np.arange(4.0)})

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
        self.assertIn(
            "safetensors has no dtype string",
            self.refused("convert", self.folder / "c.zarr", self.folder / "c.safetensors"),
        )
        self.assertFalse((self.folder / "c.safetensors").exists())

    def test_single_arrays_take_the_name_of_the_file(self):
        np.save(self.folder / "weights.npy", np.asfortranarray(np.arange(6).reshape(2, 3)))
        self.text("convert", self.folder / "weights.npy", self.folder / "c.zarr")
        self.check(self.folder / "c.zarr", {"weights": np.arange(6).reshape(2, 3)})

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
        said = self.refused("convert", self.folder / "c.zarr", self.folder / "e.zarr", "--memory", "16M")
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

    def test_bad_options(self):
        np.savez(self.folder / "a.npz", x=np.zeros((3, 4)))
        source = self.folder / "a.npz"
        zarr.create_array(self.folder / "b.zarr", data=np.arange(5), compressors=BloscCodec())
        rename_codec(self.folder / "b.zarr/zarr.json", "blosc", "pcodec")
        for arguments, word in [
            ((source, self.folder / "o.bin"), "--to is needed"),
            ((source, self.folder / "o.zarr", "--codec", "blosc:10"), "clevel"),
            ((source, self.folder / "o.zarr", "--codec", "lz4"), "is meant"),
            ((source, self.folder / "o.zarr", "--codec", "zstd:x"), "no level"),
            ((source, self.folder / "o.zarr", "--codec", "zstd:99"), "zstd"),
            ((source, self.folder / "o.zarr", "--chunk", "0,1"), "lengths"),
            ((source, self.folder / "o.zarr", "--chunk", "2"), "fits no array"),
            ((source, self.folder / "o.zarr", "--dtype", "int8"), "GLOB=T"),
            ((source, self.folder / "o.zarr", "--dtype", "x=int99"), "GLOB=T"),
            ((source, self.folder / "o.zarr", "--dtype", "y=int8"), "no array"),
            ((source, self.folder / "o.zarr", "--to", "zarr2", "--chunk", "1,1"), "v3"),
            ((source, self.folder / "o.npz", "--codec", "zstd"), "for Zarr"),
            ((source, self.folder / "o.zarr", "--to", "hdf5"), "--to"),
            ((self.folder / "b.zarr", self.folder / "o.npz"), "pcodec"),
        ]:
            self.assertIn(word, self.refused("convert", *arguments), arguments)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["a.npz", "b.zarr"])
