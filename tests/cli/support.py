# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share."""

import json
import os
import subprocess
import unittest
from pathlib import Path

import google_crc32c
import jsonschema
import ml_dtypes
import numpy as np

COMMAND = os.environ["ZARRPOINT_CLI"]
FOLDER = Path(os.environ["ZARRPOINT_CLI_FOLDER"])
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"

OK, NO, FAILED, UNVERIFIED = 0, 1, 2, 3
SANITIZED = b"__asan_init" in Path(COMMAND).read_bytes()

BITS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
BITS += ["float16", "float32", "float64", "complex64", "complex128"]
SMALL = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


SCHEMAS = {
    path.name.split(".")[0]: jsonschema.Draft202012Validator(json.loads(path.read_text()))
    for path in sorted((ROOT / "tools/cli/schemas").glob("*.schema.json"))
}


def dtype_of(name):
    return np.dtype(SMALL.get(name, name))


def run(*arguments, **options):
    """The command, its output as bytes; a crash is not an exit status of its own."""
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, timeout=600, **options)
    if done.returncode not in (OK, NO, FAILED, UNVERIFIED) or b"Sanitizer" in done.stderr:
        raise AssertionError(f"{arguments}: exit status {done.returncode}: {done.stderr.decode()}")
    return done


def rename_codec(document, name, to):
    """Makes of an array one whose codec nobody has."""
    document.write_text(document.read_text().replace(f'"{name}"', f'"{to}"'))


def set_kind(document, name, kind):
    """Makes of a leaf of a checkpoint of ours one that another handler saved."""
    root = json.loads(document.read_text())
    commit = root["attributes"]["zarrpoint"]
    del commit["crc32c"]
    next(leaf for leaf in commit["leaves"] if leaf["name"] == name)["typestr"] = kind
    text = json.dumps(commit, separators=(",", ":"), ensure_ascii=False)
    commit["crc32c"] = f"{google_crc32c.value(text.encode()):08x}"
    document.write_text(json.dumps(root, separators=(",", ":"), ensure_ascii=False))


def random_array(name, shape, seed=1):
    """Random bits, so that NaN payloads and subnormal numbers are among the values."""
    kind = dtype_of(name)
    high = 2 if name == "bool" else 256
    count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = np.random.default_rng(seed).integers(0, high, count, dtype=np.uint8)
    return raw.view(kind).reshape(shape)


def little(array):
    """The bytes that `cat --raw` writes."""
    array = np.ascontiguousarray(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = FOLDER / self.id().split(".", 1)[1]
        self.folder.mkdir(parents=True)

    def expect(self, status, *arguments, **options):
        """Runs the command, which must end with that status, or any if it is None."""
        done = run(*arguments, **options)
        said = (done.stdout[-2000:] + done.stderr[-2000:]).decode(errors="replace")
        if status is not None:
            self.assertEqual(done.returncode, status, f"{arguments}: {said}")
        return done

    def text(self, *arguments, status=OK, **options):
        return self.expect(status, *arguments, **options).stdout.decode()

    def json(self, *arguments, status=OK):
        """Strict JSON, as the schema of the command has it: the bare tokens NaN and Infinity are none."""

        def refuse(token):
            raise AssertionError(f"bare {token}")

        document = json.loads(self.text(*arguments, "--json", status=status), parse_constant=refuse)
        if len(json.dumps(document)) < 100_000:  # the validator takes its time
            SCHEMAS[arguments[0]].validate(document)
        return document

    def refused(self, *arguments):
        """What standard error says of a failure."""
        said = self.expect(FAILED, *arguments).stderr.decode()
        self.assertTrue(said.startswith("zarrpoint: "), said)
        return said
