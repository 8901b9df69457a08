#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's tasks for search on the command line. Usage: search_test.py BIN_DIR"""
import json

import numpy as np

from inferring import InferTest, floats, main
from tensor_file import TensorFile

TEXTS = ["a man, playing the guitar", "two dogs", "a " * 50]
LINES = "".join(text + "\n" for text in TEXTS)


class Search(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.splade = cls.make_model("splade", "--head", "mlm", "--retrieval", "splade")
        cls.colbert = cls.make_model("colbert", "--head", "none", "--prefix", "--retrieval",
                                     "colbert")

    def test_sparse_vectors_are_the_usual_answer_of_splade(self):
        answers = self.answers("-m", self.splade, stdin=LINES)
        self.assertEqual(list(answers[0]), ["index", "sparse", "tokens", "truncated"])
        for answer in answers:
            weights = [entry["weight"] for entry in answer["sparse"]]
            self.assertTrue(weights == sorted(weights, reverse=True) and min(weights) > 0)
            self.assertEqual(list(answer["sparse"][0]), ["token", "id", "weight"])
        few = self.answers("-m", self.splade, "--task", "sparse", "--top-k", "2", stdin=LINES)
        self.assertEqual([x["sparse"] for x in few], [x["sparse"][:2] for x in answers])
        best = few[0]["sparse"][0]
        text = self.text("-m", self.splade, TEXTS[0])
        self.assertTrue(text.startswith(f"{best['token']} {best['weight']:.4f}, "), text)

    def test_their_similarity_is_the_dot_product(self):
        pair = TEXTS[:2]
        rows = [{entry["id"]: entry["weight"] for entry in answer["sparse"]}
                for answer in self.answers("-m", self.splade, stdin="".join(x + "\n" for x in pair))]
        [answer] = self.answers("-m", self.splade, "--task", "similarity", "-o", "-", *pair)
        self.assertAlmostEqual(answer["similarity"], sum(weight * rows[1].get(id, 0) for id, weight
                                                         in rows[0].items()), delta=1e-4)

    def test_queries_are_filled_up_and_documents_are_not(self):
        documents = self.answers("-m", self.colbert, stdin=LINES)
        queries = self.answers("-m", self.colbert, "--task", "multi-vector", "--role", "query",
                               stdin=LINES)
        self.assertEqual(list(documents[0]), ["index", "vectors", "tokens", "truncated"])
        self.assertEqual([len(query["vectors"]) for query in queries], [32] * 3)
        self.assertEqual([query["truncated"] for query in queries], [False, False, True])
        for document, text in zip(documents, TEXTS):
            # The comma has no vector.
            self.assertEqual(len(document["vectors"]), document["tokens"] - text.count(","))
        text = self.text("-m", self.colbert, TEXTS[1])
        self.assertRegex(text, r"^\d+ vectors of 20 numbers  \(\d+ tokens\)$")

    def test_a_corpus_may_have_what_is_kept_of_the_queries(self):
        encoder = self.make_model("encoder", "--head", "none")
        lines = self.write("both.jsonl", "".join(json.dumps({"first": text, "id": i}) + "\n"
                                                 for i, text in enumerate(TEXTS)))
        search = ["-m", encoder, "--task", "search", "-i", lines, "--keep", "id", "--top-k", "1"]
        for corpus in lines, self.write("corpus.csv", "first\n" + LINES.replace(",", "")):
            answers = self.answers(*search, "--corpus", corpus)
            self.assertEqual([answer["kept"] for answer in answers], [{"id": i} for i in range(3)])
            self.assertEqual([answer["matches"][0]["corpus_index"] for answer in answers], [0, 1, 2])

    def test_files_hold_the_same_vectors(self):
        file = self.dir / "vectors.safetensors"
        self.succeed("-m", self.colbert, "-o", file, stdin=LINES)
        found = TensorFile(file)
        starts, vectors = found.read("starts"), found.read("vectors")
        for i, answer in enumerate(self.answers("-m", self.colbert, stdin=LINES)):
            np.testing.assert_array_equal(vectors[starts[i]:starts[i + 1]],
                                          floats(answer["vectors"]))
        self.fail_with(2, "cannot hold the answers of --task multi-vector", "-m", self.colbert,
                       "-o", self.dir / "vectors.npy", stdin=LINES)
        self.fail_with(2, "cannot hold the answers of --task sparse", "-m", self.splade, "-o",
                       self.dir / "sparse.safetensors", stdin=LINES)

    def test_max_sim(self):
        rows = [np.array(self.answers("-m", self.colbert, "--task", "multi-vector", "--role", role,
                                      "-o", "-", text)[0]["vectors"])
                for role, text in (("query", TEXTS[1]), ("document", TEXTS[0]))]
        [answer] = self.answers("-m", self.colbert, "--task", "similarity", "-o", "-", TEXTS[1],
                                TEXTS[0])
        self.assertAlmostEqual(answer["similarity"], (rows[0] @ rows[1].T).max(1).sum(), delta=1e-4)

    def test_ids_are_used_as_they_are(self):
        [answer] = self.answers("-m", self.colbert, "--input-format", "jsonl",
                                stdin='{"ids": [2, 9, 10, 3]}')
        self.assertEqual(len(answer["vectors"]), 4)

    def test_models_without_such_vectors_are_refused(self):
        self.fail_with(1, "gives no sparse vectors", "--task", "sparse", "a man")
        self.fail_with(1, "gives no vectors of tokens", "--task", "multi-vector", "a man")
        for model, what in (self.splade, "sparse ones"), (self.colbert, "a vector for each token"):
            self.fail_with(1, f"no vector of a whole input, but {what}", "-m", model, "--task",
                           "embed", "a man")

    def test_info(self):
        info = json.loads(self.succeed("info", "--json", "-m", self.colbert))
        self.assertEqual((info["head"], info["embedding"], info["token_vector"]),
                         ("vectors of tokens", 0, 20))
        self.assertIn("20 numbers for each token", self.succeed("info", "-m", self.colbert))
        info = json.loads(self.succeed("info", "--json", "-m", self.splade))
        self.assertEqual((info["sparse"], info["similarity"]), (True, "dot"))

    def test_int8_and_converted_directories(self):
        for model in (self.splade, self.colbert):
            target = self.dir / "converted"
            self.tool = "bert-convert"
            self.succeed("-m", model, "--precision", "int8", "-o", target)
            self.tool = "bert-infer"
            self.assertEqual(self.succeed("-m", target, stdin=LINES),
                             self.succeed("-m", model, "--precision", "int8", stdin=LINES))
            for path in sorted(target.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            target.rmdir()


if __name__ == "__main__":
    main()
