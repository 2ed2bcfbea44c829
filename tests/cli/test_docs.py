# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/cli.md: each command gives the output that stands below it."""

import os
import re
import subprocess
from pathlib import Path
from unittest import mock

import ml_dtypes
import numpy as np
import unsupported
from safetensors.numpy import save_file
from support import COMMAND, ROOT, Case

PAGE = ROOT / "docs/cli.md"


def examples():
    """(command, expected output) of every console block, in order."""
    for block in re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def without_id(text):
    """Each save has an identity of its own."""
    return re.sub(r"[0-9a-f]{32}", "<id>", text)


class Docs(Case):
    def test_what_is_not_supported(self):
        """The page's tables are what the command says, and no refusal of its sources is left out."""
        self.assertFalse(unsupported.wrong(COMMAND), "run tests/cli/unsupported.py")

    def test_a_refusal_without_a_case(self):
        self.assertGreater(len(list(unsupported.refusals())), 20)
        with mock.patch.object(unsupported, "CASES", unsupported.CASES[1:]):
            with self.assertRaisesRegex(SystemExit, "checkpoint directory"):
                unsupported.tables(COMMAND)

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
