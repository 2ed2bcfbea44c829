# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""diff and stats: the answers of numpy."""

import math

import ml_dtypes
import numpy as np
import zarr
from safetensors.numpy import save_file
from support import BITS, NO, OK, SMALL, Case, random_array


class Diff(Case):
    def pair(self, a, b):
        np.savez(self.folder / "a.npz", **a)
        np.savez(self.folder / "b.npz", **b)
        return self.folder / "a.npz", self.folder / "b.npz"

    def test_the_same_in_all_formats(self):
        arrays = {"x": random_array("float32", (20, 30)), "g/y": random_array("int16", (9,))}
        save_file(arrays, self.folder / "a.safetensors")
        np.savez(self.folder / "b.npz", **arrays)
        self.text(
            "convert", self.folder / "b.npz", self.folder / "c.zarr", "--chunk", "7,11", "--codec", "zstd"
        )
        for other in ("b.npz", "c.zarr"):
            said = self.text("diff", self.folder / "a.safetensors", self.folder / other)
            self.assertEqual(said, "SAME  2 arrays compared\n")

    def test_names_dtypes_and_shapes(self):
        a, b = self.pair(
            {"x": np.zeros(3), "s": np.zeros((2, 3)), "t": np.zeros(2, "f4"), "same": np.ones(1)},
            {"y": np.zeros(3), "s": np.zeros((3, 2)), "t": np.zeros(2, "f8"), "same": np.ones(1)},
        )
        found = {d["array"]: d for d in self.json("diff", a, b, status=NO)["differences"]}
        self.assertEqual(found["x"]["only_in"], "A")
        self.assertEqual(found["y"]["only_in"], "B")
        self.assertEqual(found["s"]["shape"], [[2, 3], [3, 2]])
        self.assertEqual(found["t"]["dtype"], ["float32", "float64"])
        self.assertEqual(sorted(found), ["s", "t", "x", "y"])
        said = self.text("diff", a, b, status=NO)
        self.assertIn('"s": shape [2,3] | [3,2]\n', said)
        self.assertIn(
            "DIFFERENT  3 arrays compared, 2 with differences; 1 only in A; 1 only in B\n", said
        )

    def test_sets_with_nothing_in_common(self):
        a, b = self.pair({"x": np.zeros(3), "y": np.zeros(1)}, {"u": np.zeros(3), "v": 1, "w": 2})
        said = self.text("diff", a, b, status=NO)
        self.assertIn(
            "\nDIFFERENT  no array of A has the name of one of B; 2 only in A; 3 only in B\n", said
        )
        found = self.json("diff", a, b, status=NO)
        counts = [found[key] for key in ("compared", "different", "only_in_a", "only_in_b")]
        self.assertEqual((found["same"], counts), (False, [0, 0, 2, 3]))

    def test_values_of_every_dtype(self):
        for name in BITS:
            x = np.nan_to_num(random_array(name, (40, 50)))
            y = x.copy()
            y[3, 7] = 1 if x[3, 7] == 0 else 0
            y[39, 49] = x[0, 0]
            a, b = self.pair({"v": x}, {"v": y})
            found = self.json("diff", a, b, status=NO)["differences"][0]
            changed = np.argwhere(x != y)
            self.assertEqual(found["differing"], len(changed), name)
            self.assertEqual(found["first"], changed[0].tolist())
            wide = (
                x.dtype
                if name in ("int64", "uint64")
                else ("complex128" if x.dtype.kind == "c" else "float64")
            )
            apart = [
                abs(int(p) - int(q)) if x.dtype.kind in "iu" else abs(np.array(p, wide) - np.array(q, wide))
                for p, q in zip(x[x != y], y[x != y])
            ]
            self.assertAlmostEqual(found["largest_difference"] / float(max(apart)), 1, 12)

    def test_bits_and_tolerance(self):
        x = np.array([1.0, math.nan, 0.0, math.inf, 2.0, 5.0])
        y = np.array([1.001, math.nan, -0.0, math.inf, 2.0, 5.5])
        a, b = self.pair({"v": x}, {"v": y})
        self.assertEqual(self.json("diff", a, b, status=NO)["differences"][0]["differing"], 3)
        found = self.json("diff", a, b, "--tolerance", "0.01", status=NO)["differences"][0]
        self.assertEqual((found["differing"], found["first"], found["largest_difference"]), (1, [5], 0.5))
        self.text("diff", a, b, "--tolerance", "0.5")
        y[1] = 3
        a, b = self.pair({"v": x}, {"v": y})
        found = self.json("diff", a, b, "--tolerance", "10", status=NO)["differences"][0]
        self.assertEqual((found["differing"], found["largest_difference"]), (1, "NaN"))

    def test_a_cast_is_judged_by_its_values(self):
        values = np.linspace(-1, 1, 100, dtype="float32")
        save_file({"v": values}, self.folder / "a.safetensors")
        self.text("convert", self.folder / "a.safetensors", self.folder / "b.zarr", "--dtype", "**=bfloat16")
        found = self.json("diff", self.folder / "a.safetensors", self.folder / "b.zarr", status=NO)[
            "differences"
        ]
        rounded = values.astype(ml_dtypes.bfloat16).astype("float64")
        self.assertEqual(found[1]["differing"], int((rounded != values).sum()))
        self.assertEqual(found[1]["largest_difference"], float(np.abs(rounded - values).max()))

    def test_strings_and_single_arrays(self):
        np.save(self.folder / "a.npy", np.array(["x", "y", "z"]))
        np.savez(self.folder / "b.npz", t=np.array(["x", "Y", "\x1b"]))
        said = self.text("diff", self.folder / "a.npy", self.folder / "b.npz", status=NO)
        self.assertIn('(root): 2 of 3 values differ; first at [1]: "y" | "Y"', said)

    def test_errors_are_no_differences(self):
        a, b = self.pair({"v": np.zeros(2)}, {"v": np.zeros(2)})
        self.refused("diff", a, self.folder / "no.npz")
        data = bytearray(b.read_bytes())
        data[data.index(b"NUMPY") + 130] ^= 1
        b.write_bytes(data)
        self.assertIn("crc32", self.refused("diff", a, b))


