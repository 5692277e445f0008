"""Pins the example pipelines to a release: its version, the SHA-256 of its archive, the digest of its image.

usage: pins.py DIST   DIST is what release/build.sh wrote
"""

import pathlib
import re
import sys

PINS = re.compile(
    r"(?P<version>\bversion: )[0-9]+\.[0-9]+\.[0-9]+\S*"
    r"|(?P<sha256>\bsha256: )[0-9a-f]{64}"
    r"|(?P<image>\bimage: \S+/trueup@)sha256:[0-9a-f]{64}")


def main():
    dist = pathlib.Path(sys.argv[1])
    (digest_file,) = dist.glob("trueup-*-image.digest")
    version = digest_file.name.removeprefix("trueup-").removesuffix("-image.digest")
    sums = dict(reversed(line.split(maxsplit=1)) for line in (dist / "SHA256SUMS").read_text().splitlines())
    values = {"version": version, "sha256": sums[f"trueup-{version}-x86_64-unknown-linux-musl.tar.gz"],
              "image": digest_file.read_text().strip()}
    for path in sorted((pathlib.Path(__file__).parent.parent / "examples/pipelines").rglob("*.y*ml")):
        text = path.read_text(encoding="utf-8")
        pinned = PINS.sub(lambda found: found.group(found.lastgroup) + values[found.lastgroup], text)
        if pinned != text:
            path.write_text(pinned, encoding="utf-8")
            print(path)


main()
