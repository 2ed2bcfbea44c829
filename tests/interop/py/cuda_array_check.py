#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays on a device to zarrpoint and back by `__cuda_array_interface__`, without a copy.

usage: cuda_array_check.py FOLDER      where the extension module zarrpoint_cuda_array is

There is no library of Python without a GPU that consumes the interface: stand-in objects have it.
"""

import gc
import random
import sys
import weakref


class Given:
    """An object with the interface that a test says."""

    def __init__(self, held=None, **interface):
        self.held, self.__cuda_array_interface__ = held, interface


def require(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def refused(kind, word, call, *arguments):
    try:
        call(*arguments)
    except kind as failure:
        require(word in str(failure), f"'{failure}' does not say '{word}'")
        return
    sys.exit(f"FAILED: {call} took {arguments}")


def check_export(module):
    held = module.put(4)
    made = module.interface(held, False)
    require(set(made) == {"version", "shape", "typestr", "data", "strides", "stream"}, made)
    require((made["version"], made["shape"], made["typestr"]) == (3, (4,), "<f4"), made)
    require(made["data"][0] != 0 and made["data"][1] is False, made)
    require(made["strides"] is None and made["stream"] == 1, made)
    require(module.interface(held, True)["data"] == (made["data"][0], True), "a const value is read-only")
    names = {"bool": "|b1", "int8": "|i1", "uint16": "<u2", "float64": "<f8", "complex64": "<c8", "float16": "<f2"}
    for name, typestr in names.items():
        odd = module.odd(name, 8)
        require((odd["typestr"], odd["shape"], odd["data"][0]) == (typestr, (0, 3), 0), odd)
        require(odd["stream"] == 101, odd)
    for name in ("bfloat16", "float8_e4m3fn", "int4", "complex_float16"):
        refused(BufferError, "it has no elements of " + name, module.odd, name, 1)


def check_import(module):
    before = module.live()
    held = module.put(10)
    whole = module.interface(held, False)
    at = whole["data"][0]
    require(module.sum(Given(held, **whole), 1) == 50.0, "the other stream waits for the producer's")
    every_other = {**whole, "shape": (5,), "strides": (8,)}
    require(module.sum(Given(held, **every_other), 0) == 22.5, "strides")
    backwards = {**whole, "strides": (-4,), "data": (at + 36, True)}
    require(module.sum(Given(held, **backwards), 1) == 50.0, "negative strides")
    require(module.describe(Given(**backwards)) == ("float32[10]", "[-4]", 1), "what it says")
    require(module.describe(Given(**{**whole, "shape": (2, 5)}))[:2] == ("float32[2, 5]", "[20, 4]"), "no strides")
    for stream in (None, 1, 2, 101):
        three = module.put(3)
        array = Given(three, **{**module.interface(three, False), "stream": stream})
        require(stream in (None, 101) or module.sum(array, 1) == 4.5, f"stream {stream}")
        module.describe(array)
    two = {key: what for key, what in whole.items() if key not in ("stream", "strides")}
    for version in (0, 1, 2):
        old = Given(**{**two, "version": version, "stream": 77})
        require(module.describe(old)[2] == 0, f"version {version} knows no stream")
    require(module.describe(Given(**{**whole, "shape": (0, 3), "data": (0, False)}))[0] == "float32[0, 3]", "empty")
    require(module.describe(Given(**{**whole, "descr": [("", "<f4")], "mask": None}))[0] == "float32[10]", "descr")

    kept = Given(held, **whole)
    gone = weakref.ref(kept)
    module.sum(kept, 0)
    del kept, held, three, array
    gc.collect()
    require(gone() is None and module.live() == before, "nothing is kept")


def check_streams(module):
    held = module.put(10)
    whole = module.interface(held, False)
    module.watch()
    require(module.sum(Given(held, **{**whole, "stream": 2}), 1) == 50.0, "the stream of some thread")
    require(module.watch() == (0, 1), "the device is waited for once, without the GIL")
    module.describe(Given(held, **{**whole, "stream": 101}))
    require(module.watch() == (0, 0), "a named stream is not waited for")
    refused(RuntimeError, "stream 2 was destroyed", module.describe, Given(held, **{**whole, "stream": 102}))
    # The memory is looked at before the stream, which may be another device's as well.
    refused(ValueError, "", module.describe, Given(held, **{**whole, "stream": 102, "data": (4096, False)}))
    module.fail(True)
    failed = module.put(3)
    array = Given(failed, **{**module.interface(failed, False), "stream": 2})
    refused(RuntimeError, "late_copy", module.describe, array)
    module.fail(False)


class Changing:
    """A number that empties a dictionary when it is asked for."""

    def __init__(self, emptied):
        self.emptied = emptied

    def __index__(self):
        self.emptied.clear()
        gc.collect()
        return 5

    def __bool__(self):
        self.__index__()
        raise KeyError("asked")


def check_changing(module):
    held = module.put(10)
    good = module.interface(held, False)
    makers = {
        "version": lambda number: number,
        "shape": lambda number: tuple([number] * 2),
        "strides": lambda number: tuple([number]),
        "data": lambda number: tuple([good["data"][0], number]),
        "stream": lambda number: number,
    }
    for name, make in makers.items():
        array = Given(held, **good)
        array.__cuda_array_interface__[name] = make(Changing(array.__cuda_array_interface__))
        refused((ValueError, BufferError), "", module.describe, array)
        require(not array.__cuda_array_interface__, f"{name} was asked for")


def check_hostile(module):
    held = module.put(10)
    good = module.interface(held, False)
    wrong = [
        (BufferError, "version -1", {"version": -1}),
        (BufferError, "version 4", {"version": 4}),
        (ValueError, "version is not an integer", {"version": None}),
        (BufferError, "mask", {"mask": object()}),
        (BufferError, 'elements of type ">f4"', {"typestr": ">f4"}),
        (BufferError, 'elements of type "|V2"', {"typestr": "|V2"}),
        (BufferError, 'elements of type "<f"', {"typestr": "<f"}),
        (BufferError, 'elements of type "<f99999999999"', {"typestr": "<f99999999999"}),
        (BufferError, "DLPack type", {"typestr": "<f3"}),
        (ValueError, "typestr is not text", {"typestr": 4}),
        (ValueError, "typestr is not text", {"typestr": "\ud800"}),
        (ValueError, "shape is not a tuple", {"shape": [10]}),
        (ValueError, "shape is not an integer", {"shape": (1 << 64,)}),
        (ValueError, "negative length", {"shape": (-1,)}),
        (BufferError, "its rank is 33", {"shape": (1,) * 33}),
        (ValueError, "", {"shape": (1 << 62, 4)}),
        (ValueError, "2 strides", {"strides": (4, 4)}),
        (BufferError, "not a whole number of elements", {"strides": (6,)}),
        (ValueError, "", {"strides": ((1 << 63) - 4,)}),
        (ValueError, "data is not a pair", {"data": good["data"][0]}),
        (ValueError, "data must be an address", {"data": (-1, False)}),
        (ValueError, "data must be an address", {"data": ("1", False)}),
        (ValueError, "no data", {"data": (0, False)}),
        (ValueError, "not aligned", {"data": (good["data"][0] + 2, False)}),
        (ValueError, "", {"data": (4096, False)}),
        (ValueError, "", {"shape": (11,)}),
        (ValueError, "no stream 0", {"stream": 0}),
        (ValueError, "stream is not an integer", {"stream": "1"}),
    ]
    for kind, word, change in wrong:
        refused(kind, word, module.describe, Given(held, **{**good, **change}))
    refused(ValueError, "AttributeError", module.describe, object())
    none = Given()
    none.__cuda_array_interface__ = 5
    refused(ValueError, "not a dictionary", module.describe, none)

    rng = random.Random(7)
    odd = [None, 0, 1, 3, -1, 1 << 63, (1 << 64) - 1, 1.5, "", "<f4", "|b1", (), (3,), (4, 4), (0, False), [], {}]
    taken = 0
    for _ in range(2000):
        change = {rng.choice(list(good)): rng.choice(odd) for _ in range(rng.randrange(1, 3))}
        try:
            module.describe(Given(held, **{**good, **change}))
            taken += 1
        except (ValueError, BufferError):
            pass
    require(0 < taken < 1500, f"{taken} of 2000 were taken")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    sys.path.insert(0, arguments[0])
    import zarrpoint_cuda_array as module  # noqa: PLC0415

    check_export(module)
    check_import(module)
    check_streams(module)
    check_changing(module)
    check_hostile(module)
    print("__cuda_array_interface__: out and in, in the order of streams; odd dictionaries are refused")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
