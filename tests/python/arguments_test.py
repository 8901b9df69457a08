#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What decides between two answers in sentence-transformers and transformers, and arguments that are
refused: arguments_test.py BUILD_DIR"""
import collections
import contextlib
import json
import os
import pickle
import unittest.mock

from packages import PAIR, PAIRS, TEXTS, PackageTest, main, np  # makes the next ones importable

# isort: split
import bert_infer
from bert_infer import CrossEncoder, Error, Model, SentenceTransformer, pipeline
from bert_infer.pipelines import base

SIGMOID = "torch.nn.modules.activation.Sigmoid"
IDENTITY = "torch.nn.modules.linear.Identity"


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


def softmax(logits):
    powers = np.exp(logits)
    return powers / powers.sum(-1, keepdims=True)


class SavedFunctions(PackageTest):
    """CrossEncoder's, which sentence-transformers has saved in three places."""

    def saved(self, place: str, function: str, *arguments: str):
        directory = self.make_model(f"{place} {function} {arguments}", *arguments)
        config = json.loads((directory / "config.json").read_text())
        if place == "newest":
            (directory / "config_sentence_transformers.json").write_text(json.dumps({"activation_fn": function}))
        elif place == "older":
            config["sentence_transformers"] = {"activation_fn": function}
        else:
            config["sbert_ce_default_activation_function"] = function
        (directory / "config.json").write_text(json.dumps(config))
        return directory

    def test_of_several_labels(self):
        for place in "newest", "older", "oldest":
            for function, expected in (SIGMOID, sigmoid), (IDENTITY, np.array):
                with self.subTest(f"{place} {function}"):
                    model = CrossEncoder(self.saved(place, function, "--labels", "3"))
                    logits = model.model.run(PAIRS)
                    np.testing.assert_allclose(model.predict(PAIRS), expected(logits), rtol=1e-5)
        multi = self.make_model("multi", "--labels", "3", "--problem-type", "multi_label_classification")
        self.assert_bits(CrossEncoder(multi).predict(PAIRS), Model(multi).run(PAIRS))

    def test_not_of_the_pipeline(self):
        regression = ("--problem-type", "regression")
        for labels, function, more, expected in (("1", IDENTITY, (), sigmoid), ("1", SIGMOID, regression, np.array),
                                                 ("3", SIGMOID, (), softmax), ("3", SIGMOID, regression, np.array)):
            with self.subTest(f"{labels} {function} {more}"):
                classify = pipeline("text-classification", self.saved("older", function, "--labels", labels, *more))
                scores = [each["score"] for each in classify(TEXTS[0], top_k=None)]
                logits = classify.model.run(TEXTS[:1])[0]
                np.testing.assert_allclose(scores, sorted(expected(logits), reverse=True), rtol=1e-5)


