#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/reference/reference.py and make_model.py, against PyTorch if it is installed: for this Python,
or by tools/peers/setup. BERT_INFER_REQUIRE_PEERS=1 makes it a failure if it isn't."""
import contextlib
import functools
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / "build" / "peers"
sys.path[:0] = [str(ROOT / "tools" / "reference"), str(ROOT / "tests" / "golden")]

import make_goldens  # noqa: E402
import make_model  # noqa: E402
import reference  # noqa: E402
from reference_inputs import Input, WordPiece, random_inputs, read_inputs  # noqa: E402
from tensor_file import FormatError, TensorFile, to_bfloat16, write_tensors  # noqa: E402

try:
    import torch
except ImportError:
    python = PEERS / "bin" / "python"
    if python.exists() and Path(sys.prefix) != PEERS and subprocess.run(
            [python, "-c", "import numpy, torch"], stderr=subprocess.DEVNULL).returncode == 0:
        os.execv(python, [str(python), *sys.argv])
    assert os.environ.get("BERT_INFER_REQUIRE_PEERS") != "1", "tools/peers/setup installs PyTorch"
    torch = None

COMPARED = ["plain", "bf16", "wide-heads", "relu", "pretraining", "next-sentence", "no-pooler"]


def torch_weights(model: Path) -> dict:
    """The checkpoint in float64 under its modern names, read without tensor_file.py."""
    types = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}
    weights = {}
    for path in model.glob("*.safetensors"):
        data = bytearray(path.read_bytes())
        start = 8 + struct.unpack_from("<Q", data)[0]
        for name, entry in json.loads(data[8:start]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                part = data[start + begin:start + end]
                values = torch.frombuffer(part, dtype=types[entry["dtype"]])
                name = name.removeprefix("bert.").replace(".gamma", ".weight")
                name = name.replace(".beta", ".bias")
                weights[name] = values.reshape(entry["shape"]).double()
    return weights


def torch_layer(weights: dict, config: dict, i: int):
    """Layer i as a torch.nn.TransformerEncoderLayer: the same computation under other names."""
    # torch.nn.GELU(approximate="tanh") would be mistaken for the erf form by the layer's fast path.
    tanh_gelu = functools.partial(torch.nn.functional.gelu, approximate="tanh")
    activations = {"gelu": torch.nn.functional.gelu, "relu": torch.nn.functional.relu}
    layer = torch.nn.TransformerEncoderLayer(
        config["hidden_size"], config["num_attention_heads"], config["intermediate_size"],
        activation=activations.get(config["hidden_act"], tanh_gelu),
        layer_norm_eps=config["layer_norm_eps"], batch_first=True, dtype=torch.float64)
    w = {k.removeprefix(f"encoder.layer.{i}."): v for k, v in weights.items()}
    state = {}
    for kind in ("weight", "bias"):
        state["self_attn.in_proj_" + kind] = torch.cat(
            [w[f"attention.self.{part}.{kind}"] for part in ("query", "key", "value")])
        for ours, theirs in (("self_attn.out_proj", "attention.output.dense"),
                             ("norm1", "attention.output.LayerNorm"),
                             ("linear1", "intermediate.dense"), ("linear2", "output.dense"),
                             ("norm2", "output.LayerNorm")):
            state[f"{ours}.{kind}"] = w[f"{theirs}.{kind}"]
    layer.load_state_dict(state)
    return layer.eval()


class AgainstTorch(unittest.TestCase):
    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_every_stage(self):
        with tempfile.TemporaryDirectory() as directory:
            for seed, (name, _, arguments, lengths) in enumerate(make_goldens.MODELS):
                if name in COMPARED:
                    make_goldens.make_golden(Path(directory), seed, name, arguments, lengths)
                    with self.subTest(name):
                        self.compare(Path(directory) / name)

    def compare(self, model: Path):
        config = json.loads((model / "config.json").read_text())
        file = TensorFile(model.with_suffix(".safetensors"))
        starts = file.read("starts")
        with torch.no_grad():
            weights = torch_weights(model)
            layers = [torch_layer(weights, config, i) for i in range(config["num_hidden_layers"])]
            for i, (begin, end) in enumerate(zip(starts, starts[1:])):
                self.compare_input(config, weights, layers, file, i, slice(int(begin), int(end)))

    def compare_input(self, config, weights, layers, file, i, part):
        def close(stage, index, values):
            error = np.abs(file.read(stage)[index] - values.numpy()).max()
            self.assertLess(error, 1e-12, f"{stage} of input {i}")

        ids, types = (torch.tensor(file.read(key)[part]) for key in ("ids", "type_ids"))
        w, e = weights, "embeddings."
        x = w[e + "word_embeddings.weight"][ids] + w[e + "token_type_embeddings.weight"][types]
        x = x + w[e + "position_embeddings.weight"][:len(ids)]
        x = torch.nn.functional.layer_norm(x, x.shape[1:], w[e + "LayerNorm.weight"],
                                           w[e + "LayerNorm.bias"], config["layer_norm_eps"])
        close("embeddings", part, x)
        for number, layer in enumerate(layers):
            x = layer(x[None])[0]
            close(f"layer.{number}", part, x)
        if "pooler" not in file.entries:
            return
        linear = torch.nn.functional.linear
        pooled = linear(x[0], weights["pooler.dense.weight"], weights["pooler.dense.bias"]).tanh()
        close("pooler", i, pooled)
        head = "classifier" if "classifier.weight" in weights else "cls.seq_relationship"
        self.assertEqual("logits" in file.entries, head + ".weight" in weights)
        if "logits" in file.entries:
            stage = "next_sentence" if "next_sentence" in file.entries else "logits"
            close(stage, i, linear(pooled, weights[head + ".weight"], weights[head + ".bias"]))


class InADirectory(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def make(self, name: str, arguments: str = "") -> Path:
        model = self.directory / name
        make_model.make(["-o", str(model), "--shape", "2,48,6,96", *arguments.split()])
        return model

    @contextlib.contextmanager
    def fails(self, *parts: str):
        with self.assertRaises(FormatError) as caught:
            yield
        for part in parts:
            self.assertIn(part, str(caught.exception))


class Models(InADirectory):
    def test_spelling_does_not_change_the_model(self):
        plain = self.make("plain")
        inputs = random_inputs(reference.read_config(plain), 2, [3, 40], 0)
        expected = reference.compute(plain, inputs)
        for spelling in ("--names gamma", "--no-prefix", "--sharded 4"):
            stages = reference.compute(self.make(spelling.replace(" ", ""), spelling), inputs)
            for stage, values in expected.items():
                np.testing.assert_array_equal(values, stages[stage], f"{spelling}: {stage}")

    def test_the_head_is_the_one_that_the_rest_needs(self):
        for options, architecture in [("", "BertForSequenceClassification"), ("--retrieval colbert", "HF_ColBERT"),
                                      ("--retrieval splade-sum", "BertForMaskedLM"),
                                      ("--family gemma3", "Gemma3TextModel"), ("--family mt5", "MT5EncoderModel")]:
            config = json.loads((self.make("head", options) / "config.json").read_text())
            self.assertEqual(config["architectures"], [architecture])
        for options, needed in ("--retrieval colbert", "none"), ("--family gemma3", "none"), ("--retrieval splade", "mlm"):
            with self.fails(f"{options} requires --head {needed}, not tokens"):
                self.make("refused", f"{options} --head tokens")

    def test_attention_is_not_uniform(self):
        """With near-uniform attention, goldens would not reveal a forgotten softmax scale."""
        model = self.make("m")
        config, checkpoint = reference.read_config(model), reference.Checkpoint(model)
        x = reference.encode(config, checkpoint, random_inputs(config, 1, [64], 0))["embeddings"]
        q, k = (checkpoint.linear(x, f"encoder.layer.0.attention.self.{n}", 48)[:, :8]
                for n in ("query", "key"))
        weights = np.exp(q @ k.T / math.sqrt(8))
        self.assertGreater((weights / weights.sum(1, keepdims=True)).max(1).mean(), 4 / 64)

    def test_sentence_embeddings(self):
        inputs = [Input([3, 7, 4], [0, 0, 0]), Input([3, 9, 8, 11, 4], [0] * 5)]
        for modes, pool in (("cls", lambda x: x[0]), ("max", lambda x: x.max(0)),
                            ("mean,cls", lambda x: np.concatenate([x[0], x.mean(0)])),
                            ("mean_sqrt_len", lambda x: x.sum(0) / math.sqrt(len(x)))):
            arguments = f"--head none --normalize --sentence-transformers {modes}"
            stages = reference.compute(self.make(modes, arguments), inputs)
            for row, states in zip(stages["embedding"], np.split(stages["layer.1"], [3])):
                expected = pool(states) / np.linalg.norm(pool(states))
                np.testing.assert_allclose(row, expected, atol=1e-14)

    def test_errors_name_file_and_field(self):
        model = self.make("m")
        path = model / "config.json"
        good = json.loads(path.read_text())
        for key, value in (("hidden_act", "swish"), ("hidden_size", 49), ("num_hidden_layers", "2"),
                           ("architectures", ["T5Model"]),
                           ("position_embedding_type", "rotary")):
            path.write_text(json.dumps({**good, key: value}))
            with self.fails(str(path), key, str(value)):
                reference.read_config(model)
        path.write_text(json.dumps({**good, "intermediate_size": 97}))
        with self.fails("model.safetensors", "layer.0.intermediate.dense.weight", "[97, 48]"):
            reference.compute(model, [Input([1], [0])])
        path.write_text(json.dumps({**good, "num_hidden_layers": 3}))
        with self.fails("encoder.layer.2.attention.self.query.weight is missing"):
            reference.compute(model, [Input([1], [0])])


class Files(InADirectory):
    def test_inputs(self):
        model = self.make("m")
        config, tokenize = reference.read_config(model), WordPiece(model).encode
        path = self.directory / "inputs.jsonl"
        path.write_text('{"first": "A man"}\n{"ids": [3, 4]}\n{"first": "a", "second": "b"}\n')
        texts = [x.texts for x in read_inputs(config, path, tokenize)]
        self.assertEqual(texts, [["A man"], None, ["a", "b"]])
        for line, parts in (('{"ids": [3, 200]}', ["ids", "200", "vocab_size"]), ("{", []),
                            ('{"ids": [3], "type_ids": [0, 0]}', ["1 ids", "2 type_ids"]),
                            ('{"ids": [3], "type_ids": [2]}', ["type_vocab_size"]),
                            ('{"ids": []}', ["0 tokens"]), ('{"second": "b"}', ["first"])):
            path.write_text('{"ids": [3]}\n' + line)
            with self.fails(str(path), "line 2", *parts):
                read_inputs(config, path, tokenize)
        path = self.directory / "inputs.tsv"
        path.write_text("a\tb\nc\td\te\n")
        with self.fails("line 2", "one or two texts"):
            read_inputs(config, path, tokenize)
        path.write_text("")
        with self.fails(str(path), "no inputs"):
            read_inputs(config, path, tokenize)
        inputs = [random_inputs(config, 3, [5, config.longest], seed) for seed in (1, 1, 2)]
        self.assertEqual([len(item.ids) for item in inputs[0]], [5, config.longest, 5])
        self.assertEqual([inputs[0] == other for other in inputs[1:]], [True, False])

    def test_bfloat16_rounds_to_nearest_even(self):
        values = [1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -0.0, 3e38]
        path = self.directory / "x.safetensors"
        write_tensors(path, {"x": to_bfloat16(np.array(values))}, {})
        expected = [1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -0.0, 2**127 * (1 + 98 / 128)]
        np.testing.assert_array_equal(TensorFile(path).read("x"), np.array(expected, np.float32))

    def test_inconsistent_headers(self):
        path = self.directory / "x.safetensors"
        for header in (b"{", b'{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}}',
                       b'{"x":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}', b'{"x":3}'):
            path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
            with self.fails(str(path)):
                TensorFile(path)


class Tokenizing(InADirectory):
    def test_words_and_pieces(self):
        tokenizer = WordPiece(self.make("m"))
        pieces = list(tokenizer.ids)

        def tokens(*texts):
            return " ".join(pieces[i] for i in tokenizer.encode(list(texts))[0])

        self.assertEqual(tokens("A man PLAYS!"), "[CLS] a man plays ! [SEP]")
        self.assertEqual(tokens("Café\t中", "dogs"), "[CLS] c ##a ##f ##e [UNK] [SEP] dogs [SEP]")
        self.assertEqual(tokens("x" * 101, ""), "[CLS] [UNK] [SEP] [SEP]")
        self.assertEqual(tokens("x" * 100), "[CLS] x" + " ##x" * 99 + " [SEP]")

    def test_truncates_the_longer_first(self):
        model = self.make("m")
        for lengths, room, kept in (((9, 3), 8, (5, 3)), ((9, 8), 7, (4, 3)), ((7, 8), 7, (3, 4)),
                                    ((8, 8), 7, (3, 4)), ((20, 30), 1, (0, 1)),
                                    ((30, 2), 50, (30, 2))):
            tokenizer = WordPiece(model, max_length=room + 3)
            types = tokenizer.encode([" ".join("a" * n) for n in lengths])[1]
            self.assertEqual((types.count(0) - 2, types.count(1) - 1), kept, (lengths, room))
        with self.fails("maximum length is 2", "3"):
            WordPiece(model, max_length=2).encode(["a", "b"])


if __name__ == "__main__":
    unittest.main()
