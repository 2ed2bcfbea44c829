# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""delta, apply, squash: what differs comes back, and nothing else is changed."""

import shutil

import numpy as np
from safetensors.numpy import save_file
from support import FAILED, NO, OK, Case, random_array


class Delta(Case):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        w = random_array("uint16", (700, 1000))
        self.states = []
        for step in range(3):
            arrays = {"layers/w": w.copy(), "same": random_array("float32", (50,)), "step": np.array(step)}
            if step == 2:
                arrays["fresh"] = np.arange(3)
            self.states.append(arrays)
            w = w + (random.random(w.shape) < 0.01).astype("uint16")
        self.whole = []
        for step, arrays in enumerate(self.states):
            save_file(arrays, self.folder / f"{step}.safetensors")
            self.whole.append(self.folder / f"{step}.zarr")
            self.expect(OK, "convert", self.folder / f"{step}.safetensors", self.whole[-1], "--codec", "gzip")
        self.deltas = [self.folder / "01.delta", self.folder / "12.delta"]
        self.expect(OK, "delta", self.whole[0], self.whole[1], self.deltas[0])
        self.said = self.text("delta", self.whole[1], self.whole[2], self.deltas[1])

    def test_a_delta_is_read_as_the_checkpoint_that_it_means(self):
        size = sum(file.stat().st_size for file in self.deltas[0].rglob("*") if file.is_file())
        self.assertLess(size, 60_000)
        self.assertRegex(self.said, r"^delta  .*12\.delta  .* of .* \(\d\.\d\d %\)\n$")
        self.expect(OK, "diff", self.deltas[0], self.whole[1])
        self.expect(OK, "diff", self.deltas[1], self.whole[2])
        self.expect(NO, "diff", self.deltas[1], self.whole[1])
        self.expect(OK, "verify", self.deltas[1])
        self.assertIn("layers/w", self.json("inspect", self.deltas[0])["arrays"][0]["name"])

    def test_apply_and_squash(self):
        out, one = self.folder / "out.zarr", self.folder / "02.delta"
        self.expect(OK, "apply", self.whole[0], *self.deltas, out)
        self.expect(OK, "diff", out, self.whole[2])
        self.expect(OK, "verify", out)
        self.expect(OK, "squash", self.whole[0], *self.deltas, one)
        self.expect(OK, "diff", one, self.whole[2])
        self.refused("apply", self.whole[0], self.deltas[0], self.whole[0])
        self.expect(OK, "apply", self.whole[0], self.deltas[0], self.whole[0], "--overwrite")
        self.expect(OK, "diff", self.whole[0], self.whole[1])
        self.expect(OK, "apply", self.whole[0], self.deltas[1], self.whole[0], "--overwrite")
        self.expect(OK, "diff", self.whole[0], self.whole[2])

    def test_what_is_refused(self):
        out = self.folder / "out.zarr"
        for arguments in (
            ("delta", self.whole[0], self.whole[1]),
            ("delta", self.folder / "0.safetensors", self.whole[1], out),
            ("apply", self.whole[0], out),
            ("apply", self.whole[0], self.deltas[1], out),  # not its base
            ("apply", self.whole[0], self.whole[1], out),  # not a delta
        ):
            self.refused(*arguments)
            self.assertFalse(out.exists())
        shutil.rmtree(self.whole[0])
        self.assertIn("0.zarr", self.refused("inspect", self.deltas[0]))
        self.expect(FAILED, "apply", self.whole[0], self.deltas[0], out)
        self.assertFalse(out.exists())
