# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The driver, which is zarrpoint, at the other end of a pipe; and how it is built."""

import json
import os
import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
INCLUDE = HERE.parents[1] / "include"
FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
LIBRARIES = ["-lzstd", "-lz", "-lbz2", "-llzma", "-pthread"]


def build(folder):
    """The driver's path; $LIBRARY may be the compiled form, which it is then linked with."""
    launcher = ["ccache"] if shutil.which("ccache") else []
    target = folder / "driver.o"
    library = [os.environ["LIBRARY"]] if "LIBRARY" in os.environ else []
    form = ["-DZARRPOINT_COMPILED"] if library else []
    compile_it = [*launcher, "g++", *FLAGS, *form, "-c", HERE / "driver.cpp", "-o", target]
    subprocess.run([str(part) for part in compile_it], check=True)
    subprocess.run(["g++", str(target), *library, "-o", str(folder / "driver"), *LIBRARIES], check=True)
    return folder / "driver"


class Refused(Exception):
    """An error that zarrpoint reported, which it may."""


class Crashed(Exception):
    """The end of the driver, which is a defect."""


class Ours:
    name = "zarrpoint"

    def __init__(self, program):
        self.program = str(program)
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **job):
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            status = self.process.wait()
            self.start()
            raise Crashed(f"the driver ended with status {status} at {json.dumps(job)[:2000]}")
        answer = json.loads(answer)
        if not answer["ok"]:
            raise Refused(f"{answer['code']}: {answer['message']}")
        return answer

    def create(self, path, case):
        self.ask(do="create", path=str(path), metadata=case.document)

    def write(self, path, case, at, values):
        self.ask(do="write", path=str(path), at=selection(at, case.shape), data=sent(values))

    def read(self, path, case, at=None):
        job = {} if at is None else {"at": selection(at, case.shape)}
        data = self.ask(do="read", path=str(path), **job)["data"]
        shape = case.shape if at is None else selection(at, case.shape)[1]
        return received(case.kind, data, shape)


def selection(at, shape):
    """[offsets, counts, steps] of a tuple of slices."""
    ranges = [range(*one.indices(extent)) for one, extent in zip(at, shape, strict=True)]
    return [[r.start for r in ranges], [len(r) for r in ranges], [r.step for r in ranges]]


def sent(values):
    if values.dtype == object:
        return [b64encode(one).decode() for one in values.reshape(-1)]
    return b64encode(values.tobytes()).decode()


def received(kind, data, shape):
    if kind.variable:
        out = np.empty(len(data), dtype=object)
        out[:] = [b64decode(one) for one in data]
        return out.reshape(shape)
    return np.frombuffer(b64decode(data), np.dtype((np.void, kind.size))).reshape(shape)


def same(a, b):
    return a.shape == b.shape and bool(a.tobytes() == b.tobytes() if a.dtype != object else
                                       list(a.reshape(-1)) == list(b.reshape(-1)))  # fmt: skip
