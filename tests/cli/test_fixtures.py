# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Every file below ZARRPOINT_FIXTURES: no crash, no wrong value, what is not supported has a name."""

import collections
import json
import os
import unittest
from pathlib import Path

from support import FAILED, NO, OK, Case, run

FIXTURES = os.environ.get("ZARRPOINT_FIXTURES")


@unittest.skipUnless(FIXTURES, "ZARRPOINT_FIXTURES names no folder")
class Fixtures(Case):
    def test_values_that_are_known(self):
        counts = collections.Counter()
        for index in sorted(Path(FIXTURES).rglob("index.json")):
            for one in json.loads(index.read_text()).get("arrays", []):
                if not isinstance(one, dict) or "case" not in one:
                    continue
                path = index.parent / one["case"]
                known = [path.with_name(path.name + ending) for ending in (".bin", ".json")]
                known = [k for k in known if k.exists()]
                if not known:
                    continue
                text = known[0].suffix == ".json"
                done = run("cat", path, "--json" if text else "--raw")
                if done.returncode == FAILED:
                    self.assertRegex(done.stderr.decode(), "^zarrpoint: unsupported: ", path)
                    counts["refused as unsupported"] += 1
                    continue
                if text:
                    self.assertEqual(json.loads(done.stdout), json.loads(known[0].read_text()), path)
                else:
                    self.assertEqual(done.stdout, known[0].read_bytes(), path)
                counts["equal"] += 1
        print(f"\n  known values: {dict(counts)}", flush=True)
        self.assertEqual(counts["refused as unsupported"], 0)

    def test_every_path(self):
        places = set()
        for folder, _, files in os.walk(FIXTURES):
            names = {"zarr.json", ".zarray", ".zgroup", "manifest.ocdbt", ".metadata", "_METADATA"}
            if names & set(files):
                places.add(folder)
            places |= {
                os.path.join(folder, f)
                for f in files
                if f.endswith((".zip", ".safetensors", ".npy", ".npz", ".index.json", ".pt", ".wav"))
            }
        counts = collections.Counter()
        for place in sorted(places):
            for command in ("inspect", "verify", "stats"):
                done = run(command, place, "--json")
                counts[command, done.returncode] += 1
                if done.returncode == OK:
                    json.loads(done.stdout)
                else:
                    self.assertTrue(done.stderr or done.stdout, place)
                if done.returncode == NO:
                    print(
                        "\n  faulty:",
                        place,
                        json.loads(done.stdout)["findings"][0]["message"][:150],
                        flush=True,
                    )
        print(f"\n  {len(places)} places, (command, exit status): {dict(counts)}", flush=True)
        self.assertGreater(len(places), 0)
