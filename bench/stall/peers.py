#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The loop of stall_bench.cpp with the asynchronous saves of others.

    peers.py LIBRARY run FOLDER MEGABYTES ROUNDS LIBWORK    prints what it saw, as JSON
    peers.py LIBRARY errors FOLDER                          saves that fail: how many, and how many are told

LIBRARY is dcp (torch.distributed.checkpoint.async_save, with a stager that keeps its memory) or orbax
(AsyncCheckpointer).
"""

import ctypes
import json
import resource
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path

import numpy as np

ALONE, SAVED, EVERY, TENSORS, VALUES = 150, 300, 60, 64, 1 << 16


class Dcp:
    def __init__(self, model, folder):
        import torch
        from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

        torch.set_num_threads(2)
        self.state = {name: torch.from_numpy(each) for name, each in model.items()}
        self.stager = DefaultStager(StagingOptions(False, False, False, False))
        self.folder, self.future = folder, None

    def save(self, step):
        import torch.distributed.checkpoint as dcp

        self.wait()
        writer = dcp.FileSystemWriter(self.folder / f"step_{step}")  # synced, and of one thread, as by default
        self.future = dcp.async_save(self.state, storage_writer=writer, async_stager=self.stager, no_dist=True)

    def wait(self):
        future, self.future = self.future, None
        if future is not None:
            future.result()


class Orbax:
    def __init__(self, model, folder):
        import orbax.checkpoint as ocp

        self.ocp, self.model, self.folder = ocp, model, folder
        self.saver = ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler(use_zarr3=True))

    def save(self, step):
        # It waits for the save before.
        self.saver.save((self.folder / f"step_{step}").resolve(), args=self.ocp.args.PyTreeSave(self.model))

    def wait(self):
        self.saver.wait_until_finished()


LIBRARIES = {"dcp": Dcp, "orbax": Orbax}


def status(name):
    """A row of /proc/self/status, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return 0


def run(library, folder, megabytes, rounds, libwork):
    work = ctypes.CDLL(libwork).bench_step  # which lets other threads run meanwhile, as kernels do
    work.argtypes, work.restype = (ctypes.c_void_p, ctypes.c_long, ctypes.c_long), ctypes.c_double
    values = np.ones(VALUES, np.float32)
    each = (megabytes << 20) // 4 // TENSORS
    model = {f"w{i}": np.arange(each, dtype=np.float32) for i in range(TENSORS)}

    def step(number):
        began = time.perf_counter()
        work(values.ctypes.data, VALUES, rounds)
        for one in model.values():
            one[0] = number
        return time.perf_counter() - began

    alone = [step(i) for i in range(ALONE)]
    saver = LIBRARIES[library](model, folder)
    saved, blocked, memory, kept = [], [], 0, []
    began = time.perf_counter()
    for i in range(1, SAVED + 1):
        saved.append(step(i))
        if i % EVERY:
            continue
        called = time.perf_counter()
        saver.save(i)
        blocked.append(time.perf_counter() - called)
        kept.append(i)
        if len(blocked) == 2:
            memory = status("VmHWM")
        if len(kept) > 3:  # as a manager that keeps two, and never the one that is under way
            shutil.rmtree(folder / f"step_{kept.pop(0)}")
    loop = time.perf_counter() - began
    saver.wait()
    out = {"alone": statistics.mean(alone), "with": statistics.mean(saved), "first": blocked[0]}
    out |= {"blocked": statistics.median(blocked[1:]), "most": max(blocked[1:]), "loop": loop}
    print(json.dumps(out | {"more_memory": status("VmHWM") - memory}))


def errors(library, folder):
    """Files may not become larger than some: a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    values = np.random.default_rng(1).random(4_000_000, np.float32)  # which no codec makes small
    saver = LIBRARIES[library]({"w": values}, folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    told, saves = 0, 8
    for i in range(saves):
        try:
            saver.save(i)
            saver.wait()
        except BaseException:  # whatever tells it; PyTorch's CheckpointException is not an Exception
            told += 1
    print(json.dumps({"failed": saves, "told": told}))


if __name__ == "__main__":
    library, what, folder, *rest = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    if what == "run":
        run(library, Path(folder), int(rest[0]), int(rest[1]), rest[2])
    else:
        errors(library, Path(folder))
