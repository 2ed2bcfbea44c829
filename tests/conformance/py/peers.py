# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The other implementations, each with the members of `Ours`: create, write, read.

An error of theirs is an exception. `create` has the peer write the metadata in its own spelling.
"""

import ctypes
import itertools
import json
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import tensorstore
import zarr
import zarrs  # noqa: F401  registers its codec pipeline with zarr
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.metadata.v2 import ArrayV2Metadata
from zarr.core.metadata.v3 import ArrayV3Metadata
from zarr.registry import register_codec

warnings.simplefilter("ignore")
zarr.config.set({"async.concurrency": 1, "threading.max_workers": 1})


def name_codec(name, base):
    """Has zarr-python hand over the metadata of a codec that zarrs may have, though it has not."""

    class Named(base):
        is_fixed_size = True

        def __init__(self, configuration):
            self.configuration = configuration

        @classmethod
        def from_dict(cls, data):
            return cls(data.get("configuration", {}))

        def to_dict(self):
            return {"name": name, "configuration": self.configuration}

        def compute_encoded_size(self, size, _spec):
            return size

        async def _decode_single(self, *_):
            raise NotImplementedError(name)

        _encode_single = _decode_single

    register_codec(name, Named)


for registered in ("reshape", "scale_offset", "bitround", "cast_value"):
    name_codec(registered, ArrayArrayCodec)
name_codec("packbits", ArrayBytesCodec)


def to_numpy(kind, values):
    """Elements as the peers have them in memory."""
    if not kind.variable:
        return np.frombuffer(values.tobytes(), kind.numpy).reshape(values.shape)
    out = np.empty(values.size, dtype=object)
    out[:] = [one.decode() if kind.text else one for one in values.reshape(-1)]
    return out.reshape(values.shape)


def from_numpy(kind, array):
    array = np.asarray(array)
    if kind.variable:
        out = np.empty(array.size, dtype=object)
        out[:] = [one.encode() if isinstance(one, str) else bytes(one) for one in array.reshape(-1)]
        return out.reshape(array.shape)
    if array.dtype != kind.numpy:
        array = array.astype(kind.numpy)
    raw = np.ascontiguousarray(array).tobytes()
    if kind.bits < 8:  # TensorStore sets the bits above the value in a fill value
        raw = bytes(byte & ((1 << kind.bits) - 1) for byte in raw)
    return np.frombuffer(raw, np.dtype((np.void, kind.size))).reshape(array.shape)


class ZarrPython:
    name = "zarr-python"
    pipeline = "zarr.core.codec_pipeline.BatchedCodecPipeline"

    def config(self):
        # zarrs must not hand over to the codecs of zarr-python what it does not know itself.
        path, strict = self.pipeline, self.name == "zarrs"
        return zarr.config.set({"codec_pipeline.path": path, "codec_pipeline.strict": strict})

    def create(self, path, case):
        kind = ArrayV2Metadata if case.version == 2 else ArrayV3Metadata
        document = json.loads(json.dumps(case.document))
        for name, buffer in kind.from_dict(document).to_buffer_dict(default_buffer_prototype()).items():
            path.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(buffer.to_bytes())
        self.open(path, case, "r+")

    def open(self, path, case, mode):
        with self.config():
            return zarr.open_array(str(path), mode=mode, zarr_format=case.version)

    def write(self, path, case, at, values):
        with self.config():
            array = self.open(path, case, "r+")
            array[at if at else ...] = to_numpy(case.kind, values)

    def read(self, path, case, at=None):
        with self.config():
            array = self.open(path, case, "r")
            return from_numpy(case.kind, array[at if at else ...])


class Zarrs(ZarrPython):
    name = "zarrs"
    pipeline = "zarrs.ZarrsCodecPipeline"


def raw_bytes(array):
    """The bytes of a dense array, which may say that its elements have none: so does TensorStore
    of bytes and characters with this version of NumPy."""
    return ctypes.string_at(array.ctypes.data, array.size) if array.size else b""


class TensorStore:
    name = "tensorstore"
    context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}})

    def open(self, path, case, field=None, **how):
        driver = "zarr3" if case.version == 3 else "zarr"
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
        spec["recheck_cached_metadata"] = "open"
        if field:
            spec["field"] = field
        if "create" in how:
            spec["metadata"] = {k: v for k, v in case.document.items() if k != "attributes"}
        return tensorstore.open(spec, context=self.context, **how).result()

    def create(self, path, case):
        if case.kind.name in ("r48", "raw_bytes") or case.kind.numpy is not None and case.kind.numpy.names:
            # `create` ends the process for raw bytes, and needs a field for records.
            path.mkdir(parents=True, exist_ok=True)
            name = "zarr.json" if case.version == 3 else ".zarray"
            (path / name).write_text(json.dumps(case.document), encoding="utf-8")
            self.open(path, case, self.fields(case)[0], open=True)
        else:
            self.open(path, case, create=True)

    @staticmethod
    def fields(case):
        names = case.kind.numpy.names if case.kind.numpy is not None else None
        return list(names) if names else [None]

    def write(self, path, case, at, values):
        array = to_numpy(case.kind, values)
        for field in self.fields(case):
            opened = self.open(path, case, field, open=True)
            part = array[field] if field else array
            if opened.rank > part.ndim:  # raw bytes and text gain an axis
                one = "S1" if opened.dtype == tensorstore.dtype("char") else "V1"
                part = np.frombuffer(part.tobytes(), one).reshape((*values.shape, opened.shape[-1]))
            opened[tuple(at)].write(part).result() if at else opened.write(part).result()

    def read(self, path, case, at=None):
        fields = self.fields(case)
        parts = []
        for field in fields:
            opened = self.open(path, case, field, open=True, read=True)
            parts.append(np.asarray((opened[tuple(at)] if at else opened).read().result()))
        if fields == [None]:
            if parts[0].ndim > len(case.shape):
                element = np.dtype((np.void, case.kind.size))
                return np.frombuffer(raw_bytes(parts[0]), element).reshape(parts[0].shape[:-1])
            return from_numpy(case.kind, parts[0])
        out = np.zeros(parts[0].shape[: len(case.shape)], case.kind.numpy)
        for field, part in zip(fields, parts, strict=True):
            if part.ndim > out[field].ndim:  # text gains an axis
                part = np.frombuffer(raw_bytes(part), out.dtype[field]).reshape(out.shape)
            out[field] = part
        return from_numpy(case.kind, out)


class Numcodecs:
    """Zarr v2 by hand: the filters and the compressor of numcodecs, a file for each chunk."""

    name = "numcodecs"

    def create(self, path, case):
        path.mkdir(parents=True, exist_ok=True)
        (path / ".zarray").write_text(json.dumps(case.document), encoding="utf-8")
        self.codecs(case.document)

    @staticmethod
    def codecs(document):
        specs = [*(document["filters"] or []), document["compressor"]]
        return [numcodecs.get_codec(dict(spec)) for spec in specs if spec]

    def chunks(self, path, document):
        shape, chunk = document["shape"], document["chunks"]
        separator = document.get("dimension_separator", ".")
        for at in itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunk, strict=True))):
            box = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(at, chunk, shape))
            yield path / (separator.join(str(i) for i in at) or "0"), box

    @staticmethod
    def stored(case, document):
        given = document["dtype"]
        if case.kind.group in ("small floats", "below a byte"):  # which numpy has no buffers of
            return np.dtype(f"u{case.kind.size}")
        return np.dtype(given if isinstance(given, str) else [
            tuple(f[:2]) + tuple(tuple(s) for s in f[2:]) for f in fields_of(given)])  # fmt: skip

    def write(self, path, case, at, values):
        document = json.loads((Path(path) / ".zarray").read_text(encoding="utf-8"))
        whole = self.read(path, case).copy()
        whole[(..., *at)] = values
        for file, box in self.chunks(path, document):
            block = case.kind.empty(document["chunks"])
            block[(..., *(slice(0, b.stop - b.start) for b in box))] = whole[(..., *box)]
            if same_elements(block, case.kind.empty(document["chunks"])):
                file.unlink(missing_ok=True)
                continue
            stored, encoded = self.stored(case, document), to_numpy(case.kind, block)
            small = encoded.dtype.kind != stored.kind and stored.kind == "u"
            encoded = encoded.view(stored) if small else encoded.astype(stored)
            encoded = np.asarray(encoded, order=document["order"])
            for codec in self.codecs(document):
                encoded = codec.encode(encoded)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(numcodecs.compat.ensure_bytes(encoded))

    def read(self, path, case, at=None):
        document = json.loads((Path(path) / ".zarray").read_text(encoding="utf-8"))
        out = case.kind.empty(document["shape"])
        for file, box in self.chunks(path, document):
            if not file.exists():
                continue
            data = file.read_bytes()
            for codec in reversed(self.codecs(document)):
                data = codec.decode(data)
            dtype = self.stored(case, document)
            block = data if dtype == object else numcodecs.compat.ensure_ndarray(data).view(dtype)
            block = np.asarray(block).reshape(document["chunks"], order=document["order"])
            cut = (..., *(slice(0, b.stop - b.start) for b in box))
            if case.kind.group in ("small floats", "below a byte"):
                block = block.view(case.kind.numpy)
            out[(..., *box)] = from_numpy(case.kind, block)[cut]
        return out if at is None else out[at]


def fields_of(given):
    """A record of a .zarray, with lists of lists made lists of tuples."""
    return [[f[0], f[1] if isinstance(f[1], str) else [tuple(g) for g in fields_of(f[1])], *f[2:]]
            for f in given]  # fmt: skip


def same_elements(a, b):
    return a.tolist() == b.tolist()


PEERS = [ZarrPython(), Zarrs(), TensorStore(), Numcodecs()]
