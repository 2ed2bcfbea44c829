# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in S3, with servers on loopback: s3_check.py PROGRAM, which is tests/interop/s3_exchange.cpp.

The server is s3_server.py, which checks signatures; TensorStore reads there what we put, and we what it put. Where they
are installed, botocore is the oracle of signatures, and zarr-python reads by obstore. `S3_CHECK_ENDPOINT` names another
server, with its keys in the environment and a bucket `bucket`.
"""

import importlib.util
import os
import random
import subprocess
import sys
import urllib.error
import urllib.request

import numpy
import s3_server

PROGRAM = sys.argv[1]


def run(*arguments, secret=None, expect=0, stdin=None):
    environment = dict(os.environ, **({"AWS_SECRET_ACCESS_KEY": secret} if secret else {}))
    done = subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True, input=stdin, timeout=300)
    if done.returncode != expect:
        raise SystemExit(f"{arguments}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def use(server):
    os.environ.update(AWS_ENDPOINT_URL=server.url, AWS_ACCESS_KEY_ID=server.access, AWS_SECRET_ACCESS_KEY=server.secret,
                      AWS_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true")  # fmt: skip


def check_saves():
    """The first checkpoint, one that replaces it, odd keys, several parts, and nothing else afterwards."""
    for url in ("s3://bucket/m.zarr", "s3://bucket/a b+c%41/\u0431 &<>'\"~!*()"):
        for value in ("1", "2", "3"):
            run("save", url, value)
            assert run("read", url) == value
        assert run("list", url).split() == ["layers/", "step/", "zarr.json"]
        run("remove", url)
        assert run("list", url) == ""
        assert "not_found" in run("read", url, expect=1)
    run("big", "s3://bucket/big", "17")
    run("remove", "s3://bucket/big")


def check_stand_in(server):
    assert not server.objects and not server.uploads, list(server.objects)
    told = run("save", "s3://bucket/m.zarr", "1", secret="wrong", expect=1)
    assert "SignatureDoesNotMatch" in told and "wrong" not in told, told
    assert not server.objects
    run("save", "s3://bucket/m.zarr", "1")
    url = run("presign", "s3://bucket/m.zarr", "zarr.json")
    with urllib.request.urlopen(url) as answer:
        assert b"zarrpoint" in answer.read()
    try:
        urllib.request.urlopen(url.replace("zarr.json", "step/c"))
        raise SystemExit("a signature of another object is taken")
    except urllib.error.HTTPError as error:
        assert error.code == 403
    run("remove", "s3://bucket/m.zarr")
    server.conditions = False
    told = run("save", "s3://bucket/m.zarr", "1", expect=1)
    assert told.startswith("error unsupported") and not server.objects, told
    server.conditions = True


def check_tensorstore(server):
    if importlib.util.find_spec("tensorstore") is None:
        return print("skipped: tensorstore")
    import tensorstore

    def spec(path, **more):
        return {"driver": "zarr3", **more, "kvstore": {"driver": "s3", "bucket": "bucket", "path": path, "endpoint": os.environ["AWS_ENDPOINT_URL"],
                "aws_region": "us-east-1", "aws_credentials": {"type": "environment"}}}  # fmt: skip

    run("save", "s3://bucket/ours.zarr", "7")
    array = tensorstore.open(spec("ours.zarr/layers/0/w/")).result().read().result()
    assert array.dtype == numpy.float32 and (array == 7).all() and array.shape == (300000,)
    metadata = {"shape": [1000], "data_type": "float32", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [100]}}}
    theirs = tensorstore.open(spec("theirs/layers/0/w/", metadata=metadata), create=True).result()
    theirs.write(numpy.full(1000, 5, numpy.float32)).result()
    with_group = getattr(server, "store", None)
    if with_group is not None:
        for key in ("theirs/zarr.json", "theirs/layers/zarr.json", "theirs/layers/0/zarr.json"):
            server.store(key, b'{"zarr_format":3,"node_type":"group","attributes":{}}', {})
        assert run("read", "s3://bucket/theirs") == "5"


def check_zarr(server):
    if importlib.util.find_spec("obstore") is None or importlib.util.find_spec("zarr") is None:
        return print("skipped: zarr-python by obstore")
    import obstore.store
    import zarr

    run("save", "s3://bucket/zarr.zarr", "3")
    store = obstore.store.S3Store("bucket", prefix="zarr.zarr", endpoint=server.url, access_key_id=server.access, secret_access_key=server.secret,
                                  region="us-east-1", client_options={"allow_http": True})  # fmt: skip
    group = zarr.open_group(zarr.storage.ObjectStore(store, read_only=True), mode="r")
    assert (group["layers/0/w"][:] == 3).all() and group["step"][()] == 3


def check_signatures():
    """Random requests, as botocore signs them."""
    if importlib.util.find_spec("botocore") is None:
        return print("skipped: botocore")
    import datetime
    from unittest import mock

    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    from urllib.parse import quote

    draw = random.Random(1)
    pieces = list("abcXYZ019-._~!$&'()*,;=:@+% /") + ["//", "..", "\u0431", "\u20ac", "\U0001f600", "%2F", "%20"]
    now = datetime.datetime(2026, 11, 28, 12, 34, 56)
    lines, wanted = [], []
    for number in range(2000):
        text = lambda most: "".join(draw.choices(pieces, k=draw.randrange(most)))
        path = quote("/bucket/" + text(30), safe="/-_.~")
        pairs = sorted((quote(text(8) + "k", safe="-_.~"), quote(text(8), safe="-_.~")) for _ in range(draw.randrange(4)))
        query = "&".join(f"{name}={value}" for name, value in pairs)
        url = "https://host.example:8443" + path + ("?" + query if query else "")
        token = draw.choice(["", "token/+="])
        headers = {f"x-amz-meta-{n}": draw.choice(["a", "a  b", " c ", "\u0431"]).strip() for n in range(draw.randrange(3))}
        request = AWSRequest(method=draw.choice(["GET", "PUT", "DELETE"]), url=url, headers=dict(headers))
        keys = Credentials("AKIAKEY", "s/ecret+", token or None)
        with mock.patch("botocore.auth.get_current_datetime", return_value=now, create=True), mock.patch("botocore.auth.datetime", create=True) as old:
            old.datetime.utcnow.return_value = now
            botocore.auth.S3SigV4Auth(keys, "s3", "eu-west-1").add_auth(request)
        wanted.append(request.headers["Authorization"])
        fields = [request.method, url, request.headers["X-Amz-Content-SHA256"], "AKIAKEY", "s/ecret+", token, str(int(now.replace(tzinfo=datetime.timezone.utc).timestamp())), "eu-west-1"]
        lines.append("\t".join(fields + [part for pair in headers.items() for part in pair]))
    got = run("sign", stdin="\n".join(lines) + "\n").split("\n")
    wrong = [(line, a, b) for line, a, b in zip(lines, got, wanted) if a != b]
    assert len(got) == len(wanted) and not wrong, (len(wrong), wrong[:2])
    print(f"signatures of {len(got)} requests are those of botocore")


def main():
    endpoint = os.environ.get("S3_CHECK_ENDPOINT")
    if endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        check_saves()
        return print(f"checkpoints in {endpoint}: ok")
    server = s3_server.Server()
    use(server)
    check_saves()
    check_stand_in(server)
    check_tensorstore(server)
    check_zarr(server)
    check_signatures()
    print("checkpoints in S3: ok")
    return None


main()
