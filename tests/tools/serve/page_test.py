#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-serve's page for people, and /attention, which it shows. In headless Chromium where it is installed;
without it, those tests are skipped, or fail if BERT_INFER_REQUIRE_BROWSER=1.
Usage: page_test.py BIN_DIR [--screenshots DIR]"""
import html
import html.parser
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from serving import ServeTest, main

sys.path.append(str(Path(__file__).resolve().parents[2] / "golden"))
from span_models import write_span_model  # noqa: E402

CHROMIUM = shutil.which("chromium")
assert CHROMIUM or os.environ.get("BERT_INFER_REQUIRE_BROWSER") != "1", \
    "no chromium, which tools/setup --browser installs"
SCREENSHOTS = None
PAIR = ["a man is playing the guitar.", "two dogs"]


class Elements(html.parser.HTMLParser):
    """Lists a page's elements as (tag, attributes), and its labels' targets."""

    def __init__(self, text: str):
        super().__init__()
        self.all: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))

    def of(self, *tags):
        return [attributes for tag, attributes in self.all if tag in tags]


class Proxy(http.server.BaseHTTPRequestHandler):
    """Between a browser and a server: the page does more once it is loaded, some paths have an answer (status and
    body) of the proxy's own, and some take long."""
    server_of, does, answers, seconds = None, "", {}, {}

    def answer(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        time.sleep(self.seconds.get(self.path, 0))
        status, headers, text = self.server_of.request(self.command, self.path, body or None)
        if self.path == "/":
            script = f"<script>setTimeout(() => {{{self.does}}}, 1500);</script>"
            text = text.replace(b"</body>", script.encode() + b"</body>")
        status, text = self.answers.get(self.path, (status, text))
        self.send_response(status)
        for name, value in headers.items():
            if name.startswith("X-") or name == "Content-Type":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer  # noqa: N815

    def log_message(self, *_):
        pass


def luminance(colour) -> float:
    """Relative, of red, green and blue from 0 to 255: WCAG 2."""
    parts = [x / 255 / 12.92 if x / 255 <= 0.04045 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


class Page(ServeTest):
    @classmethod
    def models(cls):
        cls.encoder = cls.make_model("encoder", "--head", "none")
        return [f"classes={cls.model}", f"encoder={cls.encoder}"]

    def test_attention(self):
        [row] = self.infer(self.model, "--task", "attention", "--layers", "1", inputs=[PAIR])
        [tokens] = self.infer(self.model, "--task", "tokens", inputs=[PAIR])
        answer = self.post("/models/classes/attention", {"inputs": PAIR, "layer": 1})
        self.assertEqual((answer["layer"], answer["layers"], answer["heads"]), (1, 2, 2))
        self.assertEqual([token["text"] for token in answer["tokens"]], tokens["tokens"])
        self.assertEqual([token["id"] for token in answer["tokens"]], tokens["ids"])
        segments = [token["segment"] for token in answer["tokens"]]
        self.assertEqual(segments, sorted(segments))
        self.assertEqual(set(segments), {0, 1})
        self.assertEqual(answer["attention"], row["attention"]["1"])
        for rows in answer["attention"]:
            for values in rows:
                self.assertAlmostEqual(sum(values), 1, places=5)
        self.assertIn("expected a text or a pair", self.post("/attention", {"inputs": [PAIR]}, 422)["error"])
        self.post("/attention", {"inputs": "a", "layer": 2}, 422)

    def test_accessible_and_self_contained(self):
        status, headers, text = self.server.request("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        page = text.decode()
        self.assertNotRegex(page, r"(?i)https?://|@import|url\(")
        self.assertNotIn("innerHTML", page)  # what models and texts say is never markup
        elements = Elements(page)
        labelled = {label["for"] for label in elements.of("label")}
        self.assertGreater(len(elements.of("textarea", "input", "select")), 3)
        for field in elements.of("textarea", "input", "select"):
            self.assertIn(field["id"], labelled)
        self.assertEqual(elements.of("html")[0]["lang"], "en")
        self.assertTrue(elements.of("section"))
        for section in elements.of("section"):
            self.assertIn(f'id="{section["aria-labelledby"]}"', page)
        used = re.findall(r'\$\("([-\w]+)"\)', page)
        self.assertGreater(len(used), 10)
        for name in used:
            self.assertIn(f'id="{name}"', page)

    def test_contrast_of_the_heat_map(self):
        """WCAG's 4.5:1 for the numbers in every cell, by its formula."""
        page = self.server.request("GET", "/")[2].decode()
        themes = re.findall(r":root\{(.*?)\}", page)
        self.assertEqual(len(themes), 2)
        for theme in themes:
            colours = dict(re.findall(r"--([-\w]+):([^;]+)", theme))
            rgb = {name: [int("".join(x), 16) for x in re.findall("(..)", value[1:] if len(value) == 7 else
                                                                  re.sub("(.)", r"\1\1", value[1:]))]
                   for name, value in colours.items() if value.startswith("#")}
            heat = [int(x) for x in colours["heat"].split(",")]
            for percent in range(101):
                cell = [a + (b - a) * percent / 100 for a, b in zip(rgb["bg"], heat)]
                text = rgb["deep-text" if percent / 100 > float(colours["deep"]) else "pale-text"]
                light, dark = sorted((luminance(cell), luminance(text)), reverse=True)
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 4.5, (theme, percent))

    def test_words_of_the_page(self):
        page = self.server.request("GET", "/")[2].decode()
        for task in ("text-classification", "token-classification", "question-answering", "fill-mask", "sparse",
                     "multi-vector", "feature-extraction"):
            self.assertIn(f'"{task}": async', page)

    def browse(self, *options, url="/", server=None) -> str:
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                 f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--window-size=1200,2600",
                 *options, f"http://{(server or self.server).address}{url}"],
                capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def browse_through(self, does="", answers=None, seconds=None) -> str:
        handler = type("Through", (Proxy,), {"server_of": self.server, "does": does, "answers": answers or {},
                                             "seconds": seconds or {}})
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            proxy.address = f"127.0.0.1:{proxy.server_port}"
            page = self.browse("--dump-dom", server=proxy).split("<script>")[0]
            proxy.shutdown()
        return page

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_actions_at_the_same_time(self):
        """Neither takes away the other's answer, whichever comes first."""
        [row] = self.infer(self.model, inputs=[["two dogs", "two dogs"]])
        change = '$("first").value = $("second").value = "two dogs"; $("sentences").value = "a\\nb\\nc";'
        compute, compare = '$("form").requestSubmit();', '$("similar-form").requestSubmit();'
        for does, slow in ((compute + compare, "predict"), (compute + compare, "embed"), (compare + compute, "embed")):
            page = self.browse_through(change + does, seconds={f"/models/classes/{slow}": 0.5})
            self.assertRegex(page, 'role="status">Done: ')
            self.assertIn(f"<td>{row['probability']:.4f}</td>", page)
            self.assertEqual(page.count(">1.00</td>"), 3)

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_errors_in_a_browser(self):
        for path, answer, shown in [
            ("predict", (502, b"<html>Bad Gateway</html>"), "The answer has status 502 Bad Gateway and is not JSON."),
            ("predict", (503, b'{"error": "stopping", "error_type": "Unhealthy"}'), "stopping"),
            ("embed", (400, b'{"detail": "in Jina\'s words"}'), "in Jina's words"),
            ("embed", (500, b"null"), "The answer has status 500 Internal Server Error."),
        ]:
            page = self.browse_through(answers={f"/models/classes/{path}": answer})
            self.assertRegex(page, f'role="alert">{re.escape(shown)}</p>')
            self.assertRegex(page, 'role="status"></p>')
        # An error stays until what failed has an answer.
        page = self.browse_through('$("similar-form").requestSubmit()', {"/models/classes/predict": (500, b"null")})
        self.assertRegex(page, 'role="alert">The answer has status 500')

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_names_of_models_in_a_browser(self):
        names = ["b?#%2f", "7", "__proto__", "<b>"]
        server = self.start(*[x for name in names for x in ("-m", f"{name}={self.model}")])
        page = self.browse("--dump-dom", server=server)
        self.assertEqual(re.findall('<option value="([^"]*)">[^<]*: text-classification', page),
                         [html.escape(name) for name in names])
        self.assertRegex(page, r'role="status">Done: \d+ tokens in ')

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_in_a_browser(self):
        page = self.browse("--dump-dom").split("<script>")[0]
        self.assertRegex(page, r'role="status">Done: \d+ tokens in ')
        self.assertRegex(page, r'role="alert" hidden')
        for label in ("yes", "no", "maybe"):
            self.assertIn(f'<th scope="row">{label}</th>', page)
        self.assertEqual(len(re.findall('<li class="s[01]"', page)),
                         int(re.search(r"Done: (\d+) tokens", page)[1]))
        self.assertRegex(page, "<caption>Attention of layer 0, head 0</caption>")
        self.assertEqual(page.count('aria-label="Head '), 2)
        self.assertEqual(page.count('aria-pressed="true"'), 1)
        self.assertRegex(page, "<caption>Similarities</caption>")
        self.assertEqual(page.count(">1.00</td>"), 4)
        self.assertIn("<dt>Waiting requests</dt>", page)

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_models_of_every_kind_in_a_browser(self):
        for name, shown, *options in [
            ("classes", '<th scope="col">Probability</th>'),
            ("regression", '<th scope="col">Score</th>', "--labels", "1"),
            ("mlm", r'<th scope="row">a man is(?! \[MASK\])[^<]* a guitar', "--head", "mlm"),
            ("splade", "no single vector of a text", "--head", "mlm", "--retrieval", "splade"),
            ("colbert", "a vector for each token: ", "--head", "none", "--prefix", "--retrieval", "colbert"),
            ("gliner", r'<th scope="row">A man \(instrument\)</th>'),
        ]:
            model = self.dir / name
            write_span_model(self.dir, name) if name == "gliner" else self.make_model(name, *options)
            if name == "regression":
                config = json.loads((model / "config.json").read_text()) | {"problem_type": "regression"}
                (model / "config.json").write_text(json.dumps(config))
            server = self.start("-m", model)
            page = self.browse("--dump-dom", server=server).split("<script>")[0]
            self.assertRegex(page, r'role="status">Done: \d+ tokens in ')
            self.assertRegex(page, r'role="alert" hidden')
            self.assertRegex(page, shown)
            self.assertEqual('id="given-box" hidden' in page, name != "gliner")

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_screenshots(self):
        if not SCREENSHOTS:
            self.skipTest("only with --screenshots DIR")
        for name, scheme in (("light", 1), ("dark", 0)):
            path = Path(SCREENSHOTS).resolve() / f"page_{name}.png"
            self.browse(f"--screenshot={path}", f"--blink-settings=preferredColorScheme={scheme}")
            self.assertTrue(path.exists())


if __name__ == "__main__":
    if "--screenshots" in sys.argv:
        at = sys.argv.index("--screenshots")
        SCREENSHOTS = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    main()