class Stats(Case):
    def stats(self, array, *options):
        zarr.create_array(
            self.folder / "a.zarr",
            data=array,
            chunks=tuple(max(n // 3, 1) for n in array.shape),
            overwrite=True,
        )
        return self.json("stats", self.folder / "a.zarr", *options)["arrays"][0]

    def test_numbers_are_those_of_numpy(self):
        random = np.random.default_rng(3)
        for name in ("float32", "float64", "float16", "int8", "uint64", "int64", "bool", "complex64"):
            if name in ("float32", "float64", "float16"):
                array = random.normal(5, 2, (50, 40)).astype(name)
                array[0, :3] = math.nan, math.inf, 0
            elif name == "complex64":
                array = (random.normal(0, 1, (50, 40)) + 1j * random.normal(0, 1, (50, 40))).astype(name)
            else:
                array = random_array(name, (50, 40))
            found = self.stats(array, "--bins", "7")
            flat = np.abs(array) if name == "complex64" else array
            finite = flat[np.isfinite(flat)].astype("float64").ravel()
            with self.subTest(dtype=name):
                self.assertEqual(found["count"], array.size)
                self.assertEqual(found["nan"], int(np.isnan(array).sum()))
                self.assertEqual(found["inf"], int(np.isinf(array).sum()))
                self.assertEqual(found["zero"], int((array == 0).sum()))
                if array.dtype.kind in "iu":
                    self.assertEqual((found["min"], found["max"]), (int(array.min()), int(array.max())))
                self.assertAlmostEqual(found["mean"] / finite.mean(), 1, 6 if name == "complex64" else 11)
                self.assertAlmostEqual(found["deviation"] / finite.std(), 1, 6 if name == "complex64" else 11)
                self.assertEqual(sum(found["histogram"]["counts"]), len(finite))
                if name != "complex64":
                    self.assertEqual(found["histogram"]["counts"], np.histogram(finite, 7)[0].tolist())

    def test_exponents_and_compression(self):
        for name, bits in (
            ("float32", 8),
            ("float16", 5),
            ("float64", 11),
            ("bfloat16", 8),
            ("float8_e5m2", 5),
        ):
            values = np.random.default_rng(1).normal(0, 1, 10000)
            array = values.astype(SMALL.get(name, name))
            save_file({"v": array}, self.folder / "a.safetensors")
            found = self.json("stats", self.folder / "a.safetensors")["arrays"][0]
            shift = {"float32": 23, "float16": 10, "float64": 52, "bfloat16": 7, "float8_e5m2": 2}[name]
            exponents = (array.view(f"u{array.itemsize}").astype("u8") >> shift) & (2**bits - 1)
            share = np.unique(exponents, return_counts=True)[1] / array.size
            self.assertEqual(found["exponent_bits"], bits)
            self.assertAlmostEqual(found["exponent_entropy"], float(-(share * np.log2(share)).sum()), 9)
        found = self.stats(np.zeros(100_000))
        self.assertLess(found["compression"]["zstd_bytes"], 1000)
        self.assertEqual(found["compression"]["sampled_bytes"], 800_000)
        self.assertEqual(
            (found["byte_entropy"], found["min"], found["max"], found["deviation"]), (0, 0, 0, 0)
        )

    def test_what_is_drawn(self):
        np.save(self.folder / "a.npy", np.repeat([0.0, 1.0, 3.0], [5, 10, 20]))
        said = self.text("stats", self.folder / "a.npy", "--bins", "3")
        self.assertIn("values 35  NaN 0  Inf 0  zero 5", said)
        rows = [line for line in said.splitlines() if "│" in line]
        self.assertEqual([int(row.split()[-1]) for row in rows], [5, 10, 20])
        self.assertIn(rows[2].count("█") - 2 * rows[1].count("█"), (0, 1))  # the rest is an eighth
        np.save(self.folder / "a.npy", np.array([], "f4"))
        self.assertIn("values 0", self.text("stats", self.folder / "a.npy"))
        np.save(self.folder / "a.npy", np.array([math.nan]))
        self.assertIn("NaN 1", self.text("stats", self.folder / "a.npy"))
        np.save(self.folder / "a.npy", np.array(["a", "", "bcd"]))
        self.assertIn("empty 1  bytes 4  shortest 0  longest 3", self.text("stats", self.folder / "a.npy"))

    def test_all_arrays_of_a_group(self):
        np.savez(self.folder / "a.npz", **{"g/x": np.arange(3), "g/y": np.arange(4), "z": np.arange(5)})
        found = self.json("stats", self.folder / "a.npz", "g")["arrays"]
        self.assertEqual([f["count"] for f in found], [3, 4])
        self.assertEqual(self.expect(OK, "stats", self.folder / "a.npz", "z").stderr, b"")
