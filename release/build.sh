#!/usr/bin/env bash
# Builds the release of the commit that is checked out: for each target a static binary in an archive with
# its licences, manual page, completions and examples, and its SBOM; an OCI image of all of them; SHA256SUMS.
# The same commit gives the same bytes, in whatever directory: paths are remapped, times are the commit's,
# tools have fixed versions. It installs what it needs from the registries; Rust and Python must be there.
#
# usage: release/build.sh [--out DIR] [--allow-dirty] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
case "$root${CARGO_HOME:-$HOME}" in *[[:space:]]*) echo "no path may contain a blank: C compilers get them as words" >&2; exit 1 ;; esac
export LC_ALL=C TZ=UTC
umask 022

rust=1.95.0
cyclonedx=0.5.9
out=target/dist
dirty=no
targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=$2; shift 2 ;;
    --allow-dirty) dirty=yes; shift ;;
    -*) echo "unknown option $1" >&2; exit 64 ;;
    *) targets+=("$1"); shift ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
if [ "$dirty" = no ] && [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "the work tree has changes: commit them, or give --allow-dirty for a build that nobody can repeat" >&2
  exit 1
fi

# Nothing of the caller's may reach the compiler.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CFLAGS CXXFLAGS CC CXX AR LDFLAGS
for name in ${!CARGO_PROFILE_@} ${!CARGO_TARGET_@}; do
  [ "$name" = CARGO_TARGET_DIR ] || unset "$name"
done
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/release-build"
export CARGO_INCREMENTAL=0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# The tools.
tools="${TRUEUP_RELEASE_TOOLS:-$root/target/release-tools}"
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
if [ ! -x "$tools/venv/bin/cargo-zigbuild" ]; then
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --require-hashes --only-binary :all: -r release/requirements.txt
fi
if [ "$("$tools/bin/cargo-cyclonedx" cyclonedx --version 2>/dev/null)" != "cargo-cyclonedx-cyclonedx $cyclonedx" ]; then
  CARGO_TARGET_DIR="$tools/target" cargo install --quiet --locked --root "$tools" "cargo-cyclonedx@$cyclonedx"
fi
export PATH="$tools/venv/bin:$tools/bin:$PATH"
if [ "$(rustc --version | cut -d ' ' -f 2)" != "$rust" ]; then
  export RUSTUP_TOOLCHAIN=$rust
fi
rustup target add "${targets[@]}" 2>/dev/null
cargo fetch --locked

# Where a path would get into a binary: panic messages of ours and of crates, asserts of C code.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
remap=("$CARGO_TARGET_DIR=/target" "$root=/trueup" "$sysroot=/rust" "$tools=/tools")
# Where the component rust-src is installed, rustc names the standard library by its files there: the last match counts.
remap+=("$sysroot/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')")
for registry in "$cargo_home"/registry/src/*; do remap+=("$registry=/registry"); done
rust_flags=()
c_flags=()
for pair in "${remap[@]}"; do
  rust_flags+=("--remap-path-prefix=$pair")
  c_flags+=("-ffile-prefix-map=$pair")
done
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f'; echo "${rust_flags[*]}")
export CARGO_ENCODED_RUSTFLAGS

# What an earlier commit left has its time in it: C code writes it down.
rm -rf "$out" "$CARGO_TARGET_DIR"
mkdir -p "$out" "$CARGO_TARGET_DIR"
out=$(cd "$out" && pwd)
for target in "${targets[@]}"; do
  export "CFLAGS_${target//-/_}=${c_flags[*]}"
  cargo zigbuild --locked --profile dist --bin trueup --target "$target"
  cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$target" --override-filename "release-$target.cdx"
  mv "release-$target.cdx.json" "$CARGO_TARGET_DIR/"
done

# One of them runs here and writes its manual page and completions; all of them would write the same.
host="$(uname -m)-unknown-linux-musl"
program="$CARGO_TARGET_DIR/$host/dist/trueup"
if [ ! -x "$program" ]; then
  echo "none of ${targets[*]} runs on this machine, so nothing can write the manual page" >&2
  exit 1
fi
pages="$CARGO_TARGET_DIR/pages"
rm -rf "$pages"
mkdir -p "$pages/completions" "$pages/man"
"$program" man > "$pages/man/trueup.1"
"$program" completions bash > "$pages/completions/trueup.bash"
"$program" completions zsh > "$pages/completions/_trueup"
"$program" completions fish > "$pages/completions/trueup.fish"
"$program" completions powershell > "$pages/completions/_trueup.ps1"
"$program" completions elvish > "$pages/completions/trueup.elv"

python release/pack.py --root "$root" --build "$CARGO_TARGET_DIR" --pages "$pages" --out "$out" "${targets[@]}"
(cd "$out" && sha256sum -- * > "$CARGO_TARGET_DIR/sums" && mv "$CARGO_TARGET_DIR/sums" SHA256SUMS)
cat "$out/SHA256SUMS"
