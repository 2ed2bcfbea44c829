# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Zarr in a zip file: every command takes it, convert writes it, and the peers read that."""

import json
import zipfile

import numpy as np
import tensorstore
import zarr
from safetensors.numpy import save_file
from support import GOLDEN, NO, OK, Case, random_array, run
from zarr.storage import ZipStore


class Zip(Case):
    def arrays(self):
        return {
            "a/w": random_array("float32", (70, 900)),
            "a/b": random_array("int16", (5,)),
            "s": np.float64(3),
        }

    def test_convert_writes_what_all_read(self):
        arrays = self.arrays()
        source = self.folder / "in.safetensors"
        save_file({name: np.asarray(value) for name, value in arrays.items()}, source)
        for options in ((), ("--to", "zarr2"), ("--codec", "zstd:3")):
            out = self.folder / "out.zarr.zip"
            self.expect(OK, "convert", source, out, "--overwrite", *options)
            self.assertTrue(zipfile.is_zipfile(out))
            self.assertIsNone(zipfile.ZipFile(out).testzip())
            self.assertTrue(self.json("verify", out)["ok"])
            self.expect(OK, "diff", source, out)
            store = ZipStore(out, mode="r")
            theirs = zarr.open_group(store, mode="r")
            driver = "zarr" if "--to" in options else "zarr3"
            for name, value in arrays.items():
                self.assertEqual(self.expect(OK, "cat", out, name, "--raw").stdout, value.tobytes())
                self.assertEqual(theirs[name][...].tobytes(), value.tobytes())
                kvstore = {"driver": "zip", "base": f"file://{out}", "path": f"{name}/"}
                opened = tensorstore.open(
                    {"driver": driver, "kvstore": kvstore}, read=True, open=True
                ).result()
                self.assertEqual(opened.read().result().tobytes(), value.tobytes())
            store.close()

    def test_zip_files_of_zarr_python(self):
        for zarr_format in (2, 3):
            for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                path = self.folder / f"v{zarr_format}-{compression}.zip"
                store = ZipStore(path, mode="w", compression=compression)
                group = zarr.create_group(store, zarr_format=zarr_format, attributes={"k": 1})
                for name, value in self.arrays().items():
                    group.create_array(name, data=np.asarray(value), compressors=None)
                store.close()
                info = self.json("inspect", path)
                self.assertEqual({a["name"] for a in info["arrays"]}, set(self.arrays()))
                for name, value in self.arrays().items():
                    self.assertEqual(self.expect(OK, "cat", path, name, "--raw").stdout, value.tobytes())
                self.assertTrue(self.json("verify", path)["ok"])

    def test_several_hierarchies_in_a_file(self):
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            path = self.folder / f"two-{compression}.zip"
            store = ZipStore(path, mode="w", compression=compression)
            for name, zarr_format in (("run/a", 2), ("b", 3)):
                group = zarr.create_group(
                    store, path=name, zarr_format=zarr_format, attributes={"name": name}
                )
                for leaf, value in self.arrays().items():
                    group.create_array(leaf, data=np.asarray(value), compressors=None)
            store.close()
            names = {f"{group}/{leaf}" for group in ("run/a", "b") for leaf in self.arrays()}
            # All of them by the file; those of one by its name, or by its path.
            self.assertEqual({a["name"] for a in self.json("inspect", path)["arrays"]}, names)
            self.assertTrue(self.json("verify", path)["ok"])
            one = self.json("inspect", path, "run/a")["arrays"]
            self.assertEqual({a["name"] for a in one}, {n for n in names if n.startswith("run/")})
            for group in ("run/a", "b"):
                inner = self.json("inspect", f"{path}/{group}")
                self.assertEqual({a["name"] for a in inner["arrays"]}, set(self.arrays()))
                self.assertEqual(inner["attributes"], {"name": group})
                self.assertTrue(self.json("verify", f"{path}/{group}/")["ok"])
                for leaf, value in self.arrays().items():
                    for arguments in (
                        (path, f"{group}/{leaf}"),
                        (f"{path}/{group}", leaf),
                        (f"{path}/{group}/{leaf}",),
                    ):
                        self.assertEqual(self.expect(OK, "cat", *arguments, "--raw").stdout, value.tobytes())
                out = self.folder / "out.safetensors"
                self.expect(OK, "convert", f"{path}/{group}", out, "--overwrite")
                self.expect(OK, "diff", f"{path}/{group}", out)
            self.expect(OK, "diff", f"{path}/run/a", f"{path}/b")
            self.assertIn('there are "b/a/b"', self.refused("inspect", path, "c"))
            self.assertIn("holds no Zarr array", self.refused("inspect", f"{path}/c"))
            self.assertIn("invalid_argument", self.refused("inspect", f"{path}/b/../run/a"))
            self.assertIn("No such file", self.refused("inspect", self.folder / "none.zip/a"))
            self.assertIn("written whole", self.refused("convert", f"{path}/b", f"{path}/c.zarr"))
        text = self.folder / "text"
        text.write_text("text")
        self.assertIn("Not a directory", self.refused("inspect", text / "a"))

    def test_npy_files_in_a_zip_file_are_not_zarr(self):
        np.savez(self.folder / "a.npz", x=np.arange(3), **{"g/y": np.arange(4)})
        (self.folder / "a.npz").rename(self.folder / "a.zip")
        info = self.json("inspect", self.folder / "a.zip")
        self.assertEqual([a["name"] for a in info["arrays"]], ["g/y", "x"])
        self.assertIn("holds no Zarr array", self.refused("inspect", self.folder / "a.zip/x"))
        with zipfile.ZipFile(self.folder / "a.zip", "a") as to:
            to.writestr("g/zarr.json", "{")
        info = self.json("inspect", self.folder / "a.zip")
        self.assertEqual([a["name"] for a in info["arrays"]], ["g/y", "g/zarr%2Ejson", "x"])

    def test_damage_is_told(self):
        data = (GOLDEN / "zip/zarr-python-v3.zip").read_bytes()
        path = self.folder / "cut.zip"
        for size in range(0, len(data), 50):
            path.write_bytes(data[:size])
            self.assertNotEqual(run("verify", path).returncode, OK)
        bad = bytearray(data)
        bad[data.index(b"w/c/0/0") + 20] ^= 1
        path.write_bytes(bad)
        self.assertIn("crc32", self.expect(NO, "verify", path).stdout.decode())

    def test_a_wrong_signature_of_any_member_is_told(self):
        path = self.folder / "s.zip"
        with zipfile.ZipFile(path, "w") as to, zipfile.ZipFile(GOLDEN / "zip/zarr-python-v3.zip") as old:
            for name in old.namelist():
                to.writestr(name, old.read(name))
            to.writestr("notes.txt", "of no array")
        self.assertIn("OK", self.text("verify", path))
        good = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            headers = {info.filename: info.header_offset for info in archive.infolist()}
        for name, offset in headers.items():
            bad = bytearray(good)
            bad[offset + 2] ^= 1
            path.write_bytes(bad)
            found = self.json("verify", path, status=NO)
            self.assertIn("no local header", json.dumps(found), name)
