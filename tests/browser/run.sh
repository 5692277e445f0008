#!/usr/bin/env bash
# Opens the HTML and Markdown reports in headless Chromium: what it shows, how fast it opens and answers, and whether
# hostile texts do anything. Screenshots and pages go to target/browser.
# Skips, with exit code 0, where there is neither Chromium nor a way to install it.
set -euo pipefail
cd "$(dirname "$0")/../.."

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true
  browser=$(command -v chromium || true)
fi
if [ -z "$browser" ] || ! command -v node >/dev/null; then
  echo "skipped: this needs chromium and node"
  exit 0
fi

out="${CARGO_TARGET_DIR:-target}/browser"
mkdir -p "$out"
out=$(cd "$out" && pwd)
TRUEUP_PAGES="$out" cargo test -q --lib pages_are_written >/dev/null
node tests/browser/drive.mjs "$browser" "$out"
