#!/usr/bin/env bash
# Runs the scripts of action.yml and templates/trueup.yml as their forges would: they install what has the SHA-256 that is
# pinned, from a place and from their cache, and install nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 -c "import yaml" 2>/dev/null || { echo "skipped: PyYAML (install.sh)"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
machine=$(uname -m)
case "$machine" in x86_64) arch=X64 ;; aarch64) arch=ARM64 ;; *) echo "skipped: $machine (install.sh)"; exit 0 ;; esac
name="trueup-0.2.0-$machine-unknown-linux-musl"
mkdir -p "$work/v0.2.0/$name"
printf '#!/bin/sh\necho "trueup 0.2.0"\n' > "$work/v0.2.0/$name/trueup"
chmod +x "$work/v0.2.0/$name/trueup"
tar -czf "$work/v0.2.0/$name.tar.gz" -C "$work/v0.2.0" "$name"
sum=$(sha256sum < "$work/v0.2.0/$name.tar.gz")
sum=${sum%% *}
wrong=$(printf '%064d' 0)

python3 - "$work" <<'PYTHON'
import sys, yaml
steps = yaml.safe_load(open("action.yml"))["runs"]["steps"]
for step in steps:
    if "run" in step:
        open(f"{sys.argv[1]}/{step['id']}.sh", "w").write(step["run"])
_, component = yaml.safe_load_all(open("templates/trueup.yml"))
open(f"{sys.argv[1]}/component.sh", "w").write(component[".trueup"]["before_script"][0])
PYTHON

# The action: `archive` names the file, `install` gets, checks and unpacks it.
action() { # VERSION SHA256 RELEASES
  : > "$work/output"
  : > "$work/path"
  env -i PATH="$PATH" RUNNER_OS=Linux RUNNER_ARCH="$arch" RUNNER_TEMP="$work/temp" GITHUB_SERVER_URL=https://forge.example \
    GITHUB_OUTPUT="$work/output" VERSION="$1" SHA256="$2" RELEASES="$3" ACTION_REPOSITORY="${4:-}" \
    bash -e "$work/archive.sh" > "$work/said" 2>&1 || return 1
  handed() { sed -n "s/^$1=//p" "$work/output"; }
  [ "${5:-}" != plan ] || return 0
  env -i PATH="$PATH" NAME="$(handed name)" URL="$(handed url)" DIRECTORY="$(handed directory)" SHA256="$2" \
    GITHUB_OUTPUT="$work/output" GITHUB_PATH="$work/path" bash -e "$work/install.sh" > "$work/said" 2>&1
}
expect() { grep -qF "$1" "$work/said" || { echo "expected: $1"; cat "$work/said"; exit 1; }; }
if action 0.2.0 "$wrong" "file://$work"; then echo "a wrong checksum was installed"; exit 1; fi
expect "nothing is installed"
[ ! -s "$work/path" ]
action 0.2.0 "$sum" "file://$work"
"$(cat "$work/path")/trueup" | grep -qx "trueup 0.2.0"
action 0.2.0 "$sum" "file:///nowhere" # from the cache
echo spoilt >> "$work/temp/trueup-0.2.0/archive/$name.tar.gz"
if action 0.2.0 "$sum" "file:///nowhere"; then echo "a spoilt cache was installed"; exit 1; fi
expect "curl: "
[ ! -s "$work/path" ]
echo spoilt > "$work/temp/trueup-0.2.0/archive/$name.tar.gz"
action 0.2.0 "$sum" "file://$work" # the forge keeps what is in its cache
"$(cat "$work/path")/trueup" | grep -qx "trueup 0.2.0"
if action "0.2.0;id" "$sum" "file://$work"; then exit 1; fi
expect "version must be a version"
if action 0.2.0 "abc" "file://$work"; then exit 1; fi
expect "64 lower-case hex digits"
if action 0.2.0 "$sum" ""; then exit 1; fi
expect "releases must name"
action 0.2.0 "$sum" "" acme/trueup plan
grep -qx "url=https://forge.example/acme/trueup/releases/download/v0.2.0/$name.tar.gz" "$work/output"

# The component: its inputs are put in as GitLab does.
component() { # SHA256 RELEASES
  sed -e "s|\$\[\[ inputs.version \]\]|0.2.0|g" -e "s|\$\[\[ inputs.sha256 \]\]|$1|g" -e "s|\$\[\[ inputs.releases \]\]|$2|g" \
    "$work/component.sh" > "$work/run.sh"
  (cd "$work" && env -i PATH="$PATH" sh -c ". ./run.sh; command -v trueup") > "$work/said" 2>&1
}
if component "$wrong" "file://$work"; then echo "a wrong checksum was installed"; exit 1; fi
expect "nothing is installed"
component "$sum" "file://$work"
expect "$name/trueup"
component "$sum" "file:///nowhere" # from the cache
echo spoilt >> "$work/.trueup-archive/$name.tar.gz"
if component "$sum" "file:///nowhere"; then echo "a spoilt cache was installed"; exit 1; fi
expect "curl: "
echo spoilt > "$work/.trueup-archive/$name.tar.gz"
component "$sum" "file://$work"
expect "$name/trueup"
echo "the scripts install what is pinned, and nothing else"
