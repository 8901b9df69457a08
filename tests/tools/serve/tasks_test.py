#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A model's own task, as Hugging Face's clients ask bert-serve for it: what of a body is read, and where.
Usage: tasks_test.py BIN_DIR"""
import json
import math

import sys
from pathlib import Path

from serving import ServeTest, main

sys.path.append(str(Path(__file__).resolve().parents[2] / "golden"))
from span_models import write_span_model  # noqa: E402

TEXTS = ["a man is playing the guitar.", "two dogs", "the é café, and more 日本"]
LONG = "dogs eat " * 60  # more than the models' 64 positions


class Tasks(ServeTest):
    @classmethod
    def models(cls):
        three = ("--labels", "3", "--label-names", "yes,entailment,maybe")
        tags = ("--labels", "3", "--label-names", "O,B-WHO,I-WHO")
        cls.names = {
            "encoder": cls.make_model("encoder", "--head", "none"),
            "normalised": cls.make_model("normalised", "--head", "none", "--sentence-transformers", "mean",
                                         "--normalize"),
            "classes": cls.make_model("classes", *three),
            "prompted": cls.make_model("prompted", *three),
            "large": cls.make_model("large", "--head", "mlm", "--vocab", "60000"),
            "ranks": cls.make_model("ranks", "--labels", "1"),
            "bart": cls.make_model("bart", "--family", "bart", *three),
            "regression": cls.make_model("regression", "--labels", "1"),
            "tags": cls.make_model("tags", "--head", "tokens", *tags),
            "qa": cls.make_model("qa", "--head", "qa"),
            "mlm": cls.make_model("mlm", "--head", "mlm"),
            "padded": cls.make_model("padded", "--head", "mlm"),
            "pieces": cls.make_model("pieces", "--head", "mlm", "--family", "xlm-roberta"),
            "cleaned": cls.make_model("cleaned", "--head", "mlm", "--family", "xlm-roberta"),
            "splade": cls.make_model("splade", "--head", "mlm", "--retrieval", "splade"),
            "colbert": cls.make_model("colbert", "--head", "none", "--prefix", "--retrieval", "colbert"),
        }
        vocab = cls.names["padded"] / "vocab.txt"
        vocab.write_text("".join(vocab.read_text().splitlines(keepends=True)[:-3]))
        write_span_model(cls.dir, "gliner")
        cls.names["gliner"] = cls.dir / "gliner"
        prompts = {"prompts": {"query": "two dogs: "}, "default_prompt_name": "query"}
        (cls.names["prompted"] / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        for name, file, field, value in (("regression", "config.json", "problem_type", "regression"),
                                         ("pieces", "tokenizer_config.json", "clean_up_tokenization_spaces", False),
                                         ("cleaned", "tokenizer_config.json", "clean_up_tokenization_spaces", True)):
            config = cls.names[name] / file
            config.write_text(json.dumps(json.loads(config.read_text()) | {field: value}))
        return [f"{name}={path}" for name, path in cls.names.items()]

    def test_embeddings_are_normalised_once(self):
        texts = [f"a man plays {i} guitars" for i in range(40)]
        rows = self.infer(self.names["normalised"], "--task", "embed", inputs=texts)
        expected = [row["embedding"] for row in rows]
        self.assertEqual(self.post("/models/normalised/embed", {"inputs": texts}), expected)
        rows = self.infer(self.names["normalised"], "--task", "embed", "--normalize", inputs=texts)
        self.assertEqual([row["embedding"] for row in rows], expected)

    def refused(self, path: str, body, pattern: str, status=422):
        self.assertRegex(self.post(path, body, status)["error"], pattern)

    def test_documents_are_repeated_whole(self):
        documents = [{"text": "a man plays", "id": 7, "more": {"é": None}}, "two dogs"]
        results = self.post("/v1/rerank", {"model": "ranks", "query": "a", "documents": documents})["results"]
        self.assertEqual({result["index"]: result["document"] for result in results},
                         {0: documents[0], 1: {"text": documents[1]}})

    def test_entities_of_given_labels(self):
        [row] = self.infer(self.names["gliner"], "--labels", "man,dog", "--threshold", "0.2", "--nested", "--multi-label",
                           inputs=[TEXTS[0]])
        expected = [{"entity_group": x["label"], "score": x["probability"], "word": x["string"], "start": x["begin"],
                     "end": x["end"]} for x in row["entities"]]
        self.assertGreater(len(expected), 3)
        asked = {"candidate_labels": ["man", "dog"], "threshold": 0.2, "nested": True, "multi_label": True}
        for path in ("/models/gliner", "/models/gliner/pipeline/token-classification"):
            self.assertEqual(self.post(path, {"inputs": TEXTS[0], "parameters": asked}), expected)
        self.refused("/models/gliner", {"inputs": TEXTS}, "labels is empty, expected some to look for")
        self.refused("/models/gliner", {"inputs": TEXTS, "parameters": {**asked, "threshold": 2}},
                     "threshold.* is 2, expected a number from 0 to 1")
        self.refused("/models/tags/pipeline/token-classification", {"inputs": TEXTS, "parameters": asked},
                     "BertForTokenClassification has its own labels")

    def test_answers_have_a_size(self):
        """What repeats a label or an output for each text, or nearly all spans of a text, counts as long as it is."""
        self.refused("/v2/models/classes/infer", {"outputs": [{"name": "logits"}, {"name": "logits"}], "inputs": [
            {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}, "`outputs.name` is 'logits' twice")
        server = self.start("-m", f"gliner={self.names['gliner']}", "-m", f"classes={self.names['classes']}", "-m",
                            f"encoder={self.names['encoder']}", "--max-body", "300000", "--max-bodies", "300000")
        every = {"candidate_labels": ["man", "dog"], "threshold": 0, "nested": True, "multi_label": True}
        sentences = {"source_sentence": "a", "sentences": ["a"] * 1200}
        for name, inputs, parameters, wanted in (
                ("gliner", "a man " * 2000, every, 422), ("gliner", "a man", every, 200),
                ("gliner", "a man " * 2000, {**every, "threshold": 0.999}, 200),
                ("classes", ["a"] * 200, {"candidate_labels": ["a" + " " * 3000]}, 422),
                ("classes", ["a"] * 200, {"candidate_labels": ["a"]}, 200),
                ("encoder/pipeline/sentence-similarity", sentences, {}, 200)):
            status, _, text = server.request("POST", f"/models/{name}", {"inputs": inputs, "parameters": parameters})
            self.assertEqual(status, wanted, text[:300])
            if wanted == 422:
                self.assertRegex(text, b"the answer would have about [0-9]+ numbers, expected at most 18750")

    def test_fields_beside_and_in_parameters(self):
        for name, field, value in [
            ("encoder", "normalize", False), ("encoder", "dimensions", 3), ("encoder", "truncation_direction", "left"),
            ("classes", "raw_scores", True), ("classes", "truncation_direction", "left"),
        ]:
            usual = self.post(f"/models/{name}", {"inputs": LONG})
            beside = self.post(f"/models/{name}", {"inputs": LONG, field: value})
            inside = self.post(f"/models/{name}", {"inputs": LONG, "parameters": {field: value}, field: None})
            self.assertEqual(beside, inside)
            self.assertNotEqual(beside, usual)
            self.refused(f"/models/{name}", {"inputs": "a", "parameters": {field: value}, field: value},
                         f"^`{field}` is both in the body and in its `parameters`$")
        self.assertEqual(self.post("/models/encoder", {"inputs": TEXTS, "parameters": {"normalize": False}}),
                         self.post("/embed", {"inputs": TEXTS, "normalize": False}))

    def test_a_regression_ranks_by_a_sigmoid(self):
        """As sentence-transformers' CrossEncoder, whatever the problem_type is."""
        body = {"query": "who eats", "texts": ["a man", "two dogs eat", "the beach"]}
        for raw in (True, False):
            found, wanted = (self.post(f"/models/{name}/rerank", {**body, "raw_scores": raw})
                             for name in ("regression", "ranks"))
            self.assertEqual(found, wanted)

    def test_nothing_is_dropped(self):
        sentences = {"source_sentence": LONG, "sentences": ["a"]}
        for name, inputs in [("encoder", LONG), ("classes", LONG), ("splade", LONG), ("mlm", "[MASK]" + LONG),
                             ("encoder", sentences)]:
            for where in ({"truncate": False}, {"parameters": {"truncate": False}}):
                for path in f"/models/{name}", f"/models/{name}/invocations":
                    self.refused(path, {"inputs": inputs, **where}, r"found \d+ tokens, expected at most 64")
        inputs = {"qa": {"question": "who", "context": "a man"}, "mlm": "a [MASK]"}
        for name in self.names:
            if name in ("colbert", "ranks", "regression", "large"):
                continue
            body = {"inputs": inputs.get(name, "a man")}
            self.refused(f"/models/{name}", {**body, "parameters": 7}, "^`parameters` is a number, expected an object")
            self.refused(f"/models/{name}", {**body, "options": 7}, "^`options` is a number, expected an object")
            self.refused(f"/models/{name}", {**body, "parameters": {"nonsense": 1}},
                         "^`parameters.nonsense` is unknown")
            self.refused(f"/models/{name}", {**body, "nonsense": 1}, "^`nonsense` is unknown")
            self.refused(f"/models/{name}", {**body, "return_text": True}, "^`return_text` is unknown")
        self.refused("/models/classes", {"inputs": "a", "truncation_direction": "bogus"}, "is 'bogus', expected left")
        self.refused("/models/encoder", {"inputs": "a", "parameters": {"prompt_name": "zzz"}},
                     "^`prompt_name` is 'zzz', expected none")
        both = {"raw_scores": True, "function_to_apply": "none"}
        self.refused("/models/classes", {"inputs": "a", "parameters": both},
                     "^`parameters.raw_scores` cannot be given with function_to_apply")
        self.refused("/models/classes", {"inputs": "a", "parameters": {"top_k": 0}}, "^`parameters.top_k` is 0")

    def test_parameters_of_the_inference_protocol(self):
        tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": [LONG]}
        for parameters, pattern in [
            (7, "`parameters` is a number"), ({"trunc": False}, "`parameters.trunc` is unknown"),
            ({"truncate": "x"}, "`parameters.truncate` is or holds a string"),
            ({"truncate": False}, "expected at most 64"),
        ]:
            self.refused("/v2/models/classes/infer", {"inputs": [tensor], "parameters": parameters}, pattern)

    def test_models_for_retrieval(self):
        """Their own task, and no word of what they cannot do."""
        self.assertEqual(self.post("/models/splade", {"inputs": TEXTS}), self.post("/embed_sparse", {"inputs": TEXTS}))
        error = self.post("/models/colbert", {"inputs": "a"}, 424)["error"]
        self.assertRegex(error, "not an embedding model: colbert is .*, which gives a vector for each token")
        self.assertNotIn(str(self.dir), error)
        for name, kind, task in (("splade", {"embedding": {"pooling": "splade"}}, "sparse"),
                                 ("colbert", {"multi_vector": {}}, "multi-vector")):
            info = self.get(f"/models/{name}/info")
            self.assertEqual((info["model_type"], info["task"]), (kind, task))
            self.assertEqual(self.get(f"/v2/models/{name}")["outputs"], [])
            tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}
            error = self.post(f"/v2/models/{name}/infer", {"inputs": [tensor]}, 424)["error"]
            self.assertRegex(error, f"not an embedding model: {name} is")

    def test_the_mask_is_told(self):
        self.assertEqual(self.get("/models/mlm/info")["mask_token"], "[MASK]")
        self.assertNotIn("mask_token", self.get("/models/encoder/info"))

    def test_fills_have_a_limit(self):
        many = ["[MASK] " * 60] * 100
        self.refused("/models/mlm", {"inputs": many}, "^`inputs` have 6000 masks with 5 tokens for each, expected at "
                                                      "most 20000 in all")
        found = self.post("/models/mlm", {"inputs": many[:40], "parameters": {"targets": ["man", "dog", "man"]}})
        self.assertEqual((len(found), len(found[0]), len(found[0][0])), (40, 60, 2))
        self.refused("/models/large", {"inputs": many[:2], "parameters": {"targets": ["man"]}},
                     "^`parameters.targets` are for 120 masks, expected at most 69")
        self.refused("/models/mlm", {"inputs": "a [MASK]", "parameters": {"targets": []}}, "cannot be empty", 400)

    def test_the_best_of_targets(self):
        body = {"inputs": "a [MASK] is playing.", "parameters": {"targets": ["man", "dog"]}}
        both = self.post("/models/mlm", body)
        body["parameters"]["top_k"] = 1
        self.assertEqual(self.post("/models/mlm", body), both[:1])
        self.refused("/models/mlm", {"inputs": "a [MASK]", "parameters": {"targets": ["man dog"]}},
                     "^`parameters.targets` hold 'man dog', which is 2 tokens, expected one")
        [[_, word, _]] = self.post("/models/pieces/tokenize", {"inputs": "a"})  # U+2581 and it
        for target, is_word in ("a", False), ("\u2581a", True):
            [found] = self.post("/models/pieces", {"inputs": "the <mask>", "parameters": {"targets": target}})
            self.assertEqual((found["token"] == word["id"], found["token_str"]), (is_word, "a"))

    def test_sequences_have_no_padding(self):
        for name, text, expected in (("mlm", "a [MASK] [PAD] [MASK]", "[CLS] a [MASK] [SEP]"),
                                     ("pieces", "a <mask> <mask>", "<s> a<mask></s>")):
            pad = "[PAD]" if name == "mlm" else "<pad>"
            [[found], _] = self.post(f"/models/{name}", {"inputs": text, "parameters": {"targets": pad}})
            self.assertEqual((found["token_str"], found["sequence"]), (pad, expected))

    def test_sequences_are_cleaned_up(self):
        """As tokenizer_config.json asks for, beside a decoder that does not."""
        for name, expected in ("pieces", "a man 's dog ."), ("cleaned", "a man's dog."):
            [found] = self.post(f"/models/{name}", {"inputs": "a man 's dog . <mask>", "parameters": {"targets": "a"}})
            self.assertEqual(found["sequence"], expected + "a")

    def test_no_answer(self):
        """Where that is the most probable, and is asked for."""
        kinds = set()
        for text in "a", "two dogs eat", LONG + "a man plays music":
            [row] = self.infer(self.names["qa"], inputs=[["who plays", text]])
            inputs = {"question": "who plays", "context": text}
            found = self.post("/models/qa", {"inputs": inputs, "parameters": {"handle_impossible_answer": True}})
            kinds.add(none := row["no_answer"] > row["score"])
            self.assertEqual((found["answer"], found["score"]),
                             ("", row["no_answer"]) if none else (row["answer"], row["score"]))
        self.assertIn(True, kinds)

    def test_a_classifier_that_reads_the_end_of_a_text(self):
        [row] = self.infer(self.names["bart"], inputs=["a man plays"])
        [[found]] = self.post("/models/bart", {"inputs": "a man plays", "parameters": {"top_k": 1}})
        self.assertEqual((found["label"], found["score"]), (row["label"], row["probability"]))

    def test_several_answers(self):
        inputs = {"question": "who plays", "context": LONG + "a man plays music"}
        [row] = self.infer(self.names["qa"], "--top-k", "5", inputs=[list(inputs.values())])
        expected = [{"answer": span["answer"], "score": span["score"], "start": span["begin"], "end": span["end"]}
                    for span in (row, *row["others"])]
        ask = {"inputs": inputs, "parameters": {"top_k": 5}}
        self.assertEqual(self.post("/models/qa", ask), expected)
        self.assertEqual(self.post("/models/qa", {**ask, "inputs": [inputs]}), [expected])
        none = {"answer": "", "score": row["no_answer"], "start": 0, "end": 0}
        ask["parameters"]["handle_impossible_answer"] = True
        self.assertEqual(self.post("/models/qa", ask),
                         sorted([*expected, none], key=lambda span: -span["score"])[:5])
        one = {"inputs": {**inputs, "context": "dogs"}, "parameters": {"top_k": 2}}
        self.assertEqual([span["answer"] for span in self.post("/models/qa", one)], ["dogs"])
        self.refused("/models/qa", {"inputs": inputs, "parameters": {"top_k": 101}},
                     "^`parameters.top_k` is 101, expected a whole number from 1 to 100")

    def test_zero_shot(self):
        labels, form = ["music", "the beach", "dogs"], "it is {}."
        rows = self.infer(self.names["classes"],
                          inputs=[[TEXTS[0], form.format(label)] for label in labels])
        logits = [row["logits"] for row in rows]  # contradiction is the first, entailment the second
        for several in (False, True):
            parameters = {"candidate_labels": labels, "hypothesis_template": form,
                          "multi_label": several}
            found = self.post("/models/classes", {"inputs": TEXTS[0], "parameters": parameters})
            total = sum(math.exp(row[1]) for row in logits)
            expected = {label: math.exp(row[1]) / (math.exp(row[0]) + math.exp(row[1]) if several
                                                   else total)
                        for label, row in zip(labels, logits)}
            self.assertEqual({x["label"] for x in found}, set(labels))
            for one in found:
                self.assertAlmostEqual(one["score"], expected[one["label"]], places=6)
            self.assertEqual(found, sorted(found, key=lambda x: -x["score"]))
            self.assertEqual(self.post("/models/classes", {"inputs": TEXTS, "parameters": parameters}), [
                self.post("/models/classes", {"inputs": text, "parameters": parameters}) for text in TEXTS])
        for several in False, True:  # of one text with commas
            body = {"inputs": TEXTS[0], "parameters": {**parameters, "multi_label": several}}
            apart = self.post("/models/classes", body)
            body["parameters"] = {**body["parameters"], "candidate_labels": " music,the beach, ,dogs,"}
            self.assertEqual(self.post("/models/classes", body), apart)
        self.refused("/models/classes", {"inputs": "a", "parameters": {"candidate_labels": " , "}},
                     "candidate_labels` is empty")
        [only] = self.post("/models/classes", {"inputs": TEXTS[0], "parameters": parameters | {
            "candidate_labels": labels[0], "multi_label": False}})  # against its contradiction
        self.assertEqual(only["score"], next(x["score"] for x in found if x["label"] == labels[0]))

    def test_the_default_prompt_is_there_however_an_input_is_cut(self):
        usual = self.post("/models/prompted", {"inputs": "a man"})
        for field, value in ("truncate", False), ("truncation_direction", "right"):
            self.assertEqual(self.post("/models/prompted", {"inputs": "a man", field: value}), usual)

    def test_zero_shot_of_long_texts(self):
        """Only the text is truncated, and no prompt is put before it: bert-infer's numbers."""
        labels = ["music", "dogs eat " * 8]
        for name in "classes", "prompted":
            [row] = self.infer(self.names[name], "--task", "zero-shot", "--labels", ",".join(labels), inputs=[LONG])
            found = self.post(f"/models/{name}", {"inputs": LONG, "parameters": {"candidate_labels": labels}})
            self.assertEqual([(x["label"].strip(), x["score"]) for x in found],
                             [(x["label"].strip(), x["probability"]) for x in row["labels"]])
        self.refused("/models/classes", {"inputs": LONG, "truncate": False, "parameters": {"candidate_labels": labels}},
                     "^`inputs` has more than 64 tokens with a label's hypothesis")
        self.refused("/models/classes", {"inputs": "a", "parameters": {"candidate_labels": labels,
                                                                       "hypothesis_template": "it"}},
                     "the hypothesis is 'it', expected {} once")
        self.refused("/models/classes", {"inputs": "a", "parameters": {"candidate_labels": ["a"] * 5000}},
                     "^batch size 5000 > maximum allowed batch size ")


    def test_fills_without_a_token(self):
        """Of a vocabulary that is larger than the tokenizer's, as in the others' pipelines."""
        fills = self.post("/models/padded", {"inputs": "a [MASK] is", "parameters": {"top_k": 197}})
        self.assertEqual([fill["sequence"] for fill in fills if fill["token_str"] == ""], ["a is"] * 3)

    def test_tokens_of_a_document(self):
        """max_tokens_per_doc cuts documents, not the query."""
        body = {"model": "ranks", "query": "who eats two dogs"}
        whole, cut = (self.post("/v2/rerank", {**body, "documents": texts, **more})["results"] for texts, more in (
            (["two dogs", "dogs"], {}), (["two dogs eat a man", "dogs"], {"max_tokens_per_doc": 2})))
        self.assertEqual(cut, whole)
        query = "who eats two dogs " * 12  # for which there is room beside short documents alone
        short, long = (self.post("/v2/rerank", {**body, "query": query, "documents": texts, **more})["results"]
                       for texts, more in ((["two dogs"], {}), (["two dogs " * 99], {"max_tokens_per_doc": 2})))
        self.assertEqual(long, short)
        many = {**body, "documents": ["two dogs", "dogs"], "max_tokens_per_doc": 4096}
        self.assertEqual(self.post("/v2/rerank", many)["results"], whole)
        self.assertRegex(self.post("/v2/rerank", {**many, "max_tokens_per_doc": 0}, 422)["message"],
                         "^`max_tokens_per_doc` is 0, expected ")


