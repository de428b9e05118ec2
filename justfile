# The tasks of every day; `just` lists them. Each is a command that can be typed as well.

# lint, format, import rules, types
check:
    .ci/check

# tests in two processes; `just test tests/classifier` for a part
test *PART:
    pytest -n 2 --dist worksteal {{PART}}

# all tests: slow ones too, and of nothing a sample; before a release
whole *PART:
    pytest -n 2 --dist worksteal --whole {{PART}}

# write golden files and marks anew; review the difference
bless *PART="tests/test_fixtures.py tests/service":
    TRIAGE_BLESS=1 pytest {{PART}}

# the docs as a site, in build/site; a link that leads nowhere stops it
docs:
    properdocs build --strict -f mkdocs.yml

# how fast it answers
bench:
    python benchmarks/table.py

# build both distributions and try them; publishes nothing
release FOLDER="dist":
    .ci/release {{FOLDER}}
