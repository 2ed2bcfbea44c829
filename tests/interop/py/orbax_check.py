#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Orbax restores what zarrpoint saves, and zarrpoint reads what Orbax saves.

    orbax_check.py PROGRAM FOLDER      PROGRAM is tests/interop/orbax_exchange.cpp, FOLDER is made anew
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)

RELEASE = tuple(int(part) for part in version("orbax-checkpoint").split(".")[:2])
WIDE = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128 bfloat16".split()
NARROW = (
    "bool float8_e3m4 float8_e4m3fn float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn"
).split()
HAS_TUPLE = RELEASE >= (0, 11)  # the oldest releases have no empty tuples
WRITE = "write" if HAS_TUPLE else "plain"
LAYOUTS = [(zarr, ocdbt) for zarr in (3, 2) for ocdbt in (1, 0)]
checks = 0


def expect(what, is_right, *told):
    global checks
    checks += 1
    if not is_right:
        raise SystemExit(f"FAILED: {what} {told}")


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def numbers(shape, dtype="float32", narrow=False):
    count = int(np.prod(shape))
    values = [1 + n % 2 for n in range(count)] if narrow else range(count)
    return np.array(list(values), np.float32).astype(dtype_of(dtype)).reshape(shape)


def saved_tree():
    """What `orbax_exchange write` saves."""
    types = {name: numbers((7, 10), name) for name in WIDE} | {name: numbers((7, 10), name, True) for name in NARROW}
    for name, half in (("int2", 2), ("int4", 8)):
        types[name] = np.array([n % (2 * half) - half for n in range(70)], np.int8).astype(dtype_of(name)).reshape(7, 10)
    return {
        "params": {
            "dense": {"kernel": numbers((8, 6)), "bias": numbers((6,), "bfloat16")},
            "blocks": [{"w": numbers((4, 4), "float16")}, {"w": numbers((3, 4), "float8_e4m3fn", True)}],
            "large": numbers((512, 1024)),
            "cut": numbers((60, 50)),
        },
        "keys": {key: numbers((2,)) for key in ("it's", 'say "hi"', "both ' and \"", "mlp/~/linear", "\u00fc")},
        "rank0": numbers(()),
        "step": 1200,
        "lr": 0.5,
        "is_done": True,
        "note": "a text \u00fc",
        "opt": [{"mu": numbers((3,))}, None, {}, [], "in a list", *([()] if HAS_TUPLE else [])],
        "types": types,
    }


def same(what, wanted, found, kind=np.ndarray):
    if isinstance(wanted, dict):
        expect(what, isinstance(found, dict) and wanted.keys() == found.keys(), found)
        for key in wanted:
            same(f"{what}/{key}", wanted[key], found[key], kind)
    elif isinstance(wanted, (list, tuple)):
        expect(what, isinstance(found, type(wanted)) and len(wanted) == len(found), found)
        for i, (one, other) in enumerate(zip(wanted, found)):
            same(f"{what}/{i}", one, other, kind)
    elif isinstance(wanted, np.ndarray):
        expect(what, isinstance(found, kind), type(found))
        expect(what, wanted.dtype == found.dtype and wanted.shape == found.shape, found.dtype, found.shape)
        expect(what, wanted.tobytes() == np.asarray(found).tobytes(), found)
    else:
        # Scalars come back as int, float or bool, or as numpy's where a release restores them so.
        expect(what, wanted == found and (wanted is None) == (found is None), found)


def leaf_paths(tree):
    return jax.tree_util.tree_leaves_with_path(tree, is_leaf=lambda x: x is None or (isinstance(x, (dict, list, tuple)) and not x))


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {words}: {done.stderr}")
    return done.stdout


def metadata_of(checkpointer, path):
    """The tree of the metadata, whatever a release wraps it in."""
    told = checkpointer.metadata(path)
    for member in ("item_metadata", "tree"):
        told = getattr(told, member, None) if getattr(told, member, None) is not None else told
    return told


