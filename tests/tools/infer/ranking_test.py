#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's tasks that rank: zero-shot labels, documents for a query, search in a corpus.
Usage: ranking_test.py BIN_DIR"""
import gzip
import json
import re

import numpy as np

from inferring import InferTest, main

WORDS = "a man is playing the guitar two dogs run on beach some people eat red car".split()


def sentences(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(count)]


def lines_of(texts: list[str]) -> str:
    return "".join(text + "\n" for text in texts)


class Ranking(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nli = cls.make_model("nli", "--labels", "3", "--label-names",
                                 "contradiction,neutral,Entailment")
        cls.reranker = cls.make_model("reranker", "--labels", "1")
        cls.encoder = cls.make_model("encoder", "--head", "none")
        cls.splade = cls.make_model("splade", "--head", "mlm", "--retrieval", "splade")
        cls.colbert = cls.make_model("colbert", "--head", "none", "--prefix", "--retrieval", "colbert")

    def embeddings(self, texts: list[str]) -> np.ndarray:
        rows = np.array([answer["embedding"] for answer in self.answers(
            "-m", self.encoder, "--task", "embed", stdin=lines_of(texts))])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Refused(Ranking):
    def test_texts_that_are_no_utf8_are_named(self):
        for model in self.reranker, self.encoder:
            self.fail_with(1, "<stdin>:2: the text is not valid UTF-8 at byte 1", "-m", model, "--task", "rank",
                           "--query", "a", stdin=b"a\nb\xff\n")
            self.fail_with(2, "--query is not valid UTF-8 at byte 0", "-m", model, "--task", "rank", "--query",
                           b"\xff".decode(errors="surrogateescape"), stdin="a\n")

    def test_the_head_of_splade_is_taken(self):
        for task in "fill-mask", "logits":
            self.fail_with(1, "modules.json: SpladePooling takes the head of this BertForMaskedLM for --task sparse, "
                              f"which leaves none for --task {task}", "-m", self.splade, "--task", task, "a")


class ZeroShot(Ranking):
    def ask(self, *arguments, **options) -> list[dict]:
        return self.answers("-m", self.nli, "--task", "zero-shot", *arguments, **options)

    def expected(self, text: str, labels: list[str], form: str, multi: bool) -> np.ndarray:
        pairs = "".join(f"{text}\t{form.replace('{}', label)}\n" for label in labels)
        logits = np.array([answer["logits"] for answer in self.answers("-m", self.nli, stdin=pairs)])
        if multi:
            return 1 / (1 + np.exp(logits[:, 0] - logits[:, 2]))
        powers = np.exp(logits[:, 2])
        return powers / powers.sum()

    def test_probabilities_are_those_of_entailment(self):
        labels = ["guitar", "dogs", "red car"]
        texts = sentences(5, 1)
        for multi in False, True:
            for form in "This example is {}.", "{} on the beach":
                found = self.ask("--labels", "guitar, dogs,red car", "--hypothesis", form,
                                 *["--multi-label"] * multi, stdin=lines_of(texts))
                for i, (answer, text) in enumerate(zip(found, texts, strict=True)):
                    expected = self.expected(text, labels, form, multi)
                    order = np.argsort(-expected)
                    self.assertEqual(list(answer), ["index", "label", "probability", "labels", "tokens",
                                                    "truncated"])
                    self.assertEqual(answer["index"], i)
                    self.assertEqual([label["label"] for label in answer["labels"]],
                                     [labels[j] for j in order])
                    np.testing.assert_allclose([label["probability"] for label in answer["labels"]],
                                               expected[order], atol=1e-6)
                    self.assertEqual(answer["label"], labels[order[0]])
        self.assertEqual(self.ask("--labels", "dogs", "-o", "-", texts[0])[0]["probability"],
                         self.ask("--labels", "dogs", "--multi-label", "-o", "-", texts[0])[0]["probability"])

    def test_only_the_text_is_truncated(self):
        long, short = self.ask("--labels", "dogs,guitar", stdin=lines_of(["a man " * 90, "a man"]))
        self.assertEqual((long["truncated"], long["tokens"], short["truncated"]), (True, 128, False))
        self.fail_with(1, "<stdin>:1: a hypothesis of 101 tokens leaves no room for the text", "-m", self.nli,
                       "--task", "zero-shot", "--labels", "a " * 87 + "a", stdin="a man\n")

    def test_for_people_and_in_part(self):
        text = self.text("-m", self.nli, "--task", "zero-shot", "--labels", "dogs,guitar", "a man")
        self.assertRegex(text, r"^\w+ 0\.\d{4}, \w+ 0\.\d{4}\n$")
        [answer] = self.ask("--labels", "dogs,guitar,car", "--top-k", "1", "-o", "-", "a man")
        self.assertEqual(len(answer["labels"]), 1)
        [answer] = self.ask("--labels", "dogs,guitar,car", "--threshold", "1", "-o", "-", "a man")
        self.assertEqual(answer["labels"], [])
        many = self.ask("--labels", "dogs,car", "-o", "-", "a man", "two dogs", "a car")
        self.assertEqual([answer["index"] for answer in many], [0, 1, 2])
        path = self.write("texts.csv", "id,first\n7,a man\n")
        [answer] = self.ask("--labels", "dogs,car", "--keep", "id", "-i", path)
        self.assertEqual(answer["kept"], {"id": "7"})

    def test_what_is_refused(self):
        ask = ("-m", self.nli, "--task", "zero-shot")
        self.fail_with(2, "--task zero-shot needs --labels", *ask, "a")
        self.fail_with(2, "--labels a,,b: a label is empty", *ask, "--labels", "a,,b", "a")
        self.fail_with(2, "--labels a,b, a: 'a' is given twice", *ask, "--labels", "a,b, a", "a")
        self.fail_with(2, r"the hypothesis is 'no', expected \{\} once", *ask, "--labels", "a",
                       "--hypothesis", "no", "a")
        self.fail_with(2, "--labels goes with --task tag or zero-shot", "--task", "embed", "--labels", "a", "a")
        self.fail_with(1, "there are two texts, expected one", *ask, "--labels", "a", stdin="a\tb\n")
        self.fail_with(1, "this task needs text", *ask, "--labels", "a", "--input-format", "jsonl",
                       stdin='{"ids": [5]}\n')
        self.fail_with(1, r'config.json: id2label: found yes, no, maybe in BertForSequenceClassification, '
                       r'expected several labels of which one begins with "entail"', "--task", "zero-shot",
                       "--labels", "a", "a")
        self.fail_with(1, "id2label: found none in BertModel", "-m", self.encoder, "--task", "zero-shot",
                       "--labels", "a", "a")
        done = self.run_tool(*ask, "--labels", "a", "--on-error", "skip", stdin=b"a man\n\xff\ntwo dogs\n")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(["error" in answer for answer in answers], [False, True, False])
        self.assertIn("UTF-8", answers[1]["error"])


class Rank(Ranking):
    def rank(self, model, *arguments, **options) -> list[dict]:
        return self.answers("-m", model, "--task", "rank", "--query", "who plays", *arguments, **options)

    def test_a_cross_encoder_scores_the_pairs(self):
        texts = sentences(300, 2)
        pairs = self.answers("-m", self.reranker, stdin="".join(f"who plays\t{text}\n" for text in texts))
        scores = np.array([pair["probability"] for pair in pairs])
        found = self.rank(self.reranker, "--batch-tokens", "50", stdin=lines_of(texts))
        self.assertEqual([answer["index"] for answer in found],
                         np.argsort(-scores, kind="stable").tolist())
        for answer in found:
            i = answer["index"]
            self.assertEqual(answer, {"index": i, "score": scores[i], "text": texts[i],
                                      "tokens": pairs[i]["tokens"], "truncated": False})
        self.assertEqual(self.rank(self.reranker, "--top-k", "7", stdin=lines_of(texts)), found[:7])

    def test_of_other_models_the_vectors_are_compared(self):
        texts = sentences(50, 3)
        for model in self.encoder, self.splade, self.colbert:
            pairs = "".join(f"who plays\t{text}\n" for text in texts)
            expected = [answer["similarity"] for answer in self.answers(
                "-m", model, "--task", "similarity", stdin=pairs)]
            found = self.rank(model, stdin=lines_of(texts))
            self.assertEqual(sorted(answer["index"] for answer in found), list(range(50)))
            scores = [answer["score"] for answer in found]
            self.assertEqual(scores, sorted(scores, reverse=True))
            for answer in found:
                self.assertAlmostEqual(answer["score"], expected[answer["index"]], delta=1e-5)

    def test_forms(self):
        texts = ["a man", "two dogs", "two dogs"]
        found = self.rank(self.reranker, "-o", "-", *texts)
        self.assertEqual([answer["text"] for answer in found], [texts[answer["index"]] for answer in found])
        equal = [answer["index"] for answer in found if answer["text"] == "two dogs"]
        self.assertEqual(equal, [1, 2], "the first of equals first")
        text = self.text("-m", self.reranker, "--task", "rank", "--query", "who plays", *texts)
        self.assertEqual(text, "".join(f"{answer['score']:8.4f}  {answer['text']}\n" for answer in found))
        path = self.write("passages.jsonl", "".join(json.dumps({"id": i, "first": text}) + "\n"
                                                    for i, text in enumerate(texts)))
        kept = self.rank(self.reranker, "--keep", "id", "-i", path)
        self.assertEqual([answer["kept"]["id"] for answer in kept], [answer["index"] for answer in found])
        self.assertEqual(self.rank(self.reranker, stdin=""), [])

    def test_errors(self):
        ask = ("-m", self.reranker, "--task", "rank")
        self.fail_with(2, "--task rank needs --query", *ask, "a")
        self.fail_with(2, "--query goes with --task rank", "--task", "logits", "--query", "a", "a")
        self.fail_with(2, "--task rank reads all of its input", *ask, "--query", "a", "--shard", "0/2", stdin="a\n")
        self.fail_with(2, "--task rank reads all of its input", *ask, "--query", "a", "--resume", "-o",
                       self.dir / "x.jsonl", stdin="a\n")
        self.fail_with(2, "cannot hold the answers of --task rank", *ask, "--query", "a", "-o",
                       self.dir / "x.npy", stdin="a\n")
        self.fail_with(1, "config.json: id2label: found 3 labels of BertForSequenceClassification, "
                       "expected one to rank by", "-m", self.nli, "--task", "rank", "--query", "a", "a")
        done = self.fail_with(1, "<stdin>:3: there are two texts", *ask, "--query", "a", "--quiet",
                              stdin="a\nb\na\tb\n")
        self.assertEqual(len(done.stdout.splitlines()), 2, "those before it are ranked")
        done = self.run_tool(*ask, "--query", "a", "--on-error", "skip", stdin="a\n\nb\n")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(answers[0]["error"], "the line is empty")
        self.assertEqual(len(answers), 3)


class Search(Ranking):
    def search(self, corpus, *arguments, **options) -> list[dict]:
        return self.answers("-m", self.encoder, "--task", "search", "--corpus", corpus, *arguments,
                            **options)

    def test_every_text_is_compared(self):
        texts, queries = sentences(5000, 4), sentences(150, 5)
        scores = self.embeddings(queries) @ self.embeddings(texts).T
        corpus = self.write("corpus.txt", lines_of(texts))
        found = self.search(corpus, "--top-k", "20", stdin=lines_of(queries))
        for i, (answer, row) in enumerate(zip(found, scores, strict=True)):
            self.assertEqual(list(answer), ["index", "matches", "tokens", "truncated"])
            self.assertEqual(answer["index"], i)
            matches = answer["matches"]
            np.testing.assert_allclose([match["score"] for match in matches],
                                       np.sort(row)[::-1][:20], atol=1e-6)
            for match in matches:
                self.assertAlmostEqual(match["score"], row[match["corpus_index"]], delta=1e-6)
                self.assertEqual(match["text"], texts[match["corpus_index"]])
            order = [(-match["score"], match["corpus_index"]) for match in matches]
            self.assertEqual(order, sorted(order))
        for options in (["--threads", "1"], ["--batch-tokens", "64", "--workers", "2"]):
            self.assertEqual(self.search(corpus, "--top-k", "20", *options, stdin=lines_of(queries)), found)

    def test_forms(self):
        texts = ["a man", "two dogs", "the red car"]
        expected = self.search(self.write("corpus.txt", lines_of(texts)), "-o", "-", "some dogs")
        self.assertEqual(len(expected[0]["matches"]), 3)
        self.write("corpus.csv", "first\n" + lines_of(texts))
        self.write("corpus.jsonl.gz", gzip.compress(
            "".join(json.dumps({"first": text}) + "\n" for text in texts).encode()))
        self.write("more.csv", "id,first\n" + "".join(f"7,{text}\n" for text in texts))
        self.write("more.jsonl", "".join(json.dumps({"id": [{"first": 1}], "first": text}) + "\n" for text in texts))
        for name in "corpus.csv", "corpus.jsonl.gz", "more.csv", "more.jsonl":
            self.assertEqual(self.search(self.dir / name, "-o", "-", "some dogs"), expected)
        self.assertEqual(self.search("-", "-o", "-", "some dogs", stdin=lines_of(texts)), expected)
        done = self.run_tool("-m", self.encoder, "--task", "search", "--corpus", self.dir / "corpus.txt",
                             "--output-format", "text", "some dogs")
        self.assertEqual(done.stdout, "".join(f"{match['score']:8.4f}  {match['text']}\n"
                                              for match in expected[0]["matches"]))
        self.assertRegex(done.stderr, r"corpus \S+corpus.txt: 3 texts in \d+\.\d s, \d+\.\d MB of vectors")
        both = self.text("-m", self.encoder, "--task", "search", "--corpus", self.dir / "corpus.txt",
                         "--top-k", "1", "some dogs", "a man")
        self.assertRegex(both, r"^some dogs\n  .*\na man\n  1\.0000  a man\n$")
        self.assertEqual(len(self.search(self.dir / "corpus.txt", "--shard", "1/2",
                                         stdin=lines_of(sentences(5, 6)))), 2)

    def test_vectors(self):
        texts, queries = sentences(5000, 7), sentences(20, 8)
        vectors = self.dir / "vectors.npy"
        self.run_tool("-m", self.encoder, "--task", "embed", "-o", vectors, stdin=lines_of(texts))
        expected = self.search(self.write("corpus.txt", lines_of(texts)), stdin=lines_of(queries))
        for answer in expected:
            for match in answer["matches"]:
                del match["text"]
        self.assertEqual(self.search(vectors, stdin=lines_of(queries)), expected)
        np.save(self.dir / "longer.npy", 3 * np.load(vectors))  # which the cosine does not see
        longer = self.search(self.dir / "longer.npy", stdin=lines_of(queries))
        for answer, same in zip(longer, expected):
            np.testing.assert_allclose([match["score"] for match in answer["matches"]],
                                       [match["score"] for match in same["matches"]], atol=1e-6)
        [best, _] = self.text("-m", self.encoder, "--task", "search", "--corpus", vectors, "--top-k", "2",
                              texts[4100]).splitlines()
        self.assertIn(f"  {texts.index(texts[4100])}", best)

    def test_vectors_that_are_none(self):
        right = np.ones((5, 16), np.float32)
        wrong = right.copy()
        wrong[3, 7] = np.nan
        for array, reason in ((right.astype(np.float64), "descr: found '<f8', expected '<f4'"),
                              (np.asfortranarray(right), "fortran_order: found True, expected False"),
                              (right[0], r"shape: found \(16,\), expected \(rows, columns\)"),
                              (right[:, 1:], "the vectors have 15 numbers, expected 16, as the model's embeddings"),
                              (wrong, "vector 3 has a number that is not finite"),
                              (right[:0], "there are no vectors")):
            np.save(self.dir / "wrong.npy", array)
            self.fail_with(1, "wrong.npy: " + reason, "-m", self.encoder, "--task", "search", "--corpus",
                           self.dir / "wrong.npy", "a")
        np.save(self.dir / "right.npy", right)
        content = (self.dir / "right.npy").read_bytes()
        for some, reason in ((content[:-1], "there are 319 bytes of numbers, expected 320"),
                             (content[:50], "the file ends within its header"),
                             (b"PK\x03\x04" + content[4:], "the file does not begin as NumPy's do"),
                             (content[:8] + b"\xe8\x03" + b"(" * 1000, "descr: found nothing, expected '<f4'"),
                             (content[:8] + b"\x01\x04" + b"(" * 2000, "the header has 1025 bytes, expected at")):
            self.fail_with(1, "cut.npy: " + reason, "-m", self.encoder, "--task", "search", "--corpus",
                           self.write("cut.npy", some), "a")

    def test_errors(self):
        ask = ("-m", self.encoder, "--task", "search")
        self.fail_with(2, "--task search needs --corpus", *ask, "a")
        self.fail_with(2, "--corpus x: the name ends in none of .tsv, .csv, .txt, .jsonl and .npy \\(--help", *ask,
                       "--corpus", "x", "a")
        for corpus, queries in [("-", "-"), ("-", "/dev/stdin"), ("/dev/fd/0", "-"), ("/dev/stdin", "/proc/self/fd/0")]:
            if corpus != "-":
                (self.dir / "in.txt").unlink(missing_ok=True)
                (self.dir / "in.txt").symlink_to(corpus)
                corpus = self.dir / "in.txt"
            self.fail_with(2, f"--corpus {corpus} needs queries from elsewhere", *ask, "--corpus", corpus, "-i",
                           queries, "--input-format", "txt", stdin="a\n")
        self.fail_with(1, "nowhere.txt: ", *ask, "--corpus", "nowhere.txt", "a")
        for content, reason in ((b"a\tb\n", "corpus.tsv:1: there are two texts, expected one"),
                                (b"a\n\nb\n", "corpus.tsv:2: the line is empty"),
                                (b"a\n\xff\n", "corpus.tsv:2: .*UTF-8"), (b"", "corpus.tsv: there are no texts")):
            self.fail_with(1, reason, *ask, "--corpus", self.write("corpus.tsv", content), "a")
        done = self.fail_with(1, re.escape("<stdin>:2: there are two texts"), *ask, "--quiet", "--corpus",
                              self.write("corpus.txt", "a\n"), stdin="a\na\tb\n")
        self.assertEqual(len(done.stdout.splitlines()), 1)


if __name__ == "__main__":
    del Ranking  # has no tests of its own
    main()
