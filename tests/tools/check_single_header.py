#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the library as one file, after the preset single_header was built with it.

    check_single_header.py BUILD_FOLDER

Checks: it is the same, byte for byte, when it is made again; each header stands in one of the files;
a program gets no macro from them but ZARRPOINT_* and those of the third-party headers that they
include, and loses none; and the tests in BUILD_FOLDER saw these files and no header of include/.
Exit status 1, with a line each, when something is wrong.
"""

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "single_header.py"
OURS = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
BANNER = re.compile(r"^// -{8,} zarrpoint/(\S+)$", re.MULTILINE)


def mpi_includes():
    """The flags with which mpi.h is found: it is not where compilers look."""
    try:
        done = subprocess.run(["mpicxx", "--showme:incdirs"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [f"-isystem{folder}" for folder in done.stdout.split()]


def cuda_include():
    """The folder of the CUDA runtime's headers, or None."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders = (Path(home, "include"), ROOT / "build" / "cuda-toolkit" / "toolkit" / "include")
    return next((path for path in folders if (path / "cuda_runtime_api.h").is_file()), None)


def macros(source, folder):
    """The macros that are defined after `source`, with their text."""
    command = ["g++", "-std=c++20", "-dM", "-E", "-xc++", f"-I{folder}", *mpi_includes()]
    command += [f"-isystem{sysconfig.get_paths()['include']}", f"-isystem{cuda_include()}", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def with_included(name, texts):
    """The text of a file and of those that it includes."""
    names = ["zarrpoint.hpp", name]  # the first is included by all others
    for one in names:
        names += [n for n in OURS.findall(texts[one]) if n in texts and n not in names]
    return "".join(texts[one] for one in dict.fromkeys(names))


def macro_errors(folder):
    """What the files of `folder` change in a program's macros and should not."""
    errors, texts = [], {path.name: path.read_text() for path in sorted(folder.glob("*.hpp"))}
    for name in texts:
        text = with_included(name, texts)
        if "<cuda_runtime_api.h>" in text and cuda_include() is None:
            print(f"{name} is not looked at: no headers of CUDA")
            continue
        if "onnxruntime_cxx_api.h" in text:  # the step onnxruntime fetches its headers
            print(f"{name} is not looked at: no headers of ONNX Runtime")
            continue
        foreign = [f"#include <{header}>\n" for header in dict.fromkeys(INCLUDE.findall(text))]
        # zstd.h has more macros when it is asked for its static section, as we ask it, and mpi.h has
        # fewer without the bindings to C++.
        switches = ("ZSTD_STATIC_LINKING_ONLY", "OMPI_SKIP_MPICXX")
        theirs = [f"#define {switch}\n" for switch in switches] + foreign
        theirs += [f"#undef {switch}\n" for switch in switches]
        with_ours, without = macros(f'#include "{name}"\n', folder), macros("".join(theirs), folder)
        for line in sorted(with_ours - without):
            if not line.startswith("#define ZARRPOINT_"):
                errors.append(f"{name} leaks {line}")
        errors += [f"{name} takes away {line}" for line in sorted(without - with_ours)]
    return errors


def content_errors(folder):
    """Whether the files are what the script makes now, and hold every header once."""
    errors, seen = [], []
    with tempfile.TemporaryDirectory() as again:
        subprocess.run([sys.executable, "-S", SCRIPT, again], check=True)
        ours, theirs = ({path.name: path.read_bytes() for path in Path(place).glob("*.hpp")}
                        for place in (folder, again))  # fmt: skip
        if ours != theirs:
            errors.append(f"{folder} is not what tools/single_header.py makes now")
    for text in ours.values():
        seen += BANNER.findall(text.decode())
    base = ROOT / "include" / "zarrpoint"
    expected = sorted(path.relative_to(base).as_posix() for path in base.rglob("*.hpp"))
    if sorted(seen) != expected:
        errors.append(f"not once each: {sorted(set(expected) ^ set(seen)) or 'some are twice'}")
    return errors


def dependency_errors(build):
    """Whether the objects of the tests depend on the one file and on nothing that it replaces."""
    done = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                          check=True)  # fmt: skip
    if "single_include/zarrpoint.hpp" not in done.stdout:
        return ["the tests do not include single_include/zarrpoint.hpp"]
    strays = re.findall(rf"{ROOT}/include/zarrpoint/\S+", done.stdout)
    return [f"the tests include {path}" for path in sorted(set(strays))]


GOOD_TREE = {
    "zarrpoint.hpp": "#pragma once\n#include <zarrpoint/version.hpp>\n",
    "version.hpp": "#pragma once\n#define ZARRPOINT_VERSION_MAJOR 7\n",
    "a.hpp": "#pragma once\n#include <zarrpoint/interop/a.hpp>\n",
    "b.hpp": "#pragma once\n#include <zarrpoint/interop/b.hpp>\n",
    "interop/a.hpp": "#pragma once\n#include <zarrpoint/interop/both.hpp>\n\nint a;\n",
    "interop/b.hpp": "#pragma once\n#include <zarrpoint/interop/both.hpp>\n#include <map>\nint b;\n",
    "interop/both.hpp": "#pragma once\n#include <zarrpoint/version.hpp>\nint both;\n",
}
REFUSED = {
    "under a condition": "#if 1\n#include <zarrpoint/version.hpp>\n#endif\n",
    "after code": "int early;\n#include <zarrpoint/version.hpp>\n",
}


def files_of(tree):
    """What the script makes of a tree of headers: {file: text}."""
    spec = importlib.util.spec_from_file_location("single_header", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with tempfile.TemporaryDirectory() as folder:
        script.BASE = Path(folder)
        for name, text in tree.items():
            script.write(script.BASE / name, text)
        return {name: text for name, (text, _) in script.single_files().items()}


def self_test():
    """Shows that a leaked and a lost macro are found, and what the script does with rare headers."""
    errors = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "zarrpoint.hpp").write_text("#include <cassert>\n#define LEAK 1\n#undef assert\n")
        found = macro_errors(folder)
    expected = ["zarrpoint.hpp leaks #define LEAK 1", "zarrpoint.hpp takes away #define assert"]
    if len(found) != 2 or not all(line.startswith(want) for line, want in zip(found, expected)):
        errors.append(f"self-test: expected {expected}, got {found}")

    files = files_of(GOOD_TREE)  # two doors lead to one header: it stands in the first one's file
    names = ["zarrpoint.hpp", *(f"zarrpoint_{name}.hpp" for name in ("a", "b"))]
    shares = ["int both" in files.get(name, "") for name in names]
    if sorted(files) != names or shares != [False, True, False]:
        errors.append(f"self-test: made {sorted(files)}, of which {shares} hold the shared header")
    elif '"zarrpoint_a.hpp"\n#include <map>\n' not in files["zarrpoint_b.hpp"]:
        errors.append("self-test: zarrpoint_b.hpp does not include what it needs")
    for title, text in REFUSED.items():
        try:
            files_of(GOOD_TREE | {"interop/a.hpp": text})
            errors.append(f"self-test: an own header that is included {title} is not refused")
        except SystemExit:
            pass
    return errors


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    build = Path(arguments[0]).resolve()
    folder = build / "single_include"
    errors = self_test() + content_errors(folder) + macro_errors(folder) + dependency_errors(build)
    print("\n".join(errors) or "the one file is in order")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