def check_restore(program, folder):
    """What we save, restored without and with a target."""
    for zarr, ocdbt in LAYOUTS:
        path = folder / f"ours-{zarr}-{ocdbt}"
        run(program, WRITE, path, zarr, ocdbt)
        what = path.name
        wanted = saved_tree()
        same(f"{what} PyTreeCheckpointer", wanted, ocp.PyTreeCheckpointer().restore(path))
        with ocp.StandardCheckpointer() as standard:
            same(f"{what} StandardCheckpointer", wanted, standard.restore(path))
            told = metadata_of(standard, path)
            kernel = told["params"]["dense"]["kernel"]
            expect(f"{what} metadata", tuple(kernel.shape) == (8, 6) and kernel.dtype == np.float32, kernel)
            expect(f"{what} metadata", told["params"]["dense"]["bias"].dtype == ml_dtypes.bfloat16)
            expect(f"{what} metadata", len(told["types"]) == len(wanted["types"]) and len(told["opt"]) == len(wanted["opt"]))
        # As numpy, asked for one by one.
        arrays = {"params": wanted["params"]}
        asked = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), arrays)
        # As jax.Array on a mesh, all of them cut by their first dimension where that is possible.
        mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
        where = lambda x: NamedSharding(mesh, PartitionSpec("a") if x.ndim and x.shape[0] % 2 == 0 else PartitionSpec())
        args = jax.tree.map(lambda x: ocp.ArrayRestoreArgs(restore_type=jax.Array, sharding=where(x)), arrays)
        for kind, each in ((np.ndarray, asked), (jax.Array, args)):
            found = ocp.PyTreeCheckpointer().restore(path, args=partial(arrays, each)) if RELEASE >= (0, 11) else (
                ocp.PyTreeCheckpointer().restore(path, args=ocp.args.PyTreeRestore(arrays, restore_args=each, transforms={}))
            )
            same(f"{what} as {kind.__name__}", arrays, found, kind)
            if kind is jax.Array:
                cut = found["params"]["dense"]["kernel"].sharding
                expect(f"{what} sharding", cut.is_equivalent_to(where(arrays["params"]["dense"]["kernel"]), 2), cut)


def partial(tree, restore_args):
    return ocp.args.PyTreeRestore(tree, restore_args=restore_args, partial_restore=True)


def check_sharded(program, folder):
    """What we save with shardings, by one process and by several, restored to them and to others."""
    for zarr, ocdbt in LAYOUTS:
        for words in (["jax"], ["groupjax", 2], ["groupjax", 4]):
            path = folder / f"{words[0]}-{zarr}-{ocdbt}-{words[-1]}"
            run(program, words[0], path, zarr, ocdbt, *words[1:])
            check_one_sharded(path)


def check_one_sharded(path):
    mesh = Mesh(np.array(jax.devices()).reshape(8, 1), ("p", "q"))
    wanted = {"w": numbers((16, 12)), "rows": numbers((16, 3)), "whole": numbers((5,)), "one": numbers((7,)), "free": numbers((4,))}
    with ocp.StandardCheckpointer() as standard:
        other = {
            name: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, PartitionSpec(*((None, "p")[-x.ndim :] if x.shape[-1] % 8 == 0 else ()))))
            for name, x in wanted.items()
        }
        found = standard.restore(path, other)
        same(f"{path.name} elsewhere", wanted, found, jax.Array)
        told = metadata_of(standard, path)
        expect(f"{path.name} metadata", "PartitionSpec" in repr(told["w"].sharding) or "partition_spec" in repr(told["w"].sharding), told["w"])
    args = {name: ocp.ArrayRestoreArgs(restore_type=jax.Array) for name in ("w", "rows", "whole", "one")}
    args["free"] = ocp.RestoreArgs(restore_type=np.ndarray)
    found = ocp.PyTreeCheckpointer().restore(path, restore_args=args)
    same(f"{path.name} as saved", {k: v for k, v in wanted.items() if k != "free"}, {k: v for k, v in found.items() if k != "free"}, jax.Array)
    expect(f"{path.name} as saved", found["w"].sharding.spec == PartitionSpec("x", "y"), found["w"].sharding)
    expect(f"{path.name} as saved", found["w"].addressable_shards[3].data.shape == (4, 6))
    same(f"{path.name} without a target", wanted["free"], ocp.StandardCheckpointer().restore(path)["free"], (np.ndarray, jax.Array))


