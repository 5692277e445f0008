#!/usr/bin/env bash
# Builds the commit twice, in two clones whose paths differ in length, with two copies of the crates, and compares the bytes.
# usage: release/twice.sh [TARGET...]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CARGO_TARGET_DIR
export TRUEUP_RELEASE_TOOLS="${TRUEUP_RELEASE_TOOLS:-$root/target/release-tools}"
for clone in a another-clone/at/some/depth; do
  git clone --quiet "$root" "$work/$clone"
  mkdir -p "$work/$clone.cargo"
  # The second finds its crates elsewhere; what was downloaded is copied, not fetched again.
  cp -R "${CARGO_HOME:-$HOME/.cargo}/registry" "$work/$clone.cargo/"
  CARGO_HOME="$work/$clone.cargo" "$work/$clone/release/build.sh" --out "$work/$clone/dist" "$@" > "$work/log" 2>&1 ||
    { tail -40 "$work/log"; exit 1; }
  rm -rf "$work/$clone.cargo"
done
diff "$work/a/dist/SHA256SUMS" "$work/another-clone/at/some/depth/dist/SHA256SUMS"
cat "$work/a/dist/SHA256SUMS"
echo "both builds gave the same bytes"
