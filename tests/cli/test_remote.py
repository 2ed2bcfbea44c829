# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What a web server on loopback has: it knows ranges and ETags, and has no listing."""

import os
import threading
import unittest
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import numpy as np
from safetensors.numpy import save_file

from support import FAILED, NO, OK, UNVERIFIED, Case, run


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.server.folder / unquote(self.path.split("?")[0]).lstrip("/")
        if not path.is_file():
            return self.answer(404)
        body = path.read_bytes()
        etag = f'"{zlib.crc32(body):x}-{len(body)}"'
        if self.headers.get("If-Match", etag) != etag:
            return self.answer(412)
        wanted = self.headers.get("Range")
        if wanted is None:
            self.server.sent += len(body)
            return self.answer(200, body, ETag=etag)
        first, last = wanted.removeprefix("bytes=").split("-")
        if not first:  # so many of the last ones
            first, last = max(0, len(body) - int(last)), len(body)
        part = body[int(first) : int(last) + 1]
        if not part:
            return self.answer(416, Content_Range=f"bytes */{len(body)}")
        self.server.sent += len(part)
        told = f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}"
        return self.answer(206, part, ETag=etag, Content_Range=told)


class Remote(Case):
    def setUp(self):
        super().setUp()
        if b"no store for" in run("verify", "http://127.0.0.1:1/x").stdout:
            self.skipTest("the command was built without libcurl")
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.folder, self.server.sent = self.folder, 0
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.w = np.arange(300_000, dtype=np.float32)
        save_file({"w": self.w, "b": np.ones(3)}, self.folder / "m.safetensors")

    def convert(self, to, *options):
        self.expect(OK, "convert", self.folder / "m.safetensors", self.folder / to, *options)

    def test_verify_of_what_has_its_own_list(self):
        self.convert("ours.zarr")
        self.convert("v2.zarr", "--to", "zarr2")
        self.convert("ours.zip")
        np.savez(self.folder / "m.npz", w=self.w)
        for name in ["m.safetensors", "ours.zarr", "ours.zarr/", "v2.zarr", "ours.zip", "m.npz"]:
            with self.subTest(name):
                told = self.json("verify", f"{self.url}/{name}")
                self.assertEqual(told["verdict"], "ok")
                self.assertEqual(told["elements_read"], told["elements"])
                self.assertGreaterEqual(told["elements"], 300_000)

    def test_verify_of_ours_finds_what_is_missing_and_damaged(self):
        self.convert("ours.zarr")
        array = self.folder / "ours.zarr/w"
        chunk = next(one for one in array.rglob("*") if one.is_file() and one.name != "zarr.json")
        whole = chunk.read_bytes()
        chunk.write_bytes(whole[:1000] + b"?" + whole[1001:])
        told = self.json("verify", f"{self.url}/ours.zarr", status=NO)
        self.assertEqual([one["key"] for one in told["findings"]], [str(chunk.relative_to(array))])
        chunk.unlink()
        told = self.json("verify", f"{self.url}/ours.zarr", status=NO)
        self.assertIn("it is missing", told["findings"][0]["message"])

    def test_verify_of_others_tells_what_nobody_knows(self):
        import zarr

        group = zarr.open_group(self.folder / "others.zarr", mode="w")
        group.create_array("w", data=self.w, chunks=(100_000,))
        zarr.consolidate_metadata(self.folder / "others.zarr")
        told = self.json("verify", f"{self.url}/others.zarr", status=UNVERIFIED)
        self.assertEqual(told["elements_read"], 300_000)
        self.assertIn("cannot be listed", told["findings"][0]["message"])
        self.assertEqual(self.json("verify", f"{self.url}/others.zarr/w")["verdict"], "ok")
        (self.folder / "others.zarr/w/c/1").unlink()
        told = self.json("verify", f"{self.url}/others.zarr/w")
        self.assertEqual((told["elements_read"], told["elements_not_stored"]), (200_000, 100_000))
        # Chunks without number are not asked for one by one.
        document = self.folder / "others.zarr/w/zarr.json"
        text = document.read_text().replace("300000", "30000000000").replace("100000", "1")
        document.write_text(text)
        told = self.json("verify", f"{self.url}/others.zarr/w", status=UNVERIFIED)
        self.assertIn("too many", told["findings"][0]["message"])

    def test_cache(self):
        self.convert("ours.zarr")
        cache = self.folder / "cache"
        env = os.environ | {"ZARRPOINT_CACHE": str(cache), "ZARRPOINT_CACHE_SIZE": "1G"}
        read = lambda: self.expect(OK, "cat", f"{self.url}/ours.zarr", "w", "--raw", env=env).stdout
        self.assertEqual(read(), self.w.tobytes())
        first, self.server.sent = self.server.sent, 0
        self.assertGreater(first, 1_200_000)
        self.assertEqual(read(), self.w.tobytes())
        self.assertLess(self.server.sent, 200_000)
        # Damaged blocks are not served.
        for one in cache.iterdir():
            one.write_bytes(one.read_bytes()[:-7] + b"damaged")
        self.assertEqual(read(), self.w.tobytes())
        self.w += 1
        save_file({"w": self.w, "b": np.ones(3)}, self.folder / "m.safetensors")
        self.convert("ours.zarr", "--overwrite")
        self.assertEqual(read(), self.w.tobytes())
        # verify reads what the server has.
        self.server.sent = 0
        self.expect(OK, "verify", f"{self.url}/ours.zarr", env=env)
        self.assertGreater(self.server.sent, 1_200_000)
        for name, value in [("ZARRPOINT_CACHE", "/dev/null/x"), ("ZARRPOINT_CACHE_SIZE", "much")]:
            self.expect(FAILED, "cat", f"{self.url}/ours.zarr", "w", env=env | {name: value})


if __name__ == "__main__":
    unittest.main()