def group_tree():
    """What `orbax_exchange group` saves."""
    return {
        "params": {
            "rows": numbers((16, 12)),
            "columns": numbers((6, 16)),
            "mesh": numbers((8, 8)),
            "bias": numbers((16,), "bfloat16"),
            "uneven": numbers((10, 3)),
            "large": numbers((512, 1024)),
            "same": numbers((40, 2)),
            "blocks": [{"w": numbers((4, 4))}, None],
        },
        "kept": numbers((3,)),
        "empty": {},
        "step": 1200,
        "lr": 0.5,
        "is_done": True,
        "note": "a text \u00fc",
        "last": numbers((2, 2)),
    }


def check_group(program, folder):
    """What several of our processes save, restored without and with a target, and read by us."""
    wanted = group_tree()
    for zarr, ocdbt in LAYOUTS:
        for words in (("group", 2), ("group", 4), ("groupasync", 4)):
            ranks = words[1]
            path = folder / f"{words[0]}-{zarr}-{ocdbt}-{ranks}"
            run(program, words[0], path, zarr, ocdbt, ranks)
            what = path.name
            own = sorted(child.name for child in path.glob("ocdbt.process_*"))
            expect(f"{what} databases", own == [f"ocdbt.process_{r}" for r in range(ranks if ocdbt else 0)], own)
            same(f"{what} PyTreeCheckpointer", wanted, ocp.PyTreeCheckpointer().restore(path))
            with ocp.StandardCheckpointer() as standard:
                same(f"{what} StandardCheckpointer", wanted, standard.restore(path))
            arrays = {"params": {k: v for k, v in wanted["params"].items() if k != "blocks"}}
            mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
            where = lambda x: NamedSharding(mesh, PartitionSpec("b") if x.shape[0] % 2 == 0 else PartitionSpec())
            for kind, args_of in (
                (np.ndarray, lambda _: ocp.RestoreArgs(restore_type=np.ndarray)),
                (jax.Array, lambda x: ocp.ArrayRestoreArgs(restore_type=jax.Array, sharding=where(x))),
            ):
                each = jax.tree.map(args_of, arrays)
                args = partial(arrays, each) if RELEASE >= (0, 11) else ocp.args.PyTreeRestore(arrays, restore_args=each, transforms={})
                found = ocp.PyTreeCheckpointer().restore(path, args=args)
                same(f"{what} as {kind.__name__}", arrays, found, kind)
                if kind is jax.Array:
                    cut = found["params"]["rows"].sharding
                    expect(f"{what} sharding", cut.is_equivalent_to(where(arrays["params"]["rows"]), 2), cut)
            if RELEASE >= (0, 12):
                from orbax.checkpoint import v1

                same(f"v1 {what}", wanted, v1.load(path))
            found = {leaf["name"]: leaf for leaf in json.loads(run(program, "read", path))}
            for name, value in (("params/rows", wanted["params"]["rows"]), ("params/mesh", wanted["params"]["mesh"]), ("params/uneven", wanted["params"]["uneven"])):
                expect(f"{what} read {name}", bytes.fromhex(found[name]["bytes"]) == value.tobytes(), found[name])


def check_random_key(program, folder):
    """A key of jax.random is one again."""
    if RELEASE < (0, 11):
        return
    for zarr, ocdbt in LAYOUTS:
        path = folder / f"key-{zarr}-{ocdbt}"
        run(program, "key", path, zarr, ocdbt)
        found = ocp.StandardCheckpointer().restore(path)["key"]
        expect(f"{path.name}", jax.dtypes.issubdtype(found.dtype, jax.dtypes.prng_key), found.dtype)
        expect(f"{path.name}", jax.random.bits(found) == jax.random.bits(jax.random.key(42, impl="threefry2x32")))


class Adam(NamedTuple):
    count: object
    nu: object
    mu: object


class Pair(NamedTuple):
    nu_2: object
    a: object


class Empty(NamedTuple):
    pass


def rich_tree():
    """What `orbax_exchange rich` saves, and where a release has no empty tuples `full`."""
    return {
        "params": {"w": numbers((3, 4))},
        "opt": (Adam(7, [numbers((2,))], {"w": numbers((3,))}), Empty() if HAS_TUPLE else 2, ("a text",)),
        "list": [(1.5, Pair(None, numbers((5,)))), () if HAS_TUPLE else 3],
        "dict": {"category": numbers((1,)), "it's": [], "x": {}},
    }


