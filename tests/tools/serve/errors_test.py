#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What bert-serve refuses, and how it says it; its options, start and end. Usage: errors_test.py BIN_DIR"""
import json
import os
import resource
import signal
import socket
import subprocess
import time

from serving import ServeTest, main


class Refusals(ServeTest):
    options = ("--max-client-batch", "4", "--max-body", "3000", "--auto-truncate", "false")

    @classmethod
    def models(cls):
        cls.encoder = cls.make_model("encoder", "--head", "none")
        return [f"encoder={cls.encoder}", f"classes={cls.model}"]

    def refused(self, path: str, body, status: int, pattern: str, error_type="Validation"):
        answer = self.post(path, body, status)
        self.assertEqual(sorted(answer), ["error", "error_type"])
        self.assertRegex(answer["error"], pattern)
        self.assertEqual(answer["error_type"], error_type)

    def test_bodies_that_are_no_json(self):
        self.refused("/embed", "", 400, "the body is empty, expected JSON")
        self.refused("/embed", '{"inputs": ', 400, "not JSON at byte 11: .*unexpected end of input")
        self.refused("/embed", '{"inputs": "a"} {', 400, "not JSON at byte 16")
        self.refused("/embed", b'{"inputs": "\xff"}', 400, "not JSON at byte 12: .*UTF-8")
        self.refused("/embed", '{"inputs": "a", "truncate": true, "inputs": "b"}', 422, "`inputs` is there twice")
        self.refused("/embed", r'{"inputs": "\ud800"}', 400, "surrogate")
        self.refused("/embed", "[" * 2000, 400, "nested more than 16 deep")
        self.refused("/embed", "1e999999", 400, "out of range")
        self.refused("/embed", '{"inputs": "a"}\0{"inputs": "b"}', 400, "not JSON at byte 15: the byte is 0")
        self.refused("/embed", "[1, 2]", 422, "the body is an array, expected an object")

    def test_fields(self):
        for body, pattern in [
            ({}, "^`inputs` is missing$"),
            ({"inputs": None}, "^`inputs` is missing$"),
            ({"input": "a"}, "^`input` is unknown, expected inputs, normalize, dimensions, "),
            ({"inputs": 3}, "^`inputs` is or holds a number, expected a string, an array of token ids"),
            ({"inputs": "a", "in\0put": 1}, r"^`in\\x00put` is unknown, expected inputs, "),
            ({"inputs": ["a", 3]}, "^`inputs` is or holds a number"),
            ({"inputs": [3, "a"]}, "^`inputs` is or holds a string, expected only token ids"),
            ({"inputs": [3, -1]}, "the token id -1, expected one from 0 to "),
            ({"inputs": [3, 10**30]}, "`inputs` is or holds a number, expected only token ids"),
            ({"inputs": [3, 2**64 - 1]}, "`inputs` holds 18446744073709551615, which is no token id"),
            ({"inputs": [7] * 65}, "`inputs` holds 65 token ids, expected at most 64"),
            ({"inputs": "a", "normalize": "yes"}, "`normalize` is or holds a string, expected true or"),
            ({"inputs": "a", "dimensions": 0}, "`dimensions` is 0, expected a whole number from 1 to 16"),
            ({"inputs": "a", "dimensions": 17}, "is 17, expected"),
            ({"inputs": "a", "dimensions": 1.5}, "is 1.5, expected"),
            ({"inputs": "a", "truncation_direction": "up"}, "is 'up', expected left or right"),
            ({"inputs": "a", "prompt_name": "query"}, "is 'query', expected none"),
            ({"inputs": [3], "prompt_name": "query"}, "^`prompt_name` cannot be given with token ids$"),
            ({"inputs": "a", "model": 7}, "`model` is or holds a number, expected a string"),
            ({"inputs": "dogs " * 100}, r"input 0: found \d+ tokens, expected at most 64, as truncation is off"),
            ({"inputs": ["a"] * 5}, "^batch size 5 > maximum allowed batch size 4$"),
        ]:
            with self.subTest(body):
                self.refused("/embed", body, 422, pattern)
        self.refused("/embed", {"inputs": []}, 400, "`inputs` cannot be empty", "Empty")
        self.refused("/embed", {"inputs": [[]]}, 400, "^`inputs` holds no token ids", "Empty")
        self.refused("/decode", {"ids": [3, 999]}, 422, "^`ids` holds the token id 999, expected one from 0 ")
        most = int(self.post("/embed", {"inputs": [999]}, 422)["error"].rsplit(" ", 1)[1])
        self.post("/embed", {"inputs": [most]})
        self.refused("/embed", {"inputs": [most + 1]}, 422, f"holds the token id {most + 1}, expected one from 0 to")
        sentences = {"source_sentence": "a", "sentences": ["a"] * 4}
        self.refused("/similarity", {"inputs": sentences}, 422, "^batch size 5 > maximum allowed batch size 4$")
        error = self.post("/v1/embeddings", {"input": [3, 999]}, 400)["error"]
        self.assertEqual(error["param"], "input")
        self.assertRegex(error["message"], "^`input` holds the token id 999")
        self.refused("/predict", {"inputs": ["a", "b", "c"]}, 422, "expected a string, a pair")
        self.refused("/models/classes", {"inputs": {"text": "a"}}, 422, "is or holds an object, expected a string")
        self.refused("/decode", {"ids": [[1], 2]}, 422, "`ids` is or holds a number")
        self.refused("/similarity", {"inputs": {"source_sentence": "a"}}, 422,
                     "`inputs.sentences` is missing")
        self.refused("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}}, 400,
                     "cannot be empty", "Empty")

    def test_models(self):
        self.refused("/rerank", {"query": "a", "texts": ["b"]}, 424,
                     "none of the models encoder, classes is a re-ranker model", "Backend")
        self.refused("/models/encoder/predict", {"inputs": "a"}, 424,
                     "not a sequence classification model: encoder is BertModel, which embeds texts",
                     "Backend")
        self.refused("/embed", {"inputs": "a", "model": "other"}, 404,
                     "there is no model 'other', expected one of: encoder, classes", "NotFound")
        self.refused("/models/other/embed", {"inputs": "a"}, 404, "no model 'other'", "NotFound")
        for name in "classes", "other":
            self.refused("/models/encoder/embed", {"inputs": "a", "model": name}, 422,
                         f"`model` is '{name}', but the path names encoder")
        self.refused("/models/encoder/embed", {"inputs": "a", "model": 7}, 422, "`model` is or holds a number")
        self.assertTrue(self.post("/models/encoder/embed", {"inputs": "a", "model": "encoder"}))
        self.refused("/embed_sparse", {"inputs": "a"}, 424, "is a sparse embedding model", "Backend")

    def test_each_dialect_spells_errors(self):
        error = self.post("/v1/embeddings", {"input": "a", "model": "text-embedding-3-small"}, 404)["error"]
        self.assertEqual((error["type"], error["param"], error["code"]),
                         ("invalid_request_error", "model", "model_not_found"))
        error = self.post("/v1/embeddings", {"input": "a", "dimensions": 99}, 400)["error"]
        self.assertEqual((error["param"], error["code"]), ("dimensions", None))
        documents = {"query": "a", "documents": []}
        self.assertEqual(list(self.post("/v2/rerank", documents, 424)), ["message"])
        self.assertEqual(list(self.post("/v1/rerank", documents, 424)), ["detail"])
        for tensor, pattern in [
            ({"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a"]}, "1 elements, expected 2"),
            ({"name": "text", "datatype": "FP32", "shape": [1], "data": [1]}, "is FP32, expected BYTES"),
            ({"name": "words", "datatype": "BYTES", "shape": [1], "data": ["a"]}, "expected text or"),
            ({"name": "text", "datatype": "BYTES", "shape": [1 << 31, 1 << 31], "data": ["a"]},
             "expected"),
        ]:
            answer = self.post("/v2/models/classes/infer", {"inputs": [tensor]}, 422)
            self.assertEqual(list(answer), ["error"])
            self.assertRegex(answer["error"], pattern)
        text = {"name": "text", "datatype": "BYTES"}
        outputs = [{"name": "logits", "parameters": {"binary_data": True}}]
        answers = []
        for shape, data, pattern in [
            ([2, 2], [["a"], ["b", "c", "d"]], "^`inputs.0..data` has a row of 1 elements, expected 2 by its shape$"),
            ([2], [["a", "b"]], "a row of 2 elements, expected 1"), ([1, 2], [[["a"], ["b"]]], "holds an array"),
            ([2, 2], [["a", "b"], "c", "d"], "neither flat nor"), ([2, 2], ["a", "b", ["c", "d"]], "neither flat"),
            ([2, 2], [["a", "b"]], "holds 2 elements, expected 4"), ([2, 1], ["a", "b"], None),
            ([2, 1], [["a"], ["b"]], None), ([2], [["a"], ["b"]], None),
        ]:
            body = {"inputs": [text | {"shape": shape, "data": data}], "id": "", "outputs": outputs}
            answer = self.post("/v2/models/classes/infer", body, 422 if pattern else 200)
            answers += [] if pattern else [answer]
            self.assertRegex(answer.get("error", ""), pattern or "^$")
        self.assertEqual(answers[1:], answers[:-1])
        body["outputs"] = [{"name": "logits", "parameters": {"classification": 2}}]
        self.assertEqual(self.post("/v2/models/classes/infer", body, 422)["error"],
                         "`outputs.parameters.classification` is unknown, expected content_type, binary_data")
        # Also where there is no such route, method or model.
        for method, path, status, keys in [
            ("GET", "/v2/models/nope", 404, ["error"]), ("GET", "/v2/rerank", 405, ["message"]),
            ("GET", "/v1/rerank/", 405, ["detail"]), ("POST", "/models/nope/v2/rerank", 404, ["message"]),
            ("GET", "/embed", 405, ["error", "error_type"]),
        ]:
            found, _, text = self.server.request(method, path, "{}")
            self.assertEqual((found, list(json.loads(text))), (status, keys), path)
        for method, path, code in [("GET", "/embeddings", None), ("POST", "/v1/nope", "unknown_url"),
                                   ("POST", "/models/nope/v1/embeddings", "model_not_found")]:
            self.assertEqual(json.loads(self.server.request(method, path, "{}")[2])["error"]["code"], code)

    def test_what_clients_of_the_open_inference_protocol_send(self):
        """KServe's, Triton's and MLServer's."""
        body = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}], "id": "1"}
        path = "/v2/models/classes/infer"
        expected = self.post(path, body)
        parameters = {"binary_data_output": True, "content_type": "str", "priority": 1, "timeout": 5}
        self.assertEqual(self.post(path, {**body, "model_name": "classes", "parameters": parameters}), expected)
        self.assertRegex(self.post(path, {**body, "model_name": "encoder"}, 422)["error"],
                         "`model_name` is 'encoder', but the path names classes")
        size = str(len(json.dumps(body)))
        for length, wanted in ("9", 400), (size, 200):  # of the JSON, behind which tensors in binary may follow
            status, _, text = self.server.request("POST", path, json.dumps(body),
                                                  {"Inference-Header-Content-Length": length})
            self.assertEqual(status, wanted)
            self.assertEqual("binary_data=False" in str(text), wanted == 400)

    def test_one_model_of_openais(self):
        all_models = self.get("/v1/models")["data"]
        for entry in all_models:
            self.assertEqual(self.get("/v1/models/" + entry["id"]), entry)
            self.assertEqual(self.server.request("HEAD", "/v1/models/" + entry["id"])[0], 200)
        status, headers, _ = self.server.request("POST", "/v1/models/" + entry["id"], "{}")
        self.assertEqual((status, headers["Allow"]), (405, "GET"))
        self.assertEqual(self.get("/v1/models/nope", 404)["error"]["code"], "model_not_found")
        self.assertEqual(self.get(f"/v1/models/{all_models[0]['id']}/x", 404)["error"]["code"], "unknown_url")

    def test_an_empty_array_is_of_one_kind(self):
        """Of all that a field may be, exactly one alternative of a `oneOf` has to fit."""
        paths = self.get("/openapi.json")["paths"]
        for path, field, kinds in (("/decode", "ids", 1), ("/embed", "inputs", 0), ("/predict", "inputs", 0)):
            schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            fits = [kind for kind in schema["properties"][field]["oneOf"] if kind["type"] == "array"
                    and not kind.get("minItems", 0)]
            self.assertEqual(len(fits), kinds, path)
            self.post(path, {field: []}, 200 if kinds else 400)

    def test_paths_and_methods(self):
        for path in ("/nothing", "/embed/more", "/models", "/models/", "/%zz", "/models/{model}"):
            with self.subTest(path):
                self.refused(path, {"inputs": "a"}, 404, "there is no |escapes nothing", "NotFound")
        # The table's placeholder is no model.
        for path in ("/v2/models/encoder/x", "/v2/models/{model}/infer", "/v2/models/%7Bmodel%7D/infer",
                     "/models/encoder/v2/models/{model}/infer"):
            self.assertEqual(list(self.post(path, {"inputs": []}, 404)), ["error"])
        status, headers, _ = self.server.request("GET", "/embed")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        # A model's path has its task; the page, whose paths are relative, is elsewhere.
        status, headers, _ = self.server.request("GET", "/models/encoder")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.server.request("POST", "/embed/?a=b", {"inputs": "a"})[0], 200)
        self.assertEqual(self.server.request("POST", "/models/%65ncoder/embed", {"inputs": "a"})[0], 200)
        status, headers, body = self.server.request("HEAD", "/openapi.json")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)


