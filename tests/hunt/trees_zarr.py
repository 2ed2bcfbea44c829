# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Hierarchies of Zarr v2 and v3 by zarr-python, zarrs and TensorStore; in directories, zip files and OCDBT."""

import json
import math
import os
import shutil
import warnings
import zipfile
from pathlib import Path

import numcodecs
import numpy as np
import tensorstore
import zarr
from drawn import NUMBERS, PIECES, SMALL, Leaf, Tree, a_shape, a_text, altered, dtype_of, elements, laid_out
from drawn import little, name_of, some_attributes, texts
from zarr.core.dtype import VariableLengthBytes
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

warnings.filterwarnings("ignore")

# zarr-python does not list them as children, or takes them for its own.
NOT_HERE = {".hidden", " lead", "trail "}


class Array:
    """What is drawn of one array."""

    def __init__(self, rng, zarr_format):
        self.zarr_format = zarr_format
        self.seed = rng.randrange(2**32)
        self.peer = "tensorstore" if rng.random() < 0.25 else "zarr-python"
        kinds = list(NUMBERS)
        if self.peer == "tensorstore":
            kinds += SMALL[:5] + ["int4"] * (zarr_format == 3)
        else:
            kinds += ["U3", "S4", "V5", "M8[s]", "M8[25us]", "m8[ms]", "text", "bytes", "record"]
        self.kind = rng.choice(kinds)
        self.shape = a_shape(rng)
        self.chunks = tuple(rng.randint(1, max(1, n + 2)) for n in self.shape)
        self.attributes = some_attributes(rng)
        self.big = rng.random() < 0.25
        if self.kind == "record" and zarr_format == 3:
            self.kind = "int16"
        self.values = self.draw_values(rng)
        self.hole = rng.random() < 0.3
        self.rng_state = rng.randrange(2**32)

    def draw_values(self, rng):
        if self.kind in ("text", "bytes"):
            count = math.prod(self.shape)
            words = [a_text(rng) for _ in range(count)]
            if self.kind == "text":
                return np.array(words, dtype=np.dtypes.StringDType()).reshape(self.shape)
            out = np.empty(count, dtype=object)
            for i, word in enumerate(words):
                out[i] = word.encode()
            return out.reshape(self.shape)
        if self.kind == "record":
            kind = np.dtype([("a", "<i2"), ("é", ">f8" if self.big else "<f8"), ("s", "S3"), ("b", "?")])
        elif self.kind == "int4":
            return elements(rng, "int8", self.shape) >> 4
        else:
            kind = dtype_of(self.kind)
        if self.big and kind.itemsize > 1 and kind.kind in "iufcMmU" and self.zarr_format == 2:
            kind = kind.newbyteorder(">")
        return elements(rng, kind, self.shape)

    def alter(self, rng):
        if self.kind == "int4":
            if not self.values.size:
                return False
            self.values = self.values.copy()
            self.values.flat[rng.randrange(self.values.size)] ^= 1
            return True
        changed = altered(rng, self.values)
        if changed is None:
            return False
        self.values = changed
        return True

    def write(self, rng, store, path):
        return (self.write_tensorstore if self.peer == "tensorstore" else self.write_zarr)(rng, store, path)

    def regions(self, rng):
        """Where is written: all of it, or all but some; the rest are fill values."""
        if not self.hole or not self.shape or 0 in self.shape:
            return [...]
        axis = rng.randrange(len(self.shape))
        step = self.chunks[axis]
        some = [at for at in range(0, self.shape[axis], step) if rng.random() < 0.6]
        return [(*[slice(None)] * axis, slice(at, min(at + step, self.shape[axis]))) for at in some]

    def write_zarr(self, rng, store, path):
        options = {}
        if self.zarr_format == 3:
            options |= self.v3_options(rng)
        else:
            options["order"] = rng.choice("CF")
            options["chunk_key_encoding"] = {"name": "v2", "separator": rng.choice("./")}
            if self.kind not in ("text", "bytes"):
                options["filters"] = self.v2_filters(rng)
            options["compressors"] = rng.choice(
                (None, numcodecs.Zlib(1), numcodecs.Zstd(3), numcodecs.GZip(2), numcodecs.LZ4(), numcodecs.BZ2(1),
                 numcodecs.Blosc("lz4", 5, rng.choice((0, 1, 2))), numcodecs.LZMA(preset=1))
            )  # fmt: skip
        values = self.values
        if self.kind == "bytes":
            dtype = VariableLengthBytes()
        elif self.kind == "text":
            dtype = np.dtypes.StringDType()
        else:
            dtype = values.dtype
        if self.kind not in ("bytes", "record", "V5") and rng.random() < 0.5:
            fill = elements(rng, values.dtype if self.kind != "text" else np.dtypes.StringDType(), ())[()]
            if self.kind == "text" or values.dtype.kind in "SU" or not self.is_odd(fill):
                options["fill_value"] = fill
        array = zarr.create_array(
            store=store, name=path, shape=self.shape, chunks=self.chunks, dtype=dtype, zarr_format=self.zarr_format,
            attributes=self.attributes, **options
        )  # fmt: skip
        if self.kind in NUMBERS[:-2] and self.zarr_format == 3 and not self.big and rng.random() < 0.2:
            with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
                zarr.open_array(store, path=path, mode="r+")[...] = values
        for at in self.regions(rng):
            array[at] = laid_out(rng, values[at]) if self.kind not in ("text", "bytes", "record") else values[at]
        read = array[...]
        return self.leaf(path, read, options.get("dimension_names"))

    @staticmethod
    def is_odd(fill):
        """A NaN, whose payload zarr-python loses, and which it takes for every other one."""
        fill = np.asarray(fill)
        return fill.dtype.kind in "fcMm" and bool(np.isnan(fill) if fill.dtype.kind in "fc" else np.isnat(fill))

    def leaf(self, path, read, dimension_names=None):
        if self.kind in ("text", "bytes"):
            kind = {"text": "string", "bytes": "bytes"}[self.kind]
            flat = [read] if isinstance(read, (str, bytes)) else list(np.asarray(read).reshape(-1))
            flat = [v.item() if isinstance(v, np.ndarray) else v for v in flat]
            return Leaf(path, kind, self.shape, texts(flat), attributes=self.attributes, array=read)
        read = np.asarray(read, None if self.kind == "int4" else self.values.dtype)
        name = "int4" if self.kind == "int4" else name_of(read.dtype)
        out = Leaf(path, name, self.shape, little(read), attributes=self.attributes, array=read)
        out.dimension_names = dimension_names
        return out

    def v2_filters(self, rng):
        if self.kind in NUMBERS[1:9] and rng.random() < 0.4:
            kind = self.values.dtype.str
            return [rng.choice((numcodecs.Delta(dtype=kind), numcodecs.Shuffle(self.values.dtype.itemsize)))]
        return None

    def v3_options(self, rng):
        out = {"chunk_key_encoding": {"name": rng.choice(("default", "v2")), "separator": rng.choice("./")}}
        is_text = self.kind in ("text", "bytes")
        if not is_text and self.values.dtype.itemsize > 1 and self.kind not in ("V5", "S4"):
            out["serializer"] = BytesCodec(endian="big" if self.big else "little")
        compressors = [ZstdCodec(level=rng.randrange(1, 9), checksum=rng.random() < 0.5), GzipCodec(level=1), Crc32cCodec()]
        compressors.append(BloscCodec(cname=rng.choice(("zstd", "lz4", "zlib")), clevel=3, shuffle="shuffle", typesize=4))
        rng.shuffle(compressors)
        out["compressors"] = compressors[: rng.choice((0, 1, 1, 2))] or None
        if len(self.shape) > 1 and not is_text and rng.random() < 0.3:
            order = list(range(len(self.shape)))
            rng.shuffle(order)
            out["filters"] = [TransposeCodec(order=order)]
        if self.shape and not is_text and "filters" not in out and self.kind not in ("V5",) and rng.random() < 0.35:
            out["shards"] = tuple(n * rng.randint(1, 3) for n in self.chunks)
        if rng.random() < 0.3:
            out["dimension_names"] = [rng.choice(("x", "y", "", None, "é")) for _ in self.shape]
        return out

    def write_tensorstore(self, rng, store, path):
        driver = "zarr3" if self.zarr_format == 3 else "zarr"
        where = {"driver": "file", "path": f"{store}/{path}/" if path else f"{store}/"}
        kind = self.kind
        if self.zarr_format == 3:
            metadata = {"shape": list(self.shape), "data_type": kind, "attributes": self.attributes}
            inner = [{"name": "bytes", "configuration": {"endian": "big" if self.big else "little"}}]
            if rng.random() < 0.5:
                inner.append({"name": rng.choice(("gzip", "zstd")), "configuration": {"level": 1}})
            if rng.random() < 0.3:
                inner.append({"name": "crc32c"})
            if len(self.shape) > 1 and rng.random() < 0.3:
                order = list(range(len(self.shape)))
                rng.shuffle(order)
                inner.insert(0, {"name": "transpose", "configuration": {"order": order}})
            chunks = list(self.chunks)
            if self.shape and rng.random() < 0.4:
                location = rng.choice(("start", "end"))
                shards = [n * rng.randint(1, 3) for n in chunks]
                index = [{"name": "bytes", "configuration": {"endian": "little"}}] + [{"name": "crc32c"}] * rng.randrange(2)
                inner = [{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": chunks, "codecs": inner, "index_codecs": index, "index_location": location}}]  # fmt: skip
                chunks = shards
            metadata["codecs"] = inner
            metadata["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": chunks}}
            metadata["chunk_key_encoding"] = {"name": rng.choice(("default", "v2")), "configuration": {"separator": rng.choice("./")}}
            if rng.random() < 0.3:
                metadata["dimension_names"] = [rng.choice(("", f"é{i}", None, f"d{i}")) for i in range(len(self.shape))]
        else:
            text = self.values.dtype.str if kind in NUMBERS else kind
            metadata = {"shape": list(self.shape), "chunks": list(self.chunks), "dtype": text, "order": rng.choice("CF") if len(self.shape) > 1 else "C", "fill_value": None}
            metadata["compressor"] = rng.choice((None, {"id": "zlib", "level": 1}, {"id": "zstd", "level": 2}, {"id": "bz2", "level": 1},
                                                 {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1}))  # fmt: skip
            metadata["dimension_separator"] = rng.choice("./")
        spec = {"driver": driver, "kvstore": where, "metadata": metadata, "create": True, "store_data_equal_to_fill_value": True}
        array = tensorstore.open(spec).result()
        values = self.values
        for at in self.regions(rng):
            part = values[at]
            array[at].write(part.astype(array.dtype.numpy_dtype) if kind in ("int4",) else laid_out(rng, part)).result()
        read = array.read().result()
        if self.zarr_format == 2 and self.attributes:
            Path(store, path, ".zattrs").write_text(json.dumps(self.attributes))
        if kind == "int4":
            read = read.astype(np.int8) & 15
        return self.leaf(path, read, metadata.get("dimension_names"))


class Hierarchy:
    """A group of groups and arrays, or an array alone."""

    places = ("directory",)

    def __init__(self, rng):
        self.rng_state = rng.randrange(2**32)
        self.zarr_format = rng.choice((2, 3, 3))
        self.is_one = rng.random() < 0.08
        self.place = rng.choice(self.places)
        self.attributes = some_attributes(rng)
        self.groups, self.arrays = {}, {}
        self.consolidated = rng.random() < 0.3
        self.is_flat = rng.random() < 0.1  # arrays without any group, as Megatron-Core writes them
        self.is_stale, self.was_consolidated, self.gone = rng.random() < 0.4, False, None
        if self.is_one:
            self.arrays[""] = Array(rng, self.zarr_format)
            return
        parents = [""]
        for _ in range(rng.choice((0, 0, 1, 2, 3))):
            name = self.new_name(rng, parents)
            if name:
                self.groups[name] = some_attributes(rng)
                parents.append(name)
        for _ in range(rng.choice((0, 1, 2, 3, 4, 6))):
            name = self.new_name(rng, parents)
            if name:
                self.arrays[name] = Array(rng, self.zarr_format)

    def new_name(self, rng, parents):
        parent = rng.choice(parents)
        name = (parent + "/" if parent else "") + rng.choice([p for p in PIECES if p not in NOT_HERE])
        return None if name in self.groups or name in self.arrays else name

    def alter(self, rng):
        names = list(self.arrays)
        rng.shuffle(names)
        return any(self.arrays[name].alter(rng) for name in names)

    def write(self, where):
        import random

        rng = random.Random(self.rng_state)
        folder = Path(f"{where}.zarr")
        leaves = []
        self.is_flat = self.is_flat and bool(self.arrays) and not self.is_one
        self.write_all(random.Random(self.rng_state), folder, leaves)
        if not self.is_one and self.consolidated and not self.is_flat:
            if all(array.peer != "tensorstore" or array.kind in NUMBERS for array in self.arrays.values()):
                zarr.consolidate_metadata(str(folder), zarr_format=self.zarr_format)
                self.was_consolidated = True
        odd_forms(rng, folder)
        tree_is_stale = self.is_stale and self.was_consolidated and self.make_stale(rng, folder, leaves)
        if self.is_flat:
            for document in (*folder.rglob(".zgroup"), *folder.rglob("zarr.json")):
                if document.name == ".zgroup" or json.loads(document.read_text())["node_type"] == "group":
                    document.unlink()
        has_groups = not self.is_one and not self.is_flat
        tree = Tree(self.put(folder, where), leaves, self.attributes if has_groups else None, dict(self.groups) if has_groups else None)
        tree.is_stale, tree.gone = tree_is_stale, self.gone
        return tree

    def make_stale(self, rng, folder, leaves):
        """Changes what the consolidated metadata tell; the nodes' own documents are the truth."""
        style = rng.randrange(3)
        if style == 0 or not leaves:
            values = np.arange(3, dtype="<i4")
            zarr.create_array(str(folder), name="new one", data=values, zarr_format=self.zarr_format)
            leaves.append(Leaf("new one", "int32", (3,), values.tobytes()))
        elif style == 1:
            self.gone = leaves.pop(rng.randrange(len(leaves))).name
            shutil.rmtree(folder / self.gone)
        else:
            for i, leaf in enumerate(leaves):
                if leaf.dtype in NUMBERS[1:] and leaf.shape and 0 not in leaf.shape:
                    array = zarr.open_array(str(folder / leaf.name), mode="r+", zarr_format=self.zarr_format)
                    array.resize((leaf.shape[0] + 2, *leaf.shape[1:]))
                    leaves[i] = self.arrays[leaf.name].leaf(leaf.name, array[...], leaf.dimension_names)
                    leaves[i].is_stored = leaf.is_stored
                    leaves[i].shape = array.shape
                    return True
            return False
        return True

    def write_all(self, rng, folder, leaves):
        if not self.is_one and not self.is_flat:
            zarr.create_group(str(folder), zarr_format=self.zarr_format, attributes=self.attributes)
            for name, attributes in self.groups.items():
                zarr.create_group(str(folder), path=name, zarr_format=self.zarr_format, attributes=attributes)
        for name, array in self.arrays.items():
            leaf = array.write(rng, str(folder), name)
            leaf.is_stored = any(file.is_file() and not is_document(file) for file in (folder / name).rglob("*"))
            leaves.append(leaf)

    def put(self, folder, where):
        return folder


def is_document(file):
    return file.name in ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


def odd_forms(rng, folder):
    """What other writers do to documents, and is the same."""
    for document in sorted(folder.rglob("zarr.json")):
        style = rng.randrange(8)
        if style > 3:
            continue
        text = json.loads(document.read_text())
        if style == 0 and text["node_type"] == "array":
            text["unknown"] = {"must_understand": False, "x": [1]}
        elif style == 1:
            text = dict(reversed(text.items()))
        elif style == 2 and text["node_type"] == "array":
            text.setdefault("storage_transformers", [])
        elif style == 3 and text.get("attributes") == {}:
            del text["attributes"]
        document.write_text(json.dumps(text, indent=rng.choice((None, 0, 4)), ensure_ascii=rng.random() < 0.5), encoding="utf-8")
    for document in sorted(folder.rglob(".zarray")):
        if rng.random() < 0.5:
            continue
        text = json.loads(document.read_text())
        if rng.random() < 0.3:
            text["unknown"] = {"x": [None]}
        if text.get("filters") is None and rng.random() < 0.5:
            text["filters"] = rng.choice((None, []))
        if text.get("dimension_separator") == "." and rng.random() < 0.5:
            del text["dimension_separator"]
        text = dict(rng.sample(list(text.items()), len(text)))
        document.write_text(json.dumps(text, indent=rng.choice((None, 0, 4)), ensure_ascii=rng.random() < 0.5), encoding="utf-8")


class Zipped(Hierarchy):
    def __init__(self, rng):
        super().__init__(rng)
        # Where all lies in one folder, that is the root.
        self.is_flat = self.is_flat and len({name.split("/")[0] for name in self.arrays}) > 1
        self.method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        self.has_folders = rng.random() < 0.3
        self.is_doubled = rng.random() < 0.2  # as ZipStore does it: what is written once more is there twice, and the last counts

    def put(self, folder, where):
        path = Path(f"{where}.zip")
        with zipfile.ZipFile(path, "w", self.method) as out:
            files = sorted(folder.rglob("*"))
            if self.is_doubled:
                old = [file for file in files if file.is_file() and file.name != "zarr.json"][:2]
                for file in old:
                    out.writestr(str(file.relative_to(folder)), b"")
            for file in files:
                if file.is_file() or self.has_folders:
                    out.write(file, file.relative_to(folder))
        shutil.rmtree(folder)
        return path


class Ocdbt(Hierarchy):
    def __init__(self, rng):
        super().__init__(rng)
        self.config = {"max_inline_value_bytes": rng.choice((0, 100, 10000)), "max_decoded_node_bytes": rng.choice((200, 4000, 8 << 20))}
        if rng.random() < 0.3:
            self.config["compression"] = None

    def put(self, folder, where):
        path = Path(f"{where}.ocdbt")
        spec = {"driver": "ocdbt", "base": f"file://{path}/", "config": self.config}
        store = tensorstore.KvStore.open(spec).result()
        with tensorstore.Transaction() as transaction:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    store.with_transaction(transaction).write(os.fsencode(str(file.relative_to(folder))), file.read_bytes())
        shutil.rmtree(folder)
        return path


CONTAINERS = {"zarr": Hierarchy, "zip": Zipped, "ocdbt": Ocdbt}
