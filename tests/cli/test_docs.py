# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/cli.md: each command gives the output that stands below it."""

import gzip
import io
import os
import pickle
import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file
from support import COMMAND, ROOT, Case

PAGE = ROOT / "docs/cli.md"


def examples():
    """(command, expected output) of every console block, in order."""
    for block in re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def without_id(text):
    """Each save has an identity of its own."""
    return re.sub(r"[0-9a-f]{32}", "<id>", text)


def unsupported():
    """(what, message) of each row of the table of what is not supported."""
    table = PAGE.read_text().split("| not supported | |\n|---|---|\n")[1].split("\n\n")[0]
    return re.findall(r"^\| (.*?) \| `(.*)` \|$", table, re.M)


class Docs(Case):
    def test_what_is_not_supported(self):
        """Each row is what the command says of such a file, and no refusal of its sources is left out."""
        made = {
            "a directory with `manifest.ocdbt`": {"a/manifest.ocdbt": b""},
            "a directory with `.metadata`": {"a/.metadata": b""},
            "HDF5": {"a": b"\x89HDF\r\n\x1a\n"},
            "GGUF": {"a": b"GGUF\x03\0\0\0"},
            "pickles, files of `torch.save`": {"a": pickle.dumps({"x": 1}, 2)},
            "tar archives": {"a": b"a".ljust(257, b"\0") + b"ustar\x0000"},
            "gzip files": {"a": gzip.compress(b"x")},
            "npy files of structures": {"a": npy(np.zeros(2, [("x", "i4")]))},
            "npy files of objects, dates, float128": {"a": npy(np.array([None]))},
            "other files": {"a": b"something else"},
        }
        rows = unsupported()
        self.assertEqual([what for what, _ in rows], list(made))
        for i, (what, message) in enumerate(rows):
            for name, content in made[what].items():
                path = self.folder / str(i) / name
                path.parent.mkdir(parents=True)
                path.write_bytes(content)
            self.assertIn(message.encode(), self.expect(2, "inspect", self.folder / str(i) / "a").stderr)
        said = re.findall(r'unsupported\(path, "([^"]*)"\)', (ROOT / "tools/cli/source.cpp").read_text())
        told = {message for _, message in rows}
        apart = {"neither a file nor a directory", "a checkpoint directory without a Zarr array in it"}
        self.assertEqual(set(said) - told, apart)

    def test_every_example(self):
        weights = ((np.arange(96 * 64) * 7919 % 1000) / 500 - 1).reshape(96, 64).astype("float32")
        save_file(
            {
                "embed": weights,
                "layers/0/w": (weights[:32] / 8).astype(ml_dtypes.bfloat16),
                "layers/0/b": np.arange(32, dtype="int16"),
                "step": np.array(1200),
            },
            self.folder / "model.safetensors",
            metadata={"format": "pt"},
        )
        place = {**os.environ, "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}
        count = 0
        for command, expected in examples():
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env=place,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            self.assertEqual(without_id(done.stdout), without_id(expected), command)
            count += 1
        self.assertGreater(count, 10)