class Spans(ServeTest):
    """Labels that mark whole spans, and others that only look like it."""
    @classmethod
    def models(cls):
        return [f"{name}={cls.make_model(name, '--head', 'tokens', '--labels', '5', '--label-names', labels)}"
                for name, labels in (("whole", "O,B-A,I-A,E-A,S-A"), ("parts", "O,B-A,E-A,S-A,I-B"))]

    def test_default_aggregation(self):
        def entities(name, *options):
            [row] = self.infer(self.dir / name, *options, inputs=[LONG + TEXTS[0]])
            return [(x["begin"], x["end"], x["probability"]) for x in row["entities"]]
        for name, usual in ("whole", "auto"), ("parts", "simple"):
            self.assertNotEqual(entities(name, "--aggregation", "auto"), entities(name, "--aggregation", "simple"))
            found = self.post(f"/models/{name}", {"inputs": LONG + TEXTS[0]})
            self.assertEqual([(x["start"], x["end"], x["score"]) for x in found],
                             entities(name, "--aggregation", usual))


class Uncut(ServeTest):
    """--auto-truncate false is for every route whose requests do not say it."""
    options = ("--auto-truncate", "false")

    @classmethod
    def models(cls):
        return [f"ranks={cls.make_model('ranks', '--labels', '1')}",
                f"colbert={cls.make_model('colbert', '--head', 'none', '--prefix', '--retrieval', 'colbert')}"]

    def test_routes(self):
        body = {"query": "a", "documents": ["b", LONG]}
        self.assertRegex(self.post("/v2/rerank", body, 422)["message"], "expected at most 64")
        self.assertRegex(self.post("/v1/rerank", body, 422)["detail"], "expected at most 64")
        self.assertTrue(self.post("/v1/rerank", {**body, "truncation": True}))
        for role in "query", "document":
            answer = self.post("/v1/multi-vector", {"input": ["b", LONG], "input_type": role}, 422)
            self.assertRegex(answer["detail"], r"^`input` holds a text of more than \d+ tokens")


if __name__ == "__main__":
    main()
