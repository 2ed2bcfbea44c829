# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of public bug reports of other projects, each with its right answer. Those that PyTorch and Orbax make lie in tests/golden/cases."""

import json
import shutil
import struct
import zipfile

import numpy as np
import safetensors
import tensorstore
import zarr
from safetensors.numpy import load_file, save_file
from support import FAILED, GOLDEN, NO, OK, UNVERIFIED, Case

CASES = GOLDEN / "cases"


class Consolidated(Case):
    """Documents that contradict each other: zarr-python #2921, #2206, icechunk #962."""

    def group(self):
        group = zarr.create_group(self.folder / "in")
        group.create_array("a", data=np.arange(1, 4))
        group.create_array("c", data=np.arange(2))
        zarr.consolidate_metadata(self.folder / "in")
        return zarr.open_group(self.folder / "in", mode="a", use_consolidated=False)

    def faulty(self, name):
        done = self.expect(NO, "verify", self.folder / "in")
        self.assertIn(b"FAULTY", done.stdout)
        self.assertIn(name, done.stdout)

    def test_an_array_that_was_added(self):
        self.group().create_array("b", data=np.arange(5, 7))
        self.faulty(b"b")
        self.assertEqual(self.json("cat", self.folder / "in", "b"), [5, 6])
        self.expect(OK, "convert", self.folder / "in", self.folder / "out.safetensors")
        self.assertEqual(load_file(self.folder / "out.safetensors").keys(), {"a", "b", "c"})

    def test_an_array_that_was_resized(self):
        array = self.group()["a"]
        array.resize((6,))
        array[3:] = 7
        self.assertEqual(self.json("cat", self.folder / "in", "a"), [1, 2, 3, 7, 7, 7])
        self.faulty(b"a")

    def test_an_array_that_was_removed(self):
        self.group()
        shutil.rmtree(self.folder / "in/a")
        self.expect(FAILED, "cat", self.folder / "in", "a", "--json")
        self.faulty(b"a")
        self.assertIn('"a"', self.refused("convert", self.folder / "in", self.folder / "out.safetensors"))
        self.expect(OK, "convert", self.folder / "in", self.folder / "out.safetensors", "--skip", "a")
        self.assertEqual(load_file(self.folder / "out.safetensors").keys(), {"c"})

    def test_in_a_database(self):
        """The same in OCDBT: each is listed once, and the nodes' own documents count."""
        group = self.group()
        group["c"].resize((3,))
        shutil.rmtree(self.folder / "in/a")
        database = tensorstore.KvStore.open({"driver": "ocdbt", "base": f"file://{self.folder}/db/"}).result()
        for file in (self.folder / "in").rglob("*"):
            if file.is_file():
                database.write(str(file.relative_to(self.folder / "in")), file.read_bytes()).result()
        names = [array["name"] for array in self.json("inspect", self.folder / "db")["arrays"]]
        self.assertEqual(names, ["a", "c"])
        self.assertEqual(self.json("cat", self.folder / "db", "c"), [0, 1, 0])
        self.expect(FAILED, "cat", self.folder / "db", "a")
        self.expect(NO, "verify", self.folder / "db")

    def test_an_empty_zmetadata(self):
        group = zarr.create_group(self.folder / "in", zarr_format=2)
        group.create_array("a", data=np.arange(3))
        (self.folder / "in/.zmetadata").write_text('{"zarr_consolidated_format":1,"metadata":{}}')
        about = self.json("inspect", self.folder / "in")
        self.assertEqual([array["name"] for array in about["arrays"]], ["a"])
        self.assertIn("v2", about["format"])
        self.expect(NO, "verify", self.folder / "in")


