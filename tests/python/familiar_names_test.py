#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package calls as sentence-transformers and transformers do, beside the programs of the
same build: familiar_names_test.py BUILD_DIR"""
import contextlib
import copy
import io
import json
import pickle
import types
import unittest.mock

from packages import CONTEXT, PAIR, PAIRS, TEXTS, PackageTest, main, np  # makes the next ones importable

# isort: split
import bert_infer
from bert_infer import CrossEncoder, Model, SentenceTransformer, pipeline, prompted_model
from bert_infer.pipelines import base


class SentenceTransformers(PackageTest):
    def test_embeddings(self):
        model = SentenceTransformer(self.encoder)
        for arguments, options in (([], {}), (["--truncate-dim", "5"], {"truncate_dim": 5}),
                                   (["--normalize"], {"normalize_embeddings": True})):
            answers = self.infer(self.encoder, "--task", "embed", *arguments, inputs=TEXTS)
            expected = [answer["embedding"] for answer in answers]
            self.assert_bits(model.encode(TEXTS, **options), expected)
            self.assert_bits(model.encode(TEXTS[1], **options), expected[1])
        many = TEXTS * 30  # more than are encoded at a time
        self.assert_bits(model.encode(many, batch_size=1), np.tile(model.encode(TEXTS), (30, 1)))
        for wrong, prompt in (None, None), (None, "it "), ("\udc80", None):
            with self.assertRaisesRegex((TypeError, ValueError), r"^inputs\[150\]: (found None|.*surr)"):
                model.encode([*many, wrong], prompt=prompt, batch_size=1)
        for wrong in {"text": "a man"}, b"a man":
            with self.assertRaisesRegex(TypeError, "found one (dict|bytes), expected a list of texts"):
                model.encode(wrong)
        self.assertEqual([model.encode([], truncate_dim=columns).shape for columns in (None, 5)], [(0, 16), (0, 5)])
        states = model.encode(TEXTS, output_value="token_embeddings")
        self.assert_bits(states[1], model.model.hidden(TEXTS)[1].states)
        self.assert_bits(model.encode(TEXTS[1], output_value="token_embeddings"), states[1])
        self.assertIsInstance(model.encode(TEXTS, convert_to_numpy=False), list)
        narrow = SentenceTransformer(self.encoder, truncate_dim=5)
        self.assert_bits(narrow.encode(TEXTS, truncate_dim=7), model.encode(TEXTS)[:, :7])
        self.assertTrue(narrow.encode(TEXTS).flags.c_contiguous)
        sizes = [SentenceTransformer(self.encoder, truncate_dim=columns).get_embedding_dimension()
                 for columns in (None, 5, 99)]
        self.assertEqual(sizes, [16, 5, 16])
        similarity = model.similarity(model.encode(TEXTS), model.encode(TEXTS[:2]))
        self.assertEqual(similarity.shape, (5, 2))
        np.testing.assert_allclose([similarity[0, 0], similarity[1, 1]], 1, rtol=1e-6)
        [answer] = self.answers("-m", self.encoder, "--task", "similarity", "-o", "-", *TEXTS[:2])
        np.testing.assert_allclose(similarity[0, 1], answer["similarity"], rtol=1e-5)
        given = model.encode(TEXTS)
        for rows in given, np.asfortranarray(given):  # which stay as they are
            self.assert_bits(model.similarity(rows[0], rows), model.similarity(given[:1], given))
            np.testing.assert_allclose(model.similarity_pairwise(rows[0], rows[0]), [1], rtol=2e-7)
            self.assert_bits(rows, model.encode(TEXTS))
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            model.encode(many, batch_size=1, show_progress_bar=True)
        self.assertRegex(error.getvalue(), r"^\r64 of 150 inputs\r128 of 150 inputs\r150 of 150 inputs\n$")

    def test_prompts_and_limits(self):
        settings = {"prompts": {"query": "a dog ", "passage": "it "}, "default_prompt_name": "passage",
                    "similarity_fn_name": "dot"}
        directory = self.make_model("prompts", "--head", "none")
        (directory / "config_sentence_transformers.json").write_text(json.dumps(settings))
        model, plain = SentenceTransformer(directory), SentenceTransformer(self.encoder)
        for found, prompt in ((model.encode(TEXTS), "it "), (model.encode_query(TEXTS), "a dog "),
                              (model.encode(TEXTS, prompt=""), ""),
                              (model.encode(TEXTS, prompt_name="query"), "a dog ")):
            self.assert_bits(found, plain.encode([prompt + text for text in TEXTS]))
        answers = self.infer(directory, "--prompt", "query", inputs=TEXTS)
        self.assert_bits(model.encode_query(TEXTS), [answer["embedding"] for answer in answers])
        self.assert_bits(model.encode_query(TEXTS, "query", None, 2, False), model.encode_query(TEXTS))
        query = ["a dog " + text for text in TEXTS]
        named = SentenceTransformer(directory, prompt="query")
        for found in named, pickle.loads(pickle.dumps(named)):
            self.assert_bits(found.encode(TEXTS), plain.encode(query))
            self.assert_bits(found.encode(TEXTS, prompt=""), plain.encode(TEXTS))
            found.max_seq_length = plain.max_seq_length = 6
            for shorter in found, pickle.loads(pickle.dumps(found)):
                self.assert_bits(shorter.encode(TEXTS), plain.encode(query))
            plain.max_seq_length = plain.model.info.max_length
        model.max_seq_length = 4
        self.assertEqual(model.max_seq_length, 4)
        self.assert_bits(model.encode(TEXTS[1], prompt=""), plain.encode("two dogs"))
        self.assert_bits(SentenceTransformer(directory, default_prompt_name="query").encode(TEXTS), plain.encode(query))
        self.assert_bits(SentenceTransformer(directory, prompts={"query": "it "}).encode_query(TEXTS),
                         plain.encode(["it " + text for text in TEXTS]))
        short = SentenceTransformer(directory, max_length=4)
        self.assert_bits(short.encode(TEXTS[1], prompt=""), plain.encode("two dogs"))
        short.max_seq_length = 64  # loads it again
        self.assert_bits(short.encode(TEXTS[1], prompt=""), plain.encode(TEXTS[1]))
        self.assertEqual(model.similarity_fn_name, "dot")
        model.similarity_fn_name = types.SimpleNamespace(value="euclidean")  # as of an enumeration
        self.assertEqual(model.similarity_fn_name, "euclidean")
        self.assertEqual(SentenceTransformer(directory, similarity_fn_name="manhattan").similarity_fn_name, "manhattan")
        with self.assertRaisesRegex(bert_infer.Error, "max_length is 65, but the model has 64 posi"):
            model.max_seq_length = 65
        for kind, pattern, call in [
                (ValueError, "prompt_name is 'spam'", lambda: model.encode("a", prompt_name="spam")),
                (ValueError, "max_seq_length is 0", lambda: setattr(model, "max_seq_length", 0)),
                (ValueError, "similarity_fn_name is 'spam', expected one of cosine",
                 lambda: setattr(model, "similarity_fn_name", "spam")),
                (TypeError, "unknown options cache_folder",
                 lambda: SentenceTransformer(directory, cache_folder="there")),
                (ValueError, "batch_size is 0", lambda: model.encode(["a"], batch_size=0)),
                (TypeError, "truncate_dim: found str, expected an int",
                 lambda: model.encode("a", truncate_dim="5")),
                (ValueError, "truncate_dim is 0", lambda: SentenceTransformer(directory, truncate_dim=0)),
                (ValueError, "prompt_name is 'spam'",
                 lambda: SentenceTransformer(directory, default_prompt_name="spam")),
                (ValueError, "precision is 'int8', expected \"float32\"", lambda: model.encode("a", precision="int8")),
                (ValueError, "output_value is 'spam'", lambda: model.encode("a", output_value="spam")),
                (ValueError, "device is 'cuda'", lambda: model.encode("a", device="cuda")),
                (TypeError, "spam", lambda: model.encode("a", spam=1))]:
            with self.subTest(pattern), self.assertRaisesRegex(kind, pattern):
                call()

    def test_a_call_has_few_texts_and_few_tokens(self):
        model = SentenceTransformer(self.encoder, batch_tokens=16, threads=1)
        many = TEXTS[1:3] * 40
        for name, batch_size in ("TEXTS_PER_CALL", 2), ("BATCHES_PER_CALL", 1000):
            embeds = unittest.mock.patch.object(model.model, "embed", wraps=model.model.embed)
            with unittest.mock.patch.object(prompted_model, name, 2), embeds as embed:
                found = model.encode(many, batch_size=batch_size)
            self.assertGreater(embed.call_count, 10)
            if name == "BATCHES_PER_CALL":  # as many tokens as two batches have, and then no more texts
                tokens = [[len(encoding) for encoding in call.args[0]] for call in embed.call_args_list]
                self.assertGreaterEqual(min(map(sum, tokens[:-1])), 32)
                self.assertLess(max(sum(call[:-1]) for call in tokens), 32)
            self.assert_bits(found, model.model.embed(many))

    def test_cross_encoders(self):
        reranker = self.make_model("reranker", "--labels", "1", "--label-names", "relevance")
        model = CrossEncoder(reranker)
        expected = [answer["probability"] for answer in self.infer(reranker, inputs=PAIRS)]
        self.assert_bits(model.predict(PAIRS), expected)
        self.assert_bits(model.predict(PAIRS[1]), expected[1])
        ranked = model.rank("a man", TEXTS, top_k=3, return_documents=True)
        scores = model.predict([("a man", text) for text in TEXTS])
        self.assertEqual([result["corpus_id"] for result in ranked], np.argsort(-scores)[:3].tolist())
        self.assertEqual(ranked[0], {"corpus_id": int(scores.argmax()), "score": float(scores.max()),
                                     "text": TEXTS[scores.argmax()]})
        self.assert_bits(model.predict(PAIRS, activation_fn=np.tanh),
                         np.tanh(model.model.run(PAIRS))[:, 0])
        for call in (lambda: model.predict("ab"), lambda: model.predict({"query": "a", "passage": "b"}),
                     lambda: model.rank("a", "bc")):
            self.assertRaisesRegex(TypeError, "found one (str|dict), expected a list of", call)
        self.assert_bits(model.predict(np.array(PAIRS)), expected)
        device = unittest.mock.MagicMock(__str__=lambda self: "cpu")  # torch's
        CrossEncoder(reranker, device=device, cache_folder=None, model_kwargs=None)
        squashed = CrossEncoder(reranker, activation_fn=np.tanh)
        self.assert_bits(squashed.predict(PAIRS), model.predict(PAIRS, activation_fn=np.tanh))
        self.assert_bits(squashed.predict(PAIRS, activation_fn=np.exp), model.predict(PAIRS, activation_fn=np.exp))
        raw = model.rank("a man", TEXTS, activation_fn=np.negative)
        self.assertEqual([result["corpus_id"] for result in raw], np.argsort(scores).tolist())
        three = CrossEncoder(self.model, num_labels=3)
        powers = np.exp(self.loaded.run(PAIRS))
        np.testing.assert_allclose(three.predict(PAIRS, apply_softmax=True), powers / powers.sum(1, keepdims=True),
                                   rtol=1e-5)
        self.assertEqual((model.predict([]).shape, three.predict([]).shape), ((0,), (0, 3)))
        self.assertIsInstance(three.predict(PAIRS, convert_to_numpy=False), list)
        for kind, pattern, call in [
                (ValueError, "num_labels is 2, but the model has 3", lambda: CrossEncoder(self.model, num_labels=2)),
                (ValueError, "device is 'cuda'", lambda: three.predict(PAIRS, device="cuda")),
                (bert_infer.Error, "no head|no classification head", lambda: CrossEncoder(self.encoder))]:
            self.assertRaisesRegex(kind, pattern, call)
        shorter = CrossEncoder(reranker)
        shorter.max_length = 6
        self.assert_bits(shorter.predict(PAIRS), CrossEncoder(reranker, max_length=6).predict(PAIRS))
        self.assert_bits(CrossEncoder(self.model).predict(PAIRS), self.loaded.run(PAIRS))
        self.assertRaisesRegex(ValueError, "one label", CrossEncoder(self.model).rank, "a", ["b"])
        (reranker / "config_sentence_transformers.json").write_text(json.dumps(
            {"prompts": {"query": "a dog ", "plain": ""}, "default_prompt_name": "plain"}))
        named = CrossEncoder(reranker, prompt="query")
        expected = model.predict([("a dog " + first, second) for first, second in PAIRS])
        for found in named, pickle.loads(pickle.dumps(named)):
            self.assert_bits(found.predict(PAIRS), expected)

    def test_a_chat_template_is_kept(self):
        directory = self.make_model("chat", "--family", "qwen3", "--retrieval", "logit-score")
        content = "messages | selectattr('role', 'eq', '{}') | map(attribute='content') | first"
        (directory / "chat_template.jinja").write_text("the {{ " + " }} {{ ".join(
            content.format(role) for role in ("system", "query", "document")) + " }}")
        (directory / "config_sentence_transformers.json").write_text(json.dumps(
            {"prompts": {"query": "a dog", "plain": "girls"}, "default_prompt_name": "plain"}))
        for options in {}, {"prompt": "query"}:
            model = CrossEncoder(directory, **options)
            named = [part for name in options.values() for part in ("--prompt", name)]
            expected = [answer["probability"] for answer in self.infer(directory, *named, inputs=PAIRS)]
            self.assert_bits(model.predict(PAIRS), expected)
            model.max_length = 60
            self.assert_bits(model.predict(PAIRS), expected)
            model.max_length = 12
            self.assert_bits(model.predict(PAIRS), CrossEncoder(directory, max_length=12, **options).predict(PAIRS))
            for given in {"prompt": "a"}, {"prompt_name": "query" if not options else "plain"}:
                self.assertRaisesRegex(ValueError, "gets its prompt on loading", model.predict, PAIRS, **given)
        for given in {"prompts": {"web": "a"}}, {"default_prompt_name": "query"}:
            self.assertRaisesRegex(ValueError, "gets its prompt on loading", CrossEncoder, directory, **given)

    def test_scores_of_a_regression_are_those_of_a_cross_encoder(self):
        directory = self.make_model("regression", "--labels", "1", "--problem-type", "regression")
        logits = Model(directory).run(PAIRS)[:, 0]
        self.assert_bits(Model(directory).probabilities(logits[:, None])[:, 0], logits)
        np.testing.assert_allclose(CrossEncoder(directory).predict(PAIRS), 1 / (1 + np.exp(-logits)),
                                   rtol=1e-6)
        config = json.loads((directory / "config.json").read_text())
        config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
        (directory / "config.json").write_text(json.dumps(config))
        self.assert_bits(CrossEncoder(directory).predict(PAIRS), logits)


class Pipelines(PackageTest):
    """Their answers are compared with transformers' in judge_test.py."""

    def test_text_classification(self):
        classify = pipeline("text-classification", self.loaded)
        answers = self.infer(self.model, inputs=TEXTS)
        found = classify(TEXTS)
        self.assertEqual([result["label"] for result in found], [each["label"] for each in answers])
        self.assert_bits([result["score"] for result in found],
                         [each["probability"] for each in answers])
        self.assertEqual(list(classify(text for text in TEXTS)), found)
        with unittest.mock.patch.object(base, "STREAMED", 1):
            self.assertEqual(classify(TEXTS, padding=True, trust_remote_code=True), found)
            for inputs in TEXTS * 3 + [None], (text for text in TEXTS * 3 + [None]):
                with self.assertRaisesRegex(ValueError, r"^inputs\[15\]: found NoneType"):
                    list(classify(inputs))
        self.assertEqual(classify(TEXTS[0]), found[:1])
        self.assertEqual([len(classify(TEXTS[0], top_k=count)) for count in (1, 2, None)], [1, 2, 3])
        pair = {"text": PAIR[0], "text_pair": PAIR[1]}
        [expected] = self.infer(self.model, inputs=[PAIR])
        for found_pair in classify(pair), *classify([[list(PAIR)]]):
            self.assert_bits(found_pair["score"], expected["probability"])
        self.assertEqual(pipeline("text-classification", self.model, device=-1)(TEXTS), found)
        shorter = pipeline("text-classification", self.model, max_length=5)(TEXTS)
        self.assertEqual(classify(TEXTS, truncation="longest_first", max_length=5), shorter)
        self.assertNotEqual(shorter, found)
        self.assertEqual(classify(TEXTS, max_length=4),
                         pipeline("text-classification", self.model, max_length=4)(TEXTS))
        self.assertEqual(classify(TEXTS, max_length=999), found)

    def test_zero_shot_classification(self):
        classify = pipeline("zero-shot-classification", bert_infer.demo_model())
        found = classify(sequences="A girl plays the guitar.",
                         candidate_labels=np.array(["music", "sport"]))
        self.assertEqual(found["labels"], ["music", "sport"])
        self.assertAlmostEqual(sum(found["scores"]), 1, places=6)
        self.assertEqual(classify("A girl plays the guitar.", "music, , sport")["scores"], found["scores"])
        each = classify("A girl plays the guitar.", ["music", "sport"], multi_label=True)
        [expected] = self.infer(bert_infer.demo_model(), "--task", "zero-shot", "--labels", "music,sport",
                                "--multi-label", "--hypothesis", "This example is {}.",
                                inputs=["A girl plays the guitar."])
        self.assert_bits(each["scores"], [label["probability"] for label in expected["labels"]])
        self.assertRaisesRegex(ValueError, "candidate_labels: expected at least one", classify, "A girl.", [])
        with unittest.mock.patch.object(base, "STREAMED", 1):
            self.assertRaisesRegex(TypeError, r"^texts\[8\]: found int", classify, ["A girl."] * 8 + [3], ["music"])
        for template in "About", "{} {}", 3:
            with self.assertRaisesRegex(ValueError, "hypothesis_template is .*, expected {} for"):
                classify("A girl.", ["music"], hypothesis_template=template)
        with self.assertRaisesRegex(bert_infer.Error, 'begins with "entail"'):
            pipeline("zero-shot-classification", self.loaded)

    def test_token_classification(self):
        directory = self.make_model("tokens", "--head", "tokens", "--labels", "3", "--label-names",
                                    "O,B-WHO,I-WHO")
        text = "the man, a boy é eats " * 20
        answers = {name: self.infer(directory, "--aggregation", name, inputs=[text])[0]["entities"]
                   for name in ("none", "simple", "average")}
        tag = pipeline("ner", directory)
        for name, expected in answers.items():
            found = tag(text, aggregation_strategy=name)
            key = "entity" if name == "none" else "entity_group"
            self.assertGreater(len(found), 1)
            self.assertEqual([(each[key], each["start"], each["end"]) for each in found],
                             [(each["label"], each["begin"], each["end"]) for each in expected])
            self.assert_bits([each["score"] for each in found],
                             [each["probability"] for each in expected])
        self.assertEqual(tag(text, aggregation_strategy="SIMPLE", stride=0),
                         tag(text, aggregation_strategy="simple", stride=0))
        for pattern, call in [
                ("expected O, one of the model.s labels",
                 lambda: tag(text, aggregation_strategy="simple", ignore_labels=["WHO"])),
                (r"inputs\[1\]: found int, expected a text", lambda: tag([text, 3]))]:
            self.assertRaisesRegex(ValueError, pattern, call)
        pieces = self.make_model("pieces", "--family", "xlm-roberta", "--head", "tokens", "--labels", "2")
        found = pipeline("ner", pieces, ignore_labels=[])("the \u2603 man")
        self.assertEqual([each["word"] for each in found], ["\u2581the", "\u2603", "\u2581man"])

    def test_question_answering(self):
        directory = self.make_model("qa", "--head", "qa")
        answer = pipeline("question-answering", directory, doc_stride=7)
        found = answer(question="a man", context=CONTEXT)
        [expected] = self.infer(directory, "--stride", "7", inputs=[("a man", CONTEXT)])
        self.assertEqual(found, answer("a man", CONTEXT))
        self.assertEqual((found["answer"], found["start"], found["end"]),
                         (expected["answer"], expected["begin"], expected["end"]))
        self.assertEqual(CONTEXT[found["start"]:found["end"]], found["answer"])
        self.assert_bits(found["score"], expected["score"])
        [expected] = self.infer(directory, "--stride", "32", inputs=[("a man", CONTEXT)])
        self.assert_bits(pipeline("question-answering", directory)("a man", CONTEXT)["score"], expected["score"])
        one = answer("a man", "two dogs", doc_stride=0)
        self.assertEqual(answer(question=["a man", "a man"], context="two dogs"), [one, one])
        asked = {"question": "a man", "context": "two dogs"}
        best, *others = answer(asked, top_k=np.int64(3), doc_stride=0)
        self.assertEqual([best["answer"], *sorted(each["answer"] for each in others)],
                         sorted(["dogs", "two", "two dogs"], key=lambda text: text != best["answer"]))
        self.assertEqual(answer(question="a man", context="dogs", top_k=3)["answer"], "dogs")  # as theirs: no list
        for kind, pattern, call in [
                (ValueError, "found 2 questions and 1 contexts", lambda: answer(question=["a", "b"], context=["c"])),
                (ValueError, r"inputs\[1\]: context is empty", lambda: answer([asked, asked | {"context": ""}])),
                (ValueError, r"inputs\[0\]: expected", lambda: answer({"question": "a man"})),
                (ValueError, "top_k is 0, expected at least 1", lambda: answer(asked, top_k=0)),
                (TypeError, "top_k: found float, expected an int", lambda: answer(asked, top_k=2.5)),
                (ValueError, "max_seq_len is 0, expected at least 1",
                 lambda: pipeline("question-answering", directory, max_seq_len=0)),
                (TypeError, "revision: the model is loaded already",
                 lambda: pipeline("question-answering", answer.model, revision="main")),
                (TypeError, "expected question and context", lambda: answer(question="a man"))]:
            with self.subTest(pattern), self.assertRaisesRegex(kind, pattern):
                call()
        shorter = pipeline("question-answering", directory, max_seq_len=20, doc_stride=7)
        [expected] = self.infer(directory, "--stride", "7", "--max-length", "20",
                                inputs=[("a man", CONTEXT)])
        self.assert_bits(shorter("a man", CONTEXT)["score"], expected["score"])

    def test_fill_mask(self):
        directory = self.make_model("mlm", "--head", "mlm")
        fill = pipeline("fill-mask", directory)
        [expected] = self.infer(directory, inputs=["a [MASK] is [MASK]"])
        found = fill("a [MASK] is [MASK]")
        for fills, mask in zip(found, expected["masks"], strict=True):
            self.assertEqual([each["token"] for each in fills], [each["id"] for each in mask["fills"]])
            self.assert_bits([each["score"] for each in fills],
                             [each["probability"] for each in mask["fills"]])
        one = fill("a [MASK] is", targets=["man", "dog"])
        self.assertEqual({each["token_str"] for each in one}, {"man", "dog"})
        self.assertEqual(one[0]["sequence"], f"a {one[0]['token_str']} is")
        self.assertEqual(len(fill("a [MASK] is", top_k=7)), 7)
        self.assertEqual(fill(["a [MASK] is"], targets=["man", "dog"]), one)
        [special] = fill("a [MASK] is", targets="[SEP]")
        self.assertEqual(special["token_str"], "[SEP]")
        [first] = fill("a [MASK] is", targets=["manq", ""])  # of which the first has several tokens
        self.assertEqual(first["token"], fill.model.tokenize(["manq"])[0].ids[1])
        self.assertRaisesRegex(ValueError, "targets: expected at least one word", fill, "a [MASK]", targets=[""])
        with unittest.mock.patch.object(base, "STREAMED", 1):
            self.assertRaisesRegex(bert_infer.Error, "^input 9: found no mask token", fill,
                                   ["a [MASK]"] * 9 + ["a man"])

    def test_feature_extraction(self):
        extract = pipeline("feature-extraction", self.encoder)
        states = Model(self.encoder).hidden(TEXTS)[1].states
        self.assert_bits(extract(TEXTS)[1], states[None])
        self.assert_bits(extract(TEXTS[1], return_tensors=True), states[None])
        self.assertEqual([type(extract(TEXTS[1], return_tensors=given)) for given in (False, True)], [list, np.ndarray])

    def test_copies_and_pickles(self):
        tokens = self.make_model("copied", "--head", "tokens", "--labels", "2", "--label-names", "O,WHO")
        for task, model, item in (("text-classification", self.loaded, "a man"),
                                  ("ner", tokens, "a man eats"),
                                  ("fill-mask", self.make_model("mask", "--head", "mlm"), "a [MASK]")):
            original = pipeline(task, model)
            expected = original(item)
            for other in copy.deepcopy(original), pickle.loads(pickle.dumps(original)):
                self.assertEqual(other(item), expected)

    def test_arguments_are_checked(self):
        classify = pipeline("text-classification", self.loaded)
        for kind, pattern, call in [
                (TypeError, "unknown arguments spam, expected some of function_to_apply, max_length",
                 lambda: classify("a", spam=1)),
                (TypeError, "unknown arguments spam",
                 lambda: pipeline("text-classification", self.loaded, spam=1)),
                (TypeError, "the model is loaded already",
                 lambda: pipeline("text-classification", self.loaded, precision="int8")),
                (ValueError, "top_k is 0", lambda: classify("a", top_k=0)),
                (ValueError, "max_length is 0", lambda: classify("a", max_length=0)),
                (ValueError, r"inputs\[0\]: found spam, text", lambda: classify({"text": "a", "spam": "b"})),
                (ValueError, r"inputs\[0\]: found text_pair", lambda: classify({"text_pair": "b"})),
                (TypeError, "found bytearray, expected a text", lambda: classify(bytearray(b"a"))),
                (ValueError, "tokenizer is", lambda: pipeline("text-classification", self.loaded,
                                                              tokenizer=self.encoder)),
                (ValueError, "function_to_apply", lambda: classify("a", function_to_apply="relu")),
                (ValueError, "ignore_labels is 'O', expected a list",
                 lambda: pipeline("ner", self.make_model("l", "--head", "tokens"), ignore_labels="O")),
                (TypeError, "found bytes, expected a text or a list", lambda: classify(b"a")),
                (ValueError, "truncation must be True", lambda: classify("a", truncation=False)),
                (ValueError, "truncation must be True", lambda: classify("a", truncation="only_first")),
                (ValueError, "task is 'translation'", lambda: pipeline("translation", self.loaded)),
                (bert_infer.Error, "no head", lambda: pipeline("fill-mask", self.loaded))]:
            with self.subTest(pattern), self.assertRaisesRegex(kind, pattern):
                call()


if __name__ == "__main__":
    main()
