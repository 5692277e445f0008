#!/usr/bin/env python3
"""Draws docs/plan.svg, the picture of the README, from the output of a real plan.

    plan.py TRUEUP SVG

The plan is that of examples/03-repository after some edits, against the sandbox, in a temporary directory. The picture has
the terminal's colours, and follows the reader's light or dark scheme.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

COLUMNS = 110
# Pixels of a column, of a line, and around the text.
COLUMN, LINE, MARGIN = 8.0, 19, 20
STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}
CREATED = """\
metadata:
  name: recommendations
  namespace: storefront
  labels:
    tier: api
spec:
  dns_name: recommendations.shop.example.net
  port: 8443
"""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>The plan of a changed directory</title>
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre; }}
rect {{ fill: #ffffff; stroke: #d1d9e0; }}
.bold {{ font-weight: bold; }} .dim {{ fill: #59636e; }} .red {{ fill: #b3261e; }}
.green {{ fill: #1a7f37; }} .yellow {{ fill: #8a5700; }} .cyan {{ fill: #0a6c8f; }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6edf3; }} rect {{ fill: #0d1117; stroke: #3d444d; }}
.dim {{ fill: #9198a1; }} .red {{ fill: #ff7b72; }} .green {{ fill: #3fb950; }} .yellow {{ fill: #e3b341; }} .cyan {{ fill: #56d4dd; }}
}}
</style>
<rect x="0.5" y="0.5" width="{inner_width}" height="{inner_height}" rx="6"/>
"""


def planned(trueup: Path) -> str:
    """The output of the plan, with colours."""
    with tempfile.TemporaryDirectory() as stage:
        directory = Path(stage) / "endpoints"
        shutil.copytree(Path(__file__).parents[2] / "examples/03-repository", directory)
        environment = {"PATH": os.environ["PATH"], "HOME": stage, "COLUMNS": str(COLUMNS)}

        def run(*words: str, text: str | None = None) -> str:
            command = [trueup, *words, "--sandbox=" + stage + "/sandbox.db"]
            return subprocess.run(
                command, cwd=directory, env=environment, input=text, check=True, capture_output=True, text=True
            ).stdout

        def edit(name: str, old: str, new: str) -> None:
            text = (directory / name).read_text()
            assert old in text, f"{name} does not contain {old}"
            (directory / name).write_text(text.replace(old, new))

        run("apply", "--yes")
        # Somebody changes the tenant.
        parameters = ("-p", "namespace=storefront", "-p", "name=cart")
        live = json.loads(run("call", "svc-api-servicemesh-endpoint-get", *parameters))
        live["spec"]["port"] = 9443
        body = json.dumps(live)
        run("call", "svc-api-servicemesh-endpoint-update", *parameters, "--body", "-", "--yes", text=body)
        # Somebody changes the files.
        edit("storefront/cart.yaml", "port: 6379", "port: 6380")
        reviews = (directory / "storefront/reviews.yaml").read_text()
        (directory / "storefront/reviews.yaml").write_text(reviews.split("---\n")[0])
        (directory / "storefront/recommendations.yaml").write_text(CREATED)
        text = run("plan", "--color", "always")
        return text.replace("--sandbox=" + stage + "/sandbox.db", "--sandbox")


def spans(line: str):
    """The parts of a line: column, text, classes."""
    column, classes = 0, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if code := re.fullmatch(r"\x1b\[([0-9;]*)m", part):
            codes = [code for code in code[1].split(";") if code not in ("", "0")]
            classes = classes + [STYLES[code] for code in codes] if codes else []
        elif part:
            for word in re.finditer(r"\S+(?: \S+)*", part):
                yield column + word.start(), word[0], classes
            column += len(part)


def main() -> None:
    trueup, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    lines = ["$ trueup plan --sandbox", *planned(trueup).rstrip().split("\n")]
    widest = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = round(widest * COLUMN + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    svg = [HEAD.format(width=width, height=height, inner_width=width - 1, inner_height=height - 1)]
    for row, line in enumerate(lines):
        for column, text, classes in spans(line):
            x, y = MARGIN + column * COLUMN, MARGIN + row * LINE + 14
            style = f' class="{" ".join(classes)}"' if classes else ""
            # The length keeps the columns where a font is wider or narrower.
            length = f'textLength="{len(text) * COLUMN:g}" lengthAdjust="spacingAndGlyphs"'
            svg.append(f'<text x="{x:g}" y="{y:g}" {length}{style}>{escape(text)}</text>\n')
    svg.append("</svg>\n")
    target.write_text("".join(svg))


main()
