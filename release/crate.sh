#!/usr/bin/env bash
# Packages or publishes the crate, with the address of the forge that releases it as `repository`: what
# `cargo binstall` downloads comes from there, so nothing else may decide it.
# usage: release/crate.sh package|publish [REPOSITORY]   (default: the remote `origin`)
set -euo pipefail
cd "$(dirname "$0")/.."

what=$1
repository=${2:-$(git remote get-url origin 2>/dev/null || true)}
case "$what" in package | publish) ;; *) echo "package or publish?" >&2; exit 64 ;; esac
case "$repository" in
  # A clone can have a secret in front of the host.
  https://*) repository=${repository#https://} repository=https://${repository##*@} repository=${repository%.git} ;;
  git@*:*) repository=${repository#git@} repository=https://${repository%%:*}/${repository#*:} repository=${repository%.git} ;;
  *) echo "the crate's repository must be an https address: release/crate.sh $what https://..." >&2; exit 1 ;;
esac
if ! [[ "$repository" =~ ^https://[A-Za-z0-9.-]+(/[A-Za-z0-9._-]+)+$ ]]; then
  echo "$repository is not the address of a repository" >&2
  exit 1
fi

# In a copy, so that the work tree stays as it was committed.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git archive HEAD | tar -x -C "$copy"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
cd "$copy"
sed -i.orig "s|^license = .*|&\nrepository = \"$repository\"|" Cargo.toml
rm Cargo.toml.orig
grep -qxF "repository = \"$repository\"" Cargo.toml
# Code of every dependency runs while it is built.
env -u CARGO_REGISTRY_TOKEN cargo package --locked
if [ "$what" = publish ]; then cargo publish --locked --no-verify; fi
