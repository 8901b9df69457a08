# SPDX-License-Identifier: Apache-2.0
"""Real English sentences: the examples of use in Debian's WordNet."""
import random
import re
import subprocess
import tempfile
from pathlib import Path

INSTALLED = Path("/usr/share/wordnet")


def wordnet(scratch: Path) -> Path:
    """The folder of its files, which are fetched to `scratch` if wordnet-base is not installed."""
    if (INSTALLED / "data.noun").exists():
        return INSTALLED
    subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download",
                    "wordnet-base"], cwd=scratch, check=True)
    package, = scratch.glob("wordnet-base_*.deb")
    subprocess.run(["dpkg-deb", "-x", package.name, "."], cwd=scratch, check=True)
    return scratch / INSTALLED.relative_to("/")


def sentences(count: int) -> list[str]:
    """`count` different ones of four words or more, always the same."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = wordnet(Path(scratch))
        found = set()
        for part in "noun", "verb", "adj", "adv":
            for line in (folder / f"data.{part}").read_text(errors="replace").splitlines():
                found.update(re.findall(r'"([^"]+)"', line.partition(" | ")[2]))
    usable = sorted(text for text in found if len(text.split()) >= 4 and text.isprintable())
    random.Random(1).shuffle(usable)
    if len(usable) < count:
        raise ValueError(f"WordNet has {len(usable)} examples, not {count}")
    return usable[:count]
