#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""OCDBT databases that TensorStore writes and ours, and those that both write in turn: each side reads every key,
value and version as it was written.

    ocdbt_check.py DUMP WRITE FOLDER
        DUMP and WRITE are tests/interop/ocdbt_dump.cpp and ocdbt_write.cpp; FOLDER is made anew

ZARRPOINT_TEST_LONG=1 before it adds trees of 1,000,000 keys, by either side.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import tensorstore as ts

CONFIGS = [  # what decides how a database is laid out
    {},
    {"max_inline_value_bytes": 0},
    {"max_inline_value_bytes": 1 << 20},
    {"max_decoded_node_bytes": 1, "version_tree_arity_log2": 1},
    {"max_decoded_node_bytes": 300, "compression": None},
    {"max_decoded_node_bytes": 4000, "max_inline_value_bytes": 20, "compression": {"id": "zstd", "level": 5}},
    {"manifest_kind": "numbered", "max_decoded_node_bytes": 500, "version_tree_arity_log2": 2},
]
SEGMENTS = ["a", "b", "ab", "layers", "layers_0", "w", "0", "0.0", "c", "zarr.json", ".zarray", "\u00fc", "~", "x" * 40]


def key_of(random):
    return "/".join(random.choice(SEGMENTS) for _ in range(random.randint(1, 5)))


def value_of(random):
    size = random.choice([0, 1, 5, 19, 20, 21, 99, 100, 101, 1000, 5000])
    return random.randbytes(size)


def opened(folder, config=None):
    spec = {"driver": "ocdbt", "base": f"file://{folder}/"}
    if config is not None:
        spec["config"] = config
    return ts.KvStore.open(spec).result()


def dumped(dump, how, folder, *more, keys=None):
    """What the program prints, as keys and values; its message if it fails."""
    text = None if keys is None else "".join(f"{key}\n" for key in keys).encode()
    done = subprocess.run([dump, how, str(folder), *more], capture_output=True, input=text)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {folder}: {done.stderr.decode()}")
    if how == "versions":
        return [[int(word) for word in line.split()] for line in done.stdout.decode().splitlines()]
    out, at = {}, 0
    while at < len(done.stdout):
        key_size, size = struct.unpack_from("<QQ", done.stdout, at)
        at += 16
        key = done.stdout[at : at + key_size]
        assert key not in out, f"{key} twice"
        out[key] = done.stdout[at + key_size : at + key_size + size]
        at += key_size + size
    return out


def require(is_true, what):
    if not is_true:
        raise SystemExit(f"FAILED: {what}")


def generations(random, folder, config, count):
    """Writes so many versions, each in one transaction; what each holds, by its number."""
    store, held, out = opened(folder, config), {}, {}
    for generation in range(1, count + 1):
        changed = dict(held)
        with ts.Transaction(atomic=True) as transaction:
            view = store.with_transaction(transaction)
            for _ in range(random.choice([1, 2, 30])):
                if held and random.random() < 0.3:
                    gone = random.choice(sorted(held))
                    view.delete_range(ts.KvStore.KeyRange(gone, gone + b"\0")).result()
                    changed.pop(gone, None)
                else:
                    key, value = key_of(random).encode(), value_of(random)
                    view[key] = value
                    changed[key] = value
        held = changed
        out[generation] = dict(held)
    return out


def check_random(dump, folder, seed):
    source = random.Random(seed)
    config = CONFIGS[seed % len(CONFIGS)]
    expected = generations(source, folder, config, source.choice([1, 3, 40]))
    newest = max(expected)
    theirs = opened(folder)
    listed = {key: theirs.read(key).result().value for key in theirs.list().result()}
    require(listed == expected[newest], f"{folder}: TensorStore reads what it wrote")
    ours = dumped(dump, "all", folder)
    require(ours == listed, f"{folder}: the newest version")
    told = dumped(dump, "versions", folder)
    first = told[-1][0] - newest + 1  # opening it may be a version of its own, without keys
    require([line[0] for line in told] == list(range(1, told[-1][0] + 1)), f"{folder}: all versions are listed")
    for generation in source.sample(sorted(expected), min(8, newest)):
        number = generation + first - 1
        require(dumped(dump, "all", folder, str(number)) == expected[generation], f"{folder}: version {number}")
        require(told[number - 1][2] == len(expected[generation]), f"{folder}: keys of version {number}")
    absent = sorted({key_of(source) for _ in range(50)})
    found = dumped(dump, "get", folder, keys=absent)
    require(found == {key: listed[key] for key in found}, f"{folder}: single keys")
    require(set(found) == {key.encode() for key in absent} & set(listed), f"{folder}: missing keys are missing")
    return len(expected)


def check_large(dump, folder, count):
    store, expected = opened(folder, {"max_decoded_node_bytes": 20000}), {}
    with ts.Transaction(atomic=True) as transaction:
        view = store.with_transaction(transaction)
        for i in range(count):
            key = f"layers/{i % 97}/block_{i // 97:06d}/{'c' if i % 3 else 'zarr.json'}".encode()
            expected[key] = str(i).encode() * (i % 50)
            view[key] = expected[key]
    require(dumped(dump, "all", folder) == expected, f"{folder}: {count} keys")


