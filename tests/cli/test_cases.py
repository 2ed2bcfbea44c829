# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of public bug reports of other projects, each with its right answer. Those that PyTorch and Orbax make lie in tests/golden/cases."""

import json
import os
import shutil
import struct
import subprocess
import zipfile

import numpy as np
import safetensors
import zarr
from safetensors.numpy import load_file, save_file
from support import COMMAND, FAILED, GOLDEN, NO, OK, SANITIZED, UNVERIFIED, Case

CASES = GOLDEN / "cases"


class Pickles(Case):
    def test_conjugates_and_negatives(self):
        """pytorch #81690, safetensors #831: views that torch.load makes again."""
        self.assertEqual(self.json("cat", CASES / "conj.pt", "c"), [[1, -2], [3, 1]])
        self.assertEqual(self.json("cat", CASES / "conj.pt", "n"), [-1, -3])
        self.expect(OK, "verify", CASES / "conj.pt")