class Elements(Case):
    def test_chunks_under_the_other_separator(self):
        """ome-zarr-py #343, #245; n5-zarr #14."""
        encoding = {"name": "v2", "separator": "/"}
        array = zarr.create_array(
            self.folder / "in", shape=(4, 4), chunks=(2, 2), dtype="i4", zarr_format=2, chunk_key_encoding=encoding
        )
        array[...] = 5
        document = json.loads((self.folder / "in/.zarray").read_text())
        document["dimension_separator"] = "."
        (self.folder / "in/.zarray").write_text(json.dumps(document))
        done = self.expect(UNVERIFIED, "verify", self.folder / "in")
        self.assertIn(b"NOT VERIFIED", done.stdout)
        self.assertIn(b"separator", done.stdout)

    def test_an_absent_fill_value_and_names_of_axes(self):
        """pydantic-zarr #102, xarray #9970: convert keeps them, and writes no chunk of fill values alone."""
        group = zarr.create_group(self.folder / "in")
        array = group.create_array(
            "a", shape=(400, 400), chunks=(10, 10), dtype="f4", fill_value=np.nan, dimension_names=["y", "x"]
        )
        array[:10, :10] = 1
        self.expect(OK, "convert", self.folder / "in", self.folder / "out.zarr")
        document = json.loads((self.folder / "out.zarr/a/zarr.json").read_text())
        self.assertEqual(document["dimension_names"], ["y", "x"])
        self.assertEqual(document["fill_value"], "NaN")
        self.expect(OK, "diff", self.folder / "in", self.folder / "out.zarr")
        files = [file for file in (self.folder / "out.zarr").rglob("*") if file.is_file()]
        self.assertLess(sum(file.stat().st_size for file in files), 100_000)

    def v2_array(self, kind, fill):
        (self.folder / "in").mkdir()
        text = f'{{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"{kind}","compressor":null,"filters":null,"order":"C","fill_value":{fill}}}'
        (self.folder / "in/.zarray").write_text(text)
        (self.folder / "in/0").write_bytes(np.array([1, 2], kind).tobytes())

    def test_a_bare_nan_as_fill_value(self):
        """zarr-python #2741: 3.0.0 and 3.0.1 wrote it."""
        self.v2_array("<f4", "NaN")
        self.assertEqual(self.json("cat", self.folder / "in"), [1, 2, "NaN", "NaN"])

    def test_a_fill_value_in_a_list(self):
        """netcdf-c #2008: 4.8.0 wrote it."""
        self.v2_array("<i4", "[-32767]")
        self.assertEqual(self.json("cat", self.folder / "in"), [1, 2, -32767, -32767])

    def test_an_attribute_beyond_64_bits(self):
        """zarr-specs #334, hdmf-zarr #323: random seeds have 128 bits."""
        zarr.create_array(self.folder / "in", data=np.arange(3), attributes={"seed": 2**100 + 1})
        self.assertEqual(self.json("cat", self.folder / "in"), [0, 1, 2])
        path = self.folder / "in/zarr.json"
        path.write_text(path.read_text().replace(str(2**100 + 1), r'"\ud800"'))
        self.assertEqual(self.json("cat", self.folder / "in"), [0, 1, 2])


class Pickles(Case):
    def test_conjugates_and_negatives(self):
        """pytorch #81690, safetensors #831: views that torch.load makes again."""
        self.assertEqual(self.json("cat", CASES / "conj.pt", "c"), [[1, -2], [3, 1]])
        self.assertEqual(self.json("cat", CASES / "conj.pt", "n"), [-1, -3])
        self.expect(OK, "verify", CASES / "conj.pt")

    def test_quantised_tensors(self):
        """sentence-transformers #2923: their data are neither lost nor the same without a word."""
        a, b = CASES / "quantised_a.pt", CASES / "quantised_b.pt"
        self.assertIn('"q": the stored bytes differ', self.text("diff", a, b, status=NO))
        self.expect(UNVERIFIED, "verify", a)
        self.assertIn('array "q": it is quantised', self.refused("convert", a, self.folder / "out.zarr"))
        self.assertEqual(self.json("cat", a, "w"), np.arange(12.0).reshape(3, 4).tolist())

    def test_a_subclass(self):
        """optimum-quanto #100, pytorch/ao #3800, safetensors #515."""
        listed = {array["name"]: array for array in self.json("inspect", CASES / "subclass.pt")["arrays"]}
        self.assertEqual(listed["a"]["attributes"], {"python_class": "__main__.Subclass"})
        self.assertEqual(self.json("cat", CASES / "subclass.pt", "a"), [0, 1, 2])
        out = self.folder / "out.safetensors"
        self.expect(OK, "convert", CASES / "subclass.pt", out)
        self.assertEqual(load_file(out)["a"].tolist(), [0, 1, 2])
        self.assertEqual(self.json("cat", CASES / "subclass.pt", "w"), [1, 1])

    def test_a_whole_module(self):
        """ultralytics #19824: 48 bytes are read in little memory, and the weights are arrays."""
        path = self.folder / "in.pt"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(CASES / "module.pkl", "module/data.pkl")
            archive.writestr("module/byteorder", "little")
            for i, values in enumerate((np.zeros(2000 * 2500, "<f4"), np.zeros(2500, "<f4"), np.ones(12, "<f4"))):
                archive.writestr(f"module/data/{i}", values.tobytes())
            archive.writestr("module/version", "3\n")
        self.assertEqual(self.json("cat", path, "w"), np.ones((3, 4)).tolist())
        shapes = [array["shape"] for array in self.json("inspect", path)["arrays"]]
        self.assertIn([2500, 2000], shapes)
        self.assertIn([2500], shapes)
        # The weight alone is more than the memory.
        self.assertEqual(self.expect(OK, "cat", path, "w", "--raw", "--memory", "8M").stdout, np.ones(12, "<f4").tobytes())
        self.expect(OK, "inspect", path, "--memory", "8M")

    def test_before_pytorch_1_6(self):
        """candle #1348, #2666; burn #3605."""
        self.assertEqual(self.json("cat", CASES / "legacy.pt", "w"), [0, 1, 2, 3, 4, 5])
        self.expect(OK, "verify", CASES / "legacy.pt")

    def test_names_that_are_no_keys(self):
        """orbax #304: one of them refuses only itself, if at all."""
        self.assertEqual(self.json("cat", CASES / "names_control.pt", "a"), [1, 1])
        arrays = self.json("inspect", CASES / "names_control.pt")["arrays"]
        self.assertEqual({array.get("attributes", {}).get("original_name", array["name"]) for array in arrays}, {"a", "x\ny"})
        shapes = {tuple(array["shape"]) for array in self.json("inspect", CASES / "names_numbers.pt")["arrays"]}
        self.assertEqual(shapes, {(2,), (1,)})