class Inputs(PackageTest):
    def test_an_empty_second_text_is_none_for_the_pipeline(self):
        classify = pipeline("text-classification", self.model)
        expected = classify({"text": TEXTS[0]})
        self.assertEqual(classify({"text": TEXTS[0], "text_pair": ""}), expected)
        self.assertEqual(classify([[[TEXTS[0], ""]]]), [expected])
        self.assertNotEqual(classify([{"text": PAIR[0], "text_pair": PAIR[1]}]), classify([PAIR[0]]))

    def test_names_of_the_hub(self):
        cache = self.dir / "hub"
        repository = cache / "models--someone--encoder"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs/main").write_text("c0ffee")
        (repository / "snapshots").mkdir()
        (repository / "snapshots/c0ffee").symlink_to(self.encoder)
        (repository / "snapshots/0ther").symlink_to(self.model)
        (cache / "models--old").symlink_to("models--someone--encoder")
        with unittest.mock.patch.dict(os.environ, {"HF_HUB_CACHE": str(cache)}):
            self.assertEqual(bert_infer.find_model("someone/encoder"),
                             str(repository / "snapshots/c0ffee"))
            self.assertEqual(bert_infer.find_model(self.encoder), str(self.encoder))
            model = SentenceTransformer("someone/encoder", revision="c0ffee", local_files_only=True)
            pipeline("feature-extraction", "someone/encoder", revision="c0ffee",
                     tokenizer="someone/encoder")
            pipeline("text-classification", "someone/encoder", revision="0ther", tokenizer="someone/encoder")
            self.assertEqual(SentenceTransformer(self.encoder, revision="main").model.directory, str(self.encoder))
            with unittest.mock.patch.object(SentenceTransformer, "organization", "someone"):
                for name, snapshots in ("encoder", repository), ("old", cache / "models--old"):
                    self.assertEqual(SentenceTransformer(name).model.directory, str(snapshots / "snapshots/c0ffee"))
                with contextlib.chdir(self.dir):  # a directory comes first
                    self.assertEqual(SentenceTransformer("encoder").model.directory, str(self.encoder))
            self.assertRaisesRegex(bert_infer.Error, "someone/else: not a directory", Model,
                                   "someone/else")
        self.assert_bits(pickle.loads(pickle.dumps(model)).encode(TEXTS),
                         Model(self.encoder).embed(TEXTS))

    def test_words_beside_unknown_ones(self):
        family = ("--family", "xlm-roberta")
        for arguments, text in (((), "two \u2603, and a \U0001F600."), (family, "the \u2603 man \u2603")):
            tag = pipeline("ner", self.make_model("words", "--head", "tokens", "--labels", "2", *arguments))
            [encoding] = tag.whole([text])
            self.assertEqual(tag._word(text, encoding, list(range(*encoding.first))), text)

    def test_sequences_have_no_padding(self):
        fill = pipeline("fill-mask", self.make_model("padding", "--head", "mlm"))
        for text in "a [MASK] [MASK]", "a [PAD] [MASK] [MASK]":
            [found] = fill(text, targets="[PAD]")[0]
            self.assertEqual((found["token_str"], found["sequence"]), ("[PAD]", "[CLS] a [MASK] [SEP]"))

    def test_similarity_of_two_vectors(self):
        model = SentenceTransformer(self.encoder)
        a, b = model.encode(TEXTS[:2])
        for name in "cosine", "dot", "euclidean", "manhattan":
            model.similarity_fn_name = name
            found = model.similarity_pairwise(a, b)
            self.assertEqual(found.shape, ())
            self.assert_bits(found[None], model.similarity_pairwise([a], [b]))
            for call in model.similarity, model.similarity_pairwise:
                self.assertRaisesRegex(ValueError, "embeddings of 16 and of 1 columns", call, [a, b], [a[:1], b[:1]])
            self.assertRaisesRegex(ValueError, "found 2 embeddings and 3, expected as many",
                                   model.similarity_pairwise, [a, b], [a, b, a])

    def test_saved_columns(self):
        whole = SentenceTransformer(self.encoder).encode(TEXTS)
        for modules in (), ("--sentence-transformers", "mean"):
            directory = self.make_model("cut", "--head", "none", *modules)
            settings = directory / "config_sentence_transformers.json"
            settings.write_text(json.dumps({"truncate_dim": 5}))
            model = SentenceTransformer(directory)
            self.assertEqual((model.truncate_dim, model.get_embedding_dimension()), (5, 5))
            self.assert_bits(model.encode(TEXTS), whole[:, :5])
            self.assert_bits(model.encode(TEXTS, truncate_dim=3), whole[:, :3])
        for call in (lambda: model.encode("a", truncate_dim=7),
                     lambda: SentenceTransformer(directory, truncate_dim=7)):
            self.assertRaisesRegex(ValueError, "truncate_dim is 7, but config_sentence_transf.* leaves 5 columns", call)
        settings.write_text(json.dumps({"truncate_dim": 100}))  # more than there are
        self.assert_bits(SentenceTransformer(directory).encode(TEXTS), whole)

    def test_none_is_an_argument_that_is_not_given(self):
        fill = pipeline("fill-mask", self.make_model("mlm", "--head", "mlm"), top_k=2, targets=["man", "dog", "a"])
        expected = fill("a [MASK] is")
        self.assertEqual(len(expected), 2)
        self.assertEqual(fill("a [MASK] is", top_k=None, targets=None), expected)
        self.assertEqual(fill(("a [MASK] is",)), expected)
        answer = pipeline("question-answering", self.make_model("qa", "--head", "qa"), max_answer_len=1)
        asked = "a man", "two dogs eat"
        self.assertEqual(answer(*asked, max_answer_len=None, top_k=None), answer(*asked))
        classify = pipeline("text-classification", self.model, function_to_apply="none", top_k=2)
        self.assertEqual(classify("a man", function_to_apply="SIGMOID"), classify("a man", function_to_apply="sigmoid"))
        self.assertEqual(classify("a man", function_to_apply=None), classify("a man"))
        self.assertEqual(len(classify("a man", top_k=None)), 3)  # of which it is a value: all

    def test_rows_without_a_token(self):
        """Of a vocabulary that is larger than the tokenizer's: their fills have no text, and others keep theirs."""
        directory = self.make_model("padded", "--head", "mlm")
        vocab = directory / "vocab.txt"
        vocab.write_text("".join(vocab.read_text().splitlines(keepends=True)[:-3]))
        (directory / "tokenizer.json").unlink(missing_ok=True)
        fills = pipeline("fill-mask", directory, top_k=1000)("a [MASK] is")
        self.assertEqual(sum(fill["token_str"] == "" for fill in fills), 3)
        self.assertEqual({fill["sequence"] for fill in fills if fill["token_str"] == ""}, {"a is"})

    def test_sequences_are_cleaned_up(self):
        text = "a [MASK] , it ' a man 's ? [MASK]"
        for family in (), ("--family", "xlm-roberta"):
            directory = self.make_model(f"cleaned {family}", "--head", "mlm", *family)
            spelled = text.replace("[MASK]", "<mask>") if family else text
            settings = directory / "tokenizer_config.json"
            read, answers = json.loads(settings.read_text()), []
            for cleans in False, True:
                settings.write_text(json.dumps(read | {"clean_up_tokenization_spaces": cleans}))
                answers.append(pipeline("fill-mask", directory)(spelled))
            plain, cleaned = answers
            self.assertNotEqual(cleaned, plain)
            for fill, other in zip(cleaned[0] + cleaned[1], plain[0] + plain[1]):
                sequence = other["sequence"]
                for found, becomes in ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" 's", "'s")):
                    sequence = sequence.replace(found, becomes)
                self.assertEqual(fill["sequence"], sequence)

    def test_a_call_of_a_pipeline_has_few_characters(self):
        extract = pipeline("feature-extraction", self.encoder, threads=1)
        expected = extract(TEXTS * 3)
        hidden = unittest.mock.patch.object(extract.model, "hidden", wraps=extract.model.hidden)
        with unittest.mock.patch.object(base, "CHARACTERS", 30), hidden as calls:
            for inputs in TEXTS * 3, iter(TEXTS * 3):
                self.assertEqual(list(extract(inputs)), expected)
        sizes = [len(call.args[0]) for call in calls.call_args_list]
        self.assertEqual(sizes, [2, 3] * 6)

    def test_a_pipelines_inputs(self):
        """An iterator's answers come as soon as batch_size inputs are read, and before the error of a later one."""
        classify, read = pipeline("text-classification", self.model, batch_size=2), []
        expected = classify(TEXTS)

        def texts(last=()):
            for text in (*TEXTS, *last):
                read.append(text)
                yield text

        for settings, size in ({"batch_size": 1}, 1), ({}, 2), ({"batch_size": None}, 2):
            del read[:]
            answers = classify(texts(), **settings)
            self.assertEqual(next(answers), expected[0])
            self.assertEqual(len(read), size)
            self.assertEqual(list(answers), expected[1:])
        answers = classify(texts([3]), batch_size=100)
        self.assertEqual([next(answers) for _ in TEXTS], expected)
        self.assertRaisesRegex(ValueError, fr"inputs\[{len(TEXTS)}\]: found int", next, answers)
        answers = classify(texts([3, "more"]), batch_size=2)  # in a later part, beside a good one
        self.assertEqual([next(answers) for _ in TEXTS], expected)
        self.assertRaisesRegex(ValueError, fr"inputs\[{len(TEXTS)}\]: found int", next, answers)

        def broken():
            yield from TEXTS
            raise KeyError("the source's own")

        answers = classify(broken(), batch_size=100)
        self.assertEqual([next(answers) for _ in TEXTS], expected)
        self.assertRaisesRegex(KeyError, "the source's own", next, answers)
        for size in -1, 0:
            self.assertRaisesRegex(ValueError, f"batch_size is {size}", classify, "a", batch_size=size)
        self.assertRaisesRegex(TypeError, "batch_size: found str", classify, "a", batch_size="2")

        class KeyDataset:  # as transformers has it
            def __len__(self):
                return len(TEXTS)

            def __getitem__(self, i):
                return TEXTS[i]

        self.assertEqual(list(classify(KeyDataset())), expected)
        self.assertEqual(classify(collections.deque(TEXTS)), expected)

    def test_pipelines_know_no_prompts(self):
        """As transformers', which do not read sentence-transformers' files."""
        settings = {"prompts": {"query": "a dog ", "passage": "it "}, "default_prompt_name": "passage"}
        for task, name, options in ("feature-extraction", "encoder", ("--head", "none")), (
                "text-classification", "classifier", ("--labels", "3", "--label-names", "yes,no,maybe")):
            directory = self.make_model(f"prompted-{name}", *options)
            plain = pipeline(task, directory)(TEXTS)
            asked = pipeline(task, directory)(["a dog " + text for text in TEXTS])
            (directory / "config_sentence_transformers.json").write_text(json.dumps(settings))
            self.assertNotEqual(plain, asked)
            self.assertEqual(pipeline(task, directory)(TEXTS), plain)
            self.assertEqual(pipeline(task, directory, prompt="query")(TEXTS), asked)

    def test_tables_are_refused(self):
        """Their items are the names of columns."""
        class Table(list):
            columns = ("first", "second")

        for call in (SentenceTransformer(self.encoder).encode, CrossEncoder(self.model).predict,
                     pipeline("text-classification", self.model)):
            for table in Table(["first", "second"]), collections.UserDict(first=["a"], second=["b"]):
                self.assertRaisesRegex(TypeError, f"inputs: found {type(table).__name__}, expected a list, as one of "
                                       "its columns", call, table)

    def test_older_names_and_defaults(self):
        model = SentenceTransformer(self.encoder, backend="torch", model_kwargs={}, tokenizer_kwargs=None)
        for call in model.encode, model.encode_query, model.encode_document:
            self.assert_bits(call(sentences=TEXTS), model.encode(TEXTS))
        self.assertRaisesRegex(TypeError, "inputs and its older name sentences: expected one", model.encode,
                               inputs=TEXTS, sentences=TEXTS)
        self.assertRaisesRegex(ValueError, "backend is 'onnx'", SentenceTransformer, self.encoder, backend="onnx")
        plain = CrossEncoder(self.model)
        negative = CrossEncoder(self.model, default_activation_function=np.negative)
        self.assert_bits(negative.predict(sentences=PAIRS, num_workers=2), -plain.model.run(PAIRS))
        self.assert_bits(plain.predict(PAIRS, activation_fct=np.negative), negative.predict(PAIRS))
        self.assert_bits(CrossEncoder(model_name=self.model, automodel_args={}).predict(PAIRS), plain.predict(PAIRS))
        rank = CrossEncoder(self.make_model("one", "--labels", "1", "--label-names", "relevance")).rank
        self.assertEqual(rank("a", ["b", "a c"], convert_to_tensor=True), rank("a", ["b", "a c"]))
        classify = pipeline("text-classification", self.model, dtype="auto", device_map=None, model_kwargs={},
                            config=None, truncation=None, framework="pt")
        self.assertEqual(classify("a"), pipeline("text-classification", self.model)("a"))
        self.assertRaisesRegex(TypeError, "unknown arguments dtype", pipeline, "text-classification", self.model,
                               dtype="float16")
        extract = pipeline("feature-extraction", self.encoder)
        self.assertEqual(extract("a", tokenize_kwargs={"truncation": True, "padding": True}), extract("a"))
        self.assertRaisesRegex(ValueError, "truncation must be True", extract, "a",
                               tokenize_kwargs={"truncation": False})
        self.assertRaisesRegex(TypeError, "tokenize_kwargs: unknown max_length, return_tensors, expected some of "
                               "padding, truncation", extract, "a",
                               tokenize_kwargs={"return_tensors": 1, "max_length": 2})

    def test_labels_without_o(self):
        tag = pipeline("ner", self.make_model("parts of speech", "--head", "tokens", "--labels", "2", "--label-names",
                                              "NOUN,VERB"), aggregation_strategy="simple")
        self.assertEqual([tag(text, ignore_labels=[]) for text in TEXTS], [tag(text) for text in TEXTS])
        other = pipeline("ner", self.make_model("people", "--head", "tokens", "--labels", "2", "--label-names",
                                                "O,B-WHO"))
        self.assertRaisesRegex(ValueError, "expected O, one of the model's labels", other, "a", ignore_labels=[],
                               aggregation_strategy="simple")

    def test_groups_of_other_labels(self):
        names = "O,B-WHO,I-WHO,E-WHO,S-A-B,B-C-D"
        tag = pipeline("ner", self.make_model("groups", "--head", "tokens", "--labels", "6", "--label-names", names))
        self.assertEqual({"-" in each["entity_group"] for text in TEXTS
                          for each in tag(text, aggregation_strategy="simple")
                          if each["entity_group"] not in ("A-B", "C-D")}, {False})
        self.assertNotIn("WHO", [each["entity_group"] for text in TEXTS for each in
                                 tag(text, aggregation_strategy="simple", ignore_labels=["O", "WHO"])])

    def test_labels_of_entailment(self):
        directory = self.make_model("entailment", "--labels", "3", "--label-names", "no,maybe,entailment")
        task = "zero-shot-classification"
        classify = pipeline(task, directory, candidate_labels=np.array(["man", "dog"]))
        self.assertEqual(classify("a man"), classify("a man", "man, dog"))
        found = classify("a man", ["dog", "man", "DOG"])["labels"]  # of equal scores the last first
        self.assertEqual([label for label in found if label != "man"], ["DOG", "dog"])
        config = json.loads((directory / "config.json").read_text())
        for ids, index in (({"entailment": 2, "no": 0}, None), ({}, None), ({"no": 0, "Entails": 1}, 1)):
            (directory / "config.json").write_text(json.dumps(config | {"label2id": ids}))
            if index is None:
                again = pipeline(task, directory, candidate_labels=["man", "dog"])
                self.assertEqual(again("a man"), classify("a man"))
            else:
                self.assertRaisesRegex(Error, "config.json: label2id: found 1 for the label of entailment, expected 2",
                                       pipeline, task, directory)

    def test_what_is_refused(self):
        model = SentenceTransformer(self.encoder)
        extract = pipeline("feature-extraction", self.encoder)
        rank = CrossEncoder(self.make_model("one", "--labels", "1", "--label-names", "relevance")).rank
        fill = pipeline("fill-mask", self.make_model("mlm", "--head", "mlm"))
        for kind, pattern, call in [
                (TypeError, "inputs: found NoneType, expected a list of texts", lambda: model.encode(None)),
                (TypeError, "inputs: found int, expected", lambda: model.encode(3)),
                (TypeError, "inputs: found ndarray, expected", lambda: model.encode(np.array("a"))),
                (TypeError, "batch_size: found float, expected an int", lambda: model.encode("a", batch_size=2.5)),
                (TypeError, "batch_size: found NoneType", lambda: model.encode("a", batch_size=None)),
                (TypeError, "prompt: found int, expected a str", lambda: model.encode("a", prompt=3)),
                (TypeError, "max_seq_length: found NoneType", lambda: setattr(model, "max_seq_length", None)),
                (TypeError, r"prompts\['a'\]: found int, expected a str",
                 lambda: SentenceTransformer(self.encoder, prompts={"a": 3})),
                (TypeError, r"inputs\[1\]: found None, expected a pair of texts", lambda: rank("a", ["b", None])),
                (ValueError, "found embeddings of 3 dimensions", lambda: model.similarity_pairwise([[[1]]], [[[1]]])),
                (ValueError, "found embeddings of 0 dimensions", lambda: model.similarity(1, 1)),
                (ValueError, r"inputs\[1\]: found tuple, expected a text", lambda: extract(["a", ("a", "b")])),
                (ValueError, r"inputs\[0\]: found list, expected a text", lambda: fill([["a", "[MASK]"]]))]:
            with self.subTest(pattern), self.assertRaisesRegex(kind, pattern):
                call()


if __name__ == "__main__":
    main()
