# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Values: bit by bit those of numpy, in every form, of every format that is read."""

import base64
import io
import json
import math
import struct
import warnings

import google_crc32c
import ml_dtypes
import numcodecs
import numpy as np
import tensorstore
import zarr
from safetensors.numpy import save_file
from support import BITS, GOLDEN, SMALL, Case, dtype_of, little, random_array, set_kind

SLICES = [
    "0:3,:,::2",
    "...",
    "-1",
    ":, 1",
    "2:2",
    "::3, 0, 1:",
    "-2:,-2:,-2:",
    "..., 0",
    "1,2,3",
    "100:, ...",
    ":-1",
]


def numpy_index(text):
    parts = []
    for part in text.split(","):
        part = part.strip()
        if part == "...":
            parts.append(...)
        elif ":" in part:
            parts.append(slice(*[int(x) if x else None for x in part.split(":")]))
        else:
            parts.append(int(part))
    return tuple(parts)


def prefixed(raw):
    """The elements of --raw of strings and bytes."""
    out = []
    while raw:
        (size,) = struct.unpack_from("<Q", raw)
        assert len(raw) >= 8 + size
        out.append(raw[8 : 8 + size])
        raw = raw[8 + size :]
    return out


def plain(value):
    """What --json says of a numpy value."""
    if isinstance(value, list):
        return [plain(x) for x in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


class Cat(Case):
    def peers(self):
        for index in sorted(GOLDEN.rglob("index.json")):
            for one in json.loads(index.read_text()).get("arrays", []):
                yield index.parent / one["case"], one.get("kind", "array")

    def test_every_golden_array_has_the_expected_bytes(self):
        count = 0
        for path, kind in self.peers():
            with self.subTest(path=path):
                if kind == "array":
                    expected = path.with_name(path.name + ".bin").read_bytes()
                    self.assertEqual(self.expect(0, "cat", path, "--raw").stdout, expected)
                else:
                    expected = json.loads(path.with_name(path.name + ".json").read_text())
                    got = np.array(self.json("cat", path), dtype=object).ravel().tolist()
                    self.assertEqual(got, np.array(expected, dtype=object).ravel().tolist())
                count += 1
        self.assertGreater(count, 100)

    def test_slices_are_those_of_numpy(self):
        array = random_array("float32", (5, 6, 7))
        np.save(self.folder / "a.npy", array)
        zarr.create_array(self.folder / "a.zarr", data=array, chunks=(2, 3, 4), shards=(4, 6, 8))
        zarr.create_array(
            self.folder / "v2.zarr", data=array, chunks=(2, 3, 4), zarr_format=2, order="F", compressors=None
        )
        save_file({"a": array}, self.folder / "a.safetensors")
        for name in ("a.npy", "a.zarr", "v2.zarr", "a.safetensors"):
            for text in SLICES:
                with self.subTest(name=name, slice=text):
                    part = array[numpy_index(text)]
                    done = self.expect(0, "cat", self.folder / name, "--slice", text, "--raw")
                    self.assertEqual(done.stdout, little(part))
                    done = self.expect(0, "cat", self.folder / name, "--slice", text, "--npy")
                    loaded = np.load(io.BytesIO(done.stdout))
                    self.assertEqual((loaded.shape, loaded.dtype), (part.shape, part.dtype))
                    self.assertEqual(loaded.tobytes(), part.tobytes())

    def test_an_attribute_of_that_name_does_not_hide_an_array(self):
        group = zarr.create_group(self.folder / "g")
        group.create_array("a", data=np.array([1]), attributes={"original_name": "b"})
        group.create_array("b", data=np.array([2]))
        group.create_array("c/d", data=np.array([3]), attributes={"original_name": "e"})
        group.create_array("e/f", data=np.array([4]))
        for name, value in (("a", 1), ("b", 2), ("e", 4)):
            self.assertEqual(self.json("cat", self.folder / "g", name), [value])

    def test_bad_slices_are_refused(self):
        np.save(self.folder / "a.npy", np.zeros((2, 3)))
        for text, word in [
            ("2", "outside"),
            ("0,0,0", "3 indices"),
            ("x", "expected an index such as 3 or a range"),
            ("::0", "step"),
            ("::-1", "negative"),
            ("..., ...", "more than one"),
            ("1:2:3:4", "colons"),
            ("1:y", "not an integer"),
            ("-3", "outside"),
        ]:
            self.assertIn(word, self.refused("cat", self.folder / "a.npy", "--slice", text), text)

    def test_json_values_of_every_dtype(self):
        for name in BITS + list(SMALL):
            array = random_array(name, (3, 50))
            (
                save_file({"x": array}, self.folder / f"{name}.safetensors")
                if name != "complex128"
                else np.save(self.folder / f"{name}.npy", array)
            )
            path = self.folder / (f"{name}.npy" if name == "complex128" else f"{name}.safetensors")
            got = self.json("cat", path)
            with self.subTest(dtype=name):
                if name in SMALL or array.dtype.kind == "f":
                    wide = np.array([[float(x) for x in row] for row in got])
                    with np.errstate(invalid="ignore", over="ignore"):
                        back, array = wide.astype(dtype_of(name)), array.astype("float64")
                        np.testing.assert_array_equal(back.astype("float64"), array)
                elif array.dtype.kind == "c":
                    parts = np.array([[[float(p) for p in x] for x in row] for row in got])
                    half = array.view(array.real.dtype).reshape(3, 50, 2)
                    np.testing.assert_array_equal(parts.astype(half.dtype), half)
                else:
                    self.assertEqual(got, array.tolist())

    def test_json_of_special_values_and_shapes(self):
        for values in [[math.nan, math.inf, -math.inf, -0.0, 1e300, 5e-324], [], [[], []], 1.5]:
            np.save(self.folder / "a.npy", np.array(values, dtype="float64"))
            self.assertEqual(self.json("cat", self.folder / "a.npy"), plain(values))
        np.save(self.folder / "c.npy", np.array([1 + 2j, complex(math.nan, -math.inf)]))
        self.assertEqual(self.json("cat", self.folder / "c.npy"), [[1, 2], ["NaN", "-Infinity"]])
        limits = [-(2**63), 2**63 - 1]
        np.save(self.folder / "i.npy", np.array(limits))
        self.assertEqual(self.json("cat", self.folder / "i.npy"), limits)
        np.save(self.folder / "u.npy", np.array([2**64 - 1], dtype="uint64"))
        self.assertEqual(self.json("cat", self.folder / "u.npy"), [2**64 - 1])

    def test_strings(self):
        texts = np.array([["", "naïve", "日本語"], ["😀", "tab\there", "\x1b[31mred"]])
        np.save(self.folder / "u.npy", texts)
        np.save(self.folder / "big.npy", texts.astype(texts.dtype.newbyteorder(">")))
        group = zarr.create_array(self.folder / "s.zarr", shape=(2, 3), dtype=str, chunks=(1, 2))
        group[:] = texts.astype(object)
        for name in ("u.npy", "big.npy", "s.zarr"):
            self.assertEqual(self.json("cat", self.folder / name), texts.tolist())
            shown = self.text("cat", self.folder / name)
            self.assertIn("\\x1b[31mred", shown)
            self.assertIn("tab\\there", shown)
            self.assertNotIn("\x1b", shown)
            done = self.expect(0, "cat", self.folder / name, "--npy")
            self.assertEqual(np.load(io.BytesIO(done.stdout)).tolist(), texts.tolist())
            raw = self.expect(0, "cat", self.folder / name, "--raw").stdout
            if name.endswith(".npy"):  # as numpy has them
                self.assertEqual(raw, texts.tobytes())
                continue
            self.assertEqual(prefixed(raw), [text.encode() for text in texts.ravel()])

    def test_bytes_of_any_length(self):
        values = [b"", b"\x00\xff", b"text", b'"\n\x1b', bytes(range(256))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = zarr.create_array(
                self.folder / "b.zarr", shape=(5,), chunks=(2,), dtype="variable_length_bytes"
            )
        made[:] = np.array(values, dtype=object)
        path = self.folder / "b.zarr"
        got = self.json("cat", path)
        self.assertEqual([base64.b64decode(each["base64"], validate=True) for each in got], values)
        self.assertEqual(self.json("cat", path, "--slice", "2"), {"base64": "dGV4dA=="})
        self.assertEqual(prefixed(self.expect(0, "cat", path, "--raw").stdout), values)
        done = self.expect(0, "cat", path, "--npy", "--slice", "1:")
        self.assertEqual(np.load(io.BytesIO(done.stdout)).tolist(), values[1:])
        self.assertNotIn("\x1b", self.text("cat", path))

    def test_bytes_that_end_in_a_zero_are_none_of_numpy(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = zarr.create_array(self.folder / "b.zarr", shape=(1,), dtype="variable_length_bytes")
        made[:] = np.array([b"a\0"], dtype=object)
        self.assertIn("end in a zero", self.refused("cat", self.folder / "b.zarr", "--npy"))

    def test_text_of_one_length(self):
        texts = np.array([b"ab", b"\xff", b"", b"\xc3\xa9"], dtype="S3")
        np.save(self.folder / "s.npy", texts)
        got = self.json("cat", self.folder / "s.npy")
        self.assertEqual(got, ["ab", {"base64": "/w=="}, "", "é"])
        self.assertEqual(self.expect(0, "cat", self.folder / "s.npy", "--raw").stdout, texts.tobytes())
        done = self.expect(0, "cat", self.folder / "s.npy", "--npy")
        self.assertEqual(np.load(io.BytesIO(done.stdout)).tolist(), texts.tolist())

    def test_code_points_that_are_no_text(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = zarr.create_array(self.folder / "u.zarr", shape=(2,), dtype="<U2", compressors=None)
        made[:] = np.array(["é", "ab"])
        chunk = next(p for p in (self.folder / "u.zarr/c").rglob("*") if p.is_file())
        chunk.write_bytes(struct.pack("<4I", 0xD800, 0x61, 0x61, 0x62))
        self.assertEqual(self.json("cat", self.folder / "u.zarr"), [{"code_points": [0xD800, 0x61]}, "ab"])

    def test_vectors_are_lists_of_numbers(self):
        for kind in ("<f4", ">i2", "|u1", "<c8", "<u8", "|b1"):
            path = self.folder / f"v{kind[1:]}.zarr"
            chunk = [np.array([0, 1, 3], kind), np.array([], kind), np.array([2], kind)]
            codec = numcodecs.VLenArray(kind)
            path.mkdir()
            document = {"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|O", "order": "C"}
            document |= {"fill_value": None, "compressor": None, "filters": [codec.get_config()]}
            (path / ".zarray").write_text(json.dumps(document))
            held = np.empty(3, dtype=object)
            held[:] = chunk
            (path / "0").write_bytes(codec.encode(held))
            got = self.json("cat", path)
            self.assertEqual(got, [plain(each.tolist()) for each in chunk], kind)
            raw = prefixed(self.expect(0, "cat", path, "--raw").stdout)
            self.assertEqual(raw, [each.tobytes() for each in chunk])
            self.assertIn("[]", self.text("cat", path))

    def put(self, name, document, chunk):
        """An array of one chunk, made by hand."""
        folder = self.folder / name
        folder.mkdir()
        is_v2 = document["zarr_format"] == 2
        (folder / (".zarray" if is_v2 else "zarr.json")).write_text(json.dumps(document))
        key = folder / ("0" if is_v2 else "c/0")
        key.parent.mkdir(exist_ok=True)
        key.write_bytes(chunk)
        return folder

    def by_hand_v3(self, name, data_type, count, chunk, codecs=("bytes",), fill_value=0):
        grid = {"name": "regular", "configuration": {"chunk_shape": [count]}}
        document = {"zarr_format": 3, "node_type": "array", "shape": [count], "data_type": data_type}
        document |= {"chunk_grid": grid, "chunk_key_encoding": {"name": "default"}, "fill_value": fill_value}
        endian = {"name": "bytes", "configuration": {"endian": "little"}}
        return self.put(name, document | {"codecs": [endian if c == "bytes" else c for c in codecs]}, chunk)

    def by_hand_v2(self, name, dtype, count, chunk):
        document = {"zarr_format": 2, "shape": [count], "chunks": [count], "dtype": dtype, "order": "C"}
        return self.put(name, document | {"fill_value": None, "compressor": None, "filters": None}, chunk)

    def by_zarr_python(self, name, array, zarr_format):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            to = zarr.create_array(
                self.folder / name,
                shape=array.shape,
                dtype=array.dtype,
                zarr_format=zarr_format,
                compressors=None,
            )
        to[...] = array
        return self.folder / name

    def by_tensorstore(self, name, data_type, array):
        kvstore = {"driver": "file", "path": str(self.folder / name)}
        metadata = {"data_type": data_type, "shape": list(array.shape)}
        made = tensorstore.open(
            {"driver": "zarr3", "kvstore": kvstore, "metadata": metadata}, create=True
        ).result()
        (tensorstore.cast(made, array.dtype) if made.dtype.numpy_dtype != array.dtype else made)[...] = array
        return self.folder / name

    def check_forms(self, cases):
        """Of (path, what --raw gives, what --json says)."""
        for path, raw, said in cases:
            with self.subTest(path=path.name):
                self.assertEqual(self.expect(0, "cat", path, "--raw").stdout, raw)
                self.assertEqual(self.json("cat", path), said)
                self.assertEqual(self.json("cat", path, "--slice=-1"), said[-1])

    def test_times(self):
        counts = np.array([0, -5, 2**62, -(2**63)])
        said = [0, -5, 2**62, "NaT"]
        cases = []
        for kind in ("M8[s]", "m8[10ms]", "M8[Y]", "m8[as]"):
            array = counts.view(kind)
            for zarr_format in (2, 3):
                cases.append(
                    (self.by_zarr_python(f"{kind}-{zarr_format}", array, zarr_format), counts.tobytes(), said)
                )
            big = self.by_hand_v2(f"{kind}-big", ">" + kind, 4, counts.byteswap().tobytes())
            cases.append((big, counts.tobytes(), said))
        name = {"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 25}}
        cases.append(
            (self.by_hand_v3("hand", name, 4, counts.tobytes(), fill_value="NaT"), counts.tobytes(), said)
        )
        self.check_forms(cases)
        written = np.load(io.BytesIO(self.expect(0, "cat", self.folder / "hand", "--npy").stdout))
        self.assertEqual(written.dtype, np.dtype("M8[25us]"))
        self.assertEqual(written.tobytes(), counts.tobytes())

    def test_records(self):
        nested = np.dtype([("a", "<i2"), ("in", [("x", "<f4"), ("y", "u1"), ("when", "<M8[s]")])])
        array = np.zeros(2, nested)
        array["a"], array["in"]["x"], array["in"]["y"] = [-1, 2], [0.5, np.inf], [3, 255]
        array["in"]["when"] = np.array([7, "NaT"], "M8[s]")
        said = [
            {"a": -1, "in": {"x": 0.5, "y": 3, "when": 7}},
            {"a": 2, "in": {"x": "Infinity", "y": 255, "when": "NaT"}},
        ]
        cases = [(self.by_zarr_python(f"nested-{f}", array, f), array.tobytes(), said) for f in (2, 3)]
        # Of fields with shapes, and, in v2, with byte orders of their own.
        shaped = np.dtype([("n", ">i2"), ("m", "<f4", (2, 3)), ("s", "S2")])
        array = np.zeros(2, shaped)
        array["n"], array["m"][1], array["s"] = [1, -2], np.arange(6).reshape(2, 3), [b"", b"ab"]
        said = [{"n": 1, "m": [[0] * 3] * 2, "s": ""}, {"n": -2, "m": [[0, 1, 2], [3, 4, 5]], "s": "ab"}]
        dtype = [["n", ">i2"], ["m", "<f4", [2, 3]], ["s", "|S2"]]
        cases.append((self.by_hand_v2("shaped", dtype, 2, array.tobytes()), array.tobytes(), said))
        self.check_forms(cases)
        self.assertIn(
            "--raw and --json write its elements", self.refused("cat", self.folder / "shaped", "--npy")
        )

    def test_records_with_fields_named_as_marks_are(self):
        for name in ("base64", "code_points", "record"):
            array = np.array([(1, 2), (3, 4)], [(name, "u1"), ("b", "u1")])
            path = self.by_zarr_python(f"{name}.zarr", array, 2)
            self.assertEqual(
                self.json("cat", path), [{"record": {name: a, "b": b}} for a, b in ((1, 2), (3, 4))]
            )
            alone = self.by_zarr_python(f"alone-{name}", np.array([(5,)], [(name, "u1")]), 2)
            self.assertEqual(self.json("cat", alone), [{"record": {name: 5}}])
            inner = self.by_zarr_python(f"in-{name}", np.array([((6,),)], [("a", [(name, "u1")])]), 2)
            self.assertEqual(self.json("cat", inner), [{"a": {"record": {name: 6}}}])

    def test_raw_bytes(self):
        array = np.frombuffer(bytes(range(15)) + b"\xff", "V8")
        said = ["0001020304050607", "08090a0b0c0d0eff"]
        cases = [(self.by_zarr_python(f"v{f}", array, f), array.tobytes(), said) for f in (2, 3)]
        cases.append(
            (self.by_hand_v3("r64", "r64", 2, array.tobytes(), fill_value=[0] * 8), array.tobytes(), said)
        )
        self.check_forms(cases)
        written = np.load(io.BytesIO(self.expect(0, "cat", self.folder / "r64", "--npy").stdout))
        self.assertEqual(written.dtype, np.dtype("V8"))
        self.assertEqual(written.tobytes(), array.tobytes())

    def test_integers_below_a_byte(self):
        cases = []
        for bits in (2, 4):
            low, high, mask = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 2**bits - 1
            signed = np.arange(low, high + 1, dtype="int8")
            masked = bytes(int(x) & mask for x in signed)
            # The upper bits of a byte mean nothing, whatever is there.
            for name, chunk in (
                ("zero", masked),
                ("signs", signed.tobytes()),
                ("odd", bytes(b ^ (0xFF ^ mask) for b in masked)),
            ):
                path = self.by_hand_v3(f"int{bits}-{name}", f"int{bits}", len(signed), chunk)
                cases.append((path, masked, signed.tolist()))
                path = self.by_hand_v3(f"uint{bits}-{name}", f"uint{bits}", len(signed), chunk)
                cases.append((path, masked, list(masked)))
            own = signed.astype(getattr(ml_dtypes, f"int{bits}"))
            cases.append((self.by_tensorstore(f"int{bits}-ts", f"int{bits}", own), masked, signed.tolist()))
            # What TensorStore converts has the sign in the upper bits.
            path = self.by_tensorstore(f"int{bits}-cast", f"int{bits}", signed)
            self.assertEqual((path / "c/0").read_bytes(), signed.tobytes())
            cases.append((path, masked, signed.tolist()))
        self.check_forms(cases)
        self.assertIn("float32 keeps its values", self.refused("cat", self.folder / "int4-ts", "--npy"))

    def test_small_floats_and_complex_numbers_of_them(self):
        eights = ["e3m4", "e4m3", "e4m3fn", "e4m3b11fnuz", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"]
        names = ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"] + [f"float8_{each}" for each in eights]
        unknown = {"float6_e2m3fn", "float6_e3m2fn", "float8_e4m3"}  # to TensorStore

        def check(path, values):
            self.assertEqual(self.expect(0, "cat", path, "--raw").stdout, values.tobytes())
            # The fewest digits that read back as the same value of the type.
            said = np.array(self.json("cat", path)).ravel().astype("float64")
            with np.errstate(all="ignore"):
                back = said.astype(values.dtype).astype("float64")
                np.testing.assert_array_equal(back, values.astype("float64"), str(path))

        for name in names + ["float16", "bfloat16"]:
            kind = np.dtype(getattr(ml_dtypes, name, name))
            count = 2 ** int(name[5]) if name in names else 2**16
            values = np.arange(count, dtype="uint8" if kind.itemsize == 1 else "uint16").view(kind)
            fill = 0.0 if name != "float8_e8m0fnu" else 1.0
            with self.subTest(dtype=name):
                check(self.by_hand_v3(name, name, count, values.tobytes(), fill_value=fill), values)
                if name not in unknown:
                    check(self.by_tensorstore(f"{name}-ts", name, values), values)
                complex_name = f"complex_{name}"
                path = self.by_hand_v3(
                    complex_name, complex_name, count // 2, values.tobytes(), fill_value=[fill] * 2
                )
                check(path, values)
                self.assertEqual(len(self.json("cat", path, "--slice", "1")), 2)
        self.assertIn("float32 keeps", self.refused("cat", self.folder / "float8_e5m2", "--npy"))
        self.assertIn("complex64 keeps", self.refused("cat", self.folder / "complex_float16", "--npy"))

    def test_vectors_of_v3_alone_and_in_a_shard(self):
        for kind in ("<f4", ">i2", "|u1"):
            vectors = [
                np.array([0, 1, 3], kind),
                np.array([], kind),
                np.array([2], kind),
                np.array([5, 6], kind),
            ]
            codec = {"name": "numcodecs.vlen-array", "configuration": {"dtype": kind}}

            def encoded(part):
                held = np.empty(len(part), dtype=object)
                held[:] = part
                return bytes(numcodecs.VLenArray(kind).encode(held))

            alone = self.by_hand_v3(f"alone{kind[1:]}", "bytes", 4, encoded(vectors), [codec], "")
            inner = [encoded(vectors[:2]), encoded(vectors[2:])]
            index = struct.pack("<4Q", 0, len(inner[0]), len(inner[0]), len(inner[1]))
            sums = struct.pack("<I", google_crc32c.value(index))
            little_endian = {"name": "bytes", "configuration": {"endian": "little"}}
            configuration = {"chunk_shape": [2], "codecs": [codec]}
            configuration["index_codecs"] = [little_endian, {"name": "crc32c"}]
            shard = {"name": "sharding_indexed", "configuration": configuration}
            sharded = self.by_hand_v3(
                f"shard{kind[1:]}", "bytes", 4, b"".join(inner) + index + sums, [shard], ""
            )
            for path in (alone, sharded):
                self.assertEqual(self.json("cat", path), [each.tolist() for each in vectors], path)
                raw = prefixed(self.expect(0, "cat", path, "--raw").stdout)
                self.assertEqual(raw, [each.tobytes() for each in vectors])

    def test_leaves_of_json_are_text(self):
        text = '{"a": [1, 2.5],\n "b": "é\x1b"}\n'
        np.savez(self.folder / "a.npz", config=np.frombuffer(text.encode(), "u1"))
        path = self.folder / "a.zarr"
        self.text("convert", self.folder / "a.npz", path)
        set_kind(path / "zarr.json", "config", "json")
        self.assertEqual(self.text("verify", path).split()[0], "OK")
        self.assertEqual(self.text("cat", path), text.replace("\x1b", "\\x1b"))
        self.assertEqual(self.json("cat", path, "config"), text)
        self.assertEqual(self.json("cat", path, "config", "--slice", ":2"), [123, 34])
        self.assertEqual(self.expect(0, "cat", path, "--raw").stdout, text.encode())
        info = self.json("inspect", path)["arrays"][0]
        self.assertEqual(info["kind"], "json")
        self.assertRegex(self.text("inspect", path), r"NAME +KIND .*\n.*\n└── config +json +uint8")

    def test_byte_orders_and_fortran_order(self):
        for name in ("int16", "float32", "float64", "complex64", "uint64"):
            array = random_array(name, (4, 5, 6))
            big = array.astype(array.dtype.newbyteorder(">"))
            np.save(self.folder / "big.npy", big)
            np.save(self.folder / "f.npy", np.asfortranarray(array))
            np.save(self.folder / "bigf.npy", np.asfortranarray(big))
            for file in ("big", "f", "bigf"):
                done = self.expect(0, "cat", self.folder / f"{file}.npy", "--raw")
                self.assertEqual(done.stdout, little(big))

    def test_the_summary_reads_like_numpy_s(self):
        for array in (
            np.arange(6, dtype="int32").reshape(2, 3),
            np.arange(4000).reshape(40, 100),
            np.arange(5000) % 900,
            np.array(7),
            np.zeros((0, 3)),
            np.arange(8 * 9 * 20, dtype="int16").reshape(8, 9, 20),
        ):
            np.save(self.folder / "a.npy", array)
            shown = self.text("cat", self.folder / "a.npy").split("\n", 1)[1]
            expected = np.array2string(array) if array.size else "[]"
            self.assertEqual(shown.split(), expected.split())

    def test_a_large_array_in_pieces(self):
        array = np.arange(12_000_000, dtype="float64").reshape(300, 200, 200)
        zarr.create_array(self.folder / "a.zarr", data=array, chunks=(70, 90, 110))
        done = self.expect(0, "cat", self.folder / "a.zarr", "--raw")
        self.assertEqual(done.stdout, array.tobytes())

    def test_names_choose_arrays(self):
        np.savez(self.folder / "a.npz", x=np.arange(3), y=np.arange(4))
        path = self.folder / "a.npz"
        self.assertIn('name one of them: "x", "y"', self.refused("cat", path))
        self.assertIn('no array or group "z"; there are "x", "y"', self.refused("cat", path, "z"))
        self.assertEqual(self.json("cat", path, "y"), [0, 1, 2, 3])

    def test_names_with_slashes_at_their_ends(self):
        path = self.folder / "a.npz"
        names = ["a", "/a", "a/", "/"]
        np.savez(path, **{name: np.array([i]) for i, name in enumerate(names)})
        for i, name in enumerate(names):
            self.assertEqual(self.json("cat", path, name), [i], name)

    def test_npz_deflated_and_stored(self):
        arrays = {"x": random_array("float32", (100, 7)), "y/z": random_array("uint8", (300_000,))}
        np.savez(self.folder / "stored.npz", **arrays)
        np.savez_compressed(self.folder / "deflated.npz", **arrays)
        for name in ("stored.npz", "deflated.npz"):
            for key, array in arrays.items():
                done = self.expect(0, "cat", self.folder / name, key, "--raw")
                self.assertEqual(done.stdout, little(array))

    def test_npy_has_no_bfloat16(self):
        save_file({"x": np.zeros(3, SMALL["bfloat16"])}, self.folder / "a.safetensors")
        self.assertIn(
            "npy has no dtype bfloat16", self.refused("cat", self.folder / "a.safetensors", "--npy")
        )
