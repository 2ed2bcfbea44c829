#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the library as one file, zarrpoint.hpp; the same bytes from the same headers.

    single_header.py FOLDER [FORWARDING_FOLDER]

FOLDER gets zarrpoint.hpp, which holds all that needs nothing but zstd, and beside
it one file for each door that the umbrella leaves out since it needs more or is rarely wanted
(zarrpoint_gzip.hpp, zarrpoint_safetensors.hpp ...); each includes zarrpoint.hpp.

In each file the declarations come first, then, where ZARRPOINT_BODIES says so, the bodies.

FORWARDING_FOLDER gets a header of each name <zarrpoint/...> that includes the file in which it now
stands, so that the tests can be compiled against the files in FOLDER.
"""

import re
import sys
from pathlib import Path

BASE = Path(__file__).resolve().parents[1] / "include" / "zarrpoint"
UMBRELLA = "zarrpoint.hpp"
LAYERS = ("core", "memory", "exec", "codec", "store", "zarr", "array", "handler", "checkpoint")
OPTIONAL_LAYERS = ("distributed.hpp", "cuda.hpp")
LICENCE = (
    "// SPDX-FileCopyrightText: 2026 The zarrpoint authors\n"
    "// SPDX-License-Identifier: Apache-2.0\n"
)

BODIES = re.compile(r"(.*[/_])?bodies\.hpp")
BODIES_OF = re.compile(r"^// -{8,} (\S+\.hpp)$", re.MULTILINE)  # whose bodies follow
OWN = re.compile(r"#include <zarrpoint/([^>]+)>")
FOREIGN = re.compile(r"#include <([^>]+)>")
ANY_FOREIGN = re.compile(r"^\s*#\s*include\s*<(?!zarrpoint/)([^>]+)>", re.MULTILINE)
STANDARD = re.compile(r"[a-z0-9_]+")


class Header:
    """A header taken apart: what it includes, and the text that remains."""

    def __init__(self, name):
        text = (BASE / name).read_text(encoding="utf-8")
        self.needs = set(ANY_FOREIGN.findall(text))
        self.own, self.foreign, body = [], [], []
        text, *rest = text.split("\n#if ZARRPOINT_BODIES\n")
        self.behind = OWN.findall("".join(rest))  # what stands behind its code
        room = name.rpartition("/")[0]
        self.bodies_of = [to if "/" in to else f"{room}/{to}" for to in BODIES_OF.findall(text)]
        at_top, depth = True, 0
        for line in text.split("\n"):
            depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))
            at_top = at_top and not re.match(r"\s*[^#/\s]", line)
            if at_top and not depth and OWN.match(line):
                self.own.append(OWN.match(line)[1])
            elif at_top and not depth and FOREIGN.match(line):
                self.foreign.append(FOREIGN.match(line)[1])
            elif line != "#pragma once" and not line.startswith("// SPDX-"):
                body.append(line)  # an include under a condition stays where it is
        self.body = re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip("\n")
        if re.search(r"^\s*#\s*include\s*<zarrpoint/", self.body, re.MULTILINE):
            raise SystemExit(f"{name}: own headers are included before all code, unconditionally")


def in_order(headers, roots, seen):
    """The headers that `roots` include, as the preprocessor first meets the end of each."""
    found = []
    for name in roots:
        if name not in seen:
            seen.add(name)
            found += [*in_order(headers, headers[name].own, seen), name]
    return found


def is_bodies(name):
    return BODIES.fullmatch(name) is not None


def with_bodies(headers, roots, seen):
    """The headers that `roots` and the bodies of all these include, and those bodies."""
    home = {to: name for name in headers if is_bodies(name) for to in headers[name].bodies_of}
    names, bodies = in_order(headers, roots, seen), []
    for name in names:  # which grows
        # Behind a header stand templates for devices, which are declarations enough.
        names += in_order(headers, [to for to in headers[name].behind if not is_bodies(to)], seen)
        if name in home and home[name] not in seen:
            seen.add(home[name])
            bodies.append(home[name])
            names += in_order(headers, headers[home[name]].own, seen)
    return names, bodies


def all_needs(headers, names):
    return {need for name in names for need in headers[name].needs}


def optional_layers(headers):
    return [whole for whole in OPTIONAL_LAYERS if whole in headers]


def bundle(headers):
    """A part of an opt-in layer brings all of it: one file a layer."""
    for whole in optional_layers(headers):
        folder = whole.removesuffix(".hpp") + "/"
        beside = [to for to in headers[whole].own if not to.startswith(folder)]
        for name, header in headers.items():
            if not name.startswith(folder):
                own = [whole if to.startswith(folder) else to for to in header.own]
                header.own = list(dict.fromkeys(own))
        parts = [name for name in headers if name.startswith(folder) and not is_bodies(name)]
        headers[whole].own = beside + sorted(parts)


def optional_files(headers, included):
    """[(file name, its root)], for the doors outside of zarrpoint.hpp: those that bring least stand
    first, and one that brings another's headers includes its file."""
    doors = [name for name in headers if "/" not in name and name not in included]
    size = {door: len(sum(with_bodies(headers, [door], set(included)), [])) for door in doors}
    return [(f"zarrpoint_{Path(door).stem}.hpp", door) for door in sorted(doors, key=lambda d: (size[d], d))]


