#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Mutation of the code that commits, verifies and decodes: does a test fail when it is wrong?

    bash tests/run.sh mutation                                    all of it: half an hour, so it runs only when named
    python3 tests/reliability/mutation.py --files zstd_impl       those of the files whose names have this
    python3 tests/reliability/mutation.py --self-test             what reads the texts, without a compiler

One compilation holds all mutants, as switches that ZARRPOINT_MUTANT=<number> turns on (mutation_text.py), so that a mutant costs
the tests that reach it and no compilation. The mutated functions have bodies in the units of the compiled form: the objects of
the tests are those of the preset dev, linked with other units of the library. A mutant is killed when a test that reaches it
fails, crashes, takes too long or too much memory. What the tests of the commit leave goes to short rows of the scoreboard: a
sync that is missing shows nowhere else. Survivors that no test can tell stand in mutation_equivalent.txt, each with its reason.

Exit status 1: less than 95 % of the others are killed, or a control was wrong: without a mutant every test passes, with a number
that no mutant has, too, and the mutants of CONTROL are killed.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutation_text

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOAL = 95

# Part, file below include/zarrpoint, functions whose bodies are mutated.
TABLE = [
    ("commit", "store/file/write_bodies.hpp",
     ["directory_publication::begin", "directory_publication::make_tree", "directory_publication::commit",
      "directory_publication::rename_to_target", "directory_publication::exchange_with_target",
      "directory_publication::replace", "directory_publication::replace_in_two_steps", "directory_publication::remove_old",
      "directory_publication::is_held", "directory_publication::keep_late", "directory_publication::set_aside",
      "directory_publication::sync_parent", "file_writer::open", "file_writer::~file_writer", "file_writer::write",
      "file_writer::finish", "file_writer::create_beside", "file_writer::put"]),
    ("commit", "store/file/file_bodies.hpp",
     ["file_root::staged", "file_root::parent_of", "file_root::sync_file", "file_root::sync_tree", "file_root::note"]),
    ("commit", "checkpoint/save/save_bodies.hpp",
     ["save_set"]),
    ("verify", "checkpoint/verify/verify_bodies.hpp",
     ["verify_report::result", "add", "verify", "run", "check_stored", "check_part", "check_chunks"]),
    ("verify", "checkpoint/document/bodies.hpp",
     ["commit_reader::read", "commit_reader::read_groups", "commit_reader::read_group_attributes", "commit_reader::read_leaf",
      "commit_reader::read_objects", "parse_digests", "parse_object_digest", "parse_commit_document"]),
    ("verify", "codec/bytes_to_bytes/crc32c_bodies.hpp",
     ["crc32c_codec::decode_in_place"]),
    ("decode", "array/shard/bodies.hpp",
     ["shard_index::check", "shard_index::check_disjoint"]),
    ("decode", "codec/base/bodies.hpp",
     ["codec_chain::decode", "codec_chain::decode_arrays", "codec_chain::decode_bytes", "codec_chain::decode_step"]),
    ("decode", "codec/kit/lz_bodies.hpp",
     ["lz_cursor::take", "lz_cursor::take_u16", "lz_cursor::extend", "lz_cursor::literals", "lz_cursor::match",
      "lz_cursor::finish", "lz4_decode", "blosclz_decode"]),
    ("decode", "codec/blosc/blosc_bodies.hpp",
     ["blosc_header::parse"]),
    ("decode", "codec/bytes_to_bytes/zstd_bodies.hpp",
     ["zstd_codec::decode", "zstd_codec::decoded_size", "zstd_codec::next_frame"]),
    ("decode", "codec/array_to_bytes/bodies.hpp",
     ["bytes_codec::swaps", "bytes_codec::decode"]),
]

# Which must be killed: file, function, line (its beginning), mutation.
CONTROL = [
    ("codec/bytes_to_bytes/crc32c_bodies.hpp", "crc32c_codec::decode_in_place", "if (actual != expected)", "never"),
    ("array/shard/bodies.hpp", "shard_index::check", "if (__builtin_add_overflow", "never"),
    ("store/file/write_bodies.hpp", "file_writer::finish", "if (root_->durable())", "negated"),
    ("checkpoint/document/bodies.hpp", "parse_commit_document", "if (seal !=", "never"),
]

