#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every family and head of the table in docs/models.md against transformers: a random model, saved by
transformers' own save_pretrained with its own tokenizer, is loaded as it is and compared stage by
stage, tokens included.

    tests/transformers/families_test.py [--transformers4] build/release/bin
"""
import copy
import itertools
import json
import shutil
from pathlib import Path

import judge
from judge import IS_OLDER, JudgeTest, torch

import export_reference
import random_models
import transformers
from random_models import EVERY_FAMILY, FAMILIES, HEADS, MORE, TOKENIZERS
from reference_inputs import read_inputs
from reference import write_reference
from reference_config import read_config
from tensor_file import FormatError

FORMS = ["safetensors", "safetensors in shards", "safetensors bfloat16", "bin", "bin in shards",
         "bin float16", "legacy bin"]
SETTINGS = [("bert", "ForMaskedLM", {"tie_word_embeddings": False}),
            ("bert", "ForSequenceClassification", {"num_labels": 1}),
            ("bert", "Model", {"hidden_act": "gelu_new"}), ("bert", "Model", {"hidden_act": "relu"}),
            ("bert", "Model", {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-5}),
            ("bert", "ForTokenClassification", {"type_vocab_size": 5, "num_labels": 7}),
            ("distilbert", "ForMaskedLM", {"activation": "relu", "sinusoidal_pos_embds": True}),
            ("electra", "ForMaskedLM", {"embedding_size": 39}),
            ("albert", "ForMaskedLM", {"num_hidden_groups": 1, "inner_group_num": 1}),
            ("albert", "Model", {"hidden_act": "gelu", "embedding_size": 39}),
            ("rembert", "ForMaskedLM", {"input_embedding_size": 39, "output_embedding_size": 39, "hidden_act": "relu"}),
            ("rembert", "ForSequenceClassification", {"tie_word_embeddings": True, "num_labels": 4}),
            ("xlm-roberta", "ForMaskedLM", {"layer_norm_eps": 1e-3, "type_vocab_size": 1}),
            ("camembert", "ForMultipleChoice", {"hidden_act": "tanh"}),
            ("ernie", "ForSequenceClassification", {"use_task_id": True, "task_type_vocab_size": 4}),
            ("ernie", "ForMaskedLM", {"use_task_id": True, "hidden_act": "relu", "type_vocab_size": 4}),
            ("mobilebert", "ForSequenceClassification", {"classifier_activation": False}),
            ("mobilebert", "ForPreTraining", {"classifier_activation": False, "num_feedforward_networks": 1}),
            ("mobilebert", "ForMaskedLM", {"hidden_act": "gelu", "tie_word_embeddings": False}),
            ("mpnet", "ForSequenceClassification", {"num_labels": 4}),
            ("megatron-bert", "Model", {"hidden_act": "relu", "layer_norm_eps": 1e-5, "type_vocab_size": 3}),
            ("roberta-prelayernorm", "ForTokenClassification", {"hidden_act": "gelu_new", "num_labels": 7}),
            ("xlm-roberta-xl", "ForMaskedLM", {"layer_norm_eps": 1e-3, "tie_word_embeddings": False})]
if IS_OLDER:  # transformers 5 no longer has these
    SETTINGS += [("bert", "Model", {"position_embedding_type": "relative_key"}),
                 ("bert", "Model", {"position_embedding_type": "relative_key_query"})]
TEXTS = [["A man is playing a guitar."], ["The engine loads it,", "and NOTHING is guessed; naïve…"],
         [""], ["", "x"], ["  two  spaces\tand a tab ", "日本 and Ωmega 3.5% <b>"],
         ["word " * 70, "short"], ["a " * 20, "the other " * 40], ["[MASK] and <mask> in a text"]]


class Families(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokenizers = {}
        for family in FAMILIES:
            directory = random_models.fresh(cls.dir / f"{family}-vocabulary")
            cls.tokenizers[family] = random_models.make_tokenizer(family, directory)
        cls.inputs = cls.dir / "inputs.jsonl"
        cls.inputs.write_text("".join(
            json.dumps(dict(zip(("first", "second"), texts))) + "\n" for texts in TEXTS))

    def make(self, family: str, head: str, form: str, seed: int = 0, **settings) -> Path:
        directory = random_models.fresh(self.dir / "model")
        tokenizer = self.tokenizers[family]
        model = random_models.make_model(family, head, tokenizer, seed, **settings)
        random_models.save(model, directory, form)
        tokenizer.save_pretrained(str(directory))
        return directory

    def compare(self, directory: Path, *stages: str):
        """With transformers' own results in float64."""
        config, reference = read_config(directory), self.dir / "reference.safetensors"
        tokenize = export_reference.tokenize_with(directory, config, None)
        inputs = read_inputs(config, self.inputs, tokenize)
        expected = export_reference.export(directory, config, inputs)
        write_reference(reference, expected, inputs, "<f8", "all", "families_test.py")
        done = self.run_tool("bert-regress", "-m", directory, reference, "--atol", "1e-5",
                             "--rtol", "1e-6", "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for stage in ("ids", "layer.2", *stages):
            self.assertRegex(done.stdout, f"(?m)^{stage} ")
        self.assertNotIn("unknown fields", self.run_tool("bert-infer", "info", "-m", directory).stdout)

    def test_every_head(self):
        forms = itertools.cycle(FORMS)
        for seed, family in enumerate(FAMILIES):
            for head in HEADS.get(family, EVERY_FAMILY) + MORE.get(family, []):
                form = next(forms)
                with self.subTest(f"{family} {head}, {form}"):
                    self.compare(self.make(family, head, form, seed),
                                 "embedding" if head == "Model" else "logits")

    def test_settings(self):
        for family, head, settings in SETTINGS:
            with self.subTest(f"{family} {head} {settings}"):
                self.compare(self.make(family, head, "safetensors", **settings))

    def test_what_transformers_cannot_load(self):
        directory = self.make("bert", "ForSequenceClassification", "safetensors")
        path, config = directory / "config.json", read_config(directory)
        said = json.loads(path.read_text())
        for edit, pattern in (({"hidden_size": 36}, "cannot load it as BertForSequenceClassification: "),
                              ({"architectures": ["BertForNothing"]}, "BertForNothing, which transformers .* does not")):
            path.write_text(json.dumps(said | edit))
            config.architecture = edit.get("architectures", [config.architecture])[0]
            with self.subTest(pattern), self.assertRaisesRegex(FormatError, pattern):
                export_reference.load(directory, config)

    def test_int8_that_transformers_refuses(self):
        """Instead of taking the weights for floats."""
        target = self.dir / "int8"
        shutil.rmtree(target, ignore_errors=True)
        done = self.run_tool("bert-convert", "-m", self.make("bert", "Model", "safetensors"), "--precision", "int8",
                             "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        with self.assertRaisesRegex(ValueError, "no `quant_method`"):
            transformers.AutoModel.from_pretrained(str(target))

    def test_without_segment_ids(self):
        """Where the tokenizer's model_input_names leave them out, transformers' models take them for zeros."""
        directory = self.make("bert", "ForSequenceClassification", "safetensors")
        path = directory / "tokenizer_config.json"
        said = json.loads(path.read_text())
        for names in ["input_ids", "attention_mask"], ["input_ids", "token_type_ids", "attention_mask"]:
            path.write_text(json.dumps(said | {"model_input_names": names}))
            self.compare(directory, "logits")
            [row] = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=[["a", "pair"]])
            self.assertEqual(max(row["type_ids"]), int("token_type_ids" in names))

    def test_a_prompt(self):
        directory = self.make("xlm-roberta", "Model", "safetensors")
        (directory / "config_sentence_transformers.json").write_text(json.dumps(
            {"prompts": {"query": "the query: "}, "default_prompt_name": "query"}))
        self.compare(directory, "embedding")

    def test_dpr(self):
        """Questions and passages each have an encoder, whose embeddings are compared by their product."""
        config = transformers.DPRConfig(vocab_size=len(self.tokenizers["bert"]), hidden_size=36, num_attention_heads=3,
                                        num_hidden_layers=3, intermediate_size=50, max_position_embeddings=128)
        for seed, (side, form) in enumerate({"Question": "safetensors", "Context": "bin"}.items()):
            directory = random_models.fresh(self.dir / side)
            model = getattr(transformers, f"DPR{side}Encoder")(config).eval()
            random_models.randomise(model, seed, 1)
            random_models.save(model, directory, form)
            self.tokenizers["bert"].save_pretrained(str(directory))
            found = self.infer(directory, "--task", "embed", "--max-length", "100", inputs=TEXTS)
            for texts, answer in zip(TEXTS, found):
                encoded = self.tokenizers["bert"](*texts, truncation=True, max_length=100, return_tensors="pt")
                with torch.no_grad():
                    wanted = model.double()(**encoded).pooler_output[0]
                self.assert_close(answer["embedding"], wanted.tolist())
        [scored] = self.infer(directory, "--task", "similarity", inputs=[["a question", "a passage"]])
        first, second = (torch.tensor(answer["embedding"], dtype=torch.float64) for answer in
                         self.infer(directory, "--task", "embed", inputs=["a question", "a passage"]))
        self.assert_close([scored["similarity"]], [float(first @ second)], 1e-3)

    def test_vocabulary_files_alone(self):
        for family in FAMILIES:
            if family in (["mpnet", "rembert"] if IS_OLDER else ["albert", "roberta", "rembert"]):
                continue  # docs/tokenizers.md: known differences, and what is not read
            if TOKENIZERS.get(family, "bert") != "bert":
                continue  # as in the other family, or not known without tokenizer.json
            with self.subTest(family):
                directory = self.make(family, "Model", "safetensors")
                (directory / "tokenizer.json").unlink()
                for file in (self.dir / f"{family}-vocabulary").iterdir():
                    shutil.copy(file, directory)
                self.compare(directory)


class Lfm2(JudgeTest):
    """Some layers have a convolution instead of attention; Liquid AI's encoders are by code on the hub, which reaches to
    both sides, as does the later class of transformers."""
    SIZES = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 4, "intermediate_size": 50,
             "max_position_embeddings": 128, "pad_token_id": 0, "num_key_value_heads": 1, "vocab_size": 90}
    TYPES = ["conv", "full_attention", "conv", "full_attention"]
    CODE = {"architectures": ["Lfm2BidirectionalModel"], "auto_map": {"AutoModel": "code.Lfm2BidirectionalModel"}}

    def reach_to_both_sides(self, model):
        """As that code does."""
        for layer in model.layers:
            if layer.is_attention_layer:
                layer.self_attn.is_causal = False
                continue
            conv = layer.conv

            def forward(hidden_states, conv=conv, **_):
                x = hidden_states
                gate_in, gate_out, values = conv.in_proj(x).transpose(1, 2).chunk(3, 1)
                sums = torch.nn.functional.conv1d(gate_in * values, conv.conv.weight, padding=conv.conv_kernel_size // 2,
                                                  groups=x.shape[2])[..., :x.shape[1]]
                return conv.out_proj((gate_out * sums).transpose(1, 2))

            conv.forward = forward

    def test_with_the_mask_and_without(self):
        cases = [({}, None), ({"conv_L_cache": 4, "block_auto_adjust_ff_dim": False}, None)]
        if not IS_OLDER:
            cases += [({"is_causal": False}, self.CODE),
                      ({"is_causal": False, "conv_L_cache": 4, "block_multiple_of": 10}, self.CODE),
                      ({"is_causal": False}, {"model_type": "lfm2_bidirectional"} | {
                          "architectures": ["Lfm2BidirectionalModel"]})]
        for settings, edit in cases:
            with self.subTest(settings, edit=edit):
                directory = random_models.fresh(self.dir / "lfm2")
                config = transformers.Lfm2Config(**self.SIZES, layer_types=self.TYPES, **settings)
                torch.manual_seed(1)
                model = transformers.Lfm2Model(config).eval()
                random_models.randomise(model, 1, 1)
                model.save_pretrained(str(directory))
                if edit:
                    self.reach_to_both_sides(model)
                    path = directory / "config.json"
                    content = json.loads(path.read_text()) | edit
                    del content["is_causal"]
                    path.write_text(json.dumps(content))
                for length in (1, 2, 5, 100):
                    ids = [(7 * i + i * i) % 89 + 1 for i in range(length)]
                    with torch.no_grad():
                        wanted = model(torch.tensor([ids]), use_cache=False).last_hidden_state[0]
                    [row] = self.infer(directory, "--task", "hidden", inputs=[{"ids": ids}])
                    self.assert_close(row["hidden"], wanted.numpy(), 1e-4)


