#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that people have get bert-infer's answers from bert-serve. tests/tools/serve/setup installs them in
build/clients; what is missing is skipped but, with BERT_INFER_REQUIRE_CLIENTS, those from npm where there is none.

Usage: clients_test.py BIN_DIR"""
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from serving import ROOT, ServeTest, floats, main

CLIENTS = Path(os.environ.get("BERT_INFER_CLIENTS", ROOT / "build" / "clients"))
PYTHON = CLIENTS / "bin" / "python3"
REQUIRED = bool(os.environ.get("BERT_INFER_REQUIRE_CLIENTS"))
TEXTS = ["a man is playing the guitar.", "two dogs", "the é café, and more 日本"]
DOCUMENTS = ["a man", "two dogs eat", "dogs"]


class Clients(ServeTest):
    options = ("--api-key", "sesame")

    @classmethod
    def models(cls):
        three = ("--labels", "3", "--label-names", "yes,entailment,maybe")
        tags = ("--labels", "3", "--label-names", "O,B-WHO,I-WHO")
        cls.names = {
            "encoder": cls.make_model("encoder", "--head", "none"),
            "classes": cls.make_model("classes", *three),
            "ranks": cls.make_model("ranks", "--labels", "1"),
            "tags": cls.make_model("tags", "--head", "tokens", *tags),
            "qa": cls.make_model("qa", "--head", "qa"),
            "mlm": cls.make_model("mlm", "--head", "mlm"),
        }
        return [f"{name}={path}" for name, path in cls.names.items()]

    def ask(self, *command) -> dict:
        url = f"http://{self.server.address}"
        done = subprocess.run([*map(str, command[:2]), url, *map(str, command[2:])],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check(self, answers: dict, names: list[str]):
        """Each answer against bert-infer's. Both sides are the same float32, in double or not."""
        self.assertEqual(sorted(answers), sorted(names))
        for name in names:
            with self.subTest(name):
                getattr(self, "check_" + name)(answers[name])

    def same(self, found, expected):
        self.assertEqual(floats(found).tolist(), floats(expected).tolist(), found)

    def check_models(self, found):
        self.assertEqual(found, list(self.names))

    def embedded(self, *options):
        rows = self.infer(self.names["encoder"], "--task", "embed", *options, inputs=TEXTS)
        return [row["embedding"] for row in rows]

    def check_embeddings(self, found):
        self.same(found, self.embedded("--normalize"))

    def check_raw_features(self, found):
        self.same(found, self.embedded())

    check_features = check_langchain = check_embeddings

    def check_missing(self, found):
        self.assertEqual(found, "404 model_not_found")

    def check_labels(self, found):
        [row] = self.infer(self.names["classes"], "--top-k", "3", inputs=TEXTS[:1])
        self.assertEqual([(x["label"], x["score"]) for x in found],
                         [(x["label"], x["probability"]) for x in row["labels"]])

    def check_entities(self, found):
        [row] = self.infer(self.names["tags"], "--aggregation", "simple", inputs=TEXTS[:1])
        self.assertTrue(row["entities"])
        self.assertEqual(
            [(x["entity_group"], x["score"], x["word"], x["start"], x["end"]) for x in found],
            [(x["label"], x["probability"], x["string"], x["begin"], x["end"])
             for x in row["entities"]])

    def check_answer(self, found):
        [row] = self.infer(self.names["qa"], inputs=[["who plays", "a man plays music"]])
        found = found[0] if isinstance(found, list) else found
        self.assertEqual((found["answer"], found["score"], found["start"], found["end"]),
                         (row["answer"], row["score"], row["begin"], row["end"]))

    def check_mask(self, found):
        [row] = self.infer(self.names["mlm"], "--top-k", "5", inputs=["a [MASK] is playing."])
        self.assertEqual([(x["score"], x["token"]) for x in found],
                         [(x["probability"], x["id"]) for x in row["masks"][0]["fills"]])

    def check_similarities(self, found):
        rows = self.infer(self.names["encoder"], "--task", "similarity",
                          inputs=[[TEXTS[0], text] for text in TEXTS[1:]])
        self.same(found, [row["similarity"] for row in rows])

    def check_zero_shot(self, found):
        # The arithmetic is routes_test.py's matter; here, that the client can read the answer.
        self.assertEqual({x["label"] for x in found}, {"music", "dogs"})
        self.assertAlmostEqual(sum(x["score"] for x in found), 1, places=5)

    def check_cohere(self, found):
        rows = self.infer(self.names["ranks"], inputs=[["who eats", text] for text in DOCUMENTS])
        scores = [row["probability"] for row in rows]
        best = sorted(range(len(DOCUMENTS)), key=lambda i: -scores[i])[:2]
        score = "relevanceScore" if "relevanceScore" in found[0] else "relevance_score"
        self.assertEqual([(x["index"], x[score]) for x in found], [(i, scores[i]) for i in best])

    check_cohere_v1 = check_cohere

    def test_npm(self):
        if not (CLIENTS / "node_modules" / "cohere-ai").is_dir() or not shutil.which("node"):
            self.assertFalse(REQUIRED and shutil.which("npm"), "tests/tools/serve/setup installs the clients")
            self.skipTest("no clients from npm")
        self.check(self.ask("node", Path(__file__).with_name("clients.mjs"), CLIENTS), [
            "models", "embeddings", "missing", "features", "raw_features", "labels", "entities", "answer",
            "mask", "similarities", "zero_shot", "cohere", "cohere_v1"])

    def test_python(self):
        if not PYTHON.exists():
            self.assertFalse(REQUIRED, "tests/tools/serve/setup installs the clients")
            self.skipTest("no clients from PyPI")
        self.check(self.ask(PYTHON, Path(__file__).with_name("clients.py")), [
            "models", "embeddings", "missing", "features", "raw_features", "labels", "entities", "answer",
            "mask", "similarities", "zero_shot", "langchain"])


if __name__ == "__main__":
    if not CLIENTS.is_dir() and not REQUIRED:
        print(f"skipped: {CLIENTS} has no clients")
        sys.exit(77)
    unittest.TestCase.maxDiff = None
    main()