PROGRAMS = ["core", "store", "codec", "array", "checkpoint"]
# Rows of the scoreboard for what the tests leave: name, parts, trials.
ROWS = [("crash_states", ["commit"], 20000), ("faults", ["commit"], 300), ("kills", ["commit"], 300), ("damage", ["verify"], 1500)]
LIMITS = [(resource.RLIMIT_AS, 6 << 30), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 8 << 30)]

SWITCH_HEADER = """#pragma once
extern "C" {
extern int zarrpoint_mutant;
extern unsigned char* zarrpoint_reached;
}
inline bool zarrpoint_mutated(int number) noexcept {
  zarrpoint_reached[number] = 1;
  return zarrpoint_mutant == number;
}
"""

# Marks are in memory that children share.
SWITCH_UNIT = """#include <sys/mman.h>
#include <cstdlib>
static unsigned char unmapped[%(count)d];
extern "C" {
int zarrpoint_mutant = 0;
unsigned char* zarrpoint_reached = unmapped;
}
extern const int zarrpoint_mutant_count = %(count)d;
__attribute__((constructor)) static void begin() {
  if (const char* text = std::getenv("ZARRPOINT_MUTANT")) zarrpoint_mutant = std::atoi(text);
  void* shared = mmap(nullptr, %(count)d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) zarrpoint_reached = static_cast<unsigned char*>(shared);
}
"""

# A line for each test case: its seconds, the mutants that it reaches, its name.
LISTENER = """#include <doctest/doctest.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
extern "C" unsigned char* zarrpoint_reached;
extern const int zarrpoint_mutant_count;
namespace {
struct listener : doctest::IReporter {
  explicit listener(const doctest::ContextOptions&) {
    if (const char* path = std::getenv("ZARRPOINT_REACHED")) out = std::fopen(path, "w");
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override { if (out) std::fclose(out); }
  void test_case_start(const doctest::TestCaseData& one) override {
    name = one.m_name;
    start = std::chrono::steady_clock::now();
    if (out) std::memset(zarrpoint_reached, 0, static_cast<unsigned>(zarrpoint_mutant_count));
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& one) override {
    if (!out) return;
    std::fprintf(out, "%g\\t%d\\t", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                 one.testCaseSuccess ? 1 : 0);
    for (int i = 0; i < zarrpoint_mutant_count; ++i)
      if (zarrpoint_reached[i]) std::fprintf(out, "%d ", i);
    std::fprintf(out, "\\t%s\\n", name);
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
  std::FILE* out = nullptr;
  const char* name = "";
  std::chrono::steady_clock::time_point start;
};
REGISTER_LISTENER("mutation", 1, listener);
}
"""

ROW_LISTENER = """#include <cstdio>
#include <cstdlib>
extern "C" unsigned char* zarrpoint_reached;
extern const int zarrpoint_mutant_count;
__attribute__((destructor)) static void end() {
  const char* path = std::getenv("ZARRPOINT_REACHED");
  std::FILE* out = path ? std::fopen(path, "w") : nullptr;
  for (int i = 0; out && i < zarrpoint_mutant_count; ++i)
    if (zarrpoint_reached[i]) std::fprintf(out, "%d ", i);
  if (out) std::fclose(out);
}
"""


def write(path, text):
    """Leaves a file alone that has this text, for what is compiled of it."""
    if os.path.exists(path) and open(path).read() == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def key_of(file, mutation):
    return (file, mutation.function, mutation.text, mutation.what)


def read_equivalent(path):
    """The reasons by key. An entry is four lines `file`, `function`, `line`, `mutation` (or several, by ` | `), then its reason,
    indented; an empty line ends it."""
    out = {}
    text = re.sub(r"^#.*\n", "", open(path).read(), flags=re.MULTILINE) if os.path.exists(path) else ""
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if len(lines) < 5:
            continue
        for what in lines[3].split(" | "):
            out[(lines[0].strip(), lines[1].strip(), lines[2].strip(), what.strip())] = " ".join(" ".join(lines[4:]).split())
    return out


