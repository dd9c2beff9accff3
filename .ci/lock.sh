#!/usr/bin/env bash
# Write the two lock files anew: the newest versions that settings.ini admits.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
words() { sed -n "s/^$1 = //p" settings.ini; }
freeze() {
    "$1/bin/pip" freeze --all --exclude discrete_score |
        grep -v '^pip==' | sed 's/+cpu$//' | LC_ALL=C sort -f
}
lock() { echo "# Exact versions of $2. Made by .ci/lock.sh"; freeze "$1"; }
quiet="-qq --disable-pip-version-check"
torch="torch==2.13.0"   # other spellings pull several gigabytes of GPU libraries

python3 -m venv "$work/core"
"$work/core/bin/pip" install $quiet -U "setuptools>=70" wheel $(words requirements)
lock "$work/core" "the package's own dependencies" > "$work/requirements.lock"

python3 -m venv "$work/dev"
"$work/dev/bin/pip" install $quiet $torch
"$work/dev/bin/pip" install $quiet -r "$work/requirements.lock" $torch \
    $(words diffusion_requirements) $(words explorer_requirements) \
    $(words cluster_requirements) $(words dev_requirements)
everything="everything: package, neural estimator, explorer, cluster, development"
lock "$work/dev" "$everything" > "$work/requirements-dev.lock"
cp "$work/requirements.lock" "$work/requirements-dev.lock" .
