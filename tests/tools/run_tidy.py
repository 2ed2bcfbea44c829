#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the headers, all in one translation unit, and over the examples, most of them in another.

    run_tidy.py [layer...]     all layers when none is named; exit status 1 on any finding

The headers are read once, whatever includes them: the examples have declarations only.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-16")


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


MPI = mpi_includes()
CUDA = [f"-isystem{cuda_include()}"] if cuda_include() else []
NEEDS_CUDA = re.compile(r"#include <(zarrpoint/cuda[./]|cuda_)")
# PyTorch 1.13, which Debian has, is not a C++20 for clang: a vector of an incomplete type.
NEEDS_TORCH = re.compile(r"#include <(ATen/|zarrpoint/interop/tensors/libtorch\.hpp)")
# Those that the step onnxruntime of tests/run.sh fetches.
ORT_FOLDER = ROOT / "build" / "onnxruntime" / "headers" / "usr" / "include" / "onnxruntime"
ORT = [f"-isystem{ORT_FOLDER}"] if ORT_FOLDER.is_dir() else []
NEEDS_ORT = re.compile(r"#include <(onnxruntime_|zarrpoint/interop/tensors/onnxruntime\.hpp)")
INCLUDE_LINE = re.compile(r"^#include .*$", re.M)
# A program with headers of its own, or with something in a namespace that is not its own.
ALONE = re.compile(r'^(#include "|template <>|namespace \w+ {|extern "C"|void\* operator)', re.M)
# What programs of examples/docs include as their documents tell.
PRINTED = [*(f"-I{ROOT}/examples/{of}" for of in ("codecs", "formats", "handlers", "stores")),
           f"-I{ROOT}/tests/support", "-isystem/usr/include/eigen3"]  # fmt: skip
PYTHON = [f"-isystem{sysconfig.get_paths()['include']}"]


def tidy(source, headers, *flags):
    """What clang-tidy says about `source` and the headers whose path matches `headers`."""
    command = [TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy", f"--header-filter={headers}",
               str(source), "--", "-std=c++20", *flags, f"-I{INCLUDE}", f"-I{ROOT}/examples", *PRINTED, *MPI, *CUDA, *ORT, *PYTHON]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or (done.stderr if done.returncode else "")


def can_be_read(path):
    """Whether the headers that the file needs are there; those of PyTorch cannot be read."""
    text = path.read_text(encoding="utf-8")
    if NEEDS_TORCH.search(text) or (not CUDA and NEEDS_CUDA.search(text)) or (not ORT and NEEDS_ORT.search(text)):
        print(f"{path.relative_to(ROOT)} is left out: no headers of CUDA, ONNX Runtime or PyTorch")
        return False
    return True


def together(paths):
    """A unit of several programs, each in a namespace of its own, behind what they include."""
    includes, parts = {}, []
    for number, path in enumerate(paths):
        includes |= dict.fromkeys(INCLUDE_LINE.findall(path.read_text(encoding="utf-8")))
        parts.append(f"namespace example_{number} {{\n#include \"{path}\"  // NOLINT\n}}\n")
    return "\n".join([*includes, "#define main program", *parts])


def main(layers):
    folders = [INCLUDE / "zarrpoint" / layer for layer in layers] or [INCLUDE / "zarrpoint"]
    headers = sorted(path for folder in folders for path in folder.rglob("*.hpp") if can_be_read(path))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "headers.cpp")
        includes = [f"#include <{path.relative_to(INCLUDE)}>\n" for path in headers]
        source.write_text("".join(includes), encoding="utf-8")
        jobs = [(source, f"include/zarrpoint/({'|'.join(layers)})")]
        if not layers:
            examples = list(filter(can_be_read, sorted((ROOT / "examples").rglob("*.cpp"))))
            alone = [path for path in examples if ALONE.search(path.read_text(encoding="utf-8"))]
            programs = Path(folder, "examples.cpp")
            programs.write_text(together([path for path in examples if path not in alone]), encoding="utf-8")
            jobs += [(path, "/examples/", "-DZARRPOINT_COMPILED") for path in [programs, *alone]]
        with ThreadPoolExecutor(int(os.environ.get("JOBS", 0)) or os.cpu_count()) as workers:
            findings = [text for text in workers.map(lambda job: tidy(*job), jobs) if text]
    print("\n".join(findings) or f"{len(jobs)} translation units are clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
