#!/usr/bin/env bash
# Checks the workflows of this repository, its action and component, and the pipelines of the examples with the tools of
# their forges: the schemas that check-jsonschema brings along, Kubernetes' own types, pre-commit, actionlint and zizmor;
# and runs the scripts that install, against archives that are as they should be and that are not, and the one that publishes.
# Skips what cannot be had here, or fails with --all; fails where a tool finds something.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"

all=no
[ "${1:-}" != --all ] || all=yes
tools="${CARGO_TARGET_DIR:-$root/target}/pipelines"
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
skipped=0
skip() {
  echo "skipped: $1"
  [ "$all" = no ] || exit 1
  skipped=$((skipped + 1))
}

python="$tools/venv/bin"
if [ ! -x "$python/zizmor" ]; then
  { python3 -m venv "$tools/venv" &&
    "$python/pip" install --quiet check-jsonschema kubernetes-validate pre-commit zizmor==1.32.0; } >/dev/null 2>&1 || true
fi
workflows=(.github/workflows/*.yml examples/pipelines/github/*.yaml)
if [ -x "$python/check-jsonschema" ]; then
  "$python/check-jsonschema" --builtin-schema vendor.github-workflows "${workflows[@]}"
  "$python/check-jsonschema" --builtin-schema vendor.github-actions action.yml
  "$python/check-jsonschema" --builtin-schema vendor.gitlab-ci examples/pipelines/gitlab/*.yml
  # A component is two documents; the schema is of the second.
  sed '1,/^---$/d' templates/trueup.yml > "$tools/component.yml"
  "$python/check-jsonschema" --builtin-schema vendor.gitlab-ci "$tools/component.yml"
else
  skip "check-jsonschema (GitHub, GitLab)"
fi
if [ -x "$python/kubernetes-validate" ]; then
  "$python/kubernetes-validate" --strict examples/pipelines/kubernetes/*.yaml
else
  skip "kubernetes-validate"
fi
if command -v promtool >/dev/null; then
  promtool check rules examples/pipelines/prometheus/alerts.yaml
  (cd examples/pipelines/prometheus && promtool test rules alerts.test.yaml)
else
  skip "promtool (the package prometheus)"
fi
if [ -x "$python/pre-commit" ]; then
  "$python/pre-commit" validate-config examples/pipelines/pre-commit-config.yaml
else
  skip "pre-commit"
fi
if [ -x "$python/zizmor" ]; then
  "$python/zizmor" --offline --quiet --no-progress --config .github/zizmor.yml "${workflows[@]}" action.yml
else
  skip "zizmor"
fi

actionlint=$(command -v actionlint || echo "$tools/actionlint")
if [ ! -x "$actionlint" ] && command -v go >/dev/null; then
  GOBIN="$tools" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 >/dev/null 2>&1 || true
fi
if [ -x "$actionlint" ]; then
  # The examples name the action where a user has its copy.
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  mkdir -p "$copy/.github/workflows" "$copy/.github/actions/setup-trueup"
  cp examples/pipelines/github/*.yaml .github/workflows/*.yml "$copy/.github/workflows/"
  cp action.yml "$copy/.github/actions/setup-trueup/"
  git init -q "$copy"
  (cd "$copy" && "$actionlint" -no-color)
else
  skip "actionlint"
fi

if command -v shellcheck >/dev/null; then
  shellcheck release/*.sh tests/pipelines/*.sh .ci/run
else
  skip "shellcheck"
fi
PATH="$python:$PATH" tests/pipelines/install.sh
tests/pipelines/crate.sh
echo "passed, $skipped skipped"
