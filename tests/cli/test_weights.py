# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""GGUF files and those of torch.save: each command takes them as it takes others."""

import json

from support import FAILED, GOLDEN, OK, Case

GGUF = GOLDEN / "gguf"


class Weights(Case):
    def test_every_tensor_of_a_gguf_file(self):
        at, values = 0, (GGUF / "values.bin").read_bytes()
        for tensor in json.loads((GGUF / "index.json").read_text())["tensors"]:
            done = self.expect(OK, "cat", GGUF / "small.gguf", tensor["name"], "--raw")
            self.assertEqual(done.stdout, values[at : at + tensor["bytes"]], tensor)
            at += tensor["bytes"]
        self.assertEqual(at, len(values))

    def test_a_copy_of_a_gguf_file(self):
        copy = self.folder / "copy.zarr"
        self.expect(OK, "verify", GGUF / "small.gguf")
        self.expect(OK, "convert", GGUF / "small.gguf", copy)
        self.expect(OK, "verify", copy)
        self.expect(OK, "diff", GGUF / "small.gguf", copy)
        self.assertEqual(self.json("cat", copy, "metadata/tokenizer.ggml.scores")[3], 0.375)
        renamed = self.folder / "blob"
        renamed.write_bytes((GGUF / "small.gguf").read_bytes())
        self.expect(OK, "diff", renamed, copy)
        self.assertEqual(self.json("cat", f"{renamed}/plain.one"), [7])

    def test_a_damaged_gguf_file(self):
        cut = self.folder / "cut.gguf"
        cut.write_bytes((GGUF / "small.gguf").read_bytes()[:-40])
        self.assertIn(b"runs past the end of the file", self.expect(FAILED, "inspect", cut).stderr)

    def test_files_of_torch_save(self):
        for name in ("torch-1.13.0.pt", "torch-2.15.0.pt"):
            file, copy = GOLDEN / "torch" / name, self.folder / f"{name}.zarr"
            self.expect(OK, "verify", file)
            self.assertEqual(self.json("cat", file, "part"), [[1, 13], [2, 14], [3, 15], [4, 16], [5, 17]])
            self.expect(OK, "convert", file, copy)
            self.expect(OK, "diff", file, copy)
