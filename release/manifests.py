"""Fills the templates for Homebrew and winget with the version, the address and the checksums of a release.

usage: manifests.py --repository URL --sums SHA256SUMS --out DIR
"""

import argparse
import pathlib
import re
import tomllib


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repository", required=True)
    parser.add_argument("--sums", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    here = pathlib.Path(__file__).parent
    package = tomllib.loads((here.parent / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    sums = {name: digest for digest, name in
            (line.split(maxsplit=1) for line in options.sums.read_text(encoding="utf-8").splitlines())}
    prefix = f"trueup-{package['version']}"
    plain = {"VERSION": package["version"], "DESCRIPTION": package["description"], "REPOSITORY": options.repository,
             "URL": f"{options.repository}/releases/download/v{package['version']}/{prefix}"}

    def value(found):
        name = found.group(1)
        return sums[f"{prefix}-{name.removeprefix('SHA256:')}"] if name.startswith("SHA256:") else plain[name]

    for template in sorted((here / "templates").iterdir()):
        filled = re.sub(r"@([A-Z0-9]+(?::[a-z0-9_.-]+)?)@", value, template.read_text(encoding="utf-8"))
        (options.out / template.name).write_text(filled, encoding="utf-8")


main()
