#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The peers of run.py, each in a process of its own.

    peers.py make FOLDER               the tensors of FOLDER/model.zarr, one chunk each, as FOLDER/peers
    peers.py load LIBRARY URL FOLDER   all tensors of URL/peers; prints the seconds, and compares all bytes
    peers.py save LIBRARY URL FOLDER   the bytes of all tensors as objects beneath URL/saved; prints the seconds

LIBRARY is tensorstore, obstore (under zarr-python), s3fs (under zarr-python) or boto3 (objects alone).
The server is asked without keys. Exit status 3: the library is not there.
"""

import asyncio
import io
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

NOT_THERE = 3
UNDER_WAY = 32


def originals(folder):
    """name -> the bits, mapped: a shard of zarrpoint's begins with its elements."""
    out = {}
    for name, shape in json.loads((folder / "shapes.json").read_text(encoding="utf-8")).items():
        stored = next(path for path in (folder / "model.zarr" / name).rglob("*") if path.is_file() and path.name != "zarr.json")
        out[name] = np.memmap(stored, np.uint16, mode="r", shape=tuple(shape))
    return out


def make(folder):
    import zarr

    group = zarr.create_group(str(folder / "peers"), overwrite=True)
    for name, bits in originals(folder).items():
        group.create_array(name, data=np.array(bits), chunks=bits.shape, compressors=None)


def tensorstore_base(url, driver="http"):
    if driver == "http":
        return {"driver": "http", "base_url": url}
    return {"driver": "s3", "bucket": "bucket", "endpoint": url, "aws_region": "us-east-1", "aws_credentials": {"type": "anonymous"}}


def load_tensorstore(url, tensors):
    import tensorstore as ts

    context, began = ts.Context({"http_request_concurrency": {"limit": UNDER_WAY}}), time.perf_counter()
    opened = {name: ts.open({"driver": "zarr3", "kvstore": tensorstore_base(f"{url}/peers/{name}/")}, read=True, context=context) for name in tensors}
    reads = {name: array.result().read() for name, array in opened.items()}
    return {name: read.result() for name, read in reads.items()}, time.perf_counter() - began


def load_zarr(store, tensors):
    """All at once: a tensor is one chunk."""
    import zarr

    zarr.config.set({"async.concurrency": UNDER_WAY})

    async def load():
        group = await zarr.api.asynchronous.open_group(store, mode="r")

        async def one(name):
            return await (await group.getitem(name)).getitem(...)

        return dict(zip(tensors, await asyncio.gather(*map(one, tensors))))

    return asyncio.run(load())


def load_obstore(url, tensors):
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore

    began = time.perf_counter()
    store = ObjectStore(HTTPStore.from_url(f"{url}/peers", client_options={"allow_http": True}), read_only=True)
    return load_zarr(store, tensors), time.perf_counter() - began


def load_s3fs(url, tensors):
    import s3fs
    from zarr.storage import FsspecStore

    began = time.perf_counter()
    files = s3fs.S3FileSystem(anon=True, asynchronous=True, endpoint_url=url, config_kwargs={"max_pool_connections": UNDER_WAY})
    loaded = load_zarr(FsspecStore(files, path="peers", read_only=True), tensors)
    return loaded, time.perf_counter() - began


def boto3_manager(url):
    """Transfers by threads: its CRT takes no server on loopback."""
    import boto3
    from boto3.s3.transfer import TransferConfig, create_transfer_manager
    from botocore import UNSIGNED
    from botocore.config import Config

    config = Config(
        signature_version=UNSIGNED,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path"},
        max_pool_connections=UNDER_WAY,
    )
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", config=config)
    return create_transfer_manager(client, TransferConfig(max_concurrency=UNDER_WAY, preferred_transfer_client="classic"))


def load_boto3(url, tensors):
    began = time.perf_counter()
    with boto3_manager(url) as manager:
        bodies = {name: io.BytesIO() for name in tensors}
        for each in [manager.download("peers", f"{name}/c/0/0", body) for name, body in bodies.items()]:
            each.result()
    return {name: np.frombuffer(body.getbuffer(), np.uint16) for name, body in bodies.items()}, time.perf_counter() - began


def save_tensorstore(url, tensors):
    import tensorstore as ts

    context, began = ts.Context({"s3_request_concurrency": {"limit": UNDER_WAY}}), time.perf_counter()
    store = ts.KvStore.open(tensorstore_base(url, "s3") | {"path": "saved/"}, context=context).result()
    for each in [store.write(name, bits.tobytes()) for name, bits in tensors.items()]:
        each.result()
    return time.perf_counter() - began


def save_obstore(url, tensors):
    import obstore
    from obstore.store import S3Store

    began = time.perf_counter()
    store = S3Store("bucket", endpoint=url, region="us-east-1", skip_signature=True, client_options={"allow_http": True})

    async def save():
        await asyncio.gather(*(obstore.put_async(store, f"saved/{name}", memoryview(bits).cast("B")) for name, bits in tensors.items()))

    asyncio.run(save())
    return time.perf_counter() - began


def save_s3fs(url, tensors):
    import s3fs

    began = time.perf_counter()
    files = s3fs.S3FileSystem(anon=True, endpoint_url=url, config_kwargs={"max_pool_connections": UNDER_WAY})
    files.pipe({f"bucket/saved/{name}": bits.tobytes() for name, bits in tensors.items()})
    return time.perf_counter() - began


def save_boto3(url, tensors):
    began = time.perf_counter()
    with boto3_manager(url) as manager:
        for each in [manager.upload(io.BytesIO(memoryview(bits).cast("B")), "bucket", f"saved/{name}") for name, bits in tensors.items()]:
            each.result()
    return time.perf_counter() - began


def main(arguments):
    if arguments[0] == "make":
        make(Path(arguments[1]))
        return 0
    what, library, url, folder = arguments
    wanted = originals(Path(folder))
    os.environ |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_EC2_METADATA_DISABLED": "true"}
    try:
        if what == "save":
            memory = {name: np.array(bits) for name, bits in wanted.items()}
            print(f"{globals()[f'save_{library}'](url, memory):.6f}")
            return 0
        loaded, seconds = globals()[f"load_{library}"](url, wanted)
    except ImportError as error:
        print(error, file=sys.stderr)
        return NOT_THERE
    for name, bits in wanted.items():
        if not np.array_equal(np.asarray(loaded[name]).view(np.uint16).reshape(bits.shape), bits):
            print(f"{library}: {name} has other elements", file=sys.stderr)
            return 1
    print(f"{seconds:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
