#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the house in order: reads every header and fails on a breach of the layers.

Checks: each header includes only what stands below it; no cycles of headers, nor of rooms (the
folders of a layer), which docs/design.md names and which stay small; what stands directly in
include/zarrpoint is a door, includes only, and each header is behind one; each third-party header
in its one file; no heavy standard headers in core; no macro outside the list; header length;
`#pragma once`, the namespace and the licence lines. Long headers and rooms of many get a warning. A file of bodies
says whose they are, stands in one unit of compiled/, and comes with each door that needs it.

    check_layers.py [repository root]     prints one line per breach; exit status 1 if there is one
    check_layers.py --self-test           shows that each rule catches its breach
"""

import re
import sys
import tempfile
from pathlib import Path

# Layer -> the layers that its headers may include, beside their own. Top-level headers follow.
LAYERS = {
    "core": set(),
    "memory": {"core"},
    "exec": {"core"},
    "codec": {"core", "memory"},
    "store": {"core", "exec"},
    "zarr": {"core", "codec"},
    "handler": {"core", "memory"},
    "array": {"core", "memory", "exec", "codec", "store", "zarr", "handler"},
    "checkpoint": {"core", "memory", "exec", "codec", "store", "zarr", "array", "handler"},
}
LAYERS["delta"] = set(LAYERS)
LAYERS["distributed"] = set(LAYERS) - {"delta"}
LAYERS["cuda"] = {"core", "memory", "exec", "codec", "handler"}
LAYERS["interop"] = set(LAYERS) | {"zarrpoint.hpp", "cuda"}
LAYERS["manager"] = set(LAYERS) - {"cuda", "interop"}
UMBRELLA = "zarrpoint.hpp"  # of the layers up to checkpoint; every other door may include any layer
EVERYWHERE = {"fwd.hpp", "version.hpp"}
BODIES = re.compile(r"(.*[/_])?bodies\.hpp")
BODIES_OF = re.compile(r"^// -{8,} (\S+\.hpp)$", re.MULTILINE)
KERNELS = "cuda/kernels.cuh"  # nvcc's door
ROOM_SIZE = 15  # headers, above which a warning asks; one with its bodies, or with its kernel, is one

# Third-party and system headers -> the files (or folders) that may include them.
CONFINED = [
    (r"nlohmann/.*", {"interop/nlohmann.hpp"}),
    (r"zstd.*\.h", {"codec/bytes_to_bytes/", "interop/dcp/", "interop/ocdbt/"}),
    (r"zlib\.h", {"codec/bytes_to_bytes/gzip.hpp", "store/zip_inflate.hpp"}),
    (r"bzlib\.h", {"codec/bytes_to_bytes/bz2.hpp"}),
    (r"zfp\.h", {"codec/zfp/"}),
    (r"lzma\.h", {"codec/bytes_to_bytes/lzma.hpp", "codec/kit/lzma_filters.hpp"}),
    (r"(cpuid|[a-z]*intrin|arm_[a-z]+)\.h", {"codec/", "core/", "memory/"}),
    (r"sys/mman\.h", {"memory/bodies.hpp", "store/"}),
    (r"(sched|unistd)\.h", {"exec/bodies.hpp", "store/", "cuda/runtime/numa.hpp"}),  # how many processors may run us
    (r"sys/syscall\.h", {"store/", "cuda/runtime/numa.hpp"}),
    (r"(sys|linux)/.*|(dirent|errno|fcntl|pthread)\.h", {"store/"}),
    (r"curl/.*", {"store/remote/curl_transport.hpp"}),
    (r"openssl/.*", {"interop/gcs/openssl_rs256.hpp"}),
    (r"dlfcn\.h", {"cuda/runtime/current_device.hpp", "interop/cufile.hpp"}),
    (r"cuda.*\.h", {"cuda/"}),
    (r"mpi\.h", {"interop/mpi.hpp"}),
    (r"nvtx3/.*", {"interop/nvtx.hpp"}),
    (r"(ATen|c10|torch)/.*", {"interop/tensors/libtorch.hpp"}),
    (r"(.*/)?onnxruntime_.*", {"interop/tensors/onnxruntime.hpp"}),
]
STANDARD = re.compile(r"[a-z0-9_]+")  # a header of the standard library has no extension
HEAVY_IN_CORE = {"iostream", "regex", "filesystem", "functional", "complex", "memory"}
HEAVY_EXCEPTIONS = {
    ("core/types/complex.hpp", "complex"),
    ("core/types/float_types.hpp", "functional"),
    ("core/make_owner.hpp", "memory"),  # of which it is
}

MACROS = {
    "ZARRPOINT_" + name
    for name in (
        "VERSION_MAJOR VERSION_MINOR VERSION_PATCH EXCEPTIONS LINUX BODIES INLINE NO_KEY COMPILED_ONCE ASSERT TRY CHECK"
    ).split()
}
# Switches of third-party headers, defined and undefined around the include.
FOREIGN_MACROS = {
    ("codec/bytes_to_bytes/zstd_bodies.hpp", "ZSTD_STATIC_LINKING_ONLY"),
    ("interop/mpi.hpp", "OMPI_SKIP_MPICXX"),
}
WARN_LINES, MAX_LINES, MAX_BODIES = 400, 600, 1600

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SPDX = ("SPDX-FileCopyrightText: ", "SPDX-License-Identifier: ")
SOURCE_FOLDERS = ("include", "tests", "examples", "bench", "tools")
SOURCE_SUFFIXES = {".hpp", ".cpp", ".cuh", ".cu", ".py", ".sh", ".cmake"}


def check(root):
    """Returns (errors, warnings), each a sorted list of lines."""
    base = root / "include" / "zarrpoint"
    errors, warnings, graph = [], [], {}
    errors += bodies_errors(base)
    for path in sorted(base.rglob("*")):
        if path.suffix == ".cpp" and path.parent == base / "compiled":
            continue
        if path.suffix not in (".hpp", ".cuh"):
            if path.is_file():
                errors.append(f"{path.relative_to(root)}: not a header")
            continue
        name = path.relative_to(base).as_posix()
        text = path.read_text(encoding="utf-8")
        say = lambda message, name=name: errors.append(f"include/zarrpoint/{name}: {message}")
        graph[name] = check_header(name, text, say)
        lines = text.count("\n")
        limit = MAX_BODIES if is_bodies(name) else MAX_LINES
        if lines > limit:
            say(f"{lines} lines, more than {limit}: split it by idea")
        elif lines > WARN_LINES and not is_bodies(name):
            warnings.append(f"include/zarrpoint/{name}: {lines} lines: is it two ideas?")
    errors += [f"include cycle: {' -> '.join(cycle)}" for cycle in cycles(graph)]
    errors += room_errors(root, graph) + door_errors(base, graph)
    warnings += [f"include/zarrpoint/{room}: {count} headers: is it a room of two ideas?"
                 for room, count in headers_of_rooms(graph).items() if count > ROOM_SIZE]  # fmt: skip
    errors += licence_errors(root)
    return sorted(errors), sorted(warnings)


def room_of(name):
    """The folder in which a header stands."""
    return name.rpartition("/")[0]


def is_bodies(name):
    return BODIES.fullmatch(name) is not None


def headers_of_rooms(graph):
    """{room: how many headers it has}; bodies and kernels count with theirs."""
    stems = {}
    for name in graph:
        if not is_bodies(name) and room_of(name):
            stems.setdefault(room_of(name), set()).add(Path(name).stem)
    return {room: len(found) for room, found in stems.items()}


def room_errors(root, graph):
    """Rooms are known to docs/design.md, and include each other one way only."""
    known, rooms = headers_of_rooms(graph), {}
    for name, own in graph.items():
        if room := room_of(name):
            rooms.setdefault(room, set()).update(room_of(to) for to in own if room_of(to) not in ("", room))
    errors = [f"rooms include each other: {' -> '.join(cycle)}" for cycle in cycles(rooms)]
    design = root / "docs" / "design.md"
    told = set(re.findall(r"^\| `([a-z_/0-9]+)/` \|", design.read_text(encoding="utf-8"), re.MULTILINE))
    errors += [f"docs/design.md: no row for the room {room}/" for room in sorted(set(known) - told)]
    return errors + [f"docs/design.md: there is no room {room}/" for room in sorted(told - set(known))]


def door_errors(base, graph):
    """Each header is reached from a door, with the bodies of what it includes, or by a kernel."""
    reached, left = set(), [name for name in graph if "/" not in name or name.endswith(".cuh")]
    while left:
        if (name := left.pop()) not in reached:
            reached.add(name)
            text = (base / name).read_text(encoding="utf-8")
            left += [to for _, own in INCLUDE.findall(text) if (to := own.removeprefix("zarrpoint/")) in graph]
    return [f"include/zarrpoint/{name}: behind no door of include/zarrpoint" for name in sorted(set(graph) - reached)]


def bodies_errors(base):
    """A file of bodies names their headers, each in a line of dashes, stands in one unit of compiled/, and
    is included behind ZARRPOINT_BODIES by doors and other bodies. Each door brings all that it needs."""
    texts = {p.relative_to(base).as_posix(): p.read_text(encoding="utf-8") for p in base.rglob("*.[hc]*")}
    graph = {name: [to.removeprefix("zarrpoint/") for _, to in INCLUDE.findall(COMMENT.sub("", text))] for name, text in texts.items()}
    errors, holds = [], {}
    for file in filter(is_bodies, texts):
        of = [name if "/" in name else f"{room_of(file)}/{name}" for name in BODIES_OF.findall(texts[file])]
        if not of:
            errors.append(f"include/zarrpoint/{file}: does not say whose bodies these are")
        for header in of:
            if header not in graph[file]:
                errors.append(f"include/zarrpoint/{file}: has bodies of {header}, which it does not include")
            if holds.setdefault(header, file) != file:
                errors.append(f"include/zarrpoint/{file}: bodies of {header} stand in {holds[header]}, too")
        units = [name for name, own in graph.items() if name.endswith(".cpp") and file in own]
        if len(units) != 1:
            errors.append(f"include/zarrpoint/{file}: stands in {units or 'no unit'}, not in one")
    for name, text in texts.items():
        code, is_door = COMMENT.sub("", text), "/" not in name or name == KERNELS
        where = code.rfind("#if ZARRPOINT_BODIES")
        if where >= 0 and not 0 <= code.find("<zarrpoint/core/config.hpp>") < where:
            errors.append(f"include/zarrpoint/{name}: ZARRPOINT_BODIES without core/config.hpp")
        for to in [] if name.endswith(".cpp") else filter(is_bodies, graph[name]):
            if not (is_door or is_bodies(name)) or not 0 <= where < code.find(f"<zarrpoint/{to}>"):
                errors.append(f"include/zarrpoint/{name}: includes {to}; doors and bodies do so, at their end")
        if is_door:
            reached = reached_from(graph, [name])
            lacks = {holds[to] for to in reached if to in holds} - reached
            errors += [f"include/zarrpoint/{name}: does not bring {file}" for file in sorted(lacks)]
    return errors


def reached_from(graph, names):
    """All that these headers include, and themselves."""
    found, left = set(), list(names)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += graph.get(name, [])
    return found


def check_header(name, text, say):
    """Reports the breaches inside one header; returns its own includes."""
    code = COMMENT.sub("", text)
    layer = name.split("/")[0] if "/" in name else ""
    if layer and layer not in LAYERS:
        say(f"'{layer}' is not a layer")
        return []
    if "#pragma once" not in code:
        say("no #pragma once")
    own = []
    for bracket, target in INCLUDE.findall(code):
        if bracket == '"':
            say(f'includes "{target}": own headers are <zarrpoint/...>')
        elif target.startswith("zarrpoint/"):
            own.append(target[len("zarrpoint/") :])
            check_own_include(name, layer, own[-1], say)
        else:
            check_foreign_include(name, layer, target, say)
    for macro in DEFINE.findall(code):
        if macro not in MACROS and (name, macro) not in FOREIGN_MACROS:
            say(f"defines {macro}: not one of the library's macros")
    rest = re.sub(r"^\s*#.*$", "", code, flags=re.MULTILINE).strip()
    if not layer and name not in EVERYWHERE and rest:
        say("a door contains includes only")
    # Includes at the very end bring the definitions of what stands above them: not a cycle.
    end = code.rfind("}")
    own = [target for target in own if end < 0 or code.find(f"<zarrpoint/{target}>") < end]
    if rest and "namespace zarrpoint { inline namespace v0 {" not in rest:
        say("declares something outside `namespace zarrpoint { inline namespace v0 {`")
    return own


def check_own_include(name, layer, target, say):
    target_layer = target.split("/")[0]
    if target in EVERYWHERE or (layer and target_layer == layer):
        return
    if name == UMBRELLA:
        allowed = LAYERS["checkpoint"] | {"checkpoint"}
    elif not layer:
        allowed = {"core"} if name in EVERYWHERE else set(LAYERS) | {"devices.hpp"}
    else:
        allowed = LAYERS[layer]
    if target_layer not in allowed:
        say(f"includes <zarrpoint/{target}>, which does not stand below it")


def check_foreign_include(name, layer, target, say):
    if STANDARD.fullmatch(target):
        if layer == "core" and target in HEAVY_IN_CORE and (name, target) not in HEAVY_EXCEPTIONS:
            say(f"includes <{target}>, too heavy for core")
        return
    for pattern, places in CONFINED:
        if re.fullmatch(pattern, target):
            if not any(name == p or (p.endswith("/") and name.startswith(p)) for p in places):
                say(f"includes <{target}>, which is confined to {', '.join(sorted(places))}")
            return
    if layer == "interop":
        return  # each interop header may include the one foreign header that it is about
    say(f"includes <{target}>, which no file of the library may")


def cycles(graph):
    """The include cycles, each once, as lists that end where they begin."""
    found, done, stack = [], set(), []

    def visit(name):
        if name in stack:
            found.append(stack[stack.index(name) :] + [name])
        elif name not in done:
            stack.append(name)
            for target in graph.get(name, []):
                visit(target)
            stack.pop()
            done.add(name)

    for name in sorted(graph):
        visit(name)
    return found


def licence_errors(root):
    errors = []
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if not path.is_file() or "/golden/" in name or "/data/" in name:
                continue
            if path.suffix in SOURCE_SUFFIXES or path.name == "CMakeLists.txt":
                head = path.read_text(encoding="utf-8").split("\n")[:3]
                if not all(any(mark in line for line in head) for mark in SPDX):
                    errors.append(f"{name}: no SPDX lines at its head")
    return errors


# ------------------------------------------------------------------------------------ self-test

HEAD = (
    "// SPDX-FileCopyrightText: x\n// SPDX-License-Identifier: y\n#pragma once\n{}\n"
    "namespace zarrpoint {{ inline namespace v0 {{ }}}}\n"
)
DOOR = "// SPDX-FileCopyrightText: x\n// SPDX-License-Identifier: y\n#pragma once\n{}\n"
BRINGS = "#if ZARRPOINT_BODIES\n#include <zarrpoint/exec/bodies.hpp>\n#endif\n"
ROWS = "".join(f"| `{room}/` | x |\n" for room in ("core", "codec/bytes_to_bytes", "codec/kit", "store", "exec"))
GOOD = {
    "docs/design.md": ROWS,
    "include/zarrpoint/all.hpp": DOOR.format("".join(
        f"#include <zarrpoint/{n}.hpp>\n" for n in ("core/a", "core/config", "codec/bytes_to_bytes/zstd", "codec/kit/k", "store/s", "exec/e"))) + BRINGS,
    "include/zarrpoint/codec/kit/k.hpp": HEAD.format("#include <zarrpoint/core/a.hpp>"),
    "include/zarrpoint/version.hpp": HEAD.format("#define ZARRPOINT_VERSION_MAJOR 1"),
    "include/zarrpoint/core/a.hpp": HEAD.format("#include <vector>"),
    "include/zarrpoint/codec/bytes_to_bytes/zstd.hpp": HEAD.format(
        "#include <zstd.h>\n#include <zarrpoint/core/a.hpp>\n// #include <zarrpoint/zarr/x.hpp>"
    ),
    "include/zarrpoint/store/s.hpp": HEAD.format("") + "#include <zarrpoint/store/s_part.hpp>\n",
    "include/zarrpoint/store/s_part.hpp": HEAD.format("#include <zarrpoint/store/s.hpp>"),
    "include/zarrpoint/core/config.hpp": HEAD.format("#define ZARRPOINT_BODIES 1"),
    "include/zarrpoint/exec/e.hpp": HEAD.format(""),
    "include/zarrpoint/exec/bodies.hpp": HEAD.format("#include <zarrpoint/exec/e.hpp>\n// -------- e.hpp"),
    "include/zarrpoint/compiled/all.cpp": HEAD.format("#include <zarrpoint/exec/bodies.hpp>"),
    "tests/exec/e_test.cpp": HEAD.format("#include <zarrpoint/exec/e.hpp>"),
}


def breach(path, text):
    """A header behind a door of its own."""
    tree = {f"include/zarrpoint/{path}": HEAD.format(text)}
    tree["include/zarrpoint/more.hpp"] = DOOR.format(f"#include <zarrpoint/{path}>")
    return tree


BREACHES = [
    ("upwards", breach("core/b.hpp", "#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>"), "stand below"),
    ("sideways", breach("exec/b.hpp", "#include <zarrpoint/memory/m.hpp>"), "stand below"),
    ("umbrella", breach("array/b.hpp", "#include <zarrpoint/zarrpoint.hpp>"), "stand below"),
    ("third party", breach("array/b.hpp", "#include <zstd.h>"), "confined to codec/bytes_to_bytes/, interop/dcp/"),
    ("unknown", breach("handler/b.hpp", "#include <xtensor/xarray.hpp>"), "no file of the library"),
    ("system", breach("array/b.hpp", "#include <fcntl.h>"), "confined to store/"),
    ("heavy", breach("core/b.hpp", "#include <regex>"), "too heavy"),
    ("quoted", breach("core/b.hpp", '#include "a.hpp"'), "own headers are"),
    ("macro", breach("core/b.hpp", "#define HELPER 1"), "defines HELPER"),
    ("long", breach("core/b.hpp", "\n" * 601), "more than 600"),
    ("folder", breach("misc/b.hpp", ""), "not a layer"),
    ("cycle", breach("core/b.hpp", "#include <zarrpoint/core/b.hpp>"), "include cycle"),
    ("no pragma", {"include/zarrpoint/core/a.hpp": "// SPDX-FileCopyrightText: x\n"
                   "// SPDX-License-Identifier: y\n"}, "no #pragma once"),
    ("no licence", {"include/zarrpoint/core/a.hpp": "#pragma once\n"}, "no SPDX"),
    ("no licence in a test", {"tests/core/c_test.cpp": "int x;\n"}, "no SPDX"),
    ("namespace", {"include/zarrpoint/core/a.hpp": "// SPDX-FileCopyrightText: x\n"
                   "// SPDX-License-Identifier: y\n#pragma once\nint x;\n"}, "declares something outside"),
    ("bodies of no macro", breach("exec/b.hpp", "#if ZARRPOINT_BODIES\n#endif"), "without core/config"),
    ("bodies in a room", breach("exec/b.hpp", "#include <zarrpoint/core/config.hpp>\n" + BRINGS), "doors and bodies do so"),
    ("bodies before code", {"include/zarrpoint/all.hpp": GOOD["include/zarrpoint/all.hpp"].replace("#if ZARRPOINT_BODIES\n", "")}, "at their end"),
    ("bodies of no unit", {"include/zarrpoint/compiled/all.cpp": HEAD.format("")}, "no unit"),
    ("bodies of nobody", {"include/zarrpoint/exec/bodies.hpp": HEAD.format("#include <zarrpoint/exec/e.hpp>")}, "whose bodies"),
    ("bodies of another", {"include/zarrpoint/exec/bodies.hpp": HEAD.format("// -------- f.hpp")}, "which it does not include"),
    ("bodies twice", {"include/zarrpoint/exec/more_bodies.hpp": HEAD.format("#include <zarrpoint/exec/e.hpp>\n// -------- e.hpp")}, ", too"),
    ("bodies that a door lacks", breach("exec/b.hpp", "#include <zarrpoint/exec/e.hpp>"), "does not bring exec/bodies.hpp"),
    ("code in a door", {"include/zarrpoint/more.hpp": HEAD.format("")}, "includes only"),
    ("behind no door", breach("core/b.hpp", "") | {"include/zarrpoint/more.hpp": DOOR.format("")}, "behind no door"),
    ("room not told", breach("codec/new/b.hpp", ""), "no row for the room codec/new/"),
    ("room told that is not there", {"docs/design.md": ROWS + "| `core/gone/` | x |\n"}, "there is no room core/gone/"),
    ("rooms in a circle", breach("codec/kit/b.hpp", "#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>")
     | {"include/zarrpoint/codec/bytes_to_bytes/c.hpp": HEAD.format("#include <zarrpoint/codec/kit/k.hpp>")}, "rooms include each other"),
]  # fmt: skip


def self_test():
    failures = []

    def run(tree):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check(Path(folder))

    errors, warnings = run(GOOD)
    if errors or warnings:
        failures.append(f"a good tree was refused: {errors + warnings}")
    _, warnings = run(GOOD | breach("core/b.hpp", "\n" * 450))
    if len(warnings) != 1:
        failures.append("no warning for a header of 450 lines")
    _, warnings = run(GOOD | {f"include/zarrpoint/core/b{i}.hpp": HEAD.format("") for i in range(15)})
    if len(warnings) != 1:
        failures.append("no warning for a room of many headers")
    for title, tree, expected in BREACHES:
        errors, _ = run(GOOD | tree)
        if not any(expected in error for error in errors):
            failures.append(f"{title}: expected an error with '{expected}', got {errors}")
    return failures


def main(arguments):
    if "--self-test" in arguments:
        failures = self_test()
        print("\n".join(failures) or f"check_layers: {len(BREACHES) + 3} self-tests passed")
        return 1 if failures else 0
    root = Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve()
    errors, warnings = check(root)
    for line in warnings:
        print(f"warning: {line}")
    for line in errors:
        print(f"error: {line}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
