#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--task zero-shot against transformers' pipeline, --task rank against CrossEncoder.rank and
--task search against util.semantic_search, on random models. Prints the largest differences.

    tests/transformers/ranking_test.py build/release/bin
"""
import json
from pathlib import Path

import judge
from judge import JudgeTest, np, transformers

import random_models
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder, util
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.sparse_encoder.modules import SpladePooling
from sentence_test import TEXTS, UGLY

DOCUMENTS = TEXTS[:90] + UGLY
QUERIES = TEXTS[90:97] + ["", "x" * 300, "word " * 400]
LABELS = ["engines", "dogs and cats", "errors: \u00e9", "100 %"]


class Ranking(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokenizers = {}

    def saved(self, family: str, head: str, **settings) -> Path:
        if family not in self.tokenizers:
            vocabulary = random_models.fresh(self.dir / f"vocabulary-{family}")
            self.tokenizers[family] = random_models.make_tokenizer(family, vocabulary)
        tokenizer = self.tokenizers[family]
        directory = random_models.fresh(self.dir / f"{family}-{head}")
        random_models.make_model(family, head, tokenizer, 5, 3, **settings).save_pretrained(str(directory))
        tokenizer.save_pretrained(str(directory))
        return directory

    def compare(self, what: str, found, expected, tolerance: float = 1e-5):
        """found, expected: lists of (what it is, score), best first. Those that score alike may have
        changed places."""
        self.assertEqual(len(found), len(expected), what)
        scores = np.array([score for _, score in found]), np.array([score for _, score in expected])
        scale = max(1.0, float(np.abs(scores[1]).max(initial=0)))
        self.largest = max(self.largest, float(np.abs(scores[0] - scores[1]).max(initial=0)) / scale)
        self.assertLessEqual(self.largest, tolerance, what)
        of = dict(found)
        for name, score in expected[:-1]:  # the last may be one that ties with it
            self.assertAlmostEqual(of.get(name, np.inf), score, delta=tolerance * scale, msg=what)

    def setUp(self):
        self.largest = 0.0

    def tearDown(self):
        print(f"{self.id().split('.')[-1]:<40} {self.largest:.1e}")

    def test_zero_shot(self):
        for family, names in (("bert", ["contradiction", "neutral", "entailment"]),
                              ("distilbert", ["ENTAILMENT", "not_entailment"]),
                              ("xlm-roberta", ["entailment", "neutral", "contradiction"]),
                              ("bart", ["contradiction", "neutral", "entailment"])):
            directory = self.saved(family, "ForSequenceClassification", id2label=dict(enumerate(names)),
                                   label2id={name: i for i, name in enumerate(names)})
            pipeline = transformers.pipeline("zero-shot-classification", str(directory), device="cpu")
            pipeline.model.double()
            texts = [text for text in TEXTS[:12] + UGLY if text.strip()]  # the pipeline wants some
            for multi_label, form in ((False, None), (True, None), (False, "It is about {}, is it not?")):
                options = {"multi_label": multi_label} | ({"hypothesis_template": form} if form else {})
                expected = pipeline(texts, LABELS, **options)
                arguments = ["--multi-label"] * multi_label + (["--hypothesis", form] if form else [])
                found = self.infer(directory, "--task", "zero-shot", "--labels", ",".join(LABELS),
                                   *arguments, inputs=texts)
                for answer, wanted in zip(found, expected, strict=True):
                    self.assertEqual(answer["label"], answer["labels"][0]["label"])
                    self.compare(f"{family} {options} {wanted['sequence']}",
                                 [(label["label"], label["probability"]) for label in answer["labels"]],
                                 list(zip(wanted["labels"], wanted["scores"])))
            [one] = self.infer(directory, "--task", "zero-shot", "--labels", LABELS[1], inputs=texts[:1])
            wanted = pipeline(texts[0], LABELS[1])
            self.compare(family, [(LABELS[1], one["probability"])], [(LABELS[1], wanted["scores"][0])])

    def rank(self, directory: Path, query: str, *arguments) -> list[tuple]:
        answers = self.infer(directory, "--task", "rank", "--query", query, *arguments,
                             inputs=DOCUMENTS)
        for answer in answers:
            self.assertEqual(answer["text"], DOCUMENTS[answer["index"]])
        return [(answer["index"], answer["score"]) for answer in answers]

    def test_rank_by_a_cross_encoder(self):
        for family in "bert", "xlm-roberta":
            directory = random_models.fresh(self.dir / "cross-encoder")
            source = self.saved(family, "ForSequenceClassification", num_labels=1)
            CrossEncoder(str(source), device="cpu").save_pretrained(str(directory))
            model = CrossEncoder(str(directory), device="cpu")
            for query in QUERIES[5:9]:
                for options in ([], ["--top-k", "7"]):
                    expected = model.rank(query, DOCUMENTS, top_k=7 if options else None)
                    self.compare(query, self.rank(directory, query, *options),
                                 [(one["corpus_id"], one["score"]) for one in expected])

    def encoder(self, **options) -> tuple[Path, SentenceTransformer]:
        directory = random_models.fresh(self.dir / "sentences")
        encoder = Transformer(str(self.saved("bert", "Model")))
        SentenceTransformer(modules=[encoder, Pooling(39, "mean")], device="cpu",
                            **options).save(str(directory))
        return directory, SentenceTransformer(str(directory), device="cpu")

    def search(self, directory: Path, model, *arguments, top_k: int = 10):
        """Also ranks by the same model, which is a search for one query."""
        queries = model.encode_query(QUERIES, convert_to_tensor=True).double()
        documents = model.encode_document(DOCUMENTS, convert_to_tensor=True).double()
        expected = util.semantic_search(queries, documents, top_k=top_k,
                                        score_function=model.similarity)
        corpus = self.dir / "corpus.jsonl"
        corpus.write_text("".join(json.dumps({"first": text}) + "\n" for text in DOCUMENTS))
        found = self.infer(directory, "--task", "search", "--corpus", corpus, *arguments,
                           inputs=QUERIES)
        for answer, wanted in zip(found, expected, strict=True):
            wanted = [(one["corpus_id"], one["score"]) for one in wanted]
            self.compare("search", [(one["corpus_index"], one["score"]) for one in answer["matches"]],
                         wanted)
            for one in answer["matches"]:
                self.assertEqual(one["text"], DOCUMENTS[one["corpus_index"]])
        self.compare("rank", self.rank(directory, QUERIES[1], "--top-k", top_k),
                     [(one["corpus_id"], one["score"]) for one in expected[1]])

    def test_search(self):
        directory, model = self.encoder()
        self.search(directory, model)
        self.search(directory, model, "--top-k", 1000, top_k=1000)

    def test_search_with_prompts(self):
        """Those of encode_query() and encode_document(), which take no default prompt."""
        for prompts, default in (({"query": "the model: ", "document": "a file: "}, None),
                                 ({"query": "the model: ", "passage": "a file: "}, "query"),
                                 ({"other": "it is "}, "other")):
            with self.subTest(prompts):
                self.search(*self.encoder(prompts=prompts, default_prompt_name=default))

    def test_search_by_other_similarities(self):
        for name in "dot", "euclidean", "manhattan":
            with self.subTest(name):
                directory, model = self.encoder(similarity_fn_name=name)
                self.search(directory, model)
                [answer] = self.infer(directory, "--task", "similarity", inputs=[TEXTS[:2]])
                a, b = model.encode(TEXTS[:2])
                self.assertAlmostEqual(answer["similarity"], float(model.similarity(a, b)), delta=1e-4)

    def test_search_by_sparse_vectors(self):
        encoder = Transformer(str(self.saved("bert", "ForMaskedLM")), transformer_task="fill-mask")
        directory = random_models.fresh(self.dir / "splade")
        SparseEncoder(modules=[encoder, SpladePooling()], device="cpu",
                      prompts={"query": "the model: "}).save_pretrained(str(directory))
        model = SparseEncoder(str(directory), device="cpu")
        scores = model.similarity(model.encode_query(QUERIES), model.encode_document(DOCUMENTS))
        for i, query in enumerate(QUERIES):
            row = scores[i].to_dense().numpy() if scores.is_sparse else scores[i].numpy()
            order = np.argsort(-row, kind="stable")
            self.compare(query, self.rank(directory, query), [(int(j), float(row[j])) for j in order])


if __name__ == "__main__":
    judge.main()