WRITE_OPTIONS = [  # as ocdbt_write takes them
    ["100000000", "1024", str(2 << 30), "4", "0"],
    ["1", "0", "1", "1"],
    ["300", "20", "5000", "2"],
    ["4000", "1048576", "0", "1", "5"],
    ["500", "100", "100000", "16", "-5"],
]
GONE = (1 << 64) - 1


def put(write, folder, changes, options=WRITE_OPTIONS[0]):
    """A version by our writer, of changes as keys and values, None for those that go; its number."""
    packed = b"".join(
        struct.pack("<QQ", len(key), GONE if value is None else len(value)) + key + (value or b"")
        for key, value in changes.items()
    )
    done = subprocess.run([write, "change", str(folder), *options], capture_output=True, input=packed)
    require(done.returncode == 0, f"{folder}: {done.stderr.decode()}")
    return int(done.stdout)


def random_changes(random, held):
    out = {}
    for _ in range(random.choice([1, 2, 60])):
        key = random.choice(sorted(held)) if held and random.random() < 0.4 else key_of(random).encode()
        out[key] = None if random.random() < 0.3 else value_of(random)
    return out


def changed(held, changes):
    out = {**held, **changes}
    return {key: value for key, value in out.items() if value is not None}


def read_by_theirs(folder, version=None):
    spec = {"driver": "ocdbt", "base": f"file://{folder}/"}
    if version is not None:
        spec["version"] = version
    store = ts.KvStore.open(spec).result()
    keys = store.list().result()
    return {key: store.read(key).result().value for key in keys}


def check_written(write, dump, folder, seed):
    """Versions of which ours and TensorStore's writer each make some, TensorStore none where seed is even."""
    source, held, out = random.Random(seed), {}, {}
    for _ in range(source.choice([1, 3, 20])):
        changes = random_changes(source, held)
        held = changed(held, changes)
        if seed % 2 and out and source.random() < 0.5:
            with ts.Transaction(atomic=True) as transaction:
                view = opened(folder).with_transaction(transaction)
                for key, value in changes.items():
                    if value is None:
                        view.delete_range(ts.KvStore.KeyRange(key, key + b"\0")).result()
                    else:
                        view[key] = value
            out[dumped(dump, "versions", folder)[-1][0]] = held
        else:
            out[put(write, folder, changes, WRITE_OPTIONS[seed % len(WRITE_OPTIONS)])] = held
    require(read_by_theirs(folder) == held, f"{folder}: TensorStore reads the newest of ours")
    require(dumped(dump, "all", folder) == held, f"{folder}: we read the newest of ours")
    for generation, expected in out.items():
        require(read_by_theirs(folder, generation) == expected, f"{folder}: TensorStore reads version {generation}")
    return len(out)


def check_merged(write, dump, folder):
    """What two writers, ours and TensorStore's, wrote apart becomes one, which TensorStore goes on with."""
    source, held = random.Random(7), {}
    for part in ("ours", "theirs"):
        (folder / part).mkdir()
        values = {f"{part}/{key_of(source)}".encode(): value_of(source) for _ in range(200)}
        if part == "ours":
            put(write, folder / part, values)
        else:
            view = opened(folder / part)
            for key, value in values.items():
                view[key] = value
        held.update(values)
    done = subprocess.run([write, "merge", str(folder), "ours", "theirs"], capture_output=True)
    require(done.returncode == 0, f"{folder}: {done.stderr.decode()}")
    require(read_by_theirs(folder) == held, f"{folder}: TensorStore reads what was merged")
    opened(folder)[b"more"] = held[b"more"] = b"1"
    require(dumped(dump, "all", folder) == held, f"{folder}: what TensorStore adds to it")


def check_large_written(write, folder, count):
    values = {
        f"layers/{i % 97}/block_{i // 97:06d}/{'c' if i % 3 else 'zarr.json'}".encode(): str(i).encode() * (i % 50)
        for i in range(count)
    }
    put(write, folder, values, ["20000", "100", "0", "4", "0"])
    require(read_by_theirs(folder) == values, f"{folder}: {count} keys of ours")


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    dump, write, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    versions = 0
    for seed in range(35):
        place = folder / str(seed)
        place.mkdir()
        versions += check_random(dump, place, seed)
    large = 1_000_000 if os.environ.get("ZARRPOINT_TEST_LONG") else 20_000
    (folder / "large").mkdir()
    check_large(dump, folder / "large", large)
    print(f"OK: 35 OCDBT databases with {versions} versions by TensorStore, and one of {large} keys, read back")
    versions = 0
    for seed in range(30):
        place = folder / f"written_{seed}"
        place.mkdir()
        versions += check_written(write, dump, place, seed)
    for name in ("merged", "large_written"):
        (folder / name).mkdir()
    check_merged(write, dump, folder / "merged")
    check_large_written(write, folder / "large_written", large)
    print(f"OK: 30 of ours with {versions} versions, some of TensorStore's, and one of {large} keys, read by TensorStore")
    return 0


if __name__ == "__main__":
    sys.exit(main())
