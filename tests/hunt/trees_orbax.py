# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Orbax, by itself: OCDBT or directories, Zarr v2 or v3."""

import logging
import os
import random
import shutil
import warnings
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from drawn import NUMBERS, PIECES, Leaf, Refused, Tree, a_shape, a_text, altered, dtype_of, elements, little, name_of, texts

KINDS = [*NUMBERS, "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def a_leaf(rng):
    style = rng.random()
    if style < 0.6:
        kind = rng.choice(KINDS)
        shape = tuple(max(n, 1) for n in a_shape(rng))  # it saves no empty arrays
        value = elements(rng, dtype_of(kind), shape)
        return on_devices(rng, value) if rng.random() < 0.5 and not has_nan(value) else value
    return rng.choice((lambda: rng.randrange(-300, 70000), lambda: rng.random(), lambda: rng.random() < 0.5, lambda: a_text(rng), lambda: None,
                       lambda: {}, lambda: [], lambda: np.float32(rng.random()), lambda: np.int16(rng.randrange(99))))()  # fmt: skip


def on_devices(rng, value):
    """One device, or parts on a mesh of 2 x 2 where the extents allow it."""
    if rng.random() < 0.5:
        return jnp.asarray(value)
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
    free, spec = ["x", "y", ("x", "y")], []
    for extent in value.shape:
        axis = rng.choice((None, *free))
        parts = 4 if isinstance(axis, tuple) else 2
        if axis is None or extent % parts:
            spec.append(None)
            continue
        spec.append(axis)
        free = [] if isinstance(axis, tuple) else [one for one in free if one != axis and not isinstance(one, tuple)]
    return jax.device_put(value, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))


def has_nan(value):
    """Whose payload a device may change."""
    return value.dtype.kind not in "biu" and bool(np.isnan(value.astype(np.complex128)).any())


def a_tree(rng, depth=2):
    out = {}
    for _ in range(rng.choice((1, 2, 3, 5))):
        key = rng.choice([*[p for p in PIECES if "~" not in p], "a", "b", "scale", "scale/ema", "w/a", "", "a/b"])
        if rng.random() < 0.25 and depth:
            value = a_tree(rng, depth - 1) if rng.random() < 0.6 else [a_leaf(rng) for _ in range(rng.randrange(1, 4))]
        else:
            value = a_leaf(rng)
        out.setdefault(key, value)
    return out


def leaves_of(value, path, out, empty, saved):
    if isinstance(value, (dict, list, tuple)) and value:
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            leaves_of(member, [*path, str(key)], out, empty, saved[key])
        return
    name = "/".join(path)
    if isinstance(value, str):
        out.append(Leaf(name, "string", (), texts([value])))
    elif value is None or isinstance(value, (dict, list, tuple)):
        empty.append(name)
    else:
        value = np.asarray(value, saved.dtype if isinstance(saved, np.generic) else None)  # is read as a number of Python
        out.append(Leaf(name, name_of(value.dtype), value.shape, little(value)))


class Orbax:
    def __init__(self, rng):
        self.tree = a_tree(rng)
        self.options = {"use_ocdbt": rng.random() < 0.6, "use_zarr3": rng.random() < 0.5}

    def alter(self, rng):
        return self.alter_in(rng, self.tree)

    def alter_in(self, rng, value):
        members = list(value.items() if isinstance(value, dict) else enumerate(value))
        rng.shuffle(members)
        for key, member in members:
            if isinstance(member, (dict, list)) and member and self.alter_in(rng, member):
                return True
            if isinstance(member, str):
                value[key] = member + "+"
                return True
            if isinstance(member, np.ndarray):
                changed = altered(rng, member)
                if changed is not None:
                    value[key] = changed
                    return True
        return False

    def write(self, where):
        path = Path(f"{where}.orbax").absolute()
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**self.options)) as saver:
            try:
                saver.save(path, self.tree)
            except ValueError as refusal:  # of two arrays that would have one place
                raise Refused(str(refusal)) from None
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**self.options)) as reader:
            try:
                read = reader.restore(path)
            except (AssertionError, TypeError):  # of trees without arrays, by names that have dots
                raise Refused("Orbax does not restore what it saved") from None
        leaves, empty = [], []
        leaves_of(read, [], leaves, empty, self.tree)
        return Tree(path, leaves)


CONTAINERS = {"orbax": Orbax}
