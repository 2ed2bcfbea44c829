#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""A g++ that compiles a text once, wherever its headers lie: for steps that build one program in many ways.

    compile_once.py --install FOLDER    puts it there as g++ and c++, for PATH
    g++ ARGUMENT...                     as the compiler itself

Each source is preprocessed with all of its flags. What comes out, without the names of files, is compiled by
ccache with -O0 and assertions, without warnings and debug information; so a second way that finds the same headers costs only the
preprocessor, and one that finds others, or sets another macro or flag, is compiled. A command with -Werror, or that
makes no object or program, goes to g++ as it is.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILER = "/usr/bin/g++"
CACHED = [*filter(None, [shutil.which("ccache", path="/usr/bin")]), COMPILER]
# Flags of the preprocessor, whose value may be the next argument; the rest is for all stages.
WITH_VALUE = ("-I", "-isystem", "-iquote", "-idirafter", "-include", "-D", "-U", "-MF", "-MT", "-MQ")
AS_IT_IS = ("-E", "-S", "-M", "-MM", "-x", "-fsyntax-only", "-Werror")
# What an assertion says of where it stands.
PLACE = re.compile(rb'"[^"\n]*/(zarrpoint/[^"\n]+\.hpp)"')


def split(arguments):
    """(sources, where to, flags of the preprocessor, other flags, what is linked)"""
    sources, target, preprocess, others, linked = [], None, [], [], []
    rest = iter(arguments)
    for one in rest:
        if one == "-DNDEBUG":  # which comes with -O3
            continue
        if one == "-o":
            target = next(rest)
        elif one.endswith(".cpp"):
            sources.append(one)
        elif one in WITH_VALUE:
            preprocess += [one, next(rest)]
        elif one.startswith(("-I", "-isystem", "-D", "-U", "-M")):
            preprocess.append(one)
        elif one in ("-pthread", "-m64"):  # of the compiler itself they change nothing here
            preprocess.append(one)
            linked.append(one)
        elif one.startswith(("-l", "-L", "-Wl,")) or not one.startswith("-"):
            linked.append(one)
        elif one != "-c" and not one.startswith(("-W", "-O", "-g")):
            others.append(one)
    others.sort(key=lambda one: not one.startswith("-std="))  # ccache takes another order as another compilation
    return sources, target, preprocess, others, linked


def compile_source(source, target, preprocess, flags):
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.ii")
        command = [COMPILER, *preprocess, *flags, "-O0", "-w", "-E", "-P", source, "-o", text]
        done = subprocess.run(command, check=False).returncode
        if done:
            return done
        text.write_bytes(PLACE.sub(rb'"\1"', text.read_bytes()))
        return subprocess.run([*CACHED, *flags, "-O0", "-g0", "-w", "-c", text, "-o", target], check=False).returncode


def main(arguments):
    if arguments[:1] == ["--install"]:
        folder = Path(arguments[1])
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("g++", "c++"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(Path(__file__).resolve())
        return 0
    sources, target, preprocess, flags, linked = split(arguments)
    if not sources or any(one in AS_IT_IS for one in arguments) or ("-MD" in arguments and "-MF" not in arguments):
        os.execv(CACHED[0], [*CACHED, *arguments])
    if "-c" in arguments:
        for source in sources:
            status = compile_source(source, target or Path(source).stem + ".o", preprocess, flags)
            if status:
                return status
        return 0
    with tempfile.TemporaryDirectory() as folder:
        objects = [str(Path(folder, f"{number}.o")) for number in range(len(sources))]
        for source, made in zip(sources, objects):
            status = compile_source(source, made, preprocess, flags)
            if status:
                return status
        return subprocess.run([COMPILER, *flags, *objects, *linked, "-o", target or "a.out"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
