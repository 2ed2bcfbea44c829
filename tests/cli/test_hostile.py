# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged, hostile and foreign files: an error that says what, never a crash or a wrong value."""

import io
import json
import os
import pickle
import random
import struct
import zipfile

import numpy as np
import zarr
from safetensors.numpy import save_file
from support import FAILED, NO, OK, UNVERIFIED, Case, run

COMMANDS = [("inspect",), ("verify",), ("stats",), ("cat", "x", "--raw"), ("cat", "x")]


def npy(header, data=b"", version=(1, 0)):
    text = header.encode() + b"\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text + data


class Hostile(Case):
    def try_all(self, path, word=None):
        for command in COMMANDS:
            done = run(command[0], path, *command[1:])
            said = (done.stdout + done.stderr).decode(errors="replace")
            self.assertTrue(set(done.stderr.decode()) & set("\x1b\x07") == set())
            if word:
                self.assertIn(done.returncode, (NO, FAILED, UNVERIFIED), command)
                self.assertIn(word, said, command)

    def test_npy_headers(self):
        good = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"
        for data, word in [
            (npy(good, bytes(15)), "15 bytes of elements"),
            (npy(good, bytes(17)), "17 bytes"),
            (npy(good)[:20], "cut short"),
            (npy("{'descr': '<f8'}"), "missing"),
            (npy("[]"), "not a dictionary"),
            (npy(good.replace("<f8", "|O")), '"|O" is not supported'),
            (npy(good.replace("<f8", "<M8[s]"), bytes(15)), "15 bytes of elements"),
            (npy(good.replace("<f8", "<M8[x]")), "<M8[x]"),
            (npy(good.replace("'<f8'", "[('a', '<f8')]")), "structured"),
            (npy(good.replace("<f8", "<f16")), "<f16"),
            (npy(good.replace("2,", "-2,")), "lengths"),
            (npy(good.replace("2,", "9223372036854775807, 9")), "out_of_range"),
            (npy(good.replace("2,", "1," * 40)), "dimensions"),
            (npy(good + "x"), "after the dictionary"),
            (npy(good, version=(9, 0)), "version 9"),
            (npy(good.replace("False", "0")), "not a bool"),
            (npy(good.replace("<f8", "\\x1b[31m")), "not supported"),
            (b"\x93NUMPY", "cut short"),
            (b"", "begin"),
            (npy(good.replace("'<f8'", "'<U99999999999'")), "not supported"),
            (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31), "resource_limit"),
        ]:
            (self.folder / "x.npy").write_bytes(data)
            with self.subTest(word=word):
                self.try_all(self.folder / "x.npy", word)
        (self.folder / "b.npy").write_bytes(
            npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", b"\1\2")
        )
        self.assertIn("neither 0 nor 1", self.refused("cat", self.folder / "b.npy"))
        (self.folder / "u.npy").write_bytes(
            npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", struct.pack("<I", 0xD800))
        )
        self.assertEqual(self.json("cat", self.folder / "u.npy"), [{"code_points": [0xD800]}])

    def test_truncated_anywhere(self):
        array = np.arange(40, dtype="float32")
        np.save(self.folder / "a.npy", array)
        np.savez(self.folder / "a.npz", x=array)
        np.savez_compressed(self.folder / "c.npz", x=array)
        save_file({"x": array}, self.folder / "a.safetensors")
        for name in ("a.npy", "a.npz", "c.npz", "a.safetensors"):
            data = (self.folder / name).read_bytes()
            path = self.folder / ("cut-" + name)
            for size in sorted({0, 1, 7, 8, 9, 30, 60, 100, len(data) // 2, len(data) - 23, len(data) - 1}):
                if size >= len(data):
                    continue
                path.write_bytes(data[:size])
                for command in COMMANDS:
                    done = run(command[0], path, *command[1:])
                    self.assertIn(done.returncode, (NO, FAILED), (name, size, command))

    def test_random_damage_gives_no_wrong_value_where_there_is_a_checksum(self):
        array = np.arange(5000, dtype="float32")
        np.savez(self.folder / "s.npz", x=array)
        np.savez_compressed(self.folder / "c.npz", x=array)
        self.text(
            "convert", self.folder / "s.npz", self.folder / "z.zarr", "--codec", "zstd", "--chunk", "1000"
        )
        source = random.Random(5)
        for path in (
            self.folder / "s.npz",
            self.folder / "c.npz",
            self.folder / "z.zarr/x/c.0",
            self.folder / "z.zarr/zarr.json",
        ):
            good = path.read_bytes()
            place = path if path.suffix == ".npz" else self.folder / "z.zarr"
            for _ in range(60):
                data = bytearray(good)
                data[source.randrange(len(data))] ^= 1 << source.randrange(8)
                path.write_bytes(data)
                done = run("cat", place, "x", "--raw")
                if done.returncode == OK:  # damage where nothing depends on it
                    self.assertEqual(done.stdout, array.tobytes())
                run("verify", place)
                run("inspect", place)
            path.write_bytes(good)
        self.assertTrue(self.json("verify", self.folder / "z.zarr")["ok"])

    def test_zip_archives(self):
        def archive(**members):
            with zipfile.ZipFile(self.folder / "x.npz", "w") as to:
                for name, data in members.items():
                    to.writestr(name.replace("_", "."), data)
            return self.folder / "x.npz"

        self.assertIn("without npy", self.refused("inspect", archive(a_txt=b"x")))
        self.assertIn("Zarr in it", self.refused("inspect", archive(zarr_json=b"{}")))
        memory = io.BytesIO()
        np.save(memory, np.arange(3))
        path = archive(x_npy=memory.getvalue(), note_txt=b"x")
        self.assertEqual(self.json("cat", path, "x"), [0, 1, 2])
        self.assertIn("not an npy file", self.text("inspect", path))
        data = bytearray(path.read_bytes())
        for offset, word in ((8, "encrypted"), (10, "local header")):  # of the directory's first entry
            bad = bytearray(data)
            at = bad.index(b"PK\x01\x02")
            bad[at + offset] = 1
            path.write_bytes(bad)
            self.assertIn(word, self.refused("cat", path, "x"))
        self.assertIn("not an npy file", self.text("inspect", path))  # the other refuses only itself
        # A member that says to be far larger than what deflate can make of its bytes.
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as to:
            to.writestr("x.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000,), }"))
        bad = bytearray(path.read_bytes())
        at = bad.index(b"PK\x01\x02")
        header = len(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000,), }"))
        bad[at + 24 : at + 28] = struct.pack("<I", 4000000000 + header)
        path.write_bytes(bad)
        self.assertIn("deflate cannot reach", self.refused("cat", path, "x"))

    def test_safetensors_headers(self):
        def file(header, data=b""):
            text = header if isinstance(header, bytes) else json.dumps(header).encode()
            (self.folder / "x.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
            return self.folder / "x.safetensors"

        entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        for header, data, word in [
            ({"x": entry}, bytes(7), "beyond"),
            ({"x": entry}, bytes(9), "after the last"),
            (b"{", b"", "header"),
            ({"x": entry | {"dtype": "F4"}}, bytes(8), "but 1 are needed"),
            ({"x": entry | {"dtype": "F6_E2M3"}}, bytes(8), "does not fill whole bytes"),
            ({"x": entry | {"shape": [3]}}, bytes(8), "are needed for"),
            ({"x": entry | {"data_offsets": [4, 12]}}, bytes(12), "beyond the data before it"),
            ({"x": 1}, b"", "not an object"),
            ({"x": entry | {"shape": [2**62, 2**62]}}, bytes(8), "out_of_range"),
            ({"\x1b": 1}, b"", "?"),
        ]:
            self.try_all(file(header, data), word)
        (self.folder / "y.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}")
        self.try_all(self.folder / "y.safetensors", "limit")
        # What older writers did not align is read, too.
        text = b'{"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}'
        path = file(text + b" " * (1 - len(text) % 2), struct.pack("<2d", 1.5, -2))
        self.assertEqual(self.json("cat", path), [1.5, -2])
        self.text("convert", path, self.folder / "u.zarr")
        self.assertEqual(self.json("cat", self.folder / "u.zarr"), [1.5, -2])

    def test_zarr_documents(self):
        array = zarr.create_array(self.folder / "x", data=np.arange(8), chunks=(4,), compressors=None)
        del array
        document = self.folder / "x/zarr.json"
        good = json.loads(document.read_text())
        for change, word in [
            ({"data_type": "float128"}, "float128"),
            ({"codecs": [{"name": "magic"}]}, "magic"),
            ({"shape": [-1]}, "shape"),
            ({"chunk_grid": {"name": "wild"}}, "wild"),
            ({"shape": [2**63]}, ""),
            ({"node_type": "cat"}, ""),
            ({"storage_transformers": [{"name": "t"}]}, "storage_transformers"),
            ({"must": {"must_understand": True}}, "must"),
            ({"zarr_format": 4}, ""),
        ]:
            document.write_text(json.dumps(good | change))
            done = run("cat", self.folder / "x", "--raw")
            self.assertEqual(done.returncode, FAILED, change)
            self.assertIn(word, done.stderr.decode())
            run("inspect", self.folder / "x")
            run("verify", self.folder / "x")

    def test_shapes_beyond_all_memory(self):
        zarr.create_array(self.folder / "one/x", data=np.arange(8), chunks=(4,), compressors=None)
        good = json.loads((self.folder / "one/x/zarr.json").read_text())

        def put(name, shape, chunk, data_type="int64"):
            grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
            document = good | {"shape": shape, "chunk_grid": grid, "data_type": data_type}
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            (self.folder / name / "zarr.json").write_text(json.dumps(document))
            return self.folder / name

        # A chunk that no memory holds is named; what lies in small ones is read.
        vast = put("vast", [2**61], [2**60])
        self.assertIn("does not fit in memory", self.text("inspect", vast))
        for slices in ((), ("--slice", "5")):
            self.assertIn("does not fit in memory", self.refused("cat", vast, *slices))
        x = put("one/x", [2**61], [4])
        self.assertEqual(self.text("cat", x).splitlines()[1].split(), "[0 1 2 ... 0 0 0]".split())
        self.assertEqual(self.json("cat", x, "--slice", "2:6"), [2, 3, 4, 5])
        self.assertEqual(self.json("cat", x, "--slice=-1"), 0)
        self.assertEqual(self.json("cat", x, "--slice", f"5::{2**60}"), [5, 0])
        self.assertTrue(self.json("verify", x)["ok"])

        # As many elements, and as many bytes, as are not counted; and more than one such array.
        most = 2**63 - 1
        for name, shape, chunk, kind in (
            ("many/a", [most], [4], "float64"),
            ("many/b", [most], [4], "uint8"),
            ("many/c", [2**40, 2**40], [1, 1], "int16"),
        ):
            one = put(name, shape, chunk, kind)
            found = self.json("inspect", one)
            self.assertEqual(found["arrays"][0]["shape"], shape)
            self.assertEqual(found["arrays"][0]["stored_bytes"], 0)
            self.assertNotIn("bytes", found["arrays"][0])
            self.assertNotIn("bytes", found["totals"])
            self.assertIn("≥8.0 EiB", self.text("inspect", one))
            said = self.text("cat", one)
            self.assertIn("...", said)
            self.assertEqual(set(said.split("\n", 1)[1].replace("...", "0")) - set("[]. \n"), {"0"})
            corner = ",".join(["-1:"] * len(shape))
            self.assertEqual(
                np.array(self.json("cat", one, f"--slice={corner}")).tolist(),
                np.zeros([1] * len(shape)).tolist(),
            )
            self.json("verify", one, status=UNVERIFIED)  # no chunk is stored
        many = self.json("inspect", self.folder / "many")
        self.assertEqual(len(many["arrays"]), 3)
        self.assertNotIn("bytes", many["totals"])
        total = self.text("inspect", self.folder / "many").split("3 arrays")[1].split("\n")[0]
        self.assertIn("≥8.0 EiB", total)
        self.assertEqual(self.json("verify", self.folder / "many", status=UNVERIFIED)["unverified"], 3)
        # An extent of 2^63 is not a number of elements.
        self.assertIn("shape", self.refused("cat", put("over", [2**63], [4])))

    def test_other_formats_are_named(self):
        for name, data, word in [
            ("m.pt", pickle.dumps([1], 2), "pickle"),
            ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), "HDF5"),
            ("m.gguf", b"GGUF" + bytes(99), "version 0 of GGUF"),
            ("m.gz", b"\x1f\x8b" + bytes(99), "gzip"),
            ("m.json", b'{"a": 1}', "weight_map"),
            ("m.bin", b"something", "unknown format"),
            ("e", b"", "unknown format"),
        ]:
            (self.folder / name).write_bytes(data)
            self.assertIn(word, self.refused("inspect", self.folder / name))
        (self.folder / "dir").mkdir()
        self.assertIn("not a Zarr hierarchy", self.refused("inspect", self.folder / "dir"))
        zarr.create_array(self.folder / "loose/a/b", data=np.arange(3))
        self.assertEqual(self.json("cat", self.folder / "loose", "a/b"), [0, 1, 2])
        (self.folder / "dir/manifest.ocdbt").write_bytes(b"x")
        self.assertIn("manifest.ocdbt: it is too short", self.refused("inspect", self.folder / "dir"))
        os.mkfifo(self.folder / "fifo")
        self.assertIn("neither a file nor", self.refused("inspect", self.folder / "fifo"))
