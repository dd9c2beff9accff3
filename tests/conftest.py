"""Settings that every test shares.

Property tests draw the same examples on every run, so that a failure in CI is one that anyone
can repeat.
`HYPOTHESIS_PROFILE=search` draws new ones. Linear algebra gets one thread: the matrices are small,
and threads that wait for each other cost processor time.
"""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

RACES = ("test_browser", "test_diffusion", "test_interrupt", "test_pieces",
         "test_studies")  # Real processes


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    "A test that races with other processes gets a second try; the first failure is shown."
    if item.module.__name__ not in RACES: return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        found = [report.longreprtext for report in reports if report.failed]
        print(f"\nsecond try of {item.nodeid} after", *found)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports: item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
