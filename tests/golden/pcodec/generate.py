# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the files beside it: `generate.py` with one version of the Python package pcodec.

Each version writes its own cases and its part of `index.json`: run it with 0.1.1, 0.3.0, 0.3.6 and
1.1.0 in turn (and any NumPy), as PROVENANCE.md says. The elements of each are in `.bin`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pcodec
from pcodec import ChunkConfig, PagingSpec, standalone

HERE = Path(__file__).parent
CLASSIC, INT_MULT, FLOAT_MULT, FLOAT_QUANT, DICT = range(5)
rng = np.random.default_rng(13)
N = 519  # two batches and a part of one


def special(values):
    values = values.copy()
    values[5::50] = np.nan
    values[7], values[8], values[9] = np.inf, -np.inf, -0.0
    return values


def steps(dtype):
    return np.cumsum(rng.integers(-40, 40, N)).astype(dtype)


def tenths(dtype):
    return (rng.integers(-900, 900, N) * 0.1).astype(dtype)


def old_cases():  # format 1
    yield "1-f4-float-mult", tenths("f4"), dict(delta_encoding_order=0), FLOAT_MULT
    yield "1-i4-order-2", np.cumsum(steps("i4")).astype("i4"), dict(delta_encoding_order=2), CLASSIC


def cases_of_2():
    from pcodec import DeltaSpec, ModeSpec

    yield "2-i2", rng.normal(0, 3000, N).astype("i2"), dict(delta_spec=DeltaSpec.none()), CLASSIC
    yield "2-f4-float-quant", rng.normal(size=N).astype("f2").astype("f4"), dict(mode_spec=ModeSpec.try_float_quant(13)), FLOAT_QUANT


def cases_of_3():
    from pcodec import DeltaSpec

    words = rng.integers(0, 1 << 32, 37, dtype="u4")
    yield "3-u4-lookback", np.resize(words, N), dict(delta_spec=DeltaSpec.try_lookback()), CLASSIC


def cases_of_4():
    from pcodec import DeltaSpec, ModeSpec

    consecutive, conv1 = DeltaSpec.try_consecutive, DeltaSpec.try_conv1
    yield "4-u2-none", np.empty(0, "u2"), {}, None
    yield "4-f8-one", np.array([-1.5]), {}, CLASSIC
    yield "4-u8-full", rng.integers(0, 1 << 64, N, dtype="u8"), {}, CLASSIC
    yield "4-i8-int-mult", steps("i8") * 1000 + 7, dict(mode_spec=ModeSpec.try_int_mult(1000), delta_spec=consecutive(1)), INT_MULT
    yield "4-f8-special", special(tenths("f8")), dict(mode_spec=ModeSpec.try_float_mult(0.1)), FLOAT_MULT
    yield "4-f2-float-mult", special(tenths("f2")), dict(mode_spec=ModeSpec.try_float_mult(0.1)), FLOAT_MULT
    yield "4-i4-conv1-6", steps("i4"), dict(delta_spec=conv1(6)), CLASSIC
    yield "4-u2-conv1-2", steps("i4").astype("u2") + np.uint16(30000), dict(delta_spec=conv1(2)), CLASSIC
    words = rng.normal(size=20)
    yield "4-f8-dict", rng.choice(words, N), dict(mode_spec=ModeSpec.try_dict()), DICT
    yield "4-f4-dict-lookback", np.resize(words.astype("f4"), N), dict(mode_spec=ModeSpec.try_dict(), delta_spec=DeltaSpec.try_lookback()), DICT
    small = dict(enable_8_bit=True)
    yield "4-u1", rng.normal(128, 20, N).astype("u1"), small, CLASSIC
    yield "4-i1", steps("i1"), small, CLASSIC
    yield "4-i4-chunks", steps("i4"), dict(paging_spec=PagingSpec.equal_pages_up_to(100)), CLASSIC
    yield "4-f4-order-7", np.cumsum(rng.normal(size=N)).astype("f4"), dict(delta_spec=consecutive(7)), CLASSIC


def mode_of(stored):
    """The mode of the first chunk, which begins behind two heads of which the hint has a length of its own."""
    at = 6 if stored[4] == 3 else 5
    at += (6 + (stored[at] & 63) + 1 + 7) // 8
    at += 2 if stored[at] >= 4 else 1
    return stored[at + 4] & 15


def main():
    try:
        from pcodec import ModeSpec
    except ImportError:
        cases = old_cases
    else:
        trial = bytes(standalone.simple_compress(np.zeros(1, "u4"), ChunkConfig()))
        at = 6 if trial[4] == 3 else 5
        at += (6 + (trial[at] & 63) + 1 + 7) // 8
        cases = {2: cases_of_2, 3: cases_of_3, 4: cases_of_4}[trial[at]]
    index = HERE / "index.json"
    told = json.loads(index.read_text()) if index.exists() else {}
    for name, values, options, mode in cases():
        stored = bytes(standalone.simple_compress(values, ChunkConfig(**options)))
        assert mode is None or mode_of(stored) == mode, (name, mode_of(stored))
        (HERE / f"{name}.pco").write_bytes(stored)
        (HERE / f"{name}.bin").write_bytes(values.tobytes())
        told[name] = {"dtype": values.dtype.name, "count": values.size}
    index.write_text(json.dumps(dict(sorted(told.items())), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
