# What people run. `just` alone lists it.

default:
    @just --list

# Everything that must hold before a merge
check:
    bash .ci/run

# The tests
test *names:
    cargo test {{names}}

# Bring every file into form
format:
    cargo fmt

# The first look: an embedded service, a repository of some forty endpoints, applied
try:
    cargo run --release -- apply examples/03-repository --sandbox --yes

# A service to play with, until Ctrl-C
sandbox *arguments:
    cargo run --release -- sandbox {{arguments}}

# The manual page
man:
    cargo run --quiet -- man | man -l -
