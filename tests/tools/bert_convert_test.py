# SPDX-License-Identifier: Apache-2.0
"""What bert-convert writes loads in that precision and gives the same bits."""
import json
import shutil
import sys

import numpy as np

from command_line import PAIR, ROOT, ToolTest, floats, main
from tensor_file import TensorFile, write_tensors

sys.path.insert(0, str(ROOT / "tests" / "golden"))

import weight_files  # noqa: E402

LAYER = "bert.encoder.layer.1."


class ConvertTest(ToolTest):
    tool = "bert-convert"

    def answer(self, model, precision: str) -> list[float]:
        self.tool = "bert-infer"
        try:
            done, = self.answers("-m", model, "--precision", precision, stdin="\t".join(PAIR) + "\n")
        finally:
            self.tool = "bert-convert"
        return done.get("logits") or done["embedding"]

    def convert(self, name: str, precision: str, *options: str):
        """A model made with these options, and the converted one."""
        source, target = self.make_model(name, *options), self.dir / (name + "-" + precision)
        self.succeed("-m", source, "--precision", precision, "-o", target)
        return source, target

    def test_the_same_bits(self):
        for i, options in enumerate([["--labels", "3"], ["--head", "classification", "--sharded", "3"],
                                     ["--names", "gamma", "--dtype", "F16"],
                                     ["--outliers", "3", "--prefix"], ["--dtype", "BF16"],
                                     ["--family", "eurobert", "--shape", "2,48,4,60", "--set",
                                      "num_key_value_heads=2"],
                                     ["--family", "esm", "--shape", "2,48,4,60"],
                                     ["--family", "neobert", "--shape", "2,48,4,60"],
                                     ["--family", "deberta1", "--shape", "2,48,4,60"],
                                     ["--family", "gemma3", "--head", "none", "--shape", "2,48,4,60"],
                                     ["--family", "t5", "--head", "none", "--shape", "2,48,4,60", "--set", "d_kv=10"],
                                     ["--family", "qwen2", "--shape", "2,48,4,60"],
                                     ["--family", "qwen3", "--shape", "2,48,4,60", "--set", "head_dim=20"],
                                     ["--family", "mt5", "--head", "none", "--shape", "2,48,4,60"],
                                     ["--family", "bart", "--shape", "2,48,4,60"],
                                     ["--family", "mobilebert", "--shape", "2,48,4,60"],
                                     ["--family", "clip", "--shape", "2,48,4,60"]]):
            for precision in ["int8", "bf16"]:
                with self.subTest(options, precision=precision):
                    source, target = self.convert(f"same{i}{precision}", precision, *options)
                    wanted = self.answer(source, precision)
                    self.assertEqual(self.answer(target, precision), wanted)
                    if precision == "int8":
                        self.assertEqual(self.answer(target, "auto"), wanted)
                    elif "BF16" not in options:
                        self.assertNotEqual(self.answer(target, "f32"), self.answer(source, "f32"))
                    if precision == "int8":
                        self.assertNotEqual(self.answer(source, "f32"), wanted)

    def test_a_bias_without_the_prefix_of_its_weight(self):
        source, target = self.make_model("mixed", "--prefix"), self.dir / "mixed-int8"
        file = TensorFile(source / "model.safetensors")
        bias = LAYER + "output.dense.bias"
        write_tensors(source / "model.safetensors", {name.removeprefix("bert.") if name == bias else name:
                                                     np.array(file.read(name)) for name in file.entries}, {})
        self.succeed("-m", source, "--precision", "int8", "-o", target)
        self.assertEqual(self.answer(target, "int8"), self.answer(source, "int8"))

    def test_layers_that_share_a_tensor(self):
        """Experts, and EmbeddingGemma 2, each of whose layers reads some columns of a product for all."""
        for family, *more in (["nomic-moe", "--set", "type_vocab_size=2"], ["privacy-filter"], ["embedding-gemma2"]):
            for precision in ["int8", "bf16"]:
                with self.subTest(family, precision=precision):
                    source, target = self.convert(family, precision, "--family", family, "--head", "none", "--shape",
                                                  "2,48,4,60", *more)
                    wanted = self.answer(source, precision)
                    self.assertEqual(self.answer(target, precision), wanted)
                    self.assertNotEqual(self.answer(source, "f32"), wanted)
                    before, after = ((d / "model.safetensors").stat().st_size for d in (source, target))
                    self.assertLess(after, 0.8 * before)

    def test_experts_in_int8_only_in_part(self):
        source, target = self.convert("experts", "int8", "--family", "privacy-filter", "--head", "none", "--shape",
                                      "2,48,4,60")
        file, before = TensorFile(target / "model.safetensors"), TensorFile(source / "model.safetensors")
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        down = next(name for name in tensors if name.endswith("layers.1.mlp.experts.down_proj.0.bias"))
        down = down.removesuffix(".0.bias")
        floats_of = {name: np.array(before.read(name)) for name in before.entries if "layers.1.mlp.experts" in name}
        self.tool = "bert-infer"
        for tensors_left, error in [
                ({k: v for k, v in tensors.items() if k != down + ".0.weight_scale"}, "is I8, expected F32"),
                ({k: v for k, v in tensors.items() if k != down + ".1.weight_scale"}, "is I8, expected F32"),
                ({k: v for k, v in tensors.items() if "layers.1.mlp.experts" not in k} | floats_of,
                 "layers.1.mlp.experts.gate_up_proj.0.weight' is not int8, expected int8"),
                (tensors | floats_of, "unexpected tensor")]:
            write_tensors(target / "model.safetensors", tensors_left, file.metadata)
            self.fail_with(1, "model.safetensors: .*" + error, "-m", target, "a")
        self.tool = "bert-convert"

    def test_what_cannot_be_converted(self):
        """Weights that are scaled as they are loaded, to bf16."""
        shape, new = ("--shape", "2,48,4,60"), self.dir / "none"
        source, target = self.convert("scaled", "int8", "--family", "esmc", "--head", "tokens", *shape, "--set",
                                      "mlp_bias=true")
        answer = lambda model: self.succeed("-m", model, "--precision", "int8", "--task", "hidden", "a")  # noqa: E731
        self.tool = "bert-infer"
        self.assertEqual(answer(source), answer(target))
        self.tool = "bert-convert"
        self.fail_with(1, "scaled as they are loaded", "-m", source, "--precision", "bf16", "-o", new)
        self.assertFalse(new.exists())

    def test_every_format_converts_to_the_same(self):
        weight_files.write_formats(self.make_model("formats", "--labels", "3"), self.dir)
        path = self.dir / "tensorflow" / "bert_config.json"
        labels = {str(i): label for i, label in enumerate("abc")}
        path.write_text(json.dumps(json.loads(path.read_text()) | {
            "id2label": labels, "label2id": {label: int(i) for i, label in labels.items()}, "num_labels": 3}))
        for precision in ["int8", "bf16"]:
            wanted = self.answer(self.dir / "safetensors", precision)
            for name in weight_files.FORMATS:
                with self.subTest(name, precision=precision):
                    target = self.dir / f"{name}-{precision}"
                    self.succeed("-m", self.dir / name, "--precision", precision, "-o", target)
                    self.assertEqual(self.answer(target, precision), wanted)
                    names = {path.name for path in target.iterdir()}
                    self.assertIn("config.json", names)
                    self.assertFalse({n for n in names if ".ckpt" in n or n.endswith(".bin")})
                    self.assertEqual(set(TensorFile(target / "model.safetensors").entries),
                                     set(TensorFile(self.dir / f"safetensors-{precision}" /
                                                    "model.safetensors").entries))
        config = json.loads((self.dir / "tensorflow-bf16" / "config.json").read_text())
        self.assertEqual((config["architectures"], config["model_type"]), (["BertForSequenceClassification"], "bert"))
        self.assertEqual(config["id2label"], labels)
        self.assertFalse({"label2id", "num_labels"} & config.keys())  # which would have to agree with an adapter's head
        self.assertFalse((self.dir / "tensorflow-bf16" / "bert_config.json").exists())

    def test_bf16_is_an_ordinary_checkpoint(self):
        source, target = self.convert("plain", "bf16")
        before, after = (TensorFile(d / "model.safetensors") for d in (source, target))
        self.assertEqual(set(after.entries), set(before.entries))
        name = LAYER + "output.dense.weight"
        self.assertEqual(after.entries[name]["dtype"], "BF16")
        self.assertTrue(np.allclose(after.read(name), before.read(name), rtol=2**-8))
        self.assertEqual(after.entries["bert.pooler.dense.weight"]["dtype"], "F32")
        self.assertEqual((target / "config.json").read_text(), (source / "config.json").read_text())

    def test_int8_is_what_it_says(self):
        source, target = self.convert("scales", "int8", "--outliers", "2")
        before, after = (TensorFile(d / "model.safetensors") for d in (source, target))
        for name in ["attention.self.key", "intermediate.dense", "output.dense"]:
            weight, scale = (after.read(f"{LAYER}{name}.{part}") for part in ("weight", "weight_scale"))
            wanted = np.array(before.read(f"{LAYER}{name}.weight"))
            found = weight.astype(float) * scale[:, None]
            if f"{LAYER}{name}.exact_inputs" in after.entries:
                exact = after.read(f"{LAYER}{name}.exact_inputs")
                found[:, exact] = after.read(f"{LAYER}{name}.exact_weight")
            self.assertLess((abs(found - wanted) / scale[:, None]).max(), 0.501)
        config = json.loads((target / "config.json").read_text())
        self.assertEqual(config["quantization_config"], {"written_by": "bert-convert", "bits": 8})
        wanted = self.answer(target, "int8")
        change = lambda marks: (target / "config.json").write_text(json.dumps(  # noqa: E731
            config | {"quantization_config": marks}))
        self.tool = "bert-infer"
        for marks, error in (({"written_by": "x"}, r'written_by: found "x", expected "bert-convert"'),
                             ({"written_by": "bert-convert", "quant_method": "gptq"}, 'quant_method: found "gptq"')):
            change(marks)
            self.fail_with(1, "config.json: quantization_config." + error, "-m", target, "a")
        change({"quant_method": "bert-infer", "bits": 8})  # as earlier versions wrote
        self.assertEqual(self.answer(target, "int8"), wanted)

    def test_a_dense_module_comes_along(self):
        source = self.make_model("dense", "--head", "none", "--sentence-transformers", "mean")
        modules = json.loads((source / "modules.json").read_text())[:2]
        modules.append({"idx": 2, "name": "2", "path": "./.more//2_Dense/",
                        "type": "sentence_transformers.models.Dense"})
        (source / "modules.json").write_text(json.dumps(modules))
        (source / ".more" / "2_Dense").mkdir(parents=True)
        (source / ".more" / "2_Dense" / "config.json").write_text(json.dumps(
            {"in_features": 16, "out_features": 5, "bias": False,
             "activation_function": "torch.nn.modules.linear.Identity"}))
        weight = np.random.default_rng(3).standard_normal((5, 16)).astype(np.float32)
        write_tensors(source / ".more" / "2_Dense" / "model.safetensors", {"linear.weight": weight}, {})
        (source / "onnx").mkdir()
        (source / "onnx" / "model.onnx").write_bytes(b"large")
        target = self.dir / "dense8"
        self.succeed("-m", source, "--precision", "int8", "-o", target)
        self.tool = "bert-infer"
        for model in [source, target]:  # five columns instead of the hidden size's 16
            found = {}
            for ending in ["jsonl", "npy", "safetensors", "tsv"]:
                found[ending] = self.dir / f"dense.{ending}"
                self.succeed("-m", model, "--precision", "int8", "-o", found[ending],
                             stdin="a man\na dog plays\n")
            wanted = [floats(json.loads(line)["embedding"])
                      for line in found["jsonl"].read_text().splitlines()]
            self.assertEqual(np.shape(wanted), (2, 5))
            np.testing.assert_array_equal(np.load(found["npy"]), wanted)
            np.testing.assert_array_equal(
                TensorFile(found["safetensors"]).read("embedding"), wanted)
            header, *rows = found["tsv"].read_text().splitlines()
            self.assertEqual({len(row.split("\t")) for row in rows}, {len(header.split("\t"))})
        self.assertFalse((target / "onnx" / "model.onnx").exists())
        self.tool = "bert-convert"

    def test_what_is_int8_in_part_is_refused(self):
        source, target = self.convert("part", "int8")
        floats_of, file = TensorFile(source / "model.safetensors"), TensorFile(
            target / "model.safetensors")
        dense = LAYER + "intermediate.dense."
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        tensors[dense + "weight"] = np.array(floats_of.read(dense + "weight"))
        for name in ["weight_scale", "exact_inputs", "exact_weight"]:
            tensors.pop(dense + name, None)
        write_tensors(target / "model.safetensors", tensors, file.metadata)
        self.tool = "bert-infer"
        self.fail_with(1, "layer.1.intermediate.dense.weight' is not int8, expected int8", "-m",
                       target, "a")
        self.tool = "bert-convert"

    def test_what_it_refuses(self):
        new = self.dir / "refused"
        self.fail_with(2, "--output is required", "--precision", "int8")
        for precision in [[], ["--precision", "f32"], ["--precision", "auto"]]:
            self.fail_with(2, "--precision is required", "-o", new, *precision)
        for there in self.dir, self.write("file", ""):
            self.fail_with(1, "exists and is not an empty", "-o", there, "--precision", "int8")
        self.fail_with(2, "--output is empty", "-o", "", "--precision", "int8")
        for name in ["nowhere", ""]:
            self.fail_with(1, "not a directory", "-m", name, "-o", new, "--precision", "int8")
        self.assertFalse(new.exists())
        _, int8 = self.convert("again", "int8")
        self.fail_with(1, "nothing to convert", "-m", int8, "-o", new, "--precision", "int8")
        self.fail_with(1, "holds int8 weights", "-m", int8, "-o", new, "--precision", "bf16")
        self.assertFalse(new.exists())
        self.tool = "bert-infer"
        self.fail_with(1, "holds int8 weights", "-m", int8, "--precision", "f32", "a")
        self.tool = "bert-convert"
        wide = self.make_model("wide", "--shape", "1,2,1,65537")
        self.fail_with(1, "has 65537 inputs, expected at most 65536 in int8", "-m", wide, "-o", new,
                       "--precision", "int8")
        wide = self.make_model("wide-experts", "--family", "privacy-filter", "--head", "none", "--shape", "1,4,2,65537",
                               "--set", "num_local_experts=1", "--set", "num_experts_per_tok=1")
        self.fail_with(1, "experts.down_proj' has 65537 inputs, expected at most 65536 in int8", "-m", wide, "-o", new,
                       "--precision", "int8")
        inner = self.make_model("inner", "--head", "none")
        (inner / "modules.json").write_text(
            '[{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}]')
        self.fail_with(1, "has the model in .*0_Transformer", "-m", inner, "-o", new, "--precision", "int8")
        self.assertFalse(new.exists())
        source = self.make_model("infinite")
        path = source / "model.safetensors"
        file = TensorFile(path)
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        tensors[LAYER + "output.dense.weight"][3, 4] = np.inf
        write_tensors(path, tensors, file.metadata)
        self.fail_with(1, r"output.dense.weight'\[3, 4\] is inf, expected a finite", "-m",
                       source, "-o", self.dir / "infinite8", "--precision", "int8")

    def test_damaged_int8_files_are_clean_errors(self):
        _, target = self.convert("damaged", "int8", "--outliers", "2")
        file = TensorFile(target / "model.safetensors")
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        exact = next(name for name in tensors if name.endswith("intermediate.dense.exact_inputs"))
        query = next(name for name in tensors if name.endswith("query.exact_inputs"))
        start = exact.removesuffix("exact_inputs")
        width = tensors[start + "weight"].shape[1]
        self.tool = "bert-infer"
        for name, value, pattern in [
            (start + "weight_scale", None, "weight' is I8, expected F32"),
            (start + "bias", None, "bias' is missing"),
            (start + "weight", tensors[start + "weight"].astype(np.float32), "F32, expected I8"),
            (start + "weight_scale", tensors[start + "weight_scale"][:-1], "shape"),
            (start + "weight_scale", tensors[start + "weight_scale"] * np.float32("nan"), "is nan, expected a finite"),
            (start + "bias", tensors[start + "bias"] * np.float32("inf"), "is inf, expected a finite"),
            (exact, np.full_like(tensors[exact], width), f"is {width}, expected distinct input numbers below {width}"),
            (exact, np.full_like(tensors[exact], -1), "is -1, expected distinct"),
            (exact, np.full_like(tensors[exact], 1), "is 1, expected distinct"),
            (query, tensors[query][::-1], "key.exact_inputs' differs from '.*query.exact_inputs'"),
            (exact, None, "unexpected tensor '.*exact_weight'"),
        ]:
            with self.subTest(name, pattern=pattern):
                broken = self.dir / "broken"
                shutil.copytree(target, broken)
                kept = {k: value if k == name else v for k, v in tensors.items()
                        if k != name or value is not None}
                write_tensors(broken / "model.safetensors", kept, file.metadata)
                self.fail_with(1, "model.safetensors: .*" + pattern, "-m", broken, "a")
                shutil.rmtree(broken)
        self.tool = "bert-convert"

    def test_help_and_version(self):
        text = self.succeed("--help")
        for word in ["--model", "--output", "--precision", "--threads", "int8", "bf16"]:
            self.assertIn(word, text)
        self.assertRegex(self.succeed("--version"), r"^bert-convert \d+\.\d+\.\d+\noneDNN ")


if __name__ == "__main__":
    main()
