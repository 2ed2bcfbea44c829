#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Ours and theirs: each side writes, the other reads, and every bit is the same.

    run.py BUILD_FOLDER      with the Python that has the packages of requirements.txt

Builds tests/interop/writer.cpp, reader.cpp, safetensors_copy.cpp, safetensors_group.cpp and torch_copy.cpp. The writer's folder holds
index.json, a list of arrays {path, dtype, shape, zarr_format, expected}, and beside it what each
array must contain: row-major, little-endian bytes, or a JSON list of strings. py/read_ours.py checks
it with every peer; py/write_theirs.py makes a folder of the same form, which the reader checks.
py/ocdbt_check.py has ocdbt_dump.cpp read databases that TensorStore writes, and TensorStore those of ocdbt_write.cpp;
py/safetensors_check.py compares safetensors files with the reference implementation,
py/zfp_check.py exchanges arrays that zfp compresses (zfp_exchange.cpp) with zarr-python, numcodecs and zfpy;
py/s3_check.py saves to a server of S3 on loopback, where TensorStore reads and writes, too (s3_exchange.cpp), and
py/gcs_check.py to one of Google Cloud Storage;
py/torch_check.py those of torch.save with PyTorch: Debian's, by the Python of the system, since the
wheels of PyPI hold CUDA. dlpack_python_test.cpp is an extension module, which py/dlpack_check.py
tries with the NumPy of either Python, and with PyTorch; py/cuda_array_check.py tries that of
cuda_array_interface_test.cpp.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
NETWORK = HERE.parents[1] / "examples/data/silero-vad/silero_vad_16k.safetensors"
FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]


def run(*command):
    print("+", " ".join(str(part) for part in command), flush=True)
    subprocess.run([str(part) for part in command], check=True)


def build(name, folder, made=None, flags=(), libraries=()):
    launcher = ["ccache"] if shutil.which("ccache") else []
    library = [os.environ["LIBRARY"]] if "LIBRARY" in os.environ else []  # the compiled form
    compiled = [flag for flag in flags if flag != "-shared"] + (["-DZARRPOINT_COMPILED"] if library else [])
    run(*launcher, "g++", *FLAGS, *compiled, "-c", HERE / f"{name}.cpp", "-o", folder / f"{name}.o")
    linked = [*library, "-o", folder / (made or name), "-lzstd", "-lz", *libraries, "-pthread"]
    run("g++", *flags, folder / f"{name}.o", *linked)


def has_header(name):
    look = subprocess.run(["g++", "-E", "-x", "c++", "-"], input=f"#include <{name}>", text=True, capture_output=True, check=False)
    return look.returncode == 0


def build_modules(folder):
    """Both Pythons are the system's, so that one of each serves them."""
    flags = ["-O0", "-fPIC", f"-I{HERE.parent}", f"-isystem{sysconfig.get_paths()['include']}"]
    build("dlpack_python_test", folder, "zarrpoint_dlpack.so", [*flags, "-shared"])
    build("cuda_array_interface_test", folder, "zarrpoint_cuda_array.so", [*flags, "-shared"])


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    folder = Path(arguments[0]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "ours").mkdir(parents=True)
    (folder / "theirs").mkdir()
    try:
        with ThreadPoolExecutor(2) as workers:
            modules = workers.submit(build_modules, folder)
            names = ("writer", "reader", "safetensors_copy", "safetensors_group", "torch_copy", "ocdbt_dump", "ocdbt_write")
            list(workers.map(lambda name: build(name, folder), names))
            build("zfp_exchange", folder, libraries=["-lzfp"])
            modules.result()
        run(folder / "writer", folder / "ours")
        run(sys.executable, HERE / "py" / "read_ours.py", folder / "ours")
        run(sys.executable, HERE / "py" / "write_theirs.py", folder / "theirs")
        run(folder / "reader", folder / "theirs")
        check = HERE / "py" / "safetensors_check.py"
        run(sys.executable, check, folder / "safetensors_copy", folder / "safetensors_group", NETWORK)
        check = HERE / "py" / "ocdbt_check.py"
        run(sys.executable, check, folder / "ocdbt_dump", folder / "ocdbt_write", folder / "ocdbt")
        run("/usr/bin/python3", HERE / "py" / "torch_check.py", folder / "torch_copy")
        run(sys.executable, HERE / "py" / "zfp_check.py", folder / "zfp_exchange", folder / "zfp")
        if has_header("curl/curl.h"):
            build("s3_exchange", folder, libraries=["-lcurl"])
            run(sys.executable, HERE / "py" / "s3_check.py", folder / "s3_exchange")
            run(sys.executable, HERE / "py" / "gcs_check.py", folder / "s3_exchange")
        else:
            print("skipped: S3 and Google Cloud Storage, since libcurl (Debian: libcurl4-openssl-dev) was not found")
        for python in (sys.executable, "/usr/bin/python3"):
            run(python, HERE / "py" / "dlpack_check.py", folder)
            run(python, HERE / "py" / "cuda_array_check.py", folder)
    except subprocess.CalledProcessError as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
