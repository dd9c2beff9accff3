#!/usr/bin/env bash
# Install Debian's chromium for the browser tests, if it is missing and can be installed.
set -u
install() { apt-get install -y -qq --no-install-recommends chromium; }
if command -v chromium >/dev/null; then
    echo "chromium is there"
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (install || (apt-get update -qq && install)) >/dev/null 2>&1 ||
        echo "chromium could not be installed; the browser tests are skipped"
else
    echo "no chromium: install it (on Debian: apt-get install chromium),"
    echo "or the browser tests are skipped"
fi