class Build:
    def __init__(self, dev, out, jobs):
        self.dev, self.out, self.jobs = os.path.abspath(dev), os.path.abspath(out), jobs
        self.include = os.path.join(self.out, "include")
        self.dropped = {file: set() for _, file, _ in TABLE}
        self.dropped_file = os.path.join(self.out, "dropped.json")
        if os.path.exists(self.dropped_file):
            for key in json.load(open(self.dropped_file)):
                if key[0] in self.dropped:
                    self.dropped[key[0]].add(tuple(key[1:]))

    def ninja(self, *arguments):
        return subprocess.run(["ninja", "-C", self.dev, *arguments], check=True, capture_output=True, text=True).stdout

    def texts(self):
        """Writes the mutated headers; the mutants by number."""
        self.mutants, self.spans, number, lines = {}, {}, 1, {}
        for part, file, wanted in TABLE:
            text = open(os.path.join(ROOT, "include/zarrpoint", file)).read()
            made = mutation_text.Text(text, wanted, number, self.dropped[file])
            if wanted is not None and made.named != set(wanted):
                sys.exit("mutation: %s has no function %s" % (file, set(wanted) - made.named))
            number = made.next
            for one in made.found:
                self.mutants[one.number] = (part, file, one)
            lines[file] = len(made.lines)
            out = made.out.replace("#pragma once\n", '#pragma once\n#include "%s/mutation_switch.hpp"\n' % self.out, 1)
            write(os.path.join(self.include, "zarrpoint", file), out)
            self.spans[file] = out.split("\n")
        self.lines = lines
        self.count = 1 << number.bit_length()  # so that a mutant that is dropped changes no other unit

    def commands(self):
        """For each unit of the library the command of dev that compiles one: dev itself joins several."""
        lines = [line for line in self.ninja("-t", "commands", "libzarrpoint_compiled.a").splitlines() if " -c " in line]
        return {name[:-4]: lines[0] for name in sorted(os.listdir(os.path.join(ROOT, "include/zarrpoint/compiled")))
                if name.endswith(".cpp")}

    def compile(self):
        write(os.path.join(self.out, "mutation_switch.hpp"), SWITCH_HEADER)
        write(os.path.join(self.out, "switch.cpp"), SWITCH_UNIT % {"count": self.count})
        write(os.path.join(self.out, "listener.cpp"), LISTENER)
        write(os.path.join(self.out, "row_listener.cpp"), ROW_LISTENER)
        for name in ("switch", "listener", "row_listener"):
            subprocess.run(["g++", "-std=c++20", "-O1", "-D_GLIBCXX_ASSERTIONS", "-c", os.path.join(self.out, name + ".cpp"), "-o",
                            os.path.join(self.out, name + ".o")], check=True)
        bodies = {file: set() for file in self.lines}
        for name in self.commands():
            text = open(os.path.join(ROOT, "include/zarrpoint/compiled", name + ".cpp")).read()
            for file in bodies:
                if "<zarrpoint/%s>" % file in text:
                    bodies[file].add(name)
        for file, names in bodies.items():
            if not names:
                sys.exit("mutation: no unit of the library holds %s" % file)
        units = sorted(self.commands())
        waiting = units
        while waiting:
            failed, running = [], []
            queue = list(waiting)
            while queue or running:
                while queue and len(running) < self.jobs:
                    name = queue.pop(0)
                    running.append((name, self.start_unit(name)))
                name, process = running.pop(0)
                said = process.communicate()[1]
                if process.returncode != 0:
                    failed.append(name)
                    self.drop(name, said)
            if failed:
                self.texts()  # numbers move on
                write(os.path.join(self.out, "switch.cpp"), SWITCH_UNIT % {"count": self.count})
                json.dump([(file, *key) for file, keys in self.dropped.items() for key in sorted(keys)],
                          open(self.dropped_file, "w"), indent=0)
                waiting = units
            else:
                waiting = []
        self.archive(units)

    def start_unit(self, name):
        line = self.commands()[name]
        # The mutated headers come first; all others are those of this checkout.
        line = re.sub(r" -MD| -M[TF] \S+| -Werror(?= )|(?<= )-I\S*/include(?= )", "", line)
        line = re.sub(r" -o \S+\.o -c \S+", " -I%s -I%s/include -O1 -g0 -w -o %s/%s.o -c %s/include/zarrpoint/compiled/%s.cpp"
                      % (self.include, ROOT, self.out, name, ROOT, name), line)
        return subprocess.Popen(line, shell=True, cwd=self.dev, stderr=subprocess.PIPE, text=True)

    def drop(self, unit, said):
        """Forgets the mutants in whose lines the compiler found errors."""
        dropped = 0
        for found in re.finditer(r"^(\S+?/include/zarrpoint/(\S+?)):(\d+):\d+: (?:fatal )?error: (.*)", said, re.MULTILINE):
            file, line = found.group(2), int(found.group(3))
            if file not in self.spans:
                continue
            for number in re.findall(r"zarrpoint_mutated\((\d+)\)", self.spans[file][line - 1]):
                key = key_of(file, self.mutants[int(number)][2])[1:]
                dropped += key not in self.dropped[file]
                self.dropped[file].add(key)
        if not dropped:
            sys.exit("mutation: %s does not compile:\n%s" % (unit, said[:4000]))

    def archive(self, units):
        self.archive = os.path.join(self.out, "libmutated.a")
        objects = [os.path.join(self.out, unit + ".o") for unit in units] + [os.path.join(self.out, "switch.o")]
        if os.path.exists(self.archive):
            os.remove(self.archive)
        switch = os.path.join(self.out, "switch")
        subprocess.run(["g++", "-O1", "-c", switch + ".cpp", "-o", switch + ".o"], check=True)
        subprocess.run(["ar", "qcs", self.archive, *objects], check=True)

    def link(self):
        """The programs of dev with the mutated library; those of ROWS."""
        self.programs = {}
        for name in PROGRAMS:
            target = "tests/%s_tests" % name
            line = self.ninja("-t", "commands", target).splitlines()[-1]
            line = re.sub(r" -o \S+", " %s/listener.o -o %s/%s_tests" % (self.out, self.out, name), line, count=1)
            line = re.sub(r"\S*libzarrpoint_compiled\.a", self.archive, line)
            subprocess.run(line, shell=True, cwd=self.dev, check=True)
            self.programs[name] = os.path.join(self.out, name + "_tests")
        source, target = os.path.join(ROOT, "tests/reliability/reliability.cpp"), os.path.join(self.out, "reliability")
        compiler = ["ccache"] * bool(shutil.which("ccache")) + ["g++", "-std=c++20", "-O1", "-I", os.path.join(ROOT, "include")]
        subprocess.run([*compiler, "-D_GLIBCXX_ASSERTIONS", "-DZARRPOINT_COMPILED", "-c", source, "-o", target + ".o"], check=True)
        subprocess.run([*compiler, "-c", os.path.join(ROOT, "tests/allocation/failing_new.cpp"), "-o", target + "_new.o"],
                       check=True)
        subprocess.run(["g++", target + ".o", target + "_new.o", os.path.join(self.out, "row_listener.o"), self.archive, "-o",
                        target, "-lzstd", "-pthread"], check=True)
        self.programs["reliability"] = target


