#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-regress on references that are wrong in themselves. Usage: bert_regress_references_test.py BIN_DIR"""
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import bert_regress_test
import numpy as np
from command_line import ROOT, main

NO_IDS = dict.fromkeys(["ids", "type_ids", "starts"])


class ReferencesTest(bert_regress_test.RegressCase):
    def test_what_is_no_number(self):
        for value in [np.nan, np.inf]:
            path = self.spoil(layer0=self.add(0, 1, value))
            place = "input 0, token 0, column 1"
            self.fail_with(1, f"layer.0 differs first, at {place}: .*{value}", path)

    def test_references_that_do_not_fit(self):
        t = self.tensors
        plain = self.make_model("plain", "--head", "none", "--no-pooler")
        no_pairs = ["{", "[]", "[1]", '[["a", "b", "c"]]', "[[]]"]
        for pattern, path, *model in [
            ("contains layer.2, expected", lambda: self.spoil(layer2=t["layer.1"])),
            ("contains extra, expected", lambda: self.spoil(extra=t["layer.1"])),
            (r"layer.0 is \[\d+, 16\], expected \[\d+, columns\]", lambda: self.spoil(
                layer0=lambda x: x[1:])),
            (r"logits is \[9\]", lambda: self.spoil(logits=lambda x: x.reshape(9))),
            ("^bert-regress: [^ ]*spoiled.safetensors: logits has 2 columns, but the model's has 3",
             lambda: self.spoil(logits=lambda x: x[:, 1:])),
            ("logits is F16, expected F32 or F64", lambda: self.spoil(
                logits=lambda x: x.astype(np.float16))),
            ("ids is F32", lambda: self.spoil(ids=lambda x: x.astype(np.float32))),
            ("has no type_ids", lambda: self.spoil(type_ids=None)),
            ("type_ids has", lambda: self.spoil(type_ids=lambda x: x[1:])),
            ("starts does not run from 0 to", lambda: self.spoil(starts=lambda x: x[:-1])),
            ("starts does not increase after element 0", lambda: self.spoil(starts=lambda x: x * [1, 0, 1, 1])),
            ("starts does not run from 0 to", lambda: self.spoil(starts=lambda x: x + [1, 0, 0, 0])),
            ("starts does not run from 0 to", lambda: self.spoil(
                {}, ids=lambda x: x[:0], type_ids=lambda x: x[:0], starts=lambda x: x[:1])),
            (r"ids\[0\] is -", lambda: self.spoil(ids=lambda x: -x)),
            (r"ids\[0\] is 4\d+.*, expected an integer from 0", lambda: self.spoil(ids=lambda x: x + 2**32)),
            (r"ids is I64 \[\d+, 1\], expected integers", lambda: self.spoil(ids=lambda x: x[:, None])),
            ("has no ids", lambda: self.spoil(ids=None, starts=None)),
            ("has no ids", lambda: self.spoil(ids=None, type_ids=None)),
            ("unattended has 2 elements, expected 3", lambda: self.spoil(unattended=np.array([0, 0]))),
            ("spoiled.safetensors: input 0: ids.*vocabulary", lambda: self.spoil({}, ids=lambda x: x + 1000)),
            ("2 texts, but starts has 3", lambda: self.spoil({"inputs": '[["a"], ["b"]]'})),
            *[("__metadata__ inputs", lambda bad=bad: self.spoil({"inputs": bad}))
              for bad in no_pairs],
            ("contains pooler, which the model does not have", lambda: self.spoil(logits=None), plain),
            ("contains logits, which the model does not have", lambda: self.spoil(pooler=None), plain),
            ("text.safetensors", lambda: self.write("text.safetensors", "no tensors")),
            ("nowhere", lambda: "nowhere.safetensors"),
            ("'': not a directory", lambda: self.path, ""),
        ]:
            with self.subTest(pattern):
                self.fail_with(1, pattern, "-m", *(model or [self.model]), path())

    def test_starts_beyond_the_ids(self):
        """Found before any id is read, even if the next start is smaller again."""
        starts = self.tensors["starts"].copy()
        starts[2] = 2**40
        path = self.spoil({}, starts=starts)
        self.fail_with(1, "spoiled.safetensors: starts does not increase after element 2$", path)

    def test_errors_of_texts_name_the_field(self):
        for pattern, metadata in [
            ("__metadata__ max_length is 100000, but the model has 64 positions", {"max_length": "100000"}),
            ("__metadata__ inputs, at 0: max_length: found 1, expected at least 3", {"max_length": "1"}),
        ]:
            path = self.spoil(self.metadata | metadata, **NO_IDS)
            self.fail_with(1, f"^bert-regress: {path}: {pattern}", path)
        self.fail_with(1, "spoiled.safetensors: has unattended, but no ids that it could be of$",
                       self.spoil(unattended=np.array([0, 0, 0]), **NO_IDS))

    def test_a_mean_of_the_largest_numbers(self):
        """Their sum is infinite, which nothing exceeds."""
        for precision in "bf16", "int8":
            path = self.spoil(layer0=lambda x: np.full_like(x, -1.7e308))
            self.fail_with(1, r"layer.0 has a mean error of 1.7e\+308, expected at most \d+(\.\d+)?e\+30[67] ",
                           path, "--precision", precision)
        self.fail_with(1, "layer.0 has a mean error", path, "--rtol", "1", "--mean", "0.9")
        self.succeed(path, "--rtol", "1", "--mean", "1")

    def test_a_signal_is_an_error_of_the_report(self):
        """What an earlier run wrote does not stand for one that was ended."""
        demo, path = ROOT / "models" / "demo", self.dir / "demo.safetensors"
        subprocess.run([sys.executable, ROOT / "tools" / "reference" / "reference.py", "-m", demo, "-o", path,
                        "--random", "16", "--lengths", "128", "--stages", "logits"], check=True)
        junit, html = self.write("report.xml", "old"), self.write("report.html", "old")
        command = self.command("-m", demo, path, "--threads", "1", "--junit", junit, "--html", html)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not (self.dir / "report.html.partial").exists():
                time.sleep(0.001)
            process.terminate()
            output, error = process.communicate(timeout=120)
        self.assertEqual((process.returncode, output), (-signal.SIGTERM, ""))
        self.assertEqual(error, "bert-regress: Terminated: not everything was compared\n")
        self.assertIn(' message="Terminated: not everything was compared"/>', junit.read_text())
        self.assertEqual((html.read_text(), list(self.dir.glob("*.partial"))), ("old", []))

    def test_names_that_xml_cannot_write(self):
        for name in "\ufffe", "\uffff", "\x01":
            done = self.fail_with(1, "cannot be read", f"nowhere{name}", "--junit", "-")
            message = ElementTree.fromstring(done.stdout).find("testcase/error").get("message")
            self.assertIn(f"nowhere{ascii(name)[1:-1]}: cannot be read", message)


if __name__ == "__main__":
    main()
