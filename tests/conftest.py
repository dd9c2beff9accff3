"""Settings that every test shares.

Property tests draw the same examples on every run, so that a failure in CI is one that anyone
can repeat.
`HYPOTHESIS_PROFILE=search` draws new ones. Linear algebra gets one thread: the matrices are small,
and threads that wait for each other cost processor time.
"""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
