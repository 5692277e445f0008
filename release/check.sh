#!/usr/bin/env bash
# Proves what release/build.sh made, as somebody would who downloaded it: in an empty directory, with nothing but the
# files. Checksums; each SBOM against CycloneDX's schema and against its binary; each binary with `--version` and the first
# commands of the README (aarch64 through qemu); the image by its digests, and its root filesystem, read-only and as
# another user, with the same commands and with TLS to a server whose authority only its roots know.
# usage: release/check.sh DIST
set -euo pipefail
dist=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
tools="${TRUEUP_RELEASE_TOOLS:-$root/target/release-tools}"
work=$(mktemp -d)
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
cd "$work"
passed=0
pass() { echo "ok: $1"; passed=$((passed + 1)); }
fail() { echo "failed: $1" >&2; exit 1; }
need() {
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  command -v "$1" >/dev/null ||
    { "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install -y --no-install-recommends "$2"; } >/dev/null 2>&1 ||
    fail "$1 is not here and cannot be installed"
}

# The files.
(cd "$dist" && sha256sum --check --strict --quiet SHA256SUMS)
[ "$(cut -d ' ' -f 3- "$dist/SHA256SUMS")" = "$(cd "$dist" && find . -type f ! -name SHA256SUMS | cut -c 3- | LC_ALL=C sort)" ] ||
  fail "SHA256SUMS does not name exactly what is there"
pass "every file has the checksum that is listed"
if [ ! -x "$tools/check/bin/python" ]; then
  python3 -m venv "$tools/check"
  "$tools/check/bin/pip" install --quiet "cyclonedx-python-lib[json-validation]==11.12.0"
fi
version=$(basename "$dist"/trueup-*-image.digest -image.digest)
version=${version#trueup-}

# Runs the README's first commands with the program given, in the directory of the archive.
main_job() {
  local state
  state=$(mktemp -d -p "$work")
  "$@" apply examples/03-repository "--sandbox=$state/tenant.redb" --state "$state" --yes > "$state/apply"
  grep -q "42" "$state/apply" || fail "the apply does not say 42: $(cat "$state/apply")"
  "$@" plan examples/03-repository "--sandbox=$state/tenant.redb" --state "$state" --detailed-exitcode > "$state/plan" ||
    fail "the second plan is not empty"
}

for archive in "$dist"/trueup-*.tar.gz; do
  name=$(basename "$archive" .tar.gz)
  mkdir "$name.empty"
  tar -xzf "$archive" -C "$name.empty"
  directory="$work/$name.empty/$name"
  for file in LICENSE-MIT LICENSE-APACHE LICENSES-OF-DEPENDENCIES README.md man/trueup.1 completions/_trueup; do
    [ -s "$directory/$file" ] || fail "$name has no $file"
  done
  if readelf --program-headers "$directory/trueup" | grep -q INTERP; then fail "$name is not static"; fi
  ! grep -q -a -F -e "$root" -e "$HOME/" "$directory/trueup" || fail "$name contains a path of this machine"
  "$tools/check/bin/python" - "$dist/$name.cdx.json" "$directory/trueup" "$root/Cargo.lock" <<'PYTHON'
import hashlib, json, re, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = open(sys.argv[1], encoding="utf-8").read()
error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
assert error is None, error
bom = json.loads(text)
program = hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
assert bom["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": program}], "another binary"
# Each component is a locked crate with the locked checksum.
lock = open(sys.argv[3], encoding="utf-8").read()
locked = {(n, v): c for n, v, c in re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = .+\nchecksum = "(.+)"', lock)}
for part in bom["components"]:
    found = locked.get((part["name"], part["version"]))
    assert found == part["hashes"][0]["content"], part["name"]
assert len(bom["components"]) > 100
PYTHON
  pass "$name.cdx.json is CycloneDX, and of this binary"
  machine=${name#"trueup-$version-"}
  machine=${machine%%-*}
  run=()
  if [ "$machine" != "$(uname -m)" ]; then
    need "qemu-$machine-static" qemu-user-static
    run=("qemu-$machine-static")
  fi
  cd "$directory"
  [ "$("${run[@]}" ./trueup --version)" = "trueup $version" ] || fail "$name has another version"
  main_job "${run[@]}" ./trueup
  cd "$work"
  pass "$name runs the first commands of the README${run:+ (emulated)}"
done

# The image: every blob is what its name says, and what the index leads to is there.
mkdir image
tar -xf "$dist/trueup-$version-image.tar" -C image
(cd image/blobs/sha256 && for blob in *; do echo "$blob  $blob"; done | sha256sum --check --strict --quiet)
need umoci umoci
need skopeo skopeo
need bwrap bubblewrap
digest=$(jq -r '.manifests[0].digest' image/index.json)
[ "$digest" = "$(cat "$dist/trueup-$version-image.digest")" ] || fail "the image has another digest"
skopeo inspect --raw "oci:image:$version" | sha256sum | grep -q "^${digest#sha256:} " || fail "skopeo reads another index"
pass "the image is a layout that skopeo reads, $digest"
host=amd64
[ "$(uname -m)" = x86_64 ] || host=arm64
# umoci reads one platform at a time.
skopeo copy --quiet --override-arch "$host" --override-os linux "oci:image:$version" "oci:one:$version"
umoci unpack --rootless --image "one:$version" bundle
[ "$(jq -r '.process.user | "\(.uid) \(.gid)"' bundle/config.json)" = "65532 65532" ] || fail "the image runs as root"
cp -R "trueup-$version-$(uname -m)-unknown-linux-musl.empty"/*/examples examples
chmod -R a+rX . examples
mkdir -p state
# A user of no name, no capabilities, the root filesystem read-only, no network but the loopback.
contained() {
  bwrap --unshare-all --uid 12345 --gid 12345 --cap-drop ALL --clearenv \
    --ro-bind bundle/rootfs / --proc /proc --dev /dev --tmpfs /tmp "${extra[@]}" \
    --setenv HOME /tmp --setenv SSL_CERT_FILE /etc/ssl/certs/ca-certificates.crt \
    --chdir /tmp /usr/local/bin/trueup "$@"
}
extra=(--ro-bind "$work/examples" /tmp/examples --bind "$work/state" /tmp/state)
[ "$(contained --version)" = "trueup $version" ] || fail "the image has another version"
contained apply /tmp/examples/03-repository --sandbox=/tmp/state/tenant.redb --state /tmp/state --yes > image-apply
contained plan /tmp/examples/03-repository --sandbox=/tmp/state/tenant.redb --state /tmp/state --detailed-exitcode > image-plan ||
  fail "the second plan in the image is not empty"
if contained schema --of plan > /dev/null && bwrap --unshare-all --uid 12345 --gid 12345 --ro-bind bundle/rootfs / \
    --proc /proc --dev /dev /usr/local/bin/trueup snapshot -n shop --live x -o /usr/x 2>/dev/null; then
  fail "the root filesystem can be written"
fi
pass "the root filesystem of the image does the same, read-only, as another user"

# TLS with the roots of the image: a server of an unknown authority is refused for that reason, and the same server is
# accepted once its authority is among the roots at the place where the image has them.
cat > server.py <<'PYTHON'
import http.server, ssl, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b'{"items": [], "errors": []}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
PYTHON
python3 server.py "$root/tests/cases/tls/server.pem" > port &
server=$!
trap 'kill "$server" 2>/dev/null || true; chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
roots=bundle/rootfs/etc/ssl/certs/ca-certificates.crt
[ "$(grep -c 'BEGIN CERTIFICATE' "$roots")" -gt 100 ] || fail "the image has no roots"
cat "$roots" "$root/tests/cases/tls/authority.pem" > with-authority.pem
connect() {
  bwrap --unshare-all --share-net --uid 12345 --gid 12345 --cap-drop ALL --clearenv \
    --ro-bind bundle/rootfs / "$@" --proc /proc --dev /dev --tmpfs /tmp \
    --ro-bind "$work/examples" /tmp/examples --setenv HOME /tmp \
    --setenv SSL_CERT_FILE /etc/ssl/certs/ca-certificates.crt --setenv TRUEUP_TOKEN 0123456789abcdef0123456789 \
    --setenv TRUEUP_BASE_URL "https://127.0.0.1:$(cat port)" --chdir /tmp \
    /usr/local/bin/trueup plan /tmp/examples/03-repository
}
if connect > refused 2>&1; then fail "a server of an unknown authority was accepted"; fi
grep -qi "unknown\|issuer\|certificate" refused || fail "refused, but not for its certificate: $(cat refused)"
connect --ro-bind "$work/with-authority.pem" /etc/ssl/certs/ca-certificates.crt > accepted 2>&1 ||
  fail "the roots of the image are not used: $(cat accepted)"
pass "the image trusts exactly the roots at /etc/ssl/certs/ca-certificates.crt"
echo "$passed passed, 0 failed"
