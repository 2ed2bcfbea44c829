#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy and PyTorch to zarrpoint and back by DLPack, without a copy.

usage: dlpack_check.py FOLDER      where the extension module zarrpoint_dlpack is

Tries what is installed: NumPy since 1.23 (before 2.1 it speaks DLPack of before 1.0), PyTorch since 1.13.
"""

import ctypes
import gc
import pathlib
import random
import sys
import tempfile
import weakref

import numpy as np

try:
    import torch
except ImportError:
    torch = None

NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])
IS_VERSIONED = NUMPY >= (2, 1)
DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


class Ours:
    """A value of zarrpoint as the array API standard wants arrays; notes what it was asked."""

    def __init__(self, module, value):
        self.module, self.value, self.asked = module, value, None

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked = {"stream": stream, "max_version": max_version}
        return self.module.dlpack(self.value, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return self.module.device(self.value)


class Given:
    """An object whose DLPack methods give what a test says."""

    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


def require(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def refused(kind, word, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as failure:
        require(word in str(failure), f"'{failure}' does not say '{word}'")
        return
    sys.exit(f"FAILED: {call} took {arguments}")


def random_array(rng):
    dtype = np.dtype(rng.choice(DTYPES + (["bool"] if IS_VERSIONED else [])))
    shape = [rng.randrange(0, 6) for _ in range(rng.randrange(0, 5))]
    count = int(np.prod(shape, dtype=int))
    data = bytes(rng.randrange(2 if dtype == bool else 256) for _ in range(count * dtype.itemsize))
    out = np.frombuffer(bytearray(data), dtype=dtype, count=count).reshape(shape)
    if out.ndim and rng.random() < 0.5:
        out = out.transpose(rng.sample(range(out.ndim), out.ndim))
    if out.ndim and rng.random() < 0.5:
        out = out[:: rng.choice([-1, 2, -2])]
    if rng.random() < 0.2:
        out = out.reshape(out.shape + (1,))
    return out


def check_numpy(module, folder):
    rng = random.Random(5)
    path = str(folder / "numpy.zarr")
    for case in range(40):
        arrays = {f"a{i}": random_array(rng) for i in range(5)}
        for array in arrays.values():
            spec, _, read_only, is_copied, address = module.describe(array)
            require(spec == f"{array.dtype}{list(array.shape)}", f"{array.dtype}{array.shape} is {spec}")
            require((read_only, is_copied) == (0, 0), "flags")
            require(array.size == 0 or address == array.__array_interface__["data"][0], "a copy")
        module.save(path, arrays)
        for name, array in arrays.items():
            ours = Ours(module, module.load(path, name))
            back = np.from_dlpack(ours)
            require(back.dtype == array.dtype and back.shape == array.shape, f"case {case}: {array.dtype}")
            require(back.tobytes() == array.tobytes(), f"case {case}: other values")
            require((ours.asked["max_version"] is not None) == IS_VERSIONED, "the version asked for")
            target = np.zeros_like(array)[..., ::-1] if array.ndim else np.zeros_like(array)
            if array.dtype != bool or IS_VERSIONED:
                module.load_into(path, name, target)
                require(target.tobytes() == array.tobytes(), f"case {case}: loaded into other values")
    # The memory lives as long as somebody uses it, on either side.
    back = np.from_dlpack(Ours(module, module.load(path, "a0")))
    gc.collect()
    back.sum()
    held = np.ones((4, 4), np.float32)
    gone = weakref.ref(held)
    module.describe(held)
    del held
    require(gone() is None, "describe keeps its array")
    print(f"NumPy {np.__version__}: {40 * 5} arrays there and back, bit for bit")


def check_versioned(module, folder):
    """What DLPack 1 has: read-only arrays and copies."""
    fixed = np.arange(6.0)
    fixed.flags.writeable = False
    require(module.describe(fixed)[2] == 1, "a read-only array is not read-only")
    path = str(folder / "fixed.zarr")
    module.save(path, {"w": fixed})
    refused(ValueError, "read-only", module.load_into, path, "w", fixed)
    array = np.arange(4)
    address = array.__array_interface__["data"][0]
    for copy, same in ((True, False), (False, True), (None, True)):
        found = module.describe(array, copy)
        require((found[4] == address) == same and found[3] == (not same), f"copy={copy}")
    ours = Ours(module, module.load(path, "w"))
    first, second, copied = np.from_dlpack(ours), np.from_dlpack(ours), np.from_dlpack(ours, copy=True)
    first[0] = 7
    require(second[0] == 7 and copied[0] == 0, "copies and what is shared")
    require(np.from_dlpack(ours, device="cpu")[0] == 7, "the device by name")
    refused(BufferError, "cuda:0", ours.__dlpack__, dl_device=(2, 0))
    refused(ValueError, "pair", ours.__dlpack__, dl_device=(1,))
    refused(ValueError, "pair", ours.__dlpack__, max_version="1.0")
    refused(ValueError, "pair", ours.__dlpack__, max_version=(1 << 40, 0))
    refused(ValueError, "stream", ours.__dlpack__, stream=1)
    module.save(path, {"s": np.from_dlpack(ours), "one": Ours(module, module.load(path, "w"))})


def check_torch(module, folder):
    path = str(folder / "torch.zarr")
    w = torch.arange(12, dtype=torch.float32).reshape(3, 4).t()
    b = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    tensors = {"w": w, "b": b, "half": b.to(torch.float16), "c": torch.zeros(2, 0, dtype=torch.complex64)}
    require(module.describe(b)[0] == "bfloat16[2]", "bfloat16")
    require(module.describe(w)[4] == w.data_ptr(), "a copy")
    module.save(path, tensors)
    for name, tensor in tensors.items():
        ours = Ours(module, module.load(path, name))
        back = torch.from_dlpack(ours)
        require(back.dtype == tensor.dtype and torch.equal(back, tensor), name)
        target = torch.zeros_like(tensor)
        module.load_into(path, name, target)
        require(torch.equal(target, tensor), f"{name} loaded into")
    kept = torch.from_dlpack(Ours(module, module.load(path, "w")))
    gc.collect()
    require(torch.equal(kept, w), "the memory is gone")
    if torch.__version__ < "2":
        refused(ValueError, "Bool", module.describe, torch.zeros(2, dtype=torch.bool))
    print(f"PyTorch {torch.__version__}: {len(tensors)} tensors there and back")


def check_streams(module):
    """The rules of `stream`, with the fake device of the module."""
    live = module.fake_live()
    for stream, number in ((0, 1), (1, 101)):
        ours = Ours(module, module.fake_put(4))
        require(ours.__dlpack_device__() == (2, 3), "the device")
        require(module.fake_sum(ours, stream) == 8.0, f"what stream {stream} reads")
        require(ours.asked == {"stream": number, "max_version": (1, 3)}, f"it was asked {ours.asked}")
    ours = Ours(module, module.fake_put(4))
    for stream in (None, 1, 2, -1, 101):
        require(ours.__dlpack__(stream=stream) is not None, f"stream {stream}")
    for stream, word in ((0, "stream 0"), (-2, "stream -2"), (1 << 80, "int"), ("1", "int")):
        refused(ValueError, word, ours.__dlpack__, stream=stream)
    refused(BufferError, "cannot be copied", ours.__dlpack__, copy=True)
    refused(BufferError, "cpu:0", ours.__dlpack__, dl_device=(1, 0))
    # 2, the stream of each thread, is a wait: it is there for all that come.
    require(module.fake_sum(Given(ours.__dlpack__(stream=2), (2, 3)), 1) == 8.0, "after a wait")
    refused(BufferError, "cuda:3", module.describe, ours)
    refused(BufferError, "cpu:0", module.fake_sum, np.zeros(3), 0)
    del ours
    gc.collect()
    require(module.fake_live() == live, "the fake device has memory that nobody uses")


def check_hostile(module):
    refused(ValueError, "__dlpack_device__", module.describe, [1.0])
    for device in ((1,), [1, 0], None, (1, "0"), (1 << 70, 0), (1 << 40, 0)):
        refused(ValueError, "pair", module.describe, Given(None, device))
    refused(BufferError, "type 55", module.describe, Given(None, (55, 0)))
    refused(ValueError, "capsule", module.describe, Given(None))
    refused(ValueError, "capsule", module.describe, Given(object()))
    array = np.arange(6.0)
    capsule = array.__dlpack__()
    module.describe(Given(capsule))
    refused(ValueError, "used", module.describe, Given(capsule))

    class Raises(Given):
        def __dlpack__(self, **_):
            raise self.capsule

    refused(ValueError, "ZeroDivisionError: no", module.describe, Raises(ZeroDivisionError("no")))
    refused(BufferError, "BufferError: busy", module.describe, Raises(BufferError("busy")))
    refused(MemoryError, "all", module.describe, Raises(MemoryError("all")))
    refused(ValueError, "TypeError", module.describe, Raises(TypeError("\ud800")))

    # Capsules whose struct is changed: each is freed once, the array lives no longer than it should.
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # Of the legacy struct: data 0, device 8, ndim 16, dtype 20, shape 24, strides 32, byte_offset 40.
    lies = [(0, 8, 0, "no data"), (16, 4, 0xFFFFFFFF, "rank"), (16, 4, 33, "rank"), (20, 1, 99, "code 99"),
            (21, 1, 3, "3 bits"), (22, 2, 2, "lanes"), (24, 8, 0, "no shape"), (40, 8, (1 << 64) - 1, "address"),
            (8, 4, 2, "cuda:0"), (12, 4, 5, "")]  # fmt: skip
    for offset, size, value, word in lies:
        held = np.arange(4, dtype=np.float32)
        gone = weakref.ref(held)
        capsule = held.__dlpack__()
        at = pointer_of(capsule, b"dltensor")
        ctypes.memmove(at + offset, value.to_bytes(size, sys.byteorder), size)
        if word:
            refused((ValueError, BufferError), word, module.describe, Given(capsule))
        else:
            module.describe(Given(capsule))
        del capsule, held
        require(gone() is None, f"the array of '{word}' was not freed")


def check_random_bytes(module):
    """Fields of random value: taken or refused, never a crash; no element is read."""
    rng = random.Random(17)
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    taken = 0
    for _ in range(2000):
        held = np.zeros((2, 3), np.int16)
        capsule = held.__dlpack__()
        at = pointer_of(capsule, b"dltensor")
        shape, strides = (ctypes.c_void_p.from_address(at + member).value for member in (24, 32))
        fields = [(at, 8), (at + 8, 4), (at + 12, 4), (at + 20, 1), (at + 21, 1), (at + 22, 2), (at + 40, 8)]
        fields += [(shape, 8), (shape + 8, 8)] + ([(strides, 8)] if strides else [])  # older ones have none
        for _ in range(rng.randrange(1, 4)):
            where, size = rng.choice(fields)
            value = rng.choice([0, 1, (1 << (8 * size - 1)) - 1, 1 << (8 * size - 1), rng.randrange(1 << (8 * size))])
            ctypes.memmove(where, value.to_bytes(size, sys.byteorder), size)
        try:
            module.describe(Given(capsule))
            taken += 1
        except (ValueError, BufferError):
            pass
    require(0 < taken < 1500, f"{taken} of 2000 were taken")
    print(f"streams as they are asked for; {2000 - taken} of 2000 odd capsules refused, no crash")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    sys.path.insert(0, arguments[0])
    import zarrpoint_dlpack as module  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_numpy(module, folder)
        if IS_VERSIONED:
            check_versioned(module, folder)
        if torch is not None:
            check_torch(module, folder)
    check_streams(module)
    check_hostile(module)
    check_random_bytes(module)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