def plain_of(tree):
    """What a reader makes of it that does not ask for rich types."""
    if isinstance(tree, dict):
        return {key: plain_of(value) for key, value in tree.items()}
    if isinstance(tree, Empty):
        return None
    if hasattr(tree, "_asdict"):
        return plain_of(tree._asdict())
    if isinstance(tree, (list, tuple)) and tree:
        return [plain_of(value) for value in tree]
    return tree


def kinds_of(tree):
    """As `orbax_exchange kinds` prints it."""
    members = lambda of: ", ".join(kinds_of(value) for value in of)
    named = lambda of: ", ".join(f"{key}: {kinds_of(value)}" for key, value in of.items())
    if isinstance(tree, dict):
        return f"{{{named(dict(sorted(tree.items())))}}}"
    if isinstance(tree, Empty):
        return "()"  # an empty one has no class
    if hasattr(tree, "_asdict"):
        module = "optax._src.transform.ScaleByAdamState" if isinstance(tree, Adam) else f"{type(tree).__module__}.{type(tree).__qualname__}"
        return f"{module}({named(tree._asdict())})"
    if isinstance(tree, (list, tuple)):
        return f"({members(tree)})" if isinstance(tree, tuple) else f"[{members(tree)}]"
    return "np.ndarray" if isinstance(tree, np.ndarray) else "None" if tree is None else "string" if isinstance(tree, str) else "scalar"


def same_rich(what, wanted, found):
    """Orbax makes classes of its own for named tuples, with the name and fields of those that were saved."""
    if hasattr(wanted, "_asdict"):
        module = "optax._src.transform.ScaleByAdamState" if isinstance(wanted, Adam) else "__main__.Pair"
        name = f"{module}_{len(wanted)}".replace(".", "_") if wanted else "OrbaxEmptyNamedTuple"
        expect(what, type(found).__name__ == name and found._fields == wanted._fields, type(found))
        for field in wanted._fields:
            same_rich(f"{what}.{field}", getattr(wanted, field), getattr(found, field))
    elif isinstance(wanted, (dict, list, tuple)):
        expect(what, type(found) is type(wanted) and len(found) == len(wanted), found)
        for key in wanted if isinstance(wanted, dict) else range(len(wanted)):
            same_rich(f"{what}/{key}", wanted[key], found[key])
    else:
        same(what, wanted, found)


def check_rich(program, folder):
    """Trees with their kinds (`support_rich_types`), both ways."""
    wanted = rich_tree()
    for zarr, ocdbt in LAYOUTS:
        path = folder / f"rich-{zarr}-{ocdbt}"
        run(program, "rich" if HAS_TUPLE else "full", path, zarr, ocdbt)
        expect(f"{path.name} kinds", run(program, "kinds", path) == kinds_of(wanted), run(program, "kinds", path))
        same(f"{path.name} plain", plain_of(wanted), ocp.PyTreeCheckpointer().restore(path))
        with ocp.StandardCheckpointer() as standard:
            same(f"{path.name} standard", plain_of(wanted), standard.restore(path))
        if RELEASE < (0, 11):
            continue  # which reads trees with rich types as others
        from orbax.checkpoint._src.metadata.tree import PyTreeMetadataOptions

        rich = PyTreeMetadataOptions(support_rich_types=True)
        checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler(pytree_metadata_options=rich))
        same_rich(path.name, wanted, checkpointer.restore(path))
        if RELEASE >= (0, 12):
            from orbax.checkpoint import v1

            same(f"{path.name} v1", plain_of(wanted), v1.load(path))
            saving = v1.options.PyTreeOptions.Saving(pytree_metadata_options=rich)
            with v1.Context(pytree_options=v1.options.PyTreeOptions(saving=saving)):
                same_rich(f"{path.name} v1, rich", wanted, v1.load(path))
        # And what Orbax saves.
        path = folder / f"theirs-rich-{zarr}-{ocdbt}"
        theirs = {key: value for key, value in wanted.items() if key != "opt"} | {"pair": (Pair(wanted["list"], (Empty(), 1)), [(), ((2,),)])}
        handler = ocp.PyTreeCheckpointHandler(use_ocdbt=bool(ocdbt), use_zarr3=zarr == 3, pytree_metadata_options=rich)
        ocp.Checkpointer(handler).save(path, args=ocp.args.PyTreeSave(theirs))
        expect(f"{path.name} kinds", run(program, "kinds", path) == kinds_of(theirs), run(program, "kinds", path))