class Starting(ServeTest):
    def test_a_key(self):
        server = self.start("-m", f"x={self.model}", environment={"BERT_SERVE_API_KEY": "sesame"})
        for given, status in [(None, 401), ("Bearer sesam", 401), ("Bearer sesames", 401),
                              ("Bearer sesamf", 401), ("sesame", 401), ("Bearer ", 401),
                              ("Basic sesame", 401), ("Bearer sesame", 200), ("bEARER sesame", 200)]:
            headers = {"Authorization": given} if given else {}
            self.assertEqual(server.request("POST", "/predict", {"inputs": "a"}, headers)[0], status)
            self.assertEqual(server.request("GET", "/health", None, headers)[0], 200)
        self.assertEqual(server.request("GET", "/v1/models")[0], 401)
        # Without the key, it is not told which models there are.
        for name in "x", "y", "x/health":
            for method, path in (("POST", f"/models/{name}"), ("GET", f"/models/{name}"),
                                 ("GET", f"/v2/models/{name}")):
                self.assertEqual(server.request(method, path, "{}")[0], 401)
        self.assertEqual(server.request("GET", "/nothing")[0], 401)
        self.assertEqual(server.request("GET", "/metrics")[0], 200)

    def test_options_and_environment(self):
        both = f"{self.model}:second={self.model}"
        server = self.start(environment={"BERT_SERVE_MODEL": both, "BERT_SERVE_MAX_CLIENT_BATCH": "2",
                                         "BERT_SERVE_AUTO_TRUNCATE": "false"})
        info = json.loads(server.request("GET", "/info")[2])
        self.assertEqual(info["models"], ["model", "second"])
        self.assertEqual((info["max_client_batch_size"], info["auto_truncate"]), (2, False))
        colon = self.make_model("en:coder", "--labels", "2")
        server = self.start("-m", f"x={colon}")
        self.assertEqual(json.loads(server.request("GET", "/info")[2])["models"], ["x"])
        for arguments, code, pattern in [
            (["-m", f"a={self.model}", "-m", f"a={self.model}"], 2, "two models are called 'a'"),
            (["-m", f"={self.model}"], 2, "has no name"),
            (["-m", self.dir / "nowhere", "--port", "0"], 1, "nowhere"),
            (["--port", "70000"], 2, "from 0 to 65535"),
            (["--auto-truncate", "perhaps"], 2, "--auto-truncate: expected true or false"),
            # What a shell makes of a variable that is not set.
            (["--host", ""], 2, "--host: expected an address"),
            (["--api-key", ""], 2, "--api-key: expected a key"),
            (["--api-key", "secret\n"], 2, "^((?!secret).)*without control characters"),
            (["--client-header", "X Real"], 2, "--client-header: expected the name of a header"),
            (["--access-log", ""], 2, "--access-log: expected a file"),
            (["--precision", "f64"], 2, "precision"),
            (["--host", "256.1.1.1"], 1, "cannot listen on 256.1.1.1"),
            (["--port", str(server.port)], 1, f"cannot listen on 127.0.0.1, port {server.port}: "),
        ]:
            with self.subTest(arguments):
                done = subprocess.run([str(self.bin / "bert-serve"), *map(str, arguments)],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr.splitlines()[-1], pattern)

    def test_options_of_the_engine(self):
        options = "--precision", "int8", "--workers", "2", "--threads", "1", "--max-batch-tokens", "64"
        server = self.start("-m", f"x={self.model}", "--host", "0.0.0.0", "--http-threads", "2", *options)
        self.assertIn("x: BertForSequenceClassification", "\n".join(server.messages))
        self.assertRegex("\n".join(server.messages), "int8.* 2 x 1 thread")
        texts = ["a man is playing", "two dogs", "the beach"] * 30
        found = json.loads(server.request("POST", "/predict", {"inputs": [[x] for x in texts], "raw_scores": True})[2])
        answers = self.infer(self.model, "--precision", "int8", inputs=texts)
        self.assertEqual([sorted(x["score"] for x in row) for row in found],
                         [sorted(answer["logits"]) for answer in answers])
        self.until(lambda: server.metric("te_batch_next_size_count") > 4)  # counted after the answer

    def begin(self, server, path: str) -> socket.socket:
        """A request of which one line is missing."""
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.addCleanup(connection.close)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n".encode())
        return connection

    def finish(self, connection: socket.socket) -> int:
        """The answer's status."""
        connection.sendall(b"\r\n")
        return int(connection.recv(65536)[9:12])

    def start_busy(self):
        """A server, and a connection whose request is being computed."""
        server = self.start("-m", f"x={self.model}")
        # Long enough that a signal comes before the answer, however busy the machine is.
        body = json.dumps({"inputs": [["dogs eat on the beach " * 10]] * 2000})
        busy = server.connect()
        self.addCleanup(busy.close)
        before = server.metric('te_request_count{method="batch"}')
        busy.request("POST", "/predict", body)
        self.until(lambda: server.metric('te_request_count{method="batch"}') > before)
        return server, busy

    def test_health_while_it_ends(self):
        server, busy = self.start_busy()
        paths = "/health", "/ping", "/v2/health/ready"
        self.assertEqual([self.finish(self.begin(server, path)) for path in paths], [200] * 3)
        waiting, others = ([self.begin(server, path) for path in some] for some in (["/health"] * 100, paths))
        server.process.send_signal(signal.SIGTERM)
        while self.finish(waiting.pop()) != 503:  # the signal takes its time
            time.sleep(0.02)
        self.assertEqual([self.finish(connection) for connection in others], [503] * 3)
        self.assertEqual(busy.getresponse().status, 200)

    def test_wrong_variables(self):
        for name, value, reason in [("PORT", "abc", "abc"), ("PORT", "70000", "from 0 to 65535"),
                                    ("API_KEY", "secret\n", "expected a key without control characters"),
                                    ("MAX_BODY", "8MB", "8MB"), ("AUTO_TRUNCATE", "perhaps", "expected true or false"),
                                    ("PRECISION", "f64", "f64")]:
            with self.subTest(name):
                done = subprocess.run([str(self.bin / "bert-serve"), "-m", self.dir / "nowhere"],
                                      env={**os.environ, f"BERT_SERVE_{name}": value},
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, f"^bert-serve: BERT_SERVE_{name}: .*{reason}")
                self.assertNotIn("secret", done.stderr)

    def test_an_empty_key_in_the_environment(self):
        for key, code in ("", 2), (None, 1):
            with_key = {**os.environ, "BERT_SERVE_API_KEY": ""} if key is not None else dict(os.environ)
            done = subprocess.run([str(self.bin / "bert-serve"), "-m", self.dir / "nowhere", "--port", "0"],
                                  env=with_key, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("BERT_SERVE_API_KEY is empty, expected a key" in done.stderr, code == 2)

    def test_threads_that_cannot_be_started(self):
        """One sentence, although other threads were started."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

        def run(*arguments):
            return subprocess.run([str(self.bin / "bert-serve"), *arguments], capture_output=True, text=True,
                                  timeout=60, preexec_fn=limit)
        if self.is_sanitized():
            self.skipTest("the program alone, with a sanitizer, takes more")
        done = run("-m", self.model, "--port", "0", "--http-threads", "1024")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot start a thread", done.stderr)

    def test_end_while_loading(self):
        slow = self.make_model("slow", "--vocab", "60000", "--shape", "24,256,4,1024")
        server = self.start("-m", f"x={slow}", "-m", f"y={slow}", wait=False)
        self.assertEqual(server.stop(), 0)
        said = "\n".join(server.messages)
        self.assertNotRegex(said, "model y|(?m:^ready)")
        self.assertIn("stopping", said)

    def test_access_log(self):
        log = self.dir / "access.log"
        server = self.start("--access-log", log)
        server.request("POST", "/predict", {"inputs": "a man"}, {"X-Request-Id": "first"})
        server.raw(b'GET /no"thing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        server.stop()
        first, second = map(json.loads, log.read_text().splitlines())
        self.assertEqual(second["path"], '/no"thing')
        self.assertEqual((first["id"], first["status"], first["tokens"]), ("first", 200, 4))
        self.assertEqual((second["method"], second["status"]), ("GET", 404))

    def test_access_log_on_a_full_disk(self):
        server = self.start("--access-log", "/dev/full")
        for _ in range(3):
            self.assertEqual(server.request("POST", "/predict", {"inputs": "a man"})[0], 200)
            time.sleep(1.1)  # it is flushed each second
        server.stop()
        said = [line for line in server.messages if "/dev/full" in line]
        self.assertEqual(len(said), 1, server.messages)
        self.assertRegex(said[0], "^--access-log: .*No space left on device")

    def test_full(self):
        server = self.start("-m", f"x={self.model}", "--max-concurrent", "1")
        body, statuses = {"inputs": [["dogs eat on the beach"]] * 1000}, []

        def ask():
            status, headers, _ = server.request("POST", "/predict", body)
            statuses.append((status, headers["Retry-After"]))
        self.start_threads(8, ask)()
        self.assertEqual(set(statuses), {(200, None), (429, "1")})

    def test_end_with_requests_under_way(self):
        server, busy = self.start_busy()
        idle = socket.create_connection(("127.0.0.1", server.port))
        server.process.send_signal(signal.SIGTERM)
        response = busy.getresponse()
        self.assertEqual((response.status, len(json.loads(response.read()))), (200, 2000))
        self.assertEqual(response.headers["Connection"], "close")
        self.assertEqual(idle.recv(1), b"")
        idle.close()
        self.assertEqual(server.stop(0), 0)
        with self.assertRaises(OSError):
            server.connect(1).connect()

    def test_end_while_idle(self):
        for sent in (signal.SIGTERM, signal.SIGINT):
            server = self.start("-m", f"x={self.model}")
            began = time.monotonic()
            self.assertEqual(server.stop(sent), 0)
            self.assertLess(time.monotonic() - began, 5)


if __name__ == "__main__":
    main()
