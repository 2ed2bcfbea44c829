# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Shards to which zarrpoint and its peers add by turns: what each of them reads then."""

import os
import random

import numpy as np
from cases import array_v3
from chains import ZSTD, Chain, bytes_codec, shard
from kinds import KINDS
from ours import Crashed, Refused, same
from peers import PEERS

SHAPE, CHUNK = (128, 96), (8, 8)
WRITES = 60


def case_of(codecs):
    kind = KINDS["int32"]
    case = array_v3(kind, Chain("extended shards", "sharding", [shard([bytes_codec(kind), *codecs], CHUNK)]))
    case.shape = SHAPE
    case.document |= {
        "shape": list(SHAPE),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64, 96]}},
    }
    return case


def turns(ours, path, case, peers):
    """Writes boxes by turns; the name of who reads other elements then, or nothing. And how often a file has grown."""
    numbers, values, grown = random.Random(7), np.random.default_rng(7), 0
    ours.create(path, case)
    everything = tuple(slice(0, n) for n in SHAPE)
    model = case.kind.random(values, SHAPE, False)
    ours.write(path, case, everything, model)
    file = path / "c/0/0"
    for i in range(WRITES):
        side = ours if i % 3 != 2 else peers[i // 3 % len(peers)]
        begin = [numbers.randrange(n - 9) for n in SHAPE]
        box = tuple(slice(b, b + numbers.randrange(1, 9)) for b in begin)
        model[box] = case.kind.random(values, model[box].shape, False)
        before = os.stat(file)
        side.write(path, case, box, model[box])
        grown += side is ours and os.stat(file).st_ino == before.st_ino and os.stat(file).st_size > before.st_size
        for reader in (ours, *peers):
            if not same(model, reader.read(path, case)):
                return f"write {i}: {type(reader).__name__} reads other elements", grown
    return "", grown


def results(ours, folder):
    """How many writes let a shard grow, and what is wrong."""
    peers = [peer for peer in PEERS if peer.name != "numcodecs"]
    grown, wrong = 0, []
    for number, codecs in enumerate(([], [ZSTD])):
        try:
            text, times = turns(ours, folder / f"extended{number}", case_of(codecs), peers)
        except (Refused, Crashed) as failure:
            text, times = f"zarrpoint: {failure}", 0
        grown += times
        wrong += [f"extended shards: {text}"] if text else []
    return grown, wrong
