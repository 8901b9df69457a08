#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's answers against those of transformers' pipelines, for random models.

    tests/transformers/pipelines_test.py [--transformers4] build/release/bin
"""
import itertools
import random
import unittest

import judge
from judge import IS_OLDER, JudgeTest, np, torch, transformers

import random_models

TEXTS = ["The engine loads the model, and nothing is guessed.", "two dogs (and a cat)", "a",
         "Each error names the file: it says what was found.", "Weights are packed once."]
NER_LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]


def long_text(words: int, seed: int) -> str:
    vocabulary = " ".join(TEXTS).split()
    return " ".join(random.Random(seed).choices(vocabulary, k=words))


class Pipelines(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokenizers = {}

    def saved(self, family: str, head: str, labels: list[str] | None = None, **settings):
        """A model and its directory."""
        if family not in self.tokenizers:
            directory = random_models.fresh(self.dir / f"{family}-vocabulary")
            self.tokenizers[family] = random_models.make_tokenizer(family, directory)
        tokenizer = self.tokenizers[family]
        if labels:
            settings |= {"id2label": dict(enumerate(labels)),
                         "label2id": {label: i for i, label in enumerate(labels)}}
        directory = random_models.fresh(self.dir / f"{family}{head}")
        model = random_models.make_model(family, head, tokenizer, len(settings), 5, **settings)
        model.save_pretrained(str(directory))
        tokenizer.save_pretrained(str(directory))
        return model, directory

    def pipeline(self, task: str, family: str, head: str, *arguments, **settings):
        model, directory = self.saved(family, head, *arguments, **settings)
        pipeline = transformers.pipeline(task, model=model, tokenizer=self.tokenizers[family])
        return pipeline, directory

    def test_text_classification(self):
        cases = [("bert", {"labels": ["no", "yes", "maybe"]}), ("mpnet", {"num_labels": 1}),
                 ("xlm-roberta", {"problem_type": "multi_label_classification", "num_labels": 4}),
                 ("distilbert", {"num_labels": 3})]
        if IS_OLDER:  # in transformers 5 the pipeline gives ALBERT no type ids
            cases.append(("albert", {}))
        pairs = list(itertools.pairwise(TEXTS))
        for family, settings in cases:
            with self.subTest(family):
                pipeline, directory = self.pipeline("text-classification", family,
                                                    "ForSequenceClassification", **settings)
                expected = pipeline([{"text": a, "text_pair": b} for a, b in pairs])
                for found, wanted in zip(self.infer(directory, inputs=[*map(list, pairs)]),
                                         expected, strict=True):
                    self.assertEqual(found["label"], wanted["label"])
                    self.assert_close(found["probability"], wanted["score"])

    def test_token_classification(self):
        texts = TEXTS + [long_text(14, 1), "Marie-Curie's  playing-cards e.g. in Warsaw"]
        for family in ("bert", "electra"):
            pipeline, directory = self.pipeline("token-classification", family,
                                                "ForTokenClassification", NER_LABELS)
            for aggregation in "none", "simple", "first", "average", "max":
                with self.subTest(f"{family} {aggregation}"):
                    found = self.infer(directory, "--aggregation", aggregation, inputs=texts)
                    expected = pipeline(texts, aggregation_strategy=aggregation)
                    self.compare_entities(found, expected)

    def test_token_classification_of_a_text_of_any_length(self):
        pipeline, directory = self.pipeline("token-classification", "bert",
                                            "ForTokenClassification", NER_LABELS)
        text = long_text(400, 2)
        for aggregation, stride in itertools.product(("simple", "first", "average"), (0, 7, 20)):
            with self.subTest(f"{aggregation} {stride}"):
                found = self.infer(directory, "--aggregation", aggregation, "--stride", stride,
                                   inputs=[text])
                pipeline = transformers.pipeline(
                    "token-classification", model=pipeline.model, tokenizer=pipeline.tokenizer,
                    aggregation_strategy=aggregation, stride=stride)
                self.compare_entities(found, [pipeline(text)])
                self.assertGreater(found[0]["windows"], 10)

    def compare_entities(self, found: list[dict], expected: list[list[dict]]):
        entities = 0
        for answer, wanted in zip(found, expected, strict=True):
            self.assertEqual([(e["begin"], e["end"], e["label"]) for e in answer["entities"]],
                             [(e["start"], e["end"], e.get("entity_group") or e["entity"])
                              for e in wanted])
            self.assert_close([e["probability"] for e in answer["entities"]],
                              [e["score"] for e in wanted])
            entities += len(wanted)
        self.assertGreater(entities, 5)

    def test_fill_mask(self):
        for family in ("bert", "albert", "xlm-roberta", "distilbert"):
            with self.subTest(family):
                pipeline, directory = self.pipeline("fill-mask", family, "ForMaskedLM")
                mask = pipeline.tokenizer.mask_token
                texts = [f"the {mask} loads", f"{mask} {mask} is guessed.", f"a file {mask}"]
                found = self.infer(directory, "--top-k", "7", inputs=texts)
                for answer, wanted in zip(found, pipeline(texts, top_k=7), strict=True):
                    masks = wanted if isinstance(wanted[0], list) else [wanted]
                    self.assertEqual([[fill["id"] for fill in mask["fills"]]
                                      for mask in answer["masks"]],
                                     [[fill["token"] for fill in fills] for fills in masks])
                    self.assert_close([[fill["probability"] for fill in mask["fills"]]
                                       for mask in answer["masks"]],
                                      [[fill["score"] for fill in fills] for fills in masks])

    def test_feature_extraction(self):
        pipeline, directory = self.pipeline("feature-extraction", "bert", "Model")
        found = self.infer(directory, "--task", "hidden", inputs=TEXTS)
        for answer, states in zip(found, pipeline(TEXTS), strict=True):
            self.assert_close(answer["hidden"], states[0])

    def test_zero_shot_classification(self):
        """Which takes a classifier of pairs, and the probability of entailment for each label."""
        labels = ["contradiction", "neutral", "entailment"]
        pipeline, directory = self.pipeline("zero-shot-classification", "bert",
                                            "ForSequenceClassification", labels)
        candidates = ["engines", "dogs", "errors"]
        for text in TEXTS:
            expected = pipeline(text, candidates)
            answers = self.infer(directory, inputs=[[text, f"This example is {candidate}."]
                                                    for candidate in expected["labels"]])
            logits = np.array([answer["logits"][2] for answer in answers])
            self.assert_close(np.exp(logits) / np.exp(logits).sum(), expected["scores"])
            several = pipeline(text, candidates, multi_label=True)
            chances = {candidate: torch.tensor(answer["logits"])[[0, 2]].softmax(0)[1]
                       for candidate, answer in zip(expected["labels"], answers)}
            self.assert_close([chances[label] for label in several["labels"]], several["scores"])

    @unittest.skipUnless(IS_OLDER, "transformers 5 has no question-answering pipeline")
    def test_question_answering(self):
        for family in ("bert", "distilbert", "xlm-roberta", "albert", "roberta"):
            pipeline, directory = self.pipeline("question-answering", family,
                                                "ForQuestionAnswering")
            for words, stride, longest in ((5, 16, 15), (30, 16, 15), (200, 16, 4), (200, 0, 15),
                                           (400, 11, 30)):
                with self.subTest(f"{family} {words} {stride} {longest}"):
                    text = long_text(words, words + stride)
                    ask = {"question": "what loads", "context": text, "max_seq_len": 60,
                           "doc_stride": stride, "max_answer_len": longest}
                    wanted = pipeline(**ask)
                    [found] = self.infer(directory, "--stride", stride, "--answer-tokens", longest,
                                         inputs=[["what loads", text]])
                    self.assertEqual(found["answer"], wanted["answer"].strip())
                    self.assertEqual(found["end"], wanted["end"])
                    self.assert_close(found["score"], wanted["score"])
                    or_none = pipeline(**ask, handle_impossible_answer=True)
                    self.assertEqual(or_none["answer"].strip(), found["answer"]
                                     if found["score"] >= found["no_answer"] else "")
                    self.assert_close(max(found["score"], found["no_answer"]), or_none["score"])
                    self.compare_answers(pipeline, ask, directory)

    def compare_answers(self, pipeline, ask: dict, directory):
        """The best seven. Those of almost the same score may be in another order."""
        wanted = pipeline(**ask, top_k=7)
        [found] = self.infer(directory, "--stride", ask["doc_stride"], "--answer-tokens", ask["max_answer_len"],
                             "--top-k", "7", inputs=[[ask["question"], ask["context"]]])
        spans = [found, *found["others"]]
        self.assert_close([span["score"] for span in spans], [span["score"] for span in wanted])
        ends = [span["end"] for span in wanted]
        self.assertGreaterEqual(sum(span["end"] in ends for span in spans), len(ends) - 1)


if __name__ == "__main__":
    judge.main()
