#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-serve's answers, on every route, are bert-infer's. Usage: routes_test.py BIN_DIR"""
import base64
import json
import math
import re
import struct

from serving import ServeTest, floats, main

TEXTS = ["a man is playing the guitar.", "two dogs", "the é café, and more 日本"]
LONG = "dogs eat " * 60  # more than the models' 64 positions


class Routes(ServeTest):
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
            "splade": cls.make_model("splade", "--head", "mlm", "--retrieval", "splade"),
            "colbert": cls.make_model("colbert", "--head", "none", "--prefix", "--retrieval", "colbert"),
        }
        return [f"{name}={path}" for name, path in cls.names.items()]

    def embeddings(self, *options, texts=TEXTS, model="encoder"):
        rows = self.infer(self.names[model], "--task", "embed", *options, inputs=texts)
        return [row["embedding"] for row in rows]

    # OpenAI

    def test_openai_embeddings(self):
        expected = self.embeddings("--normalize")
        answer = self.post("/v1/embeddings", {"input": TEXTS, "model": "encoder"})
        self.assertEqual(answer["object"], "list")
        self.assertEqual(answer["model"], "encoder")
        self.assertEqual([row["embedding"] for row in answer["data"]], expected)
        self.assertEqual([row["index"] for row in answer["data"]], [0, 1, 2])
        tokens = sum(row["tokens"] for row in self.infer(self.names["encoder"], inputs=TEXTS))
        self.assertEqual(answer["usage"], {"prompt_tokens": tokens, "total_tokens": tokens})
        one = self.post("/embeddings", {"input": TEXTS[0], "encoding_format": "base64", "user": "me"})
        data = base64.b64decode(one["data"][0]["embedding"], validate=True)
        self.assertEqual(list(struct.unpack(f"<{len(data) // 4}f", data)),
                         floats(expected[0]).tolist())

    def test_openai_dimensions(self):
        for size in (1, 2, 5, 7):  # with each end of base64
            [expected] = self.embeddings("--truncate-dim", str(size), "--normalize", texts=TEXTS[:1])
            for form in ("float", "base64"):
                answer = self.post("/v1/embeddings", {"input": TEXTS[0], "dimensions": size,
                                                      "encoding_format": form})
                found = answer["data"][0]["embedding"]
                if form == "base64":
                    found = struct.unpack(f"<{size}f", base64.b64decode(found, validate=True))
                self.assertEqual(floats(found).tolist(), floats(expected).tolist())

    def test_token_ids(self):
        ids = [row["ids"] for row in self.infer(self.names["encoder"], "--task", "tokens",
                                                inputs=TEXTS)]
        expected = self.embeddings("--normalize")
        answer = self.post("/v1/embeddings", {"input": ids})
        self.assertEqual([row["embedding"] for row in answer["data"]], expected)
        answer = self.post("/v1/embeddings", {"input": ids[0]})
        self.assertEqual([row["embedding"] for row in answer["data"]], expected[:1])
        self.assertEqual(self.post("/embed", {"inputs": [ids[0], TEXTS[1]]}), expected[:2])

    def test_models(self):
        answer = self.get("/v1/models")
        self.assertEqual([entry["id"] for entry in answer["data"]], list(self.names))

    # text-embeddings-inference

    def test_embed(self):
        expected = self.embeddings("--normalize")
        self.assertEqual(self.post("/embed", {"inputs": TEXTS}), expected)
        self.assertEqual(self.post("/embed", {"inputs": TEXTS[0]}), expected[:1])
        raw = self.post("/embed", {"inputs": TEXTS, "normalize": False, "truncate": None})
        self.assertEqual(raw, self.embeddings())
        shorter = self.post("/embed", {"inputs": TEXTS, "dimensions": 3})
        self.assertEqual(shorter, self.embeddings("--truncate-dim", "3", "--normalize"))
        quoted = 'a man": [{\\'
        self.assertEqual(self.post("/embed", {"inputs": quoted}), self.embeddings("--normalize", texts=[quoted]))

    def test_embed_all(self):
        expected = [row["hidden"] for row in self.infer(self.names["encoder"], "--task", "hidden",
                                                        inputs=TEXTS)]
        self.assertEqual(self.post("/embed_all", {"inputs": TEXTS}), expected)
        self.assertEqual(self.post("/embed_all", {"inputs": TEXTS[0]}), expected[:1])

    def test_embed_sparse(self):
        expected = [[{"index": each["id"], "value": each["weight"]} for each in row["sparse"]]
                    for row in self.infer(self.names["splade"], "--task", "sparse", inputs=TEXTS)]
        found = self.post("/embed_sparse", {"inputs": TEXTS})
        by_id = lambda row: sorted(row, key=lambda each: each["index"])  # noqa: E731
        self.assertEqual(list(map(by_id, found)), list(map(by_id, expected)))
        self.assertTrue(all(found))
        error = self.post("/models/splade/embed", {"inputs": "a"}, 424)
        self.assertIn("not an embedding model: splade is", error["error"])

    def test_multi_vector(self):
        model = self.names["colbert"]
        for role in "query", "document":
            rows = self.infer(model, "--task", "multi-vector", "--role", role, inputs=TEXTS)
            answer = self.post("/v1/multi-vector", {"input": TEXTS, "input_type": role})
            self.assertEqual([row["embeddings"] for row in answer["data"]], [row["vectors"] for row in rows])
            self.assertEqual((answer["object"], answer["model"]), ("list", "colbert"))
            self.assertEqual(answer["usage"]["total_tokens"], sum(row["tokens"] for row in rows))
        one = self.post("/v1/multi-vector", {"input": TEXTS[0]})
        self.assertEqual(one["data"], answer["data"][:1])
        cut = self.post("/v1/multi-vector", {"input": TEXTS[0], "dimensions": 3})
        for found, whole in zip(cut["data"][0]["embeddings"], one["data"][0]["embeddings"], strict=True):
            length = math.hypot(*whole[:3])
            for x, y in zip(found, whole[:3], strict=True):
                self.assertAlmostEqual(x, y / length, places=5)
        for field, value in ("input_type", "passage"), ("dimensions", 1000), ("embedding_type", "base64"):
            error = self.post("/v1/multi-vector", {"input": "a", field: value}, 422)
            self.assertIn(f"`{field}`", error["detail"])
        error = self.post("/models/mlm/v1/multi-vector", {"input": "a"}, 424)
        self.assertIn("not a multi-vector model: mlm is", error["detail"])

    def test_truncation(self):
        self.assertEqual(self.post("/embed", {"inputs": LONG}), self.embeddings("--normalize", texts=[LONG]))
        right = self.post("/embed", {"inputs": LONG, "truncation_direction": "right"})
        self.assertEqual(right, self.embeddings("--normalize", texts=[LONG]))
        [whole] = self.post("/tokenize", {"inputs": "first " + LONG})
        ids = [token["id"] for token in whole]
        left = self.post("/embed", {"inputs": "first " + LONG, "truncation_direction": "Left"})
        self.assertEqual(left, self.post("/embed", {"inputs": [[ids[0], *ids[-63:]]]}))
        error = self.post("/embed", {"inputs": ["a", LONG], "truncate": False}, 422)
        [tokens] = self.post("/tokenize", {"inputs": LONG})
        self.assertIn(f"found {len(tokens)} tokens, expected at most 64", error["error"])
        self.assertEqual(error["error_type"], "Validation")

    def test_pairs_are_truncated_as_by_the_tokenizer(self):
        model = self.names["classes"]
        for pair in ([LONG, "a man"], ["a man", LONG], [LONG, LONG]):
            [expected] = self.infer(model, inputs=[pair])
            for direction in (None, "right"):
                answer = self.post("/predict", {"inputs": pair, "raw_scores": True, "model": "classes",
                                                "truncation_direction": direction})
                self.assertEqual(sorted(label["score"] for label in answer),
                                 sorted(expected["logits"]))

    def test_predict(self):
        pair = ["a man plays", "a dog eats"]
        expected = [row["labels"] for row in self.infer(
            self.names["classes"], "--top-k", "3", inputs=[[TEXTS[0]], pair])]
        found = self.post("/predict", {"inputs": [[TEXTS[0]], pair], "model": "classes"})
        as_infer = [[{"label": x["label"], "probability": x["score"]} for x in one] for one in found]
        self.assertEqual(as_infer, expected)
        self.assertEqual(self.post("/predict", {"inputs": TEXTS[0]}), found[0])
        self.assertEqual(self.post("/predict", {"inputs": pair}), found[1])
        [raw] = self.infer(self.names["classes"], inputs=[pair])
        answer = self.post("/predict", {"inputs": pair, "raw_scores": True})
        self.assertEqual([x["score"] for x in answer], sorted(raw["logits"], reverse=True))

    def test_rerank(self):
        query, texts = "who eats", ["a man", "two dogs eat", "the beach", "dogs"]
        rows = self.infer(self.names["ranks"], inputs=[[query, text] for text in texts])
        order = sorted(range(4), key=lambda i: -rows[i]["logits"][0])
        answer = self.post("/rerank", {"query": query, "texts": texts})
        self.assertEqual(answer, [{"index": i, "score": rows[i]["probability"]} for i in order])
        answer = self.post("/rerank", {"query": query, "texts": texts, "raw_scores": True,
                                       "return_text": True})
        self.assertEqual(answer, [{"index": i, "text": texts[i], "score": rows[i]["logits"][0]}
                                  for i in order])

        body = {"model": "ranks", "query": query, "documents": texts, "top_n": 2}
        cohere = self.post("/v2/rerank", body)
        self.assertEqual(cohere["results"], [{"index": i, "relevance_score": rows[i]["probability"]}
                                             for i in order[:2]])
        self.assertEqual(cohere["meta"]["api_version"], {"version": "2"})
        jina = self.post("/v1/rerank", {**body, "documents": [{"text": text} for text in texts]})
        self.assertEqual(jina["results"], [
            {"index": i, "relevance_score": rows[i]["probability"], "document": {"text": texts[i]}}
            for i in order[:2]])
        self.assertEqual(jina["model"], "ranks")
        self.assertEqual(jina["usage"], {"total_tokens": sum(row["tokens"] for row in rows)})
        brief = self.post("/v1/rerank", {**body, "return_documents": False})
        self.assertEqual(brief["results"], cohere["results"])

    def test_similarity(self):
        others = ["a dog", "two men", "the beach"]
        expected = [row["similarity"] for row in self.infer(
            self.names["encoder"], "--task", "similarity", inputs=[[TEXTS[0], x] for x in others])]
        inputs = {"source_sentence": TEXTS[0], "sentences": others}
        self.assertEqual(self.post("/similarity", {"inputs": inputs}), expected)
        self.assertEqual(self.post("/", {"inputs": inputs, "parameters": {"truncate": True}}), expected)

    def test_tokenize(self):
        rows = self.infer(self.names["encoder"], "--task", "tokens", inputs=TEXTS)
        for text, row, found in zip(TEXTS, rows, self.post("/tokenize", {"inputs": TEXTS}), strict=True):
            self.assertEqual([token["id"] for token in found], row["ids"])
            for token, name, (begin, end) in zip(found, row["tokens"], row["offsets"]):
                if token["special"]:
                    self.assertEqual((token["text"], token["start"], token["stop"]), (name, None, None))
                    continue
                self.assertEqual(token["text"], text[begin:end])
                self.assertEqual(text.encode()[token["start"]:token["stop"]].decode(), token["text"])
            self.assertEqual([token["special"] for token in found],
                             [i in (0, len(found) - 1) for i in range(len(found))])
        [bare] = self.post("/tokenize", {"inputs": TEXTS[0], "add_special_tokens": False})
        self.assertEqual([token["id"] for token in bare], rows[0]["ids"][1:-1])

    def test_decode(self):
        [row] = self.infer(self.names["encoder"], "--task", "tokens", inputs=TEXTS[:1])
        self.assertEqual(self.post("/decode", {"ids": row["ids"]}), TEXTS[:1])
        found = self.post("/decode", {"ids": [row["ids"]], "skip_special_tokens": False})
        self.assertEqual(found, [f"[CLS] {TEXTS[0]} [SEP]"])

    def test_info(self):
        info = self.get("/info")
        self.assertEqual(info["model_id"], "encoder")
        self.assertEqual(info["model_type"], {"embedding": {"pooling": "mean"}})
        self.assertEqual((info["max_input_length"], info["model_dtype"]), (64, "float32"))
        info = self.get("/models/classes/info")
        self.assertEqual(info["model_type"]["classifier"]["label2id"], {"yes": 0, "entailment": 1, "maybe": 2})
        self.assertEqual(list(self.get("/models/ranks/info")["model_type"]), ["reranker"])

    def test_headers(self):
        status, headers, _ = self.server.request("POST", "/embed", {"inputs": ["a man", "é"]}, {"X-Request-Id": "m"})
        self.assertEqual(status, 200)
        self.assertEqual(headers["x-request-id"], "m")
        self.assertEqual(headers["x-compute-characters"], "6")
        for name in ("compute-time", "compute-tokens", "total-time", "tokenization-time",
                     "queue-time", "inference-time"):
            self.assertRegex(headers["x-" + name], r"^\d+$")

    # Hugging Face

    def test_text_classification(self):
        [expected] = self.infer(self.names["classes"], "--top-k", "3", inputs=TEXTS[:1])
        labels = [{"label": x["label"], "score": x["probability"]} for x in expected["labels"]]

        def same(found, wanted):
            self.assertEqual([{"label": x["label"], "score": x["score"]} for x in found], wanted)
        [found] = self.post("/models/classes", {"inputs": TEXTS[0], "options": {"use_cache": False}})
        same(found, labels)
        [found] = self.post("/models/classes", {"inputs": TEXTS[0], "parameters": {"top_k": 1}})
        same(found, labels[:1])
        self.assertEqual(self.post("/models/classes", {"inputs": TEXTS}),
                         [self.post("/models/classes", {"inputs": text})[0] for text in TEXTS])
        [found] = self.post("/models/classes", {"inputs": TEXTS[0],
                                                "parameters": {"function_to_apply": "sigmoid"}})
        for one, logit in zip(found, sorted(expected["logits"], reverse=True), strict=True):
            self.assertAlmostEqual(one["score"], 1 / (1 + math.exp(-logit)), places=6)

    def test_token_classification(self):
        for strategy in ("simple", "first", "average", "max", "none"):
            [row] = self.infer(self.names["tags"], "--aggregation", strategy, inputs=[LONG + TEXTS[0]])
            key = "entity" if strategy == "none" else "entity_group"
            expected = [{key: x["label"], "score": x["probability"], "word": x["string"],
                         "start": x["begin"], "end": x["end"]} for x in row["entities"]]
            self.assertTrue(expected)
            body = {"inputs": LONG + TEXTS[0], "parameters": {"aggregation_strategy": strategy}}
            self.assertEqual(self.post("/models/tags", body), expected)
        body["parameters"] = {"aggregation_strategy": "none", "ignore_labels": ["O", "B-WHO"]}
        self.assertEqual(self.post("/pipeline/token-classification", body),
                         [x for x in expected if x["entity"] != "B-WHO"])
        texts = [LONG + TEXTS[0], *TEXTS]
        self.assertEqual(self.post("/models/tags", {**body, "inputs": texts}),
                         [self.post("/models/tags", {**body, "inputs": text}) for text in texts])
        [row] = self.infer(self.names["tags"], "--aggregation", "none", "--stride", "0", inputs=[LONG + TEXTS[0]])
        body["parameters"] = {"aggregation_strategy": "none", "stride": 0}
        self.assertEqual([x["score"] for x in self.post("/models/tags", body)],
                         [x["probability"] for x in row["entities"]])
        _, headers, _ = self.server.request("POST", "/models/tags", body)
        self.assertEqual(headers["X-Compute-Tokens"], str(row["tokens"]))

    def test_question_answering(self):
        pair = ["who plays", LONG + "a man plays music"]
        [row] = self.infer(self.names["qa"], inputs=[pair])
        expected = {"answer": row["answer"], "score": row["score"], "start": row["begin"],
                    "end": row["end"]}
        inputs = {"question": pair[0], "context": pair[1]}
        self.assertEqual(self.post("/models/qa", {"inputs": inputs}), expected)
        self.assertEqual(self.post("/", {"inputs": inputs}), expected)
        other = {"question": "what", "context": "two dogs on the beach"}
        self.assertEqual(self.post("/models/qa", {"inputs": [inputs, other]}),
                         [expected, self.post("/models/qa", {"inputs": other})])
        [row] = self.infer(self.names["qa"], "--stride", "9", "--answer-tokens", "1", inputs=[pair])
        found = self.post("/models/qa", {"inputs": inputs, "parameters": {"doc_stride": 9,
                                                                          "max_answer_len": 1}})
        self.assertEqual((found["answer"], found["score"]), (row["answer"], row["score"]))

    def test_fill_mask(self):
        [row] = self.infer(self.names["mlm"], "--top-k", "3", inputs=["a [MASK] is playing."])
        [mask] = row["masks"]
        found = self.post("/models/mlm", {"inputs": "a [MASK] is playing.", "parameters": {"top_k": 3}})
        self.assertEqual([(x["score"], x["token"]) for x in found],
                         [(x["probability"], x["id"]) for x in mask["fills"]])
        for one in found:
            self.assertEqual([one["token_str"]], self.post(
                "/models/mlm/decode", {"ids": [one["token"]], "skip_special_tokens": False}))
        [tokens] = self.post("/models/mlm/tokenize", {"inputs": "a man is playing."})
        ids = [token["id"] for token in tokens]
        ids[2] = found[0]["token"]
        self.assertEqual([found[0]["sequence"]], self.post("/models/mlm/decode", {"ids": ids}))
        two = self.post("/models/mlm", {"inputs": "a [MASK] is [MASK]."})
        self.assertEqual([len(one) for one in two], [5, 5])
        for x in two[0]:  # the other mask is shown, and so are [CLS] and its like
            self.assertRegex(x["sequence"], r"^\[CLS\] .* \[MASK\].* \[SEP\]$")
        targets = self.post("/models/mlm", {"inputs": "a [MASK] is playing.",
                                            "parameters": {"targets": ["man", "dog"]}})
        self.assertEqual({x["token_str"] for x in targets}, {"man", "dog"})
        self.assertGreater(targets[0]["score"], targets[1]["score"])
        error = self.post("/models/mlm", {"inputs": "a man"}, 422)
        self.assertEqual(error["error"], "No mask_token ([MASK]) found on the input")

    # Open Inference Protocol

    def test_inference_protocol(self):
        self.assertEqual(self.get("/v2")["name"], "bert-serve")
        self.assertEqual(self.get("/v2/health/live"), {"live": True})
        self.assertEqual(self.get("/v2/health/ready"), {"ready": True})
        self.assertTrue(self.get("/v2/models/classes/ready")["ready"])
        outputs = self.get("/v2/models/classes")["outputs"]
        self.assertEqual([output["name"] for output in outputs], ["logits", "probabilities"])
        pairs = [["a man plays", "a dog"], ["two dogs", "the beach"]]
        tensor = {"name": "text", "datatype": "BYTES", "shape": [2, 2], "data": pairs}
        answer = self.post("/v2/models/classes/infer", {"id": "7", "inputs": [tensor]})
        rows = self.infer(self.names["classes"], inputs=pairs)
        self.assertEqual((answer["id"], answer["model_name"]), ("7", "classes"))
        logits, probabilities = answer["outputs"]
        self.assertEqual(logits, {"name": "logits", "datatype": "FP32", "shape": [2, 3],
                                  "data": [x for row in rows for x in row["logits"]]})
        powers = [[math.exp(x) for x in row["logits"]] for row in rows]
        self.assertEqual(list(probabilities.values())[:3], ["probabilities", "FP32", [2, 3]])
        for found, wanted in zip(probabilities["data"], [x / sum(row) for row in powers for x in row], strict=True):
            self.assertAlmostEqual(found, wanted, places=6)
        ids = [row["ids"] for row in self.infer(self.names["encoder"], "--task", "tokens",
                                                inputs=["a man", "two dogs"])]
        tensor = {"name": "input_ids", "datatype": "INT64", "shape": [2, 4], "data": ids[0] + ids[1]}
        answer = self.post("/v2/models/encoder/infer", {"inputs": [tensor], "outputs": [{"name": "embedding"}]})
        self.assertEqual(answer["outputs"][0]["data"], sum(self.embeddings(texts=["a man", "two dogs"]), []))

    # What the server says of itself

    def test_description(self):
        api = self.get("/openapi.json")
        self.assertEqual(api["openapi"], "3.1.0")
        for path, methods in api["paths"].items():
            for method, operation in methods.items():
                with self.subTest(f"{method} {path}"):
                    self.assertTrue(operation["summary"])
                    if "requestBody" in operation:
                        self.example(path, operation["requestBody"]["content"]["application/json"])
        fields = {path: methods["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
                  for path, methods in api["paths"].items() if "requestBody" in methods.get("post", {})}
        self.assertEqual(fields["/v1/embeddings"]["dimensions"]["minimum"], 1)
        self.assertEqual(fields["/v2/rerank"]["top_n"]["type"], ["integer", "null"])
        self.assertEqual(fields["/v1/rerank"]["documents"]["items"]["oneOf"][1]["required"], ["text"])
        self.assertIn("doc_stride", fields["/pipeline/question-answering"]["parameters"]["properties"])
        page = self.server.request("GET", "/docs")[2].decode()
        for path in api["paths"]:
            self.assertIn(path, page)

    def example(self, path: str, content: dict):
        """Every example is answered, by the model that is for it."""
        names = {"/predict": "classes"}
        path = path.replace("{model}", "classes")
        if path in names:
            path = f"/models/{names[path]}{path}"
        status, _, text = self.server.request("POST", path, content["example"])
        self.assertEqual(status, 200, text)

    def test_metrics(self):
        before = self.server.metric('te_request_success{method="single"}')
        self.post("/embed", {"inputs": "a man"})
        self.assertEqual(self.server.metric('te_request_success{method="single"}'), before + 1)
        before = self.server.metric('bert_serve_responses_total{status="404"}')
        self.get("/nothing", 404)
        self.assertEqual(self.server.metric('bert_serve_responses_total{status="404"}'), before + 1)
        text = self.server.request("GET", "/metrics")[2].decode()
        self.assertIn("te_queue_size 0\n", text)
        buckets = [float(count) for count in re.findall(r'te_request_duration_bucket\{le="\S+"\} (\S+)', text)]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], self.server.metric("te_request_duration_count"))
        self.assertGreater(buckets[-1], 0)
        self.assertGreater(self.server.metric('te_batch_next_size_bucket{le="+Inf"}'), 0)
        names = set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                names.add(line.split()[2])
            elif not line.startswith("#"):
                self.assertRegex(line, r'^[a-z_]+(\{[a-z]+="[^"]*"\})? [-+.e\w]+$')
        for name in ("count", "success", "failure", "duration", "queue_duration", "input_length",
                     "inference_duration", "tokenization_duration"):
            self.assertIn("te_request_" + name, names)


if __name__ == "__main__":
    main()
