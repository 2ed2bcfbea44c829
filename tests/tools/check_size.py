#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Links examples/embedded/loader.cpp and small_runtime.cpp statically, says what they are made of, and
checks their size, and that a program with that runtime ends by abort where one would throw.

    check_size.py FOLDER [COMPILER]      FOLDER is for what is built; the compiler is g++

What counts is all that is neither libc's nor zstd's: the library, the example, libstdc++ and
libgcc, each section of each archive as the linker's map has it. The same is told by another way:
the stripped program against a bare loop of the same calls (tests/embedded/bare_loader.cpp). Exit
status 1 when either is above LIMIT, or when the loader does not load.
"""

import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 330 * 1024
SMALL = (
    "-std=c++20 -Os -DNDEBUG -flto=auto -ffunction-sections -fdata-sections -fno-exceptions "
    "-fno-rtti -fno-unwind-tables -fno-asynchronous-unwind-tables -static -Wl,--gc-sections"
).split()
RUNTIME = "examples/embedded/small_runtime.cpp"
# Which archive belongs to whom; what is in no archive is ours.
OWNERS = {"libzstd.a": "zstd", "libstdc++.a": "libstdc++", "libgcc.a": "libgcc"}
OWNERS |= {"libgcc_eh.a": "libgcc", "libc.a": "libc", "libm.a": "libc", "libm-2.36.a": "libc"}
OUTPUT_SECTION = re.compile(r"(\.\S+|__libc\S+)")
INPUT_SECTION = re.compile(r" (\S+)?\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S.*)")
NOT_IN_THE_FILE = (".bss", ".tbss", ".comment", ".debug", "/DISCARD/")


def owner_of(file):
    archive = re.search(r"([^/]+\.a)\(", file)
    if archive:
        return OWNERS.get(archive[1], archive[1])
    return "libc" if re.search(r"/crt\w+\.o$", file) else "zarrpoint and the example"


def sizes(map_text):
    """Bytes by owner, of the sections that stand in the file."""
    out, section = Counter(), ""
    for line in map_text[map_text.index("Linker script and memory map") :].split("\n"):
        if heading := OUTPUT_SECTION.match(line):
            section = heading[1]
        elif part := INPUT_SECTION.fullmatch(line):
            if not section.startswith(NOT_IN_THE_FILE):
                out[owner_of(part[3])] += int(part[2], 16)
    return out


def build(folder, compiler, sources, *flags):
    program = folder / Path(sources[0]).stem
    command = [compiler, f"-I{ROOT}/include", *(str(ROOT / source) for source in sources), *flags, "-lzstd"]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def stripped_size(program):
    small = program.with_suffix(".stripped")
    subprocess.run(["strip", "-o", str(small), str(program)], check=True)
    return small.stat().st_size


def loads(loader, saver, folder):
    """Whether the program that was measured does its work."""
    model = str(folder / "model.zarr")
    subprocess.run([str(saver), model], check=True)
    done = subprocess.run([str(loader), model, "7"], capture_output=True, text=True, check=False)
    print(done.stderr.strip())
    return done.returncode == 0 and len(done.stdout.split()) == 10 and "mapped" in done.stderr


def ends(program):
    """Whether what the runtime stands in for ends a program as it says."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    print(done.stderr.strip())
    return done.returncode == -signal.SIGABRT and "an exception was to be thrown" in done.stderr


def main(arguments):
    if not arguments:
        print(__doc__)
        return 2
    folder, compiler = Path(arguments[0]), (arguments[1:] or ["g++"])[0]
    folder.mkdir(parents=True, exist_ok=True)
    mapped = folder / "loader.map"
    loader = build(folder, compiler, ["examples/embedded/loader.cpp", RUNTIME], *SMALL, f"-Wl,-Map={mapped}")
    bare = build(folder, compiler, ["tests/embedded/bare_loader.cpp"], *SMALL)
    thrower = build(folder, compiler, ["tests/embedded/thrower.cpp", RUNTIME], *SMALL)
    saver = build(folder, compiler, ["examples/embedded/save_model.cpp"], "-std=c++20")

    parts = sizes(mapped.read_text(encoding="utf-8", errors="replace"))
    for owner, size in parts.most_common():
        print(f"{size / 1024:8.1f} KiB  {owner}")
    whole, base = stripped_size(loader), stripped_size(bare)
    beyond = sum(size for owner, size in parts.items() if owner not in ("libc", "zstd"))
    print(f"{whole / 1024:8.1f} KiB  the stripped program; a bare loop has {base / 1024:.1f}")
    print(f"{beyond / 1024:8.1f} KiB  beyond libc and zstd, by the linker's map")
    print(f"{(whole - base) / 1024:8.1f} KiB  beyond the bare loop; the limit is {LIMIT // 1024}")
    small = beyond <= LIMIT and whole - base <= LIMIT
    return 0 if loads(loader, saver, folder) and ends(thrower) and small else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
