# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of PyTorch: each command takes them as it takes others."""

import collections
import io
import json
import math
import pickle
import shutil
import struct
import sys
import types
import zipfile
from unittest import mock

import numpy as np

from support import FAILED, GOLDEN, NO, OK, Case

FOLDER = GOLDEN / "dcp"


class Torch(Case):
    def test_every_tensor(self):
        count = 0
        for case in json.loads((FOLDER / "index.json").read_text())["cases"]:
            elements = (FOLDER / f"{case['case']}.bin").read_bytes()
            for leaf in case["leaves"]:
                done = self.expect(OK, "cat", FOLDER / case["case"], leaf["name"], "--raw")
                self.assertEqual(done.stdout, elements[leaf["offset"] :][: len(done.stdout)], leaf)
                count += 1
        self.assertEqual(count, 13)

    def test_a_copy(self):
        for case in ("one-process", "dtensor-2x2", "torch_dist-tp2-pp1-2ranks"):
            copy = self.folder / f"{case}.zarr"
            self.expect(OK, "verify", FOLDER / case)
            self.expect(OK, "inspect", FOLDER / case, "--json")
            self.expect(OK, "convert", FOLDER / case, copy)
            self.expect(OK, "verify", copy)
            self.expect(OK, "diff", FOLDER / case, copy)
            self.expect(OK, "convert", FOLDER / case, self.folder / f"{case}.safetensors")

    def test_what_is_gone(self):
        copy = self.folder / "damaged"
        shutil.copytree(FOLDER / "dtensor-2x2", copy)
        (copy / "__2_0.distcp").unlink()
        done = self.expect(NO, "verify", copy)
        self.assertIn(b"__2_0.distcp: the file is missing", done.stdout)
        self.assertIn(b"__2_0.distcp", self.expect(FAILED, "cat", copy, "w").stderr)
        (copy / ".metadata").write_bytes(b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.")
        self.assertIn(b"posix.system", self.expect(FAILED, "inspect", copy).stderr)

    def test_a_checkpoint_of_pytorch(self):
        for case in ("one-process", "dtensor-2x2"):
            copy, zarr, again = (self.folder / f"{case}{end}" for end in ("", ".zarr", "-again"))
            self.expect(OK, "convert", FOLDER / case, copy, "--to", "dcp")
            self.assertEqual(sorted(file.name for file in copy.iterdir()), [".metadata", "__0_0.distcp"])
            self.expect(OK, "verify", copy)
            self.expect(OK, "diff", FOLDER / case, copy)
            self.expect(OK, "convert", copy, zarr)
            self.expect(OK, "convert", zarr, again, "--to", "dcp")  # numbers of Python stay what they are
            for file in copy.iterdir():
                self.assertEqual(file.read_bytes(), (again / file.name).read_bytes(), file.name)

    def test_other_sources(self):
        weights = GOLDEN / "dcp" / "one-process"
        file, copy = self.folder / "model.safetensors", self.folder / "copy"
        self.expect(OK, "convert", weights, file, "--only", "model.*")
        self.expect(OK, "convert", file, copy, "--to", "dcp", "--rename", "model.w=w")
        self.expect(OK, "convert", copy, self.folder / "back.safetensors", "--rename", "w=model.w")
        self.expect(OK, "diff", file, self.folder / "back.safetensors")
        self.expect(OK, "convert", file, copy, "--to", "dcp", "--overwrite", "--dtype", "**=float64")
        self.assertEqual(
            {array["dtype"] for array in json.loads(self.expect(OK, "inspect", copy, "--json").stdout)["arrays"]},
            {"float64"},
        )

    def test_a_number_takes_the_type_that_was_asked_for(self):
        zarr, copy = self.folder / "a.zarr", self.folder / "copy"
        (zarr / "rate" / "c").parent.mkdir(parents=True)
        (zarr / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
        (zarr / "rate" / "c").write_bytes(struct.pack("<d", 0.1))
        (zarr / "rate" / "zarr.json").write_text(
            json.dumps(
                {
                    "zarr_format": 3,
                    "node_type": "array",
                    "shape": [],
                    "data_type": "float64",
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
                    "chunk_key_encoding": {"name": "default"},
                    "fill_value": 0,
                    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    "attributes": {"python_type": "float"},
                }
            )
        )
        self.expect(OK, "convert", zarr, copy, "--to", "dcp")
        self.assertEqual(self.json("cat", copy, "rate"), 0.1)
        self.expect(OK, "convert", zarr, copy, "--to", "dcp", "--overwrite", "--dtype", "**=bfloat16")
        self.assertEqual(self.json("cat", copy, "rate"), 0.10009765625)

    def test_metadata_beyond_the_memory(self):
        np.savez(self.folder / "a.npz", **{f"w{i}": np.zeros(1, np.float32) for i in range(1500)})
        self.expect(OK, "convert", self.folder / "a.npz", self.folder / "many", "--to", "dcp")
        self.expect(OK, "inspect", self.folder / "many")
        done = self.expect(FAILED, "inspect", self.folder / "many", "--memory", "1M")
        self.assertIn(b"resource_limit", done.stderr)

    def test_what_dcp_has_no_place_for(self):
        zarr, copy = self.folder / "a.zarr", self.folder / "copy"
        self.expect(OK, "convert", FOLDER / "one-process", zarr)
        self.assertIn(b"for Zarr and Orbax only", self.expect(FAILED, "convert", zarr, copy, "--to", "dcp", "--codec", "zstd").stderr)
        self.assertIn(b"already_exists", self.expect(FAILED, "convert", zarr, zarr, "--to", "dcp").stderr)
        done = self.expect(FAILED, "convert", FOLDER / "one-process", zarr, "--to", "dcp", "--overwrite")
        self.assertIn(b"is a zarrpoint checkpoint, not a PyTorch (DCP) checkpoint", done.stderr)
        self.expect(OK, "verify", zarr)


MEGATRON = GOLDEN / "megatron"
WROTE_TORCH_DIST = FOLDER / "torch_dist-tp2-pp1-2ranks"
WROTE_ZARR = MEGATRON / "zarr-tp2-dp2-4ranks"


class Tensor:
    """One that a pickle of torch.save holds: a call with a storage."""

    def __reduce__(self):
        hook = sys.modules["torch._utils"]._rebuild_tensor_v2
        return hook, (Storage(), 0, (1,), (1,), False, collections.OrderedDict())


class Storage:
    pass


def torch_file(path, value):
    """What torch.save writes of a value, in which each tensor has one float."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, one):
            kind = sys.modules["torch"].FloatStorage
            return ("storage", kind, "0", "cpu", 1) if isinstance(one, Storage) else None

    def of_torch(module, name):
        made = types.FunctionType((lambda: None).__code__, {}, name)
        made.__module__, made.__qualname__ = module, name
        return made

    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = of_torch("torch", "FloatStorage")
    utils._rebuild_tensor_v2 = of_torch("torch._utils", "_rebuild_tensor_v2")
    out = io.BytesIO()
    with mock.patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Pickler(out, protocol=2).dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (("data.pkl", out.getvalue()), ("byteorder", "little"), ("version", "3\n")):
            archive.writestr(f"common/{name}", content)
        archive.writestr("common/data/0", struct.pack("<f", 2.0))


def values_of(path):
    """What Python finds in a file of torch.save without a tensor."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/data.pkl"))
        return pickle.loads(archive.read(name))


