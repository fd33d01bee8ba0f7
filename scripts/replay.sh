#!/usr/bin/env bash
# Builds tileiras at a commit and in the working tree, and compares their PTX over the corpus.
#
#   scripts/replay.sh COMMIT [flags of tests/replay]
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:?which commit to compare with}
shift
dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/base" 2>/dev/null || true; rm -rf "$dir"' EXIT
git worktree add --quiet --detach "$dir/base" "$commit"
(cd "$dir/base" && go build -o "$dir/old" ./cmd/tileiras)
go build -o "$dir/new" ./cmd/tileiras
go run ./tests/replay -base "$dir/old" -head "$dir/new" "$@"
