#!/usr/bin/env bash
# Checks the pipelines of the examples with the tools of their forges: the schemas that check-jsonschema
# brings along, Kubernetes' own types, pre-commit, and actionlint.
# Skips what cannot be had here; fails where a tool finds something.
set -euo pipefail
cd "$(dirname "$0")/../../examples/pipelines"

tools="${CARGO_TARGET_DIR:-$PWD/../../target}/pipelines"
mkdir -p "$tools"
skipped=0
skip() { echo "skipped: $1"; skipped=$((skipped + 1)); }

python="$tools/venv/bin"
if [ ! -x "$python/check-jsonschema" ]; then
  { python3 -m venv "$tools/venv" &&
    "$python/pip" install --quiet check-jsonschema kubernetes-validate pre-commit; } >/dev/null 2>&1 || true
fi
if [ -x "$python/check-jsonschema" ]; then
  "$python/check-jsonschema" --builtin-schema vendor.github-workflows github/*.yaml
  "$python/check-jsonschema" --builtin-schema vendor.gitlab-ci gitlab/gitlab-ci.yml
else
  skip "check-jsonschema (GitHub, GitLab)"
fi
if [ -x "$python/kubernetes-validate" ]; then
  "$python/kubernetes-validate" --strict kubernetes/*.yaml
else
  skip "kubernetes-validate"
fi
if [ -x "$python/pre-commit" ]; then
  "$python/pre-commit" validate-config pre-commit-config.yaml
else
  skip "pre-commit"
fi

actionlint=$(command -v actionlint || echo "$tools/actionlint")
if [ ! -x "$actionlint" ] && command -v go >/dev/null; then
  GOBIN="$tools" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 >/dev/null 2>&1 || true
fi
if [ -x "$actionlint" ]; then
  "$actionlint" -no-color github/*.yaml
else
  skip "actionlint"
fi
echo "passed, $skipped skipped"
