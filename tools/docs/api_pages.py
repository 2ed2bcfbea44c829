#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the API pages, one for each layer, of the XML that Doxygen wrote.

    api_pages.py XML_FOLDER OUTPUT_FOLDER

Public names with a `///` comment, by header, in the order of the header. `detail`, private members
and undocumented names of a namespace are left out.
"""

import html
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = {
    "checkpoint": "Named leaves, saved and loaded: where most programs need nothing else.",
    "handler": "C++ types: what is stored of them, and where loaded elements go.",
    "array": "One Zarr array: boxes of elements in and out; the context.",
    "store": "Keys to bytes: files, memory, prefixes, and what a store of yours has to do.",
    "codec": "Chains of codecs, and what a codec of yours has to do.",
    "memory": "Tensors, views, memory resources and spaces.",
    "exec": "Executors, progress, stopping, results that are being made.",
    "distributed": "One checkpoint of many processes: sharded tensors, states, saving and loading together.",
    "manager": "The steps of a training run: when to save, what to keep, the newest and the best.",
    "delta": "What differs from another checkpoint: saved, opened, applied.",
    "cuda": "Tensors on CUDA devices: streams, events, spaces, views; kernels.",
    "interop": "Layouts of others: safetensors, Megatron-Core, torch.save; MPI.",
    "zarr": "Metadata of Zarr v2 and v3 as plain structs, and their JSON.",
    "core": "Values without policy: dtypes, shapes, boxes, errors, results.",
}
KINDS = {"class", "struct", "concept", "union"}


def plain(element):
    """The text of an element, its white space made single."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


# ------------------------------------------------------------------------------ descriptions


def inline(element):
    """Markdown of a paragraph. What Doxygen does not know as markup is text."""
    out = [escape(element.text or "")]
    for child in element:
        if child.tag == "computeroutput":
            out.append(f"`{''.join(child.itertext())}`")
        elif child.tag in ("itemizedlist", "orderedlist", "simplesect", "parameterlist"):
            out.append("\n\n" + blocks(child) + "\n\n")
        elif child.tag == "ulink":
            out.append(f"[{plain(child)}]({child.get('url')})")
        elif child.tag in ("verbatim", "preformatted", "programlisting"):
            out.append("\n\n```\n" + "".join(child.itertext()).strip("\n") + "\n```\n\n")
        else:
            out.append(inline(child))
        out.append(escape(child.tail or ""))
    return "".join(out)


def escape(text):
    return re.sub(r"([*<\[\]|])", r"\\\1", text)


def blocks(element):
    """Markdown of a description."""
    out = []
    for child in element:
        if child.tag == "para":
            out.append(inline(child).strip())
        elif child.tag == "listitem":
            out.append("- " + blocks(child).replace("\n\n", " "))
        else:
            out.append(blocks(child))
    return "\n\n".join(text for text in out if text)


def description(definition):
    parts = [definition.find("briefdescription"), definition.find("detaileddescription")]
    brief, details = (blocks(part) if part is not None else "" for part in parts)
    if details.startswith(brief.rstrip(".")):  # the declaration and the definition have a comment
        return details
    return f"{brief} {details}".strip()


# ------------------------------------------------------------------------------ declarations


def template_line(definition):
    params = definition.find("templateparamlist")
    if params is None:
        return ""
    names = []
    for param in params:
        text = f"{plain(param.find('type'))} {plain(param.find('declname'))}".strip()
        default = plain(param.find("defval"))
        names.append(f"{text} = {default}" if default else text)
    if names == ["class = void"]:
        return ""  # only defers the compilation of a function
    clause = plain(definition.find("requiresclause"))
    return f"template <{', '.join(names)}>\n" + (f"requires {clause}\n" if clause else "")


def member_text(member):
    """The declaration of a function, a variable, an alias or an enumeration."""
    kind, name = member.get("kind"), member.findtext("name")
    if kind == "define":
        parameters = [param.findtext("defname") for param in member.findall("param")]
        return f"#define {name}({', '.join(parameters)})"
    kind_of_type = plain(member.find("type"))
    if kind == "enum":
        values = [value.findtext("name") for value in member.findall("enumvalue")]
        return f"enum class {name} {{ {', '.join(values)} }}"
    if kind == "typedef":
        return f"{template_line(member)}using {name} = {kind_of_type}"
    text = f"{kind_of_type} {name}".strip()
    if kind == "function":
        text += member.findtext("argsstring") or ""
        text = re.sub(r"\s*=\s*(default|0)$", r" = \1", text)
    else:
        initial = plain(member.find("initializer"))
        if 0 < len(initial) < 60:
            text += f" {initial}"
    if member.get("static") == "yes" and not text.startswith("static"):
        text = "static " + text
    return template_line(member) + text


def fields_text(compound):
    """The data members of a compound, each below its comment."""
    lines = []
    for member in members_of(compound):
        if member.get("kind") == "variable":
            words = re.sub(r"[`\\]", "", description(member))
            lines += [f"// {line}" for line in textwrap.wrap(words, 80)]
            lines.append(f"{member_text(member)};")
    return "\n".join(lines).removesuffix(";")


def compound_text(compound, name):
    if compound.get("kind") == "concept":
        text = "".join(compound.find("initializer").itertext()).strip()
        return re.sub(r"concept\s+[\w:]+", f"concept {name}", text)
    bases = [plain(base) for base in compound.findall("basecompoundref")
             if base.get("prot") == "public"]  # fmt: skip
    ending = f" : {', '.join(bases)}" if bases else ""
    return f"{template_line(compound)}{compound.get('kind')} {name}{ending}"


