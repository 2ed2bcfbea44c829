# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The one test of all trees: what the peer reads, against what each command says."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import safetensors

SHOWN = 300
TEXTS = ("string", "bytes", "fixed_length_utf32", "null_terminated_bytes")


class Comparison:
    def __init__(self, command, rng):
        self.command, self.rng = command, rng
        self.differences = []
        self.processes = 0
        self.listed_count = 0
        self.unread = set()  # what is listed and not read

    def differ(self, text):
        self.differences.append(text)

    def run(self, *arguments):
        self.processes += 1
        done = subprocess.run([self.command, *map(str, arguments)], capture_output=True, timeout=120)
        if done.returncode not in (0, 1, 2, 3) or b"Sanitizer" in done.stderr:
            self.differ(f"crash: {arguments}: exit status {done.returncode}: {done.stderr[-SHOWN:]}")
        return done

    def json(self, *arguments):
        done = self.run(*arguments, "--json")
        try:
            return json.loads(done.stdout), done
        except ValueError:
            return None, done

    def tree(self, tree, copy, changed, folder):
        said = self.inspect(tree)
        if said is not None:
            self.cat(tree, said)
        self.verify(tree)
        if tree.gone is None:
            self.diff(tree, copy, changed)
        self.convert(tree, folder, said)
        return self.differences

    def inspect(self, tree):
        """The arrays that are listed, by their own names."""
        about, done = self.json("inspect", tree.path)
        if about is None:
            self.differ(f"inspect: {done.stderr[:SHOWN].decode()}")
            return None
        listed, self.listed_count = {}, len(about["arrays"])
        for array in about["arrays"]:
            name = array.get("attributes", {}).get("original_name", array["name"])
            if name in listed:
                self.differ(f"inspect: two arrays are {name!r}")
            listed[name] = array
        self.unread = {name for name, array in listed.items() if "unread" in array.get("attributes", {})}
        for leaf in tree.leaves:
            if leaf.choices is not None:
                self.odd(tree, leaf, listed)
        wanted = {leaf.name: leaf for leaf in tree.leaves if leaf.choices is None}
        for name in wanted.keys() - listed.keys():
            self.differ(f"inspect: {name!r} {wanted[name].dtype} is not listed: {sorted(listed)!r}"[:SHOWN])
        if tree.gone is not None and "error" not in listed.get(tree.gone, {"error": ""}):
            self.differ(f"inspect: {tree.gone!r} is listed as if it were there")
        for name in listed.keys() - wanted.keys() - {tree.gone}:
            if any(name == leaf.name or name.startswith(leaf.name + "/") for leaf in tree.leaves if leaf.choices is not None):
                continue
            self.differ(f"inspect: {name!r} is listed, and not there")
        for name in wanted.keys() & listed.keys():
            leaf, array = wanted[name], listed[name]
            dtype = "raw_bytes" if array["dtype"].startswith("r") and array["dtype"][1:].isdigit() else array["dtype"]
            if (dtype, tuple(array["shape"])) != (leaf.dtype, tuple(leaf.shape)):
                self.differ(f"inspect: {name!r}: {leaf.dtype} {leaf.shape} is {dtype} {array['shape']}")
            if leaf.attributes is not None:
                got = {k: v for k, v in array.get("attributes", {}).items() if k != "original_name"}
                self.same_json(f"inspect: attributes of {name!r}", leaf.attributes, got)
        if tree.attributes is not None:
            self.same_json("inspect: attributes of the root", tree.attributes, about.get("attributes", {}))
        if tree.groups is not None:
            groups = {group["name"]: group.get("attributes", {}) for group in about.get("groups", [])}
            self.same_json("inspect: groups", tree.groups, groups)
        return listed

    def odd(self, tree, leaf, listed):
        """What the library has no type for: it is listed with its reason, or its elements are there."""
        parts = [name for name in listed if name == leaf.name or name.startswith(leaf.name + "/")]
        if not parts:
            self.differ(f"inspect: odd {leaf.name!r} {leaf.dtype} is not listed: {sorted(listed)!r}"[:SHOWN])
        elif not self.unread.intersection(parts):
            read = [self.run("cat", tree.path, listed[name]["name"], "--raw").stdout for name in parts]
            if not any(choice in read for choice in leaf.choices):
                self.differ(f"cat: odd {leaf.name!r} {leaf.dtype} is {listed[parts[0]]['dtype']} {read[0][:80]}")

    def same_json(self, what, wanted, got):
        if json.dumps(wanted, sort_keys=True) != json.dumps(got, sort_keys=True):
            self.differ(f"{what}: {json.dumps(wanted)[:SHOWN]} is {json.dumps(got)[:SHOWN]}")

    def cat(self, tree, listed):
        for leaf in tree.leaves:
            # An argument of a program cannot have a zero in it.
            if leaf.name not in listed or leaf.choices is not None or "\0" in listed[leaf.name]["name"]:
                continue
            shown = listed[leaf.name]["name"]
            node = [shown] if shown else []
            if leaf.is_document:
                text, done = self.json("cat", tree.path, *node)
                try:
                    self.same_json(f"cat: {leaf.name!r}", leaf.document, json.loads(text))
                except (TypeError, ValueError):
                    self.differ(f"cat: {leaf.name!r}: {done.stderr[:SHOWN]} {done.stdout[:SHOWN]}")
                continue
            done = self.run("cat", tree.path, *node, "--raw")
            if done.returncode:
                self.differ(f"cat: {leaf.name!r} {leaf.dtype} {leaf.shape}: {done.stderr[:SHOWN].decode()}")
            elif done.stdout != leaf.raw:
                at = next((i for i, (a, b) in enumerate(zip(leaf.raw, done.stdout)) if a != b), len(done.stdout))
                end = f"of {len(leaf.raw)} at {at}: {leaf.raw[at : at + 32].hex()} is {done.stdout[at : at + 32].hex()}"
                self.differ(f"cat: {leaf.name!r} {leaf.dtype} {leaf.shape}: {len(done.stdout)} bytes {end}")

        self.slices(tree, listed)

    def slices(self, tree, listed):
        """A part of one array: starts, ends, steps and single places, as NumPy has them."""
        found = [leaf for leaf in tree.leaves if leaf.shape and leaf.raw and leaf.dtype not in ("string", "bytes") and leaf.name in listed]
        if not found:
            return
        leaf = self.rng.choice(found)
        if "\0" in listed[leaf.name]["name"]:
            return
        size = len(leaf.raw) // int(np.prod(leaf.shape))
        values = np.frombuffer(leaf.raw, dtype=f"V{size}").reshape(leaf.shape)
        at, texts = [], []
        for extent in leaf.shape[: self.rng.randint(1, len(leaf.shape))]:
            if self.rng.random() < 0.25:
                at.append(self.rng.randrange(-extent, extent))
                texts.append(str(at[-1]))
                continue
            ends = [self.rng.choice((None, self.rng.randint(-extent - 1, extent + 2))) for _ in range(2)]
            at.append(slice(*ends, self.rng.choice((None, 1, 2, 3))))
            texts.append(":".join("" if end is None else str(end) for end in (at[-1].start, at[-1].stop, at[-1].step)))
        node = [listed[leaf.name]["name"]] if listed[leaf.name]["name"] else []
        done = self.run("cat", tree.path, *node, "--raw", "--slice=" + ",".join(texts))
        if done.returncode or done.stdout != values[tuple(at)].tobytes():
            self.differ(f"cat: {leaf.name!r} {leaf.dtype} {leaf.shape} --slice={','.join(texts)}: {done.stderr[:SHOWN]} {done.stdout[:32].hex()}")

    def verify(self, tree):
        about, done = self.json("verify", tree.path)
        if about is None:
            self.differ(f"verify: {done.stderr[:SHOWN].decode()}")
            return
        if self.unread:
            named = {found.get("array") for found in about["findings"] if found["kind"] == "unverified"}
            if about["verdict"] != "not verified" or done.returncode != 3 or len(named) < len(self.unread):
                self.differ(f"verify: {about['verdict']} with {sorted(self.unread)} not read: {json.dumps(about['findings'])[:SHOWN]}")
            return
        if tree.is_stale:
            if about["verdict"] != "faulty" or done.returncode != 1:
                self.differ(f"verify: {about['verdict']} with consolidated metadata that are not true")
            return
        findings = [found for found in about["findings"] if not self.is_unstored(tree, found)]
        only_notes = all(found["kind"] == "note" for found in findings)
        if about["verdict"] == "not verified" and only_notes and done.returncode == 3:
            return
        if about["verdict"] != "ok" or done.returncode:
            self.differ(f"verify: {about['verdict']}: {json.dumps(findings)[:SHOWN]}")
        elif about["arrays"] != self.count(tree):
            self.differ(f"verify: {about['arrays']} arrays of {self.count(tree)}")

    def count(self, tree):
        """Of the arrays; of what is odd there may be several."""
        return self.listed_count if any(leaf.choices is not None for leaf in tree.leaves) else len(tree.leaves)

    @staticmethod
    def is_unstored(tree, found):
        """That nothing is stored of an array, or of all, and so it is."""
        if found["kind"] != "unverified":
            return False
        if "no chunk of it is stored" in found["message"]:
            return any(not leaf.is_stored for leaf in tree.leaves if leaf.name == found.get("array", leaf.name))
        return "nothing was verified" in found["message"] and not any(leaf.is_stored and 0 not in leaf.shape for leaf in tree.leaves)

    def diff(self, tree, copy, changed):
        about, done = self.json("diff", tree.path, copy.path)
        if about is None or not about["same"] or done.returncode or about["compared"] != self.count(tree):
            self.differ(f"diff of a copy: {json.dumps(about)[:SHOWN]} {done.stderr[:SHOWN].decode()}")
        if changed is not None:
            about, done = self.json("diff", tree.path, changed.path)
            pairs = zip(tree.leaves, changed.leaves, strict=True)
            count = sum((a.raw, json.dumps(a.document), a.choices) != (b.raw, json.dumps(b.document), b.choices) for a, b in pairs)  # a NaN is one
            if about is None or about["same"] != (count == 0) or (about["different"] != count and count and self.count(tree) == len(tree.leaves)):
                self.differ(f"diff of another: {json.dumps(about)[:SHOWN]} {done.stderr[:SHOWN].decode()}")

    def convert(self, tree, folder, listed):
        if not tree.leaves or listed is None:
            return
        targets = [("zarr3", "zarr"), self.rng.choice((("zarr2", "zarr2"), ("zarr3", "zip"), ("safetensors", "safetensors"), ("npz", "npz")))]
        for target, end in targets:
            out = Path(folder, f"out.{end}")
            options = []
            if target in ("zarr2", "zarr3") and self.rng.random() < 0.4:
                options += ["--codec", self.rng.choice(("zstd:1", "gzip:1", "blosc:3"))]
            ranks = [len(leaf.shape) for leaf in tree.leaves if leaf.shape and leaf.choices is None]
            if target == "zarr3" and ranks and self.rng.random() < 0.3 and not any("*" in name or "?" in name for name in listed):
                options += ["--chunk", ",".join(["3"] * self.rng.choice(ranks))]
            done = self.run("convert", tree.path, out, "--to", target, *options)
            notes = done.stderr.decode(errors="replace")
            if self.unread or tree.gone is not None:
                if done.returncode != 2 or "--skip" not in notes:
                    self.differ(f"convert to {target}: {sorted(self.unread)} not read: exit status {done.returncode}: {notes[-SHOWN:]}")
                shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
                continue
            if done.returncode:
                self.differ(f"convert to {target}: {notes[-SHOWN:]}")
                continue
            self.converted(tree, out, target, notes, listed)
            shutil.rmtree(out) if out.is_dir() else out.unlink()

    def converted(self, tree, out, target, notes, listed):
        names = {listed[leaf.name]["name"] for leaf in tree.leaves if leaf.name in listed}
        alone, count = tree.path.stem, 1  # how an array without a name is called
        while alone in names:
            count += 1
            alone = f"{tree.path.stem}~{count}"
        about, done = self.json("diff", tree.path, out)
        told = target == "safetensors" and "__metadata__" in notes  # its strings are there
        if (about is None or not about["same"]) and not told:
            self.differ(f"convert to {target}: not the same: {json.dumps(about)[:SHOWN]} {done.stderr[:SHOWN].decode()}")
        if target in ("zarr2", "zarr3") and out.is_dir():
            for leaf in tree.leaves:
                if leaf.name in listed:
                    self.zarr_array(leaf, out / (listed[leaf.name]["name"] or alone), target, notes)
            return
        if target == "safetensors":
            read = {name: (part["shape"], bytes(part["data"])) for name, part in safetensors.deserialize(out.read_bytes())}
        elif target == "npz":
            with np.load(out) as file:
                read = {name: (file[name].shape, file[name].tobytes()) for name in file.files}
        else:
            return
        for leaf in tree.leaves:
            if leaf.is_document or leaf.choices is not None or leaf.dtype in TEXTS or leaf.name not in listed:
                continue
            shown = listed[leaf.name]["name"]
            found = [read[name] for name in (shown or alone, leaf.name) if name in read]
            if not found:
                self.differ(f"convert to {target}: {leaf.name!r} {leaf.dtype} is not there: {notes[:SHOWN]}")
            elif tuple(found[0][0]) != tuple(leaf.shape) or found[0][1] != leaf.raw:
                self.differ(f"convert to {target}: {leaf.name!r} {leaf.dtype} is {found[0][0]} {found[0][1][:40].hex()}")

    def zarr_array(self, leaf, folder, target, notes):
        """Of an array that `convert` wrote without compression: the bytes that it has, and its document."""
        if target == "zarr2":
            return
        document = json.loads((folder / "zarr.json").read_text())
        if leaf.attributes is not None:
            got = {k: v for k, v in document.get("attributes", {}).items() if k not in ("original_name", "zarrpoint")}
            self.same_json(f"convert to {target}: attributes of {leaf.name!r}", leaf.attributes, got)
        if leaf.dimension_names and any(leaf.dimension_names):
            if document.get("dimension_names") != leaf.dimension_names and "dimension names" not in notes:
                self.differ(f"convert to {target}: dimension names {leaf.dimension_names} of {leaf.name!r}: {document.get('dimension_names')}")
