#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the files beside it, with PyTorch and Orbax; see PROVENANCE.md."""

import os
import shutil
import zipfile
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import orbax.checkpoint as ocp
import torch

HERE = Path(__file__).resolve().parent


class Subclass(torch.Tensor):
    pass


def orbax(name, tree):
    shutil.rmtree(HERE / name, ignore_errors=True)
    ocp.PyTreeCheckpointer().save(HERE / name, tree)


def main():
    weight = torch.arange(12.0).reshape(3, 4)
    c = torch.tensor([1 + 2j, 3 - 1j])
    torch.save({"c": c.conj(), "n": torch._neg_view(torch.tensor([1.0, 3.0]))}, HERE / "conj.pt")
    for name, scale in (("a", 1), ("b", 0.5)):
        state = {"q": torch.quantize_per_tensor(weight * scale, 0.1, 2, torch.qint8), "w": weight}
        torch.save(state, HERE / f"quantised_{name}.pt")
    torch.save({"a": torch.arange(3.0).as_subclass(Subclass), "w": torch.ones(2)}, HERE / "subclass.pt")
    torch.save({"s": torch.tensor([1.0, 2.0]).to(torch.float8_e8m0fnu)}, HERE / "e8m0.pt")
    torch.save({"a": torch.ones(2)}, HERE / "one.pt")
    torch.save({"a": torch.ones(2), "x\ny": torch.ones(1)}, HERE / "names_control.pt")
    torch.save({0: torch.ones(2), "0": torch.ones(1)}, HERE / "names_numbers.pt")
    torch.save({"w": torch.arange(6.0)}, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
    # Of a module of 20 MB the pickle alone; the test adds its storages, which are zeros.
    torch.save({"model": torch.nn.Linear(2000, 2500), "w": torch.ones(3, 4)}, HERE / "module.pt")
    with zipfile.ZipFile(HERE / "module.pt") as archive:
        (HERE / "module.pkl").write_bytes(archive.read("module/data.pkl"))
    (HERE / "module.pt").unlink()
    orbax("orbax_text", {"a": "x", "b": "y"})
    orbax("orbax_none", {"a": None})
    orbax("orbax_empty", {"a": {}})


if __name__ == "__main__":
    main()
