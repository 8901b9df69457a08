#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model's weights in each format that the library reads: weight_files.py MODEL DIR

MODEL contains model.safetensors. DIR gets a copy of MODEL in each of FORMATS, with the same weights.
The formats are written from their descriptions: pickle opcode by opcode, zip with the standard
library, LevelDB's tables and protocol buffers by hand.
"""
import json
import shutil
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "reference"))

from tensor_file import TensorFile, write_tensors  # noqa: E402

TORCH = {"<f8": "Double", "<f4": "Float", "<f2": "Half", "<u2": "BFloat16", "<i8": "Long",
         "<i4": "Int", "|u1": "Byte", "|b1": "Bool"}
TENSORFLOW = {"<f4": 1, "<f8": 2, "<i4": 3, "|u1": 4, "<i8": 9, "|b1": 10, "<u2": 14, "<f2": 19}


# ---- PyTorch ------------------------------------------------------------------------------------

def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def numbers(values) -> bytes:
    return b"(" + b"".join(map(integer, values)) + b"t"


def pickled(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


def pickled_tensors(tensors: dict[str, np.ndarray], transposed: set[str], more: bytes) -> bytes:
    """An OrderedDict of Parameters with _metadata. transposed: the names to store column-major."""
    out = b"ccollections\nOrderedDict\nq\x00)R("
    for i, (name, values) in enumerate(tensors.items()):
        storage = (b"(" + text("storage") + f"ctorch\n{TORCH[values.dtype.str]}Storage\n".encode()
                   + text(str(i)) + text("cpu") + integer(values.size) + more + b"tQ")
        order = "F" if name in transposed else "C"
        strides = [s // values.itemsize for s in np.empty_like(values, order=order).strides]
        tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(0)
                  + numbers(values.shape) + numbers(strides) + b"\x89h\x00)Rt" + b"R")
        out += (text(name) + b"ctorch._utils\n_rebuild_parameter\n" + tensor + b"\x88h\x00)R\x87R")
    return pickled(out + b"u}" + text("_metadata") + b"}sb")


def raw(name: str, values: np.ndarray, transposed: set[str]) -> bytes:
    return values.tobytes(order="F" if name in transposed else "C")


def write_zip(path: Path, tensors: dict[str, np.ndarray], transposed: set[str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled_tensors(tensors, transposed, b""))
        archive.writestr("archive/byteorder", "little")
        for i, (name, values) in enumerate(tensors.items()):
            # Every other entry with a zip64 field.
            with archive.open(f"archive/data/{i}", "w", force_zip64=i % 2 == 0) as file:
                file.write(raw(name, values, transposed))
        archive.writestr("archive/version", "3\n")


def write_legacy(path: Path, tensors: dict[str, np.ndarray], transposed: set[str]) -> None:
    magic = 0x1950A86A20F9469CFC6C
    system = (b"}(" + text("protocol_version") + b"M\xe9\x03" + text("little_endian") + b"\x88"
              + text("type_sizes") + b"}" + b"u")
    keys = b"](" + b"".join(text(str(i)) for i in range(len(tensors))) + b"e"
    with open(path, "wb") as file:
        file.write(pickled(b"\x8a\x0a" + magic.to_bytes(10, "little")) + pickled(b"M\xe9\x03")
                   + pickled(system) + pickled_tensors(tensors, transposed, b"N") + pickled(keys))
        for name, values in tensors.items():
            file.write(struct.pack("<q", values.size) + raw(name, values, transposed))


# ---- TensorFlow ---------------------------------------------------------------------------------

def crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    out, restarts, last = b"", [], b""
    for i, (key, value) in enumerate(entries):
        shared = 0
        if i % 16 == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return out + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def table(entries: list[tuple[bytes, bytes]], size: int = 50) -> bytes:
    """size: the number of entries in a data block."""
    out, index = b"", []

    def add(content: bytes) -> bytes:
        nonlocal out
        handle = varint(len(out)) + varint(len(content))
        out += content + b"\0" + struct.pack("<I", masked_crc(content + b"\0"))
        return handle

    for i in range(0, len(entries), size):
        part = entries[i:i + size]
        index.append((part[-1][0] + b"\0", add(block(part))))
    footer = add(block([])) + add(block(index))
    return out + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def tensorflow_name(name: str, values: np.ndarray) -> tuple[str, np.ndarray]:
    parts = name.split(".")
    if parts[0] == "classifier":
        return "output_" + ("weights" if parts[1] == "weight" else "bias"), values
    if name == "cls.predictions.bias":
        return "cls/predictions/output_bias", values
    if parts[1] == "seq_relationship":
        return f"cls/seq_relationship/output_{'weights' if parts[2] == 'weight' else 'bias'}", values
    if "layer" in parts:
        at = parts.index("layer")
        parts[at:at + 2] = [f"layer_{parts[at + 1]}"]
    if parts[-2] == "LayerNorm":
        parts[-1] = {"weight": "gamma", "bias": "beta"}[parts[-1]]
    elif parts[-2].endswith("_embeddings"):
        parts.pop()
    elif parts[-1] == "weight":
        parts[-1], values = "kernel", values.T
    return "/".join(parts), values


def write_tensorflow(prefix: Path, tensors: dict[str, np.ndarray], shards: int) -> None:
    stored = dict(tensorflow_name(name, values) for name, values in tensors.items())
    first = next(iter(stored))
    stored["global_step"] = np.array(7, "<i8")
    stored[first + "/adam_m"] = stored[first + "/adam_v"] = np.zeros(3, "<f4")
    data = [bytearray() for _ in range(shards)]
    entries = [(b"", field(1, shards) + field(3, field(1, 1)))]
    for i, name in enumerate(sorted(stored, key=str.encode)):
        values = stored[name]
        content = values.tobytes(order="C")
        shape = b"".join(field(2, field(1, size)) for size in values.shape)
        entry = field(1, TENSORFLOW[values.dtype.str]) + field(2, shape)
        shard = i % shards
        if shard:
            entry += field(3, shard)
        if data[shard]:
            entry += field(4, len(data[shard]))
        entry += field(5, len(content)) + varint(6 << 3 | 5) + struct.pack("<I", masked_crc(content))
        data[shard] += content
        entries.append((name.encode(), entry))
    Path(f"{prefix}.index").write_bytes(table(entries))
    for i, content in enumerate(data):
        Path(f"{prefix}.data-{i:05}-of-{shards:05}").write_bytes(content)


# ---- All of them --------------------------------------------------------------------------------

def write_shards(directory: Path, name: str, tensors: dict, write) -> None:
    names, weight_map, count = list(tensors), {}, 3
    stem, ending = name.split(".")
    for i in range(count):
        shard = f"{stem}-{i + 1:05}-of-{count:05}.{ending}"
        part = names[len(names) * i // count:len(names) * (i + 1) // count]
        write(directory / shard, {n: tensors[n] for n in part})
        weight_map.update(dict.fromkeys(part, shard))
    (directory / f"{name}.index.json").write_text(json.dumps({"weight_map": weight_map}))


def google_config(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").unlink()
    for field_name in ("architectures", "model_type", "id2label", "label2id", "layer_norm_eps"):
        config.pop(field_name, None)
    (directory / "bert_config.json").write_text(json.dumps(config))


def write_bert_checkpoint(directory: Path, tensors: dict, shards: int, name: str) -> None:
    write_tensorflow(directory / name, tensors, shards)
    google_config(directory)


FORMATS = {
    "safetensors": lambda d, t: write_tensors(d / "model.safetensors", t, {}),
    "safetensors-shards": lambda d, t: write_shards(
        d, "model.safetensors", t, lambda path, part: write_tensors(path, part, {})),
    "zip": lambda d, t: write_zip(d / "pytorch_model.bin", t, set()),
    "zip-transposed": lambda d, t: write_zip(d / "pytorch_model.bin", t, set(t)),
    "legacy": lambda d, t: write_legacy(d / "pytorch_model.bin", t, set()),
    "legacy-transposed": lambda d, t: write_legacy(d / "pytorch_model.bin", t, set(t)),
    "zip-shards": lambda d, t: write_shards(
        d, "pytorch_model.bin", t, lambda path, part: write_zip(path, part, set())),
    "tensorflow": lambda d, t: write_bert_checkpoint(d, t, 1, "bert_model.ckpt"),
    "tensorflow-shards": lambda d, t: write_bert_checkpoint(d, t, 3, "model.ckpt-1000"),
}


def write_formats(model: Path, directory: Path) -> None:
    file = TensorFile(model / "model.safetensors")
    tensors = {name: np.array(file.read(name)) for name in file.entries}
    for name, write in FORMATS.items():
        target = directory / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(model, target, ignore=shutil.ignore_patterns("*.safetensors"))
        write(target, tensors)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: weight_files.py MODEL DIR")
    write_formats(Path(sys.argv[1]), Path(sys.argv[2]))
