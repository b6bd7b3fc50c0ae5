# Everyday commands. `just` lists them.

default:
    @just --list

# Build and run the main job on the example project.
quickstart *request:
    scripts/quickstart {{request}}

# All tests.
test *arguments:
    scripts/test {{arguments}}

# The live page in a browser: does anything on it fail, overflow, or read badly?
page binary="target/debug/callsheet":
    scripts/setup page
    scripts/screenshots {{binary}} --check

# What must be green before a change lands.
ci:
    .ci/run

# Format, lint.
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Do the crates that touch no world compile for Windows and macOS? With --all: does the whole program for macOS?
platforms *arguments:
    scripts/platforms {{arguments}}

# Rewrite fixture expectations; read the diff before you commit it.
bless *arguments:
    UPDATE_EXPECT=1 cargo nextest run --workspace {{arguments}}

# Drive the machine under seeds; a failing seed is reproduced with `just sim --seed N`.
sim *arguments="--seeds 0..100000":
    cargo run --quiet --profile ci -p callsheet-sim -- {{arguments}}

# Kill the built binary at so many moments of each kind of run; what comes after must be what an uninterrupted run gives.
kills number="20":
    CALLSHEET_KILLS={{number}} cargo nextest run --no-capture -p callsheet -E 'test(survives_kills)'

# Runs on a real engine, and kills of it and of its worker. Without the engine it says how to install it.
cluster number="6":
    cargo nextest run -p callsheet-cluster
    CALLSHEET_KILLS={{number}} cargo test --features cluster --test cluster -- --test-threads=1

# Milliseconds of reading hostile replies, by family and size.
bench-read *words:
    cargo bench --quiet -p callsheet-format --bench hostile -- {{words}}

# What the performance section of the README states.
bench *arguments:
    bench/run {{arguments}}

# Where the time of a run of many tasks goes: `just profile run 3000`, or of `show` of it.
profile *arguments:
    bench/profile {{arguments}}

# Does Callsheet help a small model: jobs against one plain call and a ReAct loop, on a server such as http://127.0.0.1:8080.
jobs server *arguments:
    bench/jobs/run {{server}} {{arguments}}

# What is given out: binary, Debian package, wheel, npm package, man pages, completions, checksums, in the folder dist.
dist *arguments:
    scripts/dist {{arguments}}

# Renew the table of vendor prices.
prices *arguments:
    scripts/prices {{arguments}}

# Fuzz one reader: `just fuzz plan 60`; `ls fuzz/fuzz_targets` names them.
fuzz target seconds="60":
    scripts/fuzz {{target}} {{seconds}}

# How the reader does on real replies of small models; `just replies --list` names the disagreements.
replies *arguments:
    cargo run --quiet -p callsheet-format --example replies -- {{arguments}}
