#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every shell block of docs/install.md and docs/embedding.md as it is printed.

    run_as_printed.py FOLDER CONAN_FOLDER [words]   only the sections whose titles hold one of the words

FOLDER is emptied. For each page it gets a folder with `zarrpoint`, a repository of this checkout with
the tag v0.1.0, and `app.cpp`, the program of README.md. Before a block the project of tests/consumers
that the page names for it is put there; what a block builds as `app` is run. Lines of `...` stand
for text that is left out.

What a sandbox has not is stood in for: apt-get looks whether the packages are installed; vcpkg runs
the port by CMake alone, as tests/consumers/vcpkg does; conan, of CONAN_FOLDER/bin, has stubs with
the names of the public index's packages and no network.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"install": 10, "embedding": 1}  # shell blocks that are there at least
STAND_INS = {
    "apt-get": """[ "$1" = install ] && shift && for name in "$@"; do
  dpkg-query --show --showformat '${db:Status-Status}\\n' "$name" | grep -qx installed ||
    { echo "$name is not installed"; exit 1; }
done""",
    "vcpkg": """[ "$1 $2 $3" = "install zarrpoint --overlay-ports=zarrpoint/tools/vcpkg/ports" ] &&
cmake -DPORT_FOLDER="$PWD/zarrpoint/tools/vcpkg/ports/zarrpoint" -DINSTALLED="$PWD/installed" \\
  -P zarrpoint/tests/consumers/vcpkg/install_port.cmake && test -s installed/share/zarrpoint/usage""",
}


def blocks(page):
    """(section, consumer or None, script) of each shell block."""
    text = page.read_text(encoding="utf-8")
    fences = r"^```(\w*)\n(.*?)^```"
    title, consumer, first = "", None, {}
    # A section names its project before its blocks, or at least somewhere.
    for part in re.finditer(rf"{fences}|^#+ ([^\n]*)$|\(\.\./tests/consumers/(\w+)/", text, re.M | re.S):
        title = part[3] or title
        if part[4]:
            first.setdefault(title, part[4])
    for part in re.finditer(rf"{fences}|^#+ ([^\n]*)$", text, re.M | re.S):
        if part[3]:
            title, consumer = part[3], first.get(part[3])
        elif part[1] == "sh":
            lines = [line for line in part[2].splitlines() if line != "..."]
            yield title, consumer, "\n".join(lines)


def sandbox(place):
    """The checkout as somebody clones it, and the program."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            to = place / "zarrpoint" / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    git = ["git", "-C", str(place / "zarrpoint"), "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "test"], ["tag", "v0.1.0"]):
        subprocess.run([*git, *words], check=True)
    program = ROOT / "tests/tools/extract_readme.py"
    subprocess.run([sys.executable, program, "--program", place / "app.cpp"], check=True)


def stand_ins(folder):
    folder.mkdir(parents=True)
    for name, script in STAND_INS.items():
        path = folder / name
        path.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def stubs_of_the_index(environment):
    subprocess.run(["conan", "remote", "disable", "*"], env=environment, check=True)
    for package in ("nlohmann_json/3.12.0", "zstd/1.5.7"):
        name, version = package.split("/")
        stub = ROOT / "tests/consumers/conan/stub"
        words = ["conan", "export", stub, "--name", name, "--version", version]
        subprocess.run(words, env=environment, check=True)


def run(place, consumer, script, environment):
    shutil.rmtree(place / "build", ignore_errors=True)
    if consumer:
        for path in (ROOT / "tests/consumers" / consumer).iterdir():
            if path.is_file() and path.name != "run.sh":
                shutil.copy(path, place)
    script = f"set -euxo pipefail\n{script}\n"
    if consumer == "fetch_content":  # and from the repository, by the tag that the page names
        script += 'cmake -S . -B build_tag -DZARRPOINT_REPOSITORY="file://$PWD/zarrpoint" | tee tag.log\n'
        script += "grep 'zarrpoint is imported: FALSE' tag.log\n"
    script += "if [ -f app ]; then ./app; rm app; fi\n"
    # The next block goes on where this one has set variables.
    done = subprocess.run(["bash", "-c", script], cwd=place, env=environment, check=False)
    for name, value in re.findall(r"^export (\w+)=(.*)$", script, re.M):
        environment[name] = value.replace("$PWD", str(place))
    return done.returncode == 0


def main(arguments):
    if len(arguments) < 2:
        print(__doc__)
        return 2
    folder, conan = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    words = arguments[2:]
    shutil.rmtree(folder, ignore_errors=True)
    stand_ins(folder / "bin")
    failed, count = [], 0
    for name, least in PAGES.items():
        found = list(blocks(ROOT / f"docs/{name}.md"))
        if len(found) < least:
            failed.append(f"docs/{name}.md has {len(found)} shell blocks; {least} were expected")
        place = folder / name
        sandbox(place)
        path = f"{folder / 'bin'}:{conan / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "CONAN_HOME": str(folder / "conan_home")}
        for title, consumer, script in found:
            if words and not any(word in title for word in words):
                continue
            print(f"==== docs/{name}.md: {title}", flush=True)
            if "conan" in script and not (folder / "conan_home").exists():
                stubs_of_the_index(environment)
            count += 1
            if not run(place, consumer, script, environment):
                failed.append(f"docs/{name}.md: {title}")
    print(f"{count} blocks, {len(failed)} failed", *failed, sep="\n")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