class Run:
    def __init__(self, build, folder, most=None):
        self.most = most
        self.build, self.folder, self.tests, self.rows = build, folder, [], {}
        self.lock, self.killers = threading.Lock(), {}
        self.unknown, self.checked = len(build.mutants) + 1, {}

    def command(self, arguments, mutant, seconds, reached=None):
        """Exit status and output; None as the status when it took too long."""
        place = tempfile.mkdtemp(prefix="", dir=self.folder)
        os.chmod(place, 0o1777)  # some tests give up the rights of root
        environment = dict(os.environ, TMPDIR=place, ZARRPOINT_MUTANT=str(mutant))
        if reached:
            environment["ZARRPOINT_REACHED"] = reached
        limit = lambda: [resource.setrlimit(one, (most, most)) for one, most in LIMITS]
        process = subprocess.Popen([one.replace("FOLDER", place) for one in arguments], cwd=place, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit)
        try:
            said = process.communicate(timeout=seconds)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            status, said = None, b""
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what it left running, too
        except ProcessLookupError:
            pass
        if status is None:
            process.communicate()
        subprocess.run(["chmod", "-R", "u+rwX", place], stderr=subprocess.DEVNULL)
        shutil.rmtree(place, ignore_errors=True)
        return status, said.decode(errors="replace")

    def cover(self):
        """Which test cases reach which mutants. All must pass."""
        for name in PROGRAMS:
            reached = os.path.join(self.folder, name + ".reached")
            known = self.build.programs[name] + "." + self.digest(name)
            if not os.path.exists(known):  # as long as the program is the same, so is what it reaches
                status, said = self.command([self.build.programs[name], "--no-version"], 0, 3000, reached)
                if status != 0:
                    sys.exit("mutation: control: %s fails without a mutant:\n%s" % (name, said[-3000:]))
                shutil.copy(reached, known)
            for line in open(known):
                seconds, _, numbers, test = line.rstrip("\n").split("\t", 3)
                if numbers.strip():
                    self.tests.append((float(seconds), name, test, frozenset(map(int, numbers.split()))))
        self.tests.sort(key=lambda one: one[0])
        for row, _, trials in ROWS:
            reached = os.path.join(self.folder, row + ".reached")
            known = "%s.%s%d.%s" % (self.build.programs["reliability"], row, trials, self.digest("reliability"))
            if not os.path.exists(known):
                begin = time.time()
                status, said = self.command(self.row(row, trials), 0, 1200, reached)
                if status != 0:
                    sys.exit("mutation: control: the row %s fails without a mutant:\n%s" % (row, said[-3000:]))
                write(known, "%f\n%s" % (time.time() - begin, open(reached).read()))
            seconds, numbers = open(known).read().split("\n", 1)
            self.rows[row] = (float(seconds), frozenset(map(int, numbers.split())))

    def digest(self, name):
        with open(self.build.programs[name], "rb") as program:
            return hashlib.sha1(program.read()).hexdigest()[:16]

    def row(self, row, trials):
        return [self.build.programs["reliability"], row, str(trials), "100000", "1", "FOLDER"]

    def select(self, tests):
        names = [re.sub(r"[,\\]", "?", test) for _, _, test, _ in tests]
        return "--test-case=" + ",".join(names)

    def batches(self, mutant, function):
        """The tests that killed its neighbours and the quickest, then the others by program; few seconds each at first."""
        mine = [one for one in self.tests if mutant in one[3]]
        likely = self.killers.get(function, {})
        mine.sort(key=lambda one: (-likely.get(one[1:3], 0), one[0]))
        budget, batch = 0.5, []
        spent = total = 0.0
        for one in mine:
            total += one[0]
            if self.most is not None and total > self.most and len(batch) > 0:
                break
            batch.append(one)
            spent += one[0]
            if spent > budget:
                yield batch
                batch, spent, budget = [], 0.0, budget * 4
        if batch:
            yield batch

    def check(self, name, tests):
        """That it was the mutant: without one, the same tests pass on the same machine. Asked once for each."""
        key = (name, self.select(tests))
        if key not in self.checked:
            self.checked[key] = self.command([self.build.programs[name], "--no-version", key[1]], self.unknown,
                                             60 + 20 * sum(one[0] for one in tests))[0]
            if self.checked[key] != 0:
                print("control: without a mutant, too, this fails: %s %s" % key, flush=True)

    def judge(self, mutant, part, function):
        """How the mutant was killed; "" if it was not, None if nothing reaches it."""
        reached = False
        for batch in self.batches(mutant, function):
            for name in PROGRAMS:
                chosen = [one for one in batch if one[1] == name]
                if not chosen:
                    continue
                reached = True
                status, said = self.command([self.build.programs[name], "--no-version", "--abort-after=1", self.select(chosen)],
                                            mutant, 20 + 10 * sum(one[0] for one in chosen))
                if status is None:
                    return name + ": took too long"
                if status != 0:
                    found = re.search(r"TEST CASE:  ?(.*)", said)
                    self.check(name, [one for one in chosen if found and one[2].strip() == found.group(1).strip()] or chosen)
                    with self.lock:
                        if found:
                            likely = self.killers.setdefault(function, {})
                            for one in chosen:
                                if one[2].strip() == found.group(1).strip():
                                    likely[one[1:3]] = likely.get(one[1:3], 0) + 1
                    return "%s: %s" % (name, found.group(1).strip() if found else "status %d" % status)
        for row, of, trials in ROWS:
            seconds, numbers = self.rows[row]
            if part not in of or mutant not in numbers:
                continue
            reached = True
            status, said = self.command(self.row(row, trials), mutant, 30 + 10 * seconds)
            if status != 0:
                return "row %s: %s" % (row, "took too long" if status is None else said.strip().split("\n")[-1][:100])
        return "" if reached else None


