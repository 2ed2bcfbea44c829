#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/cli.md of what the command does not support, from what it says.

    unsupported.py COMMAND            writes the tables, with the Python that has the interop packages
    unsupported.py COMMAND --check    fails when the page has others

The first table has a row for each of CASES; each refusal in tools/cli must be in one. The second one is `refused_codecs`
of include/zarrpoint/codec/base/known_codecs.hpp.
"""

import gzip
import io
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import zarr
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/cli.md"
SOURCES = ROOT / "tools/cli"
CODECS = ROOT / "include/zarrpoint/codec/base/known_codecs.hpp"
BEGIN, END = "<!-- tests/cli/unsupported.py begins -->\n", "<!-- tests/cli/unsupported.py ends -->"
LITERAL = r'"((?:[^"\\]|\\.)*)"'
# Of a class that is only read, where no command comes; and what is said of places on servers alone.
INTERNAL = ("an array in a file", ": it cannot be listed there")


def safetensors_of(tensors):
    """A file of tensors, each its dtype, its shape and its bytes."""
    header, data = {}, b""
    for name, (dtype, shape, held) in tensors.items():
        offsets = [len(data), len(data) + len(held)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += held
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def raw_npy(version, header):
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(2, "little") + text


def zipped(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def file(content):
    return lambda path: path.write_bytes(content)


def folder_with(name):
    def make(path):
        path.mkdir()
        (path / name).write_bytes(b"")

    return make


def folder_of(files):
    def make(path):
        for name, content in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)

    return make


def tensors(**arrays):
    return lambda path: save_file(arrays, path)


def texts(dtype, value):
    def make(path):
        warnings.simplefilter("ignore")  # of zarr-python: this dtype has no specification
        group = zarr.create_group(str(path))
        group.create_array("x", shape=(1,), dtype=dtype)[:] = np.array([value], dtype=object)

    return make


def run_of_zarr(path):
    """The root of a run of Megatron-Core, of which one iteration is there."""
    shutil.copytree(ROOT / "tests/golden/megatron/zarr-tp2-dp2-4ranks", path / "iter_0000007")


def hidden(path):
    """A checkpoint of torch_dist that somebody made a Zarr group of."""
    shutil.copytree(ROOT / "tests/golden/dcp/torch_dist-tp2-pp1-2ranks", path)
    (path / ".zgroup").write_text('{"zarr_format": 2}')


def index_of_parts(path):
    """An index of a name that the library does not know, of files of torch.distributed.checkpoint."""
    save_file({"x": np.zeros(2)}, path.with_name("part.safetensors"), metadata={"DCP_SHARDING_INFO": "{}"})
    path.write_text('{"weight_map": {"x": "part.safetensors"}}')


def starred(path):
    save_file({"a*": np.zeros(2)}, path)


ONE = {"x.npy": npy(np.zeros(2))}
CASES = [  # what, how a file is made, the command; FILE and OUT are its names
    ("other directories of checkpoints", folder_with("metadata.json"), "inspect FILE"),
    ("N5", folder_of({"attributes.json": b'{"n5":"2.0.0"}'}), "inspect FILE"),
    ("checkpoints of DeepSpeed, as a whole", folder_of({"global_step7/mp_rank_00_model_states.pt": b""}), "inspect FILE"),
    ("old checkpoints of Megatron-LM, as a whole", folder_of({"mp_rank_00/model_optim_rng.pt": b""}), "inspect FILE"),
    ("HDF5", file(b"\x89HDF\r\n\x1a\n"), "inspect FILE"),
    ("GGUF files of version 1", file(b"GGUF\x01\0\0\0" + bytes(16)), "inspect FILE"),
    ("pickles", file(pickle.dumps({"x": 1}, 2)), "inspect FILE"),
    ("files of `torch.save`, compressed", file(zipped({"a/data.pkl": b"x" * 99}, zipfile.ZIP_DEFLATED)), "inspect FILE"),
    ("files of `torch.save` of before PyTorch 0.2", file(b"sys_info".ljust(257, b"\0") + b"ustar\x0000"), "inspect FILE"),
    ("tar archives", file(b"a".ljust(257, b"\0") + b"ustar\x0000"), "inspect FILE"),
    ("gzip files", file(gzip.compress(b"x")), "inspect FILE"),
    ("zip files with Zarr below their root", file(zipped({"a/b/zarr.json": b"{}"})), "inspect FILE"),
    ("other zip files", file(zipped({"a": b""})), "inspect FILE"),
    ("members of npz files with another compression", file(zipped(ONE, zipfile.ZIP_BZIP2)), "cat FILE x"),
    ("members of npz files that are not npy", file(zipped({**ONE, "y.txt": b"y"})), "cat FILE y.txt"),
    ("npy files of structures", file(npy(np.zeros(2, [("x", "i4")]))), "inspect FILE"),
    ("npy files of objects, float128", file(npy(np.array([None]))), "inspect FILE"),
    ("npy files of more dimensions than zarrpoint has",
     file(raw_npy([1, 0], "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 40 + "), }")), "inspect FILE"),
    ("npy files of later formats", file(raw_npy([9, 0], "")), "inspect FILE"),
    ("indexes of files that have parts of tensors, under other names", index_of_parts, "inspect FILE"),
    ("safetensors of a dtype that the format has since got", file(safetensors_of({"x": ("F9", [2], b"123")})), "cat FILE x"),
    ("other files", file(b"something else"), "inspect FILE"),
    ("pipes, devices", lambda path: os.mkfifo(path), "inspect FILE"),
    ("arrays of very many dimensions, shown", tensors(x=np.zeros((2,) * 20, "int8")), "cat FILE"),
    ("negative steps", tensors(x=np.zeros(2)), "cat FILE --slice ::-1"),
    ("casts that there are not", texts(str, "a"), "convert FILE OUT --to zarr3 --dtype **=float32"),
    ("options for an array with `*` in its name", starred, "convert FILE OUT --to zarr3 --dtype **=float32"),
    ("to torch_dist: dtypes that PyTorch does not have", texts("datetime64[s]", np.datetime64(1, "s")), "convert FILE OUT --to torch_dist"),
    ("to torch_dist: the root of a run in `zarr`", run_of_zarr, "convert FILE OUT --to torch_dist"),
    ("to torch_dist: a checkpoint of Megatron-Core's in a Zarr group", hidden, "convert FILE OUT --to torch_dist"),
    ("to npz: dtypes that NumPy does not have", tensors(x=np.zeros(2, ml_dtypes.bfloat16)), "convert FILE OUT --to npz"),
    ("to npz: strings that end in a zero", texts(str, "a\0"), "convert FILE OUT --to npz"),
    ("to npz: bytes that end in a zero", texts("variable_length_bytes", b"a\0"), "convert FILE OUT --to npz"),
]  # fmt: skip


def said(command, make, words):
    """What the command says of the file, without its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        make(path)
        arguments = [{"FILE": str(path), "OUT": f"{path}.out"}.get(word, word) for word in words.split()]
        done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=60, check=False)
        text = done.stderr.strip().removeprefix("zarrpoint: ").removeprefix("unsupported: ")
        text = text.replace(f"open the GGUF file {path}: ", "").replace(f"open {path}: ", "").replace(f"{path}: ", "").replace(str(path), "a").replace(f"{folder}/", "").replace("unsupported: ", "")
        if done.returncode != 2 or "\n" in text or "unsupported: " not in done.stderr:
            raise SystemExit(f"{words}: exit status {done.returncode}: {done.stderr}{done.stdout}")
        return text


