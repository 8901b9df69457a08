#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that hang up, dawdle, come in thousands or send nonsense to bert-serve, and its end under load.

robust_test.py BIN_DIR. Longer: robust_test.py BIN_DIR --connections 2000 --slow 200 --seconds 20 --malformed 10000"""
import argparse
import collections
import http.client
import json
import random
import re
import resource
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from serving import ServeTest, main

ONE = json.dumps({"inputs": "two dogs"}).encode()
HEAD = b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
# What the server answers, if nothing else is wrong.
RIGHT = [("/embed", {"inputs": ["a", "b"]}), ("/predict", {"inputs": [["a"], ["b", "c"]]}),
         ("/tokenize", {"inputs": "a"}), ("/decode", {"ids": [[5, 6]]}),
         ("/v1/embeddings", {"input": "a", "encoding_format": "base64"}),
         ("/models/x", {"inputs": "a"}), ("/embed_all", {"inputs": "a"}), ("/attention", {"inputs": "a", "layer": 0})]
LENGTHS = argparse.Namespace(connections=200, slow=40, seconds=1, malformed=400)


def get_answer(connection: socket.socket) -> bytes:
    """A response's body; of those with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += (part := connection.recv(65536))
        if not part:
            return b""
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return body


def is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    return bool(end) and len(body) == int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])


