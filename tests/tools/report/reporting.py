# SPDX-License-Identifier: Apache-2.0
"""For the tests in this folder: pages in one file, read as text and opened in headless Chromium."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from command_line import ROOT, ToolTest  # noqa: E402

CHROMIUM = shutil.which("chromium")
SCREENSHOTS = None
# What a text could do to a page: end its script, be markup, turn the direction of what surrounds it.
HOSTILE = 'a </script><script>document.title="taken"</script> <!-- <b>&amp;\u202e "man\' \\ \u2028is'


class Elements(html.parser.HTMLParser):
    """Counts a page's elements, and keeps its data."""

    def __init__(self, text: str):
        super().__init__()
        self.count: dict[str, int] = {}
        self.data = ""
        self.in_data = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.in_data = dict(attrs).get("id") == "data"

    def handle_endtag(self, tag):
        self.in_data = False

    def handle_data(self, data):
        if self.in_data:
            self.data += data


class PageTest(ToolTest):
    def read_page(self, path: Path) -> dict:
        """Checks what every page promises, and returns its data."""
        page = path.read_text("ascii" if b"\xe2" not in path.read_bytes() else "utf-8")
        self.assertNotRegex(re.sub(r"http://www\.w3\.org/\d+/svg", "", page), r"(?i)https?://|@import|url\((?!#)")
        self.assertIn("default-src 'none'", page)
        self.assertNotIn("innerHTML", page)
        self.assertNotRegex(page, r"\{\{\w+\}\}")
        for style in ("prefers-color-scheme:dark", "@media print"):
            self.assertIn(style, page)
        elements = Elements(page)
        self.assertEqual((elements.count["script"], elements.count["html"], elements.count.get("b", 0)), (2, 1, 0))
        return json.loads(elements.data)

    def browse(self, path: Path, *options) -> str:
        """The page's elements, once its scripts have run, without these."""
        if not CHROMIUM:
            self.assertNotEqual(os.environ.get("BERT_INFER_REQUIRE_BROWSER"), "1",
                                "no chromium, which tools/setup --browser installs")
            self.skipTest("chromium is not installed")
        self.save_screenshots(path)
        text = self.run_browser(path, "--dump-dom", *options)
        self.assertNotIn('role="alert"', text)
        self.assertNotIn("[object ", text)
        self.assertNotIn(">undefined<", text)
        self.assertNotIn("NaN", text.split("<script")[0])
        return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)

    def shows(self, page: str, text: str):
        """Without the whole page in the message."""
        self.assertTrue(text in page, f"{text!r} is not on the page")

    def run_browser(self, path: Path, *options) -> str:
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                 f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--window-size=1300,3000",
                 "--hide-scrollbars", *options, path.resolve().as_uri()], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def save_screenshots(self, path: Path):
        if SCREENSHOTS is None:
            return
        for name, scheme in (("light", 1), ("dark", 0)):
            image = Path(SCREENSHOTS).resolve() / f"{path.stem}_{name}.png"
            self.run_browser(path, f"--screenshot={image}", f"--blink-settings=preferredColorScheme={scheme}")


def main():
    global SCREENSHOTS
    if "--screenshots" in sys.argv:
        at = sys.argv.index("--screenshots")
        SCREENSHOTS = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    ToolTest.bin = Path(sys.argv.pop(1)).resolve()
    result = unittest.main(exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped else 0)  # so that ctest shows what was not tested


__all__ = ["HOSTILE", "ROOT", "PageTest", "main"]
