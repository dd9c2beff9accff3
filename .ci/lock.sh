#!/usr/bin/env bash
# Write the two lock files anew: the newest versions that settings.ini admits, in clean environments.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
words() { sed -n "s/^$1 = //p" settings.ini; }
freeze() { "$1/bin/pip" freeze --all --exclude discrete_score | grep -v '^pip==' | sed 's/+cpu$//' | LC_ALL=C sort -f; }
torch="torch==2.13.0"   # other spellings pull several gigabytes of GPU libraries

python3 -m venv "$work/core"
"$work/core/bin/pip" install -qq --disable-pip-version-check -U "setuptools>=70" wheel $(words requirements)
{ echo "# Exact versions of the package's own dependencies. Made by .ci/lock.sh"; freeze "$work/core"; } > "$work/requirements.lock"

python3 -m venv "$work/dev"
"$work/dev/bin/pip" install -qq --disable-pip-version-check $torch
"$work/dev/bin/pip" install -qq --disable-pip-version-check -r "$work/requirements.lock" $torch $(words diffusion_requirements) $(words explorer_requirements) $(words cluster_requirements) $(words dev_requirements)
{ echo "# Exact versions of everything: package, neural estimator, explorer, cluster, development. Made by .ci/lock.sh"; freeze "$work/dev"; } > "$work/requirements-dev.lock"
cp "$work/requirements.lock" "$work/requirements-dev.lock" .
