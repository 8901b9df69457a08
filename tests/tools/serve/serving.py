# SPDX-License-Identifier: Apache-2.0
"""For the tests in this folder: starts bert-serve on a free port and talks to it over HTTP."""
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from command_line import ROOT, ToolTest, floats, main, read_lines  # noqa: E402, F401


class Server:
    """A running bert-serve. address is HOST:PORT."""

    def __init__(self, bin_dir: Path, *arguments, environment=None, wait=True):
        self.process = subprocess.Popen(
            [str(bin_dir / "bert-serve"), "--port", "0", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})})
        self.messages, self.ready, self.bound = [], threading.Event(), threading.Event()
        self.address = ""
        self.reader = threading.Thread(target=self.read_messages, daemon=True)
        self.reader.start()
        assert self.bound.wait(60) and self.address, self.messages
        assert not wait or (self.ready.wait(60) and "ready" in self.messages[-1]), self.messages

    def read_messages(self):
        for line in self.process.stderr:
            self.messages.append(line.rstrip("\n").removeprefix("bert-serve: "))
            if found := re.fullmatch("listening on http://(.*)", self.messages[-1]):
                self.address = found[1]
                self.bound.set()
            if self.messages[-1] == "ready":
                self.ready.set()
        self.bound.set()  # or it has ended
        self.ready.set()

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def connect(self, timeout=60) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method: str, path: str, body=None, headers=None):
        """(status, headers, body). A body that is no string or bytes is sent as JSON."""
        connection = self.connect()
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, data.encode() if isinstance(data, str) else data,
                           headers or {})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, response.headers, text

    def raw(self, data: bytes, timeout=60) -> bytes:
        """All that comes back for these bytes, until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(data)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received

    def metric(self, name: str) -> float:
        text = self.request("GET", "/metrics")[2].decode()
        found = re.search("^" + re.escape(name) + " (.*)$", text, re.MULTILINE)
        assert found or "{" in name, f"no metric {name}"  # those with a label come with the first value
        return float(found[1]) if found else 0

    def stop(self, sent=signal.SIGTERM) -> int:
        """The exit code, or minus the signal that killed it."""
        self.process.send_signal(sent)
        code = self.process.wait(90)
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class ServeTest(ToolTest):
    """A server for all tests of a class, with the models of models()."""
    tool = "bert-infer"
    options: tuple = ()

    @classmethod
    def models(cls) -> list[str]:
        return []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.start(*[x for model in cls.models() for x in ("-m", model)], *cls.options)

    @classmethod
    def start(cls, *arguments, **options) -> Server:
        server = Server(cls.bin, *arguments, **options)

        def end():
            code = server.stop() if server.process.poll() is None else server.process.returncode
            assert code == 0, (code, server.messages)
        cls.addClassCleanup(end)
        return server

    def until(self, condition, message=""):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, message)
            time.sleep(0.002)

    @staticmethod
    def start_threads(count: int, function):
        """Returns what waits for the threads' ends, and fails if any of them did."""
        pool = concurrent.futures.ThreadPoolExecutor(count)
        futures = [pool.submit(function) for _ in range(count)]
        pool.shutdown(wait=False)
        return lambda: [future.result(120) for future in futures]

    def post(self, path: str, body, status=200, **headers):
        """The answer as JSON."""
        found, received, text = self.server.request("POST", path, body, headers)
        self.assertEqual(found, status, text)
        self.assertEqual(received["Content-Type"], "application/json")
        return json.loads(text)

    def get(self, path: str, status=200, **headers):
        found, _, text = self.server.request("GET", path, None, headers)
        self.assertEqual(found, status, text)
        return json.loads(text)

    def infer(self, model: Path, *options, inputs: list) -> list[dict]:
        """bert-infer's answers to texts, pairs (lists of two), or objects of its JSON Lines."""
        lines = []
        for item in inputs:
            texts = [item] if isinstance(item, str) else item
            item = dict(zip(("first", "second"), texts)) if isinstance(texts, list) else item
            lines.append(json.dumps(item) + "\n")
        return self.answers("-m", model, "--input-format", "jsonl", *options, stdin="".join(lines))