def check_manager(program, folder):
    """Steps among those of a manager of Orbax's."""
    root = folder / "manager"
    with ocp.CheckpointManager(root) as manager:
        manager.save(1, args=ocp.args.StandardSave({"w": numbers((3,))}))
        manager.wait_until_finished()
    for step, (zarr, ocdbt) in enumerate(LAYOUTS, 2):
        run(program, WRITE, root, zarr, ocdbt, step)
    run(program, "group", root, 3, 1, 4, 6)
    with ocp.CheckpointManager(root, options=ocp.CheckpointManagerOptions(max_to_keep=10)) as manager:
        expect("manager steps", sorted(manager.all_steps()) == [1, 2, 3, 4, 5, 6], manager.all_steps())
        same("manager, by several processes", group_tree(), manager.restore(6, args=ocp.args.StandardRestore()))
        for step in (2, 3, 4, 5):
            same(f"manager {step}", saved_tree(), manager.restore(step, args=ocp.args.StandardRestore()))
        manager.save(7, args=ocp.args.StandardSave({"w": numbers((4,))}))
        manager.wait_until_finished()
        expect("manager latest", manager.latest_step() == 7)
    found = json.loads(run(program, "read", root))
    expect("manager read", [(leaf["name"], leaf["shape"]) for leaf in found] == [("w", [4])], found)


def check_extras(program, folder):
    """Items beside a tree, the metadata of a root, and a manager of Orbax's that goes on."""
    if RELEASE < (0, 11):
        return
    root = folder / "extras"
    for step, (zarr, ocdbt) in enumerate(LAYOUTS):
        run(program, "extras", root, zarr, ocdbt, step)
    run(program, "read", root)
    key = jax.random.key(42, impl="threefry2x32")
    last = len(LAYOUTS) - 1
    with ocp.CheckpointManager(root, metadata={"by": "zarrpoint"}) as manager:
        expect("extras root", manager.metadata().custom_metadata == {"by": "zarrpoint"}, manager.metadata())
        for step in range(len(LAYOUTS)):
            found = manager.restore(step)
            expect("extras json", found["extra"] == {"lr": 0.1, "tags": ["a", None]}, found["extra"])
            expect("extras key", jax.random.bits(found["key"]) == jax.random.bits(key), found["key"])
            expect("extras untyped", np.array_equal(found["untyped"], jax.random.key_data(key)), found["untyped"])
            expect("extras keys", found["keys"].shape == (2,) and found["keys"][0] == key, found["keys"])
            name, numbers_, position, has_gauss, gauss = found["numpy"]
            expect("extras numpy", (name, position, has_gauss, gauss) == ("MT19937", 7, 1, 0.25), found["numpy"])
            expect("extras numpy", np.array_equal(numbers_, np.arange(624, dtype="uint32") * 3), numbers_)
            np.random.RandomState().set_state(found["numpy"])
            same("extras tree", {"w": numbers((3,))}, found["state"])
        saved = ocp.args.Composite(state=ocp.args.StandardSave({"w": numbers((4,))}), extra=ocp.args.JsonSave({"lr": 1}))
        manager.save(last + 1, args=saved)
        manager.wait_until_finished()
        expect("extras go on", manager.latest_step() == last + 1)
    # A manager that restored a step of ours without being told how goes on with StandardSave.
    root = folder / "goes-on"
    run(program, WRITE, root, 3, 1, 1)
    with ocp.CheckpointManager(root) as manager:
        same("goes on", saved_tree(), manager.restore(1))
        manager.save(2, args=ocp.args.StandardSave({"w": numbers((4,))}))
        manager.wait_until_finished()
        expect("goes on", manager.all_steps() == [1, 2], manager.all_steps())