class TorchDist(Case):
    def files(self, folder):
        return sorted(file.name for file in folder.iterdir())

    def lossless(self, folder, *said):
        """A conversion that would lose something is refused, and nothing is made."""
        done = self.expect(FAILED, "convert", folder, self.folder / "none", "--to", "torch_dist")
        for part in said:
            self.assertIn(part, done.stderr.decode())
        self.assertFalse((self.folder / "none").exists())

    def test_metadata_that_is_damaged(self):
        for wrote in (WROTE_ZARR, WROTE_TORCH_DIST):
            broken = self.folder / wrote.name
            shutil.copytree(wrote, broken)
            for text in ("{", "{}", '{"sharded_backend": 5, "sharded_backend_version": 1}'):
                (broken / "metadata.json").write_text(text)
                self.lossless(broken, "corrupt", "metadata.json")
            (broken / "metadata.json").unlink()
            self.lossless(broken, "corrupt", "metadata.json", "common.pt")
            (broken / "metadata.json").write_text('{"sharded_backend": "other", "sharded_backend_version": 1}')
            self.lossless(broken, "unsupported", "other")
        mine = self.folder / "mine"  # somebody's, beside a checkpoint of PyTorch
        shutil.copytree(FOLDER / "one-process", mine)
        (mine / "metadata.json").write_text('{"made": "today"}')
        self.expect(OK, "convert", mine, self.folder / "copy", "--to", "torch_dist")
        self.assertEqual(values_of(self.folder / "copy/common.pt")["step"], 12)

    def test_a_group_beside_metadata(self):
        for document, text in ((".zgroup", '{"zarr_format": 2}'), ("zarr.json", '{"zarr_format": 3, "node_type": "group"}')):
            hidden, copy = self.folder / document, self.folder / f"copy{document}"
            shutil.copytree(WROTE_TORCH_DIST, hidden)
            (hidden / document).write_text(text)
            self.lossless(hidden, "decoder.bias", "hides")
            grouped = self.folder / f"grouped{document}"
            shutil.copytree(WROTE_ZARR, grouped)
            (grouped / document).write_text(text)
            done = self.expect(None, "convert", grouped, copy, "--to", "torch_dist")
            if done.returncode != OK:  # Zarr v2 beneath a group of v3
                self.assertIn(b"hides", done.stderr)
                continue
            self.assertEqual((copy / "common.pt").read_bytes(), (WROTE_ZARR / "common.pt").read_bytes())
            self.assertEqual(json.loads(self.json("cat", copy, "optimizer.step/shard_0_1")), {"step": 3})

    def test_a_run_of_the_layout_zarr(self):
        run = self.folder / "run"
        for iteration in (5, 7):
            shutil.copytree(WROTE_ZARR, run / f"iter_{iteration:07}")
        self.lossless(run, "unsupported", "iter_0000005")
        (run / "latest_checkpointed_iteration.txt").write_text("7")
        self.lossless(run, "unsupported", "iter_0000005")
        self.expect(OK, "convert", run / "iter_0000005", self.folder / "copy", "--to", "torch_dist")

    def test_values_are_those_of_python(self):
        given, zarr, again, moved = (self.folder / name for name in ("given", "given.zarr", "again", "moved"))
        shutil.copytree(WROTE_TORCH_DIST, given)
        values = {
            "raw": b"abc\xff",
            "deep": [[b"", {"x": -math.inf}], {"y": b"\0"}],
            "many": [math.nan, 2**63 + 5, -1, None, True, "", {}, []],
            "tuple": (1, 2),
            "$key": {"$more": 1, "$$two": 2},
            "looks": {"$": "like", "a": 1},
        }
        torch_file(given / "common.pt", values)
        expected = dict(values, tuple=[1, 2])
        self.expect(OK, "convert", given, zarr)
        self.expect(OK, "convert", zarr, again, "--to", "torch_dist")
        self.expect(OK, "convert", given, moved, "--to", "torch_dist", "--rename", "common=before")
        found = values_of(again / "common.pt")
        self.assertTrue(math.isnan(found["many"].pop(0)))
        self.assertTrue(math.isnan(expected["many"].pop(0)))
        expected["$key"] = {"$more": 1, "$two": 2}  # as all our documents have it
        self.assertEqual(found, expected)
        before = values_of(moved / "common.pt")["before"]
        before["many"].pop(0)
        self.assertEqual(before, expected)
        # As an object, too: a file of torch.save in the file of the process.
        self.expect(OK, "convert", zarr, moved, "--to", "torch_dist", "--overwrite", "--rename", "common=all/shard_0_1")
        shown = json.loads(self.json("cat", moved, "all/shard_0_1"))
        self.assertEqual(shown["deep"][1], {"y": {"$": "text", "base64": "AA=="}})
        self.assertNotIn(b"base64", (moved / "__0_0.distcp").read_bytes())

    def test_a_tensor_in_a_document_has_no_place(self):
        given, zarr = self.folder / "given", self.folder / "given.zarr"
        shutil.copytree(WROTE_TORCH_DIST, given)
        torch_file(given / "common.pt", {"iteration": 7, "args": [{"scale": Tensor()}]})
        self.expect(OK, "convert", given, self.folder / "copy", "--to", "torch_dist")  # as it is
        self.assertEqual((self.folder / "copy/common.pt").read_bytes(), (given / "common.pt").read_bytes())
        self.expect(OK, "convert", given, zarr)
        for more in ([], ["--rename", "common=a"], ["--rename", "common=a/shard_0_1"]):
            done = self.expect(FAILED, "convert", zarr, self.folder / "none", "--to", "torch_dist", *more)
            for part in (b"unsupported", b"args", b"scale", b"a tensor"):
                self.assertIn(part, done.stderr)
            self.assertFalse((self.folder / "none").exists())

    def test_values_within_the_memory(self):
        given, zarr = self.folder / "given", self.folder / "given.zarr"
        shutil.copytree(WROTE_TORCH_DIST, given)
        torch_file(given / "common.pt", {"many": [1] * 200_000})  # short, and each a value
        self.expect(OK, "convert", given, zarr)
        done = self.expect(FAILED, "convert", zarr, self.folder / "none", "--to", "torch_dist", "--memory", "32M")
        self.assertIn(b"resource_limit", done.stderr)
        self.assertIn(b"half of --memory", done.stderr)
        self.assertFalse((self.folder / "none").exists())
        self.expect(OK, "convert", zarr, self.folder / "copy", "--to", "torch_dist", "--memory", "128M")
        self.assertEqual(sum(values_of(self.folder / "copy/common.pt")["many"]), 200_000)
        many = self.folder / "many.npz"  # of which each alone has room
        np.savez(many, **{f"text{i}": np.array("a" * (1 << 20)) for i in range(6)})
        for to in ("torch_dist", "dcp"):
            done = self.expect(FAILED, "convert", many, self.folder / "none", "--to", to, "--memory", "32M")
            self.assertIn(b"half of --memory", done.stderr)
            self.assertFalse((self.folder / "none").exists())
            self.expect(OK, "convert", many, self.folder / to, "--to", to, "--memory", "128M")

    def test_what_has_no_common_state(self):
        given, copy = self.folder / "given", self.folder / "copy"
        shutil.copytree(WROTE_ZARR, given)
        (given / "common.pt").unlink()
        done = self.expect(OK, "convert", given, copy, "--to", "torch_dist")
        self.assertIn(b"no common.pt", done.stderr)
        self.assertEqual(values_of(copy / "common.pt"), {})

    def test_a_zip_file_is_none(self):
        done = self.expect(FAILED, "convert", WROTE_TORCH_DIST, self.folder / "a.zip", "--to", "torch_dist")
        self.assertIn(b"reads directories", done.stderr)
        self.assertEqual(self.files(self.folder), [])

    def test_what_a_directory_shows(self):
        shown = json.loads(self.expect(OK, "inspect", WROTE_TORCH_DIST, "--json").stdout)
        arrays = {array["name"]: array for array in shown["arrays"]}
        self.assertEqual(arrays["optimizer.flat"]["shape"], [4, 8])  # stored flat
        for name in ("common", "optimizer.step/shard_0_1"):
            self.assertEqual(arrays[name]["dtype"], "string")
            self.assertEqual(arrays[name]["attributes"], {"content_type": "application/json"})
        self.assertEqual(json.loads(self.json("cat", WROTE_TORCH_DIST, "common"))["iteration"], 7)
        self.assertEqual(json.loads(self.json("cat", WROTE_TORCH_DIST, "optimizer.step/shard_0_1")), {"step": 3})
        self.expect(OK, "verify", WROTE_TORCH_DIST)
        self.expect(NO, "diff", WROTE_TORCH_DIST, WROTE_ZARR)

    def test_a_copy(self):
        copy, zarr, again = (self.folder / name for name in ("copy", "copy.zarr", "again"))
        self.expect(OK, "convert", WROTE_TORCH_DIST, copy, "--to", "torch_dist")
        self.assertEqual(self.files(copy), [".metadata", "__0_0.distcp", "common.pt", "metadata.json"])
        for name in ("common.pt", "metadata.json"):
            self.assertEqual((copy / name).read_bytes(), (WROTE_TORCH_DIST / name).read_bytes())
        self.expect(OK, "diff", WROTE_TORCH_DIST, copy)
        self.expect(OK, "verify", copy)
        # What was saved in flat pieces is stored flat again, which its loader of flat pieces needs.
        self.assertIn(b"nd_reformulated_orig_global_shape", (copy / ".metadata").read_bytes())
        self.expect(OK, "convert", copy, zarr)
        self.expect(OK, "convert", zarr, again, "--to", "torch_dist")
        self.expect(OK, "diff", WROTE_TORCH_DIST, again)

    def test_of_the_layout_zarr(self):
        copy = self.folder / "copy"
        self.expect(OK, "convert", WROTE_ZARR, copy, "--to", "torch_dist")
        self.assertEqual((copy / "common.pt").read_bytes(), (WROTE_ZARR / "common.pt").read_bytes())
        self.assertEqual(json.loads(self.json("cat", copy, "optimizer.step/shard_0_1")), {"step": 3})
        done = self.expect(NO, "diff", WROTE_ZARR, copy)
        self.assertIn(b"4 arrays compared, 0 with differences; 2 only in B", done.stdout)
        done = self.expect(OK, "convert", WROTE_ZARR, self.folder / "part", "--to", "torch_dist", "--only", "decoder.*")
        self.assertIn(b"objects and the common state are left out", done.stderr)
        self.assertEqual(len(self.json("inspect", self.folder / "part")["arrays"]), 4)  # with an empty common.pt

    def test_names_of_a_directory_of_the_layout_zarr(self):
        copy, again = self.folder / "copy", self.folder / "again"
        self.expect(OK, "convert", WROTE_ZARR, copy, "--to", "torch_dist", "--rename", "decoder.weight=w")
        arrays = [array["name"] for array in self.json("inspect", copy)["arrays"]]
        self.assertEqual(arrays[-1], "w")
        self.assertIn("optimizer.step/shard_0_1", arrays)
        self.expect(OK, "convert", copy, again, "--to", "torch_dist", "--rename", "common=before")
        self.assertEqual(json.loads(self.json("cat", again, "common"))["before"]["iteration"], 7)
        # Objects are not among the arrays there, but have names.
        done = self.expect(OK, "convert", WROTE_ZARR, self.folder / "opt", "--to", "torch_dist", "--rename", "optimizer.*=opt.*")
        self.assertEqual(done.stderr, b"zarrpoint: note: not kept in torch_dist: chunk shape of 3 arrays\n")
        arrays = [array["name"] for array in self.json("inspect", self.folder / "opt")["arrays"]]
        self.assertIn("opt.step/shard_0_1", arrays)
        self.assertIn("opt.flat", arrays)
        self.assertFalse([name for name in arrays if name.startswith("optimizer")])

    def test_the_root_of_a_run(self):
        run, copy = self.folder / "run", self.folder / "copy"
        shutil.copytree(WROTE_TORCH_DIST, run / "iter_0000007")
        (run / "latest_checkpointed_iteration.txt").write_text("7")
        self.expect(OK, "convert", run, copy, "--to", "torch_dist")
        self.assertEqual((copy / "common.pt").read_bytes(), (WROTE_TORCH_DIST / "common.pt").read_bytes())

    def test_values_and_names(self):
        copy, zarr = self.folder / "copy", self.folder / "copy.zarr"
        self.expect(OK, "convert", FOLDER / "one-process", copy, "--to", "torch_dist", "--rename", "opt.0.lr=opt/lr")
        self.assertEqual(
            json.loads(self.json("cat", copy, "common")),
            {"name": "demo", "opt": {"lr": 0.1}, "opt.1.lr": 0.2, "step": 12},
        )
        self.expect(OK, "convert", copy, zarr, "--rename", "common=a", "--only", "common")
        self.assertEqual(json.loads(self.json("cat", zarr, "a"))["opt"], {"lr": 0.1})
        done = self.expect(
            FAILED, "convert", FOLDER / "one-process", self.folder / "x", "--to", "torch_dist",
            "--rename", "opt.0.lr=step/lr",
        )  # fmt: skip
        self.assertIn(b"another value in the place of", done.stderr)
        self.expect(
            OK, "convert", WROTE_TORCH_DIST, self.folder / "renamed", "--to", "torch_dist",
            "--rename", "optimizer.step=step", "--skip", "decoder.*", "--dtype", "optimizer.flat=bfloat16",
        )  # fmt: skip
        arrays = {array["name"]: array["dtype"] for array in self.json("inspect", self.folder / "renamed")["arrays"]}
        self.assertEqual(arrays, {"common": "string", "optimizer.flat": "bfloat16", "step/shard_0_1": "string"})

    def test_many_arrays_in_little_memory(self):
        arrays = {f"w{i}": np.full((300, 1000), i, np.float32) for i in range(12)}
        np.savez_compressed(self.folder / "many.npz", **arrays)
        self.expect(OK, "convert", self.folder / "many.npz", self.folder / "copy", "--to", "torch_dist", "--memory", "16M")
        for name, array in arrays.items():
            self.assertEqual(self.expect(OK, "cat", self.folder / "copy", name, "--raw").stdout, array.tobytes())

    def test_overwrite(self):
        copy = self.folder / "copy"
        self.expect(OK, "convert", WROTE_TORCH_DIST, copy, "--to", "torch_dist")
        (copy / "notes.txt").write_text("kept")
        self.assertIn(b"already_exists", self.expect(FAILED, "convert", WROTE_ZARR, copy, "--to", "torch_dist").stderr)
        self.expect(OK, "convert", WROTE_ZARR, copy, "--to", "torch_dist", "--overwrite")
        self.assertEqual(self.files(copy), [".metadata", "__0_0.distcp", "common.pt", "metadata.json", "notes.txt"])
        shutil.copytree(FOLDER / "one-process", self.folder / "dcp")
        done = self.expect(FAILED, "convert", WROTE_ZARR, self.folder / "dcp", "--to", "torch_dist", "--overwrite")
        self.assertIn(b"is a PyTorch (DCP) checkpoint, not a checkpoint of", done.stderr)
        self.assertEqual(self.files(self.folder / "dcp"), self.files(FOLDER / "one-process"))

    def test_what_is_damaged_or_has_no_place(self):
        for name in ("__0_0.distcp", "__1_0.distcp"):
            broken = self.folder / f"without{name}"
            shutil.copytree(WROTE_TORCH_DIST, broken)
            (broken / name).unlink()
            done = self.expect(FAILED, "convert", broken, self.folder / "copy", "--to", "torch_dist")
            self.assertIn(name.encode(), done.stderr)
            self.assertFalse((self.folder / "copy").exists())
        broken = self.folder / "zarr"
        shutil.copytree(WROTE_ZARR, broken)
        (broken / "optimizer.step" / "shard_0_1.pt").write_bytes(b"PK\3\4nothing")
        done = self.expect(FAILED, "convert", broken, self.folder / "copy", "--to", "torch_dist")
        self.assertIn(b"shard_0_1.pt", done.stderr)
        done = self.expect(FAILED, "convert", WROTE_ZARR, self.folder / "copy", "--to", "torch_dist", "--codec", "zstd")
        self.assertIn(b"for Zarr and Orbax only", done.stderr)
        mixed = self.folder / "mixed"  # values beside a common state that is copied
        shutil.copytree(FOLDER / "one-process", mixed)
        for name in ("common.pt", "metadata.json"):
            shutil.copy(WROTE_TORCH_DIST / name, mixed / name)
        done = self.expect(FAILED, "convert", mixed, self.folder / "copy", "--to", "torch_dist")
        self.assertIn(b'"name" would be a member of the common state', done.stderr)
        self.expect(OK, "convert", mixed, self.folder / "kept", "--to", "torch_dist", "--skip", "common")
        self.assertEqual(json.loads(self.json("cat", self.folder / "kept", "common"))["step"], 12)
        np.savez(self.folder / "a.npz", **{"common/w": np.zeros(2, np.float32)})
        done = self.expect(FAILED, "convert", self.folder / "a.npz", self.folder / "copy", "--to", "torch_dist")
        self.assertIn(b"what the common state is called", done.stderr)
