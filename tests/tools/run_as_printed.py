#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""A newcomer's tasks, done from the pages alone: every block is run as it is printed.

    run_as_printed.py FOLDER CONAN_FOLDER PYTHON [words]    runs only where a word is in "TASK: PAGE: TITLE:"
    run_as_printed.py FOLDER CONAN_FOLDER PYTHON -- [words] runs only where none is

FOLDER is emptied. Each task gets a folder of its own with `zarrpoint`, a clone of this checkout without tags, and
`app.cpp`, the program of README.md; nothing else of the repository is put there. Of the task's pages a block that is
printed `, whole` becomes the file that the link before those words names (a header must compile alone), blocks of
shell and of Python are run in their order, PYTHON having the packages of tests/interop, and a block without
a language after one of shell is what that prints. Blocks of Python that need PyTorch are run by Debian's.

What a sandbox has not is stood in for: apt-get looks whether the packages are installed; vcpkg runs
the port by CMake alone, as tests/consumers/vcpkg does; conan, of CONAN_FOLDER/bin, has stubs with
the names of the public index's packages and no network. The compiler is compile_once.py: at -O0, and one text once.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASKS = {  # the pages of each, and the blocks that are run or written there at least
    "quickstart": (["quickstart"], 4),  # a program with options, attributes and a part; read by Python
    "embedding": (["embedding"], 1),  # a service without exceptions, from the one file
    "install": (["install"], 24),  # CMake, Conan, vcpkg, the command
    "handlers": (["handlers", "codecs"], 6),  # a type and a codec of one's own; matrices of Eigen
    "migration": (["migration"], 2),  # files of Python
    "tutorial": (["tutorial"], 1),  # a training that resumes
}
STAND_INS = {
    "sudo": 'exec "$@"',
    "apt-get": """[ "$1" = install ] && shift && for name in "$@"; do
  dpkg-query --show --showformat '${db:Status-Status}\\n' "$name" | grep -qx installed ||
    { echo "$name is not installed"; exit 1; }
done""",
    "vcpkg": """[ "$1 $2 $3" = "install zarrpoint --overlay-ports=zarrpoint/tools/vcpkg/ports" ] &&
cmake -DPORT_FOLDER="$PWD/zarrpoint/tools/vcpkg/ports/zarrpoint" -DINSTALLED="$PWD/installed" \\
  -P zarrpoint/tests/consumers/vcpkg/install_port.cmake && test -s installed/share/zarrpoint/usage""",
}


def blocks(page):
    """(title, language, text, file or None) of each block; the file is what `, whole` before it names."""
    title, last = "", 0
    text = page.read_text(encoding="utf-8")
    for part in re.finditer(r"^```([\w+]*)\n(.*?)^```|^#+ ([^\n]*)$", text, re.M | re.S):
        named = re.findall(r"\]\(([^()\s]+)\),\s+whole", text[last : part.start()])
        last = part.end()
        if part[3]:
            title = part[3]
        else:
            yield title, part[1], part[2], Path(named[-1]).name if named else None


