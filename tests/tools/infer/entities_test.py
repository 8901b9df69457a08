#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer with a GLiNER: options and output. Usage: entities_test.py BIN_DIR

tests/models/tasks/entities_test.cc tests what it computes.
"""
import json
import subprocess

from inferring import InferTest, main, write_span_model

TEXTS = ["A man is playing a guitar.", "two dogs, é and a girl"]


class Entities(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gliner = write_span_model(cls.dir, "gliner") or cls.dir / "gliner"

    def ask(self, *arguments, **options) -> list[dict]:
        return self.answers("-m", self.gliner, "--labels", "man, a dog", *arguments, **options)

    def test_answers(self):
        for answer, text in zip(self.ask(stdin="".join(text + "\n" for text in TEXTS)), TEXTS, strict=True):
            self.assertEqual(list(answer), ["index", "entities", "words", "windows", "tokens", "truncated"])
            self.assertEqual(answer["windows"], 1)
            self.assertTrue(answer["entities"])
            for entity in answer["entities"]:
                self.assertEqual(list(entity), ["text", "begin", "end", "string", "label", "probability"])
                self.assertEqual(text[entity["begin"]:entity["end"]], entity["string"])
                self.assertIn(entity["label"], ["man", "a dog"])
                self.assertGreater(entity["probability"], 0.5)

    def test_options(self):
        def count(*options: str) -> int:
            return sum(len(self.ask("-o", "-", *options, text)[0]["entities"]) for text in TEXTS)

        self.assertLess(count("--threshold", "0.9"), count())
        self.assertLess(count(), count("--threshold", "0.1", "--nested"))
        self.assertLess(count("--threshold", "0.1", "--nested"), count("--threshold", "0.1", "--nested", "--multi-label"))
        self.assertEqual(count("--threshold", "1"), 0)
        self.assertEqual(count("--task", "tag"), count())
        long = "the man plays the piano " * 10
        few, many = (self.ask("-o", "-", "--stride", stride, long)[0] for stride in ("0", "20"))
        self.assertLess(1, few["windows"])
        self.assertLess(few["windows"], many["windows"])

    def test_for_people(self):
        text = self.text("-m", self.gliner, "--labels", "man", TEXTS[0])
        self.assertRegex(text, r"^(.+: man 0\.\d{4}\n)+$")
        self.assertEqual(self.text("-m", self.gliner, "--labels", "man", "--threshold", "1", "a"), "no entities\n")

    def test_info(self):
        text = self.run_tool("info", "-m", self.gliner).stdout
        self.assertRegex(text, r"architecture +GLiNER \(deberta-v2\)\n(.*\n)*head +entities of given labels\n")
        self.assertIn("gliner_config.json", text)

    def test_converted(self):
        for precision in ("int8", "bf16"):
            target = self.dir / precision
            subprocess.run([self.bin / "bert-convert", "-m", self.gliner, "--precision", precision, "-o", target],
                           check=True, stderr=subprocess.DEVNULL)
            ask = ("--labels", "man,dog", "--precision", precision, "--threshold", "0.2", "-o", "-", TEXTS[0])
            self.assertEqual(self.answers("-m", target, *ask), self.answers("-m", self.gliner, *ask))

    def test_what_is_refused(self):
        ask, tags = ("-m", self.gliner, "--labels", "a"), self.make_model("tags", "--head", "tokens")
        self.fail_with(1, "--labels is empty, expected some to look for: a GLiNER has none of its own", "-m", self.gliner, "a")
        self.fail_with(1, "--labels: BertForTokenClassification has its own labels, expected none", "-m", tags, "--labels",
                       "b", "a")
        for model, *options in ((tags, "--labels", "b"), (self.gliner,), (tags, "--max-length", "2")):
            # No mistake of a line's, which would be skipped.
            done = self.fail_with(1, f"^bert-infer: {options[0] if options else '--labels'}[: ]", "-m", model, *options,
                                  "--on-error", "skip", stdin="a\n")
            self.assertEqual(done.stdout, "")
        self.fail_with(2, "--task tag: --threshold goes with --labels", "-m", tags, "--threshold", "0.1", "a")
        self.fail_with(2, "--task tag: --aggregation goes without --labels", *ask, "--aggregation", "max", "a")
        self.fail_with(1, "there are two texts, but a GLiNER reads one", *ask, stdin="a\tb\n")
        self.fail_with(1, "expected room for [0-9]+ of the labels", *ask[:2], "--labels", "a b " * 30, "a")
        done = self.run_tool(*ask, "--on-error", "skip", stdin=b"a man\n\xff\ntwo dogs\n")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(["error" in answer for answer in answers], [False, True, False])
        self.assertIn("UTF-8", answers[1]["error"])


if __name__ == "__main__":
    main()
