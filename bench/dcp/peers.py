#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on checkpoints of torch.distributed.checkpoint, in a process of its own.

    peers.py save CHECKPOINT OTHER    saves what is in OTHER, and prints the seconds of each call
    peers.py load CHECKPOINT          the same until all is in new memory
"""

import mmap
import shutil
import sys
import time
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp


def empty(path):
    entries = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    return {name: torch.empty(one.size, dtype=one.properties.dtype) for name, one in entries.items()}


CALLS = 4


def touch(size):
    """Touches and frees so much, in huge pages, which the next who wants some is given."""
    with mmap.mmap(-1, size) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, size, 4096):
            memory[at] = 1


def clock_calls(size, work, before=lambda call: None):
    """The seconds of each call. Before it as much memory as it needs is touched and freed: a hypervisor, which takes
    back what is free, may give it slowly. What the calls return is kept to the end, so that each has memory for its
    tensors that nobody used before."""
    kept = []
    for call in range(CALLS):
        touch(size // 8 * 9)
        before(call)
        began = time.perf_counter()
        kept.append(work())
        print(f"{time.perf_counter() - began:.6f}", end=" ")


def load(path):
    state = empty(path)
    dcp.load(state, checkpoint_id=path, no_dist=True)
    return state


def size_of(path):
    return sum(file.stat().st_size for file in Path(path).iterdir())


def save(state, path):
    # As fast as it can: two threads, each with a file, and no sync, as the others have none.
    writer = dcp.FileSystemWriter(path, thread_count=2, sync_files=False)
    dcp.save(state, storage_writer=writer, no_dist=True)


def main():
    action, path = sys.argv[1:3]
    torch.set_num_threads(2)
    if action == "save":
        state = load(sys.argv[3])
        clock_calls(
            size_of(sys.argv[3]), lambda: save(state, path), lambda call: shutil.rmtree(path, ignore_errors=True)
        )
    else:
        clock_calls(size_of(path), lambda: load(path))


if __name__ == "__main__":
    main()