def sandbox(place):
    """The checkout as somebody clones it, and the program."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    clone = ["git", "clone", "-q", "--no-tags", "--no-checkout", ROOT, place / "zarrpoint"]
    subprocess.run(clone, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            to = place / "zarrpoint" / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    git = ["git", "-C", str(place / "zarrpoint"), "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for words in (["add", "-A"], ["commit", "-qm", "test", "--allow-empty"]):
        subprocess.run([*git, *words], check=True)
    program = ROOT / "tests/tools/extract_readme.py"
    subprocess.run([sys.executable, program, "--program", place / "app.cpp"], check=True)


def with_known_commits(place, text):
    """A shallow clone may lack a commit that is printed; its newest then takes the place, which is said."""
    git = ["git", "-C", str(place / "zarrpoint")]
    for commit in re.findall(r"(?<=GIT_TAG )[0-9a-f]{40}", text):
        shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], check=True, capture_output=True, text=True)
        known = subprocess.run([*git, "cat-file", "-e", commit], check=False, capture_output=True).returncode == 0
        if not known and shallow.stdout.strip() == "true":
            print(f"NOT CHECKED: a shallow clone can't tell whether the commit {commit} exists")
            newest = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
            text = text.replace(commit, newest.stdout.strip())
    return text


def stand_ins(folder):
    folder.mkdir(parents=True)
    for name, script in STAND_INS.items():
        path = folder / name
        path.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    subprocess.run([sys.executable, ROOT / "tests/tools/compile_once.py", "--install", folder], check=True)
    toolchain = folder / "vcpkg_root/scripts/buildsystems/vcpkg.cmake"
    toolchain.parent.mkdir(parents=True)
    toolchain.write_text('list(APPEND CMAKE_PREFIX_PATH "${CMAKE_SOURCE_DIR}/installed")\n', encoding="utf-8")


def stubs_of_the_index(environment):
    subprocess.run(["conan", "remote", "disable", "*"], env=environment, check=True)
    for package in ("zstd/1.5.7", "xtensor/0.24.7"):
        name, version = package.split("/")
        stub = ROOT / "tests/consumers/conan/stub"
        words = ["conan", "export", stub, "--name", name, "--version", version]
        subprocess.run(words, env=environment, check=True)


def run(place, script, environment, expected):
    """Whether a block of shell succeeds, and prints what is expected, if anything is."""
    shutil.rmtree(place / "build", ignore_errors=True)
    lines = "\n".join(line for line in script.splitlines() if line != "...")
    lines = f"set -euxo pipefail\n{lines}\nif [ -f app ]; then ./app; rm app; fi\n"
    done = subprocess.run(
        ["bash", "-c", lines], cwd=place, env=environment, check=False, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, end="", flush=True)
    # The next block goes on where this one has set variables.
    for name, value in re.findall(r"^export (\w+)=(.*)$", script, re.M):
        environment[name] = value.replace("$PWD", str(place))
    if expected is not None and done.stdout != expected:
        print(f"but the page says that it prints\n{expected}")
        return False
    return done.returncode == 0


def run_python(place, python, script, environment):
    needs_torch = re.search(r"^import torch", script, re.M)
    if needs_torch and subprocess.run(["/usr/bin/python3", "-c", "import torch"], check=False, capture_output=True).returncode:
        print("Debian's python3-torch is not installed: not run")
        return True
    program = "/usr/bin/python3" if needs_torch else python
    return subprocess.run([program, "-c", script], cwd=place, env=environment, check=False).returncode == 0


def compiles_alone(place, header, environment):
    words = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", "zarrpoint/include"]
    words += ["-include", f"./{header}", "-x", "c++", "/dev/null"]
    return subprocess.run(words, cwd=place, env=environment, check=False).returncode == 0


def task(place, pages, python, environment, wanted):
    """Does what the pages say; gives the number of blocks there, of those wanted, and the titles of those that failed."""
    failed, there, count, found = [], 0, 0, [(page, *block) for page in pages for block in blocks(ROOT / f"docs/{page}.md")]
    for (page, title, language, text, file), after in zip(found, [*found[1:], ("",) * 5]):
        runs = language in ("sh", "python")
        if file:  # by those that are wanted, perhaps
            (place / file).write_text(with_known_commits(place, text), encoding="utf-8")
        there += bool(runs or file)
        if not (runs or file) or not wanted(f"{place.name}: {page}: {title}:"):
            continue
        print(f"==== docs/{page}.md: {title}: {file or language}", flush=True)
        count += 1
        good = True
        if file:
            good = not file.endswith(".hpp") or compiles_alone(place, file, environment)
        elif language == "python":
            good = run_python(place, python, text, environment)
        else:
            if "conan" in text and not Path(environment["CONAN_HOME"]).exists():
                stubs_of_the_index(environment)
            good = run(place, text, environment, after[3] if after[2] == "" and after[1] == title else None)
        if not good:
            failed.append(f"docs/{page}.md: {title}: {file or language}")
    return there, count, failed


def main(arguments):
    if len(arguments) < 3:
        print(__doc__)
        return 2
    folder, conan = (Path(each).resolve() for each in arguments[:2])
    python = Path(arguments[2]).absolute()  # not resolved: a link in a venv is the venv's
    words = arguments[3:]
    without = words[:1] == ["--"]
    words = words[1:] if without else words
    wanted = lambda title: not words or any(word in title for word in words) != without
    shutil.rmtree(folder, ignore_errors=True)
    stand_ins(folder / "bin")
    path = f"{folder / 'bin'}:{conan / 'bin'}:{os.environ['PATH']}"
    failed, count = [], 0
    for name, (pages, least) in TASKS.items():
        place = folder / name
        sandbox(place)
        environment = {**os.environ, "PATH": path, "CXX": str(folder / "bin/c++"), "CONAN_HOME": str(folder / "conan_home"),
                       "VCPKG_ROOT": str(folder / "bin/vcpkg_root")}  # fmt: skip
        there, done, bad = task(place, pages, python, environment, wanted)
        count += done
        failed += bad
        if there < least:
            failed.append(f"the task {name} has {there} blocks; {least} were expected")
    print(f"{count} blocks, {len(failed)} failed", *failed, sep="\n")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
