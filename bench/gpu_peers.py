#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What loads and saves of other libraries take, from the page cache to a GPU and back.

    python3 bench/gpu_peers.py FOLDER [MEGABYTES [ROUNDS]]

64 tensors of bfloat16, as in the row of gpu_bench that it stands beside. Each of the libraries that
are installed takes its turn in each round; the first round warms up. Loads are checked once.

Some libraries open files with O_DIRECT (instanttensor does) and so read the disk, not the page cache. Their rows
are fair only where FOLDER is on a tmpfs, or where the files are cold for all.
"""

import importlib.metadata
import os
import statistics
import sys
import time

import torch

COUNT = 64
DEVICE = "cuda:0"


def timed(work):
    torch.cuda.synchronize()
    start = time.perf_counter()
    out = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, out


def loaders(safe_path, torch_path):
    from safetensors.torch import load_file

    yield "safetensors", "load_file(device)", lambda: load_file(safe_path, device=DEVICE)
    yield "torch", "torch.load, mapped", lambda: torch.load(
        torch_path, map_location=DEVICE, mmap=True, weights_only=True)
    yield "torch", "torch.load", lambda: torch.load(
        torch_path, map_location=DEVICE, weights_only=True)
    try:
        from fastsafetensors import fastsafe_open

        def fast():
            with fastsafe_open(safe_path, device=DEVICE, nogds=True) as f:
                return {key: f.get_tensor(key) for key in f.keys()}

        yield "fastsafetensors", "fastsafe_open, no GDS", fast
    except ImportError as failure:
        print("fastsafetensors:", failure, file=sys.stderr)
    try:
        from runai_model_streamer import SafetensorsStreamer

        def run_ai():
            with SafetensorsStreamer() as streamer:
                streamer.stream_file(safe_path)
                return {name: one.to(DEVICE) for name, one in streamer.get_tensors()}

        yield "runai-model-streamer", "SafetensorsStreamer", run_ai
    except ImportError as failure:
        print("runai-model-streamer:", failure, file=sys.stderr)
    try:
        import instanttensor

        def instant():
            with instanttensor.safe_open(safe_path, framework="pt", device=0) as f:
                return dict(f.tensors())

        yield "instanttensor", "safe_open", instant
    except ImportError as failure:
        print("instanttensor:", failure, file=sys.stderr)


def savers(folder, tensors):
    from safetensors.torch import save_file

    yield "torch", "torch.save", lambda: torch.save(tensors, os.path.join(folder, "saved.pt"))
    yield "safetensors", "save_file", lambda: save_file(
        tensors, os.path.join(folder, "saved.safetensors"))


def pinned_copy(tensors):
    block = torch.empty(next(iter(tensors.values())).numel(), dtype=torch.bfloat16).pin_memory()

    def copy():
        for one in tensors.values():
            one.copy_(block, non_blocking=True)

    return copy


def measure(rows, rounds, size, check=None):
    times = {}
    for number in range(-1, rounds):
        for library, call, work in rows:
            if (library, call) in times and times[library, call] is None:
                continue
            try:
                seconds, out = timed(work)
                if number < 0 and check is not None and out is not None:
                    check(out)
            except Exception as failure:  # one that does not run here leaves the others be
                print(f"| {library}, {call} | not measured: {str(failure)[:120]} | |")
                times[library, call] = None
                continue
            del out
            if number >= 0:
                times.setdefault((library, call), []).append(seconds)
    for (library, call), all_of in times.items():
        if all_of is None:
            continue
        try:
            version = " " + importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        middle = statistics.median(all_of)
        print(f"| {library}{version}, {call} | {size / middle / 1e9:.2f} GB/s"
              f" | {size / max(all_of) / 1e9:.2f}-{size / min(all_of) / 1e9:.2f} |", flush=True)


def main():
    folder = sys.argv[1]
    size = int(sys.argv[2] if len(sys.argv) > 2 else 8192) << 20
    rounds = int(sys.argv[3] if len(sys.argv) > 3 else 5)
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    each = size // COUNT // 2
    tensors = {f"layers.{i}": torch.randn(each, device=DEVICE).to(torch.bfloat16)
               for i in range(COUNT)}
    safe_path = os.path.join(folder, "model.safetensors")
    torch_path = os.path.join(folder, "model.pt")
    from safetensors.torch import save_file

    save_file(tensors, safe_path)
    torch.save(tensors, torch_path)
    sums = {name: one.view(torch.int16).to(torch.int64).sum().item()
            for name, one in tensors.items()}

    def check(loaded):
        for name, expected in sums.items():
            if loaded[name].device.type != "cuda":
                raise RuntimeError(f"{name} is not on the device")
            if loaded[name].view(torch.int16).to(torch.int64).sum().item() != expected:
                raise RuntimeError(f"{name} has other values")

    print(f"{size >> 20} MiB of bfloat16, {COUNT} tensors, {rounds} rounds,"
          f" {torch.cuda.get_device_name(0)}, torch {torch.__version__}\n")
    print("| load, page cache to device | rate | range |\n|---|---|---|")
    measure([("a copy", "from pinned memory", pinned_copy(
        {name: torch.empty_like(one) for name, one in tensors.items()}))]
        + list(loaders(safe_path, torch_path)), rounds, size, check)
    print("\n| save, device to page cache | rate | range |\n|---|---|---|")
    print(flush=True)
    measure(list(savers(folder, tensors)), rounds, size)


if __name__ == "__main__":
    main()
