#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of BERT's relatives in tools/reference/reference.py and make_model.py.

With its own tensors made neutral, a relative is BERT under other names. Each is converted to such a
BERT, whose reference is compared with PyTorch in reference_test.py, and must give the same results.
"""
import json
import math
import unittest
from pathlib import Path

import numpy as np

from reference_test import InADirectory

import make_goldens
import make_model
import reference
import reference_config
from reference_inputs import Input, WordPiece
from tensor_file import TensorFile, write_tensors

HEADS = {"none": None, "classification": (2, 3), "choice": (2, 1), "tokens": (7, 3), "qa": (7, 2),
         "mlm": (7, 200)}
INPUTS = [Input([5, 9, 1, 30], [0, 1, 1, 0]), Input([7, 8, 60], [1, 0, 1])]
TYPE_0_INPUTS = [Input(x.ids, [0] * len(x.ids)) for x in INPUTS]


def tensors_of(model: Path) -> dict[str, np.ndarray]:
    file = TensorFile(model / "model.safetensors")
    return {name: np.array(file.read(name)) for name in file.entries}


def edit_json(path: Path, **values) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


class WithRelatives(InADirectory):
    def relative(self, family: str, arguments: str = "", shape: str = "3,26,2,33") -> Path:
        model = self.directory / (family + arguments.replace(" ", ""))
        make_model.make(["-o", str(model), "--shape", shape, "--family", family, "--positions",
                         "20", "--labels", "3", *arguments.split()])
        return model


class SameAsBert(WithRelatives):
    def as_bert(self, model: Path, tensors: dict[str, np.ndarray], **settings) -> Path:
        """Writes a BertModel with these tensors, which are under BERT's names."""
        config = reference.read_config(model)
        bert = self.directory / "bert"
        bert.mkdir(exist_ok=True)
        tensors.setdefault("embeddings.token_type_embeddings.weight",
                           np.zeros((2, config.embedding), np.float32))
        write_tensors(bert / "model.safetensors", tensors, {})
        (bert / "config.json").write_text(json.dumps({
            "architectures": ["BertModel"], "model_type": "bert", "hidden_size": config.hidden,
            "num_hidden_layers": config.layers, "num_attention_heads": config.heads,
            "intermediate_size": config.intermediate, "vocab_size": config.vocabulary,
            "max_position_embeddings": len(tensors["embeddings.position_embeddings.weight"]),
            "layer_norm_eps": config.epsilon, "hidden_act": config.activation,
            "type_vocab_size": len(tensors["embeddings.token_type_embeddings.weight"]),
            **settings}))
        return bert

    def renamed(self, model: Path, layers: list[str]) -> dict[str, np.ndarray]:
        """The tensors under BERT's names; layer i is the one whose prefix is layers[i]."""
        family = reference.read_config(model).family
        bert = reference_config.FAMILIES["bert"]
        names = {**dict(zip(family.attention, bert.attention)), family.wide: bert.wide,
                 family.narrow: bert.narrow, family.norm: bert.norm,
                 family.attention_norm: bert.attention_norm}
        stored = tensors_of(model)
        out = {name: values for name, values in stored.items() if name.startswith("embeddings.")}
        for i, layer in enumerate(layers):
            for theirs, ours in names.items():
                for kind in (".weight", ".bias"):
                    out[f"encoder.layer.{i}.{ours}{kind}"] = stored[layer + theirs + kind]
        return out

    def same_layers(self, model: Path, bert: Path, inputs: list[Input]) -> None:
        ours, theirs = reference.compute(model, inputs), reference.compute(bert, inputs)
        for stage in ("embeddings", *(f"layer.{i}" for i in range(3))):
            np.testing.assert_allclose(ours[stage], theirs[stage], atol=1e-13, err_msg=stage)

    def test_distilbert_is_bert_without_types(self):
        model = self.relative("distilbert", "--head none")
        names = [f"transformer.layer.{i}." for i in range(3)]
        self.same_layers(model, self.as_bert(model, self.renamed(model, names)), INPUTS)

    def test_roberta_is_bert_with_its_positions_moved(self):
        plain = [Input([5, 9, 30, 2, 4], [0] * 5), Input([8], [0])]  # without the padding id
        for family in ("xlm-roberta", "camembert"):
            model = self.relative(family, "--head none")
            tensors = self.renamed(model, [f"encoder.layer.{i}." for i in range(3)])
            positions = "embeddings.position_embeddings.weight"
            tensors[positions] = tensors[positions][2:]
            self.same_layers(model, self.as_bert(model, tensors), plain)

    def test_mpnet_without_bias_is_bert_without_types(self):
        model = self.relative("mpnet", "--head none")
        stored = tensors_of(model)
        bias = "encoder.relative_attention_bias.weight"
        self.assertGreater(np.abs(stored[bias]).min(), 0)
        stored[bias][:] = 0
        write_tensors(model / "model.safetensors", stored, {})
        tensors = self.renamed(model, [f"encoder.layer.{i}." for i in range(3)])
        positions = "embeddings.position_embeddings.weight"
        tensors[positions] = tensors[positions][2:]
        plain = [Input([5, 9, 30, 2, 4], [0, 1, 1, 0, 1])]
        self.same_layers(model, self.as_bert(model, tensors), plain)

    def test_albert_is_bert_with_shared_layers(self):
        model = self.relative("albert", "--head none --groups 3 --embedding-size 26")
        stored = tensors_of(model)
        mapping = "encoder.embedding_hidden_mapping_in."
        stored[mapping + "weight"] = np.eye(26, dtype=np.float32)
        stored[mapping + "bias"][:] = 0
        write_tensors(model / "model.safetensors", stored, {})
        names = [f"encoder.albert_layer_groups.{g}.albert_layers.0." for g in range(3)]
        self.same_layers(model, self.as_bert(model, self.renamed(model, names)), INPUTS)
        edit_json(model / "config.json", num_hidden_groups=2)
        self.same_layers(
            model, self.as_bert(model, self.renamed(model, [names[0], names[0], names[1]])), INPUTS)

    def test_relative_keys_of_zero_leave_bert_without_positions(self):
        for kind in ("relative_key", "relative_key_query"):
            model = self.relative("bert", f"--head none --position-type {kind}")
            stored = tensors_of(model)
            stored["embeddings.position_embeddings.weight"][:] = 0
            plain = self.as_bert(model, dict(stored))
            write_tensors(model / "model.safetensors", stored, {})
            before = reference.compute(model, INPUTS)["layer.0"]
            self.assertGreater(np.abs(before - reference.compute(plain, INPUTS)["layer.0"]).max(),
                               0.01)
            for name in stored:
                if "distance_embedding" in name:
                    stored[name][:] = 0
            write_tensors(model / "model.safetensors", stored, {})
            self.same_layers(model, plain, INPUTS)


