"""Packs what was built: archives, SBOMs and the image, the same bytes whoever packs.

Entries are sorted, belong to nobody, and carry the time of the commit (SOURCE_DATE_EPOCH). The standard
library's deflate depends on the zlib of the machine, so zopfli compresses, in a fixed version.
"""

import argparse
import datetime
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import uuid

import certifi
import ziglang
import zopfli.gzip

import licences

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
USER = 65532


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def compressed(data):
    # Byte 9 names the system that compressed; 255 is "unknown", as it should be.
    packed = bytearray(zopfli.gzip.compress(data, numiterations=1))
    packed[4:8] = (0).to_bytes(4, "little")
    packed[9] = 255
    return bytes(packed)


class Tar:
    """A tar archive in memory, in the order of its names."""

    def __init__(self):
        self.entries = {}

    def file(self, name, data, mode=0o644):
        self.entries[name] = (tarfile.REGTYPE, mode, data, 0)

    def directory(self, name, mode=0o755, owner=0):
        self.entries[name] = (tarfile.DIRTYPE, mode, b"", owner)

    def bytes(self):
        for name in list(self.entries):
            for parent in pathlib.PurePosixPath(name).parents:
                if str(parent) not in (".", *self.entries):
                    self.directory(str(parent))
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, (kind, mode, data, owner) in sorted(self.entries.items()):
                info = tarfile.TarInfo(name)
                info.type, info.mode, info.size, info.mtime = kind, mode, len(data), EPOCH
                info.uid = info.gid = owner
                tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()


def bill(path, root, target, program):
    """The SBOM without the places of this machine, sealed to the program that it describes."""
    text = path.read_text(encoding="utf-8").replace(f"path+file://{root}#", "trueup#")
    document = json.loads(text)
    component = document["metadata"]["component"]
    component["purl"] = f"pkg:cargo/trueup@{component['version']}"
    component.pop("components", None)
    component["hashes"] = [{"alg": "SHA-256", "content": sha256(program)}]
    document["components"].sort(key=lambda part: part["bom-ref"])
    document["dependencies"].sort(key=lambda part: part["ref"])
    seal = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, sha256(seal.encode()))}"
    written = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if str(root) in written:
        raise SystemExit(f"the SBOM of {target} names {root}")
    return written.encode()


def archive(name, program, documents):
    tar = Tar()
    tar.file(f"{name}/trueup", program, 0o755)
    for path, data in documents.items():
        tar.file(f"{name}/{path}", data)
    return compressed(tar.bytes())


class Layout:
    """An OCI image layout, as one tar."""

    def __init__(self):
        self.tar = Tar()
        self.tar.file("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')

    def blob(self, media, data):
        digest = sha256(data)
        self.tar.file(f"blobs/sha256/{digest}", data)
        return {"mediaType": f"application/vnd.oci.image.{media}", "digest": f"sha256:{digest}", "size": len(data)}

    def json(self, media, value):
        return self.blob(media, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


def root_filesystem(program, licence_files):
    tar = Tar()
    tar.file("usr/local/bin/trueup", program, 0o755)
    tar.file("etc/passwd", f"root:x:0:0:root:/:/nologin\ntrueup:x:{USER}:{USER}:trueup:/home/trueup:/nologin\n".encode())
    tar.file("etc/group", f"root:x:0:\ntrueup:x:{USER}:\n".encode())
    tar.file("etc/ssl/certs/ca-certificates.crt", pathlib.Path(certifi.where()).read_bytes())
    for path, data in licence_files.items():
        tar.file(f"usr/share/doc/trueup/{path}", data)
    tar.directory("home/trueup", 0o700, USER)
    for directory in ("proc", "dev", "sys"):
        tar.directory(directory)
    tar.directory("tmp", 0o1777)
    return tar.bytes()


def image(package, revision, programs, licence_files):
    layout = Layout()
    created = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": package["name"],
        "org.opencontainers.image.description": package["description"],
        "org.opencontainers.image.licenses": package["license"],
        "org.opencontainers.image.version": package["version"],
        "org.opencontainers.image.revision": revision,
        "org.opencontainers.image.created": created,
    }
    manifests = []
    for target, program in sorted(programs.items()):
        architecture = ARCHITECTURES[target.split("-")[0]]
        layer = root_filesystem(program, licence_files[target])
        config = layout.json("config.v1+json", {
            "created": created,
            "architecture": architecture,
            "os": "linux",
            "config": {
                "User": f"{USER}:{USER}",
                "Env": ["PATH=/usr/local/bin", "HOME=/home/trueup",
                        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
                "Entrypoint": ["/usr/local/bin/trueup"],
                "WorkingDir": "/",
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
            "history": [{"created": created, "created_by": "release/build.sh"}],
        })
        manifest = layout.json("manifest.v1+json", {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": [layout.blob("layer.v1.tar+gzip", compressed(layer))],
            "annotations": labels,
        })
        manifests.append({**manifest, "platform": {"architecture": architecture, "os": "linux"}})
    whole = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": manifests, "annotations": labels}
    index = layout.json("index.v1+json", whole)
    top = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
           "manifests": [{**index, "annotations": {"org.opencontainers.image.ref.name": package["version"]}}]}
    layout.tar.file("index.json", json.dumps(top, separators=(",", ":"), sort_keys=True).encode())
    return index["digest"], layout.tar.bytes()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--root", "--build", "--pages", "--out"):
        parser.add_argument(name, required=True, type=pathlib.Path)
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    tracked = subprocess.run(["git", "ls-files", "-z", "examples"], cwd=options.root, check=True, capture_output=True,
                             text=True).stdout.split("\0")
    documents = {name: (options.root / name).read_bytes()
                 for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", *filter(None, tracked)]}
    documents |= {path.relative_to(options.pages).as_posix(): path.read_bytes()
                  for path in options.pages.rglob("*") if path.is_file()}
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=options.root, check=True, capture_output=True,
                              text=True).stdout.strip()
    musl = pathlib.Path(ziglang.__file__).parent / "lib/libc/musl/COPYRIGHT"
    programs, licence_files = {}, {}
    for target in options.targets:
        package, packages = licences.metadata(options.root, target)
        programs[target] = (options.build / target / "dist" / "trueup").read_bytes()
        licence_files[target] = {
            "LICENSE-APACHE": documents["LICENSE-APACHE"],
            "LICENSE-MIT": documents["LICENSE-MIT"],
            "LICENSES-OF-DEPENDENCIES": licences.page(packages, [("musl libc", musl.read_text(encoding="utf-8"))]).encode(),
        }
        name = f"{package['name']}-{package['version']}-{target}"
        (options.out / f"{name}.cdx.json").write_bytes(
            bill(options.build / f"release-{target}.cdx.json", options.root, target, programs[target]))
        (options.out / f"{name}.tar.gz").write_bytes(
            archive(name, programs[target], documents | licence_files[target]))
    digest, layout = image(package, revision, programs, licence_files)
    name = f"{package['name']}-{package['version']}-image"
    (options.out / f"{name}.tar").write_bytes(layout)
    (options.out / f"{name}.digest").write_text(f"{digest}\n", encoding="utf-8")


main()