class BesideImages(JudgeTest):
    """Encoders of texts to compare with images, whose encoders are not evaluated."""
    SIZES = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 3, "intermediate_size": 50}
    VISION = SIZES | {"image_size": 32, "patch_size": 16}
    TEXTS = ["A photo of a cat's  \n2 dogs!!", "", "na\u00efve \u4e2d\u6587 \U0001f600 don't", "word " * 60,
             "the end <|endoftext|> is early", "so is </s> this"]

    def compare(self, directory: Path, folder: Path, tokenizer, model):
        """With get_text_features, or what the encoder by itself gives."""
        inputs = self.TEXTS if tokenizer.sep_token != "[SEP]" else [*self.TEXTS, ["a pair", "of texts"]]
        answers = self.infer(directory, "--task", "embed", inputs=inputs)
        rows = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=inputs)
        model = model if IS_OLDER else copy.deepcopy(model).double()  # version 4's cannot run in float64
        for input, answer, row in zip(inputs, answers, rows, strict=True):
            texts = [input] if isinstance(input, str) else input
            found = tokenizer(*texts, truncation=True, return_offsets_mapping=True)
            self.assertEqual(row["ids"], found["input_ids"], input)
            self.assertEqual([tuple(pair) if pair else (0, 0) for pair in row["offsets"]],
                             found["offset_mapping"], input)
            given = {name: torch.tensor([found[name]]) for name in ("input_ids", "token_type_ids") if name in found}
            with torch.no_grad():
                if IS_OLDER and "Chinese" in type(model).__name__:  # whose get_text_features ends with an error
                    wanted = model.text_projection(model.text_model(**given).last_hidden_state[:, 0])
                else:
                    wanted = getattr(model, "get_text_features", model)(**given)
            if not torch.is_tensor(wanted):
                wanted = wanted["text_embeds" if "text_embeds" in wanted else "pooler_output"]
            self.assert_close(answer["embedding"], wanted[0], 1e-5)
        self.assertNotIn("unknown fields", self.run_tool("bert-infer", "info", "-m", folder).stdout)

    def compare_classes(self, stem: str, directory: Path, folder: Path, tokenizer, text: dict):
        """The whole model, and its encoder of texts with and without the projection."""
        for name in (f"{stem}Model", f"{stem}TextModelWithProjection", f"{stem}TextModel"):
            with self.subTest(name):
                config = getattr(transformers, stem + "TextConfig")(projection_dim=20, **text)
                if name == stem + "Model":
                    config = getattr(transformers, stem + "Config")(
                        text_config=text, vision_config=self.VISION, projection_dim=20)
                model = getattr(transformers, name)(config).eval()
                random_models.randomise(model, 5, 1.5)
                model.save_pretrained(str(folder))
                if name != stem + "Model":
                    tokenizer.save_pretrained(str(folder))
                self.compare(directory, folder, tokenizer, model)

    def test_clip(self):
        """With the tokenizer's two forms, in a folder as sentence-transformers has it."""
        directory = random_models.fresh(self.dir / "clip")
        folder = directory / "0_CLIPModel"
        folder.mkdir()
        random_models.train_byte_pair(folder, [], suffix="</w>")
        vocabulary = json.loads((folder / "vocab.json").read_text())
        begin, end = len(vocabulary), len(vocabulary) + 1
        vocabulary |= {"<|startoftext|>": begin, "<|endoftext|>": end}
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
        (folder / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "CLIPTokenizer", "model_max_length": 40}))
        modules = [{"idx": 0, "name": "0", "path": folder.name, "type": "sentence_transformers.models.CLIPModel"}]
        (directory / "modules.json").write_text(json.dumps(modules))
        tokenizer = transformers.CLIPTokenizerFast.from_pretrained(str(folder))
        self.compare_classes("CLIP", directory, folder, tokenizer, self.SIZES | {
            "vocab_size": end + 1, "bos_token_id": begin, "eos_token_id": end, "max_position_embeddings": 40})

    def test_metaclip_2(self):
        """CLIP with the tokenizer of XLM-V, whose end of text has the id 2."""
        directory = random_models.fresh(self.dir / "metaclip-2")
        tokenizer = random_models.make_tokenizer("xlm-roberta", directory)
        tokenizer.save_pretrained(str(directory))
        self.compare_classes("MetaClip2", directory, directory, tokenizer, self.SIZES | {
            "vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1,
            "max_position_embeddings": 60})

    def test_chinese_clip(self):
        directory = random_models.fresh(self.dir / "chinese-clip")
        tokenizer = random_models.make_tokenizer("bert", directory)
        tokenizer.save_pretrained(str(directory))
        text = self.SIZES | {"vocab_size": len(tokenizer), "max_position_embeddings": 64}
        model = transformers.ChineseCLIPModel(transformers.ChineseCLIPConfig(
            text_config=text, vision_config=self.VISION, projection_dim=20)).eval()
        random_models.randomise(model, 5, 1.5)
        for form in "safetensors", "bin":
            with self.subTest(form):
                random_models.save(model, directory, form)
                self.compare(directory, directory, tokenizer, model)
                for file in directory.glob("model*"):
                    file.unlink()


if __name__ == "__main__":
    judge.main()
