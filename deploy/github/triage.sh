#!/usr/bin/env bash
# The step of action.yml: annotations on standard output, the summary, JSON and SARIF in files, outputs for later steps.
# Variables: LOG and ARGUMENTS (one a line), EXIT_ZERO; those of the runner (GITHUB_OUTPUT, GITHUB_STEP_SUMMARY, RUNNER_TEMP).
set -euo pipefail

words=()
add() { # add TEXT: every line that is not empty is a word
  while IFS= read -r line; do [ -z "$line" ] || words+=("$line"); done <<< "$1"
}

add "${ARGUMENTS:-}"
words+=(--)
before=${#words[@]}
add "$LOG"
[ "${#words[@]}" -gt "$before" ] || { echo "::error::no log is named"; exit 2; }

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/vllm-triage-results-XXXXXX")
code=0
vllm-triage --format jsonl "${words[@]}" > "$folder/reports.jsonl" || code=$?
if [ "$code" -gt 1 ]; then
  # A log that cannot be read was named on standard error; the others are told of below.
  [ -s "$folder/reports.jsonl" ] || exit "$code"
fi
vllm-triage --exit-zero --format sarif "${words[@]}" > "$folder/results.sarif" 2> /dev/null || true
vllm-triage --exit-zero --format markdown "${words[@]}" >> "$GITHUB_STEP_SUMMARY" 2> /dev/null || true
vllm-triage --exit-zero --format github "${words[@]}" 2> /dev/null || true

{
  head -n 1 "$folder/reports.jsonl" | python3 -c '
import json, sys
report = json.loads(sys.stdin.readline())
for name in ("bucket", "cause", "confidence"):
    print(f"{name}={report.get(name, str())}")
'
  echo "json=$folder/reports.jsonl"
  echo "sarif=$folder/results.sarif"
} >> "$GITHUB_OUTPUT"

[ "${EXIT_ZERO:-false}" = true ] && [ "$code" -eq 1 ] && code=0
exit "$code"
