#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-regress on intact and spoiled references. Usage: bert_regress_test.py BIN_DIR"""
import datetime
import json
import os
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
from command_line import ROOT, ToolTest, main

from tensor_file import TensorFile, write_tensors

LINES = "a man is walking\ta dog\nmusic\ntwo dogs are running on the beach\tthe men\n"
STAGES = ["embeddings", "layer.0", "layer.1", "pooler", "logits", "embedding"]


class RegressCase(ToolTest):
    """With a reference, of which tests make spoiled copies."""
    tool = "bert-regress"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        inputs = cls.dir / "inputs.tsv"
        inputs.write_text(LINES)
        cls.path = cls.dir / "reference.safetensors"
        subprocess.run([sys.executable, ROOT / "tools" / "reference" / "reference.py", "-m", cls.model, "-o",
                        cls.path, "--inputs", inputs], check=True)
        file = TensorFile(cls.path)
        cls.metadata = file.metadata
        cls.tensors = {name: np.array(file.read(name)) for name in file.entries}

    def spoil(self, metadata: dict | None = None, **changes):
        """A changed copy: a function changes a tensor, an array replaces it, None drops it."""
        tensors = dict(self.tensors)
        for name, change in changes.items():
            name = name.replace("layer", "layer.")
            tensors[name] = change(tensors[name].copy()) if callable(change) else change
        path = self.dir / "spoiled.safetensors"
        kept = {name: values for name, values in tensors.items() if values is not None}
        write_tensors(path, kept, self.metadata if metadata is None else metadata)
        return path

    @staticmethod
    def add(row: int, column: int, error: float):
        def change(values):
            values[row, column] += error
            return values
        return change


