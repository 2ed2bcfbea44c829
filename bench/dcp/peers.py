#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on checkpoints of torch.distributed.checkpoint, in a process of its own.

    peers.py save CHECKPOINT MEGABYTES OTHER    saves what is in OTHER, and prints the seconds
    peers.py load CHECKPOINT MEGABYTES          the same until all is in new memory
"""

import sys
import time

import torch
import torch.distributed.checkpoint as dcp


def empty(path):
    entries = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    return {name: torch.empty(one.size, dtype=one.properties.dtype) for name, one in entries.items()}


def warm(megabytes):
    """Has the machine find free memory, which a hypervisor may give slowly, before a clock runs."""
    torch.ones(megabytes << 20, dtype=torch.uint8)


def main():
    action, path = sys.argv[1:3]
    megabytes = int(sys.argv[3])
    torch.set_num_threads(2)
    if action == "save":
        state = empty(sys.argv[4])
        dcp.load(state, checkpoint_id=sys.argv[4], no_dist=True)
        warm(megabytes)
        began = time.perf_counter()
        # As fast as it can: two threads, each with a file, and no sync, as the others have none.
        dcp.save(state, storage_writer=dcp.FileSystemWriter(path, thread_count=2, sync_files=False), no_dist=True)
    else:
        warm(megabytes)
        began = time.perf_counter()
        dcp.load(empty(path), checkpoint_id=path, no_dist=True)
    print(f"{time.perf_counter() - began:.6f}")


if __name__ == "__main__":
    main()
