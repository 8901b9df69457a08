# SPDX-License-Identifier: Apache-2.0
"""Safetensors files in NumPy: 8 bytes of header length, a JSON header, the tensors' data."""
import json
import math
import struct
from pathlib import Path

import numpy as np

# NumPy has no bfloat16: its bits are handled as uint16, which these files do not use otherwise.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
          "I8": "i1"}


class FormatError(Exception):
    """Unexpected input; the message is one sentence that names the file and the field."""


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """The bits (uint16) of the bfloat16 nearest to each finite float32, ties to even."""
    bits = values.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


class TensorFile:
    """A memory-mapped safetensors file; tensors are read on demand."""

    def __init__(self, path: Path):
        self.path = path
        self.entries = self._read_header()
        self.metadata = self.entries.pop("__metadata__", {})
        for name, entry in self.entries.items():
            self._check(name, entry)

    def _read_header(self) -> dict:
        with open(self.path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            length = struct.unpack("<Q", file.read(8))[0] if size >= 8 else 0
            if not 2 <= length <= size - 8:
                raise FormatError(f"{self.path}: the header's length is {length}, but the file has "
                                  f"{size} bytes")
            try:
                header = json.loads(file.read(length))
            except ValueError as error:
                raise FormatError(f"{self.path}: the header is not JSON: {error}") from None
        if not isinstance(header, dict):
            raise FormatError(f"{self.path}: the header is not a JSON object")
        self.data_start = 8 + length
        self.data_size = size - self.data_start
        return header

    def _check(self, name: str, entry: dict) -> None:
        try:
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            expected = math.prod(shape) * np.dtype(DTYPES.get(dtype, "u1")).itemsize
        except (TypeError, KeyError, ValueError):
            raise FormatError(f"{self.path}: {name}: expected dtype, shape and data_offsets, found "
                              f"{entry}") from None
        fits = 0 <= begin <= end <= self.data_size
        if not fits or (dtype in DTYPES and end - begin != expected):
            raise FormatError(f"{self.path}: {name}: data_offsets {[begin, end]} do not fit "
                              f"{dtype} {shape} in {self.data_size} bytes")

    def shape(self, name: str) -> list[int]:
        return self.entries[name]["shape"]

    def read(self, name: str) -> np.ndarray:
        """The tensor in its stored type (a view of the file), or float32 if stored as BF16."""
        entry = self.entries[name]
        if entry["dtype"] not in DTYPES:
            raise FormatError(f"{self.path}: {name}: dtype is {entry['dtype']}, expected one of "
                              f"{', '.join(DTYPES)}")
        begin, end = entry["data_offsets"]
        dtype = np.dtype(DTYPES[entry["dtype"]])
        if begin == end:
            return np.zeros(entry["shape"], dtype)
        values = np.memmap(self.path, dtype, "r", self.data_start + begin, tuple(entry["shape"]))
        if entry["dtype"] == "BF16":
            return (values.astype("<u4") << 16).view("<f4")
        return values


def write_tensors(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Writes the tensors in the given order, each in its NumPy type (uint16: bits of BF16)."""
    names = {np.dtype(code): name for name, code in DTYPES.items()}
    header: dict = {"__metadata__": metadata} if metadata else {}
    offset = 0
    for name, values in tensors.items():
        header[name] = {"dtype": names[values.dtype], "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(np.ascontiguousarray(values).data)
