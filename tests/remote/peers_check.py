# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Which client opens what we put into a bucket, and the reverse: peers_check.py PROGRAM FOLDER [rgw].

PROGRAM is tests/interop/s3_exchange.cpp. Servers are our stand-in, moto and `rclone serve s3`; with `rgw` the one that the
environment names. Prints a row for each, as docs/conformance.md has them, and fails where one is not as it is there.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import botocore.config
import numpy
import obstore.store
import tensorstore
import zarr

sys.path.insert(0, str(Path(__file__).parent.parent / "interop" / "py"))
import s3_server  # noqa: E402

PROGRAM, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
KEYS = {"AWS_ACCESS_KEY_ID": "peersaccess", "AWS_SECRET_ACCESS_KEY": "peers-secret-0123", "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true"}  # fmt: skip
ARRAY = numpy.full(1000, 5, numpy.float32)


def ours(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def client():
    how = botocore.config.Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
                                 response_checksum_validation="when_required")  # fmt: skip
    return boto3.session.Session().client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1", config=how)


def by_obstore(prefix):
    store = obstore.store.S3Store("bucket", prefix=prefix, endpoint=os.environ["AWS_ENDPOINT_URL"], region="us-east-1",
                                  access_key_id=os.environ["AWS_ACCESS_KEY_ID"], client_options={"allow_http": True},
                                  secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"])  # fmt: skip
    return zarr.storage.ObjectStore(store)


def tensorstore_spec(path, **more):
    return {"driver": "zarr3", **more, "kvstore": {"driver": "s3", "bucket": "bucket", "path": path, "endpoint": os.environ["AWS_ENDPOINT_URL"],
            "aws_region": "us-east-1", "aws_credentials": {"type": "environment"}}}  # fmt: skip


def zarr_reads(store):
    group = zarr.open_group(store, mode="r")
    return bool((group["layers/0/w"][:] == 7).all() and group["step"][()] == 7)


def zarr_writes(store):
    group = zarr.create_group(store, overwrite=True)
    group.require_group("layers").require_group("0").create_array("w", data=ARRAY, chunks=(100,))


def tensorstore_reads():
    return bool((tensorstore.open(tensorstore_spec("ours/layers/0/w/")).result().read().result() == 7).all())


def tensorstore_writes(prefix):
    metadata = {"shape": [1000], "data_type": "float32", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [100]}}}
    tensorstore.open(tensorstore_spec(f"{prefix}/layers/0/w/", metadata=metadata), create=True).result().write(ARRAY).result()
    for folder in ("", "layers/", "layers/0/"):
        client().put_object(Bucket="bucket", Key=f"{prefix}/{folder}zarr.json", Body=b'{"zarr_format":3,"node_type":"group","attributes":{}}')


def boto3_reads():
    text = client().get_object(Bucket="bucket", Key="ours/zarr.json")["Body"].read()
    return b"zarrpoint" in text


def boto3_writes(prefix):
    local = FOLDER / "local"
    zarr_writes(str(local))
    for path in local.rglob("*"):
        if path.is_file():
            client().put_object(Bucket="bucket", Key=f"{prefix}/{path.relative_to(local)}", Body=path.read_bytes())


CLIENTS = {
    "zarr-python, obstore": (lambda: zarr_reads(by_obstore("ours")), lambda prefix: zarr_writes(by_obstore(prefix))),
    "TensorStore": (tensorstore_reads, tensorstore_writes),
    "boto3": (boto3_reads, boto3_writes),
}


def attempt(what):
    try:
        return "yes" if what() else "other values"
    except Exception as failure:
        return "no: " + " ".join(f"{type(failure).__name__}: {failure}".split())[:160]


def check(server):
    """Rows of clients: whether each opens ours, and whether we open what it put."""
    rows = []
    said = ours("save", "s3://bucket/ours", "7")
    for number, (name, (reads, writes)) in enumerate(CLIENTS.items()):
        opens = attempt(reads) if not said else "not saved: " + said[:200]

        def back():
            writes(f"theirs{number}")
            return ours("read", f"s3://bucket/theirs{number}") == "5"

        rows.append((server, name, opens, attempt(back)))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    return rows


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def with_server(name, command, port):
    os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        client().create_bucket(Bucket="bucket")
        return check(name)
    finally:
        server.kill()
        server.wait()


def main():
    for folder in ("rclone", "local"):
        shutil.rmtree(FOLDER / folder, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("| server | client | opens ours | ours opens its |\n|---|---|---|---|")
    rows = []
    if "rgw" in sys.argv:
        client().create_bucket(Bucket="bucket")
        rows += check("Ceph RGW")
    tools = Path(sys.executable).parent
    stand_in = s3_server.Server()
    os.environ.update(AWS_ENDPOINT_URL=stand_in.url, AWS_ACCESS_KEY_ID=stand_in.access, AWS_SECRET_ACCESS_KEY=stand_in.secret,
                      AWS_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true")  # fmt: skip
    rows += check("the stand-in")
    port = free_port()
    rows += with_server("moto", [tools / "moto_server", "-H", "127.0.0.1", "-p", str(port)], port)
    port = free_port()
    (FOLDER / "rclone").mkdir()
    rows += with_server("rclone", [tools / "rclone", "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key",
                                   f"{KEYS['AWS_ACCESS_KEY_ID']},{KEYS['AWS_SECRET_ACCESS_KEY']}", FOLDER / "rclone"], port)  # fmt: skip
    def is_right(row):
        # What ignores conditions is saved to only by one writer, who says so.
        refused = row[0] == "rclone" and row[2].startswith("not saved: error unsupported") and "ignores the conditions" in row[2]
        return (row[2] == "yes" or refused) and row[3] == "yes"

    wrong = [row for row in rows if not is_right(row)]
    if wrong:
        raise SystemExit(f"FAILED: {wrong}")
    print("clients and servers of S3: ok")


main()
