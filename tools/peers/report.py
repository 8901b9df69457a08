# SPDX-License-Identifier: Apache-2.0
"""What compare prints and writes."""
import html
import statistics
from itertools import groupby


def over_best_peer(records: list[dict], shape: int) -> float | None:
    """The fastest peer's time divided by bert-infer's, the median over the rounds."""
    ours, *peers = records
    if not peers:
        return None
    best = min(peers, key=lambda record: record["ms"][shape])
    return statistics.median(theirs[shape] / mine[shape]
                             for mine, theirs in zip(ours["rounds"], best["rounds"]))


def cells(about: dict, records: list[dict]) -> list[list[str]]:
    """Rows of bert-infer and its peers in one precision, with one number of threads."""
    first = records[0]
    rows = [[f"{first['precision']}, {first['threads']} thread{'s'[:first['threads'] - 1]}, ms",
             *about["shapes"], "sentences/s", "start s", "peak MB", "error"]]
    for record in records:
        rows.append([f"{record['engine']} {record['version']}",
                     *(f"{ms:.3g}" if ms < 100 else f"{ms:.0f}" for ms in record["ms"]),
                     f"{record['sentences_per_s']:.0f}" if "sentences_per_s" in record else "",
                     f"{record['start_s']:.2f}",
                     f"{record['peak_bytes'] / 1e6:.0f}" if "peak_bytes" in record else "",
                     f"{record['error']:.1e}"])
    if len(records) > 1:
        last = ["over the best peer",
                *(f"{over_best_peer(records, i):.2f}" for i in range(len(about["shapes"])))]
        if "sentences_per_s" in first:
            best = max(record["sentences_per_s"] for record in records[1:])
            last.append(f"{first['sentences_per_s'] / best:.2f}")
        rows.append(last + [""] * (len(rows[0]) - len(last)))
    return rows


def table(about: dict, records: list[dict]) -> str:
    """In Markdown."""
    head, *rows = cells(about, records)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1.5rem 0; width: 100% }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
tr.ours, tr.over { font-weight: 600 }
"""


def page(about: dict, records: list[dict]) -> str:
    """One HTML file without outside resources."""
    parts = []
    for _, group in groupby(records, key=lambda r: (r["precision"], r["threads"])):
        head, *rows = cells(about, list(group))
        parts.append("<table><thead><tr>" + "".join(
            f'<th scope="col">{html.escape(cell)}</th>' for cell in head) + "</tr></thead>")
        for i, row in enumerate(rows):
            kind = "ours" if i == 0 else "over" if row[0].startswith("over") else "peer"
            first, *rest = map(html.escape, row)
            parts.append(f'<tr class="{kind}"><th scope="row">{first}</th>'
                         + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>")
        parts.append("</table>")
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>bert-infer and its peers'
            f"</title><style>{STYLE}</style><h1>bert-infer and its peers</h1>"
            f"<p>{html.escape(about['processor'])}. Model: {html.escape(about['model'])}. "
            f"Medians of {about['rounds']} rounds.</p>{''.join(parts)}</html>\n")
