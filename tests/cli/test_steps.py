# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of a training run: steps, keep, rm and prune; test_watch.py has watch."""

import json
import shutil

import google_crc32c
import numpy as np
from safetensors.numpy import save_file
from support import FAILED, NO, OK, Case


def mark_of(step, metrics, files, saved_at):
    """What a manager writes beside the items of a step."""
    out = {"version": 1, "step": step, "saved_at_ms": saved_at, "metrics": metrics}
    out |= {"items": sorted({name.split("/")[0] for name in files}), "files": files}
    text = json.dumps(out, separators=(",", ":"))
    out["crc32c"] = f"{google_crc32c.value(text.encode()):08x}"
    return out


def make_step(run, step, loss, saved_at=None):
    """A step with one item, as a manager writes it: under another name until it is whole."""
    run.mkdir(exist_ok=True)
    at = run / f".{step}.tmp"
    at.mkdir()
    save_file({"w": np.full(10, step, np.float32)}, at / "w.safetensors")
    size = (at / "w.safetensors").stat().st_size
    mark = mark_of(step, {"loss": loss}, {"w.safetensors": size}, saved_at or 1_700_000_000_000 + step)
    (at / "zarrpoint_step.json").write_text(json.dumps(mark))
    at.rename(run / f"step_{step:08d}")


class Steps(Case):
    def make_run(self, steps):
        """A run whose steps have one item each, as a manager writes them."""
        run = self.folder / "run"
        for step, loss in steps.items():
            make_step(run, step, loss)
        return run

    def names(self, run):
        return sorted(path.name for path in run.iterdir() if not path.name.startswith("."))

    def test_lists(self):
        run = self.make_run({9000: 0.5, 10000: 0.25})
        out = self.json("steps", run)
        self.assertEqual(out["latest"], 10000)
        self.assertEqual([one["step"] for one in out["steps"]], [9000, 10000])
        self.assertEqual(out["steps"][1]["metrics"], {"loss": 0.25})
        self.assertTrue(all(one["managed"] for one in out["steps"]))
        text = self.expect(OK, "steps", run).stdout.decode()
        self.assertIn("10000 *  step_00010000", text)
        self.assertIn("loss 0.25", text)

    def test_damage_is_told(self):
        run = self.make_run({1: 0.5, 2: 0.5})
        (run / "step_00000002/w.safetensors").write_bytes(b"cut off")
        shown = self.expect(NO, "steps", run)
        self.assertIn("damaged", shown.stdout.decode())
        self.assertIn("passed over", shown.stderr.decode())
        self.assertIn("1 *", shown.stdout.decode())

    def test_prune_shows_and_removes(self):
        run = self.make_run({1: 0.5, 2: 0.1, 3: 0.4, 4: 0.3, 10: 0.6})
        before = self.names(run)
        options = ("prune", run, "--newest", "2", "--best", "1:loss:lower")
        shown = self.expect(OK, *options, "--dry-run").stdout.decode()
        self.assertEqual(self.names(run), before)
        self.assertEqual(shown.count("would go"), 2)
        self.assertIn('the newest 2, or the best 1 by "loss" (lower is better)', shown)
        self.assertIn("\n2 steps, ", shown)
        self.assertEqual(self.text("keep", run, "1"), "kept  step 1\n")
        self.expect(OK, *options)
        self.assertEqual(self.names(run), [f"step_{n:08d}" for n in (1, 2, 4, 10)])
        self.assertIn("nothing goes", self.expect(OK, *options).stdout.decode())
        self.expect(OK, "keep", run, "1", "--no-longer")
        self.expect(OK, *options)
        self.assertEqual(self.names(run), [f"step_{n:08d}" for n in (2, 4, 10)])
        self.expect(OK, "prune", run, "--every", "2", "--max-size", "1")
        self.assertEqual(self.names(run), ["step_00000010"])  # the newest stays, whatever is asked

    def test_a_step_that_is_a_delta(self):
        run = self.folder / "run"
        for step in (1, 2):
            save_file({"w": np.arange(9000, dtype=np.int16) + step}, self.folder / "x.safetensors")
            self.expect(OK, "convert", self.folder / "x.safetensors", self.folder / f"step_{step}")
        run.mkdir()
        shutil.move(self.folder / "step_1", run / "step_1")
        self.expect(OK, "delta", run / "step_1", self.folder / "step_2", run / "step_2")
        out = self.json("steps", run)
        self.assertEqual(out["latest"], 2)
        self.assertEqual([one["base"] for one in out["steps"]], [None, 1])
        shutil.rmtree(run / "step_1")
        shown = self.expect(NO, "steps", run)
        self.assertIn("base", shown.stderr.decode())

    def test_rm(self):
        run = self.make_run({1: 0.5, 2: 0.1})
        self.assertIn("newest", self.expect(FAILED, "rm", run, "2").stderr.decode())
        self.expect(OK, "rm", run, "1")
        self.expect(FAILED, "rm", run, "1")
        self.expect(OK, "rm", run, "2", "--force")
        self.assertEqual(self.names(run), [])

    def test_what_others_wrote_stays(self):
        run = self.make_run({1: 0.5, 2: 0.1, 3: 0.2})
        (run / "step_00000001/zarrpoint_step.json").unlink()
        shutil.copytree(run / "step_00000002", run / "step_7")
        self.expect(FAILED, "rm", run, "1", "--force")
        self.expect(FAILED, "rm", run, "7", "--force")
        self.expect(OK, "prune", run, "--newest", "1")
        self.assertEqual(self.names(run), ["step_00000001", "step_00000003", "step_7"])

    def test_usage(self):
        run = self.make_run({1: 0.5})
        self.expect(FAILED, "steps", self.folder)
        self.expect(FAILED, "prune", run)
        for option in (("--newest", "x"), ("--newest", "-1"), ("--best", "1:loss"), ("--best", "1:loss:up"),
                       ("--max-age", "7"), ("--max-age", "99999999999999d"), ("--max-size", "much")):  # fmt: skip
            self.expect(FAILED, "prune", run, *option)
        self.expect(FAILED, "keep", run, "5")
        none = self.folder / "none"
        for command in (("steps",), ("prune", "--newest", "1"), ("rm", "1"), ("keep", "1")):
            said = self.refused(command[0], none, *command[1:])
            self.assertIn(f"{none} does not exist", said)
            self.assertFalse(none.exists())
