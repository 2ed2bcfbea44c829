# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What depends on where the output goes, usage, completion and the manual page."""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time
import unicodedata
from pathlib import Path

import numpy as np
import zarr
from safetensors.numpy import save_file
from support import COMMAND, FAILED, NO, OK, ROOT, Case, rename_codec, run
from zarr.codecs import ZstdCodec

ESCAPE = b"\x1b["


def display_width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Terminal(Case):
    def on_terminal(self, *arguments, columns=80, **environment):
        """Runs the command with a pseudo-terminal for standard output and error."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        done = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", **environment},
        )
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            said += piece
        os.close(ours)
        return done.wait(), said

    def setUp(self):
        super().setUp()
        self.path = self.folder / "a.npz"
        np.savez(self.path, x=np.arange(2_000_000), y=np.arange(5))

    def test_colour_and_progress_on_a_terminal_only(self):
        for arguments in (
            ("inspect", self.path),
            ("verify", self.path),
            ("stats", self.path, "y"),
            ("diff", self.path, self.path),
        ):
            status, said = self.on_terminal(*arguments)
            self.assertEqual(status, OK)
            self.assertRegex(said, rb"\x1b\[\d+m")
            piped = self.expect(OK, *arguments)
            self.assertNotIn(b"\x1b", piped.stdout)
            self.assertEqual(piped.stderr, b"")
        status, said = self.on_terminal("verify", self.path)
        self.assertRegex(said.decode(), r"verify █+.* 100 % .*15\.3 MiB .*/s")
        self.assertIn(b"\r\x1b[K", said)

    def test_inspect_fits_the_terminal(self):
        name = "layers/" + "0123456789" * 6
        arrays = {name: np.zeros((12, 13, 14, 15)), "wide": np.zeros((4, 4)), "日本語" * 12: np.zeros(3)}
        save_file(arrays, self.folder / "a.safetensors", metadata={"note": "n" * 300})
        path = self.folder / "a.zarr"
        self.text("convert", self.folder / "a.safetensors", path, "--codec", "zstd:3", "--chunk", "2,2,2,2")
        whole = self.text("inspect", path)
        self.assertIn(name.split("/")[1], whole)
        self.assertIn("n" * 300, whole)
        self.assertGreater(max(map(len, whole.splitlines())), 160)
        for columns in (300, 160, 100, 80, 60, 40, 24):
            status, said = self.on_terminal("inspect", path, columns=columns, NO_COLOR="1")
            self.assertEqual(status, OK)
            title, *lines = said.decode().replace("\r", "").splitlines()
            self.assertLessEqual(display_width(title), columns)
            fits = columns >= len(f"{path}  Zarr v3 checkpoint of zarrpoint")
            self.assertEqual(title.startswith(f"{path}  Zarr v3 checkpoint of zarrpoint"), fits)
            self.assertEqual("…" in title, not fits)
            wide = [line for line in lines if display_width(line) > columns]
            self.assertEqual(wide, [], columns)
            self.assertEqual(any("…" in line for line in lines), True)
            self.assertEqual("CODECS" in lines[0], columns >= 160, columns)
            if columns >= 60:
                self.assertIn("float64", "".join(lines))
                self.assertIn("[4,4]", "".join(lines))

    def test_errors_and_long_paths_fit_the_terminal(self):
        path = self.folder / ("日本" + "0123456789" * 12) / "a.zarr"
        path.parent.mkdir()
        zarr.create_array(path, data=np.arange(5), compressors=ZstdCodec())
        rename_codec(path / "zarr.json", "zstd", "magic" * 30)
        self.assertRegex(self.text("inspect", path), r'unsupported: .*"(magic){16}.* and \d+ more')
        for columns in (300, 100, 60, 40, 24):
            status, said = self.on_terminal("inspect", path, columns=columns, NO_COLOR="1")
            self.assertEqual(status, OK)
            lines = said.decode().replace("\r", "").splitlines()
            wide = [line for line in lines if display_width(line) > columns]
            self.assertEqual(wide, [], columns)
            self.assertTrue(lines[0].startswith(str(path)[:10]), lines[0])
            self.assertEqual("Zarr v3 array" in lines[0], columns > 24, lines[0])
            self.assertIn('"": unsupported', lines[-1])
            self.assertTrue(lines[-1].endswith("…"), lines[-1])

    def test_the_time_left_is_told(self):
        _, said = self.on_terminal("convert", self.path, self.folder / "c.zarr", "--codec", "zstd:19")
        self.assertRegex(said.decode(), r"convert █.*/s  \d+:\d\d left")

    def test_no_color(self):
        for arguments in (
            ("inspect", self.path),
            ("stats", self.path),
            ("verify", self.path),
            ("cat", self.path, "z"),
        ):
            _, said = self.on_terminal(*arguments, NO_COLOR="1")
            self.assertIsNone(re.search(rb"\x1b\[[\d;]*m", said), said)
        _, said = self.on_terminal("inspect", self.path, NO_COLOR="")
        self.assertIn(ESCAPE, said)
        _, said = self.on_terminal("inspect", self.path, TERM="dumb")
        self.assertNotIn(ESCAPE, said)

    def test_errors_are_red(self):
        status, said = self.on_terminal("cat", self.path, "nothing")
        self.assertEqual(status, FAILED)
        self.assertIn(b"\x1b[1;31mzarrpoint:", said)

    def test_names_cannot_write_to_the_terminal(self):
        evil = "\x1b[2J\x07\x9b31m\u202egnp\n\\x"
        save_file({evil: np.arange(3)}, self.folder / "e.safetensors")
        np.savez(self.folder / "f.npz", other=np.arange(3))
        for arguments, status in (
            (("inspect",), OK),
            (("cat",), OK),
            (("verify",), OK),
            (("stats",), OK),
            (("diff", self.folder / "f.npz"), NO),
            (("cat", "x"), FAILED),
        ):
            done = run(arguments[0], self.folder / "e.safetensors", *arguments[1:])
            self.assertEqual(done.returncode, status)
            said = (done.stdout + done.stderr).decode()
            self.assertFalse(set(said) & set("\x1b\x07\x9b\u202e"), said)
        self.assertIn("%1B[2J%07\\u009b31m\\u202egnp%0A%5Cx", self.text("inspect", self.folder / "e.safetensors"))
        array = self.json("inspect", self.folder / "e.safetensors")["arrays"][0]
        self.assertEqual(array["attributes"]["original_name"], evil)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [COMMAND, "cat", str(self.path), "x", "--raw"],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        self.assertEqual(done.returncode, FAILED)
        self.assertIn(b"standard output", done.stderr)

    def test_an_interrupt_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.interrupted_by(number)

    def interrupted_by(self, number):
        np.savez(
            self.folder / "big.npz",
            **{f"x{i}": np.random.default_rng(i).normal(size=2_000_000) for i in range(6)},
        )
        before = sorted(os.listdir(self.folder))
        running = subprocess.Popen(
            [
                COMMAND,
                "convert",
                str(self.folder / "big.npz"),
                str(self.folder / "c.zarr"),
                "--codec",
                "zstd:19",
            ],
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # ignored under nohup
        )
        while len(os.listdir(self.folder)) == len(before) and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(number)
        _, said = running.communicate()
        self.assertEqual((running.returncode, said), (130, b"zarrpoint: interrupted\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_an_interrupt_ends_reading(self):
        with open(self.folder / "big.npy", "wb") as file:  # 40 GB of holes
            np.lib.format.write_array_header_1_0(
                file, {"descr": "|u1", "fortran_order": False, "shape": (40 * 2**30,)}
            )
            file.truncate(file.tell() + 40 * 2**30)
        for command in ("stats", "verify", "cat"):
            options = ["--raw"] if command == "cat" else []
            running = subprocess.Popen(
                [COMMAND, command, str(self.folder / "big.npy"), *options],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # A process started in the background of a script ignores interrupts; this one must not.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            while f"{COMMAND}\0" not in Path(f"/proc/{running.pid}/cmdline").read_text():
                time.sleep(0.01)
            time.sleep(0.3)  # until it reads, or else it is ended by the signal itself
            running.send_signal(signal.SIGINT)
            _, said = running.communicate()
            self.assertIn((running.returncode, said), [(130, b"zarrpoint: interrupted\n"), (-2, b"")])


class Usage(Case):
    def test_help_and_version(self):
        self.assertRegex(self.text("--version"), r"^zarrpoint \d+\.\d+\.\d+\n$")
        said = self.text("--help")
        for command in ("inspect", "cat", "verify", "seal", "convert", "delta", "apply", "squash", "diff", "stats", "completion"):
            self.assertIn(command, said)
            self.assertIn("--help", self.text(command, "--help"))
        self.assertIn("Exit status", said)

    def test_help_of_a_command(self):
        self.assertEqual(self.text("help"), self.text("--help"))
        self.assertEqual(self.text("help", "convert"), self.text("convert", "--help"))
        self.assertIn("COMMAND", self.text("help", "help"))

    def test_bad_usage(self):
        for arguments in (
            (),
            ("nothing",),
            ("cat",),
            ("inspect", "a", "b", "c"),
            ("cat", "a", "--raw", "--json"),
            ("inspect", "--memory", "x", "."),
            ("inspect", "--memory", "1K", "."),
            ("completion", "tcsh"),
            ("diff", "a", "b", "--tolerance", "-1"),
            ("stats", "a", "--bins", "0"),
        ):
            self.refused(*arguments)

    def test_a_mistyped_word_is_answered_with_the_nearest(self):
        commands = "The commands are: inspect, cat, verify, seal, convert, delta, apply, squash, diff, stats, steps, watch, keep, rm, prune, completion, help\n"
        for words, answer in [
            (("inspcet", "."), '"inspcet" is not a command; the nearest is "inspect". ' + commands),
            (("--memory", "1G", "verfy", "."), '"verfy" is not a command; the nearest is "verify". ' + commands),
            (("zzzzzz",), '"zzzzzz" is not a command. ' + commands),
            (("x" * 10_000_000)[:100_000].split(), "x\" is not a command. " + commands),
            ((), "no command was given. " + commands),
            (("help", "vonvert"), '"vonvert" is not a command; the nearest is "convert". ' + commands),
            (("cat", ".", "--slise", "1"), '"--slise" is not an option; the nearest is "--slice". The options'),
            (("convert", "a", "b", "--olny=x"), 'the nearest is "--only". The options are: --chunk, --codec,'),
        ]:
            self.assertIn(answer, self.refused(*words))

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.text("completion", shell)
            for word in ("inspect", "overwrite", "tolerance", "safetensors"):
                self.assertIn(word, script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script.encode(), check=True)

        def complete(*words):
            program = self.text("completion", "bash") + (
                f"COMP_WORDS=({' '.join(words)}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
                '_zarrpoint; printf "%s\\n" "${COMPREPLY[@]}"'
            )
            said = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
            return said.stdout.splitlines()

        self.assertEqual(complete("zarrpoint", "co"), ["convert", "completion"])
        self.assertEqual(complete("zarrpoint", "cat", "x", "--s"), ["--slice"])
        self.assertEqual(complete("zarrpoint", "help", "ver"), ["verify"])
        self.assertEqual(complete("zarrpoint", "convert", "a", "b", "--to", "zarr"), ["zarr3", "zarr2"])

    def test_completion_of_names_of_arrays(self):
        path = self.folder / "names.safetensors"
        hostile = f"$(touch {self.folder}/ran) `touch {self.folder}/ran`"
        save_file({name: np.zeros(2) for name in ("layers/0/w", "layers/0/b", "other one", hostile)}, path)
        names = self.text("inspect", path, "--names").splitlines()
        self.assertEqual(sorted(names), sorted(["layers/0/b", "layers/0/w", "other one", hostile]))
        self.refused("inspect", path, "--names", "--json")

        def complete(command, *words):
            program = self.text("completion", "bash") + (
                f"zarrpoint() {{ '{COMMAND}' \"$@\"; }}\nCOMP_WORDS=(zarrpoint {command} '{path}' {' '.join(words)}); "
                'COMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_zarrpoint; printf "%s\\n" "${COMPREPLY[@]}"'
            )
            return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.splitlines()

        self.assertEqual(complete("cat", "lay"), ["layers/0/b", "layers/0/w"])
        self.assertEqual(complete("stats", "--bins", "3", "o"), ["other\\ one"])
        self.assertEqual(len(complete("inspect", "''")), 4)
        self.assertFalse((self.folder / "ran").exists())

    def test_completion_and_the_manual_know_every_option(self):
        manual = (ROOT / "tools/cli/zarrpoint.1").read_text().replace("\\-", "-")
        for command in ("inspect", "cat", "verify", "convert", "diff", "stats"):
            for option in re.findall(r"^  (?:-h,)?(--[a-z]+)", self.text(command, "--help"), re.M):
                self.assertIn(option, manual)
                for shell in ("bash", "zsh", "fish"):
                    name = option if shell != "fish" else option[2:]
                    self.assertIn(name, self.text("completion", shell) + "--help")
        if shutil.which("man"):
            shown = subprocess.run(
                ["man", "--warnings", "-l", str(ROOT / "tools/cli/zarrpoint.1")],
                capture_output=True,
                env={**os.environ, "MANPAGER": "cat"},
                check=True,
            )
            self.assertEqual(shown.stderr, b"")
            self.assertIn(b"EXIT STATUS", shown.stdout)
