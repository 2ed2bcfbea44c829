# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The command watch: what happens to the steps of a run."""

import json
import shutil
import signal
import subprocess
import time

from support import COMMAND, FAILED, NO, OK, SCHEMAS, Case
from test_steps import make_step


class Watch(Case):
    def setUp(self):
        super().setUp()
        self.watched = []
        self.addCleanup(lambda: [each.kill() for each in self.watched if each.poll() is None])

    def begin(self, run, *options):
        command = [COMMAND, "watch", str(run), "--interval", "20ms", "--json", *options]
        self.watched.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        )
        return self.watched[-1]

    def line(self, of):
        """The next line, which comes at once and not when the program ends."""
        text = of.stdout.readline()
        self.assertTrue(text, of.stderr.read() if of.poll() is not None else "no line")
        out = json.loads(text)
        SCHEMAS["watch"].validate(out)
        return out

    def test_follows(self):
        run = self.folder / "run"
        make_step(run, 9, 0.5)
        seen = self.begin(run)
        there = self.line(seen)
        self.assertEqual((there["event"], there["step"], there["seconds"]), ("there", 9, None))
        self.assertGreater(there["bytes"], 0)
        make_step(run, 10, 0.25, saved_at=1_700_000_002_500)
        saved = self.line(seen)
        self.assertEqual((saved["event"], saved["step"], saved["metrics"]), ("saved", 10, {"loss": 0.25}))
        self.assertAlmostEqual(saved["seconds"], 2.5 - 0.009)
        shutil.rmtree(run / "step_00000009")
        gone = self.line(seen)
        # What is half removed may be seen as that, on a slow disk.
        while gone["event"] == "damaged":
            gone = self.line(seen)
        self.assertEqual((gone["event"], gone["step"]), ("removed", 9))
        shutil.rmtree(run / "step_00000010")
        make_step(run, 10, 0.125, saved_at=1_700_000_009_000)  # saved anew
        again = self.line(seen)
        while again["event"] != "saved":
            again = self.line(seen)
        self.assertEqual(again["metrics"], {"loss": 0.125})
        seen.send_signal(signal.SIGINT)
        self.assertEqual(seen.wait(60), 130)

    def test_waits_for_a_run_that_begins_later(self):
        run = self.folder / "run"
        seen = self.begin(run, "--once", "--timeout", "5m")
        self.assertIn("has no steps yet", seen.stderr.readline())
        self.assertFalse(run.exists())
        make_step(run, 1, 0.5)
        self.assertEqual(self.line(seen)["event"], "saved")
        self.assertEqual(seen.wait(60), OK)

    def test_ends_in_time(self):
        run = self.folder / "run"
        make_step(run, 1, 0.5)
        text = self.text("watch", run, "--timeout", "100ms")
        self.assertIn("there    step 1", text)
        self.assertIn("loss 0.5", text)
        self.expect(NO, "watch", run, "--timeout", "100ms", "--once")
        self.expect(NO, "watch", self.folder / "none", "--timeout", "50ms", "--once")

    def test_damage(self):
        run = self.folder / "run"
        make_step(run, 1, 0.5)
        (run / "step_00000001/zarrpoint_step.json").write_text("{}")
        text = self.text("watch", run, "--timeout", "50ms")
        self.assertIn("damaged  step 1", text)

    def test_usage(self):
        for options in (("--interval", "x"), ("--timeout", "7"), ("--timeout", "-1s"), ("--interval", "")):
            self.expect(FAILED, "watch", self.folder, *options)

    def test_is_not_in_the_way(self):
        run = self.folder / "run"
        make_step(run, 1, 0.5)
        make_step(run, 2, 0.25)
        seen = self.begin(run)
        self.line(seen)
        time.sleep(0.1)
        self.expect(OK, "prune", run, "--newest", "1")
        self.assertEqual(self.line(seen)["step"], 2)
        self.assertEqual(self.line(seen)["event"], "removed")
