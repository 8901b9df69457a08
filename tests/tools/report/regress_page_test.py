#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-regress' page, JSON and XML: of a right model, of one with a wrong layer, and since a baseline.
Usage: regress_page_test.py BIN_DIR [--screenshots DIR]"""
import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from reporting import HOSTILE, ROOT, PageTest, main

from tensor_file import TensorFile, write_tensors

WRONG = "bert.encoder.layer.1.output.dense.weight"  # the second of two layers
STAGES = ["embeddings", "layer.0", "layer.1", "pooler", "logits", "embedding"]


def change(model: Path, factor: float) -> Path:
    """A copy of the model with all of one weight changed."""
    copy = model.with_name(f"{model.name}_{factor}")
    shutil.copytree(model, copy)
    file = TensorFile(copy / "model.safetensors")
    tensors = {name: np.array(file.read(name)) for name in file.entries}
    tensors[WRONG] = (tensors[WRONG] * factor).astype(tensors[WRONG].dtype)
    write_tensors(copy / "model.safetensors", tensors, file.metadata)
    return copy


class RegressPage(PageTest):
    tool = "bert-regress"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lines = [[HOSTILE, "a dog"], ["music"], ["two dogs are running on the beach", "the men"]]
        cls.reference = cls.dir / "reference.safetensors"
        cls.make_reference("--inputs", cls.tsv(lines))
        cls.wrong = change(cls.model, 1.01)

    @classmethod
    def tsv(cls, lines) -> Path:
        path = cls.dir / "inputs.tsv"
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
        return path

    @classmethod
    def make_reference(cls, *options):
        subprocess.run([sys.executable, ROOT / "tools/reference/reference.py", "-m", cls.model, "-o",
                        cls.reference, *options], check=True)

    def regress(self, model: Path, name: str, *options):
        """Returns the exit status, the JSON and the page."""
        page = self.dir / f"{name}.html"
        done = self.run_tool("-m", model, self.reference, "--json", "--html", page, *options)
        return done.returncode, json.loads(done.stdout), page

    def test_a_right_model(self):
        status, found, path = self.regress(self.model, "regress_right")
        self.assertEqual(status, 0)
        self.assertEqual(self.read_page(path), found)
        self.assertTrue(found["passed"])
        self.assertEqual([stage["name"] for stage in found["stages"]], STAGES)
        for stage in found["stages"]:
            counts = stage["histogram"]
            self.assertEqual(counts["zeros"] + counts["not_finite"] + sum(counts["steps"]), stage["elements"])
            self.assertTrue(stage["within"])
            self.assertLessEqual(stage["worst"][0]["error"], stage["largest_error"])
            ranks = [element["rank"] for element in stage["worst"]]
            self.assertEqual(ranks, sorted(ranks, reverse=True))
            self.assertTrue(len(ranks) <= 10 and ranks[0] < 1)
        self.assertEqual((found["labels"]["compared"], found["labels"]["changed"]), (3, 0))
        page = self.browse(path)
        self.shows(page, "<title>bert-regress: passed</title>")
        self.shows(page, "✔ Passed")
        self.assertEqual(page.count("✔ within"), len(STAGES))
        self.shows(page, "None of 3 labels changed")
        self.shows(page, r"\u{202e}")
        self.assertNotIn("\u202e", page)

    def test_environment_and_hashes(self):
        _, found, _ = self.regress(self.model, "environment")
        for key in ("processor", "instruction_set", "bert_infer", "onednn", "precision", "backend", "threads"):
            self.assertTrue(found["environment"][key], key)
        self.check_hashes(self.model, found["files"], ["config.json", "model.safetensors", "vocab.txt"])

    def check_hashes(self, model: Path, files: list[dict], wanted: list[str]):
        self.assertEqual([file["name"] for file in files][:3], wanted[:3])
        self.assertLessEqual(set(wanted), {file["name"] for file in files})
        for file in files:
            content = (model / file["name"]).read_bytes()
            self.assertEqual((file["bytes"], file["sha256"]), (len(content), hashlib.sha256(content).hexdigest()))

    def test_files_in_folders(self):
        """Vectors of tokens depend on the modules; a baseline's names may have no folders."""
        model = self.make_model("modules", "--head", "none", "--prefix", "--retrieval", "multi-vector")
        path, _, _ = self.reference_of(model, "--random", "1", "--lengths", "5")
        (model / "0_Transformer").mkdir()
        own = ["config.json", "model.safetensors", "vocab.txt"]
        for name in *own, "tokenizer_config.json":
            (model / name).rename(model / "0_Transformer" / name)
        modules = json.loads((model / "modules.json").read_text())
        modules[0]["path"] = "0_Transformer"
        (model / "modules.json").write_text(json.dumps(modules))
        before = json.loads(self.succeed("-m", model, path, "--json"))
        self.check_hashes(model, before["files"], [
            *(f"0_Transformer/{name}" for name in own), "0_Transformer/tokenizer_config.json", "modules.json",
            *(f"{i}_Dense/{name}" for i in (1, 2) for name in own[:2]), "3_Mask/config.json"])
        with (model / "1_Dense" / "config.json").open("a") as changed:
            changed.write("\n")
        page, baseline = self.dir / "folders.html", self.dir / "folders.json"
        bare = [{**file, "name": name} for name, file in zip(own, before["files"])]
        for files in before["files"], bare:
            baseline.write_text(json.dumps(before | {"files": files}))
            self.succeed("-m", model, path, "--html", page, "--baseline", baseline)
            rows = re.findall(r'<th scope="row">([^<]*): SHA-256</th><td>([^<]*)</td>', self.browse(page))
            self.assertIn(("1_Dense/config.json", next((file["sha256"][:16] for file in files if
                                                        file["name"].startswith("1_Dense/c")), "")), rows)
            if files is not bare:
                self.assertEqual(len(rows), 1, rows)
            for name in own:
                self.assertNotIn(name, [row[0].removeprefix("0_Transformer/") for row in rows])

    def test_a_wrong_layer(self):
        """A weight of the second layer is changed by 1 %."""
        _, _, right = self.regress(self.model, "right")
        baseline = self.write("right.json", json.dumps({**self.read_page(right), "baseline": {}}))
        status, found, path = self.regress(self.wrong, "regress_wrong", "--baseline", baseline)
        self.assertEqual(status, 1)
        self.assertNotIn("baseline", found["baseline"])
        within = {stage["name"]: stage["within"] for stage in found["stages"]}
        self.assertEqual([name for name in STAGES if within[name]], ["embeddings", "layer.0"])
        self.assertRegex(found["difference"], "^layer.1 differs first")
        self.assertGreater(found["stages"][2]["worst"][0]["rank"], 1)
        page = self.browse(path)
        self.shows(page, "<title>bert-regress: FAILED</title>")
        self.shows(page, "What is wrong is likely in what computes layer.1.")
        self.assertEqual((page.count("✔ within"), page.count("✘ OUT")), (2, 4))
        self.shows(page, "Since the baseline")
        self.shows(page, hashlib.sha256((self.wrong / "model.safetensors").read_bytes()).hexdigest())
        self.shows(page, '<th scope="row">layer.1</th><td>within</td><td>out of tolerance</td>')

    def test_the_worst_elements_are_the_worst(self):
        """Beside NumPy's, for a stage of which every element is spoiled differently."""
        file = TensorFile(self.reference)
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        error = np.random.default_rng(1).uniform(0, 1, tensors["layer.1"].shape)
        tensors["layer.1"] += error
        path = self.dir / "spoiled.safetensors"
        write_tensors(path, tensors, file.metadata)
        done = self.run_tool(path, "--json", "--rtol", "0", "--atol", "1e-3", "--mean", "0.01")
        stage = json.loads(done.stdout)["stages"][2]
        self.assertLessEqual(abs(stage["beyond"] - (error > 1e-3).sum()), 1)  # rounding, again
        order = np.argsort(-error, axis=None)[:10]
        rows, columns = np.unravel_index(order, error.shape)
        starts = tensors["starts"]
        inputs = np.searchsorted(starts, rows, "right") - 1
        self.assertEqual([(element["input"], element["token"], element["column"]) for element in stage["worst"]],
                         list(zip(inputs.tolist(), (rows - starts[inputs]).tolist(), columns.tolist())))
        expected = tensors["layer.1"]
        for key, values in (("error", error), ("expected", expected), ("found", expected - error),
                            ("rank", error / 1e-3)):
            np.testing.assert_allclose([element[key] for element in stage["worst"]], values.ravel()[order], 1e-4, 1e-5)
        keys = ("largest_error", "mean_error", "mean_expected", "mean_allowed")
        np.testing.assert_allclose([stage[key] for key in keys],
                                   [error.max(), error.mean(), abs(expected).mean(), 0.01 * abs(expected).mean()], 1e-4)
        self.assertEqual(stage["largest_at"],
                         "input {input}, token {token}, column {column}".format(**stage["worst"][0]))
        steps = np.floor(2 * np.log10(error)).astype(int)
        for step, count in enumerate(stage["histogram"]["steps"]):
            # Rounding may move an error at the edge of a step.
            self.assertLessEqual(abs(count - (steps == step + stage["histogram"]["first"]).sum()), 1)

    def test_the_scale_of_the_errors(self):
        """Where the limit, which is no power of ten, lies before all errors as well as among them."""
        for atol in 3e-13, 3e-8, 1e-13:
            path = self.dir / f"scale_{atol}.html"
            self.run_tool(self.reference, "--atol", atol, "--rtol", 0, "--html", path)
            drawn = re.search('<svg[^>]*aria-label="Errors of .*?</svg>', self.browse(path), re.DOTALL)[0]
            labels = [(float(x), float(power)) for x, power in re.findall(r'x="([\d.]+)"[^>]*>1e(-\d+)<', drawn)]
            self.assertGreater(len(labels), 2)
            widths = [(x - labels[0][0]) / (power - labels[0][1]) for x, power in labels[1:]]
            np.testing.assert_allclose(widths, widths[0])
            line = float(re.search(r'<line x1="([\d.]+)"', drawn)[1])
            # A power of ten has two bars, and its name is in the middle of the first.
            shown = labels[0][1] + (line - labels[0][0]) / widths[0] + 1 / 4
            self.assertAlmostEqual(shown, math.log10(atol), 6)

    def test_changed_labels(self):
        file = TensorFile(self.reference)
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        best = int(tensors["logits"][1].argmax())
        tensors["logits"][1, best] -= 100
        path = self.dir / "labels.safetensors"
        write_tensors(path, tensors, file.metadata)
        page = self.dir / "labels.html"
        self.assertEqual(self.run_tool(path, "--html", page).returncode, 1)
        labels = self.read_page(page)["labels"]
        self.assertEqual((labels["compared"], labels["changed"]), (3, 1))
        [changed] = labels["changes"]
        names = ["yes", "no", "maybe"]
        self.assertEqual((changed["input"], changed["found"]), (1, names[best]))
        self.assertEqual(changed["expected"], names[int(tensors["logits"][1].argmax())])
        self.assertEqual(changed["token"], 0)
        self.assertAlmostEqual(changed["margin"], tensors["logits"][1].max() - tensors["logits"][1, best], 3)
        self.shows(self.browse(page), "1 of 3 labels changed")

    def reference_of(self, model, *options):
        """The path of a reference, its tensors and its metadata."""
        path = self.dir / f"{model.name}.safetensors"
        subprocess.run([sys.executable, ROOT / "tools" / "reference" / "reference.py", "-m", model, "-o", path,
                        *(options or ["--inputs", self.tsv([["a dog", "a man"], ["music"], ["two dogs run"]])])],
                       check=True)
        file = TensorFile(path)
        return path, {name: np.array(file.read(name)) for name in file.entries}, file.metadata

    def labels(self, *arguments) -> dict:
        return json.loads(self.run_tool(*arguments, "--json").stdout)["labels"]

    def test_labels_of_each_head(self):
        masks = self.make_model("masks", "--head", "mlm")
        path, tensors, metadata = self.reference_of(masks, "--random", "1", "--lengths", "60")
        labels = self.labels("-m", masks, path)
        self.assertEqual((labels["compared"], labels["changed"]), (60, 0))
        logits, words = tensors["logits"].copy(), (masks / "vocab.txt").read_text().split("\n")
        best = int(logits[7].argmax())
        tensors["logits"][7, best] -= 100
        write_tensors(path, tensors, metadata)
        [change] = self.labels("-m", masks, path)["changes"]
        other = int(tensors["logits"][7].argmax())
        self.assertEqual([change[key] for key in ("input", "token", "expected", "found")],
                         [0, 7, words[other], words[best]])
        self.assertAlmostEqual(change["margin"] / (tensors["logits"][7, other] - tensors["logits"][7, best]), 1, 4)
        write_tensors(path, tensors | {"logits": -logits}, metadata)
        labels = self.labels("-m", masks, path)
        self.assertEqual((labels["changed"], len(labels["changes"])), (60, 50))

        answers = self.make_model("answers", "--head", "qa", "--sentence-transformers", "mean")
        path, tensors, metadata = self.reference_of(answers)
        labels = self.labels("-m", answers, path)
        self.assertEqual((labels["compared"], labels["changed"]), (6, 0))
        end = tensors["logits"][:tensors["starts"][1], 1]
        best = int(end.argmax())
        end[best] -= 100
        write_tensors(path, tensors, metadata)
        [change] = self.labels("-m", answers, path)["changes"]
        self.assertEqual([change[key] for key in ("input", "token", "expected", "found")],
                         [0, 1, f"token {end.argmax()}", f"token {best}"])

        for options, count in (["--labels", "1", "--problem-type", "regression"], 0), (
                ["--labels", "3", "--problem-type", "multi_label_classification", "--scale", "0.3"], 9):
            model = self.make_model(f"of_{count}", *options)
            path, tensors, metadata = self.reference_of(model)
            labels = self.labels("-m", model, path)
            self.assertEqual((labels["compared"], labels["changed"]), (count, 0))
        score = tensors["logits"][1, 2]
        tensors["logits"][1, 2] = -score
        write_tensors(path, tensors, metadata)
        [change] = self.labels("-m", model, path)["changes"]
        expected, found = ("LABEL_2", "not LABEL_2") if score < 0 else ("not LABEL_2", "LABEL_2")
        self.assertEqual([change[key] for key in ("input", "token", "expected", "found")], [1, 0, expected, found])
        self.assertAlmostEqual(change["margin"] / abs(score), 1, 4)

    def test_vectors_of_tokens(self):
        model = self.make_model("colbert", "--head", "none", "--prefix", "--retrieval", "colbert")
        path, tensors, _ = self.reference_of(model, "--random", "2", "--lengths", "5,9")
        stages = json.loads(self.succeed("-m", model, path, "--json"))["stages"]
        self.assertEqual({stage["name"]: stage["elements"] for stage in stages}["vectors"], tensors["vectors"].size)

    def test_what_is_not_finite(self):
        file = TensorFile(self.reference)
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        tensors["layer.1"][0, 1] = math.nan
        tensors["logits"][:] = math.nan
        path = self.dir / "infinite.safetensors"
        write_tensors(path, tensors, file.metadata)
        page = self.dir / "infinite.html"
        before = self.write("before.json", self.run_tool(self.reference, "--json").stdout)
        self.assertEqual(self.run_tool(path, "--html", page, "--baseline", before).returncode, 1)
        found = self.read_page(page)
        self.assertIsNone(found["stages"][2]["largest_error"])
        self.assertEqual((found["labels"]["changed"], found["labels"]["changes"][0]["expected"]), (3, "not finite"))
        self.assertIsNone(found["labels"]["changes"][0]["margin"])
        many = self.dir / "many_labels"  # each by itself
        shutil.copytree(self.model, many)
        config = json.loads((many / "config.json").read_text())
        (many / "config.json").write_text(json.dumps(
            config | {"problem_type": "multi_label_classification", "nobody_knows": 3}))
        done = self.run_tool("-m", many, path, "--json")
        self.assertRegex(done.stderr, "note: .*nobody_knows")
        labels = json.loads(done.stdout)["labels"]
        self.assertEqual((labels["compared"], labels["changed"]), (9, 9))
        self.assertEqual({change["expected"] for change in labels["changes"]}, {"not finite"})
        shown = self.browse(page)
        for text in ("to layer.1, where it is not finite. What is wrong is likely in what computes layer.1.",
                     "Error by stage; the largest is not finite", "✘ 3 of 3 labels changed"):
            self.shows(shown, text)
        row = re.search('<tr><th scope="row">layer.1</th><td><span class="bad">.*?</tr>', shown)[0]
        # The largest and the mean error, the allowed mean, and both beside the baseline's.
        self.assertEqual(row.count("not finite"), 5, row)

    def test_other_ids_and_stages_without_a_limit(self):
        file = TensorFile(self.reference)
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        texts = json.loads(file.metadata["inputs"])
        path, page = self.dir / "ids.safetensors", self.dir / "ids.html"
        write_tensors(path, tensors, {"inputs": json.dumps([texts[0], ["a"], texts[2]])})
        self.assertEqual(self.run_tool(path, "--html", page, "--precision", "int8").returncode, 1)
        choose = '''<script>{const all = document.querySelector('option[value=""]').parentNode;
                    all.value = ""; all.dispatchEvent(new Event("change"));}</script></body>'''
        page.write_text(page.read_text().replace("</body>", choose))
        shown = self.browse(page)
        self.shows(shown, "What is wrong is likely in the tokenizer.")
        self.shows(shown, "all with a limit (worst elements)")
        worst = re.search("The ten worst elements, by error over what is allowed</caption>.*?</table>", shown)[0]
        self.assertIn('<th scope="row">pooler', worst)
        self.assertNotRegex(worst, '<th scope="row">(embeddings|layer)')
        for name in STAGES:
            del tensors[name]
        write_tensors(path, tensors, file.metadata)
        self.succeed(path, "--html", page)
        self.shows(self.browse(page), "✔ Passed")

    def test_junit(self):
        path = self.dir / "junit.xml"
        hostile = self.dir / "h<i>&\"'x"
        hostile.symlink_to(self.model)
        for model, failures in ((self.model, []), (hostile, []), (self.wrong, STAGES[2:])):
            done = self.run_tool("-m", model, self.reference, "--junit", path)
            self.assertEqual(done.returncode, 1 if failures else 0)
            suite = ElementTree.parse(path).getroot()
            cases = suite.findall("testcase")
            self.assertEqual([case.get("name") for case in cases], ["ids", *STAGES])
            failed = [case for case in cases if case.find("failure") is not None]
            self.assertEqual([case.get("name") for case in failed], failures)
            self.assertEqual((suite.get("tests"), suite.get("failures")), (str(len(cases)), str(len(failures))))
            self.assertEqual({case.get("classname") for case in cases}, {str(model)})
            messages = [case.find("failure").get("message") for case in failed]
            for name, message in zip(failures, messages):
                self.assertRegex(message, f"^{name} differs first, at input ")
            self.assertIn(messages[0] if failed else "", done.stderr)

    def test_what_it_refuses(self):
        for arguments, code, pattern in [
            (["--baseline", "x"], 2, "--baseline goes with --html or --json"),
            (["--json", "--baseline", "nowhere.json"], 1, "nowhere.json: cannot be read"),
            (["--json", "--baseline", self.write("other.json", "[]")], 1, "other.json: is not what bert-regress --json"),
            (["--html", self.model / "model.safetensors"], 1, "model.safetensors"),
            (["--html", self.dir / "no" / "page.html"], 1, "page.html"),
            (["--html", self.reference], 1, "is both the input and the output"),
            (["--junit", self.reference], 1, "is both the input and the output"),
        ]:
            with self.subTest(pattern):
                self.fail_with(code, pattern, self.reference, *arguments)


if __name__ == "__main__":
    main()