def banners(headers, names):
    return [f"// {'-' * (92 - len(name) - len('zarrpoint/'))} zarrpoint/{name}\n\n{headers[name].body}"
            for name in names if headers[name].body]  # fmt: skip


def file_text(headers, names, bodies, file, before):
    """One file with the headers `names`, and `bodies`; `before` are its includes of other files."""
    numbers = re.findall(r"#define ZARRPOINT_VERSION_\w+ (\d+)", (BASE / "version.hpp").read_text())
    guard = "ZARRPOINT_SINGLE_" + Path(file).stem.upper() + "_HPP"
    foreign = sorted({name for header in names for name in headers[header].foreign})
    parts = [
        f"{LICENCE}\n// {file} of zarrpoint {'.'.join(numbers)}, made by tools/single_header.py.",
        "// Guarded by name: a program may hold two copies of this file.\n"
        f"#ifndef {guard}\n#define {guard}",
        "\n".join([f'#include "{name}"' for name in before] + [f"#include <{n}>" for n in foreign]),
    ]
    parts += banners(headers, names)
    if bodies:
        more = {name for header in bodies for name in headers[header].foreign} - set(foreign)
        parts += ["#if ZARRPOINT_BODIES", *["\n".join(f"#include <{n}>" for n in sorted(more))] * bool(more)]
        parts += [*banners(headers, bodies), "#endif  // ZARRPOINT_BODIES"]
    return "\n\n".join([*parts, f"#endif  // {guard}\n"])


def all_headers():
    """{name: header}."""
    names = sorted(path.relative_to(BASE).as_posix() for path in BASE.rglob("*.hpp"))
    return {name: Header(name) for name in names}


def single_files():
    """File name -> (its text, the headers that stand in it)."""
    headers = all_headers()
    bundle(headers)
    names, bodies = with_bodies(headers, [UMBRELLA], set())
    # What a layer has beside the umbrella belongs to it, unless it needs another library, itself or
    # through what it includes; and so does a door to nothing else.
    known = all_needs(headers, [*names, *bodies])
    beside = []
    for name in headers:
        if is_bodies(name) or not ("/" not in name or name.split("/")[0] in LAYERS):
            continue
        brings = sum(with_bodies(headers, [name], set()), [])
        needs = all_needs(headers, brings)
        own = all(to.split("/")[0] in LAYERS or "/" not in to for to in brings) and name not in OPTIONAL_LAYERS
        if own and all(need in known or STANDARD.fullmatch(need) for need in needs):
            beside.append(name)
    names, bodies = with_bodies(headers, [UMBRELLA, *beside], set())
    included = {*names, *bodies}
    files = {UMBRELLA: (file_text(headers, names, bodies, UMBRELLA, []), [*names, *bodies])}

    home = {}  # header -> the file beside zarrpoint.hpp in which it stands
    for file, root in optional_files(headers, included):
        names, bodies = with_bodies(headers, [root], included | set(home))
        before = {home[to] for name in [*names, *bodies] for to in headers[name].own if to in home}
        text = file_text(headers, names, bodies, file, [UMBRELLA, *sorted(before)])
        files[file] = (text, [*names, *bodies])
        home |= dict.fromkeys([*names, *bodies], file)
    return files


def write(path, text):
    """Leaves a file alone that is as it should be, so that nothing is compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__)
        return 2
    folder = Path(arguments[0]).resolve()
    for file, (text, names) in single_files().items():
        write(folder / file, text)
        for name in names if len(arguments) == 2 else []:
            write(Path(arguments[1], "zarrpoint", name), f'#include "{folder / file}"\n')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
