"""Writes the licences of everything that is linked into the program for a target.

usage: licences.py TARGET [FILE...]   FILE is a further licence text, such as that of the C library
"""

import json
import pathlib
import re
import subprocess
import sys


def metadata(root, target):
    """The package and what is linked into its program, without what only builds or tests it."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    data = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root_id = data["resolve"]["root"]
    found, todo = set(), [root_id]
    while todo:
        for dependency in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                todo.append(dependency["pkg"])
    return packages[root_id], sorted((packages[id] for id in found), key=lambda p: (p["name"], p["version"]))


def page(packages, further):
    """Every text once, below the packages that it covers; `further` is pairs of a name and a text."""
    texts = {}
    without = []
    for package in packages:
        directory = pathlib.Path(package["manifest_path"]).parent
        files = [path for path in sorted(directory.iterdir())
                 if path.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", path.name)]
        if not files:
            without.append(package)
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            texts.setdefault(" ".join(text.split()), (text, []))[1].append(f"{package['name']} {package['version']}")
    for name, text in further:
        texts[name] = (text.strip(), [name])
    lines = ["What trueup is linked with, and under which licences.", ""]
    lines += [f"  {package['name']} {package['version']}: {package['license']}" for package in packages]
    lines += ["  Rust's standard library: MIT OR Apache-2.0", ""]
    if without:
        lines += ["These come without a copy of their licence; the texts of MIT and Apache-2.0 are in LICENSE-MIT",
                  "and LICENSE-APACHE:", ""]
        lines += [f"  {package['name']} {package['version']}, by {', '.join(package['authors']) or 'its authors'}"
                  for package in without] + [""]
    for text, names in sorted(texts.values(), key=lambda entry: entry[1]):
        lines += ["-" * 100, ", ".join(dict.fromkeys(names)), "-" * 100, "", text, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    _, linked = metadata(".", sys.argv[1])
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    print(page(linked, [(path, pathlib.Path(path).read_text(encoding="utf-8")) for path in sys.argv[2:]]))
