# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/conformance.md says of the outcomes, between its two marks."""

from collections import Counter, defaultdict

from exchange import DIFFERS, FROM_PEER, PEER_REFUSES, SAME, TO_PEER, WE_REFUSE
from rules import RULES

BEGIN = "<!-- written by tests/conformance/run.py --update -->"
END = "<!-- end of what tests/conformance/run.py wrote -->"
PEERS = {"zarr-python": "P", "zarrs": "R", "tensorstore": "T", "numcodecs": "N"}
ARROWS = {TO_PEER: "→", FROM_PEER: "←"}
MATRIX = "Data types and codecs"
STATES = {SAME: "the same values", PEER_REFUSES: "the peer refuses", DIFFERS: "other values",
          WE_REFUSE: "zarrpoint refuses"}  # fmt: skip


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def summary(outcomes):
    counts = Counter((o.peer, o.direction, o.state) for o in outcomes)
    rows = []
    for peer in PEERS:
        for direction, arrow in ARROWS.items():
            numbers = [counts[peer, direction, state] for state in STATES]
            rows.append([f"{arrow} {peer}", sum(numbers), *numbers])
    return table(["", "arrays", *STATES.values()], rows)


def cell(outcomes):
    """A letter for each peer with which something went through; small where not everything did."""
    out = []
    for peer, letter in PEERS.items():
        of = [o.state == SAME for o in outcomes if o.peer == peer]
        if of and any(of):
            out.append(letter if all(of) else letter.lower())
    return " ".join(out) or "–"


def matrix(outcomes, version):
    cells, columns, rows = defaultdict(list), {}, {}
    for o in outcomes:
        if o.section == MATRIX and o.case.version == version:
            cells[o.case.row, o.case.column].append(o)
            columns[o.case.column] = rows[o.case.row] = True
    lines = defaultdict(list)  # data types with the same cells share a row
    for row in rows:
        said = tuple(cell(cells[row, c]) if (row, c) in cells else "" for c in columns)
        lines[said].append(row)
    return table(["data type", *columns], [[", ".join(names), *said] for said, names in lines.items()])


def sections(outcomes):
    rows = []
    for section in dict.fromkeys(o.section for o in outcomes):
        of = [o for o in outcomes if o.section == section]
        row = [section, len({o.case.name for o in of}), len(of)]
        for peer in PEERS:
            states = [o.state == SAME for o in of if o.peer == peer]
            row.append(f"{sum(states)} of {len(states)}" if states else "")
        rows.append(row)
    return table(["arrays", "number", "exchanges", *PEERS], rows)


def explained(outcomes):
    counts = Counter(o.rule for o in outcomes if o.rule is not None)
    lines = []
    for state in (DIFFERS, WE_REFUSE, PEER_REFUSES):
        lines += ["", f"{STATES[state].capitalize()}:", ""]
        for number, rule in enumerate(RULES):
            if rule.state != state:
                continue
            arrows = "".join(ARROWS[d] for d in ARROWS if d in rule.directions)
            lines.append(f"- {arrows} {', '.join(rule.peers)} ({counts[number]}): {rule.why}.")
    return lines[1:]


def page(outcomes, documents):
    """The lines between the marks."""
    letters = ", ".join(f"**{letter}** {peer}" for peer, letter in PEERS.items())
    return "\n".join([
        BEGIN, "",
        *summary(outcomes), "",
        *sections(outcomes), "",
        "### Zarr v3", "",
        f"{letters}: the values are the same in both directions, for every chain of the column; a small letter: "
        "for some chains or in one direction; –: no peer takes it; empty: does not apply.", "",
        *matrix(outcomes, 3), "",
        "### Zarr v2", "",
        *matrix(outcomes, 2), "",
        "### Unusual metadata", "",
        "Which implementations open an array whose metadata differ slightly from the specification. –: refused.", "",
        *table(["", "zarrpoint", "zarr-python", "tensorstore"], documents), "",
        "### What is not the same, and why", "",
        *explained(outcomes), "",
        END,
    ])  # fmt: skip