class RegressTest(RegressCase):
    def test_the_reference_passes(self):
        report = self.succeed(self.path)
        rows = {line.split()[0]: line.split() for line in report.splitlines()}
        self.assertEqual([line.split()[0] for line in report.splitlines()],
                         ["stage", "ids", *STAGES, "3"])
        for name in STAGES:
            self.assertEqual(int(rows[name][1]), self.tensors[name].size)
            largest, mean = map(float, rows[name][2:4])
            self.assertLess(0, mean)
            self.assertLess(mean, largest)
            self.assertLess(largest, 1e-5)
        self.succeed(self.path, "--atol", "1e-5", "--rtol", "0", "--threads", "1")

    def json(self, *arguments) -> dict:
        return json.loads(self.run_tool(*arguments, "--json").stdout)

    def test_the_json(self):
        done = self.run_tool(self.path, "--backend", "onednn", "--threads", "1", "--json",
                             env=os.environ | {"TZ": "XXX-9"})
        found = json.loads(done.stdout)
        tokens = int(self.tensors["starts"][-1])
        self.assertEqual([found[key] for key in ("model", "reference", "inputs_compared", "tokens", "ids")],
                         [str(self.model), str(self.path), 3, tokens, {"compared": tokens, "texts_differing": 0}])
        environment, system = found["environment"], os.uname()
        self.assertEqual([environment[key] for key in ("architecture", "precision", "backend", "workers", "threads")],
                         ["BertForSequenceClassification", "f32", "onednn", 1, 1])
        self.assertEqual(environment["system"], f"{system.sysname} {system.release} {system.machine}")
        self.assertEqual(environment["processor"], environment["processor"].strip())
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(
            environment["created"].replace("Z", "+00:00"))
        self.assertLess(abs(age.total_seconds()), 300)
        begins, texts = self.tensors["starts"], json.loads(self.metadata["inputs"])
        self.assertEqual({int(key) for key in found["inputs"]},
                         {element["input"] for stage in found["stages"] for element in stage["worst"]})
        for key, value in found["inputs"].items():
            begin, end = begins[int(key)], begins[int(key) + 1]
            self.assertEqual((value["texts"], value["segments"]),
                             (texts[int(key)], self.tensors["type_ids"][begin:end].tolist()))
            self.assertEqual((value["tokens"][0], len(value["tokens"])), ("[CLS]", end - begin))
        for stage in found["stages"]:
            by_token = stage["name"].startswith(("emb", "layer")) and stage["name"] != "embedding"
            for element in stage["worst"]:
                self.assertEqual("token" in element, by_token)
                row = element["input"] + (begins[element["input"]] + element["token"] - element["input"]
                                          if by_token else 0)
                expected = self.tensors[stage["name"]][row, element["column"]]
                self.assertEqual(element["expected"], float(f"{expected:.9g}"))
                self.assertLess(abs(element["found"] - expected), 1e-5)

    def test_the_tolerances_that_count(self):
        for options, hidden, logits in [
                ([], (1e-4, 1e-4, 1e-4), (1e-4, 1e-4, 1e-4)), (["--atol", "1"], (1, 1e-4, None), (1, 1e-4, None)),
                (["--rtol", "2"], (1e-4, 2, None), (1e-4, 2, None)),
                (["--rtol", "2", "--mean", "3"], (1e-4, 2, 3), (1e-4, 2, 3)),
                (["--precision", "bf16"], (None, 0.1, 0.01), (1, 0.1, 0.01)),
                (["--precision", "int8"], (None, 0.1, 0.05), (1, 0.1, 0.05)),
                (["--precision", "int8", "--rtol", "2"], (None, 2, 0.05), (1, 2, None)),
                (["--precision", "int8", "--atol", "2"], (2, 0.1, None), (2, 0.1, None))]:
            stages = {stage["name"]: stage for stage in self.json(self.path, *options)["stages"]}
            for name, wanted in ("layer.0", hidden), ("logits", logits):
                stage = stages[name]
                self.assertEqual(tuple(stage[key] for key in ("atol", "rtol", "mean_tolerance")), wanted, options)
                least = 1e-4 if not options else 0
                if wanted[2] is not None:
                    allowed = max(least, wanted[2] * stage["mean_expected"])
                    self.assertAlmostEqual(stage["mean_allowed"] / allowed, 1, 4)
                self.assertEqual(len(stage["worst"]), min(10, stage["elements"]))
                for element in stage["worst"] if wanted[0] is None else []:  # no limit
                    self.assertEqual(element["rank"], element["error"])
        worst = self.json(self.path, "--atol", "0", "--rtol", "0")["stages"][0]["worst"]
        self.assertEqual({element["rank"] for element in worst}, {None})
        errors = [element["error"] for element in worst]
        self.assertEqual((len(errors), errors), (10, sorted(errors, reverse=True)))

    def test_the_first_difference_is_named(self):
        expected = self.tensors["layer.1"][7, 3]
        path = self.spoil(logits=self.add(0, 0, 1), layer1=self.add(7, 3, 0.5),
                          embedding=self.add(2, 5, -1))
        # Row 7 of the tokens is the second input's, whose tokens begin at row 9, or the first's.
        starts = self.tensors["starts"]
        n = int(np.searchsorted(starts, 7, "right")) - 1
        place = f"input {n}, token {7 - starts[n]}, column 3"
        done = self.fail_with(1, f"^bert-regress: {path}: layer.1 differs first, at {place}: found .*1 of ", path)
        numbers = re.search(r"found (\S+), expected (\S+) \(", done.stderr)
        found, wanted = map(float, numbers.groups())
        self.assertAlmostEqual(wanted, expected + 0.5, 6)
        self.assertAlmostEqual(found, expected, 5)
        row = next(line for line in done.stdout.splitlines() if line.startswith("layer.1"))
        self.assertAlmostEqual(float(row.split()[2]), 0.5, 4)
        self.assertIn(place, row)
        self.assertRegex(done.stdout, r"\nlogits +9 +1\.000e\+00 .*input 0, column 0\n")

    def test_tolerance_is_absolute_plus_relative(self):
        # An expected value near 0.3, not 1, where atol and rtol would count the same.
        row, column = divmod(int(np.argmin(abs(self.tensors["layer.1"] - 0.3))), 16)
        path = self.spoil(layer1=self.add(row, column, 3e-3))
        value = self.tensors["layer.1"][row, column] + 3e-3
        self.fail_with(1, f"layer.1 differs first, at input .*, column {column}:", path)
        self.succeed(path, "--atol", "3.1e-3", "--rtol", "0")
        self.fail_with(1, "layer.1", path, "--atol", "2.9e-3", "--rtol", "0")
        self.succeed(path, "--atol", "1e-5", "--rtol", str(3.1e-3 / value))
        self.fail_with(1, "layer.1", path, "--atol", "1e-5", "--rtol", str(2.9e-3 / value))
        # Of the expected value, about 0.6, not of the found one.
        self.succeed(self.spoil(layer1=self.add(row, column, 0.3)), "--atol", "1e-5", "--rtol", "0.51")

    def test_each_precision_has_its_tolerance(self):
        for precision in ["bf16", "int8"]:
            self.succeed(self.path, "--precision", precision)
            self.fail_with(1, "embeddings|layer.0", self.path, "--precision", precision, "--atol",
                           "1e-5", "--rtol", "1e-5")
            # A small error everywhere: each element is within its tolerance, the mean is not.
            path = self.spoil(layer1=lambda values: values + 0.11 * abs(values).mean())
            self.fail_with(1, "layer.1 has a mean error of 0.[01].*, expected at most 0.0", path,
                           "--precision", precision)
            self.succeed(path, "--precision", precision, "--mean", "0.2")
            self.fail_with(1, "layer.1 has a mean error", path, "--precision", precision, "--rtol", "0.2")
        path = self.spoil(layer1=lambda values: values * 1.01)
        self.fail_with(1, "layer.1 has a mean error of 0.00", path, "--rtol", "0.1", "--mean", "1e-3")
        self.succeed(path, "--rtol", "0.1", "--mean", "0.02")

    def test_a_logit_near_0(self):
        """Of one input: its rounding is many times itself, and yet the model is right."""
        model = self.make_model("near_0", "--labels", "1")
        path = self.dir / "near_0.safetensors"
        subprocess.run([sys.executable, ROOT / "tools" / "reference" / "reference.py", "-m", model, "-o", path,
                        "--inputs", self.write("near_0.tsv", "a dog\tis walking\n")], check=True)
        tensors = []
        for file in TensorFile(model / "model.safetensors"), TensorFile(path):
            tensors.append({name: np.array(file.read(name)) for name in file.entries})
        weights, expected = tensors
        bias = (weights["classifier.bias"] - expected["logits"][0] + 2e-6).astype(np.float32)
        expected["logits"] = expected["logits"] - weights["classifier.bias"].astype(float) + bias
        weights["classifier.bias"] = bias
        write_tensors(model / "model.safetensors", weights, TensorFile(model / "model.safetensors").metadata)
        write_tensors(path, expected, TensorFile(path).metadata)
        report = self.succeed("-m", model, path)
        error = float(re.search(r"\nlogits +1 +(\S+)", report)[1])
        self.assertGreater(error, 1e-4 * abs(expected["logits"][0, 0]))
        self.fail_with(1, "logits has a mean error of", "-m", model, path, "--mean", "1e-4")

    def test_single_hidden_states_may_be_far_off_in_less_than_f32(self):
        path = self.dir / "demo.safetensors"
        demo = ROOT / "models" / "demo"
        subprocess.run([sys.executable, ROOT / "tools" / "reference" / "reference.py", "-m", demo, "-o", path,
                        "--random", "8", "--lengths", "128,100,64"], check=True)
        for precision in ["f32", "bf16", "int8"]:
            self.succeed("-m", demo, path, "--precision", precision)
        for precision in ["bf16", "int8"]:  # each logit is checked by itself
            self.fail_with(1, "logits differs first", self.spoil(logits=self.add(1, 1, 2)),
                           "--precision", precision, "--mean", "9")

    def test_ids_or_texts_alone(self):
        self.succeed(self.spoil({}))
        no_ids = dict.fromkeys(["ids", "type_ids", "starts"])
        self.succeed(self.spoil(ids=lambda x: x.astype(np.int32), layer0=lambda x: x.astype(np.float32)))
        self.succeed(self.spoil(unattended=np.zeros(3, np.int64)))
        self.fail_with(1, "layer.0 differs first, at input 1", self.spoil(unattended=np.array([0, 1, 0])))
        report = self.succeed(self.spoil(**no_ids))
        self.assertNotIn("ids ", report)
        self.fail_with(1, "neither ids nor __metadata__ inputs", self.spoil({}, **no_ids))
        no_stage = dict.fromkeys(name.replace(".", "") for name in STAGES)
        self.succeed(self.spoil(**no_stage))  # checks that the texts give the ids
        length = int(np.diff(self.tensors["starts"])[2])
        shorter = self.spoil(ids=lambda x: x[:-1], type_ids=lambda x: x[:-1], starts=lambda x: x - [0, 0, 0, 1],
                             **no_stage)
        self.fail_with(1, f"ids differ first, at input 2: found {length} tokens, expected {length - 1}$", shorter)
        for change in [self.spoil({}, **no_stage), self.spoil(**no_stage, **no_ids)]:
            self.fail_with(1, "has nothing to compare", change)

    def test_prompts_and_the_length_are_the_references(self):
        model = self.make_model("prompts", "--head", "none", "--sentence-transformers", "mean")
        (model / "config_sentence_transformers.json").write_text(json.dumps(
            {"prompts": {"query": "the man: ", "none": ""}, "default_prompt_name": "query"}))
        reference, inputs = self.dir / "prompts.safetensors", self.write("prompts.tsv", LINES)
        for options, lengths in ([], [12, 6, 15]), (["--max-length", "5"], [5, 5, 5]):
            subprocess.run([sys.executable, ROOT / "tools" / "reference" / "reference.py", "-m", model, "-o", reference,
                            "--inputs", inputs, *options], check=True)
            self.assertEqual(np.diff(TensorFile(reference).read("starts")).tolist(), lengths)
            self.assertIn("equal", self.succeed("-m", model, reference))
        self.fail_with(1, "__metadata__ max_length is '5x', expected a positive whole number",
                       self.spoil({**self.metadata, "max_length": "5x"}))

    def test_a_closed_output_does_not_hide_a_difference(self):
        path = self.spoil(logits=self.add(0, 0, 1))
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "wb") as closed:
            self.fail_with(1, "logits differs first", path, stdout=closed)
            self.assertEqual(self.run_tool(self.path, stdout=closed).returncode, 0)

    def test_files_may_be_standard_output(self):
        spoiled = self.spoil(logits=self.add(0, 0, 1))
        for option, begin, end in ("--html", "<!doctype html>", "</html>"), ("--junit", "<?xml ", "</testsuite>"):
            self.assertRegex(self.succeed(self.path, option, "-").strip(), f"(?is)^{re.escape(begin)}.*{end}$")
            done = self.fail_with(1, "logits differs first", spoiled, option, "-")
            self.assertNotIn("largest error ", done.stdout)

    def test_a_page_of_a_name_that_is_not_utf_8(self):
        link = os.fsdecode(os.fsencode(self.dir / "name") + b"\xff")
        os.symlink(self.model, link)
        self.assertIn("name\\ufffd", self.succeed("-m", link, self.path, "--html", "-"))

    def test_a_baseline_is_a_file(self):
        self.fail_with(1, f"{self.dir}: is a directory, expected a file", self.path, "--json", "--baseline", self.dir)
        self.fail_with(1, "is not what bert-regress --json writes", self.path, "--json", "--baseline",
                       self.write("empty", ""))
        self.fail_with(1, "is not what bert-regress --json writes", self.path, "--json", "--baseline",
                       self.write("other", '{"tool": "bert-bench"}'))
        self.fail_with(1, "is both the input and the output", self.path, "--json", "--baseline", self.dir / "other",
                       "--junit", self.dir / "other")
        right = json.loads(self.succeed(self.path, "--json"))
        for pattern, change in [
            ("passed is missing, expected true or false", lambda b: b.pop("passed")),
            ("environment is array, expected an object", lambda b: b.update(environment=[])),
            ("environment.backend is object, expected a string", lambda b: b["environment"].update(backend={})),
            ("model is missing, expected a string", lambda b: b.pop("model")),
            ("reference is null, expected a string", lambda b: b.update(reference=None)),
            (r"files\[0\].name is missing, expected a string", lambda b: b["files"][0].pop("name")),
            (r"files\[0\].sha256 is missing, expected a string", lambda b: b["files"][0].pop("sha256")),
            (r"stages\[0\].name is missing, expected a string", lambda b: b["stages"][0].pop("name")),
            (r"stages\[0\].largest_error is string, expected a number",
             lambda b: b["stages"][0].update(largest_error="1")),
            (r"files\[0\] is number, expected an object", lambda b: b.update(files=[1])),
            (r"stages\[1\].within is string, expected true or false", lambda b: b["stages"][1].update(within="yes")),
            (r"stages\[0\].mean_error is missing, expected a number", lambda b: b["stages"][0].pop("mean_error")),
            ("labels.changed is array, expected a number", lambda b: b["labels"].update(changed=[])),
        ]:
            with self.subTest(pattern):
                spoiled = json.loads(json.dumps(right))
                change(spoiled)
                path = self.write("baseline.json", json.dumps(spoiled))
                self.fail_with(1, f"{path}: {pattern}$", self.path, "--json", "--baseline", path)

    def test_a_failure_replaces_what_was_written_before(self):
        junit, model = self.dir / "junit.xml", self.model / "model.safetensors"
        for arguments in (["nowhere.safetensors"], ["no\x01where.safetensors"], [self.path, "--adapter", "nobody"],
                          [self.path, "-m", "nowhere"], [self.path, "--html", self.dir],
                          [self.path, "--json", "--baseline", "nowhere.json"]):
            with self.subTest(arguments):
                self.succeed(self.path, "--junit", junit)
                done = self.fail_with(1, ".", *arguments, "--junit", junit)
                suite = ElementTree.parse(junit).getroot()
                self.assertEqual([suite.get(key) for key in ("tests", "failures", "errors")], ["1", "0", "1"])
                [case] = suite
                self.assertEqual(f"bert-regress: {case.find('error').get('message')}\n", done.stderr)
        content = model.read_bytes()
        self.fail_with(1, "is a file of the model", self.path, "--junit", model)
        self.assertEqual(content, model.read_bytes())
        self.assertEqual(list(self.dir.glob("**/*.partial")), [])

    def test_outputs_are_opened_before_the_work_and_written_after_the_table(self):
        for option in "--html", "--junit":
            self.fail_with(1, "no/file: cannot be opened for writing", "nowhere.safetensors", option,
                           self.dir / "no" / "file")
            done = self.fail_with(1, "full: cannot be written: File too large", self.path, option, self.dir / "full",
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
            self.assertIn("every stage within its tolerance", done.stdout)
            self.assertFalse((self.dir / "full").exists())

    def test_texts_must_give_the_ids(self):
        inputs = json.loads(self.metadata["inputs"])
        other = {"inputs": json.dumps([inputs[0], ["dog"], inputs[2]])}
        done = self.fail_with(1, r"ids differ first, at input 1, token 1: found id \d+ of type 0, "
                              r"expected \d+ of type 0", self.spoil(other))
        self.assertRegex(done.stdout, r"\nids .* 1 text differs\n")
        longer = {"inputs": json.dumps([inputs[0], ["music a"], ["a"]])}
        junit = self.dir / "ids.xml"
        path = self.spoil(longer, logits=self.add(0, 0, 1))
        done = self.fail_with(1, "ids differ first, at input 1, token 2: ", path, "--junit", junit)
        self.assertRegex(done.stdout, r"\nids .* 2 texts differ\n")
        cases = ElementTree.parse(junit).getroot().findall("testcase")
        self.assertEqual([case.get("name") for case in cases if case.find("failure") is not None], ["ids", "logits"])
        self.assertEqual(self.json(path)["ids"]["texts_differing"], 2)
        self.fail_with(1, r"ids differ first, at input 0, token 1: found id (\d+) of type 0, expected \1 of type 1",
                       self.spoil(type_ids=lambda x: np.concatenate([[0, 1], x[2:]])))

    def test_usage(self):
        (self.dir / "dangling").symlink_to("target")
        same = "--html and --junit name the same file"
        for html, junit in ("dangling", "target"), ("q.html", "q.html.partial"), ("q.xml.partial", "q.xml"):
            self.fail_with(2, same, self.path, "--html", self.dir / html, "--junit", self.dir / junit)
        for arguments, pattern in [([], "REFERENCE"), (["a", "b"], "b"),
                                   (["a", "--atol", "-1"], "--atol"),
                                   (["a", "--rtol", "x"], "--rtol"),
                                   (["a", "--mean", "nan"], "--mean: 'nan', expected a finite number"),
                                   (["a", "--atol", "inf"], "--atol: 'inf', expected a finite number"),
                                   (["a", "--html", ""], "--html: the value is empty"),
                                   (["a", "--junit", ""], "--junit: the value is empty"),
                                   (["a", "--json", "--baseline", ""], "--baseline: the value is empty"),
                                   (["a", "--html", "o", "--junit", "./o"], "--html and --junit name the same file"),
                                   (["a", "--json", "--junit", "-"], "--json and a page or report on standard output"),
                                   (["a", "--threads", "0"], "--threads")]:
            self.assertEqual(self.fail_with(2, pattern, *arguments).stdout, "")
        text = self.succeed("--help")
        for word in ["--atol", "--rtol", "--mean", "--precision", "--threads", "--model", "1e-4", "Exit status"]:
            self.assertIn(word, text)
        self.assertRegex(self.succeed("--version"), r"^bert-regress \d+\.\d+\.\d+\noneDNN ")


if __name__ == "__main__":
    main()