class Encoders(WithRelatives):
    def test_the_padding_id_is_not_counted(self):
        np.testing.assert_array_equal(reference.position_ids(np.array([5, 1, 1, 6, 7]), 1),
                                      [2, 1, 1, 3, 4])
        np.testing.assert_array_equal(reference.position_ids(np.array([5, 1, 6]), None), [0, 1, 2])

    def test_mpnets_buckets(self):
        """Against the formula in float32, as in transformers."""
        distance = np.arange(-600, 601)
        absolute = np.abs(distance)
        with np.errstate(divide="ignore"):
            log = np.log(absolute.astype(np.float32) / np.float32(8)) / np.float32(math.log(16))
        log = np.minimum(8 + (np.maximum(log, 0) * np.float32(8)).astype(int), 15)
        expected = np.where(absolute < 8, absolute, log) + 16 * (distance < 0)
        np.testing.assert_array_equal(reference.buckets(distance), expected)

    def test_relative_keys(self):
        for kind in ("relative_key", "relative_key_query"):
            model = self.relative("bert", f"--head none --position-type {kind}")
            config, checkpoint = reference.read_config(model), reference.Checkpoint(model)
            scores = reference.relative_keys(config, checkpoint, "encoder.layer.1.")
            q, k = np.random.default_rng(0).standard_normal((2, 5, 13))
            table = tensors_of(model)["encoder.layer.1.attention.self.distance_embedding.weight"]
            found = scores(q, k, 0)
            for i, j in np.ndindex(5, 5):
                both = q[i] + k[j] if kind == "relative_key_query" else q[i]
                expected = both @ table[i - j + 19].astype(float) / math.sqrt(13)
                self.assertAlmostEqual(found[i, j], expected, 12)

    def test_alberts_inner_layers_take_turns(self):
        model = self.relative("albert", "--head none --inner-groups 2")
        names = reference.read_config(model).layer_names
        self.assertEqual([name[-2] for name in names], list("010101"))
        stages = reference.compute(model, INPUTS)
        self.assertIn("layer.2", stages)
        self.assertNotIn("layer.3", stages)

    def test_electra_projects_where_the_widths_differ(self):
        for width in ("", "--embedding-size 14"):
            model = self.relative("electra", f"--head none {width}")
            self.assertEqual("embeddings_project.weight" in tensors_of(model), bool(width))
            self.assertEqual(reference.compute(model, INPUTS)["embeddings"].shape, (7, 26))

    def test_types_that_a_family_lacks_are_ignored(self):
        for family in ("distilbert", "mpnet"):
            model = self.relative(family, "--head none")
            np.testing.assert_array_equal(reference.compute(model, INPUTS)["layer.2"],
                                          reference.compute(model, TYPE_0_INPUTS)["layer.2"])