def tidy(text):
    text = re.sub(r"\bzarrpoint::(?!detail)", "", text)
    if not text.startswith("#define"):
        text = re.sub(r"ZARRPOINT_\w+\s*", "", text)
    if "concept " not in text:  # which stands as in the source; Doxygen writes "span< T >"
        text = re.sub(r"(?<=\w)<\s+", "<", re.sub(r"\s+>", ">", text))
    return re.sub(r" ([&*]+)(?=\w)", r"\1 ", text)


def formatted(texts):
    """The declarations as clang-format writes them, all at once since each start takes its time."""
    joined = "".join(f"//@\n{tidy(text)}{'' if text.startswith('#') else ';'}\n" for text in texts)
    style = "{BasedOnStyle: Google, ColumnLimit: 84, SortIncludes: Never}"
    done = subprocess.run(["clang-format-14", f"--style={style}", "--assume-filename=x.hpp"],
                          input=joined, capture_output=True, text=True, check=True)  # fmt: skip
    return [part.strip() for part in done.stdout.split("//@\n")[1:]]


# ------------------------------------------------------------------------------------ pages


class page_of_layer:
    def __init__(self):
        self.headers = {}  # header -> [(line, title, [(declaration, description)])]

    def add(self, definition, title, entries):
        location = definition.find("location")
        self.headers.setdefault(location.get("file"), []).append(
            (int(location.get("line")), title, entries)
        )


def is_hidden(definition, name):
    location = definition.find("location")
    return (
        "detail" in name.split("::")
        or location is None
        or "/" not in location.get("file")
        or not description(definition)
    )


def members_of(compound):
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            name = member.findtext("name")
            if member.get("prot") != "public" or member.get("kind") == "friend":
                continue
            if name.startswith(("~", "operator=")) or "=delete" in member.findtext("argsstring", ""):
                continue
            yield member


def read(folder):
    pages = {layer: page_of_layer() for layer in LAYERS}
    private = set()
    compounds = []
    for path in sorted(Path(folder).glob("*.xml")):
        if path.name.startswith(("index", "Doxyfile", "dir_")):
            continue
        for compound in ET.parse(path).getroot().findall("compounddef"):
            compounds.append(compound)
            private |= {inner.get("refid") for inner in compound.findall("innerclass")
                        if inner.get("prot") != "public"}  # fmt: skip
    for compound in compounds:
        kind, full = compound.get("kind"), compound.findtext("compoundname")
        if kind in ("namespace", "file"):
            kinds = "[@kind='define']" if kind == "file" else ""  # a file's own are its macros
            for section in compound.findall("sectiondef" + kinds):
                for member in section.findall("memberdef"):
                    if not is_hidden(member, full):
                        add_member(pages, member, full if kind == "namespace" else "")
        elif kind in KINDS and compound.get("id") not in private:
            name = re.sub(r"\s*([<>])\s*", r"\1", full.removeprefix("zarrpoint::"))
            if full.startswith("zarrpoint::") and not is_hidden(compound, full):
                entries = [(compound_text(compound, name), description(compound))]
                entries += [(member_text(m), description(m)) for m in members_of(compound)
                            if m.get("kind") != "variable"]  # fmt: skip
                if fields := fields_text(compound):
                    entries.insert(1, (fields, ""))
                layer = compound.find("location").get("file").split("/")[0]
                pages[layer].add(compound, name, entries)
    return pages


def add_member(pages, member, namespace):
    layer = member.find("location").get("file").split("/")[0]
    prefix = namespace.removeprefix("zarrpoint").removeprefix("::")
    title = f"{prefix}::{member.findtext('name')}" if prefix else member.findtext("name")
    entries = [(member_text(member), description(member))]
    if member.get("kind") == "enum":
        for value in member.findall("enumvalue"):
            if text := description(value):
                entries[0] = (entries[0][0], f"{entries[0][1]}\n\n- `{value.findtext('name')}`: {text}")
    pages[layer].add(member, title, entries)


def write(pages, output):
    output.mkdir(parents=True, exist_ok=True)
    lines = ["# API", "", "Namespace `zarrpoint`. `#include <zarrpoint/zarrpoint.hpp>` has all of it but "
             "what has a [door of its own](../names.md). The headers of each layer:", ""]  # fmt: skip
    count = 0
    for layer, page in pages.items():
        assert page.headers, f"no public name in {layer}: did Doxygen understand it?"
        lines.append(f"- [{layer}]({layer}.md): {LAYERS[layer]}")
        text = [f"# {layer}", "", LAYERS[layer]]
        for header in sorted(page.headers):
            text += ["", f"## {header}", ""]
            text.append(f"[`#include <zarrpoint/{header}>`](../source/include/zarrpoint/{header}.md)")
            last = None
            for _, title, entries in sorted(page.headers[header], key=lambda item: item[:2]):
                if title != last:  # overloads share one heading
                    text += ["", f"### {html.escape(title)}"]
                last = title
                count += 1
                for declaration, words in entries:
                    text += ["", "```cpp", declaration, "```", "", words]
        (output / f"{layer}.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    (output / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return count


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    pages = read(arguments[0])
    flat = [entry for page in pages.values() for found in page.headers.values() for entry in found]
    texts = iter(formatted([text for _, _, entries in flat for text, _ in entries]))
    for _, _, entries in flat:
        entries[:] = [(next(texts), words) for _, words in entries]
    print(f"{write(pages, Path(arguments[1]))} public names")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
