#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adapters (LoRA): Jina's, in the model's own files, and PEFT's, in folders. Usage: adapters_test.py BIN_DIR

What a model gives with an adapter is compared with a model whose weights NumPy added it to;
tests/transformers/adapters_test.py compares with PEFT itself.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from inferring import InferTest, floats, main
from tensor_file import TensorFile
from tensor_file import write_tensors as write_with_metadata

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))

from serving import Server  # noqa: E402

TEXTS = ["a man is playing the guitar", "two dogs"]
TASKS = ["retrieval.query", "separation", "text-matching"]
RANK, ALPHA = 3, 5
OWN = ".parametrizations.weight.original"


def write_tensors(path: Path, tensors: dict):
    write_with_metadata(path, tensors, {"format": "pt"})


class Adapters(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = cls.make_model("plain", "--family", "jina-roberta", "--head", "none")
        cls.random = np.random.default_rng(3)
        file = TensorFile(cls.plain / "model.safetensors")
        cls.tensors = {name: np.array(file.read(name)) for name in file.entries}
        cls.adapted = [name for name, value in cls.tensors.items()
                       if value.ndim == 2 and "position" not in name]
        assert any("word_embeddings" in name for name in cls.adapted), cls.adapted
        cls.deltas = {}
        cls.own = cls.make_own(cls.dir / "own")

    @classmethod
    def make_own(cls, directory: Path) -> Path:
        """As Jina publishes it: the factors of all tasks beside each weight."""
        shutil.copytree(cls.plain, directory)
        tensors = dict(cls.tensors)
        for name in cls.adapted:
            stem, weight = name.removesuffix(".weight"), tensors.pop(name)
            rows, columns = weight.shape
            shapes = [(rows, RANK), (RANK, columns)]
            left, right = (cls.random.normal(0, 0.1, (len(TASKS), *shape)).astype(np.float32)
                           for shape in shapes)
            a, b = (left, right) if stem.endswith("_embeddings") else (right, left)
            tensors |= {stem + OWN: weight, stem + ".parametrizations.weight.0.lora_A": a,
                        stem + ".parametrizations.weight.0.lora_B": b}
            cls.deltas[name] = left.astype(np.float64) @ right * ALPHA / RANK
        write_tensors(directory / "model.safetensors", tensors)
        cls.change(directory / "config.json", lora_adaptations=TASKS, lora_rank=RANK, lora_alpha=ALPHA,
                   task_instructions=dict.fromkeys(TASKS, ""), load_trained_adapters=True)
        modules = [{"idx": 0, "name": "transformer", "path": "", "type": "custom_st.Transformer",
                    "kwargs": ["task"]},
                   {"idx": 1, "name": "pooler", "path": "1_Pooling",
                    "type": "sentence_transformers.models.Pooling"}]
        (directory / "modules.json").write_text(json.dumps(modules))
        (directory / "1_Pooling").mkdir(exist_ok=True)
        (directory / "1_Pooling" / "config.json").write_text(json.dumps(
            {"word_embedding_dimension": next(iter(cls.tensors.values())).shape[-1],
             "pooling_mode_mean_tokens": True}))
        return directory

    @staticmethod
    def change(path: Path, **changes):
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    @classmethod
    def merged(cls, name: str, deltas: dict) -> Path:
        directory = cls.dir / name
        shutil.copytree(cls.plain, directory, dirs_exist_ok=True)
        write_tensors(directory / "model.safetensors",
                      {key: (value + deltas.get(key, 0)).astype(np.float32) for key, value in cls.tensors.items()})
        return directory

    def embeddings(self, model: Path, *options) -> np.ndarray:
        return np.array([floats(answer["embedding"])
                         for answer in self.answers("-m", model, "--task", "embed", *options, "-o", "-",
                                                    "--input-format", "jsonl", stdin="".join(
                                                        json.dumps({"first": text}) + "\n" for text in TEXTS))])

    def info(self, model: Path, *options) -> str:
        done = subprocess.run([self.bin / self.tool, "info", "-m", model, *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_each_of_the_models_own(self):
        plain = self.embeddings(self.plain)
        np.testing.assert_array_equal(self.embeddings(self.own), plain)
        for number, task in enumerate(TASKS):
            wanted = self.embeddings(self.merged(task, {name: delta[number] for name, delta in self.deltas.items()}))
            self.assertGreater(np.abs(wanted - plain).max(), 0.01)
            np.testing.assert_allclose(self.embeddings(self.own, "--adapter", task), wanted, rtol=0, atol=1e-5)

    def test_a_tied_decoder(self):
        """Which PEFT leaves as it is."""
        model = self.make_model("predicts", "--family", "jina-roberta", "--head", "mlm")
        folder, _ = self.make_peft("embeddings", 1)
        self.fail_with(1, "word_embeddings.weight': an adapter adds to it, but the decoder shares it",
                       "-m", model, "--adapter", folder, "a")

    def test_what_is_said(self):
        text = self.info(self.own)
        self.assertIn("the adapters retrieval.query, separation, text-matching are not applied", text)
        text = self.info(self.own, "--adapter", "separation")
        self.assertIn(f"adapter separation: added to {len(self.adapted)} weights", text)
        page = self.dir / "adapter.html"
        for named in ["--adapter", "separation"], []:
            self.succeed("-m", self.own, *named, "--task", "attention", "--html", page, "a")
            self.assertEqual('"adapter": "separation"' in page.read_text().replace('":"', '": "'), bool(named))
        self.fail_with(1, "adapter 'queries' is unknown, expected retrieval.query, separation, text-matching or a "
                          "folder with adapter_config.json", "-m", self.own, "--adapter", "queries", "a")
        self.fail_with(1, "adapter 'x' is unknown, expected a folder", "-m", self.plain, "--adapter", "x", "a")

    def convert(self, model: Path, name: str, *options) -> Path:
        new = self.dir / name
        done = subprocess.run([self.bin / "bert-convert", "-m", model, "-o", new, *options], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return new

    def test_converted(self):
        for precision, adapter in ("int8", ["--adapter", "separation"]), ("bf16", ["--adapter", "separation"]), (
                "bf16", []):
            options = ["--precision", precision]
            new = self.convert(self.own, f"converted-{precision}{len(adapter)}", *options, *adapter)
            np.testing.assert_array_equal(self.embeddings(new, *options),
                                          self.embeddings(self.own, *options, *adapter))
            self.assertNotIn("adapters", self.info(new, *options))
            self.assertIsNone(json.loads((new / "config.json").read_text())["lora_adaptations"])

    def test_a_head_of_its_own(self):
        """Which takes the place of the model's, also in what bert-convert writes."""
        base = self.make_model("predicting", "--family", "jina-roberta", "--head", "mlm")
        hidden = self.tensors[self.adapted[0]].shape[1]
        folder, _ = self.make_peft("head", 1, modules_to_save=["classifier"], task_type="SEQ_CLS", bias="none")
        file = TensorFile(folder / "adapter_model.safetensors")
        tensors = {name: np.array(file.read(name)) for name in file.entries if "embedding" not in name}
        stem = "base_model.model.classifier."
        for name, rows in ("dense", hidden), ("out_proj", 4):
            tensors[f"{stem}{name}.weight"] = self.random.normal(0, 0.3, (rows, hidden)).astype(np.float32)
            tensors[f"{stem}{name}.bias"] = np.zeros(rows, np.float32)
        write_tensors(folder / "adapter_model.safetensors", tensors)
        logits = ["--task", "logits", "-o", "-", TEXTS[0]]
        wanted = self.answers("-m", base, "--adapter", folder, "--precision", "int8", *logits)[0]
        self.assertEqual(len(wanted["logits"]), 4)
        self.assertRegex(wanted["label"], "^LABEL_[0-3]$")
        ordinary = self.convert(base, "ordinary-head", "--adapter", folder, "--precision", "bf16")
        self.assertEqual(len(self.answers("-m", ordinary, *logits)[0]["logits"]), 4)
        new = self.convert(base, "converted-head", "--adapter", folder, "--precision", "int8")
        self.assertEqual(self.answers("-m", new, *logits), [wanted])
        self.assertFalse([name for name in TensorFile(new / "model.safetensors").entries if "lm_head" in name])
        self.assertEqual(int.from_bytes((new / "model.safetensors").read_bytes()[:8], "little") % 8, 0)
        self.fail_with(1, "is I8, which an adapter cannot be added to", "-m", new, "--adapter", folder, "a")
        for labels in ["no", "yes"], ["a", "b", "c", "d"]:  # those of the model, if there are as many
            self.change(base / "config.json", id2label={str(i): label for i, label in enumerate(labels)})
            [answer] = self.answers("-m", base, "--adapter", folder, *logits)
            self.assertRegex(answer["label"], "^[a-d]$" if len(labels) == 4 else "^LABEL_[0-3]$")
        self.make_peft("head", 1, modules_to_save=["score"], task_type="SEQ_CLS")
        write_tensors(folder / "adapter_model.safetensors", tensors)
        self.fail_with(1, "unexpected tensor 'base_model.model.classifier.dense.bias'", "-m", base, "--adapter", folder,
                       "a")

    def test_one_server_with_two(self):
        two = ["-m", f"query={self.own}", "-m", f"other={self.own}", "--adapter", "query=retrieval.query"]
        server = Server(self.bin, *two, "--adapter", "other=separation")
        self.addCleanup(server.stop)
        for model, task in [("query", "retrieval.query"), ("other", "separation")]:
            _, _, body = server.request("POST", f"/models/{model}/embed",
                                        {"inputs": TEXTS[0], "normalize": False})
            wanted = self.embeddings(self.own, "--adapter", task)[0]
            np.testing.assert_array_equal(floats(json.loads(body)[0]), wanted)
        done = subprocess.run([self.bin / "bert-serve", "--port", "0", *two, "--adapter", "x=y"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (2, "bert-serve: --adapter x=y: no model is called x "
                                                            "(--help shows the options)\n"))

    def own_error(self, reason: str, change):
        directory = self.dir / "damaged"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(self.own, directory)
        file = TensorFile(self.own / "model.safetensors")
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        change(tensors)
        write_tensors(directory / "model.safetensors", tensors)
        self.fail_with(1, reason, "-m", directory, "--adapter", "separation", "a")

    def test_damaged_factors(self):
        stem = self.adapted[-1].removesuffix(".weight")
        a, b = (f"{stem}.parametrizations.weight.0.lora_{letter}" for letter in "AB")
        self.own_error(f"tensor '{b}' is missing", lambda tensors: tensors.pop(b))
        self.own_error(f"unexpected tensor '{a}' of an adapter",
                       lambda tensors: tensors.update({stem + ".weight": tensors.pop(stem + OWN)}))
        self.own_error(r"lora_A' is F32 \[2, .*, expected floats \[3, ",
                       lambda tensors: tensors.update({a: tensors[a][:2]}))
        self.own_error("lora_[AB]' is F32 .*, expected floats",
                       lambda tensors: tensors.update({a: tensors[a][..., :-1]}))
        words = next(name for name in self.adapted if "word_embeddings" in name).removesuffix(".weight")
        for name in (b, words + ".parametrizations.weight.0.lora_B"):
            reason = f"tensor '{name}'.* is nan, expected a finite number"
            self.own_error(reason, lambda tensors, name=name: tensors.update(
                {name: tensors[name] + np.float32("nan")}))

    def make_peft(self, name: str, scale: float, **settings) -> tuple[Path, dict]:
        """An adapter of PEFT's for a few modules, and what it adds."""
        folder, tensors, deltas = self.plain / name, {}, {}
        folder.mkdir(exist_ok=True)
        for target in self.adapted[::3] + [each for each in self.adapted if "word_embeddings" in each]:
            rows, columns = self.tensors[target].shape
            left = self.random.normal(0, 0.1, (rows, RANK)).astype(np.float32)
            right = self.random.normal(0, 0.1, (RANK, columns)).astype(np.float32)
            stem = "base_model.model." + target.removesuffix(".weight").removeprefix("roberta.")
            tensors |= ({stem + ".lora_embedding_A": left.T.copy(), stem + ".lora_embedding_B": right.T.copy()}
                        if "_embeddings" in target else
                        {stem + ".lora_A.weight": right, stem + ".lora_B.weight": left})
            deltas[target] = left.astype(np.float64) @ right * scale
        write_tensors(folder / "adapter_model.safetensors", tensors)
        (folder / "adapter_config.json").write_text(json.dumps(
            {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none", "target_modules": ["any"],
             "modules_to_save": None, "task_type": "FEATURE_EXTRACTION"} | settings))
        return folder, deltas

    def test_a_folder_of_peft(self):
        for name, scale, settings in [("usual", ALPHA / RANK, {}),
                                      ("by_root", ALPHA / RANK ** 0.5, {"use_rslora": True})]:
            folder, deltas = self.make_peft(name, scale, **settings)
            wanted = self.embeddings(self.merged("merged", deltas))
            for adapter in (folder, name):  # by its path, or in the model's directory
                np.testing.assert_allclose(self.embeddings(self.plain, "--adapter", adapter), wanted, rtol=0,
                                           atol=1e-5)
        self.assertIn("adapter_model.safetensors", self.info(self.plain, "--adapter", "usual"))
        # Only the adapter's names have the encoder's prefix.
        bare = self.dir / "bare"
        shutil.copytree(self.plain, bare)
        write_tensors(bare / "model.safetensors",
                      {name.removeprefix("roberta."): value for name, value in self.tensors.items()})
        file = TensorFile(folder / "adapter_model.safetensors")
        write_tensors(folder / "adapter_model.safetensors",
                      {name.replace(".model.", ".model.roberta."): np.array(file.read(name)) for name in file.entries})
        np.testing.assert_allclose(self.embeddings(bare, "--adapter", folder), wanted, rtol=0, atol=1e-5)
        for setting, value in [("use_dora", True), ("bias", "all"), ("modules_to_save", "classifier"),
                               ("alpha_pattern", {"query": 3}), ("peft_type", "IA3"),
                               ("init_lora_weights", "pissa_niter_4"), ("init_lora_weights", "olora")]:
            self.make_peft("refused", 1, **{setting: value})
            self.fail_with(1, f"adapter_config.json: {setting}: found .*, expected ", "-m", self.plain, "--adapter",
                           "refused", "a")
        for setting, value, reason in [("r", RANK + 1, rf"found {RANK + 1}, expected {RANK}, the rank of '.*'"),
                                       ("r", 0, "found 0, expected an integer from 1"),
                                       ("r", str(RANK), "found .*, expected an integer"),
                                       ("rank_pattern", {"query": "x"}, "found .*, expected an integer")]:
            self.make_peft("refused", 1, **{setting: value})
            self.fail_with(1, f"adapter_config.json: {setting}.*: {reason}", "-m", self.plain, "--adapter", "refused",
                           "a")
        self.fail_with(1, "adapter_config.json: this is an adapter", "-m", folder, "a")
        folder, _ = self.make_peft("other", 1)
        file = TensorFile(folder / "adapter_model.safetensors")
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        for reason, added in [("unexpected tensor 'base_model.model.classifier.weight'",
                               {"base_model.model.classifier.weight": np.ones((2, 3), np.float32)}),
                              ("'x' has only one of its two factors",
                               {"base_model.model.x.lora_A.weight": np.ones((2, 3), np.float32)}),
                              ("the model has no matrix 'x.weight'",
                               {f"base_model.model.x.lora_{letter}.weight": np.ones((2, 2), np.float32)
                                for letter in "AB"})]:
            write_tensors(folder / "adapter_model.safetensors", tensors | added)
            self.fail_with(1, reason, "-m", self.plain, "--adapter", "other", "a")
        (folder / "adapter_model.safetensors").unlink()
        self.fail_with(1, "adapter_model.safetensors", "-m", self.plain, "--adapter", "other", "a")


if __name__ == "__main__":
    main()