class Weights(Case):
    def test_weight_map_decides(self):
        """CoSER #3, mflux PR 603, sglang PR 32279: a tensor of an older run in another file."""
        folder = self.folder / "in"
        folder.mkdir()
        x = np.arange(6, dtype="f4")
        save_file({"b": x + 5, "c": x}, folder / "model-00001-of-00002.safetensors")
        save_file({"b": x + 1}, folder / "model-00002-of-00002.safetensors")
        index = folder / "model.safetensors.index.json"
        files = {"b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"}
        index.write_text(json.dumps({"weight_map": files}))
        for path in (folder, index):
            self.assertEqual(self.json("cat", path, "b"), [1, 2, 3, 4, 5, 6], path)
        self.expect(OK, "diff", folder, index)

    def test_every_data_type_of_safetensors(self):
        """hf-mem #56, fastsafetensors PR 69, safetensors #839."""
        raw = np.array([127, 128], np.uint8)
        for dtype, wanted in (("float8_e8m0fnu", [1, 2]), ("float8_e4m3fnuz", [1.875, "NaN"]), ("float8_e5m2fnuz", [57344 , "NaN"])):
            one = safetensors.TensorSpec(dtype=dtype, shape=[2], data_ptr=raw.ctypes.data, data_len=2)
            path = self.folder / f"{dtype}.safetensors"
            safetensors.serialize_file({"w": one}, str(path), None)
            self.assertEqual(self.expect(OK, "cat", path, "w", "--raw").stdout, raw.tobytes(), dtype)
            if dtype == "float8_e8m0fnu":
                self.assertEqual(self.json("cat", path, "w"), wanted)
            self.expect(OK, "verify", path)
        packed = np.arange(4, dtype=np.uint8)  # two elements in a byte
        one = safetensors.TensorSpec(dtype="float4_e2m1fn_x2", shape=[2, 2], data_ptr=packed.ctypes.data, data_len=4)
        safetensors.serialize_file({"w": one}, str(self.folder / "f4.safetensors"), None)
        self.assertEqual(self.json("inspect", self.folder / "f4.safetensors")["arrays"][0]["shape"], [2, 4])
        self.expect(OK, "convert", CASES / "e8m0.pt", self.folder / "out.safetensors")
        header = (self.folder / "out.safetensors").read_bytes()
        self.assertIn(b"F8_E8M0", header)

    def gguf(self, kind, block, size):
        def text(value):
            return struct.pack("<Q", len(value)) + value

        floats, quantised = np.arange(6, dtype="<f4").tobytes(), b"\1" * size * 2
        pad = -len(quantised) % 32
        head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
        head += text(b"q") + struct.pack("<I2QIQ", 2, block, 2, kind, 0)
        head += text(b"a") + struct.pack("<IQIQ", 1, 6, 0, len(quantised) + pad)
        path = self.folder / f"in{kind}.gguf"
        path.write_bytes(head + bytes(-len(head) % 32) + quantised + bytes(pad) + floats + bytes(8))
        return path

    def test_newer_blocks_of_gguf(self):
        """ramalama PR 2894, llama.cpp PR 19769, ik_llama.cpp #297: NVFP4, Q1_0, and a type of tomorrow."""
        for kind, block, size in ((40, 64, 36), (41, 128, 18)):
            path = self.gguf(kind, block, size)
            self.assertEqual(self.json("cat", path, "a"), [0, 1, 2, 3, 4, 5])
            self.assertEqual(self.expect(OK, "cat", path, "q", "--raw").stdout, b"\1" * size * 2)
        path = self.gguf(4711, 64, 36)
        self.assertEqual(self.json("cat", path, "a"), [0, 1, 2, 3, 4, 5])
        self.expect(UNVERIFIED, "verify", path)

    def test_an_index_of_files_of_torch_save(self):
        """transformers' sharded pytorch_model.bin, mlx-examples PR 1100."""
        folder = self.folder / "in"
        folder.mkdir()
        shutil.copy(CASES / "one.pt", folder / "pytorch_model-00001-of-00001.bin")
        index = folder / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"metadata": {}, "weight_map": {"a": "pytorch_model-00001-of-00001.bin"}}))
        for path in (index, folder):
            self.assertEqual(self.json("cat", path, "a"), [1, 1])