def self_test():
    """What reads the texts finds each kind of place, leaves others alone, and drops what it is told to."""
    text = """namespace a {
constexpr int size(int a) { return a + 1; }
template <class T>
T f(std::array<int, 3>& all, int b) {
  // a < b
  const int c = all[0] + b;
  if (c < b && !all.empty()) return error{"a + b " + std::to_string(c)};
  for (int i = 0; i < c; ++i) sync(all, [&](int d) { return d == b; });
  return true;
}
}
"""
    made = mutation_text.Text(text, None, 1)
    said = sorted((one.line, one.what) for one in made.found)
    wanted = sorted([(6, "0 + 1"), (6, "+ to -"), (7, "< to <="), (7, "&& to ||"), (7, "! left out"), (7, "negated"), (7, "never"),
                     (8, "< to <="), (8, "left out"), (8, "== to !="), (9, "true to false")])
    assert said == wanted, said
    assert "return a + 1; }" in made.out and "std::array<int, 3>& all" in made.out
    gone = ("f", "return true;", "true to false")
    assert [one.what for one in mutation_text.Text(text, {"f"}, 1, {gone}).found if one.line == 9] == []
    assert mutation_text.Text(text, {"g"}, 1).out == text
    for _, file, wanted in TABLE:
        made = mutation_text.Text(open(os.path.join(ROOT, "include/zarrpoint", file)).read(), wanted, 1)
        assert made.found and (wanted is None or made.named == set(wanted)), (file, set(wanted or []) - made.named)
    print("each kind of place is found, and no other")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dev", default="build/dev", help="the folder where the preset dev was built")
    parser.add_argument("--out", default="build/mutation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--files", default="", help="only files whose names have this")
    parser.add_argument("--part", default="", help="only this part")
    parser.add_argument("--seconds", type=float, default=10,
                        help="the most of tests for one mutant, the quickest first; 0: all that reach it")
    parser.add_argument("--survivors", action="store_true", help="only those that the last run did not kill and that are not listed as equivalent")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    parser.add_argument("--self-test", action="store_true")
    how = parser.parse_args()
    if how.self_test:
        return self_test()
    os.makedirs(how.out, exist_ok=True)
    begin = time.time()
    build = Build(how.dev, how.out, how.jobs)
    build.texts()
    if how.list:
        for number, (part, file, one) in build.mutants.items():
            print("%d %s %s:%d %s: %s" % (number, part, file, one.line, one.what, one.text))
        print("%d mutants in %d lines" % (len(build.mutants), sum(build.lines.values())))
        return None
    build.compile()
    build.link()
    print("%d mutants in %d lines, built in %d s" % (len(build.mutants), sum(build.lines.values()), time.time() - begin),
          flush=True)
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else how.out
    folder = tempfile.mkdtemp(prefix="zm.", dir=place)  # short: messages are cut
    os.chmod(folder, 0o755)
    try:
        return judge_all(how, build, folder, begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judge_all(how, build, folder, begin):
    run = Run(build, folder, how.seconds or None)
    run.cover()
    print("%d test cases reach them; without a mutant all pass; %d s" % (len(run.tests), time.time() - begin), flush=True)
    results_file = os.path.join(how.out, "results.json")
    results = {tuple(key): said for key, said in json.load(open(results_file))} if os.path.exists(results_file) else {}
    equivalent = read_equivalent(os.path.join(ROOT, "tests/reliability/mutation_equivalent.txt"))
    keys = {number: key_of(file, one) for number, (_, file, one) in build.mutants.items()}
    queue = [number for number, (part, file, _) in build.mutants.items()
             if how.files in file and part in (how.part or part)
             and not (how.survivors and (results.get(keys[number]) or keys[number] in equivalent))]
    queue.sort(key=lambda number: bool(results.get(keys[number])))  # first what the last run did not kill
    for name in PROGRAMS:
        some = [one for one in run.tests if one[1] == name][:50]
        if some and run.command([build.programs[name], "--no-version", run.select(some)], run.unknown, 600)[0] != 0:
            sys.exit("mutation: control: a number that no mutant has makes a test of %s fail" % name)
    total, done = len(queue), [0]

    def work():
        while True:
            with run.lock:
                if not queue:
                    return
                number = queue.pop(0)
            part, file, one = build.mutants[number]
            said = run.judge(number, part, file + one.function)
            with run.lock:
                results[keys[number]] = said
                done[0] += 1
                if not said:
                    print("%s %s:%d %s: %s: %s%s" % (
                        "survived" if said == "" else "not reached", file, one.line, one.function, one.what, one.text,
                        " (equivalent)" if keys[number] in equivalent else ""), flush=True)
                elif keys[number] in equivalent:
                    print("killed, and listed as equivalent: %s:%d %s (%s)" % (file, one.line, one.what, said), flush=True)
                if done[0] % 20 == 0:
                    json.dump([[list(key), said] for key, said in results.items()], open(results_file, "w"))
                if done[0] % 100 == 0:
                    print("%d of %d, %d s" % (done[0], total, time.time() - begin), flush=True)

    workers = [threading.Thread(target=work) for _ in range(how.jobs)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    json.dump([[list(key), said] for key, said in results.items()], open(results_file, "w"))
    if done[0] != total:
        sys.exit("mutation: %d of %d mutants were not judged" % (total - done[0], total))
    if any(status != 0 for status in run.checked.values()):
        sys.exit("mutation: tests fail without a mutant, too")
    return report(build, keys, results, equivalent, begin)


def report(build, keys, results, equivalent, begin):
    failed = False
    for file, function, line, what in CONTROL:
        mine = [key for key in keys.values() if key[:2] == (file, function) and key[2].startswith(line) and key[3] == what]
        if not mine or any(not results.get(key, "yes") for key in mine):
            print("control: not killed: %s: %s: %s" % (file, line, what))
            failed = True
    for key in equivalent:
        if key not in keys.values() and not any(key[1:] in dropped for dropped in build.dropped.values()):
            print("mutation_equivalent.txt: no mutant is %s" % " | ".join(key))
            failed = True
    for part in ["commit", "verify", "decode", ""]:
        mine = [key for number, key in keys.items() if build.mutants[number][0].startswith(part) and key in results]
        killed = sum(1 for key in mine if results[key])
        listed = sum(1 for key in mine if not results[key] and key in equivalent)
        lines = sum(build.lines[file] for one, file, _ in TABLE if one.startswith(part))
        whole = not mine or 100 * killed >= GOAL * (len(mine) - listed)  # at last of all parts
        print("%-7s %4d lines, %4d mutants, %4d killed, %3d equivalent, %3d survived: %.1f %%" % (
            part or "all", lines, len(mine), killed, listed, len(mine) - killed - listed,
            100 * killed / max(1, len(mine) - listed)))
    print("%d more do not compile; %d s" % (sum(map(len, build.dropped.values())), time.time() - begin))
    return 1 if failed or not whole else 0


if __name__ == "__main__":
    sys.exit(main())
