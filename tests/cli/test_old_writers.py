# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What older writers left behind, and what their documents say in words of their own."""

import io
import json

import numpy as np
import zarr
from support import FAILED, Case

V2 = {"zarr_format": 2, "shape": [4], "chunks": [2], "compressor": None, "filters": None, "order": "C"}


def numpy_file(descr, array):
    """An npy file as Python 2 wrote it."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': ({array.size}L,), }}"
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


class OldWriters(Case):
    def v2(self, name, chunk, **changes):
        folder = self.folder / name
        folder.mkdir()
        (folder / ".zarray").write_text(json.dumps(V2 | changes))
        (folder / "0").write_bytes(chunk)
        return folder

    def test_fill_values_of_v2(self):
        """NaN as zarr-python 3.0.0 wrote it, a list as netCDF-C 4.8.0 did, bytes that are not base64."""
        floats, texts = np.array([1, 2], "<f4").tobytes(), b"ab"
        for number, (dtype, fill, chunk, values) in enumerate((
            ("<f4", float("nan"), floats, [1, 2, "NaN", "NaN"]),
            ("<f4", float("-inf"), floats, [1, 2, "-Infinity", "-Infinity"]),
            ("<f4", [0.5], floats, [1, 2, 0.5, 0.5]),
            ("<i4", [-32767], np.array([1, 2], "<i4").tobytes(), [1, 2, -32767, -32767]),
            ("<f4", 10**20, floats, [1, 2, 1e20, 1e20]),
            ("|S1", "\0", texts, ["a", "b", "", ""]),
            ("|S1", "x", texts, ["a", "b", "x", "x"]),
            ("|S1", "YQ==", texts, ["a", "b", "a", "a"]),
        )):  # fmt: skip
            folder = self.v2(str(number), chunk, dtype=dtype, fill_value=fill)
            self.assertEqual(self.json("cat", folder), values, fill)
        for number, (dtype, fill) in enumerate((("<f4", [1, 2]), ("<i4", float("nan")), ("|S1", "xyz"))):
            said = self.refused("cat", self.v2(f"bad-{number}", texts, dtype=dtype, fill_value=fill))
            self.assertIn("fill_value", said)

    def test_levels_that_are_whole_floats(self):
        chunk = np.array([1, 2], "<f4")
        for number, codec in enumerate((
            {"id": "gzip", "level": 3.0}, {"id": "zlib", "level": 3.0}, {"id": "bz2", "level": 3.0},
            {"id": "zstd", "level": 3.0}, {"id": "lz4", "acceleration": 1.0},
            {"id": "blosc", "cname": "lz4", "clevel": 3.0, "shuffle": 1, "blocksize": 0.0},
        )):  # fmt: skip
            from numcodecs import get_codec

            whole = {key: int(value) if isinstance(value, float) else value for key, value in codec.items()}
            folder = self.v2(str(number), get_codec(whole).encode(chunk), dtype="<f4", fill_value=0, compressor=codec)
            self.assertEqual(self.json("cat", folder), [1, 2, 0, 0], codec)
        bad = self.v2("bad", b"", dtype="<f4", fill_value=0, compressor={"id": "gzip", "level": 3.5})
        self.assertIn('"level" must be an integer', self.refused("cat", bad))

    def test_npy_of_python_2(self):
        values = np.array([1, 2.5])
        for name, descr in (("u", "u'<f8'"), ("double", 'u"<f8"'), ("plain", "'<f8'")):
            (self.folder / f"{name}.npy").write_bytes(numpy_file(descr, values))
            self.assertEqual(self.json("cat", self.folder / f"{name}.npy"), [1, 2.5])
        (self.folder / "bad.npy").write_bytes(numpy_file("b'<f8'", values))
        self.refused("cat", self.folder / "bad.npy")

    def test_npy_arrays_one_after_another(self):
        arrays = [np.arange(3), np.zeros((0, 2), "f4"), np.array(["a", "bc"]), np.ones((2, 2), "f4", order="F")]
        whole = io.BytesIO()
        for array in arrays:
            np.save(whole, array)
        path = self.folder / "a.npy"
        path.write_bytes(whole.getvalue())
        info = self.json("inspect", path)
        self.assertEqual([each["name"] for each in info["arrays"]], ["0", "1", "2", "3"])
        self.assertEqual([each["stored_bytes"] for each in info["arrays"]], [array.nbytes for array in arrays])
        for name, array in enumerate(arrays):
            self.assertEqual(self.json("cat", path, str(name)), array.tolist())
        self.assertIn("OK", self.text("verify", path))
        self.text("convert", path, self.folder / "a.zarr")
        self.text("diff", path, self.folder / "a.zarr")
        # One of them that is cut short is an error, and so is what is not an array.
        for bad, why in ((whole.getvalue()[:-1], "array 3: "), (whole.getvalue() + b"x", "array 3: ")):
            path.write_bytes(bad)
            self.assertIn(why, self.refused("inspect", path))
        path.write_bytes(whole.getvalue() * 20_000)
        said = self.expect(FAILED, "inspect", path, "--memory", "1M").stderr.decode()
        self.assertIn("resource_limit", said)


class Attributes(Case):
    """What we cannot represent is text, and keeps no array from being read."""

    BIG = '{"seed": 1267650600228229401496703205377, "half": "a\\ud800", "twice": {"b": 1, "b": 2}, "n": 1}'
    KEPT = {
        "seed": "1267650600228229401496703205377",
        "half": "a\\ud800",
        "twice": {"duplicate_keys": '{"b": 1, "b": 2}'},
        "n": 1,
    }
    TWICE = '{"a": 1, "a": 2}'

    def give(self, document, attributes):
        """Writes attributes as they stand into a document that has none."""
        text = json.loads(document.read_text())
        text["attributes"] = "@"
        document.write_text(json.dumps(text).replace('"@"', attributes))

    def check(self, path):
        info = self.json("inspect", path)
        self.assertEqual({each["name"]: each.get("attributes") for each in info["arrays"]}, {"x": self.KEPT})
        self.assertEqual(info["attributes"], {"duplicate_keys": self.TWICE})
        self.assertEqual(self.json("cat", path, "x"), [0, 1, 2])
        self.text("verify", path)
        out = path.with_name(f"{path.name}-copy")
        self.text("convert", path, out)
        self.assertEqual(self.json("inspect", out)["arrays"][0]["attributes"], self.KEPT)

    def test_v3(self):
        group = zarr.create_group(self.folder / "z")
        group.create_array("x", data=np.arange(3))
        self.give(self.folder / "z/zarr.json", self.TWICE)
        self.give(self.folder / "z/x/zarr.json", self.BIG)
        self.check(self.folder / "z")
        self.give(self.folder / "z/x/zarr.json", self.TWICE)
        self.assertEqual(self.json("cat", self.folder / "z/x"), [0, 1, 2])

    def test_v3_consolidated(self):
        group = zarr.create_group(self.folder / "z")
        group.create_array("x", data=np.arange(3), attributes={"put": "here"})
        zarr.consolidate_metadata(self.folder / "z")
        for document in (self.folder / "z/zarr.json", self.folder / "z/x/zarr.json"):
            text = json.dumps(json.loads(document.read_text()))
            self.assertIn('{"put": "here"}', text)
            document.write_text(text.replace('{"put": "here"}', self.BIG))
        text = (self.folder / "z/zarr.json").read_text()
        (self.folder / "z/zarr.json").write_text(text.replace('"attributes": {}', f'"attributes": {self.TWICE}', 1))
        self.check(self.folder / "z")

    def test_v2(self):
        group = zarr.create_group(self.folder / "z", zarr_format=2)
        group.create_array("x", data=np.arange(3), attributes={"put": "here"})
        zarr.consolidate_metadata(self.folder / "z")
        (self.folder / "z/.zattrs").write_text(self.TWICE)
        (self.folder / "z/x/.zattrs").write_text(self.BIG)
        text = json.loads((self.folder / "z/.zmetadata").read_text())
        text["metadata"][".zattrs"], text["metadata"]["x/.zattrs"] = "@1", "@2"
        text = json.dumps(text).replace('"@1"', self.TWICE).replace('"@2"', self.BIG)
        (self.folder / "z/.zmetadata").write_text(text)
        self.check(self.folder / "z")
        (self.folder / "z/.zmetadata").unlink()
        self.check_again()

    def check_again(self):
        (self.folder / "z-copy").rename(self.folder / "first-copy")
        self.check(self.folder / "z")

    def test_elsewhere_a_name_twice_is_a_contradiction(self):
        zarr.create_array(self.folder / "z", data=np.arange(3))
        document = self.folder / "z/zarr.json"
        document.write_text(document.read_text().replace('"shape"', '"shape": [2], "shape"', 1))
        self.assertIn('duplicate key "shape"', self.refused("cat", self.folder / "z"))
