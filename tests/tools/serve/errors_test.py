#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What bert-serve refuses, and how it says it; its options, start and end. Usage: errors_test.py BIN_DIR"""
import json
import signal
import socket
import subprocess
import threading
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
            ({"inputs": [7] * 65}, "`inputs` holds 65 token ids, expected at most 64"),
            ({"inputs": "a", "normalize": "yes"}, "`normalize` is or holds a string, expected true or"),
            ({"inputs": "a", "dimensions": 0}, "`dimensions` is 0, expected a whole number from 1 to 16"),
            ({"inputs": "a", "dimensions": 17}, "is 17, expected"),
            ({"inputs": "a", "dimensions": 1.5}, "is 1.5, expected"),
            ({"inputs": "a", "truncation_direction": "up"}, "is 'up', expected left or right"),
            ({"inputs": "a", "prompt_name": "query"}, "is 'query', expected none"),
            ({"inputs": "a", "model": 7}, "`model` is or holds a number, expected a string"),
            ({"inputs": "dogs " * 100}, r"an input has \d+ tokens, expected at most 64"),
            ({"inputs": ["a"] * 5}, "^batch size 5 > maximum allowed batch size 4$"),
        ]:
            with self.subTest(body):
                self.refused("/embed", body, 422, pattern)
        self.refused("/embed", {"inputs": []}, 400, "`inputs` cannot be empty", "Empty")
        self.refused("/embed", {"inputs": [[]]}, 400, "^`inputs` holds no token ids", "Empty")
        self.refused("/decode", {"ids": [3, 999]}, 422, "^`ids` holds the token id 999, expected one from 0 ")
        error = self.post("/v1/embeddings", {"input": [3, 999]}, 400)["error"]
        self.assertEqual(error["param"], "input")
        self.assertRegex(error["message"], "^`input` holds the token id 999")
        self.refused("/predict", {"inputs": ["a", "b", "c"]}, 422, "expected a string, a pair")
        self.refused("/decode", {"ids": [[1], 2]}, 422, "`ids` is or holds a number")
        self.refused("/similarity", {"inputs": {"source_sentence": "a"}}, 422,
                     "`inputs.sentences` is missing")
        self.refused("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}}, 400,
                     "cannot be empty", "Empty")

    def test_models(self):
        self.refused("/rerank", {"query": "a", "texts": ["b"]}, 424,
                     "none of the models encoder, classes is a re-ranker model", "Backend")
        self.refused("/models/encoder/predict", {"inputs": "a"}, 424,
                     "not a sequence classification model: encoder is a BertModel, which embeds texts",
                     "Backend")
        self.refused("/embed", {"inputs": "a", "model": "other"}, 404,
                     "there is no model 'other', expected one of: encoder, classes", "NotFound")
        self.refused("/models/other/embed", {"inputs": "a"}, 404, "no model 'other'", "NotFound")
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

    def test_paths_and_methods(self):
        for path in ("/nothing", "/embed/more", "/models", "/models/", "/%zz", "/v2/models/encoder/x"):
            with self.subTest(path):
                self.refused(path, {"inputs": "a"}, 404, "there is no |escapes nothing", "NotFound")
        status, headers, _ = self.server.request("GET", "/embed")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.server.request("POST", "/embed/?a=b", {"inputs": "a"})[0], 200)
        self.assertEqual(self.server.request("POST", "/models/%65ncoder/embed", {"inputs": "a"})[0], 200)
        status, headers, body = self.server.request("HEAD", "/openapi.json")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)

    def test_http(self):
        answer = self.server.raw(b"POST /embed HTTP/1.1\r\nContent-Length: 3001\r\n\r\n")
        self.assertRegex(answer, b"^HTTP/1.1 413 ")
        self.assertRegex(answer, b"the body has more than 3000 bytes")
        chunk = b"bb8\r\n" + b" " * 3000 + b"\r\n1\r\n \r\n0\r\n\r\n"
        answer = self.server.raw(b"POST /embed HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        self.assertRegex(answer, b"^HTTP/1.1 413 ")
        self.assertRegex(self.server.raw(b"GET / HTTP/1.1\r\nx: " + b"a" * 20000 + b"\r\n\r\n"),
                         b"^HTTP/1.1 431 ")
        for broken in (b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n",
                       b"POST /embed HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                       b"POST /embed HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"):
            self.assertRegex(self.server.raw(broken), b"^HTTP/1.1 400 ", broken)
        both = b"POST /embed HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertRegex(self.server.raw(both), b"^HTTP/1.1 (400|501) ")
        # Where such a body ends is not known: what follows must not be taken for a request.
        for coding in b"gzip", b"chunked, gzip", b"identity":
            answer = self.server.raw(b"POST /embed HTTP/1.1\r\nTransfer-Encoding: " + coding +
                                     b"\r\n\r\nGET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
            self.assertRegex(answer, b"^HTTP/1.1 (400|501) ")
            self.assertIn(b"Connection: close", answer)
            self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)
        gzip = b"POST /embed HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"
        self.assertRegex(self.server.raw(gzip), b"^HTTP/1.1 415 ")

    def test_bodies_in_pieces(self):
        body = b'{"inputs": "a"}'
        chunks = b"5\r\n" + body[:5] + b"\r\na;x=y\r\n" + body[5:] + b"\r\n0\r\n\r\n"
        head = b"POST /embed HTTP/1.1\r\nConnection: close\r\n"
        whole = self.server.raw(head + b"Content-Length: 15\r\n\r\n" + body)
        self.assertRegex(whole, b"^HTTP/1.1 200 OK\r\n")
        chunked = self.server.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        self.assertEqual(chunked.split(b"\r\n\r\n")[1], whole.split(b"\r\n\r\n")[1])
        waits = self.server.raw(head + b"Expect: 100-continue\r\nContent-Length: 15\r\n\r\n" + body)
        self.assertRegex(waits, b"^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
        old = self.server.raw(b"POST /embed HTTP/1.0\r\nContent-Length: 15\r\n\r\n" + body)
        self.assertRegex(old, b"Connection: close\r\n")

    def test_requests_sent_ahead_are_answered_in_order(self):
        one = b"POST /tokenize HTTP/1.1\r\nContent-Length: %d\r\n%s\r\n{\"inputs\": \"%s\"}"
        ahead = [one % (len(text) + 14, b"Connection: close\r\n" if text == b"dogs" else b"", text)
                 for text in (b"a", b"man", b"is", b"two", b"dogs")]
        answers = self.server.raw(b"".join(ahead)).split(b"HTTP/1.1 200 OK")[1:]
        self.assertEqual([json.loads(answer.split(b"\r\n\r\n")[1])[0][1]["text"] for answer in answers],
                         ["a", "man", "is", "two", "dogs"])


class Starting(ServeTest):
    def test_a_key(self):
        server = self.start("-m", f"x={self.model}", environment={"BERT_SERVE_API_KEY": "sesame"})
        for given, status in [(None, 401), ("Bearer sesam", 401), ("Bearer sesames", 401),
                              ("Bearer sesamf", 401), ("sesame", 401), ("Bearer ", 401),
                              ("Bearer sesame", 200)]:
            headers = {"Authorization": given} if given else {}
            self.assertEqual(server.request("POST", "/predict", {"inputs": "a"}, headers)[0], status)
            self.assertEqual(server.request("GET", "/health", None, headers)[0], 200)
        self.assertEqual(server.request("GET", "/v1/models")[0], 401)
        self.assertEqual(server.request("GET", "/nothing")[0], 401)
        self.assertEqual(server.request("GET", "/metrics")[0], 200)

    def test_options_and_environment(self):
        both = f"{self.model}:second={self.model}"
        server = self.start(environment={"BERT_SERVE_MODEL": both, "BERT_SERVE_MAX_CLIENT_BATCH": "2",
                                         "BERT_SERVE_AUTO_TRUNCATE": "false"})
        info = json.loads(server.request("GET", "/info")[2])
        self.assertEqual(info["models"], ["model", "second"])
        self.assertEqual((info["max_client_batch_size"], info["auto_truncate"]), (2, False))
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

    def test_access_log(self):
        log = self.dir / "access.log"
        server = self.start("--access-log", log)
        server.request("POST", "/predict", {"inputs": "a man"}, {"X-Request-Id": "first"})
        server.raw(b'GET /no"thing HTTP/1.1\r\nConnection: close\r\n\r\n')
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
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {(200, None), (429, "1")})

    def test_end_with_requests_under_way(self):
        server = self.start("-m", f"x={self.model}")
        # Long enough that the signal comes before the answer, however busy the machine is.
        body = json.dumps({"inputs": [["dogs eat on the beach " * 10]] * 2000})
        busy, idle = server.connect(), socket.create_connection(("127.0.0.1", server.port))
        before = server.metric('te_request_count{method="batch"}')
        busy.request("POST", "/predict", body)
        while server.metric('te_request_count{method="batch"}') == before:
            time.sleep(0.001)
        server.process.send_signal(signal.SIGTERM)
        response = busy.getresponse()
        self.assertEqual((response.status, len(json.loads(response.read()))), (200, 2000))
        self.assertEqual(response.headers["Connection"], "close")
        self.assertEqual(idle.recv(1), b"")
        idle.close()
        busy.close()
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
