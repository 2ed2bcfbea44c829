#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on checkpoints of torch.distributed.checkpoint, in a process of its own.

    peers.py save CHECKPOINT OTHER    saves what is in OTHER, and prints the seconds of each call
    peers.py load CHECKPOINT          the same until all is in new memory
"""

import shutil
import sys
import time

import torch
import torch.distributed.checkpoint as dcp


def empty(path):
    entries = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    return {name: torch.empty(one.size, dtype=one.properties.dtype) for name, one in entries.items()}


CALLS = 4


def clock_calls(work, after=lambda call: None):
    """The seconds of each call. The first finds memory that a hypervisor, which takes back what is free, may give
    slowly."""
    for call in range(CALLS):
        began = time.perf_counter()
        made = work()
        print(f"{time.perf_counter() - began:.6f}", end=" ")
        del made
        after(call)


def load(path):
    state = empty(path)
    dcp.load(state, checkpoint_id=path, no_dist=True)
    return state


def main():
    action, path = sys.argv[1:3]
    torch.set_num_threads(2)
    if action == "save":
        state = load(sys.argv[3])
        # As fast as it can: two threads, each with a file, and no sync, as the others have none.
        clock_calls(
            lambda: dcp.save(
                state,
                storage_writer=dcp.FileSystemWriter(path, thread_count=2, sync_files=False),
                no_dist=True,
            ),
            lambda call: call + 1 == CALLS or shutil.rmtree(path),
        )
    else:
        clock_calls(lambda: load(path))


if __name__ == "__main__":
    main()