class Directories(Case):
    def test_orbax_without_arrays(self):
        """orbax #720, PR 65: trees of texts, of None, of an empty dict."""
        for name, leaves in (("orbax_text", {"a": "x", "b": "y"}), ("orbax_none", {}), ("orbax_empty", {})):
            about = self.json("inspect", CASES / name)
            self.assertEqual({leaf["name"] for leaf in about["arrays"]}, set(leaves), name)
            for leaf, value in leaves.items():
                self.assertEqual(self.json("cat", CASES / name, leaf), value)

    def test_the_format_has_its_name(self):
        format_of = lambda path: self.json("inspect", path)["format"]  # noqa: E731
        self.assertIn("torch.save", format_of(CASES / "one.pt"))
        self.assertIn("GGUF", format_of(GOLDEN / "gguf/small.gguf"))
        self.assertIn("DCP", format_of(GOLDEN / "dcp/one-process"))
        zarr.create_group(self.folder / "in")
        zarr.create_array(self.folder / "in/a", data=np.arange(3), zarr_format=2)
        said = format_of(self.folder / "in")
        self.assertIn("v2", said)
        self.assertIn("v3", said)

    def test_what_a_directory_looks_like(self):
        """Snapshots of Hugging Face, saves that were not finished, N5, pointers of Git LFS (safetensors #414)."""
        for name in ("hf", "n5", "cache/s"):
            (self.folder / name).mkdir(parents=True)
        save_file({"a": np.ones(2)}, self.folder / "hf/model.safetensors")
        self.assertIn("model.safetensors", self.refused("inspect", self.folder / "hf"))
        shutil.copytree(GOLDEN / "dcp/one-process", self.folder / "dcp")
        (self.folder / "dcp/.metadata").unlink()
        self.assertIn(".metadata", self.refused("inspect", self.folder / "dcp"))
        (self.folder / "n5/attributes.json").write_text(
            '{"n5":"2.0.0","dimensions":[2],"blockSize":[2],"dataType":"uint8","compression":{"type":"raw"}}'
        )
        self.assertIn("N5", self.refused("inspect", self.folder / "n5"))
        shutil.copy(self.folder / "hf/model.safetensors", self.folder / "cache/b")
        (self.folder / "cache/i").write_text('{"weight_map": {"a": "m.safetensors"}}')
        (self.folder / "cache/s/m.safetensors").symlink_to("../b")
        (self.folder / "cache/s/model.safetensors.index.json").symlink_to("../i")
        for options in ((), ("--follow-links",)):
            said = self.refused("inspect", *options, self.folder / "cache/s")
            self.assertIn("--follow-links", said)
        for where in (("--follow-links=anywhere", "s"), ("s/model.safetensors.index.json",)):  # the latter is given by name
            self.assertIn("float64", self.text("inspect", *where[:-1], self.folder / "cache" / where[-1]))
        (self.folder / "cache/s/model.safetensors.index.json").unlink()
        shutil.copy(self.folder / "cache/i", self.folder / "cache/s/model.safetensors.index.json")
        self.assertIn("m.safetensors", self.refused("inspect", self.folder / "cache/s"))
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 1\n"
        (self.folder / "lfs.safetensors").write_text(pointer)
        self.assertIn("LFS", self.refused("inspect", self.folder / "lfs.safetensors"))