def check_v1_layout(program, folder):
    """The layout of the v1 API, with an item of JSON."""
    if RELEASE < (0, 12):
        return
    from orbax.checkpoint import v1

    for zarr, ocdbt in LAYOUTS:
        path = folder / f"v1-{zarr}-{ocdbt}"
        run(program, "v1", path, zarr, ocdbt)
        wanted = {"w": numbers((3,)), "list": [7]}
        same(path.name, wanted, v1.load(path))
        found = v1.load_checkpointables(path)
        same(f"{path.name} checkpointables", wanted, found["state"])
        expect(f"{path.name} json", found["data"] == {"lr": 0.5}, found["data"])
        expect(f"{path.name} is one", v1.is_orbax_checkpoint(path))


def check_names(program, folder):
    """Keys that no hierarchy has: each leaf is there, under a name that is told."""
    keys = ["scale", "scale/ema", "w/a/v", "", "a/b", "a//b", "..", "x/", "zarr.json", "n/m", "e/f"]
    tree = {key: np.array([i, i * i], "int32") for i, key in enumerate(keys)}
    tree |= {"w": {"a": np.int32([100, 1])}, "a": {"b": np.int32([101, 1])}, "n": {"m": None}, "e": {}}
    for zarr in (2, 3):
        path = folder / f"names-{zarr}"
        ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_zarr3=zarr == 3)).save(path, args=ocp.args.PyTreeSave(tree))
        found = sorted(leaf["bytes"] for leaf in json.loads(run(program, "read", path)))
        wanted = sorted(value.tobytes().hex() for value in jax.tree.leaves(tree))
        expect(path.name, found == wanted, found)


def check_v1(program, folder):
    """The newer API reads it, too."""
    if RELEASE < (0, 12):
        return
    from orbax.checkpoint import v1

    wanted = saved_tree()
    for zarr, ocdbt in LAYOUTS:
        path = folder / f"ours-{zarr}-{ocdbt}"
        same(f"v1 {path.name}", wanted, v1.load(path))


def check_read(program, folder):
    """What Orbax saves, read by us."""
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    cut = jax.device_put(numbers((16, 12)), NamedSharding(mesh, PartitionSpec("x", "y")))
    tree = saved_tree() | {"cut": cut}
    del tree["rank0"]
    for zarr, ocdbt in LAYOUTS:
        path = folder / f"theirs-{zarr}-{ocdbt}"
        handler = ocp.PyTreeCheckpointHandler(use_ocdbt=bool(ocdbt), use_zarr3=zarr == 3)
        save = {key: value for key, value in tree.items() if key != "types"}
        save["types"] = {name: value for name, value in tree["types"].items()}
        if not ocdbt:
            save["keys"] = {key: value for key, value in save["keys"].items() if "/" not in key}
        ocp.Checkpointer(handler).save(path, args=ocp.args.PyTreeSave(save))
        found = {leaf["name"]: leaf for leaf in json.loads(run(program, "read", path))}
        for place, value in leaf_paths(save):
            name = "/".join(str(getattr(step, "key", getattr(step, "idx", ""))) for step in place)
            if value is None or (isinstance(value, (dict, list, tuple)) and not value):
                continue
            leaf = found.pop(name, None)
            expect(f"{path.name} {name}", leaf is not None, sorted(found))
            if isinstance(value, str):
                expect(f"{path.name} {name}", leaf["text"] == value, leaf)
                continue
            value = np.asarray(value)
            expect(f"{path.name} {name}", leaf["shape"] == list(value.shape), leaf)
            expect(f"{path.name} {name}", leaf["dtype"] == value.dtype.name, leaf["dtype"])
            bytes_ = bytes.fromhex(leaf["bytes"])
            mask = {"int2": 3, "int4": 15}.get(value.dtype.name, 255)  # our memory has zeros above
            wanted = bytes(byte & mask for byte in value.tobytes())
            expect(f"{path.name} {name}", bytes_ == wanted, leaf["bytes"][:80])
        expect(f"{path.name}", not found, sorted(found))


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    program, folder = arguments[0], Path(arguments[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    check_restore(program, folder)
    check_sharded(program, folder)
    check_group(program, folder)
    check_random_key(program, folder)
    check_rich(program, folder)
    check_manager(program, folder)
    check_v1(program, folder)
    check_extras(program, folder)
    check_v1_layout(program, folder)
    check_names(program, folder)
    check_read(program, folder)
    print(f"{checks} comparisons with orbax-checkpoint {version('orbax-checkpoint')}, jax {version('jax')}, tensorstore {version('tensorstore')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
