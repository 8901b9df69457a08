#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tools/reference/export_reference.py on a stand-in for transformers, built on PyTorch.

This shows that the script makes the right calls and stores their results correctly. That
transformers behaves like the stand-in is only what its documentation says.
"""
import json
import subprocess
import sys
import types
import unittest
from pathlib import Path

import numpy as np

from reference_test import InADirectory, torch, torch_layer, torch_weights

import make_goldens
import reference_config
from reference_inputs import WordPiece
from tensor_file import TensorFile

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "reference" / "export_reference.py"


class StandIn:
    """A transformers model of float64 layers, with the attributes that the script uses."""

    def __init__(self, directory: Path):
        self.config = json.loads((directory / "config.json").read_text())
        self.weights = torch_weights(directory)
        self.layers = [torch_layer(self.weights, self.config, i)
                       for i in range(self.config["num_hidden_layers"])]
        self.base_model, self.is_float, self.is_eval = self, False, False
        self.architecture = self.config["architectures"][0]
        if self.architecture.endswith(("MaskedLM", "TokenClassification", "QuestionAnswering")):
            self.pooler = None

    @classmethod
    def from_pretrained(cls, directory: str, output_loading_info: bool):
        model = cls(Path(directory))
        has_pooler = "pooler.dense.weight" in model.weights or model.pooler is None
        missing = [] if has_pooler else ["bert.pooler.dense.weight"]
        return (model, {"missing_keys": set(missing)}) if output_loading_info else model

    def float(self):
        self.is_float = True
        return self

    def eval(self):
        self.is_eval = True
        return self

    def pooler(self, states):
        w = self.weights
        return torch.tanh(states[:, 0] @ w["pooler.dense.weight"].T + w["pooler.dense.bias"])

    def predictions(self, states):
        w, p = self.weights, "cls.predictions."
        x = torch.nn.functional.gelu(states @ w[p + "transform.dense.weight"].T
                                     + w[p + "transform.dense.bias"])
        x = torch.nn.functional.layer_norm(x, x.shape[2:], w[p + "transform.LayerNorm.weight"],
                                           w[p + "transform.LayerNorm.bias"],
                                           self.config["layer_norm_eps"])
        return x @ w["embeddings.word_embeddings.weight"].T + w[p + "bias"]

    def __call__(self, input_ids, token_type_ids, output_hidden_states, return_dict):
        assert self.is_float and self.is_eval and output_hidden_states and return_dict
        if self.architecture == "BertForMultipleChoice":
            input_ids, token_type_ids = input_ids[:, 0], token_type_ids[:, 0]
        w, e = self.weights, "embeddings."
        x = w[e + "word_embeddings.weight"][input_ids] + w[e + "token_type_embeddings.weight"][
            token_type_ids] + w[e + "position_embeddings.weight"][:input_ids.shape[1]]
        x = torch.nn.functional.layer_norm(x, x.shape[2:], w[e + "LayerNorm.weight"],
                                           w[e + "LayerNorm.bias"], self.config["layer_norm_eps"])
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1]))
        return self.scores(types.SimpleNamespace(hidden_states=tuple(states)))

    def scores(self, output):
        """Adds the logits, under the names that the class gives them."""
        w, last = self.weights, output.hidden_states[-1]
        if self.architecture == "BertForPreTraining":
            output.prediction_logits = self.predictions(last)
        elif self.architecture == "BertForMaskedLM":
            output.logits = self.predictions(last)
        elif self.architecture == "BertForQuestionAnswering":
            columns = last @ w["qa_outputs.weight"].T + w["qa_outputs.bias"]
            output.start_logits, output.end_logits = columns[..., 0], columns[..., 1]
        elif self.architecture == "BertForTokenClassification":
            output.logits = last @ w["classifier.weight"].T + w["classifier.bias"]
            return output
        for head, name in (("classifier", "logits"),
                           ("cls.seq_relationship", "seq_relationship_logits")):
            if head + ".weight" in w:
                logits = self.pooler(last) @ w[head + ".weight"].T + w[head + ".bias"]
                if self.architecture == "BertForNextSentencePrediction":
                    name = "logits"
                setattr(output, name, logits)
        return output


class StandInTokenizer:
    @staticmethod
    def from_pretrained(directory: str):
        def call(*texts, truncation, max_length, return_token_type_ids):
            assert truncation == "longest_first" and return_token_type_ids
            ids, type_ids = WordPiece(Path(directory), max_length=max_length).encode(list(texts))
            return {"input_ids": ids, "token_type_ids": type_ids}
        return call


def stand_in() -> types.ModuleType:
    module = types.ModuleType("transformers")
    module.__version__ = "stand-in"
    module.AutoTokenizer = StandInTokenizer
    for head in reference_config.EVERY_FAMILY + reference_config.FAMILIES["bert"].more_heads:
        setattr(module, "Bert" + head, StandIn)
    return module


class Exporting(InADirectory):
    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_agrees_with_the_float64_reference(self):
        sys.modules["transformers"] = stand_in()
        self.addCleanup(sys.modules.pop, "transformers")
        import export_reference
        purposes = ("texts", "pretraining", "next-sentence", "no-pooler", "st-mean", "bert-mlm",
                    "bert-tokens", "bert-qa", "bert-choice")
        for seed, (name, _, arguments, lengths) in enumerate(make_goldens.MODELS):
            if name in purposes:
                with self.subTest(name):
                    make_goldens.make_golden(self.directory, seed, name, arguments, lengths)
                    self.compare(export_reference, name, seed, lengths)

    def compare(self, export_reference, name, seed, lengths):
        model, path = self.directory / name, self.directory / f"{name}.exported.safetensors"
        inputs = self.directory / "inputs.jsonl"
        source = ["--random", str(len(lengths or [])), "--seed", str(seed)]
        source += ["--lengths", ",".join(map(str, lengths or []))]
        if lengths is None:
            inputs.write_text("".join(json.dumps(dict(zip(("first", "second"), texts))) + "\n"
                                      for texts in make_goldens.TEXTS))
            source = ["--inputs", str(inputs)]
        sys.argv = ["export_reference.py", "-m", str(model), "-o", str(path), *source]
        export_reference.main()
        exported, expected = TensorFile(path), TensorFile(self.directory / f"{name}.safetensors")
        self.assertEqual(list(exported.entries), list(expected.entries))
        self.assertEqual(exported.metadata.get("inputs"), expected.metadata.get("inputs"))
        for stage in expected.entries:
            self.assertEqual(exported.shape(stage), expected.shape(stage))
            np.testing.assert_allclose(exported.read(stage), expected.read(stage), atol=2e-6,
                                       rtol=0, err_msg=f"{name}: {stage}")

    def test_says_what_it_needs(self):
        empty = self.directory / "transformers.py"
        empty.write_text("raise ImportError('no such thing here')\n")
        code = "import runpy, sys; sys.path[:0] = sys.argv[1:3]; runpy.run_path(sys.argv[3])"
        command = [sys.executable, "-c", code, str(self.directory), str(SCRIPT.parent), str(SCRIPT)]
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("needs PyTorch and transformers", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
