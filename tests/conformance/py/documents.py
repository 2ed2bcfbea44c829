# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Metadata documents that are not quite as the specification has them: who opens them."""

import json
import shutil

from cases import array_v2, array_v3
from chains import Chain, bytes_codec, codec
from exchange import peer_step
from kinds import KINDS
from ours import Crashed, Refused
from peers import PEERS

OPENS, REFUSES = "opens", "–"
LITTLE = codec("bytes", endian="little")


def v3(**changes):
    kind = KINDS["float32"]
    case = array_v3(kind, Chain("document", "document", [bytes_codec(kind)]))
    case.document |= changes
    for name in [name for name, value in changes.items() if value is ...]:
        del case.document[name]
    return case


def v2(**changes):
    case = array_v2(KINDS["float32"], Chain("document", "document", v2={}))
    case.document |= changes
    for name in [name for name, value in changes.items() if value is ...]:
        del case.document[name]
    return case


def documents():
    """(what is unusual, the case, whether zarrpoint opens it)"""
    yield "unknown member, an object with `must_understand: false`", v3(x={"name": "x", "must_understand": False}), True
    yield "any other unknown member", v3(x=1), False
    yield "unknown codec with `must_understand: false`", v3(codecs=[LITTLE, {"name": "x", "must_understand": False}]), True
    yield "unknown codec", v3(codecs=[LITTLE, {"name": "x"}]), False
    yield "codec as a bare string", v3(codecs=[LITTLE, "crc32c"]), True
    yield "unknown member beside `name` of a codec", v3(codecs=[LITTLE | {"x": 1}]), False
    yield "`endian` for `bytes`", v3(codecs=[codec("endian", endian="little")]), True
    yield "`bytes` without `endian`", v3(codecs=[codec("bytes")]), False
    yield "`transpose` of order \"F\"", v3(codecs=[codec("transpose", order="F"), LITTLE]), True
    yield "two array-to-bytes codecs", v3(codecs=[LITTLE, LITTLE]), False
    yield "no codecs", v3(codecs=[]), False
    yield "blosc with shuffle and no typesize", v3(codecs=[LITTLE, codec(
        "blosc", cname="lz4", clevel=5, shuffle="shuffle", blocksize=0)]), True  # fmt: skip
    yield "`dimension_names: null`", v3(dimension_names=None), True
    yield "`storage_transformers: []`", v3(storage_transformers=[]), True
    yield "unknown storage transformer", v3(storage_transformers=[{"name": "x"}]), False
    yield "`attributes: null`", v3(attributes=None), True
    yield "NaN in the attributes", v3(attributes={"x": float("nan")}), True
    yield "an integer beyond 64 bits in the attributes", v3(attributes={"x": 2**100}), True
    yield "half of a surrogate pair in the attributes", v3(attributes={"x": "\ud800"}), True
    yield "gzip with level `3.0`", v3(codecs=[LITTLE, codec("gzip", level=3.0)]), True
    yield "no `fill_value`", v3(fill_value=...), False
    yield "`fill_value: null`", v3(fill_value=None), False
    yield "`fill_value: NaN`", v3(fill_value=float("nan")), False
    yield "no `node_type`", v3(node_type=...), False
    yield "`data_type` as `{\"name\": \"float32\"}`", v3(data_type={"name": "float32"}), True
    yield "unknown `data_type`", v3(data_type="float128"), False
    yield "shape of whole floats", v3(shape=[7.0, 10.0]), True
    yield "negative shape", v3(shape=[-7, 10]), False
    yield "chunk shape of another rank", v3(chunk_grid={
        "name": "regular", "configuration": {"chunk_shape": [4]}}), False  # fmt: skip
    yield "chunk extent 0", v3(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 6]}}), False
    for name, keys in (("without configuration", {"name": "default"}), ("as a bare string", "default"),
                       ("with the separator beside the name", {"name": "default", "separator": "/"})):  # fmt: skip
        yield f"key encoding {name}", v3(chunk_key_encoding=keys), True
    yield "v2: unknown member", v2(x=1), True
    yield "v2: `filters: []`", v2(filters=[]), True
    yield "v2: no `filters`", v2(filters=...), True
    yield "v2: no `compressor`", v2(compressor=...), True
    yield "v2: no `order`", v2(order=...), False
    yield "v2: no `fill_value`", v2(fill_value=...), False
    yield "v2: `fill_value: null`", v2(fill_value=None), True
    yield "v2: `fill_value: NaN`", v2(fill_value=float("nan")), True
    yield "v2: `fill_value: [1.0]`", v2(fill_value=[1.0]), True
    yield "v2: gzip with level `3.0`", v2(compressor={"id": "gzip", "level": 3.0}), True
    yield "v2: unknown compressor", v2(compressor={"id": "x"}), False
    yield "v2: pickle", v2(dtype="|O", filters=[{"id": "pickle", "protocol": 5}], fill_value=0), False
    yield "v2: dtype without byte order", v2(dtype="f4"), False


def opened(side, path, case):
    try:
        side.ask(do="read", path=str(path))
    except Refused:
        return REFUSES
    except Crashed as failure:
        return str(failure)
    return OPENS


def results(ours, folder):
    """Rows of the table, and what zarrpoint does otherwise than it should."""
    rows, wrong = [], []
    for number, (what, case, accepts) in enumerate(documents()):
        path = folder / f"document-{number}"
        path.mkdir(parents=True)
        name = "zarr.json" if case.version == 3 else ".zarray"
        (path / name).write_text(json.dumps(case.document), encoding="utf-8")
        row = [what, opened(ours, path, case)]
        if row[1] != (OPENS if accepts else REFUSES):
            wrong.append(f"{what}: zarrpoint {row[1]}, expected {OPENS if accepts else REFUSES}")
        for peer in PEERS:
            if peer.name in ("zarr-python", "tensorstore"):
                row.append(REFUSES if peer_step(peer.read, path, case)[1] else OPENS)
        rows.append(row)
        shutil.rmtree(path)
    return rows, wrong
