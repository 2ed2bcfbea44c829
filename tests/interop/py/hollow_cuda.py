# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Makes libraries that do nothing in place of NVIDIA's, so that PyTorch's wheel can be imported without
their gigabytes and computes on the processor: hollow_cuda.py FOLDER_OF_TORCH OUT

Each has the name and the symbols, with their versions, that the wheel's own libraries ask for; every
function says that it failed. With OUT in LD_LIBRARY_PATH `import torch` finds them."""

import pathlib
import re
import subprocess
import sys

NVIDIA = re.compile(r"lib(cu|nv|nccl)")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(file, which):
    """Names and their versions."""
    for line in run("nm", "-D", which, "--with-symbol-versions", str(file)).splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def main():
    files = sorted((pathlib.Path(sys.argv[1]) / "lib").glob("*.so*"))
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    own = {file.name for file in files}
    of_library, library_of, wanted, defined = {}, {}, {}, set()
    for file in files:
        text = run("objdump", "-p", str(file))
        for name in re.findall(r"NEEDED\s+(\S+)", text):
            if name not in own and NVIDIA.match(name):
                of_library.setdefault(name, {})
        for name, block in re.findall(r"required from (\S+):\n((?:\s+0x.*\n)+)", text):
            for line in block.splitlines():
                library_of[line.split()[-1]] = name
        wanted.update(symbols(file, "--undefined-only"))
        defined.update(name for name, _ in symbols(file, "--defined-only"))
    loose = []  # without a version: any library may have them
    for name, version in wanted.items():
        if not version and name not in defined and not name.startswith("_"):
            loose.append(name)
        elif library_of.get(version) in of_library:
            of_library[library_of[version]].setdefault(version, []).append(name)
    runtime = min((name for name in of_library if name.startswith("libcudart")), default="")
    for library, versions in of_library.items():
        names = [name for all_names in versions.values() for name in all_names]
        names += loose if library == runtime else []
        code, script = out / "hollow.c", out / "hollow.map"
        # The registration of kernels is asked for before main, and its answer is kept.
        code.write_text("static long room[64];\n" + "".join(
            f"long {name}(void) {{ return {'(long)room' if name == '__cudaRegisterFatBinary' else '100'}; }}\n"
            for name in names))  # fmt: skip
        script.write_text("".join(f"{version} {{ {' '.join(name + ';' for name in all_names)} }};\n"
                                  for version, all_names in versions.items()))  # fmt: skip
        options = [f"-Wl,--version-script={script}"] if versions else []
        subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", str(code), f"-Wl,-soname,{library}", *options,
                        "-o", str(out / library)], check=True)  # fmt: skip
    print(f"{len(of_library)} libraries")


if __name__ == "__main__":
    main()
