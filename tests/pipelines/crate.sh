#!/usr/bin/env bash
# Runs release/crate.sh with a cargo that only notes how it is called: what builds the crate, and with it code of every
# dependency, has no token of the registry; the address in the crate has no secret of the clone, and nothing prints it.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/cargo" <<'CARGO'
#!/bin/sh
echo "$* ${CARGO_REGISTRY_TOKEN:-without a token} $(grep ^repository Cargo.toml)" >> "$NOTES"
CARGO
chmod +x "$work/cargo"
export NOTES="$work/notes" CARGO_REGISTRY_TOKEN=for-the-registry
address='repository = "https://forge.example/acme/trueup"'
run() { # ARGUMENT...
  : > "$NOTES"
  PATH="$work:$PATH" release/crate.sh "$@" > "$work/said" 2>&1
}
noted() { # LINE...
  [ "$(cat "$NOTES")" = "$(printf '%s\n' "$@")" ] || { echo "another call of cargo:"; cat "$NOTES"; exit 1; }
  if grep -q hunter2 "$work/said"; then echo "a secret is printed"; exit 1; fi
}
run publish https://forge.example/acme/trueup.git
noted "package --locked without a token $address" "publish --locked --no-verify for-the-registry $address"
for remote in https://ci:hunter2@forge.example/acme/trueup.git git@forge.example:acme/trueup.git; do
  run package "$remote"
  noted "package --locked without a token $address"
done
if run package "https://ci:hunter2@forge.example/acme/true up"; then exit 1; fi
noted ""
echo "the crate is built without a token, and published with one"
