#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP as bert-serve speaks it. Usage: http_test.py BIN_DIR"""
import contextlib
import json
import re
import signal
import socket
import threading
import time

from serving import ServeTest, main

CLOSE = b"Host: a\r\nConnection: close\r\n"


class Http(ServeTest):
    options = ("--max-body", "3000")

    @classmethod
    def models(cls):
        return [f"x={cls.make_model('encoder', '--head', 'none')}"]

    def one(self, data: bytes) -> tuple[int, bytes]:
        """The status and the body of the only answer to these bytes."""
        answer = self.server.raw(data)
        self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head[9:12]), body

    def test_http(self):
        answer = self.server.raw(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 3001\r\n\r\n")
        self.assertRegex(answer, b"^HTTP/1.1 413 ")
        self.assertRegex(answer, b"the body has more than 3000 bytes")
        chunk = b"bb8\r\n" + b" " * 3000 + b"\r\n1\r\n \r\n0\r\n\r\n"
        answer = self.server.raw(b"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        self.assertRegex(answer, b"^HTTP/1.1 413 ")
        self.assertRegex(self.server.raw(b"GET / HTTP/1.1\r\nx: " + b"a" * 20000 + b"\r\n\r\n"),
                         b"^HTTP/1.1 431 ")
        for broken in (b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n",
                       b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                       b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"):
            self.assertRegex(self.server.raw(broken), b"^HTTP/1.1 400 ", broken)
        both = b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertRegex(self.server.raw(both), b"^HTTP/1.1 (400|501) ")
        # Where such a body ends is not known: what follows must not be taken for a request.
        for coding in b"gzip", b"chunked, gzip", b"identity":
            answer = self.server.raw(b"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + coding +
                                     b"\r\n\r\nGET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            self.assertRegex(answer, b"^HTTP/1.1 (400|501) ")
            self.assertIn(b"Connection: close", answer)
            self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)
        gzip = b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"
        self.assertRegex(self.server.raw(gzip), b"^HTTP/1.1 415 ")
        self.assertGreaterEqual(self.server.metric("bert_serve_unreadable_total"), 8)
        self.assertGreaterEqual(self.server.metric('te_request_failure{err="payload"}'), 2)

    def test_more_connections_than_allowed(self):
        """The one that has been idle for longest makes room for the next."""
        server = self.start("-m", f"x={self.model}", "--max-connections", "3")
        connections = []

        def ask(connection):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertRegex(connection.recv(65536), b"^HTTP/1.1 200 ")
        for _ in range(3):
            connections.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            ask(connections[-1])
        self.assertEqual(connections[0].recv(1), b"")
        ask(connections[1])
        for _ in range(2):
            self.assertEqual(server.request("GET", "/health")[0], 200)
        began = time.monotonic()
        for _ in range(30):  # at once, not one at each tick of the server's clock
            connections.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            ask(connections[-1])
        self.assertLess(time.monotonic() - began, 5)
        for connection in connections:
            connection.close()

    def test_the_last_connection_allowed_is_answered(self):
        """While all others are busy, and what waits gets a place as soon as one is idle."""
        slow = self.make_model("slow", "--shape", "4,256,4,1024")
        server = self.start("-m", f"x={slow}", "--max-connections", "2", "--max-client-batch", "20000")
        busy = json.dumps({"inputs": [["dogs eat on the beach " * 9]] * 20000}).encode()
        head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        health = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        with contextlib.ExitStack() as stack:
            def connect():
                return stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            connect().sendall(head % len(busy) + busy)
            time.sleep(0.5)  # until it is no longer idle
            for _ in range(3):
                last = connect()
                last.sendall(health)
                self.assertRegex(last.recv(65536), b"^HTTP/1.1 200 ")

    def test_a_body_that_is_refused_while_it_arrives(self):
        """Its client gets the reason, although it is still sending for longer than an idle connection is kept."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as connection:
            connection.sendall(b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n")
            for _ in range(40):
                connection.sendall(b" " * 10000)
                time.sleep(0.1)
            self.assertRegex(connection.recv(65536), b"^HTTP/1.1 413 ")

    def test_time_to_arrive(self):
        """10 seconds for a header and 30 for a body, to which each 100 kB add one, also where they come in chunks."""
        server, ends = self.start("-m", f"x={self.models()[0][2:]}"), {}
        chunked = b"POST /embed HTTP/1.1\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"

        def send(name, first, rest=(), pause=0.0):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
                began = time.monotonic()
                connection.sendall(first)
                for part in rest:
                    time.sleep(pause)
                    connection.sendall(part)
                ends[name] = connection.recv(65536)[9:12], time.monotonic() - began
        part = b"15f90\r\n" + b" " * 90000 + b"\r\n"
        threads = [threading.Thread(target=send, args=arguments) for arguments in (
            ("header", b"POST /embed HTTP/1.1\r\nHost: a\r\n"),
            ("body", b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 15\r\n\r\n{"),
            ("chunked", chunked + b"f\r\n{\"inputs\": \"a\"}\r\n", [part] * 34 + [b"0\r\n\r\n"], 0.95))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, status, least, most in (("header", b"408", 9, 25), ("body", b"408", 29, 45),
                                          ("chunked", b"200", 32, 90)):
            self.assertEqual(ends[name][0], status, ends)
            self.assertTrue(least < ends[name][1] < most, ends)
        self.assertEqual(server.metric("bert_serve_timeouts_total"), 2)

    def test_a_chunk_without_end(self):
        """Neither the name of a chunk's extension nor a line after the last chunk goes on for ever."""
        head = b"POST /embed HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for endless in (b"1;" + b"x" * 300000, b"0\r\nx: " + b"y" * 300000):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
                connection.sendall(head)
                try:
                    for at in range(0, len(endless), 1000):
                        connection.sendall(endless[at:at + 1000])
                except OSError:
                    pass
                self.assertRegex(connection.recv(65536), b"^HTTP/1.1 4(00|31) ")
        self.assertEqual([line for line in self.server.messages if "failed" in line], [])

    def test_ids_of_requests(self):
        """A client's own are repeated if they are short and plain."""
        for sent, is_repeated in ((b"a" * 128, True), (b"a" * 129, False), (b'a"b', False), (b"a b", False)):
            answer = self.server.raw(b"GET /health HTTP/1.1\r\n" + CLOSE + b"X-Request-Id: " + sent + b"\r\n\r\n")
            self.assertEqual(b"X-Request-Id: " + sent + b"\r\n" in answer, is_repeated, sent)

    def test_head_has_no_body(self):
        answer = self.server.raw(b"HEAD /info HTTP/1.1\r\n" + CLOSE + b"\r\n")
        self.assertRegex(answer, rb"^HTTP/1.1 200 OK\r\n(.+\r\n)*Content-Length: [1-9]\d*\r\n(.+\r\n)*\r\n\Z")

    def test_bodies_in_pieces(self):
        body = b'{"inputs": "a"}'
        chunks = b"5\r\n" + body[:5] + b"\r\na;x=y\r\n" + body[5:] + b"\r\n0\r\n\r\n"
        head = b"POST /embed HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        whole = self.server.raw(head + b"Content-Length: 15\r\n\r\n" + body)
        self.assertRegex(whole, b"^HTTP/1.1 200 OK\r\n")
        chunked = self.server.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        self.assertEqual(chunked.split(b"\r\n\r\n")[1], whole.split(b"\r\n\r\n")[1])
        waits = self.server.raw(head + b"Expect: 100-continue\r\nContent-Length: 15\r\n\r\n" + body)
        self.assertRegex(waits, b"^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
        old = self.server.raw(b"POST /embed HTTP/1.0\r\nContent-Length: 15\r\n\r\n" + body)
        self.assertRegex(old, b"Connection: close\r\n")

    def test_requests_sent_ahead_are_answered_in_order(self):
        one = b"POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n{\"inputs\": \"%s\"}"
        ahead = [one % (len(text) + 14, b"Connection: close\r\n" if text == b"dogs" else b"", text)
                 for text in (b"a", b"man", b"is", b"two", b"dogs")]
        answers = self.server.raw(b"".join(ahead)).split(b"HTTP/1.1 200 OK")[1:]
        self.assertEqual([json.loads(answer.split(b"\r\n\r\n")[1])[0][1]["text"] for answer in answers],
                         ["a", "man", "is", "two", "dogs"])

    def test_hosts(self):
        for hosts, status in ((b"", 400), (b"Host: a\r\n", 200), (b"Host: a\r\nHost: b\r\n", 400), (b"Host:\r\n", 200)):
            found = self.server.raw(b"GET /health HTTP/1.1\r\nConnection: close\r\n" + hosts + b"\r\n")
            self.assertEqual(int(found[9:12]), status, hosts)
        self.assertEqual(self.one(b"GET /health HTTP/1.0\r\n\r\n")[0], 200)

    def test_forms_of_a_target(self):
        for target in (b"http://a/health", b"HTTPS://a:1/health?x=/y", b"/health?x=http://a/b"):
            self.assertEqual(self.one(b"GET " + target + b" HTTP/1.1\r\n" + CLOSE + b"\r\n")[0], 200, target)
        for target in (b"http://a", b"http://a?x", b"/"):
            status, body = self.one(b"GET " + target + b" HTTP/1.1\r\n" + CLOSE + b"\r\n")
            self.assertIn(b"<title>", body, target)
        self.assertEqual(self.one(b"GET ftp://a/health HTTP/1.1\r\n" + CLOSE + b"\r\n")[0], 404)

    def test_expecting_more_than_http_1_0_has(self):
        old = b"POST /embed HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n"
        self.assertRegex(self.server.raw(old + b'{"inputs": "a"}'), b"^HTTP/1.1 200 ")

    def test_empty_lines_before_a_request(self):
        first = b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Length: 15\r\n\r\n" + b'{"inputs": "a"}' + b"\r\n"
        answer = self.server.raw(b"\r\n" + first + b"GET /health HTTP/1.1\r\n" + CLOSE + b"\r\n")
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", answer), [b"200", b"200"])

    def test_an_error_after_head_has_a_body(self):
        answer = self.server.raw(b"HEAD /health HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\n")
        self.assertRegex(answer, rb'(?s)HTTP/1.1 200.*HTTP/1.1 400 .*\{"error": "not HTTP/1.1: ')

    def test_refused_bodies(self):
        """In the words of the route's clients, with the request's id, and in the log."""
        log = self.dir / "access.log"
        server = self.start("-m", f"x={self.model}", "--max-body", "3000", "--access-log", log)
        for path, shape in [
            (b"/v1/embeddings", {"error": ["message", "type", "param", "code"]}),
            (b"/models/nope/v1/rerank", {"detail": None}), (b"/v2/rerank", {"message": None}),
            (b"/v2/models/x/infer", {"error": None}), (b"/embed", {"error": None, "error_type": None}),
        ]:
            for header, status in ((b"Content-Length: 3001", 413), (b"Content-Encoding: br\r\nContent-Length: 1", 415)):
                answer = server.raw(b"POST " + path + b" HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n" + header +
                                    b"\r\n\r\n")
                head, _, body = answer.partition(b"\r\n\r\n")
                self.assertRegex(head, rb"(?s)^HTTP/1.1 %d .*X-Request-Id: mine" % status)
                found = json.loads(body)
                self.assertEqual(list(found), list(shape))
                if shape.get("error"):
                    self.assertEqual(list(found["error"]), shape["error"])
        server.stop()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual({(line["id"], line["method"], line["status"]) for line in lines},
                         {("mine", "POST", 413), ("mine", "POST", 415)})
        self.assertEqual(lines[0]["path"], "/v1/embeddings")

    def test_an_answer_that_is_on_its_way_when_the_server_ends(self):
        """Its client gets all of it, and does not hold up the end by keeping its connection open."""
        server = self.start("-m", f"x={self.dir / 'encoder'}")
        body = json.dumps({"inputs": ["dogs eat on the beach " * 9] * 2000}).encode()  # of some 20 MB of numbers
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(b"POST /embed_all HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            answer = connection.recv(65536)  # the others wait
            server.process.send_signal(signal.SIGTERM)
            self.until(lambda: "stopping" in "\n".join(server.messages))
            time.sleep(0.5)
            head, _, _ = answer.partition(b"\r\n\r\n")
            size = len(head) + 4 + int(re.search(rb"Content-Length: (\d+)", head)[1])
            while len(answer) < size:
                answer += connection.recv(1 << 20)
            self.assertIn(b"\r\nConnection: keep-alive", head)
            self.assertEqual(connection.recv(1), b"")
            self.assertEqual(server.process.wait(20), 0, server.messages)


if __name__ == "__main__":
    main()