def refusals():
    """(file, the longest literal) of each place of the command that says `unsupported`."""
    for path in sorted(SOURCES.glob("*.[ch]pp")):
        text = path.read_text(encoding="utf-8")
        rest = r'((?:[^;"]|"(?:[^"\\]|\\.)*")*);'  # of the statement, whose texts may hold a semicolon
        for place in re.finditer(rf"(?:errc::unsupported,|return unsupported\(path,){rest}", text):
            pieces = re.findall(LITERAL, place[1])
            pieces = [piece.encode().decode("unicode_escape") for piece in pieces]
            if pieces and "std::string(what)" not in place[0]:
                yield path.name, max(pieces, key=len)


def codecs():
    """(name, reason) of each codec that the library refuses."""
    table = CODECS.read_text(encoding="utf-8").split("refused_codecs[] = {")[1].split("\n};")[0]
    for entry in re.finditer(rf"\{{{LITERAL},((?:\s*{LITERAL})+)\}}", table):
        yield entry[1], "".join(re.findall(LITERAL, entry[2]))


def tables(command):
    messages = [(what, said(command, make, words)) for what, make, words in CASES]
    told = "\n".join(message for _, message in messages)
    missing = [f"{name}: {piece}" for name, piece in refusals() if piece.strip() not in told and not piece.startswith(INTERNAL)]
    if missing:
        raise SystemExit("no case of unsupported.py makes the command say\n" + "\n".join(missing))
    cell = lambda text: f"`{text}`".replace("|", "\\|")
    lines = ["| not supported | it says |", "|---|---|"]
    lines += [f"| {what} | {cell(message)} |" for what, message in messages]
    lines += ["", "Arrays whose codecs are not in this build are listed, and their values are not read. These codecs are in no build:", ""]
    lines += ["| codec | why |", "|---|---|"]
    starts = {True: ", and all that begin so", False: ""}
    lines += [f"| `{name}`{starts[name[-1] in '._:']} | {reason} |" for name, reason in codecs()]
    return "\n".join(lines) + "\n"


def wrong(command):
    """Whether the page has other tables."""
    return BEGIN + tables(command) + END not in PAGE.read_text(encoding="utf-8")


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    command = str(Path(arguments[0]).resolve())
    if arguments[1:]:
        if wrong(command):
            print("docs/cli.md has other tables of what is not supported: run tests/cli/unsupported.py")
            return 1
        return 0
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + tables(command) + END + rest.partition(END)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
