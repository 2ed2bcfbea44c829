# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Carries each array to each peer and back, and says what became of it."""

import multiprocessing
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cases import SECTIONS, Case
from ours import Crashed, Ours, Refused, same
from peers import PEERS
from rules import rule_for

TO_PEER, FROM_PEER = "ours to peer", "peer to ours"
SAME, DIFFERS, PEER_REFUSES, WE_REFUSE = "same", "differs", "peer refuses", "we refuse"
CRASHED = "zarrpoint crashed"


@dataclass
class Outcome:
    section: str
    case: Case
    peer: str
    direction: str
    state: str
    detail: str = ""
    number: int = 0  # of the case
    rule: int | None = None


def boxes(case):
    """What is written: all but the first chunk, where there are others."""
    if case.empty:
        return []
    chunk = case.chain.chunk
    if len(case.shape) == 2 and all(n > c for n, c in zip(case.shape, chunk, strict=True)):
        a, b = chunk
        return [(slice(a, None), slice(None)), (slice(0, a), slice(b, None))]
    return [tuple(slice(0, n) for n in case.shape)]


def values_of(case):
    random = np.random.default_rng(zlib.crc32(case.name.encode()))
    model = case.kind.empty(case.shape)
    for box in boxes(case):
        part = model[(..., *box)]  # an array even without axes
        part[...] = case.kind.random(random, part.shape, case.chain.modest)
    return model


def write_all(side, path, case, model):
    side.create(path, case)
    for box in boxes(case):
        side.write(path, case, box, model[(..., *box)])


def peer_step(step, *arguments):
    try:
        return step(*arguments), None
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as failure:  # noqa: BLE001  a panic of Rust is none of Exception
        return None, f"{type(failure).__name__}: {failure}"


def our_step(step, *arguments):
    """(value, state, detail)"""
    try:
        return step(*arguments), None, None
    except Refused as failure:
        return None, WE_REFUSE, str(failure)
    except Crashed as failure:
        return None, CRASHED, str(failure)


def difference(expected, read):
    if expected.shape != read.shape:
        return f"shape {read.shape} instead of {expected.shape}"
    a, b = expected.reshape(-1).tolist(), read.reshape(-1).tolist()
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y:
            return f"element {i}: {y!r} instead of {x!r}"
    return "other bytes"


def to_peer(ours, peer, case, folder, expected):
    path = folder / "ours"
    if not path.exists():
        _, state, detail = our_step(write_all, ours, path, case, expected[0])
        if state is None:
            read, state, detail = our_step(ours.read, path, case)
            if state is None and not case.chain.lossy and not same(expected[0], read):
                state, detail = DIFFERS, "zarrpoint itself reads " + difference(expected[0], read)
        if state is not None:
            shutil.rmtree(path, ignore_errors=True)
            return state, detail
    read, failure = peer_step(peer.read, path, case)
    if failure:
        return PEER_REFUSES, failure
    wanted = expected[1] if case.chain.lossy else expected[0]
    return (SAME, "") if same(wanted, read) else (DIFFERS, difference(wanted, read))


def from_peer(ours, peer, case, folder, expected):
    """Also keeps in expected[1] what the peer itself reads."""
    path = folder / peer.name
    _, failure = peer_step(write_all, peer, path, case, expected[0])
    if failure:
        return PEER_REFUSES, failure
    wanted = expected[0]
    if case.chain.lossy:
        wanted, failure = peer_step(peer.read, path, case)
        if failure:
            return PEER_REFUSES, failure
        expected[1] = wanted
    read, state, detail = our_step(ours.read, path, case)
    if state:
        return state, detail
    return (SAME, "") if same(wanted, read) else (DIFFERS, difference(wanted, read))


def exchange(ours, case, folder, peers):
    """(peer, direction, state, detail) for each."""
    model = values_of(case)
    for peer in peers:
        if peer.name == "numcodecs" and case.version == 3:
            continue
        expected = [model, None]
        for direction, step in ((FROM_PEER, from_peer), (TO_PEER, to_peer)):
            if direction == TO_PEER and case.chain.lossy and expected[1] is None:
                detail = "as for the other direction: " + detail  # there is nothing to compare with
            else:
                state, detail = step(ours, peer, case, folder, expected)
            yield peer.name, direction, state, detail
    shutil.rmtree(folder, ignore_errors=True)


def share(arguments):
    """A share of the cases, in a process of its own."""
    driver, folder, number, count, pattern = arguments
    ours, out = Ours(driver), []
    cases = [(section, case) for section, make in SECTIONS.items() for case in make()]
    for i, (section, case) in enumerate(cases):
        if i % count != number or pattern not in case.name:
            continue
        for peer, direction, state, detail in exchange(ours, case, Path(folder) / f"{i}", PEERS):
            one = Outcome(section, case, peer, direction, state, detail, i)
            one.rule = None if state == SAME else rule_for(one, case.tags)
            out.append(one)
    return out


def run(driver, folder, processes, pattern=""):
    context = multiprocessing.get_context("spawn")
    jobs = [(str(driver), str(folder), i, processes, pattern) for i in range(processes)]
    with context.Pool(processes) as pool:
        parts = pool.map(share, jobs)
    # In the order of the cases, however many processes there were.
    return sorted((one for part in parts for one in part), key=lambda one: one.number)
