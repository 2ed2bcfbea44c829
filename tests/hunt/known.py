# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Differences that are known: a pattern of the message, and the reason. docs/conformance.md has the same."""

LIMITS = [
    (r"convert to npz: .*npy has no dtype \S+", "npz: NumPy has no such data type; the command refuses and says so"),
    (r"convert to npz: .*array .* npy cannot hold (strings|bytes) that end", "npz: NumPy cuts zeros at the end; the command refuses"),
    (r"convert to safetensors: .*safetensors has no dtype \S+", "safetensors has no such data type; the command refuses and says so"),
    (r"convert to zarr2: .*Zarr v2 has no", "Zarr v2 has no such data type or fill value; the command refuses and says so"),
    (r"convert to \w+: .*(has a control character|contains a NUL byte|has a backslash|consists of periods|or \"..\" segment|is reserved"
     r"|cannot be a leaf: other leaves|empty|begins with|ends with|has a segment of|too long|is not a valid)",
     "names that no key can be, or that lie beneath another: the command refuses and says so; --rename helps"),
    (r'convert to npz: not the same: .*"dtype": \["bytes", "null_terminated_bytes"\]', "npz has bytes of one length only"),
    (r'convert to npz: not the same: .*"dtype": \["fixed_length_utf32", "string"\]', "texts of npz are read as texts of any length"),
    (r'convert to \w+: not the same: .*"only_in": "A", "array": ""', "an array without a name takes that of the file, as docs/cli.md has it"),
    (r"convert to safetensors: .*does not fill whole bytes", "safetensors packs elements below a byte; the command refuses and says so"),
    (r"convert to safetensors: .*would go into __metadata__, but an attribute there has that name",
     "safetensors has one place for texts and attributes: the command refuses and says so; --rename helps"),
    (r"dcp: cat: odd .* UntypedStorage is string", "a storage that is not part of a tensor is a JSON text in DCP, with its bytes in base64"),
]  # fmt: skip