class Heads(WithRelatives):
    def test_shapes(self):
        for family in reference_config.FAMILIES:
            for head, shape in HEADS.items():
                with self.subTest(family=family, head=head):
                    model = self.relative(family, f"--head {head}")
                    stages = reference.compute(model, TYPE_0_INPUTS)
                    found = stages["logits"].shape if "logits" in stages else None
                    self.assertEqual(found, shape)
                    pooled = head in ("none", "choice") and family not in ("distilbert", "electra")
                    pooled |= head == "classification" and family in ("bert", "albert", "rembert")
                    self.assertEqual("pooler" in stages, pooled)

    def test_pretraining(self):
        for family, shape, both in (("bert", (7, 200), True), ("albert", (7, 200), True),
                                    ("electra", (7, 1), False)):
            stages = reference.compute(self.relative(family, "--head pretraining"), INPUTS)
            self.assertEqual(stages["logits"].shape, shape)
            self.assertEqual("next_sentence" in stages, both)

    def test_decoders(self):
        for family in reference_config.FAMILIES:
            if family == "rembert":
                continue  # whose decoder is never tied
            tied = reference.compute(self.relative(family, "--head mlm"), TYPE_0_INPUTS)["logits"]
            model = self.relative(family, "--head mlm --decoder stored")
            np.testing.assert_array_equal(reference.compute(model, TYPE_0_INPUTS)["logits"], tied)
            model = self.relative(family, "--head mlm --decoder untied")
            untied = reference.compute(model, TYPE_0_INPUTS)["logits"]
            self.assertGreater(np.abs(untied - tied).max(), 0.1)
            edit_json(model / "config.json", tie_word_embeddings=True)
            names = reference_config.FAMILIES[family].masked_lm
            with self.fails("model.safetensors", names.decoder, "tie_word_embeddings"):
                reference.compute(model, TYPE_0_INPUTS)


class Errors(WithRelatives):
    def test_config(self):
        for family, key, value in (
                ("distilbert", "dim", 27), ("distilbert", "n_layers", None),
                ("distilbert", "activation", "swish"), ("mpnet", "relative_attention_num_buckets",
                                                        64),
                ("xlm-roberta", "pad_token_id", -1), ("albert", "inner_group_num", 0),
                ("electra", "architectures", ["BertModel"]),
                ("camembert", "position_embedding_type", "relative_key")):
            path = self.relative(family, "--head none") / "config.json"
            edit_json(path, **{key: value})
            with self.fails(str(path), key, str(value)):
                reference.read_config(path.parent)
        path = self.relative("electra", "--head choice") / "config.json"
        edit_json(path, summary_type="last")
        with self.fails(str(path), "summary_type", "last"):
            reference.read_config(path.parent)

    def test_options(self):
        for family, option in (("distilbert", "--head nsp"), ("mpnet", "--head pretraining"),
                               ("bert", "--embedding-size 8"), ("electra", "--groups 2"),
                               ("albert", "--position-type relative_key"),
                               ("bert", "--position-type sinusoidal"),
                               ("bert", "--head qa --decoder stored")):
            with self.fails(option.split()[-2]):
                self.relative(family, option)

    def test_lengths(self):
        config = reference.read_config(self.relative("xlm-roberta", "--head none"))
        self.assertEqual(config.longest, 18)
        with self.fails("19 tokens", "18"):
            reference.random_inputs(config, 1, [19], 0)


class Tokenizers(WithRelatives):
    def test_mpnet_separates_twice(self):
        tokenizer = WordPiece(self.relative("mpnet"))
        pieces = list(tokenizer.ids)
        ids, type_ids = tokenizer.encode(["a man \u4e2d", "dogs"])
        self.assertEqual(" ".join(pieces[i] for i in ids), "<s> a man [UNK] </s> </s> dogs </s>")
        self.assertEqual(type_ids, [0] * 8)
        self.assertEqual(pieces[:4], ["<s>", "<pad>", "</s>", "<unk>"])
        self.assertEqual(pieces[-1], "<mask>")
        longest = tokenizer.encode(["a " * 40, "a " * 40])[0]
        self.assertEqual(len(longest), 18)

    def test_unigram_files(self):
        for family, cls, sep in (("albert", "[CLS]", "[SEP]"), ("xlm-roberta", "<s>", "</s>"),
                                 ("camembert", "<s>", "</s>")):
            model = self.relative(family, "--vocab 230")
            content = json.loads((model / "tokenizer.json").read_text())
            ids = {piece: i for i, (piece, _) in enumerate(content["model"]["vocab"])}
            self.assertEqual(len(ids), 230)
            self.assertEqual(content["model"]["unk_id"], ids["<unk>"])
            self.assertTrue(all(ids[x["content"]] == x["id"] for x in content["added_tokens"]))
            special = content["post_processor"]["special_tokens"]
            self.assertEqual({name: x["ids"] for name, x in special.items()},
                             {cls: [ids[cls]], sep: [ids[sep]]})
            config = json.loads((model / "config.json").read_text())
            found = [config[f"{name}_token_id"] for name in ("bos", "eos", "pad")]
            self.assertEqual(found, [ids[cls], ids[sep], ids["<pad>"]])
            self.assertFalse((model / "vocab.txt").exists())


class Goldens(unittest.TestCase):
    def test_cover_every_family_and_head(self):
        arguments = " ; ".join(arguments for _, _, arguments, _ in make_goldens.MODELS)
        for family in reference_config.FAMILIES:
            self.assertTrue(family == "bert" or f"--family {family} " in arguments)
        names = [name for name, *_ in make_goldens.MODELS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
