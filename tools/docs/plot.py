#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/speed.svg, the plot of the site's home, from the table of bench/peers in docs/benchmarks.md.

    plot.py            writes docs/speed.svg
    plot.py --check    fails when docs/speed.svg is not that of the table
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE, PICTURE = ROOT / "docs/benchmarks.md", ROOT / "docs/speed.svg"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) GB/s \|", re.M)
MARKERS = re.compile(r"<!-- bench/peers begins -->\n(.*?)<!-- bench/peers ends -->", re.S)
LEFT, BAR, GAP, LONGEST = 150, 26, 14, 380


def picture(table):
    rows = ROW.findall(table)
    if len(rows) < 2:
        raise SystemExit("docs/benchmarks.md has no table of bench/peers")
    what, _, load = (part.strip() for part in table.partition(" after.")[0].split(",", 2))
    cores = re.search(r"\d+ cores", table)[0]
    fastest = max(float(rate) for _, _, rate in rows)
    height = 62 + len(rows) * (BAR + GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" role="img" font-family="sans-serif" font-size="14">',
        "  <!-- SPDX-FileCopyrightText: 2026 The zarrpoint authors; SPDX-License-Identifier: Apache-2.0 -->",
        f"  <title>Load of {what}: {', '.join(f'{name} {rate} GB/s' for name, _, rate in rows)}</title>",
        f'  <rect width="640" height="{height}" fill="#ffffff"/>',
        f'  <text x="10" y="24" fill="#333333">Load of {what}, GB/s: more is faster</text>',
        f'  <text x="10" y="44" fill="#666666" font-size="12">{cores}, under {load} after</text>',
    ]
    for i, (name, version, rate) in enumerate(rows):
        top = 58 + i * (BAR + GAP)
        width = max(1, round(float(rate) / fastest * LONGEST))
        middle = top + BAR - 8
        colour = "#3f51b5" if i == 0 else "#9e9e9e"
        lines += [
            f'  <text x="{LEFT - 10}" y="{middle}" text-anchor="end" fill="#333333">{name} {version}</text>',
            f'  <rect x="{LEFT}" y="{top}" width="{width}" height="{BAR}" fill="{colour}"/>',
            f'  <text x="{LEFT + width + 8}" y="{middle}" fill="#333333">{rate}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    found = MARKERS.search(TABLE.read_text(encoding="utf-8"))
    drawn = picture(found[1] if found else "")
    if not arguments:
        PICTURE.write_text(drawn, encoding="utf-8", newline="\n")
    elif not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != drawn:
        print("docs/speed.svg is not the plot of docs/benchmarks.md: run tools/docs/plot.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
