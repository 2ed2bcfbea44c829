#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Opens what zarrpoint wrote with every peer, with warnings as errors, and compares every bit.

read_ours.py FOLDER
"""

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import peers
import tensorstore
import zarr
from safetensors.numpy import load_file


def check_arrays(folder, index):
    """Reads every array with every peer that knows its data type; returns what failed."""
    failures, count = [], Counter()
    for entry in index["arrays"]:
        path = folder / entry["path"]
        for peer, known in peers.KNOWN.items():
            if entry["dtype"] not in known:
                continue
            try:
                array = peers.read(peer, path, entry["zarr_format"])
            except Exception as error:  # noqa: BLE001  whatever a peer says about it is the finding
                failures.append(f"{peer}: {entry['path']}: {type(error).__name__}: {error}")
                continue
            count[peer] += 1
            if list(array.shape) != entry["shape"]:
                failures.append(f"{peer}: {entry['path']}: shape {array.shape}")
            elif entry["dtype"] != "string" and array.dtype.name != entry["dtype"]:
                failures.append(f"{peer}: {entry['path']}: dtype {array.dtype}")
            elif not peers.same(array, folder / entry["expected"]):
                failures.append(f"{peer}: {entry['path']}: other contents")
    for peer, number in count.items():
        print(f"{peer} read {number} arrays")
        if number < 20:
            failures.append(f"{peer} read only {number} arrays")
    return failures


def check_groups(folder, index):
    """Walks every checkpoint as a group with zarr-python; consolidated metadata where it is there."""
    failures = []
    for entry in index["groups"]:
        try:
            group = zarr.open_group(
                str(folder / entry["path"]), mode="r", use_consolidated=entry["consolidated"] or None
            )
            for name in entry["leaves"]:
                if list(group[name].shape) != entry["shapes"][name]:
                    failures.append(f"{entry['path']}: {name}: shape {group[name].shape}")
            if entry["consolidated"]:
                found = {name for name, _ in group.members(max_depth=None)}
                missing = set(entry["leaves"]) - found
                if missing:
                    failures.append(f"{entry['path']}: members lack {sorted(missing)}")
        except Exception as error:  # noqa: BLE001
            failures.append(f"{entry['path']}: {type(error).__name__}: {error}")
    print(f"zarr-python opened {len(index['groups'])} checkpoints as groups")
    return failures


def check_zips(folder, index):
    """Single-file checkpoints, as a store of zarr-python and of tensorstore."""
    failures, count = [], 0
    for entry in index["zips"]:
        path = folder / entry["path"]
        store = zarr.storage.ZipStore(path, mode="r")
        group = zarr.open_group(store, mode="r")
        for array in entry["arrays"]:
            where = f"{entry['path']}: {array['name']}"
            kvstore = {"driver": "zip", "base": f"file://{path}", "path": f"{array['name']}/"}
            driver = "zarr3" if entry["zarr_format"] == 3 else "zarr"
            try:
                if not peers.same(np.asarray(group[array["name"]][...]), folder / array["expected"]):
                    failures.append(f"zarr-python: {where}: other contents")
                count += 1
                if array["dtype"] not in peers.KNOWN["tensorstore"]:
                    continue
                spec = {"driver": driver, "kvstore": kvstore}
                opened = tensorstore.open(spec, read=True, open=True).result()
                if not peers.same(opened.read().result(), folder / array["expected"]):
                    failures.append(f"tensorstore: {where}: other contents")
                count += 1
            except Exception as error:  # noqa: BLE001
                failures.append(f"{where}: {type(error).__name__}: {error}")
        store.close()
    print(f"zarr-python and tensorstore read {count} arrays in {len(index['zips'])} zip files")
    return failures


def check_hierarchies(folder, index):
    """Groups as zarr-python sees them, by their own documents and by consolidated metadata."""
    failures = []
    for entry in index["hierarchies"]:
        for consolidated in (True, False):
            where = f"{entry['path']}, consolidated {consolidated}"
            try:
                group = zarr.open_group(
                    str(folder / entry["path"]), mode="r", use_consolidated=consolidated
                )
                found = sorted(name for name, _ in group.members(max_depth=None))
                if found != entry["members"]:
                    failures.append(f"{where}: members {found}")
                if group.metadata.zarr_format != entry["zarr_format"]:
                    failures.append(f"{where}: format {group.metadata.zarr_format}")
                if dict(group.attrs) != entry["attributes"]:
                    failures.append(f"{where}: attributes {dict(group.attrs)}")
                for name in entry["arrays"]:
                    if not peers.same(group[name][...], folder / entry["expected"]):
                        failures.append(f"{where}: {name}: other contents")
                    if dict(group[name].attrs) != {"unit": "m"}:
                        failures.append(f"{where}: {name}: attributes {dict(group[name].attrs)}")
            except Exception as error:  # noqa: BLE001
                failures.append(f"{where}: {type(error).__name__}: {error}")
    print(f"zarr-python walked {len(index['hierarchies'])} hierarchies")
    return failures


def check_types(folder, index):
    """zarr-python refuses a data type exactly where the report of the save warned of it."""
    failures, refused = [], 0
    for entry in index["types"]:
        where = f"{entry['path']}: {entry['dtype']}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of data types without a specification
            try:
                zarr.open_array(str(folder / entry["path"]), mode="r", zarr_format=entry["zarr_format"])[...]
                opened = True
            except Exception:  # noqa: BLE001
                opened = False
        refused += not opened
        if opened == entry["warned"]:
            failures.append(f"zarr-python: {where}: {'opened' if opened else 'refused without a warning'}")
    print(f"zarr-python refused {refused} of {len(index['types'])} data types")
    return failures


def check_members(folder):
    """A struct is a group with an array for each member."""
    group = zarr.open_group(str(folder / "v3-members.zarr"), mode="r")
    found = {name: (str(one.dtype), one[...].tolist()) for name, one in group["w"].arrays()}
    print(f"zarr-python read a group of {len(found)} members")
    wanted = {"q": ("int8", [1, -2, 3]), "scale": ("float32", 0.5)}
    return [] if found == wanted else [f"v3-members.zarr: {found}"]


def check_attributes(folder):
    """Attributes of the root, of groups and of leaves, by each node's documents and consolidated."""
    wanted = {"": {"optimizer": "adam"}, "layers": {}, "layers/0": {"layer": 0}, "e": {"why": None}}
    wanted |= {"layers/0/w": {"unit": "m"}, "layers/1": {}, "layers/1/w": {}}
    failures = []
    for zarr_format in (2, 3):
        for name, ways in (("", [False]), ("-consolidated", [False, True])):
            path = str(folder / f"v{zarr_format}-attributes{name}.zarr")
            for consolidated in ways:
                group = zarr.open_group(path, mode="r", use_consolidated=consolidated)
                found = {"": dict(group.attrs)}
                found |= {name: dict(node.attrs) for name, node in group.members(max_depth=None)}
                del found[""]["zarrpoint"]
                if found != wanted:
                    failures.append(f"{path}, consolidated {consolidated}: {found}")
                alone = zarr.open(path + "/layers/0/w", mode="r")
                if dict(alone.attrs) != wanted["layers/0/w"]:
                    failures.append(f"{path}: w alone: {dict(alone.attrs)}")
    print(f"zarr-python read attributes of {len(wanted)} nodes in each of 4 checkpoints")
    return failures


def check_safetensors(folder, index):
    failures = []
    for entry in index["safetensors"]:
        tensors = load_file(folder / entry["path"])
        expected = {tensor["name"]: tensor for tensor in entry["tensors"]}
        if set(tensors) != set(expected):
            failures.append(f"{entry['path']}: {sorted(tensors)}")
            continue
        for name, tensor in tensors.items():
            if not peers.same(tensor, folder / expected[name]["expected"]):
                failures.append(f"{entry['path']}: {name}: other contents")
        print(f"safetensors read {len(tensors)} tensors")
    return failures


def main(folder):
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    failures = check_arrays(folder, index) + check_groups(folder, index)
    failures += check_zips(folder, index) + check_hierarchies(folder, index)
    failures += check_types(folder, index) + check_members(folder) + check_attributes(folder)
    failures += check_safetensors(folder, index)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