def peak_memory(server) -> int:
    """In bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


class Robust(ServeTest):
    # A body of many inputs, which takes a while to compute.
    LONG = {"inputs": [["dogs eat on the beach " * 9]] * 2000}

    @classmethod
    def models(cls):
        return [f"x={cls.model}"]

    def connect(self, server=None) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", (server or self.server).port), timeout=60)
        self.addCleanup(connection.close)
        return connection

    def test_packets_as_they_come(self):
        """Header and body cut anywhere, many requests on one connection, some sent ahead of the answer."""
        expected = self.server.request("POST", "/embed", ONE)[2]
        rng, connection = random.Random(3), self.connect()
        long = json.dumps({"inputs": "two dogs", "user_": " " * 90000}).replace('"user_"', '"model"')
        long = long.replace('"' + " " * 90000 + '"', "null" + " " * 90000).encode()
        for _ in range(100):
            body = rng.choice([ONE, long])
            data = HEAD % len(body) + body
            cut = rng.choice([len(data) - len(body), rng.randrange(1, len(data))])
            connection.sendall(data[:cut])
            time.sleep(0.001)
            connection.sendall(data[cut:] + HEAD[:5])  # the next request begins
            self.assertEqual(get_answer(connection), expected)
            connection.sendall(HEAD[5:] % len(ONE) + ONE)
            self.assertEqual(get_answer(connection), expected)

    def test_hanging_up_empties_the_queue(self):
        wide = self.make_model("hung_up", "--shape", "4,256,4,1024")  # so slow that they are not answered before
        server, body = self.start("-m", f"x={wide}"), json.dumps(self.LONG).encode()
        for _ in range(8):
            connection = self.connect(server)
            connection.sendall(HEAD.replace(b"embed", b"predict") % len(body) + body)
            self.until(lambda: server.metric("bert_serve_requests_in_progress") > 0, "no request")
            connection.close()
        self.until(lambda: server.metric("bert_serve_requests_in_progress") == 0, "still there")
        self.assertEqual(server.metric("te_queue_size"), 0)
        self.assertGreaterEqual(server.metric('te_request_failure{err="cancelled"}'), 6)

    def test_who_hangs_up_is_in_the_log(self):
        log = self.dir / "hung-up.log"
        server = self.start("-m", f"x={self.model}", "--access-log", log)
        body = json.dumps(self.LONG).encode()
        connection = self.connect(server)
        connection.sendall(HEAD.replace(b"embed", b"predict") % len(body) + body)
        self.until(lambda: server.metric("bert_serve_requests_in_progress") > 0, "no request")
        connection.close()
        self.until(lambda: server.metric("bert_serve_requests_in_progress") == 0, "still there")
        server.stop()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(line["path"], line["status"], line["bytes"]) for line in lines
                          if line["path"] != "/metrics"], [("/predict", 499, 0)])

    def test_one_long_text_with_many(self):
        """A query is not copied for each of 2,000 texts, nor tokenised again when its time has passed, and others
        are answered meanwhile."""
        ranks, classes = (self.make_model(f"long_{name}", *options) for name, options in (
            ("ranks", ("--labels", "1")), ("classes", ("--labels", "2", "--label-names", "entailment,other"))))
        server = self.start("-m", f"ranks={ranks}", "-m", f"classes={classes}", "--timeout", "2")
        long, began, statuses = "a " * 2_000_000, time.monotonic(), []
        status, _, text = server.request("POST", "/rerank", {"query": long, "texts": ["a"] * 2000})
        self.assertEqual(status, 422)
        self.assertRegex(text, b"has 4000000 bytes, which are read for each of 2000 documents: expected at most 33554")
        join = self.start_threads(1, lambda: statuses.extend(server.request("POST", path, body)[0] for path, body in (
            ("/rerank", {"query": long[:33_000], "texts": ["a"] * 2000}),
            ("/v1/rerank", {"query": long[:33_000], "documents": ["a"] * 2000, "truncation": True}),
            ("/models/classes", {"inputs": long, "parameters": {"candidate_labels": ["a"] * 2000}}))))
        slowest = 0.0
        while len(statuses) < 3 and time.monotonic() - began < 100:
            asked = time.monotonic()
            self.assertEqual(server.request("GET", "/health")[0], 200)
            slowest = max(slowest, time.monotonic() - asked)
            time.sleep(0.01)
        join()
        self.assertLessEqual(set(statuses), {200, 504})
        self.assertIn(504, statuses)
        self.assertLess(time.monotonic() - began, 100)
        self.assertLess(slowest, 5)
        self.assertLess(peak_memory(server), 1.5e9)

    def test_answers_have_a_size(self):
        """What would not fit into --max-bodies is refused before it is computed."""
        server = self.start("-m", f"x={self.model}", "--max-body", "300000", "--max-bodies", "300000")
        status, _, text = server.request("POST", "/embed_all", {"inputs": ["two dogs"] * 1000})
        self.assertEqual(status, 422)
        self.assertRegex(text, b"the answer would have about [0-9]+ numbers, expected at most 18750: send fewer")
        self.assertEqual(server.request("POST", "/embed_all", {"inputs": ["two dogs"] * 40})[0], 200)
        encoder = self.make_model("sized", "--head", "none")  # of 16 columns
        server = self.start("-m", f"e={encoder}", "--max-body", "300000", "--max-bodies", "300000")
        for path, body in (("/embed", {"inputs": ["a"] * 1200}), ("/v2/models/e/infer", {"inputs": [
                {"name": "text", "datatype": "BYTES", "shape": [1200], "data": ["a"] * 1200}]})):
            status, _, text = server.request("POST", path, body)
            self.assertEqual(status, 422, text)
            self.assertRegex(text, b"the answer would have about 19200 numbers, expected at most 18750")

    def test_timeout(self):
        wide = self.make_model("wide", "--shape", "4,128,2,512")
        server = self.start("-m", f"x={wide}", "--timeout", "1", "--max-client-batch", "20000")
        began = time.monotonic()
        body = {"inputs": [["dogs eat on the beach " * 9]] * 20000}
        status, headers, _ = server.request("POST", "/predict", body)
        self.assertEqual((status, headers["x-should-retry"]), (504, "false"))
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(server.request("POST", "/embed", ONE)[0], 200)

    def test_loading(self):
        """Until the models are loaded: 503, with the time to come back."""
        slow = self.make_model("large", "--vocab", "60000", "--shape", "24,256,4,1024")
        server = self.start("-m", f"x={slow}", wait=False)
        seen = set()
        while not server.ready.is_set():
            status, headers, _ = server.request("POST", "/embed", ONE)
            seen.add((status, server.request("GET", "/health")[0]))
            self.assertEqual(headers["Retry-After"] is None, status == 200)
        self.assertIn((503, 503), seen)
        self.until(lambda: server.request("GET", "/health")[0] == 200, "not ready")

    def test_bytes_of_all_bodies(self):
        """Large bodies that are on their way have a common limit; small ones pass."""
        server = self.start("-m", f"x={self.model}", "--max-body", "300000", "--max-bodies", "600000")
        started = [self.connect(server) for _ in range(2)]
        for connection in started:
            connection.sendall(HEAD % 290000 + b" " * 240000)
        time.sleep(0.2)
        third = self.connect(server)
        third.sendall(HEAD % 290000 + b" " * 240000)
        self.assertIn(b"too many bytes", get_answer(third))
        self.assertEqual(server.request("POST", "/embed", ONE)[0], 200)
        for connection in started:
            connection.sendall(ONE.rjust(50000))
            self.assertIn(b"[[", get_answer(connection))
        self.assertEqual(server.request("POST", "/embed", ONE.rjust(290000))[0], 200)
        for connection in [self.connect(server) for _ in range(2)]:  # who hangs up leaves nothing behind
            connection.sendall(HEAD % 290000 + b" " * 240000)
            connection.close()
        time.sleep(0.2)
        self.until(lambda: server.request("POST", "/embed", ONE.rjust(290000))[0] == 200, "no room")

    def test_as_many_clients_as_places(self):
        """A client that has its answer has left its place: its next request is not one too many."""
        wide = self.make_model("as_wide", "--shape", "2,128,2,512")
        server = self.start("-m", f"x={wide}", "--max-concurrent", "128")
        connections = [self.connect(server) for _ in range(128)]
        for connection in connections:
            connection.sendall(HEAD % len(ONE) + ONE)
        statuses = {}
        while sum(statuses.values()) < 8000:
            ready = select.select(connections, [], [], 60)[0]
            self.assertTrue(ready, statuses)
            for connection in ready:
                status = connection.recv(65536)[9:12]
                statuses[status] = statuses.get(status, 0) + 1
                connection.sendall(HEAD % len(ONE) + ONE)
        self.assertEqual(list(statuses), [b"200"], statuses)

    # Beside others

    def time_busy(self, clients=64) -> float:
        """The 99th percentile of a request's seconds, of clients that ask all the time."""
        times, stop = [], time.monotonic() + LENGTHS.seconds

        def ask():
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
            while time.monotonic() < stop:
                began = time.monotonic()
                connection.request("POST", "/embed", ONE)
                self.assertEqual(connection.getresponse().read()[:2], b"[[")
                times.append(time.monotonic() - began)
            connection.close()
        self.start_threads(clients, ask)()
        times.sort()
        return times[len(times) * 99 // 100]

    def time_busy_beside_others(self) -> float:
        """time_busy() while many connections are idle and some send a byte now and then."""
        idle = [self.connect() for _ in range(LENGTHS.connections)]
        for connection in idle[::10]:  # some have asked before
            connection.sendall(HEAD % len(ONE) + ONE)
            get_answer(connection)
        slow = [self.connect() for _ in range(LENGTHS.slow)]
        ends = threading.Event()

        def dawdle():
            data = HEAD % len(ONE) + ONE
            for byte in range(len(data)):
                for i, connection in enumerate(slow):
                    try:
                        connection.sendall(data[byte:byte + 1])
                    except OSError:  # too slow for the server, which has hung up
                        slow[i] = self.connect()
                    if ends.wait(1 / len(slow)):
                        return
        join = self.start_threads(1, dawdle)
        try:
            beside = self.time_busy()
        finally:
            ends.set()
        join()
        for connection in idle[1::10]:  # they can still ask
            connection.sendall(HEAD % len(ONE) + ONE)
            self.assertTrue(get_answer(connection))
        for connection in idle + slow:
            connection.close()
        return beside

    def test_idle_and_slow_connections(self):
        # A machine that runs other tests is no place to measure: three attempts, and a wide limit. By hand
        # it is 1.2 times.
        for _ in range(3):
            alone, beside = self.time_busy(), self.time_busy_beside_others()
            print(f"p99 of 64 busy clients: {1000 * alone:.1f} ms alone, {1000 * beside:.1f} ms beside "
                  f"{LENGTHS.connections} idle and {LENGTHS.slow} slow connections", file=sys.stderr)
            if beside < 3 * alone + 0.1:
                return
        self.fail("Clients wait for others' idle and slow connections.")

    # Nonsense

    def malformed(self, rng: random.Random) -> bytes:
        right = rng.choice(RIGHT) if rng.random() < 0.4 else None
        path = right[0] if right else rng.choice([
            "/embed", "/predict", "/rerank", "/v1/embeddings", "/", "/tokenize", "/decode", "/similarity", "/v2/rerank",
            "/v2/models/x/infer", "/embed_all", "/models/x", "/models/{model}", "/v2/models/{model}/infer", "/metrics",
            "/docs", "/attention", "/%" + chr(rng.randrange(33, 127))])
        body = bytearray(json.dumps(right[1] if right else rng.choice([
            {"inputs": rng.choice(["a man", ["a", "b"], [["a"], ["b", "c"]], [1, 2], [[1], "a"], 3, None])},
            {"query": "a", "texts": ["b", ["c"]], "documents": [{"text": 3}], "top_n": -1},
            {"input": "a", "encoding_format": rng.choice(["base64", "x"]), "dimensions": rng.randrange(-2, 40)},
            {"ids": [[rng.randrange(-5, 1 << 40)]], "layer": rng.randrange(-9, 9)},
            {"inputs": {"source_sentence": "a", "sentences": rng.choice([[], ["b"], "c", {}])}},
            {"inputs": [{"name": "text", "shape": [rng.randrange(-1, 3)] * 2, "datatype": "BYTES",
                         "data": ["a", "b"]}]},
            {"inputs": "a", "parameters": {"candidate_labels": ["\0", "é"], "top_k": rng.randrange(-1, 3)}},
        ])).encode())
        for _ in range(rng.choice([0, 0, 0, 1, 3, 20])):
            body[rng.randrange(len(body))] = rng.randrange(256)
        length = rng.choice([len(body)] * 12 + [len(body) + 1, max(0, len(body) - 3), 1 << 62, -1])
        head = bytearray(f"{rng.choice(['POST'] * 6 + ['GET', 'PUT', 'HEAD'])} {path} HTTP/1.1\r\nHost: a\r\n"
                         f"Content-Length: {length}\r\nConnection: close\r\n".encode())
        if rng.random() < 0.2:
            head += rng.choice([b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"A: \0\r\n",
                                b"X-Request-Id: \xff\r\n", b"Content-Length: 2\r\n", b": \r\n", b"A" * 20000])
        for _ in range(rng.choice([0] * 6 + [1, 5])):
            head[rng.randrange(len(head))] = rng.randrange(256)
        data = bytes(head) + b"\r\n" + bytes(body)
        return data[:rng.randrange(len(data))] if rng.random() < 0.1 else data

    def answer_to(self, data: bytes) -> bytes:
        """Hangs up, as far as the server can see, only if it waits for more."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
            connection.sendall(data)
            answer, waits = b"", False
            while True:
                if not waits and not select.select([connection], [], [], 0.2)[0]:
                    waits = True
                    connection.shutdown(socket.SHUT_WR)
                if not (part := connection.recv(65536)):
                    return answer
                answer += part

    def test_malformed_requests(self):
        rng, resets, statuses = random.Random(7), 0, collections.Counter()
        for _ in range(LENGTHS.malformed):
            data = self.malformed(rng)
            try:
                answer = self.answer_to(data)
            except ConnectionResetError:
                resets += 1
                continue
            if answer:
                self.assertRegex(answer, rb"^HTTP/1\.1 (100|200|4\d\d|501|503) ", data)
                self.assertNotIn(b"Internal", answer.split(b"\r\n")[0], data)
                statuses[answer[9:12]] += 1
        self.assertGreater(statuses.total(), LENGTHS.malformed * 3 // 4, statuses)
        self.assertGreater(statuses[b"200"], LENGTHS.malformed // 40, statuses)
        # A connection that is closed while bytes of a refused body arrive is reset.
        self.assertLess(resets, LENGTHS.malformed // 50)
        self.assertIsNone(self.server.process.poll(), self.server.messages)
        self.assertEqual(self.server.request("POST", "/embed", ONE)[0], 200)

    # The end

    def test_end_under_load(self):
        """Every request that was accepted is answered. One that comes later is refused, in words or by the
        connection's end before a byte of an answer. The kernel resets a connection that it makes just as
        the server stops listening: rare, and nothing that the server could have read."""
        server = self.start("-m", f"x={self.model}")
        counts, lost, resets, ends = {200: 0, 503: 0, "closed": 0}, [], [], threading.Event()
        lock, stopped = threading.Lock(), [float("inf")]

        def ask():
            while not ends.is_set():
                received = b""  # on the next connection
                try:
                    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
                        for _ in range(50):
                            received = b""
                            connection.sendall(HEAD % len(ONE) + ONE)
                            sent = time.monotonic()
                            while not is_whole(received) and (part := connection.recv(65536)):
                                received += part
                            with lock:
                                if not received and sent > stopped[0]:
                                    counts["closed"] += 1
                                    return
                                if not is_whole(received):
                                    lost.append(received)
                                    return
                                counts[int(received[9:12])] += 1
                            if b"Connection: close" in received:
                                break
                except ConnectionRefusedError:
                    return
                except (ConnectionResetError, BrokenPipeError) as error:
                    (lost if received else resets).append(error)
                    return
        join = self.start_threads(32, ask)
        try:
            self.until(lambda: counts[200] > 300, counts)
            stopped[0] = time.monotonic()
            code = server.stop(signal.SIGTERM)
        finally:
            ends.set()
        join()
        print(f"end under load: {counts}, reset: {len(resets)}, lost: {len(lost)}", file=sys.stderr)
        self.assertEqual(code, 0)
        self.assertEqual(lost, [])
        self.assertLessEqual(len(resets), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option, usual in vars(LENGTHS).items():
        parser.add_argument("--" + option, type=int, default=usual)
    LENGTHS, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 16384), limit))
    main()
