#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/names.md: each public name, and the door of include/zarrpoint that has it.

    names.py XML_FOLDER            writes docs/names.md from what Doxygen wrote
    names.py XML_FOLDER --check    fails when docs/names.md is another, or a public name is undocumented

Public is what stands in namespace zarrpoint, or in one of it, and not in `detail`. A name's door is the
one that includes its header, else the umbrella, else that of its layer, else the one that brings least; rooms of
devices have the door of devices.
"""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "include" / "zarrpoint"
PAGE = ROOT / "docs" / "names.md"
UMBRELLA = "zarrpoint.hpp"
DEVICES = "devices.hpp"  # has the rooms named device, before the doors that build on it
KERNELS = "cuda/kernels.cuh"  # what nvcc compiles has a door of its own
NO_DOORS = {"fwd.hpp", "version.hpp"}
INCLUDE = re.compile(r"^#include <zarrpoint/([^>]+)>", re.MULTILINE)
KINDS = {"class", "struct", "concept", "union"}


def includes():
    """Header -> the own headers that it includes, without its bodies."""
    texts = {path.relative_to(BASE).as_posix(): path.read_text(encoding="utf-8") for path in BASE.rglob("*.hpp")}
    return {name: INCLUDE.findall(text.split("\n#if ZARRPOINT_BODIES\n")[0]) for name, text in texts.items()}


def doors_of_headers():
    """Header -> its door."""
    graph, reached = includes(), {}
    doors = [name for name in graph if "/" not in name and name not in NO_DOORS]
    for door in doors:
        found, left = set(), [door]
        while left:
            if (name := left.pop()) not in found:
                found.add(name)
                left += graph.get(name, [])
        reached[door] = found
    home = {}
    for name in graph:
        layer = name.split("/")[0] + ".hpp"
        first = sorted(doors, key=lambda door: (door != UMBRELLA, door != layer, "/device/" in name and door != DEVICES, len(reached[door]), door))
        home[name] = next((door for door in first if name in reached[door]), None)
    home |= {name.relative_to(BASE).as_posix(): KERNELS for name in BASE.rglob("*.cuh")}
    for door in sorted(doors, key=lambda door: -len(reached[door])):
        if door != UMBRELLA:
            home |= dict.fromkeys((name for name in graph[door] if "/" in name), door)
    return home


def documented(element):
    return any("".join(element.find(tag).itertext()).strip() for tag in ("briefdescription", "detaileddescription")
               if element.find(tag) is not None)  # fmt: skip


def public_names(folder):
    """{(name, header): whether one of its declarations is documented}."""
    names = {}

    def add(element, name):
        location = element.find("location")
        header = location.get("declfile") or location.get("file") if location is not None else ""
        plain = name.removeprefix("zarrpoint::")
        if "/" in header and "detail" not in name.split("::") and "<" not in name and not plain.startswith(("operator", "type_handler::")):
            key = (plain, header)
            names[key] = names.get(key, False) or documented(element)

    for path in sorted(Path(folder).glob("*.xml")):
        if path.name.startswith(("index", "Doxyfile", "dir_")):
            continue
        for compound in ET.parse(path).getroot().findall("compounddef"):
            kind, full = compound.get("kind"), compound.findtext("compoundname")
            if kind == "namespace" and full.split("::")[0] == "zarrpoint":
                for member in compound.iter("memberdef"):
                    add(member, f"{full}::{member.findtext('name')}")
            elif kind in KINDS and full.startswith("zarrpoint::"):
                inner = full.rpartition("::")[0]
                if inner == "zarrpoint" or inner.removeprefix("zarrpoint::") in SPACES:
                    add(compound, full)
    return names


SPACES = {"cuda", "dcp", "delta", "distributed", "dlpack", "eigen", "gguf", "megatron", "numpy", "ocdbt", "onnxruntime", "opencv", "orbax", "safetensors", "torch"}


def page(names, home):
    doors = {}
    for name, header in names:
        doors.setdefault(home[header] or "?", {}).setdefault(name, set()).add(header)
    lines = [
        "# Names",
        "",
        "Every public name, by the door that has it: the header directly in `include/zarrpoint` that programs include. The folders below are the",
        "library's workrooms ([design](design.md#doors-and-rooms)). Made by `tools/docs/names.py`, and compared with the headers by the step `docs`.",
    ]
    for door in sorted(doors, key=lambda door: (door != UMBRELLA, door)):
        lines += ["", f"## {door}", "", "| name | header |", "|---|---|"]
        by_name = doors[door]
        lines += [f"| `{name}` | {', '.join(f'`{h}`' for h in sorted(by_name[name]))} |" for name in sorted(by_name)]
    return "\n".join(lines) + "\n"


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__)
        return 2
    names, home = public_names(arguments[0]), doors_of_headers()
    if not names:
        print(f"{arguments[0]} has no XML of Doxygen that names anything of zarrpoint")
        return 2
    text = page(names, home)
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8", newline="\n")
        return 0
    bare = sorted(f"{header}: {name} is public and has no comment" for (name, header), told in names.items() if not told)
    if PAGE.read_text(encoding="utf-8") != text:
        bare.append("docs/names.md is not what the headers have: run tools/docs/names.py")
    print("\n".join(bare) or f"{len(names)} public names, each behind a door")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
